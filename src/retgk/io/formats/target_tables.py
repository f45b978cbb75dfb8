"""Targets, or groups, from a file of their own: a plain list, or a table that names the graphs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from retgk.errors import InvalidInputError, Remedy
from retgk.io.formats.graph_files import bare_name
from retgk.io.formats.smiles_files import column_position, csv_rows, delimiter_of, typed_targets
from retgk.io.formats.text_lines import text_lines
from retgk.io.graph_dataset import GraphDataset
from retgk.runtime.parse_budget import ParseBudget

__all__ = ["is_table", "texts_of_graphs", "with_targets"]

_NAME_COLUMNS = ("file", "filename", "file_name", "path", "name")
_ID_COLUMNS = ("subject", "participant", "participant_id", "subject_id", "sample", "id")
_TARGET_COLUMN = "target"
_TABLES = {".csv", ".tsv"}
_MOST_SHOWN = 5
_PER_CELL = 100  # bytes of memory


class What(NamedTuple):
    """What a file says of graphs: in words, and the option that names its column."""

    name: str = "target"
    option: str = "target_column"


class _Table(NamedTuple):
    """Rows of cells with the lines they end on, and names of the columns, if there are."""

    path: Path
    columns: list[str] | None
    rows: list[tuple[int, list[str]]]
    what: "What"

    def cells(self, column: int) -> list[str]:
        return [row[column].strip() if column < len(row) else "" for _, row in self.rows]

    @property
    def width(self) -> int:
        return len(self.columns if self.columns is not None else self.rows[0][1])


def with_targets(
    dataset: GraphDataset, path: Path, column: str | None, max_bytes: int | None
) -> GraphDataset:
    """Give a data set with the targets of a file, see `texts_of_graphs`."""
    budget = ParseBudget.of_files(path, [path], max_bytes)
    texts = texts_of_graphs(dataset, path, column, budget, What())
    targets: NDArray[Any] = typed_targets(texts, budget)
    return replace(dataset, targets=targets)


def is_table(path: Path) -> bool:
    """Whether a file has columns, by its name."""
    return bool(_TABLES & {suffix.lower() for suffix in path.suffixes})


def texts_of_graphs(
    dataset: GraphDataset, path: Path, column: str | None, budget: ParseBudget, what: What
) -> list[str]:
    """
    One text for each graph, from a file.

    A ``.csv`` or ``.tsv`` table whose cells name the graphs is matched by these names, which may be
    those of files; `column` is the one of the texts. Anything else has one line for each graph.
    """
    lines = list(text_lines(path, budget))
    first = next((line for _, line in lines if line.strip()), "")
    if is_table(path) and (column is not None or delimiter_of(first) in first):
        texts = _table_texts(dataset, _table(lines, budget, dataset, what), column)
    else:
        has_header = is_table(path) and len(lines) == len(dataset) + 1
        texts = _listed_texts(lines[has_header:], path, what)
    if len(texts) != len(dataset):
        raise InvalidInputError(
            f"{path} has {len(texts)} lines for {len(dataset)} graphs; give one line for each graph"
        )
    return texts


def _listed_texts(lines: list[tuple[int, str]], path: Path, what: What) -> list[str]:
    """One text per line."""
    texts = [text.strip() for _, text in lines]
    if "" in texts:
        line = lines[texts.index("")][0]
        raise InvalidInputError(f"{path}, line {line} is empty; give a {what.name} for each graph")
    return texts


def _table(
    lines: list[tuple[int, str]], budget: ParseBudget, dataset: GraphDataset, what: What
) -> _Table:
    """Read all rows; the first has the names of columns, unless it names a graph."""
    path, names = Path(budget.source), set(dataset.graph_names or ())
    first = next((line for _, line in lines if line.strip()), "")
    rows = []
    for line, row in csv_rows(iter(lines), delimiter_of(first), budget):
        budget.charge(_PER_CELL * len(row), f"line {line}")
        if any(cell.strip() for cell in row):
            rows.append((line, row))
    has_header = bool(rows) and not any(_matches(cell, names) for cell in rows[0][1])
    columns = [cell.strip() for cell in rows[0][1]] if has_header else None
    table = _Table(path, columns, rows[has_header:], what)
    if not table.rows:
        raise InvalidInputError(f"{path} holds no {what.name}s")
    return table


def _table_texts(dataset: GraphDataset, table: _Table, column: str | None) -> list[str]:
    """Texts in the order of the graphs, or of the rows where no column names graphs."""
    if table.columns is None and column is not None:
        raise InvalidInputError(
            f"{table.path} has no line of column names, so no column {column!r}"
        )
    name_at = _name_column(table, set(dataset.graph_names or ()), column)
    texts = table.cells(_text_column(table, name_at, column))
    if "" in texts:
        line = table.rows[texts.index("")][0]
        raise InvalidInputError(f"{table.path}, line {line} has no {table.what.name}; fill it in")
    if name_at is None:
        _check_no_other_names(table, dataset.graph_names, column)
        return texts
    return _in_order_of_graphs(table, name_at, texts, dataset.graph_names or ())


def _check_no_other_names(
    table: _Table, graph_names: Sequence[str] | None, target: str | None
) -> None:
    """Raise if rows have names, but none of a graph: their order is not that of the graphs."""
    if not graph_names or table.width < 2:
        return
    for at in range(table.width):
        cells = table.cells(at)
        heading = "" if table.columns is None else table.columns[at]
        is_target = heading == (target or _TARGET_COLUMN)
        is_number = all(map(_is_number, cells)) and heading.lower() not in _ID_COLUMNS
        if is_target or is_number or len(set(cells)) < len(cells):
            continue
        raise InvalidInputError(
            f"{table.path}: no cell names a graph; those of column {heading or at + 1!r} are "
            f"{_shown(cells)}, graphs are called {_shown(list(graph_names))}; name rows as the "
            "graphs, or leave that column out to match them by their order"
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _matches(cell: str, names: set[str]) -> bool:
    return any(name in names for name in _names_in(cell))


def _names_in(cell: str) -> tuple[str, str, str]:
    """Names that a cell may give a graph: as it is, a file's, and a file's without its ending."""
    text = cell.strip()
    file = text.replace("\\", "/").rpartition("/")[2]
    return text, file, bare_name(Path(file)) if file else ""


def _name_column(table: _Table, names: set[str], target: str | None) -> int | None:
    """Find the column that names graphs: by its own name, or by names of graphs in it."""
    if table.width < 2 or not names:
        return None
    columns = table.columns or [""] * table.width
    possible = [at for at, column in enumerate(columns) if column != (target or _TARGET_COLUMN)]
    for name in _NAME_COLUMNS:
        for at in possible:
            if columns[at].lower() == name:
                return at
    for at in possible:
        cells = table.cells(at)
        if len(set(cells)) == len(cells) and any(_matches(cell, names) for cell in cells):
            return at
    return None


def _text_column(table: _Table, name_at: int | None, wanted: str | None) -> int:
    others = [at for at in range(table.width) if at != name_at]
    if wanted is not None and table.columns is not None:
        return column_position(table.columns, wanted, table.path, table.what.option)
    if len(others) == 1:
        return others[0]
    if table.columns is not None and _TARGET_COLUMN in table.columns:
        return table.columns.index(_TARGET_COLUMN)
    if table.columns is None:
        raise InvalidInputError(
            f"{table.path} has {len(others)} columns that may hold the {table.what.name}s; give it "
            "a first line of column names"
        )
    advice = f"name one of {', '.join(table.columns[at] for at in others)}"
    raise InvalidInputError(
        f"{table.path} has {len(others)} columns that may hold the {table.what.name}s",
        Remedy(table.what.option, f"{advice} with {table.what.option}=", value=advice),
    )


def _in_order_of_graphs(
    table: _Table, name_at: int, texts: list[str], graph_names: Sequence[str]
) -> list[str]:
    """Texts by the names of graphs, each of which must be there once, and no other."""
    known = set(graph_names)
    if len(known) < len(graph_names):
        twice = next(name for name in known if list(graph_names).count(name) > 1)
        raise InvalidInputError(
            f"two graphs are called {twice!r}, so {table.path} cannot name them; rename one, or "
            f"give {table.what.name}s in the order of the graphs, one per line"
        )
    text_of: dict[str, str] = {}
    unknown = []
    for (line, _), cell, text in zip(table.rows, table.cells(name_at), texts, strict=True):
        name = next((name for name in _names_in(cell) if name in known), None)
        if name is None:
            unknown.append(cell)
        elif name in text_of:
            raise InvalidInputError(f"{table.path}, line {line} names {cell!r} a second time")
        else:
            text_of[name] = text
    missing = [name for name in graph_names if name not in text_of]
    _check_all_named(table, unknown, missing)
    return [text_of[name] for name in graph_names]


def _check_all_named(table: _Table, unknown: list[str], missing: list[str]) -> None:
    problems = []
    if unknown:
        problems.append(f"names without a graph ({len(unknown)}): {_shown(unknown)}")
    if missing:
        problems.append(f"no {table.what.name} for graphs ({len(missing)}): {_shown(missing)}")
    if problems:
        raise InvalidInputError(
            f"{table.path} has {' and '.join(problems)}; give every graph one row, and no other"
        )


def _shown(names: list[str]) -> str:
    return ", ".join(map(repr, names[:_MOST_SHOWN])) + ", ..." * (len(names) > _MOST_SHOWN)
