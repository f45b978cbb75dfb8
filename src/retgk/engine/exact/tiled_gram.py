"""Inner products of mean embeddings over distinct points: tasks of many tiles, band by band."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from retgk import _core
from retgk.array_types import Flags, Floats, Ints
from retgk.engine.exact.distinct_points import DistinctPoints
from retgk.engine.exact.frame import TileKernel
from retgk.engine.exact.rare_labels import add_rare, rare_labels, rare_rows
from retgk.engine.exact.tile_layout import (
    Bucket,
    ColumnSide,
    Factors,
    SharedRows,
    shared_buckets,
    tile_factors,
)
from retgk.graphs.ragged import offsets
from retgk.runtime.parallel import n_threads, run_tasks
from retgk.runtime.progress import progress_bar

__all__ = ["Task", "add_products", "entry_values", "split_into_tasks", "tiled_gram"]

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
        """Of the products."""
        return len(self.row_graphs), len(self.bucket.column_graphs)


def split_into_tasks(bucket: Bucket, is_symmetric: bool) -> Iterator[Task]:
    """Split the rows of a bucket into tasks of about the same cost."""
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
    """
    Inner products of mean embeddings, shape (n_graphs of x, n_graphs of y).

    If x and y are the same object, only pairs on and below the diagonal are computed. `is_rare`
    says which labels are not worth tiles; it is found if it is not given.
    """
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
    """
    Add inner products of new graphs with fitted ones to a matrix.

    Every row is summed over fitted graphs for itself, and then added to its graphs in the order
    of the rows: what a graph gets does not depend on other rows.
    """
    work, first_rows = _row_tasks(rows, columns)

    def add(band: _Band, start: int, stop: int) -> None:
        for task, products in band.found():
            column_graphs = task.bucket.column_graphs
            first, last = np.searchsorted(column_graphs, [start, stop])
            row = first_rows[id(task.bucket)] + task.start
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
    """
    Weighted sums, over fitted graphs, of the inner products of every entry of some rows.

    Parameters
    ----------
    rows : SharedRows
        Rows, whose owners are nodes.
    columns : ColumnSide
        Fitted graphs.
    graphs : ndarray of int64, shape (n_nodes,)
        Graph of every node.
    weights : ndarray of float64, shape (n_graphs, n_fitted)
        Weights of the fitted graphs, for every graph.
    n_jobs : int or None
        Threads; they change no bit of the result.
    """
    values, of_entry = np.zeros(len(rows.graphs)), graphs[rows.graphs]
    work, first_rows = _row_tasks(rows, columns)

    def write(task: Task, products: Floats) -> None:
        row = first_rows[id(task.bucket)] + task.start
        entries = (rows.ptr[row : row + len(products) + 1], of_entry, rows.weights)
        _core.write_entry_values(products, *entries, task.bucket.column_graphs, weights, values)

    compiled = tile_factors(columns.kernel)
    for band in _filled_bands(work, compiled, False, n_jobs):
        tasks = band.found()
        costs = [float(products.size) for _, products in tasks]
        run_tasks(write, tasks, costs, n_jobs, lambda _: None)
    return values


def _row_tasks(rows: SharedRows, columns: ColumnSide) -> tuple[list[Task], dict[int, int]]:
    """Tasks for single rows beside fitted graphs, and the first row of each of their buckets."""
    pairs = [own for bucket in columns.buckets if (own := rows.bucket(bucket)) is not None]
    first_rows = {id(bucket): first for bucket, first in pairs}
    return [task for bucket, _ in pairs for task in split_into_tasks(bucket, False)], first_rows


def _plus_transpose(gram: Floats) -> Floats:
    """Add the transpose, in place."""
    for i in range(0, len(gram), 512):
        for j in range(0, i + 1, 512):
            lower, upper = gram[i : i + 512, j : j + 512], gram[j : j + 512, i : i + 512]
            lower[...] = lower + upper.T
            upper[...] = lower.T
    return gram


def _bands(work: Sequence[Task]) -> list[list[Task]]:
    """Consecutive tasks whose products fit memory together, whatever the number of threads."""
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
        """First product of every task."""
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
    """Ranges of columns, some for every thread."""
    edges = np.linspace(0, n_columns, 2 * n_threads(n_jobs) + 1).astype(int)
    return [(int(a), int(b)) for a, b in pairwise(edges) if a < b]
