"""Rows of a comparison, from the records of folds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from retgk.array_types import Floats
from retgk.comparison.comparison_plan import ComparisonPlan, Place
from retgk.comparison.resampled_t_test import corrected_t_test
from retgk.learning.metrics import Metric
from retgk.runtime.record_files import Record

__all__ = ["DONE", "ComparisonRows", "fold_rows", "method_rows"]

DONE = "done"
"""Status of a method that finished all folds."""


@dataclass(frozen=True, repr=False)
class ComparisonRows:
    """What a comparison found, as plain values; `Comparison` describes them."""

    name: str
    rows: list[dict[str, Any]]
    folds: list[dict[str, Any]]
    metrics: tuple[Metric, ...]
    facts: dict[str, Any]


def method_rows(
    plan: ComparisonPlan,
    finished: Mapping[str, Mapping[Place, Record]],
    failures: Mapping[str, Record | None],
) -> list[dict[str, Any]]:
    """
    Rows of methods, the best first, and those that did not finish last.

    Parameters
    ----------
    plan : ComparisonPlan
        Graphs, targets and folds.
    finished : mapping of str to mapping
        For every method the records of its finished folds.
    failures : mapping of str to Record or None
        For every method what stopped it.
    """
    first = plan.metrics[0]
    values = {
        name: _fold_values(plan, records, first.name)
        for name, records in finished.items()
        if len(records) == len(plan.places)
    }
    means = {name: first.sign * _mean(own) for name, own in values.items()}
    ranked = sorted(means, key=lambda name: (np.isnan(means[name]), -means[name]))
    best = ranked[0] if ranked else None
    rows = [
        _row(plan, name, finished[name], None) | {"p_value": _p_value(plan, values, name, best)}
        for name in ranked
    ]
    for name in finished:
        if name not in means:
            failure = failures[name]
            status = failure["failure"] if failure is not None else "is not finished"
            rows.append(_row(plan, name, finished[name], status) | {"p_value": None})
    order = ["method", "status", "folds", *_metric_columns(plan), "p_value", "seconds", "peak_mb"]
    return [{name: row[name] for name in order} for row in rows]


def fold_rows(finished: Mapping[str, Mapping[Place, Record]]) -> list[dict[str, Any]]:
    """Rows of the finished folds of all methods."""
    return [_fold_row(name, record) for name in finished for record in finished[name].values()]


def _metric_columns(plan: ComparisonPlan) -> list[str]:
    return [f"{metric.name}{end}" for metric in plan.metrics for end in ("", "_std")]


def _fold_values(plan: ComparisonPlan, records: Mapping[Place, Record], metric: str) -> Floats:
    """Values of all folds in order; NaN where they are not defined."""
    found = [records[place]["scores"][metric] for place in plan.places if place in records]
    return np.array([np.nan if value is None else value for value in found], np.float64)


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def _row(
    plan: ComparisonPlan, name: str, records: Mapping[Place, Record], failure: str | None
) -> dict[str, Any]:
    """Row of a method; one that did not finish has no scores, as other folds may be harder."""
    row: dict[str, Any] = {"method": name, "status": failure or DONE, "folds": len(records)}
    for metric in plan.metrics:
        values = _fold_values(plan, records, metric.name)
        known = values[~np.isnan(values)]
        is_shown = failure is None and len(known) > 0
        row[metric.name] = float(known.mean()) if is_shown else None
        row[f"{metric.name}_std"] = float(known.std()) if is_shown else None
    own = list(records.values())
    row["seconds"] = float(np.median([each["seconds"] for each in own])) if own else None
    peaks = [each["peak_mb"] for each in own if each["peak_mb"] is not None]
    row["peak_mb"] = max(peaks, default=None)
    return row


def _p_value(
    plan: ComparisonPlan, values: Mapping[str, Floats], name: str, best: str | None
) -> float | None:
    """
    Of the difference to the best method, over the folds in which both are defined.

    None for the best itself, NaN where it cannot be estimated.
    """
    if name == best or best is None:
        return None
    differences = values[best] - values[name]
    folds = [plan.fold(place) for place in plan.places]
    n_train, n_test = (
        float(np.mean([len(getattr(fold, part)) for fold in folds])) for part in ("train", "test")
    )
    return corrected_t_test(differences[~np.isnan(differences)], n_train, n_test).p_value


def _fold_row(name: str, record: Record) -> dict[str, Any]:
    kept = {each: record[each] for each in ("repetition", "fold")}
    last = {each: record[each] for each in ("seconds", "peak_mb", "chosen")}
    return {"method": name, **kept, **record["scores"], **last}
