"""
A journal of finished folds, from which a comparison that was stopped goes on.

It is a file of records (`runtime/record_files.py`), or a list in memory. The first record says
which comparison it is; all others are of one fold, with scores or with a failure. What is read is
checked: a journal may come from elsewhere, or have been edited.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from retgk.comparison.comparison_plan import ComparisonPlan, Place
from retgk.errors import InvalidInputError, Remedy
from retgk.learning.metrics import metrics_of
from retgk.runtime.limited_processes import ProcessLimits
from retgk.runtime.record_files import Record, RecordWriter, read_records, record_writer

__all__ = ["FoldJournal", "fold_journal"]


class FoldJournal:
    """
    Records of the folds of a comparison, by the keys of methods.

    Parameters
    ----------
    records : list of Record
        Those of folds that are there already.
    writer : RecordWriter or None
        Where more are appended; None to keep them in memory alone.
    """

    def __init__(self, records: list[Record], writer: RecordWriter | None = None) -> None:
        self._records, self._writer = records, writer

    def add(self, record: Record) -> None:
        """Add a record; when this returns, it is on disk."""
        if self._writer is not None:
            self._writer.append(record)
        self._records.append(record)

    def scores(self, method_key: str) -> dict[Place, Record]:
        """Finished folds of a method."""
        own = (record for record in self._records if record["method_key"] == method_key)
        return {_place(record): record for record in own if record["failure"] is None}

    def failure(self, method_key: str) -> Record | None:
        """What became of the last fold of a method, if it has not been finished since."""
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
    """
    Open a journal, and lock it; begin it if it does not exist.

    Parameters
    ----------
    path : path or None
        The file; None to keep records in memory alone.
    plan : ComparisonPlan
        Of which the journal is to be; that of another one is an error.
    """
    if path is None:
        yield FoldJournal([])
        return
    with record_writer(path) as writer:
        records = read_records(path)
        if not records:
            writer.append({"comparison": plan.key, **plan.as_record()})
        else:
            _check_key(records[0], plan, Path(path))
        _check_folds(records[1:], plan, Path(path))
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
    raise InvalidInputError(
        f"{path} {what}", Remedy("journal", "give another file as journal, or remove this one")
    )


def _check_folds(records: list[Record], plan: ComparisonPlan, path: Path) -> None:
    """Raise at the first line that is no fold of the plan."""
    places = set(plan.places)
    for number, record in enumerate(records, start=2):
        problem = _problem_of_place(record, places) or _problem_of_outcome(record, plan)
        if problem:
            raise InvalidInputError(
                f"{path}, line {number}: {problem}; remove that line, and its fold is done again"
            )


def _problem_of_place(record: Record, places: set[Place]) -> str | None:
    place = tuple(record.get(name) for name in ("repetition", "fold"))
    if not all(type(number) is int for number in place) or place not in places:
        return "there is no fold {1!r:.80} of repetition {0!r:.80}".format(*place)
    key = record.get("method_key")
    return None if isinstance(key, str) else f"method_key is {key!r:.80}"


def _problem_of_outcome(record: Record, plan: ComparisonPlan) -> str | None:
    """What is wrong with what became of a fold; None if nothing is."""
    if "failure" not in record or not isinstance(record["failure"], str | None):
        return f"failure is {record.get('failure', 'missing')!r:.80}"
    if record["failure"] is None:
        return _problem_of_scores(record, plan)
    if type(record.get("by_limit")) is not bool:
        return f"by_limit is {record.get('by_limit')!r:.80}"
    limits = record.get("limits")
    fits = isinstance(limits, list) and len(limits) == 2 and all(map(_is_amount, limits))
    return None if fits else f"limits are {limits!r:.80}"


def _problem_of_scores(record: Record, plan: ComparisonPlan) -> str | None:
    for name in ("scores", "chosen"):
        if not isinstance(record.get(name), dict):
            return f"{name} are {record.get(name)!r:.80}"
    if not _is_amount(record.get("seconds")):
        return f"seconds is {record.get('seconds')!r:.80}"
    peak = record.get("peak_mb", "missing")
    if peak is not None and not _is_amount(peak):  # None is of a system that does not tell
        return f"peak_mb is {peak!r:.80}"
    scores = record["scores"]
    for metric in metrics_of(plan.regression):
        value = scores.get(metric.name, "missing")
        if value is not None and not (_is_number(value) and metric.can_be(value)):
            return f"{metric.name} is {value!r:.80}"
    return None


def _is_amount(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max
