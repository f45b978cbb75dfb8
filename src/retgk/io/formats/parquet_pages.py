"""What the pages of a Parquet file unpack to, from their headers: no page is opened for it."""

import hashlib
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from retgk.io.formats.thrift_structs import CompactReader
from retgk.runtime.parse_budget import ParseBudget

__all__ = ["COLUMNS", "check_pages", "seal"]

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
