"""Small induced subgraphs with labels of nodes and edges, and their types up to isomorphism."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from retgk import _core
from retgk.array_types import Codes, Floats, Ints
from retgk.engine.fitted_state import FittedState
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import chunks, first_of_run, offsets
from retgk.graphs.slicing import read_only
from retgk.peer_kernels.matchings import MAX_SUBGRAPH, Matchings, restored_matchings
from retgk.refinement.label_refinement import known_edge_codes
from retgk.runtime.memory import available_bytes
from retgk.runtime.parallel import n_threads, run_tasks

__all__ = ["FoundSubgraphs", "SubgraphTypes"]

_TASK_COST = 1 << 22
_MOST_ORDERS = 120  # of five nodes
_MOST_SUBGRAPHS = 1e9  # of a graph, which is one compiled call: nothing stops it but its end
_PER_MINUTE = 1e8  # measured
_BYTES_OF_ROW = 128  # 32 and its part of a hash table, three times while they grow

_Part = tuple[Ints, Ints, Ints, Codes]
"""Types, types of graphs, how often they have them, and sets of nodes with their types."""


class FoundSubgraphs(NamedTuple):
    """Subgraphs of graphs, by their type."""

    ptr: Ints
    """First entry of every graph, shape (n_graphs + 1,)."""
    columns: Ints
    """Type of every entry, rising within a graph, shape (n_entries,)."""
    counts: Ints
    """How many such subgraphs the graph has, shape (n_entries,)."""
    types: Ints
    """Words and number of automorphisms of every column, shape (n_columns, 3)."""
    nodes: Codes
    """Nodes of every subgraph, entry after entry, shape (n_subgraphs, k); or none."""


@dataclass
class SubgraphTypes:
    """
    Types of induced subgraphs of up to k nodes, with a vocabulary of those of the fitted graphs.

    Parameters
    ----------
    matchings : Matchings
        Which subgraphs count: how large ones, connected ones alone, with or without edge labels.
    """

    matchings: Matchings
    edge_names: tuple[Hashable, ...] = field(init=False, default=())
    known: Ints = field(init=False)
    """Words of every type of the fitted graphs, rising, and its automorphisms; shape (n, 3)."""

    @property
    def bits(self) -> tuple[int, int]:
        """Bits of a label of a node and of an edge in their words."""
        k = self.matchings.k
        return 63 // k, min(63 // max(k * (k - 1) // 2, 1), 31)

    def fit(
        self, batch: GraphBatch, codes: Codes, n_jobs: int | None, keeps: bool = False
    ) -> FoundSubgraphs:
        """
        Find the subgraphs of the fitted graphs, whose nodes have these labels.

        Nodes of every subgraph come with them if it `keeps` these.
        """
        self.known = np.empty((0, 3), np.int64)
        self.edge_names = batch.edge_label_names if self.matchings.uses_edge_labels else ()
        found = self._found(batch, codes, batch.edge_labels, keeps, n_jobs)
        self.known = found.types
        return found

    def find(
        self, batch: GraphBatch, codes: Codes, n_jobs: int | None, keeps: bool = False
    ) -> FoundSubgraphs:
        """Find the subgraphs of new graphs; types of no fitted graph come after all others."""
        codes = _numbered_in_graphs(codes, self._n_node_labels, batch.node_ptr)
        edges = batch.edge_labels
        if self.matchings.uses_edge_labels:
            edges = known_edge_codes(batch, self.edge_names)
            if len(edges):
                of_graphs = batch.indptr[batch.node_ptr]
                edges = _numbered_in_graphs(edges, len(self.edge_names), of_graphs)
        return self._found(batch, codes, edges, keeps, n_jobs)

    @property
    def _n_node_labels(self) -> int:
        """Labels of nodes of the fitted graphs; each is that of a subgraph of one node."""
        return int(self.known[self.sizes(self.known) == 1, 0].max(initial=0))

    def _found(
        self, batch: GraphBatch, codes: Codes, edges: Codes, keeps: bool, n_jobs: int | None
    ) -> FoundSubgraphs:
        """Number types after the known ones, and put entries and subgraphs in their order."""
        has_edge_labels = self.matchings.uses_edge_labels and batch.has_edge_labels
        own_edges = read_only(edges if has_edge_labels else np.empty(0, np.int32))
        self._check_bits(codes, own_edges)
        self._check_work(batch)
        sizes, parts = self._counted(batch, codes, own_edges, keeps, n_jobs)
        places = offsets([len(part[0]) for part in parts])
        entries, n_sets, sets = (
            np.concatenate([part[1] + at for part, at in zip(parts, places, strict=False)]),
            np.concatenate([part[2] for part in parts]),
            np.concatenate([part[3] for part in parts]),
        )
        of_sets = np.concatenate(
            [part[3][:, 0] + at for part, at in zip(parts, places, strict=False)]
        )
        types, columns = _with_known(self.known, np.concatenate([part[0] for part in parts]))
        graphs = np.repeat(np.arange(len(batch)), sizes)
        order = np.lexsort((columns[entries], graphs))
        if keeps:
            in_graphs = np.bincount(graphs, n_sets, len(batch)).astype(np.int64)
            sets = sets[np.lexsort((columns[of_sets], np.repeat(np.arange(len(batch)), in_graphs)))]
        nodes = np.ascontiguousarray(sets[:, 1:])
        return FoundSubgraphs(offsets(sizes), columns[entries][order], n_sets[order], types, nodes)

    def _counted(
        self, batch: GraphBatch, codes: Codes, edges: Codes, keeps: bool, n_jobs: int | None
    ) -> tuple[Ints, list[_Part]]:
        """Number of entries of every graph, and what every task found."""
        k, connected = self.matchings.k, self.matchings.connected
        graph = (batch.node_ptr, batch.indptr, batch.indices, edges, codes)
        most = _room_for_rows(n_threads(n_jobs))
        costs = _steps(batch, k, connected)
        ranges = list(chunks(offsets(costs), _TASK_COST))
        sizes = np.zeros(len(batch), np.int64)
        # one at least: no graphs have no tasks
        parts: list[_Part] = [_nothing(k)] * max(len(ranges), 1)

        def work(place: int, first: int, last: int) -> None:
            room = most - sum(len(part[1]) for part in parts)
            types, kinds, counts, sets = _core.count_subgraph_types(
                first, last, *graph, k, *self.bits, connected, keeps, room, sizes
            )
            parts[place] = types.reshape(-1, 3), kinds, counts, sets.reshape(-1, 1 + k)
            self._check_room(sizes[first:last], first)

        tasks = [(place, *own) for place, own in enumerate(ranges)]
        of_ranges = [float(costs[first:last].sum()) for first, last in ranges]
        run_tasks(work, tasks, of_ranges, n_jobs, "subgraphs")
        return sizes, parts

    def sizes(self, types: Ints) -> Ints:
        """Number of nodes of types."""
        found = np.zeros(len(types), np.int64)
        for place in range(MAX_SUBGRAPH):
            found += (types[:, 0] >> min(self.bits[0] * place, 63)) > 0
        return found

    def automorphisms(self, types: Ints) -> tuple[Ints, Codes]:
        """Orders of nodes that leave each type as it is, and where those of each begin."""
        ptr = offsets(types[:, 2])
        found = np.zeros((int(ptr[-1]), MAX_SUBGRAPH), np.int32)
        _core.fill_automorphisms(types, *self.bits, ptr, found)
        return ptr, found

    def _check_room(self, sizes: Ints, first: int) -> None:
        """Raise if there was no room for the subgraphs of one of some graphs."""
        if len(sizes) and sizes.min() < 0:
            advice = "use a smaller k, or give fewer or smaller graphs"
            if not self.matchings.connected:
                advice = f"connected=True, or {advice}"
            raise InvalidInputError(
                f"graph {first + int(sizes.argmin())} has so many subgraphs of up to "
                f"{self.matchings.k} nodes that their types do not fit into the free memory",
                Remedy("fewer_graphs", advice),
            )

    def _check_work(self, batch: GraphBatch) -> None:
        """Raise if a graph has more subgraphs than can be counted in some minutes."""
        k, connected = self.matchings.k, self.matchings.connected
        fewest = _fewest_subgraphs(batch, k, connected)
        if fewest.max(initial=0.0) <= _MOST_SUBGRAPHS:
            return
        smaller = [
            size
            for size in range(1, k)
            if _fewest_subgraphs(batch, size, connected).max() <= _MOST_SUBGRAPHS
        ]
        graph, what = int(fewest.argmax()), "connected subgraphs" if connected else "subgraphs"
        other = "" if connected else "connected=True, "
        raise InvalidInputError(
            f"graph {graph} has at least {fewest[graph]:.2g} {what} of {k} nodes, which take about "
            f"{fewest[graph] / _PER_MINUTE:,.0f} minutes or more to count: use {other}"
            f"k={max(smaller, default=1)}, or leave the graph out"
        )

    def _check_bits(self, codes: Codes, edges: Codes) -> None:
        """Raise if there are more labels than their bits can tell apart."""
        for what, found, bits in zip(("nodes", "edges"), (codes, edges), self.bits, strict=True):
            n_labels = int(found.max(initial=-1)) + 1
            if n_labels >= 1 << bits:
                other = "start='none'" if what == "nodes" else "edge_kernel=None"
                raise InvalidInputError(
                    f"there are {n_labels} labels of {what}; matchings of up to "
                    f"{self.matchings.k} nodes take {(1 << bits) - 1}: use fewer labels, a smaller "
                    f"k, or {other}"
                )

    def state(self) -> FittedState:
        """Give labels of edges and types."""
        state = self.matchings.state()
        state.values["edge_label_names"] = self.edge_names
        state.arrays["subgraph_types"] = self.known
        return state

    def restore(self, state: FittedState) -> None:
        """Take them out of a state, after checking them."""
        self.matchings = restored_matchings(state)
        self.edge_names = state.take_names("edge_label_names")
        self.known = known = state.take_array("subgraph_types", np.int64, (None, 3))
        if len(known) and (known[:, 0].min() < 1 or known.min() < 0):
            raise InvalidInputError("'subgraph_types' has subgraphs without nodes")
        if (self.sizes(known) > self.matchings.k).any():
            raise InvalidInputError("'subgraph_types' has subgraphs of too many nodes")
        if not 1 <= known[:, 2].min(initial=1) <= known[:, 2].max(initial=1) <= _MOST_ORDERS:
            raise InvalidInputError("'subgraph_types' has impossible numbers of automorphisms")
        if len(_distinct_rows(known)[0]) < len(known):
            raise InvalidInputError("'subgraph_types' has a type twice")


def _numbered_in_graphs(codes: Codes, n_known: int, ptr: Ints) -> Codes:
    """
    Number the labels that are not known anew in every graph.

    They meet nothing in other graphs, so that a batch has room for as many as each of its graphs.
    """
    is_new = codes >= n_known
    if not is_new.any():
        return codes
    graphs = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))[is_new]
    pairs, place = np.unique([graphs, codes[is_new]], axis=1, return_inverse=True)
    in_graph = np.arange(pairs.shape[1]) - np.searchsorted(pairs[0], pairs[0])
    numbered = codes.copy()
    numbered[is_new] = n_known + in_graph[place.ravel()]
    return numbered


def _nothing(k: int) -> _Part:
    """What a task found that was not run."""
    own = np.empty(0, np.int64)
    return np.empty((0, 3), np.int64), own, own, np.empty((0, 1 + k), np.int32)


def _room_for_rows(n_tasks: int) -> int:
    """Rows of tables that each of so many tasks has room for."""
    available = available_bytes()
    return np.iinfo(np.int64).max if available is None else available // (_BYTES_OF_ROW * n_tasks)


def _with_known(known: Ints, found: Ints) -> tuple[Ints, Ints]:
    """
    Types after those that are known, in the order of their words, and the place of all found ones.

    The same type may be found several times, by several tasks.
    """
    firsts, numbers = _distinct_rows(np.concatenate([known, found]))
    is_new = firsts >= len(known)
    places = np.where(is_new, len(known) + np.cumsum(is_new) - 1, firsts)
    new = found[firsts[is_new] - len(known)]
    return np.concatenate([known, new]), places[numbers[len(known) :]]


def _distinct_rows(types: Ints) -> tuple[Ints, Ints]:
    """First row of each pair of words, in the order of words, and the pair of every row."""
    words = [np.unique(types[:, place], return_inverse=True)[1] for place in (0, 1)]
    pairs = words[0] * np.int64(words[1].max(initial=0) + 1) + words[1]
    _, firsts, numbers = np.unique(pairs, return_index=True, return_inverse=True)
    return firsts, numbers


def _steps(batch: GraphBatch, k: int, connected: bool) -> Ints:
    """Rough number of sets of nodes of every graph, for cutting the work into tasks."""
    n = batch.node_counts.astype(np.float64)
    if connected:
        degrees = np.add.reduceat(np.square(np.diff(batch.indptr)), batch.node_ptr[:-1]) / n
        steps = n * np.minimum(np.maximum(degrees, 1), n) ** ((k - 1) / 2)
    else:
        steps = n**k / (k + 1)
    return np.minimum(steps + n, 1e15).astype(np.int64)


def _fewest_subgraphs(batch: GraphBatch, k: int, connected: bool) -> Floats:
    """
    Give a number of sets of k nodes that every graph has, or more.

    A node and k - 1 of its neighbours are connected. Such a set is found from every one of its
    nodes at most, and from a single node once.
    """
    from scipy.special import comb

    if not connected:
        return np.asarray(comb(batch.node_counts, k))
    local = np.arange(batch.n_nodes) - first_of_run(batch.node_ptr)
    rows = np.repeat(np.arange(batch.n_nodes), np.diff(batch.indptr))
    degrees = np.bincount(rows[batch.indices != local[rows]], minlength=batch.n_nodes)
    sets, firsts = comb(degrees, k - 1), batch.node_ptr[:-1]
    return np.maximum(np.add.reduceat(sets, firsts) / k, np.maximum.reduceat(sets, firsts))
