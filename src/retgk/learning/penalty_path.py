r"""
Support vector machines of two classes for rising penalties, each started from the one before.

With :math:`\beta_t = y_t \alpha_t` the dual problem is to minimise
:math:`\frac 1 2 \beta^T K \beta - y^T \beta` with :math:`\sum_t \beta_t = 0` and :math:`\beta_t`
between 0 and :math:`y_t w_t C`. The pair that moves is LIBSVM's (second order), and so is the
rule to stop. A solution for C is feasible for any larger C, and nearly a solution: a whole path
costs little more than its end, which is what choosing C by cross-validation needs.
"""

import numpy as np

from retgk.array_types import Flags, Floats
from retgk.runtime.compiling import njit

__all__ = ["MAX_STEPS", "penalty_path"]

_TINY = 1e-12  # curvature between graphs that are alike
MAX_STEPS = 10_000_000  # for one penalty


@njit(nogil=True, inline="always")
def _highest(residuals, beta, upper):
    """Place of the largest residual among coefficients that can rise."""
    place, highest = -1, -np.inf
    for t in range(len(beta)):
        if beta[t] < upper[t] and residuals[t] > highest:
            place, highest = t, residuals[t]
    return place, highest


@njit(nogil=True, inline="always")
def _partner(residuals, beta, lower, gram, diagonal, i):
    """Coefficient that can fall whose pair with i gains most, and the lowest residual."""
    place, best, lowest = -1, 0.0, np.inf
    for t in range(len(beta)):
        if beta[t] > lower[t]:
            lowest = min(lowest, residuals[t])
            gap = residuals[i] - residuals[t]
            if gap > 0:
                gain = gap * gap / max(diagonal[i] + diagonal[t] - 2 * gram[i, t], _TINY)
                if gain > best:
                    place, best = t, gain
    return place, lowest


@njit(nogil=True, inline="always")
def _move(gram, diagonal, beta, residuals, lower, upper, i, j):
    """Move weight from coefficient j to i as far as it helps, and keep up the residuals."""
    curvature = max(diagonal[i] + diagonal[j] - 2 * gram[i, j], _TINY)
    room = min(upper[i] - beta[i], beta[j] - lower[j])
    step = (residuals[i] - residuals[j]) / curvature
    is_first = step >= room and room == upper[i] - beta[i]
    is_second = step >= room and room == beta[j] - lower[j]
    step = min(step, room)
    # onto a bound exactly, so that rounding cannot leave a coefficient just off it
    beta[i] = upper[i] if is_first else beta[i] + step
    beta[j] = lower[j] if is_second else beta[j] - step
    for t in range(len(beta)):
        residuals[t] -= step * (gram[i, t] - gram[j, t])


@njit(nogil=True, inline="always")
def _intercept(beta, residuals, lower, upper, otherwise):
    """Mean residual of the coefficients that are off their bounds."""
    total, n_free = 0.0, 0
    for t in range(len(beta)):
        if lower[t] < beta[t] < upper[t]:
            total += residuals[t]
            n_free += 1
    return total / n_free if n_free else otherwise


@njit(cache=True, nogil=True, no_cfunc_wrapper=True, error_model="numpy")
def _solve(
    gram, signs, weights, penalties, tol, max_steps, room, coefficients, intercepts, converged
):
    n = len(signs)
    diagonal, beta, residuals, lower, upper = room[0], room[1], room[2], room[3], room[4]
    for t in range(n):
        diagonal[t], beta[t], residuals[t] = gram[t, t], 0.0, signs[t]
    for c in range(len(penalties)):
        for t in range(n):
            bound = signs[t] * weights[t] * penalties[c]
            lower[t], upper[t] = min(bound, 0.0), max(bound, 0.0)
        highest = lowest = 0.0
        converged[c] = False
        for _ in range(max_steps):
            i, highest = _highest(residuals, beta, upper)
            if i < 0:
                converged[c] = True
                break
            j, lowest = _partner(residuals, beta, lower, gram, diagonal, i)
            if j < 0 or highest - lowest < tol:
                converged[c] = True
                break
            _move(gram, diagonal, beta, residuals, lower, upper, i, j)
        middle = (highest + lowest) / 2
        intercepts[c] = _intercept(beta, residuals, lower, upper, middle)
        for t in range(n):
            coefficients[c, t] = beta[t]


def penalty_path(
    gram: Floats,
    signs: Floats,
    weights: Floats,
    penalties: Floats,
    tol: float,
    max_steps: int = MAX_STEPS,
) -> tuple[Floats, Floats, Flags]:
    """
    Coefficients and intercepts for every penalty, and whether each was solved in time.

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
    max_steps : int
        Pairs that are moved for one penalty before it is given up.

    Returns
    -------
    coefficients : ndarray of float64, shape (n_penalties, n)
        With the sign of the class, so that ``K @ coefficients + intercept`` are decision values.
    intercepts : ndarray of float64, shape (n_penalties,)
        Intercepts.
    converged : ndarray of bool, shape (n_penalties,)
        Whether the violation is within `tol`.
    """
    shape = (len(penalties), len(signs))
    found = (np.empty(shape), np.empty(shape[0]), np.empty(shape[0], np.bool_))
    room = np.empty((5, len(signs)))
    _solve(gram, signs, weights, penalties, float(tol), max_steps, room, *found)
    return found
