"""Kernels of refined labels: Weisfeiler-Lehman subtrees, and their optimal assignment."""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from retgk._runtime.fields import stored
from retgk._runtime.parameters import PEERS, ROUNDS, START, OneOf
from retgk.array_types import Codes, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import offsets
from retgk.kernels.others.base import Compared, PeerKernel, check_first
from retgk.kernels.others.counts import CountEngine, GraphCounts, counts_of_nodes
from retgk.kernels.refinement import FirstColours, LabelRefinement, Start

Base = Literal["subtree", "optimal-assignment"]
"""How colours of two graphs are compared."""


class WeisfeilerLehman(PeerKernel):
    r"""
    Weisfeiler-Lehman kernel between graphs (Shervashidze et al., 2011; Kriege et al., 2016).

    Let :math:`n_c(G)` be the number of nodes of colour c, over all colours of the rounds h = 0, ..,
    n_iter of refinement. The subtree kernel is :math:`\sum_c n_c(G)\,n_c(H)`, that of the optimal
    assignment :math:`\sum_c \min(n_c(G), n_c(H))`.

    Parameters
    ----------
    n_iter : int, default=5
        Rounds of refinement; the colours before the first round count too, as in GraKeL.
    base : {"subtree", "optimal-assignment"}, default="subtree"
        Which of the two kernels.
    start : {"labels", "degrees", "none"}, default="labels"
        Colours before the first round: labels (one for all nodes, if there are none), numbers of
        neighbours, or one for all.
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
    Labels of edges take part in the refinement, if there are any; weights and attributes do not.
    Colours are told apart by the whole neighbourhood, not by a hash of it. A neighbourhood of a new
    graph that no fitted graph has meets nothing, but counts in the graph's own norm.

    `features` gives the numbers :math:`n_c(G)` as a sparse matrix, for linear models.

    Examples
    --------
    >>> from retgk.datasets import make_graph_classification
    >>> from retgk.kernels import WeisfeilerLehman
    >>> graphs = make_graph_classification(n_graphs=6, random_state=0).graphs
    >>> kernel = WeisfeilerLehman(n_iter=3)
    >>> kernel.fit_transform(graphs[:4]).shape
    (4, 4)
    >>> kernel.transform(graphs[4:]).shape
    (2, 4)
    >>> kernel.features(graphs[4:]).shape[0]
    2
    """

    _parameter_constraints = PEERS | START | ROUNDS | {"base": (OneOf(get_args(Base)),)}
    methods = (
        Compared("wl", "Weisfeiler-Lehman subtrees", {"n_iter": (1, 2, 3, 4, 5)}),
        Compared(
            "wl-oa",
            "Weisfeiler-Lehman optimal assignment",
            {"n_iter": (1, 2, 3, 4, 5)},
            {"base": "optimal-assignment"},
        ),
    )

    def __init__(
        self,
        n_iter: int = 5,
        *,
        base: Base = "subtree",
        start: Start = "labels",
        normalize: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.n_iter = n_iter
        self.base = base
        self.start = start
        self.normalize = normalize
        self.n_jobs = n_jobs

    def new_engine(self) -> CountEngine:
        summand: Any = "products" if self.base == "subtree" else "minima"
        return CountEngine(ColourCounter(int(self.n_iter), self.start), summand, self.normalize)


@stored
@dataclass
class ColourCounter:
    """Counts nodes of every colour, over all rounds of refinement."""

    n_rounds: int  # rounds of refinement
    start: Start  # colours before the first
    warns: bool = True
    """Whether to warn of new graphs without a known label; not where labels are hashes."""
    first: FirstColours = field(init=False)
    refinement: LabelRefinement = field(init=False)

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        self.first = FirstColours(self.start)
        codes = self.first.fit(batch)
        self.refinement = LabelRefinement(self.n_rounds, len(self.first.names))
        colours = self.refinement.fit(batch, codes, n_jobs)
        return self._counted(batch.node_ptr, colours, n_jobs)

    def counts(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        codes = self.first.colours(batch, self.warns)
        colours = self.refinement.colours(batch, codes, n_jobs)
        return self._counted(batch.node_ptr, colours, n_jobs)

    def _counted(self, node_ptr: Ints, colours: list[Ints], n_jobs: int | None) -> GraphCounts:
        """Counts of colours, a run of columns for each level; new ones meet nothing."""
        n_known = self.refinement.n_known
        ends = offsets(n_known)
        columns: Codes = np.empty((len(colours), int(node_ptr[-1])), np.int32)
        for level in range(len(colours)):
            own, known = colours.pop(0), n_known[level]  # each is let go in turn
            columns[level] = np.where(own < known, own + ends[level], own - known + ends[-1])
        return counts_of_nodes(node_ptr, columns, int(ends[-1]), n_jobs)

    @property
    def n_columns(self) -> int:
        return sum(self.refinement.n_known)

    def after_loading(self) -> None:
        check_first(self)
        own = self.refinement
        if own.depth != self.n_rounds or own.n_labels != len(self.first.names):
            raise InvalidInputError("refined colours are not those of the first colours")
