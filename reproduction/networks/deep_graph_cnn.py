"""
DGCNN: graph convolutions, sorted nodes, convolutions over them (Zhang et al., 2018).

From the paper: four graph convolutions ``tanh(D^-1 (A + I) Z W)`` of 32, 32, 32 and 1 channels,
whose outputs are joined; the nodes of a graph sorted by the last channel, of which k stay, so many
that a share of 0.6 of the graphs has more; a convolution of 16 channels over one node at a time,
the larger one of every two, and one of 32 channels over 5 places; 128 dense units with dropout of
one half. Our choices: at least ten nodes stay; nodes of graphs without labels have their relative
degree.
"""

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array

from reproduction.networks.inputs import NetworkInputs
from retgk._runtime.names import optional_module
from retgk.array_types import Ints

_GRAPH_CHANNELS = (32, 32, 32, 1)
_CHANNELS = (16, 32)
_LAST_FIELD = 5
_N_DENSE = 128
_SHARE = 0.6
_LEAST_KEPT = 10


def sorted_nodes_kept(sizes: Ints) -> int:
    """Number k of sorted nodes that stay: a share of 0.6 of the graphs has at least as many."""
    largest_first = np.sort(sizes)[::-1]
    return max(_LEAST_KEPT, int(largest_first[int(np.ceil(_SHARE * len(sizes))) - 1]))


class DeepGraphCNN:
    def __init__(self, inputs: NetworkInputs, n_classes: int) -> None:
        self._torch = optional_module("torch", "networks")
        nn = self._torch.nn
        widths = (inputs.n_features, *_GRAPH_CHANNELS)
        self._inputs = inputs
        self._n_kept = sorted_nodes_kept(inputs.sizes)
        joined = sum(_GRAPH_CHANNELS)
        n_flat = _CHANNELS[1] * (self._n_kept // 2 - _LAST_FIELD + 1)
        self._graph_layers = nn.ModuleList(
            nn.Linear(one, two, bias=False) for one, two in pairwise(widths)
        )
        # over one node at a time, a convolution is a product
        self._node_layer = nn.Linear(joined, _CHANNELS[0])
        self._sorted_layers = nn.Sequential(
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(_CHANNELS[0], _CHANNELS[1], _LAST_FIELD),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(n_flat, _N_DENSE),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(_N_DENSE, n_classes),
        )
        self.layers = nn.ModuleList([self._graph_layers, self._node_layer, self._sorted_layers])

    def scores(self, graphs: Ints) -> Any:
        kept = self._sorted(self._node_values(graphs), self._inputs.sizes[graphs])
        channels = self._node_layer(kept.unflatten(0, (len(graphs), -1)))
        return self._sorted_layers(channels.transpose(1, 2))

    def _node_values(self, graphs: Ints) -> Any:
        """Joined outputs of the graph convolutions for all nodes of some graphs."""
        torch, part = self._torch, self._inputs.part(graphs)
        matrix = _matrix_with_loops(part)
        divisors = torch.from_numpy(part.degrees.astype(np.float32) + 1)[:, None]
        first, *others = self._graph_layers
        # the features of a node are zero but for one, so that their product is a row of weights
        own = torch.nn.functional.embedding(torch.from_numpy(part.columns), first.weight.T)
        own = own * torch.from_numpy(part.values)[:, None]
        found = [torch.tanh(self._sums_of_neighbours(own, matrix) / divisors)]
        for layer in others:
            near = self._sums_of_neighbours(layer(found[-1]), matrix)
            found.append(torch.tanh(near / divisors))
        return torch.cat(found, dim=1)

    def _sums_of_neighbours(self, values: Any, matrix: csr_array) -> Any:
        return _symmetric_product(self._torch).apply(values, matrix)

    def _sorted(self, values: Any, sizes: Ints) -> Any:
        """First k nodes of every graph by their last value, the largest first; zeros for none."""
        torch, k = self._torch, self._n_kept
        graph = torch.from_numpy(np.repeat(np.arange(len(sizes)), sizes))
        # values are between -1 and 1, so that those of one graph stay together
        order = torch.argsort(4.0 * graph.double() - values[:, -1].detach(), stable=True)
        places = torch.from_numpy(np.concatenate([np.arange(size) for size in sizes]))
        is_kept = places < k
        kept = torch.zeros(len(sizes) * k, values.shape[1])
        return kept.index_copy(0, (graph * k + places)[is_kept], values[order][is_kept])


def _matrix_with_loops(inputs: NetworkInputs) -> csr_array:
    """A + I of all graphs."""
    n_nodes = len(inputs.columns)
    ones = np.ones(len(inputs.targets), np.float32)
    matrix = csr_array((ones, inputs.targets, inputs.edge_ptr), shape=(n_nodes, n_nodes))
    return (matrix + eye_array(n_nodes, dtype=np.float32, format="csr")).tocsr()


@cache
def _symmetric_product(torch: Any) -> Any:
    """Product with a symmetric sparse matrix, whose gradient is the same product."""

    class SymmetricProduct(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, values: Any, matrix: csr_array) -> Any:
            context.matrix = matrix
            return torch.from_numpy(matrix @ values.detach().numpy())

        @staticmethod
        def backward(context: Any, gradient: Any) -> tuple[Any, None]:
            return torch.from_numpy(context.matrix @ gradient.numpy()), None

    return SymmetricProduct
