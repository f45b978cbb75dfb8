"""Tables of the report, as Markdown and HTML; and those of accuracies, from records."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple, TypeGuard

import numpy as np

from retgk.paper.table_cells import TABLES, computed_methods, read_settings
from retgk.paper.table_results import (
    N_REPETITIONS,
    CellSummary,
    PublishedAccuracy,
    Row,
    Variation,
    published_methods,
    published_words,
)

__all__ = [
    "OURS",
    "Agreement",
    "Entry",
    "Grid",
    "Line",
    "accuracy_grid",
    "agreement",
    "both_protocols_grid",
    "copies_grid",
    "count_text",
    "grid_of_lines",
    "is_computed",
    "list_text",
    "outcome_of_changes",
    "outside_grid",
    "published_text",
    "summary_grid",
    "summary_text",
    "tried_grid",
]

OURS = ("RetGK_I", "RetGK_II", "RetGK_II(MC)")
_SIGNS = {"within": "", "above": " ▲", "below": " ▼", "": ""}

# Any table


class Entry(NamedTuple):
    """Text of a field, its second line, and what it is: a class of the page's style."""

    text: str
    detail: str = ""
    kind: str = ""


Line = dict[str, str | Entry]
"""Fields of a row by their columns."""


@dataclass(frozen=True)
class Grid:
    """A table with a title, and sentences below it; the name is that of its place in the page."""

    name: str
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    notes: Sequence[str] = field(default_factory=tuple)

    def markdown(self) -> str:
        """A section of a Markdown file."""
        lines = [list(self.header), ["---"] * len(self.header)]
        lines += [[_markdown_field(entry) for entry in row] for row in self.rows]
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        notes = "".join(f"\n{note}\n" for note in self.notes)
        return f"## {self.title}\n\n{table}\n{notes}"

    def html(self) -> str:
        """A section of the page."""
        header = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.header)
        rows = "\n".join(f"<tr>{''.join(_html_fields(row))}</tr>" for row in self.rows)
        notes = "".join(f"<p class=note>{escape(note)}</p>" for note in self.notes)
        return (
            f'<section id="{escape(self.name)}"><h2>{escape(self.title)}</h2>'
            f"<div class=wide tabindex=0><table><thead><tr>{header}</tr></thead>"
            f"<tbody>\n{rows}\n</tbody></table></div>{notes}</section>"
        )


def grid_of_lines(name: str, title: str, lines: Sequence[Line], notes: Sequence[str] = ()) -> Grid:
    """Table whose header is that of its first line."""
    header = list(lines[0]) if lines else []
    rows = [
        [each if isinstance(each, Entry) else Entry(each) for each in line.values()]
        for line in lines
    ]
    return Grid(name, title, header, rows, notes)


def _markdown_field(entry: Entry) -> str:
    text = f"**{entry.text}**" if entry.kind in ("above", "below") else entry.text
    detail = f"*{entry.detail}*" if entry.detail and entry.kind == "quoted" else entry.detail
    both = f"{text}<br>{detail}" if text and detail else text or detail
    return both.replace("|", "\\|")


def _html_fields(row: Sequence[Entry]) -> list[str]:
    fields = []
    for position, entry in enumerate(row):
        tag, scope = ("th", ' scope="row"') if position == 0 else ("td", "")
        kind = f' class="{escape(entry.kind)}"' if entry.kind else ""
        detail = f"<small>{escape(entry.detail)}</small>" if entry.detail else ""
        fields.append(f"<{tag}{scope}{kind}>{escape(entry.text)}{detail}</{tag}>")
    return fields


def list_text(names: Sequence[str]) -> str:
    """Names as a text has them: a, b and c."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def count_text(number: int, thing: str) -> str:
    """A number of things, with the word in its form."""
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def is_computed(summary: CellSummary | None) -> TypeGuard[CellSummary]:
    """Whether there are records of a cell that did not fail."""
    return summary is not None and not summary.failure


def _accuracy_text(accuracy: float, deviation: float) -> str:
    """Mean accuracy, and its deviation in brackets if there is one."""
    return f"{accuracy:.1f}" if np.isnan(deviation) else f"{accuracy:.1f} ({deviation:.1f})"


def published_text(published: PublishedAccuracy | None) -> str:
    """What the paper states, or nothing."""
    return _accuracy_text(*published) if published else ""


def summary_text(summary: CellSummary | None) -> str:
    """What was computed, or why it was not."""
    if summary is None or summary.failure:
        return "" if summary is None else summary.failure
    return _accuracy_text(summary.accuracy, summary.deviation)


# The tables of the paper


def accuracy_grid(table: int, rows: Sequence[Row], note: str = "") -> Grid:
    """
    A table of the paper, sets by methods: what was computed, and below it what is published.

    The `note` says what methods of other authors see.
    """
    settings = read_settings(f"table_{table}")
    methods = _columns(table, computed_methods(table))
    found = {(row.dataset, row.method): row for row in rows}
    lines = [
        [Entry(name), *(_accuracy_entry(found[name, method]) for method in methods)]
        for name in settings["sets"]
    ]
    notes = [f"{name}: {text}." for name, text in settings.get("notes", {}).items()]
    notes += [*filter(None, [note]), *_repetition_notes(rows)]
    title = f"Table {table}: {settings['title']}, accuracy in %"
    return Grid(f"table_{table}", title, ["set", *methods], lines, notes)


def _columns(table: int, computed: list[str]) -> list[str]:
    """Methods of a table: those that the paper is about first, where narrow screens show them."""
    known = list(dict.fromkeys(published_methods(table) + computed))
    return sorted(known, key=lambda name: not name.startswith("RetGK"))


def _accuracy_entry(row: Row) -> Entry:
    words = published_words(row.table).get((row.dataset, row.method), "")
    stated = f"paper {published_text(row.published) or words}" if row.published or words else ""
    if row.paper is None:
        return Entry("not run", stated, "open")
    if row.paper.failure:
        return Entry("", "; ".join(filter(None, [row.paper.failure, stated])), "failed")
    if row.deviations_off is not None:
        stated += f", {row.deviations_off:+.1f} sd"
    # the paper states few settings of others, so that a difference does not speak for or against us
    verdict = row.verdict if row.method in OURS else ""
    return Entry(summary_text(row.paper) + _SIGNS[verdict], stated, verdict)


def _repetition_notes(rows: Iterable[Row]) -> list[str]:
    """Which cells have fewer repetitions than the paper's ten."""
    few = [
        f"{row.dataset} {row.method} ({row.paper.n_repetitions})"
        for row in rows
        if is_computed(row.paper) and row.paper.n_repetitions < N_REPETITIONS
    ]
    return [f"Fewer than {N_REPETITIONS} repetitions: {', '.join(few)}."] if few else []


# Agreement with the paper


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
    lines: list[Line] = [
        {
            "table": f"Table {found.table}",
            "cells": str(found.n_cells),
            "within": str(found.n_within),
            "above ▲": str(found.n_above),
            "below ▼": str(found.n_below),
            "open": str(found.n_open),
            "repetitions": found.repetitions,
        }
        for found in (agreement(table, rows) for table in TABLES)
    ]
    note = (
        "Cells of RetGK_I, RetGK_II and RetGK_II(MC). Within: at most two published standard "
        "deviations, or 1.0 point where that is larger, from the published accuracy. Open: not "
        "run yet."
    )
    return grid_of_lines("summary", "Agreement with the paper", lines, [note])


def outside_grid(rows: Iterable[Row], tried: Sequence[Variation]) -> Grid:
    """Cells that are not where the paper has them, with what is known about them."""
    remarks = read_settings("remarks")
    lines = []
    for row in rows:
        if row.verdict not in ("above", "below") or row.method not in OURS:
            continue
        remark = remarks.get(str(row.table), {}).get(row.dataset, {}).get(row.method, "")
        texts = [
            row.dataset, row.method, f"Table {row.table}", published_text(row.published),
            summary_text(row.paper) + _SIGNS[row.verdict], f"{row.deviations_off:+.1f}",
        ]  # fmt: skip
        text = " ".join(filter(None, [outcome_of_changes(row, tried), remark]))
        lines.append([*map(Entry, texts), Entry(text, kind="text")])
    header = ["set", "method", "table", "paper", "here", "difference in published sd", "remark"]
    notes = [] if lines else ["There are none."]
    return Grid("outside", "Cells outside the tolerance", header, lines, notes)


def outcome_of_changes(row: Row, tried: Iterable[Variation]) -> str:
    """Which changes bring a cell within the tolerance; nothing where none was tried."""
    place = (row.table, row.dataset, row.method)
    own = [each for each in tried if (each.table, each.dataset, each.method) == place]
    within = [
        f"{each.change} ({count_text(each.summary.n_repetitions, 'repetition')})"
        for each in own
        if each.verdict == "within"
    ]
    if within:
        return f"Within with {', or with '.join(within)}."
    return "Not within with any change that was tried." if own else ""


_MEANINGS = {
    "copies_share_walks": (
        "copies of a graph get the same walks, as RetGKEmbedding draws them; in the tables every "
        "copy walks for itself"
    ),
}
"""Of settings whose names do not say enough."""


def tried_grid(rows: Iterable[Row], tried: Sequence[Variation]) -> Grid:
    """Changed settings, beside the settings of the table and beside the paper."""
    known = {(row.table, row.dataset, row.method): row for row in rows}
    lines = []
    for each in tried:
        row = known.get((each.table, each.dataset, each.method))
        line: Line = {
            "set": each.dataset,
            "method": each.method,
            "table": f"Table {each.table}",
            "change": each.change,
            "here, as in the table": (summary_text(row.paper) if row else "") or "not run",
            "paper": published_text(each.published),
            "here, changed": summary_text(each.summary),
            "repetitions": str(each.summary.n_repetitions),
            "verdict": Entry(each.verdict + _SIGNS[each.verdict], kind=each.verdict),
        }
        lines.append(line)
    note = (
        "All other settings are those of the table; by the paper's protocol. The verdict is on the "
        "changed settings, by the tolerance of the tables and from the repetitions given."
    )
    meanings = [
        f"{name}: {meaning}."
        for name, meaning in _MEANINGS.items()
        if any(name in each.change for each in tried)
    ]
    return grid_of_lines("tried", "What was tried", lines, [note, *meanings])


def both_protocols_grid(rows: Iterable[Row]) -> Grid:
    """Accuracies by both protocols side by side."""
    lines = []
    for row in rows:
        if not (is_computed(row.nested) and is_computed(row.paper)):
            continue
        line: Line = {
            "set": row.dataset,
            "method": row.method,
            "table": f"Table {row.table}",
            "paper": published_text(row.published),
            "paper's protocol": summary_text(row.paper),
            "nested protocol": summary_text(row.nested),
            "difference": f"{row.nested.accuracy - row.paper.accuracy:+.1f}",
            "repetitions": f"{row.paper.n_repetitions}, {row.nested.n_repetitions}",
        }
        lines.append(line)
    return grid_of_lines("both_protocols", "Both protocols side by side", lines)


def copies_grid(rows: Iterable[Row]) -> Grid:
    """Accuracy with and without copies of graphs."""
    lines = []
    for row in rows:
        if not (is_computed(row.deduplicated) and is_computed(row.paper)):
            continue
        other = row.deduplicated
        line: Line = {
            "set": row.dataset,
            "method": row.method,
            "table": f"Table {row.table}",
            "all graphs": summary_text(row.paper),
            "without copies": summary_text(other),
            "difference": f"{other.accuracy - row.paper.accuracy:+.1f}",
            "dropped (of another class)": (
                f"{other.n_dropped} ({other.n_dropped_of_other_target})"
            ),
        }
        lines.append(line)
    return grid_of_lines("copies", "Without copies of graphs", lines)
