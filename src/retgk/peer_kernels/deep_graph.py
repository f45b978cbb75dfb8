"""The deep graph kernel: substructures compared by what they occur together with."""

from typing import get_args

import numpy as np

from retgk.engine.fitted_state import FittedState
from retgk.errors import InvalidInputError
from retgk.peer_kernels.count_engine import CountEngine, is_of_counts
from retgk.peer_kernels.deep_engine import (
    BaseCounter,
    DeepBase,
    DeepEngine,
    LengthCounter,
    Similarity,
    VectorRules,
)
from retgk.peer_kernels.graphlets import GraphletCounter, samples_for
from retgk.peer_kernels.path_counter import PathCounter
from retgk.peer_kernels.peer_kernel import PeerEngine, PeerKernel, check_whole
from retgk.peer_kernels.weisfeiler_lehman import ColourCounter
from retgk.refinement.first_colours import Start, check_start
from retgk.refinement.label_refinement import MAX_ROUNDS
from retgk.runtime.seeds import RandomState

__all__ = ["DeepGraphKernel"]

_MAX_COMPONENTS = 1 << 14
_MAX_SAMPLES = 1 << 26


class DeepGraphKernel(PeerKernel):
    r"""
    Deep graph kernel between graphs (Yanardag and Vishwanathan, 2015).

    .. math:: K(G, H) = \phi(G)^\top M\,\phi(H), \qquad M = \mathrm{diag}(\|e_i\|)
              \quad\text{or}\quad M = E E^\top

    where :math:`\phi` counts substructures, and the rows :math:`e_i` of E are vectors of
    substructures, which are near each other if these occur together with the same others.

    Parameters
    ----------
    base : {"wl", "shortest-path", "graphlet"}, default="wl"
        Substructures: colours of all rounds of `WeisfeilerLehmanKernel`, which occur together if
        nodes of the same graph have them in the same round; the paths of `ShortestPathKernel`,
        told apart by the labels of their ends and their length, which occur together if they are in
        the same graph; or the graphlets of `GraphletKernel`, of which two occur together if they
        differ in one node.
    similarity : {"lengths", "vectors"}, default="lengths"
        The matrix M. "lengths" compares equal substructures alone, weighted by the length of their
        vector: rare ones, and those that keep to the same company, count more. "vectors" compares
        all substructures by the inner products of their vectors.
    n_iter : int, default=3
        Rounds of refinement of "wl".
    start : {"labels", "degrees", "none"}, default="labels"
        Colours before the first round of "wl", and labels of the ends of paths.
    k : {3, 4, 5}, default=4
        Nodes of a graphlet.
    n_samples : int, default=1000
        Pairs of graphlets that are drawn from every graph to learn E from.
    n_components : int, default=50
        Most coordinates of the vector of a substructure.
    n_negatives : float, default=1.0
        Negative samples of skip-gram; more of them leave out weak ties.
    min_graphs : int, default=2
        Colours and paths that fewer fitted graphs have get no vector.
    normalize : bool, default=True
        Whether to give :math:`K(G, H) / \sqrt{K(G, G)\,K(H, H)}`, which a support vector machine
        wants.
    n_jobs : int, optional
        Threads; None for all cores, but for one inside workers of joblib. It changes no result.
    random_state : int, Generator, RandomState or None
        Draws graphlets, and where the search for eigenvectors starts.

    Attributes
    ----------
    reading_ : Reading or None
        How the fitted graphs were read; new ones are read alike.
    engine_ : CountEngine or DeepEngine
        Weighted counts of the fitted graphs, or vectors of substructures and of these graphs.

    Notes
    -----
    The authors train E by skip-gram with negative sampling. Its optimum, for vectors that are long
    enough, has inner products :math:`\log \frac{n_{ij} n}{n_i n_j} - \log k`, the pointwise mutual
    information of two substructures, shifted by the number k of negative samples (Levy and
    Goldberg, 2014). Here E is found from that matrix, with negative entries set to zero, by the
    largest eigenvalues of it, weighted by how often substructures occur: the result is the same
    every time, and there is no rate of learning. Nor can the order of the graphs in a file have a
    part in it, which training by gradients takes in, and with it the classes of sorted files.

    The program of the authors has both similarities. Their accuracies are near those of the base
    kernels, as they are here with "lengths"; fifty coordinates for thousands of colours, and inner
    products of all of them, lose much of what tells graphs apart.

    Substructures without a vector, such as those of new graphs alone, add nothing, to the graph's
    own norm neither. The cost is that of the base kernel, of the table of colours or paths that
    occur in the same graph, which has up to the square of their number in each graph, and of its
    eigenvectors; kernel values of "vectors" take n^2 `n_components` steps. `features` gives
    the counts times :math:`\sqrt{\|e_i\|}` as a sparse matrix, or :math:`\phi(G)^\top E` as a
    dense one.

    Examples
    --------
    >>> from retgk import DeepGraphKernel, make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=6, random_state=0).graphs
    >>> kernel = DeepGraphKernel(n_components=10, random_state=0)
    >>> kernel.fit_transform(graphs[:4]).shape
    (4, 4)
    >>> kernel.transform(graphs[4:]).shape
    (2, 4)
    """

    def __init__(
        self,
        base: DeepBase = "wl",
        *,
        similarity: Similarity = "lengths",
        n_iter: int = 3,
        start: Start = "labels",
        k: int = 4,
        n_samples: int = 1000,
        n_components: int = 50,
        n_negatives: float = 1.0,
        min_graphs: int = 2,
        normalize: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.base = base
        self.similarity = similarity
        self.n_iter = n_iter
        self.start = start
        self.k = k
        self.n_samples = n_samples
        self.n_components = n_components
        self.n_negatives = n_negatives
        self.min_graphs = min_graphs
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state

    def new_engine(self) -> PeerEngine:
        """Check the parameters, and make an engine that is not fitted."""
        counter, rules = self._new_counter(), self._rules()
        if self.similarity == "vectors":
            return DeepEngine(counter, self.normalize, rules)
        return CountEngine(LengthCounter(counter, rules), "products", self.normalize)

    def stored_engine(self, state: FittedState) -> PeerEngine:
        """Make an engine of the kind that a state is of; the state has all that it needs."""
        counter = ColourCounter(0, "none")
        if is_of_counts(state):
            return CountEngine(LengthCounter(counter), "products", self.normalize)
        return DeepEngine(counter, self.normalize)

    def _new_counter(self) -> BaseCounter:
        n_iter = check_whole(self.n_iter, "n_iter", 0, MAX_ROUNDS)
        k = check_whole(self.k, "k", 3, 5)
        check_start(self.start)
        for name, choices in (("base", DeepBase), ("similarity", Similarity)):
            if (value := getattr(self, name)) not in get_args(choices):
                raise InvalidInputError(f"{name} must be one of {get_args(choices)}, got {value!r}")
        if self.base == "graphlet":
            return GraphletCounter(k, False, None if k < 5 else samples_for(k), self.random_state)
        return ColourCounter(n_iter, self.start) if self.base == "wl" else PathCounter(self.start)

    def _rules(self) -> VectorRules:
        n_samples = check_whole(self.n_samples, "n_samples", 1, _MAX_SAMPLES)
        n_components = check_whole(self.n_components, "n_components", 1, _MAX_COMPONENTS)
        min_graphs = check_whole(self.min_graphs, "min_graphs", 1, _MAX_SAMPLES)
        negatives = self.n_negatives
        is_number = isinstance(negatives, int | float | np.number) and not isinstance(
            negatives, bool
        )
        if not is_number or not 0 < negatives < np.inf:
            raise InvalidInputError(f"n_negatives must be positive and finite, got {negatives!r}")
        how = (n_components, float(negatives), min_graphs, n_samples)
        return VectorRules(*how, self.random_state)
