"""Metrics of test graphs, by the names of scikit-learn's scorers, and what models choose by."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from retgk._runtime.names import name_advice
from retgk.errors import (
    ContradictionWarning,
    InputWarning,
    InvalidInputError,
    UnseenWarning,
    warn_user,
)
from retgk.learning.folds import check_keeps_groups, group_arguments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retgk.array_types import Floats
    from retgk.graphs.batch import GraphBatch
    from retgk.learning.folds import OuterFold
    from retgk.learning.outcomes import Trial

Scoring = str | Callable[..., float] | None
"""Name of a scorer of scikit-learn, or a callable with (estimator, X, y)."""


class Outcome(NamedTuple):
    """Test graphs: targets and predictions, of classes as places in the order of all classes."""

    targets: NDArray[Any]
    predictions: NDArray[Any]
    decisions: NDArray[Any] | None = None
    probabilities: NDArray[Any] | None = None


@dataclass(frozen=True)
class Metric:
    """A metric: its names, and how it is found; `sign` is -1 where the scorer has its negative."""

    name: str
    scorer: str
    value: Callable[[Outcome], float]
    sign: int = 1
    is_share: bool = False
    several: str | None = None
    aliases: tuple[str, ...] = ()

    def scorer_for(self, n_classes: int) -> str:
        return self.several if self.several and n_classes > 2 else self.scorer

    def text(self, value: float) -> str:
        return f"{100 * value:.1f}" if self.is_share else f"{value:.4f}"


# Values


def _accuracy(found: Outcome) -> float:
    return float((found.targets == found.predictions).mean())


def _of_predictions(name: str, **options: Any) -> Callable[[Outcome], float]:

    def value(found: Outcome) -> float:
        from sklearn import metrics

        with warnings.catch_warnings():  # of classes that are predicted but not in this fold
            warnings.simplefilter("ignore", UserWarning)
            return float(getattr(metrics, name)(found.targets, found.predictions, **options))

    return value


def _f1(found: Outcome) -> float:
    """F1 of the second of two classes; the mean over classes where there are more."""
    average = "binary" if _n_classes(found) == 2 else "macro"
    return _of_predictions("f1_score", average=average, zero_division=0.0)(found)


def _of_ranks(name: str) -> Callable[[Outcome], float]:
    """Metric of how test graphs are ranked; the mean over classes, each against the rest."""

    def value(found: Outcome) -> float:
        from sklearn import metrics

        measure, targets = getattr(metrics, name), found.targets
        if _n_classes(found) == 2:
            classes, columns = [1], _known(found.decisions, name).reshape(-1, 1)
        else:
            # as in scikit-learn, probabilities rank where there are more classes than two
            ranks = found.decisions if found.probabilities is None else found.probabilities
            classes, columns = list(range(_n_classes(found))), _known(ranks, name)
        values = [
            float(measure(targets == code, column))
            for code, column in zip(classes, columns.T, strict=True)
            if 0 < (targets == code).sum() < len(targets)
        ]
        return float(np.mean(values)) if values else float("nan")

    return value


def _log_loss(found: Outcome) -> float:
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


def _r2(found: Outcome) -> float:
    variance = float(np.var(found.targets))
    error = float(np.mean((found.predictions - found.targets) ** 2))
    return 1 - error / variance if variance else float("nan")


def _spearman(found: Outcome) -> float:
    from scipy.stats import rankdata

    ranks = [rankdata(values) for values in (found.targets, found.predictions)]
    if any(np.ptp(each) == 0 for each in ranks):
        return float("nan")
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


# The table

_AUC, _AP = _of_ranks("roc_auc_score"), _of_ranks("average_precision_score")
_RMSE_NAME, _MAE_NAME = "root_mean_squared_error", "mean_absolute_error"
_RMSE, _MAE = _of_predictions(_RMSE_NAME), _of_predictions(_MAE_NAME)
_MCC, _BALANCED = _of_predictions("matthews_corrcoef"), _of_predictions("balanced_accuracy_score")
_CLASS_METRICS = (
    Metric("accuracy", "accuracy", _accuracy, is_share=True),
    Metric("balanced_accuracy", "balanced_accuracy", _BALANCED, is_share=True),
    Metric("roc_auc", "roc_auc", _AUC, several="roc_auc_ovr", aliases=("auc",)),
    Metric("average_precision", "average_precision", _AP, aliases=("ap",)),
    Metric("f1", "f1", _f1, several="f1_macro"),
    Metric("matthews_corrcoef", "matthews_corrcoef", _MCC, aliases=("mcc",)),
    Metric("log_loss", "neg_log_loss", _log_loss, -1),
)
# scikit-learn has no scorer for Spearman's correlation: models choose by r2
_VALUE_METRICS = (
    Metric("r2", "r2", _r2),
    Metric("rmse", f"neg_{_RMSE_NAME}", _RMSE, -1, aliases=(_RMSE_NAME,)),
    Metric("mae", f"neg_{_MAE_NAME}", _MAE, -1, aliases=(_MAE_NAME,)),
    Metric("spearman", "r2", _spearman),
)
_BY_DEFAULT = {False: ("accuracy",), True: ("r2", "rmse", "mae")}


def check_metric_names(names: Sequence[str] | None) -> None:
    every = (*_CLASS_METRICS, *_VALUE_METRICS)
    known = _known_names(every)
    for name in names or ():
        if _plain(name) not in known:
            choice = [metric.name for metric in every]
            advice = name_advice(_plain(name), choice, "choose from")
            raise InvalidInputError(f"there is no metric {name!r}; {advice}")


def metrics_of(regression: bool) -> tuple[Metric, ...]:
    return _VALUE_METRICS if regression else _CLASS_METRICS


def chosen_metrics(names: Sequence[str] | None, regression: bool) -> list[Metric]:
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
    known = {metric.scorer: metric for metric in metrics}
    known |= {alias: metric for metric in metrics for alias in metric.aliases}
    return known | {metric.name: metric for metric in metrics}


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_")


def selecting_model(model: Any, names: Sequence[str] | None, targets: NDArray[Any]) -> Any:
    """Give a model that chooses by the first of the metrics, if any was asked for and it can."""
    from sklearn.base import is_regressor

    if not names or "scoring" not in model.get_params():
        return model
    metric = chosen_metrics(names, is_regressor(model))[0]
    n_classes = 2 if targets.ndim == 2 else len(np.unique(targets))
    return model.set_params(scoring=metric.scorer_for(n_classes))


def selection_metric(model: Any) -> Metric:
    """Metric that a model has chosen by: that of its scorer, or its own."""
    from sklearn.base import is_regressor

    own = metrics_of(is_regressor(model))
    name = model.get_params().get("scoring")
    return next((metric for metric in own if name in (metric.scorer, metric.several)), own[0])


# Scorers, by which models choose among candidates


def checked_scorer(scoring: Any, model: Any) -> Callable[..., Any]:
    from sklearn.metrics import check_scoring, get_scorer, get_scorer_names

    if isinstance(scoring, str):
        if scoring not in get_scorer_names():
            near = get_close_matches(scoring.lower(), get_scorer_names(), n=3, cutoff=0.5)
            meant = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
            raise InvalidInputError(
                f"scoring={scoring!r} is no scorer of scikit-learn; {meant}"
                "sklearn.metrics.get_scorer_names() lists all"
            )
        scorer: Callable[..., Any] = get_scorer(scoring)
        return scorer
    if not callable(scoring):
        raise InvalidInputError(
            f"scoring must be None, the name of a scorer or a callable with (estimator, X, y), got "
            f"{scoring!r:.80}"
        )
    try:
        checked: Callable[..., Any] = check_scoring(model, scoring)
    except ValueError as error:
        raise InvalidInputError(f"scoring={scoring!r} cannot be used: {error}") from error
    return checked


class FoldScorer:
    """Score of every fold by a scorer, from the decision values of a candidate."""

    def __init__(self, scorer: Callable[..., Any], name: str, trial: Trial) -> None:
        self.scorer, self.name, self.trial = scorer, name, trial
        self.graphs = [trial.data.batch[test] for _, test in trial.folds]
        self.takes_weights = trial.data.weights is not None
        self.targets = [(FoldScorer(scorer, name, own), known) for own, known in trial.by_target()]

    def __call__(self, decisions: Sequence[Floats]) -> Floats:
        from sklearn.exceptions import UndefinedMetricWarning

        if self.targets:
            return self._mean_over_targets(decisions)
        with warnings.catch_warnings():
            # of every candidate; that a fold has no score at all is said once, before the work
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return np.array([self._score(decisions, fold) for fold in range(len(decisions))])

    def _mean_over_targets(self, decisions: Sequence[Floats]) -> Floats:
        """Means over the targets, each of which is scored on the graphs that have it."""
        scores = np.array(
            [
                scorer([all_[own, t : t + 1] for all_, own in zip(decisions, known, strict=True)])
                for t, (scorer, known) in enumerate(self.targets)
            ]
        )
        n_defined = (~np.isnan(scores)).sum(axis=0)
        totals = np.nansum(scores, axis=0)
        return np.where(n_defined > 0, totals / np.maximum(n_defined, 1), np.nan)

    def _score(self, decisions: Sequence[Floats], fold: int) -> float:
        from retgk.learning.outcomes import ClassCandidate, ValueCandidate, ValueOutcomes

        data, outcomes, truth, folds = self.trial
        test = folds[fold][1]
        if len(test) == 0:  # no test graph has this target
            return np.nan
        options = {"sample_weight": data.weights_of(test)} if self.takes_weights else {}
        targets = outcomes.targets(truth[test])
        candidate: Any = ClassCandidate(self.trial, decisions, fold)
        if isinstance(outcomes, ValueOutcomes):
            candidate = ValueCandidate(outcomes.predict(decisions[fold]))
        try:
            found = self.scorer(candidate, self.graphs[fold], targets, **options)
        except InvalidInputError:
            raise
        except TypeError as error:
            if not (options and "sample_weight" in str(error)):
                raise
            self.takes_weights = False  # it knows no weights: few scorers do not
            return self._score(decisions, fold)
        except ValueError as error:
            if self._lacks_classes(fold):
                return np.nan
            raise InvalidInputError(f"scoring={self.name} cannot be used: {error}") from error
        if not isinstance(found, Real):
            raise InvalidInputError(
                f"scoring={self.name} gave {found!r:.80}, but a scorer gives one number"
            )
        return float(found)

    def _lacks_classes(self, fold: int) -> bool:
        truth, test = self.trial.truth, self.trial.folds[fold][1]
        if truth.dtype.kind == "f":
            return False
        if truth.ndim == 2:
            return bool((truth[test].min(axis=0) == truth[test].max(axis=0)).any())
        return len(np.unique(truth[test])) < len(np.unique(truth))

    def check(self) -> None:
        """Raise, before any work, if the scorer cannot score these targets; warn of lost folds."""
        _, outcomes, truth, folds = self.trial
        perfect = outcomes.perfect_scores(truth)
        scores = self([perfect[test] for _, test in folds])
        lost = np.flatnonzero(np.isnan(scores))
        if len(lost) and len(lost) == len(folds):
            raise InvalidInputError(
                f"scoring={self.name} is not defined in any fold, as the test parts have too few "
                "classes; use fewer folds, or stratified ones"
            )
        if len(lost):
            names = ", ".join(map(str, lost[:5]))
            note = (
                f"scoring={self.name} is not defined in fold {names} of cv, whose test graphs are "
                f"of too few classes; means are over the other {len(folds) - len(lost)} folds"
            )
            warn_user(InputWarning(note))


def fold_scorer(scoring: Any, model: Any, trial: Trial) -> FoldScorer:
    """Score of candidates by a scorer, which is tried before any work is done."""
    name = repr(scoring) if isinstance(scoring, str) else f"{scoring!r:.80}"
    found = FoldScorer(checked_scorer(scoring, model), name, trial)
    if trial.folds:
        found.check()
    return found


# What a model that was trained on a fold says of its test graphs.


class FoldAnswer(NamedTuple):
    """Test graphs of a fold, predictions, parameters chosen, and seconds, where measured."""

    test: NDArray[Any]
    predictions: NDArray[Any]
    chosen: dict[str, Any]
    decisions: NDArray[Any] | None = None
    probabilities: NDArray[Any] | None = None
    seconds: float | None = None
    processor: float | None = None
    method: str | None = None
    """Kernel and machine in words, where the model says."""

    def of_target(self, targets: NDArray[Any], number: int) -> FoldAnswer:
        """What was said of one of several targets, for the test graphs that have it."""
        known = np.flatnonzero(~np.isnan(targets[self.test, number]))
        own, likely = self.decisions, self.probabilities
        if likely is not None:
            likely = np.column_stack([1 - likely[known, number], likely[known, number]])
        return self._replace(
            test=self.test[known],
            predictions=self.predictions[known, number],
            decisions=None if own is None else own[known, number],
            probabilities=likely,
        )

    def outcome(self, targets: NDArray[Any], classes: NDArray[Any] | None) -> Outcome:
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
    """Train a model on a fold, and ask it for predictions, decision values and probabilities."""
    from retgk.learning.outcomes import ClassOutcomes

    start, worked, test = time.perf_counter(), processor_seconds(), graphs[fold.test]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)  # told once, of all folds
        fitted = _fitted(model, graphs, targets, fold, number)
    columns: NDArray[Any] | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenWarning)  # which scores of folds are there to tell
        if getattr(fitted, "multilabel_", False) and hasattr(fitted, "calibration_coef_"):
            columns, likely = fitted.decision_function(test), fitted.predict_proba(test)
            signs, own = (columns > 0).astype(np.int64), chosen_parameters(fitted)
            took = time.perf_counter() - start, processor_seconds() - worked
            return FoldAnswer(fold.test, signs, own, columns, likely, *took, fitted.method_)
        if hasattr(fitted, "calibration_coef_"):  # of this package: all follows from decisions
            decisions = fitted.decision_function(test)
            columns = decisions.reshape(len(decisions), -1)
            predictions = ClassOutcomes(fitted.classes_).predict(columns)
        else:
            predictions = np.asarray(fitted.predict(test))
    # what else models of others are asked for is no part of training and predicting
    took = time.perf_counter() - start, processor_seconds() - worked
    chosen, method = chosen_parameters(fitted), getattr(fitted, "method_", None)
    values: _Values = (None, None)
    if hasattr(fitted, "classes_"):
        values = _class_values(fitted, test, columns, np.unique(targets))
    return FoldAnswer(fold.test, predictions, chosen, *values, *took, method)


def processor_seconds() -> float:
    """Processor time of all threads of this process, and of processes of its own that ended."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


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


_Values = tuple["NDArray[Any] | None", "NDArray[Any] | None"]


def _class_values(
    model: Any, graphs: GraphBatch, columns: NDArray[Any] | None, classes: NDArray[Any]
) -> _Values:
    """Decision values and probabilities of all classes; None for what a model has not."""
    columns, probabilities = _known_values(model, graphs, columns)
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


def _known_values(model: Any, graphs: GraphBatch, columns: NDArray[Any] | None) -> _Values:
    """Decision values in columns, and probabilities, of the classes that a model knows."""
    if columns is not None:
        from retgk.learning.outcomes import class_probabilities

        found = model.calibration_coef_, model.calibration_intercept_
        return columns, None if found[0] is None else class_probabilities(columns, *found)
    probabilities = model.predict_proba(graphs) if hasattr(model, "predict_proba") else None
    if hasattr(model, "decision_function"):
        decisions = np.asarray(model.decision_function(graphs))
        return decisions.reshape(len(decisions), -1), probabilities
    if probabilities is not None and probabilities.shape[1] == 2:
        return probabilities[:, 1:], probabilities
    return probabilities, probabilities


def _in_columns(values: NDArray[Any], own: NDArray[Any], n_columns: int, other: float) -> Any:
    spread = np.full((len(values), n_columns), other)
    spread[:, own] = values
    return spread
