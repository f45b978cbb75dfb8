"""Metrics of test graphs, by the names of scikit-learn's scorers, and what models choose by."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from retgk.errors import InvalidInputError, Remedy
from retgk.runtime.near_names import name_advice

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Metric",
    "Outcome",
    "check_metric_names",
    "chosen_metrics",
    "metrics_of",
    "scorer_name",
    "selecting_model",
    "selection_metric",
]


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
            f"{name} needs probabilities, which these models do not have",
            Remedy(
                "probabilities",
                "leave it out, or have at least two graphs of every class in every training part",
            ),
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
                f"{choice}",
                Remedy(
                    "metric",
                    f"or pass task={task!r} if they are {meant}",
                    f"{task} if they are {meant}",
                ),
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
