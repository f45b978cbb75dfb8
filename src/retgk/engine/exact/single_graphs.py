"""
Compiled loops over the nodes of one graph at a time.

A matrix product gives other last bits for other numbers of rows. Here every node is computed for
itself, and every graph from its own nodes, so that neither depends on what else is asked for.
"""

import math

import numpy as np

from retgk.runtime.compiling import njit

__all__ = ["norms_of_graphs", "project"]


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
def _node_kernel(points, i, j, ptr, roots, constants, degrees):
    """Kernel of two nodes, whose coordinates are scaled such that gamma is one."""
    exponent, value = 0.0, 1.0
    for b in range(len(ptr) - 1):
        if degrees[b] > 0:
            product = constants[b]
            for k in range(ptr[b], ptr[b + 1]):
                product += points[i, k] * points[j, k]
            for _ in range(degrees[b]):
                value *= product
            continue
        square = 0.0
        for k in range(ptr[b], ptr[b + 1]):
            difference = points[i, k] - points[j, k]
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
            own = 0.5 * _node_kernel(points, i, i, ptr, roots, constants, degrees)
            for j in range(start, i):
                if labels[i] == labels[j]:
                    own += _node_kernel(points, i, j, ptr, roots, constants, degrees)
            total += own
        norms[g] = 2.0 * total / ((stop - start) * (stop - start))
