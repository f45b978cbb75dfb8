"""Graphs as rows of list columns, and back; offsets of lists are offsets of graphs."""

import json
from collections.abc import Hashable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.labels import encode_labels
from retgk.graphs.ragged import offsets
from retgk.graphs.validation import check_no_nan
from retgk.io.formats.parquet_columns import JSON_FIELD, Columns
from retgk.io.graph_dataset import GraphDataset

__all__ = ["dataset_of_rows", "rows_of_dataset"]


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
    for name, (ptr, values) in columns.items():
        arrays.append(_lists(ptr, values))
        fields.append(pa.field(name, arrays[-1].type))
    if graphs.has_labels:
        names, metadata = _stored_names(graphs.label_names)
        arrays.append(_lists(nodes, names.take(pa.array(graphs.labels))))
        fields.append(pa.field("labels", arrays[-1].type, metadata=metadata))
    if with_targets:
        arrays.append(_stored_targets(dataset.targets))
        fields.append(pa.field("target", arrays[-1].type))
    return pa.record_batch(arrays, schema=pa.schema(fields))


def dataset_of_rows(rows: Any, name: str, description: str, place: tuple[str, int]) -> GraphDataset:
    """Build the data set of a record batch; `place` is the file and the number of its first row."""
    reader = Columns(rows, place)
    node_ptr, degrees = reader.lists("degrees", np.int64)
    entries, neighbours = reader.lists("neighbours", np.int32)
    indptr = offsets(degrees)
    reader.check_lengths("neighbours", entries, np.diff(indptr[node_ptr]), "degrees ask for")
    per_entry = {
        key: reader.optional_lists(key, kind, entries)
        for key, kind in (("weights", np.float64), ("edge_labels", np.int64))
    }
    attributes = reader.attributes(node_ptr)
    with reader.named():
        graphs = GraphBatch(
            node_ptr, indptr, neighbours, per_entry["weights"], attributes=attributes
        )
    graphs = _with_label_column(graphs, reader)
    edge_labels = per_entry["edge_labels"]
    if edge_labels is not None:
        with reader.named():
            edge_labels = edge_labels[_order_of_entries(graphs, indptr, neighbours)]
    return GraphDataset(graphs, reader.targets(), name, description, edge_labels)


def _order_of_entries(graphs: GraphBatch, indptr: Ints, neighbours: NDArray[Any]) -> Any:
    """Positions in the file of the entries of a batch, which sorts the neighbours of a node."""
    if len(graphs.indices) != len(neighbours):
        raise InvalidInputError(
            "edges that are listed twice or weigh nothing cannot have edge labels"
        )
    if np.array_equal(graphs.indices, neighbours):
        return slice(None)
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.lexsort((neighbours, rows))


def _with_label_column(graphs: GraphBatch, reader: Columns) -> GraphBatch:
    if reader.column("labels") is None:
        return graphs
    ptr, values = reader.list_values("labels")
    reader.check_lengths("labels", ptr, graphs.sizes, "degrees ask for")
    positions, names = reader.distinct_labels(values)
    with reader.named():
        codes_of_names, ordered = encode_labels(names)
        codes = codes_of_names[positions]
        check_no_nan(codes, ordered, graphs.node_ptr)
    return GraphBatch._trusted(
        graphs.node_ptr, graphs._adjacency(), codes, ordered, graphs.attributes
    )


def _stored_names(names: tuple[Hashable, ...]) -> tuple[Any, dict[bytes, bytes] | None]:
    """Vocabulary as an array: integers and text as they are, anything else as JSON."""
    import pyarrow as pa

    for kind, arrow_type in ((int, pa.int64()), (str, pa.string())):
        if all(type(name) is kind for name in names):
            with suppress(OverflowError, UnicodeError, pa.ArrowException):  # 2**70, "\ud800"
                return pa.array(names, arrow_type), None
    texts = []
    for name in names:
        try:
            texts.append(json.dumps(name))
        except TypeError as error:
            raise InvalidInputError(f"the label {name!r} cannot be written: {error}") from error
    return pa.array(texts, pa.string()), JSON_FIELD


def _stored_targets(targets: NDArray[Any]) -> Any:
    """Column of plain values, or of lists where each graph has several."""
    import pyarrow as pa

    try:
        values = pa.array(targets.reshape(-1))
    except (OverflowError, UnicodeError, pa.ArrowException) as error:
        raise InvalidInputError(f"the targets cannot be written: {error}") from error
    if targets.ndim == 1:
        return values
    return pa.FixedSizeListArray.from_arrays(values, targets.shape[1])


def _lists(ptr: Ints, values: Any) -> Any:
    import pyarrow as pa

    return pa.LargeListArray.from_arrays(pa.array(ptr), values)
