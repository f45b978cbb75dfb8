"""Copies of graphs are found, whatever the order of their nodes; other graphs stay."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.graphs import Sources, find_copies, load_paper_set
from retgk import GraphBatch, as_batch


def random_graph(rng, n_nodes, n_labels=2, n_attributes=0):
    adjacency = np.triu(rng.random((n_nodes, n_nodes)) < 0.4, 1)
    edges = np.argwhere(adjacency)
    labels = rng.integers(n_labels, size=n_nodes).tolist()
    attributes = rng.standard_normal((n_nodes, n_attributes))
    return edges, labels, attributes


def batch_of(graph, order=None):
    edges, labels, attributes = graph
    n_nodes = len(labels)
    order = np.arange(n_nodes) if order is None else order
    place = np.argsort(order)
    return GraphBatch.from_edges(
        n_nodes,
        place[edges],
        labels=[labels[node] for node in order],
        attributes=attributes[order],
        symmetrize=True,
    )


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 12), st.sampled_from([0, 3]))
def test_renumbered_copies_are_found(seed, n_nodes, n_attributes):
    rng = np.random.default_rng(seed)
    graphs = [random_graph(rng, n_nodes, n_attributes=n_attributes) for _ in range(3)]
    firsts = [batch_of(graph) for graph in graphs]
    copies = [batch_of(graph, rng.permutation(n_nodes)) for graph in graphs]
    first = find_copies(GraphBatch.concatenate([*firsts, *copies])).first
    assert np.array_equal(first[3:], first[:3])
    assert first[0] == 0


def test_labels_and_attributes_tell_graphs_apart():
    rng = np.random.default_rng(0)
    edges, labels, attributes = random_graph(rng, 8, n_attributes=1)
    other_labels = [1 - label for label in labels]
    moved = attributes.copy()
    moved[0] += 1e-4
    batch = GraphBatch.concatenate(
        [
            batch_of((edges, labels, attributes)),
            batch_of((edges, other_labels, attributes)),
            batch_of((edges, labels, moved)),
        ]
    )
    assert find_copies(batch).first.tolist() == [0, 1, 2]
    plain = find_copies(batch.without_labels().without_attributes())
    assert plain.first.tolist() == [0, 0, 0]
    assert plain.kept.tolist() == [0]


def test_label_on_another_node_is_another_graph():
    """The same labels and the same structure, but the odd label in the middle or at the end."""
    edges, nothing = np.array([[0, 1], [1, 2]]), np.empty((3, 0))
    ends = batch_of((edges, [1, 0, 0], nothing))
    middle = batch_of((edges, [0, 1, 0], nothing))
    assert find_copies(GraphBatch.concatenate([ends, middle])).first.tolist() == [0, 1]


def test_counts_of_what_is_dropped():
    path = np.diag([1, 1], 1) + np.diag([1, 1], -1)
    edge = np.ones((2, 2)) - np.eye(2)
    copies = find_copies(as_batch([path, edge, path, path, edge]))
    assert copies.kept.tolist() == [0, 1]
    assert copies.n_dropped() == 3
    assert copies.n_of_other_target(np.array([0, 1, 0, 1, 1])) == 1


@pytest.mark.real_data
def test_copies_in_a_real_set(data_folder):
    data = load_paper_set(
        "MUTAG", Sources(data_folder), uses_labels=True, uses_attributes=False, deduplicate=True
    )
    assert data.as_record() == {
        "n_graphs": 175, "n_classes": 2, "n_dropped": 13, "n_dropped_of_other_target": 0,
    }  # fmt: skip
