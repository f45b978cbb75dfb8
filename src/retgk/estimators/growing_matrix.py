"""A square matrix in the making on disk: whole rows, and a journal that knows them again."""

import hashlib
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EINVAL, ENOSYS, EOPNOTSUPP
from pathlib import Path
from typing import Any

import numpy as np

from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.runtime.file_locks import lock_at_once
from retgk.runtime.storage import atomic_path, has_own_file, naming_errors, open_own_file

__all__ = [
    "GrowingMatrix",
    "begun_seed",
    "check_not_growing",
    "growing_matrix",
    "partial_path",
    "remove_old_journal",
]

_FORMAT = 2
_CHUNK_BYTES = 1 << 24
_DTYPE = np.dtype(np.float64)
_KINDS = {"fingerprint": str, "rows": int, "seed": int, "sha256": str}


def partial_path(target: Path) -> Path:
    """Path of the unfinished matrix."""
    return target.with_name(target.name + ".partial")


def begun_seed(target: Path) -> int | None:
    """Seed of an unfinished matrix; None if there is none that can be continued."""
    partial = partial_path(target)
    journal = _read_journal(partial) if has_own_file(partial) else None
    return None if journal is None else int(journal["seed"])


def check_not_growing(target: Path) -> None:
    """Raise if another run is writing this matrix now."""
    partial = partial_path(target)
    if has_own_file(partial):
        with open(open_own_file(partial, os.O_RDWR), "r+b", buffering=0) as file:
            _lock(file, target)


def remove_old_journal(target: Path) -> None:
    """Remove the journal of a finished matrix, which a kill may have left."""
    if not partial_path(target).exists():
        _journal(partial_path(target)).unlink(missing_ok=True)


@contextmanager
def growing_matrix(
    target: Path, n_rows: int, fingerprint: str, seed: int
) -> Iterator["GrowingMatrix"]:
    """
    Open an unfinished matrix, or a new one; it moves to `target` when the block ends well.

    Room on disk is reserved first. One process at a time may do this; finished rows are checked
    against the journal, which has to have the same fingerprint.
    """
    partial = partial_path(target)
    is_new = not has_own_file(partial)
    descriptor = open_own_file(partial, os.O_RDWR | os.O_CREAT)
    with naming_errors(target), _closing(open(descriptor, "r+b", buffering=0)) as file:
        _lock(file, target)
        matrix = GrowingMatrix(file, partial, n_rows, seed, fingerprint)
        if not is_new:
            matrix.resume()
        matrix.reserve()
        yield matrix
        if os.path.lexists(target):
            raise InvalidInputError(f"{target} was made meanwhile; the matrix is in {partial}")
        if os.name == "nt":  # moves no open files
            file.close()
        os.replace(partial, target)
        _journal(partial).unlink()


@contextmanager
def _closing(file: io.FileIO) -> Iterator[io.FileIO]:
    """Close a file; an error of that says nothing of rows, which are on disk before they count."""
    try:
        yield file
    finally:
        with suppress(OSError):
            file.close()


class GrowingMatrix:
    """
    Rows that are whole, in a ``.npy`` file that is larger than they are.

    They are written rather than mapped into memory, where a full disk would end the process. The
    journal has a running hash of them, so that what is continued is what was written.
    """

    def __init__(
        self, file: io.FileIO, partial: Path, n_rows: int, seed: int, fingerprint: str
    ) -> None:
        self.n_finished = 0
        self._file, self._partial, self._n_rows = file, partial, n_rows
        self._header = _npy_header(n_rows)
        self._sum = hashlib.sha256()
        self._facts = {"format": _FORMAT, "fingerprint": fingerprint, "seed": seed}

    def resume(self) -> None:
        """Take over the rows that the journal tells of, after checking all of them."""
        journal = _read_journal(self._partial)
        size = os.fstat(self._file.fileno()).st_size
        if journal is None and size:
            raise _not_usable(self._partial, "has no journal beside it")
        if journal is None:
            return
        if journal["fingerprint"] != self._facts["fingerprint"]:
            raise InvalidInputError(
                f"{self._partial} was begun with other graphs or parameters; remove it and "
                f"{_journal(self._partial)}"
            )
        self._check_rows(journal["rows"], size, journal["sha256"])
        self.n_finished = journal["rows"]

    def _check_rows(self, n_finished: int, size: int, expected: str) -> None:
        if n_finished == 0:
            return
        if n_finished > self._n_rows or size > self._offset(self._n_rows):
            raise _not_usable(self._partial, f"has more than the {self._n_rows} rows of the matrix")
        if size < self._offset(n_finished):
            raise _not_usable(self._partial, f"is too short for the {n_finished} rows it had")
        if self._read(0, len(self._header)) != self._header:
            raise _not_usable(self._partial, f"is no matrix of {self._n_rows} rows of float64")
        end = self._offset(n_finished)
        for start in range(len(self._header), end, _CHUNK_BYTES):
            self._sum.update(self._read(start, min(_CHUNK_BYTES, end - start)))
        if self._sum.hexdigest() != expected:
            raise _not_usable(self._partial, "is damaged: its rows are not those that were written")

    def reserve(self) -> None:
        """Take all the room on disk at once, where the system can, and write the header."""
        is_empty = not os.fstat(self._file.fileno()).st_size
        try:
            if self.n_finished == 0:
                self._note()
            if hasattr(os, "posix_fallocate"):
                _allocate(self._file.fileno(), self._offset(self._n_rows))
            self._write(0, self._header)
        except OSError:
            if is_empty:
                _journal(self._partial).unlink(missing_ok=True)
                self._partial.unlink()
            raise

    def columns(self, start: int, stop: int) -> Floats:
        """Columns of the finished rows, as rows of the symmetric matrix."""
        mirrored = np.empty((stop - start, self.n_finished))
        width = (stop - start) * _DTYPE.itemsize
        at = start * _DTYPE.itemsize
        for row in range(self.n_finished):
            mirrored[:, row] = np.frombuffer(self._read(self._offset(row) + at, width), _DTYPE)
        return mirrored

    def append(self, *parts: Floats) -> None:
        """Write further rows, given in parts side by side; they count when they are on disk."""
        for row in zip(*parts, strict=True):
            line = np.concatenate(row).tobytes()
            self._write(self._offset(self.n_finished), line)
            self._sum.update(line)
            self.n_finished += 1
        os.fsync(self._file.fileno())
        self._note()

    def _note(self) -> None:
        state = {**self._facts, "rows": self.n_finished, "sha256": self._sum.hexdigest()}
        with atomic_path(_journal(self._partial), follow_links=False) as unfinished:
            unfinished.write_text(json.dumps(state))

    def _offset(self, row: int) -> int:
        return len(self._header) + row * self._n_rows * _DTYPE.itemsize

    def _read(self, offset: int, n_bytes: int) -> bytes:
        self._file.seek(offset)
        content = self._file.read(n_bytes)
        if len(content) != n_bytes:
            raise _not_usable(self._partial, "became shorter")
        return content

    def _write(self, offset: int, content: bytes) -> None:
        self._file.seek(offset)
        left = memoryview(content)
        while left:
            left = left[self._file.write(left) :]


def _npy_header(n_rows: int) -> bytes:
    header = io.BytesIO()
    facts = {"descr": _DTYPE.str, "fortran_order": False, "shape": (n_rows, n_rows)}
    np.lib.format.write_array_header_1_0(header, facts)
    return header.getvalue()


def _allocate(descriptor: int, n_bytes: int) -> None:
    try:
        os.posix_fallocate(descriptor, 0, n_bytes)
    except OSError as error:
        if error.errno not in (EINVAL, ENOSYS, EOPNOTSUPP):  # a file system that cannot
            raise


def _lock(file: io.FileIO, target: Path) -> None:
    """Raise if another run has the file, or had it when it was opened and has moved it since."""
    partial = partial_path(target)
    is_free = lock_at_once(file.fileno()) is not False
    opened = os.fstat(file.fileno())
    if not (is_free and partial.exists() and os.path.samestat(opened, partial.stat())):
        raise InvalidInputError(
            f"another run is writing to {target}; wait for it, or choose another name"
        )


def _journal(partial: Path) -> Path:
    return partial.with_name(partial.name + ".json")


def _read_journal(partial: Path) -> dict[str, Any] | None:
    """What is known of an unfinished matrix; None if nothing is."""
    journal = _journal(partial)
    if not has_own_file(journal):
        return None
    try:
        found = json.loads(journal.read_text())
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict) and "rows" in found and "format" not in found and "seed" in found:
        raise _not_usable(partial, "was begun by an earlier version of retgk")
    if not isinstance(found, dict) or not _is_journal(found):
        raise InvalidInputError(
            f"{journal} does not tell how far {partial} is; remove both to begin anew"
        )
    return found


def _is_journal(found: dict[str, Any]) -> bool:
    kinds = all(type(found.get(name)) is kind for name, kind in _KINDS.items())
    return kinds and found.get("format") == _FORMAT and found["rows"] >= 0


def _not_usable(partial: Path, problem: str) -> InvalidInputError:
    both = f"remove it and {_journal(partial)} to begin anew"
    return InvalidInputError(f"{partial} {problem}; {both}")
