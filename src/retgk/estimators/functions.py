"""Inner products and distances of mean embeddings in one call."""

from typing import Any

from retgk.array_types import Floats
from retgk.estimators.kernel import RetGKKernel
from retgk.io.converters import as_batch
from retgk.kernels.graph_kernels import PolynomialGraphKernel, squared_mmd_from_products

__all__ = ["mean_embedding_gram", "squared_mmd"]


def mean_embedding_gram(X: Any, Y: Any = None, **options: Any) -> Floats:
    r"""
    Inner products :math:`\langle m_G, m_H \rangle` of mean embeddings (section 4 of the paper).

    Parameters
    ----------
    X, Y : GraphBatch or anything that `as_batch` takes
        Graphs of the rows and of the columns; Y is X by default.
    **options
        Parameters of `RetGKKernel` for nodes: ``n_steps``, ``structure_kernel``, ``tol`` and so
        on. Bandwidths are found on the graphs of the columns.

    Returns
    -------
    ndarray of float64, shape (n_x, n_y)
        Inner products.

    Examples
    --------
    >>> from retgk import Laplacian
    >>> triangle, edge = np.ones((3, 3)) - np.eye(3), np.array([[0, 1.0], [1, 0]])
    >>> mean_embedding_gram([triangle, edge], n_steps=1, structure_kernel=Laplacian(1.0)).round(3)
    array([[1.   , 0.846],
           [0.846, 1.   ]])
    """
    kernel = _node_kernel(options)
    if Y is None:
        return kernel.fit(X).inner_products_
    kernel._fit_nodes(Y)
    return kernel._products(kernel._placed(X))


def squared_mmd(X: Any, Y: Any = None, **options: Any) -> Floats:
    """
    Squared maximum mean discrepancies between graphs (section 4.1 of the paper).

    Parameters
    ----------
    X, Y : GraphBatch or anything that `as_batch` takes
        Graphs of the rows and of the columns; Y is X by default.
    **options
        Parameters of `RetGKKernel` for nodes, as for `mean_embedding_gram`.

    Returns
    -------
    ndarray of float64, shape (n_x, n_y)
        Squared distances.

    Examples
    --------
    >>> from retgk import Laplacian
    >>> triangle, edge = np.ones((3, 3)) - np.eye(3), np.array([[0, 1.0], [1, 0]])
    >>> squared_mmd([triangle, edge], n_steps=1, structure_kernel=Laplacian(1.0)).round(3)
    array([[0.   , 0.307],
           [0.307, 0.   ]])
    """
    kernel = _node_kernel(options)
    if Y is None:
        return kernel.fit(X)._squared_mmd()
    points = kernel._fit_bandwidths(as_batch(Y))
    kernel._fit_points(points)
    graphs = kernel._placed(X)
    return squared_mmd_from_products(
        kernel._products(graphs), kernel._norms(graphs), kernel._norms(kernel._place(points))
    )


def _node_kernel(options: dict[str, Any]) -> RetGKKernel:
    return RetGKKernel(**options, graph_kernel=PolynomialGraphKernel())
