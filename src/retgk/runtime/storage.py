"""Where data sets are kept, and files that appear whole or not at all."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from retgk.errors import InvalidInputError
from retgk.runtime.unfinished_files import is_unfinished, unfinished_path

__all__ = [
    "CACHE_VARIABLE",
    "HOME_VARIABLE",
    "atomic_folder",
    "atomic_path",
    "cache_folder",
    "data_home_folder",
    "file_to_write",
    "has_own_file",
    "is_stream",
    "naming_errors",
    "open_own_file",
]

HOME_VARIABLE = "RETGK_DATA_HOME"
CACHE_VARIABLE = "RETGK_CACHE_HOME"

_KIND_OF_FILE = {
    stat.S_IFDIR: "folder",
    stat.S_IFIFO: "named pipe",
    stat.S_IFCHR: "character device",
    stat.S_IFBLK: "block device",
    stat.S_IFSOCK: "socket",
}


# Folders of data sets


def data_home_folder(data_home: str | os.PathLike[str] | None) -> Path:
    """Choose the folder of the data sets: the argument, the environment, or the platform's."""
    chosen = data_home if data_home is not None else os.environ.get(HOME_VARIABLE)
    return Path(chosen).expanduser() if chosen else _platform_folder() / "data"


def cache_folder() -> Path:
    """Choose the folder of parsed copies, none of which lie beside the files of the user."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen).expanduser() if chosen else _platform_folder() / "parsed"


def _platform_folder() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("retgk", appauthor=False)


# Files that appear whole or not at all


@contextmanager
def atomic_path(path: Path, *, synced: bool = True, follow_links: bool = True) -> Iterator[Path]:
    """
    Give a path to write to; the file moves to `path` when the block ends well.

    A link stays, and what it leads to is replaced; mode and owner stay too. What is no regular
    file is refused. The file is on disk before it gets its name, unless `synced` is False.
    Without `follow_links`, for names that retgk chooses, links are refused as in `has_own_file`.
    """
    if not follow_links:
        has_own_file(path)
    target = file_to_write(path) if follow_links else path
    target.parent.mkdir(parents=True, exist_ok=True)
    # what is to be replaced may be secret: until the new file has its mode, it is too
    mode = 0o600 if target.exists() else 0o666
    with naming_errors(path), unfinished_path(target, partial(_make_file, mode=mode)) as part:
        yield part
        if synced:
            _sync(part)
        _keep_mode(target, part)
        os.replace(part, target)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Give a folder to fill, which gets its name when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming_errors(path), unfinished_path(path, Path.mkdir) as part:
        yield part
        os.replace(part, path)


def file_to_write(path: Path) -> Path:
    """Follow links to the file that would be made or replaced; refuse what is no regular file."""
    try:
        there = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):  # new, or a link to what is not there yet
        return Path(os.path.realpath(path)) if path.is_symlink() else path
    kind = stat.S_IFMT(there.st_mode)
    if kind != stat.S_IFREG:
        what = _KIND_OF_FILE.get(kind, "special file")
        raise InvalidInputError(f"{path} is a {what}; give the name of a file")
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if not (target.exists() and target.samefile(path)):  # such as a deleted file in /dev/fd
        raise InvalidInputError(f"{path} leads to a file without a name; give the name of a file")
    return target


# Files whose names retgk chooses, in a folder that may be a stranger's


def has_own_file(path: Path) -> bool:
    """
    Whether a file of retgk's own is there; anything else of its name is refused.

    The user has not named it, so it was not the user who had a link lead elsewhere, or a pipe wait.
    """
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    _check_regular(found, path)
    return True


def open_own_file(path: Path, flags: int) -> int:
    """Open a file of retgk's own, as `os.open` does, but through no link and without a wait."""
    has_own_file(path)
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):  # each is unknown to some system
        flags |= getattr(os, name, 0)
    descriptor = os.open(path, flags, 0o666)
    try:
        _check_regular(os.fstat(descriptor), path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_regular(found: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise InvalidInputError(f"{path} is a link or no file; remove it, or choose another name")


def is_stream(path: Path) -> bool:
    """Whether what is written to a path goes to a reader or a device, and is kept nowhere."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


@contextmanager
def naming_errors(path: Path) -> Iterator[None]:
    """Have errors of the system name the file that is written, not its unfinished part or none."""
    try:
        yield
    except OSError as error:
        name = error.filename
        is_path = isinstance(name, str | bytes | os.PathLike)  # not a number of an open file
        if error.errno is not None and not (is_path and not is_unfinished(os.fsdecode(name))):
            error.filename = str(path)
            del error.filename2  # of a move
        raise


def _make_file(part: Path, mode: int) -> None:
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))


def _sync(part: Path) -> None:
    """Return when a file is on disk: some systems tell only then that there is no room."""
    descriptor = os.open(part, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _keep_mode(target: Path, part: Path) -> None:
    """Give a file the mode of the one that it replaces, and its owner where that is allowed."""
    try:
        before = target.stat()
    except OSError:
        return
    with suppress(OSError, AttributeError):  # Windows has no chown
        os.chown(part, before.st_uid, before.st_gid)
    with suppress(OSError):
        part.chmod(stat.S_IMODE(before.st_mode))
