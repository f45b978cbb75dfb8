"""`GraphIndex`: the nearest graphs of a collection, without comparing with each of them."""

import hashlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from retgk._runtime.names import whole_seed
from retgk._runtime.parallel import progress_bar
from retgk._runtime.parameters import Constraints, OneOf, Whole, check_parameters
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.estimators.embedding import RetGKEmbedding, Vectors
from retgk.estimators.kernel import RetGK
from retgk.estimators.similarity import distances as distances_of
from retgk.graphs.batch import GraphBatch
from retgk.io.convert import GraphsLike, as_batch
from retgk.kernels.kernel import GraphKernel
from retgk.search.rows import RowStore, checked_ids, given_ids, is_id
from retgk.search.storage import (
    MANIFEST,
    UNFINISHED,
    Folder,
    IndexState,
    read_index,
    stored_count,
    write_index,
)
from retgk.search.vectors import Storage, VectorCodec, fit_codec

# What an index asks of an embedding: vectors of graphs, and exact distances of the same kernel

Method = Literal["auto", "scan", "approximate"]
Embedding = RetGKEmbedding | Vectors

_COMPONENTS = 2048
_BLOCK_GRAPHS = 20_000  # embedded at a time: 160 MB of vectors
_TOL = 1e-6  # of the exact kernel, whose distances are roots
_MOST_FEATURES = 1 << 14  # axes are found in a matrix of so many rows and columns
_PARAMETERS: Constraints = {
    **dict.fromkeys(("n_columns", "scan_below", "k", "expansion"), (Whole(1),)),
    "storage": (OneOf((None, *get_args(Storage))),),
    "method": (OneOf(get_args(Method)),),
}


def fitted_embedding(
    given: Any, batch: GraphBatch, n_jobs: int | None, random_state: Any
) -> Embedding:
    """A fitted copy of the given embedding, or the default one."""
    if given is None:
        given = RetGKEmbedding(
            feature_map="phases",
            n_components=_COMPONENTS,
            dtype=np.float32,
            n_jobs=n_jobs,
            random_state=random_state,
        )
    if isinstance(given, GraphKernel):
        given = Vectors(given.with_common(n_jobs, whole_seed(random_state)))
    is_fitted = hasattr(given, "maps_") or hasattr(given, "kernel_")
    fitted: Embedding = deepcopy(given) if is_fitted else clone(given).fit(batch)
    if fitted.n_features_out_ > _MOST_FEATURES:
        raise InvalidInputError(
            f"the embedding has {fitted.n_features_out_} columns, more than the {_MOST_FEATURES} "
            'that an index takes; use feature_map="phases", whose width is n_components'
        )
    return fitted


def dense_vectors(embedding: Embedding, batch: GraphBatch) -> NDArray[Any]:
    found = embedding.transform(batch)
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found)


def coded_vectors(
    embedding: Embedding, codec: VectorCodec, batch: GraphBatch, n_jobs: int | None
) -> NDArray[Any]:
    coded = np.empty((len(batch), codec.n_columns), codec.storage)
    with progress_bar("vectors of graphs", len(batch)) as advance:
        for start in range(0, len(batch), _BLOCK_GRAPHS):
            part = batch[start : start + _BLOCK_GRAPHS]
            coded[start : start + len(part)] = codec.encode(dense_vectors(embedding, part), n_jobs)
            advance(len(part))
    return coded


def check_rerank(embedding: Embedding, k: int, rerank: Any, keep_graphs: bool) -> None:
    check_parameters({"rerank": (Whole(int(k)),)}, {"rerank": rerank})
    if not keep_graphs:
        raise InvalidInputError(
            "exact distances need the graphs, which this index does not hold; make it with "
            "keep_graphs=True"
        )
    if not isinstance(embedding, RetGKEmbedding):
        raise InvalidInputError(
            f"rerank knows the distances of RetGK alone, this index has vectors of "
            f"{embedding.kernel!r:.80}; leave rerank out"
        )
    if embedding.n_attributes_ and embedding.engine_.scale_attributes == "standard":
        raise InvalidInputError(
            'rerank knows attributes as they are; use scale_attributes="raw" or "drop" in the '
            "embedding"
        )


def reranked(
    embedding: Embedding,
    queries: GraphBatch,
    rows: RowStore,
    found: Ints,
    n_jobs: int | None,
) -> tuple[Floats, Ints]:
    own = embedding.for_saving()
    kernel = RetGK(
        own.depth,
        structure=embedding.structure_,
        attributes=embedding.attributes_,
        scale_attributes=own.scale_attributes,
        level_weights=own.level_weights,
        walks=own.walks,
        tol=_TOL,
        n_jobs=n_jobs,
        random_state=embedding.walk_seed_,
    )
    distances = np.empty(found.shape)
    with progress_bar("exact distances", len(queries)) as advance:
        for number, query in enumerate(queries):
            candidates = rows.graphs_of(found[number], query.reading)
            distances[number] = distances_of(query, candidates, kernel)[0]
            advance(1)
    order = np.lexsort((found, distances), axis=1)
    return np.take_along_axis(distances, order, 1), np.take_along_axis(found, order, 1)


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
    `distances` gives it. The index holds a vector of 256 bytes for each graph, so its
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
    kernel : RetGKEmbedding or GraphKernel, optional
        How graphs become vectors: a `RetGKEmbedding`, or a kernel that has vectors, such as
        ``WeisfeilerLehman()``; one that is fitted is used as it is. By default
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
    embedding_ : RetGKEmbedding or Vectors
        What gives the vectors.

    See Also
    --------
    most_similar : The exact answer for one graph and a small collection.
    retgk.search.duplicate_groups : Graphs that are equal.

    Examples
    --------
    >>> from retgk import GraphIndex
    >>> from retgk.datasets import make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=50, rng=0).graphs
    >>> index = GraphIndex(random_state=0).fit(graphs, ids=[f"g{i}" for i in range(50)])
    >>> found = index.query(graphs[7], k=3)
    >>> found.ids.shape, found.ids[0, 0], float(found.distances[0, 0])
    ((1, 3), 'g7', 0.0)
    >>> index.remove(["g7"])
    >>> "g7" in index, len(index)
    (False, 49)
    """

    embedding_: Embedding

    def __init__(
        self,
        kernel: RetGKEmbedding | GraphKernel | None = None,
        *,
        n_columns: int = 256,
        storage: Storage | None = None,
        keep_graphs: bool = False,
        scan_below: int = 1 << 15,
        n_jobs: int | None = None,
        random_state: int | None = None,
    ) -> None:
        given = {"n_columns": n_columns, "scan_below": scan_below, "storage": storage}
        check_parameters(_PARAMETERS, given)
        if not isinstance(kernel, RetGKEmbedding | Vectors | GraphKernel | None):
            raise InvalidInputError(
                "kernel must be a RetGKEmbedding, or a kernel that has vectors, such as "
                f"WeisfeilerLehman(), got {kernel!r:.80}"
            )
        self.kernel = kernel
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
        return self._fit_vectors(batch).add(batch, ids)

    def _fit_vectors(self, graphs: GraphsLike) -> Self:
        """Fit the embedding and the axes on a sample, and leave the index empty."""
        batch = as_batch(graphs)
        embedding = fitted_embedding(self.kernel, batch, self.n_jobs, self.random_state)
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
        check_parameters(_PARAMETERS, {"k": k, "expansion": expansion, "method": method})
        if method == "approximate" and not rows.graphs:
            raise InvalidInputError(
                'the index has too few graphs for graphs of neighbours; use method="auto", or make '
                "it with a smaller scan_below"
            )
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

        The folder holds arrays (``.safetensors``), JSON, graphs of neighbours as usearch writes
        them and the embedding as a model file. Only files that are new are written; whoever is
        killed meanwhile leaves the index that was there before.

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
        rows = self._fitted_rows()
        options = {"keep_graphs": self.keep_graphs, "scan_below": self.scan_below}
        return IndexState(self.embedding_, rows, options, self._files)

    @classmethod
    def of_state(cls, state: IndexState, n_jobs: int | None = None) -> "GraphIndex":
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


# An index of more graphs than fit memory, made piece by piece; a killed run goes on

FIT_GRAPHS = 20_000
"""Graphs, from all over the source, on which embedding and axes are fitted."""


class SourcePiece(NamedTuple):
    graphs: GraphBatch
    ids: Any
    stop: int
    """Number of the graph after the last one, counted with those that are left out."""


def build_index(path: Path, source: Any, index: GraphIndex) -> GraphIndex:
    """Make an index in a folder; the same call goes on where a killed one was."""
    folder = Folder(path)
    if path.exists() and not path.is_dir():
        raise InvalidInputError(f"{path} is a file; give the name of a new folder")
    if folder.has(MANIFEST):
        raise InvalidInputError(
            f"there is an index in {path} already; add to it, remove it, or give another folder"
        )
    with folder.writing():
        begun = _begun(folder, source.fingerprint, "")
        if begun is None:
            begun = index._fit_vectors(source.sample(FIT_GRAPHS)), 0
        return _grown(folder, source, *begun, base="")


def extend_index(path: Path, source: Any, n_jobs: int | None = None) -> GraphIndex:
    """Add all graphs to the index in a folder or none; a killed call can be repeated."""
    folder = Folder(path)
    folder.manifest()  # raises if there is none
    with folder.writing():
        base = hashlib.sha256((path / MANIFEST).read_bytes()).hexdigest()
        begun = _begun(folder, source.fingerprint, base)
        if begun is None:
            begun = GraphIndex.of_state(read_index(path), n_jobs), 0
        return _grown(folder, source, *begun, base=base)


def _begun(folder: Folder, fingerprint: str, base: str) -> tuple[GraphIndex, int] | None:
    """Index in the making, and how many graphs of the source it has; None if there is none."""
    if not folder.has(UNFINISHED):
        return None
    progress = folder.manifest(UNFINISHED).get("progress")
    if not isinstance(progress, dict):
        raise InvalidInputError(f"{folder.path / UNFINISHED} is damaged; remove it")
    if progress.get("base") != base and base:
        return None  # of an index that has changed since
    if progress.get("fingerprint") != fingerprint:
        if base:
            return None  # what a killed run added of other graphs was never part of the index
        raise InvalidInputError(
            f"{folder.path} holds an index in the making, of other graphs or with other options; "
            "remove the folder, or give another"
        )
    n_read = stored_count(progress.get("read"), "the number of graphs that were read")
    return GraphIndex.of_state(read_index(folder.path, UNFINISHED)), n_read


def _grown(folder: Folder, source: Any, index: GraphIndex, n_read: int, *, base: str) -> GraphIndex:
    """Add what is left of the source, then graphs of neighbours; all is noted as it is done."""
    progress: dict[str, Any] = {"fingerprint": source.fingerprint, "base": base, "read": n_read}

    def write(name: str) -> None:
        state = index.state()
        noted = progress if name == UNFINISHED else None
        index.note_files(write_index(state, folder.path, name, noted, is_locked=True))

    with progress_bar("graphs", source.n_graphs) as advance:
        advance(n_read)
        for graphs, ids, stop in source.pieces(n_read):
            index.add(graphs, ids, link=False)
            advance(stop - n_read)
            progress["read"] = n_read = stop
            write(UNFINISHED)
    index.link(lambda: write(UNFINISHED))
    write(MANIFEST)
    return index
