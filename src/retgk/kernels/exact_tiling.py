"""
Points and weights laid out as tiles want them: rows in lanes, columns in groups and runs.

`retgk._core.fill_products` makes the tiles; ``_core/exact_tiles.hpp`` says how.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk._runtime.parallel import n_threads, progress_bar, run_tasks
from retgk.array_types import Codes, Flags, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.flat import offsets, run_over_runs
from retgk.kernels.exact_points import DistinctPoints, TileKernel
from retgk.kernels.node import NodeKernel

_LOG2_E = math.log2(math.e)


class Factors(NamedTuple):
    """Factors of the node kernel, by kind: coordinates ``ptr[b]:ptr[b + 1]`` belong to factor b."""

    ptr: Ints
    kinds: Ints
    coefficients: Floats
    """Of the extra factor of each in its exponent, or the constant of a product."""
    degrees: Ints  # of products, zero for the others


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
    first_row: int = 0


_KINDS: dict[str | None, Any] = {
    "distance": _core.LAPLACIAN,
    "squared distance": _core.SQUARED,
    "product": _core.POLYNOMIAL,
}
_UNITS = {_core.LAPLACIAN: _LOG2_E, _core.SQUARED: math.sqrt(_LOG2_E), _core.POLYNOMIAL: 1.0}


def tile_factors(kernel: TileKernel) -> Factors:
    """Factors of the node kernel in the form of the compiled tiles."""
    kinds = np.array([_kind(own) for own in kernel.kernels], np.int64)
    kinds[(kinds == _core.LAPLACIAN) & (np.diff(kernel.block_ptr) == 1)] = _core.ABSOLUTE
    return Factors(kernel.block_ptr, kinds, *_extra_factors(kernel, _LOG2_E))


def loop_factors(kernel: TileKernel) -> tuple[Ints, Flags, Floats, Ints]:
    """Factors of the node kernel in the form of the compiled loops over single pairs of nodes."""
    takes_root = np.array([_kind(own) == _core.LAPLACIAN for own in kernel.kernels])
    return (kernel.block_ptr, takes_root, *_extra_factors(kernel, 1.0))


def _kind(kernel: NodeKernel) -> int:
    if kernel.argument not in _KINDS:
        raise InvalidInputError(f"no compiled loop computes {kernel!r}")
    return int(_KINDS[kernel.argument])


def _extra_factors(kernel: TileKernel, unit: float) -> tuple[Floats, Ints]:
    """Coefficients of the extra factors, of exponents that are in this unit, and degrees."""
    coefficients = np.zeros((len(kernel.kernels), max(len(own.series) for own in kernel.kernels)))
    degrees = np.zeros(len(kernel.kernels), np.int64)
    for b, own in enumerate(kernel.kernels):
        if own.is_stationary:
            coefficients[b, : len(own.series)] = own.series / unit ** np.arange(len(own.series))
        else:
            coefficients[b, 0], degrees[b] = own.power
    return coefficients, degrees


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
    to_powers_of_two = [_UNITS[_kind(own)] for own in kernel.kernels]
    scaled = coordinates * np.repeat(to_powers_of_two, np.diff(kernel.block_ptr))
    return scaled.astype(kernel.dtype)


def _shared_bucket(
    x: tuple[DistinctPoints, Any], y: tuple[DistinctPoints, Any], label: int
) -> Bucket:
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
    """

    points: Any  # (n_rows, n_coordinates): all different, or of different labels
    labels: Codes  # (n_rows,): rising
    ptr: Ints  # (n_rows + 1,): first entry of every row
    graphs: Ints  # (n_entries,)
    weights: Floats  # (n_entries,)

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

    def bucket(self, columns: ColumnBucket) -> Bucket | None:
        """Rows of the label of some columns, each for itself."""
        start, stop = np.searchsorted(self.labels, [columns.label, columns.label + 1])
        if start == stop:
            return None
        n_rows, lanes = int(stop - start), _core.LANE_BYTES // self.points.itemsize
        weights = np.zeros((n_rows, lanes))
        weights[np.arange(n_rows), np.arange(n_rows) % lanes] = 1.0
        ptr = np.minimum(lanes * np.arange(-(-n_rows // lanes) + 1), n_rows)
        rows = Rows(self.points[start:stop], ptr, np.arange(n_rows), weights)
        return Bucket(rows, columns.columns, columns.column_graphs, int(start))


# Colours of refinement that few nodes have: many labels, each with too few pairs to need tiles.
#
# After two rounds, NCI1 has 4,000 colours, of which 86 have more than 256 nodes. Tiles cost some
# tenth of a millisecond for each label; a plain loop over the pairs of the rare ones costs less.

_MAX_ENTRIES = 256
_TASK_ENTRIES = 1 << 12


def rare_labels(points: DistinctPoints) -> Flags:
    """Whether each label, up to the largest, is a colour that few nodes have."""
    labels = points.labels[points.entry_points]
    counts = np.bincount(labels, minlength=int(points.labels.max(initial=-1)) + 1)
    return np.asarray((counts <= _MAX_ENTRIES) & (np.arange(len(counts)) >= points.first_colour))


@dataclass(frozen=True, eq=False)
class RareRows:
    """Points of rare labels, graph by graph."""

    coordinates: Floats  # (n_points, n_coordinates): of all points
    ptr: Ints  # (n_graphs + 1,): first entry of every graph
    points: Ints  # (n_entries,): point, label and weight in the graph of every entry
    labels: Ints
    weights: Floats

    @classmethod
    def of(
        cls, coordinates: Floats, entries: tuple[Ints, Codes, Ints, Floats], n_graphs: int
    ) -> "RareRows":
        """Sort entries, which are point, label, graph and weight, by their graphs."""
        points, labels, graphs, weights = entries
        order = np.argsort(graphs, kind="stable")
        ptr = offsets(np.bincount(graphs, minlength=n_graphs))
        return cls(coordinates, ptr, points[order], labels[order].astype(np.int64), weights[order])


def rare_rows(points: DistinctPoints, is_rare: Flags) -> RareRows:
    labels = points.labels[points.entry_points]
    chosen = np.flatnonzero(is_rare[labels])
    entries = (
        points.entry_points[chosen],
        labels[chosen],
        points.entry_graphs[chosen],
        points.entry_weights[chosen],
    )
    return RareRows.of(points.coordinates, entries, points.n_graphs)


def add_rare(
    rows: RareRows,
    columns: DistinctPoints,
    kernel: TileKernel,
    gram: Floats,
    is_symmetric: bool,
    n_jobs: int | None,
) -> None:
    """Add inner products over rare labels; if symmetric, below and half of the diagonal."""
    if len(rows.points) == 0:
        return
    arrays = (*_loop_arrays(rows, columns, kernel), is_symmetric, gram)

    def work(first: int, last: int) -> None:
        _core.add_rare_labels(first, last, *arrays)

    run_over_runs(work, rows.ptr, _TASK_ENTRIES, n_jobs, "rare labels")


def add_rare_node_values(
    rows: RareRows,
    columns: DistinctPoints,
    kernel: TileKernel,
    graphs: Ints,
    weights: Floats,
    values: Floats,
    n_jobs: int | None,
) -> None:
    """Add weighted sums over fitted graphs to the values of nodes, which stand in the rows."""
    arrays = (*_loop_arrays(rows, columns, kernel), graphs, weights, values)

    def work(first: int, last: int) -> None:
        _core.add_rare_values(first, last, *arrays)

    run_over_runs(work, rows.ptr, _TASK_ENTRIES, n_jobs, "rare labels")


def _loop_arrays(rows: RareRows, columns: DistinctPoints, kernel: TileKernel) -> Any:
    """Rows, columns and factors of the kernel in the form of the compiled loops."""
    n_labels = max(int(columns.labels[-1]), int(rows.labels.max())) + 1
    return (
        *(rows.coordinates, rows.ptr, rows.points, rows.labels, rows.weights),
        columns.coordinates,
        np.searchsorted(columns.labels, np.arange(n_labels + 1)),
        np.searchsorted(columns.entry_points, np.arange(len(columns) + 1)),
        columns.entry_graphs,
        columns.entry_weights,
        *loop_factors(kernel),
    )


# Inner products of mean embeddings over distinct points: tasks of many tiles, band by band.

_TASK_VALUES = 1 << 22  # kernel values; fixed, so that sums do not depend on the threads
# Tasks are done in bands; then what they found is added up, in the same order for any number of
# threads. A band has enough tasks to keep threads busy, and not many more products than this.
_BAND_TASKS = 16
_BAND_PRODUCTS = 1 << 22
_TASKS_PER_THREAD = 8


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
        return len(self.row_graphs), len(self.bucket.column_graphs)


def split_into_tasks(bucket: Bucket, is_symmetric: bool) -> Iterator[Task]:
    chunk, lanes = _core.CHUNK, bucket.rows.weights.shape[1]
    n_rows, n_columns = len(bucket.rows.points), chunk * len(bucket.columns.lowest)
    start = 0
    while start < n_rows:
        width = n_columns - start if is_symmetric else n_columns
        height = max(chunk, _TASK_VALUES // width // chunk * chunk)
        stop = min(start + height, n_rows)
        runs = slice(bucket.rows.ptr[start // lanes], bucket.rows.ptr[-(-stop // lanes)])
        row_graphs, row_numbers = np.unique(bucket.rows.graphs[runs], return_inverse=True)
        cost = float(width * (stop - start))
        lowest = int(bucket.columns.lowest[start // chunk if is_symmetric else 0])
        yield Task(bucket, start, stop, row_graphs, row_numbers, lowest, cost)
        start = stop


def tiled_gram(
    x: DistinctPoints,
    y: DistinctPoints,
    kernel: TileKernel,
    n_jobs: int | None = None,
    is_rare: Flags | None = None,
) -> Floats:
    """Inner products of mean embeddings, computed once a pair if x and y are one object."""
    gram = np.zeros((x.n_graphs, y.n_graphs))
    is_symmetric = x is y
    is_rare = rare_labels(y) if is_rare is None else is_rare
    work = [
        task
        for bucket in shared_buckets(x, y, kernel, is_rare)
        for task in split_into_tasks(bucket, is_symmetric)
    ]
    compiled = tile_factors(kernel)
    for band in _filled_bands(work, compiled, is_symmetric, n_jobs):
        _add_band(band, gram, n_jobs)
    add_rare(rare_rows(x, is_rare), y, kernel, gram, is_symmetric, n_jobs)
    return _plus_transpose(gram) if is_symmetric else gram


def add_products(rows: SharedRows, columns: ColumnSide, gram: Floats, n_jobs: int | None) -> None:
    """Add inner products of new graphs with fitted ones; no row depends on other rows."""
    work = _row_tasks(rows, columns)

    def add(band: _Band, start: int, stop: int) -> None:
        for task, products in band.found():
            column_graphs = task.bucket.column_graphs
            first, last = np.searchsorted(column_graphs, [start, stop])
            row = task.bucket.first_row + task.start
            entries = (rows.ptr[row : row + len(products) + 1], rows.graphs, rows.weights)
            _core.add_rows(products, *entries, column_graphs, int(first), int(last), gram)

    spans = _spans(gram.shape[1], n_jobs)
    costs = [b - a for a, b in spans]
    compiled = tile_factors(columns.kernel)
    for band in _filled_bands(work, compiled, False, n_jobs):
        run_tasks(add, [(band, *span) for span in spans], costs, n_jobs, lambda _: None)


def entry_values(
    rows: SharedRows, columns: ColumnSide, graphs: Ints, weights: Floats, n_jobs: int | None
) -> Floats:
    """Weighted sums, over fitted graphs, of the inner products of every entry of some rows."""
    values, of_entry = np.zeros(len(rows.graphs)), graphs[rows.graphs]
    work = _row_tasks(rows, columns)

    def write(task: Task, products: Floats) -> None:
        row = task.bucket.first_row + task.start
        entries = (rows.ptr[row : row + len(products) + 1], of_entry, rows.weights)
        _core.write_entry_values(products, *entries, task.bucket.column_graphs, weights, values)

    compiled = tile_factors(columns.kernel)
    for band in _filled_bands(work, compiled, False, n_jobs):
        tasks = band.found()
        costs = [float(products.size) for _, products in tasks]
        run_tasks(write, tasks, costs, n_jobs, lambda _: None)
    return values


def _row_tasks(rows: SharedRows, columns: ColumnSide) -> list[Task]:
    """Tasks for single rows beside fitted graphs."""
    buckets = [own for bucket in columns.buckets if (own := rows.bucket(bucket)) is not None]
    return [task for bucket in buckets for task in split_into_tasks(bucket, False)]


def _plus_transpose(gram: Floats) -> Floats:
    for i in range(0, len(gram), 512):
        for j in range(0, i + 1, 512):
            lower, upper = gram[i : i + 512, j : j + 512], gram[j : j + 512, i : i + 512]
            lower[...] = lower + upper.T
            upper[...] = lower.T
    return gram


def _bands(work: Sequence[Task]) -> list[list[Task]]:
    bands: list[list[Task]] = []
    size = 0
    for task in work:
        n_products = int(np.prod(task.shape))
        full = size + n_products > _BAND_PRODUCTS
        if not bands or (full and len(bands[-1]) >= _BAND_TASKS):
            bands.append([])
            size = 0
        bands[-1].append(task)
        size += n_products
    return bands


class _Band(NamedTuple):
    """Some tasks, and room for the products of the graphs of their rows with all others."""

    tasks: Sequence[Task]
    products: Floats

    def starts(self) -> Ints:
        return offsets([int(np.prod(task.shape)) for task in self.tasks])

    def found(self) -> list[tuple[Task, Floats]]:
        """Every task with its products."""
        return [
            (task, self.products[first:last].reshape(task.shape))
            for task, (first, last) in zip(self.tasks, pairwise(self.starts()), strict=True)
        ]


def _filled_bands(
    work: Sequence[Task], compiled: Factors, is_symmetric: bool, n_jobs: int | None
) -> Iterator[_Band]:
    """Bands of tasks with their products, for which there is room for one band at a time."""

    def fill(task: Task, out: Floats) -> None:
        sides = (*task.bucket.rows, *task.bucket.columns)
        what = (task.start, task.stop, is_symmetric, task.row_numbers)
        _core.fill_products(*sides, *compiled, *what, out)

    bands = _bands(work)
    sizes = (sum(int(np.prod(task.shape)) for task in band) for band in bands)
    buffer = np.empty(max(sizes, default=0))
    with progress_bar("inner products", sum(task.cost for task in work)) as advance:
        for tasks in bands:
            band = _Band(tasks, buffer)
            run_tasks(fill, band.found(), [task.cost for task in tasks], n_jobs, advance)
            yield band


def _add_band(band: _Band, gram: Floats, n_jobs: int | None) -> None:
    """Add up what was found, row by row of the matrix, in the order of the tasks."""
    columns = {id(task.bucket): task.bucket.column_graphs for task in band.tasks}
    first_column = dict(zip(columns, offsets([len(c) for c in columns.values()]), strict=False))
    parts = []
    for task, start in zip(band.tasks, band.starts(), strict=False):
        n_rows, n_columns = task.shape
        part = np.empty((n_rows, 4), np.int64)
        part[:, 0] = task.row_graphs
        part[:, 1] = start + task.lowest + n_columns * np.arange(n_rows)
        part[:, 2] = first_column[id(task.bucket)] + task.lowest
        part[:, 3] = n_columns - task.lowest
        parts.append(part)
    pieces = np.concatenate(parts)
    pieces = pieces[np.argsort(pieces[:, 0], kind="stable")]
    shared = (band.products, np.concatenate(list(columns.values())))
    cuts = _row_cuts(pieces, _TASKS_PER_THREAD * n_threads(n_jobs))
    tasks = [(*shared, pieces[first:last], gram) for first, last in pairwise(cuts)]
    costs = [float(pieces[first:last, 3].sum()) for first, last in pairwise(cuts)]
    run_tasks(_core.add_pieces, tasks, costs, n_jobs, lambda _: None)


def _row_cuts(pieces: Ints, n_parts: int) -> Ints:
    """Where to cut sorted pieces into parts of about the same size, with rows left whole."""
    ends = np.cumsum(pieces[:, 3])
    starts_of_rows = np.flatnonzero(np.diff(pieces[:, 0], prepend=-1))
    wanted = np.searchsorted(ends, np.linspace(0, ends[-1], n_parts + 1)[1:-1], side="right")
    whole = starts_of_rows[np.searchsorted(starts_of_rows, wanted, side="right") - 1]
    return np.unique([0, *whole, len(pieces)])


def _spans(n_columns: int, n_jobs: int | None) -> list[tuple[int, int]]:
    edges = np.linspace(0, n_columns, 2 * n_threads(n_jobs) + 1).astype(int)
    return [(int(a), int(b)) for a, b in pairwise(edges) if a < b]
