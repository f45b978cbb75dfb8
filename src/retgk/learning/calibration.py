"""Probabilities of classes from decision values."""

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats
from retgk.runtime.parallel import single_threaded_blas

__all__ = [
    "class_probabilities",
    "fit_calibration",
    "fit_label_calibration",
    "label_probabilities",
]


def fit_calibration(
    scores: Floats, codes: NDArray[np.int64], weights: Floats | None = None
) -> tuple[Floats, Floats]:
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
    weights : ndarray of float64, shape (n,), optional
        Weights of the graphs.

    Returns
    -------
    coef : ndarray of float64, shape (n_rows, n_outputs)
        One row for each class, or one alone for two classes.
    intercept : ndarray of float64, shape (n_rows,)
        Intercepts.
    """
    from sklearn.linear_model import LogisticRegression

    with single_threaded_blas():
        model = LogisticRegression(max_iter=1000).fit(scores, codes, sample_weight=weights)
    if model.coef_.trace() < 0:  # of the values of classes for themselves; of two, the slope
        counts = np.bincount(codes, weights)
        shares = np.log(counts / counts.sum())
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


def fit_label_calibration(
    scores: Floats, labels: NDArray[np.int64], weights: Floats | None = None
) -> tuple[Floats, Floats]:
    """
    `fit_calibration` for every label of its own.

    A label that all graphs have, or none, gets its share, as if one graph more had it and one not.

    Parameters
    ----------
    scores : ndarray, shape (n, n_labels)
        Decision values of graphs, from machines that were not trained on them.
    labels : ndarray of int64, shape (n, n_labels)
        Zeros and ones.
    weights : ndarray of float64, shape (n,), optional
        Weights of the graphs.

    Returns
    -------
    coef : ndarray of float64, shape (n_labels, 1)
        Slopes.
    intercept : ndarray of float64, shape (n_labels,)
        Intercepts.
    """
    coef, intercept = np.zeros((labels.shape[1], 1)), np.empty(labels.shape[1])
    for label, own in enumerate(labels.T):
        if own.min() < own.max():
            found = fit_calibration(scores[:, label : label + 1], own, weights)
            coef[label], intercept[label] = found[0][0], found[1][0]
        else:
            counts = np.bincount(own, weights, minlength=2) + 1.0
            intercept[label] = np.log(counts[1] / counts[0])
    return coef, intercept


def label_probabilities(scores: Floats, coef: Floats, intercept: Floats) -> Floats:
    """
    Probabilities of all labels, which do not exclude each other.

    Parameters
    ----------
    scores : ndarray, shape (n, n_labels)
        Decision values.
    coef, intercept : ndarray
        From `fit_label_calibration`.

    Returns
    -------
    ndarray of float64, shape (n, n_labels)
        Between zero and one.

    Examples
    --------
    >>> label_probabilities(np.array([[0.0, 2.0]]), np.array([[1.0], [1.0]]), np.zeros(2)).round(2)
    array([[0.5 , 0.88]])
    """
    from scipy.special import expit

    return np.asarray(expit(scores * coef[:, 0] + intercept))
