"""Files and folders in the making: known by their names, locked while their writer lives."""

import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from retgk.runtime.file_locks import lock_at_once

__all__ = ["is_unfinished", "unfinished_path"]

_NAME = re.compile(r"\..*-[0-9a-f]{16}\.retgk\.part", re.DOTALL)
_MOST_NAME_BYTES = 200  # of the 255 that a name may have


def is_unfinished(path: str | os.PathLike[str]) -> bool:
    """Whether a path is in the making, or in a folder that is."""
    return any(map(_NAME.fullmatch, Path(path).parts))


@contextmanager
def unfinished_path(target: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """Make a file or folder beside its target; it is gone after the block if it was not moved."""
    _remove_abandoned(target.parent.resolve())
    part = _Part(target)
    try:
        part.make(make)
        yield part.path
    finally:
        part.remove()


class _Part:
    """A name beside a target, and the lock on what has that name."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self.path = self._new_path()
        self._lock: int | None = None

    def _new_path(self) -> Path:
        name = os.fsencode(self._target.name)[:_MOST_NAME_BYTES].decode(errors="ignore")
        return self._target.with_name(f".{name}-{secrets.token_hex(8)}.retgk.part")

    def make(self, make: Callable[[Path], None]) -> None:
        """Make and lock it; once more, by another name, if a cleaner was quicker than the lock."""
        make(self.path)
        if os.name == "nt":  # moves no open files
            return
        self._lock = _open_to_lock(self.path)
        is_taken = self._lock is not None and lock_at_once(self._lock) is False
        if is_taken or not self.path.exists():
            if self._lock is not None:
                os.close(self._lock)
            self.path, self._lock = self._new_path(), None
            self.make(make)

    def remove(self) -> None:
        """Remove it, if it was not moved; errors would hide the one that led here."""
        with suppress(OSError):
            if self._lock is not None:
                os.close(self._lock)
            _remove(self.path)


def _open_to_lock(part: Path) -> int | None:
    """Open a file for writing, without which some systems lock none, or a folder."""
    access = os.O_RDONLY if part.is_dir() else os.O_RDWR
    try:
        return os.open(part, access | os.O_NOFOLLOW)
    except OSError:
        return None


def _remove(part: Path) -> None:
    if part.is_dir():
        shutil.rmtree(part, ignore_errors=True)
    else:
        part.unlink(missing_ok=True)


@cache
def _remove_abandoned(folder: Path) -> None:
    """Remove what killed writers left in a folder; once in a process is enough."""
    if os.name == "nt":
        return
    with suppress(OSError):
        for name in os.listdir(folder):
            if _NAME.fullmatch(name):
                _remove_if_abandoned(folder / name)


def _remove_if_abandoned(part: Path) -> None:
    """Remove a part of this user's whose writer, who would hold its lock, is gone."""
    found = part.lstat()
    is_possible = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    if not is_possible or found.st_uid != os.geteuid():
        return
    if (descriptor := _open_to_lock(part)) is not None:
        try:
            if lock_at_once(descriptor):
                _remove(part)
        finally:
            os.close(descriptor)
