"""Standard errors of Monte Carlo values cover the truth on every graph; odd weights are refused."""

import re

import numpy as np
import pytest

from retgk import GraphBatch, InvalidInputError, RetGKEmbedding, RetGKKernel, return_probabilities
from tests.walk_graphs import complete, from_dense, path, star

METHODS = ["monte-carlo", "monte-carlo-returns"]
ALL_METHODS = ["exact", "eigh", *METHODS]
PAIR = np.array([[0.0, 1.0], [1.0, 0.0]])


def cycle(n: int) -> GraphBatch:
    ring = np.roll(np.eye(n), 1, axis=1)
    return from_dense(ring + ring.T)


def random_graph(n: int, share: float, spread: float) -> GraphBatch:
    """Edges drawn at random, with weights ``exp(spread z)``."""
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((n, n)) < share, 1) * np.exp(spread * rng.normal(size=(n, n)))
    return from_dense(upper + upper.T)


# By name: the graph, its self-loop, and how many seeds.
GRAPHS = {
    "two nodes": (from_dense(PAIR), 1.0, 400),
    "two nodes, heavy loops": (from_dense(PAIR), 19.0, 300),
    "pairs": (from_dense(np.kron(np.eye(5), PAIR)), 1.0, 100),
    "complete": (complete(6), 1.0, 150),
    "star": (star(12), 1.0, 100),
    "cycle": (cycle(9), 1.0, 100),
    "path": (path(12), 1.0, 100),
    "random": (random_graph(40, 0.1, 0.0), 1.0, 40),
    "weighted": (random_graph(30, 0.15, 1.0), 1.0, 40),
}


def runs(graph: GraphBatch, n_seeds: int, n_walks: int, **options):
    """Errors, and standard errors, of the values that are estimates: (n_seeds, n_values)."""
    truth = return_probabilities(graph, 30, self_loop=options["self_loop"])
    found = [
        return_probabilities(
            graph, 30, n_walks=n_walks, random_state=seed, return_standard_error=True, **options
        )
        for seed in range(n_seeds)
    ]
    claimed = np.stack([errors for _, errors in found])
    is_random = claimed.max(axis=0) > 0
    return (np.stack([values for values, _ in found]) - truth)[:, is_random], claimed[:, is_random]


@pytest.mark.parametrize("n_walks", [64, 200])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", GRAPHS)
def test_standard_errors_cover_the_truth(name, method, n_walks):
    """Where walks split evenly over nodes too, which leaves the jackknife with next to nothing."""
    graph, self_loop, n_seeds = GRAPHS[name]
    missed, claimed = runs(graph, n_seeds, n_walks, method=method, self_loop=self_loop)
    is_beyond = np.abs(missed) > 4 * claimed + 1e-12
    assert is_beyond.mean() < 0.002
    spread = missed.std(axis=0)
    ratio = np.sqrt(np.square(claimed).mean(axis=0))[spread > 1e-9] / spread[spread > 1e-9]
    assert 0.95 < ratio.mean() < 3.2


@pytest.mark.parametrize("method", METHODS)
def test_wanted_error_does_not_stop_early_where_walks_split_evenly(method):
    pairs = from_dense(np.kron(np.eye(100), PAIR))
    options = {"method": method, "standard_error": 1e-2, "self_loop": 1.0}
    missed, claimed = runs(pairs, 3, 64, **options)
    assert claimed.max() <= 1e-2
    assert np.sqrt(np.square(missed).mean()) < 1.1e-2
    assert (np.abs(missed) > 4 * claimed).mean() < 0.002


@pytest.mark.parametrize("method", ALL_METHODS)
@pytest.mark.parametrize("scales", [(1e150, 1e150), (1e-150, 1e-150), (1e150, 1e-150), (1.0, 1e99)])
@pytest.mark.parametrize("self_loop", [0.0, 1.0, 1e-150, 1e150])
def test_weights_at_the_limits(method, scales, self_loop):
    matrix = np.zeros((5, 5))
    for (i, j), weight in zip([(0, 1), (1, 2), (2, 0), (2, 3)], [*scales, *scales], strict=True):
        matrix[i, j] = matrix[j, i] = weight
    options = {"method": method, "self_loop": self_loop, "random_state": 0, "n_walks": 1000}
    found, errors = return_probabilities(
        from_dense(matrix), 9, return_standard_error=True, **options
    )
    assert np.isfinite(errors).all()
    exact = return_probabilities(from_dense(matrix), 9, self_loop=self_loop)
    assert np.isfinite(exact).all()
    assert (np.abs(found - exact) <= 5 * errors + 1e-12).all()


@pytest.mark.parametrize("weight", [1e200, 1e-200, 2e150, 5e-324])
@pytest.mark.parametrize("method", ALL_METHODS)
def test_weights_out_of_range_are_named(method, weight):
    matrix = np.zeros((4, 4))
    matrix[1, 3] = matrix[3, 1] = weight
    batch = GraphBatch.concatenate([path(3), complete(2), from_dense(matrix)])
    message = (
        f"graph 2: the edge from node 1 to node 3 has weight {weight:g}; walks need weights "
        "between 1e-150 and 1e+150: scale"
    )
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        return_probabilities(batch, 5, method=method, random_state=0, self_loop=1.0)
    in_own_units = return_probabilities(batch, 5, method=method, random_state=0)
    assert np.isfinite(in_own_units).all()


def test_weights_far_from_the_mean_are_named():
    matrix = np.array([[0, 1e-200, 0], [1e-200, 0, 7e200], [0, 7e200, 0]])
    message = (
        "graph 1: the edge from node 0 to node 1 has weight 1e-200; walks need weights between "
        "1e-150 and 1e+150 times the mean weight of their graph"
    )
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        return_probabilities([PAIR, matrix], 5)


@pytest.mark.parametrize(
    "estimator", [RetGKKernel(self_loop=1), RetGKEmbedding(batch_size=1, self_loop=1)]
)
def test_estimators_name_the_graph_of_a_weight(estimator):
    batch = GraphBatch.concatenate([path(3), complete(2), from_dense(1e200 * PAIR)])
    with pytest.raises(InvalidInputError, match=r"^graph 2: the edge from node 0 to node 1 "):
        estimator.fit(batch)


@pytest.mark.parametrize("self_loop", [1e308, 1.1e150, 1e-200, 5e-324])
def test_self_loops_out_of_range(self_loop):
    for method in ALL_METHODS:
        with pytest.raises(InvalidInputError, match=r"^self_loop must be .* in \[1e-150, 1e"):
            return_probabilities(path(3), 3, method=method, self_loop=self_loop)
    with pytest.raises(InvalidInputError, match="self_loop must be"):
        RetGKKernel(self_loop=self_loop).fit([PAIR, PAIR])
