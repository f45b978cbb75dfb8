"""Inner products of more graphs than fit memory: a matrix on disk, made block by block."""

import json
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
from retgk.estimators.kernel import RetGKKernel, kernel_engine, kernel_features
from retgk.io.converters import GraphsLike, as_batch
from retgk.runtime.progress import progress_bar
from retgk.runtime.seeds import seed_from
from retgk.runtime.storage import atomic_path

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
    batch = as_batch(X)
    check_new_gram(path, len(batch))
    seed = _seed(given.random_state, _partial(Path(path)))
    own = clone(given).set_params(random_state=seed)
    return write_gram(path, kernel_engine(own).fit(kernel_features(own, batch)), seed)


def write_gram(path: str | os.PathLike[str], engine: Engine, seed: int) -> Floats:
    """
    Write the inner products of a fitted engine, or go on with a file that was begun.

    The seed is noted beside an unfinished file, so that a later call can fit the same engine.
    """
    target = Path(path)
    partial = _partial(target)
    check_new_gram(target, engine.n_graphs)
    _fill(partial, engine, seed)
    os.replace(partial, target)
    _journal(partial).unlink()
    matrix: Floats = np.load(target, mmap_mode="r")
    return matrix


def check_new_gram(path: str | os.PathLike[str], n_graphs: int) -> None:
    """Raise if a matrix for that many graphs cannot be written, before any work."""
    target = Path(path)
    if target.exists():
        raise InvalidInputError(f"{target} exists; remove it or choose another name")
    _check_disk(_partial(target), 8 * n_graphs**2)


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


def _fill(partial: Path, engine: Engine, seed: int) -> None:
    """Make the blocks that are not there yet, and note each when it is on disk."""
    n_graphs = engine.n_graphs
    matrix, state = _open_matrix(partial, engine, seed)
    n_rows = _rows_per_block(engine)
    with progress_bar("inner products", n_graphs**2 / 2) as advance:
        advance(_n_pairs(0, state["rows"], n_graphs))
        for start in range(state["rows"], n_graphs, n_rows):
            stop = min(start + n_rows, n_graphs)
            _fill_rows(matrix, engine, start, stop)
            matrix.flush()
            _note(partial, {**state, "rows": stop})
            advance(_n_pairs(start, stop, n_graphs))


def _open_matrix(partial: Path, engine: Engine, seed: int) -> tuple[Any, dict[str, Any]]:
    """Open the unfinished matrix or a new one, and tell what is known of it."""
    state: dict[str, Any] = {"fingerprint": engine.digest(), "rows": 0, "seed": seed}
    if (found := _begun(partial)) is not None:
        if found["fingerprint"] != state["fingerprint"]:
            raise InvalidInputError(
                f"{partial} was begun with other graphs or parameters; remove it and "
                f"{_journal(partial)}"
            )
        return np.lib.format.open_memmap(partial, mode="r+"), found
    # first of all: a journal of an earlier matrix would count rows that this one does not have
    _journal(partial).unlink(missing_ok=True)
    shape = (engine.n_graphs, engine.n_graphs)
    matrix = np.lib.format.open_memmap(partial, mode="w+", dtype=np.float64, shape=shape)
    _note(partial, state)
    return matrix, state


def _note(partial: Path, state: dict[str, Any]) -> None:
    with atomic_path(_journal(partial)) as unfinished:
        unfinished.write_text(json.dumps(state))


def _rows_per_block(engine: Engine) -> int:
    """Rows per block, limited by memory and by how much work a kill may lose."""
    n_graphs = engine.n_graphs
    rows_in_memory = BLOCK_BYTES // (8 * n_graphs)
    rows_in_time = _BLOCK_VALUES * n_graphs // max(1.0, engine.work())
    return max(1, int(min(rows_in_memory, rows_in_time)))


def _n_pairs(start: int, stop: int, n_graphs: int) -> float:
    """Pairs of graphs in some rows, from the diagonal on."""
    return (stop - start) * (n_graphs - (start + stop) / 2)


def _fill_rows(matrix: Any, engine: Engine, start: int, stop: int) -> None:
    """Write rows start to stop from the diagonal on, and their mirror image below it."""
    rows, others = slice(start, stop), slice(stop, engine.n_graphs)
    matrix[rows, rows] = engine.inner_products(rows, rows)
    if stop < engine.n_graphs:
        products = engine.inner_products(rows, others)
        matrix[rows, others] = products
        matrix[others, rows] = products.T


def _partial(target: Path) -> Path:
    return target.with_name(target.name + ".partial")


def _journal(partial: Path) -> Path:
    return partial.with_name(partial.name + ".json")
