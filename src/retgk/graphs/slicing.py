"""Runs, choices and joins of the flat arrays of a batch; what comes in is known to be good."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from retgk.array_types import Codes, Floats, Ints
from retgk.graphs.adjacency import Adjacency
from retgk.graphs.ragged import gather_runs, offsets

__all__ = ["FlatGraphs", "chosen_graphs", "joined_graphs", "run_of_graphs"]


class FlatGraphs(NamedTuple):
    """The arrays of a batch; `labels` is None where there are none."""

    node_ptr: Ints
    adjacency: Adjacency
    labels: Codes | None
    attributes: Floats


def run_of_graphs(graphs: FlatGraphs, start: int, stop: int) -> FlatGraphs:
    """Graphs start to stop - 1; indices, labels, weights and attributes are views."""
    node_ptr, (indptr, indices, weights), labels, attributes = graphs
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
        attributes[nodes],
    )


def chosen_graphs(graphs: FlatGraphs, positions: Ints) -> FlatGraphs:
    """Graphs at some positions, in that order; everything is copied."""
    node_ptr, (indptr, indices, weights), labels, attributes = graphs
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
        gather_runs(attributes, first_nodes, sizes),
    )


def joined_graphs(parts: Sequence[FlatGraphs]) -> FlatGraphs:
    """Graphs of all parts, whose labels are codes of one vocabulary, or all None."""
    adjacencies = [part.adjacency for part in parts]
    labels = [part.labels for part in parts if part.labels is not None]
    return FlatGraphs(
        _joined_ptr([part.node_ptr for part in parts]),
        Adjacency(
            _joined_ptr([adjacency.indptr for adjacency in adjacencies]),
            np.concatenate([adjacency.indices for adjacency in adjacencies]),
            _joined_weights(adjacencies),
        ),
        np.concatenate(labels) if labels else None,
        np.concatenate([part.attributes for part in parts]),
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
