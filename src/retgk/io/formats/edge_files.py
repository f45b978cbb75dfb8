"""Adjacency from the edge file of a TU collection, built while the file is being read."""

from collections.abc import Generator, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from retgk import _core
from retgk.array_types import Codes, Ints
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.adjacency import Adjacency
from retgk.graphs.ragged import first_of_run, graph_of, offsets
from retgk.io.formats.archive import Member
from retgk.io.formats.text_columns import integer_blocks

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
        nodes = node_ptr[first : last + 1]
        results = (columns[n_written:], lengths[nodes[0] : nodes[-1]])
        source, target, n_new = _core.write_neighbours(
            edges[0], edges[1], symmetrize, nodes, *results
        )
        if source >= 0:
            lonely = np.array([[source], [target]]) + nodes[0] + 1
            edge = int(np.flatnonzero((edges == lonely).all(axis=0))[0])
            raise _one_way_error(edges[:, edge], file.place(n_edges + edge))
        n_written += n_new
        n_edges += edges.shape[1]
    indptr = offsets(lengths)
    return Adjacency(indptr, columns[:n_written], None)


def entries_of_edges(edges: Codes, node_ptr: Ints, adjacency: Adjacency) -> Ints:
    """Find the position of every edge, counted from 1, in ``adjacency.indices``."""
    entries = np.empty(edges.shape[1], np.int64)
    arrays = (first_of_run(node_ptr), adjacency.indptr, adjacency.indices, entries)
    _core.entries_of_edges(edges[0], edges[1], *arrays)
    return entries


def _graph_blocks(
    blocks: Iterable[Codes], node_ptr: Ints, file: EdgeFile
) -> Iterator[tuple[Codes, int, int]]:
    """Group edges into runs of complete graphs, with the first graph and the one after the last."""
    held = [np.empty((2, 0), np.int32)]
    n_edges = n_held = began = first = graph = 0
    for block in blocks:
        bad, graph, start = _core.first_misplaced_edge(block[0], block[1], graph, node_ptr)
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
