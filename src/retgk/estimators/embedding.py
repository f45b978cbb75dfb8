"""RetGK_II as a scikit-learn transformer: graphs in, vectors out."""

from __future__ import annotations

import io
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from retgk._runtime.names import RandomState
from retgk._runtime.parameters import DEPTH, EVERYWHERE, VECTORS, shared_parameters
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.estimators.kernel import new_engine, new_features, with_fitted_parameters
from retgk.graphs.batch import GraphBatch, warn_of_unknown_labels
from retgk.graphs.flat import union_of_names
from retgk.io.convert import GraphsLike, as_batch
from retgk.kernels.embedded import (
    EmbeddedEngine,
    FeatureMap,
    UnknownLabels,
    feature_names,
    vectors_with_errors,
    wave_names,
)
from retgk.kernels.embedded_fourier import Draw
from retgk.kernels.engine import (
    GraphIntake,
    Imputation,
    NodeFeatures,
    Scaling,
    TakesGraphs,
    check_fit,
    fit_intake,
    warn_of_uneven_attributes,
)
from retgk.kernels.kernel import GraphKernel, HasValues
from retgk.kernels.node import ATTRIBUTE_KERNEL, COMPARISON_KERNEL, NodeKernel
from retgk.walks.probabilities import Walks


class RetGKEmbedding(TakesGraphs, TransformerMixin, HasValues):  # type: ignore[misc]
    r"""
    Vectors of graphs whose inner products approximate the RetGK kernel (section 5 of the paper).

    With e the one-hot vector of the label of a node, p its return probabilities, a its attributes
    and :math:`\varphi(x) = \sqrt{2/D} \cos(\omega^T x + b)` random Fourier features of a kernel,

    .. math::
        \hat m_G = \frac 1 n \sum_i e_i \otimes \varphi_0(p_i) \otimes \varphi_c(a_i)
        \quad\text{(tensor)} \qquad\text{or}\qquad
        \hat m_G = \frac 1 n \sum_i e_i \otimes \varphi([p_i, a_i]) \quad\text{(joint)}.

    Both have the same expected inner products. Labels and attributes are used where graphs have
    them. A vector depends on the fitted state and its graph alone: not on other graphs, on
    `batch_size` or on `n_jobs`, to the last bit.

    Parameters
    ----------
    n_components : int or pair of int, default=512
        Number D of features, or (D0, Dc) for a tensor (one number there means both). Inner products
        are off by about 1 / sqrt(D). With one block a label, fewer serve: 200 in the paper.
    walks : Walks, optional
        How return probabilities are found; None is ``Walks()``: exact, 50 steps, all nodes. With
        Monte Carlo this is the paper's RetGK_II(MC), but for copies of a graph: they share their
        walks, where the paper draws new ones. Copies therefore have equal vectors, and a classifier
        is more accurate on collections with many copies. `transform_with_error` tells what
        ``Walks(nodes=...)`` costs.
    impute_attributes : {"mean", "median"} or None, default=None
        What fills in missing attributes (NaN), over nodes of fitted graphs; None is an error.
    feature_map : {"phases", "joint", "tensor"}, default="phases"
        "phases" has D features, whatever the labels: the cosines and sines of D / 2 angles, which
        the label of a node turns by quarters of a turn, at random, so that terms of unequal labels
        vanish in the mean.
        Labels that `fit` did not see have turns of their own. "tensor" is the paper's, with
        D0 x Dc features a label; "joint" has D a label. Those two differ only if there are
        attributes.
    structure : Gaussian, Laplacian, Matern or None, default=None
        Kernel of return probabilities. None is ``Laplacian(5.0)``, that of `similarity` and
        `most_similar`. The paper's frequencies ``g N(0, 1)`` are those of
        ``Gaussian(gamma=g**2 / 2)``; g = 10 is its choice for most collections.
    attributes : Gaussian, Laplacian, Matern or None, default=None
        Kernel of attributes. None is ``Laplacian("dimension")`` where graphs have attributes; to
        leave them out, use ``scale_attributes="drop"``.
    scale_attributes : {"raw", "standard", "drop"}, default="raw"
        How attributes enter: as they are, with mean 0 and deviation 1 over the nodes of the fitted
        graphs, or not at all. A warning says where raw columns differ by orders of magnitude.
    depth, level_weights : int, sequence of float or None, default=0, None
        Rounds by which labels are refined, and weights of the levels, as in `RetGK`; with
        ``feature_map="phases"``.
    frequencies : {"plain", "orthogonal", "quasi-random"}, default="orthogonal"
        How frequencies are drawn; see `draw_fourier_map`.
    unknown_labels : {"ignore", "error", "column"}, default="ignore"
        What `transform` does with labels that `fit` did not see. "ignore" leaves their nodes out
        of the sum (they count in n): a new label equals no known one, so inner products with
        graphs of known labels are right, but the norm of the graph lacks these nodes; a warning
        says so if no label is known at all. "column" gives all of them one block of features,
        which treats them as one label. With "phases", "ignore" leaves nothing out: a new label
        has turns of its own, and "column" has no meaning.
    sparse_output : bool, default=False
        Whether to give a sparse ``bsr_array`` that stores a block of features for each label
        that a graph has; `embedding_gram` is quickest on it.
    dtype : dtype, default=float64
        float64 or float32, of the features and of the result. In float32 an angle of x turns is
        off by up to 1e-7 x, and so is its cosine.
    n_jobs : int, optional
        Threads; None for all cores, but for one inside workers of joblib.
    batch_size : int, optional
        Graphs worked on at a time; by default as many as have about 130,000 nodes (50 MB).
    random_state : int, Generator, RandomState or None
        Seed of frequencies, of the nodes for the median, and of Monte Carlo.

    Attributes
    ----------
    structure_ : Gaussian, Laplacian or Matern
        The kernel with a number for gamma.
    attributes_ : Gaussian, Laplacian, Matern or None
        The same for attributes; None if there are none.
    label_names_ : tuple of hashable or None
        Labels in the order of their blocks; None if graphs have none.
    n_attributes_ : int
        Number of attributes per node.
    reading_ : Reading or None
        How the fitted graphs were read; new ones are read alike.
    maps_ : tuple of FourierMap
        Frequencies and phases.
    walks_ : Walks
        How return probabilities are found.
    walk_seed_ : int
        Seed of Monte Carlo: the same graph always gives the same vector.
    engine_ : EmbeddedEngine
        The feature map; it keeps no graphs.
    n_features_out_ : int
        Width of the result: ``n_labels * D`` or ``n_labels * D0 * Dc``.

    See Also
    --------
    embedding_gram : Kernel matrices from these vectors.

    Examples
    --------
    >>> triangle, path = np.ones((3, 3)) - np.eye(3), np.diag([1, 1], 1) + np.diag([1, 1], -1)
    >>> embedding = RetGKEmbedding(n_components=4, random_state=0).fit([triangle, path])
    >>> embedding.transform([triangle, path]).shape
    (2, 4)
    """

    _parameter_constraints = EVERYWHERE | DEPTH | VECTORS
    values_by_default: ClassVar[Mapping[str, Any]] = {
        "walks": Walks(),
        "structure": COMPARISON_KERNEL,
        "attributes": ATTRIBUTE_KERNEL,
    }
    fitted_fields = ("engine_", "walks_", "intake_")

    engine_: EmbeddedEngine
    walks_: Walks

    def __init__(
        self,
        n_components: int | tuple[int, int] = 512,
        *,
        walks: Walks | None = None,
        impute_attributes: Imputation | None = None,
        feature_map: FeatureMap = "phases",
        structure: NodeKernel | None = None,
        attributes: NodeKernel | None = None,
        scale_attributes: Scaling = "raw",
        depth: int = 0,
        level_weights: Sequence[float] | None = None,
        frequencies: Draw = "orthogonal",
        unknown_labels: UnknownLabels = "ignore",
        sparse_output: bool = False,
        dtype: Any = np.float64,
        n_jobs: int | None = None,
        batch_size: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.walks = walks
        self.impute_attributes = impute_attributes
        self.feature_map = feature_map
        self.structure = structure
        self.attributes = attributes
        self.scale_attributes = scale_attributes
        self.depth = depth
        self.level_weights = level_weights
        self.frequencies = frequencies
        self.unknown_labels = unknown_labels
        self.sparse_output = sparse_output
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.batch_size = batch_size
        self.random_state = random_state

    def for_saving(self) -> Self:
        """Embedding with the parameters that it was fitted with."""
        found: Self = with_fitted_parameters(self)
        return found

    def after_loading(self) -> None:
        self.engine_.check_restored(self.walks_.n_steps)
        self.engine_.n_jobs = self.n_jobs
        self.intake_.check(self.engine_.n_attributes)
        self.take_engine(self.engine_, self.walks_, self.intake_)

    def fit(self, X: GraphsLike, y: object = None, **options: Any) -> Self:  # noqa: ARG002
        """
        Set bandwidths, draw frequencies and collect the labels; a sample of graphs is enough.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            The graphs.
        y : ignored
            For scikit-learn.
        **options : error
            Options of converters belong to `as_batch`; an error says so.

        Returns
        -------
        RetGKEmbedding
            The transformer itself.
        """
        check_fit(self, options)
        intake, batch = fit_intake(self, as_batch(X))
        engine = new_engine(self)
        features = new_features(self, engine, batch)
        engine.fit(features, keep=np.empty(0, np.int64))
        warn_of_uneven_attributes(batch, self.scale_attributes, self.attributes)
        return self.take_engine(engine, features.walks, intake)

    def partial_fit(self, X: GraphsLike, y: object = None) -> Self:
        """
        Add the labels of more graphs; their blocks of features come after those before.

        The first call is `fit`. Bandwidths and frequencies stay as it set them, so that vectors
        made earlier stay valid: they lack the new blocks, which are zero for them.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            The graphs.
        y : ignored
            For scikit-learn.

        Returns
        -------
        RetGKEmbedding
            The transformer itself.
        """
        if not hasattr(self, "engine_"):
            return self.fit(X, y)
        self.engine_.add_labels(self.intake_.new_batch(X))
        self.label_names_ = self.engine_.label_names
        return self

    def fit_transform(self, X: GraphsLike, y: object = None, **options: Any) -> Any:
        """
        Fit, and embed the same graphs, which are converted once.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            The graphs.
        y : ignored
            For scikit-learn.
        **options : error
            Options of converters belong to `as_batch`; an error says so.

        Returns
        -------
        ndarray or bsr_array, shape (n_graphs, n_features_out)
            As from `transform`.
        """
        batch = as_batch(X)
        # not `transform`: what `set_output` asks for is made of X, which may have an index
        return self.fit(batch, y, **options)._embed(batch)

    def transform(self, X: GraphsLike) -> Any:
        """
        Embed graphs.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes, or an iterator of such
            The graphs. An iterator (a generator, `iter_parquet`) is a stream: each of its
            items is embedded when its turn comes, so that memory does not grow.

        Returns
        -------
        ndarray or bsr_array, shape (n_graphs, n_features_out)
            One row per graph. For an iterator: an iterator of these, one for each item.
        """
        check_is_fitted(self, "maps_")
        if isinstance(X, Iterator):
            self._check_streams_arrays()
            return map(self._embed, X)
        return self._embed(X)

    def transform_with_error(self, X: GraphsLike) -> tuple[NDArray[Any], Floats]:
        r"""
        Embed graphs, and say how far the vectors may be from those of all nodes and exact walks.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            The graphs.

        Returns
        -------
        vectors : ndarray, shape (n_graphs, n_features_out)
            Those of `transform`, dense.
        errors : ndarray of float64, shape (n_graphs, n_features_out)
            Standard error of every number; the root of the sum of the squares of a row is that of
            its vector. ``kernels/embedded.py`` has the formula and its limits.
        """
        check_is_fitted(self, "maps_")
        return vectors_with_errors(self.engine_, self._features(X))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:  # noqa: ARG002
        """
        Names of the columns.

        With "phases" they are "omega17:cos" and, after all cosines, "omega17:sin"; for a joint map
        "label=C:omega17", and for a tensor "label=C:omega17:nu4".

        Parameters
        ----------
        input_features : ignored
            For scikit-learn.

        Returns
        -------
        ndarray of str, shape (n_features_out,)
            A block for each label in the order of `label_names_`, the unknown ones last; within
            a block omega after omega and, within an omega of a tensor, nu after nu.
        """
        check_is_fitted(self, "maps_")
        widths = [len(fourier.phases) for fourier in self.maps_]
        if self.engine_.feature_map == "phases":
            return wave_names(widths[0])[: self.n_features_out_]
        return feature_names(self.label_names_, self.engine_.unknown_labels, widths)

    @property
    def n_features_out_(self) -> int:
        check_is_fitted(self, "maps_")
        return self.engine_.n_features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def take_engine(self, engine: EmbeddedEngine, walks: Walks, intake: GraphIntake) -> Self:
        self.engine_, self.walks_, self.intake_ = engine, walks, intake
        self.structure_ = engine.structure_
        self.attributes_ = engine.attributes_
        self.label_names_ = engine.label_names
        self.n_attributes_ = engine.n_attributes
        self.maps_ = engine.maps
        self.walk_seed_ = walks.seed
        return self

    def _features(self, X: GraphsLike) -> NodeFeatures:
        batch = self.intake_.new_batch(X)
        if self.engine_.unknown_labels == "ignore":
            warn_of_unknown_labels(batch.label_names, self.label_names_)
        return NodeFeatures(batch, self.walks_, self.n_jobs)

    def _embed(self, X: GraphsLike) -> Any:
        return self.engine_.embed(self._features(X), self.sparse_output, self.batch_size)

    def _check_streams_arrays(self) -> None:
        config = getattr(self, "_sklearn_output_config", {})
        if config.get("transform", get_config()["transform_output"]) != "default":
            raise InvalidInputError(
                "a stream gives arrays; call transform on each batch to get data frames"
            )


class Vectors(TakesGraphs, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """
    Vectors of graphs by any kernel that has them, for pipelines and feature unions.

    Parameters
    ----------
    kernel : GraphKernel
        Such as ``WeisfeilerLehman()``, or ``RetGK(n_components=512, graph_kernel=
        PolynomialGraphKernel())``.

    Attributes
    ----------
    kernel_ : GraphKernel
        The fitted kernel.

    Examples
    --------
    >>> from retgk.datasets import make_graph_classification
    >>> from retgk.kernels import Vectors, WeisfeilerLehman
    >>> graphs = make_graph_classification(n_graphs=6, rng=0).graphs
    >>> Vectors(WeisfeilerLehman(n_iter=1)).fit_transform(graphs).shape[0]
    6
    """

    fitted_fields = ("kernel_", "n_features_out_")
    kernel_: GraphKernel
    n_features_out_: int

    def __init__(self, kernel: GraphKernel) -> None:
        self.kernel = kernel

    @property
    def intake_(self) -> GraphIntake:  # type: ignore[override]
        """How graphs came in."""
        return self.kernel_.intake_

    def fit(self, X: GraphsLike, y: object = None) -> Self:  # noqa: ARG002
        """
        Fit the kernel.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            The graphs.
        y : ignored
            For scikit-learn.

        Returns
        -------
        Vectors
            The transformer itself.
        """
        batch = self.kernel.taken(X)
        self.kernel_ = clone(self.kernel).fit(batch)
        self.n_features_out_ = int(self.kernel_.batch_vectors(batch[:1]).shape[1])
        return self

    def transform(self, X: GraphsLike) -> Any:
        """
        Give vectors of graphs.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            The graphs.

        Returns
        -------
        ndarray or sparse array, shape (n_graphs, n_features)
            One row per graph.
        """
        check_is_fitted(self)
        return self.kernel_.vectors(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


# A `RetGKEmbedding` that is fitted already, from a fitted engine.


def set_fitted_embedding(
    embedding: RetGKEmbedding, engine: EmbeddedEngine, walks: Walks, intake: GraphIntake
) -> RetGKEmbedding:
    return embedding.take_engine(engine.keep(np.empty(0, np.int64)), walks, intake)


def embedding_of_engine(
    engine: EmbeddedEngine, walks: Walks, intake: GraphIntake
) -> RetGKEmbedding:
    """Fitted embedding with the parameters and the feature map of an engine."""
    own = shared_parameters(RetGKEmbedding, engine)
    embedding = RetGKEmbedding(**own, walks=replace(walks, seed=0), sparse_output=True)
    return set_fitted_embedding(embedding, engine, walks, intake)


# Vectors of a stream of graphs in one file: as if all graphs had been embedded at once.

_ROWS = 4096  # that are moved at a time

Names = tuple[Hashable, ...] | None


def check_streamable(embedding: RetGKEmbedding) -> None:
    """Raise unless vectors depend on their own graph and on the labels of all graphs alone."""
    kernels = (embedding.structure, embedding.attributes)
    has_median = any(getattr(kernel, "gamma", None) == "median" for kernel in kernels)
    if has_median or embedding.scale_attributes == "standard" or embedding.impute_attributes:
        raise InvalidInputError(
            "a stream is embedded while it is read, so no median, mean or deviation over all its "
            "nodes can be used; fit on a sample and transform the stream"
        )


def write_vectors(
    path: Path,
    embedding: RetGKEmbedding,
    batches: Iterable[GraphBatch],
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[int, int]:
    """Fit an embedding on a stream of graphs, and write the file of `numpy.save`, bit for bit."""
    check_streamable(embedding)
    parts: list[tuple[int, Names]] = []
    with path.open("r+b") as stream:
        stream.write(npy_header((0, 0), embedding.dtype))
        for batch in batches:
            embedding.partial_fit(batch)
            vectors = embedding.transform(batch)
            parts.append((len(vectors), _block_names(embedding)))
            stream.write(np.ascontiguousarray(vectors).data)
            advance(len(vectors))
        if not parts:
            raise InvalidInputError("there are no graphs to embed")
        _order_labels(embedding)
        shape = (sum(n_rows for n_rows, _ in parts), embedding.n_features_out_)
        _lay_out_again(stream, parts, embedding, len(npy_header(shape, embedding.dtype)))
        stream.seek(0)
        stream.write(npy_header(shape, embedding.dtype))
    return shape


def npy_header(shape: tuple[int, int], dtype: Any) -> bytes:
    """Start of an .npy file; NumPy leaves room in it, so that its length is that of any shape."""
    text = io.BytesIO()
    described = np.lib.format.dtype_to_descr(np.dtype(dtype))
    fields = {"descr": described, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(text, fields)
    return text.getvalue()


def _block_names(embedding: RetGKEmbedding) -> Names:
    """Labels that have blocks of columns; None where there is one block for all."""
    return None if embedding.engine_.feature_map == "phases" else embedding.label_names_


def _order_labels(embedding: RetGKEmbedding) -> None:
    """Put labels, which are in the order in which they came, in the order of `fit`."""
    if embedding.label_names_ is not None:
        names = union_of_names([embedding.label_names_])
        embedding.label_names_ = embedding.engine_.label_names = names


def _lay_out_again(
    stream: IO[bytes], parts: list[tuple[int, Names]], embedding: RetGKEmbedding, start: int
) -> None:
    """Give the rows of all parts the columns of all labels, in their place in the file."""
    names, width = _block_names(embedding), embedding.engine_.block_width
    if names is None or all(own == names for _, own in parts):
        return
    n_columns, size = embedding.n_features_out_, np.dtype(embedding.dtype).itemsize
    first_row = sum(n_rows for n_rows, _ in parts)
    end = start + sum(n_rows * len(own or ()) for n_rows, own in parts) * width * size
    for n_rows, own in reversed(parts):  # rows only get longer: none is overwritten unread
        blocks = np.array([names.index(name) for name in own or ()])
        row_bytes = len(blocks) * width * size
        for n_moved in _runs(n_rows):
            end -= n_moved * row_bytes
            first_row -= n_moved
            stream.seek(end)
            rows = np.frombuffer(stream.read(n_moved * row_bytes), embedding.dtype)
            stream.seek(start + first_row * n_columns * size)
            stream.write(_spread(rows.reshape(n_moved, -1, width), blocks, n_columns).data)


def _runs(n_rows: int) -> list[int]:
    return [_ROWS] * (n_rows // _ROWS) + [n_rows % _ROWS] * (n_rows % _ROWS > 0)


def _spread(rows: NDArray[Any], blocks: Ints, n_columns: int) -> NDArray[Any]:
    """Rows whose blocks have other places, with zeros in between."""
    n_rows, _, width = rows.shape
    spread = np.zeros((n_rows, n_columns // width, width), rows.dtype)
    spread[:, blocks] = rows
    return spread.reshape(n_rows, n_columns)
