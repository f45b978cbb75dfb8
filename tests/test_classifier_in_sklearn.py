"""
The checks that scikit-learn has for estimators.

They feed two-dimensional arrays, and leave out nearly all of themselves for estimators that say
that they take something else. `tests.example_graphs` makes every row a graph, so that they run.
"""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.exceptions import SkipTestWarning
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    StratifiedGroupKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.multiclass import OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks
from sklearn.utils.fixes import parse_version

import retgk
from retgk import (
    Bridge,
    ExponentialGraphKernel,
    Gaussian,
    GraphDataset,
    InvalidInputError,
    Laplacian,
    PolynomialGraphKernel,
    RetGKClassifier,
    RetGKEmbedding,
    RetGKKernel,
    RetGKRegressor,
    as_batch,
    load_model,
    save_model,
    to_networkx,
)
from retgk.kernels.embedded import EmbeddedEngine
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import ExactEngine
from retgk.kernels.graph import median_squared_mmd, typical_squared_mmd
from retgk.kernels.others import all_kernels
from retgk.learning.folds import Grouping, inner_folds, repeated_folds
from retgk.learning.ridge import LandmarkRidge
from retgk.walks.probabilities import Walks
from tests.example_graphs import (
    RowsClassifier,
    RowsDeep,
    RowsEmbedding,
    RowsGraphlets,
    RowsHashes,
    RowsInvariants,
    RowsKernel,
    RowsMatchings,
    RowsPaths,
    RowsRegressor,
    RowsSubtrees,
    graphs_of_kind,
    three_classes,
)

# A row with one number is a graph with one node, for which no bandwidth can be found.
FIXED = {"structure_kernel": Laplacian(1.0), "n_steps": 4, "random_state": 0, "n_jobs": 1}
# Means and deviations of attributes count graphs once, whatever their weights.
QUICK = {"C": (1, 100), "p": 1, "scale": 1, "cv": 3, "depth": (0, 1), "scale_attributes": "raw"}
ESTIMATORS = [
    RowsKernel(**FIXED),
    RowsEmbedding(**FIXED, n_components=20),
    RowsSubtrees(n_jobs=1),
    RowsPaths(n_jobs=1, attribute_kernel=Laplacian(1.0)),
    RowsGraphlets(3, n_jobs=1),
    RowsMatchings(3, n_jobs=1),
    RowsMatchings(2, n_jobs=1, attribute_kernel=Bridge(1.0)),
    RowsHashes(2, n_jobs=1, random_state=0),
    RowsInvariants(1, n_jobs=1),
    RowsDeep(n_jobs=1, n_iter=1, random_state=0),
    RowsClassifier(**FIXED, **QUICK),
    RowsClassifier(**FIXED, **QUICK, approximate=True, n_components=400),
    RowsRegressor(**FIXED, **QUICK),
    # with bandwidths from nodes drawn at random, repeated graphs would have other ones
    RowsRegressor(
        **FIXED, **QUICK, approximate=True, n_components=20, attribute_kernel=Laplacian(1.0)
    ),
]
# Checks that cannot pass, by class and name, with the reason.
EXCEPTIONS: dict[str, dict[str, str]] = {
    "RowsClassifier": {
        "check_sample_weight_equivalence_on_dense_data": "LIBSVM stops within 1e-3 of the optimum, "
        "in other places for repeated graphs; SVC has the same exception in scikit-learn. What "
        "holds is tested in test_sample_weights.py"
    }
}


@pytest.mark.filterwarnings("default")  # checks provoke warnings of scikit-learn itself
@parametrize_with_checks(
    ESTIMATORS,
    expected_failed_checks=lambda estimator: EXCEPTIONS.get(type(estimator).__name__, {}),
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "estimator",
    [
        RetGKKernel(),
        RetGKEmbedding(),
        RetGKClassifier(),
        RetGKRegressor(),
        *(kind() for kind in all_kernels()),
    ],
    ids=str,
)
def test_what_is_left_for_estimators_of_graphs(estimator):
    """Parameters, tags and cloning; the rest needs arrays, as scikit-learn says itself."""
    with pytest.warns(SkipTestWarning, match="Can't test estimator"):
        results = check_estimator(estimator)
    assert {result["status"] for result in results} == {"passed"}


# Groups stay together in folds; weights and groups come by scikit-learn's metadata routing

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


# Tools of scikit-learn that slice X take all kinds of graphs; those that want tables get one

DATA_META_ESTIMATORS = three_classes()
GRAPHS_META_ESTIMATORS = DATA_META_ESTIMATORS.graphs[:36].without_labels()
CLASSES_META_ESTIMATORS = DATA_META_ESTIMATORS.targets[:36] == 1
LABELS = np.stack([CLASSES_META_ESTIMATORS, GRAPHS_META_ESTIMATORS.node_counts > 9], axis=1).astype(
    int
)
SIZES = GRAPHS_META_ESTIMATORS.node_counts.astype(float)
OPTIONS_META_ESTIMATORS = {"n_steps": 5, "cv": 2, "C": 10, "p": 1, "scale": 1, "random_state": 0}
CLASSIFIER, REGRESSOR = (
    RetGKClassifier(**OPTIONS_META_ESTIMATORS),
    RetGKRegressor(**OPTIONS_META_ESTIMATORS),
)
SMILES = ["C" * (1 + i % 6) + "O" * int(y) for i, y in enumerate(CLASSES_META_ESTIMATORS)]
KINDS = ["batch", "dataset", "networkx", "smiles"]

PUBLIC = [getattr(retgk, name) for name in retgk.__all__]
TRANSFORMERS = [
    kind() for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, TransformerMixin)
]

SLICING = {
    "voting": (
        VotingClassifier([("a", CLASSIFIER), ("b", CLASSIFIER)], voting="soft"),
        CLASSES_META_ESTIMATORS,
    ),
    "voting regressor": (VotingRegressor([("a", REGRESSOR), ("b", REGRESSOR)]), SIZES),
    "stacking": (StackingClassifier([("a", CLASSIFIER)], cv=2), CLASSES_META_ESTIMATORS),
    "stacking regressor": (StackingRegressor([("a", REGRESSOR)], cv=2), SIZES),
    "calibrated": (CalibratedClassifierCV(CLASSIFIER, cv=2), CLASSES_META_ESTIMATORS),
    "one against the rest": (OneVsRestClassifier(CLASSIFIER), DATA_META_ESTIMATORS.targets[:36]),
    "several labels": (OneVsRestClassifier(CLASSIFIER), LABELS),
    "several outputs": (MultiOutputClassifier(CLASSIFIER), LABELS),
    "several values": (MultiOutputRegressor(REGRESSOR), np.stack([SIZES, -SIZES], axis=1)),
    "tuned threshold": (TunedThresholdClassifierCV(CLASSIFIER, cv=2), CLASSES_META_ESTIMATORS),
    "fixed threshold": (FixedThresholdClassifier(CLASSIFIER), CLASSES_META_ESTIMATORS),
    "transformed targets": (
        TransformedTargetRegressor(REGRESSOR, func=np.log, inverse_func=np.exp),
        SIZES,
    ),
    "search": (
        GridSearchCV(CLASSIFIER, {"C": [1, 10]}, cv=2, scoring="roc_auc"),
        CLASSES_META_ESTIMATORS,
    ),
}
# These check X as a table of two dimensions: a column of graphs is one.
TABLES = {
    "bagging": (BaggingClassifier(CLASSIFIER, 2, random_state=0), CLASSES_META_ESTIMATORS),
    "bagging regressor": (BaggingRegressor(REGRESSOR, 2, random_state=0), SIZES),
    "boosting": (
        AdaBoostClassifier(CLASSIFIER, n_estimators=2, random_state=0),
        CLASSES_META_ESTIMATORS,
    ),
    "boosting regressor": (AdaBoostRegressor(REGRESSOR, n_estimators=2, random_state=0), SIZES),
    "output code": (
        OutputCodeClassifier(CLASSIFIER, random_state=0),
        DATA_META_ESTIMATORS.targets[:36],
    ),
}


def graphs_of(kind):
    if kind == "smiles":
        pytest.importorskip("rdkit")
    return {
        "batch": GRAPHS_META_ESTIMATORS,
        "dataset": GraphDataset(GRAPHS_META_ESTIMATORS, CLASSES_META_ESTIMATORS, "small"),
        "networkx": to_networkx(GRAPHS_META_ESTIMATORS),
        "smiles": SMILES,
    }[kind]


def column_of(kind):
    """Graphs as an array of shape (n, 1), or as a table of one column."""
    graphs = graphs_of(kind)
    if kind in ("batch", "dataset"):
        return np.asarray(graphs)[:, None]
    return pd.DataFrame({"graph": graphs})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SLICING)
def test_slicing(name, kind):
    model, y = SLICING[name]
    graphs = graphs_of(kind)
    found = model.fit(graphs, y).predict(graphs[:5])
    assert found.shape == y[:5].shape
    assert np.isfinite(model.score(graphs, y))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TABLES)
def test_columns_of_graphs(name, kind):
    model, y = TABLES[name]
    column = column_of(kind)
    assert model.fit(column, y).predict(column[:5]).shape == (5,)
    assert np.isfinite(model.score(column, y))


@pytest.mark.parametrize("kind", KINDS)
def test_functions(kind):
    graphs, y = graphs_of(kind), CLASSES_META_ESTIMATORS
    assert permutation_test_score(CLASSIFIER, graphs, y, cv=2, n_permutations=2)[1].shape == (2,)
    assert learning_curve(CLASSIFIER, graphs, y, cv=2, train_sizes=[0.5, 1.0])[1].shape == (2, 2)
    curve = validation_curve(CLASSIFIER, graphs, y, param_name="p", param_range=[1, 2], cv=2)
    assert curve[0].shape == (2, 2)
    found = cross_val_predict(CLASSIFIER, graphs, y, cv=2, method="predict_proba")
    assert found.shape == (36, 2)


@pytest.mark.parametrize("form", ["series", "frame"])
@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda made: type(made).__name__)
def test_tables_keep_the_index_of_graphs(transformer, form):
    if form == "series" and parse_version(sklearn.__version__) < parse_version("1.7.2"):
        pytest.skip("this scikit-learn keeps the index of data frames alone")
    batch = GRAPHS_META_ESTIMATORS[:3].with_attributes(
        np.arange(GRAPHS_META_ESTIMATORS[:3].n_nodes)[:, None]
    )
    graphs = pd.Series(list(batch), index=[7, 3, 9])
    graphs = graphs if form == "series" else pd.DataFrame({"graph": graphs})
    model = clone(transformer).set_output(transform="pandas")
    for found in (model.fit_transform(graphs), model.transform(graphs)):
        assert found.index.tolist() == [7, 3, 9]
        assert found.columns.tolist() == model.get_feature_names_out().tolist()


def test_a_column_is_the_same_graphs():
    column = np.empty((3, 1), object)
    column[:, 0] = [nx.path_graph(n) for n in (2, 3, 4)]
    assert as_batch(column).node_counts.tolist() == [2, 3, 4]
    assert as_batch(np.asarray(GRAPHS_META_ESTIMATORS)[:, None]) == GRAPHS_META_ESTIMATORS


def test_a_data_set_beside_its_targets_is_its_graphs() -> None:
    data = GraphDataset(GRAPHS_META_ESTIMATORS, CLASSES_META_ESTIMATORS, "d")
    given = cross_val_score(CLASSIFIER, data, CLASSES_META_ESTIMATORS, scoring="roc_auc", cv=2)
    alone = cross_val_score(
        CLASSIFIER, GRAPHS_META_ESTIMATORS, CLASSES_META_ESTIMATORS, scoring="roc_auc", cv=2
    )
    np.testing.assert_array_equal(given, alone)


def test_a_data_set_brings_its_targets_where_no_scorer_is_given() -> None:
    data = GraphDataset(GRAPHS_META_ESTIMATORS, CLASSES_META_ESTIMATORS, "d")
    own = cross_val_score(CLASSIFIER, data, cv=KFold(3))
    np.testing.assert_array_equal(
        own,
        cross_val_score(CLASSIFIER, GRAPHS_META_ESTIMATORS, CLASSES_META_ESTIMATORS, cv=KFold(3)),
    )


# Weights of graphs: ones change no bit, whole numbers stand for repeated graphs

DATA_SAMPLE_WEIGHTS = three_classes()
GRAPHS_SAMPLE_WEIGHTS, CLASSES_SAMPLE_WEIGHTS = (
    DATA_SAMPLE_WEIGHTS.graphs[:60],
    DATA_SAMPLE_WEIGHTS.targets[:60],
)
SIZES_SAMPLE_WEIGHTS = GRAPHS_SAMPLE_WEIGHTS.node_counts.astype(float)
# A bandwidth from nodes drawn at random is another one where graphs are repeated.
OPTIONS_SAMPLE_WEIGHTS = {
    "n_steps": 6,
    "structure_kernel": Laplacian(1.0),
    "random_state": 0,
    "scale": 1,
}
WEIGHTS_SAMPLE_WEIGHTS = np.random.default_rng(0).integers(0, 4, 60)
REPEATED = np.repeat(np.arange(60), WEIGHTS_SAMPLE_WEIGHTS)
FOLD = np.arange(60) % 3


def folds(fold):
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]


def answers(model):
    names = ("predict", "decision_function", "predict_proba")
    return [getattr(model, name)(GRAPHS_SAMPLE_WEIGHTS) for name in names if hasattr(model, name)]


MODELS = [
    (RetGKClassifier, CLASSES_SAMPLE_WEIGHTS),
    (RetGKClassifier, np.stack([CLASSES_SAMPLE_WEIGHTS == 0, CLASSES_SAMPLE_WEIGHTS == 1], axis=1)),
    (RetGKRegressor, SIZES_SAMPLE_WEIGHTS),
]


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("weights", [np.ones(60), [1] * 60, 1.0])
@pytest.mark.parametrize(("make", "y"), MODELS)
def test_ones_change_no_bit(make, y, weights, approximate):
    model = make(**OPTIONS_SAMPLE_WEIGHTS, cv=3, approximate=approximate)
    expected = answers(model.fit(GRAPHS_SAMPLE_WEIGHTS, y))
    for a, b in zip(
        expected, answers(model.fit(GRAPHS_SAMPLE_WEIGHTS, y, sample_weight=weights)), strict=True
    ):
        assert_array_equal(a, b)


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("scoring", [None, "f1_macro"])
def test_repeated_graphs_of_classes(approximate, class_weight, scoring):
    model = RetGKClassifier(
        **OPTIONS_SAMPLE_WEIGHTS,
        approximate=approximate,
        class_weight=class_weight,
        scoring=scoring,
    )
    weighted = model.set_params(cv=folds(FOLD)).fit(
        GRAPHS_SAMPLE_WEIGHTS, CLASSES_SAMPLE_WEIGHTS, sample_weight=WEIGHTS_SAMPLE_WEIGHTS
    )
    first = answers(weighted), weighted.best_params_, weighted.best_score_
    assert set(weighted.support_) <= set(np.flatnonzero(WEIGHTS_SAMPLE_WEIGHTS))
    again = model.set_params(cv=folds(FOLD[REPEATED])).fit(
        GRAPHS_SAMPLE_WEIGHTS[REPEATED], CLASSES_SAMPLE_WEIGHTS[REPEATED]
    )
    assert again.best_params_ == first[1]
    assert again.best_score_ == pytest.approx(first[2], abs=1e-9)
    for a, b in zip(first[0], answers(again), strict=True):
        assert_allclose(a, b, atol=2e-3)  # LIBSVM stops within 1e-3


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize(
    "y",
    [
        SIZES_SAMPLE_WEIGHTS,
        np.stack([SIZES_SAMPLE_WEIGHTS, GRAPHS_SAMPLE_WEIGHTS.edge_counts], axis=1),
    ],
)
def test_repeated_graphs_of_values(approximate, y):
    model = RetGKRegressor(**OPTIONS_SAMPLE_WEIGHTS, approximate=approximate, tol=1e-10)
    weighted = model.set_params(cv=folds(FOLD)).fit(
        GRAPHS_SAMPLE_WEIGHTS, y, sample_weight=WEIGHTS_SAMPLE_WEIGHTS
    )
    expected = weighted.predict(GRAPHS_SAMPLE_WEIGHTS), weighted.best_score_
    again = model.set_params(cv=folds(FOLD[REPEATED])).fit(
        GRAPHS_SAMPLE_WEIGHTS[REPEATED], y[REPEATED]
    )
    assert_allclose(again.predict(GRAPHS_SAMPLE_WEIGHTS), expected[0], rtol=1e-7)
    assert again.best_score_ == pytest.approx(expected[1], rel=1e-9)


def test_weight_zero_is_not_there():
    kept = np.flatnonzero(WEIGHTS_SAMPLE_WEIGHTS)
    model = RetGKClassifier(**OPTIONS_SAMPLE_WEIGHTS, cv=3)
    weighted = answers(
        model.fit(
            GRAPHS_SAMPLE_WEIGHTS, CLASSES_SAMPLE_WEIGHTS, sample_weight=WEIGHTS_SAMPLE_WEIGHTS > 0
        )
    )
    support = model.support_
    for a, b in zip(
        weighted,
        answers(model.fit(GRAPHS_SAMPLE_WEIGHTS[kept], CLASSES_SAMPLE_WEIGHTS[kept])),
        strict=True,
    ):
        assert_array_equal(a, b)
    assert_array_equal(support, kept[model.support_])


def test_equal_weights_are_a_factor_of_c():
    kwargs = {**OPTIONS_SAMPLE_WEIGHTS, "cv": 3, "p": 1, "approximate": True}
    double = RetGKRegressor(**kwargs, C=1).fit(
        GRAPHS_SAMPLE_WEIGHTS, SIZES_SAMPLE_WEIGHTS, sample_weight=np.full(60, 2)
    )
    assert_allclose(
        double.predict(GRAPHS_SAMPLE_WEIGHTS),
        RetGKRegressor(**kwargs, C=2)
        .fit(GRAPHS_SAMPLE_WEIGHTS, SIZES_SAMPLE_WEIGHTS)
        .predict(GRAPHS_SAMPLE_WEIGHTS),
        rtol=1e-9,
    )


def test_the_ridge_of_many_graphs(monkeypatch):
    monkeypatch.setattr("retgk.estimators.classifier.MAX_EXACT_GRAPHS", 10)
    seen = []
    init = LandmarkRidge.__init__
    monkeypatch.setattr(
        LandmarkRidge, "__init__", lambda self, t, w: (seen.append(w), init(self, t, w))[1]
    )
    model = RetGKClassifier(
        **OPTIONS_SAMPLE_WEIGHTS, cv=3, approximate=True, class_weight={0: 2, 1: 1, 2: 1}
    )
    model.fit(
        GRAPHS_SAMPLE_WEIGHTS, CLASSES_SAMPLE_WEIGHTS, sample_weight=WEIGHTS_SAMPLE_WEIGHTS + 1
    )
    assert model.solver_ == "ridge"
    assert_array_equal(
        seen[0], (WEIGHTS_SAMPLE_WEIGHTS + 1) * np.where(CLASSES_SAMPLE_WEIGHTS == 0, 2, 1)
    )


def test_scores_have_weights():
    model = RetGKClassifier(**OPTIONS_SAMPLE_WEIGHTS, cv=3, C=1).fit(
        GRAPHS_SAMPLE_WEIGHTS, CLASSES_SAMPLE_WEIGHTS
    )
    is_right = model.predict(DATA_SAMPLE_WEIGHTS.graphs) == DATA_SAMPLE_WEIGHTS.targets
    weights = np.arange(90)
    assert model.score(
        DATA_SAMPLE_WEIGHTS.graphs, DATA_SAMPLE_WEIGHTS.targets, weights
    ) == np.average(is_right, weights=weights)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(60), "sample_weight of graph 0 is -1; weights must be finite and at least zero"),
        (np.full(60, np.nan), "sample_weight of graph 0 is nan"),
        (np.ones(59), r"sample_weight has shape \(59,\), but there are 60 graphs; give one"),
        (np.zeros(60), "sample_weight is zero for all graphs"),
        (["heavy"] * 60, "sample_weight must be numbers, one for each graph"),
        (
            CLASSES_SAMPLE_WEIGHTS == 0,
            "are of one class, 0; a classifier needs graphs of two classes",
        ),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(InvalidInputError, match=message):
        RetGKClassifier(**OPTIONS_SAMPLE_WEIGHTS).fit(
            GRAPHS_SAMPLE_WEIGHTS, CLASSES_SAMPLE_WEIGHTS, sample_weight=weights
        )


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


# Parameters that are changed after `fit` change nothing before the next `fit`

MODELS_PARAMETERS_AFTER_FIT = {
    "kernel": RetGKKernel(9, random_state=0),
    "kernel, walks": RetGKKernel(9, method="monte-carlo", n_walks=9, random_state=0),
    "embedding": RetGKEmbedding(9, n_components=8, random_state=0),
    "tensor": RetGKEmbedding(9, feature_map="tensor", n_components=5, random_state=0),
    "refined": RetGKKernel(9, depth=2, scale_attributes="standard", random_state=0),
    "phases": RetGKEmbedding(9, feature_map="phases", depth=1, n_components=40, random_state=0),
    "classifier": RetGKClassifier(n_steps=9, cv=2, random_state=0),
    "classifier, embedded": RetGKClassifier(n_steps=9, cv=2, approximate=True, random_state=0),
    "regressor": RetGKRegressor(n_steps=9, cv=2, random_state=0),
}
OTHER_VALUES = {
    "n_steps": (500, 10, 7, 1),
    "structure_kernel": (Gaussian(3.0),),
    "attribute_kernel": (Laplacian(9.0),),
    "graph_kernel": (PolynomialGraphKernel(), ExponentialGraphKernel(gamma=7.0)),
    "method": ("eigh", "monte-carlo"),
    "n_walks": (50,),
    "nodes": (2, 0.5),
    "self_loop": (3.0,),
    "impute_attributes": ("mean", "median"),
    "tol": (0.0, 0.5),
    "feature_map": ("tensor", "joint", "phases"),
    "n_components": (99, 1),
    "n_landmarks": (3,),
    "scale_attributes": ("standard", "drop", "no such rule"),
    "depth": (2, -1),
    "level_weights": ((1, 2, 3),),
    "frequencies": ("plain",),
    "unknown_labels": ("column", "error"),
    "dtype": (np.float32,),
    "batch_size": (1, 3),
    "n_jobs": (1, 2),
    "random_state": (7, None),
    "approximate": (True, False),
    "C": (0.001,),
    "p": (0.5,),
    "scale": (99.0,),
    "cv": (9,),
    "class_weight": ("balanced",),
    "scoring": ("roc_auc", "no such scorer"),
    "verbose": (2,),
}


def answers_parameters_after_fit(model, graphs):
    names = ("transform", "distances", "diagonal", "predict", "decision_function", "predict_proba")
    return {name: getattr(model, name)(graphs) for name in names if hasattr(model, name)}


@pytest.mark.parametrize("name", MODELS_PARAMETERS_AFTER_FIT)
def test_every_parameter(name):
    graphs = graphs_of_kind("both", 24)
    model = MODELS_PARAMETERS_AFTER_FIT[name].fit(graphs[:18], np.arange(18) % 2)
    expected, given = answers_parameters_after_fit(model, graphs), model.get_params(deep=False)
    assert given.keys() - OTHER_VALUES.keys() <= {"sparse_output"}
    for parameter in given.keys() & OTHER_VALUES.keys():
        for value in OTHER_VALUES[parameter]:
            model.set_params(**{parameter: value})
            for method, found in answers_parameters_after_fit(model, graphs).items():
                np.testing.assert_array_equal(found, expected[method], f"{parameter}={value}")
        model.set_params(**{parameter: given[parameter]})


@pytest.mark.parametrize("name", MODELS_PARAMETERS_AFTER_FIT)
def test_model_files_hold_what_was_fitted(name, tmp_path):
    graphs = graphs_of_kind("both", 24)
    model = clone(MODELS_PARAMETERS_AFTER_FIT[name]).fit(graphs[:18], np.arange(18) % 2)
    ask = model.predict if hasattr(model, "predict") else model.transform
    expected, given = ask(graphs), model.get_params(deep=False)
    for parameter in given.keys() & OTHER_VALUES.keys():
        for value in OTHER_VALUES[parameter]:
            model.set_params(**{parameter: value})
            save_model(model, tmp_path / "model.retgk")
            loaded = load_model(tmp_path / "model.retgk")
            answer = getattr(loaded, ask.__name__)(graphs)
            np.testing.assert_array_equal(answer, expected, f"{parameter}={value}")
        model.set_params(**{parameter: given[parameter]})


@pytest.mark.parametrize("make_engine", [ExactEngine, EmbeddedEngine])
@pytest.mark.parametrize("n_steps", [500, 10, 8])
def test_engines_refuse_other_numbers_of_steps(make_engine, n_steps):
    graphs = graphs_of_kind("both", 12)
    engine = make_engine(random_state=0).fit(NodeFeatures(graphs, Walks(9)))
    with pytest.raises(InvalidInputError, match=f"have {n_steps} return probabilities, those of"):
        engine.compare(NodeFeatures(graphs, Walks(n_steps))).products()


def test_known_probabilities_must_fit_the_graphs():
    graphs = graphs_of_kind("both", 12)
    features = NodeFeatures(graphs, Walks(9))
    with pytest.raises(InvalidInputError, match=r"probabilities have shape \(3, 9\), but there"):
        features.with_batch(graphs, np.zeros((3, 9)))
