"""Inner products of the vectors of some graphs, label by label, in compiled code."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.runtime.compiling import njit
from retgk.simd import SOURCE
from retgk.simd.panel_products import PANEL_BYTES, ROWS, write_product

__all__ = ["LabelledRows", "Panels", "empty_panels", "fill_panels", "fill_tile"]

_DEPTH = 256  # columns multiplied at a time: the rows of a tile stay in the cache


class LabelledRows(NamedTuple):
    """Features of graphs, a row for each label that a graph has, and where to find them."""

    features: NDArray[Any]
    """Shape (n_rows, width)."""
    rows: NDArray[np.int64]
    """Rows sorted by label, and by graph within a label."""
    graphs: NDArray[np.int64]
    """Graph of each of these."""
    tile_ptr: NDArray[np.int64]
    """Where the rows of a label and a tile of graphs begin, shape (n_labels, n_tiles + 1)."""


class Panels(NamedTuple):
    """The same rows as columns, in panels as `write_product` takes them."""

    values: NDArray[Any]
    """Shape (n_panels, width, panel width)."""
    ptr: NDArray[np.int64]
    """First panel of a label and a tile, shape (n_labels, n_tiles)."""


def empty_panels(x: LabelledRows) -> Panels:
    """Room for the panels of rows."""
    width = PANEL_BYTES // x.features.itemsize
    counts = -(-np.diff(x.tile_ptr, axis=1) // width)
    ptr = np.cumsum(counts).reshape(counts.shape) - counts
    shape = (int(counts.sum()), x.features.shape[1], width)
    return Panels(np.empty(shape, x.features.dtype), ptr)


@njit(cache=True, nogil=True)
def fill_panels(x, panels, j):
    """Write the panels of one tile of graphs; what pads the last of a label stays as it is."""
    values, ptr = panels
    width = values.shape[2]
    for label in range(len(ptr)):
        begin = x.tile_ptr[label, j]
        for position in range(begin, x.tile_ptr[label, j + 1]):
            panel = values[ptr[label, j] + (position - begin) // width]
            column = (position - begin) % width
            own = x.features[x.rows[position]]
            for k in range(len(own)):
                panel[k, column] = own[k]


def fill_tile(
    x: LabelledRows, y: LabelledRows, panels: Panels, tile: tuple[int, int], products: Any
) -> None:
    """
    Add the products of all labels to one tile (of rows, of columns) of ``products``.

    A product is summed over columns in order, so it depends on no other graph, tile or thread. The
    panels are those of y. If x and y are the same, what lies above the diagonal is left out.
    """
    counts = np.diff(x.tile_ptr[:, tile[0] : tile[0] + 2], axis=1)
    n_packed = -(-int(counts.max(initial=0)) // ROWS) * ROWS
    packed = np.zeros((n_packed, min(x.features.shape[1], _DEPTH)), x.features.dtype)
    _fill(x, y.graphs, y.tile_ptr, panels, tile, x is y, packed, products)


@njit(nogil=True, inline="always")
def _pack_rows(x, row_span, span, packed):
    """Copy some columns of some rows to where they stand together."""
    for position in range(row_span[0], row_span[1]):
        row = x.rows[position]
        for k in range(span[0], span[1]):
            packed[position - row_span[0], k - span[0]] = x.features[row, k]


@njit(nogil=True, inline="always")
def _add_strip(strip, begin, n_rows, x_graphs, first_row, graphs, first, n, products):
    """Add the products of some rows with one panel where they belong."""
    for r in range(begin, n_rows):
        target, own = products[x_graphs[first_row + r]], strip[r]
        for c in range(n):
            target[graphs[first + c]] += own[c]


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def _fill(
    x,
    graphs,
    tile_ptr,
    panels,
    tile,
    symmetric,
    packed,
    products,
    simd=SOURCE,  # noqa: ARG001
):
    i, j = tile
    n_columns, depth = panels.values.shape[2], x.features.shape[1]
    strip = np.empty((len(packed), n_columns), packed.dtype)  # by numba: aligned to registers
    left, right, out = packed.reshape(-1), panels.values.reshape(-1), strip.reshape(-1)
    width = packed.shape[1]
    for label in range(len(tile_ptr)):
        rows = (x.tile_ptr[label, i], x.tile_ptr[label, i + 1])
        columns = (tile_ptr[label, j], tile_ptr[label, j + 1])
        if rows[0] == rows[1] or columns[0] == columns[1]:
            continue
        n_rows = rows[1] - rows[0]
        for first in range(0, depth, _DEPTH):
            span = (first, min(first + _DEPTH, depth))
            _pack_rows(x, rows, span, packed)
            begin = 0
            for column in range(columns[0], columns[1], n_columns):
                if symmetric:  # groups of rows that lie above the diagonal as a whole
                    last = rows[0] + ROWS - 1
                    while begin + ROWS <= n_rows and x.graphs[last + begin] < graphs[column]:
                        begin += ROWS
                panel = panels.ptr[label, j] + (column - columns[0]) // n_columns
                own = right[(panel * depth + first) * n_columns :]
                for top in range(begin, n_rows, ROWS):
                    some, target = left[top * width :], out[top * n_columns :]
                    write_product(some, width, 1, own, span[1] - first, target, n_columns)
                n = min(n_columns, columns[1] - column)
                _add_strip(strip, begin, n_rows, x.graphs, rows[0], graphs, column, n, products)
