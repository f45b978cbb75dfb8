"""Folds of `retgk cv`: by groups, by scaffold and from files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from retgk import GraphDataset, RetGKClassifier, scaffold_folds
from retgk.cli.evaluate import nested_answers
from retgk.cli.splits import read_split
from retgk.learning.folds import OuterFold
from tests.cli_calls import DATA, N_GRAPHS, assert_fails, invoke, record, rows_of

FIXED = ["--C", 10, "--p", 1, "--scale", 1]
CHAINS = ["C" * (1 + n) for n in range(6)]
RINGS = [f"{'C' * n}c1ccccc1" for n in range(6)] + [f"{'C' * n}C1CCNCC1" for n in range(6)]
MOLECULES = [*CHAINS, *RINGS, *(f"{'C' * n}c1ccsc1" for n in range(6))]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    pytest.importorskip("rdkit")
    path = tmp_path / "molecules.csv"
    lines = [f"{s},{n % 2},site{n % 5}" for n, s in enumerate(MOLECULES)]
    path.write_text("\n".join(["smiles,active,Site", *lines[:3], "C(C,1,site9", *lines[3:]]))
    return path


def folds_of(path: Path) -> dict[int, int]:
    return {int(row["graph"]): int(row["fold"]) for row in rows_of(path)}


def test_groups_of_a_column_stay_together(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    given = ["--target-column", "active", "--skip-invalid", "--folds", 3, *FIXED, "-o", path]
    record("cv", table, *given, "--groups", "site")
    folds = folds_of(path)
    assert len(folds) == len(MOLECULES)
    assert 3 not in folds  # the line that cannot be read
    rows = table.read_text().splitlines()[1:]
    site = {number: rows[number].split(",")[2] for number in folds}
    for name in set(site.values()):
        assert len({folds[number] for number in folds if site[number] == name}) == 1


def test_groups_of_a_text_file(graphs_file: Path, tmp_path: Path) -> None:
    groups, path = tmp_path / "groups.txt", tmp_path / "p.csv"
    groups.write_text("".join(f"subject {number // 4}\n" for number in range(N_GRAPHS)))
    record("cv", graphs_file, "--groups", groups, "--folds", 4, *FIXED, "-o", path)
    folds = folds_of(path)
    assert all(folds[number] == folds[number - number % 4] for number in folds)
    values = tmp_path / "values.txt"
    values.write_text("".join(f"{size + 0.5}\n" for size in DATA.graphs.node_counts))
    given = ["--groups", groups, "--folds", 4, "--targets", values, *FIXED, "-o", path]
    record("cv", graphs_file, *given)
    folds = folds_of(path)
    assert all(folds[number] == folds[number - number % 4] for number in folds)


def test_scaffolds_are_those_of_the_library(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    given = ["--target-column", "active", "--skip-invalid", "--folds", 4, *FIXED, "-o", path]
    found = record("cv", table, *given, "--split", "scaffold")
    folds = [folds_of(path)[number] for number in sorted(folds_of(path))]
    for fold, (_, test) in enumerate(scaffold_folds(MOLECULES, 4)):
        np.testing.assert_array_equal(np.flatnonzero(np.array(folds) == fold), test)
    assert len(found["accuracy"]["folds"][0]) == 4


def test_repetitions_of_scaffold_folds_differ(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    path, out = tmp_path / "m.csv", tmp_path / "p.csv"
    rings = [f"C1{'C' * n}O1" for n in range(1, 9)]
    of_both_classes = [f"{s},{(n + n // 8) % 2}" for n, s in enumerate(rings * 3)]
    path.write_text("\n".join(["smiles,y", *of_both_classes]))
    given = ["--target-column", "y", "--split", "scaffold", "--folds", 4, "--repeats", 2]
    record("cv", path, *given, *FIXED, "-o", out)
    rows = rows_of(out)
    first, second = ([row["fold"] for row in rows if row["repetition"] == r] for r in "01")
    assert first != second
    assert first[:8] == first[8:16] == first[16:]
    assert second[:8] == second[8:16] == second[16:]


SPLIT = [
    {
        "test": [0, 1, 2, 3],
        "model_selection": [{"train": list(range(4, 30)), "validation": list(range(30, 40))}],
    },
    {"train": list(range(20)), "test": list(range(20, 40))},
    {"test": [39]},
]


def test_folds_of_a_json_file(graphs_file: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "split.json", tmp_path / "p.csv"
    path.write_text(json.dumps(SPLIT))
    found = record("cv", graphs_file, "--split", path, *FIXED, "-o", out)
    tested = [int(row["graph"]) for row in rows_of(out)]
    assert tested == sorted([0, 1, 2, 3, *range(20, 40), 39])
    assert len(found["accuracy"]["folds"][0]) == 3
    data = GraphDataset(DATA.graphs, DATA.targets, "x")
    first, second, third = read_split(path, data, None)
    np.testing.assert_array_equal(first.train, np.arange(4, 40))
    (inner,) = first.inner
    np.testing.assert_array_equal(inner[0], np.arange(26))
    np.testing.assert_array_equal(inner[1], np.arange(26, 36))
    assert second.inner is None
    np.testing.assert_array_equal(third.train, np.arange(39))


def test_models_choose_by_the_given_validation_part() -> None:
    seen = []

    class Watched(RetGKClassifier):
        def fit(self, X: Any, y: Any = None) -> Any:
            seen.append(self.cv)
            return super().fit(X, y)

    inner = [(np.arange(10), np.arange(10, 20))]
    folds = [OuterFold(np.arange(20), np.arange(20, 40), inner)]
    nested_answers(DATA.graphs, DATA.targets, [folds], Watched(C=1, random_state=0))
    assert seen == [inner]


def test_models_get_the_groups_where_they_take_them() -> None:
    seen = []

    class Grouped(RetGKClassifier):
        def fit(self, X: Any, y: Any = None, groups: Any = None) -> Any:
            seen.append(groups)
            return super().fit(X, y)

    groups = np.arange(20) // 5
    folds = [OuterFold(np.arange(20), np.arange(20, 40), None, groups)]
    nested_answers(DATA.graphs, DATA.targets, [folds], Grouped(C=1, random_state=0))
    np.testing.assert_array_equal(seen, [groups])


def test_the_table_of_a_run_is_a_split(graphs_file: Path, tmp_path: Path) -> None:
    """Also without numbers of graphs: rows are in their order."""
    first, again, plain = (tmp_path / name for name in ("a.csv", "b.csv", "plain.csv"))
    record("cv", graphs_file, "--folds", 4, *FIXED, "-o", first)
    record("cv", graphs_file, "--split", first, *FIXED, "-o", again)
    assert first.read_text() == again.read_text()
    plain.write_text("fold\n" + "".join(f"{row['fold']}\n" for row in rows_of(first)))
    record("cv", graphs_file, "--split", plain, *FIXED, "-o", again)
    assert first.read_text() == again.read_text()


def test_a_table_of_training_and_test_graphs(graphs_file: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "s.tsv", tmp_path / "p.csv"
    names = ["train"] * 20 + ["valid"] * 10 + ["test"] * 10
    path.write_text("x\tSplit\n" + "".join(f"1\t{name}\n" for name in names))
    record("cv", graphs_file, "--split", path, *FIXED, "-o", out)
    assert [int(row["graph"]) for row in rows_of(out)] == list(range(30, 40))


BAD = {
    "{": "is no JSON: ",
    "{}": "must be a list of folds, such as",
    "[]": "must be a list of folds, such as",
    "[1]": "must be a list of folds, such as",
    '[{"tests": [1]}]': "fold 0 has 'tests'; did you mean test? give one of test, train, model_sel",
    '[{"train": [1]}]': 'fold 0 has no graphs to test; give them as a list "test"',
    '[{"test": []}]': 'fold 0, "test" has no graphs; give one at least',
    '[{"test": 3}]': 'fold 0, "test" must be a list of whole numbers of graphs, from 0',
    '[{"test": [true]}]': "must be a list of whole numbers",
    '[{"test": [0.5]}]': "must be a list of whole numbers",
    '[{"test": [1, 1]}]': "has a graph twice; give every graph once",
    '[{"test": [40]}]': "names graph 40, but there are 40 graphs, from 0 on",
    '[{"test": [-1]}]': "names graph -1, but there are 40 graphs, from 0 on",
    '[{"test": [1], "train": [1, 2]}]': "trains on graph 1 and tests it",
    '[{"test": [1], "model_selection": [{"train": [2]}]}]': '"model_selection" must be a list of',
    '[{"test": [1], "train": [2], "model_selection": [{"train": [3], "validation": [2]}]}]': (
        "chooses by graphs that are not trained on"
    ),
}


@pytest.mark.parametrize("text", BAD)
def test_bad_json(text: str, graphs_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "split.json"
    path.write_text(text)
    assert_fails(invoke("cv", graphs_file, "--split", path), BAD[text])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\n1\n", 'has no column "fold"; call the column of folds so'),
        ("fold\n1\n2\n", "has 2 rows for 40 graphs; give every graph a fold"),
        ("fold\n" + "1\n" * 40, "has one fold, 1; give two or more"),
        ("fold,x\n" + "1,1\n" * 39 + ",1\n", "row 40 has no fold; fill it in"),
        ("fold\n" + "train\n" * 40, "has no graphs to test; call their fold test"),
        ("fold\n" + "1\n" * 20 + "2\n" * 21, "names graph 40, but there are 40 graphs"),
        ("graph,fold\n" + "a,1\n" * 40, 'the column "graph" must hold numbers of graphs'),
    ],
)
def test_bad_tables(text: str, message: str, graphs_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "split.csv"
    path.write_text(text)
    assert_fails(invoke("cv", graphs_file, "--split", path), message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--split", "scaffold"], "no file of SMILES; use --groups or --split with a file"),
        (["--groups", "site"], "is no table with a column 'site'; give a text file of one line"),
        (["--split", "scaffold", "--groups", "x"], "--split scaffold and --groups both say"),
        (
            ["--split", "none.json"],
            "no split or file 'none.json'; give random, scaffold or a fil",
        ),
        (["--protocol", "paper", "--split", "scaffold"], "--split scaffold is for --protocol nest"),
        (["--protocol", "paper", "--groups", "x"], "--groups is for --protocol nested"),
    ],
)
def test_options_that_cannot_be_followed(
    graphs_file: Path, options: list[str], message: str
) -> None:
    assert_fails(invoke("cv", graphs_file, *options), message)


def test_a_file_says_what_the_folds_are(graphs_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "split.json"
    path.write_text(json.dumps(SPLIT))
    given = ["cv", graphs_file, "--split", path]
    assert_fails(invoke(*given, "--folds", 5), "says what the folds are; leave out --folds")
    assert_fails(invoke(*given, "--repeats", 2), "the folds are; leave out --repetitions")
    assert_fails(invoke(*given, "-o", path), "would be written over ")


def test_too_few_groups(table: Path) -> None:
    given = ["cv", table, "--target-column", "active", "--skip-invalid"]
    assert_fails(invoke(*given, "--groups", "site"), "5 groups do not fill 10 folds")
    message = "4 scaffolds do not fill 10 folds"
    assert_fails(invoke(*given, "--split", "scaffold"), message)


def test_folds_without_some_class(graphs_file: Path, tmp_path: Path) -> None:
    """A class that is nowhere to train on gets the probability 0."""
    targets, path, out = (tmp_path / name for name in ("t.txt", "s.csv", "p.csv"))
    targets.write_text("".join(f"{n // 10}\n" for n in range(30)) + "0\n1\n" * 5)
    path.write_text("fold\n" + "".join("ab"[n >= 20] + "\n" for n in range(40)))
    given = ["--targets", targets, "--split", path, "--metric", "auc", "--metric", "log_loss"]
    found = record("cv", graphs_file, *given, "--C", 1, "--p", 1, "--scale", 1, "-o", out)
    rows = [row for row in rows_of(out) if row["fold"] == "1"]
    assert {row["probability_2"] for row in rows} == {"0.0"}
    assert found["log_loss"]["mean"] > 1


def test_metrics_that_are_not_defined(graphs_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "split.json"
    zeros, ones = (np.flatnonzero(DATA.targets == code).tolist() for code in (0, 1))
    parts = [zeros[:5], ones[:5] + zeros[5:10]]
    path.write_text(json.dumps([{"test": part} for part in parts]))
    result = invoke("cv", graphs_file, "--split", path, *FIXED, "--metric", "auc", "--json")
    assert "retgk: roc_auc is not defined in 1 of 2 folds, where all test graphs" in result.stderr
    found = json.loads(result.stdout)["roc_auc"]
    assert found["folds"][0][0] is None
    assert found["mean"] == found["folds"][0][1]
    path.write_text(json.dumps([{"train": zeros[:9], "test": ones}]))
    message = "fold 0: all 9 graphs are of one class, 0"
    assert_fails(invoke("cv", graphs_file, "--split", path), message)


def test_folds_by_name_and_with_gaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a table of folds are matched by names; rows that were left out are not forgotten."""
    pytest.importorskip("rdkit")
    monkeypatch.chdir(tmp_path)
    smiles = ["CCO", "c1ccccc1", "CC(", "CCN", "CCC", "C1CCCCC1", "OCC", "c1ccncc1", "CCCC"]
    rows = [f"m{i},{text},{i % 2}" for i, text in enumerate(smiles)]
    Path("mols.csv").write_text("name,smiles,y\n" + "\n".join(rows) + "\n")
    readable = [i for i in range(9) if i != 2]
    folds = {i: place % 2 for place, i in enumerate(readable)}
    turned = [f"m{i},{folds[i]}" for i in reversed(readable)]
    Path("named.csv").write_text("name,fold\n" + "\n".join(turned) + "\n")
    command = [
        "cv",
        "mols.csv",
        "--target-column",
        "y",
        "--skip-invalid",
        "--C",
        "1",
        "--p",
        "1",
        "--scale",
        "1",
    ]
    result = invoke(*command, "--split", "named.csv", "-o", "scores.csv")
    assert result.exit_code == 0, result.stderr
    found = pd.read_csv("scores.csv")
    assert found["graph"].tolist() == readable
    order = sorted(set(found["fold"]))
    assert [order.index(fold) for fold in found["fold"]] == [folds[i] for i in readable]
    Path("short.csv").write_text("fold\n" + "\n".join("01" * 4) + "\n")
    result = invoke(*command, "--split", "short.csv")
    assert result.exit_code == 1
    assert "fewer than the source, of which some were left out" in result.stderr
    Path("other.csv").write_text(
        "name,fold\nm0,0\nmX,1\nm1,0\nm3,1\nm4,0\nm5,1\nm6,0\nm7,1\nm8,0\n"
    )
    result = invoke("cv", "mols.csv", "--target-column", "y", "--split", "other.csv")
    assert result.exit_code == 1
