"""Where data sets are kept, and files that appear whole or not at all."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["HOME_VARIABLE", "atomic_path", "cache_folder", "data_home_folder"]

HOME_VARIABLE = "RETGK_DATA_HOME"


def data_home_folder(data_home: str | os.PathLike[str] | None) -> Path:
    """Choose the folder of the data sets: the argument, the environment, or the platform's."""
    chosen = data_home if data_home is not None else os.environ.get(HOME_VARIABLE)
    return Path(chosen).expanduser() if chosen else _platform_folder() / "data"


def cache_folder(data_home: Path) -> Path:
    """Choose the folder of parsed copies: beside the data sets if that may be written to."""
    if _is_writable(data_home):
        return data_home / ".retgk-cache"
    return _platform_folder() / "parsed"


def _platform_folder() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("retgk", appauthor=False)


def _is_writable(folder: Path) -> bool:
    """Whether a folder may be written to, and its mode says so: root may write anywhere."""
    try:
        mode = folder.stat().st_mode
    except OSError:
        return False
    any_write_bit = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
    return bool(mode & any_write_bit) and os.access(folder, os.W_OK)


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Give a path to write to; the file moves to `path` when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}-{secrets.token_hex(8)}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
