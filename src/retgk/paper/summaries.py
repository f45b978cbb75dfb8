"""What records say: means and deviations over repetitions, beside the published numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from retgk.paper.published import Published, published_accuracies, published_methods
from retgk.paper.records import Record
from retgk.paper.table_cells import (
    TABLES,
    Cell,
    Protocol,
    cell_key,
    figure_cells,
    read_settings,
    table_cells,
)

__all__ = [
    "Measured",
    "Records",
    "Row",
    "Verdict",
    "add_record",
    "by_cell",
    "is_variation",
    "measured",
    "n_unknown_records",
    "summary_of",
    "table_rows",
    "verdict",
    "verdict_of",
]

_WITHIN_DEVIATIONS = 2.0
_WITHIN_POINTS = 1.0

Verdict = Literal["within", "above", "below", ""]
Records = Mapping[str, Mapping[int, Record]]


@dataclass(frozen=True)
class Measured:
    """
    Accuracy of a cell over its repetitions, and what it took.

    Attributes
    ----------
    accuracy, deviation : float
        In per cent; the deviation over repetitions is nan where there is one only.
    n_repetitions : int
        Number of repetitions.
    seconds : mapping
        Of rpf, gram, kernel and svm: medians over repetitions, which may have run beside other
        work.
    threads : tuple of int
        Numbers of threads that repetitions had.
    peak_megabytes : float
        Largest that was noted.
    failure : str
        Why there is no accuracy; empty where there is one.
    is_resumed : bool
        Whether the seconds lack those before a kill.
    n_dropped, n_dropped_of_other_target : int
        Copies of graphs that were dropped, and those of another class than the one kept.
    """

    accuracy: float
    deviation: float
    n_repetitions: int
    seconds: Mapping[str, float]
    threads: tuple[int, ...] = ()
    peak_megabytes: float = 0.0
    failure: str = ""
    is_resumed: bool = False
    n_dropped: int = 0
    n_dropped_of_other_target: int = 0


@dataclass(frozen=True)
class Row:
    """One number of a table: what the paper states, and what both protocols gave."""

    table: int
    dataset: str
    method: str
    published: Published | None
    paper: Measured | None
    nested: Measured | None
    deduplicated: Measured | None
    timed: Measured | None = None
    """Times from a run for times; those beside accuracies otherwise, see `times`."""
    is_quoted: bool = False
    """Whether the method is not computed here."""
    is_missing: bool = False
    """Whether the set is not to be had."""

    @property
    def verdict(self) -> Verdict:
        """Where the accuracy stands against the published one."""
        return verdict_of(self.paper, self.published)

    @property
    def is_timed(self) -> bool:
        """Whether the seconds are from a run for times, not from one for accuracies."""
        if self.timed is None:
            return False
        return not self.timed.failure or self.paper is None or bool(self.paper.failure)

    @property
    def times(self) -> Measured | None:
        """What has the seconds of this cell."""
        return self.timed if self.is_timed else self.paper

    @property
    def deviations_off(self) -> float | None:
        """Difference to the published accuracy, in published deviations."""
        if not self.verdict or self.paper is None or self.published is None:
            return None
        return (self.paper.accuracy - self.published.accuracy) / self.published.deviation


def verdict(accuracy: float, published: Published) -> Verdict:
    """Whether an accuracy is within two published deviations, or one point if that is more."""
    tolerance = max(_WITHIN_DEVIATIONS * published.deviation, _WITHIN_POINTS)
    difference = accuracy - published.accuracy
    if abs(difference) <= tolerance + 1e-9:
        return "within"
    return "above" if difference > 0 else "below"


def verdict_of(measured: Measured | None, published: Published | None) -> Verdict:
    """The same of what was measured; none where there is no accuracy on either side."""
    if measured is None or measured.failure or published is None:
        return ""
    return verdict(measured.accuracy, published)


def is_variation(record: Record) -> bool:
    """Whether a record is of a cell with changed settings, which no table shows."""
    return str(record["place"]).startswith("variation of ")


def by_cell(records: Iterable[Record]) -> dict[str, dict[int, Record]]:
    """
    Records of every cell by repetition; of one repetition the last counts, see `add_record`.

    Parameters
    ----------
    records : iterable of dict
        From any number of files; variations of cells are left out.

    Returns
    -------
    dict
        By the key of the cell, then by repetition.
    """
    found: dict[str, dict[int, Record]] = {}
    for record in records:
        if is_variation(record):
            continue
        add_record(found.setdefault(cell_key(record), {}), record)
    return found


def add_record(own: dict[int, Record], record: Record) -> None:
    """
    Add a record to those of its cell, in place of an earlier one of the same repetition.

    A failure replaces a failure, whose limits may have been lower, but no success.

    Parameters
    ----------
    own : dict
        Records of a cell by repetition; the one added last stands last.
    record : dict
        A later one.
    """
    earlier = own.get(record["repetition"])
    if record["failure"] and earlier and not earlier["failure"]:
        return
    own.pop(record["repetition"], None)
    own[record["repetition"]] = record


def measured(cell: Cell, records: Records) -> Measured | None:
    """
    What there is of a cell.

    Parameters
    ----------
    cell : Cell
        Its settings, protocol and copies count.
    records : mapping
        From `by_cell`.

    Returns
    -------
    Measured or None
        None where there is no record.
    """
    return summary_of(list(records.get(cell_key(cell.identity()), {}).values()))


def summary_of(own: Sequence[Record]) -> Measured | None:
    """What the records of a cell say; None where there is none."""
    good = [record for record in own if not record["failure"]]
    if not good:
        return Measured(np.nan, np.nan, 0, {}, failure=own[-1]["failure"]) if own else None
    accuracies = [100 * float(np.mean(record["accuracies"] or [np.nan])) for record in good]
    return Measured(
        float(np.mean(accuracies)),
        float(np.std(accuracies, ddof=1)) if len(good) > 1 else np.nan,
        len(good),
        _median_seconds(good),
        tuple(sorted({record["n_jobs"] for record in good})),
        max(record["facts"].get("peak_mb", 0.0) for record in good),
        is_resumed=any(record["facts"].get("resumed", False) for record in good),
        n_dropped=good[0]["n_dropped"],
        n_dropped_of_other_target=good[0]["n_dropped_of_other_target"],
    )


def _median_seconds(records: Sequence[Record]) -> dict[str, float]:
    parts = records[0]["seconds"]
    return {part: float(np.median([each["seconds"][part] for each in records])) for part in parts}


def table_rows(table: int, records: Records) -> list[Row]:
    """
    All numbers of a table: those that are computed, and those that are quoted only.

    Parameters
    ----------
    table : int
        1 to 4.
    records : mapping
        From `by_cell`.

    Returns
    -------
    list of Row
        Set by set; methods in the order of the paper, then those that it does not have.
    """
    settings = read_settings(f"table_{table}")
    published = published_accuracies(table)
    variants = {
        name: _measured_cells(table, records, protocol, deduplicate)
        for name, protocol, deduplicate in _VARIANTS
    }
    methods = dict.fromkeys(published_methods(table) + list(settings["methods"]))
    return [
        Row(
            table,
            dataset,
            method,
            published.get((dataset, method)),
            variants["paper"].get((dataset, method)),
            variants["nested"].get((dataset, method)),
            variants["copies"].get((dataset, method)),
            variants["time"].get((dataset, method)),
            is_quoted=method not in settings["methods"],
            is_missing=dataset in settings.get("missing", {}),
        )
        for dataset in settings["sets"]
        for method in methods
    ]


_VARIANTS: tuple[tuple[str, Protocol, bool], ...] = (
    ("paper", "paper", False),
    ("nested", "nested", False),
    ("copies", "paper", True),
    ("time", "time", False),
)


def _measured_cells(
    table: int, records: Records, protocol: Protocol, deduplicate: bool
) -> dict[tuple[str, str], Measured]:
    cells = table_cells(table, protocol, deduplicate=deduplicate)
    found = {(cell.dataset, cell.method): measured(cell, records) for cell in cells}
    return {place: value for place, value in found.items() if value is not None}


def n_unknown_records(records: Records) -> int:
    """Number of records that belong to no cell of the settings of this version."""
    known = {cell_key(cell.identity()) for cell in _all_cells()}
    return sum(len(own) for key, own in records.items() if key not in known)


def _all_cells() -> list[Cell]:
    protocols: tuple[Protocol, ...] = ("paper", "nested", "time")
    cells = [
        cell
        for table in TABLES
        for protocol in protocols
        for deduplicate in (False, True)
        for cell in table_cells(table, protocol, deduplicate=deduplicate)
    ]
    return cells + figure_cells(2)
