"""
The report: Markdown, tidy CSV and PNG, from records alone.

The order of the page is in `_grids`. Columns of the paper's tables come from ``settings`` (see
`reproduction.tables`); those of other tables and of CSV files are keys of one mapping each.
"""

import csv
import io
import json
import os
import re
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
    TotalTime,
    accuracy_grid,
    baseline_grid,
    both_protocols_grid,
    copies_grid,
    count_text,
    difference_text,
    fair_grid,
    fair_lines,
    fair_pictures,
    fair_results,
    is_computed,
    outside_grid,
    peers_grid,
    peers_note,
    set_times_grid,
    summary_grid,
    total_times,
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
    """On the state of the computing code; older records do not tell."""
    digests = [record["versions"].get("source", "not noted") for record in records]
    if set(digests) == {"not noted"}:
        return []
    return [f"Digest of the computing code: {_distinct_text(digests)}."]


# Protocols

Rules = Mapping[str, Any]


def protocols_grid() -> Grid:
    """What is split, chosen and fixed, in the paper's protocol, the nested and the fair one."""
    rules = read_settings("protocols")
    texts = [
        _paper_texts(rules["paper"]),
        _nested_texts(rules["nested"]),
        _fair_texts(rules["fair"]),
    ]
    rows = [[name, *(own[name] for own in texts)] for name in texts[0]]
    notes = [
        "Accuracies of the tables are by the paper's protocol: test graphs have a part in its "
        "medians, and test accuracies may have had one in the authors' choices for each set.",
        f"In all, RetGK_I is computed with tol = {_tolerance_text()}: every inner product of mean "
        "embeddings is within tol of its exact value.",
    ]
    return Grid("Protocols", ["", "paper", "nested", "fair"], rows, notes)


def _paper_texts(rules: Rules) -> dict[str, str]:
    """What the paper's protocol does with every part of a method."""
    n_folds = rules["folds"]
    tenth = "tenth" if n_folds == 10 else f"part of 1/{n_folds}"
    return {
        "folds": "One random order of all graphs for each repetition, not stratified, cut into "
        f"{n_folds} folds of n - ceil({1 - 1 / n_folds:g} n) graphs. Where {n_folds} does not "
        f"divide n, up to {n_folds - 1} graphs are never tested.",
        "medians": "Over all graphs, test graphs included (transductive).",
        "C": f"From {_set_text(rules['c'])}, on a validation {tenth}; ties go to the larger C. "
        "Then training and validation graphs train together. This is the authors' code; the "
        "paper's text prints 1e-3 to 1e3.",
        "RetGK_I": "Bandwidth: the median. p, the number of steps S and a factor of the median of "
        "graphs are the authors' choices for each set. Bandwidth of attributes: 1 / "
        "sqrt(dimension).",
        "RetGK_II": "The scales of the frequencies, p and S are the authors' choices for each set.",
        "others": "C is chosen, together with what the notes of the tables call chosen (rounds of "
        "HGK(WL)); their other settings are fixed.",
        "cells": "All methods that are computed here, all sets.",
    }


def _nested_texts(rules: Rules) -> dict[str, str]:
    """The same of the nested protocol."""
    fixed = f"S = {rules['n_steps']}, factor {rules['median_scale']:g} of the median of graphs"
    powers = _set_text(rules["p"])
    return {
        "folds": f"{rules['folds']} stratified folds, drawn anew for each repetition; every graph "
        "is tested once.",
        "medians": "Over training graphs alone.",
        "C": f"From {_set_text(rules['c'])}, together with everything else that is chosen, by "
        f"{rules['inner_folds']}-fold cross-validation inside the training folds; ties go to the "
        "larger C.",
        "RetGK_I": "Chosen: the scale of the node kernel, 1 / median over training graphs rounded "
        f"to a power of {rules['gamma_ratio']:.3g}, times one of "
        f"{_set_text(rules['gamma_factors'])}; p from {powers}; C. Fixed: {fixed}, and 1 / "
        "sqrt(dimension) for attributes.",
        "RetGK_II": f"Chosen: the scale of frequencies from {_set_text(rules['structure_scale'])}, "
        f"that of attributes from {_set_text(rules['attribute_scale'])}; p from {powers}; C. "
        f"Fixed: {fixed}, and the widths of the tables.",
        "others": "C alone is chosen; their other settings are fixed.",
        "cells": f"{', '.join(rules['methods'])}; sets of at most {rules['max_graphs']:,} graphs.",
    }


def _fair_texts(rules: Rules) -> dict[str, str]:
    """The same of the fair protocol."""
    fair = read_settings("fair")
    exact, wide = fair["methods"]["RetGK_I depth"], fair["methods"]["RetGK_II depth"]
    n_iter = fair["methods"]["WL"]["n_iter"]
    return {
        "folds": "The ten fixed folds of Errica et al. (2020), each with one split of the other "
        "graphs for training and validation.",
        "medians": "Over training and validation graphs.",
        "C": f"From {_set_text(rules['c'])}, together with everything else that is chosen, on the "
        "validation graphs; ties go to the larger C. Then training and validation graphs train "
        "together.",
        "RetGK_I": f"The scale of the node kernel is 1 / median, rounded to a power of "
        f"{rules['gamma_ratio']:g}. As published: the settings of the tables. With depth, chosen: "
        f"the depth from {_set_text(exact['depth'])}, p from {_set_text(exact['p'])}, the factor "
        f"of the median of graphs from {_set_text(exact['median_scale'])}, and whether attributes "
        "are standardised, raw or left out. RetGKClassifier, as it comes, gets training and "
        "validation graphs, and chooses by its own cross-validation among them.",
        "RetGK_II": f'Feature map "phases" of {wide["n_components"]} columns and the default '
        "kernels; chosen as with depth above.",
        "others": f"WL: n_iter from {_set_text(n_iter)}, as far as limits of time and memory "
        "allow, and C. It sees labels, or node degrees where there are none; no attributes.",
        "cells": f"{len(fair['sets'])} sets with all labels and attributes that they have.",
    }


def _tolerance_text() -> str:
    cells = [cell for table in TABLES for cell in table_cells(table)]
    found = {cell.settings["tol"] for cell in cells if "tol" in cell.settings}
    return " or ".join(f"{tol:g}" for tol in sorted(found))


def _set_text(values: Sequence[float]) -> str:
    return "{" + ", ".join(f"{value:g}" for value in values) + "}"


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
    Write ``report.md``, CSV and PNG files into a folder, and return the page.

    Files of an earlier report that this one does not have are removed. `baseline` is a file of
    records of the published method in plain NumPy (``benchmarks/records/paper.jsonl``).
    """
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
    texts = csv_files(rows, curves, tried, measurements, fair)
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
    """Raise if the report would replace or remove what it is made from."""
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
