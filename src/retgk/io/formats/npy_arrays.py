"""Arrays of numbers from .npy and .npz files that may come from strangers: never a pickle."""

import math
import struct
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from retgk.errors import InvalidInputError
from retgk.runtime.parse_budget import ParseBudget
from retgk.runtime.zip_members import DEFLATED, ZIP_DAMAGE, member_problem

__all__ = ["npy_array", "npz_arrays"]

_CHUNK_BYTES = 1 << 20
_HEADER_DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    RecursionError,
    SyntaxError,
    TokenError,
    TypeError,
    ValueError,
    struct.error,
)
_READ_HEADER = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def npy_array(path: Path, budget: ParseBudget) -> NDArray[Any]:
    """Read the array of a .npy file, in the memory that its budget allows."""
    with path.open("rb") as stream:
        return _read_array(stream, path.stat().st_size, str(path), budget)


def npz_arrays(path: Path, budget: ParseBudget) -> dict[str, NDArray[Any]]:
    """Read all arrays of a .npz file, by their names; texts among them stay texts."""
    try:
        with zipfile.ZipFile(path) as archive:
            return dict(_members(archive, path, budget))
    except InvalidInputError:
        raise
    except ZIP_DAMAGE as error:
        raise InvalidInputError(
            f"{path} is not a whole .npz file: {error}; fetch it again"
        ) from error


def _members(
    archive: zipfile.ZipFile, path: Path, budget: ParseBudget
) -> Iterator[tuple[str, NDArray[Any]]]:
    seen = set()
    for info in archive.infolist():
        problem = member_problem(info, DEFLATED)
        if info.filename in seen:
            problem = "is there twice"
        if not info.filename.endswith(".npy"):
            problem = problem or "is not an array"
        if problem is not None:
            raise InvalidInputError(
                f"{path}: the member {info.filename!r} {problem}; a .npz file holds arrays only"
            )
        seen.add(info.filename)
        name = info.filename.removesuffix(".npy")
        with archive.open(info) as stream:
            yield name, _read_array(stream, info.file_size, f"{path}, array {name!r}", budget)


def _read_array(stream: IO[bytes], size: int, name: str, budget: ParseBudget) -> NDArray[Any]:
    """Read an array that takes no more bytes than it declares, nor than its file has."""
    shape, is_fortran, dtype = _header(stream, name)
    if dtype.hasobject:
        raise InvalidInputError(
            f"{name} holds Python objects, which could run code when they are read; save numbers"
        )
    if dtype.fields is not None or dtype.kind not in "biufcSU":
        raise InvalidInputError(f"{name} holds {dtype}, not numbers")
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_bytes > size or min(shape, default=0) < 0:
        raise InvalidInputError(f"{name} is cut off: {shape} of {dtype} do not fit in {size} bytes")
    budget.charge(2 * n_bytes, f"{name} of shape {shape}")
    data = _exactly(stream, n_bytes, name)
    values = np.frombuffer(data, dtype) if n_bytes else np.empty(math.prod(shape), dtype)
    return values.reshape(shape, order="F" if is_fortran else "C")


def _header(stream: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that Python 2 wrote
            read = _READ_HEADER.get(npy.read_magic(stream))
            if read is None:
                raise ValueError("a version of the format that is not used for numbers")
            return read(stream)
    except _HEADER_DAMAGE as error:
        raise InvalidInputError(f"{name} is not a .npy array: {error}") from error


def _exactly(stream: IO[bytes], n_bytes: int, name: str) -> bytearray:
    """Read so many bytes, in pieces: what a file declares may not be there."""
    data = bytearray()
    while len(data) < n_bytes:
        piece = stream.read(min(_CHUNK_BYTES, n_bytes - len(data)))
        if not piece:
            raise InvalidInputError(f"{name} is cut off: {len(data)} of {n_bytes} bytes")
        data += piece
    return data
