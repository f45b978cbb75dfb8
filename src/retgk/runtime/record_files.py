"""
Files of records: one JSON line each, only ever appended, and whole after any kill.

A run that was killed reads what it had finished, and goes on. A line ends with a digest, by which
it is known that nobody has changed it; lines of earlier versions have none.
"""

import gzip
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from errno import ENOSPC
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from retgk.errors import InvalidInputError
from retgk.runtime.file_locks import lock_at_once
from retgk.runtime.storage import file_to_write, naming_errors

__all__ = [
    "FORMAT",
    "Record",
    "RecordWriter",
    "key_of",
    "modules_digest",
    "read_records",
    "record_writer",
]

FORMAT = 1
"""Version of the form of a record; readers refuse what they do not know."""

Record = dict[str, Any]

_LINE_START = b'{"format": '
_DIGEST = "digest"


def key_of(what: Mapping[str, Any]) -> str:
    """Short name of a mapping that depends on its content, not on its order."""
    text = json.dumps(what, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def modules_digest(package: Path, left_out: Sequence[str] = ()) -> str:
    """
    Digest of the C++ sources, and of names and texts of the modules of a package.

    Modules with names of some patterns are left out, and what only the build of `_core` runs.
    """
    from retgk import _core

    left_out = (*left_out, "_core/*")
    digest = hashlib.sha256(_core.SOURCE_DIGEST.encode())
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if not any(fnmatch(name, pattern) for pattern in left_out):
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """
    Read all records of a file, which may be packed as ``.gz``; there are none if it does not exist.

    A last line that a kill cut short is left out.
    """
    path = Path(path)
    if not path.exists():
        return []
    content = path.read_bytes()
    content = gzip.decompress(content) if path.suffix == ".gz" else content
    lines = content.split(b"\n")[:-1]
    return [_parse_record(line, path, number) for number, line in enumerate(lines, start=1)]


def _parse_record(line: bytes, path: Path, number: int) -> Record:
    try:
        record: Record = json.loads(line, parse_constant=_refuse)
        form = record["format"]
        digest = record.pop(_DIGEST, None)
        is_changed = digest is not None and digest != key_of(record)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInputError(f"{path}, line {number}: not a record; remove that line") from error
    if form != FORMAT:
        raise InvalidInputError(
            f"{path}, line {number}: a record of form {form!r:.20}, this version reads {FORMAT}; "
            "update retgk, or begin another file"
        )
    if is_changed:
        raise InvalidInputError(
            f"{path}, line {number}: not as it was written; remove that line, or begin another file"
        )
    return record


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


@contextmanager
def record_writer(path: str | os.PathLike[str]) -> Iterator["RecordWriter"]:
    """
    Open a file for appending records, and lock it; make it if it does not exist.

    A line that a kill cut short is removed first.
    """
    path = Path(path)
    if path.suffix == ".gz":
        raise InvalidInputError(f"{path} is packed; unpack it with gunzip to add records")
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file_to_write(path), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        if lock_at_once(descriptor) is False:
            raise InvalidInputError(
                f"another run is writing to {path}; wait for it, or choose another file"
            )
        _remove_torn_line(descriptor, path)
        with naming_errors(path):
            yield RecordWriter(descriptor)
    finally:
        os.close(descriptor)


class RecordWriter:
    """Appends records to an open file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def append(self, record: Record) -> None:
        """Write a record in one go, and return when it is on disk; all of it is there, or none."""
        line = _line_of(record)
        before = os.fstat(self._descriptor).st_size
        try:
            if os.write(self._descriptor, line) != len(line):
                raise OSError(ENOSPC, os.strerror(ENOSPC))
            os.fsync(self._descriptor)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, before)
            raise


def _line_of(record: Record) -> bytes:
    as_read = json.loads(json.dumps({"format": FORMAT, **record}, allow_nan=False))
    return json.dumps({**as_read, _DIGEST: key_of(as_read)}).encode() + b"\n"


def _remove_torn_line(descriptor: int, path: Path) -> None:
    """Remove the start of a record that a kill cut short, from a file that holds nothing else."""
    read_records(path)
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    torn = content[whole:]
    if not torn:
        return
    if not (torn.startswith(_LINE_START) or _LINE_START.startswith(torn)):
        raise InvalidInputError(
            f"{path} does not end in a record; remove its last line, or choose another file"
        )
    os.ftruncate(descriptor, whole)
