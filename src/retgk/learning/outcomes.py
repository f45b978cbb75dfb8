"""What decision values say of graphs: one class, several labels, or values."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.learning.calibration import (
    class_probabilities,
    fit_calibration,
    fit_label_calibration,
    label_probabilities,
)

__all__ = ["Calibration", "ClassOutcomes", "Discrete", "LabelOutcomes", "ValueOutcomes"]

Calibration = tuple[Floats, Floats]
"""Coefficients and intercepts of logistic regressions on decision values."""


class Discrete(Protocol):
    """Outcomes that have probabilities. The truth of graphs is in codes, or zeros and ones."""

    @property
    def classes(self) -> NDArray[Any]:
        """What classifiers have as ``classes_``."""

    def predict(self, scores: Floats) -> NDArray[Any]:
        """Give what is predicted."""

    def decision_function(self, scores: Floats) -> Floats:
        """Decision values in the shape that users expect."""

    def calibrate(
        self, scores: Floats, truth: Ints, weights: Floats | None = None
    ) -> Calibration | None:
        """Calibrate probabilities on decision values; None where a class is missing."""

    def probabilities(self, scores: Floats, calibration: Calibration) -> Floats:
        """Probabilities of classes or labels."""

    def targets(self, truth: Ints) -> NDArray[Any]:
        """Targets in the words of the user."""

    def perfect_scores(self, truth: Ints) -> Floats:
        """Decision values of a machine without errors."""


@dataclass(frozen=True, eq=False)
class ClassOutcomes:
    """One class for each graph."""

    classes: NDArray[Any]

    def predict(self, scores: Floats) -> NDArray[Any]:
        """Class with the largest decision value."""
        return np.asarray(self.classes[self.codes(scores)])

    def codes(self, scores: Floats) -> Ints:
        """Place of the class with the largest decision value."""
        if scores.shape[1] == 1:
            return (scores[:, 0] > 0).astype(np.int64)
        return np.asarray(scores.argmax(axis=1))

    def decision_function(self, scores: Floats) -> Floats:
        """One value for two classes, else one for each."""
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def calibrate(
        self, scores: Floats, truth: Ints, weights: Floats | None = None
    ) -> Calibration | None:
        """Logistic regression; None if a class is missing."""
        if len(np.unique(truth)) < len(self.classes):
            return None
        return fit_calibration(scores, truth, weights)

    def probabilities(self, scores: Floats, calibration: Calibration) -> Floats:
        """Probabilities of all classes, which add up to one."""
        return class_probabilities(scores, *calibration)

    def targets(self, truth: Ints) -> NDArray[Any]:
        """Classes from codes."""
        return np.asarray(self.classes[truth])

    def perfect_scores(self, truth: Ints) -> Floats:
        """One for the class of a graph, else minus one."""
        signs = np.where(truth[:, None] == np.arange(len(self.classes)), 1.0, -1.0)
        return signs[:, 1:] if len(self.classes) == 2 else signs


@dataclass(frozen=True, eq=False)
class LabelOutcomes:
    """Several labels, each of which a graph has or has not."""

    n_labels: int

    @property
    def classes(self) -> NDArray[Any]:
        """Numbers of the labels."""
        return np.arange(self.n_labels)

    def predict(self, scores: Floats) -> Ints:
        """One where the decision value is positive, else zero."""
        return (scores > 0).astype(np.int64)

    def decision_function(self, scores: Floats) -> Floats:
        """One value for each label."""
        return scores

    def calibrate(
        self, scores: Floats, truth: Ints, weights: Floats | None = None
    ) -> Calibration | None:
        """One logistic regression for each label; None if there are no graphs."""
        return fit_label_calibration(scores, truth, weights) if len(truth) else None

    def probabilities(self, scores: Floats, calibration: Calibration) -> Floats:
        """Probabilities of all labels."""
        return label_probabilities(scores, *calibration)

    def targets(self, truth: Ints) -> NDArray[Any]:
        """Give the labels themselves."""
        return truth

    def perfect_scores(self, truth: Ints) -> Floats:
        """One for a label that a graph has, else minus one."""
        return np.where(truth == 1, 1.0, -1.0)


@dataclass(frozen=True, eq=False)
class ValueOutcomes:
    """One value for each graph, or a row of them."""

    ndim: int

    def predict(self, values: Floats) -> Floats:
        """Values in the shape of the targets."""
        return values[:, 0] if self.ndim == 1 else values

    def targets(self, truth: Floats) -> Floats:
        """Values in the shape in which the user gave them."""
        return self.predict(truth)

    def perfect_scores(self, truth: Floats) -> Floats:
        """Give the values themselves."""
        return truth
