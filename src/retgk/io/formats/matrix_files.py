"""Adjacency matrices from files of NumPy and MATLAB, and from tables of numbers."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse

from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch, with_reading
from retgk.graphs.edge_checks import NEGATIVE, Symmetrize
from retgk.io.converters.arrays import from_numpy, from_scipy
from retgk.io.converters.signed_weights import Negative, unsigned_weights
from retgk.io.formats.graph_files import bare_name, is_gzip
from retgk.io.formats.mat_variables import mat_variables
from retgk.io.formats.npy_arrays import npy_array, npz_arrays
from retgk.io.formats.sparse_arrays import is_sparse_form, sparse_matrix
from retgk.io.formats.text_matrices import text_matrix
from retgk.runtime.parse_budget import ParseBudget

__all__ = ["read_matrices"]

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
