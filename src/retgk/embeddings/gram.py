"""Kernel matrices from vectors of graphs, without multiplying the zeros of absent labels."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import issparse

from retgk.errors import InvalidInputError
from retgk.kernels.graph_kernels import (
    ExponentialGraphKernel,
    GraphKernel,
)
from retgk.kernels.medians import median_squared_mmd
from retgk.memory import check_room
from retgk.parallel import run_tasks, single_threaded_blas

__all__ = ["embedding_gram", "embedding_products"]

Floats = NDArray[np.float64]

_TILE = 256


class _LabelBlock(NamedTuple):
    """Features of the graphs that have one label."""

    graphs: NDArray[np.int64]
    features: NDArray[Any]
    tile_ptr: NDArray[np.int64]
    """First of these graphs in every tile of graphs."""


def embedding_products(x: Any, y: Any = None, *, n_jobs: int | None = None) -> Floats:
    """
    Inner products ``<m_G, m_H>`` of embedded graphs.

    Parameters
    ----------
    x : ndarray or bsr_array, shape (n_x, n_features)
        Vectors from `RetGKEmbedding`; with ``sparse_output=True`` labels that a graph lacks
        cost nothing.
    y : the same, shape (n_y, n_features), optional
        Other vectors; x itself by default.
    n_jobs : int, optional
        Threads; None for all cores. They change no bit of the result.

    Returns
    -------
    ndarray of float64, shape (n_x, n_y)
        The products.

    Examples
    --------
    >>> embedding_products(np.array([[1.0, 2.0]]), np.array([[3.0, 1.0]]))
    array([[5.]])
    """
    products = _lower_products(x, y, n_jobs)
    if y is None:
        _replace(products, True, None, n_jobs)
    return products


def embedding_gram(
    x: Any, y: Any = None, *, kernel: GraphKernel | None = None, n_jobs: int | None = None
) -> Floats:
    """
    Kernel matrix of embedded graphs.

    Parameters
    ----------
    x : ndarray or bsr_array, shape (n_x, n_features)
        Vectors from `RetGKEmbedding`, best with ``sparse_output=True``.
    y : the same, shape (n_y, n_features), optional
        Other vectors; x itself by default.
    kernel : PolynomialGraphKernel or ExponentialGraphKernel, optional
        K_1 or K_2; inner products by default. A rule for its gamma is applied to x if there is
        no y; with y it has to be a number.
    n_jobs : int, optional
        Threads; None for all cores. They change no bit of the result.

    Returns
    -------
    ndarray of float64, shape (n_x, n_y)
        Kernel values.

    Examples
    --------
    >>> from retgk import PolynomialGraphKernel
    >>> embedding_gram(np.array([[1.0, 2.0]]), kernel=PolynomialGraphKernel(c=1, d=2))
    array([[36.]])
    """
    if kernel is None:
        return embedding_products(x, y, n_jobs=n_jobs)
    products = _lower_products(x, y, n_jobs)
    norms_x = np.diag(products).copy() if y is None else _squared_norms(x)
    norms_y = norms_x if y is None else _squared_norms(y)
    if y is None and isinstance(kernel, ExponentialGraphKernel) and kernel.gamma == "median":
        kernel = kernel.fitted(np.array([[median_squared_mmd(products)]]))

    def values(rows: slice, columns: slice) -> Floats:
        return kernel(products[rows, columns], norms_x[rows], norms_y[columns])

    _replace(products, y is None, values, n_jobs)
    return products


def _lower_products(x: Any, y: Any, n_jobs: int | None) -> Floats:
    """Inner products; without y only those of tiles on and below the diagonal."""
    blocks_x = _label_blocks(x, "x")
    blocks_y = blocks_x if y is None else _label_blocks(y, "y")
    if y is not None and x.shape[1] != y.shape[1]:
        raise InvalidInputError(
            f"x has {x.shape[1]} features, y has {y.shape[1]}; embed both by the same transformer"
        )
    shape = (x.shape[0], (x if y is None else y).shape[0])
    check_room(8 * shape[0] * shape[1], "the kernel matrix", "give fewer graphs at a time")
    products = np.zeros(shape)
    labels = sorted(blocks_x.keys() & blocks_y.keys())
    pairs = [(blocks_x[label], blocks_y[label]) for label in labels]
    tasks = [(pairs, *tile, products) for tile in _tiles(shape, y is None)]
    with single_threaded_blas():  # threads over tiles; bits independent of n_jobs
        run_tasks(_fill_tile, tasks, [1.0] * len(tasks), n_jobs, "inner products")
    return products


def _tile(i: int) -> slice:
    return slice(i * _TILE, (i + 1) * _TILE)


def _tiles(shape: tuple[int, int], symmetric: bool) -> list[tuple[int, int]]:
    rows, columns = (range(-(-n // _TILE)) for n in shape)
    return [(i, j) for i in rows for j in columns if j <= i or not symmetric]


def _fill_tile(
    pairs: list[tuple[_LabelBlock, _LabelBlock]], i: int, j: int, products: Floats
) -> None:
    """Add up the products of all labels, for one tile."""
    if len(pairs) == 1 and len(pairs[0][0].graphs) == len(products):  # no labels: nothing to add
        (x, y), rows, columns = pairs[0], _tile(i), _tile(j)
        if len(y.graphs) == products.shape[1]:
            products[rows, columns] = x.features[rows] @ y.features[columns].T
            return
    for x, y in pairs:
        rows = slice(x.tile_ptr[i], x.tile_ptr[i + 1])
        columns = slice(y.tile_ptr[j], y.tile_ptr[j + 1])
        if rows.start < rows.stop and columns.start < columns.stop:
            block = x.features[rows] @ y.features[columns].T
            _add_at(products, x.graphs[rows], y.graphs[columns], block)


@njit(cache=True, nogil=True)
def _add_at(products: Any, rows: Any, columns: Any, block: Any) -> None:
    first, n = columns[0], len(columns)
    is_run = columns[-1] - first == n - 1
    for i in range(len(rows)):
        if is_run:
            row = products[rows[i], first : first + n]
            for j in range(n):
                row[j] += block[i, j]
        else:
            row = products[rows[i]]
            for j in range(n):
                row[columns[j]] += block[i, j]


def _replace(
    matrix: Floats,
    symmetric: bool,
    values: Callable[[slice, slice], Floats] | None,
    n_jobs: int | None,
) -> None:
    """Write values, a tile at a time; those of a symmetric matrix above the diagonal too."""

    def fill(i: int, j: int) -> None:
        rows, columns = _tile(i), _tile(j)
        if values is not None:
            matrix[rows, columns] = values(rows, columns)
        if symmetric and i != j:
            matrix[columns, rows] = matrix[rows, columns].T

    tasks = _tiles(matrix.shape, symmetric)
    run_tasks(fill, tasks, [1.0] * len(tasks), n_jobs, "kernel values")


def _is_dense(vectors: Any) -> bool:
    return not issparse(vectors)


def _label_blocks(vectors: Any, name: str) -> dict[int, _LabelBlock]:
    """Cut vectors into the blocks of their labels; dense ones are a single block."""
    n_graphs = vectors.shape[0]
    borders = np.append(np.arange(0, n_graphs, _TILE), n_graphs)
    if _is_dense(vectors):
        return {0: _LabelBlock(np.arange(n_graphs), np.asarray(vectors), borders)}
    if vectors.format != "bsr" or vectors.blocksize[0] != 1:
        raise InvalidInputError(
            f"{name} is sparse of format {vectors.format}; give a dense array, or what "
            "RetGKEmbedding(sparse_output=True) makes"
        )
    graphs = np.repeat(np.arange(n_graphs), np.diff(vectors.indptr))
    order = np.argsort(vectors.indices, kind="stable")
    labels, starts = np.unique(vectors.indices[order], return_index=True)
    blocks = {}
    for label, own in zip(labels, np.split(order, starts[1:]), strict=True):
        having = graphs[own]
        ptr = np.searchsorted(having, borders)
        blocks[int(label)] = _LabelBlock(having, vectors.data[own, 0], ptr)
    return blocks


def _squared_norms(vectors: Any) -> Floats:
    """Squared norms of the rows, summed in float64."""
    rows = np.asarray(vectors) if _is_dense(vectors) else vectors.data[:, 0]
    squares = np.square(rows, dtype=np.float64).sum(axis=1)
    if _is_dense(vectors):
        return np.asarray(squares)
    graphs = np.repeat(np.arange(vectors.shape[0]), np.diff(vectors.indptr))
    return np.bincount(graphs, squares, minlength=vectors.shape[0]).astype(np.float64)
