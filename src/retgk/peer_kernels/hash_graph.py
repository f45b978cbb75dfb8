"""The hash graph kernel: attributes hashed to labels again and again."""

from typing import get_args

import numpy as np

from retgk.errors import InvalidInputError
from retgk.peer_kernels.hashed_labels import MAX_HASHES, HashBase, HashCounter, HashEngine
from retgk.peer_kernels.peer_kernel import PeerKernel, check_whole
from retgk.refinement.first_colours import Start, check_start
from retgk.refinement.label_refinement import MAX_ROUNDS
from retgk.runtime.seeds import RandomState

__all__ = ["HashGraphKernel"]


class HashGraphKernel(PeerKernel):
    r"""
    Hash graph kernel between graphs with attributes (Morris et al., 2016).

    .. math:: K(G, H) = \frac{1}{I} \sum_{i=1}^{I} K_b(h_i(G), h_i(H)),
              \qquad h_i(x) = \lfloor (\langle a_i, x \rangle + b_i) / w \rfloor

    where :math:`h_i(G)` has the hash of its attributes as the label of every node, together with
    the label that the node has. The :math:`a_i` are normal, the :math:`b_i` uniform in [0, w): near
    attributes have the same hash more often than distant ones (2-stable hashing). The base is
    `WeisfeilerLehmanKernel` or `ShortestPathKernel`, not normalized.

    Parameters
    ----------
    n_hashes : int, default=20
        Number I of hash functions, as in the paper.
    base : {"wl", "sp"}, default="wl"
        Base kernel: subtrees of Weisfeiler and Lehman, or shortest paths.
    n_iter : int, default=3
        Rounds of refinement of "wl"; the paper chooses it by cross-validation.
    bin_width : float, default=1.0
        Width w of the bins.
    standardize : bool, default=True
        Whether to bring every attribute to mean zero and deviation one first, by the fitted graphs,
        as the authors do.
    start : {"labels", "degrees", "none"}, default="labels"
        Which labels nodes have beside the hash: their own, if there are any, numbers of neighbours,
        or none.
    normalize : bool, default=True
        Whether to give :math:`K(G, H) / \sqrt{K(G, G)\,K(H, H)}`, which a support vector machine
        wants.
    n_jobs : int, optional
        Threads; None for all cores, but for one inside workers of joblib. It changes no result.
    random_state : int, Generator, RandomState or None
        Draws the hash functions, which new graphs are hashed by too.

    Attributes
    ----------
    reading_ : Reading or None
        How the fitted graphs were read; new ones are read alike.
    engine_ : HashEngine
        Hash functions, and what the base kernels count in the fitted graphs.

    Notes
    -----
    The cost is that of `n_hashes` base kernels. `features` gives the counts of all of them, divided
    by :math:`\sqrt{I}`, as a sparse matrix.

    Examples
    --------
    >>> from retgk import HashGraphKernel, make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=6, n_attributes=2, random_state=0).graphs
    >>> kernel = HashGraphKernel(n_hashes=5, random_state=0)
    >>> kernel.fit_transform(graphs[:4]).shape
    (4, 4)
    >>> kernel.transform(graphs[4:]).shape
    (2, 4)
    """

    def __init__(
        self,
        n_hashes: int = 20,
        *,
        base: HashBase = "wl",
        n_iter: int = 3,
        bin_width: float = 1.0,
        standardize: bool = True,
        start: Start = "labels",
        normalize: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_hashes = n_hashes
        self.base = base
        self.n_iter = n_iter
        self.bin_width = bin_width
        self.standardize = standardize
        self.start = start
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state

    def new_engine(self) -> HashEngine:
        """Check the parameters, and make an engine that is not fitted."""
        n_hashes = check_whole(self.n_hashes, "n_hashes", 1, MAX_HASHES)
        n_iter = check_whole(self.n_iter, "n_iter", 0, MAX_ROUNDS)
        if self.base not in get_args(HashBase):
            raise InvalidInputError(f"base must be one of {get_args(HashBase)}, got {self.base!r}")
        width, standardize = self.bin_width, self.standardize
        is_number = isinstance(width, int | float | np.number) and not isinstance(width, bool)
        if not is_number or not 0 < width < np.inf:
            raise InvalidInputError(f"bin_width must be positive and finite, got {width!r}")
        if not isinstance(standardize, bool | np.bool_):
            raise InvalidInputError(f"standardize must be True or False, got {standardize!r}")
        check_start(self.start)
        settings = (n_hashes, self.base, n_iter, float(width), bool(standardize), self.start)
        return HashEngine(HashCounter(*settings, self.random_state), "products", self.normalize)
