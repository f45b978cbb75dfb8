"""Several labels or values for each graph, from one kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import cross_val_predict, cross_val_score

from retgk import InvalidInputError, RetGKClassifier, RetGKRegressor, load_model, save_model
from retgk.errors import InputWarning
from retgk.kernels.exact import ExactEngine
from retgk.learning.folds import inner_folds
from tests.classifier_graphs import three_classes

DATA = three_classes()
GRAPHS, TEST = DATA.graphs[:60], DATA.graphs[60:]
LARGE = DATA.graphs.node_counts > np.median(DATA.graphs.node_counts)
ALL_LABELS = np.stack([DATA.targets == 0, DATA.targets == 1, LARGE], axis=1).astype(int)
LABELS, TEST_LABELS = ALL_LABELS[:60], ALL_LABELS[60:]
OPTIONS = {"n_steps": 8, "C": (1, 100), "p": 1, "scale": 1, "cv": 3, "depth": 0, "random_state": 0}
FOLDS = [(np.flatnonzero(np.arange(60) % 3 != f), np.arange(f, 60, 3)) for f in range(3)]


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("dtype", [int, float, bool, object])
def test_shapes(approximate, dtype):
    model = RetGKClassifier(**OPTIONS, approximate=approximate).fit(GRAPHS, LABELS.astype(dtype))
    assert model.multilabel_
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict(TEST).shape == (30, 3)
    assert set(np.unique(model.predict(TEST))) <= {0, 1}
    assert_array_equal(model.predict(TEST), model.decision_function(TEST) > 0)
    probabilities = model.predict_proba(TEST)
    assert probabilities.shape == (30, 3)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    right = (model.predict(TEST) == TEST_LABELS).all(axis=1).mean()
    assert model.score(TEST, TEST_LABELS) == right
    assert (model.predict(TEST) == TEST_LABELS).mean() > 0.75


@pytest.mark.parametrize("is_ridge", [False, True])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1, 1: 3}])
def test_labels_are_as_alone(is_ridge, class_weight, monkeypatch):
    """With one candidate, each label has the machine that it has without the others."""
    if is_ridge:
        monkeypatch.setattr("retgk.estimators.classifier.MAX_EXACT_GRAPHS", 10)
    options = {**OPTIONS, "C": 10, "approximate": is_ridge, "class_weight": class_weight}
    together = RetGKClassifier(**{**options, "cv": FOLDS}).fit(GRAPHS, LABELS)
    assert together.solver_ == ("ridge" if is_ridge else "support vectors")
    for label in range(3):
        alone = RetGKClassifier(**{**options, "cv": FOLDS}).fit(GRAPHS, LABELS[:, label])
        assert_allclose(
            together.decision_function(TEST)[:, label], alone.decision_function(TEST), atol=1e-6
        )
        assert_allclose(
            together.predict_proba(TEST)[:, label], alone.predict_proba(TEST)[:, 1], atol=1e-6
        )


def test_the_kernel_is_computed_once(monkeypatch):
    calls = []
    inner_products = ExactEngine.inner_products
    monkeypatch.setattr(
        ExactEngine, "inner_products", lambda *a: (calls.append(1), inner_products(*a))[1]
    )
    RetGKClassifier(**OPTIONS).fit(GRAPHS, LABELS)
    assert len(calls) == 1


@pytest.mark.parametrize("scoring", [None, "roc_auc", "f1_macro"])
def test_in_scikit_learn(scoring):
    model = RetGKClassifier(**OPTIONS)
    scores = cross_val_score(model, DATA.graphs, ALL_LABELS, cv=2, scoring=scoring)
    assert (scores > 0.4).all()
    found = cross_val_predict(model, DATA.graphs, ALL_LABELS, cv=2, method="predict_proba")
    assert found.shape == (90, 3)


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_model_files(tmp_path, scoring):
    for n_labels in (2, 3):
        model = RetGKClassifier(**OPTIONS, scoring=scoring).fit(GRAPHS, LABELS[:, :n_labels])
        save_model(model, tmp_path / "model.retgk")
        loaded = load_model(tmp_path / "model.retgk")
        assert loaded.multilabel_
        for name in ("predict", "decision_function", "predict_proba"):
            assert_array_equal(getattr(loaded, name)(TEST), getattr(model, name)(TEST))


def test_callables_are_no_part_of_model_files(tmp_path):
    model = RetGKClassifier(**OPTIONS, scoring=lambda *_: 0.0).fit(GRAPHS, LABELS)
    with pytest.raises(InvalidInputError, match=r"has done its work: set_params\(scoring=None\)"):
        save_model(model, tmp_path / "model.retgk")


@pytest.mark.parametrize("approximate", [False, True])
def test_a_label_that_all_graphs_have(approximate):
    labels = np.column_stack([LABELS, np.ones(60, int), np.zeros(60, int)])
    model = RetGKClassifier(**OPTIONS, approximate=approximate)
    with pytest.warns(InputWarning, match="label 3, 4 is the same for all 60 graphs, and so is"):
        model.fit(GRAPHS, labels)
    assert_array_equal(model.predict(TEST)[:, 3:], np.tile([1, 0], (30, 1)))
    assert (model.predict_proba(TEST)[:, 3] > 0.9).all()
    assert (model.predict_proba(TEST)[:, 4] < 0.1).all()
    expected = RetGKClassifier(**OPTIONS, approximate=approximate).fit(GRAPHS, LABELS)
    assert_allclose(model.decision_function(TEST)[:, :3], expected.decision_function(TEST))


def test_labels_that_are_rare_in_folds():
    labels = LABELS.copy()
    labels[:, 0] = 0
    labels[7, 0] = 1
    model = RetGKClassifier(**{**OPTIONS, "cv": FOLDS}).fit(GRAPHS, labels)
    assert np.isfinite(model.decision_function(TEST)).all()
    assert np.isfinite(model.predict_proba(TEST)).all()


def test_folds_share_labels():
    labels = (np.random.default_rng(0).random((400, 4)) < [0.5, 0.2, 0.05, 0.3]).astype(int)
    for _, test in inner_folds(5, labels, 0):
        assert abs(len(test) - 80) <= 1
        assert (np.abs(labels[test].sum(axis=0) - labels.sum(axis=0) / 5) <= 4).all()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (LABELS * 2, "must be zeros and ones, which say what labels a graph has; for several"),
        (LABELS.astype(str), "must be zeros and ones"),
        (LABELS[:, :, None] * [1, 1], r"of shape \(60, 3, 2\) must be zeros and ones"),
        (np.ones((60, 2)), "none of the 2 labels tells graphs apart"),
        (np.where(LABELS, np.nan, 0.0), r"target \d of graph 0 is nan .*fit a model for each targ"),
        (np.ones((59, 2)), "there are 60 graphs but 59 targets"),
    ],
)
def test_bad_labels(y, message):
    with pytest.raises(InvalidInputError, match=message):
        RetGKClassifier(**OPTIONS).fit(GRAPHS, y)


@pytest.mark.parametrize("approximate", [False, True])
def test_values_are_as_alone(approximate):
    y = np.stack([GRAPHS.node_counts, 1000.0 * GRAPHS.edge_counts], axis=1)
    options = {**OPTIONS, "C": 10, "approximate": approximate}
    together = RetGKRegressor(**options).fit(GRAPHS, y)
    assert together.predict(TEST).shape == (30, 2)
    for column in range(2):
        alone = RetGKRegressor(**options).fit(GRAPHS, y[:, column])
        assert_allclose(together.predict(TEST)[:, column], alone.predict(TEST), rtol=1e-7)


def test_a_missing_value_names_its_column():
    y = np.stack([GRAPHS.node_counts, GRAPHS.edge_counts], axis=1).astype(float)
    y[[4, 9], 1] = np.nan
    message = "target 1 of graph 4 is nan .*; 2 of 60 graphs have no such target: drop these, or"
    with pytest.raises(InvalidInputError, match=message):
        RetGKRegressor(**OPTIONS).fit(GRAPHS, y)
