"""Molecules: those of RDKit, SMILES strings, and files of them; atoms are nodes, bonds edges."""

import re
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.files import check_size, text_lines
from retgk._runtime.names import name_advice, optional_module
from retgk._runtime.parallel import progress_bar
from retgk._runtime.processes import ordered_results
from retgk.array_types import Ints
from retgk.errors import InvalidInputError, LeftOutWarning, warn_user
from retgk.graphs.batch import GraphBatch, with_reading
from retgk.graphs.flat import is_missing, offsets
from retgk.graphs.reading import Reading, reading_of
from retgk.io.dataset import GraphDataset
from retgk.io.formats import TABLES, Format, Sample, ending_of
from retgk.io.objects import (
    LocalEdges,
    attribute_names,
    batch_from_local_edges,
    both_directions,
    is_rdkit,
    iterable_graphs,
    list_graphs,
    remembers,
)
from retgk.io.tables import (
    MEMORY_FACTOR,
    cell_text,
    check_values,
    column_position,
    delimiter_in,
    filled_cell,
    missing_numbers,
    table_rows,
    typed_targets,
)

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
    attributes: tuple[str, ...] = ()
    add_hydrogens: bool = False
    bond_orders: bool = False
    bond_types: bool = False

    @classmethod
    def of(
        cls, attributes: Any, add_hydrogens: bool, bond_orders: bool, bond_types: bool
    ) -> "MoleculeReader":
        return cls(_checked_names(attributes), add_hydrogens, bond_orders, bond_types)

    def reading(self) -> Reading:
        return reading_of("molecules", {**vars(self), "attributes": list(self.attributes)})

    def batch(
        self, numbered: Iterable[tuple[int, Any]], smiles: Sequence[str] | None
    ) -> GraphBatch:
        """Convert molecules, given with the numbers that errors know them by."""
        with optional_module("rdkit.rdBase", "rdkit").BlockLogs():
            batch = self._batch(numbered)
        batch.reading = self.reading()
        batch.smiles = None if smiles is None else np.array(smiles, object)
        return batch

    def _batch(self, numbered: Iterable[tuple[int, Any]]) -> GraphBatch:
        """Keep numbers only: one molecule of a generator is alive at a time."""
        edges: list[Any] = []
        sizes, elements, of_atoms = [], array("b"), []
        has_bonds = self.bond_orders or self.bond_types
        for number, molecule in numbered:
            complete = molecule
            if self.add_hydrogens:
                try:
                    complete = rdkit_chem().AddHs(molecule)
                except RuntimeError as error:
                    raise _unsanitized_error("hydrogens", number) from error
            n_atoms = complete.GetNumAtoms()
            if n_atoms == 0:
                raise InvalidInputError(f"graph {number} has no atoms; drop it and its target")
            sizes.append(n_atoms)
            edges.append(self._bonds(complete, number) if has_bonds else _entries(complete))
            elements.extend(map(_atom_method("atomic_number"), _atoms(complete)))
            of_atoms.append([_atom_values(complete, name, number) for name in self.attributes])
        if not sizes:
            attributes = np.empty((0, len(self.attributes)))
            types: list[str] | None = [] if self.bond_types else None
            return GraphBatch([0], [0], [], labels=[], attributes=attributes, edge_labels=types)
        columns = [np.concatenate(column) for column in zip(*of_atoms, strict=True)]
        values: dict[str, Any] = {
            "labels": _element_symbols()[np.frombuffer(elements, np.int8)],
            "attributes": np.stack(columns, axis=1) if columns else None,
        }
        if has_bonds:
            return batch_from_local_edges(sizes, list(map(both_directions, edges)), **values)
        return GraphBatch(offsets(sizes), *_rows_of_entries(sizes, edges), **values)

    def _bonds(self, molecule: Any, position: int) -> LocalEdges:
        bonds = [molecule.GetBondWithIdx(i) for i in range(molecule.GetNumBonds())]
        orders, types = None, None
        if self.bond_orders:
            orders = np.array([_bond_order(bond, position) for bond in bonds], np.float64)
        if self.bond_types:
            types = [bond.GetBondType().name for bond in bonds]
        return LocalEdges(_bond_ends(molecule), orders, types)


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
            f"{bond.GetEndAtomIdx()} is {bond.GetBondType()}, which has no order; use "
            "bond_orders=False"
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
    return map(molecule.GetAtomWithIdx, range(molecule.GetNumAtoms()))


def _unsanitized_error(name: str, position: int) -> InvalidInputError:
    return InvalidInputError(
        f"graph {position}: RDKit cannot tell the {name} of atoms; call "
        "rdkit.Chem.SanitizeMol on the molecule first"
    )


@cache
def rdkit_chem() -> Any:
    return optional_module("rdkit.Chem", "rdkit")


@cache
def _atom_method(name: str) -> Any:
    return getattr(rdkit_chem().Atom, ATOM_ATTRIBUTES[name])


@cache
def _element_symbols() -> NDArray[Any]:
    table = rdkit_chem().GetPeriodicTable()
    return np.array([table.GetElementSymbol(number) for number in range(119)], dtype=object)


# SMILES strings: RDKit reads them in pieces, in this process or in several

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
    skip_invalid: bool = False,
    n_jobs: int | None = None,
) -> GraphBatch:
    """
    Convert SMILES strings: atoms are nodes, elements their labels, bonds edges.

    Parameters
    ----------
    smiles : str or iterable of str
        The molecules. Those that RDKit cannot read are an error, which lists them.
    attributes, add_hydrogens, bond_orders, bond_types
        As in `from_rdkit`.
    skip_invalid : bool, default=False
        Whether to leave out strings that RDKit cannot read, and those that are missing or empty,
        with a warning that lists them. `are_readable` tells of each, so that targets stay aligned.
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
    are_readable : Which strings RDKit can read.

    Examples
    --------
    >>> from_smiles(["CCO", "c1ccccc1"], bond_orders=True)
    GraphBatch(2 graphs, 9 nodes, 8 weighted edges, 2 labels)
    """
    rdkit_chem()
    reader = MoleculeReader.of(attributes, add_hydrogens, bond_orders, bond_types)
    if not skip_invalid:
        found = list_graphs(smiles, lambda one: isinstance(one, str), "SMILES strings")
        return parsed_smiles(reader, found, n_jobs).graphs
    texts = _texts_or_empty(smiles)
    parsed = parsed_smiles(reader, texts, n_jobs, skip_invalid=True)
    empty = [number for number in parsed.unreadable if not texts[number].strip()]
    if not len(parsed.graphs):
        raise InvalidInputError("RDKit can read none of the SMILES strings")
    warn_of_left_out(_left_out(parsed.unreadable, empty, "graph"))
    return parsed.graphs


def are_readable(smiles: Iterable[str]) -> NDArray[np.bool_]:
    """
    Tell which SMILES strings RDKit can read: those that ``skip_invalid`` keeps.

    Parameters
    ----------
    smiles : iterable of str
        The molecules; None, NaN and empty strings are such as cannot be read.

    Returns
    -------
    ndarray of bool, shape (n_strings,)
        Whether each can be read.

    Examples
    --------
    >>> import numpy as np
    >>> smiles, targets = ["CCO", "C1CC", "", "CC"], np.array([1, 0, 0, 1])
    >>> are_readable(smiles)
    array([ True, False, False,  True])
    >>> targets[are_readable(smiles)]
    array([1, 1])
    """
    texts = _texts_or_empty(smiles)
    with optional_module("rdkit.rdBase", "rdkit").BlockLogs():
        return np.fromiter((_has_atoms(_molecule(text)) for text in texts), bool, len(texts))


def _texts_or_empty(smiles: Any) -> list[str]:
    found = [smiles] if isinstance(smiles, str) else list(iterable_graphs(smiles))
    absent = [is_missing(text) for text in found]
    return list(
        _checked_texts("" if gone else text for text, gone in zip(found, absent, strict=True))
    )


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
    >>> from retgk.kernels import RetGKEmbedding
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


def molecule_scaffolds(smiles: Iterable[str], *, chirality: bool = False) -> list[str]:
    """Bemis-Murcko scaffolds as SMILES; empty without rings."""
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
                    f"found for up to {LARGEST_SCAFFOLD} atoms: drop it together with its target; "
                    "or split by groups of your own"
                )
            murcko = scaffold.MurckoScaffoldSmiles
            texts.append(murcko(mol=molecule, includeChirality=chirality) if has_rings else "")
            advance(1)
    return texts


class ParsedPiece(NamedTuple):
    graphs: GraphBatch
    unreadable: list[int]


def parsed_smiles(
    reader: MoleculeReader, smiles: Sequence[str], n_jobs: int | None, *, skip_invalid: bool = False
) -> ParsedPiece:
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
    """Convert strings piece by piece, in order, in several processes; counted from `first` on."""
    chunks = ((reader, texts, start, skip_invalid) for texts, start in _chunks(smiles, first))
    return ordered_results(_parsed_piece, chunks, n_jobs)


def _parsed_piece(
    reader: MoleculeReader, smiles: list[str], first: int, skip_invalid: bool
) -> ParsedPiece:
    """What one process does with one piece; it sends back arrays, no molecules."""
    unreadable: list[int] = []
    read: list[str] = []

    def kept() -> Iterator[tuple[int, Any]]:
        for number, molecule in enumerate(map(_molecule, smiles), first):
            if not _has_atoms(molecule):
                unreadable.append(number)
            else:
                read.append(smiles[number - first])
                yield number, molecule

    if skip_invalid:
        return ParsedPiece(reader.batch(kept(), read), unreadable)
    found = _readable(map(_molecule, smiles), smiles, first)
    return ParsedPiece(reader.batch(enumerate(found, first), smiles), [])


def _has_atoms(molecule: Any) -> bool:
    return molecule is not None and molecule.GetNumAtoms() > 0


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
    """Molecule as ``MolFromSmiles`` reads it, but in less time, without stereochemistry."""
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
    if smiles.startswith(("InChI=", "1S/")):
        return " (it is an InChI; MolFromInchi and MolToSmiles of rdkit.Chem make SMILES of it)"
    if smiles.count(">") == 2:
        return " (it is a reaction; give one of its molecules, or all of one side joined by dots)"
    molecule = chem.MolFromSmiles(smiles, sanitize=False)
    if molecule is None:
        return " (it is not well formed)"
    try:
        problems = chem.DetectChemistryProblems(molecule)
    except RuntimeError:  # RDKit 2023 asks for rings, which it has not looked for here
        return ""
    return f" ({problems[0].Message()})" if problems else ""


# Files: lists of SMILES strings, and tables with a column of them

_MOST_LETTERS = 25_000  # RDKit takes some ten kilobytes for each at once
_STREAM_FACTOR = 1
_ATOM = re.compile(r"""\[[^][\s"',{}]+\]|Br|Cl|[BCNOPSFIbcnops*]""")
_SMILES = re.compile(rf"(?:{_ATOM.pattern}|[-=#$:/\\~.()]|%?\d)+")


class _Molecule(NamedTuple):
    line: int
    smiles: str  # empty where a cell that it needs is
    name: str
    target: str | None = None


@dataclass(frozen=True)
class SmilesReading:
    """What to read of a file of molecules; the fields are arguments of `read_graphs`."""

    smiles_column: str | None = None
    name_column: str | None = None
    target_column: str | None = None
    skip_invalid: bool = False
    bond_orders: bool = False
    atom_attributes: str | Sequence[str] = ()
    add_hydrogens: bool = False
    bond_types: bool = False

    def reader(self) -> MoleculeReader:
        rdkit_chem()
        bonds = (self.bond_orders, self.bond_types)
        return MoleculeReader.of(self.atom_attributes, self.add_hydrogens, *bonds)


def _read(
    files: list[Path],
    *,
    n_jobs: int | None = None,
    **options: Any,
) -> GraphDataset:
    reading = SmilesReading(**options)
    if len(files) > 1:
        raise InvalidInputError("SMILES are read from one file")
    (path,) = files
    molecules = list(_molecules(path, reading))
    if not molecules:
        raise InvalidInputError(f"{path} holds no molecules")
    if reading.skip_invalid:
        for row in missing_numbers([molecule.target or "" for molecule in molecules]):
            molecules[row] = molecules[row]._replace(smiles="")
    texts = [molecule.smiles for molecule in molecules]
    with _naming(path):
        found = parsed_smiles(reading.reader(), texts, n_jobs, skip_invalid=reading.skip_invalid)
    rows = None
    if reading.skip_invalid:
        left_out = [molecules[row] for row in found.unreadable]
        _warn_of_lines(path, left_out)
        rows = np.delete(np.arange(len(molecules)), found.unreadable)
        molecules = [molecules[row] for row in rows]
    if not molecules:
        raise InvalidInputError(f"{path} holds no molecules")
    targets = [molecule.target for molecule in molecules if molecule.target is not None]
    check_values(targets, lambda row: f"{path}, line {molecules[row].line}")
    return GraphDataset(
        _with_column(found.graphs, reading),
        typed_targets(targets) if targets else None,
        "",
        _said_of_names(path, reading),
        graph_names=[molecule.name for molecule in molecules],
        rows=rows,
    )


def _said_of_names(path: Path, reading: SmilesReading) -> str:
    """Which column the names of molecules are from."""
    if not _is_table(path, reading):
        return ""
    columns = [name.strip() for name in next(table_rows(path))[1]]
    at = _name_column(columns, reading, path)
    return "" if at is None else f"Graphs are named by the column {columns[at]!r}."


class StreamPiece(NamedTuple):
    stop: int
    """Number of the molecule after the last of them."""
    numbers: list[int]
    """Their places in the file, from 0 on."""
    names: list[str]
    graphs: GraphBatch


class MoleculeStream:
    """Molecules of a file, some at a time; its lines are checked when the stream is made."""

    def __init__(
        self, path: Path, reading: SmilesReading, max_bytes: int | None, n_jobs: int | None
    ) -> None:
        self.path, self.reading, self.n_jobs = path, reading, n_jobs
        check_size([path], _STREAM_FACTOR, max_bytes)
        self._reader = reading.reader()
        self.n_molecules = sum(1 for _ in _molecules(self.path, self.reading))

    def __iter__(self) -> Iterator[GraphBatch]:
        return (piece.graphs for piece in self.pieces())

    def pieces(self, first: int = 0) -> Iterator[StreamPiece]:
        """Read the molecules from one on, up to 10,000 at a time, with their names."""
        under_way: deque[_Molecule] = deque()

        def texts() -> Iterator[str]:
            for molecule in islice(_molecules(self.path, self.reading), first, None):
                under_way.append(molecule)
                yield molecule.smiles

        stop, left_out = first, list[_Molecule]()
        skip_invalid = self.reading.skip_invalid
        with _naming(self.path):
            for piece in parsed_pieces(
                self._reader, texts(), self.n_jobs, skip_invalid=skip_invalid, first=first
            ):
                unread = {row - stop for row in piece.unreadable}
                own = [under_way.popleft() for _ in range(len(piece.graphs) + len(unread))]
                stop += len(own)
                left_out += [own[row] for row in sorted(unread)]
                if len(piece.graphs):
                    kept = [row for row in range(len(own)) if row not in unread]
                    numbers = [stop - len(own) + row for row in kept]
                    names = [own[row].name for row in kept]
                    graphs = _with_column(piece.graphs, self.reading)
                    yield StreamPiece(stop, numbers, names, graphs)
        _warn_of_lines(self.path, left_out)

    def sample(self, n_molecules: int) -> GraphBatch:
        """Read molecules from all over the file, about so many; bad ones are left out."""
        step = max(1, self.n_molecules // n_molecules)
        texts = (
            molecule.smiles
            for molecule in islice(_molecules(self.path, self.reading), 0, None, step)
        )
        pieces = parsed_pieces(self._reader, texts, self.n_jobs, skip_invalid=True)
        return _with_column(GraphBatch.concatenate(p.graphs for p in pieces), self.reading)

    def names(self) -> Iterator[str]:
        return (molecule.name for molecule in _molecules(self.path, self.reading))


def smiles_texts(path: Path, reading: SmilesReading, max_bytes: int | None = None) -> list[str]:
    check_size([path], MEMORY_FACTOR, max_bytes)
    return [molecule.smiles for molecule in _molecules(path, reading)]


def table_column(path: Path, name: str, argument: str, max_bytes: int | None = None) -> list[str]:
    """Texts of one column of a table, in the order in which its molecules are counted."""
    check_size([path], MEMORY_FACTOR, max_bytes)
    rows = table_rows(path)
    names = [each.strip() for each in next(rows, (0, []))[1]]
    at = column_position(names, name, path, argument)
    return [filled_cell(row, at, names, path, line) for line, row in rows]


def has_column(path: Path, name: str) -> bool:
    lines = Sample(path).lines
    return bool(lines) and name in _heading(lines[0])


def _molecules(path: Path, reading: SmilesReading) -> Iterator[_Molecule]:
    read = _table_molecules if _is_table(path, reading) else _listed_molecules
    for molecule in read(path, reading):
        if len(molecule.smiles) > _MOST_LETTERS:
            raise InvalidInputError(
                f"{path}, line {molecule.line}: a molecule of {len(molecule.smiles)} letters, for "
                f"which RDKit takes gigabytes; up to {_MOST_LETTERS} are read"
            )
        yield molecule


def _is_table(path: Path, reading: SmilesReading) -> bool:
    columns = (reading.smiles_column, reading.target_column, reading.name_column)
    is_named = columns != (None, None, None)
    return is_named or ending_of(path) in TABLES or _is_smiles_table(Sample(path))


def _heading(line: str) -> list[str]:
    delimiter = delimiter_in(line) or ","
    return [cell.strip().strip('"') for cell in line.split(delimiter)]


def _is_smiles_table(sample: Sample) -> bool:
    return bool(sample.lines) and "smiles" in map(str.lower, _heading(sample.lines[0]))


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Have errors of molecules name their file, and the option that leaves bad ones out."""
    try:
        yield
    except InvalidInputError as error:
        advice = "; skip_invalid=True leaves such out" * ("RDKit cannot read" in str(error))
        raise InvalidInputError(f"{path}: {error}{advice}") from error


def _with_column(graphs: GraphBatch, reading: SmilesReading) -> GraphBatch:
    if graphs.reading is None or reading.smiles_column is None:
        return graphs
    return with_reading(graphs, graphs.reading.with_form(smiles_column=reading.smiles_column))


def _table_molecules(path: Path, reading: SmilesReading) -> Iterator[_Molecule]:
    rows = table_rows(path)
    names = [name.strip() for name in next(rows, (0, []))[1]]
    smiles_at = column_position(names, reading.smiles_column or "smiles", path, "smiles_column")
    name_at = _name_column(names, reading, path)
    target = reading.target_column
    target_at = None if target is None else column_position(names, target, path, "target_column")
    for line, row in rows:
        smiles, value = cell_text(row, smiles_at), None
        if target_at is not None:
            value = cell_text(row, target_at)
        if not smiles or value == "":
            if not reading.skip_invalid:
                column = names[smiles_at if not smiles or target_at is None else target_at]
                raise InvalidInputError(
                    f"{path}, line {line}: the column {column!r} is empty; fill it, or drop the "
                    "line; skip_invalid=True leaves such out"
                )
            smiles = ""
        name = "" if name_at is None else cell_text(row, name_at)
        yield _Molecule(line, smiles, name or smiles, value)


_IDENTIFIERS = (
    *("name", "id", "identifier", "molecule_name", "mol_name", "compound_name", "title"),
    *("mol_id", "molecule_id", "compound_id", "chembl_id", "molecule_chembl_id", "cid"),
)
"""Headings of the column that names molecules, the likeliest first."""


def _name_column(columns: list[str], reading: SmilesReading, path: Path) -> int | None:
    if reading.name_column is not None:
        return column_position(columns, reading.name_column, path, "name_column")
    taken = {reading.smiles_column, reading.target_column}
    free = [re.sub(r"[\W_]+", "_", own.lower()) * (own not in taken) for own in columns]
    return next((free.index(name) for name in _IDENTIFIERS if name in free), None)


def _listed_molecules(path: Path, _: SmilesReading) -> Iterator[_Molecule]:
    is_first = True
    for number, line in text_lines(path):
        text = line.strip()
        if text and not text.startswith("#"):
            smiles, *rest = text.split(maxsplit=1)
            if not (is_first and "smiles" in smiles.lower()):  # a line of names of columns
                yield _Molecule(number, smiles, rest[0] if rest else smiles)
            is_first = False


def _warn_of_lines(path: Path, molecules: Sequence[_Molecule]) -> None:
    lines = [molecule.line for molecule in molecules]
    empty = [molecule.line for molecule in molecules if not molecule.smiles]
    told = _left_out(lines, empty, "line")
    warn_of_left_out(told and f"{path}: {told}")


def _left_out(numbers: Sequence[int], empty: Sequence[int], what: str) -> str:
    """What was left out in words, given where it is; and where there was nothing to read."""
    unread = sorted(set(numbers) - set(empty))

    def counted(where: Sequence[int], noun: str, why: str) -> str:
        listed = f"{what}{'s' * (len(where) > 1)} {', '.join(map(str, where))}"
        return f"{len(where)} {noun}{'s' * (len(where) > 1)} {why}: {listed}"

    told = [counted(unread, "molecule", "RDKit cannot read")] if unread else []
    told += [counted(empty, "row", "without SMILES or target")] if empty else []
    return f"left out {'; '.join(told)}" if told else ""


def warn_of_left_out(told: str) -> None:
    if told:
        warn_user(LeftOutWarning(told))


def _sniff(sample: Sample) -> bool:
    """Whether it is a table, or half of the lines may be SMILES: the first may be a header."""
    lines = sample.lines
    if not lines or sample.is_table or _is_smiles_table(sample):
        return bool(lines)
    return 2 * sum(map(_may_be_smiles, lines)) >= len(lines)


def _may_be_smiles(line: str) -> bool:
    """Whether a line starts with symbols of atoms, bonds and rings alone, an atom among them."""
    text = line.split(maxsplit=1)[0]
    return _SMILES.fullmatch(text) is not None and _ATOM.search(text) is not None


SMILES = Format(
    name="smiles",
    endings=(".smi", ".smiles", *TABLES),
    read=_read,
    options=(*SmilesReading.__dataclass_fields__, "n_jobs"),
    sniff=_sniff,
    memory_factor=64,
    in_folder=(),
    example=b"CCO ethanol\nc1ccccc1 benzene\n",
)
