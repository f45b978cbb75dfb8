"""`retgk explain`: tables of nodes, and the page of `retgk explore` with a model."""

import re
from pathlib import Path

import numpy as np
import pytest

from retgk import RetGKClassifier, RetGKRegressor, save_model, write_json
from tests.cli_calls import DATA, assert_fails, invoke, printed, record, rows_of
from tests.unpacked_pages import unpacked

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def graphs_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("graphs") / "graphs.json"
    write_json(DATA, file)
    return file


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("models") / "model.retgk"
    model = RetGKClassifier(cv=3, n_steps=8, random_state=0).fit(DATA)
    save_model(model, file)
    return file


@pytest.fixture(scope="module")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Model of molecules, and a file of others, one of which has a hostile name."""
    pytest.importorskip("rdkit")
    folder = tmp_path_factory.mktemp("molecules")
    smiles = ["C" * k for k in range(2, 10)] + ["CO" + "C" * k for k in range(8)]
    model = RetGKClassifier(cv=2, n_steps=5, depth=1, random_state=0)
    save_model(model.fit(smiles, [0] * 8 + [1] * 8), folder / "model.retgk")
    (folder / "new.smi").write_text(f"CCO ethanol\nCCCN {HOSTILE}\n")
    return folder / "model.retgk", folder / "new.smi"


def test_one_row_per_node(graphs_file: Path, model_file: Path, tmp_path: Path) -> None:
    found = record("explain", model_file, graphs_file, "-o", tmp_path / "shares.csv")
    rows = rows_of(tmp_path / "shares.csv")
    assert found["shape"] == [DATA.graphs.n_nodes] == [len(rows)]
    columns = ["graph", "target", "node", "label", "share", "explained", "prediction"]
    assert list(rows[0]) == [*columns, "decision", "baseline"]
    own = [row for row in rows if row["graph"] == "3"]
    assert [int(row["node"]) for row in own] == list(range(DATA.graphs.node_counts[3]))
    total = float(own[0]["baseline"]) + sum(float(row["share"]) for row in own)
    assert total == pytest.approx(float(own[0]["decision"]), abs=1e-9)
    assert own[0]["explained"] == own[0]["prediction"]


def test_class_and_other_forms(graphs_file: Path, model_file: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    command = ("explain", model_file, graphs_file, "--target", 1)
    invoke(*command, "-o", tmp_path / "shares.parquet")
    table = parquet.read_table(tmp_path / "shares.parquet").to_pydict()
    assert set(table["explained"]) == {1}
    assert record(*command)["share"] == pytest.approx(table["share"])
    assert printed(*command).startswith("graph,target,node,label,share")


def test_page_of_molecules(molecules: tuple[Path, Path], tmp_path: Path) -> None:
    found = record("explain", *molecules, "-o", tmp_path / "page.html")
    assert (found["graphs"], found["drawn"]) == (2, 2)
    text = (tmp_path / "page.html").read_text("utf-8")
    assert HOSTILE not in text
    header, arrays = unpacked(text)
    assert header["names"] == ["graph 0: ethanol", f"graph 1: {HOSTILE}"]
    assert arrays["formulas"].tolist() == [1, 1]


def test_page_of_graphs(graphs_file: Path, model_file: Path, tmp_path: Path) -> None:
    """The page of `retgk explore`, with shares for the class that was asked for."""
    page = tmp_path / "page.html"
    assert invoke("explain", model_file, graphs_file, "--target", 1, "-o", page).exit_code == 0
    header, arrays = unpacked(page.read_text("utf-8"))
    assert set(header["model"]["shares"]["of"]) == {"1"}
    rows = record("explain", model_file, graphs_file, "--target", 1)
    graphs = np.repeat(np.arange(40), DATA.graphs.node_counts)
    shares = arrays["shares"] * arrays["shareUnits"][graphs]
    np.testing.assert_allclose(shares, rows["share"], atol=arrays["shareUnits"].max())


def test_page_of_several_targets(graphs_file: Path, tmp_path: Path) -> None:
    counts = np.stack([DATA.graphs.node_counts, DATA.graphs.edge_counts], axis=1)
    model = RetGKRegressor(cv=2, n_steps=4, random_state=0).fit(DATA.graphs, counts)
    save_model(model, tmp_path / "model.retgk")
    command = ("explain", tmp_path / "model.retgk", graphs_file, "-o", tmp_path / "page.html")
    assert_fails(invoke(*command), "2 outputs")
    assert invoke(*command, "--target", 1).exit_code == 0


def test_training_graphs_have_the_numbers_of_the_file(tmp_path: Path) -> None:
    """Also where molecules that cannot be read were left out."""
    pytest.importorskip("rdkit")
    lines = ["smiles,kind"]
    for k in range(1, 13):
        lines += ["C(,broken", f"{'C' * k},alkane", f"{'C' * k}O,alcohol"]
    table, model, page = (tmp_path / name for name in ("all.csv", "m.retgk", "page.html"))
    table.write_text("\n".join(lines))
    options = ("--skip-invalid", "--target-column", "kind")
    assert invoke("fit", table, *options, "-o", model).exit_code == 0
    assert invoke("explain", model, table, *options, "-o", page).exit_code == 0
    header, _ = unpacked(page.read_text("utf-8"))
    columns = {own["name"]: own.get("texts", own.get("names")) for own in header["columns"]}
    pushed = " ".join(columns["training graphs that pushed most"])
    nearest = " ".join(columns["nearest training graph of another class"])
    found = re.findall(r"(\d+) \((alkane|alcohol)\)", f"{pushed} {nearest}")
    assert len(found) > 24
    kinds = [line.partition(",")[2] for line in lines[1:]]
    assert all(kinds[int(number)] == kind for number, kind in found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "page.pdf"), "end the name in one of .html, .parquet, .csv, .npz, .json"),
        (("--target", "7"), "--target 7 is none of those of the model, which are 0, 1"),
        (("-o", "/dev/null/page.html"), "cannot be made"),
    ],
)
def test_wrong_options(
    options: tuple[str, ...], message: str, graphs_file: Path, model_file: Path
) -> None:
    assert_fails(invoke("explain", model_file, graphs_file, *options), message)


def test_no_such_model(graphs_file: Path) -> None:
    assert_fails(invoke("explain", "none.retgk", graphs_file), "there is no model file none.retgk")
