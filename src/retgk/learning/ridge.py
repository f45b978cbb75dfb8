r"""
Regularised least squares on kernels with landmark graphs, for many graphs and for values.

With landmarks M the kernel is replaced by Nystroem's :math:`K_{nM} K_{MM}^{-1} K_{Mn}`, which is
the kernel itself if all graphs are landmarks. :math:`\Phi = K_{nM} V \Lambda^{-1/2}`, from the
eigenvectors of :math:`K_{MM}`, are explicit features. Only their first and second moments are
kept, so that memory is that of the inner products and of some matrices of landmarks; folds are
sums of the moments of parts of the graphs, so that every graph is worked on once a kernel.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from retgk._runtime.parallel import progress_bar, run_tasks, single_threaded_blas
from retgk.array_types import Floats, Ints
from retgk.kernels.graph import KernelOfMeans
from retgk.learning.folds import Fold
from retgk.learning.svm import GraphProducts, Machine

_FEW_GRAPHS = 5_000
_MAX_PRODUCTS = 1 << 28  # inner products in 2 GiB; those of the best candidate and of the next
_SMALLEST = 1e-7  # share of the largest eigenvalue below which a direction is rounding
_BLOCK_ROWS = 2048  # graphs whose features are in memory at a time, for each thread


def landmarks_of(n_graphs: int, seed: int, n_landmarks: int | None = None) -> Ints:
    """Graphs drawn at random, in order; by default as many as 2 GiB of inner products allow."""
    if n_landmarks is None:
        most = 1000 if n_graphs <= _FEW_GRAPHS else 2000
        n_landmarks = max(1, min(most, _MAX_PRODUCTS // n_graphs))
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n_graphs, min(n_graphs, int(n_landmarks)), replace=False))


class LandmarkRidge:
    """Minimise ``sum_i w_i (f(G_i) - y_i)^2 + |f|^2 / (2 C)``, f in the span of landmarks."""

    name = "ridge"

    def __init__(self, targets: Floats, weights: Floats) -> None:
        self.targets = targets
        self.weights = weights

    def train(self, products: GraphProducts, kernel: KernelOfMeans, penalty: float) -> Machine:
        with single_threaded_blas():
            source = _Features(products, kernel, _basis(products, kernel))
            moments = self._moments(source, np.arange(len(products.norms)))
            coefficients, intercept = moments.solve([penalty])[0]
            dual_coef = np.ascontiguousarray((source.basis @ coefficients).T)
        return Machine(np.arange(len(products.columns)), dual_coef, intercept)

    def out_of_fold(
        self,
        products: GraphProducts,
        kernels: Sequence[KernelOfMeans],
        folds: Sequence[Fold],
        penalties: Sequence[float],
        n_jobs: int | None,
    ) -> list[list[Floats]]:
        """Values of test parts by kernel and fold, of shape (n_penalties, n_test, n_outputs)."""
        found: list[list[Any]] = [[None] * len(folds) for _ in kernels]
        parts, of_fold = _parts_of(folds, len(products.norms))
        n_tasks = len(parts) + len(folds)
        # threads over parts, one for BLAS: its own threads stall where cores are shared
        with progress_bar("choosing parameters", len(kernels) * n_tasks) as advance:
            for own, kernel in zip(found, kernels, strict=True):
                with single_threaded_blas():
                    source = _Features(products, kernel, _basis(products, kernel))
                    moments: list[Any] = [None] * len(parts)
                    tasks = [(moments, i, source, parts[i]) for i in range(len(parts))]
                    sizes = [float(len(part)) for part in parts]
                    run_tasks(self._fill_moments, tasks, sizes, n_jobs, lambda _: advance(1))
                    some = [
                        (own, f, source, moments, of_fold[f], folds[f][1], penalties)
                        for f in range(len(folds))
                    ]
                    run_tasks(self._fill_values, some, [1.0] * len(folds), n_jobs, advance)
        return found

    def _moments(self, source: "_Features", graphs: Ints) -> "_Moments":
        moments = _Moments.zero(source.basis.shape[1], self.targets.shape[1])
        for start in range(0, len(graphs), _BLOCK_ROWS):
            block = graphs[start : start + _BLOCK_ROWS]
            moments.add(source.rows(block), self.targets[block], self.weights[block])
        return moments

    def _fill_moments(self, out: list[Any], place: int, source: "_Features", graphs: Ints) -> None:
        out[place] = self._moments(source, graphs)

    def _fill_values(
        self,
        out: list[Any],
        place: int,
        source: "_Features",
        parts: Sequence["_Moments"],
        used: Ints,
        test: Ints,
        penalties: Sequence[float],
    ) -> None:
        solutions = _sum([parts[part] for part in used]).solve(penalties)
        slopes = np.hstack([source.basis @ c for c, _ in solutions])
        values = np.empty((len(test), len(penalties), self.targets.shape[1]))
        for start in range(0, len(test), _BLOCK_ROWS):
            block = slice(start, start + _BLOCK_ROWS)
            flat = source.kernel_rows(test[block]) @ slopes
            values[block] = flat.reshape(-1, *values.shape[1:])
        intercepts = np.stack([intercept for _, intercept in solutions])
        out[place] = np.ascontiguousarray((values + intercepts).swapaxes(0, 1))


def _parts_of(folds: Sequence[Fold], n_graphs: int) -> tuple[list[Ints], list[Ints]]:
    """Parts of graphs that are in the same training sets, and the parts of each of these."""
    is_trained = np.zeros((n_graphs, len(folds)), bool)
    for fold, (train, _) in enumerate(folds):
        is_trained[train, fold] = True
    patterns, pattern_of = np.unique(is_trained, axis=0, return_inverse=True)
    is_partition = all(len(np.unique(train)) == len(train) for train, _ in folds)
    if len(patterns) > len(folds) + 1 or not is_partition:
        return [train for train, _ in folds], [np.array([f]) for f in range(len(folds))]
    parts = [np.flatnonzero(pattern_of.ravel() == i) for i in range(len(patterns))]
    return parts, [np.flatnonzero(used) for used in patterns.T]


def _basis(products: GraphProducts, kernel: KernelOfMeans) -> Floats:
    """Matrix that makes explicit features from kernel values with the landmarks."""
    from scipy.linalg import eigh

    landmarks = np.arange(len(products.columns))
    values, vectors = eigh(products.kernel(kernel, products.columns, landmarks))
    kept = values > _SMALLEST * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


@dataclass(frozen=True, eq=False)
class _Features:
    products: GraphProducts
    kernel: KernelOfMeans
    basis: Floats

    def kernel_rows(self, graphs: Ints) -> Floats:
        return self.products.kernel(self.kernel, graphs, np.arange(len(self.products.columns)))

    def rows(self, graphs: Ints) -> Floats:
        return np.asarray(self.kernel_rows(graphs) @ self.basis)


@dataclass(eq=False)
class _Moments:
    """Weighted sums of features and targets, and of their products, over some graphs."""

    weight: float
    first: Floats
    """Of features, shape (n_features,)."""
    second: Floats
    """Of products of features, shape (n_features, n_features)."""
    targets: Floats
    """Of targets, shape (n_outputs,)."""
    cross: Floats
    """Of products of features and targets, shape (n_features, n_outputs)."""

    @classmethod
    def zero(cls, n_features: int, n_outputs: int) -> "_Moments":
        return cls(
            0.0,
            np.zeros(n_features),
            np.zeros((n_features, n_features)),
            np.zeros(n_outputs),
            np.zeros((n_features, n_outputs)),
        )

    def add(self, x: Floats, y: Floats, weights: Floats) -> None:
        weighted = x * weights[:, None]
        self.weight += float(weights.sum())
        self.first += weighted.sum(axis=0)
        self.second += weighted.T @ x
        self.targets += weights @ y
        self.cross += weighted.T @ y

    def solve(self, penalties: Sequence[float]) -> list[tuple[Floats, Floats]]:
        from scipy.linalg import cho_factor, cho_solve

        mean_x, mean_y = self.first / self.weight, self.targets / self.weight
        second = self.second - np.outer(self.first, mean_x)
        cross = self.cross - np.outer(self.first, mean_y)
        solutions = []
        for penalty in penalties:
            matrix = second + np.diag(np.full(len(second), 0.5 / penalty))
            coefficients = cho_solve(cho_factor(matrix, overwrite_a=True), cross)
            solutions.append((coefficients, mean_y - mean_x @ coefficients))
        return solutions


def _sum(moments: Sequence[_Moments]) -> _Moments:
    total = _Moments.zero(*moments[0].cross.shape)
    for part in moments:
        total.weight += part.weight
        for name in ("first", "second", "targets", "cross"):
            getattr(total, name).__iadd__(getattr(part, name))
    return total
