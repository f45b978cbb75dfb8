"""Kernels that are sums over counted substructures: counters, and the engine on top of them."""

from dataclasses import dataclass, field
from typing import Any, Protocol, Self, get_args

import numpy as np

from retgk.array_types import Floats
from retgk.engine.fitted_state import FittedState
from retgk.graphs.batch import GraphBatch
from retgk.peer_kernels.count_products import (
    Summand,
    fitted_products,
    new_products,
    self_products,
)
from retgk.peer_kernels.graph_counts import GraphCounts, Postings, restored_postings
from retgk.peer_kernels.graph_norms import check_norms

__all__ = ["CountEngine", "Counter", "is_of_counts"]


class Counter(Protocol):
    """Counts substructures, with a vocabulary of those that the fitted graphs have."""

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        """Count in the fitted graphs, and number what is found."""

    def counts(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        """Count in new graphs, by the numbers of the fitted ones."""

    def state(self) -> FittedState:
        """Give the vocabulary as plain values and arrays."""

    def restore(self, state: FittedState) -> int:
        """Take the vocabulary out of a state, after checking it; gives the number of columns."""


def is_of_counts(state: FittedState) -> bool:
    """Whether a state is that of a `CountEngine`."""
    return "summand" in state.values


@dataclass
class CountEngine:
    """
    Kernel of graphs from what a counter counts.

    Parameters
    ----------
    counter : Counter
        Counts substructures.
    summand : {"products", "minima"}
        Sum of products of counts, or histogram intersection.
    normalize : bool
        Whether to divide by the roots of the kernels of both graphs with themselves.
    """

    counter: Counter
    summand: Summand
    normalize: bool
    postings: Postings = field(init=False)
    """Counts of the fitted graphs, set by `fit`."""
    norms: Floats = field(init=False)
    """Kernel of every fitted graph with itself."""

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> Self:
        """Keep the counts of the fitted graphs."""
        counts = self.counter.fit(batch, n_jobs)
        self.norms, self.postings = self._own_products(counts), counts.postings()
        return self

    def _own_products(self, counts: GraphCounts) -> Floats:
        """Kernel of every graph with itself, or an error if one is no number."""
        norms = self_products(counts, self.summand)
        check_norms(norms, self.normalize)
        return norms

    def matrix(self, n_jobs: int | None) -> Floats:
        """Kernel matrix of the fitted graphs."""
        return fitted_products(self.postings, self.norms, self.summand, self.normalize, n_jobs)

    def compare(self, batch: GraphBatch, n_jobs: int | None) -> Floats:
        """Kernel matrix of new graphs, one row each, with the fitted ones."""
        rows = self.counter.counts(batch, n_jobs)
        norms = self._own_products(rows), self.norms
        return new_products(rows, self.postings, norms, self.summand, self.normalize, n_jobs)

    def own_values(self, batch: GraphBatch | None, n_jobs: int | None) -> Floats:
        """Kernel of every graph with itself, before it is normalized; of fitted ones by default."""
        if batch is None:
            return self.norms.copy()
        return self._own_products(self.counter.counts(batch, n_jobs))

    def features(self, batch: GraphBatch, n_jobs: int | None) -> Any:
        """Counts of graphs in the columns of the fitted ones, as a csr_array."""
        return self.counter.counts(batch, n_jobs).sparse()

    def state(self) -> FittedState:
        """Give the vocabulary and the counts of the fitted graphs."""
        own, kept = self.counter.state(), self.postings.state()
        values = {"summand": self.summand, "normalize": bool(self.normalize)}
        return FittedState(values | own.values, own.arrays | kept.arrays | {"norms": self.norms})

    def restore(self, state: FittedState) -> Self:
        """Take vocabulary and counts out of a state, after checking them."""
        summand: Any = state.take_choice("summand", get_args(Summand))
        self.summand, self.normalize = summand, state.take_value("normalize", bool)
        n_columns = self.counter.restore(state)
        self.norms = state.take_array("norms", np.float64, (None,))
        self.postings = restored_postings(state, n_columns, len(self.norms))
        return self
