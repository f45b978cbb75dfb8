"""Graphs from the columns of a Parquet file; the errors name the file and the row."""

import json
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, flat_arrays, trusted_batch
from retgk.graphs.edge_labels import EdgeLabels
from retgk.graphs.labels import encode_labels
from retgk.graphs.missing_values import check_no_missing_label, lacks_part
from retgk.graphs.ragged import offsets
from retgk.io.graph_dataset import GraphDataset
from retgk.runtime.parse_budget import ParseBudget

__all__ = ["JSON_FIELD", "RowPlace", "dataset_of_rows"]

JSON_FIELD = {b"retgk": b"json"}
"""Metadata of a column of labels that are stored as JSON."""

_MOST_SHOWN = 20
_PER_LETTER = 4  # bytes in an array of text, where all have the length of the longest


class RowPlace(NamedTuple):
    """Where rows come from: file, number of the first one, columns of the file, what is left."""

    file: str
    first_row: int
    columns: list[str]
    budget: ParseBudget


class _Columns:
    """Columns of a record batch as flat arrays, checked."""

    def __init__(self, rows: Any, place: RowPlace) -> None:
        self.rows = rows
        self.file, self.first_row, self.names, self.budget = place

    @contextmanager
    def rows_in_errors(self) -> Iterator[None]:
        """Put file and rows before the messages of errors in this block."""
        try:
            yield
        except InvalidInputError as error:
            raise InvalidInputError(
                f"{self.file}, in rows from {self.first_row} on: {error}"
            ) from error

    def column(self, name: str) -> Any:
        """Give a column, or None; rows without a value are an error."""
        index = self.rows.schema.get_field_index(name)
        if index < 0:
            return None
        column = self.rows.column(index)
        if column.null_count:
            row = self.first_row + int(np.argmax(column.is_null().to_numpy(False)))
            raise InvalidInputError(f"{self.file}, row {row}: {name} has no value")
        return column

    def list_values(self, name: str) -> tuple[Ints, Any]:
        """Give the offsets and values of a list column."""
        import pyarrow as pa

        column = self.column(name)
        if column is None:
            found = ", ".join(self.names[:_MOST_SHOWN])
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
        """Convert values, which must fit into a type without loss."""
        import pyarrow as pa

        try:
            return np.asarray(values.cast(pa.from_numpy_dtype(kind)))
        except pa.ArrowException as error:
            raise InvalidInputError(f"{self.file}: the column {name!r}: {error}") from error

    def weights(self, entries: Ints) -> Floats | None:
        """Weights, one per neighbour, or None without the column."""
        if self.column("weights") is None:
            return None
        ptr, values = self.lists("weights", np.float64)
        self.check_lengths("weights", ptr, np.diff(entries), "neighbours ask for")
        return values

    def edge_labels(self, entries: Ints) -> EdgeLabels | None:
        """Labels of edges, one per neighbour, or None without the column."""
        if self.column("edge_labels") is None:
            return None
        codes, names = self.labels("edge_labels", np.diff(entries), "neighbours ask for")
        if any(name is not None and lacks_part(name) for name in names):
            with self.rows_in_errors():
                raise InvalidInputError("a label of an edge is nan; give all edges labels")
        return EdgeLabels(codes, names)

    def labels(self, name: str, expected: Ints, reason: str) -> tuple[Codes, tuple[Hashable, ...]]:
        """Codes and names of a column of labels, in lists of the lengths that are expected."""
        ptr, values = self.list_values(name)
        self.check_lengths(name, ptr, expected, reason)
        positions, names = self._distinct_labels(name, values)
        with self.rows_in_errors():
            codes_of_names, ordered = encode_labels(names)
        return codes_of_names[positions], ordered

    def attributes(self, node_ptr: Ints) -> Floats | None:
        """Attributes of all nodes, or None."""
        if self.column("attributes") is None:
            return None
        ptr, rows = self.list_values("attributes")
        self.check_lengths("attributes", ptr, np.diff(node_ptr), "degrees ask for")
        values, width = self._flatten_lists("attributes", rows)
        return self.numbers("attributes", values, np.float64).reshape(len(rows), width)

    def _flatten_lists(self, name: str, rows: Any) -> tuple[Any, int]:
        """Give the values of lists that all have one length, and that length."""
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
            column, width = self._flatten_lists("target", column)
        if pa.types.is_nested(column.type):
            raise InvalidInputError(
                f"{self.file}: the column 'target' nests {column.type}; expected one value for "
                "each graph, or one list of values"
            )
        column = self.plain_text(column)
        values = column.to_numpy(zero_copy_only=False)
        plain = np.array(values.tolist()) if values.dtype == object else np.array(values)
        return plain.reshape(self.rows.num_rows, width) if width else plain

    def plain_text(self, column: Any) -> Any:
        """Give a column without a dictionary; raise if its text takes too much memory."""
        import pyarrow as pa
        from pyarrow import compute

        texts = column.dictionary if pa.types.is_dictionary(column.type) else column
        kind = texts.type
        if pa.types.is_binary(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
            longest = compute.max(compute.binary_length(texts)).as_py() or 0
            what = f"text of up to {longest} bytes in the column 'target'"
            self.budget.check(_PER_LETTER * longest * len(column), what)
        return column.cast(kind) if texts is not column else column

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

    def _distinct_labels(self, name: str, values: Any) -> tuple[NDArray[Any], list[Any]]:
        """Give the position of every label among the distinct ones, and these."""
        import pyarrow as pa

        if pa.types.is_nested(values.type):
            raise InvalidInputError(
                f"{self.file}: the column {name!r} holds {values.type} for every "
                f"{'node' if name == 'labels' else 'edge'}; labels must be numbers or text"
            )
        distinct = values.dictionary_encode()
        positions = np.asarray(distinct.indices).astype(np.int64)
        if pa.types.is_dictionary(values.type):  # names may be unused there
            used, positions = np.unique(positions, return_inverse=True)
            names = distinct.dictionary.take(pa.array(used)).to_pylist()
        else:
            names = distinct.dictionary.to_pylist()
        if JSON_FIELD.items() <= (self.rows.schema.field(name).metadata or {}).items():
            try:
                names = [_hashable(json.loads(text)) for text in names]
            except (RecursionError, TypeError, ValueError) as error:
                raise InvalidInputError(
                    f"{self.file}: a label is not the JSON it should be: {error}"
                ) from error
        return positions, names


def dataset_of_rows(rows: Any, name: str, description: str, place: RowPlace) -> GraphDataset:
    """Build the data set of a record batch."""
    reader = _Columns(rows, place)
    node_ptr, degrees = reader.lists("degrees", np.int64)
    entries, neighbours = reader.lists("neighbours", np.int32)
    indptr = offsets(degrees)
    reader.check_lengths("neighbours", entries, np.diff(indptr[node_ptr]), "degrees ask for")
    weights, edge_labels = reader.weights(entries), reader.edge_labels(entries)
    attributes = reader.attributes(node_ptr)
    with reader.rows_in_errors():
        graphs = GraphBatch(
            node_ptr, indptr, neighbours, weights, attributes=attributes, edge_labels=edge_labels
        )
    return GraphDataset(_with_label_column(graphs, reader), reader.targets(), name, description)


def _with_label_column(graphs: GraphBatch, reader: _Columns) -> GraphBatch:
    if reader.column("labels") is None:
        return graphs
    codes, ordered = reader.labels("labels", graphs.node_counts, "degrees ask for")
    with reader.rows_in_errors():
        # None was written as a label of its own
        check_no_missing_label(codes, [name or "" for name in ordered], graphs.node_ptr)
    return trusted_batch(flat_arrays(graphs)._replace(labels=codes, label_names=ordered))


def _hashable(value: Any) -> Any:
    """Make tuples of the lists that JSON made of them."""
    return tuple(_hashable(item) for item in value) if isinstance(value, list) else value
