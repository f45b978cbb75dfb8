"""What a model is fitted on: graphs, targets, weights and groups, checked before any work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.parameters import OneOf, check_parameters
from retgk.array_types import Floats, Ints
from retgk.errors import ContradictionWarning, InputWarning, InvalidInputError, warn_user
from retgk.graphs.batch import GraphBatch
from retgk.io.dataset import GraphDataset, infinite_targets, missing_targets, target_array
from retgk.learning.folds import Grouping

# Graphs with their targets, checked before any work is done.


def targets_of(X: Any, y: Any) -> Any:
    """Targets as given, else those that come with the graphs."""
    if y is not None:
        return y
    from retgk.io.convert import known_targets  # the help of commands does without it

    return known_targets(X)


def graphs_and_targets(
    X: Any, y: Any, taken: Callable[[Any], Any] | None
) -> tuple[Any, NDArray[Any]]:
    found = targets_of(X, y)
    if found is None:
        raise InvalidInputError(
            "fit requires y to be passed, but the target y is None: give one target for each "
            "graph, or a data set as X"
        )
    from retgk.io.convert import as_batch  # the help of commands does without it

    targets, batch = target_array(found), (taken or as_batch)(X)
    if len(batch) == 0:
        raise InvalidInputError("there are no graphs to fit")
    if targets.ndim == 0 or len(targets) != len(batch):
        n_targets = "one value" if targets.ndim == 0 else f"{len(targets)} targets"
        raise InvalidInputError(
            f"there are {len(batch)} graphs but {n_targets}; give one target for each graph"
        )
    _check_known(targets)
    return batch, targets


def _check_known(targets: NDArray[Any]) -> None:
    """Raise where a target is missing; of several, some may be NaN or None, not all of one."""
    missing, has_several = missing_targets(targets), has_several_labels(targets)
    is_bad = infinite_targets(targets) | missing.all(axis=0) if has_several else missing
    if is_bad.any():
        graph, *column = (int(place) for place in np.argwhere(is_bad)[0])
        which = f"target {column[0]}" if column else "the target"
        advice = "drop the graph together with its target"
        if column and missing[:, column[0]].all():
            advice = "no graph has this target: leave its column out"
        raise InvalidInputError(
            f"{which} of graph {graph} is {targets[(graph, *column)]!s} (NaN, infinity or "
            f"nothing); {advice}"
        )


def class_targets(targets: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Classes in order, and the place of the class of every graph among them."""
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    flat = column_or_1d(targets, warn=True)
    try:
        check_classification_targets(flat)
    except ValueError as error:
        raise InvalidInputError(
            "targets are numbers with fractions, not classes; GraphRegressor takes them, or make "
            f"classes of them ({error})"
        ) from error
    classes, codes = np.unique(flat, return_inverse=True)
    if len(classes) < 2:
        raise InvalidInputError(
            f"all {len(flat)} graphs are of one class, {classes.tolist()[0]!r}; a classifier needs "
            "graphs of two classes or more"
        )
    return classes, codes.astype(np.int64)


def has_several_labels(targets: NDArray[Any]) -> bool:
    return targets.ndim > 1 and targets.shape[1:] != (1,)


def label_targets(targets: NDArray[Any]) -> NDArray[np.int64]:
    """Zeros and ones, and -1 where it is not known whether a graph has a label."""
    is_plain = targets.ndim == 2 and targets.dtype.kind in "biufO"
    missing = missing_targets(targets)
    targets = np.where(missing, 0, targets) if missing.any() else targets
    if not is_plain or not np.isin(targets, (0, 1)).all():
        raise InvalidInputError(
            f"Unknown label type: targets of shape {targets.shape} must be zeros and ones, which "
            "say what labels a graph has; for several targets with other classes, fit a "
            "classifier for each"
        )
    labels = targets.astype(np.int64)
    counts = labels.sum(axis=0)
    is_constant = (counts == 0) | (counts == len(labels) - missing.sum(axis=0))
    labels[missing] = -1
    if is_constant.all():
        raise InvalidInputError(
            f"none of the {len(counts)} labels tells graphs apart: each is of one class, had by "
            "all graphs or by none"
        )
    if is_constant.any():
        names = ", ".join(map(str, np.flatnonzero(is_constant)[:5]))
        note = f"label {names} is the same for all {len(labels):,} graphs, and so is its prediction"
        warn_user(InputWarning(note))
    return labels


def real_targets(targets: NDArray[Any]) -> NDArray[np.float64]:
    if targets.dtype.kind == "c" or targets.ndim > 2:
        raise InvalidInputError(
            f"targets must be real numbers, one or one row for each graph; got {targets.dtype} of "
            f"shape {targets.shape}"
        )
    missing = missing_targets(targets) if targets.dtype.kind == "O" else np.zeros(1, bool)
    try:
        return np.where(missing, np.nan, targets).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"targets must be numbers, got {targets.dtype}; use GraphClassifier for classes"
        ) from error


def unit_of(values: Floats) -> Ints:
    """Powers of two of the size of columns: in these units squares neither overflow nor vanish."""
    return np.asarray(np.frexp(np.fmax.reduce(np.abs(values), initial=0.0))[1])


class TrainingSet(NamedTuple):
    """Graphs to train on; those of weight zero are left out."""

    batch: GraphBatch
    targets: NDArray[Any]
    weights: Floats | None
    """Weight of every graph; None if all are one."""
    groups: NDArray[Any] | None
    """Group of every graph, if there are groups."""
    positions: Ints
    """Place of every graph among those that the user gave."""
    n_given: int
    """Number of graphs that the user gave."""
    names: Sequence[str] | None = None
    """Name of every graph, where the user gave some."""

    @property
    def grouping(self) -> Grouping:
        is_whole = len(self.positions) == self.n_given
        return Grouping(self.groups, None if is_whole else self.positions, self.n_given)

    def weights_of(self, graphs: Ints) -> Floats | None:
        return None if self.weights is None else self.weights[graphs]


def training_set(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    taken: Callable[[Any], Any] | None = None,
) -> TrainingSet:
    """Check what `fit` got."""
    batch, targets = graphs_and_targets(X, y, taken)
    everything = np.arange(len(batch))
    weights = None if sample_weight is None else _checked_weights(sample_weight, len(batch))
    known = None if groups is None else _checked_groups(groups, len(batch))
    names = X.graph_names if isinstance(X, GraphDataset) else None
    kept = everything if weights is None else np.flatnonzero(weights)
    if len(kept) == 0:
        raise InvalidInputError(
            "sample_weight is zero for all graphs: Input contains no sample of positive weight; "
            "give positive weights to those to learn from"
        )
    if len(kept) < len(batch):
        is_matrix = isinstance(batch, np.ndarray)  # of kernel values
        batch, targets = batch[np.ix_(kept, kept) if is_matrix else kept], targets[kept]
        weights = None if weights is None else weights[kept]
        known = None if known is None else known[kept]
        names = None if names is None else [names[graph] for graph in kept.tolist()]
    if weights is not None and (weights == 1).all():
        weights = None
    return TrainingSet(batch, targets, weights, known, kept, len(everything), names)


def _checked_weights(given: Any, n_graphs: int) -> Floats:
    try:
        weights = np.asarray(given, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"sample_weight must be numbers, one for each graph; got {given!r:.80}"
        ) from error
    if weights.ndim == 0:
        weights = np.full(n_graphs, float(weights))
    if weights.shape != (n_graphs,):
        raise InvalidInputError(
            f"sample_weight has shape {weights.shape}, but there are {n_graphs} graphs; give one "
            "weight for each"
        )
    is_bad = ~((weights >= 0) & np.isfinite(weights))
    if is_bad.any():
        graph = int(is_bad.argmax())
        raise InvalidInputError(
            f"sample_weight of graph {graph} is {weights[graph]:g}; weights must be finite and at "
            "least zero (a graph of weight zero is left out)"
        )
    return weights


def _checked_groups(given: Any, n_graphs: int) -> NDArray[Any]:
    groups = np.asarray(given)
    if groups.shape != (n_graphs,):
        raise InvalidInputError(
            f"groups has shape {groups.shape}, but there are {n_graphs} graphs; give one group for "
            "each"
        )
    is_missing = missing_targets(groups)
    if is_missing.any():
        raise InvalidInputError(
            f"the group of graph {int(is_missing.argmax())} is missing; give every graph a group, "
            "such as one of its own"
        )
    return groups


# Equal graphs with different targets: they cost accuracy, and push explanations both ways.


def warn_of_contradictions(data: TrainingSet, regression: bool, n_jobs: int | None) -> None:
    """Warn of equal graphs of different classes, or of values a standard deviation apart."""
    batch, targets, names = data.batch, data.targets, data.names
    if not isinstance(batch, GraphBatch):
        return  # kernel values, or what a kernel of the user takes
    from retgk.kernels.indistinguishable import indistinguishable_groups

    own = np.unique(targets, return_inverse=True)[1] if targets.ndim == 1 else targets
    codes = np.where(missing_targets(targets), np.nan, targets if regression else own)
    codes = codes.astype(np.float64).reshape(len(targets), -1)
    codes = np.ldexp(codes, -unit_of(codes))
    apart = np.nanstd(codes, axis=0) if regression else np.zeros(1)

    def differing(members: Ints) -> NDArray[np.bool_]:
        """Targets that differ among some graphs; gaps differ from nothing."""
        some = codes[members]
        return np.asarray(np.fmax.reduce(some) - np.fmin.reduce(some) > apart)

    groups = indistinguishable_groups(
        batch, n_jobs=n_jobs, wanted=lambda members: bool(differing(members).any())
    )
    if not groups:
        return
    first = min(groups, key=lambda members: int(members[0]))
    pair = next(own for own in combinations(first, 2) if differing(np.array(own)).any())
    column, which = targets, ""
    if targets.ndim == 2:  # the first target that differs
        number = int(np.argmax(differing(np.array(pair))))
        column, which = targets[:, number], f" in target {number}"
    said = " and ".join(
        f"{f'graph {data.positions[own]}' if names is None else repr(names[own])[:80]} with "
        f"{column[own]!s:.40}"
        for own in pair
    )
    stereo = ""
    if batch.smiles is not None and "chirality" not in batch.label_columns:
        texts = "".join(str(batch.smiles[own]) for members in groups for own in members)
        if any(mark in texts for mark in "@/\\"):
            stereo = ", or if they are stereoisomers, read them with stereo=True"
    n_graphs = sum(map(len, groups))
    many = ("s", "have") if len(groups) > 1 else ("", "has")
    warn_user(
        ContradictionWarning(
            f"{len(groups):,} group{many[0]} of equal graphs ({n_graphs:,} of {len(batch):,} "
            f"graphs) {many[1]} different targets, such as {said}{which}: nothing that was read "
            "tells them apart, no model is right about all of them, and in explanations they push "
            "both ways; drop them, or keep one of each group with the right target "
            f"(retgk.search.duplicate_groups finds equal graphs){stereo}"
        )
    )


# Whether targets are classes or values, where users leave it to us.

TaskKind = Literal["auto", "classification", "regression"]

_FEW_CLASSES, _MANY_CLASSES = 5, 20  # whole numbers up to the first are classes in any case
_SAY_WHICH = (
    "pass task='regression' if they are values, or task='classification' if they are classes"
)


def is_regression(task: TaskKind, targets: NDArray[Any]) -> bool:
    """Whether targets are values rather than classes: numbers with fractions are, texts are not."""
    check_parameters({"task": (OneOf(get_args(TaskKind)),)}, {"task": task})
    if targets.ndim == 2:
        is_label = missing_targets(targets) | (targets == 0) | (targets == 1)
        return task == "regression" or (task == "auto" and not is_label.all())
    if task == "regression" and targets.dtype.kind not in "iuf":
        raise InvalidInputError(
            f"targets such as {targets[0]!r} are no values to regress on; leave the task out"
        )
    if task != "auto":
        return task == "regression"
    if targets.dtype.kind == "f" and bool((targets % 1 != 0).any()):
        return True
    if targets.dtype.kind in "iuf":
        _ask_if_classes(targets)
    elif len(set(targets.tolist())) > max(_FEW_CLASSES, len(targets) / 2):
        raise InvalidInputError(
            f"targets are {len(set(targets.tolist()))} different texts for {len(targets)} graphs, "
            f"such as {targets[0]!r}, so that few graphs are of one class; name another column, or "
            "say that the task is classification if they are classes"
        )
    return False


def _ask_if_classes(targets: NDArray[Any]) -> None:
    """Refuse whole numbers of which few graphs have the same; warn of many different ones."""
    n_distinct = len(np.unique(targets))
    problem = f"targets are {n_distinct} different whole numbers for {len(targets)} graphs"
    if n_distinct > max(_FEW_CLASSES, len(targets) / 3):
        raise InvalidInputError(f"{problem}; {_SAY_WHICH}")
    if n_distinct > _MANY_CLASSES:
        warn_user(InputWarning(f"{problem}, taken for classes; {_SAY_WHICH}"))


# Weights of classes, as users of scikit-learn give them.


def class_weights(
    given: Any, classes: NDArray[Any], codes: Ints, weights: Floats | None = None
) -> Floats:
    from sklearn.utils.class_weight import compute_class_weight

    if isinstance(given, str) and given == "balanced" and weights is not None:
        counts = np.bincount(codes, weights, minlength=len(classes))
        return np.asarray(counts.sum() / (len(classes) * counts))
    try:
        found = np.asarray(
            compute_class_weight(given, classes=classes, y=classes[codes]), np.float64
        )
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"class_weight={given!r} cannot be used: {error}; give a number for each class, "
            "'balanced' or None"
        ) from error
    is_bad = ~((found > 0) & np.isfinite(found))
    if is_bad.any():
        name = classes[is_bad].tolist()[0]
        raise InvalidInputError(
            f"class_weight of class {name!r} is {found[is_bad][0]:g}; weights must be positive and "
            "finite"
        )
    return found


def label_weights(given: Any, labels: Ints, weights: Floats | None = None) -> Floats:
    """Weights of graphs without and with every label."""
    found = np.ones((labels.shape[1], 2))
    for label, codes in enumerate(labels.T):
        own = codes[codes >= 0]
        if own.min() < own.max():
            counted = None if weights is None else weights[codes >= 0]
            found[label] = class_weights(given, np.arange(2), own, counted)
    return found
