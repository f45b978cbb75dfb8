"""The engine of inner products against a double loop, and its promises."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import _core
from retgk.datasets import load_tudataset
from retgk.kernels import exact_points
from retgk.kernels.embedded_fourier import draw_fourier_map
from retgk.kernels.exact import FittedGraphs
from retgk.kernels.exact_points import FLOAT64_ERROR, NodePoints, tile_error
from retgk.kernels.node import Delta, Gaussian, Laplacian, Matern, Polynomial, median_distance
from tests import naive
from tests.errors import fails

KERNELS = [
    (Laplacian(gamma=1.3),),
    (Gaussian(gamma=0.7),),
    (Laplacian(gamma=1.3), Laplacian(gamma=0.4)),
    (Laplacian(gamma=1.3), Gaussian(gamma=0.4)),
    (Gaussian(gamma=0.3), Gaussian(gamma=0.4)),
    (Gaussian(gamma=0.3), Laplacian(gamma=0.4), Gaussian(gamma=0.1)),
    (Polynomial(degree=2, coef0=0.5, gamma=0.8),),
    (Polynomial(degree=3, coef0=1.0, gamma=0.1), Laplacian(gamma=0.4)),
    (Matern(gamma=0.8),),
    (Gaussian(gamma=0.3), Matern(gamma=0.8), Polynomial(gamma=0.5)),
]
TOLERANCES = [0.0, 1e-9, 1e-6, 1e-5, 1e-3, 1e-1]


def weighted_gram(nodes, *, kernels, tol=1e-4, n_jobs=None):
    """Inner products of the graphs of some nodes."""
    return FittedGraphs.of(nodes, kernels, tol, n_jobs).gram(n_jobs=n_jobs)


def naive_gram(x, y, kernels):
    """Double loop over graphs and nodes, straight from the formula."""
    gram = np.zeros((x.n_graphs, y.n_graphs))
    for g in range(x.n_graphs):
        for h in range(y.n_graphs):
            nodes = range(x.node_ptr[g], x.node_ptr[g + 1])
            others = range(y.node_ptr[h], y.node_ptr[h + 1])
            values = [node_kernel(x, i, y, j, kernels) for i in nodes for j in others]
            gram[g, h] = np.mean(values)
    return gram


def node_kernel(x, i, y, j, kernels):
    if x.labels is not None and (x.labels[i] != y.labels[j] or x.labels[i] < 0):
        return 0.0
    value = 1.0
    for a, b, kernel in zip(x.blocks, y.blocks, kernels, strict=True):
        difference = np.linalg.norm(a[i] - b[j])
        if isinstance(kernel, Laplacian):
            value *= np.exp(-kernel.gamma * difference)
        elif isinstance(kernel, Gaussian):
            value *= np.exp(-kernel.gamma * difference**2)
        elif isinstance(kernel, Matern):
            t = np.sqrt(3) * kernel.gamma * difference
            value *= (1 + t) * np.exp(-t)
        else:
            value *= (kernel.gamma * a[i] @ b[j] + kernel.coef0) ** kernel.degree
    return value


def random_points(seed, widths, n_graphs=6, n_labels=2, max_nodes=9):
    """Graphs with repeated and nearly repeated nodes."""
    rng = np.random.default_rng(seed)
    node_ptr = np.concatenate([[0], np.cumsum(rng.integers(1, max_nodes + 1, n_graphs))])
    n_nodes = int(node_ptr[-1])
    kinds = rng.integers(max(2, n_nodes // 2), size=n_nodes)
    blocks = []
    for width in widths:
        distinct = rng.standard_normal((n_nodes, width)) * 0.5 ** np.arange(width)
        noise = 10.0 ** rng.integers(-15, -3) * rng.standard_normal((n_nodes, width))
        blocks.append(distinct[kinds] + noise)
    labels = rng.integers(n_labels, size=n_nodes).astype(np.int32) if n_labels else None
    return NodePoints(tuple(blocks), node_ptr.astype(np.int64), labels)


@st.composite
def problems(draw):
    kernels = draw(st.sampled_from(KERNELS))
    widths = [draw(st.integers(1, 11)) for _ in kernels]
    n_labels = draw(st.sampled_from([0, 1, 3]))
    seed = draw(st.integers(0, 2**32 - 1))
    return kernels, widths, n_labels, seed


@settings(max_examples=60)
@given(problem=problems(), tol=st.sampled_from(TOLERANCES))
def test_error_is_within_the_promise(problem, tol):
    kernels, widths, n_labels, seed = problem
    x = random_points(seed, widths, n_labels=n_labels)
    expected = naive_gram(x, x, kernels)
    allowed = max(tol, FLOAT64_ERROR) * max(1.0, np.abs(expected).max())  # polynomials are large
    assert np.abs(weighted_gram(x, kernels=kernels, tol=tol) - expected).max() <= allowed
    rectangle = FittedGraphs.of(x, kernels, tol).gram(slice(0, 2), slice(2, 6))
    assert np.abs(rectangle - expected[:2, 2:]).max() <= allowed


@pytest.mark.parametrize("tol", [0.0, 1e-5])
@pytest.mark.parametrize("kernels", [*KERNELS[:4], (Matern(gamma=0.8),)])
def test_many_tiles_agree_with_the_formula(kernels, tol):
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 200, 17)
    node_ptr = np.concatenate([[0], np.cumsum(sizes)])
    n_nodes = node_ptr[-1]
    blocks = tuple(rng.standard_normal((n_nodes, width)) for width in (7, 3)[: len(kernels)])
    labels = rng.integers(2, size=n_nodes).astype(np.int32)
    x = NodePoints(blocks, node_ptr, labels)
    expected = Delta()(labels, labels)
    for block, kernel in zip(blocks, kernels, strict=True):
        expected *= kernel(block, block)
    mean = np.repeat(np.eye(17), sizes, axis=1) / sizes[:, None]
    error = weighted_gram(x, kernels=kernels, tol=tol) - mean @ expected @ mean.T
    assert np.abs(error).max() <= max(tol, FLOAT64_ERROR)


@pytest.mark.parametrize("tol", [0.0, 1e-5])
def test_same_bits_for_any_number_of_threads(tol):
    x = random_points(1, [20, 3], n_graphs=60, n_labels=3, max_nodes=60)
    grams = [weighted_gram(x, kernels=KERNELS[2], tol=tol, n_jobs=n) for n in (1, 2, 3)]
    np.testing.assert_array_equal(grams[0], grams[1])
    np.testing.assert_array_equal(grams[0], grams[2])


@pytest.mark.parametrize("tol", [0.0, 1e-5])
def test_gram_is_symmetric_and_positive_semidefinite(tol):
    gram = weighted_gram(random_points(2, [6], n_graphs=30), kernels=KERNELS[0], tol=tol)
    np.testing.assert_array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram).min() > -30 * max(tol, FLOAT64_ERROR)


def test_negative_labels_match_nothing():
    nodes = NodePoints((np.zeros((3, 1)),), np.array([0, 2, 3]), np.array([0, -1, -1], np.int32))
    gram = weighted_gram(nodes, kernels=KERNELS[0], tol=0)
    np.testing.assert_allclose(gram, [[0.25, 0.0], [0.0, 0.0]], atol=1e-15)


def test_equal_nodes_are_merged_and_weights_sum_to_one():
    nodes = NodePoints((np.array([[1.0], [1.0], [2.0], [1.0]]),), np.array([0, 3, 4]))
    points = FittedGraphs.of(nodes, KERNELS[0], 0.0).points
    assert len(points) == 2
    totals = np.bincount(points.entry_graphs, points.entry_weights)
    np.testing.assert_allclose(totals, [1.0, 1.0])


def test_loose_tolerance_merges_and_drops_directions():
    x = random_points(6, [40], n_graphs=40, n_labels=0, max_nodes=30)
    tight, loose = (FittedGraphs.of(x, KERNELS[0], tol) for tol in (1e-5, 0.5))
    assert len(loose.points) < len(tight.points)
    assert loose.frame.block_ptr[-1] < tight.frame.block_ptr[-1] < 40
    assert_points_are_weighted_means(x, loose)


def assert_points_are_weighted_means(x, graphs):
    """Merging takes no weight from any graph, and leaves the mean of all nodes where it was."""
    points, (factor,) = graphs.points, graphs.frame.factors
    weights = np.bincount(points.entry_graphs, points.entry_weights, x.n_graphs)
    np.testing.assert_allclose(weights, 1.0, atol=1e-12)
    sizes = np.diff(x.node_ptr)
    expected = np.repeat(1 / sizes, sizes) @ factor.coordinates(x.blocks[0])
    found = points.entry_weights @ points.coordinates[points.entry_points]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_float32_is_used_only_where_the_promise_allows():
    x = random_points(7, [6])
    assert FittedGraphs.of(x, KERNELS[0], 1e-5).frame.dtype == np.float32
    assert FittedGraphs.of(x, KERNELS[0], 1e-7).frame.dtype == np.float64
    far = NodePoints((x.blocks[0] * 1e4,), x.node_ptr, x.labels)
    assert FittedGraphs.of(far, KERNELS[0], 1e-5).frame.dtype == np.float64


@pytest.mark.parametrize("kind", ["two places far apart", "a promise below that of tiles"])
@pytest.mark.parametrize("kernel", [Laplacian(gamma=1.0), Gaussian(gamma=1.0)])
def test_promise_where_float32_would_break_it(monkeypatch, kernel, kind):
    """By its rounding, or by that of tiles; every graph has one node."""
    rng = np.random.default_rng(0)
    points, tol = rng.standard_normal((60, 50)) / 20, 5e-8
    if kind == "two places far apart":
        points, tol = np.concatenate([place + rng.random((30, 2)) for place in (-1e4, 1e4)]), 1e-4
    nodes = NodePoints((points,), np.arange(len(points) + 1))
    expected = kernel(points, points)
    assert np.abs(weighted_gram(nodes, kernels=[kernel], tol=tol) - expected).max() <= tol
    monkeypatch.setattr(exact_points, "_rounding_bound", lambda _: 0.0)
    assert FittedGraphs.of(nodes, [kernel], tol).frame.dtype == np.float32
    assert np.abs(weighted_gram(nodes, kernels=[kernel], tol=tol) - expected).max() > tol


@pytest.mark.parametrize("kernel", [Laplacian(gamma=1.3), Gaussian(gamma=0.7), Matern(gamma=0.8)])
def test_float32_begins_where_its_bound_is_85_percent_of_the_promise(kernel):
    x = random_points(7, [6])
    centred = x.blocks[0] - exact_points.principal_rotation(x, 0, 1).mean
    distances = np.linalg.norm(centred, axis=1)
    sizes = [distances[first:last].mean() for first, last in pairwise(x.node_ptr)]
    moves = kernel.lipschitz * kernel.coordinate_scale * max(sizes)
    bound = 2 * 2.0**-24 * moves + tile_error([kernel], [6])
    assert FittedGraphs.of(x, [kernel], 1.01 * bound / 0.85).frame.dtype == np.float32
    assert FittedGraphs.of(x, [kernel], 0.99 * bound / 0.85).frame.dtype == np.float64


@pytest.mark.parametrize("n_factors", [1, 2, 5])
def test_bound_of_float32_tiles_holds_for_products_of_matern(n_factors):
    """Rounding the exponents counts most where the product is steepest, at small distances."""
    rng = np.random.default_rng(0)
    x = np.float32(rng.uniform(0, 3 / np.sqrt(n_factors), (2000, n_factors)))
    kernels = (Matern(gamma=1 / np.sqrt(3)),) * n_factors
    nodes = NodePoints(tuple(np.float64(x.T[:, :, None])), np.arange(2001))
    fitted = FittedGraphs.of(nodes, kernels, 1e-5)
    assert fitted.frame.dtype == np.float32
    expected = np.prod([kernels[0](a[:, None], a[:, None]) for a in x.T], axis=0)
    assert np.abs(fitted.gram() - expected).max() <= 1e-5


@pytest.mark.parametrize("scale", [1e6, 1e9])
def test_large_coordinates_round_more(scale):
    """float64 keeps its promise if it can, and says so where it cannot."""
    x = random_points(7, [6])
    far = NodePoints((x.blocks[0] * scale,), x.node_ptr, x.labels)
    kernels = (Laplacian(gamma=1.3),)
    promised = FittedGraphs.of(far, kernels, 0.0).frame.error
    assert 1e-9 * scale / 1e6 < promised < 1e-8 * scale / 1e6
    error = weighted_gram(far, kernels=kernels, tol=0) - naive_gram(far, far, kernels)
    assert np.abs(error).max() <= promised
    fails(lambda: weighted_gram(far, kernels=kernels, tol=1e-10), ("float64", "tol=1e-10"))
    assert weighted_gram(far, kernels=kernels, tol=1e-3).shape == (6, 6)


def test_rounding_of_ordinary_coordinates_is_the_constant():
    assert FittedGraphs.of(random_points(7, [6]), KERNELS[0], 0.0).frame.error == FLOAT64_ERROR


def test_moments_are_added_up_in_bands(monkeypatch):
    x = random_points(8, [20], n_graphs=400, n_labels=0, max_nodes=60)
    assert len(list(x.graph_chunks())) > 4
    whole = exact_points.principal_rotation(x, 0, 2)
    monkeypatch.setattr(exact_points, "BAND_BYTES", 1)
    monkeypatch.setattr(exact_points, "MIN_TOGETHER", 2)
    banded = exact_points.principal_rotation(x, 0, 2)
    np.testing.assert_array_equal(banded.basis, whole.basis)
    np.testing.assert_array_equal(banded.tails, whole.tails)


def wide_points(width=780):
    """Graphs with many attributes of full rank, and with near and with equal nodes."""
    rng = np.random.default_rng(8)
    distinct = rng.standard_normal((200, width))
    noise = rng.standard_normal((190, width)) * 10.0 ** rng.integers(-9, -1, (190, 1))
    blocks = (rng.standard_normal((190, 3)), distinct[rng.integers(200, size=190)] + noise)
    return NodePoints(blocks, np.array([0, 10, 25, 70, 190]), None)


@pytest.mark.parametrize("tol", [0.0, 1e-6, 1e-5, 1e-4, 1e-2])
@pytest.mark.parametrize("attributes", [Laplacian("dimension"), Gaussian(gamma=1e-3)])
@pytest.mark.parametrize("width", [80, 780])
def test_wide_attributes(attributes, width, tol):
    x = wide_points(width)
    kernels = [Laplacian(gamma=1.0), attributes.fitted(x.blocks[1], x.node_ptr)]
    error = weighted_gram(x, kernels=kernels, tol=tol) - naive_gram(x, x, kernels)
    assert np.abs(error).max() <= max(tol, FLOAT64_ERROR)


def test_tile_error_grows_with_the_width():
    assert tile_error([Laplacian()], [16]) < tile_error([Laplacian()], [780]) < 1e-5


@pytest.mark.parametrize(
    ("call", "about"),
    [
        (lambda: Laplacian(gamma=-1.0), ("Laplacian", "gamma", "-1.0")),
        (lambda: Gaussian(gamma="mean"), ("Gaussian", "gamma", "'mean'")),
        (lambda: Polynomial(degree=0), ("degree", "0")),
        (lambda: Polynomial(coef0=-1.0), ("coef0", "-1.0")),
        (lambda: Laplacian().scale, "gamma='median'"),
    ],
)
def test_wrong_parameters_are_named(call, about):
    fails(call, about)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("tol", TOLERANCES)
def test_promise_on_mutag(data_folder, tol):
    graphs = load_tudataset("MUTAG", data_home=data_folder, download=False).graphs
    rpf = naive.return_probabilities_of_batch(graphs, 50)
    x = NodePoints((rpf,), graphs.node_ptr, graphs.labels)
    kernel = Laplacian().fitted(rpf, x.node_ptr, 0)
    sizes = np.diff(x.node_ptr)
    mean = np.repeat(np.eye(len(sizes)), sizes, axis=1) / sizes[:, None]
    values = kernel(rpf, rpf) * Delta()(x.labels, x.labels)
    error = weighted_gram(x, kernels=[kernel], tol=tol) - mean @ values @ mean.T
    assert np.abs(error).max() <= max(tol, FLOAT64_ERROR)


@pytest.mark.parametrize("n_nodes", [2, 3, 4, 5, 60, 61])
@pytest.mark.parametrize("decimals", [1, 16])
def test_median_distance_counts_every_ordered_pair(n_nodes, decimals):
    points = np.random.default_rng(n_nodes).random((n_nodes, 3)).round(decimals)
    node_ptr = np.unique(np.append(np.arange(0, n_nodes, 5), n_nodes))
    n_drawn = n_nodes - n_nodes % 5 if n_nodes >= 5 else n_nodes
    distances = np.linalg.norm(points[:n_drawn, None] - points[None, :n_drawn], axis=2)
    assert median_distance(points, node_ptr, 0) == pytest.approx(np.median(distances), rel=1e-14)


def test_bandwidth_rules():
    points = np.arange(12.0).reshape(12, 1)
    node_ptr = np.array([0, 5, 12])
    median = median_distance(points, node_ptr, random_state=0)
    assert Laplacian().fitted(points, node_ptr, 0).gamma == 1 / median
    assert Gaussian().fitted(points, node_ptr, 0).gamma == pytest.approx(median**-2)
    assert Laplacian("dimension").fitted(np.zeros((12, 4)), node_ptr).gamma == 0.5
    assert Laplacian(gamma=3.0).fitted(points, node_ptr) == Laplacian(gamma=3.0)


def test_bandwidth_of_nodes_that_are_mostly_alike():
    node_ptr = np.array([0, 5, 10])
    rounding = np.random.default_rng(0).normal(0, 1e-16, (10, 1))
    assert Laplacian().fitted(np.zeros((10, 1)), node_ptr).gamma == 1
    assert Laplacian().fitted(1.0 + rounding, node_ptr).gamma == 1
    outlier = np.where(np.arange(10) == 7, 3.0, 1.0)[:, None] + rounding
    assert Laplacian().fitted(outlier, node_ptr).gamma == pytest.approx(0.5)
    assert Laplacian().fitted(1e-30 * outlier, node_ptr).gamma == pytest.approx(0.5e30)


@pytest.mark.parametrize("kernel", [Laplacian(0.5), Gaussian(0.5), Matern(0.5)])
def test_facts_of_kernels_agree_with_their_formulas(kernel):
    """Frequencies give the kernel on average, and no step changes it by more than is said."""
    x = np.linspace(0, 4, 401)[:, None]
    features = draw_fourier_map([(kernel, 1)], 200_000, random_state=0)(x[::100])
    np.testing.assert_allclose(features @ features.T, kernel(x[::100], x[::100]), atol=0.01)
    steps = np.diff(kernel(x[:1], x / kernel.coordinate_scale)[0]) / 0.01
    assert np.abs(steps).max() <= kernel.lipschitz


# Compiled loops of the exact kernel over single points, against what they say in plain Python

NODE_PTR = np.array([0, 5, 6, 20, 40])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def labels_of(rng, n, n_labels=3):
    return rng.integers(0, n_labels, n, dtype=np.int32)


def test_tails(rng):
    rotated = rng.normal(size=(35, 4))
    expected = np.array([1.0, 0.0, 3.0, 0.0, 7.0])
    tails = expected.copy()
    _core.add_tails(rotated, NODE_PTR[1:], tails)
    for start, stop in zip(NODE_PTR[1:-1] - 5, NODE_PTR[2:] - 5, strict=True):
        for k in range(4):
            norms = np.linalg.norm(rotated[start:stop, k:], axis=1)
            expected[k] = max(expected[k], norms.mean())
    np.testing.assert_allclose(tails, expected, rtol=1e-14)


@pytest.mark.parametrize("ptr", [np.array([0, 40]), NODE_PTR])
def test_representatives_are_the_first_near_points(rng, ptr):
    """Clusters in the middle of boxes, so that no border divides them."""
    centres = rng.integers(-3, 4, (6, 2)) + 0.5
    cluster = rng.integers(0, 6, 40)
    points = 0.1 * (centres[cluster] + rng.uniform(-0.1, 0.1, (40, 2)))
    labels = labels_of(rng, 40)
    found = np.empty(40, np.int64)
    _core.representatives(points, labels, ptr, 0.1, found)
    graph = np.searchsorted(ptr, np.arange(40), side="right")
    for i in range(40):
        near = (centres[cluster] == centres[cluster[i]]).all(axis=1)
        assert found[i] == np.flatnonzero(near & (labels == labels[i]) & (graph == graph[i]))[0]


def test_representatives_of_any_points_are_near(rng):
    points, labels = rng.normal(size=(300, 2)), labels_of(rng, 300)
    points[150:] = points[:150]
    points[0], points[150] = 0.0, -0.0
    labels[150:] = labels[:150]
    found = np.empty(300, np.int64)
    _core.representatives(points, labels, np.array([0, 300]), 0.5, found)
    assert (found == found[found]).all()
    assert (found <= np.arange(300)).all()
    assert (labels == labels[found]).all()
    assert np.linalg.norm(points - points[found], axis=1).max() <= 0.25
    assert (found[150:] == found[:150]).all()
    assert len(np.unique(found)) < 150


def test_cells_lie_within_limits(rng):
    points = rng.normal(size=(200, 3))
    points[100:120] = points[0]
    weights, limits = rng.uniform(0.1, 1, 200), rng.uniform(0, 0.8, 200)
    limits[:5] = 0.0
    cells = np.empty(200, np.int64)
    n_cells = _core.cells_within(points.copy(), weights.copy(), limits.copy(), cells)
    assert np.array_equal(np.unique(cells), np.arange(n_cells))
    assert 5 < n_cells < 181  # of 200 points of which 20 are equal
    assert (cells[100:120] == cells[0]).all()
    for cell in range(n_cells):
        own = cells == cell
        mean = np.average(points[own], axis=0, weights=weights[own])
        assert (np.linalg.norm(points[own] - mean, axis=1) <= limits[own] + 1e-15).all()


def test_nearest_in_table(rng):
    """No known point of the label and box is nearer than the one found."""
    known, known_labels = rng.normal(size=(400, 2)), labels_of(rng, 400)
    points, labels = rng.normal(size=(150, 2)), labels_of(rng, 150, 4)
    points[:20], labels[:20] = known[:20], known_labels[:20]
    radius, found = 0.3, np.empty(150, np.int64)
    table = _core.table_of(known, known_labels, radius)
    assert np.array_equal(np.sort(table[table >= 0]), np.arange(400))
    chosen = np.append(np.arange(20), rng.permutation(np.arange(20, 140)))
    _core.nearest_in_table(points, labels, chosen, known, known_labels, table, radius, found)
    assert np.array_equal(found[:20], np.arange(20))
    assert (found[140:] == -1).all()
    boxes, known_boxes = np.floor(points / radius), np.floor(known / radius)
    for i in chosen:
        distances = np.linalg.norm(known - points[i], axis=1)
        reach = radius if found[i] < 0 else distances[found[i]]
        assert found[i] < 0 or (known_labels[found[i]] == labels[i] and reach <= radius)
        same_box = (known_boxes == boxes[i]).all(axis=1) & (known_labels == labels[i])
        assert not (same_box & (distances < reach)).any()
