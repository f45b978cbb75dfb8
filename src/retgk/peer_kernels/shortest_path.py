"""The shortest-path kernel."""

from retgk.engine.exact.node_points import check_node_kernel
from retgk.engine.fitted_state import FittedState
from retgk.kernels.node_kernels import NodeKernel
from retgk.peer_kernels.attribute_paths import AttributePathEngine
from retgk.peer_kernels.count_engine import CountEngine, is_of_counts
from retgk.peer_kernels.path_counter import PathCounter
from retgk.peer_kernels.peer_kernel import PeerEngine, PeerKernel
from retgk.refinement.first_colours import Start, check_start
from retgk.runtime.seeds import RandomState

__all__ = ["ShortestPathKernel"]


class ShortestPathKernel(PeerKernel):
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
    attribute_kernel : Laplacian, Gaussian, Polynomial or None, default=None
        Kernel of attributes. None leaves attributes out, and is much quicker.
    normalize : bool, default=True
        Whether to give :math:`K(G, H) / \sqrt{K(G, G)\,K(H, H)}`, which a support vector machine
        wants; GraKeL's default is False. A graph without any edge has kernel 0 with all graphs.
    n_jobs : int, optional
        Threads; None for all cores, but for one inside workers of joblib. It changes no result.
    random_state : int, Generator, RandomState or None
        Draws the nodes of which the median distance of attributes is found, if
        `attribute_kernel` asks for it.

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

    Without attributes, `features` gives the numbers of pairs of nodes for each pair of colours and
    each length as a sparse matrix. With attributes, two graphs of n and m nodes take
    ``n m (n + m)`` steps, not ``n^2 m^2``.

    Examples
    --------
    >>> from retgk import ShortestPathKernel, make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=6, random_state=0).graphs
    >>> kernel = ShortestPathKernel()
    >>> kernel.fit_transform(graphs[:4]).shape
    (4, 4)
    >>> kernel.transform(graphs[4:]).shape
    (2, 4)
    """

    def __init__(
        self,
        *,
        start: Start = "labels",
        attribute_kernel: NodeKernel | None = None,
        normalize: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.start = start
        self.attribute_kernel = attribute_kernel
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state

    def new_engine(self) -> PeerEngine:
        """Check the parameters, and make an engine that is not fitted."""
        check_start(self.start)
        if self.attribute_kernel is None:
            return CountEngine(PathCounter(self.start), "products", self.normalize)
        check_node_kernel(self.attribute_kernel, "attribute_kernel")
        return AttributePathEngine(
            self.attribute_kernel, self.start, self.normalize, self.random_state
        )

    def stored_engine(self, state: FittedState) -> PeerEngine:
        """Make an engine of the kind that a state is of; the state has all that it needs."""
        if is_of_counts(state):
            return CountEngine(PathCounter("none"), "products", self.normalize)
        return AttributePathEngine(None, "none", self.normalize)
