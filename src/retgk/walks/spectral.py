"""Return probabilities by eigendecomposition, as published (section 3.2 of the paper)."""

from typing import Any

import numpy as np

from retgk.array_types import Floats
from retgk.graphs.batch import GraphBatch
from retgk.walks.twins import Quotients

__all__ = ["eigh_cost", "fill_dense", "half_power_cost", "spectral_return_probabilities"]


def spectral_return_probabilities(matrix: Floats, n_steps: int) -> Floats:
    """
    ``B^s(i, i) = sum_k lambda_k^s u_k(i)^2`` for s = 1..S.

    Parameters
    ----------
    matrix : ndarray of float64, shape (n, n)
        Symmetric matrix B.
    n_steps : int
        Number S of steps.

    Returns
    -------
    ndarray of float64, shape (n, n_steps)
        One row per node.
    """
    eigenvalues, eigenvectors = np.linalg.eigh(matrix)
    powers = np.multiply.accumulate(np.tile(eigenvalues[:, None], n_steps), axis=1)
    return np.asarray(np.square(eigenvectors) @ powers)


def normalized_adjacency(graph: GraphBatch, self_loop: float) -> Floats:
    """``B = D^-1/2 (A + self_loop I) D^-1/2`` of one graph; an isolated node stays."""
    n = graph.n_nodes
    matrix = np.zeros((n, n))
    matrix[np.repeat(np.arange(n), np.diff(graph.indptr)), graph.indices] = graph.weights
    matrix[np.diag_indices(n)] += self_loop
    degrees = matrix.sum(axis=1)
    matrix[np.diag_indices(n)] += degrees == 0
    scale = 1 / np.sqrt(np.where(degrees == 0, 1, degrees))
    return matrix * scale[:, None] * scale


def fill_dense(
    node_ptr: Any, quotients: Quotients, starts: tuple[Any, ...], probabilities: Floats
) -> None:
    """Write what `fill_half_powers` writes, for start nodes that all lie in one graph."""
    graphs, rows, targets = starts
    part = slice(node_ptr[graphs[0]], node_ptr[graphs[0]] + quotients.n_classes[graphs[0]])
    begin, end = quotients.row_begin[part], quotients.row_end[part]
    n = len(begin)
    matrix = np.zeros((n, n))
    entries = slice(begin[0], end[-1])
    matrix[np.repeat(np.arange(n), end - begin), quotients.columns[entries]] = quotients.values[
        entries
    ]
    matrix[np.diag_indices(n)] = quotients.diagonal[part]
    probabilities[targets] = spectral_return_probabilities(matrix, probabilities.shape[1])[rows]


def half_power_cost(n_nodes: Any, n_entries: Any, n_steps: int) -> Any:
    """Nanoseconds of half powers from one start node (measured: 26 GFlop/s in cache)."""
    return 0.038 * n_steps * (n_entries + 2 * n_nodes)


def eigh_cost(n_nodes: Any) -> Any:
    """Nanoseconds of one eigendecomposition on one core (measured for n = 16 to 1000)."""
    n = np.asarray(n_nodes, dtype=np.float64)
    return 40_000 + 60 * n**2 + 0.25 * n**3
