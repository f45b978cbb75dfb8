"""The input format of GraKeL: a graph object, its node labels, its edge labels."""

from collections.abc import Hashable, Iterable, Mapping, Sized
from numbers import Number
from typing import Any

import numpy as np
from scipy.sparse import coo_array, issparse

from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.edges import NO_EDGE_LABEL, Negative, Symmetrize
from retgk.graphs.flat import KEPT_LABELS, Missing, graph_of, offsets
from retgk.io.objects import (
    LocalEdges,
    attribute_matrix,
    batch_from_local_edges,
    graphs_of_kind,
    is_grakel,
    is_grakel_item,
    is_grakel_object,
    remembers,
)

_ITEM = "[graph], [graph, node_labels] or [graph, node_labels, edge_labels]"
_FORMS = (
    "an adjacency matrix (NumPy, SciPy or lists of numbers), a dictionary (pair to weight, node "
    "to neighbours, or node to neighbour to weight), or pairs or triples (source, target[, weight])"
)
GrakelGraph = Any
"""``[graph]``, ``[graph, node_labels]``, ``[graph, node_labels, edge_labels]``, or grakel.Graph."""
Edges = list[tuple[Hashable, Hashable, Any]]


@remembers("grakel")
def from_grakel(
    graphs: GrakelGraph | Iterable[GrakelGraph],
    *,
    as_attributes: bool = False,
    negative: Negative = "error",
    symmetrize: Symmetrize = False,
    missing: Missing = "error",
) -> GraphBatch:
    """
    Convert graphs in the input format of GraKeL.

    Nodes are numbered in sorted order where they can be compared, as in GraKeL, and in
    order of appearance otherwise. A node that has a label but no edge is an isolated
    node. Labels of edges count with ``depth`` above zero; one direction of an edge may have it.

    Parameters
    ----------
    graphs : iterable of [graph], [graph, node_labels] or [graph, node_labels, edge_labels]
        Input of a kernel of GraKeL; also one such graph, and ``grakel.Graph`` objects.
        `graph` is an adjacency matrix (NumPy, SciPy, or a list of lists), a dictionary
        from pairs of nodes to weights, from nodes to neighbours, or from nodes to
        neighbours to weights, or an iterable of pairs or (source, target, weight).
        Both directions of an edge are listed.
    as_attributes : bool, default=False
        Whether `node_labels` hold numbers or vectors that are continuous attributes
        rather than discrete labels.
    negative, symmetrize, missing
        As in `from_scipy`: each edge may stand for both directions.

    Returns
    -------
    GraphBatch
        The graphs, in order.

    Examples
    --------
    >>> water = [{("H1", "O"), ("O", "H2")}, {"H1": "H", "O": "O", "H2": "H"}]
    >>> from_grakel([water], symmetrize=True)
    GraphBatch(1 graph, 3 nodes, 2 edges, 2 labels)
    """
    found = [graphs] if is_grakel(graphs) else graphs_of_kind(graphs, is_grakel_item, _ITEM)
    read = [_read_graph(graph, position, missing) for position, graph in enumerate(found)]
    sizes = [len(nodes) for nodes, _, _ in read]
    node_ptr = offsets(sizes)
    values = _node_values(read, missing)

    def node_name(node: int) -> str:
        graph = graph_of(node_ptr, node)
        return f"graph {graph}, node {read[graph][0][node - node_ptr[graph]]!r}"

    attributes = None
    if as_attributes and values is not None:
        attributes, values = attribute_matrix(values, "node label", node_name, missing), None
    return batch_from_local_edges(
        sizes,
        [edges for _, edges, _ in read],
        labels=values,
        attributes=attributes,
        negative=negative,
        symmetrize=symmetrize,
        missing=missing,
    )


def _read_graph(
    graph: Any, position: int, missing: Missing
) -> tuple[list[Hashable], LocalEdges, Any]:
    structure, labels, given = _parts(graph)
    if labels is not None and not isinstance(labels, Mapping):
        raise InvalidInputError(
            f"graph {position}: node labels must be a dictionary from node to label, got "
            f"{type(labels).__name__}; dict(enumerate(labels)) makes one for a matrix"
        )
    nodes, edges = _nodes_and_edges(structure, labels, position)
    index = {node: number for number, node in enumerate(nodes)}
    pairs = np.array([(index[u], index[v]) for u, v, _ in edges], np.int64).reshape(-1, 2)
    try:
        weights = np.array([weight for _, _, weight in edges], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"graph {position} has a weight that is not a number") from None
    ends = [(source, target) for source, target, _ in edges]
    on_edges = _edge_labels(given, ends, position, missing)
    return nodes, LocalEdges(pairs, weights, on_edges), labels


def _parts(graph: Any) -> tuple[Any, Any, Any]:
    """Structure, labels of nodes, and labels of edges; None for what is not there."""
    if not is_grakel_object(graph):
        structure, labels, on_edges = (*graph, None, None)[:3]
    elif graph.edge_dictionary:
        structure, labels = graph.edge_dictionary, graph.node_labels
        on_edges = getattr(graph, "edge_labels", None)
    else:
        structure, labels = graph.adjacency_matrix, graph.index_node_labels
        on_edges = getattr(graph, "index_edge_labels", None)
    is_empty = isinstance(labels, Sized) and len(labels) == 0
    return structure, None if is_empty else labels, on_edges


def _edge_labels(
    labels: Any, pairs: list[tuple[Hashable, Hashable]], position: int, missing: Missing
) -> list[Any] | None:
    if labels is None:
        return None
    if not isinstance(labels, Mapping):
        raise InvalidInputError(
            f"graph {position}: edge labels must be a dictionary from pairs of nodes to labels, "
            f"got {type(labels).__name__}"
        )
    if pairs and not labels:
        return None
    for pair in pairs:
        if pair not in labels and pair[::-1] not in labels and missing not in KEPT_LABELS:
            raise InvalidInputError(
                f"graph {position}: the edge from {pair[0]!r} to {pair[1]!r} has no label; "
                f"{NO_EDGE_LABEL}"
            )
    return [labels.get(pair, labels.get(pair[::-1])) for pair in pairs]


def _nodes_and_edges(structure: Any, labels: Any, position: int) -> tuple[list[Hashable], Edges]:
    matrix = _adjacency_or_none(structure)
    if matrix is not None:
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InvalidInputError(
                f"graph {position}: an adjacency matrix is square, got shape {matrix.shape}"
            )
        entries = coo_array(matrix)
        columns = (entries.row, entries.col, entries.data)
        edges: Edges = list(zip(*(column.tolist() for column in columns), strict=True))
        return list(range(matrix.shape[0])), edges
    edges, isolated = _list_edges(structure, position)
    nodes = dict.fromkeys([*(labels or ()), *isolated])
    nodes.update(dict.fromkeys(end for source, target, _ in edges for end in (source, target)))
    try:
        return sorted(nodes), edges
    except TypeError:
        return list(nodes), edges


def _adjacency_or_none(structure: Any) -> Any:
    if issparse(structure) or isinstance(structure, np.ndarray):
        return structure
    is_nested_list = isinstance(structure, list) and all(
        isinstance(row, list) and all(isinstance(value, Number) for value in row)
        for row in structure
    )
    return np.array(structure) if is_nested_list and structure else None


def _list_edges(structure: Any, position: int) -> tuple[Edges, list[Hashable]]:
    try:
        if isinstance(structure, Mapping):
            return _edges_of_mapping(structure)
        return [_triple(edge) for edge in structure], []
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"graph {position} is not in a form of GraKeL; it must be {_FORMS}"
        ) from None


def _triple(edge: Any) -> tuple[Hashable, Hashable, Any]:
    if not isinstance(edge, tuple):
        raise TypeError
    source, target, *weight = edge
    if len(weight) > 1:
        raise ValueError
    return source, target, weight[0] if weight else 1.0


def _edges_of_mapping(structure: Mapping[Any, Any]) -> tuple[Edges, list[Hashable]]:
    if all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(weight, Number)
        for pair, weight in structure.items()
    ):
        return [(*pair, weight) for pair, weight in structure.items()], []
    edges: Edges = []
    for node, neighbours in structure.items():
        if isinstance(neighbours, Mapping):
            edges += [(node, other, weight) for other, weight in neighbours.items()]
        elif isinstance(neighbours, list | tuple | set | frozenset):
            edges += [(node, other, 1.0) for other in neighbours]
        else:
            raise TypeError
    return edges, list(structure)


def _node_values(
    read: list[tuple[list[Hashable], LocalEdges, Any]], missing: Missing
) -> list[Any] | None:
    if all(labels is None for _, _, labels in read):
        return None
    values: list[Any] = []
    for position, (nodes, _, labels) in enumerate(read):
        if labels is None:
            raise InvalidInputError(
                f"graph {position} has no node labels, others have; give all graphs labels or none"
            )
        for node in nodes:
            if node not in labels and missing == "error":
                raise InvalidInputError(f"graph {position}, node {node!r} has no label")
            values.append(labels.get(node))
    return values
