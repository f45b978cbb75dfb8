"""Kernels of other authors where numbers are very large or very small, or graphs are none."""

import numpy as np
import pytest
from sklearn.base import clone

from retgk import (
    Bridge,
    GraphBatch,
    GraphInvariantKernel,
    HashGraphKernel,
    InvalidInputError,
    Laplacian,
    Polynomial,
    RetGKEmbedding,
    ShortestPathKernel,
    SubgraphMatchingKernel,
)
from tests.kernel_graphs import graphs_of_kind
from tests.test_peer_kernels import every_kernel, fresh

GRAPHS = graphs_of_kind("both", 12)


def with_scale(scale):
    """The graphs with attributes that are so many times as large."""
    return GRAPHS.with_attributes(scale * GRAPHS.attributes)


@every_kernel
def test_no_graphs(name):
    kernel = fresh(name).fit(GRAPHS)
    assert kernel.transform(GRAPHS[:0]).shape == (0, len(GRAPHS))
    assert kernel.diagonal(GRAPHS[:0]).shape == (0,)
    if "attributes" not in name:
        assert kernel.features(GRAPHS[:0]).shape == (0, kernel.features(GRAPHS).shape[1])
    with pytest.raises(InvalidInputError, match="there are no graphs to fit"):
        kernel.fit(GRAPHS[:0])


@pytest.mark.parametrize("feature_map", ["phases", "joint", "tensor"])
@pytest.mark.parametrize("options", [{}, {"method": "monte-carlo", "n_walks": 20}, {"nodes": 3}])
def test_no_graphs_have_no_errors(feature_map, options):
    model = RetGKEmbedding(8, n_components=8, feature_map=feature_map, random_state=0, **options)
    shape = model.fit(GRAPHS).transform(GRAPHS[:0]).shape
    assert [part.shape for part in model.transform_with_error(GRAPHS[:0])] == [shape, shape]


def assert_same_kernel(kernel, other, graphs, others):
    """Values of two kernels, of fitted graphs and of new ones, where both are normalized."""
    expected = other.fit_transform(others)
    found = kernel.fit_transform(graphs)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_array_equal(found.diagonal(), 1.0)
    np.testing.assert_allclose(kernel.fit(graphs[4:]).transform(graphs), expected[:, 4:], rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-280, 1e-200, 1e200, 1e300])
@pytest.mark.parametrize("attribute_kernel", [None, Bridge(3.0)])
def test_unit_of_size_weights(scale, attribute_kernel):
    weights = np.array([1.0, 2.0, 0.5])
    kernels = [
        SubgraphMatchingKernel(3, size_weights=own, attribute_kernel=attribute_kernel)
        for own in (scale * weights, weights)
    ]
    assert_same_kernel(*kernels, GRAPHS, GRAPHS)


@pytest.mark.parametrize(
    ("model", "degree"),
    # of one size alone: the larger the unit, the less smaller ones count
    [(ShortestPathKernel(), 8), (SubgraphMatchingKernel(5, size_weights=[0, 0, 0, 0, 1]), 3)],
)
def test_large_polynomials(model, degree):
    """Without a constant, the unit of attributes changes nothing once norms are divided by."""
    kernel = clone(model).set_params(attribute_kernel=Polynomial(degree=degree, coef0=0.0))
    assert_same_kernel(kernel, clone(kernel), with_scale(1e6), GRAPHS)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("attribute_kernel", [None, Bridge(3.0)])
def test_kernels_that_are_no_numbers(normalize, attribute_kernel):
    how = {"attribute_kernel": attribute_kernel, "normalize": normalize}
    kernel = SubgraphMatchingKernel(3, size_weights=[1e308, 1e308, 1.7e308], **how)
    with pytest.raises(InvalidInputError, match=r"graph 0: .* too large .*; scale .*size_weights"):
        kernel.fit(GRAPHS)
    kernel = SubgraphMatchingKernel(3, size_weights=[1e-310] * 3, **how)
    if not normalize:
        assert (kernel.fit_transform(GRAPHS).diagonal() > 0).all()
        return
    with pytest.raises(InvalidInputError, match=r"graph 0: .* too small .*; scale .*size_weights"):
        kernel.fit(GRAPHS)


def assert_refuses(kernel, graphs, message):
    """Both as graphs to fit and as new ones."""
    with pytest.raises(InvalidInputError, match=message):
        kernel.fit(graphs)
    kernel.fit(GRAPHS)
    with pytest.raises(InvalidInputError, match=message):
        kernel.transform(graphs)


@pytest.mark.parametrize("model", [ShortestPathKernel, SubgraphMatchingKernel])
def test_polynomials_that_are_no_numbers(model):
    kernel = model(attribute_kernel=Polynomial())
    message = r"graph \d+: attribute \d of node \d+ is .*e\+60, at which Polynomial\(.*is too large"
    assert_refuses(kernel, with_scale(1e60), message)


def test_products_of_polynomials_that_are_no_numbers():
    """The kernel of two nodes is a number, the product of five such kernels is none."""
    kernel = SubgraphMatchingKernel(5, attribute_kernel=Polynomial(degree=4))
    message = r"graph \d+: its kernel with itself is too large .*; scale the attributes"
    assert_refuses(kernel, with_scale(1e10), message)


def test_kernels_without_walks_take_any_weights():
    """Walks refuse weights that are too far apart for them; these kernels do not walk."""
    graphs = GraphBatch.from_edges(
        3, [[0, 1], [1, 2]], weights=[1e-200, 1.0], symmetrize=True
    ).with_attributes([[0.0], [1.0], [2.0]])
    for kernel in (
        HashGraphKernel(random_state=0),
        GraphInvariantKernel(),
        SubgraphMatchingKernel(attribute_kernel=Bridge(3.0)),
        ShortestPathKernel(attribute_kernel=Laplacian(1.0)),
    ):
        np.testing.assert_allclose(kernel.fit_transform(graphs), [[1.0]])
