"""Molecules of RDKit: atoms are nodes, bonds edges, and chemistry their labels."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.names import name_advice, optional_module
from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, flat_arrays, trusted_batch
from retgk.graphs.edges import EdgeLabels
from retgk.graphs.flat import encode_labels, offsets
from retgk.graphs.reading import Reading, reading_of
from retgk.io.objects import attribute_names, is_rdkit, list_graphs, remembers

if TYPE_CHECKING:
    from rdkit.Chem import Mol

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

Chemistry = Literal["full", "elements"]
"""What labels say of atoms and bonds."""

LABEL_COLUMNS = {
    "element": "atomic_number",
    "degree": "degree",
    "charge": "charge",
    "hydrogens": "hydrogens",
    "aromatic": "aromatic",
    "ring": "in_ring",
}
"""Columns of the labels of atoms, and the attributes that they are."""

LARGEST_FORMULA = 250
"""Atoms up to which RDKit finds the places of a formula in a second; its time is cubic in rings."""

LARGEST_DENSE = 512  # atoms up to which RDKit's adjacency matrix is quicker than its bonds

_CHIRALITY = (
    "",
    "R",
    "S",
    "r",
    "s",
)  # as Cahn, Ingold and Prelog; small letters: pseudo-asymmetric
_MOST_ITERATIONS = 1_250_000  # of the labels of one molecule: about a second


@remembers("molecules")
def from_rdkit(
    molecules: "Mol | Iterable[Mol]",
    *,
    chemistry: Chemistry = "full",
    stereo: bool = False,
    largest_fragment: bool = False,
    attributes: str | Sequence[str] = (),
    add_hydrogens: bool = False,
    bond_orders: bool = False,
    bond_types: bool | None = None,
) -> GraphBatch:
    """
    Convert molecules of RDKit: atoms are nodes, bonds edges, and chemistry their labels.

    Parameters
    ----------
    molecules : rdkit.Chem.Mol or iterable of them
        The molecules; they are not changed.
    chemistry : {"full", "elements"}, default="full"
        What labels say. Of "full", those of atoms have the columns "element", "degree", "charge",
        "hydrogens" (their number), "aromatic" and "ring" (whether the atom is in one), and those of
        bonds are their types. "elements" are symbols of elements, and bonds have no labels.
    stereo : bool, default=False
        Whether stereochemistry is part of the labels: a column "chirality" of atoms (R or S, and r
        or s where it comes from that of neighbours), and E or Z of double bonds.
    largest_fragment : bool, default=False
        Whether a molecule of several parts, such as a salt, is its largest part alone: that of most
        heavy atoms, then of the largest mass.
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
    bond_types : bool, optional
        Whether the type of a bond ("SINGLE", "DOUBLE", "AROMATIC", ...) is the label of its edge,
        which kernels use with ``depth`` above zero; by default with full chemistry.

    Returns
    -------
    GraphBatch
        One graph for each molecule, in order.

    Examples
    --------
    >>> from rdkit import Chem
    >>> graphs = from_rdkit(Chem.MolFromSmiles("CC=O"))
    >>> graphs.label_columns
    ('element', 'degree', 'charge', 'hydrogens', 'aromatic', 'ring')
    >>> [graphs.label_names[code] for code in graphs.labels][2]
    ('O', 1, 0, 0, False, False)
    >>> from_rdkit(Chem.MolFromSmiles("CCO"), chemistry="elements", attributes=["charge"])
    GraphBatch(1 graph, 3 nodes, 2 edges, 2 labels, 1 attribute)
    """
    reader = MoleculeReader.of(
        chemistry=chemistry,
        stereo=stereo,
        largest_fragment=largest_fragment,
        attributes=attributes,
        add_hydrogens=add_hydrogens,
        bond_orders=bond_orders,
        bond_types=bond_types,
    )
    found = list_graphs(molecules, is_rdkit, "RDKit molecules (None is one that could not be read)")
    return reader.batch(enumerate(found), _texts_of(found))


def _texts_of(molecules: Sequence[Any]) -> list[str] | None:
    """SMILES of molecules; None where RDKit cannot write one, as of bonds that are of no type."""
    chem = rdkit_chem()
    with optional_module("rdkit.rdBase", "rdkit").BlockLogs():
        try:
            return [chem.MolToSmiles(chem.Mol(own)) for own in molecules]  # writing changes one
        except RuntimeError:
            return None


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
    chemistry: Chemistry = "full"
    stereo: bool = False
    largest_fragment: bool = False
    attributes: tuple[str, ...] = ()
    add_hydrogens: bool = False
    bond_orders: bool = False
    bond_types: bool | None = None

    @classmethod
    def of(cls, **options: Any) -> "MoleculeReader":
        """Check the options of `from_rdkit`; others are left out."""
        given = {each.name: options[each.name] for each in fields(cls) if each.name in options}
        own = cls(**{**given, "attributes": _checked_names(given.get("attributes"))})
        if own.chemistry not in get_args(Chemistry):
            names = " or ".join(map(repr, get_args(Chemistry)))
            raise InvalidInputError(f"chemistry must be {names}, got {own.chemistry!r:.80}")
        return own

    @property
    def has_types(self) -> bool:
        return self.chemistry == "full" if self.bond_types is None else bool(self.bond_types)

    @property
    def label_columns(self) -> tuple[str, ...]:
        names = tuple(LABEL_COLUMNS) if self.chemistry == "full" else ("element",)
        return (*names, "chirality") if self.stereo else names

    def reading(self) -> Reading:
        options = {"attributes": list(self.attributes), "bond_types": self.has_types}
        return reading_of("molecules", {**vars(self), **options})

    def batch(
        self, numbered: Iterable[tuple[int, Any]], smiles: Sequence[str] | None
    ) -> GraphBatch:
        """Convert molecules, given with the numbers that errors know them by."""
        with optional_module("rdkit.rdBase", "rdkit").BlockLogs():
            batch = self._batch(numbered)
            if self.largest_fragment and smiles is not None:
                smiles = [_text_of_fragment(text) if "." in text else text for text in smiles]
        batch.reading = self.reading()
        batch.smiles = None if smiles is None else np.array(smiles, object)
        return batch

    def _batch(self, numbered: Iterable[tuple[int, Any]]) -> GraphBatch:
        """Keep numbers only: one molecule of a generator is alive at a time."""
        sizes, bonds, of_atoms = list[int](), list[_Bonds](), list[list[Floats]]()
        columns = {name: array("h") for name in self.label_columns if name != "degree"}
        for number, molecule in numbered:
            complete = self._prepared(molecule, number)
            atoms = list(map(complete.GetAtomWithIdx, range(complete.GetNumAtoms())))
            if not atoms:
                raise InvalidInputError(f"graph {number} has no atoms; drop it and its target")
            sizes.append(len(atoms))
            bonds.append(self._bonds(complete, number))
            for name, values in columns.items():
                if name == "chirality":
                    values.extend(map(_chirality, atoms))
                else:
                    _extend(values, LABEL_COLUMNS[name], atoms, number)
            of_atoms.append([_atom_values(atoms, name, number) for name in self.attributes])
        joined = [np.concatenate(column) for column in zip(*of_atoms, strict=True)]
        indptr, indices = _rows_of_entries(sizes, [each.entries for each in bonds])
        batch = GraphBatch(
            offsets(np.array(sizes, np.int64)),
            indptr,
            indices,
            _joined([each.weights for each in bonds]) if self.bond_orders and sizes else None,
            attributes=np.stack(joined, axis=1)
            if joined
            else np.empty((sum(sizes), len(self.attributes))),
            edge_labels=_edge_labels(_joined([each.kinds for each in bonds]))
            if self.has_types
            else None,
        )
        found = {name: np.frombuffer(values, np.int16) for name, values in columns.items()}
        codes, names = _labels(
            [found.get(n, np.diff(indptr)) for n in self.label_columns], self.label_columns
        )
        arrays = flat_arrays(batch)
        return trusted_batch(
            arrays._replace(labels=codes, label_names=names, label_columns=self.label_columns)
        )

    def _prepared(self, molecule: Any, number: int) -> Any:
        """Give the molecule as it is to be read, a copy where it has to change."""
        chem = rdkit_chem()
        try:
            if self.largest_fragment:
                molecule = _largest_fragment(molecule)
            if self.add_hydrogens:
                molecule = chem.AddHs(molecule)
        except RuntimeError as error:
            raise _unsanitized_error("hydrogens", number) from error
        if self.stereo:
            molecule = chem.Mol(molecule)
            chem.AssignStereochemistry(molecule, cleanIt=True, force=True)
            labeler = optional_module("rdkit.Chem.rdCIPLabeler", "rdkit")
            try:
                labeler.AssignCIPLabels(molecule, maxRecursiveIterations=_MOST_ITERATIONS)
            except RuntimeError as error:
                raise InvalidInputError(
                    f"graph {number}: RDKit cannot name the stereochemistry of so large a "
                    "molecule; use stereo=False, or drop it together with its target"
                ) from error
        return molecule

    def _bonds(self, molecule: Any, number: int) -> "_Bonds":
        """Entries of a molecule's adjacency matrix, which RDKit gives at once where it can."""
        n_atoms, has_orders = molecule.GetNumAtoms(), self.has_types or self.bond_orders
        if n_atoms <= LARGEST_DENSE and not (self.stereo and self.has_types):
            matrix = _adjacency(molecule, has_orders)
            entries = np.flatnonzero(matrix)
            if len(entries) == 2 * molecule.GetNumBonds():  # others have no order, or one end
                orders = matrix.ravel()[entries] if has_orders else _NONE
                return _Bonds(entries, orders, orders)
        return self._listed_bonds(molecule, number)

    def _listed_bonds(self, molecule: Any, number: int) -> "_Bonds":
        bonds = [molecule.GetBondWithIdx(i) for i in range(molecule.GetNumBonds())]
        found = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds]
        ends, n_atoms = np.array(found, np.int64).reshape(-1, 2), molecule.GetNumAtoms()
        entries = np.concatenate([ends @ [n_atoms, 1], ends @ [1, n_atoms]])
        order = np.argsort(entries)
        weights = kinds = _NONE
        if self.bond_orders:
            weights = np.tile([_bond_order(bond, number) for bond in bonds], 2)[order]
        if self.has_types:
            kinds = np.tile(np.array([_kind(bond) for bond in bonds], np.float64), 2)[order]
        return _Bonds(entries[order], weights, kinds)


class _Bonds(NamedTuple):
    """Bonds of a molecule, in both directions."""

    entries: Ints
    """Rising places in the adjacency matrix, row after row."""
    weights: Floats
    kinds: Floats
    """Orders, or negative numbers that stand for types and stereochemistry."""


_NONE = np.empty(0)


def _largest_fragment(molecule: Any) -> Any:
    chem = rdkit_chem()
    if len(chem.GetMolFrags(molecule)) < 2:
        return molecule

    def size(part: Any) -> tuple[Any, ...]:
        mass = sum(atom.GetMass() for atom in part.GetAtoms())
        return part.GetNumHeavyAtoms(), round(mass, 3), chem.MolToSmiles(part)

    return max(chem.GetMolFrags(molecule, asMols=True, sanitizeFrags=False), key=size)


def _text_of_fragment(smiles: str) -> str:
    chem = rdkit_chem()
    molecule = chem.MolFromSmiles(smiles)
    return smiles if molecule is None else chem.MolToSmiles(_largest_fragment(molecule))


def _adjacency(molecule: Any, has_orders: bool) -> NDArray[Any]:
    """Adjacency matrix, of orders if they are asked for; empty where a bond has none."""
    try:
        matrix: NDArray[Any] = rdkit_chem().GetAdjacencyMatrix(
            molecule, has_orders, 0, True, "retgk"
        )
    except RuntimeError:  # a bond of a type that has no order
        return np.zeros((0, 0))
    # RDKit keeps it with the molecule otherwise
    molecule.ClearProp(f"retgkAdjacencyMatrix{'BO' * has_orders}")
    return matrix


def _rows_of_entries(sizes: list[int], entries: list[Ints]) -> tuple[Ints, Ints]:
    """Compressed rows of all molecules, from places in the adjacency matrix of each."""
    counts = np.array([len(own) for own in entries], np.int64)
    n_atoms = np.repeat(np.array(sizes, np.int64), counts)
    rows, columns = np.divmod(_joined(entries).astype(np.int64), n_atoms)
    first_nodes = offsets(np.array(sizes, np.int64))
    degrees = np.bincount(rows + np.repeat(first_nodes[:-1], counts), minlength=first_nodes[-1])
    return offsets(degrees), columns


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else _NONE


# Labels of atoms: one number for all columns, and a tuple for each number that occurs


def _labels(columns: list[NDArray[Any]], names: Sequence[str]) -> tuple[Codes, tuple[Any, ...]]:
    key = np.zeros(len(columns[0]), np.int64)
    for values in columns:
        low, high = int(values.min(initial=0)), int(values.max(initial=0))
        key = key * (high - low + 1) + (values - low)
    codes, keys = encode_labels(key)
    node_of = np.empty(len(keys), np.int64)
    node_of[codes] = np.arange(len(codes))  # any node of each
    values_of = [_VALUES[name]() if name in _VALUES else None for name in names]
    labels = [
        tuple(
            int(column[atom]) if values is None else values[column[atom]]
            for column, values in zip(columns, values_of, strict=True)
        )
        for atom in node_of.tolist()
    ]
    places, ordered = encode_labels([label[0] for label in labels] if len(names) == 1 else labels)
    return places[codes], ordered


@cache
def _element_symbols() -> list[str]:
    table = rdkit_chem().GetPeriodicTable()
    return [table.GetElementSymbol(number) for number in range(119)]


_VALUES: dict[str, Any] = {
    "element": _element_symbols,
    "aromatic": lambda: (False, True),
    "ring": lambda: (False, True),
    "chirality": lambda: _CHIRALITY,
}


def _chirality(atom: Any) -> int:
    return _CHIRALITY.index(atom.GetProp("_CIPCode")) if atom.HasProp("_CIPCode") else 0


def _extend(values: "array[int]", name: str, atoms: list[Any], number: int) -> None:
    try:
        values.extend(map(_atom_method(name), atoms))
    except RuntimeError as error:
        raise _unsanitized_error(name, number, '; or use chemistry="elements"') from error


def _atom_values(atoms: list[Any], name: str, number: int) -> Floats:
    """One value of every atom; RDKit has no call that gives them for all atoms at once."""
    try:
        return np.fromiter(map(_atom_method(name), atoms), np.float64, len(atoms))
    except RuntimeError as error:
        raise _unsanitized_error(name, number) from error


def _unsanitized_error(name: str, number: int, or_else: str = "") -> InvalidInputError:
    return InvalidInputError(
        f"graph {number}: RDKit cannot tell the {name} of atoms; call "
        f"rdkit.Chem.SanitizeMol on the molecule first{or_else}"
    )


# Labels of bonds

_STEREO = ("", "E", "Z")
_TYPES_OF_ORDERS = np.array(
    [0, 0, 1, 12, 2, 8, 3, 9, 4, 10, 5, 11, 6]
)  # of halves, as RDKit counts


def _kind(bond: Any) -> float:
    """Number of a bond's type and stereochemistry, below zero."""
    stereo = bond.GetProp("_CIPCode") if bond.HasProp("_CIPCode") else ""
    place = _STEREO.index(stereo) if stereo in _STEREO else 0
    return -float(len(_STEREO) * int(bond.GetBondType()) + place + 1)


def _edge_labels(kinds: Floats) -> EdgeLabels:
    found, codes = np.unique(kinds, return_inverse=True)
    names_of_types = {int(kind): name for name, kind in rdkit_chem().BondType.names.items()}
    names = []
    for kind in found.tolist():
        of_type, stereo = divmod(int(-kind) - 1, len(_STEREO))
        own = of_type if kind < 0 else int(_TYPES_OF_ORDERS[int(2 * kind)])
        names.append(f"{names_of_types[own]} {_STEREO[stereo] if kind < 0 else ''}".strip())
    places, ordered = encode_labels(names)
    return EdgeLabels(places[codes.reshape(-1)], ordered)


def _bond_order(bond: Any, number: int) -> float:
    try:
        order = float(bond.GetBondTypeAsDouble())
    except RuntimeError:
        order = 0.0
    if order == 0.0:
        raise InvalidInputError(
            f"graph {number}: the bond between atoms {bond.GetBeginAtomIdx()} and "
            f"{bond.GetEndAtomIdx()} is {bond.GetBondType()}, which has no order; use "
            "bond_orders=False"
        )
    return order


@cache
def rdkit_chem() -> Any:
    return optional_module("rdkit.Chem", "rdkit")


@cache
def _atom_method(name: str) -> Any:
    return getattr(rdkit_chem().Atom, ATOM_ATTRIBUTES[name])
