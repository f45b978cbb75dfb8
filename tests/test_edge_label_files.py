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
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from retgk import (
    GraphBatch,
    GraphDataset,
    InvalidInputError,
    RetGKEmbedding,
    RetGKKernel,
    as_batch,
    from_dataframe,
    from_edge_lists,
    from_grakel,
    from_igraph,
    from_networkx,
    from_pyg,
    from_rdkit,
    from_smiles,
    iter_parquet,
    load_model,
    load_tudataset,
    read_graphs,
    save_model,
    save_tudataset,
    to_grakel,
    to_igraph,
    to_networkx,
    to_pyg,
    write_edge_list,
    write_graphml,
    write_json,
    write_parquet,
)
from retgk._runtime import files as text_lines
from retgk.errors import InputWarning
from retgk.io import convert as exporters
from retgk.io import edges as edge_lists
from retgk.io import edges as numbered_edges
from retgk.io.cache import load_cached, store_cached
from tests.example_graphs import NAMES, edge_label_values, node_link, random_graphs, rows_of
from tests.programs import assert_fails, invoke, printed, record

BONDS = ("CCO", "C=C", "c1ccccc1", "C", "N#N", "CC(=O)O")


def labelled_graphs(**options):
    return st.builds(
        random_graphs,
        st.integers(0, 2**32),
        st.sampled_from(NAMES),
        st.booleans(),
        st.booleans(),
        st.integers(0, 2),
        **options,
    )


def names_of(graphs):
    """Options by which the graphs of `to_networkx` and `to_igraph` are read back."""
    return {
        "label": "label" if graphs.has_labels else None,
        "attributes": "attributes" if graphs.n_attributes else [],
        "edge_label": "label",
    }


@settings(max_examples=60, deadline=None)
@given(graphs=labelled_graphs())
def test_networkx_and_igraph_there_and_back(graphs):
    options = names_of(graphs)
    assert from_networkx(to_networkx(graphs), **options) == graphs
    assert from_igraph(to_igraph(graphs), **options) == graphs
    assert as_batch(to_networkx(graphs), **options)[-1] == graphs[-1]
    again = from_networkx(to_networkx(graphs), **options, symmetrize=True)
    assert again == graphs


@settings(max_examples=60, deadline=None)
@given(graphs=labelled_graphs())
def test_grakel_there_and_back(graphs):
    nodes = graphs.without_attributes()
    items = to_grakel(nodes)
    assert from_grakel(items) == nodes
    one_way = [[g, n, {pair: e[pair] for pair in e if pair[0] <= pair[1]}] for g, n, e in items]
    assert from_grakel(one_way) == nodes  # one direction of an edge is enough
    if graphs.n_attributes:
        both = from_grakel(to_grakel(graphs, as_attributes=True), as_attributes=True)
        assert both == graphs.without_labels()


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


class _ArraysForTensors:
    """What `to_pyg` asks of torch and PyTorch Geometric, with arrays for tensors."""

    long, Data = np.int64, SimpleNamespace
    from_numpy = staticmethod(np.asarray)
    tensor = staticmethod(np.array)
    get_default_dtype = staticmethod(lambda: np.float64)


@settings(max_examples=40, deadline=None)
@given(graphs=labelled_graphs())
def test_pyg_there_and_back(graphs):
    with mock.patch.object(exporters, "optional_module", return_value=_ArraysForTensors):
        found = to_pyg(graphs)
    options = {"edge_label": "edge_attr", "attributes": "x" if graphs.n_attributes else []}
    back = from_pyg(found, label="label" if graphs.has_labels else None, **options)
    bonds = [graphs.edge_label_names[code] for code in np.array(edge_label_values(back), int)]
    back = back.with_edge_labels(bonds)
    if graphs.has_labels:
        codes = [back.label_names[code] for code in back.labels]
        back = back.with_labels([graphs.label_names[code] for code in codes])
    assert back == graphs


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


@settings(max_examples=40, deadline=None)
@given(graphs=labelled_graphs())
def test_lists_of_edges(graphs):
    graphs = graphs.without_labels().without_attributes()
    edges, labels, weights = [], [], []
    for graph in graphs:
        edges.append(np.stack(rows_of(graph), axis=1))
        labels.append(edge_label_values(graph))
        weights.append(graph.weights)
    options = {"n_nodes": graphs.node_counts, "weights": weights, "edge_labels": labels}
    assert from_edge_lists(edges, **options) == graphs


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


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_types_of_bonds_in_chunks(monkeypatch, n_jobs):
    from retgk.io import molecules as smiles_strings

    monkeypatch.setattr(smiles_strings, "CHUNK", 2)
    assert from_smiles(BONDS, bond_types=True, n_jobs=n_jobs) == GraphBatch.concatenate(
        from_smiles([one], bond_types=True) for one in BONDS
    )


# What models remember


def test_models_read_labels_of_edges_alike(tmp_path):
    model = RetGKKernel(6, depth=2, random_state=0).fit(as_batch(BONDS, bond_types=True))
    expected = model.transform(as_batch(BONDS[:3], bond_types=True))
    save_model(model, tmp_path / "model.retgk")
    for each in (model, load_model(tmp_path / "model.retgk")):
        assert each.reading_.options["bond_types"] is True
        np.testing.assert_array_equal(each.transform(list(BONDS[:3])), expected)
    plain = RetGKKernel(6, depth=2, random_state=0).fit(as_batch(BONDS, bond_types=False))
    assert not np.allclose(plain.transform(list(BONDS[:3])), expected)
    with pytest.raises(InvalidInputError, match="bond_types=True, the fitted ones with bond_types"):
        plain.transform(as_batch(BONDS, bond_types=True))


def test_labels_that_were_taken_away_stay_away():
    graphs = random_graphs(3, n_attributes=0)
    items = to_grakel(graphs)
    batch = from_grakel(items).without_edge_labels()
    assert not batch.reading.edge_labels
    model = RetGKKernel(6, depth=2, random_state=0).fit(batch)
    np.testing.assert_array_equal(model.transform(items), model.transform(batch))
    graphs = as_batch(BONDS, bond_types=True).without_edge_labels()
    assert graphs.reading.options["bond_types"] is False


@pytest.mark.parametrize("maker", [RetGKKernel, RetGKEmbedding])
@pytest.mark.parametrize("has_labels", [True, False])
def test_models_refuse_graphs_of_the_other_kind(tmp_path, maker, has_labels):
    """The exact engine and the embedded one say the same."""
    labelled = random_graphs(5)
    plain = labelled.without_edge_labels()
    fitted, others = (labelled, plain) if has_labels else (plain, labelled)
    options = {"feature_map": "phases"} if maker is RetGKEmbedding else {}
    model = maker(n_steps=6, depth=2, random_state=0, **options).fit(fitted)
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
    shallow = maker(n_steps=6, random_state=0, **options).fit(fitted)
    np.testing.assert_array_equal(shallow.transform(others), shallow.transform(fitted))


# What is missing, contradicts itself, or is not used


def path_of(*data):
    graph = nx.path_graph(len(data) + 1)
    for edge, values in enumerate(data):
        graph.edges[edge, edge + 1].update(values)
    return graph


def test_edges_without_a_label():
    graph = path_of({"bond": "-"}, {})
    message = "graph 1: the edge from 1 to 2 has no 'bond'; set it on all edges first, or make"
    with pytest.raises(InvalidInputError, match=message):
        from_networkx([path_of({"bond": "-"}), graph], edge_label="bond")
    found = from_networkx(graph, edge_label="bond", missing="label")
    assert edge_label_values(found) == ["-", "-", None, None]
    other = igraph.Graph.from_networkx(graph)
    with pytest.raises(InvalidInputError, match="graph 0: edge 1, from 1 to 2, has no 'bond'"):
        from_igraph(other, edge_label="bond")
    assert from_igraph(other, edge_label="bond", missing="keep") == found
    item = [{0: [1], 1: [0, 2], 2: [1]}, None, {(0, 1): "-"}]
    with pytest.raises(InvalidInputError, match="graph 0: the edge from 1 to 2 has no label; give"):
        from_grakel([item])
    assert from_grakel([item], missing="label") == found
    edges = {"source": [0, 1], "target": [1, 2], "bond": ["-", float("nan")]}
    with pytest.raises(InvalidInputError, match="edges, row 1 has no 'bond'"):
        from_dataframe(edges, graph_id=None, edge_label="bond")
    tables = {"graph_id": None, "missing": "label"}
    assert from_dataframe(edges, edge_label="bond", **tables) == found
    with pytest.raises(InvalidInputError, match="the edge between node 0 and node 1 has the label"):
        GraphBatch.from_edges(2, [[0, 1]], edge_labels=[None], symmetrize=True)


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
    with pytest.raises(InvalidInputError, match="the edge from 0 to 1 has the labels '-' and '#'"):
        from_networkx(parallel, **options)
    with pytest.raises(InvalidInputError, match="node 0 and node 1 has the labels '-' and '#'"):
        from_igraph(igraph.Graph.from_networkx(parallel), **options)


def test_directions_have_one_label():
    graph = nx.DiGraph([(0, 1, {"bond": "-"}), (1, 0, {"bond": "-"}), (1, 2, {"bond": "="})])
    found = from_networkx(graph, edge_label="bond", symmetrize=True)
    assert edge_label_values(found) == ["-", "-", "=", "="]
    graph.edges[1, 0]["bond"] = "#"
    with pytest.raises(InvalidInputError, match="graph 0: the edge between node 0 and node 1 has"):
        from_networkx(graph, edge_label="bond", symmetrize=True)


def test_labels_of_some_graphs_only():
    item = [{0: [1], 1: [0]}, None, {(0, 1): "-"}]
    with pytest.raises(InvalidInputError, match="graph 1 has no labels of edges, others have"):
        from_grakel([item, item[:1]])
    assert len(from_grakel([item, [{0: []}]])) == 2  # which has no edges
    with pytest.raises(InvalidInputError, match="edge labels must be a dictionary from pairs"):
        from_grakel([[item[0], None, ["-"]]])


def test_pyg_fields_that_are_no_labels():
    data = SimpleNamespace(edge_index=[[0, 1], [1, 0]], num_nodes=2, edge_attr=[[0.5, 2], [1, 1]])
    with pytest.raises(InvalidInputError, match=r"one value for each of 2 edges or one-hot rows"):
        from_pyg(data, edge_label="edge_attr")
    data.edge_attr = [1, 1, 1]
    with pytest.raises(InvalidInputError, match=r"each of 2 edges or one-hot rows, got shape \(3,"):
        from_pyg(data, edge_label="edge_attr")


def test_values_that_cannot_be_labels():
    with pytest.raises(
        InvalidInputError, match=r"to 1: the 'bond' is \[1\], which cannot be a lab"
    ):
        from_networkx(path_of({"bond": [1]}), edge_label="bond")


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
        model = RetGKKernel(6).fit([graph, path_of({"bond": "-"}, {"bond": "="})])
    model.transform([graph])  # says nothing again


# Labels of edges in files of every format, there and back, and on the command line

PLAIN_NAMES = [names for names in NAMES if not any(isinstance(name, tuple) for name in names)]
SEEDS = st.integers(0, 2**32)


def sets(names):
    return st.builds(
        random_graphs,
        SEEDS,
        st.sampled_from(names),
        st.booleans(),
        st.booleans(),
        st.integers(0, 2),
    )


@settings(max_examples=30, deadline=None)
@given(graphs=sets(PLAIN_NAMES))
def test_graphml(tmp_path_factory, graphs):
    folder = tmp_path_factory.mktemp("graphml")
    write_graphml(graphs, folder)
    options = {
        "label": "label" if graphs.has_labels else None,
        "attributes": [f"attribute_{column}" for column in range(graphs.n_attributes)],
        "edge_label": "label",
    }
    found = read_graphs(folder, **options).graphs
    assert found == graphs
    assert found.reading.options["edge_label"] == "label"
    assert read_graphs(folder, **options).graphs == graphs


@settings(max_examples=30, deadline=None)
@given(graphs=sets(NAMES), ending=st.sampled_from([".json", ".jsonl", ".json.gz"]))
def test_json(tmp_path_factory, graphs, ending):
    path = tmp_path_factory.mktemp("json") / f"graphs{ending}"
    write_json(graphs, path)
    assert read_graphs(path).graphs == graphs
    assert read_graphs(path).graphs == graphs
    if not graphs.is_weighted:
        assert read_graphs(path, weight=None).graphs == graphs


@settings(max_examples=30, deadline=None)
@given(graphs=sets(NAMES[:3]), multigraph=st.booleans())
def test_node_links(tmp_path_factory, graphs, multigraph):
    path = tmp_path_factory.mktemp("links") / "graphs.jsonl"
    found = [nx.MultiGraph(graph) if multigraph else graph for graph in to_networkx(graphs)]
    texts = [json.dumps(node_link(graph)) for graph in found]
    path.write_text("\n".join(texts))
    options = {"label": "label" if graphs.has_labels else None, "edge_label": "label"}
    options["attributes"] = "attributes" if graphs.n_attributes else []
    batch = read_graphs(path, **options).graphs
    assert batch == graphs
    assert batch.reading == from_networkx(found, **options).reading


@settings(max_examples=30, deadline=None)
@given(graphs=sets(NAMES), batch_size=st.integers(1, 4))
def test_parquet_in_pieces(tmp_path_factory, graphs, batch_size):
    path = tmp_path_factory.mktemp("parquet") / "graphs.parquet"
    write_parquet(graphs, path, batch_size=batch_size)
    parts = [part.graphs for part in iter_parquet(path, batch_size)]
    assert all(part.has_edge_labels for part in parts)
    assert GraphBatch.concatenate(parts) == graphs
    assert [len(part) for part in parts[:-1]] == [batch_size] * (len(parts) - 1)


@settings(max_examples=30, deadline=None)
@given(graphs=sets(NAMES[1:3]))
def test_tudataset_and_its_parsed_copy(tmp_path_factory, graphs):
    folder = tmp_path_factory.mktemp("tu")
    save_tudataset(GraphDataset(graphs, np.arange(len(graphs)), "RANDOM"), folder)
    column = 0 if graphs.is_weighted else None
    for _ in range(2):  # parsed, then from the copy
        found = load_tudataset("RANDOM", folder, weight_column=column, cache=folder / "copies")
        assert found.graphs == graphs


def test_files_with_a_column_of_integers(tmp_path):
    """The form in which files had labels of edges before batches did, with a digest of pages."""
    columns = {
        "degrees": pa.array([[1, 1], [0]], pa.large_list(pa.int32())),
        "neighbours": pa.array([[1, 0], []], pa.large_list(pa.int32())),
        "weights": pa.array([[1.0, 1.0], []], pa.large_list(pa.float64())),
        "edge_labels": pa.array([[7, 7], []], pa.large_list(pa.int64())),
    }
    path = tmp_path / "old.parquet"
    parquet.write_table(pa.table(columns), path)
    found = read_graphs(path).graphs
    assert edge_label_values(found) == [7, 7]
    assert [part.graphs.has_edge_labels for part in iter_parquet(path, 1)] == [True, True]


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
    message = r"cannot hold the label frozenset.* number the labels \(with_edge_labels"
    with pytest.raises(InvalidInputError, match=message):
        write_graphml(odd, tmp_path)
    with pytest.raises(InvalidInputError, match=message):
        write_json(odd, tmp_path / "odd.json")
    with pytest.raises(InvalidInputError, match=r"the label frozenset.* cannot be written"):
        write_parquet(odd, tmp_path / "odd.parquet")
    with pytest.raises(InvalidInputError, match=r"neither labels nor attributes; .*--no-labels"):
        write_edge_list(odd, tmp_path)
    assert list(tmp_path.iterdir()) == []


PLAIN = '{"n_nodes": 3, "edges": [[0, 1], [1, 2]], "edge_labels": ["-", ["=", 1]]}'


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (PLAIN.replace('"-", ', ""), {}, "line 1: 1 edge_labels for 2 edges"),
        (
            PLAIN.replace('"-"', "null"),
            {},
            "line 1: the edge between node 0 and node 1 has the lab",
        ),
        (PLAIN.replace('"-"', "{}"), {}, "labels must be hashable"),
        (PLAIN.replace("[1, 2]", "[1, 0]"), {}, r"node 0 and node 1 has the labels '-' and \('=',"),
        (
            PLAIN.replace("[1, 2]", "[0, 1]"),
            {"weight": None},
            "line 1: the edge between node 0 and",
        ),
        (PLAIN + '\n{"edges": [[0, 1]]}', {}, "line 2 has no labels of edges, others have"),
        (PLAIN, {"edge_label": "bond"}, "so none can be read by the name 'bond'"),
        (
            '{"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2}]}',
            {"edge_label": "bond"},
            "link 0 has no 'bond'; set it on all edges first, or make a label of its own",
        ),
        (
            '{"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2, "bond": 1}, '
            '{"source": 2, "target": 1, "bond": 2}]}',
            {"edge_label": "bond", "weight": None},
            "line 1: the edge between node 0 and node 1 has the labels 1 and 2; give it one",
        ),
    ],
)
def test_json_that_contradicts_itself(tmp_path, text, options, message):
    path = tmp_path / "graphs.jsonl"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        read_graphs(path, **options)


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
    assert_fails(
        invoke("info", packed, "--edge-label", "x"),
        "--missing label",
    )


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
