"""RetGK_I: the exact graph kernel as a scikit-learn estimator."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from retgk._runtime.names import RandomState, whole_seed
from retgk._runtime.parameters import DEPTH, EVERYWHERE, TOL, WALKS, shared_parameters
from retgk._runtime.processes import check_room
from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, warn_of_unknown_labels
from retgk.io.convert import GraphsLike, as_batch
from retgk.kernels.embedded import EmbeddedEngine
from retgk.kernels.engine import (
    Comparison,
    GraphIntake,
    Imputation,
    NodeFeatures,
    ScaleAttributes,
    TakesGraphs,
    check_fit,
    fit_intake,
    warn_of_uneven_attributes,
)
from retgk.kernels.exact import DEFAULT_TOL, ExactEngine
from retgk.kernels.exact_points import AttributeKernel
from retgk.kernels.graph import (
    ExponentialGraphKernel,
    KernelOfMeans,
    check_fitted_graph_kernel,
    check_graph_kernel,
    fit_graph_kernel,
    squared_mmd_from_products,
    squared_mmd_within,
)
from retgk.kernels.node import NodeKernel
from retgk.walks.probabilities import MONTE_CARLO, Method, SelfLoop, Walks

# Engines and features from the parameters of `RetGK` and `RetGKEmbedding`.


def kernel_engine(kernel: Any) -> ExactEngine:
    return ExactEngine(**shared_parameters(ExactEngine, kernel))


def kernel_features(kernel: Any, batch: GraphBatch) -> NodeFeatures:
    is_drawn = kernel.method in MONTE_CARLO or isinstance(kernel.random_state, Integral)
    seed = whole_seed(kernel.random_state) if is_drawn else 0
    walks = Walks(kernel.n_steps, kernel.method, kernel.n_walks, kernel.self_loop, seed)
    return NodeFeatures(batch, walks, kernel.n_jobs)


def embedding_engine(embedding: Any) -> EmbeddedEngine:
    return EmbeddedEngine(**shared_parameters(EmbeddedEngine, embedding))


def embedding_features(embedding: Any, engine: EmbeddedEngine, batch: GraphBatch) -> NodeFeatures:
    walks = Walks(
        embedding.n_steps,
        embedding.method,
        embedding.n_walks,
        embedding.self_loop,
        engine.walk_seed,
        embedding.nodes,
    )
    if embedding.nodes is not None and embedding.depth:
        raise InvalidInputError(
            f"depth={embedding.depth} refines the labels of all nodes, so nodes={embedding.nodes} "
            "would save nothing; leave one of them out"
        )
    return NodeFeatures(batch, walks, embedding.n_jobs)


USE_A_GRAM_FILE = (
    "write inner products to a file instead (write_mean_embedding_gram, `retgk kernel --matrix "
    "products --on-disk`)"
)


class RetGK(TakesGraphs, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""
    Exact RetGK kernel between graphs (RetGK_I, section 4 of the paper).

    A node is its return probabilities p, its label a and its attributes b; the node kernel is
    :math:`k_0(p, q)\,[a = a']\,\prod_l k_l(b^l, b'^l)`, over whatever the graphs have. A graph is
    the mean :math:`m_G` of its nodes' features, and the graph kernel is a function of
    :math:`\langle m_G, m_H \rangle`.

    Parameters
    ----------
    n_steps : int, default=50
        Number of return probabilities.
    structure : Laplacian, Gaussian, Polynomial or None, default=None
        Kernel of return probabilities. None is ``Laplacian("median")``.
    attributes : node kernel, dict or None, default=None
        Kernel of attributes; or, by name, tuples of the columns of a block and its kernel, which
        multiply. None is ``Laplacian("dimension")`` where graphs have attributes.
    scale_attributes : {"raw", "standard", "drop"} or dict, default="raw"
        How attributes enter. "raw" is the paper's: its rule for gamma, one over the root of their
        number, presumes columns of about unit spread, and a warning says where spreads differ by
        orders of magnitude. "standard" gives every column mean 0 and deviation 1 over the nodes of
        the fitted graphs (constant columns become 0); "drop" leaves attributes out. A dict has a
        word for each named block of `attributes`.
    depth : int, default=0
        Rounds by which labels are refined: the factor of labels becomes the mean of
        :math:`[c_h = c'_h]` over the levels h = 0, .., depth, with :math:`c_0` the label (one for
        all nodes, if they have none) and :math:`c_{h+1}` the colour of a node together with those
        of its neighbours and the labels of the edges to them (`refined_labels`).
    level_weights : sequence of float, optional
        Weights of the levels in that mean, ``depth + 1`` of them; by default all the same.
    graph_kernel : ExponentialGraphKernel, PolynomialGraphKernel or None, default=None
        Kernel of graphs. None is ``ExponentialGraphKernel()``, that is exp(-MMD / median).
    method : {"exact", "eigh", "monte-carlo", "monte-carlo-returns"}, default="exact"
        How return probabilities are found; see `return_probabilities`.
    n_walks : int, default=200
        Walks per node, for Monte Carlo.
    self_loop : "mean" or float, default="mean"
        Weight of the self-loop that every node gets. "mean" is the mean weight of the edges of its
        graph, 1 if it is unweighted: results do not depend on the unit of the weights.
    impute_attributes : {"mean", "median"} or None, default=None
        What fills in missing attributes (NaN), over nodes of fitted graphs; None is an error.
    tol : float, default=1e-4
        Promise: no inner product of mean embeddings is off by more, of fitted or of new graphs.
        0 is plain float64: 1e-12, or 1e-14 times the largest exponent of a node kernel if that is
        more. With a `Polynomial` kernel, which always takes float64, errors are relative to its
        largest value.
    n_jobs : int, optional
        Threads; None for all cores, but for one inside workers of joblib. It changes no result.
    random_state : int, Generator, RandomState or None
        Seed of Monte Carlo, and of the nodes drawn for a median: with None, bandwidths and so
        kernel values differ a little from call to call.

    Attributes
    ----------
    structure_ : node kernel
        With the bandwidth that was found.
    attributes_ : list of node kernel
        One per block of attributes, with bandwidths.
    graph_kernel_ : graph kernel
        With the bandwidth that was found.
    label_names_ : tuple of hashable
        Labels of the fitted graphs.
    reading_ : Reading or None
        How the fitted graphs were read; new ones are read alike.
    walks_ : Walks
        How return probabilities are found, for fitted and new graphs alike.
    walk_seed_ : int
        Seed of Monte Carlo.
    engine_ : ExactEngine
        Mean embeddings of the fitted graphs.
    inner_products_ : ndarray of float64, shape (n_fitted, n_fitted)
        ``<m_G, m_H>`` between the fitted graphs.

    Notes
    -----
    Bandwidths and medians come from the fitted graphs alone. A label that no fitted graph has
    matches nothing among them; if new graphs have no other labels, that is a warning.

    What `transform` gives for a graph depends on it and on the fitted graphs, to the bit, not on
    others in the call. For fitted graphs it gives the rows of `fit_transform` within what `tol`
    allows; the distance of a graph to its own copy is about 1e-4 where tiles are in float32, 1e-6
    in float64, and for `tol` from 1e-3 on it may be as large as the root of `tol`.

    Examples
    --------
    >>> from retgk.datasets import make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=6, random_state=0).graphs
    >>> kernel = RetGK(random_state=0)
    >>> kernel.fit_transform(graphs).shape
    (6, 6)
    >>> kernel.transform(graphs[:2]).shape
    (2, 6)

    Kernels of graphs are values, so that a search over their parameters is one over kernels:

    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.pipeline import Pipeline
    >>> from sklearn.svm import SVC
    >>> pipeline = Pipeline([("k", kernel), ("svc", SVC(kernel="precomputed"))])
    >>> grid = {"k__graph_kernel": [ExponentialGraphKernel(p=p) for p in (1, 2)]}
    >>> len(GridSearchCV(pipeline, grid, cv=3).fit(graphs, [0, 1] * 3).cv_results_["params"])
    2
    """

    _parameter_constraints = WALKS | EVERYWHERE | TOL | DEPTH
    fitted_fields = ("engine_", "walks_", "intake_", "graph_kernel_")

    engine_: ExactEngine
    structure_: NodeKernel
    attributes_: list[NodeKernel]
    graph_kernel_: KernelOfMeans
    squared_norms_: Floats
    walks_: Walks
    _products: Floats | None

    def __init__(
        self,
        n_steps: int = 50,
        *,
        structure: NodeKernel | None = None,
        attributes: AttributeKernel = None,
        scale_attributes: ScaleAttributes = "raw",
        depth: int = 0,
        level_weights: Sequence[float] | None = None,
        graph_kernel: KernelOfMeans | None = None,
        method: Method = "exact",
        n_walks: int = 200,
        self_loop: SelfLoop = "mean",
        impute_attributes: Imputation | None = None,
        tol: float = DEFAULT_TOL,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_steps = n_steps
        self.structure = structure
        self.attributes = attributes
        self.scale_attributes = scale_attributes
        self.depth = depth
        self.level_weights = level_weights
        self.graph_kernel = graph_kernel
        self.method = method
        self.n_walks = n_walks
        self.self_loop = self_loop
        self.impute_attributes = impute_attributes
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def after_loading(self) -> None:
        self.engine_.check_restored(self.walks_.n_steps)
        self.engine_.n_jobs = self.n_jobs
        self.intake_.check(self.engine_.n_attributes)
        check_fitted_graph_kernel(self.graph_kernel_)
        set_fitted_kernel(self, self.engine_, self.walks_, self.graph_kernel_, self.intake_)

    def fit(self, X: GraphsLike, y: object = None, **options: Any) -> Self:  # noqa: ARG002
        """
        Find bandwidths, and the inner products of the fitted graphs.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            Graphs.
        y : ignored
            For scikit-learn's sake.
        **options : error
            Options of converters belong to `as_batch`; an error says so.

        Returns
        -------
        self
            The fitted kernel.
        """
        check_fit(self, options)
        intake, batch = fit_intake(self, as_batch(X))
        graph_kernel = self.graph_kernel or ExponentialGraphKernel()
        check_graph_kernel(graph_kernel, len(batch))
        check_room(8 * len(batch) ** 2, "the kernel matrix", USE_A_GRAM_FILE)
        features = kernel_features(self, batch)
        engine = kernel_engine(self).fit(features)
        if not isinstance(self.attributes, Mapping):  # whose blocks have their own scales
            warn_of_uneven_attributes(batch, self.scale_attributes, self.attributes)
        products = engine.inner_products()
        graph_kernel = fit_graph_kernel(graph_kernel, products, self.n_jobs)
        set_fitted_kernel(self, engine, features.walks, graph_kernel, intake, products)
        return self

    def fit_transform(self, X: GraphsLike, y: object = None, **options: Any) -> Floats:
        """
        Fit, and give the kernel between the fitted graphs.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            Graphs.
        y, **options
            As in `fit`.

        Returns
        -------
        ndarray of float64, shape (n, n)
            Kernel values.
        """
        batch = as_batch(X)
        n_bytes = 2 * 8 * len(batch) ** 2  # inner products, kernel
        check_room(n_bytes, "the kernel matrix", USE_A_GRAM_FILE)
        self.fit(batch, y, **options)
        return self.graph_kernel_(self.inner_products_, self.squared_norms_, self.squared_norms_)

    def transform(self, X: GraphsLike) -> Floats:
        """
        Kernel between new graphs and the fitted ones.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            New graphs.

        Returns
        -------
        ndarray of float64, shape (n_new, n_fitted)
            Kernel values.
        """
        new = self._compare(X)
        return self.graph_kernel_(new.products(), new.squared_norms(), self.squared_norms_)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:  # noqa: ARG002
        """
        Names of the columns: "graph0", "graph1" and so on, for the fitted graphs.

        Parameters
        ----------
        input_features : ignored
            For scikit-learn's sake.

        Returns
        -------
        ndarray of str, shape (n_fitted,)
            The names.
        """
        check_is_fitted(self)
        return np.array([f"graph{i}" for i in range(len(self.squared_norms_))], dtype=object)

    @property
    def inner_products_(self) -> Floats:
        """Inner products of the fitted graphs; a model from a file finds them when asked."""
        check_is_fitted(self)
        if self._products is None:
            self._products = self.engine_.inner_products()
        return self._products

    def __dir__(self) -> list[str]:
        # scikit-learn's own looks at the value of every attribute, and so does its HTML for those
        # that are listed: inner products would be computed in order to be shown
        if vars(self).get("_products") is not None:
            return list(super().__dir__())
        names = (name for name in object.__dir__(self) if name != "inner_products_")
        return [name for name in names if hasattr(self, name)]

    def distances(self, X: GraphsLike | None = None) -> Floats:
        """
        Distances of mean embeddings (MMD) to the fitted graphs.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes, optional
            New graphs; the fitted graphs themselves by default, without computing again.

        Returns
        -------
        ndarray of float64, shape (n, n_fitted)
            Distances.
        """
        if X is None:
            return np.sqrt(squared_mmd_within(self.inner_products_))
        new = self._compare(X)
        squared = squared_mmd_from_products(
            new.products(), new.squared_norms(), self.squared_norms_
        )
        return np.sqrt(squared)

    def diagonal(self, X: GraphsLike | None = None) -> Floats:
        """
        Kernel of every graph with itself.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes, optional
            New graphs; the fitted graphs by default, without computing again.

        Returns
        -------
        ndarray of float64, shape (n,)
            ``K(G, G)``.
        """
        check_is_fitted(self)
        norms = self.squared_norms_
        if X is not None:
            features = NodeFeatures(self.intake_.new_batch(X), self.walks_, self.n_jobs)
            norms = self.engine_.compare(features).squared_norms()
        return np.array([self.graph_kernel_(k, k[0], k[0])[0, 0] for k in norms[:, None, None]])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "engine_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _compare(self, X: GraphsLike) -> Comparison:
        check_is_fitted(self)
        batch = self.intake_.new_batch(X)
        warn_of_unknown_labels(batch.label_names, self.label_names_)
        return self.engine_.compare(NodeFeatures(batch, self.walks_, self.n_jobs))


def set_fitted_kernel(
    kernel: RetGK,
    engine: ExactEngine,
    walks: Walks,
    graph_kernel: KernelOfMeans,
    intake: GraphIntake,
    products: Floats | None = None,
) -> RetGK:
    kernel.engine_ = engine
    kernel.walks_ = walks
    kernel.intake_ = intake
    kernel._products = products
    kernel.structure_, *kernel.attributes_ = engine.kernels
    kernel.label_names_ = engine.label_names
    kernel.walk_seed_ = walks.seed
    kernel.squared_norms_ = engine.squared_norms()
    kernel.graph_kernel_ = graph_kernel
    return kernel


def kernel_of_engine(
    engine: ExactEngine, walks: Walks, graph_kernel: KernelOfMeans, intake: GraphIntake
) -> RetGK:
    own = shared_parameters(RetGK, engine, walks)
    kernel = RetGK(**own, graph_kernel=graph_kernel)
    return set_fitted_kernel(kernel, engine, walks, graph_kernel, intake)
