"""
RetGK_I as published, written plainly in NumPy: one distance matrix per pair of graphs.

Shares no code with the package. Times are of a random sample of the pairs, extrapolated to all
of them (the sample and the extrapolation are printed).
"""

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from scipy.spatial.distance import cdist


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


def split(node_ptr, rpf, labels=None, attributes=None):
    """One (rpf, labels, attributes) per graph."""
    return [
        tuple(None if a is None else a[start:stop] for a in (rpf, labels, attributes))
        for start, stop in pairwise(node_ptr)
    ]


def timed_sample(graphs, gammas, n_pairs, n_threads, seed=0):
    """Inner products of random pairs, and the seconds that all pairs would take."""
    rng = np.random.default_rng(seed)
    pairs = rng.integers(len(graphs), size=(n_pairs, 2))

    def work(some):
        return [inner_product(graphs[g], graphs[h], *gammas) for g, h in some]

    start = time.perf_counter()
    with ThreadPoolExecutor(n_threads) as pool:
        values = np.concatenate(list(pool.map(work, np.array_split(pairs, n_threads))))
    seconds = time.perf_counter() - start
    n_all = len(graphs) * (len(graphs) + 1) / 2
    return pairs, values, seconds * n_all / n_pairs
