"""Tables of targets, groups, pairs and predictions: which row is of which graph."""

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from retgk import GraphDataset, InvalidInputError
from retgk.io.tables import (
    What,
    is_number,
    numbers_in,
    texts_of_graphs,
    typed_targets,
    whole_number,
    with_targets,
)
from tests.cli_calls import DATA, N_GRAPHS, assert_fails, invoke, printed, rows_of
from tests.unpacked_pages import unpacked

PLAIN = GraphDataset(DATA.graphs, None, "plain")[:6]
NAMED = replace(PLAIN, graph_names=[f"mol{number}" for number in range(6)])
COUNTED = replace(PLAIN, graph_names=["0", "1", "10", "2", "3", "4"])
WITH_GAPS = replace(NAMED, rows=np.array([0, 1, 3, 4, 6, 7]))
SHUFFLED = [3, 0, 5, 1, 4, 2]


def targets_of(dataset: GraphDataset, text: str, path: Path, column: str | None = None) -> list:
    path.write_text(text)
    found = with_targets(dataset, path, column, None).targets
    assert found is not None
    return found.tolist()


def rows(heading: str, order: list[int], row: str) -> str:
    lines = [row.format(n=number, y=10 * number) for number in order]
    return "\n".join([heading, *lines]) + "\n"


@pytest.mark.parametrize("dataset", [PLAIN, NAMED])
@pytest.mark.parametrize(
    ("heading", "row"),
    [
        ("graph,target", "{n},{y}"),
        ("y,Graph", "{y},{n}"),
        ("graph,name,fold,target", "{n},mol{n},1,{y}"),
        ("graph,name,y", "{n},mol{n},{y}"),
    ],
)
def test_numbers_of_graphs_count(
    dataset: GraphDataset, heading: str, row: str, tmp_path: Path
) -> None:
    found = targets_of(dataset, rows(heading, SHUFFLED, row), tmp_path / "y.csv")
    assert found == [0, 10, 20, 30, 40, 50]


def test_numbers_are_those_of_the_source(tmp_path: Path) -> None:
    """Rows of graphs that were left out may be there."""
    found = targets_of(
        WITH_GAPS, rows("graph,y", [7, 2, 0, 1, 3, 4, 6], "{n},{y}"), tmp_path / "y.csv"
    )
    assert found == [0, 10, 30, 40, 60, 70]


def test_a_column_graph_may_hold_names(tmp_path: Path) -> None:
    path = tmp_path / "y.csv"
    assert targets_of(NAMED, rows("graph,y", SHUFFLED, "mol{n},{y}"), path)[3] == 30
    names = replace(PLAIN, graph_names=list("234567"))
    assert targets_of(names, rows("graph,y", [7, 2, 3, 4, 5, 6], "{n},{y}"), path)[5] == 70
    assert targets_of(PLAIN, rows("a,graph", SHUFFLED, "{n},{y}"), path, "Graph")[0] == 30


@pytest.mark.parametrize(
    ("dataset", "text", "message"),
    [
        (PLAIN, "graph,y\n0,1\n0,2\n", "line 3 names '0' a second time; keep one row"),
        (PLAIN, "graph,y\n0,1\n1,2\n", r"no target for graphs \(4\): '2', '3', '4', '5'"),
        (PLAIN, rows("graph,y", [*range(7)], "{n},{y}"), r"names without a graph \(1\): '6'"),
        (PLAIN, rows("graph,y", [*range(6)], "1_{n},{y}"), "must hold numbers of graphs.* '1_0'"),
        (PLAIN, rows("graph,graph,y", SHUFFLED, "{n},{n},{y}"), "has 2 columns 'graph'"),
        (
            NAMED,
            rows("graph,y,name", SHUFFLED, "{n},{y},mol0"),
            "line 5: the graph .* is 'mol1'",
        ),
        (COUNTED, rows("graph,y", [10, 0, 1, 2, 3, 4], "{n},{y}"), None),
        (
            replace(PLAIN, graph_names=list("102345")),
            rows("graph,y", SHUFFLED, "{n},{y}"),
            "may hold names of graphs or their numbers",
        ),
        (NAMED, "y,name,y\n" + "1,mol1,2\n" * 6, "has 2 columns 'y'"),
        (NAMED, "name,y\n" + "mol0,1,2\n" * 6, "line 2 has 3 cells for 2 columns"),
        (NAMED, rows("ghost,1", SHUFFLED, "mol{n},{y}"), "first line, 'ghost', '1', reads like a"),
        (NAMED, rows("ghost,a", SHUFFLED, "mol{n},a"), "first line, 'ghost', 'a', reads like a"),
        (PLAIN, rows("name,y", SHUFFLED, "mol{n},{y}"), "no cell names a graph; .* have no names"),
        (PLAIN, rows("id,y", SHUFFLED, "{n},{y}"), "no cell names a graph; .* have no names"),
        (PLAIN, rows("id,y", [*range(6)], "{n},{y}"), None),
    ],
)
def test_rows_that_fit_no_graphs(
    dataset: GraphDataset, text: str, message: str | None, tmp_path: Path
) -> None:
    column = "y" if ",y" in text.split("\n", maxsplit=1)[0] else None
    if message is None:
        found = targets_of(dataset, text, tmp_path / "y.csv", column)
        assert found == [10 * int(name) for name in dataset.graph_names or range(6)]
    else:
        with pytest.raises(InvalidInputError, match=message):
            targets_of(dataset, text, tmp_path / "y.csv", column)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("target\n1\n2\n1\n2\n1\n", "has 5 lines for 6 graphs"),
        ("Targets\na\nb\nc\nd\ne\n", "has 5 lines for 6 graphs"),
        ("y\n1\n2\n1\n2\n1\n", "has 5 lines for 6 graphs"),
        ("site\na\nb\na\nb\na\nb\n", list("ababab")),
        ("site\na\nb\na\nb\nb\n", "'site' on line 1 is there once"),
        ("y\n1\n2\n1\n2\n1\n2\n", [1, 2, 1, 2, 1, 2]),
        ("1\n1\n2\n1\n2\n1\n2\n", "has 7 lines for 6 graphs"),
        ("a\na\nb\na\nb\na\nb\n", "has 7 lines for 6 graphs"),
        ("a\nb\na\nb\na\nb\n", list("ababab")),
        ("a\nb\nc\nd\ne\nf\n", list("abcdef")),
    ],
)
def test_a_heading_is_not_a_target(text: str, found: str | list, tmp_path: Path) -> None:
    if isinstance(found, list):
        assert targets_of(PLAIN, text, tmp_path / "y.csv") == found
    else:
        with pytest.raises(InvalidInputError, match=found):
            targets_of(PLAIN, text, tmp_path / "y.csv")


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1_0", "10"], ["1_0", "10"]),
        (["01", "1"], ["01", "1"]),
        (["01", "02", "01"], [1, 2, 1]),
        (["1_0.5", "2"], ["1_0.5", "2"]),
        (["1.0", "1", "0.5"], [1.0, 1.0, 0.5]),
    ],
)
def test_different_names_stay_different(texts: list[str], values: list) -> None:
    assert typed_targets(texts).tolist() == values


def test_what_is_a_number() -> None:
    assert [whole_number(text) for text in ("12", "-3", "1_2", "1.0", "")] == [12, -3, *[None] * 3]
    assert [is_number(text) for text in ("1e3", "nan", "1_0", "x")] == [True, True, False, False]
    assert numbers_in(["1", ""]) is None
    found = numbers_in(["1", ""], gaps=True)
    assert found is not None
    np.testing.assert_array_equal(found, [1, np.nan])


def test_tables_that_unpack_to_much_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" * 100_000))
    with pytest.raises(InvalidInputError, match="bytes of memory, more than the 900000 allow"):
        with_targets(WITH_GAPS, path, None, 900_000)


def test_many_columns_are_not_listed(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(5000)]
    text = "\n".join([",".join(names), *[",".join("1" * 5000)] * 6])
    for what in (What("group", "group"), What("target", "target", "target_column")):
        path = tmp_path / "wide.csv"
        path.write_text(text)
        with pytest.raises(InvalidInputError, match=r"one of c0, c1, .* and 4988 more") as error:
            texts_of_graphs(PLAIN, path, None, what)
        assert len(str(error.value)) < 400


# Commands


def test_pairs_of_two_sources_go_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdkit")
    monkeypatch.chdir(tmp_path)
    for part in "ab":
        smiles = [f"m{part}{n},{'C' * (n + 1)}{'O' * (part == 'b')}" for n in range(8)]
        Path(f"{part}.csv").write_text("\n".join(["name,smiles", *smiles]) + "\n")
    order = [f"m{part}{n},p{n if part == 'a' else (3 * n) % 8}" for part in "ab" for n in range(8)]
    seen = []
    for name, lines in (("in_order", order), ("turned", order[::-1])):
        Path(f"{name}.csv").write_text("\n".join(["name,pair", *lines]) + "\n")
        given = ("--pairs", f"{name}.csv", "--n-permutations", 99, "--json")
        seen.append(printed("test", "a.csv", "b.csv", *given))
    Path("listed.txt").write_text("".join(line.split(",")[1] + "\n" for line in order))
    seen.append(printed("test", "a.csv", "b.csv", "--pairs", "listed.txt", *given[2:]))
    seen = [text.split('"seconds"')[0] for text in seen]
    assert seen[0] == seen[1] == seen[2]
    Path("more.csv").write_text("name,pair,site\n" + "\n".join(f"{line},1" for line in order))
    message = "may hold the pairs; keep one of pair, site, beside the one that names graphs"
    assert_fails(invoke("test", "a.csv", "b.csv", "--pairs", "more.csv"), message)


def test_packed_predictions_go_by_number(graphs_file: Path, tmp_path: Path) -> None:
    lines = [f"{graph},{DATA.targets[graph]}" for graph in range(N_GRAPHS)]
    table, page = tmp_path / "p.csv.gz", tmp_path / "page.html"
    text = "\n".join(["graph,prediction", *lines[::-1]])
    table.write_bytes(gzip.compress(text.encode()))
    printed("explore", graphs_file, "--predicted", table, "--projection", "pca", "-o", page)
    header, _ = unpacked(page.read_text("utf-8"))
    found = {column["role"]: column for column in header["columns"]}
    assert found["correct"]["names"] == ["right"]


def test_targets_of_a_table_that_a_command_wrote(graphs_file: Path, tmp_path: Path) -> None:
    first, again = tmp_path / "a.csv", tmp_path / "b.csv"
    fixed = ["--C", 1, "--p", 1, "--scale", 1, "--folds", 3]
    printed("cv", graphs_file, *fixed, "-o", first)
    header, *lines = first.read_text().splitlines()
    first.write_text("\n".join([header, *lines[::-1]]) + "\n")
    printed("cv", graphs_file, "--targets", first, *fixed, "-o", again)
    assert [int(row["target"]) for row in rows_of(again)] == DATA.targets.tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (rows("fold,graph", [*range(39)], "{y},{n}") + "0\n", 'line 41: the column "graph" must'),
        (rows("graph,fold,x", [*range(40)], "{n},{y}," + "z" * 140_000), "is not a table: field l"),
        (rows("graph,fold", [*range(39)], "{n},{y}") + "3_9,1\n", "from 0, not '3_9'"),
        (rows("fold,fold", [*range(40)], "{n},{y}"), "has 2 columns 'fold'"),
        ("\n", 'has no column "fold"'),
    ],
)
def test_tables_of_folds_are_checked_alike(
    text: str, message: str, graphs_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "split.csv"
    path.write_text(text)
    assert_fails(invoke("cv", graphs_file, "--split", path), message)


def test_words_of_the_command_line(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    path = tmp_path / "m.csv"
    path.write_text("smiles,name,site\nCCO,a,1\nCC,b,2\n")
    for option in ("--column", "--predicted", "--name-column"):
        result = invoke("explore", path, option, "nope", "-o", tmp_path / "p.html")
        assert_fails(result, f"name one of smiles, name, site with {option}")
