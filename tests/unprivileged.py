"""Programs that read-only folders are read-only for, also where root runs the tests."""

import ctypes
import os
from pathlib import Path

_DROP_FROM_BOUNDING_SET = 24  # of prctl
_CAPABILITIES = (1, 2)  # to write and to search anywhere


def mind_modes() -> None:
    """Give up root's power over the modes of files for what is executed next."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        for capability in _CAPABILITIES:
            ctypes.CDLL(None).prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)


def make_read_only(folder: Path) -> None:
    """Take away the right to write to a folder and all in it."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
