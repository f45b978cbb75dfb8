"""The subgraph matching kernel."""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from retgk.array_types import Floats
from retgk.engine.fitted_state import FittedState
from retgk.errors import InvalidInputError
from retgk.kernels.node_kernels import Bridge, NodeKernel, check_kernel_class
from retgk.peer_kernels.count_engine import CountEngine, is_of_counts
from retgk.peer_kernels.matching_engine import MatchingEngine
from retgk.peer_kernels.matchings import MAX_SUBGRAPH, Matchings
from retgk.peer_kernels.peer_kernel import PeerEngine, PeerKernel, check_whole
from retgk.peer_kernels.subgraph_counter import SubgraphCounter
from retgk.peer_kernels.subgraph_types import SubgraphTypes
from retgk.refinement.first_colours import Start, check_start
from retgk.runtime.seeds import RandomState

__all__ = ["SubgraphMatchingKernel"]


class SubgraphMatchingKernel(PeerKernel):
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
    attribute_kernel : Bridge, Laplacian, Gaussian, Polynomial or None, default=None
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
        `attribute_kernel` asks for it.

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
    `features` gives the counts, times the roots of automorphisms and weights, as a sparse matrix.

    With a kernel of attributes or weights, subgraphs of the same type are matched pair by pair: the
    cost grows with the square of the number of graphs, and for each pair with the number of its
    matchings, which the paper finds as cliques in the product of both graphs. Self-loops are left
    out, but that ``start="degrees"`` counts them. A bridge kernel that is not divided by its width
    w, ``max(0, w - |x - y|)``, is this one with weights :math:`\lambda_s w^s`.

    Examples
    --------
    >>> from retgk import Bridge, SubgraphMatchingKernel, make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=6, n_attributes=1, random_state=0).graphs
    >>> kernel = SubgraphMatchingKernel(k=4)
    >>> kernel.fit_transform(graphs[:4]).shape
    (4, 4)
    >>> SubgraphMatchingKernel(3, attribute_kernel=Bridge(2.0)).fit(graphs[:4]).transform(
    ...     graphs[4:]
    ... ).shape
    (2, 4)
    """

    def __init__(
        self,
        k: int = 5,
        *,
        connected: bool = True,
        start: Start = "labels",
        attribute_kernel: Bridge | NodeKernel | None = None,
        edge_kernel: Literal["labels"] | Bridge | None = "labels",
        size_weights: Sequence[float] | None = None,
        normalize: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.k = k
        self.connected = connected
        self.start = start
        self.attribute_kernel = attribute_kernel
        self.edge_kernel = edge_kernel
        self.size_weights = size_weights
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state

    def new_engine(self) -> PeerEngine:
        """Check the parameters, and make an engine that is not fitted."""
        types = SubgraphTypes(self._matchings())
        check_start(self.start)
        kernel = self.attribute_kernel
        if kernel is None and not types.matchings.width:
            return CountEngine(SubgraphCounter(self.start, types), "products", self.normalize)
        if kernel is not None:
            rule = "a Bridge, Laplacian, Gaussian or Polynomial kernel, such as Bridge()"
            check_kernel_class(kernel, "attribute_kernel", (Bridge, *get_args(NodeKernel)), rule)
        return MatchingEngine(kernel, self.start, self.normalize, self.random_state, types=types)

    def stored_engine(self, state: FittedState) -> PeerEngine:
        """Make an engine of the kind that a state is of; the state has all that it needs."""
        types = SubgraphTypes(Matchings(1, True, True, np.ones(1)))
        if is_of_counts(state):
            return CountEngine(SubgraphCounter("none", types), "products", self.normalize)
        return MatchingEngine(None, "none", self.normalize, types=types)

    def _matchings(self) -> Matchings:
        k = check_whole(self.k, "k", 1, MAX_SUBGRAPH)
        if not isinstance(self.connected, bool | np.bool_):
            raise InvalidInputError(f"connected must be True or False, got {self.connected!r}")
        edge_kernel = self.edge_kernel
        if not (edge_kernel is None or edge_kernel == "labels"):
            check_kernel_class(edge_kernel, "edge_kernel", (Bridge,), "'labels', a Bridge or None")
        width = float(edge_kernel.width) if isinstance(edge_kernel, Bridge) else 0.0
        weights = _checked_weights(self.size_weights, k)
        return Matchings(k, bool(self.connected), edge_kernel is not None, weights, width)


def _checked_weights(weights: Sequence[float] | None, k: int) -> Floats:
    """Weights of sizes as an array, or an error."""
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
