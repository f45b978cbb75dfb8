"""Flat CSR adjacency of many graphs: building, checking and cutting it.

Rows are numbered over the whole batch, columns within the graph of the row, so that any
run of graphs can be cut out or put together without touching a column. Everything here
works on blocks of graphs with about 260,000 entries: the time is linear in the entries,
there is no cost per graph, and what is held beside the result stays small.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from retgk.errors import InvalidInputError

__all__ = ["Adjacency", "adjacency_from_edges", "canonical_adjacency", "gather_runs", "graph_of"]

_BLOCK_ENTRIES = 1 << 18

Ints = NDArray[np.int64]


class Adjacency(NamedTuple):
    """CSR arrays of a batch; `weights` is None where every weight is one."""

    indptr: Ints
    indices: NDArray[np.int32]
    weights: NDArray[np.float64] | None


def adjacency_from_edges(
    node_ptr: Ints, edges: NDArray[Any], weights: NDArray[np.float64] | None, symmetrize: bool
) -> Adjacency:
    """
    Build the canonical adjacency of a batch from a list of edges.

    Parameters
    ----------
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph.
    edges : ndarray of int, shape (2, n_edges)
        Source and target of every edge, numbered over the batch.
    weights : ndarray of float64, shape (n_edges,), or None
        Edge weights, or None for ones.
    symmetrize : bool
        Whether an edge stands for both of its directions.

    Returns
    -------
    Adjacency
        Sorted rows without duplicates or zeros.
    """
    n_nodes = int(node_ptr[-1])
    _check_endpoints(node_ptr, edges)
    data = _check_weights(weights, edges.shape[1], lambda edge: edges[:, edge], node_ptr)
    matrix = coo_array((data, (edges[0], edges[1])), shape=(n_nodes, n_nodes))
    matrix.has_canonical_format = True  # no sorting here: the blocks are sorted below
    unsorted = matrix.tocsr()
    del matrix
    return _canonical(node_ptr, unsorted.indptr, unsorted.indices, unsorted.data, symmetrize)


def canonical_adjacency(
    node_ptr: Ints,
    indptr: Ints,
    indices: NDArray[Any],
    weights: NDArray[np.float64] | None,
    symmetrize: bool,
) -> Adjacency:
    """
    Check CSR arrays of a batch and bring them into canonical form.

    Parameters
    ----------
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph.
    indptr, indices, weights : ndarray
        CSR arrays; rows numbered over the batch, columns within the graph.
    symmetrize : bool
        Whether an edge stands for both of its directions.

    Returns
    -------
    Adjacency
        Sorted rows without duplicates or zeros.
    """
    n_nodes = int(node_ptr[-1])
    if len(indptr) != n_nodes + 1 or indptr[0] != 0 or indptr[-1] != len(indices):
        raise InvalidInputError(
            f"indptr must have {n_nodes + 1} entries from 0 to {len(indices)}, one more than "
            f"there are nodes; got {len(indptr)} entries from {indptr[0]} to {indptr[-1]}"
        )
    if (np.diff(indptr) < 0).any():
        raise InvalidInputError(f"indptr falls after entry {int(np.argmin(np.diff(indptr)))}")
    _check_columns(node_ptr, indptr, indices)
    columns: NDArray[Any] = np.array(indices, dtype=np.int32 if n_nodes < 2**31 else np.int64)
    np.add(
        columns, np.repeat(_first_nodes(node_ptr).astype(columns.dtype), np.diff(indptr)), columns
    )

    def locate(entry: int) -> tuple[int, int]:
        return int(np.searchsorted(indptr, entry, side="right")) - 1, int(columns[entry])

    data = _check_weights(weights, len(columns), locate, node_ptr).copy()
    return _canonical(node_ptr, indptr, columns, data, symmetrize)


def graph_of(node_ptr: Ints, node: int) -> int:
    """
    Graph that a node of the batch belongs to.

    Parameters
    ----------
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph.
    node : int
        Node, numbered over the batch.

    Returns
    -------
    int
        Position of the graph.
    """
    return int(np.searchsorted(node_ptr, node, side="right")) - 1


def gather_runs(values: NDArray[Any], starts: Ints, counts: Ints) -> NDArray[Any]:
    """
    Concatenate runs of an array: ``values[start:start + count]`` for every run.

    Parameters
    ----------
    values : ndarray, shape (n, ...)
        What to cut.
    starts, counts : ndarray of int64, shape (n_runs,)
        First position and length of every run.

    Returns
    -------
    ndarray, shape (sum of counts, ...)
        The runs, one after the other.
    """
    ends = np.cumsum(counts)
    gathered = np.empty((int(ends[-1]) if len(ends) else 0, *values.shape[1:]), values.dtype)
    for first, last in _blocks(np.concatenate([[0], ends])):
        offset = ends[first] - counts[first]
        shift = starts[first:last] - (ends[first:last] - counts[first:last])
        positions = np.repeat(shift, counts[first:last])
        positions += np.arange(offset, ends[last - 1])
        np.take(values, positions, axis=0, out=gathered[offset : ends[last - 1]])
    return gathered


def _blocks(ptr: Ints) -> Iterator[tuple[int, int]]:
    """Cut runs given by their offsets into blocks of about `_BLOCK_ENTRIES` entries."""
    first, n_runs = 0, len(ptr) - 1
    while first < n_runs:
        limit = ptr[first] + _BLOCK_ENTRIES
        last = max(first + 1, int(np.searchsorted(ptr, limit, side="right")) - 1)
        yield first, last
        first = last


def _first_nodes(node_ptr: Ints) -> Ints:
    """First node of the graph of every node."""
    return np.repeat(node_ptr[:-1], np.diff(node_ptr))


def _canonical(
    node_ptr: Ints,
    indptr: NDArray[Any],
    columns: NDArray[Any],
    data: NDArray[Any],
    symmetrize: bool,
) -> Adjacency:
    """Sort rows, add up duplicates, drop zeros, check symmetry; overwrites its input."""
    if symmetrize:  # a block may grow, so it cannot be written where it was read
        out_columns = np.empty(2 * len(columns), np.int32)
        out_data = np.empty(2 * len(data), data.dtype)
    else:
        out_columns, out_data = columns, data
    row_lengths = np.empty(int(node_ptr[-1]), np.int64)
    entry_ptr, n_written, parallel = indptr[node_ptr], 0, False
    for first, last in _blocks(entry_ptr):
        rows = slice(node_ptr[first], node_ptr[last])
        entries = slice(entry_ptr[first], entry_ptr[last])
        raw = (
            data[entries],
            columns[entries] - rows.start,
            indptr[rows.start : rows.stop + 1] - entries.start,
        )
        block = _canonical_block(node_ptr[first : last + 1], raw, symmetrize, first)
        row_lengths[rows] = np.diff(block.indptr)
        written = slice(n_written, n_written + block.nnz)
        local = block.indices - np.repeat(
            _first_nodes(node_ptr[first : last + 1]) - rows.start, row_lengths[rows]
        )
        if data.dtype == np.int8 and not parallel and block.nnz and block.data.max() > 1:
            parallel, out_data = True, out_data.astype(np.float64)
        out_columns[written] = local
        out_data[written] = block.data
        n_written += block.nnz
    kept_data = out_data[:n_written]
    unweighted = kept_data.dtype == np.int8 or bool((kept_data == 1).all())
    return Adjacency(
        np.concatenate([[0], np.cumsum(row_lengths)]),
        out_columns[:n_written].astype(np.int32, copy=False),
        None if unweighted else kept_data.astype(np.float64, copy=False),
    )


def _canonical_block(
    node_ptr: Ints,
    raw: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    symmetrize: bool,
    first_graph: int,
) -> Any:
    """Canonical CSR matrix of some whole graphs; transposing twice sorts in linear time."""
    data, columns, indptr = raw
    n_nodes = len(indptr) - 1
    wide = data.astype(np.int32) if data.dtype == np.int8 else data  # room for parallel edges
    transposed = csr_array((wide, columns, indptr), shape=(n_nodes, n_nodes)).T.tocsr()
    transposed.has_sorted_indices = True
    transposed.sum_duplicates()
    transposed.eliminate_zeros()
    block = transposed.T.tocsr()
    if symmetrize:
        return block.maximum(transposed)
    _check_symmetric(block, transposed, node_ptr, first_graph)
    return block


def _check_symmetric(block: Any, transposed: Any, node_ptr: Ints, first_graph: int) -> None:
    if (
        np.array_equal(block.indptr, transposed.indptr)
        and np.array_equal(block.indices, transposed.indices)
        and np.array_equal(block.data, transposed.data)
    ):
        return
    difference = (block - transposed).tocoo()
    entry = int(np.flatnonzero(difference.data)[0])
    source, target = int(difference.coords[0][entry]), int(difference.coords[1][entry])
    first_node = node_ptr[0]
    graph = graph_of(node_ptr - first_node, source)
    start = int(node_ptr[graph] - first_node)
    raise InvalidInputError(
        f"graph {first_graph + graph} is not symmetric: the edge from node {source - start} to "
        f"node {target - start} has weight {block[source, target]:g}, the one back has weight "
        f"{block[target, source]:g}; pass symmetrize=True if each edge is listed once, or if "
        "directions are to be dropped"
    )


def _check_endpoints(node_ptr: Ints, edges: NDArray[Any]) -> None:
    n_nodes = int(node_ptr[-1])
    if edges.size == 0:
        return
    for end, name in zip(edges, ("source", "target"), strict=True):
        if end.min() < 0 or end.max() >= n_nodes:
            edge = int(np.flatnonzero((end < 0) | (end >= n_nodes))[0])
            raise InvalidInputError(
                f"edge {edge} has the {name} node {end[edge]}, which is out of range for "
                f"{n_nodes} nodes; nodes are numbered over the whole batch from 0"
            )
    graph = np.repeat(np.arange(len(node_ptr) - 1, dtype=np.int32), np.diff(node_ptr))
    for start in range(0, edges.shape[1], _BLOCK_ENTRIES):
        sources, targets = edges[:, start : start + _BLOCK_ENTRIES]
        crossing = graph[sources] != graph[targets]
        if crossing.any():
            edge = int(np.flatnonzero(crossing)[0])
            source, target = sources[edge], targets[edge]
            raise InvalidInputError(
                f"edge {start + edge} joins node {source} of graph {graph[source]} with node "
                f"{target} of graph {graph[target]}; an edge stays within one graph"
            )


def _check_columns(node_ptr: Ints, indptr: Ints, columns: NDArray[Any]) -> None:
    sizes = np.diff(node_ptr)
    outside = (columns < 0) | (columns >= np.repeat(np.repeat(sizes, sizes), np.diff(indptr)))
    if not outside.any():
        return
    entry = int(np.flatnonzero(outside)[0])
    row = int(np.searchsorted(indptr, entry, side="right")) - 1
    graph = graph_of(node_ptr, row)
    raise InvalidInputError(
        f"graph {graph}: node {row - node_ptr[graph]} has the neighbour {columns[entry]}, which "
        f"is out of range for {sizes[graph]} nodes; columns are numbered within a graph from 0"
    )


def _check_weights(
    weights: NDArray[np.float64] | None,
    n_entries: int,
    locate: Callable[[int], Any],
    node_ptr: Ints,
) -> NDArray[Any]:
    """Entries of the sparse matrix: the weights, or bytes of one where there are none."""
    if weights is None:
        return np.ones(n_entries, dtype=np.int8)
    if weights.shape != (n_entries,):
        raise InvalidInputError(f"got {len(weights)} weights for {n_entries} edges")
    bad = ~((weights >= 0) & (weights < np.inf))
    if bad.any():
        entry = int(np.flatnonzero(bad)[0])
        source, target = locate(entry)
        graph = graph_of(node_ptr, source)
        start = node_ptr[graph]
        raise InvalidInputError(
            f"graph {graph}: the edge from node {source - start} to node {target - start} has "
            f"weight {weights[entry]}; weights must be finite and not negative"
        )
    return weights
