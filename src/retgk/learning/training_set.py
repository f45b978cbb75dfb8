"""What a model is fitted on: graphs, targets, weights and groups, checked before any work."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.io.graph_dataset import missing_targets
from retgk.learning.folds import Grouping
from retgk.learning.targets import graphs_and_targets

__all__ = ["TrainingSet", "training_set"]


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

    @property
    def grouping(self) -> Grouping:
        """What folds depend on beside targets."""
        is_whole = len(self.positions) == self.n_given
        return Grouping(self.groups, None if is_whole else self.positions, self.n_given)

    def weights_of(self, graphs: Ints) -> Floats | None:
        """Weights of some graphs; None if all are one."""
        return None if self.weights is None else self.weights[graphs]


def training_set(X: Any, y: Any, sample_weight: Any, groups: Any) -> TrainingSet:
    """
    Check what `fit` got.

    Parameters
    ----------
    X : GraphBatch or anything that `as_batch` takes
        Graphs.
    y : array-like or None
        Targets; None is for a data set, which has its own.
    sample_weight : array-like, a number or None
        Weights of the graphs, not negative.
    groups : array-like or None
        Groups of the graphs, for the folds.

    Returns
    -------
    TrainingSet
        The graphs of positive weight.
    """
    batch, targets = graphs_and_targets(X, y)
    everything = np.arange(len(batch))
    weights = None if sample_weight is None else _checked_weights(sample_weight, len(batch))
    known = None if groups is None else _checked_groups(groups, len(batch))
    kept = everything if weights is None else np.flatnonzero(weights)
    if len(kept) == 0:
        raise InvalidInputError(
            "sample_weight is zero for all graphs: Input contains no sample of positive weight; "
            "give positive weights to those to learn from"
        )
    if len(kept) < len(batch):
        batch, targets = batch[kept], targets[kept]
        weights = None if weights is None else weights[kept]
        known = None if known is None else known[kept]
    if weights is not None and (weights == 1).all():
        weights = None
    return TrainingSet(batch, targets, weights, known, kept, len(everything))


def _checked_weights(given: Any, n_graphs: int) -> Floats:
    """One number for each graph, not negative and finite."""
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
    """One group for each graph."""
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
