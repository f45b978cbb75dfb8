"""Candidates of parameters, and the choice among them by cross-validation on training graphs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product, starmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.engine.protocol import Engine
from retgk.errors import InvalidInputError
from retgk.kernels.graph_kernels import ExponentialGraphKernel
from retgk.learning.folds import Fold
from retgk.learning.solver import GraphProducts, Solver

__all__ = [
    "Choice",
    "NodeCandidate",
    "Score",
    "best_candidate",
    "candidates_of",
    "checked_penalties",
    "cross_validation_table",
    "graph_kernel_candidates",
    "node_candidates",
]

_TIE = 1e-12  # means of the same scores in another order differ by rounding

Score = Callable[[Floats, Ints], float]
"""Of decision values, shape (n_test, n_outputs), for the graphs of a test part."""


class NodeCandidate(NamedTuple):
    """What inner products of graphs depend on: a matrix of them for each candidate."""

    n_steps: int
    structure_kernel: Any
    attribute_kernel: Any
    scale_attributes: Any


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


def node_candidates(parameters: Mapping[str, Any], n_attributes: int) -> list[NodeCandidate]:
    """
    All combinations of what describes nodes, the first candidates first.

    Where attributes are left out, or there are none, what their kernel is makes no difference.
    """
    values = [candidates_of(parameters[name], name) for name in NodeCandidate._fields]
    if n_attributes == 0 and len(values[-1]) > 1:
        values[-1] = ("raw",)
    may_drop = len(values[-1]) > 1
    found: list[NodeCandidate] = []
    for candidate in starmap(NodeCandidate, product(*values)):
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
) -> tuple[Choice, dict[str, Any]]:
    """
    Choose by the mean score over the folds.

    Each kernel gets the C with the best mean, of equal ones the first. The first kernel is kept
    unless the best one beats it by more than a standard error of the gain over the folds.

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
            scores += [_fold_scores(score, by_fold, folds, c) for c in range(len(penalties))]
            c = _first_best(scores[start:])
            decisions = [values[c] for values in by_fold]
            place = start + c
            choice = Choice(
                nodes, engine, products, kernel, rows[place], place, scores[place], decisions
            )
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
