"""How the tables of the paper stand: a count of cells, and the list of the README."""

from pathlib import Path

from benchmarks.highlights import highlights
from benchmarks.markdown_tables import table
from reproduction.report_tables import BESIDE, agreement, total_times
from reproduction.tables import TABLES as PAPER_TABLES
from reproduction.tables import records_by_cell, table_rows
from retgk._runtime.files import read_records as read_paper_records

ROOT = Path(__file__).parent.parent
PAPER_RECORDS = ROOT / "docs" / "paper" / "records.jsonl.gz"


def paper_highlights():
    cells = records_by_cell(read_paper_records(PAPER_RECORDS))
    found = [row for number in PAPER_TABLES for row in table_rows(number, cells)]
    return highlights([agreement(number, found) for number in PAPER_TABLES])


def paper_table():
    """How many cells agree, and total kernel times beside the published ones."""
    cells = records_by_cell(read_paper_records(PAPER_RECORDS))
    found = [row for number in PAPER_TABLES for row in table_rows(number, cells)]
    totals = {(total.table, total.method): total for total in total_times(found)}
    rows = []
    for number in PAPER_TABLES:
        own = agreement(number, found)
        counts = [own.n_cells, *(own.verdicts[name] for name in ("within", "above", "below", ""))]
        times = [total_text(totals.get((number, method))) for method in ("RetGK_I", "RetGK_II")]
        rows.append([f"Table {number}", *counts, own.repetitions, *times])
    header = [
        "table", "cells", "within", "above", "below", "open", "repetitions",
        "kernel time of RetGK_I", "of RetGK_II",
    ]  # fmt: skip
    return "\n\n".join(filter(None, [table(header, rows), beside_sentence(totals.values())]))


def total_text(total):
    if total is None:
        return ""
    sets = ", ".join(
        filter(None, [f"{len(total.sets)} of {total.n_sets} sets", total.which_text()])
    )
    return f"{total.text()} for {sets} (paper, all: {total.published})"


def beside_sentence(totals):
    """Sets of RetGK_I and RetGK_II whose times are not from a run for times."""
    marked = [
        f"Table {total.table}, {total.method} on {total.beside_text()}"
        for total in totals
        if total.beside and total.method in ("RetGK_I", "RetGK_II")
    ]
    return f"{BESIDE} taken beside accuracies: {'; '.join(marked)}." if marked else ""
