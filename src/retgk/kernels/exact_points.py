"""
From the features of nodes to few distinct points, within a promised error.

Scaled by gamma (Laplacian) or its root (Gaussian), a node kernel is ``exp(-sum_l t_l)`` with
``t_l`` a distance or a squared distance, and it is 1-Lipschitz in each factor. Moving node i of
graph G by d_i (the sum of its moves in all factors) therefore changes ``<m_G, m_H>`` by at most
``e_G + e_H``, with ``e_G = sum_i w_i d_i`` the mean move of the nodes of G. Three things move
nodes: dropping directions (rotation), merging near-equal rows to their weighted mean, rounding
coordinates to float32. Rounding in the tiles adds `tile_error`. The sum is the promise.

The bound is of first order on purpose. Merging to the weighted mean cancels the first order only
where the kernel is smooth and where the merged nodes belong to one graph. The Laplacian has a
kink at zero: between nodes of one cell it falls by ``gamma |x - y|`` whatever they are
merged to, and <m_G, m_G> always has such pairs. True errors are far below the promise; the
promise does not count on it.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from retgk import _core
from retgk._runtime.fields import stored
from retgk._runtime.parallel import progress_bar, run_tasks, single_threaded_blas
from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import chunks, gather_runs, offsets, recode, run_over_runs, union_of_names
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.node import ATTRIBUTE_KERNEL, NodeKernel, check_node_kernel
from retgk.kernels.refinement import Levels

AttributeKernel = NodeKernel | Mapping[str, tuple[Any, NodeKernel]] | None

CHUNK_NODES = 1 << 11  # with 50 features they fit the second-level cache


@stored
@dataclass(frozen=True, eq=False)
class NodePoints:
    """Features of the nodes of many graphs."""

    blocks: tuple[Floats, ...]  # (n_nodes, dimension) each, one for each factor of the kernel
    node_ptr: Ints  # (n_graphs + 1,): first node of every graph. No graph is empty
    labels: Codes | None = None  # (n_nodes,): a negative one matches nothing, not even itself
    levels: Levels | None = None  # refined labels

    @property
    def n_nodes(self) -> int:
        return int(self.node_ptr[-1])

    @property
    def n_graphs(self) -> int:
        return len(self.node_ptr) - 1

    def graph_of_node(self) -> Ints:
        return np.repeat(np.arange(self.n_graphs), np.diff(self.node_ptr))

    def label_codes(self) -> Codes:
        return np.zeros(self.n_nodes, np.int32) if self.labels is None else self.labels

    def of_graphs(self, graphs: Ints) -> "NodePoints":
        starts, sizes = self.node_ptr[graphs], np.diff(self.node_ptr)[graphs]
        return NodePoints(
            tuple(gather_runs(block, starts, sizes) for block in self.blocks),
            offsets(sizes),
            None if self.labels is None else gather_runs(self.labels, starts, sizes),
            None if self.levels is None else self.levels.of_nodes(starts, sizes),
        )

    def level_codes(self) -> list[tuple[Codes, float, int]]:
        """Codes, weight and first code of all levels that count; no two levels share a code."""
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
        return chunks(self.node_ptr, CHUNK_NODES)


def node_points(
    features: NodeFeatures, columns: Sequence[Ints], labels: Codes | None, levels: Levels | None
) -> NodePoints:
    """Return probabilities, blocks of attributes, which have these columns, and labels."""
    batch = features.batch
    blocks = [np.ascontiguousarray(batch.attributes[:, chosen]) for chosen in columns]
    return NodePoints((features.probabilities, *blocks), batch.node_ptr, labels, levels)


def label_codes(batch: GraphBatch, names: Sequence[Hashable]) -> Codes | None:
    """Labels as fitted graphs number them; others match themselves in norms of new graphs."""
    if not batch.has_labels:
        return None
    known = set(names)
    unseen = [name for name in union_of_names([batch.label_names]) if name not in known]
    return recode(batch.labels, batch.label_names, [*names, *unseen])


def attribute_blocks(
    attributes: AttributeKernel, n_attributes: int
) -> list[tuple[Ints, NodeKernel]]:
    """Columns of every block of attributes, and the kernel for it; none without attributes."""
    if attributes is None:
        if n_attributes == 0:
            return []
        attributes = ATTRIBUTE_KERNEL
    if not isinstance(attributes, Mapping):
        check_node_kernel(attributes, "attributes")
    if n_attributes == 0:
        raise InvalidInputError(
            f"the graphs have no attributes for attributes={attributes!r}; leave it "
            "out, or give the graphs attributes"
        )
    if not isinstance(attributes, Mapping):
        return [(np.arange(n_attributes), attributes)]
    if not attributes:
        raise InvalidInputError("attributes names no block; pass None for the default")
    return [_block(name, block, n_attributes) for name, block in attributes.items()]


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


# Distinct points, and the merging of equal and of nearly equal nodes to their weighted mean.
#
# What counts is the mean move of the nodes of a graph, ``sum_i w_i d_i``. So a point that stands
# for a large share w of some graph may move less than one that stands for little: the limit is
# proportional to ``w^(-1/2)``. On REDDIT-BINARY, where few rows are half of a graph, this gave
# 232,000 points and an error of 2.5e-4 at tol=1e-2, against 272,000 points and 4.4e-3 with one
# limit for all.

NO_COLOUR = np.iinfo(np.int32).max
"""First colour where labels are not refined: above all labels."""

_TYPICAL_RATIO = 10.0  # mean move of a graph over the limit for w = 1, on the benchmark sets
_N_TRIALS = 3


@stored
@dataclass(frozen=True, eq=False)
class DistinctPoints:
    """
    Distinct points of many graphs: ``m_G = sum_e [entry_graphs[e] == G] weight_e phi(point_e)``.

    Points are sorted by label and then by their first graph, entries by their point.
    """

    coordinates: Floats  # (n_points, n_coordinates): scaled and rotated
    labels: Codes  # (n_points,): label of every point, not negative
    entry_points: Ints  # (n_entries,): which point occurs in which graph
    entry_graphs: Ints
    entry_weights: Floats  # (n_entries,): share of the nodes of the graph
    n_graphs: int
    first_colour: int = NO_COLOUR
    """Labels from here on are colours of refinement, most of which few points have."""

    def __len__(self) -> int:
        return len(self.labels)

    def of_range(self, start: int, stop: int) -> "DistinctPoints":
        """Points of the graphs `start` to ``stop - 1``, for one block of a large matrix."""
        if (start, stop) == (0, self.n_graphs):
            return self
        own = np.flatnonzero((self.entry_graphs >= start) & (self.entry_graphs < stop))
        return self._of_entries(own, self.entry_graphs[own] - start, stop - start)

    def of_graphs(self, graphs: Ints) -> "DistinctPoints":
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
        level = np.searchsorted(first_codes, self.labels, side="right") - 1
        factors = np.append(shares, 0.0)[np.minimum(level, len(shares))][self.entry_points]
        kept = np.flatnonzero(factors)
        points = self._of_entries(kept, self.entry_graphs[kept], self.n_graphs)
        return replace(points, entry_weights=points.entry_weights * factors[kept])

    def with_coordinates(self, coordinates: Floats) -> "DistinctPoints":
        return replace(self, coordinates=coordinates)


def distinct_points(nodes: NodePoints, coordinates: Floats, radius: float) -> DistinctPoints:
    """Merge nodes of a label, level by level, within a radius; leave negative labels out."""
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
    """Merge nearly equal points as far as the mean move of no graph exceeds a budget."""
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
    moves = np.zeros(len(points))
    for start, stop in pairwise(block_ptr):
        columns = slice(start, stop)
        difference = points.coordinates[:, columns] - merged.coordinates[place, columns]
        moves += np.sqrt(np.einsum("ij,ij->i", difference, difference))
    means = np.bincount(
        points.entry_graphs, points.entry_weights * moves[points.entry_points], points.n_graphs
    )
    return float(means.max(initial=0.0))


# The coordinates that points are reduced to: found once from the fitted graphs, then kept.
#
# Return probabilities of 50 steps lie close to a space of some 16 dimensions. Dropping the other
# directions moves every point by its tail t_i, so that a distance changes by at most t_i + t_j
# and, the kernel being 1-Lipschitz in scaled coordinates, ``<m_G, m_H>`` by at most ``tau_G +
# tau_H`` with ``tau_G`` the mean tail of the nodes of G. That holds for any centre and any
# orthonormal basis, however they were found.

# Second moments of chunks of nodes that are kept at a time: 780 attributes take 5 MB for each.
BAND_BYTES = 1 << 25
MIN_TOGETHER = 4


class TileKernel(NamedTuple):
    """The node kernel as tiles compute it, over coordinates that are scaled and rotated."""

    kernels: tuple[NodeKernel, ...]  # factors in the order of the coordinates, polynomials last
    block_ptr: Ints  # first coordinate of every factor
    dtype: Any  # float32 or float64


@stored
@dataclass(frozen=True, eq=False)
class Factor:
    """A factor of the node kernel, and the coordinates of its block of features."""

    block: int  # which block of features
    kernel: NodeKernel  # with a number for gamma
    mean: Floats  # (dimension,): centre, which is subtracted
    basis: Floats | None  # (dimension, rank): orthonormal; None if nothing is rotated
    scale: float = field(init=False)  # factor of the coordinates that makes gamma one
    unsaved_fields: ClassVar[tuple[str, ...]] = ("scale",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", self.kernel.coordinate_scale)

    @property
    def rank(self) -> int:
        return len(self.mean) if self.basis is None else self.basis.shape[1]

    def coordinates(self, block: Floats) -> Floats:
        centred = block - self.mean
        if self.basis is None:
            return centred * self.scale
        projected: Floats = centred @ (self.basis * self.scale)
        return projected


@stored
@dataclass(frozen=True, eq=False)
class Frame:
    """Factors in the order of the tiles, and how far the nodes of a graph may be moved."""

    factors: tuple[Factor, ...]  # polynomials last
    dtype: Any  # float32 or float64: what the tiles are computed in
    budget: float  # largest mean move of the nodes of a graph
    tail_budget: float  # the part of it that dropped directions may take
    size: float
    """Mean distance of the nodes of a graph from the centre that rounding to float32 allows for."""
    radius: float  # how far a point may be moved to one that is nearly equal
    error: float = np.nan
    """Bound on the error of every ``<m_G, m_H>`` of the fitted graphs; relative to the largest
    kernel value where a factor is polynomial. NaN where it is not known any more."""
    unsaved_fields: ClassVar[tuple[str, ...]] = ("error",)

    @property
    def kernels(self) -> tuple[NodeKernel, ...]:
        return tuple(factor.kernel for factor in self.factors)

    @property
    def block_ptr(self) -> Ints:
        return offsets([factor.rank for factor in self.factors])

    @property
    def tile_kernel(self) -> TileKernel:
        return TileKernel(self.kernels, self.block_ptr, self.dtype)


def factor_order(kernels: Sequence[NodeKernel], widths: Sequence[int]) -> list[int]:
    """Blocks in the order of the tiles: products last, roots before them (it is faster)."""

    def place(b: int) -> int:
        if not kernels[b].is_stationary:
            return 2
        return 1 if kernels[b].argument == "distance" and widths[b] > 1 else 0

    return sorted(range(len(kernels)), key=place)


@dataclass(frozen=True, eq=False)
class Rotation:
    """Principal directions of a block of features, largest first."""

    mean: Floats  # (dimension,): centre of the points
    basis: Floats  # (dimension, dimension): orthonormal columns
    tails: Floats
    """For every rank, the largest mean move of the nodes of a graph if the rest is dropped."""
    size: float  # the same for rank 0: the mean distance of the nodes of a graph from the centre

    def rank(self, budget: float) -> int:
        """Number of directions, at least one, that keeps the tails of all graphs in a budget."""
        return max(1, int(np.flatnonzero(self.tails <= budget)[0]))


def principal_rotation(nodes: NodePoints, b: int, n_jobs: int | None) -> Rotation:
    """Principal directions of block b; each graph has the same weight, threads change no bit."""
    mean = np.asarray(nodes.blocks[b].sum(axis=0) / nodes.n_nodes)
    moments = _second_moments(nodes, b, mean, n_jobs)
    basis = np.ascontiguousarray(np.linalg.eigh(moments)[1][:, ::-1])
    tails: list[Floats] = []

    def find_tails(start: int, stop: int) -> None:
        ptr, own = nodes.node_ptr[start : stop + 1], np.zeros(len(mean) + 1)
        _core.add_tails((nodes.blocks[b][ptr[0] : ptr[-1]] - mean) @ basis, ptr, own)
        tails.append(own)

    run_over_runs(find_tails, nodes.node_ptr, CHUNK_NODES, n_jobs, "low rank")
    largest = np.max(tails, axis=0)
    return Rotation(mean, basis, largest, float(largest[0]))


def _second_moments(nodes: NodePoints, b: int, mean: Floats, n_jobs: int | None) -> Floats:
    chunks = list(nodes.graph_chunks())
    costs = [float(nodes.node_ptr[stop] - nodes.node_ptr[start]) for start, stop in chunks]
    total = np.zeros((len(mean), len(mean)))
    n_together = max(MIN_TOGETHER, BAND_BYTES // total.nbytes)
    found = np.empty((min(n_together, len(chunks)), *total.shape))

    def find(place: int, start: int, stop: int) -> None:
        ptr = nodes.node_ptr[start : stop + 1]
        sizes = np.diff(ptr)
        centred = nodes.blocks[b][ptr[0] : ptr[-1]] - mean
        centred *= np.repeat(sizes**-0.5, sizes)[:, None]
        found[place] = centred.T @ centred

    with progress_bar("principal directions", float(sum(costs))) as advance:
        for first in range(0, len(chunks), n_together):
            band = [(i, *chunk) for i, chunk in enumerate(chunks[first : first + n_together])]
            run_tasks(find, band, costs[first : first + n_together], n_jobs, advance)
            for place in range(len(band)):
                total += found[place]
    return total


FLOAT64_ERROR = 1e-12
"""What is promised for tol=0 unless coordinates are large: rounding, and merging within 1e-13."""

_UNIT_32 = 2.0**-24
_UNIT_64 = 2.0**-53
MAX_RELATIVE_ERROR_32 = 3e-7  # of the power of two in the tiles
_EQUAL = 1e-13
_MAX_ROUNDING = 1e-3  # at tol=0, where no error is promised but what float64 gives
_SINGLE_SHARE = 0.85  # of the promise that rounding to float32 may take
# Below this tol, merging rows that are not equal saves next to nothing: dropping directions may
# take nearly all of the promise, and merging gets what that happens to leave.
_LOOSE = 1e-3
_TIGHT_SHARE = 0.98
_LOOSE_SHARE = 0.25


class RoundingError(InvalidInputError):
    """Features that are too far apart for float64 to keep the promised error."""


def tile_error(kernels: Sequence[NodeKernel], widths: Sequence[int]) -> float:
    """
    Bound on the error of a weighted mean of kernel values that float32 tiles cause.

    ``t exp(-t) <= 1/e`` turns relative errors of the exponents into absolute ones. The power of two
    adds 3e-7, rounded weights and sums of eight products add 10 u, with u = 2^-24. A polynomial
    beside it rounds twice for each coefficient, and makes roundings of the exponent count more.
    Infinite where a kernel knows no bound: it is computed in float64.
    """
    relative = [own.error_of_argument(d) for own, d in zip(kernels, widths, strict=True)]
    series = [len(own.series) for own in kernels if own.series[1:]]
    n_sums = len(relative) * (1 + len(series))  # adding factors up rounds once more for each
    n_roundings = (max(relative) + n_sums) / math.e + 2 * sum(series) + 10
    return _UNIT_32 * n_roundings + MAX_RELATIVE_ERROR_32


def reduce_points(
    nodes: NodePoints, kernels: Sequence[NodeKernel], tol: float, n_jobs: int | None = None
) -> tuple[DistinctPoints, Frame]:
    """Distinct points such that no inner product is off by more than tol; threads change no bit."""
    # small matrix products: threads of the BLAS would cost time and change the last bits
    with single_threaded_blas():
        return _reduce(nodes, kernels, tol, n_jobs)


class _Candidate(NamedTuple):
    """A factor of the node kernel whose rank is not chosen yet."""

    block: int
    kernel: NodeKernel
    rotation: Rotation

    @property
    def scale(self) -> float:
        return self.kernel.coordinate_scale

    def factor(self, rank: int) -> Factor:
        rotation = self.rotation
        is_whole = rank == len(rotation.mean)
        basis = None if is_whole else np.ascontiguousarray(rotation.basis[:, :rank])
        return Factor(self.block, self.kernel, rotation.mean, basis)


def _reduce(
    nodes: NodePoints, kernels: Sequence[NodeKernel], tol: float, n_jobs: int | None
) -> tuple[DistinctPoints, Frame]:
    exact = tol <= FLOAT64_ERROR or not all(kernel.is_stationary for kernel in kernels)
    order = factor_order(kernels, [block.shape[1] for block in nodes.blocks])
    candidates = [
        _Candidate(
            b,
            kernels[b],
            _shift(nodes, b, kernels[b]) if exact else principal_rotation(nodes, b, n_jobs),
        )
        for b in order
    ]
    if exact:
        _check_rounding(candidates, tol)
        return _assemble(nodes, candidates, np.float64, FLOAT64_ERROR, n_jobs)
    single = _rounding_bound(candidates)
    dtype = np.float32 if single <= _SINGLE_SHARE * tol else np.float64
    if dtype == np.float64:
        _check_rounding(candidates, tol)
    return _assemble(nodes, candidates, dtype, tol, n_jobs)


def _shift(nodes: NodePoints, b: int, kernel: NodeKernel) -> Rotation:
    """Shift to the mean without a rotation, where the kernel allows a shift."""
    width = nodes.blocks[b].shape[1]
    mean = nodes.blocks[b].mean(axis=0) if kernel.is_stationary else np.zeros(width)
    tails = np.append(np.full(width, np.inf), 0.0)
    return Rotation(mean, np.eye(width), tails, _size(nodes, b, mean))


def _size(points: NodePoints, b: int, mean: Floats) -> float:
    """Largest over graphs of the mean distance of their nodes from a centre."""
    largest = 0.0
    for start, stop in points.graph_chunks():
        ptr = points.node_ptr[start : stop + 1]
        centred = points.blocks[b][ptr[0] : ptr[-1]] - mean
        distances = np.sqrt(np.einsum("ij,ij->i", centred, centred))
        means = np.add.reduceat(distances, ptr[:-1] - ptr[0]) / np.diff(ptr)
        largest = max(largest, float(means.max()))
    return largest


def _total_size(candidates: Sequence[_Candidate]) -> float:
    """Mean distance of the nodes of a graph from the centre, scaled; the largest of all graphs."""
    return float(sum(candidate.scale * candidate.rotation.size for candidate in candidates))


def _rounding_bound(candidates: Sequence[_Candidate]) -> float:
    widths = [len(candidate.rotation.mean) for candidate in candidates]
    kernels = [candidate.kernel for candidate in candidates]
    moves = _lipschitz(candidates) * _total_size(candidates)
    return float(2 * _UNIT_32 * moves + tile_error(kernels, widths))


def _lipschitz(candidates: Sequence[_Candidate]) -> float:
    """Bound on the change of the node kernel when a point moves by one in some factor."""
    return max(candidate.kernel.lipschitz for candidate in candidates)


def _rounding_64(candidates: Sequence[_Candidate]) -> float:
    """
    Bound on all float64 errors.

    Centring, scaling, the change to powers of two and the difference of two points round by
    2^-53 of the size of the coordinates each, and a rotation by that for every feature. A graph
    that is not among these, and may be further away, adds half of that again: where it is twice
    as far from the centre as a point, the kernel is too small for an error.
    """
    width = max(len(candidate.rotation.mean) for candidate in candidates)
    rotated = any(np.isfinite(candidate.rotation.tails).all() for candidate in candidates)
    n_roundings = 12 + (3 * width if rotated else 0)
    moves = _lipschitz(candidates) * _total_size(candidates)
    return max(FLOAT64_ERROR, n_roundings * _UNIT_64 * moves)


def _check_rounding(candidates: Sequence[_Candidate], tol: float) -> None:
    if not all(candidate.kernel.is_stationary for candidate in candidates):
        return  # relative to the largest value, whatever the size
    rounding = _rounding_64(candidates)
    allowed = max(tol, FLOAT64_ERROR) if tol > 0 else _MAX_ROUNDING
    if rounding > allowed:
        limit = f"tol={tol:g}" if tol > 0 else f"{allowed:g}"
        raise RoundingError(
            f"features are so far apart, {_total_size(candidates):.1e} times the width of the node "
            f"kernels, that float64 rounds by {rounding:.1e}, which is above {limit}; scale "
            "the attributes, or pass a larger tol or a smaller gamma"
        )


def _assemble(
    nodes: NodePoints,
    candidates: Sequence[_Candidate],
    dtype: Any,
    tol: float,
    n_jobs: int | None,
) -> tuple[DistinctPoints, Frame]:
    """Drop directions, then merge with what is left of the error that is allowed."""
    rounding = _rounding_bound(candidates) if dtype == np.float32 else _rounding_64(candidates)
    # one half for each of the two graphs of an inner product
    budget = left = max((tol - rounding) / 2, _EQUAL) / _lipschitz(candidates)
    tail_budget = left * (_TIGHT_SHARE if tol < _LOOSE else _LOOSE_SHARE)
    ranks = _ranks(candidates, tail_budget)
    left -= sum(c.scale * c.rotation.tails[r] for c, r in zip(candidates, ranks, strict=True))
    # moves in all factors add up: their sum is at most root n of the distance in all coordinates
    radius = min(left / 2, _EQUAL) if tol >= _LOOSE else left / np.sqrt(len(candidates))
    factors = tuple(c.factor(rank) for c, rank in zip(candidates, ranks, strict=True))
    found = distinct_points(nodes, _coordinates(nodes, factors, n_jobs), radius)
    error = max(tol, rounding)
    size = _total_size(candidates)
    frame = Frame(factors, dtype, budget, tail_budget, size, float(radius), error)
    if tol >= _LOOSE:
        left -= radius * np.sqrt(len(factors))
        found = merge_near_points(found, frame.block_ptr, left)
    return found, frame


def _ranks(candidates: Sequence[_Candidate], budget: float) -> list[int]:
    """Directions that are kept of every factor; those of width one need none of the budget."""
    n_wide = max(1, sum(len(candidate.rotation.mean) > 1 for candidate in candidates))
    return [candidate.rotation.rank(budget / n_wide / candidate.scale) for candidate in candidates]


def _coordinates(points: NodePoints, factors: Sequence[Factor], n_jobs: int | None) -> Floats:
    ends = np.cumsum([factor.rank for factor in factors])
    result = np.empty((points.n_nodes, ends[-1]))

    def work(start: int, stop: int) -> None:
        nodes = slice(points.node_ptr[start], points.node_ptr[stop])
        for factor, end in zip(factors, ends, strict=True):
            found = factor.coordinates(points.blocks[factor.block][nodes])
            result[nodes, end - factor.rank : end] = found

    run_over_runs(work, points.node_ptr, CHUNK_NODES, n_jobs, "coordinates")
    return result
