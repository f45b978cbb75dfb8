"""The report: Markdown, CSV, PNG and one HTML page, from records alone."""

import json
import os
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from retgk.datasets.storage import atomic_path
from retgk.errors import InvalidInputError
from retgk.paper.cells import TABLES
from retgk.paper.curves import Curve, curves
from retgk.paper.records import Record, read_records
from retgk.paper.report_figures import Picture, figure_1, figure_2
from retgk.paper.report_grids import Grid
from retgk.paper.report_sections import (
    accuracy_grid,
    copies_grid,
    outside_grid,
    plateau_grid,
    protocol_grid,
    summary_grid,
)
from retgk.paper.report_times import baseline_grid, set_times_grid, total_times_grid
from retgk.paper.summaries import Row, by_cell, n_unknown_records, table_rows

__all__ = ["write_report"]

TITLE = "RetGK: the tables and figures of the paper, computed again"


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
        Folder: gets ``report.md``, ``report.html``, a CSV file for each table, PNG files.
    baseline : path-like, optional
        Records of the published method in plain NumPy (``benchmarks/records/paper.jsonl``).

    Returns
    -------
    Path
        The page.
    """
    found = [record for path in records for record in _records_of(Path(path))]
    cells = by_cell(found)
    rows = [row for table in TABLES for row in table_rows(table, cells)]
    points = curves(cells)
    grids = _grids(rows, points, _measurements(baseline))
    pictures = [figure_1(), *figure_2(points)]
    facts = _facts(found, n_unknown_records(cells))
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    for grid in grids:
        _write(folder / f"{grid.name}.csv", grid.csv())
    names = [picture.save(folder).name for picture in pictures]
    captions = [picture.caption for picture in pictures]
    _write(folder / "report.md", _markdown(grids, dict(zip(names, captions, strict=True)), facts))
    page = folder / "report.html"
    _write(page, _html(grids, pictures, facts))
    return page


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
    rows: Sequence[Row], points: Sequence[Curve], measurements: Sequence[Mapping[str, Any]]
) -> list[Grid]:
    """All tables that have rows."""
    tables = [accuracy_grid(table, [row for row in rows if row.table == table]) for table in TABLES]
    others = [
        protocol_grid(rows),
        copies_grid(rows),
        total_times_grid(rows),
        baseline_grid(measurements),
        set_times_grid(rows),
        plateau_grid(points),
    ]
    filled = [grid for grid in others if grid.rows]
    return [summary_grid(rows), *tables, outside_grid(rows), *filled]


def _facts(records: Sequence[Record], n_unknown: int) -> list[str]:
    """Sentences on where the numbers come from."""
    last = records[-1]
    times = sorted(record["time"] for record in records)
    machine, versions = last["machine"], last["versions"]
    facts = [
        "In a field: the mean accuracy over repetitions here, with its standard deviation over "
        "them in brackets, and below it that of the paper; the difference is in published standard "
        "deviations (sd). Blue and ▲ is further above, orange and ▼ further below than agreed; in "
        "italics: quoted from the paper, not computed here. WL, SP, GK and CSM are GraKeL's.",
        f"Made from {len(records):,} records, {times[0][:10]} to {times[-1][:10]}; "
        f"{machine['cores']} cores of {machine['cpu']}, Python {versions['python']}, NumPy "
        f"{versions['numpy']}, scikit-learn {versions['scikit-learn']}, retgk {versions['retgk']}.",
        "RetGK_II draws its frequencies (and walks) anew for each repetition.",
    ]
    unfinished = sum(record.get("n_unfinished", 0) for record in records)
    if unfinished:
        facts.append(f"{unfinished} support vector machines hit the limit of iterations.")
    if n_unknown:
        facts.append(f"{n_unknown} records belong to no cell of this version and are left out.")
    return facts


def _markdown(grids: Sequence[Grid], pictures: Mapping[str, str], facts: Sequence[str]) -> str:
    parts = [f"# {TITLE}\n", *(f"{fact}\n" for fact in facts)]
    parts += [grid.markdown() for grid in grids]
    parts += [
        "## Figures\n",
        *(f"![{text}]({name})\n\n{text}\n" for name, text in pictures.items()),
    ]
    return "\n".join(parts)


def _html(grids: Sequence[Grid], pictures: Sequence[Picture], facts: Sequence[str]) -> str:
    """One page that needs nothing from anywhere else."""
    style = (resources.files("retgk.paper") / "report_page.css").read_text("utf-8")
    links = "".join(
        f'<li><a href="#{escape(grid.name)}">{escape(grid.title)}</a></li>' for grid in grids
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(TITLE)}</title><style>\n{style}</style></head>\n<body>"
        f"<h1>{escape(TITLE)}</h1>\n{''.join(f'<p>{escape(fact)}</p>' for fact in facts)}"
        f'<nav><ul>{links}<li><a href="#figures">Figures</a></li></ul></nav>\n'
        + "\n".join(grid.html() for grid in grids)
        + '\n<section id="figures"><h2>Figures</h2><div class=figures>'
        + "\n".join(picture.html() for picture in pictures)
        + "</div></section>\n</body></html>\n"
    )
