"""The return probability feature, by whichever method."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.io.converters import as_batch
from retgk.runtime.seeds import seed_from
from retgk.walks.exact_probabilities import exact_return_probabilities
from retgk.walks.monte_carlo import ESTIMATORS, estimated_return_probabilities
from retgk.walks.sampling import chosen_nodes
from retgk.walks.spectral import normalized_adjacency, spectral_return_probabilities

__all__ = ["MONTE_CARLO", "Method", "Walks", "return_probabilities"]

Method = Literal["exact", "eigh", "monte-carlo", "monte-carlo-returns"]
MONTE_CARLO = ("monte-carlo", "monte-carlo-returns")

_WALKS = np.uint64(0x57414C4B53)  # walks and drawn nodes use random numbers of their own


@dataclass(frozen=True)
class Walks:
    """How return probabilities are found; the parameters are checked here, once."""

    n_steps: int = 50
    method: Method = "exact"
    n_walks: int = 200
    self_loop: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_walk_parameters(self.n_steps, self.method, self.n_walks, self.self_loop)

    def probabilities(
        self, batch: GraphBatch, *, nodes: Ints | None = None, n_jobs: int | None = None
    ) -> Floats:
        """Return probabilities of all nodes, or of some, shape (n, n_steps)."""
        return np.asarray(
            return_probabilities(
                batch,
                self.n_steps,
                method=self.method,
                n_walks=self.n_walks,
                nodes=nodes,
                self_loop=self.self_loop,
                n_jobs=n_jobs,
                random_state=self.seed,
            )
        )


def return_probabilities(
    graphs: Any,
    n_steps: int = 50,
    *,
    method: Method = "exact",
    n_walks: int = 200,
    nodes: Any = None,
    self_loop: float = 1.0,
    standard_error: float | None = None,
    return_standard_error: bool = False,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Any:
    r"""
    Probabilities that random walks return to their start node after 1, 2, .., S steps.

    With A the weighted adjacency, l the self-loop that every node gets, D the diagonal of the
    row sums of :math:`A + l I`, and :math:`P = D^{-1}(A + l I)`, the feature of node i is

    .. math:: p_i = [P^s(i, i)]_{s=1}^S

    (equation 3 of the paper). All values lie in [0, 1], whatever the scale of the weights
    (between 1e-150 and 1e150).

    Parameters
    ----------
    graphs : GraphBatch or anything that `as_batch` takes
        One graph or many.
    n_steps : int, default=50
        Number S of steps.
    method : {"exact", "eigh", "monte-carlo", "monte-carlo-returns"}, default="exact"
        - "exact": to rounding, by half powers of a graph whose twins are merged;
          :math:`O(S \cdot n \cdot n_{edges})` time per graph, and no dense matrix unless the graph
          is dense itself (LAPACK then takes one core per graph).
        - "eigh": the published formula, one eigendecomposition per graph; the reference, which
          computes all nodes whatever `nodes` says.
        - "monte-carlo": counts meetings of walks of half the length; unbiased, and at the
          same number of walks several times more accurate than
        - "monte-carlo-returns": the paper's, the share of walks that stand on their start node.
    n_walks : int, default=200
        Walks per node, for Monte Carlo.
    nodes : None, int, float, or array-like, default=None
        Nodes to describe: all; a number or a share of nodes drawn from every graph, as
        `sample_nodes` draws them (which tells the error that it costs); or nodes
        themselves, numbered over the batch, or a mask.
    self_loop : float, default=1.0
        Weight of the self-loop that every node gets on top of any of its own. With 0
        the walk is the plain one; a node without edges then stays where it is, so that its
        return probabilities are all one.
    standard_error : float, optional
        Standard error wanted of Monte Carlo values. More walks are drawn from a node, starting with
        `n_walks` or 64, until the largest estimated error of its values is not above it.
    return_standard_error : bool, default=False
        Whether to return estimated standard errors too (zeros for the exact methods).
    n_jobs : int, optional
        Threads; None for all cores. It changes no result.
    random_state : int, Generator, RandomState or None
        Seed of Monte Carlo and of drawn nodes. The result for a graph depends on it and on the
        graph, not on the batch that the graph stands in.

    Returns
    -------
    probabilities : ndarray of float64, shape (n_nodes, n_steps)
        One row per node, in the order of the batch's nodes or of `nodes`.
    errors : ndarray of float64, shape (n_nodes, n_steps)
        Standard errors; only if `return_standard_error`.

    Notes
    -----
    Monte Carlo estimates are unbiased before they are clipped to [0, 1], which can only bring
    them closer to the truth. Graphs with the same arrays walk with the same random numbers.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = np.ones((3, 3)) - np.eye(3)
    >>> return_probabilities(triangle, n_steps=2)[0].round(3)
    array([0.333, 0.333])
    """
    batch = as_batch(graphs)
    check_walk_parameters(n_steps, method, n_walks, self_loop, standard_error)
    seed = seed_from(random_state) if method in ESTIMATORS or nodes is not None else np.uint64(0)
    chosen = chosen_nodes(batch, nodes, seed)
    if method in ESTIMATORS:
        rows = np.arange(batch.n_nodes) if chosen is None else chosen
        estimates, errors = estimated_return_probabilities(
            batch,
            n_steps,
            rows,
            self_loop=self_loop,
            estimator=method,
            n_walks=n_walks,
            standard_error=standard_error,
            with_errors=return_standard_error,
            seed=seed ^ _WALKS,
            n_jobs=n_jobs,
        )
        return (estimates, errors) if return_standard_error else estimates
    exact = _exact(batch, n_steps, chosen, method, self_loop, n_jobs)
    return (exact, np.zeros_like(exact)) if return_standard_error else exact


def _exact(
    batch: GraphBatch,
    n_steps: int,
    nodes: NDArray[np.int64] | None,
    method: str,
    self_loop: float,
    n_jobs: int | None,
) -> Floats:
    if method == "eigh":
        probabilities = _published(batch, n_steps, self_loop)
        return probabilities if nodes is None else probabilities[nodes]
    if nodes is None:
        return exact_return_probabilities(batch, n_steps, None, self_loop, n_jobs)
    rising, position = np.unique(nodes, return_inverse=True)
    found = exact_return_probabilities(batch, n_steps, rising, self_loop, n_jobs)
    return found if np.array_equal(rising, nodes) else found[position]


def _published(batch: GraphBatch, n_steps: int, self_loop: float) -> Floats:
    rows = [
        spectral_return_probabilities(normalized_adjacency(graph, self_loop), n_steps)
        for graph in batch
    ]
    return np.clip(np.concatenate(rows) if rows else np.empty((0, n_steps)), 0.0, 1.0)


def check_walk_parameters(
    n_steps: Any, method: str, n_walks: Any, self_loop: Any, standard_error: float | None = None
) -> None:
    """Raise unless these are parameters of `return_probabilities`."""
    if not isinstance(n_steps, Integral) or isinstance(n_steps, bool) or n_steps < 1:
        raise InvalidInputError(f"n_steps must be a whole number of at least 1, got {n_steps!r}")
    if method not in get_args(Method):
        raise InvalidInputError(f"method must be one of {get_args(Method)}, got {method!r}")
    if not isinstance(self_loop, Real) or not 0 <= float(self_loop) < np.inf:
        raise InvalidInputError(f"self_loop must be finite and not negative, got {self_loop!r}")
    if not isinstance(n_walks, Integral) or n_walks < 3:
        raise InvalidInputError(f"n_walks must be a whole number of at least 3, got {n_walks!r}")
    if standard_error is not None and (method not in ESTIMATORS or not standard_error > 0):
        raise InvalidInputError(
            f"standard_error must be positive and needs a Monte Carlo method, got "
            f"{standard_error} with method={method!r}"
        )
