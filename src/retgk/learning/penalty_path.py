r"""
Support vector machines of two classes for rising penalties, each started from the one before.

With :math:`\beta_t = y_t \alpha_t` the dual problem is to minimise
:math:`\frac 1 2 \beta^T K \beta - y^T \beta` with :math:`\sum_t \beta_t = 0` and :math:`\beta_t`
between 0 and :math:`y_t w_t C`. The pair that moves is LIBSVM's (second order), and so is the
rule to stop. A solution for C is feasible for any larger C, and nearly a solution: a whole path
costs little more than its end, which is what choosing C by cross-validation needs.
"""

import numpy as np

from retgk import _core
from retgk.array_types import Flags, Floats

__all__ = ["MAX_STEPS", "penalty_path"]

MAX_STEPS = 10_000_000  # for one penalty


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
    gram, signs, weights, penalties = (
        np.ascontiguousarray(part, np.float64) for part in (gram, signs, weights, penalties)
    )
    _core.fill_penalty_path(gram, signs, weights, penalties, tol, max_steps, *found)
    return found
