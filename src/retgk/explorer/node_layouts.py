r"""
Drawings of many graphs at once: places of nodes whose distances are close to their steps.

Minimises :math:`\sum_{i<j} d_{ij}^{-2} (\|x_i - x_j\| - d_{ij})^2`, the stress that
`plot.node_positions` minimises too, pair after pair in random order with falling steps (Zheng,
Pawar and Goodman, 2018), compiled: `plot.node_positions` solves a dense system for every graph.
"""

import numpy as np

from retgk import _core
from retgk.array_types import Floats
from retgk.graphs.batch import GraphBatch
from retgk.runtime.parallel import run_tasks

__all__ = ["batch_positions"]

_GRAPHS_AT_A_TIME = 64


def batch_positions(batch: GraphBatch, n_jobs: int | None = None) -> Floats:
    """
    Places of all nodes of a batch, graph after graph, each turned so that it is widest across.

    The same graph always has the same drawing, whatever stands beside it.
    """
    places = np.zeros((batch.n_nodes, 2))
    starts = range(0, len(batch), _GRAPHS_AT_A_TIME)
    tasks = [
        (first, min(len(batch), first + _GRAPHS_AT_A_TIME),
         batch.node_ptr, batch.indptr, batch.indices, places)
        for first in starts
    ]  # fmt: skip
    sizes = batch.node_counts.astype(float)
    costs = [float((sizes[task[0] : task[1]] ** 2).sum()) for task in tasks]
    run_tasks(_core.place_nodes, tasks, costs, n_jobs, "drawings")
    return places
