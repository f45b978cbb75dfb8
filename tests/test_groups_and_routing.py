"""Groups stay together in folds; weights and groups come by scikit-learn's metadata routing."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneGroupOut,
    StratifiedGroupKFold,
    cross_validate,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from retgk import InvalidInputError, RetGKClassifier, RetGKRegressor, load_model, save_model
from retgk.learning.folds import Grouping, inner_folds, repeated_folds
from tests.classifier_graphs import three_classes

DATA = three_classes()
GRAPHS, CLASSES = DATA.graphs[:60], DATA.targets[:60]
GROUPS = np.arange(60) // 4
WEIGHTS = np.arange(60) % 3 + 0.5
OPTIONS = {"n_steps": 6, "C": (1, 10), "p": 1, "scale": 1, "cv": 3, "random_state": 0}
SEEN = []


class SpyClassifier(RetGKClassifier):
    def fit(self, X, y=None, sample_weight=None, groups=None):
        SEEN.append((sample_weight, groups))
        return super().fit(X, y, sample_weight, groups)


class SpyRegressor(RetGKRegressor):
    def fit(self, X, y=None, sample_weight=None, groups=None):
        SEEN.append((sample_weight, groups))
        return super().fit(X, y, sample_weight, groups)


@pytest.mark.parametrize("cv", [3, GroupKFold(3), StratifiedGroupKFold(3), LeaveOneGroupOut()])
@pytest.mark.parametrize("kind", ["classes", "labels", "values"])
def test_no_group_is_on_both_sides(cv, kind):
    labels = np.stack([CLASSES == 0, CLASSES == 1], axis=1).astype(int)
    if kind == "labels" and isinstance(cv, StratifiedGroupKFold):
        pytest.skip("scikit-learn has no strata of several labels")
    grouping = Grouping(GROUPS)
    found = {
        "classes": lambda: inner_folds(cv, CLASSES, 0, grouping),
        "labels": lambda: inner_folds(cv, labels, 0, grouping),
        "values": lambda: inner_folds(cv, np.zeros(60), 0, grouping),
    }[kind]()
    assert sorted(np.concatenate([test for _, test in found])) == list(range(60))
    for train, test in found:
        assert not set(GROUPS[train]) & set(GROUPS[test])


def test_fit_hands_groups_on():
    for make, y in ((RetGKClassifier, CLASSES), (RetGKRegressor, GRAPHS.node_counts)):
        model = make(**OPTIONS).fit(GRAPHS, y, groups=GROUPS)
        assert model.n_splits_ == 3
        assert make(**{**OPTIONS, "cv": LeaveOneGroupOut()}).fit(
            GRAPHS, y, groups=GROUPS // 3
        ).n_splits_ == len(np.unique(GROUPS // 3))
    assert (
        RetGKClassifier(**{**OPTIONS, "cv": 9}).fit(GRAPHS, CLASSES, groups=GROUPS // 5).n_splits_
        == 3
    )


@pytest.mark.parametrize("regression", [False, True])
def test_folds_of_large_seeds(regression):
    targets, groups = np.arange(40) % 2, np.arange(40) // 2
    for own in (None, groups):
        seeds = [3, 2**32 - 1, 2**32, 2**32 + 3, 2**64 + 3]
        found = repeated_folds(targets, 3, seeds, regression=regression, groups=own)
        tests = [[fold.test.tolist() for fold in folds] for folds in found]
        if own is None or regression:  # scikit-learn 1.6 leaves groups of equal classes in order
            assert len({str(test) for test in tests}) == 5
        again = repeated_folds(targets, 3, seeds[2:], regression=regression, groups=own)
        assert [[fold.test.tolist() for fold in folds] for folds in again] == tests[2:]


def test_large_seeds_of_models_with_groups():
    model = RetGKClassifier(**{**OPTIONS, "random_state": 2**33})
    assert model.fit(GRAPHS, CLASSES, groups=GROUPS).n_splits_ == 3


def test_weight_zero_leaves_its_group():
    groups = np.array([f"group {group}" for group in GROUPS])
    weights = np.where(GROUPS == 0, 0.0, 1.0)
    kept = weights > 0
    model = RetGKClassifier(**OPTIONS)
    found = model.fit(GRAPHS, CLASSES, weights, groups).decision_function(GRAPHS)
    expected = model.fit(GRAPHS[kept], CLASSES[kept], groups=groups[kept])
    np.testing.assert_array_equal(found, expected.decision_function(GRAPHS))


@pytest.mark.parametrize(
    ("options", "groups", "message"),
    [
        ({}, np.zeros(60), "all graphs are of one group, so that none is left to test on"),
        ({}, GROUPS[:9], r"groups has shape \(9,\), but there are 60 graphs; give one group"),
        ({}, [None] * 60, "the group of graph 0 is missing; give every graph a group"),
        ({}, CLASSES, "without graphs of some class; a class must have graphs in several groups"),
        ({"cv": [([0], [1])]}, GROUPS, "there are groups, but cv is a list of folds, which takes"),
        ({"cv": GroupKFold(3)}, None, r"cv=GroupKFold.* cannot be used: .*; give fit the groups"),
    ],
)
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_bad_groups(options, groups, message):
    with pytest.raises(InvalidInputError, match=message):
        RetGKClassifier(**{**OPTIONS, **options}).fit(GRAPHS, CLASSES, groups=groups)


@pytest.mark.parametrize(
    ("make", "y"), [(SpyClassifier, CLASSES), (SpyRegressor, GRAPHS.node_counts.astype(float))]
)
def test_metadata_routing(make, y):
    given = {"sample_weight": WEIGHTS, "groups": GROUPS}
    with sklearn.config_context(enable_metadata_routing=True):
        model = make(**OPTIONS).set_fit_request(sample_weight=True, groups=True)
        model.set_score_request(sample_weight=True)
        SEEN.clear()
        cross_validate(model, GRAPHS, y, params=given, cv=GroupKFold(3), error_score="raise")
        assert [(len(w), len(g)) for w, g in SEEN] == [(40, 40)] * 3
        search = GridSearchCV(model, {"p": [1, 2]}, cv=GroupKFold(3), error_score="raise")
        search.fit(GRAPHS, y, **given)
        np.testing.assert_array_equal(SEEN[-1][0], WEIGHTS)
        same = FunctionTransformer(lambda graphs: graphs)
        pipeline = Pipeline([("same", same), ("model", model)]).fit(GRAPHS, y, **given)
        np.testing.assert_array_equal(SEEN[-1][1], GROUPS)
        assert pipeline.score(GRAPHS, y, sample_weight=WEIGHTS) == pipeline["model"].score(
            GRAPHS, y, sample_weight=WEIGHTS
        )


def test_pipelines_without_routing():
    SEEN.clear()
    Pipeline([("model", SpyClassifier(**OPTIONS))]).fit(
        GRAPHS, CLASSES, model__sample_weight=WEIGHTS, model__groups=GROUPS
    )
    assert SEEN[0][0] is WEIGHTS


def test_model_files_know_group_splitters(tmp_path):
    for cv in (GroupKFold(3), StratifiedGroupKFold(3, shuffle=True, random_state=1)):
        model = RetGKClassifier(**{**OPTIONS, "cv": cv}).fit(GRAPHS, CLASSES, groups=GROUPS)
        save_model(model, tmp_path / "model.retgk")
        assert repr(load_model(tmp_path / "model.retgk").cv) == repr(cv)
