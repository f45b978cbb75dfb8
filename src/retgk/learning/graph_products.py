"""Inner products of the training graphs, from which all candidates of graph kernels are made."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.engine.exact.points import NodePoints
from retgk.estimators.embedding import RetGKEmbedding
from retgk.estimators.kernel import RetGKKernel
from retgk.estimators.kernel_parameters import check_node_parameters
from retgk.graphs.batch import GraphBatch
from retgk.kernels.graph_kernels import ExponentialGraphKernel
from retgk.learning.candidates import NodeCandidate, node_candidates
from retgk.runtime.memory import check_room
from retgk.walks.return_probabilities import return_probabilities

__all__ = ["GraphProducts", "embedded_products", "exact_products", "vectors_of"]


_BLOCK_VALUES = 1 << 15


@dataclass(frozen=True, eq=False)
class GraphProducts:
    """
    Inner products ``<m_G, m_H>`` of all training graphs G with some of them, H.

    Attributes
    ----------
    products : ndarray of float64, shape (n, n_columns)
        The inner products.
    norms : ndarray of float64, shape (n,)
        Squared norms ``<m_G, m_G>``.
    columns : ndarray of int64, shape (n_columns,)
        The graphs H; all graphs in order, or landmarks.
    """

    products: Floats
    norms: Floats
    columns: Ints

    def fitted(self, kernels: list[ExponentialGraphKernel]) -> list[ExponentialGraphKernel]:
        """Give the kernels bandwidths, from the median distance between graphs of the columns."""
        from retgk.kernels.medians import typical_squared_mmd

        square = self.products
        if len(self.columns) < len(self.norms):
            square = np.ascontiguousarray(square[self.columns])
        squared = typical_squared_mmd(square)
        return [kernel.fitted(squared) for kernel in kernels]

    def kernel(self, graph_kernel: ExponentialGraphKernel, rows: Ints, columns: Ints) -> Floats:
        """Kernel values of some graphs with some of the columns, in memory of their own."""
        values = np.empty((len(rows), len(columns)))
        norms = self.norms[self.columns[columns]]
        height = max(1, _BLOCK_VALUES // max(1, len(columns)))
        for start in range(0, len(rows), height):  # in the cache, instead of in new memory
            block = rows[start : start + height]
            products = self.products[block[:, None], columns]
            values[start : start + height] = graph_kernel(products, self.norms[block], norms)
        return values


def exact_products(
    batch: GraphBatch, parameters: Mapping[str, Any], seed: int, columns: Ints
) -> Iterator[tuple[NodeCandidate, RetGKKernel, GraphProducts]]:
    """
    Exact inner products for each candidate of the nodes; return probabilities are found once.

    Parameters
    ----------
    batch : GraphBatch
        Training graphs.
    parameters : mapping
        Parameters of the estimator.
    seed : int
        Seed of medians and Monte Carlo.
    columns : ndarray of int64
        Graphs of the columns.

    Yields
    ------
    candidate : NodeCandidate
        Steps and node kernels.
    kernel : RetGKKernel
        Fitted but for its graph kernel, with the graphs of the columns.
    products : GraphProducts
        Inner products.
    """
    candidates = node_candidates(parameters)
    check_room(8 * 3 * len(batch) * len(columns), "the kernel matrix", "use approximate=True")
    walks = {name: parameters[name] for name in ("method", "n_walks", "self_loop", "n_jobs")}
    kernels = [
        RetGKKernel(**candidate._asdict(), **walks, tol=parameters["tol"], random_state=seed)
        for candidate in candidates
    ]
    for kernel in kernels:  # the last of them too, before the work for the first
        check_node_parameters(kernel.get_params(deep=False), batch)
    n_steps = max(candidate.n_steps for candidate in candidates)
    probabilities = return_probabilities(batch, n_steps, random_state=seed, **walks)
    for candidate, kernel in zip(candidates, kernels, strict=True):
        steps = np.ascontiguousarray(probabilities[:, : candidate.n_steps])
        points = kernel._fit_bandwidths(batch, steps)
        yield candidate, kernel, _products_with(kernel, points, columns)


def _products_with(kernel: RetGKKernel, points: NodePoints, columns: Ints) -> GraphProducts:
    """Inner products with the graphs of the columns, which are all that the kernel keeps."""
    if len(columns) == points.n_graphs:
        kernel._fit_points(points)
        kernel._fit_products()
        return GraphProducts(kernel.inner_products_, kernel.squared_norms_, columns)
    kernel._fit_points(points.of_graphs(columns))
    kernel._fit_products()
    graphs = kernel._place(points)
    products, norms = kernel._products(graphs), kernel._norms(graphs)
    # between landmarks symmetric to the bit, and the diagonal equal to the norms
    products[columns], norms[columns] = kernel.inner_products_, kernel.squared_norms_
    return GraphProducts(products, norms, columns)


def embedded_products(
    batch: GraphBatch, parameters: Mapping[str, Any], seed: int, columns: Ints
) -> Iterator[tuple[NodeCandidate, tuple[RetGKEmbedding, Any], GraphProducts]]:
    """
    Approximate inner products of all graphs with those of the columns.

    Parameters
    ----------
    batch : GraphBatch
        Training graphs.
    parameters : mapping
        Parameters of the estimator.
    seed : int
        Seed of frequencies, medians and Monte Carlo.
    columns : ndarray of int64
        Graphs of the columns.

    Yields
    ------
    candidate : NodeCandidate
        Steps and node kernels.
    embedding : (RetGKEmbedding, bsr_array)
        Fitted transformer, and the vectors of the graphs of the columns.
    products : GraphProducts
        Inner products.
    """
    from retgk.engine.embedded.embedding_gram import embedding_products

    check_room(8 * 4 * len(batch) * len(columns), "the kernel matrix", "give fewer graphs")
    names = ("method", "n_walks", "self_loop", "n_components", "n_jobs")
    options = {name: parameters[name] for name in names}
    is_all = len(columns) == len(batch)
    candidates = node_candidates(parameters)
    embeddings = [
        RetGKEmbedding(**candidate._asdict(), **options, sparse_output=True, random_state=seed)
        for candidate in candidates
    ]
    for embedding in embeddings:  # the last of them too, before the work for the first
        embedding._checked_widths(batch)
    for candidate, embedding in zip(candidates, embeddings, strict=True):
        vectors = embedding.fit(batch)._embedded(batch)
        chosen = vectors if is_all else vectors_of(vectors, columns)
        products = embedding_products(
            vectors, None if is_all else chosen, n_jobs=parameters["n_jobs"]
        )
        norms = np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()
        if is_all:
            norms = products.diagonal().copy()
        yield candidate, (embedding, chosen), GraphProducts(products, norms, columns)


def vectors_of(vectors: Any, graphs: Ints) -> Any:
    """Rows of block-sparse vectors; SciPy's own selection would give up the blocks."""
    from scipy.sparse import bsr_array

    from retgk.graphs.ragged import gather_runs, offsets

    starts, counts = vectors.indptr[graphs], np.diff(vectors.indptr)[graphs]
    data = gather_runs(vectors.data, starts, counts)
    indices = gather_runs(vectors.indices, starts, counts)
    shape = (len(graphs), vectors.shape[1])
    return bsr_array((data, indices, offsets(counts)), shape=shape, blocksize=vectors.blocksize)
