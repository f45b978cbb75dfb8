"""Runs of a flat array that are given by their offsets, as the nodes of graphs are."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgk.array_types import Ints

__all__ = ["chunks", "first_of_run", "gather_runs", "graph_of", "offsets"]

BLOCK_ENTRIES = 1 << 18


def offsets(counts: ArrayLike) -> Ints:
    """
    Offsets of runs, from their lengths.

    Parameters
    ----------
    counts : array-like of int, shape (n_runs,)
        Length of every run.

    Returns
    -------
    ndarray of int64, shape (n_runs + 1,)
        First position of every run, and the sum of all lengths.

    Examples
    --------
    >>> offsets([3, 2])
    array([0, 3, 5])
    """
    lengths = np.asarray(counts)
    ptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ptr[1:])
    return ptr


def graph_of(node_ptr: Ints, node: int) -> int:
    """
    Graph that a node of the batch belongs to.

    Parameters
    ----------
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph.
    node : int
        Node, numbered over the batch.

    Returns
    -------
    int
        Position of the graph.
    """
    return int(np.searchsorted(node_ptr, node, side="right")) - 1


def first_of_run(ptr: Ints) -> Ints:
    """
    First position of the run that a position belongs to, for every position.

    Parameters
    ----------
    ptr : ndarray of int64, shape (n_runs + 1,)
        Offsets of the runs.

    Returns
    -------
    ndarray of int64, shape (ptr[-1] - ptr[0],)
        Offset of the own run.
    """
    return np.repeat(ptr[:-1], np.diff(ptr))


def chunks(
    ptr: Ints, max_entries: int = BLOCK_ENTRIES, max_runs: int | None = None
) -> Iterator[tuple[int, int]]:
    """
    Cut runs into chunks of bounded size, to be worked on one after the other.

    Parameters
    ----------
    ptr : ndarray of int64, shape (n_runs + 1,)
        Offsets of the runs.
    max_entries, max_runs : int
        Largest chunk. A run that is larger by itself is a chunk of its own.

    Yields
    ------
    first, last : int
        The chunk holds the runs `first` to ``last - 1``, at least one.
    """
    first, n_runs = 0, len(ptr) - 1
    while first < n_runs:
        last = int(np.searchsorted(ptr, int(ptr[first]) + max_entries, side="right")) - 1
        if max_runs is not None:
            last = min(last, first + max_runs)
        last = max(first + 1, last)
        yield first, last
        first = last


def gather_runs(values: NDArray[Any], starts: Ints, counts: Ints) -> NDArray[Any]:
    """
    Concatenate runs of an array: ``values[start:start + count]`` for every run.

    Parameters
    ----------
    values : ndarray, shape (n, ...)
        What to cut.
    starts, counts : ndarray of int64, shape (n_runs,)
        First position and length of every run.

    Returns
    -------
    ndarray, shape (sum of counts, ...)
        The runs, one after the other.
    """
    ptr = offsets(counts)
    gathered = np.empty((int(ptr[-1]), *values.shape[1:]), values.dtype)
    for first, last in chunks(ptr):
        positions = np.repeat(starts[first:last] - ptr[first:last], counts[first:last])
        positions += np.arange(ptr[first], ptr[last])
        # "clip" writes straight into the result; the default mode would buffer it
        np.take(values, positions, axis=0, out=gathered[ptr[first] : ptr[last]], mode="clip")
    return gathered
