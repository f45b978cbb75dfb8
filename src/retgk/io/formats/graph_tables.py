"""Tables that say something of graphs: their cells, and the graphs that rows are about."""

from collections import Counter
from collections.abc import Hashable, Sequence, Set
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from retgk.errors import InvalidInputError
from retgk.io.formats.graph_files import bare_name
from retgk.io.formats.plain_numbers import whole_number
from retgk.io.formats.smiles_files import csv_rows, delimiter_of
from retgk.io.formats.text_lines import text_lines
from retgk.io.graph_dataset import GraphDataset, graph_numbers
from retgk.runtime.parse_budget import ParseBudget

__all__ = [
    "NAME_COLUMNS",
    "GraphTable",
    "is_table",
    "most_lines",
    "name_in",
    "number_cells",
    "number_column",
    "places_by_name",
    "places_by_number",
    "read_table",
    "shown",
]

NAME_COLUMNS = ("file", "filename", "file_name", "path", "name")
"""Headings of columns that name graphs."""

_NUMBER_COLUMN = "graph"
_TABLES = {".csv", ".tsv"}
_MOST_SHOWN = 5
_MOST_LETTERS = 60  # of a cell that is shown
_PER_ROW, _PER_CELL = 300, 100  # bytes of memory
_MOST_EXTRA = 1000  # lines that no graph has; what they say can still be told


class GraphTable(NamedTuple):
    """Rows of cells with the lines they end on, and names of the columns, if there are."""

    path: Path
    columns: list[str] | None
    rows: list[tuple[int, list[str]]]

    def cells(self, column: int) -> list[str]:
        """Texts of one column; those of short rows are empty."""
        return [row[column].strip() if column < len(row) else "" for _, row in self.rows]

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.columns if self.columns is not None else self.rows[0][1])

    def heading(self, column: int) -> str:
        """Name of a column in small letters; empty where there are no names."""
        return "" if self.columns is None else self.columns[column].lower()

    def headed(self, *names: str) -> list[int]:
        """Columns of these names, in the order of the names; raise if two have one name."""
        if self.columns is None:
            return []
        headings = [column.lower() for column in self.columns]
        found = [name for name in names if name in headings]
        for name in found:
            if headings.count(name) > 1:
                raise InvalidInputError(
                    f"{self.path} has {headings.count(name)} columns {name!r}; give each a name "
                    "of its own"
                )
        return [headings.index(name) for name in found]


def is_table(path: Path) -> bool:
    """Whether a file has columns, by its name."""
    return bool(_TABLES & {suffix.lower() for suffix in path.suffixes})


def most_lines(dataset: GraphDataset) -> int | None:
    """Lines after which a file cannot be one of these graphs; None if some were left out."""
    return len(dataset) + _MOST_EXTRA if dataset.rows is None else None


def read_table(
    path: Path, budget: ParseBudget, dataset: GraphDataset, *, has_header: bool = False
) -> GraphTable:
    """Read all rows; the first has the names of columns, unless it names a graph."""
    lines = text_lines(path, budget)
    before = []
    for each in lines:
        budget.charge(_PER_ROW, f"line {each[0]}")
        before.append(each)
        if each[1].strip():
            break
    first = before[-1][1] if before else ""
    most, rows = most_lines(dataset), []
    for line, row in csv_rows(chain(before, lines), delimiter_of(first), budget):
        if not any(cell.strip() for cell in row):
            continue
        budget.charge(_PER_ROW + _PER_CELL * len(row), f"line {line}")
        rows.append((line, row))
        if most is not None and len(rows) > most:
            raise InvalidInputError(
                f"{path} has more than {most} rows for {len(dataset)} graphs; give every graph one"
            )
    names = set(dataset.graph_names or ())
    starts = has_header or not (rows and any(name_in(cell, names) for cell in rows[0][1]))
    columns = [cell.strip() for cell in rows[0][1]] if rows and starts else None
    table = GraphTable(path, columns, rows[columns is not None :])
    _check_widths(table)
    return table


def _check_widths(table: GraphTable) -> None:
    """Raise if a row has more cells than there are columns: its cells may be shifted."""
    for line, row in table.rows:
        if any(cell.strip() for cell in row[table.width :]):
            raise InvalidInputError(
                f"{table.path}, line {line} has {len(row)} cells for {table.width} columns; give "
                "every column a name, and put quotes around cells with commas"
            )


# By numbers


def number_column(table: GraphTable, dataset: GraphDataset, wanted: str) -> int | None:
    """
    Find the column of the numbers of graphs, which is called "graph".

    It may hold names instead. Where graphs are called by numbers, which are not their own, and no
    other column has their names, nobody can tell.
    """
    found = table.headed(_NUMBER_COLUMN)
    if not found or wanted.lower() == _NUMBER_COLUMN:
        return None
    (at,) = found
    number_of = dict(zip(dataset.graph_names or (), graph_numbers(dataset).tolist(), strict=False))
    if not number_of or table.headed(*NAME_COLUMNS):
        return at
    cells = table.cells(at)
    names = [name_in(cell, number_of.keys()) for cell in cells]
    numbers = [whole_number(cell) for cell in cells]
    if None in numbers:
        return None if any(name is not None for name in names) else at
    if None in names or [number_of[name] for name in names if name is not None] == numbers:
        return at
    if set(numbers) != set(number_of.values()):
        return None
    raise InvalidInputError(
        f"{table.path}: the column 'graph' may hold names of graphs or their numbers from 0, which "
        "are others; call it name, or add a column name beside it"
    )


def number_cells(table: GraphTable, column: int) -> list[int]:
    """Numbers of graphs in a column."""
    numbers = []
    for (line, _), cell in zip(table.rows, table.cells(column), strict=True):
        number = whole_number(cell)
        if number is None:
            raise InvalidInputError(
                f'{table.path}, line {line}: the column "graph" must hold numbers of graphs, from '
                f"0, not {shown([cell])}"
            )
        numbers.append(number)
    return numbers


def places_by_number(table: GraphTable, column: int, dataset: GraphDataset, what: str) -> list[int]:
    """Row of every graph, by numbers; rows of graphs that were left out in reading may be there."""
    wanted, numbers = graph_numbers(dataset).tolist(), number_cells(table, column)
    known = set(wanted)
    left_out = {n for n in numbers if n >= 0 and n not in known and dataset.rows is not None}
    kept = [row for row, number in enumerate(numbers) if number not in left_out]
    keys: list[Hashable] = [numbers[row] if numbers[row] in known else None for row in kept]
    places = _rows_of(keys, [str(numbers[row]) for row in kept], wanted, table, what)
    rows = [kept[place] for place in places]
    _check_same_names(table, rows, dataset)
    return rows


def _check_same_names(table: GraphTable, rows: list[int], dataset: GraphDataset) -> None:
    """Raise if a row with the number of a graph has the name of another."""
    known = set(dataset.graph_names or ())
    for at in table.headed(*NAME_COLUMNS) if known else ():
        cells = table.cells(at)
        for row, own in zip(rows, dataset.graph_names or (), strict=True):
            name = name_in(cells[row], known)
            if name is not None and own not in _names_in(cells[row]):
                raise InvalidInputError(
                    f"{table.path}, line {table.rows[row][0]}: the graph of that number is "
                    f"{shown([own])}, not {shown([name])}; leave out the column "
                    f"{_NUMBER_COLUMN!r}, or that of names"
                )


# By names


def places_by_name(
    table: GraphTable, column: int, graph_names: Sequence[str], what: str
) -> list[int]:
    """Row of every graph, by its name or that of its file."""
    known, cells = set(graph_names), table.cells(column)
    keys: list[Hashable] = [name_in(cell, known) for cell in cells]
    return _rows_of(keys, cells, graph_names, table, what)


def name_in(cell: str, names: Set[str]) -> str | None:
    """Name of a graph that a cell has; None if it has none."""
    return next((name for name in _names_in(cell) if name in names), None)


def _names_in(cell: str) -> tuple[str, str, str]:
    """Names that a cell may give a graph: as it is, a file's, and a file's without its ending."""
    text = cell.strip()
    file = text.replace("\\", "/").rpartition("/")[2]
    return text, file, bare_name(Path(file)) if file else ""


# By either


def _rows_of(
    keys: list[Hashable],
    cells: Sequence[str],
    wanted: Sequence[Hashable],
    table: GraphTable,
    what: str,
) -> list[int]:
    """Row of every graph; each must be there once, and no other. None is the key of no graph."""
    if keys == list(wanted):
        return list(range(len(keys)))
    if len(set(wanted)) < len(wanted):
        twice = Counter(wanted).most_common(1)[0][0]
        raise InvalidInputError(
            f"two graphs are called {twice!r}, so {table.path} cannot name them; rename one, or "
            f"give {what}s in the order of the graphs, one per line"
        )
    row_of: dict[Hashable, int] = {}
    for row, (key, cell) in enumerate(zip(keys, cells, strict=True)):
        if key in row_of:
            line = table.rows[row][0]
            raise InvalidInputError(
                f"{table.path}, line {line} names {shown([cell])} a second time; keep one row for "
                "each graph"
            )
        if key is not None:
            row_of[key] = row
    unknown = [cell for key, cell in zip(keys, cells, strict=True) if key is None]
    missing = [str(key) for key in wanted if key not in row_of]
    problems = []
    if unknown:
        problems.append(f"names without a graph ({len(unknown)}): {shown(unknown)}")
    if missing:
        problems.append(f"no {what} for graphs ({len(missing)}): {shown(missing)}")
    if problems:
        raise InvalidInputError(
            f"{table.path} has {' and '.join(problems)}; give every graph one row, and no other"
        )
    return [row_of[key] for key in wanted]


def shown(texts: Sequence[str]) -> str:
    """List the first few texts, the beginning of each."""
    few = [
        text[:_MOST_LETTERS] + "..." * (len(text) > _MOST_LETTERS) for text in texts[:_MOST_SHOWN]
    ]
    return ", ".join(map(repr, few)) + ", ..." * (len(texts) > _MOST_SHOWN)
