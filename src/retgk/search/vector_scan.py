"""Nearest stored vectors by a plain scan: every distance, block by block."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Flags, Floats, Ints
from retgk.search.vector_codec import VectorCodec

__all__ = ["best_candidates", "scan", "squared_distances"]

Vectors = NDArray[Any]

_BLOCK_ROWS = 8192
_BLOCK_QUERIES = 256
_PART = 32
_ROUNDING = 1e-5  # of float32 in products of whole vectors, relative to their squared lengths


def squared_distances(queries: Vectors, candidates: Vectors, codec: VectorCodec) -> Floats:
    """
    Squared distances of queries to candidates of their own, zero for equal ones.

    Parameters
    ----------
    queries : ndarray, shape (n_queries, n_columns)
        Stored vectors.
    candidates : ndarray, shape (n_queries, n_candidates, n_columns)
        Stored vectors for each of them.
    codec : VectorCodec
        What they mean.

    Returns
    -------
    ndarray of float64, shape (n_queries, n_candidates)
        The same for a pair, whatever else is asked with it.
    """
    squared = np.empty(candidates.shape[:2])
    for start in range(0, len(queries), _BLOCK_QUERIES):
        some = slice(start, start + _BLOCK_QUERIES)
        differences = codec.decode(candidates[some])
        differences -= codec.decode(queries[some])[:, None]
        squared[some] = np.sum(np.square(differences, out=differences), axis=2, dtype=np.float64)
    return squared


def best_candidates(squared: Floats, rows: Ints, k: int) -> tuple[Floats, Ints]:
    """
    Nearest k candidates of every query: of equal distances, the lower row; -1 is no candidate.

    Parameters
    ----------
    squared, rows : ndarray, shape (n_queries, n_candidates)
        Squared distances, and rows of the candidates.
    k : int
        How many.

    Returns
    -------
    tuple of ndarray, shape (n_queries, k)
        Squared distances and rows, filled up with infinity and -1.
    """
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
    """
    Find the nearest k of all rows.

    Parameters
    ----------
    queries : ndarray, shape (n_queries, n_columns)
        Stored vectors.
    pieces : iterable of (int, ndarray, ndarray of bool or None)
        Number of the first row, vectors, and which of them are left out, in the order of rows.
    k : int
        How many.
    codec : VectorCodec
        What they mean.

    Returns
    -------
    tuple of ndarray, shape (n_queries, k)
        Squared distances and rows, as `best_candidates` gives them.
    """
    squared = np.full((len(queries), k), np.inf)
    rows = np.full((len(queries), k), -1, np.int64)
    own = codec.decode(queries)
    lengths = np.sum(np.square(own), axis=1)
    for first, vectors, left_out in pieces:
        for start in range(0, len(vectors), _BLOCK_ROWS):
            block = vectors[start : start + _BLOCK_ROWS]
            is_out = None if left_out is None else left_out[start : start + _BLOCK_ROWS]
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
