"""Compiled loops of the embedding against plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import _core

DTYPES = [np.float32, np.float64]


def random_nodes(seed, n_graphs=5):
    """First nodes of graphs, labels with some that are not known, and rows that often agree."""
    rng = np.random.default_rng(seed)
    node_ptr = np.concatenate([[0], np.cumsum(rng.integers(0, 12, n_graphs))])
    labels = rng.integers(-1, 4, node_ptr[-1]).astype(np.int32)
    blocks = [rng.integers(0, 2, (node_ptr[-1], width)) for width in (3, 2)]
    keys = rng.integers(0, 2, (node_ptr[-1], 1)).astype(np.uint64)
    return node_ptr, labels, *(block.astype(np.float64) for block in blocks), keys


def plain_groups(node_ptr, labels):
    pairs = {
        (graph, labels[node])
        for graph in range(len(node_ptr) - 1)
        for node in range(node_ptr[graph], node_ptr[graph + 1])
        if labels[node] >= 0
    }
    graphs = np.repeat(np.arange(len(node_ptr) - 1), np.diff(node_ptr))
    numbers = {pair: number for number, pair in enumerate(sorted(pairs))}
    return (
        np.searchsorted([graph for graph, _ in sorted(pairs)], np.arange(len(node_ptr))),
        [label for _, label in sorted(pairs)],
        [numbers.get(pair, -1) for pair in zip(graphs, labels, strict=True)],
    )


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_groups_are_pairs_of_graphs_and_labels(seed):
    node_ptr, labels, *_ = random_nodes(seed)
    for found, expected in zip(
        _core.label_groups(node_ptr, labels, 4), plain_groups(node_ptr, labels), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_nodes_that_are_alike_to_the_bit_are_one(seed):
    node_ptr, labels, *blocks = random_nodes(seed)
    blocks[0][::3] *= -1.0  # zeros of both signs differ in a bit
    ptr, _, of_node = _core.label_groups(node_ptr, labels, 4)
    found = _core.distinct_nodes(node_ptr, ptr, of_node, *blocks, 1, 4)
    kinds: dict[tuple, list[int]] = {}
    for node in range(node_ptr[1], node_ptr[4]):
        if of_node[node] >= 0:
            rows = (block[node].tobytes() for block in blocks)
            kinds.setdefault((of_node[node], *rows), []).append(node)
    sizes = np.repeat(np.diff(node_ptr), np.diff(node_ptr))
    expected = sorted(
        (own[0], nodes[0], len(nodes) / sizes[nodes[0]]) for own, nodes in kinds.items()
    )
    groups, nodes, weights = np.array(expected).reshape(-1, 3).T
    for own, plain in zip(found, (nodes, weights, groups), strict=True):
        np.testing.assert_array_equal(own, plain)


def panels(matrix):
    """Columns in panels: (n_panels, n_rows, width)."""
    width = _core.PANEL_BYTES // matrix.itemsize
    padded = np.pad(matrix, ((0, 0), (0, -matrix.shape[1] % width)))
    return np.ascontiguousarray(padded.reshape(len(matrix), -1, width).transpose(1, 0, 2))


def means_of(features, weights, groups, n_groups):
    out = np.zeros((n_groups, *features.shape[1:]))
    np.add.at(out, groups, weights.reshape(-1, *[1] * (features.ndim - 1)) * features)
    return out


def random_means(seed, n_features, n_columns, dtype):
    """Nodes in groups of many sizes, with rows, a map and its features."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(9), [1, 2, 3, 64, 65, 1, 11, 12, 200])
    nodes = rng.permutation(400)[: len(groups)]
    points = rng.uniform(-1, 1, (400, n_columns))
    maps = rng.uniform(-1, 1, (1 + n_columns, n_features)).astype(dtype)
    angles = 2 * np.pi * (maps[0] + points[nodes] @ maps[1:].astype(np.float64))
    return nodes, rng.random(len(groups)), groups, points, maps, angles


TOLERANCES = {np.float32: 3e-5, np.float64: 1e-13}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_features", [1, 16, 37])
def test_joint_means(dtype, n_features):
    *nodes, points, fourier, angles = random_means(n_features, n_features, 7, dtype)
    blocks = points[:, :4].copy(), points[:, 4:].copy()
    found = np.full((9, n_features), np.nan, dtype)
    _core.fill_joint_means(*nodes, *blocks, panels(fourier), found)
    expected = means_of(np.sqrt(2 / n_features) * np.cos(angles), *nodes[1:], 9)
    assert np.abs(found - expected).max() < TOLERANCES[dtype] * np.abs(expected).max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("widths", [(1, 1), (16, 8), (21, 37)])
def test_tensor_means(dtype, widths):
    *nodes, points, fourier, angles = random_means(1, widths[0], 5, dtype)
    *_, others, second, other_angles = random_means(1, widths[1], 3, dtype)
    found = np.full((9, *widths), np.nan, dtype)
    maps = panels(fourier), panels(second)
    _core.fill_tensor_means(*nodes, points, others, *maps, found)
    features = np.cos(angles)[:, :, None] * np.cos(other_angles)[:, None]
    expected = means_of(2 / np.sqrt(np.prod(widths)) * features, *nodes[1:], 9)
    assert np.abs(found - expected).max() < TOLERANCES[dtype] * np.abs(expected).max()


def quarter_turns(key, n):
    """Two bits for each feature of the words of SplitMix64 that begin at a key."""
    mask, turns = 2**64 - 1, []
    for word in range(-(-n // 32)):
        value = (int(key) + (word + 1) * 0x9E3779B97F4A7C15) & mask
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
        value ^= value >> 31
        turns += [(value >> (2 * k)) & 3 for k in range(32)]
    return np.array(turns[:n])


def turned_features(angles, keys, shares, n_features):
    """Cosines and sines of angles that labels turn, sums over levels."""
    half, features = (n_features + 1) // 2, []
    for own, row in zip(angles, keys, strict=True):
        turned = [own + np.pi / 2 * quarter_turns(key, half) for key in row]
        waves = [
            sum(s * f(a) for s, a in zip(shares, turned, strict=True)) for f in (np.cos, np.sin)
        ]
        features.append(np.concatenate(waves)[:n_features])
    return np.sqrt(2 / n_features) * np.array(features)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_features", [2, 33, 140])
def test_phase_means_and_values_of_nodes(dtype, n_features):
    half = (n_features + 1) // 2
    *nodes, points, fourier, angles = random_means(n_features, half, 6, dtype)
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 3, (400, 2)).astype(np.uint64) * np.uint64(2**62 + 5)
    shares, blocks = rng.random(2), (points[:, :6].copy(), points[:, 6:].copy())
    found = np.full((9, n_features), np.nan, dtype)
    _core.fill_phase_means(*nodes, keys, shares, *blocks, panels(fourier), found)
    features = turned_features(angles, keys[nodes[0]], shares, n_features)
    expected = means_of(features, *nodes[1:], 9)
    assert np.abs(found - expected).max() < TOLERANCES[dtype] * np.abs(expected).max()

    graphs, directions = np.arange(400) // 150, rng.normal(size=(3, n_features)).astype(dtype)
    values = np.full(400, np.nan)
    arguments = (keys, shares, *blocks, panels(fourier), directions, graphs, values)
    _core.fill_phase_values(0, 170, *arguments)
    _core.fill_phase_values(170, 400, *arguments)
    all_angles = 2 * np.pi * (fourier[0] + points @ fourier[1:].astype(np.float64))
    own = turned_features(all_angles, keys, shares, n_features)
    expected = (own * directions[graphs]).sum(axis=1)
    assert np.abs(values - expected).max() < TOLERANCES[dtype] * np.abs(expected).max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [0, 1, 8, 29])
def test_dots_of_rows(dtype, width):
    rng = np.random.default_rng(width)
    x, y = (rng.normal(size=(n, width)).astype(dtype) for n in (6, 4))
    places, of_row, values = rng.permutation(6), rng.integers(0, 4, 6), np.full(6, np.nan)
    _core.write_row_dots(x, places, y, of_row, values)
    expected = (x.astype(np.float64) * y[of_row]).sum(axis=1)
    np.testing.assert_allclose(values[places], expected, rtol=1e-13, atol=1e-14)


def test_shapes_and_numbers_are_checked():
    *nodes, points, fourier, _ = random_means(0, 5, 4, np.float64)
    out, none = np.empty((9, 5)), points[:, :0].copy()
    with pytest.raises(ValueError, match="a frequency for every column"):
        _core.fill_joint_means(*nodes, points, points, panels(fourier), out)
    with pytest.raises(ValueError, match="fewer features"):
        _core.fill_joint_means(*nodes, points, none, panels(fourier), np.empty((9, 50)))
    with pytest.raises(IndexError, match="groups has a number out of range"):
        _core.fill_joint_means(*nodes, points, none, panels(fourier), out[:8])
    with pytest.raises(TypeError):
        _core.fill_joint_means(*nodes, points, none, panels(fourier), out.astype(np.float32))
