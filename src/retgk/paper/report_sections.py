"""Tables of accuracies for the report, from what records say."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from retgk.paper.figure_2 import Curve
from retgk.paper.published import (
    N_REPETITIONS,
    Published,
    published_methods,
    published_words,
)
from retgk.paper.report_facts import listed
from retgk.paper.report_grids import Entry, Grid
from retgk.paper.summaries import Measured, Row
from retgk.paper.table_cells import TABLES, read_settings

__all__ = [
    "OURS",
    "SIGNS",
    "Agreement",
    "accuracy_grid",
    "agreement",
    "copies_grid",
    "measured_text",
    "plateau_grid",
    "published_text",
    "succeeded",
    "summary_grid",
]

OURS = ("RetGK_I", "RetGK_II", "RetGK_II(MC)")
SIGNS = {"within": "", "above": " ▲", "below": " ▼", "": ""}


def number_text(accuracy: float, deviation: float) -> str:
    """Mean accuracy, and its deviation in brackets if there is one."""
    return f"{accuracy:.1f}" if np.isnan(deviation) else f"{accuracy:.1f} ({deviation:.1f})"


def published_text(published: Published | None) -> str:
    """What the paper states."""
    return number_text(*published) if published else ""


def measured_text(measured: Measured | None) -> str:
    """What was computed, or why it was not."""
    if measured is None or measured.failure:
        return "" if measured is None else measured.failure
    return number_text(measured.accuracy, measured.deviation)


def succeeded(measured: Measured | None) -> TypeGuard[Measured]:
    """Whether a cell was computed, and did not fail."""
    return measured is not None and not measured.failure


def accuracy_grid(table: int, rows: Sequence[Row]) -> Grid:
    """
    A table of the paper: what was computed, and below it what the paper states.

    Parameters
    ----------
    table : int
        1 to 4.
    rows : sequence of Row
        Of that table.

    Returns
    -------
    Grid
        Sets by methods.
    """
    settings = read_settings(f"table_{table}")
    methods = _columns(table, list(settings["methods"]))
    found = {(row.dataset, row.method): row for row in rows}
    lines = [
        [Entry(name), *(_accuracy_entry(found[name, method]) for method in methods)]
        for name in settings["sets"]
    ]
    notes = [f"{name}: {text}." for name, text in settings.get("notes", {}).items()]
    notes += [f"{name} stays open: {text}." for name, text in settings.get("missing", {}).items()]
    notes += [_peers_note(settings), *_repetition_notes(rows)]
    title = f"Table {table}: {settings['title']}, accuracy in %"
    return Grid(f"table_{table}", title, ["set", *methods], lines, notes)


def _columns(table: int, computed: list[str]) -> list[str]:
    """Methods of a table: those that the paper is about first, where narrow screens show them."""
    known = list(dict.fromkeys(published_methods(table) + computed))
    return sorted(known, key=lambda name: not name.startswith("RetGK"))


def _accuracy_entry(row: Row) -> Entry:
    words = published_words(row.table).get((row.dataset, row.method), "")
    stated = f"paper {published_text(row.published) or words}" if row.published or words else ""
    if row.is_quoted:
        return Entry("", stated, "quoted")
    if row.paper is None:
        return Entry("no data" if row.is_missing else "not run", stated, "open")
    if row.paper.failure:
        return Entry("", "; ".join(filter(None, [row.paper.failure, stated])), "failed")
    if row.deviations_off is not None:
        stated += f", {row.deviations_off:+.1f} sd"
    # the settings of others are not the paper's, so that a difference says nothing
    verdict = row.verdict if row.method in OURS else ""
    return Entry(measured_text(row.paper) + SIGNS[verdict], stated, verdict)


_NO_PARAMETERS = ("kind", "uses_labels", "uses_attributes")


def _peers_note(table: Mapping[str, Any]) -> str:
    """What GraKeL's kernels see of the graphs of a table, and their parameters."""
    seeing: dict[str, list[str]] = {}
    for name, own in table["methods"].items():
        if own["kind"] == "grakel":
            values = [f"{key}={own[key]}" for key in own if key not in _NO_PARAMETERS]
            text = f"{name} ({', '.join(values)})" if values else name
            seeing.setdefault(_seen(name, {**table, **own}, table), []).append(text)
    parts = [
        f"{listed(names)} see{'' if names[1:] else 's'} {what}" for what, names in seeing.items()
    ]
    return f"GraKeL's kernels: {'; '.join(parts)}."


def _seen(name: str, used: Mapping[str, Any], table: Mapping[str, Any]) -> str:
    """What a kernel of GraKeL sees besides edges."""
    if name == "GK":
        return "edges alone, no labels"  # graphlets of GraKeL have none
    labels = "labels" if used["uses_labels"] else "node degrees in place of labels"
    if used["uses_attributes"]:
        return f"{labels} and attributes"
    return f"{labels}, no attributes" if table["uses_attributes"] else labels


def _repetition_notes(rows: Iterable[Row]) -> list[str]:
    """Which cells have fewer repetitions than the paper's ten."""
    few = [
        f"{row.dataset} {row.method} ({row.paper.n_repetitions})"
        for row in rows
        if succeeded(row.paper) and row.paper.n_repetitions < N_REPETITIONS
    ]
    return [f"Fewer than {N_REPETITIONS} repetitions: {', '.join(few)}."] if few else []


class Agreement(NamedTuple):
    """Numbers of cells of a table, and of their repetitions."""

    table: int
    n_cells: int
    n_within: int
    n_above: int
    n_below: int
    repetitions: str

    @property
    def n_open(self) -> int:
        """Cells without a record."""
        return self.n_cells - self.n_within - self.n_above - self.n_below


def agreement(table: int, rows: Sequence[Row]) -> Agreement:
    """How many cells of a table agree with the paper."""
    own = [row for row in rows if row.table == table and row.method in OURS and row.published]
    counts = Counter(row.verdict for row in own)
    repetitions = [row.paper.n_repetitions for row in own if row.verdict and row.paper]
    span = sorted({min(repetitions), max(repetitions)}) if repetitions else []
    return Agreement(
        table,
        len(own),
        n_within=counts["within"],
        n_above=counts["above"],
        n_below=counts["below"],
        repetitions=" to ".join(map(str, span)),
    )


def summary_grid(rows: Sequence[Row]) -> Grid:
    """How many cells of each table agree with the paper."""
    lines = []
    for found in (agreement(table, rows) for table in TABLES):
        numbers = [found.n_cells, found.n_within, found.n_above, found.n_below, found.n_open]
        texts = [f"Table {found.table}", *map(str, numbers), found.repetitions]
        lines.append([Entry(text) for text in texts])
    header = [
        "table", "cells", "within", "above ▲", "below ▼", "open",
        "repetitions",
    ]  # fmt: skip
    note = (
        "Cells of RetGK_I, RetGK_II and RetGK_II(MC). Within: at most two published standard "
        "deviations, or 1.0 point where that is larger, from the published accuracy. Open: not "
        "run yet, or the set is not to be had."
    )
    return Grid("summary", "Agreement with the paper", header, lines, [note])


def copies_grid(rows: Iterable[Row]) -> Grid:
    """Accuracy with and without copies of graphs."""
    lines = []
    for row in rows:
        if not (succeeded(row.deduplicated) and succeeded(row.paper)):
            continue
        difference = row.deduplicated.accuracy - row.paper.accuracy
        texts = [
            row.dataset, row.method, f"Table {row.table}", measured_text(row.paper),
            measured_text(row.deduplicated), f"{difference:+.1f}",
            f"{row.deduplicated.n_dropped} ({row.deduplicated.n_dropped_of_other_target})",
        ]  # fmt: skip
        lines.append([Entry(text) for text in texts])
    header = [
        "set", "method", "table", "all graphs", "without copies", "difference",
        "dropped (of another class)",
    ]  # fmt: skip
    return Grid("copies", "Without copies of graphs", header, lines)


def plateau_grid(curves: Iterable[Curve]) -> Grid:
    """Where the curves of figure 2 leave the accuracy of the tables' settings."""
    lines = []
    for curve in curves:
        outside = [
            f"{curve.parameter}={value}: {points:+.1f}"
            for value, points in curve.off_plateau().items()
        ]
        text = ", ".join(outside) or ("nowhere" if curve.points_off() else "not known yet")
        span = f"{min(curve.values)} to {max(curve.values)}"
        fields = [curve.dataset, curve.parameter, span, str(curve.paper_value)]
        lines.append([*map(Entry, fields), Entry(text, kind="text")])
    header = ["set", "parameter", "values", "in the tables", "not on the plateau, points off"]
    note = (
        "On the plateau: within 1.0 point of the accuracy at the value of the tables, or, where "
        "that is more, within two standard deviations of the difference: 2 sqrt(a^2 + b^2) with a "
        "and b the deviations over repetitions at the two values."
    )
    return Grid("plateau", "Figure 2: where accuracy leaves its plateau", header, lines, [note])
