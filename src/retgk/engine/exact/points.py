"""Node features as plain arrays, and the distinct points that they are reduced to."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.ragged import gather_runs, offsets

__all__ = ["DistinctPoints", "NodePoints"]


_CHUNK_NODES = 1 << 11  # with 50 features they fit the second-level cache


@dataclass(frozen=True, eq=False)
class NodePoints:
    """
    Features of the nodes of many graphs.

    Attributes
    ----------
    blocks : tuple of ndarray of float64, each of shape (n_nodes, dimension)
        Return probabilities and attributes, one block for each factor of the node kernel.
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph. No graph is empty.
    labels : ndarray of int, shape (n_nodes,), optional
        Label codes. A negative code matches nothing, not even itself.
    """

    blocks: tuple[Floats, ...]
    node_ptr: Ints
    labels: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        if not self.blocks:
            raise InvalidInputError("the nodes have no features: blocks is empty")
        for b, block in enumerate(self.blocks):
            if block.ndim != 2 or len(block) != self.n_nodes or block.shape[1] == 0:
                raise InvalidInputError(
                    f"block {b} must have shape ({self.n_nodes}, at least 1), got {block.shape}"
                )
        if self.labels is not None and self.labels.shape != (self.n_nodes,):
            raise InvalidInputError(
                f"got {len(self.labels)} labels for {self.n_nodes} nodes; pass one for each"
            )

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all graphs together."""
        return int(self.node_ptr[-1])

    @property
    def n_graphs(self) -> int:
        """Number of graphs."""
        return len(self.node_ptr) - 1

    def graph_of_node(self) -> Ints:
        """Graph of every node."""
        return np.repeat(np.arange(self.n_graphs), np.diff(self.node_ptr))

    def label_codes(self) -> NDArray[np.int32]:
        """Labels, zeros where there are none."""
        return np.zeros(self.n_nodes, np.int32) if self.labels is None else self.labels

    def of_graphs(self, graphs: Ints) -> "NodePoints":
        """
        Keep the nodes of some graphs.

        Parameters
        ----------
        graphs : ndarray of int64, shape (n_kept,)
            Graphs, in the order of the result.

        Returns
        -------
        NodePoints
            Their nodes.
        """
        starts, sizes = self.node_ptr[graphs], np.diff(self.node_ptr)[graphs]
        return NodePoints(
            tuple(gather_runs(block, starts, sizes) for block in self.blocks),
            offsets(sizes),
            None if self.labels is None else gather_runs(self.labels, starts, sizes),
        )

    def graph_chunks(self) -> Iterator[tuple[int, int]]:
        """Ranges of whole graphs of some thousand nodes together."""
        start = 0
        while start < self.n_graphs:
            full = self.node_ptr[start] + _CHUNK_NODES
            stop = int(np.searchsorted(self.node_ptr, full, side="right")) - 1
            stop = max(stop, start + 1)
            yield start, stop
            start = stop


@dataclass(frozen=True, eq=False)
class DistinctPoints:
    """
    Distinct points of many graphs: ``m_G = sum_e [entry_graphs[e] == G] weight_e phi(point_e)``.

    Points are sorted by label and then by their first graph, entries by their point.

    Attributes
    ----------
    coordinates : ndarray of float64, shape (n_points, n_coordinates)
        Points in the coordinates of the tiles (scaled, rotated, padded).
    labels : ndarray of int32, shape (n_points,)
        Label of every point, not negative.
    entry_points, entry_graphs : ndarray of int64, shape (n_entries,)
        Which point occurs in which graph.
    entry_weights : ndarray of float64, shape (n_entries,)
        The share of the nodes of the graph that the point stands for.
    n_graphs : int
        Number of graphs.
    """

    coordinates: Floats
    labels: NDArray[np.int32]
    entry_points: Ints
    entry_graphs: Ints
    entry_weights: Floats
    n_graphs: int

    def __len__(self) -> int:
        return len(self.labels)

    def of_graphs(self, start: int, stop: int) -> "DistinctPoints":
        """
        Keep a range of graphs, to make a large matrix block by block.

        Parameters
        ----------
        start, stop : int
            First graph, and the one after the last.

        Returns
        -------
        DistinctPoints
            The points of these graphs.
        """
        chosen = (self.entry_graphs >= start) & (self.entry_graphs < stop)
        kept, entry_points = np.unique(self.entry_points[chosen], return_inverse=True)
        return DistinctPoints(
            self.coordinates[kept],
            self.labels[kept],
            entry_points.astype(np.int64),
            self.entry_graphs[chosen] - start,
            self.entry_weights[chosen],
            stop - start,
        )

    def chosen(self, graphs: Ints) -> "DistinctPoints":
        """
        Keep some graphs.

        Parameters
        ----------
        graphs : ndarray of int64, shape (n_kept,)
            Graphs, in the order of the result, each at most once.

        Returns
        -------
        DistinctPoints
            The points that these graphs have, where they were.
        """
        place = np.full(self.n_graphs, -1)
        place[graphs] = np.arange(len(graphs))
        own = np.flatnonzero(place[self.entry_graphs] >= 0)
        own = own[np.lexsort((place[self.entry_graphs[own]], self.entry_points[own]))]
        kept, entry_points = np.unique(self.entry_points[own], return_inverse=True)
        return DistinctPoints(
            self.coordinates[kept],
            self.labels[kept],
            entry_points.astype(np.int64),
            place[self.entry_graphs[own]],
            self.entry_weights[own],
            len(graphs),
        )

    def moved(self, coordinates: Floats) -> "DistinctPoints":
        """Give the same points other coordinates."""
        return replace(self, coordinates=coordinates)
