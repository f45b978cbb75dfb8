r"""
New graphs against fitted ones, each as if it were the only one.

The frame of the fitted graphs stays as it is, and a new graph is put into it. Its nodes leave
the space of the frame by their tails. If their mean tail is within the budget that the fitted
graphs had, tails are dropped as theirs were: the graph is *near*. Otherwise it is *far*, and is
computed in float64 with the tail as a coordinate of its own, which the fitted points, whose tails
were dropped, have at zero. For tails :math:`e` of a new node and :math:`f` of a fitted one,
:math:`||e - f| - |e|| \le |f|`: a far graph costs nothing of the promise, however far it is. Its
squared norm is found from all features.

Whether a graph is near, which of its nodes count as equal to each other or to fitted points, and
all its sums depend on the graph and on the fitted ones, not on what else stands in the call: its
values are the same to the bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from retgk.array_types import Flags, Floats, Ints
from retgk.engine.exact.fitted_graphs import FittedGraphs, widened
from retgk.engine.exact.frames import Frame, scale_of
from retgk.engine.exact.merging import distinct_points
from retgk.engine.exact.points import NodePoints
from retgk.engine.exact.reduction import reduced_points
from retgk.engine.exact.tile_layout import ColumnSide, SharedRows, in_tiles
from retgk.engine.exact.tiled_gram import add_products, gram_of_reduced
from retgk.kernels.node_kernels import Laplacian, NodeKernel, Polynomial
from retgk.runtime.parallel import run_tasks

__all__ = ["NewGraphs", "placed_graphs", "products_with_fitted", "squared_norms"]


_UNIT_32 = 2.0**-24
_MAX_LOOPED_NODES = 256  # of one label: more are better off in tiles, at a millisecond a label


@dataclass(frozen=True, eq=False)
class NewGraphs:
    """
    Graphs in the frame of others.

    Attributes
    ----------
    nodes : NodePoints
        Their nodes.
    coordinates : ndarray of float64, shape (n_nodes, n_coordinates)
        In the frame.
    tails : ndarray of float64, shape (n_nodes, n_factors)
        Distances from the space of the frame.
    is_far : ndarray of bool, shape (n_graphs,)
        Whether the tails are too long to be dropped.
    """

    nodes: NodePoints
    coordinates: Floats
    tails: Floats
    is_far: Flags


def placed_graphs(nodes: NodePoints, fitted: FittedGraphs, n_jobs: int | None) -> NewGraphs:
    """
    Put new graphs into the frame of fitted ones.

    Parameters
    ----------
    nodes : NodePoints
        Nodes of the new graphs.
    fitted : FittedGraphs
        The others.
    n_jobs : int or None
        Threads. They change no bit of the result.

    Returns
    -------
    NewGraphs
        Where the new graphs are.
    """
    frame = fitted.frame
    coordinates, tails, sizes = _projected(nodes, frame, n_jobs)
    moved = _means(nodes, tails.sum(axis=1))
    if np.dtype(frame.dtype) == np.float32:
        moved += _UNIT_32 * np.maximum(_means(nodes, sizes) - frame.size, 0.0)
    is_far = moved > frame.tail_budget
    _snap(nodes, coordinates, fitted, moved)
    return NewGraphs(nodes, coordinates, tails, is_far)


def _means(nodes: NodePoints, values: Floats) -> Floats:
    """Means over the nodes of every graph, added up in their order."""
    totals = np.bincount(nodes.graph_of_node(), values, nodes.n_graphs)
    return np.asarray(totals / np.diff(nodes.node_ptr))


def _projected(
    nodes: NodePoints, frame: Frame, n_jobs: int | None
) -> tuple[Floats, Floats, Floats]:
    """Coordinates, tails and distances from the centre of all nodes."""
    from retgk.engine.exact.single_graphs import project

    ptr = frame.block_ptr
    coordinates = np.empty((nodes.n_nodes, ptr[-1]))
    tails, sizes = np.zeros((nodes.n_nodes, len(frame.factors))), np.zeros(nodes.n_nodes)

    def work(start: int, stop: int) -> None:
        own = slice(nodes.node_ptr[start], nodes.node_ptr[stop])
        for b, factor in enumerate(frame.factors):
            block, out = nodes.blocks[factor.block][own], coordinates[own, ptr[b] : ptr[b + 1]]
            if factor.basis is None:
                out[...] = factor.coordinates(block)
                sizes[own] += np.sqrt(np.einsum("ij,ij->i", out, out))
            else:
                arrays = (out, tails[own, b], sizes[own])
                project(block, factor.mean, factor.basis, factor.scale, *arrays)

    chunks = list(nodes.graph_chunks())
    costs = [float(nodes.node_ptr[stop] - nodes.node_ptr[start]) for start, stop in chunks]
    run_tasks(work, chunks, costs, n_jobs, "coordinates")
    return coordinates, tails, sizes


def _snap(nodes: NodePoints, coordinates: Floats, fitted: FittedGraphs, moved: Floats) -> None:
    """
    Move nodes onto equal ones of their graph, and those onto equal fitted points.

    A graph is left as it is if that would move its nodes by more than is left of its budget.
    """
    from retgk.engine.exact.point_cells import nearest_in_table, own_representatives

    frame, known = fitted.frame, fitted.points
    labels = nodes.label_codes()
    first = own_representatives(coordinates, labels, nodes.node_ptr, frame.radius)
    arrays = (known.coordinates, known.labels, fitted.table, frame.radius)
    target = nearest_in_table(coordinates, labels, np.unique(first), *arrays)[first]
    snapped = coordinates[first]
    is_known = target >= 0
    snapped[is_known] = known.coordinates[target[is_known]]
    moves = np.zeros(len(coordinates))
    for start, stop in zip(frame.block_ptr, frame.block_ptr[1:], strict=False):
        difference = coordinates[:, start:stop] - snapped[:, start:stop]
        moves += np.sqrt(np.square(difference).sum(axis=1))
    is_allowed = moved + _means(nodes, moves) <= frame.budget
    chosen = is_allowed[nodes.graph_of_node()]
    coordinates[chosen] = snapped[chosen]


def products_with_fitted(graphs: NewGraphs, fitted: FittedGraphs, n_jobs: int | None) -> Floats:
    """
    ``<m_G, m_H>`` of new graphs G and fitted graphs H.

    Parameters
    ----------
    graphs : NewGraphs
        The new graphs, in the frame of the fitted ones.
    fitted : FittedGraphs
        The fitted ones.
    n_jobs : int or None
        Threads. They change no bit of the result.

    Returns
    -------
    ndarray of float64, shape (n_new, n_fitted)
        Inner products.
    """
    gram = np.zeros((graphs.nodes.n_graphs, fitted.n_graphs))
    is_far = graphs.is_far[graphs.nodes.graph_of_node()]
    near, far = np.flatnonzero(~is_far), np.flatnonzero(is_far)
    if len(near):
        rows = _rows(graphs, near, graphs.coordinates[near], fitted.near)
        add_products(rows, fitted.near, gram, n_jobs)
    if len(far):
        wide = widened(graphs.coordinates[far], graphs.tails[far], fitted)
        rows = _rows(graphs, far, wide, fitted.far)
        add_products(rows, fitted.far, gram, n_jobs)
    return gram


def _rows(graphs: NewGraphs, chosen: Ints, coordinates: Floats, side: ColumnSide) -> SharedRows:
    """Some nodes of new graphs as rows of tiles."""
    nodes, graph = graphs.nodes, graphs.nodes.graph_of_node()[chosen]
    return SharedRows.of(
        in_tiles(coordinates, side.kernels, side.block_ptr, side.dtype),
        nodes.label_codes()[chosen],
        graph,
        (1.0 / np.diff(nodes.node_ptr))[graph],
    )


def squared_norms(
    graphs: NewGraphs, fitted: FittedGraphs, tol: float, n_jobs: int | None
) -> Floats:
    """
    ``<m_G, m_G>`` of every new graph.

    Parameters
    ----------
    graphs : NewGraphs
        The graphs, in the frame of the fitted ones.
    fitted : FittedGraphs
        The fitted ones.
    tol : float
        Largest error.
    n_jobs : int or None
        Threads. They change no bit of the result.

    Returns
    -------
    ndarray of float64, shape (n_graphs,)
        Squared norms.
    """
    frame, nodes = fitted.frame, graphs.nodes
    norms = np.zeros(nodes.n_graphs)
    is_large = _is_large(nodes)
    near = np.flatnonzero(~graphs.is_far & ~is_large)
    _fill_norms(nodes, graphs.coordinates, (frame.kernels, frame.block_ptr), near, norms, n_jobs)
    if (graphs.is_far & ~is_large).any():
        far = np.flatnonzero(graphs.is_far & ~is_large)
        own = nodes.of_graphs(far)
        found = np.zeros(len(far))
        features = _features(own, frame)
        _fill_norms(own, *features, np.arange(len(far)), found, n_jobs)
        norms[far] = found
    for g in np.flatnonzero(is_large):
        norms[g] = _large_norm(graphs, fitted, int(g), tol, n_jobs)
    return norms


def _is_large(nodes: NodePoints) -> Flags:
    """Whether tiles take less time than a loop over pairs of nodes; for every graph by itself."""
    labels = nodes.label_codes() - np.int64(nodes.label_codes().min(initial=0))
    n_labels = int(labels.max(initial=0)) + 1
    keys, counts = np.unique(nodes.graph_of_node() * n_labels + labels, return_counts=True)
    n_pairs = np.bincount(keys // n_labels, counts.astype(float) ** 2, nodes.n_graphs)
    n_different = np.bincount(keys // n_labels, minlength=nodes.n_graphs)
    return np.asarray(n_pairs > float(_MAX_LOOPED_NODES) ** 2 * n_different)


def _features(nodes: NodePoints, frame: Frame) -> tuple[Floats, tuple[Sequence[NodeKernel], Ints]]:
    """All features, centred in each graph where the kernel allows it, and scaled."""
    graph = nodes.graph_of_node()
    blocks, ptr = [], [0]
    for factor in frame.factors:
        block = nodes.blocks[factor.block]
        if not isinstance(factor.kernel, Polynomial):
            block = block - block[nodes.node_ptr[:-1]][graph]
        blocks.append(block * scale_of(factor.kernel))
        ptr.append(ptr[-1] + block.shape[1])
    return np.hstack(blocks), (frame.kernels, np.array(ptr, np.int64))


def _fill_norms(
    nodes: NodePoints,
    coordinates: Floats,
    factors: tuple[Sequence[NodeKernel], Ints],
    graphs: Ints,
    norms: Floats,
    n_jobs: int | None,
) -> None:
    """Norms of some graphs, each a double loop over its nodes."""
    from retgk.engine.exact.single_graphs import norms_of_graphs

    kernels, ptr = factors
    polynomials = [k if isinstance(k, Polynomial) else None for k in kernels]
    compiled = (
        ptr,
        np.array([isinstance(k, Laplacian) for k in kernels]),
        np.array([0.0 if k is None else k.coef0 for k in polynomials]),
        np.array([0 if k is None else k.degree for k in polynomials], np.int64),
    )
    labels = nodes.label_codes()

    def work(some: Ints) -> None:
        norms_of_graphs(coordinates, labels, nodes.node_ptr, some, compiled, norms)

    parts = np.array_split(graphs, max(1, len(graphs) // 64)) if len(graphs) else []
    sizes = np.diff(nodes.node_ptr).astype(float)
    costs = [float((sizes[part] ** 2).sum()) for part in parts]
    run_tasks(work, [(part,) for part in parts], costs, n_jobs, "squared norms")


def _large_norm(
    graphs: NewGraphs, fitted: FittedGraphs, g: int, tol: float, n_jobs: int | None
) -> float:
    """Squared norm of one graph with many nodes, by tiles."""
    own = graphs.nodes.of_graphs(np.array([g]))
    frame = fitted.frame
    if graphs.is_far[g]:
        kernels = [f.kernel for f in sorted(frame.factors, key=lambda factor: factor.block)]
        return float(gram_of_reduced(reduced_points(own, kernels, tol, n_jobs), n_jobs)[0, 0])
    nodes = slice(graphs.nodes.node_ptr[g], graphs.nodes.node_ptr[g + 1])
    points = distinct_points(own, graphs.coordinates[nodes], 1e-13)
    reduced = replace(fitted.reduced, x=points, y=points)
    return float(gram_of_reduced(reduced, n_jobs)[0, 0])
