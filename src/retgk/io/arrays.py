"""Graphs as matrices and as arrays of edges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse, sparray, spmatrix

from retgk._runtime.parameters import FLAG, NONE, Constraints, Number, check_parameters
from retgk.array_types import Floats, Ints
from retgk.errors import InputWarning, InvalidInputError, warn_user
from retgk.graphs.batch import GraphBatch
from retgk.graphs.edges import Negative, Symmetrize, unsigned_weights
from retgk.graphs.flat import Missing, check_not_masked, checked_edges, integers, offsets
from retgk.io.objects import (
    LocalEdges,
    batch_from_local_edges,
    checked_edge_weights,
    join_labels,
    list_graphs,
    list_per_graph,
    remembers,
    stack_attributes,
)

_ROUNDING = 1e-9


class SignedRows(NamedTuple):
    """Rows of matrices one after the other: nodes per graph, entries per row, columns, weights."""

    sizes: Ints
    degrees: Ints
    columns: NDArray[Any]
    weights: Floats


def warn_of_unit_diagonals(rows: SignedRows) -> None:
    """Warn of correlations with ones on the diagonal, which would be strong self-loops."""
    if len(rows.weights) == 0 or np.abs(rows.weights).max() > 1 + _ROUNDING:
        return
    within = np.concatenate([np.arange(size) for size in rows.sizes])
    is_own = np.repeat(within, rows.degrees) == rows.columns
    own, others = rows.weights[is_own], rows.weights[~is_own]
    is_unit = len(own) == len(within) and (np.abs(own - 1) <= _ROUNDING).all()
    if is_unit and (np.abs(others) < 1 - _ROUNDING).any():
        warn_user(
            InputWarning(
                "all matrices have ones on the diagonal, as correlations do: they are self-loops, "
                "stronger than any edge. Unless they mean something, set the diagonal to zero "
                "(np.fill_diagonal(matrix, 0)), or give fisher_z=True, threshold= or density=, "
                "which leave it out"
            )
        )


# Matrices of correlations: no diagonal, weak edges left out, Fisher's z

_CORRELATIONS: Constraints = {
    "fisher_z": (FLAG,),
    "threshold": (NONE, Number("()", 0)),
    "density": (NONE, Number("(]", 0, 1)),
}


class Correlations(NamedTuple):
    """What is done with entries of matrices before they are weights; fields as in `from_scipy`."""

    fisher_z: bool
    threshold: float | None
    density: float | None

    @classmethod
    def checked(cls, fisher_z: Any, threshold: Any, density: Any) -> Correlations:
        own = {"fisher_z": fisher_z, "threshold": threshold, "density": density}
        check_parameters(_CORRELATIONS, own)
        return cls(bool(fisher_z), threshold, density)

    def rows(self, rows: SignedRows, negative: Negative) -> SignedRows:
        """Rows of edges that count, without self-loops; as they are if nothing is asked for."""
        if not self.fisher_z and self.threshold is None and self.density is None:
            return rows
        weights: Any = unsigned_weights(
            rows.weights, "positive" if negative == "positive" else "error"
        )
        first = np.repeat(offsets(rows.sizes)[:-1], rows.sizes)  # node of the graph of every node
        node = np.repeat(np.arange(len(first)), rows.degrees)
        strength = np.abs(weights)
        kept = (node - first[node] != rows.columns) & (weights != 0)
        # the two directions of an edge may differ in their last digit
        if self.threshold is not None:
            strongest = strength[kept].max(initial=0.0)
            kept &= ~(strength < self.threshold * (1 - _ROUNDING))
            if strongest and not kept.any():
                raise InvalidInputError(
                    f"no graph has an edge of absolute weight {self.threshold:g} or more, the "
                    f"largest is {strongest:.3g}; give a smaller threshold"
                )
        if self.density is not None:
            graph = np.repeat(np.arange(len(rows.sizes)), rows.sizes)[node]
            kept &= ~(strength < self._least(strength, kept, graph, rows.sizes)[graph])
        weights, node, columns = weights[kept], node[kept], rows.columns[kept]
        if self.fisher_z:
            _check_correlations(weights, node, columns, rows.sizes)
            weights = np.arctanh(weights)
        return SignedRows(rows.sizes, np.bincount(node, minlength=len(first)), columns, weights)

    def _least(self, strength: Floats, kept: NDArray[np.bool_], graph: Ints, sizes: Ints) -> Floats:
        """Strength of the weakest edge that each graph keeps."""
        assert self.density is not None
        found = np.zeros(len(sizes))
        ends = offsets(np.bincount(graph, minlength=len(sizes)))
        for number, (first, last) in enumerate(pairwise(ends.tolist())):
            own = strength[first:last][kept[first:last]]
            n_kept = 2 * round(self.density * sizes[number] * (sizes[number] - 1) / 2)
            if n_kept < len(own):
                weakest = np.sort(own)[-n_kept] if n_kept else np.inf
                found[number] = weakest * (1 - _ROUNDING)
        return found


def _check_correlations(weights: Floats, node: Ints, columns: Ints, sizes: Ints) -> None:
    wrong = np.abs(weights) >= 1 - _ROUNDING
    if not wrong.any():
        return
    at = int(np.argmax(wrong))
    ptr = offsets(sizes)
    graph = int(np.searchsorted(ptr, node[at], "right")) - 1
    edge = f"graph {graph}: nodes {node[at] - ptr[graph]} and {columns[at]}"
    if abs(weights[at]) > 1 + _ROUNDING:
        raise InvalidInputError(
            f"{edge} have the weight {weights[at]:g}, and fisher_z is for correlations, which are "
            "between -1 and 1; leave out fisher_z"
        )
    raise InvalidInputError(
        f"{edge} have the correlation {weights[at]:.0f}, whose Fisher's z is infinite; they have "
        "the same signal, so leave out one of them, or fisher_z"
    )


Sparse = sparray | spmatrix
PerGraph = Iterable[Any] | NDArray[Any]
"""For every graph, what belongs to its nodes or edges; that of a single graph may stand alone."""

_NUMBERS = "biuf"
STACK_ENTRIES = 1 << 24


@remembers("arrays")
def from_scipy(
    matrices: Sparse | Iterable[Sparse],
    *,
    labels: PerGraph | None = None,
    attributes: PerGraph | None = None,
    negative: Negative = "error",
    fisher_z: bool = False,
    threshold: float | None = None,
    density: float | None = None,
    symmetrize: Symmetrize = False,
    missing: Missing = "error",
) -> GraphBatch:
    """
    Convert sparse adjacency matrices.

    Parameters
    ----------
    matrices : sparse matrix or array, or iterable of them
        Square adjacency matrices in any format of scipy.sparse; values are the weights. Entries
        that are listed several times, parallel edges, add up, in float64 whatever their type.
    labels : sequence, optional
        For every graph, the labels of its nodes (for a single matrix, its labels).
    attributes : sequence, optional
        For every graph, an array of shape (n_nodes, n_attributes) (for a single matrix,
        that array).
    negative : {"error", "absolute", "positive", "split"}, default="error"
        What becomes of negative weights, such as correlations: an error; their absolute values; no
        edges; or "split": a graph becomes the union of its positive and its negative part, each
        with all nodes, which have the labels "+" and "-" (with their own label, a pair), so that
        kernels compare positive parts with positive and negative with negative ones. It is
        applied before `symmetrize`.
    fisher_z : bool, default=False
        Whether weights are correlations r, and become Fisher's z, artanh r. With this and the two
        next options, matrices are those of correlations, whose diagonal is left out.
    threshold : float, optional
        Edges whose weight is smaller in absolute value are left out (before Fisher's z).
    density : float, optional
        Share of all pairs of nodes that have an edge: those with the largest weights in absolute
        value, in each graph apart. Where weights are equal, all of these are kept.
    symmetrize : bool or {"max", "mean", "sum"}, default=False
        Whether to make directed input undirected: an edge gets the larger of the weights of its
        two directions, their mean (none is 0) or their sum; True is "max". Otherwise directed
        input is an error.
    missing : {"error", "label", "nan", "keep"}, default="error"
        What becomes of missing labels and attributes, as in `from_networkx`.

    Returns
    -------
    GraphBatch
        The graphs, in order.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from_scipy(csr_array([[0, 2], [2, 0]]), labels=["C", "O"])
    GraphBatch(1 graph, 2 nodes, 1 weighted edge, 2 labels)
    """
    how = Correlations.checked(fisher_z, threshold, density)
    found = list_graphs(matrices, issparse, "scipy.sparse matrices")
    for position, matrix in enumerate(found):
        _check_matrix(position, matrix.shape, matrix.dtype)
    # in float64 first: SciPy adds up in the matrix's type, where 256 edges of uint8 are none
    parts = [matrix.astype(np.float64).tocsr() for matrix in found]
    for part in parts:
        part.sum_duplicates()
    rows = SignedRows(
        np.array([part.shape[0] for part in parts]),
        np.concatenate([np.diff(part.indptr) for part in parts]),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.data for part in parts]),
    )
    single = issparse(matrices)
    values = (_one_each(labels, single), _one_each(attributes, single))
    return _batch_of_rows(how.rows(rows, negative), values, negative, symmetrize, missing)


@remembers("arrays")
def from_numpy(
    matrices: NDArray[Any] | Iterable[ArrayLike],
    *,
    labels: PerGraph | None = None,
    attributes: PerGraph | None = None,
    negative: Negative = "error",
    fisher_z: bool = False,
    threshold: float | None = None,
    density: float | None = None,
    symmetrize: Symmetrize = False,
    missing: Missing = "error",
) -> GraphBatch:
    """
    Convert dense adjacency matrices.

    Parameters
    ----------
    matrices : ndarray of shape (n, n) or (n_graphs, n, n), or iterable of (n, n) arrays
        Adjacency matrices; values other than zero are the weights.
    labels, attributes, negative, fisher_z, threshold, density, symmetrize, missing
        As in `from_scipy`.

    Returns
    -------
    GraphBatch
        The graphs, in order.

    Examples
    --------
    >>> import numpy as np
    >>> from_numpy(np.ones((4, 3, 3)) - np.eye(3))
    GraphBatch(4 graphs, 12 nodes, 12 edges)
    """
    how = Correlations.checked(fisher_z, threshold, density)
    single = isinstance(matrices, np.ndarray) and matrices.ndim == 2
    parts = _dense_parts([matrices] if single else matrices)
    entries = [_dense_entries(part) for part in parts]
    rows = SignedRows(
        np.array([size for *_, part_sizes in entries for size in part_sizes]),
        np.concatenate([degrees for degrees, _, _, _ in entries]),
        np.concatenate([columns for _, columns, _, _ in entries]),
        np.concatenate([weights for _, _, weights, _ in entries]),
    )
    values = (_one_each(labels, single), _one_each(attributes, single))
    return _batch_of_rows(how.rows(rows, negative), values, negative, symmetrize, missing)


def _batch_of_rows(
    rows: SignedRows,
    node_values: tuple[Any, Any],
    negative: Negative,
    symmetrize: Symmetrize,
    missing: Missing,
) -> GraphBatch:
    sizes = rows.sizes.tolist()
    labels = join_labels(node_values[0], sizes)
    attributes = stack_attributes(node_values[1], sizes, missing)
    warn_of_unit_diagonals(rows)
    return GraphBatch(
        offsets(rows.sizes),
        offsets(rows.degrees),
        rows.columns,
        rows.weights,
        labels=labels,
        attributes=attributes,
        negative=negative,
        symmetrize=symmetrize,
        missing=missing,
    )


@remembers("arrays")
def from_edge_lists(
    edges: NDArray[Any] | Iterable[ArrayLike],
    n_nodes: int | Sequence[int] | NDArray[Any] | None = None,
    *,
    weights: PerGraph | None = None,
    labels: PerGraph | None = None,
    attributes: PerGraph | None = None,
    edge_labels: PerGraph | None = None,
    negative: Negative = "error",
    symmetrize: Symmetrize = False,
    missing: Missing = "error",
) -> GraphBatch:
    """
    Convert arrays of edges, one for each graph.

    Parameters
    ----------
    edges : ndarray of int, shape (n_edges, 2), or iterable of array-likes of that shape
        Source and target of every edge, numbered within each graph from 0.
    n_nodes : int or sequence of int, optional
        Number of nodes of every graph (for a single NumPy array, a number). By default the
        largest end of an edge plus one, so that isolated last nodes need it.
    weights : sequence, optional
        For every graph, one weight for each edge. Ones by default.
    labels, attributes, negative, missing
        As in `from_scipy`.
    edge_labels : sequence, optional
        For every graph, the label of each edge. Kernels use them with ``depth`` above zero.
    symmetrize : bool or {"max", "mean", "sum"}, default=False
        Whether each edge stands for both directions; an edge that is listed in both gets the
        larger of its two weights, their mean (one that is listed once gets half of its weight) or
        their sum; True is "max". Otherwise both must be listed.

    Returns
    -------
    GraphBatch
        The graphs, in order.

    Examples
    --------
    >>> from_edge_lists([[[0, 1], [1, 2]], [[0, 1]]], symmetrize=True)
    GraphBatch(2 graphs, 5 nodes, 3 edges)
    """
    single = isinstance(edges, np.ndarray) and edges.ndim == 2
    found = [edges] if single else list_per_graph(edges, "arrays of edges")
    if not found:
        raise InvalidInputError("there are no graphs to convert")
    pairs = [checked_edges(part, f"graph {position}: edges") for position, part in enumerate(found)]
    sizes = _graph_sizes(pairs, _one_each(n_nodes, single))
    known = _known_edges(pairs, _one_each(weights, single), _one_each(edge_labels, single))
    of_nodes = join_labels(_one_each(labels, single), sizes)
    stacked = stack_attributes(_one_each(attributes, single), sizes, missing)
    return batch_from_local_edges(
        sizes,
        known,
        labels=of_nodes,
        attributes=stacked,
        negative=negative,
        symmetrize=symmetrize,
        missing=missing,
    )


def _one_each(values: Any, single: bool) -> Any:
    return [values] if single and values is not None else values


def _check_matrix(position: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InvalidInputError(
            f"graph {position}: an adjacency matrix is square, got shape {tuple(shape)}"
        )
    if dtype.kind not in _NUMBERS:
        raise InvalidInputError(f"graph {position}: weights must be numbers, got {dtype}")


def _dense_parts(matrices: Any) -> list[NDArray[Any]]:
    if isinstance(matrices, np.ndarray) and matrices.ndim == 3 and len(matrices):
        check_not_masked(matrices, "adjacency matrices")
        _check_matrix(0, matrices.shape[1:], matrices.dtype)
        step = max(1, STACK_ENTRIES // max(1, matrices[0].size))
        return [matrices[first : first + step] for first in range(0, len(matrices), step)]
    if isinstance(matrices, str | bytes) or not isinstance(matrices, Iterable):
        raise InvalidInputError(f"expected NumPy arrays, got {type(matrices).__name__}")
    found = [_plain_array(matrix, position) for position, matrix in enumerate(matrices)]
    if not found:
        raise InvalidInputError("there are no graphs to convert")
    return found


def _plain_array(matrix: Any, position: int) -> NDArray[Any]:
    check_not_masked(matrix, f"graph {position}: the entries of the matrix")
    if isinstance(matrix, np.matrix):
        raise InvalidInputError(
            f"graph {position} is a numpy.matrix; make it an array with numpy.asarray(matrix)"
        )
    try:
        found = np.asarray(matrix)
    except ValueError as error:
        raise InvalidInputError(f"graph {position} is not a matrix: {error}") from error
    _check_matrix(position, found.shape, found.dtype)
    return found


def _dense_entries(
    part: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any], Floats, list[int]]:
    """Row lengths, columns, weights and sizes of a matrix or a stack of them."""
    present = part != 0
    *_, columns = present.nonzero()
    n_matrices = len(part) if part.ndim == 3 else 1
    return (
        present.sum(axis=-1).ravel(),
        columns,
        part[present].astype(np.float64),
        [part.shape[-1]] * n_matrices,
    )


def _graph_sizes(pairs: list[NDArray[Any]], n_nodes: Any) -> list[int]:
    if n_nodes is not None:
        sizes = integers(n_nodes, "n_nodes")
        if sizes.shape != (len(pairs),):
            given = f"the number {n_nodes}" if sizes.ndim == 0 else f"{sizes.size} numbers"
            raise InvalidInputError(
                f"n_nodes must list one number for each of {len(pairs)} graphs, got {given}; a "
                "single graph is a NumPy array of shape (n_edges, 2)"
            )
        return [int(size) for size in sizes]
    for position, part in enumerate(pairs):
        if not len(part):
            raise InvalidInputError(
                f"graph {position} has no edges, so its nodes cannot be counted; pass n_nodes"
            )
    return [max(0, int(part.max()) + 1) for part in pairs]


def _known_edges(pairs: list[NDArray[Any]], weights: Any, labels: Any) -> list[LocalEdges]:
    found = [LocalEdges(part) for part in pairs]
    for number, (edges, own) in enumerate(_with_graphs(found, weights, "weights")):
        values = checked_edge_weights(own, len(edges.edges), number)
        found[number] = edges._replace(weights=values)
    for number, (edges, own) in enumerate(_with_graphs(found, labels, "edge labels")):
        n_edges = len(edges.edges)
        check_not_masked(own, f"graph {number}: edge labels")
        if isinstance(own, str) or not hasattr(own, "__len__") or len(own) != n_edges:
            raise InvalidInputError(
                f"graph {number}: edge labels must be a sequence of {n_edges}, one for each edge"
            )
        found[number] = edges._replace(labels=list(own))
    return found


def _with_graphs(
    graphs: list[LocalEdges], values: Any, what: str
) -> Iterable[tuple[LocalEdges, Any]]:
    given = [] if values is None else list_per_graph(values, what)
    if values is not None and len(given) != len(graphs):
        raise InvalidInputError(
            f"got {what} for {len(given)} graphs, but edges for {len(graphs)} graphs"
        )
    return zip(list(graphs), given, strict=False)
