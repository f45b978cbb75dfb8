"""What people and machines read: results on standard output, notes and errors on standard error."""

from __future__ import annotations

import io
import json
import math
import re
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import typer

from retgk.cli.options import Common
from retgk.cli.signals import INTERRUPTED, end_if_asked
from retgk.errors import InputWarning, InvalidInputError
from retgk.runtime.near_names import near_names

__all__ = [
    "Stopwatch",
    "as_json",
    "note",
    "one_line",
    "one_line_errors",
    "one_line_warnings",
    "print_line",
    "print_lines",
    "print_pairs",
    "print_record",
    "print_table",
    "print_warning",
    "show_anything",
    "visible",
]

FAILED = 1
USAGE = 2

_FILE_WIDTH = 10_000  # a file has no edge at which columns would have to be folded

# click's, whose place in typer has changed: options and arguments that cannot be understood
_UsageError: Any = typer.BadParameter.__bases__[0]


_CHOICES = re.compile(r"'([^']*)' is not one of (.*)")  # how typer says it

# Characters that would move the cursor, change colours or turn the order of others round: names
# in files may come from strangers. Halves of characters, as in names that are no text, cannot be
# printed at all.
_HIDDEN = (
    *range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F),
    *range(0x2066, 0x206A), *range(0xD800, 0xE000),
)  # fmt: skip
_ESCAPES = {code: chr(code).encode("unicode_escape", "surrogatepass").decode() for code in _HIDDEN}


# Results and notes


def show_anything() -> None:
    """Print the codes of characters that a terminal or pipe does not have, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def visible(text: str) -> str:
    """Text on one line in which control characters are spelled out, as in Python."""
    return text.translate(_ESCAPES)


def print_line(text: str) -> None:
    """Print a line of a result for people."""
    print(visible(text))


def print_lines(text: str) -> None:
    """Print a result of several lines."""
    for line in text.split("\n"):
        print_line(line)


def print_warning(text: str) -> None:
    """Print a line that is no result, even if people asked for quiet."""
    print(visible(text), file=sys.stderr, flush=True)


def note(common: Common, text: str) -> None:
    """Print a note for people, unless they asked for quiet."""
    if not common.quiet:
        print_warning(text)


def as_json(value: Any) -> str:
    """JSON of plain values, arrays and NumPy numbers; NaN and infinity become null."""
    return json.dumps(_plain(value))


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


def print_record(record: Mapping[str, Any]) -> None:
    """Print a result for machines: one line of JSON, which spells out all but one control code."""
    print(as_json(record).replace("\x7f", "\\u007f"))


def print_pairs(pairs: Mapping[str, Any]) -> None:
    """Print names and values for people."""
    width = max(map(len, pairs))
    for name, value in pairs.items():
        print_line(f"{name.ljust(width)}  {value}")


def print_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table for people."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in header:
        table.add_column(visible(name), overflow="fold")
    for row in rows:
        table.add_row(*(visible(str(cell)) for cell in row))
    width = None if sys.stdout.isatty() else _FILE_WIDTH
    Console(markup=False, highlight=False, width=width).print(table)


class Stopwatch:
    """Seconds that the parts of a command take."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timing(self, part: str) -> Iterator[None]:
        """Add the time of the block to a part."""
        start = perf_counter()
        yield
        passed = perf_counter() - start
        self.seconds[part] = round(self.seconds.get(part, 0.0) + passed, 4)


# Errors and warnings


@contextmanager
def one_line_errors(debug: bool, remedies: Mapping[str, str] | None = None) -> Iterator[None]:
    """Turn any exception into a line and an exit code, with the traceback before it if `debug`."""
    try:
        with _interrupted_rather_than_failed():
            yield
    except KeyboardInterrupt:
        _print_error("interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        raise  # typer ends quietly when the reader of a pipe has gone
    except (InvalidInputError, ImportError, OSError, MemoryError) as error:
        if debug:
            _print_traceback()
        _print_error(one_line(error, remedies))
        raise typer.Exit(FAILED) from None
    except typer.Exit:
        raise
    except _UsageError as error:
        if error.format_message():  # empty where the help itself was the answer
            _print_error(_usage_line(error))
        raise typer.Exit(USAGE) from None
    except Exception as error:  # a bug: still one line, and how to see more
        if debug:
            _print_traceback()
        _print_error(f"{type(error).__name__}: {one_line(error, remedies)} (--debug shows where)")
        raise typer.Exit(FAILED) from None


@contextmanager
def _interrupted_rather_than_failed() -> Iterator[None]:
    """Let a signal that came before an error have its way: the error may well come of it."""
    try:
        yield
    except typer.Exit:
        raise
    except Exception:
        end_if_asked()
        raise


@contextmanager
def one_line_warnings(remedies: Mapping[str, str] | None = None) -> Iterator[None]:
    """Show warnings as errors are shown, without the place in the library."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        warning = message if isinstance(message, Warning) else UserWarning(message)
        _print_error(one_line(warning, remedies))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def one_line(error: BaseException, remedies: Mapping[str, str] | None = None) -> str:
    """Message of an error without line breaks; `remedies` are a command's words for some keys."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    message = _message(error, remedies or {})
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    text = lines[0]
    for line in lines[1:]:
        text += (" " if text.endswith((":", ",", ";")) else "; ") + line
    return text


def _message(error: BaseException, remedies: Mapping[str, str]) -> str:
    """Message with the command's remedy; without one, what the library advises in Python."""
    if not isinstance(error, InvalidInputError | InputWarning) or error.remedy is None:
        return str(error)
    if error.remedy.key not in remedies:
        return str(error)
    return f"{error.problem}; {remedies[error.remedy.key].format(value=error.remedy.value)}"


def _usage_line(error: Any) -> str:
    """What was not understood, and where the help is."""
    path = error.ctx.command_path if error.ctx is not None else "retgk"
    message = one_line(typer.BadParameter(error.format_message())).removesuffix(".")
    return f"{message}{_meant_choice(message)} (see {path} --help)"


def _meant_choice(message: str) -> str:
    """Ask if a choice is meant that is nearly what was given; typer only lists them."""
    found = _CHOICES.search(message)
    near = near_names(found[1], re.findall(r"'([^']*)'", found[2])) if found else []
    return f"; did you mean {near[0]}?" if near else ""


def _print_error(message: str) -> None:
    print_warning(f"retgk: {message}")


def _print_traceback() -> None:
    for line in traceback.format_exc().rstrip("\n").split("\n"):
        print_warning(line)
