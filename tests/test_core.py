"""The compiled module: its sources, and its levels of instructions."""

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import retgk
from retgk import GraphBatch, _core
from retgk.graphs.flat import offsets
from retgk.kernels import exact_points as reduction
from retgk.kernels import graph as medians
from retgk.kernels.graph import (
    ExponentialGraphKernel,
    median_squared_mmd,
    squared_mmd_from_products,
    typical_squared_mmd,
)
from retgk.kernels.others.counts import GraphCounts, counts_of_nodes
from tests import naive
from tests.example_graphs import adjacency_matrices, from_dense, path
from tests.programs import LEVELS, run_on_level
from tests.thread_checks import names_of_other_bits

SOURCES = Path(retgk.__file__).parent / "_core"


@pytest.mark.skipif(not SOURCES.exists(), reason="installed without sources")
def test_the_module_is_built_from_these_sources() -> None:
    """Caches and records are kept by this digest."""
    parts = sorted([*SOURCES.glob("*.[ch]pp"), SOURCES / "constants.py"])
    digests = "".join(hashlib.sha256(path.read_bytes()).hexdigest() for path in parts)
    assert hashlib.sha256(digests.encode()).hexdigest() == _core.SOURCE_DIGEST, "run make install"


@pytest.mark.parametrize("level", LEVELS)
def test_level_can_be_asked_for(level: str) -> None:
    run_on_level(level, f"from retgk import _core; assert _core.LEVEL == {level!r}")


def test_unknown_level() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import retgk._core"],
        env=os.environ | {"RETGK_CORE_LEVEL": "v9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.search("ImportError: RETGK_CORE_LEVEL=v9 is not a level of this machine", done.stderr)


def test_loops_check_the_shapes_of_arrays() -> None:
    with pytest.raises((TypeError, ValueError), match=r"incompatible function arguments"):
        _core.spread_to_twins("no array")


def test_threads_that_share_a_model_get_the_same_bits() -> None:
    assert names_of_other_bits(20) == []


# Powers of two in the tiles of the exact kernel: as accurate as its promise counts on

DTYPES = [np.float32, np.float64]


def powers_of_half(t):
    """2^-t as tiles have it: kernel values of points t, each in a graph of its own, with zero."""
    n, lanes = len(t), _core.LANE_BYTES // t.itemsize
    graphs = np.arange(n)
    row_ptr = np.append(np.arange(0, n, lanes), n)
    row_weights = np.eye(lanes)[graphs % lanes]
    rows = (t[:, None].copy(), row_ptr, graphs, row_weights)
    run_weights = np.eye(1, _core.RUN).astype(t.dtype)
    positions = np.zeros((1, _core.RUN), np.int64)
    points = np.zeros((1, 1, _core.GROUP), t.dtype)
    columns = (points, np.array([0, 1]), np.zeros(1, np.int64), positions, run_weights)
    lowest, degrees = np.zeros(1, np.int64), np.zeros(1, np.int64)
    factors = (np.array([0, 1]), np.array([_core.ABSOLUTE]), np.zeros((1, 1)), degrees)
    products = np.full((n, 1), np.nan)
    _core.fill_products(*rows, *columns, lowest, *factors, 0, n, False, graphs, products)
    return products[:, 0]


@pytest.mark.parametrize(
    ("dtype", "largest", "bound"),
    [(np.float32, 115, reduction.MAX_RELATIVE_ERROR_32), (np.float64, 1000, 4e-16)],
)
def test_powers_of_two_are_as_accurate_as_the_promise_says(dtype, largest, bound):
    t = np.concatenate([np.linspace(0, largest, 1_000_001), np.logspace(-30, 0, 10_001)])
    t = t.astype(dtype)
    assert np.abs(powers_of_half(t) / np.exp2(-t.astype(np.longdouble)) - 1).max() <= bound


@pytest.mark.parametrize("dtype", DTYPES)
def test_zero_gives_one_and_large_gives_next_to_nothing(dtype):
    values = powers_of_half(np.array([0.0, 1e4, np.finfo(dtype).max], dtype))
    assert values[0] == 1
    assert np.all((values[1:] > 0) & (values[1:] < 1e-30))


@pytest.mark.parametrize("level", LEVELS)
def test_on_every_level_of_instructions(level):
    program = (
        "from tests.test_core import *\n"
        "for dtype, largest, bound in ((np.float32, 115, 3e-7), (np.float64, 1000, 5e-16)):\n"
        "    t = np.linspace(0, largest, 10_001).astype(dtype)\n"
        "    expected = np.exp2(-t.astype(np.longdouble))\n"
        "    assert np.abs(powers_of_half(t) / expected - 1).max() <= bound\n"
    )
    run_on_level(level, program)


# Values of the exponential graph kernel, against the formula in extended precision


def inner_products(n, seed=0):
    vectors = np.random.default_rng(seed).normal(size=(n, 4))
    products = vectors @ vectors.T
    products = np.tril(products) + np.tril(products, -1).T
    return products, products.diagonal().copy()


def exact_values(products, norms_x, norms_y, gamma, p):
    squared = np.maximum((norms_x[:, None] + norms_y) - 2 * products, 0)
    return np.exp(-gamma * squared.astype(np.longdouble) ** (p / 2))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 40),
    seed=st.integers(0, 2**32),
    gamma=st.floats(1e-3, 3.0),
    p=st.sampled_from([0.5, 1.0, 1.5, 2.0]),
)
def test_values_are_those_of_the_formula(n, seed, gamma, p):
    products, norms = inner_products(n + 3, seed)
    products, norms_x = products[3:], norms[3:]
    expected = exact_values(products, norms_x, norms, gamma, p)
    found = ExponentialGraphKernel(gamma=gamma, p=p)(products, norms_x, norms)
    assert np.abs(found - expected).max() < 1e-15
    exponents = -np.log(expected)
    assert np.all(np.abs(found / expected - 1) < 1e-15 * np.maximum(exponents, 1))


@pytest.mark.parametrize("n", [1, 7, 256, 300])
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_tiles_below_the_diagonal_make_the_whole_matrix(n, p):
    products, norms = inner_products(n)
    expected = ExponentialGraphKernel(gamma=0.3, p=p)(products, norms, norms)
    matrix = np.tril(products)
    borders = [*range(0, n, 100), n]
    spans = list(pairwise(borders))
    for i, rows in enumerate(spans):
        for columns in spans[: i + 1]:
            _core.fill_symmetric_tile(matrix, norms, 0.3, p, *rows, *columns)
    assert np.array_equal(matrix, expected)
    assert np.array_equal(matrix, matrix.T)
    assert np.all(matrix.diagonal() == 1)


@pytest.mark.parametrize("gamma", [1e-300, 1e300])
def test_extreme_bandwidths_give_numbers(gamma):
    products, norms = inner_products(5)
    values = ExponentialGraphKernel(gamma=gamma)(products, norms, norms)
    assert np.all(values.diagonal() == 1)
    off = values[~np.eye(5, dtype=bool)]
    assert np.all(off == 1) if gamma < 1 else np.all((off >= 0) & (off < 1e-300))


# The median distance from inner products, against the whole matrix sorted


def assert_is_median(vectors):
    products = vectors @ vectors.T
    products = np.tril(products) + np.tril(products, -1).T
    norms = np.diag(products)
    squared = squared_mmd_from_products(products, norms, norms)
    assert median_squared_mmd(products) == pytest.approx(np.median(squared), rel=1e-13, abs=1e-300)


@given(st.integers(1, 30), st.integers(0, 2**32), st.sampled_from([0, 1, 8]))
@settings(max_examples=200, deadline=None)
def test_equals_the_median_of_the_matrix(n, seed, decimals):
    """With ties, with graphs that are alike, and for odd and even numbers of graphs."""
    vectors = np.random.default_rng(seed).normal(size=(n, 3)).round(decimals)
    assert_is_median(vectors * 10.0 ** np.random.default_rng(seed).integers(-9, 9))


def test_equals_the_median_of_a_large_matrix():
    assert_is_median(np.random.default_rng(0).normal(size=(701, 5)))


@pytest.mark.parametrize("decimals", [0, 1, 8])
def test_a_sample_that_misleads_costs_time_only(monkeypatch, decimals):
    monkeypatch.setattr(medians, "SAMPLE_SIZE", 4)
    monkeypatch.setattr(medians, "SPREADS", (0.0, 0.5))
    for seed in range(20):
        assert_is_median(np.random.default_rng(seed).normal(size=(40, 3)).round(decimals))


def test_threads_change_no_bit_and_the_upper_triangle_nothing():
    vectors = np.random.default_rng(1).normal(size=(700, 5))
    products = vectors @ vectors.T
    expected = median_squared_mmd(products, n_jobs=1)
    assert median_squared_mmd(np.tril(products), n_jobs=3) == expected


def test_graphs_that_are_alike_have_no_distance():
    assert median_squared_mmd(np.ones((9, 9))) == 0.0


def test_where_most_graphs_are_alike_the_others_give_a_bandwidth():
    assert typical_squared_mmd(np.ones((9, 9))) == 1.0
    vectors = np.repeat(np.eye(2), [8, 1], 0)
    rounding = np.random.default_rng(0).normal(0, 1e-15, (9, 9))
    products = vectors @ vectors.T + rounding + rounding.T
    assert median_squared_mmd(products) < 1e-12
    assert typical_squared_mmd(products) == pytest.approx(2.0)
    varied = np.random.default_rng(1).normal(size=(9, 3))
    assert typical_squared_mmd(varied @ varied.T) == median_squared_mmd(varied @ varied.T)


# Counts of substructures (`_core/counts.cpp`, `_core/count_tiles.cpp`) against plain NumPy


def random_counts(seed, n_graphs, n_columns, share):
    """Give a dense matrix of counts, and the same as sparse rows."""
    rng = np.random.default_rng(seed)
    dense = rng.integers(1, 5, (n_graphs, n_columns)) * (rng.random((n_graphs, n_columns)) < share)
    rows, columns = dense.nonzero()
    ptr = offsets(np.bincount(rows, minlength=n_graphs))
    counts = dense[rows, columns].astype(float)
    return dense.astype(float), GraphCounts(ptr, columns.astype(np.int32), counts, n_columns)


@given(st.integers(0, 99), st.integers(1, 9), st.integers(1, 3))
def test_runs_are_counts_of_equal_columns(seed, n_graphs, n_levels):
    rng = np.random.default_rng(seed)
    node_ptr = offsets(rng.integers(1, 30, n_graphs))
    levels = [rng.integers(0, 5, node_ptr[-1]) + 5 * level for level in range(n_levels)]
    found = counts_of_nodes(node_ptr, np.array(levels, np.int32), 5 * n_levels, 1)
    for g in range(n_graphs):
        run = slice(found.ptr[g], found.ptr[g + 1])
        own = np.concatenate([own[node_ptr[g] : node_ptr[g + 1]] for own in levels])
        columns, counts = np.unique(own, return_counts=True)
        assert found.columns[run].tolist() == columns.tolist()
        assert found.counts[run].tolist() == counts.tolist()


@given(st.lists(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_keys_are_numbered_after_the_known_ones_as_they_come(keys, known):
    numbers = np.empty(len(keys), np.int32)
    own = np.array([key << 40 for key in keys], np.int64)
    new = _core.number_keys(np.array([key << 40 for key in known], np.int64), own, numbers)
    names = [*known, *dict.fromkeys(key for key in keys if key not in known)]
    assert (new >> 40).tolist() == names[len(known) :]
    assert [names[number] for number in numbers] == keys


def test_many_keys_are_numbered():
    keys = np.random.default_rng(0).integers(0, 1 << 62, 100_000)
    numbers = np.empty(2 * len(keys), np.int32)
    new = _core.number_keys(keys[:7], np.tile(keys, 2), numbers)
    np.testing.assert_array_equal(new, keys[7:])
    np.testing.assert_array_equal(numbers, np.tile(np.arange(len(keys)), 2))


@given(st.integers(0, 99), st.integers(1, 40), st.integers(1, 9))
def test_postings_are_the_rows_turned(seed, n_graphs, n_columns):
    dense, rows = random_counts(seed, n_graphs, n_columns, 0.4)
    postings = rows.postings()
    columns, graphs = dense.T.nonzero()
    assert np.diff(postings.ptr).tolist() == np.bincount(columns, minlength=n_columns).tolist()
    assert postings.graphs.tolist() == graphs.tolist()
    assert postings.counts.tolist() == dense.T[columns, graphs].tolist()


@pytest.mark.parametrize("is_minimum", [False, True])
@pytest.mark.parametrize("is_lower", [False, True])
@given(seed=st.integers(0, 99), n_graphs=st.integers(1, 30))
@settings(max_examples=30)
def test_shared_columns_are_added(is_minimum, is_lower, seed, n_graphs):
    dense, rows = random_counts(seed, n_graphs, 12, 0.5)
    is_dense = np.random.default_rng(seed).random(12) < 0.3
    out = np.zeros((n_graphs, n_graphs))
    arrays = (*rows.arrays, *rows.postings().arrays)
    _core.add_shared(0, n_graphs, *arrays, is_dense, is_minimum, is_lower, out)
    pairs = dense[:, None, ~is_dense], dense[None, :, ~is_dense]
    expected = (np.minimum if is_minimum else np.multiply)(*pairs).sum(axis=2)
    np.testing.assert_array_equal(out, np.tril(expected) if is_lower else expected)


@pytest.mark.parametrize("is_lower", [False, True])
@pytest.mark.parametrize("n_graphs", [1, 15, 63, 64, 130, 200])  # tiles have 16, 32 or 64 columns
def test_minima_of_dense_columns_are_added(is_lower, n_graphs):
    dense, rows = random_counts(n_graphs, n_graphs, 9, 0.6)
    columns = np.arange(9)
    filled = np.empty((9, n_graphs))
    _core.fill_columns(*rows.arrays, columns, filled)
    np.testing.assert_array_equal(filled, dense.T)
    out = np.ones((n_graphs, n_graphs))
    middle = n_graphs // 3
    for first, last in ((0, middle), (middle, n_graphs)):
        _core.add_dense_minima(first, last, filled, filled, is_lower, out)
    expected = 1 + np.minimum(dense[:, None], dense[None]).sum(axis=2)
    kept = np.tril(np.ones_like(out)) > 0 if is_lower else np.ones_like(out) > 0
    np.testing.assert_array_equal(out[kept], expected[kept])


def test_arrays_that_do_not_fit_are_refused():
    _, rows = random_counts(0, 5, 4, 0.5)
    postings = rows.postings()
    arrays, how = (*rows.arrays, *postings.arrays), (np.zeros(4, bool), False, False)
    with pytest.raises(ValueError, match="graphs"):
        _core.add_shared(0, 6, *arrays, *how, np.zeros((5, 5)))
    ptr, graphs, counts = np.empty(3, np.int64), postings.graphs.copy(), postings.counts.copy()
    with pytest.raises(IndexError, match="columns"):
        _core.fill_postings(*rows.arrays, ptr, graphs, counts)


# Shortest paths in C++ (`_core/paths.cpp`), against the algorithm of Floyd and Warshall


def arrays_of(batch):
    weights = batch.weights if batch.is_weighted else np.empty(0)
    return batch.node_ptr, batch.indptr, batch.indices, weights


def lengths_of(batch, graph):
    """Matrix of lengths, zero where there is no path."""
    lengths = naive.path_lengths(naive.dense_adjacency(batch, graph))
    return np.where(np.isfinite(lengths), lengths, 0.0)


batches = st.lists(adjacency_matrices(9).map(from_dense), min_size=1, max_size=3).map(
    GraphBatch.concatenate
)


@given(batches)
@settings(deadline=None)
def test_lengths(batch):
    ptr = offsets(np.square(batch.node_counts))
    found = np.full(ptr[-1], np.nan)
    _core.fill_lengths(0, len(batch), *arrays_of(batch), ptr, found)
    for graph, n in enumerate(batch.node_counts):
        own = found[ptr[graph] : ptr[graph + 1]].reshape(n, n)
        np.testing.assert_allclose(own, lengths_of(batch, graph), rtol=1e-9)


def assert_counts(batch, colours, bits):
    """Compare counted paths with those found by hand."""
    sizes = np.empty(len(batch), np.int64)
    parts = _core.count_paths(0, len(batch), *arrays_of(batch), colours, bits, sizes)
    keys, counts, lengths = parts
    ptr, shift, mask = offsets(sizes), 63 - 2 * bits, (1 << bits) - 1
    for graph in range(len(batch)):
        run = slice(ptr[graph], ptr[graph + 1])
        ends, places = keys[run] >> shift, keys[run] & ((1 << shift) - 1)
        paths = zip(ends >> bits, ends & mask, [f"{x:.9g}" for x in lengths[places]], strict=True)
        found = dict(zip(paths, counts[run], strict=True))
        own = colours[batch.node_ptr[graph] : batch.node_ptr[graph + 1]]
        expected = lengths_of(batch, graph)
        starts, stops = np.nonzero(expected)
        names = [f"{x:.9g}" for x in expected[starts, stops]]
        assert found == Counter(zip(own[starts], own[stops], names, strict=True))
        assert len(found) == sizes[graph]


@given(batches, st.integers(0, 99))
@settings(deadline=None)
def test_counts(batch, seed):
    colours = np.random.default_rng(seed).integers(0, 4, batch.n_nodes, np.int32)
    assert_counts(batch, colours, 2)


@pytest.mark.parametrize("n_colours", [2, 40, 300])
def test_counts_of_many_colours_and_lengths(n_colours):
    """More of them than a table of all has room for: none, some lengths, all of them."""
    batch = GraphBatch.concatenate([path(300), path(60), path(300)])
    colours = np.arange(batch.n_nodes, dtype=np.int32) % n_colours
    assert_counts(batch, colours, 9)


# Compiled loops of the embedding against plain Python

DTYPES_EMBEDDING_LOOPS = [np.float32, np.float64]


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


@pytest.mark.parametrize("dtype", DTYPES_EMBEDDING_LOOPS)
@pytest.mark.parametrize("n_features", [1, 16, 37])
def test_joint_means(dtype, n_features):
    *nodes, points, fourier, angles = random_means(n_features, n_features, 7, dtype)
    blocks = points[:, :4].copy(), points[:, 4:].copy()
    found = np.full((9, n_features), np.nan, dtype)
    _core.fill_joint_means(*nodes, *blocks, panels(fourier), found)
    expected = means_of(np.sqrt(2 / n_features) * np.cos(angles), *nodes[1:], 9)
    assert np.abs(found - expected).max() < TOLERANCES[dtype] * np.abs(expected).max()


@pytest.mark.parametrize("dtype", DTYPES_EMBEDDING_LOOPS)
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


@pytest.mark.parametrize("dtype", DTYPES_EMBEDDING_LOOPS)
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


@pytest.mark.parametrize("dtype", DTYPES_EMBEDDING_LOOPS)
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
