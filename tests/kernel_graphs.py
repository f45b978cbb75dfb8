"""Small graphs of every kind, and their inner products as the paper defines them."""

import numpy as np

from retgk import (
    make_graph_classification,
)
from tests import naive

KINDS = {
    "structure": (False, False),
    "labels": (True, False),
    "attributes": (False, True),
    "both": (True, True),
}


def graphs_of_kind(kind, n_graphs=9):
    graphs = make_graph_classification(
        n_graphs=n_graphs, n_labels=3, n_attributes=2, n_nodes=(5, 12), random_state=1
    ).graphs
    with_labels, with_attributes = KINDS[kind]
    graphs = graphs if with_labels else graphs.without_labels()
    return graphs if with_attributes else graphs.without_attributes()


def naive_nodes(graphs, n_steps):
    """Every graph as a list of (return probabilities, label, attributes)."""
    probabilities = naive.return_probabilities_of_batch(graphs, n_steps)
    names = [*graphs.label_names, None]
    return [
        [
            (probabilities[i], names[graphs.labels[i]], graphs.attributes[i])
            for i in range(graphs.node_ptr[g], graphs.node_ptr[g + 1])
        ]
        for g in range(len(graphs))
    ]


def naive_products(graphs, gamma_0, gamma_c, n_steps=8):
    def kernel(a, b):
        if a[1] != b[1]:
            return 0.0
        return naive.laplacian(a[0], b[0], gamma_0) * naive.laplacian(a[2], b[2], gamma_c)

    return naive.mean_embedding_gram(naive_nodes(graphs, n_steps), kernel)


def assert_close(found, expected, tolerance):
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= tolerance
