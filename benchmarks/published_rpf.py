"""Return probabilities as published, in plain NumPy: the baseline. Shares no code with retgk."""

import numpy as np


def dense_adjacency(node_ptr, indptr, indices, graph):
    first, last = node_ptr[graph], node_ptr[graph + 1]
    n = last - first
    rows = np.repeat(np.arange(n), np.diff(indptr[first : last + 1]))
    matrix = np.zeros((n, n))
    matrix[rows, indices[indptr[first] : indptr[last]]] = 1
    return matrix


def return_probabilities(adjacency, n_steps=50):
    """Section 3.2: P^s(i, i) = sum_k lambda_k^s u_k(i)^2, one eigendecomposition per graph."""
    walk = adjacency + np.eye(len(adjacency))
    scale = 1 / np.sqrt(walk.sum(axis=1))
    eigenvalues, eigenvectors = np.linalg.eigh(walk * scale[:, None] * scale)
    return eigenvectors**2 @ eigenvalues[:, None] ** np.arange(1, n_steps + 1)


def return_probabilities_of_graphs(node_ptr, indptr, indices, graphs, n_steps=50):
    return np.concatenate(
        [
            return_probabilities(dense_adjacency(node_ptr, indptr, indices, graph), n_steps)
            for graph in graphs
        ]
    )
