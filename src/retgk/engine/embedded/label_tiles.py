"""Inner products of the vectors of some graphs, label by label, in compiled code.

numba's cache does not notice changes of products.py: touch this file too.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

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
    Add the products of all labels to one tile.

    A product is summed over columns in order, so it depends on no other graph, tile or thread.

    Parameters
    ----------
    x, y : LabelledRows
        Graphs of the rows and of the columns, with the same labels. If both are the same,
        what lies above the diagonal is left out.
    panels : Panels
        Panels of y.
    tile : pair of int
        Tile of rows and of columns.
    products : ndarray of float64, shape (n_x, n_y)
        Where they are added.
    """
    _fill(x, y.graphs, y.tile_ptr, panels, tile, x is y, products)


@njit(cache=True, nogil=True)
def _fill(x, graphs, tile_ptr, panels, tile, symmetric, products):
    i, j = tile
    depth = min(x.features.shape[1], _DEPTH)
    largest = 0
    for label in range(len(tile_ptr)):
        largest = max(largest, x.tile_ptr[label, i + 1] - x.tile_ptr[label, i])
    packed = np.zeros((-(-largest // ROWS) * ROWS, depth), x.features.dtype)
    for label in range(len(tile_ptr)):
        rows = slice(x.tile_ptr[label, i], x.tile_ptr[label, i + 1])
        columns = slice(tile_ptr[label, j], tile_ptr[label, j + 1])
        if rows.start == rows.stop or columns.start == columns.stop:
            continue
        own = panels.values[panels.ptr[label, j] :]
        places = (x.graphs[rows], graphs[columns])
        for begin in range(0, x.features.shape[1], _DEPTH):
            end = min(begin + _DEPTH, x.features.shape[1])
            _pack_rows(x.features, x.rows[rows], begin, end, packed)
            _add_label(packed, own, (begin, end), places, symmetric, products)


@njit(cache=True, nogil=True)
def _pack_rows(features, rows, begin, end, packed):
    for r in range(len(rows)):
        own = features[rows[r]]
        for k in range(begin, end):
            packed[r, k - begin] = own[k]


@njit(cache=True, nogil=True)
def _add_label(packed, panels, span, places, symmetric, products):
    """Add the products of packed rows and panels of one label."""
    rows, columns = places
    n_packed, width = packed.shape
    n_columns = panels.shape[2]
    strip = np.empty((n_packed, n_columns), packed.dtype)
    left, right, out = packed.reshape(-1), panels.reshape(-1), strip.reshape(-1)
    begin = 0
    for first in range(0, len(columns), n_columns):
        if symmetric:  # groups of rows that lie above the diagonal as a whole
            while begin + ROWS <= len(rows) and rows[begin + ROWS - 1] < columns[first]:
                begin += ROWS
        panel = right[(first // n_columns * panels.shape[1] + span[0]) * n_columns :]
        for top in range(begin, len(rows), ROWS):
            own, target = left[top * width :], out[top * n_columns :]
            write_product(own, width, 1, panel, span[1] - span[0], target, n_columns)
        _add_strip(strip, begin, rows, columns[first : first + n_columns], products)


@njit(cache=True, nogil=True)
def _add_strip(strip, begin, rows, columns, products):
    for r in range(begin, len(rows)):
        target, own = products[rows[r]], strip[r]
        for c in range(len(columns)):
            target[columns[c]] += own[c]
