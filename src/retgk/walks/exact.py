"""Exact return probabilities of a batch, on all cores; and by eigendecomposition, as published."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk._runtime.parallel import n_threads, run_tasks, single_threaded_blas
from retgk.array_types import Floats, Ints
from retgk.errors import InputWarning, warn_user
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import gather_runs

# Merging of twin nodes: a smaller graph that has the same return probabilities.
#
# Nodes with the same neighbours and weights are twins: *open* twins are not adjacent, *closed*
# twins are. Let C be a class of c twins of degree d, self-loop l and, if closed, edge weight w
# inside the class, and let ``Bq = U^T B U`` with U the normalised indicators of the classes. Then
#
# B^s(i, i) = Bq^s(C, C) / c + (1 - 1/c) mu^s, mu = l/d (open) or (l - w)/d (closed),
#
# because the vectors that sum to zero over C are eigenvectors of B with eigenvalue mu.
# `_core.merge_twins` finds the classes and writes the quotients.


class Quotients(NamedTuple):
    """
    Normalised adjacency ``Bq`` of every graph of a batch after its twins are merged.

    The quotient of a graph keeps the place of the graph in the flat arrays: its rows start at
    ``node_ptr[graph]``, its entries where those of the graph start, and what merging saves
    is left unused. So graphs can be merged in any order and by any number of threads.
    """

    n_classes: NDArray[np.int64]  # rows of every quotient, shape (n_graphs,)
    class_of: NDArray[np.int32]  # row of every node in the quotient of its graph, shape (n_nodes,)
    multiplicity: NDArray[np.int32]  # number of twins in every row
    residual: NDArray[np.float64]  # eigenvalue mu of the differences between twins, for every row
    diagonal: NDArray[np.float64]  # bq(C, C) for every row
    row_begin: NDArray[np.int64]  # first entry of every row
    row_end: NDArray[np.int64]  # one past the last entry of every row
    columns: NDArray[np.int32]
    """Column of every entry off the diagonal, numbered within the quotient."""
    values: NDArray[np.float64]  # bq(C, D) of every entry off the diagonal


# What exact return probabilities cost: which way is quicker, and a word before long work.

_DENSE_BYTES = 1 << 28
_LONG_SECONDS = 600.0
_SAMPLED_BLOCKS = 6
# Measured: half powers cost this much more where vectors are in no cache, and nearly as much more
# while walks spread, as the rows in reach are listed and sorted.
_OUT_OF_CACHE = 10.0
_SPREADING = 8.0
_ROWS_IN_CACHE = 8000


class Costs(NamedTuple):
    """Expected nanoseconds of graphs, and the way that each of them goes."""

    per_start: Floats  # half powers from one start node
    spectral: Floats  # one eigendecomposition
    is_dense: NDArray[np.bool_]
    """Whether a graph goes through LAPACK, which must not depend on threads: it rounds otherwise"""

    @classmethod
    def of(cls, n_rows: Ints, entries: Ints, n_starts: Ints, n_steps: int) -> "Costs":
        per_start, spectral = _half_power_cost(n_rows, entries, n_steps), _eigh_cost(n_rows)
        is_dense = spectral < n_starts * per_start
        is_dense &= _dense_bytes(n_rows) <= np.maximum(_DENSE_BYTES / 2, _own_room(entries))
        return cls(per_start, spectral, is_dense)

    def total(self, n_starts: Ints, factor: float = _OUT_OF_CACHE) -> float:
        """Nanoseconds of all graphs on one core; half powers are this much slower than in cache."""
        half_powers = factor * n_starts * self.per_start
        return float(np.where(self.is_dense, self.spectral, half_powers).sum())


def dense_tasks_together(n_rows: Ints, entries: Ints, n_workers: int) -> tuple[Any, int]:
    """Graphs that not all threads may take through LAPACK at once, and how many may."""
    if len(n_rows) == 0:  # as nearly always: what follows takes longer than a small graph
        return [], n_workers
    n_bytes = _dense_bytes(n_rows)
    is_large = n_bytes > np.maximum(_DENSE_BYTES / n_workers, _own_room(entries))
    return is_large, max(1, int(_DENSE_BYTES / n_bytes[is_large].max(initial=1.0)))


def _dense_bytes(n_rows: Ints) -> Floats:
    """Bytes that LAPACK holds: about four matrices."""
    return np.asarray(32.0 * n_rows**2, dtype=np.float64)


def _own_room(entries: Ints) -> Ints:
    """Bytes that a graph may take because it takes as many itself, which shows that there are."""
    return 3 * 12 * entries


def _half_power_cost(n_nodes: Any, n_entries: Any, n_steps: int) -> Any:
    """Nanoseconds of half powers from one start node (measured: 26 GFlop/s in cache)."""
    return 0.038 * n_steps * (n_entries + 2 * n_nodes)


def _eigh_cost(n_nodes: Any) -> Any:
    """Nanoseconds of one eigendecomposition on one core (measured for n = 16 to 1000)."""
    n = np.asarray(n_nodes, dtype=np.float64)
    return 40_000 + 60 * n**2 + 0.25 * n**3


# How long it takes


def is_long(nanoseconds: float, n_jobs: int | None) -> bool:
    if nanoseconds <= 1e9 * _LONG_SECONDS:
        return False
    return _seconds(nanoseconds, n_jobs) > _LONG_SECONDS


def warn_of_time(nanoseconds: float, n_nodes: int, n_jobs: int | None) -> None:
    warn_user(
        InputWarning(
            f"exact return probabilities of {n_nodes:,} nodes take about "
            f"{_in_words(_seconds(nanoseconds, n_jobs))} on this machine, or longer; "
            'method="monte-carlo" estimates them in a fraction of that, and RetGKEmbedding '
            "(`retgk embed`) walks from some nodes only with nodes="
        )
    )


def _seconds(nanoseconds: float, n_jobs: int | None) -> float:
    n_cores = min(n_threads(n_jobs), n_threads(-1))  # more threads than cores gain nothing
    return nanoseconds / 1e9 / n_cores


def _in_words(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3600)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds / 60:,.0f} minutes"


def upper_bound(batch: GraphBatch, n_starts: int, n_steps: int) -> float:
    """Nanoseconds that half powers hardly exceed, from sizes alone."""
    per_start = _half_power_cost(batch.n_nodes, len(batch.indices), n_steps)
    return float(_OUT_OF_CACHE * n_starts * per_start)


def published_cost(batch: GraphBatch) -> float:
    """Nanoseconds of one eigendecomposition of every graph."""
    return float(_eigh_cost(batch.node_counts).sum())


def half_power_factor(
    node_ptr: Ints, quotients: Quotients, starts: tuple[Ints, ...], n_steps: int, costs: Costs
) -> float:
    """Cost of half powers over that in cache, where walks reach all: a mean over a few blocks."""
    graphs, rows, _ = starts
    cumulative = np.cumsum(np.where(costs.is_dense, 0.0, costs.per_start)[graphs])
    if len(cumulative) == 0 or cumulative[-1] == 0:
        return 1.0
    targets = (np.arange(_SAMPLED_BLOCKS) + 0.5) / _SAMPLED_BLOCKS * cumulative[-1]
    factors = []
    for first in np.searchsorted(cumulative, targets):
        block = slice(first, first + _core.LANES)
        own = rows[block][graphs[block] == graphs[first]]
        row = node_ptr[graphs[first]]
        matrix = slice(row, row + quotients.n_classes[graphs[first]])
        factors.append(_factor_of_block(quotients, matrix, own, (n_steps + 1) // 2))
    return float(np.mean(factors))


def _factor_of_block(quotients: Quotients, matrix: slice, rows: Ints, n_products: int) -> float:
    """The same for some start rows of one graph: entries and rows in reach, product by product."""
    begin = quotients.row_begin[matrix]
    lengths = quotients.row_end[matrix] - begin
    slowness = min(max(len(begin) / _ROWS_IN_CACHE, 1.0), _OUT_OF_CACHE)
    is_reached = np.zeros(len(begin), np.bool_)
    work, in_reach, new = 0.0, 0.0, rows
    whole = float(lengths.sum() + 2 * len(begin))
    for product in range(n_products):
        is_reached[new] = True
        in_reach += float(lengths[new].sum() + 2 * len(new))
        if 4 * np.count_nonzero(is_reached) > len(begin):
            work += slowness * (n_products - product) * whole
            break
        work += _SPREADING * in_reach
        is_near = np.zeros(len(begin), np.bool_)
        is_near[gather_runs(quotients.columns, begin[new], lengths[new])] = True
        new = np.flatnonzero(is_near & ~is_reached)
    return work / (n_products * whole)


# What is held beside the result is bounded by working on parts of the batch of about this size.
_PART_NODES = 1 << 19
_PART_ENTRIES = 1 << 23
_TASKS_PER_THREAD = 16
# Handing over a task costs some ten microseconds: none is made for less work than this, and none
# for so much that Ctrl-C would have to wait for it.
_NANOSECONDS = (2e5, 2e8)
_ENTRIES = (4e4, 4e7)
_NODES = (2e4, 4e6)


def exact_return_probabilities(
    batch: GraphBatch, n_steps: int, nodes: Ints | None, self_loop: float, n_jobs: int | None
) -> Floats:
    """``B^s(i, i)``, s = 1..S, to rounding; one row for each of some rising nodes, or for all."""
    _warn_if_long(batch, n_steps, nodes, self_loop, n_jobs)
    probabilities = np.empty((batch.n_nodes if nodes is None else len(nodes), n_steps))
    for part, rows, wanted in _parts(batch, nodes):
        _fill_part(part, wanted, self_loop, n_jobs, probabilities[rows])
    return probabilities


def published_return_probabilities(batch: GraphBatch, n_steps: int, self_loop: float) -> Floats:
    """The same for all nodes, by one eigendecomposition per graph (section 3.2 of the paper)."""
    if is_long(published_cost(batch), None):
        warn_of_time(published_cost(batch), batch.n_nodes, None)
    rows = [
        _spectral_probabilities(_normalized_adjacency(graph, self_loop), n_steps) for graph in batch
    ]
    return np.clip(np.concatenate(rows) if rows else np.empty((0, n_steps)), 0.0, 1.0)


def _warn_if_long(
    batch: GraphBatch, n_steps: int, nodes: Ints | None, self_loop: float, n_jobs: int | None
) -> None:
    """Warn where work is expected to be long, counting twins and what walks reach if need be."""
    n_nodes = batch.n_nodes if nodes is None else len(nodes)
    if not is_long(upper_bound(batch, n_nodes, n_steps), n_jobs):
        return
    graphs = np.repeat(np.arange(len(batch)), batch.node_counts)
    n_starts = np.bincount(graphs if nodes is None else graphs[nodes], minlength=len(batch))
    entries = np.diff(batch.indptr[batch.node_ptr])
    if not is_long(Costs.of(batch.node_counts, entries, n_starts, n_steps).total(n_starts), n_jobs):
        return
    nanoseconds = sum(
        _expected_cost(part, wanted, n_steps, self_loop, n_jobs)
        for part, _, wanted in _parts(batch, nodes)
    )
    if is_long(nanoseconds, n_jobs):
        warn_of_time(nanoseconds, n_nodes, n_jobs)


def _expected_cost(
    batch: GraphBatch, nodes: Ints, n_steps: int, self_loop: float, n_jobs: int | None
) -> float:
    quotients = merge_all_twins(batch, self_loop, n_jobs)
    starts = _class_starts(batch, quotients, nodes)[-1]
    n_starts = np.bincount(starts[0], minlength=len(batch))
    costs = Costs.of(quotients.n_classes, _n_entries(batch, quotients), n_starts, n_steps)
    factor = half_power_factor(batch.node_ptr, quotients, starts, n_steps, costs)
    return costs.total(n_starts, factor)


def _parts(batch: GraphBatch, nodes: Ints | None) -> Iterator[tuple[GraphBatch, slice, Ints]]:
    entry_ptr = batch.indptr[batch.node_ptr]
    first = 0
    while first < len(batch):
        last = min(
            np.searchsorted(batch.node_ptr, batch.node_ptr[first] + _PART_NODES, side="right"),
            np.searchsorted(entry_ptr, entry_ptr[first] + _PART_ENTRIES, side="right"),
        )
        last = max(first + 1, int(last) - 1)
        begin, end = batch.node_ptr[first], batch.node_ptr[last]
        if nodes is None:
            yield batch[first:last], slice(begin, end), np.arange(end - begin)
        else:
            rows = slice(*np.searchsorted(nodes, [begin, end]))
            if rows.stop > rows.start:
                yield batch[first:last], rows, nodes[rows] - begin
        first = last


def _fill_part(
    batch: GraphBatch, nodes: Ints, self_loop: float, n_jobs: int | None, probabilities: Floats
) -> None:
    quotients = merge_all_twins(batch, self_loop, n_jobs)
    graphs, classes, leaders, starts = _class_starts(batch, quotients, nodes)
    works = _works(batch, quotients, starts, probabilities, n_threads(n_jobs))
    # Threads over graphs, not inside LAPACK: bits do not depend on their number.
    with single_threaded_blas() if works[0].tasks[0][0] is _fill_dense else nullcontext():
        for work in works:
            run_tasks(lambda fill, *own: fill(*own), *work, "return probabilities")
    cuts = np.searchsorted(graphs, _even_cuts(batch.node_ptr, n_threads(n_jobs), _NODES))
    arrays = (classes, leaders, quotients.multiplicity, quotients.residual)
    rows = [(*arrays, int(a), int(b), probabilities) for a, b in pairwise(cuts)]
    run_tasks(_core.spread_to_twins, rows, np.diff(cuts).tolist(), n_jobs, "spreading to twins")


def _class_starts(
    batch: GraphBatch, quotients: Quotients, nodes: Ints
) -> tuple[Ints, Ints, Ints, tuple[Ints, ...]]:
    """Graph, class and leading position of every node; and where work starts: one node a class."""
    graphs = np.repeat(np.arange(len(batch)), batch.node_counts)[nodes]
    classes = batch.node_ptr[graphs] + quotients.class_of[nodes]
    leaders = _leaders(classes, batch.n_nodes)
    leading = np.flatnonzero(leaders == np.arange(len(nodes)))
    starts = (graphs[leading], quotients.class_of[nodes[leading]].astype(np.int64), leading)
    return graphs, classes, leaders, starts


def merge_all_twins(batch: GraphBatch, self_loop: float, n_jobs: int | None) -> Quotients:
    # pages that are never written take no memory
    sizes = (len(batch), *[batch.n_nodes] * 6, *[len(batch.indices)] * 2)
    dtypes = (np.int64, np.int32, np.int32, float, float, np.int64, np.int64, np.int32, float)
    quotients = Quotients(*map(np.empty, sizes, dtypes))
    weights = batch.weights if batch.is_weighted else np.empty(0)
    arrays = (batch.node_ptr, batch.indptr, batch.indices, weights)
    work = batch.indptr[batch.node_ptr] + batch.node_ptr
    cuts = _even_cuts(work, n_threads(n_jobs), _ENTRIES)
    tasks = [
        (*arrays, self_loop, int(first), int(last), *quotients) for first, last in pairwise(cuts)
    ]
    run_tasks(_core.merge_twins, tasks, np.diff(work[cuts]).tolist(), n_jobs, "merging twins")
    return quotients


def _even_cuts(cumulative: Ints | Floats, n_workers: int, bounds: tuple[float, float]) -> Ints:
    """Positions that cut cumulative work into several pieces a worker of about equal cost."""
    total = cumulative[-1] - cumulative[0]
    least, most = bounds
    n_pieces = max(min(total / least, n_workers * _TASKS_PER_THREAD), total / most, 1)
    targets = np.linspace(cumulative[0], cumulative[-1], int(n_pieces) + 1)
    return np.unique([0, *np.searchsorted(cumulative, targets[1:-1]), len(cumulative) - 1])


def _leaders(classes: Ints, n_classes: int) -> Ints:
    first = np.empty(n_classes, np.int64)
    first[classes[::-1]] = np.arange(len(classes))[::-1]
    return first[classes]


class _Work(NamedTuple):
    """Tasks, their expected costs, and the threads that take them."""

    tasks: list[tuple[Any, ...]]
    costs: list[float]
    n_jobs: int


def _works(
    batch: GraphBatch,
    quotients: Quotients,
    starts: tuple[Ints, ...],
    probabilities: Floats,
    n_workers: int,
) -> list[_Work]:
    """Cut the start nodes into pieces of work; those that need much memory come by themselves."""
    graphs, n_steps = starts[0], probabilities.shape[1]
    n_starts = np.bincount(graphs, minlength=len(batch))
    entries = _n_entries(batch, quotients)
    costs = Costs.of(quotients.n_classes, entries, n_starts, n_steps)

    def task(method: Callable[..., None], chosen: Any) -> tuple[Any, ...]:
        columns = tuple(column[chosen] for column in starts)
        return method, batch.node_ptr, quotients, columns, probabilities

    ptr = np.append(0, np.cumsum(n_starts))
    dense = np.flatnonzero(costs.is_dense)
    sizes = (quotients.n_classes[dense], entries[dense])
    is_large, n_together = dense_tasks_together(*sizes, n_workers)
    large, others = _Work([], [], min(n_together, n_workers)), _Work([], [], n_workers)
    for graph, needs_room in zip(dense, is_large, strict=True):
        work = large if needs_room else others
        work.tasks.append(task(_fill_dense, slice(ptr[graph], ptr[graph + 1])))
        work.costs.append(float(costs.spectral[graph]))
    sparse = np.flatnonzero(~costs.is_dense[graphs])
    for piece, cost in _balanced_pieces(graphs[sparse], costs.per_start, n_workers):
        others.tasks.append(task(_fill_sparse, sparse[piece]))
        others.costs.append(cost)
    return [work for work in (large, others) if work.tasks]


def _n_entries(batch: GraphBatch, quotients: Quotients) -> Ints:
    first_rows = batch.node_ptr[:-1]
    last_rows = first_rows + quotients.n_classes - 1
    return np.asarray(quotients.row_end[last_rows] - quotients.row_begin[first_rows])


def _balanced_pieces(
    graphs: Ints, per_start: Floats, n_workers: int
) -> Iterator[tuple[slice, float]]:
    """Cut start nodes, at borders of blocks of lanes, into pieces of about equal cost."""
    if len(graphs) == 0:
        return
    first_of_graph = np.flatnonzero(np.diff(graphs, prepend=-1))
    counts = np.diff(first_of_graph, append=len(graphs))
    rank = np.arange(len(graphs)) - np.repeat(first_of_graph, counts)
    borders = np.append(np.flatnonzero(rank % _core.LANES == 0), len(graphs))
    cumulative = np.append(0, np.cumsum(per_start[graphs]))[borders]
    cuts = _even_cuts(cumulative, n_workers, _NANOSECONDS)
    for first, last in pairwise(cuts):
        cost = float(cumulative[last] - cumulative[first])
        yield slice(borders[first], borders[last]), cost


def _spectral_probabilities(matrix: Floats, n_steps: int) -> Floats:
    """``B^s(i, i) = sum_k lambda_k^s u_k(i)^2``, s = 1..S, for a symmetric matrix B: (n, S)."""
    eigenvalues, eigenvectors = np.linalg.eigh(matrix)
    powers = np.multiply.accumulate(np.tile(eigenvalues[:, None], n_steps), axis=1)
    return np.asarray(np.square(eigenvectors) @ powers)


def _normalized_adjacency(graph: GraphBatch, self_loop: float) -> Floats:
    """``B = D^-1/2 (A + self_loop I) D^-1/2`` of one graph; an isolated node stays."""
    n = graph.n_nodes
    matrix = graph.adjacency()
    matrix[np.diag_indices(n)] += self_loop
    degrees = matrix.sum(axis=1)
    matrix[np.diag_indices(n)] += degrees == 0
    scale = 1 / np.sqrt(np.where(degrees == 0, 1, degrees))
    return matrix * scale[:, None] * scale


def _fill_sparse(
    node_ptr: Any, quotients: Quotients, starts: tuple[Any, Any, Any], probabilities: Floats
) -> None:
    """Write ``Bq^s(C, C)``, s = 1..S, of start nodes that are given as graph, row and target."""
    q = quotients
    matrices = (q.n_classes, q.diagonal, q.row_begin, q.row_end, q.columns, q.values)
    _core.fill_half_powers(node_ptr, *matrices, *starts, probabilities)


def _fill_dense(
    node_ptr: Any, quotients: Quotients, starts: tuple[Any, Any, Any], probabilities: Floats
) -> None:
    """Write what `_fill_sparse` writes, for start nodes that all lie in one graph."""
    graphs, rows, targets = starts
    part = slice(node_ptr[graphs[0]], node_ptr[graphs[0]] + quotients.n_classes[graphs[0]])
    begin, end = quotients.row_begin[part], quotients.row_end[part]
    n = len(begin)
    matrix = np.zeros((n, n))
    entries = slice(begin[0], end[-1])
    matrix[np.repeat(np.arange(n), end - begin), quotients.columns[entries]] = quotients.values[
        entries
    ]
    matrix[np.diag_indices(n)] = quotients.diagonal[part]
    probabilities[targets] = _spectral_probabilities(matrix, probabilities.shape[1])[rows]
