"""Negative weights, such as those of correlations: what becomes of them, before graphs are made."""

from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.errors import InputWarning, InvalidInputError, warn_user
from retgk.graphs.ragged import offsets
from retgk.io.converters.local_edges import LocalEdges

__all__ = [
    "Negative",
    "SignedRows",
    "check_negative",
    "doubled_attributes",
    "signed_labels",
    "unsigned_edges",
    "unsigned_rows",
    "unsigned_weights",
    "warn_of_unit_diagonals",
]

Negative = Literal["error", "absolute", "positive", "split"]
"""What becomes of negative weights: an error, their absolute values, no edges, a second part."""

SIGNS = ("+", "-")

_ROUNDING = 1e-9


class SignedRows(NamedTuple):
    """Rows of matrices one after the other: nodes per graph, entries per row, columns, weights."""

    sizes: Ints
    degrees: Ints
    columns: NDArray[Any]
    weights: Floats


def check_negative(negative: object) -> None:
    """Raise for a choice that there is not."""
    if negative not in get_args(Negative):
        raise InvalidInputError(
            f"negative must be one of {', '.join(get_args(Negative))}, got {negative!r}"
        )


def warn_of_unit_diagonals(rows: SignedRows) -> None:
    """
    Warn where matrices look like correlations with their ones left on the diagonal.

    These would be self-loops as strong as the strongest edge, which hide what the others say.
    """
    if len(rows.weights) == 0 or np.abs(rows.weights).max() > 1 + _ROUNDING:
        return
    within = np.concatenate([np.arange(size) for size in rows.sizes])
    is_own = np.repeat(within, rows.degrees) == rows.columns
    own, others = rows.weights[is_own], rows.weights[~is_own]
    is_unit = len(own) == len(within) and (np.abs(own - 1) <= _ROUNDING).all()
    if is_unit and (np.abs(others) < 1 - _ROUNDING).any():
        warn_user(
            InputWarning(
                "all matrices have ones on the diagonal, as correlations do: they are self-loops, "
                "stronger than any edge. Set the diagonal to zero (np.fill_diagonal(matrix, 0)) "
                "unless they mean something"
            )
        )


def unsigned_weights(weights: Any, negative: Negative) -> Any:
    """Weights by a choice that changes weights alone; zeros are no edges."""
    if negative == "absolute":
        return np.abs(weights)
    if negative == "positive":
        return np.where((weights < 0) & (weights > -np.inf), 0.0, weights)
    return weights


def unsigned_rows(rows: SignedRows, negative: Negative) -> SignedRows:
    """Rows by a choice; "split" has all nodes twice, and negative edges on the second ones."""
    if negative != "split":
        return rows._replace(weights=unsigned_weights(rows.weights, negative))
    first = np.repeat(offsets(rows.sizes)[:-1], rows.sizes)  # node of the graph of every node
    size = np.repeat(rows.sizes, rows.sizes)
    node = np.repeat(np.arange(len(first)), rows.degrees)
    shift = np.where(rows.weights < 0, size[node], 0)
    new_rows = node + first[node] + shift  # graphs before have as many nodes again
    order = np.argsort(new_rows, kind="stable")
    return SignedRows(
        2 * rows.sizes,
        np.bincount(new_rows, minlength=2 * len(first)),
        (rows.columns + shift)[order],
        np.abs(rows.weights)[order],
    )


def unsigned_edges(
    sizes: list[int], graphs: list[LocalEdges], negative: Negative
) -> tuple[list[int], list[LocalEdges]]:
    """Edges of every graph by a choice, with the number of its nodes."""
    if negative == "error":
        return sizes, graphs
    if negative != "split":
        return sizes, [
            graph
            if graph.weights is None
            else graph._replace(weights=unsigned_weights(graph.weights, negative))
            for graph in graphs
        ]
    found = []
    for size, graph in zip(sizes, graphs, strict=True):
        weights = np.ones(len(graph.edges)) if graph.weights is None else graph.weights
        edges = graph.edges.astype(np.int64) + np.where(weights < 0, size, 0)[:, None]
        found.append(LocalEdges(edges, np.abs(weights), graph.labels))
    return [2 * size for size in sizes], found


def signed_labels(labels: Any, sizes: list[int]) -> list[Any]:
    """Labels of the nodes of both parts: the sign, with the label of the node where it has one."""
    found: list[Any] = []
    first = 0
    for size in sizes:
        for sign in SIGNS:
            own = None if labels is None else labels[first : first + size]
            found += [sign] * size if own is None else [(label, sign) for label in own]
        first += size
    return found


def doubled_attributes(attributes: Any, sizes: list[int]) -> Any:
    """Attributes of the nodes of both parts, which are the same."""
    if attributes is None:
        return None
    ptr = offsets(sizes)
    nodes = [np.tile(np.arange(*ends), 2) for ends in pairwise(ptr)]
    return attributes[np.concatenate(nodes)]
