"""The form in which scipy.sparse.save_npz stores a sparse matrix, checked before it is used."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from retgk.array_types import Ints
from retgk.errors import InvalidInputError
from retgk.runtime.parse_budget import ParseBudget

__all__ = ["check_compressed", "is_sparse_form", "sparse_matrix"]

_PER_NODE = 32
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
        budget.charge(_PER_NODE * sum(shape), f"a sparse matrix of shape {shape}")
        matrix = _assembled(form, [arrays[part] for part in _PARTS[form]], shape)
        if form == "dia":
            entries = min(shape) * len(matrix.offsets)
            budget.charge(_PER_NODE * entries, f"{entries} entries")
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
