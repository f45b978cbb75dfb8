"""Tables of times for the report, from what records say."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retgk.paper.report_tables import Entry, Grid, Line, grid_of_lines, is_computed, list_text
from retgk.paper.table_cells import TABLES, read_settings
from retgk.paper.table_results import CellSummary, Row, published_times

__all__ = [
    "BESIDE",
    "TotalTime",
    "baseline_grid",
    "difference_text",
    "seconds_text",
    "set_times_grid",
    "total_times",
    "total_times_grid",
]

BESIDE = "†"
"""Mark of times that were taken beside accuracies."""
_BESIDE_NOTE = (
    f"{BESIDE}: from runs for accuracies (medians over repetitions), where there is no run for "
    "times; the machine may have had other work."
)
_PARTS = {
    "rpf": "return probabilities",
    "gram": "inner products",
    "kernel": "kernel values",
}
"""Parts of the time of a kernel in records, and their columns."""


def seconds_text(seconds: float) -> str:
    """Seconds as people read them: 0.31 s, 42 s, 3m17s, 2h3m."""
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02d}s" if minutes < 100 else f"{minutes // 60}h{minutes % 60:02d}m"


@dataclass(frozen=True)
class TotalTime:
    """Time of kernel computation of one method on the sets of a table."""

    table: int
    method: str
    published: str
    """As the paper writes it; empty where it does not."""
    seconds: Mapping[str, float]
    """Of rpf, gram and kernel."""
    sets: list[str]
    """Sets that it is for."""
    missing: list[str]
    """The other sets of the table."""
    beside: list[str]
    """Sets whose time was taken beside accuracies."""
    is_resumed: bool
    """Whether the seconds lack those before a kill."""

    @property
    def n_sets(self) -> int:
        """Number of sets of the table."""
        return len(self.sets) + len(self.missing)

    def which_text(self) -> str:
        """Which sets the sum is for, if not for all: the shorter of two ways to say it."""
        if len(self.missing) > len(self.sets):
            return f"{list_text(self.sets)} only"
        return f"without {list_text(self.missing)}" if self.missing else ""

    def text(self) -> str:
        """The sum as people read it, with its marks."""
        total = seconds_text(sum(self.seconds.values())) + (BESIDE if self.beside else "")
        return f"at least {total}" if self.is_resumed else total

    def beside_text(self) -> str:
        """Sets whose time was taken beside accuracies."""
        is_all = len(self.beside) == len(self.sets) > 1
        return "all" if is_all else ", ".join(self.beside)


def total_times(rows: Sequence[Row]) -> list[TotalTime]:
    """Time of kernel computation of whole tables, for every table and method that has times."""
    found = []
    for table in TABLES:
        for method, settings in read_settings(f"table_{table}")["methods"].items():
            if settings["kind"] == "network":
                continue  # which has no kernel
            own = [row for row in rows if (row.table, row.method) == (table, method)]
            done = [(row, row.times) for row in own if is_computed(row.times)]
            if done:
                total = TotalTime(
                    table,
                    method,
                    published_times().get((table, method), ""),
                    {part: sum(times.seconds[part] for _, times in done) for part in _PARTS},
                    [row.dataset for row, _ in done],
                    [row.dataset for row in own if not is_computed(row.times)],
                    [row.dataset for row, _ in done if not row.is_timed],
                    any(times.is_resumed for _, times in done),
                )
                found.append(total)
    return found


def total_times_grid(rows: Sequence[Row]) -> Grid:
    """Time of kernel computation of whole tables, beside the published."""
    totals = total_times(rows)
    is_marked = any(each.beside for each in totals)
    lines = []
    for each in totals:
        sets = ", ".join(filter(None, [f"{len(each.sets)} of {each.n_sets}", each.which_text()]))
        line: Line = {
            "table": f"Table {each.table}",
            "method": each.method,
            "paper": each.published,
            "here": each.text(),
            **{name: seconds_text(each.seconds[part]) for part, name in _PARTS.items()},
            **({f"sets with {BESIDE}": each.beside_text()} if is_marked else {}),
            "sets": Entry(sets, kind="text"),
        }
        lines.append(line)
    notes = [
        "The paper's times are from another machine (an Intel i7-7820HQ; MATLAB and C++) and are "
        "for all sets of a table. Both without support vector machines. All run in parallel here."
    ]
    notes += [_BESIDE_NOTE] if is_marked else []
    return grid_of_lines("times", "Total time of kernel computation", lines, notes)


def set_times_grid(rows: Iterable[Row]) -> Grid:
    """Time of every cell."""
    done = [(row, row.times) for row in rows if row.times is not None]
    lines: list[Line] = [
        {
            "set": row.dataset,
            "method": row.method,
            "table": f"Table {row.table}",
            **_part_texts(times, "" if row.is_timed else BESIDE),
            "support vector machines, a repetition (threads)": (
                "" if times.failure else _svm_text(row.paper)
            ),
        }
        for row, times in done
    ]
    notes = [
        "Kernels run in parallel. Support vector machines: medians over repetitions of the runs "
        "for accuracies; times with other threads do not compare."
    ]
    is_any_beside = any(not row.is_timed and not times.failure for row, times in done)
    notes += [_BESIDE_NOTE] if is_any_beside else []
    return grid_of_lines("set_times", "Time of every set", lines, notes)


def _part_texts(times: CellSummary, mark: str) -> dict[str, str]:
    """Seconds of every part; a failure stands in the middle."""
    if times.failure:
        return dict(zip(_PARTS.values(), ["", times.failure, ""], strict=True))
    return {name: seconds_text(times.seconds[part]) + mark for part, name in _PARTS.items()}


def _svm_text(paper: CellSummary | None) -> str:
    """Seconds of the support vector machines of a repetition, and the threads that they had."""
    if not is_computed(paper):
        return ""
    return f"{seconds_text(paper.seconds['svm'])} ({', '.join(map(str, paper.threads))})"


def baseline_grid(measurements: Sequence[Mapping[str, Any]]) -> Grid:
    """The published method in plain NumPy against retgk, on samples of the sets."""
    lines: list[Line] = [
        {
            "set": each["set"],
            "method": each["method"],
            "table": f"Table {each['table']}",
            "graphs compared": f"{each['sample']} of {each['graphs']}",
            "published method, NumPy": seconds_text(each["published"]),
            "retgk": seconds_text(each["ours"]),
            "ratio": f"{each['published'] / each['ours']:.1f}x",
            "runs of each": str(each["runs"]),
            "largest difference": difference_text(each),
        }
        for each in measurements
    ]
    note = (
        "On the same random graphs, from graphs to inner products; medians of runs that took "
        "turns. The published method has a process per core for return probabilities and for the "
        "inner products of RetGK_I; the feature maps of RetGK_II it makes in one process, whose "
        "matrix products use all cores. Largest difference: of an inner product of RetGK_I to the "
        "published method's; RetGK_II draws other frequencies."
    )
    title = "Ratio to the published method in plain NumPy"
    return grid_of_lines("baseline", title, lines, [note])


def difference_text(measurement: Mapping[str, Any]) -> str:
    """Largest difference of inner products to the published method's, where both are exact."""
    difference = measurement["difference"]
    return "" if difference is None else f"{difference:.0e}"
