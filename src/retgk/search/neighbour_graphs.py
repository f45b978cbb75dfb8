"""
Graphs of near neighbours (HNSW) over runs of rows, built and searched by usearch.

Beside faiss and voyager, on 50,000 molecules in 256 columns: `docs/similarity_search.md` has the
numbers. usearch maps its files into memory, searches bytes with the processor's own instructions
and has small wheels for every system; its files have a form that can be checked.

Adding with several threads gives another graph each time. So the rows are cut into runs of a fixed
length, and each run gets a graph of its own, by one thread: as many graphs grow at the same time
as there are cores, in processes, because usearch holds Python's lock. The graphs depend on the
rows alone.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.runtime.optional_packages import optional_module
from retgk.runtime.parallel import n_threads
from retgk.search.neighbour_files import check_neighbour_file

__all__ = ["CONNECTIVITY", "NeighbourGraph", "open_graph", "write_graph"]

Vectors = NDArray[Any]

CONNECTIVITY = 16
_EXPANSION_ADD = 128


class NeighbourGraph:
    """
    A graph over rows 0 to n of a run, in a file that is mapped into memory.

    Parameters
    ----------
    path : Path
        The file; it has been checked.
    shape : tuple of int
        Numbers of rows and columns.
    kind : str
        Type of the vectors: "int8" or "float16".
    """

    def __init__(self, path: Path, shape: tuple[int, int], kind: str) -> None:
        self.path = path
        self.n_rows = shape[0]
        self._index = _new_index(shape[1], kind)
        self._index.view(str(path))

    def search(
        self, queries: Vectors, k: int, expansion: int, n_jobs: int | None
    ) -> tuple[Floats, Ints]:
        """
        Find about the nearest k rows of every query.

        Parameters
        ----------
        queries : ndarray, shape (n_queries, n_columns)
            Vectors of the type of the graph.
        k : int
            How many.
        expansion : int
            Rows that are looked at from more closely: more find more of the nearest ones.
        n_jobs : int, optional
            Threads; they change no result.

        Returns
        -------
        tuple of ndarray, shape (n_queries, k)
            Squared distances and rows, filled up with infinity and -1.
        """
        count = min(k, self.n_rows)
        self._index.expansion_search = max(expansion, count)
        n_workers = min(n_threads(n_jobs), len(queries))
        asked = queries if len(queries) > 1 else np.repeat(queries, 2, axis=0)  # one is no batch
        matches = self._index.search(asked, count, threads=n_workers)
        n_asked = len(queries)
        keys = np.asarray(matches.keys, np.uint64).astype(np.int64)[:n_asked]
        squared = np.asarray(matches.distances, np.float64)[:n_asked]
        is_none = np.arange(count) >= np.asarray(matches.counts)[:n_asked, None]
        keys[is_none], squared[is_none] = -1, np.inf
        room = ((0, 0), (0, k - count))
        return (
            np.pad(squared, room, constant_values=np.inf),
            np.pad(keys, room, constant_values=-1),
        )


def write_graph(path: Path, vectors: Vectors, kind: str, begun: Path | None = None) -> None:
    """Write the graph of some vectors; `begun` is one of the first of them, to go on with."""
    index = _new_index(vectors.shape[1], kind)
    if begun is not None:
        index.load(str(begun))
    first = len(index)
    if len(vectors) > first:
        keys = np.arange(first, len(vectors), dtype=np.uint64)
        index.add(keys, np.ascontiguousarray(vectors[first:]), threads=1)
    index.save(str(path))


def open_graph(path: Path, shape: tuple[int, int], kind: str) -> NeighbourGraph:
    """Map a graph that a stranger may have written: all of it is checked first."""
    check_neighbour_file(path, shape, kind, CONNECTIVITY)
    return NeighbourGraph(path, shape, kind)


def _new_index(n_columns: int, kind: str) -> Any:
    index_class = optional_module("usearch.index", "index").Index
    dtypes = {"int8": "i8", "float16": "f16"}
    if kind not in dtypes:
        raise InvalidInputError(f"there are no graphs of neighbours over vectors of {kind!r}")
    return index_class(
        ndim=n_columns,
        metric="l2sq",
        dtype=dtypes[kind],
        connectivity=CONNECTIVITY,
        expansion_add=_EXPANSION_ADD,
    )
