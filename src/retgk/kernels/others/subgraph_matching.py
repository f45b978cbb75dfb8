"""The subgraph matching kernel."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from retgk import _core
from retgk._runtime.fields import check_codes, check_names, check_offsets, check_shape, stored
from retgk._runtime.names import RandomState
from retgk._runtime.parallel import n_threads
from retgk._runtime.parameters import FLAG, PEERS, START, Whole
from retgk._runtime.processes import available_bytes, check_room
from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, read_only
from retgk.graphs.flat import first_of_run, offsets, run_over_runs
from retgk.kernels.node import Bridge, NodeKernel, check_kernel_class, check_node_kernel
from retgk.kernels.others.base import Compared, LabelColumns, PeerEngine, PeerKernel, check_first
from retgk.kernels.others.counts import CountEngine, GraphCounts
from retgk.kernels.others.pairs import ColouredNodes, NodePairEngine
from retgk.kernels.refinement import FirstColours, Start, known_edge_codes

# Which matchings of subgraphs count, and how much.

MAX_SUBGRAPH = 5
"""Most nodes of a matched subgraph."""


@stored
@dataclass(frozen=True, eq=False)
class Matchings:
    """Which matchings of subgraphs count, and how much."""

    k: int  # most nodes
    connected: bool  # whether matched subgraphs have to be connected
    uses_edge_labels: bool  # whether edges with different labels do not match
    size_weights: Floats  # (k,)
    width: float = 0.0
    """Width of the bridge kernel of weights of edges; zero where weights are left out."""

    def after_loading(self) -> None:
        if not 1 <= self.k <= MAX_SUBGRAPH or not 0 <= self.width < np.inf:
            raise InvalidInputError("k or width is out of range")
        check_shape("size_weights", self.size_weights, self.k)
        if (self.size_weights < 0).any():
            raise InvalidInputError("size_weights are below 0")


# Small induced subgraphs with labels of nodes and edges, and their types up to isomorphism.

_TASK_COST = 1 << 22
_MOST_ORDERS = 120  # of five nodes
_MOST_SUBGRAPHS = 1e9  # of a graph, which is one compiled call: nothing stops it but its end
_CONNECTED_PER_MINUTE = 1e8  # measured
_BYTES_OF_ROW = 128  # 32 and its part of a hash table, three times while they grow

_Part = tuple[Ints, Ints, Ints, Codes]
"""Types, types of graphs, how often they have them, and sets of nodes with their types."""


class FoundSubgraphs(NamedTuple):
    """Subgraphs of graphs, by their type."""

    ptr: Ints  # first entry of every graph, shape (n_graphs + 1,)
    columns: Ints  # type of every entry, rising within a graph, shape (n_entries,)
    counts: Ints  # how many such subgraphs the graph has, shape (n_entries,)
    types: Ints  # words and number of automorphisms of every column, shape (n_columns, 3)
    nodes: Codes  # nodes of every subgraph, entry after entry, shape (n_subgraphs, k); or none


@stored
@dataclass
class SubgraphTypes:
    """Types of induced subgraphs of up to k nodes, with a vocabulary of the fitted graphs."""

    matchings: Matchings
    """Which subgraphs count: how large ones, connected ones alone, with or without edge labels."""
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
        """Subgraphs of the fitted graphs, with the nodes of every one if it `keeps` these."""
        self.known = np.empty((0, 3), np.int64)
        self.edge_names = batch.edge_label_names if self.matchings.uses_edge_labels else ()
        found = self._found(batch, codes, batch.edge_labels, keeps, n_jobs)
        self.known = found.types
        return found

    def find(
        self, batch: GraphBatch, codes: Codes, n_jobs: int | None, keeps: bool = False
    ) -> FoundSubgraphs:
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
        sizes = np.zeros(len(batch), np.int64)
        parts: dict[int, _Part] = {}

        def work(first: int, last: int) -> None:
            room = most - sum(len(part[1]) for part in list(parts.values()))
            types, kinds, counts, sets = _core.count_subgraph_types(
                first, last, *graph, k, *self.bits, connected, keeps, room, sizes
            )
            parts[first] = types.reshape(-1, 3), kinds, counts, sets.reshape(-1, 1 + k)
            self._check_room(sizes[first:last], first)

        costs = offsets(_steps(batch, k, connected))
        run_over_runs(work, costs, _TASK_COST, n_jobs, "subgraphs")
        return sizes, [parts[first] for first in sorted(parts)] or [_nothing(k)]

    def sizes(self, types: Ints) -> Ints:
        found = np.zeros(len(types), np.int64)
        for place in range(MAX_SUBGRAPH):
            found += (types[:, 0] >> min(self.bits[0] * place, 63)) > 0
        return found

    def automorphisms(self, types: Ints) -> tuple[Ints, Codes]:
        ptr = offsets(types[:, 2])
        found = np.zeros((int(ptr[-1]), MAX_SUBGRAPH), np.int32)
        _core.fill_automorphisms(types, *self.bits, ptr, found)
        return ptr, found

    def _check_room(self, sizes: Ints, first: int) -> None:
        if len(sizes) and sizes.min() < 0:
            advice = "use a smaller k, or give fewer or smaller graphs"
            if not self.matchings.connected:
                advice = f"connected=True, or {advice}"
            raise InvalidInputError(
                f"graph {first + int(sizes.argmin())} has so many subgraphs of up to "
                f"{self.matchings.k} nodes that their types do not fit into the free memory; "
                f"{advice}"
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
            f"{fewest[graph] / _CONNECTED_PER_MINUTE:,.0f} minutes or more to count: use {other}"
            f"k={max(smaller, default=1)}, or leave the graph out"
        )

    def _check_bits(self, codes: Codes, edges: Codes) -> None:
        for what, found, bits in zip(("nodes", "edges"), (codes, edges), self.bits, strict=True):
            n_labels = int(found.max(initial=-1)) + 1
            if n_labels >= 1 << bits:
                other = "start='none'" if what == "nodes" else "edge_kernel=None"
                raise InvalidInputError(
                    f"there are {n_labels} labels of {what}; matchings of up to "
                    f"{self.matchings.k} nodes take {(1 << bits) - 1}: use fewer labels, a smaller "
                    f"k, or {other}"
                )

    def after_loading(self) -> None:
        known = self.known
        check_names("edge_names", self.edge_names)
        check_shape("known", known, None, 3)
        if len(known) and (known[:, 0].min() < 1 or known.min() < 0):
            raise InvalidInputError("there are subgraphs without nodes")
        if (self.sizes(known) > self.matchings.k).any():
            raise InvalidInputError("there are subgraphs of too many nodes")
        if not 1 <= known[:, 2].min(initial=1) <= known[:, 2].max(initial=1) <= _MOST_ORDERS:
            raise InvalidInputError("there are impossible numbers of automorphisms")
        if len(_distinct_rows(known)[0]) < len(known):
            raise InvalidInputError("a type is there twice")


def _numbered_in_graphs(codes: Codes, n_known: int, ptr: Ints) -> Codes:
    """Number unknown labels, which meet nothing in other graphs, anew in every graph."""
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
    own = np.empty(0, np.int64)
    return np.empty((0, 3), np.int64), own, own, np.empty((0, 1 + k), np.int32)


def _room_for_rows(n_tasks: int) -> int:
    """Rows of tables that each of so many tasks has room for."""
    available = available_bytes()
    return np.iinfo(np.int64).max if available is None else available // (_BYTES_OF_ROW * n_tasks)


def _with_known(known: Ints, found: Ints) -> tuple[Ints, Ints]:
    """Types after the known ones, in the order of their words, and the place of all found ones."""
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
    """Number of sets of k nodes at least; a node and k - 1 of its neighbours are connected."""
    from scipy.special import comb

    if not connected:
        return np.asarray(comb(batch.node_counts, k))
    local = np.arange(batch.n_nodes) - first_of_run(batch.node_ptr)
    rows = batch.edge_rows
    degrees = np.bincount(rows[batch.indices != local[rows]], minlength=batch.n_nodes)
    sets, firsts = comb(degrees, k - 1), batch.node_ptr[:-1]
    return np.maximum(np.add.reduceat(sets, firsts) / k, np.maximum.reduceat(sets, firsts))


# Matchings of subgraphs, weighted by kernels of attributes of nodes or of weights of edges.

_MOST_MATCHINGS = 1e11  # of two graphs, which are one compiled call: nothing stops it but its end
_MATCHINGS_PER_MINUTE = 6e9  # measured


@stored
@dataclass(frozen=True, eq=False)
class MatchedGraphs(ColouredNodes):
    """Nodes of graphs, and their subgraphs in the order of types."""

    ptr: Ints  # (n_graphs + 1,): an entry stands for all subgraphs of one type of a graph
    columns: Ints  # (n_entries,): type of every entry, rising within a graph
    set_ptr: Ints  # (n_entries + 1,): first subgraph of every entry
    nodes: Codes  # (n_subgraphs, k): nodes of every subgraph, numbered within their graph
    indptr: Ints  # edges and their weights; empty where these are left out
    indices: Codes
    edge_weights: Floats
    orders: tuple[Ints, Codes] = (np.zeros(1, np.int64), np.empty(0, np.int32))
    sizes: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    unsaved_fields: ClassVar[tuple[str, ...]] = ("orders", "sizes")  # which the types tell

    def after_loading(self) -> None:
        super().after_loading()
        check_shape("columns", self.columns, None)
        check_shape("nodes", self.nodes, None, None)
        check_offsets("ptr", self.ptr, len(self), len(self.columns))
        check_offsets("set_ptr", self.set_ptr, len(self.columns), len(self.nodes))
        of_entries = np.repeat(np.diff(self.node_ptr), np.diff(self.ptr))
        check_codes("nodes", self.nodes, np.repeat(of_entries, np.diff(self.set_ptr))[:, None])
        check_shape("indices", self.indices, None)
        check_shape("edge_weights", self.edge_weights, len(self.indices))

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Ints, Codes, Ints, Codes, Floats]:
        edges = (self.indptr, self.indices, self.edge_weights)
        return self.node_ptr, self.ptr, self.columns, self.set_ptr, self.nodes, *edges


@dataclass
class MatchingEngine(NodePairEngine):
    """Sum over matchings of subgraphs of the kernels of matched nodes and edges."""

    types: SubgraphTypes = field(kw_only=True)  # which subgraphs are matched

    without_vectors: ClassVar[str] = "matchings that are weighted by kernels"
    way_to_vectors: ClassVar[str] = "use attributes=None, and no Bridge as edge_kernel"

    def coloured(
        self, batch: GraphBatch, codes: Codes, is_fit: bool, n_jobs: int | None
    ) -> MatchedGraphs:
        find = self.types.fit if is_fit else self.types.find
        # counted first, as they may be too many to keep
        counted = find(batch, codes, n_jobs)
        _check_matchings(counted, self.types.matchings.k)
        n_subgraphs = int(counted.counts.sum())
        remedy = f"{self.fewer}, or use a smaller k"
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
        nodes = slice(columns.node_ptr[first], columns.node_ptr[last])
        kernel = rows.node_kernel(graph, columns, nodes, self.fitted_kernel)
        matchings = self.types.matchings
        types = (*rows.orders, rows.sizes, matchings.size_weights)
        graphs = (graph, *rows.arrays, first, last, *columns.arrays)
        _core.fill_matchings(kernel, *graphs, *types, matchings.width, out)

    def after_loading(self) -> None:
        super().after_loading()
        graphs, types = self.graphs, self.types
        if not isinstance(graphs, MatchedGraphs):
            raise InvalidInputError("there are no subgraphs to match")
        check_codes("columns", graphs.columns, len(types.known))
        check_shape("nodes", graphs.nodes, None, types.matchings.k)
        sizes = np.diff(graphs.node_ptr)
        has_edges = types.matchings.width > 0
        n_rows = len(graphs.colours) if has_edges else 0
        check_offsets("indptr", graphs.indptr, n_rows, len(graphs.indices))
        of_nodes = np.repeat(np.repeat(sizes, sizes), np.diff(graphs.indptr)) if has_edges else 0
        check_codes("indices", graphs.indices, of_nodes)
        orders, sizes = types.automorphisms(types.known), types.sizes(types.known)
        self.graphs = replace(graphs, orders=orders, sizes=sizes)


def _check_matchings(found: FoundSubgraphs, k: int) -> None:
    graphs = np.repeat(np.arange(len(found.ptr) - 1), np.diff(found.ptr))
    matchings = np.square(found.counts.astype(np.float64)) * found.types[found.columns, 2]
    totals = np.bincount(graphs, matchings)
    if totals.max(initial=0.0) > _MOST_MATCHINGS:
        graph = int(totals.argmax())
        raise InvalidInputError(
            f"graph {graph} has {totals[graph]:.2g} matchings of up to {k} nodes with itself, "
            f"which take about {totals[graph] / _MATCHINGS_PER_MINUTE:,.0f} minutes: use a smaller "
            "k, leave attributes and weights of edges out, or leave the graph out"
        )


# Counts of small induced subgraphs of graphs, by their type.


@stored
@dataclass
class SubgraphCounter:
    r"""
    Counts induced subgraphs of up to k nodes.

    A count of subgraphs of s nodes and with a automorphisms is multiplied by
    :math:`\sqrt{a \lambda_s}`, so that products of counts are sums over isomorphisms.
    """

    start: Start  # what the labels of nodes are
    types: SubgraphTypes  # which subgraphs count, and their types
    first: FirstColours = field(init=False)

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        self.first = FirstColours(self.start)
        return self._weighted(self.types.fit(batch, self.first.fit(batch), n_jobs))

    def counts(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        codes = self.first.colours(batch, warns=True)
        return self._weighted(self.types.find(batch, codes, n_jobs))

    def _weighted(self, found: FoundSubgraphs) -> GraphCounts:
        """Counts that are weighted; those that weigh nothing are left out."""
        size_weights = self.types.matchings.size_weights[self.types.sizes(found.types) - 1]
        with np.errstate(over="ignore"):  # `check_norms` says it better
            scales: Floats = np.sqrt(found.types[:, 2] * size_weights)
        values = found.counts.astype(np.float64) * scales[found.columns]
        is_kept = values > 0
        columns = found.columns[is_kept].astype(np.int32)
        ptr = offsets(is_kept)[found.ptr]
        return GraphCounts(ptr, columns, values[is_kept], len(self.types.known))

    @property
    def n_columns(self) -> int:
        return len(self.types.known)

    def after_loading(self) -> None:
        check_first(self)


class SubgraphMatching(PeerKernel):
    r"""
    Subgraph matching kernel between graphs (Kriege and Mutzel, 2012); CSM where connected.

    .. math:: K(G, H) = \sum_{\varphi} \lambda_{|\varphi|} \prod_{v} k_V(v, \varphi(v))
              \prod_{\{u, v\}} k_E(uv, \varphi(u)\varphi(v))

    over all matchings :math:`\varphi`, that is, bijections from up to k nodes of G to as many of H.
    :math:`k_V` is one where labels agree, times a kernel of attributes if there is one. :math:`k_E`
    is one for two nodes without an edge that are matched with two others without an edge, zero
    where only one of the two pairs has an edge, and the kernel of the two edges otherwise.

    Parameters
    ----------
    k : int, default=5
        Most nodes of a matched subgraph, from 1 to 5.
    connected : bool, default=True
        Whether to match connected subgraphs alone, as CSM and GraKeL do.
    start : {"labels", "degrees", "none"}, default="labels"
        Labels of nodes: their own (one for all nodes, if there are none), numbers of neighbours, or
        one for all.
    labels : str or sequence of str, optional
        Named columns of the labels to begin with (`GraphBatch.label_columns`), such as "element";
        None is all of them.
    attributes : Bridge, Laplacian, Gaussian, Polynomial or None, default=None
        Kernel of attributes. The paper's is a Brownian bridge, which is zero where attributes are
        far apart. None leaves attributes out, and is very much quicker.
    edge_kernel : {"labels"}, Bridge or None, default="labels"
        Kernel of edges: one where labels agree, if edges have some; a `Bridge` is a kernel of
        weights, such as lengths, for edges whose labels agree; None is one for all edges.
    size_weights : sequence of k numbers, optional
        Weights :math:`\lambda_s` of matchings of 1, 2, .., k nodes; all one by default.
    normalize : bool, default=True
        Whether to give :math:`K(G, H) / \sqrt{K(G, G)\,K(H, H)}`, which a support vector machine
        wants; GraKeL's default is False.
    n_jobs : int, optional
        Threads; None for all cores, but for one inside workers of joblib. It changes no result.
    random_state : int, Generator, RandomState or None
        Draws the nodes of which the median distance of attributes is found, if
        `attributes` asks for it.

    Attributes
    ----------
    reading_ : Reading or None
        How the fitted graphs were read; new ones are read alike.
    engine_ : CountEngine or MatchingEngine
        Subgraphs of the fitted graphs, or the graphs themselves.

    Notes
    -----
    Where nodes and edges either agree or not, the sum over matchings of two graphs is a sum over
    types of subgraphs, of the product of both counts and the number of automorphisms. Subgraphs are
    then counted graph by graph: the cost grows with the number of graphs, and for each graph with
    the number of its (connected) subgraphs, of which a node of degree d has about d^(k-1). A graph
    with more than 1e9 of them, or 1e11 matchings of the kind below, is refused.
    `vectors` gives the counts, times the roots of automorphisms and weights, as a sparse matrix.

    With a kernel of attributes or weights, subgraphs of the same type are matched pair by pair: the
    cost grows with the square of the number of graphs, and for each pair with the number of its
    matchings, which the paper finds as cliques in the product of both graphs. Self-loops are left
    out, but that ``start="degrees"`` counts them. A bridge kernel that is not divided by its width
    w, ``max(0, w - |x - y|)``, is this one with weights :math:`\lambda_s w^s`.

    Examples
    --------
    >>> from retgk.datasets import make_graph_classification
    >>> from retgk.kernels import Bridge, SubgraphMatching
    >>> graphs = make_graph_classification(n_graphs=6, n_attributes=1, rng=0).graphs
    >>> kernel = SubgraphMatching(k=4)
    >>> kernel.fit_transform(graphs[:4]).shape
    (4, 4)
    >>> SubgraphMatching(3, attributes=Bridge(2.0)).fit(graphs[:4]).transform(
    ...     graphs[4:]
    ... ).shape
    (2, 4)
    """

    _parameter_constraints = PEERS | START | {"k": (Whole(1, MAX_SUBGRAPH),), "connected": (FLAG,)}
    methods = (Compared("csm", "subgraph matchings of up to 5 nodes", {"k": (3, 4, 5)}),)

    def __init__(
        self,
        k: int = 5,
        *,
        connected: bool = True,
        start: Start = "labels",
        labels: LabelColumns = None,
        attributes: NodeKernel | Bridge | None = None,
        edge_kernel: Literal["labels"] | Bridge | None = "labels",
        size_weights: Sequence[float] | None = None,
        normalize: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.k = k
        self.connected = connected
        self.start = start
        self.labels = labels
        self.attributes = attributes
        self.edge_kernel = edge_kernel
        self.size_weights = size_weights
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state

    def new_engine(self) -> PeerEngine:
        types = SubgraphTypes(self._matchings())
        kernel = self.attributes
        if kernel is None and not types.matchings.width:
            return CountEngine(SubgraphCounter(self.start, types), "products", self.normalize)
        if kernel is not None:
            check_node_kernel(kernel, "attributes", also=(Bridge,))
        return MatchingEngine(
            kernel, self.start, self.random_state, normalize=self.normalize, types=types
        )

    def _matchings(self) -> Matchings:
        k, edge_kernel = int(self.k), self.edge_kernel
        if not (edge_kernel is None or edge_kernel == "labels"):
            check_kernel_class(edge_kernel, "edge_kernel", (Bridge,), "'labels', a Bridge or None")
        width = float(edge_kernel.width) if isinstance(edge_kernel, Bridge) else 0.0
        weights = _checked_weights(self.size_weights, k)
        return Matchings(k, bool(self.connected), edge_kernel is not None, weights, width)


def _checked_weights(weights: Sequence[float] | None, k: int) -> Floats:
    if weights is None:
        return np.ones(k)
    try:
        found = np.array(weights, np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (k,) or not (np.isfinite(found) & (found >= 0)).all() or not found.any():
        raise InvalidInputError(
            f"size_weights must be k={k} numbers that are not negative, one for each size from 1 "
            f"to k, and not all zero, got {weights!r}"
        )
    return found
