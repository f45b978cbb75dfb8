"""
Matrices of numbers from .mat files of MATLAB and Octave, of versions 4 to 7.

They are read here and not by `scipy.io.loadmat`, whose compiled reader can be crashed by bad bytes.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from retgk.errors import InvalidInputError
from retgk.io.formats.sparse_arrays import check_compressed
from retgk.io.formats.text_lines import unpacked_bytes
from retgk.runtime.parse_budget import ParseBudget

__all__ = ["mat_variables"]

_COST = 4  # bytes of memory for each byte: the file, its elements, the array and its checks
_HEADER_BYTES, _TAG_BYTES = 128, 8
_MATRIX, _COMPRESSED = 14, 15
_SPARSE, _COMPLEX = 5, 0x800
_DOUBLE = 9
_NUMBERS = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
_CLASSES = {1: "cell", 2: "struct", 3: "object", 4: "char", 16: "function", 17: "object"}
_NUMERIC_CLASSES = range(5, 16)
_NUMBERS_OF_VERSION_4 = ("f8", "f4", "i4", "i2", "u2", "u1")
_KINDS_OF_VERSION_4 = {1: "char", 2: "sparse matrix of version 4"}
_DAMAGE = (ArithmeticError, LookupError, TypeError, ValueError, struct.error, zlib.error)


class _Variable(NamedTuple):
    """Name of a variable, what it is if it is no matrix, and what holds its numbers otherwise."""

    name: str
    kind: str | None
    matrix: "_Matrix | None"


class _Matrix(NamedTuple):
    """Shape, whether it is sparse, the order of bytes, and the elements that hold its numbers."""

    shape: tuple[int, ...]
    is_sparse: bool
    order: str
    elements: list[tuple[int, bytes]]


def mat_variables(path: Path, budget: ParseBudget, name: str | None) -> dict[str, Any]:
    """Read one variable, or all: arrays of numbers and sparse matrices; others are an error."""
    text = unpacked_bytes(path, budget, _COST)
    if text[:8] == b"\x89HDF\r\n\x1a\n" or b"MATLAB 7.3" in text[:_HEADER_BYTES]:
        raise InvalidInputError(
            f"{path} is a .mat file of version 7.3, which is not read; save it in MATLAB with "
            "'-v7', or as .npy"
        )
    order = {b"IM": "<", b"MI": ">"}.get(text[126:128])
    try:
        found = list(_variables_of_5(text, order, budget) if order else _variables_of_4(text))
        wanted = [variable for variable in found if name in (None, variable.name)]
        return {variable.name: _values(variable, path) for variable in wanted}
    except InvalidInputError:
        raise
    except _DAMAGE as error:
        raise InvalidInputError(f"{path} is not a whole .mat file: {error}") from error


def _values(variable: _Variable, path: Path) -> Any:
    if variable.matrix is None:
        raise InvalidInputError(
            f"{path}: the variable {variable.name!r} is a {variable.kind}, not a matrix of numbers"
        )
    matrix = variable.matrix
    parts = [_array(*element, matrix.order) for element in matrix.elements]
    if matrix.is_sparse:
        return _sparse(parts, matrix.shape)
    if not parts or parts[0].size != math.prod(matrix.shape):
        raise ValueError(f"the variable {variable.name!r} does not have the shape it says")
    values = parts[0].reshape(matrix.shape, order="F")
    is_stack = values.ndim == 3 and values.shape[0] == values.shape[1]
    return np.moveaxis(values, 2, 0) if is_stack else values  # MATLAB stacks along the third axis


def _sparse(parts: list[NDArray[Any]], shape: Any) -> Any:
    """Put a sparse matrix together; arrays may be longer than the entries that are used."""
    n_rows, n_columns = shape
    rows, starts, values = parts[:3]
    if rows.dtype.kind not in "iu" or starts.dtype.kind not in "iu":
        raise ValueError("positions in a sparse matrix are not whole numbers")
    rows, starts = rows.astype(np.int64), starts.astype(np.int64)
    check_compressed(rows, starts, (n_columns, n_rows))
    n_entries = int(starts[-1])
    if len(values) < n_entries:
        raise ValueError("a sparse matrix has fewer numbers than entries")
    return csc_array((values[:n_entries], rows[:n_entries], starts), shape=shape)


def _array(kind: int, data: bytes, order: str) -> NDArray[Any]:
    if kind not in _NUMBERS:
        raise ValueError(f"an element of the kind {kind} holds no numbers")
    values = np.frombuffer(data, np.dtype(order + _NUMBERS[kind]))
    return values.astype(values.dtype.newbyteorder("="), copy=False)


# Version 5 and later: elements with tags, some of them compressed


def _variables_of_5(text: bytes, order: str, budget: ParseBudget) -> Iterator[_Variable]:
    at = _HEADER_BYTES
    while at + _TAG_BYTES <= len(text):
        kind, n_bytes = struct.unpack_from(f"{order}2I", text, at)
        at += _TAG_BYTES
        data = text[at : at + n_bytes]
        if len(data) < n_bytes:
            raise ValueError("it is cut off")
        if kind == _COMPRESSED:
            ((kind, data),) = list(_elements(_inflated(data, budget), order))[:1]
        if kind == _MATRIX:
            yield _variable(data, order)
        at += n_bytes


def _inflated(data: bytes, budget: ParseBudget) -> bytes:
    unpacker = zlib.decompressobj()
    found = unpacker.decompress(data, budget.left // _COST + 1)
    budget.charge(_COST * len(found), "a compressed variable")
    if not unpacker.eof:
        raise ValueError("a compressed variable is cut off")
    return found


def _elements(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Kinds and contents of the elements within another; small ones have a tag of half the size."""
    at = 0
    while at + _TAG_BYTES <= len(data):
        (word,) = struct.unpack_from(f"{order}I", data, at)
        kind, n_bytes, start, step = word & 0xFFFF, word >> 16, at + 4, 8
        if n_bytes == 0:
            kind, n_bytes = struct.unpack_from(f"{order}2I", data, at)
            start, step = at + _TAG_BYTES, _TAG_BYTES + n_bytes + -n_bytes % 8
        content = data[start : start + n_bytes]
        if len(content) < n_bytes or (step == 8 and n_bytes > 4):
            raise ValueError("an element is cut off")
        yield kind, content
        at += step


def _variable(data: bytes, order: str) -> _Variable:
    """Read what stands before the numbers of a variable: flags, shape and name."""
    parts = _elements(data, order)
    flags, shape, name = (next(parts, (0, b""))[1] for _ in range(3))
    (word,) = struct.unpack_from(f"{order}I", flags)
    text = name.decode("latin-1")
    kind = word & 0xFF
    if kind not in _NUMERIC_CLASSES or word & _COMPLEX:
        what = "complex matrix" if kind in _NUMERIC_CLASSES else _CLASSES.get(kind, "variable")
        return _Variable(text, what, None)
    dimensions = tuple(np.frombuffer(shape, f"{order}i4").tolist())
    if min(dimensions, default=-1) < 0:
        raise ValueError(f"the variable {text!r} has the shape {dimensions}")
    return _Variable(text, None, _Matrix(dimensions, kind == _SPARSE, order, list(parts)))


# Version 4: one header for each matrix


def _variables_of_4(text: bytes) -> Iterator[_Variable]:
    at = 0
    while at < len(text):
        order = "<" if 0 <= struct.unpack_from("<i", text, at)[0] < 1000 else ">"
        mode, rows, columns, is_complex, n_letters = struct.unpack_from(f"{order}5i", text, at)
        precision, kind = mode // 10 % 10, mode % 10
        dtype = np.dtype(order + _NUMBERS_OF_VERSION_4[precision])
        start = at + 20 + n_letters
        n_bytes = rows * columns * dtype.itemsize
        if min(rows, columns, n_letters) < 0 or start + n_bytes > len(text) or mode >= 2000:
            raise ValueError("it is cut off, or of another kind")
        name = text[at + 20 : start].split(b"\0")[0].decode("latin-1")
        what = "complex matrix" if is_complex else _KINDS_OF_VERSION_4.get(kind)
        values = np.frombuffer(text, dtype, rows * columns, start).astype("<f8").tobytes()
        matrix = None if what else _Matrix((rows, columns), False, "<", [(_DOUBLE, values)])
        yield _Variable(name, what, matrix)
        at = start + n_bytes * (2 if is_complex else 1)
