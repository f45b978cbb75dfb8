"""The fair table of the report: fixed folds, beside the networks that were tried on them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from retgk.paper.records import Record
from retgk.paper.report_tables import Entry, Grid, count_text
from retgk.paper.report_times import seconds_text
from retgk.paper.table_cells import cell_key, fair_cells, read_settings
from retgk.paper.table_results import PublishedAccuracy, RecordsByCell, published_networks
from retgk.plot.figure_files import Picture, new_figure, save_figure

__all__ = [
    "FairResult",
    "best_network",
    "fair_grid",
    "fair_lines",
    "fair_pictures",
    "fair_results",
]

_MARKERS = "osD^v"
_TIE = 1e-9  # accuracies that agree differ by rounding


@dataclass(frozen=True)
class FairResult:
    """Accuracy of a method on the fixed folds of a set, and what it took."""

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
    """Most accurate of the networks on a set, and its accuracy."""
    own = {method: each for (name, method), each in published_networks().items() if name == dataset}
    return max(own.items(), key=lambda item: item[1].accuracy)


def fair_results(records: RecordsByCell) -> list[FairResult]:
    """What records say of the cells of the fair table; those without records are left out."""
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
            Entry(name),
            *(_own_entry(found.get((name, method))) for method in ours),
            *_comparison(name, [each for each in results if each.dataset == name]),
            *(_network_entry(name, network) for network in networks),
        ]
        for name in settings["sets"]
    ]
    title = f"Fair table: {settings['title'].lower()}, accuracy in %"
    return Grid("fair", title, header, rows if results else [], _notes(results))


def _networks() -> list[str]:
    return list(dict.fromkeys(method for _, method in published_networks()))


def _own_entry(result: FairResult | None) -> Entry:
    if result is None:
        return Entry("not run", kind="open")
    if result.failure:
        return Entry("", result.failure, "failed")
    text = f"{result.accuracy:.1f} ({result.deviation:.1f})"
    seconds = seconds_text(result.seconds)
    return Entry(f"{text} ▲", seconds, "above") if result.lead > _TIE else Entry(text, seconds)


def _comparison(name: str, results: Iterable[FairResult]) -> list[Entry]:
    """Best network of a set, and how far the best of our methods is above it."""
    network, published = best_network(name)
    own = [each for each in results if not each.failure and each.method.startswith("RetGK")]
    stated = Entry("", f"{network} {_published_text(published)}", "quoted")
    if not own:
        return [stated, Entry("")]
    best = max(own, key=lambda each: each.lead)
    return [stated, Entry(f"{best.lead:+.1f}", best.method)]


def _network_entry(name: str, network: str) -> Entry:
    published = published_networks().get((name, network))
    return Entry("", _published_text(published), "quoted") if published else Entry("")


def _published_text(published: PublishedAccuracy) -> str:
    return f"{published.accuracy:.1f} ({published.deviation:.1f})"


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


def fair_lines(results: Sequence[FairResult]) -> Iterator[Mapping[str, Any]]:
    """Lines of the CSV file: what was computed, then the networks; none without records."""
    for each in results:
        yield _line(each.dataset, each.method, "computed", each.accuracy, each.deviation) | {
            "n": each.n_repetitions,
            "seconds": each.seconds,
            "threads": " ".join(map(str, each.threads)),
            "failure": each.failure,
        }
    for (name, network), published in published_networks().items() if results else ():
        yield _line(name, network, "published", *published)


def _line(name: str, method: str, source: str, mean: float, deviation: float) -> dict[str, Any]:
    return {
        "set": name,
        "method": method,
        "source": source,
        "mean": mean,
        "sd_over_folds": deviation,
        "n": None,
        "seconds": None,
        "threads": "",
        "failure": "",
    }


# The figure


def fair_pictures(results: Sequence[FairResult]) -> list[Picture]:
    """One picture, accuracies of all methods set by set; none if nothing was computed."""
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
    """Draw published accuracies in the row of their set, and a line at the best."""
    for place, name in enumerate(sets):
        own = [each.accuracy for (of, _), each in published_networks().items() if of == name]
        axes.plot(own, [place] * len(own), "o", color="0.75", markersize=5)
        axes.vlines(max(own), place - 0.38, place + 0.38, color="0.5")
