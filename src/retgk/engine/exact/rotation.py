"""
Fewer coordinates for the same distances.

Return probabilities of 50 steps lie close to a space of some 16 dimensions. Dropping the other
directions moves every point by its tail t_i, so that a distance changes by at most t_i + t_j
and, the kernel being 1-Lipschitz in scaled coordinates, ``<m_G, m_H>`` by at most
``tau_G + tau_H`` with ``tau_G`` the mean tail of the nodes of G. That holds for any centre and
any orthonormal basis, however they were found.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from retgk.array_types import Floats
from retgk.engine.exact.points import NodePoints
from retgk.runtime.parallel import run_tasks
from retgk.runtime.progress import progress_bar

__all__ = ["Rotation", "principal_rotation"]


# Second moments of chunks of nodes that are kept at a time: 780 attributes take 5 MB for each.
_BAND_BYTES = 1 << 25
_MIN_TOGETHER = 4


@dataclass(frozen=True, eq=False)
class Rotation:
    """
    Principal directions of a block of features, largest first.

    Attributes
    ----------
    mean : ndarray, shape (dimension,)
        Centre of the points.
    basis : ndarray, shape (dimension, dimension)
        Orthonormal columns.
    tails : ndarray, shape (dimension + 1,)
        For every rank, the largest mean over the nodes of a graph of the distance that they move
        if all other directions are dropped.
    size : float
        The same for rank 0: the mean distance of the nodes of a graph from the centre.
    """

    mean: Floats
    basis: Floats
    tails: Floats
    size: float

    def rank(self, budget: float) -> int:
        """Number of directions, at least one, that keeps the tails of all graphs in a budget."""
        return max(1, int(np.flatnonzero(self.tails <= budget)[0]))


def principal_rotation(nodes: NodePoints, b: int, n_jobs: int | None) -> Rotation:
    """
    Find principal directions, each graph having the same weight, and what dropping some costs.

    Parameters
    ----------
    nodes : NodePoints
        All points that will be compared.
    b : int
        Which block.
    n_jobs : int or None
        Threads. They change no bit of the result.

    Returns
    -------
    Rotation
        The directions.
    """
    from retgk.engine.exact.point_cells import add_tails

    mean = np.asarray(nodes.blocks[b].sum(axis=0) / nodes.n_nodes)
    chunks = list(nodes.graph_chunks())
    tails = np.zeros((len(chunks), len(mean) + 1))

    def find_tails(place: int, start: int, stop: int) -> None:
        ptr = nodes.node_ptr[start : stop + 1]
        rotated = (nodes.blocks[b][ptr[0] : ptr[-1]] - mean) @ basis
        add_tails(rotated, ptr, tails[place])

    numbered = [(i, *chunk) for i, chunk in enumerate(chunks)]
    costs = [float(nodes.node_ptr[stop] - nodes.node_ptr[start]) for start, stop in chunks]
    moments = _moments(nodes, b, mean, costs, n_jobs)
    basis = np.ascontiguousarray(np.linalg.eigh(moments)[1][:, ::-1])
    run_tasks(find_tails, numbered, costs, n_jobs, "low rank")
    largest = tails.max(axis=0)
    return Rotation(mean, basis, largest, float(largest[0]))


def _moments(
    nodes: NodePoints, b: int, mean: Floats, costs: Sequence[float], n_jobs: int | None
) -> Floats:
    """Second moments, each graph having the same weight; added up in the order of the chunks."""
    chunks = list(nodes.graph_chunks())
    total = np.zeros((len(mean), len(mean)))
    n_together = max(_MIN_TOGETHER, _BAND_BYTES // total.nbytes)
    found = np.empty((min(n_together, len(chunks)), *total.shape))

    def find(place: int, start: int, stop: int) -> None:
        ptr = nodes.node_ptr[start : stop + 1]
        sizes = np.diff(ptr)
        centred = nodes.blocks[b][ptr[0] : ptr[-1]] - mean
        centred *= np.repeat(sizes**-0.5, sizes)[:, None]
        found[place] = centred.T @ centred

    with progress_bar("principal directions", float(sum(costs))) as advance:
        for first in range(0, len(chunks), n_together):
            band = [(i, *chunk) for i, chunk in enumerate(chunks[first : first + n_together])]
            run_tasks(find, band, costs[first : first + n_together], n_jobs, advance)
            for place in range(len(band)):
                total += found[place]
    return total
