"""
Graphs as JSON: one graph in a file, a list of graphs, or one graph per line (JSON lines).

A graph is an object in one of two forms, the same for all graphs that are read together.

- Node-link data, as ``networkx.node_link_data`` and D3 have it: "nodes", a list of objects with an
  "id" and what is known of the node, and "links" or "edges", a list of objects with "source" and
  "target". "directed" and "multigraph" are false and true unless they are there. What is known of
  the graph stands in "graph".
- A plain list of edges: "edges", pairs of nodes that are numbered from 0 (or triples, with a
  weight), each of which stands for both directions, and, all optional, "n_nodes" (needed for
  isolated last nodes), "weights" and "edge_labels" (one for each edge), "labels" (one for each
  node; a list stands for a tuple), "label_columns" (names of its parts), "attributes" (one list of
  numbers, or one number, for each node), "target" (of the graph) and "name".
"""

import gzip
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.files import atomic_path, text_lines, unpacked_bytes
from retgk._runtime.names import names_there, near_names
from retgk.array_types import Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, with_reading
from retgk.graphs.edges import EITHER, Negative, Symmetrize
from retgk.graphs.flat import Missing, checked_edges, graph_of, offsets
from retgk.graphs.reading import reading_of
from retgk.io.dataset import LEAVE_OUT, GraphDataset, rows_without
from retgk.io.formats import Format, PathLike, label_remedy
from retgk.io.objects import (
    NAMED_VALUES,
    EdgeNames,
    LocalEdges,
    NodeColumns,
    batch_from_local_edges,
    both_directions,
    checked_edge_weights,
    each_edge_once,
    join_labels,
    plain_graph,
    short_repr,
    stack_attributes,
    with_names,
)

Value = tuple[str, Any]
"""A graph as JSON has it, and where it stands."""


def _read(
    files: list[Path],
    *,
    label: Any = None,
    attributes: Any = None,
    categorical: Any = None,
    weight: Any = "weight",
    edge_label: Any = None,
    target_column: str | None = None,
    skip_invalid: bool = False,
    negative: Negative = "error",
    symmetrize: Symmetrize = False,
    missing: Missing = "error",
) -> GraphDataset:
    columns = NodeColumns.of(label, attributes, categorical, missing)
    names = EdgeNames.of(edge_label, missing)
    where = files[0] if len(files) == 1 else files[0].parent
    try:
        options = (columns, names, weight, target_column, negative, symmetrize)
        reader = _gathered(files, options, skip_invalid)
        rows = reader.rows(where)
        graphs = reader.batch(attributes)
    except RecursionError as error:
        raise InvalidInputError(f"{where} holds values nested too deeply") from error
    return GraphDataset(graphs, reader.targets(), "", "", reader.graph_names(), rows)


def _gathered(files: list[Path], options: tuple[Any, ...], skip_invalid: bool) -> "GraphReader":
    reader: GraphReader | None = None
    for place, value in chain.from_iterable(map(_values, files)):
        if not isinstance(value, dict):
            kind = "a list" if isinstance(value, list) else f"the value {str(value)[:40]}"
            raise InvalidInputError(f"{place} is not a graph: {kind} instead of an object")
        form = PlainGraphs if is_plain(value) else NodeLinks
        if reader is None:
            reader = form(*options)
        elif not isinstance(reader, form):
            raise InvalidInputError(
                f"{place} is in another form than the graphs before it; give all as node-link "
                "data or all as plain edges"
            )
        if not reader.leaves_out(place, value, skip_invalid):
            reader.add(place, value)
    if reader is None:
        raise InvalidInputError(f"{files[0]} holds no graphs")
    return reader


def write_json(data: GraphDataset | GraphBatch, path: PathLike) -> Path:
    """Write graphs as plain lists of edges, each edge once, without loss."""
    output = Path(path)
    if not JSON.is_named(output):
        raise InvalidInputError(f"{output} should end in {', '.join(JSON.readable)}")
    dataset = data if isinstance(data, GraphDataset) else GraphDataset(data, None, "")
    for name in dataset.label_names:
        _check_label(name)
    for name in dataset.graphs.edge_label_names:
        _check_label(name, of_edges=True)
    lines = ".jsonl" in output.name.lower()
    start, between, end = ("", "\n", "\n") if lines else ("[", ",\n", "]\n")
    opened: Any = gzip.open if output.suffix.lower() == ".gz" else open
    with atomic_path(output) as part, opened(part, "wt", encoding="utf-8") as stream:
        stream.write(start)
        for number, text in enumerate(_graph_texts(dataset)):
            stream.write(between * (number > 0) + text)
        stream.write(end)
    return output


def _graph_texts(dataset: GraphDataset) -> Iterator[str]:
    for number, graph in enumerate(dataset.graphs):
        found = plain_graph(graph)
        record: dict[str, Any] = {"n_nodes": graph.n_nodes, "edges": found.pairs}
        if dataset.graphs.is_weighted:
            record["weights"] = found.weights
        if found.edge_labels is not None:
            record["edge_labels"] = found.edge_labels
        if found.labels is not None:
            record["labels"] = found.labels
        if graph.label_columns:
            record["label_columns"] = graph.label_columns
        if found.attributes is not None:
            rows = graph.attributes.astype(object)
            rows[np.isnan(graph.attributes)] = None
            record["attributes"] = rows.tolist()
        if dataset.targets is not None:
            target = dataset.targets[number].tolist()
            is_missing = isinstance(target, float) and not math.isfinite(target)
            record["target"] = None if is_missing else target
        if dataset.graph_names is not None:
            record["name"] = dataset.graph_names[number]
        yield json.dumps(record, ensure_ascii=False, allow_nan=False)


def _check_label(label: Any, whole: Any = None, of_edges: bool = False) -> None:
    whole = label if whole is None else whole
    if type(label) is tuple:
        for part in label:
            _check_label(part, whole, of_edges)
    elif not (label is None or type(label) in (str, bool, int, float)) or (
        type(label) is float and not math.isfinite(label)
    ):
        raise InvalidInputError(
            f"JSON cannot hold the label {whole!r}; {label_remedy(of_edges, or_else='')}"
        )


# From files to values


def _values(path: Path) -> Iterator[Value]:
    if ".jsonl" in path.name.lower():
        for number, line in text_lines(path):
            if line.strip():
                yield f"{path}, line {number}", _parsed(line, f"{path}, line {number}")
        return
    data = unpacked_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not text: {error}") from error
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) > 1 and lines[0][1].strip().endswith("}") and lines[1][1].lstrip()[0] == "{":
        for number, line in lines:
            yield f"{path}, line {number}", _parsed(line, f"{path}, line {number}")
        return
    value = _parsed(text, str(path))
    if isinstance(value, dict) and isinstance(value.get("graphs"), list):
        value = value["graphs"]
    if isinstance(value, list):
        yield from ((f"{path}, graph {number}", part) for number, part in enumerate(value))
    else:
        yield str(path), value


def _parsed(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"{place}, line {error.lineno}" if "\n" in text.strip() else place
        raise InvalidInputError(
            f"{where}, column {error.colno} is not JSON: {error.msg}"
        ) from error
    except (ValueError, MemoryError) as error:  # such as a number of too many digits
        raise InvalidInputError(f"{place} cannot be read: {error}") from error


# The two forms in which JSON holds a graph, each gathered into one batch

_DEEPEST = 20  # names and labels within each other
_SET_IT = (
    'set it on all nodes first, or say with missing= what becomes of nodes without ("label", "nan" '
    'or "keep")'
)
_FORMS = 'a graph has "edges", or "nodes" and "links" (or "edges")'

_PLAIN_KEYS = (
    *("edges", "weights", "edge_labels", "n_nodes", "labels", "label_columns", "attributes"),
    *("target", "name"),
)


def is_plain(value: dict[str, Any]) -> bool:
    return "nodes" not in value and "links" not in value


class GraphReader(ABC):
    """Graphs of one form, one after the other; errors name the place of a graph."""

    def __init__(
        self,
        columns: NodeColumns,
        edge_names: EdgeNames,
        weight: Hashable | None,
        target: str | None,
        negative: Negative,
        symmetrize: Symmetrize,
    ) -> None:
        self.columns = columns
        self.edge_names = edge_names
        self.weight = weight
        self.target = target
        self.negative: Negative = negative
        self.symmetrize = symmetrize
        self.missing = columns.missing
        self.places: list[str] = []
        self.sizes: list[int] = []
        self.edges: list[LocalEdges] = []
        self._known: dict[str, None] = {}  # values that nodes have under these names
        self._known_of_edges: dict[str, None] = {}
        self._targets: list[Any] = []
        self._names: list[Any] = []
        self._left_out: list[int] = []

    def leaves_out(self, place: str, value: dict[str, Any], skip_invalid: bool) -> bool:
        """Whether a graph has no nodes; then it counts as left out, or is an error."""
        is_empty = value.get("nodes") == []
        if is_plain(value):
            is_empty = value.get("edges") == [] and value.get("n_nodes", 0) == 0
        if is_empty and not skip_invalid:
            raise InvalidInputError(f"{place} has no nodes; {LEAVE_OUT}")
        if is_empty:
            self._left_out.append(len(self.places) + len(self._left_out))
        return is_empty

    def rows(self, place: Any) -> Ints | None:
        """Numbers of the graphs, if some were left out."""
        n_graphs = len(self.places) + len(self._left_out)
        return rows_without(self._left_out, n_graphs, place)

    def add(self, place: str, value: dict[str, Any]) -> None:
        known = value.get("graph")
        known = dict(known) if isinstance(known, dict) else {}
        is_directed = value.get("directed", False)
        if is_directed and not self.symmetrize:
            raise InvalidInputError(
                f"{place} is directed; pass symmetrize=True to drop the directions"
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
        try:
            batch = self._joined()
        except InvalidInputError as error:
            numbered = re.match(r"graph (\d+)", str(error))
            if numbered is None:
                raise
            place = self.places[int(numbered[1])]
            raise InvalidInputError(place + str(error)[numbered.end() :]) from error
        self.columns.warn_if_unused(self._known, attributes)
        self.edge_names.warn_if_unused(self._known_of_edges, self.weight)
        return batch

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
        return None if any(name is None for name in self._names) else list(map(str, self._names))


class PlainGraphs(GraphReader):
    def __init__(self, *options: Any) -> None:
        super().__init__(*options)
        if self.columns.names or self.edge_names.parts:
            names = ", ".join(map(repr, [*self.columns.names, *self.edge_names.parts]))
            raise InvalidInputError(
                "plain lists of edges have their labels and attributes as lists, so none can be "
                f"read by the name {names}; leave that out"
            )
        self._labels: list[list[Any] | None] = []
        self._label_columns: list[list[str]] = []
        self._attributes: list[Any] = []

    def _add_structure(self, place: str, value: dict[str, Any], _: bool) -> None:
        if "edges" not in value:
            raise InvalidInputError(f"{place} has no edges; {_FORMS}")
        for key in value.keys() - {*_PLAIN_KEYS, self.target}:
            if near := near_names(key, _PLAIN_KEYS):
                raise InvalidInputError(f"{place}: {key!r} is not read; did you mean {near[0]!r}?")
        try:
            edges, size = self._plain_edges(value)
            self._find_unused(value, size)
            labels = _list_or_none(value, "labels")
            attributes = _list_or_none(value, "attributes")
        except InvalidInputError as error:
            problem = str(error).removeprefix("graph 0: ").removeprefix("graph 0 ")
            raise InvalidInputError(f"{place}: {problem}") from error
        self.sizes.append(size)
        self.edges.append(edges)
        self._labels.append(None if labels is None else [tuples_of_lists(name) for name in labels])
        self._attributes.append(attributes)
        self._label_columns.append(_list_or_none(value, "label_columns") or [])

    def _find_unused(self, value: dict[str, Any], size: int) -> None:
        """Remember lists that have one value for each node, or for each edge."""
        for key in value.keys() - {*_PLAIN_KEYS, self.target}:
            if isinstance(value[key], list) and len(value[key]) in (size, len(value["edges"])):
                is_of_nodes = len(value[key]) == size
                (self._known if is_of_nodes else self._known_of_edges)[key] = None

    def _plain_edges(self, value: dict[str, Any]) -> tuple[LocalEdges, int]:
        rows, weights = _list_or_none(value, "edges") or [], _list_or_none(value, "weights")
        if weights is None and rows and all(_is_row(row, 3) for row in rows):
            rows, weights = [row[:2] for row in rows], [row[2] for row in rows]
        for number, row in enumerate(rows):
            if not _is_row(row, 2) or not all(type(end) is int for end in row):
                raise InvalidInputError(
                    f"edge {number} is {short_repr(row)}; give a pair of nodes, numbered from 0"
                )
        pairs, labels = checked_edges(rows), _list_or_none(value, "edge_labels")
        if labels is not None and len(labels) != len(pairs):
            raise InvalidInputError(f"{len(labels)} edge_labels for {len(pairs)} edges")
        labels = None if labels is None else [tuples_of_lists(name) for name in labels]
        size = value.get("n_nodes", int(pairs.max()) + 1 if len(pairs) else 0)
        if type(size) is not int or size < 1:
            raise InvalidInputError(f"n_nodes must be a number of at least 1, got {size!r}")
        if self.weight is None:
            return each_edge_once(LocalEdges(pairs, None, labels), "graph 0"), size
        if weights is not None and not all(map(_is_number, weights)):
            raise InvalidInputError("weights must be numbers")
        values = None if weights is None else checked_edge_weights(weights, len(pairs), 0)
        return LocalEdges(pairs, values, labels), size

    def _joined(self) -> GraphBatch:
        for kind, found in (("labels", self._labels), ("attributes", self._attributes)):
            lacking = [position for position, values in enumerate(found) if values is None]
            if 0 < len(lacking) < len(found):
                raise InvalidInputError(
                    f"{self.places[lacking[0]]} has no {kind}, others have; give all graphs {kind} "
                    "or none"
                )
        for place, columns in zip(self.places, self._label_columns, strict=True):
            if columns != self._label_columns[0]:
                raise InvalidInputError(
                    f"{place} has the label_columns {columns}, {self.places[0]} has "
                    f"{self._label_columns[0]}; give all graphs the same"
                )
        has_labels, has_attributes = self._labels[0] is not None, self._attributes[0] is not None
        batch = batch_from_local_edges(
            self.sizes,
            self.edges,
            labels=join_labels(self._labels, self.sizes) if has_labels else None,
            label_columns=self._label_columns[0],
            attributes=stack_attributes(self._attributes, self.sizes, self.missing)
            if has_attributes
            else None,
            negative=self.negative,
            symmetrize=self.symmetrize or EITHER,
            missing=self.missing,
        )
        how = {"weighted": self.weight is not None, "negative": self.negative}
        form = {"symmetrize": self.symmetrize, "missing": self.missing}
        return with_reading(batch, reading_of("json", how | form))


class NodeLinks(GraphReader):
    def __init__(self, *options: Any) -> None:
        super().__init__(*options)
        self._values: list[list[Any]] = [[] for _ in self.columns.names]
        self._ids: list[list[Any]] = []
        self._called: list[list[Any]] = []

    def _add_structure(self, place: str, value: dict[str, Any], is_directed: bool) -> None:
        nodes: Any = value.get("nodes")
        links: Any = value.get("links", value.get("edges"))
        for kind, items in (("nodes", nodes), ("links", links)):
            if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
                raise InvalidInputError(f"{place}: {kind} must be a list of objects; {_FORMS}")
        ids = [tuples_of_lists(node.get("id", number)) for number, node in enumerate(nodes)]
        position = {node: number for number, node in enumerate(ids)}
        if len(position) < len(ids):
            raise InvalidInputError(f"{place}: two nodes have the same id")
        self._add_node_values(place, nodes, ids)
        names = value.get("names")  # of GML, where an id is a number
        self._called.append(names if isinstance(names, list) and len(names) == len(ids) else ids)
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
        self._known.update(dict.fromkeys(key for node in nodes for key in node if key != "id"))
        for name, column in zip(self.columns.names, self._values, strict=True):
            for node, node_id in zip(nodes, ids, strict=True):
                if name not in node and self.missing == "error":
                    raise InvalidInputError(
                        f"{place}, node {node_id!r} has no {name!r}; it has "
                        f"{names_there(str(name), node)}; {_SET_IT}"
                    )
                column.append(tuples_of_lists(node.get(name)))
        self._ids.append(ids)

    def _linked(self, place: str, links: Sequence[Any], position: dict[Any, int]) -> LocalEdges:
        pairs, weights = [], []
        self._known_of_edges.update(dict.fromkeys(key for link in links for key in link))
        columns = [
            [tuples_of_lists(link.get(part)) for link in links] for part in self.edge_names.parts
        ]
        for number, link in enumerate(links):
            ends = {end: _at(link.get(end), position) for end in ("source", "target")}
            for end, at in ends.items():
                if at is None or end not in link:
                    raise InvalidInputError(
                        f"{place}, link {number}: the {end} {short_repr(link.get(end))} is not the "
                        "id of a node"
                    )
            pairs.append([*ends.values()])
            weight = 1 if self.weight is None else link.get(self.weight, 1)
            if not _is_number(weight):
                raise InvalidInputError(
                    f"{place}, link {number}: the {self.weight!r} {short_repr(weight)} is not a "
                    "number"
                )
            weights.append(weight)
        edges = np.array(pairs, np.int64).reshape(-1, 2)
        labels = self.edge_names.of_columns(columns, lambda number: f"{place}, link {number}")
        try:
            return LocalEdges(edges, np.array(weights, dtype=np.float64), labels)
        except OverflowError:
            raise InvalidInputError(f"{place} has a weight that is too large") from None

    def _joined(self) -> GraphBatch:
        self.edge_names.warn_if_no_weight(self._known_of_edges, self.weight)
        node_ptr = offsets(self.sizes)

        def node_name(node: int) -> str:
            graph = graph_of(node_ptr, node)
            return f"{self.places[graph]}, node {self._ids[graph][node - node_ptr[graph]]!r}"

        found = self.columns.arrays(self._values, node_name)
        batch = batch_from_local_edges(
            self.sizes,
            self.edges,
            labels=found.labels,
            label_columns=self.columns.label_columns,
            attributes=found.attributes,
            negative=self.negative,
            symmetrize=self.symmetrize,
            missing=self.missing,
        )
        batch = with_names(batch, list(chain.from_iterable(self._called)), self.negative)
        how = {
            "label": self.columns.label,
            "attributes": self.columns.attributes,
            "categorical": found.categorical,
            "weight": self.weight,
            "edge_label": self.edge_names.name,
            "negative": self.negative,
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


def tuples_of_lists(value: Any, depth: int = 0) -> Any:
    """Give tuples for lists, as networkx does for nodes; objects stay, and are errors later."""
    if not isinstance(value, list):
        return value
    if depth > _DEEPEST:
        raise RecursionError
    return tuple(tuples_of_lists(part, depth + 1) for part in value)


def _at(node: Any, position: Mapping[Any, int]) -> int | None:
    try:
        return position.get(tuples_of_lists(node))
    except TypeError:  # an object is no id
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_row(row: Any, width: int) -> bool:
    return isinstance(row, list) and len(row) == width


def _list_or_none(value: dict[str, Any], key: str) -> list[Any] | None:
    found = value.get(key)
    if found is not None and not isinstance(found, list):
        raise InvalidInputError(f"{key} must be a list, got {short_repr(found)}")
    return found


_START = re.compile(r"\s*(\{|\[\s*\{)")  # a molecule may start with a square bracket
JSON = Format(
    name="json",
    endings=(".json", ".jsonl"),
    read=_read,
    options=(*NAMED_VALUES, "target_column", "skip_invalid"),
    sniff=lambda sample: _START.match(sample.text) is not None,
    write=write_json,
    memory_factor=48,
    in_folder=((), (".json", ".jsonl")),  # descriptions in JSON may stand beside graphs
)
