"""What converters of objects share: kinds of graphs, values of nodes and edges, local edges."""

import functools
import inspect
import itertools
import math
from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set, Sized
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, NamedTuple, NoReturn, ParamSpec

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InputWarning, InvalidInputError, warn_user
from retgk.graphs.batch import GraphBatch, warn_of_distinct_labels
from retgk.graphs.edges import Negative, Symmetrize
from retgk.graphs.flat import (
    FILL_IN,
    KEPT_LABELS,
    KEPT_NUMBERS,
    Missing,
    check_not_masked,
    graph_of,
    is_missing,
    joined_weights,
    node_name_array,
    offsets,
    union_of_names,
)
from retgk.graphs.reading import reading_of

# Labels and attributes of nodes: from values of each node or graph to flat arrays

NodeName = Callable[[int], str]

_CHUNK = 1024
_MOST_SHOWN = 80
_MOST_NAMES = 5


def short_repr(value: Any) -> str:
    """Write a value for a message; Python refuses to write out very long integers."""
    if isinstance(value, int) and abs(value) >= 10**20:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def attribute_names(attributes: Any) -> list[Any]:
    if attributes is None:
        return []
    return list(attributes) if isinstance(attributes, list | tuple) else [attributes]


def warn_of_unused(owners: str, names: Iterable[Any]) -> None:
    """Name values that all nodes, or edges, have and that nothing reads."""
    found = [repr(name) for name in dict.fromkeys(names)]
    if found:
        shown = ", ".join(found[:_MOST_NAMES]) + ", ..." * (len(found) > _MOST_NAMES)
        are = "is" if len(found) == 1 else "are"
        warn_user(InputWarning(f"{owners} have {shown}, which {are} not used; {_READ_BY[owners]}"))


_READ_BY = {
    "nodes": "label= and attributes= read them; an empty list of attributes (--no-attributes) "
    "leaves them out without this warning",
    "edges": "edge_label= reads labels of edges, which count with depth above zero, weight= reads "
    "weights; an empty list for edge_label (--no-edge-labels) leaves them out without this warning",
}


def attribute_matrix(
    values: Sequence[Any], name: Any, node_name: NodeName, missing: Missing = "error"
) -> Floats:
    """Matrix of one attribute; `node_name` says what an error calls a node, given its position."""
    if not values:
        return np.empty((0, 0))  # graphs without nodes are reported where the batch is built
    if missing in KEPT_NUMBERS:
        values = _with_nan(values)
    try:
        matrix = _matrix_of_values(values)
    except (TypeError, ValueError, OverflowError):
        _raise_bad_value(values, name, node_name)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        _raise_bad_value(values, name, node_name)
    return matrix.astype(np.float64, copy=False)


def _with_nan(values: Sequence[Any]) -> list[Any]:
    """Put NaN where a number is missing, or a vector of NaN where that of a node is missing."""
    known: Any = next((value for value in values if not is_missing(value)), math.nan)
    is_vector = isinstance(known, Sized) and not isinstance(known, str | bytes)
    absent = [math.nan] * len(known) if is_vector else math.nan
    rows: list[Any] = [absent if is_missing(value) else value for value in values]
    return [
        [math.nan if is_missing(number) else number for number in row]
        if isinstance(row, list | tuple)
        else row
        for row in rows
    ]


def _rows_with_nan(part: Any) -> Any:
    if isinstance(part, np.ndarray) and part.dtype.kind == "O":
        part = part.tolist()
    return _with_nan(part) if isinstance(part, list | tuple) else part


def _matrix_of_values(values: Sequence[Any]) -> NDArray[Any]:
    """Make rows of numbers; ``array('d')`` is quicker than NumPy and refuses text."""
    if type(values[0]) in (list, tuple):
        return _matrix_of_vectors(values)
    kinds = set(map(type, values))
    if kinds == {np.ndarray}:
        (_,) = {value.shape for value in values}
        return np.concatenate(values).reshape(len(values), *values[0].shape)
    if kinds <= {int, float, bool}:
        return np.asarray(array("d", values))[:, None]
    matrix = np.asarray(values)
    return matrix[:, None] if matrix.ndim == 1 else matrix


def _matrix_of_vectors(values: Sequence[Any]) -> NDArray[Any]:
    """Make rows of lists and tuples, some at a time, while the processor's cache holds them."""
    flat, widths = array("d"), set[int]()
    for first in range(0, len(values), _CHUNK):
        chunk = values[first : first + _CHUNK]
        if not set(map(type, chunk)) <= {list, tuple}:
            return np.asarray(values)
        widths.update(map(len, chunk))
        flat.fromlist(list(chain.from_iterable(chunk)))
    (width,) = widths
    return np.asarray(flat).reshape(len(values), width)


def _raise_bad_value(values: Sequence[Any], name: Any, node_name: NodeName) -> NoReturn:
    width = None
    for position, value in enumerate(values):
        try:
            found = np.asarray(value)
        except ValueError:
            found = np.asarray(None)
        if found.ndim > 1 or found.dtype.kind not in "biuf":
            raise InvalidInputError(
                f"{node_name(position)}: the attribute {name!r} is {short_repr(value)}; it must "
                f"be a number or a vector of numbers{_remedy(value, name)}"
            )
        if width is None:
            width = found.shape
        if found.shape != width:
            raise InvalidInputError(
                f"{node_name(position)}: the attribute {name!r} has {_in_words(found.shape)}, "
                f"{node_name(0)} has {_in_words(width)}; give all nodes the same"
            )
    raise InvalidInputError(f"the attribute {name!r} must be numbers, the same count on all nodes")


def _remedy(value: Any, name: Any) -> str:
    """What helps where a value is no number: text is a label or a category, others are missing."""
    if is_missing(value):
        return f"; {FILL_IN}"
    if not isinstance(value, str):
        return ""
    return (
        f"; read it as the label with label={name!r}, or as columns of zeros and ones, one for "
        f"each value, with categorical=[{name!r}]"
    )


def _in_words(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} values" if shape else "one number"


def join_labels(labels: Any, sizes: Sequence[int]) -> Any:
    if labels is None:
        return None
    parts = list_per_graph(labels, "labels")
    _check_counts(parts, sizes, "labels")
    for graph, part in enumerate(parts):
        check_not_masked(part, f"graph {graph}: labels")
    if all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts):
        return np.concatenate(parts)
    return list(chain.from_iterable(parts))


def stack_attributes(
    attributes: Any, sizes: Sequence[int], missing: Missing = "error"
) -> Floats | None:
    """Stack the attribute matrices of graphs; one row for each node, all equally wide."""
    if attributes is None:
        return None
    given = list_per_graph(attributes, "attributes")
    if missing in KEPT_NUMBERS:
        given = [_rows_with_nan(part) for part in given]
    parts = [_checked_matrix(part, graph) for graph, part in enumerate(given)]
    _check_counts(parts, sizes, "rows of attributes")
    for graph, part in enumerate(parts):
        if part.shape[1] != parts[0].shape[1]:
            raise InvalidInputError(
                f"graph {graph} has {part.shape[1]} attributes a node, graph 0 has "
                f"{parts[0].shape[1]}; give all the same"
            )
    return np.concatenate(parts)


def list_per_graph(values: Any, what: str) -> list[Any]:
    if isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable):
        raise InvalidInputError(
            f"{what} must be a sequence with those of one graph after the other, got "
            f"{type(values).__name__}"
        )
    return list(values)


def _checked_matrix(part: Any, graph: int) -> Floats:
    check_not_masked(part, f"graph {graph}: attributes")
    try:
        matrix = np.asarray(part)
    except ValueError:
        matrix = np.empty(0, object)
    if matrix.dtype.kind not in "biuf" or matrix.ndim not in (1, 2):
        _check_no_gap(matrix, graph)
        raise InvalidInputError(
            f"graph {graph}: attributes must be numbers of shape (n_nodes, n_attributes), "
            f"got {matrix.dtype} of shape {matrix.shape}"
        )
    return (matrix if matrix.ndim == 2 else matrix[:, None]).astype(np.float64, copy=False)


def _check_no_gap(matrix: NDArray[Any], graph: int) -> None:
    for node, row in enumerate(matrix.tolist() if matrix.dtype.kind == "O" else []):
        if any(map(is_missing, row if isinstance(row, list | tuple) else [row])):
            raise InvalidInputError(
                f"graph {graph}: an attribute of node {node} is missing; {FILL_IN}"
            )


def _check_counts(parts: Sequence[Any], sizes: Sequence[int], what: str) -> None:
    if len(parts) != len(sizes):
        raise InvalidInputError(f"got {what} for {len(parts)} graphs, but {len(sizes)} graphs")
    for graph, (part, size) in enumerate(zip(parts, sizes, strict=True)):
        if not isinstance(part, Sized) or getattr(part, "ndim", 1) == 0:
            raise InvalidInputError(
                f"graph {graph}: {what} must be a sequence of {size}, one for each node, got "
                f"{type(part).__name__}"
            )
        if len(part) != size:
            raise InvalidInputError(f"graph {graph} has {len(part)} {what} for {size} nodes")


Categorical = Hashable | list[Any] | Mapping[Any, Sequence[Any]]
"""One name, names, or names with the values that each may have."""

_MOST_VALUES = 20
_ABSENT = -2  # code of a missing value


class NodeArrays(NamedTuple):
    """Labels and attributes, None where there are none, and the values of every category."""

    labels: Sequence[Any] | None
    attributes: Floats | None
    categorical: dict[Any, list[Any]]


@dataclass(frozen=True)
class NodeColumns:
    """Names of the label, of the parts of a label, and of numeric and categorical attributes."""

    label_parts: list[Any]
    is_tuple: bool
    attributes: list[Any]
    categories: dict[Any, Sequence[Any] | None]
    missing: Missing = "error"

    @classmethod
    def of(
        cls, label: Any, attributes: Any, categorical: Any, missing: Missing = "error"
    ) -> "NodeColumns":
        """Read the arguments of a converter; only a list names several parts of a label."""
        several = isinstance(label, list)
        parts = label if several else [] if label is None else [label]
        if several and not parts:
            raise InvalidInputError("label is an empty list; give a name, several, or None")
        categories: dict[Any, Sequence[Any] | None] = {}
        if isinstance(categorical, Mapping):
            for name, values in categorical.items():
                categories[name] = _checked_categories(name, values)
        else:
            categories.update(dict.fromkeys(attribute_names(categorical)))
        return cls(list(parts), several, attribute_names(attributes), categories, missing)

    @property
    def names(self) -> list[Any]:
        """All names, in the order in which `arrays` takes their values."""
        return [*self.label_parts, *self.attributes, *self.categories]

    @property
    def label_columns(self) -> tuple[str, ...]:
        """Names of the values of labels that have several, where all names are texts."""
        are_names = len(set(self.label_parts)) == len(self.label_parts) and all(
            isinstance(name, str) for name in self.label_parts
        )
        return tuple(self.label_parts) if self.is_tuple and are_names else ()

    @property
    def label(self) -> Any:
        return self.label_parts if self.is_tuple else next(iter(self.label_parts), None)

    def warn_if_unused(self, names: Iterable[Any], attributes: Any) -> None:
        """Warn of values that nodes have and that are not read, unless attributes were chosen."""
        if attributes is None and not self.categories:
            warn_of_unused("nodes", (name for name in names if name not in self.label_parts))

    def arrays(self, values: Sequence[Sequence[Any]], node_name: NodeName) -> NodeArrays:
        """Labels and attributes of one list of values for each of `names`."""
        n_parts, n_numeric = len(self.label_parts), len(self.attributes)
        numeric = values[n_parts : n_parts + n_numeric]
        parts = [
            attribute_matrix(column, name, node_name, self.missing)
            for column, name in zip(numeric, self.attributes, strict=True)
        ]
        found = {}
        for column, name in zip(values[n_parts + n_numeric :], self.categories, strict=True):
            matrix, found[name] = self._one_hot(column, name, node_name)
            parts.append(matrix)
        joined = np.concatenate(parts, axis=1) if parts else None
        return NodeArrays(self.labels(values[:n_parts], node_name), joined, found)

    def labels(self, columns: Sequence[Sequence[Any]], node_name: NodeName) -> Sequence[Any] | None:
        """Values of the label; tuples of several parts, in which None stands for a missing one."""
        if not self.is_tuple:
            return columns[0] if columns else None
        parts = []
        for name, column in zip(self.label_parts, columns, strict=True):
            absent = [is_missing(value) for value in column]
            if any(absent) and self.missing not in KEPT_LABELS:
                raise InvalidInputError(
                    f"{node_name(absent.index(True))}: the part {name!r} of the label is missing; "
                    f"{_AS_LABEL}"
                )
            parts.append([None if gap else v for v, gap in zip(column, absent, strict=True)])
        return list(zip(*parts, strict=True))

    def _one_hot(
        self, values: Sequence[Any], name: Any, node_name: NodeName
    ) -> tuple[Floats, list[Any]]:
        """One column for each category: one where a node has it, zero elsewhere; the categories."""
        given = self.categories[name]
        try:
            present = [value for value in values if not is_missing(value)]
            names = list(union_of_names([present]) if given is None else given)
            codes = _codes(values, names)
        except TypeError as error:
            raise InvalidInputError(f"values of {name!r} must be hashable: {error}") from error
        self._check_codes(codes, values, (name, names), node_name)
        if values and not names:
            raise InvalidInputError(f"no node has a value of {name!r}; leave it out")
        if given is None:
            _warn_of_found_categories(name, names)
        matrix = np.zeros((len(values), len(names)))
        known = np.array(codes, np.int64) != _ABSENT
        matrix[np.flatnonzero(known), np.array(codes, np.int64)[known]] = 1
        matrix[~known] = np.nan
        return matrix, names

    def _check_codes(
        self, codes: list[int], values: Sequence[Any], listed: Any, node_name: NodeName
    ) -> None:
        name, names = listed
        if _ABSENT in codes and self.missing not in KEPT_NUMBERS:
            node = codes.index(_ABSENT)
            raise InvalidInputError(
                f"{node_name(node)}: the attribute {name!r} is missing; {FILL_IN}"
            )
        if -1 in codes:
            node = codes.index(-1)
            raise InvalidInputError(
                f"{node_name(node)}: the value {short_repr(values[node])} of {name!r} is none of "
                f"the categories {_listed(names)}; add it to them, for all graphs alike"
            )


_AS_LABEL = 'give all nodes labels, or make None of missing parts with missing="label"'


def _codes(values: Sequence[Any], names: Sequence[Any]) -> list[int]:
    """Position of every value among the names; missing ones and others have codes below zero."""
    columns = {value: column for column, value in enumerate(names)}
    absent = {True: _ABSENT, False: -1}
    return [columns[value] if value in columns else absent[is_missing(value)] for value in values]


def _checked_categories(name: Any, values: Any) -> list[Any]:
    if isinstance(values, str | bytes) or not isinstance(values, Sequence) or not len(values):
        raise InvalidInputError(f"categorical: list the values of {name!r}, got {values!r}")
    if len(set(values)) < len(values):
        raise InvalidInputError(f"categorical: a value of {name!r} is listed twice")
    return list(values)


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(map(short_repr, names[:_MOST_VALUES]))
    return f"[{shown}{', ...' * (len(names) > _MOST_VALUES)}]"


def _warn_of_found_categories(name: Any, names: Sequence[Any]) -> None:
    """Say what the columns are: graphs that are converted apart may have other values."""
    warn_user(
        InputWarning(
            f"{name!r} became {len(names)} columns of zeros and ones, for the values found: "
            f"{_listed(names)}; graphs that are read apart need the same columns: "
            f"categorical={{{name!r}: [...]}} (--categorical {name}=VALUE,...) lists them"
        )
    )


# Which values of edges are read by name: the label of an edge, and what is said of the others

NAMED_VALUES = (
    *("label", "attributes", "categorical", "weight", "edge_label", "negative", "symmetrize"),
    "missing",
)
"""Options that say by name which values of nodes and edges are read."""

EdgeLabelName = Hashable | list[Any] | None
"""Name of the label of edges, several that make one, or None; an empty list is a quiet None."""

_NOT_WEIGHTS = ("id", "key", "source", "target", "_nx_multiedge_key")
_NO_LABELS = (*_NOT_WEIGHTS, "weight")


@dataclass(frozen=True)
class EdgeNames:
    """Names of the parts of the label of an edge, none if no labels are read."""

    parts: list[Any]
    is_tuple: bool = False
    is_silent: bool = False
    missing: Missing = "error"

    @classmethod
    def of(cls, edge_label: Any, missing: Missing = "error") -> "EdgeNames":
        if isinstance(edge_label, list):
            return cls(list(edge_label), True, not edge_label, missing)
        return cls([] if edge_label is None else [edge_label], missing=missing)

    @property
    def name(self) -> Any:
        return self.parts if self.is_tuple else next(iter(self.parts), None)

    def labels(
        self, edges: Iterable[Mapping[Any, Any]], edge_name: Callable[[int], str]
    ) -> list[Any] | None:
        """Labels of edges from what is known of each; None if none are read."""
        if not self.parts:
            return None
        known = list(edges)
        columns = [[edge.get(part) for edge in known] for part in self.parts]
        return self.of_columns(columns, edge_name)

    def of_columns(
        self, columns: Sequence[Sequence[Any]], edge_name: Callable[[int], str]
    ) -> list[Any] | None:
        """Labels of edges from one list of values for each part; None if none are read."""
        if not self.parts:
            return None
        for part, column in zip(self.parts, columns, strict=True):
            absent = [is_missing(value) for value in column]
            if any(absent) and self.missing not in KEPT_LABELS:
                raise InvalidInputError(
                    f"{edge_name(absent.index(True))} has no {part!r}; {_NOT_THERE}"
                )
            self._check_hashable(part, column, edge_name)
        if not self.is_tuple:
            return list(columns[0])
        rows = zip(*columns, strict=True)
        return [tuple(None if is_missing(value) else value for value in row) for row in rows]

    def _check_hashable(
        self, part: Any, column: Sequence[Any], edge_name: Callable[[int], str]
    ) -> None:
        for edge, value in enumerate(column):
            try:
                hash(value)
            except TypeError:
                raise InvalidInputError(
                    f"{edge_name(edge)}: the {part!r} is {short_repr(value)}, which cannot be a "
                    "label; labels must be hashable"
                ) from None

    def warn_if_unused(self, names: Iterable[Any], weight: Any) -> None:
        """Warn of values that edges have and that are not read; no weight means to read none."""
        if self.is_silent or weight is None:
            return
        used = (*_NO_LABELS, weight, *self.parts)
        warn_of_unused("edges", (name for name in names if name not in used))

    @staticmethod
    def warn_if_no_weight(names: Iterable[Any], weight: Any) -> None:
        """Warn of a weight by a name that somebody gave and no edge has."""
        if weight in (None, "weight", "edge_weight"):
            return
        found = dict.fromkeys(names)
        if weight in found:
            return
        known = ", ".join([repr(name) for name in found if name not in _NOT_WEIGHTS][:_MOST_NAMES])
        what = f"name one that is there, such as {known}" if known else "edges have no values"
        warn_user(
            InputWarning(
                f"no edge has the weight {weight!r}, so that graphs are read without weights; "
                f"{what}, or leave weights out with weight=None (--no-weights)"
            )
        )


_NOT_THERE = (
    'set it on all edges first, or make a label of its own of missing ones with missing="label"'
)


# Edges numbered within each graph: checking them and putting them into one batch


class LocalEdges(NamedTuple):
    """Edges of one graph, shape (n_edges, 2), their weights (None for ones), and their labels."""

    edges: NDArray[Any]
    weights: Floats | None = None
    labels: Sequence[Any] | NDArray[Any] | None = None


def both_directions(graph: LocalEdges) -> LocalEdges:
    """List edges in both directions, parallel ones in the same order, so that sums are equal."""
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
    label_columns: Sequence[str] = (),
    attributes: Any = None,
    negative: Negative = "error",
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
        joined_weights([(len(graph.edges), graph.weights) for graph in graphs]),
        labels=labels,
        attributes=attributes,
        edge_labels=_joined_labels(graphs),
        label_columns=label_columns,
        negative=negative,
        symmetrize=symmetrize,
        missing=missing,
    )


def checked_edge_weights(weights: Any, n_edges: int, position: int) -> Floats:
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


def with_names(batch: GraphBatch, names: Sequence[Any], negative: Negative) -> GraphBatch:
    """Name the nodes; a graph with a part for negative edges has each node twice."""
    if negative != "split":
        return batch.with_node_names(names)
    ptr = batch.node_ptr // 2
    if node_name_array(names, ptr) is None:
        return batch
    twice = (2 * [*names[start:stop]] for start, stop in itertools.pairwise(ptr.tolist()))
    return batch.with_node_names(list(chain.from_iterable(twice)))


# One graph of a batch in Python's own values, for packages and files


class PlainGraph(NamedTuple):
    """Every edge once; None for what the graphs do not have."""

    pairs: list[tuple[int, int]]
    weights: list[float]
    edge_labels: list[Any] | None
    labels: list[Any] | None
    attributes: list[Any] | None


def plain_graph(graph: GraphBatch) -> PlainGraph:
    rows = graph.edge_rows
    once = rows <= graph.indices
    return PlainGraph(
        list(zip(rows[once].tolist(), graph.indices[once].tolist(), strict=True)),
        graph.weights[once].tolist(),
        _named(graph.edge_labels[once], graph.edge_label_names) if graph.has_edge_labels else None,
        _named(graph.labels, graph.label_names) if graph.has_labels else None,
        graph.attributes.tolist() if graph.n_attributes else None,
    )


def _named(codes: Codes, names: Sequence[Any]) -> list[Any]:
    return [names[code] for code in codes.tolist()]


# Which kind of graph an object is, found without importing its package


def is_networkx(graph: Any) -> bool:
    return is_from_package(graph, "networkx") and hasattr(graph, "adjacency")


def is_igraph(graph: Any) -> bool:
    return is_from_package(graph, "igraph") and hasattr(graph, "get_edgelist")


def is_rdkit(molecule: Any) -> bool:
    return is_from_package(molecule, "rdkit") and hasattr(molecule, "GetNumAtoms")


def is_pyg(graph: Any) -> bool:
    """Whether an object looks like one ``Data``; a data set has the edges of all graphs."""
    is_collection = any(base.__name__ == "Dataset" for base in type(graph).__mro__)
    return not is_collection and getattr(graph, "edge_index", None) is not None


def is_grakel(graph: Any) -> bool:
    """Whether an object can only be one graph of GraKeL: two matrices may be a list of graphs."""
    if not is_grakel_item(graph):
        return False
    if is_grakel_object(graph):
        return True
    structure, labels = graph[0], graph[1] if len(graph) > 1 else None
    if labels is None:
        return isinstance(structure, Mapping | Set)
    is_structure = isinstance(structure, Mapping | Set | list | tuple | np.ndarray)
    return isinstance(labels, Mapping) and (is_structure or issparse(structure))


def is_grakel_item(graph: Any) -> bool:
    """Whether an object can be one graph in GraKeL's format, where that format is asked for."""
    is_parts = isinstance(graph, list | tuple) and 1 <= len(graph) <= 3
    return is_parts or is_grakel_object(graph)


def is_grakel_object(graph: Any) -> bool:
    return hasattr(graph, "edge_dictionary") and hasattr(graph, "index_node_labels")


def list_graphs(graphs: Any, is_one: Callable[[Any], bool], accepted: str) -> list[Any]:
    return [graphs] if is_one(graphs) else graphs_of_kind(graphs, is_one, accepted)


def graphs_of_kind(graphs: Any, is_one: Callable[[Any], bool], accepted: str) -> list[Any]:
    if isinstance(graphs, str | bytes | Mapping | Set) or not isinstance(graphs, Iterable):
        raise InvalidInputError(f"expected {accepted}, got {type(graphs).__name__}")
    found = list(iterable_graphs(graphs))
    if not found:
        raise InvalidInputError("there are no graphs to convert")
    for position, graph in enumerate(found):
        if not is_one(graph):
            raise missing_graph_error(graph, position) or InvalidInputError(
                f"graph {position} is of type {type(graph).__name__}; expected {accepted}"
            )
    return found


def data_frame(table: Any) -> Any:
    """Table of pandas, polars, pyarrow and the like in the one form of narwhals, or None."""
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    try:
        found = nw.from_native(table, eager_only=True, pass_through=True)
    except DuplicateError as error:
        raise InvalidInputError(f"the table cannot be read: {error}") from error
    return None if found is table else found


def iterable_graphs(graphs: Any) -> Any:
    """Give what to iterate over: of a table, its only column, whose rows are the graphs."""
    table = data_frame(graphs) if hasattr(graphs, "shape") else None
    if table is not None:
        if len(table.columns) != 1:
            names = ", ".join(map(repr, table.columns[:_MOST_NAMES]))
            raise InvalidInputError(
                f"the table has {len(table.columns)} columns ({names}); give one column, such as "
                "df['smiles']; retgk.io.from_dataframe reads tables of edges and nodes"
            )
        return table.get_column(table.columns[0]).to_list()
    if isinstance(graphs, np.ndarray) and graphs.dtype.kind in "OUT" and graphs.shape[1:] == (1,):
        return graphs[:, 0]  # a table of one column, as scikit-learn hands it on
    if isinstance(graphs, np.ndarray) and graphs.dtype.kind == "O" and graphs.ndim > 1:
        raise InvalidInputError(
            f"got an array of objects of shape {graphs.shape}: NumPy has taken the graphs apart, "
            "or it is a table; pass the list of graphs itself, or one column"
        )
    return graphs


def missing_graph_error(graph: Any, position: int) -> InvalidInputError | None:
    """Make the error for None or NaN in a list of graphs; None for anything else."""
    is_nan = isinstance(graph, float) and math.isnan(graph)
    if graph is None or is_nan or type(graph).__name__ == "NAType":
        return InvalidInputError(
            f"graph {position} is missing ({graph}); drop it together with its target"
        )
    return None


def is_from_package(graph: Any, package: str) -> bool:
    kind: Any = type(graph)
    return package in _packages(kind)


@cache
def _packages(kind: Any) -> frozenset[str]:
    return frozenset(base.__module__.partition(".")[0] for base in kind.__mro__)


# Converters remember with which options they were called, in the batch that they make

Options = ParamSpec("Options")


def remembers(
    kind: str,
) -> Callable[[Callable[Options, GraphBatch]], Callable[Options, GraphBatch]]:
    """Have a converter put a `Reading` of this kind, with its options, into its batches."""

    def decorate(convert: Callable[Options, GraphBatch]) -> Callable[Options, GraphBatch]:
        parameters = inspect.signature(convert).parameters.values()
        usual = {each.name: each.default for each in parameters if each.kind == each.KEYWORD_ONLY}

        @functools.wraps(convert)
        def converted(*graphs: Options.args, **options: Options.kwargs) -> GraphBatch:
            batch = convert(*graphs, **options)  # which nobody else has yet
            found = {} if batch.reading is None else batch.reading.options
            batch.reading = reading_of(kind, usual | options | found)
            warn_of_distinct_labels(batch)
            return batch

        return converted

    return decorate
