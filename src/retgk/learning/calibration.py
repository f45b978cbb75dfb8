"""Probabilities of classes from decision values."""

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats
from retgk.runtime.parallel import single_threaded_blas

__all__ = ["class_probabilities", "fit_calibration"]


def fit_calibration(scores: Floats, codes: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """
    Logistic regression of classes on out-of-fold decision values (Platt's idea, multinomial).

    On few graphs it can come out with larger decision values for less likely classes, the reverse
    of predictions; probabilities are then the shares of the classes, whatever the decision values.

    Parameters
    ----------
    scores : ndarray, shape (n, n_outputs)
        Decision values of graphs, from machines that were not trained on them.
    codes : ndarray of int64, shape (n,)
        Their classes.

    Returns
    -------
    coef : ndarray of float64, shape (n_rows, n_outputs)
        One row for each class, or one alone for two classes.
    intercept : ndarray of float64, shape (n_rows,)
        Intercepts.
    """
    from sklearn.linear_model import LogisticRegression

    with single_threaded_blas():
        model = LogisticRegression(max_iter=1000).fit(scores, codes)
    if model.coef_.trace() < 0:  # of the values of classes for themselves; of two, the slope
        shares = np.log(np.bincount(codes) / len(codes))
        intercept = shares[1:] - shares[:1] if len(shares) == 2 else shares
        return np.zeros(model.coef_.shape), intercept
    # in one order of memory, on which the last bits of predictions depend
    return np.ascontiguousarray(model.coef_, np.float64), model.intercept_.astype(np.float64)


def class_probabilities(scores: Floats, coef: Floats, intercept: Floats) -> Floats:
    """
    Probabilities of all classes.

    Parameters
    ----------
    scores : ndarray, shape (n, n_outputs)
        Decision values.
    coef, intercept : ndarray
        From `fit_calibration`.

    Returns
    -------
    ndarray of float64, shape (n, n_classes)
        Rows that add up to one.

    Examples
    --------
    >>> class_probabilities(np.array([[0.0], [2.0]]), np.array([[1.0]]), np.array([0.0])).round(2)
    array([[0.5 , 0.5 ],
           [0.12, 0.88]])
    """
    from scipy.special import softmax

    logits = np.einsum("no,co->nc", scores, coef) + intercept
    if logits.shape[1] == 1:
        logits = np.hstack([np.zeros_like(logits), logits])
    return np.asarray(softmax(logits, axis=1))
