"""`retgk test`: what it reads, prints and writes."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from retgk import Walks, two_sample_test
from retgk.io import from_numpy
from retgk.stats import association_test, k_sample_test
from tests.programs import assert_fails, invoke, printed, record

FAST = ("--n-permutations", 99, "--n-steps", 5)
SAME = {"n_permutations": 99, "walks": Walks(5), "rng": 0}


def matrices(seed: int, n: int, density: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, 8, 8)) < density, 1)
    return (upper | upper.transpose(0, 2, 1)).astype(float)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stacks of matrices of two groups, apart and together, with vectors of what is known."""
    folder = tmp_path_factory.mktemp("populations")
    sparse, dense = matrices(0, 8, 0.25), matrices(1, 8, 0.5)
    np.save(folder / "sparse.npy", sparse)
    np.save(folder / "dense.npy", dense)
    np.save(folder / "all.npy", np.concatenate([sparse, dense]))
    texts = {
        "group.txt": ["sparse"] * 8 + ["dense"] * 8,
        "three.txt": ["a"] * 5 + ["b"] * 5 + ["c"] * 6,
        "value.txt": [f"{value:.2f}" for value in np.linspace(0.013, 1, 16)],
        "site.txt": ["x", "y"] * 8,
        "pair.txt": [*"abcdefgh"] * 2,
        "one.txt": ["a"] * 16,
        "short.txt": ["a"],
    }
    for name, lines in texts.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


def test_advice_on_missing_attributes_is_what_the_command_has(tmp_path: Path) -> None:
    for number in range(8):
        ages = [[1.0], [None if number == 3 else 2.0]]
        record_of = {"edges": [[0, 1]], "attributes": ages, "target": number % 2}
        (tmp_path / f"{number}.json").write_text(json.dumps(record_of))
    result = invoke("test", tmp_path, "--missing", "nan", "--n-permutations", 19)
    assert_fails(result, "graph 3")
    assert "--no-attributes" in result.stderr
    invoked = invoke(
        "test", tmp_path, "--missing", "nan", "--no-attributes", "--n-permutations", 19
    )
    assert invoked.exit_code == 0, invoked.output


def test_two_sources(folder: Path) -> None:
    found = record("test", folder / "sparse.npy", folder / "dense.npy", *FAST)
    sides = [from_numpy(np.load(folder / name)) for name in ("sparse.npy", "dense.npy")]
    expected = two_sample_test(*sides, **SAME).to_dict()
    for group, name in zip(expected["groups"], ("sparse", "dense"), strict=True):
        group["name"] = name
    for group in found["groups"]:  # of stacks, by the name of the file
        numbers = [f"{group['name']}-{number}" for number in group["most_typical"]]
        assert group.pop("names") == numbers
    assert {name: found[name] for name in expected} == json.loads(json.dumps(expected))


def test_report_in_words(folder: Path) -> None:
    text = printed("test", folder / "sparse.npy", folder / "dense.npy", *FAST)
    assert "sparse (8 graphs) against dense (8 graphs)" in text
    assert "p = 0.01 from 99 relabellings: they differ at the 5 % level." in text
    assert "Most typical of dense: graphs dense-" in text


def test_one_source_with_a_vector_of_groups(folder: Path) -> None:
    graphs = from_numpy(np.load(folder / "all.npy"))
    two = record("test", folder / "all.npy", "--targets", folder / "group.txt", *FAST)
    by = ["sparse"] * 8 + ["dense"] * 8
    assert two["p_value"] == two_sample_test(graphs, by=by, **SAME).p_value
    three = record("test", folder / "all.npy", "--targets", folder / "three.txt", *FAST)
    by = [*"aaaaabbbbbcccccc"]
    assert three["kind"] == "k-sample"
    assert three["p_value"] == k_sample_test(graphs, by=by, **SAME).p_value
    value = record("test", folder / "all.npy", "--targets", folder / "value.txt", *FAST)
    y = np.linspace(0.013, 1, 16).round(2)
    assert value["kind"] == "association"
    assert value["p_value"] == association_test(graphs, y, **SAME).p_value


@pytest.mark.parametrize(
    ("options", "design"),
    [
        (["--paired"], "pairs"),
        (["--subjects", "pair.txt"], "within subjects"),
        (["--groups", "site.txt"], "blocks"),
    ],
)
@pytest.mark.parametrize("is_apart", [False, True])
def test_designs(folder: Path, options: list[str], design: str, is_apart: bool) -> None:
    given = [folder / each if each.endswith(".txt") else each for each in options]
    apart = ["sparse.npy", "dense.npy"]
    sources = [folder / name for name in (apart if is_apart else ["all.npy"])]
    targets = [] if is_apart else ["--targets", folder / "group.txt"]
    assert record("test", *sources, *targets, *given, *FAST)["design"] == design


@pytest.fixture(scope="module")
def scans(folder: Path) -> Path:
    """One file for each graph, and a table of them in another order."""
    scans = folder / "scans"
    scans.mkdir()
    for number, matrix in enumerate(np.load(folder / "all.npy")):
        np.savetxt(scans / f"scan{number:02d}.csv", matrix, delimiter=",", fmt="%g")
    known = {
        name: (folder / f"{name}.txt").read_text().split() for name in ("group", "site", "pair")
    }
    rows = list(zip(range(16), *known.values(), strict=True))
    lines = [f"scan{number:02d}.csv,{group},{site},{pair}" for number, group, site, pair in rows]
    (folder / "subjects.csv").write_text("\n".join(["file,group,site,pair", *lines[::-1]]) + "\n")
    return scans


@pytest.mark.parametrize("option", ["--groups", "--subjects"])
def test_columns_of_the_table_of_targets(folder: Path, scans: Path, option: str) -> None:
    name = {"--groups": "site", "--subjects": "pair"}[option]
    targets = ("--targets", folder / "subjects.csv", "--target-column", "group")
    by_column = record("test", scans, *targets, option, name, *FAST)
    by_lines = ("--targets", folder / "group.txt", option, folder / f"{name}.txt")
    assert by_column["p_value"] == record("test", scans, *by_lines, *FAST)["p_value"]
    assert by_column["design"] == {"--groups": "blocks", "--subjects": "within subjects"}[option]


def test_columns_that_no_table_has(folder: Path, scans: Path) -> None:
    table = folder / "subjects.csv"
    given = ("--targets", table, "--target-column", "group")
    result = invoke("test", scans, *given, "--groups", "sight", *FAST)
    assert_fails(
        result,
        "'sight'",
        "--groups",
    )
    result = invoke("test", scans, *given, "--groups", table, *FAST)
    assert_fails(result, "may hold the")
    listed = ("--targets", folder / "group.txt")
    result = invoke("test", scans, *listed, "--groups", "site", *FAST)
    assert_fails(result, "of one source", "--targets")
    ages = folder / "ages.txt"
    ages.write_text("".join(f"{20 + graph}\n" for graph in range(16)))
    assert_fails(invoke("test", scans, "--targets", ages, *FAST), "(--association) is for numbers")


def test_files_that_are_written(folder: Path, tmp_path: Path) -> None:
    graphs, nodes, figure = (tmp_path / name for name in ("g.csv", "n.csv", "f.svg"))
    sources = (folder / "sparse.npy", folder / "dense.npy")
    written = ("-o", graphs, "--nodes-output", nodes, "--figure", figure)
    text = printed("test", *sources, "--nodes-correspond", *written, *FAST)
    assert "corrected p" in text
    with graphs.open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["group"] for row in rows] == ["sparse"] * 8 + ["dense"] * 8
    assert [row["graph"] for row in rows] == [*map(str, range(8))] * 2
    with nodes.open() as stream:
        assert len(list(csv.DictReader(stream))) == 16 * 8
    assert figure.read_text().lstrip().startswith("<?xml")


def test_nodes_that_correspond_as_json(folder: Path) -> None:
    sources = (folder / "sparse.npy", folder / "dense.npy")
    found = record("test", *sources, "--nodes-correspond", *FAST)
    assert found["nodes"]["node"] == list(range(8))
    assert min(found["nodes"]["corrected_p_value"]) >= 0.01


def test_edges_that_correspond(folder: Path, tmp_path: Path) -> None:
    sources, written = (folder / "sparse.npy", folder / "dense.npy"), tmp_path / "e.csv"
    more = ("--nodes-correspond", "--edges-output", written, "--subnetwork-p", 0.2)
    text = printed("test", *sources, *more, *FAST)
    for fact in ("weight sparse", "weight dense", "28 edges", "subnetworks"):
        assert fact in text
    with written.open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 28
    found = record("test", *sources, *more, *FAST)
    assert [float(row["statistic"]) for row in rows] == found["edges"]["statistic"]
    assert [int(row["subnetwork"]) for row in rows] == found["edges"]["subnetwork"]
    means = np.load(sources[0]).mean(axis=0)[*np.triu_indices(8, 1)]
    assert np.allclose([float(row["weight sparse"]) for row in rows], means)


def test_pairs_of_three_groups(folder: Path) -> None:
    given = ("test", folder / "all.npy", "--targets", folder / "three.txt", *FAST)
    assert "a - c" in printed(*given)
    pairs = record(*given)["pairwise"]
    assert [pair["groups"] for pair in pairs] == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert all(pair["corrected_p_value"] >= pair["p_value"] for pair in pairs)


def test_nodes_and_a_value(folder: Path) -> None:
    given = ("--targets", folder / "value.txt", "--nodes-correspond")
    found = record("test", folder / "all.npy", *given, *FAST)
    assert found["kind"] == "association"
    assert len(found["nodes"]["node"]) == 8


def test_room_for_kernels(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statistics of 99 permutations have room in so much memory, 12 matrices have not."""
    monkeypatch.setattr("retgk._runtime.processes.available_bytes", lambda: 45_000)
    found = invoke("test", folder / "sparse.npy", folder / "dense.npy", *FAST)
    assert_fails(found, "memory")


ALL = ["all.npy", "--targets"]
BAD = {
    "no targets": (["all.npy"], ("no targets",)),
    "one group": ([*ALL, "one.txt"], ("one group", "16 graphs")),
    "short": ([*ALL, "short.txt"], ("short.txt", "1")),
    "three pairs": ([*ALL, "three.txt", "--paired"], ("--paired", "--subjects")),
    "pairs of values": ([*ALL, "value.txt", "--paired"], ("--paired",)),
    "one subject": ([*ALL, "group.txt", "--subjects", "group.txt"], ("group dense", "one subject")),
    "both pairs": (
        ["sparse.npy", "dense.npy", "--paired", "--subjects", "pair.txt"],
        ("pairs", "subjects"),
    ),
    "targets of two": (
        ["sparse.npy", "dense.npy", "--targets", "group.txt"],
        ("two sources are",),
    ),
    "value of two": (["sparse.npy", "dense.npy", "--association"], ("--association",)),
    "figure": (["sparse.npy", "dense.npy", "--figure", "f.doc"], ("'f.doc'", ".png")),
    "nodes of three": (
        [*ALL, "three.txt", "--nodes-output", "n.csv"],
        ("two groups",),
    ),
    "nodes": (["sparse.npy", "dense.npy", "--nodes-output", "-"], ("--nodes-output",)),
    "edges": (["sparse.npy", "dense.npy", "--edges-output", "e.csv"], ("--nodes-correspond",)),
    "subnetworks": (["sparse.npy", "dense.npy", "--subnetwork-p", "1"], ("--nodes-correspond",)),
    "bandwidth": (["sparse.npy", "dense.npy", "--bandwidth", "-1"], ("bandwidths",)),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(folder: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    arguments, about = BAD[case]
    assert_fails(invoke("test", *arguments, *FAST), *about)
