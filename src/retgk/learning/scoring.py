"""Scores by which candidates are compared, computed by the scorers of scikit-learn."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Real
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from retgk._runtime.parallel import single_threaded_blas
from retgk.array_types import Floats, Ints
from retgk.errors import InputWarning, InvalidInputError, warn_user
from retgk.learning.folds import Fold
from retgk.learning.targets import TrainingSet

# -------------------------------------------------------------------------------------------------
# Probabilities of classes from decision values.
# -------------------------------------------------------------------------------------------------


def fit_calibration(
    scores: Floats, codes: NDArray[np.int64], weights: Floats | None = None
) -> tuple[Floats, Floats]:
    """
    Logistic regression of classes on out-of-fold decision values (Platt's idea, multinomial).

    On few graphs it can come out with larger decision values for less likely classes, the reverse
    of predictions; probabilities are then the shares of the classes, whatever the decision values.

    Parameters
    ----------
    scores : ndarray, shape (n, n_outputs)
        Decision values of graphs, from machines that were not trained on them.
    codes : ndarray of int64, shape (n,)
        Their classes.
    weights : ndarray of float64, shape (n,), optional
        Weights of the graphs.

    Returns
    -------
    coef : ndarray of float64, shape (n_rows, n_outputs)
        One row for each class, or one alone for two classes.
    intercept : ndarray of float64, shape (n_rows,)
        Intercepts.
    """
    from sklearn.linear_model import LogisticRegression

    with single_threaded_blas():
        model = LogisticRegression(max_iter=1000).fit(scores, codes, sample_weight=weights)
    if model.coef_.trace() < 0:  # of the values of classes for themselves; of two, the slope
        counts = np.bincount(codes, weights)
        shares = np.log(counts / counts.sum())
        intercept = shares[1:] - shares[:1] if len(shares) == 2 else shares
        return np.zeros(model.coef_.shape), intercept
    # in one order of memory, on which the last bits of predictions depend
    return np.ascontiguousarray(model.coef_, np.float64), model.intercept_.astype(np.float64)


def class_probabilities(scores: Floats, coef: Floats, intercept: Floats) -> Floats:
    """
    Probabilities of all classes.

    Parameters
    ----------
    scores : ndarray, shape (n, n_outputs)
        Decision values.
    coef, intercept : ndarray
        From `fit_calibration`.

    Returns
    -------
    ndarray of float64, shape (n, n_classes)
        Rows that add up to one.

    Examples
    --------
    >>> class_probabilities(np.array([[0.0], [2.0]]), np.array([[1.0]]), np.array([0.0])).round(2)
    array([[0.5 , 0.5 ],
           [0.12, 0.88]])
    """
    from scipy.special import softmax

    logits = np.einsum("no,co->nc", scores, coef) + intercept
    if logits.shape[1] == 1:
        logits = np.hstack([np.zeros_like(logits), logits])
    return np.asarray(softmax(logits, axis=1))


def fit_label_calibration(
    scores: Floats, labels: NDArray[np.int64], weights: Floats | None = None
) -> tuple[Floats, Floats]:
    """
    `fit_calibration` for every label of its own.

    A label that all graphs have, or none, gets its share, as if one graph more had it and one not.

    Parameters
    ----------
    scores : ndarray, shape (n, n_labels)
        Decision values of graphs, from machines that were not trained on them.
    labels : ndarray of int64, shape (n, n_labels)
        Zeros and ones.
    weights : ndarray of float64, shape (n,), optional
        Weights of the graphs.

    Returns
    -------
    coef : ndarray of float64, shape (n_labels, 1)
        Slopes.
    intercept : ndarray of float64, shape (n_labels,)
        Intercepts.
    """
    coef, intercept = np.zeros((labels.shape[1], 1)), np.empty(labels.shape[1])
    for label, own in enumerate(labels.T):
        if own.min() < own.max():
            found = fit_calibration(scores[:, label : label + 1], own, weights)
            coef[label], intercept[label] = found[0][0], found[1][0]
        else:
            counts = np.bincount(own, weights, minlength=2) + 1.0
            intercept[label] = np.log(counts[1] / counts[0])
    return coef, intercept


def label_probabilities(scores: Floats, coef: Floats, intercept: Floats) -> Floats:
    """
    Probabilities of all labels, which do not exclude each other.

    Parameters
    ----------
    scores : ndarray, shape (n, n_labels)
        Decision values.
    coef, intercept : ndarray
        From `fit_label_calibration`.

    Returns
    -------
    ndarray of float64, shape (n, n_labels)
        Between zero and one.

    Examples
    --------
    >>> label_probabilities(np.array([[0.0, 2.0]]), np.array([[1.0], [1.0]]), np.zeros(2)).round(2)
    array([[0.5 , 0.88]])
    """
    from scipy.special import expit

    return np.asarray(expit(scores * coef[:, 0] + intercept))


# -------------------------------------------------------------------------------------------------
# What decision values say of graphs: one class, several labels, or values.
# -------------------------------------------------------------------------------------------------

Calibration = tuple[Floats, Floats]
"""Coefficients and intercepts of logistic regressions on decision values."""


class Discrete(Protocol):
    """Outcomes that have probabilities. The truth of graphs is in codes, or zeros and ones."""

    @property
    def classes(self) -> NDArray[Any]:
        """What classifiers have as ``classes_``."""

    def predict(self, scores: Floats) -> NDArray[Any]:
        """Give what is predicted."""

    def decision_function(self, scores: Floats) -> Floats:
        """Decision values in the shape that users expect."""

    def calibrate(
        self, scores: Floats, truth: Ints, weights: Floats | None = None
    ) -> Calibration | None:
        """Calibrate probabilities on decision values; None where a class is missing."""

    def probabilities(self, scores: Floats, calibration: Calibration) -> Floats:
        """Probabilities of classes or labels."""

    def targets(self, truth: Ints) -> NDArray[Any]:
        """Targets in the words of the user."""

    def perfect_scores(self, truth: Ints) -> Floats:
        """Decision values of a machine without errors."""


@dataclass(frozen=True, eq=False)
class ClassOutcomes:
    """One class for each graph."""

    classes: NDArray[Any]

    def predict(self, scores: Floats) -> NDArray[Any]:
        """Class with the largest decision value."""
        return np.asarray(self.classes[self.codes(scores)])

    def codes(self, scores: Floats) -> Ints:
        """Place of the class with the largest decision value."""
        if scores.shape[1] == 1:
            return (scores[:, 0] > 0).astype(np.int64)
        return np.asarray(scores.argmax(axis=1))

    def decision_function(self, scores: Floats) -> Floats:
        """One value for two classes, else one for each."""
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def calibrate(
        self, scores: Floats, truth: Ints, weights: Floats | None = None
    ) -> Calibration | None:
        """Logistic regression; None if a class is missing."""
        if len(np.unique(truth)) < len(self.classes):
            return None
        return fit_calibration(scores, truth, weights)

    def probabilities(self, scores: Floats, calibration: Calibration) -> Floats:
        """Probabilities of all classes, which add up to one."""
        return class_probabilities(scores, *calibration)

    def targets(self, truth: Ints) -> NDArray[Any]:
        """Classes from codes."""
        return np.asarray(self.classes[truth])

    def perfect_scores(self, truth: Ints) -> Floats:
        """One for the class of a graph, else minus one."""
        signs = np.where(truth[:, None] == np.arange(len(self.classes)), 1.0, -1.0)
        return signs[:, 1:] if len(self.classes) == 2 else signs


@dataclass(frozen=True, eq=False)
class LabelOutcomes:
    """Several labels, each of which a graph has or has not."""

    n_labels: int

    @property
    def classes(self) -> NDArray[Any]:
        """Numbers of the labels."""
        return np.arange(self.n_labels)

    def predict(self, scores: Floats) -> Ints:
        """One where the decision value is positive, else zero."""
        return (scores > 0).astype(np.int64)

    def decision_function(self, scores: Floats) -> Floats:
        """One value for each label."""
        return scores

    def calibrate(
        self, scores: Floats, truth: Ints, weights: Floats | None = None
    ) -> Calibration | None:
        """One logistic regression for each label; None if there are no graphs."""
        return fit_label_calibration(scores, truth, weights) if len(truth) else None

    def probabilities(self, scores: Floats, calibration: Calibration) -> Floats:
        """Probabilities of all labels."""
        return label_probabilities(scores, *calibration)

    def targets(self, truth: Ints) -> NDArray[Any]:
        """Give the labels themselves."""
        return truth

    def perfect_scores(self, truth: Ints) -> Floats:
        """One for a label that a graph has, else minus one."""
        return np.where(truth == 1, 1.0, -1.0)


@dataclass(frozen=True, eq=False)
class ValueOutcomes:
    """One value for each graph, or a row of them."""

    ndim: int

    def predict(self, values: Floats) -> Floats:
        """Values in the shape of the targets."""
        return values[:, 0] if self.ndim == 1 else values

    def targets(self, truth: Floats) -> Floats:
        """Values in the shape in which the user gave them."""
        return self.predict(truth)

    def perfect_scores(self, truth: Floats) -> Floats:
        """Give the values themselves."""
        return truth


Scoring = str | Callable[..., float] | None
"""Name of a scorer of scikit-learn, or a callable with (estimator, X, y)."""


class Trial(NamedTuple):
    """What candidates are scored on."""

    data: TrainingSet
    outcomes: Discrete | ValueOutcomes
    truth: NDArray[Any]
    """Codes, labels or values of all graphs, shape (n,) or (n, n_outputs)."""
    folds: Sequence[Fold]


def checked_scorer(scoring: Any, model: Any) -> Callable[..., Any]:
    """
    Scorer of a name, or the callable itself, if it can be one.

    Parameters
    ----------
    scoring : str or callable
        What the user gave.
    model : estimator
        Whose scorer it is.

    Returns
    -------
    callable
        With (estimator, X, y).
    """
    from sklearn.metrics import check_scoring, get_scorer, get_scorer_names

    if isinstance(scoring, str):
        if scoring not in get_scorer_names():
            near = get_close_matches(scoring.lower(), get_scorer_names(), n=3, cutoff=0.5)
            meant = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
            raise InvalidInputError(
                f"scoring={scoring!r} is no scorer of scikit-learn; {meant}"
                "sklearn.metrics.get_scorer_names() lists all"
            )
        scorer: Callable[..., Any] = get_scorer(scoring)
        return scorer
    if not callable(scoring):
        raise InvalidInputError(
            f"scoring must be None, the name of a scorer or a callable with (estimator, X, y), got "
            f"{scoring!r:.80}"
        )
    try:
        checked: Callable[..., Any] = check_scoring(model, scoring)
    except ValueError as error:
        raise InvalidInputError(f"scoring={scoring!r} cannot be used: {error}") from error
    return checked


def mean_hits(trial: Trial, weights: Floats) -> Callable[[Sequence[Floats]], Floats]:
    """
    Accuracy with weights of classes and graphs; of several labels, the share of right ones.

    Parameters
    ----------
    trial : Trial
        Graphs, truth and folds.
    weights : ndarray of float64, shape (n_classes,) or (n_labels, 2)
        Weights of classes, or of graphs without and with every label.

    Returns
    -------
    callable
        Gives the score of every fold.
    """
    data, outcomes, truth, folds = trial
    assert not isinstance(outcomes, ValueOutcomes)
    factors = np.take_along_axis(weights.T, truth, 0) if truth.ndim == 2 else weights[truth]
    if data.weights is not None:
        factors = (factors.T * data.weights).T
    targets = outcomes.targets(truth)

    def score(decisions: Sequence[Floats]) -> Floats:
        pairs = zip(decisions, [test for _, test in folds], strict=True)
        hits = [(outcomes.predict(found) == targets[test], test) for found, test in pairs]
        return np.array([np.average(right, weights=factors[test]) for right, test in hits])

    return score


def mean_r2(trial: Trial) -> Callable[[Sequence[Floats]], Floats]:
    """
    Coefficient of determination of values, with the weights of graphs.

    Parameters
    ----------
    trial : Trial
        Graphs, values and folds.

    Returns
    -------
    callable
        Gives the score of every fold.
    """
    data, _, columns, folds = trial

    def score(decisions: Sequence[Floats]) -> Floats:
        from sklearn.metrics import r2_score

        pairs = [
            (columns[test], found, data.weights_of(test))
            for found, (_, test) in zip(decisions, folds, strict=True)
        ]
        return np.array([r2_score(y, found, sample_weight=w) for y, found, w in pairs])

    return score


class FoldScorer:
    """
    Score of every fold by a scorer, from the decision values of a candidate.

    Parameters
    ----------
    scorer : callable
        With (estimator, X, y), and sample_weight if it takes it.
    name : str
        What the user calls it.
    trial : Trial
        Graphs, truth and folds.
    """

    def __init__(self, scorer: Callable[..., Any], name: str, trial: Trial) -> None:
        self.scorer, self.name, self.trial = scorer, name, trial
        self.graphs = [trial.data.batch[test] for _, test in trial.folds]
        self.takes_weights = trial.data.weights is not None

    def __call__(self, decisions: Sequence[Floats]) -> Floats:
        """Scores of the folds; NaN where the scorer is not defined."""
        from sklearn.exceptions import UndefinedMetricWarning

        with warnings.catch_warnings():
            # of every candidate; that a fold has no score at all is said once, before the work
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return np.array([self._score(decisions, fold) for fold in range(len(decisions))])

    def _score(self, decisions: Sequence[Floats], fold: int) -> float:
        data, outcomes, truth, folds = self.trial
        test = folds[fold][1]
        options = {"sample_weight": data.weights_of(test)} if self.takes_weights else {}
        targets = outcomes.targets(truth[test])
        candidate: Any = _ClassCandidate(self.trial, decisions, fold)
        if isinstance(outcomes, ValueOutcomes):
            candidate = _ValueCandidate(outcomes.predict(decisions[fold]))
        try:
            found = self.scorer(candidate, self.graphs[fold], targets, **options)
        except InvalidInputError:
            raise
        except TypeError as error:
            if not (options and "sample_weight" in str(error)):
                raise
            self.takes_weights = False  # it knows no weights: few scorers do not
            return self._score(decisions, fold)
        except ValueError as error:
            if self._lacks_classes(fold):
                return np.nan
            raise InvalidInputError(f"scoring={self.name} cannot be used: {error}") from error
        if not isinstance(found, Real):
            raise InvalidInputError(
                f"scoring={self.name} gave {found!r:.80}, but a scorer gives one number"
            )
        return float(found)

    def _lacks_classes(self, fold: int) -> bool:
        """Whether the test part of a fold has too few classes for some scorers."""
        truth, test = self.trial.truth, self.trial.folds[fold][1]
        if isinstance(self.trial.outcomes, ValueOutcomes):
            return False
        if truth.ndim == 2:
            return bool((truth[test].min(axis=0) == truth[test].max(axis=0)).any())
        return len(np.unique(truth[test])) < len(self.trial.outcomes.classes)

    def check(self) -> None:
        """Raise, before any work, if the scorer cannot score these targets; warn of lost folds."""
        _, outcomes, truth, folds = self.trial
        perfect = outcomes.perfect_scores(truth)
        scores = self([perfect[test] for _, test in folds])
        lost = np.flatnonzero(np.isnan(scores))
        if len(lost) and len(lost) == len(folds):
            raise InvalidInputError(
                f"scoring={self.name} is not defined in any fold, as the test parts have too few "
                "classes; use fewer folds, or stratified ones"
            )
        if len(lost):
            names = ", ".join(map(str, lost[:5]))
            note = (
                f"scoring={self.name} is not defined in fold {names} of cv, whose test graphs are "
                f"of too few classes; means are over the other {len(folds) - len(lost)} folds"
            )
            warn_user(InputWarning(note))


def fold_scorer(scoring: Any, model: Any, trial: Trial) -> FoldScorer:
    """
    Score of candidates by a scorer, which is tried before any work is done.

    Parameters
    ----------
    scoring : str or callable
        What the user gave.
    model : estimator
        Whose candidates are scored.
    trial : Trial
        Graphs, truth and folds.

    Returns
    -------
    FoldScorer
        Gives the score of every fold.
    """
    name = repr(scoring) if isinstance(scoring, str) else f"{scoring!r:.80}"
    found = FoldScorer(checked_scorer(scoring, model), name, trial)
    if trial.folds:
        found.check()
    return found


class _ValueCandidate(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """What a scorer sees of a regressor: its predictions for the graphs of a test part."""

    def __init__(self, values: Floats) -> None:
        self.values = values

    def predict(self, X: Any) -> Floats:
        """Predictions for the test part."""
        return _for_test_part(X, self.values)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _ClassCandidate(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """
    What a scorer sees of a classifier: its answers for the graphs of a test part.

    Probabilities are calibrated on the decision values of the other test parts.
    """

    def __init__(self, trial: Trial, decisions: Sequence[Floats], fold: int) -> None:
        self.trial, self.decisions, self.fold = trial, decisions, fold

    @property
    def classes_(self) -> Any:
        """Classes; of labels, in the way by which scorers know that there are several."""
        truth = self.trial.truth
        return [np.arange(2)] * truth.shape[1] if truth.ndim == 2 else self._outcomes.classes

    def predict(self, X: Any) -> NDArray[Any]:
        """Predictions for the test part."""
        return _for_test_part(X, self._outcomes.predict(self.decisions[self.fold]))

    def decision_function(self, X: Any) -> Floats:
        """Decision values of the test part."""
        return _for_test_part(X, self._outcomes.decision_function(self.decisions[self.fold]))

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities for the test part."""
        data, _, truth, folds = self.trial
        others = [number for number in range(len(folds)) if number != self.fold]
        calibration = None
        if others:
            tested = np.concatenate([folds[number][1] for number in others])
            scores = np.concatenate([self.decisions[number] for number in others])
            calibration = self._outcomes.calibrate(scores, truth[tested], data.weights_of(tested))
        if calibration is None:
            raise InvalidInputError(
                "this scoring needs probabilities, which are calibrated on the other folds, but "
                f"for fold {self.fold} these do not test all classes; use several stratified "
                "folds, or a scoring of predictions or decision values such as 'roc_auc'"
            )
        values = self._outcomes.probabilities(self.decisions[self.fold], calibration)
        return _for_test_part(X, values)

    @property
    def _outcomes(self) -> Discrete:
        assert not isinstance(self.trial.outcomes, ValueOutcomes)
        return self.trial.outcomes

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _for_test_part(X: Any, values: NDArray[Any]) -> NDArray[Any]:
    """Give the values, if they are asked for the graphs that they belong to."""
    if len(X) != len(values):
        raise InvalidInputError(
            f"a scorer asked for predictions of {len(X)} graphs, but in choosing among candidates "
            f"there are those of the {len(values)} graphs of a test part only; use X as it comes"
        )
    return values
