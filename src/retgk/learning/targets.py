"""Graphs with their targets, checked before any work is done."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.errors import InputWarning, InvalidInputError, warn_user
from retgk.graphs.batch import GraphBatch
from retgk.io.converters import as_batch
from retgk.io.graph_dataset import GraphDataset, missing_targets, target_array

__all__ = [
    "ClassTargets",
    "class_targets",
    "graphs_and_targets",
    "has_several_labels",
    "label_targets",
    "real_targets",
    "targets_of",
]


class ClassTargets(NamedTuple):
    """Classes in order, and the place of the class of every graph among them."""

    classes: NDArray[Any]
    codes: NDArray[np.int64]


def targets_of(X: Any, y: Any) -> Any:
    """Give y, or the targets of a data set where there is no y."""
    return X.targets if y is None and isinstance(X, GraphDataset) else y


def graphs_and_targets(X: Any, y: Any) -> tuple[GraphBatch, NDArray[Any]]:
    """
    Graphs as a batch, and one target for each.

    Parameters
    ----------
    X : GraphBatch or anything that `as_batch` takes
        Graphs.
    y : array-like or None
        Targets; None is for a data set, which has its own.

    Returns
    -------
    batch : GraphBatch
        The graphs.
    targets : ndarray
        One, or one row of them, for each graph.
    """
    found = targets_of(X, y)
    if found is None:
        raise InvalidInputError(
            "fit requires y to be passed, but the target y is None: give one target for each "
            "graph, or a data set as X"
        )
    targets, batch = target_array(found), as_batch(X)
    if len(batch) == 0:
        raise InvalidInputError("there are no graphs to fit")
    if targets.ndim == 0 or len(targets) != len(batch):
        n_targets = "one value" if targets.ndim == 0 else f"{len(targets)} targets"
        raise InvalidInputError(
            f"there are {len(batch)} graphs but {n_targets}; give one target for each graph"
        )
    _check_known(targets)
    return batch, targets


def _check_known(targets: NDArray[Any]) -> None:
    """Raise at the first target that is missing."""
    missing = missing_targets(targets)
    if missing.any():
        graph, *column = (int(place) for place in np.argwhere(missing)[0])
        which = f"target {column[0]}" if column else "the target"
        advice = "drop the graph together with its target"
        if column:
            n_missing = int(missing[:, column[0]].sum())
            advice = (
                f"{n_missing:,} of {len(targets):,} graphs have no such target: drop these, or fit "
                "a model for each target on the graphs that have it"
            )
        raise InvalidInputError(
            f"{which} of graph {graph} is {targets[(graph, *column)]!s} (NaN, infinity or "
            f"nothing); {advice}"
        )


def class_targets(targets: NDArray[Any]) -> ClassTargets:
    """
    Classes from targets.

    Parameters
    ----------
    targets : ndarray
        Class of every graph: whole numbers, strings, or anything else that can be sorted.

    Returns
    -------
    ClassTargets
        At least two classes, and codes.
    """
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    flat = column_or_1d(targets, warn=True)
    try:
        check_classification_targets(flat)
    except ValueError as error:
        raise InvalidInputError(
            "targets are numbers with fractions, not classes; RetGKRegressor takes them, or make "
            f"classes of them ({error})"
        ) from error
    classes, codes = np.unique(flat, return_inverse=True)
    if len(classes) < 2:
        raise InvalidInputError(
            f"all {len(flat)} graphs are of one class, {classes.tolist()[0]!r}; a classifier needs "
            "graphs of two classes or more"
        )
    return ClassTargets(classes, codes.astype(np.int64))


def has_several_labels(targets: NDArray[Any]) -> bool:
    """Whether every graph has a row of targets, and not one target."""
    return targets.ndim > 1 and targets.shape[1:] != (1,)


def label_targets(targets: NDArray[Any]) -> NDArray[np.int64]:
    """
    Labels from rows of targets: one where a graph has a label, zero where it has not.

    Parameters
    ----------
    targets : ndarray, shape (n, n_labels)
        Zeros and ones.

    Returns
    -------
    ndarray of int64, shape (n, n_labels)
        The same numbers. A label that all graphs have, or none, is a warning.
    """
    is_plain = targets.ndim == 2 and targets.dtype.kind in "biufO"
    if not is_plain or not np.isin(targets, (0, 1)).all():
        raise InvalidInputError(
            f"Unknown label type: targets of shape {targets.shape} must be zeros and ones, which "
            "say what labels a graph has; for several targets with other classes, fit a "
            "classifier for each"
        )
    labels = targets.astype(np.int64)
    counts = labels.sum(axis=0)
    is_constant = (counts == 0) | (counts == len(labels))
    if is_constant.all():
        raise InvalidInputError(
            f"none of the {len(counts)} labels tells graphs apart: each is of one class, had by "
            "all graphs or by none"
        )
    if is_constant.any():
        names = ", ".join(map(str, np.flatnonzero(is_constant)[:5]))
        note = f"label {names} is the same for all {len(labels):,} graphs, and so is its prediction"
        warn_user(InputWarning(note))
    return labels


def real_targets(targets: NDArray[Any]) -> NDArray[np.float64]:
    """
    Values from targets.

    Parameters
    ----------
    targets : ndarray, shape (n,) or (n, n_outputs)
        Numbers.

    Returns
    -------
    ndarray of float64
        The same numbers.
    """
    if targets.dtype.kind == "c" or targets.ndim > 2:
        raise InvalidInputError(
            f"targets must be real numbers, one or one row for each graph; got {targets.dtype} of "
            f"shape {targets.shape}"
        )
    try:
        return targets.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"targets must be numbers, got {targets.dtype}; use RetGKClassifier for classes"
        ) from error
