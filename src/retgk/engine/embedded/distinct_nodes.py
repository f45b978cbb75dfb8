"""Nodes that count: their rows of the embedding, and nodes that are alike taken together."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Ints
from retgk.runtime.compiling import njit

__all__ = ["DistinctNodes", "LabelGroups", "distinct_nodes", "label_groups", "same_row"]


_UNSEEN = -1
_HASHED_COLUMNS = 6
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


class LabelGroups(NamedTuple):
    """The pairs of a graph and a label that occur, sorted by both."""

    ptr: Ints
    """First group of every graph, shape (n_graphs + 1,)."""
    labels: NDArray[np.int32]
    """Label of every group."""
    of_node: Ints
    """Group of every node; -1 for nodes whose label is -1."""


class DistinctNodes(NamedTuple):
    """Nodes of some graphs, each standing for all that equal it, sorted by group."""

    nodes: Ints
    weights: NDArray[np.float64]
    """Share of the nodes of its graph that a node stands for."""
    groups: Ints


def label_groups(
    node_ptr: Ints, labels: NDArray[np.int32] | None, n_labels: int = 1
) -> LabelGroups:
    """
    Groups of nodes of one graph and one label.

    Parameters
    ----------
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph.
    labels : ndarray of int32, shape (n_nodes,), or None
        Label codes less than `n_labels`; -1 leaves a node out. None puts all nodes of a graph
        in one group.
    n_labels : int
        Number of labels.

    Returns
    -------
    LabelGroups
        The groups.

    Examples
    --------
    >>> label_groups(np.array([0, 3]), np.array([2, 0, 2], np.int32), 3).of_node
    array([1, 0, 1])
    """
    n_graphs = len(node_ptr) - 1
    if labels is None:
        of_node = np.repeat(np.arange(n_graphs), np.diff(node_ptr))
        return LabelGroups(np.arange(n_graphs + 1), np.zeros(n_graphs, np.int32), of_node)
    return LabelGroups(*_grouped(node_ptr, labels, n_labels))


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def _grouped(node_ptr, labels, n_labels):
    n_graphs = len(node_ptr) - 1
    ptr = np.zeros(n_graphs + 1, np.int64)
    found = np.empty(len(labels), np.int32)
    of_node = np.empty(len(labels), np.int64)
    last_graph = np.full(n_labels, -1, np.int64)
    group_of = np.empty(n_labels, np.int64)
    n_groups = 0
    for graph in range(n_graphs):
        for node in range(node_ptr[graph], node_ptr[graph + 1]):
            label = labels[node]
            if label >= 0 and last_graph[label] != graph:
                last_graph[label] = graph
                found[n_groups] = label
                n_groups += 1
        found[ptr[graph] : n_groups].sort()
        for group in range(ptr[graph], n_groups):
            group_of[found[group]] = group
        for node in range(node_ptr[graph], node_ptr[graph + 1]):
            label = labels[node]
            of_node[node] = group_of[label] if label >= 0 else -1
        ptr[graph + 1] = n_groups
    return ptr, found[:n_groups].copy(), of_node


def distinct_nodes(
    node_ptr: Ints, groups: LabelGroups, blocks: tuple[Any, ...], first: int, last: int
) -> DistinctNodes:
    """
    Merge nodes of graphs `first` to `last` - 1 that are alike to the bit.

    Parameters
    ----------
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph.
    groups : LabelGroups
        Groups of the nodes.
    blocks : tuple of ndarray of 64 bits, shape (n_nodes, n_columns)
        What else nodes are compared by: return probabilities, attributes, keys of labels.
    first, last : int
        Range of graphs.

    Returns
    -------
    DistinctNodes
        Nodes that differ in their group or in a block.
    """
    bits = tuple(block.view(np.uint64) for block in blocks)
    return DistinctNodes(*_merged(node_ptr, groups.ptr, groups.of_node, bits, first, last))


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def _merged(node_ptr, group_ptr, group_of, blocks, first, last):
    n_nodes = node_ptr[last] - node_ptr[first]
    nodes = np.empty(n_nodes, np.int64)
    weights = np.empty(n_nodes)
    groups = np.empty(n_nodes, np.int64)
    largest = 0
    for graph in range(first, last):
        largest = max(largest, node_ptr[graph + 1] - node_ptr[graph])
    size = 4
    while size < 2 * largest:
        size *= 2
    table = np.empty(size, np.int64)
    leaders = np.empty(largest, np.int64)
    counts = np.empty(largest, np.int64)
    starts = np.empty(largest + 1, np.int64)
    end = 0
    for graph in range(first, last):
        begin = end
        graph_nodes = (node_ptr[graph], node_ptr[graph + 1])
        n = _find_leaders(graph_nodes, group_of, blocks, table, leaders, counts)
        end = begin + n
        out = (nodes[begin:end], weights[begin:end], groups[begin:end])
        own = (group_ptr[graph], group_ptr[graph + 1])
        _write_sorted(graph_nodes, own, group_of, leaders, counts, starts, out)
    return nodes[:end].copy(), weights[:end].copy(), groups[:end].copy()


@njit(nogil=True, inline="always")
def _find_leaders(graph_nodes, group_of, blocks, table, leaders, counts):
    """List the first node of each kind, and how many there are; give the number of kinds."""
    begin, end = graph_nodes
    size = 4
    while size < 2 * (end - begin):
        size *= 2
    table[:size] = _UNSEEN
    n = 0
    for node in range(begin, end):
        if group_of[node] < 0:
            continue
        slot = np.int64(_hashed(group_of, blocks, node) & np.uint64(size - 1))
        while table[slot] != _UNSEEN and not _alike(group_of, blocks, leaders[table[slot]], node):
            slot = (slot + 1) & (size - 1)
        if table[slot] == _UNSEEN:
            table[slot] = n
            leaders[n], counts[n] = node, 0
            n += 1
        counts[table[slot]] += 1
    return n


@njit(nogil=True, inline="always")
def _hashed(group_of, blocks, node):
    """Hash of the group and of a few columns; nodes that agree in them are compared in full."""
    value = np.uint64(group_of[node])
    for block in blocks:
        value = _hashed_row(value, block, node)
    return value


@njit(nogil=True, inline="always")
def _hashed_row(value, block, node):
    n_columns = block.shape[1]
    step = max(1, n_columns // _HASHED_COLUMNS)
    for column in range(n_columns - 1, -1, -step):
        value = (value ^ block[node, column]) * _MULTIPLIER
        value ^= value >> _HALF
    return value


@njit(nogil=True, inline="always")
def _alike(group_of, blocks, i, j):
    same = group_of[i] == group_of[j]
    for block in blocks:
        same = same and same_row(block, i, j)
    return same


@njit(nogil=True, inline="always")
def same_row(block, i, j):
    """Whether two rows agree in all columns."""
    column = 0
    while column < block.shape[1] and block[i, column] == block[j, column]:
        column += 1
    return column == block.shape[1]


@njit(nogil=True, inline="always")
def _write_sorted(graph_nodes, own_groups, group_of, leaders, counts, starts, out):
    """Write the leaders of one graph sorted by group, in the order of nodes within a group."""
    nodes, weights, groups = out
    first_group, last_group = own_groups
    starts[: last_group - first_group + 1] = 0
    for leader in leaders[: len(nodes)]:
        starts[group_of[leader] - first_group + 1] += 1
    for group in range(last_group - first_group):
        starts[group + 1] += starts[group]
    n_nodes = graph_nodes[1] - graph_nodes[0]
    for kind in range(len(nodes)):
        group = group_of[leaders[kind]]
        position = starts[group - first_group]
        starts[group - first_group] += 1
        nodes[position] = leaders[kind]
        weights[position] = counts[kind] / n_nodes
        groups[position] = group
