"""scikit-learn and joblib take a GraphBatch as they take an array."""

from typing import Any

import numpy as np
import pytest
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.utils import resample, shuffle

from retgk import GraphBatch


class Sizes(TransformerMixin, BaseEstimator):
    """One column: the number of nodes, or of edges."""

    def __init__(self, count: str = "nodes") -> None:
        self.count = count

    def fit(self, X: GraphBatch, y: Any = None) -> "Sizes":  # noqa: ARG002
        assert isinstance(X, GraphBatch)
        return self

    def transform(self, X: GraphBatch) -> NDArray[np.float64]:
        assert isinstance(X, GraphBatch)
        return np.log((X.node_counts if self.count == "nodes" else X.edge_counts + 1)[:, None])


@pytest.fixture
def graphs() -> GraphBatch:
    """Sixty graphs of 1 to 60 nodes, without edges."""
    return GraphBatch.from_edges(np.arange(1, 61), [], labels=np.arange(1830) % 3)


@pytest.fixture
def targets() -> NDArray[np.int64]:
    """Whether a graph is large."""
    return (np.arange(60) >= 30).astype(np.int64)


def model() -> Any:
    return make_pipeline(Sizes(), LogisticRegression(C=1000))


def test_train_test_split_stays_aligned(graphs: GraphBatch, targets: NDArray[np.int64]) -> None:
    train, test, y_train, y_test = train_test_split(
        graphs, targets, random_state=0, stratify=targets
    )
    for part, y in ((train, y_train), (test, y_test)):
        assert isinstance(part, GraphBatch)
        np.testing.assert_array_equal(part.node_counts > 30, y)
    assert sorted([*train.node_counts, *test.node_counts]) == list(range(1, 61))


@pytest.mark.parametrize("splitter", [KFold(5), StratifiedKFold(5, shuffle=True, random_state=0)])
def test_splitters(splitter: Any, graphs: GraphBatch, targets: NDArray[np.int64]) -> None:
    tested = [graphs[test].node_counts for _, test in splitter.split(graphs, targets)]
    assert sorted(np.concatenate(tested)) == list(range(1, 61))


def test_cross_validation(graphs: GraphBatch, targets: NDArray[np.int64]) -> None:
    assert cross_val_score(model(), graphs, targets, cv=5).mean() > 0.8
    assert (cross_val_predict(model(), graphs, targets, cv=5) == targets).mean() > 0.8
    mixed = shuffle(graphs, targets, random_state=0)
    assert learning_curve(model(), *mixed, cv=3, train_sizes=[0.5, 1.0])[0].tolist() == [20, 40]


def test_cross_validation_in_processes(graphs: GraphBatch, targets: NDArray[np.int64]) -> None:
    alone = cross_val_score(model(), graphs, targets, cv=4)
    np.testing.assert_array_equal(cross_val_score(model(), graphs, targets, cv=4, n_jobs=2), alone)


def test_grid_search_finds_the_informative_feature(
    graphs: GraphBatch, targets: NDArray[np.int64]
) -> None:
    search = GridSearchCV(model(), {"sizes__count": ["edges", "nodes"]}, cv=3)
    search.fit(graphs, targets)
    assert search.best_params_ == {"sizes__count": "nodes"}
    assert search.predict(graphs[[0, 59]]).tolist() == [0, 1]


def test_resampling(graphs: GraphBatch, targets: NDArray[np.int64]) -> None:
    for draw in (shuffle, resample):
        drawn, y = draw(graphs, targets, random_state=0)
        assert isinstance(drawn, GraphBatch)
        np.testing.assert_array_equal(drawn.node_counts > 30, y)


def test_joblib_with_memory_mapped_arrays(graphs: GraphBatch) -> None:
    jobs = (delayed(len)(graphs[start : start + 20]) for start in (0, 20, 40))
    assert Parallel(n_jobs=2, max_nbytes=100)(jobs) == [20, 20, 20]
    same = Parallel(n_jobs=2, max_nbytes=100)(
        delayed(GraphBatch.__eq__)(graphs, graphs[:]) for _ in "ab"
    )
    assert same == [True, True]
