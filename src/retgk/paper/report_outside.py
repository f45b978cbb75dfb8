"""Cells that are not where the paper has them, and what was tried there."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from retgk.paper.cells import cell_key, read_settings
from retgk.paper.records import Record
from retgk.paper.report_grids import Entry, Grid
from retgk.paper.report_sections import OURS, SIGNS, measured_text, published_text
from retgk.paper.summaries import Measured, Row, add_record, is_variation, summary_of

__all__ = ["Variation", "outside_grid", "tried_grid", "variations"]


class Variation(NamedTuple):
    """A cell of a table with changed settings, and what they gave."""

    table: int
    dataset: str
    method: str
    change: str
    measured: Measured


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
            found.append(Variation(int(table), dataset, method, change, measured))
    return sorted(found, key=lambda each: (each.table, each.dataset, each.method))


def outside_grid(rows: Iterable[Row]) -> Grid:
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
        lines.append([*map(Entry, texts), Entry(remark, kind="text")])
    header = ["set", "method", "table", "paper", "here", "difference in published sd", "remark"]
    notes = [] if lines else ["There are none."]
    return Grid("outside", "Cells outside the tolerance", header, lines, notes)


def tried_grid(rows: Iterable[Row], tried: Sequence[Variation]) -> Grid:
    """Changed settings, beside the settings of the table and beside the paper."""
    known = {(row.table, row.dataset, row.method): row for row in rows}
    lines = []
    for each in tried:
        row = known.get((each.table, each.dataset, each.method))
        texts = [
            each.dataset, each.method, f"Table {each.table}", each.change,
            measured_text(each.measured), str(each.measured.n_repetitions),
            (measured_text(row.paper) if row else "") or "not run",
            published_text(row.published) if row else "",
        ]  # fmt: skip
        lines.append([Entry(text) for text in texts])
    header = [
        "set", "method", "table", "change", "here, changed", "repetitions",
        "here, as in the table", "paper",
    ]  # fmt: skip
    note = "All other settings are those of the table; by the paper's protocol."
    return Grid("tried", "What was tried", header, lines, [note])
