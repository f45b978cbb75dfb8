"""
Distinct points, and the merging of equal and of nearly equal nodes to their weighted mean.

What counts is the mean move of the nodes of a graph, ``sum_i w_i d_i``. So a point that stands
for a large share w of some graph may move less than one that stands for little: the limit is
proportional to ``w^(-1/2)``. On REDDIT-BINARY, where few rows are half of a graph, this gave
232,000 points and an error of 2.5e-4 at tol=1e-2, against 272,000 points and 4.4e-3 with one
limit for all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from retgk import _core
from retgk.array_types import Codes, Floats, Ints
from retgk.engine.exact.node_points import NodePoints
from retgk.graphs.ragged import offsets

__all__ = ["NO_COLOUR", "DistinctPoints", "distinct_points", "merge_near_points"]

NO_COLOUR = np.iinfo(np.int32).max
"""First colour where labels are not refined: above all labels."""

_TYPICAL_RATIO = 10.0  # mean move of a graph over the limit for w = 1, on the benchmark sets
_N_TRIALS = 3


@dataclass(frozen=True, eq=False)
class DistinctPoints:
    """
    Distinct points of many graphs: ``m_G = sum_e [entry_graphs[e] == G] weight_e phi(point_e)``.

    Points are sorted by label and then by their first graph, entries by their point.

    Attributes
    ----------
    coordinates : ndarray of float64, shape (n_points, n_coordinates)
        Points in the coordinates of the tiles (scaled, rotated, padded).
    labels : ndarray of int32, shape (n_points,)
        Label of every point, not negative.
    entry_points, entry_graphs : ndarray of int64, shape (n_entries,)
        Which point occurs in which graph.
    entry_weights : ndarray of float64, shape (n_entries,)
        The share of the nodes of the graph that the point stands for.
    n_graphs : int
        Number of graphs.
    first_colour : int
        Labels from here on are colours of refinement, most of which few points have.
    """

    coordinates: Floats
    labels: Codes
    entry_points: Ints
    entry_graphs: Ints
    entry_weights: Floats
    n_graphs: int
    first_colour: int = NO_COLOUR

    def __len__(self) -> int:
        return len(self.labels)

    def of_range(self, start: int, stop: int) -> "DistinctPoints":
        """Points of the graphs `start` to ``stop - 1``, for one block of a large matrix."""
        if (start, stop) == (0, self.n_graphs):
            return self
        own = np.flatnonzero((self.entry_graphs >= start) & (self.entry_graphs < stop))
        return self._of_entries(own, self.entry_graphs[own] - start, stop - start)

    def of_graphs(self, graphs: Ints) -> "DistinctPoints":
        """Points of some graphs, each of which is given at most once, in the order given."""
        place = np.full(self.n_graphs, -1)
        place[graphs] = np.arange(len(graphs))
        own = np.flatnonzero(place[self.entry_graphs] >= 0)
        own = own[np.lexsort((place[self.entry_graphs[own]], self.entry_points[own]))]
        return self._of_entries(own, place[self.entry_graphs[own]], len(graphs))

    def _of_entries(self, entries: Ints, graphs: Ints, n_graphs: int) -> "DistinctPoints":
        """Keep some entries, whose graphs have new numbers, and the points that they need."""
        kept, entry_points = np.unique(self.entry_points[entries], return_inverse=True)
        return DistinctPoints(
            self.coordinates[kept],
            self.labels[kept],
            entry_points.astype(np.int64),
            graphs,
            self.entry_weights[entries],
            n_graphs,
            self.first_colour,
        )

    def of_levels(self, first_codes: Ints, shares: Floats) -> "DistinctPoints":
        """
        Keep levels of refined labels with other weights.

        Parameters
        ----------
        first_codes : ndarray of int64, shape (n_levels + 1,)
            First label of every level, and the one after the last.
        shares : ndarray of float64, shape (n_levels,)
            What weights of the entries of each level are multiplied by; levels of 0 are left out.
        """
        level = np.searchsorted(first_codes, self.labels, side="right") - 1
        factors = np.append(shares, 0.0)[np.minimum(level, len(shares))][self.entry_points]
        kept = np.flatnonzero(factors)
        points = self._of_entries(kept, self.entry_graphs[kept], self.n_graphs)
        return replace(points, entry_weights=points.entry_weights * factors[kept])

    def with_coordinates(self, coordinates: Floats) -> "DistinctPoints":
        """Give the same points other coordinates."""
        return replace(self, coordinates=coordinates)


def distinct_points(nodes: NodePoints, coordinates: Floats, radius: float) -> DistinctPoints:
    """
    Merge nodes of one label that are within a radius of their weighted mean.

    Nodes with a negative label are left out. At each level of refined labels a node is a point of
    its own, with the root of the weight of the level: inner products then have the weight.
    """
    found = []
    for codes, weight, first in nodes.level_codes():
        labels = (codes if first == 0 else codes + first).astype(np.int32, copy=False)
        found.append(_distinct_of_level(nodes, labels, np.sqrt(weight), coordinates, radius))
    if nodes.levels is None:
        return found[0]
    return _joined(found, max(nodes.levels.n_known[0], int(nodes.label_codes().max()) + 1))


def _joined(parts: Sequence[DistinctPoints], first_colour: int) -> DistinctPoints:
    """Put the points of several levels, whose labels rise, one after the other."""
    first = offsets([len(part) for part in parts])
    return DistinctPoints(
        np.concatenate([part.coordinates for part in parts]),
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.entry_points + f for part, f in zip(parts, first, strict=False)]),
        np.concatenate([part.entry_graphs for part in parts]),
        np.concatenate([part.entry_weights for part in parts]),
        parts[0].n_graphs,
        first_colour,
    )


def _distinct_of_level(
    nodes: NodePoints, labels: Codes, share: float, coordinates: Floats, radius: float
) -> DistinctPoints:
    """Distinct points of nodes with these labels, whose weights are multiplied by a share."""
    graphs = nodes.graph_of_node()
    weights = (share / np.diff(nodes.node_ptr))[graphs]
    if labels.min() < 0:
        kept = np.flatnonzero(labels >= 0)
        labels, graphs, weights = labels[kept], graphs[kept], weights[kept]
        coordinates = coordinates[kept]
    each = np.arange(len(labels))
    single = DistinctPoints(coordinates, labels, each, graphs, weights, nodes.n_graphs)
    cells = np.empty(len(labels), np.int64)
    _core.representatives(coordinates, labels, np.array([0, len(labels)]), radius, cells)
    return _join_cells(single, cells)


def merge_near_points(points: DistinctPoints, block_ptr: Ints, budget: float) -> DistinctPoints:
    """
    Merge nearly equal points as far as the mean move of no graph exceeds a budget.

    `block_ptr` is the first coordinate of every factor of the kernel; moves in all factors add up.
    """
    shares = np.zeros(len(points))
    np.maximum.at(shares, points.entry_points, points.entry_weights)
    limit = budget / _TYPICAL_RATIO
    for _ in range(_N_TRIALS):
        cells = _cells(points, limit / np.sqrt(shares))
        merged = _join_cells(points, cells)
        move = _largest_mean_move(points, merged, _place(points, cells), block_ptr)
        if move <= budget:
            return merged
        limit *= 0.8 * budget / move
    return points


def _cells(points: DistinctPoints, limits: Floats) -> Ints:
    """Cell of every point; cells of one label are numbered one after the other."""
    totals = np.bincount(points.entry_points, points.entry_weights, len(points)).astype(float)
    cells = np.empty(len(points), np.int64)
    n_cells = 0
    borders = np.flatnonzero(np.diff(points.labels, prepend=-1, append=-1))
    for start, stop in pairwise(borders):
        members = np.arange(start, stop)
        # along the first direction, so that boxes are contiguous in memory from the start
        members = members[np.argsort(points.coordinates[members, 0], kind="stable")]
        found = np.empty(len(members), np.int64)
        n_found = _core.cells_within(  # which reorders its copies
            points.coordinates[members], totals[members], limits[members], found
        )
        cells[members] = found + n_cells
        n_cells += n_found
    return cells


def _place(points: DistinctPoints, cells: Ints) -> Ints:
    """Position of the cell of every point, in the order of label and first graph."""
    n_cells = int(cells.max(initial=-1)) + 1
    first = np.full(n_cells, len(points))
    np.minimum.at(first, cells, np.arange(len(points)))
    first = first[first < len(points)]
    first.sort()
    rank = np.empty(n_cells, np.int64)
    rank[cells[first[np.argsort(points.labels[first], kind="stable")]]] = np.arange(len(first))
    return rank[cells]


def _join_cells(points: DistinctPoints, cells: Ints) -> DistinctPoints:
    """Replace the points of every cell by their weighted mean."""
    place = _place(points, cells)
    n_cells = int(place.max(initial=-1)) + 1
    labels = np.empty(n_cells, np.int32)
    labels[place] = points.labels
    entries = (points.entry_points, points.entry_graphs, points.entry_weights)
    means = np.empty((n_cells, points.coordinates.shape[1]))
    entries = _core.unite(points.coordinates, place, *entries, points.n_graphs, means)
    return DistinctPoints(means, labels, *entries, points.n_graphs, points.first_colour)


def _largest_mean_move(
    points: DistinctPoints, merged: DistinctPoints, place: Ints, block_ptr: Ints
) -> float:
    """Largest over graphs of the mean distance, summed over factors, that nodes have moved."""
    moves = np.zeros(len(points))
    for start, stop in pairwise(block_ptr):
        columns = slice(start, stop)
        difference = points.coordinates[:, columns] - merged.coordinates[place, columns]
        moves += np.sqrt(np.einsum("ij,ij->i", difference, difference))
    means = np.bincount(
        points.entry_graphs, points.entry_weights * moves[points.entry_points], points.n_graphs
    )
    return float(means.max(initial=0.0))
