"""Names of rows and columns in tables of numbers, told from the numbers themselves."""

import csv
import re

from retgk.errors import InvalidInputError
from retgk.io.formats.plain_numbers import is_number

__all__ = [
    "cells_of",
    "check_same_names",
    "columns_without_corner",
    "delimiter_in",
    "has_row_name",
    "is_heading",
]

_MISSING = {"", "na", "n/a", "null", "none", "-", "."}
_OTHER_CHARACTERS = re.compile(r"[^0-9a-z]+")
_R_PREFIX = re.compile(r"^x(?=[0-9])")  # R puts it before names that start with a digit


def delimiter_in(line: str) -> str | None:
    """Give what separates cells; None is for white space."""
    return next((mark for mark in "\t;," if mark in line), None)


def cells_of(line: str, delimiter: str | None) -> list[str]:
    """Cells of a line; names may stand in quotes."""
    if '"' not in line:
        return line.split(delimiter)
    mark = " " if delimiter is None else delimiter
    try:
        reader = csv.reader([line], delimiter=mark, skipinitialspace=not delimiter, strict=True)
        return next(reader)
    except csv.Error:
        return line.split(delimiter)  # an error names the cell that is no number


def is_heading(cells: list[str]) -> bool:
    """
    Whether a line has names of columns, and cannot be a row of a matrix.

    All of its cells are names, the first perhaps that of the rows. Numbers that count columns are
    names only behind an empty cell, as pandas writes them above an index.
    """
    texts = [cell.strip() for cell in cells]
    has_empty_corner = texts[:1] == [""]
    names = texts[has_empty_corner:]
    if has_empty_corner and _are_counted(names):
        return True
    return bool(names) and not any(is_number(name) or name.lower() in _MISSING for name in names)


def has_row_name(heading: list[str] | None, cells: list[str]) -> bool:
    """Whether the first row of numbers, below a heading or alone, begins with a name."""
    if heading is not None and (len(cells) == len(heading) + 1 or heading[0].strip() == ""):
        return True  # R leaves out the cell above names of rows, pandas leaves it empty
    names_itself = not is_number(cells[0]) and cells[0].strip().lower() not in _MISSING
    return names_itself and len(cells) > 2 and all(map(is_number, cells[1:]))


def columns_without_corner(heading: list[str], has_row_names: bool, n_cells: int) -> list[str]:
    """Names of columns of numbers: without the cell that stands above names of rows."""
    has_corner = has_row_names and (heading[0].strip() == "" or len(heading) == n_cells)
    return [cell.strip() for cell in heading[has_corner:]]


def check_same_names(rows: list[str], columns: list[str]) -> None:
    """Raise where row i and column i have names of different nodes, but for counted rows."""
    if _are_counted(rows) and not all(map(is_number, columns)):
        return
    for at, (row, column) in enumerate(zip(rows, columns, strict=True), 1):
        if _plain(row) != _plain(column):
            raise InvalidInputError(
                f"row {at} is named {row[:40]!r} and column {at} {column[:40]!r}: rows and columns "
                "must be the same nodes in the same order; with pandas, df.loc[df.columns] puts "
                "rows in the order of columns"
            )


def _are_counted(names: list[str]) -> bool:
    """Whether names are whole numbers in order, from 0 or 1."""
    return bool(names) and any(
        names == [str(first + at) for at in range(len(names))] for first in (0, 1)
    )


def _plain(name: str) -> str:
    """Letters and digits alone: R writes other characters of columns as dots."""
    return _R_PREFIX.sub("", _OTHER_CHARACTERS.sub("", name.lower())) or name
