"""Squared norms of mean embeddings, without the inner products of all pairs of graphs."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from retgk.kernels.gram import gram_of_reduced
from retgk.kernels.node_kernels import NodeKernel
from retgk.kernels.points import NodePoints
from retgk.kernels.reduction import reduced_points

__all__ = ["squared_norms"]

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
    reduced = reduced_points(points, None, kernels, tol, n_jobs)
    norms = np.empty(points.n_graphs)
    for start, stop in points.graph_chunks():
        some = reduced.x.of_graphs(start, stop)
        # few graphs: products between them cost less than keeping them apart would
        part = replace(reduced, x=some, y=some)
        norms[start:stop] = gram_of_reduced(part, n_jobs).diagonal()
    return norms
