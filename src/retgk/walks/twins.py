"""Merging of twin nodes: a smaller graph that has the same return probabilities.

Nodes with the same neighbours and weights are twins: *open* twins are not adjacent, *closed*
twins are. Let C be a class of c twins of degree d, self-loop l and, if closed, edge weight w
inside the class, and let ``Bq = U^T B U`` with U the normalised indicators of the classes. Then

    B^s(i, i) = Bq^s(C, C) / c + (1 - 1/c) mu^s,   mu = l/d (open) or (l - w)/d (closed),

because the vectors that sum to zero over C are eigenvectors of B with eigenvalue mu. Both kinds
are found in time linear in the entries: by a hash of the neighbourhood, then by comparing it.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["Quotients", "empty_quotients", "merge_twins"]

_UNSEEN = -1
_N_LENGTHS = 32  # of rows; longer ones are taken together
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Quotients(NamedTuple):
    """
    Normalised adjacency ``Bq`` of every graph of a batch after its twins are merged.

    The quotient of a graph keeps the place of the graph in the flat arrays: its rows start at
    ``node_ptr[graph]``, its entries where those of the graph start, and what merging saves
    is left unused. So graphs can be merged in any order and by any number of threads.
    """

    n_classes: NDArray[np.int64]
    """Rows of every quotient, shape (n_graphs,)."""
    class_of: NDArray[np.int32]
    """Row of every node in the quotient of its graph, shape (n_nodes,)."""
    multiplicity: NDArray[np.int32]
    """Number of twins in every row."""
    residual: NDArray[np.float64]
    """Eigenvalue mu of the differences between twins, for every row."""
    diagonal: NDArray[np.float64]
    """Bq(C, C) for every row."""
    row_begin: NDArray[np.int64]
    """First entry of every row."""
    row_end: NDArray[np.int64]
    """One past the last entry of every row."""
    columns: NDArray[np.int32]
    """Column of every entry off the diagonal, numbered within the quotient."""
    values: NDArray[np.float64]
    """Bq(C, D) of every entry off the diagonal."""


def empty_quotients(n_graphs: int, n_nodes: int, n_entries: int) -> Quotients:
    """Room for the quotients of a batch; pages that are never written take no memory."""
    return Quotients(
        np.empty(n_graphs, np.int64),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.float64),
        np.empty(n_nodes, np.float64),
        np.empty(n_nodes, np.int64),
        np.empty(n_nodes, np.int64),
        np.empty(n_entries, np.int32),
        np.empty(n_entries, np.float64),
    )


def merge_twins(
    arrays: tuple[Any, ...], self_loop: float, first: int, last: int, quotients: Quotients
) -> None:
    """
    Merge the twins of graphs `first` to `last` - 1.

    Parameters
    ----------
    arrays : tuple
        `node_ptr`, `indptr`, `indices` and `weights` of the batch; no weights mean ones.
    self_loop : float
        Weight of the self-loop that every node gets.
    first, last : int
        Range of graphs.
    quotients : Quotients
        Where the result is written.
    """
    node_ptr, indptr, indices, weights = arrays
    for_graphs = (node_ptr, indptr, indices, weights, weights.view(np.uint64))
    _merge_graphs(for_graphs, self_loop, first, last, quotients)


@njit(cache=True, nogil=True, error_model="numpy")
def _merge_graphs(arrays, self_loop, first, last, quotients):
    node_ptr, indptr, indices, weights, bits = arrays
    largest = 0
    for graph in range(first, last):
        largest = max(largest, node_ptr[graph + 1] - node_ptr[graph])
    table_size = 4
    while table_size < 2 * largest:
        table_size *= 2
    table = np.empty(table_size, np.int32)
    neighbourhood = np.empty(largest, np.uint64)
    degree = np.empty(largest)
    loop = np.empty(largest)
    twin = np.empty(largest, np.int32)
    inner = np.empty(largest)
    scale = np.empty(largest)
    leaders = np.empty(largest, np.int64)
    keys = np.empty(largest, np.uint64)
    for i in range(largest):
        keys[i] = _mixed(np.uint64(i) + _GOLDEN)
    for graph in range(first, last):
        node = node_ptr[graph]
        n = node_ptr[graph + 1] - node
        rows = (indptr[node : node + n + 1], indices, weights, bits, keys)
        _describe(rows, self_loop, neighbourhood, degree, loop)
        _find_closed_twins(rows, neighbourhood, loop, twin, inner)
        _find_open_twins(rows, neighbourhood, loop, twin, table)
        _write_quotient(rows, graph, node, degree, loop, twin, inner, scale, leaders, quotients)


@njit(cache=True, nogil=True)
def _mixed(value):
    """Scramble 64 bits (SplitMix64); written out here, as the cache sees this file alone."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def _edge_hash(keys, column, entry, bits):
    """Hash of one neighbour with the weight of the edge to it."""
    return _mixed(keys[column] ^ bits[entry]) if len(bits) else keys[column]


@njit(cache=True, nogil=True)
def _describe(rows, self_loop, neighbourhood, degree, loop):
    """Degree, self-loop, and sum of the hashes of the other neighbours, of every node."""
    indptr, indices, weights, bits, keys = rows
    for i in range(len(indptr) - 1):
        total, own, hashed = self_loop, self_loop, np.uint64(0)
        for entry in range(indptr[i], indptr[i + 1]):
            weight = weights[entry] if len(weights) else 1.0
            total += weight
            if indices[entry] == i:
                own += weight
            else:
                hashed += _edge_hash(keys, indices[entry], entry, bits)
        degree[i], loop[i], neighbourhood[i] = total, own, hashed


@njit(cache=True, nogil=True)
def _same_neighbours(rows, i, j):
    """Whether i and j have the same neighbours and weights, i and j themselves left out."""
    indptr, indices, weights, _, _ = rows
    a, a_end, b, b_end = indptr[i], indptr[i + 1], indptr[j], indptr[j + 1]
    while True:
        while a < a_end and (indices[a] == i or indices[a] == j):
            a += 1
        while b < b_end and (indices[b] == i or indices[b] == j):
            b += 1
        if a == a_end or b == b_end:
            return a == a_end and b == b_end
        if indices[a] != indices[b] or (len(weights) and weights[a] != weights[b]):
            return False
        a += 1
        b += 1


@njit(cache=True, nogil=True)
def _find_closed_twins(rows, neighbourhood, loop, twin, inner):
    """Set twin[i] to the first closed twin of i, or -1, and inner[i] to the weight between."""
    indptr, indices, weights, bits, keys = rows
    for i in range(len(indptr) - 1):
        twin[i], inner[i] = _UNSEEN, 0.0
        for entry in range(indptr[i], indptr[i + 1]):
            j = indices[entry]
            if j >= i:
                break  # columns rise; a class is led by its first node
            if twin[j] != _UNSEEN or loop[i] != loop[j]:
                continue
            with_i = neighbourhood[i] + _edge_hash(keys, i, entry, bits)
            with_j = neighbourhood[j] + _edge_hash(keys, j, entry, bits)
            if with_i == with_j and _same_neighbours(rows, i, j):
                twin[i] = j
                inner[i] = inner[j] = weights[entry] if len(weights) else 1.0
                break


@njit(cache=True, nogil=True)
def _find_open_twins(rows, neighbourhood, loop, twin, table):
    """Set twin[i] to the first open twin of i; a node has twins of one kind only."""
    indptr = rows[0]
    n = len(indptr) - 1
    size = 4
    while size < 2 * n:
        size *= 2
    table[:size] = _UNSEEN
    for i in range(n):
        if twin[i] != _UNSEEN:
            continue
        slot = np.int64(neighbourhood[i] & np.uint64(size - 1))
        while table[slot] != _UNSEEN:
            j = table[slot]
            same = neighbourhood[i] == neighbourhood[j] and loop[i] == loop[j]
            if same and _same_neighbours(rows, i, j):
                twin[i] = j
                break
            slot = (slot + 1) & (size - 1)
        if twin[i] == _UNSEEN:
            table[slot] = i


@njit(cache=True, nogil=True)
def _number_classes(rows, node, twin, leaders, quotients):
    """
    Number the classes by the length of their rows, list their leaders, give how many there are.

    Rows of one length stand together, so that the processor foresees the end of loops over them.
    """
    indptr, indices, _, _, _ = rows
    class_of = quotients.class_of[node : node + len(indptr) - 1]
    starts = np.zeros(_N_LENGTHS + 1, np.int64)
    for i in range(len(class_of)):
        if twin[i] == _UNSEEN:
            length = 0
            for entry in range(indptr[i], indptr[i + 1]):
                length += indices[entry] != i and twin[indices[entry]] == _UNSEEN
            class_of[i] = min(length, _N_LENGTHS - 1)
            starts[class_of[i] + 1] += 1
    for length in range(_N_LENGTHS):
        starts[length + 1] += starts[length]
    for i in range(len(class_of)):
        if twin[i] == _UNSEEN:
            position = starts[class_of[i]]
            starts[class_of[i]] += 1
            leaders[position] = i
            class_of[i] = position
            quotients.multiplicity[node + position] = 1
        else:
            class_of[i] = class_of[twin[i]]
            quotients.multiplicity[node + class_of[i]] += 1
    return starts[_N_LENGTHS]


@njit(cache=True, nogil=True, error_model="numpy")
def _write_quotient(rows, graph, node, degree, loop, twin, inner, scale, leaders, quotients):
    """Number the classes and write the rows of their leaders."""
    indptr, indices, weights, _, _ = rows
    q = quotients
    n_classes = _number_classes(rows, node, twin, leaders, q)
    q.n_classes[graph] = n_classes
    for c in range(n_classes):
        scale[leaders[c]] = np.sqrt(q.multiplicity[node + c]) / np.sqrt(degree[leaders[c]])
    written = indptr[0]
    for c in range(n_classes):
        i, row = leaders[c], node + c
        if degree[i] > 0.0:
            q.residual[row] = (loop[i] - inner[i]) / degree[i]
            q.diagonal[row] = (loop[i] + (q.multiplicity[row] - 1) * inner[i]) / degree[i]
        else:  # an isolated node without a loop has nowhere to go: the walk stays
            q.residual[row] = q.diagonal[row] = 1.0
        q.row_begin[row] = written
        for entry in range(indptr[i], indptr[i + 1]):
            j = indices[entry]
            if j != i and twin[j] == _UNSEEN:
                weight = weights[entry] if len(weights) else 1.0
                q.columns[written] = q.class_of[node + j]
                # in this order nothing overflows, and both directions get the same bits
                larger, smaller = max(scale[i], scale[j]), min(scale[i], scale[j])
                q.values[written] = (weight * larger) * smaller
                written += 1
        q.row_end[row] = written
