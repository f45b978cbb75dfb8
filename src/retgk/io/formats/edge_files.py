"""Adjacency from a list of edges in a text file, built while the file is being read."""

from collections.abc import Generator, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Ints
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.adjacency import Adjacency
from retgk.graphs.ragged import first_of_run, graph_of, offsets
from retgk.io.formats.archive import Member
from retgk.io.formats.text_columns import integer_blocks

__all__ = ["EdgeFile", "EdgesOutOfOrderError", "adjacency_of_blocks", "entries_of_edges"]

Edges = NDArray[np.int32]

_BLOCK_EDGES = 1 << 17


class EdgesOutOfOrderError(Exception):
    """Edges are not grouped by graph, so that they must be held and sorted first."""


class EdgeFile(NamedTuple):
    """A file of edges, and the lines in the order in which they are looked at."""

    member: Member
    order: Ints | None = None

    def blocks(self) -> Generator[Edges, None, None]:
        """Source and target of every line, counted from 1, in pieces of shape (2, n_lines)."""
        return integer_blocks(self.member, 2, np.int32)

    def place(self, edge: int) -> str:
        """Where an edge stands, for messages."""
        return f"{self.member.name}, line {1 + (edge if self.order is None else self.order[edge])}"


def adjacency_of_blocks(
    blocks: Iterable[Edges], node_ptr: Ints, file: EdgeFile, symmetrize: bool
) -> Adjacency:
    """
    Build the adjacency of a collection from its edges, in order of the graphs.

    Only the edges of graphs that are not complete yet are held beside the result.

    Parameters
    ----------
    blocks : iterable of ndarray of int32, shape (2, n)
        Source and target of every edge, counted from 1 over the collection.
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph.
    file : EdgeFile
        The file, for messages and for the number of lines to expect at most.
    symmetrize : bool
        Whether an edge stands for both of its directions.

    Returns
    -------
    Adjacency
        Sorted rows; an edge that is listed more than once counts once.
    """
    from retgk.io.formats.edge_kernel import first_one_way_edge, sorted_rows, write_rows

    # Memory that is never written costs nothing; the shortest line has four bytes.
    most_lines = (file.member.size + 1) // 4
    columns = np.empty(most_lines * (1 + symmetrize), np.int32)
    lengths = np.zeros(int(node_ptr[-1]), np.int64)
    n_written = 0
    n_edges = 0
    for edges, first, last in _graph_blocks(blocks, node_ptr, file):
        listed = np.concatenate([edges, edges[::-1]], axis=1) if symmetrize else edges
        nodes = node_ptr[first : last + 1]
        rows = sorted_rows(listed[0], listed[1], nodes[0], nodes[-1] - nodes[0])
        source, target = first_one_way_edge(*rows)
        if source >= 0:
            lonely = np.array([[source], [target]]) + nodes[0] + 1
            edge = int(np.flatnonzero((edges == lonely).all(axis=0))[0])
            raise _one_way(edges[:, edge], file.place(n_edges + edge))
        starts, ends, _ = rows
        lengths[nodes[0] : nodes[-1]] = ends - starts
        n_written += write_rows(*rows, nodes, columns[n_written:])
        n_edges += edges.shape[1]
    indptr = offsets(lengths)
    return Adjacency(indptr, columns[:n_written], None)


def entries_of_edges(edges: Edges, node_ptr: Ints, adjacency: Adjacency) -> Ints:
    """
    Positions of edges in an adjacency.

    Parameters
    ----------
    edges : ndarray of int32, shape (2, n)
        Source and target of edges of the adjacency, counted from 1 over the collection.
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph.
    adjacency : Adjacency
        Where to look.

    Returns
    -------
    ndarray of int64, shape (n,)
        Position of every edge in ``adjacency.indices``.
    """
    n_nodes = int(node_ptr[-1])
    rows = np.repeat(np.arange(n_nodes), np.diff(adjacency.indptr))
    keys = rows * n_nodes + (adjacency.indices + first_of_run(node_ptr)[rows])
    sources, targets = edges.astype(np.int64) - 1
    entries: Ints = np.searchsorted(keys, sources * n_nodes + targets)
    return entries


def _graph_blocks(
    blocks: Iterable[Edges], node_ptr: Ints, file: EdgeFile
) -> Iterator[tuple[Edges, int, int]]:
    """Edges of runs of complete graphs, with the first graph and the one after the last."""
    from retgk.io.formats.edge_kernel import first_misplaced_edge

    held = [np.empty((2, 0), np.int32)]
    n_edges = n_held = began = first = graph = 0
    for block in blocks:
        bad, graph, start = first_misplaced_edge(block[0], block[1], graph, node_ptr)
        if bad >= 0:
            raise _misplaced(block[:, bad], node_ptr, file.place(n_edges + bad))
        began = n_held + start if start >= 0 else began
        held.append(block)
        n_held += block.shape[1]
        n_edges += block.shape[1]
        if n_held >= _BLOCK_EDGES and began > 0:
            edges = np.concatenate(held, axis=1)
            yield edges[:, :began], first, graph
            held, n_held, first, began = [edges[:, began:]], n_held - began, graph, 0
    yield np.concatenate(held, axis=1), first, len(node_ptr) - 1


def _one_way(edge: Edges, place: str) -> InvalidInputError:
    return InvalidInputError(
        f"{place}: the edge from node {edge[0]} to node {edge[1]} has none back",
        Remedy(
            "symmetrize",
            "pass symmetrize=True if each edge is listed once, or if directions are to be dropped",
        ),
    )


def _misplaced(edge: Edges, node_ptr: Ints, place: str) -> Exception:
    """Say what is wrong with an edge that does not belong where it stands."""
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
