"""What the report shows as tidy CSV files: one line of numbers for each thing measured."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from retgk.paper.figure_2 import Curve
from retgk.paper.report_outside import Variation
from retgk.paper.report_sections import OURS, succeeded
from retgk.paper.report_times import TotalTime, difference_text, total_times
from retgk.paper.summaries import Measured, Row

__all__ = ["csv_files", "published_seconds"]

_SECONDS = ("rpf", "gram", "kernel", "svm")
Line = Mapping[str, Any]


def csv_files(
    rows: Sequence[Row],
    curves: Sequence[Curve],
    tried: Sequence[Variation],
    measurements: Sequence[Mapping[str, Any]],
) -> dict[str, str]:
    """
    Content of the CSV files of a report, by name; a file without lines is left out.

    Parameters
    ----------
    rows : sequence of Row
        Of all tables.
    curves : sequence of Curve
        Of figure 2.
    tried : sequence of Variation
        Changed settings.
    measurements : sequence of mapping
        Records of the published method in plain NumPy.

    Returns
    -------
    dict
        Texts. Accuracies are in per cent, fields without a number empty.
    """
    lines = {
        "cells.csv": _cell_lines(rows),
        "times.csv": map(_time_line, total_times(rows)),
        "figure_2.csv": _point_lines(curves),
        "variations.csv": map(_variation_line, tried),
        "baseline.csv": map(_baseline_line, measurements),
    }
    made = {name: list(own) for name, own in lines.items()}
    return {name: _text(own) for name, own in made.items() if own}


def _text(lines: Sequence[Line]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _field(value) for name, value in line.items()} for line in lines)
    return buffer.getvalue()


def _field(value: Any) -> Any:
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
    row: Row, measured: Measured | None, protocol: str, *, deduplicate: bool = False
) -> Line:
    stated = row.published
    is_judged = measured is row.paper and row.method in OURS
    seconds = dict(measured.seconds) if measured else {}
    threads = " ".join(map(str, measured.threads)) if measured else ""
    if protocol == "time":
        seconds.pop("svm", None)  # there were none
        threads = ""
    return {
        "table": row.table,
        "set": row.dataset,
        "method": row.method,
        "protocol": protocol,
        "deduplicate": deduplicate,
        **_statistics(measured),
        "published": stated.accuracy if stated else None,
        "published_sd": stated.deviation if stated else None,
        "verdict": row.verdict if is_judged else "",
        **{f"seconds_{part}": seconds.get(part) for part in _SECONDS},
        "svm_threads": threads,
        "peak_mb_of_process_so_far": measured.peak_megabytes if succeeded(measured) else None,
        "failure": measured.failure if measured else "",
    }


def _statistics(measured: Measured | None) -> Line:
    if measured is None:
        return {"mean": None, "sd": None, "n": 0}
    return {"mean": measured.accuracy, "sd": measured.deviation, "n": measured.n_repetitions}


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
        **_statistics(tried.measured),
        "verdict": tried.verdict,
        "failure": tried.measured.failure,
    }


def _baseline_line(each: Mapping[str, Any]) -> Line:
    names = ("table", "set", "method", "graphs", "sample", "runs")
    return {
        **{name: each[name] for name in names},
        "seconds_published": each["published"],
        "seconds_retgk": each["ours"],
        "largest_difference": difference_text(each),
    }
