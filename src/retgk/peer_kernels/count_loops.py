"""
Compiled loops over counts of substructures: runs of equal columns, postings, products of rows.

A row of counts belongs to a graph, a posting list to a column: the graphs that have it, rising, and
how often. Sums of whole numbers below 2^53 are exact in float64: their order changes no bit.
"""

import numpy as np

from retgk.runtime.compiling import njit

__all__ = [
    "add_dense_minima",
    "add_shared",
    "count_runs",
    "fill_columns",
    "fill_postings",
    "fill_runs",
    "finish_tile",
    "number_keys",
    "row_costs",
]


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def count_runs(first, last, node_ptr, columns, sizes):
    """Sort the columns of the nodes of some graphs, level by level, and count different ones."""
    for g in range(first, last):
        total = 0
        for level in range(len(columns)):
            own = columns[level, node_ptr[g] : node_ptr[g + 1]]
            own.sort()
            total += 1
            for i in range(1, len(own)):
                total += own[i] != own[i - 1]
        sizes[g] = total


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def fill_runs(first, last, node_ptr, columns, ptr, found, counts):
    """Write every different column of some graphs, once, with the number of nodes that have it."""
    for g in range(first, last):
        place = ptr[g]
        for level in range(len(columns)):
            own = columns[level, node_ptr[g] : node_ptr[g + 1]]
            start = 0
            for i in range(1, len(own) + 1):
                if i == len(own) or own[i] != own[start]:
                    found[place] = own[start]
                    counts[place] = i - start
                    place += 1
                    start = i


@njit(nogil=True)
def _mixed(value):
    """Scramble 64 bits (SplitMix64); written out here, as the cache sees this file alone."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def number_keys(known, keys, numbers):
    """
    Number keys: those that are known by their place, the others in order of appearance after them.

    `numbers` is filled; the keys that are new come back, in the order of their numbers.
    """
    size = 16
    while size < 2 * (len(known) + 16):
        size *= 2
    mask = size - 1
    table = np.full(size, -1, np.int64)
    names = np.empty(max(2 * len(known), 1024), np.int64)
    n_names = 0
    for k in range(len(known) + len(keys)):
        key = known[k] if k < len(known) else keys[k - len(known)]
        place = np.int64(_mixed(np.uint64(key)) & np.uint64(mask))
        while table[place] >= 0 and names[table[place]] != key:
            place = (place + 1) & mask
        if table[place] < 0:
            if n_names == len(names):
                grown = np.empty(2 * n_names, np.int64)
                grown[:n_names] = names
                names = grown
            table[place] = n_names
            names[n_names] = key
            n_names += 1
        if k >= len(known):
            numbers[k - len(known)] = table[place]
        if 2 * n_names > size:
            size *= 2
            mask = size - 1
            table = np.full(size, -1, np.int64)
            for number in range(n_names):
                place = np.int64(_mixed(np.uint64(names[number])) & np.uint64(mask))
                while table[place] >= 0:
                    place = (place + 1) & mask
                table[place] = number
    return names[len(known) : n_names].copy()


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def fill_postings(rows, post_ptr, graphs, counts):
    """Write the graphs of every column, and how often they have it; offsets are filled too."""
    ptr, columns, values = rows
    n_columns = len(post_ptr) - 1
    post_ptr[:] = 0
    for i in range(len(columns)):
        post_ptr[columns[i] + 1] += 1
    for c in range(n_columns):
        post_ptr[c + 1] += post_ptr[c]
    place = post_ptr[:-1].copy()
    for g in range(len(ptr) - 1):
        for i in range(ptr[g], ptr[g + 1]):
            at = place[columns[i]]
            graphs[at], counts[at] = g, values[i]
            place[columns[i]] = at + 1


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def row_costs(rows, post_ptr, is_dense, costs):
    """Count the postings that the product of every row looks at."""
    ptr, columns, _ = rows
    for g in range(len(ptr) - 1):
        total = 1
        for i in range(ptr[g], ptr[g + 1]):
            c = columns[i]
            if c < len(is_dense) and not is_dense[c]:
                total += post_ptr[c + 1] - post_ptr[c]
        costs[g] = total


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def add_shared(first, last, rows, postings, is_dense, is_minimum, is_lower, out):
    """
    Add products of counts over sparse columns, or the smaller of two counts if `is_minimum`.

    With `is_lower`, to graphs up to the row's own alone.
    """
    ptr, columns, values = rows
    post_ptr, graphs, counts = postings
    for g in range(first, last):
        row = out[g]
        for i in range(ptr[g], ptr[g + 1]):
            c = columns[i]
            if c >= len(is_dense) or is_dense[c]:
                continue
            value = values[i]
            for p in range(post_ptr[c], post_ptr[c + 1]):
                other = graphs[p]
                if is_lower and other > g:
                    break
                row[other] += min(value, counts[p]) if is_minimum else value * counts[p]


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def fill_columns(rows, place_of_column, dense):
    """Write the counts of some columns, a row of `dense` for each, a column for each graph."""
    ptr, columns, values = rows
    dense[:] = 0.0
    for g in range(len(ptr) - 1):
        for i in range(ptr[g], ptr[g + 1]):
            c = columns[i]
            if c < len(place_of_column) and place_of_column[c] >= 0:
                dense[place_of_column[c], g] = values[i]


@njit(cache=True, nogil=True, no_cfunc_wrapper=True, fastmath={"nnan", "nsz"})
def add_dense_minima(first, last, dense_rows, dense, is_lower, out):
    """Add the smaller of two counts over dense columns."""
    for g in range(first, last):
        stop = g + 1 if is_lower else out.shape[1]
        row = out[g, :stop]
        for c in range(len(dense)):
            value = dense_rows[c, g]
            if value > 0:
                column = dense[c, :stop]
                for other in range(stop):
                    row[other] += min(value, column[other])


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def finish_tile(rows, columns, norms, parts, is_normalized, out):
    """Divide one tile on or below the diagonal by the norms, whose parts are given; mirror it."""
    units, rest = parts
    for g in range(rows[0], rows[1]):
        for h in range(columns[0], min(columns[1], g + 1)):
            value = out[g, h]
            if g == h:
                value = norms[g]
            if is_normalized:
                scale = np.sqrt(rest[g] * rest[h])
                value = value * units[g] * units[h] / scale if scale > 0 else 0.0
            out[g, h] = value
            out[h, g] = value
