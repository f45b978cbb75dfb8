"""Vectors of graphs from some of their nodes, and the errors that are stated of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retgk import (
    GraphBatch,
    InvalidInputError,
    RetGKEmbedding,
    load_model,
    return_probabilities,
    sample_nodes,
    save_model,
)
from retgk.walks import exact as exact_costs
from tests.cli_calls import invoke, record

MONTE_CARLO: dict[str, Any] = {"method": "monte-carlo", "n_walks": 100}


def scale_free(n_nodes: int, seed: int = 0, *, labels: bool = False) -> GraphBatch:
    """Graph whose later nodes prefer early neighbours, so that degrees differ widely."""
    rng = np.random.default_rng(seed)
    later = np.repeat(np.arange(1, n_nodes), 3)
    edges = np.stack([later, (later * rng.random(len(later)) ** 2).astype(np.int64)], axis=1)
    graph = GraphBatch.from_edges(n_nodes, np.unique(edges, axis=0), symmetrize=True)
    if not labels:
        return graph
    own = rng.choice(["a", "b", "c"], n_nodes, p=[0.6, 0.3, 0.1]).tolist()
    return graph.with_labels(own).with_attributes(rng.random((n_nodes, 1)))


@pytest.mark.parametrize("options", [{}, MONTE_CARLO])
def test_a_vector_is_the_mean_over_drawn_nodes(options: dict[str, Any]) -> None:
    graph = scale_free(300)
    embedding = RetGKEmbedding(
        10, nodes=40, n_components=7, feature_map="joint", random_state=0, **options
    ).fit(graph)
    nodes = sample_nodes(graph, 40, random_state=embedding.walk_seed_)
    seeds = {"random_state": embedding.walk_seed_}
    probabilities = return_probabilities(graph, 10, nodes=nodes, **seeds, **options)
    expected = embedding.maps_[0](probabilities).mean(axis=0)
    np.testing.assert_allclose(embedding.transform(graph)[0], expected, atol=1e-12)


def test_batches_threads_and_all_nodes_change_no_bit() -> None:
    graphs = GraphBatch.concatenate([scale_free(n, n, labels=True) for n in (50, 200, 120)])
    options = {"n_components": 5, "random_state": 0, **MONTE_CARLO}
    drawn = RetGKEmbedding(8, nodes=30, **options).fit(graphs)
    whole = drawn.transform(graphs)
    drawn.batch_size, drawn.n_jobs = 1, 1
    np.testing.assert_array_equal(drawn.transform(graphs), whole)
    np.testing.assert_array_equal(drawn.transform(graphs[1]), whole[1:2])
    np.testing.assert_array_equal(drawn.transform_with_error(graphs)[0], whole)
    everyone = RetGKEmbedding(8, nodes=1.0, **options).fit_transform(graphs)
    np.testing.assert_array_equal(everyone, RetGKEmbedding(8, **options).fit_transform(graphs))


@pytest.mark.parametrize("feature_map", ["phases", "joint", "tensor"])
@pytest.mark.parametrize("options", [{}, MONTE_CARLO])
def test_errors_cover_what_they_say(feature_map: Any, options: dict[str, Any]) -> None:
    """Over many draws of nodes and walks, deviations from the exact vector are as stated."""
    graph = scale_free(400, labels=True)
    width: Any = {"tensor": 4, "joint": 20, "phases": 40}[feature_map]  # of 20 frequencies, or 4
    common = {"feature_map": feature_map, "n_components": width, "random_state": 0}
    exact = RetGKEmbedding(12, **common).fit(graph)
    truth = exact.transform(graph)[0]
    drawn = RetGKEmbedding(12, nodes=60, **options, **common).fit(graph)
    deviations, stated = [], []
    for seed in range(60):
        drawn.walks_ = type(drawn.walks_)(**{**vars(drawn.walks_), "seed": seed})
        vectors, errors = drawn.transform_with_error(graph)
        deviations.append(vectors[0] - truth)
        stated.append(errors[0])
    squares, claimed = np.square(deviations), np.square(stated)
    assert 0.85 < np.sqrt(squares.sum(axis=1).mean() / claimed.sum(axis=1).mean()) < 1.1
    assert 0.9 < np.mean(squares <= 4 * claimed) <= 1.0


def test_errors_of_walks_alone_know_what_noise_shifts() -> None:
    """With all nodes no node is drawn; what is left is noise of walks, and its bias."""
    graph = scale_free(800)
    exact = RetGKEmbedding(12, n_components=40, random_state=0).fit(graph)
    walked = RetGKEmbedding(
        12, n_components=40, random_state=0, method="monte-carlo", n_walks=20
    ).fit(graph)
    vectors, errors = walked.transform_with_error(graph)
    deviation = np.linalg.norm(vectors[0] - exact.transform(graph)[0])
    stated = np.linalg.norm(errors[0])
    assert stated / 3 < deviation < 1.5 * stated
    more = RetGKEmbedding(
        12, n_components=40, random_state=0, method="monte-carlo", n_walks=320
    ).fit(graph)
    assert np.linalg.norm(more.transform_with_error(graph)[1]) < stated / 3
    np.testing.assert_array_equal(exact.transform_with_error(graph)[1], 0.0)


def test_what_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = scale_free(30, labels=True)
    for nodes in (0, 1.5):
        with pytest.raises(InvalidInputError, match=f"nodes must be .* got {nodes}"):
            RetGKEmbedding(nodes=nodes).fit(graph)
    with pytest.raises(InvalidInputError, match="depth=1 refines the labels of all nodes"):
        RetGKEmbedding(nodes=5, depth=1, feature_map="phases").fit(graph)
    _, errors = RetGKEmbedding(nodes=1).fit(graph).transform_with_error(graph)
    assert np.isinf(errors).any()
    monkeypatch.setattr("retgk._runtime.processes.available_bytes", lambda: 1000)
    monkeypatch.setattr("retgk.walks.probabilities._MANY_BYTES", 0)
    with pytest.raises(InvalidInputError, match=r"probabilities of 30 nodes takes .* with nodes="):
        return_probabilities(graph)


def test_the_command_names_its_own_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "path.edges").write_text("1 2\n2 3\n")
    monkeypatch.setattr("retgk._runtime.processes.available_bytes", lambda: 10)
    monkeypatch.setattr("retgk.walks.probabilities._MANY_BYTES", 0)
    refused = invoke("features", tmp_path / "path.edges", "-o", tmp_path / "rpf.npy")
    assert "memory are free; describe some nodes only" in refused.stderr


def test_long_exact_work_names_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_costs, "_LONG_SECONDS", 1e-9)
    with pytest.warns(UserWarning, match=r"RetGKEmbedding .* nodes="):
        RetGKEmbedding(4).fit(scale_free(30)).transform(scale_free(30))


def test_models_and_the_command_keep_the_nodes(tmp_path: Path) -> None:
    graph = scale_free(200)
    embedding = RetGKEmbedding(5, nodes=20, n_components=6, random_state=0, **MONTE_CARLO)
    vectors = embedding.fit_transform(graph)
    save_model(embedding, tmp_path / "model.retgk")
    np.testing.assert_array_equal(load_model(tmp_path / "model.retgk").transform(graph), vectors)
    rows = np.repeat(np.arange(200), np.diff(graph.indptr))
    np.savetxt(tmp_path / "big.edges", np.stack([rows, graph.indices], axis=1), fmt="%d")
    options = ("--method", "monte-carlo", "--n-walks", "50", "-D", "6", "-o", tmp_path / "v.npy")
    told = record("embed", tmp_path / "big.edges", "--nodes", "20", *options, "--json")
    assert 0 < told["standard_error"] < told["norm"]
    assert invoke("embed", tmp_path / "big.edges", "--nodes", "1.5", *options).exit_code == 2
