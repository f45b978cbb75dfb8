"""Features of nodes as plain arrays, one block for each factor of the node kernel."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from retgk import _core
from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import chunks, gather_runs, offsets, recode, union_of_names
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.node import ATTRIBUTE_KERNEL, NodeKernel, check_node_kernel
from retgk.kernels.refinement import Levels

AttributeKernel = NodeKernel | Mapping[str, tuple[Any, NodeKernel]] | None

_CHUNK_NODES = 1 << 11  # with 50 features they fit the second-level cache


@dataclass(frozen=True, eq=False)
class NodePoints:
    """
    Features of the nodes of many graphs.

    Attributes
    ----------
    blocks : tuple of ndarray of float64, each of shape (n_nodes, dimension)
        Return probabilities and attributes, one block for each factor of the node kernel.
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph. No graph is empty.
    labels : ndarray of int, shape (n_nodes,), optional
        Label codes. A negative code matches nothing, not even itself.
    levels : Levels, optional
        Refined labels.
    """

    blocks: tuple[Floats, ...]
    node_ptr: Ints
    labels: Codes | None = None
    levels: Levels | None = None

    def __post_init__(self) -> None:
        if not self.blocks:
            raise InvalidInputError("the nodes have no features: blocks is empty")
        for b, block in enumerate(self.blocks):
            if block.ndim != 2 or len(block) != self.n_nodes or block.shape[1] == 0:
                raise InvalidInputError(
                    f"block {b} must have shape ({self.n_nodes}, at least 1), got {block.shape}"
                )
        if self.labels is not None and self.labels.shape != (self.n_nodes,):
            raise InvalidInputError(
                f"got {len(self.labels)} labels for {self.n_nodes} nodes; pass one for each"
            )

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all graphs together."""
        return int(self.node_ptr[-1])

    @property
    def n_graphs(self) -> int:
        """Number of graphs."""
        return len(self.node_ptr) - 1

    def graph_of_node(self) -> Ints:
        """Graph of every node."""
        return np.repeat(np.arange(self.n_graphs), np.diff(self.node_ptr))

    def label_codes(self) -> Codes:
        """Labels, zeros where there are none."""
        return np.zeros(self.n_nodes, np.int32) if self.labels is None else self.labels

    def of_graphs(self, graphs: Ints) -> "NodePoints":
        """Nodes of some graphs, in the order given."""
        starts, sizes = self.node_ptr[graphs], np.diff(self.node_ptr)[graphs]
        return NodePoints(
            tuple(gather_runs(block, starts, sizes) for block in self.blocks),
            offsets(sizes),
            None if self.labels is None else gather_runs(self.labels, starts, sizes),
            None if self.levels is None else self.levels.of_nodes(starts, sizes),
        )

    def level_codes(self) -> list[tuple[Codes, float, int]]:
        """
        Labels and colours of all levels that count: codes, weight, and first code of the level.

        Codes of one level begin where those of the level before end, so that no two are the same.
        """
        if self.levels is None:
            return [(self.label_codes(), 1.0, 0)]
        found, first = [], 0
        all_levels = zip(
            (self.label_codes(), *self.levels.colours),
            self.levels.n_known,
            self.levels.weights.tolist(),
            strict=True,
        )
        for codes, n_known, weight in all_levels:
            if weight > 0:
                found.append((codes, weight, first))
            first += max(n_known, int(codes.max(initial=-1)) + 1)
        return found

    def graph_chunks(self) -> Iterator[tuple[int, int]]:
        """Ranges of whole graphs of some thousand nodes together."""
        return chunks(self.node_ptr, _CHUNK_NODES)

    def chunk_costs(self, ranges: Sequence[tuple[int, int]]) -> list[float]:
        """Nodes of ranges of graphs."""
        return [float(self.node_ptr[stop] - self.node_ptr[start]) for start, stop in ranges]


def node_points(
    features: NodeFeatures, columns: Sequence[Ints], labels: Codes | None, levels: Levels | None
) -> NodePoints:
    """
    Put return probabilities, blocks of attributes and labels of all nodes together.

    `columns` are those of every block of attributes, labels those of `label_codes`.
    """
    batch = features.batch
    blocks = [np.ascontiguousarray(batch.attributes[:, chosen]) for chosen in columns]
    return NodePoints((features.probabilities, *blocks), batch.node_ptr, labels, levels)


def label_codes(batch: GraphBatch, names: Sequence[Hashable]) -> Codes | None:
    """
    Labels in the vocabulary of the fitted graphs, continued by labels that it lacks.

    A label that was not seen in fit has a code of its own: it matches itself among the new
    graphs, whose norms are exact therefore, and nothing among the fitted ones.
    """
    if not batch.has_labels:
        return None
    known = set(names)
    unseen = [name for name in union_of_names([batch.label_names]) if name not in known]
    return recode(batch.labels, batch.label_names, [*names, *unseen])


def attribute_blocks(
    attribute_kernel: AttributeKernel, n_attributes: int
) -> list[tuple[Ints, NodeKernel]]:
    """
    Columns of every block of attributes, and the kernel for it.

    One kernel serves all attributes; a mapping gives, by name, the columns of a block and its
    kernel; None is a Laplacian of gamma="dimension". There is no block without attributes.
    """
    if attribute_kernel is None:
        if n_attributes == 0:
            return []
        attribute_kernel = ATTRIBUTE_KERNEL
    if not isinstance(attribute_kernel, Mapping):
        check_node_kernel(attribute_kernel, "attribute_kernel")
    if n_attributes == 0:
        raise InvalidInputError(
            f"the graphs have no attributes for attribute_kernel={attribute_kernel!r}; leave it "
            "out, or give the graphs attributes"
        )
    if not isinstance(attribute_kernel, Mapping):
        return [(np.arange(n_attributes), attribute_kernel)]
    if not attribute_kernel:
        raise InvalidInputError("attribute_kernel names no block; pass None for the default")
    return [_block(name, block, n_attributes) for name, block in attribute_kernel.items()]


def _block(name: str, block: Any, n_attributes: int) -> tuple[Ints, NodeKernel]:
    """Columns of one named block, and its kernel."""
    if not isinstance(block, tuple | list) or len(block) != 2:
        raise InvalidInputError(
            f"attribute block {name!r} must be a tuple of columns and a kernel, such as "
            f"([0, 1], Laplacian()), got {block!r}"
        )
    columns, kernel = block
    check_node_kernel(kernel, f"the kernel of attribute block {name!r}")
    return _columns(name, columns, n_attributes), kernel


def _columns(name: str, columns: Any, n_attributes: int) -> Ints:
    if isinstance(columns, tuple):  # which would be an index of several dimensions
        columns = list(columns)
    try:
        chosen = np.atleast_1d(np.arange(n_attributes)[columns])
    except (IndexError, TypeError) as error:
        raise InvalidInputError(
            f"attribute block {name!r}: the columns {columns!r} do not fit {n_attributes} "
            "attributes"
        ) from error
    if len(chosen) == 0:
        raise InvalidInputError(f"attribute block {name!r} has no columns")
    return chosen


# -------------------------------------------------------------------------------------------------
# Distinct points, and the merging of equal and of nearly equal nodes to their weighted mean.
#
# What counts is the mean move of the nodes of a graph, ``sum_i w_i d_i``. So a point that stands
# for a large share w of some graph may move less than one that stands for little: the limit is
# proportional to ``w^(-1/2)``. On REDDIT-BINARY, where few rows are half of a graph, this gave
# 232,000 points and an error of 2.5e-4 at tol=1e-2, against 272,000 points and 4.4e-3 with one
# limit for all.
# -------------------------------------------------------------------------------------------------

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
