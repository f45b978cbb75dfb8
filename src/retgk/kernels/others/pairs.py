"""Kernels that are computed pair of graphs by pair of graphs, from a kernel of their nodes."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from retgk._runtime.names import RandomState
from retgk._runtime.parallel import run_tasks
from retgk._runtime.processes import check_room
from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch, check_alike, warn_of_unknown_labels
from retgk.graphs.flat import chunks
from retgk.kernels.engine import FittedState, check_kernel_values
from retgk.kernels.node import Bridge, NodeKernel
from retgk.kernels.others.base import (
    check_attributes,
    check_norms,
    colour_values,
    divide_by_norms,
    restored_colours,
)
from retgk.kernels.refinement import FirstColours, Start

_BLOCK_NODES = 1 << 12


@dataclass(frozen=True, eq=False)
class ColouredNodes:
    """
    Nodes of graphs with what a kernel of nodes compares; engines add what else they need.

    Attributes
    ----------
    node_ptr : ndarray of int64, shape (n_graphs + 1,)
        First node of every graph.
    attributes : ndarray of float64, shape (n_nodes, n_attributes)
        Attributes of the nodes.
    colours : ndarray of int32, shape (n_nodes,)
        Labels of the nodes; pairs of nodes with different ones add nothing.
    """

    node_ptr: Ints
    attributes: Floats
    colours: Codes

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    def node_kernel(
        self, graph: int, others: "ColouredNodes", nodes: slice, k: NodeKernel | Bridge | None
    ) -> Floats:
        """Kernel of the nodes of one graph with some of other graphs; None compares labels."""
        own = slice(self.node_ptr[graph], self.node_ptr[graph + 1])
        is_alike = self.colours[own][:, None] == others.colours[nodes]
        values: Floats = is_alike.astype(np.float64)
        if k is not None:
            values *= k(self.attributes[own], others.attributes[nodes])
        return values


@dataclass
class PairEngine(ABC):
    """
    Kernel of two graphs from a kernel of their nodes.

    A subclass says what it takes of graphs (`taken`), and computes values of one graph with some
    others (`fill_row`).

    Parameters
    ----------
    node_kernel : Laplacian, Gaussian, Polynomial, Bridge or None
        Kernel of attributes; nodes also have to have the same colour. None leaves attributes out.
    start : {"labels", "degrees", "none"}
        What the colours are.
    normalize : bool
        Whether to divide by the roots of the kernels of both graphs with themselves.
    random_state : int, Generator, RandomState or None
        Draws nodes for a median.
    """

    node_kernel: NodeKernel | Bridge | None
    start: Start
    normalize: bool
    random_state: RandomState = None
    first: FirstColours = field(init=False)
    fitted_kernel: NodeKernel | Bridge | None = field(init=False)
    graphs: Any = field(init=False)
    """What `taken` gave of the fitted graphs."""
    norms: Floats = field(init=False)
    """Kernel of every fitted graph with itself."""

    fewer: ClassVar[str] = "give fewer graphs, or leave attributes out"
    """What to do where memory is short."""
    without_vectors: ClassVar[str]
    """What has no vectors, as a message begins."""
    way_to_vectors: ClassVar[str] = "use attribute_kernel=None"
    """Why there are no vectors of finite length."""

    @abstractmethod
    def taken(self, batch: GraphBatch, codes: Codes, is_fit: bool, n_jobs: int | None) -> Any:
        """Take what is compared of graphs whose nodes have these colours."""

    @abstractmethod
    def fill_row(
        self, rows: Any, graph: int, columns: Any, first: int, last: int, out: Any
    ) -> None:
        """Write the kernel of one graph with some others into `out`, at the places of these."""

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> Self:
        """Take the fitted graphs, and find the bandwidth of the kernel of nodes."""
        if self.node_kernel is not None:
            if not batch.n_attributes:
                raise InvalidInputError(
                    "attribute_kernel is given, but nodes have no attributes",
                    Remedy("attributes", "give some, or use attribute_kernel=None"),
                )
            check_attributes(batch)
        self.first = FirstColours(self.start)
        codes = self.first.fit(batch)
        self.fitted_kernel = self.node_kernel and self.node_kernel.fitted(
            batch.attributes, batch.node_ptr, self.random_state
        )
        if self.fitted_kernel is not None:
            check_kernel_values(self.fitted_kernel, batch.attributes, batch)
        self.graphs = self.taken(batch, codes, True, n_jobs)
        self.norms = self._own_products(self.graphs, n_jobs)
        return self

    def _rows(self, rows: Any, columns: Any, is_lower: bool, n_jobs: int | None) -> Floats:
        """Kernel of rows and columns, not normalized; on and below the diagonal, if `is_lower`."""
        remedy = Remedy("fewer_graphs", self.fewer)
        check_room(8 * len(rows) * len(columns), "the kernel matrix", remedy)
        out = np.zeros((len(rows), len(columns)))

        def work(graph: int, first: int, last: int) -> None:
            self.fill_row(rows, graph, columns, first, last, out[graph])

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

    def _own_products(self, graphs: Any, n_jobs: int | None) -> Floats:
        """Kernel of every graph with itself, or an error if one is no number."""
        out = np.zeros(len(graphs))

        def work(graph: int) -> None:
            self.fill_row(graphs, graph, graphs, graph, graph + 1, out)

        tasks = [(graph,) for graph in range(len(graphs))]
        run_tasks(work, tasks, np.diff(graphs.node_ptr).astype(float).tolist(), n_jobs, "norms")
        check_norms(out, self.normalize)
        return out

    def matrix(self, n_jobs: int | None) -> Floats:
        """Kernel matrix of the fitted graphs."""
        lower = self._rows(self.graphs, self.graphs, True, n_jobs)
        np.fill_diagonal(lower, self.norms)
        out = np.tril(lower) + np.tril(lower, -1).T
        return self._normalized(out, self.norms)

    def compare(self, batch: GraphBatch, n_jobs: int | None) -> Floats:
        """Kernel matrix of new graphs, one row each, with the fitted ones."""
        graphs = self._new_graphs(batch, n_jobs)
        norms = self._own_products(graphs, n_jobs)
        return self._normalized(self._rows(graphs, self.graphs, False, n_jobs), norms)

    def _normalized(self, out: Floats, norms: Floats) -> Floats:
        if self.normalize:
            divide_by_norms(out, norms, self.norms)
        return out

    def _new_graphs(self, batch: GraphBatch, n_jobs: int | None) -> Any:
        if self.fitted_kernel is not None:
            check_alike(batch, batch.has_labels, self.graphs.attributes.shape[1])
            check_attributes(batch)
            check_kernel_values(self.fitted_kernel, batch.attributes, batch)
        codes = self.first.colours(batch)
        if self.start == "labels":
            warn_of_unknown_labels(batch.label_names, self.first.names)
        return self.taken(batch, codes, False, n_jobs)

    def own_values(self, batch: GraphBatch | None, n_jobs: int | None) -> Floats:
        """Kernel of every graph with itself, before it is normalized; of fitted ones by default."""
        if batch is None:
            return self.norms.copy()
        return self._own_products(self._new_graphs(batch, n_jobs), n_jobs)

    def features(self, batch: GraphBatch, n_jobs: int | None) -> NoReturn:  # noqa: ARG002
        """Raise: there are none."""
        remedy = Remedy("attributes", self.way_to_vectors)
        raise InvalidInputError(f"{self.without_vectors} have no vectors of finite length", remedy)

    def state(self) -> FittedState:
        """Give what all such engines keep: colours, kernel, nodes and norms."""
        values = {**colour_values(self.first), "normalize": bool(self.normalize)}
        arrays = {
            name: getattr(self.graphs, name) for name in ("node_ptr", "attributes", "colours")
        }
        return FittedState(
            {**values, "node_kernel": self.fitted_kernel}, {**arrays, "norms": self.norms}
        )

    def restored_nodes(self, state: FittedState) -> ColouredNodes:
        """Take that out of a state, after checking it; the nodes are given back."""
        self.first = restored_colours(state)
        self.start, names = self.first.start, self.first.names
        self.normalize = state.take_value("normalize", bool)
        given = state.values.get("node_kernel")
        if given is None or isinstance(given, Bridge):
            self.fitted_kernel = state.take_value("node_kernel", Bridge, type(None))
        else:
            self.fitted_kernel = state.take_node_kernel("node_kernel")
        self.norms = state.take_array("norms", np.float64, (None,))
        attributes = state.take_array("attributes", np.float64, (None, None))
        node_ptr = taken_offsets(state, "node_ptr", len(self.norms), len(attributes), 1)
        colours = state.take_array("colours", np.int32, (len(attributes),))
        if len(colours) and not 0 <= colours.min() <= colours.max() < len(names):
            raise InvalidInputError("'colours' has numbers that stand for nothing")
        return ColouredNodes(node_ptr, attributes, colours)


def taken_offsets(
    state: FittedState, name: str, n_runs: int, total: int, least_step: int = 0
) -> Ints:
    """Take offsets of runs out of a state; they must rise from 0 to `total`."""
    ptr = state.take_array(name, np.int64, (n_runs + 1,))
    if ptr[0] != 0 or ptr[-1] != total or (np.diff(ptr) < least_step).any():
        raise InvalidInputError(f"{name!r} does not rise from 0 to {total}")
    return ptr
