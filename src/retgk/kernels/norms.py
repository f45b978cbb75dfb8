"""Squared norms of mean embeddings, without the inner products between different graphs."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retgk.kernels.gram import weighted_gram
from retgk.kernels.node_kernels import NodeKernel
from retgk.kernels.points import NodePoints

__all__ = ["squared_norms"]

_GRAPHS_AT_ONCE = 128

Floats = NDArray[np.float64]


def squared_norms(
    points: NodePoints, *, kernels: Sequence[NodeKernel], tol: float, n_jobs: int | None = None
) -> Floats:
    """
    ``<m_G, m_G>`` of every graph.

    Parameters
    ----------
    points : NodePoints
        Nodes of the graphs.
    kernels : sequence of Laplacian, Gaussian or Polynomial
        One for each block of features, with numbers for gamma.
    tol : float
        Largest absolute error.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    ndarray of float64, shape (n_graphs,)
        Squared norms.
    """
    norms = np.empty(points.n_graphs)
    for start in range(0, points.n_graphs, _GRAPHS_AT_ONCE):
        stop = min(start + _GRAPHS_AT_ONCE, points.n_graphs)
        some = _apart(points, start, stop)
        norms[start:stop] = weighted_gram(some, kernels=kernels, tol=tol, n_jobs=n_jobs).diagonal()
    return norms


def _apart(points: NodePoints, start: int, stop: int) -> NodePoints:
    """Some graphs, with labels that no two of them share: different graphs never meet."""
    nodes = slice(points.node_ptr[start], points.node_ptr[stop])
    codes = points.label_codes()[nodes].astype(np.int64)
    graphs = np.repeat(np.arange(stop - start), np.diff(points.node_ptr[start : stop + 1]))
    _, labels = np.unique(graphs * (codes.max() + 1) + codes, return_inverse=True)
    return NodePoints(
        tuple(block[nodes] for block in points.blocks),
        points.node_ptr[start : stop + 1] - nodes.start,
        labels.astype(np.int32),
    )
