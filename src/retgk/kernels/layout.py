"""Points, weights and factors laid out as the tiles want them, and split into tasks."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.kernels.node_kernels import Laplacian, NodeKernel, Polynomial
from retgk.kernels.points import DistinctPoints
from retgk.kernels.reduction import Reduced

__all__ = ["Bucket", "Task", "buckets", "factors", "tasks"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

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


def factors(reduced: Reduced) -> Any:
    """Factors of the node kernel as the tiles want them."""
    from retgk.kernels.tiles import ABSOLUTE, LAPLACIAN, POLYNOMIAL, SQUARED, Factors

    def kind(kernel: NodeKernel, width: int) -> int:
        if isinstance(kernel, Polynomial):
            return POLYNOMIAL
        if isinstance(kernel, Laplacian):
            return ABSOLUTE if width == 1 else LAPLACIAN
        return SQUARED

    widths = np.diff(reduced.block_ptr)
    kinds = [kind(kernel, width) for kernel, width in zip(reduced.kernels, widths, strict=True)]
    polynomials = [k if isinstance(k, Polynomial) else None for k in reduced.kernels]
    return Factors(
        reduced.block_ptr,
        np.array(kinds, np.int64),
        np.array([0.0 if k is None else k.coef0 for k in polynomials]),
        np.array([0 if k is None else k.degree for k in polynomials], np.int64),
    )


def buckets(reduced: Reduced) -> list[Bucket]:
    """Points by label, for the labels that occur on both sides."""
    common = np.intersect1d(reduced.x.labels, reduced.y.labels)
    to_powers_of_two = np.repeat([_unit(k) for k in reduced.kernels], np.diff(reduced.block_ptr))
    rows = (reduced.x.coordinates * to_powers_of_two).astype(reduced.dtype)
    columns = rows
    if reduced.x is not reduced.y:
        columns = (reduced.y.coordinates * to_powers_of_two).astype(reduced.dtype)
    return [_bucket(reduced, rows, columns, label) for label in common]


def _unit(kernel: NodeKernel) -> float:
    """What coordinates are multiplied by: the tiles compute powers of two, not of e."""
    if isinstance(kernel, Polynomial):
        return 1.0
    return _LOG2_E if isinstance(kernel, Laplacian) else math.sqrt(_LOG2_E)


def _bucket(reduced: Reduced, rows: Any, columns: Any, label: int) -> Bucket:
    from retgk.kernels.tiles import Columns, Rows
    from retgk.kernels.vector_passes import LANES

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
    from retgk.kernels.vector_passes import GROUP

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
    from retgk.kernels.tiles import CHUNK
    from retgk.kernels.vector_passes import RUN

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
    from retgk.kernels.tiles import CHUNK

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
