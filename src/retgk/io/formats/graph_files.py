"""Files of graphs: which format they have, which of a folder are read, how new ones are named."""

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Literal, TypeVar, get_args

from retgk.errors import InvalidInputError, Remedy
from retgk.io.formats.matrix_names import (
    cells_of,
    delimiter_in,
    has_row_name,
    is_heading,
)
from retgk.io.formats.plain_numbers import is_number
from retgk.runtime.storage import atomic_path

__all__ = [
    "READABLE",
    "Format",
    "PathLike",
    "bare_name",
    "check_regular",
    "format_of",
    "graph_files_in",
    "is_gzip",
    "matrix_paths",
    "paths_to_read",
    "text_of_name",
    "write_series",
]

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
