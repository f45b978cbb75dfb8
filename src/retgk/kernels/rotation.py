"""
Fewer coordinates for the same distances.

Return probabilities of 50 steps lie close to a space of some 16 dimensions. Dropping the other
directions moves every point by its tail t_i, so that a distance changes by at most t_i + t_j
and, the kernel being 1-Lipschitz in scaled coordinates, ``<m_G, m_H>`` by at most
``tau_G + tau_H`` with ``tau_G`` the mean tail of the nodes of G.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retgk.kernels.points import NodePoints

__all__ = ["low_rank_basis", "mean_point", "project"]

Floats = NDArray[np.float64]


def mean_point(sets: Sequence[NodePoints], b: int) -> Floats:
    """Mean of block b over the nodes of all sets."""
    total = sum(points.blocks[b].sum(axis=0) for points in sets)
    return np.asarray(total / sum(points.n_nodes for points in sets))


def low_rank_basis(
    sets: Sequence[NodePoints], b: int, mean: Floats, scale: float, budget: float
) -> Floats:
    """
    Orthonormal directions that keep the mean tail of every graph within a budget.

    Parameters
    ----------
    sets : sequence of NodePoints
        All points that will be compared.
    b : int
        Which block.
    mean : ndarray, shape (dimension,)
        Centre of the points.
    scale : float
        What coordinates are multiplied by before tails are measured.
    budget : float
        Largest mean tail of a graph.

    Returns
    -------
    ndarray, shape (dimension, rank)
        The basis; the identity where nothing can be saved.
    """
    basis = _principal_directions(sets, b, mean)
    tails = np.max([_largest_mean_tails(points, b, mean, basis) for points in sets], axis=0)
    enough = np.flatnonzero(scale * tails <= budget)
    dimension = len(mean)
    rank = max(1, int(enough[0])) if len(enough) else dimension
    rank += rank % 2  # the tiles take two coordinates at a time
    return np.eye(dimension) if rank >= dimension else np.ascontiguousarray(basis[:, :rank])


def project(points: NodePoints, b: int, mean: Floats, basis: Floats, scale: float) -> Floats:
    """Coordinates of block b in a basis, centred and scaled."""
    block = points.blocks[b]
    if basis.shape[0] == basis.shape[1]:
        return (block - mean) * scale
    projected = np.empty((len(block), basis.shape[1]))
    for start, stop in points.graph_chunks():
        nodes = slice(points.node_ptr[start], points.node_ptr[stop])
        np.matmul(block[nodes] - mean, basis * scale, out=projected[nodes])
    return projected


def _principal_directions(sets: Sequence[NodePoints], b: int, mean: Floats) -> Floats:
    """Eigenvectors of the second moments, each graph with the same weight, largest first."""
    moments = np.zeros((len(mean), len(mean)))
    for points in sets:
        for start, stop in points.graph_chunks():
            ptr = points.node_ptr[start : stop + 1]
            sizes = np.diff(ptr)
            centred = points.blocks[b][ptr[0] : ptr[-1]] - mean
            centred *= np.repeat(sizes**-0.5, sizes)[:, None]
            moments += centred.T @ centred
    return np.asarray(np.linalg.eigh(moments)[1][:, ::-1])


def _largest_mean_tails(points: NodePoints, b: int, mean: Floats, basis: Floats) -> Floats:
    """For every rank, the largest mean norm of what is dropped in any graph."""
    largest = np.zeros(len(mean) + 1)
    for start, stop in points.graph_chunks():
        ptr = points.node_ptr[start : stop + 1]
        rotated = (points.blocks[b][ptr[0] : ptr[-1]] - mean) @ basis
        np.square(rotated, out=rotated)
        backwards = rotated[:, ::-1]
        tails = np.sqrt(np.cumsum(backwards, axis=1))[:, ::-1]
        means = np.add.reduceat(tails, ptr[:-1] - ptr[0], axis=0) / np.diff(ptr)[:, None]
        np.maximum(largest[:-1], means.max(axis=0), out=largest[:-1])
    return largest
