"""Checks of edges and CSR arrays; the errors name the graph and what to do."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.ragged import BLOCK_ENTRIES, chunks, graph_of

__all__ = [
    "DIRECTIONS",
    "NEGATIVE",
    "Symmetrize",
    "check_columns",
    "check_indptr",
    "check_sums",
    "check_symmetric",
    "check_symmetrize",
    "check_weights",
    "edges_per_graph",
]

_Directions = Literal["max", "mean", "sum"]
DIRECTIONS = get_args(_Directions)
Symmetrize = bool | _Directions
"""Whether directed input is made undirected, and what its two directions become; True is "max"."""

NEGATIVE = Remedy(
    "negative",
    "convert matrices with negative='absolute', 'positive' or 'split', of other graphs take "
    "absolute values, or drop such edges",
)
"""What to do about negative weights."""

# Sums of the same weights in another order, or a product X @ X.T, differ by less than this.
_ROUNDING = 1e-10


def check_symmetrize(symmetrize: object) -> None:
    """Raise for a word that says nothing of the two directions of an edge."""
    if isinstance(symmetrize, str) and symmetrize not in DIRECTIONS:
        raise InvalidInputError(
            f"symmetrize must be True, False or one of {', '.join(DIRECTIONS)}, got {symmetrize!r}"
        )


def edges_per_graph(node_ptr: Ints, edges: NDArray[Any]) -> tuple[Ints, bool]:
    """Count the edges of every graph, and say whether they come graph after graph."""
    n_graphs, n_edges = len(node_ptr) - 1, edges.shape[1]
    counts, grouped, latest = np.zeros(n_graphs, np.int64), True, 0
    if n_edges == 0:
        return counts, grouped
    _check_endpoints(int(node_ptr[-1]), edges)
    graph = np.repeat(np.arange(n_graphs), np.diff(node_ptr))
    for start in range(0, n_edges, BLOCK_ENTRIES):
        sources, targets = edges[:, start : start + BLOCK_ENTRIES]
        graphs = graph[sources]
        crossing = graphs != graph[targets]
        if crossing.any():
            edge = int(np.argmax(crossing))
            raise InvalidInputError(
                f"edge {start + edge} joins node {sources[edge]} of graph {graphs[edge]} with "
                f"node {targets[edge]} of graph {graph[targets[edge]]}; an edge stays within "
                "one graph"
            )
        grouped = grouped and latest <= graphs[0] and bool((graphs[1:] >= graphs[:-1]).all())
        latest = graphs[-1]
        lowest = int(graphs.min())
        local_counts = np.bincount(graphs - lowest)
        counts[lowest : lowest + len(local_counts)] += local_counts
    return counts, grouped


def _check_endpoints(n_nodes: int, edges: NDArray[Any]) -> None:
    for end, name in zip(edges, ("source", "target"), strict=True):
        if end.min() < 0 or end.max() >= n_nodes:
            edge = int(np.argmax((end < 0) | (end >= n_nodes)))
            raise InvalidInputError(
                f"edge {edge} has the {name} node {end[edge]}, which is out of range for "
                f"{n_nodes} nodes; nodes are numbered over the whole batch from 0"
            )


def check_indptr(n_nodes: int, indptr: Ints, indices: NDArray[Any]) -> None:
    """Raise unless offsets of rows fit the nodes and the entries."""
    if indptr.ndim != 1 or indices.ndim != 1:
        raise InvalidInputError(
            f"indptr and indices must be one-dimensional, got {indptr.shape} and {indices.shape}"
        )
    if len(indptr) != n_nodes + 1 or indptr[0] != 0 or indptr[-1] != len(indices):
        got = f"from {indptr[0]} to {indptr[-1]}" if len(indptr) else "at all"
        raise InvalidInputError(
            f"indptr must have {n_nodes + 1} entries from 0 to {len(indices)}, one more than "
            f"there are nodes; got {len(indptr)} entries {got}"
        )
    falling = np.diff(indptr) < 0
    if falling.any():
        raise InvalidInputError(
            f"indptr falls after entry {int(np.argmax(falling))}; offsets of rows never fall"
        )


def check_columns(node_ptr: Ints, indptr: Ints, columns: NDArray[Any]) -> None:
    """Raise unless every column is a node of the graph of its row."""
    entry_ptr = indptr[node_ptr]
    for first, last in chunks(entry_ptr, BLOCK_ENTRIES):
        inside = columns[entry_ptr[first] : entry_ptr[last]]
        sizes = np.diff(node_ptr[first : last + 1])
        outside = (inside < 0) | (inside >= np.repeat(sizes, np.diff(entry_ptr[first : last + 1])))
        if outside.any():
            entry = int(entry_ptr[first]) + int(np.argmax(outside))
            row = graph_of(indptr, entry)
            graph = graph_of(node_ptr, row)
            raise InvalidInputError(
                f"graph {graph}: node {row - node_ptr[graph]} has the neighbour "
                f"{columns[entry]}, which is out of range for {sizes[graph - first]} nodes; "
                "columns are numbered within a graph from 0"
            )


def check_weights(
    weights: Floats | None,
    n_entries: int,
    ends_of: Callable[[int], Any],
    node_ptr: Ints,
) -> None:
    """Raise unless there is one weight per entry, finite and not negative."""
    if weights is None:
        return
    if weights.shape != (n_entries,):
        raise InvalidInputError(
            f"weights must have shape ({n_entries},), one per edge, got {weights.shape}"
        )
    bad = ~((weights >= 0) & (weights < np.inf))
    if bad.any():
        entry = int(np.argmax(bad))
        source, target = ends_of(entry)
        graph = graph_of(node_ptr, source)
        start = node_ptr[graph]
        problem = (
            f"graph {graph}: the edge from node {source - start} to node {target - start} has "
            f"weight {weights[entry]}; weights must be finite and not negative"
        )
        if weights[entry] < 0:
            raise InvalidInputError(problem, NEGATIVE)
        raise InvalidInputError(f"{problem}: drop such edges")


def check_sums(block: Any, node_ptr: Ints, first_graph: int) -> None:
    """Raise where the weights of parallel edges, or of all edges of a node, are infinite."""
    degrees = block @ np.ones(block.shape[1])
    if not (degrees == np.inf).any():
        return
    row = int(np.argmax(degrees))
    graph = graph_of(node_ptr - node_ptr[0], row)
    raise InvalidInputError(
        f"graph {first_graph + graph}: the weights of the edges of node "
        f"{row - (node_ptr[graph] - node_ptr[0])} add up to infinity; scale the weights down"
    )


def check_symmetric(block: Any, transposed: Any, node_ptr: Ints, first_graph: int) -> Any:
    """Raise unless a block is symmetric up to rounding; give it without that rounding."""
    same_pattern = np.array_equal(block.indptr, transposed.indptr) and np.array_equal(
        block.indices, transposed.indices
    )
    if same_pattern and np.array_equal(block.data, transposed.data):
        return block
    if same_pattern and np.allclose(block.data, transposed.data, rtol=_ROUNDING, atol=0):
        return block.maximum(transposed)
    difference = abs(block - transposed).tocoo()
    tolerance = _ROUNDING * block.maximum(transposed)[difference.row, difference.col]
    entry = int(np.argmax(difference.data > tolerance))
    source, target = int(difference.row[entry]), int(difference.col[entry])
    first_node = node_ptr[0]
    graph = graph_of(node_ptr - first_node, source)
    start = int(node_ptr[graph] - first_node)
    raise InvalidInputError(
        f"graph {first_graph + graph} is not symmetric: the edge from node {source - start} to "
        f"node {target - start} has weight {block[source, target]:.12g}, the one back has weight "
        f"{block[target, source]:.12g}",
        Remedy(
            "symmetrize",
            "convert with as_batch(graphs, symmetrize=True) if each edge is listed once, or if "
            "directions are to be dropped",
        ),
    )
