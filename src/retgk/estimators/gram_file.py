"""Inner products of more graphs than fit memory: a matrix on disk, made block by block."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.converters import as_batch
from retgk.datasets.storage import atomic_path
from retgk.errors import InvalidInputError
from retgk.estimators.kernel import RetGKKernel
from retgk.kernels.gram import gram_of_reduced
from retgk.kernels.reduction import Reduced, reduced_points
from retgk.progress import progress_bar

__all__ = ["write_mean_embedding_gram"]

_BLOCK_BYTES = 1 << 28
# Kernel values: minutes of one core, which a kill may cost. Much smaller blocks would lose time:
# points that graphs of several blocks share are done again for each.
_BLOCK_VALUES = 1 << 37


def write_mean_embedding_gram(
    path: str | os.PathLike[str], X: Any, *, kernel: RetGKKernel | None = None
) -> NDArray[np.float64]:
    r"""
    Write inner products :math:`\langle m_G, m_H \rangle` to a ``.npy`` file, block by block.

    Only a block of rows is in memory at a time. The unfinished matrix lies beside `path` with
    the ending ``.partial``; if the process is killed, the same call goes on behind the last
    finished block and gives the same matrix as an undisturbed run.

    Parameters
    ----------
    path : path-like
        File to make; an error if it exists.
    X : GraphBatch or anything that `as_batch` takes
        Graphs.
    kernel : RetGKKernel, optional
        Its parameters for nodes are used.

    Returns
    -------
    memory-mapped ndarray of float64, shape (n, n)
        The finished matrix, read-only.
    """
    target = Path(path)
    if target.exists():
        raise InvalidInputError(f"{target} exists; remove it or choose another name")
    kernel = RetGKKernel() if kernel is None else kernel
    kernel._fit_nodes(as_batch(X))
    reduced = reduced_points(kernel._points, None, kernel._kernels, kernel.tol, kernel.n_jobs)
    partial = target.with_name(target.name + ".partial")
    _fill(partial, reduced, kernel.n_jobs)
    os.replace(partial, target)
    _journal(partial).unlink()
    matrix: NDArray[np.float64] = np.load(target, mmap_mode="r")
    return matrix


def _fill(partial: Path, reduced: Reduced, n_jobs: int | None) -> None:
    """Make the blocks that are not there yet, and note each when it is on disk."""
    n_graphs = reduced.x.n_graphs
    state: dict[str, Any] = {"fingerprint": _fingerprint(reduced), "rows": 0}
    journal = _journal(partial)
    if partial.exists() and journal.exists():
        found = json.loads(journal.read_text())
        if found["fingerprint"] != state["fingerprint"]:
            raise InvalidInputError(
                f"{partial} was begun with other graphs or parameters; remove it and {journal}"
            )
        state = found
        matrix = np.load(partial, mmap_mode="r+")
    else:
        shape = (n_graphs, n_graphs)
        matrix = np.lib.format.open_memmap(partial, mode="w+", dtype=np.float64, shape=shape)
    n_rows = _rows_of_block(reduced)
    with progress_bar("inner products", n_graphs**2 / 2) as advance:
        advance(_share(0, state["rows"], n_graphs))
        for start in range(state["rows"], n_graphs, n_rows):
            stop = min(start + n_rows, n_graphs)
            _fill_rows(matrix, reduced, start, stop, n_jobs)
            matrix.flush()
            with atomic_path(journal) as unfinished:
                unfinished.write_text(json.dumps({**state, "rows": stop}))
            advance(_share(start, stop, n_graphs))


def _rows_of_block(reduced: Reduced) -> int:
    """As many graphs as neither their rows nor their work are too much to lose."""
    n_graphs = reduced.x.n_graphs
    counts = np.bincount(reduced.x.labels).astype(float)
    rows_in_memory = _BLOCK_BYTES // (8 * n_graphs)
    rows_in_time = _BLOCK_VALUES * n_graphs // max(1.0, (counts**2).sum())
    return max(1, int(min(rows_in_memory, rows_in_time)))


def _share(start: int, stop: int, n_graphs: int) -> float:
    """Pairs of graphs in some rows, from the diagonal on."""
    return (stop - start) * (n_graphs - (start + stop) / 2)


def _fill_rows(matrix: Any, reduced: Reduced, start: int, stop: int, n_jobs: int | None) -> None:
    """Rows start to stop from the diagonal on, and their mirror image below it."""
    x, y = reduced.x.of_graphs(start, stop), reduced.x.of_graphs(start, reduced.x.n_graphs)
    block = Reduced(x, y, reduced.kernels, reduced.block_ptr, reduced.dtype, reduced.error)
    products = gram_of_reduced(block, n_jobs)
    square = products[:, : stop - start]
    square[...] = np.triu(square) + np.triu(square, 1).T  # symmetric to the bit
    matrix[start:stop, start:] = products
    matrix[start:, start:stop] = products.T


def _journal(partial: Path) -> Path:
    return partial.with_name(partial.name + ".json")


def _fingerprint(reduced: Reduced) -> str:
    """Hash of everything that the matrix depends on."""
    digest = hashlib.sha256(repr((reduced.kernels, str(reduced.dtype))).encode())
    points = reduced.x
    for array in (points.coordinates, points.labels, points.entry_points, points.entry_graphs):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
