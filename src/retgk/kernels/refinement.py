"""Colours of nodes after rounds of Weisfeiler and Leman's refinement, with a fitted vocabulary."""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from enum import Enum
from numbers import Complex, Number
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk._runtime.fields import check_codes, check_names, check_offsets, check_shape, stored
from retgk._runtime.parameters import DEPTH, START, check_parameters
from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, check_alike, warn_of_unknown_labels
from retgk.graphs.flat import (
    BLOCK_ENTRIES,
    compact,
    gather_runs,
    offsets,
    plain_label,
    recode,
    run_over_runs,
)
from retgk.io.convert import GraphsLike, as_batch

EDGE_BITS = _core.EDGE_BITS
"""Bits of an entry of a row that hold the edge label; the others hold the colour."""

_EDGE_MASK = (1 << EDGE_BITS) - 1


class Rows(NamedTuple):
    """Rows of many nodes, one after the other."""

    own: Ints  # own colour, shape (n_rows,)
    ptr: Ints  # first entry of every row, shape (n_rows + 1,)
    entries: Ints  # colours of the neighbours and labels of the edges to them, in order in each row

    def at(self, places: Ints) -> "Rows":
        ptr = offsets(self.ptr[places + 1] - self.ptr[places])
        entries = np.empty(ptr[-1], np.int64)
        _core.copy_entries(self.ptr, self.entries, places, entries)
        return Rows(self.own[places], ptr, entries)


@stored
@dataclass(frozen=True, eq=False)
class NeighbourhoodTable:
    """
    Neighbourhoods that were seen in one round, in the order of the colours that they stand for.

    There may be as many as nodes, and they are kept for new graphs alone: they take the fewest
    bytes, and are made `Rows` when they are needed.
    """

    own: NDArray[Any]  # (n_colours,): own colour of every row
    ptr: NDArray[Any]  # (n_colours + 1,): first entry of every row
    entries: NDArray[Any]  # entries of the rows; colours alone, if no edge has a label
    has_edges: bool  # whether labels of edges are in the entries

    def __len__(self) -> int:
        return len(self.own)

    @classmethod
    def of_rows(cls, rows: Rows, has_edges: bool) -> "NeighbourhoodTable":
        entries = rows.entries if has_edges else rows.entries >> EDGE_BITS
        return cls(compact(rows.own), compact(rows.ptr), compact(entries), has_edges)

    @property
    def rows(self) -> Rows:
        own, ptr, entries = (part.astype(np.int64) for part in (self.own, self.ptr, self.entries))
        return Rows(own, ptr, entries if self.has_edges else entries << EDGE_BITS)

    def check(self, n_colours: int) -> None:
        check_shape("own", self.own, None)
        check_shape("entries", self.entries, None)
        check_offsets("ptr", self.ptr, len(self.own), len(self.entries))
        check_codes("own", self.own, n_colours)
        check_codes("entries", self.entries >> EDGE_BITS * self.has_edges, n_colours)


@stored
@dataclass
class LabelRefinement:
    """
    Colours after 0, 1, .., depth rounds of refinement.

    In each round the colour of a node becomes its own colour together with the colours of its
    neighbours and the labels of the edges to them. New graphs get the colours of the fitted ones;
    a neighbourhood that none of them has gets a colour after all of these, the same for all nodes
    of the call that have it.
    """

    depth: int  # number of rounds
    n_labels: int = 0  # first colours of the fitted graphs
    tables: list[NeighbourhoodTable] = field(default_factory=list)
    """One for each round, set by `fit`."""
    edge_names: tuple[Hashable, ...] = ()  # labels of edges of the fitted graphs

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
            found, table = _refined(batch, colours[-1], batch.edge_labels, None, entries, n_jobs)
            colours.append(found)
            self.tables.append(table)
        return colours

    def colours(self, batch: GraphBatch, start: Codes, n_jobs: int | None = None) -> list[Ints]:
        colours = [start.astype(np.int64)]
        edges = self._edge_codes(batch)
        entries = np.empty(len(batch.indices), np.int64)
        for table in self.tables:
            colours.append(_refined(batch, colours[-1], edges, table, entries, n_jobs)[0])
        return colours

    def _edge_codes(self, batch: GraphBatch) -> Codes:
        if not any(len(table.entries) for table in self.tables):
            return batch.edge_labels  # without any edge on one side, none can agree
        return known_edge_codes(batch, self.edge_names)

    @property
    def n_known(self) -> tuple[int, ...]:
        """Number of colours of the fitted graphs, round by round."""
        return (self.n_labels, *map(len, self.tables))

    def after_loading(self) -> None:
        if self.n_labels < 0 or len(self.tables) != self.depth:
            raise InvalidInputError(
                f"there are colours of {len(self.tables)} rounds, not {self.depth}"
            )
        check_names("edge_names", self.edge_names)
        for before, table in zip(self.n_known, self.tables, strict=False):
            table.check(before)


def known_edge_codes(batch: GraphBatch, names: tuple[Hashable, ...]) -> Codes:
    """Labels of edges in the vocabulary of the fitted graphs, continued by others."""
    if batch.edge_label_names == names or not len(batch.indices):
        return batch.edge_labels
    check_edges_alike(batch.has_edge_labels, bool(names))
    known = set(names)
    unseen = [name for name in batch.edge_label_names if name not in known]
    return recode(batch.edge_labels, batch.edge_label_names, [*names, *unseen])


def check_edges_alike(graphs_have: bool, fitted_have: bool) -> None:
    if graphs_have != fitted_have:
        given = "have labels" if graphs_have else "have no labels"
        raise InvalidInputError(
            f"the edges of the graphs {given}, those of the fitted ones "
            f"{'have some' if fitted_have else 'have none'}; give all graphs labels of edges "
            "(edge_label=, bond_types=True), or none (without_edge_labels(), --no-edge-labels)"
        )


def _refined(
    batch: GraphBatch,
    colours: Ints,
    edges: Codes,
    known: NeighbourhoodTable | None,
    entries: Ints,
    n_jobs: int | None,
) -> tuple[Ints, NeighbourhoodTable]:
    """Colours after one round more, and new neighbourhoods; `entries` is written over."""
    hashes = np.empty(batch.n_nodes, np.uint64)
    edge_codes = edges if batch.has_edge_labels else np.empty(0, np.int32)
    arrays = (batch.node_ptr, batch.indptr, batch.indices)

    def work(first: int, last: int) -> None:
        _core.fill_rows(first, last, *arrays, colours, edge_codes, entries, hashes)

    _run_over_graphs(work, batch, n_jobs)
    rows = Rows(colours, batch.indptr, entries)
    numbers, firsts = np.empty(batch.n_nodes, np.int64), np.empty(batch.n_nodes, np.int64)
    nothing = np.empty(0, np.int64)
    before = Rows(nothing, np.zeros(1, np.int64), nothing) if known is None else known.rows
    n_new = _core.number_rows(*before, *rows, hashes, numbers, firsts)
    return numbers, NeighbourhoodTable.of_rows(rows.at(firsts[:n_new]), batch.has_edge_labels)


def _run_over_graphs(
    work: Callable[[int, int], None], batch: GraphBatch, n_jobs: int | None
) -> None:
    ptr = batch.indptr[batch.node_ptr] + batch.node_ptr
    run_over_runs(work, ptr, BLOCK_ENTRIES, n_jobs, "neighbourhoods", 1 << 14)


# Colours of nodes before the first round: labels, degrees or one for all, with a vocabulary.

Start = Literal["labels", "degrees", "none"]
"""What tells nodes apart before the first round."""


@stored
@dataclass
class FirstColours:
    """Numbers of first colours, in the order in which the fitted graphs show them."""

    start: Start
    """Labels (one for all nodes, if there are none), numbers of neighbours, or one for all."""
    names: tuple[Hashable, ...] = ()
    """What the colours of the fitted graphs stand for, set by `fit`."""
    has_labels: bool = False  # whether the fitted graphs have labels, set by `fit`

    def fit(self, batch: GraphBatch) -> Codes:
        codes, known = _numbered(_values(batch, self.start), {})
        self.names, self.has_labels = tuple(known), batch.has_labels
        return codes

    def after_loading(self) -> None:
        check_names("names", self.names)

    def colours(self, batch: GraphBatch, warns: bool = False) -> Codes:
        """Colours of new graphs, unknown ones last; labels have to be alike if they matter."""
        if self.start == "labels":
            check_alike(batch, self.has_labels, batch.n_attributes)
            if warns:
                warn_of_unknown_labels(batch.label_names, self.names)
        known = {name: number for number, name in enumerate(self.names)}
        return _numbered(_values(batch, self.start), known)[0]


def _values(batch: GraphBatch, start: str) -> tuple[Ints, list[Any]]:
    """Codes of the first colours, and what they stand for."""
    check_parameters(START, {"start": start})
    if start == "degrees":
        values, codes = np.unique(np.diff(batch.indptr), return_inverse=True)
        return codes.astype(np.int64), values.tolist()
    if start == "none" or not batch.has_labels:
        return np.zeros(batch.n_nodes, np.int64), [None]
    return batch.labels.astype(np.int64), list(batch.label_names)


def _numbered(
    colours: tuple[Ints, list[Any]], numbers: dict[Any, int]
) -> tuple[Codes, dict[Any, int]]:
    """Number colours that have no number yet in order of appearance."""
    codes, names = colours
    used, first = np.unique(codes, return_index=True)
    known = dict(numbers)
    table = np.zeros(len(names), np.int32)
    for code in used[np.argsort(first)]:
        table[code] = known.setdefault(names[code], len(known))
    return table[codes], known


# Keys of labels and of refined labels: 64 random bits for each, the same in every process.
#
# A key stands for a label where no vocabulary is kept, in vectors of fixed width. Keys of colours
# are made of those of the neighbourhood, so that graphs that were never seen have theirs too. Two
# different ones share a key with probability 2^-64 a pair.

Keys = NDArray[np.uint64]

_DECIMAL_BITS = 1 << 11


def keys_of_names(names: Sequence[Hashable], seed: int) -> Keys:
    """A key for each label: the same for equal labels, such as 1 and 1.0, and for no others."""
    secret = int(seed).to_bytes(8, "little")
    digests = (
        hashlib.blake2b(_bytes(plain_label(name)), digest_size=8, key=secret).digest()
        for name in names
    )
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def _bytes(label: Any) -> bytes:
    """
    Write a label such that equal ones have equal bytes, in every process, and others do not.

    How the bytes begin says what the label is. No `repr` takes part: it tells equal numbers of
    two types apart, and what it escapes in a text depends on the version of Python.
    """
    for kind, write in _WRITERS:
        if isinstance(label, kind):
            return write(label)
    raise InvalidInputError(
        f"the label {label!r:.80} is of type {type(label).__name__}, of which no key is known that "
        "is the same in every process; use numbers, text or tuples of these as labels"
    )


def _listed(items: Iterable[bytes]) -> bytes:
    """Join items, each after its length, so that no two lists have the same bytes."""
    return b"".join(b"%d:%b" % (len(item), item) for item in items)


def _number(value: Any) -> str:
    """Write the value of a number, whatever its type: all digits of a fraction in lowest terms."""
    if isinstance(value, Complex) and value.imag:
        return f"j{_number(value.real)},{_number(value.imag)}"
    value = value.real
    try:
        ratio = value.as_integer_ratio()
    except OverflowError:
        return "inf" if value > 0 else "-inf"
    # hexadecimal from where Python refuses to write so many decimals
    top, bottom = (str(n) if n.bit_length() < _DECIMAL_BITS else hex(n) for n in ratio)
    return top if ratio[1] == 1 else f"{top}/{bottom}"


def _member(label: Enum) -> str:
    return f"<{type(label).__module__}.{type(label).__qualname__}.{label.name}>"


def _moment(label: datetime) -> str:
    return f"t{label.astimezone(UTC) if label.tzinfo else label}"


_WRITERS: tuple[tuple[type, Callable[[Any], bytes]], ...] = (
    (type(None), lambda _: b"None"),
    (str, lambda text: b"'" + text.encode("utf-8", "surrogatepass") + b"'"),
    (bytes, lambda label: b"b'" + label + b"'"),
    (Number, lambda number: _number(number).encode()),
    (tuple, lambda parts: b"(" + _listed(map(_bytes, parts)) + b")"),
    (frozenset, lambda parts: b"{" + _listed(sorted(map(_bytes, parts))) + b"}"),
    (Enum, lambda label: _member(label).encode()),
    (datetime, lambda label: _moment(label).encode()),
    (date, lambda label: f"d{label}".encode()),
)


def colour_keys(
    batch: GraphBatch, labels: Keys, depth: int, seed: int, n_jobs: int | None
) -> list[Keys]:
    """Keys of nodes after 0, 1, .., depth rounds of refinement that begin with those of labels."""
    arrays: tuple[Ints, Ints, Any] = (batch.node_ptr, batch.indptr, batch.indices)
    edge_keys = np.empty(0, np.uint64)
    if batch.has_edge_labels:
        edge_keys = keys_of_names(batch.edge_label_names, seed)[batch.edge_labels]
    found = [labels]
    for _ in range(depth):
        before, after = found[-1], np.empty(batch.n_nodes, np.uint64)

        def work(first: int, last: int, before: Keys = before, after: Keys = after) -> None:
            _core.fill_keys(first, last, *arrays, before, edge_keys, after)

        _run_over_graphs(work, batch, n_jobs)
        found.append(after)
    return found


# `refined_labels`: what nodes and their neighbourhoods look like, as numbers.


def refined_labels(
    graphs: GraphsLike,
    depth: int = 3,
    *,
    like: GraphsLike | None = None,
    start: Start = "labels",
    n_jobs: int | None = None,
) -> Ints:
    """
    Colours of nodes after 0, 1, .., depth rounds of Weisfeiler and Leman's refinement.

    Two nodes have the same colour after h rounds if and only if what can be seen of their graphs
    from them within h steps (as a tree) is the same: labels of nodes and of edges, and numbers of
    neighbours. Neighbourhoods are told apart by all that is in them, not by a hash of it.

    Parameters
    ----------
    graphs : GraphBatch or anything that `as_batch` takes
        Graphs to be coloured.
    depth : int, default=3
        Number of rounds, up to 64.
    like : GraphBatch or anything that `as_batch` takes, optional
        Graphs whose colours these get where they have the same ones; a neighbourhood that is not
        among them has a larger number than all of theirs. By default the graphs themselves.
    start : {"labels", "degrees", "none"}, default="labels"
        Colours before the first round: labels (one for all nodes, if there are none), numbers of
        neighbours, or one for all.
    n_jobs : int, optional
        Threads; None for all cores. It changes no result.

    Returns
    -------
    ndarray of int64, shape (n_nodes, depth + 1)
        Colours of every node, the first column before any round. Each column counts from 0, in
        order of appearance.

    Examples
    --------
    >>> path = np.diag([1, 1, 1], 1) + np.diag([1, 1, 1], -1)
    >>> refined_labels(path, 2)
    array([[0, 0, 0],
           [0, 1, 1],
           [0, 1, 1],
           [0, 0, 0]])
    """
    check_parameters(DEPTH, {"depth": depth})
    batch = as_batch(graphs)
    refinement, first = LabelRefinement(int(depth)), FirstColours(start)
    if like is None:
        return np.stack(refinement.fit(batch, first.fit(batch), n_jobs), axis=1)
    fitted = as_batch(like)
    refinement.fit(fitted, first.fit(fitted), n_jobs)
    return np.stack(refinement.colours(batch, first.colours(batch), n_jobs), axis=1)


# Labels refined by neighbourhoods as levels of one label domain, fitted and applied.


@stored
@dataclass(frozen=True, eq=False)
class Levels:
    """
    Colours of nodes after rounds of refinement, which join the label as further levels.

    The factor of the node kernel is ``sum_h weights[h] [c_h = c'_h]`` over all levels h, of which
    the label is the first.
    """

    colours: tuple[Codes, ...]  # (n_nodes,): colours after one round, two rounds and so on
    n_known: tuple[int, ...]
    """How many colours the fitted graphs have at each level, the label first. Larger ones are of
    new graphs alone."""
    weights: Floats  # (n_levels,): they add up to one

    def of_nodes(self, starts: Ints, sizes: Ints) -> "Levels":
        colours = tuple(gather_runs(own, starts, sizes) for own in self.colours)
        return Levels(colours, self.n_known, self.weights)


@stored
@dataclass
class LabelLevels:
    """Refinement to a depth, with the neighbourhoods of the fitted graphs."""

    depth: int = 0  # rounds of refinement; 0 for plain labels
    level_weights: Sequence[float] | None = None
    """Weight of each level, labels first; equal ones by default. They are made to add up to one."""
    refinement: LabelRefinement = field(default_factory=lambda: LabelRefinement(0))

    def fit(
        self, batch: GraphBatch, labels: Codes, n_labels: int, n_jobs: int | None
    ) -> Levels | None:
        self.refinement = LabelRefinement(self.depth, n_labels)
        if self.depth == 0:
            return None
        return self._levels(self.refinement.fit(batch, labels, n_jobs))

    def of(self, batch: GraphBatch, labels: Codes, n_jobs: int | None) -> Levels | None:
        if self.depth == 0:
            return None
        return self._levels(self.refinement.colours(batch, labels, n_jobs))

    def _levels(self, colours: list[Ints]) -> Levels:
        deeper = tuple(own.astype(np.int32) for own in colours[1:])
        return Levels(deeper, self.refinement.n_known, self.weights)

    @property
    def weights(self) -> Floats:
        given = np.ones(self.depth + 1) if self.level_weights is None else self.level_weights
        weights = np.asarray(given, np.float64)
        return np.asarray(weights / weights.sum())

    def at_depth(self, depth: int) -> "LabelLevels":
        """Give the same with fewer rounds, and all levels of the same weight."""
        tables = self.refinement.tables[:depth]
        return LabelLevels(depth, None, replace(self.refinement, depth=depth, tables=tables))

    def after_loading(self) -> None:
        check_depth(self.depth, self.level_weights)
        if self.refinement.depth != self.depth:
            raise InvalidInputError(f"colours are of {self.refinement.depth} rounds")


def check_depth(depth: Any, level_weights: Any) -> None:
    check_parameters(DEPTH, {"depth": depth})
    if level_weights is None:
        return
    weights = np.asarray(level_weights, np.float64)
    if weights.shape != (depth + 1,) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise InvalidInputError(
            f"level_weights must be {depth + 1} numbers that are not negative, one for each level "
            f"from 0 to depth={depth}, got {level_weights!r}"
        )
    if weights.sum() == 0:
        raise InvalidInputError("level_weights are all zero; give one level a weight")
