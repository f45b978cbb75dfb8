"""Methods in processes of their own, here or on the workers of a cluster."""

import hashlib
import json
import math
import os
import pickle
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from retgk import __version__
from retgk._runtime.cluster import results_in_order
from retgk._runtime.files import Record, RecordWriter, key_of, read_records, record_writer
from retgk._runtime.names import short_seed
from retgk._runtime.parallel import most_threads, n_threads, no_progress, progress_bar
from retgk._runtime.processes import (
    ProcessLimits,
    end_with_parent,
    is_lack_of_memory,
    limit_memory,
    recorded_peak_megabytes,
    run_to_end,
    time_limit,
)
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, graphs_digest
from retgk.learning.folds import OuterFold
from retgk.learning.metrics import (
    FoldAnswer,
    Metric,
    chosen_metrics,
    fold_answer,
    metrics_of,
)
from retgk.model_selection.methods import estimator_key

# What is compared on what: graphs, targets and folds, the same for all methods.

Place = tuple[int, int]
"""Numbers of a repetition and of a fold in it."""

_SHOWN = {False: ("accuracy", "balanced_accuracy", "roc_auc"), True: ("r2", "rmse", "mae")}


@dataclass(frozen=True)
class ComparisonPlan:
    name: str
    graphs: GraphBatch
    targets: NDArray[Any]
    folds: Sequence[Sequence[OuterFold]]
    """Of every repetition."""
    regression: bool
    metrics: tuple[Metric, ...]
    """Which are shown; methods are ranked by the first."""
    choose_by: str | None
    """Name of the scorer by which models choose their parameters; None for their own."""
    seed: int

    @property
    def places(self) -> list[Place]:
        return [(r, f) for r, folds in enumerate(self.folds) for f in range(len(folds))]

    def fold(self, place: Place) -> OuterFold:
        repetition, number = place
        return self.folds[repetition][number]

    @cached_property
    def key(self) -> str:
        """Digest of all that answers depend on, but for the methods."""
        folds = hashlib.sha256()
        for fold in map(self.fold, self.places):
            parts = [part for pair in fold.inner or () for part in pair]
            if fold.groups is not None:
                parts = [np.unique(fold.groups, return_inverse=True)[1], *parts]
            for part in (fold.train, fold.test, *parts):
                folds.update(np.asarray(part, np.int64).tobytes() + b";")
        return key_of(
            {
                "graphs": graphs_digest(self.graphs),
                "molecules": None if self.graphs.smiles is None else self.graphs.smiles.tolist(),
                "targets": hashlib.sha256(repr(self.targets.tolist()).encode()).hexdigest(),
                "folds": folds.hexdigest(),
                "shape": [len(each) for each in self.folds],
                "regression": self.regression,
                "choose_by": self.choose_by,
                "seed": self.seed,
                "version": __version__,
            }
        )

    def as_record(self) -> Record:
        return {
            "collection": self.name,
            "graphs": len(self.graphs),
            "task": "regression" if self.regression else "classification",
            "repetitions": len(self.folds),
            "folds": [len(each) for each in self.folds],
            "choose_by": self.choose_by,
            "seed": self.seed,
            "version": __version__,
        }

    def with_settings(self, estimator: Any) -> Any:
        known = estimator.get_params(deep=True)
        own: dict[str, Any] = {
            name: short_seed(self.seed)
            for name in known
            if name.rpartition("__")[2] == "random_state"
        }
        own |= {"scoring": self.choose_by} if "scoring" in known else {}
        return estimator.set_params(
            **{name: value for name, value in own.items() if known[name] is None}
        )


def new_plan(
    name: str,
    graphs: GraphBatch,
    targets: NDArray[Any],
    folds: Sequence[Sequence[OuterFold]],
    regression: bool,
    metrics: Sequence[str] | None,
    seed: int,
) -> ComparisonPlan:
    """Plan with the metrics of these names, by the first of which models choose, or the usual."""
    shown = chosen_metrics(metrics or _SHOWN[regression], regression)
    if len(targets) and (targets == targets[0]).all():
        raise InvalidInputError(
            f"all {len(targets)} graphs have the same target, {targets[0]!s:.80}; there is nothing "
            "to tell apart: give targets that differ"
        )
    choose_by = shown[0].scorer_for(len(np.unique(targets))) if metrics else None
    return ComparisonPlan(name, graphs, targets, folds, regression, tuple(shown), choose_by, seed)


# A journal of finished folds, from which a comparison that was stopped goes on.
#
# It is a file of records (`_runtime/files.py`), or a list in memory. The first record says
# which comparison it is; all others are of one fold, with scores or with a failure.


class FoldJournal:
    def __init__(self, records: list[Record], writer: RecordWriter | None = None) -> None:
        self._records, self._writer = records, writer

    def add(self, record: Record) -> None:
        if self._writer is not None:
            self._writer.append(record)
        self._records.append(record)

    def scores(self, method_key: str) -> dict[Place, Record]:
        own = (record for record in self._records if record["method_key"] == method_key)
        return {_place(record): record for record in own if record["failure"] is None}

    def failure(self, method_key: str) -> Record | None:
        own = [record for record in self._records if record["method_key"] == method_key]
        failed = [record for record in own if record["failure"] is not None]
        if not failed or _place(failed[-1]) in self.scores(method_key):
            return None
        return failed[-1]

    def is_worth_trying(self, method_key: str, limits: ProcessLimits) -> bool:
        """Whether a method was stopped by nothing, by lower limits, or by what may be bad luck."""
        failed = self.failure(method_key)
        if failed is None or not failed["by_limit"]:
            return True
        return limits.are_raised(failed["limits"])


def _place(record: Record) -> Place:
    return record["repetition"], record["fold"]


@contextmanager
def fold_journal(
    path: str | os.PathLike[str] | None, plan: ComparisonPlan
) -> Iterator[FoldJournal]:
    """Open a journal, and lock it; begin it if it does not exist."""
    if path is None:
        yield FoldJournal([])
        return
    with record_writer(path) as writer:
        records = read_records(path)
        if not records:
            writer.append({"comparison": plan.key, **plan.as_record()})
        else:
            _check_key(records[0], plan, Path(path))
        places = set(plan.places)
        for number, record in enumerate(records[1:], start=2):
            if not _is_fold(record, places, plan.regression):
                raise InvalidInputError(
                    f"{path}, line {number}: no fold of this comparison; remove that line, and its "
                    "fold is done again"
                )
        yield FoldJournal(records[1:], writer)


def _check_key(first: dict[str, Any], plan: ComparisonPlan, path: Path) -> None:
    if first.get("comparison") == plan.key:
        return
    if "comparison" not in first:
        what = "is no journal of a comparison"
    else:
        now = plan.as_record()
        other = [f"{name} {first.get(name)!s:.80}" for name in now if first.get(name) != now[name]]
        told = f" ({', '.join(other)})" if other else ""
        what = f"is the journal of another comparison{told}: other graphs, targets, folds or seed"
    raise InvalidInputError(f"{path} {what}; give another file as journal, or remove this one")


def _is_fold(record: Record, places: set[Place], regression: bool) -> bool:
    """Whether a record is of one of these folds, with what failed or with all scores."""
    place = record.get("repetition"), record.get("fold")
    if any(type(number) is not int for number in place) or place not in places:
        return False
    if not isinstance(record.get("method_key"), str):
        return False
    if isinstance(record.get("failure", 0), str):
        limits = record.get("limits")
        is_pair = isinstance(limits, list) and len(limits) == 2 and all(map(_is_amount, limits))
        return is_pair and type(record.get("by_limit")) is bool
    scores, peak = record.get("scores"), record.get("peak_mb", "missing")
    if not isinstance(scores, dict) or not isinstance(record.get("chosen"), dict):
        return False
    values = [scores.get(metric.name, "missing") for metric in metrics_of(regression)]
    return (
        record.get("failure", 0) is None
        and all(_is_amount(record.get(name)) for name in ("seconds", "processor"))
        and (peak is None or _is_amount(peak))  # None is of a system that does not tell
        and all(value is None or _is_number(value) for value in values)
    )


def _is_amount(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


PROGRAM = (sys.executable, "-P", "-m", "retgk.model_selection.runs")
"""
Command of the process, which gets its order and its memory as two more arguments.

With -P it takes no modules from the folder that it is started in: that may hold files of strangers.
"""

_GRACE_SECONDS = 300.0  # to start, import, compile and read the graphs, beside the work itself


class Order(NamedTuple):
    graphs: GraphBatch
    targets: NDArray[Any]
    regression: bool
    folds: list[tuple[int, int, OuterFold]]
    """Numbers of repetition and fold, and the graphs to train on and to test."""
    seconds: float
    """That a fold may take."""
    n_threads: int
    estimator: bytes
    """Pickled apart: it is read when modules are found, and one that is not is its own failure."""
    module_path: list[str]
    """Where modules are found, as in the process that gives the order."""


def run_methods(
    plan: ComparisonPlan,
    estimators: Mapping[str, Any],
    journal: FoldJournal,
    limits: ProcessLimits,
    n_jobs: int | None = None,
    client: Any = None,
) -> None:
    waiting = {
        name: [place for place in plan.places if place not in done]
        for name, estimator in estimators.items()
        for done in [journal.scores(estimator_key(estimator))]
        if journal.is_worth_trying(estimator_key(estimator), limits)
    }
    n_all, n_waiting = len(plan.places) * len(estimators), sum(map(len, waiting.values()))
    with progress_bar("comparing", n_all) as advance:
        advance(n_all - n_waiting)  # what an earlier run did

        def note(name: str, record: Record) -> None:
            journal.add({"method": name, "method_key": estimator_key(estimators[name]), **record})
            advance(1)

        if client is None:
            for name, places in waiting.items():
                if places:
                    pickled = _pickled(estimators[name])
                    _run_folds(plan, pickled, limits, n_jobs, places, partial(note, name))
        else:
            _run_on_cluster(plan, estimators, waiting, limits, n_jobs, client, note)


def _run_on_cluster(
    plan: ComparisonPlan,
    estimators: Mapping[str, Any],
    waiting: Mapping[str, Sequence[Place]],
    limits: ProcessLimits,
    n_jobs: int | None,
    client: Any,
    note: Callable[[str, Record], None],
) -> None:
    parts = [
        (name, [place for place in places if place[0] == repetition])
        for name, places in waiting.items()
        for repetition in range(len(plan.folds))
    ]
    tasks = [part for part in parts if part[1]]
    # pickled here: workers may not have the module of an estimator, but the process will say so
    pickled = {name: _pickled(estimator) for name, estimator in estimators.items()}
    shared = (plan, pickled, limits, n_jobs)
    with closing(results_in_order(_method_part, tasks, shared, client)) as found:
        for (name, _), records in zip(tasks, found, strict=True):
            for record in records:
                note(name, record)


def _method_part(
    shared: tuple[ComparisonPlan, Mapping[str, bytes], ProcessLimits, int | None],
    name: str,
    places: Sequence[Place],
) -> list[Record]:
    plan, pickled, limits, n_jobs = shared
    records: list[Record] = []
    _run_folds(plan, pickled[name], limits, n_jobs, places, records.append)
    return records


def _run_folds(
    plan: ComparisonPlan,
    estimator: bytes,
    limits: ProcessLimits,
    n_jobs: int | None,
    places: Sequence[Place],
    on_record: Callable[[Record], None],
) -> None:
    """Work on folds of a pickled method in a process until one fails; each is told when done."""
    failures: list[Record] = []
    n_done = 0

    def take(line: str) -> None:
        nonlocal n_done
        record = json.loads(line)
        n_done += 1
        if record["failure"] is not None:
            failures.append(record)
            record["limits"] = [limits.seconds, limits.megabytes]
        on_record(record)

    order = Order(
        plan.graphs,
        plan.targets,
        plan.regression,
        [(*place, plan.fold(place)) for place in places],
        limits.seconds,
        n_threads(n_jobs),
        estimator,
        sys.path,
    )
    with tempfile.TemporaryDirectory(prefix="retgk-compare-") as folder:
        path = Path(folder) / "order"
        path.write_bytes(pickle.dumps(order, pickle.HIGHEST_PROTOCOL))
        command = [*PROGRAM, str(path), str(limits.megabytes)]
        end = run_to_end(command, limits.seconds + _GRACE_SECONDS, take)
    if failures or n_done == len(places):
        return
    repetition, fold = places[n_done]
    on_record(
        {
            "repetition": repetition,
            "fold": fold,
            "failure": end.reason(limits),
            "by_limit": end.is_out_of_time or end.is_out_of_memory,
            "limits": [limits.seconds, limits.megabytes],
        }
    )


def _pickled(estimator: Any) -> bytes:
    from joblib.externals.loky.backend.reduction import dumps

    return bytes(dumps(estimator))


# Some folds of one method: ``python -m retgk.model_selection.runs ORDER MEGABYTES``.
#
# A process of its own, so that it can be stopped and its memory measured. ORDER is a file that
# `retgk.model_selection.runs` has just written for this process, in a folder that is the user's
# alone. Each line of the output is JSON: what became of a fold.

_LONGEST_MESSAGE = 300


def main(path: str, megabytes: float) -> None:
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
    assert answer.processor is not None
    return {
        "failure": None,
        "scores": scores,
        "chosen": {name: _plain(value) for name, value in answer.chosen.items()},
        "seconds": round(answer.seconds, 4),
        "processor": round(answer.processor, 4),
        "peak_mb": recorded_peak_megabytes(),
    }


def _failure(message: str) -> dict[str, Any]:
    return {"failure": message.replace("\n", " ")[:_LONGEST_MESSAGE], "by_limit": False}


def _scores(order: Order, answer: FoldAnswer) -> dict[str, float | None]:
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
