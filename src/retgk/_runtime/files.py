"""Where data sets are kept, and files that appear whole or not at all."""

import gzip
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from errno import ENOSPC
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import IO, Any

from retgk.errors import InvalidInputError

# Locks on open files, which the system lifts when the process that holds them ends.

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def lock_at_once(descriptor: int) -> bool | None:
    """Lock an open file: whether that went well, or None where the system has no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


# Files and folders in the making: known by their names, locked while their writer lives.

_NAME = re.compile(r"\..*-[0-9a-f]{16}\.retgk\.part", re.DOTALL)
_MOST_NAME_BYTES = 200  # of the 255 that a name may have


def is_unfinished(path: str | os.PathLike[str]) -> bool:
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
    """Give a path to write to; the file moves to `path` or its link's target if all goes well."""
    if not follow_links:
        has_own_file(path)
    target = file_to_write(path) if follow_links else path
    target.parent.mkdir(parents=True, exist_ok=True)
    # what is to be replaced may be secret: until the new file has its mode, it is too
    mode = 0o600 if target.exists() else 0o666

    def make(part: Path) -> None:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))

    with naming_errors(path), unfinished_path(target, make) as part:
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
    """Whether a file of retgk's own is there; a link or pipe, which no user named, is refused."""
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


# Files of records: one JSON line each, only ever appended, and whole after any kill.
#
# A run that was killed reads what it had finished, and goes on. A line ends with a digest, by
# which it is known that nobody has changed it; lines of earlier versions have none.

FORMAT = 1
"""Version of the form of a record; readers refuse what they do not know."""

Record = dict[str, Any]

_LINE_START = b'{"format": '
_DIGEST = "digest"


def file_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def key_of(what: Mapping[str, Any]) -> str:
    text = json.dumps(what, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def modules_digest(package: Path, left_out: Sequence[str] = ()) -> str:
    """Digest of the C++ sources and of the modules of a package, but for some patterns of names."""
    from retgk import _core

    left_out = (*left_out, "_core/*")
    digest = hashlib.sha256(_core.SOURCE_DIGEST.encode())
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if not any(fnmatch(name, pattern) for pattern in left_out):
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """Read all records of a file, which may be packed; a line that a kill cut short is left out."""
    path = Path(path)
    if not path.exists():
        return []
    content = path.read_bytes()
    content = gzip.decompress(content) if path.suffix == ".gz" else content
    lines = content.split(b"\n")[:-1]
    return [_parse_record(line, path, number) for number, line in enumerate(lines, start=1)]


def _parse_record(line: bytes, path: Path, number: int) -> Record:
    try:
        record: Record = json.loads(line, parse_constant=refuse_constant)
        form = record["format"]
        digest = record.pop(_DIGEST, None)
        is_changed = digest is not None and digest != key_of(record)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInputError(f"{path}, line {number}: not a record; remove that line") from error
    if form != FORMAT:
        raise InvalidInputError(
            f"{path}, line {number}: a record of form {form!r:.20}, this version reads {FORMAT}; "
            "update retgk, or begin another file"
        )
    if is_changed:
        raise InvalidInputError(
            f"{path}, line {number}: not as it was written; remove that line, or begin another file"
        )
    return record


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


@contextmanager
def record_writer(path: str | os.PathLike[str]) -> Iterator["RecordWriter"]:
    """Open a file for appending records, and lock it; a line that a kill cut short is removed."""
    path = Path(path)
    if path.suffix == ".gz":
        raise InvalidInputError(f"{path} is packed; unpack it with gunzip to add records")
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file_to_write(path), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        if lock_at_once(descriptor) is False:
            raise InvalidInputError(
                f"another run is writing to {path}; wait for it, or choose another file"
            )
        _remove_torn_line(descriptor, path)
        with naming_errors(path):
            yield RecordWriter(descriptor)
    finally:
        os.close(descriptor)


class RecordWriter:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def append(self, record: Record) -> None:
        """Write a record in one go, and return when it is on disk; all of it is there, or none."""
        as_read = json.loads(json.dumps({"format": FORMAT, **record}, allow_nan=False))
        line = json.dumps({**as_read, _DIGEST: key_of(as_read)}).encode() + b"\n"
        before = os.fstat(self._descriptor).st_size
        try:
            if os.write(self._descriptor, line) != len(line):
                raise OSError(ENOSPC, os.strerror(ENOSPC))
            os.fsync(self._descriptor)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, before)
            raise


def _remove_torn_line(descriptor: int, path: Path) -> None:
    """Remove the start of a record that a kill cut short, from a file that holds nothing else."""
    read_records(path)
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    torn = content[whole:]
    if not torn:
        return
    if not (torn.startswith(_LINE_START) or _LINE_START.startswith(torn)):
        raise InvalidInputError(
            f"{path} does not end in a record; remove its last line, or choose another file"
        )
    os.ftruncate(descriptor, whole)


# The size gate: what reading files would take is checked once, before anything is parsed.

GZIP_DAMAGE = (gzip.BadGzipFile, zlib.error, EOFError)
"""What gzip raises on damaged bytes."""

_CHUNK_BYTES = 1 << 16
_SMALL_FILES = 256 << 20
_LARGE_FILES = 4 << 30
_PER_PACKED_BYTE = 512  # molecules in a .csv.gz take 200; text that repeats itself, thousands
_PER_BYTE = 64  # plain GraphML takes 50


def memory_limit(n_bytes: int, max_bytes: int | None = None) -> int:
    """Bytes that reading may take: more than honest files need, less than fills the memory."""
    if max_bytes is None:
        by_size = min(_PER_PACKED_BYTE * n_bytes, _LARGE_FILES)
        return max(_SMALL_FILES, by_size, _PER_BYTE * n_bytes)
    if isinstance(max_bytes, bool) or max_bytes < 1:
        raise InvalidInputError(f"max_bytes must be a positive number, got {max_bytes!r}")
    return max_bytes


def unpacked_size(path: Path, most: int) -> int:
    """Bytes of a file, unpacked if it is a zip archive or packed by gzip; counted up to `most`."""
    with open_unpacked(path) as stream:
        if not isinstance(stream, gzip.GzipFile):
            return _zip_size(path) if stream.read(2) == b"PK" else path.stat().st_size
        n_bytes = 0
        while n_bytes <= most and (chunk := stream.read(_CHUNK_BYTES)):
            n_bytes += len(chunk)
        return n_bytes


def _zip_size(path: Path) -> int:
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(info.file_size for info in archive.infolist())
    except ZIP_DAMAGE as error:
        raise InvalidInputError(
            f"{path} is not a whole zip archive: {error}; fetch it again"
        ) from error


def check_size(
    files: Sequence[Path],
    memory_factor: int,
    max_bytes: int | None = None,
    size_of: Callable[[Path, int], int] = unpacked_size,
) -> None:
    on_disk = sum(file.stat().st_size for file in files)
    limit = memory_limit(on_disk, max_bytes)
    total = 0
    for file in files:
        check_regular(file)
        with naming_damage(file):
            total += size_of(file, limit // memory_factor)
        if memory_factor * total > limit:
            raise InvalidInputError(
                f"{file}: {total} bytes or more, unpacked, would take {memory_factor * total} "
                f"bytes of memory, more than the {limit} allowed for reading {on_disk} bytes; "
                "pass a larger max_bytes if you trust it"
            )


# Text files, plain or packed by gzip, whatever ends their lines.


def check_regular(path: Path) -> None:
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InvalidInputError(
            f"{path} is no regular file, and would be read more than once; write it to a file "
            "first, or give - for standard input where graphs are expected"
        )


def is_gzip(path: Path) -> bool:
    check_regular(path)
    with path.open("rb") as stream:
        return stream.read(2) == b"\x1f\x8b"


def open_unpacked(path: Path) -> IO[bytes]:
    if is_gzip(path):
        return gzip.open(path)  # type: ignore[return-value]
    if path.suffix.lower() == ".gz":
        raise InvalidInputError(f"{path} is damaged: Not a gzipped file; fetch it again")
    return path.open("rb")


@contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    try:
        yield
    except GZIP_DAMAGE as error:
        raise InvalidInputError(f"{path} is damaged: {error}; fetch it again") from error


def unpacked_bytes(path: Path) -> bytes:
    with naming_damage(path), open_unpacked(path) as stream:
        return stream.read()


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Read lines with their numbers, without what ends them: LF, CR or both."""
    number = 0
    for block in line_blocks(path):
        try:
            text = block.decode("utf-8" if number else "utf-8-sig")
        except UnicodeDecodeError as error:
            line_number = number + 1 + block[: error.start].count(b"\n")
            raise InvalidInputError(f"{path}, line {line_number} is not text: {error}") from error
        for line in text.split("\n")[:-1]:
            number += 1
            yield number, line


def line_blocks(path: Path) -> Iterator[bytes]:
    """Read some whole lines at a time, all of which end in LF; the last gets it if it has none."""
    rest = b""
    with naming_damage(path), open_unpacked(path) as stream:
        # Pieces grow with the line that they continue, so that the copies stay linear.
        while piece := stream.read(max(_CHUNK_BYTES, len(rest))):
            text = rest + piece
            held = b"\r" * text.endswith(b"\r")  # LF may follow in the next piece
            text = _with_newlines(text[: len(text) - len(held)])
            cut = text.rfind(b"\n") + 1
            if cut:
                yield text[:cut]
            rest = text[cut:] + held
    if rest:
        yield _with_newlines(rest.removesuffix(b"\r")) + b"\n"


def _with_newlines(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text


# The one check of the members of zip files that may come from strangers.

_DEFLATED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Compressions that unpack with a bound on memory; others do not."""

ZIP_DAMAGE = (
    ArithmeticError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What zipfile raises on damaged bytes; OSError is for positions before the start."""

_ENCRYPTED = 0x1 | 0x40 | 0x2000  # in the plain way, the strong way, with a masked directory
_PATCHES = 0x20
_MOST_DEFLATED = 1032  # bytes that one byte can stand for


def member_problem(info: zipfile.ZipInfo) -> str | None:
    """What is wrong with a member of a zip file, as the end of a sentence; None if nothing is."""
    name = info.orig_filename
    problems = {
        "has an absolute path, or one for another system": name.startswith("/")
        or re.match("[A-Za-z]:", name)
        or "\\" in name
        or "\0" in name,
        "leads out of the archive": ".." in name.split("/"),
        "is a link or a special file": stat.S_IFMT(info.external_attr >> 16)
        not in (0, stat.S_IFREG, stat.S_IFDIR),
        "is encrypted": info.flag_bits & _ENCRYPTED,
        "holds patches of another file": info.flag_bits & _PATCHES,
        "declares more bytes than it can hold": info.file_size
        > _MOST_DEFLATED * max(info.compress_size, 1),
        "is compressed in another way than deflate": info.compress_type not in _DEFLATED,
    }
    return next((text for text, is_so in problems.items() if is_so), None)
