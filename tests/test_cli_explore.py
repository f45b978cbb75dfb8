"""`retgk explore`."""

from pathlib import Path

import numpy as np
import pytest

from retgk import RetGKClassifier, save_model
from tests.cli_calls import DATA, assert_fails, invoke, printed, record
from tests.unpacked_pages import unpacked


def test_command(graphs_file: Path, tmp_path: Path) -> None:
    model = RetGKClassifier(cv=3, n_steps=8, random_state=0).fit(DATA)
    save_model(model, tmp_path / "model.retgk")
    page = tmp_path / "page.html"
    command = ("explore", graphs_file, "--model", tmp_path / "model.retgk", "-o", page)
    found = record(*command, "--title", "Mine", "--position-attributes", "0,1")
    assert (found["graphs"], found["drawn"]) == (40, 40)
    header, _ = unpacked(page.read_text("utf-8"))
    assert header["title"] == "Mine"
    assert header["model"]["by"] == "a RetGKClassifier"
    assert "wrote" in invoke(*command, "--projection", "pca").stderr


def test_command_on_molecules(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    rows = ["smiles,who,weight,active", "CCO,ethanol,46.1,0", "CCN,ethylamine,45.1,1", "CC,x,30,1"]
    (tmp_path / "m.csv").write_text("\n".join(rows) + "\n")
    options = ("--name-column", "who", "--column", "weight", "--target-column", "active")
    invoke("explore", tmp_path / "m.csv", *options, "-o", tmp_path / "m.html")
    header, arrays = unpacked((tmp_path / "m.html").read_text("utf-8"))
    assert header["names"] == ["ethanol", "ethylamine", "x"]
    kinds = {column["name"]: column["kind"] for column in header["columns"]}
    assert kinds["weight"] == "number"
    assert kinds["target"] == "class"
    assert header["drawings"]["texts"] == ["", "OH", "NH2"]
    assert len(arrays["orders"]) == 5


def test_predictions_made_elsewhere(graphs_file: Path, tmp_path: Path) -> None:
    """Of a table by the numbers of graphs, or one line after the other; classes, not values."""
    wrong = 1 - DATA.targets
    rows = [f"{graph},{wrong[graph]}" for graph in range(len(DATA))]
    (tmp_path / "table.csv").write_text("\n".join(["graph,prediction", *rows[::-1]]) + "\n")
    (tmp_path / "lines.txt").write_text("".join(f"{value}\n" for value in wrong))
    page = tmp_path / "page.html"
    for given in ("table.csv", "lines.txt"):
        printed("explore", graphs_file, "--predicted", tmp_path / given, "-o", page)
        header, arrays = unpacked(page.read_text("utf-8"))
        found = {column["role"]: column for column in header["columns"]}
        predicted = np.array(found["predicted"]["names"])[arrays[found["predicted"]["key"]]]
        assert predicted.tolist() == [str(value) for value in wrong]
        assert found["correct"]["names"] == ["wrong"]
        page.unlink()


def test_predictions_of_cross_validation(graphs_file: Path, tmp_path: Path) -> None:
    table, page = tmp_path / "cv.csv", tmp_path / "page.html"
    printed("cv", graphs_file, "--n-steps", "4", "--folds", "3", "-o", table)
    printed("explore", graphs_file, "--predicted", table, "--projection", "pca", "-o", page)
    header, _ = unpacked(page.read_text("utf-8"))
    assert header["model"]["by"] == "the predictions that were given"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            ["graph,prediction", "0,1", "0,1"],
            "line 3 names '0' a second time; keep",
        ),
        (["graph,prediction", "0,1"], "has no prediction for graphs (39): '1', '2', "),
        (["graph,guess", "0,1"], "no column 'prediction'; call the column of predictions so"),
        (
            ["graph,prediction", *(f"{graph},1" for graph in range(41))],
            "without a graph (1): '40'",
        ),
    ],
)
def test_wrong_predictions(
    rows: list[str], message: str, graphs_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    command = ("explore", graphs_file, "--predicted", tmp_path / "table.csv")
    assert_fails(invoke(*command, "-o", tmp_path / "page.html"), message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "page.pdf"), "end the name page.pdf in .html"),
        (("-o", "p.html", "--position-attributes", "0,9"), "have 2 attributes"),
        (("-o", "p.html", "--model", "none.retgk"), "there is no model file none.retgk"),
        (("-o", "/dev/null/p.html"), "cannot be made"),
    ],
)
def test_wrong_options(options: tuple[str, ...], message: str, graphs_file: Path) -> None:
    assert_fails(invoke("explore", graphs_file, *options), message)
