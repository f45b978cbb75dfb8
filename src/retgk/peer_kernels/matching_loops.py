"""
Compiled sums over matchings of subgraphs, weighted by kernels of nodes and of weights of edges.

Two subgraphs of the same type are matched in as many ways as the type has automorphisms: their
nodes are listed in an order that shows the type, and one of the two lists is put in other orders.
"""

import numpy as np

from retgk.runtime.compiling import njit

__all__ = ["fill_matchings"]


@njit(nogil=True)
def _fill_weights(graph, first, n, weights):
    """Write the matrix of weights of edges, zero where there is none."""
    indptr, indices, edge_weights = graph
    weights[:n, :n] = 0.0
    for u in range(n):
        for i in range(indptr[first + u], indptr[first + u + 1]):
            weights[u, indices[i]] = edge_weights[i]


@njit(nogil=True)
def _node_products(kernel, own, size, nodes, first, last):
    """Sum over subgraphs of the products of the kernels of matched nodes."""
    a, b, c, d, e = own[0], own[1], own[2], own[3], own[4]
    total = 0.0
    if size == 1:
        for t in range(first, last):
            total += kernel[a, nodes[t, 0]]
    elif size == 2:
        for t in range(first, last):
            total += kernel[a, nodes[t, 0]] * kernel[b, nodes[t, 1]]
    elif size == 3:
        for t in range(first, last):
            total += kernel[a, nodes[t, 0]] * kernel[b, nodes[t, 1]] * kernel[c, nodes[t, 2]]
    elif size == 4:
        for t in range(first, last):
            pair = kernel[a, nodes[t, 0]] * kernel[b, nodes[t, 1]]
            total += pair * (kernel[c, nodes[t, 2]] * kernel[d, nodes[t, 3]])
    else:
        for t in range(first, last):
            pair = kernel[a, nodes[t, 0]] * kernel[b, nodes[t, 1]]
            others = kernel[c, nodes[t, 2]] * kernel[d, nodes[t, 3]]
            total += pair * others * kernel[e, nodes[t, 4]]
    return total


@njit(nogil=True)
def _edge_products(kernel, own, size, nodes, first, last, weights, other_weights, width):
    """Sum as `_node_products` does, times the bridge kernels of the weights of matched edges."""
    total = 0.0
    for t in range(first, last):
        value = 1.0
        for j in range(size):
            value *= kernel[own[j], nodes[t, j]]
            for i in range(j):
                weight = weights[own[i], own[j]]
                if weight > 0.0:
                    difference = abs(weight - other_weights[nodes[t, i], nodes[t, j]])
                    value *= max(0.0, 1.0 - difference / width)
        total += value
    return total


@njit(nogil=True)
def _of_same_type(kernel, own, others, weights, other_weights, width):
    """Sum over the matchings of all subgraphs of one type of two graphs."""
    nodes, first, last, orders, kind, size = own
    matched, total = np.zeros(5, np.int64), 0.0
    for s in range(first, last):
        for order in range(orders[0][kind], orders[0][kind + 1]):
            for at in range(size):
                matched[at] = nodes[s, orders[1][order, at]]
            if width > 0.0:
                both = (weights, other_weights, width)
                total += _edge_products(kernel, matched, size, *others, *both)
            else:
                total += _node_products(kernel, matched, size, *others)
    return total


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def fill_matchings(kernel, graph, rows, place, columns, orders, size_of_type, how, out):
    """
    Write the sums over matchings of one graph with each of some others.

    Parameters
    ----------
    kernel : ndarray of float64, shape (n, n_other_nodes)
        Kernel of its nodes with all nodes of the others.
    graph : int
        Its place among `rows`.
    rows, columns : tuple of (node_ptr, ptr, types, set_ptr, nodes, edges)
        Graphs: their first nodes and first entries, the type of every entry, which rises, its first
        subgraph, nodes of every subgraph; edges as (indptr, indices, weights).
    place : tuple of int
        First and last of the others among `columns`.
    orders : tuple of (ptr, orders)
        Automorphisms of every type.
    size_of_type : ndarray of int64
        Nodes of every type.
    how : tuple of (size_weights, width)
        Weights of matchings of one node, two nodes and so on, and the width of the bridge kernel of
        weights of edges, zero for none.
    out : ndarray of float64
        Filled from the place of the first of the others on.
    """
    node_ptr, ptr, types, set_ptr, nodes, edges = rows
    their_node_ptr, their_ptr, their_types, their_set_ptr, their_nodes, their_edges = columns
    size_weights, width = how
    n, base, widest = len(kernel), their_node_ptr[place[0]], 0
    for h in range(place[0], place[1]):
        widest = max(widest, their_node_ptr[h + 1] - their_node_ptr[h])
    n_weights, n_theirs = (n, widest) if width > 0.0 else (0, 0)
    weights, their_weights = np.empty((n_weights, n_weights)), np.empty((n_theirs, n_theirs))
    if width > 0.0:
        _fill_weights(edges, node_ptr[graph], n, weights)
    for h in range(place[0], place[1]):
        start, m = their_node_ptr[h], their_node_ptr[h + 1] - their_node_ptr[h]
        if width > 0.0:
            _fill_weights(their_edges, start, m, their_weights)
        block = kernel[:, start - base : start - base + m]
        i, j, total = ptr[graph], their_ptr[h], 0.0
        while i < ptr[graph + 1] and j < their_ptr[h + 1]:
            if types[i] != their_types[j]:
                i, j = i + (types[i] < their_types[j]), j + (types[i] > their_types[j])
                continue
            own = (nodes, set_ptr[i], set_ptr[i + 1], orders, types[i], size_of_type[types[i]])
            run = (their_nodes, their_set_ptr[j], their_set_ptr[j + 1])
            found = _of_same_type(block, own, run, weights, their_weights, width)
            total += size_weights[size_of_type[types[i]] - 1] * found
            i += 1
            j += 1
        out[h] = total
