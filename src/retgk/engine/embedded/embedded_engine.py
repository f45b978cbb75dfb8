"""RetGK_II as an engine: explicit vectors whose inner products approximate the kernel."""

import hashlib
from collections.abc import Hashable, Sequence
from copy import copy
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bsr_array

from retgk.array_types import Floats, Ints
from retgk.engine.attribute_scaling import AttributeScaling, Scaling, check_scaling
from retgk.engine.embedded.embedded_comparison import EmbeddedComparison
from retgk.engine.embedded.embedding_gram import embedding_products, squared_vector_norms
from retgk.engine.embedded.fourier_maps import (
    Draw,
    FourierKernel,
    FourierMap,
    check_fourier_kernel,
    checked_widths,
    draw_fourier_map,
    fit_attribute_kernel,
    fit_structure_kernel,
    is_whole,
    take_fourier_kernel,
)
from retgk.engine.embedded.graph_vectors import (
    compiled_maps,
    dense_vectors,
    graph_vectors,
    joined_vectors,
    phase_values,
    phase_vectors,
    vectors_of,
)
from retgk.engine.embedded.label_columns import known_codes, names_in_use
from retgk.engine.embedded.label_phases import LabelPhases
from retgk.engine.fitted_state import FittedState
from retgk.engine.label_levels import check_depth
from retgk.engine.node_features import NodeFeatures, check_attribute_sizes
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.validation import check_alike
from retgk.runtime.seeds import RandomState, seed_from

__all__ = ["EmbeddedEngine", "FeatureMap", "UnknownLabels"]

FeatureMap = Literal["joint", "tensor", "phases"]
UnknownLabels = Literal["ignore", "error", "column"]


class EmbeddedEngine:
    """
    Mean embeddings as explicit vectors of random Fourier features.

    The parameters are those of `RetGKEmbedding`.

    Attributes
    ----------
    structure_kernel_ : Gaussian or Laplacian
        Kernel of return probabilities, with a number for gamma.
    attribute_kernel_ : Gaussian, Laplacian or None
        The same for attributes; None if there are none.
    label_names : tuple of hashable or None
        Labels in the order of their blocks; None if graphs have none.
    n_attributes : int
        Number of attributes per node.
    maps : tuple of FourierMap
        Frequencies and phases.
    vectors : bsr_array, shape (n_graphs, n_features)
        Vectors of the kept graphs.
    """

    def __init__(
        self,
        structure_kernel: FourierKernel | None = None,
        attribute_kernel: FourierKernel | None = None,
        *,
        scale_attributes: Scaling = "raw",
        depth: int = 0,
        level_weights: Sequence[float] | None = None,
        feature_map: FeatureMap = "joint",
        n_components: int | tuple[int, int] = 200,
        frequencies: Draw = "orthogonal",
        unknown_labels: UnknownLabels = "ignore",
        dtype: Any = np.float64,
        batch_size: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.structure_kernel = structure_kernel
        self.attribute_kernel = attribute_kernel
        self.scale_attributes = scale_attributes
        self.depth = depth
        self.level_weights = level_weights
        self.feature_map = feature_map
        self.n_components = n_components
        self.frequencies = frequencies
        self.unknown_labels = unknown_labels
        self.dtype = dtype
        self.batch_size = batch_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.seed = int(seed_from(random_state))
        self.label_names: tuple[Hashable, ...] | None = None
        self.n_attributes = 0
        self.scaling = AttributeScaling()
        self.maps: tuple[FourierMap, ...] = ()
        self.phases = LabelPhases()

    def check(self, batch: GraphBatch) -> None:
        """Raise unless these graphs can be fitted with the parameters; no work is done."""
        self._widths()
        check_depth(self.depth, self.level_weights)
        if self.depth and self.feature_map != "phases":
            raise InvalidInputError(
                f"depth={self.depth} needs feature_map='phases': {self.feature_map!r} has a block "
                "of columns for each label, and refined labels are too many for that"
            )
        if len(batch) == 0:
            raise InvalidInputError("there are no graphs to fit; give at least one")
        check_scaling(self.scale_attributes, ())
        n_used = 0 if self.scale_attributes == "drop" else batch.n_attributes
        if n_used == 0 and self.attribute_kernel is not None:
            raise InvalidInputError(
                f"the graphs have no attributes for attribute_kernel={self.attribute_kernel!r}; "
                "leave it out, or give the graphs attributes"
            )

    def fit(self, features: NodeFeatures, keep: Ints | None = None) -> Self:
        """Find bandwidths, draw frequencies, collect labels, and embed all graphs or some."""
        batch = features.batch
        self.check(batch)
        check_attribute_sizes(features.batch)
        self.scaling = AttributeScaling.fitted(self.scale_attributes, batch.attributes, {})
        rng = np.random.default_rng(self.seed)
        rng.integers(2**63)  # the seed of walks
        used = self.scaling(features).batch
        self.attribute_kernel_ = fit_attribute_kernel(self.attribute_kernel, used, rng)
        self.structure_kernel_ = fit_structure_kernel(self.structure_kernel, features, rng)
        self.n_attributes = batch.n_attributes
        self.label_names = names_in_use(batch)
        factors = [(self.structure_kernel_, features.walks.n_steps)]
        if self.attribute_kernel_:
            factors.append((self.attribute_kernel_, used.n_attributes))
        parts = [[factor] for factor in factors] if self.feature_map == "tensor" else [factors]
        self.maps = tuple(
            draw_fourier_map(part, n_drawn, self.frequencies, rng)
            for part, n_drawn in zip(parts, self._frequency_counts(), strict=False)
        )
        levels = (self.depth, self.level_weights)
        self.phases = LabelPhases.fitted(batch, int(self.seed) >> 1, *levels)
        self.vectors = self.embed(features if keep is None else features.of_graphs(keep))
        return self

    def add_labels(self, batch: GraphBatch) -> None:
        """Give the labels of more graphs blocks of features after those before."""
        check_alike(batch, self.label_names is not None, self.n_attributes)
        if self.label_names is not None:
            more = names_in_use(batch) or ()
            self.label_names = tuple(dict.fromkeys([*self.label_names, *more]))

    @property
    def walk_seed(self) -> int:
        """Seed of Monte Carlo walks that goes with the seed of the engine."""
        return int(np.random.default_rng(self.seed).integers(2**63))

    @property
    def n_graphs(self) -> int:
        """Number of graphs that are kept."""
        return int(self.vectors.shape[0])

    @property
    def block_width(self) -> int:
        """Number of features a label."""
        return int(np.prod(self._widths()[: len(self.maps)]))

    @property
    def n_features(self) -> int:
        """Width of a vector."""
        return self._n_labels * self.block_width

    @property
    def _n_labels(self) -> int:
        if self.label_names is None or self.feature_map == "phases":
            return 1
        return len(self.label_names) + (self.unknown_labels == "column")

    def embed(
        self, features: NodeFeatures, is_sparse: bool = True, batch_size: int | None = None
    ) -> Any:
        """Vectors of graphs, block-sparse or dense, some graphs at a time."""
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
        """``<m_G, m_H>`` among the kept graphs, or a block of that matrix."""
        x, y = self._rows(rows), self._rows(columns)
        return embedding_products(x, None if rows == columns else y, n_jobs=self.n_jobs)

    def _rows(self, rows: slice | None) -> Any:
        if rows is None:
            return self.vectors
        return vectors_of(self.vectors, np.arange(self.n_graphs)[rows])

    def squared_norms(self) -> Floats:
        """``<m_G, m_G>`` of the kept graphs."""
        return squared_vector_norms(self.vectors)

    def mean_products(self) -> Floats:
        """``<m_G, m_0>`` of the kept graphs with their mean."""
        return np.asarray(self.vectors @ np.asarray(self.vectors.mean(axis=0)).ravel())

    def compare(self, features: NodeFeatures) -> EmbeddedComparison:
        """Put new graphs beside the kept ones."""
        phase_values = self._phase_values if self.feature_map == "phases" else None
        own = (self.embed(features), self.vectors, features)
        return EmbeddedComparison(*own, self._node_vectors, phase_values)

    def _phase_values(self, features: NodeFeatures, directions: NDArray[Any]) -> Floats:
        batch = self.scaling(features).batch
        keys = self.phases.keys(batch, features.n_jobs)
        own = ((features.probabilities, batch.attributes), *keys, self.maps[0])
        return phase_values(batch.node_ptr, *own, directions=directions, n_jobs=features.n_jobs)

    def _node_vectors(self, piece: NodeFeatures, nodes: slice) -> bsr_array:
        """Vectors of single nodes: those of graphs of one node each."""
        return self._piece_vectors(piece, 0, compiled_maps(self.maps, self.dtype), nodes)

    def keep(self, graphs: Ints) -> Self:
        """Engine with some of the kept graphs, in the order given."""
        return self.with_vectors(vectors_of(self.vectors, graphs))

    def with_vectors(self, vectors: bsr_array) -> Self:
        """Engine that keeps the graphs of these vectors."""
        kept = copy(self)
        kept.vectors = vectors
        return kept

    def work(self) -> float:
        """Multiplications in all inner products of the kept graphs."""
        return float((np.bincount(self.vectors.indices) ** 2.0).sum() * self.block_width)

    def digest(self) -> str:
        """Hash of everything that the inner products of the kept graphs depend on."""
        vectors = self.vectors
        digest = hashlib.sha256(repr((vectors.shape, str(vectors.dtype))).encode())
        for array in self.vector_arrays().values():
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def state(self) -> FittedState:
        """Everything that `compare` needs, as plain values and arrays."""
        arrays = self.vector_arrays() if self.n_graphs else {}
        for m, fourier in enumerate(self.maps):
            arrays[f"frequencies_{m}"] = fourier.frequencies
            arrays[f"phases_{m}"] = fourier.phases
        scaling = self.scaling.state()
        arrays |= scaling.arrays
        values = scaling.values | {
            "structure_kernel": self.structure_kernel_,
            "attribute_kernel": self.attribute_kernel_,
            "label_names": self.label_names,
            "n_attributes": self.n_attributes,
        }
        if self.feature_map == "phases":
            values |= self.phases.state()
        return FittedState(values, arrays)

    def vector_arrays(self) -> dict[str, NDArray[Any]]:
        """Vectors of the kept graphs as plain arrays."""
        return {
            "support_blocks": self.vectors.data[:, 0],
            "support_labels": self.vectors.indices.astype(np.int64),
            "support_ptr": self.vectors.indptr.astype(np.int64),
        }

    def restore(self, state: FittedState, n_steps: int) -> Self:
        """Take the state of a fitted engine with the same parameters, after checking all of it."""
        counts = self._frequency_counts()
        self.structure_kernel_ = take_fourier_kernel(state, "structure_kernel")
        self.n_attributes = state.take_attribute_count()
        self.scaling = AttributeScaling.restored(state, self.n_attributes)
        n_used = self.scaling.n_used(self.n_attributes)
        if n_used:
            self.attribute_kernel_ = take_fourier_kernel(state, "attribute_kernel")
        else:
            self.attribute_kernel_ = state.take_value("attribute_kernel", type(None))
        has_labels = state.values.get("label_names") is not None
        self.label_names = (
            state.take_names("label_names")
            if has_labels
            else state.take_value("label_names", type(None))
        )
        n_inputs = [n_steps, n_used]
        n_inputs = [n for n in n_inputs if n] if self.feature_map == "tensor" else [sum(n_inputs)]
        if self.feature_map == "phases":
            self.phases = LabelPhases.restored(state, self.depth, self.level_weights)
        self.maps = tuple(
            FourierMap(
                state.take_array(f"frequencies_{m}", np.float64, (n, count)),
                state.take_array(f"phases_{m}", np.float64, (count,)),
            )
            for m, (n, count) in enumerate(zip(n_inputs, counts, strict=False))
        )
        self.vectors = bsr_array((0, self.n_features), blocksize=(1, self.block_width))
        return self.restore_vectors(state) if "support_ptr" in state.arrays else self

    def restore_vectors(self, state: FittedState) -> Self:
        """Engine that keeps the graphs whose vectors are in a state, after checking them."""
        width, n_labels = self.block_width, self._n_labels
        blocks = state.take_array("support_blocks", self.dtype, (None, width))
        labels = state.take_array("support_labels", np.int64, (len(blocks),))
        ptr = state.take_array("support_ptr", np.int64, (None,))
        if len(ptr) == 0 or ptr[0] != 0 or ptr[-1] != len(blocks) or (np.diff(ptr) < 0).any():
            raise InvalidInputError("'support_ptr' does not rise from 0 to the number of blocks")
        if len(labels) and not 0 <= labels.min() <= labels.max() < n_labels:
            raise InvalidInputError(f"'support_labels' has labels that are not among {n_labels}")
        graphs = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        if (np.diff(graphs * n_labels + labels) <= 0).any():
            raise InvalidInputError("'support_labels' does not rise within each graph")
        shape = (len(ptr) - 1, self.n_features)
        arrays = (blocks[:, None, :], labels, ptr)
        return self.with_vectors(bsr_array(arrays, shape=shape, blocksize=(1, width)))

    def _widths(self) -> tuple[int, ...]:
        """Numbers of features, D or D0 and Dc, from parameters that are checked."""
        _check_choice(self.feature_map, "feature_map", get_args(FeatureMap))
        choices = ("ignore", "error") if self.feature_map == "phases" else get_args(UnknownLabels)
        _check_choice(self.unknown_labels, "unknown_labels", choices)
        for name in ("structure_kernel", "attribute_kernel"):
            if getattr(self, name) is not None:
                check_fourier_kernel(getattr(self, name), name)
        if np.dtype(self.dtype) not in (np.float64, np.float32):
            raise InvalidInputError(f"dtype must be float64 or float32, got {self.dtype}")
        if self.batch_size is not None and not (is_whole(self.batch_size) and self.batch_size >= 1):
            raise InvalidInputError(
                f"batch_size must be None or at least 1, got {self.batch_size!r}"
            )
        return checked_widths(self.n_components, self.feature_map)

    def _frequency_counts(self) -> tuple[int, ...]:
        """Numbers of frequencies; with phases, the cosine and the sine of an angle are features."""
        widths = self._widths()
        return ((widths[0] + 1) // 2,) if self.feature_map == "phases" else widths


def _check_choice(value: Any, name: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidInputError(f"{name} must be one of {choices}, got {value!r}")
