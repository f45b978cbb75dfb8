"""Adjacency matrices from files of NumPy and MATLAB, and from tables of numbers."""

import math
import struct
import warnings
import zipfile
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, NamedTuple, NoReturn

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import coo_array, csc_array, csr_array, issparse

from retgk._runtime.files import DEFLATED, ZIP_DAMAGE, ParseBudget, member_problem
from retgk.array_types import Ints
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch, with_reading
from retgk.graphs.edges import NEGATIVE, Symmetrize
from retgk.io.arrays import Negative, from_numpy, from_scipy, unsigned_weights
from retgk.io.files import (
    bare_name,
    cells_of,
    check_same_names,
    columns_without_corner,
    delimiter_in,
    has_row_name,
    is_gzip,
    is_heading,
    is_number,
    number_in,
    text_lines,
    unpacked_bytes,
)

# -------------------------------------------------------------------------------------------------
# One matrix of numbers from a text file, with or without names of rows and columns.
# -------------------------------------------------------------------------------------------------

_MOST_SHOWN = 40


class _Rows:
    """Rows of numbers as they come in, and the names of rows and columns, if there are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values = array("d")
        self.heading: list[str] | None = None
        self.row_names: list[str] | None = None
        self.n_rows, self.n_cells = 0, 0

    def add(self, cells: list[str], line: int) -> None:
        """Take a line: the first may be a heading, all others are numbers, perhaps with a name."""
        if self.n_rows == 0 and self.heading is None and is_heading(cells):
            self.heading = cells
            return
        if self.n_rows == 0:
            self.row_names = [] if has_row_name(self.heading, cells) else None
            self.n_cells = len(cells)
        if len(cells) != self.n_cells:
            raise InvalidInputError(
                f"{self.path}, line {line} has {len(cells)} columns, the first one has "
                f"{self.n_cells}"
            )
        self.n_rows += 1
        first = 0
        if self.row_names is not None:
            self.row_names.append(cells[0].strip())
            first = 1
        self.values.extend(self._numbers(cells, first, line))

    def _numbers(self, cells: list[str], first: int, line: int) -> list[float]:
        try:
            return [number_in(cell) for cell in cells[first:]]
        except ValueError:
            column = next(at for at in range(first, len(cells)) if not is_number(cells[at]))
            shown = ascii(cells[column].strip()[:_MOST_SHOWN])
            raise InvalidInputError(
                f"{self.path}, line {line}, column {column + 1}: {shown} is not a number; a file "
                "of a matrix has numbers, and at most one line and one column of names"
            ) from None

    def matrix(self) -> NDArray[np.float64]:
        """Give the matrix, if names and numbers fit together."""
        if self.n_rows == 0:
            raise InvalidInputError(f"{self.path} holds no numbers")
        width = self.n_cells - (self.row_names is not None)
        self._check_names(width)
        if abs(self.n_rows - width) == 1:
            raise InvalidInputError(
                f"{self.path} has {self.n_rows} rows of {width} numbers, and an adjacency matrix "
                "is square; if one row or column of them numbers the nodes, write the file "
                "without it (header=False, index=False in pandas, row.names=FALSE in R)"
            )
        return np.array(self.values).reshape(self.n_rows, width)

    def _check_names(self, width: int) -> None:
        if self.heading is None:
            return
        columns = columns_without_corner(self.heading, self.row_names is not None, self.n_cells)
        if len(columns) != width:
            raise InvalidInputError(
                f"{self.path} names {len(columns)} columns, but rows have {width} numbers"
            )
        if self.row_names is not None and self.n_rows == width:
            try:
                check_same_names(self.row_names, columns)
            except InvalidInputError as error:
                raise InvalidInputError(f"{self.path}: {error}") from None


def text_matrix(path: Path, budget: ParseBudget) -> NDArray[np.float64]:
    """
    Read one row of numbers per line, between commas, semicolons, tabs or white space.

    A first line and a first column of names, as pandas and R write them, are left out.
    """
    rows, delimiter, is_first = _Rows(path), None, True
    for number, line in text_lines(path, budget):
        text = line.strip(" \r\n")
        if not text or text.startswith("#"):
            continue
        if is_first:
            delimiter, is_first = delimiter_in(text), False
        cells = cells_of(text, delimiter)
        budget.charge(16 * len(cells), f"line {number}")
        rows.add(cells, number)
    return rows.matrix()


# -------------------------------------------------------------------------------------------------
# Arrays of numbers from .npy and .npz files that may come from strangers: never a pickle.
# -------------------------------------------------------------------------------------------------

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


# -------------------------------------------------------------------------------------------------
# The form in which scipy.sparse.save_npz stores a sparse matrix, checked before it is used.
# -------------------------------------------------------------------------------------------------

_PER_SPARSE_ENTRY = 32
_PARTS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
}
_MAKE = {
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "dia": sparse.dia_array,
}


def is_sparse_form(arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Whether arrays are the parts of one sparse matrix."""
    return {"format", "shape", "data"} <= arrays.keys() and arrays["format"].dtype.kind in "SU"


def sparse_matrix(arrays: Mapping[str, NDArray[Any]], path: Path, budget: ParseBudget) -> Any:
    """Put a sparse matrix together; indices that lead out of it are an error."""
    form = _text(arrays["format"])
    if form not in _PARTS or not set(_PARTS[form]) <= arrays.keys():
        raise InvalidInputError(
            f"{path}: a sparse matrix in the format {form!r} is not read; save it as matrix.tocsr()"
        )
    try:
        shape = _shape(arrays["shape"])
        budget.charge(_PER_SPARSE_ENTRY * sum(shape), f"a sparse matrix of shape {shape}")
        matrix = _assembled(form, [arrays[part] for part in _PARTS[form]], shape)
        if form == "dia":
            entries = min(shape) * len(matrix.offsets)
            budget.charge(_PER_SPARSE_ENTRY * entries, f"{entries} entries")
        return matrix.tocsr()
    except InvalidInputError:
        raise
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise InvalidInputError(f"{path} does not hold a whole sparse matrix: {error}") from error


def check_compressed(indices: Ints, indptr: Ints, shape: tuple[int, int]) -> None:
    """
    Raise unless int64 arrays are rows of a matrix of this shape.

    SciPy's own check takes differences, which may overflow, and a wrong array crashes what follows.
    """
    n_rows, n_columns = shape
    if indptr.shape != (n_rows + 1,) or indices.ndim != 1:
        raise ValueError(f"{indptr.size} offsets for {n_rows} rows or columns")
    inside = (indptr >= 0) & (indptr <= len(indices))
    if not inside.all() or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError("offsets of rows do not rise from zero to the number of entries")
    if ((indices < 0) | (indices >= n_columns)).any():
        raise ValueError("a position lies outside the matrix")


def _text(value: NDArray[Any]) -> str:
    (text,) = value.reshape(-1)[:1].tolist() or [""]
    return text.decode("ascii", "replace") if isinstance(text, bytes) else str(text)


def _shape(values: NDArray[Any]) -> tuple[int, int]:
    if values.shape != (2,) or values.dtype.kind not in "iu" or (values < 0).any():
        raise ValueError(f"its shape is {values.tolist()}")
    rows, columns = (int(value) for value in values)
    return rows, columns


def _assembled(form: str, parts: list[NDArray[Any]], shape: tuple[int, int]) -> Any:
    data, *others = [part.astype(part.dtype.newbyteorder("="), copy=False) for part in parts]
    if any(part.dtype.kind not in "iu" for part in others):
        raise ValueError("its positions are not whole numbers")
    if data.dtype.kind in "biuf":
        data = data.astype(np.float64)  # parallel entries of a COO matrix add up in its type
    others = [part.astype(np.int64) for part in others]
    if form in ("csr", "csc"):
        check_compressed(others[0], others[1], shape if form == "csr" else shape[::-1])
    if form == "dia" and ((others[0] > max(shape)) | (others[0] < -max(shape))).any():
        raise ValueError("a diagonal lies outside the matrix")
    if form == "coo":
        return sparse.coo_array((data, tuple(others)), shape=shape)
    return _MAKE[form]((data, *others), shape=shape)


# -------------------------------------------------------------------------------------------------
# Matrices of numbers from .mat files of MATLAB and Octave, of versions 4 to 7.
#
# They are read here and not by `scipy.io.loadmat`, whose compiled reader can be crashed by bad
# bytes.
# -------------------------------------------------------------------------------------------------

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


_PER_ENTRY = 40  # bytes of memory: entries that are there, in both directions, with their checks
_PER_NODE = 100
_MOST_NAMES = 5
_ROUNDING = 1e-10  # as a GraphBatch allows it


class _Matrices(NamedTuple):
    """What one variable of a file holds: a matrix or a stack, where it is from, and its name."""

    values: Any
    place: str
    name: str


def read_matrices(
    files: Sequence[Path],
    variable: str | None,
    symmetrize: Symmetrize,
    max_bytes: int | None,
    negative: Negative = "error",
) -> tuple[GraphBatch, list[str]]:
    """Read one graph from each matrix, in order of the files; give their names too."""
    budget = ParseBudget.of_files("", list(files), max_bytes)
    parts, names = [], []
    for path in files:
        budget.source = path
        for found in _matrices_of(path, variable, budget):
            parts.append(_graphs(found, negative, symmetrize, budget))
            n_graphs = len(parts[-1])
            is_stack = not issparse(found.values) and found.values.ndim == 3
            numbers = [f"{found.name}-{number}" for number in range(n_graphs)]
            names += numbers if is_stack else [found.name]
    graphs = GraphBatch.concatenate(parts)
    if variable is None or graphs.reading is None:
        return graphs, names
    return with_reading(graphs, graphs.reading.with_form(variable=variable)), names


def _matrices_of(path: Path, variable: str | None, budget: ParseBudget) -> Iterator[_Matrices]:
    """Read the matrices of a file, by its ending or else by its first bytes."""
    kind = _kind_of(path)
    stem = bare_name(path)
    if kind == "npy":
        yield _Matrices(npy_array(path, budget), str(path), stem)
    elif kind == "text":
        yield _Matrices(text_matrix(path, budget), str(path), stem)
    else:
        read = _npz_variables if kind == "npz" else mat_variables
        yield from _chosen(read(path, budget, variable), path, variable, stem)


def _kind_of(path: Path) -> str:
    with path.open("rb") as stream:
        head = stream.read(128)
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith(b"PK"):
        return "npz"
    is_mat = path.suffix.lower() == ".mat" or head.startswith((b"MATLAB", b"\x89HDF"))
    if is_mat:
        return "mat"
    if {".npy", ".npz"} & {suffix.lower() for suffix in path.suffixes} and not is_gzip(path):
        raise InvalidInputError(f"{path} is not a file of NumPy, whatever its name says")
    return "text"


def _npz_variables(path: Path, budget: ParseBudget, _: str | None) -> dict[str, Any]:
    arrays = npz_arrays(path, budget)
    if is_sparse_form(arrays):
        return {"": sparse_matrix(arrays, path, budget)}
    return dict(arrays)


# Which variables of a file are graphs


def _chosen(
    found: dict[str, Any], path: Path, variable: str | None, stem: str
) -> Iterator[_Matrices]:
    """Take the variable that was named, or else all, which must all be square then."""
    is_single = list(found) == [""]
    if variable is not None and not is_single:
        if variable not in found:
            raise InvalidInputError(f"{path} has no variable {variable!r}", _choice(found))
        yield _Matrices(found[variable], f"{path}, variable {variable!r}", stem)
        return
    if not found:
        raise InvalidInputError(f"{path} holds no matrices")
    for name, values in found.items():
        if len(found) > 1 and not _is_square(values):
            raise InvalidInputError(
                f"{path}: not all variables are square matrices: {name!r} has shape {values.shape}",
                _choice(found),
            )
        place = f"{path}, variable {name!r}" if name else str(path)
        yield _Matrices(values, place, f"{stem}-{name}" if len(found) > 1 else stem)


def _choice(found: dict[str, Any]) -> Remedy:
    shown = [f"{name!r} {values.shape}" for name, values in list(found.items())[:_MOST_NAMES]]
    listed = ", ".join(shown) + ", ..." * (len(found) > _MOST_NAMES)
    return Remedy("variable", f"choose one of {listed} with variable=", value=listed)


def _is_square(values: Any) -> bool:
    return values.ndim in (2, 3) and values.shape[-1] == values.shape[-2]


# From numbers to graphs


def _graphs(
    found: _Matrices, negative: Negative, symmetrize: Symmetrize, budget: ParseBudget
) -> GraphBatch:
    """Convert a matrix or a stack; what is wrong is said by file, row and column."""
    values, place, _ = found
    if not _is_square(values):
        raise InvalidInputError(
            f"{place}: an adjacency matrix is square, got shape {tuple(values.shape)}"
        )
    if values.dtype.kind not in "biuf":
        raise InvalidInputError(f"{place}: weights must be numbers, got {values.dtype}")
    is_sparse = bool(issparse(values))
    n_entries = int(values.nnz if is_sparse else np.count_nonzero(values))
    n_nodes = math.prod(values.shape[:-1])
    n_copies = 2 if negative == "split" else 1
    n_bytes = n_copies * (_PER_ENTRY * n_entries + _PER_NODE * n_nodes)
    budget.charge(n_bytes, f"{n_entries} entries")
    try:
        convert = from_scipy if is_sparse else from_numpy
        return convert(values, negative=negative, symmetrize=symmetrize)
    except InvalidInputError:
        matrices = [values] if values.ndim == 2 else values
        for number, matrix in enumerate(matrices):
            where = place if values.ndim == 2 else f"{place}, matrix {number}"
            entries = coo_array(matrix.astype(np.float64))  # SciPy knows not all kinds of floats
            _raise_bad_entry(entries, where, negative, symmetrize)
        raise


def _raise_bad_entry(matrix: Any, place: str, negative: Negative, symmetrize: Symmetrize) -> None:
    """Raise for the first entry that is no weight, or has another one across the diagonal."""
    weights = unsigned_weights(matrix.data, negative)
    bad = ~((weights >= 0) & (weights < np.inf))
    bad &= ~((negative == "split") & (weights < 0) & (weights > -np.inf))
    if bad.any():
        entry = int(np.argmax(bad))
        _raise_at(place, matrix.row[entry], matrix.col[entry], *_problem(weights[entry]))
    if symmetrize:
        return
    rows = csr_array((weights, (matrix.row, matrix.col)), shape=matrix.shape)
    difference = abs(rows - rows.T).tocoo()
    larger = abs(rows).maximum(abs(rows.T))[difference.row, difference.col]
    wrong = difference.data > _ROUNDING * np.asarray(larger).ravel()
    if wrong.any():
        row, column = (int(ends[np.argmax(wrong)]) for ends in (difference.row, difference.col))
        there = f"is {rows[row, column]:.12g}, but the one in row {column}, column {row} is "
        there += f"{rows[column, row]:.12g}: the matrix is not symmetric"
        _raise_at(place, row, column, there, _SYMMETRIZE)


_SYMMETRIZE = Remedy(
    "symmetrize", "pass symmetrize=True to drop the directions: the larger of the two is taken"
)


def _problem(weight: float) -> tuple[str, Remedy | None]:
    if -np.inf < weight < 0:
        return f"is {weight:.12g}; weights must not be negative", NEGATIVE
    return f"is {weight}; weights must be finite: set entries without an edge to zero", None


def _raise_at(
    place: str, row: int, column: int, problem: str, remedy: Remedy | None = None
) -> NoReturn:
    raise InvalidInputError(
        f"{place}: the entry in row {row}, column {column} (from 0) {problem}", remedy
    )
