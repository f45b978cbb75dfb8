"""Columns of numbers from text files: inflating and parsing run side by side."""

import re
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk.errors import InvalidInputError
from retgk.io.formats.archive import CHUNK_BYTES, Member

__all__ = ["integer_blocks", "n_columns_of", "prefetch", "read_floats", "read_integers"]

Item = TypeVar("Item")

_BLANK_START = re.compile(rb"[ \t\r]*(\n|\Z)")
_BLANK_LINE = re.compile(rb"\n[ \t\r]*(\n|\Z)")
_LOOK_AHEAD = 4
_MAX_LINE_BYTES = 1 << 24
PREFETCH_BYTES = 4 * CHUNK_BYTES

# Bytes of memory, as measured on files of the shortest numbers.
_PER_INTEGER = 40
_PER_FLOAT = 24
_PER_FLOAT_LINE = 40
_PER_COLUMN = 5_000  # of a table of floats, before it has any rows


def prefetch(items: Iterable[Item]) -> Generator[Item, None, None]:
    """Give the same items, made a few ahead in a thread of their own."""
    iterator = iter(items)
    done = object()
    with ThreadPoolExecutor(1) as pool:
        ahead = deque(pool.submit(next, iterator, done) for _ in range(_LOOK_AHEAD))
        while (item := ahead.popleft().result()) is not done:
            ahead.append(pool.submit(next, iterator, done))
            yield item  # type: ignore[misc]  # the end mark is not an item
    # Leaving early waits for the few items under way, so that no thread outlives the reader.


def read_integers(member: Member) -> NDArray[np.int64]:
    """Read all columns of a file of integers, shape (n_columns, n_lines)."""
    n_columns = n_columns_of(member)
    blocks = [np.empty((n_columns, 0), np.int64)]
    with closing(integer_blocks(member, n_columns, np.int64)) as parsed:
        for block in parsed:
            member.budget.charge(_PER_INTEGER * block.size, f"{member.name}, its numbers")
            blocks.append(block)
    return np.concatenate(blocks, axis=1)


def integer_blocks(
    member: Member, n_columns: int, dtype: type[Any]
) -> Generator[NDArray[Any], None, None]:
    """Read the columns of a file of integers in pieces of shape (n_columns, n_lines)."""
    # Closed in this order, so that the file is too when a reader stops early.
    with closing(member.chunks()) as chunks:
        if member.size < PREFETCH_BYTES:  # not worth a thread
            yield from _parse_chunks(member, chunks, n_columns, dtype)
            return
        with closing(prefetch(chunks)) as ahead:
            yield from _parse_chunks(member, ahead, n_columns, dtype)


def n_columns_of(member: Member) -> int:
    """Count the columns of the first line; one for an empty file."""
    start = b""
    with closing(member.chunks()) as chunks:
        for chunk in chunks:
            start += chunk
            if b"\n" in chunk or len(start) > _MAX_LINE_BYTES:
                break
    n_columns = start.split(b"\n", 1)[0].count(b",") + 1
    member.budget.check(
        _PER_COLUMN * (n_columns - 1), f"{member.name}, line 1: {n_columns} columns"
    )
    return n_columns


def read_floats(member: Member) -> NDArray[np.float64]:
    """Read all columns of a file of numbers, shape (n_lines, n_columns), correctly rounded."""
    names = [str(column) for column in range(n_columns_of(member))]
    text = _float_text(member, len(names))
    if not text:
        return np.empty((0, 1))
    table = _float_table(text, names)
    if table is None:
        raise _line_error(member, text, names)
    values = np.empty((table.num_rows, len(names)))
    for column, chunks in enumerate(table.columns):
        values[:, column] = chunks.to_numpy()
    return values


def _float_text(member: Member, n_columns: int) -> bytes:
    """Read the whole text of a file of numbers, and pay for what is made of it."""
    per_line = _PER_FLOAT * n_columns + _PER_FLOAT_LINE
    pieces: list[bytes] = []
    with closing(member.chunks()) as chunks:
        for chunk in chunks:
            cost = 2 * len(chunk) + per_line * chunk.count(b"\n")
            member.budget.charge(cost, f"{member.name}, its numbers")
            pieces.append(chunk)
    return b"".join(pieces).rstrip()


def _float_table(text: bytes, names: list[str]) -> Any:
    """Parse lines of numbers; None where a line is something else."""
    from pyarrow import ArrowInvalid, BufferReader, csv, float64

    if _BLANK_START.match(text) or _BLANK_LINE.search(text):  # the library would skip them
        return None
    try:
        return csv.read_csv(
            BufferReader(text),
            read_options=csv.ReadOptions(column_names=names, block_size=_MAX_LINE_BYTES),
            parse_options=csv.ParseOptions(quote_char=False),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, float64()),
                null_values=[],
                strings_can_be_null=False,
            ),
        )
    except ArrowInvalid:
        return None


def _line_error(member: Member, text: bytes, names: list[str]) -> InvalidInputError:
    """Find the first line that does not parse, by halving the lines it is known to be among."""
    lines = text.split(b"\n")
    first, last = 0, len(lines)
    while last - first > 1:
        middle = (first + last) // 2
        if _float_table(b"\n".join(lines[first:middle]), names) is None:
            last = middle
        else:
            first = middle
    expected = f"{len(names)} number{'s' * (len(names) > 1)}"
    return _bad_line(member, first + 1, lines[first], expected)


def _bad_line(member: Member, number: int, line: bytes, expected: str) -> InvalidInputError:
    shown = line[:60].rstrip(b"\r\n")
    text = ascii(shown.decode("latin-1")) + ("..." if len(line) > 61 else "")
    return InvalidInputError(
        f"{member.name}, line {number}: expected {expected} separated by commas, got {text}"
    )


def _parse_chunks(
    member: Member, chunks: Iterable[bytes], n_columns: int, dtype: type[Any]
) -> Iterator[NDArray[Any]]:
    """Parse chunks as they come; lines that cross their borders are parsed on their own."""
    limit = np.iinfo(dtype).max
    expected = f"{n_columns} integer{'s' * (n_columns > 1)} of at most {limit}"
    n_lines, ended = 0, False
    for lines in _whole_lines(member, chunks):
        values = np.empty((n_columns, len(lines) // (2 * n_columns) + 1), dtype)
        n_parsed, bad = _core.parse_integers(np.frombuffer(lines, np.uint8), values)
        if ended and n_parsed:
            raise _bad_line(member, n_lines + 1, b"", expected)
        n_lines += n_parsed
        if bad >= 0:
            remaining = bytes(lines[bad:])
            ended = not remaining.strip()  # blank lines may end a file
            if not ended:
                raise _bad_line(member, n_lines + 1, remaining.split(b"\n", 1)[0], expected)
        yield values[:, :n_parsed]


def _whole_lines(member: Member, chunks: Iterable[bytes]) -> Iterator[bytes | memoryview]:
    """Cut chunks at newlines without copying them; add one at the end where it is missing."""
    rest = b""
    for chunk in chunks:
        first, last = chunk.find(b"\n") + 1, chunk.rfind(b"\n") + 1
        if first:
            yield rest + chunk[:first]
            rest = b""
        if last > first:
            yield memoryview(chunk)[first:last]
        rest += chunk[last:]
        if len(rest) > _MAX_LINE_BYTES:
            raise InvalidInputError(
                f"{member.name} has a line of more than {_MAX_LINE_BYTES} bytes; "
                "it is not a text file of numbers"
            )
    if rest:
        yield rest + b"\n"
