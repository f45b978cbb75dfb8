"""Places for results, checked before any work is done."""

from __future__ import annotations

import os
from pathlib import Path

from retgk.errors import InvalidInputError

__all__ = ["check_new_file", "check_parent"]


def check_new_file(output: Path) -> None:
    """Raise if no file can be put in a place; one that is there may be replaced."""
    if str(output) == "-":
        raise InvalidInputError(
            "this command writes a file, and nothing to standard output; give a name instead of -"
        )
    if output.is_dir():
        raise InvalidInputError(f"{output} is a folder; give the name of a file")
    check_parent(output)


def check_parent(output: Path) -> None:
    """Raise if the folder of a file or folder to be can neither be used nor made."""
    parent = next(folder for folder in output.absolute().parents if folder.exists())
    if not parent.is_dir():
        raise InvalidInputError(f"{output} cannot be made: {parent} is not a folder")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InvalidInputError(
            f"{output} cannot be made: {parent} may not be written to; choose another folder"
        )
