"""
The coordinates that points are reduced to: found once from the fitted graphs, then kept.

Return probabilities of 50 steps lie close to a space of some 16 dimensions. Dropping the other
directions moves every point by its tail t_i, so that a distance changes by at most t_i + t_j
and, the kernel being 1-Lipschitz in scaled coordinates, ``<m_G, m_H>`` by at most
``tau_G + tau_H`` with ``tau_G`` the mean tail of the nodes of G. That holds for any centre and
any orthonormal basis, however they were found.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from retgk import _core
from retgk.array_types import Floats, Ints
from retgk.engine.exact.node_points import NodePoints
from retgk.graphs.ragged import offsets
from retgk.kernels.node_kernels import Gaussian, Laplacian, NodeKernel, Polynomial
from retgk.runtime.parallel import run_tasks
from retgk.runtime.progress import progress_bar

__all__ = [
    "Factor",
    "Frame",
    "Rotation",
    "TileKernel",
    "coordinate_scale",
    "factor_order",
    "principal_rotation",
]

# Second moments of chunks of nodes that are kept at a time: 780 attributes take 5 MB for each.
BAND_BYTES = 1 << 25
MIN_TOGETHER = 4


class TileKernel(NamedTuple):
    """The node kernel as tiles compute it, over coordinates that are scaled and rotated."""

    kernels: tuple[NodeKernel, ...]
    """Factors in the order of the coordinates, polynomials last."""
    block_ptr: Ints
    """First coordinate of every factor."""
    dtype: Any
    """float32 or float64."""


@dataclass(frozen=True, eq=False)
class Factor:
    """
    A factor of the node kernel, and the coordinates of its block of features.

    Attributes
    ----------
    block : int
        Which block of features.
    kernel : node kernel
        With a number for gamma.
    mean : ndarray of float64, shape (dimension,)
        Centre, which is subtracted.
    basis : ndarray of float64, shape (dimension, rank), or None
        Orthonormal directions that are kept; None if none is dropped and nothing is rotated.
    """

    block: int
    kernel: NodeKernel
    mean: Floats
    basis: Floats | None

    @property
    def scale(self) -> float:
        """Factor of the coordinates that makes gamma one."""
        return coordinate_scale(self.kernel)

    @property
    def rank(self) -> int:
        """Number of coordinates."""
        return len(self.mean) if self.basis is None else self.basis.shape[1]

    def coordinates(self, block: Floats) -> Floats:
        """Centre, rotate and scale points."""
        centred = block - self.mean
        if self.basis is None:
            return centred * self.scale
        projected: Floats = centred @ (self.basis * self.scale)
        return projected


@dataclass(frozen=True, eq=False)
class Frame:
    """
    Factors in the order of the tiles, and how far the nodes of a graph may be moved.

    Attributes
    ----------
    factors : tuple of Factor
        Polynomials last.
    dtype : numpy dtype
        float32 or float64: what the tiles are computed in.
    budget : float
        Largest mean move of the nodes of a graph.
    tail_budget : float
        The part of it that dropped directions may take.
    size : float
        Mean distance of the nodes of a graph from the centre that rounding to float32 allows for.
    radius : float
        How far a point may be moved to one that is nearly equal.
    error : float
        Bound on the error of every ``<m_G, m_H>`` of the fitted graphs; relative to the largest
        kernel value where a factor is polynomial. NaN where it is not known any more.
    """

    factors: tuple[Factor, ...]
    dtype: Any
    budget: float
    tail_budget: float
    size: float
    radius: float
    error: float = np.nan

    @property
    def kernels(self) -> tuple[NodeKernel, ...]:
        """Kernels of the factors."""
        return tuple(factor.kernel for factor in self.factors)

    @property
    def block_ptr(self) -> Ints:
        """First coordinate of every factor."""
        return offsets([factor.rank for factor in self.factors])

    @property
    def tile_kernel(self) -> TileKernel:
        """The node kernel over the coordinates of this frame."""
        return TileKernel(self.kernels, self.block_ptr, self.dtype)


def coordinate_scale(kernel: NodeKernel) -> float:
    """Factor of the coordinates that makes gamma one."""
    if isinstance(kernel, Laplacian):
        return kernel.scale
    if isinstance(kernel, Gaussian | Polynomial):
        return float(np.sqrt(kernel.scale))
    raise TypeError(f"the exact engine does not know how {kernel!r} scales")


def factor_order(kernels: Sequence[NodeKernel], widths: Sequence[int]) -> list[int]:
    """Blocks in the order of the tiles: polynomials last, roots before them (it is faster)."""

    def place(b: int) -> int:
        if isinstance(kernels[b], Polynomial):
            return 2
        return 1 if isinstance(kernels[b], Laplacian) and widths[b] > 1 else 0

    return sorted(range(len(kernels)), key=place)


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
    Find the principal directions of block b, and what dropping some of them costs.

    Each graph has the same weight. Threads change no bit of the result.
    """
    mean = np.asarray(nodes.blocks[b].sum(axis=0) / nodes.n_nodes)
    chunks = list(nodes.graph_chunks())
    tails = np.zeros((len(chunks), len(mean) + 1))

    def find_tails(place: int, start: int, stop: int) -> None:
        ptr = nodes.node_ptr[start : stop + 1]
        rotated = (nodes.blocks[b][ptr[0] : ptr[-1]] - mean) @ basis
        _core.add_tails(rotated, ptr, tails[place])

    numbered = [(i, *chunk) for i, chunk in enumerate(chunks)]
    costs = nodes.chunk_costs(chunks)
    moments = _second_moments(nodes, b, mean, n_jobs)
    basis = np.ascontiguousarray(np.linalg.eigh(moments)[1][:, ::-1])
    run_tasks(find_tails, numbered, costs, n_jobs, "low rank")
    largest = tails.max(axis=0)
    return Rotation(mean, basis, largest, float(largest[0]))


def _second_moments(nodes: NodePoints, b: int, mean: Floats, n_jobs: int | None) -> Floats:
    """Second moments, each graph having the same weight; added up in the order of the chunks."""
    chunks = list(nodes.graph_chunks())
    costs = nodes.chunk_costs(chunks)
    total = np.zeros((len(mean), len(mean)))
    n_together = max(MIN_TOGETHER, BAND_BYTES // total.nbytes)
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
