"""Adjacency from the edge file of a TU collection, built while the file is being read."""

import re
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk.array_types import Codes, Ints
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.edges import Adjacency
from retgk.graphs.flat import first_of_run, graph_of, offsets
from retgk.io.files import CHUNK_BYTES, Member

# -------------------------------------------------------------------------------------------------
# Columns of numbers from text files: inflating and parsing run side by side.
# -------------------------------------------------------------------------------------------------

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


BLOCK_EDGES = 1 << 17

# Bytes of memory: two entries in the result, and what sorting needs.
PER_EDGE = 8
_PER_HELD_EDGE = 40


class EdgesOutOfOrderError(Exception):
    """The edges of a file are not grouped by graph; they must be held and sorted first."""


class EdgeFile(NamedTuple):
    """A file of edges; `order` sorts its lines by graph where they are not."""

    member: Member
    order: Ints | None = None

    def blocks(self) -> Generator[Codes, None, None]:
        """Read source and target of every line, from 1 on, in pieces of shape (2, n_lines)."""
        return integer_blocks(self.member, 2, np.int32)

    def charge(self, n_edges: int, n_held: int) -> None:
        """Pay for edges of the result, and for those that are held to be sorted."""
        if self.order is None:  # else they were paid for when they were read
            self.member.budget.charge(PER_EDGE * n_edges, f"{self.member.name}, its edges")
        what = f"{self.member.name}, {n_held} edges that must be held together,"
        self.member.budget.check(_PER_HELD_EDGE * n_held, what)

    def place(self, edge: int) -> str:
        """Name the line of an edge, for messages."""
        return f"{self.member.name}, line {1 + (edge if self.order is None else self.order[edge])}"


def adjacency_of_blocks(
    blocks: Iterable[Codes], node_ptr: Ints, file: EdgeFile, symmetrize: bool
) -> Adjacency:
    """
    Build the adjacency of a collection from its edges, in order of the graphs.

    Blocks have shape (2, n); nodes count from 1 over the collection. An edge that is listed more
    than once counts once. Only the edges of incomplete graphs are held beside the result; `file` is
    for messages and for the number of lines to expect at most.
    """
    # Memory that is never written costs nothing; the shortest line has four bytes.
    most_lines = (file.member.size + 1) // 4
    most_entries = min(most_lines * (1 + symmetrize), 2 * file.member.budget.left // PER_EDGE)
    columns = np.empty(most_entries, np.int32)
    lengths = np.zeros(int(node_ptr[-1]), np.int64)
    n_written = 0
    n_edges = 0
    for edges, first, last in _graph_blocks(blocks, node_ptr, file):
        nodes = node_ptr[first : last + 1]
        results = (columns[n_written:], lengths[nodes[0] : nodes[-1]])
        source, target, n_new = _core.write_neighbours(
            edges[0], edges[1], symmetrize, nodes, *results
        )
        if source >= 0:
            lonely = np.array([[source], [target]]) + nodes[0] + 1
            edge = int(np.flatnonzero((edges == lonely).all(axis=0))[0])
            raise _one_way_error(edges[:, edge], file.place(n_edges + edge))
        n_written += n_new
        n_edges += edges.shape[1]
    indptr = offsets(lengths)
    return Adjacency(indptr, columns[:n_written], None)


def entries_of_edges(edges: Codes, node_ptr: Ints, adjacency: Adjacency) -> Ints:
    """Find the position of every edge, counted from 1, in ``adjacency.indices``."""
    entries = np.empty(edges.shape[1], np.int64)
    arrays = (first_of_run(node_ptr), adjacency.indptr, adjacency.indices, entries)
    _core.entries_of_edges(edges[0], edges[1], *arrays)
    return entries


def _graph_blocks(
    blocks: Iterable[Codes], node_ptr: Ints, file: EdgeFile
) -> Iterator[tuple[Codes, int, int]]:
    """Group edges into runs of complete graphs, with the first graph and the one after the last."""
    held = [np.empty((2, 0), np.int32)]
    n_edges = n_held = began = first = graph = 0
    for block in blocks:
        bad, graph, start = _core.first_misplaced_edge(block[0], block[1], graph, node_ptr)
        if bad >= 0:
            raise _misplaced_error(block[:, bad], node_ptr, file.place(n_edges + bad))
        began = n_held + start if start >= 0 else began
        held.append(block)
        n_held += block.shape[1]
        n_edges += block.shape[1]
        file.charge(block.shape[1], n_held)
        if n_held >= BLOCK_EDGES and began > 0:
            edges = np.concatenate(held, axis=1)
            yield edges[:, :began], first, graph
            held, n_held, first, began = [edges[:, began:]], n_held - began, graph, 0
    yield np.concatenate(held, axis=1), first, len(node_ptr) - 1


def _one_way_error(edge: Codes, place: str) -> InvalidInputError:
    return InvalidInputError(
        f"{place}: the edge from node {edge[0]} to node {edge[1]} has none back",
        Remedy(
            "symmetrize",
            "pass symmetrize=True if each edge is listed once, or if directions are to be dropped",
        ),
    )


def _misplaced_error(edge: Codes, node_ptr: Ints, place: str) -> Exception:
    """Make the error for an edge that does not belong where it stands."""
    n_nodes = int(node_ptr[-1])
    source, target = (int(end) for end in edge)
    for node in (source, target):
        if not 1 <= node <= n_nodes:
            return InvalidInputError(
                f"{place}: node {node} is out of range for {n_nodes} nodes, which count from 1"
            )
    graphs = [graph_of(node_ptr, node - 1) + 1 for node in (source, target)]
    if graphs[0] != graphs[1]:
        return InvalidInputError(
            f"{place}: the edge joins node {source} of graph {graphs[0]} with node {target} of "
            f"graph {graphs[1]}; an edge stays within one graph"
        )
    return EdgesOutOfOrderError(place)
