"""
How vectors of an embedding are stored: turned to few columns, and rounded to a byte or two each.

Vectors of graphs lie near a subspace. Turned to its axes (principal components of the graphs that
an index is fitted on), 256 columns keep nearly all of the distances that 2,048 had, and as many
columns of a plain embedding do not: `docs/similarity_search.md` has the numbers.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk._runtime.fields import check_shape, stored
from retgk._runtime.names import optional_module
from retgk._runtime.parallel import n_threads, run_tasks, single_threaded_blas
from retgk.array_types import Flags, Floats, Ints
from retgk.errors import InvalidInputError

Storage = Literal["int8", "float16"]
Vectors = NDArray[Any]
Singles = NDArray[np.float32]

_BLOCK_ROWS = 256
_GRAPHS_PER_COLUMN = 4  # fewer would leave out directions that the next graphs have
_LARGEST = 127
_MARGIN = 1.1  # room beyond the largest value that was seen


@stored
@dataclass(frozen=True, eq=False)
class VectorCodec:
    mean: Singles
    axes: Singles | None
    units: Singles
    storage: Storage

    def after_loading(self) -> None:
        check_shape("mean", self.mean, None)
        check_shape("units", self.units, None if self.axes is not None else len(self.mean))
        if self.axes is not None:
            check_shape("axes", self.axes, len(self.mean), len(self.units))
        if not len(self.units) or not (self.units > 0).all():
            raise InvalidInputError("the units of vectors are not positive")

    @property
    def n_columns(self) -> int:
        return len(self.units)

    @property
    def n_features(self) -> int:
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
    """Axes and units for vectors such as these; few vectors, or narrow ones, are not turned."""
    sample = np.asarray(vectors, np.float32)
    n_features = sample.shape[1]
    if n_features <= n_columns or len(sample) < _GRAPHS_PER_COLUMN * n_columns:
        mean, axes = np.zeros(n_features, np.float32), None
    else:
        mean, axes = _principal_axes(sample, n_columns)
    # float16 for vectors that are not turned, of which there are few
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


# Nearest stored vectors by a plain scan: every distance, block by block

_SCANNED_ROWS = 8192
_BLOCK_QUERIES = 256
_PART = 32
_ROUNDING = 1e-5  # of float32 in products of whole vectors, relative to their squared lengths


def squared_distances(queries: Vectors, candidates: Vectors, codec: VectorCodec) -> Floats:
    """Squared distances of queries to candidates of their own, zero for equal ones."""
    squared = np.empty(candidates.shape[:2])
    for start in range(0, len(queries), _BLOCK_QUERIES):
        some = slice(start, start + _BLOCK_QUERIES)
        differences = codec.decode(candidates[some])
        differences -= codec.decode(queries[some])[:, None]
        squared[some] = np.sum(np.square(differences, out=differences), axis=2, dtype=np.float64)
    return squared


def best_candidates(squared: Floats, rows: Ints, k: int) -> tuple[Floats, Ints]:
    """Nearest k candidates of every query; of equal ones the lower row, and -1 is none."""
    squared = np.where(rows < 0, np.inf, squared)
    order = np.lexsort((rows, squared), axis=1)[:, :k]
    found, kept = np.take_along_axis(squared, order, 1), np.take_along_axis(rows, order, 1)
    short = k - found.shape[1]
    if short > 0:
        found = np.pad(found, ((0, 0), (0, short)), constant_values=np.inf)
        kept = np.pad(kept, ((0, 0), (0, short)), constant_values=-1)
    return found, kept


def scan(
    queries: Vectors,
    pieces: Iterable[tuple[int, Vectors, Flags | None]],
    k: int,
    codec: VectorCodec,
) -> tuple[Floats, Ints]:
    squared = np.full((len(queries), k), np.inf)
    rows = np.full((len(queries), k), -1, np.int64)
    own = codec.decode(queries)
    lengths = np.sum(np.square(own), axis=1)
    for first, vectors, left_out in pieces:
        for start in range(0, len(vectors), _SCANNED_ROWS):
            block = vectors[start : start + _SCANNED_ROWS]
            is_out = None if left_out is None else left_out[start : start + _SCANNED_ROWS]
            for begin in range(0, len(queries), _BLOCK_QUERIES):
                some = slice(begin, begin + _BLOCK_QUERIES)
                best = squared[some], rows[some]
                squared[some], rows[some] = _with_block(
                    (queries[some], own[some], lengths[some]),
                    (first + start, block, is_out),
                    best,
                    codec,
                )
    return squared, rows


def _with_block(
    asked: tuple[Vectors, Any, Any],
    there: tuple[int, Vectors, Flags | None],
    best: tuple[Floats, Ints],
    codec: VectorCodec,
) -> tuple[Floats, Ints]:
    """Best rows so far and those of a block: products tell which are worth an exact distance."""
    queries, own, lengths = asked
    first, block, is_out = there
    others = codec.decode(block)
    sizes = np.sum(np.square(others), axis=1)
    near = lengths[:, None] + sizes - 2 * (own @ others.T)
    if is_out is not None:
        near[:, is_out] = np.inf
    k = best[0].shape[1]
    slack = _ROUNDING * (lengths + (sizes.max() if len(sizes) else 0))
    limit = np.minimum(best[0][:, -1] + slack, _bound_of_nearest(near, k) + 2 * slack)
    is_near = near <= np.minimum(limit, np.finfo(np.float32).max).astype(np.float32)[:, None]
    found, kept = best[0].copy(), best[1].copy()
    for query in np.flatnonzero(is_near.any(axis=1)):
        chosen = np.flatnonzero(is_near[query])
        exact = squared_distances(queries[query : query + 1], block[chosen][None], codec)[0]
        joined = np.concatenate([best[0][query], exact])[None]
        places = np.concatenate([best[1][query], first + chosen])[None]
        (found[query],), (kept[query],) = best_candidates(joined, places, k)
    return found, kept


def _bound_of_nearest(near: Any, k: int) -> Any:
    """Bound of the k-th smallest value of each row: that of minima of parts, which are quick."""
    n_parts = near.shape[1] // _PART
    if n_parts > k:
        near = near[:, : n_parts * _PART].reshape(len(near), n_parts, _PART).min(axis=2)
    if near.shape[1] <= k:
        return np.inf
    return np.partition(near, k - 1, axis=1)[:, k - 1].astype(np.float64)


# Files of usearch, checked before the library sees them.
#
# The library trusts its files: a number of a neighbour that is none would have it read memory
# that is not its own. A file holds the vectors, a head of 64 bytes, five numbers, the levels of
# all nodes, and then every node: its key, its level, and for each level a number of neighbours
# and room for as many as there may be. All of these are validated.

_SIZES = struct.Struct("<2I")
_HEAD = struct.Struct("<7s3H4B3QB")
_HEAD_BYTES = 64
_CORE = struct.Struct("<5Q")
_L2, _U64, _U32 = 101, 14, 15  # numbers that usearch has for distances and types
_SCALARS = {"int8": (23, 1), "float16": (12, 2)}
_MOST_LEVELS = 40
_NODE_BYTES = 10  # key and level


def check_neighbour_file(path: Path, shape: tuple[int, int], kind: str, connectivity: int) -> None:
    """Raise if a file is not the graph of so many vectors in each of its bytes that counts."""
    n_rows, n_columns = shape
    scalar, item_bytes = _SCALARS[kind]
    start = _SIZES.size + n_rows * n_columns * item_bytes
    if path.stat().st_size < start + _HEAD_BYTES + _CORE.size:
        raise _not_a_graph(path, "it is too short")
    content = np.memmap(path, np.uint8, "r")
    if _SIZES.unpack(content[: _SIZES.size].tobytes()) != (n_rows, n_columns * item_bytes):
        raise _not_a_graph(path, f"it does not begin with {n_rows} vectors of {n_columns} columns")
    head = _HEAD.unpack(content[start : start + _HEAD.size].tobytes())
    magic, major, *_ = head
    if magic != b"usearch" or major != 2:
        raise _not_a_graph(path, "it is no file of usearch 2")
    if head[4:8] != (_L2, scalar, _U64, _U32) or head[8:] != (n_rows, 0, n_columns, 0):
        raise _not_a_graph(path, "its head is not that of these vectors")
    core = start + _HEAD_BYTES
    numbers = _CORE.unpack(content[core : core + _CORE.size].tobytes())
    size, own, base, max_level, entry = numbers
    if (size, own, base) != (n_rows, connectivity, 2 * connectivity):
        raise _not_a_graph(path, "it has another number of nodes or neighbours")
    levels_at = core + _CORE.size
    nodes_at = levels_at + 2 * n_rows
    if n_rows == 0 or len(content) < nodes_at or entry >= n_rows or max_level > _MOST_LEVELS:
        raise _not_a_graph(path, "its numbers contradict each other")
    levels = content[levels_at:nodes_at].view("<i2").astype(np.int64)
    if levels.min() < 0 or levels.max() != max_level or levels[entry] != max_level:
        raise _not_a_graph(path, "the levels of its nodes contradict each other")
    sizes = _NODE_BYTES + 4 + 4 * base + levels * (4 + 4 * own)
    ends = np.cumsum(sizes)
    if nodes_at + ends[-1] != len(content):
        raise _not_a_graph(path, "its size is not that of its nodes")
    bad = _core.first_bad_node(content[nodes_at:], ends - sizes, levels, base, own)
    if bad >= 0:
        raise _not_a_graph(path, f"node {bad} has neighbours that cannot be")


def _not_a_graph(path: Path, problem: str) -> InvalidInputError:
    return InvalidInputError(
        f"{path} is not the graph of neighbours of this index: {problem}; copy the index again"
    )


# Graphs of near neighbours (HNSW) over runs of rows, built and searched by usearch.
#
# Beside faiss and voyager, on 50,000 molecules in 256 columns: `docs/similarity_search.md` has
# the numbers. usearch maps its files into memory, searches bytes with the processor's own
# instructions and has small wheels for every system; its files have a form that can be checked.
#
# Adding with several threads gives another graph each time. So the rows are cut into runs of a
# fixed length, and each run gets a graph of its own, by one thread: as many graphs grow at the
# same time as there are cores, in processes, because usearch holds Python's lock. The graphs
# depend on the rows alone.

CONNECTIVITY = 16
_EXPANSION_ADD = 128


class NeighbourGraph:
    def __init__(self, path: Path, shape: tuple[int, int], kind: str) -> None:
        self.path = path
        self.n_rows = shape[0]
        self._index = _new_index(shape[1], kind)
        self._index.view(str(path))

    def search(
        self, queries: Vectors, k: int, expansion: int, n_jobs: int | None
    ) -> tuple[Floats, Ints]:
        count = min(k, self.n_rows)
        self._index.expansion_search = max(expansion, count)
        n_workers = min(n_threads(n_jobs), len(queries))
        asked = queries if len(queries) > 1 else np.repeat(queries, 2, axis=0)  # one is no batch
        matches = self._index.search(asked, count, threads=n_workers)
        n_asked = len(queries)
        keys = np.asarray(matches.keys, np.uint64).astype(np.int64)[:n_asked]
        squared = np.asarray(matches.distances, np.float64)[:n_asked]
        is_none = np.arange(count) >= np.asarray(matches.counts)[:n_asked, None]
        keys[is_none], squared[is_none] = -1, np.inf
        room = ((0, 0), (0, k - count))
        return (
            np.pad(squared, room, constant_values=np.inf),
            np.pad(keys, room, constant_values=-1),
        )


def write_graph(path: Path, vectors: Vectors, kind: str, begun: Path | None = None) -> None:
    """Write the graph of some vectors; `begun` is one of the first of them, to go on with."""
    index = _new_index(vectors.shape[1], kind)
    if begun is not None:
        index.load(str(begun))
    first = len(index)
    if len(vectors) > first:
        keys = np.arange(first, len(vectors), dtype=np.uint64)
        index.add(keys, np.ascontiguousarray(vectors[first:]), threads=1)
    index.save(str(path))


def open_graph(path: Path, shape: tuple[int, int], kind: str) -> NeighbourGraph:
    """Map a graph that a stranger may have written: all of it is checked first."""
    check_neighbour_file(path, shape, kind, CONNECTIVITY)
    return NeighbourGraph(path, shape, kind)


def _new_index(n_columns: int, kind: str) -> Any:
    index_class = optional_module("usearch.index", "index").Index
    dtypes = {"int8": "i8", "float16": "f16"}
    if kind not in dtypes:
        raise InvalidInputError(f"there are no graphs of neighbours over vectors of {kind!r}")
    return index_class(
        ndim=n_columns,
        metric="l2sq",
        dtype=dtypes[kind],
        connectivity=CONNECTIVITY,
        expansion_add=_EXPANSION_ADD,
    )
