"""Files of graphs: which format they have, which of a folder are read, how new ones are named."""

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal, TypeVar, get_args

from retgk.errors import InvalidInputError, Remedy
from retgk.runtime.storage import atomic_path

__all__ = ["Format", "PathLike", "format_of", "is_gzip", "paths_to_read", "write_series"]

PathLike = str | os.PathLike[str]
Format = Literal["tu", "parquet", "graphml", "edges", "smiles"]
Graph = TypeVar("Graph")

_FORMAT_OF_SUFFIX: dict[str, Format] = {
    ".zip": "tu",
    ".parquet": "parquet",
    ".graphml": "graphml",
    ".edges": "edges",
    ".edgelist": "edges",
    ".el": "edges",
    ".smi": "smiles",
    ".smiles": "smiles",
}
_FORMAT_IN_FOLDER: tuple[tuple[Format, tuple[str, ...]], ...] = (
    ("tu", ("_A.txt",)),
    ("graphml", (".graphml",)),
    ("edges", (".edges", ".edges.gz")),
)
_HEAD_BYTES = 4096
_BETWEEN_CELLS = re.compile(r"[,;\t]")
_ATOM = re.compile(r"""\[[^][\s"',{}]+\]|Br|Cl|[BCNOPSFIbcnops*]""")
_SMILES = re.compile(rf"(?:{_ATOM.pattern}|[-=#$:/\\~.()]|%?\d)+")


def format_of(path: Path, is_table: bool = False) -> Format:
    """
    Tell the format of a file or folder by its name, or by its content if the name does not.

    `is_table` says that the caller has named columns of it.
    """
    if path.is_dir():
        return _format_of_folder(path)
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    known = _FORMAT_OF_SUFFIX.get(suffixes[-1]) if suffixes else None
    if known is not None:
        return known
    is_table = is_table or suffixes[-1:] in ([".csv"], [".tsv"])
    return _format_of_content(path, is_table)


def _format_of_folder(path: Path) -> Format:
    names = [file.name for file in path.iterdir()]
    found: list[Format] = [
        form for form, ends in _FORMAT_IN_FOLDER if any(name.endswith(ends) for name in names)
    ]
    if len(found) != 1:
        raise InvalidInputError(
            f"the folder {path} holds {' and '.join(found) or 'no'} graphs; it should hold "
            "one of: TU text files (NAME_A.txt, ...), .graphml files, .edges files",
            Remedy("format", "say what it is with format=") if found else None,
        )
    return found[0]


def _format_of_content(path: Path, is_table: bool) -> Format:
    head = _head(path)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK"):
        return "tu"
    try:
        text = head.decode("utf-8-sig", errors="strict" if len(head) < _HEAD_BYTES else "ignore")
    except UnicodeDecodeError:
        text = ""
    if text.lstrip().startswith("<"):
        return "graphml"
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


def is_gzip(path: Path) -> bool:
    """Whether a file is compressed by gzip, whatever its name."""
    with path.open("rb") as stream:
        return stream.read(2) == b"\x1f\x8b"


def _head(path: Path) -> bytes:
    """First bytes of a file, unpacked."""
    try:
        with gzip.open(path) if is_gzip(path) else path.open("rb") as stream:
            return stream.read(_HEAD_BYTES)
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
        with atomic_path(path, synced=False) as part:  # to wait for each would take far longer
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
