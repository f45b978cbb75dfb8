"""Tools of scikit-learn that slice X take all kinds of graphs; those that want tables get one."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import sklearn
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
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    KFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.multiclass import OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.utils.fixes import parse_version

import retgk
from retgk import GraphDataset, RetGKClassifier, RetGKRegressor, as_batch, to_networkx
from tests.classifier_graphs import three_classes

DATA = three_classes()
GRAPHS = DATA.graphs[:36].without_labels()
CLASSES = DATA.targets[:36] == 1
LABELS = np.stack([CLASSES, GRAPHS.node_counts > 9], axis=1).astype(int)
SIZES = GRAPHS.node_counts.astype(float)
OPTIONS = {"n_steps": 5, "cv": 2, "C": 10, "p": 1, "scale": 1, "random_state": 0}
CLASSIFIER, REGRESSOR = RetGKClassifier(**OPTIONS), RetGKRegressor(**OPTIONS)
SMILES = ["C" * (1 + i % 6) + "O" * int(y) for i, y in enumerate(CLASSES)]
KINDS = ["batch", "dataset", "networkx", "smiles"]

PUBLIC = [getattr(retgk, name) for name in retgk.__all__]
TRANSFORMERS = [
    kind() for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, TransformerMixin)
]

SLICING = {
    "voting": (VotingClassifier([("a", CLASSIFIER), ("b", CLASSIFIER)], voting="soft"), CLASSES),
    "voting regressor": (VotingRegressor([("a", REGRESSOR), ("b", REGRESSOR)]), SIZES),
    "stacking": (StackingClassifier([("a", CLASSIFIER)], cv=2), CLASSES),
    "stacking regressor": (StackingRegressor([("a", REGRESSOR)], cv=2), SIZES),
    "calibrated": (CalibratedClassifierCV(CLASSIFIER, cv=2), CLASSES),
    "one against the rest": (OneVsRestClassifier(CLASSIFIER), DATA.targets[:36]),
    "several labels": (OneVsRestClassifier(CLASSIFIER), LABELS),
    "several outputs": (MultiOutputClassifier(CLASSIFIER), LABELS),
    "several values": (MultiOutputRegressor(REGRESSOR), np.stack([SIZES, -SIZES], axis=1)),
    "tuned threshold": (TunedThresholdClassifierCV(CLASSIFIER, cv=2), CLASSES),
    "fixed threshold": (FixedThresholdClassifier(CLASSIFIER), CLASSES),
    "transformed targets": (
        TransformedTargetRegressor(REGRESSOR, func=np.log, inverse_func=np.exp),
        SIZES,
    ),
    "search": (GridSearchCV(CLASSIFIER, {"C": [1, 10]}, cv=2, scoring="roc_auc"), CLASSES),
}
# These check X as a table of two dimensions: a column of graphs is one.
TABLES = {
    "bagging": (BaggingClassifier(CLASSIFIER, 2, random_state=0), CLASSES),
    "bagging regressor": (BaggingRegressor(REGRESSOR, 2, random_state=0), SIZES),
    "boosting": (AdaBoostClassifier(CLASSIFIER, n_estimators=2, random_state=0), CLASSES),
    "boosting regressor": (AdaBoostRegressor(REGRESSOR, n_estimators=2, random_state=0), SIZES),
    "output code": (OutputCodeClassifier(CLASSIFIER, random_state=0), DATA.targets[:36]),
}


def graphs_of(kind):
    if kind == "smiles":
        pytest.importorskip("rdkit")
    return {
        "batch": GRAPHS,
        "dataset": GraphDataset(GRAPHS, CLASSES, "small"),
        "networkx": to_networkx(GRAPHS),
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
    graphs, y = graphs_of(kind), CLASSES
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
    batch = GRAPHS[:3].with_attributes(np.arange(GRAPHS[:3].n_nodes)[:, None])
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
    assert as_batch(np.asarray(GRAPHS)[:, None]) == GRAPHS


def test_a_data_set_beside_its_targets_is_its_graphs() -> None:
    data = GraphDataset(GRAPHS, CLASSES, "d")
    given = cross_val_score(CLASSIFIER, data, CLASSES, scoring="roc_auc", cv=2)
    alone = cross_val_score(CLASSIFIER, GRAPHS, CLASSES, scoring="roc_auc", cv=2)
    np.testing.assert_array_equal(given, alone)


def test_a_data_set_brings_its_targets_where_no_scorer_is_given() -> None:
    data = GraphDataset(GRAPHS, CLASSES, "d")
    own = cross_val_score(CLASSIFIER, data, cv=KFold(3))
    np.testing.assert_array_equal(own, cross_val_score(CLASSIFIER, GRAPHS, CLASSES, cv=KFold(3)))
