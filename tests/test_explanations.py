"""Explanations: complete, symmetric, in any order of nodes; training graphs and contrasts."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import (
    GraphBatch,
    GraphClassifier,
    GraphDataset,
    GraphRegressor,
    RetGK,
    load_model,
    save_model,
)
from retgk.estimators import explanation as explaining
from retgk.io import from_smiles
from retgk.kernels import (
    ExponentialGraphKernel,
    Laplacian,
    MinMax,
    PolynomialGraphKernel,
    Scaled,
    ShortestPath,
    WeisfeilerLehman,
    WeisfeilerLehmanOA,
    mean_of,
    refined_labels,
)
from retgk.kernels.embedded import EmbeddedEngine
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import ExactEngine
from retgk.kernels.gradients import LineEnds, line_gradients
from retgk.kernels.others.colour_shares import _Ends, _mean_slopes
from retgk.walks.probabilities import Walks
from tests import naive
from tests.errors import fails
from tests.example_graphs import complete, of_retgk, path, star
from tests.model_zoo import EXPLAINED, NEW, TARGETS, TASKS, TRAIN, fitted, signed_values, sums
from tests.test_exact_kernel import KERNELS, naive_gram
from tests.test_kernel_estimator import placed


@pytest.mark.parametrize("n_components", [None, 1024])
@pytest.mark.parametrize("task", TASKS)
def test_complete(task, n_components):
    model = fitted(task, n_components)
    found = model.explain(NEW, TARGETS[task])
    np.testing.assert_allclose(found.baseline + sums(found), found.decisions, atol=1e-9)
    expected = signed_values(model, NEW, found)
    np.testing.assert_allclose(found.decisions, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found.predictions, model.predict(NEW))
    assert found.node_ptr.tolist() == NEW.node_ptr.tolist()


SUMS = [
    RetGK() + 0.5 * RetGK(1, graph_kernel=PolynomialGraphKernel(d=2)),
    mean_of([RetGK(), RetGK(n_components=64), RetGK(scale_attributes="drop")]),
    RetGK() + 2.0 * MinMax(WeisfeilerLehman(2)),
]


@pytest.mark.parametrize("kernel", SUMS, ids=["two", "three", "colours"])
@pytest.mark.parametrize("task", TASKS)
def test_complete_for_sums(kernel, task):
    make = GraphRegressor if task in ("values", "outputs") else GraphClassifier
    model = make(kernel, C=10, candidates=None, cv=2, random_state=0).fit(TRAIN, TASKS[task][:70])
    found = model.explain(NEW, TARGETS[task], n_training=10**6)
    np.testing.assert_allclose(found.baseline + sums(found), found.decisions, atol=1e-9)
    expected = signed_values(model, NEW, found)
    np.testing.assert_allclose(found.decisions, expected, rtol=1e-9, atol=1e-9)


def test_shares_of_a_sum_are_the_sums_of_shares():
    y = TASKS["values"][:70]
    one, both = (
        GraphRegressor(own, C=c, candidates=None, cv=2, random_state=0).fit(TRAIN, y).explain(NEW)
        for own, c in ((RetGK(tol=0), 10), (RetGK(tol=0) + RetGK(tol=0), 5))
    )
    np.testing.assert_allclose(both.shares, one.shares, atol=1e-6)


def test_nodes_have_no_shares_in_other_kernels():
    kernel = RetGK() + ShortestPath()
    model = GraphRegressor(kernel, C=1, candidates=None).fit(TRAIN, TASKS["values"][:70])
    fails(lambda: model.explain(NEW), "ShortestPath")


@pytest.mark.parametrize("feature_map", ["joint", "tensor"])
def test_complete_with_blocks_of_labels(feature_map):
    model = fitted("three classes", depth=0, feature_map=feature_map, n_components=32)
    names = [NEW.label_names[code] for code in NEW.labels]
    unknown = NEW.with_labels([*names[:-4], *["new"] * 4])
    assert np.ptp(model.explain(unknown).shares[-4:]) < 1e-12  # they match nothing, and are alike
    found = model.explain(NEW)
    np.testing.assert_allclose(found.baseline + sums(found), found.decisions, atol=1e-9)


@pytest.mark.parametrize("options", [{"n_components": 1024, "n_landmarks": 20}, {}])
def test_complete_with_ridge(options):
    model = of_retgk(GraphClassifier, solver="ridge", **options, **EXPLAINED)
    model.fit(TRAIN, TASKS["three classes"][:70])
    assert model.solver_ == "ridge"
    found = model.explain(NEW)
    np.testing.assert_allclose(found.baseline + sums(found), found.decisions, atol=1e-9)
    expected = model.decision_function(NEW).max(axis=1)
    np.testing.assert_allclose(found.decisions, expected, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_components=st.sampled_from([None, 1024]),
    task=st.sampled_from(list(TASKS)),
    graph=st.integers(0, len(NEW) - 1),
)
def test_order_of_nodes_and_symmetry(seed, n_components, task, graph):
    """Nodes of a graph and of its twin, in any order, have the same shares, halved."""
    model, own = fitted(task, n_components), NEW[graph : graph + 1]
    order = np.random.default_rng(seed).permutation(2 * own.n_nodes)
    twice = reordered(GraphBatch.concatenate([own, own]), order)
    one, both = (model.explain(each, TARGETS[task]) for each in (own, twice))
    size = max(1.0, np.abs(one.decisions[0]))
    expected = 0.5 * one.of(0)[order % own.n_nodes]
    np.testing.assert_allclose(both.of(0), expected, atol=1e-8 * size)
    np.testing.assert_allclose(both.decisions, one.decisions, atol=1e-8 * size)


def reordered(batch, order):
    """All nodes of a batch as one graph in another order."""
    place = np.argsort(order)
    graph_of = np.repeat(np.arange(len(batch)), batch.node_counts)
    sources = np.repeat(np.arange(batch.n_nodes), np.diff(batch.indptr))
    ends = batch.indices + batch.node_ptr[graph_of[sources]]
    return GraphBatch.from_edges(
        batch.n_nodes,
        np.stack([place[sources], place[ends]], axis=1),
        labels=[batch.label_names[code] for code in batch.labels[order]],
        attributes=batch.attributes[order],
    )


@pytest.mark.parametrize("n_components", [None, 1024])
def test_a_graph_stands_alone(n_components, monkeypatch):
    model = fitted("three classes", n_components)
    whole = model.explain(NEW)
    for graph in (0, 7):
        np.testing.assert_array_equal(model.explain(NEW[graph : graph + 1]).of(0), whole.of(graph))
    monkeypatch.setattr(explaining, "_GRAPHS_AT_A_TIME", 3)
    again = model.explain(NEW)
    for name, value in vars(whole).items():
        np.testing.assert_array_equal(value, getattr(again, name), err_msg=name)


# training graphs, contrasts, targets


@pytest.mark.parametrize("task", ["two classes", "three classes", "values"])
def test_shares_of_training_graphs(task):
    model = fitted(task)
    found = model.explain(NEW, TARGETS[task], n_training=10**6)
    codes = np.zeros(len(NEW), int)
    if task == "values":
        signs = np.ones((1, 1))
    elif task == "two classes":
        signs = np.array([[-1.0], [1.0]])
    else:
        signs, codes = np.array([[1, 1, 0], [-1, 0, 1], [0, -1, -1]]), codes + 1
    intercepts = (signs @ model.intercept_)[codes]
    total = intercepts + found.training_shares.sum(axis=1)
    np.testing.assert_allclose(total, found.decisions, atol=1e-9)
    assert (np.diff(np.abs(found.training_shares), axis=1) <= 0).all()
    assert set(found.training[0]) == set(model.support_)
    few = model.explain(NEW, TARGETS[task], n_training=3)
    np.testing.assert_array_equal(few.training_shares, found.training_shares[:, :3])
    assert model.explain(NEW, TARGETS[task], n_training=0).training.shape == (len(NEW), 0)


@pytest.mark.parametrize("n_components", [None, 1024])
def test_contrast_is_the_nearest_of_another_class(n_components):
    model = fitted("three classes", n_components)
    targets = TASKS["three classes"][:70]
    np.testing.assert_array_equal(model.classes_[model.support_codes_], targets[model.support_])
    found = model.explain(NEW)
    new = model.kernel_.engine_.compare(NodeFeatures(NEW, model.kernel_.walks_))
    squares = np.add.outer(new.squared_norms(), model.kernel_.engine_.squared_norms())
    squares -= 2 * new.products()
    for graph in range(len(NEW)):
        others = np.flatnonzero(targets[model.support_] != found.targets[graph])
        best = others[squares[graph, others].argmin()]
        assert found.contrast[graph] == model.support_[best]
        assert found.contrast_distances[graph] == pytest.approx(np.sqrt(squares[graph, best]))


def test_contrast_of_labels_and_values():
    found = fitted("labels").explain(NEW, 1)
    truth, model = TASKS["labels"][:70], fitted("labels")
    predicted = model.predict(NEW)[:, 1]
    np.testing.assert_array_equal(truth[found.contrast, 1], 1 - predicted)
    assert fitted("values").explain(NEW).contrast is None


def test_targets():
    model = fitted("three classes")
    predicted = model.predict(NEW)
    for target in (None, "predicted", predicted, predicted.tolist()):
        np.testing.assert_array_equal(model.explain(NEW, target).targets, predicted)
    mixed = model.explain(NEW, np.where(np.arange(len(NEW)) < 5, "a", "c"))
    np.testing.assert_array_equal(mixed.of(2), model.explain(NEW, "a").of(2))
    np.testing.assert_array_equal(mixed.of(9), model.explain(NEW, "c").of(9))
    two = fitted("two classes")
    first, second = (two.explain(NEW, target).shares for target in (0, 1))
    np.testing.assert_array_equal(first, -second)


@pytest.mark.parametrize(
    ("task", "call", "about"),
    [
        ("three classes", lambda model: model.explain(NEW, "d"), ("'d'", "'a'", "'b'")),
        ("three classes", lambda model: model.explain(NEW, ["a", "b"]), ("(2,)", "20 graphs")),
        ("labels", lambda model: model.explain(NEW), ("3 outputs", "target")),
        ("outputs", lambda model: model.explain(NEW, 2), ("2", "0, 1")),
        ("values", lambda model: model.explain(NEW, "mean"), "'mean'"),
        ("values", lambda model: model.explain(NEW.without_labels()), "no labels"),
        ("values", lambda model: model.explain(NEW).of(20), "graph 20"),
        ("values", lambda _: GraphClassifier().explain(NEW), "fitted"),
        *(
            ("values", lambda model, n=n: model.explain(NEW, n_training=n), ("n_training", str(n)))
            for n in (-1, 2.5, True, "all")
        ),
    ],
)
def test_bad_input(task, call, about):
    fails(lambda: call(fitted(task)), about, ValueError)


def test_explanation_of_one_graph_among_others():
    found = fitted("values").explain(NEW)
    assert len(found) == len(NEW)
    np.testing.assert_array_equal(found.of(-1), found.of(len(NEW) - 1))
    assert len(found.of(3)) == NEW.node_counts[3]
    assert len(fitted("values").explain(NEW[:0])) == 0


def test_graphs_that_are_all_alike():
    """The line is a point: shares add up to nothing, and are numbers."""
    graphs = GraphBatch.concatenate([star(4), path(5)] * 6)
    model = of_retgk(GraphClassifier, cv=2, depth=0, random_state=0)
    model.fit(graphs, np.arange(12) % 2)
    middle = GraphBatch.concatenate([star(4), path(5), complete(4)])
    found = model.explain(middle, 1)
    assert np.isfinite(found.shares).all()
    both = reordered_structure(star(4), path(5))
    found = model.explain(both, 1)
    np.testing.assert_allclose(found.baseline + sums(found), found.decisions, atol=1e-9)


def reordered_structure(first, second):
    """Two graphs side by side as one: the mean of their mean embeddings."""
    edges = [
        (offset + source, offset + int(end))
        for offset, graph in ((0, first), (first.n_nodes, second))
        for source in range(graph.n_nodes)
        for end in graph.indices[graph.indptr[source] : graph.indptr[source + 1]]
    ]
    return GraphBatch.from_edges(first.n_nodes + second.n_nodes, edges)


@pytest.mark.parametrize("task", ["three classes", "labels"])
def test_models_from_files_explain_alike(task, tmp_path):
    model = fitted(task)
    save_model(model, tmp_path / "model.retgk")
    again = load_model(tmp_path / "model.retgk")
    first, second = (each.explain(NEW, TARGETS[task]) for each in (model, again))
    np.testing.assert_array_equal(second.contrast, first.contrast)
    np.testing.assert_allclose(second.shares, first.shares, atol=1e-12)


# Shares are integrated gradients, and values of nodes are those of the formula

# the gradients themselves


def slow_shares(model, train, graph, coefficients):
    """Integrated gradients by central differences and Simpson's rule, over all pairs of nodes."""
    n_steps, gamma = model.kernel_.walks_.n_steps, model.kernel_.engine_.kernels[0].gamma
    support = GraphBatch.concatenate([train[s : s + 1] for s in model.support_] + [graph])
    points = naive.return_probabilities_of_batch(support, n_steps)
    kernel = np.array([[naive.laplacian(x, y, gamma) for y in points] for x in points])
    sizes = np.diff(support.node_ptr)
    means = np.zeros((len(support), len(points)))
    for row, (first, size) in enumerate(zip(support.node_ptr, sizes, strict=False)):
        means[row, first : first + size] = 1 / size
    fitted_means, end = means[:-1], means[-1]
    start, graph_kernel = fitted_means.mean(axis=0), model.kernel_.graph_kernel_

    def value(mixture):
        gaps = mixture - fitted_means
        squares = np.maximum(np.einsum("si,ij,sj->s", gaps, kernel, gaps), 0)
        return coefficients @ np.exp(-graph_kernel.gamma * squares ** (graph_kernel.p / 2))

    times, step = np.linspace(0, 1, 41), 1e-4
    weights = np.array([1, *([4, 2] * 19), 4, 1]) / 120
    shares = []
    for node in range(support.node_ptr[-2], support.node_ptr[-1]):
        direction = (np.arange(len(points)) == node) - start
        slopes = []
        for t in times:
            here = start + t * (end - start)
            ahead, behind = value(here + step * direction), value(here - step * direction)
            slopes.append((ahead - behind) / (2 * step))
        shares.append(weights @ slopes / sizes[-1])
    return np.array(shares)


@pytest.mark.parametrize("p", [0.7, 1.0, 2.0])
def test_shares_are_integrated_gradients(p):
    train, targets = TRAIN[:14].without_labels().without_attributes(), TASKS["two classes"][:14]
    options = {"structure": Laplacian(3.0), "scale_attributes": "raw", "tol": 0.0}
    model = of_retgk(
        GraphClassifier,
        depth=0,
        p=p,
        scale=1,
        **EXPLAINED | {"n_steps": 4},
        **options,
    ).fit(train, targets)
    graph = NEW[3:4].without_labels().without_attributes()
    expected = slow_shares(model, train, graph, model.dual_coef_[0])
    np.testing.assert_allclose(model.explain(graph, 1).of(0), expected, atol=2e-6)
    np.testing.assert_allclose(model.explain(graph, 0).of(0), -expected, atol=2e-6)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    kernel=st.sampled_from(
        [ExponentialGraphKernel(g, p) for g in (0.3, 4.0, 40.0) for p in (0.5, 1.0, 1.5, 2.0)]
        + [PolynomialGraphKernel(c, d) for c in (0.0, 1.0) for d in (1, 2, 5)]
    ),
    distance=st.sampled_from([0.0, 1e-9, 1e-3, 0.3, 1.0]),
)
def test_mean_gradients_of_points(seed, kernel, distance):
    """Mean embeddings that are points of a space: gradients by formula, averaged by brute force."""
    rng = np.random.default_rng(seed)
    fitted, coefficients = rng.normal(size=(5, 3)) / 2, rng.normal(size=(1, 5))
    start = fitted.mean(axis=0)
    end = start + distance * rng.normal(size=3)
    if seed % 3 == 0 and distance:  # the line passes close to a point
        # with p below 1, distances of 1e-6 lose too many digits as differences of products
        end = fitted[0] + (1e-3 if getattr(kernel, "p", 1) < 1 else 1e-6) * rng.normal(size=3)
    norms = (fitted**2).sum(axis=1)
    ends = LineEnds(end[None] @ fitted.T, np.array([end @ end]), fitted @ start, norms)
    rise = (coefficients * (ends.values(kernel) - ends.mean_values(kernel))).sum(axis=1)
    found = line_gradients(kernel, ends, coefficients, rise)
    gradient = found.weights[0] @ fitted + found.own_weights[0] * end
    expected = mean_gradient(kernel, fitted, coefficients[0], start, end)
    scale = max(1.0, np.abs(expected).max())
    # along the line, the rise says what it is, better than brute force near a point
    line = end - start
    assert line @ gradient == pytest.approx(rise[0], abs=1e-9 * scale)
    difference = gradient - expected
    np.testing.assert_allclose(difference, 0, atol=1e-4 * scale)
    if distance:
        across = difference - (difference @ line) / (line @ line) * line
        np.testing.assert_allclose(across, 0, atol=1e-6 * scale)


def mean_gradient(kernel, fitted, coefficients, start, end):
    """Average of the gradient over many places of the line, dense at its nearest points."""
    times = [np.linspace(0, 1, 2001)]
    line = end - start
    for point in fitted if line @ line > 1e-14 else []:
        nearest = (point - start) @ line / (line @ line)
        near = nearest + np.concatenate([s * np.logspace(-14, 0, 2500) for s in (-1, 1)])
        times.append(near[(near > 0) & (near < 1)])
    times = np.unique(np.concatenate(times))
    middle, half = 0.5 * (times[1:] + times[:-1]), 0.5 * np.diff(times)
    t = np.concatenate([middle - half / 3**0.5, middle + half / 3**0.5])  # Gauss, two nodes
    places = start + t[:, None] * line
    gaps = places[:, None] - fitted
    squares = (gaps**2).sum(axis=2)
    if isinstance(kernel, PolynomialGraphKernel):
        slopes = kernel.d * (kernel.c + places @ fitted.T) ** (kernel.d - 1)
        gradients = np.einsum("ts,s,sd->td", slopes, coefficients, fitted)
    else:
        r = np.sqrt(np.maximum(squares, 1e-30))
        slopes = (
            -kernel.gamma * kernel.p * r ** (kernel.p - 2) * np.exp(-kernel.gamma * r**kernel.p)
        )
        gradients = np.einsum("ts,s,tsd->td", slopes, coefficients, gaps)
    return np.concatenate([half, half]) @ gradients


# values of nodes


@settings(max_examples=40, deadline=None)
@given(
    kernels=st.sampled_from(KERNELS),
    n_labels=st.sampled_from([0, 3]),
    seed=st.integers(0, 2**32 - 2),
    tol=st.sampled_from([0.0, 1e-4]),
    shift=st.sampled_from([0.0, 0.1, 1e4]),
)
def test_values_of_nodes_are_those_of_the_formula(kernels, n_labels, seed, tol, shift):
    """Near and far graphs: every node as a graph of its own."""
    x, y, _, new = placed(seed, [4] * len(kernels), kernels, tol, n_labels, spread=1.0, shift=shift)
    rng = np.random.default_rng(seed)
    weights, own = rng.normal(size=(y.n_graphs, x.n_graphs)), rng.normal(size=y.n_graphs)
    found = new.node_values(weights, own)
    graphs = y.graph_of_node()
    single = type(y)(y.blocks, np.arange(y.n_nodes + 1), y.labels)
    expected = (weights[graphs] * naive_gram(single, x, kernels)).sum(axis=1)
    expected += own[graphs] * naive_gram(single, y, kernels)[np.arange(y.n_nodes), graphs]
    size = max(1.0, np.abs(naive_gram(single, y, kernels)).max()) * 10
    # nodes of a graph may move by more than its mean does, which the promise is about
    assert np.abs(found - expected).max() <= max(100 * tol, 1e-6) * size
    means = np.bincount(graphs, found) / np.diff(y.node_ptr)
    products, norms = new.products(), new.squared_norms()
    np.testing.assert_allclose(
        means, (weights * products).sum(axis=1) + own * norms, atol=1e-9 * size
    )


@pytest.mark.parametrize("depth", [0, 2])
@pytest.mark.parametrize("kind", [ExactEngine, EmbeddedEngine])
def test_means_of_the_values_of_nodes(kind, depth):
    extra = {"feature_map": "phases"} if kind is EmbeddedEngine else {}
    walks = Walks(6)
    engine = kind(depth=depth, random_state=0, **extra).fit(NodeFeatures(TRAIN, walks))
    new = engine.compare(NodeFeatures(NEW, walks))
    rng = np.random.default_rng(0)
    weights, own = rng.normal(size=(len(NEW), len(TRAIN))), rng.normal(size=len(NEW))
    values = new.node_values(weights, own)
    means = np.add.reduceat(values, NEW.node_ptr[:-1]) / NEW.node_counts
    expected = (weights * new.products()).sum(axis=1) + own * new.squared_norms()
    np.testing.assert_allclose(means, expected, atol=1e-12)
    products = engine.inner_products()
    np.testing.assert_allclose(engine.mean_products(), products.mean(axis=1), atol=1e-12)


def test_graphs_and_nodes_are_called_as_they_were(tmp_path):
    """Names of training graphs, their SMILES, and names of nodes, also of a model of a file."""
    texts = ["C" * k + end for k in range(2, 9) for end in ("", "O")]
    called = [f"m{number}" for number in range(len(texts))]
    graphs = from_smiles(texts)
    data = GraphDataset(graphs, np.arange(14) % 2, "x", graph_names=called)
    save_model(GraphClassifier(random_state=0).fit(data), tmp_path / "m.retgk")
    model = load_model(tmp_path / "m.retgk")
    new = graphs[:2].with_node_names(list("abcde"))
    found = model.explain(new, n_training=3)
    assert found.node_names.tolist() == list("abcde")
    assert found.training_names.tolist() == np.array(called)[found.training].tolist()
    assert found.training_smiles.tolist() == np.array(texts)[found.training].tolist()
    plain = GraphClassifier(random_state=0).fit(texts, np.arange(14) % 2).explain(texts[:2])
    assert (plain.training_names, plain.node_names) == (None, None)
    assert plain.training_smiles.tolist() == np.array(texts)[plain.training].tolist()
    weights = np.arange(14) % 5 > 0
    chosen = GraphClassifier(random_state=0).fit(data, sample_weight=weights).explain(graphs)
    assert chosen.training_names.tolist() == np.array(called)[chosen.training].tolist()
    bare = GraphClassifier(random_state=0).fit(TRAIN, np.arange(len(TRAIN)) % 2).explain(NEW)
    assert (bare.training_names, bare.training_smiles) == (None, None)


# Kernels of refined labels: shares of colours, which go to the nodes that have them

COLOURS = {
    "min-max": MinMax(WeisfeilerLehmanOA(2)),
    "min-max, rounds": MinMax(WeisfeilerLehman(3), (0, 1, 3)),
    "assignment": WeisfeilerLehmanOA(2),
    "assignment, not normalized": Scaled(WeisfeilerLehmanOA(2, normalize=False), "mean"),
    "subtrees": WeisfeilerLehman(2),
    "subtrees, not normalized": WeisfeilerLehman(1, normalize=False),
}


def colour_model(kernel, task="values", n_graphs=70):
    make = GraphRegressor if task in ("values", "outputs") else GraphClassifier
    model = make(kernel, C=10, candidates=None, cv=2, n_jobs=1, random_state=0)
    return model.fit(TRAIN[:n_graphs], TASKS[task][:n_graphs])


@pytest.mark.parametrize("name", COLOURS)
@pytest.mark.parametrize("task", TASKS)
def test_shares_of_colours_are_complete(name, task, tmp_path):
    model = colour_model(COLOURS[name], task)
    found = model.explain(NEW, TARGETS[task], n_training=10**6)
    np.testing.assert_allclose(found.baseline + sums(found), found.decisions, atol=1e-9)
    expected = signed_values(model, NEW, found)
    np.testing.assert_allclose(found.decisions, expected, rtol=1e-9, atol=1e-9)
    save_model(model, tmp_path / "model.retgk")
    loaded = load_model(tmp_path / "model.retgk").explain(NEW, TARGETS[task])
    np.testing.assert_array_equal(loaded.shares, found.shares)
    alone = model.explain(NEW[3:4], found.targets[3])
    np.testing.assert_allclose(alone.shares, found.of(3), atol=1e-9)


def coded_graphs(graphs, n_rounds, is_minima):
    """Vectors of colours for every level, and which coordinates each node of each graph has."""
    colours = refined_labels(graphs.without_edge_labels(), n_rounds)
    levels = []
    for own in colours.T:
        counts = np.array(
            [np.bincount(own[a:b], minlength=own.max() + 1) for a, b in pairwise(graphs.node_ptr)]
        ).astype(float)
        if not is_minima:
            levels.append((own, np.arange(counts.shape[1]), counts))
            continue
        steps = np.arange(1, int(counts.max()) + 1)
        codes = (counts[:, :, None] >= steps).reshape(len(counts), -1).astype(float)
        used = codes.any(axis=0)
        levels.append(
            (own, np.repeat(np.arange(counts.shape[1]), len(steps))[used], codes[:, used])
        )
    return levels


@pytest.mark.parametrize("name", COLOURS)
def test_shares_of_colours_are_integrated_gradients(name):
    """Against gradients by complex steps of the formula, averaged over many points of the line."""
    model, kernel = colour_model(COLOURS[name], n_graphs=6), COLOURS[name]
    own = kernel if isinstance(kernel, WeisfeilerLehman) else kernel.kernel
    is_min_max = isinstance(kernel, MinMax)
    is_minima = is_min_max or isinstance(own, WeisfeilerLehmanOA)
    new = NEW[:2]
    support = TRAIN[model.support_]
    levels = coded_graphs(GraphBatch.concatenate([support, new]), own.n_iter, is_minima)
    rounds = (kernel.rounds if is_min_max else None) or (own.n_iter,)
    codes = [level[2] for level in levels]
    width = np.cumsum([each.shape[1] for each in codes])
    vectors = np.concatenate(codes, axis=1)
    fitted_vectors, factor = vectors[: len(support)], getattr(model.kernel_, "factor_", 1.0)

    def value(m):
        """Decision values of some vectors, one each row."""
        total = 0
        for last in rounds:
            x, s = m[:, : width[last]], fitted_vectors[:, : width[last]]
            products, squares, norms = x @ s.T, (x * x).sum(1)[:, None], (s * s).sum(1)
            if is_min_max:
                products = products / (squares + norms - products)
            elif own.normalize:
                products = products / np.sqrt(squares * norms)
            total = total + products / len(rounds)
        return factor * total @ model.dual_coef_[0]

    points, weights = np.polynomial.legendre.leggauss(40)
    mean, found = fitted_vectors.mean(axis=0), model.explain(new)
    steps = 1e-30j * np.eye(len(mean))
    for graph in range(len(new)):
        line = vectors[len(support) + graph] - mean
        gradient = sum(
            0.5 * weight * value(mean + 0.5 * (t + 1) * line + steps).imag / 1e-30
            for t, weight in zip(points, weights, strict=True)
        )
        parts, shares = np.split(line * gradient, width[:-1]), np.zeros(new[graph].n_nodes)
        nodes = slice(support.n_nodes + new.node_ptr[graph], None)
        for (colours, of_code, _), share in zip(levels, parts, strict=True):
            here = colours[nodes][: len(shares)]
            of_colour = np.bincount(of_code, share, colours.max() + 1)
            shares += of_colour[here] / np.bincount(here)[here]
        left = (line * gradient).sum() - shares.sum()
        np.testing.assert_allclose(found.of(graph), shares + left / len(shares), atol=1e-9)


def test_slopes_of_short_and_long_lines():
    """Both ways in which the integrals of min-max kernels are found, beside plain quadrature."""
    rng = np.random.default_rng(0)
    points, weights = np.polynomial.legendre.leggauss(20)
    t = (np.arange(100)[:, None] + 0.5 * (points + 1)).ravel() / 100
    weights = np.tile(0.5 * weights, 100) / 100
    for size in (1e-9, 1e-3, 0.1, 1.0, 30.0):
        mean, fitted_vectors = rng.random(6), rng.random((5, 6))
        end = mean + size * rng.random(6)
        ends = _Ends(
            fitted_vectors @ mean, fitted_vectors @ end, (fitted_vectors**2).sum(1),
            (mean @ mean, mean @ end, end @ end),
        )  # fmt: skip
        line = mean + t[:, None] * (end - mean)
        x, q = line @ fitted_vectors.T, (line**2).sum(1)[:, None]
        whole = q + ends.norms - x
        expected = [
            weights @ ((q + ends.norms) / whole**2),
            weights @ (2 * x / whole**2),
            weights @ (2 * t[:, None] * x / whole**2),
        ]
        np.testing.assert_allclose(_mean_slopes("ratio", ends), expected, rtol=1e-11)
