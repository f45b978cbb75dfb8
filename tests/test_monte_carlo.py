"""Monte Carlo return probabilities: unbiased, reproducible, with honest errors."""

import numpy as np
import pytest
from hypothesis import given, settings

from retgk import GraphBatch, return_probabilities
from tests import naive
from tests.walk_graphs import complete, from_dense, path, star, walk_batches

METHODS = ["monte-carlo", "monte-carlo-returns"]

LOLLIPOP = np.zeros((7, 7))
LOLLIPOP[:4, :4] = 1 - np.eye(4)
for _tail in (3, 4, 5):
    LOLLIPOP[_tail, _tail + 1] = LOLLIPOP[_tail + 1, _tail] = 1
WEIGHTED = LOLLIPOP * np.add.outer(np.arange(1, 8), np.arange(1, 8)) + np.diag(
    [0, 0, 5, 0, 0, 0, 1]
)


def estimates_over_seeds(graph, n_seeds, **options):
    return np.stack(
        [return_probabilities(graph, random_state=s, **options) for s in range(n_seeds)]
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("matrix", [LOLLIPOP, WEIGHTED], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("self_loop", [1.0, 0.0, 0.7])
def test_unbiased(method, matrix, self_loop):
    graph = from_dense(matrix)
    options = {"method": method, "n_steps": 12, "n_walks": 50, "self_loop": self_loop}
    runs = estimates_over_seeds(graph, 400, **options)
    truth = naive.return_probabilities(matrix, 12, self_loop)
    error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    assert (np.abs(runs.mean(axis=0) - truth) <= 4 * error + 1e-12).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("matrix", [LOLLIPOP, WEIGHTED], ids=["unweighted", "weighted"])
def test_standard_errors_are_honest(method, matrix):
    """The estimated error matches the spread over seeds, or is a little larger, on average."""
    graph = from_dense(matrix)
    found = [
        return_probabilities(
            graph, 12, method=method, n_walks=100, random_state=s, return_standard_error=True
        )
        for s in range(200)
    ]
    spread = np.std([estimate for estimate, _ in found], axis=0)
    claimed = np.sqrt(np.mean([error**2 for _, error in found], axis=0))
    random = spread > 1e-9
    ratio = claimed[random] / spread[random]
    assert 0.95 < ratio.mean() < 1.5
    assert ratio.min() > 0.75


def test_first_steps_are_exact_and_certain():
    truth = naive.return_probabilities(WEIGHTED, 4)
    found, errors = return_probabilities(
        from_dense(WEIGHTED), 4, method="monte-carlo", random_state=0, return_standard_error=True
    )
    assert np.abs(found - truth).max() < 1e-14
    assert not errors.any()


def test_first_steps_keep_to_their_budget():
    """A leaf of a huge star sees the whole star in two steps: too dear for few walks."""
    _, errors = return_probabilities(
        star(500),
        6,
        method="monte-carlo",
        n_walks=20,
        nodes=[1],
        random_state=0,
        return_standard_error=True,
    )
    assert not errors[0, :2].any()
    assert errors[0, 2:].all()


@given(walk_batches())
@settings(max_examples=30, deadline=None)
@pytest.mark.parametrize("method", METHODS)
def test_same_in_pieces_and_on_any_number_of_threads(method, batch):
    options = {"method": method, "n_steps": 8, "n_walks": 10, "random_state": 1}
    together = return_probabilities(batch, n_jobs=1, **options)
    assert np.array_equal(together, return_probabilities(batch, n_jobs=2, **options))
    apart = [return_probabilities(graph, **options) for graph in batch]
    assert np.array_equal(together, np.concatenate(apart))


@pytest.mark.parametrize("method", METHODS)
def test_other_seeds_other_graphs_and_other_nodes_walk_differently(method):
    options = {"method": method, "n_steps": 20}
    first = return_probabilities(path(30), random_state=0, **options)
    assert not np.array_equal(first, return_probabilities(path(30), random_state=1, **options))
    middle = first[10:20, -1]
    assert len(np.unique(middle)) > 1
    longer = return_probabilities(path(31), random_state=0, **options)
    assert not np.array_equal(middle, longer[10:20, -1])


def test_wanted_standard_error_is_reached():
    graph = from_dense(WEIGHTED)
    found, errors = return_probabilities(
        graph,
        10,
        method="monte-carlo",
        standard_error=2e-3,
        random_state=0,
        return_standard_error=True,
    )
    assert 0 < errors.max() <= 2e-3
    assert np.abs(found - naive.return_probabilities(WEIGHTED, 10)).max() < 5 * 2e-3


@pytest.mark.parametrize("method", METHODS)
def test_wanted_standard_error_is_honest(method):
    """Also from few walks, and where returns are so rare that the first walks see none."""
    rng = np.random.default_rng(0)
    edges = rng.integers(300, size=(900, 2))
    graph = GraphBatch.from_edges(300, edges[edges[:, 0] != edges[:, 1]], symmetrize=True)
    truth = return_probabilities(graph, 12)
    found = return_probabilities(
        graph, 12, method=method, n_walks=3, standard_error=0.02, random_state=0
    )
    assert np.sqrt(np.square(found - truth).mean(axis=0)).max() < 1.1 * 0.02
    spread = (found - truth).std(axis=0) / np.sqrt(300)
    assert (np.abs((found - truth).mean(axis=0)) <= 4 * spread + 1e-12).all()


def test_exact_methods_have_no_error():
    _, errors = return_probabilities(complete(3), 5, return_standard_error=True)
    assert errors.shape == (3, 5)
    assert not errors.any()


def mean_squared_errors(batch):
    truth = return_probabilities(batch)
    return [
        np.square(return_probabilities(batch, method=method, random_state=0) - truth).mean()
        for method in METHODS
    ]


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["DD", "REDDIT-BINARY"])
def test_collisions_beat_returns(name, data_folder):
    from retgk import load_tudataset

    graphs = load_tudataset(name, data_home=data_folder, download=False).graphs
    sample = graphs[np.random.default_rng(0).choice(len(graphs), 20, replace=False)]
    collisions, returns = mean_squared_errors(sample)
    assert returns > 5 * collisions


def test_collisions_beat_returns_on_a_ring_of_cliques():
    ring = np.kron(np.eye(12), np.ones((5, 5)))
    for first in range(12):
        a, b = 5 * first, (5 * first + 9) % 60
        ring[a, b] = ring[b, a] = 1
    collisions, returns = mean_squared_errors(GraphBatch.concatenate([from_dense(ring), path(40)]))
    assert returns > 5 * collisions
