"""Tables of the report, in Markdown, from records."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from reproduction.tables import (
    N_REPETITIONS,
    TABLES,
    Cell,
    CellSummary,
    PublishedAccuracy,
    RecordsByCell,
    Row,
    Variation,
    Verdict,
    cell_key,
    computed_methods,
    fair_cells,
    published_accuracies,
    published_methods,
    published_networks,
    published_times,
    published_words,
    read_settings,
    summary_of,
)
from retgk._runtime.files import Record
from retgk.plot import Picture, new_figure, save_figure

OURS = ("RetGK_I", "RetGK_II", "RetGK_II(MC)")
_SIGNS = {"within": "", "above": " ▲", "below": " ▼", "": ""}

# Any table


def entry(text: str, detail: str = "", mark: str = "") -> str:
    """Text of a field with what is below it: bold if it is off the paper, published in italics."""
    text = f"**{text}**" if mark in ("above", "below") else text
    detail = f"*{detail}*" if detail and mark == "quoted" else detail
    return f"{text}<br>{detail}" if text and detail else text or detail


@dataclass(frozen=True)
class Grid:
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        lines = [list(self.header), ["---"] * len(self.header)]
        lines += [[field.replace("|", "\\|") for field in row] for row in self.rows]
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        notes = "".join(f"\n{note}\n" for note in self.notes)
        return f"## {self.title}\n\n{table}\n{notes}"


def grid_of_lines(
    title: str, lines: Sequence[Mapping[str, str]], notes: Sequence[str] = ()
) -> Grid:
    header = list(lines[0]) if lines else []
    return Grid(title, header, [list(line.values()) for line in lines], notes)


def list_text(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def count_text(number: int, thing: str) -> str:
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def is_computed(summary: CellSummary | None) -> TypeGuard[CellSummary]:
    """Whether there are records of a cell that did not fail."""
    return summary is not None and not summary.failure


def _accuracy_text(accuracy: float, deviation: float) -> str:
    return f"{accuracy:.1f}" if np.isnan(deviation) else f"{accuracy:.1f} ({deviation:.1f})"


def published_text(published: PublishedAccuracy | None) -> str:
    return _accuracy_text(*published) if published else ""


def summary_text(summary: CellSummary | None) -> str:
    if summary is None or summary.failure:
        return "" if summary is None else summary.failure
    return _accuracy_text(summary.accuracy, summary.deviation)


def result_text(cell: Cell, records: RecordsByCell) -> str:
    """Mean and deviation of a cell, and what the paper states; nothing without records."""
    summary = summary_of(cell, records)
    if summary is None or cell.protocol == "time":
        return ""
    text = f"{cell.place}, {cell.dataset}, {cell.method}: {summary_text(summary)}"
    kind, _, table = cell.place.partition(" ")
    published = None
    if kind == "table":
        published = published_accuracies(int(table)).get((cell.dataset, cell.method))
    return f"{text}; published {published_text(published)}" if published else text


# The tables of the paper


def accuracy_grid(table: int, rows: Sequence[Row], note: str = "") -> Grid:
    """A table of the paper, sets by methods: what was computed, and below it what is published."""
    settings = read_settings(f"table_{table}")
    methods = _columns(table, computed_methods(table))
    found = {(row.dataset, row.method): row for row in rows}
    lines = [
        [name, *(_accuracy_entry(found[name, method]) for method in methods)]
        for name in settings["sets"]
    ]
    notes = [f"{name}: {text}." for name, text in settings.get("notes", {}).items()]
    notes += [*filter(None, [note]), *_repetition_notes(rows)]
    title = f"Table {table}: {settings['title']}, accuracy in %"
    return Grid(title, ["set", *methods], lines, notes)


def _columns(table: int, computed: list[str]) -> list[str]:
    known = list(dict.fromkeys(published_methods(table) + computed))
    return sorted(known, key=lambda name: not name.startswith("RetGK"))


def _accuracy_entry(row: Row) -> str:
    words = published_words(row.table).get((row.dataset, row.method), "")
    stated = f"paper {published_text(row.published) or words}" if row.published or words else ""
    if row.paper is None:
        return entry("not run", stated)
    if row.paper.failure:
        return "; ".join(filter(None, [row.paper.failure, stated]))
    if row.deviations_off is not None:
        stated += f", {row.deviations_off:+.1f} sd"
    # the paper states few settings of others, so that a difference does not speak for or against us
    verdict = row.verdict if row.method in OURS else ""
    return entry(summary_text(row.paper) + _SIGNS[verdict], stated, verdict)


def _repetition_notes(rows: Iterable[Row]) -> list[str]:
    few = [
        f"{row.dataset} {row.method} ({row.paper.n_repetitions})"
        for row in rows
        if is_computed(row.paper) and row.paper.n_repetitions < N_REPETITIONS
    ]
    return [f"Fewer than {N_REPETITIONS} repetitions: {', '.join(few)}."] if few else []


# Agreement with the paper


class Agreement(NamedTuple):
    """How many cells of a table, and which numbers of repetitions, agree with the paper."""

    table: int
    n_cells: int
    verdicts: Counter[Verdict]
    repetitions: str


def agreement(table: int, rows: Sequence[Row]) -> Agreement:
    own = [row for row in rows if row.table == table and row.method in OURS and row.published]
    verdicts = Counter(row.verdict for row in own)
    repetitions = [row.paper.n_repetitions for row in own if row.verdict and row.paper]
    span = sorted({min(repetitions), max(repetitions)}) if repetitions else []
    return Agreement(table, len(own), verdicts, " to ".join(map(str, span)))


def summary_grid(rows: Sequence[Row]) -> Grid:
    lines = [
        {
            "table": f"Table {found.table}",
            "cells": str(found.n_cells),
            "within": str(found.verdicts["within"]),
            "above ▲": str(found.verdicts["above"]),
            "below ▼": str(found.verdicts["below"]),
            "open": str(found.verdicts[""]),
            "repetitions": found.repetitions,
        }
        for found in (agreement(table, rows) for table in TABLES)
    ]
    note = (
        "Cells of RetGK_I, RetGK_II and RetGK_II(MC). Within: at most two published standard "
        "deviations, or 1.0 point where that is larger, from the published accuracy. Open: not "
        "run yet."
    )
    return grid_of_lines("Agreement with the paper", lines, [note])


_OFF_HEADER = ("set", "method", "table", "paper", "here", "difference in published sd", "remark")


def outside_grid(rows: Iterable[Row], tried: Sequence[Variation]) -> Grid:
    """Cells that are not where the paper has them, with what is known about them."""
    remarks = read_settings("remarks")
    lines = [
        _off_line(row, tried, remarks, _SIGNS[row.verdict])
        for row in rows
        if row.verdict in ("above", "below") and row.method in OURS
    ]
    notes = [] if lines else ["There are none."]
    return Grid("Cells outside the tolerance", _OFF_HEADER, lines, notes)


def _off_line(
    row: Row,
    tried: Sequence[Variation],
    remarks: Mapping[str, Any],
    sign: str = "",
    of_method: str = "",
) -> list[str]:
    """A cell, its numbers, and what is known of it and what changes of settings gave."""
    of_cell = remarks.get(str(row.table), {}).get(row.dataset, {}).get(row.method, "")
    known = filter(None, (outcome_of_changes(row, tried), of_cell, of_method))
    return [
        row.dataset,
        row.method,
        f"Table {row.table}",
        published_text(row.published),
        summary_text(row.paper) + sign,
        f"{row.deviations_off:+.1f}",
        " ".join(known),
    ]


def outcome_of_changes(row: Row, tried: Iterable[Variation]) -> str:
    """Which changes bring a cell within the tolerance; nothing where none was tried."""
    place = (row.table, row.dataset, row.method)
    own = [each for each in tried if (each.table, each.dataset, each.method) == place]
    within = [
        f"{each.change} ({count_text(each.summary.n_repetitions, 'repetition')})"
        for each in own
        if each.verdict == "within"
    ]
    if within:
        return f"Within with {', or with '.join(within)}."
    return "Not within with any change that was tried." if own else ""


_MEANINGS = {
    "copies_share_walks": (
        "copies of a graph get the same walks, as RetGKEmbedding draws them; in the tables every "
        "copy walks for itself"
    ),
}
"""Of settings whose names do not say enough."""


def tried_grid(rows: Iterable[Row], tried: Sequence[Variation]) -> Grid:
    known = {(row.table, row.dataset, row.method): row for row in rows}
    lines = []
    for each in tried:
        row = known.get((each.table, each.dataset, each.method))
        line = {
            "set": each.dataset,
            "method": each.method,
            "table": f"Table {each.table}",
            "change": each.change,
            "here, as in the table": (summary_text(row.paper) if row else "") or "not run",
            "paper": published_text(each.published),
            "here, changed": summary_text(each.summary),
            "repetitions": str(each.summary.n_repetitions),
            "verdict": entry(each.verdict + _SIGNS[each.verdict], mark=each.verdict),
        }
        lines.append(line)
    note = (
        "All other settings are those of the table; by the paper's protocol. The verdict is on the "
        "changed settings, by the tolerance of the tables and from the repetitions given."
    )
    meanings = [
        f"{name}: {meaning}."
        for name, meaning in _MEANINGS.items()
        if any(name in each.change for each in tried)
    ]
    return grid_of_lines("What was tried", lines, [note, *meanings])


def both_protocols_grid(rows: Iterable[Row]) -> Grid:
    lines = [
        {
            "set": row.dataset,
            "method": row.method,
            "table": f"Table {row.table}",
            "paper": published_text(row.published),
            "paper's protocol": summary_text(row.paper),
            "nested protocol": summary_text(row.nested),
            "difference": f"{row.nested.accuracy - row.paper.accuracy:+.1f}",
            "repetitions": f"{row.paper.n_repetitions}, {row.nested.n_repetitions}",
        }
        for row in rows
        if is_computed(row.nested) and is_computed(row.paper)
    ]
    return grid_of_lines("Both protocols side by side", lines)


def copies_grid(rows: Iterable[Row]) -> Grid:
    lines = [
        {
            "set": row.dataset,
            "method": row.method,
            "table": f"Table {row.table}",
            "all graphs": summary_text(row.paper),
            "without copies": summary_text(other),
            "difference": f"{other.accuracy - row.paper.accuracy:+.1f}",
            "dropped (of another class)": f"{other.n_dropped} ({other.n_dropped_of_other_target})",
        }
        for row in rows
        for other in [row.deduplicated]
        if is_computed(other) and is_computed(row.paper)
    ]
    return grid_of_lines("Without copies of graphs", lines)


# The report on methods of other authors: what they see, and where they are off the paper.

_MANY_DEVIATIONS = 3.0


def peers_grid(rows: Iterable[Row], tried: Sequence[Variation]) -> Grid:
    """Baselines that are more than three published deviations from the published accuracy."""
    compared = [
        row for row in rows if row.method not in OURS and is_computed(row.paper) and row.published
    ]
    remarks = read_settings("peer_remarks")
    lines = [
        _off_line(row, tried, remarks.get("cells", {}), of_method=remarks.get(row.method, ""))
        for row in compared
        if abs(row.deviations_off or 0.0) > _MANY_DEVIATIONS
    ]
    note = (
        f"{len(lines)} of the {len(compared)} cells of other authors that have a number in the "
        "paper and one here. The paper does not state the settings of their methods."
    )
    title = "Methods of other authors: over three deviations from the paper"
    return Grid(title, _OFF_HEADER, lines, [note])


_NO_PARAMETERS = ("kind", "uses_labels", "uses_attributes", "draws", "start", "choose")


def peers_note(table: int) -> str:
    """What methods of other authors see of the graphs of a table, and their parameters."""
    settings = read_settings(f"table_{table}")
    seeing: dict[str, list[str]] = {}
    for name in computed_methods(table):
        own = settings["methods"][name]
        if own["kind"] in ("native", "network"):
            values = [f"{key}={_value_text(own[key])}" for key in own if key not in _NO_PARAMETERS]
            values += _choice_texts(own.get("choose", []))
            values += _override_texts(name, settings.get("overrides", {}))
            text = f"{name} ({', '.join(values)})" if values else name
            seeing.setdefault(_inputs_text(name, {**settings, **own}, settings), []).append(text)
    parts = [
        f"{list_text(names)} see{'' if names[1:] else 's'} {what}" for what, names in seeing.items()
    ]
    return f"Methods of other authors: {'; '.join(parts)}."


def _choice_texts(changes: Iterable[Mapping[str, Any]]) -> list[str]:
    values: dict[str, list[str]] = {}
    for change in changes:
        for key, value in change.items():
            values.setdefault(key, []).append(_value_text(value))
    return [f"{key} chosen from {{{', '.join(own)}}}" for key, own in values.items()]


def _override_texts(method: str, overrides: Mapping[str, Any]) -> list[str]:
    sets: dict[str, list[str]] = {}
    for name, methods in overrides.items():
        for key, value in methods.get(method, {}).items():
            sets.setdefault(f"{key}={_value_text(value)}", []).append(name)
    return [f"{change} on {list_text(names)}" for change, names in sets.items()]


def _value_text(value: Any) -> str:
    """Value of a setting; a table of one entry is a kernel and its argument."""
    if not isinstance(value, Mapping):
        return str(value)
    ((name, argument),) = value.items()
    return f"{name}({argument})"


def _inputs_text(name: str, used: Mapping[str, Any], table: Mapping[str, Any]) -> str:
    if name == "GK" or used.get("base") == "graphlet":
        return "edges alone, no labels"
    if used["uses_attributes"] and not used["uses_labels"] and used.get("start") == "labels":
        return "attributes"
    labels = "labels" if used["uses_labels"] else "node degrees in place of labels"
    if used["uses_attributes"]:
        return f"{labels} and attributes"
    return f"{labels}, no attributes" if table["uses_attributes"] else labels


# Tables of times for the report, from what records say.

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
        return len(self.sets) + len(self.missing)

    def which_text(self) -> str:
        """Which sets the sum is for, if not for all: the shorter of two ways to say it."""
        if len(self.missing) > len(self.sets):
            return f"{list_text(self.sets)} only"
        return f"without {list_text(self.missing)}" if self.missing else ""

    def text(self) -> str:
        total = seconds_text(sum(self.seconds.values())) + (BESIDE if self.beside else "")
        return f"at least {total}" if self.is_resumed else total

    def beside_text(self) -> str:
        is_all = len(self.beside) == len(self.sets) > 1
        return "all" if is_all else ", ".join(self.beside)


def total_times(rows: Sequence[Row]) -> list[TotalTime]:
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
    totals = total_times(rows)
    is_marked = any(each.beside for each in totals)
    lines = []
    for each in totals:
        sets = ", ".join(filter(None, [f"{len(each.sets)} of {each.n_sets}", each.which_text()]))
        line = {
            "table": f"Table {each.table}",
            "method": each.method,
            "paper": each.published,
            "here": each.text(),
            **{name: seconds_text(each.seconds[part]) for part, name in _PARTS.items()},
            **({f"sets with {BESIDE}": each.beside_text()} if is_marked else {}),
            "sets": sets,
        }
        lines.append(line)
    notes = [
        "The paper's times are from another machine (an Intel i7-7820HQ; MATLAB and C++) and are "
        "for all sets of a table. Both without support vector machines. All run in parallel here."
    ]
    notes += [_BESIDE_NOTE] if is_marked else []
    return grid_of_lines("Total time of kernel computation", lines, notes)


def set_times_grid(rows: Iterable[Row]) -> Grid:
    done = [(row, row.times) for row in rows if row.times is not None]
    lines = [
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
    return grid_of_lines("Time of every set", lines, notes)


def _part_texts(times: CellSummary, mark: str) -> dict[str, str]:
    if times.failure:
        return dict(zip(_PARTS.values(), ["", times.failure, ""], strict=True))
    return {name: seconds_text(times.seconds[part]) + mark for part, name in _PARTS.items()}


def _svm_text(paper: CellSummary | None) -> str:
    if not is_computed(paper):
        return ""
    return f"{seconds_text(paper.seconds['svm'])} ({', '.join(map(str, paper.threads))})"


def baseline_grid(measurements: Sequence[Mapping[str, Any]]) -> Grid:
    """The published method in plain NumPy against retgk, on samples of the sets."""
    lines = [
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
    return grid_of_lines(title, lines, [note])


def difference_text(measurement: Mapping[str, Any]) -> str:
    """Largest difference of inner products to the published method's, where both are exact."""
    difference = measurement["difference"]
    return "" if difference is None else f"{difference:.0e}"


# The fair table of the report: fixed folds, beside the networks that were tried on them.

_MARKERS = "osD^v"
_TIE = 1e-9  # accuracies that agree differ by rounding


@dataclass(frozen=True)
class FairResult:
    dataset: str
    method: str
    accuracy: float
    """In per cent, over folds and repetitions."""
    deviation: float
    """Over folds, of means over repetitions, as that of the networks."""
    n_repetitions: int
    seconds: float
    """Of all folds together, from graphs to accuracies; the median over repetitions."""
    threads: tuple[int, ...] = ()
    failure: str = ""
    """Why there is no accuracy; empty where there is one."""
    stopped: str = ""
    """Which candidates the limits stopped."""

    @property
    def lead(self) -> float:
        """Points above the best network; nan without an accuracy."""
        return self.accuracy - best_network(self.dataset)[1].accuracy


def best_network(dataset: str) -> tuple[str, PublishedAccuracy]:
    own = {method: each for (name, method), each in published_networks().items() if name == dataset}
    return max(own.items(), key=lambda item: item[1].accuracy)


def fair_results(records: RecordsByCell) -> list[FairResult]:
    found = []
    for cell in fair_cells():
        own = list(records.get(cell_key(cell.identity()), {}).values())
        if own:
            found.append(_result(cell.dataset, cell.method, own))
    return found


def _result(dataset: str, method: str, own: Sequence[Record]) -> FairResult:
    good = [record for record in own if not record["failure"]]
    if not good:
        nothing = float("nan")
        failure = own[-1]["failure"]
        return FairResult(dataset, method, nothing, nothing, 0, nothing, failure=failure)
    of_folds = 100 * np.mean([record["accuracies"] for record in good], axis=0)
    return FairResult(
        dataset,
        method,
        float(of_folds.mean()),
        float(of_folds.std()),
        len(good),
        float(np.median([sum(record["seconds"].values()) for record in good])),
        tuple(sorted({record["n_jobs"] for record in good})),
        stopped=good[-1]["facts"].get("stopped", ""),
    )


# The table


def fair_grid(results: Sequence[FairResult]) -> Grid:
    """Sets by methods, ours first, then the networks; without rows if there are no records."""
    settings = read_settings("fair")
    ours, networks = list(settings["methods"]), _networks()
    found = {(each.dataset, each.method): each for each in results}
    header = ["set", *ours, "best network", "best of ours to it", *networks]
    rows = [
        [
            name,
            *(_own_entry(found.get((name, method))) for method in ours),
            *_comparison(name, [each for each in results if each.dataset == name]),
            *(_network_entry(name, network) for network in networks),
        ]
        for name in settings["sets"]
    ]
    title = f"Fair table: {settings['title'].lower()}, accuracy in %"
    return Grid(title, header, rows if results else [], _notes(results))


def _networks() -> list[str]:
    return list(dict.fromkeys(method for _, method in published_networks()))


def _own_entry(result: FairResult | None) -> str:
    if result is None:
        return "not run"
    if result.failure:
        return result.failure
    text = f"{result.accuracy:.1f} ({result.deviation:.1f})"
    seconds = seconds_text(result.seconds)
    return entry(f"{text} ▲", seconds, "above") if result.lead > _TIE else entry(text, seconds)


def _comparison(name: str, results: Iterable[FairResult]) -> list[str]:
    network, published = best_network(name)
    own = [
        each
        for each in results
        if not each.failure and each.method.startswith(("RetGK", "GraphClassifier"))
    ]
    stated = entry("", f"{network} {published_text(published)}", "quoted")
    if not own:
        return [stated, ""]
    best = max(own, key=lambda each: each.lead)
    return [stated, entry(f"{best.lead:+.1f}", best.method)]


def _network_entry(name: str, network: str) -> str:
    published = published_networks().get((name, network))
    return entry("", published_text(published), "quoted") if published else ""


def _notes(results: Sequence[FairResult]) -> list[str]:
    threads = sorted({number for each in results for number in each.threads})
    with_threads = f", with {' or '.join(count_text(n, 'thread') for n in threads)}"
    notes = [
        "Ten fixed folds (Errica et al., 2020); everything is chosen on the inner split of each, "
        "see Protocols. In brackets: standard deviation over folds. ▲: above all networks. In "
        "italics: accuracies that others published for these folds, not computed here; the "
        "baseline sees no edges.",
        "RetGK_I has the settings of the paper's tables, which may have been chosen by test "
        "accuracies. The best of ours is the best on test folds, so that its lead is partly luck.",
        "Times are of all folds with all choices, from graphs to accuracies"
        f"{with_threads if threads else ''}; the machine may have had other work.",
    ]
    stopped = [f"{each.dataset} ({each.stopped})" for each in results if each.stopped]
    if stopped:
        notes.append(
            f"WL chose from the candidates before the one that limits stopped on: "
            f"{', '.join(stopped)}."
        )
    few = [
        f"{each.dataset} {each.method} ({each.n_repetitions})"
        for each in results
        if 0 < each.n_repetitions < read_settings("fair")["repetitions"].get(each.method, 1)
    ]
    return notes + ([f"Fewer repetitions than wanted: {', '.join(few)}."] if few else [])


# The figure


def fair_pictures(results: Sequence[FairResult]) -> list[Picture]:
    good = [each for each in results if not each.failure]
    if not good:
        return []
    caption = (
        "Fair table: accuracy on the fixed folds. Grey dots are the networks, the line the best "
        "of them on each set."
    )
    return [save_figure("fair", caption, _draw(good))]


def _draw(results: Sequence[FairResult]) -> Any:
    figure, axes = new_figure((6.5, 5.2))
    computed = {each.dataset for each in results}
    sets = [name for name in read_settings("fair")["sets"] if name in computed]
    _draw_networks(axes, sets)
    methods = list(read_settings("fair")["methods"])
    for number, method in enumerate(methods):
        own = [each for each in results if each.method == method]
        shift = 0.11 * (number - (len(methods) - 1) / 2)
        axes.plot(
            [each.accuracy for each in own],
            [sets.index(each.dataset) + shift for each in own],
            _MARKERS[number % len(_MARKERS)],
            color=f"C{number}",
            markersize=5,
            label=method,
        )
    axes.set(xlabel="accuracy in %", yticks=range(len(sets)), yticklabels=sets)
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    figure.legend(fontsize="small", loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw_networks(axes: Any, sets: Sequence[str]) -> None:
    for place, name in enumerate(sets):
        own = [each.accuracy for (of, _), each in published_networks().items() if of == name]
        axes.plot(own, [place] * len(own), "o", color="0.75", markersize=5)
        axes.vlines(max(own), place - 0.38, place + 0.38, color="0.5")
