"""Random graphs and kernels of populations, and settings of quick tests."""

import numpy as np

import retgk

QUICK = {"n_permutations": 99, "confidence": None, "bandwidths": 1.0, "depths": 0, "n_steps": 10}


def random_graph(rng, density=0.3, n_nodes=8):
    upper = np.triu(rng.random((n_nodes, n_nodes)) < density, 1)
    return (upper | upper.T).astype(float)


def random_graphs(seed, n, density=0.3, n_nodes=8):
    rng = np.random.default_rng(seed)
    return retgk.from_numpy([random_graph(rng, density, n_nodes) for _ in range(n)])


def random_kernel(seed, n):
    points = np.random.default_rng(seed).normal(size=(n, 3))
    return np.exp(-((points[:, None] - points) ** 2).sum(axis=2))
