"""Whether two methods differ over the folds of repeated cross-validation."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["TTest", "corrected_t_test"]

_ROUNDING = 1e-9  # of equal differences: 0.9 - 0.85 and 0.8 - 0.75 are not the same number


class TTest(NamedTuple):
    """Statistic, and the probability of one at least as far from zero if there is no difference."""

    statistic: float
    p_value: float


def corrected_t_test(differences: ArrayLike, n_train: float, n_test: float) -> TTest:
    r"""
    Corrected resampled t-test (Nadeau and Bengio, 2003), two-sided.

    .. math:: t = \frac{\bar d}{\sqrt{(1/J + n_{test} / n_{train})\, s^2}}

    with :math:`s^2` the variance of the J differences, and J - 1 degrees of freedom. The training
    parts of folds overlap, so that differences are not independent; the plain t-test, with 1/J
    alone, takes chance for a difference far too often.

    Parameters
    ----------
    differences : array-like, shape (J,)
        Of the scores of two methods, one for each fold of each repetition.
    n_train, n_test : float
        Graphs that a fold trains on, and tests.

    Returns
    -------
    TTest
        Both NaN, as there is no estimate of the variance, with fewer than two differences, or with
        some that are all the same and not zero: scores such as accuracy take few values, so that
        two or three folds may well differ by the same. If all are zero, the p-value is 1.

    Examples
    --------
    >>> test = corrected_t_test([0.02, 0.05, 0.01, 0.04], n_train=90, n_test=10)
    >>> round(test.statistic, 3), round(test.p_value, 3)
    (2.734, 0.072)
    """
    from scipy.stats import t as student

    found = np.asarray(differences, np.float64)
    if len(found) < 2:
        return TTest(np.nan, np.nan)
    mean, variance = float(found.mean()), float(found.var(ddof=1))
    if np.ptp(found) <= _ROUNDING * np.abs(found).max():
        return TTest(np.nan, np.nan) if mean else TTest(0.0, 1.0)
    statistic = mean / np.sqrt((1 / len(found) + n_test / n_train) * variance)
    return TTest(float(statistic), float(2 * student.sf(abs(statistic), len(found) - 1)))
