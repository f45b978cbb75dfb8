"""Monte Carlo return probabilities: unbiased, reproducible, with honest errors."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import GraphBatch, GraphClassifier, _core, return_probabilities
from retgk._runtime.names import generator_from, seed_from, whole_seed
from retgk.datasets import make_graph_classification
from retgk.kernels import RetGKEmbedding
from retgk.walks.monte_carlo import walk_table
from retgk.walks.probabilities import Walks
from tests import naive
from tests.errors import fails
from tests.example_graphs import complete, from_dense, path, star, walk_batches

METHODS = ["monte-carlo", "monte-carlo-returns"]

LOLLIPOP = np.zeros((7, 7))
LOLLIPOP[:4, :4] = 1 - np.eye(4)
for _tail in (3, 4, 5):
    LOLLIPOP[_tail, _tail + 1] = LOLLIPOP[_tail + 1, _tail] = 1
WEIGHTED = LOLLIPOP * np.add.outer(np.arange(1, 8), np.arange(1, 8)) + np.diag(
    [0, 0, 5, 0, 0, 0, 1]
)


def estimates_over_seeds(graph, n_seeds, **options):
    seeds = range(n_seeds)
    return np.stack([return_probabilities(graph, rng=s, **options) for s in seeds])


@given(walk_batches(), st.sampled_from([1.0, 0.0, 0.5]))
def test_slots_have_the_probabilities_of_edges(batch, self_loop):
    """By their weights, and by thresholds and aliases where these are."""
    table = walk_table(batch, self_loop, np.uint64(0))
    weights = table.weights if len(table.weights) else np.ones(len(table.targets))
    for g, graph in enumerate(batch):
        walk = naive.dense_adjacency(batch, g) + self_loop * np.eye(graph.n_nodes)
        degrees = walk.sum(axis=1)
        for node, degree in enumerate(degrees):
            row = batch.node_ptr[g] + node
            slots = slice(table.slot_ptr[row], table.slot_ptr[row + 1])
            assert table.degrees[row] == pytest.approx(degree)
            if degree == 0:
                assert table.targets[slots].tolist() == [node]
                continue
            found = np.bincount(table.targets[slots], weights[slots], graph.n_nodes)
            np.testing.assert_allclose(found * table.inverse_degrees[row], walk[node] / degree)
            if len(table.weights):
                kept = table.thresholds[slots]
                found = np.bincount(table.targets[slots], kept, graph.n_nodes)
                found += np.bincount(table.aliases[slots], 1 - kept, graph.n_nodes)
                expected = walk[node] / degree
                np.testing.assert_allclose(found / len(kept), expected, rtol=1e-9, atol=1e-15)


def mixed(value):
    """SplitMix64."""
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    return value ^ value >> 31


def plain_walk(table, start, walk, n_steps):
    """Nodes where a walk in the first graph of a table stands, its start first."""
    nodes = [start]
    for step in range(n_steps):
        bits = mixed((int(table.keys[start]) + (walk << 32 | step) * 0x9E3779B97F4A7C15) % 2**64)
        first, last = (int(table.slot_ptr[nodes[-1] + k]) for k in (0, 1))
        slot = first + ((bits >> 32) * (last - first) >> 32)
        stays = len(table.weights) == 0 or bits % 2**32 / 2**32 < table.thresholds[slot]
        nodes.append(int((table.targets if stays else table.aliases)[slot]))
    return nodes


@pytest.mark.parametrize("matrix", [LOLLIPOP, WEIGHTED], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("self_loop", [1.0, 0.0, 0.7])
def test_estimates_are_those_of_plain_walks(matrix, self_loop):
    n_steps, n_walks, first_walk, starts = 7, 20, 5, np.array([0, 3, 6])
    table = walk_table(from_dense(matrix), self_loop, np.uint64(123))
    returns, collisions = np.empty((3, n_steps)), np.empty((3, n_steps))
    arrays = (*table, np.zeros(3, np.int64), starts, first_walk, n_walks)
    _core.fill_returns(*arrays, returns, np.empty((0, n_steps)))
    _core.fill_collisions(*arrays, collisions, np.empty((0, n_steps)))
    for row, start in enumerate(starts):
        numbers = range(first_walk, first_walk + n_walks)
        nodes = np.array([plain_walk(table, start, walk, n_steps) for walk in numbers])
        np.testing.assert_allclose(returns[row], (nodes[:, 1:] == start).mean(axis=0))
        for step in range(1, n_steps + 1):
            now, other = nodes[:, (step + 1) // 2], nodes[:, step // 2]
            met = (now[:, None] == other) & ~np.eye(n_walks, dtype=bool)
            weights = table.degrees[start] / table.degrees[now]
            expected = weights @ met.sum(axis=1) / (n_walks * (n_walks - 1))
            assert collisions[row, step - 1] == pytest.approx(expected, rel=1e-12)


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


def test_first_steps_are_exact_and_certain():
    truth = naive.return_probabilities(WEIGHTED, 4)
    found, errors = return_probabilities(
        from_dense(WEIGHTED), 4, method="monte-carlo", rng=0, return_standard_error=True
    )
    assert np.abs(found - truth).max() < 1e-14
    assert not errors.any()


def test_first_steps_keep_to_their_budget():
    """A leaf of a huge star sees the whole star in two steps: too dear for few walks."""
    options = {"method": "monte-carlo", "n_walks": 20, "nodes": [1], "rng": 0}
    _, errors = return_probabilities(star(500), 6, return_standard_error=True, **options)
    assert not errors[0, :2].any()
    assert errors[0, 2:].all()


@given(walk_batches())
@settings(max_examples=30)
@pytest.mark.parametrize("method", METHODS)
def test_same_in_pieces_and_on_any_number_of_threads(method, batch):
    options = {"method": method, "n_steps": 8, "n_walks": 10, "rng": 1}
    together = return_probabilities(batch, n_jobs=1, **options)
    assert np.array_equal(together, return_probabilities(batch, n_jobs=2, **options))
    apart = [return_probabilities(graph, **options) for graph in batch]
    assert np.array_equal(together, np.concatenate(apart))


@pytest.mark.parametrize("method", METHODS)
def test_other_seeds_other_graphs_and_other_nodes_walk_differently(method):
    options = {"method": method, "n_steps": 20}
    first = return_probabilities(path(30), rng=0, **options)
    assert not np.array_equal(first, return_probabilities(path(30), rng=1, **options))
    middle = first[10:20, -1]
    assert len(np.unique(middle)) > 1
    longer = return_probabilities(path(31), rng=0, **options)
    assert not np.array_equal(middle, longer[10:20, -1])


@pytest.mark.parametrize("method", METHODS)
def test_copies_walk_apart_where_they_do_not_share(method):
    """First copies walk as ever; means over many copies are those over as many seeds."""
    one, other = from_dense(LOLLIPOP), from_dense(WEIGHTED)
    batch = GraphBatch.concatenate([other, *[one] * 400, other])
    walks = Walks(12, method, 50, seed=3, copies_share=False)
    found = walks.probabilities(batch)
    assert np.array_equal(found, walks.probabilities(batch, n_jobs=3))
    assert np.array_equal(found[:14], replace(walks, copies_share=True).probabilities(batch)[:14])
    assert (found[:7] != found[-7:]).any()
    copies = found[7:-7].reshape(400, 7, 12)
    assert len(np.unique(copies, axis=0)) == 400
    error = copies.std(axis=0, ddof=1) / np.sqrt(400)
    truth = naive.return_probabilities(LOLLIPOP, 12)
    assert (np.abs(copies.mean(axis=0) - truth) <= 4 * error + 1e-12).all()


@pytest.mark.parametrize("method", METHODS)
def test_wanted_standard_error_is_honest(method):
    """Also from few walks, and where returns are so rare that the first walks see none."""
    rng = np.random.default_rng(0)
    edges = rng.integers(300, size=(900, 2))
    graph = GraphBatch.from_edges(300, edges[edges[:, 0] != edges[:, 1]], symmetrize=True)
    truth = return_probabilities(graph, 12)
    found = return_probabilities(graph, 12, method=method, n_walks=3, standard_error=0.02, rng=0)
    assert np.sqrt(np.square(found - truth).mean(axis=0)).max() < 1.1 * 0.02
    spread = (found - truth).std(axis=0) / np.sqrt(300)
    assert (np.abs((found - truth).mean(axis=0)) <= 4 * spread + 1e-12).all()


def test_exact_methods_have_no_error():
    _, errors = return_probabilities(complete(3), 5, return_standard_error=True)
    assert errors.shape == (3, 5)
    assert not errors.any()


def test_collisions_beat_returns():
    """On a ring of cliques and a path, by mean squared errors."""
    ring = np.kron(np.eye(12), np.ones((5, 5)))
    for first in range(12):
        a, b = 5 * first, (5 * first + 9) % 60
        ring[a, b] = ring[b, a] = 1
    batch = GraphBatch.concatenate([from_dense(ring), path(40)])
    truth = return_probabilities(batch)
    collisions, returns = (
        np.square(return_probabilities(batch, method=method, rng=0) - truth).mean()
        for method in METHODS
    )
    assert returns > 5 * collisions


# What random_state and rng may be, wherever users give one

DATA = make_graph_classification(12, rng=0)
CALLS = {
    "seed_from": seed_from,
    "whole_seed": whole_seed,
    "generator_from": generator_from,
    "data": lambda seed: make_graph_classification(4, rng=seed),
    "walks": lambda seed: return_probabilities(DATA, 3, nodes=2, rng=seed),
    "embedding": lambda seed: RetGKEmbedding(random_state=seed).fit(DATA.graphs),
    "classifier": lambda seed: GraphClassifier(random_state=seed).fit(DATA),
}


@pytest.mark.parametrize("seed", ["x", -1, np.int64(-1), 1.5, {}], ids=repr)
@pytest.mark.parametrize("call", CALLS)
def test_what_is_no_seed_is_named(call, seed):
    name = "rng" if call in ("data", "walks") else "random_state"
    fails(lambda: CALLS[call](seed), (name, "Generator"))


@pytest.mark.parametrize("call", ["seed_from", "whole_seed", "data"])
@pytest.mark.parametrize(
    "made",
    [
        lambda: 3,
        lambda: np.int32(3),
        lambda: np.uint64(2**64 - 1),
        lambda: np.random.default_rng(3),
        lambda: np.random.RandomState(3),
        lambda: np.random.SeedSequence(3),
    ],
)
def test_seeds_and_generators_give_the_same_again(call, made):
    one, two = (CALLS[call](made()) for _ in range(2))
    if call == "data":
        one, two = one.graphs, two.graphs
    assert one == two


def test_none_draws_anew():
    assert seed_from(None) != seed_from(None)


def test_seeds_stay_what_they_were():
    """Results of earlier versions depend on them."""
    assert generator_from(5).integers(1000) == np.random.default_rng(5).integers(1000)
    assert seed_from(5) == np.random.default_rng(5).integers(2**63)
    assert whole_seed(5) == 5
