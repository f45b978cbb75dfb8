"""Compiled checks and sorting of edge lists; imported when a file is first read."""

from typing import Any

import numpy as np
from numba import njit

__all__ = ["first_misplaced_edge", "first_one_way_edge", "sorted_rows", "write_rows"]


@njit(cache=True, nogil=True)
def first_misplaced_edge(
    sources: Any, targets: Any, graph: int, node_ptr: Any
) -> tuple[int, int, int]:
    """
    Check that edges have both ends in one graph, and graphs rise from `graph` on.

    Nodes count from 1. Returns the first edge that breaks the rules or -1, the graph of the
    last edge, and where the edges of that graph begin, or -1 where that is not among these.
    """
    first, stop = node_ptr[graph] + 1, node_ptr[graph + 1] + 1
    n_nodes = node_ptr[-1]
    began = -1
    for edge in range(len(sources)):
        source, target = sources[edge], targets[edge]
        if not first <= source < stop:
            if not stop <= source <= n_nodes:
                return edge, graph, began
            graph = np.searchsorted(node_ptr, source - 1, side="right") - 1
            first, stop = node_ptr[graph] + 1, node_ptr[graph + 1] + 1
            began = edge
        if not first <= target < stop:
            return edge, graph, began
    return -1, graph, began


@njit(cache=True, nogil=True)
def sorted_rows(sources: Any, targets: Any, first_node: int, n_nodes: int) -> tuple[Any, Any, Any]:
    """
    Neighbours of the nodes from `first_node` on, sorted, each once.

    Ends count from 1 over the collection, what is returned from 0 within these nodes: first
    entry of every row, the one after its last, and the entries. Sorting by target, then by
    source, is linear and needs no comparisons.
    """
    shift = np.int32(first_node + 1)
    column_ptr = np.zeros(n_nodes + 1, np.int64)
    row_ptr = np.zeros(n_nodes + 1, np.int64)
    for edge in range(len(sources)):
        column_ptr[np.uint32(targets[edge] - shift) + 1] += 1
        row_ptr[np.uint32(sources[edge] - shift) + 1] += 1
    for node in range(n_nodes):
        column_ptr[node + 1] += column_ptr[node]
        row_ptr[node + 1] += row_ptr[node]

    by_column = np.empty(len(sources), np.uint32)
    end = column_ptr[:-1].copy()
    for edge in range(len(sources)):
        target = np.uint32(targets[edge] - shift)
        by_column[end[target]] = np.uint32(sources[edge] - shift)
        end[target] += 1

    rows = np.empty(len(sources), np.uint32)
    end = row_ptr[:-1].copy()
    for column in range(n_nodes):
        for position in range(column_ptr[column], column_ptr[column + 1]):
            row = by_column[position]
            if end[row] == row_ptr[row] or rows[end[row] - 1] != column:
                rows[end[row]] = column
                end[row] += 1
    return row_ptr[:-1], end, rows


@njit(cache=True, nogil=True)
def first_one_way_edge(start: Any, end: Any, rows: Any) -> tuple[Any, Any]:
    """
    Find an edge that lacks the one back, or return -1, -1.

    With rising rows, the next unmatched entry of a neighbour's row must be the way back.
    """
    cursor = start.copy()
    for row in range(len(start)):
        for position in range(start[row], end[row]):
            column = rows[position]
            at = cursor[column]
            if at == end[column] or rows[at] > row:
                return row, np.int64(column)
            if rows[at] < row:
                return np.int64(column), np.int64(rows[at])
            cursor[column] = at + 1
    return -1, -1


@njit(cache=True, nogil=True)
def write_rows(start: Any, end: Any, rows: Any, node_ptr: Any, out: Any) -> int:
    """Copy rows with columns numbered within the graph; returns the number of entries."""
    written = 0
    for graph in range(len(node_ptr) - 1):
        offset = node_ptr[graph] - node_ptr[0]
        for row in range(offset, node_ptr[graph + 1] - node_ptr[0]):
            for position in range(start[row], end[row]):
                out[written] = rows[position] - offset
                written += 1
    return written
