"""Checks of what a GraphBatch is built from; nothing checks it again afterwards."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgk.adjacency import graph_of
from retgk.errors import InvalidInputError
from retgk.labels import encode_labels

__all__ = ["checked_attributes", "checked_labels", "checked_node_ptr", "integers", "weight_array"]

MAX_GRAPH_SIZE = 2**31 - 1


def integers(values: Any, name: str) -> NDArray[Any]:
    """Array of signed integers; anything else is an error."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise InvalidInputError(f"{name} must be integers, got {array.dtype}")
    return array.astype(np.int64, copy=False) if array.dtype.kind not in "i" else array


def weight_array(weights: ArrayLike | None) -> NDArray[np.float64] | None:
    """Weights as float64; their values are checked with the edges they belong to."""
    return None if weights is None else np.asarray(weights, dtype=np.float64)


def checked_node_ptr(node_ptr: ArrayLike) -> NDArray[np.int64]:
    """Offsets of graphs that all have a node."""
    nodes = integers(node_ptr, "node_ptr").astype(np.int64)
    if nodes.ndim != 1 or len(nodes) == 0 or nodes[0] != 0:
        raise InvalidInputError(f"node_ptr must be one-dimensional and start at 0, got {nodes}")
    sizes = np.diff(nodes)
    if (sizes < 1).any():
        graph = int(np.flatnonzero(sizes < 1)[0])
        raise InvalidInputError(f"graph {graph} has no nodes; drop it together with its target")
    if (sizes > MAX_GRAPH_SIZE).any():
        graph = int(np.argmax(sizes))
        raise InvalidInputError(
            f"graph {graph} has {sizes[graph]} nodes; the largest possible is {MAX_GRAPH_SIZE}"
        )
    return nodes


def checked_labels(
    labels: Any, node_ptr: NDArray[np.int64]
) -> tuple[NDArray[np.int32] | None, tuple[Hashable, ...]]:
    """Codes and vocabulary of one label per node."""
    if labels is None:
        return None, ()
    if len(labels) != node_ptr[-1]:
        raise InvalidInputError(f"got {len(labels)} labels for {node_ptr[-1]} nodes")
    return encode_labels(labels)


def checked_attributes(
    attributes: ArrayLike | None, node_ptr: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Finite attributes, one row per node; a copy, so that the caller keeps his own."""
    n_nodes = int(node_ptr[-1])
    if attributes is None:
        return np.empty((n_nodes, 0))
    try:
        values = np.array(attributes, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"attributes must be numbers, the same count for every node: {error}"
        ) from error
    if values.ndim != 2 or len(values) != n_nodes:
        raise InvalidInputError(
            f"attributes must have shape ({n_nodes}, n_attributes), got {values.shape}"
        )
    finite = np.isfinite(values)
    if not finite.all():
        node, column = (int(position[0]) for position in np.nonzero(~finite))
        graph = graph_of(node_ptr, node)
        raise InvalidInputError(
            f"graph {graph}: attribute {column} of node {node - node_ptr[graph]} is "
            f"{values[node, column]}; fill it in or drop the graph together with its target"
        )
    return values
