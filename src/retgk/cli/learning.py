"""Models as the options describe them, and how good their predictions are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retgk.cli.options import Learning, Walks
from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["chosen_parameters", "is_regression", "new_model", "scores"]

_APPROXIMATE = {"auto": "auto", "yes": True, "no": False}


def is_regression(learning: Learning, targets: NDArray[Any]) -> bool:
    """Whether targets are values to predict rather than classes."""
    if learning.task == "regression" and targets.dtype.kind not in "iuf":
        raise InvalidInputError(
            f"targets such as {targets[0]!r} are no values to regress on; leave --task out"
        )
    if learning.task != "auto":
        return learning.task == "regression"
    return targets.dtype.kind == "f" and bool((targets % 1 != 0).any())


def new_model(learning: Learning, walks: Walks, n_components: int, regression: bool) -> Any:
    """Estimator with the parameters that were given, and its own defaults for the others."""
    from retgk.estimators.classifier import RetGKClassifier
    from retgk.estimators.regressor import RetGKRegressor

    given = {"C": learning.C, "p": learning.p, "scale": learning.scale}
    parameters: dict[str, Any] = {
        "approximate": _APPROXIMATE[learning.approximate],
        "tol": learning.tol,
        "n_components": n_components,
        **{name: tuple(values) for name, values in given.items() if values},
        **walks.parameters(),
    }
    if regression:
        if learning.balanced:
            raise InvalidInputError("--balanced weights classes, but these targets are values")
        return RetGKRegressor(**parameters)
    return RetGKClassifier(**parameters, class_weight="balanced" if learning.balanced else None)


def chosen_parameters(model: Any) -> dict[str, Any]:
    """What cross-validation chose, without what was left at its default."""
    return {name: value for name, value in model.best_params_.items() if value is not None}


def scores(targets: NDArray[Any], predictions: NDArray[Any], regression: bool) -> dict[str, float]:
    """Accuracy of classes; share of the variance explained, and errors, of values."""
    import numpy as np

    if not regression:
        return {"accuracy": float(np.mean(targets == predictions))}
    error = np.asarray(predictions, float) - targets
    variance = float(np.var(targets))
    return {
        "r2": 1 - float(np.mean(error**2)) / variance if variance else float("nan"),
        "rmse": float(np.sqrt(np.mean(error**2))),
        "mae": float(np.mean(np.abs(error))),
    }
