"""Shortest paths compared by a kernel of the attributes of their ends."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from retgk import _core
from retgk.array_types import Codes, Floats, Ints
from retgk.engine.fitted_state import FittedState
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import chunks, offsets
from retgk.peer_kernels.pair_engine import ColouredNodes, PairEngine, taken_offsets
from retgk.peer_kernels.path_counter import length_numbers, search_costs, take_lengths
from retgk.runtime.memory import check_room
from retgk.runtime.parallel import run_tasks

__all__ = ["AttributePathEngine", "GraphPaths"]

_TASK_COST = 1 << 24


@dataclass(frozen=True, eq=False)
class GraphPaths(ColouredNodes):
    """
    Nodes of graphs, and their connected pairs in the order of path lengths.

    Attributes
    ----------
    ptr : ndarray of int64, shape (n_graphs + 1,)
        First pair of every graph.
    lengths : ndarray of int32, shape (n_pairs,)
        Number of the length, rising within a graph.
    starts, ends : ndarray of int32, shape (n_pairs,)
        The two nodes, numbered within their graph.
    """

    ptr: Ints
    lengths: Codes
    starts: Codes
    ends: Codes

    def pairs_of(self, graph: int) -> tuple[Codes, Codes, Codes]:
        """Pairs of one graph."""
        run = slice(self.ptr[graph], self.ptr[graph + 1])
        return self.lengths[run], self.starts[run], self.ends[run]


@dataclass
class AttributePathEngine(PairEngine):
    """
    Sum over pairs of shortest paths of the same length of the kernels of their ends.

    Parameters
    ----------
    node_kernel, start, normalize, random_state
        As in `PairEngine`.
    """

    lengths: Floats = field(init=False)
    """All lengths of paths of the fitted graphs."""

    without_vectors: ClassVar[str] = "paths that are compared by a kernel of attributes"

    def taken(
        self, batch: GraphBatch, codes: Codes, is_fit: bool, n_jobs: int | None
    ) -> GraphPaths:
        """Find the paths of graphs; lengths of the fitted graphs come first."""
        known = np.empty(0) if is_fit else self.lengths
        ptr = offsets(np.square(batch.node_counts))
        remedy = Remedy("fewer_graphs", self.fewer)
        check_room(16 * int(ptr[-1]), "the lengths of shortest paths", remedy)
        matrices = np.empty(int(ptr[-1]))
        weights = batch.weights if batch.is_weighted else np.empty(0)
        graph = (batch.node_ptr, batch.indptr, batch.indices, weights)
        costs = search_costs(batch)
        ranges = list(chunks(offsets(costs), _TASK_COST))
        of_ranges = [float(costs[first:last].sum()) for first, last in ranges]

        def search(first: int, last: int) -> None:
            _core.fill_lengths(first, last, *graph, ptr, matrices)

        run_tasks(search, ranges, of_ranges, n_jobs, "shortest paths")
        lengths = length_numbers(known, [np.unique(matrices[matrices > 0])])
        order = np.argsort(lengths)
        places = np.minimum(np.searchsorted(lengths, matrices, sorter=order), len(lengths) - 1)
        numbers = np.where(matrices > 0, order[places] if len(order) else -1, -1).astype(np.int32)
        sizes = np.add.reduceat(numbers >= 0, ptr[:-1], dtype=np.int64) // 2
        pair_ptr = offsets(sizes)
        pairs = [np.empty(pair_ptr[-1], np.int32) for _ in range(3)]

        def sort(first: int, last: int) -> None:
            _core.fill_pairs(first, last, batch.node_ptr, ptr, numbers, pair_ptr, *pairs)

        run_tasks(sort, ranges, of_ranges, n_jobs, "shortest paths")
        attributes = np.array(batch.attributes)
        if is_fit:
            self.lengths = lengths
        return GraphPaths(np.array(batch.node_ptr), attributes, codes, pair_ptr, *pairs)

    def fill_row(
        self, rows: GraphPaths, graph: int, columns: GraphPaths, first: int, last: int, out: Floats
    ) -> None:
        """Write the kernel of one graph with some others."""
        nodes = slice(columns.node_ptr[first], columns.node_ptr[last])
        kernel = rows.node_kernel(graph, columns, nodes, self.fitted_kernel)
        place = (first, last, columns.node_ptr, columns.ptr)
        others = (columns.lengths, columns.starts, columns.ends)
        _core.fill_path_products(*place, kernel, *rows.pairs_of(graph), *others, out)

    def state(self) -> FittedState:
        """Give nodes, pairs of nodes and lengths of the fitted graphs."""
        state = super().state()
        state.arrays |= {name: getattr(self.graphs, name) for name in ("ptr", "starts", "ends")}
        state.arrays |= {"path_lengths": self.graphs.lengths, "lengths": self.lengths}
        return state

    def restore(self, state: FittedState) -> Self:
        """Take them out of a state, after checking them."""
        nodes = self.restored_nodes(state)
        if self.fitted_kernel is None:
            raise InvalidInputError("'node_kernel' is missing")
        self.lengths = take_lengths(state)
        self.graphs = _restored_paths(state, nodes, len(self.lengths))
        return self


def _restored_paths(state: FittedState, nodes: ColouredNodes, n_lengths: int) -> GraphPaths:
    """Take paths out of a state, after checking them."""
    lengths = state.take_array("path_lengths", np.int32, (None,))
    ptr = taken_offsets(state, "ptr", len(nodes), len(lengths))
    ends = [state.take_array(name, np.int32, (len(lengths),)) for name in ("starts", "ends")]
    sizes = np.repeat(np.diff(nodes.node_ptr), np.diff(ptr))
    limits: list[tuple[str, Codes, Any]] = [("path_lengths", lengths, n_lengths)]
    limits += [("starts", ends[0], sizes), ("ends", ends[1], sizes)]
    for name, values, limit in limits:
        if ((values < 0) | (values >= limit)).any():
            raise InvalidInputError(f"{name!r} has numbers that stand for nothing")
    own = (nodes.node_ptr, nodes.attributes, nodes.colours)
    return GraphPaths(*own, ptr, lengths, *ends)
