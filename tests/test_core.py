"""The compiled module: its sources, and its levels of instructions."""

import hashlib
import os
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
from retgk.kernels.others.counts import GraphCounts
from tests import naive
from tests.errors import assert_names, fails
from tests.example_graphs import path
from tests.programs import LEVELS, run_on_level
from tests.thread_checks import names_of_other_bits

SOURCES = Path(retgk.__file__).parent / "_core"


@pytest.mark.skipif(not SOURCES.exists(), reason="installed without sources")
def test_the_module_is_built_from_these_sources() -> None:
    """Caches and records are kept by this digest."""
    parts = sorted([*SOURCES.glob("*.[ch]pp"), SOURCES / "constants.py"])
    digests = "".join(hashlib.sha256(path.read_bytes()).hexdigest() for path in parts)
    assert hashlib.sha256(digests.encode()).hexdigest() == _core.SOURCE_DIGEST, "run make install"


# Laws and oracles that enter every loop that is compiled for several levels of instructions
OF_EVERY_LEVEL = (
    "test_core.py::test_powers_of_two_are_as_accurate_as_the_promise_says",
    "test_walks.py::test_any_number_of_nodes_gives_the_same_bits",
    "test_exact_kernel.py::test_many_tiles_agree_with_the_formula",
    "test_embedding.py::test_equals_kron_on_many_nodes",
    "test_embedding.py::test_cosine_is_as_accurate_as_stated",
    "test_embedding.py::test_formula",
    "test_embedding_estimator.py::test_products",
)


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_every_level_of_instructions(level: str) -> None:
    tests = [str(Path(__file__).with_name(name)) for name in OF_EVERY_LEVEL]
    program = (
        "import pytest, sys; from retgk import _core\n"
        f"assert _core.LEVEL == {level!r}\n"
        f"sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', *{tests!r}]))"
    )
    run_on_level(level, program)


@pytest.mark.slow
def test_unknown_level() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import retgk._core"],
        env=os.environ | {"RETGK_CORE_LEVEL": "v9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert_names(done.stderr, ("ImportError", "RETGK_CORE_LEVEL=v9"))


def test_loops_check_types_shapes_and_numbers() -> None:
    points, found = np.zeros((4, 2)), np.empty(4, np.int64)
    rest = np.array([0, 4]), 1.0, found
    fails(lambda: _core.spread_to_twins("no array"), "incompatible", error=TypeError)
    fails(lambda: _core.representatives(points, np.zeros(3, np.int32), *rest), "labels", ValueError)
    nodes = np.zeros(1, np.int64), np.ones(1), np.array([2])
    out, fourier = np.empty((2, 5)), np.zeros((1, 3, _core.PANEL_BYTES // 8))
    means = (*nodes, points, points[:, :0].copy(), fourier)
    fails(lambda: _core.fill_joint_means(*means, out), "groups", IndexError)
    wide = np.empty((3, 50))
    fails(lambda: _core.fill_joint_means(*means, wide), "fewer features", ValueError)


@pytest.mark.slow
def test_threads_that_share_a_model_get_the_same_bits() -> None:
    assert names_of_other_bits(20) == []


# Powers of two in the tiles of the exact kernel: as accurate as its promise counts on


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zero_gives_one_and_large_gives_next_to_nothing(dtype):
    values = powers_of_half(np.array([0.0, 1e4, np.finfo(dtype).max], dtype))
    assert values[0] == 1
    assert np.all((values[1:] > 0) & (values[1:] < 1e-30))


# Values of the exponential graph kernel, against the formula in extended precision


def inner_products(n, seed=0):
    vectors = np.random.default_rng(seed).normal(size=(n, 4))
    products = vectors @ vectors.T
    products = np.tril(products) + np.tril(products, -1).T
    return products, products.diagonal().copy()


def exact_values(products, norms_x, norms_y, gamma, p):
    squared = np.maximum((norms_x[:, None] + norms_y) - 2 * products, 0)
    return np.exp(-gamma * squared.astype(np.longdouble) ** (p / 2))


@settings(max_examples=60)
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
@settings(max_examples=200)
def test_equals_the_median_of_the_matrix(n, seed, decimals):
    """With ties, with graphs that are alike, and for odd and even numbers of graphs."""
    vectors = np.random.default_rng(seed).normal(size=(n, 3)).round(decimals)
    assert_is_median(vectors * 10.0 ** np.random.default_rng(seed).integers(-9, 9))


@pytest.mark.parametrize("decimals", [0, 1, 8])
def test_a_sample_that_misleads_costs_time_only(monkeypatch, decimals):
    monkeypatch.setattr(medians, "SAMPLE_SIZE", 4)
    monkeypatch.setattr(medians, "SPREADS", (0.0, 0.5))
    for seed in range(20):
        assert_is_median(np.random.default_rng(seed).normal(size=(40, 3)).round(decimals))


def test_median_of_several_tasks():
    assert_is_median(np.random.default_rng(0).normal(size=(701, 5)))


def test_threads_change_no_bit_and_the_upper_triangle_nothing():
    vectors = np.random.default_rng(1).normal(size=(700, 5))
    products = vectors @ vectors.T
    expected = median_squared_mmd(products, n_jobs=1)
    assert median_squared_mmd(np.tril(products), n_jobs=3) == expected


def test_where_most_graphs_are_alike_the_others_give_a_bandwidth():
    assert typical_squared_mmd(np.ones((9, 9))) == 1.0
    vectors = np.repeat(np.eye(2), [8, 1], 0)
    rounding = np.random.default_rng(0).normal(0, 1e-15, (9, 9))
    products = vectors @ vectors.T + rounding + rounding.T
    assert median_squared_mmd(products) < 1e-12
    assert typical_squared_mmd(products) == pytest.approx(2.0)
    varied = np.random.default_rng(1).normal(size=(9, 3))
    assert typical_squared_mmd(varied @ varied.T) == median_squared_mmd(varied @ varied.T)


# Counts of substructures against plain NumPy


def random_counts(seed, n_graphs, n_columns, share):
    """Give a dense matrix of counts, and the same as sparse rows."""
    rng = np.random.default_rng(seed)
    dense = rng.integers(1, 5, (n_graphs, n_columns)) * (rng.random((n_graphs, n_columns)) < share)
    rows, columns = dense.nonzero()
    ptr = offsets(np.bincount(rows, minlength=n_graphs))
    counts = dense[rows, columns].astype(float)
    return dense.astype(float), GraphCounts(ptr, columns.astype(np.int32), counts, n_columns)


def test_keys_are_numbered_after_the_known_ones():
    keys = np.random.default_rng(0).integers(0, 1 << 62, 100_000)
    numbers = np.empty(2 * len(keys), np.int32)
    new = _core.number_keys(keys[:7], np.tile(keys, 2), numbers)
    np.testing.assert_array_equal(new, keys[7:])
    np.testing.assert_array_equal(numbers, np.tile(np.arange(len(keys)), 2))


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


# Shortest paths against the algorithm of Floyd and Warshall


def arrays_of(batch):
    weights = batch.weights if batch.is_weighted else np.empty(0)
    return batch.node_ptr, batch.indptr, batch.indices, weights


def lengths_of(batch, graph):
    """Matrix of lengths, zero where there is no path."""
    lengths = naive.path_lengths(naive.dense_adjacency(batch, graph))
    return np.where(np.isfinite(lengths), lengths, 0.0)


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


@pytest.mark.parametrize("n_colours", [2, 40, 300])
def test_counts_of_many_colours_and_lengths(n_colours):
    """More of them than a table of all has room for: none, some lengths, all of them."""
    batch = GraphBatch.concatenate([path(300), path(60), path(300)])
    colours = np.arange(batch.n_nodes, dtype=np.int32) % n_colours
    assert_counts(batch, colours, 9)
