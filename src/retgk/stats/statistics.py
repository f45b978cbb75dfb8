r"""
Statistics of populations as quadratic forms, which all relabellings have in common.

MMD of two groups, its mean over pairs of many, and HSIC are all of the form
:math:`s \sum_r v_r^T M v_r + c`, where M is made of the kernel of graphs, and relabelling permutes
the rows of v alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import comb
from typing import NamedTuple

import numpy as np

from retgk._runtime.parallel import progress_bar, run_tasks, single_threaded_blas
from retgk._runtime.processes import check_room
from retgk.array_types import Flags, Floats, Ints
from retgk.kernels.graph import ALIKE

_NEGLIGIBLE = 1e-10  # of the largest eigenvalue


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """``scale * sum_r v_r^T matrix v_r + offset`` for the columns v_r."""

    matrix: Floats
    columns: Floats
    scale: float = 1.0
    offset: float = 0.0
    rounding: float = 0.0

    def value(self) -> float:
        products = self.matrix @ self.columns
        return self.scale * float((products * self.columns).sum()) + self.offset


def group_columns(codes: Ints) -> Floats:
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
    return ALIKE * float(max(kernel.max(), -kernel.min()))


def can_compare(codes: Ints, blocks: Ints | None) -> bool:
    columns = group_columns(codes)
    if columns.sum(axis=0).min() < 2:
        return False
    return blocks is None or _weight_of_blocks(columns, blocks) > _NEGLIGIBLE


def _weight_of_blocks(columns: Floats, blocks: Ints) -> float:
    # w = mn / (m + n): the square of the sum of w, less the sum of w^2 / (m + n - 1), which goes
    # with the mean over relabellings
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
    """HSIC by the root of the HSIC of each side with itself; 0 if either side is constant."""
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


# Relabellings of graphs, and the statistics of a test under all of them.

_CHUNK_ENTRIES = 1 << 21  # of a block of permutations: 16 MB
_CHUNK_ROWS = 1024
_TIE = 1e-9  # of a standardised statistic: sums in another order


@dataclass(frozen=True, eq=False)
class Relabellings:
    """Ways to deal labels to graphs again, within blocks: all if few enough, else random ones."""

    codes: Ints
    blocks: Ints
    n_wanted: int
    seed: int

    @cached_property
    def n_distinct(self) -> int:
        ways = 1
        for members in self._members:
            left = len(members)
            for count in np.bincount(self.codes[members]).tolist():
                ways *= comb(left, count)
                left -= count
        return ways

    @property
    def are_all(self) -> bool:
        return self.n_distinct - 1 <= self.n_wanted

    @property
    def n_drawn(self) -> int:
        return self.n_distinct - 1 if self.are_all else self.n_wanted

    @property
    def borders(self) -> list[int]:
        rows = max(1, min(_CHUNK_ROWS, _CHUNK_ENTRIES // len(self.codes)))
        return [*range(0, self.n_drawn, rows), self.n_drawn]

    def chunk(self, number: int) -> Ints:
        """Relabellings of a chunk: row by row, whose label each graph gets."""
        first, last = self.borders[number : number + 2]
        if self.are_all:
            return self._listed[first:last]
        rng = np.random.default_rng([self.seed, number])
        graphs = np.concatenate(self._members)
        # sorted by block first, so that labels stay in theirs
        keys = self.blocks[graphs] + rng.random((last - first, len(graphs)))
        drawn = np.empty_like(keys, dtype=np.int64)
        drawn[:, graphs] = graphs[np.argsort(keys, axis=1)]
        return drawn

    @cached_property
    def _members(self) -> list[Ints]:
        order = np.argsort(self.blocks, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.blocks))[:-1])

    @cached_property
    def _listed(self) -> Ints:
        first = np.unique(self.codes, return_index=True)[1]
        found = np.zeros((1, 0), np.int64)
        for members in self._members:
            counts = np.bincount(self.codes[members], minlength=len(first))
            own = np.array(list(_arrangements(counts.tolist())), np.int64)
            own = own.reshape(-1, len(members))
            found = np.hstack([np.repeat(found, len(own), axis=0), np.tile(own, (len(found), 1))])
        codes = np.empty_like(found)
        codes[:, np.concatenate(self._members)] = found
        return np.asarray(first[codes[(codes != self.codes).any(axis=1)]])


def _arrangements(counts: list[int]) -> Iterator[list[int]]:
    """All orders of labels, each as often as its count says, that differ."""
    if not any(counts):
        yield []
        return
    for code, count in enumerate(counts):
        if count:
            rest = [left - (other == code) for other, left in enumerate(counts)]
            for tail in _arrangements(rest):
                yield [code, *tail]


def check_room_for(n_statistics: int, relabellings: Relabellings) -> None:
    n_bytes = 8 * 4 * (1 + relabellings.n_drawn) * n_statistics  # as they are, and standardised
    remedy = "give a smaller n_permutations"
    check_room(n_bytes, f"statistics of {relabellings.n_drawn:,} permutations", remedy)


def permuted_statistics(
    forms: Sequence[QuadraticForm], relabellings: Relabellings, n_jobs: int | None
) -> Floats:
    """Statistics of all forms, shape (1 + n_drawn, n_forms); row 0 is that of the data."""
    own = np.arange(len(relabellings.codes))[None, :]
    found = np.empty((1 + relabellings.n_drawn, len(forms)))
    borders = relabellings.borders

    def fill(number: int) -> None:
        first, last = (1 + border for border in borders[number : number + 2])
        _fill(found[first:last], forms, relabellings.chunk(number))

    with single_threaded_blas():
        _fill(found[:1], forms, own)
        tasks = [(number,) for number in range(len(borders) - 1)]
        costs = [float(last - first) for first, last in pairwise(borders)]
        run_tasks(fill, tasks, costs, n_jobs, "permutations")
    return found


def _fill(out: Floats, forms: Sequence[QuadraticForm], relabelled: Ints) -> None:
    """Write the statistics of some relabellings; forms that share their columns deal them once."""
    out[:] = [form.offset for form in forms]
    columns = forms[0].columns
    for column in range(columns.shape[1]):
        dealt = columns[relabelled, column]
        for number, form in enumerate(forms):
            out[:, number] += form.scale * np.einsum("ij,ij->i", dealt @ form.matrix, dealt)


@dataclass(frozen=True, eq=False)
class MaxTest:
    """Several statistics combined: the largest of the standardised ones is the statistic."""

    standardised: Floats
    largest: Floats
    p_value: float
    single: Floats
    adjusted: Floats


def max_test(statistics: Floats, rounding: Floats | float = 0.0) -> MaxTest:
    """Combine columns of statistics, of which row 0 is that of the data; `rounding` makes ties."""
    # over all rows, the first among them: all are treated alike, which keeps the level
    spread = statistics.std(axis=0)
    sizes = np.abs(statistics).max(axis=0, initial=0.0)
    is_constant = spread <= np.maximum(rounding, _TIE * sizes)
    spread = np.where(is_constant, 1.0, spread)
    centred = statistics - statistics.mean(axis=0)
    standardised = np.where(is_constant, 0.0, centred / spread)
    least = standardised[0] - np.maximum(_TIE, rounding / spread)
    largest = standardised.max(axis=1)
    return MaxTest(
        standardised,
        largest,
        float(np.mean(largest >= least.max())),
        np.mean(standardised >= least, axis=0),
        np.mean(largest[:, None] >= least, axis=0),
    )


def n_tied(
    form: Callable[[Floats], QuadraticForm], relabellings: Relabellings, n_jobs: int | None
) -> int:
    """Relabellings that no kernel tells from the labels as they are, those among them."""
    if not relabellings.are_all:  # a sample may lack the others
        return 1
    n_graphs = len(relabellings.codes)
    kernel = np.random.default_rng(0).random((n_graphs, n_graphs))  # has no ties of its own
    statistics = permuted_statistics([form(kernel + kernel.T)], relabellings, n_jobs)
    found = max_test(statistics).standardised[:, 0]
    return int((np.abs(found - found[0]) <= _TIE).sum())


def step_down_p_values(standardised: Floats) -> Floats:
    """P-values that hold for all statistics together (Westfall and Young, 1993)."""
    order = np.argsort(-standardised[0], kind="stable")
    largest = np.full(len(standardised), -np.inf)
    adjusted = np.empty(len(order))
    for column in order[::-1]:
        largest = np.maximum(largest, standardised[:, column])
        adjusted[column] = np.mean(largest >= standardised[0, column] - _TIE)
    adjusted[order] = np.maximum.accumulate(adjusted[order])
    return adjusted


def holm(p_values: Floats) -> Floats:
    """P-values that hold for all tests together (Holm, 1979); NaN is no test."""
    order = np.argsort(p_values)[: int(np.isfinite(p_values).sum())]
    factors = len(order) - np.arange(len(order))
    adjusted = np.full(len(p_values), np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return adjusted


# How large a difference or an association is, with an interval for it.
#
# Intervals come from halves: the statistic of a random half, drawn without replacement, scatters
# about that of all graphs as that scatters about the truth, because :math:`1/(n/2) - 1/n = 1/n`.
# Unlike a bootstrap, halves have no graph twice, so unbiased statistics stay unbiased. Where
# there is no difference, intervals are too wide rather than too narrow.

_N_HALVES = 400
_MANY_BLOCKS = 8  # from here on blocks are drawn, not the graphs within them
_LEAST = 4  # graphs that a half can be taken of
_LEAST_FOR_HSIC = 8  # for halves of four, which its unbiased form needs


class EffectSize(NamedTuple):
    """A size and the ends of its interval; None where graphs are too few, or if none is wanted."""

    value: float
    """Infinite where groups differ and the graphs of each are all alike."""
    low: float | None
    high: float | None


def group_effect(
    kernel: Floats, codes: Ints, blocks: Ints | None, confidence: float | None, seed: int
) -> EffectSize:
    """Distance of the means of groups, in deviations of graphs from the mean of their group."""
    n_groups = len(np.unique(codes))

    def squared(graphs: Ints) -> float | None:
        own = None if blocks is None else _renumbered(blocks[graphs])
        labels = codes[graphs]
        if len(np.unique(labels)) < n_groups or not can_compare(labels, own):
            return None
        some = kernel[np.ix_(graphs, graphs)]
        return squared_effect(group_form(some, labels, own), some, labels)

    found = _with_interval(squared, codes, blocks, confidence, seed)
    low, high = (None if end is None else _root(end) for end in found[1:])
    return EffectSize(_root(found.value), low, high)


def squared_effect(form: QuadraticForm, kernel: Floats, codes: Ints) -> float:
    """Statistic of groups by the variance within them; infinite where only the former is there."""
    value, spread = form.value(), within_variance(kernel, codes)
    if abs(value) <= form.rounding:
        return 0.0
    return value / spread if spread > form.rounding else np.inf


def association_effect(
    kernel: Floats, columns: Floats, blocks: Ints | None, confidence: float | None, seed: int
) -> EffectSize:
    """Correlation of two kernels, unbiased without an association; 1 if they are proportional."""

    def correlation(graphs: Ints) -> float:
        own = None if blocks is None else _renumbered(blocks[graphs])
        return kernel_correlation(kernel[np.ix_(graphs, graphs)], columns[graphs], own)

    codes = np.zeros(len(kernel), np.int64)
    return _with_interval(correlation, codes, blocks, confidence, seed, _LEAST_FOR_HSIC)


def finite_or_none(size: float | None) -> float | None:
    return None if size is None or not np.isfinite(size) else size


def _root(squared: float) -> float:
    return float(max(squared, 0.0) ** 0.5)


def _renumbered(blocks: Ints) -> Ints:
    return np.unique(blocks, return_inverse=True)[1].reshape(-1)


def _with_interval(
    size: Callable[[Ints], float | None],
    codes: Ints,
    blocks: Ints | None,
    confidence: float | None,
    seed: int,
    least: int = _LEAST,
) -> EffectSize:
    """Size of all graphs, and quantiles of that of halves; none where a half has no size."""
    units = _units_to_halve(codes, blocks)
    with single_threaded_blas():
        value = size(np.arange(len(codes)))
        assert value is not None  # the design was checked
        if confidence is None or min(map(len, units)) < least:
            return EffectSize(value, None, None)
        rng = np.random.default_rng([seed, 1])
        sizes = []
        with progress_bar("interval", _N_HALVES) as advance:
            for _ in range(_N_HALVES):
                of_half = size(_half(units, rng))
                if of_half is None:
                    return EffectSize(value, None, None)
                sizes.append(of_half)
                advance(1)
    outside = (1 - confidence) / 2
    places = np.array([outside, 1 - outside]) * (_N_HALVES - 1)
    low, high = np.interp(places, np.arange(_N_HALVES), np.sort(sizes))  # sizes may be infinite
    return EffectSize(value, float(low), float(high))


def _units_to_halve(codes: Ints, blocks: Ints | None) -> list[list[Ints]]:
    """Strata of which halves are taken; in each, the sets of graphs that stay together."""
    if blocks is not None and blocks.max() + 1 >= _MANY_BLOCKS:
        return [[np.flatnonzero(blocks == block) for block in range(int(blocks.max()) + 1)]]
    cells = codes if blocks is None else codes * (blocks.max() + 1) + blocks
    return [
        [np.array([graph]) for graph in np.flatnonzero(cells == cell)] for cell in np.unique(cells)
    ]


def _half(units: list[list[Ints]], rng: np.random.Generator) -> Ints:
    parts = []
    for stratum in units:
        drawn = rng.choice(len(stratum), len(stratum) // 2, replace=False)
        parts += [stratum[place] for place in drawn]
    return np.sort(np.concatenate(parts))
