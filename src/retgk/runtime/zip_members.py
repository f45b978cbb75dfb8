"""The one check of the members of zip files that may come from strangers."""

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Sequence

__all__ = ["DEFLATED", "STORED", "ZIP_DAMAGE", "member_problem"]

STORED = (zipfile.ZIP_STORED,)
"""Members as they are, so that none is larger than the file."""

DEFLATED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
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


def member_problem(info: zipfile.ZipInfo, compressions: Sequence[int]) -> str | None:
    """
    Say what is wrong with a member, as the end of a sentence; None if nothing is.

    Names that lead elsewhere, links and special files are refused even where nothing is unpacked to
    disk: neither data sets nor models hold such.
    """
    name = info.orig_filename
    is_packed = info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size
    problems = {
        "has an absolute path, or one for another system": name.startswith("/")
        or re.match("[A-Za-z]:", name)
        or "\\" in name
        or "\0" in name,
        "leads out of the archive": ".." in name.split("/"),
        "is a link or a special file": stat.S_IFMT(info.external_attr >> 16)
        not in (0, stat.S_IFREG, stat.S_IFDIR),
        "is compressed": compressions == STORED and is_packed,
        "is encrypted": info.flag_bits & _ENCRYPTED,
        "holds patches of another file": info.flag_bits & _PATCHES,
        "declares more bytes than it can hold": info.file_size
        > _MOST_DEFLATED * max(info.compress_size, 1),
        "is compressed in another way than deflate": info.compress_type not in compressions,
    }
    return next((text for text, is_so in problems.items() if is_so), None)
