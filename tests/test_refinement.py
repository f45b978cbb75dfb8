"""Refined labels and the depth of kernels, against the naive versions."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from retgk import GraphBatch, GraphClassifier, GraphRegressor, RetGK, load_model, save_model
from retgk._runtime.fields import flatten, unflatten
from retgk.datasets import make_graph_classification
from retgk.errors import InputWarning
from retgk.kernels import Laplacian, PolynomialGraphKernel, RetGKEmbedding, refined_labels
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import ExactEngine
from retgk.walks.probabilities import Walks
from tests import naive
from tests.errors import fails
from tests.example_graphs import adjacency_matrices

KERNEL = Laplacian(3.0)


def inner_products_of(walks, **options):
    return RetGK(walks=walks, graph_kernel=PolynomialGraphKernel(), random_state=0, **options)


@st.composite
def labelled_batches(draw, n_graphs=4):
    """Graphs of up to seven nodes with two labels; isolated nodes and self-loops occur."""
    found = []
    has_edge_labels = draw(st.booleans())
    for _ in range(draw(st.integers(1, n_graphs))):
        matrix = (draw(adjacency_matrices(7)) > 0).astype(float)
        rows, columns = matrix.nonzero()
        labels = draw(st.lists(st.sampled_from("CN"), min_size=len(matrix), max_size=len(matrix)))
        kinds = "=#" if has_edge_labels else "-"
        bonds = draw(st.lists(st.sampled_from(kinds), min_size=64, max_size=64))
        edge_labels = [bonds[min(i, j) * 8 + max(i, j)] for i, j in zip(rows, columns, strict=True)]
        edges = np.column_stack([rows, columns])
        found.append(
            GraphBatch.from_edges(len(matrix), edges, labels=labels, edge_labels=edge_labels)
        )
    return GraphBatch.concatenate(found)


def same_partition(first, second):
    """Whether two colourings tell the same nodes apart."""
    pairs = set(zip(first.tolist(), second, strict=True))
    return len(pairs) == len(set(first.tolist())) == len(set(second))


@given(labelled_batches(), st.integers(0, 4))
@settings(max_examples=150)
def test_colours_are_the_naive_ones(batch, depth):
    found = refined_labels(batch, depth, n_jobs=2)
    assert found.shape == (batch.n_nodes, depth + 1)
    for column, expected in zip(found.T, naive.refined_labels(batch, depth), strict=True):
        assert same_partition(column, expected)
        assert column.max() + 1 == len(set(expected))


@given(labelled_batches(), labelled_batches(), st.integers(0, 3))
def test_new_graphs_get_the_colours_of_others(fitted, new, depth):
    """What the fitted graphs do not have gets numbers above theirs, one for each."""
    both = naive.refined_labels(GraphBatch.concatenate([fitted, new]), depth)
    found = refined_labels(new, depth, like=fitted)
    known = refined_labels(fitted, depth)
    for level in range(depth + 1):
        together = np.concatenate([known[:, level], found[:, level]])
        assert same_partition(together, both[level])


@pytest.mark.parametrize("start", ["labels", "degrees", "none"])
def test_starts(start):
    path = GraphBatch.from_edges(4, [[0, 1], [1, 2], [2, 3]], labels=list("CCNC"), symmetrize=True)
    expected = {"labels": [0, 0, 1, 0], "degrees": [0, 1, 1, 0], "none": [0, 0, 0, 0]}
    assert refined_labels(path, 0, start=start)[:, 0].tolist() == expected[start]
    rounds = {"labels": 3, "degrees": 2, "none": 2}
    assert len(set(refined_labels(path, 1, start=start)[:, 1])) >= rounds[start]


@pytest.mark.parametrize("depth", [-1, 1.5, True, 65, 10**9])
def test_depths_that_are_none(depth):
    edge = [np.ones((2, 2)) - np.eye(2)] * 2
    fails(lambda: refined_labels(edge, depth), ("depth", str(depth)))
    fails(lambda: RetGK(depth=depth).fit(edge), ("depth", str(depth)))


def test_wrong_starts_and_weights():
    edge = [np.ones((2, 2)) - np.eye(2)] * 2
    fails(lambda: refined_labels(edge, 1, start="colour"), ("start", "'colour'"))
    for depth, weights in ((2, [1, 1]), (1, [0, 0])):
        kernel = RetGK(depth=depth, level_weights=weights)
        fails(lambda kernel=kernel: kernel.fit(edge), "level_weights")


@given(
    labelled_batches(), st.integers(0, 3), st.sampled_from([None, "last", "rising"]), st.booleans()
)
def test_depth_of_the_exact_kernel(batch, depth, weights, has_labels):
    batch = batch if has_labels else batch.without_labels()
    given_weights = {"last": [0.0] * depth + [2.0], "rising": np.arange(1, depth + 2)}.get(weights)
    options = {"depth": depth, "level_weights": given_weights, "structure": KERNEL, "tol": 0}
    found = inner_products_of(Walks(5), **options).fit_transform(batch)
    expected = naive.refined_gram(batch, 5, 3.0, depth, given_weights)
    assert np.abs(found - expected).max() <= 1e-12


@given(labelled_batches(), labelled_batches(), st.integers(0, 3))
@settings(max_examples=60)
def test_depth_of_new_graphs(fitted, new, depth):
    """Colours that only new graphs have match among themselves, and nothing else."""
    both = GraphBatch.concatenate([fitted, new])
    expected = naive.refined_gram(both, 5, 3.0, depth)
    kernel = inner_products_of(Walks(5), depth=depth, structure=KERNEL, tol=0)
    kernel.fit(fitted)
    n = len(fitted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of labels that the fitted graphs do not have
        found = kernel.distances(new) ** 2
    norms = expected.diagonal()
    squared = norms[n:, None] + norms[:n] - 2 * expected[n:, :n]
    assert np.abs(found - squared).max() <= 1e-12


def test_depth_in_files_and_at_any_tolerance(tmp_path):
    rng = np.random.default_rng(0)
    graphs = []
    for n in rng.integers(20, 60, 30):
        edges = np.column_stack([np.arange(1, n), rng.integers(0, np.arange(1, n))])
        labels = rng.choice(list("CNO"), n).tolist()
        graphs.append(GraphBatch.from_edges(int(n), edges, labels=labels, symmetrize=True))
    batch = GraphBatch.concatenate(graphs)
    exact = RetGK(walks=Walks(10), depth=3, structure=KERNEL, tol=0, random_state=0)
    exact.fit(batch[:20])
    expected = exact.engine_.inner_products()
    for tol in (1e-6, 1e-4, 1e-2):
        model = RetGK(walks=Walks(10), depth=3, structure=KERNEL, tol=tol, random_state=0)
        model.fit(batch[:20])
        assert np.abs(model.engine_.inner_products() - expected).max() <= tol
        save_model(model, tmp_path / "model.retgk")
        again = load_model(tmp_path / "model.retgk")
        assert np.array_equal(again.transform(batch[20:]), model.transform(batch[20:]))


def test_many_nodes_of_few_colours():
    """Colours with more than some hundred nodes take the way of the tiles."""
    rng = np.random.default_rng(1)
    edges = np.column_stack([np.arange(400), np.roll(np.arange(400), 1)])
    ring = GraphBatch.from_edges(400, edges, labels=["C"] * 400, symmetrize=True)
    labels = rng.choice(list("CN"), 400).tolist()
    batch = GraphBatch.concatenate([ring, ring.with_labels(labels), ring.with_labels(labels[::-1])])
    plain, deep = (
        inner_products_of(Walks(4), depth=depth, structure=KERNEL, tol=0) for depth in (0, 2)
    )
    colours = refined_labels(batch, 2)
    levels = [plain.fit_transform(batch.with_labels(own.tolist())) for own in colours.T]
    found = deep.fit_transform(batch)
    assert np.abs(found - np.mean(levels, axis=0)).max() <= 1e-12
    pieces = deep.transform(batch[1:])
    assert np.abs(pieces - found[1:]).max() <= 1e-12


@pytest.mark.slow
def test_depths_share_their_levels():
    """Candidates of depth give what models of one depth give."""
    data = make_graph_classification(n_graphs=40, n_labels=2, rng=0)
    for make in (GraphClassifier, GraphRegressor):
        options = {"C": 10.0, "cv": 3, "random_state": 0}
        several = make(RetGK(tol=0), candidates={"depth": (0, 2, 1)}, **options)
        several.fit(data.graphs, data.targets)
        for depth in (0, 2, 1):
            alone = make(RetGK(depth, tol=0), candidates={}, **options)
            alone.fit(data.graphs, data.targets)
            place = [row["depth"] for row in several.cv_results_["params"]].index(depth)
            expected = several.cv_results_["mean_test_score"][place]
            assert alone.best_score_ == pytest.approx(expected, abs=1e-6)
            if several.best_params_["depth"] == depth:
                new = data.graphs[:10]
                found = several.predict(new)
                np.testing.assert_allclose(found, alone.predict(new), atol=1e-6)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_engine_at_a_smaller_depth(depth):
    graphs = make_graph_classification(n_graphs=20, n_labels=2, rng=0).graphs
    features = NodeFeatures(graphs, Walks(6))
    deep = ExactEngine(KERNEL, depth=3, tol=0).fit(features)
    own, alone = deep.at_depth(depth), ExactEngine(KERNEL, depth=depth, tol=0).fit(features)
    assert np.abs(own.inner_products() - alone.inner_products()).max() <= 1e-12
    others = make_graph_classification(n_graphs=5, n_labels=2, rng=1).graphs
    new, kept = NodeFeatures(others, Walks(6)), np.array([3, 1])
    first, second = own.keep(kept).compare(new), alone.keep(kept).compare(new)
    assert np.abs(first.products() - second.products()).max() <= 1e-12
    assert np.abs(first.squared_norms() - second.squared_norms()).max() <= 1e-12
    arrays = {}
    again = unflatten(flatten(own, "engine", arrays), arrays)
    again.check_restored(6)
    assert np.array_equal(again.inner_products(), own.inner_products())


# Scaling of attributes: laws, agreement with scaling by hand, and the choice among rules

UNITS = np.array([1e-3, 1.0, 250.0])
OFFSETS = np.array([5.0, -2.0, 1e4])
ESTIMATORS = {
    "exact": RetGK(walks=Walks(6), tol=0, random_state=0),
    "vectors": RetGKEmbedding(walks=Walks(6), n_components=16, random_state=0),
}


@pytest.fixture(scope="module")
def data():
    found = make_graph_classification(n_graphs=40, rng=1)
    rng = np.random.default_rng(2)
    values = rng.normal(size=(found.graphs.n_nodes, 3))
    return found.graphs.without_labels().with_attributes(values), found.targets


def changed(model, **parameters):
    return clone(model).set_params(**parameters)


def standardised(values, fitted):
    return (values - fitted.mean(axis=0)) / fitted.std(axis=0)


def test_order_of_columns_makes_no_difference(data):
    graphs, _ = data
    turned = graphs.with_attributes(graphs.attributes[:, [2, 0, 1]])
    for rule in ("raw", "standard", "drop"):
        kernel = changed(ESTIMATORS["exact"], scale_attributes=rule)
        assert np.abs(kernel.fit_transform(graphs) - kernel.fit_transform(turned)).max() < 1e-9


@pytest.mark.parametrize("name", ESTIMATORS)
def test_standard_is_scaling_by_hand(data, name):
    graphs, _ = data
    graphs = graphs.with_attributes(graphs.attributes * UNITS + OFFSETS)
    train, new = graphs[:25], graphs[25:]
    model = changed(ESTIMATORS[name], scale_attributes="standard").fit(train)
    by_hand = changed(ESTIMATORS[name]).fit(
        train.with_attributes(standardised(train.attributes, train.attributes))
    )
    values = standardised(new.attributes, train.attributes)
    expected = by_hand.transform(new.with_attributes(values))
    assert np.abs(model.transform(new) - expected).max() < 1e-12
    dropped = changed(ESTIMATORS[name], scale_attributes="drop").fit_transform(graphs)
    without = changed(ESTIMATORS[name]).fit_transform(graphs.without_attributes())
    assert np.array_equal(dropped, without)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_constant_columns_are_harmless(data, name):
    graphs, _ = data
    values = graphs.attributes.copy()
    values[:, 1] = 1e9 / 3
    model = changed(ESTIMATORS[name], scale_attributes="standard")
    found = model.fit_transform(graphs.with_attributes(values))
    values[:, 1] = 0
    same = model.fit_transform(graphs.with_attributes(values))
    assert np.isfinite(found).all()
    assert np.abs(found - same).max() < 1e-12


def test_rules_for_blocks(data):
    graphs, _ = data
    blocks = {"place": ([0, 1], Laplacian(1.0)), "mass": ([2], Laplacian(2.0))}
    values = graphs.attributes * UNITS
    kernel = RetGK(
        walks=Walks(6),
        tol=0,
        attributes=blocks,
        scale_attributes={"mass": "standard"},
        random_state=0,
    )
    found = kernel.fit_transform(graphs.with_attributes(values))
    values[:, 2] = standardised(values[:, 2], values[:, 2])
    by_hand = RetGK(walks=Walks(6), tol=0, attributes=blocks, random_state=0)
    expected = by_hand.fit_transform(graphs.with_attributes(values))
    assert np.abs(found - expected).max() < 1e-12


@pytest.mark.slow
def test_classifier_chooses(data):
    """Noise of large numbers beside a small column that tells the class."""
    graphs, targets = data
    graph_of = np.repeat(np.arange(len(graphs)), np.diff(graphs.node_ptr))
    rng = np.random.default_rng(0)
    noise = 1e4 * rng.normal(size=graphs.n_nodes)
    telling = 1e-3 * (np.asarray(targets)[graph_of] == targets[0])
    useful = graphs.with_attributes(np.column_stack([telling, noise]))
    useless = graphs.with_attributes(np.column_stack([noise, noise[::-1]]))
    rules = RetGK().usual_candidates | {"depth": (0,)}
    model = GraphClassifier(candidates=rules, random_state=0)
    assert model.fit(useful, targets).best_params_["scale_attributes"] == "standard"
    assert model.fit(useless, targets).best_params_["scale_attributes"] != "raw"
    plain = model.fit(graphs.without_attributes(), targets)
    assert len(plain.cv_results_["params"]) == 16  # nothing to choose


@pytest.mark.parametrize("rule", ["raw", "standard", "drop"])
@pytest.mark.parametrize("n_components", [None, 16])
def test_files_keep_the_rule(data, rule, n_components, tmp_path):
    graphs, _ = data
    values = np.linspace(0, 1, len(graphs))
    kernel = RetGK(scale_attributes=rule, n_components=n_components)
    model = GraphRegressor(kernel, C=1.0, random_state=0).fit(graphs, values)
    save_model(model, tmp_path / "model.retgk")
    again = load_model(tmp_path / "model.retgk")
    assert np.array_equal(again.predict(graphs), model.predict(graphs))


def test_uneven_columns_are_told(data):
    graphs, _ = data
    uneven = graphs.with_attributes(graphs.attributes * UNITS)
    about = ("attribute 2", "attribute 0", "scale_attributes='standard'")
    for model in ESTIMATORS.values():
        fails(lambda model=model: changed(model).fit(uneven), about, InputWarning)
        changed(model).fit(graphs)
        changed(model, scale_attributes="standard").fit(uneven)


def test_wrong_rules(data):
    blocks = {"a": ([0], Laplacian())}
    for model, about in (
        (RetGK(scale_attributes="minmax"), ("scale_attributes", "'minmax'")),
        (RetGK(scale_attributes={"a": "standard"}), ("'a'", "none")),
        (RetGKEmbedding(scale_attributes={"a": "raw"}), "'a'"),
        (RetGK(attributes=blocks, scale_attributes={"a": "drop"}), ("'a'", "'drop'")),
    ):
        fails(lambda model=model: model.fit(data[0]), about)
