r"""
Graphs that others are compared with, and new graphs against them, each as if it were alone.

The frame of the fitted graphs stays as it is, and a new graph is put into it. Its nodes leave
the space of the frame by their tails. If their mean tail is within the budget that the fitted
graphs had, tails are dropped as theirs were: the graph is *near*. Otherwise it is *far*, and is
computed in float64 with the tail as a coordinate of its own, which the fitted points, whose tails
were dropped, have at zero. For tails :math:`e` of a new node and :math:`f` of a fitted one,
:math:`||e - f| - |e|| \le |f|`: a far graph costs nothing of the promise, however far it is. Its
squared norm is found from all features.

Whether a graph is near, which of its nodes count as equal to each other or to fitted points, and
all its sums depend on the graph and on the fitted ones, not on what else stands in the call: its
values are the same to the bit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from retgk import _core
from retgk._runtime.parallel import run_tasks
from retgk.array_types import Codes, Flags, Floats, Ints
from retgk.graphs.flat import offsets
from retgk.kernels.exact_points import DistinctPoints, NodePoints, distinct_points
from retgk.kernels.exact_reduction import Frame, TileKernel, reduce_points
from retgk.kernels.exact_tiling import (
    ColumnSide,
    RareRows,
    SharedRows,
    add_products,
    add_rare,
    loop_factors,
    rare_labels,
    scale_for_tiles,
    tiled_gram,
)
from retgk.kernels.node import NodeKernel

# -------------------------------------------------------------------------------------------------
# Nodes of new graphs where fitted points are: rows of tiles, or of loops for rare labels.
# -------------------------------------------------------------------------------------------------


class PlacedNodes(NamedTuple):
    """Nodes of new graphs at all levels of their labels, beside the fitted points."""

    chosen: Ints
    """Which nodes."""
    coordinates: Floats
    fitted: DistinctPoints
    side: ColumnSide
    places: Ints
    """Place among the nodes of every entry: a node at one level."""
    labels: Codes
    weights: Floats
    """Weight of every entry in the mean over its graph."""
    is_rare: Flags

    def rows(self, owners: Ints, n_owners: int) -> tuple[SharedRows | None, RareRows | None]:
        """Entries for tiles and for loops; owners, of every node, are what sums are taken for."""
        owners = owners[self.places]
        is_rare = self.is_rare[np.minimum(self.labels, len(self.is_rare) - 1)]
        common = np.flatnonzero(~is_rare)
        tiled = looped = None
        if len(common):
            scaled = scale_for_tiles(self.coordinates, self.side.kernel)
            own = (self.labels[common], owners[common], self.weights[common])
            tiled = SharedRows.of(scaled[self.places[common]], *own)
        if is_rare.any():
            places, labels = self.places[is_rare], self.labels[is_rare]
            entries = (places, labels, owners[is_rare], self.weights[is_rare])
            looped = RareRows.of(self.coordinates, entries, n_owners)
        return tiled, looped


_UNIT_32 = 2.0**-24
_ROUNDING_64 = 12 * 2.0**-53
MAX_LOOPED_NODES = 256  # of one label: more are better off in tiles, at a millisecond a label


@dataclass(frozen=True, eq=False)
class FittedGraphs:
    """
    Distinct points of fitted graphs, and the frame in which they and all later ones lie.

    What is found from them on the way, for quicker answers, is kept but not pickled.
    """

    points: DistinctPoints
    frame: Frame

    @classmethod
    def of(
        cls,
        nodes: NodePoints,
        kernels: Sequence[NodeKernel],
        tol: float,
        n_jobs: int | None = None,
    ) -> "FittedGraphs":
        """Reduce nodes such that no inner product is off by more than `tol`."""
        return cls(*reduce_points(nodes, kernels, tol, n_jobs))

    def __getstate__(self) -> dict[str, Any]:
        return {"points": self.points, "frame": self.frame}

    @property
    def n_graphs(self) -> int:
        """Number of graphs."""
        return self.points.n_graphs

    @property
    def n_steps(self) -> int:
        """Number of return probabilities, the first block of features."""
        return next(len(factor.mean) for factor in self.frame.factors if factor.block == 0)

    def of_graphs(self, graphs: Ints) -> "FittedGraphs":
        """Keep some graphs, in the order given, in the same frame."""
        return FittedGraphs(self.points.of_graphs(graphs), self.frame)

    def of_levels(self, first_codes: Ints, shares: Floats) -> "FittedGraphs":
        """Keep levels of refined labels with other weights, as in `DistinctPoints.of_levels`."""
        return FittedGraphs(self.points.of_levels(first_codes, shares), self.frame)

    def gram(
        self,
        rows: slice | None = None,
        columns: slice | None = None,
        n_jobs: int | None = None,
    ) -> Floats:
        """Inner products of the fitted graphs, or of some rows and columns of their matrix."""
        rows, columns = (own or slice(0, self.n_graphs) for own in (rows, columns))
        x = self.points.of_range(rows.start, rows.stop)
        y = x if rows == columns else self.points.of_range(columns.start, columns.stop)
        return tiled_gram(x, y, self.frame.tile_kernel, n_jobs, self.is_rare)

    @cached_property
    def is_rare(self) -> Flags:
        """Whether each label is a colour that few nodes have, and is not worth tiles."""
        return rare_labels(self.points)

    @cached_property
    def table(self) -> Any:
        """Hash table of the points."""
        return _core.table_of(self.points.coordinates, self.points.labels, self.frame.radius)

    @cached_property
    def near_side(self) -> ColumnSide:
        """Points laid out as columns of tiles."""
        return ColumnSide.of(self.points, self.frame.tile_kernel, self.is_rare)

    @cached_property
    def far_side(self) -> ColumnSide:
        """The same for graphs that leave the frame: in float64, with new coordinates of zero."""
        return ColumnSide.of(self.far_points, self.far_kernel, self.is_rare)

    @cached_property
    def far_points(self) -> DistinctPoints:
        """Points with the new coordinates, which are zero for them."""
        none = np.zeros((len(self.points), len(self.frame.factors)))
        return self.points.with_coordinates(self.add_tails(self.points.coordinates, none))

    @property
    def far_kernel(self) -> TileKernel:
        """The node kernel over coordinates with tails."""
        return TileKernel(self.frame.kernels, self._far_ptr, np.float64)

    @property
    def _far_ptr(self) -> Ints:
        """First coordinate of every factor, if each that is rotated has a coordinate more."""
        return offsets([f.rank + (f.basis is not None) for f in self.frame.factors])

    def add_tails(self, coordinates: Floats, tails: Floats) -> Floats:
        """Give points their distance from the space of each rotated factor as a coordinate."""
        ptr, own_ptr = self._far_ptr, self.frame.block_ptr
        wide = np.zeros((len(coordinates), ptr[-1]))
        for b, factor in enumerate(self.frame.factors):
            own = slice(own_ptr[b], own_ptr[b + 1])
            wide[:, ptr[b] : ptr[b] + factor.rank] = coordinates[:, own]
            if factor.basis is not None:
                wide[:, ptr[b + 1] - 1] = tails[:, b]
        return wide


@dataclass(frozen=True, eq=False)
class NewGraphs:
    """
    New graphs in the frame of fitted ones.

    Attributes
    ----------
    nodes : NodePoints
        Their nodes.
    fitted : FittedGraphs
        The fitted graphs.
    coordinates : ndarray of float64, shape (n_nodes, n_coordinates)
        In the frame.
    tails : ndarray of float64, shape (n_nodes, n_factors)
        Distances from the space of the frame.
    is_far : ndarray of bool, shape (n_graphs,)
        Whether the tails are too long to be dropped.
    n_jobs : int or None
        Threads. They change no bit of any result.
    """

    nodes: NodePoints
    fitted: FittedGraphs
    coordinates: Floats
    tails: Floats
    is_far: Flags
    n_jobs: int | None

    @classmethod
    def of(cls, nodes: NodePoints, fitted: FittedGraphs, n_jobs: int | None) -> "NewGraphs":
        """Put the nodes of new graphs into the frame of fitted ones."""
        frame = fitted.frame
        coordinates, tails, sizes = _project(nodes, frame, n_jobs)
        moves = _means(nodes, tails.sum(axis=1))
        # rounding moves nodes too, those that lie further out than the fitted ones by more
        unit = _UNIT_32 if np.dtype(frame.dtype) == np.float32 else _ROUNDING_64
        moves += unit * np.maximum(_means(nodes, sizes) - frame.size, 0.0)
        is_far = moves > frame.tail_budget
        _snap(nodes, coordinates, fitted, moves)
        return cls(nodes, fitted, coordinates, tails, is_far, n_jobs)

    def products(self) -> Floats:
        """``<m_G, m_H>`` of new graphs G and fitted graphs H, shape (n_new, n_fitted)."""
        gram = np.zeros((self.nodes.n_graphs, self.fitted.n_graphs))
        graph_of_node = self.nodes.graph_of_node()
        for part in self.parts():
            graphs = graph_of_node[part.chosen]
            tiled, looped = part.rows(graphs, len(gram))
            if tiled is not None:
                add_products(tiled, part.side, gram, self.n_jobs)
            if looped is not None:
                add_rare(looped, part.fitted, part.side.kernel, gram, False, self.n_jobs)
        return gram

    def parts(self) -> Iterator[PlacedNodes]:
        """Nodes of near graphs, then of far ones, in the coordinates in which they are compared."""
        is_far = self.is_far[self.nodes.graph_of_node()]
        near, far = np.flatnonzero(~is_far), np.flatnonzero(is_far)
        fitted = self.fitted
        if len(near):
            points = (self.coordinates[near], fitted.points, fitted.near_side)
            yield PlacedNodes(near, *points, *self._entries(near), fitted.is_rare)
        if len(far):
            wide = fitted.add_tails(self.coordinates[far], self.tails[far])
            points = (wide, fitted.far_points, fitted.far_side)
            yield PlacedNodes(far, *points, *self._entries(far), fitted.is_rare)

    def _entries(self, chosen: Ints) -> tuple[Ints, Codes, Floats]:
        """Some nodes at all levels that count: place among them, label, and weight."""
        sizes = np.diff(self.nodes.node_ptr)[self.nodes.graph_of_node()[chosen]]
        if self.nodes.levels is None:
            return np.arange(len(chosen)), self.nodes.label_codes()[chosen], 1.0 / sizes
        places, labels, weights = [], [], []
        n_known, first = self.nodes.levels.n_known, 0
        all_levels = (self.nodes.label_codes(), *self.nodes.levels.colours)
        for codes, known, weight in zip(
            all_levels, n_known, self.nodes.levels.weights, strict=True
        ):
            own = np.flatnonzero((codes[chosen] >= 0) & (codes[chosen] < known) & (weight > 0))
            places.append(own)
            labels.append((codes[chosen][own] + first).astype(np.int32))
            weights.append(np.sqrt(weight) / sizes[own])
            first += known
        return np.concatenate(places), np.concatenate(labels), np.concatenate(weights)

    def squared_norms(self, tol: float) -> Floats:
        """``<m_G, m_G>`` of every new graph, off by at most `tol`; shape (n_new,)."""
        frame, nodes = self.fitted.frame, self.nodes
        norms = np.zeros(nodes.n_graphs)
        is_large = _is_large(nodes)
        near = np.flatnonzero(~self.is_far & ~is_large)
        _fill_norms(nodes, self.coordinates, frame.tile_kernel, near, norms, self.n_jobs)
        if (self.is_far & ~is_large).any():
            far = np.flatnonzero(self.is_far & ~is_large)
            own = nodes.of_graphs(far)
            found = np.zeros(len(far))
            _fill_norms(own, *all_features(own, frame), np.arange(len(far)), found, self.n_jobs)
            norms[far] = found
        for g in np.flatnonzero(is_large):
            norms[g] = self._large_norm(int(g), tol)
        return norms

    def _large_norm(self, g: int, tol: float) -> float:
        """Squared norm of one graph with many nodes, by tiles."""
        own, frame = self.nodes.of_graphs(np.array([g])), self.fitted.frame
        if self.is_far[g]:
            kernels = [f.kernel for f in sorted(frame.factors, key=lambda factor: factor.block)]
            points, frame = reduce_points(own, kernels, tol, self.n_jobs)
        else:
            nodes = slice(self.nodes.node_ptr[g], self.nodes.node_ptr[g + 1])
            points = distinct_points(own, self.coordinates[nodes], 1e-13)
        return float(tiled_gram(points, points, frame.tile_kernel, self.n_jobs)[0, 0])


def _means(nodes: NodePoints, values: Floats) -> Floats:
    """Means over the nodes of every graph, added up in their order."""
    totals = np.bincount(nodes.graph_of_node(), values, nodes.n_graphs)
    return np.asarray(totals / np.diff(nodes.node_ptr))


def _project(nodes: NodePoints, frame: Frame, n_jobs: int | None) -> tuple[Floats, Floats, Floats]:
    """Coordinates, tails and distances from the centre of all nodes."""
    ptr = frame.block_ptr
    coordinates = np.empty((nodes.n_nodes, ptr[-1]))
    tails, sizes = np.zeros((nodes.n_nodes, len(frame.factors))), np.zeros(nodes.n_nodes)

    def work(start: int, stop: int) -> None:
        own = slice(nodes.node_ptr[start], nodes.node_ptr[stop])
        for b, factor in enumerate(frame.factors):
            block = nodes.blocks[factor.block][own]
            if factor.basis is None:
                out = coordinates[own, ptr[b] : ptr[b + 1]]
                out[...] = factor.coordinates(block)
                sizes[own] += np.sqrt(np.einsum("ij,ij->i", out, out))
            else:
                basis = (factor.mean, factor.basis, factor.scale)
                out, first = coordinates[own], int(ptr[b])
                _core.project(block, *basis, out, first, tails[own], b, sizes[own])

    ranges = list(nodes.graph_chunks())
    run_tasks(work, ranges, nodes.chunk_costs(ranges), n_jobs, "coordinates")
    return coordinates, tails, sizes


def _snap(nodes: NodePoints, coordinates: Floats, fitted: FittedGraphs, moves: Floats) -> None:
    """
    Move nodes onto equal ones of their graph, and those onto equal fitted points.

    A graph is left as it is if that would move its nodes by more than is left of its budget.
    """
    frame, known = fitted.frame, fitted.points
    labels = nodes.label_codes()
    first, target = np.empty(nodes.n_nodes, np.int64), np.empty(nodes.n_nodes, np.int64)
    _core.representatives(coordinates, labels, nodes.node_ptr, frame.radius, first)
    arrays = (known.coordinates, known.labels, fitted.table, frame.radius)
    _core.nearest_in_table(coordinates, labels, np.unique(first), *arrays, target)
    target = target[first]
    snapped = coordinates[first]
    is_known = target >= 0
    snapped[is_known] = known.coordinates[target[is_known]]
    snap_moves = np.zeros(len(coordinates))
    for start, stop in zip(frame.block_ptr, frame.block_ptr[1:], strict=False):
        difference = coordinates[:, start:stop] - snapped[:, start:stop]
        snap_moves += np.sqrt(np.square(difference).sum(axis=1))
    is_allowed = moves + _means(nodes, snap_moves) <= frame.budget
    chosen = is_allowed[nodes.graph_of_node()]
    coordinates[chosen] = snapped[chosen]


def _is_large(nodes: NodePoints) -> Flags:
    """Whether tiles take less time than a loop over pairs of nodes; for every graph by itself."""
    labels = nodes.label_codes() - np.int64(nodes.label_codes().min(initial=0))
    n_labels = int(labels.max(initial=0)) + 1
    keys, counts = np.unique(nodes.graph_of_node() * n_labels + labels, return_counts=True)
    n_pairs = np.bincount(keys // n_labels, counts.astype(float) ** 2, nodes.n_graphs)
    n_different = np.bincount(keys // n_labels, minlength=nodes.n_graphs)
    return np.asarray(n_pairs > float(MAX_LOOPED_NODES) ** 2 * n_different)


def all_features(nodes: NodePoints, frame: Frame) -> tuple[Floats, TileKernel]:
    """All features, centred in each graph where the kernel allows it, and scaled."""
    graph = nodes.graph_of_node()
    blocks, ptr = [], [0]
    for factor in frame.factors:
        block = nodes.blocks[factor.block]
        if factor.kernel.is_stationary:
            block = block - block[nodes.node_ptr[:-1]][graph]
        blocks.append(block * factor.scale)
        ptr.append(ptr[-1] + block.shape[1])
    return np.hstack(blocks), TileKernel(frame.kernels, np.array(ptr, np.int64), np.float64)


def _fill_norms(
    nodes: NodePoints,
    coordinates: Floats,
    kernel: TileKernel,
    graphs: Ints,
    norms: Floats,
    n_jobs: int | None,
) -> None:
    """Find the norms of some graphs, each by a double loop over its nodes."""
    factors = loop_factors(kernel)

    def work(some: Ints) -> None:
        own = np.empty_like(norms)
        for labels, weight, _ in nodes.level_codes():
            _core.norms_of_graphs(coordinates, labels, nodes.node_ptr, some, *factors, own)
            norms[some] += weight * own[some]

    parts = np.array_split(graphs, max(1, len(graphs) // 64)) if len(graphs) else []
    sizes = np.diff(nodes.node_ptr).astype(float)
    costs = [float((sizes[part] ** 2).sum()) for part in parts]
    run_tasks(work, [(part,) for part in parts], costs, n_jobs, "squared norms")
