"""RetGKEmbedding against numpy.kron, and what its vectors must not depend on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import GraphBatch
from retgk.estimators.embedding import RetGKEmbedding
from retgk.kernels.node import Gaussian, Laplacian
from tests import naive
from tests.core_levels import LEVELS, run_on_level
from tests.embedding_graphs import decorated_batches, example_batch, large_batch, nodes_of
from tests.walk_graphs import path, star

TOLERANCE = {np.float64: 1e-12, np.float32: 3e-5}
STEPS = 6
DRAWS = ["plain", "orthogonal", "quasi-random"]


def embedding_of(**options):
    defaults = {"n_steps": STEPS, "n_components": 5, "random_state": 0}
    return RetGKEmbedding(**(defaults | options))


def naive_vectors(fitted, batch):
    """The same vectors by numpy.kron, from the fitted frequencies."""
    n_labels = 1 if fitted.label_names_ is None else len(fitted.label_names_)
    codes = np.zeros(batch.n_nodes, int)
    if batch.has_labels:
        names = [batch.label_names[code] for code in batch.labels]
        codes = np.array([fitted.label_names_.index(name) for name in names])
    maps = [(fourier.frequencies, fourier.phases) for fourier in fitted.maps_]
    vectors = []
    for p, label, a in nodes_of(batch, fitted.n_steps, codes):
        if len(maps) == 1 and fitted.n_attributes_:
            p = np.concatenate([p, a], axis=1)  # noqa: PLW2901
        vectors.append(naive.tensor_embedding((p, label, a), n_labels, maps))
    return np.array(vectors)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("feature_map", ["tensor", "joint"])
@given(batch=decorated_batches(), draw=st.sampled_from(DRAWS), width=st.sampled_from([1, 5, 17]))
@settings(max_examples=40, deadline=None)
def test_equals_kron(dtype, feature_map, batch, draw, width):
    fitted = embedding_of(
        feature_map=feature_map,
        n_components=width,
        frequencies=draw,
        structure_kernel=Gaussian(gamma=20.0),
        attribute_kernel=Gaussian(gamma=0.5) if batch.n_attributes else None,
        dtype=dtype,
    ).fit(batch)
    vectors = fitted.transform(batch)
    assert vectors.dtype == dtype
    assert vectors.shape == (len(batch), fitted.n_features_out_)
    assert np.abs(vectors - naive_vectors(fitted, batch)).max() <= TOLERANCE[dtype]


@pytest.mark.parametrize("feature_map", ["tensor", "joint"])
@pytest.mark.parametrize("kernel", [Gaussian, Laplacian])
def test_equals_kron_on_many_nodes(feature_map, kernel):
    """More nodes than a block holds, and as many return probabilities as are usual."""
    batch = large_batch(20)
    fitted = embedding_of(
        n_steps=50,
        feature_map=feature_map,
        n_components=13,
        structure_kernel=kernel(gamma=5.0),
        attribute_kernel=kernel(gamma=0.3),
    ).fit(batch)
    error = np.abs(fitted.transform(batch) - naive_vectors(fitted, batch)).max()
    steepest = max(np.abs(fourier.frequencies).max() for fourier in fitted.maps_)
    assert error <= 1e-12 * max(1.0, steepest / 100)  # an angle of x is known to 1e-16 x only


@pytest.mark.parametrize("feature_map", ["tensor", "joint"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", ["exact", "monte-carlo"])
def test_same_bits_for_any_batch_size_and_threads(feature_map, dtype, method):
    batch = large_batch(70)
    options = {"feature_map": feature_map, "dtype": dtype, "method": method, "n_components": 20}
    options |= {"attribute_kernel": Gaussian(gamma=0.5), "n_steps": 20}
    expected = embedding_of(n_jobs=1, **options).fit(batch).transform(batch)
    for n_jobs, batch_size in ((1, 1), (1, 7), (2, None), (2, 7), (3, 64)):
        fitted = embedding_of(n_jobs=n_jobs, batch_size=batch_size, **options).fit(batch)
        assert np.array_equal(fitted.transform(batch), expected)
    order = np.random.default_rng(0).permutation(len(batch))
    assert np.array_equal(fitted.transform(batch[order]), expected[order])
    assert np.array_equal(np.concatenate(list(fitted.transform(iter(batch)))), expected)


@given(decorated_batches(), st.data())
@settings(max_examples=30, deadline=None)
def test_permuting_nodes_changes_nothing(batch, data):
    graph = batch[0]
    order = np.array(data.draw(st.permutations(range(graph.n_nodes))))
    matrix = naive.dense_adjacency(graph, 0)[np.ix_(order, order)]
    rows, columns = np.nonzero(matrix)
    names = [graph.label_names[code] for code in graph.labels[order]] if graph.has_labels else None
    permuted = GraphBatch.from_edges(
        graph.n_nodes,
        np.stack([rows, columns], axis=1),
        matrix[rows, columns],
        labels=names,
        attributes=graph.attributes[order],
    )
    kernel = Gaussian(gamma=0.5) if batch.n_attributes else None
    fitted = embedding_of(attribute_kernel=kernel).fit(graph)
    assert np.abs(fitted.transform(permuted) - fitted.transform(graph)).max() <= 1e-12


def test_disjoint_union_is_the_weighted_mean():
    first, second = path(4), star(6)
    both = np.zeros((11, 11))
    both[:4, :4], both[4:, 4:] = naive.dense_adjacency(first, 0), naive.dense_adjacency(second, 0)
    fitted = embedding_of().fit(first)
    parts = fitted.transform(GraphBatch.concatenate([first, second]))
    assert np.abs(fitted.transform(both) - (4 * parts[0] + 7 * parts[1]) / 11).max() <= 1e-12


def test_monte_carlo_is_reproducible_and_close_to_exact():
    batch = example_batch(attributes=False)
    options = {"method": "monte-carlo", "n_walks": 20_000}
    first = embedding_of(**options).fit_transform(batch)
    assert np.array_equal(first, embedding_of(**options).fit_transform(batch))
    other = embedding_of(random_state=1, **options).fit(batch)
    assert np.array_equal(other.transform(batch), other.transform(batch))
    exact = embedding_of().fit_transform(batch)
    assert 0 < np.abs(first - exact).max() < 0.1


def test_median_bandwidths_come_from_the_sample():
    batch = large_batch(50)
    fitted = embedding_of(
        structure_kernel=Laplacian(gamma="median"), attribute_kernel=Gaussian(gamma="median")
    ).fit(batch)
    probabilities = np.concatenate([nodes[0] for nodes in nodes_of(batch, STEPS)])
    attributes = batch.attributes
    for kernel, points, power in (
        (fitted.structure_kernel_, probabilities, 1),
        (fitted.attribute_kernel_, attributes, 2),
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


@pytest.mark.parametrize("level", LEVELS)
def test_on_every_level_of_instructions(level):
    program = (
        "import numpy as np\n"
        "from tests.test_embedding import *\n"
        "batch = example_batch()\n"
        "for feature_map in ('tensor', 'joint'):\n"
        "    fitted = embedding_of(feature_map=feature_map).fit(batch)\n"
        "    found = fitted.transform(batch)\n"
        "    assert abs(found - naive_vectors(fitted, batch)).max() < 1e-12\n"
    )
    run_on_level(level, program)
