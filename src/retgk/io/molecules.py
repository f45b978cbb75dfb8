"""Molecules as text: SMILES strings, and files of them."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.files import check_size, text_lines
from retgk._runtime.names import optional_module
from retgk._runtime.parallel import progress_bar
from retgk._runtime.processes import ordered_results
from retgk.errors import InvalidInputError, LeftOutWarning, warn_user
from retgk.graphs.batch import GraphBatch, with_reading
from retgk.graphs.flat import is_missing
from retgk.io.dataset import GraphDataset
from retgk.io.formats import TABLES, Format, Sample, ending_of
from retgk.io.objects import iterable_graphs, list_graphs, remembers
from retgk.io.rdkit import Chemistry, MoleculeReader, rdkit_chem
from retgk.io.tables import (
    MEMORY_FACTOR,
    cell_text,
    check_values,
    column_position,
    delimiter_in,
    filled_cell,
    missing_numbers,
    numbers_in,
    table_rows,
    typed_targets,
)

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
    chemistry: Chemistry = "full",
    stereo: bool = False,
    largest_fragment: bool = False,
    attributes: str | Sequence[str] = (),
    add_hydrogens: bool = False,
    bond_orders: bool = False,
    bond_types: bool | None = None,
    skip_invalid: bool = False,
    n_jobs: int | None = None,
) -> GraphBatch:
    """
    Convert SMILES strings: atoms are nodes, bonds edges, and chemistry their labels.

    Parameters
    ----------
    smiles : str or iterable of str
        The molecules. Those that RDKit cannot read are an error, which lists them.
    chemistry, stereo, largest_fragment, attributes, add_hydrogens, bond_orders, bond_types
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
    >>> from_smiles(["CCO", "c1ccccc1"])
    GraphBatch(2 graphs, 9 nodes, 8 edges, 4 labels, 2 edge labels)
    >>> from_smiles(["CCO", "c1ccccc1"], chemistry="elements", bond_orders=True)
    GraphBatch(2 graphs, 9 nodes, 8 weighted edges, 2 labels)
    """
    rdkit_chem()
    reader = MoleculeReader.of(
        chemistry=chemistry,
        stereo=stereo,
        largest_fragment=largest_fragment,
        attributes=attributes,
        add_hydrogens=add_hydrogens,
        bond_orders=bond_orders,
        bond_types=bond_types,
    )
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
    chemistry: Chemistry = "full",
    stereo: bool = False,
    largest_fragment: bool = False,
    attributes: str | Sequence[str] = (),
    add_hydrogens: bool = False,
    bond_orders: bool = False,
    bond_types: bool | None = None,
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
    chemistry, stereo, largest_fragment, attributes, add_hydrogens, bond_orders, bond_types
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
    reader = MoleculeReader.of(
        chemistry=chemistry,
        stereo=stereo,
        largest_fragment=largest_fragment,
        attributes=attributes,
        add_hydrogens=add_hydrogens,
        bond_orders=bond_orders,
        bond_types=bond_types,
    )
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
    reader: MoleculeReader, smiles: Sequence[str], n_jobs: int | None, **how: Any
) -> ParsedPiece:
    pieces = []
    with progress_bar("reading SMILES", len(smiles)) as advance:
        for piece in parsed_pieces(reader, smiles, n_jobs, **how):
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
    parse: Callable[[str], Any] | None = None,
) -> Iterator[ParsedPiece]:
    """Convert strings piece by piece, in order, in several processes; counted from `first` on."""
    chunks = (
        (reader, texts, start, skip_invalid, parse) for texts, start in _chunks(smiles, first)
    )
    return ordered_results(_parsed_piece, chunks, n_jobs)


def _parsed_piece(
    reader: MoleculeReader,
    smiles: list[str],
    first: int,
    skip_invalid: bool,
    parse: Callable[[str], Any] | None,
) -> ParsedPiece:
    """What one process does with one piece; it sends back arrays, no molecules."""
    unreadable: list[int] = []
    chem, read = rdkit_chem(), list[str]()
    is_smiles = parse is None
    if parse is None:  # in full, with stereochemistry, in twice the time
        parse = chem.MolFromSmiles if reader.stereo else _molecule

    def kept() -> Iterator[tuple[int, Any]]:
        for number, molecule in enumerate(map(parse, smiles), first):
            if not _has_atoms(molecule):
                unreadable.append(number)
            else:
                read.append(smiles[number - first] if is_smiles else chem.MolToSmiles(molecule))
                yield number, molecule

    if skip_invalid:
        return ParsedPiece(reader.batch(kept(), read), unreadable)
    found = _readable(map(parse, smiles), smiles, first)
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


EVERY_COLUMN = "all"
"""In place of the name of a column of targets: every column of numbers."""


class FileMolecule(NamedTuple):
    line: int
    smiles: str  # or another text of it; empty where a cell that it needs is
    name: str
    target: str | tuple[str, ...] | None = None


@dataclass(frozen=True)
class SmilesReading:
    """What to read of a file of molecules; the fields are arguments of `read_graphs`."""

    smiles_column: str | None = None
    name_column: str | None = None
    target_column: str | Sequence[str] | None = None
    skip_invalid: bool = False
    chemistry: Chemistry = "full"
    stereo: bool = False
    largest_fragment: bool = False
    bond_orders: bool = False
    atom_attributes: str | Sequence[str] = ()
    add_hydrogens: bool = False
    bond_types: bool | None = None

    def reader(self) -> MoleculeReader:
        rdkit_chem()
        return MoleculeReader.of(**{**vars(self), "attributes": self.atom_attributes})


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
    return dataset_of_molecules(path, molecules, reading, n_jobs)


def dataset_of_molecules(
    path: Path,
    molecules: list[FileMolecule],
    reading: SmilesReading,
    n_jobs: int | None,
    parse: Callable[[str], Any] | None = None,
) -> GraphDataset:
    """Graphs of the molecules of a file; texts other than SMILES come with what reads them."""
    if not molecules:
        raise InvalidInputError(f"{path} holds no molecules")
    if reading.skip_invalid:
        single = [own.target if isinstance(own.target, str) else "" for own in molecules]
        for row in missing_numbers(single):
            molecules[row] = molecules[row]._replace(smiles="")
    texts = [molecule.smiles for molecule in molecules]
    skips = reading.skip_invalid or parse is not None
    with _naming(path):
        found = parsed_smiles(reading.reader(), texts, n_jobs, skip_invalid=skips, parse=parse)
    if found.unreadable and not reading.skip_invalid:
        line, _, name, _ = molecules[found.unreadable[0]]
        more = len(found.unreadable) - 1
        raise InvalidInputError(
            f"{path}, line {line}: RDKit cannot read the molecule {name!r:.80}"
            f"{f', and {more} more' * (more > 0)}; correct it, or drop it together with its "
            "target; skip_invalid=True leaves such out"
        )
    rows = None
    if reading.skip_invalid:
        left_out = [molecules[row] for row in found.unreadable]
        _warn_of_lines(path, left_out)
        rows = np.delete(np.arange(len(molecules)), found.unreadable)
        molecules = [molecules[row] for row in rows]
    if not molecules:
        raise InvalidInputError(f"{path} holds no molecules")
    targets, names = _targets_of(molecules, path, reading)
    return GraphDataset(
        _with_column(found.graphs, reading),
        targets,
        "",
        _said_of_names(path, reading),
        graph_names=[molecule.name for molecule in molecules],
        rows=rows,
        target_names=names,
    )


def _targets_of(
    molecules: Sequence[FileMolecule], path: Path, reading: SmilesReading
) -> tuple[NDArray[Any] | None, list[str] | None]:
    """Targets as numbers or texts; of several columns numbers alone, with their names."""
    found = [molecule.target for molecule in molecules if molecule.target is not None]
    texts = [target for target in found if isinstance(target, str)]
    check_values(texts, lambda row: f"{path}, line {molecules[row].line}")
    if texts or not found:
        return (typed_targets(texts) if texts else None), None
    _, columns, is_every = _columns_of(path, reading)
    values, names = [], []
    for (_, name), cells in zip(columns, zip(*found, strict=True), strict=True):
        numbers = numbers_in(cells, gaps=True)
        if numbers is None:  # of names, or of numbers with a text among them
            lines = [own.line for own, cell in zip(molecules, cells, strict=True) if cell.strip()]
            check_values(
                [cell for cell in cells if cell.strip()],
                lambda row, at=lines, of=name: f"{path}, line {at[row]}, column {of!r}",  # type: ignore[misc]
            )
        if numbers is None and not is_every:
            raise InvalidInputError(
                f"{path}: the column {name!r} is not of numbers; of several targets, each must be"
            )
        # numbers that are all different are those of molecules
        if numbers is None or (is_every and _are_identifiers(numbers)):
            continue
        values.append(numbers)
        names.append(name)
    if not values:
        raise InvalidInputError(f"{path} has no column of numbers that could be a target")
    if len(values) == 1:
        return values[0], None
    return np.column_stack(values), names


def _are_identifiers(numbers: NDArray[Any]) -> bool:
    return numbers.dtype.kind == "i" and 2 < len(numbers) == len(np.unique(numbers))


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
        under_way: deque[FileMolecule] = deque()

        def texts() -> Iterator[str]:
            for molecule in islice(_molecules(self.path, self.reading), first, None):
                under_way.append(molecule)
                yield molecule.smiles

        stop, left_out = first, list[FileMolecule]()
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


def _molecules(path: Path, reading: SmilesReading) -> Iterator[FileMolecule]:
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


def _table_molecules(path: Path, reading: SmilesReading) -> Iterator[FileMolecule]:
    rows = table_rows(path)
    names = [name.strip() for name in next(rows, (0, []))[1]]
    smiles_at = column_position(names, reading.smiles_column or "smiles", path, "smiles_column")
    name_at = _name_column(names, reading, path)
    _, columns, is_every = _columns_of(path, reading)
    is_single = not is_every and isinstance(reading.target_column, str)
    value: str | tuple[str, ...] | None = None
    for line, row in rows:
        smiles, value = cell_text(row, smiles_at), None
        cells = tuple(cell_text(row, at) for at, _ in columns)
        if columns:
            value = cells[0] if is_single else cells
        if not smiles or value == "":
            if not reading.skip_invalid:
                column = names[smiles_at if not smiles else columns[0][0]]
                raise InvalidInputError(
                    f"{path}, line {line}: the column {column!r} is empty; fill it, or drop the "
                    "line; skip_invalid=True leaves such out"
                )
            smiles = ""
        name = "" if name_at is None else cell_text(row, name_at)
        yield FileMolecule(line, smiles, name or smiles, value)


def _columns_of(
    path: Path, reading: SmilesReading
) -> tuple[list[str], list[tuple[int, str]], bool]:
    """Names of columns, those of targets with their places, and whether they are all there are."""
    names = [name.strip() for name in next(table_rows(path), (0, []))[1]]
    given = reading.target_column
    if given is None:
        return names, [], False
    if given == EVERY_COLUMN and EVERY_COLUMN not in map(str.lower, names):
        own = (reading.smiles_column or "smiles").lower()
        return (
            names,
            [(at, n) for at, n in enumerate(names) if n.lower() not in (own, "name")],
            True,
        )
    wanted = [given] if isinstance(given, str) else given
    places = [column_position(names, name, path, "target_column") for name in wanted]
    return names, [(at, names[at]) for at in places], False


_IDENTIFIERS = (
    *("name", "id", "identifier", "molecule_name", "mol_name", "compound_name", "title"),
    *("mol_id", "molecule_id", "compound_id", "chembl_id", "molecule_chembl_id", "cid"),
)
"""Headings of the column that names molecules, the likeliest first."""


def _name_column(columns: list[str], reading: SmilesReading, path: Path) -> int | None:
    if reading.name_column is not None:
        return column_position(columns, reading.name_column, path, "name_column")
    targets = reading.target_column
    taken = {reading.smiles_column, *([targets] if isinstance(targets, str) else targets or ())}
    free = [re.sub(r"[\W_]+", "_", own.lower()) * (own not in taken) for own in columns]
    return next((free.index(name) for name in _IDENTIFIERS if name in free), None)


def _listed_molecules(path: Path, _: SmilesReading) -> Iterator[FileMolecule]:
    is_first = True
    for number, line in text_lines(path):
        text = line.strip()
        if text and not text.startswith("#"):
            smiles, *rest = text.split(maxsplit=1)
            if not (is_first and "smiles" in smiles.lower()):  # a line of names of columns
                yield FileMolecule(number, smiles, rest[0] if rest else smiles)
            is_first = False


def _warn_of_lines(path: Path, molecules: Sequence[FileMolecule]) -> None:
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
