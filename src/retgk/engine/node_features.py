"""What engines are fitted on: graphs, and the return probabilities of their nodes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.adjacency import Adjacency
from retgk.graphs.batch import GraphBatch, flat_arrays, trusted_batch
from retgk.graphs.missing_values import check_numbers
from retgk.graphs.ragged import chunks, gather_runs, graph_of, offsets
from retgk.kernels.node_kernels import Polynomial
from retgk.walks.return_probabilities import Walks
from retgk.walks.sampling import sample_nodes

__all__ = ["NodeFeatures", "check_attribute_sizes", "check_polynomial", "largest_attribute"]

_MAX_ATTRIBUTE = 1e150
"""Squares of differences of larger attributes, and sums of these, would not be numbers."""

_PIECE_NODES = 1 << 17  # nodes whose probabilities are in memory at a time: 50 MB
_MAX_SHARED_BYTES = 1 << 31


@dataclass(frozen=True, eq=False)
class NodeFeatures:
    """
    Graphs with the return probabilities of their nodes.

    Probabilities are found when they are first asked for: all at once where the exact engine wants
    them or where several engines share them, else piece by piece, so that a long batch does not
    fill the memory.

    Attributes
    ----------
    batch : GraphBatch
        The graphs, with their labels and attributes.
    walks : Walks
        How return probabilities are found.
    n_jobs : int or None
        Threads.
    source : NodeFeatures or None
        Features of the same graphs, of as many steps or more, whose probabilities are shared.
    """

    batch: GraphBatch
    walks: Walks
    n_jobs: int | None = None
    source: "NodeFeatures | None" = None

    def __post_init__(self) -> None:
        # here, where graphs have the numbers that users know
        self.walks.check(self.batch)
        attributes = self.batch.attributes
        if attributes.size and np.isnan(attributes.min()):
            check_numbers(attributes, self.batch.node_ptr)

    @cached_property
    def probabilities(self) -> Floats:
        """Return probabilities of all nodes, shape (n_nodes, n_steps)."""
        if self.source is not None:
            return np.ascontiguousarray(self.source.probabilities[:, : self.walks.n_steps])
        return self.walks.probabilities(self.batch, n_jobs=self.n_jobs)

    def with_attributes(self, attributes: Floats) -> "NodeFeatures":
        """Features of the same graphs with other attributes; nothing is walked again."""
        other = replace(
            self, batch=trusted_batch(flat_arrays(self.batch)._replace(attributes=attributes))
        )
        if "probabilities" in vars(self):
            vars(other)["probabilities"] = self.probabilities
        return other

    def check_steps(self, n_steps: int) -> None:
        """Raise unless there are as many return probabilities as fitted graphs had."""
        if self.walks.n_steps != n_steps:
            raise InvalidInputError(
                f"the nodes have {self.walks.n_steps} return probabilities, those of the fitted "
                f"graphs have {n_steps}; use the walks that the engine was fitted with"
            )

    def shared_by_steps(self, n_steps: Sequence[int]) -> list["NodeFeatures"]:
        """
        Features for each number of steps, none above that of the walks, from one computation.

        Where probabilities of all nodes would take too much memory, each computes its own.
        """
        n_bytes = 8 * self.batch.n_nodes * self.walks.n_steps
        source = self if len(n_steps) > 1 and n_bytes <= _MAX_SHARED_BYTES else None
        return [replace(self, walks=replace(self.walks, n_steps=n), source=source) for n in n_steps]

    def probabilities_of_nodes(self, nodes: Ints) -> Floats:
        """Return probabilities of some nodes; the others are not walked from unless shared."""
        if self._is_whole:
            return self.probabilities[nodes]
        return self.walks.probabilities(self.batch, nodes=nodes, n_jobs=self.n_jobs)

    def of_graphs(self, graphs: Ints) -> "NodeFeatures":
        """Features of some graphs."""
        known = None
        if self._is_whole:
            starts, sizes = self.batch.node_ptr[graphs], self.batch.node_counts[graphs]
            known = gather_runs(self.probabilities, starts, sizes)
        return self.with_batch(self.batch[graphs], known)

    def drawn_nodes(self) -> Ints | None:
        """Nodes that stand for their graphs, numbered over the batch; None for all."""
        if self.walks.nodes is None:
            return None
        return sample_nodes(self.batch, self.walks.nodes, random_state=self.walks.seed)

    def of_nodes(self, nodes: Ints | None) -> "NodeFeatures":
        """Features of some nodes of each graph, as of graphs without edges; None for all."""
        if nodes is None:
            return self
        arrays = flat_arrays(self.batch)
        n_kept = np.diff(np.searchsorted(nodes, arrays.node_ptr))
        no_edges = Adjacency(np.zeros(len(nodes) + 1, np.int64), np.empty(0, np.int32), None)
        kept = arrays._replace(
            node_ptr=offsets(n_kept),
            adjacency=no_edges,
            labels=None if arrays.labels is None else arrays.labels[nodes],
            attributes=arrays.attributes[nodes],
            edge_labels=None,
        )
        known = self.probabilities_of_nodes(nodes)
        whole = replace(self, walks=replace(self.walks, nodes=None))
        return whole.with_batch(trusted_batch(kept), known)

    def pieces(self, batch_size: int | None = None) -> Iterator[tuple[int, "NodeFeatures"]]:
        """
        Cut the graphs into pieces that are worked on one after the other.

        A piece has so many graphs, or as many as have about 130,000 nodes; it is given with the
        position of its first graph.
        """
        ptr = self.batch.node_ptr
        for first, last in chunks(ptr, _PIECE_NODES, batch_size):
            known = self.probabilities[ptr[first] : ptr[last]] if self._is_whole else None
            yield first, self.with_batch(self.batch[first:last], known)

    @property
    def _is_whole(self) -> bool:
        """Whether the probabilities of all nodes are in memory, or will be."""
        return "probabilities" in vars(self) or self.source is not None

    def with_batch(self, batch: GraphBatch, known: Floats | None = None) -> "NodeFeatures":
        """Features of other graphs by the same walks; their probabilities may be known already."""
        other = NodeFeatures(batch, self.walks, self.n_jobs)
        if known is not None:
            if known.shape != (batch.n_nodes, self.walks.n_steps):
                raise InvalidInputError(
                    f"probabilities have shape {known.shape}, but there are {batch.n_nodes} nodes "
                    f"and {self.walks.n_steps} steps"
                )
            vars(other)["probabilities"] = known
        return other


def check_attribute_sizes(batch: GraphBatch) -> None:
    """Raise where an attribute is so large that squares of differences are no numbers."""
    attributes = batch.attributes
    if attributes.size and max(attributes.max(), -attributes.min()) > _MAX_ATTRIBUTE:
        raise InvalidInputError(
            f"{largest_attribute(batch)}, which is too large to compute with; if it stands for a "
            "missing value, fill it in, else scale the attributes"
        )


def largest_attribute(batch: GraphBatch) -> str:
    """Say where the largest attribute of a batch is: graph, node, column and value."""
    node, column = np.unravel_index(np.abs(batch.attributes).argmax(), batch.attributes.shape)
    graph = graph_of(batch.node_ptr, int(node))
    return (
        f"graph {graph}: attribute {column} of node {node - batch.node_ptr[graph]} is "
        f"{batch.attributes[node, column]:g}"
    )


def check_polynomial(kernel: object, points: Floats, batch: GraphBatch) -> None:
    """Raise if a kernel is a polynomial that is too large for points of these nodes."""
    if isinstance(kernel, Polynomial) and kernel.largest_value(points) > _MAX_ATTRIBUTE:
        raise InvalidInputError(
            f"{largest_attribute(batch)}, at which {kernel} is too large to compute with; scale "
            "the attributes, or choose a smaller gamma or degree"
        )
