"""RetGK_II as published, in plain NumPy: the baseline. Shares no code with retgk."""

import numpy as np

from benchmarks.published_rpf import dense_adjacency, return_probabilities


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
    probabilities = np.concatenate(
        [return_probabilities(dense_adjacency(node_ptr, indptr, indices, g)) for g in graphs]
    )
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
