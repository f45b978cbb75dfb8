"""
Compiled loops over neighbourhoods: a row for every node, and the number of every different row.

The row of a node is its own colour and, in order, the pairs of edge label and colour of all its
neighbours. Rows are found again in a hash table, but told apart by all that is in them: two nodes
get the same number if and only if their rows are equal.
"""

from typing import NamedTuple

import numpy as np

from retgk.array_types import Ints
from retgk.runtime.compiling import njit

__all__ = ["EDGE_BITS", "Rows", "fill_keys", "fill_rows", "hash_rows", "number_rows", "rows_at"]

EDGE_BITS = 20
"""Bits of an entry of a row that hold the edge label; the others hold the colour."""


class Rows(NamedTuple):
    """Rows of many nodes, one after the other."""

    own: Ints
    """Own colour, shape (n_rows,)."""
    ptr: Ints
    """First entry of every row, shape (n_rows + 1,)."""
    entries: Ints
    """Colours of the neighbours and labels of the edges to them, in order in each row."""

    @classmethod
    def none(cls) -> "Rows":
        """No rows at all."""
        return cls(np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.int64))


def rows_at(rows: Rows, places: Ints) -> Rows:
    """Give some of the rows."""
    from retgk.graphs.ragged import gather_runs, offsets

    starts, sizes = rows.ptr[places], np.diff(rows.ptr)[places]
    return Rows(rows.own[places], offsets(sizes), gather_runs(rows.entries, starts, sizes))


@njit(nogil=True, inline="always")
def _mixed(value):
    """Scramble 64 bits (SplitMix64); written out here, as the cache sees this file alone."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(nogil=True, inline="always")
def _sort_few(entries, start, stop):
    for i in range(start + 1, stop):
        value = entries[i]
        j = i - 1
        while j >= start and entries[j] > value:
            entries[j + 1] = entries[j]
            j -= 1
        entries[j + 1] = value


@njit(nogil=True, inline="always")
def _entry_key(entry):
    """What an entry adds to the sum of its row, which does not depend on their order."""
    return _mixed(np.uint64(entry) + np.uint64(0xD1B54A32D192ED03))


@njit(nogil=True, inline="always")
def _row_hash(own, total):
    return _mixed(_mixed(np.uint64(own) + np.uint64(0x9E3779B97F4A7C15)) ^ total)


_MANY_EDGES = 8
"""Entries for each node from which on it pays to sort the nodes of a graph instead of all rows."""


@njit(nogil=True)
def _fill_rows_of_dense_graph(first, last, indptr, indices, colours, entries, hashes):
    """
    Write the rows of a graph without edge labels, and a hash of each.

    Nodes are taken in the order of their colours, and each is added to the rows of its neighbours,
    which are then in order too.
    """
    ends = indptr[first:last].copy()
    totals = np.zeros(last - first, np.uint64)
    for node in np.argsort(colours[first:last]):
        entry = np.int64(colours[first + node]) << np.int64(EDGE_BITS)
        key = _entry_key(entry)
        for i in range(indptr[first + node], indptr[first + node + 1]):
            other = indices[i]
            entries[ends[other]] = entry
            ends[other] += 1
            totals[other] += key
    for node in range(last - first):
        hashes[first + node] = _row_hash(colours[first + node], totals[node])


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def fill_rows(graphs, colours, edge_codes, entries, hashes):
    """
    Write the rows of the nodes of some graphs, and a hash of each.

    `graphs` are first and last graph, and `node_ptr`, `indptr` and `indices` of the batch;
    `edge_codes` is empty if edges have no labels.
    """
    first_graph, last_graph, node_ptr, indptr, indices = graphs
    has_edges = len(edge_codes) > 0
    for g in range(first_graph, last_graph):
        first, last = node_ptr[g], node_ptr[g + 1]
        if not has_edges and indptr[last] - indptr[first] > _MANY_EDGES * (last - first):
            _fill_rows_of_dense_graph(first, last, indptr, indices, colours, entries, hashes)
            continue
        for node in range(first, last):
            start, stop = indptr[node], indptr[node + 1]
            total = np.uint64(0)
            for i in range(start, stop):
                entry = np.int64(colours[first + indices[i]]) << np.int64(EDGE_BITS)
                if has_edges:
                    entry |= np.int64(edge_codes[i])
                entries[i] = entry
                total += _entry_key(entry)
            if stop - start <= 24:
                _sort_few(entries, start, stop)
            else:
                entries[start:stop].sort()
            hashes[node] = _row_hash(colours[node], total)


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def fill_keys(graphs, keys, edge_keys, refined):
    """
    Write keys of neighbourhoods of the nodes of some graphs, made of the keys of their nodes.

    The sum over neighbours does not depend on their order. Arguments are as in `fill_rows`.
    """
    first_graph, last_graph, node_ptr, indptr, indices = graphs
    has_edges = len(edge_keys) > 0
    for g in range(first_graph, last_graph):
        first = node_ptr[g]
        for node in range(first, node_ptr[g + 1]):
            total = np.uint64(indptr[node + 1] - indptr[node])
            for i in range(indptr[node], indptr[node + 1]):
                entry = keys[first + indices[i]]
                if has_edges:
                    entry = _mixed(entry ^ _mixed(edge_keys[i] + np.uint64(0x9E3779B97F4A7C15)))
                total += _mixed(entry + np.uint64(0xD1B54A32D192ED03))
            refined[node] = _mixed(_mixed(keys[node] + np.uint64(0x8CB92BA72F3D8DD7)) ^ total)


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def hash_rows(own, ptr, entries, hashes):
    """Find the hashes of rows."""
    for i in range(len(own)):
        total = np.uint64(0)
        for j in range(ptr[i], ptr[i + 1]):
            total += _entry_key(entries[j])
        hashes[i] = _row_hash(own[i], total)


@njit(nogil=True, inline="always")
def _is_same_row(own, entries, start, stop, other, place):
    other_own, other_ptr, other_entries = other
    if other_own[place] != own or other_ptr[place + 1] - other_ptr[place] != stop - start:
        return False
    shift = other_ptr[place] - start
    for i in range(start, stop):  # noqa: SIM110
        if other_entries[i + shift] != entries[i]:
            return False
    return True


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def number_rows(known, known_hashes, rows, hashes, numbers, firsts):
    """
    Number rows: those that are known by their place, the others in order of appearance after them.

    Parameters
    ----------
    known, known_hashes : tuple of arrays, ndarray of uint64
        Rows that have their numbers already, all different.
    rows, hashes : tuple of arrays, ndarray of uint64
        Rows to be numbered.
    numbers : ndarray of int64, shape (n_rows,)
        Filled with the numbers.
    firsts : ndarray of int64, shape (n_rows,)
        Filled with the first row of every new number.

    Returns
    -------
    int
        How many numbers are new.
    """
    own, ptr, entries = rows
    n_known, n_rows, n_new = len(known_hashes), len(hashes), 0
    size = 16
    while size < 2 * (n_known + n_rows):
        size *= 2
    table = np.full(size, -1, np.int64)
    for k in range(n_known):
        place = np.int64(known_hashes[k] & np.uint64(size - 1))
        while table[place] >= 0:
            place = (place + 1) & (size - 1)
        table[place] = k
    for i in range(n_rows):
        start, stop = ptr[i], ptr[i + 1]
        place = np.int64(hashes[i] & np.uint64(size - 1))
        while True:
            found = table[place]
            if found < 0:
                found = n_known + n_new
                table[place] = found
                firsts[n_new] = i
                n_new += 1
                break
            if found < n_known:
                if known_hashes[found] == hashes[i] and _is_same_row(
                    own[i], entries, start, stop, known, found
                ):
                    break
            else:
                first = firsts[found - n_known]
                if hashes[first] == hashes[i] and _is_same_row(
                    own[i], entries, start, stop, rows, first
                ):
                    break
            place = (place + 1) & (size - 1)
        numbers[i] = found
    return n_new
