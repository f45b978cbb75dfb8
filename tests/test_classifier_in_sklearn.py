"""
The checks that scikit-learn has for estimators.

They feed two-dimensional arrays, and leave out nearly all of themselves for estimators that say
that they take something else. `tests.example_graphs` makes every row a graph, so that they run.
"""

from inspect import signature
from itertools import cycle

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
from retgk import GraphClassifier, GraphDataset, GraphRegressor, RetGK, load_model, save_model
from retgk.datasets import make_graph_classification
from retgk.io import to_networkx
from retgk.kernels import (
    Bridge,
    ExponentialGraphKernel,
    Gaussian,
    Laplacian,
    PolynomialGraphKernel,
    Precomputed,
    RetGKEmbedding,
    ShortestPath,
    WeisfeilerLehman,
)
from retgk.kernels.embedded import EmbeddedEngine
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import ExactEngine
from retgk.kernels.graph import median_squared_mmd, typical_squared_mmd
from retgk.kernels.others import all_kernels
from retgk.learning.folds import Grouping, inner_folds, repeated_folds
from retgk.learning.ridge import KernelRidge, LandmarkRidge
from retgk.walks.probabilities import Walks
from tests.errors import fails
from tests.example_graphs import (
    ROWS_KERNELS,
    Own,
    RowsClassifier,
    RowsEmbedding,
    RowsKernel,
    RowsNormalized,
    RowsOwn,
    RowsProduct,
    RowsRegressor,
    RowsScaled,
    RowsSum,
    graphs_of_kind,
    of_retgk,
    three_classes,
)

# A row with one number is a graph with one node, for which no bandwidth can be found.
FIXED = {"structure": Laplacian(1.0), "walks": Walks(4), "random_state": 0, "n_jobs": 1}
# Means and deviations of attributes count graphs once, whatever their weights.
QUICK = {"C": (1, 100), "p": 1, "scale": 1, "cv": 3, "depth": (0, 1), "scale_attributes": "raw"}
QUICK_KERNEL = {"n_jobs": 1}
OWN = {  # what a kernel of others needs on graphs of one node, or to be quick
    "DeepGraph": {"n_iter": 1, "random_state": 0},
    "Graphlets": {"k": 3},
    "GraphInvariant": {"radius": 1},
    "HashGraph": {"n_hashes": 2, "random_state": 0},
    "ShortestPath": {"attributes": Laplacian(1.0)},
    "SubgraphMatching": {"k": 2, "attributes": Bridge(1.0)},
}
ESTIMATORS = [
    RowsKernel(**FIXED),
    RowsEmbedding(**FIXED, n_components=20),
    RowsSum(RetGK(**FIXED), WeisfeilerLehman(2)),
    RowsProduct(RetGK(**FIXED), 0.5 * ShortestPath(attributes=Laplacian(1.0))),
    RowsScaled(RetGK(**FIXED), 2.0),
    RowsNormalized(RetGK(**FIXED)),
    RowsOwn(),
    *(kind(**{**QUICK_KERNEL, **OWN.get(name, {})}) for name, kind in ROWS_KERNELS.items()),
    of_retgk(RowsClassifier, **FIXED, **QUICK),
    of_retgk(RowsClassifier, **FIXED, **QUICK, n_components=400),
    of_retgk(RowsRegressor, **FIXED, **QUICK),
    RowsClassifier(RetGK(**FIXED) + WeisfeilerLehman(2), C=100, cv=3, random_state=0),
    RowsRegressor(
        RetGK(**FIXED, graph_kernel=PolynomialGraphKernel()) * Own(),
        C=100,
        candidates=None,
        cv=3,
        random_state=0,
    ),
    # with bandwidths from nodes drawn at random, repeated graphs would have other ones
    of_retgk(
        RowsRegressor,
        **FIXED,
        **QUICK,
        n_components=20,
        attributes=Laplacian(1.0),
    ),
]
# Checks that cannot pass, by class and name, with the reason.
EXCEPTIONS: dict[str, dict[str, str]] = {
    "RowsClassifier": {
        "check_sample_weight_equivalence_on_dense_data": "LIBSVM stops within 1e-3 of the optimum, "
        "in other places for repeated graphs; SVC has the same exception in scikit-learn. What "
        "holds is tested below"
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
        RetGK(),
        RetGKEmbedding(),
        GraphClassifier(),
        GraphRegressor(),
        *(kind() for kind in all_kernels()),
        RetGK() + WeisfeilerLehman(),
        RetGK() * ShortestPath(),
        2 * RetGK(),
        RetGK().normalized(),
        Own(),
        Precomputed(),
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


def spy(kind):
    """The class, whose `fit` notes the weights and groups that reach it."""

    def fit(self, X, y=None, sample_weight=None, groups=None):
        SEEN.append((sample_weight, groups))
        return kind.fit(self, X, y, sample_weight, groups)

    return type(f"Spy{kind.__name__}", (kind,), {"fit": fit, "__module__": __name__})


SpyClassifier, SpyRegressor = spy(GraphClassifier), spy(GraphRegressor)


@pytest.mark.parametrize("cv", [3, GroupKFold(3), StratifiedGroupKFold(3), LeaveOneGroupOut()])
@pytest.mark.parametrize("kind", ["classes", "labels", "values"])
def test_no_group_is_on_both_sides(cv, kind):
    if kind == "labels" and isinstance(cv, StratifiedGroupKFold):
        return  # scikit-learn has no strata of several labels
    labels = np.stack([CLASSES == 0, CLASSES == 1], axis=1).astype(int)
    truth = {"classes": CLASSES, "labels": labels, "values": np.zeros(60)}[kind]
    found = inner_folds(cv, truth, 0, Grouping(GROUPS))
    assert sorted(np.concatenate([test for _, test in found])) == list(range(60))
    for train, test in found:
        assert not set(GROUPS[train]) & set(GROUPS[test])


@pytest.mark.parametrize(
    ("cv", "groups", "n_splits"),
    [(3, GROUPS, 3), (LeaveOneGroupOut(), GROUPS // 3, 5), (9, GROUPS // 5, 3)],
)
def test_fit_hands_groups_on(cv, groups, n_splits):
    for make, y in ((GraphClassifier, CLASSES), (GraphRegressor, GRAPHS.node_counts)):
        model = of_retgk(make, **{**OPTIONS, "cv": cv, "random_state": 2**33})
        assert model.fit(GRAPHS, y, groups=groups).n_splits_ == n_splits


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


@pytest.mark.parametrize(
    ("options", "groups", "about"),
    [
        ({}, np.zeros(60), "one group"),
        ({}, GROUPS[:9], ("groups", "(9,)", "60 graphs")),
        ({}, [None] * 60, ("group", "graph 0")),
        ({}, CLASSES, ("class", "several groups")),
        ({"cv": [([0], [1])]}, GROUPS, ("groups", "cv", "list of folds")),
        ({"cv": GroupKFold(3)}, None, ("cv", "GroupKFold", "groups")),
    ],
)
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_bad_groups(options, groups, about):
    model = of_retgk(GraphClassifier, **{**OPTIONS, **options})
    fails(lambda: model.fit(GRAPHS, CLASSES, groups=groups), about)


@pytest.mark.parametrize(
    ("weights", "about"),
    [
        (-np.ones(60), ("sample_weight", "graph 0", "-1")),
        (np.full(60, np.nan), ("sample_weight", "graph 0", "nan")),
        (np.ones(59), ("sample_weight", "(59,)", "60 graphs")),
        (np.zeros(60), ("sample_weight", "zero")),
        (["heavy"] * 60, ("sample_weight", "numbers")),
        (CLASSES == 0, ("one class", "0")),
    ],
)
def test_bad_weights(weights, about):
    fails(lambda: of_retgk(GraphClassifier, **OPTIONS).fit(GRAPHS, CLASSES, weights), about)


@pytest.mark.parametrize(
    ("make", "y"), [(SpyClassifier, CLASSES), (SpyRegressor, GRAPHS.node_counts.astype(float))]
)
def test_metadata_routing(make, y):
    given = {"sample_weight": WEIGHTS, "groups": GROUPS}
    with sklearn.config_context(enable_metadata_routing=True):
        model = of_retgk(make, **OPTIONS).set_fit_request(sample_weight=True, groups=True)
        model.set_score_request(sample_weight=True)
        SEEN.clear()
        cross_validate(model, GRAPHS, y, params=given, cv=GroupKFold(3), error_score="raise")
        assert [(len(w), len(g)) for w, g in SEEN] == [(40, 40)] * 3
        search = GridSearchCV(
            model, {"kernel__graph_kernel__scale": [1, 8]}, cv=GroupKFold(3), error_score="raise"
        )
        search.fit(GRAPHS, y, **given)
        np.testing.assert_array_equal(SEEN[-1][0], WEIGHTS)
        same = FunctionTransformer(lambda graphs: graphs)
        pipeline = Pipeline([("same", same), ("model", model)]).fit(GRAPHS, y, **given)
        np.testing.assert_array_equal(SEEN[-1][1], GROUPS)
        assert pipeline.score(GRAPHS, y, sample_weight=WEIGHTS) == pipeline["model"].score(
            GRAPHS, y, sample_weight=WEIGHTS
        )


# Tools of scikit-learn that slice X take all kinds of graphs; those that want tables get one

PLAIN = DATA.graphs[:36].without_labels()
IS_ONE = DATA.targets[:36] == 1
LABELS = np.stack([IS_ONE, PLAIN.node_counts > 9], axis=1).astype(int)
PLAIN_SIZES = PLAIN.node_counts.astype(float)
SMALL = {"n_steps": 5, "cv": 2, "C": 10, "p": 1, "scale": 1, "random_state": 0}
CLASSIFIER, REGRESSOR = (
    of_retgk(GraphClassifier, **SMALL),
    of_retgk(GraphRegressor, **SMALL),
)
SMILES = ["C" * (1 + i % 6) + "O" * int(y) for i, y in enumerate(IS_ONE)]
KINDS = ["batch", "dataset", "networkx", "smiles"]

PUBLIC = [getattr(retgk, name) for name in retgk.__all__]
TRANSFORMERS = [
    kind() for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, TransformerMixin)
]

SLICING = {
    "voting": (VotingClassifier([("a", CLASSIFIER), ("b", CLASSIFIER)], voting="soft"), IS_ONE),
    "voting regressor": (VotingRegressor([("a", REGRESSOR), ("b", REGRESSOR)]), PLAIN_SIZES),
    "stacking": (StackingClassifier([("a", CLASSIFIER)], cv=2), IS_ONE),
    "stacking regressor": (StackingRegressor([("a", REGRESSOR)], cv=2), PLAIN_SIZES),
    "calibrated": (CalibratedClassifierCV(CLASSIFIER, cv=2), IS_ONE),
    "one against the rest": (OneVsRestClassifier(CLASSIFIER), DATA.targets[:36]),
    "several labels": (OneVsRestClassifier(CLASSIFIER), LABELS),
    "several outputs": (MultiOutputClassifier(CLASSIFIER), LABELS),
    "several values": (
        MultiOutputRegressor(REGRESSOR),
        np.stack([PLAIN_SIZES, -PLAIN_SIZES], axis=1),
    ),
    "tuned threshold": (TunedThresholdClassifierCV(CLASSIFIER, cv=2), IS_ONE),
    "fixed threshold": (FixedThresholdClassifier(CLASSIFIER), IS_ONE),
    "transformed targets": (
        TransformedTargetRegressor(REGRESSOR, func=np.log, inverse_func=np.exp),
        PLAIN_SIZES,
    ),
    "search": (GridSearchCV(CLASSIFIER, {"C": [1, 10]}, cv=2, scoring="roc_auc"), IS_ONE),
    # these check X as a table of two dimensions: a column of graphs is one
    "bagging, column": (BaggingClassifier(CLASSIFIER, 2, random_state=0), IS_ONE),
    "bagging regressor, column": (BaggingRegressor(REGRESSOR, 2, random_state=0), PLAIN_SIZES),
    "boosting, column": (AdaBoostClassifier(CLASSIFIER, n_estimators=2, random_state=0), IS_ONE),
    "boosting regressor, column": (
        AdaBoostRegressor(REGRESSOR, n_estimators=2, random_state=0),
        PLAIN_SIZES,
    ),
    "output code, column": (OutputCodeClassifier(CLASSIFIER, random_state=0), DATA.targets[:36]),
}
# These check X as a table of two dimensions: a column of graphs is one.


def graphs_of(kind, as_column=False):
    """The same graphs as objects of a kind; as an array of shape (n, 1), or a table, of them."""
    if kind == "smiles":
        pytest.importorskip("rdkit")
    graphs = {
        "batch": PLAIN,
        "dataset": GraphDataset(PLAIN, IS_ONE, "small"),
        "networkx": to_networkx(PLAIN),
        "smiles": SMILES,
    }[kind]
    if not as_column:
        return graphs
    is_array = kind in ("batch", "dataset")
    return np.asarray(graphs)[:, None] if is_array else pd.DataFrame({"graph": graphs})


@pytest.mark.parametrize(
    ("name", "kind"),
    [*zip(SLICING, cycle(KINDS)), *(("calibrated", kind) for kind in KINDS)],
)
def test_slicing(name, kind):
    model, y = SLICING[name]
    graphs = graphs_of(kind, as_column=name.endswith("column"))
    found = model.fit(graphs, y).predict(graphs[:5])
    assert found.shape == y[:5].shape
    assert np.isfinite(model.score(graphs, y))


@pytest.mark.parametrize("kind", KINDS)
def test_functions(kind):
    graphs, y = graphs_of(kind), IS_ONE
    assert permutation_test_score(CLASSIFIER, graphs, y, cv=2, n_permutations=2)[1].shape == (2,)
    assert learning_curve(CLASSIFIER, graphs, y, cv=2, train_sizes=[0.5, 1.0])[1].shape == (2, 2)
    curve = validation_curve(CLASSIFIER, graphs, y, param_name="C", param_range=[1, 2], cv=2)
    assert curve[0].shape == (2, 2)
    found = cross_val_predict(CLASSIFIER, graphs, y, cv=2, method="predict_proba")
    assert found.shape == (36, 2)


@pytest.mark.parametrize("form", ["series", "frame"])
@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda made: type(made).__name__)
def test_tables_keep_the_index_of_graphs(transformer, form):
    if form == "series" and parse_version(sklearn.__version__) < parse_version("1.7.2"):
        pytest.skip("this scikit-learn keeps the index of data frames alone")
    batch = PLAIN[:3].with_attributes(np.arange(PLAIN[:3].n_nodes)[:, None])
    graphs = pd.Series(list(batch), index=[7, 3, 9])
    graphs = graphs if form == "series" else pd.DataFrame({"graph": graphs})
    model = clone(transformer).set_output(transform="pandas")
    for found in (model.fit_transform(graphs), model.transform(graphs)):
        assert found.index.tolist() == [7, 3, 9]
        assert found.columns.tolist() == model.get_feature_names_out().tolist()


def test_a_data_set_brings_its_targets_where_no_scorer_is_given() -> None:
    data = GraphDataset(PLAIN, IS_ONE, "d")
    own = cross_val_score(CLASSIFIER, data, cv=KFold(3))
    np.testing.assert_array_equal(
        own,
        cross_val_score(CLASSIFIER, PLAIN, IS_ONE, cv=KFold(3)),
    )


# Weights of graphs: ones change no bit, whole numbers stand for repeated graphs

SIZES = GRAPHS.node_counts.astype(float)
# A bandwidth from nodes drawn at random is another one where graphs are repeated.
WEIGHED = {
    "n_steps": 6,
    "structure": Laplacian(1.0),
    "random_state": 0,
    "scale": 1,
}
COUNTS = np.random.default_rng(0).integers(0, 4, 60)
REPEATED = np.repeat(np.arange(60), COUNTS)
FOLD = np.arange(60) % 3


def answers(model, graphs=GRAPHS):
    """All that a model says of graphs, by method."""
    names = ("transform", "distances", "diagonal", "predict", "decision_function", "predict_proba")
    return {name: getattr(model, name)(graphs) for name in names if hasattr(model, name)}


def assert_same(found, expected, message=""):
    assert found.keys() == expected.keys()
    for name, values in found.items():
        assert_array_equal(values, expected[name], f"{name} {message}")


def three_folds(fold):
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]


MODELS = [
    (GraphClassifier, CLASSES),
    (GraphClassifier, np.stack([CLASSES == 0, CLASSES == 1], axis=1)),
    (GraphRegressor, SIZES),
]


@pytest.mark.parametrize("n_components", [None, 1024])
@pytest.mark.parametrize("weights", [np.ones(60), 1.0])
@pytest.mark.parametrize(("make", "y"), MODELS)
def test_ones_change_no_bit(make, y, weights, n_components):
    model = of_retgk(make, **WEIGHED, cv=3, n_components=n_components)
    expected = answers(model.fit(GRAPHS, y))
    assert_same(answers(model.fit(GRAPHS, y, sample_weight=weights)), expected)


@pytest.mark.parametrize(
    ("n_components", "class_weight", "scoring"),
    [(None, None, None), (None, "balanced", "f1_macro"), (1024, "balanced", None)],
)
def test_repeated_graphs_of_classes(n_components, class_weight, scoring):
    model = of_retgk(
        GraphClassifier,
        **WEIGHED,
        n_components=n_components,
        class_weight=class_weight,
        scoring=scoring,
    )
    weighted = clone(model).set_params(cv=three_folds(FOLD)).fit(GRAPHS, CLASSES, COUNTS)
    assert set(weighted.support_) <= set(np.flatnonzero(COUNTS))
    again = model.set_params(cv=three_folds(FOLD[REPEATED]))
    again.fit(GRAPHS[REPEATED], CLASSES[REPEATED])
    assert again.best_params_ == weighted.best_params_
    assert again.best_score_ == pytest.approx(weighted.best_score_, abs=1e-9)
    for name, values in answers(weighted).items():
        assert_allclose(values, answers(again)[name], atol=2e-3)  # LIBSVM stops within 1e-3


@pytest.mark.parametrize("n_components", [None, 1024])
@pytest.mark.parametrize("y", [SIZES, np.stack([SIZES, GRAPHS.edge_counts], axis=1)])
def test_repeated_graphs_of_values(n_components, y):
    model = of_retgk(GraphRegressor, **WEIGHED, n_components=n_components, tol=1e-10)
    weighted = clone(model).set_params(cv=three_folds(FOLD)).fit(GRAPHS, y, COUNTS)
    again = model.set_params(cv=three_folds(FOLD[REPEATED])).fit(GRAPHS[REPEATED], y[REPEATED])
    assert_allclose(again.predict(GRAPHS), weighted.predict(GRAPHS), rtol=1e-7)
    assert again.best_score_ == pytest.approx(weighted.best_score_, rel=1e-9)


def test_weight_zero_is_not_there():
    kept = np.flatnonzero(COUNTS)
    model = of_retgk(GraphClassifier, **WEIGHED, cv=3)
    weighted = clone(model).fit(GRAPHS, CLASSES, sample_weight=COUNTS > 0)
    model.fit(GRAPHS[kept], CLASSES[kept])
    assert_same(answers(weighted), answers(model))
    assert_array_equal(weighted.support_, kept[model.support_])


def test_equal_weights_are_a_factor_of_c():
    options = {**WEIGHED, "cv": 3, "p": 1, "n_components": 1024}
    double = of_retgk(GraphRegressor, **options, C=1).fit(GRAPHS, SIZES, np.full(60, 2))
    expected = of_retgk(GraphRegressor, **options, C=2).fit(GRAPHS, SIZES)
    assert_allclose(double.predict(GRAPHS), expected.predict(GRAPHS), rtol=1e-9)


@pytest.mark.parametrize("n_landmarks", [None, 20])
def test_weights_of_the_ridge(n_landmarks, monkeypatch):
    seen = []
    kind = KernelRidge if n_landmarks is None else LandmarkRidge
    init = kind.__init__
    monkeypatch.setattr(
        kind, "__init__", lambda self, t, w, **how: (seen.append(w), init(self, t, w, **how))[1]
    )
    model = of_retgk(
        GraphClassifier, **WEIGHED, cv=3, n_components=1024, class_weight={0: 2, 1: 1, 2: 1}
    )
    model.set_params(solver="ridge", n_landmarks=n_landmarks)
    model.fit(GRAPHS, CLASSES, sample_weight=COUNTS + 1)
    assert model.solver_ == "ridge"
    assert_array_equal(seen[0], (COUNTS + 1) * np.where(CLASSES == 0, 2, 1))


def test_scores_have_weights():
    model = of_retgk(GraphClassifier, **WEIGHED, cv=3, C=1).fit(GRAPHS, CLASSES)
    is_right = model.predict(DATA.graphs) == DATA.targets
    weights = np.arange(90)
    assert model.score(DATA.graphs, DATA.targets, weights) == np.average(is_right, weights=weights)


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

FITTED = {
    "kernel": RetGK(walks=Walks(9), random_state=0),
    "kernel, walks": RetGK(walks=Walks(9, method="monte-carlo", n_walks=9), random_state=0),
    "embedding": RetGKEmbedding(walks=Walks(9), n_components=8, random_state=0),
    "tensor": RetGKEmbedding(walks=Walks(9), feature_map="tensor", n_components=5, random_state=0),
    "refined": RetGK(walks=Walks(9), depth=2, scale_attributes="standard", random_state=0),
    "phases": RetGKEmbedding(
        walks=Walks(9), feature_map="phases", depth=1, n_components=40, random_state=0
    ),
    "classifier": of_retgk(GraphClassifier, n_steps=9, cv=2, random_state=0),
    "classifier, embedded": of_retgk(
        GraphClassifier, n_steps=9, cv=2, n_components=1024, random_state=0
    ),
    "regressor": of_retgk(GraphRegressor, n_steps=9, cv=2, random_state=0),
}
OTHER_VALUES = {
    "walks": (Walks(500), Walks(7), Walks(9, method="eigh"), Walks(9, self_loop=3.0)),
    "kernel": ("auto", WeisfeilerLehman()),
    "candidates": (None, "auto"),
    "structure": (Gaussian(3.0),),
    "attributes": (Laplacian(9.0),),
    "graph_kernel": (PolynomialGraphKernel(), ExponentialGraphKernel(gamma=7.0)),
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
    "C": (0.001,),
    "cv": (9,),
    "class_weight": ("balanced",),
    "scoring": ("roc_auc", "no such scorer"),
    "solver": ("ridge",),
    "verbose": (2,),
}


@pytest.mark.slow  # the zoo of test_model_files is in the first tier
@pytest.mark.parametrize("name", FITTED)
def test_parameters_changed_after_fit(name, tmp_path):
    """They change no answer, and a file holds those that were fitted."""
    graphs = graphs_of_kind("both", 24)
    model = FITTED[name].fit(graphs[:18], np.arange(18) % 2)
    expected, given = answers(model, graphs), model.get_params(deep=False)
    assert given.keys() - OTHER_VALUES.keys() <= {"sparse_output"}
    for parameter in given.keys() & OTHER_VALUES.keys():
        for value in OTHER_VALUES[parameter]:
            model.set_params(**{parameter: value})
            assert_same(answers(model, graphs), expected, f"{parameter}={value}")
            save_model(model, tmp_path / "model.retgk")
            loaded = load_model(tmp_path / "model.retgk")
            method = "predict" if "predict" in expected else "transform"
            found = getattr(loaded, method)(graphs)
            assert_array_equal(found, expected[method], f"{parameter}={value}")
        model.set_params(**{parameter: given[parameter]})


@pytest.mark.parametrize("make_engine", [ExactEngine, EmbeddedEngine])
@pytest.mark.parametrize("n_steps", [500, 8])
def test_engines_refuse_other_numbers_of_steps(make_engine, n_steps):
    graphs = graphs_of_kind("both", 12)
    engine = make_engine(random_state=0).fit(NodeFeatures(graphs, Walks(9)))
    other = NodeFeatures(graphs, Walks(n_steps))
    fails(lambda: engine.compare(other).products(), (str(n_steps), "return probabilities"))


NAMESPACES = ("io", "kernels", "datasets", "model_selection", "stats", "search")


def test_signatures_of_classes_can_be_read():
    for place in (retgk, *(getattr(retgk, name) for name in NAMESPACES)):
        for name in dir(place):
            known = getattr(place, name)
            if isinstance(known, type) and not issubclass(known, Exception):
                assert len(str(signature(known))) < 400, name


class Noted:
    """A callback of scikit-learn that notes what it is told."""

    def __init__(self):
        self.calls = []
        self.setup = lambda estimator, context: self.calls.append("setup")  # noqa: ARG005
        self.teardown = lambda estimator, context: self.calls.append("teardown")  # noqa: ARG005

    def on_fit_task_begin(self, estimator, context):  # noqa: ARG002
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):  # noqa: ARG002
        self.calls.append(f"end {context.task_name}")


@pytest.mark.parametrize("kind", [GraphClassifier, GraphRegressor])
def test_callbacks_are_told_of_candidates(kind):
    pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")
    graphs = make_graph_classification(20, rng=0).graphs
    noted, y = Noted(), np.arange(20) % 2
    model = kind(C=(1, 10), candidates={}, cv=2, random_state=0).set_callbacks(noted)
    model.fit(graphs, y)
    candidates = ["begin candidate", "end candidate"] * 2
    assert noted.calls == ["setup", "begin fit", *candidates, "end fit", "teardown"]
    noted.calls.clear()
    fails(lambda: model.fit(graphs, y[:3]), about=("20", "3"))
    assert noted.calls == ["setup", "begin fit", "teardown"]
    assert model.predict(graphs).shape == (20,)
