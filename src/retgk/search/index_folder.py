"""
The folder of an index: immutable files, and one small manifest that says which of them count.

A file gets its name when it is whole, and is never changed. A new state is a new manifest, which
takes the place of the old one in one step: who is killed before that leaves the old state. Files
that no manifest names are removed by the next writer. While a command adds graphs piece by piece,
its manifest is called ``unfinished.json``; it becomes ``manifest.json`` when all are there.
"""

import hashlib
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from retgk.errors import InvalidInputError
from retgk.runtime.file_locks import lock_at_once
from retgk.runtime.storage import atomic_path, has_own_file, open_own_file
from retgk.runtime.unfinished_files import is_unfinished

__all__ = [
    "MANIFEST",
    "UNFINISHED",
    "Folder",
    "StoredFile",
    "is_index_folder",
    "stored_count",
]

MANIFEST, UNFINISHED = "manifest.json", "unfinished.json"
_LOCK = "lock"
_FORMAT, _VERSION = "retgk-index", 2
_MAX_MANIFEST_BYTES = 1 << 24
_NAME = re.compile(r"[a-z0-9_]{1,40}-[0-9a-f]{16}\.(npy|usearch|retgk|json)")
_DTYPES = {"|i1", "|u1", "<f2", "<f4", "<f8", "<i4", "<i8", "|b1"}
_CHUNK_BYTES = 1 << 22

StoredFile = dict[str, Any]
"""Name of a file in the folder, its size and its digest, as the manifest has them."""


def is_index_folder(path: Path) -> bool:
    """Whether a folder holds an index, or one in the making."""
    return any((path / name).is_file() for name in (MANIFEST, UNFINISHED))


def stored_count(value: Any, what: str, most: int = 1 << 40) -> int:
    """Give a number of a manifest that says how many there are of something."""
    if type(value) is not int or not 0 <= value <= most:
        raise InvalidInputError(f"{what} is {value!r:.80}")
    return value


class Folder:
    """Files of an index; reading checks every file against the manifest that names it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    # Reading

    def manifest(self, name: str = MANIFEST) -> dict[str, Any]:
        """Read a manifest, with its format and version checked."""
        path = self.path / name
        text = self._small_text(path)
        try:
            document = json.loads(text, parse_constant=_refuse)
            names = list(_names_in(document))
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"{path} is no manifest of an index: {error}") from error
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise InvalidInputError(f"{path} is no manifest of an index: it lacks {_FORMAT!r}")
        version = document.get("version")
        if type(version) is not int or not 1 <= version <= _VERSION:
            raise InvalidInputError(
                f"{path} is of version {version!r:.20}; this retgk reads up to version {_VERSION}: "
                "upgrade retgk"
            )
        if version < _VERSION:
            raise InvalidInputError(
                f"{path} is of an earlier retgk, whose vectors could tell equal labels apart; "
                "build the index again"
            )
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise InvalidInputError(f"{path} names {twice[0]} twice; copy the index again")
        return document

    def key(self) -> str | None:
        """Digest of the state that counts, by which it is known again; None if there is none."""
        return _digest(self.path / MANIFEST) if self.has(MANIFEST) else None

    def has(self, name: str) -> bool:
        """Whether there is a manifest of this name; a link or a pipe in its place is refused."""
        return has_own_file(self.path / name)

    def _small_text(self, path: Path) -> str:
        if not has_own_file(path):
            raise InvalidInputError(
                f"there is no index in {self.path}"
                + ("; one is in the making: run its command again" if self.has(UNFINISHED) else "")
            )
        if path.stat().st_size > _MAX_MANIFEST_BYTES:
            raise InvalidInputError(f"{path} is no manifest of an index; copy the index again")
        try:
            return path.read_text("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"{path} is no manifest of an index: {error}") from error

    def file(self, entry: Any) -> Path:
        """Path of a file that a manifest names: in this folder, whole, and as it was written."""
        path = self._named_file(entry)
        if _digest(path) != entry.get("sha256"):
            raise InvalidInputError(
                f"{path} is damaged: it does not match its digest; copy the index again"
            )
        return path

    def _named_file(self, entry: Any) -> Path:
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidInputError(f"{self.path}: the manifest names a file {name!r:.80}")
        path = self.path / name
        try:
            found = path.lstat()
        except FileNotFoundError as error:
            raise InvalidInputError(
                f"{self.path} lacks the file {name}; copy the index again"
            ) from error
        if not stat.S_ISREG(found.st_mode):  # a link may lead anywhere
            raise InvalidInputError(f"{path} is a link or no file; copy the index again")
        if found.st_size != entry.get("bytes"):
            raise InvalidInputError(
                f"{path} has {found.st_size} bytes, not {entry.get('bytes')!r:.20}; copy the index "
                "again"
            )
        return path

    def array(self, entry: Any) -> NDArray[Any]:
        """Map an array into memory; it is read-only."""
        path = self.file(entry)
        try:
            with path.open("rb") as stream:
                npy.read_magic(stream)
                shape, is_fortran, dtype = npy.read_array_header_1_0(stream, 512)
                start = stream.tell()
        except (ValueError, SyntaxError, TypeError, RecursionError) as error:
            raise InvalidInputError(f"{path} is no array: {error}") from error
        n_bytes = dtype.itemsize * int(np.prod([int(length) for length in shape], dtype=object))
        if dtype.str not in _DTYPES or is_fortran or start + n_bytes != path.stat().st_size:
            raise InvalidInputError(f"{path} is an array of {dtype} that an index never has")
        if n_bytes == 0:
            return np.empty(shape, dtype)
        return np.asarray(np.memmap(path, dtype, "r", start, shape))

    def document(self, entry: Any) -> Any:
        """Read a JSON file."""
        path = self.file(entry)
        try:
            return json.loads(path.read_bytes(), parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"{path} is no JSON: {error}") from error

    # Writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only writer for a while; another one is refused."""
        self.path.mkdir(parents=True, exist_ok=True)
        for name in (MANIFEST, UNFINISHED):
            self.has(name)  # before any work, not when it is to be written
        lock = open_own_file(self.path / _LOCK, os.O_RDWR | os.O_CREAT)
        try:
            if lock_at_once(lock) is False:
                raise InvalidInputError(
                    f"another run is writing to {self.path}; wait for it, or stop it"
                )
            yield
        finally:
            os.close(lock)

    def new_path(self, stem: str, ending: str) -> Path:
        """Path of a new file, with a name that no other file has."""
        return self.path / f"{stem}-{os.urandom(8).hex()}{ending}"

    def entry(self, path: Path) -> StoredFile:
        """Give what a manifest says of a file that was just written."""
        return {"name": path.name, "bytes": path.stat().st_size, "sha256": _digest(path)}

    def write_array(self, stem: str, array: NDArray[Any]) -> StoredFile:
        """Write an array to a new file."""
        ordered = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        path = self.new_path(stem, ".npy")
        with atomic_path(path) as part, part.open("wb") as stream:
            npy.write_array_header_1_0(stream, npy.header_data_from_array_1_0(ordered))
            stream.write(ordered.reshape(-1).view(np.uint8).data)
        return self.entry(path)

    def write_document(self, stem: str, value: Any) -> StoredFile:
        """Write a JSON file."""
        path = self.new_path(stem, ".json")
        with atomic_path(path) as part:
            part.write_text(json.dumps(value, allow_nan=False), "utf-8")
        return self.entry(path)

    def write_manifest(self, document: Mapping[str, Any], name: str = MANIFEST) -> None:
        """Make a state the one that counts."""
        text = json.dumps({"format": _FORMAT, "version": _VERSION, **document}, allow_nan=False)
        with atomic_path(self.path / name, follow_links=False) as part:
            part.write_text(text, "utf-8")
        if name == MANIFEST:
            (self.path / UNFINISHED).unlink(missing_ok=True)

    def remove_unnamed(self) -> None:
        """Remove files of earlier states, and of writers that were killed."""
        there = [self.manifest(name) for name in (MANIFEST, UNFINISHED) if self.has(name)]
        named = set(_names_in(there))
        for path in self.path.iterdir():
            if _NAME.fullmatch(path.name) and path.name not in named and not is_unfinished(path):
                with suppress(OSError):  # Windows keeps what is mapped into memory
                    path.unlink()


def _names_in(value: Any) -> Iterator[str]:
    """Names of all files in a manifest."""
    if isinstance(value, dict):
        if isinstance(value.get("name"), str) and "sha256" in value:
            yield value["name"]
        for item in value.values():
            yield from _names_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _names_in(item)


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
