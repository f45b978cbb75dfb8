"""Lines of text files, plain or compressed by gzip, whatever ends them, within a budget."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from retgk.errors import InvalidInputError
from retgk.io.formats.graph_files import is_gzip
from retgk.runtime.parse_budget import ParseBudget

__all__ = ["GZIP_DAMAGE", "line_blocks", "open_unpacked", "text_lines", "unpacked_bytes"]

GZIP_DAMAGE = (gzip.BadGzipFile, zlib.error, EOFError)
"""What gzip raises on damaged bytes."""

_CHUNK_BYTES = 1 << 16
_LINE_OBJECT = 48  # of Python, beside its text


def text_lines(path: Path, budget: ParseBudget) -> Iterator[tuple[int, str]]:
    """Read lines with their numbers, without what ends them: LF, CR or both."""
    number = 0
    for block in line_blocks(path, budget):
        n_lines = block.count(b"\n")
        budget.charge(len(block) + _LINE_OBJECT * n_lines, f"line {number + n_lines}")
        lines = _decoded(block, path, number).split("\n")
        for line in lines[:-1]:
            number += 1
            yield number, line


def line_blocks(path: Path, budget: ParseBudget) -> Iterator[bytes]:
    """Read some whole lines at a time, all of which end in LF; they are not charged."""
    n_bytes = 0
    with open_unpacked(path) as stream:
        for block in _blocks(stream, path, budget):
            n_bytes += len(block)
            budget.check_unpacked(n_bytes)
            yield block


def unpacked_bytes(path: Path, budget: ParseBudget, cost: int) -> bytes:
    """Read a whole file, of which each byte takes `cost` bytes of memory later."""
    pieces, n_bytes = [], 0
    try:
        with open_unpacked(path) as stream:
            while piece := stream.read(_CHUNK_BYTES):
                n_bytes += len(piece)
                budget.check_unpacked(n_bytes)
                budget.charge(cost * len(piece), f"text of {n_bytes} bytes or more")
                pieces.append(piece)
    except GZIP_DAMAGE as error:
        raise InvalidInputError(f"{path} is damaged: {error}; fetch it again") from error
    return b"".join(pieces)


def open_unpacked(path: Path) -> IO[bytes]:
    """Open a file, unpacked on the way where its first bytes are those of gzip."""
    return gzip.open(path) if is_gzip(path) else path.open("rb")  # type: ignore[return-value]


def _decoded(block: bytes, path: Path, n_before: int) -> str:
    try:
        return block.decode("utf-8" if n_before else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = n_before + 1 + block[: error.start].count(b"\n")
        raise InvalidInputError(f"{path}, line {line} is not text: {error}") from error


def _blocks(stream: IO[bytes], path: Path, budget: ParseBudget) -> Iterator[bytes]:
    """Read whole lines that all end in LF; the last one gets it where it has none."""
    rest = b""
    try:
        # Pieces grow with the line that they continue, so that the copies stay linear.
        while piece := stream.read(max(_CHUNK_BYTES, len(rest))):
            text = rest + piece
            held = b"\r" * text.endswith(b"\r")  # LF may follow in the next piece
            text = _with_newlines(text[: len(text) - len(held)])
            cut = text.rfind(b"\n") + 1
            if cut:
                yield text[:cut]
            rest = text[cut:] + held
            budget.check_line(len(rest), "a line")
    except GZIP_DAMAGE as error:
        raise InvalidInputError(f"{path} is damaged: {error}; fetch it again") from error
    if rest:
        yield _with_newlines(rest.removesuffix(b"\r")) + b"\n"


def _with_newlines(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text
