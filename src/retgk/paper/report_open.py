"""What of the paper's tables and figures the records do not have yet, in one sentence."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from retgk.paper.published import N_REPETITIONS
from retgk.paper.report_facts import listed
from retgk.paper.summaries import Records, measured
from retgk.paper.table_cells import TABLES, Cell, Protocol, figure_cells, table_cells

__all__ = ["open_sentence"]

_WANTED: dict[Protocol, int] = {"paper": N_REPETITIONS, "nested": 3, "time": 1}
"""Repetitions of a cell."""
_NAMES: dict[Protocol, str] = {
    "paper": "{}",
    "nested": "{} by the nested protocol",
    "time": "times of {}",
}
_WANTED_POINTS = 3


def open_sentence(records: Records, *, has_baseline: bool = True) -> str:
    """
    Say what is open: cells without records, or with fewer repetitions than wanted.

    Parameters
    ----------
    records : mapping
        From `by_cell`.
    has_baseline : bool, default=True
        Whether there are records of the published method in plain NumPy.

    Returns
    -------
    str
        Empty where nothing is open. Cells of peers that were stopped are not, nor are those of
        sets that are not to be had.
    """
    parts = [text for protocol in _WANTED for text in _open_by(protocol, records)]
    points = figure_cells(2)
    n_open = sum(_n_missing(cell, records, _WANTED_POINTS) > 0 for cell in points)
    if n_open:
        parts.append(f"Figure 2, {n_open} of {len(points)} points")
    if not any(record["deduplicate"] for own in records.values() for record in own.values()):
        parts.append("tables without copies of graphs (--deduplicate)")
    if not has_baseline:
        parts.append("the published method in plain NumPy (benchmarks.bench_paper)")
    return f"Still to be run: {'; '.join(parts)}." if parts else ""


def _n_missing(cell: Cell, records: Records, n_wanted: int) -> int:
    """Repetitions that a cell lacks; none if it cannot be computed, for its time or otherwise."""
    found = measured(cell, records)
    if found is None and cell.protocol != "paper":
        beside = measured(replace(cell, protocol="paper"), records)
        found = beside if beside and beside.failure else None
    if found is None:
        return n_wanted
    return 0 if found.failure else max(0, n_wanted - found.n_repetitions)


def _open_by(protocol: Protocol, records: Records) -> list[str]:
    """What is open of a protocol, by table."""
    name = _NAMES[protocol]
    cells = {table: table_cells(table, protocol) for table in TABLES}
    if all(measured(cell, records) is None for own in cells.values() for cell in own):
        return [name.format("all tables")]
    return [
        f"{name.format(f'Table {table}')}, {text}"
        for table, own in cells.items()
        for text in _open_in_table(own, records, _WANTED[protocol])
    ]


def _open_in_table(cells: Sequence[Cell], records: Records, n_wanted: int) -> list[str]:
    """Methods that are open on all sets, together; then the others, by set."""
    lacking = {
        (cell.dataset, cell.method): n
        for cell in cells
        if (n := _n_missing(cell, records, n_wanted))
    }
    unrun = _unrun_methods(cells, lacking, n_wanted)
    alike: dict[str, list[str]] = {}
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        texts = [
            method if n == n_wanted else f"{method} ({n} of {n_wanted} repetitions)"
            for (name, method), n in lacking.items()
            if name == dataset and method not in unrun
        ]
        if texts:
            alike.setdefault(listed(texts), []).append(dataset)
    parts = [f"{listed(unrun)} on all sets"] if unrun else []
    return parts + [f"{text} on {listed(names)}" for text, names in alike.items()]


def _unrun_methods(
    cells: Iterable[Cell], lacking: dict[tuple[str, str], int], n_wanted: int
) -> list[str]:
    """Methods without any record."""
    done = {cell.method for cell in cells if lacking.get((cell.dataset, cell.method)) != n_wanted}
    return [method for method in dict.fromkeys(cell.method for cell in cells) if method not in done]
