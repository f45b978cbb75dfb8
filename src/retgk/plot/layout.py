"""Places of nodes in a drawing, by stress majorization: needs no other package, and no luck."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.io.converters import as_batch

__all__ = ["node_positions", "one_graph"]


_MAX_NODES = 2000
_MAX_ROUNDS = 300


def one_graph(graph: Any) -> GraphBatch:
    """A batch of one graph, or an error."""
    batch = as_batch(graph)
    if len(batch) != 1:
        raise InvalidInputError(f"one graph can be drawn at a time, got {len(batch)}; pass one")
    return batch


def node_positions(graph: Any) -> Floats:
    r"""
    Places in the plane whose distances are close to the numbers of steps between nodes.

    Minimises :math:`\sum_{i<j} d_{ij}^{-2} (\|x_i - x_j\| - d_{ij})^2` over the places (Gansner,
    Koren and North, 2004), from classical multidimensional scaling. The same graph always has the
    same drawing.

    Parameters
    ----------
    graph : GraphBatch or anything that `as_batch` takes
        One graph, of up to 2,000 nodes.

    Returns
    -------
    ndarray of float64, shape (n_nodes, 2)
        The places.

    Examples
    --------
    >>> triangle = np.ones((3, 3)) - np.eye(3)
    >>> places = node_positions(triangle)
    >>> np.linalg.norm(places[0] - places[1]).round(3)
    np.float64(1.0)
    """
    batch = one_graph(graph)
    if batch.n_nodes > _MAX_NODES:
        raise InvalidInputError(
            f"the graph has {batch.n_nodes} nodes, too many to lay out; pass positions"
        )
    distances = _distances(batch)
    places = _scaled(distances)
    if len(places) > 2:
        places = _majorized(places, distances)
    return _upright(places)


def _distances(batch: GraphBatch) -> Floats:
    """Steps between nodes; components stand apart by a little more than the widest of them."""
    shape = (batch.n_nodes, batch.n_nodes)
    adjacency = csr_array((np.ones(len(batch.indices)), batch.indices, batch.indptr), shape=shape)
    steps = shortest_path(adjacency, directed=False, unweighted=True)
    finite = np.isfinite(steps)
    return np.where(finite, steps, steps[finite].max() + 2.0)


def _scaled(distances: Floats) -> Floats:
    """Classical scaling; noise takes apart nodes that it would put on one place."""
    n = len(distances)
    centring = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    places = np.zeros((n, 2))
    width = min(2, n)
    places[:, :width] = vectors[:, ::-1][:, :width] * np.sqrt(np.maximum(values[::-1][:width], 0.0))
    return places + np.random.default_rng(0).normal(scale=0.05, size=places.shape)


def _majorized(places: Floats, distances: Floats) -> Floats:
    """Lower the stress by solving its majorizing quadratic, until that changes little."""
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


def _upright(places: Floats) -> Floats:
    """Centre the places, and turn their longest direction to the horizontal."""
    centred = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    return np.asarray(centred @ axes.T)
