"""Graphs of two classes that differ in a motif at known nodes."""

from itertools import pairwise
from typing import NamedTuple

import networkx as nx
import numpy as np

from retgk import GraphBatch
from retgk.io import from_networkx

MOTIFS = {
    "house": nx.house_graph,
    "cycle": lambda: nx.cycle_graph(6),
    "grid": lambda: nx.grid_2d_graph(3, 3),
    "clique": lambda: nx.complete_graph(5),
    "wheel": lambda: nx.wheel_graph(6),
}
BASES = {
    "random": lambda n, seed: _joined(nx.gnp_random_graph(n, 3.0 / n, seed=seed)),
    "preferential": lambda n, seed: nx.barabasi_albert_graph(n, 2, seed=seed),
}


class Planted(NamedTuple):
    """Graphs, their classes (1 has the motif), and for every node whether it is of the motif."""

    graphs: GraphBatch
    classes: np.ndarray
    is_motif: list


def planted_motifs(base, motif, n_graphs, seed=0):
    """
    Hang a motif on every second graph by one edge, and on the others a random tree as large.

    So neither the number of nodes nor that something hangs on a graph tells its class.
    """
    rng = np.random.default_rng(seed)
    graphs, marks = [], []
    for number in range(n_graphs):
        own = nx.convert_node_labels_to_integers(MOTIFS[motif]())
        if number % 2 == 0:
            own = nx.random_labeled_tree(len(own), seed=int(rng.integers(2**31)))
        n_base = int(rng.integers(20, 31))
        graph = nx.disjoint_union(BASES[base](n_base, int(rng.integers(2**31))), own)
        graph.add_edge(int(rng.integers(n_base)), n_base + int(rng.integers(len(own))))
        graphs.append(graph)
        marks.append(np.arange(len(graph)) >= n_base)
    return Planted(from_networkx(graphs), np.arange(n_graphs) % 2, marks)


def _joined(graph):
    """Join the components of a graph to one."""
    firsts = [next(iter(component)) for component in nx.connected_components(graph)]
    graph.add_edges_from(pairwise(firsts))
    return graph
