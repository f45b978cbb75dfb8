"""The hash graph kernel against a slow and obvious version."""

import networkx as nx
import numpy as np
import pytest

from retgk import HashGraphKernel, InvalidInputError, as_batch
from tests import naive
from tests.kernel_graphs import graphs_of_kind
from tests.labelled_edges import random_graphs

BASES = {
    "wl": lambda graphs: naive.weisfeiler_lehman_gram(graphs, 2, False),
    "sp": lambda graphs: naive.shortest_path_gram(
        graphs, lambda u, v: graphs.labels[u] == graphs.labels[v]
    ),
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
def test_values(base, labelled, standardize):
    for seed in range(4):
        graphs = random_graphs(seed, labelled=labelled, n_attributes=2)
        kernel = HashGraphKernel(
            3,
            base=base,
            n_iter=2,
            bin_width=0.8,
            standardize=standardize,
            normalize=False,
            random_state=seed,
        )
        found = kernel.fit_transform(graphs)
        counter = kernel.engine_.counter
        deviations = graphs.attributes.std(axis=0)
        expected = naive.hash_graph_gram(
            graphs,
            BASES[base],
            list(zip(counter.directions, counter.shifts, strict=True)),
            0.8,
            graphs.attributes.mean(axis=0) if standardize else 0.0,
            np.where(deviations > 0, deviations, 1) if standardize else 1.0,
        )
        np.testing.assert_allclose(found, expected, rtol=1e-14)
        np.testing.assert_allclose(kernel.transform(graphs), expected, rtol=1e-14)
        np.testing.assert_allclose(kernel.diagonal(graphs), expected.diagonal(), rtol=1e-14)


def test_hashes_are_two_stable():
    """Points at distance d share a bin as often as the formula of Datar et al. (2004) says."""
    from scipy.stats import norm

    distance, width = 1.5, 2.0
    graphs = as_batch([nx.empty_graph(1), nx.empty_graph(1)]).with_attributes([[0, 0], [0.9, 1.2]])
    kernel = HashGraphKernel(
        4000, n_iter=0, bin_width=width, standardize=False, normalize=False, random_state=0
    )
    share = kernel.fit_transform(graphs)[0, 1]
    ratio = width / distance
    density = 2 / (np.sqrt(2 * np.pi) * ratio) * (1 - np.exp(-(ratio**2) / 2))
    expected = 1 - 2 * norm.cdf(-ratio) - density
    assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / 4000)


def test_seeds():
    graphs = graphs_of_kind("attributes", 12)
    kernels = [HashGraphKernel(4, random_state=seed) for seed in (0, 0, 1)]
    same, again, other = (kernel.fit_transform(graphs) for kernel in kernels)
    np.testing.assert_array_equal(same, again)
    assert (same != other).any()


def test_errors():
    graphs = graphs_of_kind("attributes")
    with pytest.raises(InvalidInputError, match=r"no attributes to hash; .*WeisfeilerLehmanKernel"):
        HashGraphKernel().fit(graphs_of_kind("labels"))
    with pytest.raises(InvalidInputError, match=r"the graphs have 0 attributes a node, the fitted"):
        HashGraphKernel(2).fit(graphs).transform(graphs.without_attributes())
    message = r"bin_width=1e-12 is too small .* bins; use a larger one"
    with pytest.raises(InvalidInputError, match=f"{message}$"):
        HashGraphKernel(2, bin_width=1e-12).fit(graphs)
    with pytest.raises(InvalidInputError, match=f"{message}, or standardize=True$"):
        HashGraphKernel(2, bin_width=1e-12, standardize=False).fit(graphs)


@pytest.mark.parametrize("base", BASES)
def test_a_constant_column_is_not_stretched(base):
    """The mean of many 0.1 is not 0.1: rounding is no deviation to divide by."""
    graphs = graphs_of_kind("structure", 30)
    attributes = np.full((graphs.n_nodes, 1), 0.1)
    assert attributes.std() > 0
    kernel = HashGraphKernel(5, base=base, random_state=0).fit(graphs.with_attributes(attributes))
    usual = kernel.transform(graphs.with_attributes(attributes))
    near = kernel.transform(graphs.with_attributes(attributes + 1e-7))
    np.testing.assert_array_equal(near, usual)
    far = kernel.transform(graphs.with_attributes(attributes + 0.1))
    assert 0.3 < far.diagonal().mean() <= 1.0


def test_new_attributes_far_from_all():
    graphs = graphs_of_kind("attributes")
    small = graphs.with_attributes(1e-200 * graphs.attributes)
    kernel = HashGraphKernel(2, random_state=0).fit(small)
    with pytest.raises(InvalidInputError, match=r"bin_width=1.0 is too small .* a larger one$"):
        kernel.transform(graphs.with_attributes(1e140 * graphs.attributes))
    np.testing.assert_array_equal(
        kernel.transform(small), HashGraphKernel(2, random_state=0).fit(graphs).transform(graphs)
    )
