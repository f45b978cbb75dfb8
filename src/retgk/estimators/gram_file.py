"""Inner products of more graphs than fit memory: a matrix on disk, made block by block."""

import math
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby, pairwise
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
from retgk.runtime.cluster_tasks import check_client, results_in_order
from retgk.runtime.progress import progress_bar
from retgk.runtime.seeds import seed_from
from retgk.runtime.storage import file_to_write

__all__ = ["check_new_gram", "write_gram", "write_mean_embedding_gram"]


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
    kernel: RetGKKernel | None = None,
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
    kernel : RetGKKernel, optional
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
    >>> from retgk import make_graph_classification
    >>> graphs = make_graph_classification(n_graphs=6, random_state=0).graphs
    >>> with TemporaryDirectory() as folder:
    ...     write_mean_embedding_gram(f"{folder}/gram.npy", graphs).shape
    (6, 6)
    """
    check_client(client)
    given = RetGKKernel() if kernel is None else kernel
    _, batch = fit_intake(given, as_batch(X))
    target = check_new_gram(path, len(batch))
    seed = _seed(given.random_state, target)
    own = clone(given).set_params(random_state=seed)
    return write_gram(target, kernel_engine(own).fit(kernel_features(own, batch)), seed, client)


def write_gram(
    path: str | os.PathLike[str], engine: Engine, seed: int, client: Any = None
) -> Floats:
    """
    Write the inner products of a fitted engine, or go on with a file that was begun.

    The seed is noted beside an unfinished file, so that a later call can fit the same engine.
    """
    target = check_new_gram(path, engine.n_graphs)
    with growing_matrix(target, engine.n_graphs, engine.digest(), seed) as matrix:
        _fill(matrix, engine, client)
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


Tile = tuple[int, int, int, int]
"""First row and the one after the last, first column and the one after the last."""


def _fill(matrix: GrowingMatrix, engine: Engine, client: Any) -> None:
    """Append the blocks of rows that are not there yet."""
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
    """Inner products of a tile, on this machine or on a worker."""
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
