"""Graphs as rows of list columns, and back; offsets of lists are offsets of graphs."""

import json
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.batch import GraphBatch
from retgk.datasets.dataset import GraphDataset
from retgk.errors import InvalidInputError
from retgk.labels import encode_labels

__all__ = ["dataset_of_rows", "rows_of_dataset"]

Ints = NDArray[np.int64]

_JSON_FIELD = {b"retgk": b"json"}


def rows_of_dataset(dataset: GraphDataset, with_targets: bool) -> Any:
    """Record batch with one row per graph."""
    import pyarrow as pa

    graphs = dataset.graphs
    nodes, entries = graphs.node_ptr, graphs.indptr[graphs.node_ptr]
    columns = {
        "degrees": (nodes, pa.array(np.diff(graphs.indptr).astype(np.int32))),
        "neighbours": (entries, pa.array(graphs.indices)),
        # Written in any case: some pieces of a stream may be weighted, others not, and
        # a column of ones takes no room in the file.
        "weights": (entries, pa.array(graphs.weights)),
    }
    if graphs.n_attributes:
        values = pa.array(graphs.attributes.reshape(-1))
        rows = pa.FixedSizeListArray.from_arrays(values, graphs.n_attributes)
        columns["attributes"] = (nodes, rows)
    if dataset.edge_labels is not None:
        columns["edge_labels"] = (entries, pa.array(dataset.edge_labels))
    fields, arrays = [], []
    for name, (offsets, values) in columns.items():
        arrays.append(_lists(offsets, values))
        fields.append(pa.field(name, arrays[-1].type))
    if graphs.has_labels:
        names, metadata = _stored_names(graphs.label_names)
        arrays.append(_lists(nodes, names.take(pa.array(graphs.labels))))
        fields.append(pa.field("labels", arrays[-1].type, metadata=metadata))
    if with_targets:
        arrays.append(pa.array(np.asarray(dataset.targets)))
        fields.append(pa.field("target", arrays[-1].type))
    return pa.record_batch(arrays, schema=pa.schema(fields))


def dataset_of_rows(rows: Any, name: str, description: str, place: tuple[str, int]) -> GraphDataset:
    """Build the data set of a record batch; `place` is the file and the number of its first row."""
    reader = _Rows(rows, place)
    node_ptr, degrees = reader.lists("degrees", np.int64)
    entries, neighbours = reader.lists("neighbours", np.int32)
    reader.check_lengths("neighbours", entries, _sums(degrees, node_ptr), "degrees ask for")
    per_entry = {
        key: reader.optional_lists(key, kind, entries)
        for key, kind in (("weights", np.float64), ("edge_labels", np.int64))
    }
    try:
        graphs = GraphBatch(
            node_ptr,
            np.concatenate([[0], np.cumsum(degrees)]),
            neighbours,
            per_entry["weights"],
            attributes=reader.attributes(node_ptr),
        )
    except InvalidInputError as error:
        raise InvalidInputError(f"{place[0]}, in rows from {place[1]} on: {error}") from error
    graphs = _with_label_column(graphs, reader)
    if len(graphs.indices) != len(neighbours) and per_entry["edge_labels"] is not None:
        raise InvalidInputError(
            f"{place[0]}, in rows from {place[1]} on: edges that are listed twice or weigh "
            "nothing cannot have edge labels"
        )
    return GraphDataset(graphs, reader.targets(), name, description, per_entry["edge_labels"])


class _Rows:
    """Columns of a record batch as flat arrays, checked."""

    def __init__(self, rows: Any, place: tuple[str, int]) -> None:
        self.rows = rows
        self.file, self.first_row = place

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
        if values.null_count:
            raise InvalidInputError(
                f"{self.file}, in rows from {self.first_row} on: a list in {name} has a gap"
            )
        offsets = column.offsets.to_numpy().astype(np.int64)
        return offsets - offsets[0], values

    def lists(self, name: str, kind: Any) -> tuple[Ints, NDArray[Any]]:
        """Offsets and values of a list column of numbers."""
        offsets, values = self.list_values(name)
        return offsets, self.numbers(name, values, kind)

    def numbers(self, name: str, values: Any, kind: Any) -> NDArray[Any]:
        import pyarrow as pa

        try:
            return np.asarray(values.cast(pa.from_numpy_dtype(kind)))
        except pa.ArrowException as error:
            raise InvalidInputError(f"{self.file}: the column {name!r}: {error}") from error

    def optional_lists(self, name: str, kind: Any, expected: Ints) -> NDArray[Any] | None:
        if self.column(name) is None:
            return None
        offsets, values = self.lists(name, kind)
        self.check_lengths(name, offsets, np.diff(expected), "neighbours ask for")
        return values

    def attributes(self, node_ptr: Ints) -> NDArray[np.float64] | None:
        if self.column("attributes") is None:
            return None
        import pyarrow as pa

        offsets, rows = self.list_values("attributes")
        self.check_lengths("attributes", offsets, np.diff(node_ptr), "degrees ask for")
        if not pa.types.is_fixed_size_list(rows.type):
            rows = self._fixed_width(rows)
        values = self.numbers("attributes", rows.flatten(), np.float64)
        return values.reshape(len(rows), -1) if len(rows) else None

    def _fixed_width(self, rows: Any) -> Any:
        """Make lists of one length from the free ones that other programs write."""
        import pyarrow as pa

        widths = np.diff(rows.offsets.to_numpy())
        if len(set(widths.tolist())) > 1:
            raise InvalidInputError(
                f"{self.file}, in rows from {self.first_row} on: nodes have from {widths.min()} "
                f"to {widths.max()} attributes; give all the same"
            )
        return rows.cast(pa.list_(rows.type.value_type, int(widths[0]) if len(widths) else 0))

    def targets(self) -> NDArray[Any]:
        column = self.column("target")
        if column is None:
            return np.full(self.rows.num_rows, np.nan)
        values = column.to_numpy(zero_copy_only=False)
        return np.array(values.tolist()) if values.dtype == object else np.array(values)

    def check_lengths(self, name: str, offsets: Ints, expected: Ints, reason: str) -> None:
        found = np.diff(offsets)
        if np.array_equal(found, expected):
            return
        row = int(np.flatnonzero(found != expected)[0])
        raise InvalidInputError(
            f"{self.file}, row {self.first_row + row}: {name} has {found[row]} values, but its "
            f"{reason} {expected[row]}"
        )


def _with_label_column(graphs: GraphBatch, reader: _Rows) -> GraphBatch:
    if reader.column("labels") is None:
        return graphs
    offsets, values = reader.list_values("labels")
    reader.check_lengths("labels", offsets, graphs.sizes, "degrees ask for")
    distinct = values.dictionary_encode()
    names = distinct.dictionary.to_pylist()
    if (reader.rows.schema.field("labels").metadata or {}).get(b"retgk") == b"json":
        names = [_hashable(json.loads(name)) for name in names]
    position, ordered = encode_labels(names)
    codes = position[np.asarray(distinct.indices)] if names else position
    return GraphBatch._trusted(
        graphs.node_ptr, graphs._adjacency(), codes, ordered, graphs.attributes
    )


def _stored_names(names: tuple[Hashable, ...]) -> tuple[Any, dict[bytes, bytes] | None]:
    """Vocabulary as an array: integers and text as they are, anything else as JSON."""
    import pyarrow as pa

    for kind, arrow_type in ((int, pa.int64()), (str, pa.string())):
        if all(type(name) is kind for name in names):
            return pa.array(names, arrow_type), None
    texts = []
    for name in names:
        try:
            texts.append(json.dumps(name))
        except TypeError as error:
            raise InvalidInputError(f"the label {name!r} cannot be written: {error}") from error
    return pa.array(texts, pa.string()), _JSON_FIELD


def _hashable(value: Any) -> Any:
    """Undo what JSON does to tuples."""
    return tuple(_hashable(item) for item in value) if isinstance(value, list) else value


def _lists(offsets: Ints, values: Any) -> Any:
    import pyarrow as pa

    return pa.LargeListArray.from_arrays(pa.array(offsets), values)


def _sums(values: Ints, offsets: Ints) -> Ints:
    totals = np.concatenate([[0], np.cumsum(values)])
    return np.diff(totals[offsets])
