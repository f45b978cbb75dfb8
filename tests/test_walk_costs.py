"""The way that exact walks go does not depend on threads, and long work is announced."""

import threading
import time

import numpy as np
import pytest

from retgk import GraphBatch, RetGKEmbedding, return_probabilities
from retgk.errors import InputWarning
from retgk.kernels import embedded_vectors as graph_vectors
from retgk.walks import exact as exact_costs
from retgk.walks import exact as exact_probabilities
from tests.walk_graphs import from_dense, path

THREADS = [1, 2, 3, 16]


def random_graph(n: int, share: float) -> GraphBatch:
    upper = np.triu(np.random.default_rng(n).random((n, n)) < share, 1)
    return from_dense(upper | upper.T)


def assert_same_bits(results) -> None:
    for result in results[1:]:
        assert np.array_equal(results[0], result)


def test_threads_change_no_bit_of_a_dense_graph():
    """Sixteen threads left less room for each, and so went another way than two."""
    graph = random_graph(850, 0.3)
    assert_same_bits([return_probabilities(graph, n_jobs=n_jobs) for n_jobs in THREADS])


def test_threads_change_no_bit_of_a_graph_at_the_limit_of_memory(monkeypatch):
    """As graphs of 2,300 nodes did: one thread had room for a matrix, two had not."""
    monkeypatch.setattr(exact_costs, "_DENSE_BYTES", 2.5e6)
    graphs = GraphBatch.concatenate([random_graph(n, 0.5) for n in (150, 190, 230)])
    assert_same_bits([return_probabilities(graphs, n_jobs=n_jobs) for n_jobs in THREADS])


def test_threads_change_no_bit_of_an_embedding(monkeypatch):
    monkeypatch.setattr(graph_vectors, "_NANOSECONDS_PER_TASK", 1.0)  # pieces of a few nodes
    rng = np.random.default_rng(0)
    sizes = [850, *rng.integers(2, 80, size=40)]
    graphs = GraphBatch.concatenate([random_graph(int(n), 0.3) for n in sizes])
    labelled = graphs.with_labels(rng.integers(3, size=graphs.n_nodes))
    for dtype in (np.float64, np.float32):
        models = [RetGKEmbedding(37, n_jobs=n, dtype=dtype, random_state=0) for n in THREADS]
        assert_same_bits([model.fit_transform(labelled) for model in models])


@pytest.mark.parametrize(("n_jobs", "most"), [(1, 1), (2, 2), (16, 3)])
def test_eigendecompositions_side_by_side_keep_to_the_memory(n_jobs, most, monkeypatch):
    graphs = GraphBatch.concatenate([random_graph(150, 0.5)] * 12)
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
