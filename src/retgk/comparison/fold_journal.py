"""
A journal of finished folds, from which a comparison that was stopped goes on.

It is a file of records (`runtime/record_files.py`), or a list in memory. The first record says
which comparison it is; all others are of one fold, with scores or with a failure.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from retgk.comparison.comparison_plan import ComparisonPlan, Place
from retgk.errors import InvalidInputError, Remedy
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
        yield FoldJournal(records[1:], writer)


def _check_key(first: dict[str, Any], plan: ComparisonPlan, path: Path) -> None:
    if first.get("comparison") == plan.key:
        return
    if "comparison" not in first:
        what = "is no journal of a comparison"
    else:
        now = plan.as_record()
        other = [f"{name} {first[name]}" for name in now if first.get(name) != now[name]]
        told = f" ({', '.join(other)})" if other else ""
        what = f"is the journal of another comparison{told}: other graphs, targets, folds or seed"
    raise InvalidInputError(
        f"{path} {what}", Remedy("journal", "give another file as journal, or remove this one")
    )
