"""
Compiled loops: tiles of node-kernel values, summed per graph.

The points of a row block lie with one coordinate after the other (``rows[k, i]`` is coordinate
k of point i), so that the processor works on eight of them at a time. Everything is summed in
an order that depends on the points alone. `fastmath` allows fused multiply-adds and nothing
else: they round once instead of twice, so that every bound on the rounding error stays valid.
"""

# ruff: noqa: C901, PLR0912 - loops stay in one function, on raw arrays (see below)
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from retgk.kernels.exponential import exp_negative

__all__ = [
    "CHUNK",
    "LAPLACIAN",
    "POLYNOMIAL",
    "SQUARED",
    "Blocks",
    "Columns",
    "add_row_sums",
    "sum_tiles",
]

CHUNK = 64  # columns of a tile: 64 x 256 float32 values stay in the second-level cache
SQUARED, LAPLACIAN, POLYNOMIAL = 0, 1, 2


class Blocks(NamedTuple):
    """
    Factors of the node kernel: coordinates ``ptr[b]:ptr[b + 1]`` belong to factor b.

    Widths are multiples of two, padded with zeros. Polynomial factors come last.
    """

    ptr: NDArray[np.int64]
    kinds: NDArray[np.int64]
    constants: NDArray[np.float64]
    degrees: NDArray[np.int64]


class Columns(NamedTuple):
    """
    The points that are summed over, and their weights in the graphs.

    Columns ``CHUNK * t : CHUNK * (t + 1)`` make tile t. Its segments, one per graph with a
    point among them, are ``segment_ptr[t]:segment_ptr[t + 1]``; segment s has the entries
    ``entry_ptr[s]:entry_ptr[s + 1]``.
    """

    points: Any  # (n_columns rounded up to a multiple of two, n_coordinates)
    segment_ptr: NDArray[np.int64]
    graphs: NDArray[np.int64]
    entry_ptr: NDArray[np.int64]
    entry_columns: NDArray[np.int64]  # within the tile
    entry_weights: Any


# Every function below works on a whole tile and indexes its arrays in place: numba counts
# references with atomic instructions at every call and for every view like tile[j], which per
# column would cost as much as the arithmetic.


@njit(cache=True, nogil=True, fastmath={"contract"})
def _fill_distances(rows, points, start, stop, k_range, roles, sums, tile):
    """
    Distances of all rows to points start..stop, or exp of their negative sum over factors.

    `roles` says whether to take roots, and whether this is the first and the last factor.
    Two points and four coordinates at a time: all fits the registers.
    """
    n_rows = rows.shape[1]
    is_root, is_first, is_last = roles
    for j in range(start, stop, 2):
        k, k_stop = k_range
        m, c = j + 1, j - start
        if (k_stop - k) % 4 == 2:
            a0, a1, b0, b1 = points[j, k], points[j, k + 1], points[m, k], points[m, k + 1]
            for i in range(n_rows):
                p0, p1 = rows[k, i], rows[k + 1, i]
                d0, d1, e0, e1 = p0 - a0, p1 - a1, p0 - b0, p1 - b1
                sums[0, i] = d0 * d0 + d1 * d1
                sums[1, i] = e0 * e0 + e1 * e1
            k += 2
        else:
            for i in range(n_rows):
                sums[0, i] = 0
                sums[1, i] = 0
        while k < k_stop:
            a0, a1, a2, a3 = points[j, k], points[j, k + 1], points[j, k + 2], points[j, k + 3]
            b0, b1, b2, b3 = points[m, k], points[m, k + 1], points[m, k + 2], points[m, k + 3]
            for i in range(n_rows):
                p0, p1, p2, p3 = rows[k, i], rows[k + 1, i], rows[k + 2, i], rows[k + 3, i]
                d0, d1, d2, d3 = p0 - a0, p1 - a1, p2 - a2, p3 - a3
                e0, e1, e2, e3 = p0 - b0, p1 - b1, p2 - b2, p3 - b3
                sums[0, i] = (d0 * d0 + d1 * d1) + (d2 * d2 + (d3 * d3 + sums[0, i]))
                sums[1, i] = (e0 * e0 + e1 * e1) + (e2 * e2 + (e3 * e3 + sums[1, i]))
            k += 4
        if is_root and is_first and is_last:
            for i in range(n_rows):
                tile[c, i] = exp_negative(np.sqrt(sums[0, i]))
                tile[c + 1, i] = exp_negative(np.sqrt(sums[1, i]))
        elif is_root and is_last:
            for i in range(n_rows):
                tile[c, i] = exp_negative(tile[c, i] + np.sqrt(sums[0, i]))
                tile[c + 1, i] = exp_negative(tile[c + 1, i] + np.sqrt(sums[1, i]))
        elif is_root and is_first:
            for i in range(n_rows):
                tile[c, i] = np.sqrt(sums[0, i])
                tile[c + 1, i] = np.sqrt(sums[1, i])
        elif is_root:
            for i in range(n_rows):
                tile[c, i] = tile[c, i] + np.sqrt(sums[0, i])
                tile[c + 1, i] = tile[c + 1, i] + np.sqrt(sums[1, i])
        elif is_first and is_last:
            for i in range(n_rows):
                tile[c, i] = exp_negative(sums[0, i])
                tile[c + 1, i] = exp_negative(sums[1, i])
        elif is_last:
            for i in range(n_rows):
                tile[c, i] = exp_negative(tile[c, i] + sums[0, i])
                tile[c + 1, i] = exp_negative(tile[c + 1, i] + sums[1, i])
        elif is_first:
            for i in range(n_rows):
                tile[c, i] = sums[0, i]
                tile[c + 1, i] = sums[1, i]
        else:
            for i in range(n_rows):
                tile[c, i] = tile[c, i] + sums[0, i]
                tile[c + 1, i] = tile[c + 1, i] + sums[1, i]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _multiply_powers(rows, points, start, stop, k_range, power, sums, tile):
    """Multiply a tile by a polynomial factor, (<x, y> + constant)^degree."""
    n_rows = rows.shape[1]
    constant, degree = power
    for j in range(start, stop):
        for i in range(n_rows):
            sums[0, i] = constant
        for k in range(k_range[0], k_range[1]):
            value = points[j, k]
            for i in range(n_rows):
                sums[0, i] += rows[k, i] * value
        for _ in range(degree):
            for i in range(n_rows):
                tile[j - start, i] *= sums[0, i]


@njit(cache=True, nogil=True)
def _fill_tile(rows, points, start, stop, blocks, sums, tile):
    """Kernel values of all rows with points start..stop."""
    n_factors = len(blocks.kinds)
    n_exponents = 0
    while n_exponents < n_factors and blocks.kinds[n_exponents] != POLYNOMIAL:
        n_exponents += 1
    if n_exponents == 0:
        tile[:] = 1
    for b in range(n_factors):
        k_range = (blocks.ptr[b], blocks.ptr[b + 1])
        if b < n_exponents:
            roles = (blocks.kinds[b] == LAPLACIAN, b == 0, b + 1 == n_exponents)
            _fill_distances(rows, points, start, stop, k_range, roles, sums, tile)
        else:
            power = (blocks.constants[b], blocks.degrees[b])
            _multiply_powers(rows, points, start, stop, k_range, power, sums, tile)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_tile(tile, columns, t, scale, sums):
    """Add the weighted columns of a tile to the sums of their graphs, in float64."""
    n_rows = tile.shape[1]
    place, weight = columns.entry_columns, columns.entry_weights
    zero = scale * 0
    for s in range(columns.segment_ptr[t], columns.segment_ptr[t + 1]):
        g, stop = columns.graphs[s], columns.entry_ptr[s + 1]
        for e in range(columns.entry_ptr[s], stop, 4):
            # past the end of the segment the last column counts nothing
            e1, e2, e3 = min(e + 1, stop - 1), min(e + 2, stop - 1), min(e + 3, stop - 1)
            w0 = scale * weight[e]
            w1 = scale * weight[e1] if e1 == e + 1 else zero
            w2 = scale * weight[e2] if e2 == e + 2 else zero
            w3 = scale * weight[e3] if e3 == e + 3 else zero
            c0, c1, c2, c3 = place[e], place[e1], place[e2], place[e3]
            for i in range(n_rows):
                first = w0 * tile[c0, i] + w1 * tile[c1, i]
                sums[g, i] += first + (w2 * tile[c2, i] + w3 * tile[c3, i])


@njit(cache=True, nogil=True)
def sum_tiles(rows, columns, blocks, first_tile, n_halved, sums):
    """
    Weighted sums of kernel values, ``sums[g, i] = sum_j w_gj k(row i, column j)``.

    Columns before `first_tile` are left out; the first `n_halved` tiles from there count half
    (the block on the diagonal of a symmetric matrix, which is later added to its transpose).
    """
    n_rows = rows.shape[1]
    tile = np.empty((CHUNK, n_rows), rows.dtype)
    work = np.empty((2, n_rows), rows.dtype)
    half = tile.dtype.type(0.5)
    one = tile.dtype.type(1)
    sums[:] = 0
    for t in range(first_tile, len(columns.segment_ptr) - 1):
        start = t * CHUNK
        stop = min(start + CHUNK, len(columns.points))
        _fill_tile(rows, columns.points, start, stop, blocks, work, tile)
        scale = half if t < first_tile + n_halved else one
        _add_tile(tile, columns, t, scale, sums)


@njit(cache=True, nogil=True)
def add_row_sums(sums, rows, graphs, weights, graph_list, gram):
    """
    Sum over rows as well: ``gram[graph_list[g], graphs[e]] += weights[e] sums[g, rows[e]]``.

    Four graphs at a time keep four independent chains of additions going.
    """
    n_entries = len(rows)
    last = 4 * (len(sums) // 4)
    for g in range(0, last, 4):
        s0, s1, s2, s3 = sums[g], sums[g + 1], sums[g + 2], sums[g + 3]
        r0, r1 = gram[graph_list[g]], gram[graph_list[g + 1]]
        r2, r3 = gram[graph_list[g + 2]], gram[graph_list[g + 3]]
        e = 0
        while e < n_entries:
            graph = graphs[e]
            t0 = t1 = t2 = t3 = 0.0
            while e < n_entries and graphs[e] == graph:
                w, i = weights[e], rows[e]
                t0 += w * s0[i]
                t1 += w * s1[i]
                t2 += w * s2[i]
                t3 += w * s3[i]
                e += 1
            r0[graph] += t0
            r1[graph] += t1
            r2[graph] += t2
            r3[graph] += t3
    for g in range(last, len(sums)):  # the same sums in the same order, one graph at a time
        e = 0
        while e < n_entries:
            graph = graphs[e]
            t0 = 0.0
            while e < n_entries and graphs[e] == graph:
                t0 += weights[e] * sums[g, rows[e]]
                e += 1
            gram[graph_list[g], graph] += t0
