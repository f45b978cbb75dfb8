"""Inner products of more graphs than fit memory: a matrix on disk, made block by block."""

import os
import shutil
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from retgk.array_types import Floats
from retgk.engine.protocol import Engine
from retgk.errors import InvalidInputError
from retgk.estimators.engines_of_parameters import kernel_engine, kernel_features
from retgk.estimators.graph_intake import fit_intake
from retgk.estimators.growing_matrix import (
    GrowingMatrix,
    begun_seed,
    check_not_growing,
    growing_matrix,
    partial_path,
    remove_old_journal,
)
from retgk.estimators.kernel import RetGKKernel
from retgk.io.converters import GraphsLike, as_batch
from retgk.runtime.progress import progress_bar
from retgk.runtime.seeds import seed_from
from retgk.runtime.storage import file_to_write

__all__ = ["check_new_gram", "write_gram", "write_mean_embedding_gram"]


BLOCK_BYTES = 1 << 28
# Kernel values: minutes of one core, which a kill may cost. Much smaller blocks would lose time:
# points that graphs of several blocks share are done again for each (a five-hundredth of the work
# on REDDIT-MULTI-12K).
_BLOCK_VALUES = 1 << 37


def write_mean_embedding_gram(
    path: str | os.PathLike[str], X: GraphsLike, *, kernel: RetGKKernel | None = None
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
    kernel : RetGKKernel, optional
        Its parameters for nodes are used; itself it is left as it is, fitted or not.

    Returns
    -------
    memory-mapped ndarray of float64, shape (n, n)
        The finished matrix, read-only.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from retgk import make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=6, random_state=0).graphs
    >>> with TemporaryDirectory() as folder:
    ...     write_mean_embedding_gram(f"{folder}/gram.npy", graphs).shape
    (6, 6)
    """
    given = RetGKKernel() if kernel is None else kernel
    _, batch = fit_intake(given, as_batch(X))
    target = check_new_gram(path, len(batch))
    seed = _seed(given.random_state, target)
    own = clone(given).set_params(random_state=seed)
    return write_gram(target, kernel_engine(own).fit(kernel_features(own, batch)), seed)


def write_gram(path: str | os.PathLike[str], engine: Engine, seed: int) -> Floats:
    """
    Write the inner products of a fitted engine, or go on with a file that was begun.

    The seed is noted beside an unfinished file, so that a later call can fit the same engine.
    """
    target = check_new_gram(path, engine.n_graphs)
    with growing_matrix(target, engine.n_graphs, engine.digest(), seed) as matrix:
        _fill(matrix, engine)
    finished: Floats = np.load(target, mmap_mode="r")
    return finished


def check_new_gram(path: str | os.PathLike[str], n_graphs: int) -> Path:
    """Raise if a matrix for that many graphs cannot be written, before any work; give its file."""
    target = Path(path)
    if target.exists():
        remove_old_journal(target)
        raise InvalidInputError(f"{target} exists; remove it or choose another name")
    target = file_to_write(target)
    _check_disk(partial_path(target), 8 * n_graphs**2)
    check_not_growing(target)
    return target


def _seed(random_state: Any, target: Path) -> int:
    """The seed that was given, or that of the unfinished matrix, or a new one."""
    if isinstance(random_state, Integral):
        return int(random_state)
    begun = begun_seed(target)
    return int(seed_from(random_state)) if begun is None else begun


def _check_disk(partial: Path, n_bytes: int) -> None:
    """Raise if the matrix does not fit the disk: writing to it would end the process."""
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


def _fill(matrix: GrowingMatrix, engine: Engine) -> None:
    """Append the blocks of rows that are not there yet."""
    n_graphs, first = engine.n_graphs, matrix.n_finished
    n_rows = _rows_per_block(engine)
    with progress_bar("inner products", n_graphs**2 / 2) as advance:
        advance(_n_pairs(0, first, n_graphs))
        for start in range(first, n_graphs, n_rows):
            stop = min(start + n_rows, n_graphs)
            _append_rows(matrix, engine, start, stop)
            advance(_n_pairs(start, stop, n_graphs))


def _rows_per_block(engine: Engine) -> int:
    """Rows per block, limited by memory and by how much work a kill may lose."""
    n_graphs = engine.n_graphs
    rows_in_memory = BLOCK_BYTES // (8 * n_graphs)
    rows_in_time = _BLOCK_VALUES * n_graphs // max(1.0, engine.work())
    return max(1, int(min(rows_in_memory, rows_in_time)))


def _n_pairs(start: int, stop: int, n_graphs: int) -> float:
    """Pairs of graphs in some rows, from the diagonal on."""
    return (stop - start) * (n_graphs - (start + stop) / 2)


def _append_rows(matrix: GrowingMatrix, engine: Engine, start: int, stop: int) -> None:
    """Append rows start to stop: the mirror image of rows before them, and new inner products."""
    rows, others = slice(start, stop), slice(stop, engine.n_graphs)
    parts = [matrix.columns(start, stop), engine.inner_products(rows, rows)]
    if stop < engine.n_graphs:
        parts.append(engine.inner_products(rows, others))
    matrix.append(*parts)
