"""Graphs on which walks could go wrong: twins, loops, hubs, pieces, weights of any scale."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from retgk import GraphBatch


def from_dense(matrix: Any) -> GraphBatch:
    """One graph from its adjacency matrix, without the converters."""
    matrix = np.asarray(matrix, dtype=float)
    sources, targets = np.nonzero(matrix)
    edges = np.stack([sources, targets], axis=1)
    return GraphBatch.from_edges(len(matrix), edges, matrix[sources, targets])


def complete(n: int) -> GraphBatch:
    return from_dense(np.ones((n, n)) - np.eye(n))


def star(n_leaves: int) -> GraphBatch:
    matrix = np.zeros((n_leaves + 1, n_leaves + 1))
    matrix[0, 1:] = matrix[1:, 0] = 1
    return from_dense(matrix)


def path(n: int) -> GraphBatch:
    return from_dense(np.eye(n, k=1) + np.eye(n, k=-1))


@st.composite
def adjacency_matrices(draw: st.DrawFn, max_nodes: int = 7) -> Any:
    """Symmetric matrices, unweighted or weighted, with loops; often disconnected."""
    n = draw(st.integers(1, max_nodes))
    scale = 10.0 ** draw(st.sampled_from([-12, -3, 0, 0, 0, 3, 12]))
    weight = st.sampled_from([0.0, 0.0, 1.0, 1.0] + [0.3, 2.0] * draw(st.booleans()))
    matrix = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            matrix[i, j] = matrix[j, i] = draw(weight) * scale
    return matrix


@st.composite
def graphs_with_twins(draw: st.DrawFn) -> GraphBatch:
    """Nodes of a small graph copied, as open or as closed twins of weights that occur."""
    matrix = draw(adjacency_matrices())
    n = len(matrix)
    copies = np.array(draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
    of = np.repeat(np.arange(n), copies)
    grown = matrix[np.ix_(of, of)]
    for node in range(n):
        members = np.flatnonzero(of == node)
        inner = draw(st.sampled_from([0.0, 1.0, float(matrix.max())]))
        grown[np.ix_(members, members)] = inner
        grown[members, members] = matrix[node, node]
    order = draw(st.permutations(range(len(of))))
    return from_dense(grown[np.ix_(order, order)])


def walk_batches() -> st.SearchStrategy[GraphBatch]:
    """Batches of every kind."""
    sizes = st.integers(1, 9)
    kinds = st.one_of(
        graphs_with_twins(),
        adjacency_matrices(12).map(from_dense),
        sizes.map(complete),
        sizes.map(star),
        sizes.map(path),
    )
    return st.lists(kinds, min_size=1, max_size=4).map(GraphBatch.concatenate)
