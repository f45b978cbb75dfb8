"""Targets, or groups, from a file of their own: a plain list, or a table that names the graphs."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from retgk.errors import InvalidInputError, Remedy
from retgk.io.formats.graph_tables import (
    NAME_COLUMNS,
    GraphTable,
    is_table,
    most_lines,
    name_in,
    number_column,
    places_by_name,
    places_by_number,
    read_table,
    shown,
)
from retgk.io.formats.plain_numbers import is_number, whole_number
from retgk.io.formats.smiles_files import column_position, delimiter_of, typed_targets
from retgk.io.formats.text_lines import text_lines
from retgk.io.graph_dataset import GraphDataset
from retgk.runtime.near_names import name_advice
from retgk.runtime.parse_budget import ParseBudget

__all__ = ["TARGETS", "What", "texts_of_graphs", "with_targets"]

_ID_COLUMNS = ("subject", "participant", "participant_id", "subject_id", "sample", "id")
_PER_TEXT = 40  # bytes of memory, beside those that its line is charged


class What(NamedTuple):
    """What a file says of graphs: in words, the usual heading, the option that names its column."""

    name: str
    heading: str
    option: str | None = None


TARGETS = What("target", "target", "target_column")


def with_targets(
    dataset: GraphDataset, path: Path, column: str | None, max_bytes: int | None
) -> GraphDataset:
    """Give a data set with the targets of a file, see `texts_of_graphs`."""
    budget = ParseBudget.of_files(path, [path], max_bytes)
    texts = texts_of_graphs(dataset, path, column, budget, TARGETS)
    targets: NDArray[Any] = typed_targets(texts, budget)
    return replace(dataset, targets=targets)


def texts_of_graphs(
    dataset: GraphDataset, path: Path, column: str | None, budget: ParseBudget, what: What
) -> list[str]:
    """
    One text for each graph, from a file.

    A ``.csv`` or ``.tsv`` table with numbers of graphs in a column "graph", or whose cells name
    the graphs, is matched by these; names may be those of files. `column` is the one of the texts.
    Anything else has one line for each graph.
    """
    if is_table(path) and (column is not None or _has_columns(path, budget)):
        table = read_table(path, budget, dataset)
        if not table.rows:
            raise InvalidInputError(f"{path} holds no {what.name}s")
        texts = _table_texts(dataset, table, column, what)
    else:
        texts = _listed_texts(dataset, path, budget, what)
    if len(texts) != len(dataset):
        raise InvalidInputError(
            f"{path} has {len(texts)} lines for {len(dataset)} graphs; give one line for each graph"
        )
    return texts


def _has_columns(path: Path, budget: ParseBudget) -> bool:
    """Whether the first line that is not blank has several cells."""
    start = ParseBudget(path, budget.size, budget.allowed)
    first = next((line for _, line in text_lines(path, start) if line.strip()), "")
    return delimiter_of(first) in first


# Lists


def _listed_texts(dataset: GraphDataset, path: Path, budget: ParseBudget, what: What) -> list[str]:
    """One text per line; the first of a table of one column may be its name."""
    texts: list[str] = []
    most = most_lines(dataset)
    for line, text in text_lines(path, budget):
        budget.charge(_PER_TEXT, f"line {line}")
        texts.append(text.strip())
        if not texts[-1]:
            raise InvalidInputError(
                f"{path}, line {line} is empty; give a {what.name} for each graph"
            )
        if most is not None and len(texts) > most:
            raise InvalidInputError(
                f"{path} has more than {most} lines for {len(dataset)} graphs; give one line for "
                "each graph"
            )
    if is_table(path) and len(texts) > 1 and _starts_with_heading(texts, len(dataset), path, what):
        return texts[1:]
    return texts


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
    if number_at is not None:
        places = places_by_number(table, number_at, dataset, what.name)
    elif name_at is not None:
        if column is None:
            _check_heading(table, name_at, text_at, what)
        places = places_by_name(table, name_at, dataset.graph_names or (), what.name)
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
    advice = name_advice("", names)
    remedy = Remedy(what.option, f"{advice} with {what.option}=", value=advice)
    raise InvalidInputError(problem, remedy)


def _check_heading(table: GraphTable, name_at: int, text_at: int, what: What) -> None:
    """Raise if the line of column names reads like a row of a graph that there is not."""
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
    """Raise if rows have names, but none of a graph: their order is not that of the graphs."""
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
    """Whether cells number the rows in their order."""
    first = whole_number(cells[0])
    return first is not None and [whole_number(cell) for cell in cells] == list(
        range(first, first + len(cells))
    )
