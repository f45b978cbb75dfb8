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
from numpy.typing import NDArray

from retgk.runtime.compiling import njit

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
    Merge the twins of graphs `first` to `last` - 1, and write their quotients.

    The arrays are `node_ptr`, `indptr`, `indices` and `weights` of the batch; no weights mean ones.
    `self_loop` is the weight of the loop that every node gets.
    """
    node_ptr, weights = arrays[0], arrays[3]
    largest = int(np.diff(node_ptr[first : last + 1]).max(initial=0))
    n_slots = 4
    while n_slots < 2 * largest:
        n_slots *= 2
    integers = np.empty((3, max(n_slots, largest, _N_LENGTHS + 1)), np.int64)
    floats = np.empty((4, largest))
    hashes = np.empty((2, largest), np.uint64)
    bits = weights.view(np.uint64)
    _merge_graphs(*arrays, bits, self_loop, first, last, integers, floats, hashes, quotients)


# Inlined, because numba compiles what is called once for itself and once more in every caller.


@njit(nogil=True, inline="always")
def _mixed(value):
    """Scramble 64 bits (SplitMix64); written out here, as the cache sees this file alone."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(nogil=True, inline="always")
def _describe(node, n, indptr, indices, weights, bits, keys, self_loop, hashed, degree, loop):
    """Degree, self-loop, and sum of the hashes of the other neighbours, of every node."""
    for i in range(n):
        total, own, value = self_loop, self_loop, np.uint64(0)
        for entry in range(indptr[node + i], indptr[node + i + 1]):
            weight = weights[entry] if len(weights) else 1.0
            total += weight
            if indices[entry] == i:
                own += weight
            else:
                key = keys[indices[entry]]
                value += _mixed(key ^ bits[entry]) if len(bits) else key
        degree[i], loop[i], hashed[i] = total, own, value


@njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _same_neighbours(node, indptr, indices, weights, i, j):
    """Whether i and j have the same neighbours and weights, i and j themselves left out."""
    a, a_end = indptr[node + i], indptr[node + i + 1]
    b, b_end = indptr[node + j], indptr[node + j + 1]
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


@njit(nogil=True, inline="always")
def _find_closed_twins(node, n, indptr, indices, weights, bits, keys, hashed, loop, twin, inner):
    """Set twin[i] to the first closed twin of i, or -1, and inner[i] to the weight between."""
    for i in range(n):
        twin[i], inner[i] = _UNSEEN, 0.0
        for entry in range(indptr[node + i], indptr[node + i + 1]):
            j = np.int64(indices[entry])  # one type for all calls of _same_neighbours
            if j >= i:
                break  # columns rise; a class is led by its first node
            if twin[j] != _UNSEEN or loop[i] != loop[j]:
                continue
            key_i, key_j = keys[i], keys[j]
            if len(bits):
                key_i, key_j = _mixed(key_i ^ bits[entry]), _mixed(key_j ^ bits[entry])
            same = hashed[i] + key_i == hashed[j] + key_j
            if same and _same_neighbours(node, indptr, indices, weights, i, j):
                twin[i] = j
                inner[i] = inner[j] = weights[entry] if len(weights) else 1.0
                break


@njit(nogil=True, inline="always")
def _find_open_twins(node, n, indptr, indices, weights, hashed, loop, twin, table):
    """Set twin[i] to the first open twin of i; a node has twins of one kind only."""
    size = 4
    while size < 2 * n:
        size *= 2
    for place in range(size):
        table[place] = _UNSEEN
    for i in range(n):
        if twin[i] != _UNSEEN:
            continue
        slot = np.int64(hashed[i] & np.uint64(size - 1))
        while table[slot] != _UNSEEN:
            j = table[slot]
            same = hashed[i] == hashed[j] and loop[i] == loop[j]
            if same and _same_neighbours(node, indptr, indices, weights, i, j):
                twin[i] = j
                break
            slot = (slot + 1) & (size - 1)
        if twin[i] == _UNSEEN:
            table[slot] = i


@njit(nogil=True, inline="always")
def _number_classes(node, n, indptr, indices, twin, leaders, starts, class_of, multiplicity):
    """
    Number the classes by the length of their rows, list their leaders, give how many there are.

    Rows of one length stand together, so that the processor foresees the end of loops over them.
    """
    for length in range(_N_LENGTHS + 1):
        starts[length] = 0
    for i in range(n):
        if twin[i] == _UNSEEN:
            length = 0
            for entry in range(indptr[node + i], indptr[node + i + 1]):
                length += indices[entry] != i and twin[indices[entry]] == _UNSEEN
            length = min(length, _N_LENGTHS - 1)
            class_of[node + i] = length
            starts[length + 1] += 1
    for length in range(_N_LENGTHS):
        starts[length + 1] += starts[length]
    for i in range(n):
        if twin[i] == _UNSEEN:
            position = starts[class_of[node + i]]
            starts[class_of[node + i]] += 1
            leaders[position] = i
            class_of[node + i] = position
            multiplicity[node + position] = 1
        else:
            class_of[node + i] = class_of[node + twin[i]]
            multiplicity[node + class_of[node + i]] += 1
    return starts[_N_LENGTHS]


@njit(nogil=True, inline="always")
def _write_diagonal(i, row, degree, loop, inner, multiplicity, residual, diagonal):
    if degree[i] > 0.0:
        residual[row] = (loop[i] - inner[i]) / degree[i]
        diagonal[row] = (loop[i] + (multiplicity[row] - 1) * inner[i]) / degree[i]
    else:  # an isolated node without a loop has nowhere to go: the walk stays
        residual[row] = diagonal[row] = 1.0


@njit(nogil=True, inline="always")
def _write_rows(node, n_classes, indptr, indices, weights, degree, twin, scale, leaders, quotients):
    """Write the rows of the leaders of classes."""
    q = quotients
    for c in range(n_classes):
        scale[leaders[c]] = np.sqrt(q.multiplicity[node + c]) / np.sqrt(degree[leaders[c]])
    written = indptr[node]
    for c in range(n_classes):
        i = leaders[c]
        q.row_begin[node + c] = written
        for entry in range(indptr[node + i], indptr[node + i + 1]):
            j = indices[entry]
            if j != i and twin[j] == _UNSEEN:
                weight = weights[entry] if len(weights) else 1.0
                q.columns[written] = q.class_of[node + j]
                # in this order nothing overflows, and both directions get the same bits
                larger, smaller = max(scale[i], scale[j]), min(scale[i], scale[j])
                q.values[written] = (weight * larger) * smaller
                written += 1
        q.row_end[node + c] = written


@njit(cache=True, nogil=True, no_cfunc_wrapper=True, error_model="numpy")
def _merge_graphs(
    node_ptr,
    indptr,
    indices,
    weights,
    bits,
    self_loop,
    first,
    last,
    integers,
    floats,
    hashes,
    quotients,
):
    twin, leaders, table = integers[0], integers[1], integers[2]
    degree, loop, inner, scale = floats[0], floats[1], floats[2], floats[3]
    keys, hashed = hashes[0], hashes[1]
    q = quotients
    for i in range(len(keys)):
        keys[i] = _mixed(np.uint64(i) + _GOLDEN)
    for graph in range(first, last):
        node = node_ptr[graph]
        n = node_ptr[graph + 1] - node
        _describe(node, n, indptr, indices, weights, bits, keys, self_loop, hashed, degree, loop)
        _find_closed_twins(node, n, indptr, indices, weights, bits, keys, hashed, loop, twin, inner)
        _find_open_twins(node, n, indptr, indices, weights, hashed, loop, twin, table)
        n_classes = _number_classes(
            node, n, indptr, indices, twin, leaders, table, q.class_of, q.multiplicity
        )
        q.n_classes[graph] = n_classes
        for c in range(n_classes):
            i, row = leaders[c], node + c
            _write_diagonal(i, row, degree, loop, inner, q.multiplicity, q.residual, q.diagonal)
        _write_rows(node, n_classes, indptr, indices, weights, degree, twin, scale, leaders, q)
