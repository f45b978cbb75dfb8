"""Values of the exponential graph kernel in one pass over the inner products."""

import math

import numpy as np

from retgk.array_types import Floats
from retgk.runtime.compiling import njit
from retgk.simd import SOURCE
from retgk.simd.vector_passes import finish

__all__ = ["exponential_values", "fill_symmetric_tile"]


_LANES = 8
_ROWS = 8  # that are mirrored together: as many numbers as a cache line has
_COLUMNS = 256


def exponential_values(
    products: Floats, norms_x: Floats, norms_y: Floats, gamma: float, p: float
) -> Floats:
    """
    ``exp(-gamma MMD^p)`` of inner products.

    Parameters
    ----------
    products : ndarray of float64, shape (n_x, n_y)
        Inner products <m_G, m_H>.
    norms_x, norms_y : ndarray of float64
        Squared norms of the rows and of the columns.
    gamma, p : float
        Parameters of the kernel.

    Returns
    -------
    ndarray of float64, shape (n_x, n_y)
        Kernel values, 1e-15 off, or the exponent times that if it is larger.
    """
    values = np.empty(products.shape)
    _fill(_float64(products), _float64(norms_x), _float64(norms_y), float(gamma), float(p), values)
    return values


def _float64(array: Floats) -> Floats:
    """Read-only view, so that the compiled code has one type."""
    view = np.ascontiguousarray(array, np.float64).view()
    view.flags.writeable = False
    return view


@njit(nogil=True, inline="always")
def _write_row(products, norm, norms, gamma, p, exponents, values):
    """Write the values of some columns of one row to the start of a buffer."""
    rate = gamma * (1.0 / math.log(2.0))
    n = len(norms)
    # a loop for each, from zero on: LLVM vectorises neither branches nor indices of unknown sign
    if p == 1.0:
        for j in range(n):
            exponents[j] = rate * math.sqrt(max((norm + norms[j]) - 2.0 * products[j], 0.0))
    elif p == 2.0:
        for j in range(n):
            exponents[j] = rate * max((norm + norms[j]) - 2.0 * products[j], 0.0)
    else:
        for j in range(n):
            squared = max((norm + norms[j]) - 2.0 * products[j], 0.0)
            exponents[j] = rate * squared ** (0.5 * p)
    finish(exponents, False, True, True, values, (n + _LANES - 1) // _LANES)


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def _fill(products, norms_x, norms_y, gamma, p, values, simd=SOURCE):  # noqa: ARG001
    exponents, row = np.zeros(_COLUMNS), np.empty(_COLUMNS)
    for i in range(len(norms_x)):
        for first in range(0, len(norms_y), _COLUMNS):
            last = min(first + _COLUMNS, len(norms_y))
            own, out, norms = products[i, first:last], values[i, first:last], norms_y[first:last]
            _write_row(own, norms_x[i], norms, gamma, p, exponents, row)
            for j in range(len(out)):
                out[j] = row[j]


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def fill_symmetric_tile(matrix, norms, gamma, p, rows, columns, simd=SOURCE):  # noqa: ARG001
    """
    Replace inner products by kernel values in a tile on or below the diagonal.

    Parameters
    ----------
    matrix : ndarray of float64, shape (n, n)
        Inner products on and below the diagonal; values are written above it too.
    norms : ndarray of float64, shape (n,)
        Its diagonal.
    gamma, p : float
        Parameters of the kernel.
    rows, columns : pair of int
        First and one past the last row and column of the tile.
    """
    exponents, row = np.zeros(_COLUMNS), np.empty(_COLUMNS)
    block = np.empty((_ROWS, _COLUMNS + _LANES))  # rows that do not meet in the cache
    for top in range(rows[0], rows[1], _ROWS):
        bottom = min(top + _ROWS, rows[1])
        for first in range(columns[0], min(columns[1], bottom), _COLUMNS):
            last = min(first + _COLUMNS, columns[1], bottom)
            for i in range(top, bottom):
                own, out = matrix[i, first:last], block[i - top]
                _write_row(own, norms[i], norms[first:last], gamma, p, exponents, row)
                for j in range(len(own)):
                    out[j] = row[j]
            _write_both(matrix, block, top, bottom, first, last)


@njit(nogil=True, inline="always")
def _write_both(matrix, block, top, bottom, first, last):
    """Write a block to its place and, mirrored, above the diagonal."""
    for i in range(top, bottom):
        own, out = block[i - top], matrix[i, first : min(last, i + 1)]
        for j in range(len(out)):
            out[j] = own[j]
    for j in range(first, last):
        for i in range(max(top, j), bottom):
            matrix[j, i] = block[i - top, j - first]
