"""Folds: those by which models choose, those that users give, those that judge models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from inspect import Parameter, signature
from numbers import Integral
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgk._runtime.names import Rng, short_seed, whole_seed
from retgk.array_types import Ints
from retgk.errors import InvalidInputError

Fold = tuple[Ints, Ints]
"""Graphs to train on, and graphs to test on."""


class Splitter(Protocol):
    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]: ...


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


_NO_GROUPS = Grouping()


# Inner folds, by which models choose


def inner_folds(
    cv: FoldMaker | None, truth: NDArray[Any], seed: int, grouping: Grouping = _NO_GROUPS
) -> list[Fold]:
    """Folds of a user's `cv`; a number gives shuffled ones with all classes in training."""
    is_values = truth.dtype.kind == "f"
    is_classes = truth.ndim == 1 and not is_values
    codes: Ints = np.zeros(len(truth), np.int64) if is_values else truth
    cv = _DEFAULT_FOLDS if cv is None else cv
    if isinstance(cv, Integral) and grouping.groups is not None:
        name = "StratifiedGroupKFold" if is_classes else "GroupKFold"
        cv = _group_splitter(name, cv, grouping.groups, seed)
    if not isinstance(cv, Integral):
        folds = given_folds(cv, codes, grouping)
        if is_classes:
            _check_training_parts(folds, codes, grouping.groups)
        return folds
    counts = np.bincount(codes) if is_classes else None
    limit = len(truth) // 2 if counts is None else int(counts.max())
    n_folds = min(_checked_number(cv), limit)
    if n_folds < 2:
        return []
    fold = _deal(_label_sets(codes), n_folds, np.random.default_rng(seed))
    if counts is not None:
        fold[counts[codes] == 1] = -1
    return _folds_of(fold, n_folds)


def leaves_one_out_for(cv: FoldMaker | None, grouping: Grouping) -> bool:
    """Whether graphs may be left out one by one: a user who gave folds or groups wants these."""
    return grouping.groups is None and (cv is None or isinstance(cv, Integral))


def _label_sets(labels: Ints) -> Ints:
    """Numbers of the sets of labels that graphs have, sorted by the rarest; classes as they are."""
    if labels.ndim == 1:
        return labels
    rarest_first = labels[:, np.argsort((labels == 1).sum(axis=0), kind="stable")]
    return np.unique(rarest_first, axis=0, return_inverse=True)[1].ravel()


def _check_training_parts(folds: list[Fold], codes: Ints, groups: NDArray[Any] | None) -> None:
    for number, (train, _) in enumerate(folds):
        if len(np.unique(codes[train])) < len(np.unique(codes)):
            advice = "use stratified folds"
            if groups is not None:
                advice = "a class must have graphs in several groups: give finer groups, or folds"
            raise InvalidInputError(
                f"fold {number} of cv has a training part without graphs of some class; {advice}"
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
    """Fold of every graph: shuffled, sorted by class and dealt like cards."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    fold = np.empty(len(codes), np.int64)
    fold[order] = np.arange(len(codes)) % n_folds
    return fold


def _folds_of(fold: Ints, n_folds: int) -> list[Fold]:
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(n_folds)]


# Folds that users give


def given_folds(cv: Any, targets: Ints, grouping: Grouping = _NO_GROUPS) -> list[Fold]:
    """Folds of a splitter, or a list of folds, checked."""
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
    if grouping.positions is None:
        return folds
    place = np.full(n_given, -1)
    place[grouping.positions] = np.arange(len(grouping.positions))
    left = [tuple(found[found >= 0] for found in (place[part] for part in fold)) for fold in folds]
    return [(train, test) for train, test in left if len(train) and len(test)]


def _split(cv: Any, targets: Ints, groups: NDArray[Any] | None) -> list[Any]:
    """Folds of a splitter; its errors name it and what it lacks."""
    try:
        return list(cv.split(np.zeros(len(targets)), targets, groups))
    except ValueError as error:
        advice = "; give fit the groups" if groups is None and "groups" in str(error) else ""
        raise InvalidInputError(f"cv={cv!r} cannot be used: {error}{advice}") from error


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


def check_apart(train: Ints, test: Ints, where: str) -> None:
    """Raise if a graph is both trained on and tested."""
    both = np.intersect1d(train, test)
    if len(both):
        raise InvalidInputError(
            f"{where} trains on graph {both[0]} and tests it; a test graph must not be a training "
            "graph"
        )


# Outer folds, by which models are judged

MIN_FOLDS = 3
"""Two folds would train on half of the graphs, which says little of a model of all."""

MOST_REPETITIONS = 1_000
"""All folds of all repetitions are there before the first is worked on."""


class OuterFold(NamedTuple):
    """Graphs to train on and to test; the model's own folds, or the groups that these keep."""

    train: NDArray[Any]
    test: NDArray[Any]
    inner: list[tuple[NDArray[Any], NDArray[Any]]] | None = None
    groups: NDArray[Any] | None = None


def with_groups(folds: Sequence[Fold], groups: NDArray[Any] | None) -> list[OuterFold]:
    return [
        OuterFold(train, test, None, None if groups is None else groups[train])
        for train, test in folds
    ]


def repeated_folds(
    targets: NDArray[Any],
    n_folds: int,
    seeds: Sequence[int],
    *,
    regression: bool,
    groups: NDArray[Any] | None = None,
    scaffolds: bool = False,
) -> list[list[OuterFold]]:
    """Folds of one repetition for every seed; graphs of a group are never in two folds."""
    check_enough_graphs(targets, n_folds)
    if seeds[MOST_REPETITIONS:]:  # len of a range has a limit of its own
        raise InvalidInputError(f"there are at most {MOST_REPETITIONS:,} repetitions; give fewer")
    found: list[list[Fold]]
    if scaffolds and groups is not None:  # the first repetition is that of `scaffold_folds`
        found = [group_folds(groups, n_folds, seed, "scaffolds") for seed in [None, *seeds[1:]]]
        groups = None  # scaffolds bind the test parts alone; models choose by their own folds
    else:
        found = [_folds(targets, n_folds, seed, regression, groups) for seed in seeds]
    return [with_groups(folds, groups) for folds in found]


def _folds(
    targets: NDArray[Any], n_folds: int, seed: int, regression: bool, groups: NDArray[Any] | None
) -> list[Fold]:
    from sklearn import model_selection

    options = {"n_splits": n_folds, "shuffle": True, "random_state": short_seed(seed)}
    regression = regression or targets.ndim == 2  # no class is that of several targets
    if regression and groups is not None:
        return group_folds(groups, n_folds, seed)
    if regression:
        return list(model_selection.KFold(**options).split(targets))
    if groups is not None:
        _check_enough_groups(len(np.unique(groups)), n_folds, "groups")
    _check_enough_of_every_class(targets, n_folds)
    if groups is None:
        return stratified_folds(targets, seed, n_folds)
    splitter = model_selection.StratifiedGroupKFold(**options)
    return list(splitter.split(targets, targets, groups))


def stratified_folds(targets: NDArray[Any], seed: int, n_folds: int) -> list[Fold]:
    from sklearn.model_selection import StratifiedKFold

    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=short_seed(seed))
    return list(splitter.split(targets, targets))


def _check_enough_groups(n_groups: int, n_folds: int, what: str) -> None:
    if n_groups < n_folds:
        raise InvalidInputError(f"{n_groups} {what} do not fill {n_folds} folds; give fewer folds")


def check_enough_graphs(targets: NDArray[Any], n_folds: int) -> None:
    _check_enough_groups(len(targets), n_folds, "graphs")


def _check_enough_of_every_class(targets: NDArray[Any], n_folds: int) -> None:
    names, counts = np.unique(targets, return_counts=True)
    name, count = names[counts.argmin()], counts.min()
    if count >= n_folds:
        return
    ways = ["fewer folds"] if count >= MIN_FOLDS else []
    ways.append("more graphs of it")
    if targets.dtype.kind in "iuf":
        ways.append("task='regression' if these are values")
    graphs = "graph" if count == 1 else "graphs"
    raise InvalidInputError(
        f"class {name} has {count} {graphs} for {n_folds} folds; give {', or '.join(ways)}"
    )


# Folds that keep graphs together which belong together: groups, and scaffolds of molecules.


def scaffold_folds(smiles: Iterable[str], n_splits: int = 5, *, rng: Rng = None) -> list[Fold]:
    """
    Folds in which no scaffold of the test molecules is one of the training molecules.

    Molecules of the same Bemis-Murcko scaffold, rings and what links them, stay together; those
    without a ring share one, the empty scaffold. As in MoleculeNet, the largest sets of molecules
    are dealt first, each to the fold that is the smallest so far, so that folds have about the same
    size; which classes they hold is left to chance. The folds are what `GraphClassifier` and
    scikit-learn take as `cv`.

    Parameters
    ----------
    smiles : iterable of str
        The molecules.
    n_splits : int, default=5
        Number of folds.
    rng : int, Generator or None
        Seed that shuffles sets of the same size, for other folds. With None, they are in the
        order of their first molecules, and the folds are the same in every call.

    Returns
    -------
    list of (train, test)
        Rising positions of molecules, one pair for each fold.

    Examples
    --------
    >>> from retgk.model_selection import scaffold_folds
    >>> molecules = ["CCO", "Cc1ccccc1", "CCN", "Oc1ccccc1", "C1CCNCC1"]
    >>> [test.tolist() for _, test in scaffold_folds(molecules, 3)]
    [[0, 2], [1, 3], [4]]
    """
    from retgk.io.molecules import molecule_scaffolds

    return group_folds(molecule_scaffolds(smiles), n_splits, rng, "scaffolds")


def scaffold_split(
    smiles: Iterable[str], shares: tuple[float, float] = (0.8, 0.1)
) -> tuple[Ints, Ints, Ints]:
    """
    Training, validation and test molecules as the Open Graph Benchmark splits them: by scaffold.

    Sets of molecules of the same Bemis-Murcko scaffold, here with its chirality, go to training
    from the largest on as far as they fit, then to validation, and all others, the rare ones, to
    the test (Hu et al., 2020, after DeepChem). The split is harder than `scaffold_folds`, and
    there is one.

    Parameters
    ----------
    smiles : iterable of str
        The molecules.
    shares : (float, float), default=(0.8, 0.1)
        Largest shares of training and validation.

    Returns
    -------
    tuple of ndarray
        Rising positions of the molecules to train on, to choose by and to test.

    Examples
    --------
    >>> from retgk.model_selection import scaffold_split
    >>> molecules = ["CCO", "CCN", "CO", "CCCN", "CC", "CCC", "CN", "CCl", "C1CC1", "c1ccccc1"]
    >>> train, validation, test = scaffold_split(molecules)
    >>> train.tolist(), validation.tolist(), test.tolist()
    ([0, 1, 2, 3, 4, 5, 6, 7], [9], [8])
    """
    from retgk.io.molecules import molecule_scaffolds

    sets: dict[str, list[int]] = {}
    names = molecule_scaffolds(smiles, chirality=True)
    for molecule, name in enumerate(names):
        sets.setdefault(name, []).append(molecule)
    parts: tuple[list[int], list[int], list[int]] = ([], [], [])
    limits = shares[0] * len(names), (shares[0] + shares[1]) * len(names)
    # of sets of the same size the last comes first, as there
    for own in sorted(sets.values(), key=lambda own: (len(own), own[0]), reverse=True):
        n_train = len(parts[0]) + len(own)
        is_train, is_valid = n_train <= limits[0], n_train + len(parts[1]) <= limits[1]
        parts[0 if is_train else 1 if is_valid else 2].extend(own)
    for part, what in zip(parts, ("train on", "choose by", "test"), strict=True):
        if not part:
            raise InvalidInputError(
                f"scaffolds of {len(names)} molecules, {len(sets)} in all, leave none to {what}; "
                "give more molecules, or folds"
            )
    train, validation, test = (np.sort(np.array(part, np.int64)) for part in parts)
    return train, validation, test


def group_folds(
    groups: ArrayLike, n_splits: int, rng: Rng = None, what: str = "groups"
) -> list[Fold]:
    """Folds of about the same size, with every group in the test part of one of them."""
    _, first, codes = np.unique(np.asarray(groups), return_index=True, return_inverse=True)
    codes = codes.reshape(-1)
    if n_splits < 2:
        raise InvalidInputError(f"n_splits={n_splits} must be at least 2 folds")
    _check_enough_groups(len(first), n_splits, what)
    sizes, ties = np.bincount(codes), first
    if rng is not None:  # shuffles groups of the same size
        ties = np.random.default_rng(whole_seed(rng, name="rng")).permutation(len(sizes))
    fold, filled = np.empty(len(sizes), np.int64), np.zeros(n_splits, np.int64)
    for group in np.lexsort([ties, -sizes]):
        fold[group] = filled.argmin()  # of folds of the same size, the first
        filled[fold[group]] += sizes[group]
    return _folds_of(fold[codes], n_splits)


# Groups and the folds that a model makes itself: how `fit` gets them, and whether folds keep to
# them.
#
# Models of this package take groups as an argument of `fit`. Searches of scikit-learn take them
# among `**params`, hand them to their splitter, and do not mind if that takes no notice of them.

# Parameters that searches and RFECV have, and no other estimator of scikit-learn that has a cv:
# those others raise if they are given groups.
_ONLY_OF_SEARCHES = ("error_score", "min_features_to_select")
_USUAL_FOLDS = 5


def group_arguments(model: Any, groups: NDArray[Any] | None) -> dict[str, Any]:
    """Arguments of `fit` that bring groups to the folds of a model; none if it takes no groups."""
    path, part = _part_with_groups(model)
    return {} if part is None or groups is None else {f"{path}groups": groups}


def folds_without_groups(model: Any) -> list[str]:
    """Names of the parameters `cv` of a model and of its parts whose folds get no groups."""
    path, part = _part_with_groups(model)
    reached = None if part is None else f"{path}cv"
    return [
        name
        for name, cv in model.get_params(deep=True).items()
        if name.rpartition("__")[2] == "cv" and name != reached and not isinstance(cv, str)
    ]


def check_keeps_groups(model: Any, targets: NDArray[Any], groups: NDArray[Any]) -> None:
    """Raise if a splitter of a model, which gets the groups, has one on both sides of a fold."""
    path, part = _part_with_groups(model)
    cv = getattr(part, "cv", None)
    if part is None or not (_is_search(part) or hasattr(cv, "split")):
        return  # a number of folds means folds of groups to all others that take groups
    for fold in _own_folds(part, cv, targets, groups):
        try:
            train, test = (set(groups[positions].tolist()) for positions in fold)
        except (IndexError, ValueError):  # no fold of these graphs, of which `fit` tells
            return
        both = train & test
        if both:
            n_folds = cv if isinstance(cv, int) else _USUAL_FOLDS
            raise InvalidInputError(
                f"there are groups, but {path}cv={cv!r:.80} of {type(part).__name__} takes no "
                f"notice of them: it trains on graphs of group {min(both, key=str)!r} and tests "
                f"others of it; give cv=GroupKFold({n_folds}), or leave groups out"
            )


def _own_folds(
    part: Any, cv: Any, targets: NDArray[Any], groups: NDArray[Any]
) -> list[tuple[Any, Any]]:
    """Folds that a model will make; none if they cannot be made, of which its `fit` tells."""
    from copy import deepcopy
    from warnings import catch_warnings, simplefilter

    from sklearn.base import is_classifier
    from sklearn.model_selection import check_cv

    with catch_warnings():
        simplefilter("ignore")  # that groups are ignored, which is an error here
        try:
            # a copy: one with a generator of random numbers would give other folds to `fit`
            splitter = check_cv(deepcopy(cv), targets, classifier=is_classifier(part))
            return list(splitter.split(np.zeros(len(targets)), targets, groups))
        except (ValueError, TypeError):
            return []


def _part_with_groups(model: Any) -> tuple[str, Any]:
    """Model or last step of a pipeline that takes groups, after the beginning of its names."""
    from sklearn.pipeline import Pipeline

    if _is_search(model) or "groups" in signature(model.fit).parameters:
        return "", model
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        if hasattr(last, "fit"):
            path, part = _part_with_groups(last)
            return f"{name}__{path}", part
    return "", None


def _is_search(model: Any) -> bool:
    """Whether a model is a search in the manner of scikit-learn, whose `fit` takes any names."""
    own = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    if "cv" not in own or not any(name in own for name in _ONLY_OF_SEARCHES):
        return False
    kinds = {parameter.kind for parameter in signature(model.fit).parameters.values()}
    return Parameter.VAR_KEYWORD in kinds
