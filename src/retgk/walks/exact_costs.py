"""What exact return probabilities cost: which way is quicker, and a word before long work."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk.array_types import Floats, Ints
from retgk.errors import InputWarning, Remedy, warn_user
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import gather_runs
from retgk.runtime.parallel import n_threads
from retgk.walks.twins import Quotients

__all__ = [
    "Costs",
    "dense_tasks_together",
    "half_power_factor",
    "is_long",
    "published_cost",
    "upper_bound",
    "warn_of_time",
]

_DENSE_BYTES = 1 << 28
_LONG_SECONDS = 600.0
_SAMPLED_BLOCKS = 6
# Measured: half powers cost this much more where vectors are in no cache, and nearly as much more
# while walks spread, as the rows in reach are listed and sorted.
_OUT_OF_CACHE = 10.0
_SPREADING = 8.0
_ROWS_IN_CACHE = 8000


class Costs(NamedTuple):
    """Expected nanoseconds of graphs, and the way that each of them goes."""

    per_start: Floats
    """Half powers from one start node."""
    spectral: Floats
    """One eigendecomposition."""
    is_dense: NDArray[np.bool_]
    """Whether a graph goes through LAPACK, which must not depend on threads: it rounds otherwise"""

    @classmethod
    def of(cls, n_rows: Ints, entries: Ints, n_starts: Ints, n_steps: int) -> "Costs":
        """Costs by numbers of rows, entries off the diagonal and start nodes of every graph."""
        per_start, spectral = _half_power_cost(n_rows, entries, n_steps), _eigh_cost(n_rows)
        is_dense = spectral < n_starts * per_start
        is_dense &= _dense_bytes(n_rows) <= np.maximum(_DENSE_BYTES / 2, _own_room(entries))
        return cls(per_start, spectral, is_dense)

    def total(self, n_starts: Ints, factor: float = _OUT_OF_CACHE) -> float:
        """Nanoseconds of all graphs on one core; half powers are this much slower than in cache."""
        half_powers = factor * n_starts * self.per_start
        return float(np.where(self.is_dense, self.spectral, half_powers).sum())


def dense_tasks_together(n_rows: Ints, entries: Ints, n_workers: int) -> tuple[Any, int]:
    """
    Graphs that not all threads may take through LAPACK at once, and how many may.

    `n_rows` and `entries` are those of dense graphs. The others have room enough.
    """
    if len(n_rows) == 0:  # as nearly always: what follows takes longer than a small graph
        return [], n_workers
    n_bytes = _dense_bytes(n_rows)
    is_large = n_bytes > np.maximum(_DENSE_BYTES / n_workers, _own_room(entries))
    return is_large, max(1, int(_DENSE_BYTES / n_bytes[is_large].max(initial=1.0)))


def _dense_bytes(n_rows: Ints) -> Floats:
    """Bytes that LAPACK holds: about four matrices."""
    return np.asarray(32.0 * n_rows**2, dtype=np.float64)


def _own_room(entries: Ints) -> Ints:
    """Bytes that a graph may take because it takes as many itself, which shows that there are."""
    return 3 * 12 * entries


def _half_power_cost(n_nodes: Any, n_entries: Any, n_steps: int) -> Any:
    """Nanoseconds of half powers from one start node (measured: 26 GFlop/s in cache)."""
    return 0.038 * n_steps * (n_entries + 2 * n_nodes)


def _eigh_cost(n_nodes: Any) -> Any:
    """Nanoseconds of one eigendecomposition on one core (measured for n = 16 to 1000)."""
    n = np.asarray(n_nodes, dtype=np.float64)
    return 40_000 + 60 * n**2 + 0.25 * n**3


# How long it takes


def is_long(nanoseconds: float, n_jobs: int | None) -> bool:
    """Whether work of one core takes so long, on the cores in use, that a user should know."""
    if nanoseconds <= 1e9 * _LONG_SECONDS:
        return False
    return _seconds(nanoseconds, n_jobs) > _LONG_SECONDS


def warn_of_time(nanoseconds: float, n_nodes: int, n_jobs: int | None) -> None:
    """Warn, before the work, of how long it takes."""
    warn_user(
        InputWarning(
            f"exact return probabilities of {n_nodes:,} nodes take about "
            f"{_in_words(_seconds(nanoseconds, n_jobs))} on this machine, or longer",
            Remedy(
                "monte_carlo",
                'method="monte-carlo" estimates them in a fraction of that, and nodes=..., of '
                "return_probabilities and RetGKEmbedding, describes some nodes only",
            ),
        )
    )


def _seconds(nanoseconds: float, n_jobs: int | None) -> float:
    n_cores = min(n_threads(n_jobs), n_threads(-1))  # more threads than cores gain nothing
    return nanoseconds / 1e9 / n_cores


def _in_words(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3600)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds / 60:,.0f} minutes"


def upper_bound(batch: GraphBatch, n_starts: int, n_steps: int) -> float:
    """Nanoseconds that half powers hardly exceed, from sizes alone."""
    per_start = _half_power_cost(batch.n_nodes, len(batch.indices), n_steps)
    return float(_OUT_OF_CACHE * n_starts * per_start)


def published_cost(batch: GraphBatch) -> float:
    """Nanoseconds of one eigendecomposition of every graph."""
    return float(_eigh_cost(batch.node_counts).sum())


def half_power_factor(
    node_ptr: Ints, quotients: Quotients, starts: tuple[Ints, ...], n_steps: int, costs: Costs
) -> float:
    """
    Cost of half powers, among that in cache if walks reached all of their graph at once.

    It is the mean over a few blocks of start nodes, chosen in proportion to their cost.
    """
    graphs, rows, _ = starts
    cumulative = np.cumsum(np.where(costs.is_dense, 0.0, costs.per_start)[graphs])
    if len(cumulative) == 0 or cumulative[-1] == 0:
        return 1.0
    targets = (np.arange(_SAMPLED_BLOCKS) + 0.5) / _SAMPLED_BLOCKS * cumulative[-1]
    factors = []
    for first in np.searchsorted(cumulative, targets):
        block = slice(first, first + _core.LANES)
        own = rows[block][graphs[block] == graphs[first]]
        row = node_ptr[graphs[first]]
        matrix = slice(row, row + quotients.n_classes[graphs[first]])
        factors.append(_factor_of_block(quotients, matrix, own, (n_steps + 1) // 2))
    return float(np.mean(factors))


def _factor_of_block(quotients: Quotients, matrix: slice, rows: Ints, n_products: int) -> float:
    """The same for some start rows of one graph: entries and rows in reach, product by product."""
    begin = quotients.row_begin[matrix]
    lengths = quotients.row_end[matrix] - begin
    slowness = min(max(len(begin) / _ROWS_IN_CACHE, 1.0), _OUT_OF_CACHE)
    is_reached = np.zeros(len(begin), np.bool_)
    work, in_reach, new = 0.0, 0.0, rows
    whole = float(lengths.sum() + 2 * len(begin))
    for product in range(n_products):
        is_reached[new] = True
        in_reach += float(lengths[new].sum() + 2 * len(new))
        if 4 * np.count_nonzero(is_reached) > len(begin):
            work += slowness * (n_products - product) * whole
            break
        work += _SPREADING * in_reach
        is_near = np.zeros(len(begin), np.bool_)
        is_near[gather_runs(quotients.columns, begin[new], lengths[new])] = True
        new = np.flatnonzero(is_near & ~is_reached)
    return work / (n_products * whole)
