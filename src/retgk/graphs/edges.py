"""Checks of edges and CSR arrays; the errors name the graph and what to do."""

from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple, NoReturn, get_args

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.flat import (
    BLOCK_ENTRIES,
    KEPT_LABELS,
    NO_VALUE,
    Missing,
    check_missing,
    check_one_each,
    chunks,
    encode_labels,
    first_of_run,
    graph_of,
    is_missing,
    lacks_part,
    offsets,
    recode,
    rows_of,
    union_of_names,
    with_one_missing_label,
)

_Directions = Literal["max", "mean", "sum"]
DIRECTIONS = get_args(_Directions)
Symmetrize = bool | _Directions
"""Whether directed input is made undirected, and what its two directions become; True is "max"."""

NEGATIVE = "negative='absolute' (or 'positive', 'split') says what becomes of them"
"""What to do about negative weights."""

EITHER: Any = "either"
"""Symmetrize of readers of undirected edges: listed once, or twice with one weight."""

# Sums of the same weights in another order, or a product X @ X.T, differ by less than this.
_ROUNDING = 1e-10


def check_symmetrize(symmetrize: object) -> None:
    if isinstance(symmetrize, str) and symmetrize not in (*DIRECTIONS, EITHER):
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
    signed: bool = False,
) -> None:
    if weights is None:
        return
    if weights.shape != (n_entries,):
        raise InvalidInputError(
            f"weights must have shape ({n_entries},), one per edge, got {weights.shape}"
        )
    bad = ~np.isfinite(weights) if signed else ~((weights >= 0) & (weights < np.inf))
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
            raise InvalidInputError(f"{problem}; {NEGATIVE}")
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
        f"{block[target, source]:.12g}; {_ONE_WAY if block[target, source] == 0 else _TWO_WEIGHTS}"
    )


_ONE_WAY = "pass symmetrize=True if each edge is listed once, or to drop the directions"
_TWO_WEIGHTS = (
    "pass symmetrize=True to take the larger of both, or symmetrize='mean' or 'sum', or give both "
    "the same"
)


# Negative weights, such as those of correlations: what becomes of them, before graphs are made.

Negative = Literal["error", "absolute", "positive", "split"]
"""What becomes of negative weights: an error, their absolute values, no edges, a second part."""

_SIGNS = ("+", "-")


def check_negative(negative: object) -> None:
    if negative not in get_args(Negative):
        raise InvalidInputError(
            f"negative must be one of {', '.join(get_args(Negative))}, got {negative!r}"
        )


def sums_of_parallel(edges: NDArray[Any], weights: Floats | None) -> Floats | None:
    """Weights of which the first of parallel edges has the sum, if some are negative; else zero."""
    if weights is None or edges.size == 0 or not (weights < 0).any():
        return weights
    if weights.shape != edges.shape[1:]:
        return weights  # an error later
    keys = edges[0].astype(np.int64) * (int(edges[1].max()) + 1) + edges[1]
    _, first, pair = np.unique(keys, return_index=True, return_inverse=True)
    found = np.zeros(len(weights))
    found[first] = np.bincount(pair.reshape(-1), weights)
    return found


def unsigned_weights(weights: Floats, negative: Negative) -> Floats:
    if negative == "error":
        return weights
    if negative == "positive":
        return np.where((weights < 0) & (weights > -np.inf), 0.0, weights)
    return np.abs(weights)


def split_edges(node_ptr: Ints, edges: NDArray[Any], weights: Floats | None) -> NDArray[Any]:
    """Edges, shape (2, n_edges), of graphs with all nodes twice: negative ones on the second."""
    edges_per_graph(node_ptr, edges)
    is_negative = np.zeros(edges.shape[1], bool) if weights is None else weights < 0
    first, sizes = first_of_run(node_ptr), np.diff(node_ptr)
    second = np.repeat(sizes, sizes)  # graphs before have as many nodes again
    return np.asarray(edges + first[edges] + np.where(is_negative, second[edges], 0))


def signed_labels(labels: Sequence[tuple[Any, ...]] | None, node_ptr: Ints) -> list[Any]:
    """Labels of the nodes of both parts: the sign, after the values of the label if there are."""
    found: list[Any] = []
    for start, stop in pairwise(node_ptr.tolist()):
        for sign in _SIGNS:
            own = None if labels is None else labels[start:stop]
            found += [sign] * (stop - start) if own is None else [(*label, sign) for label in own]
    return found


# Flat CSR adjacency of many graphs, from edges or from CSR arrays.
#
# Rows are numbered over the whole batch, columns within the graph of the row, so that any run of
# graphs can be cut out or put together without touching a column. Everything here works on blocks
# of whole graphs with about 260,000 entries: the time is linear in the entries, there is no cost
# per graph, and what is held beside the result stays small.

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
    """Canonical adjacency of edges of shape (2, n_edges): sorted rows, no duplicates or zeros."""
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
    from scipy.sparse import coo_array

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
    from scipy.sparse import csr_array

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
    if symmetrize == EITHER and block.dtype.kind == "f":
        _check_one_weight(block, transposed, node_ptr, first_graph)
    if symmetrize:
        block = _both_directions(block, transposed, symmetrize)
    else:
        block = check_symmetric(block, transposed, node_ptr, first_graph)
    check_sums(block, node_ptr, first_graph)
    return block


def _check_one_weight(block: Any, transposed: Any, node_ptr: Ints, first_graph: int) -> None:
    """Raise where an edge that is listed in both directions has two weights."""
    is_back, is_there = (transposed != 0), (block != 0)
    check_symmetric(
        block.multiply(is_back).tocsr(),
        transposed.multiply(is_there).tocsr(),
        node_ptr,
        first_graph,
    )


def _both_directions(block: Any, transposed: Any, symmetrize: Symmetrize) -> Any:
    """Weights of undirected edges; a self-loop has one direction, and keeps its weight."""
    if symmetrize not in ("mean", "sum"):
        return block.maximum(transposed)
    both = block + transposed
    if symmetrize == "mean":
        return both * 0.5
    loops = block.diagonal()
    if loops.any():
        from scipy.sparse import csr_array

        nodes = np.arange(len(loops))
        both = (both - csr_array((loops, (nodes, nodes)), shape=both.shape)).tocsr()
        both.eliminate_zeros()
    return both


# Labels of edges, one for each entry of the neighbours of a batch, the same in both directions.

NO_EDGE_LABEL = (
    'give all edges labels, or make a label of its own of missing ones with missing="label"'
)


class EdgeLabels(NamedTuple):
    """Codes of the labels of edges, aligned with the neighbours of a batch, and their names."""

    codes: Codes
    names: tuple[Hashable, ...]


def edge_labels_of_rows(
    node_ptr: Ints,
    adjacency: Adjacency,
    given: tuple[Ints, NDArray[Any]],
    labels: Any,
    symmetrize: Symmetrize,
    missing: Missing = "error",
) -> EdgeLabels | None:
    """Labels given for the entries of CSR arrays (indptr, indices); None if there are none."""
    if labels is None:
        return None
    indptr, indices = given
    sources = rows_of(indptr)
    targets = indices + first_of_run(node_ptr)[sources]
    ends = np.stack([sources, targets])
    return edge_labels_of_edges(node_ptr, adjacency, ends, labels, symmetrize, missing)


def edge_labels_of_edges(
    node_ptr: Ints,
    adjacency: Adjacency,
    edges: NDArray[Any],
    labels: Any,
    symmetrize: Symmetrize,
    missing: Missing = "error",
) -> EdgeLabels | None:
    """Labels of edges, shape (2, n_edges), in the order of the adjacency that was made of them."""
    if labels is None:
        return None
    codes, names = _encoded(node_ptr, edges, labels, missing)
    sources, targets = edges.astype(np.int64)
    if symmetrize:
        sources, targets = np.append(sources, targets), np.append(targets, sources)
        codes = np.append(codes, codes)
    keys = sources * max(1, int(node_ptr[-1])) + targets
    order = np.argsort(keys, kind="stable")
    keys, codes = keys[order], codes[order]
    is_other = (keys[1:] == keys[:-1]) & (codes[1:] != codes[:-1])
    if is_other.any():
        place = int(np.argmax(is_other))
        _raise_of(node_ptr, int(keys[place]), names[codes[place]], names[codes[place + 1]])
    found = codes[np.searchsorted(keys, _keys(node_ptr, adjacency))]
    _check_symmetric(node_ptr, adjacency, found, names)
    return EdgeLabels(found, names)


def _encoded(node_ptr: Ints, edges: NDArray[Any], labels: Any, missing: Missing) -> EdgeLabels:
    given = labels.codes if isinstance(labels, EdgeLabels) else labels
    check_one_each(given, edges.shape[1], "edge labels", "edge")
    if isinstance(labels, EdgeLabels):
        return labels
    codes, names = encode_labels(labels)
    check_missing(missing)
    if missing in KEPT_LABELS:
        return EdgeLabels(*with_one_missing_label(codes, names))
    for code, name in enumerate(names):
        if lacks_part(name):
            _raise_missing(node_ptr, edges[:, int(np.argmax(codes == code))], name)
    return EdgeLabels(codes, names)


def _raise_missing(node_ptr: Ints, ends: NDArray[Any], name: Hashable) -> NoReturn:
    graph = graph_of(node_ptr, int(ends[0]))
    first, second = (int(end - node_ptr[graph]) for end in ends)
    raise InvalidInputError(
        f"graph {graph}: the edge between node {first} and node {second} has the label {name}, "
        f"{NO_VALUE[is_missing(name)]}; {NO_EDGE_LABEL}"
    )


def _keys(node_ptr: Ints, adjacency: Adjacency) -> Ints:
    """One number for each entry, from its row and column, both numbered over the batch."""
    rows = rows_of(adjacency.indptr)
    columns = adjacency.indices + first_of_run(node_ptr)[rows]
    return np.asarray(rows * max(1, int(node_ptr[-1])) + columns)


def _check_symmetric(
    node_ptr: Ints, adjacency: Adjacency, codes: Codes, names: Sequence[Hashable]
) -> None:
    keys, n = _keys(node_ptr, adjacency), max(1, int(node_ptr[-1]))
    back = np.searchsorted(keys, keys % n * n + keys // n)
    is_other = codes[back] != codes
    if is_other.any():
        entry = int(np.argmax(is_other))
        _raise_of(node_ptr, int(keys[entry]), names[codes[entry]], names[codes[back[entry]]])


def _raise_of(node_ptr: Ints, key: int, first: Hashable, second: Hashable) -> None:
    source, target = divmod(key, int(node_ptr[-1]))
    graph = graph_of(node_ptr, source)
    start = int(node_ptr[graph])
    raise InvalidInputError(
        f"graph {graph}: the edge between node {source - start} and node {target - start} has the "
        f"labels {first!r} and {second!r}; give it one, in both directions"
    )


def joined_edge_labels(parts: Sequence[EdgeLabels | None]) -> EdgeLabels | None:
    """Put labels of edges one after the other; all parts have some, or none has."""
    present = [part for part in parts if part is not None]
    if not present:
        return None
    names = union_of_names(part.names for part in present)
    return EdgeLabels(
        np.concatenate([recode(part.codes, part.names, names) for part in present]), names
    )
