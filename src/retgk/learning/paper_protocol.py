"""
The authors' protocol: ten folds of one shuffle, C chosen on a validation part of each.

Test graphs have a part in it: a median in the kernel is taken over all graphs. `retgk cv --protocol
paper` and the reproduction of the paper's tables use it.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.parallel import n_threads
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.kernels.graph import KernelOfMeans, fit_graph_kernel

PAPER_PENALTIES = (1, 10, 100, 1000)
"""Values of C that the authors' protocol chooses from."""

Rules = Mapping[str, Any]
"""Settings of a protocol: `folds`, the rising grid `c` and, for the nested one, `inner_folds`."""

Targets = NDArray[Any]
KernelPart = tuple[Floats, Targets]
"""Kernel between some graphs and the training graphs, and the targets of the first."""

_MAX_ITERATIONS = 5_000_000
_CACHE_MB = 500
_BOUND = 1 - 1e-6


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
        return {
            "accuracies": [round(fold.accuracy, 6) for fold in self.folds],
            "chosen_c": [fold.c for fold in self.folds if fold.c is not None],
            "choices": [dict(fold.choice) for fold in self.folds if fold.choice],
            "n_test": [fold.n_test for fold in self.folds],
            "n_unfinished": sum(fold.n_unfinished for fold in self.folds),
        }


def kernel_matrix(products: Floats, kernel: KernelOfMeans) -> Floats:
    products = np.asarray(products)
    norms = products.diagonal().copy()
    return fit_graph_kernel(kernel, products)(products, norms, norms)


class PaperFold(NamedTuple):
    train: Ints
    validation: Ints
    test: Ints


def paper_folds(n_graphs: int, seed: int, n_folds: int = 10) -> list[PaperFold]:
    """Folds of the authors: one random order, turned by one fold after the other."""
    if n_graphs < n_folds:
        raise InvalidInputError(f"{n_graphs} graphs do not fill {n_folds} folds; give more")
    order = np.random.default_rng(seed).permutation(n_graphs)
    # ceilings: where ten does not divide n, some graphs are never tested
    n_train = -(-(n_folds - 2) * n_graphs // n_folds)
    n_known = -(-(n_folds - 1) * n_graphs // n_folds)
    turned = (np.roll(order, -fold * (n_graphs - n_known)) for fold in range(n_folds))
    return [PaperFold(some[:n_train], some[n_train:n_known], some[n_known:]) for some in turned]


def paper_outcome(
    products: Floats,
    targets: Targets,
    kernel: KernelOfMeans,
    seed: int,
    settings: Rules,
    n_jobs: int | None = None,
) -> Outcome:
    """One repetition of the authors' protocol; a median in the kernel is over all graphs."""
    start = time.perf_counter()
    matrix = kernel_matrix(products, kernel)
    middle = time.perf_counter()
    folds = paper_folds(len(targets), seed, settings["folds"])

    def run(fold: PaperFold) -> FoldResult:
        return _paper_fold_result(matrix, targets, fold, settings["c"])

    results = run_folds(run, folds, n_jobs)
    seconds = {"kernel": middle - start, "svm": time.perf_counter() - middle}
    return Outcome(results, seconds)


def _paper_fold_result(
    matrix: Floats, targets: Targets, fold: PaperFold, grid: Sequence[float]
) -> FoldResult:
    tried = accuracies_over_c(
        kernel_part(matrix, targets, fold.train, fold.train),
        kernel_part(matrix, targets, fold.validation, fold.train),
        grid,
    )
    _, c = max(zip(tried.accuracies, grid, strict=True))  # ties go to the larger C
    known = np.concatenate([fold.train, fold.validation])
    final = accuracy_at_c(
        kernel_part(matrix, targets, known, known),
        kernel_part(matrix, targets, fold.test, known),
        c,
    )
    n_unfinished = tried.n_unfinished + final.n_unfinished
    return FoldResult(final.accuracies[0], c, len(fold.test), n_unfinished)


def kernel_part(matrix: Floats, targets: Targets, rows: Ints, columns: Ints) -> KernelPart:
    """Kernel between graphs, and the targets of the first."""
    return matrix[np.ix_(rows, columns)], targets[rows]


def run_folds(
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
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


# Support vector machines on slices of kernel matrices


class Scores(NamedTuple):
    """Accuracies, and how many machines hit the limit of iterations."""

    accuracies: list[float]
    n_unfinished: int


def accuracies_over_c(train: KernelPart, test: KernelPart, grid: Sequence[float]) -> Scores:
    """Accuracy on test graphs for every C of a rising grid."""
    accuracies: list[float] = []
    n_unfinished, is_free = 0, False
    for c in grid:
        if is_free:
            accuracies.append(accuracies[-1])
            continue
        machine = _fit_svc(*train, c)
        accuracies.append(float(np.mean(machine.predict(test[0]) == test[1])))
        n_unfinished += int(machine.fit_status_ != 0)
        # no multiplier at its bound: the solution for every larger C is the same
        is_free = bool(np.abs(machine.dual_coef_).max(initial=0.0) < _BOUND * c)
    return Scores(accuracies, n_unfinished)


def accuracy_at_c(train: KernelPart, test: KernelPart, c: float) -> Scores:
    return accuracies_over_c(train, test, [c])


def _fit_svc(kernel: Floats, targets: Targets, c: float) -> Any:
    from sklearn.svm import SVC

    machine = SVC(C=c, kernel="precomputed", cache_size=_CACHE_MB, max_iter=_MAX_ITERATIONS)
    return machine.fit(kernel, targets)
