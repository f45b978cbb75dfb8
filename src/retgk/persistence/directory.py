"""The list of members of a zip file, checked before anything of it is believed."""

import os
import struct
import zipfile
from pathlib import Path
from typing import IO

from retgk.errors import InvalidInputError, Remedy

__all__ = ["checked_members"]

_MAX_DIRECTORY_BYTES = 1 << 16  # some hundred members; a model has a dozen
_ENCRYPTED = 0x1

# The last records of a zip file (sections 4.3.14 to 4.3.16 of its specification).
_END = struct.Struct("<4s4H2LH")
_LOCATOR = struct.Struct("<4sLQL")
_END_64 = struct.Struct("<4sQ2H2L4Q")


def checked_members(stream: IO[bytes], path: Path) -> dict[str, zipfile.ZipInfo]:
    """
    Members of a zip file whose sizes add up to no more than the file.

    Parameters
    ----------
    stream : binary file
        The zip file.
    path : Path
        Its name, for messages.

    Returns
    -------
    dict of str to ZipInfo
        The members: stored as they are, not compressed, each name once.
    """
    n_bytes = stream.seek(0, os.SEEK_END)
    size = _directory_size(stream, n_bytes)
    if size is None:
        raise InvalidInputError(
            f"{path} is no model file, or is cut off: its end is missing; copy it again"
        )
    if size > _MAX_DIRECTORY_BYTES:
        raise InvalidInputError(
            f"{path} is no model file: its list of members takes {size} bytes, more than the "
            f"{_MAX_DIRECTORY_BYTES} allowed"
        )
    with zipfile.ZipFile(stream) as archive:
        infos = archive.infolist()
    members = {info.filename: info for info in infos}
    if len(members) < len(infos):
        raise InvalidInputError(f"{path} is no model file: two members have the same name")
    for info in infos:
        _check_member(info, path)
    if sum(info.file_size for info in infos) > n_bytes:  # members that share bytes
        raise InvalidInputError(f"{path} is damaged: its members are larger than the file")
    return members


def _directory_size(stream: IO[bytes], n_bytes: int) -> int | None:
    """Size of the list of members, which ZipFile reads whole; None if there is no end record."""
    if n_bytes < _END.size:
        return None
    stream.seek(n_bytes - _END.size)
    signature, *_, size, _, comment = _END.unpack(stream.read(_END.size))
    if signature != b"PK\x05\x06" or comment != 0:
        return None
    start = n_bytes - _END.size - _LOCATOR.size - _END_64.size
    if start < 0:
        return int(size)
    stream.seek(start)
    large, locator = stream.read(_END_64.size), stream.read(_LOCATOR.size)
    if not locator.startswith(b"PK\x06\x07"):
        return int(size)
    signature, *_, size, _ = _END_64.unpack(large)
    return int(size) if signature == b"PK\x06\x06" else None


def _check_member(info: zipfile.ZipInfo, path: Path) -> None:
    """Refuse what a model file never holds; stored members cannot grow when they are read."""
    if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
        raise InvalidInputError(
            f"{path}: the member {info.filename!r} is compressed",
            Remedy(
                "model_file",
                "a model file stores its members as they are, so use what save_model wrote, not an "
                "archive made of it again",
            ),
        )
    if info.flag_bits & _ENCRYPTED:
        raise InvalidInputError(f"{path}: the member {info.filename!r} is encrypted")
