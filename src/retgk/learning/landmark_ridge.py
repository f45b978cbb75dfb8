r"""
Regularised least squares on kernels with landmark graphs, for many graphs and for values.

With landmarks M the kernel is replaced by Nystroem's :math:`K_{nM} K_{MM}^{-1} K_{Mn}`, which is
the kernel itself if all graphs are landmarks. :math:`\Phi = K_{nM} V \Lambda^{-1/2}`, from the
eigenvectors of :math:`K_{MM}`, are explicit features, which all folds and penalties share.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.kernels.graph_kernels import ExponentialGraphKernel
from retgk.learning.folds import Fold
from retgk.learning.solver import GraphProducts, Machine
from retgk.runtime.parallel import run_tasks, single_threaded_blas
from retgk.runtime.progress import progress_bar

__all__ = ["LandmarkRidge", "landmarks_of"]


MAX_LANDMARKS = 1000
_SMALLEST = 1e-7  # share of the largest eigenvalue below which a direction is rounding


def landmarks_of(n_graphs: int, seed: int) -> Ints:
    """Up to 1,000 graphs, drawn at random, in order."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n_graphs, min(n_graphs, MAX_LANDMARKS), replace=False))


class LandmarkRidge:
    """
    Minimise ``sum_i w_i (f(G_i) - y_i)^2 + |f|^2 / (2 C)`` over f in the span of the landmarks.

    Parameters
    ----------
    targets : ndarray of float64, shape (n, n_outputs)
        Values; +1 and -1 for classes.
    weights : ndarray of float64, shape (n,)
        Weight of every graph.
    """

    name = "ridge"

    def __init__(self, targets: Floats, weights: Floats) -> None:
        self.targets = targets
        self.weights = weights

    def train(
        self, products: GraphProducts, kernel: ExponentialGraphKernel, penalty: float
    ) -> Machine:
        """Train on all graphs, with a number for gamma of the kernel and C as penalty."""
        with single_threaded_blas():
            features, basis = _features(products, kernel)
            everything = np.arange(len(features))
            moments = _Moments(features, self.targets, self.weights, everything)
            coefficients, intercept = moments.solve([penalty])[0]
            dual_coef = np.ascontiguousarray((basis @ coefficients).T)
        return Machine(np.arange(len(products.columns)), dual_coef, intercept)

    def out_of_fold(
        self,
        products: GraphProducts,
        kernels: Sequence[ExponentialGraphKernel],
        folds: Sequence[Fold],
        penalties: Sequence[float],
        n_jobs: int | None,
    ) -> list[list[Floats]]:
        """
        Values of the test parts of folds, for every kernel and fold.

        Each is an array of shape (n_penalties, n_test, n_outputs).
        """
        found: list[list[Any]] = [[None] * len(folds) for _ in kernels]
        costs = [1.0] * len(folds)
        # threads over folds, one for BLAS: its own threads stall where cores are shared
        with progress_bar("choosing parameters", len(kernels) * len(folds)) as advance:
            for own, kernel in zip(found, kernels, strict=True):
                with single_threaded_blas():
                    features, _ = _features(products, kernel)
                    tasks = [(own, f, features, folds[f], penalties) for f in range(len(folds))]
                    run_tasks(self._fill, tasks, costs, n_jobs, advance)
        return found

    def _fill(
        self, out: list[Any], place: int, features: Floats, fold: Fold, penalties: Sequence[float]
    ) -> None:
        """Write the values of one fold to its place."""
        train, test = fold
        moments = _Moments(features, self.targets, self.weights, train)
        rows = features[test]
        out[place] = np.stack([rows @ c + b for c, b in moments.solve(penalties)])

    def scores(self, decisions: Floats) -> Floats:
        """Give the values themselves: there is one for each output already."""
        return decisions


def _features(products: GraphProducts, kernel: ExponentialGraphKernel) -> tuple[Floats, Floats]:
    """Explicit features of all graphs, and the matrix that makes them from kernel values."""
    from scipy.linalg import eigh

    landmarks = np.arange(len(products.columns))
    values, vectors = eigh(products.kernel(kernel, products.columns, landmarks))
    kept = values > _SMALLEST * values[-1]
    basis = vectors[:, kept] / np.sqrt(values[kept])
    gram = products.kernel(kernel, np.arange(len(products.norms)), landmarks)
    return gram @ basis, basis


class _Moments:
    """Weighted means and centred second moments of features and targets of some graphs."""

    def __init__(self, features: Floats, targets: Floats, weights: Floats, graphs: Ints) -> None:
        x, y, w = features[graphs], targets[graphs], weights[graphs]
        self.mean_x, self.mean_y = w @ x / w.sum(), w @ y / w.sum()
        x = x - self.mean_x
        weighted = x * w[:, None]
        self.second, self.cross = weighted.T @ x, weighted.T @ (y - self.mean_y)

    def solve(self, penalties: Sequence[float]) -> list[tuple[Floats, Floats]]:
        """Coefficients and intercepts for every penalty."""
        from scipy.linalg import cho_factor, cho_solve

        solutions = []
        for penalty in penalties:
            matrix = self.second + np.diag(np.full(len(self.second), 0.5 / penalty))
            coefficients = cho_solve(cho_factor(matrix, overwrite_a=True), self.cross)
            solutions.append((coefficients, self.mean_y - self.mean_x @ coefficients))
        return solutions
