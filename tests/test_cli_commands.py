"""What every command but those of models gives, on graphs that need no download."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as reference

from retgk import (
    GraphClassifier,
    GraphDataset,
    GraphRegressor,
    RetGK,
    load_model,
    most_similar,
    read_graphs,
    return_probabilities,
)
from retgk.datasets import make_graph_classification, save_tudataset
from retgk.errors import InputWarning
from retgk.estimators.similarity import comparison_kernel
from retgk.io import write_parquet
from retgk.kernels import RetGKEmbedding, WeisfeilerLehman, embedding_gram
from retgk.learning.metrics import (
    Outcome,
    check_metric_names,
    chosen_metrics,
    selecting_model,
    selection_metric,
)
from retgk.learning.targets import is_regression
from retgk.search import distances
from tests.errors import fails
from tests.programs import DATA, N_GRAPHS, assert_fails, invoke, printed, record, rows_of


def test_info(graphs_file: Path) -> None:
    found = record("info", graphs_file)
    assert (found["graphs"], found["attributes"], found["labels"]) == (N_GRAPHS, 2, [0, 1, 2])
    assert found["targets"] == {"kind": "classes", "sizes": {"0": 20, "1": 20}}
    assert found["graph_size"]["max"] == DATA.graphs.node_counts.max()
    assert found["isolated_nodes"] == np.sum(np.diff(DATA.graphs.indptr) == 0)
    text = printed("info", graphs_file)
    assert "2 classes: 0 (20), 1 (20)" in text


def test_tables_of_nodes_have_their_names(tmp_path: Path) -> None:
    (tmp_path / "regions.edges").write_text("insula thalamus\nthalamus caudate\n")
    table = printed("features", tmp_path / "regions.edges", "-o", "-")
    rows = list(csv.DictReader(table.splitlines()))
    assert [(row["node"], row["node_name"]) for row in rows] == [
        ("0", "insula"),
        ("1", "thalamus"),
        ("2", "caudate"),
    ]


def test_convert_there_and_back(graphs_file: Path, tmp_path: Path) -> None:
    assert invoke("convert", graphs_file, tmp_path / "A.zip").exit_code == 0
    assert invoke("convert", tmp_path / "A.zip", tmp_path / "gml", "--to", "graphml").exit_code == 0
    back = tmp_path / "back.parquet"
    names = ["--label", "label", "--attributes", "attribute_0"]
    names += ["--attributes", "attribute_1", "--targets", tmp_path / "gml" / "targets.txt"]
    found = record("convert", tmp_path / "gml", back, *names)
    assert (found["format"], found["graphs"]) == ("parquet", N_GRAPHS)
    dataset = read_graphs(back)
    assert dataset.graphs == DATA.graphs
    np.testing.assert_array_equal(dataset.targets, DATA.targets)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "A.zip",
        "A.zip.sha256",
        "back.parquet",
        "gml",
    ]


def test_convert_to_edge_lists(graphs_file: Path, tmp_path: Path) -> None:
    plain = ["--no-labels", "--no-attributes"]
    assert_fails(
        invoke("convert", graphs_file, tmp_path / "e", "--to", "edges"),
        "GraphML",
    )
    assert list(tmp_path.iterdir()) == []
    rings = make_graph_classification(
        5, families=["watts_strogatz"], n_labels=2, n_nodes=(9, 12), rng=0
    )
    write_parquet(rings, tmp_path / "rings.parquet")
    source = tmp_path / "rings.parquet"
    assert invoke("convert", source, tmp_path / "e", "--to", "edges", *plain).exit_code == 0
    assert record("info", tmp_path / "e")["edges"] == rings.graphs.n_edges
    assert (tmp_path / "e" / "targets.txt").read_text().split() == [*map(str, rings.targets)]
    assert_fails(
        invoke("convert", graphs_file, tmp_path / "e", "--to", "edges"), "exists; remove it"
    )


@pytest.mark.parametrize(
    ("output", "message"),
    [("a.xyz", ("'a.xyz'", ".parquet")), (".", ("what to write",))],
)
def test_convert_to_nothing_known(graphs_file: Path, output: str, message: str) -> None:
    assert_fails(invoke("convert", graphs_file, output), *message)


def test_features_have_a_row_per_node(graphs_file: Path, tmp_path: Path) -> None:
    expected = return_probabilities(DATA.graphs, 4)
    found = record("features", graphs_file, "--n-steps", 4, "-o", tmp_path / "f.npz")
    assert found["shape"] == list(expected.shape)
    with np.load(tmp_path / "f.npz") as arrays:
        np.testing.assert_array_equal(arrays["return_probabilities"], expected)
        np.testing.assert_array_equal(arrays["node_ptr"], DATA.graphs.node_ptr)
        of_graph = np.repeat(np.arange(N_GRAPHS), DATA.graphs.node_counts)
        np.testing.assert_array_equal(arrays["graph"], of_graph)
        np.testing.assert_array_equal(arrays["target"], DATA.targets[of_graph])
    rows = csv.DictReader(io.StringIO(printed("features", graphs_file, "--n-steps", 4, "-o", "-")))
    first = next(rows)
    assert list(first) == ["graph", "node", "target", "p1", "p2", "p3", "p4"]
    assert float(first["p4"]) == expected[0, 3]


def test_embedding_in_parquet_has_keys_and_names(graphs_file: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    model = RetGKEmbedding(n_components=5, random_state=7)
    expected = model.fit_transform(DATA.graphs)
    path = tmp_path / "v.parquet"
    assert invoke("embed", graphs_file, "-D", 5, "--seed", 7, "-o", path).exit_code == 0
    table = parquet.read_table(path)
    names = list(model.get_feature_names_out())
    assert table.column_names == ["graph", "target", *names]
    np.testing.assert_array_equal(np.stack([table[name] for name in names], axis=1), expected)
    np.testing.assert_array_equal(table["target"], DATA.targets)


def test_kernel_is_that_of_the_estimator(graphs_file: Path, tmp_path: Path) -> None:
    model = RetGK(random_state=0)
    expected = model.fit_transform(DATA.graphs)
    found = record("kernel", graphs_file, "-o", tmp_path / "k.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "k.npy"), expected)
    assert found["graph_kernel"] == repr(model.graph_kernel_)
    assert (
        invoke("kernel", graphs_file, "--matrix", "distances", "-o", tmp_path / "d.json").exit_code
        == 0
    )
    written = json.loads((tmp_path / "d.json").read_text())
    np.testing.assert_array_equal(written["distances"], model.distances())
    assert written["target"] == DATA.targets.tolist()


NODE_OPTIONS = {
    "scaling": (["--scale-attributes", "standard"], {"scale_attributes": "standard"}),
    "depth": (["--depth", 2], {"depth": 2}),
}


@pytest.mark.parametrize("name", NODE_OPTIONS)
def test_options_of_nodes(name: str, graphs_file: Path, tmp_path: Path) -> None:
    options, own = NODE_OPTIONS[name]
    path, own = tmp_path / "found.npy", {**own, "random_state": 0}
    printed("kernel", graphs_file, *options, "-o", path)
    expected = RetGK(**own).fit_transform(DATA.graphs)
    assert not np.array_equal(expected, RetGK(random_state=0).fit_transform(DATA.graphs))
    np.testing.assert_array_equal(np.load(path), expected)
    printed("embed", graphs_file, *options, "-D", 5, "-o", path)
    embedding = RetGKEmbedding(n_components=5, **own)
    np.testing.assert_array_equal(np.load(path), embedding.fit_transform(DATA.graphs))
    products = tmp_path / "products.npy"
    on_disk = ["--matrix", "products", "--on-disk", "-o", products]
    printed("kernel", graphs_file, *options, *on_disk)
    fitted = RetGK(**own).fit(DATA.graphs)
    np.testing.assert_allclose(np.load(products), fitted.inner_products_, atol=1e-4)
    if name == "scaling":
        found = record("similar", graphs_file, "--index", 3, "-k", 4, *options)
        similar = most_similar(DATA.graphs[3], DATA.graphs, 5, comparison_kernel(**own))
        assert found["similarity"] == similar.similarities[1:].tolist()


def test_products_on_disk(graphs_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.npy"
    options = ["--matrix", "products", "--on-disk", "-o", path]
    assert record("kernel", graphs_file, *options)["shape"] == [N_GRAPHS, N_GRAPHS]
    expected = RetGK(random_state=0).fit(DATA.graphs).inner_products_
    np.testing.assert_allclose(np.load(path), expected, atol=1e-4)
    assert_fails(invoke("kernel", graphs_file, *options), "p.npy")
    assert_fails(invoke("kernel", graphs_file, "--on-disk", "-o", path), "--matrix products")


def test_exact_kernel_refuses_options_of_vectors(graphs_file: Path, tmp_path: Path) -> None:
    done = invoke("kernel", graphs_file, "--feature-map", "joint", "-o", tmp_path / "k.npy")
    assert_fails(done, "--n-components")
    assert not (tmp_path / "k.npy").exists()


def test_random_features_and_their_distances(graphs_file: Path, tmp_path: Path) -> None:
    vectors = RetGKEmbedding(random_state=0).fit_transform(DATA.graphs)
    products = embedding_gram(vectors)
    norms = products.diagonal()
    path = tmp_path / "d.npy"
    options = ["-D", 512, "--matrix", "distances", "-o", path]
    assert invoke("kernel", graphs_file, *options).exit_code == 0
    squared = norms[:, None] + norms - 2 * products
    np.testing.assert_allclose(np.load(path) ** 2, squared, atol=1e-12)


def test_results_that_cannot_go_to_standard_output(graphs_file: Path) -> None:
    message = "writes a file, and nothing to standard output; give a name instead of -"
    assert_fails(invoke("fit", graphs_file, "-o", "-"), message)
    for form in ("parquet", "graphml"):
        assert_fails(invoke("convert", graphs_file, "-", "--to", form), message)


@pytest.mark.parametrize(
    "command",
    [
        ["convert", "{}", "{folder}/a.parquet"],
        ["convert", "{}", "{folder}/a", "--to", "graphml"],
        ["features", "{}", "-o", "{folder}/a.csv"],
        ["embed", "{}", "-o", "{folder}/new/a.csv"],
        ["kernel", "{}", "-o", "{folder}/a.npy"],
        ["cv", "{}", "-o", "{folder}/a.csv"],
        ["fit", "{}", "-o", "{folder}/a.retgk"],
        ["predict", "model.retgk", "{}", "-o", "{folder}/a.csv"],
        ["similar", "{}", "--index", "0", "-o", "{folder}/a.csv"],
    ],
)
def test_folders_that_may_not_be_written_to(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As root, who may write everywhere, there is no such folder: the system is asked for one."""
    monkeypatch.setattr("os.access", lambda *_: False)
    words = [word.format("missing.parquet", folder=tmp_path) for word in command]
    assert_fails(invoke(*words), f"{tmp_path} may not be written to; choose another folder")


def test_similar(graphs_file: Path) -> None:
    found = record("similar", graphs_file, "--index", 3, "-k", 4)
    expected = most_similar(DATA.graphs[3], DATA.graphs, 5)
    assert expected.indices[0] == 3
    assert found["graph"] == expected.indices[1:].tolist()
    assert found["similarity"] == expected.similarities[1:].tolist()
    assert found["target"] == DATA.targets[expected.indices[1:]].tolist()


def test_other_kernels(graphs_file: Path, tmp_path: Path) -> None:
    path, kernel = tmp_path / "k.npy", WeisfeilerLehman()
    printed("kernel", graphs_file, "--kernel", "wl", "-o", path)
    np.testing.assert_array_equal(np.load(path), kernel.fit_transform(DATA.graphs))
    printed("kernel", graphs_file, "--kernel", "wl", "--matrix", "distances", "-o", path)
    np.testing.assert_array_equal(np.load(path), distances(DATA.graphs, kernel=kernel))
    found = record("similar", graphs_file, "--index", 3, "-k", 4, "--kernel", "wl")
    expected = most_similar(DATA.graphs[3], DATA.graphs, 5, kernel)
    assert found["similarity"] == [
        value for place, value in zip(*expected, strict=True) if place != 3
    ]
    fit = ["fit", graphs_file, "--kernel", "wl", "--C", 10, "-o", tmp_path / "m.retgk"]
    assert record(*fit)["chosen"].keys() == {"C", "n_iter"}
    assert isinstance(load_model(tmp_path / "m.retgk").kernel_, WeisfeilerLehman)
    chosen = record("cv", graphs_file, "--kernel", "sp", "--folds", 3)["chosen"][0]
    assert all(choice.keys() >= {"C"} for choice in chosen)
    assert not any("depth" in choice for choice in chosen)
    random = ["fit", graphs_file, "-D", 16, "--C", 1, "--p", 1, "-o", tmp_path / "m.retgk"]
    assert record(*random)["approximate"]
    assert load_model(tmp_path / "m.retgk").kernel_.n_components == 16


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (["cv", "--kernel", "wll"], ("'wll'", "wl")),
        (["cv", "--kernel", "size"], ("size", "no kernel")),
        (["cv", "--kernel", "wl", "--depth", 1], ("--depth", "--kernel wl")),
        (["cv", "--kernel", "wl", "--n-steps", 9], ("--n-steps", "--kernel wl")),
        (["kernel", "-o", "-", "--kernel", "sp", "--tol", 0], ("--tol", "--kernel sp")),
        (["test", "--kernel", "wl", "--compare", "nodes"], ("--compare", "--kernel wl")),
        (["similar", "--index", 1, "--kernel", "majority"], ("majority", "no kernel")),
    ],
)
def test_options_that_other_kernels_lack(
    words: list[object], facts: tuple[str, ...], graphs_file: Path
) -> None:
    assert_fails(invoke(words[0], graphs_file, *words[1:]), *facts)


def test_similar_molecules(tmp_path: Path) -> None:
    path = tmp_path / "a.smi"
    path.write_text("CCO ethanol\nc1ccccc1 benzene\nCCCO propanol\n")
    text = printed("similar", path, "--smiles", "OCC", "-k", 1)
    assert "ethanol" in text
    assert "1.0000" in text
    (tmp_path / "query.smi").write_text("c1ccccc1\n")
    found = record("similar", path, "--query", tmp_path / "query.smi", "-k", 1)
    assert found["name"] == ["benzene"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], ("--index", "--query", "--smiles")),
        (["--index", 40], ("graph 40",)),
        (["--query", "digits"], ("digits", "1797")),
    ],
)
def test_similar_errors(graphs_file: Path, options: list[object], message: str) -> None:
    assert_fails(invoke("similar", graphs_file, *options), *message)


def test_datasets(tmp_path: Path) -> None:
    save_tudataset(GraphDataset(DATA.graphs, DATA.targets, "TINY"), tmp_path)
    home = ["--data-home", tmp_path]
    found = record("datasets", "list", "--here", *home)
    names = [entry["name"] for entry in found["datasets"]]
    assert names == ["digits", "TINY"]
    everything = {
        entry["name"]: entry["here"] for entry in record("datasets", "list", *home)["datasets"]
    }
    assert everything["MUTAG"] is False
    assert everything["TINY"] is True
    assert record("datasets", "fetch", "TINY", *home)["graphs"] == N_GRAPHS
    assert_fails(invoke("datasets", "fetch", "a/b", *home), "a/b")


@pytest.mark.parametrize("command", ["features", "embed", "kernel"])
def test_outputs_are_checked_before_any_work(command: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing.parquet"
    endings = "end the name in one of .parquet, .csv, .npz, .npy, .json, or give -"
    assert_fails(invoke(command, missing, "-o", tmp_path / "a.txt"), endings)
    (tmp_path / "folder.csv").mkdir()
    assert_fails(invoke(command, missing, "-o", tmp_path / "folder.csv"), "is a folder")
    (tmp_path / "file").touch()
    assert_fails(invoke(command, missing, "-o", tmp_path / "file" / "a.csv"), "is not a folder")
    assert_fails(invoke(command, missing, "-o", tmp_path / "a.csv"), "missing.parquet")


def test_quiet_says_nothing(graphs_file: Path, tmp_path: Path) -> None:
    result = invoke("kernel", graphs_file, "-o", tmp_path / "k.npy", "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


# `retgk cv`, `fit` and `predict`, on graphs that need no download


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
    products = RetGK(random_state=0).fit(DATA.graphs).inner_products_
    settings = {"folds": 10, "c": [1, 10, 100, 1000]}
    for seed in range(2):
        outcome = paper_outcome(products, DATA.targets, kernel, seed, settings)
        expected = [fold.accuracy for fold in outcome.folds]
        assert found["accuracy"]["folds"][seed] == pytest.approx(expected)
        assert [choice["C"] for choice in found["chosen"][seed]] == [f.c for f in outcome.folds]
    assert found["accuracy"]["std_repetitions"] is not None


def test_depth_and_scaling_are_chosen(graphs_file: Path, tmp_path: Path) -> None:
    one, path = ["--C", 10, "--p", 1, "--scale", 1], tmp_path / "model.retgk"
    candidates = ["--depth", 1, "--depth", 2, "--scale-attributes", "raw"]
    candidates += ["--scale-attributes", "drop"]
    found = record("cv", graphs_file, "--folds", 3, *one, *candidates)
    assert {choice["depth"] for choice in found["chosen"][0]} <= {1, 2}
    assert {choice["scale_attributes"] for choice in found["chosen"][0]} <= {"raw", "drop"}
    assert record("fit", graphs_file, *one, "--depth", 3, "-o", path)["chosen"]["depth"] == 3
    assert load_model(path).kernel_.get_params()["depth"] == 3
    plain, deep = (
        record("cv", graphs_file, "--protocol", "paper", "--folds", 3, "--depth", depth)
        for depth in (0, 3)
    )
    assert plain["accuracy"] != deep["accuracy"]
    several = ["--protocol", "paper", "--depth", 0, "--depth", 1]
    assert_fails(invoke("cv", graphs_file, *several), "--depth")


@pytest.mark.slow
def test_landmarks(graphs_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.retgk"
    options = ["-D", 1024, "--task", "regression", "--n-landmarks", 7]
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
        (["--folds", 30], ("0", "20", "30")),
        (["--protocol", "paper", "--p", 1, "--p", 2], ("--p",)),
        (
            ["--protocol", "paper", *["--scale-attributes", "raw", "--scale-attributes", "drop"]],
            ("--scale-attributes",),
        ),
        (["--task", "regression", "--balanced"], ("--balanced",)),
        (["-o", "predictions.npy"], ("'predictions.npy'", ".csv")),
    ],
)
def test_cv_errors(graphs_file: Path, options: list[object], message: str) -> None:
    assert_fails(invoke("cv", graphs_file, *options), *message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--balanced"], ("--balanced", "--protocol nested")),
        (["--kernel", "wl"], ("--kernel", "--protocol nested")),
        (["--n-components", 20], ("--n-components", "--protocol nested")),
        (["--n-landmarks", 20], ("--n-landmarks", "--protocol nested")),
        (["--C", -1], ("-1.0",)),
        (["--C", "nan"], ("C must be",)),
        (["--folds", 50], ("40", "50")),
        (["--scale", 0], ("scale", "0")),
    ],
)
def test_options_that_the_papers_protocol_cannot_follow(
    graphs_file: Path, options: list[object], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RetGK, "fit", lambda *_: pytest.fail("the kernel is computed"))
    assert_fails(invoke("cv", graphs_file, "--protocol", "paper", *options), *message)


@pytest.fixture(scope="module")
def model_file(graphs_file: Path) -> Path:
    path = graphs_file.with_name("model.retgk")
    found = record("fit", graphs_file, "--C", 10, "--scale", 1, "-o", path)
    assert found["model"] == "GraphClassifier"
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
        "--label",
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
    assert_fails(invoke("cv", source), "graph 3")


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
    assert record("fit", graphs_file, *given, "-o", path)["model"] == "GraphRegressor"
    assert record("predict", path, graphs_file, *given[:2], "-o", tmp_path / "p.csv")["r2"] > 0.5
    assert_fails(invoke("predict", path, graphs_file, "--probabilities"), "have no probabilities")


# Metrics of `retgk cv` and `retgk fit`: those of scikit-learn, by its names

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


@pytest.mark.parametrize(("name", "regression"), [("rmse", False), ("f1", True)])
def test_metrics_of_the_other_task(name: str, regression: bool) -> None:
    check_metric_names([name])
    own = "values" if regression else "classes"
    fails(lambda: chosen_metrics([name], regression), about=(name, f"these targets are {own}"))


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
    data = make_graph_classification(60, n_classes=3, n_nodes=(6, 12), rng=0)
    for classes in (2, 3):
        kept = np.flatnonzero(data.targets < classes)
        train, test = kept[::2], kept[1::2]

        def model() -> GraphClassifier:
            return GraphClassifier(C=10, candidates={}, random_state=0)

        fitted = model().fit(data.graphs[train], data.targets[train])
        targets = np.where(data.targets < classes, data.targets, 0)
        ((answer,),) = nested_answers(data.graphs, targets, [[OuterFold(train, test)]], model())
        np.testing.assert_array_equal(answer.predictions, fitted.predict(data.graphs[test]))
        np.testing.assert_allclose(answer.decisions, fitted.decision_function(data.graphs[test]))
        np.testing.assert_allclose(answer.probabilities, fitted.predict_proba(data.graphs[test]))


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
    assert_fails(invoke("fit", graphs_file, *two, "-o", path), "a model chooses")


class Scoring(GraphClassifier):
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
    assert selection_metric(GraphClassifier()).name == "accuracy"
    assert selection_metric(GraphRegressor()).name == "r2"


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


def test_an_exact_kernel_has_no_random_features(graphs_file):
    result = invoke("cv", graphs_file, "--kernel", "retgk-exact", "-D", 64)
    assert_fails(result, "--kernel retgk-exact", "--n-components 64")


# Several targets, with gaps

MOLECULES = ["CCO", "CCN", "CCC", "CCCC", "CCCO", "CCCN", "c1ccccc1", "Cc1ccccc1", "Oc1ccccc1"]


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """Molecules with an identifier, two tasks with gaps, a value and names."""
    path = tmp_path / "several.csv"
    lines = ["id,toxic,polar,mass,code,smiles"]
    for number in range(45):
        smiles = "C" * (number // 9) + MOLECULES[number % 9]
        toxic = "" if number % 5 == 3 else int("c1" in smiles)
        polar = "" if number % 4 == 1 else int("O" in smiles or "N" in smiles)
        lines.append(f"{number},{toxic},{polar},{12.5 * len(smiles)},M{number},{smiles}")
    lines.append("45,1,0,1.0,M45,C1CC(")  # which RDKit cannot read
    path.write_text("\n".join(lines) + "\n")
    return path


def test_cv_of_several_targets(several: Path, tmp_path: Path) -> None:
    """A row for each, of the graphs that have it, and means; as each alone where all have it."""
    out = tmp_path / "out.csv"
    few = ("--folds", 3, "--C", 10, "--p", 1, "--scale", 1, "--depth", 1, "-j", 1)
    options = ("--target-column", "toxic,polar", "--metric", "roc_auc", *few)
    found = record("cv", several, *options)
    assert found["task"] == "classification"
    assert {name: own["graphs"] for name, own in found["targets"].items()} == {
        "toxic": 36,
        "polar": 34,
    }
    values = [own["roc_auc"]["mean"] for own in found["targets"].values()]
    assert found["mean"]["roc_auc"] == pytest.approx(np.mean(values))
    assert min(values) > 0.7
    assert "ridge" in found["method"]
    shown = invoke("cv", several, *options, "-o", out).stdout
    assert all(word in shown for word in ("toxic", "polar", "mean", "method"))
    assert {"prediction_toxic", "probability_polar", "target_toxic"} <= rows_of(out)[0].keys()
    every = record("cv", several, "--target-column", "all", *few)
    assert every["task"] == "regression"  # of numbers: the id and codes name molecules
    assert list(every["targets"]) == ["toxic", "polar", "mass"]
    assert_fails(invoke("cv", several, "--target-column", "toxic,code"), "'code'")
    assert_fails(invoke("cv", several, "--target-column", "toxic,none"), "'none'")


def test_fit_and_predict_several_targets(several: Path, tmp_path: Path) -> None:
    model, out = tmp_path / "model.retgk", tmp_path / "out.csv"
    found = record("fit", several, "--target-column", "toxic,polar", "-o", model)
    assert "ridge with leave-one-out: 45 graphs, 2 labels" in found["method"]
    record("predict", model, several, "--skip-invalid", "--probabilities", "-o", out)
    assert {"prediction_toxic", "probability_polar"} <= rows_of(out)[0].keys()
    assert load_model(model).target_names_ == ("toxic", "polar")


@pytest.mark.slow
def test_compare_several_targets(several: Path, tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    options = ("--target-column", "toxic,polar", "--folds", 3, "--methods", "size,majority")
    result = invoke("compare", several, *options, "-o", out)
    assert result.exit_code == 0
    assert "several, toxic" in result.stdout
    assert "several, polar" in result.stdout
    assert (tmp_path / "table-toxic.csv").exists()
    found = record("compare", several, *options)
    assert [own["target"] for own in found["targets"]] == ["toxic", "polar"]
    assert [own["graphs"] for own in found["targets"]] == [36, 34]
