"""What people and machines read: results on standard output, notes on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from retgk.cli.options import Common

__all__ = ["Stopwatch", "as_json", "note", "print_pairs", "print_record", "print_table"]

_FILE_WIDTH = 10_000  # a file has no edge at which columns would have to be folded


def note(common: Common, text: str) -> None:
    """Say something on the way, to people only."""
    if not common.quiet:
        print(text, file=sys.stderr, flush=True)


def as_json(value: Any) -> str:
    """JSON of plain values, arrays and numbers of NumPy; what is not a number is null."""
    return json.dumps(_plain(value))


def print_record(record: Mapping[str, Any]) -> None:
    """Print a result for machines: one line of JSON."""
    print(as_json(record))


def print_pairs(pairs: Mapping[str, Any]) -> None:
    """Print names and values for people."""
    width = max(map(len, pairs))
    for name, value in pairs.items():
        print(f"{name.ljust(width)}  {value}")


def print_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table for people."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    width = None if sys.stdout.isatty() else _FILE_WIDTH
    Console(markup=False, highlight=False, width=width).print(table)


class Stopwatch:
    """Seconds of the parts of some work."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timing(self, part: str) -> Iterator[None]:
        """Add the time of the block to a part."""
        start = perf_counter()
        yield
        passed = perf_counter() - start
        self.seconds[part] = round(self.seconds.get(part, 0.0) + passed, 4)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
