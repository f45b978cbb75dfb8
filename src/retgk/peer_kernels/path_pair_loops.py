"""Compiled sums over pairs of shortest paths of the same length, weighted by a kernel of nodes."""

import numpy as np

from retgk.runtime.compiling import njit

__all__ = ["fill_pairs", "fill_path_products"]


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def fill_pairs(first_graph, last_graph, node_ptr, matrix_ptr, numbers, pairs):
    """
    List the pairs of connected nodes of some graphs in the order of their lengths.

    `numbers` are matrices of numbers of lengths, -1 where there is no path. `pairs` are offsets of
    the graphs, and the arrays to fill: number of the length, first and second node of every pair.
    """
    ptr, lengths, starts, ends = pairs
    for g in range(first_graph, last_graph):
        n_nodes = node_ptr[g + 1] - node_ptr[g]
        own = numbers[matrix_ptr[g] : matrix_ptr[g + 1]].reshape((n_nodes, n_nodes))
        size = ptr[g + 1] - ptr[g]
        keys, u_of, v_of = (
            np.empty(size, np.int64),
            np.empty(size, np.int32),
            np.empty(size, np.int32),
        )
        place = 0
        for u in range(n_nodes):
            for v in range(u + 1, n_nodes):
                if own[u, v] >= 0:
                    keys[place], u_of[place], v_of[place] = own[u, v], u, v
                    place += 1
        order = np.argsort(keys, kind="mergesort")
        for i in range(size):
            lengths[ptr[g] + i] = keys[order[i]]
            starts[ptr[g] + i], ends[ptr[g] + i] = u_of[order[i]], v_of[order[i]]


@njit(nogil=True)
def _run_end(lengths, place, stop):
    end = place + 1
    while end < stop and lengths[end] == lengths[place]:
        end += 1
    return end


@njit(nogil=True)
def _of_same_length(kernel, own, own_run, other, other_run, steps):
    """Sum of k(u, u') k(v, v') over paths u-v of one graph and u'-v' of another, both ways each."""
    _, starts, ends = own
    _, other_starts, other_ends = other
    n, m = kernel.shape
    n_own, n_other = own_run[1] - own_run[0], other_run[1] - other_run[0]
    total = 0.0
    if 4 * n_own * n_other <= 2 * n_own * m + n * (n_other + m):
        for i in range(own_run[0], own_run[1]):
            u, v = starts[i], ends[i]
            for j in range(other_run[0], other_run[1]):
                w, x = other_starts[j], other_ends[j]
                total += kernel[u, w] * kernel[v, x] + kernel[u, x] * kernel[v, w]
        return 2 * total
    # with A and B the matrices of paths of this length, the sum is that of K * (A K B)
    steps[:n, :m] = 0.0
    for i in range(own_run[0], own_run[1]):
        u, v = starts[i], ends[i]
        for w in range(m):
            steps[u, w] += kernel[v, w]
            steps[v, w] += kernel[u, w]
    for u in range(n):
        for j in range(other_run[0], other_run[1]):
            total += kernel[u, other_starts[j]] * steps[u, other_ends[j]]
    return 2 * total


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def fill_path_products(kernel, own, first_graph, last_graph, node_ptr, ptr, others, out):
    """
    Write the kernel of one graph with each of some others.

    Parameters
    ----------
    kernel : ndarray of float64, shape (n, n_other_nodes)
        Kernel of its nodes with all nodes of the others.
    own : tuple of (lengths, starts, ends)
        Its pairs of nodes, in the order of lengths.
    first_graph, last_graph, node_ptr, ptr, others : int, int and arrays
        Others, the offsets of nodes and of pairs of all graphs, and their pairs.
    out : ndarray of float64
        Filled from the place `first_graph` on.
    """
    lengths, n_own = own[0], len(own[0])
    other_lengths = others[0]
    base = node_ptr[first_graph]
    widest = 0
    for h in range(first_graph, last_graph):
        widest = max(widest, node_ptr[h + 1] - node_ptr[h])
    steps = np.empty((len(kernel), widest))
    for h in range(first_graph, last_graph):
        block = kernel[:, node_ptr[h] - base : node_ptr[h + 1] - base]
        i, j, stop = 0, ptr[h], ptr[h + 1]
        total = 0.0
        while i < n_own and j < stop:
            if lengths[i] < other_lengths[j]:
                i = _run_end(lengths, i, n_own)
            elif lengths[i] > other_lengths[j]:
                j = _run_end(other_lengths, j, stop)
            else:
                i_end = _run_end(lengths, i, n_own)
                j_end = _run_end(other_lengths, j, stop)
                total += _of_same_length(block, own, (i, i_end), others, (j, j_end), steps)
                i, j = i_end, j_end
        out[h] = total
