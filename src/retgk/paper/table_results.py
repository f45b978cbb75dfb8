"""What records say of the cells of the tables, beside the numbers that the paper states."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, NamedTuple

import numpy as np

from retgk.paper.frankenstein import REBUILT
from retgk.paper.records import Record
from retgk.paper.table_cells import (
    TABLES,
    Cell,
    Protocol,
    cell_key,
    computed_methods,
    fair_cells,
    figure_cells,
    read_settings,
    table_cells,
    variation_cells,
)

__all__ = [
    "N_REPETITIONS",
    "CellSummary",
    "PublishedAccuracy",
    "RecordsByCell",
    "Row",
    "Variation",
    "Verdict",
    "n_grakel_records",
    "n_unknown_records",
    "published_accuracies",
    "published_methods",
    "published_networks",
    "published_times",
    "published_words",
    "records_by_cell",
    "summary_of",
    "table_rows",
    "variations",
    "verdict",
]

# What the paper states

N_REPETITIONS = 10
"""Repetitions that every published accuracy is the mean of."""
_COLUMNS = {
    1: ("WL", "GK", "DGK", "PSCN", "RetGK_I", "RetGK_II", "RetGK_II(MC)"),
    2: ("SP", "WL", "GK", "CSM", "DGCNN", "DGK", "PSCN", "RetGK_I", "RetGK_II"),
    3: ("HGK(WL)", "RetGK_I", "RetGK_II"),
    4: ("GIK", "CSM", "RetGK_I", "RetGK_II"),
}
"""As printed; few rows have a number in every column, so that rows do not tell the order."""


class PublishedAccuracy(NamedTuple):
    """Accuracy in per cent, and its standard deviation over ten repetitions."""

    accuracy: float
    deviation: float


def _read_csv(name: str) -> list[dict[str, str]]:
    path = resources.files("retgk.paper") / "published" / f"{name}.csv"
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


_STANDS_FOR = {"FRANKENSTEIN": REBUILT}
"""Sets that are not to be had, and those that stand in their rows, beside their numbers."""


def _place(row: Mapping[str, str]) -> tuple[str, str]:
    """Set and method of a published number."""
    return _STANDS_FOR.get(row["dataset"], row["dataset"]), row["method"]


@cache
def published_accuracies(table: int) -> dict[tuple[str, str], PublishedAccuracy]:
    """Accuracies of a table, by set and method."""
    return {
        _place(row): PublishedAccuracy(float(row["accuracy"]), float(row["std"]))
        for row in _read_csv("accuracies")
        if int(row["table"]) == table and row["std"]
    }


@cache
def published_words(table: int) -> dict[tuple[str, str], str]:
    """What stands in a table in place of an accuracy, by set and method."""
    return {
        _place(row): row["accuracy"]
        for row in _read_csv("accuracies")
        if int(row["table"]) == table and not row["std"]
    }


def published_methods(table: int) -> list[str]:
    """Methods of a table, in the order of its columns."""
    return list(_COLUMNS[table])


@cache
def published_times() -> dict[tuple[int, str], str]:
    """Total time of kernel computation by table and method, as the paper writes it."""
    return {
        (int(row["table"]), row["method"]): row["total_time_of_kernel_computation"]
        for row in _read_csv("times")
    }


@cache
def published_networks() -> dict[tuple[str, str], PublishedAccuracy]:
    """Accuracies of networks on the folds of the fair table; deviations are over these folds."""
    return {
        (row["set"], row["method"]): PublishedAccuracy(
            float(row["accuracy"]), float(row["deviation"])
        )
        for row in _read_csv("fair_protocol")
    }


# What was computed

RecordsByCell = Mapping[str, Mapping[int, Record]]
"""Records by the key of their cell, then by repetition."""


@dataclass(frozen=True)
class CellSummary:
    """Accuracy of a cell over its repetitions, and what it took."""

    accuracy: float
    """In per cent."""
    deviation: float
    """Standard deviation over repetitions; nan where there is one only."""
    n_repetitions: int
    seconds: Mapping[str, float]
    """Of rpf, gram, kernel and svm: medians over repetitions, as some ran beside other work."""
    threads: tuple[int, ...] = ()
    """Numbers of threads that repetitions had."""
    peak_megabytes: float = 0.0
    failure: str = ""
    """Why there is no accuracy; empty where there is one."""
    is_resumed: bool = False
    """Whether the seconds lack those before a kill."""
    n_dropped: int = 0
    """Copies of graphs that were dropped."""
    n_dropped_of_other_target: int = 0
    """Those of another class than the copy that was kept."""


def records_by_cell(records: Iterable[Record]) -> dict[str, dict[int, Record]]:
    """
    Records of every cell by repetition, from any number of files.

    Of one repetition the last record counts, see `_add_record`.
    """
    found: dict[str, dict[int, Record]] = {}
    for record in records:
        _add_record(found.setdefault(cell_key(record), {}), record)
    return found


def _add_record(own: dict[int, Record], record: Record) -> None:
    """
    Put a record last among those of its cell, in place of an earlier one of its repetition.

    A failure replaces a failure, whose limits may have been lower, but no success.
    """
    earlier = own.get(record["repetition"])
    if record["failure"] and earlier and not earlier["failure"]:
        return
    own.pop(record["repetition"], None)
    own[record["repetition"]] = record


def summary_of(cell: Cell, records: RecordsByCell) -> CellSummary | None:
    """What the records say of a cell; None if there are none of its settings and protocol."""
    return _summary_of_records(list(records.get(cell_key(cell.identity()), {}).values()))


def _summary_of_records(own: Sequence[Record]) -> CellSummary | None:
    good = [record for record in own if not record["failure"]]
    if not good:
        return CellSummary(np.nan, np.nan, 0, {}, failure=own[-1]["failure"]) if own else None
    accuracies = [100 * float(np.mean(record["accuracies"] or [np.nan])) for record in good]
    return CellSummary(
        float(np.mean(accuracies)),
        float(np.std(accuracies, ddof=1)) if len(good) > 1 else np.nan,
        len(good),
        _median_seconds(good),
        tuple(sorted({record["n_jobs"] for record in good})),
        max(record["facts"].get("peak_mb") or 0.0 for record in good),
        is_resumed=any(record["facts"].get("resumed", False) for record in good),
        n_dropped=good[0]["n_dropped"],
        n_dropped_of_other_target=good[0]["n_dropped_of_other_target"],
    )


def _median_seconds(records: Sequence[Record]) -> dict[str, float]:
    parts = records[0]["seconds"]
    return {part: float(np.median([each["seconds"][part] for each in records])) for part in parts}


def n_unknown_records(records: RecordsByCell) -> int:
    """Number of records of no cell of the settings of this version, without those of GraKeL."""
    protocols: tuple[Protocol, ...] = ("paper", "nested", "time")
    cells = [
        cell
        for table in TABLES
        for protocol in protocols
        for deduplicate in (False, True)
        for cell in table_cells(table, protocol, deduplicate=deduplicate)
    ]
    cells += figure_cells(2) + fair_cells() + variation_cells()
    known = {cell_key(cell.identity()) for cell in cells}
    n_unknown = sum(len(own) for key, own in records.items() if key not in known)
    return n_unknown - n_grakel_records(records)


def n_grakel_records(records: RecordsByCell) -> int:
    """
    Number of records of GraKeL's kernels, which earlier versions had in the place of native ones.

    The `kind` of a record says which implementation made it; tables show native ones alone.
    """
    kinds = [record["settings"].get("kind") for own in records.values() for record in own.values()]
    return kinds.count("grakel")


# Both beside each other

_WITHIN_DEVIATIONS = 2.0
_WITHIN_POINTS = 1.0

Verdict = Literal["within", "above", "below", ""]


def verdict(summary: CellSummary | None, published: PublishedAccuracy | None) -> Verdict:
    """
    Whether an accuracy is within two published deviations, or one point if that is more.

    Empty where there is no accuracy on either side.
    """
    if summary is None or summary.failure or published is None:
        return ""
    tolerance = max(_WITHIN_DEVIATIONS * published.deviation, _WITHIN_POINTS)
    difference = summary.accuracy - published.accuracy
    if abs(difference) <= tolerance + 1e-9:
        return "within"
    return "above" if difference > 0 else "below"


@dataclass(frozen=True)
class Row:
    """One number of a table: what the paper states, and what both protocols gave."""

    table: int
    dataset: str
    method: str
    published: PublishedAccuracy | None
    paper: CellSummary | None
    nested: CellSummary | None
    deduplicated: CellSummary | None
    timed: CellSummary | None = None
    """Times from a run for times; those beside accuracies otherwise, see `times`."""

    @property
    def verdict(self) -> Verdict:
        """Where the accuracy stands against the published one."""
        return verdict(self.paper, self.published)

    @property
    def is_timed(self) -> bool:
        """Whether the seconds are from a run for times, not from one for accuracies."""
        if self.timed is None:
            return False
        return not self.timed.failure or self.paper is None or bool(self.paper.failure)

    @property
    def times(self) -> CellSummary | None:
        """What has the seconds of this cell."""
        return self.timed if self.is_timed else self.paper

    @property
    def deviations_off(self) -> float | None:
        """Difference to the published accuracy, in published deviations."""
        if not self.verdict or self.paper is None or self.published is None:
            return None
        return (self.paper.accuracy - self.published.accuracy) / self.published.deviation


def table_rows(table: int, records: RecordsByCell) -> list[Row]:
    """
    All numbers of a table, set by set.

    Methods are in the order of the paper; those that it does not have come last.
    """
    settings = read_settings(f"table_{table}")
    published = published_accuracies(table)
    paper = _summaries(table, records)
    nested = _summaries(table, records, "nested")
    deduplicated = _summaries(table, records, deduplicate=True)
    timed = _summaries(table, records, "time")
    places = [
        (dataset, method)
        for dataset in settings["sets"]
        for method in dict.fromkeys(published_methods(table) + computed_methods(table))
    ]
    return [
        Row(
            table,
            *place,
            published.get(place),
            paper.get(place),
            nested.get(place),
            deduplicated.get(place),
            timed.get(place),
        )
        for place in places
    ]


def _summaries(
    table: int, records: RecordsByCell, protocol: Protocol = "paper", *, deduplicate: bool = False
) -> dict[tuple[str, str], CellSummary]:
    """What there is of a table by a protocol, by set and method."""
    cells = table_cells(table, protocol, deduplicate=deduplicate)
    found = {(cell.dataset, cell.method): summary_of(cell, records) for cell in cells}
    return {place: value for place, value in found.items() if value is not None}


class Variation(NamedTuple):
    """A cell of a table with changed settings, and what they gave."""

    table: int
    dataset: str
    method: str
    change: str
    summary: CellSummary
    published: PublishedAccuracy | None

    @property
    def verdict(self) -> Verdict:
        """Where the accuracy stands against the published one."""
        return verdict(self.summary, self.published)


def variations(records: RecordsByCell) -> list[Variation]:
    """
    What was tried: cells of variations.toml that have records, whatever these were made for.

    They are in the order of table, set and method, then in that of the file.
    """
    found = []
    for cell in variation_cells():
        summary = summary_of(cell, records)
        if summary is not None:
            table, _, change = cell.place.removeprefix("variation of table ").partition(": ")
            published = published_accuracies(int(table)).get((cell.dataset, cell.method))
            own = (int(table), cell.dataset, cell.method, change)
            found.append(Variation(*own, summary, published))
    return sorted(found, key=lambda each: (each.table, each.dataset, each.method))
