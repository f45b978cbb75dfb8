"""Tables of times for the report, from what records say."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from retgk.paper.cells import TABLES, read_settings
from retgk.paper.published import published_times
from retgk.paper.report_grids import Entry, Grid
from retgk.paper.report_sections import has_accuracy
from retgk.paper.summaries import Row

__all__ = ["baseline_grid", "seconds_text", "set_times_grid", "total_times_grid"]


def seconds_text(seconds: float) -> str:
    """Seconds as people read them: 0.31 s, 42 s, 3m17s, 2h3m."""
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02d}s" if minutes < 100 else f"{minutes // 60}h{minutes % 60:02d}m"


def total_times_grid(rows: Sequence[Row]) -> Grid:
    """Time of kernel computation of whole tables, beside the published."""
    lines = []
    for table in TABLES:
        for method in read_settings(f"table_{table}")["methods"]:
            own = [row for row in rows if (row.table, row.method) == (table, method)]
            done = [row.times for row in own if has_accuracy(row.times)]
            if not done:
                continue
            total = sum(each.kernel_seconds for each in done)
            parts = [sum(each.seconds[part] for each in done) for part in ("rpf", "gram", "kernel")]
            is_resumed = any(each.is_resumed for each in done)
            texts = [
                f"Table {table}", method, f"{len(done)} of {len(own)}",
                published_times().get((table, method), ""),
                ("at least " if is_resumed else "") + seconds_text(total),
                *map(seconds_text, parts),
            ]  # fmt: skip
            lines.append([Entry(text) for text in texts])
    header = [
        "table", "method", "sets", "paper", "here", "return probabilities", "inner products",
        "kernel values",
    ]  # fmt: skip
    note = (
        "The paper's times are from another machine (an Intel i7-7820HQ; MATLAB and C++) and are "
        "for all sets of a table. Both without support vector machines."
    )
    return Grid("times", "Total time of kernel computation", header, lines, [note])


def set_times_grid(rows: Iterable[Row]) -> Grid:
    """Time and memory of every cell."""
    lines = []
    for row in rows:
        times = row.times
        if times is None:
            continue
        if times.failure:
            fields = ["", "", "", "", times.failure]
        else:
            fields = [seconds_text(times.seconds[part]) for part in ("rpf", "gram", "kernel")]
            machines = row.paper.seconds.get("svm") if row.paper else None
            fields.append("" if machines is None else seconds_text(machines))
            fields.append(f"{times.peak_megabytes:.0f} MB")
        texts = [row.dataset, row.method, f"Table {row.table}", *fields]
        lines.append([Entry(text) for text in texts])
    header = [
        "set", "method", "table", "return probabilities", "inner products", "kernel values",
        "support vector machines, a repetition", "peak memory of the process so far",
    ]  # fmt: skip
    return Grid("set_times", "Time of every set", header, lines)


def baseline_grid(measurements: Sequence[Mapping[str, Any]]) -> Grid:
    """The published method in plain NumPy against retgk, on samples of the sets."""
    lines = [
        [
            Entry(str(text))
            for text in (
                each["set"], each["method"], f"Table {each['table']}",
                f"{each['sample']} of {each['graphs']}", seconds_text(each["published"]),
                seconds_text(each["ours"]), f"{each['published'] / each['ours']:.1f}x",
            )
        ]
        for each in measurements
    ]  # fmt: skip
    header = [
        "set", "method", "table", "graphs compared", "published method, NumPy", "retgk", "ratio",
    ]  # fmt: skip
    note = (
        "Both in the same run on the same random graphs, from graphs to inner products, with all "
        "cores: the published method with one process per core."
    )
    return Grid("baseline", "Ratio to the published method in plain NumPy", header, lines, [note])
