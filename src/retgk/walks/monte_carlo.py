"""Monte Carlo return probabilities of a batch, on all cores."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.batch import GraphBatch
from retgk.parallel import n_threads, run_tasks
from retgk.walks.random_walks import WalkTable, fill_collisions, fill_returns, walk_table

__all__ = ["ESTIMATORS", "estimated_return_probabilities"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ESTIMATORS: dict[str, Callable[..., None]] = {
    "monte-carlo": fill_collisions,
    "monte-carlo-returns": fill_returns,
}
_TASKS_PER_THREAD = 16


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
    n_jobs: int | None,
) -> tuple[Floats, Floats]:
    """
    Estimates of ``P^s(i, i)``, s = 1..S, and their standard errors.

    Parameters
    ----------
    batch : GraphBatch
        The graphs.
    n_steps : int
        Number S of steps.
    nodes : ndarray of int64
        Nodes, numbered over the batch.
    self_loop : float
        Weight of the loop that every node gets.
    estimator : {"monte-carlo", "monte-carlo-returns"}
        How walks are counted.
    n_walks : int
        Walks per node.
    standard_error : float or None
        If given, the walks of a node are doubled until none of its standard errors exceeds it.
    with_errors : bool
        Whether standard errors are wanted too.
    seed : uint64
        Random bits.
    n_jobs : int or None
        Threads.

    Returns
    -------
    estimates, errors : ndarray of float64, shape (len(nodes), n_steps)
        One row per node; no errors if they are not wanted.
    """
    table = walk_table(batch, self_loop, seed)
    with_errors = with_errors or standard_error is not None

    def estimated(rows: Ints, n_walks: int) -> tuple[Floats, Floats]:
        estimates = np.empty((len(rows), n_steps))
        errors = np.empty((len(rows) * with_errors, n_steps))
        _fill(table, nodes[rows], ESTIMATORS[estimator], n_walks, estimates, errors, n_jobs)
        return estimates, errors

    estimates, errors = estimated(np.arange(len(nodes)), n_walks)
    while standard_error is not None:
        rows = np.flatnonzero(errors.max(axis=1) > standard_error)
        if len(rows) == 0:
            break
        n_walks *= 2
        estimates[rows], errors[rows] = estimated(rows, n_walks)
    return np.clip(estimates, 0.0, 1.0, out=estimates), errors


def _fill(
    table: WalkTable,
    nodes: Ints,
    fill: Callable[..., None],
    n_walks: int,
    estimates: Floats,
    errors: Floats,
    n_jobs: int | None,
) -> None:
    graphs = np.searchsorted(table.node_ptr, nodes, side="right") - 1
    starts = nodes - table.node_ptr[graphs]
    n_pieces = min(len(nodes), _TASKS_PER_THREAD * n_threads(n_jobs))
    cuts = np.linspace(0, len(nodes), n_pieces + 1).astype(np.int64)
    pieces = [slice(first, last) for first, last in pairwise(cuts)]
    tasks: list[tuple[Any, ...]] = [
        (table, graphs[piece], starts[piece], n_walks, estimates[piece], errors[piece])
        for piece in pieces
    ]
    costs = np.diff(cuts).astype(float).tolist()
    run_tasks(fill, tasks, costs, n_jobs, "random walks")
