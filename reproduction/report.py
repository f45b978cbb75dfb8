"""
The report: Markdown, tidy CSV and PNG, from records alone.

The order of the page is in `_grids`. Columns of the paper's tables come from ``settings`` (see
`reproduction.tables`); those of other tables and of CSV files are keys of one mapping each.
"""

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.figures import (
    Curve,
    figure_1_picture,
    figure_2_curves,
    figure_2_pictures,
    plateau_grid,
)
from reproduction.report_tables import (
    OURS,
    FairResult,
    Grid,
    accuracy_grid,
    baseline_grid,
    both_protocols_grid,
    copies_grid,
    count_text,
    fair_grid,
    fair_pictures,
    fair_results,
    is_computed,
    outside_grid,
    peers_grid,
    peers_note,
    set_times_grid,
    summary_grid,
    total_times_grid,
    tried_grid,
)
from reproduction.tables import (
    TABLES,
    CellSummary,
    Row,
    Variation,
    n_unknown_records,
    read_settings,
    records_by_cell,
    table_cells,
    table_rows,
    variations,
)
from retgk._runtime.files import Record, atomic_path, read_records
from retgk.errors import InvalidInputError

# Sentences of the report: how to read it, where its numbers come from, what is open, protocols.

_PACKAGES = {
    "python": "Python",
    "numpy": "NumPy",
    "scipy": "SciPy",
    "numba": "numba",
    "scikit-learn": "scikit-learn",
    "torch": "PyTorch",
    "retgk": "retgk",
}


_LEGEND = (
    "In a field: the mean accuracy over repetitions here, with its standard deviation over them in "
    "brackets, and below it that of the paper; the difference is in published standard deviations "
    "(sd). Bold and ▲: above the tolerance, bold and ▼: below it. Methods of other authors are "
    "computed by the same protocol, but the paper states few of their settings, so that they are "
    "not judged; a table lists those that differ by more than three deviations."
)


def provenance_sentences(records: Sequence[Record], n_unknown: int) -> list[str]:
    """Where the numbers come from; `n_unknown` of the records are not shown."""
    days = sorted({record["time"][:10] for record in records})
    period = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    found = [
        f"Made from {count_text(len(records), 'record')}, {period}; "
        f"{_machine_text(records)}; {_version_text(records)}.",
        *_digest_sentences(records),
        "Accuracies of the tables are by the paper's protocol, whose medians see test graphs too; "
        "see Protocols. RetGK_II draws its frequencies (and walks) anew for each repetition.",
    ]
    n_unfinished = sum(record.get("n_unfinished", 0) for record in records)
    if n_unfinished:
        machines = count_text(n_unfinished, "support vector machine")
        found.append(f"{machines} hit the limit of iterations.")
    if n_unknown:
        found.append(f"Left out, of no cell of this version: {count_text(n_unknown, 'record')}.")
    return found


def _distinct_text(names: Iterable[str]) -> str:
    """Distinct names; with the number of records of each, if there are several."""
    counts = Counter(names)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name} ({count_text(n, 'record')})" for name, n in counts.items())


def _machine_text(records: Sequence[Record]) -> str:
    machines = (record["machine"] for record in records)
    names = (f"{count_text(each['cores'], 'core')} of {each['cpu']}" for each in machines)
    return _distinct_text(names)


def _version_text(records: Sequence[Record]) -> str:
    parts = []
    for key, name in _PACKAGES.items():
        known = dict.fromkeys(
            record["versions"][key] for record in records if key in record["versions"]
        )
        if known:
            parts.append(f"{name} {' and '.join(known)}")
    return ", ".join(parts)


def _digest_sentences(records: Sequence[Record]) -> list[str]:
    digests = [record["versions"].get("source", "not noted") for record in records]
    if set(digests) == {"not noted"}:
        return []
    return [f"Digest of the computing code: {_distinct_text(digests)}."]


# Protocols


def protocols_grid() -> Grid:
    """What is split, chosen and fixed by each protocol; settings give the numbers in the texts."""
    rules, fair = read_settings("protocols"), read_settings("fair")
    n_folds, methods = rules["paper"]["folds"], fair["methods"]
    numbers: dict[str, dict[str, Any]] = {
        "paper": {"share": 1 - 1 / n_folds, "n_untested": n_folds - 1},
        "nested": {
            "gamma_ratio": f"{rules['nested']['gamma_ratio']:.3g}",
            "max_graphs": f"{rules['nested']['max_graphs']:,}",
            "methods": ", ".join(rules["nested"]["methods"]),
        },
        "fair": {
            **{name: methods["RetGK_I depth"][name] for name in ("depth", "p", "median_scale")},
            "n_components": methods["RetGK_II depth"]["n_components"],
            "n_iter": methods["WL"]["n_iter"],
            "n_sets": len(fair["sets"]),
        },
    }
    texts = read_settings("protocol_texts")
    columns = []
    for name, own in texts.items():
        values = {key: _number_text(value) for key, value in (rules[name] | numbers[name]).items()}
        columns.append([text.format(**values) for text in own.values()])
    rows = [[part, *row] for part, *row in zip(texts["paper"], *columns, strict=True)]
    notes = [
        "Accuracies of the tables are by the paper's protocol: test graphs have a part in its "
        "medians, and test accuracies may have had one in the authors' choices for each set.",
        f"In all, RetGK_I is computed with tol = {_tolerance_text()}: every inner product of mean "
        "embeddings is within tol of its exact value.",
    ]
    return Grid("Protocols", ["", *texts], rows, notes)


def _tolerance_text() -> str:
    cells = [cell for table in TABLES for cell in table_cells(table)]
    found = {cell.settings["tol"] for cell in cells if "tol" in cell.settings}
    return " or ".join(f"{tol:g}" for tol in sorted(found))


def _number_text(value: Any) -> str:
    if isinstance(value, list):
        return "{" + ", ".join(map(_number_text, value)) + "}"
    return f"{value:g}" if isinstance(value, float) else str(value)


TITLE = "RetGK: the tables and figures of the paper, computed again"
_KNOWN_FILES = {
    "cells.csv", "figure_2.csv", "fair.png", "figure_1.png", "figure_2_D0.png", "figure_2_Dc.png",
    "figure_2_S.png",
}  # fmt: skip
"""Files that a report may have: those of an earlier one must not outlive what they showed."""


def write_report(
    records: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    baseline: str | os.PathLike[str] | None = None,
) -> Path:
    """Write ``report.md``, CSV and PNG files into a folder, and return the page."""
    _check_inputs_kept([*records, *([baseline] if baseline is not None else [])], Path(output))
    found = [record for path in records for record in _read_some_records(Path(path))]
    cells = records_by_cell(found)
    tried = variations(cells)
    rows = [row for table in TABLES for row in table_rows(table, cells)]
    curves, measurements = figure_2_curves(cells), []
    if baseline is not None:
        lines = Path(baseline).read_text("utf-8").splitlines()
        measurements = [json.loads(line) for line in lines]
    fair = fair_results(cells)
    grids = _grids(rows, curves, tried, measurements, fair)
    pictures = [figure_1_picture(), *figure_2_pictures(curves), *fair_pictures(fair)]
    sentences = [_LEGEND, *provenance_sentences(found, n_unknown_records(cells))]
    texts = csv_files(rows, curves)
    parts = [f"# {TITLE}\n", *(f"{sentence}\n" for sentence in sentences)]
    parts += [grid.markdown() for grid in grids]
    parts += ["## Figures\n", *(picture.markdown() for picture in pictures)]
    texts["report.md"] = "\n".join(parts)
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        with atomic_path(folder / name, follow_links=False) as unfinished:
            unfinished.write_text(text, "utf-8")
    names = [picture.save(folder).name for picture in pictures]
    for name in _KNOWN_FILES.difference(texts, names):
        (folder / name).unlink(missing_ok=True)
    return folder / "report.md"


def _check_inputs_kept(inputs: Sequence[str | os.PathLike[str]], folder: Path) -> None:
    for name in (*_KNOWN_FILES, "report.md"):
        made = folder / name
        for path in map(Path, inputs):
            if made.exists() and path.exists() and made.samefile(path):
                raise InvalidInputError(
                    f"the report would be written over {path}; choose another folder for it"
                )


def _read_some_records(path: Path) -> list[Record]:
    records = read_records(path)
    if not records:
        raise InvalidInputError(f"{path} has no records; make some: python -m reproduction run")
    return records


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


# CSV files

Line = Mapping[str, Any]


def csv_files(rows: Sequence[Row], curves: Sequence[Curve]) -> dict[str, str]:
    """Numbers of the tables and of the curves; accuracies in per cent, no file without lines."""
    lines = {"cells.csv": list(_cell_lines(rows)), "figure_2.csv": list(_point_lines(curves))}
    return {name: _csv_text(own) for name, own in lines.items() if own}


def _csv_text(lines: Sequence[Line]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _csv_field(value) for name, value in line.items()} for line in lines)
    return buffer.getvalue()


def _csv_field(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return "" if np.isnan(value) else round(value, 4)
    return "" if value is None else value


def _cell_lines(rows: Iterable[Row]) -> Iterator[Line]:
    """Cells by the paper's protocol, run or not; by the other ways if they were run."""
    for row in rows:
        yield _cell_line(row, row.paper, "paper")
        others = (
            (row.nested, "nested", False), (row.deduplicated, "paper", True),
            (row.timed, "time", False),
        )  # fmt: skip
        for summary, protocol, deduplicate in others:
            if summary is not None:
                yield _cell_line(row, summary, protocol, deduplicate=deduplicate)


def _cell_line(
    row: Row, summary: CellSummary | None, protocol: str, *, deduplicate: bool = False
) -> Line:
    found = summary or CellSummary(np.nan, np.nan, 0, {})
    accuracy, deviation = row.published or (None, None)
    has_machines = protocol != "time"
    is_judged = summary is row.paper and row.method in OURS
    return {
        "table": row.table,
        "set": row.dataset,
        "method": row.method,
        "protocol": protocol,
        "deduplicate": deduplicate,
        "mean": found.accuracy,
        "sd": found.deviation,
        "n": found.n_repetitions,
        "published": accuracy,
        "published_sd": deviation,
        "verdict": row.verdict if is_judged else "",
        **{
            f"seconds_{part}": found.seconds.get(part) if part != "svm" or has_machines else None
            for part in ("rpf", "gram", "kernel", "svm")
        },
        "svm_threads": " ".join(map(str, found.threads)) if has_machines else "",
        "peak_mb_of_process_so_far": found.peak_megabytes if is_computed(summary) else None,
        "failure": found.failure,
    }


def _point_lines(curves: Iterable[Curve]) -> Iterator[Line]:
    for curve in curves:
        points = (curve.values, curve.accuracies, curve.deviations, curve.n_repetitions)
        for point in zip(*points, strict=True):
            numbers = dict(zip(("value", "mean", "sd", "n"), point, strict=True))
            yield {"set": curve.dataset, "parameter": curve.parameter, **numbers}
