"""Molecules of RDKit and SMILES strings: atoms are nodes, elements labels, bonds edges."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.io.converters.graph_kinds import is_rdkit, list_graphs
from retgk.io.converters.local_edges import LocalEdges, batch_from_local_edges, both_directions
from retgk.io.converters.node_values import attribute_names
from retgk.io.converters.remembered_options import remembers
from retgk.runtime.near_names import name_advice
from retgk.runtime.optional_packages import optional_module
from retgk.runtime.progress import progress_bar

if TYPE_CHECKING:
    from rdkit.Chem import Mol

__all__ = ["ATOM_ATTRIBUTES", "from_rdkit", "from_smiles", "molecule_scaffolds"]

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

CHUNK = 10_000  # molecules held at a time: a million of RDKit's would take gigabytes
CHUNK_LETTERS = 50 * CHUNK  # a kilobyte each
MOST_SHOWN = 50  # positions of unreadable strings in a message
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
    reader = _Reader(_checked_names(attributes), add_hydrogens, bond_orders, bond_types)
    found = list_graphs(molecules, is_rdkit, "RDKit molecules (None is one that could not be read)")
    return reader.batch(found, 0)


@remembers("molecules")
def from_smiles(
    smiles: str | Iterable[str],
    *,
    attributes: str | Sequence[str] = (),
    add_hydrogens: bool = False,
    bond_orders: bool = False,
    bond_types: bool = False,
    n_jobs: int | None = None,
) -> GraphBatch:
    """
    Convert SMILES strings: atoms are nodes, elements their labels, bonds edges.

    Parameters
    ----------
    smiles : str or iterable of str
        The molecules. Those that RDKit cannot read are an error, which lists them.
    attributes : str or sequence of str, default=()
        What to keep of every atom as continuous attributes, as in `from_rdkit`.
    add_hydrogens : bool, default=False
        Whether hydrogens become nodes too.
    bond_orders : bool, default=False
        Whether the order of a bond is its weight (1.5 where aromatic); otherwise all
        weights are one.
    bond_types : bool, default=False
        Whether the type of a bond ("SINGLE", "DOUBLE", "AROMATIC", ...) is the label of its edge,
        which kernels use with ``depth`` above zero.
    n_jobs : int, optional
        Processes; None for one, -1 for all cores. It changes no result, and is worth it
        from some 10,000 molecules on: unlike threads, processes take seconds to start.

    Returns
    -------
    GraphBatch
        One graph for each string, in order.

    Examples
    --------
    >>> from_smiles(["CCO", "c1ccccc1"], bond_orders=True)
    GraphBatch(2 graphs, 9 nodes, 8 weighted edges, 2 labels)
    """
    _chem()
    reader = _Reader(_checked_names(attributes), add_hydrogens, bond_orders, bond_types)
    found = list_graphs(smiles, lambda one: isinstance(one, str), "SMILES strings")
    chunks = list(_chunks(found))
    batches = []
    with progress_bar("reading SMILES", len(found)) as advance:
        for batch in _convert_chunks(reader, chunks, n_jobs):
            batches.append(batch)
            advance(len(batch))
    return GraphBatch.concatenate(batches)


def molecule_scaffolds(smiles: Iterable[str]) -> list[str]:
    """Bemis-Murcko scaffold of every molecule, as SMILES without chirality; empty without rings."""
    _chem()
    scaffold = optional_module("rdkit.Chem.Scaffolds.MurckoScaffold", "rdkit")
    found = list_graphs(smiles, lambda one: isinstance(one, str), "SMILES strings")
    with optional_module("rdkit.rdBase", "rdkit").BlockLogs():
        return [
            scaffold.MurckoScaffoldSmiles(mol=molecule, includeChirality=False)
            for molecule in _parse_smiles(found, 0)
        ]


def _chunks(smiles: list[str]) -> Iterator[tuple[list[str], int]]:
    """Cut a list into pieces, with the positions they start at; long strings make short pieces."""
    first = n_letters = 0
    for position, text in enumerate(smiles):
        n_letters += len(text)
        if position - first == CHUNK or (n_letters > CHUNK_LETTERS and position > first):
            yield smiles[first:position], first
            first, n_letters = position, len(text)
    yield smiles[first:], first


def _convert_chunks(
    reader: "_Reader", chunks: list[tuple[list[str], int]], n_jobs: int | None
) -> Iterator[GraphBatch]:
    if n_jobs == 0:
        raise InvalidInputError("n_jobs=0 asks for no process at all; use None for one")
    if n_jobs in (None, 1) or len(chunks) == 1:
        return (reader.smiles_batch(*chunk) for chunk in chunks)
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    results: Iterator[GraphBatch] = parallel(delayed(reader.smiles_batch)(*c) for c in chunks)
    return results


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
class _Reader:
    """What to read of molecules, and how."""

    attributes: tuple[str, ...]
    add_hydrogens: bool
    bond_orders: bool
    bond_types: bool = False

    def smiles_batch(self, smiles: Sequence[str], first: int) -> GraphBatch:
        """Convert some strings, of which the first has the position `first` in the list."""
        return self.batch(_parse_smiles(smiles, first), first)

    def batch(self, molecules: Iterable[Any], first: int) -> GraphBatch:
        """Convert some molecules; RDKit logs nothing, as its reasons are in the errors."""
        with optional_module("rdkit.rdBase", "rdkit").BlockLogs():
            return self._batch(molecules, first)

    def _batch(self, molecules: Iterable[Any], first: int) -> GraphBatch:
        """Keep arrays only: one molecule of a generator is alive at a time."""
        edges, elements, attributes = [], [], []
        for position, molecule in enumerate(molecules, first):
            complete = _add_hydrogens(molecule, position) if self.add_hydrogens else molecule
            edges.append(self._edges(complete, position))
            elements.append(_atom_values(complete, "atomic_number", position))
            attributes.append([_atom_values(complete, name, position) for name in self.attributes])
        columns = [np.concatenate(column) for column in zip(*attributes, strict=True)]
        return batch_from_local_edges(
            [len(numbers) for numbers in elements],
            edges,
            labels=_element_symbols()[np.concatenate(elements).astype(np.int64)],
            attributes=np.stack(columns, axis=1) if columns else None,
        )

    def _edges(self, molecule: Any, position: int) -> LocalEdges:
        n_atoms = molecule.GetNumAtoms()
        if n_atoms == 0:
            raise InvalidInputError(f"graph {position} has no atoms; drop it and its target")
        if self.bond_orders or self.bond_types or n_atoms > LARGEST_DENSE:
            return both_directions(self._bonds(molecule, position))
        return LocalEdges(_adjacent_pairs(molecule))

    def _bonds(self, molecule: Any, position: int) -> LocalEdges:
        """Every bond once, with its order and its type where they are read."""
        bonds = [molecule.GetBondWithIdx(i) for i in range(molecule.GetNumBonds())]
        ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds]
        orders, types = None, None
        if self.bond_orders:
            orders = np.array([_bond_order(bond, position) for bond in bonds], np.float64)
        if self.bond_types:
            types = [bond.GetBondType().name for bond in bonds]
        return LocalEdges(np.array(ends, np.int64).reshape(-1, 2), orders, types)


def _parse_smiles(smiles: Sequence[str], first: int) -> Iterator[Any]:
    parse = _chem().MolFromSmiles
    for position, text in enumerate(smiles):
        molecule = parse(text)
        if molecule is None:
            others = [i for i in range(position + 1, len(smiles)) if parse(smiles[i]) is None]
            raise _unreadable_error(smiles, first, [position, *others])
        yield molecule


def _unreadable_error(smiles: Sequence[str], first: int, positions: list[int]) -> InvalidInputError:
    """Make the error that names all strings of a chunk that RDKit cannot read."""
    text = smiles[positions[0]]
    problem = f"{text!r}{_reason_in_brackets(_chem(), text)}"
    if len(positions) == 1:
        return InvalidInputError(
            f"graph {first + positions[0]}: RDKit cannot read the SMILES {problem}; correct it, or "
            "drop it together with its target"
        )
    shown = ", ".join(str(first + position) for position in positions[:MOST_SHOWN])
    more = f" and {len(positions) - MOST_SHOWN} more" if len(positions) > MOST_SHOWN else ""
    return InvalidInputError(
        f"RDKit cannot read the SMILES of {len(positions)} of the graphs {first} to "
        f"{first + len(smiles) - 1}: graphs {shown}{more}; the first is {problem}; correct them, "
        "or drop them together with their targets"
    )


def _reason_in_brackets(chem: Any, smiles: str) -> str:
    molecule = chem.MolFromSmiles(smiles, sanitize=False)
    if molecule is None:
        return " (it is not well formed)"
    try:
        problems = chem.DetectChemistryProblems(molecule)
    except RuntimeError:  # RDKit 2023 asks for rings, which it has not looked for here
        return ""
    return f" ({problems[0].Message()})" if problems else ""


def _add_hydrogens(molecule: Any, position: int) -> Any:
    try:
        return _chem().AddHs(molecule)
    except RuntimeError as error:
        raise _unsanitized_error("hydrogens", position) from error


def _adjacent_pairs(molecule: Any) -> NDArray[np.int64]:
    """Both directions of all bonds in one call of RDKit."""
    matrix = _chem().GetAdjacencyMatrix(molecule, False, 0, True, "retgk")
    molecule.ClearProp("retgkAdjacencyMatrix")  # RDKit keeps it with the molecule otherwise
    ends = matrix.nonzero()
    pairs = np.empty((len(ends[0]), 2), np.int64)
    pairs[:, 0], pairs[:, 1] = ends
    return pairs


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
    n_atoms = molecule.GetNumAtoms()
    atoms = map(molecule.GetAtomWithIdx, range(n_atoms))
    try:
        return np.fromiter(map(_atom_method(name), atoms), np.float64, n_atoms)
    except RuntimeError as error:
        raise _unsanitized_error(name, position) from error


def _unsanitized_error(name: str, position: int) -> InvalidInputError:
    return InvalidInputError(
        f"graph {position}: RDKit cannot tell the {name} of atoms; call "
        "rdkit.Chem.SanitizeMol on the molecule first"
    )


@cache
def _chem() -> Any:
    return optional_module("rdkit.Chem", "rdkit")


@cache
def _atom_method(name: str) -> Any:
    return getattr(_chem().Atom, ATOM_ATTRIBUTES[name])


@cache
def _element_symbols() -> NDArray[Any]:
    table = _chem().GetPeriodicTable()
    return np.array([table.GetElementSymbol(number) for number in range(119)], dtype=object)
