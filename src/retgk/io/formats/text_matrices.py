"""One matrix of numbers from a text file, with or without names of rows and columns."""

from array import array
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retgk.errors import InvalidInputError
from retgk.io.formats.matrix_names import (
    cells_of,
    check_same_names,
    columns_without_corner,
    delimiter_in,
    has_row_name,
    is_heading,
)
from retgk.io.formats.plain_numbers import is_number, number_in
from retgk.io.formats.text_lines import text_lines
from retgk.runtime.parse_budget import ParseBudget

__all__ = ["text_matrix"]

_MOST_SHOWN = 40


class _Rows:
    """Rows of numbers as they come in, and the names of rows and columns, if there are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values = array("d")
        self.heading: list[str] | None = None
        self.row_names: list[str] | None = None
        self.n_rows, self.n_cells = 0, 0

    def add(self, cells: list[str], line: int) -> None:
        """Take a line: the first may be a heading, all others are numbers, perhaps with a name."""
        if self.n_rows == 0 and self.heading is None and is_heading(cells):
            self.heading = cells
            return
        if self.n_rows == 0:
            self.row_names = [] if has_row_name(self.heading, cells) else None
            self.n_cells = len(cells)
        if len(cells) != self.n_cells:
            raise InvalidInputError(
                f"{self.path}, line {line} has {len(cells)} columns, the first one has "
                f"{self.n_cells}"
            )
        self.n_rows += 1
        first = 0
        if self.row_names is not None:
            self.row_names.append(cells[0].strip())
            first = 1
        self.values.extend(self._numbers(cells, first, line))

    def _numbers(self, cells: list[str], first: int, line: int) -> list[float]:
        try:
            return [number_in(cell) for cell in cells[first:]]
        except ValueError:
            column = next(at for at in range(first, len(cells)) if not is_number(cells[at]))
            shown = ascii(cells[column].strip()[:_MOST_SHOWN])
            raise InvalidInputError(
                f"{self.path}, line {line}, column {column + 1}: {shown} is not a number; a file "
                "of a matrix has numbers, and at most one line and one column of names"
            ) from None

    def matrix(self) -> NDArray[np.float64]:
        """Give the matrix, if names and numbers fit together."""
        if self.n_rows == 0:
            raise InvalidInputError(f"{self.path} holds no numbers")
        width = self.n_cells - (self.row_names is not None)
        self._check_names(width)
        if abs(self.n_rows - width) == 1:
            raise InvalidInputError(
                f"{self.path} has {self.n_rows} rows of {width} numbers, and an adjacency matrix "
                "is square; if one row or column of them numbers the nodes, write the file "
                "without it (header=False, index=False in pandas, row.names=FALSE in R)"
            )
        return np.array(self.values).reshape(self.n_rows, width)

    def _check_names(self, width: int) -> None:
        if self.heading is None:
            return
        columns = columns_without_corner(self.heading, self.row_names is not None, self.n_cells)
        if len(columns) != width:
            raise InvalidInputError(
                f"{self.path} names {len(columns)} columns, but rows have {width} numbers"
            )
        if self.row_names is not None and self.n_rows == width:
            try:
                check_same_names(self.row_names, columns)
            except InvalidInputError as error:
                raise InvalidInputError(f"{self.path}: {error}") from None


def text_matrix(path: Path, budget: ParseBudget) -> NDArray[np.float64]:
    """
    Read one row of numbers per line, between commas, semicolons, tabs or white space.

    A first line and a first column of names, as pandas and R write them, are left out.
    """
    rows, delimiter, is_first = _Rows(path), None, True
    for number, line in text_lines(path, budget):
        text = line.strip(" \r\n")
        if not text or text.startswith("#"):
            continue
        if is_first:
            delimiter, is_first = delimiter_in(text), False
        cells = cells_of(text, delimiter)
        budget.charge(16 * len(cells), f"line {number}")
        rows.add(cells, number)
    return rows.matrix()
