"""
A kernel of graphs and the machine on it, with everything chosen on the training graphs.

The machines, their candidates of C and their inner folds are those of `RetGKClassifier` and
`RetGKRegressor`, so that a comparison is one of kernels. Beside them stand models that see
the numbers of nodes and edges alone: what a method has to beat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import check_is_fitted

from retgk._runtime.names import RandomState, whole_seed
from retgk.array_types import Floats, Ints
from retgk.io.convert import GraphsLike, as_batch
from retgk.kernels.graph import PolynomialGraphKernel
from retgk.learning.folds import Fold, FoldMaker, real_folds
from retgk.learning.ridge import LandmarkRidge, landmarks_of
from retgk.learning.scoring import (
    ClassOutcomes,
    Scoring,
    Trial,
    ValueOutcomes,
    fold_scorer,
    mean_hits,
    mean_r2,
)
from retgk.learning.selection import Score, checked_penalties, classification_task, fold_mean
from retgk.learning.svm import GraphProducts, Machine, Solver, one_vs_rest_from_pairs
from retgk.learning.targets import TrainingSet, real_targets, training_set

_AS_IT_IS = PolynomialGraphKernel()  # the values themselves
_TIE = 1e-12  # means of the same scores in another order differ by rounding


class _KernelMachine(BaseEstimator):  # type: ignore[misc]
    """What classifier and regressor share: the choice of the kernel and of C, and its values."""

    def __init__(
        self,
        kernel: Any,
        grid: Mapping[str, Sequence[Any]] | None = None,
        *,
        C: Sequence[float] = (0.1, 1, 10, 100, 1000),
        cv: FoldMaker | None = 5,
        scoring: Scoring = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.grid = grid
        self.C = C
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _choose(
        self,
        data: TrainingSet,
        solver: Solver,
        columns: Ints,
        folds: Sequence[Fold],
        score: Score,
        seed: int,
    ) -> list[Floats]:
        """Choose kernel and C by the mean score over folds, and train; of equal ones the first."""
        chosen, best = None, -np.inf
        penalties = checked_penalties(self.C)
        for params in ParameterGrid(dict(self.grid or {})):
            kernel = self._new_kernel(params, seed)
            values = kernel.fit_transform(data.batch)
            products = GraphProducts(
                np.ascontiguousarray(values[:, columns]), values.diagonal().copy(), columns
            )
            by_fold = solver.out_of_fold(products, [_AS_IT_IS], folds, penalties, self.n_jobs)[0]
            for place, penalty in enumerate(penalties):
                decisions = [own[place] for own in by_fold]
                # a score that is not defined in any fold is the worst
                mean = float(np.nan_to_num(fold_mean(score(decisions)), nan=-np.inf))
                if chosen is None or mean > best + _TIE:
                    best = mean
                    chosen = kernel, products, {"C": penalty, **params}, decisions
        assert chosen is not None
        self.kernel_, products, self.best_params_, decisions = chosen
        self.best_score_, penalty = best, self.best_params_["C"]
        machine = solver.train(products, _AS_IT_IS, penalty)
        self.support_ = columns[machine.support]
        self.dual_coef_, self.intercept_ = machine.dual_coef, machine.intercept
        return decisions

    def _new_kernel(self, params: Mapping[str, Any], seed: int) -> Any:
        """Kernel of one candidate; what is random in it depends on the seed alone."""
        known = self.kernel.get_params()
        common = {"n_jobs": self.n_jobs, "random_state": seed}
        return clone(self.kernel).set_params(
            **params, **{name: value for name, value in common.items() if name in known}
        )

    def _values(self, X: GraphsLike) -> Floats:
        """Values of the machine for new graphs."""
        check_is_fitted(self, "dual_coef_")
        rows = self.kernel_.transform(X)[:, self.support_]
        return Machine(self.support_, self.dual_coef_, self.intercept_).decisions(rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


class KernelClassifier(ClassifierMixin, _KernelMachine):  # type: ignore[misc]
    """
    Support vector machine on a kernel of graphs.

    Parameters
    ----------
    kernel : transformer
        Gives kernel values, with `fit_transform` and `transform`.
    grid : mapping of str to sequence, optional
        Candidates of the parameters of the kernel.
    C : sequence of float
        Candidates of C.
    cv, scoring, n_jobs, random_state
        As in `RetGKClassifier`.

    Examples
    --------
    >>> from retgk import WeisfeilerLehmanKernel, make_graph_classification
    >>> data = make_graph_classification(n_graphs=30, random_state=0)
    >>> model = KernelClassifier(WeisfeilerLehmanKernel(), {"n_iter": [1, 2]}, random_state=0)
    >>> model.fit(data.graphs, data.targets).predict(data.graphs[:2]).shape
    (2,)
    """

    def fit(self, X: GraphsLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Choose the parameters and train; groups are kept together in the inner folds."""
        data = training_set(X, y, None, groups)
        seed = whole_seed(self.random_state, n_bits=31)
        task = classification_task(data, None, self.cv, seed)
        self.classes_ = task.outcomes.classes
        score: Score = mean_hits(task.trial, task.weights)
        if self.scoring is not None:
            score = fold_scorer(self.scoring, self, task.trial)
        solver, everything = task.support_vectors(), np.arange(len(data.batch))
        folds = task.trial.folds
        decisions = self._choose(data, solver, everything, folds, score, seed)
        self.calibration_coef_ = self.calibration_intercept_ = None
        tested = np.concatenate([test for _, test in folds]) if folds else everything[:0]
        if folds and len(np.unique(task.truth[tested])) == len(self.classes_):
            found = task.outcomes.calibrate(np.concatenate(decisions), task.truth[tested])
            if found is not None:
                self.calibration_coef_, self.calibration_intercept_ = found
        return self

    def _scores(self, X: GraphsLike) -> Floats:
        """Decision values with one column for each class, or one alone for two."""
        return one_vs_rest_from_pairs(self._values(X), len(self.classes_))

    def decision_function(self, X: GraphsLike) -> Floats:
        """Decision values: one for two classes, else one for each."""
        return ClassOutcomes(self.classes_).decision_function(self._scores(X))

    def predict(self, X: GraphsLike) -> NDArray[Any]:
        """Class with the largest decision value."""
        return ClassOutcomes(self.classes_).predict(self._scores(X))


class KernelRegressor(RegressorMixin, _KernelMachine):  # type: ignore[misc]
    """
    Kernel ridge regression on a kernel of graphs.

    Parameters
    ----------
    kernel, grid, C
        As in `KernelClassifier`.
    cv, scoring, n_jobs, random_state
        As in `RetGKRegressor`.

    Examples
    --------
    >>> from retgk import ShortestPathKernel, make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=30, random_state=0).graphs
    >>> model = KernelRegressor(ShortestPathKernel(), random_state=0)
    >>> model.fit(graphs, graphs.node_counts).predict(graphs[:2]).shape
    (2,)
    """

    def fit(self, X: GraphsLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Choose the parameters and train; groups are kept together in the inner folds."""
        data = training_set(X, y, None, groups)
        columns = real_targets(data.targets).reshape(len(data.batch), -1)
        seed = whole_seed(self.random_state, n_bits=31)
        folds = real_folds(self.cv, len(columns), seed, data.grouping)
        trial = Trial(data, ValueOutcomes(1), columns, folds)
        score: Score = mean_r2(trial)
        if self.scoring is not None:
            score = fold_scorer(self.scoring, self, trial)
        solver = LandmarkRidge(columns, np.ones(len(columns)))
        self._choose(data, solver, landmarks_of(len(columns), seed), folds, score, seed)
        return self

    def predict(self, X: GraphsLike) -> Floats:
        """Predict values."""
        return ValueOutcomes(1).predict(self._values(X))


# Models that see the numbers of nodes and edges alone: what a method has to beat.

_LEAST_LEAF = 5  # graphs: sizes of single graphs would be learnt by heart


class GraphSizes(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """
    Numbers of nodes and of edges of graphs.

    Examples
    --------
    >>> from retgk import make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=6, random_state=0).graphs
    >>> GraphSizes().fit_transform(graphs).shape
    (6, 2)
    """

    def fit(self, X: GraphsLike, y: object = None) -> Self:  # noqa: ARG002
        """Do nothing: there is nothing to learn."""
        return self

    def transform(self, X: GraphsLike) -> Floats:
        """Give a row for each graph."""
        graphs = as_batch(X)
        return np.stack([graphs.node_counts, graphs.edge_counts], axis=1).astype(np.float64)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def size_classifier() -> Any:
    """Random forest of sizes, for classes."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline

    return make_pipeline(GraphSizes(), RandomForestClassifier(min_samples_leaf=_LEAST_LEAF))


def size_regressor() -> Any:
    """Random forest of sizes, for values."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.pipeline import make_pipeline

    return make_pipeline(GraphSizes(), RandomForestRegressor(min_samples_leaf=_LEAST_LEAF))
