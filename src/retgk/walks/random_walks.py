"""Monte Carlo return probabilities: walks that depend on the seed and their graph alone.

The random numbers of a walk are a hash of (seed, graph, start node, walk, step). So they are
the same whatever the number of threads and however a batch is cut, unless copies of a graph are to
walk apart, each with random numbers of its own. `_core.fill_collisions` and `_core.fill_returns`
walk.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import offsets

__all__ = ["WalkTable", "graph_hashes", "node_keys", "walk_table"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class WalkTable(NamedTuple):
    """
    What a step needs: slots, which lead to neighbours, inverse degrees, and alias tables.

    Slots of a node are its neighbours and, if there are self-loops, itself; without either it has
    one slot that stays.
    """

    node_ptr: NDArray[np.int64]
    slot_ptr: NDArray[np.int64]
    """First slot of every node."""
    targets: NDArray[np.int32]
    """Node that every slot leads to, numbered within its graph."""
    keys: NDArray[np.uint64]
    """One hash per node, which the random numbers of all walks from it come from."""
    degrees: NDArray[np.float64]
    """Sum of weights, the self-loop included."""
    inverse_degrees: NDArray[np.float64]
    """One for a node without edges and self-loop."""
    weights: NDArray[np.float64]
    """Weights of slots; empty if all are one."""
    thresholds: NDArray[np.float64]
    """Share of a slot that stays with its own target; empty if weights are."""
    aliases: NDArray[np.int32]
    """Node that the rest goes to."""


def walk_table(
    batch: GraphBatch, self_loop: float, seed: np.uint64, *, copies_share: bool = True
) -> WalkTable:
    """
    Prepare walks on a batch.

    Parameters
    ----------
    batch : GraphBatch
        The graphs.
    self_loop : float
        Weight of the loop that every node gets.
    seed : uint64
        Random bits.
    copies_share : bool, default=True
        Whether graphs with equal arrays have the same walks.

    Returns
    -------
    WalkTable
        Arrays for the compiled walks.
    """
    hashes = graph_hashes(batch)
    keys = node_keys(batch, hashes if copies_share else _told_apart(hashes), seed)
    has_loops = self_loop > 0
    is_weighted = batch.is_weighted or self_loop != has_loops
    slot_ptr = offsets(np.maximum(np.diff(batch.indptr) + has_loops, 1))
    n_slots, n_weights = slot_ptr[-1], slot_ptr[-1] * is_weighted
    degrees, targets = np.empty(batch.n_nodes), np.empty(n_slots, np.int32)
    tables = (np.empty(n_weights), np.empty(n_weights), np.empty(n_weights, np.int32))
    arrays = (batch.node_ptr, batch.indptr, batch.indices)
    weights = batch.weights if is_weighted else np.empty(0)
    _core.fill_slots(*arrays, weights, self_loop, slot_ptr, degrees, targets, *tables)
    inverse = 1 / np.where(degrees == 0, 1.0, degrees)
    return WalkTable(batch.node_ptr, slot_ptr, targets, keys, degrees, inverse, *tables)


def graph_hashes(batch: GraphBatch) -> NDArray[np.uint64]:
    """
    Hash the structure of every graph, wherever it stands in a batch.

    Parameters
    ----------
    batch : GraphBatch
        The graphs.

    Returns
    -------
    ndarray of uint64, shape (n_graphs,)
        Equal for graphs with equal arrays.
    """
    hashes = np.empty(len(batch), np.uint64)
    weights = batch.weights if batch.is_weighted else np.empty(0)
    _core.graph_hashes(batch.node_ptr, batch.indptr, batch.indices, weights, hashes)
    return hashes


def node_keys(batch: GraphBatch, hashes: NDArray[np.uint64], seed: np.uint64) -> NDArray[np.uint64]:
    """Hash of the seed and each node, wherever its graph stands in a batch."""
    keys = np.empty(batch.n_nodes, np.uint64)
    _core.node_keys(batch.node_ptr, hashes, int(seed), keys)
    return keys


def _told_apart(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hashes of which none is twice: first copies keep theirs, the others are counted."""
    _, code, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    order = np.argsort(code, kind="stable")
    copy = np.empty(len(hashes), np.uint64)
    copy[order] = np.arange(len(hashes)) - np.repeat(np.cumsum(counts) - counts, counts)
    return hashes + copy * _GOLDEN
