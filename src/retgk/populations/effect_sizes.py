r"""
How large a difference or an association is, with an interval for it.

Intervals come from halves: the statistic of a random half, drawn without replacement, scatters
about that of all graphs as that scatters about the truth, because
:math:`1/(n/2) - 1/n = 1/n`. Unlike a bootstrap, halves have no graph twice, so unbiased
statistics stay unbiased. Where there is no difference, intervals are too wide rather than too
narrow.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.populations.quadratic_forms import (
    QuadraticForm,
    can_compare,
    group_form,
    kernel_correlation,
    within_variance,
)
from retgk.runtime.parallel import single_threaded_blas
from retgk.runtime.progress import progress_bar

__all__ = ["EffectSize", "association_effect", "finite_or_none", "group_effect", "squared_effect"]

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
    """Size for JSON, which has no infinite numbers."""
    return None if size is None or np.isinf(size) else size


def _root(squared: float) -> float:
    """Size of a squared one, which is below zero by chance where there is no difference."""
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
    """
    Size of all graphs, and the quantiles of that of halves.

    There is no interval if a stratum has fewer than `least` units, or if `size` is None for a half,
    because that has too few graphs of a group, or no block with graphs of two.
    """
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
    """Graphs of a random half of every stratum, in order."""
    parts = []
    for stratum in units:
        drawn = rng.choice(len(stratum), len(stratum) // 2, replace=False)
        parts += [stratum[place] for place in drawn]
    return np.sort(np.concatenate(parts))
