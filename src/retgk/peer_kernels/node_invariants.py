"""Colours of nodes in the neighbourhoods that they belong to: vertex invariants."""

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk.array_types import Codes, Floats, Ints
from retgk.engine.fitted_state import FittedState
from retgk.engine.label_levels import LabelLevels
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.adjacency import Adjacency
from retgk.graphs.batch import GraphBatch, trusted_batch
from retgk.graphs.edge_labels import EdgeLabels
from retgk.graphs.ragged import chunks, offsets
from retgk.graphs.slicing import FlatGraphs
from retgk.refinement.label_refinement import MAX_ROUNDS, LabelRefinement
from retgk.runtime.memory import check_room
from retgk.runtime.parallel import run_tasks

__all__ = ["MAX_RADIUS", "NodeInvariants", "NodeProfiles", "Scope"]

Scope = Literal["local", "global"]
"""Where nodes are coloured: in each neighbourhood, or in the whole graph."""

_TASK_NODES = 1 << 14
MAX_RADIUS = 64
_BYTES_OF_COLOUR = 72  # of a node in a round: its colour and, while rows are summed, eight numbers


class NodeProfiles(NamedTuple):
    """Sparse row of every node: colours in its neighbourhoods, and how much they weigh."""

    ptr: Ints
    """First entry of every node."""
    columns: Codes
    """Colours, rising within a node; a run of numbers for each round, then those of new graphs."""
    values: Floats
    """Sum of one over the size, over the neighbourhoods in which the node has this colour."""

    def of_graphs(self, node_ptr: Ints) -> "NodeProfiles":
        """Sums of the rows of all nodes of each graph."""
        nodes = np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))
        graphs = np.searchsorted(node_ptr, nodes, side="right") - 1
        return _summed(graphs, self.columns, self.values, len(node_ptr) - 1)


@dataclass
class NodeInvariants:
    """
    Colours after rounds of refinement inside the neighbourhood of every node.

    Parameters
    ----------
    radius : int
        Steps from a node to the last ones of its neighbourhood.
    n_iter : int
        Rounds of refinement.
    scope : {"local", "global"}
        Whether colours are those inside of neighbourhoods, or of the whole graph.
    """

    radius: int
    n_iter: int
    scope: Scope
    levels: LabelLevels = field(init=False)

    def fit(self, batch: GraphBatch, codes: Codes, n_jobs: int | None) -> NodeProfiles:
        """Profiles of the fitted graphs, whose nodes have these first colours."""
        self.levels = LabelLevels(self.n_iter)
        self.levels.n_labels = int(codes.max(initial=-1)) + 1
        self.levels.refinement = LabelRefinement(self.n_iter)
        return self._profiles(batch, codes, self.levels.refinement.fit, n_jobs)

    def find(self, batch: GraphBatch, codes: Codes, n_jobs: int | None) -> NodeProfiles:
        """Profiles of new graphs."""
        return self._profiles(batch, codes, self.levels.refinement.colours, n_jobs)

    @property
    def n_known(self) -> tuple[int, ...]:
        """Number of colours of the fitted graphs, round by round."""
        return (self.levels.n_labels, *map(len, self.levels.refinement.tables))

    def _profiles(
        self, batch: GraphBatch, codes: Codes, colour: Any, n_jobs: int | None
    ) -> NodeProfiles:
        """Collect, for every node, its colour in each neighbourhood that it is in."""
        around, members = _neighbourhoods(batch, self.radius, self.n_iter + 1, n_jobs)
        if self.scope == "local":
            colours = colour(around, codes[members], n_jobs)
        else:
            colours = [own[members] for own in colour(batch, codes, n_jobs)]
        columns = np.concatenate(_columns(colours, self.n_known))
        weights = np.repeat(1.0 / around.node_counts, around.node_counts)
        nodes = np.tile(members, len(colours))
        return _summed(nodes, columns, np.tile(weights, len(colours)), batch.n_nodes)

    def state(self) -> FittedState:
        """Give the colours of the fitted graphs."""
        state = self.levels.state()
        names = ("radius", "n_iter", "scope")
        state.values |= {name: getattr(self, name) for name in names}
        state.values["n_labels"] = self.levels.n_labels
        return state

    def restore(self, state: FittedState, n_colours: int) -> int:
        """Take them out of a state, after checking them; gives the number of columns."""
        self.radius = state.take_count("radius", MAX_RADIUS)
        self.n_iter = state.take_count("n_iter", MAX_ROUNDS)
        scope: Any = state.take_choice("scope", ("local", "global"))
        self.scope, self.levels = scope, LabelLevels(self.n_iter)
        if not self.n_iter:
            self.levels.n_labels = state.take_count("n_labels", np.iinfo(np.int32).max)
        self.levels.restore(state)
        if self.levels.n_labels != n_colours:
            raise InvalidInputError("'n_labels' is not the number of 'first_colours'")
        return sum(self.n_known)


def _columns(colours: list[Ints], n_known: tuple[int, ...]) -> list[Ints]:
    """Number colours over all rounds; those of no fitted graph come after all others."""
    ends, next_new, found = offsets(n_known), sum(n_known), []
    for own, known, start in zip(colours, n_known, ends[:-1], strict=True):
        found.append(np.where(own < known, own + start, own - known + next_new))
        next_new += max(int(own.max(initial=0)) + 1 - known, 0)
    return found


def _summed(rows: Ints, columns: NDArray[Any], values: Floats, n_rows: int) -> NodeProfiles:
    """Sparse rows from entries of which some have the same row and column."""
    order = np.lexsort((columns, rows))
    rows, columns = rows[order], columns[order]
    is_first = np.ones(len(rows), bool)
    is_first[1:] = (np.diff(rows) != 0) | (np.diff(columns) != 0)
    starts = np.flatnonzero(is_first)
    sums = np.add.reduceat(values[order], starts) if len(starts) else np.empty(0)
    ptr = offsets(np.bincount(rows[starts], minlength=n_rows))
    return NodeProfiles(ptr, columns[starts].astype(np.int32), sums)


def _neighbourhoods(
    batch: GraphBatch, radius: int, n_levels: int, n_jobs: int | None
) -> tuple[GraphBatch, Ints]:
    """
    Neighbourhood of every node as a graph, and which node each of their nodes is.

    There must be room for so many levels of colours of all of their nodes, too.
    """
    sizes, n_entries = np.empty(batch.n_nodes, np.int64), np.empty(batch.n_nodes, np.int64)
    ranges = list(chunks(batch.node_ptr, _TASK_NODES))
    costs = [float(batch.node_ptr[last] - batch.node_ptr[first]) for first, last in ranges]
    graph = (batch.node_ptr, batch.indptr, batch.indices)

    def count(first: int, last: int) -> None:
        _core.count_neighbourhoods(first, last, *graph, radius, sizes, n_entries)

    run_tasks(count, ranges, costs, n_jobs, "neighbourhoods")
    ptrs = offsets(sizes), offsets(n_entries)
    n_nodes, total = int(ptrs[0][-1]), int(ptrs[1][-1])
    advice = "use a smaller radius, fewer rounds (n_iter), or give fewer graphs"
    n_bytes = (100 + _BYTES_OF_COLOUR * n_levels) * n_nodes + 12 * total
    check_room(
        n_bytes, "the colours of nodes in all neighbourhoods", Remedy("fewer_graphs", advice)
    )
    members, indptr = np.empty(n_nodes, np.int64), np.full(n_nodes + 1, total)
    indices, entries = np.empty(total, np.int32), np.empty(total, np.int64)

    def fill(first: int, last: int) -> None:
        span = (first, last, *graph, radius, *ptrs)
        _core.fill_neighbourhoods(*span, members, indptr, indices, entries)

    run_tasks(fill, ranges, costs, n_jobs, "neighbourhoods")
    edges = None
    if batch.has_edge_labels:
        edges = EdgeLabels(batch.edge_labels[entries], batch.edge_label_names)
    adjacency = Adjacency(indptr, indices, None)
    nothing = np.empty((n_nodes, 0))
    around = FlatGraphs(ptrs[0], adjacency, None, (), nothing, None, edges)
    return trusted_batch(around), members
