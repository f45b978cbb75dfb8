"""
Graphs compared in one call: inner products, distances, similarities, the most similar ones.

`similarity`, `distance`, `most_similar` and `pairwise_distances` use the node kernels that
`RetGKEmbedding` has by default, so that all of them agree about who is near. They have no
bandwidth to be found: the value for two graphs depends on no other graph, it is the same in every
call and in every collection.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from retgk._runtime.names import check_keywords
from retgk._runtime.parameters import Whole, check_parameters
from retgk._runtime.processes import check_room
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.estimators.kernel import USE_A_GRAM_FILE, RetGK, kernel_engine, kernel_features
from retgk.graphs.batch import GraphBatch, check_alike
from retgk.graphs.reading import Reading
from retgk.io.convert import CONVERT_FIRST, GraphsLike, as_batch, batch_like
from retgk.io.dataset import GraphDataset
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import ExactEngine
from retgk.kernels.graph import PolynomialGraphKernel, squared_mmd_from_products, squared_mmd_within
from retgk.kernels.node import COMPARISON_KERNEL

_TOL = 1e-6  # errors of distances are the root of errors of inner products


def mean_embedding_gram(X: GraphsLike, Y: GraphsLike | None = None, **options: Any) -> Floats:
    r"""
    Inner products :math:`\langle m_G, m_H \rangle` of mean embeddings (section 4 of the paper).

    Parameters
    ----------
    X, Y : GraphBatch or anything that `as_batch` takes
        Graphs of the rows and of the columns; Y is X by default.
    **options
        Parameters of `RetGK` for nodes: ``n_steps``, ``structure``, ``tol`` and so
        on. Bandwidths are found on the graphs of the columns.

    Returns
    -------
    ndarray of float64, shape (n_x, n_y)
        Inner products.

    Examples
    --------
    >>> from retgk.kernels import Laplacian
    >>> triangle, edge = np.ones((3, 3)) - np.eye(3), np.array([[0, 1.0], [1, 0]])
    >>> mean_embedding_gram([triangle, edge], n_steps=1, structure=Laplacian(1.0)).round(3)
    array([[1.   , 0.846],
           [0.846, 1.   ]])
    """
    if Y is None:
        return _products_among(X, options)
    engine, features = _fit_engine(Y, options)
    return engine.compare(features.with_batch(_batch(X, features.batch.reading))).products()


def squared_mmd(X: GraphsLike, Y: GraphsLike | None = None, **options: Any) -> Floats:
    """
    Squared maximum mean discrepancies between graphs (section 4.1 of the paper).

    Parameters
    ----------
    X, Y : GraphBatch or anything that `as_batch` takes
        Graphs of the rows and of the columns; Y is X by default.
    **options
        Parameters of `RetGK` for nodes, as for `mean_embedding_gram`.

    Returns
    -------
    ndarray of float64, shape (n_x, n_y)
        Squared distances.

    Examples
    --------
    >>> from retgk.kernels import Laplacian
    >>> triangle, edge = np.ones((3, 3)) - np.eye(3), np.array([[0, 1.0], [1, 0]])
    >>> squared_mmd([triangle, edge], n_steps=1, structure=Laplacian(1.0)).round(3)
    array([[0.   , 0.307],
           [0.307, 0.   ]])
    """
    if Y is None:
        return squared_mmd_within(_products_among(X, options))
    engine, features = _fit_engine(Y, options)
    new = engine.compare(features.with_batch(_batch(X, features.batch.reading)))
    norms = engine.compare(features).squared_norms()
    return squared_mmd_from_products(new.products(), new.squared_norms(), norms)


class MostSimilar(NamedTuple):
    """Graphs most similar to another, the most similar first."""

    indices: Ints
    """Their places in the collection."""
    similarities: Floats
    """In [0, 1]."""


def similarity(g: GraphsLike, h: GraphsLike, **options: Any) -> float:
    r"""
    Similarity of two graphs, between 0 and 1.

    It is the cosine of their mean embeddings,
    :math:`\langle m_G, m_H \rangle / (|m_G| |m_H|)`: 1 for graphs whose nodes have the same return
    probabilities, labels and attributes in the same shares (isomorphic graphs among them), 0 for
    graphs that have no node label in common.

    Parameters
    ----------
    g, h : graph
        Anything that `as_batch` takes; the two may be of different kinds. Both or neither
        have labels, and they have the same number of attributes.
    **options
        Parameters of `RetGK` for nodes: ``n_steps``, ``structure`` (by default
        ``Laplacian(5.0)``), ``attributes`` and so on.

    Returns
    -------
    float
        The similarity.

    Examples
    --------
    >>> triangle, path = np.ones((3, 3)) - np.eye(3), np.diag([1, 1], 1) + np.diag([1, 1], -1)
    >>> similarity(triangle, triangle)
    1.0
    >>> round(similarity(triangle, path), 2)
    0.16
    """
    settings = _options(options, tol=0.0)
    products = mean_embedding_gram(_pair(g, h), **settings)
    norms = np.sqrt(products.diagonal())
    return float(_cosines(products[:1, 1:], norms[:1], norms[1:])[0, 0])


def distance(g: GraphsLike, h: GraphsLike, **options: Any) -> float:
    r"""
    Distance of two graphs: the maximum mean discrepancy :math:`|m_G - m_H|` of their nodes.

    Parameters
    ----------
    g, h : graph
        Anything that `as_batch` takes; the two may be of different kinds. Both or neither
        have labels, and they have the same number of attributes.
    **options
        Parameters of `RetGK` for nodes, as for `similarity`.

    Returns
    -------
    float
        Between 0 and 1.42, the root of two.

    Examples
    --------
    >>> triangle, path = np.ones((3, 3)) - np.eye(3), np.diag([1, 1], 1) + np.diag([1, 1], -1)
    >>> distance(triangle, triangle)
    0.0
    >>> round(distance(triangle, path), 2)
    1.15
    """
    settings = _options(options, tol=0.0)
    return float(np.sqrt(squared_mmd(_pair(g, h), **settings)[0, 1]))


def most_similar(graph: GraphsLike, graphs: GraphsLike, k: int = 5, **options: Any) -> MostSimilar:
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
    **options
        Parameters of `RetGK` for nodes, as for `similarity`.

    Returns
    -------
    MostSimilar
        ``indices`` and ``similarities``, the most similar first, of equal ones the first in the
        collection.

    Examples
    --------
    >>> triangle, edge = np.ones((3, 3)) - np.eye(3), np.ones((2, 2)) - np.eye(2)
    >>> most_similar(triangle, [edge, triangle], k=1).indices
    array([1])
    """
    check_parameters({"k": (Whole(1),)}, {"k": k})
    settings = _options(options, tol=_TOL)
    collection = _batch(graphs, _reading(graph))
    query = _one(graph, "graph", collection.reading)
    has, count = collection.has_labels, collection.n_attributes
    check_alike(query, has, count, "the query has", "the collection has")
    found = _similarities(query, collection, settings)
    order = np.argsort(-found, kind="stable")[: int(k)]
    return MostSimilar(order, found[order])


def _similarities(query: GraphBatch, collection: GraphBatch, options: dict[str, Any]) -> Floats:
    """Similarity of a query to every graph of a collection, in which bandwidths are found."""
    both = GraphBatch.concatenate([collection, query])
    engine, features = _fit_engine(both, options, keep=np.array([len(collection)]))
    parts = []
    for _, piece in features.pieces():
        others = engine.compare(piece)
        norms = np.sqrt(others.squared_norms())
        parts.append((others.products()[:, 0], norms))
    products, norms = map(np.concatenate, zip(*parts, strict=True))
    return _cosines(products[:-1, None], norms[:-1], norms[-1:])[:, 0]


def pairwise_distances(X: GraphsLike, Y: GraphsLike | None = None, **options: Any) -> Floats:
    """
    Distances between all graphs, as `distance` gives them for two.

    Parameters
    ----------
    X, Y : GraphBatch or anything that `as_batch` takes
        Graphs of the rows and of the columns; Y is X by default.
    **options
        Parameters of `RetGK` for nodes, as for `similarity`.

    Returns
    -------
    ndarray of float64, shape (n_x, n_y)
        Distances, ready for whatever takes a precomputed metric.

    Examples
    --------
    >>> triangle, path = np.ones((3, 3)) - np.eye(3), np.diag([1, 1], 1) + np.diag([1, 1], -1)
    >>> pairwise_distances([triangle, path]).round(2)
    array([[0.  , 1.15],
           [1.15, 0.  ]])
    """
    settings = _options(options, tol=_TOL)
    rows = _batch(X, _reading(Y))
    if Y is None:
        return np.sqrt(squared_mmd(rows, **settings))
    columns = _batch(Y, rows.reading)
    check_alike(rows, columns.has_labels, columns.n_attributes, "X has", "Y has")
    return np.sqrt(squared_mmd(rows, columns, **settings))


def _options(options: dict[str, Any], tol: float) -> dict[str, Any]:
    _check_options(options)
    return {"structure": COMPARISON_KERNEL, "tol": tol, **options}


def _check_options(options: dict[str, Any]) -> None:
    if options:
        check_keywords(options, _node_parameters(), "a comparison of graphs", CONVERT_FIRST)


@cache
def _node_parameters() -> list[str]:
    others = ("graph_kernel", "impute_attributes")
    return [name for name in RetGK().get_params(deep=False) if name not in others]


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
            f"{name} must be one graph, got {len(batch)}; use pairwise_distances or RetGK for many"
        )
    return batch


def _pair(g: GraphsLike, h: GraphsLike) -> GraphBatch:
    first = _one(g, "g", _reading(h))
    second = _one(h, "h", first.reading)
    check_alike(first, second.has_labels, second.n_attributes, "g has", "h has")
    return GraphBatch.concatenate([first, second])


def _cosines(products: Floats, norms_x: Floats, norms_y: Floats) -> Floats:
    return np.minimum(products / norms_x[:, None] / norms_y, 1.0)


def _products_among(graphs: GraphsLike, options: dict[str, Any]) -> Floats:
    batch = as_batch(graphs)
    check_room(8 * len(batch) ** 2, "the kernel matrix", USE_A_GRAM_FILE)
    return _fit_engine(batch, options)[0].inner_products()


def _fit_engine(
    graphs: GraphsLike, options: dict[str, Any], keep: Ints | None = None
) -> tuple[ExactEngine, NodeFeatures]:
    _check_options(options)
    kernel = RetGK(**options, graph_kernel=PolynomialGraphKernel())  # which is not used
    features = kernel_features(kernel, as_batch(graphs))
    return kernel_engine(kernel).fit(features, keep), features
