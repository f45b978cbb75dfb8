"""The benchmark of molecules: sets as they are described, the same folds for all methods."""

import csv
import gzip
import sys

import pytest

from benchmarks import bench_molecules, model_tables, molecule_sets
from benchmarks.records import read_records

pytest.importorskip("rdkit")
MOLECULES = [
    f"{'C' * (1 + n % 7)}{ring}" for n in range(20) for ring in ("c1ccccc1", "O", "N1CCCC1")
]


@pytest.fixture
def folder(tmp_path):
    """A table of BBBP in small, with a molecule that cannot be read, and one of MOSES."""
    with (tmp_path / "BBBP.csv").open("w", newline="") as stream:
        rows = [[n, int(n % 3 != 0), text] for n, text in enumerate([*MOLECULES, "C(C"])]
        csv.writer(stream).writerows([["num", "p_np", "smiles"], *rows])
    pair, other = "Fc1ccc(Cc2ccccn2)cc1", "CCO"
    with gzip.open(tmp_path / "moses_train.csv.gz", "wt") as stream:
        stream.write("\n".join(["SMILES", *[pair, *[other] * 9] * 200]))
    return tmp_path


def test_sets_that_are_there(folder):
    names = molecule_sets.sets_in(folder)
    assert names == ["BBBP", "BBBP-rare", *molecule_sets.MADE]
    whole = molecule_sets.load_set("BBBP", folder)
    assert whole.smiles == MOLECULES
    rare = molecule_sets.load_set("BBBP-rare", folder)
    assert rare.targets.sum() == round(0.035 / 0.965 * (whole.targets == 1).sum())


def test_made_sets_have_their_share_of_actives(folder):
    data = molecule_sets.made_set(folder / "moses_train.csv.gz", 200, 400, "pair")
    assert (data.targets[:200].sum(), data.targets[200:].sum()) == (7, 14)
    assert len(data.targets) == 600
    actives = {text for text, is_active in zip(data.smiles, data.targets, strict=True) if is_active}
    assert len(actives) == 1


def test_tasks_of_tox21_lack_targets(tmp_path):
    tasks = ",".join(molecule_sets.TOX21)
    cells = [",".join(["1", "", "0"] + [""] * 9), ",".join([""] * 12)]
    rows = [f"{tasks},smiles", f"{cells[0]},CCO", f"{cells[1]},CCN"]
    (tmp_path / "tox21.csv").write_text("\n".join(rows))
    assert len(molecule_sets.sets_in(tmp_path)) == 12
    data = molecule_sets.load_set("Tox21 NR-AhR", tmp_path)
    assert (data.smiles, data.targets.tolist()) == (["CCO"], [0])
    assert molecule_sets.load_set("Tox21 NR-AR-LBD", tmp_path).smiles == []


@pytest.mark.slow
def test_run_is_resumed(folder, tmp_path, monkeypatch, capsys):
    output = tmp_path / "molecules.jsonl"
    arguments = [str(folder), "BBBP", "-o", str(output), "--only"]
    monkeypatch.setattr(sys, "argv", ["bench", *arguments, "random/morgan-minmax"])
    bench_molecules.main()
    monkeypatch.setattr(sys, "argv", ["bench", *arguments, "BBBP/random/"])
    monkeypatch.setattr(bench_molecules, "METHODS", ["morgan-minmax", "morgan"])
    bench_molecules.main()
    assert capsys.readouterr().out.count("BBBP/random/morgan-minmax") == 1
    first, second = read_records(str(output.with_suffix("")))
    assert (first["method"], second["method"]) == ("morgan-minmax", "morgan")
    assert len(first["folds"]) == len(second["folds"]) == 5
    assert all(0 <= fold["roc_auc"] <= 1 for fold in first["folds"])
    monkeypatch.setattr(model_tables, "FOLDER", tmp_path)
    monkeypatch.setattr(model_tables, "read_records", lambda _: [first, second])
    page = model_tables.molecules_table()
    assert "| set | molecules | split | metric | morgan-minmax | morgan |" in page
    assert "| BBBP | 60 | random | roc_auc |" in page
