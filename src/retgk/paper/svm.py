"""Support vector machines on slices of kernel matrices."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats

__all__ = ["KernelPart", "Scores", "Targets", "accuracies_over_c", "accuracy_at_c"]

Targets = NDArray[Any]
KernelPart = tuple[Floats, Targets]
"""Kernel between some graphs and the training graphs, and the targets of the first."""

_MAX_ITERATIONS = 5_000_000
_CACHE_MB = 500
_BOUND = 1 - 1e-6


class Scores(NamedTuple):
    """Accuracies, and how many machines hit the limit of iterations."""

    accuracies: list[float]
    n_unfinished: int


def accuracies_over_c(train: KernelPart, test: KernelPart, grid: Sequence[float]) -> Scores:
    """
    Accuracy on test graphs for every C of a rising grid.

    Where no multiplier of a solution stands at its bound C, the solution for every larger C is
    the same one, and is not computed again.
    """
    accuracies: list[float] = []
    n_unfinished, is_free = 0, False
    for c in grid:
        if is_free:
            accuracies.append(accuracies[-1])
            continue
        machine = _fit_svc(*train, c)
        accuracies.append(float(np.mean(machine.predict(test[0]) == test[1])))
        n_unfinished += int(machine.fit_status_ != 0)
        is_free = bool(np.abs(machine.dual_coef_).max(initial=0.0) < _BOUND * c)
    return Scores(accuracies, n_unfinished)


def accuracy_at_c(train: KernelPart, test: KernelPart, c: float) -> Scores:
    """Accuracy on test graphs for one C."""
    return accuracies_over_c(train, test, [c])


def _fit_svc(kernel: Floats, targets: Targets, c: float) -> Any:
    from sklearn.svm import SVC

    machine = SVC(C=c, kernel="precomputed", cache_size=_CACHE_MB, max_iter=_MAX_ITERATIONS)
    return machine.fit(kernel, targets)
