"""Weights of edges in units of their graph: walks do not depend on how they were measured."""

import numpy as np

from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, flat_arrays, trusted_batch
from retgk.graphs.ragged import graph_of

__all__ = ["WEIGHT_RANGE", "check_weight_range", "with_mean_weight_one"]

WEIGHT_RANGE = (1e-150, 1e150)
"""Ratios of weights in this range, and products of two of them, are numbers."""


def with_mean_weight_one(batch: GraphBatch) -> GraphBatch:
    """
    Divide the weights of every graph by their mean, over the nonzero entries of its matrix.

    Unweighted graphs stay as they are, to the bit.

    Examples
    --------
    >>> with_mean_weight_one(GraphBatch.from_edges(2, [[0, 1], [1, 0]], [7.0, 7.0])).weights
    array([1., 1.])
    """
    if not batch.is_weighted or len(batch.weights) == 0:
        return batch
    arrays = flat_arrays(batch)
    weights = _in_units_of_the_mean(batch)
    return trusted_batch(arrays._replace(adjacency=arrays.adjacency._replace(weights=weights)))


def _in_units_of_the_mean(batch: GraphBatch) -> Floats:
    ptr = batch.indptr[batch.node_ptr]
    counts = np.diff(ptr)
    starts, counts = ptr[:-1][counts > 0], counts[counts > 0]
    # by the largest first: the sum of large weights may not be a number
    by_largest = batch.weights / np.repeat(np.maximum.reduceat(batch.weights, starts), counts)
    means = np.add.reduceat(by_largest, starts) / counts
    return np.asarray(by_largest / np.repeat(means, counts))


def check_weight_range(batch: GraphBatch, shown: GraphBatch | None = None) -> None:
    """
    Raise where a weight is so large or small that probabilities would not be numbers.

    The error tells the weights of `shown`, the same graphs in the units of the user.
    """
    if not batch.is_weighted or len(batch.weights) == 0:
        return
    least, most = WEIGHT_RANGE
    if batch.weights.min() >= least and batch.weights.max() <= most:
        return
    entry = int(np.argmax((batch.weights < least) | (batch.weights > most)))
    source = int(np.searchsorted(batch.indptr, entry, side="right")) - 1
    graph = graph_of(batch.node_ptr, source)
    limits = f"between {least:g} and {most:g}"
    if shown is None:
        advice = f"walks need weights {limits}: scale all of the graph, or use self_loop='mean'"
    else:
        advice = f"walks need weights {limits} times the mean weight of their graph"
    raise InvalidInputError(
        f"graph {graph}: the edge from node {source - batch.node_ptr[graph]} to node "
        f"{batch.indices[entry]} has weight {(shown or batch).weights[entry]:g}; {advice}"
    )
