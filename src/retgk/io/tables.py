"""
The one reader of tables: texts by the csv module, numbers by NumPy and compiled code.

First which row of a table is about which graph, and what it says of it (targets, groups, pairs);
then rows of cells, texts that are numbers, and columns of numbers without a heading.
"""

import csv
import re
from collections import Counter, deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk._runtime.files import ZIP_DAMAGE, check_size, text_lines
from retgk._runtime.names import name_advice
from retgk.errors import InvalidInputError
from retgk.io.dataset import GraphDataset, graph_numbers
from retgk.io.formats import TABLES, bare_name, ending_of

NAME_COLUMNS = ("file", "filename", "file_name", "path", "name")
"""Headings of columns that name graphs."""

MEMORY_FACTOR = 48
"""Bytes of memory that a table takes for each byte of text: cells as strings of Python."""

_NUMBER_COLUMN = "graph"
_ID_COLUMNS = ("subject", "participant", "participant_id", "subject_id", "sample", "id")
_MOST_SHOWN = 5
_MOST_LETTERS = 60  # of a cell that is shown


# Tables whose rows are about graphs


class GraphTable(NamedTuple):
    """Rows of cells with the lines they end on, and names of the columns, if there are."""

    path: Path
    columns: list[str] | None
    rows: list[tuple[int, list[str]]]

    def cells(self, column: int) -> list[str]:
        return [row[column].strip() if column < len(row) else "" for _, row in self.rows]

    @property
    def width(self) -> int:
        return len(self.columns if self.columns is not None else self.rows[0][1])

    def heading(self, column: int) -> str:
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
    return ending_of(path) in TABLES


def read_table(path: Path, dataset: GraphDataset, *, has_header: bool = False) -> GraphTable:
    rows = [(line, row) for line, row in table_rows(path) if any(map(str.strip, row))]
    names = set(dataset.graph_names or ())
    starts = has_header or not (rows and any(name_in(cell, names) for cell in rows[0][1]))
    columns = [cell.strip() for cell in rows[0][1]] if rows and starts else None
    table = GraphTable(path, columns, rows[columns is not None :])
    _check_widths(table)
    return table


def _check_widths(table: GraphTable) -> None:
    for line, row in table.rows:
        if any(cell.strip() for cell in row[table.width :]):
            raise InvalidInputError(
                f"{table.path}, line {line} has {len(row)} cells for {table.width} columns; give "
                "every column a name, and put quotes around cells with commas"
            )


# By numbers


def number_column(table: GraphTable, dataset: GraphDataset, wanted: str) -> int | None:
    """Column "graph" of the numbers of graphs; None if it holds names, an error if unclear."""
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


def name_in(cell: str, names: Set[str]) -> str | None:
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
    few = [
        text[:_MOST_LETTERS] + "..." * (len(text) > _MOST_LETTERS) for text in texts[:_MOST_SHOWN]
    ]
    return ", ".join(map(repr, few)) + ", ..." * (len(texts) > _MOST_SHOWN)


# Targets, or groups, from a file of their own: a plain list, or a table that names the graphs


class What(NamedTuple):
    """What a file says of graphs: in words, the usual heading, the option that names its column."""

    name: str
    heading: str
    option: str | None = None


TARGETS = What("target", "target", "target_column")


def with_targets(
    dataset: GraphDataset, path: Path, column: str | None, max_bytes: int | None
) -> GraphDataset:
    texts = texts_of_graphs(dataset, path, column, TARGETS, max_bytes)
    return replace(dataset, targets=typed_targets(texts))


def texts_of_graphs(
    dataset: GraphDataset, path: Path, column: str | None, what: What, max_bytes: int | None = None
) -> list[str]:
    """One text for each graph: matched by numbers or names in a table, else a line for each."""
    check_size([path], MEMORY_FACTOR, max_bytes)
    if is_table(path) and (column is not None or _has_columns(path)):
        table = read_table(path, dataset)
        if not table.rows:
            raise InvalidInputError(f"{path} holds no {what.name}s")
        texts = _table_texts(dataset, table, column, what)
    else:
        texts = _listed_texts(dataset, path, what)
    rows = dataset.rows
    if rows is not None and len(texts) > rows[-1] and len(texts) != len(dataset):
        texts = [texts[row] for row in rows]  # of graphs that were left out in reading, too
    if len(texts) != len(dataset):
        raise InvalidInputError(
            f"{path} has {len(texts)} lines for {len(dataset)} graphs; give one line for each graph"
        )
    return texts


def _has_columns(path: Path) -> bool:
    first = next((line for _, line in text_lines(path) if line.strip()), "")
    return delimiter_in(first) is not None


# Lists


def _listed_texts(dataset: GraphDataset, path: Path, what: What) -> list[str]:
    texts: list[str] = []
    for line, text in text_lines(path):
        texts.append(text.strip())
        if not texts[-1]:
            raise InvalidInputError(
                f"{path}, line {line} is empty; give a {what.name} for each graph"
            )
    starts = is_table(path) and len(texts) > 1
    n_before = int(starts and _starts_with_heading(texts, len(dataset), path, what))
    if what is TARGETS:
        check_values(texts[n_before:], lambda row: f"{path}, line {row + n_before + 1}")
    return texts[n_before:]


def _starts_with_heading(texts: list[str], n_graphs: int, path: Path, what: What) -> bool:
    """Whether the first text is the name of the column; raise where nobody can tell."""
    first, others = texts[0], texts[1:]
    if first.lower() in (what.heading, f"{what.heading}s"):
        return True
    if all(map(is_number, others)):
        return not is_number(first)
    if first in others or len(texts) not in (n_graphs, n_graphs + 1):
        return False
    if len(texts) == n_graphs + 1:
        return True
    if min(Counter(others).values()) > 1:
        raise InvalidInputError(
            f"{path}: {shown([first])} on line 1 is there once, as the name of a column is, and "
            f"others more often; if it is a name, one of {n_graphs} lines is missing, else begin "
            f"the file with a line {what.heading}"
        )
    return False


# Tables


def _table_texts(
    dataset: GraphDataset, table: GraphTable, column: str | None, what: What
) -> list[str]:
    """Texts in the order of the graphs, or of the rows where no column names graphs."""
    if table.columns is None and column is not None:
        raise InvalidInputError(
            f"{table.path} has no line of column names, so no column {column!r}"
        )
    target = column or what.heading
    number_at = number_column(table, dataset, target)
    name_at = None if number_at is not None else _name_column(table, dataset, target)
    text_at = _text_column(table, number_at, name_at, column, what)
    texts = table.cells(text_at)
    if "" in texts:
        line = table.rows[texts.index("")][0]
        raise InvalidInputError(f"{table.path}, line {line} has no {what.name}; fill it in")
    if what is TARGETS:
        check_values(texts, lambda row: f"{table.path}, line {table.rows[row][0]}")
    if number_at is not None:
        places = places_by_number(table, number_at, dataset, what.name)
    elif name_at is not None:
        if column is None:
            _check_heading(table, name_at, text_at, what)
        names, cells = dataset.graph_names or (), table.cells(name_at)
        keys = [name_in(cell, set(names)) for cell in cells]
        places = _rows_of(list(keys), cells, names, table, what.name)
    else:
        _check_no_other_names(table, dataset, text_at)
        return texts
    return [texts[place] for place in places]


def _name_column(table: GraphTable, dataset: GraphDataset, target: str) -> int | None:
    """Find the column that names graphs: by its own name, or by names of graphs in it."""
    names = set(dataset.graph_names or ())
    if table.width < 2 or not names:
        return None
    possible = [at for at in range(table.width) if table.heading(at) != target.lower()]
    for at in table.headed(*NAME_COLUMNS):
        if at in possible:
            return at
    for at in possible:
        cells = table.cells(at)
        if len(set(cells)) == len(cells) and any(name_in(cell, names) for cell in cells):
            return at
    return None


def _text_column(
    table: GraphTable, number_at: int | None, name_at: int | None, wanted: str | None, what: What
) -> int:
    columns = table.columns
    if columns is not None and wanted is not None:
        if what.option is None and wanted.lower() not in map(str.lower, columns):
            raise InvalidInputError(
                f"{table.path} has no column {wanted!r}; call the column of {what.name}s so"
            )
        return column_position(columns, wanted, table.path, what.option or "")
    keys = {number_at, name_at}
    if number_at is not None:
        keys.update(table.headed(*NAME_COLUMNS))
    others = [at for at in range(table.width) if at not in keys]
    if len(others) == 1:
        return others[0]
    if columns is not None and what.option is not None and table.headed(what.heading):
        return column_position(columns, what.heading, table.path, what.option)
    problem = f"{table.path} has {len(others)} columns that may hold the {what.name}s"
    if columns is None:
        raise InvalidInputError(f"{problem}; give it a first line of column names")
    if not others:
        raise InvalidInputError(f"{table.path} has no column of {what.name}s; add one")
    names = [columns[at] for at in others]
    if what.option is None:
        advice = name_advice("", names, "keep one of")
        raise InvalidInputError(f"{problem}; {advice}, beside the one that names graphs")
    raise InvalidInputError(f"{problem}; {name_advice('', names)} with {what.option}=")


def _check_heading(table: GraphTable, name_at: int, text_at: int, what: What) -> None:
    if table.columns is None:
        return
    name, text = table.columns[name_at], table.columns[text_at]
    if name.lower() in ("", "graph", *NAME_COLUMNS, *_ID_COLUMNS) or text.lower() == what.heading:
        return
    if is_number(text) or text in table.cells(text_at):
        raise InvalidInputError(
            f"{table.path}: the first line, {shown([name, text])}, reads like a row, but there is "
            f"no graph {shown([name])}; drop it, or give the columns the names name and "
            f"{what.heading}"
        )


def _check_no_other_names(table: GraphTable, dataset: GraphDataset, text_at: int) -> None:
    names = list(dataset.graph_names or ())
    if table.width < 2:
        return
    for at in range(table.width):
        heading, cells = table.heading(at), table.cells(at)
        is_key = heading in _ID_COLUMNS or heading in NAME_COLUMNS
        if names:
            is_key |= not all(map(is_number, cells))
        elif is_key:
            is_key = not _count_up(cells)
        if at == text_at or not is_key or len(set(cells)) < len(cells):
            continue
        called = f"graphs are called {shown(names)}" if names else "the graphs have no names"
        raise InvalidInputError(
            f"{table.path}: no cell names a graph; those of column {heading or at + 1!r} are "
            f"{shown(cells)}, {called}; name rows as the graphs, give their numbers from 0 in a "
            "column graph, or leave that column out to match them by their order"
        )


def _count_up(cells: list[str]) -> bool:
    first = whole_number(cells[0])
    return first is not None and [whole_number(cell) for cell in cells] == list(
        range(first, first + len(cells))
    )


# Rows of cells


def table_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Rows of a table with the lines they end in, without blank lines; the first tells the form."""
    lines, before = text_lines(path), []
    for each in lines:
        before.append(each)
        if each[1].strip():
            break
    delimiter = delimiter_in(before[-1][1]) if before else None
    texts = (line + "\n" for _, line in chain(before, lines))
    reader = csv.reader(texts, delimiter=delimiter or ",")
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise InvalidInputError(f"{path} is not a table: {error}") from error


def delimiter_in(line: str) -> str | None:
    return next((mark for mark in "\t,;" if mark in line), None)


def cells_of(line: str, delimiter: str | None) -> list[str]:
    """Cells of one line, between white space if there is no delimiter; names may be in quotes."""
    if '"' not in line:
        return line.split(delimiter)
    mark = " " if delimiter is None else delimiter
    try:
        reader = csv.reader([line], delimiter=mark, skipinitialspace=not delimiter, strict=True)
        return next(reader)
    except csv.Error:
        return line.split(delimiter)  # an error names the cell that is no number


def column_position(names: Sequence[str], wanted: str, path: Path, argument: str) -> int:
    found = [at for at, name in enumerate(names) if name == wanted]
    if not found:
        found = [at for at, name in enumerate(names) if name.lower() == wanted.lower()]
    if not found:
        advice = name_advice(wanted, names)
        raise InvalidInputError(f"{path} has no column {wanted!r}; {advice} with {argument}=")
    if len(found) > 1:
        raise InvalidInputError(
            f"{path} has {len(found)} columns {wanted!r}; give each a name of its own"
        )
    return found[0]


def filled_cell(row: list[str], at: int, names: Sequence[str], path: Path, line: int) -> str:
    text = cell_text(row, at)
    if not text:
        raise InvalidInputError(
            f"{path}, line {line}: the column {names[at]!r} is empty; fill it, or drop the line"
        )
    return text


def cell_text(row: list[str], at: int) -> str:
    return row[at].strip() if at < len(row) else ""


# Texts that are numbers: what Python takes for one, but for names such as 1_0


def typed_targets(texts: Sequence[str]) -> NDArray[Any]:
    """Convert to integers if all are whole numbers, else floats if all are numbers, else text."""
    values = numbers_in(texts)
    if values is None:
        longest = max(map(len, texts), default=0)
        if longest * len(texts) > _MOST_TEXT and longest > _LONG_TARGET:
            raise InvalidInputError(  # an array has room for the longest text in every place
                f"a target has {longest} letters, for each of {len(texts)} graphs; give classes "
                "shorter names"
            )
        return np.array(texts, dtype=str)
    if not np.isfinite(values).all():
        graph = int(np.isfinite(values).argmin())
        raise InvalidInputError(
            f"the target {texts[graph]!r} of graph {graph} is not finite; give a number, or "
            "drop the graph"
        )
    return values


_MOST_TEXT, _LONG_TARGET = 1 << 26, 1000


# What stands where a number is missing, and numbers with a mark or a decimal comma.
_NO_NUMBER = frozenset(("", "na", "n/a", "nan", "null", "none", "-", "?"))
_PLAIN_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_MARKED = re.compile(rf"[<>=~≤≥≈±]+\s*{_PLAIN_NUMBER}|{_PLAIN_NUMBER}\s*[<>%*+]+")
_DECIMAL_COMMA = re.compile(r"(?:[<>=~≤≥≈±]+\s*)?[-+]?\d+,\d+(?:[eE][-+]?\d+)?")


def missing_numbers(texts: Sequence[str]) -> list[int]:
    """Places of words such as NA among numbers; none where there are other texts, as of classes."""
    absent = [row for row, text in enumerate(texts) if text.lower() in _NO_NUMBER]
    others = len(texts) - len(absent) if absent else 0
    is_value = others > 0 and all(
        is_number(text) or _is_nearly_number(text) or text.lower() in _NO_NUMBER for text in texts
    )
    return absent if is_value else []


def check_values(texts: Sequence[str], where: Callable[[int], str]) -> None:
    """Raise where a column of numbers has a text that is none, which would make all of it names."""
    odd = [row for row, text in enumerate(texts) if not is_number(text)]
    remedy = "write a number, or drop the line"
    if absent := missing_numbers(texts):
        odd, remedy = absent, "fill it in, or drop the line"
    elif odd and all(_DECIMAL_COMMA.fullmatch(texts[row]) for row in odd):
        remedy = "write numbers with a decimal point"
    elif not odd or not (len(odd) < len(texts) and _are_values(texts, odd)):
        return
    raise InvalidInputError(
        f"{where(odd[0])}: the value {shown([texts[odd[0]]])} is no number, as others are; {remedy}"
    )


def _are_values(texts: Sequence[str], odd: Sequence[int]) -> bool:
    """Whether other texts are numbers, and the odd ones nearly, or most texts are fractions."""
    n_fractions = sum(is_number(text) and whole_number(text) is None for text in texts)
    return 2 * n_fractions >= len(texts) or all(_is_nearly_number(texts[row]) for row in odd)


def _is_nearly_number(text: str) -> bool:
    return bool(_MARKED.fullmatch(text) or _DECIMAL_COMMA.fullmatch(text))


def whole_number(text: str) -> int | None:
    try:
        return None if "_" in text else int(text)
    except ValueError:
        return None


def number_in(text: str) -> float:
    if "_" in text:
        raise ValueError(text)  # Python alone would take 1_0 for 10
    return float(text)


def is_number(text: str) -> bool:
    return _number_or_none(text) is not None


def numbers_in(texts: Sequence[str], *, gaps: bool = False) -> NDArray[Any] | None:
    """Integers or floats if all texts are such; None for names, such as 01 beside 1."""
    integers = [whole_number(text) for text in texts]
    if None not in integers:
        values = np.array(integers)
        is_name = values.dtype.kind == "O" or len(set(integers)) < len(set(texts))
        return None if is_name else values
    found = [np.nan if gaps and not text.strip() else _number_or_none(text) for text in texts]
    return None if None in found else np.array(found, float)


def _number_or_none(text: str) -> float | None:
    try:
        return number_in(text)
    except ValueError:
        return None


# Columns of numbers without a heading, from streams: inflating and parsing run side by side

Item = TypeVar("Item")

CHUNK_BYTES = 1 << 20
PREFETCH_BYTES = 4 * CHUNK_BYTES
_LOOK_AHEAD = 4
_MAX_LINE_BYTES = 1 << 24


@dataclass(frozen=True)
class Member:
    """One file of a data set: its full name, the size it declares, how to open it."""

    name: str
    size: int
    open: Callable[[], IO[bytes]]

    def chunks(self) -> Generator[bytes, None, None]:
        """Read the content piece by piece; raise if it is damaged or longer than declared."""
        n_read = 0
        try:
            with self.open() as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    n_read += len(chunk)
                    if n_read > self.size:
                        raise InvalidInputError(
                            f"{self.name} holds more than the {self.size} bytes it declares"
                        )
                    yield chunk
        except InvalidInputError:
            raise
        except ZIP_DAMAGE as error:
            raise InvalidInputError(
                f"{self.name} is damaged: {error}; fetch the archive again"
            ) from error
        if n_read < self.size:
            raise InvalidInputError(
                f"{self.name} is cut off: {n_read} of {self.size} bytes; fetch it again"
            )


def prefetch(items: Iterable[Item]) -> Generator[Item, None, None]:
    iterator = iter(items)
    done = object()
    with ThreadPoolExecutor(1) as pool:
        ahead = deque(pool.submit(next, iterator, done) for _ in range(_LOOK_AHEAD))
        while (item := ahead.popleft().result()) is not done:
            ahead.append(pool.submit(next, iterator, done))
            yield item  # type: ignore[misc]  # the end mark is not an item
    # Leaving early waits for the few items under way, so that no thread outlives the reader.


def read_integers(member: Member) -> NDArray[np.int64]:
    n_columns = n_columns_of(member)
    with closing(integer_blocks(member, n_columns, np.int64)) as parsed:
        return np.concatenate([np.empty((n_columns, 0), np.int64), *parsed], axis=1)


def integer_blocks(
    member: Member, n_columns: int, dtype: type[Any]
) -> Generator[NDArray[Any], None, None]:
    expected = f"{n_columns} integer{'s' * (n_columns > 1)} of at most {np.iinfo(dtype).max}"

    def parse(lines: NDArray[np.uint8]) -> tuple[NDArray[Any], int]:
        values = np.empty((n_columns, len(lines) // (2 * n_columns) + 1), dtype)
        n_lines, bad = _core.parse_integers(lines, values)
        return values[:, :n_lines].T, bad

    for block in _blocks(member, parse, expected):
        yield block.T


def read_floats(member: Member) -> NDArray[np.float64]:
    """Read all columns of a file of numbers, shape (n_lines, n_columns), correctly rounded."""
    n_columns = n_columns_of(member)
    expected = f"{n_columns} number{'s' * (n_columns > 1)}"

    def parse(lines: NDArray[np.uint8]) -> tuple[NDArray[Any], int]:
        values = np.empty((len(lines) // (2 * n_columns) + 1, n_columns))
        n_lines, bad = _core.parse_floats(lines, values)
        return values[:n_lines].copy(), bad

    with closing(_blocks(member, parse, expected)) as parsed:
        return np.concatenate([np.empty((0, n_columns)), *parsed])


def n_columns_of(member: Member) -> int:
    start = b""
    with closing(member.chunks()) as chunks:
        for chunk in chunks:
            start += chunk
            if b"\n" in chunk or len(start) > _MAX_LINE_BYTES:
                break
    return start.split(b"\n", 1)[0].count(b",") + 1


def _blocks(
    member: Member, parse: Callable[[Any], tuple[NDArray[Any], int]], expected: str
) -> Generator[NDArray[Any], None, None]:
    # Closed in this order, so that the file is too when a reader stops early.
    with closing(member.chunks()) as chunks:
        if member.size < PREFETCH_BYTES:  # not worth a thread
            yield from _parse_chunks(member, chunks, parse, expected)
            return
        with closing(prefetch(chunks)) as ahead:
            yield from _parse_chunks(member, ahead, parse, expected)


def _bad_line(member: Member, number: int, line: bytes, expected: str) -> InvalidInputError:
    shown = line[:60].rstrip(b"\r\n")
    text = ascii(shown.decode("latin-1")) + ("..." if len(line) > 61 else "")
    return InvalidInputError(
        f"{member.name}, line {number}: expected {expected} separated by commas, got {text}"
    )


def _parse_chunks(
    member: Member, chunks: Iterable[bytes], parse: Any, expected: str
) -> Iterator[NDArray[Any]]:
    n_lines, ended = 0, False
    for lines in _whole_lines(member, chunks):
        rows, bad = parse(np.frombuffer(lines, np.uint8))
        if ended and len(rows):
            raise _bad_line(member, n_lines + 1, b"", expected)
        n_lines += len(rows)
        if bad >= 0:
            remaining = bytes(lines[bad:])
            ended = not remaining.strip()  # blank lines may end a file
            if not ended:
                raise _bad_line(member, n_lines + 1, remaining.split(b"\n", 1)[0], expected)
        yield rows


def _whole_lines(member: Member, chunks: Iterable[bytes]) -> Iterator[bytes | memoryview]:
    rest = b""
    for chunk in chunks:
        first, last = chunk.find(b"\n") + 1, chunk.rfind(b"\n") + 1
        if first:
            yield rest + chunk[:first]
            rest = b""
        if last > first:
            yield memoryview(chunk)[first:last]
        rest += chunk[last:]
        if len(rest) > _MAX_LINE_BYTES:
            raise InvalidInputError(
                f"{member.name} has a line of more than {_MAX_LINE_BYTES} bytes; "
                "it is not a text file of numbers"
            )
    if rest:
        yield rest + b"\n"


def single_column(column: str | Sequence[str] | None) -> str | None:
    if column is None or isinstance(column, str):
        return column
    raise InvalidInputError(
        f"target_column names {len(column)} columns, which are read of tables of molecules alone; "
        "give one"
    )
