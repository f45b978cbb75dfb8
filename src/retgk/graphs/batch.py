"""GraphBatch, the only graph class: many graphs in flat, read-only arrays."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgk.array_types import Codes, Floats, Ints
from retgk.graphs.adjacency import Adjacency, adjacency_from_edges, adjacency_from_rows
from retgk.graphs.edge_checks import Symmetrize
from retgk.graphs.edge_labels import EdgeLabels, edge_labels_of_edges, edge_labels_of_rows
from retgk.graphs.missing_values import Missing
from retgk.graphs.ragged import first_of_run, offsets
from retgk.graphs.reading import Reading
from retgk.graphs.slicing import (
    FlatGraphs,
    are_equal,
    chosen_graphs,
    counts_in_words,
    joined_graphs,
    read_only,
    run_of_graphs,
)
from retgk.graphs.validation import (
    checked_attributes,
    checked_edges,
    checked_graphs,
    checked_labels,
    checked_node_ptr,
    checked_parts,
    checked_positions,
    checked_sizes,
    integers,
    weight_array,
)

__all__ = ["GraphBatch", "flat_arrays", "trusted_batch", "with_reading"]


Labels = Sequence[Hashable] | NDArray[Any]
"""One label for each node."""


class GraphBatch(Sequence["GraphBatch"]):
    """
    Many undirected graphs in flat, contiguous, read-only CSR arrays.

    A batch is a sequence of graphs; one graph is a batch of length one. It is checked
    when it is built, so that nothing that receives one has to check it again. Parallel
    edges add up, edges of weight zero are dropped, self-loops are kept.

    Parameters
    ----------
    node_ptr : array-like of int, shape (n_graphs + 1,)
        First node of every graph, and the number of nodes.
    indptr : array-like of int, shape (n_nodes + 1,)
        First entry of every node in `indices`.
    indices : array-like of int, shape (n_entries,)
        Neighbours, numbered within their graph. Both directions of an edge are listed.
    weights : array-like of float, shape (n_entries,), optional
        Edge weights, finite and not negative. Ones by default.
    labels : sequence of hashable, shape (n_nodes,), optional
        Discrete node labels.
    attributes : array-like of float, shape (n_nodes, n_attributes), optional
        Continuous node attributes.
    edge_labels : sequence of hashable, shape (n_entries,), optional
        Discrete labels of edges, the same in both directions. Kernels use them to refine the
        labels of nodes, so only with ``depth`` above zero.
    symmetrize : bool or {"max", "mean", "sum"}, default=False
        Whether to make directed input undirected: an edge gets the larger of the weights of its
        two directions, their mean (none is 0) or their sum; True is "max". Otherwise directed
        input is an error.
    missing : {"error", "label", "nan", "keep"}, default="error"
        What becomes of None and NaN, as in `from_networkx`.

    Attributes
    ----------
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph.
    indptr : ndarray of int64, shape (n_nodes + 1,)
        First entry of every node.
    indices : ndarray of int32, shape (n_entries,)
        Neighbours, numbered within their graph, rising within a row.
    attributes : ndarray of float64, shape (n_nodes, n_attributes)
        Node attributes; of width zero when absent.
    label_names : tuple of hashable
        Vocabulary of the labels; empty when absent.
    reading : Reading or None
        How a converter or reader made the graphs, so that a model can read new ones alike; None
        where they, or their labels or attributes, were made by hand.

    Examples
    --------
    >>> triangle_and_edge = GraphBatch.from_edges([3, 2], [[0, 1], [1, 2], [2, 0], [3, 4]],
    ...                                           symmetrize=True)
    >>> triangle_and_edge
    GraphBatch(2 graphs, 5 nodes, 4 edges)
    >>> triangle_and_edge[1].n_nodes
    2
    """

    __slots__ = (
        "_edge_labels",
        "_labels",
        "_weights",
        "attributes",
        "indices",
        "indptr",
        "label_names",
        "node_ptr",
        "reading",
    )

    node_ptr: Ints
    indptr: Ints
    indices: NDArray[np.int32]
    attributes: Floats
    label_names: tuple[Hashable, ...]
    reading: Reading | None
    _weights: Floats | None
    _labels: Codes | None
    _edge_labels: EdgeLabels | None

    def __init__(
        self,
        node_ptr: ArrayLike,
        indptr: ArrayLike,
        indices: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        labels: Labels | None = None,
        attributes: ArrayLike | None = None,
        edge_labels: Labels | EdgeLabels | None = None,
        symmetrize: Symmetrize = False,
        missing: Missing = "error",
    ) -> None:
        nodes = checked_node_ptr(node_ptr)
        rows = (
            integers(indptr, "indptr").astype(np.int64, copy=False),
            integers(indices, "indices"),
        )
        adjacency = adjacency_from_rows(nodes, *rows, weight_array(weights), symmetrize)
        arrays = checked_graphs(nodes, adjacency, labels, attributes, missing)
        own = edge_labels_of_rows(nodes, adjacency, rows, edge_labels, symmetrize, missing)
        self._assign(arrays._replace(edge_labels=own))

    @classmethod
    def from_edges(
        cls,
        n_nodes: int | ArrayLike,
        edges: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        labels: Labels | None = None,
        attributes: ArrayLike | None = None,
        edge_labels: Labels | EdgeLabels | None = None,
        symmetrize: Symmetrize = False,
        missing: Missing = "error",
    ) -> Self:
        """
        Build a batch from one list of edges.

        Parameters
        ----------
        n_nodes : int or array-like of int, shape (n_graphs,)
            Number of nodes of every graph; a plain number makes one graph.
        edges : array-like of int, shape (n_edges, 2)
            Source and target of every edge, numbered over the whole batch from 0; in any
            order, quickest graph after graph.
        weights : array-like of float, shape (n_edges,), optional
            Edge weights.
        labels : sequence of hashable, shape (n_nodes,), optional
            Node labels.
        attributes : array-like of float, shape (n_nodes, n_attributes), optional
            Node attributes.
        edge_labels : sequence of hashable, shape (n_edges,), optional
            Labels of the edges, which count with ``depth`` above zero.
        symmetrize : bool or {"max", "mean", "sum"}, default=False
            Whether each edge stands for both directions.
        missing : {"error", "label", "nan", "keep"}, default="error"
            What becomes of None and NaN.

        Returns
        -------
        GraphBatch
            The checked batch.
        """
        nodes = checked_node_ptr(offsets(checked_sizes(n_nodes)))
        ends = checked_edges(edges).T
        adjacency = adjacency_from_edges(nodes, ends, weight_array(weights), symmetrize)
        arrays = checked_graphs(nodes, adjacency, labels, attributes, missing)
        own = edge_labels_of_edges(nodes, adjacency, ends, edge_labels, symmetrize, missing)
        return cls._of_arrays(arrays._replace(edge_labels=own))

    @classmethod
    def concatenate(cls, batches: Iterable["GraphBatch"]) -> "GraphBatch":
        """
        Put batches one after the other; their label vocabularies are joined.

        All batches, of which there is at least one, have the same number of attributes, and
        either all or none have labels of nodes and of edges.
        """
        parts: list[GraphBatch] = checked_parts(batches, GraphBatch)
        if len(parts) == 1:
            return parts[0]
        return cls._of_arrays(joined_graphs([part._arrays() for part in parts]))

    @classmethod
    def _of_arrays(cls, arrays: FlatGraphs) -> Self:
        """Build a batch from arrays that are known to be good."""
        batch = cls.__new__(cls)
        batch._assign(arrays)
        return batch

    def _assign(self, arrays: FlatGraphs) -> None:
        indptr, indices, weights = arrays.adjacency
        self.node_ptr = read_only(arrays.node_ptr)
        self.indptr = read_only(indptr)
        self.indices = read_only(indices)
        self._weights = None if weights is None else read_only(weights)
        self._labels = None if arrays.labels is None else read_only(arrays.labels)
        self.label_names = arrays.label_names
        self.attributes = read_only(arrays.attributes)
        self.reading, self._edge_labels = arrays.reading, arrays.edge_labels

    def _arrays(self) -> FlatGraphs:
        adjacency = Adjacency(self.indptr, self.indices, self._weights)
        nodes = (self._labels, self.label_names, self.attributes)
        return FlatGraphs(self.node_ptr, adjacency, *nodes, self.reading, self._edge_labels)

    @property
    def weights(self) -> Floats:
        """Edge weights, one per entry of `indices`; made on the spot when all are one."""
        return read_only(np.ones(len(self.indices))) if self._weights is None else self._weights

    @property
    def labels(self) -> Codes:
        """Node labels as positions in `label_names`; all zero when there are none."""
        return read_only(np.zeros(self.n_nodes, np.int32)) if self._labels is None else self._labels

    @property
    def edge_labels(self) -> Codes:
        """Labels of edges as positions in `edge_label_names`; all zero when there are none."""
        none = np.zeros(len(self.indices), np.int32)
        return read_only(none if self._edge_labels is None else self._edge_labels.codes)

    @property
    def edge_label_names(self) -> tuple[Hashable, ...]:
        """Vocabulary of the labels of edges; empty when absent."""
        return () if self._edge_labels is None else self._edge_labels.names

    @property
    def has_edge_labels(self) -> bool:
        """Whether edges have labels."""
        return self._edge_labels is not None

    @property
    def is_weighted(self) -> bool:
        """Whether any edge weight differs from one."""
        return self._weights is not None

    @property
    def has_labels(self) -> bool:
        """Whether nodes have labels."""
        return self._labels is not None

    @property
    def n_graphs(self) -> int:
        """Number of graphs."""
        return len(self.node_ptr) - 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all graphs together."""
        return int(self.node_ptr[-1])

    @property
    def n_edges(self) -> int:
        """Number of undirected edges of all graphs together, self-loops included."""
        return (len(self.indices) + int(self._is_loop().sum())) // 2

    @property
    def n_attributes(self) -> int:
        """Number of attributes per node; zero when absent."""
        return int(self.attributes.shape[1])

    @property
    def node_counts(self) -> Ints:
        """Number of nodes of every graph."""
        return np.diff(self.node_ptr)

    @property
    def edge_counts(self) -> Ints:
        """Number of undirected edges of every graph, self-loops included."""
        entry_ptr = self.indptr[self.node_ptr]
        loops = offsets(self._is_loop())[entry_ptr]
        return (np.diff(entry_ptr) + np.diff(loops)) // 2

    @property
    def shape(self) -> tuple[int]:
        """Shape as a one-dimensional collection, by which scikit-learn indexes in one go."""
        return (self.n_graphs,)

    def without_labels(self) -> "GraphBatch":
        """Give a copy without labels that shares everything else."""
        return self._of_arrays(self._arrays().without_labels())

    def without_attributes(self) -> "GraphBatch":
        """Give a copy without attributes that shares everything else."""
        return self._of_arrays(self._arrays().without_attributes())

    def without_edge_labels(self) -> "GraphBatch":
        """Give a copy without labels of edges that shares everything else."""
        return self._of_arrays(self._arrays().without_edge_labels())

    def with_edge_labels(self, labels: Labels, *, missing: Missing = "error") -> "GraphBatch":
        """Give a copy with other labels of edges, one for each entry of `indices`."""
        arrays = self._arrays()
        rows = (self.indptr, self.indices)
        own = edge_labels_of_rows(self.node_ptr, arrays.adjacency, rows, labels, False, missing)
        return self._of_arrays(arrays._replace(edge_labels=own, reading=None))

    def with_labels(self, labels: Labels, *, missing: Missing = "error") -> "GraphBatch":
        """Give a copy with other labels, one for each node, that shares everything else."""
        codes, names = checked_labels(labels, self.node_ptr, missing)
        return self._of_arrays(
            self._arrays()._replace(labels=codes, label_names=names, reading=None)
        )

    def with_attributes(self, attributes: ArrayLike, *, missing: Missing = "error") -> "GraphBatch":
        """Give a copy with other attributes, a row for each node, that shares everything else."""
        values = checked_attributes(attributes, self.node_ptr, missing)
        return self._of_arrays(self._arrays()._replace(attributes=values, reading=None))

    def _is_loop(self) -> NDArray[np.bool_]:
        local = np.arange(self.n_nodes) - first_of_run(self.node_ptr)
        return np.equal(self.indices, np.repeat(local, np.diff(self.indptr)))

    def __len__(self) -> int:
        return self.n_graphs

    def __iter__(self) -> Iterator["GraphBatch"]:
        return (self._run(graph, graph + 1) for graph in range(self.n_graphs))

    def __getitem__(self, key: Any) -> "GraphBatch":
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # the form in which scikit-learn indexes what has a shape
        if isinstance(key, slice):
            start, stop, step = key.indices(self.n_graphs)
            if step == 1:
                return self._run(start, max(start, stop))
            return self._take(np.arange(self.n_graphs)[key])
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            graph = int(key) + self.n_graphs if key < 0 else int(key)
            if not 0 <= graph < self.n_graphs:
                raise IndexError(f"graph {key} is out of range for {self.n_graphs} graphs")
            return self._run(graph, graph + 1)
        return self._take(checked_positions(key, self.n_graphs))

    def _run(self, start: int, stop: int) -> "GraphBatch":
        return self._of_arrays(run_of_graphs(self._arrays(), start, stop))

    def _take(self, graphs: Ints) -> "GraphBatch":
        return self._of_arrays(chosen_graphs(self._arrays(), graphs))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GraphBatch):
            return NotImplemented
        return are_equal(self._arrays(), other._arrays())

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Give a one-dimensional array of batches of one."""
        graphs = np.empty(self.n_graphs, dtype=object)
        for position, graph in enumerate(self):
            graphs[position] = graph
        return graphs

    def __reduce__(self) -> Any:
        return trusted_batch, (self._arrays(),)

    def __repr__(self) -> str:
        return f"GraphBatch({counts_in_words(self)})"


def flat_arrays(batch: GraphBatch) -> FlatGraphs:
    """Give the arrays of a batch as they are stored: None for absent weights and labels."""
    return batch._arrays()


def trusted_batch(arrays: FlatGraphs) -> GraphBatch:
    """Build a batch from arrays that are known to be good; nothing is checked or copied."""
    return GraphBatch._of_arrays(arrays)


def with_reading(batch: GraphBatch, reading: Reading | None) -> GraphBatch:
    """Give the same graphs, said to have been read in some way."""
    return trusted_batch(batch._arrays()._replace(reading=reading))
