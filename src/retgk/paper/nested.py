"""From kernels to accuracies by a protocol that keeps test graphs apart from every choice."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.kernels.graph_kernels import ExponentialGraphKernel, GraphKernel
from retgk.paper.protocols import (
    FoldResult,
    Outcome,
    fitted_graph_kernel,
    in_threads,
    part_of,
)
from retgk.paper.svm import accuracies_over_c, accuracy_at_c

__all__ = ["Option", "nested_folds", "nested_outcome"]

Targets = NDArray[Any]


class Option(NamedTuple):
    """Inner products to choose from, and what they were made with."""

    choice: Mapping[str, float]
    products: Floats


def nested_folds(targets: Targets, seed: int, n_folds: int) -> list[tuple[Ints, Ints]]:
    """Stratified folds: training and test graphs."""
    from sklearn.model_selection import StratifiedKFold

    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return list(splitter.split(targets, targets))


def nested_outcome(
    options_of: Callable[[Ints], Sequence[Option]],
    targets: Targets,
    kernels: Sequence[GraphKernel],
    seed: int,
    settings: Mapping[str, Any],
    n_jobs: int | None = None,
) -> Outcome:
    """
    One repetition in which test graphs have no part in any choice.

    Parameters
    ----------
    options_of : callable
        Gives, for training graphs, the inner products to choose from.
    targets : ndarray, shape (n,)
        Classes.
    kernels : sequence of graph kernel
        Kernels to choose from; medians in them are taken over training graphs.
    seed : int
        Of the folds.
    settings : mapping
        `folds`, `inner_folds` and the rising grid `c`.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    Outcome
        Of all folds.
    """
    folds = [
        (train, test, options_of(train))
        for train, test in nested_folds(targets, seed, settings["folds"])
    ]
    start = time.perf_counter()

    def run(fold: tuple[Ints, Ints, Sequence[Option]]) -> FoldResult:
        train, test, options = fold
        pairs = [(option, kernel) for option in options for kernel in kernels]
        inner = nested_folds(targets[train], seed, settings["inner_folds"])
        return _nested_fold(pairs, targets, (train, test), inner, settings["c"])

    results = in_threads(run, folds, n_jobs)
    return Outcome(results, {"kernel": 0.0, "svm": time.perf_counter() - start})


def _nested_fold(
    pairs: Sequence[tuple[Option, GraphKernel]],
    targets: Targets,
    fold: tuple[Ints, Ints],
    inner: Sequence[tuple[Ints, Ints]],
    grid: Sequence[float],
) -> FoldResult:
    train, test = fold
    best, n_unfinished = (-1.0, 0.0, 0), 0
    for number, (option, kernel) in enumerate(pairs):
        fitted, matrix = _training_kernel(option.products, kernel, train)
        tried = [
            accuracies_over_c(
                part_of(matrix, targets[train], some, some),
                part_of(matrix, targets[train], others, some),
                grid,
            )
            for some, others in inner
        ]
        n_unfinished += sum(scores.n_unfinished for scores in tried)
        means = np.mean([scores.accuracies for scores in tried], axis=0).round(12)
        found = max(zip(means.tolist(), grid, [-number] * len(grid), strict=True))
        best = max(best, found)
    option, kernel = pairs[-best[2]]
    fitted, matrix = _training_kernel(option.products, kernel, train)
    norms = option.products.diagonal()
    across = fitted(option.products[np.ix_(test, train)], norms[test], norms[train])
    final = accuracy_at_c((matrix, targets[train]), (across, targets[test]), best[1])
    choice = {**option.choice, **_chosen_numbers(kernel)}
    return FoldResult(
        final.accuracies[0], best[1], len(test), n_unfinished + final.n_unfinished, choice
    )


def _training_kernel(
    products: Floats, kernel: GraphKernel, train: Ints
) -> tuple[GraphKernel, Floats]:
    own = products[np.ix_(train, train)]
    norms = own.diagonal().copy()
    fitted = fitted_graph_kernel(kernel, own)
    return fitted, fitted(own, norms, norms)


def _chosen_numbers(kernel: GraphKernel) -> dict[str, float]:
    return {"p": kernel.p} if isinstance(kernel, ExponentialGraphKernel) else {}
