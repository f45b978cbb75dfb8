"""Explanations: complete, symmetric, in any order of nodes; training graphs and contrasts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import GraphBatch, InvalidInputError, RetGKClassifier, load_model, save_model
from retgk.estimators import classifier as classifier_module
from retgk.estimators import explanation as explaining
from retgk.kernels.engine import NodeFeatures
from tests.explained_models import NEW, OPTIONS, TARGETS, TASKS, TRAIN, fitted, signed_values, sums
from tests.walk_graphs import complete, path, star


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("task", TASKS)
def test_complete(task, approximate):
    model = fitted(task, approximate)
    found = model.explain(NEW, TARGETS[task])
    np.testing.assert_allclose(found.baseline + sums(found), found.decisions, atol=1e-9)
    expected = signed_values(model, NEW, found)
    np.testing.assert_allclose(found.decisions, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found.predictions, model.predict(NEW))
    assert found.node_ptr.tolist() == NEW.node_ptr.tolist()


@pytest.mark.parametrize("feature_map", ["joint", "tensor"])
def test_complete_with_blocks_of_labels(feature_map):
    model = fitted("three classes", True, depth=0, feature_map=feature_map, n_components=32)
    names = [NEW.label_names[code] for code in NEW.labels]
    unknown = NEW.with_labels([*names[:-4], *["new"] * 4])
    assert np.ptp(model.explain(unknown).shares[-4:]) < 1e-12  # they match nothing, and are alike
    found = model.explain(NEW)
    np.testing.assert_allclose(found.baseline + sums(found), found.decisions, atol=1e-9)


@pytest.mark.parametrize("approximate", [False, True])
def test_complete_with_landmarks(approximate, monkeypatch):
    monkeypatch.setattr(classifier_module, "MAX_EXACT_GRAPHS", 10)
    model = RetGKClassifier(approximate=True, n_landmarks=20 + approximate, **OPTIONS)
    model.fit(TRAIN, TASKS["three classes"][:70])
    assert model.solver_ == "ridge"
    found = model.explain(NEW)
    np.testing.assert_allclose(found.baseline + sums(found), found.decisions, atol=1e-9)
    expected = model.decision_function(NEW).max(axis=1)
    np.testing.assert_allclose(found.decisions, expected, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    approximate=st.booleans(),
    task=st.sampled_from(list(TASKS)),
    graph=st.integers(0, len(NEW) - 1),
)
def test_order_of_nodes_and_symmetry(seed, approximate, task, graph):
    """Nodes of a graph and of its twin, in any order, have the same shares, halved."""
    model, own = fitted(task, approximate), NEW[graph : graph + 1]
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


@pytest.mark.parametrize("approximate", [False, True])
def test_a_graph_stands_alone(approximate, monkeypatch):
    model = fitted("three classes", approximate)
    whole = model.explain(NEW)
    for graph in (0, 7):
        np.testing.assert_array_equal(model.explain(NEW[graph : graph + 1]).of(0), whole.of(graph))
    monkeypatch.setattr(explaining, "_GRAPHS_AT_A_TIME", 3)
    again = model.explain(NEW)
    for name, value in vars(whole).items():
        np.testing.assert_array_equal(value, getattr(again, name), err_msg=name)


def test_explaining_changes_no_prediction():
    model = RetGKClassifier(approximate=False, **OPTIONS).fit(TRAIN, TASKS["two classes"][:70])
    before = model.decision_function(NEW)
    model.explain(NEW)
    np.testing.assert_array_equal(model.decision_function(NEW), before)


# training graphs, contrasts, targets


@pytest.mark.parametrize("task", ["two classes", "three classes", "values"])
def test_shares_of_training_graphs(task):
    model = fitted(task, False)
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


@pytest.mark.parametrize("approximate", [False, True])
def test_contrast_is_the_nearest_of_another_class(approximate):
    model = fitted("three classes", approximate)
    targets = TASKS["three classes"][:70]
    np.testing.assert_array_equal(model.classes_[model.support_codes_], targets[model.support_])
    found = model.explain(NEW)
    new = model.engine_.compare(NodeFeatures(NEW, model.walks_))
    squares = np.add.outer(new.squared_norms(), model.engine_.squared_norms())
    squares -= 2 * new.products()
    for graph in range(len(NEW)):
        others = np.flatnonzero(targets[model.support_] != found.targets[graph])
        best = others[squares[graph, others].argmin()]
        assert found.contrast[graph] == model.support_[best]
        assert found.contrast_distances[graph] == pytest.approx(np.sqrt(squares[graph, best]))


def test_contrast_of_labels_and_values():
    found = fitted("labels", False).explain(NEW, 1)
    truth, model = TASKS["labels"][:70], fitted("labels", False)
    predicted = model.predict(NEW)[:, 1]
    np.testing.assert_array_equal(truth[found.contrast, 1], 1 - predicted)
    assert fitted("values", False).explain(NEW).contrast is None


def test_targets():
    model = fitted("three classes", False)
    predicted = model.predict(NEW)
    for target in (None, "predicted", predicted, predicted.tolist()):
        np.testing.assert_array_equal(model.explain(NEW, target).targets, predicted)
    mixed = model.explain(NEW, np.where(np.arange(len(NEW)) < 5, "a", "c"))
    np.testing.assert_array_equal(mixed.of(2), model.explain(NEW, "a").of(2))
    np.testing.assert_array_equal(mixed.of(9), model.explain(NEW, "c").of(9))
    two = fitted("two classes", False)
    first, second = (two.explain(NEW, target).shares for target in (0, 1))
    np.testing.assert_array_equal(first, -second)


@pytest.mark.parametrize(
    ("task", "arguments", "message"),
    [
        ("three classes", ("d",), "target 'd' is none of those of the model, which are 'a', 'b'"),
        ("three classes", (["a", "b"],), r"target has shape \(2,\), but there are 20 graphs"),
        ("labels", (), "the model has 3 outputs; give the number of one of them, from 0 to 2"),
        ("outputs", (2,), "target 2 is none of those of the model, which are 0, 1"),
        ("values", ("mean",), "target 'mean' is none"),
    ],
)
def test_wrong_targets(task, arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        fitted(task, False).explain(NEW, *arguments)


@pytest.mark.parametrize("count", [-1, 2.5, True, "all"])
def test_wrong_numbers_of_training_graphs(count):
    with pytest.raises(InvalidInputError, match="n_training must be"):
        fitted("values", False).explain(NEW, n_training=count)


def test_not_fitted_and_wrong_graphs():
    with pytest.raises(ValueError, match="not fitted"):
        RetGKClassifier().explain(NEW)
    with pytest.raises(InvalidInputError, match="labels"):
        fitted("values", False).explain(NEW.without_labels())


def test_explanation_of_one_graph_among_others():
    found = fitted("values", False).explain(NEW)
    assert len(found) == len(NEW)
    np.testing.assert_array_equal(found.of(-1), found.of(len(NEW) - 1))
    assert len(found.of(3)) == NEW.node_counts[3]
    with pytest.raises(InvalidInputError, match="there is no graph 20"):
        found.of(20)
    assert len(fitted("values", False).explain(NEW[:0])) == 0


def test_graphs_that_are_all_alike():
    """The line is a point: shares add up to nothing, and are numbers."""
    graphs = GraphBatch.concatenate([star(4), path(5)] * 6)
    model = RetGKClassifier(cv=2, depth=0, random_state=0, approximate=False)
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
    model = fitted(task, False)
    save_model(model, tmp_path / "model.retgk")
    again = load_model(tmp_path / "model.retgk")
    first, second = (each.explain(NEW, TARGETS[task]) for each in (model, again))
    np.testing.assert_array_equal(second.contrast, first.contrast)
    np.testing.assert_allclose(second.shares, first.shares, atol=1e-12)
