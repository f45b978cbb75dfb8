"""Files of a data set, in a zip archive or a folder, read as streams and never unpacked."""

import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from retgk.errors import InvalidInputError

__all__ = ["DEFAULT_MAX_BYTES", "Member", "open_members"]

DEFAULT_MAX_BYTES = 4 << 30
CHUNK_BYTES = 1 << 20
_ENCRYPTED = 0x1
_READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unpack without a bound on memory


@dataclass(frozen=True)
class Member:
    """One file of a data set: where it is, how long it says it is, and how to open it."""

    name: str
    size: int
    open: Callable[[], IO[bytes]]

    def chunks(self) -> Generator[bytes, None, None]:
        """Pieces of the content; an error if it is damaged or longer than it says."""
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
    Open the files of a data set.

    Parameters
    ----------
    source : Path
        A zip archive or a folder.
    max_bytes : int
        Limit on the size of all files together, unpacked.

    Yields
    ------
    dict of str to Member
        The files by their name without folders. Nothing is unpacked to disk.
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
            member = Member(str(path), path.stat().st_size, _opener_of_file(path))
            members.append((path.name, member))
    return members


def _opener_of_file(path: Path) -> Callable[[], IO[bytes]]:
    return lambda: path.open("rb")


def _archive_members(archive: zipfile.ZipFile, source: Path) -> list[tuple[str, Member]]:
    members = []
    for info in archive.infolist():
        _check_member(info, source)
        if not info.is_dir():
            name = f"{source}/{info.filename}"
            member = Member(name, info.file_size, _opener_of_member(archive, info))
            members.append((info.filename.rsplit("/", 1)[-1], member))
    return members


def _opener_of_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], IO[bytes]]:
    return lambda: archive.open(info)


def _check_member(info: zipfile.ZipInfo, source: Path) -> None:
    """Refuse what a data set never holds, even though nothing is unpacked to disk."""
    name = info.orig_filename
    problem = None
    if "\\" in name or "\0" in name or name.startswith("/") or re.match("[A-Za-z]:", name):
        problem = "has an absolute path, or one for another system"
    elif ".." in name.split("/"):
        problem = "leads out of the archive"
    elif stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
        problem = "is a link or a special file"
    elif info.flag_bits & _ENCRYPTED:
        problem = "is encrypted"
    elif info.compress_type not in _READABLE:
        problem = "is compressed in another way than deflate"
    if problem is not None:
        raise InvalidInputError(
            f"{source}: the member {name!r} {problem}; a data set holds plain text files only"
        )
