"""Collections of graphs in Parquet files: one row per graph, streamed in batches."""

import difflib
import hashlib
import json
import mmap
import os
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.files import ParseBudget, atomic_path
from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError, warn_of
from retgk.graphs.batch import GraphBatch, flat_arrays, trusted_batch, with_reading
from retgk.graphs.edges import EdgeLabels
from retgk.graphs.flat import (
    check_no_missing_label,
    check_numbers,
    encode_labels,
    lacks_part,
    offsets,
)
from retgk.graphs.reading import Reading, checked_reading
from retgk.io.dataset import GraphDataset

# -------------------------------------------------------------------------------------------------
# Graphs from the columns of a Parquet file; the errors name the file and the row.
# -------------------------------------------------------------------------------------------------

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


# -------------------------------------------------------------------------------------------------
# Structs in Thrift's compact form, in which Parquet files describe themselves.
# -------------------------------------------------------------------------------------------------

_TRUE, _FALSE, _BYTE, _I16, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = (
    1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12,
)  # fmt: skip
_MOST_NESTED = 16
_LONG_LIST = 15
_MOST_BITS = 63


class CompactReader:
    """
    Reader of structs from a place in a file on; damage raises LookupError or ValueError.

    Parameters
    ----------
    data : mmap
        The file.
    at : int
        Where the struct begins; after reading, where it ended.
    """

    def __init__(self, data: mmap.mmap, at: int) -> None:
        self.data, self.at = data, at

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Read a struct: its values by the numbers of their fields."""
        if depth > _MOST_NESTED:
            raise ValueError("structs are nested too deeply")
        fields: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            field = field + step if step else self._number()
            fields[field] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if _I16 <= kind <= _I64:
            return self._number()
        if kind in (_LIST, _SET):
            return self._list(depth + 1)
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind in (_BYTE, _TRUE, _FALSE):  # truth values of a list take a byte
            return self._byte()
        if kind == _DOUBLE:
            return self._bytes(8)
        raise ValueError(f"there is no type {kind}" if kind != _MAP else "a map is not expected")

    def _list(self, depth: int) -> list[Any]:
        if depth > _MOST_NESTED:
            raise ValueError("lists are nested too deeply")
        head = self._byte()
        size = head >> 4 if head >> 4 < _LONG_LIST else self._varint()
        if size > len(self.data) - self.at:
            raise ValueError("a list is longer than the file")
        return [self._value(head & 15, depth) for _ in range(size)]

    def _bytes(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise ValueError("text is longer than the file")
        self.at += size
        return self.data[self.at - size : self.at]

    def _byte(self) -> int:
        value = self.data[self.at]
        self.at += 1
        return value

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > _MOST_BITS:
                raise ValueError("a number is too long")

    def _number(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)


# -------------------------------------------------------------------------------------------------
# What the pages of a Parquet file unpack to, from their headers: no page is opened for it.
# -------------------------------------------------------------------------------------------------

COLUMNS = {
    "degrees": 72,
    "neighbours": 40,
    "weights": 32,
    "labels": 40,
    "attributes": 40,
    "edge_labels": 48,
    "target": 100,
}
"""Columns of graphs, and bytes of memory that one value takes until its graph is made."""

# Fields in parquet.thrift: of PageHeader, of FileMetaData, RowGroup and ColumnChunk, and of
# ColumnMetaData.
_UNPACKED_SIZE, _PACKED_SIZE, _DATA, _DICTIONARY, _DATA_2 = 2, 3, 5, 7, 8
_ROW_GROUPS, _CHUNKS, _N_ROWS, _CHUNK = 4, 1, 3, 3
_TYPE, _PATH, _N_VALUES, _SIZE, _DATA_AT, _DICTIONARY_AT = 1, 3, 5, 7, 9, 11
_BYTE_ARRAY = 6
_END = 8  # bytes after the footer: its length, and PAR1
_SEAL_MARK = b"retgk-digest-1\n\0"
_SEAL_BYTES = len(_SEAL_MARK) + 32


class _Pages(NamedTuple):
    """Sums over the pages of one column of one row group."""

    n_values: int
    n_bytes: int
    dictionary_bytes: int


def check_pages(path: Path, batch_size: int | None, budget: ParseBudget) -> list[str]:
    """
    Raise if the rows of a file take too much memory: `batch_size` at a time, or all of them.

    The headers of pages are what a reader goes by, whatever the list of columns says. Text that is
    stored once and used often may be larger than all else: columns where that could be too much
    are returned, to be read as dictionaries.
    """
    costs, long_texts = [], set()
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = _footer_start(data)
        digest = hashlib.sha256(data[start:-_END])
        for group in CompactReader(data, start).struct()[_ROW_GROUPS]:
            cost = 0
            for column, per_value, chunk in _known_chunks(group):
                pages = _pages_of(data, chunk, digest)
                cost += per_value * pages.n_values + 2 * pages.n_bytes
                most = pages.n_values * pages.dictionary_bytes
                if chunk[_TYPE] == _BYTE_ARRAY and most > budget.left // 2:
                    long_texts.add(column)
            costs.append((group[_N_ROWS], cost))
        mark, written = data[start - _SEAL_BYTES : start - 32], data[start - 32 : start]
    if mark == _SEAL_MARK and digest.digest() != written:
        raise ValueError("what it says of its pages does not match its digest")
    budget.check(_most_at_once(costs, batch_size), "its rows")
    return sorted(long_texts)


def seal(path: Path) -> None:
    """
    Put a digest of the footer and of the headers of all pages before the footer of a file.

    The checksums of pages say nothing of these, where one flipped bit can make a column unknown.
    Other programs do not notice: they look for the footer from the end.
    """
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = _footer_start(data)
        tail = data[start:]
        digest = hashlib.sha256(tail[:-_END])
        for group in CompactReader(data, start).struct()[_ROW_GROUPS]:
            for _, _, chunk in _known_chunks(group):
                _pages_of(data, chunk, digest)
    with path.open("r+b") as target:
        target.seek(start)
        target.write(_SEAL_MARK + digest.digest() + tail)


def _known_chunks(group: dict[int, Any]) -> Iterator[tuple[str, int, dict[int, Any]]]:
    """Give the columns of a row group that are read: name, cost of a value, description."""
    for chunk in (chunk[_CHUNK] for chunk in group[_CHUNKS]):
        column = b".".join(chunk[_PATH]).decode()
        per_value = COLUMNS.get(column.split(".", 1)[0])
        if per_value is not None:
            yield column, per_value, chunk


def _most_at_once(costs: list[tuple[int, int]], batch_size: int | None) -> int:
    """Give the cost of the row groups that a batch of rows can touch, for the dearest batch."""
    rows, sums = np.cumsum([[0, 0], *costs], axis=0, dtype=object).T
    if batch_size is None or len(costs) < 2:
        return int(sums[-1])
    ends = rows.astype(np.int64)
    starts = np.arange(0, ends[-1], batch_size)
    first = np.searchsorted(ends, starts, side="right") - 1
    last = np.searchsorted(ends, np.minimum(starts + batch_size, ends[-1]), side="left")
    return int(max(sums[last] - sums[first], default=0))


def _footer_start(data: mmap.mmap) -> int:
    """
    Find where a file says what row groups it has.

    It is read here because pyarrow ends the process on some damaged ones when it is asked.
    """
    size = int.from_bytes(data[-_END:-4], "little")
    if size > len(data) - _END:
        raise ValueError("the footer is longer than the file")
    return len(data) - _END - size


def _pages_of(data: mmap.mmap, chunk: dict[int, Any], digest: Any) -> _Pages:
    """Add up what the headers of pages say, as far as a reader would go; add them to a digest."""
    n_values = n_bytes = dictionary_bytes = 0
    if chunk[_N_VALUES] <= 0:  # no page is read then, and none need be there
        return _Pages(0, 0, 0)
    for header, text in _headers(data, chunk):
        digest.update(text)
        values = header.get(_DATA) or header.get(_DATA_2) or {}
        n_values += values.get(1, 0)
        n_bytes += header[_UNPACKED_SIZE]
        if _DICTIONARY in header:
            dictionary_bytes += header[_UNPACKED_SIZE]
        if min(n_values, n_bytes) < 0:
            raise ValueError("a size is negative")
        if n_values >= chunk[_N_VALUES]:
            break
    return _Pages(n_values, n_bytes, dictionary_bytes)


def _headers(data: mmap.mmap, chunk: dict[int, Any]) -> Iterator[tuple[dict[int, Any], bytes]]:
    """Read the headers of the pages of a column, parsed and as they are."""
    at = min(chunk[_DATA_AT], chunk.get(_DICTIONARY_AT) or chunk[_DATA_AT])
    end = min(at + chunk[_SIZE], len(data))
    while 0 <= at < end:
        reader = CompactReader(data, at)
        header = reader.struct()
        size = header[_PACKED_SIZE]
        if size < 0:
            raise ValueError("a size is negative")
        yield header, data[at : reader.at]
        at = reader.at + size


_METADATA_KEY = b"retgk"


def write_parquet(
    data: GraphDataset | GraphBatch | Iterable[GraphDataset | GraphBatch],
    path: str | os.PathLike[str],
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
    data : GraphDataset, GraphBatch, or iterable of them
        What to write. An iterable is written piece by piece, so that it never has to fit
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
    >>> from retgk import GraphBatch, read_parquet, write_parquet
    >>> edge = GraphBatch.from_edges(2, [[0, 1]], labels=["C", "N"], symmetrize=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_parquet(write_parquet(edge, f"{folder}/edge.parquet")).graphs == edge
    True
    """
    from pyarrow import parquet

    _check_batch_size(batch_size)
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
        seal(part)
    return target


def iter_parquet(
    path: str | os.PathLike[str],
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
        Limit on the memory that a batch takes, as files may come from strangers; by default as
        much as honest files of that size need, see `read_graphs`.

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
    >>> from retgk import iter_parquet, make_graph_classification, write_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_parquet(make_graph_classification(50), f"{folder}/graphs.parquet")
    ...     [len(part) for part in iter_parquet(path, batch_size=20)]
    [20, 20, 10]
    """
    _check_batch_size(batch_size)
    source = Path(path)
    budget = ParseBudget.of_files(source, [source], max_bytes)
    yield from _batches(source, batch_size, batch_size, budget, row_groups)


def _batches(
    path: Path,
    batch_size: int,
    held: int | None,
    budget: ParseBudget,
    row_groups: Sequence[int] | None = None,
) -> Iterator[GraphDataset]:
    """Read batches of rows, of which `held` (all if None) are in memory at a time."""
    with _damage_in_errors(path, "is not a whole Parquet file"):
        file = _open_parquet(path, held, budget)
    with file:
        with _damage_in_errors(path, "is damaged"):
            name, description, reading = _description(file.schema_arrow.metadata, path)
            names = file.schema_arrow.names
            _warn_of_misspelt(names, path)
            columns = [name for name in COLUMNS if name in names]
            batches = file.iter_batches(batch_size, row_groups, columns)
            before = range(row_groups[0] if row_groups else 0)
            first = sum(file.metadata.row_group(group).num_rows for group in before)
        while True:
            with _damage_in_errors(path, "is damaged"):
                rows = next(batches, None)
                if rows is None:
                    return
                place = RowPlace(str(path), first, names, budget)
                dataset = dataset_of_rows(rows, name, description, place)
                dataset = replace(dataset, graphs=with_reading(dataset.graphs, reading))
            yield dataset
            first += rows.num_rows


def _open_parquet(path: Path, held: int | None, budget: ParseBudget) -> Any:
    """Open a file whose rows fit into memory; checksums are verified where pages have some."""
    from pyarrow import parquet

    parquet.ParquetFile(path).close()  # says best what is no Parquet file at all
    long_texts = check_pages(path, held, budget)
    return parquet.ParquetFile(path, page_checksum_verification=True, read_dictionary=long_texts)


@contextmanager
def _damage_in_errors(path: Path, problem: str) -> Iterator[None]:
    """Say which file is meant, whatever its bytes make the library raise."""
    from pyarrow import ArrowException

    try:
        yield
    except (InvalidInputError, FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except (
        ArrowException,
        AttributeError,
        LookupError,
        MemoryError,
        OSError,
        OverflowError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise InvalidInputError(f"{path} {problem}: {error}; fetch it again") from error


def read_parquet(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> GraphDataset:
    """
    Read a whole Parquet file of graphs.

    Parameters
    ----------
    path : path-like
        A file as :func:`write_parquet` makes them.
    max_bytes : int, optional
        Limit on the memory that reading takes, as files may come from strangers; by default as
        much as honest files of that size need, see `read_graphs`.

    Returns
    -------
    GraphDataset
        All graphs. Targets are NaN where the file has none.

    Examples
    --------
    >>> import tempfile
    >>> from retgk import make_graph_classification, read_parquet, write_parquet
    >>> data = make_graph_classification(50, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_parquet(write_parquet(data, f"{folder}/graphs.parquet")).graphs == data.graphs
    True
    """
    source = Path(path)
    budget = ParseBudget.of_files(source, [source], max_bytes)
    parts = list(_batches(source, 100_000, None, budget))
    if not parts:
        raise InvalidInputError(f"{path} has no rows")
    return GraphDataset(
        GraphBatch.concatenate(part.graphs for part in parts),
        np.concatenate([part.targets for part in parts if part.targets is not None]),
        parts[0].name,
        parts[0].description,
    )


def _check_batch_size(batch_size: int) -> None:
    if not isinstance(batch_size, int | np.integer) or batch_size < 1:
        raise InvalidInputError(f"batch_size must be a whole number from 1 on, got {batch_size!r}")


def _rows_of_pieces(data: Any, batch_size: int, name: str) -> Iterator[tuple[Any, Any]]:
    """Rows of at most `batch_size` graphs each, with what describes the collection."""
    single = isinstance(data, GraphDataset | GraphBatch)
    for item in [data] if single else data:
        if not isinstance(item, GraphDataset | GraphBatch):
            raise InvalidInputError(
                f"expected GraphDataset or GraphBatch, got {type(item).__name__}; convert graphs "
                "with retgk.as_batch"
            )
        whole = item if isinstance(item, GraphDataset) else GraphDataset(item, None, name)
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
    """Make a record batch with one row per graph."""
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
            arrays.append(_lists(ptr, names.take(pa.array(codes))))
            fields.append(pa.field(name, arrays[-1].type, metadata=metadata))
    if dataset.targets is not None:
        arrays.append(_target_column(dataset.targets))
        fields.append(pa.field("target", arrays[-1].type))
    return pa.record_batch(arrays, schema=pa.schema(fields))


def _name_column(names: tuple[Hashable, ...]) -> tuple[Any, dict[bytes, bytes] | None]:
    """Column of the vocabulary: integers and text as they are, anything else as JSON."""
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


def _target_column(targets: NDArray[Any]) -> Any:
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


def _metadata(dataset: GraphDataset) -> dict[bytes, bytes]:
    value: dict[str, Any] = {"version": 1, "name": dataset.name}
    value["description"] = dataset.description
    reading = dataset.graphs.reading
    if reading is not None and _read_back(reading) == reading:
        value["reading"] = reading.as_dict()
    return {_METADATA_KEY: json.dumps(value).encode()}


def _read_back(reading: Reading) -> Reading | None:
    """Make the reading that a file would give back; None where JSON cannot hold a name."""
    try:
        return checked_reading(json.loads(json.dumps(reading.as_dict())))
    except (TypeError, ValueError):
        return None


def _warn_of_misspelt(names: list[str], path: Path) -> None:
    """Warn of columns that are nearly called like one that graphs can have, and were not read."""
    for name in names:
        near = difflib.get_close_matches(name.lower(), COLUMNS.keys() - names, n=1, cutoff=0.8)
        if name not in COLUMNS and near:
            note = f"{path}: the column {name!r} was not read; if it is meant as {near[0]}, rename"
            warn_of([f"{note} it, or else take it out"])


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
        return name, description, checked_reading(value.get("reading"))
    except (AttributeError, RecursionError, TypeError, ValueError):
        return name, description, None


def _summary(schema: Any) -> str:
    return ", ".join(
        f"{field.name}: {'JSON in ' * bool(field.metadata)}{field.type}" for field in schema
    )
