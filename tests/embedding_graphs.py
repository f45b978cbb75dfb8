"""Graphs of every kind for the tests of embeddings, with their nodes in plain arrays."""

import numpy as np
from hypothesis import strategies as st

from retgk import GraphBatch, return_probabilities
from tests.walk_graphs import complete, path, star, walk_batches


@st.composite
def decorated_batches(draw, labelled=None, n_attributes=None):
    """Graphs with twins, with or without labels and attributes that repeat."""
    batch = draw(walk_batches())
    if draw(st.booleans()) if labelled is None else labelled:
        names = st.sampled_from(["C", "N", "O"])
        batch = batch.with_labels(
            draw(st.lists(names, min_size=batch.n_nodes, max_size=batch.n_nodes))
        )
    width = draw(st.integers(0, 2)) if n_attributes is None else n_attributes
    numbers = st.sampled_from([0.0, 0.5, -1.25, 3.0])
    size = batch.n_nodes * width
    values = draw(st.lists(numbers, min_size=size, max_size=size))
    return batch.with_attributes(np.array(values, float).reshape(batch.n_nodes, width))


def example_batch(labels=True, attributes=True):
    """Four graphs with twins, two labels and two attributes."""
    batch = GraphBatch.concatenate([complete(4), star(5), path(7), path(1)])
    nodes = np.arange(batch.n_nodes)
    if labels:
        batch = batch.with_labels(np.where(nodes % 3 == 0, "N", "C"))
    if attributes:
        batch = batch.with_attributes(np.stack([nodes % 4, np.sqrt(nodes)], axis=1))
    return batch


def large_batch(n_graphs=60, seed=0):
    """Random trees and rings of up to two hundred nodes, several of them in a block."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 40, n_graphs)
    sizes[0] = 200
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    edges = [
        (start + i, start + rng.integers(0, i))
        for start, size in zip(starts, sizes, strict=True)
        for i in range(1, size)
    ]
    labels = rng.integers(0, 5, sizes.sum())
    attributes = rng.normal(size=(sizes.sum(), 3)).round(1)
    return GraphBatch.from_edges(
        sizes, edges, labels=labels, attributes=attributes, symmetrize=True
    )


def nodes_of(batch, n_steps, codes=None):
    """For every graph: return probabilities, label codes and attributes of its nodes."""
    probabilities = return_probabilities(batch, n_steps)
    codes = batch.labels if codes is None else codes
    return [
        (probabilities[first:last], codes[first:last], batch.attributes[first:last])
        for first, last in zip(batch.node_ptr[:-1], batch.node_ptr[1:], strict=True)
    ]
