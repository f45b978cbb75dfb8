"""Shares are integrated gradients, and values of nodes are those of the formula."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import (
    ExponentialGraphKernel,
    GraphBatch,
    Laplacian,
    PolynomialGraphKernel,
    RetGKClassifier,
)
from retgk.kernels.embedded import EmbeddedEngine
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import ExactEngine
from retgk.kernels.gradients import LineEnds, line_gradients
from retgk.walks.probabilities import Walks
from tests import naive
from tests.explained_models import (
    NEW,
    OPTIONS,
    TASKS,
    TRAIN,
)
from tests.test_new_graphs import placed
from tests.test_weighted_gram import KERNELS, naive_gram

# the gradients themselves


def slow_shares(model, train, graph, coefficients):
    """Integrated gradients by central differences and Simpson's rule, over all pairs of nodes."""
    n_steps, gamma = model.walks_.n_steps, model.engine_.kernels[0].gamma
    support = GraphBatch.concatenate([train[s : s + 1] for s in model.support_] + [graph])
    points = naive.return_probabilities_of_batch(support, n_steps)
    kernel = np.array([[naive.laplacian(x, y, gamma) for y in points] for x in points])
    sizes = np.diff(support.node_ptr)
    means = np.zeros((len(support), len(points)))
    for row, (first, size) in enumerate(zip(support.node_ptr, sizes, strict=False)):
        means[row, first : first + size] = 1 / size
    fitted_means, end = means[:-1], means[-1]
    start, graph_kernel = fitted_means.mean(axis=0), model.graph_kernel_

    def value(mixture):
        gaps = mixture - fitted_means
        squares = np.maximum(np.einsum("si,ij,sj->s", gaps, kernel, gaps), 0)
        return coefficients @ np.exp(-graph_kernel.gamma * squares ** (graph_kernel.p / 2))

    times, step = np.linspace(0, 1, 41), 1e-4
    weights = np.array([1, *([4, 2] * 19), 4, 1]) / 120
    shares = []
    for node in range(support.node_ptr[-2], support.node_ptr[-1]):
        direction = (np.arange(len(points)) == node) - start
        slopes = []
        for t in times:
            here = start + t * (end - start)
            ahead, behind = value(here + step * direction), value(here - step * direction)
            slopes.append((ahead - behind) / (2 * step))
        shares.append(weights @ slopes / sizes[-1])
    return np.array(shares)


@pytest.mark.parametrize("p", [0.7, 1.0, 2.0])
def test_shares_are_integrated_gradients(p):
    train, targets = TRAIN[:14].without_labels().without_attributes(), TASKS["two classes"][:14]
    options = {"structure_kernel": Laplacian(3.0), "scale_attributes": "raw", "tol": 0.0}
    model = RetGKClassifier(
        approximate=False, depth=0, p=p, scale=1, **(OPTIONS | {"n_steps": 4}), **options
    ).fit(train, targets)
    graph = NEW[3:4].without_labels().without_attributes()
    expected = slow_shares(model, train, graph, model.dual_coef_[0])
    np.testing.assert_allclose(model.explain(graph, 1).of(0), expected, atol=2e-6)
    np.testing.assert_allclose(model.explain(graph, 0).of(0), -expected, atol=2e-6)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    kernel=st.sampled_from(
        [ExponentialGraphKernel(g, p) for g in (0.3, 4.0, 40.0) for p in (0.5, 1.0, 1.5, 2.0)]
        + [PolynomialGraphKernel(c, d) for c in (0.0, 1.0) for d in (1, 2, 5)]
    ),
    distance=st.sampled_from([0.0, 1e-9, 1e-3, 0.3, 1.0]),
)
def test_mean_gradients_of_points(seed, kernel, distance):
    """Mean embeddings that are points of a space: gradients by formula, averaged by brute force."""
    rng = np.random.default_rng(seed)
    fitted, coefficients = rng.normal(size=(5, 3)) / 2, rng.normal(size=(1, 5))
    start = fitted.mean(axis=0)
    end = start + distance * rng.normal(size=3)
    if seed % 3 == 0 and distance:  # the line passes close to a point
        # with p below 1, distances of 1e-6 lose too many digits as differences of products
        end = fitted[0] + (1e-3 if getattr(kernel, "p", 1) < 1 else 1e-6) * rng.normal(size=3)
    norms = (fitted**2).sum(axis=1)
    ends = LineEnds(end[None] @ fitted.T, np.array([end @ end]), fitted @ start, norms)
    rise = (coefficients * (ends.values(kernel) - ends.mean_values(kernel))).sum(axis=1)
    found = line_gradients(kernel, ends, coefficients, rise)
    gradient = found.weights[0] @ fitted + found.own_weights[0] * end
    expected = mean_gradient(kernel, fitted, coefficients[0], start, end)
    scale = max(1.0, np.abs(expected).max())
    # along the line, the rise says what it is, better than brute force near a point
    line = end - start
    assert line @ gradient == pytest.approx(rise[0], abs=1e-9 * scale)
    difference = gradient - expected
    np.testing.assert_allclose(difference, 0, atol=1e-4 * scale)
    if distance:
        across = difference - (difference @ line) / (line @ line) * line
        np.testing.assert_allclose(across, 0, atol=1e-6 * scale)


def mean_gradient(kernel, fitted, coefficients, start, end):
    """Average of the gradient over many places of the line, dense at its nearest points."""
    times = [np.linspace(0, 1, 2001)]
    line = end - start
    for point in fitted if line @ line > 1e-14 else []:
        nearest = (point - start) @ line / (line @ line)
        near = nearest + np.concatenate([s * np.logspace(-14, 0, 2500) for s in (-1, 1)])
        times.append(near[(near > 0) & (near < 1)])
    times = np.unique(np.concatenate(times))
    middle, half = 0.5 * (times[1:] + times[:-1]), 0.5 * np.diff(times)
    t = np.concatenate([middle - half / 3**0.5, middle + half / 3**0.5])  # Gauss, two nodes
    places = start + t[:, None] * line
    gaps = places[:, None] - fitted
    squares = (gaps**2).sum(axis=2)
    if isinstance(kernel, PolynomialGraphKernel):
        slopes = kernel.d * (kernel.c + places @ fitted.T) ** (kernel.d - 1)
        gradients = np.einsum("ts,s,sd->td", slopes, coefficients, fitted)
    else:
        r = np.sqrt(np.maximum(squares, 1e-30))
        slopes = (
            -kernel.gamma * kernel.p * r ** (kernel.p - 2) * np.exp(-kernel.gamma * r**kernel.p)
        )
        gradients = np.einsum("ts,s,tsd->td", slopes, coefficients, gaps)
    return np.concatenate([half, half]) @ gradients


# values of nodes


@settings(max_examples=40, deadline=None)
@given(
    kernels=st.sampled_from(KERNELS),
    n_labels=st.sampled_from([0, 3]),
    seed=st.integers(0, 2**32 - 2),
    tol=st.sampled_from([0.0, 1e-4]),
    shift=st.sampled_from([0.0, 0.1, 1e4]),
)
def test_values_of_nodes_are_those_of_the_formula(kernels, n_labels, seed, tol, shift):
    """Near and far graphs: every node as a graph of its own."""
    x, y, _, new = placed(seed, [4] * len(kernels), kernels, tol, n_labels, spread=1.0, shift=shift)
    rng = np.random.default_rng(seed)
    weights, own = rng.normal(size=(y.n_graphs, x.n_graphs)), rng.normal(size=y.n_graphs)
    found = new.node_values(weights, own)
    graphs = y.graph_of_node()
    single = type(y)(y.blocks, np.arange(y.n_nodes + 1), y.labels)
    expected = (weights[graphs] * naive_gram(single, x, kernels)).sum(axis=1)
    expected += own[graphs] * naive_gram(single, y, kernels)[np.arange(y.n_nodes), graphs]
    size = max(1.0, np.abs(naive_gram(single, y, kernels)).max()) * 10
    # nodes of a graph may move by more than its mean does, which the promise is about
    assert np.abs(found - expected).max() <= max(100 * tol, 1e-6) * size
    means = np.bincount(graphs, found) / np.diff(y.node_ptr)
    products, norms = new.products(), new.squared_norms()
    np.testing.assert_allclose(
        means, (weights * products).sum(axis=1) + own * norms, atol=1e-9 * size
    )


@pytest.mark.parametrize("depth", [0, 2])
@pytest.mark.parametrize("kind", [ExactEngine, EmbeddedEngine])
def test_means_of_the_values_of_nodes(kind, depth):
    extra = {"feature_map": "phases"} if kind is EmbeddedEngine else {}
    walks = Walks(6)
    engine = kind(depth=depth, random_state=0, **extra).fit(NodeFeatures(TRAIN, walks))
    new = engine.compare(NodeFeatures(NEW, walks))
    rng = np.random.default_rng(0)
    weights, own = rng.normal(size=(len(NEW), len(TRAIN))), rng.normal(size=len(NEW))
    values = new.node_values(weights, own)
    means = np.add.reduceat(values, NEW.node_ptr[:-1]) / NEW.node_counts
    expected = (weights * new.products()).sum(axis=1) + own * new.squared_norms()
    np.testing.assert_allclose(means, expected, atol=1e-12)
    products = engine.inner_products()
    np.testing.assert_allclose(engine.mean_products(), products.mean(axis=1), atol=1e-12)
