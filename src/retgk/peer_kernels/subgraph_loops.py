"""
Compiled counts of small induced subgraphs with labels, up to isomorphism.

A subgraph is known by two words. The first has the labels of its nodes, counted from one, so that
zero is no node. The second has an entry for each pair of nodes, in the order 01, 02, 12, 03, ..:
zero without an edge, else the label of the edge counted from one. Its type is known by the smallest
words over orders of the nodes.
"""

import numpy as np

from retgk.runtime.compiling import njit

__all__ = ["count_subgraph_types", "fill_automorphisms"]

_MAX_DENSE_NODES = 1024


@njit(nogil=True)
def _mixed(value):
    """Scramble 64 bits (SplitMix64); written out here, as the cache sees this file alone."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(nogil=True)
def _slot(first, second, table, words):
    """Slot of two words in a hash table of places in `words`, counted from one."""
    mask = len(table) - 1
    mixed = _mixed(_mixed(np.uint64(first)) + np.uint64(second))
    slot = np.int64(mixed & np.uint64(mask))
    while table[slot] > 0:
        place = table[slot] - 1
        if words[place, 0] == first and words[place, 1] == second:
            break
        slot = (slot + 1) & mask
    return slot


@njit(nogil=True)
def _unpacked(one, two, bits, labels, edges):
    """Write the labels of nodes, and the entries of all pairs; gives the number of nodes."""
    node_bits, edge_bits = bits
    size = 0
    while size < 5 and one >> (node_bits * size) > 0:
        labels[size] = (one >> (node_bits * size)) & ((np.int64(1) << node_bits) - 1)
        size += 1
    for j in range(1, size):
        for i in range(j):
            shift = edge_bits * (j * (j - 1) // 2 + i)
            edges[i, j] = edges[j, i] = (two >> shift) & ((np.int64(1) << edge_bits) - 1)
    return size


@njit(nogil=True)
def _sorted_nodes(labels, edges, size, keys, nodes):
    """
    Sort the nodes by a key that no order changes: what they and their neighbours are.

    Orders of nodes of the same key alone have to be tried then.
    """
    for i in range(size):
        around = np.uint64(0)
        for j in range(size):
            if edges[i, j] > 0:
                around += _mixed(np.uint64(edges[i, j]) + (np.uint64(labels[j]) << np.uint64(32)))
        key = np.int64(_mixed(around + np.uint64(labels[i])) >> np.uint64(1))
        at = i
        while at > 0 and keys[at - 1] > key:
            keys[at], nodes[at] = keys[at - 1], nodes[at - 1]
            at -= 1
        keys[at], nodes[at] = key, i


@njit(nogil=True)
def _type_of(one, two, bits, orders, room, found):
    """
    Write the smallest words over all orders of nodes, and the first order that has them.

    The order takes three bits for each node. Gives how many orders have these words.
    """
    node_bits, edge_bits = bits
    all_orders, order_ptr = orders
    labels, keys, nodes, edges = room
    size = _unpacked(one, two, bits, labels, edges)
    _sorted_nodes(labels, edges, size, keys, nodes)
    is_tied, n_equal = False, 0
    for i in range(1, size):
        is_tied |= keys[i] == keys[i - 1]
    first, last = order_ptr[size], order_ptr[size + 1]
    for row in range(first, last if is_tied else first + 1):  # the first order is that of the keys
        order = all_orders[row]
        is_sorted = True
        for i in range(1, size):
            is_sorted &= keys[order[i - 1]] <= keys[order[i]]
        if not is_sorted:
            continue
        word, pairs = np.int64(0), np.int64(0)
        for j in range(size):
            word |= labels[nodes[order[j]]] << (node_bits * j)
            for i in range(j):
                code = edges[nodes[order[i]], nodes[order[j]]]
                pairs |= code << (edge_bits * (j * (j - 1) // 2 + i))
        if n_equal == 0 or (word, pairs) < (found[0], found[1]):
            found[0], found[1], found[2], n_equal = word, pairs, 0, 1
            for i in range(size):
                found[2] |= nodes[order[i]] << (3 * i)
        elif word == found[0] and pairs == found[1]:
            n_equal += 1
    return n_equal


@njit(nogil=True)
def _roomy(known, n_used):
    """Words and their hash table with room for one more row."""
    rows, table = known
    if n_used < len(rows):
        return rows, table
    grown = np.zeros((2 * n_used, rows.shape[1]), rows.dtype)
    grown[:n_used] = rows
    larger = np.zeros(2 * len(table), np.int32)
    for place in range(n_used):
        larger[_slot(rows[place, 0], rows[place, 1], larger, grown)] = place + 1
    return grown, larger


@njit(nogil=True)
def _with_new_words(one, two, bits, orders, room, met, types, n_used):
    """Take in words that are met for the first time, and their type if that is new too."""
    found = room[4]
    n_same = _type_of(one, two, bits, orders, room[:4], found)
    met, types = _roomy(met, n_used[0]), _roomy(types, n_used[1])
    slot = _slot(found[0], found[1], types[1], types[0])
    if types[1][slot] == 0:
        row = types[0][n_used[1]]
        row[0], row[1], row[2] = found[0], found[1], n_same
        n_used[1] += 1
        types[1][slot] = n_used[1]
    row = met[0][n_used[0]]
    row[0], row[1], row[2], row[3] = one, two, types[1][slot] - 1, found[2]
    n_used[0] += 1
    met[1][_slot(one, two, met[1], met[0])] = n_used[0]
    return met, types


@njit(nogil=True)
def _code_at(row, u, indptr, indices, codes):
    """Entry of a pair of nodes, by halving the row of one of them."""
    low, high = indptr[row], indptr[row + 1]
    stop = high
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < u:
            low = middle + 1
        else:
            high = middle
    if low == stop or indices[low] != u:
        return np.int64(0)
    return np.int64(1 + codes[low]) if len(codes) else np.int64(1)


@njit(nogil=True)
def _dense_codes(first, n, indptr, indices, codes):
    """Matrix of the entries of all pairs of nodes; empty for a large graph."""
    matrix = np.zeros((n, n) if n <= _MAX_DENSE_NODES else (0, 0), np.int32)
    if len(matrix):
        for u in range(n):
            for i in range(indptr[first + u], indptr[first + u + 1]):
                matrix[u, indices[i]] = 1 + codes[i] if len(codes) else 1
    return matrix


@njit(nogil=True)
def _join(node, size, first, labels, graph, dense, bits, nodes, words):
    """Join a node to those before it: write it, and the words of what they all induce."""
    one, two = np.int64(1 + labels[first + node]), np.int64(0)
    if size > 1:
        one = words[size - 2, 0] | (one << (bits[0] * (size - 1)))
        two = words[size - 2, 1]
        shift = bits[1] * ((size - 1) * (size - 2) // 2)
        for i in range(size - 1):
            if len(dense):
                code = np.int64(dense[node, nodes[i]])
            else:
                code = _code_at(first + node, nodes[i], graph[0], graph[1], graph[2])
            two |= code << (shift + bits[1] * i)
    nodes[size - 1], words[size - 1, 0], words[size - 1, 1] = node, one, two


@njit(nogil=True)
def _fill_waiting(level, node, root, row, graph, is_connected, is_seen, waiting, counts):
    """List the nodes that may join next: those that waited before, and new neighbours."""
    indptr, indices, _ = graph
    n_before, n_waiting, place = counts
    n_own = 0
    if level > 0:
        for i in range(place[level - 1], n_waiting[level - 1]):
            waiting[level, n_own] = waiting[level - 1, i]
            n_own += 1
    n_before[level] = n_own
    if is_connected:
        is_seen[node] = True
        for i in range(indptr[row], indptr[row + 1]):
            other = indices[i]
            if other > root and not is_seen[other]:
                is_seen[other] = True
                waiting[level, n_own] = other
                n_own += 1
    elif level == 0:
        for other in range(root + 1, len(is_seen)):
            waiting[level, n_own] = other
            n_own += 1
    n_waiting[level], place[level] = n_own, 0


@njit(nogil=True)
def _level_with_waiting(level, is_seen, waiting, counts):
    """Go back to the last level at which a node waits; -1 if there is none."""
    n_before, n_waiting, place = counts
    while level >= 0 and place[level] == n_waiting[level]:
        for i in range(n_before[level], n_waiting[level]):
            is_seen[waiting[level, i]] = False
        level -= 1
    return level


@njit(nogil=True)
def _with_set(sets, n_used, kind, order, nodes, size):
    """Keep the type and the nodes of one set."""
    if n_used[3] == len(sets):
        sets = np.concatenate((sets, np.zeros_like(sets)))
    row = sets[n_used[3]]
    row[0] = kind
    for i in range(size):
        row[1 + i] = nodes[(order >> (3 * i)) & 7]
    n_used[3] += 1
    return sets


@njit(nogil=True)
def _with_count(rows, n_used, kind, types):
    """Count one set of a type."""
    if types[kind, 3] == 0:
        if n_used[2] == len(rows):
            rows = np.concatenate((rows, np.zeros_like(rows)))
        rows[n_used[2], 0] = kind
        n_used[2] += 1
    types[kind, 3] += 1
    return rows


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def count_subgraph_types(first_graph, last_graph, node_ptr, graph, labels, how, orders, sizes):
    """
    Count the subgraphs that up to k nodes induce in some graphs, by their type.

    Sets of nodes are grown from their first node, each in one way (Wernicke's ESU).

    Parameters
    ----------
    first_graph, last_graph, node_ptr : int, int and ndarray
        Which graphs, and the first node of each.
    graph : tuple of (indptr, indices, codes)
        Neighbours, and labels of edges; `codes` is empty if these are all alike.
    labels : ndarray of int32, shape (n_nodes,)
        Labels of nodes.
    how : tuple of (k, node_bits, edge_bits, is_connected, is_kept, most_rows)
        Most nodes, bits of an entry of the two words, whether connected subgraphs alone count,
        whether the sets of nodes are kept, and how many rows of all tables there is room for.
    orders : tuple of (orders, order_ptr)
        All orders of one node, of two nodes and so on.
    sizes : ndarray of int64, shape (n_graphs,)
        Filled with the number of different types of every graph; -1 for a graph at which the
        tables had no more room, and nothing is returned.

    Returns
    -------
    tuple of (words, types, counts, sets)
        Words of each type and the number of its automorphisms, shape (n_types, 3); types of every
        graph, and how often it has them; type and nodes of every set, shape (n_sets, 1 + k), or
        none. Nodes are in an order that gives the words of the type.
    """
    k, is_connected, is_kept, most_rows = how[0], how[3], how[4], how[5]
    bits = (how[1], how[2])
    # words as they are met, with the number of their type and the order that gives its words
    met = (np.zeros((1024, 4), np.int64), np.zeros(2048, np.int32))
    # words of types, numbers of automorphisms, and counts in the graph at hand
    types = (np.zeros((1024, 4), np.int64), np.zeros(2048, np.int32))
    rows, sets = np.zeros((1024, 2), np.int64), np.zeros((1024 if is_kept else 0, 1 + k), np.int32)
    n_used = np.zeros(4, np.int64)  # of these four
    nodes, words = np.zeros(5, np.int64), np.zeros((5, 2), np.int64)
    five = (np.zeros(5, np.int64), np.zeros(5, np.int64), np.zeros(5, np.int64))
    room = (five[0], five[1], five[2], np.zeros((5, 5), np.int64), np.zeros(3, np.int64))
    counts = (np.zeros(k, np.int64), np.zeros(k, np.int64), np.zeros(k, np.int64))
    for g in range(first_graph, last_graph):
        first, n = node_ptr[g], node_ptr[g + 1] - node_ptr[g]
        dense = _dense_codes(first, n, graph[0], graph[1], graph[2])
        is_seen, waiting = np.zeros(n, np.bool_), np.empty((k, n), np.int64)
        start = n_used[2]
        for root in range(n):
            node, level = root, -1
            while True:
                size = level + 2
                _join(node, size, first, labels, graph, dense, bits, nodes, words)
                one, two = words[size - 1, 0], words[size - 1, 1]
                slot = _slot(one, two, met[1], met[0])
                if met[1][slot] == 0:
                    met, types = _with_new_words(one, two, bits, orders, room, met, types, n_used)
                    slot = _slot(one, two, met[1], met[0])
                own = met[0][met[1][slot] - 1]
                rows = _with_count(rows, n_used, own[2], types[0])
                if is_kept:
                    sets = _with_set(sets, n_used, own[2], own[3], nodes, size)
                if n_used.sum() > most_rows:
                    sizes[g] = -1
                    return types[0][:0, :3].copy(), rows[:0, 0].copy(), rows[:0, 1].copy(), sets[:0]
                if size < k:
                    level += 1
                    row = first + node
                    _fill_waiting(
                        level, node, root, row, graph, is_connected, is_seen, waiting, counts
                    )
                level = _level_with_waiting(level, is_seen, waiting, counts)
                if level < 0:
                    break
                node = waiting[level, counts[2][level]]
                counts[2][level] += 1
        for i in range(start, n_used[2]):
            rows[i, 1] = types[0][rows[i, 0], 3]
            types[0][rows[i, 0], 3] = 0
        sizes[g] = n_used[2] - start
    own_rows = rows[: n_used[2]]
    of_types = types[0][: n_used[1], :3].copy()
    return of_types, own_rows[:, 0].copy(), own_rows[:, 1].copy(), sets[: n_used[3]].copy()


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def fill_automorphisms(types, bits, orders, ptr, found):
    """
    List the orders of nodes that leave the words of a type as they are.

    Parameters
    ----------
    types : ndarray of int64, shape (n_types, 3)
        Words of every type, and how many such orders there are.
    bits, orders : tuples
        As in `count_subgraph_types`.
    ptr : ndarray of int64, shape (n_types + 1,)
        Where the orders of every type begin.
    found : ndarray of int32, shape (n_orders, 5)
        Filled; as many rows of a type as it has such orders, the others are left out.
    """
    labels, edges = np.zeros(5, np.int64), np.zeros((5, 5), np.int64)
    for t in range(len(types)):
        size = _unpacked(types[t, 0], types[t, 1], bits, labels, edges)
        at = ptr[t]
        for row in range(orders[1][size], orders[1][size + 1]):
            order = orders[0][row]
            is_same = True
            for j in range(size):
                is_same &= labels[order[j]] == labels[j]
                for i in range(j):
                    is_same &= edges[order[i], order[j]] == edges[i, j]
            if is_same and at < ptr[t + 1]:
                found[at] = order
                at += 1
