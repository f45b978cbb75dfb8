"""`RetGK`: the kernel of the paper, exact (RetGK_I) or by random features (RetGK_II)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from retgk._runtime.names import RandomState, whole_seed
from retgk._runtime.parameters import (
    DEPTH,
    EVERYWHERE,
    NONE,
    TOL,
    VECTORS,
    shared_parameters,
)
from retgk._runtime.processes import check_room
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, warn_of_unknown_labels
from retgk.io.convert import GraphsLike
from retgk.kernels.embedded import EmbeddedEngine, FeatureMap
from retgk.kernels.engine import (
    GraphIntake,
    Imputation,
    NodeFeatures,
    ScaleAttributes,
    fit_intake,
    warn_of_uneven_attributes,
)
from retgk.kernels.exact import DEFAULT_TOL, ExactEngine
from retgk.kernels.exact_points import AttributeKernel
from retgk.kernels.graph import (
    ExponentialGraphKernel,
    KernelOfMeans,
    PolynomialGraphKernel,
    check_fitted_graph_kernel,
    check_graph_kernel,
    fit_graph_kernel,
    squared_mmd_from_products,
    squared_mmd_within,
)
from retgk.kernels.kernel import GraphKernel
from retgk.kernels.node import ATTRIBUTE_KERNEL, Laplacian, NodeKernel
from retgk.walks.probabilities import Walks

# Engines and features from the parameters of `RetGK` and `RetGKEmbedding`.


def new_engine(kernel: Any) -> Any:
    """Engine, not fitted, with the parameters of an estimator for nodes."""
    is_exact = getattr(kernel, "n_components", None) is None
    kind = ExactEngine if is_exact else EmbeddedEngine
    return kind(**shared_parameters(kind, kernel))


def new_features(kernel: Any, engine: Any, batch: GraphBatch) -> NodeFeatures:
    """Features of graphs to be fitted, by the walks of an estimator."""
    walks = Walks() if kernel.walks is None else kernel.walks
    if not isinstance(walks, Walks):
        raise InvalidInputError(f"walks must be Walks(...), got {walks!r:.80}")
    if isinstance(engine, EmbeddedEngine):
        seed = engine.walk_seed
    else:
        is_drawn = walks.is_random or isinstance(kernel.random_state, Integral)
        seed = whole_seed(kernel.random_state) if is_drawn else 0
    if walks.nodes is not None and (isinstance(engine, ExactEngine) or kernel.depth):
        reason = (
            f"depth={kernel.depth} refines the labels of all nodes"
            if kernel.depth
            else "the exact kernel takes all nodes"
        )
        raise InvalidInputError(
            f"{reason}, so Walks(nodes={walks.nodes}) would save nothing; leave one of them out"
        )
    return NodeFeatures(batch, replace(walks, seed=seed), kernel.n_jobs)


def with_fitted_parameters(kernel: Any) -> Any:
    """Copy of an estimator with the parameters that its engine and its walks were made with."""
    found = copy(kernel)
    if hasattr(kernel, "engine_"):
        for name in kernel.get_params(deep=False):
            if hasattr(kernel.engine_, name) and name not in ("n_jobs", "random_state"):
                setattr(found, name, getattr(kernel.engine_, name))
        found.walks = replace(kernel.walks_, seed=0, copies_share=True)
    return found


USE_A_GRAM_FILE = (
    "write inner products to a file instead (write_mean_embedding_gram, `retgk kernel --matrix "
    "products --on-disk`)"
)


class RetGK(GraphKernel):
    r"""
    RetGK kernel between graphs (section 4 of the paper), exact or by random features.

    A node is its return probabilities p, its label a and its attributes b; the node kernel is
    :math:`k_0(p, q)\,[a = a']\,\prod_l k_l(b^l, b'^l)`, over whatever the graphs have. A graph is
    the mean :math:`m_G` of its nodes' features, and the graph kernel is a function of
    :math:`\langle m_G, m_H \rangle`.

    Parameters
    ----------
    depth : int, default=0
        Rounds by which labels are refined: the factor of labels becomes the mean of
        :math:`[c_h = c'_h]` over the levels h = 0, .., depth, with :math:`c_0` the label (one for
        all nodes, if they have none) and :math:`c_{h+1}` the colour of a node together with those
        of its neighbours and the labels of the edges to them (`refined_labels`).
    structure : node kernel, such as Laplacian, Gaussian, Matern, Polynomial, or None, default=None
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
    level_weights : sequence of float, optional
        Weights of the levels in that mean, ``depth + 1`` of them; by default all the same.
    graph_kernel : ExponentialGraphKernel, PolynomialGraphKernel or None, default=None
        Kernel of graphs. None is ``ExponentialGraphKernel()``, that is exp(-MMD / median).
    n_components : int, optional
        Number of random features by which inner products are approximated (RetGK_II); None is
        exact (RetGK_I).
    feature_map : {"phases", "joint", "tensor"}, default="phases"
        Of random features, as in `RetGKEmbedding`.
    walks : Walks, optional
        How return probabilities are found; None is ``Walks()``: exact, 50 steps.
    impute_attributes : {"mean", "median"} or None, default=None
        What fills in missing attributes (NaN), over nodes of fitted graphs; None is an error.
    tol : float, default=1e-4
        Promise of the exact kernel: no inner product of mean embeddings is off by more, of fitted
        or of new graphs. It is none of kernel values: a small distance may be off by the root of
        4 tol, and ``exp(-gamma MMD)`` by gamma times that (see Notes). 0 is plain float64: 1e-12,
        or 1e-14 times the largest exponent of a node kernel if that is more. With a `Polynomial`
        kernel, which always takes float64, errors are relative to its largest value.
    n_jobs : int, optional
        Threads; None for all cores, but for one inside workers of joblib. It changes no result.
    random_state : int, Generator, RandomState or None
        Seed of Monte Carlo, of random features, and of the nodes drawn for a median: with None,
        bandwidths and so kernel values differ a little from call to call.

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
    engine_ : ExactEngine or EmbeddedEngine
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
    in float64, and for `tol` from 1e-3 on it may be as large as the root of `tol`. So with
    ``ExponentialGraphKernel(gamma=5)`` `transform` gives 0.999 for a fitted graph and itself, where
    `fit_transform` gives 1; with ``tol=0`` it is 1 but for 1e-6.

    Examples
    --------
    >>> from retgk import RetGK, Walks
    >>> from retgk.datasets import make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=6, rng=0).graphs
    >>> kernel = RetGK(walks=Walks(n_steps=20), random_state=0)
    >>> kernel.fit_transform(graphs).shape
    (6, 6)
    >>> kernel.transform(graphs[:2]).shape
    (2, 6)

    Searches reach all parameters, those of parts too:

    >>> from sklearn.model_selection import GridSearchCV
    >>> from retgk import GraphClassifier
    >>> search = GridSearchCV(
    ...     GraphClassifier(kernel, C=1.0, candidates={}, random_state=0),
    ...     {"kernel__structure__gamma": ["median", 5.0], "kernel__walks__n_steps": [5]},
    ...     cv=3,
    ... )
    >>> len(search.fit(graphs, [0, 1] * 3).cv_results_["params"])
    2
    """

    _parameter_constraints = (
        EVERYWHERE
        | TOL
        | DEPTH
        | {"n_components": (NONE, *VECTORS["n_components"]), "feature_map": VECTORS["feature_map"]}
    )
    values_by_default: ClassVar[Mapping[str, Any]] = {
        "walks": Walks(),
        "structure": Laplacian("median"),
        "attributes": ATTRIBUTE_KERNEL,
        "graph_kernel": ExponentialGraphKernel(),
    }
    fitted_fields = ("engine_", "walks_", "intake_", "graph_kernel_")
    if_too_large = USE_A_GRAM_FILE

    engine_: ExactEngine | EmbeddedEngine
    graph_kernel_: KernelOfMeans
    walks_: Walks
    intake_: GraphIntake
    _products: Floats | None = None

    def __init__(
        self,
        depth: int = 0,
        *,
        structure: NodeKernel | None = None,
        attributes: AttributeKernel = None,
        scale_attributes: ScaleAttributes = "raw",
        level_weights: Sequence[float] | None = None,
        graph_kernel: KernelOfMeans | None = None,
        n_components: int | tuple[int, int] | None = None,
        feature_map: FeatureMap = "phases",
        walks: Walks | None = None,
        impute_attributes: Imputation | None = None,
        tol: float = DEFAULT_TOL,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.depth = depth
        self.structure = structure
        self.attributes = attributes
        self.scale_attributes = scale_attributes
        self.level_weights = level_weights
        self.graph_kernel = graph_kernel
        self.n_components = n_components
        self.feature_map = feature_map
        self.walks = walks
        self.impute_attributes = impute_attributes
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def usual_candidates(self) -> Mapping[str, Sequence[Any]]:  # type: ignore[override]
        """What a classifier tries for parameters that were left at their defaults."""
        return {
            "scale_attributes": ("standard", "raw", "drop"),
            # the order is that of accuracy on collections that are in no table of results: MUTAG,
            # PTC_MM, PTC_FR, PTC_FM and COX2, ten folds twice
            "depth": (2, 0, 1, 3) if self.n_components is None else (0, 2),
            "graph_kernel__p": (1, 2),
            "graph_kernel__scale": (1, 8),
        }

    def fit_batch(self, batch: GraphBatch) -> None:
        graph_kernel = self.graph_kernel or ExponentialGraphKernel()
        check_graph_kernel(graph_kernel, len(batch))
        intake, batch = fit_intake(self, batch)
        engine = new_engine(self)
        features = new_features(self, engine, batch)
        engine.fit(features)
        if not isinstance(self.attributes, Mapping):  # whose blocks have their own scales
            warn_of_uneven_attributes(batch, self.scale_attributes, self.attributes)
        products = None
        if getattr(graph_kernel, "gamma", None) == "median":
            check_room(8 * len(batch) ** 2, "the kernel matrix", USE_A_GRAM_FILE)
            products = engine.inner_products()
            graph_kernel = fit_graph_kernel(graph_kernel, products, self.n_jobs)
        self.take_engine(engine, features.walks, graph_kernel, intake)
        self._products = products

    def take_engine(
        self, engine: Any, walks: Walks, graph_kernel: KernelOfMeans, intake: GraphIntake
    ) -> Self:
        """Set the fitted attributes; inner products are found when they are asked for."""
        self.engine_, self.walks_, self.intake_ = engine, walks, intake
        self.graph_kernel_, self._products = graph_kernel, None
        return self

    def for_saving(self) -> Self:
        """Kernel with the parameters that it was fitted with, whatever they were set to since."""
        found: Self = with_fitted_parameters(self)
        return found

    def after_loading(self) -> None:
        self.engine_.check_restored(self.walks_.n_steps)
        self.engine_.n_jobs = self.n_jobs
        self.intake_.check(self.engine_.n_attributes)
        check_fitted_graph_kernel(self.graph_kernel_)

    @property
    def n_graphs_(self) -> int:  # type: ignore[override]
        """Number of fitted graphs."""
        return self.engine_.n_graphs

    @property
    def n_attributes_(self) -> int:  # type: ignore[override]
        """Number of attributes of a node."""
        return self.engine_.n_attributes

    @property
    def structure_(self) -> NodeKernel:
        """Kernel of return probabilities, with its bandwidth."""
        check_is_fitted(self)
        own = self.engine_
        return own.kernels[0] if isinstance(own, ExactEngine) else own.structure_

    @property
    def attributes_(self) -> list[NodeKernel]:
        """Kernels of the blocks of attributes, with their bandwidths."""
        check_is_fitted(self)
        own = self.engine_
        if isinstance(own, ExactEngine):
            return own.kernels[1:]
        return [] if own.attributes_ is None else [own.attributes_]

    @property
    def label_names_(self) -> Any:
        """Labels of the fitted graphs."""
        check_is_fitted(self)
        return self.engine_.label_names

    @property
    def squared_norms_(self) -> Floats:
        """``<m_G, m_G>`` of the fitted graphs."""
        check_is_fitted(self)
        return self.engine_.squared_norms()

    @property
    def inner_products_(self) -> Floats:
        """Inner products of the fitted graphs; a model from a file finds them when asked."""
        check_is_fitted(self)
        if self._products is None:
            self._products = self.engine_.inner_products()
        return self._products

    def __dir__(self) -> list[str]:
        # scikit-learn looks at the value of every attribute that is listed, to show it: inner
        # products would be computed for that
        return [name for name in object.__dir__(self) if name not in _COMPUTED]

    def gram(self) -> Floats:
        products = self.inner_products_
        norms = products.diagonal().copy()
        return self.graph_kernel_(products, norms, norms)

    def rows(self, batch: GraphBatch) -> Floats:
        new = self.compare(batch)
        return self._values(new, new.squared_norms())

    def rows_and_norms(self, batch: GraphBatch) -> tuple[Floats, Floats]:
        new = self.compare(batch)
        norms = new.squared_norms()
        return self._values(new, norms), self._with_themselves(norms)

    def _values(self, new: Any, norms: Floats) -> Floats:
        return self.graph_kernel_(new.products(), norms, self.squared_norms_)

    def norms(self, batch: GraphBatch | None = None) -> Floats:
        own = self.engine_ if batch is None else self.engine_.compare(self.features(batch))
        return self._with_themselves(own.squared_norms())

    def _with_themselves(self, norms: Floats) -> Floats:
        if self.graph_kernel_ == PolynomialGraphKernel():
            return norms
        return np.array([self.graph_kernel_(k, k[0], k[0])[0, 0] for k in norms[:, None, None]])

    def keep(self, graphs: Ints) -> Self:
        kept = copy(self)
        engine = self.engine_.keep(graphs)
        return kept.take_engine(engine, self.walks_, self.graph_kernel_, self.intake_)

    def compare(self, batch: GraphBatch) -> Any:
        """Put new graphs, which are checked, beside the fitted ones."""
        warn_of_unknown_labels(batch.label_names, self.label_names_)
        return self.engine_.compare(self.features(batch))

    def features(self, batch: GraphBatch) -> NodeFeatures:
        """New graphs as the engine takes them."""
        found = NodeFeatures(self.intake_.completed(batch), self.walks_, self.n_jobs)
        if isinstance(self.engine_, ExactEngine):  # random features find them piece by piece
            _ = found.probabilities
        return found

    def batch_vectors(self, batch: GraphBatch) -> Any:
        engine = self.engine_
        if isinstance(engine, ExactEngine):
            raise InvalidInputError(
                f"{self!r} is exact, and its vectors would have no end; give n_components, such as "
                "RetGK(n_components=512, graph_kernel=PolynomialGraphKernel())"
            )
        if self.graph_kernel_ != PolynomialGraphKernel():
            raise InvalidInputError(
                f"the vectors of {self.graph_kernel_!r} would have no end; use "
                "graph_kernel=PolynomialGraphKernel(), whose values are inner products of mean "
                "embeddings"
            )
        warn_of_unknown_labels(batch.label_names, self.label_names_)
        return engine.embed(self.features(batch), is_sparse=False)

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
        new = self.compare(self.new(X))
        squared = squared_mmd_from_products(
            new.products(), new.squared_norms(), self.squared_norms_
        )
        return np.sqrt(squared)


_COMPUTED = ("inner_products_", "squared_norms_")
