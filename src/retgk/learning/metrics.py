"""Metrics of test graphs, by the names of scikit-learn's scorers, and what models choose by."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from retgk._runtime.names import name_advice
from retgk.errors import InvalidInputError
from retgk.learning.folds import check_keeps_groups, group_arguments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retgk.graphs.batch import GraphBatch
    from retgk.learning.folds import OuterFold

_ROUNDING = 1e-9


class Outcome(NamedTuple):
    """
    What is known of test graphs: targets, predictions and, for classes, how sure they are.

    Targets and predictions of classes are places in the order of all classes. Decision values are
    one column for two classes, else one for each; probabilities one for each class.
    """

    targets: NDArray[Any]
    predictions: NDArray[Any]
    decisions: NDArray[Any] | None = None
    probabilities: NDArray[Any] | None = None


@dataclass(frozen=True)
class Metric:
    """
    A metric: its name here, that of scikit-learn's scorer, and how it is found.

    `sign` is -1 where the scorer has the negative of the value, so that more is better. Values are
    between `lowest` and `highest`.
    """

    name: str
    scorer: str
    value: Callable[[Outcome], float]
    sign: int = 1
    is_share: bool = False
    lowest: float = 0.0
    highest: float = 1.0

    def can_be(self, value: float) -> bool:
        """Whether it can have a value, which rounding may have led out of its bounds."""
        return self.lowest - _ROUNDING <= value <= self.highest + _ROUNDING

    def text(self, value: float) -> str:
        """Give a value for people; accuracy in per cent."""
        return f"{100 * value:.1f}" if self.is_share else f"{value:.4f}"


# Values


def _accuracy(found: Outcome) -> float:
    return float((found.targets == found.predictions).mean())


def _of_classes(name: str, **options: Any) -> Callable[[Outcome], float]:
    """Metric of scikit-learn that compares classes."""

    def value(found: Outcome) -> float:
        from sklearn import metrics

        with warnings.catch_warnings():  # of classes that are predicted but not in this fold
            warnings.simplefilter("ignore", UserWarning)
            return float(getattr(metrics, name)(found.targets, found.predictions, **options))

    return value


_balanced_accuracy = _of_classes("balanced_accuracy_score")


def _f1(found: Outcome) -> float:
    """F1 of the second of two classes; the mean over classes where there are more."""
    average = "binary" if _n_classes(found) == 2 else "macro"
    return _of_classes("f1_score", average=average, zero_division=0.0)(found)


def _of_ranks(name: str) -> Callable[[Outcome], float]:
    """Metric of how test graphs are ranked; the mean over classes, each against the rest."""

    def value(found: Outcome) -> float:
        import numpy as np
        from sklearn import metrics

        measure, targets = getattr(metrics, name), found.targets
        if _n_classes(found) == 2:
            classes, columns = [1], _known(found.decisions, name).reshape(-1, 1)
        else:
            classes, columns = list(range(_n_classes(found))), _rank_columns(found, name)
        values = [
            float(measure(targets == code, column))
            for code, column in zip(classes, columns.T, strict=True)
            if 0 < (targets == code).sum() < len(targets)
        ]
        return float(np.mean(values)) if values else float("nan")

    return value


def _rank_columns(found: Outcome, name: str) -> NDArray[Any]:
    """Probabilities as scikit-learn ranks by where there are more classes than two."""
    if found.probabilities is not None:
        return found.probabilities
    return _known(found.decisions, name)


def _log_loss(found: Outcome) -> float:
    import numpy as np
    from sklearn.metrics import log_loss

    probabilities = _known(found.probabilities, "log_loss")
    return float(log_loss(found.targets, probabilities, labels=np.arange(probabilities.shape[1])))


def _n_classes(found: Outcome) -> int:
    if found.probabilities is not None:
        return int(found.probabilities.shape[1])
    if found.decisions is None:
        return int(max(found.targets.max(), found.predictions.max())) + 1
    return 2 if found.decisions.ndim == 1 else int(found.decisions.shape[1])


def _known(values: NDArray[Any] | None, name: str) -> NDArray[Any]:
    if values is None:
        raise InvalidInputError(
            f"{name} needs probabilities, which these models do not have; leave it out, or have "
            "at least two graphs of every class in every training part (and not --protocol paper)"
        )
    return values


def _of_values(name: str) -> Callable[[Outcome], float]:
    """Metric of scikit-learn that compares numbers."""

    def value(found: Outcome) -> float:
        from sklearn import metrics

        return float(getattr(metrics, name)(found.targets, found.predictions))

    return value


def _r2(found: Outcome) -> float:
    import numpy as np

    variance = float(np.var(found.targets))
    error = float(np.mean((found.predictions - found.targets) ** 2))
    return 1 - error / variance if variance else float("nan")


def _spearman(found: Outcome) -> float:
    import numpy as np
    from scipy.stats import rankdata

    ranks = [rankdata(values) for values in (found.targets, found.predictions)]
    if any(np.ptp(each) == 0 for each in ranks):
        return float("nan")
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


# Names

_CLASS_METRICS = (
    Metric("accuracy", "accuracy", _accuracy, is_share=True),
    Metric("balanced_accuracy", "balanced_accuracy", _balanced_accuracy, is_share=True),
    Metric("roc_auc", "roc_auc", _of_ranks("roc_auc_score")),
    Metric("average_precision", "average_precision", _of_ranks("average_precision_score")),
    Metric("f1", "f1", _f1),
    Metric("matthews_corrcoef", "matthews_corrcoef", _of_classes("matthews_corrcoef"), lowest=-1),
    Metric("log_loss", "neg_log_loss", _log_loss, -1, highest=math.inf),
)
_VALUE_METRICS = (
    Metric("r2", "r2", _r2, lowest=-math.inf),
    Metric(
        "rmse",
        "neg_root_mean_squared_error",
        _of_values("root_mean_squared_error"),
        -1,
        highest=math.inf,
    ),
    Metric(
        "mae", "neg_mean_absolute_error", _of_values("mean_absolute_error"), -1, highest=math.inf
    ),
    Metric("spearman", "spearman", _spearman, lowest=-1),
)
_ALIASES = {
    "auc": "roc_auc",
    "ap": "average_precision",
    "mcc": "matthews_corrcoef",
    "root_mean_squared_error": "rmse",
    "mean_absolute_error": "mae",
}
_BY_DEFAULT = {False: ("accuracy",), True: ("r2", "rmse", "mae")}
_SEVERAL_CLASSES = {"roc_auc": "roc_auc_ovr", "f1": "f1_macro"}


def check_metric_names(names: Sequence[str] | None) -> None:
    """Raise at a name that no metric has, before anything is read."""
    every = (*_CLASS_METRICS, *_VALUE_METRICS)
    known = _known_names(every)
    for name in names or ():
        if _plain(name) not in known:
            choice = [metric.name for metric in every]
            advice = name_advice(_plain(name), choice, "choose from")
            raise InvalidInputError(f"there is no metric {name!r}; {advice}")


def metrics_of(regression: bool) -> tuple[Metric, ...]:
    """Give all metrics of classes, or all of values."""
    return _VALUE_METRICS if regression else _CLASS_METRICS


def chosen_metrics(names: Sequence[str] | None, regression: bool) -> list[Metric]:
    """Metrics of some names, or those that are shown by default; others are an error."""
    own = metrics_of(regression)
    known = _known_names(own)
    wanted = [_plain(name) for name in names or _BY_DEFAULT[regression]]
    for name in wanted:
        if name not in known:
            meant, got, task = ("classes", "values", "classification")
            if not regression:
                meant, got, task = ("values", "classes", "regression")
            choice = ", ".join(metric.name for metric in own)
            raise InvalidInputError(
                f"the metric {name} is for {meant}, but these targets are {got}; choose from "
                f"{choice}; or pass task={task!r} if they are {meant}"
            )
    return list(dict.fromkeys(known[name] for name in wanted))


def _known_names(metrics: Sequence[Metric]) -> dict[str, Metric]:
    """Metrics by their names here, those of scikit-learn, and what users type for short."""
    known = {metric.name: metric for metric in metrics}
    known |= {metric.scorer: metric for metric in metrics}
    return known | {alias: known[name] for alias, name in _ALIASES.items() if name in known}


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_")


# What models choose by


def scorer_name(metric: Metric, n_classes: int) -> str:
    """
    Name of the scorer by which a model chooses its parameters.

    scikit-learn has names of its own for several classes. It has no scorer for Spearman's
    correlation: r2 takes its place.
    """
    if metric.name == "spearman":
        return "r2"
    return _SEVERAL_CLASSES.get(metric.scorer, metric.scorer) if n_classes > 2 else metric.scorer


def selecting_model(model: Any, names: Sequence[str] | None, targets: NDArray[Any]) -> Any:
    """Give a model that chooses by the first of the metrics, if any was asked for and it can."""
    from sklearn.base import is_regressor

    if not names or "scoring" not in model.get_params():
        return model
    import numpy as np

    metric = chosen_metrics(names, is_regressor(model))[0]
    return model.set_params(scoring=scorer_name(metric, len(np.unique(targets))))


def selection_metric(model: Any) -> Metric:
    """Metric that a model has chosen by: that of its scorer, or its own."""
    from sklearn.base import is_regressor

    own = metrics_of(is_regressor(model))
    name = model.get_params().get("scoring")
    plain = {several: one for one, several in _SEVERAL_CLASSES.items()}.get(name, name)
    return next((metric for metric in own if metric.scorer == plain), own[0])


# -------------------------------------------------------------------------------------------------
# What a model that was trained on a fold says of its test graphs.
# -------------------------------------------------------------------------------------------------


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
        raise InvalidInputError(f"fold {number}: {error}") from error


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
    from retgk.learning.scoring import class_probabilities

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
