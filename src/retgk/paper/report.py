"""
The report: Markdown, tidy CSV, PNG and one HTML page, from records alone.

The order of the page is in `_grids`. Columns of the paper's tables come from ``settings`` (see
`retgk.paper.table_cells`); those of other tables and of CSV files are keys of one mapping each.
"""

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from retgk.errors import InvalidInputError
from retgk.paper.figures import (
    Curve,
    figure_1_picture,
    figure_2_curves,
    figure_2_pictures,
    plateau_grid,
)
from retgk.paper.records import Record, read_records
from retgk.paper.report_fair import (
    FairResult,
    fair_grid,
    fair_lines,
    fair_pictures,
    fair_results,
)
from retgk.paper.report_peers import peers_grid, peers_note
from retgk.paper.report_tables import (
    OURS,
    Grid,
    accuracy_grid,
    both_protocols_grid,
    copies_grid,
    is_computed,
    outside_grid,
    summary_grid,
    tried_grid,
)
from retgk.paper.report_text import legend, open_sentence, protocols_grid, provenance_sentences
from retgk.paper.report_times import (
    TotalTime,
    baseline_grid,
    difference_text,
    set_times_grid,
    total_times,
    total_times_grid,
)
from retgk.paper.table_cells import TABLES
from retgk.paper.table_results import (
    CellSummary,
    Row,
    Variation,
    n_grakel_records,
    n_unknown_records,
    records_by_cell,
    table_rows,
    variations,
)
from retgk.plot.figure_files import Picture
from retgk.runtime.storage import atomic_path

__all__ = ["csv_files", "published_seconds", "write_report"]

TITLE = "RetGK: the tables and figures of the paper, computed again"
_KNOWN_FILES = {
    "baseline.csv", "cells.csv", "fair.csv", "figure_2.csv", "times.csv", "variations.csv",
    "fair.png", "figure_1.png", "figure_2_D0.png", "figure_2_Dc.png", "figure_2_S.png",
}  # fmt: skip
"""Files that a report may have: those of an earlier one must not outlive what they showed."""


def write_report(
    records: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    baseline: str | os.PathLike[str] | None = None,
) -> Path:
    """
    Write ``report.md``, ``report.html``, CSV and PNG files into a folder, and return the page.

    Files of an earlier report that this one does not have are removed. `baseline` is a file of
    records of the published method in plain NumPy (``benchmarks/records/paper.jsonl``).
    """
    _check_inputs_kept([*records, *([baseline] if baseline is not None else [])], Path(output))
    found = [record for path in records for record in _read_some_records(Path(path))]
    cells = records_by_cell(found)
    tried = variations(cells)
    rows = [row for table in TABLES for row in table_rows(table, cells)]
    curves, measurements = figure_2_curves(cells), _read_measurements(baseline)
    fair = fair_results(cells)
    grids = _grids(rows, curves, tried, measurements, fair)
    pictures = [figure_1_picture(), *figure_2_pictures(curves), *fair_pictures(fair)]
    still_open = open_sentence(cells, has_baseline=bool(measurements))
    sentences = provenance_sentences(
        found, n_unknown_records(cells), n_grakel_records(cells), still_open
    )
    texts = csv_files(rows, curves, tried, measurements, fair)
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


def _check_inputs_kept(inputs: Sequence[str | os.PathLike[str]], folder: Path) -> None:
    """Raise if the report would replace or remove what it is made from."""
    for name in (*_KNOWN_FILES, "report.md", "report.html"):
        made = folder / name
        for path in map(Path, inputs):
            if made.exists() and path.exists() and made.samefile(path):
                raise InvalidInputError(
                    f"the report would be written over {path}; choose another folder for it"
                )


def _read_some_records(path: Path) -> list[Record]:
    records = read_records(path)
    if not records:
        raise InvalidInputError(f"{path} has no records; make some with `retgk paper run`")
    return records


def _write(path: Path, text: str) -> None:
    with atomic_path(path, follow_links=False) as unfinished:
        unfinished.write_text(text, "utf-8")


def _read_measurements(baseline: str | os.PathLike[str] | None) -> list[Mapping[str, Any]]:
    if baseline is None:
        return []
    return [json.loads(line) for line in Path(baseline).read_text("utf-8").splitlines()]


def _grids(
    rows: Sequence[Row],
    curves: Sequence[Curve],
    tried: Sequence[Variation],
    measurements: Sequence[Mapping[str, Any]],
    fair: Sequence[FairResult],
) -> list[Grid]:
    """All tables; those that depend on records of some kind only if they have rows."""
    tables = [
        accuracy_grid(table, [row for row in rows if row.table == table], peers_note(table))
        for table in TABLES
    ]
    others = [
        tried_grid(rows, tried),
        fair_grid(fair),
        protocols_grid(),
        both_protocols_grid(rows),
        copies_grid(rows),
        total_times_grid(rows),
        baseline_grid(measurements),
        set_times_grid(rows),
        plateau_grid(curves),
    ]
    filled = [grid for grid in others if grid.rows]
    off = [outside_grid(rows, tried), peers_grid(rows, tried)]
    return [summary_grid(rows), *tables, *off, *filled]


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


# CSV files

_SECONDS = ("rpf", "gram", "kernel", "svm")
Line = Mapping[str, Any]


def csv_files(
    rows: Sequence[Row],
    curves: Sequence[Curve],
    tried: Sequence[Variation],
    measurements: Sequence[Mapping[str, Any]],
    fair: Sequence[FairResult] = (),
) -> dict[str, str]:
    """
    Content of the CSV files of a report, by name; a file without lines is left out.

    Accuracies are in per cent, fields without a number empty.
    """
    lines = {
        "cells.csv": _cell_lines(rows),
        "times.csv": map(_time_line, total_times(rows)),
        "figure_2.csv": _point_lines(curves),
        "variations.csv": map(_variation_line, tried),
        "baseline.csv": map(_baseline_line, measurements),
        "fair.csv": fair_lines(fair),
    }
    made = {name: list(own) for name, own in lines.items()}
    return {name: _csv_text(own) for name, own in made.items() if own}


def _csv_text(lines: Sequence[Line]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _csv_field(value) for name, value in line.items()} for line in lines)
    return buffer.getvalue()


def _csv_field(value: Any) -> Any:
    """Numbers to four places, nothing for what is not known."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return "" if np.isnan(value) else round(value, 4)
    return "" if value is None else value


def _cell_lines(rows: Iterable[Row]) -> Iterator[Line]:
    """Cells by the paper's protocol, run or not; by the other ways if they were run."""
    for row in rows:
        yield _cell_line(row, row.paper, "paper")
        if row.nested is not None:
            yield _cell_line(row, row.nested, "nested")
        if row.deduplicated is not None:
            yield _cell_line(row, row.deduplicated, "paper", deduplicate=True)
        if row.timed is not None:
            yield _cell_line(row, row.timed, "time")


def _cell_line(
    row: Row, summary: CellSummary | None, protocol: str, *, deduplicate: bool = False
) -> Line:
    stated = row.published
    is_judged = summary is row.paper and row.method in OURS
    seconds = dict(summary.seconds) if summary else {}
    threads = " ".join(map(str, summary.threads)) if summary else ""
    if protocol == "time":
        seconds.pop("svm", None)  # there were none
        threads = ""
    return {
        "table": row.table,
        "set": row.dataset,
        "method": row.method,
        "protocol": protocol,
        "deduplicate": deduplicate,
        **_statistics(summary),
        "published": stated.accuracy if stated else None,
        "published_sd": stated.deviation if stated else None,
        "verdict": row.verdict if is_judged else "",
        **{f"seconds_{part}": seconds.get(part) for part in _SECONDS},
        "svm_threads": threads,
        "peak_mb_of_process_so_far": summary.peak_megabytes if is_computed(summary) else None,
        "failure": summary.failure if summary else "",
    }


def _statistics(summary: CellSummary | None) -> Line:
    if summary is None:
        return {"mean": None, "sd": None, "n": 0}
    return {"mean": summary.accuracy, "sd": summary.deviation, "n": summary.n_repetitions}


def _time_line(total: TotalTime) -> Line:
    return {
        "table": total.table,
        "method": total.method,
        "n_sets": len(total.sets),
        "n_sets_of_table": total.n_sets,
        "missing_sets": " ".join(total.missing),
        "n_sets_beside_accuracies": len(total.beside),
        "published": total.published,
        "published_seconds": published_seconds(total.published),
        "seconds": sum(total.seconds.values()),
        **{f"seconds_{part}": value for part, value in total.seconds.items()},
        "is_at_least": total.is_resumed,
    }


def published_seconds(text: str) -> float | None:
    """
    Seconds of a time as the paper writes it; None of a bound.

    >>> published_seconds("48h14m"), published_seconds("49.9s"), published_seconds(">24h")
    (173640.0, 49.9, None)
    """
    parts = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:([\d.]+)s)?", text)
    if not text or parts is None:
        return None
    hours, minutes, seconds = (float(part or 0) for part in parts.groups())
    return 3600 * hours + 60 * minutes + seconds


def _point_lines(curves: Iterable[Curve]) -> Iterator[Line]:
    for curve in curves:
        points = zip(
            curve.values, curve.accuracies, curve.deviations, curve.n_repetitions, strict=True
        )
        for value, mean, deviation, n in points:
            yield {
                "set": curve.dataset,
                "parameter": curve.parameter,
                "value": value,
                "mean": mean,
                "sd": deviation,
                "n": n,
            }


def _variation_line(tried: Variation) -> Line:
    return {
        "table": tried.table,
        "set": tried.dataset,
        "method": tried.method,
        "change": tried.change,
        **_statistics(tried.summary),
        "verdict": tried.verdict,
        "failure": tried.summary.failure,
    }


def _baseline_line(each: Mapping[str, Any]) -> Line:
    names = ("table", "set", "method", "graphs", "sample", "runs")
    return {
        **{name: each[name] for name in names},
        "seconds_published": each["published"],
        "seconds_retgk": each["ours"],
        "largest_difference": difference_text(each),
    }
