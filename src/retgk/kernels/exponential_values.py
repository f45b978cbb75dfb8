"""The values of K_2, in one pass over the inner products."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from retgk.kernels.exponential import exp_negative

__all__ = ["exponential_values"]

Floats = NDArray[np.float64]


def exponential_values(
    products: Floats, norms_x: Floats, norms_y: Floats, gamma: float, p: float
) -> Floats:
    """
    ``exp(-gamma MMD^p)`` with ``MMD^2 = norms_x + norms_y - 2 products``, not below zero.

    NumPy would go over the matrix five times, and call the exponential for one value at a time.

    Parameters
    ----------
    products : ndarray of float64, shape (n_x, n_y)
        Inner products.
    norms_x, norms_y : ndarray of float64, shape (n_x,) and (n_y,)
        Squared norms.
    gamma, p : float
        Scale and power.

    Returns
    -------
    ndarray of float64, shape (n_x, n_y)
        The values.
    """
    values = np.array(products, np.float64, order="C")
    _fill(values, np.ascontiguousarray(norms_x), np.ascontiguousarray(norms_y), gamma, p)
    return values


# "contract" lets a product and a sum become one instruction, which rounds once instead of
# twice; it takes no other liberty.
@njit(cache=True, nogil=True, fastmath={"contract"})
def _fill(values: Any, norms_x: Any, norms_y: Any, gamma: float, p: float) -> None:
    for i in range(len(norms_x)):
        row = values[i]
        for j in range(len(row)):
            row[j] = max((norms_x[i] + norms_y[j]) - 2.0 * row[j], 0.0)
        if p == 1.0:
            for j in range(len(row)):
                row[j] = exp_negative(gamma * np.sqrt(row[j]))
        elif p == 2.0:
            for j in range(len(row)):
                row[j] = exp_negative(gamma * row[j])
        else:
            for j in range(len(row)):
                row[j] = exp_negative(gamma * row[j] ** (0.5 * p))
