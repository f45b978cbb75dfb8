"""Kernels that are computed pair of graphs by pair of graphs, from a kernel of their nodes."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

import numpy as np

from retgk._runtime.fields import check_codes, check_offsets, check_shape
from retgk._runtime.names import RandomState
from retgk._runtime.parallel import run_tasks
from retgk._runtime.processes import check_room
from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, check_alike
from retgk.graphs.flat import chunks
from retgk.kernels.engine import check_kernel_values
from retgk.kernels.graph import divide_by_norms
from retgk.kernels.node import Bridge, NodeKernel
from retgk.kernels.others.base import (
    PeerEngine,
    check_attributes,
    check_first,
    check_norms,
)
from retgk.kernels.refinement import FirstColours, Start

_BLOCK_NODES = 1 << 12


@dataclass(frozen=True, eq=False)
class ColouredNodes:
    """Nodes of graphs with what a kernel of nodes compares; engines add what else they need."""

    node_ptr: Ints  # (n_graphs + 1,): first node of every graph
    attributes: Floats  # (n_nodes, n_attributes): attributes of the nodes
    colours: Codes  # (n_nodes,)

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    def after_loading(self) -> None:
        check_shape("attributes", self.attributes, None, None)
        check_shape("colours", self.colours, len(self.attributes))
        check_offsets("node_ptr", self.node_ptr, len(self), len(self.attributes), 1)

    def node_kernel(
        self, graph: int, others: "ColouredNodes", nodes: slice, k: NodeKernel | Bridge | None
    ) -> Floats:
        own = slice(self.node_ptr[graph], self.node_ptr[graph + 1])
        is_alike = self.colours[own][:, None] == others.colours[nodes]
        values: Floats = is_alike.astype(np.float64)
        if k is not None:
            values *= k(self.attributes[own], others.attributes[nodes])
        return values


@dataclass
class PairEngine(PeerEngine):
    """
    Kernel that is computed pair of graphs by pair of graphs.

    A subclass says what it takes of graphs (`taken`), which must have `node_ptr`, and computes
    values of one graph with some others (`fill_row`).
    """

    normalize: bool = field(kw_only=True)
    graphs: Any = field(init=False)  # what `taken` gave of the fitted graphs
    norms: Floats = field(init=False)
    kept: Ints | None = field(init=False, default=None)

    fewer: ClassVar[str] = "give fewer graphs, or leave attributes out"
    """What to do where memory is short."""
    without_vectors: ClassVar[str] = "graphs that are compared pair by pair"
    """What has no vectors, as a message begins."""
    way_to_vectors: ClassVar[str] = "use attributes=None"
    """Why there are no vectors of finite length."""

    @abstractmethod
    def fill_row(
        self, rows: Any, graph: int, columns: Any, first: int, last: int, out: Any
    ) -> None:
        """Write the kernel of one graph with some others into `out`, at the places of these."""

    def store(self, taken: Any) -> None:
        self.graphs = taken

    def own_products(self, taken: Any, n_jobs: int | None) -> Floats:
        out, n_graphs = np.zeros(len(taken.node_ptr) - 1), len(taken.node_ptr) - 1

        def work(graph: int) -> None:
            self.fill_row(taken, graph, taken, graph, graph + 1, out)

        costs = np.diff(taken.node_ptr).astype(float).tolist()
        run_tasks(work, [(graph,) for graph in range(n_graphs)], costs, n_jobs, "norms")
        check_norms(out, self.normalize)
        return out

    def matrix(self, n_jobs: int | None) -> Floats:
        lower = self._filled(self.graphs, True, n_jobs)
        np.fill_diagonal(lower, self.norms)
        out = np.asarray(np.tril(lower) + np.tril(lower, -1).T)
        if self.normalize:
            divide_by_norms(out, self.norms, self.norms)
        return out

    def rows(self, taken: Any, norms: Floats, n_jobs: int | None) -> Floats:  # noqa: ARG002
        return self._filled(taken, False, n_jobs)

    def _filled(self, rows: Any, is_lower: bool, n_jobs: int | None) -> Floats:
        columns, n_rows = self.graphs, len(rows.node_ptr) - 1
        check_room(8 * n_rows * len(self.norms), "the kernel matrix", self.fewer)
        out = np.zeros((n_rows, len(self.norms)))

        def work(graph: int, first: int, last: int) -> None:
            self.fill_row(rows, graph, columns, first, last, out[graph])

        blocks = list(chunks(columns.node_ptr, _BLOCK_NODES))
        tasks = [
            (graph, first, min(last, graph + 1) if is_lower else last)
            for graph in range(n_rows)
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

    def features(self, batch: GraphBatch, n_jobs: int | None) -> NoReturn:  # noqa: ARG002
        raise InvalidInputError(
            f"{self.without_vectors} have no vectors of finite length; {self.way_to_vectors}"
        )


@dataclass
class NodePairEngine(PairEngine):
    """
    Kernel of two graphs from a kernel of their nodes, which also have to have the same colour.

    A subclass says what it takes of graphs whose nodes have colours (`coloured`). Without a
    `node_kernel` attributes are left out; `random_state` draws nodes for a median.
    """

    node_kernel: NodeKernel | Bridge | None
    start: Start
    random_state: RandomState = None
    unsaved_fields: ClassVar[tuple[str, ...]] = ("random_state",)
    first: FirstColours = field(init=False)
    fitted_kernel: NodeKernel | Bridge | None = field(init=False)

    @abstractmethod
    def coloured(self, batch: GraphBatch, codes: Codes, is_fit: bool, n_jobs: int | None) -> Any:
        """Take what is compared of graphs whose nodes have these colours: `ColouredNodes`."""

    def taken(self, batch: GraphBatch, is_fit: bool, n_jobs: int | None) -> Any:
        codes = self._fit_nodes(batch) if is_fit else self._colours(batch)
        if self.fitted_kernel is not None:
            check_kernel_values(self.fitted_kernel, batch.attributes, batch)
        return self.coloured(batch, codes, is_fit, n_jobs)

    def _fit_nodes(self, batch: GraphBatch) -> Codes:
        self.fitted_kernel = None
        if self.node_kernel is not None:
            if not batch.n_attributes:
                raise InvalidInputError(
                    "attributes is given, but nodes have no attributes; give some, or use "
                    "attributes=None"
                )
            check_attributes(batch)
            own = (batch.attributes, batch.node_ptr, self.random_state)
            self.fitted_kernel = self.node_kernel.fitted(*own)
        self.first = FirstColours(self.start)
        return self.first.fit(batch)

    def _colours(self, batch: GraphBatch) -> Codes:
        if self.fitted_kernel is not None:
            check_alike(batch, batch.has_labels, self.graphs.attributes.shape[1])
            check_attributes(batch)
        return self.first.colours(batch, warns=True)

    def after_loading(self) -> None:
        check_first(self)
        if not isinstance(self.graphs, ColouredNodes):
            raise InvalidInputError("there are no nodes to compare")
        check_shape("norms", self.norms, len(self.graphs))
        check_codes("colours", self.graphs.colours, len(self.first.names))
        if isinstance(getattr(self.fitted_kernel, "gamma", 1.0), str):
            raise InvalidInputError("the fitted kernel has no number for gamma")
