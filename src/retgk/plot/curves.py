"""Return probabilities of nodes against the number of steps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import graph_of
from retgk.io.converters import as_batch
from retgk.plot.axes import FEW_COLOURS, axes_or_new
from retgk.walks.return_probabilities import return_probabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["return_probability_curves"]

_MARKERS = "osD^vPX"
_DEFAULT_NODES = 5


def return_probability_curves(
    graph: Any,
    nodes: ArrayLike | None = None,
    *,
    n_steps: int = 50,
    labels: Sequence[str] | None = None,
    ax: "Axes | None" = None,
    **options: Any,
) -> "Axes":
    """
    Draw the return probabilities of some nodes against the number of steps.

    Parameters
    ----------
    graph : GraphBatch or anything that `as_batch` takes
        One graph or several.
    nodes : int or array-like of int, optional
        Nodes, numbered over all graphs from 0. By default five, from the least to the largest
        degree.
    n_steps : int, default=50
        Number of steps.
    labels : sequence of str, optional
        Names of the nodes in the legend; their numbers by default.
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
    >>> path = np.diag([1, 1, 1], 1) + np.diag([1, 1, 1], -1)
    >>> return_probability_curves(path, [0, 1], n_steps=10).get_xlabel()
    'steps $s$'
    """
    batch = as_batch(graph)
    chosen = _nodes_by_degree(batch) if nodes is None else np.atleast_1d(np.asarray(nodes))
    if chosen.size and chosen.dtype.kind not in "iu":
        raise InvalidInputError(
            f"nodes are numbers from 0 on, in the order of the graph, got {chosen.ravel()[:1]}; "
            "list(graph).index(name) is the number of a node of networkx"
        )
    names = [_node_name(batch, int(node)) for node in chosen] if labels is None else list(labels)
    if len(names) != len(chosen):
        raise InvalidInputError(
            f"got {len(names)} labels for {len(chosen)} nodes; pass one for each"
        )
    curves = return_probabilities(batch, n_steps, nodes=chosen, **options)
    ax = axes_or_new(ax, (5.5, 3.4))
    every = max(1, n_steps // 25)
    for position, (values, name) in enumerate(zip(curves, names, strict=True)):
        ax.plot(
            np.arange(1, n_steps + 1),
            values,
            color=FEW_COLOURS[position % len(FEW_COLOURS)],
            marker=_MARKERS[position % len(_MARKERS)],
            markevery=(position % every, every),
            markersize=3.5,
            linewidth=1.2,
            label=name,
        )
    ax.set(xlabel="steps $s$", ylabel="return probability $P^s(i, i)$")
    ax.set_ylim(bottom=0)
    ax.margins(x=0.02)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def _nodes_by_degree(batch: GraphBatch) -> Any:
    """A few nodes, from the least to the largest degree."""
    order = np.argsort(np.diff(batch.indptr), kind="stable")
    places = np.linspace(0, len(order) - 1, min(_DEFAULT_NODES, len(order))).round().astype(int)
    return order[places]


def _node_name(batch: GraphBatch, node: int) -> str:
    if not 0 <= node < batch.n_nodes:
        raise InvalidInputError(
            f"there is no node {node}: nodes are numbered to {batch.n_nodes - 1}"
        )
    degree = int(batch.indptr[node + 1] - batch.indptr[node])
    if len(batch) == 1:
        return f"node {node} (degree {degree})"
    graph = graph_of(batch.node_ptr, node)
    return f"graph {graph}, node {node - batch.node_ptr[graph]} (degree {degree})"
