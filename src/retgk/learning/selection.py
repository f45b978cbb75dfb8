"""Candidates of parameters, and the choice among them by cross-validation on training graphs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.parameters import PREDICTORS, check_parameters
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.kernels.graph import KernelOfMeans
from retgk.learning.folds import Fold, FoldMaker, inner_folds
from retgk.learning.outcomes import ClassOutcomes, Discrete, LabelOutcomes, Trial
from retgk.learning.ridge import RidgeMaker
from retgk.learning.svm import GraphProducts, OneForEach, Solver, SupportVectors
from retgk.learning.targets import (
    TrainingSet,
    class_targets,
    class_weights,
    has_several_labels,
    label_targets,
    label_weights,
)

_MOST_EXTENSIONS = 3  # factors of ten
_TIE = 1e-12  # means of the same scores in another order differ by rounding
_ROUNDING = 1e-9  # relative: a gain in one fold alone equals its standard error but for rounding

Score = Callable[[Sequence[Floats]], Floats]
"""
Scores of all folds, from the decision values of their test parts, shape (n_test, n_outputs) each.

A score that is not defined in a fold is NaN there, and its mean is over the other folds.
"""
Report = Callable[[dict[str, Any], Floats], None]
"""Told of every candidate with its scores."""


def candidates_of(value: Any, name: str) -> tuple[Any, ...]:
    """One value, or a list, tuple or array of candidates, as a tuple of at least one."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return (value,)
    if not value:
        raise InvalidInputError(f"{name} has no candidates; give one value or several")
    return tuple(value)


def combinations_of(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """All combinations of the candidates of parameters, the first candidates first."""
    values = [candidates_of(own, name) for name, own in grid.items()]
    return [dict(zip(grid, own, strict=True)) for own in product(*values)]


def checked_penalties(values: Sequence[Any] | Any) -> tuple[float, ...]:
    found = candidates_of(values, "C")
    for c in found:
        check_parameters({"C": PREDICTORS["C"]}, {"C": c})
    return tuple(float(c) for c in found)


class Choice(NamedTuple):
    """A kernel with its best C, and what is needed to train with it."""

    kernel: Any
    """Fitted; it keeps the graphs of the columns of the products."""
    products: GraphProducts
    graph_kernel: KernelOfMeans
    params: dict[str, Any]
    place: int
    """Among all candidates."""
    scores: Floats
    """Of every fold."""
    decisions: list[Floats]
    """Out-of-fold decision values of every fold."""


@dataclass
class Selection:
    """The choice of a kernel, a graph kernel on top of it and C, by the mean score over folds."""

    solver: Solver
    penalties: Sequence[float]
    folds: Sequence[Fold]
    """Without any fold the first candidate is taken."""
    score: Score
    n_jobs: int | None
    report: Report = lambda *_: None
    rows: list[dict[str, Any]] = field(default_factory=list)
    """Parameters of all candidates."""
    scores: list[Floats] = field(default_factory=list)
    _first: Choice | None = None
    _best: Choice | None = None

    def consider(
        self,
        params: Mapping[str, Any],
        kernel: Any,
        products: GraphProducts,
        on_top: Sequence[tuple[dict[str, Any], KernelOfMeans]],
    ) -> None:
        """
        Find the scores of a fitted kernel with these parameters, for all C.

        `on_top` are kernels of its products, with their parameters; their bandwidths are found on
        all training graphs.
        """
        fitted = products.fit_kernels([own for _, own in on_top])
        found = self.solver.out_of_fold(products, fitted, self.folds, self.penalties, self.n_jobs)
        for (own, _), graph_kernel, by_fold in zip(on_top, fitted, found, strict=True):
            start = len(self.rows)
            for c, penalty in enumerate(self.penalties):
                self.rows.append({"C": penalty, **own, **params})
                self.scores.append(self.score([values[c] for values in by_fold]))
                self.report(self.rows[-1], self.scores[-1])
            c = _first_best(self.scores[start:])
            place, decisions = start + c, [values[c] for values in by_fold]
            chosen = (self.rows[place], place, self.scores[place], decisions)
            choice = Choice(kernel, products, graph_kernel, *chosen)
            self._first = self._first or choice
            if self._best is None or _mean(choice.scores) > _mean(self._best.scores) + _TIE:
                self._best = choice

    def extended(self, choice: Choice) -> Choice:
        """The choice with ten times the largest C, or a tenth of the smallest, while that wins."""
        tried = sorted(self.penalties)
        for _ in range(_MOST_EXTENSIONS if self.folds and len(tried) > 1 else 0):
            own = choice.params["C"]
            if tried[0] < own < tried[-1]:
                break
            further = 10 * own if own == tried[-1] else own / 10
            tried = sorted([*tried, further])
            (by_fold,) = self.solver.out_of_fold(
                choice.products, [choice.graph_kernel], self.folds, [further], self.n_jobs
            )
            decisions = [values[0] for values in by_fold]
            self.rows.append({**choice.params, "C": further})
            self.scores.append(self.score(decisions))
            self.report(self.rows[-1], self.scores[-1])
            if not _mean(self.scores[-1]) > _mean(choice.scores) + _TIE:
                break
            place = len(self.rows) - 1
            choice = choice._replace(
                params=self.rows[-1], place=place, scores=self.scores[-1], decisions=decisions
            )
        return choice

    def best(self) -> Choice:
        if self.folds and np.isnan(self.scores).all():
            raise InvalidInputError(
                "the score of every candidate is NaN in every fold; use another scoring, or other "
                "folds"
            )
        assert self._best is not None
        return self._best

    def clearly_best(self, smallest_gain: float) -> Choice:
        """The first kernel, unless another beats it by more than the gain's standard error."""
        best, first = self.best(), self._first
        assert first is not None
        return best if _is_clearly_better(best, first, smallest_gain) else first


def fold_mean(scores: Floats) -> float:
    """Mean of the scores of folds, without those where it is not defined; NaN if there is none."""
    is_known = ~np.isnan(scores)
    known = scores if is_known.all() else scores[is_known]
    return float(known.mean()) if len(known) else np.nan


def _first_best(scores: Sequence[Floats]) -> int:
    means = np.array([_mean(own) for own in scores])
    return int(np.argmax(means >= means.max() - _TIE))


def _mean(scores: Floats) -> float:
    """Mean of the scores of folds; one that is not defined anywhere is the worst."""
    found = fold_mean(scores)
    return -np.inf if np.isnan(found) else found


def _is_clearly_better(best: Choice, first: Choice, smallest_gain: float) -> bool:
    """Whether the mean gain exceeds its standard error over the folds, and the smallest gain."""
    # the best of many is partly the luckiest: taking it whatever the margin cost up to a point of
    # accuracy on small collections
    if np.isneginf(_mean(first.scores)):
        return True
    gains = best.scores - first.scores
    gains = gains[~np.isnan(gains)]
    if len(gains) == 0:
        return False
    error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    return bool(gains.mean() > max((1 + _ROUNDING) * error, smallest_gain))


def cross_validation_table(rows: Sequence[dict[str, Any]], scores: Floats) -> dict[str, Any]:
    """Scores of candidates, shape (n_candidates, n_folds), in the form of `GridSearchCV`."""
    from scipy.stats import rankdata

    table: dict[str, Any] = {
        f"param_{name}": _objects([row[name] for row in rows]) for name in rows[0]
    }
    table["params"] = list(rows)
    for fold in range(scores.shape[1]):
        table[f"split{fold}_test_score"] = scores[:, fold].copy()
    if scores.shape[1]:
        table["mean_test_score"] = np.array([fold_mean(own) for own in scores])
        table["std_test_score"] = np.array(
            [np.nan if np.isnan(own).all() else own[~np.isnan(own)].std() for own in scores]
        )
        means = np.nan_to_num(table["mean_test_score"], nan=-np.inf)
        table["rank_test_score"] = rankdata(-means, method="min").astype(np.int32)
    return table


def _objects(values: list[Any]) -> NDArray[Any]:
    found = np.empty(len(values), object)
    found[:] = values
    return found


class ClassificationTask(NamedTuple):
    """Targets of a classifier with their weights and folds."""

    trial: Trial
    outcomes: Discrete
    truth: Ints
    """Codes of classes, shape (n,), or zeros and ones, shape (n, n_labels)."""
    weights: Floats
    """Of classes, shape (n_classes,), or of graphs without and with a label, (n_labels, 2)."""

    @property
    def is_multilabel(self) -> bool:
        return self.truth.ndim == 2

    def support_vectors(self) -> Solver:
        own = self.trial.data.weights
        if not self.is_multilabel:
            return SupportVectors(self.truth, self.weights, own)
        pairs = zip(self.truth.T, self.weights, strict=True)
        return OneForEach([SupportVectors(codes, two, own) for codes, two in pairs])

    def ridge(self, make: RidgeMaker) -> Solver:
        """Least squares, at once unless labels have weights of their own."""
        own = self.trial.data.weights
        targets = self.outcomes.perfect_scores(self.truth)
        factors = np.ones(len(targets)) if own is None else own
        if not self.is_multilabel:
            return make(targets, self.weights[self.truth] * factors)
        if (self.weights == 1).all():
            return make(targets, factors)
        labels = zip(targets.T, self.truth.T, self.weights, strict=True)
        return OneForEach([make(own[:, None], two[codes] * factors) for own, codes, two in labels])


def classification_task(
    data: TrainingSet, class_weight: Any, cv: FoldMaker | None, seed: int
) -> ClassificationTask:
    outcomes: Discrete
    if has_several_labels(data.targets):
        truth = label_targets(data.targets)
        outcomes = LabelOutcomes(truth.shape[1])
        weights = label_weights(class_weight, truth, data.weights)
    else:
        classes, truth = class_targets(data.targets)
        outcomes = ClassOutcomes(classes)
        weights = class_weights(class_weight, classes, truth, data.weights)
    folds = inner_folds(cv, truth, seed, data.grouping)
    return ClassificationTask(Trial(data, outcomes, truth, folds), outcomes, truth, weights)
