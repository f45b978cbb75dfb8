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

from reproduction.networks.inputs import NetworkInputs
from retgk._runtime.names import optional_module
from retgk.array_types import Ints
from retgk.graphs.flat import gather_runs, offsets

_N_ROUNDS = 5
_CHANNELS = (16, 8)
_SECOND_FIELD = 10
_N_DENSE = 128
_ROOTS_AT_ONCE = 1 << 14  # whose neighbours of neighbours take some 50 MB
_DIGITS = 9  # to which sums of logarithms are compared


@dataclass(frozen=True)
class PatchyInputs:
    """Inputs of the network: numbers of nodes, and the nodes of every field, -1 for none."""

    nodes: NetworkInputs
    fields: NDArray[np.int32]
    """Shape (n_graphs, w, k)."""


def patchy_inputs(inputs: NetworkInputs, settings: Mapping[str, Any]) -> PatchyInputs:
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


def _fill_fields(fields: Ints, node_ptr: Ints, edge_ptr: Ints, targets: Ints) -> None:
    """Fill in the fields of graphs whose nodes, and neighbours of a node, are in their order."""
    n_graphs, width, k = fields.shape
    n_roots = np.minimum(width, np.diff(node_ptr))
    places = np.arange(n_roots.sum()) - np.repeat(offsets(n_roots)[:-1], n_roots)
    roots = np.repeat(node_ptr[:-1], n_roots) + places
    rows = np.repeat(np.arange(n_graphs) * width, n_roots) + places
    flat = fields.reshape(-1, k)
    for first in range(0, len(roots), _ROOTS_AT_ONCE):
        some = slice(first, first + _ROOTS_AT_ONCE)
        flat[rows[some]] = _fields_around(roots[some], k, edge_ptr, targets)


def _fields_around(roots: Ints, k: int, edge_ptr: Ints, targets: Ints) -> Ints:
    """Fields around some roots, which grow ring by ring."""
    fields = np.full((len(roots), k), -1)
    fields[:, 0] = roots
    filled = np.ones(len(roots), np.int64)
    field, node = np.arange(len(roots)), roots
    while len(field):
        # of the neighbours of a node, those after the first k never come in
        counts = np.minimum(np.diff(edge_ptr)[node], k)
        field, node = np.repeat(field, counts), gather_runs(targets, edge_ptr[node], counts)
        is_new = (fields[field] != node[:, None]).all(axis=1)
        pairs = np.unique(field[is_new] * len(edge_ptr) + node[is_new])
        field, node = np.divmod(pairs, len(edge_ptr))
        place = filled[field] + np.arange(len(field)) - np.searchsorted(field, field)
        field, node, place = (part[place < k] for part in (field, node, place))
        fields[field, place] = node
        filled += np.bincount(field, minlength=len(filled))
    return fields


class PatchySan:
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
