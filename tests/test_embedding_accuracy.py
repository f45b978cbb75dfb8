"""Fourier features as an approximation: unbiased, and better with more of them."""

import numpy as np
import pytest
from scipy import stats

from retgk import _core
from retgk.errors import InvalidInputError
from retgk.estimators.embedding import RetGKEmbedding
from retgk.kernels.embedded_fourier import draw_fourier_map
from retgk.kernels.node import Gaussian, Laplacian, Polynomial
from tests import naive
from tests.core_levels import LEVELS, run_on_level
from tests.embedding_graphs import example_batch, nodes_of

DRAWS = ["plain", "orthogonal", "quasi-random"]
KERNELS = {"gaussian": (Gaussian, naive.gaussian), "laplacian": (Laplacian, naive.laplacian)}
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
            structure_kernel=kernel(gamma=gammas[0]),
            attribute_kernel=kernel(gamma=gammas[1]) if batch.n_attributes else None,
            random_state=seed,
            n_jobs=1,
            **options,
        ).fit_transform(batch)
        found.append(vectors @ vectors.T)
    return np.array(found)


@pytest.mark.parametrize("frequencies", DRAWS)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("feature_map", ["tensor", "joint"])
@pytest.mark.parametrize(("labels", "attributes"), [(False, False), (True, True)])
def test_unbiased(frequencies, name, feature_map, labels, attributes):
    """The mean over seeds lies within four standard errors of the exact value."""
    batch = example_batch(labels, attributes)
    gammas = (3.0, 0.4)
    exact = exact_products(batch, name, 8, gammas)
    options = {"n_steps": 8, "n_components": 16, "frequencies": frequencies}
    found = estimated_products(batch, name, gammas, feature_map=feature_map, **options)
    standard_error = found.std(axis=0, ddof=1) / np.sqrt(N_SEEDS)
    assert (standard_error > 0).sum() > 0
    assert (np.abs(found.mean(axis=0) - exact) <= 4 * standard_error + 1e-12).all()


@pytest.mark.parametrize("name", KERNELS)
def test_error_falls_with_the_root_of_the_width(name):
    batch = example_batch()
    gammas = (3.0, 0.4)
    exact = exact_products(batch, name, 8, gammas)

    def error(n_components, frequencies):
        options = {"n_steps": 8, "n_components": n_components, "frequencies": frequencies}
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


def test_bad_draw():
    with pytest.raises(InvalidInputError, match=r"frequencies must be one of .*'plain'.*, got 'so"):
        draw_fourier_map([(Gaussian(gamma=1.0), 3)], 7, "sobol")


def test_polynomial_has_no_frequencies():
    with pytest.raises(InvalidInputError, match=r"structure_kernel must be .*Laplacian"):
        RetGKEmbedding(structure_kernel=Polynomial()).fit(example_batch())


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


@pytest.mark.parametrize("level", LEVELS)
def test_cosine_on_every_level_of_instructions(level):
    program = (
        "from tests.test_embedding_accuracy import *\n"
        "test_cosine_is_as_accurate_as_stated(np.float64, 6e-16)\n"
        "test_cosine_is_as_accurate_as_stated(np.float32, 3e-7)\n"
    )
    run_on_level(level, program)
