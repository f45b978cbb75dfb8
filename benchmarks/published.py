"""The published method in plain NumPy, the baseline of benchmarks: shares no code with retgk."""

import numpy as np
from scipy.spatial.distance import cdist

# Return probabilities


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


# RetGK_I: one distance matrix per pair of graphs


def inner_product(graph_g, graph_h, gamma_rpf, gamma_attributes=None):
    """<m_G, m_H> for graphs given as (rpf, labels or None, attributes or None)."""
    rpf_g, labels_g, attributes_g = graph_g
    rpf_h, labels_h, attributes_h = graph_h
    kernel = np.exp(-gamma_rpf * cdist(rpf_g, rpf_h))
    if attributes_g is not None:
        kernel *= np.exp(-gamma_attributes * cdist(attributes_g, attributes_h))
    if labels_g is not None:
        kernel *= labels_g[:, None] == labels_h[None, :]
    return kernel.mean()


def inner_products_of_pairs(node_ptr, features, gammas, pairs):
    """<m_G, m_H> for some pairs; features are (rpf, labels or None, attributes or None)."""

    def graph(g):
        nodes = slice(node_ptr[g], node_ptr[g + 1])
        return tuple(None if feature is None else feature[nodes] for feature in features)

    return np.array([inner_product(graph(g), graph(h), *gammas) for g, h in pairs])


# RetGK_II


def random_features(points, n_components, scale, rng):
    """Section 4.2 with the authors' frequencies: sqrt(2/D) cos(omega^T x + b), omega = g N(0,1)."""
    frequencies = scale * rng.standard_normal((points.shape[1], n_components))
    phases = rng.uniform(0, 2 * np.pi, n_components)
    return np.sqrt(2 / n_components) * np.cos(points @ frequencies + phases)


def mean_embeddings(arrays, labels, n_components=200, scale=10.0, seed=0):
    """Equation 9: the mean of one-hot label times features, one graph after the other."""
    node_ptr, indptr, indices = arrays
    rng = np.random.default_rng(seed)
    graphs = range(len(node_ptr) - 1)
    probabilities = return_probabilities_of_graphs(node_ptr, indptr, indices, graphs)
    features = random_features(probabilities, n_components, scale, rng)
    one_hot = np.eye(labels.max() + 1)[labels]
    return np.array(
        [
            one_hot[node_ptr[g] : node_ptr[g + 1]].T
            @ features[node_ptr[g] : node_ptr[g + 1]]
            / (node_ptr[g + 1] - node_ptr[g])
            for g in graphs
        ]
    ).reshape(len(graphs), -1)


def gram(vectors):
    """exp(-distance / median distance), as in section 5."""
    products = vectors @ vectors.T
    norms = np.diag(products)
    distances = np.sqrt(np.maximum(norms[:, None] + norms - 2 * products, 0))
    return np.exp(-distances / np.median(distances))
