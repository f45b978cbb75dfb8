"""A graph whose nodes are coloured by their return probabilities."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.plot.axes import axes_or_new
from retgk.plot.layout import node_positions, one_graph
from retgk.walks.return_probabilities import return_probabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["graph_by_return_probability"]


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
    batch = one_graph(graph)
    values = return_probabilities(batch, step, **options)[:, -1]
    places = node_positions(batch) if positions is None else _checked(positions, batch.n_nodes)
    ax = axes_or_new(ax, (5.0, 4.2))
    _draw_edges(ax, batch, places)
    size = node_size or float(np.clip(9000 / max(1, batch.n_nodes), 12, 160))
    nodes = ax.scatter(
        places[:, 0],
        places[:, 1],
        s=size,
        c=values,
        cmap=cmap,
        edgecolors="white",
        linewidths=0.8,
        zorder=2,
    )
    label = f"return probability after {step} step{'s' * (step != 1)}"
    ax.figure.colorbar(nodes, ax=ax, label=label, shrink=0.85)
    ax.set_aspect("equal")
    ax.margins(0.08)
    ax.set_axis_off()
    return ax


def _checked(positions: ArrayLike, n_nodes: int) -> NDArray[np.float64]:
    places = np.asarray(positions, dtype=np.float64)
    if places.shape != (n_nodes, 2) or not np.isfinite(places).all():
        raise InvalidInputError(
            f"positions must be finite and of shape ({n_nodes}, 2), got shape {places.shape}"
        )
    return places


def _draw_edges(ax: "Axes", batch: GraphBatch, places: NDArray[np.float64]) -> None:
    from matplotlib.collections import LineCollection

    sources = np.repeat(np.arange(batch.n_nodes), np.diff(batch.indptr))
    once = sources < batch.indices
    ends = np.stack([places[sources[once]], places[batch.indices[once]]], axis=1)
    width = float(np.clip(900 / max(1, len(ends)), 0.3, 1.2))
    ax.add_collection(LineCollection(list(ends), colors="0.65", linewidths=width, zorder=1))
