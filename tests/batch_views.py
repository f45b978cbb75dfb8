"""A batch in the plainest form, to compare it with what it was built from."""

from typing import Any

import numpy as np

from retgk import GraphBatch


def dense(batch: GraphBatch) -> np.ndarray:
    """Adjacency matrix of a batch of one."""
    matrix = np.zeros((batch.n_nodes, batch.n_nodes))
    rows = np.repeat(np.arange(batch.n_nodes), np.diff(batch.indptr))
    matrix[rows, batch.indices] = batch.weights
    return matrix


def names(batch: GraphBatch) -> list[Any]:
    """Label of every node."""
    return [batch.label_names[code] for code in batch.labels]
