"""Files of graphs: which format they have, which of a folder are read, how new ones are named."""

from __future__ import annotations

import csv
import gzip
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar, get_args

from retgk._runtime.files import (
    DEFLATED,
    MAX_BYTES_REMEDY,
    ZIP_DAMAGE,
    ParseBudget,
    atomic_path,
    member_problem,
)
from retgk.errors import InvalidInputError, Remedy

if TYPE_CHECKING:
    from numpy.typing import NDArray

# -------------------------------------------------------------------------------------------------
# Whether texts are numbers: what Python takes for one, but for names such as 1_0.
# -------------------------------------------------------------------------------------------------


def whole_number(text: str) -> int | None:
    """Read a whole number; None if the text is none."""
    try:
        return None if "_" in text else int(text)
    except ValueError:
        return None


def number_in(text: str) -> float:
    """Read a number; ValueError where the text is none."""
    if "_" in text:
        raise ValueError(text)  # Python alone would take 1_0 for 10
    return float(text)


def is_number(text: str) -> bool:
    """Whether a text is a number, whole or not."""
    return _number_or_none(text) is not None


def numbers_in(texts: Sequence[str], *, gaps: bool = False) -> NDArray[Any] | None:
    """
    Integers if all texts are whole numbers, else floats if all are numbers, else None.

    Different texts for one integer, such as 01 and 1, are names; so are integers beyond 64 bits.
    With `gaps`, an empty text is NaN.
    """
    import numpy as np

    integers = [whole_number(text) for text in texts]
    if None not in integers:
        values = np.array(integers)
        is_name = values.dtype.kind == "O" or len(set(integers)) < len(set(texts))
        return None if is_name else values
    found = [np.nan if gaps and not text.strip() else _number_or_none(text) for text in texts]
    return None if None in found else np.array(found, float)


def _number_or_none(text: str) -> float | None:
    try:
        return number_in(text)
    except ValueError:
        return None


# -------------------------------------------------------------------------------------------------
# Names of rows and columns in tables of numbers, told from the numbers themselves.
# -------------------------------------------------------------------------------------------------

_MISSING = {"", "na", "n/a", "null", "none", "-", "."}
_OTHER_CHARACTERS = re.compile(r"[^0-9a-z]+")
_R_PREFIX = re.compile(r"^x(?=[0-9])")  # R puts it before names that start with a digit


def delimiter_in(line: str) -> str | None:
    """Give what separates cells; None is for white space."""
    return next((mark for mark in "\t;," if mark in line), None)


def cells_of(line: str, delimiter: str | None) -> list[str]:
    """Cells of a line; names may stand in quotes."""
    if '"' not in line:
        return line.split(delimiter)
    mark = " " if delimiter is None else delimiter
    try:
        reader = csv.reader([line], delimiter=mark, skipinitialspace=not delimiter, strict=True)
        return next(reader)
    except csv.Error:
        return line.split(delimiter)  # an error names the cell that is no number


def is_heading(cells: list[str]) -> bool:
    """
    Whether a line has names of columns, and cannot be a row of a matrix.

    All of its cells are names, the first perhaps that of the rows. Numbers that count columns are
    names only behind an empty cell, as pandas writes them above an index.
    """
    texts = [cell.strip() for cell in cells]
    has_empty_corner = texts[:1] == [""]
    names = texts[has_empty_corner:]
    if has_empty_corner and _are_counted(names):
        return True
    return bool(names) and not any(is_number(name) or name.lower() in _MISSING for name in names)


def has_row_name(heading: list[str] | None, cells: list[str]) -> bool:
    """Whether the first row of numbers, below a heading or alone, begins with a name."""
    if heading is not None and (len(cells) == len(heading) + 1 or heading[0].strip() == ""):
        return True  # R leaves out the cell above names of rows, pandas leaves it empty
    names_itself = not is_number(cells[0]) and cells[0].strip().lower() not in _MISSING
    return names_itself and len(cells) > 2 and all(map(is_number, cells[1:]))


def columns_without_corner(heading: list[str], has_row_names: bool, n_cells: int) -> list[str]:
    """Names of columns of numbers: without the cell that stands above names of rows."""
    has_corner = has_row_names and (heading[0].strip() == "" or len(heading) == n_cells)
    return [cell.strip() for cell in heading[has_corner:]]


def check_same_names(rows: list[str], columns: list[str]) -> None:
    """Raise where row i and column i have names of different nodes, but for counted rows."""
    if _are_counted(rows) and not all(map(is_number, columns)):
        return
    for at, (row, column) in enumerate(zip(rows, columns, strict=True), 1):
        if _plain(row) != _plain(column):
            raise InvalidInputError(
                f"row {at} is named {row[:40]!r} and column {at} {column[:40]!r}: rows and columns "
                "must be the same nodes in the same order; with pandas, df.loc[df.columns] puts "
                "rows in the order of columns"
            )


def _are_counted(names: list[str]) -> bool:
    """Whether names are whole numbers in order, from 0 or 1."""
    return bool(names) and any(
        names == [str(first + at) for at in range(len(names))] for first in (0, 1)
    )


def _plain(name: str) -> str:
    """Letters and digits alone: R writes other characters of columns as dots."""
    return _R_PREFIX.sub("", _OTHER_CHARACTERS.sub("", name.lower())) or name


PathLike = str | os.PathLike[str]
Format = Literal["tu", "parquet", "graphml", "json", "edges", "matrices", "smiles"]
Graph = TypeVar("Graph")

# The one list of endings: what names, folders, completion and the help of commands go by.
_ENDINGS: dict[Format, tuple[str, ...]] = {
    "tu": (".zip",),
    "parquet": (".parquet",),
    "graphml": (".graphml",),
    "json": (".json", ".jsonl"),
    "edges": (".edges", ".edgelist", ".el"),
    "matrices": (".npy", ".npz", ".mat"),
    "smiles": (".smi", ".smiles"),
}
_TABLES = (".csv", ".tsv")
"""Endings of matrices, of edges and of tables of SMILES: the content tells which."""

ENDINGS_IN_FOLDER: dict[Format, tuple[str, ...]] = {
    "tu": ("_A.txt",),
    "graphml": (".graphml",),
    "edges": (".edges", ".edges.gz"),
    "json": (".json", ".json.gz", ".jsonl", ".jsonl.gz"),
    "matrices": _ENDINGS["matrices"],
}
# In a folder, formats of a later group are looked for where there is none of the earlier ones:
# descriptions in JSON and arrays may stand beside graphs.
_LOOKED_FOR: tuple[tuple[Format, ...], ...] = (("tu", "graphml", "edges"), ("json", "matrices"))

ENDINGS = (*chain.from_iterable(_ENDINGS.values()), *_TABLES)
"""Endings of files that can be read, without those that gzip adds."""

_PACKED_THEMSELVES = (".zip", ".parquet", ".npy", ".npz", ".mat")
READABLE = (*ENDINGS, *(f"{end}.gz" for end in ENDINGS if end not in _PACKED_THEMSELVES))
"""Endings of all files that can be read."""

_EDGE_COLUMNS = {"source", "target", "from", "to", "src", "dst"}
_TABLES_IN_FOLDER = (*_TABLES, *(f"{ending}.gz" for ending in _TABLES))
_FORMAT_OF_ENDING = {ending: form for form, endings in _ENDINGS.items() for ending in endings}
_HEAD_BYTES = 4096
_BETWEEN_CELLS = re.compile(r"[,;\t]")
_ATOM = re.compile(r"""\[[^][\s"',{}]+\]|Br|Cl|[BCNOPSFIbcnops*]""")
_SMILES = re.compile(rf"(?:{_ATOM.pattern}|[-=#$:/\\~.()]|%?\d)+")
_ZIP_NAME_BYTES = 300
_LONGEST_LINE = 1 << 20
_MATRIX_STARTS = (b"\x93NUMPY", b"MATLAB ")
_JSON_START = re.compile(r"\s*(\{|\[\s*\{)")  # a molecule may start with a square bracket


def format_of(path: Path, is_table: bool = False) -> Format:
    """
    Tell the format of a file or folder by its name, or by its content if the name does not.

    `is_table` says that the caller has named columns of it.
    """
    if path.is_dir():
        return _format_of_folder(path)
    ending = _ending(path)
    if ending in _TABLES:
        if not is_table and _is_named_matrix(path):
            return "matrices"
        return _format_of_table(path) or _format_of_content(path, is_table=True)
    return _FORMAT_OF_ENDING.get(ending) or _format_of_content(path, is_table)


def _ending(path: Path) -> str:
    """Last ending of a name in small letters, that of gzip left out."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    return suffixes[-1] if suffixes else ""


def bare_name(path: Path) -> str:
    """Name of a file without the ending of its format; other dots are part of the name."""
    name = path.name
    found = [ending for ending in READABLE if name.lower().endswith(ending) and name != ending]
    return text_of_name(name[: len(name) - max(map(len, found), default=0)])


def text_of_name(name: str) -> str:
    """Read a file's name as UTF-8, whatever the locale; other bytes are given by their codes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _format_of_folder(path: Path) -> Format:
    names = [file.name for file in path.iterdir()]

    def holds(*endings: str) -> bool:
        return any(name.endswith(endings) for name in names)

    groups = ([form for form in group if holds(*ENDINGS_IN_FOLDER[form])] for group in _LOOKED_FOR)
    found: list[Format] = next(filter(None, groups), [])
    if not found and holds(*_TABLES_IN_FOLDER):
        return "matrices"
    if len(found) != 1:
        raise InvalidInputError(
            f"the folder {path} holds {' and '.join(found) or 'no'} graphs; it should hold "
            "one of: TU text files (NAME_A.txt, ...), .graphml files, .edges files, .json files, "
            "matrices (.npy, .npz, .mat, or .csv)",
            Remedy("format", "say what it is with format=") if found else None,
        )
    return found[0]


def _format_of_content(path: Path, is_table: bool) -> Format:
    head = _head(path)
    return _format_of_bytes(head) or _format_of_text(head, path, is_table)


def _format_of_bytes(head: bytes) -> Format | None:
    """Format of a file that is not text, by its first bytes."""
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(_MATRIX_STARTS):
        return "matrices"
    if head.startswith(b"PK"):
        return "matrices" if b".npy" in head[:_ZIP_NAME_BYTES] else "tu"
    return None


def _format_of_text(head: bytes, path: Path, is_table: bool) -> Format:
    try:
        text = head.decode("utf-8-sig", errors="strict" if len(head) < _HEAD_BYTES else "ignore")
    except UnicodeDecodeError:
        text = ""
    if text.lstrip().startswith("<"):
        return "graphml"
    if _JSON_START.match(text):
        return "json"
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    if lines and _is_edge(lines[0]):
        return "edges"
    if lines and (is_table or _is_smiles_table(lines[0]) or _are_smiles(lines)):
        return "smiles"
    raise InvalidInputError(
        f"{path} cannot be recognised",
        Remedy("format", f"say what it is with format=, one of {', '.join(get_args(Format))}"),
    )


def _format_of_table(path: Path) -> Format | None:
    """
    Tell a matrix from edges by its shape: as many lines as columns, if there are three or more.

    None where the first line is not all numbers: a header, or a molecule. Three lines of three
    columns are a matrix if they are symmetric, and weighted edges otherwise.
    """
    lines = _first_lines(path)
    first = next(lines, "")
    cells = first.replace(",", " ").replace(";", " ").split()
    if len(cells) < 3 or not all(map(is_number, cells)):
        return None
    others = list(islice(lines, len(cells)))
    if len(others) + 1 != len(cells):
        return None if _is_edge(first) else "matrices"
    if len(cells) > 3 or not _is_edge(first):
        return "matrices"
    rows = [line.replace(",", " ").replace(";", " ").split() for line in [first, *others]]
    columns = [list(column) for column in zip(*rows, strict=False)]
    return "matrices" if rows == columns else "edges"


def _is_named_matrix(path: Path) -> bool:
    """Whether a table is a square of numbers below names of columns, and no table of edges."""
    lines = _first_lines(path)
    first = next(lines, "")
    delimiter = delimiter_in(first)
    heading = cells_of(first, delimiter)
    names = {name.strip().lower() for name in heading}
    if not is_heading(heading) or "smiles" in names or names & _EDGE_COLUMNS:
        return False
    rows = [cells_of(line, delimiter) for line in islice(lines, len(heading) + 2)]
    if not rows:
        return False
    is_named = has_row_name(heading, rows[0])
    n_numbers = len(rows[0]) - is_named
    if len(rows) != n_numbers or n_numbers < 2 or not all(map(is_number, rows[0][is_named:])):
        return False
    has_corner = is_named and len(heading) == len(rows[0]) and heading[0].strip() != ""
    return not has_corner or rows[0][0].strip().lower() in names


def _first_lines(path: Path) -> Iterator[str]:
    """Lines of a text file that are neither blank nor comments; long ones are cut off."""
    with _damage_named(path), gzip.open(path) if is_gzip(path) else path.open("rb") as stream:
        while line := stream.readline(_LONGEST_LINE):
            text = line.decode("utf-8-sig", "replace").strip()
            if text and not text.startswith("#"):
                yield text


def _is_edge(line: str) -> bool:
    """Whether a line starts with two numbers of nodes."""
    cells = line.replace(",", " ").replace(";", " ").split()
    return len(cells) >= 2 and all(cell.isdecimal() for cell in cells[:2])


def _is_smiles_table(header: str) -> bool:
    cells = _BETWEEN_CELLS.split(header.lower())
    return "smiles" in [cell.strip(' "') for cell in cells]


def _are_smiles(lines: list[str]) -> bool:
    """Whether half of the lines may be SMILES: some have mistakes, and the first is a header."""
    return 2 * sum(map(_may_be_smiles, lines)) >= len(lines)


def _may_be_smiles(line: str) -> bool:
    """Whether a line starts with symbols of atoms, bonds and rings alone, an atom among them."""
    text = line.split(maxsplit=1)[0]
    return _SMILES.fullmatch(text) is not None and _ATOM.search(text) is not None


def check_regular(path: Path) -> None:
    """Raise if a path is a pipe or a device: readers look at files more than once."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InvalidInputError(
            f"{path} is no regular file, and would be read more than once; write it to a file "
            "first, or give - for standard input where graphs are expected"
        )


def is_gzip(path: Path) -> bool:
    """Whether a file is compressed by gzip, whatever its name."""
    check_regular(path)
    with path.open("rb") as stream:
        return stream.read(2) == b"\x1f\x8b"


def _head(path: Path) -> bytes:
    """First bytes of a file, unpacked."""
    with _damage_named(path), gzip.open(path) if is_gzip(path) else path.open("rb") as stream:
        return stream.read(_HEAD_BYTES)


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    try:
        yield
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InvalidInputError(f"{path} is damaged: {error}; fetch it again") from error


def paths_to_read(paths: PathLike | Iterable[PathLike], *suffixes: str) -> list[Path]:
    """List the files that were named, or those of a folder with one of the suffixes, by name."""
    if not isinstance(paths, str | os.PathLike):
        files = [Path(path) for path in paths]
        if not files:
            raise InvalidInputError("there are no files to read")
        return files
    path = Path(paths)
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.name.endswith(suffixes))
    if not files:
        raise InvalidInputError(f"{path} holds no files that end in {' or '.join(suffixes)}")
    return files


def graph_files_in(folder: Path, *, any_format: bool) -> list[Path]:
    """List what may be read where a folder is named; `any_format` if one was asked for."""
    groups = [
        tuple(chain.from_iterable(map(ENDINGS_IN_FOLDER.__getitem__, g))) for g in _LOOKED_FOR
    ]
    groups[0] += (".txt",)
    listed, found = sorted(folder.iterdir()), list[Path]()
    for endings in (*groups, _TABLES_IN_FOLDER):
        if any_format or not found:
            found += [file for file in listed if file.name.endswith(endings)]
    return found


def matrix_paths(path: Path, besides: Path | None) -> list[Path]:
    """
    List a file, or the files of a folder that hold matrices, by name.

    Tables are matrices where the folder has no files of NumPy or MATLAB; the one that holds the
    targets never is.
    """
    if not path.is_dir():
        return [path]
    listed = sorted(file for file in path.iterdir() if not _is_same(file, besides))
    for endings in (ENDINGS_IN_FOLDER["matrices"], _TABLES_IN_FOLDER):
        files = [file for file in listed if file.name.endswith(endings)]
        if files:
            return files
    raise InvalidInputError(
        f"{path} holds no files that end in {', '.join(_ENDINGS['matrices'])}, .csv or .tsv"
    )


def _is_same(file: Path, other: Path | None) -> bool:
    return other is not None and other.exists() and file.samefile(other)


def write_series(
    write: Callable[[Graph, Path], None],
    graphs: Sequence[Graph],
    folder: PathLike,
    stem: str,
    suffix: str,
) -> list[Path]:
    """Write one file per graph, with names that sort in the order of the graphs."""
    width = len(str(max(len(graphs) - 1, 0)))
    paths = [
        Path(folder) / f"{stem}-{str(position).zfill(width)}{suffix}"
        for position in range(len(graphs))
    ]
    _check_none_beside(paths, Path(folder), stem, suffix)
    for graph, path in zip(graphs, paths, strict=True):
        # to wait for each to be on the disk would take far longer
        with atomic_path(path, synced=False, follow_links=False) as part:
            write(graph, part)
    return paths


def _check_none_beside(paths: list[Path], folder: Path, stem: str, suffix: str) -> None:
    """Raise if files of an earlier, longer series would be read together with the new ones."""
    there = set(folder.iterdir()) if folder.is_dir() else set()
    for path in sorted(there - set(paths)):
        number = path.name.removeprefix(f"{stem}-").removesuffix(suffix)
        if path.name == f"{stem}-{number}{suffix}" and number.isdecimal():
            raise InvalidInputError(
                f"{path} is there already and would be taken for one of these graphs; remove it, "
                "or choose another folder or stem"
            )


# -------------------------------------------------------------------------------------------------
# Lines of text files, plain or compressed by gzip, whatever ends them, within a budget.
# -------------------------------------------------------------------------------------------------

GZIP_DAMAGE = (gzip.BadGzipFile, zlib.error, EOFError)
"""What gzip raises on damaged bytes."""

_CHUNK_BYTES = 1 << 16
_LINE_OBJECT = 48  # of Python, beside its text


def text_lines(path: Path, budget: ParseBudget) -> Iterator[tuple[int, str]]:
    """Read lines with their numbers, without what ends them: LF, CR or both."""
    number = 0
    for block in line_blocks(path, budget):
        n_lines = block.count(b"\n")
        budget.charge(len(block) + _LINE_OBJECT * n_lines, f"line {number + n_lines}")
        lines = _decoded(block, path, number).split("\n")
        for line in lines[:-1]:
            number += 1
            yield number, line


def line_blocks(path: Path, budget: ParseBudget) -> Iterator[bytes]:
    """Read some whole lines at a time, all of which end in LF; they are not charged."""
    n_bytes = 0
    with open_unpacked(path) as stream:
        for block in _blocks(stream, path, budget):
            n_bytes += len(block)
            budget.check_unpacked(n_bytes)
            yield block


def unpacked_bytes(path: Path, budget: ParseBudget, cost: int) -> bytes:
    """Read a whole file, of which each byte takes `cost` bytes of memory later."""
    pieces, n_bytes = [], 0
    try:
        with open_unpacked(path) as stream:
            while piece := stream.read(_CHUNK_BYTES):
                n_bytes += len(piece)
                budget.check_unpacked(n_bytes)
                budget.charge(cost * len(piece), f"text of {n_bytes} bytes or more")
                pieces.append(piece)
    except GZIP_DAMAGE as error:
        raise InvalidInputError(f"{path} is damaged: {error}; fetch it again") from error
    return b"".join(pieces)


def open_unpacked(path: Path) -> IO[bytes]:
    """Open a file, unpacked on the way where its first bytes are those of gzip."""
    return gzip.open(path) if is_gzip(path) else path.open("rb")  # type: ignore[return-value]


def _decoded(block: bytes, path: Path, n_before: int) -> str:
    try:
        return block.decode("utf-8" if n_before else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = n_before + 1 + block[: error.start].count(b"\n")
        raise InvalidInputError(f"{path}, line {line} is not text: {error}") from error


def _blocks(stream: IO[bytes], path: Path, budget: ParseBudget) -> Iterator[bytes]:
    """Read whole lines that all end in LF; the last one gets it where it has none."""
    rest = b""
    try:
        # Pieces grow with the line that they continue, so that the copies stay linear.
        while piece := stream.read(max(_CHUNK_BYTES, len(rest))):
            text = rest + piece
            held = b"\r" * text.endswith(b"\r")  # LF may follow in the next piece
            text = _with_newlines(text[: len(text) - len(held)])
            cut = text.rfind(b"\n") + 1
            if cut:
                yield text[:cut]
            rest = text[cut:] + held
            budget.check_line(len(rest), "a line")
    except GZIP_DAMAGE as error:
        raise InvalidInputError(f"{path} is damaged: {error}; fetch it again") from error
    if rest:
        yield _with_newlines(rest.removesuffix(b"\r")) + b"\n"


def _with_newlines(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text


# -------------------------------------------------------------------------------------------------
# Files of a data set in a zip archive or a folder, read as streams and never unpacked.
# -------------------------------------------------------------------------------------------------

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Member:
    """One file of a data set: its full name, the size it declares, how to open and pay for it."""

    name: str
    size: int
    open: Callable[[], IO[bytes]]
    budget: ParseBudget

    def chunks(self) -> Generator[bytes, None, None]:
        """Read the content piece by piece; raise if it is damaged or longer than declared."""
        n_read = 0
        try:
            with self.open() as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    n_read += len(chunk)
                    if n_read > self.size:
                        raise InvalidInputError(
                            f"{self.name} holds more than the {self.size} bytes it declares"
                        )
                    yield chunk
        except InvalidInputError:
            raise
        except ZIP_DAMAGE as error:
            raise InvalidInputError(
                f"{self.name} is damaged: {error}; fetch the archive again"
            ) from error
        if n_read < self.size:
            raise InvalidInputError(
                f"{self.name} is cut off: {n_read} of {self.size} bytes; fetch it again"
            )


@contextmanager
def open_members(source: Path, max_bytes: int | None = None) -> Iterator[dict[str, Member]]:
    """
    Open the files of a zip archive or a folder: a dict by their names without folders.

    All together may have `max_bytes`, unpacked, and so may what is made of them; by default these
    limits depend on the size. Nothing is unpacked to disk.
    """
    if source.is_dir():
        files = _folder_files(source)
        budget = ParseBudget.of_files(source, files, max_bytes)
        yield _by_file_name(_folder_members(files, budget), budget)
        return
    try:
        archive = zipfile.ZipFile(source)
    except ZIP_DAMAGE as error:
        raise InvalidInputError(
            f"{source} is not a whole zip archive: {error}; fetch it again"
        ) from error
    with archive:
        budget = ParseBudget.of_files(source, [source], max_bytes)
        yield _by_file_name(_archive_members(archive, budget), budget)


def _by_file_name(members: list[tuple[str, Member]], budget: ParseBudget) -> dict[str, Member]:
    total, source = sum(member.size for _, member in members), budget.source
    if total > budget.unpacked:
        raise InvalidInputError(
            f"{source} unpacks to {total} bytes, more than the {budget.unpacked} allowed",
            MAX_BYTES_REMEDY,
        )
    found: dict[str, Member] = {}
    for file_name, member in members:
        other = found.setdefault(file_name, member)
        if other is not member:
            raise InvalidInputError(
                f"{source} holds two files of the same name, {other.name} and {member.name}; "
                "remove one"
            )
    return found


def _folder_files(folder: Path) -> list[Path]:
    """Text files directly in a folder; a link may lead to it, but none may lead out of it."""
    texts = [path for path in sorted(folder.iterdir()) if path.suffix.lower() == ".txt"]
    for path in texts:
        if path.is_symlink():
            raise InvalidInputError(f"{path} is a link; put the file itself in its place")
    return [path for path in texts if path.is_file()]


def _folder_members(files: list[Path], budget: ParseBudget) -> list[tuple[str, Member]]:
    return [
        (path.name, Member(str(path), path.stat().st_size, partial(_open_binary, path), budget))
        for path in files
    ]


def _open_binary(path: Path) -> IO[bytes]:
    return path.open("rb")


def _archive_members(archive: zipfile.ZipFile, budget: ParseBudget) -> list[tuple[str, Member]]:
    members, source = [], budget.source
    for info in archive.infolist():
        problem = member_problem(info, DEFLATED)
        if problem is not None:
            raise InvalidInputError(
                f"{source}: the member {info.orig_filename!r} {problem}; a data set holds plain "
                "text files only"
            )
        if not info.is_dir():
            name = f"{source}/{info.filename}"
            member = Member(name, info.file_size, partial(archive.open, info), budget)
            members.append((info.filename.rsplit("/", 1)[-1], member))
    return members
