"""What solvers get, inner products of training graphs, and what they give, linear machines."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from threading import Lock
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk._runtime.parallel import run_tasks, single_threaded_blas
from retgk.array_types import Flags, Floats, Ints
from retgk.kernels.engine import Engine, NodeFeatures
from retgk.kernels.graph import ExponentialGraphKernel, KernelOfMeans, typical_squared_mmd
from retgk.learning.folds import Fold

_BLOCK_VALUES = 1 << 15


@dataclass(frozen=True, eq=False)
class GraphProducts:
    """Inner products ``<m_G, m_H>`` of all training graphs G with some of them, H."""

    products: Floats  # (n, n_columns): the inner products, in float32 where they are many
    norms: Floats  # (n,): squared norms ``<m_G, m_G>``
    columns: Ints  # (n_columns,): the graphs H; all graphs in order, or landmarks
    weights: Floats | None = None  # (n,)

    def fit_kernels(self, kernels: Sequence[KernelOfMeans]) -> list[KernelOfMeans]:
        """Give the kernels bandwidths, from the median distance between graphs of the columns."""
        if all(getattr(kernel, "gamma", None) != "median" for kernel in kernels):
            return list(kernels)
        square = self.products
        if len(self.columns) < len(self.norms):
            square = np.ascontiguousarray(square[self.columns], np.float64)
        weights = None if self.weights is None else self.weights[self.columns]
        squared = typical_squared_mmd(square, weights=weights)
        return [
            own.fitted(squared) if isinstance(own, ExponentialGraphKernel) else own
            for own in kernels
        ]

    def kernel(self, graph_kernel: KernelOfMeans, rows: Ints, columns: Ints) -> Floats:
        """Kernel values of some graphs with some of the columns, in memory of their own."""
        values = np.empty((len(rows), len(columns)))
        norms = self.norms[self.columns[columns]]
        height = max(1, _BLOCK_VALUES // max(1, len(columns)))
        for start in range(0, len(rows), height):  # in the cache, instead of in new memory
            block = rows[start : start + height]
            products = self.products[block[:, None], columns]
            values[start : start + height] = graph_kernel(products, self.norms[block], norms)
        return values


def fit_products(engine: Engine, features: NodeFeatures, columns: Ints) -> GraphProducts:
    """Fit an engine on the graphs of the columns, and compare all graphs with these."""
    if len(columns) == len(features.batch):
        products = engine.fit(features).inner_products()
        return GraphProducts(products, products.diagonal().copy(), columns)
    own = engine.fit(features.of_graphs(columns)).inner_products()
    n_graphs = len(features.batch)
    products, norms = empty_products(n_graphs, len(columns)), np.empty(n_graphs)
    for first, piece in features.pieces():
        found, rows = engine.compare(piece), slice(first, first + len(piece.batch))
        products[rows], norms[rows] = found.products(), found.squared_norms()
    products[columns], norms[columns] = own, own.diagonal()
    return GraphProducts(products, norms, columns)


_MOST_DOUBLES = 1 << 28  # values up to which products with landmarks are kept in float64: 2 GiB


def empty_products(n_graphs: int, n_columns: int) -> Any:
    """Memory for products with landmarks, in float32 where it would be more than 2 GiB."""
    is_large = n_graphs * n_columns > _MOST_DOUBLES
    return np.empty((n_graphs, n_columns), np.float32 if is_large else np.float64)


class Machine(NamedTuple):
    """``f(G) = sum_s dual_coef[:, s] K(G, support_s) + intercept``."""

    support: Ints
    """Columns of the kernel that are needed, shape (n_support,)."""
    dual_coef: Floats
    """Coefficients, shape (n_outputs, n_support)."""
    intercept: Floats
    """Shape (n_outputs,)."""

    def decisions(self, rows: Floats) -> Floats:
        """Values of graphs from their kernel with the support, shape (n, n_outputs)."""
        # einsum in place of @: BLAS gives other last bits for other numbers of rows, and a graph
        # is to get the same value wherever it stands
        return np.asarray(np.einsum("ns,os->no", rows, self.dual_coef) + self.intercept)


class Solver(Protocol):
    """Trains machines on kernels of graphs."""

    name: str

    def train(self, products: GraphProducts, kernel: KernelOfMeans, penalty: float) -> Machine: ...

    def out_of_fold(
        self,
        products: GraphProducts,
        kernels: Sequence[KernelOfMeans],
        folds: Sequence[Fold],
        penalties: Sequence[float],
        n_jobs: int | None,
    ) -> list[list[Floats]]:
        """Decision values by kernel and fold, of shape (n_penalties, n_test, n_outputs)."""


class OneForEach:
    """Machines of several solvers of one kind, each with outputs of its own, as one machine."""

    def __init__(self, solvers: Sequence[Solver], outputs: Sequence[Ints] | None = None) -> None:
        self.solvers = solvers
        self.name = solvers[0].name
        self.outputs = [np.array([i]) for i in range(len(solvers))] if outputs is None else outputs
        self.n_machines = len(solvers)

    def train(self, products: GraphProducts, kernel: KernelOfMeans, penalty: float) -> Machine:
        found = [solver.train(products, kernel, penalty) for solver in self.solvers]
        support = np.unique(np.concatenate([machine.support for machine in found]))
        n_outputs = sum(map(len, self.outputs))
        dual_coef, intercept = np.zeros((n_outputs, len(support))), np.zeros(n_outputs)
        for own, machine in zip(self.outputs, found, strict=True):
            dual_coef[np.ix_(own, np.searchsorted(support, machine.support))] = machine.dual_coef
            intercept[own] = machine.intercept
        return Machine(support, dual_coef, intercept)

    def out_of_fold(
        self,
        products: GraphProducts,
        kernels: Sequence[KernelOfMeans],
        folds: Sequence[Fold],
        penalties: Sequence[float],
        n_jobs: int | None,
    ) -> list[list[Floats]]:
        found = [
            solver.out_of_fold(products, kernels, folds, penalties, n_jobs)
            for solver in self.solvers
        ]
        order = np.argsort(np.concatenate(self.outputs))
        return [
            [np.concatenate(parts, axis=-1)[..., order] for parts in zip(*by_output, strict=True)]
            for by_output in zip(*found, strict=True)
        ]


# Support vector machines as plain arrays.
#
# scikit-learn's `SVC` solves; what it finds becomes one row of coefficients for each pair of
# classes, so that the decision values of new graphs are ``K(new, support) @ dual_coef.T +
# intercept``. The many machines of a cross-validation, all penalties on the same graphs, are left
# to `penalty_path`.

_CACHE_MB = 500
_TOL = 1e-3  # LIBSVM's


class _SharedGram:
    """Kernel matrix of all graphs, made by the first fold that needs it, dropped by the last."""

    def __init__(self, products: GraphProducts, kernel: KernelOfMeans, n_folds: int) -> None:
        self.products, self.kernel, self.n_left = products, kernel, n_folds
        self.gram: Floats | None = None
        self.lock = Lock()

    def __enter__(self) -> Floats:
        with self.lock:
            if self.gram is None:
                everything = np.arange(len(self.products.norms))
                self.gram = self.products.kernel(self.kernel, everything, everything)
            return self.gram

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.n_left -= 1
            if self.n_left == 0:
                self.gram = None


class SupportVectors:
    """Support vector classification on kernels of graphs, pair of classes by pair."""

    name = "support vectors"

    def __init__(self, codes: Ints, class_weights: Floats, weights: Floats | None = None) -> None:
        self.codes = codes
        self.class_weights = class_weights
        self.weights = weights
        self._has_warned, self._lock = False, Lock()

    def train(self, products: GraphProducts, kernel: KernelOfMeans, penalty: float) -> Machine:
        from sklearn.svm import SVC

        if (self.codes == self.codes[0]).all():  # a label that all training graphs have, or none
            sign = 1.0 if self.codes[0] else -1.0
            return Machine(np.empty(0, np.int64), np.empty((1, 0)), np.array([sign]))
        everything = np.arange(len(self.codes))
        gram, weights = (
            products.kernel(kernel, everything, everything),
            enumerate(self.class_weights),
        )
        machine = SVC(
            C=penalty, kernel="precomputed", class_weight=dict(weights), cache_size=_CACHE_MB
        )
        solved = machine.fit(gram, self.codes, sample_weight=self.weights)
        coefficients = pair_coefficients(solved.dual_coef_, solved.n_support_)
        support = solved.support_.astype(np.int64)
        return Machine(support, coefficients, solved.intercept_.astype(np.float64))

    def out_of_fold(
        self,
        products: GraphProducts,
        kernels: Sequence[KernelOfMeans],
        folds: Sequence[Fold],
        penalties: Sequence[float],
        n_jobs: int | None,
    ) -> list[list[Floats]]:
        found: list[list[Any]] = [[None] * len(folds) for _ in kernels]
        grams = [_SharedGram(products, kernel, len(folds)) for kernel in kernels]

        def work(k: int, f: int) -> None:
            with grams[k] as gram:
                found[k][f] = self._path(gram, folds[f], penalties)

        tasks = [(k, f) for k in range(len(kernels)) for f in range(len(folds))]
        with single_threaded_blas():
            run_tasks(work, tasks, [1.0] * len(tasks), n_jobs, "choosing parameters")
        return found

    def _path(self, whole: Floats, fold: Fold, penalties: Sequence[float]) -> Floats:
        train, test = fold
        codes, factors = self.codes[train], self.class_weights[self.codes[train]]
        factors = factors if self.weights is None else factors * self.weights[train]
        gram, rows = whole[np.ix_(train, train)], whole[np.ix_(test, train)]
        rising = np.unique(penalties)
        pairs = list(combinations(range(len(self.class_weights)), 2))
        decisions = np.empty((len(rising), len(test), len(pairs)))
        for p, pair in enumerate(pairs):
            own = np.flatnonzero(np.isin(codes, pair))
            decisions[:, :, p] = self._pair_path(gram, rows, codes, own, pair, rising, factors)
        places = np.searchsorted(rising, penalties)
        return np.stack(
            [one_vs_rest_from_pairs(decisions[place], len(self.class_weights)) for place in places]
        )

    def _pair_path(
        self,
        gram: Floats,
        rows: Floats,
        codes: Ints,
        own: Ints,
        pair: tuple[int, int],
        penalties: Floats,
        factors: Floats,
    ) -> Floats:
        """Decision values of one pair of classes, positive as `SVC` has them."""
        if len(own) < len(codes):
            gram, rows = gram[np.ix_(own, own)], rows[:, own]
        positive = pair[1] if len(self.class_weights) == 2 else pair[0]
        signs = np.where(codes[own] == positive, 1.0, -1.0)
        if (signs == signs[0]).all():  # a label that all training graphs have, or none
            return np.full((len(penalties), len(rows)), signs[0])
        coefficients, intercepts, converged = penalty_path(
            gram, signs, factors[own], penalties, _TOL
        )
        if not converged.all():
            self._warn_once(float(penalties[~converged][0]), MAX_STEPS)
        return np.asarray(coefficients @ rows.T + intercepts[:, None])

    def _warn_once(self, penalty: float, n_steps: int) -> None:
        from warnings import warn

        from sklearn.exceptions import ConvergenceWarning

        with self._lock:
            if self._has_warned:
                return
            self._has_warned = True
        message = (
            f"the support vector machine for C={penalty:g} stopped after {n_steps:,} steps; its "
            "decision values are not exact. Try smaller values of C, or normalise the kernel"
        )
        warn(message, ConvergenceWarning, stacklevel=2)


def pair_coefficients(dual_coef: Floats, n_support: NDArray[Any]) -> Floats:
    """Coefficients of all pairs of classes, in a row each, from those of LIBSVM."""
    n_classes = len(n_support)
    if n_classes == 2:
        return np.array(dual_coef, np.float64)
    ptr = np.concatenate([[0], np.cumsum(n_support)])
    pairs = list(combinations(range(n_classes), 2))
    coefficients = np.zeros((len(pairs), ptr[-1]))
    for row, (i, j) in enumerate(pairs):
        own, other = slice(ptr[i], ptr[i + 1]), slice(ptr[j], ptr[j + 1])
        coefficients[row, own] = dual_coef[j - 1, own]
        coefficients[row, other] = dual_coef[i, other]
    return coefficients


def one_vs_rest_from_pairs(decisions: Floats, n_classes: int) -> Floats:
    """Votes of the pairs of classes, ties broken by the sum of decision values, as in `SVC`."""
    if n_classes == 2:
        return decisions
    votes = np.zeros((len(decisions), n_classes))
    sums = np.zeros_like(votes)
    for pair, (i, j) in enumerate(combinations(range(n_classes), 2)):
        value = decisions[:, pair]
        votes[:, i] += value >= 0
        votes[:, j] += value < 0
        sums[:, i] += value
        sums[:, j] -= value
    # sums break ties: what they add is less than a vote
    return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))


# Support vector machines of two classes for rising penalties, each started from the one before.
#
# With :math:`\beta_t = y_t \alpha_t` the dual problem is to minimise :math:`\frac 1 2 \beta^T K
# \beta - y^T \beta` with :math:`\sum_t \beta_t = 0` and :math:`\beta_t` between 0 and :math:`y_t
# w_t C`. The pair that moves is LIBSVM's (second order), and so is the rule to stop. A solution
# for C is feasible for any larger C, and nearly a solution: a whole path costs little more than
# its end, which is what choosing C by cross-validation needs.

MAX_STEPS = 10_000_000  # for one penalty


def penalty_path(
    gram: Floats,
    signs: Floats,
    weights: Floats,
    penalties: Floats,
    tol: float,
    max_steps: int = MAX_STEPS,
) -> tuple[Floats, Floats, Flags]:
    """Coefficients and intercepts for every penalty, and whether each was solved in time."""
    shape = (len(penalties), len(signs))
    found = (np.empty(shape), np.empty(shape[0]), np.empty(shape[0], np.bool_))
    gram, signs, weights, penalties = (
        np.ascontiguousarray(part, np.float64) for part in (gram, signs, weights, penalties)
    )
    _core.fill_penalty_path(gram, signs, weights, penalties, tol, max_steps, *found)
    return found
