"""New graphs against fitted ones: within the promise, and each as if it were alone."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import (
    GraphBatch,
    Laplacian,
    PolynomialGraphKernel,
    RetGKClassifier,
    RetGKKernel,
    make_graph_classification,
    mean_embedding_gram,
    most_similar,
    squared_mmd,
)
from retgk.kernels import exact as fitted_graphs
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import ExactComparison, ExactEngine, FittedGraphs
from retgk.kernels.exact_points import FLOAT64_ERROR, NodePoints
from retgk.learning.svm import fit_products
from retgk.walks.probabilities import Walks
from tests.core_levels import LEVELS, run_on_level
from tests.kernel_graphs import KINDS, graphs_of_kind
from tests.test_weighted_gram import KERNELS, TOLERANCES, naive_gram, random_points
from tests.walk_graphs import complete, path, star


def placed(seed, widths, kernels, tol, n_labels, **changes):
    """Fitted graphs, and new ones in their frame."""
    fitted_nodes = random_points(seed, widths, n_labels=n_labels)
    new_nodes = changed(random_points(seed + 1, widths, n_graphs=3, n_labels=n_labels), **changes)
    fitted = FittedGraphs.of(fitted_nodes, kernels, tol)
    return fitted_nodes, new_nodes, fitted, ExactComparison.of(new_nodes, fitted, tol, None)


def changed(nodes, spread, shift):
    """The nodes further apart, and further away."""
    blocks = tuple(spread * block + shift for block in nodes.blocks)
    return NodePoints(blocks, nodes.node_ptr, nodes.labels)


@settings(max_examples=80, deadline=None)
@given(
    kernels=st.sampled_from(KERNELS),
    width=st.integers(1, 11),
    n_labels=st.sampled_from([0, 1, 3]),
    seed=st.integers(0, 2**32 - 2),
    tol=st.sampled_from(TOLERANCES),
    spread=st.sampled_from([0.0, 1e-3, 1.0, 30.0]),
    shift=st.sampled_from([0.0, 1e-5, 0.1, 1e4]),
)
def test_error_is_within_the_promise(kernels, width, n_labels, seed, tol, spread, shift):
    widths = [width] * len(kernels)
    own = {"spread": spread, "shift": shift}
    x, y, _, graphs = placed(seed, widths, kernels, tol, n_labels, **own)
    expected = naive_gram(y, x, kernels)
    size = max(1.0, np.abs(expected).max())  # polynomials are not bounded by one
    error = graphs.products() - expected
    assert np.abs(error).max() <= max(tol, FLOAT64_ERROR) * size
    expected = np.diag(naive_gram(y, y, kernels))
    size = max(1.0, np.abs(expected).max())
    error = graphs.squared_norms() - expected
    assert np.abs(error).max() <= max(tol, FLOAT64_ERROR) * size


@settings(max_examples=30, deadline=None)
@given(
    kernels=st.sampled_from(KERNELS),
    seed=st.integers(0, 2**32 - 2),
    tol=st.sampled_from(TOLERANCES),
    chosen=st.lists(st.integers(0, 2), min_size=1, max_size=4),
)
def test_a_graph_is_the_same_wherever_it_stands(kernels, seed, tol, chosen):
    own = {"spread": 1.0, "shift": 0.0}
    _, y, fitted, graphs = placed(seed, [9] * len(kernels), kernels, tol, 2, **own)
    some = ExactComparison.of(y.of_graphs(np.array(chosen)), fitted, tol, 1)
    np.testing.assert_array_equal(some.products(), graphs.products()[chosen])
    np.testing.assert_array_equal(some.squared_norms(), graphs.squared_norms()[chosen])


@pytest.mark.parametrize("tol", [0.0, 1e-4])
def test_graphs_outside_of_the_fitted_space_are_far(tol):
    own = {"spread": 1.0, "shift": 0.0}
    fitted_nodes, _, fitted, near = placed(0, [40], KERNELS[0], tol, 0, **own)
    assert tol == 0 or fitted.frame.factors[0].rank < 40
    again = ExactComparison.of(fitted_nodes, fitted, tol, None)
    assert not again.is_far.any()
    away = ExactComparison.of(changed(near.nodes, 1.0, 5.0), fitted, tol, None)
    assert away.is_far.all() == (tol > 0)


@pytest.mark.parametrize("tol", [0.0, 1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("is_far", [False, True])
def test_norms_of_large_graphs(monkeypatch, tol, is_far):
    own = {"spread": 1.0, "shift": 3.0 if is_far else 0.0}
    _, _, _, graphs = placed(3, [12, 4], KERNELS[2], tol, 2, **own)
    looped = graphs.squared_norms()
    monkeypatch.setattr(fitted_graphs, "MAX_LOOPED_NODES", 0)
    tiled = graphs.squared_norms()
    assert np.abs(tiled - looped).max() <= 2 * max(tol, FLOAT64_ERROR)


def mixed_graphs():
    """Graphs like the fitted ones, and unlike them."""
    odd = [complete(9), star(14), path(1), path(40), complete(30)]
    return GraphBatch.concatenate([graphs_of_kind("structure", 20)[12:], *odd])


@pytest.mark.parametrize("tol", [0, 1e-6, 1e-4, 1e-2])
def test_transform_of_one_graph_equals_that_among_others(tol):
    kernel = RetGKKernel(tol=tol, random_state=0).fit(graphs_of_kind("structure", 12))
    graphs = mixed_graphs()
    among = kernel.transform(graphs), kernel.distances(graphs), kernel.diagonal(graphs)
    for g in range(len(graphs)):
        one = graphs[g : g + 1]
        alone = kernel.transform(one), kernel.distances(one), kernel.diagonal(one)
        for found, expected in zip(alone, among, strict=True):
            np.testing.assert_array_equal(found, expected[g : g + 1])


def test_predictions_of_one_graph_equal_those_among_others():
    data = make_graph_classification(n_graphs=60, random_state=0)
    model = RetGKClassifier(n_steps=20, C=10, p=1, scale=1, random_state=0)
    model.fit(data.graphs[:40], data.targets[:40])
    new = data.graphs[40:]
    among = model.decision_function(new)
    alone = [model.decision_function(new[g : g + 1])[0] for g in range(len(new))]
    np.testing.assert_array_equal(alone, among)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tol", [0, 1e-6, 1e-5, 1e-4])
def test_distance_of_a_graph_to_its_copy(kind, tol):
    graphs = graphs_of_kind(kind, 30)
    kernel = RetGKKernel(tol=tol, random_state=0).fit(graphs)
    found = np.diag(kernel.distances(graphs))
    assert found.max() <= (1e-3 if tol >= 1e-5 else 1e-6)
    values = kernel.transform(graphs)
    whole = kernel.graph_kernel_(
        kernel.inner_products_, kernel.squared_norms_, kernel.squared_norms_
    )
    assert np.abs(values - whole).max() < (2e-3 if tol >= 1e-5 else 1e-5)


def test_fitted_points_are_not_changed_by_transform():
    kernel = RetGKKernel(random_state=0).fit(graphs_of_kind("both", 12))
    before = pickle.dumps(kernel)
    kernel.transform(graphs_of_kind("both", 20))
    assert pickle.dumps(kernel) == before
    again = pickle.loads(before)
    new = graphs_of_kind("both", 20)
    np.testing.assert_array_equal(again.transform(new), kernel.transform(new))


def test_landmarks_are_symmetric_to_the_bit():
    graphs, columns = graphs_of_kind("both", 30), np.array([3, 7, 8, 20])
    engine = ExactEngine(tol=1e-4, random_state=0)
    found = fit_products(engine, NodeFeatures(graphs, Walks(8)), columns)
    square = found.products[columns]
    np.testing.assert_array_equal(square, square.T)
    np.testing.assert_array_equal(np.diag(square), found.norms[columns])
    exact = RetGKKernel(
        8,
        structure_kernel=engine.kernels[0],
        attribute_kernel=engine.kernels[1],
        tol=0,
    ).fit(graphs)
    assert np.abs(found.products - exact.inner_products_[:, columns]).max() <= 1e-4
    assert np.abs(found.norms - exact.squared_norms_).max() <= 1e-4


def test_most_similar_graph_is_its_copy():
    graphs = graphs_of_kind("both", 20)
    found = most_similar(graphs[7], graphs)
    assert found.indices[0] == 7
    assert found.similarities[0] == pytest.approx(1, abs=1e-6)
    alone = most_similar(graphs[7], graphs[[3]])
    assert (
        alone.similarities[0]
        == most_similar(graphs[7], graphs, k=20).similarities[
            most_similar(graphs[7], graphs, k=20).indices == 3
        ]
    )


def test_functions_of_two_sides():
    graphs = graphs_of_kind("labels", 20)
    options = {"structure_kernel": Laplacian(2.0), "tol": 1e-5}
    whole = RetGKKernel(graph_kernel=PolynomialGraphKernel(), **options).fit(graphs)
    products = mean_embedding_gram(graphs[:5], graphs[5:], **options)
    assert np.abs(products - whole.inner_products_[:5, 5:]).max() <= 2e-5
    squared = squared_mmd(graphs[:5], graphs, **options)
    assert np.abs(np.diag(squared)).max() <= 1e-7


def test_no_new_graphs():
    kernel = RetGKKernel(random_state=0).fit(graphs_of_kind("both", 12))
    assert kernel.transform(graphs_of_kind("both", 12)[:0]).shape == (0, 12)


@pytest.mark.parametrize("level", LEVELS)
def test_on_every_level_of_instructions(level):
    program = (
        "import numpy as np; from tests.test_new_graphs import *\n"
        "for kernels in KERNELS[:4] + KERNELS[-1:]:\n"
        "    for tol, shift in ((0.0, 0.0), (1e-5, 0.0), (1e-5, 3.0)):\n"
        "        own = dict(spread=1.0, shift=shift)\n"
        "        x, y, fitted, graphs = placed(3, [4] * len(kernels), kernels, tol, 2, **own)\n"
        "        expected = naive_gram(y, x, kernels)\n"
        "        error = graphs.products() - expected\n"
        "        size = max(1.0, np.abs(expected).max())\n"
        "        assert np.abs(error).max() <= max(tol, FLOAT64_ERROR) * size\n"
    )
    run_on_level(level, program)
