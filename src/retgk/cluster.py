"""Work on the machines of a dask cluster: files of graphs to vectors, and ways to connect."""

import hashlib
import io
import json
import os
import shutil
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from retgk._runtime.array_files import array_digest
from retgk._runtime.cluster import check_client, results_in_order
from retgk._runtime.fields import Arrays
from retgk._runtime.files import (
    atomic_path,
    file_to_write,
    has_own_file,
    lock_at_once,
    open_own_file,
)
from retgk._runtime.names import check_keywords, keywords_of
from retgk._runtime.parallel import progress_bar
from retgk.errors import InvalidInputError
from retgk.estimators.embedding import RetGKEmbedding
from retgk.estimators.model_files import describe_model
from retgk.graphs.batch import GraphBatch
from retgk.io.formats import PathLike, checked_format, format_of, readable_endings, reading_options
from retgk.io.molecules import SmilesReading, parsed_smiles, smiles_texts
from retgk.io.parquet import iter_parquet, row_group_sizes
from retgk.io.read import read_graphs

# Files of graphs, cut into pieces that workers read.

_UNSUPPORTED_OPTIONS = ("skip_invalid", "targets")  # they leave rows out, or have no effect
_MOLECULE_OPTIONS = ("bond_orders", "bond_types", "atom_attributes", "add_hydrogens")


@dataclass(frozen=True)
class FilePiece:
    """A file, or a part of one."""

    path: Path
    row_groups: tuple[int, ...] = ()
    first: int = 0
    smiles: tuple[str, ...] = ()

    def batches(self, options: Mapping[str, Any], batch_size: int) -> Iterator[GraphBatch]:
        if self.smiles:
            yield self._molecules(options)
            return
        self._check_visible()
        if self.row_groups:
            limit = options.get("max_bytes")
            parts = iter_parquet(self.path, batch_size, row_groups=self.row_groups, max_bytes=limit)
            yield from (part.graphs for part in parts)
        else:
            yield read_graphs(self.path, **options).graphs

    def _molecules(self, options: Mapping[str, Any]) -> GraphBatch:
        own = {name: options[name] for name in _MOLECULE_OPTIONS if name in options}
        try:
            return parsed_smiles(SmilesReading(**own).reader(), self.smiles, None).graphs
        except InvalidInputError as error:
            where = f"{self.path}, counted from molecule {self.first} on"
            raise InvalidInputError(f"{where}: {error}") from error

    def _check_visible(self) -> None:
        if not self.path.exists():
            raise InvalidInputError(
                f"{self.path} cannot be seen on {socket.gethostname()}; put it where all machines "
                "have it by the same name"
            )

    def as_json(self) -> dict[str, Any]:
        n_graphs = len(self.smiles) or None
        return {
            "file": str(self.path),
            "row_groups": list(self.row_groups),
            "first": self.first,
            "molecules": n_graphs,
        }


def file_pieces(
    files: PathLike | Iterable[PathLike], options: Mapping[str, Any], piece_size: int
) -> list[FilePiece]:
    """Cut files into pieces of about so many graphs."""
    for name in _UNSUPPORTED_OPTIONS:
        if options.get(name):
            raise InvalidInputError(
                f"{name} cannot be given for files that are read in pieces: row i is graph i; "
                f"leave it out, or convert the files first"
            )
    paths = [Path(os.path.abspath(path)) for path in _listed(files)]
    for path in paths:
        if not path.is_file():
            raise InvalidInputError(f"there is no file {path}")
    return list(chain.from_iterable(_pieces_of(path, options, piece_size) for path in paths))


def _listed(files: PathLike | Iterable[PathLike]) -> list[Path]:
    if not isinstance(files, str | os.PathLike):
        return list(map(Path, files))
    folder = Path(files)
    if not folder.is_dir():
        return [folder]
    return [file for file in sorted(folder.iterdir()) if file.name.endswith(readable_endings())]


def _pieces_of(path: Path, options: Mapping[str, Any], piece_size: int) -> Iterator[FilePiece]:
    is_table = bool(options.get("smiles_column") or options.get("target_column"))
    name = options.get("format")
    form = format_of(path, is_table) if name is None else checked_format(name)
    if form.name == "parquet":
        yield from _parquet_pieces(path, piece_size)
    elif form.name == "smiles":
        columns = SmilesReading(options.get("smiles_column"))
        texts = smiles_texts(path, columns, options.get("max_bytes"))
        for first in range(0, len(texts), piece_size):
            yield FilePiece(path, (), first, tuple(texts[first : first + piece_size]))
    else:
        yield FilePiece(path)


def _parquet_pieces(path: Path, piece_size: int) -> Iterator[FilePiece]:
    sizes = [n_rows for n_rows, _ in row_group_sizes(path)]
    first = start = n_graphs = 0
    for group, size in enumerate(sizes):
        if n_graphs and n_graphs + size > piece_size:
            yield FilePiece(path, tuple(range(start, group)), first)
            first, start, n_graphs = first + n_graphs, group, 0
        n_graphs += size
    if n_graphs:
        yield FilePiece(path, tuple(range(start, len(sizes))), first)


# Vectors of the graphs of many files, piece by piece, on this machine or on a cluster.

_BEGUN = "pieces.json"
_COPY_ROWS_BYTES = 1 << 24
_SAME_VECTORS = {"n_jobs", "batch_size", "sparse_output"}  # parameters that change no bit


def embed_files(
    embedding: RetGKEmbedding,
    files: PathLike | Iterable[PathLike],
    output: PathLike,
    *,
    client: Any = None,
    piece_size: int = 5_000,
    **options: Any,
) -> Path:
    """
    Write the vectors of all graphs of some files, piece by piece.

    Files are read where the vectors are computed, which come back and are written in order, so that
    no machine holds all of them. If the call is interrupted, or the scheduler is lost, the same
    call goes on with the pieces that are missing.

    Parameters
    ----------
    embedding : RetGKEmbedding
        A fitted embedding; workers get it once.
    files : path-like or iterable of them
        Files as `read_graphs` reads them, or a folder of such, taken by name. Parquet files are
        cut between row groups, lists and tables of SMILES between molecules; any other file is one
        piece.
    output : path-like
        A name that ends in ``.npy``: one array, row i of which is graph i of the files one after
        the other. It appears when all is done; pieces lie in a folder beside it until then. Any
        other name: a folder, in which the pieces stay, ``00000.npy`` and so on, with
        ``pieces.json``, which tells what each holds.
    client : dask.distributed.Client, optional
        Cluster whose workers read and embed; they must see the files by the same name. By default
        this process does it. The vectors are the same to the bit.
    piece_size : int, default=5_000
        Graphs in a piece, or so; a lost worker loses one.
    **options
        Options of `read_graphs` by which files are read.

    Returns
    -------
    Path
        The file or folder.

    Raises
    ------
    ConnectionError
        If the scheduler of the cluster is lost.

    Examples
    --------
    >>> import tempfile
    >>> from retgk.datasets import make_graph_classification
    >>> from retgk.io import write_parquet
    >>> from retgk.kernels import RetGKEmbedding, embed_files
    >>> graphs = make_graph_classification(n_graphs=50, rng=0).graphs
    >>> embedding = RetGKEmbedding(n_components=8, random_state=0).fit(graphs[:10])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_parquet(graphs, f"{folder}/graphs.parquet")
    ...     np.load(embed_files(embedding, path, f"{folder}/vectors.npy")).shape
    (50, 8)
    """
    _check(embedding, piece_size)
    known = (*keywords_of(read_graphs), *reading_options())
    check_keywords(options, known, "embed_files", {})
    check_client(client)
    target = Path(output)
    is_file = target.suffix == ".npy"
    if is_file and target.exists():
        raise InvalidInputError(f"{target} exists; remove it or choose another name")
    target = file_to_write(target) if is_file else target
    folder = target.with_name(target.name + ".pieces") if is_file else target
    if is_file and folder.is_symlink():
        raise InvalidInputError(f"{folder} is a link; remove it, or choose another name")
    pieces = file_pieces(files, options, piece_size)
    with _begun_folder(folder, _description(embedding, pieces, options)):
        parts = [folder / f"{number:05d}.npy" for number in range(len(pieces))]
        _write_missing(embedding, pieces, parts, (options, piece_size), client)
        shape = (embedding.n_features_out_, np.dtype(embedding.engine_.dtype))
        n_rows = sum(len(_checked_part(part, *shape)) for part in parts)
        if is_file:
            _join(parts, target, n_rows, *shape)
    if is_file:
        shutil.rmtree(folder)
    return target


def _check(embedding: RetGKEmbedding, piece_size: int) -> None:
    if not isinstance(embedding, RetGKEmbedding):
        raise InvalidInputError(
            f"embedding must be a RetGKEmbedding, got {type(embedding).__name__}"
        )
    check_is_fitted(embedding)
    if not isinstance(piece_size, Integral) or piece_size < 1:
        raise InvalidInputError(f"piece_size must be a whole number from 1 on, got {piece_size!r}")


def _write_missing(
    embedding: RetGKEmbedding,
    pieces: list[FilePiece],
    parts: list[Path],
    how: tuple[dict[str, Any], int],
    client: Any,
) -> None:
    missing = [number for number, part in enumerate(parts) if not has_own_file(part)]
    tasks = [(pieces[number], *how) for number in missing]
    with (
        progress_bar("embedding", len(parts)) as advance,
        closing(results_in_order(_piece_vectors, tasks, embedding, client)) as found,
    ):
        advance(len(parts) - len(missing))
        for number, vectors in zip(missing, found, strict=True):
            part = atomic_path(parts[number], follow_links=False)
            with part as unfinished, unfinished.open("wb") as stream:
                np.save(stream, vectors, allow_pickle=False)
            advance(1)


def _piece_vectors(
    embedding: RetGKEmbedding, piece: FilePiece, options: dict[str, Any], batch_size: int
) -> NDArray[Any]:
    batches = piece.batches(options, batch_size)
    return np.concatenate([_dense(embedding.transform(batch)) for batch in batches])


def _dense(vectors: Any) -> NDArray[Any]:
    return np.asarray(vectors.toarray() if hasattr(vectors, "toarray") else vectors)


def _description(
    embedding: RetGKEmbedding, pieces: list[FilePiece], options: dict[str, Any]
) -> dict[str, Any]:
    """What the vectors depend on: pieces that were begun with other things are not continued."""
    arrays: Arrays = {}
    model = describe_model(embedding, arrays)
    for name in _SAME_VECTORS:
        model["parameters"].pop(name, None)
    model["arrays"] = {name: array_digest(name, array) for name, array in arrays.items()}
    files = {}
    for path in dict.fromkeys(piece.path for piece in pieces):
        facts = path.stat()
        files[str(path)] = [facts.st_size, facts.st_mtime_ns]
    text = json.dumps([model, files, options], default=repr)
    return {
        "format": 1,
        "fingerprint": hashlib.sha256(text.encode()).hexdigest(),
        "pieces": [piece.as_json() for piece in pieces],
    }


@contextmanager
def _begun_folder(folder: Path, description: dict[str, Any]) -> Iterator[None]:
    begun = folder / _BEGUN
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"{folder} is no folder; choose another name")
    if not has_own_file(begun):
        if folder.exists() and any(folder.iterdir()):
            raise InvalidInputError(f"{folder} holds other files; choose another name")
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_path(begun, follow_links=False) as unfinished:
            unfinished.write_text(json.dumps(description, indent=1))
    with open(open_own_file(begun, os.O_RDWR), "r+") as file:
        if lock_at_once(file.fileno()) is False:
            raise InvalidInputError(
                f"another run is writing to {folder}; wait for it, or choose another name"
            )
        if not _is_same(file, description):
            raise InvalidInputError(
                f"{folder} was begun with another embedding, other files or options; remove it, or "
                "choose another name"
            )
        yield


def _is_same(file: io.TextIOWrapper, description: dict[str, Any]) -> bool:
    try:
        return bool(json.load(file) == description)
    except (ValueError, RecursionError):
        return False


def _checked_part(part: Path, width: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    try:
        vectors: NDArray[Any] = np.load(part, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InvalidInputError(
            f"{part} is damaged: {error}; remove it, and run the same call again"
        ) from error
    if vectors.ndim != 2 or vectors.shape[1] != width or vectors.dtype != dtype:
        raise InvalidInputError(
            f"{part} holds {vectors.dtype} of shape {vectors.shape}, not rows of {width} {dtype}; "
            "remove it, and run the same call again"
        )
    return vectors


def _join(parts: list[Path], target: Path, n_rows: int, width: int, dtype: np.dtype[Any]) -> None:
    """Make one array of all parts, some rows of which are in memory at a time."""
    at_once = max(1, _COPY_ROWS_BYTES // (width * dtype.itemsize))
    with atomic_path(target) as unfinished, unfinished.open("wb") as stream:
        np.lib.format.write_array_header_1_0(
            stream, {"descr": dtype.str, "fortran_order": False, "shape": (n_rows, width)}
        )
        for part in parts:
            vectors = _checked_part(part, width, dtype)
            for first in range(0, len(vectors), at_once):
                stream.write(np.ascontiguousarray(vectors[first : first + at_once]).tobytes())
