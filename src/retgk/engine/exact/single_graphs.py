"""
Compiled loops over the nodes of one graph at a time.

A matrix product gives other last bits for other numbers of rows. Here every node is computed for
itself, and every graph from its own nodes, so that neither depends on what else is asked for.
"""

import math

import numpy as np

from retgk.runtime.compiling import njit

__all__ = [
    "add_own_products",
    "add_rare_labels",
    "add_rare_values",
    "norms_of_graphs",
    "project",
]


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def project(block, mean, basis, scale, coordinates, tails, sizes):
    """
    Coordinates of nodes in a basis, scaled.

    To `tails` and `sizes` are added the distances of the nodes from the space of the basis and
    from the mean.
    """
    dimension, rank = basis.shape
    centred, kept = np.empty(dimension), np.empty(rank)
    for i in range(len(block)):
        kept[:] = 0.0
        square = 0.0
        for j in range(dimension):
            centred[j] = block[i, j] - mean[j]
            square += centred[j] * centred[j]
            for k in range(rank):
                kept[k] += centred[j] * basis[j, k]
        rest = 0.0
        for j in range(dimension):
            # not the difference of two squares, which would lose all digits of a small rest
            own = centred[j]
            for k in range(rank):
                own -= kept[k] * basis[j, k]
            rest += own * own
        for k in range(rank):
            coordinates[i, k] = kept[k] * scale
        tails[i] += scale * math.sqrt(rest)
        sizes[i] += scale * math.sqrt(square)


@njit(nogil=True, inline="always")
def _node_kernel(x, i, y, j, ptr, roots, constants, degrees):
    """Kernel of two nodes, whose coordinates are scaled such that gamma is one."""
    exponent, value = 0.0, 1.0
    for b in range(len(ptr) - 1):
        if degrees[b] > 0:
            product = constants[b]
            for k in range(ptr[b], ptr[b + 1]):
                product += x[i, k] * y[j, k]
            for _ in range(degrees[b]):
                value *= product
            continue
        square = 0.0
        for k in range(ptr[b], ptr[b + 1]):
            difference = x[i, k] - y[j, k]
            square += difference * difference
        exponent += math.sqrt(square) if roots[b] else square
    return value * math.exp(-exponent)


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def norms_of_graphs(points, labels, node_ptr, graphs, factors, norms):
    """
    ``<m_G, m_G>`` of some graphs, by a double loop over their nodes.

    Factors are (first coordinates, whether roots are taken, constants, degrees); a degree of
    zero is no polynomial. Nodes with a negative label match nothing.
    """
    ptr, roots, constants, degrees = factors
    for g in graphs:
        start, stop = node_ptr[g], node_ptr[g + 1]
        total = 0.0
        for i in range(start, stop):
            if labels[i] < 0:
                continue
            own = 0.5 * _node_kernel(points, i, points, i, ptr, roots, constants, degrees)
            for j in range(start, i):
                if labels[i] == labels[j]:
                    own += _node_kernel(points, i, points, j, ptr, roots, constants, degrees)
            total += own
        norms[g] = 2.0 * total / ((stop - start) * (stop - start))


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def add_own_products(points, labels, node_ptr, graphs, factors, weight, products):
    """
    Add the weighted ``<phi(v), m_G>`` of every node v of some graphs G, by a loop over pairs.

    The parameters are those of `norms_of_graphs`.
    """
    ptr, roots, constants, degrees = factors
    for g in graphs:
        start, stop = node_ptr[g], node_ptr[g + 1]
        share = weight / (stop - start)
        for i in range(start, stop):
            if labels[i] < 0:
                continue
            own = _node_kernel(points, i, points, i, ptr, roots, constants, degrees)
            for j in range(start, i):
                if labels[i] == labels[j]:
                    value = _node_kernel(points, i, points, j, ptr, roots, constants, degrees)
                    own += value
                    products[j] += share * value
            products[i] += share * own


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def add_rare_labels(graphs, rows, columns, factors, is_symmetric, gram):
    """
    Add inner products over pairs of points of the same label, row by row of the matrix.

    Parameters
    ----------
    graphs : tuple of int
        First and last row of `gram` that this call writes.
    rows : tuple of arrays
        Coordinates; first entry of every graph; point, label and weight of every entry.
    columns : tuple of arrays
        Coordinates; first point of every label; first entry of every point; graph and weight of
        every entry.
    factors : tuple of arrays
        As in `norms_of_graphs`.
    is_symmetric : bool
        Whether rows and columns are the same: then only values up to the diagonal are added, and
        half of the diagonal.
    gram : ndarray of float64, shape (n_rows, n_columns)
        What is added to.
    """
    x, row_ptr, row_points, row_labels, row_weights = rows
    y, label_ptr, entry_ptr, entry_graphs, entry_weights = columns
    ptr, roots, constants, degrees = factors
    for g in range(graphs[0], graphs[1]):
        for e in range(row_ptr[g], row_ptr[g + 1]):
            i, label = row_points[e], row_labels[e]
            for j in range(label_ptr[label], label_ptr[label + 1]):
                first, last = entry_ptr[j], entry_ptr[j + 1]
                if is_symmetric and entry_graphs[first] > g:
                    continue
                value = row_weights[e] * _node_kernel(x, i, y, j, ptr, roots, constants, degrees)
                for f in range(first, last):
                    h = entry_graphs[f]
                    if is_symmetric and h >= g:
                        if h == g:
                            gram[g, g] += 0.5 * value * entry_weights[f]
                        break
                    gram[g, h] += value * entry_weights[f]


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def add_rare_values(nodes, rows, columns, factors, graphs, weights, values):
    """
    Add weighted sums over fitted graphs of the products of single nodes, over rare labels.

    Parameters
    ----------
    nodes : tuple of int
        First and last node that this call writes.
    rows, columns, factors : tuples of arrays
        As in `add_rare_labels`, with nodes in the place of the graphs of the rows.
    graphs : ndarray of int64, shape (n_nodes,)
        Graph of every node.
    weights : ndarray of float64, shape (n_graphs, n_fitted)
        Weights of the fitted graphs, for every graph.
    values : ndarray of float64, shape (n_nodes,)
        What is added to.
    """
    x, row_ptr, row_points, row_labels, row_weights = rows
    y, label_ptr, entry_ptr, entry_graphs, entry_weights = columns
    ptr, roots, constants, degrees = factors
    for node in range(nodes[0], nodes[1]):
        own = weights[graphs[node]]
        for e in range(row_ptr[node], row_ptr[node + 1]):
            i, label = row_points[e], row_labels[e]
            total = 0.0
            for j in range(label_ptr[label], label_ptr[label + 1]):
                value = _node_kernel(x, i, y, j, ptr, roots, constants, degrees)
                for f in range(entry_ptr[j], entry_ptr[j + 1]):
                    total += value * entry_weights[f] * own[entry_graphs[f]]
            values[node] += row_weights[e] * total
