"""Folds by which models are judged: random ones, with classes in proportion, groups together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from retgk.errors import InvalidInputError, Remedy

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "MIN_FOLDS",
    "MOST_REPETITIONS",
    "OuterFold",
    "check_enough_graphs",
    "deal_groups",
    "repeated_folds",
    "stratified_folds",
]

MIN_FOLDS = 3
"""Two folds would train on half of the graphs, which says little of a model of all."""

MOST_REPETITIONS = 1_000
"""All folds of all repetitions are there before the first is worked on."""

_FEWER_FOLDS = Remedy("folds", "give fewer folds")

Pairs = list[tuple[Any, Any]]
"""Training and test graphs of every fold."""


class OuterFold(NamedTuple):
    """Graphs to train on and to test; what the model's own folds are to be, or to respect."""

    train: NDArray[Any]
    test: NDArray[Any]
    inner: list[tuple[NDArray[Any], NDArray[Any]]] | None = None
    groups: NDArray[Any] | None = None


def repeated_folds(
    targets: NDArray[Any],
    n_folds: int,
    seeds: Sequence[int],
    *,
    regression: bool,
    groups: NDArray[Any] | None = None,
) -> list[list[OuterFold]]:
    """
    Folds of one repetition for every seed.

    Parameters
    ----------
    targets : ndarray, shape (n,)
        Classes, whose shares are about the same in all folds, or values.
    n_folds : int
        Number of folds.
    seeds : sequence of int
        Each shuffles the graphs in another way.
    regression : bool
        Whether targets are values.
    groups : ndarray, shape (n,), optional
        Graphs of one group are never in two folds.

    Returns
    -------
    list of list of OuterFold
        Of every repetition, its folds.
    """
    check_enough_graphs(targets, n_folds)
    if seeds[MOST_REPETITIONS:]:  # len of a range has a limit of its own
        raise InvalidInputError(f"there are at most {MOST_REPETITIONS:,} repetitions; give fewer")
    found = [_folds(targets, n_folds, seed, regression, groups) for seed in seeds]
    return [
        [
            OuterFold(train, test, None, None if groups is None else groups[train])
            for train, test in folds
        ]
        for folds in found
    ]


def _folds(
    targets: NDArray[Any], n_folds: int, seed: int, regression: bool, groups: NDArray[Any] | None
) -> Pairs:
    from sklearn import model_selection

    from retgk.runtime.seeds import short_seed

    if groups is not None and regression:
        return deal_groups(groups, n_folds, seed, "groups")
    if regression:
        splitter = model_selection.KFold(n_folds, shuffle=True, random_state=short_seed(seed))
        return list(splitter.split(targets))
    if groups is None:
        _check_enough_of_every_class(targets, n_folds)
        return stratified_folds(targets, seed, n_folds)
    _check_enough_groups(groups, n_folds, "groups")
    _check_enough_of_every_class(targets, n_folds)
    options = {"shuffle": True, "random_state": short_seed(seed)}
    splitter = model_selection.StratifiedGroupKFold(n_folds, **options)
    return list(splitter.split(targets, targets, groups))


def stratified_folds(targets: NDArray[Any], seed: int, n_folds: int) -> Pairs:
    """Shuffled folds with about the same share of every class: training and test graphs."""
    from sklearn.model_selection import StratifiedKFold

    from retgk.runtime.seeds import short_seed

    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=short_seed(seed))
    return list(splitter.split(targets, targets))


def deal_groups(groups: NDArray[Any], n_folds: int, seed: int | None, what: str) -> Pairs:
    """Folds of about the same size that keep groups together; `what` is what these are."""
    from retgk.learning.group_folds import group_folds

    _check_enough_groups(groups, n_folds, what)
    return group_folds(groups, n_folds, seed)


def _check_enough_groups(groups: NDArray[Any], n_folds: int, what: str) -> None:
    n_groups = len(set(groups.tolist()))
    if n_groups < n_folds:
        raise InvalidInputError(f"{n_groups} {what} do not fill {n_folds} folds", _FEWER_FOLDS)


def check_enough_graphs(targets: NDArray[Any], n_folds: int) -> None:
    """Raise if there are fewer graphs than folds."""
    if len(targets) < n_folds:
        raise InvalidInputError(f"{len(targets)} graphs do not fill {n_folds} folds", _FEWER_FOLDS)


def _check_enough_of_every_class(targets: NDArray[Any], n_folds: int) -> None:
    import numpy as np

    names, counts = np.unique(targets, return_counts=True)
    name, count = names[counts.argmin()], counts.min()
    if count >= n_folds:
        return
    ways = {"folds": "fewer folds"} if count >= MIN_FOLDS else {}
    ways["size"] = "more graphs of it"
    if targets.dtype.kind in "iuf":
        ways["values"] = "the task regression if these are values"
    graphs = "graph" if count == 1 else "graphs"
    remedy = Remedy("_or_".join(["class", *ways]), f"give {', or '.join(ways.values())}")
    raise InvalidInputError(f"class {name} has {count} {graphs} for {n_folds} folds", remedy)
