"""
Compiled searches for shortest paths from every node, and counts of what their ends are.

A path is known by a key: the colours of its two ends and, in the last bits, the number of its
length among all lengths that were found.
"""

import numpy as np

from retgk.runtime.compiling import njit

__all__ = ["count_paths", "fill_lengths"]


@njit(nogil=True)
def _hops_from(source, first, graph, distances, reached):
    """Search breadth-first: reached nodes in order, with their numbers of steps."""
    indptr, indices, _ = graph
    distances[source] = 0.0
    reached[0] = source
    n_reached, place = 1, 0
    while place < n_reached:
        node = reached[place]
        further = distances[node] + 1.0
        place += 1
        for i in range(indptr[first + node], indptr[first + node + 1]):
            other = indices[i]
            if distances[other] < 0:
                distances[other] = further
                reached[n_reached] = other
                n_reached += 1
    return reached[:n_reached]


@njit(nogil=True)
def _push(heap, nodes, size, value, node):
    i = size
    while i > 0 and heap[(i - 1) // 2] > value:
        heap[i], nodes[i] = heap[(i - 1) // 2], nodes[(i - 1) // 2]
        i = (i - 1) // 2
    heap[i], nodes[i] = value, node


@njit(nogil=True)
def _sift_last_to_root(heap, nodes, size):
    value, node = heap[size], nodes[size]
    i = 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[i], nodes[i] = heap[child], nodes[child]
        i = child
    heap[i], nodes[i] = value, node


@njit(nogil=True)
def _lengths_from(source, first, graph, distances, reached, heap, nodes):
    """Search by Dijkstra's algorithm: reached nodes in order, with their distances."""
    indptr, indices, weights = graph
    n_reached, size = 0, 1
    heap[0], nodes[0] = 0.0, source
    while size > 0:
        value, node = heap[0], nodes[0]
        size -= 1
        _sift_last_to_root(heap, nodes, size)
        if distances[node] >= 0:
            continue
        distances[node] = value
        reached[n_reached] = node
        n_reached += 1
        for i in range(indptr[first + node], indptr[first + node + 1]):
            other = indices[i]
            if distances[other] < 0:
                _push(heap, nodes, size, value + weights[i], other)
                size += 1
    return reached[:n_reached]


@njit(nogil=True)
def _empty_heap(indptr, first, n_nodes, is_weighted):
    """Room for every edge that a search may come by."""
    size = indptr[first + n_nodes] - indptr[first] + 1 if is_weighted else 0
    return np.empty(size), np.empty(size, np.int64)


@njit(nogil=True)
def _powers_of_ten(exponent):
    """Two numbers whose product is ten to some power, which may be too large for one number."""
    over = 200.0 if exponent > 300.0 else 0.0
    return 10.0**over, 10.0 ** (exponent - over)


@njit(nogil=True)
def _rounded(length):
    """Ten significant digits: sums of the same weights in another order are the same length."""
    exponent = 9.0 - np.floor(np.log10(length))
    if not np.isfinite(exponent):
        return length
    first, second = _powers_of_ten(exponent)
    digits = np.rint(length * first * second)
    if digits >= 1e10:  # as a number that is a little larger is written
        digits = 1e9
        first, second = _powers_of_ten(exponent - 1.0)
    return digits / second / first


@njit(nogil=True)
def _mixed(value):
    """Scramble 64 bits (SplitMix64); written out here, as the cache sees this file alone."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(nogil=True)
def _place(key, table, keys, start):
    """Slot of a key in a hash table of places in `keys`, counted from `start` and from one."""
    mask = len(table) - 1
    slot = np.int64(_mixed(np.uint64(key)) & np.uint64(mask))
    while table[slot] > 0 and keys[start + table[slot] - 1] != key:
        slot = (slot + 1) & mask
    return slot


@njit(nogil=True)
def _roomy(array, n_used, n_more):
    """Give an array with room for some more values, itself if it has that."""
    if n_used + n_more <= len(array):
        return array
    grown = np.empty(2 * (n_used + n_more), array.dtype)
    grown[:n_used] = array[:n_used]
    return grown


@njit(nogil=True)
def _roomy_table(table, keys, start, n_used, n_more):
    """Give a hash table with room for some more keys, itself if it has that."""
    if 2 * (n_used + n_more) <= len(table):
        return table
    size = len(table)
    while size < 4 * (n_used + n_more):
        size *= 2
    grown = np.zeros(size, np.int32)
    for i in range(n_used):
        grown[_place(keys[start + i], grown, keys, start)] = i + 1
    return grown


@njit(nogil=True)
def _with_both_orders(keys, counts, start, n_keys, bits):
    """Turn counts of pairs into counts of ordered pairs; gives the arrays and their new length."""
    keys, counts = _roomy(keys, start + n_keys, n_keys), _roomy(counts, start + n_keys, n_keys)
    n_all, shift = n_keys, np.int64(63 - 2 * bits)
    mask = (np.int64(1) << bits) - 1
    for i in range(start, start + n_keys):
        ends = keys[i] >> shift
        low, high = ends >> bits, ends & mask
        if low == high:
            counts[i] *= 2
        else:
            swapped = ((high << bits) | low) << shift
            keys[start + n_all] = swapped | (keys[i] & ((np.int64(1) << shift) - 1))
            counts[start + n_all] = counts[i]
            n_all += 1
    return keys, counts, start + n_all


@njit(nogil=True)
def _number_lengths(source, distances, reached, table, known, n_known, numbers):
    """Number the lengths of paths to reached nodes before `source`; gives how many are known."""
    length = np.empty(1)
    bits = length.view(np.int64)
    for node in reached:
        if node < source:
            length[0] = _rounded(distances[node])
            known[n_known] = bits[0]
            slot = _place(bits[0], table, known, 0)
            if table[slot] == 0:
                n_known += 1
                table[slot] = n_known
            numbers[node] = table[slot] - 1
    return n_known


@njit(nogil=True)
def _add_pairs(source, reached, numbers, colours, bits, table, found, start, n_keys):
    """Count the pairs of a node with reached ones before it; gives the number of keys."""
    keys, counts = found
    shift = np.int64(63 - 2 * bits)
    own = np.int64(colours[source])
    for node in reached:
        if node < source:
            other = np.int64(colours[node])
            ends = (min(own, other) << np.int64(bits)) | max(own, other)
            key = (ends << shift) | numbers[node]
            slot = _place(key, table, keys, start)
            if table[slot] == 0:
                keys[start + n_keys], counts[start + n_keys] = key, 0.0
                n_keys += 1
                table[slot] = n_keys
            counts[start + table[slot] - 1] += 1.0
    return n_keys


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def count_paths(first_graph, last_graph, node_ptr, graph, colours, bits, is_weighted, sizes):
    """
    Count the shortest paths between different nodes of some graphs, by colours and length.

    Parameters
    ----------
    first_graph, last_graph : int
        Which graphs.
    node_ptr : ndarray of int64
        First node of every graph.
    graph : tuple of (indptr, indices, weights)
        Of the batch; `weights` is looked at if `is_weighted`.
    colours : ndarray of int32, shape (n_nodes,)
        Colours of nodes, below ``2**bits``.
    bits : int
        Bits of a colour in a key; the length has all that are left of 63.
    is_weighted : bool
        Whether weights are lengths; otherwise every edge has length one.
    sizes : ndarray of int64, shape (n_graphs,)
        Filled with the number of different keys of every graph.

    Returns
    -------
    tuple of (keys, counts, lengths)
        Keys of every graph and how often they occur, as ordered pairs of nodes; and what the
        numbers of lengths in them stand for.
    """
    keys, counts, table = np.empty(1024, np.int64), np.empty(1024), np.zeros(1024, np.int32)
    known, known_table = np.empty(1024, np.int64), np.zeros(2048, np.int32)
    n_known = np.int64(0)
    start = 0
    for g in range(first_graph, last_graph):
        first, n_nodes = node_ptr[g], node_ptr[g + 1] - node_ptr[g]
        distances, reached = np.full(n_nodes, -1.0), np.empty(n_nodes, np.int64)
        numbers = np.empty(n_nodes, np.int64)
        heap, heap_nodes = _empty_heap(graph[0], first, n_nodes, is_weighted)
        n_keys = 0
        table[:] = 0
        for source in range(n_nodes):
            if is_weighted:
                found = _lengths_from(source, first, graph, distances, reached, heap, heap_nodes)
                known_table = _roomy_table(known_table, known, 0, n_known, len(found))
                known = _roomy(known, n_known, len(found))
                n_known = _number_lengths(
                    source, distances, found, known_table, known, n_known, numbers
                )
            else:
                found = _hops_from(source, first, graph, distances, reached)
                for node in found:
                    numbers[node] = np.int64(distances[node]) - 1
                n_known = np.int64(max(n_known, distances[found[-1]]))
            keys = _roomy(keys, start + n_keys, len(found))
            counts = _roomy(counts, start + n_keys, len(found))
            table = _roomy_table(table, keys, start, n_keys, len(found))
            own = colours[first : first + n_nodes]
            n_keys = _add_pairs(
                source, found, numbers, own, bits, table, (keys, counts), start, n_keys
            )
            for node in found:
                distances[node] = -1.0
        keys, counts, stop = _with_both_orders(keys, counts, start, n_keys, np.int64(bits))
        sizes[g] = stop - start
        start = stop
    hops = np.arange(1, n_known + 1).astype(np.float64)
    lengths = known[:n_known].view(np.float64).copy() if is_weighted else hops
    return keys[:start].copy(), counts[:start].copy(), lengths


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def fill_lengths(first_graph, last_graph, node_ptr, graph, is_weighted, ptr, lengths):
    """
    Write the matrix of lengths of shortest paths of some graphs, at ``ptr[g]`` each.

    No path, and a node to itself, have length zero; the lower triangle is that of the upper one.
    """
    for g in range(first_graph, last_graph):
        first, n_nodes = node_ptr[g], node_ptr[g + 1] - node_ptr[g]
        distances, reached = np.full(n_nodes, -1.0), np.empty(n_nodes, np.int64)
        heap, heap_nodes = _empty_heap(graph[0], first, n_nodes, is_weighted)
        own = lengths[ptr[g] : ptr[g + 1]].reshape((n_nodes, n_nodes))
        own[:] = 0.0
        for source in range(n_nodes):
            if is_weighted:
                found = _lengths_from(source, first, graph, distances, reached, heap, heap_nodes)
            else:
                found = _hops_from(source, first, graph, distances, reached)
            for node in found:
                if node < source:
                    length = distances[node]
                    length = _rounded(length) if is_weighted else length
                    own[node, source] = own[source, node] = length
                distances[node] = -1.0
