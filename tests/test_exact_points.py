"""Compiled loops of the exact kernel over single points, against what they say in plain Python."""

import numpy as np
import pytest

from retgk import _core

RNG = np.random.default_rng(0)
NODE_PTR = np.array([0, 5, 6, 20, 40])
# a Laplacian on two coordinates, a Gaussian on one, a polynomial on two
FACTORS = (
    np.array([0, 2, 3, 5]),
    np.array([True, False, False]),
    np.array([[1.0, 0.0], [1.0, 0.3], [0.5, 0.0]]),
    np.array([0, 0, 2]),
)


def node_kernel(x, y):
    squares = (x - y) ** 2
    factor = (1 + 0.3 * squares[2]) * (x[3:] @ y[3:] + 0.5) ** 2
    return np.exp(-np.sqrt(squares[:2].sum()) - squares[2]) * factor


def labels_of(n, n_labels=3, least=0):
    return RNG.integers(least, n_labels, n, dtype=np.int32)


def test_tails():
    rotated = RNG.normal(size=(35, 4))
    expected = np.array([1.0, 0.0, 3.0, 0.0, 7.0])
    tails = expected.copy()
    _core.add_tails(rotated, NODE_PTR[1:], tails)
    for start, stop in zip(NODE_PTR[1:-1] - 5, NODE_PTR[2:] - 5, strict=True):
        for k in range(4):
            norms = np.linalg.norm(rotated[start:stop, k:], axis=1)
            expected[k] = max(expected[k], norms.mean())
    np.testing.assert_allclose(tails, expected, rtol=1e-14)


@pytest.mark.parametrize("ptr", [np.array([0, 40]), NODE_PTR])
def test_representatives_are_the_first_near_points(ptr):
    """Clusters in the middle of boxes, so that no border divides them."""
    centres = RNG.integers(-3, 4, (6, 2)) + 0.5
    cluster = RNG.integers(0, 6, 40)
    points = 0.1 * (centres[cluster] + RNG.uniform(-0.1, 0.1, (40, 2)))
    labels = labels_of(40)
    found = np.empty(40, np.int64)
    _core.representatives(points, labels, ptr, 0.1, found)
    graph = np.searchsorted(ptr, np.arange(40), side="right")
    for i in range(40):
        near = (centres[cluster] == centres[cluster[i]]).all(axis=1)
        assert found[i] == np.flatnonzero(near & (labels == labels[i]) & (graph == graph[i]))[0]


def test_representatives_of_any_points_are_near():
    points, labels = RNG.normal(size=(300, 2)), labels_of(300)
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


@pytest.mark.parametrize("is_sorted", [True, False])
def test_united_points(is_sorted):
    points = RNG.normal(size=(12, 3))
    cells = np.append(np.arange(4), RNG.integers(0, 4, 8))
    in_points = np.append(np.arange(12), RNG.integers(0, 12, 48))
    in_graphs, weights = RNG.integers(0, 5, 60), RNG.uniform(0.1, 1, 60)
    in_graphs = np.sort(in_graphs) if is_sorted else in_graphs
    means = np.empty((4, 3))
    found = _core.unite(points, cells, in_points, in_graphs, weights, 5, means)
    for cell in range(4):
        own = cells[in_points] == cell
        mean = np.average(points[in_points[own]], axis=0, weights=weights[own])
        np.testing.assert_allclose(means[cell], mean, rtol=1e-13)
    sums = np.zeros((4, 5))
    np.add.at(sums, (cells[in_points], in_graphs), weights)
    new_cells, new_graphs, new_weights = found
    assert np.array_equal(np.argwhere(sums), np.column_stack([new_cells, new_graphs]))
    np.testing.assert_allclose(new_weights, sums[sums > 0], rtol=1e-13)


def test_cells_lie_within_limits():
    points = RNG.normal(size=(200, 3))
    points[100:120] = points[0]
    weights, limits = RNG.uniform(0.1, 1, 200), RNG.uniform(0, 0.8, 200)
    limits[:5] = 0.0
    cells = np.empty(200, np.int64)
    n_cells = _core.cells_within(points.copy(), weights.copy(), limits.copy(), cells)
    assert np.array_equal(np.unique(cells), np.arange(n_cells))
    assert 5 < n_cells < 150
    assert (cells[100:120] == cells[0]).all()
    for cell in range(n_cells):
        own = cells == cell
        mean = np.average(points[own], axis=0, weights=weights[own])
        assert (np.linalg.norm(points[own] - mean, axis=1) <= limits[own] + 1e-15).all()


def test_nearest_in_table():
    """No known point of the label and box is nearer than the one found."""
    known, known_labels = RNG.normal(size=(400, 2)), labels_of(400)
    points, labels = RNG.normal(size=(150, 2)), labels_of(150, 4)
    points[:20], labels[:20] = known[:20], known_labels[:20]
    radius, found = 0.3, np.empty(150, np.int64)
    table = _core.table_of(known, known_labels, radius)
    assert np.array_equal(np.sort(table[table >= 0]), np.arange(400))
    chosen = np.append(np.arange(20), RNG.permutation(np.arange(20, 140)))
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


def test_projection():
    block, mean = RNG.normal(size=(30, 6)), RNG.normal(size=6)
    basis = np.ascontiguousarray(np.linalg.qr(RNG.normal(size=(6, 6)))[0][:, :2])
    coordinates, tails, sizes = np.full((30, 4), 7.0), np.ones((30, 2)), np.ones(30)
    _core.project(block, mean, basis, 1.5, coordinates, 1, tails, 1, sizes)
    centred = block - mean
    np.testing.assert_allclose(coordinates[:, 1:3], 1.5 * centred @ basis, rtol=1e-12)
    rest = centred - centred @ basis @ basis.T
    np.testing.assert_allclose(tails[:, 1], 1 + 1.5 * np.linalg.norm(rest, axis=1), rtol=1e-12)
    np.testing.assert_allclose(sizes, 1 + 1.5 * np.linalg.norm(centred, axis=1), rtol=1e-12)
    assert (coordinates[:, [0, 3]] == 7).all()
    assert (tails[:, 0] == 1).all()


def test_products_within_graphs():
    """Norms of graphs and products of their nodes; negative labels match nothing."""
    points, labels = RNG.normal(size=(40, 5)), labels_of(40, least=-1)
    graphs, norms, products = np.array([0, 2, 3]), np.full(4, 7.0), np.ones(40)
    arrays = (points, labels, NODE_PTR, graphs, *FACTORS)
    _core.norms_of_graphs(*arrays, norms)
    _core.add_own_products(*arrays, 0.3, products)
    assert norms[1] == 7
    assert products[5] == 1
    for g in graphs:
        nodes = np.arange(NODE_PTR[g], NODE_PTR[g + 1])
        values = np.array([[node_kernel(points[i], points[j]) for j in nodes] for i in nodes])
        values *= (labels[nodes][:, None] == labels[nodes]) & (labels[nodes] >= 0)
        assert norms[g] == pytest.approx(values.mean(), rel=1e-12)
        np.testing.assert_allclose(products[nodes], 1 + 0.3 * values.mean(axis=1), rtol=1e-12)


def rare_labels():
    """Points of three labels in four graphs, as rows and as columns, and their weights."""
    points, labels = RNG.normal(size=(15, 5)), np.repeat(np.arange(3), 5)
    label_ptr = np.array([0, 5, 10, 15])
    weights = RNG.uniform(0.1, 1, (15, 4)) * (RNG.random((15, 4)) < 0.5)
    in_points, in_graphs = np.argwhere(weights).T.copy()
    entry_ptr = np.searchsorted(in_points, np.arange(16))
    columns = (points, label_ptr, entry_ptr, in_graphs, weights[in_points, in_graphs])
    graphs, of_graph = np.argwhere(weights.T).T.copy()
    row_ptr = np.searchsorted(graphs, np.arange(5))
    rows = (points, row_ptr, of_graph, labels[of_graph], weights[of_graph, graphs])
    values = np.array([[node_kernel(x, y) for y in points] for x in points])
    return rows, columns, weights, values * (labels[:, None] == labels)


@pytest.mark.parametrize("is_symmetric", [True, False])
def test_rare_labels(is_symmetric):
    rows, columns, weights, values = rare_labels()
    gram = np.ones((4, 4))
    for first, last in ((0, 1), (1, 3)):
        _core.add_rare_labels(first, last, *rows, *columns, *FACTORS, is_symmetric, gram)
    expected = weights.T @ values @ weights
    if is_symmetric:
        expected = np.tril(expected, -1) + np.diag(np.diag(expected)) / 2
    expected[3] = 0
    np.testing.assert_allclose(gram, 1 + expected, rtol=1e-12)


def test_rare_values_of_nodes():
    rows, columns, weights, values = rare_labels()
    node_graphs, fitted = np.array([1, 0, 1, 1]), RNG.normal(size=(2, 4))
    found = np.ones(4)
    _core.add_rare_values(1, 4, *rows, *columns, *FACTORS, node_graphs, fitted, found)
    products = weights.T @ values @ weights
    expected = (products * fitted[node_graphs]).sum(axis=1)
    np.testing.assert_allclose(found, 1 + np.append(0, expected[1:]), rtol=1e-12)


def test_wrong_lengths_are_refused():
    points = np.zeros((4, 2))
    found = np.empty(4, np.int64)
    with pytest.raises(ValueError, match="labels"):
        _core.representatives(points, np.zeros(3, np.int32), np.array([0, 4]), 1.0, found)
    with pytest.raises(ValueError, match="node_ptr"):
        _core.representatives(points, np.zeros(4, np.int32), np.array([0, 5]), 1.0, found)
