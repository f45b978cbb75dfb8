"""Colours of nodes after rounds of Weisfeiler and Leman's refinement, with a fitted vocabulary."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk.array_types import Codes, Ints
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.graphs.labels import recode
from retgk.graphs.ragged import BLOCK_ENTRIES, chunks, compact, offsets
from retgk.runtime.parallel import run_tasks

__all__ = [
    "MAX_ROUNDS",
    "LabelRefinement",
    "NeighbourhoodTable",
    "Rows",
    "check_edges_alike",
    "check_rounds",
    "known_edge_codes",
]

EDGE_BITS = _core.EDGE_BITS
"""Bits of an entry of a row that hold the edge label; the others hold the colour."""

_EDGE_MASK = (1 << EDGE_BITS) - 1

MAX_ROUNDS = 64
"""Rounds that may be asked for, here and by the kernels that refine labels."""


def check_rounds(depth: Any) -> None:
    """Raise unless this is a number of rounds that may be asked for."""
    is_whole = isinstance(depth, int | np.integer) and not isinstance(depth, bool)
    if not is_whole or not 0 <= depth <= MAX_ROUNDS:
        raise InvalidInputError(
            f"depth must be a whole number between 0 and {MAX_ROUNDS}, got {depth!r}"
        )


class Rows(NamedTuple):
    """Rows of many nodes, one after the other."""

    own: Ints
    """Own colour, shape (n_rows,)."""
    ptr: Ints
    """First entry of every row, shape (n_rows + 1,)."""
    entries: Ints
    """Colours of the neighbours and labels of the edges to them, in order in each row."""

    @classmethod
    def none(cls) -> "Rows":
        """No rows at all."""
        return cls(np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.int64))

    def at(self, places: Ints) -> "Rows":
        """Some of the rows."""
        ptr = offsets(self.ptr[places + 1] - self.ptr[places])
        entries = np.empty(ptr[-1], np.int64)
        _core.copy_entries(self.ptr, self.entries, places, entries)
        return Rows(self.own[places], ptr, entries)


@dataclass(frozen=True, eq=False)
class NeighbourhoodTable:
    """
    Neighbourhoods that were seen in one round, in the order of the colours that they stand for.

    There may be as many as nodes, and they are kept for new graphs alone: they take the fewest
    bytes, and are made `Rows` when they are needed.

    Attributes
    ----------
    own : ndarray of int32 or int64, shape (n_colours,)
        Own colour of every row.
    ptr : ndarray of int32 or int64, shape (n_colours + 1,)
        First entry of every row.
    entries : ndarray of int32 or int64
        Entries of the rows; colours alone, if no edge has a label.
    has_edges : bool
        Whether labels of edges are in the entries.
    """

    own: NDArray[Any]
    ptr: NDArray[Any]
    entries: NDArray[Any]
    has_edges: bool

    def __len__(self) -> int:
        return len(self.own)

    @classmethod
    def of_rows(cls, rows: Rows, has_edges: bool) -> "NeighbourhoodTable":
        """Keep rows, one for each colour."""
        entries = rows.entries if has_edges else rows.entries >> EDGE_BITS
        return cls(compact(rows.own), compact(rows.ptr), compact(entries), has_edges)

    @property
    def rows(self) -> Rows:
        """The rows, one for each colour."""
        own, ptr, entries = (part.astype(np.int64) for part in (self.own, self.ptr, self.entries))
        return Rows(own, ptr, entries if self.has_edges else entries << EDGE_BITS)

    @classmethod
    def checked(cls, own: Ints, ptr: Ints, entries: Ints, n_colours: int) -> "NeighbourhoodTable":
        """Table of rows from a file; ValueError unless they are rows of so many colours."""
        if ptr[0] != 0 or ptr[-1] != len(entries) or (np.diff(ptr) < 0).any():
            raise ValueError("the first entries of rows do not rise from 0 to their number")
        for what, colours in (("own", own), ("neighbouring", entries >> EDGE_BITS)):
            if len(colours) and not 0 <= colours.min() <= colours.max() < n_colours:
                raise ValueError(f"{what} colours are not among {n_colours}")
        return cls.of_rows(Rows(own, ptr, entries), bool((entries & _EDGE_MASK).any()))

    @classmethod
    def empty(cls) -> "NeighbourhoodTable":
        """Without any neighbourhood."""
        return cls.of_rows(Rows.none(), has_edges=False)


@dataclass
class LabelRefinement:
    """
    Colours after 0, 1, .., depth rounds of refinement.

    In each round the colour of a node becomes its own colour together with the colours of its
    neighbours and the labels of the edges to them. New graphs get the colours of the fitted ones;
    a neighbourhood that none of them has gets a colour after all of these, the same for all nodes
    of the call that have it.

    Parameters
    ----------
    depth : int
        Number of rounds.
    """

    depth: int
    tables: list[NeighbourhoodTable] = field(default_factory=list)
    """One for each round, set by `fit`."""
    edge_names: tuple[Hashable, ...] = ()
    """Labels of edges of the fitted graphs."""

    def fit(self, batch: GraphBatch, start: Codes, n_jobs: int | None = None) -> list[Ints]:
        """Collect the neighbourhoods of graphs whose first colours are given, and colour these."""
        self.tables = []
        self.edge_names = batch.edge_label_names
        if len(self.edge_names) >> EDGE_BITS:
            raise InvalidInputError(
                f"there are {len(self.edge_names)} labels of edges; refinement takes up to "
                f"{(1 << EDGE_BITS) - 1}"
            )
        colours = [start.astype(np.int64)]
        entries = np.empty(len(batch.indices), np.int64)
        for _ in range(self.depth):
            none = NeighbourhoodTable.empty()
            found, table = _refined(batch, colours[-1], batch.edge_labels, none, entries, n_jobs)
            colours.append(found)
            self.tables.append(table)
        return colours

    def colours(self, batch: GraphBatch, start: Codes, n_jobs: int | None = None) -> list[Ints]:
        """Colour graphs by the neighbourhoods of the fitted ones."""
        colours = [start.astype(np.int64)]
        edges = self._edge_codes(batch)
        entries = np.empty(len(batch.indices), np.int64)
        for table in self.tables:
            colours.append(_refined(batch, colours[-1], edges, table, entries, n_jobs)[0])
        return colours

    def _edge_codes(self, batch: GraphBatch) -> Codes:
        """Labels of edges in the vocabulary of the fitted graphs, continued by others."""
        if not any(len(table.entries) for table in self.tables):
            return batch.edge_labels  # without any edge on one side, none can agree
        return known_edge_codes(batch, self.edge_names)


def known_edge_codes(batch: GraphBatch, names: tuple[Hashable, ...]) -> Codes:
    """Labels of edges in the vocabulary of the fitted graphs, continued by others."""
    if batch.edge_label_names == names or not len(batch.indices):
        return batch.edge_labels
    check_edges_alike(batch.has_edge_labels, bool(names))
    known = set(names)
    unseen = [name for name in batch.edge_label_names if name not in known]
    return recode(batch.edge_labels, batch.edge_label_names, [*names, *unseen])


def check_edges_alike(graphs_have: bool, fitted_have: bool) -> None:
    """Raise unless the edges of graphs have labels if and only if those of the fitted ones do."""
    if graphs_have != fitted_have:
        given = "have labels" if graphs_have else "have no labels"
        raise InvalidInputError(
            f"the edges of the graphs {given}, those of the fitted ones "
            f"{'have some' if fitted_have else 'have none'}",
            Remedy("edge_labels", "give all graphs labels of edges, or none"),
        )


def _refined(
    batch: GraphBatch,
    colours: Ints,
    edges: Codes,
    known: NeighbourhoodTable,
    entries: Ints,
    n_jobs: int | None,
) -> tuple[Ints, NeighbourhoodTable]:
    """
    Colours after one round more, and the neighbourhoods that were not known.

    `entries` has room for all neighbours, and is written over: new memory in each round would take
    the system about as long as the rows themselves.
    """
    hashes = np.empty(batch.n_nodes, np.uint64)
    edge_codes = edges if batch.has_edge_labels else np.empty(0, np.int32)
    ranges = list(chunks(batch.indptr[batch.node_ptr], BLOCK_ENTRIES, 1 << 14))
    arrays = (batch.node_ptr, batch.indptr, batch.indices)

    def work(first: int, last: int) -> None:
        _core.fill_rows(first, last, *arrays, colours, edge_codes, entries, hashes)

    costs = [float(batch.node_ptr[last] - batch.node_ptr[first]) for first, last in ranges]
    run_tasks(work, ranges, costs, n_jobs, "neighbourhoods")
    rows = Rows(colours, batch.indptr, entries)
    numbers, firsts = np.empty(batch.n_nodes, np.int64), np.empty(batch.n_nodes, np.int64)
    n_new = _core.number_rows(*known.rows, *rows, hashes, numbers, firsts)
    return numbers, NeighbourhoodTable.of_rows(rows.at(firsts[:n_new]), batch.has_edge_labels)
