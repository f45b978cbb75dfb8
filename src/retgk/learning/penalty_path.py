r"""
Support vector machines of two classes for rising penalties, each started from the one before.

With :math:`\beta_t = y_t \alpha_t` the dual problem is to minimise
:math:`\frac 1 2 \beta^T K \beta - y^T \beta` with :math:`\sum_t \beta_t = 0` and :math:`\beta_t`
between 0 and :math:`y_t w_t C`. The pair that moves is LIBSVM's (second order), and so is the
rule to stop. A solution for C is feasible for any larger C, and nearly a solution: a whole path
costs little more than its end, which is what choosing C by cross-validation needs.
"""

import numpy as np
from numba import njit

__all__ = ["penalty_path"]

_TINY = 1e-12  # curvature between graphs that are alike
_MAX_STEPS = 10_000_000


@njit(cache=True, nogil=True)
def _highest(residuals, beta, upper):
    """Place of the largest residual among coefficients that can rise."""
    place, highest = -1, -np.inf
    for t in range(len(beta)):
        if beta[t] < upper[t] and residuals[t] > highest:
            place, highest = t, residuals[t]
    return place, highest


@njit(cache=True, nogil=True)
def _partner(residuals, beta, lower, row, diagonal, i):
    """Coefficient that can fall whose pair with i gains most, and the lowest residual."""
    place, best, lowest = -1, 0.0, np.inf
    for t in range(len(beta)):
        if beta[t] > lower[t]:
            lowest = min(lowest, residuals[t])
            gap = residuals[i] - residuals[t]
            if gap > 0:
                gain = gap * gap / max(diagonal[i] + diagonal[t] - 2 * row[t], _TINY)
                if gain > best:
                    place, best = t, gain
    return place, lowest


@njit(cache=True, nogil=True)
def _solve(gram, diagonal, beta, residuals, lower, upper, tol):
    """Improve coefficients and residuals in place; give the intercept."""
    highest = lowest = 0.0
    for _ in range(_MAX_STEPS):
        i, highest = _highest(residuals, beta, upper)
        if i < 0:
            break
        row = gram[i]
        j, lowest = _partner(residuals, beta, lower, row, diagonal, i)
        if j < 0 or highest - lowest < tol:
            break
        curvature = max(diagonal[i] + diagonal[j] - 2 * row[j], _TINY)
        room = min(upper[i] - beta[i], beta[j] - lower[j])
        step = (residuals[i] - residuals[j]) / curvature
        is_first = step >= room and room == upper[i] - beta[i]
        is_second = step >= room and room == beta[j] - lower[j]
        step = min(step, room)
        # onto a bound exactly, so that rounding cannot leave a coefficient just off it
        beta[i] = upper[i] if is_first else beta[i] + step
        beta[j] = lower[j] if is_second else beta[j] - step
        other = gram[j]
        for t in range(len(beta)):
            residuals[t] -= step * (row[t] - other[t])
    total, n_free = 0.0, 0
    for t in range(len(beta)):
        if lower[t] < beta[t] < upper[t]:
            total += residuals[t]
            n_free += 1
    return total / n_free if n_free else (highest + lowest) / 2


@njit(cache=True, nogil=True)
def penalty_path(gram, signs, weights, penalties, tol):
    """
    Coefficients and intercepts for every penalty.

    Parameters
    ----------
    gram : ndarray of float64, shape (n, n)
        Kernel matrix.
    signs : ndarray of float64, shape (n,)
        1 or -1: the two classes.
    weights : ndarray of float64, shape (n,)
        Factors of the penalties.
    penalties : ndarray of float64, shape (n_penalties,)
        Values of C, rising.
    tol : float
        Largest violation of the conditions for an optimum.

    Returns
    -------
    coefficients : ndarray of float64, shape (n_penalties, n)
        With the sign of the class, so that ``K @ coefficients + intercept`` are decision values.
    intercepts : ndarray of float64, shape (n_penalties,)
        Intercepts.
    """
    n = len(signs)
    beta, residuals = np.zeros(n), signs.copy()
    diagonal = np.diag(gram).copy()
    coefficients, intercepts = np.empty((len(penalties), n)), np.empty(len(penalties))
    for c in range(len(penalties)):
        bounds = signs * weights * penalties[c]
        lower, upper = np.minimum(bounds, 0.0), np.maximum(bounds, 0.0)
        intercepts[c] = _solve(gram, diagonal, beta, residuals, lower, upper, tol)
        coefficients[c] = beta
    return coefficients, intercepts
