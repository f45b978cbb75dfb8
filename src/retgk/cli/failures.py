"""Errors as one line on standard error, and exit codes."""

import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from retgk.errors import InvalidInputError

__all__ = [
    "INTERRUPTED",
    "TERMINATED",
    "Advice",
    "one_line",
    "one_line_errors",
    "one_line_warnings",
]

Advice = Sequence[tuple[str, str]]
"""What messages of the library advise, and what does it on the command line."""

FAILED = 1
USAGE = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
TERMINATED = 143

# click's, whose place in typer has changed: options and arguments that cannot be understood
_UsageError: Any = typer.BadParameter.__bases__[0]


@contextmanager
def one_line_errors(debug: bool, advice: Advice = ()) -> Iterator[None]:
    """Turn any exception into a line and an exit code; a traceback comes first for debugging."""
    try:
        yield
    except KeyboardInterrupt:
        _tell("interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        raise  # typer ends quietly when the reader of a pipe has gone
    except (InvalidInputError, ImportError, OSError, MemoryError) as error:
        if debug:
            traceback.print_exc()
        _tell(one_line(error, advice))
        raise typer.Exit(FAILED) from None
    except typer.Exit:
        raise
    except _UsageError as error:
        if error.format_message():  # empty where the help itself was the answer
            _tell(_usage(error))
        raise typer.Exit(USAGE) from None
    except Exception as error:  # a bug: still one line, and how to see more
        if debug:
            traceback.print_exc()
        _tell(f"{type(error).__name__}: {one_line(error, advice)} (--debug shows where)")
        raise typer.Exit(FAILED) from None


@contextmanager
def one_line_warnings(advice: Advice = ()) -> Iterator[None]:
    """Show warnings as errors are shown, without the place in the library."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        _tell(one_line(UserWarning(message), advice))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def one_line(error: BaseException, advice: Advice = ()) -> str:
    """Message of an error without line breaks, with the advice of a command in its words."""
    text = _joined_lines(error)
    for phrase, option in advice:
        text = text.replace(phrase, option)
    return text


def _joined_lines(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    text = lines[0]
    for line in lines[1:]:
        text += (" " if text.endswith((":", ",", ";")) else "; ") + line
    return text


def _usage(error: Any) -> str:
    """What was not understood, and where the help is."""
    path = error.ctx.command_path if error.ctx is not None else "retgk"
    message = one_line(typer.BadParameter(error.format_message()))
    return f"{message.removesuffix('.')} (see {path} --help)"


def _tell(message: str) -> None:
    print(f"retgk: {message}", file=sys.stderr)
