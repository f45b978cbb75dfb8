"""The graphlet kernel, and counts of graphlets."""

import math
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from retgk import _core
from retgk._runtime.fields import stored
from retgk._runtime.names import MAX_SEED, RandomState, whole_seed
from retgk._runtime.parameters import FLAG, NONE, PEERS, Whole, check_parameters
from retgk.array_types import Codes, Flags, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import offsets, run_over_runs
from retgk.io.convert import GraphsLike, as_batch
from retgk.kernels.others.base import Compared, PeerKernel
from retgk.kernels.others.counts import CountEngine, GraphCounts
from retgk.walks.monte_carlo import graph_hashes

# Graphs of three to seven nodes up to isomorphism, and how often each is inside another.


class GraphletTypes(NamedTuple):
    """
    Types of graphs of k nodes.

    A mask has a bit for each pair of nodes, in the order 01, 02, .., 12, ..
    """

    k: int
    masks: Ints  # one graph of each type: by number of edges, then by degrees, shape (n_types,)
    type_of_mask: Codes  # type of every graph of k nodes, shape (2 ** (k (k - 1) / 2),)
    is_connected: Flags  # which types are connected, shape (n_types,)

    def __len__(self) -> int:
        return len(self.masks)

    @property
    def adjacency(self) -> Ints:
        found = np.zeros((len(self), self.k, self.k), np.int64)
        for bit, (i, j) in enumerate(combinations(range(self.k), 2)):
            found[:, i, j] = found[:, j, i] = (self.masks >> bit) & 1
        return found

    @property
    def copies(self) -> Ints:
        """How many subgraphs of type i, with all nodes, each type j has; shape (n, n)."""
        found = np.zeros((len(self), len(self)), np.int64)
        for j, mask in enumerate(self.masks.tolist()):
            part = mask
            while True:
                found[self.type_of_mask[part], j] += 1
                if part == 0:
                    break
                part = (part - 1) & mask
        return found


@cache
def graphlet_types(k: int) -> GraphletTypes:
    """
    Types of graphs of k nodes.

    All orders of nodes come from two: that with the first two swapped, and that with all nodes
    moved on by one. So types are the parts of the graph whose nodes are all masks, each linked with
    what the two make of it.
    """
    pairs = list(combinations(range(k), 2))
    masks = np.arange(1 << len(pairs))
    orders = ([1, 0, *range(2, k)], [*range(1, k), 0])
    others = np.concatenate([_moved(masks, order, pairs) for order in orders])
    ends = (np.tile(masks, len(orders)), others)
    links = coo_array((np.ones(len(others), np.int8), ends), shape=(len(masks), len(masks)))
    _, part = connected_components(links, directed=False)
    _, smallest = np.unique(part, return_index=True)
    order = sorted(range(len(smallest)), key=lambda i: _sort_key(int(smallest[i]), pairs, k))
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    own = smallest[order]
    connected = np.array([_is_connected(mask, pairs, k) for mask in own.tolist()])
    return GraphletTypes(k, own, place[part], connected)


def _moved(masks: Ints, order: list[int], pairs: list[tuple[int, int]]) -> Ints:
    bit_of = {pair: bit for bit, pair in enumerate(pairs)}
    moved = np.zeros_like(masks)
    for bit, (i, j) in enumerate(pairs):
        one, two = sorted((order[i], order[j]))
        moved |= ((masks >> bit) & 1) << bit_of[one, two]
    return moved


def _edges(mask: int, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [pair for bit, pair in enumerate(pairs) if mask >> bit & 1]


def _sort_key(mask: int, pairs: list[tuple[int, int]], k: int) -> tuple[int, list[int], int]:
    edges = _edges(mask, pairs)
    degrees = np.bincount(np.array(edges, np.int64).ravel(), minlength=k)
    return len(edges), sorted(degrees.tolist()), mask


def _is_connected(mask: int, pairs: list[tuple[int, int]], k: int) -> bool:
    reached = {0}
    edges = _edges(mask, pairs)
    for _ in range(k):
        reached |= {node for edge in edges for node in edge if reached & set(edge)}
    return len(reached) == k


_TASK_COST = 1 << 24
_MAX_SAMPLES = 1 << 26
_PAIR_GRAPHS = 64  # of a task
_MAX_NODES = {3: 2_000_000, 4: 65_536}  # counts of larger graphs do not fit into 64 bits

_CUBIC_SUMS = ((), ((0, 1),), ((0, 1), (1, 2)), ((0, 1), (1, 2), (0, 2)))
"""Edges of the subgraphs of three nodes, in the order in which `count_subgraphs` counts them."""

_QUARTIC_SUMS = (
    (),
    ((0, 1),),
    ((0, 1), (2, 3)),
    ((0, 1), (1, 2)),
    ((0, 1), (1, 2), (0, 2)),
    ((0, 1), (0, 2), (0, 3)),
    ((0, 1), (1, 2), (2, 3)),
    ((0, 1), (1, 2), (0, 2), (0, 3)),
    ((0, 1), (1, 2), (2, 3), (0, 3)),
    ((0, 1), (1, 2), (2, 3), (0, 3), (0, 2)),
    ((0, 1), (1, 2), (2, 3), (0, 3), (0, 2), (1, 3)),
)
"""The same for four nodes."""

_MAX_K = 7
_MAX_EXACT_K = 4


def samples_for(k: int) -> int:
    return math.ceil(2 * (math.log(2) * len(graphlet_types(k)) + math.log(10)) / 0.01)


class Graphlets(PeerKernel):
    r"""
    Graphlet kernel between graphs (Shervashidze et al., 2009).

    :math:`K(G, H) = \langle f_G, f_H \rangle` with :math:`f_G` the shares that the graphs of k
    nodes have among all subgraphs of G that k of its nodes induce. Structure alone counts: labels,
    attributes, weights and self-loops are left out.

    Parameters
    ----------
    k : {3, 4, 5, 6, 7}, default=4
        Nodes of a graphlet; there are 4, 11, 34, 156 or 1044 of them, 2, 6, 21, 112 or 853 of these
        connected.
    connected : bool, default=False
        Whether to count connected graphlets alone; shares are then those among connected ones.
    n_samples : int, optional
        Sets of nodes that are drawn from every graph. By default graphlets of 3 and 4 nodes are
        counted exactly, and for those of 5, 6 and 7 nodes 5174, 22,087 and 145,190 sets are drawn,
        by which the shares are off by less than 0.1 in sum with probability 0.9. Where a graph has
        no more sets than that, each is counted once, and the counts are exact.
    normalize : bool, default=True
        Whether to give :math:`K(G, H) / \sqrt{K(G, G)\,K(H, H)}`. A graph of fewer than k nodes
        has kernel 0 with all graphs.
    n_jobs : int, optional
        Threads; None for all cores, but for one inside workers of joblib. It changes no result.
    random_state : int, Generator, RandomState or None
        Seed of the samples. The same graph has the same samples wherever it stands.

    Attributes
    ----------
    graphlets_ : ndarray of int64, shape (n_graphlets, k, k)
        Adjacency matrices of the graphlets, in the order of the columns of `vectors`: by number
        of edges, then by degrees.
    reading_ : Reading or None
        How the fitted graphs were read; new ones are read alike.
    engine_ : CountEngine
        Shares of the fitted graphs.

    Notes
    -----
    Exact counts need no enumeration: sums over degrees, over numbers of common neighbours and over
    cliques give the numbers of all subgraphs, from which those of induced ones follow. Of sets of
    five nodes of a sparse graph few are connected: draw more with ``connected=True`` and k=5.

    Examples
    --------
    >>> from retgk.datasets import make_graph_classification
    >>> from retgk.kernels import Graphlets
    >>> graphs = make_graph_classification(n_graphs=6, rng=0).graphs
    >>> kernel = Graphlets()
    >>> kernel.fit_transform(graphs[:4]).shape
    (4, 4)
    >>> kernel.vectors(graphs[4:]).shape
    (2, 11)
    """

    _parameter_constraints = PEERS | {
        "k": (Whole(3, _MAX_K),),
        "connected": (FLAG,),
        "n_samples": (NONE, Whole(1, _MAX_SAMPLES)),
    }
    methods = (Compared("graphlet", "graphlets of 3 and 4 nodes", {"k": (3, 4)}),)

    def __init__(
        self,
        k: int = 4,
        *,
        connected: bool = False,
        n_samples: int | None = None,
        normalize: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.k = k
        self.connected = connected
        self.n_samples = n_samples
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state

    def new_engine(self) -> CountEngine:
        k, n_samples = int(self.k), self.n_samples
        if n_samples is None and k > _MAX_EXACT_K:
            n_samples = samples_for(k)
        counter = GraphletCounter(k, bool(self.connected), n_samples, self.random_state)
        return CountEngine(counter, "products", self.normalize)

    @property
    def graphlets_(self) -> Ints:
        counter: Any = getattr(self.engine_, "counter", None)
        return np.asarray(counter.types.adjacency[counter.is_kept])


def graphlet_counts(
    graphs: GraphsLike, k: int = 4, *, connected: bool = False, n_jobs: int | None = None
) -> Ints:
    """
    Count the subgraphs that all sets of three or four nodes induce, by type.

    Parameters
    ----------
    graphs : GraphBatch or anything that `as_batch` takes
        Graphs; weights and self-loops are left out.
    k : {3, 4}, default=4
        Nodes of a subgraph.
    connected : bool, default=False
        Whether to give the types that are connected alone.
    n_jobs : int, optional
        Threads; None for all cores. It changes no result.

    Returns
    -------
    ndarray of int64, shape (n_graphs, n_types)
        Counts. Types are in the order of `Graphlets.graphlets_`: of three nodes those without
        edges, with one, two and three.

    Examples
    --------
    >>> import networkx as nx
    >>> graphlet_counts([nx.complete_graph(5), nx.path_graph(5)], k=3)
    array([[ 0,  0,  0, 10],
           [ 1,  6,  3,  0]])
    """
    check_parameters({"k": (Whole(3, 4),)}, {"k": k})
    counter = GraphletCounter(int(k), connected, None)
    return counter.exact(as_batch(graphs), n_jobs)[:, counter.is_kept]


@stored
@dataclass
class GraphletCounter:
    """Shares of graphlets among all subgraphs of k nodes."""

    k: int  # nodes of a graphlet
    connected: bool  # whether to keep connected ones alone
    n_samples: int | None  # sets of nodes to draw; None to count exactly
    random_state: RandomState = None  # seed of the samples
    seed: int = field(init=False, default=0)
    unsaved_fields: ClassVar[tuple[str, ...]] = ("random_state",)

    @property
    def types(self) -> GraphletTypes:
        return graphlet_types(self.k)

    @property
    def is_kept(self) -> Flags:
        return self.types.is_connected | (not self.connected)

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        if self.n_samples is not None:
            self.seed = whole_seed(self.random_state)
        return self.counts(batch, n_jobs)

    def counts(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        found = self.exact(batch, n_jobs) if self.n_samples is None else self._drawn(batch, n_jobs)
        kept = found[:, self.is_kept]
        totals = kept.sum(axis=1, dtype=np.float64, keepdims=True)
        shares = np.divide(kept, totals, out=np.zeros(kept.shape), where=totals > 0)
        rows, columns = np.nonzero(shares)
        ptr = offsets(np.bincount(rows, minlength=len(batch)))
        return GraphCounts(ptr, columns.astype(np.int32), shares[rows, columns], kept.shape[1])

    def exact(self, batch: GraphBatch, n_jobs: int | None) -> Ints:
        sizes = batch.node_counts
        if len(sizes) and sizes.max() > _MAX_NODES[self.k]:
            raise InvalidInputError(
                f"graph {int(sizes.argmax())} has {sizes.max()} nodes; graphlets of {self.k} nodes "
                f"are counted exactly up to {_MAX_NODES[self.k]}: give n_samples"
            )
        types = self.types
        edges = _CUBIC_SUMS if self.k == 3 else _QUARTIC_SUMS
        sums = np.empty((len(batch), len(edges)), np.int64)
        degrees = np.diff(batch.indptr)
        work = np.add.reduceat(np.square(degrees) + 1, batch.node_ptr[:-1])

        def count(first: int, last: int) -> None:
            arrays = (batch.node_ptr, batch.indptr, batch.indices)
            _core.count_subgraphs(first, last, *arrays, self.k, sums)

        run_over_runs(count, offsets(work), _TASK_COST, n_jobs, "graphlets")
        order = [types.type_of_mask[_mask_of(own, self.k)] for own in edges]
        copies = types.copies[order]
        # from subgraphs to induced ones; overflow in between wraps around, and back again
        return np.asarray(sums @ np.rint(np.linalg.inv(copies)).astype(np.int64).T)

    def _drawn(self, batch: GraphBatch, n_jobs: int | None) -> Ints:
        found = np.empty((len(batch), len(self.types)), np.int64)
        table, seeds = self.types.type_of_mask, graph_hashes(batch) ^ np.uint64(self.seed)
        n_samples = self.n_samples or 0

        def draw(first: int, last: int) -> None:
            arrays = (batch.node_ptr, batch.indptr, batch.indices)
            _core.sample_graphlets(first, last, *arrays, table, self.k, n_samples, seeds, found)

        work = np.full(len(batch), 10 * n_samples) + batch.node_counts
        run_over_runs(draw, offsets(work), _TASK_COST, n_jobs, "graphlets")
        return found

    def pairs(self, batch: GraphBatch, n_pairs: int, seed: int, n_jobs: int | None) -> Ints:
        """Count pairs of types of drawn sets of nodes that differ in one node, over all graphs."""
        shape = (len(self.types), len(self.types))
        draws = (self.k, n_pairs, graph_hashes(batch) ^ np.uint64(seed))
        found: list[Ints] = []

        def draw(first: int, last: int) -> None:
            arrays = (batch.node_ptr, batch.indptr, batch.indices, self.types.type_of_mask)
            own = np.zeros(shape, np.int64)
            _core.sample_graphlet_pairs(first, last, *arrays, *draws, own)
            found.append(own)

        run_over_runs(draw, batch.node_ptr, None, n_jobs, "graphlets", _PAIR_GRAPHS)
        return np.asarray(np.sum(found, axis=0)[np.ix_(self.is_kept, self.is_kept)])

    @property
    def n_columns(self) -> int:
        return int(self.is_kept.sum())

    def after_loading(self) -> None:
        is_exact = self.n_samples is None
        if not 3 <= self.k <= (_MAX_EXACT_K if is_exact else _MAX_K):
            raise InvalidInputError(f"graphlets of {self.k} nodes are not counted like that")
        if self.n_samples is not None and not 1 <= self.n_samples <= _MAX_SAMPLES:
            raise InvalidInputError(f"n_samples is {self.n_samples}")
        if not 0 <= self.seed <= MAX_SEED:
            raise InvalidInputError(f"the seed is {self.seed}")


def _mask_of(edges: tuple[tuple[int, int], ...], k: int) -> int:
    """Mask of a graph, a bit for each pair in the order 01, 02, .., 12, .."""
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    return sum(1 << pairs.index((min(edge), max(edge))) for edge in edges)
