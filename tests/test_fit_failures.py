"""Targets, folds and parameters that cannot be used: a clear error, and nothing half fitted."""

import numpy as np
import pandas as pd
import pytest

from retgk import (
    ExponentialGraphKernel,
    GraphDataset,
    InvalidInputError,
    RetGKClassifier,
    RetGKKernel,
    RetGKRegressor,
)
from tests.kernel_graphs import graphs_of_kind

GRAPHS = graphs_of_kind("both", 20)
CLASSES = np.arange(20) % 2


def quick(**options):
    return RetGKClassifier(**{"n_steps": 6, "C": 1, "p": 1, "scale": 1, "cv": 2, **options})


@pytest.mark.parametrize("model", [quick(), RetGKRegressor(n_steps=6, cv=2)])
def test_masked_targets_are_refused(model):
    masked = np.ma.array(np.arange(20.0) % 2, mask=np.arange(20) == 3)
    with pytest.raises(InvalidInputError, match="the target of graph 3 is masked; drop the graph"):
        model.fit(GRAPHS, masked)
    with pytest.raises(InvalidInputError, match="the target of graph 3 is masked"):
        GraphDataset(GRAPHS, masked, "mine")
    model.fit(GRAPHS, np.ma.array(np.arange(20) % 2))
    assert len(model.predict(GRAPHS)) == 20


def test_missing_values_of_pandas_are_refused():
    nullable = pd.array([0, 1] * 9 + [pd.NA, 1], dtype="Int64")
    for targets in (nullable, np.array(nullable, dtype=object)):
        with pytest.raises(InvalidInputError, match=r"the target of graph 18 is (nan|<NA>)"):
            quick().fit(GRAPHS, targets)


@pytest.mark.parametrize("approximate", [False, True])
def test_a_failed_fit_leaves_the_model_as_it_was(approximate, monkeypatch):
    model = quick(approximate=approximate, random_state=0).fit(GRAPHS, CLASSES)
    before = model.predict_proba(GRAPHS)
    others = np.array(["a", "b", "c", "d"])[np.arange(20) % 4]
    with monkeypatch.context() as patch:
        patch.setattr("retgk.learning.outcomes.fit_calibration", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(GRAPHS, others)
    with pytest.raises(InvalidInputError):
        model.set_params(cv=1).fit(GRAPHS, others)
    assert model.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(model.predict_proba(GRAPHS), before)


def interrupt(*_):
    raise KeyboardInterrupt


def test_a_failed_first_fit_leaves_the_model_unfitted():
    model = quick(class_weight={0: 1.0, 1: -1.0})
    with pytest.raises(InvalidInputError, match="class_weight of class 1 is -1; weights must be"):
        model.fit(GRAPHS, CLASSES)
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"class_weight": {0: 0.0, 1: 1.0}}, "class_weight of class 0 is 0; weights must be posit"),
        ({"class_weight": {0: np.nan, 1: 1.0}}, "class_weight of class 0 is nan"),
        ({"class_weight": {7: 1.0}}, r"class_weight={7: 1.0} cannot be used: .*; give a number"),
        ({"class_weight": "fair"}, "class_weight='fair' cannot be used"),
        ({"scale": 1e-300, "p": 2}, "gives gamma=inf, which is no number to compute with"),
        ({"scale": 1e300, "p": 2}, "gives gamma=0.0, which is no number to compute with"),
        ({"cv": "five"}, "cv must be a number of folds, a splitter or a list of folds"),
        ({"cv": 3.5}, "cv must be a number of folds, a splitter or a list of folds, got 3.5"),
        ({"cv": [3, 4]}, "fold 0 of cv must be a pair of arrays"),
        ({"cv": [([0, 1], [2], [3])]}, "fold 0 of cv must be a pair of arrays"),
        ({"cv": [([0, 1], [])]}, "the test part of fold 0 of cv must be positions of graphs"),
        ({"cv": [([0, 1], [0.5])]}, "the test part of fold 0 of cv must be positions of graphs"),
        ({"cv": [([0, 1], [20])]}, "the test part of fold 0 of cv names graph 20, but there are"),
        ({"cv": [([[0, 1]], [2])]}, "the training part of fold 0 of cv must be positions"),
    ],
)
def test_parameters_that_cannot_be_used(options, message):
    with pytest.raises(InvalidInputError, match=message):
        quick(**options).fit(GRAPHS, CLASSES)


def test_folds_may_be_masks():
    first = np.arange(20) < 10
    masks = quick(cv=[(first, ~first), (~first, first)], random_state=0).fit(GRAPHS, CLASSES)
    numbers = [(np.arange(10), np.arange(10, 20)), (np.arange(10, 20), np.arange(10))]
    positions = quick(cv=numbers, random_state=0).fit(GRAPHS, CLASSES)
    assert masks.best_score_ == positions.best_score_


def test_no_graphs_at_all():
    for model in (quick(), RetGKRegressor()):
        with pytest.raises(InvalidInputError, match="there are no graphs to fit"):
            model.fit(GRAPHS[:0], [])
    with pytest.raises(InvalidInputError, match="there are no graphs"):
        RetGKKernel().fit(GRAPHS[:0])


def test_a_bandwidth_out_of_range_names_the_scale():
    kernel = ExponentialGraphKernel(scale=1e-200, p=2)
    with pytest.raises(InvalidInputError, match="scale=1e-200 of the median distance"):
        RetGKKernel(graph_kernel=kernel, random_state=0).fit(GRAPHS)
