"""Labels of edges in a batch: alignment, symmetry, slices, joins and errors."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import GraphBatch, InvalidInputError, refined_labels

EDGES = [[0, 1], [1, 2], [2, 0], [3, 4]]
BONDS = ["-", "=", "-", "#"]


def batch(**options):
    return GraphBatch.from_edges([3, 2], EDGES, edge_labels=BONDS, symmetrize=True, **options)


def label_of(graphs, source, target):
    """Label of an edge, by both ends in the first graph."""
    row = slice(graphs.indptr[source], graphs.indptr[source + 1])
    place = graphs.indices[row].tolist().index(target)
    return graphs.edge_label_names[graphs.edge_labels[row][place]]


def test_labels_follow_their_edges():
    graphs = batch()
    assert graphs.has_edge_labels
    assert set(graphs.edge_label_names) == set(BONDS)
    for source, target, name in ((0, 1, "-"), (1, 2, "="), (2, 0, "-")):
        assert label_of(graphs, source, target) == label_of(graphs, target, source) == name
    assert label_of(graphs[1], 0, 1) == label_of(graphs[1], 1, 0) == "#"
    assert "3 edge labels" in repr(graphs)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_order_of_edges_makes_no_difference(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    pairs = np.array([(i, j) for i in range(n) for j in range(i + 1)])
    chosen = pairs[rng.random(len(pairs)) < 0.5]
    names = rng.choice(list("ab"), len(chosen))
    first = GraphBatch.from_edges(n, chosen, edge_labels=names.tolist(), symmetrize=True)
    order = rng.permutation(len(chosen))
    turned = np.where(rng.random(len(chosen))[:, None] < 0.5, chosen, chosen[:, ::-1])[order]
    second = GraphBatch.from_edges(n, turned, edge_labels=names[order].tolist(), symmetrize=True)
    assert first == second
    for (i, j), name in zip(chosen, names, strict=True):
        assert label_of(first, i, j) == label_of(first, j, i) == name


def test_slices_joins_and_pickles():
    graphs = batch(labels=list("CCNON"))
    again = GraphBatch.concatenate([graphs[1], graphs[0]])[[1, 0]]
    assert again == graphs
    assert pickle.loads(pickle.dumps(graphs)) == graphs
    assert graphs != graphs.without_edge_labels()
    assert not graphs.without_edge_labels().has_edge_labels
    rows = GraphBatch(
        graphs.node_ptr,
        graphs.indptr,
        graphs.indices,
        labels=list("CCNON"),
        edge_labels=[graphs.edge_label_names[code] for code in graphs.edge_labels],
    )
    assert rows == graphs
    other = graphs.with_edge_labels(["x"] * len(graphs.indices))
    assert other.edge_label_names == ("x",)
    assert other != graphs


def test_errors():
    with pytest.raises(InvalidInputError, match="got 2 edge labels for 4 edges; give one for each"):
        GraphBatch.from_edges([3, 2], EDGES, edge_labels=["a", "b"], symmetrize=True)
    message = "graph 1: the edge between node 0 and node 1 has the labels 'a' and 'b'; give it one"
    with pytest.raises(InvalidInputError, match=message):
        GraphBatch.from_edges([3, 2], [[3, 4], [4, 3]], edge_labels=["a", "b"])
    with pytest.raises(InvalidInputError, match=message):
        GraphBatch.from_edges([3, 2], [[3, 4], [3, 4]], edge_labels=["a", "b"], symmetrize=True)
    with pytest.raises(InvalidInputError, match="the edges of batch 1 have no labels, those of"):
        GraphBatch.concatenate([batch(), batch().without_edge_labels()])
    with pytest.raises(InvalidInputError, match="edges of the graphs have no labels, those of the"):
        refined_labels(batch().without_edge_labels(), 1, like=batch())


def test_edges_that_weigh_nothing_lose_their_labels():
    graphs = GraphBatch.from_edges(
        3, [[0, 1], [1, 2]], [1.0, 0.0], edge_labels=["-", "="], symmetrize=True
    )
    assert graphs.n_edges == 1
    assert len(graphs.edge_labels) == 2
    assert label_of(graphs, 0, 1) == "-"
