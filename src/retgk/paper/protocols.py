"""From kernels to accuracies by the authors' protocol."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.kernels.graph_kernels import ExponentialGraphKernel, GraphKernel
from retgk.kernels.medians import typical_squared_mmd
from retgk.paper.svm import accuracies_over_c, accuracy_at_c
from retgk.runtime.parallel import n_threads

__all__ = [
    "FoldResult",
    "Outcome",
    "PaperFold",
    "compile_graph_kernels",
    "fitted_graph_kernel",
    "in_threads",
    "kernel_matrix",
    "paper_folds",
    "paper_outcome",
    "part_of",
    "time_outcome",
]

Targets = NDArray[Any]


class PaperFold(NamedTuple):
    """Graphs for training, for the choice of C, and for the test."""

    train: Ints
    validation: Ints
    test: Ints


@dataclass(frozen=True)
class FoldResult:
    """Accuracy on one test fold, and what was chosen for it."""

    accuracy: float
    c: float
    n_test: int
    n_unfinished: int = 0
    choice: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """All folds of one repetition, and the seconds they took."""

    folds: list[FoldResult]
    seconds: dict[str, float]

    def as_record(self) -> dict[str, Any]:
        """Columns over the folds, for a record."""
        return {
            "accuracies": [round(fold.accuracy, 6) for fold in self.folds],
            "chosen_c": [fold.c for fold in self.folds],
            "choices": [dict(fold.choice) for fold in self.folds if fold.choice],
            "n_test": [fold.n_test for fold in self.folds],
            "n_unfinished": sum(fold.n_unfinished for fold in self.folds),
        }


def paper_folds(n_graphs: int, seed: int, n_folds: int = 10) -> list[PaperFold]:
    """
    Folds of the authors' implementation.

    A random order of the graphs is turned by one fold after the other. Its first
    ceil(0.8 n) graphs train, those up to ceil(0.9 n) validate, the others test; where ten does
    not divide n, some graphs are never tested.

    Parameters
    ----------
    n_graphs : int
        Number of graphs.
    seed : int
        Of the order.
    n_folds : int, default=10
        Number of folds.

    Returns
    -------
    list of PaperFold
        Positions of graphs.
    """
    if n_graphs < n_folds:
        raise InvalidInputError(f"{n_graphs} graphs do not fill {n_folds} folds; give more")
    order = np.random.default_rng(seed).permutation(n_graphs)
    n_train = -(-(n_folds - 2) * n_graphs // n_folds)
    n_known = -(-(n_folds - 1) * n_graphs // n_folds)
    turned = (np.roll(order, -fold * (n_graphs - n_known)) for fold in range(n_folds))
    return [PaperFold(some[:n_train], some[n_train:n_known], some[n_known:]) for some in turned]


def fitted_graph_kernel(kernel: GraphKernel, products: Floats) -> GraphKernel:
    """Kernel of graphs with the bandwidth that these graphs give it."""
    if isinstance(kernel, ExponentialGraphKernel) and kernel.gamma == "median":
        return kernel.fitted(typical_squared_mmd(products))
    return kernel


def kernel_matrix(products: Floats, kernel: GraphKernel) -> Floats:
    """Kernel values of all graphs; a median is over all of them."""
    products = np.asarray(products)
    norms = products.diagonal().copy()
    return fitted_graph_kernel(kernel, products)(products, norms, norms)


def compile_graph_kernels() -> None:
    """Compile what would be compiled, and timed, with the first matrix; a file's is read-only."""
    matrix = np.eye(3)
    kernel_matrix(matrix, ExponentialGraphKernel())
    matrix.flags.writeable = False
    kernel_matrix(matrix, ExponentialGraphKernel())


def paper_outcome(
    products: Floats,
    targets: Targets,
    kernel: GraphKernel,
    seed: int,
    settings: Mapping[str, Any],
    n_jobs: int | None = None,
) -> Outcome:
    """
    One repetition of the authors' protocol.

    Parameters
    ----------
    products : ndarray, shape (n, n)
        Inner products of all graphs.
    targets : ndarray, shape (n,)
        Classes.
    kernel : graph kernel
        A median in it is taken over all graphs, test graphs included, as the authors did.
    seed : int
        Of the order of the graphs.
    settings : mapping
        `folds` and the rising grid `c`.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    Outcome
        Of all folds.
    """
    start = time.perf_counter()
    matrix = kernel_matrix(products, kernel)
    middle = time.perf_counter()
    folds = paper_folds(len(targets), seed, settings["folds"])

    def run(fold: PaperFold) -> FoldResult:
        return _paper_fold(matrix, targets, fold, settings["c"])

    results = in_threads(run, folds, n_jobs)
    seconds = {"kernel": middle - start, "svm": time.perf_counter() - middle}
    return Outcome(results, seconds)


def _paper_fold(
    matrix: Floats, targets: Targets, fold: PaperFold, grid: Sequence[float]
) -> FoldResult:
    tried = accuracies_over_c(
        part_of(matrix, targets, fold.train, fold.train),
        part_of(matrix, targets, fold.validation, fold.train),
        grid,
    )
    _, c = max(zip(tried.accuracies, grid, strict=True))  # ties go to the larger C
    known = np.concatenate([fold.train, fold.validation])
    final = accuracy_at_c(
        part_of(matrix, targets, known, known), part_of(matrix, targets, fold.test, known), c
    )
    n_unfinished = tried.n_unfinished + final.n_unfinished
    return FoldResult(final.accuracies[0], c, len(fold.test), n_unfinished)


def part_of(matrix: Floats, targets: Targets, rows: Ints, columns: Ints) -> tuple[Floats, Targets]:
    """Kernel between some graphs and others, and the targets of the first."""
    return matrix[np.ix_(rows, columns)], targets[rows]


def time_outcome(products: Floats, kernel: GraphKernel) -> Outcome:
    """No folds: the seconds of kernel values alone."""
    start = time.perf_counter()
    kernel_matrix(products, kernel)
    return Outcome([], {"kernel": time.perf_counter() - start, "svm": 0.0})


def in_threads(
    run: Callable[[Any], FoldResult], folds: Sequence[Any], n_jobs: int | None
) -> list[FoldResult]:
    """Results in the order of the folds; the machines release the GIL."""
    with _without_iteration_warnings(), ThreadPoolExecutor(n_threads(n_jobs)) as pool:
        try:
            return list(pool.map(run, folds))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


@contextmanager
def _without_iteration_warnings() -> Iterator[None]:
    """Machines that were stopped are counted in the record instead."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
