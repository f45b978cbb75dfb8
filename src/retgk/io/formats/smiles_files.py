"""Molecules from text files: lists of SMILES strings, and tables with a column of them."""

import csv
import gzip
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.errors import InputWarning, InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.io.converters.rdkit_molecules import from_smiles
from retgk.io.formats.graph_files import is_gzip
from retgk.io.graph_dataset import GraphDataset
from retgk.runtime.optional_packages import optional_module

__all__ = ["LeftOutWarning", "SmilesReading", "read_smiles", "typed_targets"]

_MANY = 20_000  # molecules from which on more processes are worth their start


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

    def graphs(self, smiles: Sequence[str]) -> GraphBatch:
        """Convert molecules; many of them in several processes."""
        return from_smiles(
            smiles,
            attributes=self.atom_attributes,
            bond_orders=self.bond_orders,
            n_jobs=-1 if len(smiles) > _MANY else None,
        )


def read_smiles(path: Path, reading: SmilesReading, name: str) -> GraphDataset:
    """Read one molecule per line, of a table with a header or of a plain list."""
    with _open_text(path) as stream:
        is_table = _is_table(path, stream.readline(), reading)
        stream.seek(0)
        molecules = list(_table_rows(stream, path, reading) if is_table else _list_lines(stream))
    rows = None
    if reading.skip_invalid:
        rows = _readable_rows(molecules, path)
        molecules = [molecules[row] for row in rows]
    if not molecules:
        raise InvalidInputError(f"{path} holds no molecules")
    targets = [molecule.target for molecule in molecules if molecule.target is not None]
    return GraphDataset(
        _graphs(molecules, path, reading),
        typed_targets(targets) if targets else None,
        name,
        graph_names=[molecule.name for molecule in molecules],
        rows=rows,
    )


def typed_targets(texts: Sequence[str]) -> NDArray[Any]:
    """Convert to integers if all are whole numbers, else floats if all are numbers, else text."""
    for kind in (int, float):
        try:
            values = np.array([kind(text) for text in texts])
        except ValueError:
            continue
        if values.dtype.kind == "O":  # integers beyond 64 bits are names rather than numbers
            break
        if not np.isfinite(values).all():
            graph = int(np.isfinite(values).argmin())
            raise InvalidInputError(
                f"the target {texts[graph]!r} of graph {graph} is not finite; give a number, or "
                "drop the graph"
            )
        return values
    return np.array(texts, dtype=str)


def _graphs(molecules: list[_Molecule], path: Path, reading: SmilesReading) -> GraphBatch:
    try:
        return reading.graphs([molecule.smiles for molecule in molecules])
    except InvalidInputError as error:
        remedy = error.remedy
        if remedy is None and "RDKit cannot read" in error.problem:
            remedy = Remedy("skip_invalid", "skip_invalid=True leaves such out")
        raise InvalidInputError(f"{path}: {error.problem}", remedy) from error


def _is_table(path: Path, header: str, reading: SmilesReading) -> bool:
    if {".csv", ".tsv"} & set(path.suffixes):
        return True
    if reading.smiles_column is not None or reading.target_column is not None:
        return True
    cells = [cell.strip().strip('"').lower() for cell in header.split(_delimiter(header))]
    return "smiles" in cells


def _delimiter(header: str) -> str:
    if "\t" in header:
        return "\t"
    return ";" if ";" in header and "," not in header else ","


def _table_rows(stream: IO[str], path: Path, reading: SmilesReading) -> Iterator[_Molecule]:
    """Read a table with a header line; a column "name" has the names of molecules."""
    delimiter = _delimiter(stream.readline())
    stream.seek(0)
    rows = csv.reader(stream, delimiter=delimiter)
    names = [name.strip() for name in next(rows, [])]
    smiles_at = _column(names, reading.smiles_column or "smiles", path, "smiles_column")
    name_at = next((at for at, name in enumerate(names) if name.lower() == "name"), None)
    target = reading.target_column
    target_at = None if target is None else _column(names, target, path, "target_column")
    for row in rows:
        if row:
            line = rows.line_num
            smiles = _cell(row, smiles_at, names, path, line)
            value = None if target_at is None else _cell(row, target_at, names, path, line)
            name = row[name_at].strip() if name_at is not None and name_at < len(row) else ""
            yield _Molecule(line, smiles, name or smiles, value)


def _column(names: Sequence[str], wanted: str, path: Path, argument: str) -> int:
    """Find a column by its name, or else by its name in other letter case."""
    found = [at for at, name in enumerate(names) if name == wanted]
    found += [at for at, name in enumerate(names) if name.lower() == wanted.lower()]
    if not found:
        listed = ", ".join(names)
        raise InvalidInputError(
            f"{path} has no column {wanted!r}",
            Remedy(argument, f"name one of {listed} with {argument}=", value=listed),
        )
    return found[0]


def _cell(row: list[str], at: int, names: Sequence[str], path: Path, line: int) -> str:
    text = row[at].strip() if at < len(row) else ""
    if not text:
        raise InvalidInputError(
            f"{path}, line {line}: the column {names[at]!r} is empty; fill it, or drop the line"
        )
    return text


def _list_lines(stream: IO[str]) -> Iterator[_Molecule]:
    """Read SMILES and, after white space, names."""
    for number, line in enumerate(stream, start=1):
        text = line.strip()
        if text and not text.startswith("#"):
            smiles, *rest = text.split(maxsplit=1)
            yield _Molecule(number, smiles, rest[0] if rest else smiles)


def _readable_rows(molecules: list[_Molecule], path: Path) -> NDArray[np.int64]:
    """Positions of molecules that RDKit reads; a warning says which lines are left out."""
    parse = optional_module("rdkit.Chem", "rdkit").MolFromSmiles
    with optional_module("rdkit.rdBase", "rdkit").BlockLogs():
        readable = [parse(molecule.smiles) is not None for molecule in molecules]
    lines = [m.line for m, is_read in zip(molecules, readable, strict=True) if not is_read]
    if lines:
        many = "s" * (len(lines) > 1)
        listed = f"line{many} {', '.join(map(str, lines))}"
        warnings.warn(
            f"{path}: left out {len(lines)} molecule{many} RDKit cannot read: {listed}",
            LeftOutWarning,
            stacklevel=5,
        )
    return np.flatnonzero(readable)


@contextmanager
def _open_text(path: Path) -> Iterator[IO[str]]:
    """Open a text file, unpacked on the way where it is compressed."""
    opened = gzip.open if is_gzip(path) else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as stream:
            yield stream
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not text: {error}") from error
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InvalidInputError(f"{path} is damaged: {error}; fetch it again") from error
    except csv.Error as error:
        raise InvalidInputError(f"{path} is not a table: {error}") from error
