"""Whatever the user names is read as what it is, or is an error of one line."""

import csv
import gzip
import inspect
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from retgk import (
    GraphBatch,
    GraphClassifier,
    GraphDataset,
    RetGK,
    Walks,
    as_batch,
    load_model,
    read_graphs,
    save_model,
)
from retgk.cli.command import one_line
from retgk.cli.data import info
from retgk.cli.evaluate import nested_answers
from retgk.cli.inputs import key_columns, read_collection, required_targets
from retgk.cli.options import Common, Reading
from retgk.cli.splits import read_split
from retgk.datasets import make_graph_classification, save_tudataset
from retgk.errors import InvalidInputError
from retgk.estimators.fit_cost import Estimate
from retgk.io import write_parquet
from retgk.io.formats import format_of
from retgk.io.json import write_json
from retgk.io.molecules import from_smiles
from retgk.learning.folds import OuterFold
from retgk.model_selection import scaffold_folds
from tests.errors import fails
from tests.programs import (
    DATA,
    N_GRAPHS,
    assert_fails,
    assert_fails_with_one_line,
    invoke,
    output_of,
    printed,
    record,
    rows_of,
    run_program,
)

LABELLED = make_graph_classification(6, n_labels=2, n_attributes=1, rng=0)
SMILES = "CCO ethanol\nc1ccccc1\n# a comment\n\nCC(=O)O acetic acid\n"


def read(source: object, **options: object) -> GraphDataset:
    return read_collection(str(source), Reading(**options), Common(quiet=True))  # type: ignore[arg-type]


@pytest.fixture
def tu_folder(tmp_path: Path) -> Path:
    save_tudataset(GraphDataset(LABELLED.graphs, LABELLED.targets, "TINY"), tmp_path)
    return tmp_path


def test_tu_by_name_archive_and_renamed_archive(tu_folder: Path) -> None:
    by_name = read("TINY", data_home=tu_folder)
    assert by_name.graphs == LABELLED.graphs
    assert by_name.name == "TINY"
    np.testing.assert_array_equal(required_targets(by_name), LABELLED.targets)
    other = (tu_folder / "TINY.zip").rename(tu_folder / "renamed.zip")
    before = set(tu_folder.iterdir())
    assert read(other).graphs == LABELLED.graphs
    assert set(tu_folder.iterdir()) == before, "nothing is put beside the files of the user"


def test_parquet_with_and_without_targets(tmp_path: Path) -> None:
    write_parquet(LABELLED, tmp_path / "a.parquet")
    np.testing.assert_array_equal(read(tmp_path / "a.parquet").targets, LABELLED.targets)
    write_parquet(LABELLED.graphs, tmp_path / "b.parquet")
    collection = read(tmp_path / "b.parquet")
    assert collection.targets is None
    fails(lambda: required_targets(collection), about="has no targets")


def test_labels_and_attributes_can_be_left_out(tmp_path: Path) -> None:
    write_parquet(LABELLED, tmp_path / "a.parquet")
    graphs = read(tmp_path / "a.parquet", use_labels=False, use_attributes=False).graphs
    assert not graphs.has_labels
    assert graphs.n_attributes == 0


def test_edge_lists_in_several_forms(tmp_path: Path) -> None:
    (tmp_path / "a.edges").write_text("1 2\n2 3\n")
    (tmp_path / "b.edges").write_text("1 2 0.5\n")
    assert read(tmp_path).graph_names == ["a", "b"]
    assert read(tmp_path / "b.edges").graphs.is_weighted
    (tmp_path / "table.csv").write_text("1,2\n2,3\n")
    assert read(tmp_path / "table.csv").graphs.n_edges == 2
    (tmp_path / "graph.txt.gz").write_bytes(gzip.compress(b"# Nodes\n10\t20\n"))
    assert read(tmp_path / "graph.txt.gz").graphs.n_nodes == 2


def test_graphml_with_data_of_nodes(tmp_path: Path) -> None:
    nx = pytest.importorskip("networkx")
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: "a", 1: "b", 2: "a"}, "kind")
    nx.set_node_attributes(graph, 0.5, "size")
    nx.write_graphml(graph, tmp_path / "one.graphml")
    found = read(tmp_path / "one.graphml", label="kind", attributes=["size"])
    assert sorted(map(str, found.graphs.label_names)) == ["a", "b"]
    assert found.graphs.n_attributes == 1
    assert found.graph_names == ["one"]


@pytest.mark.filterwarnings("default")
def test_data_of_nodes_that_is_not_used_is_a_line(tmp_path: Path) -> None:
    nx = pytest.importorskip("networkx")
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, "a", "kind")
    nx.write_graphml(graph, tmp_path / "one.graphml")
    assert invoke("info", tmp_path / "one.graphml").stderr.startswith(
        "retgk: nodes have 'kind', which is not used; --label and --attributes read them"
    )
    assert invoke("info", tmp_path / "one.graphml", "--label", "kind").stderr == ""


@pytest.mark.parametrize("pack", [False, True])
def test_smiles_list(tmp_path: Path, pack: bool) -> None:
    path = tmp_path / ("a.smi.gz" if pack else "a.smi")
    path.write_bytes(gzip.compress(SMILES.encode()) if pack else SMILES.encode())
    found = read(path)
    assert found.graph_names == ["ethanol", "c1ccccc1", "acetic acid"]
    assert found.graphs.node_counts.tolist() == [3, 6, 4]


def test_smiles_table_keeps_targets_aligned(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,SMILES,y\n"x, y",CCO,1\n2,c1ccccc1,0\n')
    found = read(path, target_column="y")
    assert required_targets(found).tolist() == [1, 0]
    assert found.graph_names == ["x, y", "2"]
    assert found.graphs.smiles.tolist() == ["CCO", "c1ccccc1"]
    assert read(path, name_column="y").graph_names == ["1", "0"]
    assert "the column 'id'" in printed("info", path)
    assert "the column 'y'" in printed("info", path, "--name-column", "y")
    result = invoke("info", path, "--target-column", "z")
    assert "no column 'z'; name one of id, SMILES, y with --target-column" in result.stderr


def test_orders_of_bonds_and_attributes_of_atoms(tmp_path: Path) -> None:
    path, model = tmp_path / "a.csv", tmp_path / "model.retgk"
    path.write_text("smiles,y\n" + "c1ccccc1,1\nC1CCCCC1,0\n" * 3)
    options = ["--bond-orders", "--atom-attributes", "aromatic", "--atom-attributes", "charge"]
    found = read(path, bond_orders=True, atom_attributes=["aromatic", "charge"]).graphs
    assert found == from_smiles(
        ["c1ccccc1", "C1CCCCC1"] * 3, bond_orders=True, attributes=["aromatic", "charge"]
    )
    fit = ["fit", path, "--target-column", "y", "--C", 1, "--p", 1, "--scale", 1, "-o", model]
    assert invoke(*fit, *options).exit_code == 0
    assert invoke("predict", model, path, *options).exit_code == 0
    assert printed("predict", model, path) == printed("predict", model, path, *options)
    query = ["similar", path, "--smiles", "c1ccccc1", "--json", "-k", 1]
    for chosen in (options, [*options, "--no-attributes", "--no-labels"]):
        assert json.loads(invoke(*query, *chosen).stdout)["name"] == ["c1ccccc1"]
    message = invoke("info", path, "--atom-attributes", "colour").stderr
    assert "'colour' is not an attribute of atoms; choose from" in message
    assert "--skip-invalid" not in message


def test_chemistry_is_stored_with_the_model(tmp_path: Path) -> None:
    path, salts, model = tmp_path / "a.csv", tmp_path / "salts.smi", tmp_path / "model.retgk"
    path.write_text("smiles,y\n" + "C[C@H](N)O,1\nC[C@@H](N)O,0\n" * 3)
    salts.write_text("C[C@H](N)O.[Na+]\nCl.C[C@@H](N)O\n")
    plain = json.loads(invoke("info", path, "--chemistry", "elements", "--json").stdout)
    assert (plain["labels"], plain["edge_labels"]) == (["C", "N", "O"], None)
    fit = ["fit", path, "--target-column", "y", *FIXED, "-o", model]
    assert invoke(*fit, "--stereo", "--largest-fragment").exit_code == 0
    found = load_model(model).reading_.options
    assert [found[name] for name in ("chemistry", "stereo", "largest_fragment")] == [
        *("full", True, True)
    ]
    rows = csv.DictReader(printed("predict", model, salts).splitlines())
    assert [row["prediction"] for row in rows] == ["1", "0"]
    refused = invoke("predict", model, salts, "--no-stereo")
    assert "--no-stereo contradicts the model" in refused.stderr


def test_prediction_tells_of_elements_that_training_did_not_have(tmp_path: Path) -> None:
    path, model, new = tmp_path / "a.csv", tmp_path / "model.retgk", tmp_path / "new.smi"
    path.write_text("smiles,y\n" + "CC,1\nCCO,0\n" * 6)
    new.write_text("CC ethane\nC[Si] silane\n")
    assert invoke("fit", path, "--target-column", "y", *FIXED, "-o", model).exit_code == 0
    result = invoke("predict", model, new, "--probabilities", "-o", tmp_path / "found.csv")
    assert result.stderr.count("graph 1 (silane) has Si, at distance ") == 1
    assert "graph 0" not in result.stderr


@pytest.mark.parametrize(
    ("heading", "named"),
    [
        ("smiles,id,name", "c"),
        ("smiles,Mol-ID,weight", "b"),
        ("smiles,weight,Compound ID", "c"),
        ("smiles,weight,size", "CCO"),
        ("smiles,name,y", "b"),
    ],
)
def test_predictions_keep_what_molecules_are_called(
    heading: str, named: str, tmp_path: Path
) -> None:
    path, model = tmp_path / "a.csv", tmp_path / "model.retgk"
    path.write_text("smiles,y\n" + "c1ccccc1O,1\nC1CCCCC1O,0\n" * 3)
    assert invoke("fit", path, "--target-column", "y", "--C", 1, "-o", model).exit_code == 0
    path.write_text(f"{heading}\nCCO,b,c\n")
    assert printed("predict", model, path).splitlines()[1].split(",")[1] == named


def test_features_of_molecules_with_a_long_name(tmp_path: Path) -> None:
    from pyarrow import parquet

    path = tmp_path / "a.smi"
    path.write_text("CCO ethanol\nCC " + "x" * 2000 + "\n")
    for output in ("f.npz", "f.parquet", "f.csv"):
        assert invoke("features", path, "--n-steps", 2, "-o", tmp_path / output).exit_code == 0
    expected = ["ethanol"] * 3 + ["x" * 2000] * 2
    assert parquet.read_table(tmp_path / "f.parquet")["name"].to_pylist() == expected
    rows = csv.DictReader((tmp_path / "f.csv").read_text().splitlines())
    assert [row["name"] for row in rows] == expected
    with np.load(tmp_path / "f.npz") as arrays:
        assert arrays["name"].tolist() == ["ethanol", "x" * 2000]  # once for each graph
        assert arrays["graph"].tolist() == [0, 0, 0, 1, 1]


def test_text_too_wide_for_an_npz_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.smi"
    path.write_text("CCO\nCC\n")
    monkeypatch.setattr("retgk._runtime.processes.available_bytes", lambda: 10)
    result = invoke("features", path, "-o", tmp_path / "f.npz")
    assert result.exit_code == 1
    assert result.stderr.endswith("memory are free; write .parquet or .csv instead\n")


def test_smiles_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("smiles,y\nCCO,1\nC(C,0\nCC,2\n")
    result = invoke("info", path, "--target-column", "y")
    assert re.search(r"graph 1: RDKit cannot .*; --skip-invalid leaves such out$", result.stderr)
    reading = Reading(target_column="y", skip_invalid=True)
    found = read_collection(str(path), reading, Common(), announce=False)
    assert required_targets(found).tolist() == [1, 2]
    assert "left out 1 molecule RDKit cannot read: line 3" in capsys.readouterr().err
    assert key_columns(found)["graph"].tolist() == [0, 2]


def test_numbers_of_graphs_are_those_of_the_input(tmp_path: Path) -> None:
    path, output = tmp_path / "a.smi", tmp_path / "found.csv"
    path.write_text("C(C\nCCO\nC1\nCCN\nCCCO\n")
    result = invoke("similar", path, "--skip-invalid", "--index", 1, "-o", output)
    assert "left out 2 molecules RDKit cannot read: lines 1, 3" in result.stderr
    rows = list(csv.DictReader(output.read_text().splitlines()))
    assert {row["graph"]: row["name"] for row in rows} == {"3": "CCN", "4": "CCCO"}
    missing = invoke("similar", path, "--skip-invalid", "--index", 2)
    assert missing.stderr.endswith("there is no graph 2: a has 3, from 0 on\n")
    assert invoke("kernel", path, "--skip-invalid", "-o", output).exit_code == 0
    header = output.read_text().splitlines()[0]
    assert header == "graph,name,graph_1,graph_3,graph_4"


def test_empty_cell_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("smiles,y\nCCO,1\nCC,\n")
    fails(lambda: read(path, target_column="y"), about=("a.csv", "line 3", "'y'"))


def test_targets_from_a_file(tmp_path: Path) -> None:
    write_parquet(LABELLED.graphs, tmp_path / "a.parquet")
    targets = tmp_path / "targets.txt"
    targets.write_text("yes\nno\n" * 3)
    found = read(tmp_path / "a.parquet", targets=targets)
    assert required_targets(found).tolist() == ["yes", "no"] * 3
    targets.write_text("yes\n")
    fails(lambda: read(tmp_path / "a.parquet", targets=targets), about=("1", "6"))


def test_unknown_content_names_the_option(tmp_path: Path) -> None:
    path = tmp_path / "unknown"
    path.touch()
    message = "unknown cannot be recognised; say what it is with --format, one of edges, "
    assert message in invoke("info", path).stderr
    (tmp_path / "unknown").rename(tmp_path / "a.edges")
    (tmp_path / "a.graphml").touch()
    result = invoke("info", tmp_path)
    assert "holds edges and graphml graphs; it should hold files of one of: edges" in result.stderr
    assert "; say what it is with --format, one of" in result.stderr


@pytest.mark.slow
def test_standard_input() -> None:
    text = output_of(run_program("info", "-", "--json", stdin=SMILES.encode()))
    assert json.loads(text)["graphs"] == 3


@pytest.mark.slow
def test_standard_input_is_called_so() -> None:
    done = run_program("info", "-", stdin=b"\xff\xfe\x00")
    assert_fails_with_one_line(done, "retgk: standard input")


@pytest.mark.parametrize("name", ["MUTAAG", "mutag"])
def test_misspelt_name(name: str) -> None:
    result = invoke("info", name)
    assert result.exit_code == 1
    assert result.stderr == (
        f"retgk: there is no file, folder or known collection {name!r}; did you mean MUTAG?\n"
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.js", "[[0, 1], [1, 2]]"),
        ("a.js", "[\n [\n  0,\n  1\n ]\n]\n"),
        ("a.cfg", "section [\n  key [ id 0 ]\n]\n"),
        ("a.dat", "alice dave\ndave erin\n"),
        ("notes", "hello world\n"),
    ],
)
def test_what_is_no_smiles_is_not_taken_for_it(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert_fails(invoke("info", tmp_path / name), name, "--format")


@pytest.mark.parametrize(
    "text",
    ["CCO\n[Na+].[Cl-] salt\n", "structure\nc1ccccc1Br\n", "SMILES;y\nxyz;1\n", "C(C\nC/C=C\\C\n"],
)
def test_smiles_are_recognised_whatever_the_name(text: str, tmp_path: Path) -> None:
    path = tmp_path / "molecules.dat"
    path.write_text(text)
    assert format_of(path).name == "smiles"


@pytest.mark.slow
def test_damaged_file_and_traceback(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 and nothing else")
    assert_fails_with_one_line(run_program("info", path), "is not a")
    done = run_program("info", path, "--debug")
    assert done.returncode == 1
    assert b"Traceback" in done.stderr


def test_directed_graphs_name_the_option(tmp_path: Path) -> None:
    nx = pytest.importorskip("networkx")
    nx.write_graphml(nx.path_graph(3, create_using=nx.DiGraph), tmp_path / "a.graphml")
    result = invoke("info", tmp_path / "a.graphml")
    assert result.exit_code == 1
    assert "is directed; pass --symmetrize" in result.stderr
    assert invoke("info", tmp_path / "a.graphml", "--symmetrize").exit_code == 0


# A model file knows how its graphs were read: `retgk predict` needs to be told nothing again

ROWS = "c1ccccc1,1\nC1CCCCC1,0\nCC=O,1\nCCO,0\nC=CC=C,1\nCCCC,0\n"
READ = ["--bond-orders", "--atom-attributes", "aromatic"]
QUICK = ["--C", 1, "--p", 1, "--scale", 1, "--n-steps", 5]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text("smiles,y\n" + 2 * ROWS)
    return path


@pytest.fixture
def model(table: Path, tmp_path: Path) -> Path:
    path = tmp_path / "model.retgk"
    printed("fit", table, "--target-column", "y", *QUICK, *READ, "-o", path, "-q")
    return path


def test_predict_reads_molecules_as_fit_did(model: Path, table: Path, tmp_path: Path) -> None:
    said = printed("predict", model, table, *READ, "--probabilities")
    assert printed("predict", model, table, "--probabilities") == said
    packed = tmp_path / "table.parquet"
    assert invoke("convert", table, packed, *READ).exit_code == 0
    found = printed("predict", model, packed, "--probabilities").splitlines()
    assert [line.split(",")[-2:] for line in found] == [
        line.split(",")[-2:] for line in said.splitlines()
    ]
    assert invoke("convert", table, tmp_path / "other.parquet").exit_code == 0
    message = "read with attributes=[], the fitted ones with --attributes aromatic"
    assert_fails(invoke("predict", model, tmp_path / "other.parquet"), message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--no-bond-orders"],
            ("--no-bond-orders",),
        ),
        (["--atom-attributes", "mass"], ("--atom-attributes aromatic",)),
        (["--add-hydrogens"], ("--no-add-hydrogens",)),
    ],
)
def test_a_contradiction_is_refused_before_any_work(
    options: list[str], message: str, model: Path, tmp_path: Path
) -> None:
    assert_fails(invoke("predict", model, tmp_path / "is not there.csv", *options), *message)


def test_the_column_is_that_of_fit_where_there_is_one(tmp_path: Path) -> None:
    model, table = tmp_path / "model.retgk", tmp_path / "a.csv"
    table.write_text("structure,y\n" + ROWS)
    column = ["--smiles-column", "structure"]
    printed("fit", table, "--target-column", "y", *column, *QUICK, "-o", model, "-q")
    said = printed("predict", model, table, *column)
    assert printed("predict", model, table) == said
    (tmp_path / "b.csv").write_text("smiles,y\n" + ROWS)
    (tmp_path / "c.csv").write_text("other,y\n" + ROWS)
    (tmp_path / "d.smi").write_text(ROWS.replace(",", " "))
    options = {"b.csv": [], "c.csv": ["--smiles-column", "other"], "d.smi": []}
    for name, more in options.items():
        lines = printed("predict", model, tmp_path / name, *more).splitlines()
        assert [line[-1] for line in lines] == [line[-1] for line in said.splitlines()]


def test_names_in_graphml(tmp_path: Path) -> None:
    folder, model = tmp_path / "graphs", tmp_path / "model.retgk"
    folder.mkdir()
    for number in range(6):
        graph = nx.path_graph(4) if number % 2 else nx.cycle_graph(4)
        nx.set_node_attributes(graph, {0: "a", 1: "b", 2: "a", 3: "b"}, "kind")
        nx.set_node_attributes(graph, {0: 1.5, 1: 2.5, 2: 0.5}, "size")
        nx.set_edge_attributes(graph, 1.0 + number, "strength")
        nx.write_graphml(graph, folder / f"{number}.graphml")
    (tmp_path / "y.txt").write_text("0\n1\n" * 3)
    read = ["--label", "kind", "--attributes", "size", "--weight", "strength"]
    fit = ["fit", folder, "--targets", tmp_path / "y.txt", *QUICK, *read, "-o", model, "-q"]
    message = "say with --missing what becomes of nodes without"
    assert_fails(invoke(*fit), message)
    assert_fails(invoke(*fit, "--missing", "nan"), "--missing nan")
    printed(*fit, "--missing", "nan", "--impute-attributes", "median")
    said = printed("predict", model, folder, *read, "--missing", "nan")
    assert printed("predict", model, folder) == said
    assert_fails(invoke("predict", model, folder, "--weight", "w"), "--weight strength")


def test_weights_of_edge_lists(tmp_path: Path) -> None:
    for number in range(6):
        lines = [f"{node} {node + 1} {1 + number}\n" for node in range(3 + number % 2)]
        (tmp_path / f"{number}.edges").write_text("".join(lines))
    (tmp_path / "y.txt").write_text("0\n1\n" * 3)
    model = tmp_path / "model.retgk"
    fit = ["fit", tmp_path, "--targets", tmp_path / "y.txt", *QUICK, "-o", model, "-q"]
    printed(*fit)
    assert load_model(model).reading_.options["weight"] == "weight"
    said = printed("predict", model, tmp_path)
    printed(*fit, "--weight", "3")
    assert printed("predict", model, tmp_path) == said
    assert_fails(invoke("predict", model, tmp_path, "--no-weights"), "--weight 3")
    printed(*fit, "--no-weights")
    printed("predict", model, tmp_path)
    assert load_model(model).reading_.options["weight"] is None


def test_labels_that_were_left_out(table: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.retgk"
    printed("fit", table, "--target-column", "y", "--no-labels", *QUICK, "-o", model, "-q")
    assert printed("predict", model, table) == printed("predict", model, table, "--no-labels")


def test_a_model_from_python_with_hydrogens(table: Path, tmp_path: Path) -> None:
    smiles = [row.partition(",")[0] for row in (2 * ROWS).splitlines()]
    graphs = as_batch(smiles, add_hydrogens=True)
    model = GraphClassifier(RetGK(walks=Walks(5)), C=1, candidates={}, random_state=0).fit(
        graphs, [1, 0] * 6
    )
    save_model(model, tmp_path / "model.retgk")
    found = printed("predict", tmp_path / "model.retgk", table).splitlines()[1:]
    assert [int(line.split(",")[-1]) for line in found] == model.predict(graphs).tolist()


@pytest.mark.filterwarnings("always::retgk.errors.InputWarning")
def test_weights_that_differ_are_told(tmp_path: Path) -> None:
    model, graphs = tmp_path / "model.retgk", tmp_path / "graphs.edges"
    graphs.write_text("0 1 2.5\n1 2 1.5\n")
    plain = as_batch(["CC", "CCC"] * 4, chemistry="elements").without_labels()
    save_model(GraphClassifier(RetGK(walks=Walks(5)), random_state=0).fit(plain, [0, 1] * 4), model)
    result = invoke("predict", model, graphs)
    assert result.exit_code == 0, result.output
    assert "have weights, those of the fitted graphs had none; read all graphs in" in result.stderr


# Folds of `retgk cv`: by groups, by scaffold and from files

FIXED = ["--C", 10, "--p", 1, "--scale", 1]
CHAINS = ["C" * (1 + n) for n in range(6)]
RINGS = [f"{'C' * n}c1ccccc1" for n in range(6)] + [f"{'C' * n}C1CCNCC1" for n in range(6)]
MOLECULES = [*CHAINS, *RINGS, *(f"{'C' * n}c1ccsc1" for n in range(6))]


@pytest.fixture
def molecules_table(tmp_path: Path) -> Path:
    pytest.importorskip("rdkit")
    path = tmp_path / "molecules.csv"
    lines = [f"{s},{n % 2},site{n % 5}" for n, s in enumerate(MOLECULES)]
    path.write_text("\n".join(["smiles,active,Site", *lines[:3], "C(C,1,site9", *lines[3:]]))
    return path


def folds_of(path: Path) -> dict[int, int]:
    return {int(row["graph"]): int(row["fold"]) for row in rows_of(path)}


def test_groups_of_a_column_stay_together(molecules_table: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    given = ["--target-column", "active", "--skip-invalid", "--folds", 3, *FIXED, "-o", path]
    record("cv", molecules_table, *given, "--groups", "site")
    folds = folds_of(path)
    assert len(folds) == len(MOLECULES)
    assert 3 not in folds  # the line that cannot be read
    rows = molecules_table.read_text().splitlines()[1:]
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


def test_scaffolds_are_those_of_the_library(molecules_table: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    given = ["--target-column", "active", "--skip-invalid", "--folds", 4, *FIXED, "-o", path]
    found = record("cv", molecules_table, *given, "--split", "scaffold")
    folds = [folds_of(path)[number] for number in sorted(folds_of(path))]
    for fold, (_, test) in enumerate(scaffold_folds(MOLECULES, 4)):
        np.testing.assert_array_equal(np.flatnonzero(np.array(folds) == fold), test)
    assert len(found["accuracy"]["folds"][0]) == 4


def test_the_split_of_the_open_graph_benchmark(tmp_path: Path) -> None:
    """Rare scaffolds are tested, once; folds have no say in it."""
    chains = ["C" * n + "O" for n in range(1, 16)]
    smiles = ["c1ccccc1", *chains, "C1CCC1", "CC1CCC1", "C1CC1"]
    lines = [f"{text},{number % 4}.5" for number, text in enumerate(smiles)]
    (tmp_path / "m.csv").write_text("\n".join(["smiles,y", *lines]))
    given = [tmp_path / "m.csv", "--target-column", "y", "--split", "ogb-scaffold"]
    assert_fails(invoke("cv", *given, "--folds", 3), "ogb-scaffold", "--folds")
    record("cv", *given, *FIXED, "-o", tmp_path / "p.csv")
    with (tmp_path / "p.csv").open() as file:
        assert [row["graph"] for row in csv.DictReader(file)] == ["0", "18"]


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

    class Watched(GraphClassifier):
        def fit(self, X: Any, y: Any = None) -> Any:
            seen.append(self.cv)
            return super().fit(X, y)

    inner = [(np.arange(10), np.arange(10, 20))]
    folds = [OuterFold(np.arange(20), np.arange(20, 40), inner)]
    nested_answers(DATA.graphs, DATA.targets, [folds], Watched(C=1, random_state=0))
    assert seen == [inner]


def test_models_get_the_groups_where_they_take_them() -> None:
    seen = []

    class Grouped(GraphClassifier):
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
    "{": ("is no JSON",),
    "{}": ("must be a",),
    "[]": ("must be a",),
    "[1]": ("must be a",),
    '[{"tests": [1]}]': ("fold 0", "'tests'", "model_selection"),
    '[{"train": [1]}]': ("fold 0", '"test"'),
    '[{"test": []}]': ("fold 0", '"test"'),
    '[{"test": 3}]': ("fold 0", '"test"'),
    '[{"test": [true]}]': ("must be a",),
    '[{"test": [0.5]}]': ("must be a",),
    '[{"test": [1, 1]}]': ("has a graph",),
    '[{"test": [40]}]': ("graph 40",),
    '[{"test": [-1]}]': ("-1", "40"),
    '[{"test": [1], "train": [1, 2]}]': ("graph 1",),
    '[{"test": [1], "model_selection": [{"train": [2]}]}]': ('"model_selection"',),
    '[{"test": [1], "train": [2], "model_selection": [{"train": [3], "validation": [2]}]}]': (
        ("chooses by graphs",)
    ),
}


@pytest.mark.parametrize("text", BAD)
def test_bad_json(text: str, graphs_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "split.json"
    path.write_text(text)
    assert_fails(invoke("cv", graphs_file, "--split", path), *BAD[text])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\n1\n", ('"fold"',)),
        ("fold\n1\n2\n", ("2", "40")),
        ("fold\n" + "1\n" * 40, ("one fold",)),
        ("fold,x\n" + "1,1\n" * 39 + ",1\n", ("row 40",)),
        ("fold\n" + "train\n" * 40, ("has no graphs",)),
        ("fold\n" + "1\n" * 20 + "2\n" * 21, ("graph 40",)),
        ("graph,fold\n" + "a,1\n" * 40, ('"graph"',)),
    ],
)
def test_bad_tables(text: str, message: str, graphs_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "split.csv"
    path.write_text(text)
    assert_fails(invoke("cv", graphs_file, "--split", path), *message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--split", "scaffold"], ("--groups", "--split")),
        (["--groups", "site"], ("'site'",)),
        (["--split", "scaffold", "--groups", "x"], ("--split scaffold", "--groups")),
        (
            ["--split", "none.json"],
            ("'none.json'",),
        ),
        (["--protocol", "paper", "--split", "scaffold"], ("--split scaffold", "--protocol nested")),
        (["--protocol", "paper", "--groups", "x"], ("--groups", "--protocol nested")),
    ],
)
def test_options_that_cannot_be_followed(
    graphs_file: Path, options: list[str], message: str
) -> None:
    assert_fails(invoke("cv", graphs_file, *options), *message)


def test_a_file_says_what_the_folds_are(graphs_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "split.json"
    path.write_text(json.dumps(SPLIT))
    given = ["cv", graphs_file, "--split", path]
    assert_fails(invoke(*given, "--folds", 5), "--folds")
    assert_fails(invoke(*given, "--repeats", 2), "--repetitions")
    assert_fails(invoke(*given, "-o", path), "would be written")


def test_too_few_groups(molecules_table: Path) -> None:
    given = ["cv", molecules_table, "--target-column", "active", "--skip-invalid"]
    assert_fails(invoke(*given, "--groups", "site"), "5", "10")
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


# Errors advise what helps on the command line, in the names of its options

# What is called in a folder of bad files, and what its message names: the fact, and the option.
COMMANDS = [
    ("predict model.retgk small.parquet --no-labels", "no labels", "--label"),
    ("predict model.retgk small.parquet --no-attributes", "0 attributes", "--no-attributes"),
    ("info bytes", "bytes cannot be recognised", "--format, one of edges, "),
    ("info mol.csv --smiles-column z", "no column 'z'", "smiles, y with --smiles-column"),
    ("info mol.csv --target-column z", "no column 'z'", "smiles, y with --target-column"),
    ("cv mol.csv --target-column y --groups z --folds 3", "no column 'z'", "--groups"),
    ("info bad.smi", "C(C", "--skip-invalid leaves"),
    ("info ONEWAY.zip", "has none back", "--symmetrize"),
    ("info signed.npy", "not negative", "--negative absolute"),
    ("info two.npz", "'b' has shape (2,)", "--variable"),
    ("info kinds.json --attributes kind", "--label kind", "--categorical kind"),
    ("info comma.edges", "1,2", "--delimiter , if"),
    ("kernel one.edges -o -", "no median", "distances or inner products"),
    ("convert small.parquet e --to edges", "GraphML", "--no-labels"),
    ("convert lonely.parquet e --to edges", "node 2 has no edges", "GraphML"),
    ("convert mol.csv MOL.zip --targets large.txt --no-labels", "18 digits", "write Parquet"),
    ("convert mol.csv MOL.zip --target-column y", "got ('C', 1, 0, 3", "--no-labels"),
    (
        "convert mol.csv MOL.zip --target-column y --no-labels --bond-types",
        "got 'SINGLE'",
        "--no-edge-labels",
    ),
    ("info bare.graphml --edge-label k", "no 'k'", "--missing label"),
    ("predict deep.retgk bonds.parquet --no-edge-labels", "edges", "--no-edge-labels"),
    ("predict model.retgk small.parquet --max-bytes 9", "the 9 allowed", "--max-bytes"),
    ("info bad.smi --max-bytes 5", "the 5 allowed for reading 8 bytes", "--max-bytes"),
    ("predict model.retgk small.parquet --max-steps 3", "the 3 allowed", "--max-steps"),
    ("predict molecules.retgk bonds.parquet", "--no-bond-orders", "in one way"),
    ("info gap.graphml --label k", "node", "--missing"),
    ("info gap.graphml --label k --missing nan", "label", "--missing label"),
    ("embed gap.graphml --attributes v --missing nan -o -", "is nan", "impute_attributes"),
    ("cv small.parquet --targets many.txt", "--task regression", "--task classification"),
    ("cv small.parquet --metric rmse", "rmse is for values", "--task regression"),
    (
        "cv small.parquet --protocol paper --folds 3 --C 1 --metric log_loss",
        "probabilities",
        "--protocol paper",
    ),
    (
        "compare small.parquet --methods majority --folds 3 --journal other.jsonl",
        "other.jsonl is no journal",
        "journal",
    ),
]
# The same, where next to no memory is free.
MEMORY_COMMANDS = [
    ("kernel small.parquet -o -", "--matrix products --on-disk"),
    ("cv small.parquet --folds 3", "use --n-components 1024"),
    ("fit small.parquet -o m.retgk", "use --n-components 1024"),
    ("embed small.parquet -o -", "smaller --n-components"),
    ("test small.parquet", "smaller --n-permutations"),
    ("kernel small.parquet -D 512 -o -", "fewer graphs"),
]
KINDS = '{"nodes": [{"id": 1, "kind": "a"}, {"id": 2, "kind": "b"}], "links": []}'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that commands stumble over, each in another way."""
    folder = tmp_path_factory.mktemp("remedies")
    write_parquet(GraphDataset(DATA.graphs, DATA.targets, "small"), folder / "small.parquet")
    lonely = GraphBatch.from_edges(3, [[0, 1]], symmetrize=True)
    write_parquet(lonely, folder / "lonely.parquet")
    texts = {
        "mol.csv": "smiles,y\nCCO,1\nCCN,0\n",
        "many.txt": "".join(f"{number}\n" for number in range(len(DATA.targets))),
        "other.jsonl": '{"format": 1}\n',
        "large.txt": f"1\n{10**18}\n",
        "bad.smi": "CCO\nC(C\n",
        "bad.txt": "CCO\nC(C\n",
        "one.edges": "1 2\n2 3\n",
        "comma.edges": "1,2\n2,3\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "kinds.json").write_text(KINDS)
    far = make_graph_classification(30, n_nodes=(5, 6), n_attributes=1, rng=0)
    values = far.graphs.with_attributes(1e6 * far.graphs.attributes)
    write_json(GraphDataset(values, far.targets, "far"), folder / "far.json")
    np.save(folder / "signed.npy", np.array([[0.0, -1.0], [-1.0, 0.0]]))
    np.savez(folder / "two.npz", a=np.ones((2, 2)), b=np.ones(2))
    (folder / "bytes").write_bytes(b"\xff\xfe\x00\x01")
    graph = nx.path_graph(2)
    graph.nodes[0].update(k="a", v=1.0)
    nx.write_graphml(graph, folder / "gap.graphml")
    nx.write_graphml(nx.path_graph(2), folder / "bare.graphml")
    write_parquet(from_smiles(["CC", "C=C"], bond_orders=True), folder / "bonds.parquet")
    with zipfile.ZipFile(folder / "ONEWAY.zip", "w") as archive:
        archive.writestr("ONEWAY_A.txt", "1, 2\n2, 3\n")
        archive.writestr("ONEWAY_graph_indicator.txt", "1\n1\n1\n")
        archive.writestr("ONEWAY_graph_labels.txt", "1\n")
    return folder


@pytest.fixture(scope="module")
def with_models(folder: Path) -> Path:
    model = folder / "model.retgk"
    options = ["--C", 10, "--scale", 1, "--p", 1, "-o", model]
    assert invoke("fit", folder / "small.parquet", *options).exit_code == 0
    smiles = GraphClassifier(RetGK(walks=Walks(3)), random_state=0).fit(
        from_smiles(["CC", "C=C"]), [0, 1]
    )
    save_model(smiles, folder / "molecules.retgk")
    bonds = read_graphs(folder / "bonds.parquet").graphs.with_edge_labels(["-", "-", "=", "="])
    deep = GraphClassifier(RetGK(2, walks=Walks(3)), random_state=0).fit(bonds, [0, 1])
    save_model(deep, folder / "deep.retgk")
    return folder


@pytest.fixture
def _inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(folder)
    before = set(folder.iterdir())
    yield
    assert set(folder.iterdir()) == before


@pytest.mark.usefixtures("with_models", "_inside")
@pytest.mark.parametrize(("line", "fact", "advice"), COMMANDS)
def test_errors_name_the_fact_and_the_option(line: str, fact: str, advice: str) -> None:
    assert_fails(invoke(*line.split()), fact.rstrip(), advice.rstrip(", "))


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize(("line", "advice"), MEMORY_COMMANDS)
def test_little_memory(line: str, advice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retgk._runtime.processes.available_bytes", lambda: 10)
    result = invoke(*line.split())
    assert_fails(result, "memory")
    assert_fails(result, advice)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("use bond_orders=False", "use --no-bond-orders"),
        ("set data_home or pass missing=", "set --data-home or pass --missing"),
        ("label='a b', categorical=['kind'].", "--label a b, --categorical kind."),
        ('give missing="nan", not "label"', 'give --missing nan, not "label"'),
        ("symmetrize=True or symmetrize='mean'", "--symmetrize or --symmetrize-by mean"),
        ("fisher_z=True, threshold= or density=", "--fisher-z, --threshold or --density"),
        # of other commands, lists, and words that are no parameters here
        ("n_steps=5 and attributes=[]", "n_steps=5 and attributes=[]"),
        ("the label 'max_bytes' of /a/max_bytes.csv", "the label 'max_bytes' of /a/max_bytes.csv"),
    ],
)
def test_parameters_are_said_as_options(message: str, expected: str) -> None:
    names = inspect.signature(info.run).parameters
    assert one_line(InvalidInputError(message), list(names)) == expected
    assert one_line(InvalidInputError(message)) == message


@pytest.mark.usefixtures("_inside")
@pytest.mark.filterwarnings("always")
def test_long_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retgk.walks.exact._LONG_SECONDS", 0.0)
    expected = "minutes on this machine, or longer; --method monte-carlo"
    for line in ("features one.edges -o -", "embed one.edges -o -"):
        result = invoke(*line.split())
        assert result.exit_code == 0
        assert "retgk: exact return probabilities of 3 nodes take about 0 " in result.stderr
        assert expected in result.stderr


@pytest.mark.parametrize(
    ("options", "expected", "advice"),
    [
        ("", (0, 700, 1, 0), "about 12 minutes on this machine; use --n-components 1024"),
        (
            "",
            (0, 1, 8000, 0),
            "2 hours on this machine; give fewer candidates, such as --C 10",
        ),
        ("-D 1024", (0, 700, 1, 0), "machine; use a smaller --n-components"),
        (
            "-D 1024 --task regression",
            (0, 1, 1, 2**60),
            " GiB are free; use a smaller --n-landmarks",
        ),
    ],
)
@pytest.mark.usefixtures("_inside")
@pytest.mark.filterwarnings("always")
def test_long_fits(options: str, expected: tuple[float, ...], advice: str, monkeypatch) -> None:
    monkeypatch.setattr("retgk.estimators.fit_cost.estimate", lambda *_: Estimate(*expected))
    result = invoke(*f"cv small.parquet --folds 3 {options}".split())
    assert result.exit_code == 0
    assert advice in result.stderr


@pytest.mark.usefixtures("_inside")
@pytest.mark.filterwarnings("always")
def test_categories_that_were_found() -> None:
    result = invoke("info", "kinds.json", "--categorical", "kind")
    assert "'kind' became 2 columns" in result.stderr
    assert "['a', 'b']" in result.stderr
    assert "--categorical kind=VALUE,..." in result.stderr
    result = invoke("info", "kinds.json", "--categorical", "kind=a,b,c")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "3 a node" in result.stdout


@pytest.mark.usefixtures("_inside")
@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize(
    "line",
    ["kernel far.json -o -", "kernel far.json -D 512 -o -", "embed far.json -o -",
     "cv far.json --protocol paper --folds 3"],
)  # fmt: skip
def test_attributes_of_uneven_size(line: str) -> None:
    result = invoke(*line.split())
    expected = "apart that hardly any two count as alike; use --scale-attributes standard to give"
    assert expected in result.stderr
    result = invoke(*line.split(), "--scale-attributes", "standard")
    assert (result.exit_code, "scale-attributes" in result.stderr) == (0, False), result.stderr
