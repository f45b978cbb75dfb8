"""`retgk cv`, `fit` and `predict`, on graphs that need no download."""

from pathlib import Path

import numpy as np
import pytest

from retgk import GraphDataset, RetGKKernel, load_model, write_parquet
from tests.cli_calls import DATA, N_GRAPHS, assert_fails, invoke, printed, record, rows_of


def test_cv_nested_with_predictions(graphs_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    options = ["--folds", 4, "--C", 1, "--C", 100, "--p", 1, "--scale", 1, "-o", path]
    found = record("cv", graphs_file, *options)
    rows = rows_of(path)
    assert [int(row["graph"]) for row in rows] == list(range(N_GRAPHS))
    assert [int(row["target"]) for row in rows] == DATA.targets.tolist()
    folds = [
        np.mean([row["target"] == row["prediction"] for row in rows if int(row["fold"]) == fold])
        for fold in range(4)
    ]
    assert found["accuracy"]["folds"] == [pytest.approx(folds)]
    assert found["accuracy"]["mean"] == pytest.approx(np.mean(folds))
    assert np.sum(found["confusion"]) == N_GRAPHS
    assert np.trace(found["confusion"]) == sum(row["target"] == row["prediction"] for row in rows)
    assert {choice["C"] for choice in found["chosen"][0]} <= {1, 100}


def test_cv_by_the_papers_protocol(graphs_file: Path) -> None:
    from retgk.kernels.graph import ExponentialGraphKernel
    from retgk.learning.paper_protocol import paper_outcome

    found = record("cv", graphs_file, "--protocol", "paper", "--p", 2, "--repetitions", 2)
    kernel = ExponentialGraphKernel(p=2)
    products = RetGKKernel(random_state=0).fit(DATA.graphs).inner_products_
    settings = {"folds": 10, "c": [1, 10, 100, 1000]}
    for seed in range(2):
        outcome = paper_outcome(products, DATA.targets, kernel, seed, settings)
        expected = [fold.accuracy for fold in outcome.folds]
        assert found["accuracy"]["folds"][seed] == pytest.approx(expected)
        assert [choice["C"] for choice in found["chosen"][seed]] == [f.c for f in outcome.folds]
    assert found["accuracy"]["std_repetitions"] is not None


def test_scaling_of_attributes_is_chosen(graphs_file: Path, tmp_path: Path) -> None:
    one = ["--C", 10, "--p", 1, "--scale", 1]
    candidates = ["--scale-attributes", "raw", "--scale-attributes", "drop"]
    found = record("cv", graphs_file, "--folds", 3, *one, *candidates)
    assert {choice["scale_attributes"] for choice in found["chosen"][0]} <= {"raw", "drop"}
    path = tmp_path / "model.retgk"
    found = record("fit", graphs_file, *one, "--scale-attributes", "drop", "-o", path)
    assert found["chosen"]["scale_attributes"] == "drop"
    assert load_model(path).get_params()["scale_attributes"] == ("drop",)


def test_depth_is_chosen(graphs_file: Path, tmp_path: Path) -> None:
    one, path = ["--C", 10, "--p", 1, "--scale", 1], tmp_path / "model.retgk"
    found = record("cv", graphs_file, "--folds", 3, *one, "--depth", 1, "--depth", 2)
    assert {choice["depth"] for choice in found["chosen"][0]} <= {1, 2}
    assert record("fit", graphs_file, *one, "--depth", 3, "-o", path)["chosen"]["depth"] == 3
    assert load_model(path).get_params()["depth"] == (3,)
    plain, deep = (
        record("cv", graphs_file, "--protocol", "paper", "--folds", 3, "--depth", depth)
        for depth in (0, 3)
    )
    assert plain["accuracy"] != deep["accuracy"]
    several = ["--protocol", "paper", "--depth", 0, "--depth", 1]
    assert_fails(invoke("cv", graphs_file, *several), "the paper's protocol takes one --depth")


def test_landmarks(graphs_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.retgk"
    options = ["--approximate", "--task", "regression", "--n-landmarks", 7]
    printed("fit", graphs_file, *options, "-o", path)
    assert load_model(path).get_params()["n_landmarks"] == 7
    printed("cv", graphs_file, "--folds", 3, *options)


def test_cv_prints_a_confusion_matrix(graphs_file: Path) -> None:
    text = printed("cv", graphs_file, "--folds", 3, "--C", 1, "--p", 1, "--scale", 1, "-q")
    assert "small: 40 graphs, 3 folds, nested" in text
    assert "true \\ predicted" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--folds", 30], "class 0 has 20 graphs for 30 folds; give fewer folds"),
        (["--protocol", "paper", "--p", 1, "--p", 2], "the paper's protocol takes one --p"),
        (
            ["--protocol", "paper", *["--scale-attributes", "raw", "--scale-attributes", "drop"]],
            "the paper's protocol takes one --scale-attributes",
        ),
        (["--task", "regression", "--balanced"], "--balanced weights classes"),
        (["-o", "predictions.npy"], "end the name in one of .parquet, .csv, .npz, .json"),
    ],
)
def test_cv_errors(graphs_file: Path, options: list[object], message: str) -> None:
    assert_fails(invoke("cv", graphs_file, *options), message)


@pytest.mark.parametrize(
    ("rare", "message"),
    [
        (
            ["7"],
            "class 7 has 1 graph for 10 folds; give more graphs of it, or --task regression if",
        ),
        (
            ["7"] * 3,
            "class 7 has 3 graphs for 10 folds; give fewer folds, or more graphs of it, or",
        ),
        (["x"], "class x has 1 graph for 10 folds; give more graphs of it\n"),
        (
            ["x"] * 3,
            "class x has 3 graphs for 10 folds; give fewer folds, or more graphs of it\n",
        ),
    ],
)
def test_rare_classes(graphs_file: Path, tmp_path: Path, rare: list[str], message: str) -> None:
    targets = tmp_path / "targets.txt"
    targets.write_text("\n".join([*rare, *["1"] * (N_GRAPHS - len(rare))]))
    assert message in invoke("cv", graphs_file, "--targets", targets).stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--balanced"], "--balanced is for --protocol nested"),
        (["--approximate"], "--approximate is for --protocol nested"),
        (["--n-components", 20], "--n-components is for --protocol nested"),
        (["--n-landmarks", 20], "--n-landmarks is for --protocol nested"),
        (["--C", -1], "C must be positive and finite, got -1.0"),
        (["--C", "nan"], "C must be positive and finite, got nan"),
        (["--folds", 50], "40 graphs do not fill 50 folds; give fewer folds"),
        (["--scale", 0], "scale must be positive and finite, got 0"),
    ],
)
def test_options_that_the_papers_protocol_cannot_follow(
    graphs_file: Path, options: list[object], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RetGKKernel, "fit", lambda *_: pytest.fail("the kernel is computed"))
    assert_fails(invoke("cv", graphs_file, "--protocol", "paper", *options), message)


@pytest.fixture(scope="module")
def model_file(graphs_file: Path) -> Path:
    path = graphs_file.with_name("model.retgk")
    found = record("fit", graphs_file, "--C", 10, "--scale", 1, "-o", path)
    assert found["model"] == "RetGKClassifier"
    assert found["chosen"]["C"] == 10
    return path


def test_fitted_model_predicts(graphs_file: Path, model_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    found = record("predict", model_file, graphs_file, "--probabilities", "-o", path)
    rows = rows_of(path)
    assert list(rows[0]) == ["graph", "target", "prediction", "probability_0", "probability_1"]
    hits = [row["prediction"] == row["target"] for row in rows]
    assert found["accuracy"] == np.mean(hits) > 0.7
    for row in rows:
        assert float(row["probability_0"]) + float(row["probability_1"]) == pytest.approx(1)


def test_predictions_go_to_standard_output(graphs_file: Path, model_file: Path) -> None:
    written = record("predict", model_file, graphs_file)
    assert written["graph"] == list(range(N_GRAPHS))
    assert len(written["prediction"]) == N_GRAPHS


def test_predict_errors(graphs_file: Path, model_file: Path, tmp_path: Path) -> None:
    result = invoke("predict", model_file, graphs_file, "--no-labels")
    assert_fails(
        result,
        "labels, the fitted ones have some; read some with --label",
    )
    missing = "none.retgk; make it with `retgk fit`"
    assert_fails(invoke("predict", tmp_path / "none.retgk", graphs_file), missing)
    assert_fails(invoke("predict", graphs_file, graphs_file), "small.parquet")


def test_no_score_where_a_target_is_missing(model_file: Path, tmp_path: Path) -> None:
    targets = np.where(np.arange(N_GRAPHS) == 3, np.nan, DATA.targets)
    source = write_parquet(GraphDataset(DATA.graphs, targets, "gaps"), tmp_path / "gaps.parquet")
    found = record("predict", model_file, source, "-o", tmp_path / "p.csv")
    assert found["graphs"] == N_GRAPHS
    assert "accuracy" not in found
    assert len(rows_of(tmp_path / "p.csv")) == N_GRAPHS
    assert_fails(invoke("cv", source), "graph 3 has no target; drop it, or give all targets")


def test_targets_that_are_text_or_missing() -> None:
    def first(targets: list[object] | None) -> int | None:
        return GraphDataset(DATA.graphs[:2], targets, "c").first_without_target()

    assert first(["a", "b"]) is None
    assert first(["a", None]) == 1
    assert first([1.0, np.nan]) == 1
    assert first([1.0, -np.inf]) == 1
    assert first([1, 2]) is None
    assert first(None) == 0


def test_model_file_that_is_too_large_for_predict(
    graphs_file: Path, model_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = model_file.stat().st_size
    small = invoke("predict", model_file, graphs_file, "--max-bytes", size - 1)
    assert_fails(small, f"more than the {size - 1} allowed; pass a larger --max-bytes if you trust")
    assert invoke("predict", model_file, graphs_file, "--max-bytes", size).exit_code == 0
    monkeypatch.setattr("retgk.estimators.model_files.DEFAULT_MAX_BYTES", 1000)
    path = tmp_path / "m.retgk"
    result = invoke("fit", graphs_file, "--C", 10, "--scale", 1, "-o", path, "--quiet")
    assert result.stderr == (
        f"{path} has {path.stat().st_size} bytes: `retgk predict` reads it with --max-bytes "
        f"{path.stat().st_size} only\n"
    )


def test_regression(graphs_file: Path, tmp_path: Path) -> None:
    targets = tmp_path / "sizes.txt"
    targets.write_text("".join(f"{size + 0.5}\n" for size in DATA.graphs.node_counts))
    given = ["--targets", targets, "--scale", 1, "--p", 1]
    found = record("cv", graphs_file, *given, "--folds", 3)
    assert found["task"] == "regression"
    assert "confusion" not in found
    assert found["rmse"]["mean"] < DATA.graphs.node_counts.std()
    path = tmp_path / "m.retgk"
    assert record("fit", graphs_file, *given, "-o", path)["model"] == "RetGKRegressor"
    assert record("predict", path, graphs_file, *given[:2], "-o", tmp_path / "p.csv")["r2"] > 0.5
    assert_fails(invoke("predict", path, graphs_file, "--probabilities"), "have no probabilities")
