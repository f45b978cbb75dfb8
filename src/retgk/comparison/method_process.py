"""
Some folds of one method: ``python -m retgk.comparison.method_process ORDER MEGABYTES``.

A process of its own, so that it can be stopped and its memory measured. ORDER is a file that
`retgk.comparison.method_runs` has just written for this process, in a folder that is the user's
alone. Each line of the output is JSON: what became of a fold.
"""

import json
import math
import os
import pickle
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from retgk.comparison.method_runs import Order
from retgk.errors import InvalidInputError
from retgk.learning.fold_answers import FoldAnswer, fold_answer
from retgk.learning.metrics import metrics_of
from retgk.learning.outer_folds import OuterFold
from retgk.runtime.limited_processes import (
    end_with_parent,
    is_lack_of_memory,
    limit_memory,
    time_limit,
)
from retgk.runtime.memory import recorded_peak_megabytes
from retgk.runtime.parallel import most_threads
from retgk.runtime.progress import no_progress

__all__ = ["main"]

_LONGEST_MESSAGE = 300


def main(path: str, megabytes: float) -> None:
    """Do what a file says, and print what became of every fold, until one fails."""
    end_with_parent()
    limit_memory(megabytes)
    warnings.simplefilter("ignore")
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a method prints is no line of ours
    order: Order = pickle.loads(Path(path).read_bytes())
    sys.path[:] = order.module_path
    estimator = _estimator(order.estimator)
    for repetition, number, fold in order.folds:
        with time_limit(order.seconds), most_threads(order.n_threads), no_progress():
            found = _fold_record(order, estimator, fold, number)
        print(json.dumps({"repetition": repetition, "fold": number, **found}), file=lines)
        lines.flush()
        if found["failure"] is not None:
            return


def _estimator(pickled: bytes) -> Any:
    """Read an estimator, with the modules that it needs, before any time counts."""
    try:
        return pickle.loads(pickled)
    except Exception as error:
        return error


def _fold_record(order: Order, estimator: Any, fold: OuterFold, number: int) -> dict[str, Any]:
    """Scores of a fold, or what went wrong; too little memory ends the process."""
    try:
        if isinstance(estimator, Exception):
            raise estimator
        model = clone(estimator)
        answer = fold_answer(model, order.graphs, order.targets, fold, number)
        scores = _scores(order, answer)
    except InvalidInputError as error:
        return _failure(str(error))
    except Exception as error:
        if is_lack_of_memory(error):
            raise
        return _failure(f"{type(error).__name__}: {error}")
    assert answer.seconds is not None
    return {
        "failure": None,
        "scores": scores,
        "chosen": {name: _plain(value) for name, value in answer.chosen.items()},
        "seconds": round(answer.seconds, 4),
        "peak_mb": recorded_peak_megabytes(),
    }


def _failure(message: str) -> dict[str, Any]:
    return {"failure": message.replace("\n", " ")[:_LONGEST_MESSAGE], "by_limit": False}


def _scores(order: Order, answer: FoldAnswer) -> dict[str, float | None]:
    """All metrics that can be found; the others are None."""
    classes = None if order.regression else np.unique(order.targets)
    outcome = answer.outcome(order.targets, classes)
    found: dict[str, float | None] = {}
    for metric in metrics_of(order.regression):
        try:
            value = metric.value(outcome)
        except InvalidInputError:  # of probabilities that a model has not
            value = math.nan
        found[metric.name] = value if math.isfinite(value) else None
    return found


def _plain(value: Any) -> Any:
    """Value for JSON: a number, a text, or what Python shows of it."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return repr(dict(value) if isinstance(value, Mapping) else value)[:_LONGEST_MESSAGE]


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
