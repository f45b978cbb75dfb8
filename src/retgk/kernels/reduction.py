r"""
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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.errors import InvalidInputError
from retgk.kernels.merging import distinct_points, merged_points
from retgk.kernels.node_kernels import Laplacian, NodeKernel, Polynomial
from retgk.kernels.points import DistinctPoints, NodePoints
from retgk.kernels.rotation import Rotation, principal_rotation
from retgk.parallel import run_tasks, single_threaded_blas

__all__ = ["FLOAT64_ERROR", "Reduced", "reduced_points", "tile_error"]

Floats = NDArray[np.float64]

FLOAT64_ERROR = 1e-12
"""What is promised for tol=0: rounding in float64, and merging of rows closer than 1e-13."""

_UNIT_32 = 2.0**-24
MAX_RELATIVE_ERROR_32 = 3e-7  # of the power of two in the tiles
_EQUAL = 1e-13
_SINGLE_SHARE = 0.85  # of the promise that rounding to float32 may take
# Below this tol, merging rows that are not equal saves next to nothing: dropping directions may
# take nearly all of the promise, and merging gets what that happens to leave.
_LOOSE = 1e-3
_TIGHT_SHARE = 0.98
_LOOSE_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Reduced:
    """
    Distinct points that are ready for the tiles.

    Attributes
    ----------
    x, y : DistinctPoints
        The same object where both sides are the same.
    kernels : tuple of kernels
        Factors in the order of the coordinates, polynomials last.
    block_ptr : ndarray of int64
        First coordinate of every factor.
    dtype : numpy dtype
        float32 or float64: what the tiles are computed in.
    error : float
        Bound on the error of every ``<m_G, m_H>``, relative to the largest kernel value.
    """

    x: DistinctPoints
    y: DistinctPoints
    kernels: tuple[NodeKernel, ...]
    block_ptr: NDArray[np.int64]
    dtype: Any
    error: float


def tile_error(widths: Sequence[int], squared: Sequence[bool]) -> float:
    """
    Bound on the error of a weighted mean of kernel values that float32 tiles cause.

    With u = 2^-24, a squared distance of width d is wrong by (d + 2) u relatively, its root by
    half of that and u; ``t exp(-t) <= 1/e`` turns this into an absolute error. The power of two
    adds 3e-7, rounded weights and sums of eight products add 10 u.

    Parameters
    ----------
    widths : sequence of int
        Number of coordinates of every factor.
    squared : sequence of bool
        Whether the factor is Gaussian.

    Returns
    -------
    float
        The bound.
    """
    relative = [
        (d + 2) * (1.0 if is_squared else 0.5) + 1
        for d, is_squared in zip(widths, squared, strict=True)
    ]
    n_sums = len(relative)  # adding factors up rounds once more for each
    return _UNIT_32 * ((max(relative) + n_sums) / np.e + 10) + MAX_RELATIVE_ERROR_32


def reduced_points(
    x: NodePoints,
    y: NodePoints | None,
    kernels: Sequence[NodeKernel],
    tol: float,
    n_jobs: int | None = None,
) -> Reduced:
    """
    Reduce node features to distinct points such that no inner product is off by more than tol.

    Parameters
    ----------
    x, y : NodePoints
        Nodes of both sides; None for y means x again.
    kernels : sequence of Laplacian, Gaussian or Polynomial
        One for each block, with numbers for gamma.
    tol : float
        Largest absolute error of an inner product; 0 for plain float64. With a polynomial
        factor everything is in float64 and only equal rows are merged.
    n_jobs : int, optional
        Threads. They change no bit of the result.

    Returns
    -------
    Reduced
        The distinct points.
    """
    _check(x, y, kernels, tol)
    # small matrix products: threads of the BLAS would cost time and change the last bits
    with single_threaded_blas():
        return _reduced([x] if y is None else [x, y], kernels, tol, n_jobs)


class _Factor(NamedTuple):
    """A factor of the node kernel, and the block of features that it belongs to."""

    block: int
    kernel: NodeKernel
    scale: float  # of the coordinates, to make gamma one
    rotation: Rotation


def _reduced(
    sets: Sequence[NodePoints], kernels: Sequence[NodeKernel], tol: float, n_jobs: int | None
) -> Reduced:
    exact = tol <= FLOAT64_ERROR or any(isinstance(kernel, Polynomial) for kernel in kernels)
    factors = [
        _Factor(
            b,
            kernels[b],
            _scale(kernels[b]),
            _shift(sets, b, kernels[b]) if exact else principal_rotation(sets, b, n_jobs),
        )
        for b in sorted(range(len(kernels)), key=lambda b: _place(kernels[b], sets[0].blocks[b]))
    ]
    if exact:
        return _assembled(sets, factors, np.float64, FLOAT64_ERROR, n_jobs)
    single = _rounding_bound(factors)
    dtype = np.float32 if single <= _SINGLE_SHARE * tol else np.float64
    return _assembled(sets, factors, dtype, tol, n_jobs)


def _place(kernel: NodeKernel, block: Floats) -> int:
    """Order of factors: tiles want polynomials last, and are faster with other roots before."""
    if isinstance(kernel, Polynomial):
        return 2
    return 1 if isinstance(kernel, Laplacian) and block.shape[1] > 1 else 0


def _scale(kernel: NodeKernel) -> float:
    """Factor of the coordinates that makes gamma one."""
    return kernel.scale if isinstance(kernel, Laplacian) else float(np.sqrt(kernel.scale))


def _shift(sets: Sequence[NodePoints], b: int, kernel: NodeKernel) -> Rotation:
    """No rotation: only a shift to the mean, where the kernel allows one."""
    width = sets[0].blocks[b].shape[1]
    mean = np.zeros(width)
    if not isinstance(kernel, Polynomial):
        mean = np.mean([points.blocks[b].mean(axis=0) for points in sets], axis=0)
    return Rotation(mean, np.eye(width), np.append(np.full(width, np.inf), 0.0))


def _rounding_bound(factors: Sequence[_Factor]) -> float:
    """Bound on all float32 errors: rounded coordinates of both points, and the tiles."""
    widths = [len(factor.rotation.mean) for factor in factors]
    squared = [not isinstance(factor.kernel, Laplacian) for factor in factors]
    size = sum(factor.scale * factor.rotation.tails[0] for factor in factors)
    return float(2 * _UNIT_32 * size + tile_error(widths, squared))


def _assembled(
    sets: Sequence[NodePoints],
    factors: Sequence[_Factor],
    dtype: Any,
    tol: float,
    n_jobs: int | None,
) -> Reduced:
    """Drop directions, then merge with what is left of the error that is allowed."""
    rounding = _rounding_bound(factors) if dtype == np.float32 else FLOAT64_ERROR
    # one half for each of the two graphs of an inner product
    left = max((tol - rounding) / 2, _EQUAL)
    ranks = _ranks(factors, left * (_TIGHT_SHARE if tol < _LOOSE else _LOOSE_SHARE))
    left -= sum(f.scale * f.rotation.tails[r] for f, r in zip(factors, ranks, strict=True))
    # moves in all factors add up: their sum is at most root n of the distance in all coordinates
    radius = min(left / 2, _EQUAL) if tol >= _LOOSE else left / np.sqrt(len(factors))
    coordinates = [_coordinates(points, factors, ranks, n_jobs) for points in sets]
    found = [distinct_points(*pair, radius) for pair in zip(sets, coordinates, strict=True)]
    block_ptr = np.concatenate([[0], np.cumsum(ranks)]).astype(np.int64)
    if tol >= _LOOSE:
        budget = left - radius * np.sqrt(len(factors))
        found = [merged_points(some, block_ptr, budget) for some in found]
    kernels = tuple(factor.kernel for factor in factors)
    return Reduced(found[0], found[-1], kernels, block_ptr, dtype, tol)


def _ranks(factors: Sequence[_Factor], budget: float) -> list[int]:
    """Directions that are kept of every factor; those of width one need none of the budget."""
    n_wide = max(1, sum(len(factor.rotation.mean) > 1 for factor in factors))
    return [factor.rotation.rank(budget / n_wide / factor.scale) for factor in factors]


def _coordinates(
    points: NodePoints, factors: Sequence[_Factor], ranks: Sequence[int], n_jobs: int | None
) -> Floats:
    """Coordinates of all factors side by side, centred, rotated and scaled."""
    result = np.empty((points.n_nodes, sum(ranks)))
    ends = np.cumsum(ranks)

    def work(start: int, stop: int) -> None:
        nodes = slice(points.node_ptr[start], points.node_ptr[stop])
        for factor, rank, end in zip(factors, ranks, ends, strict=True):
            block = points.blocks[factor.block][nodes]
            found = factor.rotation.coordinates(block, rank, factor.scale)
            result[nodes, end - rank : end] = found

    chunks = list(points.graph_chunks())
    costs = [float(points.node_ptr[stop] - points.node_ptr[start]) for start, stop in chunks]
    run_tasks(work, chunks, costs, n_jobs, "coordinates")
    return result


def _check(x: NodePoints, y: NodePoints | None, kernels: Sequence[NodeKernel], tol: float) -> None:
    if not 0 <= tol < 1:
        raise InvalidInputError(f"tol must be at least 0 and below 1, got {tol}")
    if len(kernels) != len(x.blocks):
        raise InvalidInputError(
            f"got {len(kernels)} node kernels for {len(x.blocks)} blocks of features; "
            "pass one for each"
        )
    for b, kernel in enumerate(kernels):
        _ = kernel.scale  # an unfitted bandwidth is an error here, before any work
        if y is not None and x.blocks[b].shape[1] != y.blocks[b].shape[1]:
            raise InvalidInputError(
                f"block {b} has {x.blocks[b].shape[1]} columns on one side and "
                f"{y.blocks[b].shape[1]} on the other; they must agree"
            )
