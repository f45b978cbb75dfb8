"""Values of graphs predicted by kernel ridge regression."""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin

from retgk._runtime.names import RandomState, whole_seed
from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.estimators.predictor import (
    GraphPredictor,
    decision_values,
    fit_machine,
    unchanged_on_failure,
    uses_embeddings,
)
from retgk.io.convert import GraphsLike
from retgk.kernels.embedded import FeatureMap
from retgk.kernels.engine import Imputation, ScaleAttributes, check_fit
from retgk.kernels.exact import DEFAULT_TOL
from retgk.kernels.exact_points import AttributeKernel
from retgk.kernels.node import NodeKernel
from retgk.learning.folds import FoldMaker, inner_folds
from retgk.learning.metrics import Scoring, fold_scorer
from retgk.learning.outcomes import Trial, ValueOutcomes, mean_r2
from retgk.learning.ridge import LandmarkRidge, landmarks_of
from retgk.learning.selection import Score
from retgk.learning.targets import real_targets, training_set
from retgk.walks.probabilities import Method, SelfLoop


class GraphRegressor(GraphPredictor, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""
    Predict values of graphs by kernel ridge regression on the RetGK kernel.

    It minimises :math:`\sum_i (f(G_i) - y_i)^2 + |f|^2 / (2 C)` over the functions
    :math:`f(G) = \sum_s a_s K(G, G_s) + b` of all training graphs, or of 1,000 of them
    (landmarks, drawn at random) where there are more. Least squares need no width of a tube, as
    support vector regression does, are what `score` measures, and have closed solutions.
    Every parameter marked (candidates) takes one value or a list of values, of which
    cross-validation on the training graphs chooses, in the way of `GraphClassifier`.

    Parameters
    ----------
    C : float (candidates), default=(0.1, 1, 10, 100, 1000)
        Weight of errors against smoothness.
    cv : int, splitter, iterable or None, default=5
        Folds: a number, which makes shuffled ones of two graphs or more, a splitter of
        scikit-learn, or (train, test) pairs; None is 5. With `groups` in `fit`, a number makes
        the folds of `GroupKFold`.
    scoring : str, callable or None, default=None
        By what candidates are chosen: any scorer of scikit-learn, such as
        ``"neg_mean_absolute_error"``, or a callable with (estimator, X, y); None is R^2. See
        `GraphClassifier`.
    approximate, n_steps, p, scale, structure, attributes, scale_attributes, depth
        As in `GraphClassifier`; but for the first, one value or candidates.
    feature_map, n_components, n_landmarks, method, n_walks, self_loop, impute_attributes, tol
        As in `GraphClassifier`.
    n_jobs, verbose
        As in `GraphClassifier`.
    random_state : int, Generator, RandomState or None
        Seed of folds, landmarks, nodes drawn for a median, frequencies and Monte Carlo. With
        None, results differ a little from call to call.

    Attributes
    ----------
    best_params_ : dict
        Chosen values of C, p, scale, n_steps, structure and attributes.
    best_score_ : float
        Their mean score over the folds: R^2 (the mean over several outputs), or what `scoring`
        names; NaN if there were no folds.
    n_splits_ : int
        Number of folds. With none (fewer than four graphs) the first candidates are taken.
    solver_ : "ridge"
        What found the coefficients.
    target_ndim_ : int
        1 if `fit` got one value for each graph, 2 if it got rows of them.
    approximate_, best_index_, cv_results_, engine_, reading_, walks_, graph_kernel_
        As in `GraphClassifier`.
    kernel_, embedding_, support_vectors_
        As in `GraphClassifier`.
    support_ : ndarray of int64, shape (n_support,)
        Training graphs that predictions need.
    dual_coef_ : ndarray of float64, shape (n_outputs, n_support)
        Coefficients a.
    intercept_ : ndarray of float64, shape (n_outputs,)
        Intercepts b.

    Notes
    -----
    Bandwidths inside the folds are those of all graphs given to `fit`; see `GraphClassifier`.
    Several outputs share the kernel and all parameters, C among them.

    Examples
    --------
    >>> from retgk.datasets import make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=60, random_state=0).graphs
    >>> model = GraphRegressor(random_state=0).fit(graphs[:40], graphs.edge_counts[:40])
    >>> model.predict(graphs[40:]).shape
    (20,)
    """

    fitted_fields = (*GraphPredictor.fitted_fields, "target_ndim_")

    target_ndim_: int

    def __init__(
        self,
        *,
        approximate: bool | Literal["auto"] = "auto",
        n_steps: int | Sequence[int] = 50,
        C: float | Sequence[float] = (0.1, 1, 10, 100, 1000),
        p: float | Sequence[float] = (1, 2),
        scale: float | Sequence[float] = (1, 8),
        structure: NodeKernel | Sequence[NodeKernel | None] | None = None,
        attributes: AttributeKernel | Sequence[AttributeKernel] = None,
        scale_attributes: ScaleAttributes | Sequence[ScaleAttributes] = (
            "standard",
            "raw",
            "drop",
        ),
        depth: int | Sequence[int] | None = None,
        feature_map: FeatureMap = "phases",
        n_components: int = 1024,
        n_landmarks: int | None = None,
        cv: FoldMaker | None = 5,
        scoring: Scoring = None,
        method: Method = "exact",
        n_walks: int = 200,
        self_loop: SelfLoop = "mean",
        impute_attributes: Imputation | None = None,
        tol: float = DEFAULT_TOL,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ) -> None:
        self.approximate = approximate
        self.n_steps = n_steps
        self.C = C
        self.p = p
        self.scale = scale
        self.structure = structure
        self.attributes = attributes
        self.scale_attributes = scale_attributes
        self.depth = depth
        self.feature_map = feature_map
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.cv = cv
        self.scoring = scoring
        self.method = method
        self.n_walks = n_walks
        self.self_loop = self_loop
        self.impute_attributes = impute_attributes
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def after_loading(self) -> None:
        if self.target_ndim_ not in (1, 2) or self.solver_ != "ridge":
            raise InvalidInputError("targets of a regressor have one axis or two")
        self._check_machine(1 if self.target_ndim_ == 1 else None)

    def fit(
        self,
        X: GraphsLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """
        Choose the parameters and train.

        Parameters
        ----------
        y : array-like, shape (n_graphs,) or (n_graphs, n_outputs), optional
            Values of every graph; may be left out for a data set, which has its own.
        X, sample_weight, groups, **options
            As in `GraphClassifier.fit`.

        Returns
        -------
        self
            The fitted regressor.
        """
        check_fit(self, options)
        with unchanged_on_failure(self):
            data = training_set(X, y, sample_weight, groups)
            values = real_targets(data.targets)
            self.target_ndim_, n_graphs = values.ndim, len(values)
            columns = values.reshape(n_graphs, -1)
            if n_graphs == 1:
                raise InvalidInputError(
                    "there is one graph (n_samples=1); a regressor needs several"
                )
            seed = whole_seed(self.random_state, n_bits=31)
            self.approximate_ = uses_embeddings(self, data.batch)
            folds = inner_folds(self.cv, values, seed, data.grouping)
            trial = Trial(data, ValueOutcomes(values.ndim), columns, folds)
            weights = np.ones(n_graphs) if data.weights is None else data.weights
            solver = LandmarkRidge(columns, weights)
            landmarks = landmarks_of(n_graphs, seed, self.n_landmarks)
            score: Score = mean_r2(trial)
            if self.scoring is not None:
                score = fold_scorer(self.scoring, self, trial)
            fit_machine(self, data, solver, landmarks, folds, score, seed)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X: GraphsLike) -> Floats:
        """
        Predict values.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            Graphs.

        Returns
        -------
        ndarray of float64, shape (n_graphs,) or (n_graphs, n_outputs)
            In the shape of the targets of `fit`.
        """
        return ValueOutcomes(self.target_ndim_).predict(decision_values(self, X))
