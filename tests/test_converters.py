"""as_batch finds the right converter."""

import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem

from retgk import (
    GraphBatch,
    InvalidInputError,
    from_dataframe,
    from_grakel,
    from_igraph,
    from_pyg,
    mean_embedding_gram,
    read_graphs,
    to_grakel,
    to_igraph,
    to_pyg,
)
from retgk.errors import InputWarning
from retgk.io.arrays import from_edge_lists, from_numpy
from retgk.io.convert import as_batch, to_networkx
from retgk.io.dataset import GraphDataset
from retgk.io.molecules import from_smiles
from retgk.io.networkx import from_networkx
from tests.example_graphs import dense, edge_lists, names

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
    with pytest.raises(InvalidInputError, match="has no option 'colour'; it has label, attributes"):
        as_batch(nx.path_graph(3), colour="red")
    for batches in (BATCH, [BATCH, BATCH]):
        message = "a GraphBatch takes no options, got symmetrize: its graphs are undirected"
        with pytest.raises(InvalidInputError, match=message):
            as_batch(batches, symmetrize=True)


def test_the_list_as_a_whole_tells_matrices_from_edges() -> None:
    two = np.array([[0, 1], [1, 0]])
    assert as_batch([two, EDGES]) == from_edge_lists([two, EDGES])
    assert as_batch([two, PATH]) == from_numpy([two, PATH])
    assert as_batch(two.astype(float)) == from_numpy(two)
    for ambiguous in (two, [two], [two, two]):
        with pytest.raises(InvalidInputError, match=r"arrays of shape \(2, 2\) may be adjacency"):
            as_batch(ambiguous)


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([nx.path_graph(3), PATH], "graph 1 is a two-dimensional NumPy array, graph 0 is a netwo"),
        (["C", "C", nx.path_graph(3)], "graph 2 is a networkx graph, graph 0 is a SMILES string"),
        ([Chem.MolFromSmiles("C"), None], r"graph 1 is missing \(None\); drop it together with i"),
        ([PATH, None], r"graph 1 is missing \(None\); drop it together with its target"),
        (["C", float("nan")], r"graph 1 is missing \(nan\); drop it together with its target"),
        (["C", "CC", pd.NA], r"graph 2 is missing \(<NA>\); drop it together with its target"),
        ([PATH, 1], "graph 1 is of type int, which is not a graph; expected one of: GraphBatch"),
        ([PATH, np.ones(3)], r"graph 1: an adjacency matrix is square, got shape \(3,\)"),
        (["C", 2.5], "graph 1 is of type float, which is not a graph"),
        ([[[0, 1], [1, 0]]], "graph 0 is of type list, which is not a graph; expected one of"),
        ({"a": nx.path_graph(3)}, "cannot read graphs from dict; give one or a list of: GraphBa"),
        ({"C", "CC"}, "cannot read graphs from set"),
        (b"CC", "cannot read graphs from bytes"),
        (3, "cannot read graphs from int"),
        (None, "cannot read graphs from NoneType"),
        (np.array(3), "cannot read graphs from ndarray"),
        ([], "there are no graphs to convert"),
        (np.ones(3), "graph 0 is of type float64, which is not a graph"),
        (
            np.array([nx.path_graph(3)] * 2, object),
            r"of shape \(2, 3\): NumPy has taken the graphs a",
        ),
    ],
)
def test_errors(graphs: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        as_batch(graphs)


def test_rows_of_a_table_are_graphs_not_its_columns() -> None:
    table = pd.DataFrame({"C": ["CCO", "CC"], "N": [1, 2]})
    message = r"the table has 2 columns \('C', 'N'\); give one column, such as df\['smiles'\]"
    for convert in (as_batch, from_smiles):
        assert convert(table[["C"]]) == from_smiles(["CCO", "CC"])
        assert convert(table["C"]) == from_smiles(["CCO", "CC"])
        with pytest.raises(InvalidInputError, match=message):
            convert(table)


OPTIONAL = ["networkx", "igraph", "rdkit", "torch", "torch_geometric", "grakel", "pandas", "rich"]


def test_no_optional_package_is_imported() -> None:
    code = (
        "import sys, numpy as np; from retgk.io.convert import as_batch;"
        "as_batch([np.ones((3, 3))]); as_batch(np.ones((2, 3, 3)));"
        f"print([name for name in {OPTIONAL} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("package", "call"),
    [("networkx", "to_networkx(as_batch(np.ones((1, 1))))"), ("rdkit", "from_smiles(['C'])")],
)
def test_missing_package_names_its_extra(package: str, call: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None; import numpy as np;"
        f"from retgk.io.convert import *; {call}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"ImportError: this needs {package}, which cannot be imported;" in done.stderr
    assert f"pip install {package} (it is in the extra retgk[{package}])" in done.stderr


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


@given(st.lists(graphs(), min_size=1, max_size=3))
def test_there_and_back(found: list[nx.Graph]) -> None:
    batch = from_networkx(found, label="label", attributes=["charge", "position"])
    again = to_networkx(batch)
    for graph, back in zip(found, again, strict=True):
        renamed = nx.convert_node_labels_to_integers(graph)
        assert set(map(frozenset, back.edges)) == set(map(frozenset, renamed.edges))
        assert list(back) == list(range(len(graph)))
        for source, target, weight in renamed.edges(data="weight", default=1):
            assert back.edges[source, target].get("weight", 1) == weight
    assert from_networkx(again, label="label", attributes="attributes") == batch


def test_whatever_is_a_batch_becomes_networkx() -> None:
    path = GraphBatch.from_edges(3, [[0, 1], [1, 2]], symmetrize=True)
    for given_graphs in (path, [path], GraphDataset(path, np.zeros(1), "one"), dense(path)):
        (graph,) = to_networkx(given_graphs)
        assert list(graph.edges) == [(0, 1), (1, 2)]


@given(graphs(), st.randoms(use_true_random=False))
def test_order_of_nodes_is_that_of_the_graph(graph: nx.Graph, random: Any) -> None:
    order = list(graph)
    random.shuffle(order)
    shuffled = nx.Graph()
    shuffled.add_nodes_from((node, graph.nodes[node]) for node in order)
    shuffled.add_edges_from(graph.edges(data=True))
    position = [list(graph).index(node) for node in order]
    original, converted = (from_networkx(g, label="label") for g in (graph, shuffled))
    np.testing.assert_array_equal(dense(converted), dense(original)[np.ix_(position, position)])
    assert names(converted) == [names(original)[i] for i in position]


@given(st.lists(graphs(), min_size=1, max_size=4))
def test_list_is_the_concatenation_of_its_graphs(found: list[nx.Graph]) -> None:
    parts = [from_networkx(graph, label="label") for graph in found]
    assert from_networkx(iter(found), label="label") == GraphBatch.concatenate(parts)


def test_data_of_nodes_that_is_not_used_is_a_warning() -> None:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {1: "O"}, "element")
    nx.set_node_attributes(graph, 1.0, "mass")
    message = r"nodes have 'mass', 'element', which are not used; label= and attributes= read them"
    with pytest.warns(UserWarning, match=message):
        from_networkx([graph, graph])
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
        ("1.5", r"graph 1, node 'b': the attribute 'x' is '1.5'; it must be a number or a vector"),
        (None, r"graph 1, node 'b': the attribute 'x' is None; it must be a number or a vector"),
        (10**400, r"graph 1, node 'b': the attribute 'x' is an integer of 1329 bits; it must be"),
        ({1.5}, r"graph 1, node 'b': the attribute 'x' is \{1.5\}; it must be a number"),
        ([[1]], r"graph 1, node 'b': the attribute 'x' is \[\[1\]\]; it must be a number"),
        ([1], r"graph 1, node 'b': the attribute 'x' has 1 values, graph 0, node 'a' has one num"),
        (np.nan, r"graph 1: attribute 0 of node 1 is nan; fill it in or drop the graph"),
    ],
)
def test_bad_attribute(value: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        from_networkx([with_values(1, 2), with_values(1, value)], attributes="x")


def test_vectors_of_different_lengths() -> None:
    message = "graph 0, node 'b': the attribute 'x' has 3 values, graph 0, node 'a' has 2 values"
    with pytest.raises(InvalidInputError, match=message):
        from_networkx(with_values([1, 2], [1, 2, 3]), attributes="x")


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
    message = r"graph 1, node 'z' has no attribute 'x'; it has \['y'\]; set it on all nodes first"
    with pytest.raises(InvalidInputError, match=message):
        from_networkx([with_values(1), bad], attributes=["x"])
    with pytest.raises(InvalidInputError, match=message):
        from_networkx([with_values(1), bad], label="x")
    with pytest.raises(InvalidInputError, match="graph 0, node 0 has no attribute 'q'; it has non"):
        from_networkx(nx.path_graph(2), label="q")


def test_directed_graph() -> None:
    with pytest.raises(InvalidInputError, match=r"graph 1 is directed; pass symmetrize=True"):
        from_networkx([nx.path_graph(2), nx.DiGraph([(0, 1)])])


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
@pytest.mark.parametrize("weight", ["2", None])
def test_weight_that_is_no_number(kind: type, weight: Any) -> None:
    bad = kind()
    bad.add_edge("a", "b", weight=weight)
    message = f"graph 1: the edge from 'a' to 'b' has the 'weight' {weight!r}, which is not a numb"
    message += r"er; convert with as_batch\(graphs, weight=None\)"
    with pytest.raises(InvalidInputError, match=message):
        from_networkx([nx.path_graph(2), bad])


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
def test_weight_that_is_too_large(kind: type) -> None:
    bad = kind()
    bad.add_edge("a", "b", weight=10**400)
    message = "edge from 'a' to 'b' has the 'weight' an integer of 1329 bits, which is too large"
    with pytest.raises(InvalidInputError, match=message):
        from_networkx(bad)


def test_parallel_weights_that_are_too_large_together() -> None:
    bad = nx.MultiGraph([("a", "b", {"weight": 10**308})] * 2)
    with pytest.raises(InvalidInputError, match="graph 0: the weights of parallel edges add up to"):
        from_networkx(bad)


@pytest.mark.parametrize("weight", [-1, np.nan, np.inf])
def test_weight_out_of_range(weight: float) -> None:
    bad = nx.Graph()
    bad.add_edge(0, 1, weight=weight)
    message = "graph 1: the edge from node 0 to node 1 has weight .*drop such edges"
    with pytest.raises(InvalidInputError, match=message):
        from_networkx([nx.path_graph(2), bad])


def test_graph_without_nodes() -> None:
    with pytest.raises(InvalidInputError, match="graph 1 has no nodes; drop it together with its"):
        from_networkx([nx.path_graph(2), nx.Graph()])
    with pytest.raises(InvalidInputError, match="graph 0 has no nodes"):
        from_networkx(nx.Graph(), label="x", attributes="x")


def test_not_networkx() -> None:
    with pytest.raises(InvalidInputError, match="graph 1 is of type int; expected networkx graphs"):
        from_networkx([nx.path_graph(2), 3])
    with pytest.raises(InvalidInputError, match="expected networkx graphs, got dict"):
        from_networkx({0: nx.path_graph(2)})
    with pytest.raises(InvalidInputError, match="there are no graphs to convert"):
        from_networkx([])


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


@pytest.mark.parametrize("frame", [pd.DataFrame, dict])
def test_edges_alone(frame: Any) -> None:
    graphs, ids = from_dataframe(frame(EDGES_DATA_FRAMES), weight="w", return_ids=True)
    assert ids == ["b", "a"]
    expected = GraphBatch.from_edges(
        [3, 2], [[0, 1], [1, 2], [3, 4], [4, 4]], [1, 0.5, 2, 4], symmetrize=True
    )
    assert graphs == expected
    assert not from_dataframe(frame(EDGES_DATA_FRAMES)).is_weighted


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
    graph = from_dataframe(frame, graph_id=None, weight="w")
    np.testing.assert_array_equal(dense(graph), [[0, 3], [3, 0]])  # the larger of both directions


def changed(frame: dict[str, list[Any]], column: str, row: int, value: Any) -> pd.DataFrame:
    return pd.DataFrame({**frame, column: [*frame[column][:row], value, *frame[column][row + 1 :]]})


@pytest.mark.parametrize(
    ("edges", "nodes", "options", "message"),
    [
        (
            EDGES_DATA_FRAMES,
            None,
            {"graph_id": "q"},
            "edges has no column 'q'; it has 'graph_id', 'source', ",
        ),
        (
            EDGES_DATA_FRAMES,
            None,
            {"label": "kind"},
            "'kind' are read from a table of nodes; give one as nod",
        ),
        (EDGES_DATA_FRAMES, NODES, {"label": "q"}, "nodes has no column 'q'"),
        (changed(EDGES_DATA_FRAMES, "source", 2, None), None, {}, "edges, row 2 has no 'source'"),
        (
            changed(EDGES_DATA_FRAMES, "graph_id", 1, np.nan),
            None,
            {},
            "edges, row 1 has no 'graph_id'",
        ),
        (
            changed(EDGES_DATA_FRAMES, "w", 3, -1),
            None,
            {"weight": "w"},
            "edges, row 3: the 'w' is -1.0; weig",
        ),
        (
            changed(EDGES_DATA_FRAMES, "w", 0, "2"),
            None,
            {"weight": "w"},
            "edges, row 0: the 'w' is '2'",
        ),
        (
            changed(EDGES_DATA_FRAMES, "w", 1, None),
            None,
            {"weight": "w"},
            "edges, row 1: the 'w' is nan",
        ),
        (
            changed(EDGES_DATA_FRAMES, "target", 0, 9),
            NODES,
            {},
            "edges, row 0: the node 9 is not in the table",
        ),
        (
            EDGES_DATA_FRAMES,
            changed(NODES, "node", 2, 1),
            {},
            "nodes, row 2: the node 1 is in row 1 already",
        ),
        (
            EDGES_DATA_FRAMES,
            NODES,
            {"attributes": "kind"},
            "nodes, row 0: the attribute 'kind' is 'u'; it mu",
        ),
        (
            EDGES_DATA_FRAMES,
            changed(NODES, "age", 4, np.inf),
            {"attributes": "age"},
            "graph 0: attribute 0 of node 1 is inf",
        ),
        (
            {**EDGES_DATA_FRAMES, "w": [1.0]},
            None,
            {"weight": "w"},
            "the column 'w' has 1 rows, others have 4",
        ),
        ([1, 2], None, {}, "edges has no column 'source'; it is a list, give a data frame"),
    ],
)
def test_errors_data_frames(edges: Any, nodes: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        from_dataframe(edges, nodes, **options)


def test_as_batch_names_it() -> None:
    with pytest.raises(
        InvalidInputError, match=r"retgk.from_dataframe reads tables of edges and n"
    ):
        as_batch(pd.DataFrame(EDGES_DATA_FRAMES))


# Graphs go to other packages and come back as they were; several labels; categories

HASHABLES = st.recursive(
    st.one_of(
        st.integers(-3, 3), st.text(max_size=2), st.floats(allow_nan=False), st.binary(max_size=2)
    ),
    lambda parts: st.one_of(st.tuples(parts, parts), st.frozensets(parts, max_size=2)),
    max_leaves=3,
)


@st.composite
def any_graphs(draw: st.DrawFn) -> GraphBatch:
    """Batches of one graph or more, with labels of any kind: loops, isolated nodes, weights."""
    built = draw(edge_lists().filter(lambda built: len(built["n_nodes"])))
    total = sum(built["n_nodes"])
    width = draw(st.integers(0, 2))
    numbers = st.lists(st.floats(-1e6, 1e6), min_size=width, max_size=width)
    rows = [draw(numbers) for _ in range(total)] if width else None
    labels = [draw(HASHABLES) for _ in range(total)] if draw(st.booleans()) else None
    return GraphBatch.from_edges(**built, labels=labels, attributes=rows, symmetrize=True)


def options(graphs: GraphBatch) -> dict[str, Any]:
    return {
        "label": "label" if graphs.has_labels else None,
        "attributes": "attributes" if graphs.n_attributes else [],
    }


@settings(max_examples=150, deadline=None)
@given(graphs=any_graphs())
@pytest.mark.parametrize("there", [to_networkx, to_igraph])
def test_there_and_back_exporters(there: Callable[..., Any], graphs: GraphBatch) -> None:
    back = as_batch(there(graphs), **options(graphs))
    assert back == graphs
    assert set(back.label_names) == set(graphs.label_names)
    np.testing.assert_array_equal(back.attributes, graphs.attributes)
    assert back.is_weighted == graphs.is_weighted


@settings(max_examples=100, deadline=None)
@given(graphs=any_graphs())
def test_grakel_and_back(graphs: GraphBatch) -> None:
    plain = graphs.without_attributes()
    assert from_grakel(to_grakel(plain)) == plain
    if graphs.n_attributes:
        with pytest.warns(InputWarning, match="attributes were left out, as GraKeL has room for"):
            assert from_grakel(to_grakel(graphs)) == plain
        found = to_grakel(graphs, as_attributes=True)
        assert from_grakel(found, as_attributes=True) == graphs.without_labels()


def test_grakel_itself_takes_them() -> None:
    kernels = pytest.importorskip("grakel.kernels")
    graphs = GraphBatch.from_edges([3, 2], [[0, 1], [3, 4]], labels=list("aabab"), symmetrize=True)
    values = kernels.VertexHistogram().fit_transform(to_grakel(graphs))
    np.testing.assert_array_equal(values, [[5, 3], [3, 2]])
    with pytest.raises(InvalidInputError, match="the graphs have no attributes"):
        to_grakel(graphs, as_attributes=True)
    bonds = to_grakel(graphs.with_edge_labels(["-", "-", "-", "-"]))
    np.testing.assert_array_equal(kernels.EdgeHistogram().fit_transform(bonds), [[4, 4], [4, 4]])
    only_edges = to_grakel(graphs.without_labels().with_edge_labels(["-", "-", "=", "="]))
    values = kernels.EdgeHistogram().fit_transform(only_edges)
    np.testing.assert_array_equal(values, [[4, 0], [0, 4]])


def test_pyg_and_back() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch Geometric is not installed")
    pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed")
    graphs = GraphBatch.from_edges(
        [3, 2],
        [[0, 1], [1, 1], [3, 4]],
        [0.5, 2, 3],
        labels=list("abcab"),
        attributes=np.arange(10).reshape(5, 2),
        edge_labels=["-", "=", "-"],
        symmetrize=True,
    )
    found = to_pyg(graphs)
    assert found[0].x.dtype == torch.get_default_dtype()
    assert found[0].is_undirected()
    back = from_pyg(found, label="label", attributes="x", edge_label="edge_attr")
    names = [graphs.label_names[name] for name in np.array(back.label_names)[back.labels]]
    bonds = [graphs.edge_label_names[code] for code in back.edge_labels]
    assert back.with_labels(names).with_edge_labels(bonds) == graphs


# Several labels, and categories


def people() -> nx.Graph:
    graph = nx.path_graph(3)
    values = [("a", 1, "red"), ("a", 2, "blue"), ("b", 1, "red")]
    for node, (kind, role, colour) in enumerate(values):
        graph.nodes[node].update(kind=kind, role=role, colour=colour, age=node * 10)
    return graph


def test_several_labels_are_one_tuple(tmp_path: Any) -> None:
    expected = [("a", 1), ("a", 2), ("b", 1)]
    made = from_networkx(people(), label=["kind", "role"])
    assert made.label_names == tuple(expected)
    assert made.labels.tolist() == [0, 1, 2]
    assert from_igraph(igraph.Graph.from_networkx(people()), label=["kind", "role"]) == made
    nx.write_graphml(people(), tmp_path / "people.graphml")
    assert read_graphs(tmp_path, label=["kind", "role"]).graphs == made
    assert from_networkx(people(), label=["kind"]).label_names == (("a",), ("b",))
    assert from_networkx(people(), label="kind").label_names == ("a", "b")
    tuple_name = nx.empty_graph(1)
    tuple_name.nodes[0]["a", "b"] = 5
    assert from_networkx(tuple_name, label=("a", "b")).label_names == (5,)
    with pytest.raises(InvalidInputError, match="label is an empty list"):
        from_networkx(people(), label=[])


def test_nodes_are_alike_only_where_all_parts_are() -> None:
    graphs = [nx.empty_graph(1) for _ in range(3)]
    for graph, (kind, role) in zip(graphs, [("a", 1), ("a", 2), ("a", 1)], strict=True):
        graph.nodes[0].update(kind=kind, role=role)
    batch = from_networkx(graphs, label=["kind", "role"])
    gram = mean_embedding_gram(batch)
    assert (gram[0, 1], gram[0, 2]) == (0, 1)


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
    with pytest.raises(InvalidInputError, match=r"1: the value 'blue' of 'colour' is none of the "):
        convert(graph, categorical={"colour": ["red"]})
    for values in ("red", [], ["a", "a"]):
        with pytest.raises(InvalidInputError, match=r"categorical: "):
            convert(graph, categorical={"colour": values})


def test_text_in_attributes_says_what_to_do() -> None:
    message = (
        "node 0: the attribute 'colour' is 'red'; it must be a number or a vector of numbers; read "
        "it as the label with label='colour', or as columns of zeros and ones, one for each value, "
        r"with categorical=\['colour'\]"
    )
    with pytest.raises(InvalidInputError, match=message):
        from_networkx(people(), attributes=["age", "colour"])


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("igraph", "torch", "torch_geometric", "torch_geometric.data"):
        monkeypatch.setitem(sys.modules, package, None)
    edge = GraphBatch.from_edges(1, [])
    with pytest.raises(ImportError, match=r"needs igraph.*retgk\[igraph\]"):
        to_igraph(edge)
    with pytest.raises(ImportError, match=r"needs torch.*retgk\[pyg\]"):
        to_pyg(edge)
