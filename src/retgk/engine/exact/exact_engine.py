"""RetGK_I as an engine: inner products over all pairs of nodes, within a promised error."""

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Self

import numpy as np

from retgk.array_types import Codes, Floats, Ints
from retgk.engine.attribute_scaling import AttributeScaling, ScaleAttributes, check_scaling
from retgk.engine.exact.exact_state import exact_state, restored_graphs
from retgk.engine.exact.fitted_graphs import FittedGraphs, NewGraphs
from retgk.engine.exact.node_points import (
    AttributeKernel,
    NodePoints,
    attribute_blocks,
    check_node_kernel,
    label_codes,
    node_points,
)
from retgk.engine.exact.reduction import RoundingError
from retgk.engine.exact.values_of_nodes import node_values
from retgk.engine.fitted_state import FittedState
from retgk.engine.label_levels import LabelLevels, check_depth
from retgk.engine.node_features import (
    NodeFeatures,
    check_attribute_sizes,
    check_polynomial,
    largest_attribute,
)
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import offsets
from retgk.graphs.validation import check_alike
from retgk.kernels.node_kernels import Laplacian, NodeKernel
from retgk.runtime.memory import check_room
from retgk.runtime.parallel import n_threads
from retgk.runtime.seeds import RandomState, whole_seed

__all__ = ["DEFAULT_TOL", "ExactComparison", "ExactEngine"]

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

    def fit(self, features: NodeFeatures, keep: Ints | None = None) -> Self:
        """Find bandwidths on all graphs, and keep the reduced points of all or of some."""
        batch = features.batch
        self.check(batch)
        check_attribute_sizes(features.batch)
        kernels = self._fit_blocks(batch)
        self.label_names = batch.label_names
        self._has_labels = batch.has_labels
        self._norms = self._means = None
        self._levels = LabelLevels(int(self.depth), self.level_weights)
        codes = label_codes(batch, self.label_names)
        n_labels = max(1, len(self.label_names))
        levels = self._levels.fit(batch, _or_zeros(codes, batch), n_labels, features.n_jobs)
        points = node_points(self._scaling(features), self._columns, codes, levels)
        given = [self.structure_kernel or Laplacian("median"), *kernels]
        self.kernels = [
            kernel.fitted(block, batch.node_ptr, self.random_state)
            for kernel, block in zip(given, points.blocks, strict=True)
        ]
        self._check_polynomials(points, features)
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

    def _check_polynomials(self, points: NodePoints, features: NodeFeatures) -> None:
        """Raise if a polynomial kernel is too large for its nodes to be a number."""
        for kernel, block in zip(self.kernels, points.blocks, strict=True):
            check_polynomial(kernel, block, features.batch)

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

    def compare(self, features: NodeFeatures) -> ExactComparison:
        """Put new graphs beside the kept ones."""
        check_alike(features.batch, self._has_labels, self.n_attributes)
        features.check_steps(self._graphs.n_steps)
        check_attribute_sizes(features.batch)
        points = self._points(features)
        self._check_polynomials(points, features)
        graphs = NewGraphs.of(points, self._graphs, features.n_jobs)
        return ExactComparison(graphs, self.tol)

    def level_products(self) -> list[Floats]:
        """Inner products of the kept graphs at each level of refined labels, the label first."""
        first, weights = self._first_codes(), self._levels.weights
        found = []
        for level in range(len(weights)):
            shares = np.zeros(len(weights))
            shares[level] = 1 / np.sqrt(weights[level])
            found.append(self._graphs.of_levels(first, shares).gram(n_jobs=self.n_jobs))
        return found

    def at_depth(self, depth: int) -> Self:
        """Engine with the same graphs whose labels are refined by fewer rounds."""
        other = copy(self)
        other.depth, other.level_weights, other._norms, other._means = depth, None, None, None
        other._levels = self._levels.at_depth(depth)
        shares = np.zeros(self.depth + 1)
        old, new = self._levels.weights, other._levels.weights
        shares[: depth + 1] = np.sqrt(new / old[: depth + 1])
        other._graphs = self._graphs.of_levels(self._first_codes(), shares)
        return other

    def with_norms(self, norms: Floats) -> Self:
        """Engine that knows the squared norms of its graphs."""
        other = copy(self)
        other._norms = norms
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
