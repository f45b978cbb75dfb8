"""An index of more graphs than fit memory, made piece by piece; a killed run goes on."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.runtime.progress import progress_bar
from retgk.search.graph_index import GraphIndex
from retgk.search.index_folder import MANIFEST, UNFINISHED, Folder, stored_count
from retgk.search.index_storage import read_index, write_index

__all__ = ["FIT_GRAPHS", "GraphSource", "SourcePiece", "build_index", "extend_index"]

FIT_GRAPHS = 20_000
"""Graphs, from all over the source, on which embedding and axes are fitted."""


class SourcePiece(NamedTuple):
    """Some graphs of a source."""

    graphs: GraphBatch
    ids: Any
    stop: int
    """Number of the graph after the last one, counted with those that are left out."""


class GraphSource(Protocol):
    """Graphs that can be gone through in pieces, from any of them on."""

    @property
    def fingerprint(self) -> str:
        """Digest of what the graphs are and how they are read."""

    @property
    def n_graphs(self) -> int:
        """How many there are."""

    def sample(self, n_graphs: int) -> GraphBatch:
        """Give graphs from all over the source, about so many."""

    def pieces(self, first: int) -> Iterator[SourcePiece]:
        """Give the graphs from one on, some at a time."""


def build_index(path: Path, source: GraphSource, index: GraphIndex) -> GraphIndex:
    """
    Make an index in a folder; the same call goes on where a killed one was.

    Parameters
    ----------
    path : Path
        A folder that is new, or holds the same index in the making.
    source : GraphSource
        The graphs.
    index : GraphIndex
        An index that is not fitted.

    Returns
    -------
    GraphIndex
        The finished index.
    """
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
            begun = index.fit_vectors(source.sample(FIT_GRAPHS)), 0
        return _grown(folder, source, *begun, base="")


def extend_index(path: Path, source: GraphSource, n_jobs: int | None = None) -> GraphIndex:
    """
    Add graphs to the index in a folder: all of them, or none if the run is killed.

    The same call goes on where a killed one was, unless the index has changed since.

    Parameters
    ----------
    path : Path
        The folder.
    source : GraphSource
        The graphs.
    n_jobs : int, optional
        As for `GraphIndex`.

    Returns
    -------
    GraphIndex
        The larger index.
    """
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


def _grown(
    folder: Folder, source: GraphSource, index: GraphIndex, n_read: int, *, base: str
) -> GraphIndex:
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
