"""Molecules of RDKit: atoms are nodes, elements labels, bonds edges."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Ints
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import offsets
from retgk.graphs.reading import Reading, reading_of
from retgk.io.converters.graph_kinds import is_rdkit, list_graphs
from retgk.io.converters.local_edges import LocalEdges, batch_from_local_edges, both_directions
from retgk.io.converters.node_values import attribute_names
from retgk.io.converters.remembered_options import remembers
from retgk.runtime.near_names import name_advice
from retgk.runtime.optional_packages import optional_module

if TYPE_CHECKING:
    from rdkit.Chem import Mol

__all__ = ["ATOM_ATTRIBUTES", "LARGEST_FORMULA", "MoleculeReader", "from_rdkit", "rdkit_chem"]

ATOM_ATTRIBUTES = {
    "aromatic": "GetIsAromatic",
    "atomic_number": "GetAtomicNum",
    "charge": "GetFormalCharge",
    "degree": "GetDegree",
    "hybridization": "GetHybridization",
    "hydrogens": "GetTotalNumHs",
    "in_ring": "IsInRing",
    "mass": "GetMass",
    "radical_electrons": "GetNumRadicalElectrons",
    "valence": "GetTotalValence",
}
"""Names of the attributes of atoms, and the methods of ``rdkit.Chem.Atom`` that give them."""

LARGEST_FORMULA = 250
"""Atoms up to which RDKit finds the places of a formula in a second; its time is cubic in rings."""

LARGEST_DENSE = 512  # atoms up to which RDKit's adjacency matrix is quicker than its bonds


@remembers("molecules")
def from_rdkit(
    molecules: "Mol | Iterable[Mol]",
    *,
    attributes: str | Sequence[str] = (),
    add_hydrogens: bool = False,
    bond_orders: bool = False,
    bond_types: bool = False,
) -> GraphBatch:
    """
    Convert molecules of RDKit: atoms are nodes, elements their labels, bonds edges.

    Parameters
    ----------
    molecules : rdkit.Chem.Mol or iterable of them
        The molecules; they are not changed.
    attributes : str or sequence of str, default=()
        What to keep of every atom as continuous attributes: "aromatic" (0 or 1),
        "atomic_number", "charge", "degree", "hybridization" (RDKit's number: 2 for sp,
        3 for sp2, 4 for sp3), "hydrogens", "in_ring" (0 or 1), "mass",
        "radical_electrons", "valence".
    add_hydrogens : bool, default=False
        Whether hydrogens become nodes too. Otherwise only atoms that RDKit lists are.
    bond_orders : bool, default=False
        Whether the order of a bond is its weight (1.5 where aromatic); otherwise all
        weights are one.
    bond_types : bool, default=False
        Whether the type of a bond ("SINGLE", "DOUBLE", "AROMATIC", ...) is the label of its edge,
        which kernels use with ``depth`` above zero.

    Returns
    -------
    GraphBatch
        One graph for each molecule, in order.

    Examples
    --------
    >>> from rdkit import Chem
    >>> from_rdkit(Chem.MolFromSmiles("CCO"), attributes=["charge", "hydrogens"])
    GraphBatch(1 graph, 3 nodes, 2 edges, 2 labels, 2 attributes)
    """
    reader = MoleculeReader.of(attributes, add_hydrogens, bond_orders, bond_types)
    found = list_graphs(molecules, is_rdkit, "RDKit molecules (None is one that could not be read)")
    return reader.batch(enumerate(found))


def _checked_names(attributes: Any) -> tuple[str, ...]:
    names = tuple(attribute_names(attributes))
    for name in names:
        if name not in ATOM_ATTRIBUTES:
            raise InvalidInputError(
                f"{name!r} is not an attribute of atoms; "
                f"{name_advice(str(name), sorted(ATOM_ATTRIBUTES), 'choose from')}"
            )
    return names


@dataclass(frozen=True)
class MoleculeReader:
    """What to read of molecules, and how."""

    attributes: tuple[str, ...] = ()
    add_hydrogens: bool = False
    bond_orders: bool = False
    bond_types: bool = False

    @classmethod
    def of(
        cls, attributes: Any, add_hydrogens: bool, bond_orders: bool, bond_types: bool
    ) -> "MoleculeReader":
        """Make a reader of the options of `from_rdkit`, after checking them."""
        return cls(_checked_names(attributes), add_hydrogens, bond_orders, bond_types)

    def reading(self) -> Reading:
        """Say how the graphs of this reader were read, for what is to be read alike."""
        return reading_of("molecules", {**vars(self), "attributes": list(self.attributes)})

    def batch(self, numbered: Iterable[tuple[int, Any]]) -> GraphBatch:
        """
        Convert molecules, given with the numbers that errors know them by; none make no graphs.

        RDKit logs nothing, as its reasons are in the errors.
        """
        with optional_module("rdkit.rdBase", "rdkit").BlockLogs():
            batch = self._batch(numbered)
        batch.reading = self.reading()
        return batch

    def _batch(self, numbered: Iterable[tuple[int, Any]]) -> GraphBatch:
        """Keep numbers only: one molecule of a generator is alive at a time."""
        edges: list[Any] = []
        sizes, elements, attributes = [], array("b"), []
        has_bonds = self.bond_orders or self.bond_types
        for number, molecule in numbered:
            complete = _add_hydrogens(molecule, number) if self.add_hydrogens else molecule
            n_atoms = complete.GetNumAtoms()
            if n_atoms == 0:
                raise InvalidInputError(f"graph {number} has no atoms; drop it and its target")
            sizes.append(n_atoms)
            edges.append(self._bonds(complete, number) if has_bonds else _entries(complete))
            elements.extend(map(_atom_method("atomic_number"), _atoms(complete)))
            attributes.append([_atom_values(complete, name, number) for name in self.attributes])
        if not sizes:
            return self._no_graphs()
        columns = [np.concatenate(column) for column in zip(*attributes, strict=True)]
        values: dict[str, Any] = {
            "labels": _element_symbols()[np.frombuffer(elements, np.int8)],
            "attributes": np.stack(columns, axis=1) if columns else None,
        }
        if has_bonds:
            return batch_from_local_edges(sizes, list(map(both_directions, edges)), **values)
        return GraphBatch(offsets(sizes), *_rows_of_entries(sizes, edges), **values)

    def _no_graphs(self) -> GraphBatch:
        attributes = np.empty((0, len(self.attributes)))
        types: list[str] | None = [] if self.bond_types else None
        return GraphBatch([0], [0], [], labels=[], attributes=attributes, edge_labels=types)

    def _bonds(self, molecule: Any, position: int) -> LocalEdges:
        """Every bond once, with its order and its type where they are read."""
        bonds = [molecule.GetBondWithIdx(i) for i in range(molecule.GetNumBonds())]
        orders, types = None, None
        if self.bond_orders:
            orders = np.array([_bond_order(bond, position) for bond in bonds], np.float64)
        if self.bond_types:
            types = [bond.GetBondType().name for bond in bonds]
        return LocalEdges(_bond_ends(molecule), orders, types)


def _add_hydrogens(molecule: Any, position: int) -> Any:
    try:
        return rdkit_chem().AddHs(molecule)
    except RuntimeError as error:
        raise _unsanitized_error("hydrogens", position) from error


def _entries(molecule: Any) -> NDArray[np.int64]:
    """Rising places of the bonds, in both directions, in the adjacency matrix, row after row."""
    n_atoms = molecule.GetNumAtoms()
    if n_atoms > LARGEST_DENSE:
        ends = _bond_ends(molecule)
        return np.unique(np.concatenate([ends @ [n_atoms, 1], ends @ [1, n_atoms]]))
    matrix = rdkit_chem().GetAdjacencyMatrix(molecule, False, 0, True, "retgk")
    molecule.ClearProp("retgkAdjacencyMatrix")  # RDKit keeps it with the molecule otherwise
    return np.flatnonzero(matrix)


def _rows_of_entries(sizes: list[int], entries: list[NDArray[np.int64]]) -> tuple[Ints, Ints]:
    """Compressed rows of all molecules, from places in the adjacency matrix of each."""
    counts = np.array([len(own) for own in entries])
    n_atoms = np.repeat(sizes, counts)
    rows, columns = np.divmod(np.concatenate(entries), n_atoms)
    first_nodes = offsets(sizes)
    degrees = np.bincount(rows + np.repeat(first_nodes[:-1], counts), minlength=first_nodes[-1])
    return offsets(degrees), columns


def _bond_ends(molecule: Any) -> NDArray[np.int64]:
    bonds = map(molecule.GetBondWithIdx, range(molecule.GetNumBonds()))
    ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds]
    return np.array(ends, np.int64).reshape(-1, 2)


def _bond_order(bond: Any, position: int) -> float:
    try:
        order = float(bond.GetBondTypeAsDouble())
    except RuntimeError:
        order = 0.0
    if order == 0.0:
        raise InvalidInputError(
            f"graph {position}: the bond between atoms {bond.GetBeginAtomIdx()} and "
            f"{bond.GetEndAtomIdx()} is {bond.GetBondType()}, which has no order",
            Remedy("bond_orders", "use bond_orders=False"),
        )
    return order


def _atom_values(molecule: Any, name: str, position: int) -> NDArray[np.float64]:
    """One value of every atom; RDKit has no call that gives them for all atoms at once."""
    try:
        found = map(_atom_method(name), _atoms(molecule))
        return np.fromiter(found, np.float64, molecule.GetNumAtoms())
    except RuntimeError as error:
        raise _unsanitized_error(name, position) from error


def _atoms(molecule: Any) -> Iterable[Any]:
    """All atoms, in half the time of ``molecule.GetAtoms()``."""
    return map(molecule.GetAtomWithIdx, range(molecule.GetNumAtoms()))


def _unsanitized_error(name: str, position: int) -> InvalidInputError:
    return InvalidInputError(
        f"graph {position}: RDKit cannot tell the {name} of atoms; call "
        "rdkit.Chem.SanitizeMol on the molecule first"
    )


@cache
def rdkit_chem() -> Any:
    """The module ``rdkit.Chem``, or an error that says how to get it."""
    return optional_module("rdkit.Chem", "rdkit")


@cache
def _atom_method(name: str) -> Any:
    return getattr(rdkit_chem().Atom, ATOM_ATTRIBUTES[name])


@cache
def _element_symbols() -> NDArray[Any]:
    table = rdkit_chem().GetPeriodicTable()
    return np.array([table.GetElementSymbol(number) for number in range(119)], dtype=object)
