"""Cells into records."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Ints
from retgk.graphs.ragged import offsets
from retgk.kernels.graph_kernels import (
    ExponentialGraphKernel,
    GraphKernel,
    PolynomialGraphKernel,
)
from retgk.kernels.node_kernels import Laplacian
from retgk.paper.circumstances import circumstances
from retgk.paper.nested import Option, nested_outcome
from retgk.paper.paper_graphs import Source, load_source
from retgk.paper.peers import Limits, PeerFailure, peer_matrix
from retgk.paper.protocols import Outcome, paper_outcome, time_outcome
from retgk.paper.records import Record, key_of
from retgk.paper.table_cells import Cell, protocol_settings
from retgk.paper.timed_matrices import Matrix, embedding_matrix, exact_matrix, matrix_path
from retgk.walks.return_probabilities import return_probabilities

__all__ = ["Runner"]


@dataclass
class Runner:
    """
    Computes records of cells.

    Attributes
    ----------
    data_home : Path or None
        Folder of the sets.
    cache : Path
        Folder of matrices that are kept.
    n_jobs : int or None
        Threads.
    limits : Limits
        For peers.
    """

    data_home: Path | None
    cache: Path
    n_jobs: int | None = None
    limits: Limits = field(default_factory=Limits)
    _sources: dict[str, Source] = field(default_factory=dict, repr=False)
    _features: dict[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)

    def record(self, cell: Cell, repetition: int) -> Record:
        """
        Compute one repetition of a cell.

        Parameters
        ----------
        cell : Cell
            What to compute.
        repetition : int
            Its number is the seed of everything random in it.

        Returns
        -------
        dict
            Its record; that of a peer that was stopped has a `failure`.
        """
        source = self.source(cell)
        record: Record = {
            "key": cell.key(repetition),
            "place": cell.place,
            "method": cell.method,
            **cell.identity(),
            "repetition": repetition,
            "seed": repetition,
            **source.as_record(),
        }
        matrices: list[Matrix] = []
        failure = None
        try:
            outcome = self._outcome(cell, source, repetition, matrices)
            record |= outcome.as_record()
            seconds = {**_total_seconds(matrices), **outcome.seconds}
            record["seconds"] = {name: round(value, 4) for name, value in seconds.items()}
            record["facts"] = dict(matrices[0].facts)
        except PeerFailure as error:
            failure = str(error)
            record["limits"] = [self.limits.seconds, self.limits.megabytes]
        return {**record, "failure": failure, **circumstances(self.n_jobs)}

    def matrix(self, cell: Cell, source: Source, seed: int = 0) -> Matrix:
        """
        Inner products (or, from a peer, kernel values) of all graphs of a cell.

        Parameters
        ----------
        cell : Cell
            Its settings count, not its protocol.
        source : Source
            Its graphs.
        seed : int, default=0
            Of a random feature map.

        Returns
        -------
        Matrix
            Exact and peers' matrices are kept in the cache.
        """
        settings = cell.settings
        if settings["kind"] == "exact":
            path = matrix_path(self.cache, cell.dataset, source, settings)
            return exact_matrix(source.graphs, settings, path, self.n_jobs)
        if settings["kind"] == "embedding":
            return embedding_matrix(source.graphs, settings, seed, self.n_jobs)
        spec = {
            "dataset": cell.dataset,
            "deduplicate": cell.deduplicate,
            "graphs": source.digest,
            "settings": dict(settings),
            "data_home": None if self.data_home is None else str(self.data_home),
        }
        return peer_matrix(spec, self.cache, self.limits)

    def source(self, cell: Cell) -> Source:
        """Graphs of a cell; those of the last one are kept in memory."""
        uses = {use: cell.settings[use] for use in ("uses_labels", "uses_attributes")}
        key = key_of({"dataset": cell.dataset, "deduplicate": cell.deduplicate, **uses})
        if key not in self._sources:
            self._sources.clear()
            self._features.clear()
            self._sources[key] = load_source(
                cell.dataset, self.data_home, deduplicate=cell.deduplicate, **uses
            )
        return self._sources[key]

    def _outcome(self, cell: Cell, source: Source, seed: int, matrices: list[Matrix]) -> Outcome:
        """Folds of one repetition; the matrices that it took are added to a list."""
        rules = protocol_settings(cell.protocol)
        kernel = _graph_kernel(cell.settings, cell.settings.get("p"))
        if cell.protocol == "time":
            with self._empty_cache() as fresh:
                matrices.append(fresh.matrix(cell, source, seed))
                return time_outcome(matrices[0].products, kernel)
        if cell.protocol == "paper":
            matrices.append(self.matrix(cell, source, seed))
            products = matrices[0].products
            return paper_outcome(products, source.targets, kernel, seed, rules, self.n_jobs)
        known: dict[str, Matrix] = {}

        def options_of(train: Ints) -> list[Option]:
            choices = self._choices(cell, source, train, rules)
            return [self._option(cell, source, seed, choice, known) for choice in choices]

        fixed = _fixed(cell.settings, rules)
        powers = rules["p"] if cell.settings["kind"] != "grakel" else [None]
        kernels = [_graph_kernel(fixed, p) for p in powers]
        outcome = nested_outcome(options_of, source.targets, kernels, seed, rules, self.n_jobs)
        matrices.extend(known.values())
        return outcome

    @contextmanager
    def _empty_cache(self) -> "Iterator[Runner]":
        """Runner that finds no matrix ready, but for what a kill left; what it makes is kept."""
        folder = self.cache / "timed"
        try:
            yield Runner(self.data_home, folder, self.n_jobs, self.limits)
        except PeerFailure:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        for suffix in (".npy", ".json"):  # facts last: they say that a matrix is whole
            for path in folder.glob(f"*{suffix}"):
                path.replace(self.cache / path.name)
        shutil.rmtree(folder, ignore_errors=True)

    def _choices(
        self, cell: Cell, source: Source, train: Ints, rules: Mapping[str, Any]
    ) -> list[dict[str, float]]:
        """Settings of nodes to choose from, for some training graphs."""
        settings = cell.settings
        if settings["kind"] == "exact":
            gamma = self._gamma(source, train, rules["n_steps"])
            steps = round(np.log(gamma) / np.log(rules["gamma_ratio"]))
            rounded = float(rules["gamma_ratio"] ** steps)
            return [{"structure_gamma": rounded * factor} for factor in rules["gamma_factors"]]
        if settings["kind"] == "grakel":
            return [{}]
        choices = [{"structure_scale": scale} for scale in rules["structure_scale"]]
        if not settings["uses_attributes"]:
            return choices
        scales = rules["attribute_scale"]
        return [{**choice, "attribute_scale": scale} for choice in choices for scale in scales]

    def _gamma(self, source: Source, train: Ints, n_steps: int) -> float:
        """One over the median distance of nodes of training graphs."""
        graphs = source.graphs
        key = str(n_steps)
        if key not in self._features:
            self._features[key] = return_probabilities(graphs, n_steps, n_jobs=self.n_jobs)
        is_chosen = np.zeros(len(graphs), bool)
        is_chosen[train] = True
        points = self._features[key][np.repeat(is_chosen, graphs.sizes)]
        return Laplacian("median").fitted(points, offsets(graphs.sizes[is_chosen]), 0).scale

    def _option(
        self,
        cell: Cell,
        source: Source,
        seed: int,
        choice: Mapping[str, float],
        known: dict[str, Matrix],
    ) -> Option:
        key = key_of(choice)
        if key not in known:
            settings = {**_fixed(cell.settings, protocol_settings("nested")), **choice}
            changed = Cell(
                cell.place, cell.dataset, cell.method, settings, cell.protocol, cell.deduplicate
            )
            known[key] = self.matrix(changed, source, seed)
        return Option(choice, known[key].products)


def _fixed(settings: Mapping[str, Any], rules: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with those that the nested protocol fixes for all sets."""
    common = {name: rules[name] for name in ("n_steps", "median_scale") if name in settings}
    return {**settings, **common}


def _graph_kernel(settings: Mapping[str, Any], p: float | None) -> GraphKernel:
    """K_2 of inner products; kernels of peers stay what they are."""
    if settings["kind"] == "grakel" or p is None:
        return PolynomialGraphKernel()
    return ExponentialGraphKernel(p=p, scale=settings["median_scale"])


def _total_seconds(matrices: Sequence[Matrix]) -> dict[str, float]:
    return {name: sum(each.seconds[name] for each in matrices) for name in ("rpf", "gram")}
