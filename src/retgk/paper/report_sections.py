"""Tables of accuracies for the report, from what records say."""

from collections.abc import Iterable, Sequence
from typing import TypeGuard

import numpy as np

from retgk.paper.cells import TABLES, read_settings
from retgk.paper.curves import Curve
from retgk.paper.published import Published, published_methods
from retgk.paper.report_grids import Entry, Grid
from retgk.paper.summaries import Measured, Row

__all__ = [
    "accuracy_grid",
    "copies_grid",
    "has_accuracy",
    "outside_grid",
    "plateau_grid",
    "protocol_grid",
    "summary_grid",
]

OURS = ("RetGK_I", "RetGK_II", "RetGK_II(MC)")
_SIGN = {"within": "", "above": " ▲", "below": " ▼", "": ""}
_PLATEAU_POINTS = 1.0
_REPETITIONS = 10


def _number(accuracy: float, deviation: float) -> str:
    return f"{accuracy:.1f}" if np.isnan(deviation) else f"{accuracy:.1f} ({deviation:.1f})"


def _published(published: Published | None) -> str:
    return _number(*published) if published else ""


def _measured(measured: Measured | None) -> str:
    if measured is None or measured.failure:
        return "" if measured is None else measured.failure
    return _number(measured.accuracy, measured.deviation)


def has_accuracy(measured: Measured | None) -> TypeGuard[Measured]:
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
    notes += _repetition_notes(rows)
    title = f"Table {table}: {settings['title']}, accuracy in %"
    return Grid(f"table_{table}", title, ["set", *methods], lines, notes)


def _columns(table: int, computed: list[str]) -> list[str]:
    """Methods of a table: those that the paper is about first, where narrow screens show them."""
    known = list(dict.fromkeys(published_methods(table) + computed))
    return sorted(known, key=lambda name: not name.startswith("RetGK"))


def _accuracy_entry(row: Row) -> Entry:
    stated = f"paper {_published(row.published)}" if row.published else ""
    if row.paper is None:
        if row.is_quoted or not row.published:
            return Entry("", stated, "quoted")
        return Entry("open" if row.is_missing else "-", stated, "open")
    if row.paper.failure:
        return Entry("", "; ".join(filter(None, [row.paper.failure, stated])), "failed")
    if row.deviations_off is not None:
        stated += f", {row.deviations_off:+.1f} sd"
    # the settings of others are not the paper's, so that a difference says nothing
    verdict = row.verdict if row.method in OURS else ""
    return Entry(_measured(row.paper) + _SIGN[verdict], stated, verdict)


def _repetition_notes(rows: Iterable[Row]) -> list[str]:
    """Which cells have fewer repetitions than the paper's ten."""
    few = [
        f"{row.dataset} {row.method} ({row.paper.n_repetitions})"
        for row in rows
        if has_accuracy(row.paper) and row.paper.n_repetitions < _REPETITIONS
    ]
    return [f"Fewer than {_REPETITIONS} repetitions: {', '.join(few)}."] if few else []


def summary_grid(rows: Sequence[Row]) -> Grid:
    """How many cells of each table agree with the paper."""
    lines = []
    for table in TABLES:
        own = [row for row in rows if row.table == table and row.method in OURS and row.published]
        counts = [sum(row.verdict == each for row in own) for each in ("within", "above", "below")]
        repetitions = [row.paper.n_repetitions for row in own if row.verdict and row.paper]
        span = sorted({min(repetitions), max(repetitions)}) if repetitions else []
        numbers = [len(own), *counts, len(own) - sum(counts)]
        lines.append(
            [
                Entry(f"Table {table}"),
                *(Entry(str(number)) for number in numbers),
                Entry(" to ".join(map(str, span))),
            ]
        )
    header = [
        "table", "cells", "within", "above ▲", "below ▼", "open",
        "repetitions",
    ]  # fmt: skip
    note = (
        "Cells of RetGK_I, RetGK_II and RetGK_II(MC). Within: at most two published standard "
        "deviations, or 1.0 point where that is larger, from the published accuracy."
    )
    return Grid("summary", "Agreement with the paper", header, lines, [note])


def outside_grid(rows: Iterable[Row]) -> Grid:
    """Cells that are not where the paper has them, with what is known about them."""
    remarks = read_settings("remarks")
    lines = []
    for row in rows:
        if row.verdict not in ("above", "below") or row.method not in OURS:
            continue
        remark = remarks.get(str(row.table), {}).get(row.dataset, {}).get(row.method, "")
        texts = [
            row.dataset, row.method, f"Table {row.table}", _published(row.published),
            _measured(row.paper) + _SIGN[row.verdict], f"{row.deviations_off:+.1f}",
        ]  # fmt: skip
        lines.append([*map(Entry, texts), Entry(remark, kind="text")])
    header = ["set", "method", "table", "paper", "here", "difference in published sd", "remark"]
    notes = [] if lines else ["There are none."]
    return Grid("outside", "Cells outside two published deviations", header, lines, notes)


def protocol_grid(rows: Iterable[Row]) -> Grid:
    """Both protocols side by side."""
    lines = []
    for row in rows:
        if not (has_accuracy(row.nested) and has_accuracy(row.paper)):
            continue
        difference = row.nested.accuracy - row.paper.accuracy
        texts = [
            row.dataset, row.method, f"Table {row.table}", _published(row.published),
            _measured(row.paper), _measured(row.nested), f"{difference:+.1f}",
            f"{row.paper.n_repetitions}, {row.nested.n_repetitions}",
        ]  # fmt: skip
        lines.append([Entry(text) for text in texts])
    header = [
        "set", "method", "table", "paper", "paper's protocol", "nested protocol", "difference",
        "repetitions",
    ]  # fmt: skip
    rules = read_settings("protocols")["nested"]
    note = (
        f"Nested: {rules['folds']} stratified folds; bandwidths, p and C are chosen by "
        f"{rules['inner_folds']}-fold cross-validation inside the training folds, medians are over "
        "training graphs. The paper's protocol takes medians over all graphs and the authors' "
        "settings for each set."
    )
    return Grid("protocols", "Two protocols", header, lines, [note])


def copies_grid(rows: Iterable[Row]) -> Grid:
    """Accuracy with and without copies of graphs."""
    lines = []
    for row in rows:
        if not (has_accuracy(row.deduplicated) and has_accuracy(row.paper)):
            continue
        difference = row.deduplicated.accuracy - row.paper.accuracy
        texts = [
            row.dataset, row.method, f"Table {row.table}", _measured(row.paper),
            _measured(row.deduplicated), f"{difference:+.1f}",
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
        off = curve.points_off()
        allowed = max(_PLATEAU_POINTS, 2 * float(np.nanmax([*curve.deviations, 0.0])))
        outside = [
            f"{curve.parameter}={value}: {points:+.1f}"
            for value, points in off.items()
            if abs(points) > allowed
        ]
        text = ", ".join(outside) or ("nowhere" if off else "not known yet")
        span = f"{min(curve.values)} to {max(curve.values)}"
        lines.append(
            [
                Entry(curve.dataset),
                Entry(curve.parameter),
                Entry(span),
                Entry(str(curve.paper_value)),
                Entry(text, kind="text"),
            ]
        )
    header = ["set", "parameter", "values", "in the tables", "not on the plateau, points off"]
    note = (
        "On the plateau: within 1.0 point of the accuracy at the value of the tables, or within "
        "two deviations over repetitions where these are larger."
    )
    return Grid("plateau", "Figure 2: where accuracy leaves its plateau", header, lines, [note])
