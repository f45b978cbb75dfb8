"""Errors of the system at any step of writing into a folder: the first, the second, and so on."""

import builtins
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

PATH_CALLS = ("open", "mkdir", "replace", "rename", "link")
DESCRIPTOR_CALLS = ("write", "fsync", "posix_fallocate", "ftruncate")
WRITING = set("wax+")


class Steps:
    """Counts steps of writing into a folder, and fails at one of them, or from it on."""

    def __init__(self, folder: Path, fail_at: int | None, error: int, lasting: bool) -> None:
        self.folder = os.path.realpath(folder)
        self.taken: list[str] = []
        self._fail_at, self._error, self._lasting = fail_at, error, lasting

    def holds(self, file: Any) -> bool:
        """Whether a path, or an open file, is in the folder."""
        if isinstance(file, int):
            try:
                file = os.readlink(f"/proc/self/fd/{file}")
            except OSError:
                return False
        path = os.path.realpath(os.fsdecode(file))
        return path.startswith(self.folder + os.sep)

    def take(self, what: str, file: Any = None) -> None:
        """Count a step; raise, with the name of the file if one is given, if it should fail."""
        self.taken.append(what)
        number = len(self.taken) - 1
        is_later = self._fail_at is not None and self._lasting and number > self._fail_at
        if number == self._fail_at or is_later:
            name = None if file is None or isinstance(file, int) else os.fsdecode(file)
            raise OSError(self._error, os.strerror(self._error), name)


class FaultyFile(io.FileIO):
    """A file each of whose writes, and whose end, is a step."""

    steps: Steps

    def write(self, content: Any) -> int:
        self.steps.take("file.write")
        return super().write(content)

    def close(self) -> None:
        was_open = not self.closed
        super().close()
        if was_open:
            self.steps.take("file.close")


class FaultyStream(FaultyFile):
    """The same, without a number: NumPy would write to that in C, past the steps."""

    def fileno(self) -> int:
        raise io.UnsupportedOperation("fileno")


def _opener(steps: Steps, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Make `open` give files whose writes are steps, if they are in the folder."""

    def open_file(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        **more: Any,
    ) -> Any:
        if not WRITING & set(mode) or not steps.holds(file):
            return plain(file, mode, buffering, encoding, errors, newline, **more)
        if not isinstance(file, int):
            steps.take("open", file)
        kind = FaultyFile if buffering == 0 else FaultyStream
        raw = kind(file, mode.replace("b", "").replace("t", ""))
        raw.steps = steps
        if buffering == 0:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        if "b" in mode:
            return buffered
        return io.TextIOWrapper(buffered, encoding, errors, newline)

    return open_file


def _counted(steps: Steps, name: str) -> Callable[..., Any]:
    plain = getattr(os, name)

    def call(file: Any, *arguments: Any, **options: Any) -> Any:
        is_reading = name == "open" and not arguments[0] & (os.O_CREAT | os.O_WRONLY | os.O_RDWR)
        if steps.holds(file) and not is_reading:
            steps.take(f"os.{name}", file)
        return plain(file, *arguments, **options)

    return call


@contextmanager
def faults(
    folder: Path, fail_at: int | None = None, error: int = 0, *, lasting: bool = False
) -> Iterator[Steps]:
    """Count the steps of the block that write into a folder; the one of that number fails."""
    steps = Steps(folder, fail_at, error, lasting)
    with (
        mock.patch.multiple(
            os, **{name: _counted(steps, name) for name in (*PATH_CALLS, *DESCRIPTOR_CALLS)}
        ),
        mock.patch.object(io, "open", _opener(steps, io.open)),
        mock.patch.object(builtins, "open", _opener(steps, builtins.open)),
    ):
        yield steps
