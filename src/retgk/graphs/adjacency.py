"""Flat CSR adjacency of many graphs, from edges or from CSR arrays.

Rows are numbered over the whole batch, columns within the graph of the row, so that any
run of graphs can be cut out or put together without touching a column. Everything here
works on blocks of whole graphs with about 260,000 entries: the time is linear in the
entries, there is no cost per graph, and what is held beside the result stays small.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from retgk.array_types import Codes, Floats, Ints
from retgk.graphs.edge_checks import (
    Symmetrize,
    check_columns,
    check_indptr,
    check_sums,
    check_symmetric,
    check_symmetrize,
    check_weights,
    edges_per_graph,
)
from retgk.graphs.ragged import BLOCK_ENTRIES, chunks, first_of_run, graph_of, offsets

__all__ = ["Adjacency", "adjacency_from_edges", "adjacency_from_rows"]

_GROWTH = 1.25
_INT32_MAX = 2**31 - 1


class Adjacency(NamedTuple):
    """CSR arrays of a batch; `weights` is None where every weight is one."""

    indptr: Ints
    indices: Codes
    weights: Floats | None


def adjacency_from_edges(
    node_ptr: Ints, edges: NDArray[Any], weights: Floats | None, symmetrize: Symmetrize
) -> Adjacency:
    """
    Build the canonical adjacency of a batch: sorted rows without duplicates or zeros.

    `edges` has shape (2, n_edges); nodes are numbered over the batch. It is quickest when the
    edges come graph after graph. With `symmetrize`, an edge stands for both of its directions.
    """
    check_symmetrize(symmetrize)
    edge_counts, grouped = edges_per_graph(node_ptr, edges)
    check_weights(weights, edges.shape[1], lambda edge: edges[:, edge], node_ptr)
    if not grouped:
        rows = _unsorted_rows(node_ptr, edges, weights)
        return _join_blocks(
            node_ptr,
            rows.indptr[node_ptr],
            _csr_blocks(node_ptr, rows),
            symmetrize,
            None if symmetrize else rows,
        )
    entry_ptr = offsets(edge_counts)

    def block_of(first: int, last: int) -> Any:
        entries = slice(entry_ptr[first], entry_ptr[last])
        start, n_nodes = node_ptr[first], int(node_ptr[last] - node_ptr[first])
        ends = (edges[0, entries] - start, edges[1, entries] - start)
        matrix = coo_array((_entry_values(weights, entries), ends), shape=(n_nodes, n_nodes))
        matrix.has_canonical_format = True  # duplicates are added up later, for all inputs alike
        return matrix.tocsr()

    return _join_blocks(node_ptr, entry_ptr, block_of, symmetrize)


def adjacency_from_rows(
    node_ptr: Ints,
    indptr: Ints,
    indices: NDArray[Any],
    weights: Floats | None,
    symmetrize: Symmetrize,
) -> Adjacency:
    """Check CSR arrays of a batch and bring them into the form of `adjacency_from_edges`."""
    check_symmetrize(symmetrize)
    check_indptr(int(node_ptr[-1]), indptr, indices)
    check_columns(node_ptr, indptr, indices)

    def ends_of(entry: int) -> tuple[int, int]:
        row = graph_of(indptr, entry)
        return row, int(indices[entry] + node_ptr[graph_of(node_ptr, row)])

    check_weights(weights, len(indices), ends_of, node_ptr)
    block_of = _csr_blocks(node_ptr, Adjacency(indptr, indices, weights))
    return _join_blocks(node_ptr, indptr[node_ptr], block_of, symmetrize)


def _entry_values(weights: Floats | None, entries: slice) -> NDArray[Any]:
    """Values of a sparse matrix: weights, or ones as small integers, which are quicker."""
    if weights is None:
        return np.ones(entries.stop - entries.start, np.int32)
    return weights[entries]


def _csr_blocks(node_ptr: Ints, rows: Adjacency) -> Callable[[int, int], Any]:
    """Make the function that gives some graphs of CSR arrays as one sparse matrix."""

    def block_of(first: int, last: int) -> Any:
        nodes = slice(node_ptr[first], node_ptr[last])
        row_ptr = rows.indptr[nodes.start : nodes.stop + 1]
        entries = slice(row_ptr[0], row_ptr[-1])
        shift = _column_shift(node_ptr[first : last + 1], row_ptr)
        n_nodes = int(nodes.stop - nodes.start)
        return csr_array(
            (
                _entry_values(rows.weights, entries),
                rows.indices[entries] + shift,
                row_ptr - row_ptr[0],
            ),
            shape=(n_nodes, n_nodes),
        )

    return block_of


def _column_shift(node_ptr: Ints, indptr: NDArray[Any]) -> NDArray[Any]:
    """What to add to columns within a graph to make them columns within a block."""
    first_nodes = node_ptr[:-1] - node_ptr[0]
    narrow = np.int32 if node_ptr[-1] - node_ptr[0] <= _INT32_MAX else np.int64
    return np.repeat(first_nodes.astype(narrow), np.diff(indptr[node_ptr - node_ptr[0]]))


def _unsorted_rows(node_ptr: Ints, edges: NDArray[Any], weights: Floats | None) -> Adjacency:
    """Sort edges into CSR rows by counting, which needs little memory beside the result."""
    pieces = [slice(at, at + BLOCK_ENTRIES) for at in range(0, edges.shape[1], BLOCK_ENTRIES)]
    next_entry = np.zeros(int(node_ptr[-1]), np.int64)
    for piece in pieces:
        np.add.at(next_entry, edges[0, piece], 1)
    indptr, first_nodes = offsets(next_entry), first_of_run(node_ptr)
    next_entry[:] = indptr[:-1]
    indices = np.empty(edges.shape[1], np.int32)
    data = None if weights is None else np.empty(edges.shape[1])
    for piece in pieces:
        order, positions = _csr_positions(edges[0, piece], next_entry)
        sources, targets = edges[:, piece][:, order]
        indices[positions] = targets - first_nodes[sources]
        if data is not None and weights is not None:
            data[positions] = weights[piece][order]
    return Adjacency(indptr, indices, data)


def _csr_positions(rows: NDArray[Any], next_entry: Ints) -> tuple[Ints, Ints]:
    """Order that sorts edges by row, and their CSR positions; `next_entry` is moved on."""
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    rank = np.arange(len(rows)) - np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    positions = next_entry[ordered] + rank
    np.add.at(next_entry, rows, 1)
    return order, positions


def _join_blocks(
    node_ptr: Ints,
    entry_ptr: Ints,
    block_of: Callable[[int, int], Any],
    symmetrize: Symmetrize,
    reuse: Adjacency | None = None,
) -> Adjacency:
    """Sort rows, add up duplicates, drop zeros, check symmetry; block by block, into `reuse`."""
    n_nodes, n_entries, end = int(node_ptr[-1]), int(entry_ptr[-1]), 0
    indptr = np.zeros(n_nodes + 1, np.int64)
    indices = np.empty(n_entries, np.int32) if reuse is None else reuse.indices
    weights = None if reuse is None else reuse.weights
    for first, last in chunks(entry_ptr, BLOCK_ENTRIES):
        nodes = node_ptr[first : last + 1]
        block = _canonical_block(block_of(first, last), nodes, symmetrize, first)
        start, end = end, end + block.nnz
        _make_room(indices, end)
        indptr[nodes[0] + 1 : nodes[-1] + 1] = block.indptr[1:] + start
        indices[start:end] = block.indices - _column_shift(nodes, block.indptr)
        if weights is None and bool((block.data != 1).any()):
            weights = np.ones(len(indices))
        if weights is not None:
            _make_room(weights, end)
            weights[start:end] = block.data
    indices.resize(end, refcheck=False)
    if weights is not None:
        weights.resize(end, refcheck=False)
    unweighted = weights is None or bool((weights == 1).all())
    return Adjacency(indptr, indices, None if unweighted else weights)


def _make_room(array: NDArray[Any], end: int) -> None:
    """Lengthen an array in its place, as symmetrising adds entries; nothing else refers to it."""
    if end > len(array):
        array.resize(max(end, int(_GROWTH * len(array))), refcheck=False)


def _canonical_block(matrix: Any, node_ptr: Ints, symmetrize: Symmetrize, first_graph: int) -> Any:
    """Sort, merge and check some whole graphs; transposing twice sorts in linear time."""
    transposed = matrix.T.tocsr()
    transposed.has_sorted_indices = True
    transposed.sum_duplicates()
    transposed.eliminate_zeros()
    block = transposed.T.tocsr()
    if symmetrize:
        block = _both_directions(block, transposed, symmetrize)
    else:
        block = check_symmetric(block, transposed, node_ptr, first_graph)
    check_sums(block, node_ptr, first_graph)
    return block


def _both_directions(block: Any, transposed: Any, symmetrize: Symmetrize) -> Any:
    """Weights of undirected edges; a self-loop has one direction, and keeps its weight."""
    if symmetrize not in ("mean", "sum"):
        return block.maximum(transposed)
    both = block + transposed
    if symmetrize == "mean":
        return both * 0.5
    loops = block.diagonal()
    if loops.any():
        nodes = np.arange(len(loops))
        both = (both - csr_array((loops, (nodes, nodes)), shape=both.shape)).tocsr()
        both.eliminate_zeros()
    return both
