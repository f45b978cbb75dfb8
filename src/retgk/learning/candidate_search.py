"""Comparison of all candidates by cross-validation on the training graphs."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.kernels.graph_kernels import ExponentialGraphKernel
from retgk.learning.candidates import NodeCandidate
from retgk.learning.folds import Fold
from retgk.learning.graph_products import GraphProducts
from retgk.learning.machine import Machine

__all__ = ["Choice", "Score", "Solver", "best_candidate", "cross_validation_table"]

Source = tuple[NodeCandidate, Any, GraphProducts]
Score = Callable[[Floats, Ints], float]
"""Of decision values, shape (n_test, n_outputs), for the graphs of a test part."""

_TIE = 1e-12  # means of the same scores in another order differ by rounding


class Solver(Protocol):
    """What trains machines on kernels of graphs."""

    name: str

    def fitted(
        self, products: GraphProducts, kernel: ExponentialGraphKernel, penalty: float
    ) -> Machine:
        """Train on all graphs."""

    def out_of_fold(
        self,
        products: GraphProducts,
        kernels: Sequence[ExponentialGraphKernel],
        folds: Sequence[Fold],
        penalties: Sequence[float],
        n_jobs: int | None,
    ) -> list[list[Floats]]:
        """Decision values of test parts, by kernel, fold and penalty."""

    def scores(self, decisions: Floats) -> Floats:
        """Give decision values in the form in which they are compared."""


class Choice(NamedTuple):
    """The best candidate, and what is needed to train with it."""

    source: Any
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
    sources: Iterable[Source],
    solver: Solver,
    kernels: Sequence[ExponentialGraphKernel],
    penalties: Sequence[float],
    folds: Sequence[Fold],
    score: Score,
    n_jobs: int | None,
) -> tuple[Choice, dict[str, Any]]:
    """
    Choose by the mean score over the folds.

    Each kernel gets the C with the best mean, of equal ones the first. The first kernel is kept
    unless the best one beats it by more than a standard error of the gain over the folds.

    Parameters
    ----------
    sources : iterable of (NodeCandidate, object, GraphProducts)
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
    for nodes, source, products in sources:
        fitted = products.fitted(list(kernels))
        found = solver.out_of_fold(products, fitted, folds, penalties, n_jobs)
        for kernel, by_fold in zip(fitted, found, strict=True):
            start = len(rows)
            rows += [_params(penalty, kernel, nodes) for penalty in penalties]
            scores += [_fold_scores(score, by_fold, folds, c) for c in range(len(penalties))]
            c = _first_best(scores[start:])
            decisions = [values[c] for values in by_fold]
            place = start + c
            choice = Choice(source, products, kernel, rows[place], place, scores[place], decisions)
            first = first or choice
            best = choice if best is None or _mean(choice) > _mean(best) + _TIE else best
        if not folds:
            break
    assert first is not None
    assert best is not None
    choice = best if _is_clearly_better(best, first) else first
    return choice, cross_validation_table(rows, np.array(scores))


def _params(penalty: float, kernel: ExponentialGraphKernel, nodes: NodeCandidate) -> dict[str, Any]:
    return {"C": penalty, "p": kernel.p, "scale": kernel.scale, **nodes._asdict()}


def _fold_scores(
    score: Score, by_fold: Sequence[Floats], folds: Sequence[Fold], penalty: int
) -> Floats:
    """Scores of one candidate, fold by fold."""
    pairs = zip(by_fold, folds, strict=True)
    return np.array([score(values[penalty], test) for values, (_, test) in pairs])


def _first_best(scores: Sequence[Floats]) -> int:
    """Place of the first among the best; without folds, the first."""
    if len(scores[0]) == 0:
        return 0
    means = np.mean(scores, axis=1)
    return int(np.argmax(means >= means.max() - _TIE))


def _mean(choice: Choice) -> float:
    return float(choice.scores.mean()) if len(choice.scores) else np.nan


def _is_clearly_better(best: Choice, first: Choice) -> bool:
    """
    Whether the mean gain exceeds its standard error over the folds.

    Of many candidates the best one is partly the luckiest: on small collections, taking it
    whatever the margin cost up to a point of accuracy against staying with the first.
    """
    gains = best.scores - first.scores
    if len(gains) < 2:
        return bool(gains.sum() > 0)
    return bool(gains.mean() > gains.std(ddof=1) / np.sqrt(len(gains)))


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
        table["mean_test_score"] = scores.mean(axis=1)
        table["std_test_score"] = scores.std(axis=1)
        table["rank_test_score"] = rankdata(-table["mean_test_score"], method="min").astype(
            np.int32
        )
    return table


def _objects(values: list[Any]) -> NDArray[Any]:
    """One-dimensional array of any objects."""
    found = np.empty(len(values), object)
    found[:] = values
    return found
