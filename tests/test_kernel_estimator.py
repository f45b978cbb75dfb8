"""RetGKKernel against the naive reference, and as an estimator of scikit-learn."""

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from retgk import (
    ExponentialGraphKernel,
    Gaussian,
    GraphBatch,
    Laplacian,
    Polynomial,
    PolynomialGraphKernel,
    RetGKEmbedding,
    RetGKKernel,
    make_graph_classification,
    mean_embedding_gram,
    return_probabilities,
    squared_mmd,
)
from retgk.kernels.exact_points import label_codes
from retgk.kernels.graph import squared_mmd_from_products
from tests import naive
from tests.kernel_graphs import KINDS, assert_close, graphs_of_kind, naive_nodes, naive_products


def test_names_of_columns():
    kernel = RetGKKernel(n_steps=4, random_state=0)
    with pytest.raises(NotFittedError):
        kernel.get_feature_names_out()
    kernel.fit(graphs_of_kind("both", 3))
    assert kernel.get_feature_names_out().tolist() == ["graph0", "graph1", "graph2"]


def test_data_frames():
    pytest.importorskip("pandas")
    kernel = RetGKKernel(n_steps=4, random_state=0).set_output(transform="pandas")
    frame = kernel.fit_transform(graphs_of_kind("both", 3))
    assert frame.columns.tolist() == ["graph0", "graph1", "graph2"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tol", [0, 1e-6, 1e-3])
def test_inner_products_equal_naive(kind, tol):
    graphs = graphs_of_kind(kind)
    kernel = RetGKKernel(8, structure_kernel=Laplacian(3.0), tol=tol).fit(graphs)
    gamma_c = 1 / np.sqrt(graphs.n_attributes or 1)
    assert_close(kernel.inner_products_, naive_products(graphs, 3.0, gamma_c), max(tol, 1e-12))


def test_graph_kernels_equal_naive():
    graphs = graphs_of_kind("labels")
    products = naive_products(graphs, 3.0, 1.0)
    squared = np.maximum(naive.squared_mmd(products), 0)
    median = np.median(np.sqrt(squared))
    cases = {
        PolynomialGraphKernel(c=0.5, d=3): (0.5 + products) ** 3,
        ExponentialGraphKernel(gamma=2.0, p=1): np.exp(-2.0 * np.sqrt(squared)),
        ExponentialGraphKernel(p=2): np.exp(-squared / median**2),
        ExponentialGraphKernel(p=0.7, scale=8): np.exp(-((np.sqrt(squared) / 8 / median) ** 0.7)),
    }
    for graph_kernel, expected in cases.items():
        kernel = RetGKKernel(8, structure_kernel=Laplacian(3.0), graph_kernel=graph_kernel, tol=0)
        assert_close(kernel.fit_transform(graphs), expected, 1e-6)


def test_attribute_blocks_multiply():
    graphs = graphs_of_kind("attributes")
    graphs = graphs.with_attributes(np.hstack([graphs.attributes, np.sin(graphs.attributes)]))
    width = graphs.n_attributes
    blocks = {
        "first": ([0], Gaussian(0.3)),
        "rest": (slice(1, None), Polynomial(degree=2, coef0=1.0, gamma=0.5)),
    }
    kernel = RetGKKernel(8, structure_kernel=Laplacian(3.0), attribute_kernel=blocks, tol=0)

    def node_kernel(a, b):
        first = np.exp(-0.3 * (a[2][0] - b[2][0]) ** 2)
        rest = (0.5 * a[2][1:] @ b[2][1:] + 1) ** 2
        return naive.laplacian(a[0], b[0], 3.0) * first * rest

    assert width > 1
    expected = naive.mean_embedding_gram(naive_nodes(graphs, 8), node_kernel)
    found = kernel.fit(graphs).inner_products_
    assert_close(found / np.abs(expected).max(), expected / np.abs(expected).max(), 1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tol", [0, 1e-5])
def test_transform_gives_the_rows_of_fit_transform(kind, tol):
    graphs = graphs_of_kind(kind)
    kernel = RetGKKernel(8, graph_kernel=PolynomialGraphKernel(), tol=tol, random_state=0)
    whole = kernel.fit_transform(graphs)
    assert_close(kernel.transform(graphs), whole, 2 * tol + 1e-13)
    assert_close(kernel.transform(graphs[[4, 1]]), whole[[4, 1]], 2 * tol + 1e-13)


def test_permuting_graphs_permutes_the_matrix():
    graphs, order = graphs_of_kind("both"), np.random.default_rng(0).permutation(9)
    kernel = RetGKKernel(8, structure_kernel=Laplacian(3.0), tol=0)
    assert_close(
        kernel.fit_transform(graphs[order]), kernel.fit_transform(graphs)[order][:, order], 1e-7
    )


@pytest.mark.parametrize("tol", [0, 1e-5])
def test_same_bits_for_any_number_of_threads(tol):
    graphs = graphs_of_kind("both", 60)
    one, two = (RetGKKernel(tol=tol, n_jobs=n, random_state=0).fit(graphs) for n in (1, 2))
    assert np.array_equal(one.inner_products_, two.inner_products_)
    assert np.array_equal(one.transform(graphs[:7]), two.transform(graphs[:7]))


@pytest.mark.parametrize("kind", KINDS)
def test_positive_semidefinite(kind):
    matrix = RetGKKernel(random_state=0).fit_transform(graphs_of_kind(kind, 40))
    assert np.array_equal(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix).min() > -1e-6


def test_bandwidths_come_from_fitted_graphs_alone():
    graphs = graphs_of_kind("both", 20)
    kernel = RetGKKernel(random_state=0).fit(graphs[:10])
    before = (kernel.structure_kernel_, kernel.attribute_kernels_, kernel.graph_kernel_)
    kernel.transform(graphs[10:])
    assert before == (kernel.structure_kernel_, kernel.attribute_kernels_, kernel.graph_kernel_)
    again = RetGKKernel(random_state=0).fit(graphs[:10])
    assert np.array_equal(kernel.transform(graphs[10:]), again.transform(graphs[10:]))


def test_unseen_labels_match_nothing_that_was_fitted():
    fitted = graphs_of_kind("labels")
    strange = fitted.with_labels(["strange"] * fitted.n_nodes)
    kernel = RetGKKernel(graph_kernel=PolynomialGraphKernel(), random_state=0, tol=0).fit(fitted)
    with pytest.warns(UserWarning, match=r"known: they have 'strange' \(str\), the fitted ones 0"):
        assert not kernel.transform(strange).any()
    alike = RetGKKernel(
        graph_kernel=PolynomialGraphKernel(),
        structure_kernel=kernel.structure_kernel_,
        tol=0,
    ).fit(strange)
    assert_close(kernel.diagonal(strange), alike.diagonal(), 1e-13)


def test_distances_and_diagonal():
    graphs = graphs_of_kind("attributes")
    kernel = RetGKKernel(tol=0, random_state=0)
    matrix = kernel.fit_transform(graphs)
    assert_close(kernel.diagonal(), np.diag(matrix), 0)
    assert_close(kernel.diagonal(graphs), np.diag(matrix), 1e-13)
    assert not np.diag(kernel.distances()).any()
    assert_close(np.exp(-kernel.graph_kernel_.gamma * kernel.distances()), matrix, 1e-7)
    assert_close(kernel.distances(graphs), kernel.distances(), 1e-6)


def test_functions_agree_with_the_estimator():
    graphs = graphs_of_kind("both")
    kernel = RetGKKernel(tol=0, random_state=0).fit(graphs)
    options = {"tol": 0, "random_state": 0}
    assert_close(mean_embedding_gram(graphs, **options), kernel.inner_products_, 0)
    assert_close(
        mean_embedding_gram(graphs[:3], graphs, **options), kernel.inner_products_[:3], 1e-13
    )
    assert_close(squared_mmd(graphs, **options), kernel.distances() ** 2, 1e-13)
    assert_close(squared_mmd(graphs[:3], graphs, **options), kernel.distances()[:3] ** 2, 1e-13)


def test_monte_carlo_kernel_is_close_and_reproducible():
    graphs = graphs_of_kind("labels")
    options = {"structure_kernel": Laplacian(3.0), "tol": 0, "random_state": 0}
    exact = RetGKKernel(**options).fit(graphs).inner_products_
    first, again = (
        RetGKKernel(method="monte-carlo", n_walks=500, **options).fit(graphs).inner_products_
        for _ in range(2)
    )
    assert np.array_equal(first, again)
    assert 0 < np.abs(first - exact).max() < 0.05


def test_in_scikit_learn():
    data = make_graph_classification(n_graphs=60, n_classes=2, random_state=0)
    pipeline = make_pipeline(RetGKKernel(random_state=0), SVC(C=10, kernel="precomputed"))
    folds = StratifiedKFold(3)
    assert cross_val_score(pipeline, data.graphs, data.targets, cv=folds).mean() > 0.8
    search = GridSearchCV(pipeline, {"retgkkernel__n_steps": [2, 20]}, cv=folds)
    search.fit(data.graphs, data.targets)
    assert search.best_params_["retgkkernel__n_steps"] in (2, 20)
    kernel = RetGKKernel(7, structure_kernel=Gaussian(2.0), tol=1e-3)
    assert clone(kernel).get_params() == kernel.get_params()
    assert "n_steps=7" in repr(kernel)


def test_columns_of_a_block_may_be_a_tuple():
    graphs = graphs_of_kind("attributes")
    found, expected = (
        RetGKKernel(attribute_kernel={"a": (columns, Laplacian(1.0))}, random_state=0)
        .fit(graphs)
        .inner_products_
        for columns in ((0, 1), [0, 1])
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("random_state", [None, 3, np.random.default_rng(3)])
def test_monte_carlo_walks_stay_the_same_after_fit(random_state):
    graphs = graphs_of_kind("labels", 12)
    kernel = RetGKKernel(
        method="monte-carlo",
        n_walks=20,
        structure_kernel=Laplacian(3.0),
        random_state=random_state,
        tol=0,
    ).fit(graphs[:8])
    np.testing.assert_array_equal(kernel.transform(graphs), kernel.transform(graphs))
    assert_close(kernel.distances(graphs[:8]), kernel.distances(), 1e-6)
    other = RetGKKernel(method="monte-carlo", n_walks=20, random_state=4).fit(graphs[:8])
    assert other.walk_seed_ == 4


def test_median_of_the_graph_kernel_is_that_of_all_distances():
    kernel = RetGKKernel(random_state=0).fit(graphs_of_kind("both", 30))
    squared = squared_mmd_from_products(
        kernel.inner_products_, kernel.squared_norms_, kernel.squared_norms_
    )
    np.fill_diagonal(squared, 0.0)
    assert kernel.graph_kernel_ == ExponentialGraphKernel().fitted(np.median(squared))


def test_no_graph_is_dropped():
    """A graph of one node among others keeps its row."""
    graphs = GraphBatch.concatenate([graphs_of_kind("structure", 3), GraphBatch.from_edges(1, [])])
    kernel = RetGKKernel(tol=0, structure_kernel=Laplacian(1.0)).fit(graphs)
    assert kernel.inner_products_.shape == (4, 4)
    assert kernel.inner_products_[3, 3] == pytest.approx(1)
    assert return_probabilities(graphs).shape == (graphs.n_nodes, 50)


class CountedLabel:
    """A label that counts how often it is hashed."""

    n_hashes = 0

    def __hash__(self):
        CountedLabel.n_hashes += 1
        return id(self)


def test_many_labels_are_looked_up_once_each():
    graphs = graphs_of_kind("structure", 30)
    graphs = graphs.with_labels([CountedLabel() for _ in range(graphs.n_nodes)])
    CountedLabel.n_hashes = 0
    np.testing.assert_array_equal(label_codes(graphs, graphs.label_names), graphs.labels)
    assert CountedLabel.n_hashes < 20 * graphs.n_nodes


@pytest.mark.parametrize("estimator", [RetGKKernel, RetGKEmbedding])
def test_symmetric_graphs_need_no_bandwidth_of_their_own(estimator):
    """Their nodes are alike but for rounding, which must not become the unit of distances."""
    ladder = nx.circular_ladder_graph(6)
    names = np.random.default_rng(0).permutation(12).tolist()
    renamed = nx.relabel_nodes(ladder, dict(zip(ladder, names, strict=True)))
    values = estimator(random_state=0).fit_transform([ladder, renamed, nx.path_graph(3)])
    np.testing.assert_allclose(values[0], values[1], rtol=0, atol=1e-9)
    assert np.abs(values[0] - values[2]).max() > 1e-3
