"""Models of others on a fold: which arguments they get, and what is taken of their answers."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import make_pipeline

from retgk import InvalidInputError, RetGKClassifier, compare
from retgk.comparison import runs as method_runs
from retgk.comparison.methods import GraphSizes, new_estimators
from retgk.errors import InputWarning
from retgk.learning import metrics as fold_answers
from retgk.learning.folds import OuterFold, check_keeps_groups, folds_without_groups
from retgk.learning.metrics import fold_answer, metrics_of
from tests.slow_methods import DATA

GROUPS = np.arange(30) // 3
TARGETS = np.arange(30) % 2
SEEN: list[Any] = []
TRAIN, TEST = np.arange(24), np.arange(24, 30)


@pytest.fixture
def _no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("work began")

    monkeypatch.setattr(method_runs, "run_to_end", fail)


# Groups


class GroupSpy(GroupKFold):
    """Splitter that keeps the groups that it got."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        SEEN.append(groups)
        return super().split(X, y, groups)


def search_of(cv: Any) -> GridSearchCV:
    return GridSearchCV(DummyClassifier(), {"strategy": ["prior", "stratified"]}, cv=cv)


@pytest.mark.parametrize("make", [search_of, lambda cv: make_pipeline(GraphSizes(), search_of(cv))])
def test_searches_get_the_groups_of_their_training_graphs(make: Any) -> None:
    SEEN.clear()
    fold = OuterFold(TRAIN, TEST, None, GROUPS[TRAIN])
    answer = fold_answer(make(GroupSpy(3)), DATA.graphs, TARGETS, fold, 0)
    assert len(answer.predictions) == len(TEST)
    np.testing.assert_array_equal(SEEN[-1], GROUPS[TRAIN])


def test_a_comparison_with_groups_and_a_search() -> None:
    methods = {"search": search_of(GroupKFold(3))}
    table = compare(DATA, methods=methods, folds=3, groups=GROUPS)
    assert [row["status"] for row in table.rows] == ["done"]


@pytest.mark.usefixtures("_no_work")
@pytest.mark.parametrize(
    ("cv", "remedy"),
    [(4, r"give cv=GroupKFold\(4\)"), (None, r"GroupKFold\(5\)"), (KFold(3, shuffle=True), "give")],
)
@pytest.mark.parametrize("make", [search_of, lambda cv: make_pipeline(GraphSizes(), search_of(cv))])
def test_a_search_that_splits_groups_is_an_error_before_the_work(
    make: Any, cv: Any, remedy: str
) -> None:
    with pytest.raises(InvalidInputError, match=rf"the method 'mine': .* no notice.*{remedy}"):
        compare(DATA, methods={"mine": make(cv)}, folds=3, groups=GROUPS)


def test_a_later_fold_in_which_a_search_splits_groups_names_itself() -> None:
    fold = OuterFold(TRAIN, TEST, None, GROUPS[TRAIN])
    with pytest.raises(InvalidInputError, match="fold 7: there are groups, but cv=5 of GridS"):
        fold_answer(search_of(5), DATA.graphs, TARGETS, fold, 7)


def test_folds_that_happen_to_keep_groups_are_taken() -> None:
    check_keeps_groups(search_of(4), TARGETS, np.arange(30))
    check_keeps_groups(RetGKClassifier(cv=4), TARGETS, GROUPS)  # makes folds of groups of a number
    check_keeps_groups(search_of([([0, 1], [99])]), TARGETS, GROUPS)  # `fit` will say it


def test_a_splitter_of_our_own_models_may_not_split_groups_either() -> None:
    with pytest.raises(InvalidInputError, match="of RetGKClassifier takes no notice"):
        check_keeps_groups(RetGKClassifier(cv=KFold(4, shuffle=True)), TARGETS, GROUPS)


@pytest.mark.usefixtures("_no_work")
def test_a_warning_names_folds_that_cannot_be_given_groups() -> None:
    assert folds_without_groups(RetGKClassifier()) == []
    assert folds_without_groups(search_of(GroupKFold(3))) == []
    nested = GridSearchCV(RetGKClassifier(), {"p": [1, 2]}, cv=GroupKFold(3))
    assert folds_without_groups(nested) == ["estimator__cv"]
    methods = {"lr": make_pipeline(GraphSizes(), LogisticRegressionCV())}
    with (
        pytest.warns(InputWarning, match="'lr' cannot be given groups for logisticregressioncv__"),
        pytest.raises(AssertionError, match="work began"),
    ):
        compare(DATA, methods=methods, folds=3, groups=GROUPS)


# Time


class Slow(DummyClassifier):
    """Takes a second of a clock of its own for everything that it is asked for."""

    clock: float = 0.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        Slow.clock += 1.0
        return super().fit(X, y, sample_weight)

    def predict(self, X: Any) -> Any:
        Slow.clock += 1.0
        return super().predict(X)

    def predict_proba(self, X: Any) -> Any:
        Slow.clock += 1.0
        return np.full((len(X), 2), 0.5)

    def decision_function(self, X: Any) -> Any:
        Slow.clock += 1.0
        return np.zeros(len(X))


def test_seconds_are_those_of_training_and_predicting(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(perf_counter=lambda: Slow.clock)
    monkeypatch.setattr(fold_answers, "time", clock)
    model = Slow(strategy="constant", constant=1)  # predicts without its probabilities
    start = Slow.clock
    answer = fold_answer(model, DATA.graphs, TARGETS, OuterFold(TRAIN, TEST), 0)
    assert answer.seconds == 2.0
    assert Slow.clock - start == 4.0
    assert answer.decisions is not None
    assert answer.probabilities is not None


# Classes that are in no training part


@pytest.mark.parametrize("only", [0, 1])
@pytest.mark.parametrize("name", ["majority", "size"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_training_part_of_one_class(name: str, n_classes: int, only: int) -> None:
    """A method that learns one class answers with it, and values stand for the right classes."""
    targets = np.where(np.arange(30) < 24, only, np.arange(30) % n_classes)
    classes = np.arange(n_classes)
    model = new_estimators([name], regression=False)[name]
    answer = fold_answer(model, DATA.graphs, targets, OuterFold(TRAIN, TEST), 0)
    assert answer.predictions.tolist() == [only] * len(TEST)
    assert answer.probabilities is not None
    assert answer.probabilities.tolist() == [[float(k == only) for k in classes]] * len(TEST)
    decisions = answer.decisions
    assert decisions is not None
    if n_classes == 2:
        assert ((decisions > 0) == only).all()
    else:
        assert (decisions.argmax(axis=1) == only).all()
    outcome = answer.outcome(targets, classes)
    found = {metric.name: metric.value(outcome) for metric in metrics_of(False)}
    assert found["accuracy"] == np.mean(targets[TEST] == only)
    assert found["roc_auc"] == 0.5


def test_a_comparison_with_a_training_part_of_one_class() -> None:
    """Methods that cannot learn from it say so, and the others answer."""
    targets = np.where(np.arange(30) < 24, 0, np.arange(30) % 2)
    methods = ["majority", "size", "wl"]
    table = compare(DATA.graphs, targets, methods, folds=[(TRAIN, TEST)])
    found = {row["method"]: row["status"] for row in table.rows}
    assert found.pop("wl").startswith("fold 0: all 24 graphs are of one class, 0; a classifier")
    assert found == {"majority": "done", "size": "done"}
