"""RetGKEmbedding against numpy.kron, and what its vectors must not depend on."""

import pickle
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from retgk import (
    GraphBatch,
    GraphClassifier,
    GraphRegressor,
    RetGK,
    Walks,
    _core,
    load_model,
    read_graphs,
    return_probabilities,
    save_model,
)
from retgk.datasets import make_graph_classification
from retgk.errors import InputWarning
from retgk.estimators.embedding import RetGKEmbedding
from retgk.io import from_networkx, to_networkx, write_parquet
from retgk.io.json import write_json
from retgk.kernels import PolynomialGraphKernel, ShortestPath, embedded_vectors, sample_nodes
from retgk.kernels.embedded_fourier import draw_fourier_map
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.node import Gaussian, Laplacian, Matern, Polynomial
from retgk.kernels.refinement import keys_of_names
from retgk.walks import exact
from tests import naive
from tests.errors import assert_names, fails
from tests.example_graphs import (
    decorated_batches,
    example_batch,
    large_batch,
    nodes_of,
    path,
    permuted,
    star,
)
from tests.naive import laplacian, mean_embedding_product, return_probabilities_of_batch
from tests.programs import invoke, record

TOLERANCE = {np.float64: 1e-12, np.float32: 3e-5}
STEPS = 6
MONTE_CARLO: dict[str, Any] = {"method": "monte-carlo", "n_walks": 100}
DRAWS = ["plain", "orthogonal", "quasi-random"]


def embedding_of(**options):
    defaults = {"walks": Walks(STEPS), "n_components": 5, "random_state": 0}
    return RetGKEmbedding(**(defaults | options))


def inner_products(batch, **options):
    kernel = RetGK(graph_kernel=PolynomialGraphKernel(), random_state=0, **options)
    return kernel.fit_transform(batch)


def naive_vectors(fitted, batch):
    """The same vectors by numpy.kron, from the fitted frequencies."""
    n_labels = 1 if fitted.label_names_ is None else len(fitted.label_names_)
    codes = np.zeros(batch.n_nodes, int)
    if batch.has_labels:
        names = [batch.label_names[code] for code in batch.labels]
        codes = np.array([fitted.label_names_.index(name) for name in names])
    maps = [(fourier.frequencies, fourier.phases) for fourier in fitted.maps_]
    vectors = []
    for p, label, a in nodes_of(batch, fitted.walks_.n_steps, codes):
        if len(maps) == 1 and fitted.n_attributes_:
            p = np.concatenate([p, a], axis=1)  # noqa: PLW2901
        vectors.append(naive.tensor_embedding((p, label, a), n_labels, maps))
    return np.array(vectors)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("feature_map", ["tensor", "joint"])
@given(batch=decorated_batches(), draw=st.sampled_from(DRAWS), width=st.sampled_from([1, 5, 17]))
@settings(max_examples=40)
def test_equals_kron(dtype, feature_map, batch, draw, width):
    kernel = Gaussian(gamma=0.5) if batch.n_attributes else None
    options = {"feature_map": feature_map, "n_components": width, "frequencies": draw}
    options |= {"structure": Gaussian(gamma=20.0), "attributes": kernel}
    fitted = embedding_of(dtype=dtype, **options).fit(batch)
    vectors = fitted.transform(batch)
    assert vectors.dtype == dtype
    assert vectors.shape == (len(batch), fitted.n_features_out_)
    assert np.abs(vectors - naive_vectors(fitted, batch)).max() <= TOLERANCE[dtype]


@pytest.mark.parametrize("feature_map", ["tensor", "joint"])
@pytest.mark.parametrize("kernel", [Gaussian, Laplacian])
@pytest.mark.parametrize(("labels", "width"), [(True, 13), (False, 37)])
def test_equals_kron_on_many_nodes(feature_map, kernel, labels, width):
    """More nodes than a block holds, and as many return probabilities as are usual."""
    batch = large_batch(20) if labels else large_batch(20).without_labels()
    kernels = {"structure": kernel(gamma=5.0), "attributes": kernel(gamma=0.3)}
    fitted = embedding_of(
        walks=Walks(n_steps=50), feature_map=feature_map, n_components=width, **kernels
    )
    error = np.abs(fitted.fit(batch).transform(batch) - naive_vectors(fitted, batch)).max()
    steepest = max(np.abs(fourier.frequencies).max() for fourier in fitted.maps_)
    assert error <= 1e-12 * max(1.0, steepest / 100)  # an angle of x is known to 1e-16 x only


@pytest.mark.parametrize("feature_map", ["tensor", "joint", "phases"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("walks", [{}, {"method": "monte-carlo"}, {"nodes": 9, **MONTE_CARLO}])
def test_same_bits_for_any_batch_size_and_threads(feature_map, dtype, walks, monkeypatch):
    monkeypatch.setattr(embedded_vectors, "_NANOSECONDS_PER_TASK", 1.0)  # pieces of a few nodes
    batch = large_batch(40)
    options = {"feature_map": feature_map, "dtype": dtype, "n_components": 20}
    options |= {"walks": Walks(20, **walks), "attributes": Gaussian(gamma=0.5)}
    fitted = embedding_of(n_jobs=1, **options).fit(batch)
    expected = fitted.transform(batch)
    for n_jobs, batch_size in ((1, 1), (1, 7), (2, None), (3, 64)):
        other = embedding_of(n_jobs=n_jobs, batch_size=batch_size, **options).fit(batch)
        assert np.array_equal(other.transform(batch), expected)
    order = np.random.default_rng(0).permutation(len(batch))
    assert np.array_equal(fitted.transform(batch[order]), expected[order])
    assert np.array_equal(np.concatenate(list(fitted.transform(iter(batch)))), expected)
    assert np.array_equal(fitted.transform_with_error(batch)[0], expected)


@pytest.mark.parametrize("options", [{}, {"feature_map": "phases", "depth": 2}])
@given(decorated_batches(), st.integers(0, 99))
@settings(max_examples=30)
def test_permuting_nodes_changes_nothing(options, batch, seed):
    kernel = Gaussian(gamma=0.5) if batch.n_attributes else None
    fitted = embedding_of(attributes=kernel, **options).fit(batch)
    moved = fitted.transform(permuted(batch, seed))
    assert np.abs(moved - fitted.transform(batch)).max() <= 1e-12


def test_disjoint_union_is_the_weighted_mean():
    first, second = path(4), star(6)
    both = np.zeros((11, 11))
    both[:4, :4], both[4:, 4:] = naive.dense_adjacency(first, 0), naive.dense_adjacency(second, 0)
    fitted = embedding_of().fit(first)
    parts = fitted.transform(GraphBatch.concatenate([first, second]))
    assert np.abs(fitted.transform(both) - (4 * parts[0] + 7 * parts[1]) / 11).max() <= 1e-12


def test_median_bandwidths_come_from_the_sample():
    batch = large_batch(50)
    fitted = embedding_of(
        structure=Laplacian(gamma="median"), attributes=Gaussian(gamma="median")
    ).fit(batch)
    probabilities = np.concatenate([nodes[0] for nodes in nodes_of(batch, STEPS)])
    attributes = batch.attributes
    for kernel, points, power in (
        (fitted.structure_, probabilities, 1),
        (fitted.attributes_, attributes, 2),
    ):
        distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
        assert 0.5 < kernel.scale * np.median(distances) ** power < 2


def test_sparse_output_is_the_dense_one():
    batch = large_batch(30).without_attributes()
    options = {"batch_size": 7}
    dense = embedding_of(**options).fit_transform(batch)
    sparse = embedding_of(sparse_output=True, **options).fit_transform(batch)
    assert sparse.format == "bsr"
    assert np.array_equal(sparse.toarray(), dense)
    assert len(sparse.data) < len(batch) * 5


# Fourier features as an approximation: unbiased, and better with more of them

KERNELS = {
    "gaussian": (Gaussian, naive.gaussian),
    "laplacian": (Laplacian, naive.laplacian),
    "matern": (Matern, naive.matern),
}
N_SEEDS = 200


def exact_products(batch, name, n_steps, gammas):
    _, kernel = KERNELS[name]
    graphs = nodes_of(batch, n_steps)

    def product(first, second):
        (p, label, a), (q, other, b) = first, second
        return kernel(p, q, gammas[0]) * kernel(a, b, gammas[1]) * (label == other)

    nodes = [list(zip(*graph, strict=True)) for graph in graphs]
    return naive.mean_embedding_gram(nodes, product)


def estimated_products(batch, name, gammas, **options):
    """Inner products for many seeds, shape (seeds, graphs, graphs)."""
    kernel, _ = KERNELS[name]
    found = []
    for seed in range(N_SEEDS):
        vectors = RetGKEmbedding(
            structure=kernel(gamma=gammas[0]),
            attributes=kernel(gamma=gammas[1]) if batch.n_attributes else None,
            random_state=seed,
            n_jobs=1,
            **options,
        ).fit_transform(batch)
        found.append(vectors @ vectors.T)
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("frequencies", DRAWS)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("feature_map", ["tensor", "joint"])
@pytest.mark.parametrize(("labels", "attributes"), [(False, False), (True, True)])
def test_unbiased(frequencies, name, feature_map, labels, attributes):
    """The mean over seeds lies within four standard errors of the exact value."""
    batch = example_batch(labels, attributes)
    gammas = (3.0, 0.4)
    exact = exact_products(batch, name, 8, gammas)
    options = {"walks": Walks(8), "n_components": 16, "frequencies": frequencies}
    found = estimated_products(batch, name, gammas, feature_map=feature_map, **options)
    standard_error = found.std(axis=0, ddof=1) / np.sqrt(N_SEEDS)
    assert (standard_error > 0).sum() > 0
    assert (np.abs(found.mean(axis=0) - exact) <= 4 * standard_error + 1e-12).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_error_falls_with_the_root_of_the_width(name):
    batch = example_batch()
    gammas = (3.0, 0.4)
    exact = exact_products(batch, name, 8, gammas)

    def error(n_components, frequencies):
        options = {"walks": Walks(8), "n_components": n_components, "frequencies": frequencies}
        found = estimated_products(batch, name, gammas, feature_map="joint", **options)
        return np.sqrt(((found - exact) ** 2).mean())

    narrow, wide = error(16, "plain"), error(256, "plain")
    assert 4 * 0.75 < narrow / wide < 4 / 0.75
    for draw in ("orthogonal", "quasi-random"):
        assert error(256, draw) < 1.1 * wide


@pytest.mark.parametrize("draw", DRAWS)
def test_gaussian_frequencies_are_normal(draw):
    """In every direction, and in length: orthogonal ones keep the distribution of norms."""
    drawn = [draw_fourier_map([(Gaussian(gamma=8.0), 5)], 64, draw, seed) for seed in range(40)]
    frequencies = np.concatenate([fourier.frequencies.T for fourier in drawn]) / 4.0
    phases = np.concatenate([fourier.phases for fourier in drawn])
    oblique = frequencies @ np.array([0.6, 0.0, -0.8, 0.0, 0.0])
    assert stats.kstest(oblique, "norm").pvalue > 1e-3
    assert stats.kstest((frequencies**2).sum(axis=1), stats.chi2(5).cdf).pvalue > 1e-3
    assert stats.kstest(phases, stats.uniform(0, 2 * np.pi).cdf).pvalue > 1e-3


@pytest.mark.parametrize("draw", DRAWS)
def test_laplacian_frequencies_are_cauchy(draw):
    drawn = [draw_fourier_map([(Laplacian(gamma=3.0), 4)], 64, draw, seed) for seed in range(40)]
    frequencies = np.concatenate([fourier.frequencies.T for fourier in drawn])
    oblique = frequencies @ np.array([0.6, 0.0, -0.8, 0.0])
    assert stats.kstest(oblique, stats.cauchy(scale=3.0).cdf).pvalue > 1e-3


def test_joint_frequencies_have_one_denominator_a_factor():
    factors = [(Laplacian(gamma=2.0), 2), (Gaussian(gamma=0.5), 1), (Laplacian(gamma=1.0), 1)]
    for draw in DRAWS:
        drawn = [draw_fourier_map(factors, 128, draw, seed) for seed in range(20)]
        omega = np.concatenate([fourier.frequencies.T for fourier in drawn])
        assert stats.kstest(omega[:, 0], stats.cauchy(scale=2.0).cdf).pvalue > 1e-3
        assert stats.kstest(omega[:, 2], "norm").pvalue > 1e-3
        assert stats.kstest(omega[:, 3], "cauchy").pvalue > 1e-3
        assert abs(stats.spearmanr(np.abs(omega[:, 0]), np.abs(omega[:, 3])).statistic) < 0.1
        assert stats.spearmanr(np.abs(omega[:, 0]), np.abs(omega[:, 1])).statistic > 0.2


def test_orthogonal_frequencies_are_orthogonal():
    fourier = draw_fourier_map([(Gaussian(gamma=1.0), 6)], 15, "orthogonal", 0)
    for block in (slice(0, 6), slice(6, 12), slice(12, 15)):
        products = fourier.frequencies[:, block].T @ fourier.frequencies[:, block]
        assert np.abs(products - np.diag(np.diag(products))).max() < 1e-12


def test_feature_map_called_on_points():
    fourier = draw_fourier_map([(Gaussian(gamma=1.0), 3)], 7, random_state=0)
    points = np.random.default_rng(0).normal(size=(4, 3))
    expected = [naive.fourier_features(x, fourier.frequencies, fourier.phases) for x in points]
    assert np.abs(fourier(points) - expected).max() < 1e-14


def exact_cosine(turns):
    """cos(2 pi t) in extended precision, from the exact remainder of t."""
    reduced = turns.astype(np.longdouble)
    reduced -= np.rint(reduced)
    two_pi = 2 * np.longdouble("3.14159265358979323846264338327950288")
    return np.cos(two_pi * reduced)


def compiled_cosine(turns):
    """cos(2 pi t) as the embedding of nodes, each in a graph of its own, has it: 2 / D is 1."""
    fourier = np.zeros((1, 2, _core.PANEL_BYTES // turns.itemsize), turns.dtype)
    fourier[:, 1] = 1  # frequencies, after the phases
    nodes, points = np.arange(len(turns)), turns.astype(np.float64)[:, None]
    found = np.empty((len(turns), 2), turns.dtype)
    _core.fill_joint_means(
        nodes, np.ones(len(turns)), nodes, points[:, :0].copy(), points, fourier, found
    )
    return found[:, 0]


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="long double is no longer")
@pytest.mark.parametrize(("dtype", "most"), [(np.float64, 6e-16), (np.float32, 3e-7)])
def test_cosine_is_as_accurate_as_stated(dtype, most):
    rng = np.random.default_rng(0)
    small = rng.uniform(-1.5, 1.5, 200_000)
    large = rng.standard_cauchy(50_000) * 10.0 ** rng.integers(0, 12, 50_000)
    special = [0.0, -0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 2.5, 1e-30, 1e17]
    turns = np.concatenate([small, large, special]).astype(dtype)
    assert np.abs(compiled_cosine(turns) - exact_cosine(turns)).max() <= most


# Vectors of fixed width, in which labels turn phases

KERNELS_OF_PHASES = {"structure": Laplacian(5.0), "attributes": Laplacian(0.7)}


@pytest.fixture(scope="module")
def graphs():
    return make_graph_classification(
        n_graphs=8, n_labels=3, n_attributes=2, n_nodes=(5, 9), rng=3
    ).graphs


def phases(graphs, seed=0, **parameters):
    options = {
        "feature_map": "phases",
        "walks": Walks(6),
        "random_state": seed,
        **KERNELS_OF_PHASES,
    }
    return RetGKEmbedding(**(options | parameters)).fit(graphs)


@pytest.mark.parametrize("n_components", [70, 71, 1])
@pytest.mark.parametrize("depth", [0, 2])
@pytest.mark.parametrize("is_large", [False, True])
def test_formula(graphs, depth, n_components, is_large):
    """Every feature is a mean of cosines or of sines of the same angles, written out."""
    graphs = large_batch(20) if is_large else graphs
    model = phases(graphs, n_components=n_components, depth=depth)
    found = model.transform(graphs)
    keys, shares = model.engine_.phases.keys(graphs, None)
    points = np.hstack([return_probabilities(graphs, 6), graphs.attributes])
    (fourier,) = model.maps_
    angles = points @ fourier.frequencies + fourier.phases
    nodes = np.zeros((len(angles), n_components))
    for own, share in zip(keys.T, shares, strict=True):
        turned = angles + naive.quarter_turns(own, len(angles.T)) * np.pi / 2
        nodes += share * np.hstack([np.cos(turned), np.sin(turned)])[:, :n_components]
    nodes *= np.sqrt(2 / n_components)
    expected = np.add.reduceat(nodes, graphs.node_ptr[:-1]) / np.diff(graphs.node_ptr)[:, None]
    assert len(angles.T) == -(-n_components // 2)
    assert found.shape == (len(graphs), n_components)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    single = phases(graphs, n_components=n_components, depth=depth, dtype=np.float32)
    np.testing.assert_allclose(single.transform(graphs), expected, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [0, 2])
@pytest.mark.parametrize(("has_labels", "n_components"), [(True, 32), (False, 32), (True, 3)])
def test_unbiased_label_phases(graphs, depth, has_labels, n_components):
    """Over 200 seeds the mean of inner products is that of the exact kernel."""
    batch = graphs if has_labels else graphs.without_labels()
    exact = inner_products(batch, walks=Walks(6), depth=depth, tol=0, **KERNELS_OF_PHASES)
    found = []
    for seed in range(200):
        vectors = phases(batch, seed, n_components=n_components, depth=depth).transform(batch)
        found.append(vectors @ vectors.T)
    errors = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - exact) <= 4.5 * errors).all()


def test_unseen_labels_match_themselves(graphs):
    """A label that fit did not see needs no column."""
    new = graphs.with_labels(["new"] * graphs.n_nodes)
    model = phases(graphs, n_components=4000)
    with pytest.warns(UserWarning, match="no node label of the graphs is known"):
        vectors = model.transform(new)
    exact = inner_products(new, walks=Walks(6), tol=0, **KERNELS_OF_PHASES)
    assert np.abs(vectors @ vectors.T - exact).max() < 0.1
    assert np.abs(vectors @ model.transform(graphs).T).max() < 0.1


def test_keys_of_labels():
    """Equal labels have equal keys, whatever their type, and other seeds other keys."""
    keys = keys_of_names(["1", 1, 1.0, True, (1, "a"), frozenset("ab"), 0, -0.0, None], seed=4)
    assert keys[1] == keys[2] == keys[3]
    assert keys[6] == keys[7]
    assert len(set(keys.tolist())) == 6
    assert keys_of_names(["C"], 0) != keys_of_names(["C"], 1)


class Element(StrEnum):
    CARBON = "C"
    NITROGEN = "N"


FORMATS = {
    "parquet": lambda graphs, folder: (
        read_graphs(write_parquet(graphs, folder / "a.parquet")).graphs
    ),
    "json": lambda graphs, folder: read_graphs(write_json(graphs, folder / "a.json")).graphs,
    "networkx": lambda graphs, _: from_networkx(
        to_networkx(graphs), label="label", edge_label="label", attributes=None
    ),
    "pickle": lambda graphs, _: pickle.loads(pickle.dumps(graphs)),
}
NAMES = {
    "numpy in tuples": [("C", np.int64(1)), ("C", np.int64(2)), (np.str_("N"), np.int64(1))],
    "numbers": [np.float64(0.1), np.float32(0.5), np.int8(3)],
    "enumeration": [Element.CARBON, Element.NITROGEN, "O"],
    "infinite": [("C", np.inf), ("C", -np.inf), np.inf],
    "text": ["\U0001fae8", "it's", 'a "quoted" \\ text'],
}


TRIPS = [(names, form) for names in NAMES for form in FORMATS]
TRIPS.remove(("infinite", "json"))  # which JSON cannot hold, and says so


@pytest.mark.parametrize(("names", "form"), TRIPS)
def test_vectors_after_a_round_trip(graphs, names, form, tmp_path):
    """Batches that are equal have the same vectors, to the bit."""
    named = [NAMES[names][code] for code in graphs.labels]
    plain = graphs.without_attributes()
    own = plain.with_labels(named).with_edge_labels([NAMES[names][0]] * len(graphs.indices))
    back = FORMATS[form](own, tmp_path)
    assert back == own
    model = phases(own, n_components=64, depth=2, attributes=None)
    assert np.array_equal(model.transform(back), model.transform(own))
    save_model(model, tmp_path / "model.retgk")
    assert np.array_equal(
        load_model(tmp_path / "model.retgk").transform(back), model.transform(own)
    )


# Vectors of graphs from some of their nodes, and the errors that are stated of them


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
    how = {"n_components": 7, "feature_map": "joint", "random_state": 0}
    embedding = RetGKEmbedding(walks=Walks(10, nodes=40, **options), **how).fit(graph)
    nodes = sample_nodes(graph, 40, rng=embedding.walk_seed_)
    seed = embedding.walk_seed_
    probabilities = return_probabilities(graph, 10, nodes=nodes, rng=seed, **options)
    expected = embedding.maps_[0](probabilities).mean(axis=0)
    np.testing.assert_allclose(embedding.transform(graph)[0], expected, atol=1e-12)


@pytest.mark.parametrize("feature_map", ["phases", "joint", "tensor"])
@pytest.mark.parametrize("options", [{}, MONTE_CARLO])
def test_errors_cover_what_they_say(feature_map: Any, options: dict[str, Any]) -> None:
    """Over many draws of nodes and walks, deviations from the exact vector are as stated."""
    graph = scale_free(400, labels=True)
    width: Any = {"tensor": 4, "joint": 20, "phases": 40}[feature_map]  # of 20 frequencies, or 4
    common = {"feature_map": feature_map, "n_components": width, "random_state": 0}
    exact = RetGKEmbedding(walks=Walks(12), **common).fit(graph)
    truth = exact.transform(graph)[0]
    drawn = RetGKEmbedding(walks=Walks(12, nodes=60, **options), **common).fit(graph)
    deviations, stated = [], []
    for seed in range(60):
        drawn.walks_ = replace(drawn.walks_, seed=seed)
        vectors, errors = drawn.transform_with_error(graph)
        deviations.append(vectors[0] - truth)
        stated.append(errors[0])
    squares, claimed = np.square(deviations), np.square(stated)
    assert 0.85 < np.sqrt(squares.sum(axis=1).mean() / claimed.sum(axis=1).mean()) < 1.1
    assert 0.9 < np.mean(squares <= 4 * claimed) <= 1.0


def test_errors_of_walks_alone_know_what_noise_shifts() -> None:
    """With all nodes no node is drawn; what is left is noise of walks, and its bias."""
    graph = scale_free(800)
    how = {"n_components": 40, "random_state": 0}
    exact_vectors, none = (
        RetGKEmbedding(walks=Walks(12), **how).fit(graph).transform_with_error(graph)
    )
    (vectors, errors), (_, smaller) = (
        RetGKEmbedding(walks=Walks(12, method="monte-carlo", n_walks=n_walks), **how)
        .fit(graph)
        .transform_with_error(graph)
        for n_walks in (20, 320)
    )
    stated = np.linalg.norm(errors[0])
    assert stated / 3 < np.linalg.norm(vectors[0] - exact_vectors[0]) < 1.5 * stated
    assert np.linalg.norm(smaller) < stated / 3
    np.testing.assert_array_equal(none, 0.0)


def test_no_room_and_little_time_ask_for_some_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = scale_free(30, labels=True)
    embedding = RetGKEmbedding(walks=Walks(nodes=5), depth=1, feature_map="phases")
    fails(lambda: embedding.fit(graph), "depth=1")
    _, errors = RetGKEmbedding(walks=Walks(nodes=1)).fit(graph).transform_with_error(graph)
    assert np.isinf(errors).any()
    monkeypatch.setattr("retgk._runtime.processes.available_bytes", lambda: 1000)
    monkeypatch.setattr("retgk.walks.probabilities._MANY_BYTES", 0)
    fails(lambda: return_probabilities(graph), ("30 nodes", "nodes"))
    (tmp_path / "path.edges").write_text("1 2\n2 3\n")
    refused = invoke("features", tmp_path / "path.edges", "-o", tmp_path / "rpf.npy")
    assert_names(refused.stderr, ("memory", "some nodes"))
    monkeypatch.undo()
    monkeypatch.setattr(exact, "_LONG_SECONDS", 1e-9)
    about = ("RetGKEmbedding", "nodes")
    fails(lambda: RetGKEmbedding(walks=Walks(4)).fit(graph).transform(graph), about, InputWarning)


def test_models_and_the_command_keep_the_nodes(tmp_path: Path) -> None:
    graph = scale_free(200)
    embedding = RetGKEmbedding(
        walks=Walks(5, nodes=20, **MONTE_CARLO), n_components=6, random_state=0
    )
    vectors = embedding.fit_transform(graph)
    save_model(embedding, tmp_path / "model.retgk")
    np.testing.assert_array_equal(load_model(tmp_path / "model.retgk").transform(graph), vectors)
    rows = np.repeat(np.arange(200), np.diff(graph.indptr))
    np.savetxt(tmp_path / "big.edges", np.stack([rows, graph.indices], axis=1), fmt="%d")
    options = ("--method", "monte-carlo", "--n-walks", "50", "-D", "6", "-o", tmp_path / "v.npy")
    told = record("embed", tmp_path / "big.edges", "--nodes", "20", *options)
    assert 0 < told["standard_error"] < told["norm"]
    assert invoke("embed", tmp_path / "big.edges", "--nodes", "1.5", *options).exit_code == 2


# Attributes at the limits of float64: the right answer or a clear error, never a constant

DATA = make_graph_classification(n_graphs=20, rng=0)
NORMAL = np.random.default_rng(0).normal(size=(DATA.graphs.n_nodes, 2))
MODELS = [
    RetGK(random_state=0),
    RetGK(random_state=0, tol=0),
    RetGK(random_state=0, attributes=Laplacian("median")),
    RetGK(random_state=0, attributes=Polynomial()),
    RetGKEmbedding(random_state=0),
    GraphClassifier(random_state=0, cv=2),
    GraphClassifier(RetGK(n_components=512), random_state=0, cv=2),
    GraphRegressor(random_state=0, cv=2),
]


def with_sentinels(value):
    attributes = NORMAL.copy()
    attributes[DATA.graphs.node_ptr[3] + 2, 1] = attributes[-1, 0] = value
    return DATA.graphs.with_attributes(attributes)


SENTINEL = ("graph 3", "attribute 1", "node 2")


@pytest.mark.parametrize("model", MODELS)
def test_sentinels_are_named(model):
    fails(lambda: model.fit(with_sentinels(np.finfo(float).max), DATA.targets), SENTINEL)
    model.fit(DATA.graphs.with_attributes(NORMAL), DATA.targets)
    ask = model.predict if hasattr(model, "predict") else model.transform
    fails(lambda: ask(with_sentinels(-1e155)), (*SENTINEL, "-1e+155"))
    if getattr(model, "attributes", None) == Polynomial():
        fails(lambda: ask(with_sentinels(1e100)), (*SENTINEL, "1e+100", "Polynomial"))
        fails(lambda: model.fit(with_sentinels(1e100)), (*SENTINEL, "1e+100", "Polynomial"))


@pytest.mark.parametrize("tol", [0, 1e-4])
def test_large_values_beside_small_ones_are_not_rounded_away(tol):
    model = RetGK(random_state=0, tol=tol)
    fails(lambda: model.fit(with_sentinels(1e20)), (*SENTINEL, "1e+20", "float64"))


MEDIAN = {"attributes": Laplacian("median"), "tol": 1e-6}
STANDARD = {"scale_attributes": "standard", "tol": 0}


@pytest.mark.parametrize(
    ("rule", "scale"),
    [
        *((MEDIAN, scale) for scale in (1e-100, 1e9, 1e100)),
        *((STANDARD, scale) for scale in (1e-300, 1e-160, 1e140)),
    ],
)
def test_medians_and_deviations_take_any_scale(rule, scale):
    """A bandwidth from the data makes the unit of attributes irrelevant."""
    options = {"random_state": 0, **rule}
    expected = RetGK(**options).fit_transform(DATA.graphs.with_attributes(NORMAL))
    found = RetGK(**options).fit_transform(DATA.graphs.with_attributes(scale * NORMAL))
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-160, 1e-170, 1e-300])
@pytest.mark.parametrize("kernel", [Gaussian("median"), Laplacian("median")])
@pytest.mark.parametrize("model", [RetGK, RetGKEmbedding, ShortestPath])
def test_medians_whose_squares_are_no_numbers(model, kernel, scale):
    """They are neither zero, as of nodes that are all alike, nor an overflow."""
    graphs = DATA.graphs.with_attributes(scale * NORMAL)
    fails(lambda: model(attributes=kernel, random_state=0).fit(graphs), ("median", "too small"))


@pytest.mark.parametrize("tol", [0, 1e-6, 1e-4])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e16, 1e17])
def test_new_graphs_far_away_whose_nodes_are_close(tol, offset):
    """Above 1e16 numbers are two and more apart: norms must not round the nodes together."""
    unit = np.spacing(max(offset, 1e16))
    steps = unit * np.array([[0.0], [1.0], [2.0], [5.0]])
    graph = GraphBatch.from_edges(4, [[0, 1], [1, 2], [2, 3]], symmetrize=True)
    near = [graph.with_attributes(steps * factor) for factor in (0.3, 0.7, 1.1)]
    graph = graph.with_attributes(offset + steps)
    gamma = 0.37 / unit
    kernels = {"structure": Laplacian(1.0), "attributes": Laplacian(gamma)}
    fitted = GraphBatch.concatenate(near)
    kernel = RetGK(walks=Walks(8), tol=tol, random_state=0, **kernels).fit(fitted)
    nodes = list(zip(return_probabilities_of_batch(graph, 8), graph.attributes, strict=True))
    expected = mean_embedding_product(
        nodes, nodes, lambda x, y: laplacian(x[0], y[0], 1.0) * laplacian(x[1], y[1], gamma)
    )
    norms = kernel.engine_.compare(NodeFeatures(graph, kernel.walks_)).squared_norms()
    assert abs(norms[0] - expected) <= max(tol, 1e-12)
