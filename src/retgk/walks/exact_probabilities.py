"""Exact return probabilities of a batch, on all cores.

Twins are merged; what is left goes through half powers, or through LAPACK where a graph is so
dense that this is expected to be quicker.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit

from retgk.array_types import Floats, Ints
from retgk.graphs.batch import GraphBatch
from retgk.runtime.parallel import n_threads, run_tasks, single_threaded_blas
from retgk.walks.half_powers import LANES, fill_half_powers
from retgk.walks.spectral import eigh_cost, fill_dense, half_power_cost
from retgk.walks.twins import Quotients, empty_quotients, merge_twins

__all__ = ["exact_return_probabilities"]

# What is held beside the result is bounded by working on parts of the batch of about this size.
_PART_NODES = 1 << 19
_PART_ENTRIES = 1 << 23
_TASKS_PER_THREAD = 16
# Handing over a task costs some ten microseconds: none is made for less work than this, and none
# for so much that Ctrl-C would have to wait for it.
_NANOSECONDS = (2e5, 2e8)
_ENTRIES = (4e4, 4e7)
_NODES = (2e4, 4e6)
_DENSE_BYTES = 1 << 28


def exact_return_probabilities(
    batch: GraphBatch, n_steps: int, nodes: Ints | None, self_loop: float, n_jobs: int | None
) -> Floats:
    """
    ``B^s(i, i)``, s = 1..S, to rounding.

    Parameters
    ----------
    batch : GraphBatch
        The graphs.
    n_steps : int
        Number S of steps.
    nodes : ndarray of int64, or None
        Rising nodes, numbered over the batch; None for all.
    self_loop : float
        Weight of the loop that every node gets.
    n_jobs : int or None
        Threads.

    Returns
    -------
    ndarray of float64, shape (n_nodes, n_steps)
        One row per node.
    """
    probabilities = np.empty((batch.n_nodes if nodes is None else len(nodes), n_steps))
    for first, last in _parts(batch):
        begin, end = batch.node_ptr[first], batch.node_ptr[last]
        if nodes is None:
            rows, wanted = slice(begin, end), np.arange(end - begin)
        else:
            rows = slice(*np.searchsorted(nodes, [begin, end]))
            wanted = nodes[rows] - begin
        if len(wanted):
            _fill_part(batch[first:last], wanted, self_loop, n_jobs, probabilities[rows])
    return probabilities


def _parts(batch: GraphBatch) -> Iterator[tuple[int, int]]:
    """Cut the batch into runs of whole graphs of bounded size."""
    entry_ptr = batch.indptr[batch.node_ptr]
    first = 0
    while first < len(batch):
        last = min(
            np.searchsorted(batch.node_ptr, batch.node_ptr[first] + _PART_NODES, side="right"),
            np.searchsorted(entry_ptr, entry_ptr[first] + _PART_ENTRIES, side="right"),
        )
        last = max(first + 1, int(last) - 1)
        yield first, last
        first = last


def _fill_part(
    batch: GraphBatch, nodes: Ints, self_loop: float, n_jobs: int | None, probabilities: Floats
) -> None:
    quotients = _merged(batch, self_loop, n_jobs)
    graphs = np.repeat(np.arange(len(batch)), batch.sizes)[nodes]
    classes = batch.node_ptr[graphs] + quotients.class_of[nodes]
    leaders = _leaders(classes, batch.n_nodes)
    leading = np.flatnonzero(leaders == np.arange(len(nodes)))
    starts = (graphs[leading], quotients.class_of[nodes[leading]].astype(np.int64), leading)
    tasks, costs = _tasks(batch, quotients, starts, probabilities, n_threads(n_jobs))
    # Threads over graphs, not inside LAPACK: bits do not depend on their number.
    with single_threaded_blas() if tasks[0][0] is fill_dense else nullcontext():
        run_tasks(_call, tasks, costs, n_jobs, "return probabilities")
    cuts = np.searchsorted(graphs, _even_cuts(batch.node_ptr, n_threads(n_jobs), _NODES))
    rows = [(classes, leaders, quotients, int(a), int(b), probabilities) for a, b in pairwise(cuts)]
    run_tasks(_spread, rows, np.diff(cuts).tolist(), n_jobs, "spreading to twins")


def _call(method: Callable[..., None], *arguments: Any) -> None:
    method(*arguments)


def _merged(batch: GraphBatch, self_loop: float, n_jobs: int | None) -> Quotients:
    quotients = empty_quotients(len(batch), batch.n_nodes, len(batch.indices))
    weights = batch.weights if batch.is_weighted else np.empty(0)
    arrays = (batch.node_ptr, batch.indptr, batch.indices, weights)
    work = batch.indptr[batch.node_ptr] + batch.node_ptr
    cuts = _even_cuts(work, n_threads(n_jobs), _ENTRIES)
    tasks = [
        (arrays, self_loop, int(first), int(last), quotients) for first, last in pairwise(cuts)
    ]
    run_tasks(merge_twins, tasks, np.diff(work[cuts]).tolist(), n_jobs, "merging twins")
    return quotients


def _even_cuts(cumulative: Ints | Floats, n_workers: int, bounds: tuple[float, float]) -> Ints:
    """Positions that cut cumulative work into several pieces a worker of about equal cost."""
    total = cumulative[-1] - cumulative[0]
    least, most = bounds
    n_pieces = max(min(total / least, n_workers * _TASKS_PER_THREAD), total / most, 1)
    targets = np.linspace(cumulative[0], cumulative[-1], int(n_pieces) + 1)
    return np.unique([0, *np.searchsorted(cumulative, targets[1:-1]), len(cumulative) - 1])


def _leaders(classes: Ints, n_classes: int) -> Ints:
    """First position with the same class, for every position."""
    first = np.empty(n_classes, np.int64)
    first[classes[::-1]] = np.arange(len(classes))[::-1]
    return first[classes]


def _tasks(
    batch: GraphBatch,
    quotients: Quotients,
    starts: tuple[Ints, ...],
    probabilities: Floats,
    n_workers: int,
) -> tuple[list[tuple[Any, ...]], list[float]]:
    """Cut the start nodes into pieces of work, each with its method and expected cost."""
    graphs, n_steps = starts[0], probabilities.shape[1]
    n_starts = np.bincount(graphs, minlength=len(batch))
    last_rows = batch.node_ptr[:-1] + quotients.n_classes - 1
    entries = quotients.row_end[last_rows] - quotients.row_begin[batch.node_ptr[:-1]]
    per_start = half_power_cost(quotients.n_classes, entries, n_steps)
    spectral = eigh_cost(quotients.n_classes)
    dense = spectral < n_starts * per_start
    # LAPACK holds about four matrices; the graph itself shows how much memory is at hand
    room = np.maximum(_DENSE_BYTES / n_workers, 3 * 12 * entries)
    dense &= 32.0 * quotients.n_classes**2 <= room

    def task(method: Callable[..., None], chosen: Any) -> tuple[Any, ...]:
        columns = tuple(column[chosen] for column in starts)
        return method, batch.node_ptr, quotients, columns, probabilities

    ptr = np.append(0, np.cumsum(n_starts))
    tasks = [task(fill_dense, slice(ptr[g], ptr[g + 1])) for g in np.flatnonzero(dense)]
    costs = spectral[dense].tolist()
    sparse = np.flatnonzero(~dense[graphs])
    for piece, cost in _balanced_pieces(graphs[sparse], per_start, n_workers):
        tasks.append(task(fill_half_powers, sparse[piece]))
        costs.append(cost)
    return tasks, costs


def _balanced_pieces(
    graphs: Ints, per_start: Floats, n_workers: int
) -> Iterator[tuple[slice, float]]:
    """Cut start nodes, at borders of blocks of lanes, into pieces of about equal cost."""
    if len(graphs) == 0:
        return
    first_of_graph = np.flatnonzero(np.diff(graphs, prepend=-1))
    counts = np.diff(first_of_graph, append=len(graphs))
    rank = np.arange(len(graphs)) - np.repeat(first_of_graph, counts)
    borders = np.append(np.flatnonzero(rank % LANES == 0), len(graphs))
    cumulative = np.append(0, np.cumsum(per_start[graphs]))[borders]
    cuts = _even_cuts(cumulative, n_workers, _NANOSECONDS)
    for first, last in pairwise(cuts):
        cost = float(cumulative[last] - cumulative[first])
        yield slice(borders[first], borders[last]), cost


@njit(cache=True, nogil=True)
def _spread(classes, leaders, quotients, first, last, probabilities):
    """Turn rows of quotients into those of nodes, and copy them to all twins."""
    n_steps = probabilities.shape[1]
    for row in range(first, last):
        if leaders[row] != row:
            probabilities[row] = probabilities[leaders[row]]
            continue
        own, n_twins = probabilities[row], quotients.multiplicity[classes[row]]
        if n_twins > 1:
            share, power = 1.0 / n_twins, 1.0
            for step in range(n_steps):
                power *= quotients.residual[classes[row]]
                own[step] = own[step] * share + (1.0 - share) * power
        for step in range(n_steps):
            own[step] = min(max(own[step], 0.0), 1.0)
