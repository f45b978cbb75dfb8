"""Values of graphs predicted by kernel ridge regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin

from retgk._runtime.names import RandomState, whole_seed
from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.estimators.predictor import (
    Candidates,
    Demand,
    Fitting,
    GraphPredictor,
    Machines,
    decision_values,
    fit_task,
    taken_by,
    tells_callbacks,
    way_to_fit,
)
from retgk.io.convert import GraphsLike
from retgk.kernels.engine import check_fit
from retgk.kernels.kernel import GraphKernel
from retgk.learning.folds import FoldMaker, inner_folds, leaves_one_out_for
from retgk.learning.metrics import Scoring, fold_scorer
from retgk.learning.outcomes import Trial, ValueOutcomes, mean_r2
from retgk.learning.ridge import RidgeMaker
from retgk.learning.selection import Score
from retgk.learning.svm import Solver
from retgk.learning.targets import real_targets, training_set, warn_of_contradictions


class GraphRegressor(GraphPredictor, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""
    Predict values of graphs by kernel ridge regression on a kernel of graphs.

    It minimises :math:`\sum_i (f(G_i) - y_i)^2 + |f|^2 / (2 C)` over the functions
    :math:`f(G) = \sum_s a_s K(G, G_s) + b` of all training graphs, or of landmarks, drawn at
    random, where there are more than 20,000. Least squares need no width of a tube, as
    support vector regression does, are what `score` measures, and have closed solutions.
    Parameters are chosen by cross-validation on the training graphs, in the way of
    `GraphClassifier`.

    Parameters
    ----------
    kernel : GraphKernel or "auto", default="auto"
        Kernel of graphs: `RetGK`, `WeisfeilerLehman`, ..., sums and products of them, or your own.
        "auto" is `RetGK`: exact up to 10^12 pairs of nodes with the same label (counted once for
        each way in which attributes enter), which 20,000 graphs of molecules are far below; by
        random features above.
        Graphs whose labels have several columns, as those of molecules, get `molecule_kernel`.
    C : float or sequence of float, default=(0.1, 1, 10, 100, 1000)
        Weight of errors against smoothness; of several, cross-validation chooses. The default
        is extended by up to three powers of ten where its end is the best.
    candidates : "auto", dict or None, default="auto"
        Values of parameters of the kernel to choose from, by name: ``{"depth": (0, 2)}``, or
        ``{"k1__structure__gamma": (1.0, 5.0)}`` for a sum. "auto" takes the usual ones of the
        kernel (``usual_candidates``) for parameters that are at their defaults; for sums and
        products each part is chosen as if it were alone. None or an empty dict take the kernel as
        it is.
    cv : int, splitter, iterable or None, default=5
        Folds: a number, which makes shuffled ones of two graphs or more, a splitter of
        scikit-learn, or (train, test) pairs; None is 5. With `groups` in `fit`, a number makes
        the folds of `GroupKFold`. Where it is a number and there are no groups, every graph is
        left out alone instead; see `GraphClassifier`.
    scoring : str, callable or None, default=None
        By what candidates are chosen: any scorer of scikit-learn, such as
        ``"neg_mean_absolute_error"``, or a callable with (estimator, X, y); None is R^2. See
        `GraphClassifier`.
    n_landmarks : int, optional
        Graphs that least squares are expressed in; more are more accurate, at a cost that grows
        with their square. By default all, or, of more than 20,000 graphs, as many as 2 GiB of
        kernel values allow, 5,000 at most.
    n_jobs : int, optional
        Threads; None for all cores, but for one inside workers of joblib. It changes no result.
        The kernel has the same, unless it has its own.
    verbose : int, default=0
        1 prints what fitting took and chose, and with RetGK beforehand what it will cost; 2 the
        score of every candidate too. The logger "retgk" gets the same.
    random_state : int, Generator, RandomState or None
        Seed of all that is drawn, by the kernel too, unless it has its own. With None, results
        differ a little from call to call.

    Attributes
    ----------
    kernel_ : GraphKernel
        The chosen kernel, fitted, with the support graphs.
    best_params_ : dict
        Chosen values of C and of the parameters that had candidates.
    best_score_ : float
        Their mean score over the folds: R^2 (the mean over several outputs), or what `scoring`
        names; NaN if there were no folds.
    n_splits_ : int
        Number of folds. With none (fewer than four graphs) the first candidates are taken.
    solver_ : "ridge"
        What found the coefficients.
    method_ : str
        Kernel and machine in words, and why these.
    target_ndim_ : int
        1 if `fit` got one value for each graph, 2 if it got rows of them.
    reading_ : Reading or None
        How the fitted graphs were read; new ones are read alike.
    support_ : ndarray of int64, shape (n_support,)
        Training graphs that predictions need.
    support_names_, support_smiles_ : ndarray of str, shape (n_support,), or None
        Their names, if `fit` got a data set that has some, and their SMILES, if it got such.
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
    >>> from retgk import GraphRegressor
    >>> from retgk.datasets import make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=60, rng=0).graphs
    >>> model = GraphRegressor(random_state=0).fit(graphs[:40], graphs.edge_counts[:40])
    >>> model.predict(graphs[40:]).shape
    (20,)
    """

    fitted_fields = (*GraphPredictor.fitted_fields, "target_ndim_")

    target_ndim_: int

    def __init__(
        self,
        kernel: GraphKernel | Literal["auto"] = "auto",
        *,
        C: float | Sequence[float] = (0.1, 1, 10, 100, 1000),
        candidates: Candidates = "auto",
        cv: FoldMaker | None = 5,
        scoring: Scoring = None,
        n_landmarks: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.candidates = candidates
        self.cv = cv
        self.scoring = scoring
        self.n_landmarks = n_landmarks
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def after_loading(self) -> None:
        if self.target_ndim_ not in (1, 2) or self.solver_ != "ridge":
            raise InvalidInputError("targets of a regressor have one axis or two")
        self._check_machine(1 if self.target_ndim_ == 1 else None)

    @tells_callbacks
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
            Values of every graph; of several, those that are not known are NaN, and the graph
            then says nothing of them. May be left out for a data set, which has its own.
        X, sample_weight, groups, **options
            As in `GraphClassifier.fit`.

        Returns
        -------
        self
            The fitted regressor.
        """
        check_fit(self, options)
        with fit_task(self, X, y):
            data = training_set(X, y, sample_weight, groups, taken_by(self.kernel))
            values = real_targets(data.targets)
            self.target_ndim_, n_graphs = values.ndim, len(values)
            columns = values.reshape(n_graphs, -1)
            warn_of_contradictions(data, True, self.n_jobs)
            if n_graphs == 1:
                raise InvalidInputError(
                    "there is one graph (n_samples=1); a regressor needs several"
                )
            seed = whole_seed(self.random_state, n_bits=31)
            folds = inner_folds(self.cv, values, seed, data.grouping)
            trial = Trial(data, ValueOutcomes(values.ndim), columns, folds)
            weights = np.ones(n_graphs) if data.weights is None else data.weights
            outputs = "values" if values.ndim == 1 else f"{columns.shape[1]:,} values"
            leaves_one_out = leaves_one_out_for(self.cv, data.grouping)
            demand = Demand(0, outputs, leaves_one_out, why_ridge="")
            way = way_to_fit(self, data.batch, demand, seed)
            score: Score = mean_r2(trial)
            if self.scoring is not None:
                score = fold_scorer(self.scoring, self, trial)

            def ridge(make: RidgeMaker) -> Solver:
                return make(columns, weights)

            machines = Machines(None, ridge, folds)
            Fitting.by(way, self, data, machines, score, seed).fit(way.kernel)
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
