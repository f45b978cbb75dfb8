"""Digests of graphs, by which files know that they belong to the same ones."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.graphs.batch import GraphBatch

__all__ = ["graphs_digest"]


def graphs_digest(graphs: GraphBatch) -> str:
    """
    Digest of the structure, weights, labels and attributes of graphs, in their order.

    Names of labels do not count, nor do any labels, weights or attributes that are not there.
    """
    arrays: list[NDArray[Any]] = [graphs.node_ptr, graphs.indptr, graphs.indices]
    arrays += [graphs.weights] if graphs.is_weighted else []
    arrays += [graphs.labels] if graphs.has_labels else []
    arrays += [graphs.edge_labels] if graphs.has_edge_labels else []
    arrays += [graphs.attributes] if graphs.n_attributes else []
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(str((array.dtype, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:20]
