"""Compiled loops of the reduction: tails, groups of near-equal points, and their union."""

from typing import Any

import numpy as np

from retgk.array_types import Codes, Floats, Ints
from retgk.runtime.compiling import njit

__all__ = [
    "add_tails",
    "cells_within",
    "nearest_in_table",
    "own_representatives",
    "representatives",
    "table_of",
    "united",
]


@njit(nogil=True, inline="always")
def _mixed(value):
    """Scramble 64 bits (SplitMix64); written out here, as the cache sees this file alone."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True, no_cfunc_wrapper=True, error_model="numpy")
def add_tails(rotated, node_ptr, tails):
    """
    For every rank, the largest mean over the nodes of a graph of the norm beyond that rank.

    `tails` holds the largest so far.
    """
    dimension = rotated.shape[1]
    total = np.empty(dimension)
    for g in range(len(node_ptr) - 1):
        for k in range(dimension):
            total[k] = 0.0
        for i in range(node_ptr[g] - node_ptr[0], node_ptr[g + 1] - node_ptr[0]):
            square = 0.0
            for k in range(dimension - 1, -1, -1):
                square += rotated[i, k] * rotated[i, k]
                total[k] += np.sqrt(square)
        for k in range(dimension):
            tails[k] = max(tails[k], total[k] / (node_ptr[g + 1] - node_ptr[g]))


def _table_size(n_points: int) -> int:
    """Slots of a hash table that is at most half full; a power of two."""
    size = 16
    while size < 2 * n_points:
        size *= 2
    return size


def representatives(points: Floats, labels: Codes, radius: float) -> Ints:
    """
    For every point, the first of its label that is nearly equal; itself if there is none.

    Points that fall into the same box of a grid are looked up in a hash table. All points of one
    representative lie within half the radius of it, hence within the radius of their mean.
    """
    return own_representatives(points, labels, np.array([0, len(points)]), radius)


def own_representatives(points: Floats, labels: Codes, node_ptr: Ints, radius: float) -> Ints:
    """`representatives` within every graph alone, so that no graph depends on another."""
    found = np.empty(len(points), np.int64)
    table = np.empty(_table_size(int(np.diff(node_ptr).max(initial=0))), np.int64)
    _find_representatives(points, labels, node_ptr, float(radius), table, found)
    return found


@njit(nogil=True, inline="always")
def _hash_of_box(points, i, per_box, key):
    for k in range(points.shape[1]):
        box = np.float64(np.floor(points[i, k] * per_box) + 0.0)  # there are two zeros
        key = _mixed(key ^ box.view(np.uint64))
    return key


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def _find_representatives(points, labels, node_ptr, radius, table, found):
    for g in range(len(node_ptr) - 1):
        size = 16
        while size < 2 * (node_ptr[g + 1] - node_ptr[g]):
            size *= 2
        for slot in range(size):
            table[slot] = -1
        for i in range(node_ptr[g], node_ptr[g + 1]):
            key = _hash_of_box(points, i, 1.0 / radius, np.uint64(labels[i]))
            place = np.int64(key & np.uint64(size - 1))
            while True:
                j = table[place]
                if j < 0:
                    table[place] = i
                    j = table[place]
                    break
                square = 0.0
                for k in range(points.shape[1]):
                    square += (points[i, k] - points[j, k]) ** 2
                if labels[i] == labels[j] and square <= 0.25 * radius * radius:
                    break
                place = (place + 1) & (size - 1)
            found[i] = j


def united(
    points: Floats, cells: Ints, n_cells: int, entries: tuple[Ints, Ints, Floats], n_graphs: int
) -> tuple[Floats, Any, Any, Any]:
    """
    Replace the points of every cell by their weighted mean, and add up weights by graph.

    Entries are (points, graphs, weights). Gives the means and the entries, sorted by cell and
    graph.
    """
    entry_points, entry_graphs, entry_weights = entries
    means, totals = np.zeros((n_cells, points.shape[1])), np.zeros(n_cells)
    found = (np.empty_like(entry_points), np.empty_like(entry_graphs), np.empty_like(entry_weights))
    orders = np.empty((2, len(entry_points)), np.int64)
    ptr = np.zeros(max(n_graphs, n_cells) + 1, np.int64)
    sizes = (n_graphs, n_cells)
    n = _unite(points, cells, *entries, sizes, ptr, orders, means, totals, *found)
    means /= totals[:, None]
    new_cells, new_graphs, new_weights = (part[:n].copy() for part in found)
    return means, new_cells, new_graphs, new_weights


@njit(nogil=True, inline="always")
def _starts_from_counts(ptr, n_keys):
    """Turn counts of keys, each one place late, into first positions."""
    for key in range(n_keys):
        ptr[key + 1] += ptr[key]


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def _unite(
    points,
    cells,
    entry_points,
    entry_graphs,
    entry_weights,
    sizes,
    ptr,
    orders,
    means,
    totals,
    new_cells,
    new_graphs,
    new_weights,
):
    """Sort the entries by graph, then by cell, keeping the order among equals, and add them up."""
    n_entries, (n_graphs, n_cells) = len(entry_points), sizes
    for e in range(n_entries):
        ptr[entry_graphs[e] + 1] += 1
    _starts_from_counts(ptr, n_graphs)
    for e in range(n_entries):
        orders[0, ptr[entry_graphs[e]]] = e
        ptr[entry_graphs[e]] += 1
    for place in range(len(ptr)):
        ptr[place] = 0
    for e in range(n_entries):
        ptr[cells[entry_points[e]] + 1] += 1
    _starts_from_counts(ptr, n_cells)
    for place in range(n_entries):
        cell = cells[entry_points[orders[0, place]]]
        orders[1, ptr[cell]] = orders[0, place]
        ptr[cell] += 1
    n_new = 0
    for place in range(n_entries):
        e = orders[1, place]
        cell, graph, weight = cells[entry_points[e]], entry_graphs[e], entry_weights[e]
        totals[cell] += weight
        for k in range(points.shape[1]):
            means[cell, k] += weight * points[entry_points[e], k]
        if n_new == 0 or new_cells[n_new - 1] != cell or new_graphs[n_new - 1] != graph:
            new_cells[n_new], new_graphs[n_new], new_weights[n_new] = cell, graph, 0.0
            n_new += 1
        new_weights[n_new - 1] += weight
    return n_new


@njit(nogil=True, inline="always")
def _bounding_box(points, start, stop, low, high):
    """Fill in the box around points start..stop and give its widest coordinate."""
    low[:] = points[start]
    high[:] = points[start]
    for i in range(start + 1, stop):
        for k in range(len(low)):
            value = points[i, k]
            low[k] = value if value < low[k] else low[k]
            high[k] = value if value > high[k] else high[k]
    return np.argmax(high - low)


@njit(nogil=True, inline="always")
def _fits(points, weights, limits, start, stop, mean):
    """Whether points start..stop lie within their limits of their weighted mean."""
    total = 0.0
    mean[:] = 0.0
    for i in range(start, stop):
        total += weights[i]
        for k in range(len(mean)):
            mean[k] += weights[i] * points[i, k]
    mean /= total
    for i in range(start, stop):
        square = 0.0
        for k in range(len(mean)):
            square += (points[i, k] - mean[k]) ** 2
        if square > limits[i] * limits[i]:
            return False
    return True


@njit(nogil=True, inline="always")
def _split(points, weights, limits, order, start, stop, k, middle):
    """Move points with coordinate k up to the middle to the front; give their end."""
    i, j = start, stop - 1
    while i <= j:
        if points[i, k] <= middle:
            i += 1
        else:
            for c in range(points.shape[1]):
                points[i, c], points[j, c] = points[j, c], points[i, c]
            weights[i], weights[j] = weights[j], weights[i]
            limits[i], limits[j] = limits[j], limits[i]
            order[i], order[j] = order[j], order[i]
            j -= 1
    return i


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def cells_within(points, weights, limits):
    """
    Group points so that each is no further from the weighted mean of its group than its limit.

    Boxes are halved across their widest side until they fit. All arguments are reordered on
    the way. Gives the cell of every point and the number of cells.
    """
    n_points, dimension = points.shape
    largest = 2 * limits.max() if n_points else 0.0
    order = np.arange(n_points)
    cells = np.empty(n_points, np.int64)
    low, high, mean = np.empty(dimension), np.empty(dimension), np.empty(dimension)
    n_cells = 0
    stack = [(0, n_points)]
    while len(stack) > 0:
        start, stop = stack.pop()
        if start == stop:
            continue
        widest = _bounding_box(points, start, stop, low, high)
        middle = 0.5 * (low[widest] + high[widest])
        # neighbouring floats have no middle between them: they count as equal
        done = low[widest] == high[widest] or middle == high[widest]
        if not done and high[widest] - low[widest] <= largest:
            done = _fits(points, weights, limits, start, stop, mean)
        if done:
            cells[order[start:stop]] = n_cells
            n_cells += 1
            continue
        cut = _split(points, weights, limits, order, start, stop, widest, middle)
        stack.append((cut, stop))
        stack.append((start, cut))
    return cells, n_cells


@njit(nogil=True, inline="always")
def _place_in_table(points, label, i, radius, size):
    """Where the search for a point begins in a table of that size."""
    key = np.uint64(label)
    for k in range(points.shape[1]):
        box = np.float64(np.floor(points[i, k] / radius) + 0.0)  # there are two zeros
        key = _mixed(key ^ box.view(np.uint64))
    return np.int64(key & np.uint64(size - 1))


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def table_of(points, labels, radius):
    """Hash table of points by their boxes of a grid, for `nearest_in_table`."""
    size = 16
    while size < 2 * len(points):
        size *= 2
    table = np.full(size, -1)
    for i in range(len(points)):
        place = _place_in_table(points, labels[i], i, radius, size)
        while table[place] >= 0:
            place = (place + 1) & (size - 1)
        table[place] = i
    return table


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def nearest_in_table(points, labels, chosen, known, known_labels, table, radius):
    """
    For each chosen point, the nearest known one of its label and box within a radius, or -1.

    What is found depends on that point and on the table alone.
    """
    found = np.full(len(points), -1)
    for i in chosen:
        place = _place_in_table(points, labels[i], i, radius, len(table))
        smallest = radius * radius
        while table[place] >= 0:
            j = table[place]
            if labels[i] == known_labels[j]:
                square = 0.0
                for k in range(points.shape[1]):
                    square += (points[i, k] - known[j, k]) ** 2
                if square <= smallest:
                    found[i], smallest = j, square
            place = (place + 1) & (len(table) - 1)
    return found
