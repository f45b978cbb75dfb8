"""Made-up graph sets, in the manner of scikit-learn's make_classification."""

from collections.abc import Sequence

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import offsets
from retgk.io.datasets.random_graphs import FAMILIES
from retgk.io.graph_dataset import GraphDataset

__all__ = ["make_graph_classification"]

_DEGREE = 4.0
_CLASS_SPREAD = 0.5


def make_graph_classification(
    n_graphs: int = 200,
    n_classes: int = 2,
    *,
    families: Sequence[str] = tuple(FAMILIES),
    n_labels: int = 0,
    n_attributes: int = 0,
    n_nodes: tuple[int, int] = (20, 40),
    random_state: int | np.random.Generator | None = None,
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
    random_state : int, Generator or None, default=None
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
    rng = np.random.default_rng(random_state)
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
