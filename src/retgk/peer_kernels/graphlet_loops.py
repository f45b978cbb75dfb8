"""Compiled counts of small subgraphs: exact sums over edges and triangles, and samples."""

import numpy as np

from retgk.runtime.compiling import njit

__all__ = [
    "CUBIC_SUMS",
    "QUARTIC_SUMS",
    "count_subgraphs",
    "sample_graphlet_pairs",
    "sample_graphlets",
]

CUBIC_SUMS = ((), ((0, 1),), ((0, 1), (1, 2)), ((0, 1), (1, 2), (0, 2)))
"""Edges of the subgraphs of three nodes, in the order in which `count_subgraphs` counts them."""

QUARTIC_SUMS = (
    (),
    ((0, 1),),
    ((0, 1), (2, 3)),
    ((0, 1), (1, 2)),
    ((0, 1), (1, 2), (0, 2)),
    ((0, 1), (0, 2), (0, 3)),
    ((0, 1), (1, 2), (2, 3)),
    ((0, 1), (1, 2), (0, 2), (0, 3)),
    ((0, 1), (1, 2), (2, 3), (0, 3)),
    ((0, 1), (1, 2), (2, 3), (0, 3), (0, 2)),
    ((0, 1), (1, 2), (2, 3), (0, 3), (0, 2), (1, 3)),
)
"""The same for four nodes."""


@njit(nogil=True)
def _n_set(word):
    """Number of bits that are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(nogil=True)
def _is_larger(v, u, degrees):
    """Whether a node has the larger degree, or the larger number where degrees are equal."""
    return degrees[v] > degrees[u] or (degrees[v] == degrees[u] and v > u)


@njit(nogil=True)
def _larger_neighbours(first, n, indptr, indices, degrees):
    """
    Larger neighbours of every node, each edge once, as offsets and nodes.

    There are few, even of a node that has many neighbours: loops over them do not take the squares
    of large degrees.
    """
    ptr = np.zeros(n + 1, np.int64)
    found = np.empty(indptr[first + n] - indptr[first], np.int64)
    n_found = 0
    for u in range(n):
        for i in range(indptr[first + u], indptr[first + u + 1]):
            if _is_larger(indices[i], u, degrees):
                found[n_found] = indices[i]
                n_found += 1
        ptr[u + 1] = n_found
    return ptr, found[:n_found]


@njit(nogil=True)
def _n_triangles(bits, n_words):
    """Triangles of a graph; row a of the bits has the neighbours of a node with larger numbers."""
    total = 0
    for a in range(len(bits)):
        for b in range(a + 1, len(bits)):
            if bits[a, b >> 6] >> np.uint64(b & 63) & np.uint64(1):
                for word in range(b >> 6, n_words):
                    total += _n_set(bits[a, word] & bits[b, word])
    return total


@njit(nogil=True)
def _n_cliques(n_nodes, ptr, larger):
    """
    Cliques of four nodes.

    A clique is a triangle among the larger neighbours of its smallest node.
    """
    place_of = np.full(n_nodes, -1, np.int64)
    bits = np.empty((0, 0), np.uint64)
    total = 0
    for u in range(n_nodes):
        own = larger[ptr[u] : ptr[u + 1]]
        width = len(own)
        if width < 3:
            continue
        n_words = (width + 63) // 64
        if width > len(bits):
            bits = np.empty((2 * width, 2 * n_words), np.uint64)
        bits[:width, :n_words] = np.uint64(0)
        for a in range(width):
            place_of[own[a]] = a
        for a in range(width):
            for i in range(ptr[own[a]], ptr[own[a] + 1]):
                b = place_of[larger[i]]
                if b >= 0:
                    low, high = min(a, b), max(a, b)
                    bits[low, high >> 6] |= np.uint64(1) << np.uint64(high & 63)
        total += _n_triangles(bits[:width], n_words)
        for a in range(width):
            place_of[own[a]] = -1
    return total


@njit(nogil=True)
def _count_triangles(n_nodes, ptr, larger, of_nodes, of_edges):
    """Count the triangles of every node, and of every edge in the order of larger neighbours."""
    place_of = np.full(n_nodes, -1, np.int64)
    for u in range(n_nodes):
        for i in range(ptr[u], ptr[u + 1]):
            place_of[larger[i]] = i
        for i in range(ptr[u], ptr[u + 1]):
            v = larger[i]
            for j in range(ptr[v], ptr[v + 1]):
                third = place_of[larger[j]]
                if third >= 0:
                    of_edges[i] += 1
                    of_edges[j] += 1
                    of_edges[third] += 1
                    of_nodes[u] += 1
                    of_nodes[v] += 1
                    of_nodes[larger[j]] += 1
        for i in range(ptr[u], ptr[u + 1]):
            place_of[larger[i]] = -1


@njit(nogil=True)
def _n_squares(first, n, indptr, indices, degrees):
    """Cycles of four nodes, each from its largest one: two ways to the node opposite to it."""
    shared, seen = np.zeros(n, np.int64), np.empty(n, np.int64)
    total = 0
    for u in range(n):
        n_seen = 0
        for i in range(indptr[first + u], indptr[first + u + 1]):
            v = indices[i]
            if not _is_larger(u, v, degrees):
                continue
            for j in range(indptr[first + v], indptr[first + v + 1]):
                w = indices[j]
                if w != v and _is_larger(u, w, degrees):
                    if shared[w] == 0:
                        seen[n_seen] = w
                        n_seen += 1
                    shared[w] += 1
        for k in range(n_seen):
            total += shared[seen[k]] * (shared[seen[k]] - 1) // 2
            shared[seen[k]] = 0
    return total


@njit(nogil=True)
def _fill_cubic(n, edges, wedges, triangles, sums):
    sums[0] = n * (n - 1) // 2 * (n - 2) // 3
    sums[1] = edges * (n - 2)
    sums[2] = wedges
    sums[3] = triangles


@njit(nogil=True)
def _fill_quartic(n, edges, wedges, triangles, sums):
    """Write the sums of subgraphs that are not connected."""
    sums[0] = n * (n - 1) // 2 * (n - 2) // 3 * (n - 3) // 4
    sums[1] = edges * ((n - 2) * (n - 3) // 2)
    sums[2] = edges * (edges - 1) // 2 - wedges
    sums[3] = wedges * (n - 3)
    sums[4] = triangles * (n - 3)


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def count_subgraphs(first_graph, last_graph, node_ptr, indptr, indices, k, sums):
    """
    Count subgraphs of k nodes, induced or not, with edges as in `CUBIC_SUMS` or `QUARTIC_SUMS`.

    Self-loops are left out.
    """
    for g in range(first_graph, last_graph):
        first, n, own = node_ptr[g], node_ptr[g + 1] - node_ptr[g], sums[g]
        degrees = np.zeros(n, np.int64)
        for u in range(n):
            for i in range(indptr[first + u], indptr[first + u + 1]):
                degrees[u] += indices[i] != u
        ptr, larger = _larger_neighbours(first, n, indptr, indices, degrees)
        edges, of_nodes, of_edges = len(larger), np.zeros(n, np.int64), np.zeros_like(larger)
        _count_triangles(n, ptr, larger, of_nodes, of_edges)
        wedges = triangles = claws = paths = paws = diamonds = np.int64(0)
        for u in range(n):
            d = degrees[u]
            wedges += d * (d - 1) // 2
            claws += d * (d - 1) * (d - 2) // 6
            triangles += of_nodes[u]
            paws += of_nodes[u] * (d - 2)
            for i in range(ptr[u], ptr[u + 1]):
                paths += (d - 1) * (degrees[larger[i]] - 1)
                diamonds += of_edges[i] * (of_edges[i] - 1) // 2
        triangles //= 3
        if k == 3:
            _fill_cubic(n, edges, wedges, triangles, own)
            continue
        _fill_quartic(n, edges, wedges, triangles, own)
        own[5] = claws
        own[6] = paths - 3 * triangles
        own[7] = paws
        own[8] = _n_squares(first, n, indptr, indices, degrees)
        own[9] = diamonds
        own[10] = _n_cliques(n, ptr, larger) if triangles > 3 else 0


@njit(nogil=True)
def _mixed(value):
    """Scramble 64 bits (SplitMix64); written out here, as the cache sees this file alone."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(nogil=True)
def _is_edge(indptr, indices, first, u, v):
    """Whether two nodes are joined, by halving the row of one of them."""
    low, high = indptr[first + u], indptr[first + u + 1]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < v:
            low = middle + 1
        else:
            high = middle
    return low < indptr[first + u + 1] and indices[low] == v


@njit(nogil=True)
def _fill_bits(indptr, indices, first, n_nodes, bits):
    bits[:] = np.uint64(0)
    for u in range(n_nodes):
        for i in range(indptr[first + u], indptr[first + u + 1]):
            v = indices[i]
            bits[u, v >> 6] |= np.uint64(1) << np.uint64(v & 63)


@njit(nogil=True)
def _mask(nodes, k, indptr, indices, first, bits):
    """Edges among some nodes, a bit for each pair."""
    mask, bit = 0, 0
    for i in range(k):
        for j in range(i + 1, k):
            u, v = nodes[i], nodes[j]
            if len(bits):
                is_edge = bits[u, v >> 6] >> np.uint64(v & 63) & np.uint64(1) != 0
            else:
                is_edge = _is_edge(indptr, indices, first, u, v)
            mask |= is_edge << bit
            bit += 1
    return mask


@njit(nogil=True)
def _n_subsets(n, k, most):
    """Number of sets of k out of n nodes, or one more than `most` if that is less."""
    total = 1.0
    for i in range(k):
        total = total * (n - i) / (i + 1)
    return np.int64(min(np.rint(total), most + 1.0))


@njit(nogil=True)
def _next_subset(nodes, k, n):
    """Move on to the next set of rising nodes."""
    place = k - 1
    while place > 0 and nodes[place] == n - k + place:
        place -= 1
    nodes[place] += 1
    for i in range(place + 1, k):
        nodes[i] = nodes[i - 1] + 1


@njit(nogil=True)
def _draw_subset(nodes, k, n, state):
    """Draw k different nodes; gives the state of the generator after that."""
    place = 0
    while place < k:
        state += np.uint64(0x9E3779B97F4A7C15)
        # 31 bits times n, of which the upper part is kept: no node is favoured by over n / 2^31
        node = np.int64(((_mixed(state) >> np.uint64(33)) * np.uint64(n)) >> np.uint64(31))
        is_new = True
        for i in range(place):
            is_new &= nodes[i] != node
        if is_new:
            nodes[place] = node
            place += 1
    return state


_MAX_BIT_NODES = 2048


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def sample_graphlets(first_graph, last_graph, node_ptr, indptr, indices, table, draws, counts):
    """
    Count types of subgraphs on randomly drawn sets of nodes, of all sets where these are no more.

    Parameters
    ----------
    first_graph, last_graph, node_ptr, indptr, indices : int, int and arrays
        The graphs.
    table : ndarray of int32
        Type of every mask.
    draws : tuple of (k, n_samples, seeds)
        Nodes of a set, sets to draw, and a seed for every graph.
    counts : ndarray of int64, shape (n_graphs, n_types)
        Filled; all zero for graphs of fewer than k nodes.
    """
    k, n_samples, seeds = draws
    nodes = np.empty(k, np.int64)
    for g in range(first_graph, last_graph):
        first, n = node_ptr[g], node_ptr[g + 1] - node_ptr[g]
        counts[g] = 0
        if n < k:
            continue
        n_words = (n + 63) // 64 if n <= _MAX_BIT_NODES else 0
        bits = np.empty((n if n_words else 0, n_words), np.uint64)
        if n_words:
            _fill_bits(indptr, indices, first, n, bits)
        n_subsets = _n_subsets(n, k, n_samples)
        is_whole = n_subsets <= n_samples
        state = seeds[g]
        for i in range(k):
            nodes[i] = i
        for sample in range(n_subsets if is_whole else n_samples):
            if not is_whole:
                state = _draw_subset(nodes, k, n, state)
            elif sample:
                _next_subset(nodes, k, n)
            counts[g, table[_mask(nodes, k, indptr, indices, first, bits)]] += 1


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def sample_graphlet_pairs(first_graph, last_graph, node_ptr, indptr, indices, table, draws, counts):
    """
    Count pairs of types of drawn sets of nodes and of the same sets with one node replaced.

    Parameters are those of `sample_graphlets`, but for `counts`, of shape (n_types, n_types), to
    which pairs of all these graphs are added, both ways. Graphs of k nodes or fewer have none.
    """
    k, n_samples, seeds = draws
    nodes, other = np.empty(k, np.int64), np.empty(1 + k, np.int64)
    for g in range(first_graph, last_graph):
        first, n = node_ptr[g], node_ptr[g + 1] - node_ptr[g]
        if n <= k:
            continue
        n_words = (n + 63) // 64 if n <= _MAX_BIT_NODES else 0
        bits = np.empty((n if n_words else 0, n_words), np.uint64)
        if n_words:
            _fill_bits(indptr, indices, first, n, bits)
        state = seeds[g]
        for _ in range(n_samples):
            # of k + 1 different nodes in random order, the first and the last take turns
            state = _draw_subset(other, k + 1, n, state)
            nodes[:] = other[:k]
            before = table[_mask(nodes, k, indptr, indices, first, bits)]
            nodes[0] = other[k]
            after = table[_mask(nodes, k, indptr, indices, first, bits)]
            counts[before, after] += 1
            counts[after, before] += 1
