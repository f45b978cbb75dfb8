"""RetGK against the naive reference, and as an estimator of scikit-learn."""

import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import GraphBatch, RetGK, distance, most_similar, similarity
from retgk.datasets import load_tudataset, make_graph_classification
from retgk.kernels import (
    ExponentialGraphKernel,
    Gaussian,
    Laplacian,
    Polynomial,
    PolynomialGraphKernel,
    RetGKEmbedding,
)
from retgk.kernels import exact as fitted_graphs
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import ExactComparison, ExactEngine, FittedGraphs
from retgk.kernels.exact_points import FLOAT64_ERROR, NodePoints, label_codes
from retgk.kernels.graph import squared_mmd_from_products
from retgk.learning.svm import fit_products
from retgk.search import distances
from retgk.walks.probabilities import Walks
from tests import naive
from tests.errors import fails
from tests.example_graphs import (
    KINDS,
    assert_close,
    complete,
    graphs_of_kind,
    naive_nodes,
    naive_products,
    path,
    quick,
    star,
)
from tests.programs import LEVELS, run_on_level
from tests.test_exact_kernel import KERNELS, TOLERANCES, naive_gram, random_points


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tol", [0, 1e-6, 1e-3])
def test_inner_products_equal_naive(kind, tol):
    graphs = graphs_of_kind(kind)
    kernel = RetGK(walks=Walks(8), structure=Laplacian(3.0), tol=tol).fit(graphs)
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
        kernel = RetGK(walks=Walks(8), structure=Laplacian(3.0), graph_kernel=graph_kernel, tol=0)
        assert_close(kernel.fit_transform(graphs), expected, 1e-6)


def test_attribute_blocks_multiply():
    graphs = graphs_of_kind("attributes")
    graphs = graphs.with_attributes(np.hstack([graphs.attributes, np.sin(graphs.attributes)]))
    width = graphs.n_attributes
    blocks = {
        "first": ([0], Gaussian(0.3)),
        "rest": (slice(1, None), Polynomial(degree=2, coef0=1.0, gamma=0.5)),
    }
    kernel = RetGK(walks=Walks(8), structure=Laplacian(3.0), attributes=blocks, tol=0)

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
    kernel = RetGK(walks=Walks(8), graph_kernel=PolynomialGraphKernel(), tol=tol, random_state=0)
    whole = kernel.fit_transform(graphs)
    assert_close(kernel.transform(graphs), whole, 2 * tol + 1e-13)
    assert_close(kernel.transform(graphs[[4, 1]]), whole[[4, 1]], 2 * tol + 1e-13)


@pytest.mark.parametrize("tol", [0, 1e-5])
def test_same_bits_for_any_number_of_threads(tol):
    graphs = graphs_of_kind("both", 60)
    one, two = (RetGK(tol=tol, n_jobs=n, random_state=0).fit(graphs) for n in (1, 2))
    assert np.array_equal(one.inner_products_, two.inner_products_)
    assert np.array_equal(one.transform(graphs[:7]), two.transform(graphs[:7]))


@pytest.mark.parametrize("kind", KINDS)
def test_positive_semidefinite(kind):
    matrix = RetGK(random_state=0).fit_transform(graphs_of_kind(kind, 40))
    assert np.array_equal(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix).min() > -1e-6


def test_bandwidths_come_from_fitted_graphs_alone():
    graphs = graphs_of_kind("both", 20)
    kernel = RetGK(random_state=0).fit(graphs[:10])
    before = (kernel.structure_, kernel.attributes_, kernel.graph_kernel_)
    kernel.transform(graphs[10:])
    assert before == (kernel.structure_, kernel.attributes_, kernel.graph_kernel_)
    again = RetGK(random_state=0).fit(graphs[:10])
    assert np.array_equal(kernel.transform(graphs[10:]), again.transform(graphs[10:]))


def test_unseen_labels_match_nothing_that_was_fitted():
    fitted = graphs_of_kind("labels")
    strange = fitted.with_labels(["strange"] * fitted.n_nodes)
    kernel = RetGK(graph_kernel=PolynomialGraphKernel(), random_state=0, tol=0).fit(fitted)
    with pytest.warns(UserWarning, match=r"known: they have 'strange' \(str\), the fitted ones 0"):
        assert not kernel.transform(strange).any()
    alike = RetGK(
        graph_kernel=PolynomialGraphKernel(),
        structure=kernel.structure_,
        tol=0,
    ).fit(strange)
    assert_close(kernel.diagonal(strange), alike.diagonal(), 1e-13)


def test_distances_and_diagonal():
    graphs = graphs_of_kind("attributes")
    kernel = RetGK(tol=0, random_state=0)
    matrix = kernel.fit_transform(graphs)
    assert_close(kernel.diagonal(), np.diag(matrix), 0)
    assert_close(kernel.diagonal(graphs), np.diag(matrix), 1e-13)
    assert not np.diag(kernel.distances()).any()
    assert_close(np.exp(-kernel.graph_kernel_.gamma * kernel.distances()), matrix, 1e-7)
    assert_close(kernel.distances(graphs), kernel.distances(), 1e-6)


def test_functions_agree_with_the_estimator():
    graphs = graphs_of_kind("both")
    kernel = RetGK(tol=0, random_state=0).fit(graphs)
    plain = RetGK(graph_kernel=PolynomialGraphKernel(), tol=0, random_state=0)
    assert_close(plain.fit_transform(graphs), kernel.inner_products_, 0)
    assert_close(plain.transform(graphs[:3]), kernel.inner_products_[:3], 1e-13)
    for own in (kernel, plain):  # distances are those of mean embeddings, whatever stands on them
        assert_close(own.distances(), kernel.distances(), 0)
    own = RetGK(tol=0, random_state=0)
    assert_close(distances(graphs, kernel=own), kernel.distances(), 1e-13)
    assert_close(distances(graphs[:3], graphs, own) ** 2, kernel.distances()[:3] ** 2, 1e-13)


def test_monte_carlo_kernel_is_close_and_reproducible():
    graphs = graphs_of_kind("labels")
    options = {"structure": Laplacian(3.0), "tol": 0, "random_state": 0}
    exact = RetGK(**options).fit(graphs).inner_products_
    first, again = (
        RetGK(walks=Walks(method="monte-carlo", n_walks=500), **options).fit(graphs).inner_products_
        for _ in range(2)
    )
    assert np.array_equal(first, again)
    assert 0 < np.abs(first - exact).max() < 0.05


def test_columns_of_a_block_may_be_a_tuple():
    graphs = graphs_of_kind("attributes")
    found, expected = (
        RetGK(attributes={"a": (columns, Laplacian(1.0))}, random_state=0).fit(graphs)
        for columns in ((0, 1), [0, 1])
    )
    np.testing.assert_array_equal(found.inner_products_, expected.inner_products_)


@pytest.mark.parametrize("random_state", [None, 3, np.random.default_rng(3)])
def test_monte_carlo_walks_stay_the_same_after_fit(random_state):
    graphs = graphs_of_kind("labels", 12)
    kernel = RetGK(
        walks=Walks(method="monte-carlo", n_walks=20),
        structure=Laplacian(3.0),
        random_state=random_state,
        tol=0,
    ).fit(graphs[:8])
    np.testing.assert_array_equal(kernel.transform(graphs), kernel.transform(graphs))
    assert_close(kernel.distances(graphs[:8]), kernel.distances(), 1e-6)
    other = RetGK(walks=Walks(method="monte-carlo", n_walks=20), random_state=4).fit(graphs[:8])
    assert other.walks_.seed == 4


def test_median_of_the_graph_kernel_is_that_of_all_distances():
    kernel = RetGK(random_state=0).fit(graphs_of_kind("both", 30))
    squared = squared_mmd_from_products(
        kernel.inner_products_, kernel.squared_norms_, kernel.squared_norms_
    )
    np.fill_diagonal(squared, 0.0)
    assert kernel.graph_kernel_ == ExponentialGraphKernel().fitted(np.median(squared))


@pytest.mark.parametrize("estimator", [RetGK, RetGKEmbedding])
def test_symmetric_graphs_need_no_bandwidth_of_their_own(estimator):
    """Their nodes are alike but for rounding, which must not become the unit of distances."""
    ladder = nx.circular_ladder_graph(6)
    names = np.random.default_rng(0).permutation(12).tolist()
    renamed = nx.relabel_nodes(ladder, dict(zip(ladder, names, strict=True)))
    values = estimator(random_state=0).fit_transform([ladder, renamed, nx.path_graph(3)])
    np.testing.assert_allclose(values[0], values[1], rtol=0, atol=1e-9)
    assert np.abs(values[0] - values[2]).max() > 1e-3


# The exact kernel against the naive reference on samples of real sets

# set, labels, attributes, largest graph of the sample, number of graphs
SAMPLES = [
    ("MUTAG", True, False, 30, 12),
    ("ENZYMES", True, False, 40, 8),
    ("ENZYMES", False, True, 40, 8),
    ("ENZYMES", True, True, 40, 8),
    ("SYNTHETICnew", False, True, 100, 3),
    ("BZR", True, True, 40, 8),
    ("IMDB-BINARY", False, False, 25, 12),
    ("DD", True, False, 120, 4),
    ("REDDIT-BINARY", False, False, 100, 5),
]


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(("name", "labels", "attributes", "largest", "n_graphs"), SAMPLES)
def test_exact_kernel_keeps_its_promise(name, labels, attributes, largest, n_graphs, data_folder):
    graphs = load_tudataset(name, data_home=data_folder, download=False).graphs
    small = np.flatnonzero(graphs.node_counts <= largest)
    graphs = graphs[np.random.default_rng(0).choice(small, n_graphs, replace=False)]
    graphs = graphs if labels else graphs.without_labels()
    graphs = graphs if attributes else graphs.without_attributes()
    gamma_c = 1 / np.sqrt(graphs.n_attributes or 1)
    truth = naive_products(graphs, 3.0, gamma_c, n_steps=50)
    for tol in (0, 1e-6, 1e-4, 1e-2):
        kernel = RetGK(structure=Laplacian(3.0), tol=tol)
        found = kernel.fit(graphs).inner_products_
        assert_close(found, truth, max(tol, 1e-12))
        assert np.linalg.eigvalsh(found).min() > -1e-9


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("tol", [1e-6, 1e-4, 1e-2])
def test_promise_for_graphs_of_another_sort(data_folder, tol):
    """Molecules are fitted; proteins, networks of actors and threads come later."""
    molecules = load_tudataset("MUTAG", data_home=data_folder, download=False).graphs[:60]
    kernel = RetGK(structure=Laplacian(3.0), graph_kernel=PolynomialGraphKernel(), tol=tol).fit(
        molecules.without_labels()
    )
    exact = RetGK(structure=Laplacian(3.0), graph_kernel=PolynomialGraphKernel(), tol=0).fit(
        molecules.without_labels()
    )
    for name in ("ENZYMES", "IMDB-BINARY", "DD", "REDDIT-BINARY"):
        graphs = load_tudataset(name, data_home=data_folder, download=False).graphs[:8]
        graphs = graphs.without_labels().without_attributes()
        assert_close(kernel.transform(graphs), exact.transform(graphs), tol)
        assert_close(kernel.diagonal(graphs), exact.diagonal(graphs), tol)
        one = kernel.transform(graphs[3:4])
        np.testing.assert_array_equal(one, kernel.transform(graphs)[3:4])


# New graphs against fitted ones: within the promise, and each as if it were alone


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
    kernel = RetGK(tol=tol, random_state=0).fit(graphs_of_kind("structure", 12))
    graphs = mixed_graphs()
    among = kernel.transform(graphs), kernel.distances(graphs), kernel.diagonal(graphs)
    for g in range(len(graphs)):
        one = graphs[g : g + 1]
        alone = kernel.transform(one), kernel.distances(one), kernel.diagonal(one)
        for found, expected in zip(alone, among, strict=True):
            np.testing.assert_array_equal(found, expected[g : g + 1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tol", [0, 1e-6, 1e-5, 1e-4])
def test_distance_of_a_graph_to_its_copy(kind, tol):
    graphs = graphs_of_kind(kind, 30)
    kernel = RetGK(tol=tol, random_state=0).fit(graphs)
    found = np.diag(kernel.distances(graphs))
    assert found.max() <= (1e-3 if tol >= 1e-5 else 1e-6)
    values = kernel.transform(graphs)
    whole = kernel.graph_kernel_(
        kernel.inner_products_, kernel.squared_norms_, kernel.squared_norms_
    )
    assert np.abs(values - whole).max() < (2e-3 if tol >= 1e-5 else 1e-5)


def test_fitted_points_are_not_changed_by_transform():
    kernel = RetGK(random_state=0).fit(graphs_of_kind("both", 12))
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
    exact = RetGK(
        walks=Walks(8), structure=engine.kernels[0], attributes=engine.kernels[1], tol=0
    ).fit(graphs)
    assert np.abs(found.products - exact.inner_products_[:, columns]).max() <= 1e-4
    assert np.abs(found.norms - exact.squared_norms_).max() <= 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_on_every_level_of_instructions(level):
    program = (
        "import numpy as np; from tests.test_kernel_estimator import *\n"
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


# Similarity and distance in one line


@pytest.fixture(scope="module")
def graphs():
    return make_graph_classification(n_graphs=12, n_labels=3, n_attributes=2, rng=0).graphs


def permuted(graph, seed):
    """The same graph with its nodes in another order."""
    order = np.random.default_rng(seed).permutation(graph.n_nodes)
    place = np.argsort(order)
    rows = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    names = [graph.label_names[code] for code in graph.labels] if graph.has_labels else None
    return GraphBatch.from_edges(
        graph.n_nodes,
        np.column_stack([place[rows], place[graph.indices]]),
        graph.weights,
        labels=None if names is None else [names[i] for i in order],
        attributes=graph.attributes[order],
    )


pairs = st.tuples(st.integers(0, 11), st.integers(0, 11), st.integers(0, 99))


@settings(max_examples=25, deadline=None)
@given(pair=pairs)
def test_laws(graphs, pair):
    i, j, seed = pair
    g, h = graphs[i], graphs[j]
    value, length = similarity(g, h), distance(g, h)
    assert 0 <= value <= 1
    assert 0 <= length <= np.sqrt(2) + 1e-12
    assert similarity(h, g) == pytest.approx(value, abs=1e-12)
    assert distance(h, g) == pytest.approx(length, abs=1e-7)
    assert similarity(g, permuted(g, seed)) == pytest.approx(1.0, abs=1e-12)
    assert distance(g, permuted(g, seed)) == pytest.approx(0.0, abs=1e-6)
    assert (value == pytest.approx(1.0, abs=1e-12)) == (i == j)


def test_formula():
    g, h = path(4), star(3)
    nodes = [naive.return_probabilities_of_batch(graph, 50) for graph in (g, h)]

    def product(x, y):
        return np.mean([[naive.laplacian(a, b, 5.0) for a in x] for b in y])

    gg, gh, hh = (product(nodes[i], nodes[j]) for i, j in ((0, 0), (0, 1), (1, 1)))
    assert similarity(g, h) == pytest.approx(gh / np.sqrt(gg * hh), abs=1e-12)
    assert distance(g, h) == pytest.approx(np.sqrt(gg + hh - 2 * gh), abs=1e-12)
    assert similarity(g, h, RetGK(walks=Walks(3))) != similarity(g, h)


def test_a_value_depends_on_its_two_graphs_alone(graphs):
    found = most_similar(graphs[0], graphs, k=12)
    again = most_similar(graphs[0], graphs[:5], k=12)
    lookup = dict(zip(found.indices, found.similarities, strict=True))
    for index, value in zip(*again, strict=True):
        assert value == pytest.approx(lookup[index], abs=1e-8)
        assert value == pytest.approx(similarity(graphs[0], graphs[int(index)]), abs=1e-8)


def test_most_similar(graphs):
    indices, similarities = most_similar(graphs[4], graphs, k=3)
    assert indices[0] == 4
    assert len(indices) == 3
    assert similarities[0] == pytest.approx(1.0)
    assert (np.diff(similarities) <= 0).all()
    twins = GraphBatch.concatenate([graphs[4], graphs[4], graphs[1], graphs[4]])
    assert most_similar(graphs[4], twins, k=2).indices.tolist() == [0, 1]
    assert len(most_similar(graphs[4], graphs, k=99).indices) == 12
    assert most_similar("CCO", ["CCCO", "OCC", "c1ccccc1"]).indices.tolist() == [1, 0, 2]


def test_distances(graphs):
    matrix = distances(graphs)
    assert (matrix.diagonal() == 0).all()
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_allclose(distances(graphs[:3], graphs), matrix[:3], atol=1e-4)
    assert matrix[2, 7] == pytest.approx(distance(graphs[2], graphs[7]), abs=1e-6)


@pytest.mark.parametrize(
    ("g", "h", "least", "most"),
    [
        (path(3).with_labels(["C"] * 3), path(3).with_labels(["N"] * 3), 0, 0),
        (path(3).with_labels(["C"] * 3), path(3).with_labels(["N", "C", "N"]), 1e-3, 0.5),
        (path(3).with_labels(["N"] * 3), path(3).with_labels(["N", "C", "N"]), 0.5, 0.999),
        # all nodes have the same return probabilities: a median distance would be zero
        (complete(3), complete(3), 1, 1),
        (complete(3), complete(4), 1e-3, 0.999),
    ],
)
def test_similarities(g, h, least, most):
    assert least <= similarity(g, h) <= most


def test_kinds_of_graphs_mix():
    nx = pytest.importorskip("networkx")
    cycle = nx.cycle_graph(5)
    matrix = nx.to_numpy_array(cycle)
    assert similarity(cycle, matrix) == 1.0
    assert most_similar(matrix, [nx.path_graph(5), matrix], k=1).indices.tolist() == [1]
    assert distances([cycle, matrix], [matrix]).max() < 1e-6


@pytest.mark.parametrize(
    ("call", "about"),
    [
        (lambda g: similarity(g, g[0]), ("g", "12", "distances")),
        (lambda g: similarity(g[0].without_labels(), g[1]), "g has no labels"),
        (lambda g: distance(g[0], g[1].without_attributes()), ("g has 2 attributes", "h has 0")),
        (lambda g: most_similar(g[0], g, k=0), ("k", "0")),
        (lambda g: distances(g, g.without_labels()), ("X has labels", "Y has none")),
        (lambda g: most_similar(g[0], g.without_labels()), "the query has labels"),
    ],
)
def test_graphs_that_cannot_be_compared(graphs, call, about):
    fails(lambda: call(graphs), about)


def test_one_kernel_for_all_comparisons(graphs):
    """Vectors, distances and searches agree about who is near."""
    plain = graphs.without_attributes()
    vectors = RetGKEmbedding(n_components=4000, random_state=0).fit_transform(plain)
    exact = distances(plain)
    approximate = np.sqrt(np.square(vectors[:, None] - vectors).sum(axis=2))
    assert np.abs(exact - approximate).max() < 0.05
    nearest = most_similar(plain[0], plain, k=3).indices
    unit = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    assert set(np.argsort(-unit @ unit[0])[:3]) == set(nearest.tolist())


def test_predictions_of_one_graph_equal_those_among_others():
    data = make_graph_classification(n_graphs=60, rng=0)
    model = quick(n_steps=20, C=10, p=1, scale=1)
    model.fit(data.graphs[:40], data.targets[:40])
    new = data.graphs[40:]
    among = model.decision_function(new)
    alone = [model.decision_function(new[g : g + 1])[0] for g in range(len(new))]
    np.testing.assert_array_equal(alone, among)


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
