"""Every command of the installed program on real data: interrupted, killed, run, and misused."""

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from retgk import load_tudataset, read_graphs
from tests.cli_program import (
    TIMEOUT_SECONDS,
    assert_fails_with_one_line,
    output_of,
    run_program,
    start_program,
)

real_data = pytest.mark.real_data


class Case(NamedTuple):
    """A command, the file that it writes, and a misuse with the message it gets."""

    arguments: list[str]
    output: str
    misuse: list[str]
    message: str


CASES = {
    "convert": Case(
        ["convert", "MUTAG", "mutag.parquet"],
        "mutag.parquet",
        ["convert", "MUTAG", "mutag.doc"],
        "end the name in one of .json, .jsonl, .parquet, .zip",
    ),
    "features": Case(
        ["features", "MUTAG", "-o", "features.npz"],
        "features.npz",
        ["features", "broken.zip", "-o", "features.npz"],
        "broken.zip is not a whole zip archive",
    ),
    "embed": Case(
        ["embed", "MUTAG", "-D", "50", "-o", "vectors.parquet"],
        "vectors.parquet",
        ["embed", "broken.csv", "-o", "vectors.parquet"],
        "broken.csv has no column 'smiles'; name one of id, value with --smiles-column",
    ),
    "kernel": Case(
        ["kernel", "MUTAG", "-o", "kernel.npz"],
        "kernel.npz",
        ["kernel", "MUTAG", "--p", "3", "-o", "kernel.npz"],
        "p must be in (0, 2], got 3",
    ),
    "cv": Case(
        ["cv", "MUTAG", "-o", "cv.csv", "--json", "--C", "10"],
        "cv.csv",
        ["cv", "broken.edges", "--format", "edges"],
        "broken.edges, line 2, '3': expected two nodes separated by white space",
    ),
    "fit": Case(
        ["fit", "MUTAG", "-o", "model.retgk", "--C", "10", "--json"],
        "model.retgk",
        ["fit", "good.edges", "-o", "model.retgk"],
        "good has no targets to learn from; name a column of a CSV with --target-column",
    ),
    "predict": Case(
        ["predict", "trained.retgk", "MUTAG", "-o", "predictions.csv", "--json"],
        "predictions.csv",
        ["predict", "good.edges", "MUTAG"],
        "good.edges",
    ),
    "similar": Case(
        ["similar", "MUTAG", "--index", "0", "-o", "similar.json"],
        "similar.json",
        ["similar", "MUTAG", "--index", "188"],
        "there is no graph 188: MUTAG has 188, from 0 on",
    ),
}


@pytest.fixture(scope="module")
def trained(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "trained.retgk"
    output_of(run_program("fit", "MUTAG", "--C", 10, "-o", path, data_home=data_folder))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder with files that commands stumble over."""
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 and no more")
    (tmp_path / "broken.csv").write_text("id,value\n1,2\n")
    (tmp_path / "broken.edges").write_text("1 2\n3\n")
    (tmp_path / "good.edges").write_text("1 2\n2 3\n")
    return tmp_path


def interrupted(
    case: Case, folder: Path, data_home: Path, number: signal.Signals
) -> tuple[int, str]:
    """Exit code and notes of a run that gets a signal once it has read its graphs."""
    process = start_program(*case.arguments, folder=folder, data_home=data_home)
    assert process.stderr is not None
    first = process.stderr.readline()
    assert first.startswith("MUTAG: GraphBatch(188 graphs")
    process.send_signal(number)
    _, rest = process.communicate(timeout=TIMEOUT_SECONDS)
    return process.returncode, rest


@real_data
@pytest.mark.parametrize("name", CASES)
def test_interrupted_killed_and_run_again(
    name: str, folder: Path, data_folder: Path, request: pytest.FixtureRequest
) -> None:
    case = CASES[name]
    if name == "predict":
        shutil.copy(request.getfixturevalue("trained"), folder)
    before = set(folder.iterdir())
    code, notes = interrupted(case, folder, data_folder, signal.SIGINT)
    assert (code, notes) == (130, "retgk: interrupted\n")
    assert set(folder.iterdir()) == before
    code, _ = interrupted(case, folder, data_folder, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert not (folder / case.output).exists()
    text = output_of(run_program(*case.arguments, folder=folder, data_home=data_folder))
    CHECKS[name](folder / case.output, text, load_tudataset("MUTAG", data_folder))


@real_data
@pytest.mark.parametrize("name", CASES)
def test_misused(name: str, folder: Path, data_folder: Path) -> None:
    case, before = CASES[name], set(folder.iterdir())
    done = run_program(*case.misuse, "--quiet", folder=folder, data_home=data_folder)
    assert_fails_with_one_line(done, case.message)
    assert set(folder.iterdir()) == before


def check_convert(path: Path, _: str, mutag: Any) -> None:
    written = read_graphs(path)
    assert written.graphs == mutag.graphs
    np.testing.assert_array_equal(written.targets, mutag.targets)


def check_features(path: Path, _: str, mutag: Any) -> None:
    with np.load(path) as arrays:
        assert arrays["return_probabilities"].shape == (mutag.graphs.n_nodes, 50)
        np.testing.assert_array_equal(arrays["node_ptr"], mutag.graphs.node_ptr)


def check_embed(path: Path, _: str, mutag: Any) -> None:
    from pyarrow import parquet

    table = parquet.read_table(path)
    assert table.num_columns == 2 + 50
    np.testing.assert_array_equal(table["target"], mutag.targets)


def check_kernel(path: Path, _: str, mutag: Any) -> None:
    with np.load(path) as arrays:
        kernel = arrays["kernel"]
        np.testing.assert_array_equal(arrays["target"], mutag.targets)
    np.testing.assert_array_equal(kernel, kernel.T)
    np.testing.assert_array_equal(kernel.diagonal(), 1.0)
    assert np.linalg.eigvalsh(kernel).min() > -1e-9


def check_cv(path: Path, text: str, mutag: Any) -> None:
    record = json.loads(text)
    assert record["accuracy"]["mean"] > 0.85
    assert np.sum(record["confusion"], axis=1).tolist() == [63, 125]
    rows = np.genfromtxt(path, delimiter=",", names=True, dtype=None)
    np.testing.assert_array_equal(rows["target"], mutag.targets)
    assert np.mean(rows["prediction"] == rows["target"]) == pytest.approx(
        np.trace(record["confusion"]) / 188
    )


def check_fit(path: Path, text: str, _: Any) -> None:
    record = json.loads(text)
    assert record["model"] == "RetGKClassifier"
    assert record["score"] > 0.85
    assert path.stat().st_size > 1000


def check_predict(path: Path, text: str, mutag: Any) -> None:
    rows = np.genfromtxt(path, delimiter=",", names=True, dtype=None)
    np.testing.assert_array_equal(rows["target"], mutag.targets)
    assert json.loads(text)["accuracy"] == np.mean(rows["prediction"] == rows["target"]) > 0.85


def check_similar(path: Path, _: str, mutag: Any) -> None:
    found = json.loads(path.read_text())
    assert 0 not in found["graph"]
    assert found["similarity"] == sorted(found["similarity"], reverse=True)
    assert found["target"] == mutag.targets[found["graph"]].tolist()


CHECKS: dict[str, Callable[[Path, str, Any], None]] = {
    "convert": check_convert,
    "features": check_features,
    "embed": check_embed,
    "kernel": check_kernel,
    "cv": check_cv,
    "fit": check_fit,
    "predict": check_predict,
    "similar": check_similar,
}


@real_data
def test_info(data_folder: Path) -> None:
    text = output_of(run_program("info", "MUTAG", "--json", data_home=data_folder))
    record = json.loads(text)
    assert (record["graphs"], record["nodes"], record["edges"]) == (188, 3371, 3721)
    assert record["targets"]["sizes"] == {"-1": 63, "1": 125}


@real_data
def test_info_of_molecules(data_folder: Path) -> None:
    table = data_folder.parent / "molecules" / "ESOL_delaney-processed.csv"
    if not table.exists():
        pytest.skip(f"{table} is not there")
    column = "measured log solubility in mols per litre"
    done = run_program("info", table, "--target-column", column, "--json")
    record = json.loads(output_of(done))
    assert record["graphs"] == 1128
    assert record["targets"]["kind"] == "values"


@real_data
def test_datasets(data_folder: Path) -> None:
    text = output_of(run_program("datasets", "list", "--here", data_home=data_folder))
    assert {"digits", "MUTAG", "NCI1"} <= set(text.split())
    done = run_program("datasets", "fetch", "MUTAG", "--json", data_home=data_folder)
    assert json.loads(output_of(done)) == {"name": "MUTAG", "graphs": 188, "nodes": 3371}
