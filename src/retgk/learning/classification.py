"""What a classifier learns: one class for each graph, or several labels, and by which solvers."""

from typing import Any, NamedTuple

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.learning.class_weights import class_weights, label_weights
from retgk.learning.folds import FoldMaker, class_folds, label_folds
from retgk.learning.landmark_ridge import LandmarkRidge
from retgk.learning.outcomes import ClassOutcomes, Discrete, LabelOutcomes
from retgk.learning.scoring import Trial
from retgk.learning.several_outputs import OneForEach
from retgk.learning.solver import Solver
from retgk.learning.support_vectors import SupportVectors
from retgk.learning.targets import class_targets, has_several_labels, label_targets
from retgk.learning.training_set import TrainingSet

__all__ = ["ClassificationTask", "classification_task"]


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
