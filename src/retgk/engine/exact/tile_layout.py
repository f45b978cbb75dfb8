"""Points and weights laid out as tiles want them: rows in lanes, columns in groups and runs."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from retgk.array_types import Codes, Flags, Floats, Ints
from retgk.engine.exact.distinct_points import DistinctPoints
from retgk.engine.exact.frame import TileKernel
from retgk.kernels.node_kernels import Gaussian, Laplacian, NodeKernel, Polynomial

__all__ = [
    "Bucket",
    "ColumnBucket",
    "ColumnSide",
    "SharedRows",
    "loop_factors",
    "scale_for_tiles",
    "shared_buckets",
    "tile_factors",
]

_LOG2_E = math.log2(math.e)


@dataclass(frozen=True, eq=False)
class Bucket:
    """Points of one label on both sides, and the graphs that have some."""

    rows: Any  # tiles.Rows
    columns: Any  # tiles.Columns, its graphs numbered as in column_graphs
    column_graphs: Ints


def tile_factors(kernel: TileKernel) -> Any:
    """Factors of the node kernel in the form of the compiled tiles."""
    from retgk.engine.exact.tiles import ABSOLUTE, LAPLACIAN, POLYNOMIAL, SQUARED, Factors

    def kind(kernel: NodeKernel, width: int) -> int:
        if isinstance(kernel, Polynomial):
            return POLYNOMIAL
        if isinstance(kernel, Laplacian):
            return ABSOLUTE if width == 1 else LAPLACIAN
        if isinstance(kernel, Gaussian):
            return SQUARED
        raise TypeError(f"tiles do not know {kernel!r}")

    widths = np.diff(kernel.block_ptr)
    kinds = [kind(each, width) for each, width in zip(kernel.kernels, widths, strict=True)]
    return Factors(kernel.block_ptr, np.array(kinds, np.int64), *_polynomial_parameters(kernel))


def loop_factors(kernel: TileKernel) -> tuple[Ints, Flags, Floats, Ints]:
    """Factors of the node kernel in the form of the compiled loops over single pairs of nodes."""
    is_laplacian = np.array([isinstance(each, Laplacian) for each in kernel.kernels])
    return (kernel.block_ptr, is_laplacian, *_polynomial_parameters(kernel))


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
    return _LOG2_E if isinstance(kernel, Laplacian) else math.sqrt(_LOG2_E)


def _shared_bucket(
    x: tuple[DistinctPoints, Any], y: tuple[DistinctPoints, Any], label: int
) -> Bucket:
    """Points of one label of both sides, each given with its scaled coordinates."""
    from retgk.engine.exact.tiles import Rows
    from retgk.simd.vector_passes import LANES

    own, entries = _entries(x[0], label)
    rows = Rows(x[1][own], *_lane_weights(entries, LANES[x[1].dtype.name]))
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
    from retgk.simd.vector_passes import GROUP

    n_points, dimension = points.shape
    padded = np.zeros((-(-n_points // GROUP) * GROUP, dimension), points.dtype)
    padded[:n_points] = points
    return np.ascontiguousarray(padded.reshape(-1, GROUP, dimension).transpose(0, 2, 1))


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
    from retgk.engine.exact.tiles import CHUNK
    from retgk.simd.vector_passes import RUN

    runs = _by_tile_and_graph(entries, CHUNK)
    n_pieces = -(-runs.lengths // RUN)
    first_piece = np.cumsum(n_pieces) - n_pieces
    slot = np.arange(len(runs.order)) + np.repeat(RUN * first_piece - runs.starts, runs.lengths)
    positions = np.zeros((n_pieces.sum(), RUN), np.int64)
    positions.ravel()[slot] = (entries.points % CHUNK)[runs.order]
    weights = np.zeros(positions.shape, dtype)
    weights.ravel()[slot] = entries.weights[runs.order]
    lowest = np.minimum.accumulate(runs.graphs[runs.ptr[:-1]][::-1])[::-1]
    lowest = np.ascontiguousarray(lowest)  # a reversed array would be compiled for once more
    ptr = np.append(first_piece, len(positions))[runs.ptr]
    return ptr, np.repeat(runs.graphs, n_pieces), positions, weights, lowest


@dataclass(frozen=True, eq=False)
class ColumnBucket:
    """Points of one label as columns of tiles, and the graphs that have some."""

    label: int
    columns: Any  # tiles.Columns, its graphs numbered as in column_graphs
    column_graphs: Ints


def _column_bucket(points: DistinctPoints, scaled: Any, label: int) -> ColumnBucket:
    from retgk.engine.exact.tiles import Columns

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
        from retgk.engine.exact.tiles import Rows
        from retgk.simd.vector_passes import LANES

        start, stop = np.searchsorted(self.labels, [columns.label, columns.label + 1])
        if start == stop:
            return None
        n_rows, lanes = int(stop - start), LANES[self.points.dtype.name]
        weights = np.zeros((n_rows, lanes))
        weights[np.arange(n_rows), np.arange(n_rows) % lanes] = 1.0
        ptr = np.minimum(lanes * np.arange(-(-n_rows // lanes) + 1), n_rows)
        rows = Rows(self.points[start:stop], ptr, np.arange(n_rows), weights)
        return Bucket(rows, columns.columns, columns.column_graphs), int(start)
