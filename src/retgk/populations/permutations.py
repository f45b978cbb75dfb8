"""Relabellings of graphs, and the statistics of a test under all of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import comb

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.errors import Remedy
from retgk.populations.quadratic_forms import QuadraticForm
from retgk.runtime.memory import check_room
from retgk.runtime.parallel import run_tasks, single_threaded_blas

__all__ = [
    "MaxTest",
    "Relabellings",
    "check_room_for",
    "max_test",
    "n_tied",
    "permuted_statistics",
    "step_down_p_values",
]

_CHUNK_ENTRIES = 1 << 21  # of a block of permutations: 16 MB
_CHUNK_ROWS = 1024
_TIE = 1e-9  # of a standardised statistic: sums in another order


@dataclass(frozen=True, eq=False)
class Relabellings:
    """
    Ways to deal what graphs are labelled with to the graphs again, within blocks.

    All of them where they are no more than asked for, else random ones. They depend on the seed
    alone, so that statistics that are computed apart are those of the same relabellings.

    Attributes
    ----------
    codes : ndarray of int64, shape (n_graphs,)
        What is dealt, from 0 on: groups, or distinct values.
    blocks : ndarray of int64, shape (n_graphs,)
        Block of every graph, from 0 on.
    n_wanted : int
        Most relabellings, beside the labels as they are.
    seed : int
        Of random ones.
    """

    codes: Ints
    blocks: Ints
    n_wanted: int
    seed: int

    @cached_property
    def n_distinct(self) -> int:
        """Number of all relabellings that differ, the labels as they are among them."""
        ways = 1
        for members in self._members:
            left = len(members)
            for count in np.bincount(self.codes[members]).tolist():
                ways *= comb(left, count)
                left -= count
        return ways

    @property
    def are_all(self) -> bool:
        """Whether all relabellings are looked at."""
        return self.n_distinct - 1 <= self.n_wanted

    @property
    def n_drawn(self) -> int:
        """Number of relabellings, the labels as they are left out."""
        return self.n_distinct - 1 if self.are_all else self.n_wanted

    @property
    def borders(self) -> list[int]:
        """First relabelling of every chunk, and their number."""
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
        """Graphs of every block."""
        order = np.argsort(self.blocks, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.blocks))[:-1])

    @cached_property
    def _listed(self) -> Ints:
        """All relabellings but the labels as they are."""
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
    """Raise if the statistics of all relabellings do not fit into memory."""
    n_bytes = 8 * 4 * (1 + relabellings.n_drawn) * n_statistics  # as they are, and standardised
    remedy = Remedy("fewer_permutations", "give a smaller n_permutations")
    check_room(n_bytes, f"statistics of {relabellings.n_drawn:,} permutations", remedy)


def permuted_statistics(
    forms: Sequence[QuadraticForm], relabellings: Relabellings, n_jobs: int | None
) -> Floats:
    """
    Statistics of all forms, shape (1 + n_drawn, n_forms); the first row is that of the data.

    Every chunk of relabellings is one product of matrices for each form, on one thread, so that
    the number of threads changes no bit.
    """
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
    """
    Several statistics combined: the largest of the standardised ones is the statistic.

    Attributes
    ----------
    standardised : ndarray, shape (1 + n_drawn, n_statistics)
        Statistics less their mean over all relabellings, by their deviation.
    largest : ndarray, shape (1 + n_drawn,)
        The largest of every row.
    p_value : float
        Share of relabellings, the labels as they are among them, whose largest is as large.
    single, adjusted : ndarray, shape (n_statistics,)
        P-values of each statistic alone, and with regard to all of them.
    """

    standardised: Floats
    largest: Floats
    p_value: float
    single: Floats
    adjusted: Floats


def max_test(statistics: Floats, rounding: Floats | float = 0.0) -> MaxTest:
    """
    Combine the columns of statistics, of which the first row is that of the data.

    Statistics of a column that differ by no more than `rounding` are equal.

    Mean and deviation are those over all rows, the first among them, so that under exchangeable
    labels all rows are treated alike and the level of the combined test is kept.
    """
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
    """
    Relabellings that no kernel tells from the labels as they are, those among them.

    So it is with groups of one size that swap their names, and with values that are mirrored. Where
    not all relabellings are looked at, the others may not be drawn: 1.
    """
    if not relabellings.are_all:
        return 1
    n_graphs = len(relabellings.codes)
    kernel = np.random.default_rng(0).random((n_graphs, n_graphs))  # has no ties of its own
    statistics = permuted_statistics([form(kernel + kernel.T)], relabellings, n_jobs)
    found = max_test(statistics).standardised[:, 0]
    return int((np.abs(found - found[0]) <= _TIE).sum())


def step_down_p_values(standardised: Floats) -> Floats:
    """
    P-values of several statistics that hold for all of them together (Westfall and Young, 1993).

    The largest is compared with the largest of all under each relabelling, the next with the
    largest of the others, and so on; none is below one that stands before it.
    """
    order = np.argsort(-standardised[0], kind="stable")
    largest = np.full(len(standardised), -np.inf)
    adjusted = np.empty(len(order))
    for column in order[::-1]:
        largest = np.maximum(largest, standardised[:, column])
        adjusted[column] = np.mean(largest >= standardised[0, column] - _TIE)
    adjusted[order] = np.maximum.accumulate(adjusted[order])
    return adjusted
