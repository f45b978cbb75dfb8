"""
What there is to compute: the cells of tables and figures, from the files in ``settings``.

A method ``[methods.NAME]`` of ``settings/table_N.toml`` is a column of that table. Its `kind` says
how it is computed: see `reproduction.runner.METHOD_KINDS`.
"""

import csv
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np

from reproduction.frankenstein import REBUILT
from retgk._runtime.files import Record, key_of
from retgk.errors import InvalidInputError

TABLES = (1, 2, 3, 4)
Protocol = Literal["paper", "nested", "time", "fair"]
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Cell:
    place: str
    """As in "table 2", "figure 2: S=20", "variation of table 1: p=2", or "fair table"."""
    dataset: str
    method: str
    settings: Settings = field(hash=False)
    """Everything that the result depends on, but for the protocol and the repetition."""
    protocol: Protocol = "paper"
    """How the accuracy is found; "time" is without."""
    deduplicate: bool = False
    """Whether copies of graphs are dropped first."""

    def identity(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "settings": dict(self.settings),
            "protocol": self.protocol,
            "protocol_settings": dict(protocol_settings(self.protocol)),
            "deduplicate": self.deduplicate,
        }

    def key(self, repetition: int) -> str:
        """Name of the record of one repetition; cells of the same settings share it."""
        return key_of({**self.identity(), "repetition": repetition})


def cell_key(identity: Mapping[str, Any]) -> str:
    """Name of a cell, from `Cell.identity` or from a record of any of its repetitions."""
    names = ("dataset", "settings", "protocol", "protocol_settings", "deduplicate")
    return key_of({name: identity[name] for name in names})


@cache
def read_settings(name: str) -> dict[str, Any]:
    """Content of a file of settings: "table_1" to "table_4", "protocols", "sets" and so on."""
    path = resources.files("reproduction") / "settings" / f"{name}.toml"
    return tomllib.loads(path.read_text("utf-8"))


def protocol_settings(protocol: Protocol) -> Settings:
    """Settings of a protocol that its results depend on, without those that choose cells."""
    settings = read_settings("protocols")[protocol]
    return {name: value for name, value in settings.items() if name not in _CHOICE_OF_CELLS}


_CHOICE_OF_CELLS = ("methods", "max_graphs")


def set_sizes(name: str) -> tuple[int, int, float]:
    """Graphs, classes and mean number of nodes of a set, as its makers state them."""
    n_graphs, n_classes, n_nodes = read_settings("sets").get(name, (1000, 2, 50.0))
    return n_graphs, n_classes, n_nodes


def table_cells(
    table: int, protocol: Protocol = "paper", *, deduplicate: bool = False
) -> list[Cell]:
    """Cells of a table that can be computed, set by set."""
    if table not in TABLES:
        raise InvalidInputError(f"there is no table {table}; choose from {TABLES}")
    settings = read_settings(f"table_{table}")
    cells = [
        Cell(
            f"table {table}",
            name,
            method,
            _cell_settings(settings, name, method),
            protocol,
            deduplicate,
        )
        for name in settings["sets"]
        for method in computed_methods(table)
    ]
    return [cell for cell in cells if _has_protocol(cell)]


def computed_methods(table: int) -> list[str]:
    return list(read_settings(f"table_{table}")["methods"])


def _cell_settings(table: Settings, name: str, method: str) -> dict[str, Any]:
    overrides = table.get("overrides", {}).get(name, {}).get(method, {})
    used = {use: table[use] for use in ("uses_labels", "uses_attributes")}
    chosen = {**table["methods"][method], **overrides}
    if chosen["kind"] in ("native", "network"):
        chosen["kernel"] = method
    return {**used, **table.get("editions", {}).get(name, {}), **chosen}


def _has_protocol(cell: Cell) -> bool:
    if cell.settings["kind"] == "network":  # days by the nested protocol, and no kernel to time
        return cell.protocol == "paper"
    choice = read_settings("protocols")[cell.protocol]
    if cell.method not in choice.get("methods", [cell.method]):
        return False
    return bool(set_sizes(cell.dataset)[0] <= choice.get("max_graphs", float("inf")))


# The fair table


def fair_cells() -> list[Cell]:
    """Cells of the table with fixed folds, set by set; a digest of the folds is in the settings."""
    settings = read_settings("fair")
    return [
        Cell("fair table", name, method, _fair_settings(name, method), "fair")
        for name in settings["sets"]
        for method in settings["methods"]
    ]


def _fair_settings(name: str, method: str) -> dict[str, Any]:
    fair = read_settings("fair")
    source, own = fair["sets"][name], fair["methods"][method]
    table = read_settings(f"table_{source['table']}")
    found = {use: table[use] for use in ("uses_labels", "uses_attributes")}
    if own["kind"] == "classifier":
        found["defaults"] = _classifier_defaults()
    if own["kind"] == "levels" and "n_steps" not in own:
        found |= _published_settings(table, name)
    found |= {**own, "folds": source["folds"]}
    if "scale_attributes" in found and not found["uses_attributes"]:
        found["scale_attributes"] = ["raw"]
    return found


def _published_settings(table: Settings, name: str) -> dict[str, Any]:
    published = _cell_settings(table, name, "RetGK_I")
    del published["structure_gamma"]  # the median, as in all others
    chosen = {key: [published[key]] for key in ("p", "median_scale")}
    return {**published, **chosen, "scale_attributes": ["raw"]}


@cache
def _classifier_defaults() -> dict[str, str]:
    from retgk.estimators.classifier import GraphClassifier
    from retgk.estimators.kernel import RetGK

    values = RetGK().get_params(deep=False) | GraphClassifier().get_params(deep=False)
    values["candidates"] = dict(RetGK().usual_candidates)  # of the kernel that is chosen from
    of_no_effect = ("n_jobs", "random_state", "verbose")
    return {key: repr(value) for key, value in values.items() if key not in of_no_effect}


def n_repetitions(cell: Cell, n_wanted: int) -> int:
    """Number of repetitions of a cell, of which so many are wanted, that are not all the same."""
    if cell.protocol != "fair":
        return n_wanted
    return min(n_wanted, int(read_settings("fair")["repetitions"].get(cell.method, 1)))


# Figures and variations


def figure_cells() -> list[Cell]:
    """Points of figure 2; those that agree with a cell of a table have its key."""
    settings = read_settings("figure_2")
    return [
        Cell(f"figure 2: {parameter}={value}", name, settings["method"], changed)
        for name, table in settings["sets"].items()
        for parameter, value, changed in _figure_2_points(name, table, settings)
    ]


def _figure_2_points(
    name: str, table: int, figure: Settings
) -> Iterator[tuple[str, int, dict[str, Any]]]:
    base = _cell_settings(read_settings(f"table_{table}"), name, figure["method"])
    widths: Sequence[int] = base["n_components"]
    for value in figure["values"]["S"]:
        yield "S", value, {**base, "n_steps": value}
    for value in figure["values"]["D0"]:
        yield "D0", value, {**base, "n_components": [value, widths[1]]}
    if base["uses_attributes"]:
        for value in figure["values"]["Dc"]:
            yield "Dc", value, {**base, "n_components": [widths[0], value]}


def variation_cells() -> list[Cell]:
    """Cells of tables with other settings, tried where a cell is not where the paper has it."""
    return [
        Cell(
            f"variation of table {table}: {_change_text(change)}",
            name,
            method,
            {**_cell_settings(read_settings(f"table_{table}"), name, method), **change},
        )
        for table, sets in read_settings("variations").items()
        for name, methods in sets.items()
        for method, changes in methods.items()
        for change in changes
    ]


def _change_text(change: Settings) -> str:
    """Settings and their values; of `choose` what there is to choose from."""
    return ", ".join(
        " or ".join(map(_change_text, value)) if name == "choose" else f"{name}={value}"
        for name, value in change.items()
    )


def chosen_cells(
    *,
    tables: Sequence[int] | None = None,
    figures: Sequence[int] | None = None,
    variations: bool = False,
    sets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    protocols: Sequence[Protocol] = ("paper",),
    deduplicate: bool = False,
) -> list[Cell]:
    """
    Cells that are asked for: all tables and figure 2 unless some of these or variations are named.

    `sets` and `methods` leave out cells of other names. Figures and variations are made by the
    paper's protocol alone; the fair protocol has one table of its own.
    """
    if "fair" in protocols and deduplicate:
        raise InvalidInputError(
            "the folds of the fair protocol are of all graphs; do not drop copies with it"
        )
    if list(protocols) == ["fair"] and tables is not None:
        raise InvalidInputError(
            "the fair protocol has a table of its own; leave the numbers of tables out"
        )
    for figure in figures or ():
        if figure not in (1, 2):
            raise InvalidInputError(f"there is no figure {figure}; choose from (1, 2)")
    if (figures or variations) and (deduplicate or "paper" not in protocols):
        raise InvalidInputError(
            "figures and variations are made by the paper's protocol with all graphs; leave them "
            "out, or take the protocol 'paper' without dropping copies"
        )
    if tables is None and figures is None and not variations:
        tables, figures = TABLES, (2,)
    cells = [
        cell
        for protocol in protocols
        if protocol != "fair"
        for table in tables or ()
        for cell in table_cells(table, protocol, deduplicate=deduplicate)
    ]
    cells += fair_cells() if "fair" in protocols else []
    if "paper" in protocols and not deduplicate:
        cells += figure_cells() if 2 in (figures or ()) else []  # figure 1 needs no records
    cells += variation_cells() if variations else []
    known_sets = {cell.dataset for cell in cells}
    _check_names("set", sets, known_sets)
    _check_names("method", methods, {cell.method for cell in cells})
    return [
        cell
        for cell in cells
        if (not sets or cell.dataset in sets) and (not methods or cell.method in methods)
    ]


def _check_names(what: str, wanted: Sequence[str] | None, known: set[str]) -> None:
    unknown = sorted(set(wanted or ()) - known)
    if unknown:
        raise InvalidInputError(
            f"no cell that is asked for has the {what} {unknown[0]!r}; choose from "
            f"{', '.join(sorted(known))}"
        )


# What records say of the cells of the tables, beside the numbers that the paper states.

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
    accuracy: float
    deviation: float


def _read_csv(name: str) -> list[dict[str, str]]:
    path = resources.files("reproduction") / "published" / f"{name}.csv"
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


_STANDS_FOR = {"FRANKENSTEIN": REBUILT}
"""Sets that are not to be had, and those that stand in their rows, beside their numbers."""


def _place(row: Mapping[str, str]) -> tuple[str, str]:
    return _STANDS_FOR.get(row["dataset"], row["dataset"]), row["method"]


@cache
def published_accuracies(table: int) -> dict[tuple[str, str], PublishedAccuracy]:
    return {
        _place(row): PublishedAccuracy(float(row["accuracy"]), float(row["std"]))
        for row in _read_csv("accuracies")
        if int(row["table"]) == table and row["std"]
    }


@cache
def published_words(table: int) -> dict[tuple[str, str], str]:
    return {
        _place(row): row["accuracy"]
        for row in _read_csv("accuracies")
        if int(row["table"]) == table and not row["std"]
    }


def published_methods(table: int) -> list[str]:
    return list(_COLUMNS[table])


@cache
def published_times() -> dict[tuple[int, str], str]:
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
    """Records of every cell by repetition, from any number of files."""
    found: dict[str, dict[int, Record]] = {}
    for record in records:
        _add_record(found.setdefault(cell_key(record), {}), record)
    return found


def _add_record(own: dict[int, Record], record: Record) -> None:
    """Put a record last, in place of that of its repetition; no failure replaces a success."""
    earlier = own.get(record["repetition"])
    if record["failure"] and earlier and not earlier["failure"]:
        return
    own.pop(record["repetition"], None)
    own[record["repetition"]] = record


def summary_of(cell: Cell, records: RecordsByCell) -> CellSummary | None:
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
    """Number of records of no cell of the settings of this version."""
    protocols: tuple[Protocol, ...] = ("paper", "nested", "time")
    cells = [
        cell
        for table in TABLES
        for protocol in protocols
        for deduplicate in (False, True)
        for cell in table_cells(table, protocol, deduplicate=deduplicate)
    ]
    cells += figure_cells() + fair_cells() + variation_cells()
    known = {cell_key(cell.identity()) for cell in cells}
    return sum(len(own) for key, own in records.items() if key not in known)


# Both beside each other

_WITHIN_DEVIATIONS = 2.0
_WITHIN_POINTS = 1.0

Verdict = Literal["within", "above", "below", ""]


def verdict(summary: CellSummary | None, published: PublishedAccuracy | None) -> Verdict:
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
        return verdict(self.paper, self.published)

    @property
    def is_timed(self) -> bool:
        """Whether the seconds are from a run for times, not from one for accuracies."""
        if self.timed is None:
            return False
        return not self.timed.failure or self.paper is None or bool(self.paper.failure)

    @property
    def times(self) -> CellSummary | None:
        return self.timed if self.is_timed else self.paper

    @property
    def deviations_off(self) -> float | None:
        if not self.verdict or self.paper is None or self.published is None:
            return None
        return (self.paper.accuracy - self.published.accuracy) / self.published.deviation


def table_rows(table: int, records: RecordsByCell) -> list[Row]:
    """All numbers of a table, set by set; methods that the paper does not have come last."""
    published = published_accuracies(table)
    ways: tuple[tuple[Protocol, bool], ...] = (
        ("paper", False), ("nested", False), ("paper", True), ("time", False),
    )  # fmt: skip
    summaries = [
        {
            (cell.dataset, cell.method): summary_of(cell, records)
            for cell in table_cells(table, protocol, deduplicate=deduplicate)
        }
        for protocol, deduplicate in ways
    ]
    methods = dict.fromkeys(published_methods(table) + computed_methods(table))
    return [
        Row(table, name, method, published.get((name, method)), *found)
        for name, method in product(read_settings(f"table_{table}")["sets"], methods)
        for found in [[own.get((name, method)) for own in summaries]]
    ]


class Variation(NamedTuple):
    table: int
    dataset: str
    method: str
    change: str
    summary: CellSummary
    published: PublishedAccuracy | None

    @property
    def verdict(self) -> Verdict:
        return verdict(self.summary, self.published)


def variations(records: RecordsByCell) -> list[Variation]:
    """What was tried: cells of variations.toml that have records, whatever these were made for."""
    found = []
    for cell in variation_cells():
        summary = summary_of(cell, records)
        if summary is not None:
            table, _, change = cell.place.removeprefix("variation of table ").partition(": ")
            published = published_accuracies(int(table)).get((cell.dataset, cell.method))
            own = (int(table), cell.dataset, cell.method, change)
            found.append(Variation(*own, summary, published))
    return sorted(found, key=lambda each: (each.table, each.dataset, each.method))
