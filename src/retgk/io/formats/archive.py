"""Files of a data set in a zip archive or a folder, read as streams and never unpacked."""

import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from retgk.errors import InvalidInputError
from retgk.runtime.zip_members import DEFLATED, member_problem

__all__ = ["CHUNK_BYTES", "DEFAULT_MAX_BYTES", "Member", "open_members"]

DEFAULT_MAX_BYTES = 4 << 30
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Member:
    """One file of a data set: its full name, the size that it declares, and how to open it."""

    name: str
    size: int
    open: Callable[[], IO[bytes]]

    def chunks(self) -> Generator[bytes, None, None]:
        """Read the content piece by piece; raise if it is damaged or longer than declared."""
        n_read = 0
        try:
            with self.open() as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    n_read += len(chunk)
                    if n_read > self.size:
                        raise InvalidInputError(
                            f"{self.name} holds more than the {self.size} bytes it declares"
                        )
                    yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise InvalidInputError(
                f"{self.name} is damaged: {error}; fetch the archive again"
            ) from error
        if n_read < self.size:
            raise InvalidInputError(
                f"{self.name} is cut off: {n_read} of {self.size} bytes; fetch it again"
            )


@contextmanager
def open_members(source: Path, max_bytes: int) -> Iterator[dict[str, Member]]:
    """
    Open the files of a zip archive or a folder: a dict by their names without folders.

    All together may have `max_bytes`, unpacked. Nothing is unpacked to disk.
    """
    if source.is_dir():
        yield _by_file_name(_folder_members(source), source, max_bytes)
        return
    try:
        archive = zipfile.ZipFile(source)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError) as error:
        raise InvalidInputError(
            f"{source} is not a whole zip archive: {error}; fetch it again"
        ) from error
    with archive:
        yield _by_file_name(_archive_members(archive, source), source, max_bytes)


def _by_file_name(
    members: list[tuple[str, Member]], source: Path, max_bytes: int
) -> dict[str, Member]:
    total = sum(member.size for _, member in members)
    if total > max_bytes:
        raise InvalidInputError(
            f"{source} unpacks to {total} bytes, more than the {max_bytes} allowed; pass a "
            "larger max_bytes if you trust it"
        )
    found: dict[str, Member] = {}
    for file_name, member in members:
        other = found.setdefault(file_name, member)
        if other is not member:
            raise InvalidInputError(
                f"{source} holds two files of the same name, {other.name} and {member.name}; "
                "remove one"
            )
    return found


def _folder_members(folder: Path) -> list[tuple[str, Member]]:
    """Files directly in a folder; a link may lead to it, but none may lead out of it."""
    members = []
    for path in sorted(folder.iterdir()):
        if path.is_symlink() and path.suffix == ".txt":
            raise InvalidInputError(f"{path} is a link; put the file itself in its place")
        if path.is_file() and path.suffix == ".txt":
            member = Member(str(path), path.stat().st_size, partial(_open_binary, path))
            members.append((path.name, member))
    return members


def _open_binary(path: Path) -> IO[bytes]:
    return path.open("rb")


def _archive_members(archive: zipfile.ZipFile, source: Path) -> list[tuple[str, Member]]:
    members = []
    for info in archive.infolist():
        problem = member_problem(info, DEFLATED)
        if problem is not None:
            raise InvalidInputError(
                f"{source}: the member {info.orig_filename!r} {problem}; a data set holds plain "
                "text files only"
            )
        if not info.is_dir():
            name = f"{source}/{info.filename}"
            member = Member(name, info.file_size, partial(archive.open, info))
            members.append((info.filename.rsplit("/", 1)[-1], member))
    return members
