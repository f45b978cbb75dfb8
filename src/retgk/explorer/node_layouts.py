r"""
Drawings of many graphs at once: places of nodes whose distances are close to their steps.

Minimises :math:`\sum_{i<j} d_{ij}^{-2} (\|x_i - x_j\| - d_{ij})^2`, the stress that
`plot.node_positions` minimises too, pair after pair in random order with falling steps (Zheng,
Pawar and Goodman, 2018), compiled: `plot.node_positions` solves a dense system for every graph.
"""

import numpy as np

from retgk.array_types import Floats
from retgk.graphs.batch import GraphBatch
from retgk.runtime.compiling import njit
from retgk.runtime.parallel import run_tasks

__all__ = ["batch_positions"]

_ROUNDS = 40
_LAST_STEP = 0.05
_GRAPHS_AT_A_TIME = 64


def batch_positions(batch: GraphBatch, n_jobs: int | None = None) -> Floats:
    """
    Places of all nodes of a batch, graph after graph, each turned so that it is widest across.

    The same graph always has the same drawing, whatever stands beside it.
    """
    places = np.zeros((batch.n_nodes, 2))
    starts = range(0, len(batch), _GRAPHS_AT_A_TIME)
    tasks = [
        (batch.node_ptr, batch.indptr, batch.indices, places, first,
         min(len(batch), first + _GRAPHS_AT_A_TIME))
        for first in starts
    ]  # fmt: skip
    sizes = batch.node_counts.astype(float)
    costs = [float((sizes[task[4] : task[5]] ** 2).sum()) for task in tasks]
    run_tasks(_place_graphs, tasks, costs, n_jobs, "drawings")
    return places


@njit(cache=True, nogil=True)
def _place_graphs(node_ptr, indptr, indices, places, first, last):
    """Place the nodes of the graphs from `first` to before `last`."""
    for graph in range(first, last):
        start, stop = node_ptr[graph], node_ptr[graph + 1]
        n = stop - start
        if n > 1:
            steps = _steps_between(indptr[start : stop + 1], indices, n)
            own = _stress_places(steps, n)
            _turn(own)
            places[start:stop] = own


@njit(cache=True, nogil=True)
def _steps_between(indptr, indices, n):
    """Steps between all nodes; between components, two more than the most steps within one."""
    steps = np.full((n, n), -1.0, np.float32)
    queue = np.empty(n, np.int64)
    most = 0.0
    for source in range(n):
        steps[source, source] = 0
        queue[0] = source
        head, tail = 0, 1
        while head < tail:
            node = queue[head]
            head += 1
            for entry in range(indptr[node], indptr[node + 1]):
                other = indices[entry]
                if steps[source, other] < 0:
                    steps[source, other] = steps[source, node] + 1
                    queue[tail] = other
                    tail += 1
        most = max(most, steps[source, queue[tail - 1]])
    for i in range(n):
        for j in range(n):
            if steps[i, j] < 0:
                steps[i, j] = most + 2
    return steps


@njit(cache=True, nogil=True)
def _stress_places(steps, n):
    """Move pairs towards their distance, in random order, by steps that fall over the rounds."""
    state = np.uint64(0x9E3779B97F4A7C15)
    places = np.empty((n, 2))
    largest = 1.0
    for i in range(n):
        for axis in range(2):
            state = _next_bits(state)
            places[i, axis] = np.float64(state >> np.uint64(11)) / 9007199254740992.0
        for j in range(n):
            largest = max(largest, steps[i, j])
    places *= largest
    n_pairs = n * (n - 1) // 2
    first, second = np.empty(n_pairs, np.int32), np.empty(n_pairs, np.int32)
    at = 0
    for i in range(n):
        for j in range(i):
            first[at], second[at] = i, j
            at += 1
    # steps fall from those that set the farthest pair right to a twentieth for the nearest
    fall = np.log(_LAST_STEP / (largest * largest)) / (_ROUNDS - 1)
    for round_number in range(_ROUNDS):
        rate = largest * largest * np.exp(fall * round_number)
        for k in range(n_pairs - 1, 0, -1):
            state = _next_bits(state)
            pick = np.int64(state % np.uint64(k + 1))
            first[k], first[pick] = first[pick], first[k]
            second[k], second[pick] = second[pick], second[k]
        for k in range(n_pairs):
            i, j = first[k], second[k]
            wanted = steps[i, j]
            share = min(1.0, rate / (wanted * wanted))
            dx, dy = places[i, 0] - places[j, 0], places[i, 1] - places[j, 1]
            gap = max(np.sqrt(dx * dx + dy * dy), 1e-9)
            move = 0.5 * share * (gap - wanted) / gap
            places[i, 0] -= move * dx
            places[i, 1] -= move * dy
            places[j, 0] += move * dx
            places[j, 1] += move * dy
    return places


@njit(cache=True, nogil=True)
def _next_bits(state):
    """Xorshift: sixty-four bits after others."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@njit(cache=True, nogil=True)
def _turn(places):
    """Centre the nodes, and turn the direction of their largest spread to the horizontal."""
    n = len(places)
    for axis in range(2):
        places[:, axis] -= places[:, axis].sum() / n
    xx = (places[:, 0] * places[:, 0]).sum()
    yy = (places[:, 1] * places[:, 1]).sum()
    xy = (places[:, 0] * places[:, 1]).sum()
    angle = 0.5 * np.arctan2(2 * xy, xx - yy)
    cosine, sine = np.cos(angle), np.sin(angle)
    for i in range(n):
        x, y = places[i, 0], places[i, 1]
        places[i, 0] = cosine * x + sine * y
        places[i, 1] = cosine * y - sine * x
