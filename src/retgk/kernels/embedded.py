"""RetGK_II as an engine: explicit vectors whose inner products approximate the kernel."""

import hashlib
from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bsr_array

from retgk import _core
from retgk._runtime.fields import check_names, check_shape, stored
from retgk._runtime.names import MAX_SEED, RandomState, seed_from
from retgk._runtime.parameters import EVERYWHERE, MAX_ATTRIBUTES, VECTORS, check_parameters
from retgk.array_types import Codes, Flags, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, check_alike
from retgk.graphs.flat import chunks, graph_of, recode
from retgk.kernels.embedded_fourier import (
    Draw,
    FourierMap,
    draw_fourier_map,
    fit_attribute_kernel,
    fit_structure_kernel,
)
from retgk.kernels.embedded_vectors import (
    compiled_maps,
    dense_vectors,
    embedding_gram,
    graph_vectors,
    joined_vectors,
    phase_values,
    phase_vectors,
    squared_vector_norms,
    vectors_of,
)
from retgk.kernels.engine import (
    AttributeScaling,
    NodeFeatures,
    Scaling,
    check_attribute_sizes,
    check_scaling,
)
from retgk.kernels.node import NodeKernel, check_fourier_kernel
from retgk.kernels.refinement import (
    Keys,
    LabelLevels,
    check_depth,
    check_edges_alike,
    colour_keys,
    keys_of_names,
)

# New graphs beside fitted ones, as vectors of random Fourier features.

_PIECE_NUMBERS = 1 << 21  # of the vectors of the nodes that are in memory at a time


@dataclass(frozen=True, eq=False)
class EmbeddedComparison:
    """Vectors of new graphs beside those of fitted ones."""

    vectors: bsr_array  # (n_new, n_features)
    fitted: bsr_array  # (n_fitted, n_features)
    features: NodeFeatures  # the new graphs
    node_vectors: Callable[[NodeFeatures, slice], bsr_array]
    """Gives the vectors of a range of the nodes of some graphs; each has one block, or none for a
    label that is not known."""
    phase_values: Callable[[NodeFeatures, NDArray[Any]], Floats] | None = None
    """Gives the inner products of all nodes with a vector for each graph at once, where labels
    turn phases and every graph has one block."""

    def products(self) -> Floats:
        return embedding_gram(self.vectors, self.fitted, n_jobs=self.features.n_jobs)

    def squared_norms(self) -> Floats:
        return squared_vector_norms(self.vectors)

    def node_values(self, weights: Floats, own_weights: Floats) -> Floats:
        directions = self._directions(weights, own_weights)
        if self.phase_values is not None:
            return self.phase_values(self.features, directions)
        ptr = self.features.batch.node_ptr
        values, size = np.zeros(int(ptr[-1])), max(1, _PIECE_NUMBERS // directions.shape[1])
        graph_of_node = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        for first, last in chunks(ptr, size):
            piece = self.features.of_graphs(np.arange(first, last))
            for start in range(ptr[first], ptr[last], size):  # a single graph may be larger
                own = slice(start, min(start + size, ptr[last]))
                within = slice(own.start - ptr[first], own.stop - ptr[first])
                nodes = self.node_vectors(piece, within)
                self._fill(nodes, graph_of_node[own], directions, values[own])
        return values

    def _directions(self, weights: Floats, own_weights: Floats) -> NDArray[Any]:
        """Sums u_G, for the labels of their graphs alone: in blocks like those of `vectors`."""
        directions = np.zeros_like(self.vectors.data[:, 0])
        graphs, fitted = _graph_of_block(self.vectors), _graph_of_block(self.fitted)
        for label in np.unique(self.vectors.indices):
            own = np.flatnonzero(self.vectors.indices == label)
            others = np.flatnonzero(self.fitted.indices == label)
            if len(others):
                is_all = len(own) == len(weights) and len(others) == weights.shape[1]
                x = weights if is_all else weights[np.ix_(graphs[own], fitted[others])]
                y = self.fitted.data[others, 0].T
                directions[own] = embedding_gram(x, y, n_jobs=self.features.n_jobs)
        directions += own_weights[graphs, None] * self.vectors.data[:, 0]
        return directions

    def _fill(self, nodes: bsr_array, graphs: Ints, directions: Any, values: Floats) -> None:
        n_labels = self.vectors.shape[1] // self.vectors.blocksize[1]
        keys = _graph_of_block(self.vectors) * n_labels + self.vectors.indices
        places = _graph_of_block(nodes)
        blocks = np.searchsorted(keys, graphs[places] * n_labels + nodes.indices)
        _core.write_row_dots(nodes.data[:, 0], places, directions, blocks, values)


def _graph_of_block(vectors: bsr_array) -> Ints:
    return np.repeat(np.arange(vectors.shape[0]), np.diff(vectors.indptr))


# Keys and shares of all levels of labels, for vectors in which labels turn phases.

_LEVEL_STEP = np.uint64(0xA0761D6478BD642F)  # a label and a colour never share their phases


@stored
@dataclass(frozen=True)
class LabelPhases:
    """What the phases of labels depend on beside the labels."""

    seed: int = 0  # key of the hash that gives each label its phases
    depth: int = 0  # rounds of refinement; 0 for plain labels
    level_weights: Sequence[float] | None = None
    """Weight of each level, labels first; equal ones if None."""
    edge_labels: bool | None = None
    """Whether the edges of the fitted graphs have labels; None if they have no edges."""

    @classmethod
    def fitted(
        cls, batch: GraphBatch, seed: int, depth: int, level_weights: Sequence[float] | None
    ) -> "LabelPhases":
        edge_labels = batch.has_edge_labels if len(batch.indices) else None
        return cls(seed, int(depth), level_weights, edge_labels)

    def keys(self, batch: GraphBatch, n_jobs: int | None) -> tuple[Keys, Floats]:
        """Keys of labels at the levels that count, (n_nodes, n_levels); roots of weights."""
        if self.depth and self.edge_labels is not None and len(batch.indices):
            check_edges_alike(batch.has_edge_labels, self.edge_labels)
        names: Sequence[Any] = batch.label_names if batch.has_labels else (None,)
        labels = keys_of_names(names, self.seed)[batch.labels]
        shares = np.sqrt(LabelLevels(self.depth, self.level_weights).weights)
        levels = np.flatnonzero(shares)
        found = colour_keys(batch, labels, self.depth, self.seed, n_jobs)
        with np.errstate(over="ignore"):
            keys = [found[level] + np.uint64(level) * _LEVEL_STEP for level in levels]
        return np.column_stack(keys), shares[levels]

    def after_loading(self) -> None:
        check_depth(self.depth, self.level_weights)
        if not 0 <= self.seed <= MAX_SEED:
            raise InvalidInputError(f"the seed of phases is {self.seed}")


# Labels of graphs as blocks of columns, and what the columns are called.


def names_in_use(batch: GraphBatch) -> tuple[Hashable, ...] | None:
    """Labels that nodes have, in the order of the vocabulary; None if there are no labels."""
    if not batch.has_labels:
        return None
    counts = np.bincount(batch.labels, minlength=len(batch.label_names))
    return tuple(batch.label_names[code] for code in np.flatnonzero(counts))


def known_codes(
    batch: GraphBatch,
    names: tuple[Hashable, ...] | None,
    unknown: str,
    first_graph: int = 0,
) -> Codes | None:
    """Codes in a fixed vocabulary; labels that it lacks are -1, an error, or one code after it."""
    if names is None:
        return None
    codes = recode(batch.labels, batch.label_names, names)
    missing = codes < 0
    if unknown == "ignore" or not missing.any():
        return codes
    if unknown == "error":
        node = int(np.argmax(missing))
        graph = graph_of(batch.node_ptr, node)
        raise InvalidInputError(
            f"graph {first_graph + graph}: node {node - batch.node_ptr[graph]} has the label "
            f"{batch.label_names[batch.labels[node]]!r}, which fit did not see; set "
            "unknown_labels to 'ignore' or 'column', or add it by partial_fit"
        )
    return np.where(missing, np.int32(len(names)), codes)


def feature_names(
    names: tuple[Hashable, ...] | None, unknown: str, widths: Sequence[int]
) -> NDArray[Any]:
    features = [f"omega{i}" for i in range(widths[0])]
    if len(widths) == 2:
        features = [f"{omega}:nu{j}" for omega in features for j in range(widths[1])]
    if names is None:
        return np.array(features, dtype=object)
    labels = [f"label={name}:" for name in names] + ["label?:"] * (unknown == "column")
    return np.array([label + feature for label in labels for feature in features], dtype=object)


def wave_names(n_frequencies: int) -> NDArray[Any]:
    names = [f"omega{i}:{wave}" for wave in ("cos", "sin") for i in range(n_frequencies)]
    return np.array(names, dtype=object)


FeatureMap = Literal["joint", "tensor", "phases"]
UnknownLabels = Literal["ignore", "error", "column"]


@stored
@dataclass(eq=False, repr=False)
class EmbeddedEngine:
    """
    Mean embeddings as explicit vectors of random Fourier features.

    The parameters are those of `RetGKEmbedding`.
    """

    structure: NodeKernel | None = None
    attributes: NodeKernel | None = None
    scale_attributes: Scaling = "raw"
    depth: int = 0
    level_weights: Sequence[float] | None = None
    feature_map: FeatureMap = "joint"
    n_components: int | tuple[int, int] = 200
    frequencies: Draw = "orthogonal"
    unknown_labels: UnknownLabels = "ignore"
    dtype: Any = np.float64
    batch_size: int | None = None
    n_jobs: int | None = None
    random_state: RandomState = None
    structure_: NodeKernel = field(init=False)
    attributes_: NodeKernel | None = field(init=False)
    label_names: tuple[Hashable, ...] | None = field(init=False, default=None)
    """In the order of their blocks; None if graphs have none."""
    n_attributes: int = field(init=False, default=0)
    scaling: AttributeScaling = field(init=False, default_factory=AttributeScaling)
    maps: tuple[FourierMap, ...] = field(init=False, default=())
    phases: LabelPhases = field(init=False, default_factory=LabelPhases)
    vectors: bsr_array = field(init=False)  # of the kept graphs, shape (n_graphs, n_features)
    seed: int = field(init=False)

    unsaved_fields: ClassVar[tuple[str, ...]] = ("n_jobs", "random_state")

    def __post_init__(self) -> None:
        self.seed = int(seed_from(self.random_state))

    def check(self, batch: GraphBatch) -> None:
        self._check_parameters()
        if len(batch) == 0:
            raise InvalidInputError("there are no graphs to fit; give at least one")
        check_scaling(self.scale_attributes, ())
        n_used = 0 if self.scale_attributes == "drop" else batch.n_attributes
        if n_used == 0 and self.attributes is not None:
            raise InvalidInputError(
                f"the graphs have no attributes for attributes={self.attributes!r}; "
                "leave it out, or give the graphs attributes"
            )

    def fit(self, graphs: NodeFeatures, keep: Ints | None = None) -> Self:
        batch = graphs.batch
        self.check(batch)
        check_attribute_sizes(batch)
        self.scaling = AttributeScaling.fitted(self.scale_attributes, batch.attributes, {})
        rng = np.random.default_rng(self.seed)
        rng.integers(2**63)  # the seed of walks
        used = self.scaling(graphs).batch
        self.attributes_ = fit_attribute_kernel(self.attributes, used, rng)
        self.structure_ = fit_structure_kernel(self.structure, graphs, rng)
        self.n_attributes = batch.n_attributes
        self.label_names = names_in_use(batch)
        factors = [(self.structure_, graphs.walks.n_steps)]
        if self.attributes_:
            factors.append((self.attributes_, used.n_attributes))
        parts = [[factor] for factor in factors] if self.feature_map == "tensor" else [factors]
        self.maps = tuple(
            draw_fourier_map(part, n_drawn, self.frequencies, rng)
            for part, n_drawn in zip(parts, self._frequency_counts(), strict=False)
        )
        levels = (self.depth, self.level_weights)
        self.phases = LabelPhases.fitted(batch, int(self.seed) >> 1, *levels)
        self.vectors = self.embed(graphs if keep is None else graphs.of_graphs(keep))
        return self

    def add_labels(self, batch: GraphBatch) -> None:
        check_alike(batch, self.label_names is not None, self.n_attributes)
        if self.label_names is not None:
            more = names_in_use(batch) or ()
            self.label_names = tuple(dict.fromkeys([*self.label_names, *more]))

    @property
    def walk_seed(self) -> int:
        return int(np.random.default_rng(self.seed).integers(2**63))

    @property
    def n_graphs(self) -> int:
        return int(self.vectors.shape[0])

    @property
    def block_width(self) -> int:
        return int(np.prod(self._widths()[: len(self.maps)]))

    @property
    def n_features(self) -> int:
        return self._n_labels * self.block_width

    @property
    def _n_labels(self) -> int:
        if self.label_names is None or self.feature_map == "phases":
            return 1
        return len(self.label_names) + (self.unknown_labels == "column")

    def embed(
        self, features: NodeFeatures, is_sparse: bool = True, batch_size: int | None = None
    ) -> Any:
        check_alike(features.batch, self.label_names is not None, self.n_attributes)
        check_attribute_sizes(features.batch)
        n_inputs = self.maps[0].frequencies.shape[0]
        n_used = self.scaling.n_used(self.n_attributes)
        features.check_steps(n_inputs - (n_used if len(self.maps) == 1 else 0))
        compiled = compiled_maps(self.maps, self.dtype)
        pieces = (
            self._piece_vectors(piece, first, compiled)
            for first, piece in features.pieces(batch_size or self.batch_size)
        )
        shape = (len(features.batch), self.n_features)
        join = joined_vectors if is_sparse else dense_vectors
        return join(pieces, shape, self.block_width, self.dtype)

    def _piece_vectors(
        self, piece: NodeFeatures, first_graph: int, compiled: Any, nodes: slice | None = None
    ) -> bsr_array:
        """Vectors of the graphs of a piece, or of some of their nodes, each by itself."""
        piece = piece.of_nodes(piece.drawn_nodes())
        batch = self.scaling(piece).batch
        node_ptr, own = batch.node_ptr, nodes or slice(None)
        if nodes is not None:
            node_ptr = np.arange(nodes.stop - nodes.start + 1)
        blocks = (piece.probabilities[own], batch.attributes[own])
        codes = known_codes(batch, self.label_names, self.unknown_labels, first_graph)
        if self.feature_map == "phases":
            keys, shares = self.phases.keys(batch, piece.n_jobs)
            options = {"width": self.block_width, "compiled": compiled, "n_jobs": piece.n_jobs}
            return phase_vectors(node_ptr, blocks, keys[own], shares, self.maps[0], **options)
        return graph_vectors(
            node_ptr,
            blocks,
            None if codes is None else codes[own],
            self._n_labels,
            self.maps,
            compiled=compiled,
            n_jobs=piece.n_jobs,
        )

    def inner_products(self, rows: slice | None = None, columns: slice | None = None) -> Floats:
        x, y = self._rows(rows), self._rows(columns)
        return embedding_gram(x, None if rows == columns else y, n_jobs=self.n_jobs)

    def _rows(self, rows: slice | None) -> Any:
        if rows is None:
            return self.vectors
        return vectors_of(self.vectors, np.arange(self.n_graphs)[rows])

    def squared_norms(self) -> Floats:
        return squared_vector_norms(self.vectors)

    def mean_products(self) -> Floats:
        return np.asarray(self.vectors @ np.asarray(self.vectors.mean(axis=0)).ravel())

    def compare(self, graphs: NodeFeatures) -> EmbeddedComparison:
        phase_values = self._phase_values if self.feature_map == "phases" else None
        own = (self.embed(graphs), self.vectors, graphs)
        return EmbeddedComparison(*own, self._node_vectors, phase_values)

    def _phase_values(self, features: NodeFeatures, directions: NDArray[Any]) -> Floats:
        batch = self.scaling(features).batch
        keys = self.phases.keys(batch, features.n_jobs)
        own = ((features.probabilities, batch.attributes), *keys, self.maps[0])
        return phase_values(batch.node_ptr, *own, directions=directions, n_jobs=features.n_jobs)

    def _node_vectors(self, piece: NodeFeatures, nodes: slice) -> bsr_array:
        return self._piece_vectors(piece, 0, compiled_maps(self.maps, self.dtype), nodes)

    def keep(self, graphs: Ints) -> Self:
        return self.with_vectors(vectors_of(self.vectors, graphs))

    def with_vectors(self, vectors: bsr_array) -> Self:
        kept = copy(self)
        kept.vectors = vectors
        return kept

    def work(self) -> float:
        return float((np.bincount(self.vectors.indices) ** 2.0).sum() * self.block_width)

    def digest(self) -> str:
        vectors = self.vectors
        digest = hashlib.sha256(repr((vectors.shape, str(vectors.dtype))).encode())
        for array in self.vector_arrays().values():
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def vector_arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "support_blocks": self.vectors.data[:, 0],
            "support_labels": self.vectors.indices.astype(np.int64),
            "support_ptr": self.vectors.indptr.astype(np.int64),
        }

    def check_restored(self, n_steps: int) -> None:
        self._check_parameters()
        counts = self._frequency_counts()
        if not 0 <= self.n_attributes <= MAX_ATTRIBUTES:
            raise InvalidInputError(f"n_attributes is {self.n_attributes}")
        self.scaling.check(self.n_attributes)
        n_used = self.scaling.n_used(self.n_attributes)
        kernels = [self.structure_, self.attributes_][: 1 + (n_used > 0)]
        for kernel in kernels:
            check_fourier_kernel(kernel, "a fitted kernel")
            if kernel is None or isinstance(kernel.gamma, str):
                raise InvalidInputError("a fitted kernel has no number for gamma")
        if not n_used and self.attributes_ is not None:
            raise InvalidInputError("there are no attributes for attributes_")
        check_names("label_names", self.label_names or ())
        if (self.phases.depth, self.phases.level_weights) != (self.depth, self.level_weights):
            raise InvalidInputError("phases are those of another depth")
        n_inputs = [n_steps, n_used]
        n_inputs = [n for n in n_inputs if n] if self.feature_map == "tensor" else [sum(n_inputs)]
        if len(self.maps) != len(n_inputs):
            raise InvalidInputError(f"there are {len(self.maps)} maps, not {len(n_inputs)}")
        for fourier, n, count in zip(self.maps, n_inputs, counts, strict=False):
            check_shape("frequencies", fourier.frequencies, n, count)
            check_shape("phases", fourier.phases, count)
        self._check_vectors()

    def _check_vectors(self) -> None:
        vectors, n_labels = self.vectors, self._n_labels
        if vectors.blocksize != (1, self.block_width) or vectors.shape[1] != self.n_features:
            raise InvalidInputError("vectors are of another width")
        if vectors.dtype != np.dtype(self.dtype) or not np.isfinite(vectors.data).all():
            raise InvalidInputError(f"vectors are not finite numbers of {self.dtype}")
        graphs = np.repeat(np.arange(vectors.shape[0]), np.diff(vectors.indptr))
        if (np.diff(graphs * n_labels + vectors.indices) <= 0).any():
            raise InvalidInputError("labels of vectors do not rise within each graph")

    def _check_parameters(self) -> None:
        check_parameters(VECTORS | EVERYWHERE, vars(self))
        check_depth(self.depth, self.level_weights)
        if self.feature_map == "phases" and self.unknown_labels == "column":
            raise InvalidInputError(
                "unknown_labels='column' needs blocks of labels, feature_map='phases' has none: "
                "use 'ignore' or 'error'"
            )
        n_widths = len(self.n_components) if isinstance(self.n_components, tuple | list) else 1
        if not 1 <= n_widths <= (2 if self.feature_map == "tensor" else 1):
            raise InvalidInputError(
                "n_components must be one number, or one or two for feature_map='tensor', got "
                f"{self.n_components} for feature_map={self.feature_map!r}"
            )
        if self.depth and self.feature_map != "phases":
            raise InvalidInputError(
                f"depth={self.depth} needs feature_map='phases': {self.feature_map!r} has a block "
                "of columns for each label, and refined labels are too many for that"
            )
        for name in ("structure", "attributes"):
            if getattr(self, name) is not None:
                check_fourier_kernel(getattr(self, name), name)
        if np.dtype(self.dtype) not in (np.float64, np.float32):
            raise InvalidInputError(f"dtype must be float64 or float32, got {self.dtype}")

    def _widths(self) -> tuple[int, ...]:
        """Numbers of features: D, or D0 and Dc for tensors."""
        given = self.n_components
        widths = tuple(given) if isinstance(given, tuple | list) else (given,)
        return (widths[0], widths[-1]) if self.feature_map == "tensor" else widths

    def _frequency_counts(self) -> tuple[int, ...]:
        """Numbers of frequencies; with phases, the cosine and the sine of an angle are features."""
        widths = self._widths()
        return ((widths[0] + 1) // 2,) if self.feature_map == "phases" else widths


# Standard errors of vectors of graphs: of drawn nodes, of random walks, and of what walks shift.
#
# A vector is a mean over k drawn nodes of n, :math:`\hat m = \frac 1 k \sum_i \phi(\hat p_i)`,
# with return probabilities that are estimates from W walks. Three things keep it from the vector
# of all nodes and exact probabilities:
#
# - other nodes might have been drawn: :math:`(1 - k/n) (s^2 - w^2) / k`, with :math:`s^2` the
#   variance of :math:`\phi(\hat p_i)` over nodes, of which :math:`w^2` is due to walks;
# - other walks might have been taken: :math:`w^2 / k`;
# - features are no linear functions, so noise in p shifts their mean, by b, however many nodes
#   there are.
#
# The last two are estimated by walking again: from every eighth of the drawn nodes, at random,
# eight times as many new walks give :math:`\phi(\hat p'_i)`. Variances and shifts fall with the
# number of walks, as 1/W where noise is small, so the differences
# :math:`d_i = \phi(\hat p'_i) - \phi(\hat p_i)` have the mean -7/8 b and a mean square of
# :math:`9/8\, w^2` or more. The standard error is
# :math:`\sqrt{(1 - k/n) (s^2 - w^2) / k + w^2 / k + b^2}`; it takes as long as the vector itself.
#
# It does not know of labels that no drawn node has, and not all of features whose frequency is so
# high that noise turns them by half a turn even with eight times the walks.

_MORE = 8  # times the walks, from one of so many nodes
_LEAST_NODES = 64  # of a graph, for the second estimate, if it has as many
_CHUNK_NODES = 4096
_OTHER_WALKS = 0x4F54484552  # so that the second estimate has random numbers of its own


def vectors_with_errors(
    engine: EmbeddedEngine, features: NodeFeatures
) -> tuple[NDArray[Any], Floats]:
    """Dense vectors of graphs, as ``engine.embed`` gives them, and the errors of all numbers."""
    shape = (len(features.batch), engine.n_features)
    vectors, errors = np.empty(shape, engine.dtype), np.empty(shape)
    for first, piece in features.pieces(engine.batch_size):
        rows = slice(first, first + len(piece.batch))
        drawn = piece.drawn_nodes()
        own = piece.of_nodes(drawn)
        vectors[rows] = engine.embed(own, is_sparse=False)
        reestimate = (
            _Reestimate.of(piece, drawn, own.batch.node_ptr) if piece.walks.is_random else None
        )
        errors[rows] = _errors(engine, own, reestimate, piece.batch.node_counts)
    return vectors, errors


class _Reestimate(NamedTuple):
    """Some of the nodes in use, rising, and better estimates of their probabilities."""

    rows: Ints
    probabilities: Floats

    @classmethod
    def of(cls, piece: NodeFeatures, drawn: Ints | None, node_ptr: Ints) -> "_Reestimate":
        """Walk again from some of the nodes that were drawn, of every graph."""
        seed = piece.walks.seed ^ _OTHER_WALKS
        parts = []
        for first, last in pairwise(node_ptr.tolist()):
            n_again = min(last - first, max((last - first) // _MORE, _LEAST_NODES))
            rng = np.random.default_rng([seed, last - first])  # by the graph alone
            parts.append(first + np.sort(rng.choice(last - first, n_again, replace=False)))
        rows = np.concatenate(parts)
        walks = replace(piece.walks, n_walks=_MORE * piece.walks.n_walks, seed=seed, nodes=None)
        nodes = rows if drawn is None else drawn[rows]
        return cls(rows, walks.probabilities(piece.batch, nodes=nodes, n_jobs=piece.n_jobs))


def _errors(
    engine: EmbeddedEngine, own: NodeFeatures, reestimate: _Reestimate | None, sizes: Ints
) -> Floats:
    """Errors of all columns; `own` are the nodes in use."""
    batch = engine.scaling(own).batch
    nodes = _NodeVectors.of(engine, batch, own.n_jobs)
    codes = None
    if engine.feature_map != "phases":
        codes = known_codes(batch, engine.label_names, engine.unknown_labels)
    labels = np.zeros(batch.n_nodes, np.int32) if codes is None else codes
    n_blocks = engine.n_features // engine.block_width
    errors = np.zeros((len(batch), n_blocks, engine.block_width))
    for graph, size in enumerate(sizes.tolist()):
        first, last = batch.node_ptr[graph : graph + 2].tolist()
        chosen = _Reestimate(np.empty(0, np.int64), np.empty((0, 0)))
        if reestimate is not None:
            places = slice(*np.searchsorted(reestimate.rows, [first, last]))
            chosen = _Reestimate(reestimate.rows[places], reestimate.probabilities[places])
        for label in np.unique(labels[first:last]).tolist():
            if label >= 0:
                moments = _moments(nodes, own.probabilities, labels == label, (first, last), chosen)
                errors[graph, label] = moments.error(last - first, size, len(chosen.rows))
    return errors.reshape(len(batch), -1)


class _Moments(NamedTuple):
    """Sums over nodes of features, of their squares, of differences, and of squares of these."""

    total: Floats
    squares: Floats
    change: Floats
    squared_change: Floats

    def error(self, n_rows: int, size: int, n_again: int) -> Floats:
        if n_rows == 1 < size:
            return np.full(len(self.total), np.inf)
        unbiased = n_rows / max(n_rows - 1, 1)
        variance = np.maximum(self.squares / n_rows - (self.total / n_rows) ** 2, 0.0) * unbiased
        of_walks = self.squared_change / max(n_again, 1) / (1 + 1 / _MORE)
        of_nodes = np.maximum(variance - of_walks, 0.0)
        shift = self.change / max(n_again, 1) / (1 - 1 / _MORE)
        share = 1 - n_rows / size
        return np.asarray(np.sqrt((share * of_nodes + of_walks) / n_rows + shift**2))


class _NodeVectors(NamedTuple):
    """Features of nodes within the block of their label, each node by itself."""

    engine: EmbeddedEngine
    attributes: Floats
    turns: tuple[Any, Any] | None
    n_jobs: int | None

    @classmethod
    def of(cls, engine: EmbeddedEngine, batch: GraphBatch, n_jobs: int | None) -> "_NodeVectors":
        """Features of nodes of some graphs, whose labels turn them where there are no blocks."""
        is_turned = engine.feature_map == "phases"
        turns = engine.phases.keys(batch, n_jobs) if is_turned else None
        return cls(engine, batch.attributes, turns, n_jobs)

    def __call__(self, rows: Ints, probabilities: Floats) -> Floats:
        """One row for each of these nodes, with probabilities that may be another estimate."""
        maps, attributes = self.engine.maps, self.attributes[rows]
        if self.turns is not None:
            keys, shares = self.turns
            vectors = phase_vectors(
                np.arange(len(rows) + 1),
                (probabilities, attributes),
                keys[rows],
                shares,
                maps[0],
                width=self.engine.block_width,
                compiled=compiled_maps(maps, np.float64),
                n_jobs=self.n_jobs,
            )
            return np.asarray(vectors.data[:, 0, :])
        if len(maps) == 1:
            return maps[0](np.hstack([probabilities, attributes]))
        first, second = maps[0](probabilities), maps[1](attributes)
        return (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)


def _moments(
    nodes: _NodeVectors,
    probabilities: Floats,
    has_label: Flags,
    rows: tuple[int, int],
    reestimate: _Reestimate,
) -> _Moments:
    """Sums over the nodes of a graph that have a label; `reestimate` is of these alone."""
    sums = np.zeros((4, nodes.engine.block_width))
    for first in range(*rows, _CHUNK_NODES):
        chunk = np.arange(first, min(first + _CHUNK_NODES, rows[1]))
        chunk = chunk[has_label[chunk]]
        features = nodes(chunk, probabilities[chunk])
        sums[:2] += features.sum(axis=0), np.square(features).sum(axis=0)
    chosen = has_label[reestimate.rows]
    if chosen.any():
        chunk = reestimate.rows[chosen]
        change = nodes(chunk, reestimate.probabilities[chosen]) - nodes(chunk, probabilities[chunk])
        sums[2:] += change.sum(axis=0), np.square(change).sum(axis=0)
    return _Moments(*sums)
