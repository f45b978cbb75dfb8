"""The first return probabilities of one node, exactly, from its surroundings alone.

They are the largest and, by Monte Carlo, the least accurate ones; and they are cheap: one step
reaches the neighbours, which gives s = 1, 2, and two steps reach theirs, which gives s = 3, 4.
"""

import numpy as np
from numba import njit

__all__ = ["fill_first_steps"]


@njit(cache=True, nogil=True, error_model="numpy")
def fill_first_steps(table, graphs, starts, budget, estimates, errors):
    """Write over the first two or, within a budget of visits, four steps of every row."""
    largest = 0
    for graph in graphs:
        largest = max(largest, table.node_ptr[graph + 1] - table.node_ptr[graph])
    mass = np.zeros(largest)
    for row in range(len(starts)):
        first = table.node_ptr[graphs[row]]
        n_exact = _fill_row(table, first, starts[row], budget, mass, estimates[row])
        if len(errors):
            errors[row, :n_exact] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_row(table, first, start, budget, mass, probabilities):
    """
    Write the first steps of one node; return how many.

    `mass` is room for one number per node of the graph, all zero before and after. With
    a_h(j) = P^h(i, j): ``P^2h(i, i) = sum_j a_h(j)^2 d_i / d_j``, and likewise for h against h - 1.
    """
    n_slots = _n_slots(table, first + start)
    if n_slots == 0:  # nowhere to go: the walk stays
        probabilities[:] = 1.0
        return len(probabilities)
    n_visits, returned, met = 0, 0.0, 0.0
    for slot in range(n_slots):
        j, share = _transition(table, first, start, slot)
        n_visits += _n_slots(table, first + j)
        returned += share if j == start else 0.0
        mass[j] += share
    for slot in range(n_slots):
        j, share = _transition(table, first, start, slot)
        met += share * mass[j] * table.inverse_degrees[first + j]
    for slot in range(n_slots):
        mass[_transition(table, first, start, slot)[0]] = 0.0
    _write(probabilities, 0, returned, met * table.degrees[first + start])
    if n_visits > budget:
        return min(2, len(probabilities))
    _fill_second_pair(table, first, start, mass, probabilities)
    return min(4, len(probabilities))


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_second_pair(table, first, start, mass, probabilities):
    odd, even = 0.0, 0.0
    n_slots = _n_slots(table, first + start)
    for slot in range(n_slots):
        j, share = _transition(table, first, start, slot)
        for next_slot in range(_n_slots(table, first + j)):
            k, next_share = _transition(table, first, j, next_slot)
            mass[k] += share * next_share
    for slot in range(n_slots):
        j, share = _transition(table, first, start, slot)
        odd += share * mass[j] * table.inverse_degrees[first + j]
    for slot in range(n_slots):
        j, _ = _transition(table, first, start, slot)
        for next_slot in range(_n_slots(table, first + j)):
            k, _ = _transition(table, first, j, next_slot)
            even += mass[k] * mass[k] * table.inverse_degrees[first + k]
            mass[k] = 0.0
    degree = table.degrees[first + start]
    _write(probabilities, 2, odd * degree, even * degree)


@njit(cache=True, nogil=True)
def _n_slots(table, row):
    return table.indptr[row + 1] - table.indptr[row] + table.loops


@njit(cache=True, nogil=True)
def _transition(table, first, node, slot):
    """Node that a slot leads to, and the probability of the slot."""
    row = first + node
    entry = table.indptr[row] + slot
    if entry == table.indptr[row + 1]:
        return np.int64(node), table.self_loop * table.inverse_degrees[row]
    weight = table.weights[entry] if len(table.weights) else 1.0
    return np.int64(table.indices[entry]), weight * table.inverse_degrees[row]


@njit(cache=True, nogil=True)
def _write(probabilities, step, odd, even):
    if step < len(probabilities):
        probabilities[step] = odd
    if step + 1 < len(probabilities):
        probabilities[step + 1] = even
