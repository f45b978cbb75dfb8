"""The one limit on what reading a file may take: charged by readers before they allocate."""

import os
from pathlib import Path

from retgk.errors import InvalidInputError, Remedy

__all__ = ["MAX_BYTES_REMEDY", "MAX_UNPACKED_BYTES", "ParseBudget"]

MAX_BYTES_REMEDY = Remedy("max_bytes", "pass a larger max_bytes if you trust it")

MAX_UNPACKED_BYTES = 4 << 30
"""Text that a reader goes through unless the caller allows more."""

_SMALL_FILES = 256 << 20
_PER_PACKED_BYTE = 512  # molecules in a .csv.gz take 200; text that repeats itself, thousands
_PER_BYTE = 64  # plain GraphML takes 50
_PER_LINE_BYTE = 40  # cells of a table, one letter each, as Python's strings


class ParseBudget:
    """
    Bytes that reading one source may take, and what is left of them.

    By default that is 256 MiB or, for larger files, 512 times the size on disk up to 4 GiB, and 64
    times the size in any case: far more than honest files take, far less than those made to fill
    the memory.

    Parameters
    ----------
    source : str or Path
        What is read, for messages.
    size : int
        Its size on disk.
    max_bytes : int, optional
        The limit that the caller chose instead.
    """

    def __init__(self, source: str | Path, size: int, max_bytes: int | None = None) -> None:
        if max_bytes is not None and (isinstance(max_bytes, bool) or max_bytes < 1):
            raise InvalidInputError(f"max_bytes must be a positive number, got {max_bytes!r}")
        self.source = source
        self.size = size
        self.unpacked = MAX_UNPACKED_BYTES if max_bytes is None else max_bytes
        by_size = max(_SMALL_FILES, min(_PER_PACKED_BYTE * size, 4 << 30), _PER_BYTE * size)
        self.allowed = by_size if max_bytes is None else max_bytes
        self.left = self.allowed

    @classmethod
    def of_files(
        cls, source: str | Path, files: list[Path], max_bytes: int | None
    ) -> "ParseBudget":
        """Make the budget of several files that are read together."""
        return cls(source, sum(os.stat(file).st_size for file in files), max_bytes)

    @property
    def longest_line(self) -> int:
        """Bytes that one line of text may have."""
        return max(self.left // _PER_LINE_BYTE, 1)

    def charge(self, n_bytes: int, what: str) -> None:
        """Take bytes that are held until the end; raise if so many are not left."""
        self.check(n_bytes, what)
        self.left -= int(n_bytes)

    def give_back(self, n_kept: int) -> None:
        """Take note that no more than so many bytes are held, as in a stream."""
        self.left = max(self.left, self.allowed - n_kept)

    def check(self, n_bytes: int, what: str) -> None:
        """Raise if so many bytes are not left; they are given back soon."""
        if n_bytes > self.left:
            used = self.allowed - self.left + int(n_bytes)
            raise self.error(f"{what} would take {used} bytes of memory")

    def check_line(self, n_bytes: int, what: str) -> None:
        """Raise if a line, or what must be held together as one, is too long."""
        if n_bytes > self.longest_line:
            used = self.allowed - self.left + _PER_LINE_BYTE * n_bytes
            raise self.error(f"{what} of {n_bytes} bytes or more would take {used} bytes of memory")

    def check_unpacked(self, n_bytes: int) -> None:
        """Raise if a file has shown more bytes than may be gone through, unpacked."""
        if n_bytes > self.unpacked:
            raise InvalidInputError(
                f"{self.source} holds more than the {self.unpacked} bytes allowed", MAX_BYTES_REMEDY
            )

    def error(self, problem: str) -> InvalidInputError:
        """Make the error that says what is too much, and how to allow it."""
        where = "" if problem.startswith(str(self.source)) else f"{self.source}: "
        return InvalidInputError(
            f"{where}{problem}, more than the {self.allowed} allowed for reading {self.size} bytes",
            MAX_BYTES_REMEDY,
        )
