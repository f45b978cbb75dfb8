"""
Kernels between graphs, from inner products of their mean embeddings.

Exact and approximate embeddings both end in the matrix of <m_G, m_H>; everything after it
is written here, once.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk._runtime.fields import stored
from retgk._runtime.parallel import run_tasks
from retgk._runtime.parameters import MAX_DEGREE, Whole, check_parameters
from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.kernels.node import check_kernel_class


def squared_mmd_from_products(products: Floats, norms_x: Floats, norms_y: Floats) -> Floats:
    """``MMD^2(G, H) = <m_G, m_G> + <m_H, m_H> - 2 <m_G, m_H>``, not below zero."""
    squared = np.add.outer(norms_x, norms_y)  # first, so that the result is symmetric to the bit
    squared -= 2.0 * products
    return np.maximum(squared, 0.0, out=squared)


def squared_mmd_within(products: Floats) -> Floats:
    """Squared distances among graphs, from the symmetric matrix of their inner products."""
    norms = products.diagonal()
    squared = squared_mmd_from_products(products, norms, norms)
    np.fill_diagonal(squared, 0.0)
    return squared


@stored
@dataclass(frozen=True)
class PolynomialGraphKernel:
    """
    ``K_1(G, H) = (c + <m_G, m_H>)^d`` (equation 8a of the paper).

    Parameters
    ----------
    c : float, default=0.0
        Not negative.
    d : int, default=1
        At least one.

    Examples
    --------
    >>> norms = np.ones(1)
    >>> PolynomialGraphKernel(c=1, d=2)(np.array([[0.5]]), norms, norms)
    array([[2.25]])
    """

    c: float = 0.0
    d: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.c < np.inf:
            raise InvalidInputError(f"c must be finite and not negative, got {self.c!r}")
        check_parameters({"d": (Whole(1, MAX_DEGREE),)}, {"d": self.d})

    def __call__(self, products: Floats, norms_x: Floats, norms_y: Floats) -> Floats:  # noqa: ARG002
        return np.asarray((self.c + products) ** self.d)


@stored
@dataclass(frozen=True)
class ExponentialGraphKernel:
    r"""
    ``K_2(G, H) = exp(-gamma MMD(G, H)^p)`` (equation 8b of the paper).

    Parameters
    ----------
    gamma : float or "median", default="median"
        "median" is :math:`(scale \cdot median)^{-p}`, of the median distance of all pairs of fitted
        graphs, each graph with itself among them, as in the authors' implementation. If it is
        zero, because more than half of all pairs are alike, the median of the other pairs takes
        its place, and one if there are none.
    p : float, default=1.0
        In (0, 2].
    scale : float, default=1.0
        Factor of the median; without effect when gamma is a number.

    Examples
    --------
    >>> norms = np.ones(1)
    >>> ExponentialGraphKernel(gamma=1.0, p=2)(np.array([[0.5]]), norms, norms).round(3)
    array([[0.368]])
    """

    gamma: float | Literal["median"] = "median"
    p: float = 1.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.p <= 2:
            raise InvalidInputError(f"p must be in (0, 2], got {self.p!r}")
        if not 0 < self.scale < np.inf:
            raise InvalidInputError(f"scale must be positive and finite, got {self.scale!r}")
        if isinstance(self.gamma, str):
            if self.gamma != "median":
                raise InvalidInputError(
                    f"gamma must be a positive number or 'median', got {self.gamma!r}"
                )
        elif not 0 < self.gamma < np.inf:
            raise InvalidInputError(f"gamma must be positive and finite, got {self.gamma!r}")

    def fitted(self, squared_mmd: float) -> Self:
        """Replace the median rule by the number that a squared median distance gives."""
        if self.gamma != "median":
            return self
        width = self.scale * float(np.sqrt(squared_mmd))
        try:
            gamma = width**-self.p
        except (OverflowError, ZeroDivisionError):
            gamma = np.inf
        if not 0 < gamma < np.inf:
            raise InvalidInputError(
                f"scale={self.scale!r} of the median distance {np.sqrt(squared_mmd):.3g} gives "
                f"gamma={gamma}, which is no number to compute with; choose a scale nearer to 1"
            )
        return replace(self, gamma=gamma)

    def __call__(self, products: Floats, norms_x: Floats, norms_y: Floats) -> Floats:
        if isinstance(self.gamma, str):
            raise InvalidInputError("gamma='median' is a rule; fit the kernel first")
        products = np.ascontiguousarray(products, np.float64)
        norms_x, norms_y = (np.ascontiguousarray(part, np.float64) for part in (norms_x, norms_y))
        values = np.empty(products.shape)
        _core.fill_exponentials(products, norms_x, norms_y, self.gamma, self.p, values)
        return values


KernelOfMeans = PolynomialGraphKernel | ExponentialGraphKernel


def check_graph_kernel(graph_kernel: object, n_graphs: int) -> None:
    rule = "an ExponentialGraphKernel, a PolynomialGraphKernel or None"
    check_kernel_class(graph_kernel, "graph_kernel", get_args(KernelOfMeans), rule)
    if n_graphs == 1 and getattr(graph_kernel, "gamma", None) == "median":
        raise InvalidInputError(
            "there is one graph (n_samples=1), whose distances have no median; give more graphs, "
            "a number as gamma of ExponentialGraphKernel, or compute distances or inner products "
            "instead"
        )


def fit_graph_kernel(
    graph_kernel: KernelOfMeans, products: Floats, n_jobs: int | None = None
) -> KernelOfMeans:
    """Replace a rule for gamma by the number that the inner products of some graphs give."""
    if isinstance(graph_kernel, ExponentialGraphKernel) and graph_kernel.gamma == "median":
        return graph_kernel.fitted(typical_squared_mmd(products, n_jobs))
    return graph_kernel


# The median of all squared distances between graphs, without writing them down.

ALIKE = 1e-12
"""Share of the largest norm up to which squared distances of equal graphs are off by rounding."""


SAMPLE_SIZE = 1 << 14
SPREADS = (4.0, 16.0)  # standard deviations of a sample's ranks: wrong once in 10^4 times; never
_ROWS_PER_TASK = 256


def typical_squared_mmd(
    products: Floats, n_jobs: int | None = None, weights: Floats | None = None
) -> float:
    """Squared distance for a bandwidth: the median, unless most graphs are alike."""
    norms = products.diagonal()
    if weights is None:
        median = median_squared_mmd(products, n_jobs)
    else:
        median = _weighted_median_squared_mmd(products, weights)
    rounding = ALIKE * norms.max(initial=0.0)
    if median > rounding:
        return median
    rows, columns = np.tril_indices(len(norms), -1)
    squared = norms[rows] + norms[columns] - 2 * products[rows, columns]
    is_different = squared > rounding
    if not is_different.any():
        return 1.0
    if weights is not None:
        shares = (weights[rows] * weights[columns])[is_different]
        return _weighted_median(squared[is_different], shares)
    return float(np.median(squared[is_different]))


def _weighted_median_squared_mmd(products: Floats, weights: Floats) -> float:
    """`median_squared_mmd` of graphs that are repeated as often as their weights say."""
    norms = products.diagonal()
    rows, columns = np.tril_indices(len(norms), -1)
    squared = np.maximum((norms[rows] + norms[columns]) - 2.0 * products[rows, columns], 0.0)
    values = np.append(squared, 0.0)  # of all graphs with themselves
    return _weighted_median(
        values, np.append(2 * weights[rows] * weights[columns], weights @ weights)
    )


def _weighted_median(values: Floats, weights: Floats) -> float:
    """Median of values that are repeated as often as their weights say."""
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[order])
    places = [np.searchsorted(cumulative, cumulative[-1] / 2, side) for side in ("left", "right")]
    return float(np.mean(values[order[np.minimum(places, len(order) - 1)]]))


def median_squared_mmd(products: Floats, n_jobs: int | None = None) -> float:
    """
    Median of ``<m_G, m_G> + <m_H, m_H> - 2 <m_G, m_H>`` over all pairs (G, H) and (G, G).

    The same number as `numpy.median` gives for the whole matrix, from its lower triangle: a
    sample tells where it lies, the values below are counted, and those around it are sorted.
    """
    n, products = len(products), np.ascontiguousarray(products, np.float64)
    norms = products.diagonal().copy()
    # Sorted, the matrix is n zeros and then each value of the triangle twice.
    ranks = np.unique([(n * n - 1) // 2, n * n // 2])
    positions = (ranks[ranks >= n] - n) // 2
    if n == 0 or len(positions) == 0:
        return 0.0
    values = _values_at(products, norms, positions, n_jobs)
    if n % 2:
        return float(values[0])
    lower = values[0] if ranks[0] >= n else 0.0
    return float(np.mean([lower, values[-1]]))


def _values_at(
    products: Floats, norms: Floats, positions: NDArray[np.int64], n_jobs: int | None
) -> Floats:
    """Values at one or two neighbouring positions of the sorted triangle."""
    for low, high in _brackets(products, norms, int(positions[0])):
        n_below, values = _collected(products, norms, (low, high), n_jobs)
        if n_below <= positions[0] and positions[-1] < n_below + len(values):
            inside = positions - n_below
            return np.asarray(np.partition(values, inside)[inside])
    raise AssertionError("the last bracket holds everything")


def _brackets(products: Floats, norms: Floats, position: int) -> Any:
    """Ranges that should hold a position of the sorted triangle; the last one does."""
    n = len(norms)
    n_values = n * (n - 1) // 2
    if n_values > 4 * SAMPLE_SIZE:
        rng = np.random.default_rng(0)
        i, j = rng.integers(0, n, (2, SAMPLE_SIZE))
        i, j = np.maximum(i, j)[i != j], np.minimum(i, j)[i != j]
        sample = np.sort(np.maximum((norms[i] + norms[j]) - 2.0 * products[i, j], 0.0))
        rank = position / n_values * len(sample)
        for spread in SPREADS:
            margin = spread * np.sqrt(len(sample)) / 2
            ends = np.clip([rank - margin, rank + margin], 0, len(sample) - 1).astype(int)
            yield tuple(sample[ends])
    yield 0.0, np.inf


def _collected(
    products: Floats, norms: Floats, bracket: tuple[float, float], n_jobs: int | None
) -> tuple[int, Floats]:
    """Number of values of the triangle below a bracket, and those in it."""
    n = len(norms)
    borders = [*range(1, n, _ROWS_PER_TASK), n]
    found: list[tuple[int, Floats]] = [(0, np.empty(0))] * (len(borders) - 1)

    def collect(task: int) -> None:
        rows = (borders[task], borders[task + 1])
        found[task] = _core.squared_distances_between(products, norms, *rows, *bracket)

    costs = np.diff(np.square(borders)).tolist()
    run_tasks(collect, [(task,) for task in range(len(found))], costs, n_jobs, "median")
    return sum(count for count, _ in found), np.concatenate([values for _, values in found])


def check_fitted_graph_kernel(kernel: KernelOfMeans) -> None:
    if isinstance(getattr(kernel, "gamma", 1.0), str):
        raise InvalidInputError(f"{kernel} has no number for gamma")


# Kernels of graphs with themselves, and kernel values that are divided by their roots.


class NormParts(NamedTuple):
    """
    Norms as products, so that products of two of them are numbers however large they are.

    Units are powers of two: what is multiplied by them has the same digits as before.
    """

    units: Floats  # (n_graphs,): one over the root of the power of four in each norm
    rest: Floats  # (n_graphs,): what is left of it, from 1/4 to 1; zero for a norm of zero

    @classmethod
    def of(cls, norms: Floats) -> "NormParts":
        """Parts of norms."""
        halves = (np.frexp(norms)[1] + 1) // 2
        return cls(np.ldexp(1.0, -halves), np.ldexp(norms, -2 * halves))


def divide_by_norms(values: Floats, row_norms: Floats, column_norms: Floats) -> None:
    """Divide kernel values, in place, by the roots of both norms; zero where a norm is zero."""
    rows, columns = NormParts.of(row_norms), NormParts.of(column_norms)
    values *= rows.units[:, None]
    values *= columns.units
    scale = np.sqrt(np.outer(rows.rest, columns.rest))
    scale[scale == 0] = np.inf
    values /= scale
