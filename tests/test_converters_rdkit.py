"""Molecules of RDKit and SMILES strings."""

import csv
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdkit import Chem

from retgk import GraphBatch, InvalidInputError
from retgk.io import molecules as rdkit_molecules
from retgk.io import molecules as smiles_strings
from retgk.io.molecules import from_rdkit, from_smiles
from tests.batch_views import dense, names

SMILES = [
    "C",
    "CCO",
    "c1ccccc1C(=O)[O-]",
    "[Na+].[Cl-]",
    "CC(C)(C)C#N",
    "[2H]C([2H])[CH2]",
    "*C=C",
    "OC1CC1.c1cc[nH]c1",
]


def by_hand(molecule: Chem.Mol, attributes: list[str], orders: bool) -> GraphBatch:
    """The obvious conversion, atom by atom and bond by bond."""
    atoms, size = list(molecule.GetAtoms()), molecule.GetNumAtoms()
    edges, weights = [], []
    for bond in molecule.GetBonds():
        ends = [bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()]
        edges += [ends, ends[::-1]]
        weights += [bond.GetBondTypeAsDouble() if orders else 1.0] * 2
    methods = [rdkit_molecules.ATOM_ATTRIBUTES[name] for name in attributes]
    return GraphBatch.from_edges(
        size,
        np.array(edges, int).reshape(-1, 2),
        weights,
        labels=[atom.GetSymbol() for atom in atoms],
        attributes=[[float(getattr(atom, m)()) for m in methods] for atom in atoms],
    )


@pytest.mark.parametrize("orders", [False, True])
@pytest.mark.parametrize("attributes", [[], sorted(rdkit_molecules.ATOM_ATTRIBUTES)])
@pytest.mark.parametrize("add_hydrogens", [False, True])
def test_agrees_with_the_obvious_conversion(
    orders: bool, attributes: list[str], add_hydrogens: bool
) -> None:
    molecules = [Chem.MolFromSmiles(text) for text in SMILES]
    complete = [Chem.AddHs(molecule) if add_hydrogens else molecule for molecule in molecules]
    expected = GraphBatch.concatenate([by_hand(m, attributes, orders) for m in complete])
    options: dict[str, Any] = {
        "attributes": attributes,
        "add_hydrogens": add_hydrogens,
        "bond_orders": orders,
    }
    assert from_rdkit(molecules, **options) == expected
    assert from_smiles(SMILES, **options) == expected


def test_what_the_attributes_mean() -> None:
    batch = from_smiles("C[N+](C)(C)C", attributes=["charge", "degree", "hydrogens"])
    assert names(batch) == ["C", "N", "C", "C", "C"]
    np.testing.assert_array_equal(batch.attributes[1], [1, 4, 0])
    np.testing.assert_array_equal(batch.attributes[0], [0, 1, 3])
    benzene = from_smiles("c1ccccc1", attributes="aromatic", bond_orders=True)
    assert benzene.attributes.ravel().tolist() == [1] * 6
    assert set(benzene.weights) == {1.5}


def test_hydrogens_become_nodes() -> None:
    assert names(from_smiles("O", add_hydrogens=True)) == ["O", "H", "H"]


def test_no_process_at_all() -> None:
    with pytest.raises(InvalidInputError, match="n_jobs=0 asks for no process at all; use None"):
        from_smiles("CC", n_jobs=0)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch, n_jobs: int | None) -> None:
    whole = from_smiles(SMILES, attributes="charge")
    monkeypatch.setattr(smiles_strings, "CHUNK", 3)
    assert from_smiles(iter(SMILES), attributes="charge", n_jobs=n_jobs) == whole


def test_large_molecules_are_read_by_their_bonds(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = from_smiles(SMILES)
    monkeypatch.setattr(rdkit_molecules, "LARGEST_DENSE", 0)
    assert from_smiles(SMILES) == whole


def test_molecules_are_not_changed() -> None:
    molecule = Chem.MolFromSmiles("C=C")
    before = list(molecule.GetPropNames(True, True)), molecule.GetNumAtoms()
    from_rdkit(molecule, attributes="charge", add_hydrogens=True)
    from_rdkit(molecule, bond_orders=True)
    from_rdkit(molecule)
    assert (list(molecule.GetPropNames(True, True)), molecule.GetNumAtoms()) == before


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("C1CC", r"\(it is not well formed\)"),
        ("hello", r"\(it is not well formed\)"),
        ("C(C)(C)(C)(C)C", r"\(Explicit valence for atom # 0 C, 5, is greater than permitted\)"),
        ("c1cccc1", r"\(Can't kekulize mol"),
    ],
)
def test_unreadable_smiles(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    monkeypatch.setattr(smiles_strings, "CHUNK", 2)
    shown = text.replace("(", r"\(").replace(")", r"\)")
    message = f"(?s)graph 3: RDKit cannot read the SMILES '{shown}' {reason}.*; correct it, or drop"
    with pytest.raises(InvalidInputError, match=message):
        from_smiles(["C", "C", "C", text])
    assert capfd.readouterr().err == ""


def test_all_unreadable_smiles_of_a_chunk_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smiles_strings, "CHUNK", 5)
    message = (
        r"RDKit cannot read the SMILES of 2 of the graphs 5 to 9: graphs 6, 8; the first is 'C1CC' "
        r"\(it is not well formed\); correct them, or drop them together with their targets"
    )
    with pytest.raises(InvalidInputError, match=message):
        from_smiles([*"CCCCC", "C", "C1CC", "C", "C(", "C", "C("])
    monkeypatch.setattr(smiles_strings, "MOST_SHOWN", 1)
    with pytest.raises(InvalidInputError, match="graphs 6 and 1 more; the first is 'C1CC'"):
        from_smiles([*"CCCCC", "C", "C1CC", "C", "C(", "C"])


def test_molecule_without_atoms() -> None:
    with pytest.raises(InvalidInputError, match="graph 1 has no atoms; drop it and its target"):
        from_smiles(["C", ""])


def test_unknown_attribute() -> None:
    with pytest.raises(InvalidInputError, match=r"'colour' is not an attribute of atoms; choose"):
        from_smiles(["C"], attributes=["charge", "colour"])


def test_not_molecules() -> None:
    with pytest.raises(InvalidInputError, match=r"graph 1 is missing \(None\); drop it tog"):
        from_rdkit([Chem.MolFromSmiles("C"), None])
    with pytest.raises(InvalidInputError, match=r"graph 1 is missing \(nan\); drop it toge"):
        from_smiles(["C", float("nan")])  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match="graph 1 is of type float; expected SMILES string"):
        from_smiles(["C", 2.5])  # type: ignore[list-item]


def test_molecule_that_is_not_sanitized(capfd: pytest.CaptureFixture[str]) -> None:
    raw = Chem.MolFromSmiles("CC", sanitize=False)
    assert from_rdkit(raw) == from_smiles("CC")
    message = "graph 0: RDKit cannot tell the hydrogens of atoms; call rdkit.Chem.SanitizeMol"
    with pytest.raises(InvalidInputError, match=message):
        from_rdkit(raw, attributes="hydrogens")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("kind", ["ZERO", "HYDROGEN", "OTHER"])
def test_bond_without_order(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    editable = Chem.RWMol(Chem.MolFromSmiles("C.C"))
    editable.AddBond(0, 1, Chem.BondType.names[kind])
    molecule = editable.GetMol()
    np.testing.assert_array_equal(dense(from_rdkit(molecule)), [[0, 1], [1, 0]])
    message = f"graph 0: the bond between atoms 0 and 1 is {kind}, which has no order"
    with pytest.raises(InvalidInputError, match=message):
        from_rdkit(molecule, bond_orders=True)
    assert capfd.readouterr().err == ""


@pytest.mark.real_data
def test_real_molecules(data_folder: Path) -> None:
    path = data_folder.parent / "molecules" / "moses_test.csv.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with gzip.open(path, "rt") as file:
        smiles = [row["SMILES"] for row, _ in zip(csv.DictReader(file), range(500), strict=False)]
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    expected = GraphBatch.concatenate([by_hand(m, ["mass"], True) for m in molecules])
    assert from_smiles(smiles, attributes="mass", bond_orders=True) == expected
