"""The graph invariant kernel."""

from typing import get_args

from retgk.engine.exact.node_points import check_node_kernel
from retgk.engine.fitted_state import FittedState
from retgk.errors import InvalidInputError
from retgk.kernels.node_kernels import Gaussian, NodeKernel
from retgk.peer_kernels.count_engine import CountEngine, is_of_counts
from retgk.peer_kernels.invariant_engine import InvariantCounter, InvariantEngine
from retgk.peer_kernels.node_invariants import MAX_RADIUS, NodeInvariants, Scope
from retgk.peer_kernels.peer_kernel import PeerEngine, PeerKernel, check_whole
from retgk.refinement.first_colours import Start, check_start
from retgk.refinement.label_refinement import MAX_ROUNDS
from retgk.runtime.seeds import RandomState

__all__ = ["GraphInvariantKernel"]

_GAUSSIAN = Gaussian("dimension")


class GraphInvariantKernel(PeerKernel):
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
    attribute_kernel : Gaussian, Laplacian, Polynomial or None, default=Gaussian("dimension")
        Kernel k of attributes. None is one for all nodes, and much quicker: labels and structure
        alone are compared.
    start : {"labels", "degrees", "none"}, default="labels"
        Colours before the first round: labels (one for all nodes, if there are none), numbers of
        neighbours in the whole graph, or one for all. With labels, only nodes of the same label
        are compared.
    normalize : bool, default=True
        Whether to give :math:`K(G, H) / \sqrt{K(G, G)\,K(H, H)}`, which a support vector machine
        wants.
    n_jobs : int, optional
        Threads; None for all cores, but for one inside workers of joblib. It changes no result.
    random_state : int, Generator, RandomState or None
        Draws the nodes of which the median distance of attributes is found, if
        `attribute_kernel` asks for it.

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
    nodes. Labels of edges take part in the refinement. Without attributes, `features` gives the
    sums of :math:`1/|g|` over all nodes of each colour as a sparse matrix.

    Examples
    --------
    >>> from retgk import GraphInvariantKernel, make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=6, n_attributes=2, random_state=0).graphs
    >>> kernel = GraphInvariantKernel(radius=1)
    >>> kernel.fit_transform(graphs[:4]).shape
    (4, 4)
    >>> kernel.transform(graphs[4:]).shape
    (2, 4)
    """

    def __init__(
        self,
        radius: int = 2,
        *,
        n_iter: int = 3,
        scope: Scope = "local",
        attribute_kernel: NodeKernel | None = _GAUSSIAN,
        start: Start = "labels",
        normalize: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.radius = radius
        self.n_iter = n_iter
        self.scope = scope
        self.attribute_kernel = attribute_kernel
        self.start = start
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state

    def new_engine(self) -> PeerEngine:
        """Check the parameters, and make an engine that is not fitted."""
        radius = check_whole(self.radius, "radius", 0, MAX_RADIUS)
        n_iter = check_whole(self.n_iter, "n_iter", 0, MAX_ROUNDS)
        if self.scope not in get_args(Scope):
            raise InvalidInputError(f"scope must be one of {get_args(Scope)}, got {self.scope!r}")
        check_start(self.start)
        invariants = NodeInvariants(radius, n_iter, self.scope)
        if self.attribute_kernel is None:
            counter = InvariantCounter(self.start, invariants)
            return CountEngine(counter, "products", self.normalize)
        check_node_kernel(self.attribute_kernel, "attribute_kernel")
        return InvariantEngine(
            self.attribute_kernel,
            self.start,
            self.normalize,
            self.random_state,
            invariants=invariants,
        )

    def stored_engine(self, state: FittedState) -> PeerEngine:
        """Make an engine of the kind that a state is of; the state has all that it needs."""
        invariants = NodeInvariants(0, 0, "local")
        if is_of_counts(state):
            return CountEngine(InvariantCounter("none", invariants), "products", self.normalize)
        return InvariantEngine(None, "none", self.normalize, invariants=invariants)
