"""RetGK_I as published, written plainly in NumPy: one distance matrix per pair of graphs.

Shares no code with the package.
"""

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


def inner_products_of_pairs(node_ptr, features, gammas, pairs):
    """<m_G, m_H> for some pairs; features are (rpf, labels or None, attributes or None)."""

    def graph(g):
        nodes = slice(node_ptr[g], node_ptr[g + 1])
        return tuple(None if feature is None else feature[nodes] for feature in features)

    return np.array([inner_product(graph(g), graph(h), *gammas) for g, h in pairs])
