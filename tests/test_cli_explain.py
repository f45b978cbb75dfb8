"""`retgk explain`: tables of nodes, and a page that needs nothing else."""

import base64
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from retgk import GraphBatch, RetGKClassifier, RetGKRegressor, from_smiles, save_model, write_json
from retgk.explorer.explanation_page import PageGraph, explanation_page
from tests.cli_calls import DATA, assert_fails, invoke, printed, record, rows_of
from tests.walk_graphs import path, star

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

    command = ("explain", model_file, graphs_file, "--class", 1)
    invoke(*command, "-o", tmp_path / "shares.parquet")
    table = parquet.read_table(tmp_path / "shares.parquet").to_pydict()
    assert set(table["explained"]) == {1}
    assert record(*command)["share"] == pytest.approx(table["share"])
    assert printed(*command).startswith("graph,target,node,label,share")


class _Page(HTMLParser):
    """Tags and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.values: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.values += [(name, value or "") for name, value in attrs]


def assert_closed(text: str) -> _Page:
    """Fail if the page could run or load anything."""
    page = _Page(text)
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & set(page.tags)
    for name, value in page.values:
        assert not name.startswith("on")
        assert name != "style"
        if name in ("src", "href", "xlink:href"):
            assert value.startswith("data:image/svg+xml;base64,")
    assert "default-src 'none'; img-src data:; style-src 'sha256-" in text
    assert "http:" not in text
    assert "https:" not in text
    return page


def test_page_of_molecules(molecules: tuple[Path, Path], tmp_path: Path) -> None:
    found = record("explain", *molecules, "-o", tmp_path / "page.html")
    assert (found["graphs"], found["shown"]) == (2, 2)
    text = (tmp_path / "page.html").read_text("utf-8")
    page = assert_closed(text)
    assert page.tags.count("img") == 2
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    image = re.findall(r"base64,([^\"]*)", text)[0]
    assert b"<svg" in base64.b64decode(image)


def test_page_of_graphs(graphs_file: Path, model_file: Path, tmp_path: Path) -> None:
    options = ("--limit", 3, "-o", tmp_path / "page.html")
    result = invoke("explain", model_file, graphs_file, *options)
    assert "3 of 40 graphs" in result.stderr
    text = (tmp_path / "page.html").read_text("utf-8")
    page = assert_closed(text)
    assert page.tags.count("article") == 3
    assert page.tags.count("circle") == DATA.graphs.node_counts[:3].sum()
    assert page.tags.count("line") == DATA.graphs.edge_counts[:3].sum()
    assert "The first 3 of 40 graphs are shown" in text
    assert "Nearest training graph of another class" in text


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
    text = page.read_text("utf-8")
    cells = re.findall(r"<td[^>]*>(\d+)</td><td>(alkane|alcohol)</td>", text)
    nearest = re.findall(r"of another class: (\d+) \((\w+)\)", text)
    assert len(nearest) == 24
    assert len(cells) > 24
    kinds = [line.partition(",")[2] for line in lines[1:]]
    for number, kind in cells + nearest:
        assert kinds[int(number)] == kind


def test_page_of_values_and_large_graphs() -> None:
    graphs = [star(k) for k in range(3, 12)]
    model = RetGKRegressor(cv=2, n_steps=4, random_state=0)
    model.fit(GraphBatch.concatenate(graphs), np.arange(9.0))
    new = GraphBatch.concatenate([path(2), star(401)])
    pages = [PageGraph(HOSTILE, new[i : i + 1], smiles="CC" if i else None) for i in range(2)]
    text = explanation_page(HOSTILE, pages, model.explain(new), note=HOSTILE)
    assert_closed(text)
    assert "402 nodes are too many to draw" in text


def test_large_molecules_are_drawn_as_graphs() -> None:
    pytest.importorskip("rdkit")
    graphs = from_smiles(["C" * length for length in (2, 3, 4, 5, 250, 251)])
    model = RetGKRegressor(cv=2, n_steps=4, random_state=0).fit(graphs, np.arange(6.0))
    pages = [PageGraph("", graphs[i : i + 1], "C" * (246 + i)) for i in (4, 5)]
    text = explanation_page("", pages, model.explain(graphs[4:]))
    assert (text.count("<img"), text.count("<circle")) == (1, 251)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "page.pdf"), "end the name in one of .html, .parquet, .csv, .npz, .json"),
        (("--class", "7"), "--class 7 is none of those of the model, which are 0, 1"),
        (("-o", "/dev/null/page.html"), "cannot be made"),
    ],
)
def test_wrong_options(
    options: tuple[str, ...], message: str, graphs_file: Path, model_file: Path
) -> None:
    assert_fails(invoke("explain", model_file, graphs_file, *options), message)


def test_no_such_model(graphs_file: Path) -> None:
    assert_fails(invoke("explain", "none.retgk", graphs_file), "there is no model file none.retgk")
