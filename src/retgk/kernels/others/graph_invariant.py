"""The graph invariant kernel."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk._runtime.fields import check_codes, check_offsets, check_shape, stored
from retgk._runtime.names import RandomState
from retgk._runtime.parameters import PEERS, ROUNDS, START, OneOf, Whole
from retgk._runtime.processes import check_room
from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import FlatGraphs, GraphBatch, trusted_batch
from retgk.graphs.edges import Adjacency, EdgeLabels
from retgk.graphs.flat import offsets, run_over_runs
from retgk.kernels.node import Gaussian, NodeKernel, check_node_kernel
from retgk.kernels.others.base import Compared, LabelColumns, PeerEngine, PeerKernel, check_first
from retgk.kernels.others.counts import CountEngine, GraphCounts
from retgk.kernels.others.pairs import ColouredNodes, NodePairEngine
from retgk.kernels.refinement import FirstColours, LabelRefinement, Start

# Colours of nodes in the neighbourhoods that they belong to: vertex invariants.

Scope = Literal["local", "global"]
"""Where nodes are coloured: in each neighbourhood, or in the whole graph."""

_TASK_NODES = 1 << 14
MAX_RADIUS = 64
_BYTES_OF_COLOUR = 72  # of a node in a round: its colour and, while rows are summed, eight numbers


@stored
class NodeProfiles(NamedTuple):
    """Sparse row of every node: colours in its neighbourhoods, and how much they weigh."""

    ptr: Ints  # first entry of every node
    columns: Codes
    """Colours, rising within a node; a run of numbers for each round, then those of new graphs."""
    values: Floats
    """Sum of one over the size, over the neighbourhoods in which the node has this colour."""

    def of_graphs(self, node_ptr: Ints) -> "NodeProfiles":
        nodes = np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))
        graphs = np.searchsorted(node_ptr, nodes, side="right") - 1
        return _summed(graphs, self.columns, self.values, len(node_ptr) - 1)


@stored
@dataclass
class NodeInvariants:
    """Colours after rounds of refinement inside the neighbourhood of every node."""

    radius: int  # steps from a node to the last ones of its neighbourhood
    n_iter: int  # rounds of refinement
    scope: Scope  # whether colours are those inside of neighbourhoods, or of the whole graph
    refinement: LabelRefinement = field(init=False)

    def fit(self, batch: GraphBatch, codes: Codes, n_jobs: int | None) -> NodeProfiles:
        self.refinement = LabelRefinement(self.n_iter, int(codes.max(initial=-1)) + 1)
        return self._profiles(batch, codes, self.refinement.fit, n_jobs)

    def find(self, batch: GraphBatch, codes: Codes, n_jobs: int | None) -> NodeProfiles:
        return self._profiles(batch, codes, self.refinement.colours, n_jobs)

    def _profiles(
        self, batch: GraphBatch, codes: Codes, colour: Any, n_jobs: int | None
    ) -> NodeProfiles:
        """Collect, for every node, its colour in each neighbourhood that it is in."""
        around, members = _neighbourhoods(batch, self.radius, self.n_iter + 1, n_jobs)
        if self.scope == "local":
            colours = colour(around, codes[members], n_jobs)
        else:
            colours = [own[members] for own in colour(batch, codes, n_jobs)]
        columns = np.concatenate(_columns(colours, self.refinement.n_known))
        weights = np.repeat(1.0 / around.node_counts, around.node_counts)
        nodes = np.tile(members, len(colours))
        return _summed(nodes, columns, np.tile(weights, len(colours)), batch.n_nodes)

    def after_loading(self) -> None:
        if not 0 <= self.radius <= MAX_RADIUS or self.refinement.depth != self.n_iter:
            raise InvalidInputError("radius or n_iter is out of range")

    def check_colours(self, n_colours: int) -> None:
        if self.refinement.n_labels != n_colours:
            raise InvalidInputError("first colours are not those that are refined")


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
    sizes, n_entries = np.empty(batch.n_nodes, np.int64), np.empty(batch.n_nodes, np.int64)
    graph = (batch.node_ptr, batch.indptr, batch.indices)

    def count(first: int, last: int) -> None:
        _core.count_neighbourhoods(first, last, *graph, radius, sizes, n_entries)

    run_over_runs(count, batch.node_ptr, _TASK_NODES, n_jobs, "neighbourhoods")
    ptrs = offsets(sizes), offsets(n_entries)
    n_nodes, total = int(ptrs[0][-1]), int(ptrs[1][-1])
    advice = "use a smaller radius, fewer rounds (n_iter), or give fewer graphs"
    n_bytes = (100 + _BYTES_OF_COLOUR * n_levels) * n_nodes + 12 * total
    check_room(n_bytes, "the colours of nodes in all neighbourhoods", advice)
    members, indptr = np.empty(n_nodes, np.int64), np.full(n_nodes + 1, total)
    indices, entries = np.empty(total, np.int32), np.empty(total, np.int64)

    def fill(first: int, last: int) -> None:
        span = (first, last, *graph, radius, *ptrs)
        _core.fill_neighbourhoods(*span, members, indptr, indices, entries)

    run_over_runs(fill, batch.node_ptr, _TASK_NODES, n_jobs, "neighbourhoods")
    edges = None
    if batch.has_edge_labels:
        edges = EdgeLabels(batch.edge_labels[entries], batch.edge_label_names)
    adjacency = Adjacency(indptr, indices, None)
    nothing = np.empty((n_nodes, 0))
    around = FlatGraphs(ptrs[0], adjacency, None, (), nothing, None, edges)
    return trusted_batch(around), members


# Sums over pairs of nodes of a kernel of attributes, weighted by invariants that agree.


@stored
@dataclass(frozen=True, eq=False)
class ProfiledGraphs(ColouredNodes):
    """Nodes of graphs, and the invariants of each."""

    profiles: NodeProfiles  # sparse row of every node

    def after_loading(self) -> None:
        super().after_loading()
        ptr, columns, values = self.profiles
        check_shape("columns", columns, None)
        check_shape("values", values, len(columns))
        check_offsets("ptr", ptr, len(self.colours), len(columns))


@dataclass
class InvariantEngine(NodePairEngine):
    """Sum over pairs of nodes of the kernel of attributes times the product of their invariants."""

    invariants: NodeInvariants = field(kw_only=True)  # colours of nodes in neighbourhoods

    without_vectors: ClassVar[str] = "nodes that are compared by a kernel of attributes"

    def coloured(
        self, batch: GraphBatch, codes: Codes, is_fit: bool, n_jobs: int | None
    ) -> ProfiledGraphs:
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
        nodes = slice(columns.node_ptr[first], columns.node_ptr[last])
        kernel = rows.node_kernel(graph, columns, nodes, self.fitted_kernel)
        own = (int(rows.node_ptr[graph]), *rows.profiles)
        others = (columns.node_ptr, *columns.profiles)
        _core.fill_invariant_products(kernel, *own, first, last, *others, out)

    def after_loading(self) -> None:
        super().after_loading()
        self.invariants.check_colours(len(self.first.names))
        if not isinstance(self.graphs, ProfiledGraphs):
            raise InvalidInputError("nodes have no invariants")
        check_codes(
            "columns", self.graphs.profiles.columns, sum(self.invariants.refinement.n_known)
        )


@stored
@dataclass
class InvariantCounter:
    """Sums of the invariants of all nodes of graphs: without attributes, their products are all."""

    start: Start  # first colours of nodes
    invariants: NodeInvariants  # colours of nodes in neighbourhoods
    first: FirstColours = field(init=False)

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        self.first = FirstColours(self.start)
        return self._summed(batch, self.invariants.fit(batch, self.first.fit(batch), n_jobs))

    def counts(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        codes = self.first.colours(batch, warns=True)
        return self._summed(batch, self.invariants.find(batch, codes, n_jobs))

    def _summed(self, batch: GraphBatch, profiles: NodeProfiles) -> GraphCounts:
        return GraphCounts(*profiles.of_graphs(batch.node_ptr), self.n_columns)

    @property
    def n_columns(self) -> int:
        return sum(self.invariants.refinement.n_known)

    def after_loading(self) -> None:
        check_first(self)
        self.invariants.check_colours(len(self.first.names))


_GAUSSIAN = Gaussian("dimension")


class GraphInvariant(PeerKernel):
    r"""
    Graph invariant kernel between graphs with attributes (Orsini, Frasconi and De Raedt, 2015).

    .. math:: K(G, H) = \sum_{v \in G} \sum_{v' \in H} k(v, v') \sum_{g \ni v} \sum_{g' \ni v'}
              \frac{1}{|g|\,|g'|} \sum_{h=0}^{n_{iter}} [c_h^g(v) = c_h^{g'}(v')]

    where g and g' are the neighbourhoods, of the nodes up to r steps from each node of G and H with
    all edges among them, that v and v' belong to. :math:`c_h^g(v)` is the colour of v after h
    rounds of Weisfeiler and Lehman's refinement inside g, which sees nothing outside ("local", the
    paper's LWL), or in the whole graph ("global", GWL). The number of rounds in which the colours
    of v and v' agree is the vertex invariant, k the kernel of attributes.

    Parameters
    ----------
    radius : int, default=2
        Steps r of a neighbourhood.
    n_iter : int, default=3
        Rounds of refinement; the colours before the first round count too.
    scope : {"local", "global"}, default="local"
        Whether colours are found inside of each neighbourhood or in the whole graph.
    attributes : Gaussian, Laplacian, Polynomial or None, default=Gaussian("dimension")
        Kernel k of attributes. None is one for all nodes, and much quicker: labels and structure
        alone are compared.
    start : {"labels", "degrees", "none"}, default="labels"
        Colours before the first round: labels (one for all nodes, if there are none), numbers of
        neighbours in the whole graph, or one for all. With labels, only nodes of the same label
        are compared.
    labels : str or sequence of str, optional
        Named columns of the labels to begin with (`GraphBatch.label_columns`), such as "element";
        None is all of them.
    normalize : bool, default=True
        Whether to give :math:`K(G, H) / \sqrt{K(G, G)\,K(H, H)}`, which a support vector machine
        wants.
    n_jobs : int, optional
        Threads; None for all cores, but for one inside workers of joblib. It changes no result.
    random_state : int, Generator, RandomState or None
        Draws the nodes of which the median distance of attributes is found, if
        `attributes` asks for it.

    Attributes
    ----------
    reading_ : Reading or None
        How the fitted graphs were read; new ones are read alike.
    engine_ : InvariantEngine or CountEngine
        Invariants of the nodes of the fitted graphs.

    Notes
    -----
    The paper leaves room for a test whether two neighbourhoods may be compared at all; here they
    always may. The RetGK paper says no more of GIK than its name, so that radius and rounds are to
    be chosen by cross-validation; its kernel of attributes has the same gamma.

    The cost grows with the square of the number of nodes of all graphs, times the number of
    attributes and of colours of a node; without attributes, with the number of graphs and their
    nodes. Labels of edges take part in the refinement. Without attributes, `vectors` gives the
    sums of :math:`1/|g|` over all nodes of each colour as a sparse matrix.

    Examples
    --------
    >>> from retgk.datasets import make_graph_classification
    >>> from retgk.kernels import GraphInvariant
    >>> graphs = make_graph_classification(n_graphs=6, n_attributes=2, rng=0).graphs
    >>> kernel = GraphInvariant(radius=1)
    >>> kernel.fit_transform(graphs[:4]).shape
    (4, 4)
    >>> kernel.transform(graphs[4:]).shape
    (2, 4)
    """

    _parameter_constraints = (
        PEERS
        | START
        | ROUNDS
        | {
            "radius": (Whole(0, MAX_RADIUS),),
            "scope": (OneOf(get_args(Scope)),),
        }
    )
    methods = (Compared("gik", "graph invariant kernel, for attributes", {"radius": (1, 2)}),)

    def __init__(
        self,
        radius: int = 2,
        *,
        n_iter: int = 3,
        scope: Scope = "local",
        attributes: NodeKernel | None = _GAUSSIAN,
        start: Start = "labels",
        labels: LabelColumns = None,
        normalize: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.radius = radius
        self.n_iter = n_iter
        self.scope = scope
        self.attributes = attributes
        self.start = start
        self.labels = labels
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state

    def new_engine(self) -> PeerEngine:
        invariants = NodeInvariants(int(self.radius), int(self.n_iter), self.scope)
        if self.attributes is None:
            counter = InvariantCounter(self.start, invariants)
            return CountEngine(counter, "products", self.normalize)
        check_node_kernel(self.attributes, "attributes")
        how = (self.attributes, self.start, self.random_state)
        return InvariantEngine(*how, normalize=self.normalize, invariants=invariants)
