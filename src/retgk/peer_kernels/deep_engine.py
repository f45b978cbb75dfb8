"""Kernels from vectors of substructures that are learnt from what these occur together with."""

import warnings
from dataclasses import dataclass, field
from typing import Any, Literal, Self, get_args

import numpy as np

from retgk.array_types import Floats
from retgk.engine.fitted_state import FittedState
from retgk.errors import InputWarning, InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import offsets
from retgk.peer_kernels.graph_counts import GraphCounts
from retgk.peer_kernels.graph_norms import divide_by_norms
from retgk.peer_kernels.graphlets import GraphletCounter
from retgk.peer_kernels.path_counter import PathCounter
from retgk.peer_kernels.substructure_vectors import pairs_in_graphs, substructure_vectors
from retgk.peer_kernels.weisfeiler_lehman import ColourCounter
from retgk.runtime.memory import check_room
from retgk.runtime.seeds import RandomState, whole_seed

__all__ = [
    "BaseCounter",
    "DeepBase",
    "DeepEngine",
    "LengthCounter",
    "Similarity",
    "VectorRules",
]

DeepBase = Literal["wl", "shortest-path", "graphlet"]
"""What substructures are."""

Similarity = Literal["lengths", "vectors"]
"""Of two substructures: the length of their vector if they are the same, or an inner product."""

BaseCounter = ColourCounter | PathCounter | GraphletCounter


@dataclass(frozen=True)
class VectorRules:
    """How vectors of substructures are learnt; the parameters of `DeepGraphKernel`."""

    n_components: int
    n_negatives: float
    min_graphs: int
    n_samples: int
    random_state: RandomState = None

    def learn(
        self, counter: BaseCounter, batch: GraphBatch, n_jobs: int | None
    ) -> tuple[GraphCounts, Floats]:
        """Count substructures, and find a vector for each column."""
        seed = whole_seed(self.random_state)
        if isinstance(counter, GraphletCounter):
            counter.random_state = seed
            counts = counter.fit(batch, n_jobs)
            pairs = counter.pairs(batch, self.n_samples, seed, n_jobs)
        else:
            counts = counter.fit(batch, n_jobs)
            # colours occur together within a round, paths with all others
            runs = counter.n_known if isinstance(counter, ColourCounter) else [counts.n_columns]
            pairs = pairs_in_graphs(counts, offsets(runs), min(self.min_graphs, len(batch)))
        vectors = substructure_vectors(pairs, self.n_components, self.n_negatives, seed)
        if not vectors.shape[1]:
            message = (
                "no two substructures occur together more often than by chance: there is nothing "
                "to learn, and the kernel is zero"
            )
            advice = "use more rounds, fewer negatives, or WeisfeilerLehmanKernel"
            warnings.warn(InputWarning(message, Remedy("n_iter", advice)), stacklevel=5)
        return counts, vectors


def _base_of(counter: BaseCounter) -> DeepBase:
    if isinstance(counter, GraphletCounter):
        return "graphlet"
    return "wl" if isinstance(counter, ColourCounter) else "shortest-path"


def _restored_counter(state: FittedState) -> tuple[BaseCounter, int]:
    """Counter of a state, and the number of its columns."""
    base: Any = state.take_choice("base", get_args(DeepBase))
    counter: BaseCounter = ColourCounter(0, "none")
    if base == "shortest-path":
        counter = PathCounter("none")
    elif base == "graphlet":
        counter = GraphletCounter(3, False, None)
    return counter, counter.restore(state)


@dataclass
class LengthCounter:
    """
    Counts of substructures, times the roots of the lengths of their vectors.

    Parameters
    ----------
    counter : ColourCounter, PathCounter or GraphletCounter
        Counts substructures.
    rules : VectorRules, optional
        How vectors are learnt; not needed where lengths are restored.
    """

    counter: BaseCounter
    rules: VectorRules | None = None
    lengths: Floats = field(init=False)
    """Length of the vector of every substructure of the fitted graphs, shape (n_columns,)."""

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        """Learn the lengths, and count in the fitted graphs."""
        assert self.rules is not None
        counts, vectors = self.rules.learn(self.counter, batch, n_jobs)
        self.lengths = np.sqrt(_squares(vectors))
        return self._weighted(counts)

    def counts(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        """Count in new graphs what has a vector."""
        return self._weighted(self.counter.counts(batch, n_jobs))

    def _weighted(self, found: GraphCounts) -> GraphCounts:
        """Counts that are weighted, with rising columns; what has no vector is left out."""
        matrix = found.sparse()
        values = matrix.data * np.sqrt(self.lengths)[matrix.indices]
        is_kept = values > 0
        ptr, columns = offsets(is_kept)[matrix.indptr], matrix.indices[is_kept].astype(np.int32)
        return GraphCounts(ptr, columns, values[is_kept], found.n_columns)

    def state(self) -> FittedState:
        """Give the lengths, and the vocabulary of substructures."""
        state = self.counter.state()
        state.values["base"] = _base_of(self.counter)
        state.arrays["lengths_of_vectors"] = self.lengths
        return state

    def restore(self, state: FittedState) -> int:
        """Take them out of a state, after checking them; gives the number of columns."""
        self.counter, n_columns = _restored_counter(state)
        self.lengths = state.take_array("lengths_of_vectors", np.float64, (n_columns,))
        if (self.lengths < 0).any():
            raise InvalidInputError("'lengths_of_vectors' has lengths below 0")
        return n_columns


@dataclass
class DeepEngine:
    """
    Inner products of sums of vectors of substructures.

    Parameters
    ----------
    counter : ColourCounter, PathCounter or GraphletCounter
        Counts substructures.
    normalize : bool
        Whether to divide by the lengths of both sums.
    rules : VectorRules, optional
        How vectors are learnt; not needed where they are restored.
    """

    counter: BaseCounter
    normalize: bool
    rules: VectorRules | None = None
    substructures: Floats = field(init=False)
    """Vector of every substructure of the fitted graphs, shape (n_columns, n_components)."""
    vectors: Floats = field(init=False)
    """Vector of every fitted graph, shape (n_graphs, n_components)."""

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> Self:
        """Learn the vectors of substructures."""
        assert self.rules is not None
        counts, self.substructures = self.rules.learn(self.counter, batch, n_jobs)
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
        if self.normalize:
            divide_by_norms(out, _squares(rows), _squares(self.vectors))
        return out

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
        state.values["base"] = _base_of(self.counter)
        return state

    def restore(self, state: FittedState) -> Self:
        """Take them out of a state, after checking them."""
        self.normalize = state.take_value("normalize", bool)
        self.counter, n_columns = _restored_counter(state)
        self.substructures = state.take_array("substructures", np.float64, (n_columns, None))
        width = self.substructures.shape[1]
        self.vectors = state.take_array("vectors", np.float64, (None, width))
        return self


def _squares(rows: Floats) -> Floats:
    return np.asarray(np.einsum("ic,ic->i", rows, rows))
