"""
From node features to few distinct points, within a promised error.

Scaled by gamma (Laplacian) or its root (Gaussian), a node kernel is ``exp(-sum_l t_l)`` with
``t_l`` a distance or a squared distance, and it is 1-Lipschitz in each factor. Moving node i of
graph G by d_i (the sum of its moves in all factors) therefore changes ``<m_G, m_H>`` by at most
``e_G + e_H``, with ``e_G = sum_i w_i d_i`` the mean move of the nodes of G. Three things move
nodes: dropping directions (rotation), merging near-equal rows to their weighted mean, rounding
coordinates to float32. Rounding in the tiles adds `tile_error`. The sum is the promise.

The bound is of first order on purpose. Merging to the weighted mean cancels the first order only
where the kernel is smooth and where the merged nodes belong to one graph. The Laplacian has a
kink at zero: between nodes of one cell it falls by ``gamma |x - y|`` whatever they are
merged to, and <m_G, m_G> always has such pairs. True errors are far below the promise; the
promise does not count on it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from retgk import _core
from retgk._runtime.parallel import progress_bar, run_tasks, single_threaded_blas
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.flat import offsets
from retgk.kernels.exact_points import (
    DistinctPoints,
    NodePoints,
    distinct_points,
    merge_near_points,
)
from retgk.kernels.node import NodeKernel, check_node_kernel

# -------------------------------------------------------------------------------------------------
# The coordinates that points are reduced to: found once from the fitted graphs, then kept.
#
# Return probabilities of 50 steps lie close to a space of some 16 dimensions. Dropping the other
# directions moves every point by its tail t_i, so that a distance changes by at most t_i + t_j
# and, the kernel being 1-Lipschitz in scaled coordinates, ``<m_G, m_H>`` by at most ``tau_G +
# tau_H`` with ``tau_G`` the mean tail of the nodes of G. That holds for any centre and any
# orthonormal basis, however they were found.
# -------------------------------------------------------------------------------------------------

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
    scale: float = field(init=False)
    """Factor of the coordinates that makes gamma one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", self.kernel.coordinate_scale)

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


def factor_order(kernels: Sequence[NodeKernel], widths: Sequence[int]) -> list[int]:
    """Blocks in the order of the tiles: products last, roots before them (it is faster)."""

    def place(b: int) -> int:
        if not kernels[b].is_stationary:
            return 2
        return 1 if kernels[b].argument == "distance" and widths[b] > 1 else 0

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


FLOAT64_ERROR = 1e-12
"""What is promised for tol=0 unless coordinates are large: rounding, and merging within 1e-13."""

_UNIT_32 = 2.0**-24
_UNIT_64 = 2.0**-53
MAX_RELATIVE_ERROR_32 = 3e-7  # of the power of two in the tiles
_EQUAL = 1e-13
_MAX_ROUNDING = 1e-3  # at tol=0, where no error is promised but what float64 gives
_SINGLE_SHARE = 0.85  # of the promise that rounding to float32 may take
# Below this tol, merging rows that are not equal saves next to nothing: dropping directions may
# take nearly all of the promise, and merging gets what that happens to leave.
_LOOSE = 1e-3
_TIGHT_SHARE = 0.98
_LOOSE_SHARE = 0.25


class RoundingError(InvalidInputError):
    """Features that are too far apart for float64 to keep the promised error."""


def tile_error(kernels: Sequence[NodeKernel], widths: Sequence[int]) -> float:
    """
    Bound on the error of a weighted mean of kernel values that float32 tiles cause.

    ``t exp(-t) <= 1/e`` turns relative errors of the exponents into absolute ones. The power of two
    adds 3e-7, rounded weights and sums of eight products add 10 u, with u = 2^-24. Infinite where
    a kernel knows no bound: it is computed in float64.
    """
    relative = [own.error_of_argument(d) for own, d in zip(kernels, widths, strict=True)]
    n_sums = len(relative)  # adding factors up rounds once more for each
    return _UNIT_32 * ((max(relative) + n_sums) / math.e + 10) + MAX_RELATIVE_ERROR_32


def reduce_points(
    nodes: NodePoints, kernels: Sequence[NodeKernel], tol: float, n_jobs: int | None = None
) -> tuple[DistinctPoints, Frame]:
    """
    Reduce node features to distinct points such that no inner product is off by more than tol.

    Parameters
    ----------
    nodes : NodePoints
        Nodes of all graphs.
    kernels : sequence of Laplacian, Gaussian or Polynomial
        One for each block, with numbers for gamma.
    tol : float
        Largest absolute error of an inner product; 0 for plain float64, whose rounding grows
        with the size of the coordinates. With a polynomial factor everything is in float64, only
        equal rows are merged, and the error is relative to the largest kernel value.
    n_jobs : int, optional
        Threads. They change no bit of the result.

    Returns
    -------
    points : DistinctPoints
        The distinct points.
    frame : Frame
        Their coordinates, for graphs that come later too, and the error that is promised.
    """
    _check(nodes, kernels, tol)
    # small matrix products: threads of the BLAS would cost time and change the last bits
    with single_threaded_blas():
        return _reduce(nodes, kernels, tol, n_jobs)


class _Candidate(NamedTuple):
    """A factor of the node kernel whose rank is not chosen yet."""

    block: int
    kernel: NodeKernel
    rotation: Rotation

    @property
    def scale(self) -> float:
        return self.kernel.coordinate_scale

    def factor(self, rank: int) -> Factor:
        """Keep the first directions; all of them as they are, if none is dropped."""
        rotation = self.rotation
        is_whole = rank == len(rotation.mean)
        basis = None if is_whole else np.ascontiguousarray(rotation.basis[:, :rank])
        return Factor(self.block, self.kernel, rotation.mean, basis)


def _reduce(
    nodes: NodePoints, kernels: Sequence[NodeKernel], tol: float, n_jobs: int | None
) -> tuple[DistinctPoints, Frame]:
    exact = tol <= FLOAT64_ERROR or not all(kernel.is_stationary for kernel in kernels)
    order = factor_order(kernels, [block.shape[1] for block in nodes.blocks])
    candidates = [
        _Candidate(
            b,
            kernels[b],
            _shift(nodes, b, kernels[b]) if exact else principal_rotation(nodes, b, n_jobs),
        )
        for b in order
    ]
    if exact:
        _check_rounding(candidates, tol)
        return _assemble(nodes, candidates, np.float64, FLOAT64_ERROR, n_jobs)
    single = _rounding_bound(candidates)
    dtype = np.float32 if single <= _SINGLE_SHARE * tol else np.float64
    if dtype == np.float64:
        _check_rounding(candidates, tol)
    return _assemble(nodes, candidates, dtype, tol, n_jobs)


def _shift(nodes: NodePoints, b: int, kernel: NodeKernel) -> Rotation:
    """Shift to the mean without a rotation, where the kernel allows a shift."""
    width = nodes.blocks[b].shape[1]
    mean = nodes.blocks[b].mean(axis=0) if kernel.is_stationary else np.zeros(width)
    tails = np.append(np.full(width, np.inf), 0.0)
    return Rotation(mean, np.eye(width), tails, _size(nodes, b, mean))


def _size(points: NodePoints, b: int, mean: Floats) -> float:
    """Largest over graphs of the mean distance of their nodes from a centre."""
    largest = 0.0
    for start, stop in points.graph_chunks():
        ptr = points.node_ptr[start : stop + 1]
        centred = points.blocks[b][ptr[0] : ptr[-1]] - mean
        distances = np.sqrt(np.einsum("ij,ij->i", centred, centred))
        means = np.add.reduceat(distances, ptr[:-1] - ptr[0]) / np.diff(ptr)
        largest = max(largest, float(means.max()))
    return largest


def _total_size(candidates: Sequence[_Candidate]) -> float:
    """Mean distance of the nodes of a graph from the centre, scaled; the largest of all graphs."""
    return float(sum(candidate.scale * candidate.rotation.size for candidate in candidates))


def _rounding_bound(candidates: Sequence[_Candidate]) -> float:
    """Bound on all float32 errors: rounded coordinates of both points, and the tiles."""
    widths = [len(candidate.rotation.mean) for candidate in candidates]
    kernels = [candidate.kernel for candidate in candidates]
    moves = _lipschitz(candidates) * _total_size(candidates)
    return float(2 * _UNIT_32 * moves + tile_error(kernels, widths))


def _lipschitz(candidates: Sequence[_Candidate]) -> float:
    """Bound on the change of the node kernel when a point moves by one in some factor."""
    return max(candidate.kernel.lipschitz for candidate in candidates)


def _rounding_64(candidates: Sequence[_Candidate]) -> float:
    """
    Bound on all float64 errors.

    Centring, scaling, the change to powers of two and the difference of two points round by
    2^-53 of the size of the coordinates each, and a rotation by that for every feature. A graph
    that is not among these, and may be further away, adds half of that again: where it is twice
    as far from the centre as a point, the kernel is too small for an error.
    """
    width = max(len(candidate.rotation.mean) for candidate in candidates)
    rotated = any(np.isfinite(candidate.rotation.tails).all() for candidate in candidates)
    n_roundings = 12 + (3 * width if rotated else 0)
    moves = _lipschitz(candidates) * _total_size(candidates)
    return max(FLOAT64_ERROR, n_roundings * _UNIT_64 * moves)


def _check_rounding(candidates: Sequence[_Candidate], tol: float) -> None:
    """Raise if float64 cannot keep a promise."""
    if not all(candidate.kernel.is_stationary for candidate in candidates):
        return  # relative to the largest value, whatever the size
    rounding = _rounding_64(candidates)
    allowed = max(tol, FLOAT64_ERROR) if tol > 0 else _MAX_ROUNDING
    if rounding > allowed:
        limit = f"tol={tol:g}" if tol > 0 else f"{allowed:g}"
        raise RoundingError(
            f"features are so far apart, {_total_size(candidates):.1e} times the width of the node "
            f"kernels, that float64 rounds by {rounding:.1e}, which is above {limit}; scale "
            "the attributes, or pass a larger tol or a smaller gamma"
        )


def _assemble(
    nodes: NodePoints,
    candidates: Sequence[_Candidate],
    dtype: Any,
    tol: float,
    n_jobs: int | None,
) -> tuple[DistinctPoints, Frame]:
    """Drop directions, then merge with what is left of the error that is allowed."""
    rounding = _rounding_bound(candidates) if dtype == np.float32 else _rounding_64(candidates)
    # one half for each of the two graphs of an inner product
    budget = left = max((tol - rounding) / 2, _EQUAL) / _lipschitz(candidates)
    tail_budget = left * (_TIGHT_SHARE if tol < _LOOSE else _LOOSE_SHARE)
    ranks = _ranks(candidates, tail_budget)
    left -= sum(c.scale * c.rotation.tails[r] for c, r in zip(candidates, ranks, strict=True))
    # moves in all factors add up: their sum is at most root n of the distance in all coordinates
    radius = min(left / 2, _EQUAL) if tol >= _LOOSE else left / np.sqrt(len(candidates))
    factors = tuple(c.factor(rank) for c, rank in zip(candidates, ranks, strict=True))
    found = distinct_points(nodes, _coordinates(nodes, factors, n_jobs), radius)
    error = max(tol, rounding)
    size = _total_size(candidates)
    frame = Frame(factors, dtype, budget, tail_budget, size, float(radius), error)
    if tol >= _LOOSE:
        left -= radius * np.sqrt(len(factors))
        found = merge_near_points(found, frame.block_ptr, left)
    return found, frame


def _ranks(candidates: Sequence[_Candidate], budget: float) -> list[int]:
    """Directions that are kept of every factor; those of width one need none of the budget."""
    n_wide = max(1, sum(len(candidate.rotation.mean) > 1 for candidate in candidates))
    return [candidate.rotation.rank(budget / n_wide / candidate.scale) for candidate in candidates]


def _coordinates(points: NodePoints, factors: Sequence[Factor], n_jobs: int | None) -> Floats:
    """Coordinates of all factors side by side, centred, rotated and scaled."""
    ends = np.cumsum([factor.rank for factor in factors])
    result = np.empty((points.n_nodes, ends[-1]))

    def work(start: int, stop: int) -> None:
        nodes = slice(points.node_ptr[start], points.node_ptr[stop])
        for factor, end in zip(factors, ends, strict=True):
            found = factor.coordinates(points.blocks[factor.block][nodes])
            result[nodes, end - factor.rank : end] = found

    ranges = list(points.graph_chunks())
    run_tasks(work, ranges, points.chunk_costs(ranges), n_jobs, "coordinates")
    return result


def _check(nodes: NodePoints, kernels: Sequence[NodeKernel], tol: float) -> None:
    if not 0 <= tol < 1:
        raise InvalidInputError(f"tol must be at least 0 and below 1, got {tol}")
    if len(kernels) != len(nodes.blocks):
        raise InvalidInputError(
            f"got {len(kernels)} node kernels for {len(nodes.blocks)} blocks of features; "
            "pass one for each"
        )
    for kernel in kernels:
        check_node_kernel(kernel, "a node kernel")
        _ = kernel.coordinate_scale  # an unfitted bandwidth is an error here, before any work
