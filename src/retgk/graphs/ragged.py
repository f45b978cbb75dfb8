"""Runs of a flat array that are given by their offsets, as the nodes of graphs are."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgk.array_types import Ints

__all__ = [
    "BLOCK_ENTRIES",
    "chunks",
    "compact",
    "first_of_run",
    "gather_runs",
    "graph_of",
    "offsets",
]

BLOCK_ENTRIES = 1 << 18
"""Entries that are worked on at a time: enough that the overhead of a block does not count."""


def offsets(counts: ArrayLike) -> Ints:
    """
    Give the first position of every run, and the sum of all lengths.

    Examples
    --------
    >>> offsets([3, 2])
    array([0, 3, 5])
    """
    lengths = np.asarray(counts)
    ptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ptr[1:])
    return ptr


def compact(values: Ints) -> NDArray[Any]:
    """Give the same numbers, none of them negative, in 32 bits if they fit."""
    return values.astype(np.int32) if values.max(initial=0) <= np.iinfo(np.int32).max else values


def graph_of(node_ptr: Ints, node: int) -> int:
    """Find the graph that a node, numbered over the batch, belongs to."""
    return int(np.searchsorted(node_ptr, node, side="right")) - 1


def first_of_run(ptr: Ints) -> Ints:
    """Give, for every position, the first position of its run."""
    return np.repeat(ptr[:-1], np.diff(ptr))


def chunks(
    ptr: Ints, max_entries: int | None, max_runs: int | None = None, *others: tuple[Ints, int]
) -> Iterator[tuple[int, int]]:
    """
    Cut runs into chunks of consecutive whole runs with so many entries at most.

    A run that is larger than that is a chunk on its own. Further limits, such as that of the
    edges beside that of the nodes, are given as pairs of offsets and most entries.

    Parameters
    ----------
    ptr : ndarray of int64, shape (n_runs + 1,)
        Offsets of the runs.
    max_entries : int or None
        Most entries in a chunk of several runs; None for any number.
    max_runs : int, optional
        Most runs in a chunk.
    *others : tuple of (ndarray, int)
        Other offsets of the same runs, with their own most entries.

    Yields
    ------
    first, last : int
        The chunk holds the runs `first` to ``last - 1``, at least one.

    Examples
    --------
    >>> list(chunks(offsets([2, 2, 9, 1]), 4))
    [(0, 2), (2, 3), (3, 4)]
    """
    limits = others if max_entries is None else ((ptr, max_entries), *others)
    first, n_runs = 0, len(ptr) - 1
    while first < n_runs:
        last = n_runs if max_runs is None else min(first + max_runs, n_runs)
        for own, most in limits:
            last = min(last, int(np.searchsorted(own, own[first] + most, side="right")) - 1)
        last = max(last, first + 1)
        yield first, last
        first = last


def gather_runs(values: NDArray[Any], starts: Ints, counts: Ints) -> NDArray[Any]:
    """Concatenate runs of an array: ``values[start:start + count]`` for every run."""
    ptr = offsets(counts)
    gathered = np.empty((int(ptr[-1]), *values.shape[1:]), values.dtype)
    for first, last in chunks(ptr, BLOCK_ENTRIES):
        positions = np.repeat(starts[first:last] - ptr[first:last], counts[first:last])
        positions += np.arange(ptr[first], ptr[last])
        # "clip" writes straight into the result; the default mode would buffer it
        np.take(values, positions, axis=0, out=gathered[ptr[first] : ptr[last]], mode="clip")
    return gathered
