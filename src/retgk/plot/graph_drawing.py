"""Drawings of single graphs: where their nodes stand, and how they are coloured."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.io.converters import as_batch
from retgk.plot.axes import axes_or_new
from retgk.plot.share_colours import AGAINST_AND_FOR, checked_shares, colour_limit
from retgk.walks.return_probabilities import return_probabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["explained_graph", "graph_by_return_probability", "node_positions"]

_MAX_NODES = 2000
_MAX_ROUNDS = 300


def graph_by_return_probability(
    graph: Any,
    step: int = 4,
    *,
    positions: ArrayLike | None = None,
    node_size: float | None = None,
    cmap: str = "viridis",
    ax: "Axes | None" = None,
    **options: Any,
) -> "Axes":
    """
    Draw a graph with its nodes coloured by the return probability of a step.

    Parameters
    ----------
    graph : GraphBatch or anything that `as_batch` takes
        One graph.
    step : int, default=4
        Number of steps after which walks return.
    positions : array-like, shape (n_nodes, 2), optional
        Places of the nodes; by default those of `node_positions`.
    node_size : float, optional
        Area of a node in square points; by default smaller for larger graphs.
    cmap : str, default="viridis"
        Colour map of Matplotlib.
    ax : Axes, optional
        Where to draw; a new figure by default.
    **options
        Passed to `return_probabilities`.

    Returns
    -------
    Axes
        The axes.

    Examples
    --------
    >>> triangle = np.ones((3, 3)) - np.eye(3)
    >>> len(graph_by_return_probability(triangle, step=2).collections)
    2
    """
    batch = _one_graph(graph)
    values = return_probabilities(batch, step, **options)[:, -1]
    label = f"return probability after {step} step{'s' * (step != 1)}"
    return _drawn_graph(batch, values, label, positions, node_size, ax, cmap=cmap)


def explained_graph(
    graph: Any,
    shares: ArrayLike,
    *,
    limit: float | None = None,
    positions: ArrayLike | None = None,
    node_size: float | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """
    Draw a graph with its nodes coloured by their shares in a decision value.

    Nodes that speak for the target are orange, those that speak against it blue, and the scale is
    symmetric: white is zero. Readers with any kind of colour vision tell the two apart.

    Parameters
    ----------
    graph : GraphBatch or anything that `as_batch` takes
        One graph.
    shares : array-like, shape (n_nodes,)
        Shares of its nodes, as `Explanation.of` gives them.
    limit : float, optional
        Share of the darkest colours; by default the largest there is. Give the same for pictures
        that are compared.
    positions : array-like, shape (n_nodes, 2), optional
        Places of the nodes; by default those of `node_positions`.
    node_size : float, optional
        Area of a node in square points; by default smaller for larger graphs.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        The axes.

    Examples
    --------
    >>> triangle = np.ones((3, 3)) - np.eye(3)
    >>> explained_graph(triangle, [0.5, -0.2, 0.1]).collections[1].get_clim()
    (-0.5, 0.5)
    """
    from matplotlib.colors import LinearSegmentedColormap

    batch = _one_graph(graph)
    values = checked_shares(shares, batch.n_nodes)
    most = colour_limit(values, limit)
    cmap = LinearSegmentedColormap.from_list("shares", AGAINST_AND_FOR)
    scale = {"cmap": cmap, "vmin": -most, "vmax": most}
    label = "share of the decision value"
    return _drawn_graph(batch, values, label, positions, node_size, ax, **scale)


def _drawn_graph(
    batch: GraphBatch,
    values: Floats,
    label: str,
    positions: ArrayLike | None,
    node_size: float | None,
    ax: "Axes | None",
    **colours: Any,
) -> "Axes":
    """Draw a graph whose nodes are coloured by values, with a bar that explains the colours."""
    places = (
        node_positions(batch) if positions is None else _checked_positions(positions, batch.n_nodes)
    )
    ax = axes_or_new(ax, (5.0, 4.2))
    _draw_edges(ax, batch, places)
    size = node_size or float(np.clip(9000 / max(1, batch.n_nodes), 12, 160))
    is_light = "vmin" in colours  # nodes may be white: they need an edge
    nodes = ax.scatter(
        places[:, 0],
        places[:, 1],
        s=size,
        c=values,
        edgecolors="0.35" if is_light else "white",
        linewidths=0.8,
        zorder=2,
        **colours,
    )
    ax.figure.colorbar(nodes, ax=ax, label=label, shrink=0.85)
    ax.set_aspect("equal")
    ax.margins(0.08)
    ax.set_axis_off()
    return ax


def _checked_positions(positions: ArrayLike, n_nodes: int) -> Floats:
    places = np.asarray(positions, dtype=np.float64)
    if places.shape != (n_nodes, 2) or not np.isfinite(places).all():
        raise InvalidInputError(
            f"positions must be finite and of shape ({n_nodes}, 2), got shape {places.shape}"
        )
    return places


def _draw_edges(ax: "Axes", batch: GraphBatch, places: Floats) -> None:
    from matplotlib.collections import LineCollection

    sources = np.repeat(np.arange(batch.n_nodes), np.diff(batch.indptr))
    once = sources < batch.indices
    ends = np.stack([places[sources[once]], places[batch.indices[once]]], axis=1)
    width = float(np.clip(900 / max(1, len(ends)), 0.3, 1.2))
    ax.add_collection(LineCollection(list(ends), colors="0.65", linewidths=width, zorder=1))


def _one_graph(graph: Any) -> GraphBatch:
    """Take one graph as a batch; several are an error."""
    batch = as_batch(graph)
    if len(batch) != 1:
        raise InvalidInputError(f"one graph can be drawn at a time, got {len(batch)}; pass one")
    return batch


def node_positions(graph: Any) -> Floats:
    r"""
    Positions in the plane whose distances are close to the numbers of steps between nodes.

    Minimises :math:`\sum_{i<j} d_{ij}^{-2} (\|x_i - x_j\| - d_{ij})^2` over the positions (Gansner,
    Koren and North, 2004), from classical multidimensional scaling. The same graph always has the
    same drawing.

    Parameters
    ----------
    graph : GraphBatch or anything that `as_batch` takes
        One graph, of up to 2,000 nodes.

    Returns
    -------
    ndarray of float64, shape (n_nodes, 2)
        The positions.

    Examples
    --------
    >>> triangle = np.ones((3, 3)) - np.eye(3)
    >>> places = node_positions(triangle)
    >>> float(np.linalg.norm(places[0] - places[1]).round(3))
    1.0
    """
    batch = _one_graph(graph)
    if batch.n_nodes > _MAX_NODES:
        raise InvalidInputError(
            f"the graph has {batch.n_nodes} nodes, too many to lay out; pass positions"
        )
    distances = _node_distances(batch)
    places = _initial_positions(distances)
    if len(places) > 2:
        places = _lower_stress(places, distances)
    return _turn_upright(places)


def _node_distances(batch: GraphBatch) -> Floats:
    """Steps between nodes; between components, two more than the largest number of steps."""
    shape = (batch.n_nodes, batch.n_nodes)
    indices, indptr = batch.indices.astype(np.int32), batch.indptr.astype(np.int32)  # SciPy < 1.13
    adjacency = csr_array((np.ones(len(indices)), indices, indptr), shape=shape)
    steps = shortest_path(adjacency, directed=False, unweighted=True)
    finite = np.isfinite(steps)
    return np.where(finite, steps, steps[finite].max() + 2.0)


def _initial_positions(distances: Floats) -> Floats:
    """Classical scaling, with a little noise so that no two nodes stand on one another."""
    n = len(distances)
    centring = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    places = np.zeros((n, 2))
    width = min(2, n)
    places[:, :width] = vectors[:, ::-1][:, :width] * np.sqrt(np.maximum(values[::-1][:width], 0.0))
    return places + np.random.default_rng(0).normal(scale=0.05, size=places.shape)


def _lower_stress(places: Floats, distances: Floats) -> Floats:
    """Minimise the quadratic above the stress, again and again, until nodes hardly move."""
    off_diagonal = ~np.eye(len(places), dtype=bool)
    weights = np.zeros_like(distances)
    weights[off_diagonal] = distances[off_diagonal] ** -2.0
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights, hermitian=True)
    for _ in range(_MAX_ROUNDS):
        gaps = np.linalg.norm(places[:, None] - places[None], axis=2)
        pull = np.divide(weights * distances, gaps, out=np.zeros_like(gaps), where=gaps > 1e-12)
        moved = inverse @ ((np.diag(pull.sum(axis=1)) - pull) @ places)
        change = np.abs(moved - places).max()
        places = moved
        if change < 1e-3:
            break
    return places


def _turn_upright(places: Floats) -> Floats:
    """Centre the nodes, and turn the direction of their largest spread to the horizontal."""
    centred = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    return np.asarray(centred @ axes.T)
