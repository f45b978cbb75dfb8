"""Copies of graphs within a set, found by their return probabilities, labels and attributes."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.graphs.batch import GraphBatch
from retgk.walks.return_probabilities import return_probabilities

__all__ = ["Copies", "find_copies"]

_N_PROJECTIONS = 3
_TOLERANCE = 1e-9
"""Return probabilities of copies agree to about 1e-13; those of other graphs hardly ever so."""


class Copies(NamedTuple):
    """Which graphs stay, and what is known of the others."""

    kept: NDArray[np.int64]
    """First of every set of copies, rising."""
    first: NDArray[np.int64]
    """For every graph the first one that it is a copy of: itself where it stays."""

    def n_dropped(self) -> int:
        """Number of graphs that do not stay."""
        return len(self.first) - len(self.kept)

    def n_of_other_target(self, targets: NDArray[Any]) -> int:
        """Number of dropped graphs whose target is not that of the copy that stays."""
        return int(np.sum(targets != targets[self.first]))


def find_copies(graphs: GraphBatch, n_steps: int = 50) -> Copies:
    """
    Find graphs whose nodes have the same return probabilities, labels and attributes.

    Isomorphic graphs do (Proposition 1 of the paper); the few pairs of others that do, no
    kernel of this package can tell apart either. Nodes are compared by the values of some random
    linear functions, sorted within each label: sorting keeps small errors small, which rounding
    and hashing would not.

    Parameters
    ----------
    graphs : GraphBatch
        Graphs; labels and attributes count if they have them.
    n_steps : int, default=50
        Number of return probabilities.

    Returns
    -------
    Copies
        The first copy stays.

    Examples
    --------
    >>> path, edge = np.diag([1, 1], 1) + np.diag([1, 1], -1), np.ones((2, 2)) - np.eye(2)
    >>> from retgk import as_batch
    >>> find_copies(as_batch([path, edge, path[[1, 0, 2]][:, [1, 0, 2]]])).first
    array([0, 1, 0])
    """
    values = _node_values(graphs, n_steps)
    groups: dict[bytes, list[int]] = {}
    rows = []
    for graph, (start, stop) in enumerate(zip(graphs.node_ptr, graphs.node_ptr[1:], strict=False)):
        labels = graphs.labels[start:stop]
        rows.append(np.concatenate([_sorted(own, labels) for own in values[start:stop].T]))
        groups.setdefault(np.sort(labels).tobytes(), []).append(graph)
    first = np.arange(len(graphs))
    for group in groups.values():
        _mark_copies(group, rows, first)
    return Copies(np.flatnonzero(first == np.arange(len(graphs))), first)


def _sorted(values: NDArray[np.float64], labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Values, sorted by label and then by themselves."""
    return values[np.lexsort((values, labels))]


def _node_values(graphs: GraphBatch, n_steps: int) -> NDArray[np.float64]:
    """Some random linear functions of return probabilities and attributes of every node."""
    rng = np.random.default_rng(0)
    probabilities = return_probabilities(graphs, n_steps)
    values: NDArray[np.float64] = probabilities @ rng.uniform(-1, 1, (n_steps, _N_PROJECTIONS))
    if graphs.n_attributes:
        scale = np.maximum(np.abs(graphs.attributes).max(axis=0), 1e-300)
        weights = rng.uniform(-1, 1, (graphs.n_attributes, _N_PROJECTIONS))
        values += (graphs.attributes / scale) @ weights
    return values


def _mark_copies(
    group: list[int], rows: list[NDArray[np.float64]], first: NDArray[np.int64]
) -> None:
    """Give every graph of a group of equal labels the number of the first that it agrees with."""
    known = np.empty((len(group), len(rows[group[0]])))
    owners: list[int] = []
    for graph in group:
        gaps = np.abs(known[: len(owners)] - rows[graph]).max(axis=1, initial=0.0)
        same = np.flatnonzero(gaps < _TOLERANCE)
        if len(same):
            first[graph] = owners[same[0]]
        else:
            known[len(owners)] = rows[graph]
            owners.append(graph)
