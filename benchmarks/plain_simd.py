"""The vector code of `retgk.simd` in plain numba, as LLVM's own vectoriser likes it best.

Innermost loops run over contiguous lanes of a constant number; several coordinates, columns or
entries are taken at a time, so that running sums go to memory and back less often; powers of two
are made on an integer view of the same buffer. Bits are those of `retgk.simd`.

`use_plain` puts some of these in the place of `retgk.simd`; it has to run before anything else of
retgk is imported.
"""

import math

import numpy as np
from numba import njit

from retgk.simd import plain

CHUNK = 144
GROUP = plain.GROUP
LANES = plain.LANES["float32"]
fused = njit(nogil=True, fastmath={"contract"})

_C0, _C1, _C2, _C3, _C4, _C5 = (np.float32(c) for c in plain.COEFFICIENTS["float32"])
_MAGIC = np.float32(1.5 * 2.0**23)
_LARGEST = np.float32(plain.LARGEST["float32"])
_SHIFT = np.int32(23)


@fused
def add_squares(block, y, own):
    """Squared distances of 144 rows from one column, eight coordinates at a time."""
    k = 0
    while k + 8 <= len(y):
        y0, y1, y2, y3, y4, y5, y6, y7 = (
            y[k], y[k + 1], y[k + 2], y[k + 3], y[k + 4], y[k + 5], y[k + 6], y[k + 7]
        )  # fmt: skip
        for i in range(CHUNK):
            d0, d1, d2, d3 = (
                block[k, i] - y0, block[k + 1, i] - y1, block[k + 2, i] - y2, block[k + 3, i] - y3
            )  # fmt: skip
            d4, d5, d6, d7 = (
                block[k + 4, i] - y4, block[k + 5, i] - y5, block[k + 6, i] - y6,
                block[k + 7, i] - y7,
            )  # fmt: skip
            half = (((own[i] + d0 * d0) + d1 * d1) + d2 * d2) + d3 * d3
            own[i] = (((half + d4 * d4) + d5 * d5) + d6 * d6) + d7 * d7
        k += 8
    while k + 2 <= len(y):
        y0, y1 = y[k], y[k + 1]
        for i in range(CHUNK):
            d0, d1 = block[k, i] - y0, block[k + 1, i] - y1
            own[i] = (own[i] + d0 * d0) + d1 * d1
        k += 2
    if k < len(y):
        y0 = y[k]
        for i in range(CHUNK):
            d0 = block[k, i] - y0
            own[i] += d0 * d0


@fused
def take_powers(own, bits, shifted):
    """Two to minus the root; the exponent is added to the bits of a polynomial."""
    for i in range(CHUNK):
        t = math.sqrt(own[i])
        t = t if t < _LARGEST else _LARGEST
        s = _MAGIC - t
        f = (_MAGIC - s) - t
        shifted[i] = np.float32(s).view(np.int32) << _SHIFT
        own[i] = ((((_C5 * f + _C4) * f + _C3) * f + _C2) * f + _C1) * f + _C0
    for i in range(CHUNK):
        bits[i] += shifted[i]


@fused
def add_run(tile, p, w, scale, sums):
    v0, v1, v2, v3 = tile[p[0]], tile[p[1]], tile[p[2]], tile[p[3]]
    v4, v5, v6, v7 = tile[p[4]], tile[p[5]], tile[p[6]], tile[p[7]]
    w0, w1, w2, w3, w4, w5, w6, w7 = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
    zero = w.dtype.type(0)
    for i in range(CHUNK):
        half = (((zero + w0 * v0[i]) + w1 * v1[i]) + w2 * v2[i]) + w3 * v3[i]
        sums[i] += scale * ((((half + w4 * v4[i]) + w5 * v5[i]) + w6 * v6[i]) + w7 * v7[i])


@njit(nogil=True)
def add_dots(sums, r, lowest, w, out):
    for g in range(lowest, len(sums)):
        v = sums[g, r]
        p0, p1 = w[0] * v[0] + w[8] * v[8], w[1] * v[1] + w[9] * v[9]
        p2, p3 = w[2] * v[2] + w[10] * v[10], w[3] * v[3] + w[11] * v[11]
        p4, p5 = w[4] * v[4] + w[12] * v[12], w[5] * v[5] + w[13] * v[13]
        p6, p7 = w[6] * v[6] + w[14] * v[14], w[7] * v[7] + w[15] * v[15]
        out[g] += ((p0 + p4) + (p2 + p6)) + ((p1 + p5) + (p3 + p7))


@njit(nogil=True)
def fill_columns(points, group, n_groups, block, tile, bits, y, shifted):
    for j in range(n_groups * GROUP):
        for k in range(len(y)):
            y[k] = points[group + j // GROUP, k, j % GROUP]
        for i in range(CHUNK):
            tile[j, i] = 0
        add_squares(block, y, tile[j])
        take_powers(tile[j], bits[j], shifted)


@njit(nogil=True)
def fill_products(rows, columns, factors, task, numbers, products):  # noqa: ARG001
    """`retgk.engine.exact.tiles.fill_products` for one Laplacian in float32, 144 rows at a time."""
    start, stop, is_symmetric = task
    n_graphs, dimension = products.shape[1], rows.points.shape[1]
    products[:, columns.lowest[start // CHUNK if is_symmetric else 0] :] = 0
    block, y = np.zeros((dimension, CHUNK), np.float32), np.empty(dimension, np.float32)
    tile, shifted = np.empty((CHUNK, CHUNK), np.float32), np.empty(CHUNK, np.int32)
    bits, sums = tile.view(np.int32), np.empty((n_graphs, CHUNK))
    lanes = sums.reshape(n_graphs, CHUNK // LANES, LANES)
    for begin in range(start, stop, CHUNK):
        n_rows = min(CHUNK, stop - begin)
        for i in range(n_rows):
            for k in range(dimension):
                block[k, i] = rows.points[begin + i, k]
        first = begin // CHUNK if is_symmetric else 0
        lowest = columns.lowest[first]
        sums[lowest:] = 0
        for t in range(first, len(columns.lowest)):
            scale = np.float32(0.5 if is_symmetric and t == first else 1.0)
            group = t * (CHUNK // GROUP)
            n_groups = min(CHUNK // GROUP, len(columns.points) - group)
            fill_columns(columns.points, group, n_groups, block, tile, bits, y, shifted)
            for s in range(columns.ptr[t], columns.ptr[t + 1]):
                own = sums[columns.graphs[s]]
                add_run(tile, columns.positions[s], columns.weights[s], scale, own)
        for r in range(-(-n_rows // LANES)):
            own = begin // LANES + r
            for s in range(rows.ptr[own], rows.ptr[own + 1]):
                target = numbers[s - rows.ptr[start // LANES]]
                add_dots(lanes, r, lowest, rows.weights[s], products[target])


def product_writer(width):
    @fused
    def write(a, row_stride, step, b, n, out, out_stride):
        for j in range(plain.ROWS):
            first, o, k = j * row_stride, j * out_stride, 0
            for c in range(width):
                out[o + c] = 0
            while k + 4 <= n:
                p, q = first + k * step, k * width
                a0, a1, a2, a3 = a[p], a[p + step], a[p + 2 * step], a[p + 3 * step]
                for c in range(width):
                    half = (out[o + c] + a0 * b[q + c]) + a1 * b[q + width + c]
                    half = half + a2 * b[q + 2 * width + c]
                    out[o + c] = half + a3 * b[q + 3 * width + c]
                k += 4
            while k < n:
                value = a[first + k * step]
                for c in range(width):
                    out[o + c] += value * b[k * width + c]
                k += 1

    return write


_write_8, _write_16 = product_writer(8), product_writer(16)


@njit(nogil=True)
def write_product(a, row_stride, step, b, n, out, out_stride):
    if a.itemsize == 8:
        _write_8(a, row_stride, step, b, n, out, out_stride)
    else:
        _write_16(a, row_stride, step, b, n, out, out_stride)


def use_plain(part):
    """Let what is imported next be compiled without one part of the vector code."""
    from retgk import simd
    from retgk.simd import half_power_steps, panel_products

    # what is compiled now must not be found in the cache by another variant
    simd.SOURCE = 1 + ("panel_products", "half_power_steps", "vector_passes").index(part)
    if part == "panel_products":
        panel_products.write_product = write_product
    if part == "half_power_steps":
        for lanes in (4, 8, 12, 16):
            setattr(half_power_steps, f"multiply_{lanes}", fused(plain.multiplier(lanes)))
    if part == "vector_passes":
        from retgk.engine.exact import tiles

        tiles.fill_products = fill_products
