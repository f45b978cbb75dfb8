"""The two forms in which JSON holds a graph, each gathered into one batch."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch, with_reading
from retgk.graphs.edge_checks import Symmetrize
from retgk.graphs.ragged import graph_of, offsets
from retgk.graphs.reading import reading_of
from retgk.io.converters.edge_names import EdgeNames
from retgk.io.converters.local_edges import (
    LocalEdges,
    batch_from_local_edges,
    both_directions,
    checked_edge_weights,
    checked_edges,
    each_edge_once,
)
from retgk.io.converters.node_columns import NodeColumns
from retgk.io.converters.node_values import join_labels, short_repr, stack_attributes
from retgk.runtime.near_names import names_there, near_names

__all__ = ["GraphReader", "NodeLinks", "PlainGraphs", "is_plain"]

_DEEPEST = 20  # names and labels within each other
_SET_IT = Remedy(
    "missing_value",
    'set it on all nodes first, or say with missing= what becomes of nodes without ("label", "nan" '
    'or "keep")',
)
_FORMS = 'a graph has "edges", or "nodes" and "links" (or "edges")'

_PLAIN_KEYS = (
    *("edges", "weights", "edge_labels", "n_nodes", "labels", "attributes", "target", "name"),
)


def is_plain(value: dict[str, Any]) -> bool:
    """Whether an object is a plain list of edges rather than node-link data."""
    return "nodes" not in value and "links" not in value


class GraphReader(ABC):
    """Graphs of one form, one after the other; errors name the place of a graph."""

    def __init__(
        self,
        columns: NodeColumns,
        edge_names: EdgeNames,
        weight: Hashable | None,
        target: str | None,
        symmetrize: Symmetrize,
    ) -> None:
        self.columns = columns
        self.edge_names = edge_names
        self.weight = weight
        self.target = target
        self.symmetrize = symmetrize
        self.missing = columns.missing
        self.places: list[str] = []
        self.sizes: list[int] = []
        self.edges: list[LocalEdges] = []
        self._known: dict[str, None] = {}  # values that nodes have under these names
        self._known_of_edges: dict[str, None] = {}
        self._targets: list[Any] = []
        self._names: list[Any] = []

    def add(self, place: str, value: dict[str, Any]) -> None:
        """Take one graph."""
        known = value.get("graph")
        known = dict(known) if isinstance(known, dict) else {}
        is_directed = value.get("directed", False)
        if is_directed and not self.symmetrize:
            raise InvalidInputError(
                f"{place} is directed",
                Remedy("symmetrize", "pass symmetrize=True to drop the directions"),
            )
        self.places.append(place)
        self._add_structure(place, value, bool(is_directed))
        name = self.target or "target"
        self._targets.append(value.get(name, known.get(name)))
        self._names.append(value.get("name", known.get("name")))

    @abstractmethod
    def _add_structure(self, place: str, value: dict[str, Any], is_directed: bool) -> None:
        """Take nodes and edges, and what is known of them."""

    def batch(self, attributes: Any) -> GraphBatch:
        """Make one batch of all; `attributes` are as the user gave them."""
        self.columns.warn_if_unused(self._known, attributes)
        self.edge_names.warn_if_unused(self._known_of_edges, self.weight)
        try:
            return self._joined()
        except InvalidInputError as error:
            numbered = re.match(r"graph (\d+)", error.problem)
            if numbered is None:
                raise
            place = self.places[int(numbered[1])]
            raise InvalidInputError(
                place + error.problem[numbered.end() :], error.remedy
            ) from error

    @abstractmethod
    def _joined(self) -> GraphBatch:
        """Make one batch of all, whose errors name graphs by their numbers."""

    def targets(self) -> NDArray[Any] | None:
        """Targets; None if no graph has one. Numbers may be missing, which is NaN."""
        found = self._targets
        missing = [position for position, value in enumerate(found) if value is None]
        if len(missing) == len(found):
            if self.target is not None:
                raise InvalidInputError(f"{self.places[0]} has no {self.target!r}")
            return None
        numeric = all(value is None or _is_number(value) for value in found)
        if missing and not numeric:
            raise InvalidInputError(f"{self.places[missing[0]]} has no target, others have")
        return self._target_array([math.nan if value is None else value for value in found])

    def _target_array(self, found: list[Any]) -> NDArray[Any]:
        kinds = {type(value) for value in found}
        try:
            targets = np.array(found)
        except (ValueError, OverflowError):
            targets = np.array(None)
        if targets.dtype.kind not in "biufU" or (targets.dtype.kind == "U" and kinds != {str}):
            raise InvalidInputError(
                "targets must all be text, all numbers, or all lists of as many numbers, got "
                f"{', '.join(short_repr(value) for value in found[:3])}, ..."
            )
        return targets

    def graph_names(self) -> list[str] | None:
        """Names of the graphs; None unless all have one."""
        return None if any(name is None for name in self._names) else list(map(str, self._names))


class PlainGraphs(GraphReader):
    """Graphs as lists of edges between numbered nodes."""

    def __init__(self, *options: Any) -> None:
        super().__init__(*options)
        if self.columns.names or self.edge_names.parts:
            names = ", ".join(map(repr, [*self.columns.names, *self.edge_names.parts]))
            raise InvalidInputError(
                "plain lists of edges have their labels and attributes as lists, so none can be "
                f"read by the name {names}; leave that out"
            )
        self._labels: list[list[Any] | None] = []
        self._attributes: list[Any] = []

    def _add_structure(self, place: str, value: dict[str, Any], _: bool) -> None:
        if "edges" not in value:
            raise InvalidInputError(f"{place} has no edges; {_FORMS}")
        try:
            edges, size = self._plain_edges(value)
            labels = _list_or_none(value, "labels")
            if labels is not None and len(labels) != size:
                raise InvalidInputError(f"{len(labels)} labels for {size} nodes")
            attributes = _list_or_none(value, "attributes")
            rows = None
            if attributes is not None:
                rows = stack_attributes([attributes], [size], self.missing)
        except InvalidInputError as error:
            problem = error.problem.removeprefix("graph 0: ").removeprefix("graph 0 ")
            raise InvalidInputError(f"{place}: {problem}", error.remedy) from error
        self.sizes.append(size)
        self.edges.append(edges)
        self._labels.append(None if labels is None else [_hashable(name) for name in labels])
        self._attributes.append(rows)

    def _check_keys(self, value: dict[str, Any]) -> None:
        """Raise for what is nearly called as something that is read."""
        for key in value.keys() - {*_PLAIN_KEYS, self.target}:
            if near := near_names(key, _PLAIN_KEYS):
                raise InvalidInputError(f"{key!r} is not read; did you mean {near[0]!r}?")

    def _plain_edges(self, value: dict[str, Any]) -> tuple[LocalEdges, int]:
        """Edges of one graph and its number of nodes."""
        self._check_keys(value)
        rows, weights = _list_or_none(value, "edges") or [], _list_or_none(value, "weights")
        if weights is None and rows and all(_is_row(row, 3) for row in rows):
            rows, weights = [row[:2] for row in rows], [row[2] for row in rows]
        for number, row in enumerate(rows):
            if not _is_row(row, 2) or not all(type(end) is int for end in row):
                raise InvalidInputError(
                    f"edge {number} is {short_repr(row)}; give a pair of nodes, numbered from 0"
                )
        pairs, labels = checked_edges(rows, 0), _list_or_none(value, "edge_labels")
        if labels is not None and len(labels) != len(pairs):
            raise InvalidInputError(f"{len(labels)} edge_labels for {len(pairs)} edges")
        labels = None if labels is None else [_hashable(name) for name in labels]
        size = value.get("n_nodes", int(pairs.max()) + 1 if len(pairs) else 0)
        if type(size) is not int or size < 1:
            raise InvalidInputError(f"n_nodes must be a number of at least 1, got {size!r}")
        outside = (pairs < 0) | (pairs >= size)
        if outside.any():
            edge = int(np.argmax(outside.any(axis=1)))
            raise InvalidInputError(
                f"edge {edge} is {rows[edge]}; nodes are numbered from 0 to {size - 1}"
            )
        if self.weight is None:
            return each_edge_once(LocalEdges(pairs, None, labels), "graph 0"), size
        if weights is not None and not all(map(_is_number, weights)):
            raise InvalidInputError("weights must be numbers")
        values = None if weights is None else checked_edge_weights(weights, len(pairs), 0)
        return LocalEdges(pairs, values, labels), size

    def _joined(self) -> GraphBatch:
        """Make one batch; an edge stands for both directions."""
        for kind, found in (("labels", self._labels), ("attributes", self._attributes)):
            _check_all_or_none(kind, found, self.places)
        has_labels, has_attributes = self._labels[0] is not None, self._attributes[0] is not None
        batch = batch_from_local_edges(
            self.sizes,
            self.edges,
            labels=join_labels(self._labels, self.sizes) if has_labels else None,
            attributes=stack_attributes(self._attributes, self.sizes, self.missing)
            if has_attributes
            else None,
            symmetrize=True,
            missing=self.missing,
        )
        how = {"weighted": self.weight is not None, "missing": self.missing}
        return with_reading(batch, reading_of("json", how))


class NodeLinks(GraphReader):
    """Graphs as networkx and D3 write them."""

    def __init__(self, *options: Any) -> None:
        super().__init__(*options)
        self._values: list[list[Any]] = [[] for _ in self.columns.names]
        self._ids: list[list[Any]] = []

    def _add_structure(self, place: str, value: dict[str, Any], is_directed: bool) -> None:
        nodes: Any = value.get("nodes")
        links: Any = value.get("links", value.get("edges"))
        for kind, items in (("nodes", nodes), ("links", links)):
            if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
                raise InvalidInputError(f"{place}: {kind} must be a list of objects; {_FORMS}")
        ids = [_hashable(node.get("id", number)) for number, node in enumerate(nodes)]
        position = {node: number for number, node in enumerate(ids)}
        if len(position) < len(ids):
            raise InvalidInputError(f"{place}: two nodes have the same id")
        self._add_node_values(place, nodes, ids)
        edges = self._linked(place, links, position)
        if not is_directed:
            edges = edges._replace(edges=np.sort(edges.edges, axis=1))
        if not value.get("multigraph", True):
            edges = _last_of_parallel(edges)
        elif self.weight is None:
            edges = each_edge_once(edges, place)
        edges = edges if is_directed else both_directions(edges)
        self.sizes.append(len(ids))
        self.edges.append(edges)

    def _add_node_values(self, place: str, nodes: Sequence[Any], ids: list[Any]) -> None:
        if not self.sizes:
            self._known = dict.fromkeys(key for node in nodes for key in node if key != "id")
        for name, column in zip(self.columns.names, self._values, strict=True):
            for node, node_id in zip(nodes, ids, strict=True):
                if name not in node and self.missing == "error":
                    raise InvalidInputError(
                        f"{place}, node {node_id!r} has no {name!r}; it has "
                        f"{names_there(str(name), node)}",
                        _SET_IT,
                    )
                column.append(_hashable(node.get(name)))
        self._ids.append(ids)

    def _linked(self, place: str, links: Sequence[Any], position: dict[Any, int]) -> LocalEdges:
        pairs, weights = [], []
        if not self.sizes:
            self._known_of_edges = dict.fromkeys(key for link in links for key in link)
        columns = [[_hashable(link.get(part)) for link in links] for part in self.edge_names.parts]
        for number, link in enumerate(links):
            for end in ("source", "target"):
                if end not in link or _hashable(link[end]) not in position:
                    raise InvalidInputError(
                        f"{place}, link {number}: the {end} {short_repr(link.get(end))} is not the "
                        "id of a node"
                    )
            pairs.append([position[_hashable(link[end])] for end in ("source", "target")])
            weight = 1 if self.weight is None else link.get(self.weight, 1)
            if not _is_number(weight):
                raise InvalidInputError(
                    f"{place}, link {number}: the {self.weight!r} {short_repr(weight)} is not a "
                    "number"
                )
            weights.append(weight)
        edges = np.array(pairs, np.int64).reshape(-1, 2)
        labels = self.edge_names.of_columns(columns, lambda number: f"{place}, link {number}")
        return LocalEdges(edges, _as_floats(weights, place), labels)

    def _joined(self) -> GraphBatch:
        """Make one batch, with the labels and attributes that were asked for."""
        node_ptr = offsets(self.sizes)

        def node_name(node: int) -> str:
            graph = graph_of(node_ptr, node)
            return f"{self.places[graph]}, node {self._ids[graph][node - node_ptr[graph]]!r}"

        found = self.columns.arrays(self._values, node_name)
        batch = batch_from_local_edges(
            self.sizes,
            self.edges,
            labels=found.labels,
            attributes=found.attributes,
            symmetrize=self.symmetrize,
            missing=self.missing,
        )
        how = {
            "label": self.columns.label,
            "attributes": self.columns.attributes,
            "categorical": found.categorical,
            "weight": self.weight,
            "edge_label": self.edge_names.name,
            "symmetrize": self.symmetrize,
            "missing": self.missing,
        }
        return with_reading(batch, reading_of("networkx", how))


def _last_of_parallel(graph: LocalEdges) -> LocalEdges:
    """Keep one edge between two nodes, the last that is listed, as networkx does."""
    last = {tuple(pair): number for number, pair in enumerate(graph.edges.tolist())}
    kept = list(last.values())
    return LocalEdges(
        graph.edges[kept].reshape(-1, 2),
        None if graph.weights is None else graph.weights[kept],
        None if graph.labels is None else [graph.labels[number] for number in kept],
    )


def _as_floats(weights: list[Any], place: str) -> Floats:
    try:
        return np.array(weights, dtype=np.float64)
    except OverflowError:
        raise InvalidInputError(f"{place} has a weight that is too large for a number") from None


def _hashable(value: Any, depth: int = 0) -> Any:
    """Give tuples for lists, as networkx does for nodes; objects stay, and are errors later."""
    if not isinstance(value, list):
        return value
    if depth > _DEEPEST:
        raise RecursionError
    return tuple(_hashable(part, depth + 1) for part in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_row(row: Any, width: int) -> bool:
    return isinstance(row, list) and len(row) == width


def _list_or_none(value: dict[str, Any], key: str) -> list[Any] | None:
    found = value.get(key)
    if found is not None and not isinstance(found, list):
        raise InvalidInputError(f"{key} must be a list, got {short_repr(found)}")
    return found


def _check_all_or_none(kind: str, found: Sequence[Any], places: Sequence[str]) -> None:
    missing = [position for position, values in enumerate(found) if values is None]
    if missing and len(missing) < len(found):
        raise InvalidInputError(
            f"{places[missing[0]]} has no {kind}, others have; give all graphs {kind} or none"
        )
