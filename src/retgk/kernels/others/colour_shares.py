r"""
Shares of colours in functions of kernels of refined labels, and of the nodes that have them.

Such a kernel is a function of inner products: of counts of colours, or of their thermometer codes,
where :math:`n` nodes of a colour are n ones followed by zeros, so that inner products are sums of
smaller counts. For :math:`f(m) = \sum_s a_s K(m, m_s)` and the line :math:`m(t) = m_0 + t (m_G -
m_0)` from the mean of the graphs s to a graph G, integrated gradients give every coordinate a
share, and all of them add up to :math:`f(m_G) - f(m_0)`. Coordinates of a colour belong to the
nodes of G that have it, in equal parts; those of colours that G does not have to all nodes alike.

The gradient at m(t) is :math:`\sum_s a_s (p_s m_s - r_s m(t))`, so its mean over the line needs
three numbers for each s. With :math:`x = \langle m, m_s \rangle`, linear in t, and
:math:`q = |m|^2` and :math:`c = |m_s|^2`:

- x itself: :math:`p = 1, r = 0`;
- cosines :math:`x / \sqrt{q c}`: :math:`p = 1 / \sqrt{q c}, r = x / (q \sqrt{q c})`;
- min-max :math:`x / D, D = q + c - x`: :math:`p = (q + c) / D^2, r = 2 x / D^2`, where D is a
  polynomial of t of degree two: the integrals are in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Codes, Floats, Ints
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import gather_runs, offsets
from retgk.kernels.others.base import PeerKernel
from retgk.kernels.others.counts import CountEngine
from retgk.kernels.others.min_max import MinMax
from retgk.kernels.others.weisfeiler_lehman import ColourCounter

_Link = Literal["plain", "cosine", "ratio"]
"""What a kernel makes of an inner product and two norms."""


def counts_colours(kernel: Any) -> bool:
    """Whether a fitted kernel is a function of counts of colours of nodes."""
    engine = _engine(kernel)
    return isinstance(engine, CountEngine) and isinstance(engine.counter, ColourCounter)


def _engine(kernel: Any) -> Any:
    own = kernel.parts_[0] if isinstance(kernel, MinMax) else kernel
    return own.engine_ if isinstance(own, PeerKernel) else None


class _Ends(NamedTuple):
    """Inner products at both ends of a line, up to one level of colours."""

    first: Floats  # ``<m_0, m_s>``, shape (n_fitted,)
    last: Floats  # ``<m_G, m_s>``, shape (n_fitted,)
    norms: Floats  # ``<m_s, m_s>``, shape (n_fitted,)
    squares: tuple[float, float, float]  # ``<m_0, m_0>``, ``<m_0, m_G>``, ``<m_G, m_G>``


class _Slopes(NamedTuple):
    """Means over a line, for every s: of p, of r, and of t r."""

    pulls: Floats
    drags: Floats
    late_drags: Floats


class _Colours(NamedTuple):
    """Colours of one graph, each once."""

    columns: Codes  # from n_columns of the fitted graphs on, they are new
    levels: Ints
    counts: Floats
    of_nodes: Ints  # (n_levels, n_nodes): place of the colour of every node among them


@dataclass(frozen=True, eq=False)
class ColourLines:
    """Fitted graphs as vectors of colours, and lines from their mean to new graphs."""

    kernel: Any
    counter: ColourCounter
    links: tuple[tuple[int, float, _Link], ...]
    """Last level, weight and link of every term of the kernel."""
    is_minima: bool
    ptr: Ints  # postings of the colours of the fitted graphs
    graphs: Ints
    counts: Floats
    in_mean: Floats  # (n_entries,): products of these counts with those of the mean
    squares: Floats  # (n_columns,): products of counts of the mean with themselves
    first: Floats  # (n_levels, n_fitted): of graphs with the mean, up to each level
    norms: Floats  # (n_levels, n_fitted): of graphs with themselves

    @classmethod
    def of(cls, kernel: Any) -> ColourLines:
        """Take the graphs that a fitted kernel keeps apart."""
        engine = _engine(kernel)
        counts = engine.postings.rows().sparse()
        counts = (counts if engine.kept is None else counts[engine.kept]).tocsc()
        counts.sort_indices()
        ptr, graphs, values = counts.indptr.astype(np.int64), counts.indices, counts.data
        is_minima, (n_graphs, n_columns) = engine.summand == "minima", counts.shape
        columns = np.repeat(np.arange(n_columns), np.diff(ptr))
        in_mean = _means(ptr, columns, values, n_graphs, is_minima)
        squares = np.bincount(columns, in_mean, n_columns) / n_graphs
        ends = engine.counter.level_ends
        levels = np.searchsorted(ends, columns, side="right")
        own = values if is_minima else values**2
        first, norms = (
            np.cumsum(_by_level(levels, graphs, each, len(ends), n_graphs), axis=0)
            for each in (in_mean, own)
        )
        links: tuple[tuple[int, float, _Link], ...]
        if isinstance(kernel, MinMax):
            ratios = engine.levels(kernel.rounds_).ratios
            links = tuple((int(h), float(ratios[h]), "ratio") for h in np.flatnonzero(ratios))
        else:
            links = ((len(ends) - 1, 1.0, "cosine" if engine.normalize else "plain"),)
        nodes = (ptr, graphs, values, in_mean, squares)
        return cls(kernel, engine.counter, links, is_minima, *nodes, first, norms)

    def mean_values(self) -> Floats:
        """Kernel of the mean with the fitted graphs."""
        square = np.cumsum(np.add.reduceat(self.squares, self._level_starts))
        return np.asarray(
            sum(
                weight * _linked(link, self.first[h], square[h], self.norms[h])
                for h, weight, link in self.links
            )
        )

    @property
    def _level_starts(self) -> Ints:
        return np.concatenate([[0], self.counter.level_ends[:-1]])

    def node_shares(self, batch: GraphBatch, coefficients: Floats, rises: Floats) -> Floats:
        """Shares of nodes in ``sum_s coefficients[G, s] K(m, m_s)``, which add up to the rises."""
        own = self.kernel.parts_[0] if isinstance(self.kernel, MinMax) else self.kernel
        columns = self.counter.columns(own.plain(batch).batch, own.n_jobs)
        shares = np.empty(batch.n_nodes)
        for graph, rise in enumerate(rises):
            nodes = slice(batch.node_ptr[graph], batch.node_ptr[graph + 1])
            found = self._shares(_different(columns[:, nodes]), coefficients[graph])
            shares[nodes] = found + (rise - found.sum()) / len(found)
        return shares

    def _shares(self, colours: _Colours, coefficients: Floats) -> Floats:
        """Shares of the nodes of a graph, without those of colours that it does not have."""
        known = np.flatnonzero(colours.columns < len(self.squares))
        starts = self.ptr[colours.columns[known]]
        sizes = self.ptr[colours.columns[known] + 1] - starts
        graphs, counts, in_mean = (
            gather_runs(each, starts, sizes) for each in (self.graphs, self.counts, self.in_mean)
        )
        n = np.repeat(colours.counts[known], sizes)
        pairs = np.minimum(n, counts) if self.is_minima else n * counts
        n_levels, n_fitted = self.first.shape
        levels = np.repeat(colours.levels[known], sizes)
        last = np.cumsum(_by_level(levels, graphs, pairs, n_levels, n_fitted), axis=0)
        ptr = offsets(sizes)
        of_mean, squares = np.zeros(len(colours.columns)), np.zeros(len(colours.columns))
        of_mean[known] = _run_sums(pairs, ptr) / n_fitted
        squares[known] = self.squares[colours.columns[known]]
        selves = colours.counts if self.is_minima else colours.counts**2
        ends = self._ends(colours.levels, of_mean, selves, last)
        pulls, drags = np.zeros((n_levels, n_fitted)), np.zeros((2, n_levels))
        for h, weight, link in self.links:
            slopes = _mean_slopes(link, ends[h])
            pulls[: h + 1] += weight * coefficients * slopes.pulls
            drags[:, : h + 1] += weight * np.array(
                [[coefficients @ slopes.drags], [coefficients @ slopes.late_drags]]
            )
        found = -drags[0, colours.levels] * (of_mean - squares)
        found -= drags[1, colours.levels] * (selves - 2 * of_mean + squares)
        found[known] += _run_sums(pulls[levels, graphs] * (pairs - in_mean), ptr)
        return np.asarray((found / colours.counts)[colours.of_nodes].sum(axis=0))

    def _ends(self, levels: Ints, of_mean: Floats, selves: Floats, last: Floats) -> list[_Ends]:
        n_levels = len(last)
        means = np.cumsum(np.add.reduceat(self.squares, self._level_starts))
        both, own = (np.cumsum(np.bincount(levels, each, n_levels)) for each in (of_mean, selves))
        return [
            _Ends(self.first[h], last[h], self.norms[h], (means[h], both[h], own[h]))
            for h in range(n_levels)
        ]


def _means(ptr: Ints, columns: Ints, counts: Floats, n_graphs: int, is_minima: bool) -> Floats:
    """Mean over all graphs of what each entry of a column adds to a product with them."""
    if not is_minima:
        return counts * _run_sums(counts, ptr)[columns] / n_graphs
    order = np.lexsort((counts, columns))
    rising = counts[order]
    below = np.cumsum(rising)
    below -= (below - rising)[ptr[columns]]
    n_above = ptr[columns + 1] - 1 - np.arange(len(counts))
    sums = np.empty(len(counts))
    sums[order] = below + rising * n_above
    return sums / n_graphs


def _by_level(
    levels: Ints, graphs: NDArray[Any], values: Floats, n_levels: int, n_graphs: int
) -> Floats:
    found = np.bincount(levels * n_graphs + graphs, values, n_levels * n_graphs)
    return np.asarray(found.reshape(n_levels, n_graphs), np.float64)


def _run_sums(values: Floats, ptr: Ints) -> Floats:
    """Sums of runs, which may be empty."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return np.diff(sums[ptr])


def _different(columns: Codes) -> _Colours:
    levels = np.arange(len(columns))[:, None]
    width = int(columns.max()) + 1
    keys, places, counts = np.unique(
        levels * width + columns, return_inverse=True, return_counts=True
    )
    found = keys % width, keys // width, counts.astype(np.float64)
    return _Colours(*found, places.reshape(columns.shape))


def _linked(link: _Link, x: Floats, square: float, norms: Floats) -> Floats:
    if link == "plain":
        return x
    return x / np.sqrt(square * norms) if link == "cosine" else x / (square + norms - x)


def _mean_slopes(link: _Link, ends: _Ends) -> _Slopes:
    zero = np.zeros_like(ends.first)
    if link == "plain":
        return _Slopes(zero + 1, zero, zero)
    if link == "ratio":
        return _ratio_slopes(ends)
    before, between, after = ends.squares
    t, weights = _rule(_MOST_POINTS)
    q = (1 - t) ** 2 * before + 2 * t * (1 - t) * between + t**2 * after
    roots = 1 / np.sqrt(ends.norms)
    powers = [weights @ (t**k * q**-1.5) for k in range(3)]
    steps = ends.last - ends.first
    return _Slopes(
        roots * (weights @ q**-0.5),
        roots * (ends.first * powers[0] + steps * powers[1]),
        roots * (ends.first * powers[1] + steps * powers[2]),
    )


_MOST_POINTS = 128  # the norm along a line has its minimum inside
_FLAT = 0.01  # bend of D, as a share of D, below which closed forms lose digits
_FEW_POINTS = 8  # which are enough there


@cache
def _rule(n_points: int) -> tuple[Floats, Floats]:
    """Gauss and Legendre's rule on [0, 1]."""
    points, weights = np.polynomial.legendre.leggauss(n_points)
    return 0.5 * (points + 1), 0.5 * weights


def _ratio_slopes(ends: _Ends) -> _Slopes:
    """Means of p, r and t r of min-max kernels."""
    before, between, after = ends.squares
    steps = ends.last - ends.first
    bend = max(before - 2 * between + after, 0.0)
    slopes, starts = 2 * (between - before) - steps, before + ends.norms - ends.first
    lowest = starts - slopes**2 / (4 * bend) if bend > 0 else starts
    # D = lowest (1 + u^2) with t = middle + width u
    is_flat = bend <= _FLAT * lowest
    whole, powers = np.empty_like(starts), np.empty((3, len(starts)))
    t, weights = _rule(_FEW_POINTS)
    some = 1 / (starts[is_flat, None] + t * (slopes[is_flat, None] + t * bend))
    whole[is_flat] = some @ weights
    powers[:, is_flat] = (some**2 @ (weights * t ** np.arange(3)[:, None]).T).T
    own = ~is_flat
    if own.any():
        d, middle = lowest[own], -slopes[own] / (2 * bend)
        width = np.sqrt(d / bend)
        u = np.stack([-middle / width, (1 - middle) / width])
        angle, share = np.diff(np.arctan(u), axis=0)[0], u / (1 + u**2)
        ones = 0.5 * (np.diff(share, axis=0)[0] + angle)
        twos = 0.5 * (angle - np.diff(share, axis=0)[0])
        firsts = -0.5 * np.diff(1 / (1 + u**2), axis=0)[0]
        whole[own] = width / d * angle
        scale = width / d**2
        powers[0, own] = scale * ones
        powers[1, own] = scale * (middle * ones + width * firsts)
        powers[2, own] = scale * (middle**2 * ones + 2 * middle * width * firsts + width**2 * twos)
    x, late = (ends.first * powers[k] + steps * powers[k + 1] for k in range(2))
    return _Slopes(whole + x, 2 * x, 2 * late)
