"""Rows of an index: vectors, ids and kept graphs in pieces, and graphs of neighbours over runs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.parallel import n_threads, progress_bar
from retgk.array_types import Flags, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, with_reading
from retgk.graphs.reading import Reading
from retgk.search.vectors import (
    NeighbourGraph,
    VectorCodec,
    best_candidates,
    scan,
    squared_distances,
    write_graph,
)

# Ids of graphs: whole numbers or texts, each once, in flat arrays

IdKind = Literal["int", "str"]
_ODD = np.uint64(0x9E3779B97F4A7C15)


class Ids:
    """Ids of consecutive rows: "values" (int64), or "text" (UTF-8 bytes) and "offsets" of texts."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.arrays = arrays

    @property
    def kind(self) -> IdKind:
        return "int" if "values" in self.arrays else "str"

    def __len__(self) -> int:
        if self.kind == "int":
            return len(self.arrays["values"])
        return len(self.arrays["offsets"]) - 1

    @cached_property
    def keys(self) -> NDArray[Any]:
        """Number for each id, by which it is looked up; two texts may share one."""
        if self.kind == "int":
            return self.arrays["values"]
        text, offsets = self.arrays["text"], self.arrays["offsets"]
        starts, lengths = offsets[:-1], np.diff(offsets)
        places = np.arange(len(text)) - np.repeat(starts, lengths)
        with np.errstate(over="ignore"):
            factors = np.cumprod(np.full(int(lengths.max(initial=0)) + 1, _ODD))
            sums = np.append(np.uint64(0), np.cumsum((text + np.uint64(1)) * factors[places]))
            return np.asarray(sums[offsets[1:]] - sums[starts])

    def taken(self, positions: Ints) -> NDArray[Any]:
        if self.kind == "int":
            return np.asarray(self.arrays["values"][positions])
        text, offsets = self.arrays["text"], self.arrays["offsets"]
        found = np.empty(len(positions), object)
        for place, at in enumerate(positions):
            found[place] = text[offsets[at] : offsets[at + 1]].tobytes().decode()
        return found

    def part(self, start: int, stop: int) -> "Ids":
        if self.kind == "int":
            return Ids({"values": self.arrays["values"][start:stop]})
        offsets = self.arrays["offsets"][start : stop + 1]
        text = self.arrays["text"][offsets[0] : offsets[-1]]
        return Ids({"text": text, "offsets": offsets - offsets[0]})

    @classmethod
    def joined(cls, parts: Sequence["Ids"]) -> "Ids":
        if parts[0].kind == "int":
            return cls({"values": np.concatenate([part.arrays["values"] for part in parts])})
        lengths = [np.diff(part.arrays["offsets"]) for part in parts]
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
        return cls(
            {"text": np.concatenate([part.arrays["text"] for part in parts]), "offsets": offsets}
        )


def checked_ids(ids: Any, n_graphs: int, first: int, kind: IdKind | None) -> Ids:
    """Ids for new graphs, one each; by default numbers of rows from `first` on."""
    if ids is None:
        if kind == "str":
            raise InvalidInputError("the ids of this index are texts; give ids= for new graphs too")
        return Ids({"values": np.arange(first, first + n_graphs, dtype=np.int64)})
    found = given_ids(ids, kind)
    if len(found) != n_graphs:
        raise InvalidInputError(f"there are {n_graphs} graphs but {len(found)} ids; give one each")
    return found


def given_ids(ids: Any, kind: IdKind | None) -> Ids:
    """One or several ids of a caller: all of the `kind` of the index, each once."""
    found = _ids_of([ids] if is_id(ids) else ids)
    if len(found) and kind not in (None, found.kind):
        words = {"int": "whole numbers", "str": "texts"}
        raise InvalidInputError(
            f"the ids of this index are {words[kind]}, not {words[found.kind]}; give ids of one "
            "kind"
        )
    if (position := first_repeated(found)) is not None:
        (name,) = found.taken(np.array([position]))
        raise InvalidInputError(f"the id {name!r} is given twice; give every graph its own")
    return found


def _ids_of(ids: Any) -> Ids:
    values = _listed(ids)
    if all(isinstance(value, str) for value in values):
        return _texts(values)
    for position, value in enumerate(values):
        if isinstance(value, str) or not is_id(value):
            raise InvalidInputError(
                f"id {position} is {value!r:.80}; ids are all whole numbers or all text"
            )
    try:
        return Ids({"values": np.array([int(value) for value in values], np.int64)})
    except OverflowError as error:
        raise InvalidInputError("an id has more than 64 bits; give it as text") from error


def is_id(value: object) -> bool:
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


def _listed(ids: Any) -> list[Any]:
    """Give several ids as a list; bytes would be taken for numbers."""
    is_one = isinstance(ids, bytes | bytearray | memoryview) or not isinstance(ids, Iterable)
    if is_one or (isinstance(ids, np.ndarray) and ids.ndim != 1):
        raise InvalidInputError(
            f"ids are given as {ids!r:.80}; give a list of whole numbers or of texts"
        )
    return ids.tolist() if isinstance(ids, np.ndarray) else list(ids)


def _texts(values: list[str]) -> Ids:
    try:
        coded = [value.encode() for value in values]
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"the id {error.object!r:.80} is no valid text") from error
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in coded])]).astype(np.int64)
    return Ids({"text": np.frombuffer(b"".join(coded), np.uint8), "offsets": offsets})


def first_repeated(ids: Ids) -> int | None:
    if len(np.unique(ids.keys)) == len(ids):
        return None
    seen: set[Any] = set()
    for position, value in enumerate(ids.taken(np.arange(len(ids))).tolist()):
        if value in seen:
            return position
        seen.add(value)
    return None


def rows_of_ids(wanted: Ids, ids: Ids, first: int) -> Ints:
    """Row of every wanted id among ids whose rows begin at `first`; -1 where there is none."""
    rows = np.full(len(wanted), -1, np.int64)
    if ids.kind != wanted.kind:
        return rows
    places = np.flatnonzero(np.isin(ids.keys, wanted.keys))
    if len(places):
        asked = wanted.taken(np.arange(len(wanted))).tolist()
        known = dict(zip(ids.taken(places).tolist(), places, strict=True))
        for position, name in enumerate(asked):
            rows[position] = first + known[name] if name in known else -1
    return rows


def ids_from_arrays(arrays: dict[str, NDArray[Any]], n_rows: int, where: str) -> Ids:
    """Ids of a stored piece, checked: a stranger may have written them."""
    if set(arrays) == {"values"}:
        values = arrays["values"]
        if values.dtype != np.int64 or values.shape != (n_rows,):
            raise InvalidInputError(f"{where}: the ids are not {n_rows} numbers")
        return Ids(arrays)
    if set(arrays) != {"text", "offsets"}:
        raise InvalidInputError(f"{where}: there are no ids")
    text, offsets = arrays["text"], arrays["offsets"]
    fits = text.dtype == np.uint8 and text.ndim == 1
    fits = fits and offsets.dtype == np.int64 and offsets.shape == (n_rows + 1,)
    if not fits or offsets[0] != 0 or offsets[-1] != len(text) or (np.diff(offsets) < 0).any():
        raise InvalidInputError(f"{where}: the ids are not {n_rows} texts")
    begin = text[offsets[:-1][np.diff(offsets) > 0]]
    try:
        text.tobytes().decode()
        if ((begin & 0xC0) == 0x80).any():
            raise ValueError("an id begins within a letter")
    except ValueError as error:
        raise InvalidInputError(f"{where}: the ids are no valid text: {error}") from error
    return Ids(arrays)


Vectors = NDArray[Any]

PIECE_ROWS = 1 << 16
"""Most rows of a file of vectors; only the last ones are written again when rows are added."""
RUN_ROWS = 1 << 18
"""Rows of a graph of neighbours: more are slower to build, fewer are more graphs to search."""

_MORE_CANDIDATES = 4  # for each that is asked for: distances in one unit are coarser


@dataclass
class Piece:
    """Consecutive rows; `files` is what the manifest of the index's folder says of them."""

    vectors: Vectors
    ids: Ids
    graphs: GraphBatch | None = None
    """Kept for exact distances."""
    files: dict[str, Any] | None = None

    def __len__(self) -> int:
        return len(self.vectors)


@dataclass
class RowStore:
    """All rows in the order of adding; those that were removed keep their numbers."""

    codec: VectorCodec
    run_rows: int = field(default_factory=lambda: RUN_ROWS)
    pieces: list[Piece] = field(default_factory=list)
    graphs: dict[int, NeighbourGraph] = field(default_factory=dict)
    removed: Flags = field(default_factory=lambda: np.zeros(0, bool))

    @property
    def n_rows(self) -> int:
        return len(self.removed)

    @property
    def n_live(self) -> int:
        return self.n_rows - int(np.count_nonzero(self.removed))

    @property
    def id_kind(self) -> IdKind | None:
        return self.pieces[0].ids.kind if self.pieces else None

    def facts(self) -> dict[str, Any]:
        return {
            "graphs": self.n_live,
            "removed": self.n_rows - self.n_live,
            "linked": sum(graph.n_rows for graph in self.graphs.values()),
            "columns": self.codec.n_columns,
            "storage": self.codec.storage,
        }

    def live_rows(self, ids: Ids) -> Ints:
        """Row of every id; -1 where there is none, or it was removed."""
        # an id that was removed may have been added again: the last row counts
        rows = np.full(len(ids), -1, np.int64)
        for first, piece in self.numbered_pieces():
            found = rows_of_ids(ids, piece.ids, first)
            is_live = (found >= 0) & ~self.removed[np.maximum(found, 0)]
            rows = np.where(is_live, found, rows)
        return rows

    def numbered_pieces(self) -> Iterator[tuple[int, Piece]]:
        first = 0
        for piece in self.pieces:
            yield first, piece
            first += len(piece)

    def append(self, vectors: Vectors, ids: Ids, graphs: GraphBatch | None) -> None:
        start = 0
        while start < len(vectors):
            room = PIECE_ROWS - self.n_rows % PIECE_ROWS
            stop = min(start + room, len(vectors))
            kept = None if graphs is None else with_reading(graphs[start:stop], None)
            self.pieces.append(Piece(vectors[start:stop], ids.part(start, stop), kept))
            self.removed = np.append(self.removed, np.zeros(stop - start, bool))
            self._join_last()
            start = stop

    def _join_last(self) -> None:
        while len(self.pieces) > 1 and self.n_rows % PIECE_ROWS not in (0, len(self.pieces[-1])):
            *_, before, last = self.pieces
            if len(last) < len(before):
                return
            self._join(before, last)
        if self.n_rows % PIECE_ROWS == 0:  # a whole piece is not written again: make it one
            while len(self.pieces[-1]) < PIECE_ROWS:
                self._join(*self.pieces[-2:])

    def _join(self, before: Piece, last: Piece) -> None:
        graphs = None
        if before.graphs is not None and last.graphs is not None:
            graphs = GraphBatch.concatenate([before.graphs, last.graphs])
        self.pieces[-2:] = [
            Piece(
                np.concatenate([before.vectors, last.vectors]),
                Ids.joined([before.ids, last.ids]),
                graphs,
            )
        ]

    def vectors_of(self, rows: Ints) -> Vectors:
        """Stored vectors of rows; those of row -1 are zeros."""
        taken = np.zeros((*rows.shape, self.codec.n_columns), self.codec.storage)
        for here, piece, places in self._places_of(rows):
            taken[here] = piece.vectors[places]
        return taken

    def ids_of(self, rows: Ints) -> NDArray[Any]:
        taken = np.empty(rows.shape, np.int64 if self.id_kind == "int" else object)
        for here, piece, places in self._places_of(rows):
            taken[here] = piece.ids.taken(places)
        return taken

    def _places_of(self, rows: Ints) -> Iterator[tuple[Flags, Piece, Ints]]:
        """For each piece, which rows are in it, and their places there."""
        for first, piece in self.numbered_pieces():
            here = (rows >= first) & (rows < first + len(piece))
            if here.any():
                yield here, piece, rows[here] - first

    def graphs_of(self, rows: Ints, reading: Reading | None) -> GraphBatch:
        order = np.argsort(rows, kind="stable")
        parts = []
        for _, piece, places in self._places_of(rows[order]):
            assert piece.graphs is not None
            parts.append(with_reading(piece.graphs[places], reading))
        return GraphBatch.concatenate(parts)[np.argsort(order, kind="stable")]

    # Search

    def scanned(self, queries: Vectors, k: int, *, only_rest: bool = False) -> tuple[Floats, Ints]:
        """Nearest k rows by a scan of all, or of those only that are in no graph of neighbours."""
        return scan(queries, self._parts(only_rest), k, self.codec)

    def _parts(self, only_rest: bool) -> Iterator[tuple[int, Vectors, Flags | None]]:
        """Vectors of pieces, and which of them to leave out."""
        for first, piece in self.numbered_pieces():
            is_out = self.removed[first : first + len(piece)].copy()
            for run, graph in self.graphs.items() if only_rest else ():
                start = run * self.run_rows - first
                is_out[max(start, 0) : max(start + graph.n_rows, 0)] = True
            if not is_out.all():
                yield first, piece.vectors, is_out if is_out.any() else None

    def approximated(
        self, queries: Vectors, k: int, expansion: int, n_jobs: int | None
    ) -> tuple[Floats, Ints]:
        """About the nearest k rows: by graphs where there are some, and a scan of all others."""
        squared, rows = self.scanned(queries, k, only_rest=True)
        if not self.graphs:
            return squared, rows
        n_wanted = _MORE_CANDIDATES * k
        n_each = max(k + k // 2, min(n_wanted, expansion))
        steps = self.codec.for_search(queries)
        found = [
            self._from_graph(run, graph, steps, (n_each, expansion, n_jobs))
            for run, graph in sorted(self.graphs.items())
        ]
        coarse, near = (np.concatenate(each, axis=1) for each in zip(*found, strict=True))
        _, near = best_candidates(coarse, near, n_wanted)
        exact = squared_distances(queries, self.vectors_of(near), self.codec)
        joined = np.concatenate([squared, exact], axis=1), np.concatenate([rows, near], axis=1)
        return best_candidates(*joined, k)

    def _from_graph(
        self, run: int, graph: NeighbourGraph, queries: Vectors, how: tuple[int, int, int | None]
    ) -> tuple[Floats, Ints]:
        """Candidates of one graph without removed ones: more are asked for until it is enough."""
        n_wanted, expansion, n_jobs = how
        first = run * self.run_rows
        is_removed = self.removed[first : first + graph.n_rows]
        n_removed = int(np.count_nonzero(is_removed))
        n_live = graph.n_rows - n_removed
        count = min(n_wanted + min(n_removed, n_wanted), graph.n_rows)
        while True:
            squared, near = graph.search(queries, count, max(expansion, count), n_jobs)
            is_out = (near < 0) | is_removed[np.maximum(near, 0)]
            enough = (count - is_out.sum(axis=1)).min(initial=count) >= min(n_wanted, n_live)
            if enough or count == graph.n_rows or not n_removed:
                break
            count = min(2 * count, graph.n_rows)
        return squared, np.where(is_out, -1, near + first)

    # Graphs of neighbours

    def runs_to_link(self, scan_below: int) -> dict[int, int]:
        runs = {}
        for run in range(-(-self.n_rows // self.run_rows)):
            n_rows = min(self.n_rows - run * self.run_rows, self.run_rows)
            done = self.graphs[run].n_rows if run in self.graphs else 0
            is_full = n_rows == self.run_rows and n_rows >= scan_below
            if n_rows - done >= scan_below or (is_full and done < n_rows):
                runs[run] = n_rows
        return runs

    def link(
        self,
        new_path: Callable[[], Path],
        scan_below: int,
        n_jobs: int | None,
        on_graph: Callable[[], None] = lambda: None,
    ) -> None:
        runs = self.runs_to_link(scan_below)
        tasks = [(run, n_rows, new_path()) for run, n_rows in runs.items()]
        with progress_bar("graphs of neighbours", sum(runs.values())) as advance:
            for run, n_rows, path in _written_graphs(self, tasks, n_threads(n_jobs)):
                shape = (n_rows, self.codec.n_columns)
                self.graphs[run] = NeighbourGraph(path, shape, self.codec.storage)
                on_graph()
                advance(n_rows)

    def run_vectors(self, run: int, n_rows: int) -> list[Vectors]:
        first = run * self.run_rows
        parts = []
        for start, piece in self.numbered_pieces():
            low, high = max(first - start, 0), min(first + n_rows - start, len(piece))
            if low < high:
                parts.append(piece.vectors[low:high])
        return parts


_Task = tuple[int, int, Path]


def _written_graphs(store: RowStore, tasks: Sequence[_Task], n_jobs: int) -> Iterator[_Task]:
    """Write graphs and give the tasks that are done; processes where there are several."""
    from joblib import Parallel, delayed

    def call(run: int, n_rows: int, path: Path) -> Any:
        begun = store.graphs[run].path if run in store.graphs else None
        return delayed(_write_graph)(store.run_vectors(run, n_rows), store.codec, path, begun)

    workers = Parallel(n_jobs=max(1, min(n_jobs, len(tasks))), return_as="generator")
    for task, _ in zip(tasks, workers(call(*task) for task in tasks), strict=True):
        yield task


def _write_graph(parts: list[Vectors], codec: VectorCodec, path: Path, begun: Path | None) -> None:
    vectors = np.concatenate([codec.for_search(part) for part in parts])
    write_graph(path, vectors, codec.storage, begun)
