"""What a file or folder holds, by its name and, where that does not tell, by its content."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from pathlib import Path
from typing import get_args

from retgk.cli.options import Format
from retgk.errors import InvalidInputError

__all__ = ["archive_name", "format_of"]

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
_HEAD_BYTES = 4096


def format_of(path: Path) -> Format:
    """Form of a file or folder of graphs."""
    if path.is_dir():
        return _format_of_folder(path)
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    known = _FORMAT_OF_SUFFIX.get(suffixes[-1]) if suffixes else None
    return known or _format_of_content(path)


def archive_name(path: Path) -> str:
    """Name of the collection in a folder or archive of TU text files."""
    if path.is_dir():
        members = [file.name for file in path.iterdir()]
    else:
        try:
            with zipfile.ZipFile(path) as archive:
                members = [name.rsplit("/", 1)[-1] for name in archive.namelist()]
        except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
            raise InvalidInputError(
                f"{path} is not a whole zip archive: {error}; fetch it again"
            ) from error
    names = sorted(name.removesuffix("_A.txt") for name in members if name.endswith("_A.txt"))
    if len(names) != 1:
        raise InvalidInputError(
            f"{path} holds {len(names)} files NAME_A.txt; a TU collection has one"
        )
    return names[0]


def _format_of_folder(path: Path) -> Format:
    names = [file.name for file in path.iterdir()]
    found: list[Format] = []
    if any(name.endswith("_A.txt") for name in names):
        found.append("tu")
    if any(name.endswith(".graphml") for name in names):
        found.append("graphml")
    if any(name.endswith((".edges", ".edges.gz")) for name in names):
        found.append("edges")
    if len(found) != 1:
        raise InvalidInputError(
            f"the folder {path} holds {' and '.join(found) or 'no'} graphs; it should hold "
            "one of: TU text files (NAME_A.txt, ...), .graphml files, .edges files"
            + (", or choose with --format" if found else "")
        )
    return found[0]


def _format_of_content(path: Path) -> Format:
    """Form of a file, by the first bytes of it."""
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
    line = next((line for line in lines if line and not line.startswith("#")), "")
    if not line:
        raise InvalidInputError(
            f"{path} cannot be recognised; say what it is with --format, one of "
            f"{', '.join(get_args(Format))}"
        )
    return "edges" if _is_edge(line) else "smiles"


def _is_edge(line: str) -> bool:
    """Whether a line starts with two numbers of nodes."""
    cells = line.replace(",", " ").replace(";", " ").split()
    return len(cells) >= 2 and all(cell.isdecimal() for cell in cells[:2])


def _head(path: Path) -> bytes:
    with path.open("rb") as raw:
        head = raw.read(_HEAD_BYTES)
    if not head.startswith(b"\x1f\x8b"):
        return head
    try:
        with gzip.open(path) as stream:
            return stream.read(_HEAD_BYTES)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InvalidInputError(f"{path} is damaged: {error}; fetch it again") from error
