"""The median of all squared distances between graphs, without writing them down."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["median_squared_mmd"]

Floats = NDArray[np.float64]

# Bits of a number that is not negative rise with it; the first seventeen are its exponent and five
# digits, so that a bucket is narrow enough to be sorted out afterwards.
_SHIFT = np.uint64(47)
_N_BUCKETS = 1 << 17


def median_squared_mmd(products: Floats) -> float:
    """
    Median of ``<m_G, m_G> + <m_H, m_H> - 2 <m_G, m_H>`` over all pairs (G, H) and (G, G).

    The same number as `numpy.median` gives for the whole matrix, from its lower triangle: the
    values are counted in buckets, and those of the bucket in the middle are looked at.

    Parameters
    ----------
    products : ndarray of float64, shape (n, n)
        Inner products, symmetric.

    Returns
    -------
    float
        The median; the zeros of every graph with itself are among the values.

    Examples
    --------
    >>> median_squared_mmd(np.diag([1.0, 1.0, 2.0]))
    2.0
    """
    n = len(products)
    norms = products.diagonal().copy()
    cumulative = np.cumsum(_counted(products, norms))
    middle = [_value_of_rank(products, norms, cumulative, (n * n - 1) // 2)]
    if n % 2 == 0:
        middle.append(_value_of_rank(products, norms, cumulative, n * n // 2))
    return float(np.mean(middle))


def _value_of_rank(products: Floats, norms: Floats, cumulative: NDArray[Any], rank: int) -> float:
    """Value at a position of the sorted matrix: n zeros, then each of the triangle twice."""
    if rank < len(norms):
        return 0.0
    position = (rank - len(norms)) // 2
    bucket = int(np.searchsorted(cumulative, position, side="right"))
    before = int(cumulative[bucket - 1]) if bucket else 0
    values = np.empty(int(cumulative[bucket]) - before)
    _collect(products, norms, bucket, values)
    return float(np.partition(values, position - before)[position - before])


@njit(cache=True, nogil=True)
def _squared(products, norms, i, j):
    return max(norms[i] + norms[j] - 2.0 * products[i, j], 0.0)


@njit(cache=True, nogil=True)
def _counted(products, norms):
    """Number of values of the lower triangle in every bucket."""
    counts = np.zeros(_N_BUCKETS, np.int64)
    row = np.empty(len(norms))
    for i in range(len(norms)):
        for j in range(i):
            row[j] = _squared(products, norms, i, j)
        bits = row.view(np.uint64)
        for j in range(i):
            counts[bits[j] >> _SHIFT] += 1
    return counts


@njit(cache=True, nogil=True)
def _collect(products, norms, bucket, values):
    """Write the values of the lower triangle that lie in one bucket."""
    found = 0
    row = np.empty(len(norms))
    for i in range(len(norms)):
        for j in range(i):
            row[j] = _squared(products, norms, i, j)
        bits = row.view(np.uint64)
        for j in range(i):
            if bits[j] >> _SHIFT == np.uint64(bucket):
                values[found] = row[j]
                found += 1
