"""`GraphIndex`: the nearest graphs of a collection, without comparing with each of them."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.estimators.embedding import RetGKEmbedding
from retgk.io.converters import GraphsLike, as_batch
from retgk.search.embedded_queries import (
    Method,
    check_count,
    check_method,
    check_rerank,
    coded_vectors,
    dense_vectors,
    fitted_embedding,
    reranked,
)
from retgk.search.graph_ids import checked_ids, given_ids, is_id
from retgk.search.index_storage import IndexState, read_index, write_index
from retgk.search.row_store import RowStore
from retgk.search.vector_codec import Storage, fit_codec

__all__ = ["GraphIndex", "Neighbours"]

_MOST_FITTED = 40_000  # graphs whose vectors axes are found on: 320 MB


class Neighbours(NamedTuple):
    """Nearest graphs of some queries, the nearest first; row i is about query i."""

    ids: NDArray[Any]
    """Their ids, shape (n_queries, k): int64, or objects that are text."""
    distances: Floats
    """Their distances, shape (n_queries, k)."""


class GraphIndex:
    r"""
    A collection of graphs in which the nearest ones are found without comparing with each.

    The distance of two graphs is :math:`|m_G - m_H|`, that of their mean embeddings, as
    `pairwise_distances` gives it. The index holds a vector of 256 bytes for each graph, so its
    distances are approximate: :math:`|A^T(\hat m_G - \hat m_H)|`, with :math:`\hat m` the vectors
    of a `RetGKEmbedding` and A the principal axes of those of the graphs that the index was fitted
    on, each coordinate rounded to one of 255 steps. What lies outside of these axes is left out,
    so distances are a little too small rather than too large. Equal graphs have distance 0. With
    ``rerank=`` they are those of the exact kernel.

    Few graphs are compared with all vectors. From `scan_below` on, rows get graphs of near
    neighbours (HNSW, by usearch: ``pip install retgk[index]``), which find nearly all of the
    nearest vectors and look at a small share of them.

    Parameters
    ----------
    embedding : RetGKEmbedding, optional
        How graphs become vectors; one that is fitted is used as it is. By default
        ``RetGKEmbedding(feature_map="phases", n_components=2048, dtype="float32")``.
    n_columns : int, default=256
        Columns that are stored. Vectors are turned to their principal axes if they are wider, and
        `fit` has at least four graphs for each column.
    storage : {"int8", "float16"}, optional
        Type of the stored numbers; int8 for vectors that are turned, float16 for others.
    keep_graphs : bool, default=False
        Whether the index holds the graphs too, for ``query(..., rerank=)``.
    scan_below : int, default=32768
        Rows that are searched by a plain scan before they get a graph of neighbours.
    n_jobs : int, optional
        Threads, and processes that build graphs of neighbours; None for all cores. They change
        no result.
    random_state : int, optional
        Seed of the default embedding.

    Attributes
    ----------
    embedding_ : RetGKEmbedding
        The fitted embedding.

    See Also
    --------
    most_similar : The exact answer for one graph and a small collection.
    duplicate_groups : Graphs that are equal.

    Examples
    --------
    >>> from retgk import GraphIndex, make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=50, random_state=0).graphs
    >>> index = GraphIndex(random_state=0).fit(graphs, ids=[f"g{i}" for i in range(50)])
    >>> found = index.query(graphs[7], k=3)
    >>> found.ids.shape, found.ids[0, 0], float(found.distances[0, 0])
    ((1, 3), 'g7', 0.0)
    >>> index.remove(["g7"])
    >>> "g7" in index, len(index)
    (False, 49)
    """

    embedding_: RetGKEmbedding

    def __init__(
        self,
        embedding: RetGKEmbedding | None = None,
        *,
        n_columns: int = 256,
        storage: Storage | None = None,
        keep_graphs: bool = False,
        scan_below: int = 1 << 15,
        n_jobs: int | None = None,
        random_state: int | None = None,
    ) -> None:
        check_count("n_columns", n_columns)
        check_count("scan_below", scan_below)
        if storage not in (None, *get_args(Storage)):
            raise InvalidInputError(f"storage must be 'int8' or 'float16', got {storage!r}")
        if not isinstance(embedding, RetGKEmbedding | None):
            what = type(embedding).__name__
            raise InvalidInputError(f"embedding must be a RetGKEmbedding or None, got a {what}")
        self.embedding = embedding
        self.n_columns = int(n_columns)
        self.storage = storage
        self.keep_graphs = bool(keep_graphs)
        self.scan_below = int(scan_below)
        self.n_jobs = n_jobs
        self.random_state = random_state
        self._rows: RowStore | None = None
        self._files: dict[str, Any] = {}
        self._scratch: Path | None = None

    # Adding and removing

    def fit(self, graphs: GraphsLike, ids: Any = None) -> Self:
        """
        Fit the embedding and the axes, and make an index of the graphs.

        Parameters
        ----------
        graphs : GraphBatch or anything that `as_batch` takes
            The collection.
        ids : sequence of int or of str, optional
            What the graphs are called, each once; by default their numbers.

        Returns
        -------
        GraphIndex
            The index itself.
        """
        batch = as_batch(graphs)
        checked_ids(ids, len(batch), 0, None)
        return self.fit_vectors(batch).add(batch, ids)

    def fit_vectors(self, graphs: GraphsLike) -> Self:
        """
        Fit the embedding and the axes on a sample, and leave the index empty.

        Parameters
        ----------
        graphs : GraphBatch or anything that `as_batch` takes
            Some thousands of graphs such as those to be added.

        Returns
        -------
        GraphIndex
            The index itself.
        """
        batch = as_batch(graphs)
        embedding = fitted_embedding(self.embedding, batch, self.n_jobs, self.random_state)
        sample = dense_vectors(embedding, batch[:_MOST_FITTED])
        codec = fit_codec(sample, self.n_columns, self.storage)
        self.embedding_, self._rows, self._files = embedding, RowStore(codec), {}
        return self

    def add(self, graphs: GraphsLike, ids: Any = None, *, link: bool = True) -> Self:
        """
        Add graphs; those that are there stay as they are.

        Parameters
        ----------
        graphs : GraphBatch or anything that `as_batch` takes
            New graphs, read as the fitted ones were.
        ids : sequence of int or of str, optional
            What they are called; by default numbers that go on from the graphs before.
        link : bool, default=True
            Whether rows get their graphs of neighbours now where they are many enough, or when
            `link` is called; until then they are scanned.

        Returns
        -------
        GraphIndex
            The index itself.
        """
        rows = self._fitted_rows()
        batch = self.embedding_.intake_.new_batch(graphs)
        names = checked_ids(ids, len(batch), rows.n_rows, rows.id_kind)
        there = np.flatnonzero(rows.live_rows(names) >= 0)
        if len(there):
            (name,) = names.taken(there[:1])
            raise InvalidInputError(
                f"the id {name!r} is in the index already; remove it first, or give another"
            )
        rows.append(
            coded_vectors(self.embedding_, rows.codec, batch, self.n_jobs),
            names,
            batch if self.keep_graphs else None,
        )
        return self.link() if link else self

    def link(self, on_graph: Callable[[], None] = lambda: None) -> Self:
        """Build graphs of neighbours where rows without are many; `on_graph` is called for each."""
        self._fitted_rows().link(self._new_path, self.scan_below, self.n_jobs, on_graph)
        return self

    def remove(self, ids: Any) -> None:
        """
        Remove graphs; their room is freed when the index is built anew.

        Parameters
        ----------
        ids : int, str, or sequence of them
            Their ids; one that is not there is an error, and then none is removed.
        """
        rows = self._fitted_rows()
        names = given_ids(ids, rows.id_kind)
        found = rows.live_rows(names)
        if (found < 0).any():
            (name,) = names.taken(np.flatnonzero(found < 0)[:1])
            raise InvalidInputError(f"there is no graph {name!r} in the index; nothing was removed")
        removed = rows.removed.copy()
        removed[found] = True
        rows.removed = removed

    # Asking

    def query(
        self,
        graphs: GraphsLike,
        k: int = 10,
        *,
        method: Method = "auto",
        expansion: int = 32,
        rerank: int | None = None,
    ) -> Neighbours:
        """
        Find the nearest graphs.

        Parameters
        ----------
        graphs : GraphBatch or anything that `as_batch` takes
            Queries, read as the fitted graphs were.
        k : int, default=10
            How many to give for each; all, if the index has fewer.
        method : {"auto", "scan", "approximate"}, default="auto"
            "scan" compares with every vector; "approximate" needs graphs of neighbours; "auto"
            uses those there are, and scans the rows that are in none.
        expansion : int, default=32
            Rows that a search keeps in view in each graph of neighbours: more find more of the
            nearest, and take longer.
        rerank : int, optional
            So many candidates, at least k, are compared by the exact kernel, and the nearest k by
            that are given with exact distances. The index must have been made with
            ``keep_graphs=True``.

        Returns
        -------
        Neighbours
            ``ids`` and ``distances``, both of shape (n_queries, k), the nearest first; of equal
            distances, those first that were added first.
        """
        rows = self._fitted_rows()
        check_count("k", k)
        check_count("expansion", expansion)
        check_method(method, bool(rows.graphs))
        if rerank is not None:
            check_rerank(self.embedding_, k, rerank, self.keep_graphs)
        batch = self.embedding_.intake_.new_batch(graphs)
        count = min(int(rerank or k), rows.n_live)
        if not count:
            return Neighbours(
                rows.ids_of(np.empty((len(batch), 0), np.int64)), np.empty((len(batch), 0))
            )
        vectors = coded_vectors(self.embedding_, rows.codec, batch, self.n_jobs)
        if method == "scan":
            squared, found = rows.scanned(vectors, count)
        else:
            squared, found = rows.approximated(vectors, count, int(expansion), self.n_jobs)
        distances = np.sqrt(squared)
        if rerank is not None:
            distances, found = reranked(self.embedding_, batch, rows, found, self.n_jobs)
        n_given = min(int(k), count)
        return Neighbours(rows.ids_of(found[:, :n_given]), distances[:, :n_given])

    def __len__(self) -> int:
        return 0 if self._rows is None else self._rows.n_live

    def __contains__(self, name: object) -> bool:
        rows = self._rows
        if rows is None or not rows.pieces or not is_id(name):
            return False
        try:
            ids = given_ids(name, rows.id_kind)
        except InvalidInputError:  # of another kind, or one that no graph can have
            return False
        return bool(rows.live_rows(ids)[0] >= 0)

    def facts(self) -> dict[str, Any]:
        """Numbers of graphs, removed ones, rows in graphs of neighbours; form of the vectors."""
        return {**self._fitted_rows().facts(), "keeps_graphs": self.keep_graphs}

    def __repr__(self) -> str:
        if self._rows is None:
            return "GraphIndex(not fitted)"
        codec = self._rows.codec
        return f"GraphIndex({len(self)} graphs, {codec.n_columns} columns of {codec.storage})"

    # Files

    def save(self, folder: str | os.PathLike[str]) -> None:
        """
        Write the index to a folder, where an index that is there is replaced in one step.

        The folder holds arrays (``.npy``), JSON, graphs of neighbours as usearch writes them and
        the embedding as a model file. Only files that are new are written; whoever is killed
        meanwhile leaves the index that was there before.

        Parameters
        ----------
        folder : path-like
            The folder; it is made if it is not there.
        """
        self.note_files(write_index(self.state(), Path(folder)))

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, n_jobs: int | None = None) -> "GraphIndex":
        """
        Open an index that `save` or ``retgk index build`` wrote.

        Vectors and graphs of neighbours are mapped into memory, and read from disk where they are
        needed. All files are checked first: digests, sizes, types and bounds; a stranger's folder
        cannot run code. It must not be changed by others while it is in use.

        Parameters
        ----------
        folder : path-like
            The folder.
        n_jobs : int, optional
            As for the class.

        Returns
        -------
        GraphIndex
            The index.
        """
        return cls.of_state(read_index(Path(folder)), n_jobs)

    def note_files(self, files: dict[str, Any]) -> None:
        """Remember in which files the index is; what is there is not written again."""
        self._files = files

    def state(self) -> IndexState:
        """Give what files hold of the index."""
        rows = self._fitted_rows()
        options = {"keep_graphs": self.keep_graphs, "scan_below": self.scan_below}
        return IndexState(self.embedding_, rows, options, self._files)

    @classmethod
    def of_state(cls, state: IndexState, n_jobs: int | None = None) -> "GraphIndex":
        """Make an index of what files hold."""
        codec = state.rows.codec
        index = cls(
            state.embedding,
            n_columns=codec.n_columns,
            storage=codec.storage,
            n_jobs=n_jobs,
            **state.options,
        )
        index.embedding_, index._rows, index._files = state.embedding, state.rows, state.files
        return index

    def _fitted_rows(self) -> RowStore:
        if self._rows is None:
            raise InvalidInputError("the index is not fitted; call fit first, or load one")
        return self._rows

    def _new_path(self) -> Path:
        """Path for a graph of neighbours until the index is saved; gone with the index."""
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="retgk-index-"))
            weakref.finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)
        return self._scratch / f"graph-{os.urandom(8).hex()}.usearch"
