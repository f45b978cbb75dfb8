"""Graphs from networkx, and for it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain
from numbers import Real
from operator import itemgetter, methodcaller
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.names import names_there, optional_module
from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.edges import Negative, Symmetrize
from retgk.graphs.flat import Missing, graph_of, is_missing, offsets
from retgk.graphs.reading import reading_of
from retgk.io.objects import (
    Categorical,
    EdgeLabelName,
    EdgeNames,
    LocalEdges,
    NodeColumns,
    batch_from_local_edges,
    both_directions,
    each_edge_once,
    is_igraph,
    is_networkx,
    list_graphs,
    plain_graph,
    remembers,
    short_repr,
    with_names,
)

if TYPE_CHECKING:
    import igraph
    import networkx as nx


@remembers("networkx")
def from_networkx(
    graphs: nx.Graph | Iterable[nx.Graph],
    *,
    label: Hashable | list[Hashable] | None = None,
    attributes: Hashable | list[Hashable] | None = None,
    categorical: Categorical | None = None,
    weight: Hashable | None = "weight",
    edge_label: EdgeLabelName = None,
    negative: Negative = "error",
    symmetrize: Symmetrize = False,
    missing: Missing = "error",
) -> GraphBatch:
    """
    Convert graphs of networkx.

    Nodes may be any hashable values; they are numbered in the order in which the graph
    lists them. A self-loop of weight w becomes the entry w on the diagonal of the
    adjacency matrix. Parallel edges of a multigraph add up.

    Parameters
    ----------
    graphs : networkx graph or iterable of them
        The graphs; each has at least one node.
    label : hashable or list of hashable, optional
        Node attribute that is the discrete label. A list names several, which make one label, a
        tuple: to the kernel, nodes are alike only where all parts are. No labels by default.
    attributes : hashable or list of hashable, optional
        Node attributes that make up the continuous attributes: numbers, or vectors of
        the same length on every node, put side by side. None by default, with a warning
        that names what is not read; an empty list is no warning.
    categorical : hashable, list of hashable, or dict, optional
        Node attributes that become continuous attributes, after the others, as one column of
        zeros and ones for each value: to the kernel, nodes with other values are farther apart,
        but not unlike. A dict lists the values of each, such as ``{"kind": ["a", "b"]}``; without
        it they are those of these graphs, in order, and a warning says so.
    weight : hashable, optional
        Edge attribute that is the weight; an edge without it has weight one. None
        makes all graphs unweighted, with parallel edges too.
    edge_label : hashable or list of hashable, optional
        Edge attribute that is the discrete label of an edge, or several that make one label, a
        tuple; parallel edges have the same. Kernels use it with ``depth`` above zero. None by
        default, with a warning if edges have more than a weight; an empty list is no warning.
    negative : {"error", "absolute", "positive", "split"}, default="error"
        What becomes of negative weights, as in `from_scipy`.
    symmetrize : bool or {"max", "mean", "sum"}, default=False
        Whether to drop the directions of directed graphs: an edge gets the larger of the weights
        of its two directions, which have the same label, their mean (none is 0) or their sum; True
        is "max". Otherwise a directed graph is an error.
    missing : {"error", "label", "nan", "keep"}, default="error"
        What becomes of nodes, and edges, whose label or attribute is None, NaN or not there.
        "label" makes a label of its own, None, of missing labels, and of missing parts of labels;
        "nan" leaves missing attributes, and all columns of missing categories, as NaN, which
        estimators fill in with ``impute_attributes``; "keep" does both.

    Returns
    -------
    GraphBatch
        The graphs, in order.

    Examples
    --------
    >>> import networkx as nx
    >>> water = nx.Graph([("H1", "O"), ("O", "H2")])
    >>> nx.set_node_attributes(water, {"H1": "H", "O": "O", "H2": "H"}, "element")
    >>> from_networkx([water, water], label="element")
    GraphBatch(2 graphs, 6 nodes, 4 edges, 2 labels)
    """
    found = list_graphs(graphs, is_networkx, "networkx graphs")
    node_columns = NodeColumns.of(label, attributes, categorical, missing)
    edge_names = EdgeNames.of(edge_label, missing)
    if not symmetrize:
        _check_undirected(found)
    sizes, degrees, columns, weights = _csr_arrays(found, weight)
    node_ptr = offsets(sizes)

    def node_name(node: int) -> str:
        graph = graph_of(node_ptr, node)
        return f"graph {graph}, node {list(found[graph])[node - node_ptr[graph]]!r}"

    values = node_columns.arrays(_node_values(found, node_columns.names, missing), node_name)
    batch = GraphBatch(
        node_ptr,
        offsets(degrees),
        columns,
        weights,
        labels=values.labels,
        label_columns=node_columns.label_columns,
        attributes=values.attributes,
        edge_labels=_entry_labels(found, edge_names),
        negative=negative,
        symmetrize=symmetrize,
        missing=missing,
    )
    node_columns.warn_if_unused(_names(map(_data_of_nodes, found)), attributes)
    edge_names.warn_if_unused(_names(map(_data_of_edges, found)), weight)
    edge_names.warn_if_no_weight(_names(map(_data_of_edges, found)), weight)
    batch.reading = reading_of("networkx", {"categorical": values.categorical})
    return with_names(batch, list(chain.from_iterable(found)), negative)


def _names(data: Iterable[Iterable[dict[Any, Any]]]) -> Iterator[Any]:
    """Names of values of all nodes or edges, looked at only if they are asked for."""
    yield from dict.fromkeys(chain.from_iterable(chain.from_iterable(data)))


def _data_of_nodes(graph: Any) -> Iterable[dict[Any, Any]]:
    return map(itemgetter(1), graph.nodes(data=True))


def _data_of_edges(graph: Any) -> Iterable[dict[Any, Any]]:
    edges = chain.from_iterable(row.values() for _, row in graph.adjacency())
    if not graph.is_multigraph():
        return edges
    return chain.from_iterable(parallel.values() for parallel in edges)


def _entry_labels(graphs: list[Any], names: EdgeNames) -> list[Any] | None:
    """Labels of edges in the order of the rows of all graphs; None if none are read."""
    if not names.parts:
        return None
    labels: list[Any] = []
    for position, graph in enumerate(graphs):
        rows = [(node, other) for node in graph for other in graph.adj[node]]
        several = graph.is_multigraph()
        found = [list(graph.adj[u][v].values()) if several else [graph.adj[u][v]] for u, v in rows]

        def edge_name(edge: int, position: int = position, rows: list[Any] = rows) -> str:
            source, target = rows[edge]
            return f"graph {position}: the edge from {source!r} to {target!r}"

        for number in range(max(map(len, found), default=1)):
            data = [edges[min(number, len(edges) - 1)] for edges in found]
            own = names.labels(data, edge_name) or []
            if number == 0:
                labels += own
            else:
                _check_parallel(own, labels[len(labels) - len(own) :], edge_name)
    return labels


def _check_parallel(own: list[Any], before: list[Any], edge_name: Callable[[int], str]) -> None:
    for edge, (one, other) in enumerate(zip(own, before, strict=True)):
        if one != other and not (is_missing(one) and is_missing(other)):
            raise InvalidInputError(
                f"{edge_name(edge)} has the labels {other!r} and {one!r}; give it one"
            )


def _check_undirected(graphs: list[Any]) -> None:
    for position, graph in enumerate(graphs):
        if graph.is_directed():
            raise InvalidInputError(
                f"graph {position} is directed; pass symmetrize=True to drop the directions"
            )


def _csr_arrays(
    graphs: list[Any], weight: Hashable | None
) -> tuple[list[int], array[int], NDArray[np.int32], array[float] | None]:
    """CSR arrays; networkx holds both directions of an edge, so that rows are read as they are."""
    sizes: list[int] = []
    columns: list[Any] = []
    degrees, weights, weighted = array("i"), array("d"), False
    for position, graph in enumerate(graphs):
        nodes = list(graph)
        adjacency = dict(graph.adjacency())
        in_order = list(adjacency) == nodes
        rows = list(adjacency.values() if in_order else map(adjacency.__getitem__, nodes))
        sizes.append(len(nodes))
        degrees.extend(map(len, rows))
        columns.extend(_node_positions(nodes, chain.from_iterable(rows)))
        values = _row_weights(rows, graph.is_multigraph(), weight)
        if values is not None:
            _pad_with_ones(weights, len(columns) - len(values))
            _extend_weights(weights, values, (position, graph, weight))
            weighted = True
    _pad_with_ones(weights, len(columns) if weighted else 0)
    return sizes, degrees, np.array(columns, np.int32), weights if weighted else None


def _node_positions(nodes: list[Any], neighbours: Iterable[Any]) -> Iterable[Any]:
    numbers = range(len(nodes))
    if nodes == list(numbers):
        return neighbours
    return map(dict(zip(nodes, numbers, strict=True)).__getitem__, neighbours)


def _row_weights(rows: list[Any], is_multi: bool, weight: Hashable | None) -> list[Any] | None:
    if weight is None:
        return None
    data = [row.values() for row in rows]
    if is_multi:
        edges = chain.from_iterable(data)
        return [_parallel_weight(parallel, weight) for parallel in edges]
    if not any(chain.from_iterable(data)):
        return None
    try:
        return [edge[weight] for edge in chain.from_iterable(data)]  # half the time of get()
    except KeyError:
        return [edge.get(weight, 1) for edge in chain.from_iterable(data)]


def _parallel_weight(parallel: Any, weight: Hashable) -> Any:
    values = [edge.get(weight, 1) for edge in parallel.values()]
    try:
        return sum(values)
    except TypeError:
        return None  # reported with its edge by the caller


def _pad_with_ones(weights: array[float], n_entries: int) -> None:
    weights.extend(array("d", [1.0]) * (n_entries - len(weights)))


def _extend_weights(weights: array[float], values: list[Any], source: Any) -> None:
    try:
        weights.extend(values)
    except (TypeError, OverflowError):
        position, graph, weight = source
        _raise_bad_weight(position, graph, weight)


def _raise_bad_weight(position: int, graph: Any, weight: Hashable) -> NoReturn:
    for source, target, value in graph.edges(data=weight, default=1):
        try:
            array("d", [value])
        except (TypeError, OverflowError) as error:
            problem = "is not a number" if isinstance(error, TypeError) else "is too large"
            raise InvalidInputError(
                f"graph {position}: the edge from {source!r} to {target!r} has the {weight!r} "
                f"{short_repr(value)}, which {problem}; convert with as_batch(graphs, weight=None) "
                "to ignore weights"
            ) from None
    raise InvalidInputError(  # each fits, the sum does not
        f"graph {position}: the weights of parallel edges add up to infinity; scale the weights "
        "down"
    )


def _node_values(graphs: list[Any], names: list[Any], missing: Missing) -> list[list[Any]]:
    """Values of some node attributes over all nodes of all graphs; None where they may lack."""
    values: list[list[Any]] = [[] for _ in names]
    if not names:
        return values
    is_needed = missing == "error"
    readers = [itemgetter(name) if is_needed else methodcaller("get", name) for name in names]
    for position, graph in enumerate(graphs):
        data = [node_data for _, node_data in graph.nodes(data=True)]
        try:
            for column, reader in zip(values, readers, strict=True):
                column.extend(map(reader, data))
        except KeyError:
            _raise_missing(position, graph, names)
    return values


def _raise_missing(position: int, graph: Any, names: list[Any]) -> None:
    for node, data in graph.nodes(data=True):
        for name in names:
            if name not in data:
                raise InvalidInputError(
                    f"graph {position}, node {node!r} has no attribute {name!r}; it has "
                    f"{_shown(name, data)}; set it on all nodes first, for example with "
                    "nx.set_node_attributes, or say with missing= what becomes of nodes without "
                    '("label", "nan" or "keep")'
                )


def _shown(wanted: Any, data: dict[Any, Any]) -> str:
    if all(isinstance(name, str) for name in (wanted, *data)):
        return names_there(wanted, data)
    return str(list(data) or "none")


def networkx_graph(batch: GraphBatch, weighted: bool) -> Any:
    """Convert a batch of one; edges have weights if `weighted`, even where all are one."""
    nx = optional_module("networkx", "networkx")
    graph, found = nx.empty_graph(batch.n_nodes), plain_graph(batch)
    for name, values in (("label", found.labels), ("attributes", found.attributes)):
        if values is not None:
            nx.set_node_attributes(graph, dict(enumerate(values)), name)
    graph.add_edges_from(found.pairs)
    on_edges = (("weight", found.weights if weighted else None), ("label", found.edge_labels))
    for name, values in on_edges:
        if values is not None:
            nx.set_edge_attributes(graph, dict(zip(found.pairs, values, strict=True)), name)
    names = own_names(batch)
    return graph if names is None else nx.relabel_nodes(graph, dict(enumerate(names)))


def own_names(batch: GraphBatch) -> list[Any] | None:
    """Names of the nodes of a batch of one, by which a package can call them; else None."""
    names = [] if batch.node_names is None else batch.node_names.tolist()
    is_named = len(set(names)) == len(names) and not any(map(is_missing, names))
    return names if names and is_named else None


# Graphs of python-igraph

_IDENTITIES = ("id", "name", "_nx_name")  # what igraph itself sets when it reads graphs


@remembers("igraph")
def from_igraph(
    graphs: igraph.Graph | Iterable[igraph.Graph],
    *,
    label: str | list[str] | None = None,
    attributes: str | list[str] | None = None,
    categorical: Categorical | None = None,
    weight: str | None = "weight",
    edge_label: EdgeLabelName = None,
    negative: Negative = "error",
    symmetrize: Symmetrize = False,
    missing: Missing = "error",
) -> GraphBatch:
    """
    Convert graphs of python-igraph.

    A self-loop of weight w becomes the entry w on the diagonal of the adjacency matrix.
    Parallel edges add up.

    Parameters
    ----------
    graphs : igraph.Graph or iterable of them
        The graphs; each has at least one vertex.
    label, attributes, categorical, weight, edge_label, negative, symmetrize, missing
        As in `from_networkx`, of attributes of vertices and edges; None is missing.

    Returns
    -------
    GraphBatch
        The graphs, in order.

    Examples
    --------
    >>> import igraph
    >>> from_igraph([igraph.Graph.Ring(4), igraph.Graph.Full(3)])
    GraphBatch(2 graphs, 7 nodes, 7 edges)
    """
    found = list_graphs(graphs, is_igraph, "igraph graphs")
    columns = NodeColumns.of(label, attributes, categorical, missing)
    edge_names = EdgeNames.of(edge_label, missing)
    reading = (weight, edge_names, symmetrize)
    edges = [_edges(graph, position, *reading) for position, graph in enumerate(found)]
    sizes = [graph.vcount() for graph in found]
    node_ptr = offsets(sizes)

    def node_name(node: int) -> str:
        graph = graph_of(node_ptr, node)
        return f"graph {graph}, vertex {node - node_ptr[graph]}"

    values = columns.arrays(
        [_vertex_values(found, name, missing) for name in columns.names], node_name
    )
    batch = batch_from_local_edges(
        sizes,
        edges,
        labels=values.labels,
        label_columns=columns.label_columns,
        attributes=values.attributes,
        negative=negative,
        symmetrize=symmetrize,
        missing=missing,
    )
    known = chain.from_iterable(graph.vs.attributes() for graph in found)
    columns.warn_if_unused((name for name in known if name not in _IDENTITIES), attributes)
    on_edges = list(chain.from_iterable(graph.es.attributes() for graph in found))
    edge_names.warn_if_unused(on_edges, weight)
    edge_names.warn_if_no_weight(on_edges, weight)
    batch.reading = reading_of("igraph", {"categorical": values.categorical})
    names = [_vertex_names(graph) for graph in found]
    return with_names(batch, list(chain.from_iterable(names)), negative)


def _vertex_names(graph: Any) -> list[Any]:
    """What igraph calls vertices: "name" where all have one of their own, else their numbers."""
    names = list(graph.vs["name"]) if "name" in graph.vs.attributes() else []
    is_named = len(set(map(str, names))) == graph.vcount() and None not in names
    return names if is_named else list(range(graph.vcount()))


def _edges(
    graph: Any, position: int, weight: str | None, names: EdgeNames, symmetrize: Symmetrize
) -> LocalEdges:
    directed = graph.is_directed()
    if directed and not symmetrize:
        raise InvalidInputError(
            f"graph {position} is directed; pass symmetrize=True to drop the directions"
        )
    pairs = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    labels = names.of_columns(
        [_edge_values(graph, name) for name in names.parts],
        lambda edge: f"graph {position}: edge {edge}, from {pairs[edge, 0]} to {pairs[edge, 1]},",
    )
    edges = LocalEdges(pairs, _edge_weights(graph, position, weight), labels)
    edges = each_edge_once(edges, f"graph {position}") if weight is None else edges
    return edges if directed else both_directions(edges)


def _edge_values(graph: Any, name: str) -> list[Any]:
    return list(graph.es[name]) if name in graph.es.attributes() else [None] * graph.ecount()


def _edge_weights(graph: Any, position: int, weight: str | None) -> Floats | None:
    if weight is None or weight not in graph.es.attributes():
        return None
    values = [1 if value is None else value for value in graph.es[weight]]
    for edge, value in enumerate(values):
        if not isinstance(value, Real):
            raise InvalidInputError(
                f"graph {position}: edge {edge} has the {weight!r} {value!r}, which is not a "
                "number; convert with as_batch(graphs, weight=None) to ignore weights"
            )
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        raise InvalidInputError(
            f"graph {position} has a {weight!r} that is too large for a floating-point number; "
            "convert with as_batch(graphs, weight=None) to ignore weights"
        ) from None


def _vertex_values(graphs: list[Any], name: str, missing: Missing) -> list[Any]:
    """One vertex attribute over all graphs; igraph fills in None where it was never set."""
    values: list[Any] = []
    for position, graph in enumerate(graphs):
        found = graph.vs[name] if name in graph.vs.attributes() else [None] * graph.vcount()
        if missing == "error" and any(value is None for value in found):
            vertex = next(vertex for vertex, value in enumerate(found) if value is None)
            raise InvalidInputError(
                f"graph {position}, vertex {vertex} has no attribute {name!r}; the graph has "
                f"{names_there(name, graph.vs.attributes())}; set it on all vertices first, or "
                'say with missing= what becomes of vertices without ("label", "nan" or "keep")'
            )
        values.extend(found)
    return values
