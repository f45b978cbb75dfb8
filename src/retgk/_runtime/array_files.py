"""
A zip file of one JSON document and many arrays, with digests: written whole, read with care.

The members are ``header.json`` (format, version, digest of the document), ``model.json`` (the
document) and ``arrays/NAME.npy``. Nothing is compressed, so that no member is larger than the file.
"""

import hashlib
import json
import math
import os
import stat
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from retgk._runtime.files import STORED, ZIP_DAMAGE, atomic_path, member_problem
from retgk._runtime.processes import check_room
from retgk.errors import InvalidInputError, Remedy

FORMAT = "retgk-model"
VERSION = 3

Arrays = dict[str, NDArray[Any]]

_DTYPES = {"<f8", "<f4", "<i8", "<i4"}
_MAX_HEADER_BYTES = 1 << 10
_MAX_DOCUMENT_BYTES = 1 << 24  # in memory, JSON takes up to 25 times as much
_MAX_ARRAY_HEADER = 256
_MAX_ARRAYS = 400
_CHUNK_BYTES = 1 << 20
_MAX_DIRECTORY_BYTES = 1 << 16  # some hundred members; a model has a dozen
_FIRST_DAY_OF_ZIP = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes

# The last records of a zip file (sections 4.3.14 to 4.3.16 of its specification).
_END = struct.Struct("<4s4H2LH")
_LOCATOR = struct.Struct("<4sLQL")
_END_64 = struct.Struct("<4sQ2H2L4Q")

_DAMAGE = (*ZIP_DAMAGE, SyntaxError, TypeError)  # the two are of json and numpy


class _Container(NamedTuple):
    """An open file with its members."""

    path: Path
    archive: zipfile.ZipFile
    members: dict[str, zipfile.ZipInfo]


def write_container(path: Path, document: Mapping[str, Any], arrays: Arrays) -> None:
    """
    Write a document and arrays; the file appears whole or not at all.

    The document may be anything that JSON can hold; "arrays" is added to it. Arrays are of float64,
    float32, int64 or int32.
    """
    if len(arrays) > _MAX_ARRAYS:
        raise InvalidInputError(
            f"{path}: the model has {len(arrays)} arrays, more than the {_MAX_ARRAYS} that a model "
            "file may have; use fewer blocks of attributes"
        )
    ordered = {name: _little_endian(array) for name, array in arrays.items()}
    listing = {
        name: {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "sha256": array_digest(name, array),
        }
        for name, array in ordered.items()
    }
    text = json.dumps({**document, "arrays": listing}, indent=1, allow_nan=False).encode()
    if len(text) > _MAX_DOCUMENT_BYTES:
        raise InvalidInputError(
            f"{path}: names and parameters of the model take {len(text)} bytes as JSON, more than "
            f"the {_MAX_DOCUMENT_BYTES} that a model file may have; use fewer distinct labels"
        )
    header = {"format": FORMAT, "version": VERSION, "model_sha256": text_digest(text)}
    with atomic_path(path) as part, zipfile.ZipFile(part, "w") as archive:
        _write_member(archive, "header.json", json.dumps(header).encode())
        _write_member(archive, "model.json", text)
        for name, array in ordered.items():
            _write_array(archive, f"arrays/{name}.npy", array)


def _little_endian(array: NDArray[Any]) -> NDArray[Any]:
    """Give the array in C order and little-endian."""
    ordered = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    if ordered.dtype.str not in _DTYPES:
        raise TypeError(f"model files hold no arrays of {ordered.dtype}")
    return ordered


def _write_member(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _FIRST_DAY_OF_ZIP), content)


def _write_array(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    info = zipfile.ZipInfo(name, _FIRST_DAY_OF_ZIP)
    info.file_size = array.nbytes + _MAX_ARRAY_HEADER  # decides about 64-bit sizes
    with archive.open(info, "w") as member:
        npy.write_array_header_1_0(member, npy.header_data_from_array_1_0(array))
        member.write(array.reshape(-1).view(np.uint8).data)


def text_digest(text: bytes) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text).hexdigest()


def array_digest(name: str, array: NDArray[Any]) -> str:
    """
    SHA-256 of an array with its name, type and shape.

    Two arrays of a file that changed places have wrong digests, even where the digests were
    exchanged with them.
    """
    shape = ",".join(map(str, array.shape))
    digest = hashlib.sha256(f"{name} {array.dtype.str} {shape}\n".encode())
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def read_container(path: Path, max_bytes: int) -> tuple[int, dict[str, Any], Arrays]:
    """Read version, document without its list of arrays, and arrays; check every digest."""
    with _open_container(path, max_bytes) as container:
        header = _read_json(container, "header.json", _MAX_HEADER_BYTES)
        _check_header(header, path)
        text = _read_small(container, "model.json", _MAX_DOCUMENT_BYTES)
        if text_digest(text) != header.get("model_sha256"):
            raise InvalidInputError(f"{path} is damaged: model.json does not match its digest")
        document = _parse_json(text, path, "model.json")
        listing = document.pop("arrays", None)
        if not isinstance(listing, dict):
            raise InvalidInputError(f"{path} is damaged: model.json lists no arrays")
        _check_names(container, listing)
        return (
            header["version"],
            document,
            {name: _read_array(container, name, entry) for name, entry in listing.items()},
        )


@contextmanager
def _open_container(path: Path, max_bytes: int) -> Iterator[_Container]:
    """Open a file; whatever its bytes make the readers raise becomes one kind of error."""
    if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for
        raise InvalidInputError(
            f"{path} is not a file", Remedy("model_file", "pass what save_model wrote")
        )
    with path.open("rb") as stream:
        n_bytes = os.fstat(stream.fileno()).st_size
        if n_bytes > max_bytes:
            raise InvalidInputError(
                f"{path} has {n_bytes} bytes, more than the {max_bytes} allowed",
                Remedy("model_bytes", "pass a larger max_bytes if you trust it"),
            )
        check_room(n_bytes, f"the model {path}", Remedy("machine", "load it on a larger machine"))
        try:
            members = _checked_members(stream, path)
            with zipfile.ZipFile(stream) as archive:
                yield _Container(path, archive, members)
        except InvalidInputError:
            raise
        except _DAMAGE as error:
            raise InvalidInputError(
                f"{path} is no model file, or is damaged: {type(error).__name__}: {error}; copy it "
                "again, or save the model again"
            ) from error


def _checked_members(stream: IO[bytes], path: Path) -> dict[str, zipfile.ZipInfo]:
    """Members of a zip file by name, each name once; together no larger than the file."""
    n_bytes = stream.seek(0, os.SEEK_END)
    size = _directory_size(stream, n_bytes)
    if size is None:
        raise InvalidInputError(
            f"{path} is no model file, or is cut off: its end is missing; copy it again"
        )
    if size > _MAX_DIRECTORY_BYTES:
        raise InvalidInputError(
            f"{path} is no model file: its list of members takes {size} bytes, more than the "
            f"{_MAX_DIRECTORY_BYTES} allowed"
        )
    with zipfile.ZipFile(stream) as archive:
        infos = archive.infolist()
    members = {info.filename: info for info in infos}
    if len(members) < len(infos):
        raise InvalidInputError(f"{path} is no model file: two members have the same name")
    for info in infos:
        _check_member(info, path)
    if sum(info.file_size for info in infos) > n_bytes:  # members that share bytes
        raise InvalidInputError(f"{path} is damaged: its members are larger than the file")
    return members


def _directory_size(stream: IO[bytes], n_bytes: int) -> int | None:
    """Size of the list of members, which ZipFile reads whole; None if there is no end record."""
    if n_bytes < _END.size:
        return None
    stream.seek(n_bytes - _END.size)
    signature, *_, size, _, comment = _END.unpack(stream.read(_END.size))
    if signature != b"PK\x05\x06" or comment != 0:
        return None
    start = n_bytes - _END.size - _LOCATOR.size - _END_64.size
    if start < 0:
        return int(size)
    stream.seek(start)
    large, locator = stream.read(_END_64.size), stream.read(_LOCATOR.size)
    if not locator.startswith(b"PK\x06\x07"):
        return int(size)
    signature, *_, size, _ = _END_64.unpack(large)
    return int(size) if signature == b"PK\x06\x06" else None


def _check_member(info: zipfile.ZipInfo, path: Path) -> None:
    """Refuse what a model file never holds; stored members cannot grow when they are read."""
    problem = member_problem(info, STORED)
    if problem is None:
        return
    is_packed = problem == "is compressed"
    raise InvalidInputError(
        f"{path}: the member {info.filename!r} {problem}",
        Remedy(
            "model_file",
            "a model file stores its members as they are, so use what save_model wrote, not an "
            "archive made of it again",
        )
        if is_packed
        else None,
    )


def _check_header(header: dict[str, Any], path: Path) -> None:
    if header.get("format") != FORMAT:
        raise InvalidInputError(f"{path} is no model file: its header does not say {FORMAT!r}")
    version = header.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InvalidInputError(f"{path} is damaged: its version is {version!r}")
    if version > VERSION:
        raise InvalidInputError(
            f"{path} was written by a newer retgk, in version {version} of the format; this one "
            f"reads up to version {VERSION}: upgrade retgk"
        )


def _check_names(container: _Container, listing: dict[str, Any]) -> None:
    expected = {"header.json", "model.json", *(f"arrays/{name}.npy" for name in listing)}
    if missing := expected - container.members.keys():
        raise InvalidInputError(f"{container.path} is damaged: it lacks {min(missing)!r}")
    if extra := container.members.keys() - expected:
        raise InvalidInputError(
            f"{container.path} is no model file: it has a member {min(extra)!r} that model.json "
            "does not list"
        )


def _read_small(container: _Container, name: str, limit: int) -> bytes:
    """All bytes of a small member."""
    info = container.members.get(name)
    if info is None:
        raise InvalidInputError(f"{container.path} is no model file: it lacks {name!r}")
    if info.file_size > limit:
        raise InvalidInputError(
            f"{container.path}: {name} has {info.file_size} bytes, more than the {limit} allowed"
        )
    return container.archive.read(info)


def _read_json(container: _Container, name: str, limit: int) -> dict[str, Any]:
    return _parse_json(_read_small(container, name, limit), container.path, name)


def _parse_json(text: bytes, path: Path, name: str) -> dict[str, Any]:
    document = json.loads(
        text.decode(), parse_constant=_refuse_constant, object_pairs_hook=_object_of_pairs
    )
    if not isinstance(document, dict):
        raise InvalidInputError(f"{path} is damaged: {name} is not a JSON object")
    return document


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _object_of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a JSON object has the same name twice")
    return result


def _read_array(container: _Container, name: str, entry: Any) -> NDArray[Any]:
    """Read one array into memory of the size that its member has."""
    where = f"{container.path}: the array {name!r}"
    dtype, shape = entry["dtype"], tuple(entry["shape"])
    if dtype not in _DTYPES or not all(type(n) is int and n >= 0 for n in shape):
        raise InvalidInputError(f"{where} has the type {dtype!r} and shape {shape}; save it again")
    info = container.members[f"arrays/{name}.npy"]
    with container.archive.open(info) as member:
        _check_array_header(member, dtype, shape, where)
        n_bytes = info.file_size - member.tell()
        if n_bytes != int(np.dtype(dtype).itemsize) * math.prod(shape):
            raise InvalidInputError(f"{where} has {n_bytes} bytes, which are not its shape {shape}")
        array = np.empty(shape, dtype)
        _fill(member, array, where)
    if array_digest(name, array) != entry["sha256"]:
        raise InvalidInputError(f"{where} is damaged: it does not match its digest; copy it again")
    return array


def _check_array_header(member: IO[bytes], dtype: str, shape: tuple[int, ...], where: str) -> None:
    npy.read_magic(member)
    actual, is_fortran, stated = npy.read_array_header_1_0(member, _MAX_ARRAY_HEADER)
    if (stated.str, is_fortran, actual) != (dtype, False, shape):
        raise InvalidInputError(
            f"{where} is {stated} of shape {actual}, but model.json says {dtype} of shape {shape}"
        )


def _fill(member: IO[bytes], array: NDArray[Any], where: str) -> None:
    """Read the values piece by piece."""
    left = array.reshape(-1).view(np.uint8).data
    while len(left):
        chunk = member.read(min(len(left), _CHUNK_BYTES))
        if not chunk:
            raise InvalidInputError(f"{where} is cut off; copy the file again")
        left[: len(chunk)] = chunk
        left = left[len(chunk) :]
