"""Collections of graphs in Parquet files: one row per graph, streamed in batches."""

import difflib
import json
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.fields import flatten, unflatten
from retgk._runtime.files import atomic_path, check_size
from retgk._runtime.names import optional_module
from retgk._runtime.parameters import Whole, check_parameters
from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError, warn_of
from retgk.graphs.batch import GraphBatch, flat_arrays, trusted_batch, with_reading
from retgk.graphs.edges import EdgeLabels
from retgk.graphs.flat import (
    check_no_missing_label,
    check_numbers,
    checked_label_columns,
    encode_labels,
    lacks_part,
    offsets,
)
from retgk.graphs.reading import Reading
from retgk.io.convert import GraphsLike, dataset_of
from retgk.io.dataset import GraphDataset
from retgk.io.formats import Format, PathLike
from retgk.io.json import tuples_of_lists

COLUMNS = ("degrees", "neighbours", "weights", "labels", "attributes", "edge_labels", "target")
"""Columns of graphs."""

JSON_FIELD = {b"retgk": b"json"}
"""Metadata of a column of labels that are stored as JSON."""

_MOST_SHOWN = 20
_METADATA_KEY = b"retgk"
_COLUMNS = b"retgk.columns"  # of the field of labels: names of what they consist of


def write_parquet(
    data: GraphsLike | Iterator[GraphsLike],
    path: PathLike,
    *,
    batch_size: int = 10_000,
) -> Path:
    """
    Write graphs to a Parquet file, one row per graph.

    The columns are lists: ``degrees`` (one per node), ``neighbours`` (numbered within the
    graph, node after node, both directions of an edge), ``weights`` (one per neighbour)
    and, where there are any, ``labels`` and ``attributes`` (one per node) and
    ``edge_labels`` (one per neighbour); ``target`` is a plain column. Labels of either kind are
    stored as they are if they are all 64-bit integers or all text, and as JSON otherwise.

    Parameters
    ----------
    data : GraphDataset or anything that `as_batch` takes, or an iterator or list of data sets
        What to write. An iterator is written piece by piece, so that it never has to fit
        into memory; all pieces must have the same columns.
    path : path-like
        The file; one that is there is replaced when all is written.
    batch_size : int, default=10_000
        Most graphs per row group.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from retgk import GraphBatch, read_graphs
    >>> from retgk.io import write_parquet
    >>> edge = GraphBatch.from_edges(2, [[0, 1]], labels=["C", "N"], symmetrize=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_graphs(write_parquet(edge, f"{folder}/edge.parquet")).graphs == edge
    True
    """
    parquet = _arrow("pyarrow.parquet")
    check_parameters({"batch_size": (Whole(1),)}, {"batch_size": batch_size})
    target = Path(path)
    pieces = enumerate(_rows_of_pieces(data, batch_size, target.stem))
    with atomic_path(target) as part:
        _, (rows, metadata) = next(pieces, (0, (None, None)))
        if rows is None:
            raise InvalidInputError("there are no graphs to write")
        schema = rows.schema
        with parquet.ParquetWriter(
            part,
            schema.with_metadata(metadata),
            compression="zstd",
            write_page_checksum=True,
        ) as writer:
            writer.write_batch(rows)
            for position, (more, _) in pieces:
                if not more.schema.equals(schema, check_metadata=True):
                    raise InvalidInputError(
                        f"piece {position} has the columns {_summary(more.schema)}, the first one "
                        f"has {_summary(schema)}; all pieces must have the same"
                    )
                writer.write_batch(more)
    return target


def iter_parquet(
    path: PathLike,
    batch_size: int = 1_000,
    *,
    row_groups: Sequence[int] | None = None,
    max_bytes: int | None = None,
) -> Iterator[GraphDataset]:
    """
    Read a Parquet file of graphs in batches, in the order of its rows.

    Parameters
    ----------
    path : path-like
        A file as :func:`write_parquet` makes them.
    batch_size : int, default=1_000
        Most graphs per batch; memory grows with it.
    row_groups : sequence of int, optional
        Row groups to read, one after the other; by default all.
    max_bytes : int, optional
        Limit on the memory that a row group takes, see `read_graphs`.

    Yields
    ------
    GraphDataset
        The next graphs. Targets are NaN where the file has none.

    Raises
    ------
    InvalidInputError
        If rows contradict themselves; the message names the row.

    Examples
    --------
    >>> import tempfile
    >>> from retgk.datasets import make_graph_classification
    >>> from retgk.io import iter_parquet, write_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_parquet(make_graph_classification(50), f"{folder}/graphs.parquet")
    ...     [len(part) for part in iter_parquet(path, batch_size=20)]
    [20, 20, 10]
    """
    check_parameters({"batch_size": (Whole(1),)}, {"batch_size": batch_size})
    check_size(
        [Path(path)],
        PARQUET.memory_factor,
        max_bytes,
        lambda file, _: max((size for _, size in row_group_sizes(file)), default=0),
    )
    yield from _batches(Path(path), batch_size, row_groups)


def _batches(
    path: Path, batch_size: int, row_groups: Sequence[int] | None = None
) -> Iterator[GraphDataset]:
    with _damage_in_errors(path, "is not a whole Parquet file"):
        file = _arrow("pyarrow.parquet").ParquetFile(path, page_checksum_verification=True)
    with file:
        with _damage_in_errors(path, "is damaged"):
            name, description, reading = _description(file.schema_arrow.metadata, path)
            names = file.schema_arrow.names
            _warn_of_unread(file.schema_arrow, path)
            columns = [name for name in COLUMNS if name in names]
            batches = file.iter_batches(batch_size, row_groups, columns)
            before = range(row_groups[0] if row_groups else 0)
            first = sum(file.metadata.row_group(group).num_rows for group in before)
        while True:
            with _damage_in_errors(path, "is damaged"):
                rows = next(batches, None)
                if rows is None:
                    return
                place = RowPlace(str(path), first, names)
                dataset = dataset_of_rows(rows, name, description, place)
                dataset = replace(dataset, graphs=with_reading(dataset.graphs, reading))
            yield dataset
            first += rows.num_rows


def _arrow(name: str = "pyarrow") -> Any:
    return optional_module(name, "parquet")


def row_group_sizes(path: Path) -> list[tuple[int, int]]:
    """Rows of every row group, and bytes of the columns of graphs as arrays."""
    with (
        _damage_in_errors(path, "is not a whole Parquet file"),
        _arrow("pyarrow.parquet").ParquetFile(path) as file,
    ):
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        found = []
        for group in groups:
            chunks = map(group.column, range(group.num_columns))
            known = [chunk for chunk in chunks if chunk.path_in_schema.split(".", 1)[0] in COLUMNS]
            # a page holds many values in a few bytes where they are the same
            sizes = [max(chunk.total_uncompressed_size, 8 * chunk.num_values) for chunk in known]
            found.append((group.num_rows, sum(sizes)))
        return found


@contextmanager
def _damage_in_errors(path: Path, problem: str) -> Iterator[None]:
    try:
        yield
    except (InvalidInputError, FileNotFoundError, IsADirectoryError, PermissionError, ImportError):
        raise
    except Exception as error:
        raise InvalidInputError(f"{path} {problem}: {error}; fetch it again") from error


def _read(files: list[Path]) -> GraphDataset:
    parts = [part for path in files for part in _batches(path, 100_000)]
    if not parts:
        raise InvalidInputError(f"{files[0]} has no rows")
    return GraphDataset(
        GraphBatch.concatenate(part.graphs for part in parts),
        np.concatenate([part.targets for part in parts if part.targets is not None]),
        parts[0].name,
        parts[0].description,
    )


def _rows_of_pieces(data: Any, batch_size: int, name: str) -> Iterator[tuple[Any, Any]]:
    """Rows of at most `batch_size` graphs each, with what describes the collection."""
    is_list = isinstance(data, list | tuple) and bool(data)
    in_pieces = is_list and all(isinstance(item, GraphDataset | GraphBatch) for item in data)
    for item in data if in_pieces or isinstance(data, Iterator) else [data]:
        whole = dataset_of(item, name)
        _check_no_gap(whole)
        for first in range(0, len(whole), batch_size):
            yield _record_batch(whole[first : first + batch_size]), _metadata(whole)


def _check_no_gap(dataset: GraphDataset) -> None:
    """Raise where a target or an attribute is missing: the file would be refused when read."""
    check_numbers(dataset.graphs.attributes, dataset.graphs.node_ptr)
    if dataset.targets is None or dataset.targets.dtype != object:
        return
    for graph, target in enumerate(dataset.targets):
        if any(value is None for value in np.atleast_1d(target)):
            raise InvalidInputError(
                f"{dataset.name}: graph {graph} has no target; drop it, or write the graphs alone"
            )


def _record_batch(dataset: GraphDataset) -> Any:
    pa = _arrow()
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
    fields, arrays = [], []
    for name, (ptr, values) in columns.items():
        arrays.append(_lists(ptr, values))
        fields.append(pa.field(name, arrays[-1].type))
    labels = {
        "labels": (graphs.has_labels, nodes, graphs.labels, graphs.label_names),
        "edge_labels": (
            graphs.has_edge_labels,
            entries,
            graphs.edge_labels,
            graphs.edge_label_names,
        ),
    }
    for name, (is_there, ptr, codes, vocabulary) in labels.items():
        if is_there:
            names, metadata = _name_column(vocabulary)
            if name == "labels" and graphs.label_columns:
                metadata = (metadata or {}) | {_COLUMNS: json.dumps(graphs.label_columns).encode()}
            arrays.append(_lists(ptr, names.take(pa.array(codes))))
            fields.append(pa.field(name, arrays[-1].type, metadata=metadata))
    if dataset.targets is not None:
        arrays.append(_target_column(dataset.targets))
        fields.append(pa.field("target", arrays[-1].type))
    return pa.record_batch(arrays, schema=pa.schema(fields))


def _name_column(names: tuple[Hashable, ...]) -> tuple[Any, dict[bytes, bytes] | None]:
    """Column of the vocabulary: integers and text as they are, anything else as JSON."""
    pa = _arrow()
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


def _target_column(targets: NDArray[Any]) -> Any:
    pa = _arrow()
    try:
        values = pa.array(targets.reshape(-1))
    except (OverflowError, UnicodeError, pa.ArrowException) as error:
        raise InvalidInputError(f"the targets cannot be written: {error}") from error
    if targets.ndim == 1:
        return values
    return pa.FixedSizeListArray.from_arrays(values, targets.shape[1])


def _lists(ptr: Ints, values: Any) -> Any:
    pa = _arrow()
    return pa.LargeListArray.from_arrays(pa.array(ptr), values)


def _metadata(dataset: GraphDataset) -> dict[bytes, bytes]:
    value: dict[str, Any] = {"version": 1, "name": dataset.name}
    value["description"] = dataset.description
    with suppress(InvalidInputError):  # of names that are objects of the user's
        value["reading"] = flatten(dataset.graphs.reading, "reading")
    return {_METADATA_KEY: json.dumps(value).encode()}


def _warn_of_unread(schema: Any, path: Path) -> None:
    """Warn of columns nearly called like one of graphs, and of lists, as of values of nodes."""
    names, types, lists = schema.names, _arrow().types, []
    for field in schema:
        name = field.name
        near = difflib.get_close_matches(name.lower(), set(COLUMNS) - set(names), n=1, cutoff=0.8)
        if name not in COLUMNS and near:
            note = f"{path}: the column {name!r} was not read; if it is meant as {near[0]}, rename"
            warn_of([f"{note} it, or else take it out"])
        elif name not in COLUMNS and types.is_list(field.type):
            lists.append(repr(name))
    if lists:
        warn_of([f"{path}: lists in {', '.join(lists)} are not used; take them out"])


def _description(
    metadata: dict[bytes, bytes] | None, path: Path
) -> tuple[str, str, Reading | None]:
    """Name of a collection, its description, how it was read; files that others wrote have none."""
    try:
        value = json.loads((metadata or {})[_METADATA_KEY])
        name, description = str(value["name"]), str(value["description"])
    except (KeyError, RecursionError, TypeError, ValueError):
        return path.stem, "", None
    try:
        reading = unflatten(value.get("reading"))
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        reading = None
    return name, description, reading if isinstance(reading, Reading) else None


def _summary(schema: Any) -> str:
    return ", ".join(
        f"{field.name}: {'JSON in ' * _is_json(field)}{field.type}" for field in schema
    )


def _is_json(field: Any) -> bool:
    return JSON_FIELD.items() <= (field.metadata or {}).items()


# Graphs from the columns of a file; errors name the file and the row


class RowPlace(NamedTuple):
    """Where rows come from: file, number of the first one, columns of the file."""

    file: str
    first_row: int
    columns: list[str]


class _Columns:
    def __init__(self, rows: Any, place: RowPlace) -> None:
        self.rows = rows
        self.file, self.first_row, self.names = place

    @contextmanager
    def rows_in_errors(self) -> Iterator[None]:
        try:
            yield
        except InvalidInputError as error:
            raise InvalidInputError(
                f"{self.file}, in rows from {self.first_row} on: {error}"
            ) from error

    def column(self, name: str) -> Any:
        index = self.rows.schema.get_field_index(name)
        if index < 0:
            return None
        column = self.rows.column(index)
        if column.null_count:
            row = self.first_row + int(np.argmax(column.is_null().to_numpy(False)))
            raise InvalidInputError(f"{self.file}, row {row}: {name} has no value")
        return column

    def list_values(self, name: str) -> tuple[Ints, Any]:
        pa = _arrow()
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
        ptr, values = self.list_values(name)
        return ptr, self.numbers(name, values, kind)

    def numbers(self, name: str, values: Any, kind: Any) -> NDArray[Any]:
        pa = _arrow()
        try:
            return np.asarray(values.cast(pa.from_numpy_dtype(kind)))
        except pa.ArrowException as error:
            raise InvalidInputError(f"{self.file}: the column {name!r}: {error}") from error

    def weights(self, entries: Ints) -> Floats | None:
        if self.column("weights") is None:
            return None
        ptr, values = self.lists("weights", np.float64)
        self.check_lengths("weights", ptr, np.diff(entries), "neighbours ask for")
        return values

    def edge_labels(self, entries: Ints) -> EdgeLabels | None:
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

    def label_columns(self) -> tuple[Any, ...]:
        metadata = self.rows.schema.field("labels").metadata or {}
        try:
            return tuple(json.loads(metadata.get(_COLUMNS, b"[]")))
        except (RecursionError, TypeError, ValueError):  # as if nobody had written them
            return ()

    def attributes(self, node_ptr: Ints) -> Floats | None:
        if self.column("attributes") is None:
            return None
        ptr, rows = self.list_values("attributes")
        self.check_lengths("attributes", ptr, np.diff(node_ptr), "degrees ask for")
        values, width = self._flatten_lists("attributes", rows)
        return self.numbers("attributes", values, np.float64).reshape(len(rows), width)

    def _flatten_lists(self, name: str, rows: Any) -> tuple[Any, int]:
        pa = _arrow()
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
        column = self.column("target")
        if column is None:
            return np.full(self.rows.num_rows, np.nan)
        pa = _arrow()
        width = 0
        if pa.types.is_nested(column.type):
            column, width = self._flatten_lists("target", column)
        if pa.types.is_nested(column.type):
            raise InvalidInputError(
                f"{self.file}: the column 'target' nests {column.type}; expected one value for "
                "each graph, or one list of values"
            )
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        values = column.to_numpy(zero_copy_only=False)
        plain = np.array(values.tolist()) if values.dtype == object else np.array(values)
        return plain.reshape(self.rows.num_rows, width) if width else plain

    def check_lengths(self, name: str, ptr: Ints, expected: Ints, reason: str) -> None:
        found = np.diff(ptr)
        if np.array_equal(found, expected):
            return
        row = int(np.flatnonzero(found != expected)[0])
        raise InvalidInputError(
            f"{self.file}, row {self.first_row + row}: {name} has {found[row]} values, but its "
            f"{reason} {expected[row]}"
        )

    def _distinct_labels(self, name: str, values: Any) -> tuple[NDArray[Any], list[Any]]:
        pa = _arrow()
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
        if _is_json(self.rows.schema.field(name)):
            try:
                names = [tuples_of_lists(json.loads(text)) for text in names]
            except (RecursionError, TypeError, ValueError) as error:
                raise InvalidInputError(
                    f"{self.file}: a label is not the JSON it should be: {error}"
                ) from error
        return positions, names


def dataset_of_rows(rows: Any, name: str, description: str, place: RowPlace) -> GraphDataset:
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
        columns = checked_label_columns(reader.label_columns(), codes, ordered)
    arrays = flat_arrays(graphs)
    return trusted_batch(arrays._replace(labels=codes, label_names=ordered, label_columns=columns))


PARQUET = Format(
    name="parquet",
    endings=(".parquet",),
    read=_read,
    sniff=lambda sample: sample.head.startswith(b"PAR1"),
    write=write_parquet,
    memory_factor=6,
    binary=(".parquet",),
    in_folder=(),
    size_of=lambda path, _: sum(size for _, size in row_group_sizes(path)),
)
