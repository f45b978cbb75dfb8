"""Stored records: one JSON line each, only ever appended, and whole after any kill."""

import gzip
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from retgk.errors import InvalidInputError

__all__ = ["FORMAT", "Record", "key_of", "read_records", "record_writer"]

FORMAT = 1
"""Version of the form of a record; readers refuse what they do not know."""

Record = dict[str, Any]


def key_of(what: Mapping[str, Any]) -> str:
    """Short name of a mapping that depends on its content, not on its order."""
    text = json.dumps(what, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """
    Records of a file; a last line that a kill cut short is left out.

    Parameters
    ----------
    path : path-like
        File of records, packed by gzip if its name ends in ``.gz``; there are none in a file that
        does not exist.

    Returns
    -------
    list of dict
        One for each line.
    """
    path = Path(path)
    if not path.exists():
        return []
    content = path.read_bytes()
    content = gzip.decompress(content) if path.suffix == ".gz" else content
    lines = content.split(b"\n")[:-1]
    return [_parsed(line, path, number) for number, line in enumerate(lines, start=1)]


def _parsed(line: bytes, path: Path, number: int) -> Record:
    try:
        record: Record = json.loads(line)
        form = record["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(f"{path}, line {number}: not a record; remove that line") from error
    if form != FORMAT:
        raise InvalidInputError(
            f"{path}, line {number}: a record of form {form}, this version reads {FORMAT}; "
            "update retgk, or begin another file"
        )
    return record


@contextmanager
def record_writer(path: str | os.PathLike[str]) -> Iterator["RecordWriter"]:
    """
    Open a file for appending records, alone; a line that a kill cut short is removed first.

    Parameters
    ----------
    path : path-like
        File of records; made if it does not exist.

    Yields
    ------
    RecordWriter
        Its `append` writes one record.
    """
    path = Path(path)
    if path.suffix == ".gz":
        raise InvalidInputError(f"{path} is packed; unpack it with gunzip to add records")
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        _lock(descriptor, path)
        _remove_torn_line(descriptor, path)
        yield RecordWriter(descriptor)
    finally:
        os.close(descriptor)


class RecordWriter:
    """Appends records to an open file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def append(self, record: Record) -> None:
        """Write a record in one go, and return when it is on disk."""
        line = json.dumps({"format": FORMAT, **record}, allow_nan=False).encode() + b"\n"
        written = os.write(self._descriptor, line)
        if written != len(line):
            raise OSError(f"only {written} of {len(line)} bytes of a record were written")
        os.fsync(self._descriptor)


def _lock(descriptor: int, path: Path) -> None:
    """Keep a second run out of the same file, where the system has locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise InvalidInputError(
            f"another run is writing to {path}; wait for it, or choose another file"
        ) from error


def _remove_torn_line(descriptor: int, path: Path) -> None:
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole != len(content):
        os.ftruncate(descriptor, whole)
