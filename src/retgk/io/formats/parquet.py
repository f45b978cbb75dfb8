"""Collections of graphs in Parquet files: one row per graph, streamed in batches."""

import difflib
import json
import os
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Ints
from retgk.errors import InvalidInputError, warn_of
from retgk.graphs.batch import GraphBatch, with_reading
from retgk.graphs.missing_values import check_numbers
from retgk.graphs.reading import Reading, checked_reading
from retgk.io.formats.parquet_columns import JSON_FIELD, RowPlace, dataset_of_rows
from retgk.io.formats.parquet_pages import COLUMNS, check_pages, seal
from retgk.io.graph_dataset import GraphDataset
from retgk.runtime.parse_budget import ParseBudget
from retgk.runtime.storage import atomic_path

__all__ = ["iter_parquet", "read_parquet", "write_parquet"]

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
