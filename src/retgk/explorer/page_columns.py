"""Columns of a page: what is known of every graph, as classes, numbers or text."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Flags, Floats
from retgk.errors import InvalidInputError
from retgk.explorer.page_arrays import PageArrays

__all__ = [
    "Column",
    "checked_column",
    "checked_columns",
    "mean_degrees",
    "pack_columns",
    "text_of",
]

_MOST_CLASSES = 30  # different values that are shown as classes
_NUMBERS = ("size", "confidence", "error")  # roles of columns that are never classes
_WHOLE_NUMBERS = 12  # different whole numbers that are shown as classes
_TARGETS = ("class", "predicted")  # roles of columns whose whole numbers may be more classes


class Column(NamedTuple):
    """One value for each graph, with the name by which the page shows it."""

    name: str
    values: NDArray[Any]
    role: str = ""
    """What the page knows it as: "class", "predicted", "correct", "confidence", "error", "size"."""


def checked_column(name: str, values: Any, n_graphs: int, role: str = "") -> Column:
    """Column of one value for each graph."""
    found = np.asarray(values)
    if found.dtype.kind not in "biufOUS" or found.shape != (n_graphs,):
        raise InvalidInputError(
            f"column {name!r} must be one value for each of {n_graphs:,} graphs, got shape "
            f"{found.shape} of {found.dtype}"
        )
    return Column(name, found, role)


def checked_columns(columns: Mapping[str, Any] | None, n_graphs: int) -> list[Column]:
    """Columns of a mapping or of a table, such as a DataFrame."""
    if columns is None:
        return []
    try:
        names = [str(name) for name in columns]
        return [
            checked_column(name, columns[own], n_graphs)
            for name, own in zip(names, columns, strict=True)
        ]
    except (TypeError, KeyError, IndexError) as error:
        raise InvalidInputError(
            f"columns must be a mapping from names to values, got {columns!r:.80}"
        ) from error


def pack_columns(columns: Sequence[Column], arrays: PageArrays) -> list[dict[str, Any]]:
    """Put columns into the arrays of a page; what is given back is for its header."""
    return [_pack(column, f"column{place}", arrays) for place, column in enumerate(columns)]


def _pack(column: Column, key: str, arrays: PageArrays) -> dict[str, Any]:
    values = column.values
    header = {"key": key, "name": column.name, "role": column.role}
    is_number = values.dtype.kind in "iuf"
    most = _MOST_CLASSES if column.role in _TARGETS else _WHOLE_NUMBERS
    if is_number and (column.role in _NUMBERS or not _are_classes(values, most)):
        numbers = values.astype(np.float32)
        arrays.add(key, np.where(np.isfinite(numbers), numbers, np.nan))
        return {**header, "kind": "number"}
    texts = [text_of(value) for value in values.tolist()]
    names = _class_names(values)
    if len(names) > _MOST_CLASSES:
        return {**header, "kind": "text", "texts": texts}
    places = {name: place for place, name in enumerate(names)}
    arrays.add_codes(key, np.array([places[text] for text in texts], np.int64))
    return {**header, "kind": "class", "names": names}


def _class_names(values: NDArray[Any]) -> list[str]:
    """Different values in their order, numbers as numbers, as texts."""
    distinct = {text_of(value): value for value in values.tolist()}  # 1 and True have two texts
    try:
        return sorted(distinct, key=lambda text: distinct[text])
    except TypeError:
        return sorted(distinct)


def _are_classes(values: NDArray[Any], most: int) -> bool:
    """Whether numbers stand for classes: whole ones, of which there are few."""
    finite: Flags = np.isfinite(values)
    if not finite.all() or not np.array_equal(values, np.round(values)):
        return False
    return len(np.unique(values)) <= most


def text_of(value: Any) -> str:
    """Value as the page shows it; whole numbers without a point."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "missing"
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def mean_degrees(node_counts: NDArray[Any], edge_counts: NDArray[Any]) -> Floats:
    """Mean number of neighbours of the nodes of every graph."""
    return np.asarray(2.0 * edge_counts / np.maximum(node_counts, 1))
