"""Tables of times for the report, from what records say."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retgk.paper.published import published_times
from retgk.paper.report_facts import listed
from retgk.paper.report_grids import Entry, Grid
from retgk.paper.report_sections import succeeded
from retgk.paper.summaries import Measured, Row
from retgk.paper.table_cells import TABLES, read_settings

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
_PARTS = ("rpf", "gram", "kernel")


def seconds_text(seconds: float) -> str:
    """Seconds as people read them: 0.31 s, 42 s, 3m17s, 2h3m."""
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02d}s" if minutes < 100 else f"{minutes // 60}h{minutes % 60:02d}m"


@dataclass(frozen=True)
class TotalTime:
    """
    Time of kernel computation of one method on the sets of a table.

    Attributes
    ----------
    table : int
        Table.
    method : str
        Method.
    published : str
        As the paper writes it; empty where it does not.
    seconds : mapping
        Of rpf, gram and kernel.
    sets, missing : list of str
        Sets that it is for, and the others of the table.
    beside : list of str
        Sets of these whose time was taken beside accuracies.
    is_resumed : bool
        Whether the seconds lack those before a kill.
    """

    table: int
    method: str
    published: str
    seconds: Mapping[str, float]
    sets: list[str]
    missing: list[str]
    beside: list[str]
    is_resumed: bool

    @property
    def n_sets(self) -> int:
        """Number of sets of the table."""
        return len(self.sets) + len(self.missing)

    def which_text(self) -> str:
        """Which sets the sum is for, if not for all: the shorter of two ways to say it."""
        if len(self.missing) > len(self.sets):
            return f"{listed(self.sets)} only"
        return f"without {listed(self.missing)}" if self.missing else ""

    def text(self) -> str:
        """The sum as people read it, with its marks."""
        total = seconds_text(sum(self.seconds.values())) + (BESIDE if self.beside else "")
        return f"at least {total}" if self.is_resumed else total

    def beside_text(self) -> str:
        """Sets whose time was taken beside accuracies."""
        is_all = len(self.beside) == len(self.sets) > 1
        return "all" if is_all else ", ".join(self.beside)


def total_times(rows: Sequence[Row]) -> list[TotalTime]:
    """
    Time of kernel computation of whole tables.

    Parameters
    ----------
    rows : sequence of Row
        Of all tables.

    Returns
    -------
    list of TotalTime
        For every table and method that has times.
    """
    found = []
    for table in TABLES:
        for method in read_settings(f"table_{table}")["methods"]:
            own = [row for row in rows if (row.table, row.method) == (table, method)]
            done = [(row, row.times) for row in own if succeeded(row.times)]
            if done:
                total = TotalTime(
                    table,
                    method,
                    published_times().get((table, method), ""),
                    {part: sum(times.seconds[part] for _, times in done) for part in _PARTS},
                    [row.dataset for row, _ in done],
                    [row.dataset for row in own if not succeeded(row.times)],
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
        texts = [
            f"Table {each.table}", each.method, each.published, each.text(),
            *map(seconds_text, each.seconds.values()),
            *([each.beside_text()] if is_marked else []),
        ]  # fmt: skip
        sets = ", ".join(filter(None, [f"{len(each.sets)} of {each.n_sets}", each.which_text()]))
        lines.append([*map(Entry, texts), Entry(sets, kind="text")])
    header = [
        "table", "method", "paper", "here", "return probabilities", "inner products",
        "kernel values", *([f"sets with {BESIDE}"] if is_marked else []), "sets",
    ]  # fmt: skip
    notes = [
        "The paper's times are from another machine (an Intel i7-7820HQ; MATLAB and C++) and are "
        "for all sets of a table. Both without support vector machines. RetGK runs in "
        "parallel, kernels of GraKeL in one thread."
    ]
    notes += [_BESIDE_NOTE] if is_marked else []
    return Grid("times", "Total time of kernel computation", header, lines, notes)


def set_times_grid(rows: Iterable[Row]) -> Grid:
    """Time of every cell."""
    lines = []
    is_any_beside = False
    for row in rows:
        times = row.times
        if times is None:
            continue
        if times.failure:
            fields = ["", times.failure, "", ""]
        else:
            mark = "" if row.is_timed else BESIDE
            is_any_beside |= bool(mark)
            fields = [seconds_text(times.seconds[part]) + mark for part in _PARTS]
            fields.append(_machines_text(row.paper))
        texts = [row.dataset, row.method, f"Table {row.table}", *fields]
        lines.append([Entry(text) for text in texts])
    header = [
        "set", "method", "table", "return probabilities", "inner products", "kernel values",
        "support vector machines, a repetition (threads)",
    ]  # fmt: skip
    notes = [
        "RetGK runs in parallel, kernels of GraKeL in one thread. Support vector machines: medians "
        "over repetitions of the runs for accuracies; times with other threads do not compare."
    ]
    notes += [_BESIDE_NOTE] if is_any_beside else []
    return Grid("set_times", "Time of every set", header, lines, notes)


def _machines_text(paper: Measured | None) -> str:
    """Seconds of the support vector machines of a repetition, and the threads that they had."""
    if not succeeded(paper):
        return ""
    return f"{seconds_text(paper.seconds['svm'])} ({', '.join(map(str, paper.threads))})"


def difference_text(measurement: Mapping[str, Any]) -> str:
    """Largest difference of inner products to the published method's, where both are exact."""
    difference = measurement["difference"]
    return "" if difference is None else f"{difference:.0e}"


def baseline_grid(measurements: Sequence[Mapping[str, Any]]) -> Grid:
    """The published method in plain NumPy against retgk, on samples of the sets."""
    lines = [
        [
            Entry(str(text))
            for text in (
                each["set"], each["method"], f"Table {each['table']}",
                f"{each['sample']} of {each['graphs']}", seconds_text(each["published"]),
                seconds_text(each["ours"]), f"{each['published'] / each['ours']:.1f}x",
                each["runs"], difference_text(each),
            )
        ]
        for each in measurements
    ]  # fmt: skip
    header = [
        "set", "method", "table", "graphs compared", "published method, NumPy", "retgk", "ratio",
        "runs of each", "largest difference",
    ]  # fmt: skip
    note = (
        "On the same random graphs, from graphs to inner products; medians of runs that took "
        "turns. The published method has a process per core for return probabilities and for the "
        "inner products of RetGK_I; the feature maps of RetGK_II it makes in one process, whose "
        "matrix products use all cores. Largest difference: of an inner product of RetGK_I to the "
        "published method's; RetGK_II draws other frequencies."
    )
    return Grid("baseline", "Ratio to the published method in plain NumPy", header, lines, [note])
