"""
Monte Carlo return probabilities of a batch, on all cores.

The first steps are computed exactly, from the surroundings of a node alone: one step reaches the
neighbours, which gives s = 1, 2, and two steps reach theirs, which gives s = 3, 4.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk._runtime.parallel import n_threads, run_tasks
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import offsets

# Monte Carlo return probabilities: walks that depend on the seed and their graph alone.
#
# The random numbers of a walk are a hash of (seed, graph, start node, walk, step). So they are
# the same whatever the number of threads and however a batch is cut, unless copies of a graph are
# to walk apart, each with random numbers of its own. `_core.fill_collisions` and
# `_core.fill_returns` walk.

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class WalkTable(NamedTuple):
    """
    What a step needs: slots, which lead to neighbours, inverse degrees, and alias tables.

    Slots of a node are its neighbours and, if there are self-loops, itself; without either it has
    one slot that stays.
    """

    node_ptr: NDArray[np.int64]
    slot_ptr: NDArray[np.int64]  # first slot of every node
    targets: NDArray[np.int32]  # node that every slot leads to, numbered within its graph
    keys: NDArray[np.uint64]
    """One hash per node, which the random numbers of all walks from it come from."""
    degrees: NDArray[np.float64]  # sum of weights, the self-loop included
    inverse_degrees: NDArray[np.float64]  # one for a node without edges and self-loop
    weights: NDArray[np.float64]  # weights of slots; empty if all are one
    thresholds: NDArray[np.float64]
    """Share of a slot that stays with its own target; empty if weights are."""
    aliases: NDArray[np.int32]  # node that the rest goes to


def walk_table(
    batch: GraphBatch, self_loop: float, seed: np.uint64, *, copies_share: bool = True
) -> WalkTable:
    hashes = graph_hashes(batch)
    keys = node_keys(batch, hashes if copies_share else _told_apart(hashes), seed)
    has_loops = self_loop > 0
    is_weighted = batch.is_weighted or self_loop != has_loops
    slot_ptr = offsets(np.maximum(np.diff(batch.indptr) + has_loops, 1))
    n_slots, n_weights = slot_ptr[-1], slot_ptr[-1] * is_weighted
    degrees, targets = np.empty(batch.n_nodes), np.empty(n_slots, np.int32)
    tables = (np.empty(n_weights), np.empty(n_weights), np.empty(n_weights, np.int32))
    arrays = (batch.node_ptr, batch.indptr, batch.indices)
    weights = batch.weights if is_weighted else np.empty(0)
    _core.fill_slots(*arrays, weights, self_loop, slot_ptr, degrees, targets, *tables)
    inverse = 1 / np.where(degrees == 0, 1.0, degrees)
    return WalkTable(batch.node_ptr, slot_ptr, targets, keys, degrees, inverse, *tables)


def graph_hashes(batch: GraphBatch) -> NDArray[np.uint64]:
    """Hash the structure of every graph, wherever it stands in a batch."""
    hashes = np.empty(len(batch), np.uint64)
    weights = batch.weights if batch.is_weighted else np.empty(0)
    _core.graph_hashes(batch.node_ptr, batch.indptr, batch.indices, weights, hashes)
    return hashes


def node_keys(batch: GraphBatch, hashes: NDArray[np.uint64], seed: np.uint64) -> NDArray[np.uint64]:
    """Hash of the seed and each node, wherever its graph stands in a batch."""
    keys = np.empty(batch.n_nodes, np.uint64)
    _core.node_keys(batch.node_ptr, hashes, int(seed), keys)
    return keys


def _told_apart(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hashes of which none is twice: first copies keep theirs, the others are counted."""
    _, code, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    order = np.argsort(code, kind="stable")
    copy = np.empty(len(hashes), np.uint64)
    copy[order] = np.arange(len(hashes)) - np.repeat(np.cumsum(counts) - counts, counts)
    return hashes + copy * _GOLDEN


ESTIMATORS: dict[str, Callable[..., None]] = {
    "monte-carlo": _core.fill_collisions,
    "monte-carlo-returns": _core.fill_returns,
}
_TASKS_PER_THREAD = 16
_LONGEST_NANOSECONDS = 2e8
_NANOSECONDS_PER_STEP = 8  # measured: 100 to 200 million steps a second
_LEAST_WALKS = 64  # fewer cannot tell their own error
_MOST_WALKS = 1 << 24


def estimated_return_probabilities(
    batch: GraphBatch,
    n_steps: int,
    nodes: Ints,
    *,
    self_loop: float,
    estimator: str,
    n_walks: int,
    standard_error: float | None,
    with_errors: bool,
    seed: np.uint64,
    copies_share: bool,
    n_jobs: int | None,
) -> tuple[Floats, Floats]:
    """
    Estimate ``P^s(i, i)``, s = 1..S, of some nodes; one row each, and their standard errors.

    The first steps are exact: they are the largest values and, by Monte Carlo, the least accurate.
    With `standard_error`, new and more walks are drawn from a node until none of its standard
    errors exceeds it. Errors have no rows if they are not wanted.
    """
    table = walk_table(batch, self_loop, seed, copies_share=copies_share)
    adaptive = standard_error is not None
    n_walks = max(n_walks, _LEAST_WALKS) if adaptive else n_walks
    errors = np.empty((len(nodes) * (with_errors or adaptive), n_steps))
    estimates = np.empty((len(nodes), n_steps))
    run = _Run(table, ESTIMATORS[estimator], n_jobs)
    run.fill(nodes, (0, n_walks), estimates, errors)
    first_walk = n_walks
    while standard_error is not None:
        worst = errors.max(axis=1, initial=0.0)
        rows = np.flatnonzero(worst > standard_error)
        if len(rows) == 0:
            break
        n_walks = _enough_walks(n_walks, worst[rows].max(), standard_error)
        # Walks that the rule has not seen: a lucky first draw must not decide the estimate.
        more = [np.empty((len(rows), n_steps)) for _ in range(2)]
        run.fill(nodes[rows], (first_walk, n_walks), *more)
        estimates[rows], errors[rows] = more
        first_walk += n_walks
    return np.clip(estimates, 0.0, 1.0, out=estimates), errors


def _enough_walks(n_walks: int, found: float, wanted: float) -> int:
    """Walks after which the error should be as wanted, but not more than four times as many."""
    needed = n_walks * (found / wanted) ** 2
    if needed > _MOST_WALKS:
        raise InvalidInputError(
            f"a standard error of {wanted} takes about {needed:.1g} walks from some nodes, more "
            f"than {_MOST_WALKS}; ask for a larger one, or use method='exact'"
        )
    return int(min(1.1 * needed + 1, 4 * n_walks))


class _Run(NamedTuple):
    """Walks on some graphs, by some estimator."""

    table: WalkTable
    estimator: Callable[..., None]
    n_jobs: int | None

    def fill(self, nodes: Ints, walks: tuple[int, int], estimates: Floats, errors: Floats) -> None:
        n_steps = estimates.shape[1]
        graphs = np.searchsorted(self.table.node_ptr, nodes, side="right") - 1
        starts = nodes - self.table.node_ptr[graphs]
        per_node = _NANOSECONDS_PER_STEP * walks[1] * n_steps
        pieces = _pieces(len(nodes), per_node, n_threads(self.n_jobs))
        common = [
            (graphs[piece], starts[piece], estimates[piece], errors[piece]) for piece in pieces
        ]
        costs = [per_node * len(part[0]) for part in common]
        tasks = [(*self.table, g, s, *walks, *results) for g, s, *results in common]
        run_tasks(self.estimator, tasks, costs, self.n_jobs, "random walks")
        if self.estimator is _core.fill_collisions:  # for early steps meetings tell little
            budget = walks[1] * n_steps // 2
            tasks = [(*self.table, g, s, budget, *results) for g, s, *results in common]
            run_tasks(_core.fill_first_steps, tasks, costs, self.n_jobs, "first steps")


def _pieces(n_nodes: int, nanoseconds_per_node: float, n_workers: int) -> list[slice]:
    """Cut nodes into tasks: several a worker, none of them long, so that Ctrl-C is prompt."""
    total = n_nodes * nanoseconds_per_node
    n_pieces = max(n_workers * _TASKS_PER_THREAD, int(total / _LONGEST_NANOSECONDS))
    cuts = np.linspace(0, n_nodes, min(n_nodes, n_pieces) + 1).astype(np.int64)
    return [slice(first, last) for first, last in pairwise(cuts)]
