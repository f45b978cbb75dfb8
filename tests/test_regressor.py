"""GraphRegressor: values, choices and messages."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from retgk import GraphDataset, GraphRegressor, RetGK, Walks
from retgk.datasets import make_graph_classification
from tests.errors import fails
from tests.example_graphs import of_retgk


@pytest.fixture(scope="module")
def graphs():
    return make_graph_classification(n_graphs=120, n_labels=3, n_nodes=(5, 15), rng=0).graphs


@pytest.fixture(scope="module")
def values(graphs):
    """Edges per node: something that walks can tell."""
    return graphs.edge_counts / graphs.node_counts


def quick(**options):
    return of_retgk(
        GraphRegressor, **{"n_steps": 10, "cv": 3, "depth": 0, "random_state": 0} | options
    )


def test_same_as_kernel_ridge_regression(graphs, values):
    train, test = graphs[:80], graphs[80:]
    model = quick(C=10, p=1, scale=1, tol=0).fit(train, values[:80])
    kernel = RetGK(walks=Walks(n_steps=10), tol=0, random_state=0)
    constant = 1e7  # an intercept is the limit of a constant feature without penalty
    reference = KernelRidge(alpha=1 / 20, kernel="precomputed")
    reference.fit(kernel.fit_transform(train) + constant, values[:80])
    expected = reference.predict(kernel.transform(test) + constant)
    np.testing.assert_allclose(model.predict(test), expected, atol=1e-4)


@pytest.mark.parametrize("n_components", [None, 1024])
def test_learns(graphs, values, n_components):
    model = quick(n_components=n_components).fit(graphs[:80], values[:80])
    assert model.score(graphs[80:], values[80:]) > 0.7
    assert model.best_score_ > 0.7
    assert model.cv_results_["params"][model.best_index_] == model.best_params_


@pytest.mark.parametrize("n_components", [None, 1024])
def test_landmarks(graphs, values, n_components):
    model = quick(n_components=n_components, n_landmarks=50).fit(graphs[:80], values[:80])
    assert len(model.support_) == model.dual_coef_.shape[1] == 50
    assert (np.diff(model.support_) > 0).all()
    assert model.score(graphs[80:], values[80:]) > 0.6


def test_rows_of_targets(graphs, values):
    both = np.column_stack([values, graphs.node_counts])
    model = quick().fit(graphs[:80], both[:80])
    assert model.predict(graphs[80:]).shape == (40, 2)
    dataset = GraphDataset(graphs, both, "both")
    assert quick().fit(dataset).score(dataset) > 0.8


def test_unit_of_the_targets_does_not_matter(graphs, values):
    plain = quick().fit(graphs[:80], values[:80])
    scaled = quick().fit(graphs[:80], 1e6 * values[:80] - 3e6)
    assert scaled.best_params_ == plain.best_params_
    np.testing.assert_allclose(
        (scaled.predict(graphs) + 3e6) / 1e6, plain.predict(graphs), atol=1e-8
    )


def test_few_graphs(graphs, values):
    model = quick().fit(graphs[:3], values[:3])
    assert model.n_splits_ == 0
    assert np.isnan(model.best_score_)
    assert model.best_params_["C"] == 0.1
    assert np.isfinite(model.predict(graphs)).all()


@pytest.mark.parametrize(
    ("y", "options", "about"),
    [
        (["low", "high"] * 40, {}, ("numbers", "GraphClassifier")),
        ([1.0, np.inf] * 40, {}, "graph 1"),
        ([1j] * 80, {}, "real numbers"),
        ([1.0] * 3, {}, ("80 graphs", "3 targets")),
        ([1.0] * 80, {"n_landmarks": 0}, ("n_landmarks", "0")),
        ([1.0] * 80, {"n_landmarks": 1.5}, ("n_landmarks", "1.5")),
    ],
)
def test_bad_targets_and_landmarks(graphs, y, options, about):
    fails(lambda: quick(**options).fit(graphs[:80], y), about)
    fails(lambda: quick().fit(graphs[:1], [1.0]), "one graph")
