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
from numpy.typing import NDArray

from retgk.array_types import Ints
from retgk.graphs.ragged import offsets
from retgk.paper.networks.network_inputs import NetworkInputs
from retgk.runtime.compiling import njit
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
    fields: NDArray[np.int32]
    """Shape (n_graphs, w, k)."""


def patchy_inputs(inputs: NetworkInputs, settings: Mapping[str, Any]) -> PatchyInputs:
    """Find the receptive fields of all graphs."""
    width = round(float(inputs.sizes.mean()))
    return PatchyInputs(inputs, receptive_fields(inputs, wl_ranks(inputs), width, settings["k"]))


def wl_ranks(inputs: NetworkInputs) -> Ints:
    """
    Rank of every node in its graph by refined degrees: a node of rank 0 has the largest.

    A round of refinement keeps the order of ranks, and splits equal ones by the ranks of their
    neighbours: by the sum of logarithms of primes, which nearly always tells multisets apart.
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


def receptive_fields(inputs: NetworkInputs, ranks: Ints, width: int, k: int) -> NDArray[np.int32]:
    """
    Nodes of the receptive fields of all graphs, shape (n_graphs, w, k); -1 where there are none.

    Roots are the first w nodes of a graph by rank. A field has the k nodes that are nearest to its
    root; those of one distance are in the order of their ranks. Equal ranks go by number.
    """
    graph = np.repeat(np.arange(len(inputs.sizes)), inputs.sizes)
    nodes = np.lexsort([ranks, graph])
    places = np.empty_like(nodes)
    places[nodes] = np.arange(len(nodes))
    edges = np.lexsort([places[inputs.targets], places[inputs.sources]])
    targets = places[inputs.targets[edges]]
    fields = np.full((len(inputs.sizes), width, k), -1)
    _fill_fields(fields, inputs.node_ptr, offsets(inputs.degrees[nodes]), targets)
    return np.where(fields < 0, -1, nodes[fields]).astype(np.int32)


@njit(cache=True, nogil=True)
def _fill_fields(fields: Ints, node_ptr: Ints, edge_ptr: Ints, targets: Ints) -> None:
    """Fill in the fields of graphs whose nodes, and neighbours of a node, are in their order."""
    for graph in range(len(fields)):
        n_roots = min(fields.shape[1], node_ptr[graph + 1] - node_ptr[graph])
        for place in range(n_roots):
            _fill_field(fields[graph, place], node_ptr[graph] + place, edge_ptr, targets)


@njit(cache=True, nogil=True)
def _fill_field(field: Ints, root: int, edge_ptr: Ints, targets: Ints) -> None:
    """
    Fill in the first nodes around a root, ring by ring.

    The nodes of a ring are inserted in order. A neighbour that comes after a full field ends the
    list of its node, whose other neighbours come later still; so a hub costs no more than others.
    """
    k = len(field)
    field[0] = root
    first, last = 0, 1
    while first < last < k:
        end = last
        for place in range(first, last):
            for edge in range(edge_ptr[field[place]], edge_ptr[field[place] + 1]):
                node = targets[edge]
                if end == k and node > field[k - 1]:
                    break
                end = _insert(field, node, last, end)
        first, last = last, end


@njit(cache=True, nogil=True)
def _insert(field: Ints, node: int, first: int, end: int) -> int:
    """Insert a node into the ring from `first` on unless it is there; returns the new end."""
    for place in range(first):
        if field[place] == node:
            return end
    place = end
    while place > first and field[place - 1] > node:
        place -= 1
    if place > first and field[place - 1] == node:
        return end
    end = min(end + 1, len(field))
    for later in range(end - 1, place, -1):
        field[later] = field[later - 1]
    field[place] = node
    return end


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
        self._torch = torch = optional_module("torch", "networks")
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
        # the last row, which is that of -1, is no node
        self._columns = torch.from_numpy(np.append(inputs.nodes.columns, 0))
        self._values = torch.from_numpy(np.append(inputs.nodes.values, np.float32(0)))

    def scores(self, graphs: Ints) -> Any:
        """Scores of the classes for some graphs."""
        fields = self._torch.from_numpy(self._fields[graphs]).long()
        return self.layers[1:](self._first_channels(fields))

    def _first_channels(self, fields: Any) -> Any:
        """Give what the first convolution makes of fields, shape (n_graphs, channels, w)."""
        first, values = self.layers[0], self._values[fields]
        if first.in_channels == 1:
            return first(values.flatten(1)[:, None])
        # a node has one number that is not zero, so that its product is a row of the weights
        _, n_columns, k = first.weight.shape
        rows = self._columns[fields] + n_columns * self._torch.arange(k)
        sums = self._torch.nn.functional.embedding_bag(
            rows.flatten(0, 1),
            first.weight.permute(2, 1, 0).flatten(0, 1),
            mode="sum",
            per_sample_weights=values.flatten(0, 1),
        )
        return (sums + first.bias).unflatten(0, fields.shape[:2]).transpose(1, 2)
