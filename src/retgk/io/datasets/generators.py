"""Random graphs of several families, and sets of them like scikit-learn's make_classification."""

from collections.abc import Callable, Sequence

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import offsets
from retgk.io.graph_dataset import GraphDataset
from retgk.runtime.seeds import RandomState, generator_from

__all__ = [
    "FAMILIES",
    "Edges",
    "connected_graph",
    "distinct_edges",
    "make_graph_classification",
    "uniform_edges",
]

Edges = Ints
"""Shape (n_edges, 2): distinct edges, each once, no loops."""

_DEGREE = 4.0
_CLASS_SPREAD = 0.5
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


def make_graph_classification(
    n_graphs: int = 200,
    n_classes: int = 2,
    *,
    families: Sequence[str] = tuple(FAMILIES),
    n_labels: int = 0,
    n_attributes: int = 0,
    n_nodes: tuple[int, int] = (20, 40),
    random_state: RandomState = None,
) -> GraphDataset:
    """
    Random graphs whose classes differ in structure, labels or attributes.

    Class c has the structure ``families[c % len(families)]``; all families have a mean
    degree of three to four. Labels are drawn from a distribution of each class, attributes
    from N(mean, I) with a mean of each class, drawn from N(0, I / 4). Pass a single family
    for classes that differ in labels and attributes alone.

    Parameters
    ----------
    n_graphs : int, default=200
        Number of graphs.
    n_classes : int, default=2
        Number of classes, of equal size as far as possible.
    families : sequence of str
        Some of "erdos_renyi", "barabasi_albert", "watts_strogatz" and "stochastic_block".
        All four by default.
    n_labels : int, default=0
        Number of distinct node labels, or 0 for graphs without labels.
    n_attributes : int, default=0
        Number of attributes per node.
    n_nodes : tuple of two ints, default=(20, 40)
        Least and largest number of nodes of a graph; at least 5.
    random_state : int, Generator, RandomState or None, default=None
        Passed to :func:`numpy.random.default_rng`; an int gives the same graphs each time.

    Returns
    -------
    GraphDataset
        The graphs; targets are 0 to ``n_classes - 1``, in random order.

    Examples
    --------
    >>> data = make_graph_classification(10, n_labels=3, random_state=0)
    >>> data.graphs.label_names
    (0, 1, 2)
    """
    _check_counts(n_nodes, n_labels=n_labels, n_attributes=n_attributes)
    _check_classes(n_graphs, n_classes, families, n_labels + n_attributes)
    rng = generator_from(random_state)
    targets = rng.permutation(np.arange(n_graphs) % n_classes)
    sizes = rng.integers(n_nodes[0], n_nodes[1], n_graphs, endpoint=True)
    pieces = [np.empty((0, 2), np.int64)]
    for start, size, target in zip(offsets(sizes)[:-1], sizes, targets, strict=True):
        family = FAMILIES[families[target % len(families)]]
        pieces.append(start + family(int(size), _DEGREE, rng))
    classes = np.repeat(targets, sizes)
    graphs = GraphBatch.from_edges(
        sizes,
        np.concatenate(pieces),
        labels=_labels(classes, n_classes, n_labels, rng) if n_labels else None,
        attributes=_attributes(classes, n_classes, n_attributes, rng) if n_attributes else None,
        symmetrize=True,
    )
    description = f"Random graphs of {n_classes} classes: {', '.join(families)}."
    return GraphDataset(graphs, targets, "graph_classification", description)


def _check_counts(n_nodes: tuple[int, int], **counts: int) -> None:
    for name, count in counts.items():
        if not isinstance(count, int | np.integer) or count < 0:
            raise InvalidInputError(f"{name} must be a whole number from 0 on, got {count!r}")
    is_pair = isinstance(n_nodes, Sequence | np.ndarray) and len(n_nodes) == 2
    if not is_pair or not 5 <= n_nodes[0] <= n_nodes[1]:
        raise InvalidInputError(
            f"n_nodes must be two rising numbers from 5 on, the least and the largest number of "
            f"nodes, got {n_nodes!r}"
        )


def _check_classes(
    n_graphs: int, n_classes: int, families: Sequence[str], n_node_features: int
) -> None:
    unknown = [family for family in families if family not in FAMILIES]
    if unknown or not families or isinstance(families, str):
        raise InvalidInputError(
            f"families must be a sequence of some of {', '.join(FAMILIES)}; got {families!r}"
        )
    if not 1 <= n_classes <= n_graphs:
        raise InvalidInputError(f"n_classes must be 1 to n_graphs = {n_graphs}, got {n_classes}")
    if n_classes > len(families) and n_node_features == 0:
        raise InvalidInputError(
            f"{n_classes} classes cannot be told apart by {len(families)} families; ask for "
            "labels or attributes, or for fewer classes"
        )


def _labels(classes: Ints, n_classes: int, n_labels: int, rng: np.random.Generator) -> Ints:
    """Draw labels by inverting the cumulative distribution of each class."""
    distributions = rng.dirichlet(np.ones(n_labels), n_classes)
    cumulative = np.cumsum(distributions, axis=1)[:, :-1]  # rounding may leave the last below 1
    drawn = rng.random(len(classes))
    labels = np.empty(len(classes), np.int64)
    for target in range(n_classes):
        members = classes == target
        labels[members] = np.searchsorted(cumulative[target], drawn[members], side="right")
    return labels


def _attributes(
    classes: Ints, n_classes: int, n_attributes: int, rng: np.random.Generator
) -> Floats:
    means = rng.normal(0, _CLASS_SPREAD, (n_classes, n_attributes))
    return means[classes] + rng.normal(size=(len(classes), n_attributes))
