"""Graphs for networkx."""

from typing import Any

import numpy as np

from retgk.graphs.batch import GraphBatch
from retgk.io.converters.dispatch import as_batch
from retgk.runtime.optional_packages import optional_module

__all__ = ["to_networkx"]


def to_networkx(graphs: Any) -> list[Any]:
    """
    Convert graphs to graphs of networkx.

    Parameters
    ----------
    graphs : GraphBatch or anything that `as_batch` takes
        The graphs.

    Returns
    -------
    list of networkx.Graph
        One graph each, with nodes numbered from 0. Nodes have the attribute "label"
        where the batch has labels, and "attributes", a list of numbers, where it has
        attributes; edges have the attribute "weight" where the batch is weighted.
        ``as_batch(found, label="label", attributes="attributes")`` reads them back.

    Examples
    --------
    >>> to_networkx(GraphBatch.from_edges(2, [[0, 1], [1, 0]]))[0].edges
    EdgeView([(0, 1)])
    """
    nx = optional_module("networkx", "networkx")
    batch = as_batch(graphs)
    return [_to_graph(nx, graph, batch.is_weighted) for graph in batch]


def _to_graph(nx: Any, batch: GraphBatch, weighted: bool) -> Any:
    graph = nx.empty_graph(batch.n_nodes)
    if batch.has_labels:
        names = [batch.label_names[code] for code in batch.labels.tolist()]
        nx.set_node_attributes(graph, dict(enumerate(names)), "label")
    if batch.n_attributes:
        nx.set_node_attributes(graph, dict(enumerate(batch.attributes.tolist())), "attributes")
    rows = np.repeat(np.arange(batch.n_nodes), np.diff(batch.indptr))
    once = rows <= batch.indices
    ends = (rows[once].tolist(), batch.indices[once].tolist())
    if weighted:
        edges = zip(*ends, batch.weights[once].tolist(), strict=True)
        graph.add_weighted_edges_from(edges)
    else:
        graph.add_edges_from(zip(*ends, strict=True))
    return graph
