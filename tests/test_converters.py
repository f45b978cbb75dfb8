"""as_batch finds the right converter."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem

import retgk.io
from retgk import GraphBatch, InvalidInputError, read_graphs, write_graphs
from retgk._runtime.names import optional_module
from retgk.errors import InputWarning
from retgk.io import convert as conversion
from retgk.io import (
    from_dataframe,
    from_igraph,
    to_grakel,
    to_igraph,
    to_pyg,
    write_parquet,
)
from retgk.io.arrays import from_edge_lists, from_numpy
from retgk.io.convert import as_batch
from retgk.io.dataset import GraphDataset
from retgk.io.formats import formats
from retgk.io.molecules import from_smiles
from retgk.io.networkx import from_networkx
from tests.errors import fails
from tests.example_graphs import dense, names

PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
EDGES = np.array([[0, 1], [1, 0], [1, 2], [2, 1]])
BATCH = from_numpy(PATH)
ONE_GRAPH = {
    "batch": BATCH,
    "data set": GraphDataset(BATCH, np.zeros(1), "one"),
    "networkx": nx.path_graph(3),
    "multigraph": nx.MultiGraph(nx.path_graph(3)),
    "igraph": igraph.Graph(3, [(0, 1), (1, 2)]),
    "sparse array": sp.csr_array(PATH),
    "sparse matrix": sp.coo_matrix(PATH),
    "dense": PATH,
    "bool": PATH.astype(bool),
    "edges": EDGES,
    "PyG": SimpleNamespace(edge_index=EDGES.T, num_nodes=3),
    "GraKeL": [{(0, 1), (1, 0), (1, 2), (2, 1)}],
    "GraKeL with nothing else": [{0: [1], 1: [0, 2], 2: [1]}, None, None],
}


def in_object_array(graphs: list[Any]) -> np.ndarray:
    array = np.empty(len(graphs), dtype=object)
    for position, graph in enumerate(graphs):
        array[position] = graph
    return array


@pytest.mark.parametrize("kind", ONE_GRAPH)
def test_one_graph(kind: str) -> None:
    assert as_batch(ONE_GRAPH[kind]) == BATCH


@pytest.mark.parametrize("kind", ONE_GRAPH)
@pytest.mark.parametrize("many", [list, tuple, iter, in_object_array])
def test_many_graphs(kind: str, many: Any) -> None:
    expected = GraphBatch.concatenate([BATCH] * 3)
    assert as_batch(many([ONE_GRAPH[kind]] * 3)) == expected
    assert as_batch(many([ONE_GRAPH[kind]])) == BATCH


def test_batch_is_returned_as_it_is() -> None:
    assert as_batch(BATCH) is BATCH
    assert as_batch(ONE_GRAPH["data set"]) is BATCH


@pytest.mark.parametrize("many", [list, tuple, iter, np.array, in_object_array])
def test_smiles_and_molecules(many: Any) -> None:
    smiles = ["CCO", "C"]
    assert as_batch(many(smiles)) == from_smiles(smiles)
    assert as_batch("CCO") == from_smiles("CCO")
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    assert as_batch(molecules) == from_smiles(smiles)
    assert as_batch(molecules[0]) == from_smiles("CCO")


def test_stack_of_matrices() -> None:
    assert as_batch(np.stack([PATH] * 3)) == GraphBatch.concatenate([BATCH] * 3)
    assert as_batch(np.ones((3, 2, 2), int)) == from_numpy(np.ones((3, 2, 2)))


def test_different_classes_of_one_kind() -> None:
    found = as_batch([nx.path_graph(3), nx.MultiGraph(nx.path_graph(3))])
    assert found == GraphBatch.concatenate([BATCH] * 2)
    assert as_batch([sp.csr_array(PATH), sp.coo_matrix(PATH)]) == found


def test_options_reach_the_converter() -> None:
    assert as_batch(PATH, labels=list("abc")) == BATCH.with_labels(list("abc"))
    assert as_batch([PATH], labels=[list("abc")]) == BATCH.with_labels(list("abc"))
    assert as_batch(nx.DiGraph([(0, 1), (1, 2)]), symmetrize=True) == BATCH
    two = np.array([[0, 1], [1, 2]])
    assert as_batch([two], n_nodes=[3], symmetrize=True) == BATCH
    fails(lambda: as_batch(nx.path_graph(3), colour="red"), about="'colour'")
    for batches in (BATCH, [BATCH, BATCH]):
        fails(partial(as_batch, batches, symmetrize=True), about=("no options", "symmetrize"))


def test_the_list_as_a_whole_tells_matrices_from_edges() -> None:
    two = np.array([[0, 1], [1, 0]])
    assert as_batch([two, EDGES]) == from_edge_lists([two, EDGES])
    assert as_batch([two, PATH]) == from_numpy([two, PATH])
    assert as_batch(two.astype(float)) == from_numpy(two)
    for ambiguous in (two, [two], [two, two]):
        fails(partial(as_batch, ambiguous), about=("(2, 2)", "from_edge_lists"))


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([nx.path_graph(3), PATH], ("graph 1", "graph 0")),
        (["C", "C", nx.path_graph(3)], ("graph 2", "graph 0")),
        ([Chem.MolFromSmiles("C"), None], "graph 1"),
        ([PATH, None], "graph 1"),
        (["C", float("nan")], "graph 1"),
        (["C", "CC", pd.NA], "graph 2"),
        ([PATH, 1], "graph 1"),
        ([PATH, np.ones(3)], ("graph 1", "(3,)")),
        (["C", 2.5], "graph 1"),
        ([[[0, 1], [1, 0]]], ("graph 0", "from_edge_lists")),
        ([[(0, 1), (1, 2)]], ("graph 0", "from_edge_lists", "symmetrize=True")),
        ({"a": nx.path_graph(3)}, "cannot read graphs from"),
        ({"C", "CC"}, "cannot read graphs from"),
        (b"CC", "cannot read graphs from"),
        (3, "cannot read graphs from"),
        (None, "cannot read graphs from"),
        (np.array(3), "cannot read graphs from"),
        ([], "there are no graphs"),
        (np.ones(3), "graph 0"),
        (np.array([nx.path_graph(3)] * 2, object), "(2, 3)"),
    ],
)
def test_errors(graphs: Any, message: str) -> None:
    fails(lambda: as_batch(graphs), about=message)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_rows_of_a_table_are_graphs_not_its_columns(package: str) -> None:
    table = pytest.importorskip(package).DataFrame({"C": ["CCO", "CC"], "N": [1, 2]})
    for convert in (as_batch, from_smiles):
        assert convert(table[["C"]]) == from_smiles(["CCO", "CC"])
        assert convert(table["C"]) == from_smiles(["CCO", "CC"])
        fails(partial(convert, table), about=("2 columns", "'C', 'N'", "from_dataframe"))


@pytest.mark.parametrize("ending", [".jsonl", ".parquet", ".json.gz"])
@pytest.mark.parametrize("graph", ONE_GRAPH.values(), ids=list(ONE_GRAPH))
def test_whatever_is_read_is_written(graph: Any, ending: str, tmp_path: Path) -> None:
    path = write_graphs(graph, tmp_path / f"graphs{ending}")
    assert read_graphs(path).graphs == as_batch(graph)
    if ending == ".parquet":
        assert read_graphs(write_parquet(graph, tmp_path / "own.parquet")).graphs == as_batch(graph)


OPTIONAL = ["networkx", "igraph", "rdkit", "torch", "torch_geometric", "grakel", "pandas", "rich"]


@pytest.mark.slow
def test_no_optional_package_is_imported() -> None:
    code = (
        "import sys, numpy as np; from retgk.io.convert import as_batch;"
        "as_batch([np.ones((3, 3))]); as_batch(np.ones((2, 3, 3)));"
        f"print([name for name in {OPTIONAL} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# networkx there and back, and every error on the way

NODE_IDS = st.one_of(
    st.integers(-5, 5),
    st.text(max_size=2),
    st.tuples(st.integers(0, 3), st.text(max_size=1)),
    st.frozensets(st.integers(0, 3), max_size=2),
)
WEIGHTS = st.floats(0.125, 8, width=32)


@st.composite
def graphs(draw: st.DrawFn) -> nx.Graph:
    """Graphs with any nodes, isolated ones and self-loops among them, labels and attributes."""
    nodes = draw(st.lists(NODE_IDS, min_size=1, max_size=7, unique=True))
    graph = nx.Graph()
    for node in nodes:
        charge, label = draw(WEIGHTS), draw(st.sampled_from("CNO"))
        graph.add_node(node, label=label, charge=charge, position=[charge, 1])
    ends = st.tuples(st.sampled_from(nodes), st.sampled_from(nodes))
    for source, target in draw(st.lists(ends, max_size=12)):
        graph.add_edge(source, target, **draw(st.sampled_from([{}, {"weight": draw(WEIGHTS)}])))
    return graph


@given(st.lists(graphs(), min_size=1, max_size=4))
def test_adjacency_is_that_of_networkx(found: list[nx.Graph]) -> None:
    batch = from_networkx(found, label="label", attributes=["position", "charge"])
    assert len(batch) == len(found)
    for graph, converted in zip(found, batch, strict=True):
        np.testing.assert_array_equal(dense(converted), nx.to_numpy_array(graph))
        data = dict(graph.nodes(data=True)).values()
        assert names(converted) == [node["label"] for node in data]
        np.testing.assert_array_equal(
            converted.attributes, [[*node["position"], node["charge"]] for node in data]
        )


@given(graphs(), st.randoms(use_true_random=False))
def test_order_of_nodes_is_that_of_the_graph(graph: nx.Graph, random: Any) -> None:
    order = list(graph)
    random.shuffle(order)
    shuffled = nx.Graph()
    shuffled.add_nodes_from((node, graph.nodes[node]) for node in order)
    shuffled.add_edges_from(graph.edges(data=True))
    position = [list(graph).index(node) for node in order]
    original, converted = (
        from_networkx(g, label="label", attributes=[]) for g in (graph, shuffled)
    )
    np.testing.assert_array_equal(dense(converted), dense(original)[np.ix_(position, position)])
    assert names(converted) == [names(original)[i] for i in position]


@given(st.lists(graphs(), min_size=1, max_size=4))
def test_list_is_the_concatenation_of_its_graphs(found: list[nx.Graph]) -> None:
    options = {"label": "label", "attributes": []}
    parts = [from_networkx(graph, **options) for graph in found]
    assert from_networkx(iter(found), **options) == GraphBatch.concatenate(parts)


def test_data_of_nodes_that_is_not_used_is_a_warning() -> None:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {1: "O"}, "element")
    nx.set_node_attributes(graph, 1.0, "mass")
    message = r"nodes have 'mass', 'element', which are not used; label= and attributes= read them"
    for graphs in ([graph, graph], [nx.path_graph(2), graph]):  # the first may have none
        with pytest.warns(UserWarning, match=message):
            from_networkx(graphs)
    with pytest.warns(UserWarning, match="nodes have 'mass', which is not used"):
        from_networkx(graph, label="element", missing="label")
    assert from_networkx(graph, attributes=[]) == from_networkx(nx.path_graph(3))
    assert from_networkx(graph, attributes="mass").n_attributes == 1
    wide = nx.path_graph(1)
    wide.add_node(0, **dict.fromkeys("abcdefg", 1))
    with pytest.warns(UserWarning, match=r"nodes have 'a', 'b', 'c', 'd', 'e', \.\.\., which are"):
        from_networkx(wide)


def test_parallel_edges_add_up() -> None:
    graph = nx.MultiGraph([("a", "b", {"weight": 2}), ("b", "a"), ("b", "b", {"weight": 4})])
    np.testing.assert_array_equal(dense(from_networkx(graph)), [[0, 3], [3, 4]])
    np.testing.assert_array_equal(dense(from_networkx(graph, weight=None)), [[0, 1], [1, 1]])
    assert not from_networkx(graph, weight=None).is_weighted


def test_weighted_graph_among_unweighted_ones() -> None:
    plain, weighted = nx.path_graph(2), nx.Graph()
    weighted.add_edge(0, 1, weight=3)
    batch = from_networkx([plain, weighted, plain])
    assert [graph.weights.max() for graph in batch] == [1, 3, 1]
    assert not from_networkx([weighted], weight=None).is_weighted
    with pytest.warns(InputWarning, match="no edge has the weight 'length'"):
        assert not from_networkx([weighted], weight="length").is_weighted


def test_symmetrize_takes_the_larger_direction() -> None:
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, 2), (1, 0, 5), (1, 2, 1)])
    expected = [[0, 5, 0], [5, 0, 1], [0, 1, 0]]
    np.testing.assert_array_equal(dense(from_networkx(graph, symmetrize=True)), expected)


def test_nodes_that_equal_their_numbers_but_are_not_integers() -> None:
    graph = nx.Graph([(0.0, True), (True, 2)])
    np.testing.assert_array_equal(dense(from_networkx(graph)), nx.to_numpy_array(graph))


def test_filtered_view() -> None:
    view = nx.subgraph_view(nx.path_graph(5), filter_node=lambda node: node != 2)
    np.testing.assert_array_equal(dense(from_networkx(view)), nx.to_numpy_array(view))


def test_graph_of_a_derived_class() -> None:
    class Street(nx.Graph):
        pass

    assert from_networkx(Street([(0, 1)])).n_edges == 1


@pytest.mark.parametrize("value", [[1, 2], (1.0, 2), np.array([1, 2]), [np.float64(1), 2]])
def test_forms_of_vectors(value: Any) -> None:
    graph = nx.empty_graph(2)
    nx.set_node_attributes(graph, dict.fromkeys(graph, value), "x")
    np.testing.assert_array_equal(from_networkx(graph, attributes="x").attributes, [[1, 2]] * 2)


def with_values(*values: Any) -> nx.Graph:
    graph = nx.Graph()
    for node, value in zip("abc", values, strict=False):
        graph.add_node(node, x=value)
    return graph


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("1.5", ("graph 1", "'b'", "'x'", "'1.5'")),
        (None, ("graph 1", "'b'", "'x'")),
        (10**400, ("graph 1", "'b'", "'x'", "1329 bits")),
        ({1.5}, ("graph 1", "'b'", "'x'", "1.5")),
        ([[1]], ("graph 1", "'b'", "'x'", "[1]")),
        ([1], ("graph 1", "'b'", "'x'", "1 values")),
        (np.nan, ("graph 1", "attribute 0", "node 1")),
    ],
)
def test_bad_attribute(value: Any, message: str) -> None:
    fails(
        lambda: from_networkx([with_values(1, 2), with_values(1, value)], attributes="x"),
        about=message,
    )


@pytest.mark.parametrize("position", [1, 1023, 1024, 2999])
def test_many_vectors_are_read_in_chunks(position: int) -> None:
    graph = nx.empty_graph(3000)
    values = np.random.default_rng(0).random((3000, 2))
    nx.set_node_attributes(graph, dict(enumerate(values.tolist())), "x")
    np.testing.assert_array_equal(from_networkx(graph, attributes="x").attributes, values)
    graph.nodes[position]["x"] = values[position]  # an array among lists
    np.testing.assert_array_equal(from_networkx(graph, attributes="x").attributes, values)
    for bad, problem in (([1.0], "has 1 values"), ([1.0, "2"], "is .*must be a number")):
        graph.nodes[position]["x"] = bad
        with pytest.raises(
            InvalidInputError, match=f"node {position}: the attribute 'x' {problem}"
        ):
            from_networkx(graph, attributes="x")


class Backwards(nx.Graph):
    """A graph that lists its rows in another order than its nodes."""

    def adjacency(self) -> Any:
        return reversed(list(super().adjacency()))


def test_rows_in_another_order_than_the_nodes() -> None:
    star = [(0, 1), (0, 2), (0, 3)]
    assert from_networkx(Backwards(star)) == from_networkx(nx.Graph(star))


def test_missing_attribute_and_label() -> None:
    bad = with_values(1)
    bad.add_node("z", y=2)
    message = ("graph 1", "'z'", "'x'", "'y'")
    fails(lambda: from_networkx([with_values(1), bad], attributes=["x"]), about=message)
    fails(lambda: from_networkx([with_values(1), bad], label="x"), about=message)
    fails(lambda: from_networkx(nx.path_graph(2), label="q"), about=("graph 0", "node 0", "'q'"))


def test_directed_graph() -> None:
    fails(
        lambda: from_networkx([nx.path_graph(2), nx.DiGraph([(0, 1)])]),
        about=("graph 1", "symmetrize=True"),
    )


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
@pytest.mark.parametrize("weight", ["2", None])
def test_weight_that_is_no_number(kind: type, weight: Any) -> None:
    bad = kind()
    bad.add_edge("a", "b", weight=weight)
    about = ("graph 1", "'a' to 'b'", f"'weight' {weight!r}", "weight=None")
    fails(lambda: from_networkx([nx.path_graph(2), bad]), about)


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
def test_weight_that_is_too_large(kind: type) -> None:
    bad = kind()
    bad.add_edge("a", "b", weight=10**400)
    message = ("'a'", "'b'", "'weight'", "1329 bits")
    fails(lambda: from_networkx(bad), about=message)


def test_parallel_weights_that_are_too_large_together() -> None:
    bad = nx.MultiGraph([("a", "b", {"weight": 10**308})] * 2)
    fails(lambda: from_networkx(bad), about="graph 0")


@pytest.mark.parametrize("weight", [-1, np.nan, np.inf])
def test_weight_out_of_range(weight: float) -> None:
    bad = nx.Graph()
    bad.add_edge(0, 1, weight=weight)
    message = ("graph 1", "node 0", "node 1")
    fails(lambda: from_networkx([nx.path_graph(2), bad]), about=message)


def test_graph_without_nodes() -> None:
    fails(lambda: from_networkx([nx.path_graph(2), nx.Graph()]), about="graph 1")
    fails(lambda: from_networkx(nx.Graph(), label="x", attributes="x"), about="graph 0")


def test_not_networkx() -> None:
    fails(lambda: from_networkx([nx.path_graph(2), 3]), about="graph 1")
    fails(lambda: from_networkx({0: nx.path_graph(2)}), about="expected networkx graphs, got")
    fails(lambda: from_networkx([]), about="there are no graphs")


# Graphs from tables of edges and nodes

EDGES_DATA_FRAMES = {
    "graph_id": ["b", "a", "b", "a"],
    "source": [1, 1, 2, "x"],
    "target": [2, "x", 3, "x"],
    "w": [1.0, 2.0, 0.5, 4.0],
}
NODES = {
    "graph_id": ["a", "b", "b", "b", "a", "b"],
    "node": [1, 1, 2, 3, "x", "alone"],
    "kind": list("uvwxyz"),
    "role": [1, 1, 1, 2, 2, 2],
    "age": [0, 1, 2, 3, 4, 5.5],
}


def polars_frame(columns: dict[str, list[Any]]) -> Any:
    return pytest.importorskip("polars").DataFrame(columns, strict=False)


def arrow_table(columns: dict[str, list[Any]]) -> Any:
    return pa.Table.from_pandas(pd.DataFrame(columns).astype({"source": str, "target": str}))


FRAMES = [pd.DataFrame, dict, arrow_table, polars_frame]


@pytest.mark.parametrize("frame", FRAMES)
def test_edges_alone(frame: Any) -> None:
    graphs, ids = from_dataframe(frame(EDGES_DATA_FRAMES), weight="w", return_ids=True)
    assert ids == ["b", "a"]
    expected = GraphBatch.from_edges(
        [3, 2], [[0, 1], [1, 2], [3, 4], [4, 4]], [1, 0.5, 2, 4], symmetrize=True
    )
    assert graphs == expected
    with pytest.warns(InputWarning, match="edges have 'w', which is not used; edge_label="):
        assert not from_dataframe(frame(EDGES_DATA_FRAMES)).is_weighted
    one = frame({"source": ["a"], "target": ["b"]})
    with pytest.raises(InvalidInputError, match=r"'graph_id'.*; graph_id=None reads a table"):
        from_dataframe(one)
    assert len(from_dataframe(one, graph_id=None)) == 1


def test_nodes_give_the_order_labels_and_isolated_nodes() -> None:
    graphs, ids = from_dataframe(
        pd.DataFrame(EDGES_DATA_FRAMES),
        pd.DataFrame(NODES),
        weight="w",
        label=["kind", "role"],
        attributes="age",
        return_ids=True,
    )
    assert ids == ["a", "b"]
    assert graphs.label_columns == ("kind", "role")
    assert graphs.node_counts.tolist() == [2, 4]
    assert [graphs.label_names[code][0] for code in graphs.labels] == list("uyvwxz")
    assert graphs.attributes.ravel().tolist() == [0, 4, 1, 2, 3, 5.5]
    np.testing.assert_array_equal(dense(graphs[0]), [[0, 2], [2, 4]])
    assert np.diff(graphs.indptr)[-1] == 0


def test_other_names_and_arrow() -> None:
    edges = pa.table({"g": [7, 7, 9], "i": ["p", "q", "p"], "j": ["q", "r", "q"]})
    nodes = pa.table({"g": [7, 7, 7, 9, 9], "n": ["p", "q", "r", "p", "q"], "c": [1, 2, 1, 2, 2]})
    names = {"graph_id": "g", "source": "i", "target": "j", "node": "n"}
    graphs, ids = from_dataframe(edges, nodes, label="c", return_ids=True, **names)
    assert (ids, graphs.label_names) == ([7, 9], (1, 2))
    assert from_dataframe(edges, **names) == graphs.without_labels()
    given = {"c": [1, 2]}
    one_hot = from_dataframe(edges, nodes, categorical=given, **names).attributes
    np.testing.assert_array_equal(one_hot[:2], [[1, 0], [0, 1]])


def test_one_graph_data_frames() -> None:
    frame = pd.DataFrame({"source": [0, 1], "target": [1, 0], "w": [1, 3]})
    read = partial(from_dataframe, frame, graph_id=None, weight="w")
    fails(read, about=("graph 0", "weight 1", "weight 3", "symmetrize=True"))
    for choice, weight in ((True, 3), ("max", 3), ("mean", 2), ("sum", 4)):
        np.testing.assert_array_equal(dense(read(symmetrize=choice)), [[0, weight], [weight, 0]])
    both = pd.concat([frame, frame.assign(w=[3, 1])])  # parallel edges: 4 in both directions
    assert dense(from_dataframe(both, graph_id=None, weight="w"))[0, 1] == 4


def changed(frame: dict[str, list[Any]], column: str, row: int, value: Any) -> pd.DataFrame:
    return pd.DataFrame({**frame, column: [*frame[column][:row], value, *frame[column][row + 1 :]]})


@pytest.mark.parametrize(
    ("edges", "nodes", "options", "message"),
    [
        (EDGES_DATA_FRAMES, None, {"graph_id": "q"}, ("'q'", "'graph_id'", "'source'")),
        (EDGES_DATA_FRAMES, None, {"label": "kind"}, "'kind'"),
        (EDGES_DATA_FRAMES, NODES, {"label": "q"}, "'q'"),
        (changed(EDGES_DATA_FRAMES, "source", 2, None), None, {}, ("row 2", "'source'")),
        (changed(EDGES_DATA_FRAMES, "graph_id", 1, np.nan), None, {}, ("row 1", "'graph_id'")),
        (changed(EDGES_DATA_FRAMES, "w", 3, -1), None, {"weight": "w"}, ("row 3", "'w'", "-1.0")),
        (changed(EDGES_DATA_FRAMES, "w", 0, "2"), None, {"weight": "w"}, ("row 0", "'w'", "'2'")),
        (changed(EDGES_DATA_FRAMES, "w", 1, None), None, {"weight": "w"}, ("row 1", "'w'")),
        (changed(EDGES_DATA_FRAMES, "target", 0, 9), NODES, {}, ("row 0", "node 9")),
        (
            EDGES_DATA_FRAMES,
            changed(NODES, "node", 2, 1),
            {},
            ("row 2", "node 1", "row 1", "1 already"),
        ),
        (EDGES_DATA_FRAMES, NODES, {"attributes": "kind"}, ("row 0", "'kind'", "'u'")),
        (
            EDGES_DATA_FRAMES,
            changed(NODES, "age", 4, np.inf),
            {"attributes": "age"},
            ("graph 0", "attribute 0", "node 1"),
        ),
        ({**EDGES_DATA_FRAMES, "w": [1.0]}, None, {"weight": "w"}, ("'w'", "1 rows")),
        ([1, 2], None, {}, ("edges", "list")),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), None, {}, "'a' 2 times"),
    ],
)
def test_errors_data_frames(edges: Any, nodes: Any, options: dict[str, Any], message: str) -> None:
    fails(lambda: from_dataframe(edges, nodes, **options), about=message)


# Graphs for other packages; several labels; categories


def test_grakel_itself_takes_them() -> None:
    kernels = pytest.importorskip("grakel.kernels")
    graphs = GraphBatch.from_edges([3, 2], [[0, 1], [3, 4]], labels=list("aabab"), symmetrize=True)
    values = kernels.VertexHistogram().fit_transform(to_grakel(graphs))
    np.testing.assert_array_equal(values, [[5, 3], [3, 2]])
    fails(lambda: to_grakel(graphs, as_attributes=True), about="the graphs have no")
    bonds = to_grakel(graphs.with_edge_labels(["-", "-", "-", "-"]))
    np.testing.assert_array_equal(kernels.EdgeHistogram().fit_transform(bonds), [[4, 4], [4, 4]])
    only_edges = to_grakel(graphs.without_labels().with_edge_labels(["-", "-", "=", "="]))
    values = kernels.EdgeHistogram().fit_transform(only_edges)
    np.testing.assert_array_equal(values, [[4, 0], [0, 4]])


# Whatever is exported or written reads back equal, or somebody says what is left out

_BY_NAME = {"label": "label", "attributes": "attributes", "edge_label": "label"}
_IN_FILES = {**_BY_NAME, "attributes": ["attribute_0", "attribute_1"]}
READ_BACK: dict[str, dict[str, Any]] = {  # options; only those of values that graphs have are given
    "to_networkx": _BY_NAME,
    "to_igraph": _BY_NAME,
    "to_pyg": {"attributes": "x"},
    "to_grakel": {},
    "edges": {},
    "gml": _IN_FILES,
    "graphml": _IN_FILES,
    "json": {},
    "parquet": {},
    "tu": {"weight": 0},
}
VALUES = {
    "nothing": {},
    "weights": {"weights": [0.5, 2.0, 3.0, 0.25]},
    "labels": {"labels": [3, 1, 2, 2, 3, 1]},
    "attributes": {"attributes": np.arange(12.0).reshape(6, 2)},
    "labels of edges": {"edge_labels": [1, 2, 1, 3]},
}
VALUES["everything"] = {name: value for own in VALUES.values() for name, value in own.items()}
LEFT_OUT = {  # all else comes back
    ("to_grakel", "attributes"),
    ("to_grakel", "everything"),
    *(("edges", kind) for kind in ("labels", "attributes", "labels of edges", "everything")),
}


def exporters() -> list[str]:
    written = [name for name, form in formats().items() if form.write is not None]
    return [name for name in dir(retgk.io) if name.startswith("to_")] + written


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("name", exporters())
def test_whatever_is_exported_reads_back_equal(name: str, kind: str, tmp_path: Path) -> None:
    edges = [[0, 1], [1, 2], [3, 4], [4, 5]]
    graphs = GraphBatch.from_edges([3, 3], edges, **VALUES[kind], symmetrize=True)
    if (name, kind) in LEFT_OUT:
        expected = (InvalidInputError, InputWarning)
        with pytest.raises(expected, match=r"leave|left out"):
            exported(name, graphs, tmp_path)
        return
    has = {"label": graphs.has_labels, "attributes": graphs.n_attributes > 0}
    has |= {"edge_label": graphs.has_edge_labels, "weight": graphs.is_weighted}
    options = {option: value for option, value in READ_BACK[name].items() if has[option]}
    if "weight" in options:
        options["weight_column"] = options.pop("weight")
    found = exported(name, graphs, tmp_path)
    if name.startswith("to_"):
        assert as_batch(found, **options) == graphs
        return
    data = read_graphs(found, **options)
    assert data.graphs == graphs
    if name in ("tu", "json", "parquet"):
        assert data.targets.tolist() == [4, 7]


def exported(name: str, graphs: GraphBatch, folder: Path) -> Any:
    data = GraphDataset(graphs, np.array([4, 7]), "data")
    if name.startswith("to_"):
        with mock.patch.object(conversion, "optional_module", side_effect=_module):
            return getattr(retgk.io, name)(graphs)
    form = formats()[name]
    target = folder / ("out" if form.writes_folder else f"out{form.endings[0]}")
    write_graphs(data, target, format=name)
    if form.writes_folder:
        (target / "targets.txt").unlink()
    return target


def _module(name: str, extra: str) -> Any:
    """Stand-ins for torch and PyTorch Geometric; other packages are there."""
    return TENSORS if extra == "pyg" else optional_module(name, extra)


TENSORS = SimpleNamespace(
    long=np.int64,
    Data=SimpleNamespace,
    from_numpy=np.asarray,
    tensor=np.array,
    get_default_dtype=lambda: np.float64,
)


# Several labels, and categories


def people() -> nx.Graph:
    graph = nx.path_graph(3)
    values = [("a", 1, "red"), ("a", 2, "blue"), ("b", 1, "red")]
    for node, (kind, role, colour) in enumerate(values):
        graph.nodes[node].update(kind=kind, role=role, colour=colour, age=node * 10)
    return graph


def test_several_labels_are_one_tuple(tmp_path: Any) -> None:
    expected = [("a", 1), ("a", 2), ("b", 1)]
    plain = {"attributes": []}
    made = from_networkx(people(), label=["kind", "role"], **plain)
    assert made.label_names == tuple(expected)
    assert made.labels.tolist() == [0, 1, 2]
    assert made.label_columns == ("kind", "role")
    assert (
        from_igraph(igraph.Graph.from_networkx(people()), label=["kind", "role"], **plain) == made
    )
    nx.write_graphml(people(), tmp_path / "people.graphml")
    assert read_graphs(tmp_path, label=["kind", "role"], **plain).graphs == made
    assert from_networkx(people(), label=["kind"], **plain).label_names == (("a",), ("b",))
    assert from_networkx(people(), label="kind", **plain).label_names == ("a", "b")
    tuple_name = nx.empty_graph(1)
    tuple_name.nodes[0]["a", "b"] = 5
    assert from_networkx(tuple_name, label=("a", "b")).label_names == (5,)
    fails(lambda: from_networkx(people(), label=[]), about="label is an empty")


@pytest.mark.parametrize("convert", [from_networkx, from_igraph])
def test_categories_become_columns(convert: Callable[..., GraphBatch]) -> None:
    graph: Any = people()
    if convert is from_igraph:
        graph = igraph.Graph.from_networkx(graph)
    message = (
        r"'colour' became 2 columns of zeros and ones, for the values found: \['blue', 'red'\]"
    )
    with pytest.warns(InputWarning, match=message) as warned:
        found = convert(graph, attributes="age", categorical=["colour"])
    assert warned[0].filename == __file__
    np.testing.assert_array_equal(found.attributes, [[0, 0, 1], [10, 1, 0], [20, 0, 1]])
    given = {"colour": ["red", "blue", "green"]}
    found = convert(graph, categorical=given)
    np.testing.assert_array_equal(found.attributes, [[1, 0, 0], [0, 1, 0], [1, 0, 0]])
    fails(lambda: convert(graph, categorical={"colour": ["red"]}), about=("'blue'", "'colour'"))
    for values in ("red", [], ["a", "a"]):
        fails(partial(convert, graph, categorical={"colour": values}), about="categorical")


def test_text_in_attributes_says_what_to_do() -> None:
    message = ("node 0", "'colour'", "'red'", "label='colour'")
    fails(lambda: from_networkx(people(), attributes=["age", "colour"]), about=message)


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("igraph", "torch", "torch_geometric", "torch_geometric.data"):
        monkeypatch.setitem(sys.modules, package, None)
    edge = GraphBatch.from_edges(1, [])
    with pytest.raises(ImportError, match=r"needs igraph.*retgk\[igraph\]"):
        to_igraph(edge)
    with pytest.raises(ImportError, match=r"needs torch.*retgk\[pyg\]"):
        to_pyg(edge)
