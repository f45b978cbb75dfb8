"""What networks see of graphs: numbers of nodes, and their edges, for some graphs at a time."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Ints
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import first_of_run, gather_runs, offsets


@dataclass(frozen=True)
class NetworkInputs:
    """Graphs as networks want them; nodes are numbered over all graphs."""

    node_ptr: Ints
    sources: Ints
    """Of edges in both directions, by source."""
    targets: Ints
    edge_ptr: Ints
    columns: Ints
    """Of every node, the one of its features that is not zero: its label."""
    values: NDArray[np.float32]
    """That feature: one; without labels, the degree over the largest of the graph."""
    n_features: int

    @property
    def sizes(self) -> Ints:
        return np.diff(self.node_ptr)

    @property
    def degrees(self) -> Ints:
        return np.diff(self.edge_ptr)

    def part(self, graphs: Ints) -> "NetworkInputs":
        """Give the same of some graphs, one after the other."""
        sizes = self.sizes[graphs]
        nodes = gather_runs(np.arange(self.node_ptr[-1]), self.node_ptr[graphs], sizes)
        degrees = self.degrees[nodes]
        place = np.empty(self.node_ptr[-1], np.int64)
        place[nodes] = np.arange(len(nodes))
        ends = gather_runs(self.targets, self.edge_ptr[nodes], degrees)
        sources = np.repeat(np.arange(len(nodes)), degrees)
        return NetworkInputs(
            offsets(sizes),
            sources,
            place[ends],
            offsets(degrees),
            self.columns[nodes],
            self.values[nodes],
            self.n_features,
        )


def network_inputs(graphs: GraphBatch) -> NetworkInputs:
    """Make the inputs of networks; attributes, weights and self-loops have no part in them."""
    sources = np.repeat(np.arange(graphs.n_nodes), np.diff(graphs.indptr))
    targets = graphs.indices + first_of_run(graphs.node_ptr)[sources]
    is_edge = sources != targets
    sources, targets = sources[is_edge], targets[is_edge]
    degrees = np.bincount(sources, minlength=graphs.n_nodes)
    if graphs.has_labels:
        columns, n_features = graphs.labels.astype(np.int64), len(graphs.label_names)
        values = np.ones(graphs.n_nodes, np.float32)
    else:
        columns, n_features = np.zeros(graphs.n_nodes, np.int64), 1
        values = _degree_shares(graphs.node_ptr, degrees)
    return NetworkInputs(
        graphs.node_ptr, sources, targets, offsets(degrees), columns, values, n_features
    )


def _degree_shares(node_ptr: Ints, degrees: Ints) -> NDArray[np.float32]:
    largest = np.maximum.reduceat(degrees, node_ptr[:-1])
    shares = degrees / np.maximum(np.repeat(largest, np.diff(node_ptr)), 1)
    return np.asarray(shares, np.float32)
