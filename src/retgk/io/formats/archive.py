"""Files of a data set in a zip archive or a folder, read as streams and never unpacked."""

import zipfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from retgk.errors import InvalidInputError
from retgk.runtime.parse_budget import MAX_BYTES_REMEDY, ParseBudget
from retgk.runtime.zip_members import DEFLATED, ZIP_DAMAGE, member_problem

__all__ = ["CHUNK_BYTES", "Member", "open_members"]

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Member:
    """One file of a data set: its full name, the size it declares, how to open and pay for it."""

    name: str
    size: int
    open: Callable[[], IO[bytes]]
    budget: ParseBudget

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
        except InvalidInputError:
            raise
        except ZIP_DAMAGE as error:
            raise InvalidInputError(
                f"{self.name} is damaged: {error}; fetch the archive again"
            ) from error
        if n_read < self.size:
            raise InvalidInputError(
                f"{self.name} is cut off: {n_read} of {self.size} bytes; fetch it again"
            )


@contextmanager
def open_members(source: Path, max_bytes: int | None = None) -> Iterator[dict[str, Member]]:
    """
    Open the files of a zip archive or a folder: a dict by their names without folders.

    All together may have `max_bytes`, unpacked, and so may what is made of them; by default these
    limits depend on the size. Nothing is unpacked to disk.
    """
    if source.is_dir():
        files = _folder_files(source)
        budget = ParseBudget.of_files(source, files, max_bytes)
        yield _by_file_name(_folder_members(files, budget), budget)
        return
    try:
        archive = zipfile.ZipFile(source)
    except ZIP_DAMAGE as error:
        raise InvalidInputError(
            f"{source} is not a whole zip archive: {error}; fetch it again"
        ) from error
    with archive:
        budget = ParseBudget.of_files(source, [source], max_bytes)
        yield _by_file_name(_archive_members(archive, budget), budget)


def _by_file_name(members: list[tuple[str, Member]], budget: ParseBudget) -> dict[str, Member]:
    total, source = sum(member.size for _, member in members), budget.source
    if total > budget.unpacked:
        raise InvalidInputError(
            f"{source} unpacks to {total} bytes, more than the {budget.unpacked} allowed",
            MAX_BYTES_REMEDY,
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


def _folder_files(folder: Path) -> list[Path]:
    """Text files directly in a folder; a link may lead to it, but none may lead out of it."""
    texts = [path for path in sorted(folder.iterdir()) if path.suffix.lower() == ".txt"]
    for path in texts:
        if path.is_symlink():
            raise InvalidInputError(f"{path} is a link; put the file itself in its place")
    return [path for path in texts if path.is_file()]


def _folder_members(files: list[Path], budget: ParseBudget) -> list[tuple[str, Member]]:
    return [
        (path.name, Member(str(path), path.stat().st_size, partial(_open_binary, path), budget))
        for path in files
    ]


def _open_binary(path: Path) -> IO[bytes]:
    return path.open("rb")


def _archive_members(archive: zipfile.ZipFile, budget: ParseBudget) -> list[tuple[str, Member]]:
    members, source = [], budget.source
    for info in archive.infolist():
        problem = member_problem(info, DEFLATED)
        if problem is not None:
            raise InvalidInputError(
                f"{source}: the member {info.orig_filename!r} {problem}; a data set holds plain "
                "text files only"
            )
        if not info.is_dir():
            name = f"{source}/{info.filename}"
            member = Member(name, info.file_size, partial(archive.open, info), budget)
            members.append((info.filename.rsplit("/", 1)[-1], member))
    return members
