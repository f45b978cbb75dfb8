"""Edges numbered within each graph: checking them and putting them into one batch."""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.edge_checks import Symmetrize
from retgk.graphs.missing_values import Missing, check_not_masked, is_missing
from retgk.graphs.ragged import graph_of, offsets
from retgk.graphs.validation import integers

__all__ = [
    "LocalEdges",
    "batch_from_local_edges",
    "both_directions",
    "checked_edge_weights",
    "checked_edges",
    "each_edge_once",
]


class LocalEdges(NamedTuple):
    """Edges of one graph, shape (n_edges, 2), their weights (None for ones), and their labels."""

    edges: NDArray[Any]
    weights: Floats | None = None
    labels: Sequence[Any] | NDArray[Any] | None = None


def both_directions(graph: LocalEdges) -> LocalEdges:
    """
    List undirected edges in both directions, so that parallel edges still add up.

    Parallel edges must name their ends in the same order, as igraph and RDKit do: both
    directions are then summed in the same order, and do not differ by rounding.
    """
    edges, weights, labels = graph
    back = edges[:, 0] != edges[:, 1]
    return LocalEdges(
        np.concatenate([edges, edges[back, ::-1]]),
        None if weights is None else np.concatenate([weights, weights[back]]),
        None if labels is None else [*labels, *itertools.compress(labels, back)],
    )


def each_edge_once(graph: LocalEdges, place: str) -> LocalEdges:
    """List parallel edges, which must have the same label, once; weights are left out."""
    if graph.labels is None:
        return LocalEdges(np.unique(graph.edges, axis=0))
    edges, first, same = np.unique(graph.edges, axis=0, return_index=True, return_inverse=True)
    labels = [graph.labels[edge] for edge in first.tolist()]
    for label, edge in zip(graph.labels, same.reshape(-1).tolist(), strict=True):
        if label != labels[edge] and not (is_missing(label) and is_missing(labels[edge])):
            raise InvalidInputError(
                f"{place}: the edge between node {edges[edge, 0]} and node "
                f"{edges[edge, 1]} has the labels {labels[edge]!r} and {label!r}; give it one"
            )
    return LocalEdges(edges, None, labels)


def batch_from_local_edges(
    sizes: list[int],
    graphs: list[LocalEdges],
    *,
    labels: Any = None,
    attributes: Any = None,
    symmetrize: Symmetrize = False,
    missing: Missing = "error",
) -> GraphBatch:
    """Build one batch; raise for an end of an edge that is outside its own graph."""
    node_ptr = offsets(sizes)
    edge_ptr = offsets([len(graph.edges) for graph in graphs])
    edges = np.concatenate([graph.edges for graph in graphs]).astype(np.int64, copy=False)
    _check_ends(edges, edge_ptr, np.asarray(sizes))
    edges = edges + np.repeat(node_ptr[:-1], np.diff(edge_ptr))[:, None]
    return GraphBatch.from_edges(
        sizes,
        edges,
        _joined_weights(graphs),
        labels=labels,
        attributes=attributes,
        edge_labels=_joined_labels(graphs),
        symmetrize=symmetrize,
        missing=missing,
    )


def checked_edges(edges: Any, position: int) -> NDArray[Any]:
    """Convert the edges of one graph to an integer array of shape (n_edges, 2)."""
    pairs = integers(edges, f"graph {position}: edges")
    if pairs.size == 0:
        return np.empty((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InvalidInputError(
            f"graph {position}: edges must have shape (n_edges, 2), got {pairs.shape}"
        )
    return pairs


def checked_edge_weights(weights: Any, n_edges: int, position: int) -> Floats:
    """Convert the weights of one graph to floats; the batch checks their values."""
    check_not_masked(weights, f"graph {position}: weights")
    values = np.asarray(weights)
    if values.dtype.kind not in "biuf" and values.size:
        raise InvalidInputError(f"graph {position}: weights must be numbers, got {values.dtype}")
    if values.shape == (n_edges, 1):
        values = values[:, 0]
    if values.shape != (n_edges,):
        raise InvalidInputError(
            f"graph {position}: weights must have shape ({n_edges},), one for each edge; "
            f"got {values.shape}"
        )
    return values.astype(np.float64)


def _check_ends(edges: Ints, edge_ptr: Ints, sizes: Ints) -> None:
    outside = (edges < 0) | (edges >= np.repeat(sizes, np.diff(edge_ptr))[:, None])
    if not outside.any():
        return
    edge = int(np.flatnonzero(outside.any(axis=1))[0])
    graph = graph_of(edge_ptr, edge)
    node = edges[edge][outside[edge]][0]
    raise InvalidInputError(
        f"graph {graph}: edge {edge - edge_ptr[graph]} has the end {node}, which is out of range "
        f"for {sizes[graph]} nodes; nodes are numbered within each graph from 0"
    )


def _joined_labels(graphs: list[LocalEdges]) -> Any:
    """Labels of all edges; all graphs that have edges have labels, or none has."""
    with_edges = [graph for graph in graphs if len(graph.edges)] or graphs
    if all(graph.labels is None for graph in with_edges):
        return None
    for position, graph in enumerate(graphs):
        if graph.labels is None and len(graph.edges):
            raise InvalidInputError(
                f"graph {position} has no labels of edges, others have; give all graphs some, or "
                "none"
            )
    parts = [graph.labels for graph in with_edges if graph.labels is not None]
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return list(itertools.chain.from_iterable(parts))


def _joined_weights(graphs: list[LocalEdges]) -> Floats | None:
    if all(graph.weights is None for graph in graphs):
        return None
    return np.concatenate(
        [np.ones(len(graph.edges)) if graph.weights is None else graph.weights for graph in graphs]
    )
