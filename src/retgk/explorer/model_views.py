"""What a page shows of a model: predictions of all graphs, shares of the nodes of drawn ones."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.explorer.page_arrays import PageArrays
from retgk.explorer.page_columns import Column, text_of
from retgk.graphs.batch import GraphBatch
from retgk.learning.outcomes import ClassOutcomes

__all__ = ["Predictions", "check_model", "pack_shares", "prediction_columns", "predictions_of"]


class Predictions(NamedTuple):
    """What a model says of every graph."""

    values: NDArray[Any]
    by: str
    """Whose predictions they are."""
    are_classes: bool = False
    """Whether they are known to be classes, which may be floating-point numbers too."""
    confidence: Floats | None = None
    """Probability of the class that is predicted, where there is one."""


def check_model(model: Any) -> None:
    """Raise for what is no fitted model of one class or value for each graph."""
    if not (hasattr(model, "predict") and hasattr(model, "explain")):
        raise InvalidInputError(
            f"model must be a fitted RetGKClassifier or RetGKRegressor, got {type(model).__name__}"
        )
    check_is_fitted(model, "dual_coef_")
    if getattr(model, "multilabel_", False) or getattr(model, "target_ndim_", 1) > 1:
        raise InvalidInputError(
            "the model predicts several targets for each graph, of which a page can show one; "
            "fit a model for one of them"
        )


def predictions_of(model: Any, batch: GraphBatch) -> Predictions:
    """Predictions of a model for all graphs, and probabilities, from one look at them."""
    by = f"a {type(model).__name__}"
    if not hasattr(model, "classes_"):
        return Predictions(model.predict(batch), by)
    outcomes = ClassOutcomes(model.classes_)
    scores = model.decision_function(batch).reshape(len(batch), -1)
    # the class that predict gives, which need not be the most probable one
    codes = outcomes.codes(scores)
    predicted = model.classes_[codes]
    if model.calibration_coef_ is None:
        return Predictions(predicted, by, are_classes=True)
    calibration = (model.calibration_coef_, model.calibration_intercept_)
    probabilities = outcomes.probabilities(scores, calibration)
    return Predictions(predicted, by, True, probabilities[np.arange(len(codes)), codes])


def prediction_columns(predictions: Predictions, truth: NDArray[Any] | None) -> list[Column]:
    """Columns of predictions, and of errors where the truth is known."""
    values = predictions.values
    columns = [Column("predicted", values, "predicted")]
    if predictions.confidence is not None:
        columns.append(Column("probability", predictions.confidence, "confidence"))
    if truth is None:
        return columns
    if not predictions.are_classes and values.dtype.kind == "f" and truth.dtype.kind in "iuf":
        return [*columns, Column("error", np.asarray(values - truth, np.float64), "error")]
    pairs = zip(values.tolist(), truth.tolist(), strict=True)
    right = [text_of(one) == text_of(other) for one, other in pairs]
    names = np.array(["wrong", "right"], dtype=object)
    return [*columns, Column("prediction is", names[np.array(right, int)], "correct")]


def pack_shares(model: Any, chosen: GraphBatch, arrays: PageArrays) -> dict[str, Any]:
    """Shares of nodes in the value of what is predicted, in 127ths of the largest of its graph."""
    found = model.explain(chosen, n_training=0)
    starts: Ints = chosen.node_ptr[:-1]
    largest = np.maximum.reduceat(np.abs(found.shares), starts) if len(starts) else np.empty(0)
    unit = np.where(largest > 0, largest, 1.0) / 127
    rows = np.repeat(np.arange(len(chosen)), chosen.node_counts)
    arrays.add("shares", np.rint(found.shares / unit[rows]).astype(np.int8))
    arrays.add("shareUnits", unit.astype(np.float32))
    arrays.add("decisions", found.decisions.astype(np.float32))
    arrays.add("baselines", found.baseline.astype(np.float32))
    return {"limit": float(largest.max(initial=0.0)), "of": [text_of(x) for x in found.targets]}
