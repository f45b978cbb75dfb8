"""Labels that are hashes of attributes, and what a base kernel counts with each of them."""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from retgk.array_types import Codes, Floats, Ints
from retgk.engine.attribute_scaling import column_spreads
from retgk.engine.fitted_state import FittedState
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import offsets
from retgk.graphs.validation import check_alike, warn_of_unknown_labels
from retgk.peer_kernels.attribute_checks import check_attributes
from retgk.peer_kernels.count_engine import CountEngine, Counter
from retgk.peer_kernels.graph_counts import GraphCounts
from retgk.peer_kernels.path_counter import PathCounter
from retgk.peer_kernels.stored_colours import colour_values, restored_colours
from retgk.peer_kernels.weisfeiler_lehman import ColourCounter
from retgk.refinement.first_colours import FirstColours, Start
from retgk.runtime.progress import progress_bar
from retgk.runtime.seeds import RandomState, seed_from

__all__ = ["MAX_HASHES", "HashBase", "HashCounter", "HashEngine"]

HashBase = Literal["wl", "sp"]
"""Base kernel of hashed labels."""

_MOST_BINS = 1 << 31  # a hash and a label share 64 bits
MAX_HASHES = 1 << 12


@dataclass
class HashCounter:
    """
    Counts of a base kernel with each of some hash functions, side by side.

    Parameters
    ----------
    n_hashes, base, n_iter, bin_width, standardize, start, random_state
        As in `HashGraphKernel`.
    """

    n_hashes: int
    base: HashBase
    n_iter: int
    bin_width: float
    standardize: bool
    start: Start
    random_state: RandomState = None
    first: FirstColours = field(init=False)
    means: Floats = field(init=False)
    deviations: Floats = field(init=False)
    directions: Floats = field(init=False)
    """Directions onto which attributes are projected, shape (n_hashes, n_attributes)."""
    shifts: Floats = field(init=False)
    """What is added to every projection, shape (n_hashes,)."""
    counters: list[Counter] = field(init=False)
    """One for each hash function."""

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        """Draw the hash functions, and count in the fitted graphs."""
        if not batch.n_attributes:
            raise InvalidInputError(
                "nodes have no attributes to hash",
                Remedy(
                    "attributes",
                    "give some with as_batch(graphs, attributes=...), or use "
                    "WeisfeilerLehmanKernel or ShortestPathKernel",
                ),
            )
        check_attributes(batch)
        self.first = FirstColours(self.start)
        codes = self.first.fit(batch)
        self._draw(batch.attributes)
        self.counters = [self._new_counter() for _ in range(self.n_hashes)]
        return self._joined(batch, codes, True, n_jobs)

    def counts(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        """Count in new graphs, by the hash functions of the fitted ones."""
        check_alike(batch, batch.has_labels, len(self.means))
        check_attributes(batch)
        codes = self.first.colours(batch)
        if self.start == "labels":
            warn_of_unknown_labels(batch.label_names, self.first.names)
        return self._joined(batch, codes, False, n_jobs)

    def _draw(self, attributes: Floats) -> None:
        rng = np.random.default_rng(int(seed_from(self.random_state)))
        n_attributes = attributes.shape[1]
        self.means, self.deviations = np.zeros(n_attributes), np.ones(n_attributes)
        if self.standardize:
            self.means, deviations = attributes.mean(axis=0), column_spreads(attributes)
            self.deviations = np.where(deviations > 0, deviations, 1.0)
        self.directions = rng.normal(size=(self.n_hashes, n_attributes))
        self.shifts = rng.uniform(0.0, self.bin_width, self.n_hashes)

    def _new_counter(self) -> Counter:
        if self.base == "wl":
            return ColourCounter(self.n_iter, "labels", warns=False)
        return PathCounter("labels", warns=False)

    def _joined(
        self, batch: GraphBatch, codes: Codes, is_fit: bool, n_jobs: int | None
    ) -> GraphCounts:
        """Counts of all hash functions; each has a run of columns of its own."""
        with np.errstate(over="ignore"):  # no bin has such a number, which is an error below
            points = (batch.attributes - self.means) / self.deviations
        plain, parts = batch.without_attributes(), []
        with progress_bar("hashed graphs", self.n_hashes) as advance:
            for place, counter in enumerate(self.counters):
                hashed = plain.with_labels(self._hashes(points, place, codes))
                count = counter.fit if is_fit else counter.counts
                parts.append(count(hashed, n_jobs))
                advance(1)
        ends = offsets([part.n_columns for part in parts])
        columns = [
            np.where(part.columns < part.n_columns, part.columns + start, ends[-1])
            for part, start in zip(parts, ends[:-1], strict=True)
        ]
        graphs = np.concatenate([np.repeat(np.arange(len(p)), np.diff(p.ptr)) for p in parts])
        order = np.argsort(graphs, kind="stable")
        ptr = offsets(np.bincount(graphs, minlength=len(batch)))
        own = np.concatenate(columns)[order].astype(np.int32)
        counts = np.concatenate([part.counts for part in parts])[order]
        return GraphCounts(ptr, own, counts, int(ends[-1]))

    def _hashes(self, points: Floats, place: int, codes: Codes) -> Ints:
        """Labels of nodes: the hash of attributes and the label that they have."""
        # einsum in place of @: BLAS may give other last bits for other numbers of rows
        with np.errstate(over="ignore", invalid="ignore"):
            projected = np.einsum("nd,d->n", points, self.directions[place])
            bins = np.floor((projected + self.shifts[place]) / self.bin_width)
        if not np.abs(bins).max(initial=0.0) < _MOST_BINS:
            is_raw = (self.deviations == 1).all() and not self.means.any()
            other = ", or standardize=True" if is_raw else ""
            raise InvalidInputError(
                f"bin_width={self.bin_width} is too small for these attributes: they would fall "
                f"into more than {_MOST_BINS} bins; use a larger one{other}"
            )
        return np.asarray(bins.astype(np.int64) * _MOST_BINS + codes)

    def state(self) -> FittedState:
        """Give the hash functions, and what each counter keeps."""
        names = ("n_hashes", "base", "bin_width")
        values: dict[str, Any] = {name: getattr(self, name) for name in names}
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _ARRAYS}
        for place, counter in enumerate(self.counters):
            own = counter.state()
            values |= {f"hash_{place}_{name}": value for name, value in own.values.items()}
            arrays |= {f"hash_{place}_{name}": array for name, array in own.arrays.items()}
        return FittedState({**values, **colour_values(self.first)}, arrays)

    def restore(self, state: FittedState) -> int:
        """Take them out of a state, after checking them; gives the number of columns."""
        self.first = restored_colours(state)
        self.start, self.n_hashes = self.first.start, state.take_count("n_hashes", MAX_HASHES)
        base: Any = state.take_choice("base", get_args(HashBase))
        self.base, self.bin_width = base, state.take_value("bin_width", float)
        self.means = state.take_array("means", np.float64, (None,))
        n_attributes = len(self.means)
        self.deviations = state.take_array("deviations", np.float64, (n_attributes,))
        self.directions = state.take_array("directions", np.float64, (self.n_hashes, n_attributes))
        self.shifts = state.take_array("shifts", np.float64, (self.n_hashes,))
        if not self.n_hashes or not 0 < self.bin_width < np.inf or (self.deviations <= 0).any():
            raise InvalidInputError("'n_hashes', 'bin_width' or 'deviations' is not positive")
        self.counters = [self._new_counter() for _ in range(self.n_hashes)]
        columns = [
            counter.restore(_part_of(state, f"hash_{place}_"))
            for place, counter in enumerate(self.counters)
        ]
        return sum(columns)


_ARRAYS = ("means", "deviations", "directions", "shifts")


def _part_of(state: FittedState, prefix: str) -> FittedState:
    """Take all that has a name with this beginning."""
    values, arrays = (
        {name.removeprefix(prefix): kept.pop(name) for name in [*kept] if name.startswith(prefix)}
        for kept in (state.values, state.arrays)
    )
    return FittedState(values, arrays)


class HashEngine(CountEngine):
    """Mean of the base kernels over all hash functions."""

    counter: HashCounter

    def matrix(self, n_jobs: int | None) -> Floats:
        """Kernel matrix of the fitted graphs."""
        return self._mean(super().matrix(n_jobs))

    def compare(self, batch: GraphBatch, n_jobs: int | None) -> Floats:
        """Kernel matrix of new graphs, one row each, with the fitted ones."""
        return self._mean(super().compare(batch, n_jobs))

    def _mean(self, sums: Floats) -> Floats:
        """Mean of base kernels from their sums, which are exact; normalized ones have no scale."""
        return sums if self.normalize else sums / self.counter.n_hashes

    def own_values(self, batch: GraphBatch | None, n_jobs: int | None) -> Floats:
        """Kernel of every graph with itself, before it is normalized; of fitted ones by default."""
        return super().own_values(batch, n_jobs) / self.counter.n_hashes

    def features(self, batch: GraphBatch, n_jobs: int | None) -> Any:
        """Counts of graphs in the columns of the fitted ones, as a csr_array."""
        return super().features(batch, n_jobs) / np.sqrt(self.counter.n_hashes)
