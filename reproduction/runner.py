"""
From a cell to a record of one of its repetitions.

`METHOD_KINDS` says what is computed for each `kind` of method in ``settings/table_*.toml``.
"""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reproduction.fair import FairWork, fair_outcome, read_fair_folds
from reproduction.frankenstein import REBUILT
from reproduction.graphs import PaperSet, Sources, load_paper_set
from reproduction.peers import PROGRAM, Limits, PeerFailure, peer_matrix, peer_report
from reproduction.protocols import (
    Option,
    SplitFold,
    chosen_outcome,
    nested_outcome,
    time_outcome,
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
from retgk.kernels.graph import ExponentialGraphKernel, GraphKernel, PolynomialGraphKernel
from retgk.learning.paper_protocol import FoldResult, Outcome, paper_folds, paper_outcome
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
        """
        Compute one repetition of a cell; its number is the seed of everything random in it.

        The record of a peer that was stopped has a `failure`.
        """
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
        """
        Load the graphs of a cell; those of the last one are kept in memory.

        A set that is rebuilt is another one for each repetition, so that what was drawn for it has
        its part in the deviation.
        """
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
        """
        Inner products (or, from a peer, kernel values) of all graphs of a cell.

        They depend on the settings of the cell, not on its protocol; random feature maps on the
        seed too.
        """
        matrix = METHOD_KINDS[cell.settings["kind"]].matrix
        assert matrix is not None, "a network has none"
        return matrix(self, cell, data, seed)

    def peer_spec(self, cell: Cell, data: PaperSet, seed: int) -> dict[str, Any]:
        """What the process of a peer has to know."""
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
        """One over the median distance of nodes of training graphs."""
        if n_steps not in self.features_by_steps:
            self.features_by_steps[n_steps] = NodeFeatures(data.graphs, Walks(n_steps), self.n_jobs)
        return median_gamma(self.features_by_steps[n_steps], train)

    def _outcome(self, cell: Cell, data: PaperSet, seed: int, matrices: list[Matrix]) -> Outcome:
        """Folds of one repetition; the matrices that it took are added to a list."""
        if cell.protocol == "nested":
            return self._nested_outcome(cell, data, seed, matrices)
        if cell.protocol == "fair":
            return self._fair_outcome(cell, data, seed, matrices)
        if METHOD_KINDS[cell.settings["kind"]].matrix is None:
            return self._network_outcome(cell, data, seed, matrices)
        kernel = _graph_kernel(cell.settings, cell.settings.get("p"))
        if cell.protocol == "time":
            with self._without_kept_matrices() as fresh:
                matrices.extend(fresh.matrix(own, data, seed) for _, own in _candidates(cell))
                return time_outcome(matrices[0].products, kernel)
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
            kind = METHOD_KINDS[settings["kind"]]
            return [option_of(choice) for choice in kind.choices(self, cell, data, train, rules)]

        powers = rules["p"] if "p" in settings else [None]
        kernels = [_graph_kernel(settings, p) for p in powers]
        outcome = nested_outcome(options_of, data.targets, kernels, seed, rules, self.n_jobs)
        matrices.extend(known.values())
        return outcome

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
        """
        Give a runner with an empty cache, so that times are real.

        It goes on with what a killed run left; its matrices move to the cache when they are done.
        """
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
    """Raise if a set is not the edition that its settings state."""
    n_nodes, n_found = cell.settings.get("n_nodes"), data.graphs.n_nodes
    if n_nodes is not None and n_found != n_nodes and not cell.deduplicate:
        raise InvalidInputError(
            f"{cell.dataset} has {n_found:,} nodes here, {n_nodes:,} in full: get a complete copy"
        )


def _graph_kernel(settings: Settings, p: float | None) -> GraphKernel:
    """K_2 of inner products; kernels of peers, which have no p, stay what they are."""
    if p is None:
        return PolynomialGraphKernel()
    return ExponentialGraphKernel(p=p, scale=settings["median_scale"])


def _candidates(cell: Cell) -> list[tuple[Settings, Cell]]:
    """What `choose` of a method lists, and the cell with each of these settings."""
    fixed = {name: value for name, value in cell.settings.items() if name != "choose"}
    changes = cell.settings.get("choose", [{}])
    return [(change, replace(cell, settings={**fixed, **change})) for change in changes]


def _total_seconds(matrices: Sequence[Matrix]) -> dict[str, float]:
    return {name: sum(each.seconds[name] for each in matrices) for name in ("rpf", "gram")}


# Kinds of methods


class MethodKind(NamedTuple):
    """What is computed for methods of a kind."""

    matrix: Callable[[Runner, Cell, PaperSet, int], Matrix] | None
    """Inner products of all graphs, from a cell, its graphs and a seed; None for networks."""
    choices: Callable[[Runner, Cell, PaperSet, Ints, Settings], list[Choice]]
    """Settings of nodes that the nested protocol chooses from, for some training graphs."""
    cost: Callable[[Settings, int, float], float]
    """Rough seconds of the matrix, from the numbers of graphs and of nodes of one."""


def _exact_matrix(runner: Runner, cell: Cell, data: PaperSet, _seed: int) -> Matrix:
    path = matrix_path(runner.cache, cell.dataset, data, cell.settings)
    return exact_matrix(data.graphs, cell.settings, path, runner.n_jobs)


def _exact_choices(
    runner: Runner, _cell: Cell, data: PaperSet, train: Ints, rules: Settings
) -> list[Choice]:
    """Multiples of one over the median, rounded so that folds can share matrices."""
    gamma = runner.median_gamma(data, train, rules["n_steps"])
    steps = round(np.log(gamma) / np.log(rules["gamma_ratio"]))
    rounded = float(rules["gamma_ratio"] ** steps)
    return [{"structure_gamma": rounded * factor} for factor in rules["gamma_factors"]]


def _exact_cost(_settings: Settings, n_graphs: int, n_nodes: float) -> float:
    return (n_graphs * n_nodes) ** 2 / 2e10


def _embedding_matrix(runner: Runner, cell: Cell, data: PaperSet, seed: int) -> Matrix:
    return embedding_matrix(data.graphs, cell.settings, seed, runner.n_jobs)


def _embedding_choices(
    _runner: Runner, cell: Cell, _data: PaperSet, _train: Ints, rules: Settings
) -> list[Choice]:
    choices = [{"structure_scale": scale} for scale in rules["structure_scale"]]
    if not cell.settings["uses_attributes"]:
        return choices
    scales = rules["attribute_scale"]
    return [{**choice, "attribute_scale": scale} for choice in choices for scale in scales]


def _embedding_cost(settings: Settings, n_graphs: int, n_nodes: float) -> float:
    n_walks = settings.get("n_walks", 0)
    return float(n_graphs * n_nodes * n_walks * settings["n_steps"] / 1e8)


def _native_matrix(runner: Runner, cell: Cell, data: PaperSet, seed: int) -> Matrix:
    own_seed = seed if cell.settings.get("draws") else graph_seed(cell, seed)
    spec = runner.peer_spec(cell, data, own_seed)
    return peer_matrix(spec, runner.cache, runner.limits, runner.peer_program)


def _no_choices(*_: object) -> list[Choice]:
    return [{}]


def _native_cost(_settings: Settings, n_graphs: int, n_nodes: float) -> float:
    return 2.0 + n_graphs * n_nodes / 1e4


def _network_cost(settings: Settings, n_graphs: int, n_nodes: float) -> float:
    return float(settings["n_epochs"] * n_graphs * (50 + n_nodes) / 1e4)


METHOD_KINDS = {
    "exact": MethodKind(_exact_matrix, _exact_choices, _exact_cost),
    "embedding": MethodKind(_embedding_matrix, _embedding_choices, _embedding_cost),
    "native": MethodKind(_native_matrix, _no_choices, _native_cost),
    "network": MethodKind(None, _no_choices, _network_cost),
}
"""By the `kind` of a method in the settings of the tables."""

_COST_LIKE = {"levels": "exact", "phases": "embedding", "classifier": "exact"}
"""Kinds of the fair protocol, and those whose matrix costs about as much."""


def method_cost(settings: Settings, n_graphs: int, n_nodes: float) -> float:
    """Rough seconds of the matrix of a method, by its kind."""
    kind = str(settings["kind"])
    kind = _COST_LIKE.get(kind, kind)
    return METHOD_KINDS[kind].cost(settings, n_graphs, n_nodes)


# Which cells are computed, in which order, and what a file of records has of them already.


@dataclass(frozen=True)
class Task:
    """One repetition of a cell."""

    cell: Cell
    repetition: int

    @property
    def key(self) -> str:
        """Name of its record."""
        return self.cell.key(self.repetition)

    @property
    def cost(self) -> float:
        """Rough seconds; for the order only, in which early repetitions go first."""
        n_graphs, n_classes, n_nodes = set_sizes(self.cell.dataset)
        settings = self.cell.settings
        seconds = 2.0 * (n_graphs / 1000) ** 2 * float(np.sqrt(n_classes))
        seconds += method_cost(settings, n_graphs, n_nodes)
        if self.cell.protocol in ("nested", "fair"):
            seconds *= 10
        return float(seconds * (1 + self.repetition))

    def describe(self) -> str:
        """What is running, for people."""
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
    """Something that cells need and that is not there."""

    what: str
    """As a sentence begins."""
    remedy: str
    is_needed: Callable[[Cell], bool]


def lacks(sources: Sources) -> list[Lack]:
    """What some cells need and is not there."""
    found = []
    if sources.mnist is None:
        found.append(Lack("no images for FRANKENSTEIN", "give --mnist FOLDER", _is_rebuilt))
    if find_spec("torch") is None:
        remedy = "pip install 'retgk[networks]'"
        found.append(Lack("PyTorch is not installed", remedy, _is_network))
    return found


def _is_network(cell: Cell) -> bool:
    return bool(cell.settings["kind"] == "network")


def _is_rebuilt(cell: Cell) -> bool:
    return cell.dataset == REBUILT


def run_tasks_into(
    path: Path,
    tasks: Sequence[Task],
    runner: Runner,
    say: Callable[[str], None],
) -> int:
    """
    Compute what a file of records lacks, in the order given; returns the number of new records.

    `say` is called before each task and at its end; and for each kernel that failed in an earlier
    run and is not worth another try.
    """
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
