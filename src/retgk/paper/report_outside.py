"""Cells that are not where the paper has them, and what was tried there."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from retgk.paper.published import Published, published_accuracies
from retgk.paper.records import Record
from retgk.paper.report_facts import n_of
from retgk.paper.report_grids import Entry, Grid
from retgk.paper.report_sections import OURS, SIGNS, measured_text, published_text
from retgk.paper.summaries import (
    Measured,
    Row,
    Verdict,
    add_record,
    is_variation,
    summary_of,
    verdict_of,
)
from retgk.paper.table_cells import cell_key, read_settings

__all__ = ["Variation", "outside_grid", "tried_grid", "variations"]

_MEANINGS = {
    "copies_share_walks": (
        "copies of a graph get the same walks, as RetGKEmbedding draws them; in the tables every "
        "copy walks for itself"
    ),
}
"""Of settings whose names do not say enough."""


class Variation(NamedTuple):
    """A cell of a table with changed settings, and what they gave."""

    table: int
    dataset: str
    method: str
    change: str
    measured: Measured
    published: Published | None

    @property
    def verdict(self) -> Verdict:
        """Where the accuracy stands against the published one."""
        return verdict_of(self.measured, self.published)


def variations(records: Iterable[Record]) -> list[Variation]:
    """
    What was tried: records whose place is "variation of table 1: n_walks=50".

    Parameters
    ----------
    records : iterable of dict
        Of any kind. Where the settings that are varied have changed between runs, those of the
        last record count.

    Returns
    -------
    list of Variation
        By table, set and method; changes in the order in which they were first tried.
    """
    tried: dict[tuple[str, str, str], dict[str, dict[int, Record]]] = {}
    for record in filter(is_variation, records):
        name = (record["place"], record["dataset"], record["method"])
        by_settings = tried.setdefault(name, {})
        key = cell_key(record)
        own = by_settings.pop(key, {})
        add_record(own, record)
        by_settings[key] = own  # last now
    found = []
    for (place, dataset, method), by_settings in tried.items():
        table, _, change = place.removeprefix("variation of table ").partition(": ")
        measured = summary_of(list(list(by_settings.values())[-1].values()))
        if measured is not None:
            published = published_accuracies(int(table)).get((dataset, method))
            found.append(Variation(int(table), dataset, method, change, measured, published))
    return sorted(found, key=lambda each: (each.table, each.dataset, each.method))


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
            measured_text(row.paper) + SIGNS[row.verdict], f"{row.deviations_off:+.1f}",
        ]  # fmt: skip
        text = " ".join(filter(None, [_outcome_of_changes(row, tried), remark]))
        lines.append([*map(Entry, texts), Entry(text, kind="text")])
    header = ["set", "method", "table", "paper", "here", "difference in published sd", "remark"]
    notes = [] if lines else ["There are none."]
    return Grid("outside", "Cells outside the tolerance", header, lines, notes)


def _outcome_of_changes(row: Row, tried: Iterable[Variation]) -> str:
    """Which changes bring a cell within the tolerance; nothing where none was tried."""
    place = (row.table, row.dataset, row.method)
    own = [each for each in tried if (each.table, each.dataset, each.method) == place]
    within = [
        f"{each.change} ({n_of(each.measured.n_repetitions, 'repetition')})"
        for each in own
        if each.verdict == "within"
    ]
    if within:
        return f"Within with {', or with '.join(within)}."
    return "Not within with any change that was tried." if own else ""


def tried_grid(rows: Iterable[Row], tried: Sequence[Variation]) -> Grid:
    """Changed settings, beside the settings of the table and beside the paper."""
    known = {(row.table, row.dataset, row.method): row for row in rows}
    lines = []
    for each in tried:
        row = known.get((each.table, each.dataset, each.method))
        texts = [
            each.dataset, each.method, f"Table {each.table}", each.change,
            (measured_text(row.paper) if row else "") or "not run",
            published_text(each.published), measured_text(each.measured),
            str(each.measured.n_repetitions),
        ]  # fmt: skip
        verdict = Entry(each.verdict + SIGNS[each.verdict], kind=each.verdict)
        lines.append([*map(Entry, texts), verdict])
    header = [
        "set", "method", "table", "change", "here, as in the table", "paper", "here, changed",
        "repetitions", "verdict",
    ]  # fmt: skip
    note = (
        "All other settings are those of the table; by the paper's protocol. The verdict is on the "
        "changed settings, by the tolerance of the tables and from the repetitions given."
    )
    meanings = [
        f"{name}: {meaning}."
        for name, meaning in _MEANINGS.items()
        if any(name in each.change for each in tried)
    ]
    return Grid("tried", "What was tried", header, lines, [note, *meanings])
