"""Exact return probabilities against the naive reference, and the laws they obey."""

import re
import threading
import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.figures import N_STEPS, toy_graph
from retgk import (
    GraphBatch,
    InvalidInputError,
    RetGKEmbedding,
    RetGKKernel,
    return_probabilities,
    sample_nodes,
)
from retgk.errors import InputWarning
from retgk.kernels import embedded_vectors as graph_vectors
from retgk.walks import exact as exact_costs
from retgk.walks import exact as exact_probabilities
from retgk.walks.exact import merge_all_twins
from retgk.walks.probabilities import Walks
from tests import naive
from tests.example_graphs import adjacency_matrices, complete, from_dense, path, star, walk_batches
from tests.programs import LEVELS, run_on_level

TOLERANCE = 1e-12


def assert_same(first, second, tolerance=TOLERANCE):
    assert first.shape == second.shape
    assert np.abs(first - second).max(initial=0.0) <= tolerance


@given(walk_batches(), st.sampled_from([1, 2, 3, 7, 50]), st.sampled_from(["mean", 1.0, 0.0, 0.5]))
@settings(max_examples=200, deadline=None)
def test_exact_equals_naive(batch, n_steps, self_loop):
    found = return_probabilities(batch, n_steps, self_loop=self_loop)
    assert_same(found, naive.return_probabilities_of_batch(batch, n_steps, self_loop))


@given(walk_batches())
@settings(max_examples=50, deadline=None)
def test_eigh_equals_naive(batch):
    found = return_probabilities(batch, method="eigh")
    assert_same(found, naive.return_probabilities_of_batch(batch, 50))


@given(adjacency_matrices(12), st.data())
@settings(max_examples=100, deadline=None)
def test_permuting_nodes_permutes_rows(matrix, data):
    order = data.draw(st.permutations(range(len(matrix))))
    found = return_probabilities(from_dense(matrix))
    permuted = return_probabilities(from_dense(matrix[np.ix_(order, order)]))
    assert_same(permuted, found[list(order)])


@given(walk_batches())
@settings(max_examples=50, deadline=None)
def test_batch_is_its_members(batch):
    """Bit for bit, and for any number of threads."""
    together = return_probabilities(batch, n_jobs=1)
    apart = np.concatenate([return_probabilities(graph, n_jobs=2) for graph in batch])
    assert np.array_equal(together, apart)


@given(adjacency_matrices(8), adjacency_matrices(8))
@settings(max_examples=50, deadline=None)
def test_disjoint_union_walks_in_its_parts(first, second):
    union = np.zeros((len(first) + len(second),) * 2)
    union[: len(first), : len(first)] = first
    union[len(first) :, len(first) :] = second
    apart = [return_probabilities(from_dense(part), self_loop=1) for part in (first, second)]
    assert_same(return_probabilities(from_dense(union), self_loop=1), np.concatenate(apart))


@given(adjacency_matrices(10))
@settings(max_examples=50, deadline=None)
def test_sum_over_nodes_is_sum_of_powers_of_eigenvalues(matrix):
    walk = matrix + np.eye(len(matrix))
    scale = 1 / np.sqrt(walk.sum(axis=1))
    eigenvalues = np.linalg.eigvalsh(walk * scale[:, None] * scale)
    powers = (eigenvalues[:, None] ** np.arange(1, 51)).sum(axis=0)
    assert_same(return_probabilities(from_dense(matrix), self_loop=1).sum(axis=0), powers, 1e-11)


def test_long_walks_reach_the_stationary_distribution():
    graph = path(6)
    degrees = np.array([2, 3, 3, 3, 3, 2])
    last = return_probabilities(graph, 2000)[:, -1]
    assert_same(last, degrees / degrees.sum())


@given(adjacency_matrices(8), st.floats(-12, 12), st.sampled_from([0.0, 1.0]))
@settings(max_examples=100, deadline=None)
def test_probabilities_at_any_scale_of_weights(matrix, exponent, self_loop):
    graph = from_dense(matrix * 10.0**exponent)
    for method in ("exact", "eigh", "monte-carlo", "monte-carlo-returns"):
        found = return_probabilities(graph, 10, method=method, self_loop=self_loop, random_state=0)
        assert found.min() >= 0
        assert found.max() <= 1


def test_one_node():
    assert_same(return_probabilities(path(1), 3), np.ones((1, 3)))


def test_isolated_node_without_loop_stays():
    graph = from_dense(np.diag([0.0, 0.0]) + np.array([[0, 0], [0, 0]]))
    for method in ("exact", "eigh", "monte-carlo", "monte-carlo-returns"):
        found = return_probabilities(graph, 5, method=method, self_loop=0, random_state=0)
        assert_same(found, np.ones((2, 5)))


def n_classes(graph, self_loop=1.0):
    return int(merge_all_twins(graph, self_loop, 1).n_classes[0])


def test_twins_are_merged():
    assert n_classes(complete(7)) == 1
    assert n_classes(star(6)) == 2
    assert n_classes(path(5)) == 5
    assert n_classes(path(3)) == 2
    bipartite = np.kron([[0, 1], [1, 0]], np.ones((3, 3)))
    assert n_classes(from_dense(bipartite)) == 2
    assert n_classes(from_dense(0.5 * bipartite)) == 2


def test_twins_need_equal_weights_and_loops():
    weighted = np.array([[0, 1, 2], [1, 0, 0], [2, 0, 0.0]])
    assert n_classes(from_dense(weighted)) == 3
    looped = np.array([[0, 1, 1], [1, 3, 0], [1, 0, 0.0]])
    assert n_classes(from_dense(looped)) == 3


def are_twins(matrix, i, j):
    """Whether two nodes have the same loop and the same edges to all others."""
    others = np.delete(np.arange(len(matrix)), [i, j])
    return matrix[i, i] == matrix[j, j] and (matrix[i, others] == matrix[j, others]).all()


@given(walk_batches(), st.sampled_from([1.0, 0.0, 0.5]))
@settings(max_examples=200, deadline=None)
def test_quotients_equal_naive(batch, self_loop):
    """``Bq = U^T B U`` with U the normalised indicators of classes that are exactly the twins."""
    quotients = merge_all_twins(batch, self_loop, 1)
    for g, graph in enumerate(batch):
        first, n = batch.node_ptr[g], quotients.n_classes[g]
        class_of = quotients.class_of[first : batch.node_ptr[g + 1]]
        matrix = naive.dense_adjacency(batch, g)
        for i, j in combinations(range(graph.n_nodes), 2):
            assert (class_of[i] == class_of[j]) == are_twins(matrix, i, j)
        assert np.array_equal(
            quotients.multiplicity[first : first + n], np.bincount(class_of, minlength=n)
        )
        walk = matrix + self_loop * np.eye(len(matrix))
        walk += np.diag(walk.sum(axis=1) == 0)
        scale = 1 / np.sqrt(walk.sum(axis=1))
        indicators = np.eye(n)[class_of] / np.sqrt(np.bincount(class_of))
        found = np.diag(quotients.diagonal[first : first + n])
        for row in range(n):
            entries = slice(quotients.row_begin[first + row], quotients.row_end[first + row])
            found[row, quotients.columns[entries]] = quotients.values[entries]
        assert_same(found, indicators.T @ (walk * scale[:, None] * scale) @ indicators)


def test_dense_graphs_go_through_lapack(monkeypatch):
    """Both ways give the same, and the cost model chooses by density."""
    rng = np.random.default_rng(0)
    weights = rng.random((150, 150))
    dense = from_dense(weights + weights.T)
    eigh, calls = np.linalg.eigh, []
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: calls.append(1) or eigh(matrix))
    spectral = return_probabilities(dense)
    assert calls == [1]
    some = [0, 70, 149]  # too few for an eigendecomposition to pay
    assert_same(spectral[some], return_probabilities(dense, nodes=some), 1e-13)
    return_probabilities(path(150))
    assert calls == [1]


def test_few_nodes_of_a_long_path_see_only_their_surroundings():
    """The same bits as when all nodes are looked at, which short paths make sure of."""
    long, nodes = path(3000), [0, 1, 1500, 1501, 2999]
    found = return_probabilities(long, nodes=nodes)
    assert_same(found[:2], return_probabilities(path(60), nodes=[0, 1]), 0)
    assert_same(found[2], found[3], 0)
    assert_same(found[4], found[0], 1e-15)
    ring = np.roll(np.eye(400), 1, axis=1)
    assert_same(return_probabilities(from_dense(ring + ring.T), nodes=[7])[0], found[2], 1e-15)


def test_concurrent_calls_restore_the_threads_of_blas():
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_info

    def n_blas_threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    weights = np.random.default_rng(0).random((150, 150))
    dense = from_dense(weights + weights.T)
    before = n_blas_threads()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: return_probabilities(dense), range(12)))
    assert n_blas_threads() == before


def test_parts_of_a_batch_give_the_whole():
    """A batch of more than half a million nodes is worked on in parts."""
    some = GraphBatch.concatenate([path(5), complete(4), star(7), path(9), path(2)])
    batch = some[np.tile(np.arange(len(some)), 20_000)]
    whole = np.tile(return_probabilities(some, 4), (20_000, 1))
    assert np.array_equal(return_probabilities(batch, 4), whole)
    nodes = np.arange(1, batch.n_nodes, 3)
    assert np.array_equal(return_probabilities(batch, 4, nodes=nodes), whole[nodes])


@pytest.mark.parametrize("method", ["exact", "eigh", "monte-carlo", "monte-carlo-returns"])
def test_chosen_nodes(method):
    batch = GraphBatch.concatenate([path(5), complete(4), star(7)])
    options = {"method": method, "random_state": 3, "n_steps": 9}
    whole = return_probabilities(batch, **options)
    some = [8, 0, 3, 3, 16]
    assert np.array_equal(return_probabilities(batch, nodes=some, **options), whole[some])
    mask = np.arange(batch.n_nodes) % 2 == 0
    assert np.array_equal(return_probabilities(batch, nodes=mask, **options), whole[mask])
    assert return_probabilities(batch, nodes=[], **options).shape == (0, 9)


@pytest.mark.parametrize("n_steps", [1, 2, 3, 50, 51])
def test_any_number_of_nodes_gives_the_same_bits(n_steps):
    """Nodes are worked on in blocks of four to sixteen; a block changes nothing."""
    rng = np.random.default_rng(0)
    edges = np.triu(rng.random((45, 45)) < 0.08, 1)
    graph = from_dense((edges + edges.T).astype(float))
    whole = return_probabilities(graph, n_steps)
    assert_same(whole, return_probabilities(graph, n_steps, method="eigh"), 1e-13)
    for n in range(1, 35):
        nodes = np.sort(rng.choice(45, n, replace=False))
        assert np.array_equal(return_probabilities(graph, n_steps, nodes=nodes), whole[nodes])


def test_sampled_nodes():
    batch = GraphBatch.concatenate([path(5), complete(4), star(7)])
    nodes = sample_nodes(batch, 5, random_state=0)
    assert np.bincount(np.searchsorted(batch.node_ptr, nodes, side="right")).tolist() == [
        0,
        5,
        4,
        5,
    ]
    assert len(np.unique(nodes)) == len(nodes)
    assert len(sample_nodes(batch, 0.5, random_state=0)) == 3 + 2 + 4
    sampled = return_probabilities(batch, nodes=5, random_state=0)
    assert np.array_equal(sampled, return_probabilities(batch)[nodes])
    assert np.array_equal(sample_nodes(batch, 10**30, random_state=0), np.arange(batch.n_nodes))
    alone = sample_nodes(batch[2], 5, random_state=0) + batch.node_ptr[2]
    assert np.array_equal(alone, nodes[-5:])


def test_sampling_is_uniform():
    counts = np.zeros(6)
    for seed in range(600):
        counts[sample_nodes(path(6), 2, random_state=seed)] += 1
    assert np.abs(counts - 200).max() < 5 * np.sqrt(600 * (1 / 3) * (2 / 3))


def test_generators_are_seeds():
    options = {"method": "monte-carlo", "n_steps": 4}
    for kind in (np.random.default_rng, np.random.RandomState):
        first = return_probabilities(star(4), random_state=kind(5), **options)
        again = return_probabilities(star(4), random_state=kind(5), **options)
        assert np.array_equal(first, again)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_steps": 0}, "n_steps must be a whole number.*, got 0"),
        ({"method": "fast"}, "method must be one of .*'exact'.*, got 'fast'"),
        ({"self_loop": -1.0}, "self_loop must be .*, got -1.0"),
        ({"self_loop": np.nan}, "self_loop must be .*, got nan"),
        (
            {"method": "monte-carlo", "n_walks": 2},
            "n_walks must be a whole number.*, got 2",
        ),
        ({"standard_error": 0.1}, "standard_error must be positive and needs a Monte Carlo"),
        ({"nodes": [7]}, "node 7 is out of range for 5 nodes"),
        ({"nodes": [0.5]}, "nodes must be None, a count, a share"),
        ({"nodes": 0}, "nodes must be .* got 0"),
        ({"nodes": 1.5}, r"nodes must be .*\(0, 1\], got 1.5"),
        ({"n_jobs": 0}, "n_jobs=0 asks for no thread"),
        ({"n_jobs": "2"}, "n_jobs must be None or a whole number, got '2'"),
        ({"n_steps": 2.0}, "n_steps must be a whole number.*, got 2.0"),
        ({"n_steps": 10**20}, "n_steps must be .* and 16777216, got 1000"),
        ({"n_walks": 10**20, "method": "monte-carlo"}, "n_walks must be .* and 2147483648, got"),
        ({"n_walks": 10.5}, "n_walks must be a whole number.*, got 10.5"),
        ({"nodes": True}, "nodes must be .* got True"),
        ({"method": "monte-carlo", "standard_error": np.nan}, "standard_error must be positive"),
        ({"method": "monte-carlo", "standard_error": 1e-9}, "takes about .* walks from some nodes"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(InvalidInputError, match=message):
        return_probabilities(path(5), **options)


@pytest.mark.parametrize("method", ["exact", "eigh", "monte-carlo", "monte-carlo-returns"])
def test_walks_are_the_function_without_its_checks(method):
    batch = GraphBatch.concatenate([path(5), complete(4), star(7)])
    nodes = np.array([8, 0, 3, 3, 16])
    walks = Walks(7, method, n_walks=20, self_loop=0.5, seed=11)
    options = {"method": method, "n_walks": 20, "self_loop": 0.5, "random_state": 11}
    assert np.array_equal(walks.probabilities(batch), return_probabilities(batch, 7, **options))
    found = walks.probabilities(batch, nodes=nodes, n_jobs=1)
    assert np.array_equal(found, return_probabilities(batch, 7, nodes=nodes, **options))


def test_walks_check_their_parameters():
    with pytest.raises(InvalidInputError, match="n_steps must be a whole number"):
        Walks(n_steps=0)
    with pytest.raises(InvalidInputError, match="method must be one of"):
        Walks(method="fast")


def test_no_graphs_give_no_rows():
    for method in ("exact", "eigh", "monte-carlo"):
        assert return_probabilities(path(3)[:0], 4, method=method).shape == (0, 4)


REAL_SETS = {
    "MUTAG": 188,
    "PTC_FM": 100,
    "PTC_FR": 100,
    "PTC_MM": 100,
    "PTC_MR": 100,
    "ENZYMES": 200,
    "PROTEINS": 60,
    "NCI1": 200,
    "BZR": 100,
    "COX2": 100,
    "DHFR": 100,
    "SYNTHETICnew": 40,
    "Synthie": 40,
    "FRANKENSTEIN_structure_only": 200,
    "IMDB-BINARY": 200,
    "IMDB-MULTI": 200,
    "COLLAB": 40,
    "DD": 12,
    "REDDIT-BINARY": 8,
    "REDDIT-MULTI-5K": 6,
    "REDDIT-MULTI-12K": 6,
}


@pytest.mark.real_data
@pytest.mark.parametrize("name", REAL_SETS)
def test_exact_equals_naive_on_real_graphs(name, data_folder):
    from retgk import load_tudataset

    graphs = load_tudataset(name, data_home=data_folder, download=False).graphs
    small = np.flatnonzero(graphs.node_counts <= 1000)
    drawn = np.random.default_rng(0).choice(small, min(REAL_SETS[name], len(small)), replace=False)
    sample = graphs[drawn]
    assert_same(return_probabilities(sample), naive.return_probabilities_of_batch(sample, 50))


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_of_instructions(level):
    program = (
        "import numpy as np; from tests import naive; from tests.example_graphs import *\n"
        "from retgk import GraphBatch, return_probabilities\n"
        "batch = GraphBatch.concatenate([complete(4), star(3), path(5)])\n"
        "found = return_probabilities(batch, 9)\n"
        "assert abs(found - naive.return_probabilities_of_batch(batch, 9)).max() < 1e-12\n"
    )
    run_on_level(level, program)


@settings(max_examples=60, deadline=None)
@given(adjacency_matrices(8), st.sampled_from([1e-160, 1e-3, 0.7, 3.0, 1e6, 1e160]))
def test_units_of_weights_change_nothing(matrix, unit):
    """The self-loop is the mean weight of the graph, whatever it is measured in."""
    expected = naive.return_probabilities(matrix, 8)
    for method in ("exact", "eigh"):
        assert_same(return_probabilities(from_dense(unit * matrix), 8, method=method), expected)


def test_units_are_those_of_each_graph():
    weighted = np.array([[0, 2.0, 0], [2.0, 0, 5.0], [0, 5.0, 0]])
    plain = (weighted > 0).astype(float)
    together = return_probabilities([weighted, plain, 1e5 * weighted], 6)
    alone = [return_probabilities(graph, 6) for graph in (weighted, plain)]
    assert np.array_equal(together[:6], np.concatenate(alone))
    assert_same(together[6:], together[:3])


def test_weights_of_one_are_the_papers_case():
    plain = np.ones((4, 4)) - np.eye(4)
    for method in ("exact", "eigh", "monte-carlo", "monte-carlo-returns"):
        found = return_probabilities(plain, 6, method=method, random_state=0)
        fixed = return_probabilities(plain, 6, method=method, random_state=0, self_loop=1.0)
        assert np.array_equal(found, fixed)


# Standard errors of Monte Carlo values cover the truth on every graph; odd weights are refused

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
        with pytest.raises(InvalidInputError, match=r"^self_loop must be .*1e-150"):
            return_probabilities(path(3), 3, method=method, self_loop=self_loop)
    with pytest.raises(InvalidInputError, match=r"^self_loop must be .*1e-150"):
        RetGKKernel(self_loop=self_loop).fit([PAIR, PAIR])


# The way that exact walks go does not depend on threads, and long work is announced

THREADS = [1, 2, 3, 16]


def random_graph_walk_costs(n: int, share: float) -> GraphBatch:
    upper = np.triu(np.random.default_rng(n).random((n, n)) < share, 1)
    return from_dense(upper | upper.T)


def assert_same_bits(results) -> None:
    for result in results[1:]:
        assert np.array_equal(results[0], result)


def test_threads_change_no_bit_of_a_dense_graph():
    """Sixteen threads left less room for each, and so went another way than two."""
    graph = random_graph_walk_costs(850, 0.3)
    assert_same_bits([return_probabilities(graph, n_jobs=n_jobs) for n_jobs in THREADS])


def test_threads_change_no_bit_of_a_graph_at_the_limit_of_memory(monkeypatch):
    """As graphs of 2,300 nodes did: one thread had room for a matrix, two had not."""
    monkeypatch.setattr(exact_costs, "_DENSE_BYTES", 2.5e6)
    graphs = GraphBatch.concatenate([random_graph_walk_costs(n, 0.5) for n in (150, 190, 230)])
    assert_same_bits([return_probabilities(graphs, n_jobs=n_jobs) for n_jobs in THREADS])


def test_threads_change_no_bit_of_an_embedding(monkeypatch):
    monkeypatch.setattr(graph_vectors, "_NANOSECONDS_PER_TASK", 1.0)  # pieces of a few nodes
    rng = np.random.default_rng(0)
    sizes = [850, *rng.integers(2, 80, size=40)]
    graphs = GraphBatch.concatenate([random_graph_walk_costs(int(n), 0.3) for n in sizes])
    labelled = graphs.with_labels(rng.integers(3, size=graphs.n_nodes))
    for dtype in (np.float64, np.float32):
        models = [RetGKEmbedding(37, n_jobs=n, dtype=dtype, random_state=0) for n in THREADS]
        assert_same_bits([model.fit_transform(labelled) for model in models])


@pytest.mark.parametrize(("n_jobs", "most"), [(1, 1), (2, 2), (16, 3)])
def test_eigendecompositions_side_by_side_keep_to_the_memory(n_jobs, most, monkeypatch):
    graphs = GraphBatch.concatenate([random_graph_walk_costs(150, 0.5)] * 12)
    monkeypatch.setattr(exact_costs, "_DENSE_BYTES", 3.5 * 32 * 150**2)
    eigh, lock, running, seen = np.linalg.eigh, threading.Lock(), [0], []

    def slow_eigh(matrix):
        with lock:
            running[0] += 1
            seen.append(running[0])
        time.sleep(0.01)
        found = eigh(matrix)
        with lock:
            running[0] -= 1
        return found

    monkeypatch.setattr(np.linalg, "eigh", slow_eigh)
    return_probabilities(graphs, n_jobs=n_jobs)
    assert len(seen) == 12
    assert max(seen) == most


def expander(n: int) -> GraphBatch:
    """Graph in which walks are everywhere after a few steps."""
    edges = np.random.default_rng(0).integers(n, size=(4 * n, 2))
    return GraphBatch.from_edges(n, edges[edges[:, 0] != edges[:, 1]], symmetrize=True)


def test_long_work_is_announced_before_it_begins(monkeypatch):
    def fail(*_):
        raise AssertionError

    monkeypatch.setattr(exact_probabilities, "_fill_sparse", fail)
    message = (
        r"^exact return probabilities of 200,000 nodes take about \d+ (minutes|hours) on this "
        r'machine, or longer; method="monte-carlo" .* nodes='
    )
    with pytest.raises(InputWarning, match=message):
        return_probabilities(expander(200_000), n_jobs=2)


def test_long_eigendecompositions_are_announced(monkeypatch):
    monkeypatch.setattr(exact_costs, "_LONG_SECONDS", 1e-3)
    with pytest.raises(InputWarning, match="exact return probabilities of 300 nodes take about 0"):
        return_probabilities(path(300), method="eigh")


def test_large_graphs_that_are_quick_are_not_announced(monkeypatch):
    """Twins make one node of many, walks on paths stay near, and few nodes take little time."""
    monkeypatch.setattr(exact_costs, "_LONG_SECONDS", 2.0)
    n = 20_000
    hub = np.stack([np.zeros(n - 1, np.int64), np.arange(1, n)], axis=1)
    steps = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    for edges in (hub, steps):
        graph = GraphBatch.from_edges(n, edges, symmetrize=True)
        assert exact_costs.upper_bound(graph, n, 20) > 1e10
        assert return_probabilities(graph, 20).shape == (n, 20)
    assert return_probabilities(expander(n), nodes=[5, 7]).shape == (2, 50)
    with pytest.raises(InputWarning, match="take about"):
        return_probabilities(expander(n))


def test_forecasts_are_of_the_right_size():
    """Within a factor of the time it takes; the machine may be busy, so a generous one."""
    graph = expander(4000)
    nodes = np.arange(graph.n_nodes)
    return_probabilities(graph, nodes=[0])
    start = time.perf_counter()
    return_probabilities(graph, n_jobs=1)
    passed = time.perf_counter() - start
    forecast = 1e-9 * exact_probabilities._expected_cost(graph, nodes, 50, 1.0, 1)
    assert passed / 20 < forecast < 5 * passed


# The graph of Fig. 1 of the paper, and the multi-resolution property that it shows


def test_centres_look_alike_close_by():
    graph, centres = toy_graph()
    degrees = np.diff(graph.indptr)
    around = [
        np.sort(degrees[graph.indices[graph.indptr[c] : graph.indptr[c + 1]]]) for c in centres
    ]
    assert len(set(degrees[centres])) == 1
    assert np.array_equal(around[0], around[1])
    assert np.array_equal(around[0], around[2])


def test_return_probabilities_tell_centres_apart_at_their_resolution():
    graph, centres = toy_graph()
    first, second, third = return_probabilities(graph, N_STEPS, nodes=centres)
    assert np.abs(first[:7] - second[:7]).max() < 1e-14
    assert abs(first[7] - second[7]) > 1e-5
    assert np.abs(first[:2] - third[:2]).max() < 1e-14
    assert abs(first[2] - third[2]) > 1e-2


def test_late_steps_approach_the_stationary_distribution():
    """More steps add less and less (section 3.1)."""
    graph, centres = toy_graph()
    degrees = np.diff(graph.indptr) + 1
    probabilities = return_probabilities(graph, N_STEPS, nodes=centres)
    gap = np.abs(probabilities - (degrees / degrees.sum())[centres][:, None])
    assert (gap[:, 199] < 0.5 * gap[:, 49]).all()
    assert (gap[:, 49] < 0.5 * gap[:, 4]).all()
