"""Classification of graphs in one estimator, with its parameters chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from retgk._runtime.fields import check_codes, check_shape
from retgk._runtime.names import RandomState, whole_seed
from retgk.array_types import Floats, Ints
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
from retgk.learning.folds import FoldMaker, leaves_one_out_for
from retgk.learning.metrics import Scoring, fold_scorer
from retgk.learning.outcomes import ClassOutcomes, Discrete, LabelOutcomes, Trial, mean_hits
from retgk.learning.selection import ClassificationTask, Score, classification_task
from retgk.learning.svm import SupportVectors, one_vs_rest_from_pairs
from retgk.learning.targets import training_set, warn_of_contradictions

ClassWeight = Mapping[Any, float] | Literal["balanced"] | None
SolverName = Literal["auto", "svm", "ridge"]


class GraphClassifier(GraphPredictor, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""
    Classify graphs by a support vector machine on a kernel of graphs (section 6 of the paper).

    The defaults need no tuning: parameters are chosen by cross-validation on the training graphs.
    The first candidates of `RetGK` are kept, with the best C, unless others beat them by more than
    one standard error of the gain over the folds, and by more than one graph. For more than ten
    classes or some 5,000 graphs, regularised least squares take the place of the support vector
    machine: on all graphs, or on landmarks of more than 20,000. `method_` says what was taken.

    Parameters
    ----------
    kernel : GraphKernel or "auto", default="auto"
        Kernel of graphs: `RetGK`, `WeisfeilerLehman`, ..., sums and products of them, or your own.
        "auto" is `RetGK`: exact up to 10^12 pairs of nodes with the same label (counted once for
        each way in which attributes enter), which 20,000 graphs of molecules are far below; by
        random features above.
        Graphs whose labels have several columns, as those of molecules, get `molecule_kernel`.
    C : float or sequence of float, default=(1, 10, 100, 1000)
        Penalty of errors; of several, cross-validation chooses. Least squares extend the default
        by up to three powers of ten where its end is the best.
    candidates : "auto", dict or None, default="auto"
        Values of parameters of the kernel to choose from, by name: ``{"depth": (0, 2)}``, or
        ``{"k1__structure__gamma": (1.0, 5.0)}`` for a sum. "auto" takes the usual ones of the
        kernel (``usual_candidates``) for parameters that are at their defaults; for sums and
        products each part is chosen as if it were alone. None or an empty dict take the kernel as
        it is.
    cv : int, splitter, iterable or None, default=5
        Folds: a number, which makes shuffled stratified ones, a splitter of scikit-learn, or
        (train, test) pairs; None is 5. A class with fewer graphs than folds is missing from some
        test parts; a class with a single graph is never tested. With `groups` in `fit`, a number
        makes the folds of `StratifiedGroupKFold` (of `GroupKFold` for several labels). Where it is
        a number and there are no groups, least squares on all graphs leave out every graph alone
        instead, and folds are parts by which these values are scored.
    scoring : str, callable or None, default=None
        By what candidates are chosen: any scorer of scikit-learn, such as ``"roc_auc"`` or
        ``"balanced_accuracy"``, or a callable with (estimator, X, y), whose estimator answers
        for the graphs of a test part; None is accuracy. Probabilities are calibrated on the
        other folds. Folds in which a scorer is not defined are left out with a warning.
    class_weight : dict, "balanced" or None, default=None
        Factor of C for every class, as in `SVC`; the default score of the cross-validation has
        the same weights. For several labels, of 0 and 1.
    solver : {"auto", "svm", "ridge"}, default="auto"
        Support vector machine, or regularised least squares with leave-one-out. "auto" takes
        support vectors up to ten classes (45 labels) and 3 * 10^7 pairs of graphs, and least
        squares for more.
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
    classes_ : ndarray, shape (n_classes,)
        Classes in order; for several labels their numbers.
    multilabel_ : bool
        Whether `fit` got rows of labels instead of classes.
    kernel_ : GraphKernel
        The chosen kernel, fitted, with the support graphs.
    best_params_ : dict
        Chosen values of C and of the parameters that had candidates.
    best_score_ : float
        Their mean score over the folds: what `scoring` names, else accuracy, weighted by
        `class_weight` and `sample_weight` (for several labels, the share of right ones); NaN
        without folds. It is partly luck: `cross_val_score` tells what to expect of new graphs.
    best_index_ : int
        Their place in `cv_results_`.
    cv_results_ : dict
        Scores of all candidates, as in `GridSearchCV`. Where kernels are compared on landmarks
        first, the last rows are those of the chosen one on all graphs.
    n_splits_ : int
        Number of folds. With none (every class has one graph) the first candidates are taken.
    solver_ : {"support vectors", "ridge"}
        What found the coefficients.
    method_ : str
        Kernel and machine in words, and why these.
    reading_ : Reading or None
        How the fitted graphs were read; new ones are read alike.
    support_ : ndarray of int64, shape (n_support,)
        Training graphs that predictions need.
    support_names_, support_smiles_ : ndarray of str, shape (n_support,), or None
        Their names, if `fit` got a data set that has some, and their SMILES, if it got such.
    support_codes_ : ndarray of int64, shape (n_support,) or (n_support, n_labels)
        Their classes as places in `classes_`, or their labels, -1 where one is missing.
    dual_coef_ : ndarray of float64, shape (n_outputs, n_support)
        Coefficients: one row for two classes; else one for each pair of classes ("support
        vectors") or each class ("ridge"); for several labels, one for each.
    intercept_ : ndarray of float64, shape (n_outputs,)
        Intercepts.
    calibration_coef_, calibration_intercept_ : ndarray of float64 or None
        Logistic regression on out-of-fold decision values; None if a class was never tested.

    Notes
    -----
    Return probabilities are computed once, inner products of graphs once for each candidate of
    what describes nodes; folds and all other candidates take slices of them. Bandwidths inside the
    folds are therefore those of all graphs given to `fit`. If the median distance is zero, that of
    the pairs that differ takes its place. Several labels share the kernel and all parameters.
    `BaggingClassifier` and the like take a column of graphs, ``np.asarray(batch)[:, None]``.

    Examples
    --------
    >>> from retgk import GraphClassifier
    >>> from retgk.datasets import make_graph_classification
    >>> data = make_graph_classification(n_graphs=60, rng=0)
    >>> model = GraphClassifier(random_state=0).fit(data.graphs[:40], data.targets[:40])
    >>> model.predict(data.graphs[40:]).shape
    (20,)
    """

    fitted_fields = (
        *GraphPredictor.fitted_fields,
        *("classes_", "multilabel_", "support_codes_"),
        *("calibration_coef_", "calibration_intercept_"),
    )

    classes_: NDArray[Any]
    multilabel_: bool
    support_codes_: Ints
    calibration_coef_: Floats | None
    calibration_intercept_: Floats | None

    def __init__(
        self,
        kernel: GraphKernel | Literal["auto"] = "auto",
        *,
        C: float | Sequence[float] = (1, 10, 100, 1000),
        candidates: Candidates = "auto",
        cv: FoldMaker | None = 5,
        scoring: Scoring = None,
        class_weight: ClassWeight = None,
        solver: SolverName = "auto",
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
        self.class_weight = class_weight
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

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
        X : GraphBatch, GraphDataset or anything that `as_batch` takes
            Training graphs.
        y : array-like, shape (n_graphs,) or (n_graphs, n_labels), optional
            Class of every graph, or a row of labels, which are zero or one, and NaN where it is
            not known: the graph then says nothing of that label. May be left out for a data set,
            which has its own.
        sample_weight : array-like, shape (n_graphs,), optional
            Weights of the graphs: one of weight 2 counts as two, one of weight 0 is left out.
            Bandwidths and scales of nodes count each graph once.
        groups : array-like, shape (n_graphs,), optional
            Groups of the graphs, which `cv` keeps together.
        **options : error
            Options of converters belong to `as_batch`; an error says so.

        Returns
        -------
        self
            The fitted classifier.
        """
        check_fit(self, options)
        with fit_task(self, X, y):
            data = training_set(X, y, sample_weight, groups, taken_by(self.kernel))
            seed = whole_seed(self.random_state, n_bits=31)
            task = classification_task(data, self.class_weight, self.cv, seed)
            self.classes_, self.multilabel_ = task.outcomes.classes, task.is_multilabel
            warn_of_contradictions(data, False, self.n_jobs)
            way = way_to_fit(self, data.batch, self._demand(task), seed)
            score: Score = mean_hits(task.trial, task.weights)
            if self.scoring is not None:
                score = fold_scorer(self.scoring, self, task.trial)
            machines = Machines(task.support_vectors, task.ridge, task.trial.folds)
            fitting = Fitting.by(way, self, data, machines, score, seed)
            decisions = fitting.fit(way.kernel)
            self.support_codes_ = task.truth[np.searchsorted(data.positions, self.support_)]
            self._fit_calibration(task.trial, decisions)
        return self

    def _demand(self, task: ClassificationTask) -> Demand:
        n_classes = len(self.classes_)
        n_machines = n_classes if self.multilabel_ else n_classes * (n_classes - 1) // 2
        outputs = f"{n_classes:,} {'labels' if self.multilabel_ else 'classes'}"
        why = "as asked for" if self.solver == "ridge" else None
        if (task.truth < 0).any():
            why = "some labels are missing"
            if self.solver == "svm":
                raise InvalidInputError(
                    "solver='svm' needs all labels of all graphs, and some are missing (NaN); use "
                    "solver='auto' or 'ridge', which leave these out"
                )
        leaves_one_out = leaves_one_out_for(self.cv, task.trial.data.grouping)
        return Demand(n_machines, outputs, leaves_one_out, why, self.solver == "svm")

    def after_loading(self) -> None:
        n_classes = len(self.classes_)
        check_shape("classes_", self.classes_, None)
        if n_classes < 2 or len(set(self.classes_.tolist())) < n_classes:
            raise InvalidInputError("classes_ are not two different ones or more")
        n_scores = 1 if n_classes == 2 and not self.multilabel_ else n_classes
        is_paired = self.solver_ == "support vectors" and not self.multilabel_
        self._check_machine(n_classes * (n_classes - 1) // 2 if is_paired else n_scores)
        shape = (len(self.support_), *((n_classes,) if self.multilabel_ else ()))
        check_shape("support_codes_", self.support_codes_, *shape)
        n_codes, first = (3, -1) if self.multilabel_ else (n_classes, 0)
        check_codes("support_codes_", self.support_codes_ - first, n_codes)
        coef, intercept = self.calibration_coef_, self.calibration_intercept_
        if (coef is None) != (intercept is None):
            raise InvalidInputError("half of the calibration is missing")
        if coef is not None and intercept is not None:
            check_shape("calibration_coef_", coef, n_scores, 1 if self.multilabel_ else n_scores)
            check_shape("calibration_intercept_", intercept, n_scores)

    @property
    def _outcomes(self) -> Discrete:
        check_is_fitted(self, "dual_coef_")
        names = self.classes_
        return LabelOutcomes(len(names)) if self.multilabel_ else ClassOutcomes(names)

    def predict(self, X: GraphsLike) -> NDArray[Any]:
        """
        Predict classes.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            Graphs.

        Returns
        -------
        ndarray, shape (n_graphs,) or (n_graphs, n_labels)
            The class with the largest decision value; or, for each label, one where its
            decision value is positive and else zero.
        """
        return self._outcomes.predict(self._scores(X))

    def decision_function(self, X: GraphsLike) -> Floats:
        """
        Decision values, as those of `SVC` with ``decision_function_shape="ovr"``.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            Graphs.

        Returns
        -------
        ndarray of float64, shape (n_graphs,) for two classes, else (n_graphs, n_classes)
            For two classes, positive for the second; for several labels, one column each.
        """
        return self._outcomes.decision_function(self._scores(X))

    def predict_proba(self, X: GraphsLike) -> Floats:
        """
        Probabilities of classes, from a logistic regression on out-of-fold decision values.

        As with any calibration, the likeliest class can differ from that of `predict`. Where
        decision values of the folds pointed away from the classes, as they can on few graphs,
        probabilities are the shares of the classes.

        Parameters
        ----------
        X : GraphBatch or anything that `as_batch` takes
            Graphs.

        Returns
        -------
        ndarray of float64, shape (n_graphs, n_classes)
            Rows that add up to one, in the order of `classes_`; or, in the manner of
            `MLPClassifier`, the probability of every label, shape (n_graphs, n_labels).
        """
        scores = self._scores(X)
        if self.calibration_coef_ is None or self.calibration_intercept_ is None:
            raise InvalidInputError(
                "there are no probabilities, because a class was in no test part of the folds; fit "
                "with at least two graphs of each class"
            )
        calibration = (self.calibration_coef_, self.calibration_intercept_)
        return self._outcomes.probabilities(scores, calibration)

    def _scores(self, X: GraphsLike) -> Floats:
        """Decision values with one column for each class, or one alone for two."""
        decisions = decision_values(self, X)
        if self.solver_ == SupportVectors.name and not self.multilabel_:
            return one_vs_rest_from_pairs(decisions, len(self.classes_))
        return decisions

    def _fit_calibration(self, trial: Trial, decisions: list[Floats]) -> None:
        self.calibration_coef_ = self.calibration_intercept_ = None
        if not trial.folds:
            return
        tested = np.concatenate([test for _, test in trial.folds])
        found = self._outcomes.calibrate(
            np.concatenate(decisions), trial.truth[tested], trial.data.weights_of(tested)
        )
        if found is not None:
            self.calibration_coef_, self.calibration_intercept_ = found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
