"""Rows of an index: vectors, ids and kept graphs in pieces, and graphs of neighbours over runs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Flags, Floats, Ints
from retgk.graphs.batch import GraphBatch
from retgk.graphs.reading import Reading
from retgk.runtime.parallel import n_threads
from retgk.runtime.progress import progress_bar
from retgk.search.graph_ids import IdKind, Ids, rows_of_ids
from retgk.search.neighbour_graphs import NeighbourGraph, write_graph
from retgk.search.stored_graphs import StoredGraphs
from retgk.search.vector_codec import VectorCodec
from retgk.search.vector_scan import best_candidates, scan, squared_distances

__all__ = ["PIECE_ROWS", "RUN_ROWS", "Piece", "RowStore"]

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
    graphs: StoredGraphs | None = None
    files: dict[str, Any] | None = None

    def __len__(self) -> int:
        return len(self.vectors)


@dataclass
class RowStore:
    """
    All rows, in the order in which they were added; rows that were removed keep their numbers.

    Pieces and runs begin at multiples of `PIECE_ROWS` and of `run_rows`.
    """

    codec: VectorCodec
    run_rows: int = field(default_factory=lambda: RUN_ROWS)
    pieces: list[Piece] = field(default_factory=list)
    graphs: dict[int, NeighbourGraph] = field(default_factory=dict)
    removed: Flags = field(default_factory=lambda: np.zeros(0, bool))

    @property
    def n_rows(self) -> int:
        """Rows that were ever added."""
        return len(self.removed)

    @property
    def n_live(self) -> int:
        """Rows that were not removed."""
        return self.n_rows - int(np.count_nonzero(self.removed))

    @property
    def id_kind(self) -> IdKind | None:
        """What ids are; None as long as there are none."""
        return self.pieces[0].ids.kind if self.pieces else None

    def facts(self) -> dict[str, Any]:
        """Numbers of graphs, removed ones, and rows in graphs of neighbours; form of vectors."""
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
            found = rows_of_ids(ids, [(first, piece.ids)])
            is_live = (found >= 0) & ~self.removed[np.maximum(found, 0)]
            rows = np.where(is_live, found, rows)
        return rows

    def numbered_pieces(self) -> Iterator[tuple[int, Piece]]:
        """Pieces with the numbers of their first rows."""
        first = 0
        for piece in self.pieces:
            yield first, piece
            first += len(piece)

    def append(self, vectors: Vectors, ids: Ids, graphs: GraphBatch | None) -> None:
        """Add rows; small pieces are joined, each row a few times at most."""
        start = 0
        while start < len(vectors):
            room = PIECE_ROWS - self.n_rows % PIECE_ROWS
            stop = min(start + room, len(vectors))
            kept = None if graphs is None else StoredGraphs.of(graphs[start:stop])
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
            both = [piece.graphs.taken(np.arange(len(piece)), None) for piece in (before, last)]  # type: ignore[union-attr]
            graphs = StoredGraphs.of(GraphBatch.concatenate(both))
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
        for first, piece in self.numbered_pieces():
            here = (rows >= first) & (rows < first + len(piece))
            if here.any():
                taken[here] = piece.vectors[rows[here] - first]
        return taken

    def ids_of(self, rows: Ints) -> NDArray[Any]:
        """Ids of rows, of which none is -1."""
        taken = np.empty(rows.shape, np.int64 if self.id_kind == "int" else object)
        for first, piece in self.numbered_pieces():
            here = (rows >= first) & (rows < first + len(piece))
            if here.any():
                taken[here] = piece.ids.taken(rows[here] - first)
        return taken

    def graphs_of(self, rows: Ints, reading: Reading | None) -> GraphBatch:
        """Kept graphs of rows, in their order."""
        order = np.argsort(rows, kind="stable")
        parts = []
        for first, piece in self.numbered_pieces():
            here = rows[order][(rows[order] >= first) & (rows[order] < first + len(piece))]
            if len(here):
                assert piece.graphs is not None
                parts.append(piece.graphs.taken(here - first, reading))
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
        """Runs that are to get a graph, or a larger one, with their numbers of rows."""
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
        """
        Give runs of rows their graphs of neighbours, several at a time in processes.

        Parameters
        ----------
        new_path : callable
            Gives the path of a new file.
        scan_below : int
            Rows beyond the graph of their run that are left to be scanned.
        n_jobs : int, optional
            Processes at a time.
        on_graph : callable
            Called after each graph.
        """
        runs = self.runs_to_link(scan_below)
        tasks = [(run, n_rows, new_path()) for run, n_rows in runs.items()]
        with progress_bar("graphs of neighbours", sum(runs.values())) as advance:
            for run, n_rows, path in _written_graphs(self, tasks, n_threads(n_jobs)):
                shape = (n_rows, self.codec.n_columns)
                self.graphs[run] = NeighbourGraph(path, shape, self.codec.storage)
                on_graph()
                advance(n_rows)

    def run_vectors(self, run: int, n_rows: int) -> list[Vectors]:
        """Stored vectors of the first rows of a run, in parts."""
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
    calls = [
        (store.run_vectors(run, n_rows), store.codec, path, _begun(store, run))
        for run, n_rows, path in tasks
    ]
    if n_jobs == 1 or len(tasks) < 2:
        for task, call in zip(tasks, calls, strict=True):
            _write_graph(*call)
            yield task
        return
    from joblib import Parallel, delayed

    def numbered(number: int) -> Any:
        return delayed(_write_numbered_graph)(number, *calls[number])

    workers = Parallel(n_jobs=min(n_jobs, len(tasks)), return_as="generator_unordered")
    for number in workers(numbered(number) for number in range(len(tasks))):
        yield tasks[number]


def _begun(store: RowStore, run: int) -> Path | None:
    return store.graphs[run].path if run in store.graphs else None


def _write_numbered_graph(number: int, *call: Any) -> int:
    _write_graph(*call)
    return number


def _write_graph(parts: list[Vectors], codec: VectorCodec, path: Path, begun: Path | None) -> None:
    vectors = np.concatenate([codec.for_search(part) for part in parts])
    write_graph(path, vectors, codec.storage, begun)
