"""Labels of edges, one for each entry of the neighbours of a batch, the same in both directions."""

from collections.abc import Hashable, Mapping, Sequence, Set, Sized
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Codes, Flags, Ints
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.adjacency import Adjacency
from retgk.graphs.edge_checks import Symmetrize
from retgk.graphs.labels import encode_labels, recode, union_of_names
from retgk.graphs.missing_values import (
    KEPT_LABELS,
    NO_VALUE,
    Missing,
    check_missing,
    check_not_masked,
    is_missing,
    lacks_part,
    with_one_missing_label,
)
from retgk.graphs.ragged import first_of_run, graph_of

__all__ = [
    "NO_EDGE_LABEL",
    "EdgeLabels",
    "edge_labels_of_edges",
    "edge_labels_of_rows",
    "joined_edge_labels",
]

NO_EDGE_LABEL = Remedy(
    "missing_edge_label",
    'give all edges labels, or make a label of its own of missing ones with missing="label"',
)


class EdgeLabels(NamedTuple):
    """Codes of the labels of edges, aligned with the neighbours of a batch, and their names."""

    codes: Codes
    names: tuple[Hashable, ...]


def edge_labels_of_rows(
    node_ptr: Ints,
    adjacency: Adjacency,
    given: tuple[Ints, NDArray[Any]],
    labels: Any,
    symmetrize: Symmetrize,
    missing: Missing = "error",
) -> EdgeLabels | None:
    """Labels given for the entries of CSR arrays (indptr, indices); None if there are none."""
    if labels is None:
        return None
    indptr, indices = given
    sources = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    targets = indices + first_of_run(node_ptr)[sources]
    ends = np.stack([sources, targets])
    return edge_labels_of_edges(node_ptr, adjacency, ends, labels, symmetrize, missing)


def edge_labels_of_edges(
    node_ptr: Ints,
    adjacency: Adjacency,
    edges: NDArray[Any],
    labels: Any,
    symmetrize: Symmetrize,
    missing: Missing = "error",
) -> EdgeLabels | None:
    """
    Labels given for edges of shape (2, n_edges) in the order of the adjacency made of them.

    Parallel edges, and both directions of an edge, must have the same label. Labels that are
    `EdgeLabels` already are taken as they are.
    """
    if labels is None:
        return None
    codes, names = _encoded(node_ptr, edges, labels, missing)
    sources, targets = edges.astype(np.int64)
    if symmetrize:
        sources, targets = np.append(sources, targets), np.append(targets, sources)
        codes = np.append(codes, codes)
    keys = sources * max(1, int(node_ptr[-1])) + targets
    order = np.argsort(keys, kind="stable")
    keys, codes = keys[order], codes[order]
    is_other = (keys[1:] == keys[:-1]) & (codes[1:] != codes[:-1])
    _raise_if_any(is_other, node_ptr, keys, codes, names)
    found = codes[np.searchsorted(keys, _keys(node_ptr, adjacency))]
    _check_symmetric(node_ptr, adjacency, found, names)
    return EdgeLabels(found, names)


def _encoded(node_ptr: Ints, edges: NDArray[Any], labels: Any, missing: Missing) -> EdgeLabels:
    """Codes of the labels of edges, in the order in which they were given."""
    given = labels.codes if isinstance(labels, EdgeLabels) else labels
    unordered = isinstance(given, str | bytes | Set | Mapping) or not isinstance(given, Sized)
    if unordered or getattr(given, "ndim", 1) == 0:
        raise InvalidInputError(
            "edge labels must be a sequence with one label per edge, in the order of the edges; "
            f"got {type(given).__name__}"
        )
    check_not_masked(given, "edge labels")
    if len(given) != edges.shape[1]:
        raise InvalidInputError(
            f"got {len(given)} edge labels for {edges.shape[1]} edges; give one for each"
        )
    if isinstance(labels, EdgeLabels):
        return labels
    codes, names = encode_labels(labels)
    check_missing(missing)
    if missing in KEPT_LABELS:
        return EdgeLabels(*with_one_missing_label(codes, names))
    for code, name in enumerate(names):
        if lacks_part(name):
            _raise_missing(node_ptr, edges[:, int(np.argmax(codes == code))], name)
    return EdgeLabels(codes, names)


def _raise_missing(node_ptr: Ints, ends: NDArray[Any], name: Hashable) -> NoReturn:
    graph = graph_of(node_ptr, int(ends[0]))
    first, second = (int(end - node_ptr[graph]) for end in ends)
    raise InvalidInputError(
        f"graph {graph}: the edge between node {first} and node {second} has the label {name}, "
        f"{NO_VALUE[is_missing(name)]}",
        NO_EDGE_LABEL,
    )


def _keys(node_ptr: Ints, adjacency: Adjacency) -> Ints:
    """One number for each entry, from its row and column, both numbered over the batch."""
    rows = np.repeat(np.arange(len(adjacency.indptr) - 1), np.diff(adjacency.indptr))
    columns = adjacency.indices + first_of_run(node_ptr)[rows]
    return np.asarray(rows * max(1, int(node_ptr[-1])) + columns)


def _check_symmetric(
    node_ptr: Ints, adjacency: Adjacency, codes: Codes, names: Sequence[Hashable]
) -> None:
    """Raise if an edge has one label there and another one back."""
    keys, n = _keys(node_ptr, adjacency), max(1, int(node_ptr[-1]))
    back = np.searchsorted(keys, keys % n * n + keys // n)
    is_other = codes[back] != codes
    if is_other.any():
        entry = int(np.argmax(is_other))
        _raise_of(node_ptr, int(keys[entry]), names[codes[entry]], names[codes[back[entry]]])


def _raise_if_any(
    is_other: Flags, node_ptr: Ints, keys: Ints, codes: Codes, names: Sequence[Hashable]
) -> None:
    if is_other.any():
        place = int(np.argmax(is_other))
        _raise_of(node_ptr, int(keys[place]), names[codes[place]], names[codes[place + 1]])


def _raise_of(node_ptr: Ints, key: int, first: Hashable, second: Hashable) -> None:
    source, target = divmod(key, int(node_ptr[-1]))
    graph = graph_of(node_ptr, source)
    start = int(node_ptr[graph])
    raise InvalidInputError(
        f"graph {graph}: the edge between node {source - start} and node {target - start} has the "
        f"labels {first!r} and {second!r}; give it one, in both directions"
    )


def joined_edge_labels(parts: Sequence[EdgeLabels | None]) -> EdgeLabels | None:
    """Put labels of edges one after the other; all parts have some, or none has."""
    present = [part for part in parts if part is not None]
    if not present:
        return None
    names = union_of_names(part.names for part in present)
    return EdgeLabels(
        np.concatenate([recode(part.codes, part.names, names) for part in present]), names
    )
