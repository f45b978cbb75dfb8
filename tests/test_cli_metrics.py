"""Metrics of `retgk cv` and `retgk fit`: those of scikit-learn, by its names."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as reference

from retgk import RetGKClassifier, RetGKRegressor, make_graph_classification
from retgk.errors import InputWarning, InvalidInputError
from retgk.learning.metrics import (
    Outcome,
    check_metric_names,
    chosen_metrics,
    selecting_model,
    selection_metric,
)
from retgk.learning.targets import is_regression
from tests.cli_calls import DATA, N_GRAPHS, assert_fails, invoke, printed, record, rows_of

CLASS_NAMES = "accuracy balanced_accuracy roc_auc average_precision f1 matthews_corrcoef log_loss"
FIXED = ["--folds", 4, "--C", 10, "--p", 1, "--scale", 1]


def values_of(names: str, regression: bool, found: Outcome) -> dict[str, float]:
    chosen = chosen_metrics(names.split(), regression)
    return {metric.name: metric.value(found) for metric in chosen}


def test_two_classes_are_scored_as_in_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    y, decisions = rng.integers(0, 2, 50), rng.normal(size=50)
    predictions = (decisions > 0).astype(int)
    likely = 1 / (1 + np.exp(-decisions))
    found = Outcome(y, predictions, decisions, np.stack([1 - likely, likely], axis=1))
    assert values_of(CLASS_NAMES, False, found) == pytest.approx(
        {
            "accuracy": reference.accuracy_score(y, predictions),
            "balanced_accuracy": reference.balanced_accuracy_score(y, predictions),
            "roc_auc": reference.roc_auc_score(y, decisions),
            "average_precision": reference.average_precision_score(y, decisions),
            "f1": reference.f1_score(y, predictions),
            "matthews_corrcoef": reference.matthews_corrcoef(y, predictions),
            "log_loss": reference.log_loss(y, likely),
        }
    )


def test_several_classes_are_scored_as_in_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    y, decisions = rng.integers(0, 3, 60), rng.normal(size=(60, 3))
    likely = np.exp(decisions) / np.exp(decisions).sum(axis=1, keepdims=True)
    predictions = decisions.argmax(axis=1)
    found = values_of(CLASS_NAMES, False, Outcome(y, predictions, decisions, likely))
    assert found["roc_auc"] == pytest.approx(reference.roc_auc_score(y, likely, multi_class="ovr"))
    expected = reference.average_precision_score(y, likely)
    assert found["average_precision"] == pytest.approx(expected)
    assert found["f1"] == pytest.approx(reference.f1_score(y, predictions, average="macro"))
    assert found["log_loss"] == pytest.approx(reference.log_loss(y, likely))


def test_values_are_scored_as_in_scikit_learn() -> None:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(2)
    y = rng.integers(0, 9, 40) / 2
    predictions = y + rng.normal(size=40).round(1)
    found = values_of("r2 rmse mae spearman", True, Outcome(y, predictions))
    assert found == pytest.approx(
        {
            "r2": reference.r2_score(y, predictions),
            "rmse": reference.root_mean_squared_error(y, predictions),
            "mae": reference.mean_absolute_error(y, predictions),
            "spearman": spearmanr(y, predictions).statistic,
        }
    )


def test_names_of_scikit_learn_and_short_ones_are_the_same() -> None:
    one = chosen_metrics(["auc", "ap", "mcc", "neg_log_loss"], False)
    same = chosen_metrics(["roc_auc", "average-precision", "matthews_corrcoef", "log_loss"], False)
    assert one == same
    short = chosen_metrics(["rmse", "mae", "RMSE"], True)
    assert short == chosen_metrics(["neg_root_mean_squared_error", "neg_mean_absolute_error"], True)
    for metric in (*one, *short, *chosen_metrics(["f1", "balanced_accuracy"], False)):
        assert metric.scorer in reference.get_scorer_names()
        assert metric.scorer_for(3) in reference.get_scorer_names()
    assert chosen_metrics(["auc"], False)[0].scorer_for(3) == "roc_auc_ovr"
    assert chosen_metrics(["spearman"], True)[0].scorer_for(1) == "r2"


@pytest.mark.parametrize(
    ("names", "regression", "message"),
    [
        (
            ["rmse"],
            False,
            "metric rmse is for values, but these targets are classes; choose from a",
        ),
        (
            ["f1"],
            True,
            "the metric f1 is for classes, but these targets are values; choose from r2",
        ),
    ],
)
def test_metrics_of_the_other_task(names: list[str], regression: bool, message: str) -> None:
    check_metric_names(names)
    with pytest.raises(InvalidInputError, match=message):
        chosen_metrics(names, regression)


def test_cv_shows_what_its_table_holds(graphs_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    wanted = ["--metric", "roc_auc", "--metric", "ap", "--metric", "log_loss"]
    found = record("cv", graphs_file, *FIXED, *wanted, "--repeats", 2, "-o", path)
    rows = rows_of(path)
    assert list(rows[0])[-6:] == [
        "repetition", "fold", "prediction", "score", "probability_0", "probability_1"
    ]  # fmt: skip
    assert len(rows) == 2 * N_GRAPHS
    assert found["metrics"] == ["roc_auc", "average_precision", "log_loss"]
    assert "accuracy" not in found
    for repetition in range(2):
        for fold in range(4):
            own = [r for r in rows if (r["repetition"], r["fold"]) == (str(repetition), str(fold))]
            y = [int(row["target"]) for row in own]
            scores, likely = ([float(r[name]) for r in own] for name in ("score", "probability_1"))
            expected = reference.roc_auc_score(y, scores)
            assert found["roc_auc"]["folds"][repetition][fold] == pytest.approx(expected)
            expected = reference.log_loss(y, likely)
            assert found["log_loss"]["folds"][repetition][fold] == pytest.approx(expected)
    assert found["roc_auc"]["std_repetitions"] is not None


def test_cv_answers_as_predict_and_predict_proba_do(graphs_file: Path, tmp_path: Path) -> None:
    """Decision values are computed once; all else follows from them as in the classifier."""
    from retgk.cli.evaluate import nested_answers
    from retgk.learning.folds import OuterFold

    del graphs_file, tmp_path
    data = make_graph_classification(60, n_classes=3, n_nodes=(6, 12), random_state=0)
    for classes in (2, 3):
        kept = np.flatnonzero(data.targets < classes)
        train, test = kept[::2], kept[1::2]

        def model() -> RetGKClassifier:
            return RetGKClassifier(C=10, p=1, scale=1, random_state=0)

        fitted = model().fit(data.graphs[train], data.targets[train])
        targets = np.where(data.targets < classes, data.targets, 0)
        ((answer,),) = nested_answers(data.graphs, targets, [[OuterFold(train, test)]], model())
        np.testing.assert_array_equal(answer.predictions, fitted.predict(data.graphs[test]))
        np.testing.assert_allclose(answer.decisions, fitted.decision_function(data.graphs[test]))
        np.testing.assert_allclose(answer.probabilities, fitted.predict_proba(data.graphs[test]))


def test_cv_prints_every_metric(graphs_file: Path) -> None:
    text = printed("cv", graphs_file, *FIXED, "--metric", "mcc", "--metric", "accuracy")
    lines = text.splitlines()
    assert lines[1].startswith("matthews_corrcoef  0.")
    assert lines[2].startswith("accuracy           ")
    assert " % (deviation over folds " in lines[2]


def test_probabilities_of_the_papers_protocol(graphs_file: Path) -> None:
    options = ["--protocol", "paper", "--folds", 4, "--C", 1]
    found = record("cv", graphs_file, *options, "--metric", "roc_auc")
    assert 0 < found["roc_auc"]["mean"] <= 1
    message = "log_loss needs probabilities, which these models do not have"
    assert_fails(invoke("cv", graphs_file, *options, "--metric", "log_loss"), message)


def test_fit_names_its_metric(graphs_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.retgk"
    found = record("fit", graphs_file, *FIXED[2:], "-o", path)
    assert found["metric"] == "accuracy"
    assert 0 <= found["score_std"] < 1
    text = printed("fit", graphs_file, *FIXED[2:], "-o", path)
    assert f"accuracy {found['score']:.4f} (mean over the folds that chose it, deviation" in text
    two = ["--metric", "auc", "--metric", "ap"]
    assert_fails(invoke("fit", graphs_file, *two, "-o", path), "a model chooses by one metric")


class Scoring(RetGKClassifier):
    """Classifier with the parameter that this test is about."""

    def __init__(self, *, scoring: Any = None, C: Any = 1, random_state: Any = 0) -> None:
        super().__init__(C=C, random_state=random_state)
        self.scoring = scoring


def test_models_choose_by_the_first_metric() -> None:
    two, three = np.array([0, 1]), np.array([0, 1, 2])
    assert selecting_model(Scoring(), ["auc", "ap"], two).scoring == "roc_auc"
    assert selecting_model(Scoring(), ["auc"], three).scoring == "roc_auc_ovr"
    assert selecting_model(Scoring(), None, two).scoring is None
    assert selection_metric(selecting_model(Scoring(), ["auc"], three)).name == "roc_auc"
    log_loss = selection_metric(selecting_model(Scoring(), ["log_loss"], two))
    assert (log_loss.name, log_loss.sign) == ("log_loss", -1)
    assert selection_metric(RetGKClassifier()).name == "accuracy"
    assert selection_metric(RetGKRegressor()).name == "r2"


def test_whole_numbers_are_asked_about(graphs_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "sizes.txt"
    path.write_text("".join(f"{3 * number}\n" for number in range(N_GRAPHS)))
    message = (
        "targets are 40 different whole numbers for 40 graphs; pass --task regression if they "
        "are values, or --task classification if they are classes"
    )
    assert_fails(invoke("cv", graphs_file, "--targets", path), message)
    assert_fails(invoke("fit", graphs_file, "--targets", path, "-o", tmp_path / "m"), message)
    given = ["--targets", path, "--task", "regression", "--folds", 3, "--p", 1, "--scale", 1]
    assert record("cv", graphs_file, *given)["task"] == "regression"


def test_many_classes_are_taken_for_classes_with_a_warning() -> None:
    many = np.repeat(np.arange(25), 10)
    with pytest.warns(InputWarning, match="whole numbers for 250 graphs, taken for classes"):
        assert not is_regression("auto", many)
    assert not is_regression("classification", many)
    assert not is_regression("auto", np.arange(5))
    assert not is_regression("auto", many.astype(str))
    assert not is_regression("auto", DATA.targets.astype(float))


def test_one_common_class_is_said(graphs_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "rare.txt"
    path.write_text("1\n" * 3 + "0\n" * (N_GRAPHS - 3))
    given = ["cv", graphs_file, "--targets", path, "--folds", 3, "--C", 1, "--p", 1, "--scale", 1]
    assert "92.5 % of the graphs are of class 0, so accuracy says little" in invoke(*given).stderr
    assert "says little" not in invoke(*given, "--metric", "ap").stderr
    assert "says little" not in invoke(*given, "--quiet").stderr
