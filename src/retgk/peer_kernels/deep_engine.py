"""Kernels from vectors of substructures that are learnt from what these occur together with."""

import warnings
from dataclasses import dataclass, field
from typing import Literal, Self

import numpy as np

from retgk.array_types import Floats
from retgk.engine.fitted_state import FittedState
from retgk.errors import InputWarning, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import offsets
from retgk.peer_kernels.graph_counts import GraphCounts
from retgk.peer_kernels.graphlets import GraphletCounter
from retgk.peer_kernels.substructure_vectors import pairs_in_graphs, substructure_vectors
from retgk.peer_kernels.weisfeiler_lehman import ColourCounter
from retgk.runtime.memory import check_room
from retgk.runtime.seeds import RandomState, whole_seed

__all__ = ["DeepBase", "DeepEngine"]

DeepBase = Literal["wl", "graphlet"]
"""What substructures are."""


@dataclass
class DeepEngine:
    """
    Inner products of sums of vectors of substructures.

    Parameters
    ----------
    counter : ColourCounter or GraphletCounter
        Counts substructures.
    n_components, n_negatives, min_graphs, n_samples, normalize, random_state
        As in `DeepGraphKernel`.
    """

    counter: ColourCounter | GraphletCounter
    n_components: int
    n_negatives: float
    min_graphs: int
    n_samples: int
    normalize: bool
    random_state: RandomState = None
    substructures: Floats = field(init=False)
    """Vector of every substructure of the fitted graphs, shape (n_columns, n_components)."""
    vectors: Floats = field(init=False)
    """Vector of every fitted graph, shape (n_graphs, n_components)."""

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> Self:
        """Learn the vectors of substructures."""
        seed = whole_seed(self.random_state)
        counter = self.counter
        if isinstance(counter, GraphletCounter):
            counter.random_state = seed
            counts = counter.fit(batch, n_jobs)
            pairs = counter.pairs(batch, self.n_samples, seed, n_jobs)
        else:
            counts = counter.fit(batch, n_jobs)
            least = min(self.min_graphs, len(batch))
            pairs = pairs_in_graphs(counts, offsets(counter.n_known), least)
        how = (self.n_components, self.n_negatives, seed)
        self.substructures = substructure_vectors(pairs, *how)
        if not self.substructures.shape[1]:
            message = (
                "no two substructures occur together more often than by chance: there is nothing "
                "to learn, and the kernel is zero"
            )
            advice = "use more rounds, fewer negatives, or WeisfeilerLehmanKernel"
            warnings.warn(InputWarning(message, Remedy("n_iter", advice)), stacklevel=4)
        self.vectors = self._vectors(counts)
        return self

    def _vectors(self, counts: GraphCounts) -> Floats:
        """Sums of the vectors of all substructures of each graph."""
        return np.asarray(counts.sparse() @ self.substructures)

    def _products(self, rows: Floats) -> Floats:
        """Products of rows with the vectors of the fitted graphs, normalized if asked to."""
        remedy = Remedy("fewer_graphs", "give fewer graphs")
        check_room(8 * len(rows) * len(self.vectors), "the kernel matrix", remedy)
        # einsum in place of @: BLAS may give other last bits for other numbers of rows
        out: Floats = np.einsum("ic,jc->ij", rows, self.vectors)
        if not self.normalize:
            return out
        scale = np.sqrt(np.outer(_squares(rows), _squares(self.vectors)))
        return np.divide(out, scale, out=np.zeros_like(out), where=scale > 0)

    def matrix(self, n_jobs: int | None) -> Floats:  # noqa: ARG002
        """Kernel matrix of the fitted graphs."""
        out = self._products(self.vectors)
        own = _squares(self.vectors)
        np.fill_diagonal(out, own > 0 if self.normalize else own)
        return np.asarray(np.tril(out) + np.tril(out, -1).T)

    def compare(self, batch: GraphBatch, n_jobs: int | None) -> Floats:
        """Kernel matrix of new graphs, one row each, with the fitted ones."""
        return self._products(self.features(batch, n_jobs))

    def own_values(self, batch: GraphBatch | None, n_jobs: int | None) -> Floats:
        """Kernel of every graph with itself, before it is normalized; of fitted ones by default."""
        return _squares(self.vectors if batch is None else self.features(batch, n_jobs))

    def features(self, batch: GraphBatch, n_jobs: int | None) -> Floats:
        """Vectors of graphs."""
        return self._vectors(self.counter.counts(batch, n_jobs))

    def state(self) -> FittedState:
        """Give the vectors, and the vocabulary of substructures."""
        state = self.counter.state()
        state.values["normalize"] = bool(self.normalize)
        state.arrays |= {"substructures": self.substructures, "vectors": self.vectors}
        base: DeepBase = "graphlet" if isinstance(self.counter, GraphletCounter) else "wl"
        state.values["base"] = base
        return state

    def restore(self, state: FittedState) -> Self:
        """Take them out of a state, after checking them."""
        self.normalize = state.take_value("normalize", bool)
        is_graphlet = state.take_choice("base", ("wl", "graphlet")) == "graphlet"
        self.counter = GraphletCounter(3, False, None) if is_graphlet else ColourCounter(0, "none")
        n_columns = self.counter.restore(state)
        self.substructures = state.take_array("substructures", np.float64, (n_columns, None))
        width = self.substructures.shape[1]
        self.vectors = state.take_array("vectors", np.float64, (None, width))
        return self


def _squares(rows: Floats) -> Floats:
    return np.asarray(np.einsum("ic,ic->i", rows, rows))
