"""networkx there and back, and every error on the way."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retgk import GraphBatch, GraphDataset, InvalidInputError
from retgk.io.convert import to_networkx
from retgk.io.networkx import from_networkx
from tests.batch_views import dense, names

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
