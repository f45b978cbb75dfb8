"""Kernels that are sums over counted substructures: counters, and the engine on top of them."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk._runtime.fields import check_codes, check_offsets, check_shape, stored
from retgk._runtime.parallel import run_tasks, single_threaded_blas
from retgk._runtime.processes import check_room
from retgk.array_types import Codes, Flags, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import BLOCK_ENTRIES, compact, offsets, run_over_runs
from retgk.kernels.graph import NormParts
from retgk.kernels.others.base import PeerComparison, PeerEngine, check_norms

# How often graphs have substructures: a sparse row of columns and counts for each graph.


@dataclass(frozen=True, eq=False)
class GraphCounts:
    """Counts of substructures, graph after graph."""

    ptr: NDArray[Any]  # (n_graphs + 1,): first entry of every graph
    columns: Codes
    """Every column at most once in a graph. Columns from `n_columns` on stand for what no fitted
    graph has: they meet nothing, and each entry counts in the norm of its graph."""
    counts: Floats  # (n_entries,): how often
    n_columns: int  # number of columns that fitted graphs have

    def __len__(self) -> int:
        return len(self.ptr) - 1

    @property
    def arrays(self) -> tuple[NDArray[Any], Codes, Floats]:
        return self.ptr, self.columns, self.counts

    def row_sums(self, values: Floats) -> Floats:
        graphs = np.repeat(np.arange(len(self)), np.diff(self.ptr))
        return np.bincount(graphs, values, len(self)).astype(np.float64)

    def sparse(self) -> Any:
        from scipy.sparse import csr_array

        known = self.columns < self.n_columns
        sizes = self.row_sums(known.astype(np.float64)).astype(np.int64)
        parts = (self.counts[known], self.columns[known], offsets(sizes))
        matrix = csr_array(parts, shape=(len(self), self.n_columns))
        matrix.sort_indices()
        return matrix

    def postings(self) -> "Postings":
        ptr = np.empty(self.n_columns + 1, np.int64)
        graphs, counts = np.empty(len(self.columns), np.int32), np.empty(len(self.columns))
        _core.fill_postings(*self.arrays, ptr, graphs, counts)
        return Postings(compact(ptr), graphs, counts, len(self))


@stored
@dataclass(frozen=True, eq=False)
class Postings:
    """Counts of the fitted graphs, column after column."""

    ptr: NDArray[Any]  # (n_columns + 1,): first entry of every column
    graphs: Codes  # (n_entries,): graphs that have it, rising
    counts: Floats  # (n_entries,): how often
    n_graphs: int  # number of graphs

    @property
    def arrays(self) -> tuple[NDArray[Any], Codes, Floats]:
        return self.ptr, self.graphs, self.counts

    @property
    def n_columns(self) -> int:
        return len(self.ptr) - 1

    def rows(self, least_graphs: int = 1) -> GraphCounts:
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

    def after_loading(self) -> None:
        check_shape("graphs", self.graphs, None)
        check_shape("counts", self.counts, len(self.graphs))
        check_offsets("ptr", self.ptr, self.n_columns, len(self.graphs))
        check_codes("graphs", self.graphs, self.n_graphs)
        inside = np.ones(max(len(self.graphs) - 1, 0), bool)
        borders = self.ptr[1:-1]
        inside[borders[(borders > 0) & (borders < len(self.graphs))] - 1] = False
        if (np.diff(self.graphs)[inside] <= 0).any():
            raise InvalidInputError("graphs of counts do not rise within each column")
        if (self.counts <= 0).any():
            raise InvalidInputError("there are counts that are not positive")


def counts_of_nodes(
    node_ptr: Ints, columns: Codes, n_columns: int, n_jobs: int | None
) -> GraphCounts:
    sizes = np.empty(len(node_ptr) - 1, np.int64)

    def count(first: int, last: int) -> None:
        _core.count_runs(first, last, node_ptr, columns, sizes)

    run_over_runs(count, node_ptr, BLOCK_ENTRIES, n_jobs, "counts", 1 << 12)
    ptr = offsets(sizes)
    found, counts = np.empty(ptr[-1], np.int32), np.empty(ptr[-1])

    def fill(first: int, last: int) -> None:
        _core.fill_runs(first, last, node_ptr, columns, ptr, found, counts)

    run_over_runs(fill, node_ptr, BLOCK_ENTRIES, n_jobs, "counts", 1 << 12)
    return GraphCounts(ptr, found, counts, n_columns)


# Kernel matrices from counts: sums over columns of products, or of the smaller of two counts.
#
# Columns that many graphs have are dense: they are multiplied by BLAS, some thousand at a time.
# All others are looked up in postings, so that only pairs of graphs that share one cost anything.

Summand = Literal["products", "minima"]
"""What is summed over columns: products of two counts, or the smaller one."""

_DENSE_SHARE = 0.25  # of the graphs; measured: from here on a dense column is the cheaper one
_LEAST_DENSE_ROWS = 32
_DENSE_BYTES = 1 << 26
_ROWS = 128
_TASK_POSTINGS = 1 << 25  # about a twentieth of a second
_EXACT = 2.0**53
_FEWER_NEW = "transform fewer graphs at a time"


def fitted_products(
    postings: Postings, norms: Floats, summand: Summand, normalize: bool, n_jobs: int | None
) -> Floats:
    """Kernel matrix of the fitted graphs, divided by the roots of its diagonal if asked to."""
    n_graphs = postings.n_graphs
    check_room(8 * n_graphs**2, "the kernel matrix", "give fewer graphs")
    out = np.zeros((n_graphs, n_graphs))
    # what one graph alone has is in its norm
    _add_all(postings.rows(least_graphs=2), postings, norms, summand, True, n_jobs, out)
    borders = [*range(0, n_graphs, _ROWS), n_graphs]
    tiles, parts = list(pairwise(borders)), NormParts.of(norms)

    def finish(rows: tuple[int, int], columns: tuple[int, int]) -> None:
        _core.finish_tile(*rows, *columns, norms, *parts, normalize, out)

    tasks = [(rows, columns) for rows in tiles for columns in tiles if columns <= rows]
    run_tasks(finish, tasks, [1.0] * len(tasks), n_jobs, "kernel values")
    return out


def _add_all(
    rows: GraphCounts,
    postings: Postings,
    norms: Floats,
    summand: Summand,
    is_lower: bool,
    n_jobs: int | None,
    out: Floats,
) -> None:
    """Add everything that graphs share; on and below the diagonal only, if `is_lower`."""
    is_dense = _dense_columns(rows, postings, norms)
    for columns in _column_blocks(is_dense, postings.n_graphs):
        _add_dense(rows, postings, columns, summand, is_lower, n_jobs, out)
    costs = np.empty(len(rows), np.int64)
    _core.row_costs(*rows.arrays, postings.ptr, is_dense, costs)
    how = (is_dense, summand != "products", is_lower)

    def work(first: int, last: int) -> None:
        _core.add_shared(first, last, *rows.arrays, *postings.arrays, *how, out)

    run_over_runs(work, offsets(costs), _TASK_POSTINGS, n_jobs, "kernel values")


class Levels(NamedTuple):
    """
    What levels of columns add to a kernel, from sums s over all columns up to the end of each.

    A level adds ``ratio * s / (a + b - s)``, with a and b its norms of the two graphs, and
    ``factor * s``.
    """

    ends: Ints  # (n_levels,): one after the last column of each level
    ratios: Floats  # (n_levels,)
    factors: Floats  # (n_levels,)

    def norms(self, norms: Floats) -> Floats:
        """Norms of graphs up to each level: every level counts the same things."""
        shares = norms / len(self.ends)
        return np.arange(1.0, len(self.ends) + 1)[:, None] * shares

    def times(self, weight: float) -> "Levels":
        return Levels(self.ends, weight * self.ratios, weight * self.factors)

    def add(
        self,
        rows: GraphCounts,
        row_norms: Floats,
        postings: Postings,
        norms: Floats,
        is_lower: bool,
        n_jobs: int | None,
        out: NDArray[Any],
    ) -> None:
        """Add kernel values, in float32 or float64; with `is_lower`, of graphs with each other."""
        costs = np.empty(len(rows), np.int64)
        no_column = np.zeros(postings.n_columns, bool)
        _core.row_costs(*rows.arrays, postings.ptr, no_column, costs)
        costs += len(self.ends) * out.shape[1]
        own, others = self.norms(row_norms), self.norms(norms)

        def work(first: int, last: int) -> None:
            rows_of_counts = (*rows.arrays, own)
            _core.add_levels(
                *(first, last, *rows_of_counts, *postings.arrays, others, *self, is_lower, out)
            )

        run_over_runs(work, offsets(costs), _TASK_POSTINGS, n_jobs, "kernel values")


def _dense_columns(rows: GraphCounts, postings: Postings, norms: Floats) -> Flags:
    """Columns that many graphs have; none where sums may be rounded, as BLAS has its own order."""
    sizes = np.diff(postings.ptr)
    if len(rows) < _LEAST_DENSE_ROWS or not postings.is_whole or norms.max(initial=0.0) >= _EXACT:
        return np.zeros(len(sizes), bool)
    return sizes > max(_DENSE_SHARE * postings.n_graphs, _LEAST_DENSE_ROWS)


def _column_blocks(is_dense: Flags, n_graphs: int) -> Iterator[Ints]:
    columns = np.flatnonzero(is_dense)
    size = max(_DENSE_BYTES // (8 * n_graphs), 16)
    for first in range(0, len(columns), size):
        yield columns[first : first + size]


def _add_dense(
    rows: GraphCounts,
    postings: Postings,
    columns: Ints,
    summand: Summand,
    is_lower: bool,
    n_jobs: int | None,
    out: Floats,
) -> None:
    """Add what graphs share of some dense columns."""
    dense = _dense_of_postings(postings, columns)
    own = dense if is_lower else _dense_of_rows(rows, columns)

    def add_block(first: int, last: int) -> None:
        stop = last if is_lower else postings.n_graphs
        out[first:last, :stop] += own[:, first:last].T @ dense[:, :stop]

    def add_rows(first: int, last: int) -> None:
        _core.add_dense_minima(first, last, own, dense, is_lower, out)

    with single_threaded_blas():
        costs = np.arange(1, len(rows) + 1) if is_lower else np.ones(len(rows), np.int64)
        work = add_block if summand == "products" else add_rows
        run_over_runs(work, offsets(costs), None, n_jobs, "kernel values", _ROWS)


def _dense_of_postings(postings: Postings, columns: Ints) -> Floats:
    dense = np.zeros((len(columns), postings.n_graphs))
    for place, column in enumerate(columns):
        run = slice(postings.ptr[column], postings.ptr[column + 1])
        dense[place, postings.graphs[run]] = postings.counts[run]
    return dense


def _dense_of_rows(rows: GraphCounts, columns: Ints) -> Any:
    places = np.full(rows.n_columns, -1, np.int64)
    places[columns] = np.arange(len(columns))
    dense = np.empty((len(columns), len(rows)))
    _core.fill_columns(*rows.arrays, places, dense)
    return dense


@runtime_checkable
class Counter(Protocol):
    """Counts substructures, with a vocabulary of those that the fitted graphs have."""

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        """Count in the fitted graphs, and number what is found."""

    def counts(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        """Count in new graphs, by the numbers of the fitted ones."""

    @property
    def n_columns(self) -> int:
        """Number of things that it counts."""


@dataclass
class CountEngine(PeerEngine):
    """Kernel of graphs from what a counter counts: a sum of products, or of smaller counts."""

    counter: Counter
    summand: Summand
    normalize: bool
    postings: Postings = field(init=False)  # counts of the fitted graphs
    norms: Floats = field(init=False)
    kept: Ints | None = field(init=False, default=None)

    def taken(self, batch: GraphBatch, is_fit: bool, n_jobs: int | None) -> GraphCounts:
        return (self.counter.fit if is_fit else self.counter.counts)(batch, n_jobs)

    def store(self, taken: GraphCounts) -> None:
        self.postings = taken.postings()

    def own_products(self, taken: GraphCounts, n_jobs: int | None = None) -> Floats:  # noqa: ARG002
        counts = taken.counts
        with np.errstate(over="ignore"):  # `check_norms` says it better
            norms = taken.row_sums(np.square(counts) if self.summand == "products" else counts)
        check_norms(norms, self.normalize)
        return norms

    def matrix(self, n_jobs: int | None) -> Floats:
        return fitted_products(self.postings, self.norms, self.summand, self.normalize, n_jobs)

    def rows(self, taken: GraphCounts, norms: Floats, n_jobs: int | None) -> Floats:
        shape = len(taken), self.postings.n_graphs
        check_room(8 * shape[0] * shape[1], "the kernel matrix", _FEWER_NEW)
        out = np.zeros(shape)
        largest = np.maximum(norms.max(initial=0.0), self.norms)
        _add_all(taken, self.postings, largest, self.summand, False, n_jobs, out)
        return out

    def for_min_max(self) -> Self:
        other = super().for_min_max()
        other.summand = "minima"
        return other

    def levels(self, rounds: Sequence[int] | None) -> Levels:
        """Mean of the ratios of some rounds of refinement; of the last by default."""
        ends = getattr(self.counter, "level_ends", np.array([self.postings.n_columns]))
        ratios = np.zeros(len(ends))
        chosen = (len(ends) - 1,) if rounds is None else tuple(rounds)
        if not chosen:
            raise InvalidInputError("rounds is empty; give one or more, or None for n_iter alone")
        if max(chosen) >= len(ends):
            raise InvalidInputError(
                f"rounds has {max(chosen)}, but labels are refined {len(ends) - 1} times; give "
                "rounds up to n_iter of a kernel of refined labels, or leave them out"
            )
        np.add.at(ratios, list(chosen), 1 / len(chosen))  # one may be there several times
        return Levels(ends, ratios, np.zeros(len(ends)))

    def add_matrix(self, levels: Levels, out: NDArray[Any], n_jobs: int | None) -> None:
        """Add values of levels between the graphs that are kept."""
        if self.kept is not None:
            whole, every = np.zeros((len(self.norms), len(self.norms)), out.dtype), copy(self)
            every.kept = None
            every.add_matrix(levels, whole, n_jobs)
            out += whole[np.ix_(self.kept, self.kept)]
            return
        rows = self.postings.rows(least_graphs=2)
        levels.add(rows, self.norms, self.postings, self.norms, True, n_jobs, out)

    def level_rows(self, levels: Levels, new: PeerComparison) -> Floats:
        """Values of levels between new graphs and those that are kept."""
        shape = len(new.taken), self.postings.n_graphs
        check_room(8 * shape[0] * shape[1], "the kernel matrix", _FEWER_NEW)
        out = np.zeros(shape)
        levels.add(new.taken, new.norms, self.postings, self.norms, False, new.n_jobs, out)
        return out if self.kept is None else out[:, self.kept]

    def features(self, batch: GraphBatch, n_jobs: int | None) -> Any:
        """Counts of graphs in the columns of the fitted ones, as a csr_array."""
        if self.summand == "minima":
            raise InvalidInputError(
                "the optimal assignment kernel has no vectors of this kind; use WeisfeilerLehman, "
                "whose vectors are counts of colours"
            )
        return self.counter.counts(batch, n_jobs).sparse()

    def after_loading(self) -> None:
        if self.postings.n_columns != self.counter.n_columns:
            raise InvalidInputError("counts have other columns than their counter")
        check_shape("norms", self.norms, self.postings.n_graphs)
