"""Shortest paths compared by a kernel of the attributes of their ends."""

from dataclasses import dataclass, field
from typing import Any, NoReturn, Self

import numpy as np

from retgk.array_types import Codes, Floats, Ints
from retgk.engine.fitted_state import FittedState
from retgk.engine.node_features import NodeFeatures
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.graphs.missing_values import check_numbers
from retgk.graphs.ragged import chunks, offsets
from retgk.graphs.validation import check_alike, warn_of_unknown_labels
from retgk.kernels.node_kernels import NodeKernel
from retgk.peer_kernels.path_counter import length_numbers, search_costs, take_lengths
from retgk.peer_kernels.path_loops import fill_lengths
from retgk.peer_kernels.path_pair_loops import fill_pairs, fill_path_products
from retgk.peer_kernels.stored_colours import colour_values, restored_colours
from retgk.refinement.first_colours import FirstColours, Start
from retgk.runtime.memory import check_room
from retgk.runtime.parallel import run_tasks
from retgk.runtime.seeds import RandomState
from retgk.walks.return_probabilities import Walks

__all__ = ["AttributePathEngine", "GraphPaths"]

_TASK_COST = 1 << 24
_BLOCK_NODES = 1 << 12
_FEWER = Remedy("fewer_graphs", "give fewer graphs, or leave attributes out")


@dataclass(frozen=True, eq=False)
class GraphPaths:
    """
    Nodes of graphs, and their connected pairs in the order of path lengths.

    Attributes
    ----------
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph.
    attributes : ndarray of float64, shape (n_nodes, n_attributes)
        Of the nodes.
    colours : ndarray of int32, shape (n_nodes,)
        Labels of the nodes; pairs of nodes with different ones add nothing.
    ptr : ndarray of int64, shape (n_graphs + 1,)
        First pair of every graph.
    lengths : ndarray of int32, shape (n_pairs,)
        Number of the length, rising within a graph.
    starts, ends : ndarray of int32, shape (n_pairs,)
        The two nodes, numbered within their graph.
    """

    node_ptr: Ints
    attributes: Floats
    colours: Codes
    ptr: Ints
    lengths: Codes
    starts: Codes
    ends: Codes

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def pairs_of(self, graph: int) -> tuple[Codes, Codes, Codes]:
        """Pairs of one graph."""
        run = slice(self.ptr[graph], self.ptr[graph + 1])
        return self.lengths[run], self.starts[run], self.ends[run]

    def node_kernel(self, graph: int, others: "GraphPaths", nodes: slice, k: NodeKernel) -> Floats:
        """Kernel of the nodes of one graph with some of other graphs."""
        own = slice(self.node_ptr[graph], self.node_ptr[graph + 1])
        values = k(self.attributes[own], others.attributes[nodes])
        values *= self.colours[own][:, None] == others.colours[nodes]
        return values


@dataclass
class AttributePathEngine:
    """
    Sum over pairs of shortest paths of one length of the kernels of their ends.

    Parameters
    ----------
    node_kernel : NodeKernel
        Kernel of attributes; nodes also have to have the same colour.
    start : {"labels", "degrees", "none"}
        What the colours are.
    normalize : bool
        Whether to divide by the roots of the kernels of both graphs with themselves.
    random_state : int, Generator, RandomState or None
        Draws nodes for a median.
    """

    node_kernel: NodeKernel
    start: Start
    normalize: bool
    random_state: RandomState = None
    first: FirstColours = field(init=False)
    lengths: Floats = field(init=False)
    paths: GraphPaths = field(init=False)
    norms: Floats = field(init=False)

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> Self:
        """Find the paths of the fitted graphs, and the bandwidth of the kernel of nodes."""
        _check_attributes(batch)
        if not batch.n_attributes:
            raise InvalidInputError(
                "attribute_kernel is given, but nodes have no attributes",
                Remedy("attributes", "give some, or use attribute_kernel=None"),
            )
        self.first, self.lengths = FirstColours(self.start), np.empty(0)
        codes = self.first.fit(batch)
        kernel = self.node_kernel.fitted(batch.attributes, batch.node_ptr, self.random_state)
        self.fitted_kernel: NodeKernel = kernel
        self.paths, self.lengths = self._paths(batch, codes, n_jobs)
        self.norms = self._own_products(self.paths, n_jobs)
        return self

    def _paths(
        self, batch: GraphBatch, codes: Codes, n_jobs: int | None
    ) -> tuple[GraphPaths, Floats]:
        """Paths of graphs, and all lengths: those of the fitted graphs come first."""
        ptr = offsets(np.square(batch.node_counts))
        check_room(16 * int(ptr[-1]), "the lengths of shortest paths", _FEWER)
        matrices = np.empty(int(ptr[-1]))
        graph = (batch.indptr, batch.indices, batch.weights if batch.is_weighted else np.empty(0))
        costs = search_costs(batch)
        ranges = list(chunks(offsets(costs), _TASK_COST))
        of_ranges = [float(costs[first:last].sum()) for first, last in ranges]

        def search(first: int, last: int) -> None:
            fill_lengths(first, last, batch.node_ptr, graph, batch.is_weighted, ptr, matrices)

        run_tasks(search, ranges, of_ranges, n_jobs, "shortest paths")
        lengths = length_numbers(self.lengths, [np.unique(matrices[matrices > 0])])
        order = np.argsort(lengths)
        places = np.minimum(np.searchsorted(lengths, matrices, sorter=order), len(lengths) - 1)
        numbers = np.where(matrices > 0, order[places] if len(order) else -1, -1).astype(np.int32)
        sizes = np.add.reduceat(numbers >= 0, ptr[:-1], dtype=np.int64) // 2
        pair_ptr = offsets(sizes)
        pairs = [np.empty(pair_ptr[-1], np.int32) for _ in range(3)]

        def sort(first: int, last: int) -> None:
            fill_pairs(first, last, batch.node_ptr, ptr, numbers, (pair_ptr, *pairs))

        run_tasks(sort, ranges, of_ranges, n_jobs, "shortest paths")
        attributes = np.array(batch.attributes)
        return GraphPaths(np.array(batch.node_ptr), attributes, codes, pair_ptr, *pairs), lengths

    def _rows(
        self, rows: GraphPaths, columns: GraphPaths, is_lower: bool, n_jobs: int | None
    ) -> Floats:
        """Kernel of rows and columns, not normalized; on and below the diagonal, if `is_lower`."""
        check_room(8 * len(rows) * len(columns), "the kernel matrix", _FEWER)
        out = np.zeros((len(rows), len(columns)))
        others = (columns.lengths, columns.starts, columns.ends)

        def work(graph: int, first: int, last: int) -> None:
            nodes = slice(columns.node_ptr[first], columns.node_ptr[last])
            kernel = rows.node_kernel(graph, columns, nodes, self.fitted_kernel)
            place = (first, last, columns.node_ptr, columns.ptr)
            fill_path_products(kernel, rows.pairs_of(graph), *place, others, out[graph])

        blocks = list(chunks(columns.node_ptr, _BLOCK_NODES))
        tasks = [
            (graph, first, min(last, graph + 1) if is_lower else last)
            for graph in range(len(rows))
            for first, last in blocks
            if not is_lower or first <= graph
        ]
        sizes = np.diff(rows.node_ptr)
        costs = [
            float(sizes[graph]) * float(columns.node_ptr[last] - columns.node_ptr[first])
            for graph, first, last in tasks
        ]
        run_tasks(work, tasks, costs, n_jobs, "kernel values")
        return out

    def _own_products(self, paths: GraphPaths, n_jobs: int | None) -> Floats:
        """Kernel of every graph with itself."""
        out = np.zeros(len(paths))
        others = (paths.lengths, paths.starts, paths.ends)

        def work(graph: int) -> None:
            nodes = slice(paths.node_ptr[graph], paths.node_ptr[graph + 1])
            kernel = paths.node_kernel(graph, paths, nodes, self.fitted_kernel)
            place = (graph, graph + 1, paths.node_ptr, paths.ptr)
            fill_path_products(kernel, paths.pairs_of(graph), *place, others, out)

        tasks = [(graph,) for graph in range(len(paths))]
        run_tasks(work, tasks, np.diff(paths.node_ptr).astype(float).tolist(), n_jobs, "norms")
        return out

    def matrix(self, n_jobs: int | None) -> Floats:
        """Kernel matrix of the fitted graphs."""
        lower = self._rows(self.paths, self.paths, True, n_jobs)
        np.fill_diagonal(lower, self.norms)
        out = np.tril(lower) + np.tril(lower, -1).T
        return self._normalized(out, self.norms)

    def compare(self, batch: GraphBatch, n_jobs: int | None) -> Floats:
        """Kernel matrix of new graphs, one row each, with the fitted ones."""
        paths = self._new_paths(batch, n_jobs)
        out = self._rows(paths, self.paths, False, n_jobs)
        return self._normalized(out, self._own_products(paths, n_jobs))

    def _normalized(self, out: Floats, norms: Floats) -> Floats:
        if not self.normalize:
            return out
        scale = np.sqrt(np.outer(norms, self.norms))
        return np.divide(out, scale, out=np.zeros_like(out), where=scale > 0)

    def _new_paths(self, batch: GraphBatch, n_jobs: int | None) -> GraphPaths:
        check_alike(batch, batch.has_labels, self.paths.attributes.shape[1])
        _check_attributes(batch)
        codes = self.first.colours(batch)
        if self.start == "labels":
            warn_of_unknown_labels(batch.label_names, self.first.names)
        return self._paths(batch, codes, n_jobs)[0]

    def own_values(self, batch: GraphBatch | None, n_jobs: int | None) -> Floats:
        """Kernel of every graph with itself, before it is normalized; of fitted ones by default."""
        if batch is None:
            return self.norms.copy()
        return self._own_products(self._new_paths(batch, n_jobs), n_jobs)

    def features(self, batch: GraphBatch, n_jobs: int | None) -> NoReturn:  # noqa: ARG002
        """Raise: there are none."""
        raise InvalidInputError(
            "paths that are compared by a kernel of attributes have no vectors of finite length",
            Remedy("attributes", "use attribute_kernel=None"),
        )

    def state(self) -> FittedState:
        """Give nodes, pairs of nodes and lengths of the fitted graphs."""
        values = {
            **colour_values(self.first),
            "node_kernel": self.fitted_kernel,
            "normalize": bool(self.normalize),
        }
        arrays: dict[str, Any] = {name: getattr(self.paths, name) for name in _ARRAYS}
        arrays["path_lengths"] = arrays.pop("lengths")
        return FittedState(values, {**arrays, "lengths": self.lengths, "norms": self.norms})

    def restore(self, state: FittedState) -> Self:
        """Take them out of a state, after checking them."""
        self.first = restored_colours(state)
        self.start, names = self.first.start, self.first.names
        self.normalize = state.take_value("normalize", bool)
        self.fitted_kernel = state.take_node_kernel("node_kernel")
        self.lengths = take_lengths(state)
        self.norms = state.take_array("norms", np.float64, (None,))
        self.paths = _restored_paths(state, len(self.norms), len(names), len(self.lengths))
        return self


_ARRAYS = ("node_ptr", "attributes", "colours", "ptr", "lengths", "starts", "ends")


def _restored_paths(
    state: FittedState, n_graphs: int, n_colours: int, n_lengths: int
) -> GraphPaths:
    """Take paths out of a state, after checking them."""
    node_ptr = state.take_array("node_ptr", np.int64, (n_graphs + 1,))
    ptr = state.take_array("ptr", np.int64, (n_graphs + 1,))
    attributes = state.take_array("attributes", np.float64, (None, None))
    colours = state.take_array("colours", np.int32, (len(attributes),))
    lengths = state.take_array("path_lengths", np.int32, (None,))
    ends = [state.take_array(name, np.int32, (len(lengths),)) for name in ("starts", "ends")]
    for name, own, total in (("node_ptr", node_ptr, len(colours)), ("ptr", ptr, len(lengths))):
        if own[0] != 0 or own[-1] != total or (np.diff(own) < (name == "node_ptr")).any():
            raise InvalidInputError(f"{name!r} does not rise from 0 to {total}")
    sizes = np.repeat(np.diff(node_ptr), np.diff(ptr))
    limits: list[tuple[str, Codes, Any]] = [
        ("colours", colours, n_colours),
        ("path_lengths", lengths, n_lengths),
    ]
    limits += [("starts", ends[0], sizes), ("ends", ends[1], sizes)]
    for name, values, limit in limits:
        if ((values < 0) | (values >= limit)).any():
            raise InvalidInputError(f"{name!r} has numbers that stand for nothing")
    return GraphPaths(node_ptr, attributes, colours, ptr, lengths, *ends)


def _check_attributes(batch: GraphBatch) -> None:
    """Raise where attributes are missing, or too large to compute with."""
    check_numbers(batch.attributes, batch.node_ptr)
    NodeFeatures(batch, Walks(1)).check_attributes()
