"""A plain baseline, so that made-up data cannot silently be noise."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from retgk import GraphBatch


def simple_features(batch: GraphBatch) -> NDArray[np.float64]:
    """Means per graph: degree histogram, triangles, labels, attributes and their products."""
    shift = np.repeat(np.repeat(batch.node_ptr[:-1], batch.node_counts), np.diff(batch.indptr))
    matrix = csr_array(
        (batch.weights, batch.indices + shift, batch.indptr), shape=(batch.n_nodes, batch.n_nodes)
    )
    degrees = np.diff(batch.indptr)
    triangles = ((matrix @ matrix) * matrix).sum(axis=1)
    attributes = batch.attributes
    columns = np.hstack(
        [
            np.eye(10)[np.minimum(degrees, 9)],
            triangles[:, None],
            np.eye(max(1, len(batch.label_names)))[batch.labels],
            attributes,
            attributes * degrees[:, None],
            attributes * triangles[:, None],
            attributes * (matrix @ attributes),
        ]
    )
    sums = np.add.reduceat(columns, batch.node_ptr[:-1], axis=0)
    result: NDArray[np.float64] = sums / batch.node_counts[:, None]
    return result
