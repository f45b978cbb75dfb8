r"""
Statistics of populations as quadratic forms, which all relabellings have in common.

MMD of two groups, its mean over pairs of many, and HSIC are all of the form
:math:`s \sum_r v_r^T M v_r + c`, where M is made of the kernel of graphs, and relabelling permutes
the rows of v alone.
"""

from dataclasses import dataclass

import numpy as np

from retgk.array_types import Flags, Floats, Ints
from retgk.kernels.medians import ALIKE

__all__ = [
    "QuadraticForm",
    "association_form",
    "can_compare",
    "factor",
    "group_columns",
    "group_form",
    "kernel_correlation",
    "within_variance",
]

_NEGLIGIBLE = 1e-10  # of the largest eigenvalue


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """
    ``scale * sum_r v_r^T matrix v_r + offset`` for the columns v_r.

    Attributes
    ----------
    matrix : ndarray, shape (n_graphs, n_graphs)
        Symmetric.
    columns : ndarray, shape (n_graphs, n_columns)
        What is relabelled.
    scale, offset : float
        Of the statistic.
    rounding : float
        How far off the statistic may be because the entries of the kernel are rounded; what does
        not differ by more is equal.
    """

    matrix: Floats
    columns: Floats
    scale: float = 1.0
    offset: float = 0.0
    rounding: float = 0.0

    def value(self) -> float:
        """Statistic of the labels as they are."""
        products = self.matrix @ self.columns
        return self.scale * float((products * self.columns).sum()) + self.offset


def group_columns(codes: Ints) -> Floats:
    """One column of zeros and ones for each group."""
    member: Flags = codes[:, None] == np.arange(codes.max() + 1)
    return member.astype(np.float64)


def group_form(kernel: Floats, codes: Ints, blocks: Ints | None) -> QuadraticForm:
    r"""
    Unbiased squared MMD between groups; with more than two, its mean over all pairs of groups.

    Without blocks it is
    :math:`\sum_{i \ne j \in A} K_{ij} / m(m-1) + \sum_{i \ne j \in B} K_{ij} / n(n-1)
    - 2 \sum_{i \in A, j \in B} K_{ij} / mn`
    (Gretton et al., 2012), and pairs of groups count by the product of their sizes. With blocks
    (None for none), the difference of means is taken within each, blocks count by mn / (m + n), and
    the mean of the squared norm over all relabellings is taken off; for pairs that is the unbiased
    statistic of pairs.
    """
    columns = group_columns(codes)
    rounding = _rounding(kernel)
    if blocks is not None:
        columns = columns[:, :1] if columns.shape[1] == 2 else columns  # the other is its negative
        scale = 1.0 / _weight_of_blocks(columns, blocks)
        return _blocked_form(kernel, columns, blocks, scale, rounding)
    counts = columns.sum(axis=0)
    n = counts.sum()
    matrix = kernel.copy()
    np.fill_diagonal(matrix, 0.0)
    total = float(matrix.sum())
    weights = (n - 1) / (counts - 1)
    scale = 2.0 / (n**2 - (counts**2).sum())
    if len(counts) > 2:
        return QuadraticForm(matrix, columns * np.sqrt(weights), scale, -scale * total, rounding)
    # b = 1 - a and a^2 = a: both sums within groups are one form of a, which halves the work; a is
    # the smaller group, else terms that cancel grow with the square of the number of graphs
    smaller = int(counts.argmin())
    weight = weights[1 - smaller]
    diagonal = -2 * weight * matrix.sum(axis=1)
    matrix *= weights.sum()
    np.fill_diagonal(matrix, diagonal)
    offset = scale * (weight - 1) * total
    return QuadraticForm(matrix, columns[:, [smaller]], scale, offset, rounding)


def _rounding(kernel: Floats) -> float:
    """Error of entries of a kernel, and of means of them."""
    return ALIKE * float(max(kernel.max(), -kernel.min()))


def can_compare(codes: Ints, blocks: Ints | None) -> bool:
    """Whether there are graphs enough for the unbiased statistic of groups."""
    columns = group_columns(codes)
    if columns.sum(axis=0).min() < 2:
        return False
    return blocks is None or _weight_of_blocks(columns, blocks) > _NEGLIGIBLE


def _weight_of_blocks(columns: Floats, blocks: Ints) -> float:
    """
    Weight that the squared difference of means has in a blocked form, so that it is unbiased.

    With w = mn / (m + n) it is the square of the sum of w, less what goes with the mean over
    relabellings: the sum of w^2 / (m + n - 1).
    """
    member = group_columns(blocks)
    weights = member.T @ (_centred_columns(columns, blocks) * columns)
    lost = (weights**2).sum(axis=1) / np.maximum(member.sum(axis=0) - 1, 1)
    return float((weights.sum(axis=0) ** 2).sum() - lost.sum())


def association_form(kernel: Floats, columns: Floats, blocks: Ints | None) -> QuadraticForm:
    r"""
    HSIC between the kernel of graphs and :math:`L = V V^T`, V being `columns`.

    Without blocks it is the unbiased one of Song et al. (2012),
    :math:`\sum_{ij} \tilde K_{ij} L_{ij} / n(n-3)` with the U-centred kernel; with blocks both are
    centred within them, and the mean over all relabellings is taken off.
    """
    n = len(kernel)
    rounding = _rounding(kernel) * float((columns**2).sum(axis=1).max())
    if blocks is not None:
        return _blocked_form(kernel, columns, blocks, 1.0 / n**2, rounding)
    return QuadraticForm(_u_centred(kernel), columns, 1.0 / (n * (n - 3)), 0.0, rounding)


def _blocked_form(
    kernel: Floats, columns: Floats, blocks: Ints, scale: float, rounding: float
) -> QuadraticForm:
    """Form of a kernel that is centred within blocks, less its mean over all relabellings."""
    matrix = _centred_columns(_centred_columns(kernel, blocks).T, blocks)
    matrix = (matrix + matrix.T) / 2
    counts = np.bincount(blocks).astype(np.float64)
    traces = np.bincount(blocks, matrix.diagonal())
    # a block of one graph has a trace of zero, whatever it is divided by
    spreads = np.bincount(blocks, (_centred_columns(columns, blocks) * columns).sum(axis=1))
    mean = float((traces * spreads / np.maximum(counts - 1, 1)).sum())
    return QuadraticForm(matrix, columns, scale, -scale * mean, rounding)


def _centred_columns(values: Floats, blocks: Ints) -> Floats:
    """Columns less their mean in every block."""
    member = group_columns(blocks)
    means = (member.T @ values) / member.sum(axis=0)[:, None]
    return np.asarray(values - member @ means)


def _u_centred(kernel: Floats) -> Floats:
    """U-centred matrix: zeros on the diagonal, and rows that sum to zero."""
    n = len(kernel)
    matrix = kernel.copy()
    np.fill_diagonal(matrix, 0.0)
    sums = matrix.sum(axis=1)
    matrix -= (sums[:, None] + sums) / (n - 2)
    matrix += sums.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(matrix, 0.0)
    return matrix


def factor(kernel: Floats) -> Floats:
    """Columns V with ``V V^T`` the kernel but for constants, which HSIC does not see."""
    centred = kernel - kernel.mean(axis=0)
    centred -= centred.mean(axis=1)[:, None]
    values, vectors = np.linalg.eigh((centred + centred.T) / 2)
    kept = values > _NEGLIGIBLE * values[-1]
    return np.ascontiguousarray(vectors[:, kept] * np.sqrt(values[kept]))


def within_variance(kernel: Floats, codes: Ints) -> float:
    """Mean squared distance of graphs to the mean of their group, in the space of the kernel."""
    columns = group_columns(codes)
    inside = np.einsum("ig,ig->g", kernel @ columns, columns) / columns.sum(axis=0)
    return float((kernel.trace() - inside.sum()) / (len(codes) - columns.shape[1]))


def kernel_correlation(kernel: Floats, columns: Floats, blocks: Ints | None) -> float:
    """
    HSIC by the root of the HSIC of each side with itself; about 0 without an association.

    It is 0 if either side is constant but for rounding.
    """
    form = association_form(kernel, columns, blocks)
    other = columns @ columns.T
    if blocks is None:
        own = _u_centred(other)
    else:
        centred = _centred_columns(columns, blocks)
        own = centred @ centred.T
    norms = []
    for side, given in ((form.matrix, kernel), (own, other)):
        if np.abs(side).max() <= _rounding(given):
            return 0.0
        norms.append(float(np.linalg.norm(side)))
    return form.value() / (form.scale * norms[0] * norms[1])
