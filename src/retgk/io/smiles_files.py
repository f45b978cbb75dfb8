"""Molecules from text files: lists of SMILES strings, and tables with a column of them."""

import csv
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.files import ParseBudget
from retgk._runtime.names import name_advice
from retgk.errors import InputWarning, InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch, with_reading
from retgk.io.dataset import GraphDataset
from retgk.io.files import numbers_in, text_lines
from retgk.io.molecules import MoleculeReader, parsed_pieces, parsed_smiles, rdkit_chem

# Bytes of memory. A long molecule costs more than its atoms: RDKit's time grows with the square.
_PER_MOLECULE, _PER_LETTER, _PER_LETTER_AT_ONCE = 600, 32, 10_000
_PER_PAIR_OF_LETTERS = 1 / 16

_Lines = Iterator[tuple[int, str]]


class LeftOutWarning(InputWarning):
    """Molecules that RDKit cannot read were left out, as the caller asked."""


class _Molecule(NamedTuple):
    """One line of a file."""

    line: int
    smiles: str
    name: str
    target: str | None = None


@dataclass(frozen=True)
class SmilesReading:
    """What to read of a file of molecules; the fields are arguments of `read_graphs`."""

    smiles_column: str | None = None
    target_column: str | None = None
    skip_invalid: bool = False
    bond_orders: bool = False
    atom_attributes: Sequence[str] = ()
    add_hydrogens: bool = False
    bond_types: bool = False

    def reader(self) -> MoleculeReader:
        """What is read of molecules, checked; RDKit is there."""
        rdkit_chem()
        bonds = (self.bond_orders, self.bond_types)
        return MoleculeReader.of(self.atom_attributes, self.add_hydrogens, *bonds)


def read_smiles(
    path: Path,
    reading: SmilesReading,
    name: str,
    max_bytes: int | None = None,
    n_jobs: int | None = None,
) -> GraphDataset:
    """Read one molecule per line, of a table with a header or of a plain list."""
    budget = ParseBudget.of_files(path, [path], max_bytes)
    molecules = list(_within(budget, _molecules(path, reading, budget)))
    if not molecules:
        raise InvalidInputError(f"{path} holds no molecules")
    texts = [molecule.smiles for molecule in molecules]
    with _naming(path):
        found = parsed_smiles(reading.reader(), texts, n_jobs, skip_invalid=reading.skip_invalid)
    rows = None
    if reading.skip_invalid:
        _warn_of_left_out(path, [molecules[row].line for row in found.unreadable])
        rows = np.delete(np.arange(len(molecules)), found.unreadable)
        molecules = [molecules[row] for row in rows]
    if not molecules:
        raise InvalidInputError(f"{path} holds no molecules")
    targets = [molecule.target for molecule in molecules if molecule.target is not None]
    return GraphDataset(
        _with_column(found.graphs, reading),
        typed_targets(targets, budget) if targets else None,
        name,
        graph_names=[molecule.name for molecule in molecules],
        rows=rows,
    )


class StreamPiece(NamedTuple):
    """Some molecules of a stream that stand one after the other."""

    stop: int
    """Number of the molecule after the last of them."""
    numbers: list[int]
    """Their places in the file, from 0 on."""
    names: list[str]
    graphs: GraphBatch


class MoleculeStream:
    """
    Molecules of a file, some of them at a time: for more than fit into memory.

    The whole file is gone through once when the stream is made, so that what is wrong with its
    lines is said before any work; RDKit reads the molecules when their turn comes.

    Attributes
    ----------
    n_molecules : int
        Molecules in the file, with those that are left out.
    """

    def __init__(
        self, path: Path, reading: SmilesReading, max_bytes: int | None, n_jobs: int | None
    ) -> None:
        self.path, self.reading, self.n_jobs = path, reading, n_jobs
        self._max_bytes = max_bytes
        self._reader = reading.reader()
        self.n_molecules = sum(1 for _ in self._lines())

    def __iter__(self) -> Iterator[GraphBatch]:
        """Read batches of up to 10,000 molecules, in order."""
        return (piece.graphs for piece in self.pieces())

    def pieces(self, first: int = 0) -> Iterator[StreamPiece]:
        """Read the molecules from one on, up to 10,000 at a time, with their names."""
        under_way: deque[_Molecule] = deque()

        def texts() -> Iterator[str]:
            for molecule in islice(self._lines(), first, None):
                under_way.append(molecule)
                yield molecule.smiles

        stop, left_out = first, []
        skip_invalid = self.reading.skip_invalid
        with _naming(self.path):
            for piece in parsed_pieces(
                self._reader, texts(), self.n_jobs, skip_invalid=skip_invalid, first=first
            ):
                unread = {row - stop for row in piece.unreadable}
                own = [under_way.popleft() for _ in range(len(piece.graphs) + len(unread))]
                stop += len(own)
                left_out += [own[row].line for row in sorted(unread)]
                if len(piece.graphs):
                    kept = [row for row in range(len(own)) if row not in unread]
                    numbers = [stop - len(own) + row for row in kept]
                    names = [own[row].name for row in kept]
                    graphs = _with_column(piece.graphs, self.reading)
                    yield StreamPiece(stop, numbers, names, graphs)
        _warn_of_left_out(self.path, left_out)

    def sample(self, n_molecules: int) -> GraphBatch:
        """Read molecules from all over the file, about so many; bad ones are left out."""
        step = max(1, self.n_molecules // n_molecules)
        texts = (molecule.smiles for molecule in islice(self._lines(), 0, None, step))
        pieces = parsed_pieces(self._reader, texts, self.n_jobs, skip_invalid=True)
        return _with_column(GraphBatch.concatenate(p.graphs for p in pieces), self.reading)

    def names(self) -> Iterator[str]:
        """Name of every molecule: that of the file, or its SMILES."""
        return (molecule.name for molecule in self._lines())

    def _lines(self) -> Iterator[_Molecule]:
        """Molecules within a budget; what long ones cost in time is not given back."""
        budget = ParseBudget.of_files(self.path, [self.path], self._max_bytes)
        for_length = 0
        for molecule in _within(budget, _molecules(self.path, self.reading, budget)):
            yield molecule
            for_length += _cost_of_length(molecule)
            budget.give_back(for_length)


def smiles_texts(path: Path, reading: SmilesReading, max_bytes: int | None = None) -> list[str]:
    """SMILES of every molecule of a file, also of those that RDKit cannot read."""
    budget = ParseBudget.of_files(path, [path], max_bytes)
    return [molecule.smiles for molecule in _within(budget, _molecules(path, reading, budget))]


def table_column(path: Path, name: str, argument: str, max_bytes: int | None = None) -> list[str]:
    """Texts of one column of a table, in the order in which `read_smiles` counts its molecules."""
    budget = ParseBudget.of_files(path, [path], max_bytes)
    header, lines = _with_first(text_lines(path, budget))
    rows = csv_rows(lines, delimiter_of(header), budget)
    names = [each.strip() for each in next(rows, (0, []))[1]]
    at = column_position(names, name, path, argument)
    texts = []
    for line, row in rows:
        if row:
            texts.append(_cell(row, at, names, path, line))
            budget.charge(_PER_MOLECULE + len(texts[-1]), f"line {line}: a cell of a table")
    return texts


def _molecules(path: Path, reading: SmilesReading, budget: ParseBudget) -> Iterator[_Molecule]:
    """Lines of a file as molecules, of a table or of a plain list."""
    header, lines = _with_first(text_lines(path, budget))
    if _is_table(path, header, reading):
        return _table_rows(lines, delimiter_of(header), budget, reading)
    return _list_lines(lines)


def _with_first(lines: _Lines) -> tuple[str, _Lines]:
    """Text of the first line, and all lines."""
    first = next(lines, (1, ""))
    return first[1], chain([first], lines)


def _within(budget: ParseBudget, molecules: Iterator[_Molecule]) -> Iterator[_Molecule]:
    """Give the same molecules, and pay for them and for the graphs that they become."""
    for molecule in molecules:
        size = len(molecule.smiles)
        what = f"line {molecule.line}: a molecule of {size} letters"
        budget.check(_PER_LETTER_AT_ONCE * size, what)
        budget.charge(_PER_MOLECULE + _PER_LETTER * size + _cost_of_length(molecule), what)
        yield molecule


def _cost_of_length(molecule: _Molecule) -> int:
    return int(_PER_PAIR_OF_LETTERS * len(molecule.smiles) ** 2)


def typed_targets(texts: Sequence[str], budget: ParseBudget | None = None) -> NDArray[Any]:
    """Convert to integers if all are whole numbers, else floats if all are numbers, else text."""
    values = numbers_in(texts)
    if values is not None:
        if not np.isfinite(values).all():
            graph = int(np.isfinite(values).argmin())
            raise InvalidInputError(
                f"the target {texts[graph]!r} of graph {graph} is not finite; give a number, or "
                "drop the graph"
            )
        return values
    if budget is not None:
        longest = max(map(len, texts), default=0)
        budget.check(4 * longest * len(texts), f"an array of targets of up to {longest} letters")
    return np.array(texts, dtype=str)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Have errors of molecules name their file, and the option that leaves bad ones out."""
    try:
        yield
    except InvalidInputError as error:
        remedy = error.remedy
        if remedy is None and "RDKit cannot read" in error.problem:
            remedy = Remedy("skip_invalid", "skip_invalid=True leaves such out")
        raise InvalidInputError(f"{path}: {error.problem}", remedy) from error


def _with_column(graphs: GraphBatch, reading: SmilesReading) -> GraphBatch:
    """Give the same graphs, said to come from a column of another name."""
    if graphs.reading is None or reading.smiles_column is None:
        return graphs
    return with_reading(graphs, graphs.reading.with_form(smiles_column=reading.smiles_column))


def has_column(path: Path, name: str) -> bool:
    """Whether a file is a table of molecules with a column of this name."""
    lines = text_lines(path, ParseBudget.of_files(path, [path], None))
    header = next(lines, (1, ""))[1]
    return name in [cell.strip().strip('"') for cell in header.split(delimiter_of(header))]


def _is_table(path: Path, header: str, reading: SmilesReading) -> bool:
    if {".csv", ".tsv"} & set(path.suffixes):
        return True
    if reading.smiles_column is not None or reading.target_column is not None:
        return True
    cells = [cell.strip().strip('"').lower() for cell in header.split(delimiter_of(header))]
    return "smiles" in cells


def delimiter_of(header: str) -> str:
    """Find what stands between the cells of a table: a tab, a semicolon or a comma."""
    if "\t" in header:
        return "\t"
    return ";" if ";" in header and "," not in header else ","


def _table_rows(
    lines: _Lines, delimiter: str, budget: ParseBudget, reading: SmilesReading
) -> Iterator[_Molecule]:
    """Read a table with a header line; a column "name" has the names of molecules."""
    path = Path(budget.source)
    rows = csv_rows(lines, delimiter, budget)
    names = [name.strip() for name in next(rows, (0, []))[1]]
    smiles_at = column_position(names, reading.smiles_column or "smiles", path, "smiles_column")
    name_at = next((at for at, name in enumerate(names) if name.lower() == "name"), None)
    target = reading.target_column
    target_at = None if target is None else column_position(names, target, path, "target_column")
    for line, row in rows:
        if row:
            smiles = _cell(row, smiles_at, names, path, line)
            value = None if target_at is None else _cell(row, target_at, names, path, line)
            name = row[name_at].strip() if name_at is not None and name_at < len(row) else ""
            yield _Molecule(line, smiles, name or smiles, value)


def csv_rows(lines: _Lines, delimiter: str, budget: ParseBudget) -> Iterator[tuple[int, list[str]]]:
    """Read rows of cells with the lines they end in; quotes may hold a row together for long."""
    n_bytes = 0

    def one_row_at_a_time() -> Iterator[str]:
        nonlocal n_bytes
        for number, line in lines:
            n_bytes += len(line) + 1
            budget.check_line(n_bytes, f"the row up to line {number}")
            yield line + "\n"

    reader = csv.reader(one_row_at_a_time(), delimiter=delimiter)
    try:
        for row in reader:
            n_bytes = 0
            yield reader.line_num, row
    except csv.Error as error:
        raise InvalidInputError(f"{budget.source} is not a table: {error}") from error


def column_position(names: Sequence[str], wanted: str, path: Path, argument: str) -> int:
    """Find a column by its name, or else by its name in other letter case."""
    found = [at for at, name in enumerate(names) if name == wanted]
    if not found:
        found = [at for at, name in enumerate(names) if name.lower() == wanted.lower()]
    if not found:
        advice = name_advice(wanted, names)
        raise InvalidInputError(
            f"{path} has no column {wanted!r}",
            Remedy(argument, f"{advice} with {argument}=", value=advice),
        )
    if len(found) > 1:
        raise InvalidInputError(
            f"{path} has {len(found)} columns {wanted!r}; give each a name of its own"
        )
    return found[0]


def _cell(row: list[str], at: int, names: Sequence[str], path: Path, line: int) -> str:
    text = row[at].strip() if at < len(row) else ""
    if not text:
        raise InvalidInputError(
            f"{path}, line {line}: the column {names[at]!r} is empty; fill it, or drop the line"
        )
    return text


def _list_lines(lines: _Lines) -> Iterator[_Molecule]:
    """Read SMILES and, after white space, names."""
    for number, line in lines:
        text = line.strip()
        if text and not text.startswith("#"):
            smiles, *rest = text.split(maxsplit=1)
            yield _Molecule(number, smiles, rest[0] if rest else smiles)


def _warn_of_left_out(path: Path, lines: Sequence[int]) -> None:
    if lines:
        many = "s" * (len(lines) > 1)
        listed = f"line{many} {', '.join(map(str, lines))}"
        warnings.warn(
            f"{path}: left out {len(lines)} molecule{many} RDKit cannot read: {listed}",
            LeftOutWarning,
            stacklevel=5,
        )
