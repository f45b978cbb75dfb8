"""Mistyped names: the nearest are asked for, and hundreds are not listed."""

from pathlib import Path

import pytest

from retgk import InvalidInputError, from_networkx, from_smiles, read_graphs
from retgk._runtime.names import name_advice, names_there, near_names
from tests.cli_calls import invoke

MANY = [f"assay_{number:03}" for number in range(300)]


def test_nearest_come_first():
    assert near_names("actve", ["smiles", "active", "inactive"])[0] == "active"
    assert near_names("ACTIVE", ["smiles", "Active"]) == ["Active"]
    assert near_names("solubility", ["x", "measured log solubility in mols per litre"]) == [
        "measured log solubility in mols per litre"
    ]
    assert near_names("z", ["smiles", "active"]) == []
    assert near_names("zz", []) == []


def test_few_names_are_listed_and_many_are_not():
    assert name_advice("y", ["a", "b"]) == "name one of a, b"
    assert name_advice("activ", ["smiles", "active"]) == (
        "did you mean active? name one of smiles, active"
    )
    advice = name_advice("asay_017", MANY)
    assert advice.startswith("did you mean assay_017 or ")
    assert advice.endswith("? name one of the 300 that there are")
    assert name_advice("zzz", MANY).endswith("assay_011 and 288 more")
    assert names_there("kindd", ["kind"]) == "['kind'] (did you mean 'kind'?)"
    assert names_there("zzz", []) == "none"
    assert len(names_there("zzz", MANY)) < 250


def test_columns_of_a_table(tmp_path: Path):
    pytest.importorskip("rdkit")
    path = tmp_path / "wide.csv"
    path.write_text(",".join(["smiles", *MANY]) + "\n" + ",".join(["CCO", *"1" * 300]) + "\n")
    with pytest.raises(
        InvalidInputError, match=r"did you mean assay_123 or .*target_column="
    ) as no:
        read_graphs(path, target_column="assay-123")
    assert len(str(no.value)) < 400
    message = invoke("cv", path, "--target-column", "assay123").stderr
    assert "has no column 'assay123'; did you mean assay_123 or " in message
    assert message.endswith("name one of the 301 that there are with --target-column\n")
    message = invoke("cv", path, "--target-column", MANY[0], "--groups", "asay_001").stderr
    assert "did you mean assay_001 or" in message
    assert message.endswith("that there are with --groups\n")


def test_data_of_nodes():
    nx = pytest.importorskip("networkx")
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, "C", "element")
    with pytest.raises(
        InvalidInputError, match=r"it has \['element'\] \(did you mean 'element'\?\)"
    ):
        from_networkx(graph, label="elment")


def test_attributes_of_atoms():
    pytest.importorskip("rdkit")
    with pytest.raises(InvalidInputError, match=r"did you mean aromatic\? choose from aromatic,"):
        from_smiles("CC", attributes="aromtic")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cv x --task regresion", "is not one of 'auto', 'classification', 'regression'; did you"),
        ("cv x --task regresion", "; did you mean regression? (see "),
        ("info x --format parqet", "; did you mean parquet? (see "),
        ("cv x --scale-attributes standrd", "; did you mean standard? (see "),
        ("cv MUTAG --split scafold", "no split or file 'scafold'; did you mean scaffold? give ran"),
        ("cv MUTAG --metric roc", "no metric 'roc'; did you mean roc_auc"),
    ],
)
def test_values_of_options(
    line: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    from retgk.cli.main import main

    monkeypatch.setattr("sys.argv", ["retgk", *line.split()])
    with pytest.raises(SystemExit):
        main()
    assert message in capsys.readouterr().err
