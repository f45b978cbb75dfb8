"""Matchings of subgraphs, weighted by kernels of attributes of nodes or of weights of edges."""

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from retgk import _core
from retgk.array_types import Codes, Floats, Ints
from retgk.engine.fitted_state import FittedState
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import offsets
from retgk.peer_kernels.pair_engine import ColouredNodes, PairEngine, taken_offsets
from retgk.peer_kernels.subgraph_types import FoundSubgraphs, SubgraphTypes
from retgk.runtime.memory import check_room

__all__ = ["MatchedGraphs", "MatchingEngine"]

_MOST_MATCHINGS = 1e11  # of two graphs, which are one compiled call: nothing stops it but its end
_PER_MINUTE = 6e9  # measured


@dataclass(frozen=True, eq=False)
class MatchedGraphs(ColouredNodes):
    """
    Nodes of graphs, and their subgraphs in the order of types.

    Attributes
    ----------
    ptr : ndarray of int64, shape (n_graphs + 1,)
        First entry of every graph; an entry stands for all of its subgraphs of one type.
    columns : ndarray of int64, shape (n_entries,)
        Type of every entry, rising within a graph.
    set_ptr : ndarray of int64, shape (n_entries + 1,)
        First subgraph of every entry.
    nodes : ndarray of int32, shape (n_subgraphs, k)
        Nodes of every subgraph, numbered within their graph.
    indptr, indices, edge_weights : ndarray
        Edges and their weights; empty where these are left out.
    orders : tuple of ndarray
        Automorphisms of all types that the columns stand for, after their offsets.
    sizes : ndarray of int64, shape (n_types,)
        Numbers of nodes of these types.
    """

    ptr: Ints
    columns: Ints
    set_ptr: Ints
    nodes: Codes
    indptr: Ints
    indices: Codes
    edge_weights: Floats
    orders: tuple[Ints, Codes]
    sizes: Ints

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Ints, Codes, Ints, Codes, Floats]:
        """The arrays, for compiled loops."""
        edges = (self.indptr, self.indices, self.edge_weights)
        return self.node_ptr, self.ptr, self.columns, self.set_ptr, self.nodes, *edges


@dataclass
class MatchingEngine(PairEngine):
    """
    Sum over matchings of subgraphs of the kernels of matched nodes and edges.

    Parameters
    ----------
    node_kernel, start, normalize, random_state
        As in `PairEngine`.
    types : SubgraphTypes
        Which subgraphs are matched.
    """

    types: SubgraphTypes = field(kw_only=True)

    without_vectors: ClassVar[str] = "matchings that are weighted by kernels"
    way_to_vectors: ClassVar[str] = "use attribute_kernel=None, and no Bridge as edge_kernel"

    def taken(
        self, batch: GraphBatch, codes: Codes, is_fit: bool, n_jobs: int | None
    ) -> MatchedGraphs:
        """Find the subgraphs; they are counted first, as they may be too many to keep."""
        find = self.types.fit if is_fit else self.types.find
        counted = find(batch, codes, n_jobs)
        _check_matchings(counted, self.types.matchings.k)
        n_subgraphs = int(counted.counts.sum())
        remedy = Remedy("fewer_graphs", f"{self.fewer}, or use a smaller k")
        check_room(16 * self.types.matchings.k * n_subgraphs, "the list of subgraphs", remedy)
        found = find(batch, codes, n_jobs, keeps=True)
        has_weights = self.types.matchings.width > 0
        return MatchedGraphs(
            np.array(batch.node_ptr),
            np.array(batch.attributes if self.fitted_kernel else batch.attributes[:, :0]),
            np.array(codes),
            found.ptr,
            found.columns,
            offsets(found.counts),
            found.nodes,
            np.array(batch.indptr if has_weights else batch.indptr[:1]),
            np.array(batch.indices if has_weights else batch.indices[:0]),
            np.array(batch.weights if has_weights else np.empty(0)),
            self.types.automorphisms(found.types),
            self.types.sizes(found.types),
        )

    def fill_row(
        self,
        rows: MatchedGraphs,
        graph: int,
        columns: MatchedGraphs,
        first: int,
        last: int,
        out: Floats,
    ) -> None:
        """Write the sums of one graph with some others."""
        nodes = slice(columns.node_ptr[first], columns.node_ptr[last])
        kernel = rows.node_kernel(graph, columns, nodes, self.fitted_kernel)
        matchings = self.types.matchings
        types = (*rows.orders, rows.sizes, matchings.size_weights)
        graphs = (graph, *rows.arrays, first, last, *columns.arrays)
        _core.fill_matchings(kernel, *graphs, *types, matchings.width, out)

    def state(self) -> FittedState:
        """Give subgraphs of the fitted graphs, and their types."""
        state, own = super().state(), self.types.state()
        state.values |= own.values
        state.arrays |= own.arrays | {name: getattr(self.graphs, name) for name in _ARRAYS}
        return state

    def restore(self, state: FittedState) -> Self:
        """Take them out of a state, after checking them."""
        nodes = self.restored_nodes(state)
        self.types.restore(state)
        self.graphs = _restored_graphs(state, nodes, self.types)
        return self


def _check_matchings(found: FoundSubgraphs, k: int) -> None:
    """Raise if a graph has more matchings with itself than can be added up in some minutes."""
    graphs = np.repeat(np.arange(len(found.ptr) - 1), np.diff(found.ptr))
    matchings = np.square(found.counts.astype(np.float64)) * found.types[found.columns, 2]
    totals = np.bincount(graphs, matchings)
    if totals.max(initial=0.0) > _MOST_MATCHINGS:
        graph = int(totals.argmax())
        raise InvalidInputError(
            f"graph {graph} has {totals[graph]:.2g} matchings of up to {k} nodes with itself, "
            f"which take about {totals[graph] / _PER_MINUTE:,.0f} minutes: use a smaller k, leave "
            "attributes and weights of edges out, or leave the graph out"
        )


_ARRAYS = ("ptr", "columns", "set_ptr", "nodes", "indptr", "indices", "edge_weights")


def _restored_graphs(
    state: FittedState, nodes: ColouredNodes, types: SubgraphTypes
) -> MatchedGraphs:
    """Take subgraphs and edges out of a state, after checking them."""
    columns = state.take_array("columns", np.int64, (None,))
    ptr = taken_offsets(state, "ptr", len(nodes), len(columns))
    sets = state.take_array("nodes", np.int32, (None, types.matchings.k))
    set_ptr = taken_offsets(state, "set_ptr", len(columns), len(sets))
    if len(columns) and not 0 <= columns.min() <= columns.max() < len(types.known):
        raise InvalidInputError("'columns' has types that are not there")
    sizes = np.diff(nodes.node_ptr)
    of_entries = np.repeat(sizes, np.diff(ptr))
    if ((sets < 0) | (sets >= np.repeat(of_entries, np.diff(set_ptr))[:, None])).any():
        raise InvalidInputError("'nodes' has nodes that are not there")
    indices = state.take_array("indices", np.int32, (None,))
    weights = state.take_array("edge_weights", np.float64, (len(indices),))
    has_edges = types.matchings.width > 0
    n_rows = len(nodes.colours) if has_edges else 0
    indptr = taken_offsets(state, "indptr", n_rows, len(indices))
    of_nodes = np.repeat(np.repeat(sizes, sizes), np.diff(indptr)) if has_edges else 0
    if ((indices < 0) | (indices >= of_nodes)).any():
        raise InvalidInputError("'indices' has nodes that are not there")
    own = (nodes.node_ptr, nodes.attributes, nodes.colours, ptr, columns, set_ptr, sets)
    of_types = (types.automorphisms(types.known), types.sizes(types.known))
    return MatchedGraphs(*own, indptr, indices, weights, *of_types)
