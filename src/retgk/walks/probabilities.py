"""The return probability feature, by whichever method."""

from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np

from retgk._runtime.fields import stored
from retgk._runtime.names import Rng, seed_from
from retgk._runtime.parameters import WALKS, WEIGHT_RANGE, check_parameters
from retgk._runtime.processes import check_room
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, flat_arrays, trusted_batch
from retgk.graphs.flat import MAX_GRAPH_SIZE, graph_of
from retgk.io.convert import as_batch
from retgk.walks.exact import exact_return_probabilities, published_return_probabilities
from retgk.walks.monte_carlo import (
    ESTIMATORS,
    estimated_return_probabilities,
    graph_hashes,
    node_keys,
)

# Weights of edges in units of their graph: walks do not depend on how they were measured.


def with_mean_weight_one(batch: GraphBatch) -> GraphBatch:
    """Divide the weights of every graph by their mean; unweighted graphs keep all bits."""
    if not batch.is_weighted or len(batch.weights) == 0:
        return batch
    arrays = flat_arrays(batch)
    weights = _in_units_of_the_mean(batch)
    return trusted_batch(arrays._replace(adjacency=arrays.adjacency._replace(weights=weights)))


def _in_units_of_the_mean(batch: GraphBatch) -> Floats:
    ptr = batch.indptr[batch.node_ptr]
    counts = np.diff(ptr)
    starts, counts = ptr[:-1][counts > 0], counts[counts > 0]
    # by the largest first: the sum of large weights may not be a number
    by_largest = batch.weights / np.repeat(np.maximum.reduceat(batch.weights, starts), counts)
    means = np.add.reduceat(by_largest, starts) / counts
    return np.asarray(by_largest / np.repeat(means, counts))


def check_weight_range(batch: GraphBatch, shown: GraphBatch | None = None) -> None:
    """Raise where a weight gives no numbers; `shown` has it in the units of the user."""
    if not batch.is_weighted or len(batch.weights) == 0:
        return
    least, most = WEIGHT_RANGE
    if batch.weights.min() >= least and batch.weights.max() <= most:
        return
    entry = int(np.argmax((batch.weights < least) | (batch.weights > most)))
    source = int(np.searchsorted(batch.indptr, entry, side="right")) - 1
    graph = graph_of(batch.node_ptr, source)
    limits = f"between {least:g} and {most:g}"
    if shown is None:
        advice = f"walks need weights {limits}: scale all of the graph, or use self_loop='mean'"
    else:
        advice = f"walks need weights {limits} times the mean weight of their graph"
    raise InvalidInputError(
        f"graph {graph}: the edge from node {source - batch.node_ptr[graph]} to node "
        f"{batch.indices[entry]} has weight {(shown or batch).weights[entry]:g}; {advice}"
    )


Method = Literal["exact", "eigh", "monte-carlo", "monte-carlo-returns"]

SelfLoop = float | Literal["mean"]
"""Weight of the self-loop that every node gets; "mean" is the mean weight of its graph."""


# Which nodes to describe: all, some, or a sample of every graph.


def sample_nodes(graphs: Any, nodes: float, *, rng: Rng = None) -> Ints:
    r"""
    Draw nodes from every graph, without replacement.

    The mean of unit feature vectors over k of n nodes misses that over all n by at most
    :math:`\sqrt{(1/k)(n-k)/(n-1)}` in root mean square: 1,000 nodes of a graph of any size
    miss by about 0.03, and the distance of two sampled graphs by about 0.045, on a scale where
    1.4 is the largest distance.

    Parameters
    ----------
    graphs : GraphBatch or anything that `as_batch` takes
        The graphs.
    nodes : int or float
        Number of nodes per graph (smaller graphs give all of theirs), or the share of its
        nodes, rounded up, if a float in (0, 1].
    rng : int, Generator or None
        Seed. The same graph gives the same sample, wherever it stands in a batch.

    Returns
    -------
    ndarray of int64
        Rising nodes, numbered over the batch.

    Examples
    --------
    >>> path = GraphBatch.from_edges(4, [[0, 1], [1, 2], [2, 3]], symmetrize=True)
    >>> len(sample_nodes(path, 0.5, rng=0))
    2
    """
    return _sampled(as_batch(graphs), nodes, seed_from(rng, "rng"))


def _sampled(batch: GraphBatch, nodes: Any, seed: np.uint64) -> Ints:
    counts = _counts(batch, nodes)
    keys = node_keys(batch, graph_hashes(batch), seed)
    graph = np.repeat(np.arange(len(batch)), batch.node_counts)
    rank = np.arange(batch.n_nodes) - batch.node_ptr[graph]
    drawn: Ints = np.lexsort((keys, graph))[rank < counts[graph]]
    return np.sort(drawn)


def chosen_nodes(batch: GraphBatch, nodes: Any, seed: np.uint64) -> Ints | None:
    if nodes is None:
        return None
    if isinstance(nodes, Real):
        return _sampled(batch, nodes, seed)
    chosen = np.asarray(nodes)
    if chosen.dtype == bool and chosen.shape == (batch.n_nodes,):
        return np.flatnonzero(chosen)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise InvalidInputError(
            "nodes must be None, a count, a share, a mask over all nodes or a list of nodes, got "
            f"an array of {chosen.dtype} with shape {chosen.shape}"
        )
    outside = (chosen < 0) | (chosen >= batch.n_nodes)
    if outside.any():
        raise InvalidInputError(
            f"node {chosen[outside][0]} is out of range for {batch.n_nodes} nodes; nodes are "
            "numbered over the whole batch"
        )
    return chosen.astype(np.int64)


def _counts(batch: GraphBatch, nodes: Any) -> Ints:
    check_parameters({"nodes": WALKS["nodes"]}, {"nodes": nodes})
    if isinstance(nodes, Integral):
        return np.minimum(min(int(nodes), MAX_GRAPH_SIZE), batch.node_counts)
    return np.asarray(np.ceil(nodes * batch.node_counts), dtype=np.int64)


MONTE_CARLO = ("monte-carlo", "monte-carlo-returns")

FEWER_NODES = (
    "describe some nodes only with nodes=, as return_probabilities and RetGKEmbedding (`retgk "
    "embed`) do"
)
"""What to do where all nodes of a graph are too many."""

_MANY_BYTES = 1 << 28  # less is not worth a look at the memory, which comes piece after piece
_WALKS = np.uint64(0x57414C4B53)  # walks and drawn nodes use random numbers of their own


@stored
@dataclass(frozen=True)
class Walks:
    """
    How return probabilities are found.

    Parameters
    ----------
    n_steps : int, default=50
        Number of return probabilities of a node.
    method : {"exact", "eigh", "monte-carlo", "monte-carlo-returns"}, default="exact"
        How they are found; see `return_probabilities`.
    n_walks : int, default=200
        Walks per node, for Monte Carlo.
    self_loop : "mean" or float, default="mean"
        Weight of the self-loop that every node gets. "mean" is the mean weight of the edges of its
        graph, 1 if it is unweighted: results do not depend on the unit of the weights.
    nodes : int, float or None, default=None
        Nodes that stand for a graph, drawn as by `sample_nodes`: so many of each graph, or a share
        of them; None for all. For vectors of large graphs.

    Examples
    --------
    >>> from retgk import RetGK, Walks
    >>> RetGK(walks=Walks(n_steps=20, method="monte-carlo"))
    RetGK(walks=Walks(n_steps=20, method='monte-carlo'))
    """

    n_steps: int = 50
    method: Method = "exact"
    n_walks: int = 200
    self_loop: SelfLoop = "mean"
    nodes: float | None = None
    seed: int = 0
    """Seed of Monte Carlo, which estimators set."""
    copies_share: bool = True
    """
    Whether graphs of a batch with the same arrays walk with the same random numbers; otherwise
    estimates of all graphs are independent, and those of a graph depend on its batch.
    """

    internal_fields: ClassVar[tuple[str, ...]] = ("seed", "copies_share")

    def __repr__(self) -> str:
        own = [(one.name, getattr(self, one.name)) for one in fields(self)]
        defaults = {one.name: one.default for one in fields(self)}
        given = [f"{name}={value!r}" for name, value in own if value != defaults[name]]
        return f"Walks({', '.join(given)})"

    def __post_init__(self) -> None:
        check_parameters(WALKS, vars(self))

    @property
    def is_random(self) -> bool:
        """Whether the probabilities are estimates, by Monte Carlo."""
        return self.method in ESTIMATORS

    def probabilities(
        self, batch: GraphBatch, *, nodes: Ints | None = None, n_jobs: int | None = None
    ) -> Floats:
        """Same bits as of `return_probabilities` with ``rng=seed``, if copies share."""
        bits = seed_from(self.seed) if self.is_random else np.uint64(0)
        return self.estimates(batch, nodes, bits, n_jobs=n_jobs)[0]

    def estimates(
        self,
        batch: GraphBatch,
        nodes: Ints | None,
        bits: np.uint64,
        *,
        standard_error: float | None = None,
        with_errors: bool = False,
        n_jobs: int | None = None,
    ) -> tuple[Floats, Floats]:
        """Return probabilities from these random bits, and standard errors if they are wanted."""
        n_nodes = batch.n_nodes if nodes is None else len(nodes)
        n_bytes = 8 * n_nodes * self.n_steps * (1 + with_errors)
        if n_bytes > _MANY_BYTES:
            what = f"the array of return probabilities of {n_nodes:,} nodes"
            check_room(n_bytes, what, FEWER_NODES)
        batch, self_loop = self._in_units(batch)
        if not self.is_random:
            exact = self._exact(batch, self_loop, nodes, n_jobs)
            return exact, np.zeros_like(exact) if with_errors else np.empty((0, self.n_steps))
        return estimated_return_probabilities(
            batch,
            self.n_steps,
            np.arange(batch.n_nodes) if nodes is None else nodes,
            self_loop=self_loop,
            estimator=self.method,
            n_walks=self.n_walks,
            standard_error=standard_error,
            with_errors=with_errors,
            seed=bits ^ _WALKS,
            copies_share=self.copies_share,
            n_jobs=n_jobs,
        )

    def check(self, batch: GraphBatch) -> None:
        self._in_units(batch)

    def _in_units(self, batch: GraphBatch) -> tuple[GraphBatch, float]:
        """Graphs whose weights are in range, and the weight of a self-loop among them."""
        if self.self_loop != "mean":
            check_weight_range(batch)
            return batch, float(self.self_loop)
        scaled = with_mean_weight_one(batch)
        check_weight_range(scaled, shown=batch)
        return scaled, 1.0

    def _exact(
        self, batch: GraphBatch, self_loop: float, nodes: Ints | None, n_jobs: int | None
    ) -> Floats:
        if self.method == "eigh":
            probabilities = published_return_probabilities(batch, self.n_steps, self_loop)
            return probabilities if nodes is None else probabilities[nodes]
        how = (self_loop, n_jobs)
        if nodes is None:
            return exact_return_probabilities(batch, self.n_steps, None, *how)
        rising, position = np.unique(nodes, return_inverse=True)
        found = exact_return_probabilities(batch, self.n_steps, rising, *how)
        return found if np.array_equal(rising, nodes) else found[position]


def return_probabilities(
    graphs: Any,
    n_steps: int = 50,
    *,
    method: Method = "exact",
    n_walks: int = 200,
    nodes: Any = None,
    self_loop: SelfLoop = "mean",
    standard_error: float | None = None,
    return_standard_error: bool = False,
    n_jobs: int | None = None,
    rng: Rng = None,
) -> Any:
    r"""
    Probabilities that random walks return to their start node after 1, 2, .., S steps.

    With A the weighted adjacency, l the self-loop that every node gets, D the diagonal of the
    row sums of :math:`A + l I`, and :math:`P = D^{-1}(A + l I)`, the feature of node i is

    .. math:: p_i = [P^s(i, i)]_{s=1}^S

    (equation 3 of the paper). All values lie in [0, 1], whatever the scale of the weights.

    Parameters
    ----------
    graphs : GraphBatch or anything that `as_batch` takes
        One graph or many.
    n_steps : int, default=50
        Number S of steps.
    method : {"exact", "eigh", "monte-carlo", "monte-carlo-returns"}, default="exact"
        - "exact": to rounding, by half powers of a graph whose twins are merged;
          :math:`O(S \cdot n \cdot n_{edges})` time per graph, and no dense matrix unless the graph
          is dense itself (LAPACK then takes one core per graph). Where it will take more than about
          ten minutes, a warning says so before it begins.
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
    self_loop : "mean" or float, default="mean"
        Weight of the self-loop that every node gets on top of any of its own. "mean" is the mean
        weight of the edges of its graph (over the nonzero entries of the matrix), which is 1 for
        unweighted graphs, as in the paper: results then do not depend on the unit of the weights.
        A number is 0, or between 1e-150 and 1e150 as the weights of edges. With 0 the walk is the
        plain one; a node without edges then stays where it is, with probabilities of one.
    standard_error : float, optional
        Standard error wanted of Monte Carlo values. More walks are drawn from a node, starting with
        `n_walks` or 64, until the largest estimated error of its values is not above it.
    return_standard_error : bool, default=False
        Whether to return estimated standard errors too (zeros for the exact methods). They are on
        the safe side: from few walks, up to three times as large as the true ones.
    n_jobs : int, optional
        Threads; None for all cores. It changes no result.
    rng : int, Generator or None
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
    them closer to the truth. Graphs with the same arrays walk with the same random numbers, except
    in tests of populations, where estimates of all graphs must be independent.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = np.ones((3, 3)) - np.eye(3)
    >>> return_probabilities(triangle, n_steps=2)[0].round(3)
    array([0.333, 0.333])
    """
    batch = as_batch(graphs)
    walks = Walks(n_steps, method, n_walks, self_loop)
    _check_standard_error(standard_error, walks)
    is_random = walks.is_random or nodes is not None
    bits = seed_from(rng, "rng") if is_random else np.uint64(0)
    found = walks.estimates(
        batch,
        chosen_nodes(batch, nodes, bits),
        bits,
        standard_error=standard_error,
        with_errors=return_standard_error,
        n_jobs=n_jobs,
    )
    return found if return_standard_error else found[0]


def _check_standard_error(standard_error: float | None, walks: Walks) -> None:
    if standard_error is not None and not (walks.is_random and standard_error > 0):
        raise InvalidInputError(
            f"standard_error must be positive and needs a Monte Carlo method, got "
            f"{standard_error} with method={walks.method!r}"
        )
