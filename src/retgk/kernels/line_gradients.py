r"""
Gradients of functions of graph kernels, averaged along straight lines between mean embeddings.

For :math:`f(m) = \sum_s a_s K(m, m_s)` and the line :math:`m(t) = m_0 + t (m_G - m_0)` from the
mean of the graphs s to a graph G, :math:`u_G = \int_0^1 \nabla f(m(t)) dt` is a sum of mean
embeddings, :math:`\sum_s w_s m_s + v m_G`. Its coefficients are found here. Along the line
:math:`|m(t) - m_s|^2 = c_s^2 + y^2` with c the distance of the line from :math:`m_s` and y linear
in t, from :math:`y_s` to :math:`y_s + h`: one integral of one variable is left for each pair.

- polynomial kernels: :math:`\int d (x_0 + t (x_1 - x_0))^{d-1} dt = \sum_k x_1^k x_0^{d-1-k}`;
- :math:`\exp(-\gamma r^2)`: a difference of error functions;
- :math:`\exp(-\gamma r^p)`: by Gauss and Legendre's rule in t or, where the line passes so close to
  :math:`m_s` that the slope has a peak, in u with :math:`y = c \sinh u`, which takes the peak out.
"""

import math
from typing import NamedTuple

import numpy as np

from retgk.array_types import Floats
from retgk.kernels.graph_kernels import ExponentialGraphKernel, GraphKernel, PolynomialGraphKernel
from retgk.runtime.compiling import njit
from retgk.runtime.parallel import run_tasks
from retgk.simd import SOURCE
from retgk.simd.vector_passes import finish

__all__ = ["LineEnds", "LineGradients", "fill_slopes", "line_gradients"]

_POINT = 1e-10  # squared length of lines, as a share of those of their ends, that is rounding
_RULE = np.polynomial.legendre.leggauss(12)
# 12 nodes are right to 1e-10 for lines this far, in lengths, from the points that they pass, and
# for exponents up to this
_NEAR, _STEEP = 0.56, 12.0
_PANEL_RULE = np.polynomial.legendre.leggauss(8)  # for panels of 1 in u, and of 4 in the exponent
_PANEL_RISE, _MOST_RISE = 4.0, 200.0  # beyond, values are nothing
_SHORT = 1e-5
_SMALLEST = 1e-16  # squared distance, as a share of the others, that is rounding
_BLOCK_ROWS = 64
_LANES = 8


class LineEnds(NamedTuple):
    """Inner products of the graphs s with each other, with their mean and with new graphs G."""

    products: Floats
    """``<m_G, m_s>``, shape (n, n_fitted)."""
    norms: Floats
    """``<m_G, m_G>``, shape (n,)."""
    mean_products: Floats
    """``<m_0, m_s>``, shape (n_fitted,)."""
    fitted_norms: Floats
    """``<m_s, m_s>``, shape (n_fitted,)."""

    @property
    def mean_norm(self) -> float:
        """``<m_0, m_0>``."""
        return float(self.mean_products.mean())

    def mean_values(self, kernel: GraphKernel) -> Floats:
        """``K(m_0, m_s)``, shape (n_fitted,)."""
        norm = np.array([self.mean_norm])
        return np.asarray(kernel(self.mean_products[None], norm, self.fitted_norms)[0])

    def values(self, kernel: GraphKernel) -> Floats:
        """``K(m_G, m_s)``, shape (n, n_fitted)."""
        return kernel(self.products, self.norms, self.fitted_norms)


class LineGradients(NamedTuple):
    """Mean gradients ``u_G = sum_s weights[G, s] m_s + own_weights[G] m_G``."""

    weights: Floats
    own_weights: Floats


def line_gradients(
    kernel: GraphKernel,
    ends: LineEnds,
    coefficients: Floats,
    rises: Floats,
    n_jobs: int | None = None,
) -> LineGradients:
    """
    Gradients of ``f_G(m) = sum_s coefficients[G, s] K(m, m_s)``, averaged from m_0 to m_G.

    Parameters
    ----------
    kernel : ExponentialGraphKernel or PolynomialGraphKernel
        The kernel, with a number for gamma.
    ends : LineEnds
        Both ends of the lines.
    coefficients : ndarray of float64, shape (n, n_fitted)
        Coefficients of the function of every new graph.
    rises : ndarray of float64, shape (n,)
        ``f_G(m_G) - f_G(m_0)``, which are known at both ends.
    n_jobs : int, optional
        Threads; they change no bit of the result.

    Returns
    -------
    LineGradients
        For which ``<m_G - m_0, u_G>`` is the rise.
    """
    if isinstance(kernel, PolynomialGraphKernel):
        return LineGradients(coefficients * _powers(kernel, ends), np.zeros(len(rises)))
    squared = ends.norms - 2.0 * ends.products.mean(axis=1) + ends.mean_norm
    is_point = squared <= _POINT * (ends.norms + ends.mean_norm)
    lengths = np.sqrt(np.where(is_point, 1.0, squared))
    from_mean = np.maximum(ends.mean_norm + ends.fitted_norms - 2.0 * ends.mean_products, 0.0)
    pulls, starts = coefficients.copy(), np.empty_like(coefficients)

    def work(first: int, last: int) -> None:
        rows = slice(first, last)
        own = lengths[rows, None]
        to_new = np.add.outer(ends.norms[rows], ends.fitted_norms) - 2.0 * ends.products[rows]
        starts[rows] = (to_new - from_mean - squared[rows, None]) / (2.0 * own)
        starts[rows][is_point[rows]] = 0.0
        own = np.where(is_point[rows], 0.0, lengths[rows])
        pulls[rows] *= _slopes(kernel, starts[rows], own, from_mean)

    edges = range(0, len(rises), _BLOCK_ROWS)
    tasks = [(first, min(first + _BLOCK_ROWS, len(rises))) for first in edges]
    run_tasks(work, tasks, [1.0] * len(tasks), n_jobs, "gradients")
    # the slope along the line is found from the rise, so that it is right whatever the others are
    along = rises / lengths**2 - np.einsum("gs,gs->g", pulls, starts) / lengths
    totals = pulls.sum(axis=1)
    along = np.where(is_point, 0.5 * totals, along)
    np.subtract(((totals - along) / pulls.shape[1])[:, None], pulls, out=pulls)
    return LineGradients(pulls, along)


def _powers(kernel: PolynomialGraphKernel, ends: LineEnds) -> Floats:
    """Mean slope ``d x^(d - 1)`` of the power between ``x_0 = c + <m_0, m_s>`` and its end."""
    first, last = kernel.c + ends.mean_products, kernel.c + ends.products
    return np.asarray(sum(last**k * first ** (kernel.d - 1 - k) for k in range(kernel.d)))


def _slopes(
    kernel: ExponentialGraphKernel, starts: Floats, lengths: Floats, from_mean: Floats
) -> Floats:
    """
    ``int_0^1 2 K'(|m(t) - m_s|^2) dt``, K as a function of the squared distance.

    Along a line y runs from `starts`, of shape (n, n_fitted), by `lengths`, of shape (n,);
    `from_mean` are the squared distances at the start.
    """
    smallest = _SMALLEST * np.add.outer(lengths**2, from_mean) + 1e-300
    squared = np.maximum(from_mean - starts**2, smallest)
    gamma, p = float(kernel.gamma), float(kernel.p)
    if p == 2.0:
        return _gaussian_slopes(gamma, starts, lengths[:, None], squared)
    slopes = np.empty_like(starts)
    fill_slopes(starts, lengths, squared, (gamma, p), _RULE, _PANEL_RULE, slopes)
    return slopes


def _gaussian_slopes(gamma: float, starts: Floats, lengths: Floats, squared: Floats) -> Floats:
    """Mean of ``-2 gamma exp(-gamma (c^2 + y^2))`` over y."""
    from scipy.special import erf

    first, steps = np.sqrt(gamma) * starts, np.sqrt(gamma) * lengths
    is_short = steps < _SHORT  # the middle is as good, and a difference would lose its digits
    steps = np.where(is_short, 1.0, steps)
    means = 0.5 * np.sqrt(np.pi) * (erf(first + steps) - erf(first)) / steps
    means = np.where(is_short, np.exp(-gamma * (starts + 0.5 * lengths) ** 2), means)
    return np.asarray(-2.0 * gamma * np.exp(-gamma * squared) * means)


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def fill_slopes(starts, lengths, squared, numbers, rule, panel_rule, slopes, simd=SOURCE):  # noqa: ARG001
    """
    Write mean slopes of the exponential kernel along lines, for p below 2.

    Parameters
    ----------
    starts : ndarray of float64, shape (n, n_fitted)
        Where y begins; it ends at the start plus the length.
    lengths : ndarray of float64, shape (n,)
        Lengths of the lines.
    squared : ndarray of float64, shape (n, n_fitted)
        Squared distances c^2 of the lines from the points, positive.
    numbers : tuple of float
        gamma and p of the kernel.
    rule, panel_rule : tuple of ndarray
        Nodes and weights on [-1, 1]: for whole lines, and for panels of those with a peak.
    slopes : ndarray of float64, shape (n, n_fitted)
        What is written.
    """
    gamma, p = numbers
    n_padded = (starts.shape[1] + _LANES - 1) // _LANES * _LANES
    exponents, powers = np.zeros(n_padded), np.zeros(n_padded)
    for g in range(len(starts)):
        length, out = lengths[g], slopes[g]
        for j in range(len(out)):
            out[j] = 0.0
        for k in range(len(rule[0])):
            step, weight = (0.5 + 0.5 * rule[0][k]) * length, 0.5 * p * rule[1][k]
            _add_slopes(starts[g], step, squared[g], gamma, p, weight, exponents, powers, out)
        for j in range(len(out)):
            start, square = starts[g, j], squared[g, j]
            outer = max(abs(start), abs(start + length))
            is_peaked = square < (_NEAR * length) ** 2
            is_peaked |= gamma * (square + outer * outer) ** (0.5 * p) > _STEEP
            if is_peaked and length > 0.0:
                out[j] = _peaked_slope(start, length, math.sqrt(square), gamma, p, panel_rule)


@njit(nogil=True, inline="always")
def _add_slopes(starts, step, squared, gamma, p, weight, exponents, powers, slopes):
    """Add ``-weight gamma r^(p - 2) exp(-gamma r^p)`` of all points at one step of a line."""
    rate, n = gamma * (1.0 / math.log(2.0)), len(starts)
    # a loop for each, as in `retgk.kernels.exponentials`: LLVM vectorises no branches
    if p == 1.0:
        for j in range(n):
            y = starts[j] + step
            exponents[j] = rate * math.sqrt(squared[j] + y * y)
    else:
        for j in range(n):
            y = starts[j] + step
            exponents[j] = rate * (squared[j] + y * y) ** (0.5 * p)
    finish(exponents, False, True, True, powers, len(exponents) // _LANES)
    scale = weight * math.log(2.0)
    for j in range(n):
        y = starts[j] + step
        slopes[j] -= scale * exponents[j] * powers[j] / (squared[j] + y * y)


@njit(nogil=True, inline="always")
def _peaked_slope(start, length, gap, gamma, p, rule):
    """
    Mean slope along a line that passes close to a point.

    ``int r^(p - 1) exp(-gamma r^p) du`` with ``r = gap cosh(u)``, ``y = gap sinh(u)``.
    """
    u, v = math.asinh(start / gap), math.asinh((start + length) / gap)
    outer = gap * max(math.cosh(u), math.cosh(v))
    inner = gap if u * v < 0.0 else gap * min(math.cosh(u), math.cosh(v))
    rise = min(gamma * (outer**p - inner**p), _MOST_RISE)
    n_panels = int(max(v - u, rise / _PANEL_RISE)) + 1
    half, total = 0.5 * (v - u) / n_panels, 0.0
    for panel in range(n_panels):
        middle = u + (2 * panel + 1) * half
        for k in range(len(rule[0])):
            r = gap * math.cosh(middle + half * rule[0][k])
            if p == 1.0:  # without powers, which take longer than all else
                total += rule[1][k] * math.exp(-gamma * r)
            else:
                total += rule[1][k] * r ** (p - 1.0) * math.exp(-gamma * r**p)
    return -p * gamma * half * total / length
