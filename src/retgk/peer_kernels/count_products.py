"""
Kernel matrices from counts: sums over columns of products, or of the smaller of two counts.

Columns that many graphs have are dense: they are multiplied by BLAS, some thousand at a time. All
others are looked up in postings, so that only pairs of graphs that share one cost anything.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from retgk import _core
from retgk.array_types import Flags, Floats, Ints
from retgk.errors import Remedy
from retgk.graphs.ragged import chunks, offsets
from retgk.peer_kernels.graph_counts import GraphCounts, Postings
from retgk.peer_kernels.graph_norms import NormParts, divide_by_norms
from retgk.runtime.memory import check_room
from retgk.runtime.parallel import run_tasks, single_threaded_blas

__all__ = ["Summand", "fitted_products", "new_products", "self_products"]

Summand = Literal["products", "minima"]
"""What is summed over columns: products of two counts, or the smaller one."""

_DENSE_SHARE = 0.25  # of the graphs; measured: from here on a dense column is the cheaper one
_LEAST_DENSE_ROWS = 32
_DENSE_BYTES = 1 << 26
_ROWS = 128
_TASK_POSTINGS = 1 << 25  # about a twentieth of a second
_EXACT = 2.0**53


def self_products(counts: GraphCounts, summand: Summand) -> Floats:
    """Kernel of every graph with itself, over all of its columns."""
    own = counts.counts
    with np.errstate(over="ignore"):  # `check_norms` says it better
        return counts.row_sums(np.square(own) if summand == "products" else own)


def fitted_products(
    postings: Postings, norms: Floats, summand: Summand, normalize: bool, n_jobs: int | None
) -> Floats:
    """Kernel matrix of the fitted graphs, divided by the roots of its diagonal if asked to."""
    n_graphs = postings.n_graphs
    check_room(8 * n_graphs**2, "the kernel matrix", Remedy("fewer_graphs", "give fewer graphs"))
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


def new_products(
    rows: GraphCounts,
    postings: Postings,
    norms: tuple[Floats, Floats],
    summand: Summand,
    normalize: bool,
    n_jobs: int | None,
) -> Floats:
    """Kernel matrix of new graphs, one row each, with the fitted ones; `norms` are of both."""
    shape = len(rows), postings.n_graphs
    remedy = Remedy("fewer_graphs", "transform fewer graphs at a time")
    check_room(8 * shape[0] * shape[1], "the kernel matrix", remedy)
    out = np.zeros(shape)
    largest = np.maximum(norms[0].max(initial=0.0), norms[1])
    _add_all(rows, postings, largest, summand, False, n_jobs, out)
    if normalize:
        divide_by_norms(out, *norms)
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

    _run_over_rows(work, costs, _TASK_POSTINGS, n_jobs)


def _run_over_rows(
    work: Callable[[int, int], None], costs: Ints, most: int, n_jobs: int | None
) -> None:
    """Run over all rows, several at a time, in tasks of about the same cost."""
    ptr = offsets(costs)
    ranges = list(chunks(ptr, most))
    of_ranges = [float(ptr[last] - ptr[first]) for first, last in ranges]
    run_tasks(work, ranges, of_ranges, n_jobs, "kernel values")


def _dense_columns(rows: GraphCounts, postings: Postings, norms: Floats) -> Flags:
    """
    Columns that many graphs have.

    None where sums may be rounded: the order of BLAS depends on what else is multiplied.
    """
    sizes = np.diff(postings.ptr)
    if len(rows) < _LEAST_DENSE_ROWS or not postings.is_whole or norms.max(initial=0.0) >= _EXACT:
        return np.zeros(len(sizes), bool)
    return sizes > max(_DENSE_SHARE * postings.n_graphs, _LEAST_DENSE_ROWS)


def _column_blocks(is_dense: Flags, n_graphs: int) -> Iterator[Ints]:
    """Cut the dense columns into blocks that take little memory."""
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
        ptr = offsets(costs)
        ranges = list(chunks(ptr, None, _ROWS))
        of_ranges = [float(ptr[last] - ptr[first]) for first, last in ranges]
        work = add_block if summand == "products" else add_rows
        run_tasks(work, ranges, of_ranges, n_jobs, "kernel values")


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
