"""Inner products of more graphs than fit memory: a matrix on disk, made block by block."""

import hashlib
import json
import os
import shutil
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from retgk.engine.exact.reduction import Reduced
from retgk.engine.exact.tiled_gram import gram_of_reduced
from retgk.errors import InvalidInputError
from retgk.estimators.kernel import RetGKKernel
from retgk.io.converters import as_batch
from retgk.runtime.progress import progress_bar
from retgk.runtime.storage import atomic_path
from retgk.walks.sampling import seed_from

__all__ = ["fit_and_write_gram", "write_mean_embedding_gram"]

_BLOCK_BYTES = 1 << 28
# Kernel values: minutes of one core, which a kill may cost. Much smaller blocks would lose time:
# points that graphs of several blocks share are done again for each (a five-hundredth of the work
# on REDDIT-MULTI-12K).
_BLOCK_VALUES = 1 << 37


def write_mean_embedding_gram(
    path: str | os.PathLike[str], X: Any, *, kernel: RetGKKernel | None = None
) -> NDArray[np.float64]:
    r"""
    Write inner products :math:`\langle m_G, m_H \rangle` to a ``.npy`` file, block by block.

    Only a block of rows is in memory at a time. The unfinished matrix lies beside `path` with
    the ending ``.partial``; if the process is killed, the same call goes on behind the last
    finished block and gives the same matrix as an undisturbed run. Where `random_state` is not
    a whole number, a seed is drawn when the file is begun, and kept beside it until it is done.

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
    """
    given = RetGKKernel() if kernel is None else kernel
    seed = _seed(given.random_state, _partial(Path(path)))
    return fit_and_write_gram(path, X, clone(given).set_params(random_state=seed))


def fit_and_write_gram(
    path: str | os.PathLike[str], X: Any, kernel: RetGKKernel
) -> NDArray[np.float64]:
    """
    Do what `write_mean_embedding_gram` does with the nodes of the given kernel itself.

    Its `random_state` must be a whole number. It gets ``structure_kernel_`` and
    ``attribute_kernels_``, but is not fitted otherwise.
    """
    target, batch = Path(path), as_batch(X)
    if target.exists():
        raise InvalidInputError(f"{target} exists; remove it or choose another name")
    partial = _partial(target)
    _check_disk(partial, 8 * len(batch) ** 2)
    kernel._fit_nodes(batch)
    _fill(partial, kernel._fitted.reduced, kernel.n_jobs, int(kernel.random_state))
    os.replace(partial, target)
    _journal(partial).unlink()
    matrix: NDArray[np.float64] = np.load(target, mmap_mode="r")
    return matrix


def _seed(random_state: Any, partial: Path) -> int:
    """The seed that was given, or that of the unfinished matrix, or a new one."""
    if isinstance(random_state, Integral):
        return int(random_state)
    begun = _begun(partial)
    return int(seed_from(random_state)) if begun is None else int(begun["seed"])


def _begun(partial: Path) -> dict[str, Any] | None:
    """What is known of an unfinished matrix; None if there is none that can be continued."""
    journal = _journal(partial)
    if not (partial.exists() and journal.exists()):
        return None
    try:
        found = json.loads(journal.read_text())
        return {"fingerprint": found["fingerprint"], "rows": found["rows"], "seed": found["seed"]}
    except (ValueError, LookupError, TypeError) as error:
        raise InvalidInputError(
            f"{journal} does not tell how far {partial} is; remove both to begin anew"
        ) from error


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


def _fill(partial: Path, reduced: Reduced, n_jobs: int | None, seed: int) -> None:
    """Make the blocks that are not there yet, and note each when it is on disk."""
    n_graphs = reduced.x.n_graphs
    matrix, state = _opened(partial, reduced, seed)
    n_rows = _rows_of_block(reduced)
    with progress_bar("inner products", n_graphs**2 / 2) as advance:
        advance(_share(0, state["rows"], n_graphs))
        for start in range(state["rows"], n_graphs, n_rows):
            stop = min(start + n_rows, n_graphs)
            _fill_rows(matrix, reduced, start, stop, n_jobs)
            matrix.flush()
            _note(partial, {**state, "rows": stop})
            advance(_share(start, stop, n_graphs))


def _opened(partial: Path, reduced: Reduced, seed: int) -> tuple[Any, dict[str, Any]]:
    """The unfinished matrix or a new one, and what is known of it."""
    state: dict[str, Any] = {"fingerprint": _fingerprint(reduced), "rows": 0, "seed": seed}
    shape = (reduced.x.n_graphs, reduced.x.n_graphs)
    if (found := _begun(partial)) is not None:
        if found["fingerprint"] != state["fingerprint"]:
            raise InvalidInputError(
                f"{partial} was begun with other graphs or parameters; remove it and "
                f"{_journal(partial)}"
            )
        return np.lib.format.open_memmap(partial, mode="r+"), found
    # first of all: a journal of an earlier matrix would count rows that this one does not have
    _journal(partial).unlink(missing_ok=True)
    matrix = np.lib.format.open_memmap(partial, mode="w+", dtype=np.float64, shape=shape)
    _note(partial, state)
    return matrix, state


def _note(partial: Path, state: dict[str, Any]) -> None:
    with atomic_path(_journal(partial)) as unfinished:
        unfinished.write_text(json.dumps(state))


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
    x = reduced.x.of_graphs(start, stop)
    matrix[start:stop, start:stop] = gram_of_reduced(replace(reduced, x=x, y=x), n_jobs)
    if stop < reduced.x.n_graphs:
        y = reduced.x.of_graphs(stop, reduced.x.n_graphs)
        products = gram_of_reduced(replace(reduced, x=x, y=y), n_jobs)
        matrix[start:stop, stop:] = products
        matrix[stop:, start:stop] = products.T


def _partial(target: Path) -> Path:
    return target.with_name(target.name + ".partial")


def _journal(partial: Path) -> Path:
    return partial.with_name(partial.name + ".json")


def _fingerprint(reduced: Reduced) -> str:
    """Hash of everything that the matrix depends on."""
    points = reduced.x
    layout = (reduced.kernels, str(np.dtype(reduced.dtype)), points.n_graphs)
    digest = hashlib.sha256(repr(layout).encode())
    for array in (
        reduced.block_ptr,
        points.coordinates,
        points.labels,
        points.entry_points,
        points.entry_graphs,
        points.entry_weights,
    ):
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
