r"""
RetGK_I: inner products over all pairs of nodes, within a promised error.

`ExactEngine` is the kernel, `FittedGraphs` what it keeps, `ExactComparison` new graphs beside them.

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

import hashlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from retgk import _core
from retgk._runtime.fields import check_codes, check_names, check_shape, stored
from retgk._runtime.names import RandomState, whole_seed
from retgk._runtime.parallel import run_tasks
from retgk._runtime.parameters import EVERYWHERE, MAX_ATTRIBUTES, TOL, check_parameters
from retgk._runtime.processes import check_room
from retgk.array_types import Codes, Flags, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, check_alike
from retgk.graphs.flat import offsets, run_over_runs
from retgk.kernels.engine import (
    AttributeScaling,
    NodeFeatures,
    ScaleAttributes,
    check_attribute_sizes,
    check_kernel_values,
    check_scaling,
    largest_attribute,
)
from retgk.kernels.exact_any import CalledComparison, CalledGraphs
from retgk.kernels.exact_points import (
    CHUNK_NODES,
    NO_COLOUR,
    AttributeKernel,
    DistinctPoints,
    Frame,
    NodePoints,
    RoundingError,
    TileKernel,
    attribute_blocks,
    distinct_points,
    factor_order,
    label_codes,
    node_points,
    reduce_points,
)
from retgk.kernels.exact_tiling import (
    ColumnSide,
    RareRows,
    SharedRows,
    add_products,
    add_rare,
    add_rare_node_values,
    entry_values,
    loop_factors,
    rare_labels,
    scale_for_tiles,
    tiled_gram,
)
from retgk.kernels.node import Laplacian, NodeKernel, check_node_kernel
from retgk.kernels.refinement import LabelLevels, check_depth

DEFAULT_TOL = 1e-4
_ROUNDING = 1e-9  # weights of a graph may sum up to so much more than one


@stored
@dataclass(eq=False, repr=False)
class ExactEngine:
    """
    Mean embeddings by their exact inner products.

    The node kernel is a product of kernels of return probabilities and of blocks of attributes,
    and of the Delta kernel of labels, over whatever the graphs have. The parameters are those of
    `RetGK`.
    """

    structure: NodeKernel | None = None
    attributes: AttributeKernel = None
    scale_attributes: ScaleAttributes = "raw"
    depth: int = 0
    level_weights: Sequence[float] | None = None
    tol: float = DEFAULT_TOL
    n_jobs: int | None = None
    random_state: RandomState = None
    kernels: list[NodeKernel] = field(init=False, default_factory=list)
    """Of return probabilities and of every block of attributes, with the bandwidths found."""
    label_names: tuple[Hashable, ...] = field(init=False, default=())
    n_attributes: int = field(init=False, default=0)
    _has_labels: bool = field(init=False, default=False)
    _scaling: AttributeScaling = field(init=False, default_factory=AttributeScaling)
    _levels: LabelLevels = field(init=False, default_factory=LabelLevels)
    _columns: list[Ints] = field(init=False, default_factory=list)
    _graphs: "FittedGraphs | CalledGraphs" = field(init=False)
    _norms: Floats | None = field(init=False, default=None)
    _means: Floats | None = field(init=False, default=None)

    unsaved_fields: ClassVar[tuple[str, ...]] = ("n_jobs", "random_state", "_means")

    def check(self, batch: GraphBatch) -> None:
        if len(batch) == 0:
            raise InvalidInputError("there are no graphs to fit")
        check_parameters(TOL | EVERYWHERE, vars(self))
        check_depth(self.depth, self.level_weights)
        if self.structure is not None:
            check_node_kernel(self.structure, "structure")
        self._checked_blocks(batch.n_attributes)

    def _checked_blocks(self, n_attributes: int) -> list[tuple[Ints, NodeKernel]]:
        check_scaling(self.scale_attributes, self._block_names)
        is_dropped = self.scale_attributes == "drop"
        return attribute_blocks(self.attributes, 0 if is_dropped else n_attributes)

    @property
    def _block_names(self) -> list[str]:
        given = self.attributes
        return list(given) if isinstance(given, Mapping) else []

    def fit(self, graphs: NodeFeatures, keep: Ints | None = None) -> Self:
        """Find bandwidths on all graphs, and keep the reduced points of all or of some."""
        batch = graphs.batch
        self.check(batch)
        check_attribute_sizes(batch)
        kernels = self._fit_blocks(batch)
        self.label_names = batch.label_names
        self._has_labels = batch.has_labels
        self._norms = self._means = None
        self._levels = LabelLevels(int(self.depth), self.level_weights)
        codes = label_codes(batch, self.label_names)
        n_labels = max(1, len(self.label_names))
        levels = self._levels.fit(batch, _or_zeros(codes, batch), n_labels, graphs.n_jobs)
        points = node_points(self._scaling(graphs), self._columns, codes, levels)
        given = [self.structure or Laplacian("median"), *kernels]
        self.kernels = [
            kernel.fitted(block, batch.node_ptr, self.random_state)
            for kernel, block in zip(given, points.blocks, strict=True)
        ]
        self._check_values(points, graphs)
        kept = points if keep is None else points.of_graphs(keep)
        if not all(kernel.is_compiled for kernel in self.kernels):
            self._graphs = CalledGraphs(kept, self.kernels)
            return self
        try:
            self._graphs = FittedGraphs.of(kept, self.kernels, self.tol, self.n_jobs)
        except RoundingError as error:
            where = f"; {largest_attribute(batch)}" if batch.n_attributes else ""
            raise InvalidInputError(f"{error}{where}") from error
        return self

    def _fit_blocks(self, batch: GraphBatch) -> list[NodeKernel]:
        blocks = self._checked_blocks(batch.n_attributes)
        named = dict(zip(self._block_names, (columns for columns, _ in blocks), strict=False))
        self._scaling = AttributeScaling.fitted(self.scale_attributes, batch.attributes, named)
        self.n_attributes = batch.n_attributes
        self._columns = [columns for columns, _ in blocks]
        return [kernel for _, kernel in blocks]

    def attribute_points(self, features: NodeFeatures) -> list[tuple[Floats, NodeKernel]]:
        other = copy(self)
        kernels = other._fit_blocks(features.batch)
        attributes = other._scaling(features).batch.attributes
        points = [attributes[:, columns] for columns in other._columns]
        return list(zip(points, kernels, strict=True))

    def _check_values(self, points: NodePoints, features: NodeFeatures) -> None:
        """Raise if a kernel that is not stationary is too large for its nodes to compute with."""
        for kernel, block in zip(self.kernels, points.blocks, strict=True):
            if not kernel.is_stationary:
                check_kernel_values(kernel, block, features.batch)

    @property
    def walk_seed(self) -> int:
        return whole_seed(self.random_state) if isinstance(self.random_state, Integral) else 0

    @property
    def n_graphs(self) -> int:
        return self._graphs.n_graphs

    def inner_products(self, rows: slice | None = None, columns: slice | None = None) -> Floats:
        products = self._graphs.gram(rows, columns, self.n_jobs)
        if rows is None and columns is None:
            self._norms = products.diagonal().copy()
        return products

    def squared_norms(self) -> Floats:
        if self._norms is None:
            self.inner_products()
        assert self._norms is not None
        return self._norms

    def mean_products(self) -> Floats:
        if self._means is None:
            self._means = self._graphs.gram(n_jobs=self.n_jobs).mean(axis=1)
        return self._means

    def compare(self, graphs: NodeFeatures) -> "ExactComparison | CalledComparison":
        check_alike(graphs.batch, self._has_labels, self.n_attributes)
        graphs.check_steps(self._graphs.n_steps)
        check_attribute_sizes(graphs.batch)
        points = self._points(graphs)
        self._check_values(points, graphs)
        return self._graphs.compare(points, self.tol, graphs.n_jobs)

    def level_products(self) -> Iterator[Floats]:
        """Inner products of the kept graphs at each level of refined labels, the label first."""
        first, weights = self._first_codes(), self._levels.weights
        for level in range(len(weights)):
            shares = np.zeros(len(weights))
            shares[level] = 1 / np.sqrt(weights[level])
            yield self._graphs.of_levels(first, shares).gram(n_jobs=self.n_jobs)

    def products_by_depth(self) -> list[Floats]:
        """Inner products for every smaller depth too: means over the levels up to it."""
        total, found = np.zeros(()), []
        for depth, products in enumerate(self.level_products()):
            total = total + products
            found.append(total / (depth + 1))
        return found

    def at_depth(self, depth: int, norms: Floats | None = None) -> Self:
        """Engine with the same graphs whose labels are refined by fewer rounds."""
        other = copy(self)
        other.depth, other.level_weights, other._norms, other._means = depth, None, norms, None
        other._levels = self._levels.at_depth(depth)
        shares = np.zeros(self.depth + 1)
        old, new = self._levels.weights, other._levels.weights
        shares[: depth + 1] = np.sqrt(new / old[: depth + 1])
        other._graphs = self._graphs.of_levels(self._first_codes(), shares)
        return other

    def _first_codes(self) -> Ints:
        return offsets(self._levels.refinement.n_known)

    def keep(self, graphs: Ints) -> Self:
        kept = copy(self)
        kept._graphs = self._graphs.of_graphs(graphs)
        kept._norms = None if self._norms is None else self._norms[graphs]
        kept._means = None
        return kept

    def work(self) -> float:
        return self._graphs.work()

    def digest(self) -> str:
        return self._graphs.digest()

    def for_saving(self) -> Self:
        self.squared_norms()  # all else that is found on the way is found again
        return self

    def check_restored(self, n_steps: int) -> None:
        check_depth(self.depth, self.level_weights)
        check_names("label_names", self.label_names)
        if not 0 <= self.n_attributes <= MAX_ATTRIBUTES or self._levels.depth != self.depth:
            raise InvalidInputError("n_attributes or the depth of levels is out of range")
        self._scaling.check(self.n_attributes)
        for columns in self._columns:
            check_shape("columns", columns, None)
            check_codes("columns", columns, self._scaling.n_used(self.n_attributes))
        widths = [n_steps, *map(len, self._columns)]
        has_gammas = all(isinstance(kernel.gamma, float | int) for kernel in self.kernels)
        if len(self.kernels) != len(widths) or not has_gammas:
            raise InvalidInputError("kernels are not one for each block, with a number for gamma")
        n_labels = max(1, len(self.label_names)) if self._has_labels else 1
        if self._levels.refinement.n_labels != n_labels:
            raise InvalidInputError("levels are those of other labels")
        if isinstance(self._graphs, CalledGraphs):
            self._graphs.check(widths, self.depth + 1)
        else:
            _check_frame(self._graphs.frame, self.kernels, widths)
            _check_points(self._graphs, self._levels)
        if self._norms is None:
            raise InvalidInputError("squared norms are missing")
        check_shape("norms", self._norms, self._graphs.n_graphs)

    def _points(self, features: NodeFeatures) -> NodePoints:
        batch = features.batch
        codes = label_codes(batch, self.label_names)
        levels = self._levels.of(batch, _or_zeros(codes, batch), features.n_jobs)
        return node_points(self._scaling(features), self._columns, codes, levels)


def _check_frame(frame: Frame, kernels: Sequence[NodeKernel], widths: Sequence[int]) -> None:
    order = factor_order(kernels, widths)
    if [factor.block for factor in frame.factors] != order:
        raise InvalidInputError("factors are not those of the kernels")
    for factor in frame.factors:
        width = widths[factor.block]
        check_shape("mean", factor.mean, width)
        if factor.basis is not None:
            check_shape("basis", factor.basis, width, None)
        if factor.kernel != kernels[factor.block] or not 1 <= factor.rank <= width:
            raise InvalidInputError(f"a factor has {factor.rank} directions of {width}")
    limits = (frame.budget, frame.tail_budget, frame.size, frame.radius)
    if not (np.isfinite(limits).all() and min(limits) >= 0 and frame.radius > 0):
        raise InvalidInputError(f"the limits of a frame are {limits}, which cannot be")
    if frame.dtype not in (np.float32, np.float64):
        raise InvalidInputError(f"tiles are not of {frame.dtype!r}")


def _check_points(graphs: "FittedGraphs", levels: LabelLevels) -> None:
    n_known = levels.refinement.n_known
    points, n_coordinates = graphs.points, int(graphs.frame.block_ptr[-1])
    check_shape("labels", points.labels, None)
    check_shape("coordinates", points.coordinates, len(points), n_coordinates)
    n_entries = len(points.entry_points)
    for name in ("entry_points", "entry_graphs", "entry_weights"):
        check_shape(name, getattr(points, name), n_entries)
    check_codes("labels", points.labels, sum(n_known))
    if len(points) == 0 or (np.diff(points.labels) < 0).any():
        raise InvalidInputError("labels are not rising codes of label_names")
    if points.first_colour not in (n_known[0], NO_COLOUR):
        raise InvalidInputError("first_colour is not the number of labels")
    steps = np.diff(points.entry_points)
    is_complete = n_entries and points.entry_points[0] == 0
    is_complete = is_complete and points.entry_points[-1] == len(points) - 1
    if not is_complete or ((steps != 0) & (steps != 1)).any():
        raise InvalidInputError("entry_points does not rise through all points")
    check_codes("entry_graphs", points.entry_graphs, points.n_graphs)
    if (np.diff(points.entry_graphs)[steps == 0] <= 0).any():
        raise InvalidInputError("entry_graphs does not rise within each point")
    if points.n_graphs > n_entries:
        raise InvalidInputError("a graph has no points")
    totals = np.bincount(points.entry_graphs, points.entry_weights, points.n_graphs)
    total = np.sqrt(levels.weights).sum()
    is_share = np.abs(totals - total) <= _ROUNDING * total
    if not (points.entry_weights > 0).all() or not is_share.all():
        raise InvalidInputError("entry_weights are not shares of the nodes of graphs")


def _or_zeros(codes: Codes | None, batch: GraphBatch) -> Codes:
    return np.zeros(batch.n_nodes, np.int32) if codes is None else codes


# Nodes of new graphs where fitted points are: rows of tiles, or of loops for rare labels.


class ComparedNodes(NamedTuple):
    """Nodes of new graphs at all levels of their labels, beside the fitted points."""

    chosen: Ints  # which nodes
    coordinates: Floats
    fitted: DistinctPoints
    side: ColumnSide
    places: Ints  # place among the nodes of every entry: a node at one level
    labels: Codes
    weights: Floats  # weight of every entry in the mean over its graph
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


@stored
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
        return cls(*reduce_points(nodes, kernels, tol, n_jobs))

    def __getstate__(self) -> dict[str, Any]:
        return {"points": self.points, "frame": self.frame}

    @property
    def n_graphs(self) -> int:
        return self.points.n_graphs

    @property
    def n_steps(self) -> int:
        """Number of return probabilities, the first block of features."""
        return next(len(factor.mean) for factor in self.frame.factors if factor.block == 0)

    def compare(self, nodes: NodePoints, tol: float, n_jobs: int | None) -> "ExactComparison":
        """Put nodes of new graphs beside the points."""
        return ExactComparison.of(nodes, self, tol, n_jobs)

    def work(self) -> float:
        """Values of node kernels in all inner products."""
        return float((np.bincount(self.points.labels).astype(float) ** 2).sum())

    def digest(self) -> str:
        """Hash of everything that inner products depend on."""
        points, kernel = self.points, self.frame.tile_kernel
        layout = (kernel.kernels, str(np.dtype(kernel.dtype)), points.n_graphs)
        digest = hashlib.sha256(repr(layout).encode())
        for array in (
            kernel.block_ptr,
            points.coordinates,
            points.labels,
            points.entry_points,
            points.entry_graphs,
            points.entry_weights,
        ):
            digest.update(repr(array.shape).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def of_graphs(self, graphs: Ints) -> "FittedGraphs":
        return FittedGraphs(self.points.of_graphs(graphs), self.frame)

    def of_levels(self, first_codes: Ints, shares: Floats) -> "FittedGraphs":
        return FittedGraphs(self.points.of_levels(first_codes, shares), self.frame)

    def gram(
        self,
        rows: slice | None = None,
        columns: slice | None = None,
        n_jobs: int | None = None,
    ) -> Floats:
        rows, columns = (own or slice(0, self.n_graphs) for own in (rows, columns))
        x = self.points.of_range(rows.start, rows.stop)
        y = x if rows == columns else self.points.of_range(columns.start, columns.stop)
        return tiled_gram(x, y, self.frame.tile_kernel, n_jobs, self.is_rare)

    @cached_property
    def is_rare(self) -> Flags:
        return rare_labels(self.points)

    @cached_property
    def table(self) -> Any:
        return _core.table_of(self.points.coordinates, self.points.labels, self.frame.radius)

    @cached_property
    def near_side(self) -> ColumnSide:
        return ColumnSide.of(self.points, self.frame.tile_kernel, self.is_rare)

    @cached_property
    def far_side(self) -> ColumnSide:
        """The same for graphs that leave the frame: in float64, with new coordinates of zero."""
        return ColumnSide.of(self.far_points, self.far_kernel, self.is_rare)

    @cached_property
    def far_points(self) -> DistinctPoints:
        none = np.zeros((len(self.points), len(self.frame.factors)))
        return self.points.with_coordinates(self.add_tails(self.points.coordinates, none))

    @property
    def far_kernel(self) -> TileKernel:
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
class ExactComparison:
    """New graphs in the frame of fitted ones."""

    nodes: NodePoints  # their nodes
    fitted: FittedGraphs  # the fitted graphs
    coordinates: Floats  # (n_nodes, n_coordinates): in the frame
    tails: Floats  # (n_nodes, n_factors): distances from the space of the frame
    is_far: Flags  # (n_graphs,): whether the tails are too long to be dropped
    tol: float
    n_jobs: int | None

    @classmethod
    def of(
        cls, nodes: NodePoints, fitted: FittedGraphs, tol: float, n_jobs: int | None
    ) -> "ExactComparison":
        frame = fitted.frame
        coordinates, tails, sizes = _project(nodes, frame, n_jobs)
        moves = _means(nodes, tails.sum(axis=1))
        # rounding moves nodes too, those that lie further out than the fitted ones by more
        unit = _UNIT_32 if np.dtype(frame.dtype) == np.float32 else _ROUNDING_64
        moves += unit * np.maximum(_means(nodes, sizes) - frame.size, 0.0)
        is_far = moves > frame.tail_budget
        _snap(nodes, coordinates, fitted, moves)
        return cls(nodes, fitted, coordinates, tails, is_far, tol, n_jobs)

    def products(self) -> Floats:
        shape = (self.nodes.n_graphs, self.fitted.n_graphs)
        remedy = "transform fewer graphs at a time"
        check_room(8 * shape[0] * shape[1], "the kernel matrix", remedy)
        gram = np.zeros(shape)
        graph_of_node = self.nodes.graph_of_node()
        for part in self.parts():
            graphs = graph_of_node[part.chosen]
            tiled, looped = part.rows(graphs, len(gram))
            if tiled is not None:
                add_products(tiled, part.side, gram, self.n_jobs)
            if looped is not None:
                add_rare(looped, part.fitted, part.side.kernel, gram, False, self.n_jobs)
        return gram

    def parts(self) -> Iterator[ComparedNodes]:
        is_far = self.is_far[self.nodes.graph_of_node()]
        near, far = np.flatnonzero(~is_far), np.flatnonzero(is_far)
        fitted = self.fitted
        if len(near):
            points = (self.coordinates[near], fitted.points, fitted.near_side)
            yield ComparedNodes(near, *points, *self._entries(near), fitted.is_rare)
        if len(far):
            wide = fitted.add_tails(self.coordinates[far], self.tails[far])
            points = (wide, fitted.far_points, fitted.far_side)
            yield ComparedNodes(far, *points, *self._entries(far), fitted.is_rare)

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

    def squared_norms(self) -> Floats:
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
            norms[g] = self._large_norm(int(g))
        return norms

    def _large_norm(self, g: int) -> float:
        own, frame = self.nodes.of_graphs(np.array([g])), self.fitted.frame
        if self.is_far[g]:
            kernels = [f.kernel for f in sorted(frame.factors, key=lambda factor: factor.block)]
            points, frame = reduce_points(own, kernels, self.tol, self.n_jobs)
        else:
            nodes = slice(self.nodes.node_ptr[g], self.nodes.node_ptr[g + 1])
            points = distinct_points(own, self.coordinates[nodes], 1e-13)
        return float(tiled_gram(points, points, frame.tile_kernel, self.n_jobs)[0, 0])

    def node_values(self, weights: Floats, own_weights: Floats) -> Floats:
        """
        ``<phi(v), sum_H weights[G, H] m_H + own_weights[G] m_G>`` of every node v of new graphs G.

        Nodes stand where they stand for the inner products of their graphs, so that means over the
        nodes of a graph are those inner products but for rounding (but for `tol`, in squared norms
        of graphs of many nodes).
        """
        graphs, n_nodes = self.nodes.graph_of_node(), self.nodes.n_nodes
        weights, values = np.ascontiguousarray(weights, np.float64), np.zeros(n_nodes)
        for part in self.parts():
            tiled, looped = part.rows(part.chosen, n_nodes)
            if tiled is not None:
                found = entry_values(tiled, part.side, graphs, weights, self.n_jobs)
                values += np.bincount(tiled.graphs, found, n_nodes)
            if looped is not None:
                beside = (part.fitted, part.side.kernel, graphs, weights)
                add_rare_node_values(looped, *beside, values, self.n_jobs)
        values *= np.diff(self.nodes.node_ptr)[graphs]  # rows are shares of the mean over the graph
        return values + own_weights[graphs] * self._own_products()

    def _own_products(self) -> Floats:
        """``<phi(v), m_G>`` of every node v with the graph G that it is in."""
        nodes, products = self.nodes, np.zeros(self.nodes.n_nodes)
        near, far = np.flatnonzero(~self.is_far), np.flatnonzero(self.is_far)
        kernel = self.fitted.frame.tile_kernel
        _fill_own_products(nodes, self.coordinates, kernel, near, products, self.n_jobs)
        if len(far):
            own = nodes.of_graphs(far)
            found = np.zeros(own.n_nodes)
            scaled = all_features(own, self.fitted.frame)
            _fill_own_products(own, *scaled, np.arange(len(far)), found, self.n_jobs)
            products[self.is_far[nodes.graph_of_node()]] = found
        return products


def _means(nodes: NodePoints, values: Floats) -> Floats:
    """Means over the nodes of every graph, added up in their order."""
    totals = np.bincount(nodes.graph_of_node(), values, nodes.n_graphs)
    return np.asarray(totals / np.diff(nodes.node_ptr))


def _project(nodes: NodePoints, frame: Frame, n_jobs: int | None) -> tuple[Floats, Floats, Floats]:
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

    run_over_runs(work, nodes.node_ptr, CHUNK_NODES, n_jobs, "coordinates")
    return coordinates, tails, sizes


def _snap(nodes: NodePoints, coordinates: Floats, fitted: FittedGraphs, moves: Floats) -> None:
    """Move nodes onto equal ones and equal fitted points, as far as a budget goes."""
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
    factors = loop_factors(kernel)

    def work(some: Ints) -> None:
        own = np.empty_like(norms)
        for labels, weight, _ in nodes.level_codes():
            _core.norms_of_graphs(coordinates, labels, nodes.node_ptr, some, *factors, own)
            norms[some] += weight * own[some]

    _run_over_graphs(work, nodes, graphs, n_jobs, "squared norms")


def _fill_own_products(
    nodes: NodePoints,
    coordinates: Floats,
    kernel: TileKernel,
    graphs: Ints,
    products: Floats,
    n_jobs: int | None,
) -> None:
    factors, levels = loop_factors(kernel), nodes.level_codes()

    def work(some: Ints) -> None:
        for labels, weight, _ in levels:
            own = (coordinates, labels, nodes.node_ptr, some)
            _core.add_own_products(*own, *factors, weight, products)

    _run_over_graphs(work, nodes, graphs, n_jobs, "values of nodes")


def _run_over_graphs(
    work: Callable[[Ints], None], nodes: NodePoints, graphs: Ints, n_jobs: int | None, text: str
) -> None:
    parts = np.array_split(graphs, max(1, len(graphs) // 64)) if len(graphs) else []
    sizes = np.diff(nodes.node_ptr).astype(float)
    costs = [float((sizes[part] ** 2).sum()) for part in parts]
    run_tasks(work, [(part,) for part in parts], costs, n_jobs, text)
