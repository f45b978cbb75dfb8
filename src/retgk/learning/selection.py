"""Candidates of parameters, and the choice among them by cross-validation on training graphs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product, starmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.kernels.engine import Engine
from retgk.kernels.graph import ExponentialGraphKernel, GraphKernel
from retgk.learning.folds import Fold, FoldMaker, class_folds, label_folds
from retgk.learning.ridge import LandmarkRidge
from retgk.learning.scoring import ClassOutcomes, Discrete, LabelOutcomes, Trial
from retgk.learning.svm import GraphProducts, Machine, Solver, SupportVectors
from retgk.learning.targets import (
    TrainingSet,
    class_targets,
    class_weights,
    has_several_labels,
    label_targets,
    label_weights,
)

# The order is that of accuracy on collections that are in no table of results: MUTAG, PTC_MM,
# PTC_FR, PTC_FM and COX2, ten folds twice.
_DEPTHS = (2, 0, 1, 3)
_DEPTH_OF_EMBEDDINGS = (0, 2)
_TIE = 1e-12  # means of the same scores in another order differ by rounding
_ROUNDING = 1e-9  # relative: a gain in one fold alone equals its standard error but for rounding

Score = Callable[[Sequence[Floats]], Floats]
"""
Scores of all folds, from the decision values of their test parts, shape (n_test, n_outputs) each.

A score that is not defined in a fold is NaN there, and its mean is over the other folds.
"""
Report = Callable[[dict[str, Any], Floats], None]
"""Told of every candidate with its scores."""


class NodeCandidate(NamedTuple):
    """What inner products of graphs depend on: a matrix of them for each candidate."""

    n_steps: int
    structure_kernel: Any
    attribute_kernel: Any
    scale_attributes: Any
    depth: Any


def candidates_of(value: Any, name: str) -> tuple[Any, ...]:
    """
    One value, or a list, tuple or array of candidates, as a tuple of at least one.

    Examples
    --------
    >>> candidates_of(50, "n_steps"), candidates_of((1, 2), "p")
    ((50,), (1, 2))
    """
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return (value,)
    if not value:
        raise InvalidInputError(f"{name} has no candidates; give one value or several")
    return tuple(value)


def node_candidates(
    parameters: Mapping[str, Any], n_attributes: int, is_embedded: bool
) -> list[NodeCandidate]:
    """
    All combinations of what describes nodes, the first candidates first.

    Where attributes are left out, or there are none, what their kernel is makes no difference.
    """
    values = {name: candidates_of(parameters[name], name) for name in NodeCandidate._fields}
    if values["depth"] == (None,):
        values["depth"] = _DEPTH_OF_EMBEDDINGS if is_embedded else _DEPTHS
    may_drop = len(values["scale_attributes"]) > 1
    if n_attributes == 0 and may_drop:
        values["scale_attributes"] = ("raw",)
    found: list[NodeCandidate] = []
    for candidate in starmap(NodeCandidate, product(*values.values())):
        is_dropped = may_drop and candidate.scale_attributes == "drop"
        own = candidate._replace(attribute_kernel=None) if is_dropped else candidate
        if own not in found:
            found.append(own)
    return found


def graph_kernel_candidates(
    parameters: Mapping[str, Any],
) -> list[ExponentialGraphKernel]:
    """All combinations of p and scale, the first candidates first."""
    return [
        ExponentialGraphKernel(p=p, scale=scale)
        for p in candidates_of(parameters["p"], "p")
        for scale in candidates_of(parameters["scale"], "scale")
    ]


def checked_penalties(values: Sequence[Any] | Any) -> tuple[float, ...]:
    """Candidates of C, which are positive and finite."""
    found = candidates_of(values, "C")
    for c in found:
        if isinstance(c, bool | str) or not 0 < c < np.inf:
            raise InvalidInputError(f"C must be positive and finite, got {c!r}")
    return tuple(float(c) for c in found)


class Choice(NamedTuple):
    """The best candidate, and what is needed to train with it."""

    nodes: NodeCandidate
    engine: Engine
    """Fitted; it keeps the graphs of the columns of the products."""
    products: GraphProducts
    kernel: ExponentialGraphKernel
    params: dict[str, Any]
    place: int
    """Among all candidates."""
    scores: Floats
    """Of every fold."""
    decisions: list[Floats]
    """Out-of-fold decision values of every fold."""


def best_candidate(
    sources: Iterable[tuple[NodeCandidate, Engine, GraphProducts]],
    solver: Solver,
    kernels: Sequence[ExponentialGraphKernel],
    penalties: Sequence[float],
    folds: Sequence[Fold],
    score: Score,
    n_jobs: int | None,
    report: Report = lambda *_: None,
    smallest_gain: float = 0.0,
) -> tuple[Choice, dict[str, Any]]:
    """
    Choose by the mean score over the folds.

    Each kernel gets the C with the best mean, of equal ones the first. The first kernel is kept
    unless the best one beats it by more than a standard error of the gain over the folds, and by
    more than ``smallest_gain``.

    Parameters
    ----------
    sources : iterable of (NodeCandidate, Engine, GraphProducts)
        Inner products for each candidate of the nodes, made when their turn comes; those of the
        best so far are kept.
    solver : Solver
        Trains machines.
    kernels : sequence of ExponentialGraphKernel
        Candidates of the graph kernel, whose bandwidth is found on all training graphs.
    penalties : sequence of float
        Candidates of C.
    folds : sequence of (train, test)
        Without any fold the first candidate is taken.
    score : callable
        The larger the better.
    n_jobs : int or None
        Threads.
    report : callable
        Told of every candidate with its scores.
    smallest_gain : float
        What the mean score must rise by before another kernel replaces the first.

    Returns
    -------
    choice : Choice
        The best candidate.
    table : dict
        Scores of all, as in ``cv_results_`` of scikit-learn.
    """
    first: Choice | None = None
    best: Choice | None = None
    rows: list[dict[str, Any]] = []
    scores: list[Floats] = []
    for nodes, engine, products in sources:
        fitted = products.fit_kernels(list(kernels))
        found = solver.out_of_fold(products, fitted, folds, penalties, n_jobs)
        for kernel, by_fold in zip(fitted, found, strict=True):
            start = len(rows)
            rows += [_params(penalty, kernel, nodes) for penalty in penalties]
            scores += [score([own[c] for own in by_fold]) for c in range(len(penalties))]
            for row, own in zip(rows[start:], scores[start:], strict=True):
                report(row, own)
            c = _first_best(scores[start:])
            decisions = [values[c] for values in by_fold]
            place = start + c
            choice = Choice(
                nodes, engine, products, kernel, rows[place], place, scores[place], decisions
            )
            first = first or choice
            if best is None or _mean(choice.scores) > _mean(best.scores) + _TIE:
                best = choice
        if not folds:
            break
    assert first is not None
    assert best is not None
    if folds and np.isnan(scores).all():
        raise InvalidInputError(
            "the score of every candidate is NaN in every fold; use another scoring, or other folds"
        )
    choice = best if _is_clearly_better(best, first, smallest_gain) else first
    return choice, cross_validation_table(rows, np.array(scores))


def _params(penalty: float, kernel: ExponentialGraphKernel, nodes: NodeCandidate) -> dict[str, Any]:
    return {"C": penalty, "p": kernel.p, "scale": kernel.scale, **nodes._asdict()}


def fold_mean(scores: Floats) -> float:
    """
    Mean of the scores of folds, without those where it is not defined; NaN if there is none.

    Examples
    --------
    >>> fold_mean(np.array([0.5, np.nan, 1.0]))
    0.75
    """
    is_known = ~np.isnan(scores)
    known = scores if is_known.all() else scores[is_known]
    return float(known.mean()) if len(known) else np.nan


def _first_best(scores: Sequence[Floats]) -> int:
    """Place of the first among the best; without folds, the first."""
    means = np.array([_mean(own) for own in scores])
    return int(np.argmax(means >= means.max() - _TIE))


def _mean(scores: Floats) -> float:
    """Mean of the scores of folds; one that is not defined anywhere is the worst."""
    found = fold_mean(scores)
    return -np.inf if np.isnan(found) else found


def _is_clearly_better(best: Choice, first: Choice, smallest_gain: float) -> bool:
    """
    Whether the mean gain exceeds its standard error over the folds, and the smallest gain.

    Of many candidates the best one is partly the luckiest: on small collections, taking it
    whatever the margin cost up to a point of accuracy against staying with the first. If only one
    fold differs, the mean gain *is* its standard error: such a gain is never enough.
    """
    if np.isneginf(_mean(first.scores)):
        return True
    gains = best.scores - first.scores
    gains = gains[~np.isnan(gains)]
    if len(gains) == 0:
        return False
    error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    return bool(gains.mean() > max((1 + _ROUNDING) * error, smallest_gain))


def cross_validation_table(rows: Sequence[dict[str, Any]], scores: Floats) -> dict[str, Any]:
    """
    Scores of candidates in the form of ``GridSearchCV.cv_results_``.

    Parameters
    ----------
    rows : sequence of dict
        Parameters of every candidate.
    scores : ndarray, shape (n_candidates, n_folds)
        Scores.

    Returns
    -------
    dict
        Arrays by name; "params" is the list of candidates.

    Examples
    --------
    >>> table = cross_validation_table([{"C": 1}, {"C": 10}], np.array([[0.5, 0.7], [0.9, 0.7]]))
    >>> table["rank_test_score"]
    array([2, 1], dtype=int32)
    """
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
    """One-dimensional array of any objects."""
    found = np.empty(len(values), object)
    found[:] = values
    return found


# -------------------------------------------------------------------------------------------------
# A solver for several outputs, made of one for each, which share the inner products of graphs.
# -------------------------------------------------------------------------------------------------


class OneForEach:
    """
    Machines of several solvers, each with one output, as one machine.

    Parameters
    ----------
    solvers : sequence of Solver
        One for each output, all of one kind.
    """

    def __init__(self, solvers: Sequence[Solver]) -> None:
        self.solvers = solvers
        self.name = solvers[0].name
        self.n_machines = len(solvers)

    def train(self, products: GraphProducts, kernel: GraphKernel, penalty: float) -> Machine:
        """Train on all graphs; the support is that of any output."""
        found = [solver.train(products, kernel, penalty) for solver in self.solvers]
        support = np.unique(np.concatenate([machine.support for machine in found]))
        dual_coef = np.zeros((len(found), len(support)))
        for row, machine in zip(dual_coef, found, strict=True):
            row[np.searchsorted(support, machine.support)] = machine.dual_coef[0]
        return Machine(support, dual_coef, np.concatenate([machine.intercept for machine in found]))

    def out_of_fold(
        self,
        products: GraphProducts,
        kernels: Sequence[GraphKernel],
        folds: Sequence[Fold],
        penalties: Sequence[float],
        n_jobs: int | None,
    ) -> list[list[Floats]]:
        """Decision values of test parts, by kernel, fold and penalty."""
        found = [
            solver.out_of_fold(products, kernels, folds, penalties, n_jobs)
            for solver in self.solvers
        ]
        return [
            [np.concatenate(parts, axis=-1) for parts in zip(*by_output, strict=True)]
            for by_output in zip(*found, strict=True)
        ]

    def scores(self, decisions: Floats) -> Floats:
        """Give the values themselves: there is one for each output already."""
        return decisions


# -------------------------------------------------------------------------------------------------
# What a classifier learns: one class for each graph, or several labels, and by which solvers.
# -------------------------------------------------------------------------------------------------


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
        """Whether graphs have several labels."""
        return self.truth.ndim == 2

    def support_vectors(self) -> Solver:
        """Support vector machines: one, or one for each label."""
        own = self.trial.data.weights
        if not self.is_multilabel:
            return SupportVectors(self.truth, self.weights, own)
        pairs = zip(self.truth.T, self.weights, strict=True)
        return OneForEach([SupportVectors(codes, two, own) for codes, two in pairs])

    def ridge(self) -> Solver:
        """Least squares on landmarks, at once unless labels have weights of their own."""
        own = self.trial.data.weights
        targets = self.outcomes.perfect_scores(self.truth)
        factors = np.ones(len(targets)) if own is None else own
        if not self.is_multilabel:
            return LandmarkRidge(targets, self.weights[self.truth] * factors)
        if (self.weights == 1).all():
            return LandmarkRidge(targets, factors)
        return OneForEach(
            [
                LandmarkRidge(targets[:, label : label + 1], two[codes] * factors)
                for label, (codes, two) in enumerate(zip(self.truth.T, self.weights, strict=True))
            ]
        )


def classification_task(
    data: TrainingSet, class_weight: Any, cv: FoldMaker | None, seed: int
) -> ClassificationTask:
    """
    Classes or labels, their weights and folds, all checked.

    Parameters
    ----------
    data : TrainingSet
        Graphs and targets.
    class_weight : dict, "balanced" or None
        Weights of classes, or of 0 and 1.
    cv : int, splitter, iterable or None
        Folds.
    seed : int
        Seed that shuffles graphs.

    Returns
    -------
    ClassificationTask
        What to learn.
    """
    outcomes: Discrete
    if has_several_labels(data.targets):
        truth = label_targets(data.targets)
        outcomes = LabelOutcomes(truth.shape[1])
        weights = label_weights(class_weight, truth, data.weights)
        folds = label_folds(cv, truth, seed, data.grouping)
    else:
        classes, truth = class_targets(data.targets)
        outcomes = ClassOutcomes(classes)
        weights = class_weights(class_weight, classes, truth, data.weights)
        folds = class_folds(cv, truth, seed, data.grouping)
    return ClassificationTask(Trial(data, outcomes, truth, folds), outcomes, truth, weights)
