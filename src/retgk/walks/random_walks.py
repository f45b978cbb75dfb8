"""Monte Carlo return probabilities: walks that depend on the seed and their graph alone.

The random numbers of a walk are a hash of (seed, graph, start node, walk, step). So they are
the same whatever the number of threads and however a batch is cut. All walks from one
node take a step together: their memory accesses do not wait for each other, and the memory
that is needed grows with the number of walks, not with their length.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.graphs.batch import GraphBatch
from retgk.runtime.compiling import njit

__all__ = [
    "WalkTable",
    "fill_collisions",
    "fill_returns",
    "graph_hashes",
    "node_keys",
    "walk_table",
]

_STEP_BITS = np.uint64(32)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_BITS_OF_ONE = np.float64(1).view(np.uint64)
# Added to what was seen, for standard errors. By simulation values then hardly ever lie beyond four
# of them: what was never seen may be as frequent as what is seen seven times on average.
_UNSEEN = 3.0


class WalkTable(NamedTuple):
    """What a step needs: neighbours, inverse degrees, and alias tables of weighted graphs."""

    node_ptr: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    keys: NDArray[np.uint64]
    """One hash per node, which the random numbers of all walks from it come from."""
    degrees: NDArray[np.float64]
    """Sum of weights, the self-loop included; one for a node that has none."""
    inverse_degrees: NDArray[np.float64]
    self_loop: float
    loops: int
    """Slots for the self-loop behind the neighbours of a node: 0 or 1."""
    weights: NDArray[np.float64]
    """Edge weights; empty if all are one."""
    thresholds: NDArray[np.float64]
    """Share of a slot that stays with its own target; empty if all slots are alike."""
    aliases: NDArray[np.int32]
    """Slot, within the node, that the rest goes to."""


def walk_table(batch: GraphBatch, self_loop: float, seed: np.uint64) -> WalkTable:
    """
    Prepare walks on a batch.

    Parameters
    ----------
    batch : GraphBatch
        The graphs.
    self_loop : float
        Weight of the loop that every node gets.
    seed : uint64
        Random bits.

    Returns
    -------
    WalkTable
        Arrays for the compiled walks.
    """
    arrays = (batch.node_ptr, batch.indptr, batch.indices)
    keys = node_keys(batch.node_ptr, graph_hashes(batch), seed)
    loops = int(self_loop > 0)
    if not batch.is_weighted and self_loop == loops:
        degrees = np.diff(batch.indptr) + self_loop
        thresholds, aliases = np.empty(0), np.empty(0, np.int32)
    else:
        degrees, thresholds, aliases = _alias_tables(batch.indptr, batch.weights, self_loop, loops)
    degrees = np.where(degrees == 0, 1.0, degrees)
    weights = batch.weights if batch.is_weighted else np.empty(0)
    steps = (*arrays, keys, degrees, 1 / degrees)
    return WalkTable(*steps, float(self_loop), loops, weights, thresholds, aliases)


def graph_hashes(batch: GraphBatch) -> NDArray[np.uint64]:
    """
    Hash the structure of every graph, wherever it stands in a batch.

    Parameters
    ----------
    batch : GraphBatch
        The graphs.

    Returns
    -------
    ndarray of uint64, shape (n_graphs,)
        Equal for graphs with equal arrays.
    """
    bits = batch.weights.view(np.uint64) if batch.is_weighted else np.empty(0, np.uint64)
    hashes: NDArray[np.uint64] = _hashes(batch.node_ptr, batch.indptr, batch.indices, bits)
    return hashes


@njit(cache=True, nogil=True)
def _mixed(value):
    """Scramble 64 bits (SplitMix64); written out here, as the cache sees this file alone."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def _hashes(node_ptr, indptr, indices, bits):
    hashes = np.empty(len(node_ptr) - 1, np.uint64)
    for graph in range(len(hashes)):
        first = node_ptr[graph]
        total = np.uint64(node_ptr[graph + 1] - first)
        weighted = False  # by its own weights: weighted neighbours in the batch change nothing
        if len(bits):
            for entry in range(indptr[first], indptr[node_ptr[graph + 1]]):
                weighted |= bits[entry] != _BITS_OF_ONE
        for node in range(first, node_ptr[graph + 1]):
            row = np.uint64(node - first) << np.uint64(32)
            for entry in range(indptr[node], indptr[node + 1]):
                value = _mixed((row | np.uint64(indices[entry])) + _GOLDEN)
                total += _mixed(value ^ bits[entry]) if weighted else value
        hashes[graph] = _mixed(total + _GOLDEN)
    return hashes


@njit(cache=True, nogil=True, error_model="numpy")
def _alias_tables(indptr, weights, self_loop, loops):
    """Tables of Vose's alias method, one slot per neighbour and one for the self-loop."""
    n_nodes = len(indptr) - 1
    degrees = np.empty(n_nodes)
    thresholds = np.ones(indptr[-1] + n_nodes * loops)
    aliases = np.zeros(indptr[-1] + n_nodes * loops, np.int32)
    widest = np.max(np.diff(indptr)) + 1 if n_nodes else 1
    pending = np.empty(widest, np.int32)
    for node in range(n_nodes):
        n_slots = indptr[node + 1] - indptr[node] + loops
        shares = thresholds[indptr[node] + node * loops :][:n_slots]
        slots = aliases[indptr[node] + node * loops :][:n_slots]
        shares[: n_slots - loops] = weights[indptr[node] : indptr[node + 1]]
        if loops:
            shares[n_slots - 1] = self_loop
        degrees[node] = np.sum(shares)
        if n_slots:
            shares *= n_slots / degrees[node]
            _vose(shares, slots, pending)
    return degrees, thresholds, aliases


@njit(cache=True, nogil=True)
def _vose(shares, slots, pending):
    """Turn shares of mean one into thresholds and aliases, in place."""
    n_small, n_large = 0, len(pending)
    for slot in range(len(shares)):
        slots[slot] = slot
        if shares[slot] < 1.0:
            pending[n_small] = slot
            n_small += 1
        else:
            n_large -= 1
            pending[n_large] = slot
    while n_small and n_large < len(pending):
        n_small -= 1
        small, large = pending[n_small], pending[n_large]
        slots[small] = large
        shares[large] -= 1.0 - shares[small]
        if shares[large] < 1.0:
            n_large += 1
            pending[n_small] = large
            n_small += 1
    for left in range(n_small):  # rounding only: these are one
        shares[pending[left]] = 1.0
    for left in range(n_large, len(pending)):
        shares[pending[left]] = 1.0


@njit(cache=True, nogil=True)
def node_keys(node_ptr, hashes, seed):
    """Hash of the seed and each node, wherever its graph stands in a batch."""
    keys = np.empty(node_ptr[-1], np.uint64)
    for graph in range(len(hashes)):
        base = _mixed(np.uint64(seed) + hashes[graph])
        for node in range(node_ptr[graph], node_ptr[graph + 1]):
            keys[node] = _mixed(base + np.uint64(node - node_ptr[graph] + 1) * _GOLDEN)
    return keys


@njit(cache=True, nogil=True)
def _advance(table, first, key, first_walk, step, before, now):
    """Let every walk take one step: 32 random bits choose a slot, 32 more its alias."""
    indptr, indices, loops = table.indptr, table.indices, table.loops
    thresholds, aliases = table.thresholds, table.aliases
    weighted = len(thresholds) > 0
    for walk in range(len(now)):
        row = first + before[walk]
        begin = indptr[row]
        n_neighbours = indptr[row + 1] - begin
        n_slots = n_neighbours + loops
        counter = (np.uint64(first_walk + walk) << _STEP_BITS) | np.uint64(step)
        bits = _mixed(key + counter * _GOLDEN)
        slot = np.int64(((bits >> np.uint64(32)) * np.uint64(n_slots)) >> np.uint64(32))
        if weighted and n_slots:
            place = begin + row * loops + slot
            share = np.float64(bits & np.uint64(0xFFFFFFFF)) * 2.0**-32
            if share >= thresholds[place]:
                slot = np.int64(aliases[place])
        now[walk] = indices[begin + slot] if slot < n_neighbours else before[walk]


@njit(cache=True, nogil=True, error_model="numpy")
def fill_returns(table, graphs, starts, walks, estimates, errors):
    """
    Share of walks that stand on their start node after s steps (the paper's estimator).

    `walks` are the number of the first walk and the number of walks. For the error, some
    returns and stays away are added, so that what was never seen is not taken for certain.
    """
    first_walk, n_walks = walks
    now, before = np.empty(n_walks, np.int32), np.empty(n_walks, np.int32)
    n_steps = estimates.shape[1]
    for row in range(len(starts)):
        graph, start = graphs[row], starts[row]
        first = table.node_ptr[graph]
        key = table.keys[first + start]
        now[:] = start
        for step in range(n_steps):
            now, before = before, now
            _advance(table, first, key, first_walk, step, before, now)
            n_returned = 0
            for walk in range(n_walks):
                n_returned += now[walk] == start
            share = n_returned / n_walks
            estimates[row, step] = share
            if len(errors):
                share = (n_returned + _UNSEEN) / (n_walks + 2.0 * _UNSEEN)
                errors[row, step] = np.sqrt(share * (1.0 - share) / (n_walks - 1))


@njit(cache=True, nogil=True, error_model="numpy")
def fill_collisions(table, graphs, starts, walks, estimates, errors):
    """
    Estimate from meetings of walks, with walks of half the length.

    Walks are reversible: ``P^(a+b)(i, i) = sum_j P^a(i, j) P^b(i, j) d_i / d_j``. With a = b = h
    for s = 2h, and a = h, b = h - 1 for s = 2h - 1, this is the expected number of meetings of
    two different walks from i at j after a and b steps, weighted d_i / d_j. Averaging
    over all ordered pairs is a U-statistic, so it is unbiased. `walks` are the number of the
    first walk and the number of walks.
    """
    first_walk, n_walks = walks
    n_steps = estimates.shape[1]
    largest = 0
    for graph in graphs:
        largest = max(largest, table.node_ptr[graph + 1] - table.node_ptr[graph])
    now, before = np.empty(n_walks, np.int32), np.empty(n_walks, np.int32)
    n_now, n_before = np.zeros(largest, np.int32), np.zeros(largest, np.int32)
    for row in range(len(starts)):
        graph, start = graphs[row], starts[row]
        first = table.node_ptr[graph]
        inverse = table.inverse_degrees[first : table.node_ptr[graph + 1]]
        key = table.keys[first + start]
        scale = table.degrees[first + start] / n_walks / (n_walks - 1.0)
        now[:] = start
        n_now[start] = n_walks
        for half in range((n_steps + 1) // 2):
            now, before = before, now
            n_now, n_before = n_before, n_now
            odd, even = 0.0, 0.0
            _advance(table, first, key, first_walk, half, before, now)
            for walk in range(n_walks):
                node = now[walk]
                odd += (n_before[node] - (node == before[walk])) * inverse[node]
                even += 2 * n_now[node] * inverse[node]
                n_now[node] += 1
            estimates[row, 2 * half] = odd * scale
            if 2 * half + 1 < n_steps:
                estimates[row, 2 * half + 1] = even * scale
            if len(errors):
                meetings = (now, before, n_now, n_before, inverse)
                degree = table.degrees[first + start]
                _fill_errors(meetings, degree, 2 * half, errors[row])
            for walk in range(n_walks):
                n_before[before[walk]] = 0
        for walk in range(n_walks):
            n_now[now[walk]] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_errors(meetings, degree, step, errors):
    """
    Standard errors of two consecutive steps, from each walk's own meetings.

    The variance of a U-statistic has a term for walks, which the jackknife estimates, and one for
    pairs of walks. Where walks split evenly over some nodes all have as many meetings: the first
    term is next to zero, and what the jackknife finds of it is chance. So the second is added,
    from the squares of single meetings; and some more meetings than were seen.
    """
    now, before, n_now, n_before, inverse = meetings
    n_walks = len(now)
    odd, even, odd_squares, even_squares, heaviest = 0.0, 0.0, 0.0, 0.0, 0.0
    for walk in range(n_walks):
        a, b = now[walk], before[walk]
        weight = degree * inverse[a]
        n_odd, n_even = n_before[a] - (a == b), n_now[a] - 1
        odd += n_odd * weight
        even += n_even * weight
        odd_squares += n_odd * weight**2
        even_squares += n_even * weight**2
        heaviest = max(heaviest, weight)
    odd_spread, even_spread = 0.0, 0.0
    for walk in range(n_walks):
        a, b = now[walk], before[walk]
        here, there = degree * inverse[a], degree * inverse[b]
        met = 0.5 * ((n_before[a] - (a == b)) * here + (n_now[b] - (a == b)) * there)
        odd_spread += (met - odd / n_walks) ** 2
        even_spread += ((n_now[a] - 1) * here - even / n_walks) ** 2
    more = _UNSEEN * (2.0 * heaviest) ** 2
    errors[step] = _standard_error(n_walks, odd_spread, odd_squares, more)
    if step + 1 < len(errors):
        errors[step + 1] = _standard_error(n_walks, even_spread, even_squares, more)


@njit(cache=True, nogil=True)
def _standard_error(n_walks, spread, squares, more):
    """Square root of the jackknife's variance, twice that of pairs, and that of more meetings."""
    jackknife = 4.0 * n_walks * (n_walks - 1.0) / (n_walks - 2.0) ** 2 * spread
    return np.sqrt(jackknife + 4.0 * squares + more) / (n_walks * (n_walks - 1.0))
