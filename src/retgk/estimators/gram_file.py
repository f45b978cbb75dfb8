"""Inner products of more graphs than fit memory: a matrix on disk, made block by block."""

import hashlib
import io
import json
import math
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from errno import EINVAL, ENOSYS, EOPNOTSUPP
from itertools import groupby, pairwise
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from retgk._runtime.cluster import check_client, results_in_order
from retgk._runtime.files import (
    atomic_path,
    file_to_write,
    has_own_file,
    lock_at_once,
    naming_errors,
    open_own_file,
)
from retgk._runtime.names import seed_from
from retgk._runtime.parallel import progress_bar
from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.estimators.embedding import npy_header
from retgk.estimators.kernel import RetGK, new_engine, new_features
from retgk.io.convert import GraphsLike, as_batch
from retgk.kernels.engine import Engine, fit_intake

# A square matrix that is written row by row, with a journal of the rows that are complete.

_FORMAT = 2
_CHUNK_BYTES = 1 << 24
_DTYPE = np.dtype(np.float64)
_KINDS = {"fingerprint": str, "rows": int, "seed": int, "sha256": str}


def partial_path(target: Path) -> Path:
    return target.with_name(target.name + ".partial")


def check_not_growing(target: Path) -> None:
    partial = partial_path(target)
    if has_own_file(partial):
        with open(open_own_file(partial, os.O_RDWR), "r+b", buffering=0) as file:
            _lock(file, target)


@contextmanager
def growing_matrix(
    target: Path, n_rows: int, fingerprint: str, seed: int
) -> Iterator["GrowingMatrix"]:
    """Continue a matrix or begin it; it gets its name when the block ends."""
    partial = partial_path(target)
    is_new = not has_own_file(partial)
    descriptor = open_own_file(partial, os.O_RDWR | os.O_CREAT)
    with naming_errors(target), _closing(open(descriptor, "r+b", buffering=0)) as file:
        _lock(file, target)
        matrix = GrowingMatrix(file, partial, n_rows, seed, fingerprint)
        if not is_new:
            matrix.resume()
        matrix.reserve()
        yield matrix
        if os.path.lexists(target):
            raise InvalidInputError(f"{target} was made meanwhile; the matrix is in {partial}")
        if os.name == "nt":  # moves no open files
            file.close()
        os.replace(partial, target)
        _journal(partial).unlink()


@contextmanager
def _closing(file: io.FileIO) -> Iterator[io.FileIO]:
    """Close a file; an error of that says nothing of rows, which are on disk before they count."""
    try:
        yield file
    finally:
        with suppress(OSError):
            file.close()


class GrowingMatrix:
    """Rows that are whole, in a ``.npy`` file that is larger, and a journal with a hash of them."""

    def __init__(
        self, file: io.FileIO, partial: Path, n_rows: int, seed: int, fingerprint: str
    ) -> None:
        self.n_finished = 0
        self._file, self._partial, self._n_rows = file, partial, n_rows
        self._header = npy_header((n_rows, n_rows), _DTYPE)
        self._sum = hashlib.sha256()
        self._facts = {"format": _FORMAT, "fingerprint": fingerprint, "seed": seed}

    def resume(self) -> None:
        """Take over the rows that the journal tells of, after checking all of them."""
        journal = _read_journal(self._partial)
        size = os.fstat(self._file.fileno()).st_size
        if journal is None and size:
            raise _not_usable(self._partial, "has no journal beside it")
        if journal is None:
            return
        if journal["fingerprint"] != self._facts["fingerprint"]:
            raise InvalidInputError(
                f"{self._partial} was begun with other graphs or parameters; remove it and "
                f"{_journal(self._partial)}"
            )
        self._check_rows(journal["rows"], size, journal["sha256"])
        self.n_finished = journal["rows"]

    def _check_rows(self, n_finished: int, size: int, expected: str) -> None:
        if n_finished == 0:
            return
        if n_finished > self._n_rows or size > self._offset(self._n_rows):
            raise _not_usable(self._partial, f"has more than the {self._n_rows} rows of the matrix")
        if size < self._offset(n_finished):
            raise _not_usable(self._partial, f"is too short for the {n_finished} rows it had")
        if self._read(0, len(self._header)) != self._header:
            raise _not_usable(self._partial, f"is no matrix of {self._n_rows} rows of float64")
        end = self._offset(n_finished)
        for start in range(len(self._header), end, _CHUNK_BYTES):
            self._sum.update(self._read(start, min(_CHUNK_BYTES, end - start)))
        if self._sum.hexdigest() != expected:
            raise _not_usable(self._partial, "is damaged: its rows are not those that were written")

    def reserve(self) -> None:
        """Take all the room on disk at once, where the system can, and write the header."""
        is_empty = not os.fstat(self._file.fileno()).st_size
        try:
            if self.n_finished == 0:
                self._note()
            if hasattr(os, "posix_fallocate"):
                _allocate(self._file.fileno(), self._offset(self._n_rows))
            self._write(0, self._header)
        except OSError:
            if is_empty:
                _journal(self._partial).unlink(missing_ok=True)
                self._partial.unlink()
            raise

    def columns(self, start: int, stop: int) -> Floats:
        """Columns of the finished rows, as rows of the symmetric matrix."""
        mirrored = np.empty((stop - start, self.n_finished))
        width = (stop - start) * _DTYPE.itemsize
        at = start * _DTYPE.itemsize
        for row in range(self.n_finished):
            mirrored[:, row] = np.frombuffer(self._read(self._offset(row) + at, width), _DTYPE)
        return mirrored

    def append(self, *parts: Floats) -> None:
        """Write further rows, given in parts side by side; they count when they are on disk."""
        for row in zip(*parts, strict=True):
            line = np.concatenate(row).tobytes()
            self._write(self._offset(self.n_finished), line)
            self._sum.update(line)
            self.n_finished += 1
        os.fsync(self._file.fileno())
        self._note()

    def _note(self) -> None:
        state = {**self._facts, "rows": self.n_finished, "sha256": self._sum.hexdigest()}
        with atomic_path(_journal(self._partial), follow_links=False) as unfinished:
            unfinished.write_text(json.dumps(state))

    def _offset(self, row: int) -> int:
        return len(self._header) + row * self._n_rows * _DTYPE.itemsize

    def _read(self, offset: int, n_bytes: int) -> bytes:
        self._file.seek(offset)
        content = self._file.read(n_bytes)
        if len(content) != n_bytes:
            raise _not_usable(self._partial, "became shorter")
        return content

    def _write(self, offset: int, content: bytes) -> None:
        self._file.seek(offset)
        left = memoryview(content)
        while left:
            left = left[self._file.write(left) :]


def _allocate(descriptor: int, n_bytes: int) -> None:
    try:
        os.posix_fallocate(descriptor, 0, n_bytes)
    except OSError as error:
        if error.errno not in (EINVAL, ENOSYS, EOPNOTSUPP):  # a file system that cannot
            raise


def _lock(file: io.FileIO, target: Path) -> None:
    """Raise if another run has the file, or has moved it since it was opened."""
    partial = partial_path(target)
    is_free = lock_at_once(file.fileno()) is not False
    opened = os.fstat(file.fileno())
    if not (is_free and partial.exists() and os.path.samestat(opened, partial.stat())):
        raise InvalidInputError(
            f"another run is writing to {target}; wait for it, or choose another name"
        )


def _journal(partial: Path) -> Path:
    return partial.with_name(partial.name + ".json")


def _read_journal(partial: Path) -> dict[str, Any] | None:
    journal = _journal(partial)
    if not has_own_file(journal):
        return None
    try:
        found = json.loads(journal.read_text())
    except (ValueError, RecursionError):
        found = None
    is_journal = isinstance(found, dict) and found.get("format") == _FORMAT
    is_journal = is_journal and all(type(found.get(name)) is kind for name, kind in _KINDS.items())
    if not is_journal or found["rows"] < 0:
        raise InvalidInputError(
            f"{journal} does not tell how far {partial} is; remove both to begin anew"
        )
    return dict(found)


def _not_usable(partial: Path, problem: str) -> InvalidInputError:
    both = f"remove it and {_journal(partial)} to begin anew"
    return InvalidInputError(f"{partial} {problem}; {both}")


BLOCK_BYTES = 1 << 28
# Kernel values: minutes of one core, which a kill may cost. Much smaller blocks would lose time:
# points that graphs of several blocks share are done again for each (a five-hundredth of the work
# on REDDIT-MULTI-12K).
_BLOCK_VALUES = 1 << 37
# About a second of one core: what a worker of a cluster is given at a time. Sums depend on how
# the matrix is cut, so it is cut the same way everywhere.
_TILE_VALUES = 1 << 30


def write_mean_embedding_gram(
    path: str | os.PathLike[str],
    X: GraphsLike,
    *,
    kernel: RetGK | None = None,
    client: Any = None,
) -> Floats:
    r"""
    Write inner products :math:`\langle m_G, m_H \rangle` to a ``.npy`` file, block by block.

    Only a block of rows is in memory at a time. The unfinished matrix lies beside `path` with
    the ending ``.partial``; if the process is killed, the same call goes on behind the last
    finished block and gives the same matrix as an undisturbed run. Where `random_state` is not
    a whole number, a seed is drawn when the file is begun, and kept beside it until it is done.
    Rows that are finished are checked before it goes on, room on disk is taken at the start, and
    a second process that would write the same file is refused.

    Parameters
    ----------
    path : path-like
        File to make; an error if it exists.
    X : GraphBatch or anything that `as_batch` takes
        Graphs.
    kernel : RetGK, optional
        Its parameters for nodes are used; itself it is left as it is, fitted or not.
    client : dask.distributed.Client, optional
        Cluster whose workers compute the inner products; this process sends them the graphs once
        and writes the file. The matrix is the same to the bit. If the scheduler is lost it is a
        `ConnectionError`, and the same call with a new client goes on.

    Returns
    -------
    memory-mapped ndarray of float64, shape (n, n)
        The finished matrix, read-only.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from retgk.datasets import make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=6, rng=0).graphs
    >>> with TemporaryDirectory() as folder:
    ...     write_mean_embedding_gram(f"{folder}/gram.npy", graphs).shape
    (6, 6)
    """
    check_client(client)
    given = RetGK() if kernel is None else kernel
    _, batch = fit_intake(given, as_batch(X))
    target = check_new_gram(path, len(batch))
    seed = _seed(given.random_state, target)
    own = clone(given).set_params(random_state=seed)
    engine = new_engine(own)
    return write_gram(target, engine.fit(new_features(own, engine, batch)), seed, client)


def write_gram(
    path: str | os.PathLike[str], engine: Engine, seed: int, client: Any = None
) -> Floats:
    """Write the inner products of a fitted engine, or go on with a file that was begun."""
    target = check_new_gram(path, engine.n_graphs)
    with growing_matrix(target, engine.n_graphs, engine.digest(), seed) as matrix:
        _fill(matrix, engine, client)
    finished: Floats = np.load(target, mmap_mode="r")
    return finished


def check_new_gram(path: str | os.PathLike[str], n_graphs: int) -> Path:
    target = Path(path)
    if target.exists():
        if not partial_path(target).exists():  # a kill may leave the journal of a finished matrix
            _journal(partial_path(target)).unlink(missing_ok=True)
        raise InvalidInputError(f"{target} exists; remove it or choose another name")
    target = file_to_write(target)
    _check_disk(partial_path(target), 8 * n_graphs**2)
    check_not_growing(target)
    return target


def _seed(random_state: Any, target: Path) -> int:
    """The seed that was given, or that of the unfinished matrix, or a new one."""
    if isinstance(random_state, Integral):
        return int(random_state)
    partial = partial_path(target)
    journal = _read_journal(partial) if has_own_file(partial) else None
    return int(journal["seed"] if journal else seed_from(random_state))


def _check_disk(partial: Path, n_bytes: int) -> None:
    folder = partial.parent
    if not folder.is_dir():
        raise InvalidInputError(f"{folder} is not a folder; make it first")
    has_blocks = partial.exists() and hasattr(partial.stat(), "st_blocks")  # not on Windows
    there = 512 * partial.stat().st_blocks if has_blocks else 0
    free = shutil.disk_usage(folder).free
    if n_bytes - there > free:
        raise InvalidInputError(
            f"the matrix takes {n_bytes / 2**30:.1f} GiB, but only {free / 2**30:.1f} GiB are free "
            f"in {folder}; make room, or choose another folder"
        )


Tile = tuple[int, int, int, int]
"""First row and the one after the last, first column and the one after the last."""


def _fill(matrix: GrowingMatrix, engine: Engine, client: Any) -> None:
    n_graphs, first = engine.n_graphs, matrix.n_finished
    tiles = list(_tiles(engine, first))
    with (
        progress_bar("inner products", n_graphs**2 / 2) as advance,
        closing(results_in_order(_tile_products, tiles, engine, client)) as products,
    ):
        advance(n_graphs**2 / 2 - sum(map(_n_pairs, tiles)))
        for (start, stop), row in groupby(tiles, lambda tile: tile[:2]):
            parts = [matrix.columns(start, stop)]
            for tile in row:
                parts.append(next(products))
                advance(_n_pairs(tile))
            matrix.append(*parts)


def _tiles(engine: Engine, first: int) -> Iterator[Tile]:
    """Tiles of the rows from the first on: block by block, from the diagonal to the right."""
    n_graphs, work = engine.n_graphs, engine.work()
    n_rows = _rows_per_block(n_graphs, work)
    for start in range(first, n_graphs, n_rows):
        stop = min(start + n_rows, n_graphs)
        yield start, stop, start, stop
        values = work * (stop - start) / n_graphs * (n_graphs - stop) / n_graphs
        n_parts = min(n_graphs - stop, max(1, math.ceil(values / _TILE_VALUES)))
        edges = np.linspace(stop, n_graphs, n_parts + 1).astype(int).tolist()
        yield from ((start, stop, *span) for span in pairwise(edges))


def _tile_products(engine: Engine, start: int, stop: int, first: int, last: int) -> Floats:
    return engine.inner_products(slice(start, stop), slice(first, last))


def _rows_per_block(n_graphs: int, work: float) -> int:
    """Rows per block, limited by memory, by how much work a kill may lose, and by the diagonal."""
    work = max(1.0, work)
    rows_in_memory = BLOCK_BYTES // (8 * n_graphs)
    rows_in_time = _BLOCK_VALUES * n_graphs // work
    rows_in_tile = n_graphs * math.sqrt(2 * _TILE_VALUES / work)  # half of a square is computed
    return max(1, int(min(rows_in_memory, rows_in_time, rows_in_tile)))


def _n_pairs(tile: Tile) -> float:
    """Pairs of graphs in a tile, half of them on the diagonal."""
    start, stop, first, last = tile
    return (stop - start) * (last - first) / (2 if start == first else 1)
