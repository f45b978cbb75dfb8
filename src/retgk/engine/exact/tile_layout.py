"""Points, weights and factors laid out as the tiles want them, and split into tasks."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.engine.exact.points import DistinctPoints
from retgk.engine.exact.reduction import Reduced
from retgk.kernels.node_kernels import Laplacian, NodeKernel, Polynomial

__all__ = [
    "Bucket",
    "ColumnSide",
    "SharedRows",
    "Task",
    "buckets",
    "factors",
    "in_tiles",
    "tasks",
]


_LOG2_E = math.log2(math.e)
_TASK_VALUES = 1 << 22  # kernel values; fixed, so that sums do not depend on the threads


@dataclass(frozen=True, eq=False)
class Bucket:
    """Points of one label on both sides, and the graphs that have some."""

    rows: Any  # tiles.Rows
    columns: Any  # tiles.Columns, its graphs numbered as in column_graphs
    column_graphs: Ints


@dataclass(frozen=True, eq=False)
class Task:
    """Some rows of a bucket with all its columns, or those from the diagonal on."""

    bucket: Bucket
    start: int
    stop: int
    row_graphs: Ints
    row_numbers: Ints  # of the graphs of rows.graphs, in row_graphs
    lowest: int  # first graph of the columns
    cost: float

    @property
    def shape(self) -> tuple[int, int]:
        """Of the products."""
        return len(self.row_graphs), len(self.bucket.column_graphs)


def factors(kernels: Sequence[NodeKernel], block_ptr: Ints) -> Any:
    """Factors of the node kernel as the tiles want them."""
    from retgk.engine.exact.tiles import ABSOLUTE, LAPLACIAN, POLYNOMIAL, SQUARED, Factors

    def kind(kernel: NodeKernel, width: int) -> int:
        if isinstance(kernel, Polynomial):
            return POLYNOMIAL
        if isinstance(kernel, Laplacian):
            return ABSOLUTE if width == 1 else LAPLACIAN
        return SQUARED

    widths = np.diff(block_ptr)
    kinds = [kind(kernel, width) for kernel, width in zip(kernels, widths, strict=True)]
    polynomials = [k if isinstance(k, Polynomial) else None for k in kernels]
    return Factors(
        block_ptr,
        np.array(kinds, np.int64),
        np.array([0.0 if k is None else k.coef0 for k in polynomials]),
        np.array([0 if k is None else k.degree for k in polynomials], np.int64),
    )


def buckets(reduced: Reduced) -> list[Bucket]:
    """Points by label, for the labels that occur on both sides."""
    common = np.intersect1d(reduced.x.labels, reduced.y.labels)
    how = (reduced.kernels, reduced.block_ptr, reduced.dtype)
    rows = columns = in_tiles(reduced.x.coordinates, *how)
    if reduced.x is not reduced.y:
        columns = in_tiles(reduced.y.coordinates, *how)
    return [_bucket(reduced, rows, columns, label) for label in common]


def in_tiles(
    coordinates: Floats, kernels: Sequence[NodeKernel], block_ptr: Ints, dtype: Any
) -> Any:
    """Coordinates as the tiles take them."""
    to_powers_of_two = np.repeat([_unit(kernel) for kernel in kernels], np.diff(block_ptr))
    return (coordinates * to_powers_of_two).astype(dtype)


def _unit(kernel: NodeKernel) -> float:
    """What coordinates are multiplied by: the tiles compute powers of two, not of e."""
    if isinstance(kernel, Polynomial):
        return 1.0
    return _LOG2_E if isinstance(kernel, Laplacian) else math.sqrt(_LOG2_E)


def _bucket(reduced: Reduced, rows: Any, columns: Any, label: int) -> Bucket:
    from retgk.engine.exact.tiles import Columns, Rows
    from retgk.simd.vector_passes import LANES

    row_points, row_entries = column_points, column_entries = _entries(reduced.x, label)
    if reduced.x is not reduced.y:
        column_points, column_entries = _entries(reduced.y, label)
    lanes = LANES[np.dtype(reduced.dtype).name]
    return Bucket(
        Rows(rows[row_points], *_lane_weights(row_entries, lanes)),
        Columns(_groups(columns[column_points]), *_runs(column_entries, reduced.dtype)),
        column_entries.graph_list,
    )


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


def tasks(bucket: Bucket, is_symmetric: bool) -> Iterator[Task]:
    """Split the rows of a bucket into tasks of about the same cost."""
    from retgk.engine.exact.tiles import CHUNK

    n_rows, n_columns = len(bucket.rows.points), CHUNK * len(bucket.columns.lowest)
    lanes = bucket.rows.weights.shape[1]
    start = 0
    while start < n_rows:
        width = n_columns - start if is_symmetric else n_columns
        height = max(CHUNK, _TASK_VALUES // width // CHUNK * CHUNK)
        stop = min(start + height, n_rows)
        runs = slice(bucket.rows.ptr[start // lanes], bucket.rows.ptr[-(-stop // lanes)])
        row_graphs, row_numbers = np.unique(bucket.rows.graphs[runs], return_inverse=True)
        cost = float(width * (stop - start))
        lowest = int(bucket.columns.lowest[start // CHUNK if is_symmetric else 0])
        yield Task(bucket, start, stop, row_graphs, row_numbers, lowest, cost)
        start = stop


@dataclass(frozen=True, eq=False)
class ColumnBucket:
    """Points of one label as columns of tiles, and the graphs that have some."""

    label: int
    columns: Any  # tiles.Columns, its graphs numbered as in column_graphs
    column_graphs: Ints


@dataclass(frozen=True, eq=False)
class ColumnSide:
    """Points of fitted graphs as columns of tiles, by label, and the node kernel in the tiles."""

    buckets: tuple[ColumnBucket, ...]
    kernels: tuple[NodeKernel, ...]
    block_ptr: Ints
    dtype: Any

    @classmethod
    def of(cls, reduced: Reduced) -> "ColumnSide":
        """Lay out the points of the columns, which do not depend on any rows."""
        from retgk.engine.exact.tiles import Columns

        points = reduced.y
        how = (reduced.kernels, reduced.block_ptr, reduced.dtype)
        coordinates = in_tiles(points.coordinates, *how)
        found = []
        for label in np.unique(points.labels):
            own, entries = _entries(points, label)
            columns = Columns(_groups(coordinates[own]), *_runs(entries, reduced.dtype))
            found.append(ColumnBucket(int(label), columns, entries.graph_list))
        return cls(tuple(found), *how)


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
    labels: NDArray[np.int32]
    ptr: Ints
    graphs: Ints
    weights: Floats

    @classmethod
    def of(
        cls, points: Any, labels: NDArray[np.int32], graphs: Ints, weights: Floats
    ) -> "SharedRows":
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
