"""Exact return probabilities against the naive reference, and the laws they obey."""

import threading
import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.figures import N_STEPS, toy_graph
from retgk import GraphBatch, RetGK, return_probabilities
from retgk.errors import InputWarning
from retgk.kernels import RetGKEmbedding, sample_nodes
from retgk.walks import exact
from retgk.walks.exact import merge_all_twins
from retgk.walks.probabilities import Walks
from tests import naive
from tests.errors import fails
from tests.example_graphs import adjacency_matrices, complete, from_dense, path, star, walk_batches

TOLERANCE = 1e-12
MONTE_CARLO = ["monte-carlo", "monte-carlo-returns"]
METHODS = ["exact", "eigh", *MONTE_CARLO]
THREE_GRAPHS = GraphBatch.concatenate([path(5), complete(4), star(7)])


def assert_same(first, second, tolerance=TOLERANCE):
    assert first.shape == second.shape
    assert np.abs(first - second).max(initial=0.0) <= tolerance


@given(walk_batches(), st.sampled_from([1, 2, 3, 7, 50]), st.sampled_from(["mean", 1.0, 0.0, 0.5]))
@settings(max_examples=200)
def test_exact_equals_naive(batch, n_steps, self_loop):
    found = return_probabilities(batch, n_steps, self_loop=self_loop)
    assert_same(found, naive.return_probabilities_of_batch(batch, n_steps, self_loop))


@given(walk_batches())
@settings(max_examples=50)
def test_eigh_equals_naive(batch):
    found = return_probabilities(batch, method="eigh")
    assert_same(found, naive.return_probabilities_of_batch(batch, 50))


@given(adjacency_matrices(12), st.data())
def test_permuting_nodes_permutes_rows(matrix, data):
    order = data.draw(st.permutations(range(len(matrix))))
    found = return_probabilities(from_dense(matrix))
    permuted = return_probabilities(from_dense(matrix[np.ix_(order, order)]))
    assert_same(permuted, found[list(order)])


@given(walk_batches())
@settings(max_examples=50)
def test_batch_is_its_members(batch):
    """Bit for bit, and for any number of threads."""
    together = return_probabilities(batch, n_jobs=1)
    apart = np.concatenate([return_probabilities(graph, n_jobs=2) for graph in batch])
    assert np.array_equal(together, apart)


@given(adjacency_matrices(8), adjacency_matrices(8))
@settings(max_examples=50)
def test_disjoint_union_walks_in_its_parts(first, second):
    union = np.zeros((len(first) + len(second),) * 2)
    union[: len(first), : len(first)] = first
    union[len(first) :, len(first) :] = second
    apart = [return_probabilities(from_dense(part), self_loop=1) for part in (first, second)]
    assert_same(return_probabilities(from_dense(union), self_loop=1), np.concatenate(apart))


@given(adjacency_matrices(10))
@settings(max_examples=50)
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
def test_probabilities_at_any_scale_of_weights(matrix, exponent, self_loop):
    graph = from_dense(matrix * 10.0**exponent)
    for method in METHODS:
        found = return_probabilities(graph, 10, method=method, self_loop=self_loop, rng=0)
        assert 0 <= found.min() <= found.max() <= 1


def test_isolated_node_without_loop_stays():
    for method in METHODS:
        found = return_probabilities(
            from_dense(np.zeros((2, 2))), 5, method=method, self_loop=0, rng=0
        )
        assert_same(found, np.ones((2, 5)))


def are_twins(matrix, i, j):
    """Whether two nodes have the same loop and the same edges to all others."""
    others = np.delete(np.arange(len(matrix)), [i, j])
    return matrix[i, i] == matrix[j, j] and (matrix[i, others] == matrix[j, others]).all()


@given(walk_batches(), st.sampled_from([1.0, 0.0, 0.5]))
@settings(max_examples=100)
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


@pytest.mark.parametrize("method", METHODS)
def test_chosen_nodes(method):
    batch = THREE_GRAPHS
    options = {"method": method, "rng": 3, "n_steps": 9}
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
    batch = THREE_GRAPHS
    nodes = sample_nodes(batch, 5, rng=0)
    graphs = np.searchsorted(batch.node_ptr, nodes, side="right")
    assert np.bincount(graphs).tolist() == [0, 5, 4, 5]
    assert len(np.unique(nodes)) == len(nodes)
    assert len(sample_nodes(batch, 0.5, rng=0)) == 3 + 2 + 4
    sampled = return_probabilities(batch, nodes=5, rng=0)
    assert np.array_equal(sampled, return_probabilities(batch)[nodes])
    assert np.array_equal(sample_nodes(batch, 10**30, rng=0), np.arange(batch.n_nodes))
    alone = sample_nodes(batch[2], 5, rng=0) + batch.node_ptr[2]
    assert np.array_equal(alone, nodes[-5:])


def test_sampling_is_uniform():
    counts = np.zeros(6)
    for seed in range(600):
        counts[sample_nodes(path(6), 2, rng=seed)] += 1
    assert np.abs(counts - 200).max() < 5 * np.sqrt(600 * (1 / 3) * (2 / 3))


@pytest.mark.parametrize(
    "options",
    [
        *({"n_steps": wrong} for wrong in (0, 2.0, 10**20)),
        {"method": "fast"},
        *({"self_loop": wrong} for wrong in (-1.0, np.nan, 1e308, 1.1e150, 1e-200, 5e-324)),
        *({"n_walks": wrong} for wrong in (2, 10.5, 10**20)),
        *({"nodes": wrong} for wrong in (0, 1.5, True)),
    ],
    ids=repr,
)
def test_wrong_parameters_are_named(options):
    ((name, value),) = options.items()
    for method in [options.get("method", method) for method in METHODS]:
        asked = {"method": method, **options}
        fails(lambda asked=asked: return_probabilities(path(5), **asked), name)
    message = fails(lambda: return_probabilities(path(5), **asked), name)
    assert repr(value)[:4] in message


def test_what_threads_nodes_and_standard_errors_may_be():
    def ask(**options):
        return lambda: return_probabilities(path(5), **options)

    fails(ask(n_jobs=0), "n_jobs=0")
    fails(ask(n_jobs="2"), ("n_jobs", "'2'"))
    fails(ask(nodes=[7]), ("node 7", "5 nodes"))
    fails(ask(nodes=[0.5]), ("nodes", "float64"))
    fails(ask(standard_error=0.1), ("standard_error", "exact"))
    fails(ask(method="monte-carlo", standard_error=np.nan), ("standard_error", "nan"))
    fails(ask(method="monte-carlo", standard_error=1e-9), ("1e-09", "method='exact'"))


@pytest.mark.parametrize("method", METHODS)
def test_walks_give_the_bits_of_the_function(method):
    batch = THREE_GRAPHS
    nodes = np.array([8, 0, 3, 3, 16])
    walks = Walks(7, method, n_walks=20, self_loop=0.5, seed=11)
    options = {"method": method, "n_walks": 20, "self_loop": 0.5, "rng": 11}
    assert np.array_equal(walks.probabilities(batch), return_probabilities(batch, 7, **options))
    found = walks.probabilities(batch, nodes=nodes, n_jobs=1)
    assert np.array_equal(found, return_probabilities(batch, 7, nodes=nodes, **options))


def test_no_graphs_give_no_rows():
    for method in METHODS:
        assert return_probabilities(path(3)[:0], 4, method=method).shape == (0, 4)


REAL_SETS = """MUTAG PTC_FM PTC_FR PTC_MM PTC_MR ENZYMES PROTEINS NCI1 BZR COX2 DHFR SYNTHETICnew
    Synthie FRANKENSTEIN_structure_only IMDB-BINARY IMDB-MULTI COLLAB DD REDDIT-BINARY
    REDDIT-MULTI-5K REDDIT-MULTI-12K"""


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("name", REAL_SETS.split())
def test_exact_equals_naive_on_real_graphs(name, data_folder):
    from retgk.datasets import load_tudataset

    graphs = load_tudataset(name, data_home=data_folder, download=False).graphs
    small = np.flatnonzero(graphs.node_counts <= 1000)
    order = np.random.default_rng(0).permutation(small)
    sample = graphs[order[: 1 + int((graphs.node_counts[order].cumsum() < 4000).sum())]]
    assert_same(return_probabilities(sample), naive.return_probabilities_of_batch(sample, 50))


@settings(max_examples=60)
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
    for method in METHODS:
        found = return_probabilities(plain, 6, method=method, rng=0)
        fixed = return_probabilities(plain, 6, method=method, rng=0, self_loop=1.0)
        assert np.array_equal(found, fixed)


# Standard errors of Monte Carlo values cover the truth on every graph; odd weights are refused

PAIR = np.array([[0.0, 1.0], [1.0, 0.0]])


def cycle(n: int) -> GraphBatch:
    ring = np.roll(np.eye(n), 1, axis=1)
    return from_dense(ring + ring.T)


def random_graph(n: int, share: float, spread: float = 0.0) -> GraphBatch:
    """Edges drawn at random, with weights ``exp(spread z)``."""
    rng = np.random.default_rng(n)
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
    "random": (random_graph(40, 0.1), 1.0, 40),
    "weighted": (random_graph(30, 0.15, 1.0), 1.0, 40),
}


def runs(graph: GraphBatch, n_seeds: int, n_walks: int, **options):
    """Errors, and standard errors, of the values that are estimates: (n_seeds, n_values)."""
    truth = return_probabilities(graph, 30, self_loop=options["self_loop"])
    found = [
        return_probabilities(
            graph, 30, n_walks=n_walks, rng=seed, return_standard_error=True, **options
        )
        for seed in range(n_seeds)
    ]
    claimed = np.stack([errors for _, errors in found])
    is_random = claimed.max(axis=0) > 0
    return (np.stack([values for values, _ in found]) - truth)[:, is_random], claimed[:, is_random]


@pytest.mark.slow
@pytest.mark.parametrize("n_walks", [64, 200])
@pytest.mark.parametrize("method", MONTE_CARLO)
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


@pytest.mark.parametrize("method", MONTE_CARLO)
def test_wanted_error_does_not_stop_early_where_walks_split_evenly(method):
    pairs = from_dense(np.kron(np.eye(100), PAIR))
    options = {"method": method, "standard_error": 1e-2, "self_loop": 1.0}
    missed, claimed = runs(pairs, 3, 64, **options)
    assert claimed.max() <= 1e-2
    assert np.sqrt(np.square(missed).mean()) < 1.1e-2
    assert (np.abs(missed) > 4 * claimed).mean() < 0.002


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scales", [(1e150, 1e150), (1e-150, 1e-150), (1e150, 1e-150), (1.0, 1e99)])
@pytest.mark.parametrize("self_loop", [0.0, 1.0, 1e-150, 1e150])
def test_weights_at_the_limits(method, scales, self_loop):
    matrix = np.zeros((5, 5))
    for (i, j), weight in zip([(0, 1), (1, 2), (2, 0), (2, 3)], [*scales, *scales], strict=True):
        matrix[i, j] = matrix[j, i] = weight
    options = {"method": method, "self_loop": self_loop, "rng": 0, "n_walks": 1000}
    found, errors = return_probabilities(
        from_dense(matrix), 9, return_standard_error=True, **options
    )
    assert np.isfinite(errors).all()
    exact = return_probabilities(from_dense(matrix), 9, self_loop=self_loop)
    assert np.isfinite(exact).all()
    assert (np.abs(found - exact) <= 5 * errors + 1e-12).all()


@pytest.mark.parametrize("weight", [1e200, 1e-200, 2e150, 5e-324])
def test_weights_out_of_range_are_named(weight):
    matrix = np.zeros((4, 4))
    matrix[1, 3] = matrix[3, 1] = weight
    batch = GraphBatch.concatenate([path(3), complete(2), from_dense(matrix)])
    about = ("graph 2", "node 1", "node 3", f"{weight:g}", "1e-150", "1e+150")
    for method in METHODS:
        options = {"method": method, "rng": 0}
        fails(lambda o=options: return_probabilities(batch, 5, self_loop=1.0, **o), about)
        assert np.isfinite(return_probabilities(batch, 5, **options)).all()
    for estimator in (
        RetGK(walks=Walks(self_loop=1)),
        RetGKEmbedding(batch_size=1, walks=Walks(self_loop=1)),
    ):
        fails(lambda own=estimator: own.fit(batch), about)


def test_weights_far_from_the_mean_are_named():
    matrix = np.array([[0, 1e-200, 0], [1e-200, 0, 7e200], [0, 7e200, 0]])
    about = ("graph 1", "node 0", "node 1", "1e-200", "mean weight")
    fails(lambda: return_probabilities([PAIR, matrix], 5), about)


# The way that exact walks go does not depend on threads, and long work is announced

THREADS = [1, 2, 3, 16]


def assert_same_bits(results) -> None:
    for result in results[1:]:
        assert np.array_equal(results[0], result)


def test_threads_change_no_bit_of_a_dense_graph():
    """Sixteen threads left less room for each, and so went another way than two."""
    graph = random_graph(850, 0.3)
    assert_same_bits([return_probabilities(graph, n_jobs=n_jobs) for n_jobs in THREADS])


def test_threads_change_no_bit_of_a_graph_at_the_limit_of_memory(monkeypatch):
    """As graphs of 2,300 nodes did: one thread had room for a matrix, two had not."""
    monkeypatch.setattr(exact, "_DENSE_BYTES", 2.5e6)
    graphs = GraphBatch.concatenate([random_graph(n, 0.5) for n in (150, 190, 230)])
    assert_same_bits([return_probabilities(graphs, n_jobs=n_jobs) for n_jobs in THREADS])


@pytest.mark.parametrize(("n_jobs", "most"), [(1, 1), (2, 2), (16, 3)])
def test_eigendecompositions_side_by_side_keep_to_the_memory(n_jobs, most, monkeypatch):
    graphs = GraphBatch.concatenate([random_graph(150, 0.5)] * 12)
    monkeypatch.setattr(exact, "_DENSE_BYTES", 3.5 * 32 * 150**2)
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

    monkeypatch.setattr(exact, "_fill_sparse", fail)
    graph, about = expander(200_000), ("200,000 nodes", 'method="monte-carlo"', "nodes")
    fails(lambda: return_probabilities(graph, n_jobs=2), about, InputWarning)


def test_long_eigendecompositions_are_announced(monkeypatch):
    monkeypatch.setattr(exact, "_LONG_SECONDS", 1e-3)
    fails(lambda: return_probabilities(path(300), method="eigh"), "300 nodes", InputWarning)


def test_large_graphs_that_are_quick_are_not_announced(monkeypatch):
    """Twins make one node of many, walks on paths stay near, and few nodes take little time."""
    monkeypatch.setattr(exact, "_LONG_SECONDS", 2.0)
    n = 20_000
    hub = np.stack([np.zeros(n - 1, np.int64), np.arange(1, n)], axis=1)
    steps = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    for edges in (hub, steps):
        graph = GraphBatch.from_edges(n, edges, symmetrize=True)
        assert exact.upper_bound(graph, n, 20) > 1e10
        assert return_probabilities(graph, 20).shape == (n, 20)
    assert return_probabilities(expander(n), nodes=[5, 7]).shape == (2, 50)
    fails(lambda: return_probabilities(expander(n)), error=InputWarning)


@pytest.mark.slow
def test_forecasts_are_of_the_right_size():
    """Within a generous factor of the time it takes."""
    graph = expander(4000)
    nodes = np.arange(graph.n_nodes)
    return_probabilities(graph, nodes=[0])
    start = time.thread_time()
    return_probabilities(graph, n_jobs=1)
    passed = time.thread_time() - start
    forecast = 1e-9 * exact._expected_cost(graph, nodes, 50, 1.0, 1)
    assert passed / 20 < forecast < 5 * passed


# The graph of Fig. 1 of the paper, and the multi-resolution property that it shows


def test_return_probabilities_tell_centres_apart_at_their_resolution():
    graph, centres = toy_graph()
    first, second, third = return_probabilities(graph, N_STEPS, nodes=centres)
    assert np.abs(first[:7] - second[:7]).max() < 1e-14
    assert abs(first[7] - second[7]) > 1e-5
    assert np.abs(first[:2] - third[:2]).max() < 1e-14
    assert abs(first[2] - third[2]) > 1e-2
