"""Adjacency matrices from files of NumPy and MATLAB, and from tables of numbers."""

import re
import struct
import warnings
import zlib
from array import array
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, load_npz

from retgk._runtime.files import is_gzip, text_lines, unpacked_size
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, with_reading
from retgk.graphs.edges import Negative, Symmetrize
from retgk.io.arrays import from_numpy, from_scipy
from retgk.io.dataset import GraphDataset
from retgk.io.edges import are_matrix_rows
from retgk.io.formats import TABLES, Format, Sample, bare_name, ending_of
from retgk.io.tables import cells_of, delimiter_in, is_number, number_in

_MOST_NAMES = 5
_MOST_SHOWN = 40
_MANY_NODES = 1 << 22
_ROUNDING = 1e-10  # as a GraphBatch allows it
_NUMPY, _ZIP, _MATLAB, _HDF = b"\x93NUMPY", b"PK", b"MATLAB ", b"\x89HDF"
_ZIP_NAME_BYTES = 300
_MAT_HEADER_BYTES, _MAT_COMPRESSED, _CHUNK_BYTES = 128, 15, 1 << 20
_NOT_NUMBERS = {"char", "cell", "struct", "object", "function", "opaque", "unknown"}


class _Matrices(NamedTuple):
    """What one variable of a file holds: a matrix or a stack, where it is from, and its name."""

    values: Any
    place: str
    name: str


def _read(
    files: list[Path],
    *,
    variable: str | None = None,
    symmetrize: Symmetrize = False,
    negative: Negative = "error",
    **correlations: Any,
) -> GraphDataset:
    parts, names = [], []
    for path in files:
        for found in _matrices_of(path, variable):
            parts.append(_graphs(found, negative=negative, symmetrize=symmetrize, **correlations))
            is_stack = not issparse(found.values) and found.values.ndim == 3
            numbers = [f"{found.name}-{number}" for number in range(len(parts[-1]))]
            names += numbers if is_stack else [found.name]
    graphs = GraphBatch.concatenate(parts)
    if variable is not None and graphs.reading is not None:
        graphs = with_reading(graphs, graphs.reading.with_form(variable=variable))
    return GraphDataset(graphs, None, "", graph_names=names)


def _matrices_of(path: Path, variable: str | None) -> Iterator[_Matrices]:
    with path.open("rb") as stream:
        head = stream.read(_MAT_HEADER_BYTES)
    stem = bare_name(path)
    if head.startswith(_NUMPY):
        yield _Matrices(_library_values(path, np.load, allow_pickle=False), str(path), stem)
    elif head.startswith(_ZIP):
        found = _library_values(path, _npz_variables)
        yield from _chosen(found, path, variable, stem)
    elif ending_of(path) == ".mat" or head.startswith((_MATLAB, _HDF)):
        yield from _chosen(
            _library_values(path, _mat_variables, variable=variable), path, variable, stem
        )
    elif ending_of(path) in (".npy", ".npz") and not is_gzip(path):
        raise InvalidInputError(f"{path} is not a file of NumPy, whatever its name says")
    else:
        yield _Matrices(text_matrix(path), str(path), stem)


def _library_values(path: Path, read: Any, **options: Any) -> Any:
    """What a function of NumPy or SciPy reads; whatever it raises is an error of the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that Python 2 wrote, and names used twice
            return read(path, **options)
    except InvalidInputError:
        raise
    except NotImplementedError as error:
        raise InvalidInputError(
            f"{path} is a .mat file of version 7.3, which is not read; save it in MATLAB with "
            "'-v7', or as .npy"
        ) from error
    except Exception as error:
        raise InvalidInputError(f"{path} cannot be read: {error}; fetch it again") from error


def _npz_variables(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as arrays:
        if {"format", "shape", "data"} <= set(arrays.files):
            return {"": _checked_sparse(load_npz(path), path)}
        found = {name: arrays[name] for name in arrays.files}
    for name, values in found.items():
        if not isinstance(values, np.ndarray):
            raise InvalidInputError(
                f"{path}: the member {name!r} is not an array; a .npz file holds arrays only"
            )
    return found


def _mat_variables(path: Path, variable: str | None) -> dict[str, Any]:
    from scipy.io import loadmat, whosmat

    facts = whosmat(path)
    listed = {name: kind for name, _, kind in facts}
    wanted = [name for name in listed if variable in (None, name)]
    for name in wanted:
        if listed[name] in _NOT_NUMBERS:
            raise InvalidInputError(
                f"{path}: the variable {name!r} is a {listed[name]}, not a matrix of numbers"
            )
    if variable is not None and not wanted:
        return {name: np.broadcast_to(0.0, shape) for name, shape, _ in facts}
    found = loadmat(path, variable_names=wanted)
    return {name: _stacked(found[name], path) for name in wanted}


def _stacked(values: Any, path: Path) -> Any:
    """Matrices along the first axis; MATLAB stacks along the third."""
    if issparse(values):
        return _checked_sparse(values, path)
    is_stack = values.ndim == 3 and values.shape[0] == values.shape[1]
    return np.moveaxis(values, 2, 0) if is_stack else values


def _checked_sparse(matrix: Any, path: Path) -> Any:
    """Raise where indices lead out of a matrix, or it has far more rows than its file has bytes."""
    if max(matrix.shape) > max(_MANY_NODES, path.stat().st_size):
        raise InvalidInputError(
            f"{path} holds a sparse matrix of shape {matrix.shape} in {path.stat().st_size} bytes"
        )
    if matrix.format in ("csr", "csc"):
        matrix.check_format(full_check=True)
    return matrix


def _size_of(path: Path, most: int) -> int:
    with path.open("rb") as stream:
        header = stream.read(_MAT_HEADER_BYTES)
        if not header.startswith(_MATLAB):
            return unpacked_size(path, most)
        order = "<" if header.endswith(b"IM") else ">"
        total = path.stat().st_size
        while total <= most and len(tag := stream.read(8)) == 8:
            kind, n_bytes = struct.unpack(f"{order}2I", tag)
            if kind == _MAT_COMPRESSED:
                total += _inflated_size(stream.read(n_bytes), most)
            else:
                stream.seek(n_bytes, 1)
    return total


def _inflated_size(packed: bytes, most: int) -> int:
    unpacker, size = zlib.decompressobj(), 0
    while packed and size <= most and not unpacker.eof:
        size += len(unpacker.decompress(packed, _CHUNK_BYTES))
        packed = unpacker.unconsumed_tail
    return size


# Which variables of a file are graphs


def _chosen(
    found: dict[str, Any], path: Path, variable: str | None, stem: str
) -> Iterator[_Matrices]:
    is_single = list(found) == [""]
    if variable is not None and not is_single:
        if variable not in found:
            raise InvalidInputError(f"{path} has no variable {variable!r}; {_choice(found)}")
        yield _Matrices(found[variable], f"{path}, variable {variable!r}", stem)
        return
    if not found:
        raise InvalidInputError(f"{path} holds no matrices")
    for name, values in found.items():
        if len(found) > 1 and not _is_square(values):
            raise InvalidInputError(
                f"{path}: not all variables are square matrices: {name!r} has shape "
                f"{values.shape}; {_choice(found)}"
            )
        place = f"{path}, variable {name!r}" if name else str(path)
        yield _Matrices(values, place, f"{stem}-{name}" if len(found) > 1 else stem)


def _choice(found: dict[str, Any]) -> str:
    shown = [f"{name!r} {values.shape}" for name, values in list(found.items())[:_MOST_NAMES]]
    listed = ", ".join(shown) + ", ..." * (len(found) > _MOST_NAMES)
    return f"choose one of {listed} with variable="


def _is_square(values: Any) -> bool:
    return values.ndim in (2, 3) and values.shape[-1] == values.shape[-2]


# From numbers to graphs


def _graphs(found: _Matrices, **options: Any) -> GraphBatch:
    """Convert a matrix or a stack; errors name the file, and nodes as rows and columns from 0."""
    values, place, _ = found
    if not _is_square(values):
        raise InvalidInputError(
            f"{place}: an adjacency matrix is square, got shape {tuple(values.shape)}"
        )
    try:
        convert = from_scipy if issparse(values) else from_numpy
        return convert(values, **options)
    except InvalidInputError as error:
        problem = str(error) if values.ndim == 3 else str(error).removeprefix("graph 0: ")
        raise InvalidInputError(f"{place}: {problem}") from error


# One matrix from a text file, with or without names of rows and columns


def text_matrix(path: Path) -> NDArray[np.float64]:
    """Read rows of numbers; a first line and a first column of names are left out."""
    rows, delimiter, is_first = _Rows(path), None, True
    for number, line in text_lines(path):
        text = line.strip(" \r\n")
        if not text or text.startswith("#"):
            continue
        if is_first:
            delimiter, is_first = delimiter_in(text), False
        rows.add(cells_of(text, delimiter), number)
    return rows.matrix()


class _Rows:
    """Rows of numbers as they come in, and the names of rows and columns, if there are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values = array("d")
        self.heading: list[str] | None = None
        self.row_names: list[str] | None = None
        self.n_rows, self.n_cells = 0, 0

    def add(self, cells: list[str], line: int) -> None:
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


# Names of rows and columns, told from the numbers themselves

_MISSING = {"", "na", "n/a", "null", "none", "-", "."}
_OTHER_CHARACTERS = re.compile(r"[^0-9a-z]+")
_R_PREFIX = re.compile(r"^x(?=[0-9])")  # R puts it before names that start with a digit


def is_heading(cells: list[str]) -> bool:
    """Whether all cells are names, or numbers that count columns behind an empty cell."""
    texts = [cell.strip() for cell in cells]
    has_empty_corner = texts[:1] == [""]
    names = texts[has_empty_corner:]
    if has_empty_corner and _are_counted(names):
        return True
    return bool(names) and not any(is_number(name) or name.lower() in _MISSING for name in names)


def has_row_name(heading: list[str] | None, cells: list[str]) -> bool:
    if heading is not None and (len(cells) == len(heading) + 1 or heading[0].strip() == ""):
        return True  # R leaves out the cell above names of rows, pandas leaves it empty
    names_itself = not is_number(cells[0]) and cells[0].strip().lower() not in _MISSING
    return names_itself and len(cells) > 2 and all(map(is_number, cells[1:]))


def columns_without_corner(heading: list[str], has_row_names: bool, n_cells: int) -> list[str]:
    """Names of columns of numbers: without the cell that stands above names of rows."""
    has_corner = has_row_names and (heading[0].strip() == "" or len(heading) == n_cells)
    return [cell.strip() for cell in heading[has_corner:]]


def check_same_names(rows: list[str], columns: list[str]) -> None:
    """Raise where row i and column i have names of different nodes, but for counted rows."""
    if _are_counted(rows) and not all(map(is_number, columns)):
        return
    for at, (row, column) in enumerate(zip(rows, columns, strict=True), 1):
        if _plain(row) != _plain(column):
            raise InvalidInputError(
                f"row {at} is named {row[:40]!r} and column {at} {column[:40]!r}: rows and columns "
                "must be the same nodes in the same order; with pandas, df.loc[df.columns] puts "
                "rows in the order of columns"
            )


def _are_counted(names: list[str]) -> bool:
    return bool(names) and any(
        names == [str(first + at) for at in range(len(names))] for first in (0, 1)
    )


def _plain(name: str) -> str:
    """Letters and digits alone: R writes other characters of columns as dots."""
    return _R_PREFIX.sub("", _OTHER_CHARACTERS.sub("", name.lower())) or name


# The format

_EDGE_COLUMNS = {"source", "target", "from", "to", "src", "dst"}


def _sniff(sample: Sample) -> bool:
    if sample.head.startswith((_NUMPY, _MATLAB)):
        return True
    if sample.head.startswith(_ZIP):
        return b".npy" in sample.head[:_ZIP_NAME_BYTES]
    if ending_of(sample.path) not in TABLES:
        return False
    return (not sample.names_columns and _is_named_matrix(sample)) or are_matrix_rows(sample)


def _is_named_matrix(sample: Sample) -> bool:
    """Whether a table is a square of numbers below names of columns, and no table of edges."""
    lines = sample.all_lines()
    first = next(lines, "")
    delimiter = delimiter_in(first)
    heading = cells_of(first, delimiter)
    names = {name.strip().lower() for name in heading}
    if not is_heading(heading) or "smiles" in names or names & _EDGE_COLUMNS:
        return False
    rows = [cells_of(line, delimiter) for line in islice(lines, len(heading) + 2)]
    if not rows:
        return False
    is_named = has_row_name(heading, rows[0])
    n_numbers = len(rows[0]) - is_named
    if len(rows) != n_numbers or n_numbers < 2 or not all(map(is_number, rows[0][is_named:])):
        return False
    has_corner = is_named and len(heading) == len(rows[0]) and heading[0].strip() != ""
    return not has_corner or rows[0][0].strip().lower() in names


MATRICES = Format(
    name="matrices",
    endings=(".npy", ".npz", ".mat", *TABLES),
    read=_read,
    options=("variable", "symmetrize", "negative", "fisher_z", "threshold", "density"),
    sniff=_sniff,
    memory_factor=16,
    binary=(".npy", ".npz", ".mat"),
    in_folder=((), (".npy", ".npz", ".mat"), TABLES),  # arrays may stand beside graphs
    size_of=_size_of,
)
