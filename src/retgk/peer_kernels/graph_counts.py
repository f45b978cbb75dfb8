"""How often graphs have substructures: a sparse row of columns and counts for each graph."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk.array_types import Codes, Floats, Ints
from retgk.engine.fitted_state import FittedState
from retgk.errors import InvalidInputError
from retgk.graphs.ragged import BLOCK_ENTRIES, chunks, compact, offsets
from retgk.runtime.parallel import run_tasks

__all__ = ["GraphCounts", "Postings", "counts_of_nodes", "restored_postings"]


@dataclass(frozen=True, eq=False)
class GraphCounts:
    """
    Counts of substructures, graph after graph.

    Attributes
    ----------
    ptr : ndarray of int64, shape (n_graphs + 1,)
        First entry of every graph.
    columns : ndarray of int32, shape (n_entries,)
        What is counted, every column at most once in a graph. Columns from `n_columns` on stand for
        what no fitted graph has: they meet nothing, and each entry counts in the norm of its graph.
    counts : ndarray of float64, shape (n_entries,)
        How often.
    n_columns : int
        Number of columns that fitted graphs have.
    """

    ptr: NDArray[Any]
    columns: Codes
    counts: Floats
    n_columns: int

    def __len__(self) -> int:
        return len(self.ptr) - 1

    @property
    def arrays(self) -> tuple[NDArray[Any], Codes, Floats]:
        """The three arrays, for compiled loops."""
        return self.ptr, self.columns, self.counts

    def row_sums(self, values: Floats) -> Floats:
        """Sum of values, one for each entry, over every graph."""
        graphs = np.repeat(np.arange(len(self)), np.diff(self.ptr))
        return np.bincount(graphs, values, len(self)).astype(np.float64)

    def sparse(self) -> Any:
        """Give a csr_array of the known columns."""
        from scipy.sparse import csr_array

        known = self.columns < self.n_columns
        sizes = self.row_sums(known.astype(np.float64)).astype(np.int64)
        parts = (self.counts[known], self.columns[known], offsets(sizes))
        matrix = csr_array(parts, shape=(len(self), self.n_columns))
        matrix.sort_indices()
        return matrix

    def postings(self) -> "Postings":
        """Give the graphs of every column."""
        ptr = np.empty(self.n_columns + 1, np.int64)
        graphs, counts = np.empty(len(self.columns), np.int32), np.empty(len(self.columns))
        _core.fill_postings(*self.arrays, ptr, graphs, counts)
        return Postings(compact(ptr), graphs, counts, len(self))


@dataclass(frozen=True, eq=False)
class Postings:
    """
    Counts of the fitted graphs, column after column.

    Attributes
    ----------
    ptr : ndarray of int32 or int64, shape (n_columns + 1,)
        First entry of every column.
    graphs : ndarray of int32, shape (n_entries,)
        Graphs that have it, rising.
    counts : ndarray of float64, shape (n_entries,)
        How often.
    n_graphs : int
        Number of graphs.
    """

    ptr: NDArray[Any]
    graphs: Codes
    counts: Floats
    n_graphs: int

    @property
    def arrays(self) -> tuple[NDArray[Any], Codes, Floats]:
        """The three arrays, for compiled loops."""
        return self.ptr, self.graphs, self.counts

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.ptr) - 1

    def rows(self, least_graphs: int = 1) -> GraphCounts:
        """Give the counts graph after graph, of columns that so many graphs have at least."""
        if least_graphs > 1:
            sizes = np.diff(self.ptr)
            kept = np.repeat(sizes >= least_graphs, sizes)
            shared = np.where(sizes >= least_graphs, sizes, 0)
            ptr = compact(offsets(shared))
            return Postings(ptr, self.graphs[kept], self.counts[kept], self.n_graphs).rows()
        turned = GraphCounts(self.ptr, self.graphs, self.counts, self.n_graphs).postings()
        ptr = turned.ptr.astype(np.int64)  # as those of new graphs
        return GraphCounts(ptr, turned.graphs, turned.counts, self.n_columns)

    @cached_property
    def is_whole(self) -> bool:
        """Whether all counts are whole numbers, so that sums of few of them are exact."""
        return bool((self.counts == np.rint(self.counts)).all())

    def state(self) -> FittedState:
        """Give the arrays."""
        arrays: dict[str, NDArray[Any]] = {"posting_ptr": self.ptr.astype(np.int64)}
        arrays |= {"posting_graphs": self.graphs, "posting_counts": self.counts}
        return FittedState({}, arrays)


def restored_postings(state: FittedState, n_columns: int, n_graphs: int) -> Postings:
    """Take postings out of a state, after checking them."""
    ptr = state.take_array("posting_ptr", np.int64, (n_columns + 1,))
    graphs = state.take_array("posting_graphs", np.int32, (None,))
    counts = state.take_array("posting_counts", np.float64, (len(graphs),))
    if ptr[0] != 0 or ptr[-1] != len(graphs) or (np.diff(ptr) < 0).any():
        raise InvalidInputError("'posting_ptr' does not rise from 0 to the number of postings")
    if len(graphs) and not 0 <= graphs.min() <= graphs.max() < n_graphs:
        raise InvalidInputError(f"'posting_graphs' has graphs that are not among {n_graphs}")
    inside = np.ones(max(len(graphs) - 1, 0), bool)
    borders = ptr[1:-1]
    inside[borders[(borders > 0) & (borders < len(graphs))] - 1] = False
    if (np.diff(graphs)[inside] <= 0).any():
        raise InvalidInputError("'posting_graphs' does not rise within each column")
    if (counts <= 0).any():
        raise InvalidInputError("'posting_counts' has counts that are not positive")
    return Postings(compact(ptr), graphs, counts, n_graphs)


def counts_of_nodes(
    node_ptr: Ints, columns: Codes, n_columns: int, n_jobs: int | None
) -> GraphCounts:
    """
    Count the columns of the nodes of every graph.

    Parameters
    ----------
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph.
    columns : ndarray of int32, shape (n_levels, n_nodes)
        A column for each node and level, rising from level to level. Sorted in place.
    n_columns : int
        Number of columns of fitted graphs.
    n_jobs : int or None
        Threads.

    Returns
    -------
    GraphCounts
        The counts.
    """
    ranges = list(chunks(node_ptr, BLOCK_ENTRIES, 1 << 12))
    costs = [float(node_ptr[last] - node_ptr[first]) for first, last in ranges]
    sizes = np.empty(len(node_ptr) - 1, np.int64)

    def count(first: int, last: int) -> None:
        _core.count_runs(first, last, node_ptr, columns, sizes)

    run_tasks(count, ranges, costs, n_jobs, "counts")
    ptr = offsets(sizes)
    found, counts = np.empty(ptr[-1], np.int32), np.empty(ptr[-1])

    def fill(first: int, last: int) -> None:
        _core.fill_runs(first, last, node_ptr, columns, ptr, found, counts)

    run_tasks(fill, ranges, costs, n_jobs, "counts")
    return GraphCounts(ptr, found, counts, n_columns)
