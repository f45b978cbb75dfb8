"""Columns of a table of graphs as flat arrays; the errors name the file and the row."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError

__all__ = ["JSON_FIELD", "Columns"]

JSON_FIELD = {b"retgk": b"json"}
"""Metadata of a column of labels that are stored as JSON."""


class Columns:
    """Columns of a record batch as flat arrays, checked."""

    def __init__(self, rows: Any, place: tuple[str, int]) -> None:
        self.rows = rows
        self.file, self.first_row = place

    @contextmanager
    def named(self) -> Iterator[None]:
        """Put file and rows before what is wrong with the graphs of these rows."""
        try:
            yield
        except InvalidInputError as error:
            raise InvalidInputError(
                f"{self.file}, in rows from {self.first_row} on: {error}"
            ) from error

    def column(self, name: str) -> Any:
        """Column, or None; rows without a value are an error."""
        index = self.rows.schema.get_field_index(name)
        if index < 0:
            return None
        column = self.rows.column(index)
        if column.null_count:
            row = self.first_row + int(np.argmax(column.is_null().to_numpy(False)))
            raise InvalidInputError(f"{self.file}, row {row}: {name} has no value")
        return column

    def list_values(self, name: str) -> tuple[Ints, Any]:
        """Offsets and values of a list column."""
        import pyarrow as pa

        column = self.column(name)
        if column is None:
            found = ", ".join(self.rows.schema.names)
            raise InvalidInputError(f"{self.file} has no column {name!r}; it has {found}")
        if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
            raise InvalidInputError(
                f"{self.file}: the column {name!r} holds {column.type}, expected lists"
            )
        values = column.flatten()
        self.check_no_gap(name, values)
        ptr = column.offsets.to_numpy().astype(np.int64)
        return ptr - ptr[0], values

    def check_no_gap(self, name: str, values: Any) -> None:
        """Raise where a value within a list is missing."""
        if values.null_count:
            raise InvalidInputError(
                f"{self.file}, in rows from {self.first_row} on: a list in {name} has a gap"
            )

    def lists(self, name: str, kind: Any) -> tuple[Ints, NDArray[Any]]:
        """Offsets and values of a list column of numbers."""
        ptr, values = self.list_values(name)
        return ptr, self.numbers(name, values, kind)

    def numbers(self, name: str, values: Any, kind: Any) -> NDArray[Any]:
        """Array of values, which must fit into a type without loss."""
        import pyarrow as pa

        try:
            return np.asarray(values.cast(pa.from_numpy_dtype(kind)))
        except pa.ArrowException as error:
            raise InvalidInputError(f"{self.file}: the column {name!r}: {error}") from error

    def optional_lists(self, name: str, kind: Any, expected: Ints) -> NDArray[Any] | None:
        """Values of a list column as long as the neighbours, or None where there is none."""
        if self.column(name) is None:
            return None
        ptr, values = self.lists(name, kind)
        self.check_lengths(name, ptr, np.diff(expected), "neighbours ask for")
        return values

    def attributes(self, node_ptr: Ints) -> Floats | None:
        """Attributes of all nodes, or None."""
        if self.column("attributes") is None:
            return None
        ptr, rows = self.list_values("attributes")
        self.check_lengths("attributes", ptr, np.diff(node_ptr), "degrees ask for")
        values, width = self._joined("attributes", rows)
        return self.numbers("attributes", values, np.float64).reshape(len(rows), width)

    def _joined(self, name: str, rows: Any) -> tuple[Any, int]:
        """Values and length of lists that all have one length; other programs do not fix it."""
        import pyarrow as pa

        if pa.types.is_fixed_size_list(rows.type):
            widths = np.array([rows.type.list_size])
        elif pa.types.is_list(rows.type) or pa.types.is_large_list(rows.type):
            widths = np.diff(rows.offsets.to_numpy())
        else:
            raise InvalidInputError(
                f"{self.file}: the column {name!r} holds {rows.type} where lists are expected"
            )
        if len(set(widths.tolist())) > 1:
            raise InvalidInputError(
                f"{self.file}, in rows from {self.first_row} on: {name} are lists of "
                f"{widths.min()} to {widths.max()} values; give all the same"
            )
        values = rows.flatten()
        self.check_no_gap(name, values)
        return values, int(widths[0]) if len(widths) else 0

    def targets(self) -> NDArray[Any]:
        """Targets of all graphs; NaN where the file has none."""
        column = self.column("target")
        if column is None:
            return np.full(self.rows.num_rows, np.nan)
        import pyarrow as pa

        width = 0
        if pa.types.is_nested(column.type):
            column, width = self._joined("target", column)
        if pa.types.is_nested(column.type):
            raise InvalidInputError(
                f"{self.file}: the column 'target' nests {column.type}; expected one value for "
                "each graph, or one list of values"
            )
        values = column.to_numpy(zero_copy_only=False)
        plain = np.array(values.tolist()) if values.dtype == object else np.array(values)
        return plain.reshape(self.rows.num_rows, width) if width else plain

    def check_lengths(self, name: str, ptr: Ints, expected: Ints, reason: str) -> None:
        """Raise unless the lists of a column have the lengths that another one asks for."""
        found = np.diff(ptr)
        if np.array_equal(found, expected):
            return
        row = int(np.flatnonzero(found != expected)[0])
        raise InvalidInputError(
            f"{self.file}, row {self.first_row + row}: {name} has {found[row]} values, but its "
            f"{reason} {expected[row]}"
        )

    def distinct_labels(self, values: Any) -> tuple[NDArray[Any], list[Any]]:
        """Position of every label among the distinct ones, and these."""
        import pyarrow as pa

        if pa.types.is_nested(values.type):
            raise InvalidInputError(
                f"{self.file}: the column 'labels' holds {values.type} for every node; labels "
                "must be numbers or text"
            )
        distinct = values.dictionary_encode()
        names = distinct.dictionary.to_pylist()
        if JSON_FIELD.items() <= (self.rows.schema.field("labels").metadata or {}).items():
            try:
                names = [_hashable(json.loads(name)) for name in names]
            except ValueError as error:
                raise InvalidInputError(
                    f"{self.file}: a label is not the JSON it should be: {error}"
                ) from error
        return np.asarray(distinct.indices).astype(np.int64), names


def _hashable(value: Any) -> Any:
    """Undo what JSON does to tuples."""
    return tuple(_hashable(item) for item in value) if isinstance(value, list) else value
