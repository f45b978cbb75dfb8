"""Values of the exponential graph kernel in one pass over the inner products.

numba's cache does not notice changes of vector_passes.py: touch this file too.
"""

import math

import numpy as np
from numba import njit

from retgk.array_types import Floats
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


@njit(cache=True, nogil=True)
def _fill(products, norms_x, norms_y, gamma, p, values):
    buffers = (np.empty(_COLUMNS), np.empty(_COLUMNS))
    for i in range(len(norms_x)):
        for first in range(0, len(norms_y), _COLUMNS):
            last = min(first + _COLUMNS, len(norms_y))
            own = (products[i, first:last], norms_x[i], norms_y[first:last])
            _write_row(own, gamma, p, buffers)
            values[i, first:last] = buffers[1][: last - first]


@njit(cache=True, nogil=True)
def _write_row(own, gamma, p, buffers):
    """Write the values of some columns of one row to the second buffer."""
    products, norm, norms = own
    exponents, values = buffers
    rate = gamma * (1.0 / math.log(2.0))
    n = len(norms)
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


@njit(cache=True, nogil=True)
def fill_symmetric_tile(matrix, norms, gamma, p, rows, columns):
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
    buffers = (np.empty(_COLUMNS), np.empty(_COLUMNS))
    block = np.empty((_ROWS, _COLUMNS + _LANES))  # rows that do not meet in the cache
    for top in range(rows[0], rows[1], _ROWS):
        bottom = min(top + _ROWS, rows[1])
        for first in range(columns[0], min(columns[1], bottom), _COLUMNS):
            last = min(first + _COLUMNS, columns[1], bottom)
            for i in range(top, bottom):
                own = (matrix[i, first:last], norms[i], norms[first:last])
                _write_row(own, gamma, p, buffers)
                block[i - top, : last - first] = buffers[1][: last - first]
            _write_both(matrix, block, (top, bottom), (first, last))


@njit(cache=True, nogil=True)
def _write_both(matrix, block, rows, columns):
    """Write a block to its place and, mirrored, above the diagonal."""
    top, bottom = rows
    first, last = columns
    for i in range(top, bottom):
        end = min(last, i + 1)
        matrix[i, first:end] = block[i - top, : end - first]
    for j in range(first, last):
        begin = max(top, j)
        for i in range(begin, bottom):
            matrix[j, i] = block[i - top, j - first]
