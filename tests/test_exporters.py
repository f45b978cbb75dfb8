"""Graphs go to other packages and come back as they were; several labels; categories."""

import sys
from collections.abc import Callable
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import (
    GraphBatch,
    InvalidInputError,
    as_batch,
    from_grakel,
    from_igraph,
    from_networkx,
    from_pyg,
    mean_embedding_gram,
    read_graphs,
    to_grakel,
    to_igraph,
    to_networkx,
    to_pyg,
)
from retgk.errors import InputWarning
from tests.strategies import edge_lists

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
def test_there_and_back(there: Callable[..., Any], graphs: GraphBatch) -> None:
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
