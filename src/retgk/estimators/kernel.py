"""RetGK_I: the exact graph kernel as a scikit-learn estimator."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from retgk.array_types import Floats
from retgk.engine.exact.fitted_graphs import FittedGraphs
from retgk.engine.exact.new_graphs import (
    NewGraphs,
    placed_graphs,
    products_with_fitted,
    squared_norms,
)
from retgk.engine.exact.points import NodePoints
from retgk.engine.exact.reduction import reduced_points
from retgk.engine.exact.tiled_gram import gram_of_reduced
from retgk.engine.node_features import AttributeKernel, attribute_blocks, node_points
from retgk.estimators.kernel_parameters import (
    check_graph_kernel,
    check_node_parameters,
    walk_seed,
)
from retgk.graphs.batch import GraphBatch
from retgk.graphs.validation import check_alike, warn_of_unknown_labels
from retgk.io.converters import as_batch
from retgk.kernels.graph_kernels import (
    ExponentialGraphKernel,
    GraphKernel,
    squared_mmd_from_products,
)
from retgk.kernels.node_kernels import Laplacian, NodeKernel
from retgk.runtime.memory import check_room
from retgk.walks.return_probabilities import Method, return_probabilities

__all__ = ["DEFAULT_TOL", "RetGKKernel"]

DEFAULT_TOL = 1e-4


class RetGKKernel(TransformerMixin, BaseEstimator):  # type: ignore[misc]
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
    structure_kernel : Laplacian, Gaussian, Polynomial or None, default=None
        Kernel of return probabilities. None is ``Laplacian("median")``.
    attribute_kernel : node kernel, dict or None, default=None
        Kernel of attributes; or, by name, tuples of the columns of a block and its kernel, which
        multiply. None is ``Laplacian("dimension")`` where graphs have attributes.
    graph_kernel : ExponentialGraphKernel, PolynomialGraphKernel or None, default=None
        Kernel of graphs. None is ``ExponentialGraphKernel()``, that is exp(-MMD / median).
    method : {"exact", "eigh", "monte-carlo", "monte-carlo-returns"}, default="exact"
        How return probabilities are found; see `return_probabilities`.
    n_walks : int, default=200
        Walks per node, for Monte Carlo.
    self_loop : float, default=1.0
        Weight of the self-loop that every node gets.
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
    structure_kernel_ : node kernel
        With the bandwidth that was found.
    attribute_kernels_ : list of node kernel
        One per block of attributes, with bandwidths.
    graph_kernel_ : graph kernel
        With the bandwidth that was found.
    label_names_ : tuple of hashable
        Labels of the fitted graphs.
    walk_seed_ : int
        Seed of Monte Carlo, for fitted and new graphs alike.
    inner_products_ : ndarray of float64, shape (n_fitted, n_fitted)
        ``<m_G, m_H>`` between the fitted graphs.

    Notes
    -----
    Bandwidths and medians come from the fitted graphs alone. A label that no fitted graph has
    matches nothing among them; if new graphs have no other labels, that is a warning.

    What `transform` gives for a graph depends on that graph and on the fitted ones, not on the
    others in the call: it is the same to the bit, alone or among others. For fitted graphs it gives
    the rows of `fit_transform` within what `tol` allows, not to the bit. The distance of a graph to
    its own copy among the fitted ones is about 1e-4 where tiles are in float32, 1e-6 in float64;
    for `tol` from 1e-3 on, where unequal nodes are merged too, it may be as large as the root of
    `tol`.

    Examples
    --------
    >>> from retgk import make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=6, random_state=0).graphs
    >>> kernel = RetGKKernel(random_state=0)
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

    def __init__(
        self,
        n_steps: int = 50,
        *,
        structure_kernel: NodeKernel | None = None,
        attribute_kernel: AttributeKernel = None,
        graph_kernel: GraphKernel | None = None,
        method: Method = "exact",
        n_walks: int = 200,
        self_loop: float = 1.0,
        tol: float = DEFAULT_TOL,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_steps = n_steps
        self.structure_kernel = structure_kernel
        self.attribute_kernel = attribute_kernel
        self.graph_kernel = graph_kernel
        self.method = method
        self.n_walks = n_walks
        self.self_loop = self_loop
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """
        Find bandwidths, and the inner products of the fitted graphs.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            Graphs.
        y : ignored
            For scikit-learn's sake.

        Returns
        -------
        self
            The fitted kernel.
        """
        batch = as_batch(X)
        graph_kernel = self.graph_kernel or ExponentialGraphKernel()
        check_graph_kernel(graph_kernel, len(batch))
        check_room(8 * len(batch) ** 2, "the kernel matrix", "use write_mean_embedding_gram")
        self._fit_nodes(batch)
        self._fit_products()
        self.graph_kernel_ = self._with_median(graph_kernel)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Floats:  # noqa: ARG002
        """
        Fit, and give the kernel between the fitted graphs.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            Graphs.
        y, **fit_params : ignored
            For scikit-learn's sake.

        Returns
        -------
        ndarray of float64, shape (n, n)
            Kernel values.
        """
        batch = as_batch(X)
        n_bytes = 2 * 8 * len(batch) ** 2  # inner products, kernel
        check_room(n_bytes, "the kernel matrix", "use write_mean_embedding_gram")
        self.fit(batch)
        return self.graph_kernel_(self.inner_products_, self.squared_norms_, self.squared_norms_)

    def transform(self, X: Any) -> Floats:
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
        return self._kernel_with_fitted(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
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
        check_is_fitted(self, "squared_norms_")
        return np.array([f"graph{i}" for i in range(len(self.squared_norms_))], dtype=object)

    def distances(self, X: Any = None) -> Floats:
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
            check_is_fitted(self, "squared_norms_")
            return np.sqrt(self._squared_mmd())
        products, norms = self._products_and_norms(X)
        return np.sqrt(squared_mmd_from_products(products, norms, self.squared_norms_))

    def diagonal(self, X: Any = None) -> Floats:
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
        check_is_fitted(self, "squared_norms_")
        norms = self.squared_norms_ if X is None else self._norms(self._placed(X))
        return np.array([self.graph_kernel_(k, k[0], k[0])[0, 0] for k in norms[:, None, None]])

    def __sklearn_is_fitted__(self) -> bool:
        return "graph_kernel_" in vars(self)  # nodes alone are not enough

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _fit_nodes(self, X: Any, probabilities: Floats | None = None) -> None:
        """
        Find node features, the bandwidths of their kernels, and reduced points; no product yet.

        Return probabilities that are known already are taken as they are.
        """
        points = self._fit_bandwidths(as_batch(X), probabilities)
        self._fit_points(points)

    def _fit_bandwidths(self, batch: GraphBatch, probabilities: Floats | None = None) -> NodePoints:
        """Find and give node features, and the bandwidths of their kernels."""
        check_node_parameters(self.get_params(deep=False), batch)
        blocks = attribute_blocks(self.attribute_kernel, batch.n_attributes)
        self._n_attributes = batch.n_attributes
        self._columns = [columns for columns, _ in blocks]
        self.label_names_ = batch.label_names
        self._has_labels = batch.has_labels
        self.walk_seed_ = walk_seed(self.random_state, self.method)
        points = self._points_of(batch, probabilities)
        fitted = [
            kernel.fitted(features, batch.node_ptr, self.random_state)
            for kernel, features in zip(
                [self.structure_kernel or Laplacian("median"), *(kernel for _, kernel in blocks)],
                points.blocks,
                strict=True,
            )
        ]
        self.structure_kernel_, *self.attribute_kernels_ = fitted
        return points

    def _fit_points(self, points: NodePoints) -> None:
        """Make these the nodes of the fitted graphs, whose bandwidths are known."""
        reduced = reduced_points(points, self._kernels, self.tol, self.n_jobs)
        self._fitted = FittedGraphs.of(reduced)

    def _fit_products(self) -> None:
        """Find the inner products of the fitted graphs, whose nodes are known."""
        self.inner_products_ = gram_of_reduced(self._fitted.reduced, self.n_jobs)
        self.squared_norms_ = self.inner_products_.diagonal().copy()

    def _with_median(self, graph_kernel: GraphKernel) -> GraphKernel:
        """Replace a rule for gamma by the number that the fitted graphs give."""
        if isinstance(graph_kernel, ExponentialGraphKernel) and graph_kernel.gamma == "median":
            from retgk.kernels.medians import typical_squared_mmd

            return graph_kernel.fitted(typical_squared_mmd(self.inner_products_, self.n_jobs))
        return graph_kernel

    def _keep_graphs(self, graphs: NDArray[np.int64]) -> None:
        """Forget all fitted graphs but some, which are from now on the columns of the kernel."""
        self._fitted = self._fitted.chosen(graphs)
        self.inner_products_ = self.inner_products_[np.ix_(graphs, graphs)]
        self.squared_norms_ = self.squared_norms_[graphs]

    def __getattr__(self, name: str) -> Any:
        """Find inner products when a model from a file, which lacks them, is asked for them."""
        # not a property: scikit-learn's HTML would compute one in order to show it
        if name != "inner_products_" or "squared_norms_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.inner_products_ = gram_of_reduced(self._fitted.reduced, self.n_jobs)
        return self.inner_products_

    @property
    def _kernels(self) -> list[NodeKernel]:
        return [self.structure_kernel_, *self.attribute_kernels_]

    def _squared_mmd(self) -> Floats:
        squared = squared_mmd_from_products(
            self.inner_products_, self.squared_norms_, self.squared_norms_
        )
        np.fill_diagonal(squared, 0.0)
        return squared

    def _points_of(self, batch: GraphBatch, probabilities: Floats | None = None) -> NodePoints:
        if probabilities is None:
            probabilities = return_probabilities(
                batch,
                self.n_steps,
                method=self.method,
                n_walks=self.n_walks,
                self_loop=self.self_loop,
                n_jobs=self.n_jobs,
                random_state=self.walk_seed_,
            )
        return node_points(batch, probabilities, self._columns, self.label_names_)

    def _new_points(self, X: Any) -> NodePoints:
        """Features of the nodes of new graphs, which must have what the fitted ones have."""
        batch = as_batch(X)
        check_alike(batch, self._has_labels, self._n_attributes)
        return self._points_of(batch)

    def _placed(self, X: Any) -> NewGraphs:
        """New graphs among the fitted ones, each for itself."""
        return self._place(self._new_points(X))

    def _place(self, points: NodePoints) -> NewGraphs:
        return placed_graphs(points, self._fitted, self.n_jobs)

    def _norms(self, graphs: NewGraphs) -> Floats:
        return squared_norms(graphs, self._fitted, self.tol, self.n_jobs)

    def _products(self, graphs: NewGraphs) -> Floats:
        size = 8 * graphs.nodes.n_graphs * self._fitted.n_graphs
        check_room(size, "the kernel matrix", "transform fewer graphs at a time")
        return products_with_fitted(graphs, self._fitted, self.n_jobs)

    def _kernel_with_fitted(self, X: Any) -> Floats:
        """Kernel values as an array, whatever output scikit-learn is set to."""
        products, norms = self._products_and_norms(X)
        return self.graph_kernel_(products, norms, self.squared_norms_)

    def _products_and_norms(self, X: Any) -> tuple[Floats, Floats]:
        check_is_fitted(self, "squared_norms_")
        batch = as_batch(X)
        warn_of_unknown_labels(batch.label_names, self.label_names_)
        graphs = self._placed(batch)
        return self._products(graphs), self._norms(graphs)
