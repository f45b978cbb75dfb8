"""
From kernels to accuracies, by three protocols.

The paper's protocol is the authors' own: medians are over all graphs, and C is chosen on a
validation part. The nested protocol keeps test graphs apart from every choice, and so does the fair
one, whose folds are given. Their numbers are in ``settings/protocols.toml``.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.kernels.graph import ExponentialGraphKernel, KernelOfMeans, fit_graph_kernel
from retgk.learning.folds import stratified_folds
from retgk.learning.paper_protocol import (
    FoldResult,
    Outcome,
    PaperFold,
    Rules,
    Targets,
    accuracies_over_c,
    accuracy_at_c,
    kernel_part,
    run_folds,
)

# The nested protocol, and the fair one


class Option(NamedTuple):
    choice: Mapping[str, Any]
    products: Floats


class SplitFold(NamedTuple):
    """Graphs for training and for the test, and how the former are split for choices."""

    train: Ints
    test: Ints
    inner: Sequence[tuple[Ints, Ints]]
    """Places among the training graphs: to train on, and to choose by."""

    @classmethod
    def of(cls, fold: PaperFold) -> "SplitFold":
        """Validation graphs choose; then they train together with the training graphs."""
        n_train, n_known = len(fold.train), len(fold.train) + len(fold.validation)
        known = np.concatenate([fold.train, fold.validation])
        return cls(known, fold.test, [(np.arange(n_train), np.arange(n_train, n_known))])


def nested_outcome(
    options_of: Callable[[Ints], Sequence[Option]],
    targets: Targets,
    kernels: Sequence[KernelOfMeans],
    seed: int,
    settings: Rules,
    n_jobs: int | None = None,
) -> Outcome:
    """One repetition in which test graphs have no part in any choice."""
    folds = [
        SplitFold(train, test, stratified_folds(targets[train], seed, settings["inner_folds"]))
        for train, test in stratified_folds(targets, seed, settings["folds"])
    ]
    return chosen_outcome(options_of, targets, kernels, folds, settings["c"], n_jobs)


def chosen_outcome(
    options_of: Callable[[Ints], Sequence[Option]],
    targets: Targets,
    kernels: Sequence[KernelOfMeans],
    folds: Sequence[SplitFold],
    grid: Sequence[float],
    n_jobs: int | None = None,
) -> Outcome:
    """Accuracies on given folds, with choices by the splits of their training graphs alone."""
    given = [(fold, options_of(fold.train)) for fold in folds]
    start = time.perf_counter()

    def run(both: tuple[SplitFold, Sequence[Option]]) -> FoldResult:
        fold, options = both
        pairs = [(option, kernel) for option in options for kernel in kernels]
        return _chosen_fold_result(pairs, targets, fold, grid)

    results = run_folds(run, given, n_jobs)
    return Outcome(results, {"kernel": 0.0, "svm": time.perf_counter() - start})


def _chosen_fold_result(
    pairs: Sequence[tuple[Option, KernelOfMeans]],
    targets: Targets,
    fold: SplitFold,
    grid: Sequence[float],
) -> FoldResult:
    train, test, inner = fold
    best, n_unfinished = (-1.0, 0.0, 0), 0
    for number, (option, kernel) in enumerate(pairs):
        _, matrix = _training_kernel(option.products, kernel, train)
        means, n_more = _mean_accuracies(matrix, targets[train], inner, grid)
        n_unfinished += n_more
        best = max(best, *zip(means, grid, [-number] * len(grid), strict=True))
    option, kernel = pairs[-best[2]]
    fitted, matrix = _training_kernel(option.products, kernel, train)
    norms = option.products.diagonal()
    across = fitted(option.products[np.ix_(test, train)], norms[test], norms[train])
    final = accuracy_at_c((matrix, targets[train]), (across, targets[test]), best[1])
    choice = {**option.choice, **_chosen_numbers(kernel)}
    return FoldResult(
        final.accuracies[0], best[1], len(test), n_unfinished + final.n_unfinished, choice
    )


def _mean_accuracies(
    matrix: Floats,
    targets: Targets,
    folds: Sequence[tuple[Ints, Ints]],
    grid: Sequence[float],
) -> tuple[list[float], int]:
    tried = [
        accuracies_over_c(
            kernel_part(matrix, targets, some, some),
            kernel_part(matrix, targets, others, some),
            grid,
        )
        for some, others in folds
    ]
    means = np.mean([scores.accuracies for scores in tried], axis=0).round(12)
    return means.tolist(), sum(scores.n_unfinished for scores in tried)


def _training_kernel(
    products: Floats, kernel: KernelOfMeans, train: Ints
) -> tuple[KernelOfMeans, Floats]:
    own = products[np.ix_(train, train)]
    norms = own.diagonal().copy()
    fitted = fit_graph_kernel(kernel, own)
    return fitted, fitted(own, norms, norms)


def _chosen_numbers(kernel: KernelOfMeans) -> dict[str, float]:
    """Numbers of a kernel for a record; a scale only where it is not the usual one."""
    if not isinstance(kernel, ExponentialGraphKernel):
        return {}
    return {"p": kernel.p} | ({"scale": kernel.scale} if kernel.scale != 1 else {})
