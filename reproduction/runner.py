"""
From a cell to a record of one of its repetitions.

`Runner.matrix` says what is computed for each `kind` of method in ``settings/table_*.toml``.
"""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reproduction.fair import FairWork, fair_outcome, read_fair_folds, rounded_gamma
from reproduction.frankenstein import REBUILT
from reproduction.graphs import PaperSet, Sources, load_paper_set
from reproduction.peers import PROGRAM, Limits, PeerFailure, peer_matrix, peer_report
from reproduction.protocols import (
    Option,
    SplitFold,
    chosen_outcome,
    nested_outcome,
)
from reproduction.records import provenance
from reproduction.tables import Cell, n_repetitions, protocol_settings, read_settings, set_sizes
from reproduction.timed_matrices import (
    Matrix,
    embedding_matrix,
    exact_matrix,
    matrix_path,
    median_gamma,
)
from retgk._runtime.files import Record, key_of, read_records, record_writer
from retgk.array_types import Ints
from retgk.errors import InvalidInputError
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.graph import ExponentialGraphKernel, KernelOfMeans, PolynomialGraphKernel
from retgk.learning.paper_protocol import (
    FoldResult,
    Outcome,
    kernel_matrix,
    paper_folds,
    paper_outcome,
)
from retgk.walks.probabilities import Walks

Settings = Mapping[str, Any]
Choice = dict[str, float]


@dataclass
class Runner:
    """
    Computes records of cells.

    `sources` say where the sets are, and `cache` is the folder of matrices that are kept. `limits`
    are for peers, which run as `peer_program`. `splits` is the folder of the folds of the fair
    protocol. `last_set` has the graphs of the last cell, and `features_by_steps` their features; a
    copy of a runner starts without them.
    """

    sources: Sources
    cache: Path
    n_jobs: int | None = None
    limits: Limits = field(default_factory=Limits)
    peer_program: Sequence[str] = PROGRAM
    splits: Path | None = None
    last_set: dict[str, PaperSet] = field(default_factory=dict, init=False, repr=False)
    features_by_steps: dict[int, NodeFeatures] = field(default_factory=dict, init=False, repr=False)

    def record(self, cell: Cell, repetition: int) -> Record:
        """Compute one repetition of a cell; its number is the seed of everything random in it."""
        data = self.load(cell, repetition)
        record: Record = {
            "key": cell.key(repetition),
            "place": cell.place,
            "method": cell.method,
            **cell.identity(),
            "repetition": repetition,
            "seed": repetition,
            **data.as_record(),
        }
        matrices: list[Matrix] = []
        failure = None
        try:
            outcome = self._outcome(cell, data, repetition, matrices)
            record |= outcome.as_record()
            seconds = {**_total_seconds(matrices), **outcome.seconds}
            record["seconds"] = {name: round(value, 4) for name, value in seconds.items()}
            record["facts"] = dict(matrices[0].facts)
        except PeerFailure as error:
            failure = str(error)
            record["by_limit"] = error.by_limit
            record["limits"] = [self.limits.seconds, self.limits.megabytes]
        return {**record, "failure": failure, **provenance(self.n_jobs)}

    def load(self, cell: Cell, repetition: int = 0) -> PaperSet:
        """Load the graphs of a cell; those of the last one are kept in memory."""
        uses = {use: cell.settings[use] for use in ("uses_labels", "uses_attributes")}
        uses |= {"deduplicate": cell.deduplicate, "seed": graph_seed(cell, repetition)}
        key = key_of({"dataset": cell.dataset, **uses})
        if key not in self.last_set:
            self.last_set.clear()
            self.features_by_steps.clear()
            data = load_paper_set(cell.dataset, self.sources, **uses)
            _check_edition(cell, data)
            self.last_set[key] = data
        return self.last_set[key]

    def matrix(self, cell: Cell, data: PaperSet, seed: int = 0) -> Matrix:
        """Inner products (or kernel values of a peer); they do not depend on the protocol."""
        settings = cell.settings
        match settings["kind"]:
            case "exact":
                path = matrix_path(self.cache, cell.dataset, data, settings)
                return exact_matrix(data.graphs, settings, path, self.n_jobs)
            case "embedding":
                return embedding_matrix(data.graphs, settings, seed, self.n_jobs)
            case "native":
                own_seed = seed if settings.get("draws") else graph_seed(cell, seed)
                spec = self.peer_spec(cell, data, own_seed)
                return peer_matrix(spec, self.cache, self.limits, self.peer_program)
            case kind:
                raise ValueError(f"methods of kind {kind!r} have no matrix")

    def peer_spec(self, cell: Cell, data: PaperSet, seed: int) -> dict[str, Any]:
        return {
            "dataset": cell.dataset,
            "deduplicate": cell.deduplicate,
            "sources": self.sources.as_text(),
            "graphs": data.digest,
            "seed": seed,
            "settings": dict(cell.settings),
            "n_jobs": self.n_jobs,
        }

    def median_gamma(self, data: PaperSet, train: Ints, n_steps: int) -> float:
        if n_steps not in self.features_by_steps:
            self.features_by_steps[n_steps] = NodeFeatures(data.graphs, Walks(n_steps), self.n_jobs)
        return median_gamma(self.features_by_steps[n_steps], train)

    def _outcome(self, cell: Cell, data: PaperSet, seed: int, matrices: list[Matrix]) -> Outcome:
        """Folds of one repetition; the matrices that it took are added to a list."""
        if cell.protocol == "nested":
            return self._nested_outcome(cell, data, seed, matrices)
        if cell.protocol == "fair":
            return self._fair_outcome(cell, data, seed, matrices)
        if cell.settings["kind"] == "network":
            return self._network_outcome(cell, data, seed, matrices)
        kernel = _graph_kernel(cell.settings, cell.settings.get("p"))
        if cell.protocol == "time":  # seconds of kernel values, without folds
            with self._without_kept_matrices() as fresh:
                matrices.extend(fresh.matrix(own, data, seed) for _, own in _candidates(cell))
                start = time.perf_counter()
                kernel_matrix(matrices[0].products, kernel)
                return Outcome([], {"kernel": time.perf_counter() - start, "svm": 0.0})
        rules = protocol_settings("paper")
        if "choose" in cell.settings:
            options = self._options(cell, data, seed, matrices)
            folds = [
                SplitFold.of(fold) for fold in paper_folds(len(data.targets), seed, rules["folds"])
            ]
            return chosen_outcome(
                lambda _: options, data.targets, [kernel], folds, rules["c"], self.n_jobs
            )
        matrices.append(self.matrix(cell, data, seed))
        products = matrices[0].products
        return paper_outcome(products, data.targets, kernel, seed, rules, self.n_jobs)

    def _options(
        self, cell: Cell, data: PaperSet, seed: int, matrices: list[Matrix]
    ) -> list[Option]:
        """Matrices of the settings to choose from; those that limits stop are no choice."""
        options, stopped, by_limit = [], [], True
        for change, own in _candidates(cell):
            try:
                matrices.append(self.matrix(own, data, seed))
            except PeerFailure as failure:
                stopped.append(f"{change}: {failure}")
                by_limit &= failure.by_limit
            else:
                options.append(Option(change, np.asarray(matrices[-1].products)))
        if not options:
            raise PeerFailure("; ".join(stopped), by_limit)
        if stopped:
            facts = {**matrices[0].facts, "stopped": "; ".join(stopped)}
            matrices[0] = replace(matrices[0], facts=facts)
        return options

    def _network_outcome(
        self, cell: Cell, data: PaperSet, seed: int, matrices: list[Matrix]
    ) -> Outcome:
        """Folds of a network, which has no matrix; its training stands where machines stand."""
        spec = self.peer_spec(cell, data, seed)
        spec["settings"] |= {"folds": protocol_settings("paper")["folds"]}
        facts, _ = peer_report(spec, self.cache, self.limits, self.peer_program)
        no_matrix = np.empty((0, 0))
        matrices.append(Matrix(no_matrix, {"rpf": 0.0, "gram": 0.0}, {"peak_mb": facts["peak_mb"]}))
        folds = [FoldResult(**fold) for fold in facts["folds"]]
        return Outcome(folds, {"kernel": 0.0, "svm": facts["seconds"]["training"]})

    def _nested_outcome(
        self, cell: Cell, data: PaperSet, seed: int, matrices: list[Matrix]
    ) -> Outcome:
        rules = protocol_settings("nested")
        # what the nested protocol fixes for all sets
        common = {
            name: rules[name] for name in ("n_steps", "median_scale") if name in cell.settings
        }
        settings = {**cell.settings, **common}
        known: dict[str, Matrix] = {}

        def option_of(choice: Choice) -> Option:
            key = key_of(choice)
            if key not in known:
                changed = replace(cell, settings={**settings, **choice})
                known[key] = self.matrix(changed, data, seed)
            return Option(choice, known[key].products)

        def options_of(train: Ints) -> list[Option]:
            return [option_of(choice) for choice in self._choices(cell, data, train, rules)]

        powers = rules["p"] if "p" in settings else [None]
        kernels = [_graph_kernel(settings, p) for p in powers]
        outcome = nested_outcome(options_of, data.targets, kernels, seed, rules, self.n_jobs)
        matrices.extend(known.values())
        return outcome

    def _choices(self, cell: Cell, data: PaperSet, train: Ints, rules: Settings) -> list[Choice]:
        """Settings of nodes that the nested protocol chooses from, for some training graphs."""
        match cell.settings["kind"]:
            case "exact":
                gamma = self.median_gamma(data, train, rules["n_steps"])
                gamma = rounded_gamma(gamma, rules["gamma_ratio"])
                return [{"structure_gamma": gamma * factor} for factor in rules["gamma_factors"]]
            case "embedding":
                names = ["structure_scale"]
                names += ["attribute_scale"] if cell.settings["uses_attributes"] else []
                scales = product(*(rules[name] for name in names))
                return [dict(zip(names, own, strict=True)) for own in scales]
            case _:
                return [{}]

    def _fair_outcome(
        self, cell: Cell, data: PaperSet, seed: int, matrices: list[Matrix]
    ) -> Outcome:
        file = read_settings("fair")["sets"][cell.dataset]["file"]
        folds = read_fair_folds(self.splits, file, cell.settings["folds"], len(data.targets))

        def matrix_of_peer(settings: Settings) -> Matrix:
            return self.matrix(replace(cell, settings=settings), data, seed)

        rules = protocol_settings("fair")
        work = FairWork(data, cell.settings, rules, seed, self.n_jobs, matrix_of_peer)
        outcome = fair_outcome(work, folds)
        matrices.append(work.matrix())
        return outcome

    @contextmanager
    def _without_kept_matrices(self) -> "Iterator[Runner]":
        """Give a runner with an empty cache, so that times are real."""
        folder = self.cache / "timed"
        try:
            yield replace(self, cache=folder)
        except PeerFailure:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        for suffix in (".npy", ".json"):  # facts last: they say that a matrix is whole
            for path in folder.glob(f"*{suffix}"):
                path.replace(self.cache / path.name)
        shutil.rmtree(folder, ignore_errors=True)


def graph_seed(cell: Cell, repetition: int) -> int:
    """Seed of the graphs of a cell: that of the repetition where attributes are drawn for it."""
    return repetition if cell.dataset == REBUILT and cell.settings["uses_attributes"] else 0


def _check_edition(cell: Cell, data: PaperSet) -> None:
    n_nodes, n_found = cell.settings.get("n_nodes"), data.graphs.n_nodes
    if n_nodes is not None and n_found != n_nodes and not cell.deduplicate:
        raise InvalidInputError(
            f"{cell.dataset} has {n_found:,} nodes here, {n_nodes:,} in full: get a complete copy"
        )


def _graph_kernel(settings: Settings, p: float | None) -> KernelOfMeans:
    """K_2 of inner products; kernels of peers, which have no p, stay what they are."""
    if p is None:
        return PolynomialGraphKernel()
    return ExponentialGraphKernel(p=p, scale=settings["median_scale"])


def _candidates(cell: Cell) -> list[tuple[Settings, Cell]]:
    fixed = {name: value for name, value in cell.settings.items() if name != "choose"}
    changes = cell.settings.get("choose", [{}])
    return [(change, replace(cell, settings={**fixed, **change})) for change in changes]


def _total_seconds(matrices: Sequence[Matrix]) -> dict[str, float]:
    return {name: sum(each.seconds[name] for each in matrices) for name in ("rpf", "gram")}


def method_cost(settings: Settings, n_graphs: int, n_nodes: float) -> float:
    n_all = n_graphs * n_nodes
    match settings["kind"]:
        case "exact" | "levels" | "classifier":
            return float(n_all**2 / 2e10)
        case "embedding" | "phases":
            return float(n_all * settings.get("n_walks", 0) * settings["n_steps"] / 1e8)
        case "native":
            return 2.0 + n_all / 1e4
        case "network":
            return float(settings["n_epochs"] * n_graphs * (50 + n_nodes) / 1e4)
        case kind:
            raise ValueError(f"there is no kind of method {kind!r}")


# Which cells are computed, in which order, and what a file of records has of them already.


@dataclass(frozen=True)
class Task:
    cell: Cell
    repetition: int

    @property
    def key(self) -> str:
        return self.cell.key(self.repetition)

    @property
    def cost(self) -> float:
        n_graphs, n_classes, n_nodes = set_sizes(self.cell.dataset)
        settings = self.cell.settings
        seconds = 2.0 * (n_graphs / 1000) ** 2 * float(np.sqrt(n_classes))
        seconds += method_cost(settings, n_graphs, n_nodes)
        if self.cell.protocol in ("nested", "fair"):
            seconds *= 10
        return float(seconds * (1 + self.repetition))

    def describe(self) -> str:
        cell = self.cell
        copies = ", without copies" if cell.deduplicate else ""
        return (
            f"{cell.place}, {cell.dataset}, {cell.method}, protocol {cell.protocol}{copies}, "
            f"repetition {self.repetition + 1}"
        )


def ordered_tasks(cells: Iterable[Cell], repetitions: int) -> list[Task]:
    """All repetitions of all cells, the cheapest first; cells of equal settings count once."""
    tasks: dict[str, Task] = {}
    for cell in cells:
        for repetition in range(n_repetitions(cell, repetitions)):
            task = Task(cell, repetition)
            tasks.setdefault(task.key, task)
    return sorted(tasks.values(), key=lambda task: task.cost)


class Lack(NamedTuple):
    what: str
    """As a sentence begins."""
    remedy: str
    is_needed: Callable[[Cell], bool]


def lacks(sources: Sources) -> list[Lack]:
    found = []
    if sources.mnist is None:
        found.append(
            Lack(
                "no images for FRANKENSTEIN",
                "give --mnist FOLDER",
                lambda cell: cell.dataset == REBUILT,
            )
        )
    if find_spec("torch") is None:
        found.append(
            Lack(
                "PyTorch is not installed",
                "pip install 'retgk[networks]'",
                lambda cell: bool(cell.settings["kind"] == "network"),
            )
        )
    return found


def run_tasks_into(
    path: Path,
    tasks: Sequence[Task],
    runner: Runner,
    say: Callable[[str], None],
) -> int:
    """Compute what a file of records lacks, in order, and say so; gives the number of new ones."""
    with record_writer(path) as writer:
        there = read_records(path)
        done = {record["key"] for record in there if not record["failure"]}
        # what ended without a limit may have been bad luck, and is tried once in every run
        failed = {
            kernel: record
            for kernel, record in _failed_kernels(there).items()
            if record.get("by_limit", True)
        }
        unsaid = set(failed)
        n_written = 0
        for number, task in enumerate(tasks, start=1):
            kernel = _kernel_key(task.cell.identity())
            is_tried = _is_worth_trying(failed.get(kernel), runner.limits)
            if task.key not in done and (is_tried or kernel in unsaid):
                unsaid.discard(kernel)
                start = time.perf_counter()
                say(f"[{number}/{len(tasks)}] {task.describe()}")
                if is_tried:
                    record = runner.record(task.cell, task.repetition)
                    writer.append(record)
                    failed |= _failed_kernels([record])
                    n_written += 1
                    result = _result_text(record, time.perf_counter() - start)
                else:
                    result = f"    not tried again: {failed[kernel]['failure']}"
                say(result)
        return n_written


def _kernel_key(identity: Mapping[str, Any]) -> str:
    """Name of a kernel of a set, whatever is done with it: all protocols need its matrix."""
    return key_of({name: identity[name] for name in ("dataset", "settings", "deduplicate")})


def _failed_kernels(records: Iterable[Record]) -> dict[str, Record]:
    """Kernels whose last record, of any repetition and protocol, is a failure; with it."""
    last = {_kernel_key(record): record for record in records}
    return {kernel: record for kernel, record in last.items() if record["failure"]}


def _is_worth_trying(failure: Record | None, limits: Limits) -> bool:
    return failure is None or limits.are_raised(failure["limits"])


def _result_text(record: Record, seconds: float) -> str:
    if record["failure"]:
        return f"    {record['failure']}"
    if not record["accuracies"]:
        parts = ", ".join(f"{name} {value:.3g} s" for name, value in record["seconds"].items())
        peak = record["facts"]["peak_mb"]
        return f"    {parts}" + ("" if peak is None else f"; peak memory {peak:.0f} MB")
    accuracy = 100 * float(np.mean(record["accuracies"]))
    return f"    {accuracy:.2f} % in {seconds:.1f} s"
