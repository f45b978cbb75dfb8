"""The report: Markdown, tidy CSV, PNG and one HTML page, from records alone."""

import json
import os
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from retgk.errors import InvalidInputError
from retgk.paper.figure_2 import Curve, curves
from retgk.paper.records import Record, read_records
from retgk.paper.report_csv import csv_files
from retgk.paper.report_facts import facts, legend
from retgk.paper.report_figures import Picture, figure_1, figure_2
from retgk.paper.report_grids import Grid
from retgk.paper.report_open import open_sentence
from retgk.paper.report_outside import Variation, outside_grid, tried_grid, variations
from retgk.paper.report_protocols import both_protocols_grid, protocols_grid
from retgk.paper.report_sections import accuracy_grid, copies_grid, plateau_grid, summary_grid
from retgk.paper.report_times import baseline_grid, set_times_grid, total_times_grid
from retgk.paper.summaries import Row, by_cell, n_unknown_records, table_rows
from retgk.paper.table_cells import TABLES
from retgk.runtime.storage import atomic_path

__all__ = ["write_report"]

TITLE = "RetGK: the tables and figures of the paper, computed again"
_KNOWN_FILES = {
    "baseline.csv", "cells.csv", "figure_2.csv", "times.csv", "variations.csv",
    "figure_1.png", "figure_2_D0.png", "figure_2_Dc.png", "figure_2_S.png",
}  # fmt: skip
"""Files that a report may have: those of an earlier one must not outlive what they showed."""


def write_report(
    records: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    baseline: str | os.PathLike[str] | None = None,
) -> Path:
    """
    Write the report into a folder.

    Parameters
    ----------
    records : sequence of path-like
        Files of records, of any number of runs.
    output : path-like
        Folder: gets ``report.md``, ``report.html``, CSV and PNG files. Those of an earlier report
        that this one does not have are removed.
    baseline : path-like, optional
        Records of the published method in plain NumPy (``benchmarks/records/paper.jsonl``).

    Returns
    -------
    Path
        The page.
    """
    found = [record for path in records for record in _records_of(Path(path))]
    cells, tried = by_cell(found), variations(found)
    rows = [row for table in TABLES for row in table_rows(table, cells)]
    points, measurements = curves(cells), _measurements(baseline)
    grids = _grids(rows, points, tried, measurements)
    pictures = [figure_1(), *figure_2(points)]
    sentences = facts(
        found, n_unknown_records(cells), open_sentence(cells, has_baseline=bool(measurements))
    )
    texts = csv_files(rows, points, tried, measurements)
    texts["report.md"] = _markdown(grids, pictures, [legend(is_page=False), *sentences])
    texts["report.html"] = _html(grids, pictures, [legend(is_page=True), *sentences])
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        _write(folder / name, text)
    names = [picture.save(folder).name for picture in pictures]
    for name in _KNOWN_FILES.difference(texts, names):
        (folder / name).unlink(missing_ok=True)
    return folder / "report.html"


def _records_of(path: Path) -> list[Record]:
    records = read_records(path)
    if not records:
        raise InvalidInputError(f"{path} has no records; make some with `retgk paper run`")
    return records


def _write(path: Path, text: str) -> None:
    with atomic_path(path) as unfinished:
        unfinished.write_text(text, "utf-8")


def _measurements(baseline: str | os.PathLike[str] | None) -> list[Mapping[str, Any]]:
    if baseline is None:
        return []
    return [json.loads(line) for line in Path(baseline).read_text("utf-8").splitlines()]


def _grids(
    rows: Sequence[Row],
    points: Sequence[Curve],
    tried: Sequence[Variation],
    measurements: Sequence[Mapping[str, Any]],
) -> list[Grid]:
    """All tables; those that depend on records of some kind only if they have rows."""
    tables = [accuracy_grid(table, [row for row in rows if row.table == table]) for table in TABLES]
    others = [
        tried_grid(rows, tried),
        protocols_grid(),
        both_protocols_grid(rows),
        copies_grid(rows),
        total_times_grid(rows),
        baseline_grid(measurements),
        set_times_grid(rows),
        plateau_grid(points),
    ]
    filled = [grid for grid in others if grid.rows]
    return [summary_grid(rows), *tables, outside_grid(rows, tried), *filled]


def _markdown(grids: Sequence[Grid], pictures: Sequence[Picture], sentences: Sequence[str]) -> str:
    parts = [f"# {TITLE}\n", *(f"{sentence}\n" for sentence in sentences)]
    parts += [grid.markdown() for grid in grids]
    parts += ["## Figures\n", *(picture.markdown() for picture in pictures)]
    return "\n".join(parts)


def _html(grids: Sequence[Grid], pictures: Sequence[Picture], sentences: Sequence[str]) -> str:
    """One page that needs nothing from anywhere else."""
    style = (resources.files("retgk.paper") / "report_page.css").read_text("utf-8")
    links = "".join(
        f'<li><a href="#{escape(grid.name)}">{escape(grid.title)}</a></li>' for grid in grids
    )
    paragraphs = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(TITLE)}</title><style>\n{style}</style></head>\n<body>"
        f"<h1>{escape(TITLE)}</h1>\n{paragraphs}"
        f'<nav><ul>{links}<li><a href="#figures">Figures</a></li></ul></nav>\n'
        + "\n".join(grid.html() for grid in grids)
        + '\n<section id="figures"><h2>Figures</h2><div class=figures>'
        + "\n".join(picture.html() for picture in pictures)
        + "</div></section>\n</body></html>\n"
    )
