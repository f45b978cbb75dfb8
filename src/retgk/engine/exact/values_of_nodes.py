"""Values of single nodes of new graphs: inner products with sums of mean embeddings."""

import numpy as np

from retgk import _core
from retgk.array_types import Floats, Ints
from retgk.engine.exact.fitted_graphs import NewGraphs, all_features
from retgk.engine.exact.frame import TileKernel
from retgk.engine.exact.node_points import NodePoints
from retgk.engine.exact.rare_labels import add_rare_node_values
from retgk.engine.exact.tile_layout import loop_factors
from retgk.engine.exact.tiled_gram import entry_values
from retgk.runtime.parallel import run_tasks

__all__ = ["node_values"]


def node_values(new: NewGraphs, weights: Floats, own_weights: Floats) -> Floats:
    """
    ``<phi(v), sum_H weights[G, H] m_H + own_weights[G] m_G>`` of every node v of new graphs G.

    Nodes stand where they stand for the inner products of their graphs, so that means over the
    nodes of a graph are those inner products but for rounding (but for `tol`, in squared norms of
    graphs of many nodes).
    """
    graphs, n_nodes = new.nodes.graph_of_node(), new.nodes.n_nodes
    weights, values = np.ascontiguousarray(weights, np.float64), np.zeros(n_nodes)
    for part in new.parts():
        tiled, looped = part.rows(part.chosen, n_nodes)
        if tiled is not None:
            found = entry_values(tiled, part.side, graphs, weights, new.n_jobs)
            values += np.bincount(tiled.graphs, found, n_nodes)
        if looped is not None:
            beside = (part.fitted, part.side.kernel, graphs, weights)
            add_rare_node_values(looped, *beside, values, new.n_jobs)
    values *= np.diff(new.nodes.node_ptr)[graphs]  # rows are shares of the mean over the graph
    return values + own_weights[graphs] * _own_products(new)


def _own_products(new: NewGraphs) -> Floats:
    """``<phi(v), m_G>`` of every node v with the graph G that it is in."""
    nodes, products = new.nodes, np.zeros(new.nodes.n_nodes)
    near, far = np.flatnonzero(~new.is_far), np.flatnonzero(new.is_far)
    kernel = new.fitted.frame.tile_kernel
    _fill_own_products(nodes, new.coordinates, kernel, near, products, new.n_jobs)
    if len(far):
        own = nodes.of_graphs(far)
        found = np.zeros(own.n_nodes)
        placed = all_features(own, new.fitted.frame)
        _fill_own_products(own, *placed, np.arange(len(far)), found, new.n_jobs)
        products[new.is_far[nodes.graph_of_node()]] = found
    return products


def _fill_own_products(
    nodes: NodePoints,
    coordinates: Floats,
    kernel: TileKernel,
    graphs: Ints,
    products: Floats,
    n_jobs: int | None,
) -> None:
    """Find the products of the nodes of some graphs, each by a double loop over its nodes."""
    factors, levels = loop_factors(kernel), nodes.level_codes()

    def work(some: Ints) -> None:
        for labels, weight, _ in levels:
            own = (coordinates, labels, nodes.node_ptr, some)
            _core.add_own_products(*own, *factors, weight, products)

    parts = np.array_split(graphs, max(1, len(graphs) // 64)) if len(graphs) else []
    sizes = np.diff(nodes.node_ptr).astype(float)
    costs = [float((sizes[part] ** 2).sum()) for part in parts]
    run_tasks(work, [(part,) for part in parts], costs, n_jobs, "values of nodes")
