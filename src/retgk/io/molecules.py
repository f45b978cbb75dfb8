"""Molecules of RDKit: atoms are nodes, elements labels, bonds edges."""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.names import name_advice, optional_module
from retgk._runtime.parallel import progress_bar
from retgk._runtime.processes import ordered_results
from retgk.array_types import Ints
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import offsets
from retgk.graphs.reading import Reading, reading_of
from retgk.io.columns import LocalEdges, attribute_names, batch_from_local_edges, both_directions
from retgk.io.kinds import is_rdkit, list_graphs, remembers

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


# -------------------------------------------------------------------------------------------------
# SMILES strings: RDKit reads them in pieces, in this process or in several.
# -------------------------------------------------------------------------------------------------

CHUNK = 10_000  # molecules held at a time: a million of RDKit's would take gigabytes
CHUNK_LETTERS = 50 * CHUNK  # a kilobyte each
LARGEST_SCAFFOLD = 500  # atoms with rings: half a second; RDKit's time grows with their cube
MOST_SHOWN = 50  # positions of unreadable strings in a message

_BLANK = re.compile(r"\s")


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
        Processes; None for one, -1 for all cores. It changes no result. Up to 20,000 molecules are
        read in this process in any case: unlike threads, processes take seconds to start. Inside
        workers of joblib, too, there are no more.

    Returns
    -------
    GraphBatch
        One graph for each string, in order.

    See Also
    --------
    iter_smiles : The same piece by piece, for more molecules than fit into memory.

    Examples
    --------
    >>> from_smiles(["CCO", "c1ccccc1"], bond_orders=True)
    GraphBatch(2 graphs, 9 nodes, 8 weighted edges, 2 labels)
    """
    rdkit_chem()
    reader = MoleculeReader.of(attributes, add_hydrogens, bond_orders, bond_types)
    found = list_graphs(smiles, lambda one: isinstance(one, str), "SMILES strings")
    return parsed_smiles(reader, found, n_jobs).graphs


def iter_smiles(
    smiles: Iterable[str],
    *,
    attributes: str | Sequence[str] = (),
    add_hydrogens: bool = False,
    bond_orders: bool = False,
    bond_types: bool = False,
    n_jobs: int | None = None,
) -> Iterator[GraphBatch]:
    """
    Convert a stream of SMILES strings, up to 10,000 at a time.

    What estimators take as a stream, so that memory does not grow: with ``n_jobs`` the next pieces
    are read in other processes while this one works on those before.

    Parameters
    ----------
    smiles : iterable of str
        The molecules, such as lines of a file; read as they are needed.
    attributes, add_hydrogens, bond_orders, bond_types
        As in `from_smiles`.
    n_jobs : int, optional
        Processes; None for one, -1 for all cores. It changes no result.

    Yields
    ------
    GraphBatch
        The next molecules, in order.

    Examples
    --------
    >>> from retgk import RetGKEmbedding
    >>> embedding = RetGKEmbedding(n_components=5, random_state=0).fit(["CCO", "CN"])
    >>> [vectors.shape for vectors in embedding.transform(iter_smiles(["CC", "CCN"]))]
    [(2, 5)]
    """
    rdkit_chem()
    if isinstance(smiles, str):
        raise InvalidInputError(
            "iter_smiles takes many SMILES strings, such as a list or an open file; for one, use "
            "from_smiles"
        )
    reader = MoleculeReader.of(attributes, add_hydrogens, bond_orders, bond_types)
    return (piece.graphs for piece in parsed_pieces(reader, _checked_texts(smiles), n_jobs))


def molecule_scaffolds(smiles: Iterable[str]) -> list[str]:
    """
    Bemis-Murcko scaffold of every molecule, as SMILES without chirality; empty without rings.

    A molecule of more than 500 atoms with rings among them is an error.
    """
    parse = rdkit_chem().MolFromSmiles
    scaffold = optional_module("rdkit.Chem.Scaffolds.MurckoScaffold", "rdkit")
    found = list_graphs(smiles, lambda one: isinstance(one, str), "SMILES strings")
    texts = []
    with (
        optional_module("rdkit.rdBase", "rdkit").BlockLogs(),
        progress_bar("scaffolds", len(found)) as advance,
    ):
        for number, molecule in enumerate(_readable(map(parse, found), found, 0)):
            has_rings = molecule.GetRingInfo().NumRings() > 0
            if has_rings and molecule.GetNumAtoms() > LARGEST_SCAFFOLD:
                raise InvalidInputError(
                    f"graph {number}: a molecule of {molecule.GetNumAtoms()} atoms; scaffolds are "
                    f"found for up to {LARGEST_SCAFFOLD} atoms: drop it together with its target",
                    Remedy(
                        "groups", "or split by groups of your own", "or name groups of your own"
                    ),
                )
            murcko = scaffold.MurckoScaffoldSmiles
            texts.append(murcko(mol=molecule, includeChirality=False) if has_rings else "")
            advance(1)
    return texts


class ParsedPiece(NamedTuple):
    """Graphs of some strings, and the positions of those that RDKit cannot read."""

    graphs: GraphBatch
    unreadable: list[int]


def parsed_smiles(
    reader: MoleculeReader, smiles: Sequence[str], n_jobs: int | None, *, skip_invalid: bool = False
) -> ParsedPiece:
    """Convert a list of strings in several processes, as `parsed_pieces` does, into one batch."""
    pieces = []
    with progress_bar("reading SMILES", len(smiles)) as advance:
        for piece in parsed_pieces(reader, smiles, n_jobs, skip_invalid=skip_invalid):
            pieces.append(piece)
            advance(len(piece.graphs) + len(piece.unreadable))
    unreadable = [number for piece in pieces for number in piece.unreadable]
    return ParsedPiece(GraphBatch.concatenate(piece.graphs for piece in pieces), unreadable)


def parsed_pieces(
    reader: MoleculeReader,
    smiles: Iterable[str],
    n_jobs: int | None,
    *,
    skip_invalid: bool = False,
    first: int = 0,
) -> Iterator[ParsedPiece]:
    """
    Convert strings piece by piece, in order, in several processes.

    Strings that cannot be read are an error, or left out with `skip_invalid`. A piece of which
    nothing is left holds no graphs. Strings are counted from `first` on.
    """
    chunks = ((reader, texts, start, skip_invalid) for texts, start in _chunks(smiles, first))
    return ordered_results(_parsed_piece, chunks, n_jobs)


def _parsed_piece(
    reader: MoleculeReader, smiles: list[str], first: int, skip_invalid: bool
) -> ParsedPiece:
    """What one process does with one piece; it sends back arrays, no molecules."""
    unreadable: list[int] = []

    def kept() -> Iterator[tuple[int, Any]]:
        for number, molecule in enumerate(map(_molecule, smiles), first):
            if molecule is None:
                unreadable.append(number)
            else:
                yield number, molecule

    if skip_invalid:
        return ParsedPiece(reader.batch(kept()), unreadable)
    found = _readable(map(_molecule, smiles), smiles, first)
    return ParsedPiece(reader.batch(enumerate(found, first)), [])


def _checked_texts(smiles: Iterable[Any]) -> Iterator[str]:
    for position, text in enumerate(smiles):
        if not isinstance(text, str):
            raise InvalidInputError(
                f"graph {position} is of type {type(text).__name__}, not a SMILES string"
            )
        yield text


def _chunks(smiles: Iterable[str], first: int = 0) -> Iterator[tuple[list[str], int]]:
    """Cut a stream into pieces, with the positions they start at; long strings make short ones."""
    piece: list[str] = []
    n_letters = 0
    for text in smiles:
        n_letters += len(text)
        if len(piece) == CHUNK or (n_letters > CHUNK_LETTERS and piece):
            yield piece, first
            first, n_letters, piece = first + len(piece), len(text), []
        piece.append(text)
    if piece:
        yield piece, first


def _molecule(text: str) -> Any:
    """
    Molecule as ``MolFromSmiles`` reads it, or None, but without stereochemistry.

    RDKit checks and cleans a molecule by the same function in both ways. What it does beyond that
    is to take hydrogens away and to name stereocentres, and no graph depends on the latter: it is
    left out, which saves time. Where there may be hydrogens, or text behind the
    SMILES that says more of the atoms, it does all.
    """
    chem = rdkit_chem()
    if _BLANK.search(text) is None:
        molecule = chem.MolFromSmiles(text, sanitize=False)
        if molecule is None:
            return None
        failed = chem.SanitizeMol(molecule, catchErrors=True)
        if not failed and molecule.GetNumHeavyAtoms() == molecule.GetNumAtoms():
            return molecule
    return chem.MolFromSmiles(text)


def _readable(molecules: Iterator[Any], smiles: Sequence[str], first: int) -> Iterator[Any]:
    """Give the same molecules; the first that could not be read is an error, which names all."""
    for position, molecule in enumerate(molecules):
        if molecule is None:
            others = [place for place, later in enumerate(molecules, position + 1) if later is None]
            raise _unreadable_error(smiles, first, [position, *others])
        yield molecule


def _unreadable_error(smiles: Sequence[str], first: int, positions: list[int]) -> InvalidInputError:
    """Make the error that names all strings of a chunk that RDKit cannot read."""
    text = smiles[positions[0]]
    problem = f"{text!r}{_reason_in_brackets(rdkit_chem(), text)}"
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
