"""Kernel matrices from vectors of graphs, without multiplying the zeros of absent labels."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from retgk import _core
from retgk.array_types import Floats
from retgk.errors import InvalidInputError, Remedy
from retgk.kernels.graph_kernels import (
    ExponentialGraphKernel,
    GraphKernel,
    PolynomialGraphKernel,
)
from retgk.kernels.medians import typical_squared_mmd
from retgk.runtime.memory import check_room
from retgk.runtime.parallel import run_tasks

__all__ = ["embedding_gram", "embedding_products", "squared_vector_norms"]


TILE = 256


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
        _replace(products, None, products.diagonal(), n_jobs)
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
    if y is not None:
        _replace_rows(products, kernel, squared_vector_norms(x), squared_vector_norms(y), n_jobs)
        return products
    norms = products.diagonal().copy()
    if isinstance(kernel, PolynomialGraphKernel):
        _replace(products, kernel, norms, n_jobs)
        return products
    if kernel.gamma == "median":
        kernel = kernel.fitted(typical_squared_mmd(products, n_jobs))
    _replace_by_exponentials(products, kernel, norms, n_jobs)
    return products


def _lower_products(x: Any, y: Any, n_jobs: int | None) -> Floats:
    """Inner products; without y only those of tiles on and below the diagonal."""
    found_x = _found_labels(x, "x")
    found_y = found_x if y is None else _found_labels(y, "y")
    if y is not None and x.shape[1] != y.shape[1]:
        raise InvalidInputError(
            f"x has {x.shape[1]} features, y has {y.shape[1]}; embed both by the same transformer"
        )
    shape = (x.shape[0], (x if y is None else y).shape[0])
    remedy = Remedy("fewer_graphs", "give fewer graphs at a time")
    check_room(8 * shape[0] * shape[1], "the kernel matrix", remedy)
    dtype = _dtype_of(x if y is None else y, x)
    labels = np.unique(found_x) if y is None else np.intersect1d(found_x, found_y)
    rows_x = _labelled_rows(x, dtype, found_x, labels)
    rows_y = rows_x if y is None else _labelled_rows(y, dtype, found_y, labels)
    panels = _panels(rows_y, n_jobs)
    products = np.zeros(shape)

    def add(i: int, j: int) -> None:
        _core.add_label_products(*rows_x, *rows_y, *panels, i, j, y is None, products)

    tiles = _tiles(shape, y is None)
    costs = [0.5 if y is None and i == j else 1.0 for i, j in tiles]
    run_tasks(add, tiles, costs, n_jobs, "inner products")
    return products


class _LabelledRows(NamedTuple):
    """Features of graphs, a row for each label that a graph has, and where to find them."""

    features: NDArray[Any]
    """Shape (n_rows, width)."""
    rows: NDArray[np.int64]
    """Rows sorted by label, and by graph within a label."""
    graphs: NDArray[np.int64]
    """Graph of each of these."""
    tile_ptr: NDArray[np.int64]
    """Where the rows of a label and a tile of graphs begin, shape (n_labels, n_tiles + 1)."""


class _Panels(NamedTuple):
    """The same rows as columns, in panels of as many as fill `_core.PANEL_BYTES`."""

    values: NDArray[Any]
    """Shape (n_panels, width, panel width)."""
    ptr: NDArray[np.int64]
    """First panel of a label and a tile, shape (n_labels, n_tiles)."""


def _panels(x: _LabelledRows, n_jobs: int | None) -> _Panels:
    width = _core.PANEL_BYTES // x.features.itemsize
    counts = -(-np.diff(x.tile_ptr, axis=1) // width)
    ptr = np.cumsum(counts).reshape(counts.shape) - counts
    shape = (int(counts.sum()), x.features.shape[1], width)
    panels = _Panels(np.empty(shape, x.features.dtype), ptr)

    def fill(j: int) -> None:
        _core.fill_label_panels(*x, j, *panels)

    tasks = [(j,) for j in range(counts.shape[1])]
    run_tasks(fill, tasks, counts.sum(axis=0).tolist(), n_jobs, "panels")
    return panels


def _tile(i: int) -> slice:
    return slice(i * TILE, (i + 1) * TILE)


def _tiles(shape: tuple[int, int], symmetric: bool) -> list[tuple[int, int]]:
    rows, columns = (range(-(-n // TILE)) for n in shape)
    return [(i, j) for i in rows for j in columns if j <= i or not symmetric]


def _replace(matrix: Floats, kernel: GraphKernel | None, norms: Floats, n_jobs: int | None) -> None:
    """Write values, or leave the products, a tile at a time; those above the diagonal too."""

    def fill(i: int, j: int) -> None:
        rows, columns = _tile(i), _tile(j)
        if kernel is not None:
            matrix[rows, columns] = kernel(matrix[rows, columns], norms[rows], norms[columns])
        own = matrix[rows, columns]
        if i == j:
            own = np.tril(own) + np.tril(own, -1).T
            matrix[rows, rows] = own
        else:
            matrix[columns, rows] = own.T

    tasks = _tiles(matrix.shape, True)
    run_tasks(fill, tasks, [1.0] * len(tasks), n_jobs, "kernel values")


def _replace_rows(
    matrix: Floats, kernel: GraphKernel, norms_x: Floats, norms_y: Floats, n_jobs: int | None
) -> None:
    """Write values, some rows at a time."""

    def fill(i: int) -> None:
        matrix[_tile(i)] = kernel(matrix[_tile(i)], norms_x[_tile(i)], norms_y)

    tasks = [(i,) for i in range(-(-len(matrix) // TILE))]
    run_tasks(fill, tasks, [1.0] * len(tasks), n_jobs, "kernel values")


def _replace_by_exponentials(
    matrix: Floats, kernel: ExponentialGraphKernel, norms: Floats, n_jobs: int | None
) -> None:
    """Do the same in one compiled pass."""

    def fill(i: int, j: int) -> None:
        rows, columns = ((k * TILE, min((k + 1) * TILE, len(norms))) for k in (i, j))
        parameters = (float(kernel.gamma), float(kernel.p))
        _core.fill_symmetric_tile(matrix, norms, *parameters, *rows, *columns)

    tasks = _tiles(matrix.shape, True)
    run_tasks(fill, tasks, [1.0] * len(tasks), n_jobs, "kernel values")


def _is_dense(vectors: Any) -> bool:
    return not issparse(vectors)


def _found_labels(vectors: Any, name: str) -> NDArray[np.int64]:
    """Label of every stored block; dense vectors are one block each."""
    if _is_dense(vectors):
        return np.zeros(vectors.shape[0], np.int64)
    if vectors.format != "bsr" or vectors.blocksize[0] != 1:
        raise InvalidInputError(
            f"{name} is sparse of format {vectors.format}; give a dense array, or what "
            "RetGKEmbedding(sparse_output=True) makes"
        )
    return np.asarray(vectors.indices, np.int64)


def _dtype_of(*vectors: Any) -> Any:
    return np.float32 if all(part.dtype == np.float32 for part in vectors) else np.float64


def _features(vectors: Any, dtype: Any) -> NDArray[Any]:
    """Stored blocks, one under the other."""
    features = np.asarray(vectors) if _is_dense(vectors) else vectors.data[:, 0]
    return np.ascontiguousarray(features, dtype)


def _graph_of_block(vectors: Any) -> NDArray[np.int64]:
    counts = 1 if _is_dense(vectors) else np.diff(vectors.indptr)
    return np.repeat(np.arange(vectors.shape[0]), counts)


def _labelled_rows(
    vectors: Any, dtype: Any, found: NDArray[np.int64], labels: NDArray[np.int64]
) -> _LabelledRows:
    """Sort the blocks of vectors by label, and by graph within a label."""
    rows = np.argsort(found, kind="stable")
    graphs, sorted_labels = _graph_of_block(vectors)[rows], found[rows]
    borders = np.append(np.arange(0, vectors.shape[0], TILE), vectors.shape[0])
    tile_ptr = np.empty((len(labels), len(borders)), np.int64)
    for own, label in zip(tile_ptr, labels, strict=True):
        begin, end = np.searchsorted(sorted_labels, [label, label + 1])
        own[:] = begin + np.searchsorted(graphs[begin:end], borders)
    return _LabelledRows(_features(vectors, dtype), rows, graphs, tile_ptr)


def squared_vector_norms(vectors: Any) -> Floats:
    """Squared norms of vectors of graphs, summed in float64."""
    squares = np.square(_features(vectors, _dtype_of(vectors)), dtype=np.float64).sum(axis=1)
    graphs = _graph_of_block(vectors)
    return np.bincount(graphs, squares, minlength=vectors.shape[0]).astype(np.float64)
