"""Flat arrays of a batch: runs, choices and joins of them. Nothing here is checked again."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Codes, Floats, Ints
from retgk.graphs.adjacency import Adjacency
from retgk.graphs.edge_labels import EdgeLabels, joined_edge_labels
from retgk.graphs.labels import recode, union_of_names
from retgk.graphs.ragged import gather_runs, offsets
from retgk.graphs.reading import Reading

__all__ = [
    "FlatGraphs",
    "are_equal",
    "chosen_graphs",
    "counts_in_words",
    "joined_graphs",
    "read_only",
    "run_of_graphs",
]


class FlatGraphs(NamedTuple):
    """
    The arrays of a batch; `labels`, and the weights of `adjacency`, are None when absent.

    `reading` says how the graphs were read; it is no part of what they are.
    """

    node_ptr: Ints
    adjacency: Adjacency
    labels: Codes | None
    label_names: tuple[Hashable, ...]
    attributes: Floats
    reading: Reading | None = None
    edge_labels: EdgeLabels | None = None

    def without_labels(self) -> "FlatGraphs":
        """Give the graphs without labels."""
        reading = self.reading and self.reading.without_labels()
        return self._replace(labels=None, label_names=(), reading=reading)

    def without_attributes(self) -> "FlatGraphs":
        """Give the graphs without attributes."""
        reading = self.reading and self.reading.without_attributes()
        return self._replace(attributes=np.empty((self.node_ptr[-1], 0)), reading=reading)

    def without_edge_labels(self) -> "FlatGraphs":
        """Give the graphs without labels of edges."""
        reading = self.reading and self.reading.without_edge_labels()
        return self._replace(edge_labels=None, reading=reading)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Freeze an array and what it is a view of, and give a view that cannot be unfrozen."""
    contiguous = np.ascontiguousarray(array)
    base: Any = contiguous
    while isinstance(base, np.ndarray):
        base.flags.writeable = False
        base = base.base
    return contiguous.view()


def are_equal(own: FlatGraphs, its: FlatGraphs) -> bool:
    """Whether graphs are the same, whatever codes their labels have."""
    if its.labels is not None:
        its = its._replace(labels=recode(its.labels, its.label_names, own.label_names))
    pairs: list[tuple[Any, Any]] = [
        (_edge_codes(own, own), _edge_codes(its, own)),
        (own.node_ptr, its.node_ptr),
        *zip(own.adjacency, its.adjacency, strict=True),
        (own.labels, its.labels),
    ]
    return np.array_equal(own.attributes, its.attributes, equal_nan=True) and all(
        (a is None) == (b is None) and (a is None or np.array_equal(a, b)) for a, b in pairs
    )


def _edge_codes(graphs: FlatGraphs, like: FlatGraphs) -> Codes | None:
    """Labels of edges in the vocabulary of other graphs, where both have some."""
    own, other = graphs.edge_labels, like.edge_labels
    if own is None or other is None:
        return None if own is None else own.codes
    return recode(own.codes, own.names, other.names)


def run_of_graphs(graphs: FlatGraphs, start: int, stop: int) -> FlatGraphs:
    """Cut out graphs start to stop - 1; indices, labels, weights and attributes are views."""
    node_ptr, (indptr, indices, weights), labels, names, attributes, reading, edges = graphs
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
    )


def chosen_graphs(graphs: FlatGraphs, positions: Ints) -> FlatGraphs:
    """Copy the graphs at some positions, in that order."""
    node_ptr, (indptr, indices, weights), labels, names, attributes, reading, edges = graphs
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
            _joined_weights(adjacencies),
        ),
        np.concatenate(labels) if labels else None,
        names,
        np.concatenate([part.attributes for part in parts]),
        parts[0].reading if all(part.reading == parts[0].reading for part in parts) else None,
        joined_edge_labels([part.edge_labels for part in parts]),
    )


def _joined_weights(parts: Sequence[Adjacency]) -> Floats | None:
    if all(part.weights is None for part in parts):
        return None
    return np.concatenate(
        [np.ones(len(part.indices)) if part.weights is None else part.weights for part in parts]
    )


def _joined_ptr(ptrs: Sequence[Ints]) -> Ints:
    starts = offsets(np.array([ptr[-1] for ptr in ptrs]))
    pieces = [ptr[1:] + start for ptr, start in zip(ptrs, starts[:-1], strict=True)]
    return np.concatenate([[0], *pieces])


def _weights_or_none(weights: Floats) -> Floats | None:
    """None where all weights are one, so that equal graphs are stored equally."""
    return None if bool((weights == 1).all()) else weights


def counts_in_words(batch: Any) -> str:
    """Say how many graphs, nodes, edges, labels and attributes a batch has."""
    counts = [
        _count_in_words(batch.n_graphs, "graph"),
        _count_in_words(batch.n_nodes, "node"),
        _count_in_words(batch.n_edges, "weighted edge" if batch.is_weighted else "edge"),
    ]
    if batch.has_labels:
        counts.append(_count_in_words(len(batch.label_names), "label"))
    if batch.has_edge_labels:
        counts.append(_count_in_words(len(batch.edge_label_names), "edge label"))
    if batch.n_attributes:
        counts.append(_count_in_words(batch.n_attributes, "attribute"))
    return ", ".join(counts)


def _count_in_words(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"
