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

from typing import NamedTuple

import numpy as np

from retgk import _core
from retgk._runtime.parallel import run_tasks
from retgk.array_types import Floats
from retgk.kernels.graph import ExponentialGraphKernel, KernelOfMeans, PolynomialGraphKernel

_POINT = 1e-10  # squared length of lines, as a share of those of their ends, that is rounding
_RULE = np.polynomial.legendre.leggauss(12)  # for whole lines
_PANEL_RULE = np.polynomial.legendre.leggauss(8)  # for panels of lines that pass close to a point
_SHORT = 1e-5
_SMALLEST = 1e-16  # squared distance, as a share of the others, that is rounding
_BLOCK_ROWS = 64


class LineEnds(NamedTuple):
    """Inner products of the graphs s with each other, with their mean and with new graphs G."""

    products: Floats  # ``<m_G, m_s>``, shape (n, n_fitted)
    norms: Floats  # ``<m_G, m_G>``, shape (n,)
    mean_products: Floats  # ``<m_0, m_s>``, shape (n_fitted,)
    fitted_norms: Floats  # ``<m_s, m_s>``, shape (n_fitted,)

    @property
    def mean_norm(self) -> float:
        return float(self.mean_products.mean())

    def mean_values(self, kernel: KernelOfMeans) -> Floats:
        norm = np.array([self.mean_norm])
        return np.asarray(kernel(self.mean_products[None], norm, self.fitted_norms)[0])

    def values(self, kernel: KernelOfMeans) -> Floats:
        return kernel(self.products, self.norms, self.fitted_norms)


class LineGradients(NamedTuple):
    """Mean gradients ``u_G = sum_s weights[G, s] m_s + own_weights[G] m_G``."""

    weights: Floats
    own_weights: Floats


def line_gradients(
    kernel: KernelOfMeans,
    ends: LineEnds,
    coefficients: Floats,
    rises: Floats,
    n_jobs: int | None = None,
) -> LineGradients:
    """Gradients of ``f_G(m) = sum_s coefficients[G, s] K(m, m_s)``, averaged from m_0 to m_G."""
    if isinstance(kernel, PolynomialGraphKernel):
        return LineGradients(coefficients * _powers(kernel, ends), np.zeros(len(rises)))
    squared = ends.norms - 2.0 * ends.products.mean(axis=1) + ends.mean_norm
    is_point = squared <= _POINT * (ends.norms + ends.mean_norm)
    lengths = np.sqrt(np.where(is_point, 1.0, squared))
    from_mean = np.maximum(ends.mean_norm + ends.fitted_norms - 2.0 * ends.mean_products, 0.0)
    pulls, starts = coefficients.copy(), np.empty(coefficients.shape)

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
    """``int_0^1 2 K'(|m(t) - m_s|^2) dt``: along a line y runs from `starts` by `lengths`."""
    smallest = _SMALLEST * np.add.outer(lengths**2, from_mean) + 1e-300
    squared = np.maximum(from_mean - starts**2, smallest)
    gamma, p = float(kernel.gamma), float(kernel.p)
    if p == 2.0:
        return _gaussian_slopes(gamma, starts, lengths[:, None], squared)
    slopes = np.empty_like(starts)
    _core.fill_slopes(starts, lengths, squared, gamma, p, *_RULE, *_PANEL_RULE, slopes)
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
