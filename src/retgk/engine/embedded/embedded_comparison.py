"""New graphs beside fitted ones, as vectors of random Fourier features."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bsr_array

from retgk import _core
from retgk.array_types import Floats, Ints
from retgk.engine.embedded.embedding_gram import embedding_products, squared_vector_norms
from retgk.engine.node_features import NodeFeatures
from retgk.graphs.ragged import chunks

__all__ = ["EmbeddedComparison"]

_PIECE_NUMBERS = 1 << 21  # of the vectors of the nodes that are in memory at a time


@dataclass(frozen=True, eq=False)
class EmbeddedComparison:
    """
    Vectors of new graphs beside those of fitted ones.

    Attributes
    ----------
    vectors, fitted : bsr_array, shape (n_new, n_features) and (n_fitted, n_features)
        Vectors of new and of fitted graphs.
    features : NodeFeatures
        The new graphs.
    node_vectors : callable
        Gives the vectors of a range of the nodes of some graphs; each has one block, or none
        for a label that is not known.
    phase_values : callable or None
        Gives the inner products of all nodes with a vector for each graph at once, where labels
        turn phases and every graph has one block.
    """

    vectors: bsr_array
    fitted: bsr_array
    features: NodeFeatures
    node_vectors: Callable[[NodeFeatures, slice], bsr_array]
    phase_values: Callable[[NodeFeatures, NDArray[Any]], Floats] | None = None

    def products(self) -> Floats:
        """``<m_G, m_H>`` of new graphs G with fitted graphs H, shape (n_new, n_fitted)."""
        return embedding_products(self.vectors, self.fitted, n_jobs=self.features.n_jobs)

    def squared_norms(self) -> Floats:
        """``<m_G, m_G>`` of the new graphs, shape (n_new,)."""
        return squared_vector_norms(self.vectors)

    def node_values(self, weights: Floats, own_weights: Floats) -> Floats:
        """``<phi(v), u_G>`` of all nodes for sums u_G of mean embeddings, shape (n_nodes,)."""
        directions = self._directions(weights, own_weights)
        if self.phase_values is not None:
            return self.phase_values(self.features, directions)
        ptr = self.features.batch.node_ptr
        values, size = np.zeros(int(ptr[-1])), max(1, _PIECE_NUMBERS // directions.shape[1])
        graph_of_node = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        for first, last in chunks(ptr, size):
            piece = self.features.of_graphs(np.arange(first, last))
            for start in range(ptr[first], ptr[last], size):  # a single graph may be larger
                own = slice(start, min(start + size, ptr[last]))
                within = slice(own.start - ptr[first], own.stop - ptr[first])
                nodes = self.node_vectors(piece, within)
                self._fill(nodes, graph_of_node[own], directions, values[own])
        return values

    def _directions(self, weights: Floats, own_weights: Floats) -> NDArray[Any]:
        """Sums u_G, for the labels of their graphs alone: in blocks like those of `vectors`."""
        directions = np.zeros_like(self.vectors.data[:, 0])
        graphs, fitted = _graph_of_block(self.vectors), _graph_of_block(self.fitted)
        for label in np.unique(self.vectors.indices):
            own = np.flatnonzero(self.vectors.indices == label)
            others = np.flatnonzero(self.fitted.indices == label)
            if len(others):
                is_all = len(own) == len(weights) and len(others) == weights.shape[1]
                x = weights if is_all else weights[np.ix_(graphs[own], fitted[others])]
                y = self.fitted.data[others, 0].T
                directions[own] = embedding_products(x, y, n_jobs=self.features.n_jobs)
        directions += own_weights[graphs, None] * self.vectors.data[:, 0]
        return directions

    def _fill(self, nodes: bsr_array, graphs: Ints, directions: Any, values: Floats) -> None:
        """Write the values of some nodes; those of labels that are not known stay zero."""
        n_labels = self.vectors.shape[1] // self.vectors.blocksize[1]
        keys = _graph_of_block(self.vectors) * n_labels + self.vectors.indices
        places = _graph_of_block(nodes)
        blocks = np.searchsorted(keys, graphs[places] * n_labels + nodes.indices)
        _core.write_row_dots(nodes.data[:, 0], places, directions, blocks, values)


def _graph_of_block(vectors: bsr_array) -> Ints:
    return np.repeat(np.arange(vectors.shape[0]), np.diff(vectors.indptr))
