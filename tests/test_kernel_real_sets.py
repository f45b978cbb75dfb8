"""The exact kernel against the naive reference on samples of real sets."""

import numpy as np
import pytest

from retgk import Laplacian, PolynomialGraphKernel, RetGKKernel, load_tudataset
from tests.kernel_graphs import assert_close, naive_products

# set, labels, attributes, largest graph of the sample, number of graphs
SAMPLES = [
    ("MUTAG", True, False, 30, 12),
    ("ENZYMES", True, False, 40, 8),
    ("ENZYMES", False, True, 40, 8),
    ("ENZYMES", True, True, 40, 8),
    ("SYNTHETICnew", False, True, 100, 3),
    ("BZR", True, True, 40, 8),
    ("IMDB-BINARY", False, False, 25, 12),
    ("DD", True, False, 120, 4),
    ("REDDIT-BINARY", False, False, 100, 5),
]


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "labels", "attributes", "largest", "n_graphs"), SAMPLES)
def test_exact_kernel_keeps_its_promise(name, labels, attributes, largest, n_graphs, data_folder):
    graphs = load_tudataset(name, data_home=data_folder, download=False).graphs
    small = np.flatnonzero(graphs.node_counts <= largest)
    graphs = graphs[np.random.default_rng(0).choice(small, n_graphs, replace=False)]
    graphs = graphs if labels else graphs.without_labels()
    graphs = graphs if attributes else graphs.without_attributes()
    gamma_c = 1 / np.sqrt(graphs.n_attributes or 1)
    truth = naive_products(graphs, 3.0, gamma_c, n_steps=50)
    for tol in (0, 1e-6, 1e-4, 1e-2):
        kernel = RetGKKernel(structure_kernel=Laplacian(3.0), tol=tol)
        found = kernel.fit(graphs).inner_products_
        assert_close(found, truth, max(tol, 1e-12))
        assert np.linalg.eigvalsh(found).min() > -1e-9


@pytest.mark.real_data
@pytest.mark.parametrize("tol", [1e-6, 1e-4, 1e-2])
def test_promise_for_graphs_of_another_sort(data_folder, tol):
    """Molecules are fitted; proteins, networks of actors and threads come later."""
    molecules = load_tudataset("MUTAG", data_home=data_folder, download=False).graphs[:60]
    kernel = RetGKKernel(
        structure_kernel=Laplacian(3.0), graph_kernel=PolynomialGraphKernel(), tol=tol
    ).fit(molecules.without_labels())
    exact = RetGKKernel(
        structure_kernel=Laplacian(3.0), graph_kernel=PolynomialGraphKernel(), tol=0
    ).fit(molecules.without_labels())
    for name in ("ENZYMES", "IMDB-BINARY", "DD", "REDDIT-BINARY"):
        graphs = load_tudataset(name, data_home=data_folder, download=False).graphs[:8]
        graphs = graphs.without_labels().without_attributes()
        assert_close(kernel.transform(graphs), exact.transform(graphs), tol)
        assert_close(kernel.diagonal(graphs), exact.diagonal(graphs), tol)
        one = kernel.transform(graphs[3:4])
        np.testing.assert_array_equal(one, kernel.transform(graphs)[3:4])
