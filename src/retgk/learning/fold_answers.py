"""What a model that was trained on a fold says of its test graphs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from retgk.errors import InvalidInputError
from retgk.learning.inner_groups import check_keeps_groups, group_arguments
from retgk.learning.metrics import Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retgk.graphs.batch import GraphBatch
    from retgk.learning.outer_folds import OuterFold

__all__ = ["FoldAnswer", "chosen_parameters", "fold_answer"]


class FoldAnswer(NamedTuple):
    """
    Test graphs of a fold, what was predicted for them, and the parameters chosen.

    Decision values have one column for two classes, else one for each of all classes;
    probabilities have one for each. Values have neither, and the paper's machines no probabilities.
    Seconds are those of training and predicting, None where they were not measured.
    """

    test: NDArray[Any]
    predictions: NDArray[Any]
    chosen: dict[str, Any]
    decisions: NDArray[Any] | None = None
    probabilities: NDArray[Any] | None = None
    seconds: float | None = None

    def outcome(self, targets: NDArray[Any], classes: NDArray[Any] | None) -> Outcome:
        """What metrics are found from; classes as their places in the order of all of them."""
        import numpy as np

        found = targets[self.test], self.predictions
        if classes is not None:
            other = ~np.isin(self.predictions, classes)
            if other.any():
                raise InvalidInputError(
                    f"the model predicts {self.predictions[other][0]!r}, which is no class here"
                )
            found = np.searchsorted(classes, found[0]), np.searchsorted(classes, found[1])
        return Outcome(*found, self.decisions, self.probabilities)


def fold_answer(
    model: Any, graphs: GraphBatch, targets: NDArray[Any], fold: OuterFold, number: int
) -> FoldAnswer:
    """
    Train a model on a fold, and ask it.

    Parameters
    ----------
    model : estimator
        Not fitted; of this package, or one of scikit-learn's kind that takes graphs.
    graphs : GraphBatch
        All graphs.
    targets : ndarray, shape (n,)
        Their targets.
    fold : OuterFold
        What to train on and what to predict. The model's own folds are those that it has, or keep
        to its groups.
    number : int
        Of the fold, for errors.

    Returns
    -------
    FoldAnswer
        Predictions, and decision values and probabilities where the model has them.
    """
    import numpy as np

    start = time.perf_counter()
    fitted = _fitted(model, graphs, targets, fold, number)
    asked = _predictions(fitted, graphs[fold.test])
    # what else models of others are asked for is no part of training and predicting
    seconds = time.perf_counter() - start
    chosen = chosen_parameters(fitted)
    if not hasattr(fitted, "classes_"):
        return FoldAnswer(fold.test, asked.predictions, chosen, seconds=seconds)
    decisions, probabilities = _class_values(fitted, graphs[fold.test], asked, np.unique(targets))
    return FoldAnswer(fold.test, asked.predictions, chosen, decisions, probabilities, seconds)


def chosen_parameters(model: Any) -> dict[str, Any]:
    """Parameters that a fitted model chose, without those left at their default."""
    chosen = getattr(model, "best_params_", {})
    return {name: value for name, value in chosen.items() if value is not None}


def _fitted(
    model: Any, graphs: GraphBatch, targets: NDArray[Any], fold: OuterFold, number: int
) -> Any:
    """Fit on the training part; the model's own folds keep to the groups, or are those given."""
    own_targets, options = targets[fold.train], {}
    try:
        if fold.inner is not None and "cv" in model.get_params():
            model.set_params(cv=fold.inner)
        elif fold.groups is not None:
            check_keeps_groups(model, own_targets, fold.groups)
            options = group_arguments(model, fold.groups)
        return model.fit(graphs[fold.train], own_targets, **options)
    except InvalidInputError as error:
        raise InvalidInputError(f"fold {number}: {error.problem}", error.remedy) from error


class _Predictions(NamedTuple):
    """Predictions, and the decision values that they were found from where these were computed."""

    predictions: NDArray[Any]
    decisions: NDArray[Any] | None = None


def _is_own_classifier(model: Any) -> bool:
    return hasattr(model, "calibration_coef_")


def _predictions(model: Any, graphs: GraphBatch) -> _Predictions:
    """Predict; classifiers of this package by decision values, which are computed once for all."""
    import numpy as np

    if not _is_own_classifier(model):
        return _Predictions(np.asarray(model.predict(graphs)))
    decisions = model.decision_function(graphs)
    places = decisions.argmax(axis=1) if decisions.ndim > 1 else (decisions > 0).astype(np.int64)
    return _Predictions(model.classes_[places], decisions)


def _class_values(
    model: Any, graphs: GraphBatch, asked: _Predictions, classes: NDArray[Any]
) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """Decision values and probabilities of all classes; None for what a model has not."""
    import numpy as np

    columns, probabilities = _own_values(model, graphs, asked)
    if columns is None:
        return None, None
    if len(model.classes_) < len(classes):  # some are in no training part of these folds
        own = np.searchsorted(classes, model.classes_)
        if columns.shape[1] == 1 and len(own) == 2:
            columns = np.hstack([-columns, columns])
        columns = _in_columns(columns, own, len(classes), columns.min() - 1)
        if len(classes) == 2:  # of a model that knows one: the values of two have one column
            columns = columns[:, 1:] - columns[:, :1]
        if probabilities is not None:
            probabilities = _in_columns(probabilities, own, len(classes), 0.0)
    return columns[:, 0] if columns.shape[1] == 1 else columns, probabilities


def _own_values(
    model: Any, graphs: GraphBatch, asked: _Predictions
) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """Decision values in columns, and probabilities, of the classes that a model knows."""
    if not _is_own_classifier(model):
        return _values_of_others(model, graphs)
    from retgk.learning.calibration import class_probabilities

    decisions = asked.decisions
    assert decisions is not None
    columns = decisions[:, None] if decisions.ndim == 1 else decisions
    if model.calibration_coef_ is None:
        return columns, None
    found = model.calibration_coef_, model.calibration_intercept_
    return columns, class_probabilities(columns, *found)


def _values_of_others(
    model: Any, graphs: GraphBatch
) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """Ask a model for what it has; probabilities stand for decision values that it has not."""
    import numpy as np

    probabilities = model.predict_proba(graphs) if hasattr(model, "predict_proba") else None
    if hasattr(model, "decision_function"):
        decisions = np.asarray(model.decision_function(graphs))
        return decisions.reshape(len(decisions), -1), probabilities
    if probabilities is None:
        return None, None
    columns = probabilities[:, 1:] if probabilities.shape[1] == 2 else probabilities
    return columns, probabilities


def _in_columns(values: NDArray[Any], own: NDArray[Any], n_columns: int, other: float) -> Any:
    """Spread columns over more of them; the others hold one value."""
    import numpy as np

    spread = np.full((len(values), n_columns), other)
    spread[:, own] = values
    return spread
