"""RetGK_I as an engine: inner products over all pairs of nodes, within a promised error."""

import hashlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk._runtime.names import RandomState, whole_seed
from retgk._runtime.parallel import n_threads, run_tasks
from retgk._runtime.processes import check_room
from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch, check_alike
from retgk.graphs.flat import offsets
from retgk.kernels.engine import (
    AttributeScaling,
    FittedState,
    NodeFeatures,
    ScaleAttributes,
    check_attribute_sizes,
    check_kernel_values,
    check_scaling,
    largest_attribute,
)
from retgk.kernels.exact_graphs import FittedGraphs, NewGraphs, all_features
from retgk.kernels.exact_points import (
    NO_COLOUR,
    AttributeKernel,
    DistinctPoints,
    NodePoints,
    attribute_blocks,
    label_codes,
    node_points,
)
from retgk.kernels.exact_reduction import Factor, Frame, RoundingError, TileKernel, factor_order
from retgk.kernels.exact_tiling import add_rare_node_values, entry_values, loop_factors
from retgk.kernels.node import Laplacian, NodeKernel, check_node_kernel
from retgk.kernels.refinement import LabelLevels, Levels, check_depth

# -------------------------------------------------------------------------------------------------
# Reduced points of fitted graphs as plain values and arrays, and back with every check.
# -------------------------------------------------------------------------------------------------

_LIMITS = ("budget", "tail_budget", "size", "radius")
_ROUNDING = 1e-9  # weights of a graph may sum up to so much more than one


def exact_state(graphs: FittedGraphs, squared_norms: Floats) -> FittedState:
    """State of fitted graphs."""
    points, frame = graphs.points, graphs.frame
    arrays: dict[str, NDArray[Any]] = {
        "squared_norms": squared_norms,
        "coordinates": points.coordinates,
        "labels": points.labels,
        "entry_points": points.entry_points,
        "entry_graphs": points.entry_graphs,
        "entry_weights": points.entry_weights,
    }
    for factor in frame.factors:
        arrays[f"mean_{factor.block}"] = factor.mean
        if factor.basis is not None:
            arrays[f"basis_{factor.block}"] = factor.basis
    limits = {name: float(getattr(frame, name)) for name in _LIMITS}
    return FittedState({"precision": np.dtype(frame.dtype).name, **limits}, arrays)


def restored_graphs(
    state: FittedState, kernels: Sequence[NodeKernel], widths: Sequence[int], levels: Levels
) -> tuple[FittedGraphs, Floats]:
    """Fitted graphs and their squared norms; anything that does not fit is an error."""
    norms = state.take_array("squared_norms", np.float64, (None,))
    frame = _restored_frame(state, kernels, widths)
    return FittedGraphs(_restored_points(state, frame, levels, len(norms)), frame), norms


def _restored_frame(
    state: FittedState, kernels: Sequence[NodeKernel], widths: Sequence[int]
) -> Frame:
    factors = tuple(
        Factor(
            b,
            kernels[b],
            state.take_array(f"mean_{b}", np.float64, (widths[b],)),
            _restored_basis(state, b, widths[b]),
        )
        for b in factor_order(kernels, widths)
    )
    precision = state.take_choice("precision", ("float32", "float64"))
    dtype = np.float32 if precision == "float32" else np.float64
    limits = [state.take_value(name, float) for name in _LIMITS]
    if not (np.isfinite(limits).all() and min(limits) >= 0 and limits[-1] > 0):
        raise InvalidInputError(f"{', '.join(_LIMITS)} are {limits}, which cannot be")
    return Frame(factors, dtype, *limits)


def _restored_basis(state: FittedState, b: int, width: int) -> Floats | None:
    name = f"basis_{b}"
    if name not in state.arrays:
        return None
    basis = state.take_array(name, np.float64, (width, None))
    if not 1 <= basis.shape[1] < width:
        raise InvalidInputError(f"{name!r} has {basis.shape[1]} directions of {width}")
    return basis


def _restored_points(
    state: FittedState, frame: Frame, levels: Levels, n_graphs: int
) -> DistinctPoints:
    coordinates = state.take_array("coordinates", np.float64, (None, int(frame.block_ptr[-1])))
    labels = state.take_array("labels", np.int32, (len(coordinates),))
    entry_points = state.take_array("entry_points", np.int64, (None,))
    entry_graphs = state.take_array("entry_graphs", np.int64, (len(entry_points),))
    weights = state.take_array("entry_weights", np.float64, (len(entry_points),))
    if (
        len(labels) == 0
        or (np.diff(labels) < 0).any()
        or not 0 <= labels[0] <= labels[-1] < sum(levels.n_known)
    ):
        raise InvalidInputError("'labels' are not rising codes of 'label_names'")
    _check_entries(entry_points, entry_graphs, len(labels), n_graphs)
    totals = np.bincount(entry_graphs, weights, n_graphs)
    total = np.sqrt(levels.weights).sum()
    if not (weights > 0).all() or not (np.abs(totals - total) <= _ROUNDING * total).all():
        raise InvalidInputError("'entry_weights' are not shares of the nodes of graphs")
    first_colour = levels.n_known[0] if len(levels.n_known) > 1 else NO_COLOUR
    return DistinctPoints(
        coordinates, labels, entry_points, entry_graphs, weights, n_graphs, first_colour
    )


def _check_entries(points: Ints, graphs: Ints, n_points: int, n_graphs: int) -> None:
    """Raise unless every point occurs, and its graphs rise."""
    steps = np.diff(points)
    is_complete = len(points) and points[0] == 0 and points[-1] == n_points - 1
    if not is_complete or ((steps != 0) & (steps != 1)).any():
        raise InvalidInputError("'entry_points' does not rise through all points")
    if not 0 <= graphs.min() <= graphs.max() < n_graphs:
        raise InvalidInputError(f"'entry_graphs' has graphs that are not among {n_graphs}")
    if (np.diff(graphs)[steps == 0] <= 0).any():
        raise InvalidInputError("'entry_graphs' does not rise within each point")


# -------------------------------------------------------------------------------------------------
# Values of single nodes of new graphs: inner products with sums of mean embeddings.
# -------------------------------------------------------------------------------------------------


def node_values(new: NewGraphs, weights: Floats, own_weights: Floats) -> Floats:
    """
    ``<phi(v), sum_H weights[G, H] m_H + own_weights[G] m_G>`` of every node v of new graphs G.

    Nodes stand where they stand for the inner products of their graphs, so that means over the
    nodes of a graph are those inner products but for rounding (but for `tol`, in squared norms of
    graphs of many nodes).
    """
    graphs, n_nodes = new.nodes.graph_of_node(), new.nodes.n_nodes
    weights, values = np.ascontiguousarray(weights, np.float64), np.zeros(n_nodes)
    for part in new.parts():
        tiled, looped = part.rows(part.chosen, n_nodes)
        if tiled is not None:
            found = entry_values(tiled, part.side, graphs, weights, new.n_jobs)
            values += np.bincount(tiled.graphs, found, n_nodes)
        if looped is not None:
            beside = (part.fitted, part.side.kernel, graphs, weights)
            add_rare_node_values(looped, *beside, values, new.n_jobs)
    values *= np.diff(new.nodes.node_ptr)[graphs]  # rows are shares of the mean over the graph
    return values + own_weights[graphs] * _own_products(new)


def _own_products(new: NewGraphs) -> Floats:
    """``<phi(v), m_G>`` of every node v with the graph G that it is in."""
    nodes, products = new.nodes, np.zeros(new.nodes.n_nodes)
    near, far = np.flatnonzero(~new.is_far), np.flatnonzero(new.is_far)
    kernel = new.fitted.frame.tile_kernel
    _fill_own_products(nodes, new.coordinates, kernel, near, products, new.n_jobs)
    if len(far):
        own = nodes.of_graphs(far)
        found = np.zeros(own.n_nodes)
        placed = all_features(own, new.fitted.frame)
        _fill_own_products(own, *placed, np.arange(len(far)), found, new.n_jobs)
        products[new.is_far[nodes.graph_of_node()]] = found
    return products


def _fill_own_products(
    nodes: NodePoints,
    coordinates: Floats,
    kernel: TileKernel,
    graphs: Ints,
    products: Floats,
    n_jobs: int | None,
) -> None:
    """Find the products of the nodes of some graphs, each by a double loop over its nodes."""
    factors, levels = loop_factors(kernel), nodes.level_codes()

    def work(some: Ints) -> None:
        for labels, weight, _ in levels:
            own = (coordinates, labels, nodes.node_ptr, some)
            _core.add_own_products(*own, *factors, weight, products)

    parts = np.array_split(graphs, max(1, len(graphs) // 64)) if len(graphs) else []
    sizes = np.diff(nodes.node_ptr).astype(float)
    costs = [float((sizes[part] ** 2).sum()) for part in parts]
    run_tasks(work, [(part,) for part in parts], costs, n_jobs, "values of nodes")


DEFAULT_TOL = 1e-4


@dataclass(frozen=True, eq=False)
class ExactComparison:
    """New graphs in the frame of fitted ones."""

    graphs: NewGraphs
    tol: float

    def products(self) -> Floats:
        """``<m_G, m_H>`` of new graphs G with fitted graphs H, shape (n_new, n_fitted)."""
        size = 8 * self.graphs.nodes.n_graphs * self.graphs.fitted.n_graphs
        remedy = Remedy("fewer_graphs", "transform fewer graphs at a time")
        check_room(size, "the kernel matrix", remedy)
        return self.graphs.products()

    def squared_norms(self) -> Floats:
        """``<m_G, m_G>`` of the new graphs, shape (n_new,)."""
        return self.graphs.squared_norms(self.tol)

    def node_values(self, weights: Floats, own_weights: Floats) -> Floats:
        """``<phi(v), u_G>`` of all nodes for sums u_G of mean embeddings, shape (n_nodes,)."""
        return node_values(self.graphs, weights, own_weights)


class ExactEngine:
    """
    Mean embeddings by their exact inner products.

    The node kernel is a product of kernels of return probabilities and of blocks of attributes,
    and of the Delta kernel of labels, over whatever the graphs have.

    Parameters
    ----------
    structure_kernel : Laplacian, Gaussian, Polynomial or None
        Kernel of return probabilities. None is ``Laplacian("median")``.
    attribute_kernel : node kernel, dict or None
        Kernel of attributes; or, by name, tuples of the columns of a block and its kernel. None is
        ``Laplacian("dimension")`` where graphs have attributes.
    scale_attributes : {"raw", "standard", "drop"} or dict
        How attributes enter; by name of a block of `attribute_kernel`, if that is a dict.
    depth, level_weights : int, sequence of float or None
        Rounds by which labels are refined, and the weights of the levels.
    tol : float
        No inner product is off by more, of fitted or of new graphs.
    n_jobs : int or None
        Threads. They change no bit of any result.
    random_state : int, Generator, RandomState or None
        Draws the nodes for a median.

    Attributes
    ----------
    kernels : list of node kernel
        Of return probabilities and of every block of attributes, with the bandwidths found.
    label_names : tuple of hashable
        Labels of the fitted graphs.
    """

    def __init__(
        self,
        structure_kernel: NodeKernel | None = None,
        attribute_kernel: AttributeKernel = None,
        *,
        scale_attributes: ScaleAttributes = "raw",
        depth: int = 0,
        level_weights: Sequence[float] | None = None,
        tol: float = DEFAULT_TOL,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.structure_kernel = structure_kernel
        self.attribute_kernel = attribute_kernel
        self.scale_attributes = scale_attributes
        self.depth = depth
        self.level_weights = level_weights
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.kernels: list[NodeKernel] = []
        self.label_names: tuple[Hashable, ...] = ()
        self._has_labels = False
        self.n_attributes = 0
        self._scaling = AttributeScaling()
        self._levels = LabelLevels()
        self._columns: list[Ints] = []
        self._norms: Floats | None = None
        self._means: Floats | None = None

    def check(self, batch: GraphBatch) -> None:
        """Raise unless these graphs can be fitted with the parameters; no work is done."""
        if len(batch) == 0:
            raise InvalidInputError("there are no graphs to fit")
        tol = self.tol
        if isinstance(tol, bool) or not isinstance(tol, Real) or not 0 <= float(tol) < 1:
            raise InvalidInputError(f"tol must be at least 0 and below 1, got {tol!r}")
        n_threads(self.n_jobs)
        check_depth(self.depth, self.level_weights)
        if self.structure_kernel is not None:
            check_node_kernel(self.structure_kernel, "structure_kernel")
        self._checked_blocks(batch.n_attributes)

    def _checked_blocks(self, n_attributes: int) -> list[tuple[Ints, NodeKernel]]:
        """Columns and kernel of every block of attributes that is used."""
        check_scaling(self.scale_attributes, self._block_names)
        is_dropped = self.scale_attributes == "drop"
        return attribute_blocks(self.attribute_kernel, 0 if is_dropped else n_attributes)

    @property
    def _block_names(self) -> list[str]:
        given = self.attribute_kernel
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
        given = [self.structure_kernel or Laplacian("median"), *kernels]
        self.kernels = [
            kernel.fitted(block, batch.node_ptr, self.random_state)
            for kernel, block in zip(given, points.blocks, strict=True)
        ]
        self._check_values(points, graphs)
        kept = points if keep is None else points.of_graphs(keep)
        try:
            self._graphs = FittedGraphs.of(kept, self.kernels, self.tol, self.n_jobs)
        except RoundingError as error:
            where = f"; {largest_attribute(batch)}" if batch.n_attributes else ""
            raise InvalidInputError(f"{error}{where}") from error
        return self

    def _fit_blocks(self, batch: GraphBatch) -> list[NodeKernel]:
        """Find how attributes enter; give the kernels of their blocks, bandwidths not yet found."""
        blocks = self._checked_blocks(batch.n_attributes)
        named = dict(zip(self._block_names, (columns for columns, _ in blocks), strict=False))
        self._scaling = AttributeScaling.fitted(self.scale_attributes, batch.attributes, named)
        self.n_attributes = batch.n_attributes
        self._columns = [columns for columns, _ in blocks]
        return [kernel for _, kernel in blocks]

    def attribute_points(self, features: NodeFeatures) -> list[tuple[Floats, NodeKernel]]:
        """Scaled attributes of all nodes and the kernel, bandwidth not yet found, of each block."""
        other = copy(self)
        kernels = other._fit_blocks(features.batch)
        attributes = other._scaling(features).batch.attributes
        points = [attributes[:, columns] for columns in other._columns]
        return list(zip(points, kernels, strict=True))

    def _check_values(self, points: NodePoints, features: NodeFeatures) -> None:
        """Raise if a kernel is too large for its nodes to be a number."""
        for kernel, block in zip(self.kernels, points.blocks, strict=True):
            check_kernel_values(kernel, block, features.batch)

    @property
    def walk_seed(self) -> int:
        """Seed of Monte Carlo walks: that of the engine, where it is a whole number, else 0."""
        return whole_seed(self.random_state) if isinstance(self.random_state, Integral) else 0

    @property
    def n_graphs(self) -> int:
        """Number of graphs that are kept."""
        return self._graphs.n_graphs

    def inner_products(self, rows: slice | None = None, columns: slice | None = None) -> Floats:
        """``<m_G, m_H>`` among the kept graphs, or a block of that matrix."""
        products = self._graphs.gram(rows, columns, self.n_jobs)
        if rows is None and columns is None:
            self._norms = products.diagonal().copy()
        return products

    def squared_norms(self) -> Floats:
        """``<m_G, m_G>`` of the kept graphs: the diagonal of their inner products."""
        if self._norms is None:
            self.inner_products()
        assert self._norms is not None
        return self._norms

    def mean_products(self) -> Floats:
        """``<m_G, m_0>`` of the kept graphs with their mean; kept, as it takes all their pairs."""
        if self._means is None:
            self._means = self._graphs.gram(n_jobs=self.n_jobs).mean(axis=1)
        return self._means

    def compare(self, graphs: NodeFeatures) -> ExactComparison:
        """Put new graphs beside the kept ones."""
        check_alike(graphs.batch, self._has_labels, self.n_attributes)
        graphs.check_steps(self._graphs.n_steps)
        check_attribute_sizes(graphs.batch)
        points = self._points(graphs)
        self._check_values(points, graphs)
        return ExactComparison(NewGraphs.of(points, self._graphs, graphs.n_jobs), self.tol)

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
        """First label of every level among the points, and the one after the last."""
        return offsets(self._levels.known_levels(max(1, len(self.label_names))).n_known)

    def keep(self, graphs: Ints) -> Self:
        """Engine with some of the kept graphs, in the order given."""
        kept = copy(self)
        kept._graphs = self._graphs.of_graphs(graphs)
        kept._norms = None if self._norms is None else self._norms[graphs]
        kept._means = None
        return kept

    def work(self) -> float:
        """Values of node kernels in all inner products of the kept graphs."""
        return float((np.bincount(self._graphs.points.labels).astype(float) ** 2).sum())

    def digest(self) -> str:
        """Hash of everything that the inner products of the kept graphs depend on."""
        points, kernel = self._graphs.points, self._graphs.frame.tile_kernel
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

    def state(self) -> FittedState:
        """Everything that `compare` needs; inner products of the kept graphs are found again."""
        state = exact_state(self._graphs, self.squared_norms())
        for part in (self._scaling.state(), self._levels.state()):
            state.arrays |= part.arrays
            state.values |= part.values
        state.values |= {
            "structure_kernel": self.kernels[0],
            **{f"attribute_kernel_{b}": own for b, own in enumerate(self.kernels[1:])},
            "label_names": tuple(self.label_names),
            "has_labels": self._has_labels,
            "n_attributes": self.n_attributes,
        }
        return state

    def restore(self, state: FittedState, n_steps: int) -> Self:
        """Take the state of a fitted engine with the same parameters, after checking all of it."""
        structure = state.take_node_kernel("structure_kernel")
        self.label_names = state.take_names("label_names")
        self._has_labels = state.take_value("has_labels", bool)
        self.n_attributes = state.take_attribute_count()
        self._scaling = AttributeScaling.restored(state, self.n_attributes)
        check_depth(self.depth, self.level_weights)
        self._levels = LabelLevels(int(self.depth), self.level_weights)
        self._levels.restore(state)
        self._columns = self._restored_columns(state)
        self.kernels = [
            structure,
            *(state.take_node_kernel(f"attribute_kernel_{b}") for b in range(len(self._columns))),
        ]
        widths = [n_steps, *map(len, self._columns)]
        n_labels = max(1, len(self.label_names)) if self._has_labels else 1
        levels = self._levels.known_levels(n_labels)
        self._graphs, self._norms = restored_graphs(state, self.kernels, widths, levels)
        return self

    def _restored_columns(self, state: FittedState) -> list[Ints]:
        """Columns of the blocks of attributes, which the parameters tell."""
        given = self.attribute_kernel
        n_stored = sum(name.startswith("attribute_kernel_") for name in state.values)
        # before memory is given to each
        if given is not None and not isinstance(given, NodeKernel) and len(given) != n_stored:
            raise InvalidInputError(
                f"attribute_kernel has {len(given)} blocks, but kernels are there for {n_stored}"
            )
        n_used = self._scaling.n_used(self.n_attributes)
        return [columns for columns, _ in attribute_blocks(given, n_used)]

    def _points(self, features: NodeFeatures) -> NodePoints:
        batch = features.batch
        codes = label_codes(batch, self.label_names)
        levels = self._levels.of(batch, _or_zeros(codes, batch), features.n_jobs)
        return node_points(self._scaling(features), self._columns, codes, levels)


def _or_zeros(codes: Codes | None, batch: GraphBatch) -> Codes:
    """Labels, or one for all nodes."""
    return np.zeros(batch.n_nodes, np.int32) if codes is None else codes
