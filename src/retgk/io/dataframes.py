"""Graphs from tables of edges and of nodes: data frames of any package, through narwhals."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, warn_of_distinct_labels
from retgk.graphs.edges import EITHER, NEGATIVE, Negative, Symmetrize
from retgk.graphs.flat import Missing
from retgk.graphs.reading import reading_of
from retgk.io.objects import (
    Categorical,
    EdgeLabelName,
    EdgeNames,
    NodeArrays,
    NodeColumns,
    data_frame,
    missing_graph_error,
    short_repr,
    with_names,
)

_MOST_NAMES = 10
Name = Hashable


def from_dataframe(
    edges: Any,
    nodes: Any = None,
    *,
    graph_id: Name | None = "graph_id",
    source: Name = "source",
    target: Name = "target",
    node: Name = "node",
    weight: Name | None = "weight",
    edge_label: EdgeLabelName = None,
    negative: Negative = "error",
    symmetrize: Symmetrize = False,
    label: Name | list[Name] | None = None,
    attributes: Name | list[Name] | None = None,
    categorical: Categorical | None = None,
    missing: Missing = "error",
    return_ids: bool = False,
) -> Any:
    """
    Convert a table of edges, and one of nodes, of many graphs.

    A row of `edges` is an undirected edge. Rows that name the same two nodes in the same order
    are parallel edges, whose weights add up; an edge may be listed in both directions, with one
    weight. Nodes may be called anything, by names of their own in every graph. Columns that are
    not used are a warning, as in `from_networkx`.

    Parameters
    ----------
    edges : data frame of pandas or polars, table of pyarrow, or dictionary of columns
        One row for each edge; data frames are read through narwhals.
    nodes : such a table, optional
        One row for each node, those without edges too. By default nodes are the ends of edges.
    graph_id : hashable, optional
        Column of both tables that says which graph a row belongs to; None for a single graph.
    source, target : hashable
        Columns of `edges` that name the two ends.
    node : hashable
        Column of `nodes` that names the node.
    weight : hashable or None, default="weight"
        Column of `edges` that is the weight; None for unweighted graphs, as they are by default
        where there is no column "weight".
    edge_label, label, attributes, categorical, missing
        Columns of `edges` and of `nodes`, as in `from_networkx`.
    negative : {"error", "absolute", "positive", "split"}, default="error"
        What becomes of negative weights, as in `from_scipy`.
    symmetrize : bool or {"max", "mean", "sum"}, default=False
        What an edge gets that is listed in both directions with different weights: the larger
        one, their mean (one that is listed once gets half of its weight) or their sum; True is
        "max". Otherwise that is an error.
    return_ids : bool, default=False
        Whether to return the values of `graph_id` too, by which targets find their graphs.

    Returns
    -------
    graphs : GraphBatch
        The graphs, in the order in which their ids first appear: in `nodes` if that is given, in
        `edges` otherwise. Nodes of a graph are in the order of their first appearance too.
    ids : list
        Id of every graph; only if `return_ids`.

    Examples
    --------
    >>> import pandas as pd
    >>> bonds = pd.DataFrame({"mol": ["a", "a", "b"], "i": [1, 2, 1], "j": [2, 3, 2]})
    >>> from_dataframe(bonds, graph_id="mol", source="i", target="j", return_ids=True)
    (GraphBatch(2 graphs, 5 nodes, 3 edges), ['a', 'b'])
    """
    columns = NodeColumns.of(label, attributes, categorical, missing)
    if columns.names and nodes is None:
        names = ", ".join(map(repr, columns.names))
        raise InvalidInputError(f"{names} are read from a table of nodes; give one as nodes=")
    keys, edge_names = _Keys({}, {}), EdgeNames.of(edge_label, missing)
    edge_table, node_table = _Table("edges", edges), _Table("nodes", nodes)
    if nodes is not None:
        keys.add_nodes(node_table, graph_id, node)
    named_weight, ids = weight, (graph_id, source, target)
    if weight == "weight" and weight not in edge_table.names:
        weight = None
    ends = _edge_ends(edge_table, keys, ids, nodes is None)
    position, sizes = _positions_by_graph(keys)
    found = _node_arrays(node_table, columns, position)
    batch = GraphBatch.from_edges(
        sizes,
        position[ends],
        None if weight is None else _weights(edge_table, weight, negative),
        labels=found.labels,
        label_columns=columns.label_columns,
        attributes=found.attributes,
        edge_labels=edge_names.of_columns(
            [edge_table.values(name) for name in edge_names.parts],
            lambda row: f"edges, row {row}",
        ),
        negative=negative,
        symmetrize=symmetrize or EITHER,
        missing=missing,
    )
    columns.warn_if_unused((n for n in node_table.names if n not in (graph_id, node)), attributes)
    edge_names.warn_if_unused((n for n in edge_table.names if n not in ids), named_weight)
    named = {"label": label, "attributes": attributes, "categorical": found.categorical}
    on_edges = {"weight": weight, "edge_label": edge_label, "negative": negative}
    form = {"symmetrize": symmetrize, "missing": missing}
    batch.reading = reading_of("dataframe", {**named, **on_edges, **form})
    called = [name for _, name in keys.nodes]
    batch = with_names(batch, [called[row] for row in np.argsort(position).tolist()], negative)
    warn_of_distinct_labels(batch)
    return (batch, list(keys.graphs)) if return_ids else batch


def _node_arrays(table: _Table, columns: NodeColumns, position: Ints) -> NodeArrays:
    """Labels and attributes of nodes in the order of the batch, given the position of each row."""
    rows = np.argsort(position).tolist()
    values = [[column[row] for row in rows] for column in map(table.values, columns.names)]
    return columns.arrays(values, lambda at: f"nodes, row {rows[at]}")


class _Table:
    """A table, whose columns are read by name; what is missing is an error that names the row."""

    def __init__(self, kind: str, frame: Any) -> None:
        self.kind = kind
        self.n_rows: int | None = None
        self.columns = frame if isinstance(frame, Mapping) else data_frame(frame)
        if self.columns is None and frame is not None:
            raise InvalidInputError(
                f"{kind} is a {type(frame).__name__}; give a data frame of pandas or polars, a "
                "table of pyarrow, or a dictionary of columns"
            )
        names = getattr(self.columns, "columns", self.columns)
        self.names: list[Name] = [] if names is None else list(names)

    def values(self, name: Name) -> list[Any]:
        if name not in self.names:
            more = ", ..." * (len(self.names) > _MOST_NAMES)
            known = ", ".join(map(repr, self.names[:_MOST_NAMES]))
            one = "; graph_id=None reads a table of one graph" * (name == "graph_id")
            raise InvalidInputError(
                f"{self.kind} has no column {name!r}; it has {known}{more}{one}"
            )
        column = getattr(self.columns, "get_column", self.columns.__getitem__)(name)
        convert = next((n for n in ("to_list", "tolist") if hasattr(column, n)), None)
        values = list(column if convert is None else getattr(column, convert)())
        if len(values) != (self.n_rows or len(values)):
            raise InvalidInputError(
                f"{self.kind}: the column {name!r} has {len(values)} rows, others have "
                f"{self.n_rows}"
            )
        self.n_rows = len(values)
        return values

    def keys(self, name: Name) -> list[Any]:
        values = self.values(name)
        for row, value in enumerate(values):
            if missing_graph_error(value, row) is not None or type(value).__name__ == "NaTType":
                raise InvalidInputError(
                    f"{self.kind}, row {row} has no {name!r}; fill it in, or drop the row"
                )
        return values


class _Keys(NamedTuple):
    """Numbers of graphs by their ids, and of nodes by graph and name, in order of appearance."""

    graphs: dict[Any, int]
    nodes: dict[tuple[int, Any], int]

    def graph_numbers(self, table: _Table, graph_id: Name | None, n_rows: int) -> list[int]:
        ids = [None] * n_rows if graph_id is None else table.keys(graph_id)
        return [self.graphs.setdefault(value, len(self.graphs)) for value in ids]

    def add_nodes(self, table: _Table, graph_id: Name | None, node: Name) -> None:
        names = table.keys(node)
        graphs = self.graph_numbers(table, graph_id, len(names))
        for row, key in enumerate(zip(graphs, names, strict=True)):
            if self.nodes.setdefault(key, row) != row:
                raise InvalidInputError(
                    f"nodes, row {row}: the node {short_repr(key[1])} is in row {self.nodes[key]} "
                    "already; list each node of a graph once"
                )


def _edge_ends(
    table: _Table, keys: _Keys, names: tuple[Name | None, Name, Name], may_add: bool
) -> Ints:
    """Numbers of the nodes that every edge joins; unknown ones are new, or an error."""
    graph_id, *end_names = names
    columns = [table.keys(name) for name in end_names]
    graphs = keys.graph_numbers(table, graph_id, len(columns[0]))
    ends = np.empty((len(graphs), 2), np.int64)
    for row, (graph, *pair) in enumerate(zip(graphs, *columns, strict=True)):
        for side, name in enumerate(pair):
            key = (graph, name)
            if not may_add and key not in keys.nodes:
                raise InvalidInputError(
                    f"edges, row {row}: the node {short_repr(name)} is not in the table of nodes, "
                    "in its graph; add it there"
                )
            ends[row, side] = keys.nodes.setdefault(key, len(keys.nodes))
    return ends


def _positions_by_graph(keys: _Keys) -> tuple[Ints, Ints]:
    """Position of every node when nodes stand graph after graph, and the sizes of graphs."""
    graph = np.array([number for number, _ in keys.nodes], np.int64)
    position = np.empty(len(graph), np.int64)
    position[np.argsort(graph, kind="stable")] = np.arange(len(graph))
    return position, np.bincount(graph, minlength=len(keys.graphs))


def _weights(table: _Table, name: Name, negative: Negative) -> Floats:
    values = table.values(name)
    weights = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            weights[row] = value
        except (TypeError, ValueError, OverflowError):
            weights[row] = np.nan
        if not np.isfinite(weights[row]) or isinstance(value, str):
            raise InvalidInputError(
                f"edges, row {row}: the {name!r} is {short_repr(value)}; weights must be numbers, "
                "and finite"
            )
        if weights[row] < 0 and negative == "error":
            raise InvalidInputError(
                f"edges, row {row}: the {name!r} {short_repr(value)} is negative; {NEGATIVE}"
            )
    return weights
