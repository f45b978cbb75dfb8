"""The shortest-path kernel."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from retgk import _core
from retgk._runtime.fields import check_codes, check_offsets, check_shape, stored
from retgk._runtime.names import RandomState
from retgk._runtime.parameters import PEERS, START
from retgk._runtime.processes import check_room
from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import offsets, run_over_runs
from retgk.kernels.node import NodeKernel, check_node_kernel
from retgk.kernels.others.base import Compared, LabelColumns, PeerEngine, PeerKernel, check_first
from retgk.kernels.others.counts import CountEngine, GraphCounts
from retgk.kernels.others.pairs import ColouredNodes, NodePairEngine
from retgk.kernels.refinement import FirstColours, Start

# Counts of shortest paths of graphs, by the colours of their ends and their lengths.

_TASK_COST = 1 << 25  # steps of searches: about a tenth of a second
_MOST_BITS = 20  # of a colour: so many are left for lengths that no graph runs out of them


@stored
@dataclass
class PathCounter:
    """Counts ordered pairs of nodes by their two colours and the length of the shortest path."""

    start: Start  # what the colours are
    warns: bool = True
    """Whether to warn of new graphs without a known label; not where labels are hashes."""
    first: FirstColours = field(init=False)
    lengths: Floats = field(init=False)  # lengths of paths of the fitted graphs, rising
    keys: Ints = field(init=False)
    """Colours and number of the length of every column, in as many bits as `bits_of` tells."""

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        self.first, self.lengths = FirstColours(self.start), np.empty(0)
        codes = self.first.fit(batch)
        bits = _bits_of(len(self.first.names))
        ptr, keys, counts, self.lengths = self._found(batch, codes, bits, n_jobs)
        numbers = np.empty(len(keys), np.int32)
        self.keys = _core.number_keys(np.empty(0, np.int64), keys, numbers)
        return GraphCounts(ptr, numbers, counts, len(self.keys))

    def counts(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        codes = self.first.colours(batch, self.warns)
        n_known = len(self.first.names)
        bits = _bits_of(max(n_known, int(codes.max(initial=0)) + 1))
        ptr, keys, counts, _ = self._found(batch, codes, bits, n_jobs)
        numbers = np.empty(len(keys), np.int32)
        _core.number_keys(_with_bits(self.keys, _bits_of(n_known), bits), keys, numbers)
        return GraphCounts(ptr, numbers, counts, len(self.keys))

    def _found(
        self, batch: GraphBatch, colours: Codes, bits: int, n_jobs: int | None
    ) -> tuple[Ints, Ints, Floats, Floats]:
        """Keys and counts of every graph, and all lengths: those that were known come first."""
        weights = batch.weights if batch.is_weighted else np.empty(0)
        graph = (batch.node_ptr, batch.indptr, batch.indices, weights)
        sizes = np.empty(len(batch), np.int64)
        found: dict[int, tuple[Ints, Floats, Floats]] = {}

        def work(first: int, last: int) -> None:
            found[first] = _core.count_paths(first, last, *graph, colours, bits, sizes)

        run_over_runs(work, offsets(_search_costs(batch)), _TASK_COST, n_jobs, "shortest paths")
        parts = [found[first] for first in sorted(found)] or [_NOTHING]
        lengths = length_numbers(self.lengths, [part[2] for part in parts])
        shift = 63 - 2 * bits
        mask = (1 << shift) - 1
        keys = [_renumbered(part[0], part[2], lengths, mask) for part in parts]
        counts = [part[1] for part in parts]
        return offsets(sizes), np.concatenate(keys), np.concatenate(counts), lengths

    @property
    def n_columns(self) -> int:
        return len(self.keys)

    def after_loading(self) -> None:
        check_first(self)
        check_lengths(self.lengths)
        check_shape("keys", self.keys, None)
        check_codes("keys", self.keys, np.iinfo(np.int64).max)
        n_colours = len(self.first.names)
        bits = _bits_of(n_colours)
        shift = 63 - 2 * bits
        ends = self.keys >> shift
        check_codes("keys", ends >> bits, n_colours)
        check_codes("keys", ends & ((1 << bits) - 1), n_colours)
        check_codes("keys", self.keys & ((1 << shift) - 1), len(self.lengths))
        if len(np.unique(self.keys)) < len(self.keys):
            raise InvalidInputError("keys has a key twice")


_NOTHING = (np.empty(0, np.int64), np.empty(0), np.empty(0))


def _search_costs(batch: GraphBatch) -> Ints:
    entries = np.diff(batch.indptr[batch.node_ptr])
    return np.asarray(batch.node_counts * (batch.node_counts + entries))


def length_numbers(known: Floats, found: list[Floats]) -> Floats:
    others = np.unique(np.concatenate([np.empty(0), *found]))
    return np.concatenate([known, np.setdiff1d(others, known, assume_unique=True)])


def check_lengths(lengths: Floats) -> None:
    check_shape("lengths", lengths, None)
    if (np.diff(lengths) <= 0).any() or (lengths <= 0).any():
        raise InvalidInputError("lengths are not positive and rising")


def _bits_of(n_colours: int) -> int:
    bits = max(int(n_colours - 1).bit_length(), 1)
    if bits > _MOST_BITS:
        raise InvalidInputError(
            f"there are {n_colours} labels; shortest paths take up to {1 << _MOST_BITS}: use fewer "
            "ones, or start='none'"
        )
    return bits


def _with_bits(keys: Ints, bits: int, wider: int) -> Ints:
    if bits == wider:
        return keys
    shift = 63 - 2 * bits
    ends, length = keys >> shift, keys & ((1 << shift) - 1)
    low, high = ends >> bits, ends & ((1 << bits) - 1)
    return np.asarray((((low << wider) | high) << (63 - 2 * wider)) | length)


def _renumbered(keys: Ints, own: Floats, lengths: Floats, mask: int) -> Ints:
    if len(lengths) > mask:
        raise InvalidInputError(
            f"paths have {len(lengths)} different lengths; round the weights, or use fewer labels"
        )
    order = np.argsort(lengths)
    numbers = order[np.searchsorted(lengths, own, sorter=order)]
    return np.asarray((keys & ~mask) | numbers[keys & mask]) if len(keys) else keys


# Shortest paths compared by a kernel of the attributes of their ends.

_PAIR_TASK_COST = 1 << 24


@stored
@dataclass(frozen=True, eq=False)
class GraphPaths(ColouredNodes):
    """Nodes of graphs, and their connected pairs in the order of path lengths."""

    ptr: Ints  # (n_graphs + 1,): first pair of every graph
    lengths: Codes  # (n_pairs,): number of the length, rising within a graph
    starts: Codes  # (n_pairs,): the two nodes, numbered within their graph
    ends: Codes

    def after_loading(self) -> None:
        super().after_loading()
        for name in ("lengths", "starts", "ends"):
            check_shape(name, getattr(self, name), len(self.lengths))
        check_offsets("ptr", self.ptr, len(self), len(self.lengths))
        sizes = np.repeat(np.diff(self.node_ptr), np.diff(self.ptr))
        check_codes("starts", self.starts, sizes)
        check_codes("ends", self.ends, sizes)

    def pairs_of(self, graph: int) -> tuple[Codes, Codes, Codes]:
        run = slice(self.ptr[graph], self.ptr[graph + 1])
        return self.lengths[run], self.starts[run], self.ends[run]


@dataclass
class AttributePathEngine(NodePairEngine):
    """Sum over pairs of shortest paths of the same length of the kernels of their ends."""

    lengths: Floats = field(init=False)  # all lengths of paths of the fitted graphs

    without_vectors: ClassVar[str] = "paths that are compared by a kernel of attributes"

    def coloured(
        self, batch: GraphBatch, codes: Codes, is_fit: bool, n_jobs: int | None
    ) -> GraphPaths:
        known = np.empty(0) if is_fit else self.lengths
        ptr = offsets(np.square(batch.node_counts))
        check_room(16 * int(ptr[-1]), "the lengths of shortest paths", self.fewer)
        matrices = np.empty(int(ptr[-1]))
        weights = batch.weights if batch.is_weighted else np.empty(0)
        graph = (batch.node_ptr, batch.indptr, batch.indices, weights)
        costs = offsets(_search_costs(batch))

        def search(first: int, last: int) -> None:
            _core.fill_lengths(first, last, *graph, ptr, matrices)

        run_over_runs(search, costs, _PAIR_TASK_COST, n_jobs, "shortest paths")
        lengths = length_numbers(known, [np.unique(matrices[matrices > 0])])
        order = np.argsort(lengths)
        places = np.minimum(np.searchsorted(lengths, matrices, sorter=order), len(lengths) - 1)
        numbers = np.where(matrices > 0, order[places] if len(order) else -1, -1).astype(np.int32)
        sizes = np.add.reduceat(numbers >= 0, ptr[:-1], dtype=np.int64) // 2
        pair_ptr = offsets(sizes)
        pairs = [np.empty(pair_ptr[-1], np.int32) for _ in range(3)]

        def sort(first: int, last: int) -> None:
            _core.fill_pairs(first, last, batch.node_ptr, ptr, numbers, pair_ptr, *pairs)

        run_over_runs(sort, costs, _PAIR_TASK_COST, n_jobs, "shortest paths")
        attributes = np.array(batch.attributes)
        if is_fit:
            self.lengths = lengths
        return GraphPaths(np.array(batch.node_ptr), attributes, codes, pair_ptr, *pairs)

    def fill_row(
        self, rows: GraphPaths, graph: int, columns: GraphPaths, first: int, last: int, out: Floats
    ) -> None:
        nodes = slice(columns.node_ptr[first], columns.node_ptr[last])
        kernel = rows.node_kernel(graph, columns, nodes, self.fitted_kernel)
        place = (first, last, columns.node_ptr, columns.ptr)
        others = (columns.lengths, columns.starts, columns.ends)
        _core.fill_path_products(*place, kernel, *rows.pairs_of(graph), *others, out)

    def after_loading(self) -> None:
        super().after_loading()
        if self.fitted_kernel is None or not isinstance(self.graphs, GraphPaths):
            raise InvalidInputError("there are no paths with a kernel of their ends")
        check_lengths(self.lengths)
        check_codes("lengths", self.graphs.lengths, len(self.lengths))


class ShortestPath(PeerKernel):
    r"""
    Shortest-path kernel between graphs (Borgwardt and Kriegel, 2005).

    .. math:: K(G, H) = \sum_{u \ne v \in G} \sum_{u' \ne v' \in H}
              [d(u, v) = d(u', v')]\,k(u, u')\,k(v, v')

    over ordered pairs of connected nodes, as in GraKeL, with d the length of a shortest path and k
    one where colours agree, times a kernel of attributes if there is one.

    Parameters
    ----------
    start : {"labels", "degrees", "none"}, default="labels"
        Colours of nodes: labels (one for all nodes, if there are none), numbers of neighbours, or
        one for all: then lengths alone are compared.
    labels : str or sequence of str, optional
        Named columns of the labels to begin with (`GraphBatch.label_columns`), such as "element";
        None is all of them.
    attributes : Laplacian, Gaussian, Polynomial or None, default=None
        Kernel of attributes. None leaves attributes out, and is much quicker.
    normalize : bool, default=True
        Whether to give :math:`K(G, H) / \sqrt{K(G, G)\,K(H, H)}`, which a support vector machine
        wants; GraKeL's default is False. A graph without any edge has kernel 0 with all graphs.
    n_jobs : int, optional
        Threads; None for all cores, but for one inside workers of joblib. It changes no result.
    random_state : int, Generator, RandomState or None
        Draws the nodes of which the median distance of attributes is found, if
        `attributes` asks for it.

    Attributes
    ----------
    reading_ : Reading or None
        How the fitted graphs were read; new ones are read alike.
    engine_ : CountEngine or AttributePathEngine
        Paths of the fitted graphs.

    Notes
    -----
    Paths are found by breadth-first search, and by Dijkstra's algorithm in graphs with weights,
    which are lengths of edges. Lengths agree if their first ten digits do: a sum in another order
    is no other length. Labels of edges are left out, and so are self-loops, but that
    ``start="degrees"`` counts them.

    Without attributes, `vectors` gives the numbers of pairs of nodes for each pair of colours and
    each length as a sparse matrix. With attributes, two graphs of n and m nodes take
    ``n m (n + m)`` steps, not ``n^2 m^2``.

    Examples
    --------
    >>> from retgk.datasets import make_graph_classification
    >>> from retgk.kernels import ShortestPath
    >>> graphs = make_graph_classification(n_graphs=6, rng=0).graphs
    >>> kernel = ShortestPath()
    >>> kernel.fit_transform(graphs[:4]).shape
    (4, 4)
    >>> kernel.transform(graphs[4:]).shape
    (2, 4)
    """

    _parameter_constraints = PEERS | START
    methods = (
        Compared("sp", "shortest paths, by labels or degrees", {"start": ("labels", "degrees")}),
    )

    def __init__(
        self,
        *,
        start: Start = "labels",
        labels: LabelColumns = None,
        attributes: NodeKernel | None = None,
        normalize: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.start = start
        self.labels = labels
        self.attributes = attributes
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state

    def new_engine(self) -> PeerEngine:
        if self.attributes is None:
            return CountEngine(PathCounter(self.start), "products", self.normalize)
        check_node_kernel(self.attributes, "attributes")
        how = (self.attributes, self.start, self.random_state)
        return AttributePathEngine(*how, normalize=self.normalize)
