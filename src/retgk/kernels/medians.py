"""The median of all squared distances between graphs, without writing them down."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk.array_types import Floats
from retgk.runtime.parallel import run_tasks

__all__ = ["ALIKE", "median_squared_mmd", "typical_squared_mmd"]

ALIKE = 1e-12
"""Share of the largest norm up to which squared distances of equal graphs are off by rounding."""


SAMPLE_SIZE = 1 << 14
SPREADS = (4.0, 16.0)  # standard deviations of a sample's ranks: wrong once in 10^4 times; never
_ROWS_PER_TASK = 256


def typical_squared_mmd(
    products: Floats, n_jobs: int | None = None, weights: Floats | None = None
) -> float:
    """
    Squared distance for a bandwidth: the median, unless most graphs are alike.

    Parameters
    ----------
    products : ndarray of float64, shape (n, n)
        Inner products, symmetric.
    n_jobs : int, optional
        Threads; None for all cores. They change no bit of the result.
    weights : ndarray of float64, shape (n,), optional
        Weights of the graphs: a graph of weight 2 counts as two of them.

    Returns
    -------
    float
        The median over all pairs. Where it is zero but for rounding, that of the pairs that
        differ; one if there are none.

    Examples
    --------
    >>> typical_squared_mmd(np.diag([1.0, 1.0, 2.0]))
    2.0
    >>> typical_squared_mmd(np.ones((9, 9)))
    1.0
    """
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

    Parameters
    ----------
    products : ndarray of float64, shape (n, n)
        Inner products, symmetric; nothing above the diagonal is looked at.
    n_jobs : int, optional
        Threads; None for all cores. They change no bit of the result.

    Returns
    -------
    float
        The median; the zeros of every graph with itself are among the values.

    Examples
    --------
    >>> median_squared_mmd(np.diag([1.0, 1.0, 2.0]))
    2.0
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
