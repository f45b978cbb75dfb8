"""
Graphs compared in one call: distances, similarities, the most similar ones.

They take any kernel. The default one has no bandwidth to be found: the value for two graphs depends
on no other graph, it is the same in every call and in every collection, and all functions agree
about who is near.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from retgk._runtime.names import check_keywords
from retgk._runtime.processes import check_room
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.estimators.kernel import USE_A_GRAM_FILE, RetGK
from retgk.graphs.batch import GraphBatch, check_alike
from retgk.graphs.flat import chunks
from retgk.graphs.reading import Reading
from retgk.io.convert import CONVERT_FIRST, GraphsLike, batch_like
from retgk.io.dataset import GraphDataset
from retgk.kernels.graph import PolynomialGraphKernel, squared_mmd_from_products, squared_mmd_within
from retgk.kernels.kernel import GraphKernel
from retgk.kernels.node import COMPARISON_KERNEL

_TOL = 1e-6  # errors of distances are the root of errors of inner products
_PIECE_NODES = 1 << 17


class MostSimilar(NamedTuple):
    """Graphs most similar to another, the most similar first."""

    indices: Ints
    """Their places in the collection."""
    similarities: Floats
    """In [0, 1]."""


def similarity(
    g: GraphsLike, h: GraphsLike, kernel: GraphKernel | None = None, **options: Any
) -> float:
    r"""
    Similarity of two graphs, between 0 and 1.

    It is the cosine :math:`K(G, H) / \sqrt{K(G, G)\,K(H, H)}`, by default that of their mean
    embeddings: 1 for graphs whose nodes have the same return probabilities, labels and attributes
    in the same shares (isomorphic graphs among them), 0 for graphs that have no node label in
    common.

    Parameters
    ----------
    g, h : graph
        Anything that `as_batch` takes; the two may be of different kinds. Both or neither
        have labels, and they have the same number of attributes.
    kernel : GraphKernel, optional
        By default ``RetGK(structure=Laplacian(5.0))``. `RetGK` compares mean embeddings, unless it
        has a `graph_kernel`.
    **options : error
        Options of converters belong to `as_batch`; an error says so.

    Returns
    -------
    float
        The similarity.

    Examples
    --------
    >>> import numpy as np
    >>> from retgk import similarity
    >>> triangle, path = np.ones((3, 3)) - np.eye(3), np.diag([1, 1], 1) + np.diag([1, 1], -1)
    >>> similarity(triangle, triangle)
    1.0
    >>> round(similarity(triangle, path), 2)
    0.16
    """
    values = _comparing(kernel, 0.0, options).fit(_pair(g, h)).gram()
    norms = np.sqrt(values.diagonal())
    return float(_cosines(values[:1, 1:], norms[:1], norms[1:])[0, 0])


def distance(
    g: GraphsLike, h: GraphsLike, kernel: GraphKernel | None = None, **options: Any
) -> float:
    r"""
    Distance of two graphs, :math:`\sqrt{K(G, G) + K(H, H) - 2 K(G, H)}`.

    By default it is the maximum mean discrepancy :math:`|m_G - m_H|` of their nodes.

    Parameters
    ----------
    g, h : graph
        Anything that `as_batch` takes; the two may be of different kinds. Both or neither
        have labels, and they have the same number of attributes.
    kernel : GraphKernel, optional
        As for `similarity`.
    **options : error
        Options of converters belong to `as_batch`; an error says so.

    Returns
    -------
    float
        By default between 0 and 1.42, the root of two.

    Examples
    --------
    >>> import numpy as np
    >>> from retgk import distance
    >>> triangle, path = np.ones((3, 3)) - np.eye(3), np.diag([1, 1], 1) + np.diag([1, 1], -1)
    >>> distance(triangle, triangle)
    0.0
    >>> round(distance(triangle, path), 2)
    1.15
    """
    values = _comparing(kernel, 0.0, options).fit(_pair(g, h)).gram()
    return float(np.sqrt(squared_mmd_within(values)[0, 1]))


def distances(
    X: GraphsLike,
    Y: GraphsLike | None = None,
    kernel: GraphKernel | None = None,
    **options: Any,
) -> Floats:
    """
    Distances between all graphs, as `distance` gives them for two.

    Parameters
    ----------
    X, Y : GraphBatch or anything that `as_batch` takes
        Graphs of the rows and of the columns; Y is X by default.
    kernel : GraphKernel, optional
        As for `similarity`. What it has to find, such as bandwidths, is found on the graphs of the
        columns.
    **options : error
        Options of converters belong to `as_batch`; an error says so.

    Returns
    -------
    ndarray of float64, shape (n_x, n_y)
        Distances, ready for whatever takes a precomputed metric.

    Examples
    --------
    >>> import numpy as np
    >>> from retgk.search import distances
    >>> triangle, path = np.ones((3, 3)) - np.eye(3), np.diag([1, 1], 1) + np.diag([1, 1], -1)
    >>> distances([triangle, path]).round(2)
    array([[0.  , 1.15],
           [1.15, 0.  ]])
    """
    own = _comparing(kernel, _TOL, options)
    rows = _batch(X, _reading(Y))
    if Y is None:
        check_room(8 * len(rows) ** 2, "the kernel matrix", USE_A_GRAM_FILE)
        return np.sqrt(squared_mmd_within(own.fit(rows).gram()))
    columns = _batch(Y, rows.reading)
    check_alike(rows, columns.has_labels, columns.n_attributes, "X has", "Y has")
    own.fit(columns)
    values, norms = own.rows_and_norms(rows)
    return np.sqrt(squared_mmd_from_products(values, norms, own.norms()))


def most_similar(
    graph: GraphsLike,
    graphs: GraphsLike,
    k: int = 5,
    kernel: GraphKernel | None = None,
    **options: Any,
) -> MostSimilar:
    """
    Find the graphs of a collection that are most similar to one graph.

    Parameters
    ----------
    graph : graph
        The query; anything that `as_batch` takes.
    graphs : GraphBatch or anything that `as_batch` takes
        The collection.
    k : int, default=5
        How many to give; all, if the collection has fewer.
    kernel : GraphKernel, optional
        As for `similarity`. What it has to find is found on all graphs.
    **options : error
        Options of converters belong to `as_batch`; an error says so.

    Returns
    -------
    MostSimilar
        ``indices`` and ``similarities``, the most similar first, of equal ones the first in the
        collection.

    Examples
    --------
    >>> import numpy as np
    >>> from retgk import most_similar
    >>> triangle, edge = np.ones((3, 3)) - np.eye(3), np.ones((2, 2)) - np.eye(2)
    >>> most_similar(triangle, [edge, triangle], k=1).indices
    array([1])
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InvalidInputError(f"k must be a whole number of at least 1, got {k!r}")
    own = _comparing(kernel, _TOL, options)
    collection = _batch(graphs, _reading(graph))
    query = _one(graph, "graph", collection.reading)
    has, count = collection.has_labels, collection.n_attributes
    check_alike(query, has, count, "the query has", "the collection has")
    both = GraphBatch.concatenate([collection, query])
    one = own.fit(both).keep(np.array([len(collection)]))
    parts = [one.rows_and_norms(piece) for piece in _pieces(both)]
    values, norms = (np.concatenate(part) for part in zip(*parts, strict=True))
    roots = np.sqrt(norms)
    found = _cosines(values[:-1], roots[:-1], roots[-1:])[:, 0]
    order = np.argsort(-found, kind="stable")[: int(k)]
    return MostSimilar(order, found[order])


def _pieces(batch: GraphBatch) -> Sequence[GraphBatch]:
    return [batch[first:last] for first, last in chunks(batch.node_ptr, _PIECE_NODES)]


def _comparing(kernel: GraphKernel | None, tol: float, options: dict[str, Any]) -> GraphKernel:
    """The kernel by which graphs are compared, not fitted."""
    check_keywords(options, ("kernel",), "a comparison of graphs", CONVERT_FIRST)
    if kernel is None:
        return comparison_kernel(tol=tol)
    if not isinstance(kernel, GraphKernel):
        raise InvalidInputError(f"kernel must be a kernel such as RetGK(), got {kernel!r:.80}")
    own: GraphKernel = clone(kernel)
    if isinstance(own, RetGK) and own.graph_kernel is None:
        own.graph_kernel = PolynomialGraphKernel()
    return own


def comparison_kernel(**parameters: Any) -> RetGK:
    """RetGK without a bandwidth to be found, whose values are inner products."""
    own = {"structure": COMPARISON_KERNEL, "graph_kernel": PolynomialGraphKernel(), "tol": _TOL}
    return RetGK(**{**own, **parameters})


def _reading(graphs: GraphsLike | None) -> Reading | None:
    """How graphs were read that are a batch or a data set already."""
    graphs = graphs.graphs if isinstance(graphs, GraphDataset) else graphs
    return graphs.reading if isinstance(graphs, GraphBatch) else None


def _batch(graphs: GraphsLike, like: Reading | None = None) -> GraphBatch:
    """Graphs as a batch, read as others were; a list may hold several kinds."""
    if isinstance(graphs, list | tuple) and len(set(map(type, graphs))) > 1:
        return GraphBatch.concatenate([batch_like(graph, like, "others") for graph in graphs])
    return batch_like(graphs, like, "others")


def _one(graph: GraphsLike, name: str, like: Reading | None = None) -> GraphBatch:
    batch = batch_like(graph, like, "others")
    if len(batch) != 1:
        raise InvalidInputError(
            f"{name} must be one graph, got {len(batch)}; use distances or RetGK for many"
        )
    return batch


def _pair(g: GraphsLike, h: GraphsLike) -> GraphBatch:
    first = _one(g, "g", _reading(h))
    second = _one(h, "h", first.reading)
    check_alike(first, second.has_labels, second.n_attributes, "g has", "h has")
    return GraphBatch.concatenate([first, second])


def _cosines(products: Floats, norms_x: Floats, norms_y: Floats) -> Floats:
    return np.minimum(products / norms_x[:, None] / norms_y, 1.0)
