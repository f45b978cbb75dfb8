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
from retgk.kernels.rotation import low_rank_basis, mean_point, project

__all__ = ["FLOAT64_ERROR", "Reduced", "reduced_points", "tile_error"]

Floats = NDArray[np.float64]

FLOAT64_ERROR = 1e-12
"""What is promised for tol=0: rounding in float64, and merging of rows closer than 1e-13."""

_UNIT_32 = 2.0**-24
MAX_RELATIVE_ERROR_32 = 3e-7  # of exponential.exp_negative, which imports numba
_EQUAL = 1e-13
_SINGLE_SHARE = 0.85  # of the promise that rounding to float32 may take
_LOOSE = 1e-3  # below, merging rows that are not equal saves next to nothing


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

    With u = 2^-24, a squared distance of width d is wrong by (d / 4 + 6) u relatively (four
    coordinates are summed before they are added to the rest), its root by half of that and u;
    ``t exp(-t) <= 1/e`` turns this into an absolute error. exp adds 3e-7 + 2 t u, weights,
    products and sums of four add 5 u.

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
        (d / 4 + 6) * (1.0 if is_squared else 0.5) + 1
        for d, is_squared in zip(widths, squared, strict=True)
    ]
    n_sums = len(relative)  # adding factors up rounds once more for each
    return _UNIT_32 * ((max(relative) + n_sums + 2) / np.e + 5) + MAX_RELATIVE_ERROR_32


def reduced_points(
    x: NodePoints, y: NodePoints | None, kernels: Sequence[NodeKernel], tol: float
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

    Returns
    -------
    Reduced
        The distinct points.
    """
    from threadpoolctl import threadpool_limits

    _check(x, y, kernels, tol)
    # small matrix products: threads of the BLAS would cost time and change the last bits
    with threadpool_limits(1, user_api="blas"):
        return _reduced(x, y, kernels, tol)


def _reduced(
    x: NodePoints, y: NodePoints | None, kernels: Sequence[NodeKernel], tol: float
) -> Reduced:
    sets = [x] if y is None else [x, y]
    exact = tol <= FLOAT64_ERROR or any(isinstance(k, Polynomial) for k in kernels)
    order = sorted(range(len(kernels)), key=lambda b: isinstance(kernels[b], Polynomial))
    chosen = tuple(kernels[b] for b in order)
    if exact:
        return _assembled(sets, order, chosen, np.float64, _Budget(0.0, _EQUAL, 0.0, FLOAT64_ERROR))
    single = _rounding_bound(sets, order, chosen)
    dtype: Any = np.float32 if single <= _SINGLE_SHARE * tol else np.float64
    rounding = single if dtype == np.float32 else FLOAT64_ERROR
    left = (tol - rounding) / 2  # one half for each of the two graphs of an inner product
    if tol < _LOOSE:
        budget = _Budget(0.75 * left, 0.25 * left / np.sqrt(len(kernels)), 0.0, tol)
    else:
        budget = _Budget(0.25 * left, _EQUAL, 0.75 * left - _EQUAL * len(kernels), tol)
    return _assembled(sets, order, chosen, dtype, budget)


class _Budget(NamedTuple):
    """What may move the nodes of a graph, on average, and how far."""

    rotation: float
    equal: float  # nodes this close to their mean are one point
    merging: float
    total: float


def _assembled(
    sets: Sequence[NodePoints],
    order: Sequence[int],
    kernels: tuple[NodeKernel, ...],
    dtype: Any,
    budget: _Budget,
) -> Reduced:
    coordinates, widths = _coordinates(sets, order, kernels, budget.rotation)
    block_ptr = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    points = [
        distinct_points(nodes, rows, budget.equal)
        for nodes, rows in zip(sets, coordinates, strict=True)
    ]
    if budget.merging > 0:
        points = [merged_points(some, block_ptr, budget.merging) for some in points]
    return Reduced(points[0], points[-1], kernels, block_ptr, dtype, budget.total)


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


def _scale(kernel: NodeKernel) -> float:
    """Factor of the coordinates that makes gamma one."""
    return kernel.scale if isinstance(kernel, Laplacian) else float(np.sqrt(kernel.scale))


def _rounding_bound(
    sets: Sequence[NodePoints], order: Sequence[int], kernels: Sequence[NodeKernel]
) -> float:
    """Bound on all float32 errors: rounded coordinates of both points, and the tiles."""
    widths = [sets[0].blocks[b].shape[1] for b in order]
    squared = [not isinstance(kernel, Laplacian) for kernel in kernels]
    moved = 0.0
    for points in sets:
        norms = np.zeros(points.n_nodes)
        for b, kernel in zip(order, kernels, strict=True):
            norms += _scale(kernel) * _norms(points, b, mean_point(sets, b))
        means = np.add.reduceat(norms, points.node_ptr[:-1]) / np.diff(points.node_ptr)
        moved = max(moved, float(means.max()))
    return 2 * _UNIT_32 * moved + tile_error(widths, squared)


def _norms(points: NodePoints, b: int, mean: Floats) -> Floats:
    """Distance of every node from the centre."""
    norms = np.empty(points.n_nodes)
    for start, stop in points.graph_chunks():
        nodes = slice(points.node_ptr[start], points.node_ptr[stop])
        centred = points.blocks[b][nodes] - mean
        norms[nodes] = np.sqrt(np.einsum("ij,ij->i", centred, centred))
    return norms


def _coordinates(
    sets: Sequence[NodePoints],
    order: Sequence[int],
    kernels: Sequence[NodeKernel],
    budget: float,
) -> tuple[list[Floats], list[int]]:
    """Scaled, rotated, padded coordinates of every set, and the widths of the factors."""
    share = budget / len(kernels)
    parts: list[list[Floats]] = [[] for _ in sets]
    widths = []
    for b, kernel in zip(order, kernels, strict=True):
        width = sets[0].blocks[b].shape[1]
        centred = not isinstance(kernel, Polynomial)
        mean = mean_point(sets, b) if centred else np.zeros(width)
        basis = np.eye(width)
        if budget > 0 and width > 2:
            basis = low_rank_basis(sets, b, mean, _scale(kernel), share)
        for part, points in zip(parts, sets, strict=True):
            part.append(_padded(project(points, b, mean, basis, _scale(kernel))))
        widths.append(parts[0][-1].shape[1])
    joined = [part[0] if len(part) == 1 else np.concatenate(part, axis=1) for part in parts]
    return joined, widths


def _padded(block: Floats) -> Floats:
    """Add a column of zeros to an odd number of columns: tiles take them in pairs."""
    return np.pad(block, ((0, 0), (0, 1))) if block.shape[1] % 2 else block
