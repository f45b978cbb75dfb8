"""Sums over pairs of nodes of a kernel of attributes, weighted by invariants that agree."""

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from retgk import _core
from retgk.array_types import Codes, Floats
from retgk.engine.fitted_state import FittedState
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.validation import warn_of_unknown_labels
from retgk.peer_kernels.graph_counts import GraphCounts
from retgk.peer_kernels.node_invariants import NodeInvariants, NodeProfiles
from retgk.peer_kernels.pair_engine import ColouredNodes, PairEngine, taken_offsets
from retgk.peer_kernels.stored_colours import colour_values, restored_colours
from retgk.refinement.first_colours import FirstColours, Start

__all__ = ["InvariantCounter", "InvariantEngine", "ProfiledGraphs"]


@dataclass(frozen=True, eq=False)
class ProfiledGraphs(ColouredNodes):
    """
    Nodes of graphs, and the invariants of each.

    Attributes
    ----------
    profiles : NodeProfiles
        Sparse row of every node.
    """

    profiles: NodeProfiles


@dataclass
class InvariantEngine(PairEngine):
    """
    Sum over pairs of nodes of the kernel of attributes times the product of their invariants.

    Parameters
    ----------
    node_kernel, start, normalize, random_state
        As in `PairEngine`.
    invariants : NodeInvariants
        Colours of nodes in neighbourhoods.
    """

    invariants: NodeInvariants = field(kw_only=True)

    without_vectors: ClassVar[str] = "nodes that are compared by a kernel of attributes"

    def taken(
        self, batch: GraphBatch, codes: Codes, is_fit: bool, n_jobs: int | None
    ) -> ProfiledGraphs:
        """Find the invariants of nodes."""
        find = self.invariants.fit if is_fit else self.invariants.find
        profiles = find(batch, codes, n_jobs)
        own = (np.array(batch.node_ptr), np.array(batch.attributes), np.array(codes))
        return ProfiledGraphs(*own, profiles)

    def fill_row(
        self,
        rows: ProfiledGraphs,
        graph: int,
        columns: ProfiledGraphs,
        first: int,
        last: int,
        out: Floats,
    ) -> None:
        """Write the kernel of one graph with some others."""
        nodes = slice(columns.node_ptr[first], columns.node_ptr[last])
        kernel = rows.node_kernel(graph, columns, nodes, self.fitted_kernel)
        own = (int(rows.node_ptr[graph]), *rows.profiles)
        others = (columns.node_ptr, *columns.profiles)
        _core.fill_invariant_products(kernel, *own, first, last, *others, out)

    def state(self) -> FittedState:
        """Give nodes, their invariants, and the colours of the fitted graphs."""
        state, own = super().state(), self.invariants.state()
        state.values |= own.values
        names = ("profile_ptr", "profile_columns", "profile_values")
        state.arrays |= own.arrays | dict(zip(names, self.graphs.profiles, strict=True))
        return state

    def restore(self, state: FittedState) -> Self:
        """Take them out of a state, after checking them."""
        nodes = self.restored_nodes(state)
        n_columns = self.invariants.restore(state, len(self.first.names))
        columns = state.take_array("profile_columns", np.int32, (None,))
        values = state.take_array("profile_values", np.float64, (len(columns),))
        ptr = taken_offsets(state, "profile_ptr", len(nodes.colours), len(columns))
        if len(columns) and not 0 <= columns.min() <= columns.max() < n_columns:
            raise InvalidInputError("'profile_columns' has colours that are not there")
        own = (nodes.node_ptr, nodes.attributes, nodes.colours)
        self.graphs = ProfiledGraphs(*own, NodeProfiles(ptr, columns, values))
        return self


@dataclass
class InvariantCounter:
    """
    Sums of the invariants of all nodes of graphs: without attributes, their products are all.

    Parameters
    ----------
    start : {"labels", "degrees", "none"}
        First colours of nodes.
    invariants : NodeInvariants
        Colours of nodes in neighbourhoods.
    """

    start: Start
    invariants: NodeInvariants
    first: FirstColours = field(init=False)

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        """Add up the invariants of the fitted graphs."""
        self.first = FirstColours(self.start)
        return self._summed(batch, self.invariants.fit(batch, self.first.fit(batch), n_jobs))

    def counts(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        """Add up the invariants of new graphs."""
        codes = self.first.colours(batch)
        if self.start == "labels":
            warn_of_unknown_labels(batch.label_names, self.first.names)
        return self._summed(batch, self.invariants.find(batch, codes, n_jobs))

    def _summed(self, batch: GraphBatch, profiles: NodeProfiles) -> GraphCounts:
        return GraphCounts(*profiles.of_graphs(batch.node_ptr), sum(self.invariants.n_known))

    def state(self) -> FittedState:
        """Give the colours of the fitted graphs."""
        state = self.invariants.state()
        state.values |= colour_values(self.first)
        return state

    def restore(self, state: FittedState) -> int:
        """Take them out of a state, after checking them; gives the number of columns."""
        self.first = restored_colours(state)
        self.start = self.first.start
        return self.invariants.restore(state, len(self.first.names))
