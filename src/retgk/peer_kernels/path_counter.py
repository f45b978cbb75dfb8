"""Counts of shortest paths of graphs, by the colours of their ends and their lengths."""

from dataclasses import dataclass, field

import numpy as np

from retgk import _core
from retgk.array_types import Codes, Floats, Ints
from retgk.engine.fitted_state import FittedState
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import chunks, offsets
from retgk.graphs.validation import warn_of_unknown_labels
from retgk.peer_kernels.graph_counts import GraphCounts
from retgk.peer_kernels.stored_colours import colour_values, restored_colours
from retgk.refinement.first_colours import FirstColours, Start
from retgk.runtime.parallel import run_tasks

__all__ = ["PathCounter", "length_numbers", "search_costs", "take_lengths"]

_TASK_COST = 1 << 25  # steps of searches: about a tenth of a second
_MOST_BITS = 20  # of a colour: so many are left for lengths that no graph runs out of them


@dataclass
class PathCounter:
    """
    Counts ordered pairs of nodes by their two colours and the length of the shortest path.

    Parameters
    ----------
    start : {"labels", "degrees", "none"}
        What the colours are.
    warns : bool, default=True
        Whether to warn of new graphs without a known label; not where labels are hashes.
    """

    start: Start
    warns: bool = True
    first: FirstColours = field(init=False)
    lengths: Floats = field(init=False)
    """Lengths of paths of the fitted graphs, rising."""
    keys: Ints = field(init=False)
    """Colours and number of the length of every column, in as many bits as `bits_of` tells."""

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        """Count in the fitted graphs, and number what is found."""
        self.first, self.lengths = FirstColours(self.start), np.empty(0)
        codes = self.first.fit(batch)
        bits = _bits_of(len(self.first.names))
        ptr, keys, counts, self.lengths = self._found(batch, codes, bits, n_jobs)
        numbers = np.empty(len(keys), np.int32)
        self.keys = _core.number_keys(np.empty(0, np.int64), keys, numbers)
        return GraphCounts(ptr, numbers, counts, len(self.keys))

    def counts(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        """Count in new graphs; what no fitted graph has comes after all columns."""
        codes = self.first.colours(batch)
        if self.start == "labels" and self.warns:
            warn_of_unknown_labels(batch.label_names, self.first.names)
        n_known = len(self.first.names)
        bits = _bits_of(max(n_known, int(codes.max(initial=0)) + 1))
        ptr, keys, counts, _ = self._found(batch, codes, bits, n_jobs)
        numbers = np.empty(len(keys), np.int32)
        _core.number_keys(_with_bits(self.keys, _bits_of(n_known), bits), keys, numbers)
        return GraphCounts(ptr, numbers, counts, len(self.keys))

    def _found(
        self, batch: GraphBatch, colours: Codes, bits: int, n_jobs: int | None
    ) -> tuple[Ints, Ints, Floats, Floats]:
        """Keys and counts of every graph, and all lengths: those that were known come first."""
        weights = batch.weights if batch.is_weighted else np.empty(0)
        graph = (batch.node_ptr, batch.indptr, batch.indices, weights)
        sizes = np.empty(len(batch), np.int64)
        costs = search_costs(batch)
        ranges = list(chunks(offsets(costs), _TASK_COST))
        # one at least: no graphs have no tasks
        parts: list[tuple[Ints, Floats, Floats]] = [_NOTHING] * max(len(ranges), 1)

        def work(task: int, first: int, last: int) -> None:
            parts[task] = _core.count_paths(first, last, *graph, colours, bits, sizes)

        tasks = [(task, *span) for task, span in enumerate(ranges)]
        of_tasks = [float(costs[first:last].sum()) for first, last in ranges]
        run_tasks(work, tasks, of_tasks, n_jobs, "shortest paths")
        lengths = length_numbers(self.lengths, [part[2] for part in parts])
        shift = 63 - 2 * bits
        mask = (1 << shift) - 1
        keys = [_renumbered(part[0], part[2], lengths, mask) for part in parts]
        counts = [part[1] for part in parts]
        return offsets(sizes), np.concatenate(keys), np.concatenate(counts), lengths

    def state(self) -> FittedState:
        """Give colours, lengths and keys."""
        return FittedState(
            colour_values(self.first), {"lengths": self.lengths, "path_keys": self.keys}
        )

    def restore(self, state: FittedState) -> int:
        """Take them out of a state, after checking them; gives the number of columns."""
        self.first = restored_colours(state)
        self.start, names = self.first.start, self.first.names
        self.lengths = take_lengths(state)
        self.keys = state.take_array("path_keys", np.int64, (None,))
        bits = _bits_of(len(names))
        shift = 63 - 2 * bits
        if len(self.keys) and self.keys.min() < 0:
            raise InvalidInputError("'path_keys' has numbers below 0")
        ends = self.keys >> shift
        limits = (
            (ends >> bits, len(names)),
            (ends & ((1 << bits) - 1), len(names)),
            (self.keys & ((1 << shift) - 1), len(self.lengths)),
        )
        if any(len(part) and part.max() >= limit for part, limit in limits):
            raise InvalidInputError("'path_keys' has colours or lengths that are not there")
        if len(np.unique(self.keys)) < len(self.keys):
            raise InvalidInputError("'path_keys' has a key twice")
        return len(self.keys)


_NOTHING = (np.empty(0, np.int64), np.empty(0), np.empty(0))


def search_costs(batch: GraphBatch) -> Ints:
    """Steps that searches from all nodes of every graph take."""
    entries = np.diff(batch.indptr[batch.node_ptr])
    return np.asarray(batch.node_counts * (batch.node_counts + entries))


def length_numbers(known: Floats, found: list[Floats]) -> Floats:
    """All lengths, each once: the known ones first, which rise, then the others, which rise too."""
    others = np.unique(np.concatenate([np.empty(0), *found]))
    return np.concatenate([known, np.setdiff1d(others, known, assume_unique=True)])


def take_lengths(state: FittedState) -> Floats:
    """Take lengths of paths out of a state, after checking them."""
    lengths = state.take_array("lengths", np.float64, (None,))
    if (np.diff(lengths) <= 0).any() or (lengths <= 0).any():
        raise InvalidInputError("'lengths' are not positive and rising")
    return lengths


def _bits_of(n_colours: int) -> int:
    """Bits that a colour takes in a key."""
    bits = max(int(n_colours - 1).bit_length(), 1)
    if bits > _MOST_BITS:
        raise InvalidInputError(
            f"there are {n_colours} labels; shortest paths take up to {1 << _MOST_BITS}: use fewer "
            "ones, or start='none'"
        )
    return bits


def _with_bits(keys: Ints, bits: int, wider: int) -> Ints:
    """Write keys with more bits for colours."""
    if bits == wider:
        return keys
    shift = 63 - 2 * bits
    ends, length = keys >> shift, keys & ((1 << shift) - 1)
    low, high = ends >> bits, ends & ((1 << bits) - 1)
    return np.asarray((((low << wider) | high) << (63 - 2 * wider)) | length)


def _renumbered(keys: Ints, own: Floats, lengths: Floats, mask: int) -> Ints:
    """Give keys with numbers of lengths among all of them."""
    if len(lengths) > mask:
        raise InvalidInputError(
            f"paths have {len(lengths)} different lengths; round the weights, or use fewer labels"
        )
    order = np.argsort(lengths)
    numbers = order[np.searchsorted(lengths, own, sorter=order)]
    return np.asarray((keys & ~mask) | numbers[keys & mask]) if len(keys) else keys
