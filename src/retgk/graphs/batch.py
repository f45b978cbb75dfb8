"""GraphBatch, the only graph class: many graphs in flat, read-only arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InputWarning, InvalidInputError, warn_user
from retgk.graphs.edges import (
    Adjacency,
    EdgeLabels,
    Negative,
    Symmetrize,
    adjacency_from_edges,
    adjacency_from_rows,
    check_columns,
    check_indptr,
    check_negative,
    check_weights,
    edge_labels_of_edges,
    edge_labels_of_rows,
    joined_edge_labels,
    signed_labels,
    split_edges,
    sums_of_parallel,
    unsigned_weights,
)
from retgk.graphs.flat import (
    Labels,
    Missing,
    check_one_each,
    checked_attributes,
    checked_edges,
    checked_label_columns,
    checked_labels,
    checked_node_ptr,
    checked_positions,
    columns_in_words,
    encode_labels,
    first_of_run,
    gather_runs,
    integers,
    joined_weights,
    node_name_array,
    numbers_of_nodes,
    offsets,
    recode,
    rows_of,
    union_of_names,
    weight_array,
)
from retgk.graphs.reading import Reading

# Flat arrays of a batch: runs, choices and joins of them. Nothing here is checked again.


class FlatGraphs(NamedTuple):
    """The arrays of a batch; `labels`, and the weights of `adjacency`, are None when absent."""

    node_ptr: Ints
    adjacency: Adjacency
    labels: Codes | None
    label_names: tuple[Hashable, ...]
    attributes: Floats
    reading: Reading | None = None
    edge_labels: EdgeLabels | None = None
    label_columns: tuple[str, ...] = ()
    smiles: NDArray[Any] | None = None
    node_names: NDArray[Any] | None = None


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Freeze an array and what it is a view of, and give a view that cannot be unfrozen."""
    contiguous = np.ascontiguousarray(array)
    base: Any = contiguous
    while isinstance(base, np.ndarray):
        base.flags.writeable = False
        base = base.base
    return contiguous.view()


def are_equal(own: FlatGraphs, its: FlatGraphs) -> bool:
    """Whether graphs are the same, whatever their nodes are called."""
    if its.labels is not None:
        its = its._replace(labels=recode(its.labels, its.label_names, own.label_names))
    pairs: list[tuple[Any, Any]] = [
        (_edge_codes(own, own), _edge_codes(its, own)),
        (own.node_ptr, its.node_ptr),
        *zip(own.adjacency, its.adjacency, strict=True),
        (own.labels, its.labels),
    ]
    same_nodes = own.label_columns == its.label_columns and np.array_equal(
        own.attributes, its.attributes, equal_nan=True
    )
    return same_nodes and all(
        (a is None) == (b is None) and (a is None or np.array_equal(a, b)) for a, b in pairs
    )


def _edge_codes(graphs: FlatGraphs, like: FlatGraphs) -> Codes | None:
    own, other = graphs.edge_labels, like.edge_labels
    if own is None or other is None:
        return None if own is None else own.codes
    return recode(own.codes, own.names, other.names)


def run_of_graphs(graphs: FlatGraphs, start: int, stop: int) -> FlatGraphs:
    """Cut out graphs start to stop - 1; indices, labels, weights and attributes are views."""
    (indptr, indices, weights), edges, smiles = graphs.adjacency, graphs.edge_labels, graphs.smiles
    node_ptr, _, labels, names, attributes, reading, _, columns, _, called = graphs
    nodes = slice(node_ptr[start], node_ptr[stop])
    row_ptr = indptr[nodes.start : nodes.stop + 1]
    entries = slice(row_ptr[0], row_ptr[-1])
    return FlatGraphs(
        node_ptr[start : stop + 1] - nodes.start,
        Adjacency(
            row_ptr - row_ptr[0],
            indices[entries],
            None if weights is None else _weights_or_none(weights[entries]),
        ),
        None if labels is None else labels[nodes],
        names,
        attributes[nodes],
        reading,
        None if edges is None else edges._replace(codes=edges.codes[entries]),
        columns,
        None if smiles is None else smiles[start:stop],
        None if called is None else called[nodes],
    )


def chosen_graphs(graphs: FlatGraphs, positions: Ints) -> FlatGraphs:
    (indptr, indices, weights), edges, smiles = graphs.adjacency, graphs.edge_labels, graphs.smiles
    node_ptr, _, labels, names, attributes, reading, _, columns, _, called = graphs
    first_nodes = node_ptr[positions]
    sizes = node_ptr[positions + 1] - first_nodes
    first_entries = indptr[first_nodes]
    n_entries = indptr[node_ptr[positions + 1]] - first_entries
    return FlatGraphs(
        offsets(sizes),
        Adjacency(
            offsets(gather_runs(np.diff(indptr), first_nodes, sizes)),
            gather_runs(indices, first_entries, n_entries),
            None
            if weights is None
            else _weights_or_none(gather_runs(weights, first_entries, n_entries)),
        ),
        None if labels is None else gather_runs(labels, first_nodes, sizes),
        names,
        gather_runs(attributes, first_nodes, sizes),
        reading,
        None
        if edges is None
        else edges._replace(codes=gather_runs(edges.codes, first_entries, n_entries)),
        columns,
        None if smiles is None else smiles[positions],
        None if called is None else gather_runs(called, first_nodes, sizes),
    )


def joined_graphs(parts: Sequence[FlatGraphs]) -> FlatGraphs:
    """Put graphs one after the other; either all or none of the parts have labels."""
    adjacencies = [part.adjacency for part in parts]
    names = union_of_names(part.label_names for part in parts)
    labels = [
        recode(part.labels, part.label_names, names) for part in parts if part.labels is not None
    ]
    return FlatGraphs(
        _joined_ptr([part.node_ptr for part in parts]),
        Adjacency(
            _joined_ptr([adjacency.indptr for adjacency in adjacencies]),
            np.concatenate([adjacency.indices for adjacency in adjacencies]),
            joined_weights([(len(each.indices), each.weights) for each in adjacencies]),
        ),
        np.concatenate(labels) if labels else None,
        names,
        np.concatenate([part.attributes for part in parts]),
        parts[0].reading if all(part.reading == parts[0].reading for part in parts) else None,
        joined_edge_labels([part.edge_labels for part in parts]),
        parts[0].label_columns,
        _joined_smiles([part.smiles for part in parts]),
        _joined_node_names(parts),
    )


def _joined_smiles(parts: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def _joined_node_names(parts: Sequence[FlatGraphs]) -> NDArray[Any] | None:
    """Names of all nodes; nodes of a part without names are called by their numbers."""
    if all(part.node_names is None for part in parts):
        return None
    return np.concatenate(
        [
            numbers_of_nodes(part.node_ptr) if part.node_names is None else part.node_names
            for part in parts
        ]
    )


def _joined_ptr(ptrs: Sequence[Ints]) -> Ints:
    starts = offsets(np.array([ptr[-1] for ptr in ptrs]))
    pieces = [ptr[1:] + start for ptr, start in zip(ptrs, starts[:-1], strict=True)]
    return np.concatenate([[0], *pieces])


def _weights_or_none(weights: Floats) -> Floats | None:
    return None if bool((weights == 1).all()) else weights


# Checks of what a GraphBatch is built from; nothing checks it again afterwards.


def check_alike(
    batch: Any,
    has_labels: bool,
    n_attributes: int,
    batch_has: str = "the graphs have",
    others_have: str = "the fitted ones have",
) -> None:
    came_from = "" if batch.reading is None else f" (read from {batch.reading.in_words})"
    if batch.n_attributes != n_attributes:
        raise InvalidInputError(
            f"{batch_has} {batch.n_attributes} attributes a node{came_from}, {others_have} "
            f"{n_attributes}; read all with the same attributes=, or leave them out "
            "(without_attributes(), --no-attributes)"
        )
    if batch.has_labels and not has_labels:
        raise InvalidInputError(
            f"{batch_has} labels{came_from}, {others_have} none; leave them out "
            "(without_labels(), --no-labels)"
        )
    if has_labels and not batch.has_labels:
        raise InvalidInputError(
            f"{batch_has} no labels{came_from}, {others_have} some; read some with label=, or "
            "leave out those of the others (without_labels(), --no-labels)"
        )


def checked_parts(batches: Iterable[Any], kind: type[Any]) -> list[Any]:
    """List the batches that are to be put one after the other; all have the same node values."""
    parts: list[Any] = list(batches)
    if not parts:
        raise InvalidInputError("there is no batch to concatenate")
    for position, part in enumerate(parts):
        if not isinstance(part, kind):
            raise InvalidInputError(
                f"batch {position} is of type {type(part).__name__}; make it a GraphBatch first"
            )
        have = f"batch {position} has", "batch 0 has"
        check_alike(part, parts[0].has_labels, parts[0].n_attributes, *have)
        if part.label_columns != parts[0].label_columns:
            raise InvalidInputError(
                f"the labels of batch {position} have {columns_in_words(part.label_columns)}, "
                f"those of batch 0 {columns_in_words(parts[0].label_columns)}; give all the same "
                "with with_label_columns"
            )
        if part.has_edge_labels != parts[0].has_edge_labels:
            words = ("labels", "none") if part.has_edge_labels else ("no labels", "some")
            raise InvalidInputError(
                f"the edges of batch {position} have {words[0]}, those of batch 0 {words[1]}; give "
                "all the same, for example with without_edge_labels"
            )
    return parts


_MANY = 50
_NEARLY_ALL, _MOST = 0.9, 0.5


def warn_of_distinct_labels(batch: GraphBatch) -> None:
    """Warn of labels that are nearly as many as nodes, or edges: they tell nothing of others."""
    for owners, names, count in (
        ("nodes", batch.label_names, batch.n_nodes),
        ("edges", batch.edge_label_names, batch.n_edges if batch.has_edge_labels else 0),
    ):
        numbers = [name for name in names if isinstance(name, float)]
        are_measured = len(numbers) == len(names) and not all(map(float.is_integer, numbers))
        # one graph may well have a name for each node, by which others are compared with it
        least = _MOST if are_measured else _NEARLY_ALL if len(batch) > 1 else 1
        if count >= _MANY and len(names) > least * count:
            note = (
                f"{owners} have {len(names):,} different labels, and there are {count:,} {owners}: "
                "different labels have nothing in common, however near their values are; "
            )
            warn_user(InputWarning(note + _WHAT_NUMBERS_ARE[owners]))


_WHAT_NUMBERS_ARE = {
    "nodes": "numbers that are measured are attributes (attributes=), which are compared by their "
    "distance, and names of nodes are best left out (without_labels(), --no-labels)",
    "edges": "one number for each edge may be its weight (weight=), and others are best left out "
    "(without_edge_labels(), --no-edge-labels)",
}


def warn_of_unknown_labels(
    names: Sequence[Hashable] | None, known: Sequence[Hashable] | None
) -> None:
    if names and known and set(map(_first_part, names)).isdisjoint(map(_first_part, known)):
        note = (
            f"no node label of the graphs is known: they have {_with_types(names)}, the fitted "
            f"ones {_with_types(known)}; give labels the names and the type that they had there"
        )
        warn_user(UserWarning(note))


def _first_part(name: Hashable) -> Hashable:
    """First column of a label: where it is known, the others differ in value, not in kind."""
    return name[0] if isinstance(name, tuple) and name else name


def _with_types(names: Sequence[Hashable]) -> str:
    shown = [f"{name!r} ({type(name).__name__})" for name in names[:2]]
    return ", ".join(shown) + ", ..." * (len(names) > 2)


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
    label_columns : sequence of str, optional
        Names of the values that labels consist of, such as ``("element", "charge")``: where there
        are several, every label is a tuple with a value for each.
    negative : {"error", "absolute", "positive", "split"}, default="error"
        What becomes of negative weights, as in `from_scipy`.
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
    node_names : ndarray, shape (n_nodes,), or None
        What nodes are called where they come from; None where that is their number in their graph.
        Kernels and ``==`` do not look at it.
    label_columns : tuple of str
        Names of the columns of the labels; empty when they have no names.
    reading : Reading or None
        How a converter or reader made the graphs, so that a model can read new ones alike; None
        where they, or their labels or attributes, were made by hand.
    smiles : ndarray of object, shape (n_graphs,), or None
        SMILES of the molecules that the graphs are; None where they are others. That of an object
        of RDKit, or of a part of a molecule, may have atoms in another order than nodes.

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
        "label_columns",
        "label_names",
        "node_names",
        "node_ptr",
        "reading",
        "smiles",
    )

    node_ptr: Ints
    indptr: Ints
    indices: NDArray[np.int32]
    attributes: Floats
    label_names: tuple[Hashable, ...]
    label_columns: tuple[str, ...]
    node_names: NDArray[Any] | None
    reading: Reading | None
    smiles: NDArray[Any] | None
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
        label_columns: Sequence[str] = (),
        negative: Negative = "error",
        symmetrize: Symmetrize = False,
        missing: Missing = "error",
    ) -> None:
        nodes = checked_node_ptr(node_ptr)
        rows = (
            integers(indptr, "indptr").astype(np.int64, copy=False),
            integers(indices, "indices"),
        )
        given = weight_array(weights)
        check_negative(negative)
        if negative != "error":
            check_indptr(int(nodes[-1]), *rows)
            check_columns(nodes, *rows)
            sources = rows_of(rows[0])
            ends = np.stack([sources, rows[1] + first_of_run(nodes)[sources]])
            given = sums_of_parallel(ends, given)
        if negative == "split":
            of_both = (labels, attributes, edge_labels, label_columns)
            self._assign(_split_graphs(nodes, ends, given, of_both, symmetrize, missing))
            return
        used = None if given is None else unsigned_weights(given, negative)
        adjacency = adjacency_from_rows(nodes, *rows, used, symmetrize)
        codes, names = checked_labels(labels, nodes, missing)
        columns = checked_label_columns(label_columns, codes, names)
        values = checked_attributes(attributes, nodes, missing)
        own = edge_labels_of_rows(nodes, adjacency, rows, edge_labels, symmetrize, missing)
        self._assign(FlatGraphs(nodes, adjacency, codes, names, values, None, own, columns))

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
        label_columns: Sequence[str] = (),
        negative: Negative = "error",
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
        label_columns : sequence of str, optional
            Names of the values that labels consist of.
        negative : {"error", "absolute", "positive", "split"}, default="error"
            What becomes of negative weights, as in `from_scipy`.
        symmetrize : bool or {"max", "mean", "sum"}, default=False
            Whether each edge stands for both directions.
        missing : {"error", "label", "nan", "keep"}, default="error"
            What becomes of None and NaN.

        Returns
        -------
        GraphBatch
            The checked batch.
        """
        sizes = np.atleast_1d(integers(n_nodes, "n_nodes"))
        if sizes.ndim != 1:
            raise InvalidInputError(f"n_nodes must be one-dimensional, got shape {sizes.shape}")
        nodes = checked_node_ptr(offsets(sizes))
        ends, given = checked_edges(edges).T, weight_array(weights)
        check_negative(negative)
        if negative != "error":
            given = sums_of_parallel(ends, given)
        if negative == "split":
            of_both = (labels, attributes, edge_labels, label_columns)
            return cls._of_arrays(_split_graphs(nodes, ends, given, of_both, symmetrize, missing))
        used = None if given is None else unsigned_weights(given, negative)
        adjacency = adjacency_from_edges(nodes, ends, used, symmetrize)
        codes, names = checked_labels(labels, nodes, missing)
        columns = checked_label_columns(label_columns, codes, names)
        values = checked_attributes(attributes, nodes, missing)
        own = edge_labels_of_edges(nodes, adjacency, ends, edge_labels, symmetrize, missing)
        return cls._of_arrays(
            FlatGraphs(nodes, adjacency, codes, names, values, None, own, columns)
        )

    @classmethod
    def concatenate(cls, batches: Iterable[GraphBatch]) -> GraphBatch:
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
        self.label_names, self.label_columns = arrays.label_names, arrays.label_columns
        self.attributes = read_only(arrays.attributes)
        self.reading, self._edge_labels = arrays.reading, arrays.edge_labels
        self.smiles = arrays.smiles
        self.node_names = None if arrays.node_names is None else read_only(arrays.node_names)

    def _arrays(self) -> FlatGraphs:
        adjacency = Adjacency(self.indptr, self.indices, self._weights)
        nodes = (self._labels, self.label_names, self.attributes, self.reading)
        others = (self._edge_labels, self.label_columns, self.smiles, self.node_names)
        return FlatGraphs(self.node_ptr, adjacency, *nodes, *others)

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
    def edge_rows(self) -> Ints:
        """Node that every entry of `indices` is a neighbour of, numbered over the batch."""
        return rows_of(self.indptr)

    def adjacency(self, graph: int = 0) -> Floats:
        """Adjacency matrix of one graph, of shape (n_nodes, n_nodes)."""
        one = self if len(self) == 1 and graph == 0 else self[graph]
        matrix = np.zeros((one.n_nodes, one.n_nodes))
        matrix[one.edge_rows, one.indices] = one.weights
        return matrix

    @property
    def shape(self) -> tuple[int]:
        """Shape as a one-dimensional collection, by which scikit-learn indexes in one go."""
        return (self.n_graphs,)

    def without_labels(self) -> GraphBatch:
        """Give a copy without labels that shares everything else."""
        reading = self.reading and self.reading.without_labels()
        return self._with(labels=None, label_names=(), label_columns=(), reading=reading)

    def without_attributes(self) -> GraphBatch:
        """Give a copy without attributes that shares everything else."""
        reading = self.reading and self.reading.without_attributes()
        return self._with(attributes=np.empty((self.n_nodes, 0)), reading=reading)

    def without_edge_labels(self) -> GraphBatch:
        """Give a copy without labels of edges that shares everything else."""
        reading = self.reading and self.reading.without_edge_labels()
        return self._with(edge_labels=None, reading=reading)

    def with_edge_labels(self, labels: Labels, *, missing: Missing = "error") -> GraphBatch:
        """Give a copy with other labels of edges, one for each entry of `indices`."""
        adjacency, rows = self._arrays().adjacency, (self.indptr, self.indices)
        own = edge_labels_of_rows(self.node_ptr, adjacency, rows, labels, False, missing)
        return self._with(edge_labels=own, reading=None)

    def with_labels(
        self, labels: Labels, *, columns: Sequence[str] = (), missing: Missing = "error"
    ) -> GraphBatch:
        """Give a copy with other labels, one for each node, that shares everything else."""
        codes, names = checked_labels(labels, self.node_ptr, missing)
        own = checked_label_columns(columns, codes, names)
        return self._with(labels=codes, label_names=names, label_columns=own, reading=None)

    def with_label_columns(self, columns: str | Sequence[str]) -> GraphBatch:
        """
        Give a copy whose labels are made of some of the named columns alone.

        Parameters
        ----------
        columns : str or sequence of str
            Names of columns. Labels of one column are its values, others are tuples.

        Returns
        -------
        GraphBatch
            Graphs that share everything else.

        Examples
        --------
        >>> graphs = GraphBatch.from_edges(
        ...     2, [[0, 1]], labels=[("C", 0), ("N", 1)], label_columns=("element", "charge"),
        ...     symmetrize=True,
        ... )
        >>> graphs.with_label_columns("element").label_names
        ('C', 'N')
        """
        chosen = (columns,) if isinstance(columns, str) else tuple(columns)
        if chosen == self.label_columns:
            return self
        unknown = [name for name in chosen if name not in self.label_columns]
        if unknown or not chosen:
            wanted = repr(unknown[0]) if unknown else "nothing"
            raise InvalidInputError(
                f"labels of {wanted} are wanted, but those of the graphs have "
                f"{columns_in_words(self.label_columns)}; choose among these, or read the graphs "
                "with others"
            )
        places = [self.label_columns.index(name) for name in chosen]
        rows: list[Any] = list(self.label_names)
        labels = [
            row[places[0]] if len(places) == 1 else tuple(row[place] for place in places)
            for row in rows
        ]
        codes, names = encode_labels(labels)
        return self._with(
            labels=codes[self.labels],
            label_names=names,
            label_columns=checked_label_columns(chosen, codes, names),
            reading=self.reading and self.reading.with_label_columns(chosen),
        )

    def with_attributes(self, attributes: ArrayLike, *, missing: Missing = "error") -> GraphBatch:
        """Give a copy with other attributes, a row for each node, that shares everything else."""
        values = checked_attributes(attributes, self.node_ptr, missing)
        return self._with(attributes=values, reading=None)

    def with_node_names(self, names: Sequence[Hashable] | NDArray[Any] | None) -> GraphBatch:
        """
        Give a copy whose nodes have names, which tables, explanations and pages show.

        There is a name for each node of the batch; or, where all graphs have as many nodes, for
        each node of one, such as the regions of a brain.
        """
        if names is None:
            return self._with(node_names=None)
        sizes = self.node_counts
        if len(names) == sizes[0] < self.n_nodes and (sizes == sizes[0]).all():
            names = [*names] * self.n_graphs
        check_one_each(names, self.n_nodes, "names", "node")
        return self._with(node_names=node_name_array(names, self.node_ptr))

    def _with(self, **changes: Any) -> GraphBatch:
        return self._of_arrays(self._arrays()._replace(**changes))

    def _is_loop(self) -> NDArray[np.bool_]:
        local = numbers_of_nodes(self.node_ptr)
        return np.equal(self.indices, np.repeat(local, np.diff(self.indptr)))

    def __len__(self) -> int:
        return self.n_graphs

    def __iter__(self) -> Iterator[GraphBatch]:
        return (self._run(graph, graph + 1) for graph in range(self.n_graphs))

    def __getitem__(self, key: Any) -> GraphBatch:
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

    def _run(self, start: int, stop: int) -> GraphBatch:
        return self._of_arrays(run_of_graphs(self._arrays(), start, stop))

    def _take(self, graphs: Ints) -> GraphBatch:
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
        counts = {
            "graph": self.n_graphs,
            "node": self.n_nodes,
            "weighted edge" if self.is_weighted else "edge": self.n_edges,
            "label": len(self.label_names) if self.has_labels else None,
            "edge label": len(self.edge_label_names) if self.has_edge_labels else None,
            "attribute": self.n_attributes or None,
        }
        words = [f"{n:,} {noun}{'s' * (n != 1)}" for noun, n in counts.items() if n is not None]
        return f"GraphBatch({', '.join(words)})"


def _split_graphs(
    node_ptr: Ints,
    edges: NDArray[Any],
    weights: Floats | None,
    values: tuple[Any, Any, Any, Sequence[str]],
    symmetrize: Symmetrize,
    missing: Missing,
) -> FlatGraphs:
    """Graphs of two parts, each with all nodes: positive edges, and absolute values of others."""
    check_weights(weights, edges.shape[1], lambda edge: edges[:, edge], node_ptr, signed=True)
    codes, names = checked_labels(values[0], node_ptr, missing)
    own = checked_attributes(values[1], node_ptr, missing)
    columns = checked_label_columns(values[3], codes, names)
    plain = None if codes is None else [names[code] for code in codes.tolist()]
    if plain is not None and len(columns) < 2:  # a value for the label, and one for the sign
        plain = [(label,) for label in plain]
    nodes, ends = 2 * node_ptr, split_edges(node_ptr, edges, weights)
    used = None if weights is None else unsigned_weights(weights, "split")
    adjacency = adjacency_from_edges(nodes, ends, used, symmetrize)
    labels = checked_labels(signed_labels(plain, node_ptr), nodes, missing)
    bonds = edge_labels_of_edges(nodes, adjacency, ends, values[2], symmetrize, missing)
    sizes = np.diff(node_ptr)
    twice = gather_runs(own, np.repeat(node_ptr[:-1], 2), np.repeat(sizes, 2))
    signed = (*columns, "sign") if columns else ()
    return FlatGraphs(nodes, adjacency, *labels, twice, None, bonds, signed)


def flat_arrays(batch: GraphBatch) -> FlatGraphs:
    """Give the arrays of a batch as they are stored: None for absent weights and labels."""
    return batch._arrays()


def trusted_batch(arrays: FlatGraphs) -> GraphBatch:
    """Build a batch from arrays that are known to be good; nothing is checked or copied."""
    return GraphBatch._of_arrays(arrays)


def with_reading(batch: GraphBatch, reading: Reading | None) -> GraphBatch:
    return batch._with(reading=reading)


# Digests of graphs, by which files know that they belong to the same ones.


def graphs_digest(graphs: GraphBatch) -> str:
    """Digest of structure, weights, codes of labels and attributes of graphs, in their order."""
    arrays: list[NDArray[Any]] = [graphs.node_ptr, graphs.indptr, graphs.indices]
    arrays += [graphs.weights] if graphs.is_weighted else []
    arrays += [graphs.labels] if graphs.has_labels else []
    arrays += [graphs.edge_labels] if graphs.has_edge_labels else []
    arrays += [graphs.attributes] if graphs.n_attributes else []
    digest = hashlib.sha256(repr(graphs.label_columns).encode() if graphs.label_columns else b"")
    for array in arrays:
        digest.update(str((array.dtype, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:20]
