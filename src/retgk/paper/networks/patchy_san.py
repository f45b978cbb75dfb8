"""
PSCN, or PATCHY-SAN: convolutions over receptive fields of nodes (Niepert et al., 2016).

From the paper: a sequence of w nodes, w the mean number of nodes of the graphs; a receptive field
of k = 10 nodes around each, found by breadth-first search; both are ordered by a labelling of
nodes, for which the one-dimensional Weisfeiler-Lehman algorithm is used; two convolutions of 16 and
8 channels, the first over one field at a time, the second over 10 fields; 128 dense units with
dropout of one half. Our choices: the labelling starts with degrees, the largest first, and what it
leaves equal is ordered by number; nodes of graphs without labels have their relative degree.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from retgk.array_types import Ints
from retgk.paper.networks.network_inputs import NetworkInputs
from retgk.runtime.optional_packages import optional_module

__all__ = ["PatchyInputs", "PatchySan", "patchy_inputs", "receptive_fields", "wl_ranks"]

_N_ROUNDS = 5
_CHANNELS = (16, 8)
_SECOND_FIELD = 10
_N_DENSE = 128
_DIGITS = 9  # to which sums of logarithms are compared


@dataclass(frozen=True)
class PatchyInputs:
    """Inputs of the network: numbers of nodes, and the nodes of every field, -1 for none."""

    nodes: NetworkInputs
    fields: Ints
    """Shape (n_graphs, w, k)."""


def patchy_inputs(inputs: NetworkInputs, settings: Mapping[str, Any]) -> PatchyInputs:
    """Find the receptive fields of all graphs."""
    width = round(float(inputs.sizes.mean()))
    ranks = wl_ranks(inputs)
    fields = np.full((len(inputs.sizes), width, settings["k"]), -1)
    for graph in range(len(fields)):
        fields[graph] = receptive_fields(inputs, graph, ranks, fields.shape[1:])
    return PatchyInputs(inputs, fields)


def wl_ranks(inputs: NetworkInputs) -> Ints:
    """
    Rank of every node in its graph by refined degrees: a node of rank 0 has the largest.

    A round of refinement keeps the order of ranks, and splits equal ones by the ranks of their
    neighbours: by the sum of logarithms of primes, which tells multisets apart.
    """
    logarithms = np.log(_first_primes(int(inputs.sizes.max())))
    graph = np.repeat(np.arange(len(inputs.sizes)), inputs.sizes)
    ranks = _dense_ranks(graph, -inputs.degrees)
    for _ in range(_N_ROUNDS):
        sums = np.bincount(inputs.sources, logarithms[ranks[inputs.targets]], len(graph))
        ranks = _dense_ranks(graph, ranks, np.round(sums, _DIGITS))
    return ranks


def _first_primes(count: int) -> Ints:
    limit = 20 + int(count * (np.log(count + 2) + np.log(np.log(count + 3))))
    is_prime = np.ones(limit + 1, bool)
    is_prime[:2] = False
    for number in range(2, int(limit**0.5) + 1):
        if is_prime[number]:
            is_prime[number * number :: number] = False
    return np.flatnonzero(is_prime)[:count]


def _dense_ranks(graph: Ints, *keys: Any) -> Ints:
    """Rank of every node among those of its graph, by the first key, then by the next."""
    order = np.lexsort([*keys[::-1], graph])
    is_new = np.zeros(len(graph), bool)
    for key in (graph, *keys):
        own = key[order]
        is_new[1:] |= own[1:] != own[:-1]
    numbers = np.cumsum(is_new)
    starts = np.searchsorted(graph[order], graph)
    ranks = np.empty(len(graph), np.int64)
    ranks[order] = numbers
    return np.asarray(ranks - numbers[starts])


def receptive_fields(
    inputs: NetworkInputs, graph: int, ranks: Ints, shape: tuple[int, ...]
) -> Ints:
    """
    Nodes of the receptive fields of a graph, shape (w, k); -1 where there are not as many.

    Roots are the first w nodes by rank. A field has the k nodes that are nearest to its root; those
    of one distance are in the order of their ranks.
    """
    width, k = shape
    first, last = inputs.node_ptr[graph : graph + 2]
    roots = first + np.lexsort([np.arange(last - first), ranks[first:last]])[:width]
    fields = np.full((width, k), -1)
    for place, root in enumerate(roots.tolist()):
        found = _nearest_nodes(inputs, root, ranks, k)
        fields[place, : len(found)] = found
    return fields


def _nearest_nodes(inputs: NetworkInputs, root: int, ranks: Ints, k: int) -> list[int]:
    found, ring, seen = [root], [root], {root}
    while ring and len(found) < k:
        near = {
            node
            for own in ring
            for node in inputs.targets[inputs.edge_ptr[own] : inputs.edge_ptr[own + 1]].tolist()
        }
        ring = sorted(near - seen, key=lambda node: (ranks[node], node))
        seen.update(ring)
        found += ring
    return found[:k]


class PatchySan:
    """
    Convolutions over receptive fields.

    Parameters
    ----------
    inputs : PatchyInputs
        All graphs.
    n_classes : int
        Number of classes.
    """

    def __init__(self, inputs: PatchyInputs, n_classes: int) -> None:
        torch = optional_module("torch", "networks")
        nn = torch.nn
        _, width, k = inputs.fields.shape
        second = min(_SECOND_FIELD, width)
        n_flat = _CHANNELS[1] * (width - second + 1)
        self.layers = nn.Sequential(
            nn.Conv1d(inputs.nodes.n_features, _CHANNELS[0], k, stride=k),
            nn.ReLU(),
            nn.Conv1d(_CHANNELS[0], _CHANNELS[1], second),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(n_flat, _N_DENSE),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(_N_DENSE, n_classes),
        )
        self._fields = inputs.fields
        nothing = np.zeros((1, inputs.nodes.n_features), np.float32)  # the row of "no node", -1
        self._features = torch.from_numpy(np.concatenate([inputs.nodes.features, nothing]))

    def scores(self, graphs: Ints) -> Any:
        """Scores of the classes for some graphs."""
        own = self._features[self._fields[graphs].reshape(len(graphs), -1)]
        return self.layers(own.transpose(1, 2))
