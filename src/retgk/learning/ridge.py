r"""
Regularised least squares on kernels: on all graphs, or on landmarks where there are many.

`KernelRidge` minimises :math:`\sum_i w_i (f(G_i) - y_i)^2 + |f|^2 / (2 C)` over
:math:`f = \sum_s a_s K(\cdot, G_s) + b`. With :math:`A = K + \mathrm{diag}(1 / (2 C w))` the
solution is :math:`a = H y`, where H is the upper left block of the inverse of A bordered by ones,
:math:`H = A^{-1} - u u^T / (1^T u)`, :math:`u = A^{-1} 1`. One H serves all targets, and graphs are
left out of it in closed form: without the graphs R the matrix is the Schur complement
:math:`H_{OO} - H_{OR} H_{RR}^{-1} H_{RO}` on the others, and the predictions for R are
:math:`y_R - H_{RR}^{-1} (H y)_R`, whatever :math:`y_R` is. R is one graph (leave-one-out), the
test part of a fold, or the graphs whose target is missing.

`LandmarkRidge` replaces the kernel by Nystroem's :math:`K_{nM} K_{MM}^{-1} K_{Mn}`, which is
the kernel itself if all graphs are landmarks. :math:`\Phi = K_{nM} V \Lambda^{-1/2}`, from the
eigenvectors of :math:`K_{MM}`, are explicit features. Only their first and second moments are
kept, so that memory is that of the inner products and of some matrices of landmarks; folds are
sums of the moments of parts of the graphs, so that every graph is worked on once a kernel.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np

from retgk._runtime.parallel import n_threads, progress_bar, run_tasks, single_threaded_blas
from retgk.array_types import Floats, Ints
from retgk.errors import InputWarning, warn_user
from retgk.kernels.graph import KernelOfMeans
from retgk.learning.folds import Fold
from retgk.learning.svm import GraphProducts, Machine, OneForEach, Solver

_FEW_GRAPHS = 5_000  # up to which everything is in float64
_MAX_PRODUCTS = 1 << 29  # inner products with landmarks, in 2 GiB
_CENTRES = 1_000  # graphs whose mean is the origin of features, where there are many
_MAX_INVERSES = 1 << 32  # bytes of the matrices of all penalties that are worked on at a time
_SOLVED = 1e-10  # share of the targets up to which equations are solved
_TOO_FAR = 1e-4  # share of them from which on it is said that they are not
_MAX_REFINEMENTS = 20
_ROUNDING = 1e-10  # share of the largest eigenvalue by which others are below zero for rounding
_SMALLEST = 1e-7  # share of the largest eigenvalue below which a direction is rounding
_BLOCK_ROWS = 2048  # graphs whose features are in memory at a time, for each thread


MOST_LANDMARKS = 5_000


def landmarks_of(n_graphs: int, seed: int, n_landmarks: int | None = None) -> Ints:
    """Graphs drawn at random, in order; by default as many as 2 GiB of inner products allow."""
    if n_landmarks is None:
        n_landmarks = max(1, min(MOST_LANDMARKS, _MAX_PRODUCTS // n_graphs))
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n_graphs, min(n_graphs, int(n_landmarks)), replace=False))


RidgeMaker = Callable[[Floats, Floats], Solver]
"""Solver of least squares for targets and weights of graphs."""


def least_squares(is_whole: bool, leaves_one_out: bool) -> RidgeMaker:
    """Kernel ridge on all graphs, or that on landmarks."""
    if is_whole:
        return partial(KernelRidge, leaves_one_out=leaves_one_out)
    return _on_landmarks


def to_compare_kernels(targets: Floats, weights: Floats) -> Solver:
    """Machine on landmarks for all targets at once: means take the place of missing ones."""
    means = np.nanmean(targets, axis=0)
    return LandmarkRidge(np.where(np.isnan(targets), means, targets), weights)


def _on_landmarks(targets: Floats, weights: Floats) -> Solver:
    """Machines of targets that are known of the same graphs; the others have no weight."""
    solvers, patterns = [], missing_patterns(targets)
    for columns, missing in patterns:
        own = weights.copy()
        own[missing] = 0
        solvers.append(LandmarkRidge(np.nan_to_num(targets[:, columns]), own))
    outputs = [columns for columns, _ in patterns]
    return solvers[0] if len(solvers) == 1 else OneForEach(solvers, outputs)


def missing_patterns(targets: Floats) -> list[tuple[Ints, Ints]]:
    """Columns of targets that are known of the same graphs, and the graphs that lack them."""
    is_missing = np.isnan(targets)
    patterns, pattern_of = np.unique(is_missing, axis=1, return_inverse=True)
    return [
        (np.flatnonzero(pattern_of.ravel() == number), np.flatnonzero(pattern))
        for number, pattern in enumerate(patterns.T)
    ]


class KernelRidge:
    """
    Minimise ``sum_i w_i (f(G_i) - y_i)^2 + |f|^2 / (2 C)``, f in the span of all graphs.

    Targets that are NaN are left out, each column by itself. Out-of-fold values are those of
    leave-one-out where `leaves_one_out` says so, else those of the folds.

    Up to 5,000 graphs all is float64. Of more, candidates are compared by matrices in float32:
    out-of-fold values are off by about 1e-7 times C times the spread of the kernel. What is
    trained is solved to 1e-10 of the targets in any case, by refinement with float64 residuals.
    """

    name = "ridge"

    def __init__(self, targets: Floats, weights: Floats, leaves_one_out: bool = False) -> None:
        self.targets = targets
        self.weights = weights
        self.leaves_one_out = leaves_one_out
        self.patterns = missing_patterns(targets)

    def train(self, products: GraphProducts, kernel: KernelOfMeans, penalty: float) -> Machine:
        n_graphs, n_outputs = self.targets.shape
        dual_coef, intercept = np.zeros((n_outputs, n_graphs)), np.zeros(n_outputs)
        with single_threaded_blas():
            found = _Inverse.of(products, kernel, self.weights, penalty)
            for columns, missing in self.patterns:
                a, b = found.trained(products, kernel, self.targets[:, columns], missing)
                dual_coef[columns], intercept[columns] = a.T, b
        return Machine(np.arange(n_graphs), dual_coef, intercept)

    def out_of_fold(
        self,
        products: GraphProducts,
        kernels: Sequence[KernelOfMeans],
        folds: Sequence[Fold],
        penalties: Sequence[float],
        n_jobs: int | None,
    ) -> list[list[Floats]]:
        """Values of test parts by kernel and fold, of shape (n_penalties, n_test, n_outputs)."""
        n_outputs = self.targets.shape[1]
        found = [
            [np.empty((len(penalties), len(test), n_outputs)) for _, test in folds] for _ in kernels
        ]
        if not folds:
            return found

        def work(k: int, p: int) -> None:
            inverse = _Inverse.of(products, kernels[k], self.weights, penalties[p])
            if self.leaves_one_out:
                values = self._left_out(inverse)
                for f, (_, test) in enumerate(folds):
                    found[k][f][p] = values[test]
                return
            for f, fold in enumerate(folds):
                found[k][f][p] = self._of_fold(inverse, fold, products, kernels[k], penalties[p])

        tasks = [(k, p) for k in range(len(kernels)) for p in range(len(penalties))]
        n_bytes = np.dtype(_type_for(len(self.targets))).itemsize * len(self.targets) ** 2
        most = max(1, _MAX_INVERSES // n_bytes)
        with single_threaded_blas():
            n_jobs = min(n_threads(n_jobs), most)
            run_tasks(work, tasks, [1.0] * len(tasks), n_jobs, "choosing parameters")
        return found

    def _left_out(self, inverse: "_Inverse") -> Floats:
        """Values of all graphs, each from all others whose target is known."""
        values = np.empty(self.targets.shape)
        for columns, missing in self.patterns:
            without = inverse.without(missing)
            y = self.targets[:, columns]
            a, own = without.solve(y), without.diagonal()
            values[:, columns] = y - a / own[:, None]
            values[np.ix_(missing, columns)] = without.predictions(y)
        return values

    def _of_fold(
        self,
        inverse: "_Inverse",
        fold: Fold,
        products: GraphProducts,
        kernel: KernelOfMeans,
        penalty: float,
    ) -> Floats:
        train, test = fold
        counts = np.bincount(train, minlength=len(self.targets))
        values = np.empty((len(test), self.targets.shape[1]))
        is_simple = counts.max() == 1 and 2 * len(train) >= len(counts) and not counts[test].any()
        own = None if is_simple else KernelRidge(self.targets, self.weights * counts)
        if own is not None:
            machine = own._trained_on(np.flatnonzero(counts), products, kernel, penalty)
            everything = np.arange(len(counts))
            return machine.decisions(products.kernel(kernel, test, everything))
        for columns, missing in self.patterns:
            removed = np.union1d(missing, np.flatnonzero(counts == 0))
            found = inverse.without(removed).predictions(self.targets[:, columns])
            values[:, columns] = found[np.searchsorted(removed, test)]
        return values

    def _trained_on(
        self, graphs: Ints, products: GraphProducts, kernel: KernelOfMeans, penalty: float
    ) -> Machine:
        """Machine of some of the graphs, expressed in all."""
        rows = np.ascontiguousarray(products.products[np.ix_(graphs, graphs)])
        part = GraphProducts(rows, products.norms[graphs], np.arange(len(graphs)))
        found = KernelRidge(self.targets[graphs], self.weights[graphs]).train(part, kernel, penalty)
        dual_coef = np.zeros((len(found.intercept), len(products.norms)))
        dual_coef[:, graphs] = found.dual_coef
        return Machine(np.arange(len(products.norms)), dual_coef, found.intercept)


def _type_for(n_graphs: int) -> Any:
    return np.float64 if n_graphs <= _FEW_GRAPHS else np.float32


@dataclass(frozen=True, eq=False)
class _Inverse:
    """The matrix H of all graphs for one penalty, and the diagonal that it adds to the kernel."""

    matrix: Any
    ridge: Floats
    is_exact: bool = True
    """Whether negative eigenvalues of the kernel were rounding at most; others are set to zero."""

    @classmethod
    def of(
        cls, products: GraphProducts, kernel: KernelOfMeans, weights: Floats, penalty: float
    ) -> Self:
        ridge = 0.5 / (penalty * weights)
        for dtype in dict.fromkeys((_type_for(len(weights)), np.float64)):
            gram = _centred_gram(products, kernel, dtype)
            gram[np.diag_indices(len(gram))] += ridge.astype(dtype)
            if _invert(gram):
                return cls(_without_mean(gram), ridge)
        gram = _centred_gram(products, kernel, np.float64)
        values, vectors = np.linalg.eigh(gram)
        is_exact = bool(values[0] > -_ROUNDING * values[-1])
        gram = (vectors * np.maximum(values, 0)) @ vectors.T
        gram[np.diag_indices(len(gram))] += ridge
        _invert(gram)
        return cls(_without_mean(gram), ridge, is_exact)

    def without(self, removed: Ints) -> "_Remaining":
        return _Remaining.of(self.matrix, removed)

    def trained(
        self, products: GraphProducts, kernel: KernelOfMeans, targets: Floats, missing: Ints
    ) -> tuple[Floats, Floats]:
        """Coefficients and intercepts, refined until the equations are solved in float64."""
        without = self.without(missing)
        best: tuple[float, Floats, Floats] = (np.inf, np.empty(0), np.empty(0))
        y = np.where(np.isnan(targets), 0.0, targets)
        known = np.setdiff1d(np.arange(len(y)), missing)
        weights = 1 / self.ridge[known]
        shares = (weights / weights.sum())[:, None]
        a = without.solve(y)
        scale = np.abs(y[known] - y[known].mean(axis=0)).max(initial=0) + np.abs(y).max() * 1e-6
        for _ in range(_MAX_REFINEMENTS):
            a[known] -= shares * a[known].sum(axis=0)  # which is zero but for rounding
            left = y - _times(products, kernel, a) - self.ridge[:, None] * a
            b = np.average(left[known], axis=0, weights=weights)
            left -= b
            left[missing] = 0
            error = np.abs(left).max(initial=0)
            last, best = best[0], min(best, (error, a, b), key=lambda own: own[0])
            if not self.is_exact or error <= _SOLVED * scale or error >= 0.5 * last:
                break
            a = a + without.solve(left)
        error, a, b = best
        if self.is_exact and error > _TOO_FAR * scale:
            warn_user(
                InputWarning(
                    f"least squares are {error / scale:.2g} of the targets off, by rounding: C is "
                    "too large for the values of the kernel; normalize the kernel, or give smaller "
                    "C"
                )
            )
        return a, b


@dataclass(frozen=True, eq=False)
class _Remaining:
    """The matrix H of the graphs that are left when some are removed."""

    matrix: Any
    removed: Ints
    factor: Any = field(repr=False, default=None)
    """Cholesky factor of ``H[removed, removed]``."""

    @classmethod
    def of(cls, matrix: Any, removed: Ints) -> Self:
        if len(removed) == 0:
            return cls(matrix, removed)
        from scipy.linalg import cholesky

        block = matrix[np.ix_(removed, removed)]
        return cls(matrix, removed, cholesky(block, lower=True, overwrite_a=True))

    def _pull(self, targets: Floats) -> tuple[Floats, Floats]:
        """``H y`` with zero for removed graphs, and what makes it zero there."""
        from scipy.linalg import cho_solve

        y = targets.astype(self.matrix.dtype)
        y[self.removed] = 0
        a = self.matrix @ y
        if len(self.removed) == 0:
            return a, y[:0]
        return a, cho_solve((self.factor, True), a[self.removed])

    def solve(self, targets: Floats) -> Floats:
        """Coefficients of all graphs, zero for those that are removed."""
        a, pull = self._pull(targets)
        if len(self.removed):
            a -= self.matrix[:, self.removed] @ pull
            a[self.removed] = 0
        return a.astype(np.float64)

    def predictions(self, targets: Floats) -> Floats:
        """Values of the removed graphs, from the others."""
        return -self._pull(targets)[1].astype(np.float64)

    def diagonal(self) -> Floats:
        """Diagonal of the matrix; one for graphs that are removed."""
        from scipy.linalg import solve_triangular

        found = self.matrix.diagonal().astype(np.float64)
        if len(self.removed):
            for start in range(0, len(found), _BLOCK_ROWS):
                block = slice(start, start + _BLOCK_ROWS)
                part = solve_triangular(self.factor, self.matrix[self.removed, block], lower=True)
                found[block] -= np.einsum("ij,ij->j", part, part, dtype=np.float64)
            found[self.removed] = 1
        return np.asarray(found)


def _centred_gram(products: GraphProducts, kernel: KernelOfMeans, dtype: Any) -> Any:
    """
    Kernel matrix with the mean of some graphs as the origin.

    The origin is nothing to a machine with an intercept, and the largest eigenvalue, that of the
    mean, would leave float32 no digits.
    """
    n_graphs = len(products.norms)
    everything = np.arange(n_graphs)
    step = 1 if n_graphs <= _FEW_GRAPHS else max(1, n_graphs // _CENTRES)
    some = everything[::step]
    mean = np.empty(n_graphs)
    for start in range(0, n_graphs, _BLOCK_ROWS):
        rows = everything[start : start + _BLOCK_ROWS]
        mean[rows] = products.kernel(kernel, rows, some).mean(axis=1)
    gram, centre = np.empty((n_graphs, n_graphs), dtype), mean[some].mean()
    for start in range(0, n_graphs, _BLOCK_ROWS):
        rows = everything[start : start + _BLOCK_ROWS]
        values = products.kernel(kernel, rows, everything)
        values -= mean
        values -= mean[rows, None] - centre
        gram[rows] = values
    return gram


def _invert(matrix: Any) -> bool:
    """Invert a symmetric matrix in its place; False if it is not positive definite."""
    from scipy.linalg import get_lapack_funcs

    routines: Any = get_lapack_funcs(("potrf", "potri"), (matrix,))
    factor, inverse = routines
    # what LAPACK takes by columns is here by rows: the lower triangle of one is the other's upper
    made = factor(matrix.T, lower=1, clean=0, overwrite_a=1)
    made = made if made[-1] else inverse(made[0], lower=1, overwrite_c=1)
    if made[-1]:
        return False
    assert np.shares_memory(made[0], matrix)
    for start in range(0, len(matrix), _BLOCK_ROWS):
        stop = min(start + _BLOCK_ROWS, len(matrix))
        block = matrix[start:stop, start:stop]
        block[...] = np.triu(block) + np.triu(block, 1).T
        matrix[stop:, start:stop] = matrix[start:stop, stop:].T
    return True


def _without_mean(inverse: Any) -> Any:
    """``A^-1 - u u^T / (1^T u)`` in place of the inverse of A, with ``u = A^-1 1``."""
    u = inverse.sum(axis=1, dtype=np.float64)
    total = u.sum()
    for start in range(0, len(u), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        inverse[rows] -= np.outer(u[rows], u / total)
    return inverse


def _times(products: GraphProducts, kernel: KernelOfMeans, coefficients: Floats) -> Floats:
    """Values of all graphs, without the intercept, from coefficients of all."""
    everything = np.arange(len(products.norms))
    found = np.empty(coefficients.shape)
    for start in range(0, len(found), _BLOCK_ROWS):
        rows = everything[start : start + _BLOCK_ROWS]
        found[rows] = products.kernel(kernel, rows, everything) @ coefficients
    return found


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
