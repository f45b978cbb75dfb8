"""Whatever the user names is read as what it is, or is an error of one line."""

import csv
import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from retgk import GraphDataset, make_graph_classification, save_tudataset, write_parquet
from retgk.cli.inputs import key_columns, read_collection, required_targets
from retgk.cli.main import app
from retgk.cli.options import Common, Reading
from retgk.errors import InvalidInputError
from retgk.io.formats import format_of
from retgk.io.molecules import from_smiles
from tests.cli_calls import assert_fails, printed
from tests.cli_program import assert_fails_with_one_line, output_of, run_program

DATA = make_graph_classification(6, n_labels=2, n_attributes=1, random_state=0)
SMILES = "CCO ethanol\nc1ccccc1\n# a comment\n\nCC(=O)O acetic acid\n"


def read(source: object, **options: object) -> GraphDataset:
    return read_collection(str(source), Reading(**options), Common(quiet=True))  # type: ignore[arg-type]


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def tu_folder(tmp_path: Path) -> Path:
    save_tudataset(GraphDataset(DATA.graphs, DATA.targets, "TINY"), tmp_path)
    return tmp_path


def test_tu_by_name_archive_and_renamed_archive(tu_folder: Path) -> None:
    by_name = read("TINY", data_home=tu_folder)
    assert by_name.graphs == DATA.graphs
    assert by_name.name == "TINY"
    np.testing.assert_array_equal(required_targets(by_name), DATA.targets)
    other = (tu_folder / "TINY.zip").rename(tu_folder / "renamed.zip")
    before = set(tu_folder.iterdir())
    assert read(other).graphs == DATA.graphs
    assert set(tu_folder.iterdir()) == before, "nothing is put beside the files of the user"


def test_tu_folder(tu_folder: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tu_folder / "TINY.zip") as archive:
        archive.extractall(tu_folder / "unpacked")
    assert read(tu_folder / "unpacked" / "TINY").graphs == DATA.graphs


def test_parquet_with_and_without_targets(tmp_path: Path) -> None:
    write_parquet(DATA, tmp_path / "a.parquet")
    np.testing.assert_array_equal(read(tmp_path / "a.parquet").targets, DATA.targets)
    write_parquet(DATA.graphs, tmp_path / "b.parquet")
    collection = read(tmp_path / "b.parquet")
    assert collection.targets is None
    with pytest.raises(InvalidInputError, match="has no targets to learn from; name a column"):
        required_targets(collection)


def test_labels_and_attributes_can_be_left_out(tmp_path: Path) -> None:
    write_parquet(DATA, tmp_path / "a.parquet")
    graphs = read(tmp_path / "a.parquet", use_labels=False, use_attributes=False).graphs
    assert not graphs.has_labels
    assert graphs.n_attributes == 0


def test_edge_lists_in_several_forms(tmp_path: Path) -> None:
    (tmp_path / "a.edges").write_text("1 2\n2 3\n")
    (tmp_path / "b.edges").write_text("1 2 0.5\n")
    assert read(tmp_path).graph_names == ["a", "b"]
    assert read(tmp_path / "b.edges", weighted=True).graphs.is_weighted
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
        "retgk: nodes have 'kind', which are not used; --label and --attributes read them"
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
    assert found.graph_names == ["CCO", "c1ccccc1"]
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


def test_a_long_name_makes_no_other_name_larger(tmp_path: Path) -> None:
    path = tmp_path / "a.smi"
    path.write_text("CCO\n" * 50 + "C" * 2000 + "\n")
    names = key_columns(read(path))["name"]
    assert names.nbytes < 1000
    assert names.tolist() == ["CCO"] * 50 + ["C" * 2000]


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
    with pytest.raises(InvalidInputError, match=r"a.csv, line 3: the column 'y' is empty"):
        read(path, target_column="y")


def test_targets_from_a_file(tmp_path: Path) -> None:
    write_parquet(DATA.graphs, tmp_path / "a.parquet")
    targets = tmp_path / "targets.txt"
    targets.write_text("yes\nno\n" * 3)
    found = read(tmp_path / "a.parquet", targets=targets)
    assert required_targets(found).tolist() == ["yes", "no"] * 3
    targets.write_text("yes\n")
    with pytest.raises(InvalidInputError, match="has 1 lines for 6 graphs; give one line for each"):
        read(tmp_path / "a.parquet", targets=targets)


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


def test_standard_input() -> None:
    text = output_of(run_program("info", "-", "--json", stdin=SMILES.encode()))
    assert json.loads(text)["graphs"] == 3


def test_standard_input_is_called_so() -> None:
    done = run_program("info", "-", stdin=b"\xff\xfe\x00")
    assert_fails_with_one_line(done, "retgk: standard input cannot be recognised; say what it is")


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
    message = "cannot be recognised; say what it is with --format, one of edges, "
    assert_fails(invoke("info", tmp_path / name), message)


@pytest.mark.parametrize(
    "text",
    ["CCO\n[Na+].[Cl-] salt\n", "structure\nc1ccccc1Br\n", "SMILES;y\nxyz;1\n", "C(C\nC/C=C\\C\n"],
)
def test_smiles_are_recognised_whatever_the_name(text: str, tmp_path: Path) -> None:
    path = tmp_path / "molecules.dat"
    path.write_text(text)
    assert format_of(path).name == "smiles"


def test_text_that_is_taken_for_smiles(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("CC\nC(C\n")
    (tmp_path / "notes.smi").write_text("hello world\n")
    guessed = invoke("info", tmp_path / "notes.txt").stderr
    assert "taken for smiles by its content" in guessed
    assert "; --skip-invalid leaves such out" in guessed
    assert invoke("info", tmp_path / "notes.smi").stderr.endswith(
        "--skip-invalid leaves such out\n"
    )


def test_names_from_a_column(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("smiles,Name\nCCO,ethanol\nCC,\nC\n")
    assert read(path).graph_names == ["ethanol", "CC", "C"]


def test_damaged_file_and_traceback(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 and nothing else")
    assert_fails_with_one_line(run_program("info", path), "is not a whole Parquet file")
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
