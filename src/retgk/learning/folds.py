"""Folds of the training graphs, among which candidates are compared."""

from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgk.array_types import Ints
from retgk.errors import InvalidInputError
from retgk.runtime.seeds import short_seed

__all__ = ["Fold", "FoldMaker", "Grouping", "class_folds", "label_folds", "real_folds"]

Fold = tuple[Ints, Ints]
"""Graphs to train on, and graphs to test on."""


class Splitter(Protocol):
    """A splitter of scikit-learn."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]:
        """Give pairs of training and test positions."""


FoldMaker = int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]]
"""A number of folds, a splitter, or the folds themselves."""

_DEFAULT_FOLDS = 5  # as in scikit-learn


class Grouping(NamedTuple):
    """What folds depend on beside targets."""

    groups: NDArray[Any] | None = None
    """Group of every graph, none of which is both trained on and tested."""
    positions: Ints | None = None
    """Place of every graph among those that the user gave, where some of these are left out."""
    n_given: int = 0
    """Number of graphs that the user gave."""


_ALL_ALONE = Grouping()


def class_folds(
    cv: FoldMaker | None, codes: Ints, seed: int, grouping: Grouping = _ALL_ALONE
) -> list[Fold]:
    """
    Folds with about the same share of every class.

    Every class is in every training part. A class of a single graph is in all of them and in no
    test part; there are never more folds than the largest class has graphs. If that
    is one, there is no fold.

    Parameters
    ----------
    cv : int, splitter, iterable or None
        Number of folds (None is 5), a splitter of scikit-learn, or the folds themselves.
    codes : ndarray of int64, shape (n,)
        Class of every graph.
    seed : int
        Seed that shuffles graphs.
    grouping : Grouping
        Groups, and graphs that are left out.

    Returns
    -------
    list of (train, test)
        Rising positions of graphs.
    """
    cv = _DEFAULT_FOLDS if cv is None else cv
    if isinstance(cv, Integral) and grouping.groups is not None:
        cv = _group_splitter("StratifiedGroupKFold", cv, grouping.groups, seed)
    if not isinstance(cv, Integral):
        folds = _custom_folds(cv, codes, grouping)
        _check_training_parts(folds, codes, grouping.groups)
        return folds
    counts = np.bincount(codes)
    n_folds = min(_checked_number(cv), int(counts.max()))
    if n_folds < 2:
        return []
    fold = _deal(codes, n_folds, np.random.default_rng(seed))
    fold[counts[codes] == 1] = -1
    return _folds_of(fold, n_folds)


def _check_training_parts(folds: list[Fold], codes: Ints, groups: NDArray[Any] | None) -> None:
    """Raise if a class is in no training part."""
    for number, (train, _) in enumerate(folds):
        if len(np.unique(codes[train])) < len(np.unique(codes)):
            advice = "use stratified folds"
            if groups is not None:
                advice = "a class must have graphs in several groups: give finer groups, or folds"
            raise InvalidInputError(
                f"fold {number} of cv has a training part without graphs of some class; {advice}"
            )


def label_folds(
    cv: FoldMaker | None, labels: Ints, seed: int, grouping: Grouping = _ALL_ALONE
) -> list[Fold]:
    """
    Folds of equal size, with about the same share of every label where graphs have several.

    Parameters
    ----------
    cv : int, splitter, iterable or None
        Number of folds (None is 5), a splitter of scikit-learn, or the folds themselves.
    labels : ndarray of int64, shape (n, n_labels)
        Zeros and ones.
    seed : int
        Seed that shuffles graphs.
    grouping : Grouping
        Groups, and graphs that are left out.

    Returns
    -------
    list of (train, test)
        Rising positions of graphs.
    """
    cv = _DEFAULT_FOLDS if cv is None else cv
    if isinstance(cv, Integral) and grouping.groups is not None:
        cv = _group_splitter("GroupKFold", cv, grouping.groups, seed)
    if not isinstance(cv, Integral):
        return _custom_folds(cv, labels, grouping)
    n_folds = min(_checked_number(cv), len(labels) // 2)
    if n_folds < 2:
        return []
    rarest_first = labels[:, np.argsort(labels.sum(axis=0), kind="stable")]
    _, codes = np.unique(rarest_first, axis=0, return_inverse=True)
    return _folds_of(_deal(codes.ravel(), n_folds, np.random.default_rng(seed)), n_folds)


def real_folds(
    cv: FoldMaker | None, n_graphs: int, seed: int, grouping: Grouping = _ALL_ALONE
) -> list[Fold]:
    """
    Folds of equal size; each has two graphs at least, or there is none.

    Parameters
    ----------
    cv : int, splitter, iterable or None
        Number of folds (None is 5), a splitter of scikit-learn, or the folds themselves.
    n_graphs : int
        Number of graphs.
    seed : int
        Seed that shuffles graphs.
    grouping : Grouping
        Groups, and graphs that are left out.

    Returns
    -------
    list of (train, test)
        Rising positions of graphs.
    """
    cv = _DEFAULT_FOLDS if cv is None else cv
    if isinstance(cv, Integral) and grouping.groups is not None:
        cv = _group_splitter("GroupKFold", cv, grouping.groups, seed)
    if not isinstance(cv, Integral):
        return _custom_folds(cv, np.zeros(n_graphs, np.int64), grouping)
    n_folds = min(_checked_number(cv), n_graphs // 2)
    if n_folds < 2:
        return []
    return _folds_of(
        _deal(np.zeros(n_graphs, np.int64), n_folds, np.random.default_rng(seed)), n_folds
    )


def _checked_number(cv: Integral) -> int:
    if isinstance(cv, bool) or int(cv) < 2:
        raise InvalidInputError(f"cv={cv!r} must be at least 2 folds, or a splitter")
    return int(cv)


def _group_splitter(name: str, cv: Integral, groups: NDArray[Any], seed: int) -> Splitter:
    """Splitter of scikit-learn that keeps groups together, with no more folds than groups."""
    from sklearn import model_selection

    n_groups = len(np.unique(groups))
    if n_groups < 2:
        raise InvalidInputError(
            "all graphs are of one group, so that none is left to test on; give two groups or "
            "more, or leave groups out"
        )
    n_folds = min(_checked_number(cv), n_groups)
    splitter = getattr(model_selection, name)
    made: Splitter = splitter(n_folds, shuffle=True, random_state=short_seed(seed))
    return made


def _deal(codes: Ints, n_folds: int, rng: np.random.Generator) -> Ints:
    """
    Fold of every graph: shuffled, sorted by class and dealt like cards.

    Dealing on from class to class keeps the sizes of folds within one of each other.
    """
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    fold = np.empty(len(codes), np.int64)
    fold[order] = np.arange(len(codes)) % n_folds
    return fold


def _folds_of(fold: Ints, n_folds: int) -> list[Fold]:
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(n_folds)]


def _custom_folds(cv: Any, targets: Ints, grouping: Grouping) -> list[Fold]:
    """Folds of a splitter, or given ones."""
    if not (hasattr(cv, "split") or isinstance(cv, Iterable)) or isinstance(cv, str | bytes):
        raise InvalidInputError(
            f"cv must be a number of folds, a splitter or a list of folds, got {cv!r}"
        )
    if hasattr(cv, "split"):
        found = _split(cv, targets, grouping.groups)
        return [_checked_fold(fold, number, len(targets)) for number, fold in enumerate(found)]
    if grouping.groups is not None:
        raise InvalidInputError(
            "there are groups, but cv is a list of folds, which takes no notice of them; give a "
            "number of folds or a splitter such as GroupKFold as cv, or leave groups out"
        )
    n_given = len(targets) if grouping.positions is None else grouping.n_given
    folds = [_checked_fold(fold, number, n_given) for number, fold in enumerate(cv)]
    return folds if grouping.positions is None else _without(folds, grouping.positions, n_given)


def _split(cv: Any, targets: Ints, groups: NDArray[Any] | None) -> list[Any]:
    """Folds of a splitter; what it says against the targets and groups, in full."""
    try:
        return list(cv.split(np.zeros(len(targets)), targets, groups))
    except ValueError as error:
        advice = "; give fit the groups" if groups is None and "groups" in str(error) else ""
        raise InvalidInputError(f"cv={cv!r} cannot be used: {error}{advice}") from error


def _without(folds: list[Fold], positions: Ints, n_given: int) -> list[Fold]:
    """Folds of the graphs at some positions; those with an empty part are gone."""
    place = np.full(n_given, -1)
    place[positions] = np.arange(len(positions))
    left = [tuple(found[found >= 0] for found in (place[part] for part in fold)) for fold in folds]
    return [(train, test) for train, test in left if len(train) and len(test)]


def _checked_fold(fold: Any, number: int, n_graphs: int) -> Fold:
    """Two arrays of positions or masks of graphs, neither empty."""
    try:
        train, test = (np.asarray(part) for part in fold)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"fold {number} of cv must be a pair of arrays, training and test graphs, got "
            f"{fold!r:.80}"
        ) from error
    return _positions(train, "training", number, n_graphs), _positions(
        test, "test", number, n_graphs
    )


def _positions(part: NDArray[Any], name: str, number: int, n_graphs: int) -> Ints:
    """Positions of graphs, also from a mask."""
    found = np.flatnonzero(part) if part.dtype == np.bool_ and len(part) == n_graphs else part
    if found.ndim != 1 or found.dtype.kind not in "iu" or len(found) == 0:
        raise InvalidInputError(
            f"the {name} part of fold {number} of cv must be positions of graphs, at least one; "
            f"got {part.dtype} of shape {part.shape}"
        )
    if found.min() < -n_graphs or found.max() >= n_graphs:
        raise InvalidInputError(
            f"the {name} part of fold {number} of cv names graph {found.max()}, but there are "
            f"{n_graphs} graphs"
        )
    return found.astype(np.int64)
