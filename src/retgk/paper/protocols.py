"""
From kernels to accuracies, by three protocols.

The paper's protocol is the authors' own: medians are over all graphs, and C is chosen on a
validation part. The nested protocol keeps test graphs apart from every choice, and so does the fair
one, whose folds are given. Their numbers are in ``settings/protocols.toml``.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.kernels.graph_kernels import ExponentialGraphKernel, GraphKernel
from retgk.kernels.medians import typical_squared_mmd
from retgk.learning.outer_folds import stratified_folds
from retgk.paper.svm import KernelPart, Targets, accuracies_over_c, accuracy_at_c
from retgk.runtime.parallel import n_threads

__all__ = [
    "FoldResult",
    "Option",
    "Outcome",
    "PaperFold",
    "SplitFold",
    "chosen_outcome",
    "compile_graph_kernels",
    "fit_graph_kernel",
    "kernel_matrix",
    "nested_outcome",
    "paper_folds",
    "paper_outcome",
    "paper_splits",
    "time_outcome",
]

Rules = Mapping[str, Any]
"""Settings of a protocol: `folds`, the rising grid `c` and, for the nested one, `inner_folds`."""


@dataclass(frozen=True)
class FoldResult:
    """Accuracy on one test fold, and what was chosen for it."""

    accuracy: float
    c: float | None
    """None for networks, which have none."""
    n_test: int
    n_unfinished: int = 0
    choice: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """All folds of one repetition, and the seconds they took."""

    folds: list[FoldResult]
    seconds: dict[str, float]

    def as_record(self) -> dict[str, Any]:
        """Columns over the folds, for a record."""
        return {
            "accuracies": [round(fold.accuracy, 6) for fold in self.folds],
            "chosen_c": [fold.c for fold in self.folds if fold.c is not None],
            "choices": [dict(fold.choice) for fold in self.folds if fold.choice],
            "n_test": [fold.n_test for fold in self.folds],
            "n_unfinished": sum(fold.n_unfinished for fold in self.folds),
        }


# Kernels of graphs


def fit_graph_kernel(kernel: GraphKernel, products: Floats) -> GraphKernel:
    """Kernel of graphs with the bandwidth that these graphs give it."""
    if isinstance(kernel, ExponentialGraphKernel) and kernel.gamma == "median":
        return kernel.fitted(typical_squared_mmd(products))
    return kernel


def kernel_matrix(products: Floats, kernel: GraphKernel) -> Floats:
    """Kernel values of all graphs; a median is over all of them."""
    products = np.asarray(products)
    norms = products.diagonal().copy()
    return fit_graph_kernel(kernel, products)(products, norms, norms)


def compile_graph_kernels() -> None:
    """Compile before the first matrix is timed: for arrays in memory, and in read-only files."""
    matrix = np.eye(3)
    kernel_matrix(matrix, ExponentialGraphKernel())
    matrix.flags.writeable = False
    kernel_matrix(matrix, ExponentialGraphKernel())


def time_outcome(products: Floats, kernel: GraphKernel) -> Outcome:
    """Measure the seconds of kernel values alone, without folds."""
    start = time.perf_counter()
    kernel_matrix(products, kernel)
    return Outcome([], {"kernel": time.perf_counter() - start, "svm": 0.0})


# The paper's protocol


class PaperFold(NamedTuple):
    """Graphs for training, for the choice of C, and for the test."""

    train: Ints
    validation: Ints
    test: Ints


def paper_folds(n_graphs: int, seed: int, n_folds: int = 10) -> list[PaperFold]:
    """
    Folds of the authors' implementation.

    A random order of the graphs is turned by one fold after the other. Its first
    ceil(0.8 n) graphs train, those up to ceil(0.9 n) validate, the others test; where ten does
    not divide n, some graphs are never tested.
    """
    if n_graphs < n_folds:
        raise InvalidInputError(f"{n_graphs} graphs do not fill {n_folds} folds; give more")
    order = np.random.default_rng(seed).permutation(n_graphs)
    n_train = -(-(n_folds - 2) * n_graphs // n_folds)
    n_known = -(-(n_folds - 1) * n_graphs // n_folds)
    turned = (np.roll(order, -fold * (n_graphs - n_known)) for fold in range(n_folds))
    return [PaperFold(some[:n_train], some[n_train:n_known], some[n_known:]) for some in turned]


def paper_outcome(
    products: Floats,
    targets: Targets,
    kernel: GraphKernel,
    seed: int,
    settings: Rules,
    n_jobs: int | None = None,
) -> Outcome:
    """
    One repetition of the authors' protocol, from the inner products of all graphs.

    A median in the kernel is taken over all graphs, test graphs included, as the authors did. The
    seed gives the order of the graphs.
    """
    start = time.perf_counter()
    matrix = kernel_matrix(products, kernel)
    middle = time.perf_counter()
    folds = paper_folds(len(targets), seed, settings["folds"])

    def run(fold: PaperFold) -> FoldResult:
        return _paper_fold_result(matrix, targets, fold, settings["c"])

    results = _run_folds(run, folds, n_jobs)
    seconds = {"kernel": middle - start, "svm": time.perf_counter() - middle}
    return Outcome(results, seconds)


def _paper_fold_result(
    matrix: Floats, targets: Targets, fold: PaperFold, grid: Sequence[float]
) -> FoldResult:
    tried = accuracies_over_c(
        _kernel_part(matrix, targets, fold.train, fold.train),
        _kernel_part(matrix, targets, fold.validation, fold.train),
        grid,
    )
    _, c = max(zip(tried.accuracies, grid, strict=True))  # ties go to the larger C
    known = np.concatenate([fold.train, fold.validation])
    final = accuracy_at_c(
        _kernel_part(matrix, targets, known, known),
        _kernel_part(matrix, targets, fold.test, known),
        c,
    )
    n_unfinished = tried.n_unfinished + final.n_unfinished
    return FoldResult(final.accuracies[0], c, len(fold.test), n_unfinished)


def _kernel_part(matrix: Floats, targets: Targets, rows: Ints, columns: Ints) -> KernelPart:
    """Kernel between some graphs and others, and the targets of the first."""
    return matrix[np.ix_(rows, columns)], targets[rows]


# The nested protocol, and the fair one


class Option(NamedTuple):
    """Inner products to choose from, and what they were made with."""

    choice: Mapping[str, Any]
    products: Floats


class SplitFold(NamedTuple):
    """Graphs for training and for the test, and how the former are split for choices."""

    train: Ints
    test: Ints
    inner: Sequence[tuple[Ints, Ints]]
    """Places among the training graphs: to train on, and to choose by."""


def paper_splits(n_graphs: int, seed: int, n_folds: int = 10) -> list[SplitFold]:
    """
    The authors' folds, for methods with more to choose than C.

    Training and validation graphs together train for the test, as in `paper_outcome`.
    """
    return [
        SplitFold(
            np.concatenate([fold.train, fold.validation]),
            fold.test,
            [
                (
                    np.arange(len(fold.train)),
                    len(fold.train) + np.arange(len(fold.validation)),
                )
            ],
        )
        for fold in paper_folds(n_graphs, seed, n_folds)
    ]


def nested_outcome(
    options_of: Callable[[Ints], Sequence[Option]],
    targets: Targets,
    kernels: Sequence[GraphKernel],
    seed: int,
    settings: Rules,
    n_jobs: int | None = None,
) -> Outcome:
    """
    One repetition in which test graphs have no part in any choice.

    `options_of` gives, for training graphs, the inner products to choose from; medians in the
    kernels are taken over training graphs. The seed gives the folds.
    """
    folds = [
        SplitFold(train, test, stratified_folds(targets[train], seed, settings["inner_folds"]))
        for train, test in stratified_folds(targets, seed, settings["folds"])
    ]
    return chosen_outcome(options_of, targets, kernels, folds, settings["c"], n_jobs)


def chosen_outcome(
    options_of: Callable[[Ints], Sequence[Option]],
    targets: Targets,
    kernels: Sequence[GraphKernel],
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

    results = _run_folds(run, given, n_jobs)
    return Outcome(results, {"kernel": 0.0, "svm": time.perf_counter() - start})


def _chosen_fold_result(
    pairs: Sequence[tuple[Option, GraphKernel]],
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
    """Mean accuracy over folds for every C, and how many machines were stopped."""
    tried = [
        accuracies_over_c(
            _kernel_part(matrix, targets, some, some),
            _kernel_part(matrix, targets, others, some),
            grid,
        )
        for some, others in folds
    ]
    means = np.mean([scores.accuracies for scores in tried], axis=0).round(12)
    return means.tolist(), sum(scores.n_unfinished for scores in tried)


def _training_kernel(
    products: Floats, kernel: GraphKernel, train: Ints
) -> tuple[GraphKernel, Floats]:
    """Kernel fitted to the training graphs, and its matrix of them."""
    own = products[np.ix_(train, train)]
    norms = own.diagonal().copy()
    fitted = fit_graph_kernel(kernel, own)
    return fitted, fitted(own, norms, norms)


def _chosen_numbers(kernel: GraphKernel) -> dict[str, float]:
    """Numbers of a kernel for a record; a scale only where it is not the usual one."""
    if not isinstance(kernel, ExponentialGraphKernel):
        return {}
    return {"p": kernel.p} | ({"scale": kernel.scale} if kernel.scale != 1 else {})


# All


def _run_folds(
    run: Callable[[Any], FoldResult], folds: Sequence[Any], n_jobs: int | None
) -> list[FoldResult]:
    """Run folds in threads, since the machines release the GIL; results are in their order."""
    with _ignore_iteration_warnings(), ThreadPoolExecutor(n_threads(n_jobs)) as pool:
        try:
            return list(pool.map(run, folds))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


@contextmanager
def _ignore_iteration_warnings() -> Iterator[None]:
    """Machines that were stopped are counted in the record instead."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
