"""
The folder of an index: immutable files, and one small manifest that says which of them count.

The embedding is a model file; vectors, ids and kept graphs of some rows are an array file; graphs
of neighbours are files of usearch. Every number of a stranger's folder is checked.

A file gets its name when it is whole, and is never changed. A new state is a new manifest, which
takes the place of the old one in one step: who is killed before that leaves the old state. Files
that no manifest names are removed by the next writer. While a command adds graphs piece by piece,
its manifest is called ``unfinished.json``; it becomes ``manifest.json`` when all are there.
"""

import hashlib
import json
import os
import re
import shutil
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.array_files import read_arrays, write_arrays
from retgk._runtime.fields import Arrays, flatten, unflatten
from retgk._runtime.files import (
    atomic_path,
    has_own_file,
    is_unfinished,
    lock_at_once,
    open_own_file,
)
from retgk.errors import InvalidInputError
from retgk.estimators.embedding import RetGKEmbedding, Vectors
from retgk.estimators.model_files import load_model, save_model
from retgk.io.cache import batch_of_parts, parts_of_batch
from retgk.search.rows import PIECE_ROWS, IdKind, Piece, RowStore, ids_from_arrays
from retgk.search.vectors import NeighbourGraph, VectorCodec, open_graph

MANIFEST, UNFINISHED = "manifest.json", "unfinished.json"
_LOCK = "lock"
_FORMAT, _VERSION = "retgk-index", 1
_KIND = "part of an index"
_MAX_MANIFEST_BYTES = 1 << 24
_NAME = re.compile(r"[a-z]{1,20}-[0-9a-f]{16}\.(safetensors|usearch|retgk)")
_MOST_FEATURES = 1 << 16
_TRIES = 3  # of reading, while another process writes a new state

StoredFile = dict[str, Any]
"""Name of a file in the folder and its size, as the manifest has them."""


def is_index_folder(path: Path) -> bool:
    return any((path / name).is_file() for name in (MANIFEST, UNFINISHED))


def stored_count(value: Any, what: str, most: int = 1 << 40) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise InvalidInputError(f"{what} is {value!r:.80}")
    return value


class Folder:
    """Files of an index; reading checks every file against the manifest that names it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    # Reading

    def manifest(self, name: str = MANIFEST) -> dict[str, Any]:
        path = self.path / name
        text = self._small_text(path)
        try:
            document = json.loads(text, parse_constant=_refuse)
            names = list(_names_in(document))
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"{path} is no manifest of an index: {error}") from error
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise InvalidInputError(f"{path} is no manifest of an index: it lacks {_FORMAT!r}")
        version = document.get("version")
        if type(version) is not int or not 1 <= version <= _VERSION:
            raise InvalidInputError(
                f"{path} is of version {version!r:.20}; this retgk reads up to version {_VERSION}: "
                "upgrade retgk"
            )
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise InvalidInputError(f"{path} names {twice[0]} twice; copy the index again")
        return document

    def key(self) -> str | None:
        return _digest(self.path / MANIFEST) if self.has(MANIFEST) else None

    def has(self, name: str) -> bool:
        """Whether there is a manifest of this name; a link or a pipe in its place is refused."""
        return has_own_file(self.path / name)

    def _small_text(self, path: Path) -> str:
        if not has_own_file(path):
            raise InvalidInputError(
                f"there is no index in {self.path}"
                + ("; one is in the making: run its command again" if self.has(UNFINISHED) else "")
            )
        if path.stat().st_size > _MAX_MANIFEST_BYTES:
            raise InvalidInputError(f"{path} is no manifest of an index; copy the index again")
        try:
            return path.read_text("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"{path} is no manifest of an index: {error}") from error

    def file(self, entry: Any) -> Path:
        """Path of a file that a manifest names: in this folder and whole."""
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidInputError(f"{self.path}: the manifest names a file {name!r:.80}")
        path = self.path / name
        try:
            found = path.lstat()
        except FileNotFoundError as error:
            raise InvalidInputError(
                f"{self.path} lacks the file {name}; copy the index again"
            ) from error
        if not stat.S_ISREG(found.st_mode):  # a link may lead anywhere
            raise InvalidInputError(f"{path} is a link or no file; copy the index again")
        if found.st_size != entry.get("bytes"):
            raise InvalidInputError(
                f"{path} has {found.st_size} bytes, not {entry.get('bytes')!r:.20}; copy the index "
                "again"
            )
        return path

    def arrays(self, entry: Any) -> tuple[dict[str, Any], Arrays]:
        return read_arrays(self.file(entry), _KIND, mapped=True)

    # Writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        self.path.mkdir(parents=True, exist_ok=True)
        for name in (MANIFEST, UNFINISHED):
            self.has(name)  # before any work, not when it is to be written
        lock = open_own_file(self.path / _LOCK, os.O_RDWR | os.O_CREAT)
        try:
            if lock_at_once(lock) is False:
                raise InvalidInputError(
                    f"another run is writing to {self.path}; wait for it, or stop it"
                )
            yield
        finally:
            os.close(lock)

    def new_path(self, stem: str, ending: str) -> Path:
        return self.path / f"{stem}-{os.urandom(8).hex()}{ending}"

    def entry(self, path: Path) -> StoredFile:
        return {"name": path.name, "bytes": path.stat().st_size}

    def write(self, stem: str, document: Mapping[str, Any], arrays: Arrays) -> StoredFile:
        path = self.new_path(stem, ".safetensors")
        write_arrays(path, _KIND, document, arrays)
        return self.entry(path)

    def write_manifest(self, document: Mapping[str, Any], name: str = MANIFEST) -> None:
        text = json.dumps({"format": _FORMAT, "version": _VERSION, **document}, allow_nan=False)
        with atomic_path(self.path / name, follow_links=False) as part:
            part.write_text(text, "utf-8")
        if name == MANIFEST:
            (self.path / UNFINISHED).unlink(missing_ok=True)

    def remove_unnamed(self) -> None:
        """Remove files of earlier states, and of writers that were killed."""
        there = [self.manifest(name) for name in (MANIFEST, UNFINISHED) if self.has(name)]
        named = set(_names_in(there))
        for path in self.path.iterdir():
            if _NAME.fullmatch(path.name) and path.name not in named and not is_unfinished(path):
                with suppress(OSError):  # Windows keeps what is mapped into memory
                    path.unlink()


def _names_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("name"), str) and "bytes" in value:
            yield value["name"]
        for item in value.values():
            yield from _names_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _names_in(item)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


@dataclass
class IndexState:
    """An index without its methods; `files` is what is known of its folder."""

    embedding: RetGKEmbedding | Vectors
    rows: RowStore
    options: dict[str, Any]
    files: dict[str, Any] = field(default_factory=dict)


def write_index(
    state: IndexState,
    path: Path,
    name: str = MANIFEST,
    progress: Mapping[str, Any] | None = None,
    *,
    is_locked: bool = False,
) -> dict[str, Any]:
    """Write what is new of an index, map its rows from there, and give its new `files`."""
    if path.exists() and not path.is_dir():
        raise InvalidInputError(f"{path} is a file; give the name of a folder")
    folder = Folder(path)
    if is_locked:
        return _write_locked(state, folder, name, progress)
    with folder.writing():
        _check_unchanged(state, folder)
        return _write_locked(state, folder, name, progress)


def _check_unchanged(state: IndexState, folder: Folder) -> None:
    is_same = state.files.get("path") == folder.path.resolve()
    if is_same and state.files.get("key") != folder.key():
        raise InvalidInputError(
            f"the index in {folder.path} has changed since it was opened; load it again, or save "
            "to another folder"
        )


def _write_locked(
    state: IndexState, folder: Folder, name: str, progress: Mapping[str, Any] | None
) -> dict[str, Any]:
    own = folder.path.resolve()
    is_same = state.files.get("path") == own
    files: dict[str, Any] = dict(state.files) if is_same else {"path": own}
    rows = state.rows
    if not is_same:
        path = folder.new_path("embedding", ".retgk")
        save_model(state.embedding, path)
        files["embedding"] = folder.entry(path)
        arrays: Arrays = {}
        codec = flatten(rows.codec, "codec", arrays)
        files["codec"] = folder.write("codec", {"codec": codec}, arrays)
        for piece in rows.pieces:
            piece.files = None
    for piece in rows.pieces:
        if piece.files is None:
            _write_piece(piece, folder)
    graphs = {}
    for run, graph in rows.graphs.items():
        known = files.get("graphs", {}).get(run)
        if known is None or graph.path.name != known["file"]["name"]:
            known = _write_graph_file(rows, run, folder)
        graphs[run] = known
    files["graphs"] = graphs
    document = {
        "options": state.options,
        "run_rows": rows.run_rows,
        "embedding": files["embedding"],
        "codec": files["codec"],
        "pieces": [piece.files for piece in rows.pieces],
        "graphs": [{"run": run, **known} for run, known in sorted(graphs.items())],
        "removed": folder.write("removed", {}, {"rows": np.flatnonzero(rows.removed)}),
    }
    if progress is not None:
        document["progress"] = dict(progress)
    folder.write_manifest(document, name)
    folder.remove_unnamed()
    files["key"] = folder.key()
    return files


def _write_piece(piece: Piece, folder: Folder) -> None:
    """Write the arrays of a piece, and have it use them from there, mapped into memory."""
    arrays = {"vectors": piece.vectors}
    arrays |= {f"ids.{name}": array for name, array in piece.ids.arrays.items()}
    names = None
    if piece.graphs is not None:
        names, kept = parts_of_batch(piece.graphs)
        arrays |= {f"graphs.{name}": array for name, array in kept.items()}
    entry = folder.write("piece", {"names": names}, arrays)
    piece.files = {"rows": len(piece), "ids": piece.ids.kind, "file": entry}
    opened = _open_piece(folder, piece.files)
    piece.vectors, piece.ids, piece.graphs = opened.vectors, opened.ids, opened.graphs


def _write_graph_file(rows: RowStore, run: int, folder: Folder) -> dict[str, Any]:
    graph = rows.graphs[run]
    path = graph.path
    if path.parent.resolve() != folder.path.resolve():
        path = folder.new_path("graph", ".usearch")
        with atomic_path(path) as part:
            shutil.copyfile(graph.path, part)
        shape = (graph.n_rows, rows.codec.n_columns)
        rows.graphs[run] = NeighbourGraph(path, shape, rows.codec.storage)
    return {"rows": graph.n_rows, "file": folder.entry(path), "sha256": _digest(path)}


def read_index(path: Path, name: str = MANIFEST) -> IndexState:
    folder = Folder(path)
    if not path.is_dir():
        raise InvalidInputError(f"there is no index folder {path}")
    for left in reversed(range(_TRIES)):
        key = folder.key()
        document = folder.manifest(name)
        try:
            state = _state_of(document, folder)
            state.files["key"] = key
            return state
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
            if left and folder.manifest(name) != document:  # replaced while it was read
                continue
            if isinstance(error, InvalidInputError):
                raise
            raise InvalidInputError(
                f"{path / name} is damaged: {type(error).__name__}: {error}; copy the index again"
            ) from error
    raise AssertionError


def read_intake(path: Path) -> tuple[RetGKEmbedding | Vectors, IdKind | None]:
    """Embedding of an index, which knows how graphs are read, and the kind of its ids."""
    folder = Folder(path)
    document = folder.manifest()
    try:
        kinds: list[IdKind] = [piece["ids"] for piece in document["pieces"]]
        return _embedding_of(document, folder), kinds[0] if kinds else None
    except (LookupError, TypeError, AttributeError) as error:
        raise InvalidInputError(f"{path / MANIFEST} is damaged: {error}") from error


def _embedding_of(document: dict[str, Any], folder: Folder) -> RetGKEmbedding | Vectors:
    embedding = load_model(folder.file(document["embedding"]))
    if not isinstance(embedding, RetGKEmbedding | Vectors):
        raise InvalidInputError(f"{folder.path}: the model gives no vectors")
    return embedding


def _state_of(document: dict[str, Any], folder: Folder) -> IndexState:
    embedding = _embedding_of(document, folder)
    codec = _codec_of(document["codec"], folder, embedding)
    rows = RowStore(codec, stored_count(document["run_rows"], "run_rows"))
    if not rows.run_rows:
        raise InvalidInputError(f"{folder.path}: runs of rows are empty")
    rows.pieces = [_open_piece(folder, entry) for entry in document["pieces"]]
    _check_pieces(rows, folder)
    rows.removed = _removed_of(rows, folder.arrays(document["removed"])[1]["rows"], folder)
    options = document["options"]
    if set(options) != {"keep_graphs", "scan_below"} or type(options["keep_graphs"]) is not bool:
        raise InvalidInputError(f"{folder.path}: the options of the index are {options!r:.80}")
    if any((piece.graphs is None) is options["keep_graphs"] for piece in rows.pieces):
        raise InvalidInputError(f"{folder.path}: some pieces have graphs, others have none")
    stored_count(options["scan_below"], "scan_below")
    files: dict[str, Any] = {
        "path": folder.path.resolve(),
        "embedding": document["embedding"],
        "codec": document["codec"],
        "graphs": {},
    }
    for entry in document["graphs"]:
        run = stored_count(entry["run"], "the number of a run")
        rows.graphs[run] = _graph_of(rows, run, entry, folder)
        files["graphs"][run] = {name: entry[name] for name in ("rows", "file", "sha256")}
    return IndexState(embedding, rows, options, files)


def _codec_of(entry: Any, folder: Folder, embedding: RetGKEmbedding | Vectors) -> VectorCodec:
    document, arrays = folder.arrays(entry)
    codec = unflatten(document["codec"], {name: np.array(own) for name, own in arrays.items()})
    n_features = embedding.n_features_out_
    if not isinstance(codec, VectorCodec) or codec.n_features != n_features > 0:
        raise InvalidInputError(f"{folder.path}: the axes of the vectors do not fit the embedding")
    if n_features > _MOST_FEATURES:
        raise InvalidInputError(f"{folder.path}: the embedding has {n_features} columns")
    return codec


def _open_piece(folder: Folder, entry: Any) -> Piece:
    n_rows = stored_count(entry["rows"], "the number of rows of a piece", PIECE_ROWS)
    document, arrays = folder.arrays(entry["file"])
    ids = ids_from_arrays(_below("ids.", arrays), n_rows, str(folder.path))
    if ids.kind != entry["ids"]:
        raise InvalidInputError(f"{folder.path}: the ids are not of the kind that it says")
    graphs = None
    if document["names"] is not None:
        graphs = batch_of_parts(document["names"], _below("graphs.", arrays))
        if len(graphs) != n_rows:
            raise InvalidInputError(f"{folder.path}: graphs are not those of {n_rows} rows")
    return Piece(arrays["vectors"], ids, graphs, entry)


def _below(prefix: str, arrays: Arrays) -> Arrays:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _check_pieces(rows: RowStore, folder: Folder) -> None:
    """Raise if pieces are not what `RowStore.append` would make, in width, type or place."""
    first = 0
    kinds = {piece.ids.kind for piece in rows.pieces}
    for piece in rows.pieces:
        shape = (piece.files["rows"] if piece.files else 0, rows.codec.n_columns)
        is_wrong = piece.vectors.shape != shape or piece.vectors.dtype != rows.codec.storage
        is_wrong |= first // PIECE_ROWS != (first + len(piece) - 1) // PIECE_ROWS
        if is_wrong or not len(piece):
            raise InvalidInputError(
                f"{folder.path}: the vectors from row {first} on are not {shape} of "
                f"{rows.codec.storage}"
            )
        if rows.codec.storage == "float16" and not np.isfinite(piece.vectors).all():
            raise InvalidInputError(f"{folder.path}: a vector from row {first} on is not finite")
        first += len(piece)
    if len(kinds) > 1:
        raise InvalidInputError(f"{folder.path}: some ids are numbers, others are text")


def _removed_of(rows: RowStore, removed: NDArray[Any], folder: Folder) -> NDArray[np.bool_]:
    flags = np.zeros(sum(map(len, rows.pieces)), bool)
    is_list = removed.dtype == np.int64 and removed.ndim == 1
    if not is_list or (len(removed) and not 0 <= removed.min() <= removed.max() < len(flags)):
        raise InvalidInputError(f"{folder.path}: rows were removed that are none")
    flags[removed] = True
    return flags


def _graph_of(rows: RowStore, run: int, entry: Any, folder: Folder) -> NeighbourGraph:
    n_rows = stored_count(entry["rows"], "the number of rows of a graph")
    if run in rows.graphs or n_rows > rows.run_rows or run * rows.run_rows + n_rows > rows.n_rows:
        raise InvalidInputError(f"{folder.path}: the graph of run {run} has rows that are none")
    path = folder.file(entry["file"])
    if _digest(path) != entry["sha256"]:
        raise InvalidInputError(f"{path} does not match its checksum; copy the index again")
    return open_graph(path, (n_rows, rows.codec.n_columns), rows.codec.storage)
