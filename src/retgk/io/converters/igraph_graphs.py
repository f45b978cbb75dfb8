"""Graphs of python-igraph."""

from collections.abc import Iterable
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from retgk.array_types import Floats
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.graphs.edge_checks import Symmetrize
from retgk.graphs.missing_values import Missing
from retgk.graphs.ragged import graph_of, offsets
from retgk.graphs.reading import reading_of
from retgk.io.converters.edge_names import EdgeLabelName, EdgeNames
from retgk.io.converters.graph_kinds import is_igraph, list_graphs
from retgk.io.converters.local_edges import (
    LocalEdges,
    batch_from_local_edges,
    both_directions,
    each_edge_once,
)
from retgk.io.converters.node_columns import Categorical, NodeColumns
from retgk.io.converters.remembered_options import remembers
from retgk.runtime.near_names import names_there

if TYPE_CHECKING:
    import igraph

__all__ = ["from_igraph"]

_IDENTITIES = ("id", "name", "_nx_name")  # what igraph itself sets when it reads graphs


@remembers("igraph")
def from_igraph(
    graphs: "igraph.Graph | Iterable[igraph.Graph]",
    *,
    label: str | list[str] | None = None,
    attributes: str | list[str] | None = None,
    categorical: Categorical | None = None,
    weight: str | None = "weight",
    edge_label: EdgeLabelName = None,
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
    label : str or list of str, optional
        Vertex attribute that is the discrete label, or several that make one label, a tuple, as
        in `from_networkx`. No labels by default.
    attributes : str or list of str, optional
        Vertex attributes that make up the continuous attributes: numbers, or vectors of
        the same length on every vertex, put side by side. None by default, with a warning
        if vertices have some and no label is read; an empty list is no warning.
    categorical : str, list of str, or dict, optional
        Vertex attributes that become columns of zeros and ones, as in `from_networkx`.
    weight : str, optional
        Edge attribute that is the weight; an edge without it, or where it is None, has
        weight one. None makes all graphs unweighted, with parallel edges too.
    edge_label : str or list of str, optional
        Edge attribute that is the discrete label of an edge, or several that make one, a tuple,
        as in `from_networkx`. Kernels use it with ``depth`` above zero.
    symmetrize : bool or {"max", "mean", "sum"}, default=False
        Whether to drop the directions of directed graphs: an edge gets the larger of the weights
        of its two directions, their mean or their sum, as in `from_networkx`. Otherwise a directed
        graph is an error.
    missing : {"error", "label", "nan", "keep"}, default="error"
        What becomes of missing labels and attributes, as in `from_networkx`.

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
    unused = (name for name in found[0].vs.attributes() if name not in _IDENTITIES)
    columns.warn_if_unused(unused, attributes)
    edge_names = EdgeNames.of(edge_label, missing)
    edge_names.warn_if_unused(found[0].es.attributes(), weight)
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
        attributes=values.attributes,
        symmetrize=symmetrize,
        missing=missing,
    )
    batch.reading = reading_of("igraph", {"categorical": values.categorical})
    return batch


def _edges(
    graph: Any, position: int, weight: str | None, names: EdgeNames, symmetrize: Symmetrize
) -> LocalEdges:
    directed = graph.is_directed()
    if directed and not symmetrize:
        raise InvalidInputError(
            f"graph {position} is directed",
            Remedy(
                "symmetrize",
                "convert with as_batch(graphs, symmetrize=True) to drop the directions",
            ),
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
                f"{names_there(name, graph.vs.attributes())}",
                Remedy(
                    "missing_value",
                    "set it on all vertices first, or say with missing= what becomes of vertices "
                    'without ("label", "nan" or "keep")',
                ),
            )
        values.extend(found)
    return values
