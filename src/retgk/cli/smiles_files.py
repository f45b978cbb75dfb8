"""Molecules from text: .smi files and tables with a column of SMILES strings."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from retgk.cli.collection import Collection
from retgk.cli.options import Common, Reading
from retgk.cli.terminal import note
from retgk.cli.text_targets import typed_targets
from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from retgk.graphs.batch import GraphBatch

__all__ = ["molecule_graphs", "read_smiles_file"]

_SUFFIXES = {".smi", ".smiles", ".csv", ".tsv"}
_MANY = 20_000  # molecules from which on more processes are worth their start


class _Molecule(NamedTuple):
    """One line of a file."""

    line: int
    smiles: str
    name: str
    target: str | None = None


def read_smiles_file(path: Path, reading: Reading, name: str, common: Common) -> Collection:
    """Read one molecule per line, of a table with a header or of a plain list."""
    with _open_text(path) as stream:
        header = stream.readline()
        read = _table if _is_table(path, header, reading) else _lines
        stream.seek(0)
        molecules = list(read(stream, path, reading))
    rows: Sequence[int] = range(len(molecules))
    if reading.skip_invalid:
        rows = _readable_rows(molecules, path, common)
    if not rows:
        raise InvalidInputError(f"{path} holds no molecules")
    collection = _collection([molecules[row] for row in rows], path, name, reading)
    return replace(collection, rows=rows)


def molecule_graphs(smiles: list[str], reading: Reading) -> GraphBatch:
    """Graphs of molecules, with what the options say of atoms and bonds."""
    from retgk.io.converters import from_smiles

    return from_smiles(
        smiles,
        attributes=reading.atom_attribute or (),
        bond_orders=reading.bond_orders,
        n_jobs=-1 if len(smiles) > _MANY else None,
    )


def _is_table(path: Path, header: str, reading: Reading) -> bool:
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


def _table(stream: IO[str], path: Path, reading: Reading) -> Iterator[_Molecule]:
    """Rows of a table with a header line; a column "name" has the names of molecules."""
    delimiter = _delimiter(stream.readline())
    stream.seek(0)
    rows = csv.reader(stream, delimiter=delimiter)
    names = [name.strip() for name in next(rows, [])]
    smiles_at = _column(names, reading.smiles_column or "smiles", path, "--smiles-column")
    name_at = next((at for at, name in enumerate(names) if name.lower() == "name"), None)
    target = reading.target_column
    target_at = None if target is None else _column(names, target, path, "--target-column")
    for row in rows:
        if row:
            line = rows.line_num
            smiles = _cell(row, smiles_at, names, path, line)
            value = None if target_at is None else _cell(row, target_at, names, path, line)
            name = row[name_at].strip() if name_at is not None and name_at < len(row) else ""
            yield _Molecule(line, smiles, name or smiles, value)


def _column(names: Sequence[str], wanted: str, path: Path, option: str) -> int:
    found = [at for at, name in enumerate(names) if name == wanted]
    found += [at for at, name in enumerate(names) if name.lower() == wanted.lower()]
    if not found:
        raise InvalidInputError(
            f"{path} has no column {wanted!r}; name one of {', '.join(names)} with {option}"
        )
    return found[0]


def _cell(row: list[str], at: int, names: Sequence[str], path: Path, line: int) -> str:
    text = row[at].strip() if at < len(row) else ""
    if not text:
        raise InvalidInputError(
            f"{path}, line {line}: the column {names[at]!r} is empty; fill it, or drop the line"
        )
    return text


def _lines(stream: IO[str], path: Path, reading: Reading) -> Iterator[_Molecule]:  # noqa: ARG001
    """SMILES and, after white space, names."""
    for number, line in enumerate(stream, start=1):
        text = line.strip()
        if text and not text.startswith("#"):
            smiles, *rest = text.split(maxsplit=1)
            yield _Molecule(number, smiles, rest[0] if rest else smiles)


def _readable_rows(molecules: list[_Molecule], path: Path, common: Common) -> list[int]:
    """Places of molecules that RDKit reads; the user hears which lines are left out."""
    from retgk.runtime.optional_packages import optional_module

    optional_module("rdkit", "rdkit")
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        readable = [Chem.MolFromSmiles(molecule.smiles) is not None for molecule in molecules]
    lines = [m.line for m, is_read in zip(molecules, readable, strict=True) if not is_read]
    if lines:
        many = "s" * (len(lines) > 1)
        listed = f"line{many} {', '.join(map(str, lines))}"
        note(common, f"{path}: left out {len(lines)} molecule{many} RDKit cannot read: {listed}")
    return [row for row, is_read in enumerate(readable) if is_read]


def _collection(molecules: list[_Molecule], path: Path, name: str, reading: Reading) -> Collection:
    try:
        graphs = molecule_graphs([molecule.smiles for molecule in molecules], reading)
    except InvalidInputError as error:
        hint = "; --skip-invalid leaves such out" if "RDKit cannot read" in str(error) else ""
        if hint and reading.format is None and not _SUFFIXES & set(path.suffixes):
            hint += "; if it is not SMILES, say what it is with --format"
        raise InvalidInputError(f"{path}: {error}{hint}") from error
    targets = [molecule.target for molecule in molecules if molecule.target is not None]
    return Collection(
        graphs,
        name,
        typed_targets(targets) if targets else None,
        [molecule.name for molecule in molecules],
    )


@contextmanager
def _open_text(path: Path) -> Iterator[IO[str]]:
    """Text of a file, unpacked on the way where it is compressed."""
    with path.open("rb") as raw:
        is_packed = raw.read(2) == b"\x1f\x8b"
    opened = gzip.open if is_packed else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as stream:
            yield stream
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not text: {error}") from error
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InvalidInputError(f"{path} is damaged: {error}; fetch it again") from error
    except csv.Error as error:
        raise InvalidInputError(f"{path} is not a table: {error}") from error
