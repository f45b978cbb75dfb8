"""Structural formulas as data: where atoms stand, what is written at them, and orders of bonds."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats
from retgk.graphs.batch import GraphBatch
from retgk.io.converters.rdkit_molecules import LARGEST_FORMULA
from retgk.runtime.optional_packages import optional_module
from retgk.runtime.progress import progress_bar

__all__ = ["Formula", "structural_formulas"]

_MINUS = "\N{MINUS SIGN}"


class Formula(NamedTuple):
    """Structural formula of one molecule, atom by atom and bond by bond of its graph."""

    places: Floats
    """Shape (n_atoms, 2), downwards as on a screen."""
    texts: list[str]
    """What stands at an atom, such as NH2 or O-; nothing at most carbons."""
    orders: NDArray[np.uint8]
    """Order of the bond of every edge, in the order of `edge_ends`: 1, 2 or 3."""


def structural_formulas(
    batch: GraphBatch, ends: NDArray[np.int32], edge_ptr: Sequence[int], smiles: Sequence[str]
) -> list[Formula | None]:
    """
    Make formulas of molecules; None where the graph is large, or not that of its SMILES.

    `ends` are nodes of every edge, numbered within their graph, and `edge_ptr` the first edge of
    every graph.
    """
    chem = optional_module("rdkit.Chem", "rdkit")
    depictor = optional_module("rdkit.Chem.rdDepictor", "rdkit")
    found: list[Formula | None] = []
    with (
        optional_module("rdkit.rdBase", "rdkit").BlockLogs(),
        progress_bar("structural formulas", len(smiles)) as advance,
    ):
        for graph, text in enumerate(smiles):
            own = ends[edge_ptr[graph] : edge_ptr[graph + 1]]
            found.append(_formula(chem, depictor, text, int(batch.node_counts[graph]), own))
            advance(1)
    return found


def _formula(
    chem: Any, depictor: Any, text: str, n_nodes: int, ends: NDArray[np.int32]
) -> Formula | None:
    molecule = chem.MolFromSmiles(text) if n_nodes <= LARGEST_FORMULA else None
    if molecule is None:
        return None
    if molecule.GetNumAtoms() != n_nodes:
        molecule = chem.AddHs(molecule)
    bonds = {
        (min(ends), max(ends)): bond
        for bond in molecule.GetBonds()
        for ends in [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())]
    }
    wanted = [(int(a), int(b)) for a, b in np.sort(ends, axis=1)]
    if molecule.GetNumAtoms() != n_nodes or sorted(wanted) != sorted(bonds):
        return None
    chem.Kekulize(molecule, clearAromaticFlags=True)  # alternating bonds, as chemists draw them
    depictor.Compute2DCoords(molecule)
    places = molecule.GetConformer().GetPositions()[:, :2] * [1.0, -1.0]
    orders = [min(3, max(1, int(bonds[pair].GetBondTypeAsDouble()))) for pair in wanted]
    texts = [_atom_text(atom) for atom in molecule.GetAtoms()]
    return Formula(places, texts, np.array(orders, np.uint8))


def _atom_text(atom: Any) -> str:
    """Element with its hydrogens and charge; nothing for a carbon within a chain or ring."""
    symbol, charge = atom.GetSymbol(), atom.GetFormalCharge()
    isotope = atom.GetIsotope()
    if symbol == "C" and charge == 0 and isotope == 0 and atom.GetDegree() > 0:
        return ""
    hydrogens = atom.GetTotalNumHs()
    text = f"{isotope or ''}{symbol}"
    if hydrogens:
        text += "H" + (str(hydrogens) if hydrogens > 1 else "")
    if charge:
        size = str(abs(charge)) if abs(charge) > 1 else ""
        text += size + ("+" if charge > 0 else _MINUS)
    return text
