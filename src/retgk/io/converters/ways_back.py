"""Graphs of retgk as graphs of other packages."""

from typing import TYPE_CHECKING, Any

import numpy as np

from retgk.errors import InputWarning, InvalidInputError, Remedy, warn_user
from retgk.graphs.batch import GraphBatch
from retgk.io.converters.dispatch import GraphsLike, as_batch
from retgk.io.converters.networkx_graphs import networkx_graph
from retgk.io.graph_dataset import GraphDataset
from retgk.runtime.optional_packages import optional_module

if TYPE_CHECKING:
    import igraph
    import networkx as nx
    from torch_geometric.data import Data

__all__ = ["to_grakel", "to_igraph", "to_networkx", "to_pyg"]


def to_networkx(graphs: GraphsLike) -> "list[nx.Graph]":
    """
    Convert graphs to graphs of networkx, without loss.

    Parameters
    ----------
    graphs : GraphBatch or anything that `as_batch` takes
        The graphs.

    Returns
    -------
    list of networkx.Graph
        One graph each, with nodes numbered from 0. Nodes have the attribute "label"
        where the batch has labels, and "attributes", a list of numbers, where it has
        attributes; edges have the attribute "weight" where the batch is weighted, and "label"
        where edges have labels. ``as_batch(found, label="label", attributes="attributes",
        edge_label="label")`` reads them back.

    Examples
    --------
    >>> to_networkx(GraphBatch.from_edges(2, [[0, 1], [1, 0]]))[0].edges
    EdgeView([(0, 1)])
    """
    batch = as_batch(graphs)
    return [networkx_graph(graph, batch.is_weighted) for graph in batch]


def to_igraph(graphs: GraphsLike) -> "list[igraph.Graph]":
    """
    Convert graphs to graphs of python-igraph, without loss.

    Parameters
    ----------
    graphs : GraphBatch or anything that `as_batch` takes
        The graphs.

    Returns
    -------
    list of igraph.Graph
        One graph each, with the vertex attributes "label" and "attributes" and the edge attributes
        "weight" and "label" where there are any, as in `to_networkx`.

    Examples
    --------
    >>> import numpy as np
    >>> to_igraph(np.ones((3, 3)) - np.eye(3))[0].get_edgelist()
    [(0, 1), (0, 2), (1, 2)]
    """
    igraph_package = optional_module("igraph", "igraph")
    batch = as_batch(graphs)
    found = []
    for graph in batch:
        rows, once = _edges_once(graph)
        pairs = list(zip(rows[once].tolist(), graph.indices[once].tolist(), strict=True))
        made = igraph_package.Graph(n=graph.n_nodes, edges=pairs)
        if graph.has_labels:
            made.vs["label"] = _label_values(graph)
        if graph.n_attributes:
            made.vs["attributes"] = graph.attributes.tolist()
        if batch.is_weighted:
            made.es["weight"] = graph.weights[once].tolist()
        if graph.has_edge_labels:
            made.es["label"] = _edge_label_values(graph, once)
        found.append(made)
    return found


def to_grakel(graphs: GraphsLike, *, as_attributes: bool = False) -> list[list[Any]]:
    """
    Convert graphs to the input format of GraKeL.

    Parameters
    ----------
    graphs : GraphBatch or anything that `as_batch` takes
        The graphs.
    as_attributes : bool, default=False
        Whether the continuous attributes take the place of the node labels, as the kernels of
        GraKeL for attributes want them. GraKeL has room for one of the two.

    Returns
    -------
    list of [graph], [graph, node_labels] or [graph, node_labels, edge_labels]
        `graph` is a dictionary from node to neighbour to weight, with both directions of an edge;
        `node_labels` one from node to label (None where only edges have some), `edge_labels` one
        from pairs of nodes to labels. `from_grakel` reads them back.

    Examples
    --------
    >>> import numpy as np
    >>> to_grakel(np.array([[0, 2.0], [2.0, 0]]))
    [[{0: {1: 2.0}, 1: {0: 2.0}}]]
    """
    batch = as_batch(graphs)
    if as_attributes and not batch.n_attributes:
        raise InvalidInputError("the graphs have no attributes; leave out as_attributes=True")
    if batch.n_attributes and not as_attributes:
        note = "attributes were left out, as GraKeL has room for labels or attributes"
        warn_user(InputWarning(note, Remedy("as_attributes", "as_attributes=True takes them")))
    return [_grakel_graph(graph, as_attributes) for graph in batch]


def to_pyg(graphs: GraphsLike) -> "list[Data]":
    """
    Convert graphs to ``Data`` of PyTorch Geometric.

    Parameters
    ----------
    graphs : GraphBatch or anything that `as_batch` takes
        The graphs; those of a `GraphDataset` keep their targets.

    Returns
    -------
    list of torch_geometric.data.Data
        Each has `edge_index`, with both directions of an edge, and `num_nodes`; where there are
        any, `edge_weight`, `edge_attr` (positions of the labels of edges in
        ``edge_label_names``), `x` (the attributes), `label` (positions of the labels in
        ``label_names``) and `y` (the target, if it is a number). Numbers are rounded to torch's
        default type. ``from_pyg(found, label="label", attributes="x", edge_label="edge_attr")``
        reads them back.

    Examples
    --------
    >>> import numpy as np
    >>> to_pyg(np.ones((3, 3)) - np.eye(3))  # doctest: +SKIP
    [Data(edge_index=[2, 6], num_nodes=3)]
    """
    torch = optional_module("torch", "pyg")
    data = optional_module("torch_geometric.data", "pyg")
    batch = as_batch(graphs)
    targets = graphs.targets if isinstance(graphs, GraphDataset) else None
    if targets is not None and targets.dtype.kind not in "biuf":
        targets = None
    numbers = torch.get_default_dtype()
    found = []
    for position, graph in enumerate(batch):
        rows, _ = _edges_once(graph)
        fields = {"edge_index": torch.from_numpy(np.stack([rows, graph.indices.astype(np.int64)]))}
        if batch.is_weighted:
            fields["edge_weight"] = torch.tensor(graph.weights, dtype=numbers)
        if graph.has_edge_labels:
            fields["edge_attr"] = torch.from_numpy(graph.edge_labels.astype(np.int64))
        if graph.n_attributes:
            fields["x"] = torch.tensor(graph.attributes, dtype=numbers)
        if graph.has_labels:
            fields["label"] = torch.from_numpy(graph.labels.astype(np.int64))
        if targets is not None:
            kind = numbers if targets.dtype.kind == "f" else torch.long
            fields["y"] = torch.tensor(targets[position : position + 1], dtype=kind)
        found.append(data.Data(num_nodes=graph.n_nodes, **fields))
    return found


def _edges_once(graph: GraphBatch) -> tuple[Any, Any]:
    """Rows of all entries of one graph, and which entries are edges in their first direction."""
    rows = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    return rows, rows <= graph.indices


def _label_values(graph: GraphBatch) -> list[Any]:
    return [graph.label_names[code] for code in graph.labels.tolist()]


def _edge_label_values(graph: GraphBatch, entries: Any = slice(None)) -> list[Any]:
    return [graph.edge_label_names[code] for code in graph.edge_labels[entries].tolist()]


def _grakel_graph(graph: GraphBatch, as_attributes: bool) -> list[Any]:
    entries = list(zip(graph.indices.tolist(), graph.weights.tolist(), strict=True))
    starts = graph.indptr.tolist()
    edges = {node: dict(entries[starts[node] : starts[node + 1]]) for node in range(graph.n_nodes)}
    values = None
    if as_attributes or graph.has_labels:
        own = graph.attributes.tolist() if as_attributes else _label_values(graph)
        values = dict(enumerate(own))
    if not graph.has_edge_labels:
        return [edges] if values is None else [edges, values]
    rows, _ = _edges_once(graph)
    ends = zip(rows.tolist(), graph.indices.tolist(), strict=True)
    return [edges, values, dict(zip(ends, _edge_label_values(graph), strict=True))]
