"""
Files of edges: one graph per file, one undirected edge per line.

Lines that name the same two nodes in the same order are parallel edges, whose weights add up. An
edge may be listed in both directions, with one weight, unless `symmetrize` says what two become.
Nodes that are all called by numbers are put in that order, others stay in order of appearance.

A third column of numbers is the weight. Any others are errors, until `weight` and `edge_label` say
which columns are read, by their numbers from 1. A first line that names two columns "source" and
"target" names all columns, which are read as those of `from_dataframe` are.
"""

import math
import re
from array import array
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.files import line_blocks, text_lines
from retgk.array_types import Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, with_reading
from retgk.graphs.edges import EITHER, NEGATIVE, Negative, Symmetrize
from retgk.graphs.reading import reading_of
from retgk.io.dataframes import from_dataframe
from retgk.io.dataset import LEAVE_OUT, GraphDataset, rows_without
from retgk.io.formats import TABLES, Format, PathLike, Sample, bare_name, ending_of, write_series
from retgk.io.objects import (
    EdgeNames,
    LocalEdges,
    batch_from_local_edges,
    each_edge_once,
    plain_graph,
    with_names,
)
from retgk.io.tables import cells_of, delimiter_in, is_number, number_in, whole_number

_MOST_SHOWN = 60
_OTHER_DELIMITERS = ",;|"


def write_edge_list(graphs: GraphBatch, folder: PathLike, *, stem: str = "graph") -> list[Path]:
    """Files of edges, one graph each, in order of the graphs."""
    if graphs.has_labels or graphs.n_attributes or graphs.has_edge_labels:
        raise InvalidInputError(
            "edge lists hold neither labels nor attributes; write GraphML instead, or leave them "
            "out (without_labels(), --no-labels, and so on)"
        )
    for position, graph in enumerate(graphs):
        lonely = np.flatnonzero(np.diff(graph.indptr) == 0)
        if len(lonely):
            raise InvalidInputError(
                f"graph {position}: node {lonely[0]} has no edges, so an edge list would lose it; "
                "write GraphML instead"
            )

    def write(graph: GraphBatch, path: Path) -> None:
        path.write_text(_edge_lines(graph, graphs.is_weighted), encoding="utf-8")

    return write_series(write, graphs, folder, stem, ".edges")


def _edge_lines(graph: GraphBatch, weighted: bool) -> str:
    pairs, weights, *_ = plain_graph(graph)
    edges = [(*ends, w) for ends, w in zip(pairs, weights, strict=True)] if weighted else pairs
    return "".join(" ".join(map(repr, edge)) + "\n" for edge in edges)


class _Columns(NamedTuple):
    """Numbers of the columns that are read, from 0, beside the two nodes; None if not chosen."""

    weight: int | None
    labels: list[int]
    names: EdgeNames
    are_chosen: bool

    @classmethod
    def of(cls, weight: Any, edge_label: Any) -> "_Columns":
        names = EdgeNames.of(edge_label)
        labels = [_column_number(part, "edge_label") for part in names.parts]
        number = None if weight in (None, "weight") else _column_number(weight, "weight")
        return cls(number, labels, names, weight != "weight" or bool(labels))

    def of_line(self, others: list[str], is_first: bool) -> "_Columns":
        """What the columns after the nodes are, by the first line, where nothing says so."""
        if self.are_chosen or not others or others == [_NO_DATA]:
            return self
        if others[0].startswith("{"):
            raise InvalidInputError(
                "dictionaries of networkx are not read; write the graph as GraphML, or with "
                "nx.write_weighted_edgelist"
            )
        if not is_first:
            raise InvalidInputError(
                f"found {2 + len(others)} columns, lines before have two; {_LEAVE_OUT}"
            )
        if len(others) > 1:
            raise InvalidInputError(
                f"found {2 + len(others)} columns; say what they are by number: weight=3 and "
                f"edge_label=4, for example; {_LEAVE_OUT}"
            )
        if not is_number(others[0]):
            raise InvalidInputError(
                f"the third column {_quote(others[0])} is no number; if that line is a heading, "
                "call its first columns source and target, or remove it; edge_label=3 reads it as "
                f"labels of edges; {_LEAVE_OUT}"
            )
        return self._replace(weight=2, are_chosen=True)


_ASIDE = ("#", "%")  # what begins a comment: of SNAP and networkx, of KONECT
_NO_DATA = "{}"  # which networkx writes where edges have none
_LEAVE_OUT = "weight=None (--no-weights) leaves further columns out"


def _column_number(value: Any, option: str) -> int:
    number = whole_number(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int) or number < 3:
        raise InvalidInputError(
            f"{option} of an edge list without a heading is the number of a column, 3 or more, as "
            f"the first two are the nodes; got {value!r}"
        )
    return number - 1


@dataclass
class _Edges:
    """Edges of one file so far, between nodes numbered in order of appearance."""

    numbers: dict[str, int] = field(default_factory=dict)
    ends: "array[int]" = field(default_factory=lambda: array("q"))
    weights: "array[float]" = field(default_factory=lambda: array("d"))
    labels: list[list[str]] = field(default_factory=list)
    width: int = 2

    def add(self, cells: list[str], options: "_Options") -> None:
        source, target, *others = cells
        columns = options.columns
        used = [*columns.labels, *([] if columns.weight is None else [columns.weight])]
        if max(used, default=0) >= len(cells):
            raise InvalidInputError(f"there is no column {max(used) + 1}, only {len(cells)}")
        if columns.weight is not None:
            self.weights.append(_weight(cells[columns.weight], options.negative))
        if columns.labels:
            self.labels.append([cells[column] for column in columns.labels])
        self.ends.append(self.numbers.setdefault(source, len(self.numbers)))
        self.ends.append(self.numbers.setdefault(target, len(self.numbers)))
        self.width = max(self.width, 2 + len(others) * (others != [_NO_DATA]))

    def graph(self, path: Path, options: "_Options") -> GraphBatch:
        rank, names = self._rank(), list(self.numbers)
        ends = rank[np.array(self.ends, np.int64).reshape(-1, 2)]
        labels = options.columns.names.of_columns(
            list(zip(*self.labels, strict=True)), lambda edge: f"{path}, edge {edge}"
        )
        edges = LocalEdges(ends, np.array(self.weights) if self.weights else None, labels)
        if options.leaves_out_weights:
            edges = each_edge_once(edges, str(path))
        batch = batch_from_local_edges(
            [len(names)],
            [edges],
            negative=options.negative,
            symmetrize=options.symmetrize or EITHER,
        )
        called = [names[number] for number in np.argsort(rank).tolist()]
        return with_names(batch, called, options.negative)

    def starts_with_header(self) -> bool:
        first, others = list(self.numbers)[:2], list(self.numbers)[2:]
        return bool(others) and not any(map(_is_int, first)) and all(map(_is_int, others))

    def _rank(self) -> Ints:
        names = list(self.numbers)
        rank = np.arange(len(names))
        try:
            order = sorted(range(len(names)), key=lambda number: int(names[number]))
        except ValueError:
            return rank
        rank[order] = np.arange(len(names))
        return rank


class _Options(NamedTuple):
    delimiter: str | None
    columns: _Columns
    leaves_out_weights: bool
    negative: Negative
    symmetrize: Symmetrize

    @property
    def are_usual(self) -> bool:
        return self.delimiter is None and not self.columns.are_chosen and not self.symmetrize


def _read(
    files: list[Path],
    *,
    delimiter: str | None = None,
    skip_invalid: bool = False,
    weight: Any = "weight",
    edge_label: Any = None,
    negative: Negative = "error",
    symmetrize: Symmetrize = False,
) -> GraphDataset:
    if delimiter is not None and (not isinstance(delimiter, str) or not delimiter):
        raise InvalidInputError(
            f"delimiter must be text, or None for white space, got {delimiter!r}"
        )
    how = {"weight": weight, "edge_label": edge_label}
    how |= {"negative": negative, "symmetrize": symmetrize}
    unused: dict[str, None] = {}
    read = [
        _read_one(path, delimiter, how, unused)
        if (heading := _heading(path, delimiter)) is None
        else _graph_of_table(path, delimiter, heading, how)
        for path in files
    ]
    empty = [number for number, graph in enumerate(read) if graph is None]
    if empty and not skip_invalid:
        raise InvalidInputError(f"{files[empty[0]]} holds a graph without nodes; {LEAVE_OUT}")
    rows = rows_without(empty, len(files), files[0].parent)
    graphs = GraphBatch.concatenate([graph for graph in read if graph is not None])
    EdgeNames.of(edge_label).warn_if_unused(unused, weight)
    graphs = with_reading(graphs, reading_of("edges", {**how, "delimiter": delimiter}))
    names = [bare_name(path) for path, graph in zip(files, read, strict=True) if graph is not None]
    return GraphDataset(graphs, None, "", "", names, rows)


def _read_one(
    path: Path, delimiter: str | None, how: dict[str, Any], unused: dict[str, None]
) -> GraphBatch | None:
    columns = _Columns.of(how["weight"], how["edge_label"])
    is_plain = how["weight"] is None
    options = _Options(delimiter, columns, is_plain, how["negative"], how["symmetrize"])
    if options.are_usual and ending_of(path) != ".csv":
        numbered = numbered_graph(path)
        if numbered is not None:
            return numbered
    delimiter = delimiter or ("," if ending_of(path) == ".csv" else None)
    edges = _Edges()
    for number, text in text_lines(path):
        line = text.strip()
        if line and not line.startswith(_ASIDE):
            try:
                cells = _cells(line, delimiter)
                columns = options.columns.of_line(cells[2:], is_first=not edges.ends)
                options = options._replace(columns=columns)
                edges.add(cells, options)
            except InvalidInputError as error:
                raise InvalidInputError(f"{path}, line {number}, {_quote(line)}: {error}") from None
    if not edges.ends:
        return None
    if edges.starts_with_header():
        source, target, *_ = edges.numbers
        raise InvalidInputError(
            f"{path} starts with {_quote(source)} and {_quote(target)}, but all other nodes are "
            "numbers; if that line is a header, remove it or put a # before it"
        )
    used = {options.columns.weight, *options.columns.labels}
    unused |= {f"column {at + 1}": None for at in range(2, edges.width) if at not in used}
    try:
        return edges.graph(path, options)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {str(error).removeprefix('graph 0: ')}") from error


_SOURCES, _TARGETS = ("source", "from", "src"), ("target", "to", "dst")


def _heading(path: Path, delimiter: str | None) -> list[str] | None:
    """Names of columns, where the first line has names for the two nodes."""
    for _, text in text_lines(path):
        line = text.strip()
        if line and not line.startswith(_ASIDE):
            cells = [cell.strip() for cell in cells_of(line, delimiter or delimiter_in(line))]
            return cells if _names_ends(cells) else None
    return None


def _names_ends(cells: list[str]) -> bool:
    names = {cell.strip().lower() for cell in cells}
    return bool(names & {*_SOURCES}) and bool(names & {*_TARGETS}) and "smiles" not in names


def _graph_of_table(
    path: Path, delimiter: str | None, heading: list[str], how: dict[str, Any]
) -> GraphBatch | None:
    """Graph of a table of edges whose columns have names, read as `from_dataframe` reads tables."""
    columns: dict[str, list[Any]] = {name: [] for name in heading}
    weight = _column_name(how["weight"], heading)
    labels = how["edge_label"]
    is_heading = True
    for number, text in text_lines(path):
        line = text.strip()
        if not line or line.startswith(_ASIDE):
            continue
        if is_heading:
            delimiter, is_heading = delimiter or delimiter_in(line), False
            continue
        cells = cells_of(line, delimiter)
        if len(cells) != len(heading):
            raise InvalidInputError(
                f"{path}, line {number} has {len(cells)} columns, the first line {len(heading)}"
            )
        for name, cell in zip(heading, cells, strict=True):
            columns[name].append(_cell(cell.strip(), name == weight, f"{path}, line {number}"))
    if not columns[heading[0]]:
        return None
    by_name = {name.lower(): name for name in heading}
    source, target = (next(by_name[n] for n in own if n in by_name) for own in (_SOURCES, _TARGETS))
    several = isinstance(labels, list)
    parts = [_column_name(name, heading) for name in labels] if several else labels
    try:
        found: GraphBatch = from_dataframe(
            columns,
            graph_id=None,
            source=source,
            target=target,
            weight=weight,
            edge_label=parts if several else _column_name(labels, heading),
            negative=how["negative"],
            symmetrize=how["symmetrize"],
        )
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {str(error).removeprefix('graph 0: ')}") from error
    return found


def _column_name(column: Any, heading: list[str]) -> Any:
    """Name of a column that is given by it, or by its number from 1."""
    number = column if isinstance(column, int) else whole_number(column or "")
    named = number is not None and column not in heading and 0 < number <= len(heading)
    return heading[number - 1] if named and number is not None else column


def _cell(text: str, is_weight: bool, place: str) -> Any:
    if not is_weight:
        return text
    try:
        return number_in(text)
    except ValueError:
        raise InvalidInputError(f"{place}: the weight {_quote(text)} is no number") from None


def _is_int(name: str) -> bool:
    return whole_number(name) is not None


def _cells(line: str, delimiter: str | None) -> list[str]:
    cells = [cell.strip() for cell in line.split(delimiter)]
    for other in _OTHER_DELIMITERS if delimiter is None else "":
        # "1,2" and "1, 2" are meant as two columns; "a,b c" may be a name with a comma
        if (len(cells) < 2 and other in line) or cells[0].endswith(other):
            advice = f"pass delimiter={other!r} if they are separated by it"
            raise InvalidInputError(f"expected nodes separated by white space; {advice}")
    if len(cells) < 2 or not cells[0] or not cells[1]:
        between = "white space" if delimiter is None else repr(delimiter)
        raise InvalidInputError(f"expected two nodes separated by {between}")
    return cells


def _weight(text: str, negative: Negative) -> float:
    try:
        weight = number_in(text)
    except ValueError:
        weight = math.nan
    if not math.isfinite(weight):
        raise InvalidInputError(f"the weight {_quote(text)} must be a number, and finite")
    if weight < 0 and negative == "error":
        raise InvalidInputError(f"the weight {_quote(text)} must not be negative; {NEGATIVE}")
    return weight


def _quote(line: str) -> str:
    return ascii(line[:_MOST_SHOWN]) + "..." * (len(line) > _MOST_SHOWN)


# Plain numbers, in pieces and without an object of Python for each edge

# No zeros in front: 7 and 007 are two names. No more digits than 64 bits hold in any case.
_NUMBER = rb"(?:0|[1-9][0-9]{0,17})"
_EDGES = re.compile(rb"(?:%b[ \t]+%b\n)*" % (_NUMBER, _NUMBER))
_COMMENTS = re.compile(rb"(?:#[^\n]*\n|\n)*")
_TABLE_PER_END = 4  # a table of all numbers up to the largest is quicker than sorting, if it fits
_INT32_MAX = 2**31 - 1


def numbered_graph(path: Path) -> GraphBatch | None:
    """Read a file of two plain numbers a line quickly; None if anything else is in it."""
    pieces: list[NDArray[Any]] = []
    for block in line_blocks(path):
        start = 0 if pieces else _end_of(_COMMENTS, block, 0)
        if _end_of(_EDGES, block, start) != len(block):
            return None
        if start < len(block):
            ends = np.fromstring(block[start:].decode("ascii"), np.int64, sep=" ")
            pieces.append(ends.astype(np.int32) if ends.max() <= _INT32_MAX else ends)
    if not pieces:
        return None
    ends = np.concatenate(pieces)
    del pieces
    names, ranks = _ranks(ends)
    batch = GraphBatch.from_edges(len(names), ranks.reshape(-1, 2), symmetrize=True)
    return batch.with_node_names(names)


def _end_of(pattern: re.Pattern[bytes], text: bytes, start: int) -> int:
    found = pattern.match(text, start)
    return start if found is None else found.end()


def _ranks(ends: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """All numbers in order, and the place of every end among them."""
    largest = int(ends.max())
    if largest > _TABLE_PER_END * len(ends):
        return np.unique(ends, return_inverse=True)
    is_there = np.zeros(largest + 1, np.bool_)
    is_there[ends] = True
    rank = np.cumsum(is_there, dtype=np.int32)
    rank -= 1
    return np.flatnonzero(is_there), rank[ends]


# The format


def is_edge(line: str) -> bool:
    cells = _numbers_of(line)
    return (
        line[:1].isdecimal() and len(cells) >= 2 and cells[0].isdecimal() and cells[1].isdecimal()
    )


def are_matrix_rows(sample: Sample) -> bool:
    """Whether a table has as many lines of numbers as columns, three or more, or no edge on top."""
    lines = sample.all_lines()
    first = next(lines, "")
    cells = _numbers_of(first)
    if len(cells) < 3 or not all(map(is_number, cells)):
        return False
    if not is_edge(first):
        return True
    rows = [cells, *map(_numbers_of, islice(lines, len(cells)))]
    if len(rows) != len(cells):
        return False
    return len(cells) > 3 or rows == [list(column) for column in zip(*rows, strict=False)]


def _numbers_of(line: str) -> list[str]:
    return line.replace(",", " ").replace(";", " ").split()


def _sniff(sample: Sample) -> bool:
    if sample.is_table and not sample.names_columns and sample.lines:
        line = sample.lines[0]
        if _names_ends(cells_of(line, delimiter_in(line))):
            return True
    if not sample.lines or not is_edge(sample.lines[0]):
        return False
    return ending_of(sample.path) not in TABLES or not are_matrix_rows(sample)


EDGES = Format(
    name="edges",
    endings=(".edges", ".edgelist", ".el", *TABLES),
    read=_read,
    options=("delimiter", "skip_invalid", "weight", "edge_label", "negative", "symmetrize"),
    sniff=_sniff,
    write=lambda dataset, folder: write_edge_list(dataset.graphs, folder),
    writes_folder=True,
    memory_factor=32,
    in_folder=((".edges", ".edgelist", ".el"),),
)
