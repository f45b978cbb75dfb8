"""Labels of edges through every converter: there, back, what is missing and what is not used."""

import gzip
import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import (
    GraphBatch,
    GraphDataset,
    InvalidInputError,
    RetGK,
    Walks,
    as_batch,
    load_model,
    read_graphs,
    save_model,
)
from retgk._runtime import files as text_lines
from retgk.datasets import load_tudataset, save_tudataset
from retgk.errors import InputWarning
from retgk.io import convert as exporters
from retgk.io import edges as edge_lists
from retgk.io import edges as numbered_edges
from retgk.io import (
    from_dataframe,
    from_edge_lists,
    from_grakel,
    from_igraph,
    from_networkx,
    from_pyg,
    from_rdkit,
    from_smiles,
    to_grakel,
    to_igraph,
    to_networkx,
    to_pyg,
    write_parquet,
)
from retgk.io.cache import load_cached, store_cached
from retgk.io.edges import write_edge_list
from retgk.io.gml import write_gml
from retgk.io.graphml import write_graphml
from retgk.io.json import write_json
from retgk.kernels import RetGKEmbedding
from tests.errors import fails
from tests.example_graphs import (
    NAMES,
    edge_label_values,
    graph_batches,
    names,
    node_link,
    random_graphs,
    rows_of,
)
from tests.programs import assert_fails, invoke, printed, record

BONDS = ("CCO", "C=C", "c1ccccc1", "C", "N#N", "CC(=O)O")


def labelled_graphs(vocabularies=NAMES):
    return st.builds(
        random_graphs,
        st.integers(0, 2**32),
        st.sampled_from(vocabularies),
        st.booleans(),
        st.booleans(),
        st.integers(0, 2),
    )


def names_of(graphs):
    """Options by which the graphs of `to_networkx` and `to_igraph` are read back."""
    return {
        "label": "label" if graphs.has_labels else None,
        "attributes": "attributes" if graphs.n_attributes else [],
        "edge_label": "label" if graphs.has_edge_labels else [],
    }


def by_networkx(graphs, _, **options):
    return from_networkx(to_networkx(graphs), **names_of(graphs), **options)


def by_igraph(graphs, _, **options):
    return from_igraph(to_igraph(graphs), **names_of(graphs), **options)


def by_grakel(graphs, _, **options):
    """Labels and attributes one after the other, as GraKeL has room for one of them."""
    items = to_grakel(graphs.without_attributes())
    back = from_grakel(items, **options)
    if graphs.has_edge_labels:  # one direction of an edge is enough
        one_way = [[g, n, {pair: e[pair] for pair in e if pair[0] <= pair[1]}] for g, n, e in items]
        assert from_grakel(one_way, **options) == back
    if not graphs.n_attributes:
        return back
    values = from_grakel(to_grakel(graphs, as_attributes=True), as_attributes=True, **options)
    return back.with_attributes(values.attributes)


class _ArraysForTensors:
    """What `to_pyg` asks of torch and PyTorch Geometric, with arrays for tensors."""

    long, Data = np.int64, SimpleNamespace
    from_numpy = staticmethod(np.asarray)
    tensor = staticmethod(np.array)
    get_default_dtype = staticmethod(lambda: np.float64)


def by_pyg(graphs, _):
    with mock.patch.object(exporters, "optional_module", return_value=_ArraysForTensors):
        found = to_pyg(graphs)
    return from_pyg(found, attributes="x" if graphs.n_attributes else [])


def by_edge_lists(graphs, _):
    parts = list(graphs)
    return from_edge_lists(
        [np.stack(rows_of(part), axis=1) for part in parts],
        graphs.node_counts,
        weights=[part.weights for part in parts],
        labels=[names(part) for part in parts] if graphs.has_labels else None,
        attributes=[part.attributes for part in parts],
        edge_labels=[edge_label_values(part) for part in parts],
    )


def by_graphml(graphs, folder):
    write_graphml(graphs, folder)
    attributes = [f"attribute_{column}" for column in range(graphs.n_attributes)]
    found = read_graphs(folder, **{**names_of(graphs), "attributes": attributes}).graphs
    assert found.reading.options["edge_label"] == "label"
    return found


def by_gml(graphs, folder):
    write_gml(graphs, folder)
    attributes = [f"attribute_{column}" for column in range(graphs.n_attributes)]
    return read_graphs(folder, **{**names_of(graphs), "attributes": attributes}).graphs


def by_json(graphs, folder, **options):
    found = [
        read_graphs(write_json(graphs, folder / name), **options).graphs
        for name in ("x.json", "x.jsonl", "x.json.gz", "x.jsonl.gz")
    ]
    assert all(each == found[0] for each in found)
    return found[-1]


def by_node_links(graphs, folder):
    path = folder / "links.jsonl"
    for kind in (nx.MultiGraph, nx.Graph):
        made = [kind(graph) for graph in to_networkx(graphs)]
        path.write_text("\n".join(json.dumps(node_link(graph)) for graph in made))
        found = read_graphs(path, **names_of(graphs)).graphs
        assert found == graphs
        assert found.reading == from_networkx(made, **names_of(graphs)).reading
    return found


def by_tudataset(graphs, folder):
    save_tudataset(GraphDataset(graphs, np.arange(len(graphs)), "RANDOM"), folder)
    column = 0 if graphs.is_weighted else None
    options = {"weight_column": column, "cache": folder / "copies"}
    load_tudataset("RANDOM", folder, **options)
    return load_tudataset("RANDOM", folder, **options).graphs  # from the parsed copy


PLAIN_NAMES = [names for names in NAMES if not any(isinstance(name, tuple) for name in names)]
THERE_AND_BACK = {  # with the vocabularies of edges that the form can hold
    by_networkx: NAMES,
    by_igraph: NAMES,
    by_grakel: NAMES,
    by_pyg: NAMES,
    by_edge_lists: NAMES,
    by_graphml: PLAIN_NAMES,
    by_gml: PLAIN_NAMES,
    by_json: NAMES,
    by_node_links: NAMES[:3],
    by_tudataset: NAMES[1:3],
}


@settings(max_examples=40, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("convert", THERE_AND_BACK)
def test_there_and_back(convert, data, tmp_path_factory):
    graphs = data.draw(labelled_graphs(THERE_AND_BACK[convert]))
    assert convert(graphs, tmp_path_factory.mktemp("there")) == graphs


@settings(max_examples=60, deadline=None)
@given(graphs=graph_batches().filter(len))
@pytest.mark.parametrize("convert", [by_networkx, by_igraph, by_grakel, by_json])
def test_labels_of_any_kind_there_and_back(convert, graphs, tmp_path_factory):
    back = convert(graphs, tmp_path_factory.mktemp("there"), missing="label")
    assert back == graphs
    assert set(back.label_names) == set(graphs.label_names)
    assert (back.is_weighted, back.n_attributes) == (graphs.is_weighted, graphs.n_attributes)


@settings(max_examples=60, deadline=None)
@given(graphs=labelled_graphs(), one_hot=st.booleans())
def test_pyg_integers_and_one_hot(graphs, one_hot):
    data = []
    for graph in graphs:
        codes = graph.edge_labels
        rows, _ = rows_of(graph)
        values = np.eye(4, dtype=int)[codes] if one_hot else codes[:, None]
        index = np.stack([rows, graph.indices])
        weights = graph.weights if graphs.is_weighted else None
        fields = {"edge_index": index, "edge_attr": values, "edge_weight": weights}
        data.append(SimpleNamespace(num_nodes=graph.n_nodes, **fields))
    plain = graphs.without_labels().without_attributes()
    expected = plain.with_edge_labels(graphs.edge_labels)
    assert from_pyg(data, edge_label="edge_attr") == expected
    reading = from_pyg(data, edge_label="edge_attr").reading
    assert reading.options["edge_label"] == "edge_attr"


@settings(max_examples=60, deadline=None)
@given(graphs=labelled_graphs(), seed=st.integers(0, 2**32))
def test_tables_of_edges(graphs, seed):
    graphs = graphs.without_labels().without_attributes()
    rows, columns = rows_of(graphs)
    once = np.flatnonzero(rows <= columns)
    order = np.random.default_rng(seed).permutation(len(once))
    graph = np.searchsorted(graphs.node_ptr, np.arange(graphs.n_nodes), side="right")
    nodes = pd.DataFrame({"graph_id": graph, "node": np.arange(graphs.n_nodes)})
    edges = pd.DataFrame(
        {
            "graph_id": graph[rows[once]],
            "source": rows[once],
            "target": columns[once],
            "w": graphs.weights[once],
        }
    )
    edges["bond"] = pd.Series([edge_label_values(graphs)[edge] for edge in once], dtype=object)
    found = from_dataframe(edges.iloc[order], nodes, edge_label="bond", weight="w")
    assert found == graphs


@settings(max_examples=40, deadline=None)
@given(graphs=labelled_graphs(), seed=st.integers(0, 2**32))
def test_labels_stay_with_their_edges_in_slices(graphs, seed):
    positions = np.random.default_rng(seed).integers(0, len(graphs), 5)
    parts = GraphBatch.concatenate([graphs[int(position)] for position in positions])
    assert parts == graphs[positions]
    assert from_networkx(to_networkx(parts), **names_of(graphs)) == parts


# Molecules


def test_types_of_bonds():
    rdkit = pytest.importorskip("rdkit.Chem")
    batch = from_smiles(BONDS, bond_types=True)
    assert batch.edge_label_names == ("AROMATIC", "DOUBLE", "SINGLE", "TRIPLE")
    assert edge_label_values(batch[1]) == ["DOUBLE", "DOUBLE"]
    assert edge_label_values(batch[2]) == ["AROMATIC"] * 12
    assert edge_label_values(batch[0]) == ["SINGLE"] * 4
    assert batch.without_edge_labels() == from_smiles(BONDS)
    assert from_rdkit(list(map(rdkit.MolFromSmiles, BONDS)), bond_types=True) == batch
    both = from_smiles(BONDS, bond_types=True, bond_orders=True, add_hydrogens=True)
    assert both.without_edge_labels() == from_smiles(BONDS, bond_orders=True, add_hydrogens=True)
    assert both.is_weighted
    assert from_smiles("C", bond_types=True).has_edge_labels


# What models remember


def test_models_read_labels_of_edges_alike(tmp_path):
    model = RetGK(2, walks=Walks(6), random_state=0).fit(as_batch(BONDS, bond_types=True))
    expected = model.transform(as_batch(BONDS[:3], bond_types=True))
    save_model(model, tmp_path / "model.retgk")
    for each in (model, load_model(tmp_path / "model.retgk")):
        assert each.reading_.options["bond_types"] is True
        np.testing.assert_array_equal(each.transform(list(BONDS[:3])), expected)
    plain = RetGK(2, walks=Walks(6), random_state=0).fit(as_batch(BONDS, bond_types=False))
    assert not np.allclose(plain.transform(list(BONDS[:3])), expected)
    fails(lambda: plain.transform(as_batch(BONDS, bond_types=True)), about="bond_types=True")


def test_labels_that_were_taken_away_stay_away():
    graphs = random_graphs(3, n_attributes=0)
    items = to_grakel(graphs)
    batch = from_grakel(items).without_edge_labels()
    assert not batch.reading.edge_labels
    model = RetGK(2, walks=Walks(6), random_state=0).fit(batch)
    np.testing.assert_array_equal(model.transform(items), model.transform(batch))
    graphs = as_batch(BONDS, bond_types=True).without_edge_labels()
    assert graphs.reading.options["bond_types"] is False


@pytest.mark.parametrize("maker", [RetGK, RetGKEmbedding])
@pytest.mark.parametrize("has_labels", [True, False])
def test_models_refuse_graphs_of_the_other_kind(tmp_path, maker, has_labels):
    """The exact engine and the embedded one say the same."""
    labelled = random_graphs(5)
    plain = labelled.without_edge_labels()
    fitted, others = (labelled, plain) if has_labels else (plain, labelled)
    options = {"feature_map": "phases"} if maker is RetGKEmbedding else {}
    model = maker(walks=Walks(6), depth=2, random_state=0, **options).fit(fitted)
    save_model(model, tmp_path / "model.retgk")
    given = "have no labels" if has_labels else "have labels"
    some = "some" if has_labels else "none"
    for each in (model, load_model(tmp_path / "model.retgk")):
        with pytest.raises(InvalidInputError) as error:
            each.transform(others)
        told = f"the edges of the graphs {given}, those of the fitted ones have {some}; "
        assert str(error.value).startswith(told)
        lonely = GraphBatch.from_edges(1, [], labels=[0])
        each.transform(lonely)  # without edges there is nothing to contradict
    shallow = maker(walks=Walks(6), random_state=0, **options).fit(fitted)
    np.testing.assert_array_equal(shallow.transform(others), shallow.transform(fitted))


# What is missing, contradicts itself, or is not used


def path_of(*data):
    graph = nx.path_graph(len(data) + 1)
    for edge, values in enumerate(data):
        graph.edges[edge, edge + 1].update(values)
    return graph


def test_edges_without_a_label():
    graph = path_of({"bond": "-"}, {})
    message = ("graph 1", "'bond'")
    fails(lambda: from_networkx([path_of({"bond": "-"}), graph], edge_label="bond"), about=message)
    found = from_networkx(graph, edge_label="bond", missing="label")
    assert edge_label_values(found) == ["-", "-", None, None]
    other = igraph.Graph.from_networkx(graph)
    fails(lambda: from_igraph(other, edge_label="bond"), about=("graph 0", "edge 1", "'bond'"))
    assert from_igraph(other, edge_label="bond", missing="keep") == found
    item = [{0: [1], 1: [0, 2], 2: [1]}, None, {(0, 1): "-"}]
    fails(lambda: from_grakel([item]), about="graph 0")
    assert from_grakel([item], missing="label") == found
    edges = {"source": [0, 1], "target": [1, 2], "bond": ["-", float("nan")]}
    fails(
        lambda: from_dataframe(edges, graph_id=None, edge_label="bond"), about=("row 1", "'bond'")
    )
    tables = {"graph_id": None, "missing": "label"}
    assert from_dataframe(edges, edge_label="bond", **tables) == found
    fails(
        lambda: GraphBatch.from_edges(2, [[0, 1]], edge_labels=[None], symmetrize=True),
        about=("node 0", "node 1"),
    )


def test_several_values_make_one_label():
    graph = path_of({"bond": "-", "ring": 1}, {"bond": "-"})
    found = from_networkx(graph, edge_label=["bond", "ring"], missing="label")
    assert edge_label_values(found) == [("-", 1), ("-", 1), ("-", None), ("-", None)]
    other = igraph.Graph.from_networkx(graph)
    assert from_igraph(other, edge_label=["bond", "ring"], missing="label") == found


@pytest.mark.parametrize("weight", ["weight", None])
def test_parallel_edges_have_one_label(weight):
    parallel = nx.MultiGraph([(0, 1, {"bond": "-"}), (0, 1, {"bond": "-"}), (1, 2, {"bond": "="})])
    options = {"edge_label": "bond", "weight": weight}
    found = from_networkx(parallel, **options)
    assert edge_label_values(found) == ["-", "-", "=", "="]
    assert found.is_weighted == (weight is not None)
    assert from_igraph(igraph.Graph.from_networkx(parallel), **options) == found
    parallel.edges[0, 1, 1]["bond"] = "#"
    fails(lambda: from_networkx(parallel, **options), about=("'-'", "'#'"))
    fails(
        lambda: from_igraph(igraph.Graph.from_networkx(parallel), **options),
        about=("node 0", "node 1"),
    )


def test_directions_have_one_label():
    graph = nx.DiGraph([(0, 1, {"bond": "-"}), (1, 0, {"bond": "-"}), (1, 2, {"bond": "="})])
    found = from_networkx(graph, edge_label="bond", symmetrize=True)
    assert edge_label_values(found) == ["-", "-", "=", "="]
    graph.edges[1, 0]["bond"] = "#"
    fails(
        lambda: from_networkx(graph, edge_label="bond", symmetrize=True),
        about=("graph 0", "node 0", "node 1"),
    )


def test_labels_of_some_graphs_only():
    item = [{0: [1], 1: [0]}, None, {(0, 1): "-"}]
    fails(lambda: from_grakel([item, item[:1]]), about="graph 1")
    assert len(from_grakel([item, [{0: []}]])) == 2  # which has no edges
    fails(lambda: from_grakel([[item[0], None, ["-"]]]), about="edge labels must be")


def test_pyg_fields_that_are_no_labels():
    data = SimpleNamespace(edge_index=[[0, 1], [1, 0]], num_nodes=2, edge_attr=[[0.5, 2], [1, 1]])
    fails(lambda: from_pyg(data, edge_label="edge_attr"), about="2 edges")
    data.edge_attr = [1, 1, 1]
    fails(lambda: from_pyg(data, edge_label="edge_attr"), about="2 edges")


def test_values_that_cannot_be_labels():
    fails(lambda: from_networkx(path_of({"bond": [1]}), edge_label="bond"), about=("'bond'", "[1]"))


def test_values_of_edges_that_are_not_used():
    graph = path_of({"bond": "-", "weight": 2.0})
    for source in (graph, igraph.Graph.from_networkx(graph)):
        with pytest.warns(
            InputWarning, match="edges have 'bond', which is not used; edge_label= reads"
        ) as w:
            as_batch(source, attributes=[])
        assert w[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            as_batch(source, attributes=[], edge_label=[])
            as_batch(source, attributes=[], weight=None)
            as_batch(source, attributes=[], edge_label="bond")
    with pytest.warns(InputWarning, match="edges have 'bond', which is not used"):
        model = RetGK(walks=Walks(6)).fit([graph, path_of({"bond": "-"}, {"bond": "="})])
    model.transform([graph])  # says nothing again


# Labels of edges in files of every format, there and back, and on the command line


@pytest.mark.parametrize(
    "change",
    [
        {"codes": np.array([0, 5], np.int32)},
        {"codes": np.array([0, -1], np.int32)},
        {"codes": np.array([0], np.int32)},
        {"codes": np.array([0, 0], np.int64)},
        {"names": ()},
        {"names": (1, 1)},
        {"names": ({"a": 1},)},
    ],
)
def test_parsed_copies_that_lead_out_of_their_arrays(tmp_path, change):
    graphs = GraphBatch.from_edges(2, [[0, 1]], edge_labels=[3], symmetrize=True)
    path = tmp_path / "copy.safetensors"
    store_cached(path, GraphDataset(graphs, np.array([1]), "T"), "mark")
    assert load_cached(path, "mark").graphs == graphs
    graphs._edge_labels = graphs._edge_labels._replace(**change)
    store_cached(path, GraphDataset(graphs, np.array([1]), "T"), "mark")
    assert load_cached(path, "mark") is None


def test_labels_that_formats_cannot_hold(tmp_path):
    odd = GraphBatch.from_edges(2, [[0, 1]], edge_labels=[frozenset("ab")], symmetrize=True)
    message = ("cannot hold the label", "number the labels")
    fails(lambda: write_graphml(odd, tmp_path), about=message)
    fails(lambda: write_json(odd, tmp_path / "odd.json"), about=message)
    fails(
        lambda: write_parquet(odd, tmp_path / "odd.parquet"),
        about=("the label frozenset", "cannot be written"),
    )
    fails(lambda: write_edge_list(odd, tmp_path), about="--no-labels")
    assert list(tmp_path.iterdir()) == []


PLAIN = '{"n_nodes": 3, "edges": [[0, 1], [1, 2]], "edge_labels": ["-", ["=", 1]]}'


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (PLAIN.replace('"-", ', ""), {}, ("line 1", "2 edges")),
        (PLAIN.replace('"-"', "null"), {}, ("line 1", "node 0", "node 1")),
        (PLAIN.replace('"-"', "{}"), {}, "labels must be"),
        (PLAIN.replace("[1, 2]", "[1, 0]"), {}, ("node 0", "node 1")),
        (PLAIN.replace("[1, 2]", "[0, 1]"), {"weight": None}, ("line 1", "node 0")),
        (PLAIN + '\n{"edges": [[0, 1]]}', {}, ("line 2")),
        (PLAIN, {"edge_label": "bond"}, "'bond'"),
        (
            '{"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2}]}',
            {"edge_label": "bond"},
            ("link 0", "'bond'"),
        ),
        (
            '{"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2, "bond": 1}, '
            '{"source": 2, "target": 1, "bond": 2}]}',
            {"edge_label": "bond", "weight": None},
            ("line 1", "node 0", "node 1"),
        ),
    ],
)
def test_json_that_contradicts_itself(tmp_path, text, options, message):
    path = tmp_path / "graphs.jsonl"
    path.write_text(text)
    fails(lambda: read_graphs(path, **options), about=message)


def test_values_of_edges_that_are_not_read(tmp_path):
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, "x", "bond")
    nx.write_graphml(graph, tmp_path / "a.graphml")
    (tmp_path / "a.json").write_text(json.dumps(node_link(graph)))
    for name in ("a.graphml", "a.json"):
        with pytest.warns(InputWarning, match="edges have 'bond', which is not used"):
            read_graphs(tmp_path / name)
        found = read_graphs(tmp_path / name, edge_label="bond").graphs
        assert edge_label_values(found) == ["x"] * 4


# The command line


@pytest.fixture
def molecules(tmp_path):
    lines = ["CCO,1", "C=C,0", "c1ccccc1,0", "CC,1", "N#N,0", "CC(=O)O,1"] * 3
    (tmp_path / "mol.csv").write_text("\n".join(["smiles,y", *lines]))
    return tmp_path / "mol.csv"


def test_types_of_bonds_by_option(molecules, tmp_path):
    found = record("info", molecules, "--bond-types")
    assert found["edge_labels"] == ["AROMATIC", "DOUBLE", "SINGLE", "TRIPLE"]
    table = tmp_path / "mol.parquet"
    printed("convert", molecules, table, "--bond-types", "--target-column", "y")
    expected = read_graphs(molecules, bond_types=True).graphs
    assert read_graphs(table).graphs == expected
    assert read_graphs(table).graphs.reading.options["bond_types"]
    found = record("info", table, "--no-edge-labels")
    assert found["edge_labels"] is None


def test_a_model_remembers_types_of_bonds(molecules, tmp_path):
    model = tmp_path / "m.retgk"
    options = ("--target-column", "y", "--bond-types", "-q")
    printed("fit", molecules, "-o", model, *options)
    printed("predict", model, molecules, "-o", "-")
    result = invoke("predict", model, molecules, "--no-bond-types", "-o", "-")
    assert "contradicts the model, whose graphs were read with --bond-types" in result.stderr


def test_names_of_labels_of_edges_by_option(tmp_path):
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, {(0, 1): "x", (1, 2): "y"}, "bond")
    nx.write_graphml(graph, tmp_path / "a.graphml")
    packed = tmp_path / "b.graphml.gz"
    packed.write_bytes(gzip.compress((tmp_path / "a.graphml").read_bytes()))
    for path in (tmp_path / "a.graphml", packed):
        assert record("info", path, "--edge-label", "bond")["edge_labels"] == ["x", "y"]
    result = invoke("info", packed)
    assert "edges have 'bond', which is not used; --edge-label" in result.stderr
    assert_fails(invoke("info", packed, "--edge-label", "x"), "--missing label")


# Edge lists of plain numbers are read in another way, and give the same graphs and errors

PLAIN_NUMBERED_EDGES = {
    "pairs": "3 1\n1 2\n2 3\n",
    "comments first": "# a graph\n\n# of three\n3\t1\n1 2\n",
    "carriage returns": "10 2\r\n2 7\r\n",
    "no last newline": "0 1\n1 5",
    "large numbers": "999999999999999999 5\n5 4000000000\n",
    "parallel edges and loops": "1 2\n2 1\n1 2\n4 4\n",
}
OTHER = {
    "zeros in front": "007 7\n7 1\n",
    "comments later": "1 2\n# more\n2 3\n",
    "blank lines later": "1 2\n\n2 3\n",
    "three columns": "1 2 5\n2 3 6\n",
    "names": "a b\nb c\n",
    "signs": "-1 2\n2 +3\n",
    "spaces in front": " 1 2\n2 3\n",
    "too long": "1234567890123456789 1\n",
}


def both(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read_graphs(path).graphs
    monkeypatch.setattr(edge_lists, "numbered_graph", lambda *_: None)
    assert found == read_graphs(path).graphs


@pytest.mark.parametrize("name", [*PLAIN_NUMBERED_EDGES, *OTHER])
@pytest.mark.parametrize("ending", [".edges", ".edges.gz"])
def test_the_same_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, ending: str
) -> None:
    text = (PLAIN_NUMBERED_EDGES | OTHER)[name].encode()
    path = tmp_path / f"graph{ending}"
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    assert (numbered_edges.numbered_graph(path) is not None) == (name in PLAIN_NUMBERED_EDGES)
    both(path, monkeypatch)


def test_pieces_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edges = np.random.default_rng(0).integers(0, 50, (300, 2))
    np.savetxt(tmp_path / "graph.edges", edges, fmt="%d")
    monkeypatch.setattr(text_lines, "_CHUNK_BYTES", 7)
    both(tmp_path / "graph.edges", monkeypatch)


@pytest.mark.parametrize("text", ["1 2\n3\n", "1 2\n3,4\n", "source target\n1 2\n", "# nothing\n"])
def test_the_same_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    path = tmp_path / "graph.edges"
    path.write_text(text)
    messages = []
    for _ in range(2):
        with pytest.raises(InvalidInputError) as caught:
            read_graphs(path)
        messages.append(str(caught.value))
        monkeypatch.setattr(edge_lists, "numbered_graph", lambda *_: None)
    assert messages[0] == messages[1]
