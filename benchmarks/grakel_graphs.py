"""Graphs in GraKeL's form, for what is measured and checked beside its kernels."""

import numpy as np


def grakel_graphs(graphs):
    """
    Graphs of GraKeL; node degrees are the labels where there are none.

    With attributes, the label of a node is the pair of its label and its attributes.
    """
    import grakel

    labels = (graphs.labels if graphs.has_labels else np.diff(graphs.indptr)).tolist()
    if graphs.n_attributes:
        labels = list(zip(labels, map(tuple, graphs.attributes.tolist()), strict=True))
    converted = []
    for graph, first in zip(graphs, graphs.node_ptr, strict=False):
        neighbours = np.split(graph.indices, graph.indptr[1:-1])
        edges = {i: dict.fromkeys(map(int, js), 1.0) for i, js in enumerate(neighbours)}
        own = dict(enumerate(labels[first : first + graph.n_nodes]))
        alike = {(i, j): 0 for i, ends in edges.items() for j in ends}  # for those that want some
        converted.append(grakel.Graph(edges, node_labels=own, edge_labels=alike))
    return converted
