"""Compiled lists of the nodes around every node, and products of sparse rows of two nodes."""

import numpy as np

from retgk.runtime.compiling import njit

__all__ = ["count_neighbourhoods", "fill_invariant_products", "fill_neighbourhoods"]


@njit(nogil=True)
def _nodes_around(root, first, indptr, indices, radius, is_inside, found):
    """Mark the nodes within so many steps, and list them from the smallest on; gives how many."""
    found[0], n_found, start = root, 1, 0
    is_inside[root] = True
    for _ in range(radius):
        stop = n_found
        for place in range(start, stop):
            row = first + found[place]
            for i in range(indptr[row], indptr[row + 1]):
                if not is_inside[indices[i]]:
                    is_inside[indices[i]] = True
                    found[n_found] = indices[i]
                    n_found += 1
        start = stop
    found[:n_found].sort()
    return n_found


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def count_neighbourhoods(first_graph, last_graph, node_ptr, indptr, indices, radius, sizes, edges):
    """Count the nodes within `radius` steps of every node, and the entries among them."""
    for g in range(first_graph, last_graph):
        first, n = node_ptr[g], node_ptr[g + 1] - node_ptr[g]
        is_inside, found = np.zeros(n, np.bool_), np.empty(n, np.int64)
        for root in range(n):
            n_found = _nodes_around(root, first, indptr, indices, radius, is_inside, found)
            n_edges = 0
            for node in found[:n_found]:
                for i in range(indptr[first + node], indptr[first + node + 1]):
                    n_edges += is_inside[indices[i]]
            sizes[first + root], edges[first + root] = n_found, n_edges
            for node in found[:n_found]:
                is_inside[node] = False


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def fill_neighbourhoods(first_graph, last_graph, node_ptr, graph, radius, ptrs, arrays):
    """
    Write the subgraphs of all nodes within `radius` steps of every node of some graphs.

    Parameters
    ----------
    first_graph, last_graph, node_ptr : int, int and ndarray
        Which graphs.
    graph : tuple of (indptr, indices)
        Their neighbours.
    radius : int
        Steps.
    ptrs : tuple of (ndarray, ndarray)
        First node and first entry of the subgraph of every node.
    arrays : tuple of (members, indptr, indices, entries)
        Filled: the node, numbered over the batch, that each node of a subgraph is; rows and
        neighbours of the subgraphs; and the entry of the graph that each of their entries is.
    """
    indptr, indices = graph
    members, own_indptr, own_indices, entries = arrays
    for g in range(first_graph, last_graph):
        first, n = node_ptr[g], node_ptr[g + 1] - node_ptr[g]
        is_inside, found = np.zeros(n, np.bool_), np.empty(n, np.int64)
        number = np.empty(n, np.int64)
        for root in range(n):
            n_found = _nodes_around(root, first, indptr, indices, radius, is_inside, found)
            at, entry = ptrs[0][first + root], ptrs[1][first + root]
            for place in range(n_found):
                number[found[place]] = place
            for place in range(n_found):
                node = found[place]
                members[at + place], own_indptr[at + place] = first + node, entry
                for i in range(indptr[first + node], indptr[first + node + 1]):
                    if is_inside[indices[i]]:
                        own_indices[entry], entries[entry] = number[indices[i]], i
                        entry += 1
            for place in range(n_found):
                is_inside[found[place]] = False


@njit(nogil=True)
def _sparse_product(u, x, own, others):
    """Product of a sparse row and another; columns rise within both."""
    ptr, columns, values = own
    other_ptr, other_columns, other_values = others
    i, j, total = ptr[u], other_ptr[x], 0.0
    while i < ptr[u + 1] and j < other_ptr[x + 1]:
        if columns[i] == other_columns[j]:
            total += values[i] * other_values[j]
            i += 1
            j += 1
        elif columns[i] < other_columns[j]:
            i += 1
        else:
            j += 1
    return total


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def fill_invariant_products(kernel, first, own, place, node_ptr, others, out):
    """
    Write the sums over pairs of nodes of their kernel times the product of their sparse rows.

    Parameters
    ----------
    kernel : ndarray of float64, shape (n, n_other_nodes)
        Kernel of the nodes of one graph, of which `first` is the first, with those of others.
    first, own : int and tuple of (ptr, columns, values)
        Sparse rows of its batch.
    place, node_ptr, others : tuple of int, ndarray and tuple
        First and last of the others, their first nodes, and sparse rows of their batch.
    out : ndarray of float64
        Filled from the place of the first of the others on.
    """
    base = node_ptr[place[0]]
    for h in range(place[0], place[1]):
        total = 0.0
        for u in range(len(kernel)):
            for x in range(node_ptr[h], node_ptr[h + 1]):
                value = kernel[u, x - base]
                if value != 0.0:
                    total += value * _sparse_product(first + u, x, own, others)
        out[h] = total
