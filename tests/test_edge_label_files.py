"""Labels of edges in files of every format, there and back, and on the command line."""

import gzip
import json

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from retgk import (
    GraphBatch,
    GraphDataset,
    InvalidInputError,
    from_networkx,
    iter_parquet,
    load_tudataset,
    read_graphs,
    save_tudataset,
    to_networkx,
    write_edge_list,
    write_graphml,
    write_json,
    write_parquet,
)
from retgk.errors import InputWarning
from retgk.io.cache import load_cached, store_cached
from tests.cli_calls import assert_fails, invoke, printed, record
from tests.labelled_edges import NAMES, edge_label_values, random_graphs
from tests.node_links import node_link

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
