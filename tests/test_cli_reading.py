"""A model file knows how its graphs were read: `retgk predict` needs to be told nothing again."""

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from retgk import RetGKClassifier, as_batch, load_model, save_model
from tests.cli_calls import assert_fails, invoke, printed
from tests.node_links import node_link

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
            "--no-bond-orders contradicts the model, whose graphs were read with",
        ),
        (["--atom-attributes", "mass"], "were read with --atom-attributes aromatic"),
        (["--add-hydrogens"], "were read with --no-add-hydrogens"),
    ],
)
def test_a_contradiction_is_refused_before_any_work(
    options: list[str], message: str, model: Path, tmp_path: Path
) -> None:
    assert_fails(invoke("predict", model, tmp_path / "is not there.csv", *options), message)


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
    assert_fails(invoke("predict", model, folder, "--weight", "w"), "with --weight strength")


@pytest.mark.filterwarnings("ignore:'(kind|role)' became")
def test_several_labels_and_categories_in_json(tmp_path: Path) -> None:
    graphs, model = tmp_path / "graphs.json", tmp_path / "model.retgk"
    records = []
    for number in range(6):
        graph = nx.path_graph(4) if number % 2 else nx.cycle_graph(4)
        nx.set_node_attributes(graph, {0: "a", 1: "b", 2: "a", 3: "b"}, "kind")
        nx.set_node_attributes(graph, {0: "x", 1: "x", 2: "y", 3: "z"}, "role")
        graph.graph["target"] = number % 2
        records.append(node_link(graph))
    graphs.write_text(json.dumps(records))
    labels = ["--label", "kind", "--label", "role"]
    for read, name in ((labels, "label"), (["--categorical", "role"], "categorical")):
        printed("fit", graphs, *QUICK, *read, "-o", model, "-q")
        said = printed("predict", model, graphs, *read)
        assert printed("predict", model, graphs) == said
        assert load_model(model).reading_.options[name] in (["kind", "role"], {"role": [*"xyz"]})
    printed("predict", model, graphs, "--categorical", "role=x,y,z")
    for value in ("kind", "role=x,y"):
        message = "contradicts the model, whose graphs were read with categorical={'role': ['x'"
        assert_fails(invoke("predict", model, graphs, "--categorical", value), message)
    for record in records:
        for node in record["nodes"]:
            node["role"] = "x"
    graphs.write_text(json.dumps(records))
    printed("predict", model, graphs)


def test_variables_of_matrix_files(tmp_path: Path) -> None:
    model = tmp_path / "model.retgk"
    for number in range(6):
        graph = nx.path_graph(4) if number % 2 else nx.cycle_graph(4)
        np.savez(tmp_path / f"{number}.npz", a=nx.to_numpy_array(graph), b=np.ones(3))
    (tmp_path / "y.txt").write_text("0\n1\n" * 3)
    fit = ["fit", tmp_path, "--targets", tmp_path / "y.txt", *QUICK, "-o", model, "-q"]
    printed(*fit, "--variable", "a")
    assert printed("predict", model, tmp_path) == printed(
        "predict", model, tmp_path, "--variable", "a"
    )


def test_weights_of_edge_lists(tmp_path: Path) -> None:
    for number in range(6):
        lines = [f"{node} {node + 1} {1 + number}\n" for node in range(3 + number % 2)]
        (tmp_path / f"{number}.edges").write_text("".join(lines))
    (tmp_path / "y.txt").write_text("0\n1\n" * 3)
    model = tmp_path / "model.retgk"
    fit = ["fit", tmp_path, "--targets", tmp_path / "y.txt", *QUICK, "-o", model, "-q"]
    printed(*fit, "--weighted")
    said = printed("predict", model, tmp_path, "--weighted")
    assert printed("predict", model, tmp_path) == said
    assert_fails(invoke("predict", model, tmp_path, "--no-weighted"), "with --weighted")


def test_labels_that_were_left_out(table: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.retgk"
    printed("fit", table, "--target-column", "y", "--no-labels", *QUICK, "-o", model, "-q")
    assert printed("predict", model, table) == printed("predict", model, table, "--no-labels")


def test_a_model_from_python_with_hydrogens(table: Path, tmp_path: Path) -> None:
    smiles = [row.partition(",")[0] for row in (2 * ROWS).splitlines()]
    graphs = as_batch(smiles, add_hydrogens=True)
    model = RetGKClassifier(n_steps=5, C=1, p=1, scale=1, random_state=0).fit(graphs, [1, 0] * 6)
    save_model(model, tmp_path / "model.retgk")
    found = printed("predict", tmp_path / "model.retgk", table).splitlines()[1:]
    assert [int(line.split(",")[-1]) for line in found] == model.predict(graphs).tolist()


@pytest.mark.filterwarnings("always::retgk.errors.InputWarning")
def test_weights_that_differ_are_told(tmp_path: Path) -> None:
    model, graphs = tmp_path / "model.retgk", tmp_path / "graphs.edges"
    graphs.write_text("0 1 2.5\n1 2 1.5\n")
    plain = as_batch(["CC", "CCC"] * 4).without_labels()
    save_model(RetGKClassifier(n_steps=5, random_state=0).fit(plain, [0, 1] * 4), model)
    result = invoke("predict", model, graphs, "--weighted")
    assert result.exit_code == 0, result.output
    assert "have weights, those of the fitted graphs had none; read all graphs in" in result.stderr
