"""Vectors of substructures from how often they occur together: shifted PMI, factorised."""

from itertools import pairwise
from typing import Any

import numpy as np

from retgk.array_types import Floats
from retgk.errors import Remedy
from retgk.peer_kernels.graph_counts import GraphCounts
from retgk.runtime.memory import check_room
from retgk.runtime.parallel import single_threaded_blas

__all__ = ["pairs_in_graphs", "substructure_vectors"]

_DENSE_COLUMNS = 1024  # up to here all eigenvalues are found at once
_MORE = 16  # eigenvalues that are looked at beyond the last one, which may be equal to it
_MOST = 1024  # and how many are looked at where these are equal too
_TIE = 1e-9  # of the largest eigenvalue


def pairs_in_graphs(counts: GraphCounts, ends: Any, least_graphs: int) -> Any:
    """
    Count pairs of substructures in the same graph, within runs of columns.

    Parameters
    ----------
    counts : GraphCounts
        Whole counts of fitted graphs.
    ends : sequence of int
        First column of every run, and the number of columns; pairs of two runs do not count.
    least_graphs : int
        Columns that fewer graphs have are left out.

    Returns
    -------
    csr_array of float64, shape (n_columns, n_columns)
        Ordered pairs of different occurrences.
    """
    from scipy.sparse import block_diag, csr_array, diags_array

    matrix = counts.sparse()
    n_graphs = np.bincount(matrix.indices, minlength=matrix.shape[1])
    kept = n_graphs[matrix.indices] >= least_graphs
    ptr = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    parts = (matrix.data[kept], matrix.indices[kept], ptr)
    matrix = csr_array(parts, shape=matrix.shape).tocsc()
    blocks = [matrix[:, start:stop] for start, stop in pairwise(ends)]
    # as floating-point numbers: squares of 32-bit numbers run over from 46,341 colours on
    n_pairs = sum(int(np.square(np.diff(b.tocsr().indptr).astype(float)).sum()) for b in blocks)
    advice = "use a larger min_graphs or a smaller n_iter, or fit fewer graphs"
    remedy = Remedy("fewer_graphs", advice)
    check_room(16 * n_pairs, "the table of substructures that occur together", remedy)
    found = [
        (block.T @ block - diags_array(np.asarray(block.sum(axis=0)).ravel())) for block in blocks
    ]
    return csr_array(block_diag(found))


def substructure_vectors(pairs: Any, n_components: int, n_negatives: float, seed: int) -> Floats:
    r"""
    Vectors whose inner products are nearest to the shifted, positive PMI of pairs.

    With :math:`S_{ij} = \max(0, \log \frac{n_{ij} n}{n_i n_j} - \log k)` for k negatives, they
    minimise :math:`\sum_{ij} n_i n_j (S_{ij} - \langle e_i, e_j \rangle)^2`. Skip-gram meets a pair
    as a negative sample with these weights: without them, most coordinates would be spent on the
    rare substructures of a few large graphs. For :math:`N = \mathrm{diag}(n_i / n)` and the largest
    positive eigenvalues of :math:`N^{1/2} S N^{1/2} = U \Lambda U^\top`, vectors are the rows of
    :math:`N^{-1/2} U \Lambda^{1/2}`.

    Parameters
    ----------
    pairs : array or sparse array, shape (n, n)
        How often substructures occur together; symmetric.
    n_components : int
        Most coordinates; more where several eigenvalues are equal to the last one, as it would be a
        matter of chance which of their vectors were kept. Where over a thousand are, of many
        substructures, none of these is.
    n_negatives : float
        Negative samples k of skip-gram that the shift stands for.
    seed : int
        Draws where the search for eigenvectors starts.

    Returns
    -------
    ndarray of float64, shape (n, n_components), or fewer where there are fewer positive eigenvalues
        Rows of zeros for what occurs with nothing more often than by chance.
    """
    from scipy.sparse import coo_array

    entries = coo_array(pairs, dtype=np.float64)
    entries.eliminate_zeros()
    rows, columns = entries.row, entries.col
    totals = np.asarray(entries.sum(axis=0)).ravel()
    ratios = entries.data * totals.sum() / (totals[rows] * totals[columns])
    values = np.log(ratios) - np.log(n_negatives)
    kept = values > 0
    used, places = np.unique(rows[kept], return_inverse=True)
    vectors = np.zeros((len(totals), 0))
    if len(used):
        shape = (len(used), len(used))
        place_of_column = np.searchsorted(used, columns[kept])  # symmetric: the same are used
        roots = np.sqrt(totals[used] / totals[used].sum())
        weighted = values[kept] * roots[places] * roots[place_of_column]
        matrix = coo_array((weighted, (places, place_of_column)), shape=shape).tocsr()
        own = _factor(matrix, n_components, seed) / roots[:, np.newaxis]
        vectors = np.zeros((len(totals), own.shape[1]))
        vectors[used] = own
    return vectors


def _factor(matrix: Any, n_components: int, seed: int) -> Floats:
    """Eigenvectors of the largest positive eigenvalues, times the roots of these."""
    with single_threaded_blas():
        values, vectors = _largest_eigenvalues(matrix, n_components, seed)
    tie, last = _tie_and_last(values, n_components)
    is_cut = len(values) < matrix.shape[0] and values[-1] > last - tie  # equal ones are missing
    n_kept = int((values > max(tie, last + tie if is_cut else last - tie)).sum())
    return np.ascontiguousarray(vectors[:, :n_kept] * np.sqrt(values[:n_kept]))


def _largest_eigenvalues(matrix: Any, n_components: int, seed: int) -> tuple[Floats, Floats]:
    """So many eigenvalues and their vectors, and all that are equal to the last of these."""
    from scipy.sparse.linalg import eigsh

    n, n_found = matrix.shape[0], n_components + _MORE
    start = np.random.default_rng(seed).normal(size=n)
    while True:
        if n <= max(_DENSE_COLUMNS, 2 * n_found):
            values, vectors = np.linalg.eigh(matrix.toarray())
        else:
            values, vectors = eigsh(matrix, n_found, which="LA", v0=start)
        order = np.argsort(-values, kind="stable")
        values, vectors = values[order], vectors[:, order]
        tie, last = _tie_and_last(values, n_components)
        if len(values) == n or values[-1] <= max(last - tie, tie) or n_found >= _MOST:
            return values, vectors
        n_found = min(2 * n_found, max(_MOST, n_found))


def _tie_and_last(values: Floats, n_components: int) -> tuple[float, float]:
    """How near equal eigenvalues are, and the last one of those that are wanted."""
    return _TIE * max(float(values[0]), 0.0), float(values[min(n_components, len(values)) - 1])
