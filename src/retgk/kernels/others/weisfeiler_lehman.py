"""Kernels of refined labels: Weisfeiler-Lehman subtrees, and their optimal assignment."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from retgk._runtime.fields import stored
from retgk._runtime.parameters import FLAG, PEERS, ROUNDS, START
from retgk.array_types import Codes, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import offsets
from retgk.kernels.others.base import Compared, LabelColumns, PeerKernel, check_first
from retgk.kernels.others.counts import CountEngine, GraphCounts, counts_of_nodes
from retgk.kernels.refinement import FirstColours, LabelRefinement, Start


class WeisfeilerLehman(PeerKernel):
    r"""
    Weisfeiler-Lehman subtree kernel between graphs (Shervashidze et al., 2011).

    With :math:`n_c(G)` the number of nodes of colour c, over all colours of the rounds h = 0, ..,
    n_iter of refinement, it is :math:`\sum_c n_c(G)\,n_c(H)`.

    Parameters
    ----------
    n_iter : int, default=5
        Rounds of refinement; the colours before the first round count too, as in GraKeL.
    edge_labels : bool, default=False
        Whether a node also takes in the labels of the edges to its neighbours.
    start : {"labels", "degrees", "none"}, default="labels"
        Colours before the first round: labels (one for all nodes, if there are none), numbers of
        neighbours, or one for all.
    labels : str or sequence of str, optional
        Named columns of the labels to begin with (`GraphBatch.label_columns`), such as "element";
        None is all of them.
    normalize : bool, default=True
        Whether to give :math:`K(G, H) / \sqrt{K(G, G)\,K(H, H)}`, which a support vector machine
        wants; GraKeL's default is False.
    n_jobs : int, optional
        Threads; None for all cores, but for one inside workers of joblib. It changes no result.

    Attributes
    ----------
    reading_ : Reading or None
        How the fitted graphs were read; new ones are read alike.
    engine_ : CountEngine
        Colours of the fitted graphs, and how often they have them.

    Notes
    -----
    Weights and attributes take no part. Colours are told apart by the whole neighbourhood, not by a
    hash of it. A neighbourhood of a new graph that no fitted graph has meets nothing, but counts in
    the graph's own norm.

    `vectors` gives the numbers :math:`n_c(G)` as a sparse matrix, divided by their length if
    `normalize`.

    Examples
    --------
    >>> from retgk.datasets import make_graph_classification
    >>> from retgk.kernels import WeisfeilerLehman
    >>> graphs = make_graph_classification(n_graphs=6, rng=0).graphs
    >>> kernel = WeisfeilerLehman(n_iter=3)
    >>> kernel.fit_transform(graphs[:4]).shape
    (4, 4)
    >>> kernel.transform(graphs[4:]).shape
    (2, 4)
    >>> kernel.vectors(graphs[4:]).shape[0]
    2
    """

    _parameter_constraints = PEERS | START | ROUNDS | {"edge_labels": (FLAG,)}
    methods = (Compared("wl", "Weisfeiler-Lehman subtrees", {"n_iter": (1, 2, 3, 4, 5)}),)
    summand: ClassVar[Literal["products", "minima"]] = "products"

    def __init__(
        self,
        n_iter: int = 5,
        *,
        edge_labels: bool = False,
        start: Start = "labels",
        labels: LabelColumns = None,
        normalize: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.n_iter = n_iter
        self.edge_labels = edge_labels
        self.start = start
        self.labels = labels
        self.normalize = normalize
        self.n_jobs = n_jobs

    def new_engine(self) -> CountEngine:
        """Make an engine that is not fitted."""
        counter = ColourCounter(int(self.n_iter), self.start, bool(self.edge_labels))
        return CountEngine(counter, self.summand, self.normalize)


class WeisfeilerLehmanOA(WeisfeilerLehman):
    r"""
    Weisfeiler-Lehman optimal assignment kernel between graphs (Kriege et al., 2016).

    With :math:`n_c(G)` the number of nodes of colour c, over all colours of the rounds h = 0, ..,
    n_iter of refinement, it is :math:`\sum_c \min(n_c(G), n_c(H))`.

    Parameters
    ----------
    n_iter, edge_labels, start, labels, normalize, n_jobs
        As in `WeisfeilerLehman`.

    Examples
    --------
    >>> from retgk.datasets import make_graph_classification
    >>> from retgk.kernels import WeisfeilerLehmanOA
    >>> graphs = make_graph_classification(n_graphs=6, rng=0).graphs
    >>> WeisfeilerLehmanOA(n_iter=3).fit(graphs[:4]).transform(graphs[4:]).shape
    (2, 4)
    """

    methods = (
        Compared("wl-oa", "Weisfeiler-Lehman optimal assignment", {"n_iter": (1, 2, 3, 4, 5)}),
    )
    summand = "minima"


@stored
@dataclass
class ColourCounter:
    """Counts nodes of every colour, over all rounds of refinement."""

    n_rounds: int  # rounds of refinement
    start: Start  # colours before the first
    edge_labels: bool = False  # whether labels of edges take part
    warns: bool = True
    """Whether to warn of new graphs without a known label; not where labels are hashes."""
    first: FirstColours = field(init=False)
    refinement: LabelRefinement = field(init=False)

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        batch = self._used(batch)
        self.first = FirstColours(self.start)
        codes = self.first.fit(batch)
        self.refinement = LabelRefinement(self.n_rounds, len(self.first.names))
        columns = self._columns(self.refinement.fit(batch, codes, n_jobs))
        return counts_of_nodes(batch.node_ptr, columns, self.n_columns, n_jobs)

    def counts(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        columns = self.columns(batch, n_jobs)
        return counts_of_nodes(batch.node_ptr, columns, self.n_columns, n_jobs)

    def columns(self, batch: GraphBatch, n_jobs: int | None) -> Codes:
        """Columns of the colours of new nodes, of shape (n_levels, n_nodes)."""
        batch = self._used(batch)
        codes = self.first.colours(batch, self.warns)
        return self._columns(self.refinement.colours(batch, codes, n_jobs))

    def _used(self, batch: GraphBatch) -> GraphBatch:
        return batch if self.edge_labels else batch.without_edge_labels()

    def _columns(self, colours: list[Ints]) -> Codes:
        """A run of columns for each level; new colours come after all, and meet nothing."""
        n_known = self.refinement.n_known
        ends = offsets(n_known)
        columns: Codes = np.empty((len(colours), len(colours[0])), np.int32)
        for level in range(len(columns)):
            own, known = colours.pop(0), n_known[level]  # each is let go in turn
            columns[level] = np.where(own < known, own + ends[level], own - known + ends[-1])
        return columns

    @property
    def n_columns(self) -> int:
        return sum(self.refinement.n_known)

    @property
    def level_ends(self) -> Ints:
        """One after the last column of each round."""
        return np.cumsum(self.refinement.n_known)

    def after_loading(self) -> None:
        check_first(self)
        own = self.refinement
        if own.depth != self.n_rounds or own.n_labels != len(self.first.names):
            raise InvalidInputError("refined colours are not those of the first colours")
