"""Adjacency from the edge file of a TU collection, built while the file is being read."""

from collections.abc import Generator, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from retgk.array_types import Codes, Ints
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.adjacency import Adjacency
from retgk.graphs.ragged import first_of_run, graph_of, offsets
from retgk.io.formats.archive import Member
from retgk.io.formats.text_columns import integer_blocks
from retgk.runtime.compiling import njit

__all__ = ["EdgeFile", "EdgesOutOfOrderError", "adjacency_of_blocks", "entries_of_edges"]


BLOCK_EDGES = 1 << 17

# Bytes of memory: two entries in the result, and what sorting needs.
PER_EDGE = 8
_PER_HELD_EDGE = 40


class EdgesOutOfOrderError(Exception):
    """The edges of a file are not grouped by graph; they must be held and sorted first."""


class EdgeFile(NamedTuple):
    """A file of edges; `order` sorts its lines by graph where they are not."""

    member: Member
    order: Ints | None = None

    def blocks(self) -> Generator[Codes, None, None]:
        """Read source and target of every line, from 1 on, in pieces of shape (2, n_lines)."""
        return integer_blocks(self.member, 2, np.int32)

    def charge(self, n_edges: int, n_held: int) -> None:
        """Pay for edges of the result, and for those that are held to be sorted."""
        if self.order is None:  # else they were paid for when they were read
            self.member.budget.charge(PER_EDGE * n_edges, f"{self.member.name}, its edges")
        what = f"{self.member.name}, {n_held} edges that must be held together,"
        self.member.budget.check(_PER_HELD_EDGE * n_held, what)

    def place(self, edge: int) -> str:
        """Name the line of an edge, for messages."""
        return f"{self.member.name}, line {1 + (edge if self.order is None else self.order[edge])}"


def adjacency_of_blocks(
    blocks: Iterable[Codes], node_ptr: Ints, file: EdgeFile, symmetrize: bool
) -> Adjacency:
    """
    Build the adjacency of a collection from its edges, in order of the graphs.

    Blocks have shape (2, n); nodes count from 1 over the collection. An edge that is listed more
    than once counts once. Only the edges of incomplete graphs are held beside the result; `file` is
    for messages and for the number of lines to expect at most.
    """
    # Memory that is never written costs nothing; the shortest line has four bytes.
    most_lines = (file.member.size + 1) // 4
    most_entries = min(most_lines * (1 + symmetrize), 2 * file.member.budget.left // PER_EDGE)
    columns = np.empty(most_entries, np.int32)
    lengths = np.zeros(int(node_ptr[-1]), np.int64)
    n_written = 0
    n_edges = 0
    for edges, first, last in _graph_blocks(blocks, node_ptr, file):
        listed = np.concatenate([edges, edges[::-1]], axis=1) if symmetrize else edges
        nodes = node_ptr[first : last + 1]
        rows = _sorted_rows(listed[0], listed[1], nodes[0], nodes[-1] - nodes[0])
        source, target = _first_one_way_edge(*rows)
        if source >= 0:
            lonely = np.array([[source], [target]]) + nodes[0] + 1
            edge = int(np.flatnonzero((edges == lonely).all(axis=0))[0])
            raise _one_way_error(edges[:, edge], file.place(n_edges + edge))
        starts, ends, _ = rows
        lengths[nodes[0] : nodes[-1]] = ends - starts
        n_written += _write_rows(*rows, nodes, columns[n_written:])
        n_edges += edges.shape[1]
    indptr = offsets(lengths)
    return Adjacency(indptr, columns[:n_written], None)


def entries_of_edges(edges: Codes, node_ptr: Ints, adjacency: Adjacency) -> Ints:
    """Find the position of every edge, counted from 1, in ``adjacency.indices``."""
    entries: Ints = _entries_of_edges(
        edges[0], edges[1], first_of_run(node_ptr), adjacency.indptr, adjacency.indices
    )
    return entries


def _graph_blocks(
    blocks: Iterable[Codes], node_ptr: Ints, file: EdgeFile
) -> Iterator[tuple[Codes, int, int]]:
    """Group edges into runs of complete graphs, with the first graph and the one after the last."""
    held = [np.empty((2, 0), np.int32)]
    n_edges = n_held = began = first = graph = 0
    for block in blocks:
        bad, graph, start = _first_misplaced_edge(block[0], block[1], graph, node_ptr)
        if bad >= 0:
            raise _misplaced_error(block[:, bad], node_ptr, file.place(n_edges + bad))
        began = n_held + start if start >= 0 else began
        held.append(block)
        n_held += block.shape[1]
        n_edges += block.shape[1]
        file.charge(block.shape[1], n_held)
        if n_held >= BLOCK_EDGES and began > 0:
            edges = np.concatenate(held, axis=1)
            yield edges[:, :began], first, graph
            held, n_held, first, began = [edges[:, began:]], n_held - began, graph, 0
    yield np.concatenate(held, axis=1), first, len(node_ptr) - 1


def _one_way_error(edge: Codes, place: str) -> InvalidInputError:
    return InvalidInputError(
        f"{place}: the edge from node {edge[0]} to node {edge[1]} has none back",
        Remedy(
            "symmetrize",
            "pass symmetrize=True if each edge is listed once, or if directions are to be dropped",
        ),
    )


def _misplaced_error(edge: Codes, node_ptr: Ints, place: str) -> Exception:
    """Make the error for an edge that does not belong where it stands."""
    n_nodes = int(node_ptr[-1])
    source, target = (int(end) for end in edge)
    for node in (source, target):
        if not 1 <= node <= n_nodes:
            return InvalidInputError(
                f"{place}: node {node} is out of range for {n_nodes} nodes, which count from 1"
            )
    graphs = [graph_of(node_ptr, node - 1) + 1 for node in (source, target)]
    if graphs[0] != graphs[1]:
        return InvalidInputError(
            f"{place}: the edge joins node {source} of graph {graphs[0]} with node {target} of "
            f"graph {graphs[1]}; an edge stays within one graph"
        )
    return EdgesOutOfOrderError(place)


# Compiled: checks and sorting of the edges of a block.


@njit(cache=True, nogil=True)
def _first_misplaced_edge(
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
def _entries_of_edges(
    sources: Any, targets: Any, first_nodes: Any, indptr: Any, indices: Any
) -> Any:
    entries = np.empty(len(sources), np.int64)
    for edge in range(len(sources)):
        source = sources[edge] - 1
        target = targets[edge] - 1 - first_nodes[source]
        start, end = indptr[source], indptr[source + 1]
        entries[edge] = start + np.searchsorted(indices[start:end], target)
    return entries


@njit(cache=True, nogil=True)
def _sorted_rows(sources: Any, targets: Any, first_node: int, n_nodes: int) -> tuple[Any, Any, Any]:
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
def _first_one_way_edge(start: Any, end: Any, rows: Any) -> tuple[Any, Any]:
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
def _write_rows(start: Any, end: Any, rows: Any, node_ptr: Any, out: Any) -> int:
    """Copy rows with columns numbered within the graph; returns the number of entries."""
    written = 0
    for graph in range(len(node_ptr) - 1):
        offset = node_ptr[graph] - node_ptr[0]
        for row in range(offset, node_ptr[graph + 1] - node_ptr[0]):
            for position in range(start[row], end[row]):
                out[written] = rows[position] - offset
                written += 1
    return written
