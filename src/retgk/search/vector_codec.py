"""
How vectors of an embedding are stored: turned to few columns, and rounded to a byte or two each.

Vectors of graphs lie near a subspace. Turned to its axes (principal components of the graphs that
an index is fitted on), 256 columns keep nearly all of the distances that 2,048 had, and as many
columns of a plain embedding do not: `docs/similarity_search.md` has the numbers.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from retgk.runtime.parallel import run_tasks, single_threaded_blas

__all__ = ["Storage", "VectorCodec", "fit_codec"]

Storage = Literal["int8", "float16"]
Vectors = NDArray[Any]
Singles = NDArray[np.float32]

_BLOCK_ROWS = 256
_GRAPHS_PER_COLUMN = 4  # fewer would leave out directions that the next graphs have
_LARGEST = 127
_MARGIN = 1.1  # room beyond the largest value that was seen


@dataclass(frozen=True, eq=False)
class VectorCodec:
    """
    Mean, axes and units of stored vectors.

    Parameters
    ----------
    mean : ndarray of float32, shape (n_features,)
        What is subtracted first; zeros if `axes` is None.
    axes : ndarray of float32, shape (n_features, n_columns), or None
        Orthonormal columns; None leaves vectors as they are.
    units : ndarray of float32, shape (n_columns,)
        What one step of the stored numbers means in each column; ones for float16.
    storage : {"int8", "float16"}
        Type of the stored numbers.
    """

    mean: Singles
    axes: Singles | None
    units: Singles
    storage: Storage

    @property
    def n_columns(self) -> int:
        """Width of stored vectors."""
        return len(self.units)

    @property
    def n_features(self) -> int:
        """Width of the vectors of the embedding."""
        return len(self.mean)

    @property
    def search_unit(self) -> float:
        """One unit for all columns, for libraries that know distances of whole numbers only."""
        return float(self.units.max())

    def encode(self, vectors: Vectors, n_jobs: int | None = None) -> Vectors:
        """Turn and round vectors; a row depends on nothing but its own vector."""
        coded = np.empty((len(vectors), self.n_columns), self.storage)

        def fill(start: int) -> None:
            rows = slice(start, min(start + _BLOCK_ROWS, len(vectors)))
            coded[rows] = self._rounded(self._turned(vectors[rows]))

        starts = [(start,) for start in range(0, len(vectors), _BLOCK_ROWS)]
        with single_threaded_blas():
            run_tasks(fill, starts, [1.0] * len(starts), n_jobs, lambda _: None)
        return coded

    def decode(self, coded: Vectors) -> Singles:
        """Vectors that stored ones stand for, in float32."""
        values = np.array(coded, np.float32)
        if self.storage == "int8":
            values *= self.units
        return values

    def for_search(self, coded: Vectors) -> Vectors:
        """Stored vectors with one unit in all columns, of the same type."""
        if self.storage == "float16":
            return coded
        steps = np.asarray(coded, np.float32) * (self.units / self.search_unit)
        rounded: Vectors = np.rint(steps, out=steps).astype(np.int8)
        return rounded

    def _turned(self, vectors: Vectors) -> Singles:
        """Turn a block; blocks have one shape, as BLAS may sum others in another order."""
        if self.axes is None:
            return np.asarray(vectors, np.float32)
        block = np.zeros((_BLOCK_ROWS, self.n_features), np.float32)
        np.subtract(vectors, self.mean, out=block[: len(vectors)], casting="same_kind")
        turned: Singles = (block @ self.axes)[: len(vectors)]
        return turned

    def _rounded(self, turned: Singles) -> Vectors:
        if self.storage == "float16":
            return turned.astype(np.float16)
        steps = np.rint(turned / self.units)
        rounded: Vectors = np.clip(steps, -_LARGEST, _LARGEST, out=steps).astype(np.int8)
        return rounded


def fit_codec(vectors: Vectors, n_columns: int, storage: Storage | None) -> VectorCodec:
    """
    Find axes and units for vectors such as these.

    Few vectors, or vectors that are narrow already, are not turned. `storage` is by default int8
    for vectors that are turned and float16 for others, of which there are few.
    """
    sample = np.asarray(vectors, np.float32)
    n_features = sample.shape[1]
    if n_features <= n_columns or len(sample) < _GRAPHS_PER_COLUMN * n_columns:
        mean, axes = np.zeros(n_features, np.float32), None
    else:
        mean, axes = _principal_axes(sample, n_columns)
    kind: Storage = storage or ("float16" if axes is None else "int8")
    width = n_features if axes is None else n_columns
    codec = VectorCodec(mean, axes, np.ones(width, np.float32), "float16")
    if kind == "float16":
        return codec
    largest = np.zeros(width, np.float32)
    for start in range(0, len(sample), 4096):
        turned = codec.encode(sample[start : start + 4096])
        np.maximum(largest, np.abs(turned).max(axis=0), out=largest)
    units = np.where(largest > 0, largest, 1) * np.float32(_MARGIN / _LARGEST)
    return VectorCodec(mean, axes, units.astype(np.float32), "int8")


def _principal_axes(sample: Singles, n_columns: int) -> tuple[Singles, Singles]:
    """Mean and leading principal components, the largest first, with signs of one rule."""
    mean = sample.mean(axis=0, dtype=np.float64)
    products = np.zeros((sample.shape[1], sample.shape[1]))
    with single_threaded_blas():
        for start in range(0, len(sample), 4096):
            block = sample[start : start + 4096] - mean
            products += block.T @ block
        _, axes = np.linalg.eigh(products)
    leading = axes[:, ::-1][:, :n_columns]
    signs = np.sign(leading[np.abs(leading).argmax(axis=0), np.arange(n_columns)])
    return mean.astype(np.float32), np.ascontiguousarray(leading * signs, np.float32)
