"""Graphs of three to seven nodes up to isomorphism, and how often each is inside another."""

from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from retgk.array_types import Codes, Flags, Ints

__all__ = ["GraphletTypes", "graphlet_types"]


class GraphletTypes(NamedTuple):
    """
    Types of graphs of k nodes.

    A mask has a bit for each pair of nodes, in the order 01, 02, .., 12, ..
    """

    k: int
    masks: Ints
    """One graph of each type: by number of edges, then by degrees, shape (n_types,)."""
    type_of_mask: Codes
    """Type of every graph of k nodes, shape (2 ** (k (k - 1) / 2),)."""
    is_connected: Flags
    """Which types are connected, shape (n_types,)."""

    def __len__(self) -> int:
        return len(self.masks)

    @property
    def adjacency(self) -> Ints:
        """Adjacency matrices of the types, shape (n_types, k, k)."""
        found = np.zeros((len(self), self.k, self.k), np.int64)
        for bit, (i, j) in enumerate(combinations(range(self.k), 2)):
            found[:, i, j] = found[:, j, i] = (self.masks >> bit) & 1
        return found

    @property
    def copies(self) -> Ints:
        """How many subgraphs of type i, with all nodes, each type j has; shape (n, n)."""
        found = np.zeros((len(self), len(self)), np.int64)
        for j, mask in enumerate(self.masks.tolist()):
            part = mask
            while True:
                found[self.type_of_mask[part], j] += 1
                if part == 0:
                    break
                part = (part - 1) & mask
        return found


@cache
def graphlet_types(k: int) -> GraphletTypes:
    """
    Types of graphs of k nodes.

    All orders of nodes come from two: that with the first two swapped, and that with all nodes
    moved on by one. So types are the parts of the graph whose nodes are all masks, each linked with
    what the two make of it.

    Examples
    --------
    >>> [len(graphlet_types(k)) for k in (3, 4, 5, 6)]
    [4, 11, 34, 156]
    """
    pairs = list(combinations(range(k), 2))
    masks = np.arange(1 << len(pairs))
    orders = ([1, 0, *range(2, k)], [*range(1, k), 0])
    others = np.concatenate([_moved(masks, order, pairs) for order in orders])
    ends = (np.tile(masks, len(orders)), others)
    links = coo_array((np.ones(len(others), np.int8), ends), shape=(len(masks), len(masks)))
    _, part = connected_components(links, directed=False)
    _, smallest = np.unique(part, return_index=True)
    order = sorted(range(len(smallest)), key=lambda i: _sort_key(int(smallest[i]), pairs, k))
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    own = smallest[order]
    connected = np.array([_is_connected(mask, pairs, k) for mask in own.tolist()])
    return GraphletTypes(k, own, place[part], connected)


def _moved(masks: Ints, order: list[int], pairs: list[tuple[int, int]]) -> Ints:
    """Masks of the same graphs with their nodes in another order."""
    bit_of = {pair: bit for bit, pair in enumerate(pairs)}
    moved = np.zeros_like(masks)
    for bit, (i, j) in enumerate(pairs):
        one, two = sorted((order[i], order[j]))
        moved |= ((masks >> bit) & 1) << bit_of[one, two]
    return moved


def _edges(mask: int, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [pair for bit, pair in enumerate(pairs) if mask >> bit & 1]


def _sort_key(mask: int, pairs: list[tuple[int, int]], k: int) -> tuple[int, list[int], int]:
    """Number of edges, degrees, and the mask itself where these are equal."""
    edges = _edges(mask, pairs)
    degrees = np.bincount(np.array(edges, np.int64).ravel(), minlength=k)
    return len(edges), sorted(degrees.tolist()), mask


def _is_connected(mask: int, pairs: list[tuple[int, int]], k: int) -> bool:
    reached = {0}
    edges = _edges(mask, pairs)
    for _ in range(k):
        reached |= {node for edge in edges for node in edge if reached & set(edge)}
    return len(reached) == k
