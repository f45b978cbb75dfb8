"""The compiled passes against their Python versions, and the accuracy the promise counts on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from retgk.engine.exact import reduction
from retgk.simd import vector_passes as passes
from retgk.simd.vector_passes import GROUP, LANES, RUN

DTYPES = [np.float32, np.float64]
UNIT = {np.float32: 2.0**-24, np.float64: 2.0**-53}


@njit
def compiled_distances(where, span, is_absolute, is_first, tile):
    passes.add_distances(where, span, is_absolute, is_first, tile)


@njit
def compiled_finish(squares, is_root, is_first, is_last, tile, n_vectors):
    passes.finish(squares, is_root, is_first, is_last, tile, n_vectors)


@njit
def compiled_run(tile, positions, weights, s, scale, sums, target):
    passes.add_run(tile, positions, weights, s, scale, sums, target)


@njit
def compiled_dots(tile, sums, place, weights, s, products, target):
    passes.add_dots(tile, sums, place, weights, s, products, target)


def powers_of_half(t):
    """2^-t as the last pass computes it."""
    lanes = LANES[t.dtype.name]
    padded = np.zeros(-(-len(t) // lanes) * lanes, t.dtype)
    padded[: len(t)] = t
    compiled_finish(padded, False, True, True, padded, len(padded) // lanes)
    return padded[: len(t)]


def relative_errors(t):
    return np.abs(powers_of_half(t) / np.exp2(-t.astype(np.longdouble)) - 1).astype(float)


@pytest.mark.parametrize(
    ("dtype", "largest", "bound"),
    [(np.float32, 115, reduction.MAX_RELATIVE_ERROR_32), (np.float64, 1000, 4e-16)],
)
def test_powers_of_two_are_as_accurate_as_the_promise_says(dtype, largest, bound):
    t = np.concatenate([np.linspace(0, largest, 1_000_001), np.logspace(-30, 0, 10_001)])
    assert relative_errors(t.astype(dtype)).max() <= bound


@pytest.mark.parametrize("dtype", DTYPES)
def test_zero_gives_one_and_large_gives_next_to_nothing(dtype):
    values = powers_of_half(np.array([0.0, 1e4, np.finfo(dtype).max], dtype))
    assert values[0] == 1
    assert np.all((values[1:] > 0) & (values[1:] < 1e-30))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    dtype=st.sampled_from(DTYPES),
    width=st.integers(1, 9),
    flags=st.tuples(st.booleans(), st.booleans()),
)
def test_distances_are_those_of_the_formula(seed, dtype, width, flags):
    rng = np.random.default_rng(seed)
    lanes = LANES[np.dtype(dtype).name]
    rows = rng.standard_normal((3, 10, lanes)).astype(dtype)
    columns = rng.standard_normal((4, 10, GROUP)).astype(dtype)
    start = int(rng.integers(0, 11 - width))
    where, span = (rows, 1, columns, 1, 3), (start, start + width)
    tile = rng.random(4 * GROUP * lanes).astype(dtype)
    expected = tile.copy()
    passes.add_distances(where, span, *flags, expected)
    compiled_distances(where, span, *flags, tile)
    np.testing.assert_allclose(tile, expected, rtol=(width + 3) * UNIT[dtype])
    np.testing.assert_array_equal(tile[3 * GROUP * lanes :], expected[3 * GROUP * lanes :])


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    dtype=st.sampled_from(DTYPES),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    n_vectors=st.integers(1, 5),
)
def test_last_pass_is_the_formula(seed, dtype, flags, n_vectors):
    rng = np.random.default_rng(seed)
    size = 6 * LANES[np.dtype(dtype).name]
    squares, tile = (30 * rng.random((2, size))).astype(dtype)
    expected = tile.copy()
    passes.finish(squares, *flags, expected, n_vectors)
    compiled_finish(squares, *flags, tile, n_vectors)
    # an exponent of up to 60 is rounded before the power is taken
    np.testing.assert_allclose(tile, expected, rtol=64 * UNIT[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_runs_and_dots_are_weighted_sums(dtype):
    rng = np.random.default_rng(0)
    lanes = LANES[np.dtype(dtype).name]
    tile = rng.random(12 * lanes).astype(dtype)
    positions = rng.integers(12, size=(3, RUN))
    weights = rng.random((3, RUN)).astype(dtype)
    sums = rng.random((2, 4, lanes))
    expected = sums.copy()
    passes.add_run(tile, positions, weights, 1, dtype(0.5), expected, 6)
    compiled_run(tile, positions, weights, 1, dtype(0.5), sums, 6)
    np.testing.assert_allclose(sums, expected, rtol=2 * RUN * UNIT[dtype])

    lane_weights = rng.random((5, lanes))
    products = rng.random((2, 4))
    expected = products.copy()
    passes.add_dots(tile, sums, (1, 2), lane_weights, 3, expected, 0)
    compiled_dots(tile, sums, (1, 2), lane_weights, 3, products, 0)
    np.testing.assert_allclose(products, expected, rtol=1e-14)
    assert np.all(products[0, 2:] > 1)
