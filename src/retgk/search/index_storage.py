"""What an index is as files, and back: every number of a stranger's folder is checked."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.errors import InvalidInputError
from retgk.estimators.embedding import RetGKEmbedding
from retgk.persistence.model_files import load_model, save_model
from retgk.runtime.storage import atomic_path
from retgk.search.graph_ids import IdKind, ids_from_arrays
from retgk.search.index_folder import MANIFEST, Folder, StoredFile, stored_count
from retgk.search.neighbour_graphs import NeighbourGraph, open_graph
from retgk.search.row_store import PIECE_ROWS, Piece, RowStore
from retgk.search.stored_graphs import StoredGraphs
from retgk.search.vector_codec import VectorCodec

__all__ = ["IndexState", "read_index", "read_intake", "write_index"]

_MOST_FEATURES = 1 << 16
_TRIES = 3  # of reading, while another process writes a new state
_CODEC_ARRAYS = ("mean", "axes", "units")


@dataclass
class IndexState:
    """
    An index without its methods.

    `files` has what is known of the folder that it was read from or written to: its path, the
    entries of the manifest for the embedding, the codec and graphs, and the key of its state.
    """

    embedding: RetGKEmbedding
    rows: RowStore
    options: dict[str, Any]
    files: dict[str, Any] = field(default_factory=dict)


# Writing


def write_index(
    state: IndexState,
    path: Path,
    name: str = MANIFEST,
    progress: Mapping[str, Any] | None = None,
    *,
    is_locked: bool = False,
) -> dict[str, Any]:
    """
    Write an index, without the files of it that are in the folder already.

    Parameters
    ----------
    state : IndexState
        The index; its rows are mapped from the new files afterwards.
    path : Path
        The folder.
    name : str
        Which manifest to write.
    progress : mapping, optional
        What a command that is not done yet notes beside it.
    is_locked : bool
        Whether the caller is the folder's writer already.

    Returns
    -------
    dict
        New `files` of the state.
    """
    if path.exists() and not path.is_dir():
        raise InvalidInputError(f"{path} is a file; give the name of a folder")
    folder = Folder(path)
    if is_locked:
        return _write_locked(state, folder, name, progress)
    with folder.writing():
        _check_unchanged(state, folder)
        return _write_locked(state, folder, name, progress)


def _check_unchanged(state: IndexState, folder: Folder) -> None:
    """Raise if another process has written the folder since: its files may be gone."""
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
        files["embedding"] = _write_embedding(state.embedding, folder)
        files["codec"] = _write_codec(rows.codec, folder)
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
        "removed": folder.write_array("removed", np.flatnonzero(rows.removed)),
    }
    if progress is not None:
        document["progress"] = dict(progress)
    folder.write_manifest(document, name)
    folder.remove_unnamed()
    files["key"] = folder.key()
    return files


def _write_embedding(embedding: RetGKEmbedding, folder: Folder) -> StoredFile:
    path = folder.new_path("embedding", ".retgk")
    save_model(embedding, path)
    return folder.entry(path)


def _write_codec(codec: VectorCodec, folder: Folder) -> dict[str, Any]:
    arrays = {name: getattr(codec, name) for name in _CODEC_ARRAYS}
    stored = {
        name: None if array is None else folder.write_array(name, array)
        for name, array in arrays.items()
    }
    return {"storage": codec.storage, **stored}


def _write_piece(piece: Piece, folder: Folder) -> None:
    """Write the arrays of a piece, and have it use them from there, mapped into memory."""
    written: dict[str, Any] = {
        "rows": len(piece),
        "vectors": folder.write_array("vectors", piece.vectors),
        "ids": {
            name: folder.write_array(f"ids_{name}", array)
            for name, array in piece.ids.arrays.items()
        },
        "graphs": None,
    }
    if piece.graphs is not None:
        written["graphs"] = {
            "names": folder.write_document("names", piece.graphs.names),
            "arrays": {
                name: folder.write_array(f"graphs_{name}", array)
                for name, array in piece.graphs.arrays.items()
            },
        }
    opened = _open_piece(folder, written)
    piece.vectors, piece.ids, piece.graphs = opened.vectors, opened.ids, opened.graphs
    piece.files = written


def _write_graph_file(rows: RowStore, run: int, folder: Folder) -> dict[str, Any]:
    """Take a graph of neighbours into the folder, and use it from there."""
    graph = rows.graphs[run]
    path = graph.path
    if path.parent.resolve() != folder.path.resolve():
        path = folder.new_path("graph", ".usearch")
        with atomic_path(path) as part:
            shutil.copyfile(graph.path, part)
        shape = (graph.n_rows, rows.codec.n_columns)
        rows.graphs[run] = NeighbourGraph(path, shape, rows.codec.storage)
    return {"rows": graph.n_rows, "file": folder.entry(path)}


# Reading


def read_index(path: Path, name: str = MANIFEST) -> IndexState:
    """Read an index, all of it checked; `name` says which manifest."""
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


def read_intake(path: Path) -> tuple[RetGKEmbedding, IdKind | None]:
    """Embedding of an index, which knows how graphs are read, and the kind of its ids."""
    folder = Folder(path)
    document = folder.manifest()
    try:
        embedding = load_model(folder.file(document["embedding"]))
        pieces = document["pieces"]
        kind: IdKind | None = None
        if pieces:
            kind = "int" if "values" in pieces[0]["ids"] else "str"
    except (LookupError, TypeError, AttributeError) as error:
        raise InvalidInputError(f"{path / MANIFEST} is damaged: {error}") from error
    if not isinstance(embedding, RetGKEmbedding):
        raise InvalidInputError(f"{folder.path}: the model is no RetGKEmbedding")
    return embedding, kind


def _state_of(document: dict[str, Any], folder: Folder) -> IndexState:
    embedding = load_model(folder.file(document["embedding"]))
    if not isinstance(embedding, RetGKEmbedding):
        raise InvalidInputError(f"{folder.path}: the model is no RetGKEmbedding")
    codec = _codec_of(document["codec"], folder, embedding)
    rows = RowStore(codec, stored_count(document["run_rows"], "run_rows"))
    if not rows.run_rows:
        raise InvalidInputError(f"{folder.path}: runs of rows are empty")
    rows.pieces = [_open_piece(folder, entry) for entry in document["pieces"]]
    _check_pieces(rows, folder)
    rows.removed = _removed_of(rows, folder.array(document["removed"]), folder)
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
        files["graphs"][run] = {"rows": entry["rows"], "file": entry["file"]}
    return IndexState(embedding, rows, options, files)


def _codec_of(entry: Any, folder: Folder, embedding: RetGKEmbedding) -> VectorCodec:
    arrays: dict[str, NDArray[Any] | None] = {
        name: None if entry[name] is None else np.array(folder.array(entry[name]))
        for name in _CODEC_ARRAYS
    }
    mean, axes, units = (arrays[name] for name in _CODEC_ARRAYS)
    n_features = embedding.n_features_out_
    fits = mean is not None and units is not None and n_features <= _MOST_FEATURES
    if fits and mean is not None and units is not None:
        n_columns = n_features if axes is None else axes.shape[-1]
        fits = mean.shape == (n_features,) and units.shape == (n_columns,) and n_columns > 0
        fits = fits and (axes is None or axes.shape == (n_features, n_columns))
        fits = fits and bool((units > 0).all())
    given = [array for array in (mean, axes, units) if array is not None]
    fits = fits and all(array.dtype == np.float32 and np.isfinite(array).all() for array in given)
    if not fits or mean is None or units is None or entry["storage"] not in ("int8", "float16"):
        raise InvalidInputError(f"{folder.path}: the axes of the vectors do not fit the embedding")
    return VectorCodec(mean, axes, units, entry["storage"])


def _open_piece(folder: Folder, entry: Any) -> Piece:
    n_rows = stored_count(entry["rows"], "the number of rows of a piece", PIECE_ROWS)
    ids = {str(name): folder.array(each) for name, each in entry["ids"].items()}
    graphs = None
    if entry["graphs"] is not None:
        arrays = {str(key): folder.array(each) for key, each in entry["graphs"]["arrays"].items()}
        graphs = StoredGraphs(arrays, folder.document(entry["graphs"]["names"]))
        graphs.check(n_rows, str(folder.path))
    vectors = folder.array(entry["vectors"])
    where = str(folder.path)
    return Piece(vectors, ids_from_arrays(ids, n_rows, where), graphs, entry)


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
    shape = (n_rows, rows.codec.n_columns)
    return open_graph(folder.file(entry["file"]), shape, rows.codec.storage)
