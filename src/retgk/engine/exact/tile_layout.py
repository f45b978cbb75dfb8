"""
Points and weights laid out as tiles want them: rows in lanes, columns in groups and runs.

`retgk._core.fill_products` makes the tiles; ``_core/exact_tiles.hpp`` says how.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk.array_types import Codes, Flags, Floats, Ints
from retgk.engine.exact.distinct_points import DistinctPoints
from retgk.engine.exact.frame import TileKernel
from retgk.kernels.node_kernels import Gaussian, Laplacian, NodeKernel, Polynomial

__all__ = [
    "Bucket",
    "ColumnBucket",
    "ColumnSide",
    "Columns",
    "Factors",
    "Rows",
    "SharedRows",
    "loop_factors",
    "scale_for_tiles",
    "shared_buckets",
    "tile_factors",
]

_LOG2_E = math.log2(math.e)


class Factors(NamedTuple):
    """Factors of the node kernel, by kind: coordinates ``ptr[b]:ptr[b + 1]`` belong to factor b."""

    ptr: Ints
    kinds: Ints
    constants: Floats
    degrees: Ints


class Columns(NamedTuple):
    """
    The points that are summed over, and their weights in the graphs.

    Columns ``CHUNK * t : CHUNK * (t + 1)`` make tile t. It has the runs ``ptr[t]:ptr[t + 1]``, each
    of up to RUN columns of one graph; where it has less, weights are zero.
    """

    points: NDArray[Any]  # (n_groups, n_coordinates, GROUP)
    ptr: Ints
    graphs: Ints
    positions: Ints  # (n_runs, RUN), within the tile
    weights: NDArray[Any]  # (n_runs, RUN)
    lowest: Ints  # first graph of this tile and all after it


class Rows(NamedTuple):
    """
    The points of the rows, and their weights in the graphs.

    Rows ``lanes * r : lanes * (r + 1)`` make tile r. It has the graphs
    ``graphs[ptr[r]:ptr[r + 1]]``, with weights for every lane.
    """

    points: NDArray[Any]  # (n_rows, n_coordinates)
    ptr: Ints
    graphs: Ints
    weights: Floats  # (len(graphs), lanes)


@dataclass(frozen=True, eq=False)
class Bucket:
    """Points of one label on both sides, and the graphs that have some."""

    rows: Rows
    columns: Columns  # its graphs numbered as in column_graphs
    column_graphs: Ints


def tile_factors(kernel: TileKernel) -> Factors:
    """Factors of the node kernel in the form of the compiled tiles."""

    def kind(kernel: NodeKernel, width: int) -> int:
        if isinstance(kernel, Polynomial):
            return _core.POLYNOMIAL
        if isinstance(kernel, Laplacian):
            return _core.ABSOLUTE if width == 1 else _core.LAPLACIAN
        if isinstance(kernel, Gaussian):
            return _core.SQUARED
        raise TypeError(f"tiles do not know {kernel!r}")

    widths = np.diff(kernel.block_ptr)
    kinds = [kind(each, width) for each, width in zip(kernel.kernels, widths, strict=True)]
    return Factors(kernel.block_ptr, np.array(kinds, np.int64), *_polynomial_parameters(kernel))


def loop_factors(kernel: TileKernel) -> tuple[Ints, Flags, Floats, Ints]:
    """Factors of the node kernel in the form of the compiled loops over single pairs of nodes."""
    is_laplacian = np.array([_is_laplacian(each) for each in kernel.kernels])
    return (kernel.block_ptr, is_laplacian, *_polynomial_parameters(kernel))


def _is_laplacian(kernel: NodeKernel) -> bool:
    """Whether loops take the root of a squared distance."""
    if isinstance(kernel, Laplacian):
        return True
    if isinstance(kernel, Gaussian | Polynomial):
        return False
    raise TypeError(f"loops over pairs of nodes do not know {kernel!r}")


def _polynomial_parameters(kernel: TileKernel) -> tuple[Floats, Ints]:
    """Constants and degrees of the factors, zeros for those that are no polynomials."""
    polynomials = [k if isinstance(k, Polynomial) else None for k in kernel.kernels]
    return (
        np.array([0.0 if k is None else k.coef0 for k in polynomials]),
        np.array([0 if k is None else k.degree for k in polynomials], np.int64),
    )


def shared_buckets(
    x: DistinctPoints, y: DistinctPoints, kernel: TileKernel, is_left_out: Flags
) -> list[Bucket]:
    """Lay out the points of both sides by label, for the labels that occur on both but for some."""
    common = np.intersect1d(x.labels, y.labels)
    common = common[~is_left_out[common]]
    rows = columns = scale_for_tiles(x.coordinates, kernel)
    if x is not y:
        columns = scale_for_tiles(y.coordinates, kernel)
    return [_shared_bucket((x, rows), (y, columns), label) for label in common]


def scale_for_tiles(coordinates: Floats, kernel: TileKernel) -> Any:
    """Coordinates in the unit and the type of the tiles, which compute powers of two, not of e."""
    to_powers_of_two = np.repeat(
        [_unit(each) for each in kernel.kernels], np.diff(kernel.block_ptr)
    )
    return (coordinates * to_powers_of_two).astype(kernel.dtype)


def _unit(kernel: NodeKernel) -> float:
    """Factor of the coordinates that turns powers of e into powers of two."""
    if isinstance(kernel, Polynomial):
        return 1.0
    if isinstance(kernel, Laplacian):
        return _LOG2_E
    if isinstance(kernel, Gaussian):
        return math.sqrt(_LOG2_E)
    raise TypeError(f"tiles do not know {kernel!r}")


def _shared_bucket(
    x: tuple[DistinctPoints, Any], y: tuple[DistinctPoints, Any], label: int
) -> Bucket:
    """Points of one label of both sides, each given with its scaled coordinates."""
    own, entries = _entries(x[0], label)
    rows = Rows(x[1][own], *_lane_weights(entries, _core.LANE_BYTES // x[1].itemsize))
    column = _column_bucket(*y, label)
    return Bucket(rows, column.columns, column.column_graphs)


class _Entries(NamedTuple):
    """Which points, from 0 on, occur in which graphs, numbered as in a list, with which weight."""

    points: Ints
    graphs: Ints
    weights: Floats
    graph_list: Ints


def _entries(points: DistinctPoints, label: int) -> tuple[slice, _Entries]:
    """Points of a label."""
    start, stop = np.searchsorted(points.labels, [label, label + 1])
    chosen = slice(*np.searchsorted(points.entry_points, [start, stop]))
    graphs = points.entry_graphs[chosen]
    occurs = np.zeros(points.n_graphs, np.bool_)
    occurs[graphs] = True
    return slice(start, stop), _Entries(
        points.entry_points[chosen] - start,
        (np.cumsum(occurs) - 1)[graphs],
        points.entry_weights[chosen],
        np.flatnonzero(occurs),
    )


def _groups(points: Any) -> Any:
    """Points in groups that are interleaved, the last filled up with zeros."""
    (n_points, dimension), group = points.shape, _core.GROUP
    padded = np.zeros((-(-n_points // group) * group, dimension), points.dtype)
    padded[:n_points] = points
    return np.ascontiguousarray(padded.reshape(-1, group, dimension).transpose(0, 2, 1))


class _Runs(NamedTuple):
    """Entries sorted by tile and graph: a run of them for each."""

    order: Ints
    starts: Ints
    lengths: Ints
    ptr: Ints  # first run of every tile
    graphs: Ints


def _by_tile_and_graph(entries: _Entries, size: int) -> _Runs:
    tile = entries.points // size
    n_graphs = len(entries.graph_list)
    key = tile * n_graphs + entries.graphs
    order = np.argsort(key, kind="stable")
    key = key[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    tiles, graphs = np.divmod(key[starts], n_graphs)
    ptr = np.searchsorted(tiles, np.arange(tile[-1] + 2))
    return _Runs(order, starts, np.diff(starts, append=len(key)), ptr, graphs)


def _lane_weights(entries: _Entries, lanes: int) -> tuple[Ints, Ints, Floats]:
    """Graphs of every tile of rows, with weights of all lanes."""
    runs = _by_tile_and_graph(entries, lanes)
    weights = np.zeros((len(runs.graphs), lanes))
    run = np.repeat(np.arange(len(runs.graphs)), runs.lengths)
    weights[run, entries.points[runs.order] % lanes] = entries.weights[runs.order]
    return runs.ptr, entries.graph_list[runs.graphs], weights


def _runs(entries: _Entries, dtype: Any) -> tuple[Ints, Ints, Ints, Any, Ints]:
    """Runs of columns of one graph in one tile, cut and filled up to the same length."""
    chunk, length = _core.CHUNK, _core.RUN
    runs = _by_tile_and_graph(entries, chunk)
    n_pieces = -(-runs.lengths // length)
    first_piece = np.cumsum(n_pieces) - n_pieces
    slot = np.arange(len(runs.order)) + np.repeat(length * first_piece - runs.starts, runs.lengths)
    positions = np.zeros((n_pieces.sum(), length), np.int64)
    positions.ravel()[slot] = (entries.points % chunk)[runs.order]
    weights = np.zeros(positions.shape, dtype)
    weights.ravel()[slot] = entries.weights[runs.order]
    lowest = np.minimum.accumulate(runs.graphs[runs.ptr[:-1]][::-1])[::-1]
    ptr = np.append(first_piece, len(positions))[runs.ptr]
    graphs = np.repeat(runs.graphs, n_pieces)
    return ptr, graphs, positions, weights, np.ascontiguousarray(lowest)


@dataclass(frozen=True, eq=False)
class ColumnBucket:
    """Points of one label as columns of tiles, and the graphs that have some."""

    label: int
    columns: Columns  # its graphs numbered as in column_graphs
    column_graphs: Ints


def _column_bucket(points: DistinctPoints, scaled: Any, label: int) -> ColumnBucket:
    own, entries = _entries(points, label)
    columns = Columns(_groups(scaled[own]), *_runs(entries, scaled.dtype))
    return ColumnBucket(int(label), columns, entries.graph_list)


@dataclass(frozen=True, eq=False)
class ColumnSide:
    """Points of fitted graphs as columns of tiles, by label, and the node kernel in the tiles."""

    buckets: tuple[ColumnBucket, ...]
    kernel: TileKernel

    @classmethod
    def of(cls, points: DistinctPoints, kernel: TileKernel, is_left_out: Flags) -> "ColumnSide":
        """Lay out points as columns but for some labels; they do not depend on any rows."""
        scaled = scale_for_tiles(points.coordinates, kernel)
        labels = np.unique(points.labels)
        chosen = labels[~is_left_out[labels]]
        found = [_column_bucket(points, scaled, label) for label in chosen]
        return cls(tuple(found), kernel)


@dataclass(frozen=True, eq=False)
class SharedRows:
    """
    Points that several graphs may share, in an order that depends on the points alone.

    Sums over the points of a graph are taken in that order, and so do not depend on other graphs.

    Attributes
    ----------
    points : ndarray, shape (n_rows, n_coordinates)
        All different, or of different labels.
    labels : ndarray of int32, shape (n_rows,)
        Rising.
    ptr : ndarray of int64, shape (n_rows + 1,)
        First entry of every row.
    graphs, weights : ndarray, shape (n_entries,)
        Graphs of the entries, and their weights.
    """

    points: Any
    labels: Codes
    ptr: Ints
    graphs: Ints
    weights: Floats

    @classmethod
    def of(cls, points: Any, labels: Codes, graphs: Ints, weights: Floats) -> "SharedRows":
        """Find equal points; nodes of a graph that are equal make one entry."""
        content = np.ascontiguousarray(points).view(f"V{points.itemsize * points.shape[1]}")[:, 0]
        order = np.lexsort((graphs, np.unique(content, return_inverse=True)[1], labels))
        points, labels, graphs = points[order], labels[order], graphs[order]
        is_new_row = np.append(True, (content[order][1:] != content[order][:-1]))
        is_new_row[1:] |= labels[1:] != labels[:-1]
        is_new = is_new_row.copy()
        is_new[1:] |= graphs[1:] != graphs[:-1]
        first = np.flatnonzero(is_new)
        row = np.cumsum(is_new_row) - 1
        rows = np.flatnonzero(is_new_row)
        return cls(
            points[rows],
            labels[rows],
            np.searchsorted(row[first], np.arange(len(rows) + 1)),
            graphs[first],
            np.add.reduceat(weights[order], first),
        )

    def bucket(self, columns: ColumnBucket) -> tuple[Bucket, int] | None:
        """Rows of the label of some columns, each for itself, and the first of them."""
        start, stop = np.searchsorted(self.labels, [columns.label, columns.label + 1])
        if start == stop:
            return None
        n_rows, lanes = int(stop - start), _core.LANE_BYTES // self.points.itemsize
        weights = np.zeros((n_rows, lanes))
        weights[np.arange(n_rows), np.arange(n_rows) % lanes] = 1.0
        ptr = np.minimum(lanes * np.arange(-(-n_rows // lanes) + 1), n_rows)
        rows = Rows(self.points[start:stop], ptr, np.arange(n_rows), weights)
        return Bucket(rows, columns.columns, columns.column_graphs), int(start)
