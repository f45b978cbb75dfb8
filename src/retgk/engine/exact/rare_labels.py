"""
Colours of refinement that few nodes have: many labels, each with too few pairs to need tiles.

After two rounds, NCI1 has 4,000 colours, of which 86 have more than 256 nodes. Tiles cost some
tenth of a millisecond for each label; a plain loop over the pairs of the rare ones costs less.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from retgk import _core
from retgk.array_types import Codes, Flags, Floats, Ints
from retgk.engine.exact.distinct_points import DistinctPoints
from retgk.engine.exact.frame import TileKernel
from retgk.engine.exact.tile_layout import loop_factors
from retgk.graphs.ragged import chunks, offsets
from retgk.runtime.parallel import run_tasks

__all__ = ["RareRows", "add_rare", "add_rare_node_values", "rare_labels", "rare_rows"]

_MAX_ENTRIES = 256
_TASK_ENTRIES = 1 << 12


def rare_labels(points: DistinctPoints) -> Flags:
    """Whether each label, up to the largest, is a colour that few nodes have."""
    labels = points.labels[points.entry_points]
    counts = np.bincount(labels, minlength=int(points.labels.max(initial=-1)) + 1)
    return np.asarray((counts <= _MAX_ENTRIES) & (np.arange(len(counts)) >= points.first_colour))


@dataclass(frozen=True, eq=False)
class RareRows:
    """
    Points of rare labels, graph by graph.

    Attributes
    ----------
    coordinates : ndarray of float64, shape (n_points, n_coordinates)
        Of all points.
    ptr : ndarray of int64, shape (n_graphs + 1,)
        First entry of every graph.
    points, labels, weights : ndarray, shape (n_entries,)
        Point of every entry, its label, and its weight in the graph.
    """

    coordinates: Floats
    ptr: Ints
    points: Ints
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
    """Points of graphs that have rare labels."""
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
    """
    Add inner products over rare labels to a matrix, every row of which has one writer.

    If rows and columns are the same, only the part up to the diagonal is added, and half of the
    diagonal.
    """
    if len(rows.points) == 0:
        return
    arrays = (*_loop_arrays(rows, columns, kernel), is_symmetric, gram)

    def work(first: int, last: int) -> None:
        _core.add_rare_labels(first, last, *arrays)

    _run_by_rows(work, rows, n_jobs)


def add_rare_node_values(
    rows: RareRows,
    columns: DistinctPoints,
    kernel: TileKernel,
    graphs: Ints,
    weights: Floats,
    values: Floats,
    n_jobs: int | None,
) -> None:
    """
    Add weighted sums over fitted graphs to the values of nodes, which stand in the rows.

    `graphs` is the graph of every node, `weights` has a row of fitted graphs for each graph.
    """
    arrays = (*_loop_arrays(rows, columns, kernel), graphs, weights, values)

    def work(first: int, last: int) -> None:
        _core.add_rare_values(first, last, *arrays)

    _run_by_rows(work, rows, n_jobs)


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


def _run_by_rows(work: Callable[[int, int], None], rows: RareRows, n_jobs: int | None) -> None:
    ranges = list(chunks(rows.ptr, _TASK_ENTRIES))
    costs = [float(rows.ptr[last] - rows.ptr[first]) for first, last in ranges]
    run_tasks(work, ranges, costs, n_jobs, "rare labels")
