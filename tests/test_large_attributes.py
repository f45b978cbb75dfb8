"""Attributes at the limits of float64: the right answer or a clear error, never a constant."""

import numpy as np
import pytest

from retgk import (
    Gaussian,
    GraphBatch,
    InvalidInputError,
    Laplacian,
    Polynomial,
    RetGKClassifier,
    RetGKEmbedding,
    RetGKKernel,
    RetGKRegressor,
    ShortestPathKernel,
    make_graph_classification,
)
from retgk.kernels.engine import NodeFeatures
from tests.naive import laplacian, mean_embedding_product, return_probabilities_of_batch

DATA = make_graph_classification(n_graphs=20, random_state=0)
NORMAL = np.random.default_rng(0).normal(size=(DATA.graphs.n_nodes, 2))
MODELS = [
    RetGKKernel(random_state=0),
    RetGKKernel(random_state=0, tol=0),
    RetGKKernel(random_state=0, attribute_kernel=Laplacian("median")),
    RetGKKernel(random_state=0, attribute_kernel=Polynomial()),
    RetGKEmbedding(random_state=0),
    RetGKClassifier(random_state=0, cv=2),
    RetGKClassifier(random_state=0, cv=2, approximate=True),
    RetGKRegressor(random_state=0, cv=2),
]


def with_sentinels(value):
    attributes = NORMAL.copy()
    attributes[DATA.graphs.node_ptr[3] + 2, 1] = attributes[-1, 0] = value
    return DATA.graphs.with_attributes(attributes)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("value", [np.finfo(float).max, -1e155])
def test_sentinels_are_named(model, value):
    message = r"graph 3: attribute 1 of node 2 is .*, which is too large to compute with; if it st"
    with pytest.raises(InvalidInputError, match=message):
        model.fit(with_sentinels(value), DATA.targets)
    model.fit(DATA.graphs.with_attributes(NORMAL), DATA.targets)
    ask = model.predict if hasattr(model, "predict") else model.transform
    with pytest.raises(InvalidInputError, match=message):
        ask(with_sentinels(value))


@pytest.mark.parametrize("model", MODELS)
def test_attributes_that_are_all_too_large(model):
    with pytest.raises(InvalidInputError, match=r"graph \d+: attribute \d of node \d+ is .*e\+155"):
        model.fit(DATA.graphs.with_attributes(1e155 * NORMAL), DATA.targets)


@pytest.mark.parametrize("tol", [0, 1e-4])
def test_large_values_beside_small_ones_are_not_rounded_away(tol):
    message = r"float64 rounds by .*; graph 3: attribute 1 of node 2 is 1e\+20"
    with pytest.raises(InvalidInputError, match=message):
        RetGKKernel(random_state=0, tol=tol).fit(with_sentinels(1e20))


def test_polynomials_that_are_no_numbers():
    kernel = RetGKKernel(random_state=0, attribute_kernel=Polynomial())
    message = r"graph 3: attribute 1 of node 2 is 1e\+100, at which Polynomial\(.*is too large"
    with pytest.raises(InvalidInputError, match=message):
        kernel.fit(with_sentinels(1e100))
    kernel.fit(DATA.graphs.with_attributes(NORMAL))
    with pytest.raises(InvalidInputError, match=message):
        kernel.transform(with_sentinels(1e100))


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e9, 1e100])
def test_medians_take_any_scale(scale):
    """A bandwidth from the data makes the unit of attributes irrelevant."""
    options = {"random_state": 0, "attribute_kernel": Laplacian("median"), "tol": 1e-6}
    expected = RetGKKernel(**options).fit_transform(DATA.graphs.with_attributes(NORMAL))
    found = RetGKKernel(**options).fit_transform(DATA.graphs.with_attributes(scale * NORMAL))
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-160, 1e-170, 1e-300])
@pytest.mark.parametrize("kernel", [Gaussian("median"), Laplacian("median")])
@pytest.mark.parametrize("model", [RetGKKernel, RetGKEmbedding, ShortestPathKernel])
def test_medians_whose_squares_are_no_numbers(model, kernel, scale):
    """They are neither zero, as of nodes that are all alike, nor an overflow."""
    graphs = DATA.graphs.with_attributes(scale * NORMAL)
    message = r"the median distance of nodes is .*e-\d+, whose square is too small .*; scale the"
    with pytest.raises(InvalidInputError, match=message):
        model(attribute_kernel=kernel, random_state=0).fit(graphs)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e140])
def test_standardized_attributes_take_any_scale(scale):
    options = {"random_state": 0, "scale_attributes": "standard", "tol": 0}
    expected = RetGKKernel(**options).fit_transform(DATA.graphs.with_attributes(NORMAL))
    found = RetGKKernel(**options).fit_transform(DATA.graphs.with_attributes(scale * NORMAL))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("tol", [0, 1e-6, 1e-4])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e16, 1e17])
def test_new_graphs_far_away_whose_nodes_are_close(tol, offset):
    """Above 1e16 numbers are two and more apart: norms must not round the nodes together."""
    unit = np.spacing(max(offset, 1e16))
    steps = unit * np.array([[0.0], [1.0], [2.0], [5.0]])
    graph = GraphBatch.from_edges(4, [[0, 1], [1, 2], [2, 3]], symmetrize=True)
    near = [graph.with_attributes(steps * factor) for factor in (0.3, 0.7, 1.1)]
    graph = graph.with_attributes(offset + steps)
    gamma = 0.37 / unit
    kernels = {"structure_kernel": Laplacian(1.0), "attribute_kernel": Laplacian(gamma)}
    fitted = GraphBatch.concatenate(near)
    kernel = RetGKKernel(8, tol=tol, random_state=0, **kernels).fit(fitted)
    nodes = list(zip(return_probabilities_of_batch(graph, 8), graph.attributes, strict=True))
    expected = mean_embedding_product(
        nodes, nodes, lambda x, y: laplacian(x[0], y[0], 1.0) * laplacian(x[1], y[1], gamma)
    )
    norms = kernel.engine_.compare(NodeFeatures(graph, kernel.walks_)).squared_norms()
    assert abs(norms[0] - expected) <= max(tol, 1e-12)
