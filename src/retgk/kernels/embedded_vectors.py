"""Vectors of graphs: means of Fourier features over nodes, one block for each label."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bsr_array, issparse

from retgk import _core
from retgk._runtime.parallel import n_threads, run_tasks
from retgk._runtime.processes import check_room
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.flat import gather_runs, offsets
from retgk.kernels.embedded_fourier import FourierMap
from retgk.kernels.graph import (
    ExponentialGraphKernel,
    KernelOfMeans,
    typical_squared_mmd,
)

CompiledMaps = tuple[NDArray[Any], ...]

_TASKS_PER_THREAD = 8
_NANOSECONDS_PER_TASK = 5e5
_PRODUCTS_PER_NANOSECOND = 15.0
_TURN = 2 * np.pi


def compiled_maps(maps: Sequence[FourierMap], dtype: Any) -> CompiledMaps:
    """Feature maps as the compiled code takes them: panels of phases and frequencies, in turns."""
    return tuple(
        _frequency_panels(np.vstack([fourier.phases, fourier.frequencies]) / _TURN, dtype)
        for fourier in maps
    )


def _frequency_panels(matrix: Floats, dtype: Any) -> NDArray[Any]:
    """Cut the columns of a matrix into panels, padded by zeros: (n_panels, n_rows, width)."""
    n_rows, n_columns = matrix.shape
    width = _core.PANEL_BYTES // np.dtype(dtype).itemsize
    padded = np.zeros((n_rows, -(-n_columns // width) * width), dtype)
    padded[:, :n_columns] = matrix
    return np.ascontiguousarray(padded.reshape(n_rows, -1, width).transpose(1, 0, 2))


class _LabelGroups(NamedTuple):
    """The pairs of a graph and a label that occur, sorted by both."""

    ptr: Ints  # first group of every graph, shape (n_graphs + 1,)
    labels: NDArray[np.int32]  # label of every group
    of_node: Ints  # group of every node; -1 for nodes whose label is -1


def _label_groups(
    node_ptr: Ints, labels: NDArray[np.int32] | None, n_labels: int = 1
) -> _LabelGroups:
    """Groups of nodes of one graph and one label; without labels, all nodes of a graph are one."""
    if labels is not None:
        return _LabelGroups(*_core.label_groups(node_ptr, labels, n_labels))
    n_graphs = len(node_ptr) - 1
    of_node = np.repeat(np.arange(n_graphs), np.diff(node_ptr))
    return _LabelGroups(np.arange(n_graphs + 1), np.zeros(n_graphs, np.int32), of_node)


def graph_vectors(
    node_ptr: Ints,
    blocks: tuple[NDArray[np.float64], NDArray[np.float64]],
    labels: NDArray[np.int32] | None,
    n_labels: int,
    maps: Sequence[FourierMap],
    *,
    compiled: CompiledMaps,
    n_jobs: int | None = None,
) -> bsr_array:
    """``m_G = 1/n sum_i e(label_i) o phi(x_i)``: a block of features for each label of a graph."""
    _check_range(blocks, maps, compiled[0].dtype)
    probabilities, attributes = (np.ascontiguousarray(block) for block in blocks)
    shape = tuple(len(fourier.phases) for fourier in maps)
    groups = _label_groups(node_ptr, labels, n_labels)
    values = np.empty((len(groups.labels), *shape), compiled[0].dtype)
    no_keys = np.empty((int(node_ptr[-1]), 0), np.uint64)

    def fill(first: int, last: int) -> None:
        rows = (node_ptr, groups.ptr, groups.of_node, probabilities, attributes, no_keys)
        distinct = _core.distinct_nodes(*rows, first, last)
        points = (probabilities, attributes, compiled[0])
        if len(maps) == 1:
            _core.fill_joint_means(*distinct, *points, values)
        else:
            _core.fill_tensor_means(*distinct, *points, compiled[1], values)

    n_products = sum(fourier.size for fourier in compiled) + values[:1].size
    _run(fill, node_ptr, n_products / _PRODUCTS_PER_NANOSECOND, n_jobs, "embedding graphs")
    width = int(np.prod(shape))
    return bsr_array(
        (values.reshape(-1, 1, width), groups.labels, groups.ptr.astype(np.int32)),
        shape=(len(node_ptr) - 1, n_labels * width),
    )


def phase_vectors(
    node_ptr: Ints,
    blocks: tuple[NDArray[np.float64], NDArray[np.float64]],
    keys: NDArray[np.uint64],
    shares: NDArray[np.float64],
    fourier: FourierMap,
    *,
    width: int,
    compiled: CompiledMaps,
    n_jobs: int | None = None,
) -> bsr_array:
    """``sqrt(2 / D) sum_i w_i sum_h s_h cos(2 pi (t_i + q_h(i) / 4))``, then sines."""
    _check_range(blocks, [fourier], compiled[0].dtype)
    probabilities, attributes = (np.ascontiguousarray(block) for block in blocks)
    keys, n_graphs = np.ascontiguousarray(keys), len(node_ptr) - 1
    values = np.empty((n_graphs, width), compiled[0].dtype)
    groups = _label_groups(node_ptr, None)

    def fill(first: int, last: int) -> None:
        rows = (node_ptr, groups.ptr, groups.of_node, probabilities, attributes, keys)
        distinct = _core.distinct_nodes(*rows, first, last)
        points = (probabilities, attributes, compiled[0])
        _core.fill_phase_means(*distinct, keys, shares, *points, values)

    _run(fill, node_ptr, _phase_cost(compiled[0], width), n_jobs, "embedding graphs")
    ptr = np.arange(n_graphs + 1, dtype=np.int32)
    blocks_of = (values.reshape(-1, 1, width), np.zeros(n_graphs, np.int32), ptr)
    return bsr_array(blocks_of, shape=(n_graphs, width))


def phase_values(
    node_ptr: Ints,
    blocks: tuple[NDArray[np.float64], NDArray[np.float64]],
    keys: NDArray[np.uint64],
    shares: NDArray[np.float64],
    fourier: FourierMap,
    *,
    directions: NDArray[Any],
    n_jobs: int | None = None,
) -> Floats:
    """Inner products of single nodes, as `phase_vectors` embeds them, with a vector a graph."""
    graphs = np.repeat(np.arange(len(node_ptr) - 1), np.diff(node_ptr))
    _check_range(blocks, [fourier], directions.dtype)
    probabilities, attributes = (np.ascontiguousarray(block) for block in blocks)
    keys, values = np.ascontiguousarray(keys), np.empty(len(graphs))
    directions = np.ascontiguousarray(directions)
    compiled = compiled_maps([fourier], directions.dtype)[0]

    def fill(first: int, last: int) -> None:
        points = (probabilities, attributes, compiled, directions)
        _core.fill_phase_values(first, last, keys, shares, *points, graphs, values)

    node_cost = _phase_cost(compiled, directions.shape[1])
    _run(fill, np.arange(len(graphs) + 1), node_cost, n_jobs, "values of nodes")
    return values


def _phase_cost(compiled: NDArray[Any], width: int) -> float:
    """Nanoseconds for a node: the product, cosines and sines, turns."""
    return (compiled.size + 12 * width) / _PRODUCTS_PER_NANOSECOND


def _run(
    fill: Callable[[int, int], None],
    node_ptr: Ints,
    node_cost: float,
    n_jobs: int | None,
    text: str,
) -> None:
    """Call ``fill(first, last)`` for graphs of about as many nodes, worth a task each."""
    n_nodes, n_workers = int(node_ptr[-1]), n_threads(n_jobs)
    worth = 1 + int(n_nodes * node_cost / _NANOSECONDS_PER_TASK)
    n_pieces = 1 if n_workers == 1 else min(n_workers * _TASKS_PER_THREAD, worth)
    targets = np.linspace(0, n_nodes, n_pieces + 1)[1:-1]
    cuts = np.unique([0, *np.searchsorted(node_ptr, targets), len(node_ptr) - 1])
    run_tasks(fill, list(pairwise(cuts.tolist())), np.diff(node_ptr[cuts]).tolist(), n_jobs, text)


def _check_range(blocks: tuple[Any, Any], maps: Sequence[FourierMap], dtype: Any) -> None:
    """Raise where an angle would be too large to be a number."""
    attributes = blocks[1]
    if not attributes.size:
        return
    largest = max(abs(float(attributes.min())), abs(float(attributes.max())))
    steepest = float(np.abs(maps[-1].frequencies).max()) + 1.0
    if largest > float(np.finfo(dtype).max) / steepest / attributes.shape[1] / 2:
        raise InvalidInputError(
            f"attributes of up to {largest:.3g} are out of the range of {np.dtype(dtype)} at these "
            "frequencies; scale the attributes down, or the gamma of attributes"
        )


def dense_vectors(
    pieces: Iterable[bsr_array], shape: tuple[int, int], width: int, dtype: Any
) -> NDArray[Any]:
    """Write vectors of graphs, whose blocks have this width, out into one dense array."""
    n_graphs, n_columns = shape
    n_bytes = n_graphs * n_columns * np.dtype(dtype).itemsize
    remedy = "use a smaller n_components, set sparse_output, or pass an iterator of batches"
    check_room(n_bytes, "the array of vectors", remedy)
    dense = np.zeros((n_graphs, n_columns // width, width), dtype)
    first = 0
    for piece in pieces:
        own = dense[first : first + piece.shape[0]]
        graphs = np.repeat(np.arange(piece.shape[0]), np.diff(piece.indptr))
        own[graphs, piece.indices] = piece.data[:, 0]
        first += piece.shape[0]
    return dense.reshape(shape)


def joined_vectors(
    pieces: Iterable[bsr_array], shape: tuple[int, int], width: int, dtype: Any
) -> bsr_array:
    """Put vectors of graphs one under the other, as they are stored."""
    parts = list(pieces)
    if len(parts) == 1:
        return parts[0]
    counts = [np.zeros(1, np.int64), *(np.diff(part.indptr) for part in parts)]
    data = [np.empty((0, 1, width), dtype), *(part.data for part in parts)]
    indices = [np.empty(0, np.int32), *(part.indices for part in parts)]
    indptr = np.cumsum(np.concatenate(counts))
    return bsr_array((np.concatenate(data), np.concatenate(indices), indptr), shape=shape)


def vectors_of(vectors: bsr_array, graphs: Ints) -> bsr_array:
    """Rows of block-sparse vectors; SciPy's own selection would give up the blocks."""
    ptr = vectors.indptr.astype(np.int64)
    starts, counts = ptr[graphs], np.diff(ptr)[graphs]
    data = gather_runs(vectors.data, starts, counts)
    indices = gather_runs(vectors.indices, starts, counts)
    shape = (len(graphs), vectors.shape[1])
    return bsr_array((data, indices, offsets(counts)), shape=shape, blocksize=vectors.blocksize)


# Kernel matrices from vectors of graphs, without multiplying the zeros of absent labels.

TILE = 256


def embedding_gram(
    x: Any, y: Any = None, *, kernel: KernelOfMeans | None = None, n_jobs: int | None = None
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
    >>> from retgk.kernels import PolynomialGraphKernel
    >>> embedding_gram(np.array([[1.0, 2.0]]), kernel=PolynomialGraphKernel(c=1, d=2))
    array([[36.]])
    """
    products = _lower_products(x, y, n_jobs)
    if y is not None:
        if kernel is not None:
            norms_x, norms_y = squared_vector_norms(x), squared_vector_norms(y)
            _replace_rows(products, kernel, norms_x, norms_y, n_jobs)
        return products
    norms = products.diagonal().copy()
    if not isinstance(kernel, ExponentialGraphKernel):
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
    remedy = "give fewer graphs at a time"
    check_room(8 * shape[0] * shape[1], "the kernel matrix", remedy)
    dtype = _dtype_of(x if y is None else y, x)
    labels = np.unique(found_x) if y is None else np.intersect1d(found_x, found_y)
    rows_x = _labelled_rows(x, dtype, found_x, labels)
    rows_y = rows_x if y is None else _labelled_rows(y, dtype, found_y, labels)
    panels = _label_panels(rows_y, n_jobs)
    products = np.zeros(shape)

    def add(i: int, j: int) -> None:
        _core.add_label_products(*rows_x, *rows_y, *panels, i, j, y is None, products)

    tiles = _tiles(shape, y is None)
    costs = [0.5 if y is None and i == j else 1.0 for i, j in tiles]
    run_tasks(add, tiles, costs, n_jobs, "inner products")
    return products


class _LabelledRows(NamedTuple):
    """Features of graphs, a row for each label that a graph has, and where to find them."""

    features: NDArray[Any]  # shape (n_rows, width)
    rows: NDArray[np.int64]  # rows sorted by label, and by graph within a label
    graphs: NDArray[np.int64]  # graph of each of these
    tile_ptr: NDArray[np.int64]
    """Where the rows of a label and a tile of graphs begin, shape (n_labels, n_tiles + 1)."""


class _Panels(NamedTuple):
    """The same rows as columns, in panels of as many as fill `_core.PANEL_BYTES`."""

    values: NDArray[Any]  # shape (n_panels, width, panel width)
    ptr: NDArray[np.int64]  # first panel of a label and a tile, shape (n_labels, n_tiles)


def _label_panels(x: _LabelledRows, n_jobs: int | None) -> _Panels:
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


def _replace(
    matrix: Floats, kernel: KernelOfMeans | None, norms: Floats, n_jobs: int | None
) -> None:
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
    matrix: Floats, kernel: KernelOfMeans, norms_x: Floats, norms_y: Floats, n_jobs: int | None
) -> None:
    def fill(i: int) -> None:
        matrix[_tile(i)] = kernel(matrix[_tile(i)], norms_x[_tile(i)], norms_y)

    tasks = [(i,) for i in range(-(-len(matrix) // TILE))]
    run_tasks(fill, tasks, [1.0] * len(tasks), n_jobs, "kernel values")


def _replace_by_exponentials(
    matrix: Floats, kernel: ExponentialGraphKernel, norms: Floats, n_jobs: int | None
) -> None:

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
    squares = np.square(_features(vectors, _dtype_of(vectors)), dtype=np.float64).sum(axis=1)
    graphs = _graph_of_block(vectors)
    return np.bincount(graphs, squares, minlength=vectors.shape[0]).astype(np.float64)
