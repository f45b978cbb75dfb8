"""Checks of what a GraphBatch is built from; nothing checks it again afterwards."""

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set, Sized
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError, Remedy, warn_user
from retgk.graphs.adjacency import Adjacency
from retgk.graphs.labels import encode_labels
from retgk.graphs.missing_values import (
    KEPT_LABELS,
    Missing,
    check_missing,
    check_no_missing_label,
    check_not_masked,
    check_numbers,
    with_one_missing_label,
)
from retgk.graphs.slicing import FlatGraphs

__all__ = [
    "check_alike",
    "checked_attributes",
    "checked_edges",
    "checked_graphs",
    "checked_labels",
    "checked_node_ptr",
    "checked_parts",
    "checked_positions",
    "checked_sizes",
    "integers",
    "warn_of_unknown_labels",
    "weight_array",
]

MAX_GRAPH_SIZE = 2**31 - 1  # nodes are numbered by int32 within a graph
MAX_INTEGER = 2**63 - 1


def check_alike(
    batch: Any,
    has_labels: bool,
    n_attributes: int,
    batch_has: str = "the graphs have",
    others_have: str = "the fitted ones have",
) -> None:
    """
    Raise unless the nodes of a batch have labels and attributes as those of other graphs do.

    `batch_has` and `others_have` are how the message speaks of the two.
    """
    came_from = "" if batch.reading is None else f" (read from {batch.reading.in_words})"
    if batch.n_attributes != n_attributes:
        raise InvalidInputError(
            f"{batch_has} {batch.n_attributes} attributes a node{came_from}, {others_have} "
            f"{n_attributes}",
            Remedy(
                "attributes",
                "give all the same with as_batch(graphs, attributes=...) or "
                "as_batch(graphs).without_attributes()",
            ),
        )
    if batch.has_labels and not has_labels:
        raise InvalidInputError(
            f"{batch_has} labels{came_from}, {others_have} none",
            Remedy("label", "take them away with as_batch(graphs).without_labels()"),
        )
    if has_labels and not batch.has_labels:
        raise InvalidInputError(
            f"{batch_has} no labels{came_from}, {others_have} some",
            Remedy(
                "label",
                "name them with as_batch(graphs, label=...), set them with "
                "as_batch(graphs).with_labels(...), or take those of the others away with "
                "as_batch(others).without_labels()",
            ),
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
        if part.has_edge_labels != parts[0].has_edge_labels:
            words = ("labels", "none") if part.has_edge_labels else ("no labels", "some")
            raise InvalidInputError(
                f"the edges of batch {position} have {words[0]}, those of batch 0 {words[1]}; give "
                "all the same, for example with without_edge_labels"
            )
    return parts


def warn_of_unknown_labels(
    names: Sequence[Hashable] | None, known: Sequence[Hashable] | None
) -> None:
    """Warn if graphs have labels, but none of those that the fitted graphs had."""
    if names and known and set(names).isdisjoint(known):
        note = (
            f"no node label of the graphs is known: they have {_with_types(names)}, the fitted "
            f"ones {_with_types(known)}; give labels the names and the type that they had there"
        )
        warn_user(UserWarning(note))


def _with_types(names: Sequence[Hashable]) -> str:
    shown = [f"{name!r} ({type(name).__name__})" for name in names[:2]]
    return ", ".join(shown) + ", ..." * (len(names) > 2)


def integers(values: Any, name: str) -> NDArray[Any]:
    """Convert to an array of signed integers, or raise."""
    check_not_masked(values, name)
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise InvalidInputError(f"{name} must be integers, got {array.dtype}")
    if array.dtype == np.uint64 and array.size and array.max() > MAX_INTEGER:
        raise InvalidInputError(f"{name} holds {array.max()}; the largest is {MAX_INTEGER}")
    return array if array.dtype.kind == "i" else array.astype(np.int64)


def weight_array(weights: ArrayLike | None) -> Floats | None:
    """Convert weights to float64; `check_weights` checks their values later."""
    if weights is None:
        return None
    check_not_masked(weights, "weights")
    return _floats(weights, "weights must be real numbers", copy=False)


def _floats(values: ArrayLike, rule: str, copy: bool) -> Floats:
    """Convert to float64; NumPy alone would drop the imaginary part of complex numbers."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "c":
        raise InvalidInputError(f"{rule}: got {values.dtype}")
    convert = np.array if copy else np.asarray  # the latter copies where it must
    try:
        return convert(values, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"{rule}: {error}") from error


def checked_sizes(n_nodes: ArrayLike) -> NDArray[Any]:
    """Convert the numbers of nodes of graphs; a plain number is that of one graph."""
    sizes = np.atleast_1d(integers(n_nodes, "n_nodes"))
    if sizes.ndim != 1:
        raise InvalidInputError(f"n_nodes must be one-dimensional, got shape {sizes.shape}")
    return sizes


def checked_edges(edges: ArrayLike) -> NDArray[Any]:
    """Convert to an integer array of shape (n_edges, 2), or raise."""
    pairs = integers(edges, "edges")
    if pairs.size == 0:
        return np.empty((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        hint = "; transpose them" if pairs.ndim == 2 and len(pairs) == 2 else ""
        raise InvalidInputError(f"edges must have shape (n_edges, 2), got {pairs.shape}{hint}")
    return pairs


def checked_node_ptr(node_ptr: ArrayLike) -> Ints:
    """Convert to offsets of graphs that all have a node, or raise."""
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


def checked_graphs(
    node_ptr: Ints, adjacency: Adjacency, labels: Any, attributes: Any, missing: Missing
) -> FlatGraphs:
    """Put labels and attributes, which are checked, to graphs that are checked already."""
    codes, names = checked_labels(labels, node_ptr, missing)
    values = checked_attributes(attributes, node_ptr, missing)
    return FlatGraphs(node_ptr, adjacency, codes, names, values)


def checked_labels(
    labels: Any, node_ptr: Ints, missing: Missing = "error"
) -> tuple[Codes | None, tuple[Hashable, ...]]:
    """Encode one label per node: codes and vocabulary; None and () where there are none."""
    if labels is None:
        return None, ()
    unordered = isinstance(labels, str | bytes | Set | Mapping) or not isinstance(labels, Sized)
    if unordered or getattr(labels, "ndim", 1) == 0:
        raise InvalidInputError(
            "labels must be a sequence with one label per node, in the order of the nodes; got "
            f"{type(labels).__name__}"
        )
    if len(labels) != node_ptr[-1]:
        raise InvalidInputError(
            f"got {len(labels)} labels for {node_ptr[-1]} nodes; give one label per node"
        )
    check_not_masked(labels, "labels")
    codes, names = encode_labels(labels)
    check_missing(missing)
    if missing in KEPT_LABELS:
        return with_one_missing_label(codes, names)
    check_no_missing_label(codes, names, node_ptr)
    return codes, names


def checked_attributes(
    attributes: ArrayLike | None, node_ptr: Ints, missing: Missing = "error"
) -> Floats:
    """Copy attributes, which must be finite, or NaN if that is kept, and have one row per node."""
    n_nodes = int(node_ptr[-1])
    if attributes is None:
        return np.empty((n_nodes, 0))
    check_not_masked(attributes, "attributes")
    rule = "attributes must be real numbers, the same count for every node"
    values = _floats(attributes, rule, copy=True)
    if values.ndim != 2 or len(values) != n_nodes:
        hint = "; reshape(-1, 1) makes one attribute of them" if values.shape == (n_nodes,) else ""
        raise InvalidInputError(
            f"attributes must have shape ({n_nodes}, n_attributes), got {values.shape}{hint}"
        )
    check_missing(missing)
    check_numbers(values, node_ptr, missing)
    return values


def checked_positions(key: Any, n_graphs: int) -> Ints:
    """Positions, none of them negative, that an index or boolean array selects."""
    keys = np.asarray(key)
    if keys.ndim == 1 and keys.size == 0:
        return np.empty(0, np.int64)
    if keys.ndim != 1 or keys.dtype.kind not in "biu" or isinstance(key, tuple):
        raise IndexError(
            "graphs are selected by an integer, a slice, or a one-dimensional array of integers "
            f"or booleans; got {type(key).__name__} of shape {keys.shape} and {keys.dtype}"
        )
    if keys.dtype.kind == "b":
        if len(keys) != n_graphs:
            raise IndexError(f"got {len(keys)} booleans to select from {n_graphs} graphs")
        return np.flatnonzero(keys)
    outside = (keys >= n_graphs) | (keys < -n_graphs)
    if outside.any():
        raise IndexError(f"graph {keys[outside][0]} is out of range for {n_graphs} graphs")
    positions = keys.astype(np.int64)
    return np.where(positions < 0, positions + n_graphs, positions)
