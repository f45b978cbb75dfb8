"""Weights of classes, as users of scikit-learn give them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError

__all__ = ["class_weights", "label_weights"]


def class_weights(
    given: Any, classes: NDArray[Any], codes: Ints, weights: Floats | None = None
) -> Floats:
    """
    Weight of every class.

    Parameters
    ----------
    given : dict, "balanced" or None
        As in `SVC`.
    classes : ndarray, shape (n_classes,)
        Classes in order.
    codes : ndarray of int64, shape (n,)
        Place of the class of every graph among them.
    weights : ndarray of float64, shape (n,), optional
        Weights of the graphs, by which "balanced" counts.

    Returns
    -------
    ndarray of float64, shape (n_classes,)
        Positive numbers.

    Examples
    --------
    >>> class_weights("balanced", np.array(["a", "b"]), np.array([0, 0, 0, 1])).tolist()
    [0.6666666666666666, 2.0]
    """
    from sklearn.utils.class_weight import compute_class_weight

    if isinstance(given, str) and given == "balanced" and weights is not None:
        counts = np.bincount(codes, weights, minlength=len(classes))
        return np.asarray(counts.sum() / (len(classes) * counts))
    try:
        found = np.asarray(
            compute_class_weight(given, classes=classes, y=classes[codes]), np.float64
        )
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"class_weight={given!r} cannot be used: {error}; give a number for each class, "
            "'balanced' or None"
        ) from error
    is_bad = ~((found > 0) & np.isfinite(found))
    if is_bad.any():
        name = classes[is_bad].tolist()[0]
        raise InvalidInputError(
            f"class_weight of class {name!r} is {found[is_bad][0]:g}; weights must be positive and "
            "finite"
        )
    return found


def label_weights(given: Any, labels: Ints, weights: Floats | None = None) -> Floats:
    """
    Weights of graphs without and with every label.

    Parameters
    ----------
    given : dict, "balanced" or None
        Of 0 and 1, for all labels; "balanced" is found for each.
    labels : ndarray of int64, shape (n, n_labels)
        Zeros and ones.
    weights : ndarray of float64, shape (n,), optional
        Weights of the graphs.

    Returns
    -------
    ndarray of float64, shape (n_labels, 2)
        One for both where all graphs are alike.
    """
    found = np.ones((labels.shape[1], 2))
    for label, own in enumerate(labels.T):
        if own.min() < own.max():
            found[label] = class_weights(given, np.arange(2), own, weights)
    return found
