"""Edges of random graphs, with NumPy alone.

Every function gives an array of shape (n_edges, 2): distinct edges, each once, no loops.
"""

from collections.abc import Callable

import numpy as np

from retgk.array_types import Ints

__all__ = [
    "FAMILIES",
    "Edges",
    "barabasi_albert",
    "connected_graph",
    "distinct_edges",
    "erdos_renyi",
    "stochastic_block",
    "uniform_edges",
    "watts_strogatz",
]

Edges = Ints

_REWIRED = 0.1
_WITHIN_BLOCK = 0.9


def distinct_edges(n_nodes: int, edges: Edges) -> Edges:
    """Drop loops and edges that are listed twice, in either direction."""
    low, high = edges.min(axis=1), edges.max(axis=1)
    codes = np.unique((low * n_nodes + high)[low < high])
    return np.stack(np.divmod(codes, n_nodes), axis=1)


def uniform_edges(n_nodes: int, n_edges: int, rng: np.random.Generator) -> Edges:
    """Graph G(n, m): so many edges, each set of them equally likely."""
    codes = rng.choice(n_nodes * (n_nodes - 1) // 2, n_edges, replace=False)
    # pairs (i, j) with i < j, counted by j: the first pair of j has the code j (j - 1) / 2
    high = ((1 + np.sqrt(1 + 8 * codes.astype(np.float64))) / 2).astype(np.int64)
    high -= high * (high - 1) // 2 > codes  # the root may be off by one for large codes
    high += (high + 1) * high // 2 <= codes
    return np.stack([codes - high * (high - 1) // 2, high], axis=1)


def erdos_renyi(n_nodes: int, degree: float, rng: np.random.Generator) -> Edges:
    """Graph G(n, p) of a given mean degree (Gilbert 1959)."""
    probability = min(1.0, degree / max(1, n_nodes - 1))
    n_edges = rng.binomial(n_nodes * (n_nodes - 1) // 2, probability)
    return uniform_edges(n_nodes, int(n_edges), rng)


def barabasi_albert(n_nodes: int, degree: float, rng: np.random.Generator) -> Edges:
    """
    Preferential attachment, by the algorithm of Batagelj and Brandes (2005).

    The k-th edge starts at node k // m; its end is the entry of the list of all ends so far
    at a random place. An odd place is the end of an earlier edge: follow it back.
    """
    per_node = max(1, round(degree / 2))
    place = rng.integers(0, 2 * np.arange(n_nodes * per_node) + 1)
    while (place % 2).any():
        place = np.where(place % 2, place[place // 2], place)
    sources = np.arange(n_nodes * per_node) // per_node
    return distinct_edges(n_nodes, np.stack([sources, place // 2 // per_node], axis=1))


def watts_strogatz(n_nodes: int, degree: float, rng: np.random.Generator) -> Edges:
    """Ring of nodes joined to the nearest ones, a tenth of the edges rewired."""
    per_node = max(1, round(degree / 2))
    sources, steps = np.divmod(np.arange(n_nodes * per_node), per_node)
    targets = (sources + steps + 1) % n_nodes
    rewired = rng.random(len(targets)) < _REWIRED
    targets[rewired] = rng.integers(0, n_nodes, rewired.sum())
    return distinct_edges(n_nodes, np.stack([sources, targets], axis=1))


def stochastic_block(n_nodes: int, degree: float, rng: np.random.Generator) -> Edges:
    """Two communities of equal size; nine of ten edges stay within them."""
    half = n_nodes // 2
    first = erdos_renyi(half, _WITHIN_BLOCK * degree, rng)
    second = erdos_renyi(n_nodes - half, _WITHIN_BLOCK * degree, rng)
    n_pairs = half * (n_nodes - half)
    expected = (1 - _WITHIN_BLOCK) * degree * n_nodes / 2
    n_between = rng.binomial(n_pairs, min(1.0, expected / max(1, n_pairs)))
    left, right = np.divmod(rng.choice(n_pairs, n_between, replace=False), n_nodes - half)
    return np.concatenate([first, second + half, np.stack([left, right + half], axis=1)])


def connected_graph(n_nodes: int, n_edges: int, rng: np.random.Generator) -> Edges:
    """Draw G(n, m) until it is connected."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    while True:
        edges = uniform_edges(n_nodes, n_edges, rng)
        matrix = coo_array((np.ones(n_edges), (edges[:, 0], edges[:, 1])), (n_nodes, n_nodes))
        if connected_components(matrix, directed=False)[0] == 1:
            return edges


FAMILIES: dict[str, Callable[[int, float, np.random.Generator], Edges]] = {
    "erdos_renyi": erdos_renyi,
    "barabasi_albert": barabasi_albert,
    "watts_strogatz": watts_strogatz,
    "stochastic_block": stochastic_block,
}
