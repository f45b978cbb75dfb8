"""
One file of arrays and a JSON document, in the safetensors format: written whole, read with care.

Models, parsed data sets and parts of an index are such files. The header, which any reader of
safetensors gives as metadata, has one text called "retgk": a SHA-256 and the document, which says
what the file is, its version, and the checksum of every array. Nothing in a file is ever run.
"""

import hashlib
import json
import math
import mmap
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from retgk._runtime.fields import FILE_DTYPES, Arrays
from retgk._runtime.files import atomic_path, open_own_file, refuse_constant
from retgk._runtime.processes import check_room
from retgk.errors import InvalidInputError

VERSION = 1

_MAX_HEADER_BYTES = 1 << 24  # in memory, JSON takes up to 25 times as much


def write_arrays(
    path: Path, kind: str, document: Mapping[str, Any], arrays: Arrays, **how: bool
) -> None:
    """Write a document and arrays as a file of some kind; `how` is what `atomic_path` takes."""
    ordered = {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
        for name, array in arrays.items()
    }
    for name, array in ordered.items():
        if array.dtype.str not in FILE_DTYPES.values():
            raise TypeError(f"{name}: files hold no arrays of {array.dtype}")
    about = {
        "format": f"retgk {kind}",
        "version": VERSION,
        "sha256": {name: array_digest(name, array) for name, array in ordered.items()},
        "document": document,
    }
    text = json.dumps(about, allow_nan=False)
    if len(text) + 200 * len(arrays) > _MAX_HEADER_BYTES:
        raise InvalidInputError(
            f"{path}: names and parameters take {len(text)} bytes as JSON, more than the "
            f"{_MAX_HEADER_BYTES} that a file may have; use fewer distinct labels"
        )
    # one text: the library gives several in any order, and the same model has the same bytes
    content = save(ordered, {"retgk": f"{_digest(text)} {text}"})
    with atomic_path(path, **how) as part:
        part.write_bytes(content)


def read_arrays(
    path: Path, kind: str, *, max_bytes: int | None = None, mapped: bool = False
) -> tuple[Any, Arrays]:
    """Document and arrays of a file, every checksum compared; `mapped` gives views, not copies."""
    with _opened(path, mapped) as descriptor, _naming_damage(path, kind):
        n_bytes = os.fstat(descriptor).st_size
        if max_bytes is not None and n_bytes > max_bytes:
            raise InvalidInputError(
                f"{path} has {n_bytes} bytes, more than the {max_bytes} allowed; pass a larger "
                "max_bytes if you trust it"
            )
        if not mapped:
            advice = "load it on a larger machine"
            check_room(n_bytes, f"the {kind} {path}", advice)
        content = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
        length = int.from_bytes(content[:8], "little")
        if not 2 <= length <= min(_MAX_HEADER_BYTES, n_bytes - 8):
            raise ValueError("its header is cut off, or is none")
        header = _parsed(content[8 : 8 + length])
        digest, _, text = header.pop("__metadata__")["retgk"].partition(" ")
        if _digest(text) != digest:
            raise ValueError("the document does not match its checksum")
        about = _parsed(text)
        _check_format(about, path, kind)
        if about["sha256"].keys() != header.keys():
            raise ValueError("the arrays are not those that the document lists")
        arrays, end = {}, 8 + length
        for name, entry in header.items():
            array, end = _array_at(content, 8 + length, end, entry)
            if array_digest(name, array) != about["sha256"][name]:
                raise ValueError(f"the array {name!r} does not match its checksum")
            arrays[name] = array if mapped else array.copy()
        if end != n_bytes:
            raise ValueError("it does not end with its last array")
        return about["document"], arrays


def array_digest(name: str, array: NDArray[Any]) -> str:
    """SHA-256 of an array with its name, type and shape: two that changed places do not match."""
    shape = ",".join(map(str, array.shape))
    digest = hashlib.sha256(f"{name} {array.dtype.str} {shape}\n".encode())
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def _opened(path: Path, is_own: bool) -> Iterator[int]:
    if is_own:
        descriptor = open_own_file(path, os.O_RDONLY)
    elif not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for
        raise InvalidInputError(f"{path} is not a file; pass the name of a file that retgk wrote")
    else:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _naming_damage(path: Path, kind: str) -> Iterator[None]:
    """Make one kind of error of whatever the bytes of a file make its readers raise."""
    try:
        yield
    except InvalidInputError:
        raise
    except (
        ArithmeticError,
        LookupError,
        AttributeError,
        TypeError,
        ValueError,
        RecursionError,
    ) as e:
        raise InvalidInputError(
            f"{path} is no {kind} of retgk, or is damaged: {e}; copy it again, or write it again"
        ) from e


def _parsed(text: bytes | str) -> dict[str, Any]:
    document = json.loads(text, parse_constant=refuse_constant, object_pairs_hook=_object_of_pairs)
    if not isinstance(document, dict):
        raise ValueError("its header is not a JSON object")
    return document


def _object_of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a JSON object has the same name twice")
    return result


def _check_format(about: dict[str, Any], path: Path, kind: str) -> None:
    if about["format"] != f"retgk {kind}":
        raise ValueError(f"it says that it is {about['format']!r:.40}")
    version = about["version"]
    if type(version) is not int or version < 1:
        raise ValueError(f"its version is {version!r:.20}")
    if version > VERSION:
        raise InvalidInputError(
            f"{path} was written by a newer retgk, in version {version} of the format; this one "
            f"reads version {VERSION}: upgrade retgk"
        )


def _array_at(content: mmap.mmap, start: int, before: int, entry: Any) -> tuple[NDArray[Any], int]:
    """View of an array that begins where the one before ends, and its own end."""
    dtype, shape, (first, last) = FILE_DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
    if not all(type(n) is int and n >= 0 for n in (*shape, first, last)):
        raise ValueError("an array has a shape or a place that cannot be")
    count = math.prod(shape)
    if start + first != before or last - first != count * np.dtype(dtype).itemsize:
        raise ValueError("an array has another place or size than its shape says")
    return np.frombuffer(content, dtype, count, before).reshape(shape), start + last
