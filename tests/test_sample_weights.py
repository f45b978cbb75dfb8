"""Weights of graphs: ones change no bit, whole numbers stand for repeated graphs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from retgk import InvalidInputError, Laplacian, RetGKClassifier, RetGKRegressor
from retgk.kernels.graph import median_squared_mmd, typical_squared_mmd
from retgk.learning.ridge import LandmarkRidge
from tests.classifier_graphs import three_classes

DATA = three_classes()
GRAPHS, CLASSES = DATA.graphs[:60], DATA.targets[:60]
SIZES = GRAPHS.node_counts.astype(float)
# A bandwidth from nodes drawn at random is another one where graphs are repeated.
OPTIONS = {"n_steps": 6, "structure_kernel": Laplacian(1.0), "random_state": 0, "scale": 1}
WEIGHTS = np.random.default_rng(0).integers(0, 4, 60)
REPEATED = np.repeat(np.arange(60), WEIGHTS)
FOLD = np.arange(60) % 3


def folds(fold):
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]


def answers(model):
    names = ("predict", "decision_function", "predict_proba")
    return [getattr(model, name)(GRAPHS) for name in names if hasattr(model, name)]


MODELS = [
    (RetGKClassifier, CLASSES),
    (RetGKClassifier, np.stack([CLASSES == 0, CLASSES == 1], axis=1)),
    (RetGKRegressor, SIZES),
]


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("weights", [np.ones(60), [1] * 60, 1.0])
@pytest.mark.parametrize(("make", "y"), MODELS)
def test_ones_change_no_bit(make, y, weights, approximate):
    model = make(**OPTIONS, cv=3, approximate=approximate)
    expected = answers(model.fit(GRAPHS, y))
    for a, b in zip(expected, answers(model.fit(GRAPHS, y, sample_weight=weights)), strict=True):
        assert_array_equal(a, b)


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("scoring", [None, "f1_macro"])
def test_repeated_graphs_of_classes(approximate, class_weight, scoring):
    model = RetGKClassifier(
        **OPTIONS, approximate=approximate, class_weight=class_weight, scoring=scoring
    )
    weighted = model.set_params(cv=folds(FOLD)).fit(GRAPHS, CLASSES, sample_weight=WEIGHTS)
    first = answers(weighted), weighted.best_params_, weighted.best_score_
    assert set(weighted.support_) <= set(np.flatnonzero(WEIGHTS))
    again = model.set_params(cv=folds(FOLD[REPEATED])).fit(GRAPHS[REPEATED], CLASSES[REPEATED])
    assert again.best_params_ == first[1]
    assert again.best_score_ == pytest.approx(first[2], abs=1e-9)
    for a, b in zip(first[0], answers(again), strict=True):
        assert_allclose(a, b, atol=2e-3)  # LIBSVM stops within 1e-3


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("y", [SIZES, np.stack([SIZES, GRAPHS.edge_counts], axis=1)])
def test_repeated_graphs_of_values(approximate, y):
    model = RetGKRegressor(**OPTIONS, approximate=approximate, tol=1e-10)
    weighted = model.set_params(cv=folds(FOLD)).fit(GRAPHS, y, sample_weight=WEIGHTS)
    expected = weighted.predict(GRAPHS), weighted.best_score_
    again = model.set_params(cv=folds(FOLD[REPEATED])).fit(GRAPHS[REPEATED], y[REPEATED])
    assert_allclose(again.predict(GRAPHS), expected[0], rtol=1e-7)
    assert again.best_score_ == pytest.approx(expected[1], rel=1e-9)


def test_weight_zero_is_not_there():
    kept = np.flatnonzero(WEIGHTS)
    model = RetGKClassifier(**OPTIONS, cv=3)
    weighted = answers(model.fit(GRAPHS, CLASSES, sample_weight=WEIGHTS > 0))
    support = model.support_
    for a, b in zip(weighted, answers(model.fit(GRAPHS[kept], CLASSES[kept])), strict=True):
        assert_array_equal(a, b)
    assert_array_equal(support, kept[model.support_])


def test_equal_weights_are_a_factor_of_c():
    kwargs = {**OPTIONS, "cv": 3, "p": 1, "approximate": True}
    double = RetGKRegressor(**kwargs, C=1).fit(GRAPHS, SIZES, sample_weight=np.full(60, 2))
    assert_allclose(
        double.predict(GRAPHS),
        RetGKRegressor(**kwargs, C=2).fit(GRAPHS, SIZES).predict(GRAPHS),
        rtol=1e-9,
    )


def test_the_ridge_of_many_graphs(monkeypatch):
    monkeypatch.setattr("retgk.estimators.classifier.MAX_EXACT_GRAPHS", 10)
    seen = []
    init = LandmarkRidge.__init__
    monkeypatch.setattr(
        LandmarkRidge, "__init__", lambda self, t, w: (seen.append(w), init(self, t, w))[1]
    )
    model = RetGKClassifier(**OPTIONS, cv=3, approximate=True, class_weight={0: 2, 1: 1, 2: 1})
    model.fit(GRAPHS, CLASSES, sample_weight=WEIGHTS + 1)
    assert model.solver_ == "ridge"
    assert_array_equal(seen[0], (WEIGHTS + 1) * np.where(CLASSES == 0, 2, 1))


def test_scores_have_weights():
    model = RetGKClassifier(**OPTIONS, cv=3, C=1).fit(GRAPHS, CLASSES)
    is_right = model.predict(DATA.graphs) == DATA.targets
    weights = np.arange(90)
    assert model.score(DATA.graphs, DATA.targets, weights) == np.average(is_right, weights=weights)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(60), "sample_weight of graph 0 is -1; weights must be finite and at least zero"),
        (np.full(60, np.nan), "sample_weight of graph 0 is nan"),
        (np.ones(59), r"sample_weight has shape \(59,\), but there are 60 graphs; give one"),
        (np.zeros(60), "sample_weight is zero for all graphs"),
        (["heavy"] * 60, "sample_weight must be numbers, one for each graph"),
        (CLASSES == 0, "are of one class, 0; a classifier needs graphs of two classes"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(InvalidInputError, match=message):
        RetGKClassifier(**OPTIONS).fit(GRAPHS, CLASSES, sample_weight=weights)


@pytest.mark.parametrize("n_alike", [0, 7])
def test_weighted_medians_are_those_of_repeated_graphs(n_alike):
    rng = np.random.default_rng(1)
    points = rng.normal(size=(9, 3))
    points[:n_alike] = points[0]
    for _ in range(20):
        weights = rng.integers(1, 4, 9)
        repeated = np.repeat(points, weights, axis=0)
        expected = typical_squared_mmd(repeated @ repeated.T)
        found = typical_squared_mmd(points @ points.T, weights=weights.astype(float))
        assert found == pytest.approx(expected, rel=1e-12)
    assert n_alike or median_squared_mmd(points @ points.T) == pytest.approx(
        typical_squared_mmd(points @ points.T, weights=np.full(9, 0.7))
    )
