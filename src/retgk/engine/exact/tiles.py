"""
Compiled loops: tiles of node-kernel values, summed per graph.

Points lie interleaved so that everything is loaded in order: ``rows[r, k, lane]`` and
``columns[g, k, c]``, with k the coordinate and six columns in a group. Coordinates are scaled
such that a factor of the kernel is ``2^-t``, not ``e^-t``: the fractional part of t is then exact.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.runtime.compiling import njit
from retgk.simd import SOURCE
from retgk.simd.vector_passes import GROUP, add_distances, add_dots, add_run, finish

__all__ = [
    "ABSOLUTE",
    "CHUNK",
    "LAPLACIAN",
    "POLYNOMIAL",
    "SQUARED",
    "Columns",
    "Factors",
    "Rows",
    "add_pieces",
    "add_rows",
    "fill_products",
    "write_entry_values",
]

CHUNK = 144  # columns of a tile: 9 kB of float32, so that passes meet it in the first cache
ABSOLUTE, SQUARED, LAPLACIAN, POLYNOMIAL = range(4)


class Factors(NamedTuple):
    """Factors of the node kernel, by kind: coordinates ``ptr[b]:ptr[b + 1]`` belong to factor b."""

    ptr: NDArray[np.int64]
    kinds: NDArray[np.int64]
    constants: NDArray[np.float64]
    degrees: NDArray[np.int64]


class Columns(NamedTuple):
    """
    The points that are summed over, and their weights in the graphs.

    Columns ``CHUNK * t : CHUNK * (t + 1)`` make tile t. It has the runs ``ptr[t]:ptr[t + 1]``, each
    of up to RUN columns of one graph; where it has less, weights are zero.
    """

    points: Any  # (n_groups, n_coordinates, GROUP)
    ptr: NDArray[np.int64]
    graphs: NDArray[np.int64]
    positions: NDArray[np.int64]  # (n_runs, RUN), within the tile
    weights: Any  # (n_runs, RUN)
    lowest: NDArray[np.int64]  # first graph of this tile and all after it


class Rows(NamedTuple):
    """
    The points of the rows, and their weights in the graphs.

    Rows ``lanes * r : lanes * (r + 1)`` make tile r. It has the graphs
    ``graphs[ptr[r]:ptr[r + 1]]``, with weights for every lane.
    """

    points: Any  # (n_rows, n_coordinates)
    ptr: NDArray[np.int64]
    graphs: NDArray[np.int64]
    weights: NDArray[np.float64]  # (len(graphs), lanes)


# Inlined, because numba compiles what is called once for itself and once more in every caller,
# and because calls count references to every array with atomic instructions.


@njit(nogil=True, inline="always")
def _load_block(points, begin, n_rows, block):
    """Interleave rows: lanes stand together."""
    lanes = block.shape[2]
    for i in range(n_rows):
        for k in range(points.shape[1]):
            block[i // lanes, k, i % lanes] = points[begin + i, k]


@njit(nogil=True, inline="always")
def _multiply_powers(block, r, points, group, n_groups, start, stop, constant, degree, tile):
    """Multiply a tile by a polynomial factor, (<x, y> + constant)^degree."""
    lanes = block.shape[2]
    for j in range(n_groups * GROUP):
        for lane in range(lanes):
            product = constant
            for k in range(start, stop):
                product += block[r, k, lane] * points[group + j // GROUP, k, j % GROUP]
            for _ in range(degree):
                tile[j * lanes + lane] *= product


@njit(nogil=True, inline="always")
def _fill_tile(block, r, points, group, n_groups, factors, tile, squares):
    """Kernel values of some rows with some groups of columns."""
    n_exponents = 0
    while n_exponents < len(factors.kinds) and factors.kinds[n_exponents] != POLYNOMIAL:
        n_exponents += 1
    for b in range(n_exponents):
        start, stop, kind = factors.ptr[b], factors.ptr[b + 1], factors.kinds[b]
        is_root, is_first, is_last = kind == LAPLACIAN, b == 0, b + 1 == n_exponents
        target = squares if is_root and not is_first else tile
        is_new, is_absolute = is_first or is_root, kind == ABSOLUTE
        add_distances(block, r, points, group, n_groups, start, stop, is_absolute, is_new, target)
        if is_root or is_last:
            finish(target, is_root, is_first or not is_root, is_last, tile, n_groups * GROUP)
    if n_exponents == 0:
        for place in range(len(tile)):
            tile[place] = 1
    for b in range(n_exponents, len(factors.kinds)):
        start, stop = factors.ptr[b], factors.ptr[b + 1]
        constant, degree = factors.constants[b], factors.degrees[b]
        _multiply_powers(block, r, points, group, n_groups, start, stop, constant, degree, tile)


@njit(nogil=True, inline="always")
def _add_tile(block, n_tiles, columns, t, factors, scale, tile, squares, sums):
    """Add the kernel of all rows of a block with tile t of the columns to the sums over graphs."""
    group = t * (CHUNK // GROUP)
    n_groups = min(CHUNK // GROUP, len(columns.points) - group)
    for r in range(n_tiles):
        _fill_tile(block, r, columns.points, group, n_groups, factors, tile, squares)
        for s in range(columns.ptr[t], columns.ptr[t + 1]):
            target = r * sums.shape[1] + columns.graphs[s]
            add_run(tile, columns.positions, columns.weights, s, scale, sums, target)


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def fill_products(rows, columns, factors, task, numbers, products, simd=SOURCE):  # noqa: ARG001
    """
    Sum kernel values over graphs, ``products[G, g] = sum_ij w_Gi w_gj k(row i, column j)``.

    The task is (first row, end, whether rows and columns are the same points). If they are,
    tiles before the diagonal are left out and those on it count half: adding the transpose
    completes the matrix. `numbers` are the rows of the products for the graphs of these rows.
    Products with graphs before the lowest of the first tile are left as they are.
    """
    start, stop, is_symmetric = task
    n_graphs, lanes = products.shape[1], rows.weights.shape[1]
    products[:, columns.lowest[start // CHUNK if is_symmetric else 0] :] = 0.0
    dtype = rows.points.dtype
    block = np.zeros((CHUNK // lanes, rows.points.shape[1], lanes), dtype)
    sums = np.empty((CHUNK // lanes, n_graphs, lanes))
    tile, squares = np.empty(CHUNK * lanes, dtype), np.empty(CHUNK * lanes, dtype)
    for begin in range(start, stop, CHUNK):
        n_rows = min(CHUNK, stop - begin)
        n_tiles = (n_rows + lanes - 1) // lanes
        _load_block(rows.points, begin, n_rows, block)
        first = begin // CHUNK if is_symmetric else 0
        lowest = columns.lowest[first]
        sums[:n_tiles, lowest:] = 0.0
        for t in range(first, len(columns.lowest)):
            scale = dtype.type(0.5 if is_symmetric and t == first else 1.0)
            _add_tile(block, n_tiles, columns, t, factors, scale, tile, squares, sums)
        for r in range(n_tiles):
            own = begin // lanes + r
            for s in range(rows.ptr[own], rows.ptr[own + 1]):
                target = numbers[s - rows.ptr[start // lanes]]
                add_dots(tile, sums, r, lowest, rows.weights, s, products, target)


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def add_pieces(products, columns, pieces, gram):
    """
    Add pieces of rows to a matrix.

    A piece is the row of the matrix, first product, first column number and their number. Pieces of
    one row follow each other, so that it stays in the cache.
    """
    for piece in range(len(pieces)):
        row, first, column, n = pieces[piece]
        own = gram[row]
        for j in range(n):
            own[columns[column + j]] += products[first + j]


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def add_rows(products, entries, column_graphs, span, gram):
    """
    Add weighted products of single rows to the graphs that have them, in the order of the rows.

    Entries are (first entry of every row, graphs, weights).
    """
    ptr, graphs, weights = entries
    for i in range(len(products)):
        for e in range(ptr[i], ptr[i + 1]):
            row, weight = graphs[e], weights[e]
            for j in range(span[0], span[1]):
                gram[row, column_graphs[j]] += weight * products[i, j]


# "reassoc" lets the sum over graphs be taken in several lanes, the same for every row
@njit(cache=True, nogil=True, no_cfunc_wrapper=True, fastmath={"contract", "reassoc"})
def write_entry_values(products, entries, column_graphs, weights, values):
    """
    Write the weighted sum over fitted graphs of every entry of single rows.

    Entries are (first entry of every row, graph and weight of every entry); weights those of
    fitted graphs, one row for each graph.
    """
    ptr, graphs, shares = entries
    for i in range(len(products)):
        for e in range(ptr[i], ptr[i + 1]):
            own, total = weights[graphs[e]], 0.0
            for j in range(len(column_graphs)):
                total += own[column_graphs[j]] * products[i, j]
            values[e] = shares[e] * total
