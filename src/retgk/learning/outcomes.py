"""What decision values say of graphs: classes, labels or values, probabilities and scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from retgk._runtime.parallel import single_threaded_blas
from retgk.array_types import Flags, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.learning.folds import Fold
from retgk.learning.targets import TrainingSet, unit_of

# Probabilities of classes from decision values.


def fit_calibration(
    scores: Floats, codes: NDArray[np.int64], weights: Floats | None = None
) -> tuple[Floats, Floats]:
    """Logistic regression of classes on out-of-fold decision values (Platt, multinomial)."""
    from sklearn.linear_model import LogisticRegression

    with single_threaded_blas():
        model = LogisticRegression(max_iter=1000).fit(scores, codes, sample_weight=weights)
    if model.coef_.trace() < 0:  # reversed, as it can be on few graphs: shares of the classes
        counts = np.bincount(codes, weights)
        shares = np.log(counts / counts.sum())
        intercept = shares[1:] - shares[:1] if len(shares) == 2 else shares
        return np.zeros(model.coef_.shape), intercept
    # in one order of memory, on which the last bits of predictions depend
    return np.ascontiguousarray(model.coef_, np.float64), model.intercept_.astype(np.float64)


def class_probabilities(scores: Floats, coef: Floats, intercept: Floats) -> Floats:
    from scipy.special import softmax

    logits = np.einsum("no,co->nc", scores, coef) + intercept
    if logits.shape[1] == 1:
        logits = np.hstack([np.zeros_like(logits), logits])
    return np.asarray(softmax(logits, axis=1))


# What decision values say of graphs: one class, several labels, or values.

Calibration = tuple[Floats, Floats]
"""Coefficients and intercepts of logistic regressions on decision values."""


@dataclass(frozen=True, eq=False)
class ClassOutcomes:
    """One class for each graph."""

    classes: NDArray[Any]

    def predict(self, scores: Floats) -> NDArray[Any]:
        return np.asarray(self.classes[self.codes(scores)])

    def codes(self, scores: Floats) -> Ints:
        if scores.shape[1] == 1:
            return (scores[:, 0] > 0).astype(np.int64)
        return np.asarray(scores.argmax(axis=1))

    def decision_function(self, scores: Floats) -> Floats:
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def calibrate(
        self, scores: Floats, truth: Ints, weights: Floats | None = None
    ) -> Calibration | None:
        """Logistic regression; None if a class is missing."""
        if len(np.unique(truth)) < len(self.classes):
            return None
        return fit_calibration(scores, truth, weights)

    def probabilities(self, scores: Floats, calibration: Calibration) -> Floats:
        return class_probabilities(scores, *calibration)

    def targets(self, truth: Ints) -> NDArray[Any]:
        return np.asarray(self.classes[truth])

    def perfect_scores(self, truth: Ints) -> Floats:
        signs = np.where(truth[:, None] == np.arange(len(self.classes)), 1.0, -1.0)
        return signs[:, 1:] if len(self.classes) == 2 else signs


@dataclass(frozen=True, eq=False)
class LabelOutcomes:
    """Several labels, each of which a graph has or has not."""

    n_labels: int

    @property
    def classes(self) -> NDArray[Any]:
        return np.arange(self.n_labels)

    def predict(self, scores: Floats) -> Ints:
        return (scores > 0).astype(np.int64)

    def decision_function(self, scores: Floats) -> Floats:
        return scores

    def calibrate(
        self, scores: Floats, truth: Ints, weights: Floats | None = None
    ) -> Calibration | None:
        """One logistic regression for each label; None if there are no graphs."""
        if len(truth) == 0:
            return None
        coef, intercept = np.zeros((self.n_labels, 1)), np.empty(self.n_labels)
        for label, codes in enumerate(truth.T):
            known = np.flatnonzero(codes >= 0)
            own, counted = codes[known], None if weights is None else weights[known]
            if len(np.unique(own)) == 2:
                found = fit_calibration(scores[known, label : label + 1], own, counted)
                coef[label], intercept[label] = found[0][0], found[1][0]
            else:  # its share, as if one graph more had it and one not
                counts = np.bincount(own, counted, minlength=2) + 1.0
                intercept[label] = np.log(counts[1] / counts[0])
        return coef, intercept

    def probabilities(self, scores: Floats, calibration: Calibration) -> Floats:
        from scipy.special import expit

        coef, intercept = calibration
        return np.asarray(expit(scores * coef[:, 0] + intercept))

    def targets(self, truth: Ints) -> NDArray[Any]:
        return truth

    def perfect_scores(self, truth: Ints) -> Floats:
        return np.where(truth < 0, np.nan, np.where(truth == 1, 1.0, -1.0))


@dataclass(frozen=True, eq=False)
class ValueOutcomes:
    """One value for each graph, or a row of them."""

    ndim: int

    def predict(self, values: Floats) -> Floats:
        return values[:, 0] if self.ndim == 1 else values

    def targets(self, truth: Floats) -> Floats:
        return self.predict(truth)

    def perfect_scores(self, truth: Floats) -> Floats:
        return truth


Discrete = ClassOutcomes | LabelOutcomes
"""Outcomes that have probabilities; the truth of graphs is in codes, or zeros and ones."""


class Trial(NamedTuple):
    data: TrainingSet
    outcomes: Discrete | ValueOutcomes
    truth: NDArray[Any]
    """Codes, labels or values of all graphs, shape (n,) or (n, n_outputs); -1 or NaN if missing."""
    folds: Sequence[Fold]

    def by_target(self) -> list[tuple[Trial, list[Flags]]]:
        """Trials of single targets on graphs that have them, and which test graphs these are."""
        if self.truth.ndim == 1 or not missing_truth(self.truth).any():
            return []
        found = []
        for target, missing in enumerate(missing_truth(self.truth).T):
            known = [~missing[test] for _, test in self.folds]
            pairs = zip(self.folds, known, strict=True)
            folds = [(train, test[own]) for (train, test), own in pairs]
            truth = np.where(missing, 0, self.truth[:, target])
            is_value = isinstance(self.outcomes, ValueOutcomes)
            outcomes = ValueOutcomes(1) if is_value else ClassOutcomes(np.arange(2))
            truth = truth[:, None] if is_value else truth
            found.append((Trial(self.data, outcomes, truth, folds), known))
        return found


def missing_truth(truth: NDArray[Any]) -> Flags:
    """Tell which codes of classes are -1, and which values NaN."""
    return np.asarray(np.isnan(truth) if truth.dtype.kind == "f" else truth < 0)


def mean_hits(trial: Trial, weights: Floats) -> Callable[[Sequence[Floats]], Floats]:
    """Accuracy with weights of classes and graphs; of several labels, the share of right ones."""
    data, outcomes, truth, folds = trial
    assert not isinstance(outcomes, ValueOutcomes)
    factors = np.take_along_axis(weights.T, truth, 0) if truth.ndim == 2 else weights[truth]
    if data.weights is not None:
        factors = (factors.T * data.weights).T
    factors = np.where(truth < 0, 0.0, factors)
    targets = outcomes.targets(truth)

    def score(decisions: Sequence[Floats]) -> Floats:
        pairs = zip(decisions, [test for _, test in folds], strict=True)
        hits = [(outcomes.predict(found) == targets[test], test) for found, test in pairs]
        return np.array([_average(right, factors[test]) for right, test in hits])

    return score


def _average(values: NDArray[Any], weights: Floats) -> float:
    return float(np.average(values, weights=weights)) if weights.any() else np.nan


def mean_r2(trial: Trial) -> Callable[[Sequence[Floats]], Floats]:
    data, _, columns, folds = trial

    def score(decisions: Sequence[Floats]) -> Floats:
        pairs = [
            (columns[test], found, data.weights_of(test))
            for found, (_, test) in zip(decisions, folds, strict=True)
        ]
        return np.array([r2_of_known(y, found, w) for y, found, w in pairs])

    return score


def r2_of_known(y: Floats, found: Floats, weights: Floats | None = None) -> float:
    """R^2, the mean over several targets, each over the graphs that have it."""
    from sklearn.metrics import r2_score

    missing = np.isnan(y)
    unit = unit_of(y)
    y, found = np.ldexp(y, -unit), np.ldexp(found, -unit)
    if not missing.any():
        is_one = (y == y[:1]).all(axis=0)  # its mean may differ from it in the last digit
        shift = np.where(is_one, y[:1], 0.0)
        return float(r2_score(y - shift, found - shift, sample_weight=weights))
    factors = np.where(missing, 0.0, 1.0 if weights is None else weights[:, None])
    own = np.where(missing, 0.0, y)
    totals = np.maximum(factors.sum(axis=0), np.finfo(float).tiny)
    spread = (factors * (own - (factors * own).sum(axis=0) / totals) ** 2).sum(axis=0)
    errors = (factors * (own - found) ** 2).sum(axis=0)
    known = np.where(factors > 0, y, np.nan)
    is_defined = np.fmax.reduce(known) > np.fmin.reduce(known)
    scores = 1 - errors[is_defined] / spread[is_defined]
    return float(scores.mean()) if len(scores) else np.nan


# Candidates as scorers of scikit-learn see them


class ValueCandidate(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """What a scorer sees of a regressor: its predictions for the graphs of a test part."""

    def __init__(self, values: Floats) -> None:
        self.values = values

    def predict(self, X: Any) -> Floats:
        return _for_test_part(X, self.values)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class ClassCandidate(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What a scorer sees of a classifier; probabilities are calibrated on the other folds."""

    def __init__(self, trial: Trial, decisions: Sequence[Floats], fold: int) -> None:
        self.trial, self.decisions, self.fold = trial, decisions, fold

    @property
    def classes_(self) -> Any:
        truth = self.trial.truth
        return [np.arange(2)] * truth.shape[1] if truth.ndim == 2 else self._outcomes.classes

    def predict(self, X: Any) -> NDArray[Any]:
        return _for_test_part(X, self._outcomes.predict(self.decisions[self.fold]))

    def decision_function(self, X: Any) -> Floats:
        return _for_test_part(X, self._outcomes.decision_function(self.decisions[self.fold]))

    def predict_proba(self, X: Any) -> Floats:
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
    if len(X) != len(values):
        raise InvalidInputError(
            f"a scorer asked for predictions of {len(X)} graphs, but in choosing among candidates "
            f"there are those of the {len(values)} graphs of a test part only; use X as it comes"
        )
    return values
