"""The vector code against plain loops, to the bit, and the accuracy the promise counts on."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

import retgk
from retgk.engine.exact import reduction
from retgk.simd import half_power_steps, panel_products, plain
from retgk.simd import vector_passes as passes
from retgk.simd.vector_passes import GROUP, LANES, RUN

DTYPES = [np.float32, np.float64]
fused = njit(fastmath={"contract"})


@njit
def compiled_distances(rows, r, columns, group, n_groups, start, stop, absolute, first, tile):
    passes.add_distances(rows, r, columns, group, n_groups, start, stop, absolute, first, tile)


@njit
def compiled_finish(squares, is_root, is_first, is_last, tile, n_vectors):
    passes.finish(squares, is_root, is_first, is_last, tile, n_vectors)


@njit
def compiled_run(tile, positions, weights, s, scale, sums, target):
    passes.add_run(tile, positions, weights, s, scale, sums, target)


@njit
def compiled_dots(tile, sums, r, lowest, weights, s, products, target):
    passes.add_dots(tile, sums, r, lowest, weights, s, products, target)


@njit
def compiled_product(a, row_stride, step, b, n, out, out_stride):
    panel_products.write_product(a, row_stride, step, b, n, out, out_stride)


def compiled_multiply(lanes):
    multiply = getattr(half_power_steps, f"multiply_{lanes}")

    @njit
    def call(x, y, found, own, rows, diagonal, begin, end, columns, values, numbers):
        multiply(x, y, found, own, rows, diagonal, begin, end, columns, values, numbers)

    return call


plain_distances = fused(plain.add_distances)
plain_run = fused(plain.add_run)
plain_product = fused(plain.write_product)
plain_finish = {np.dtype(name).type: fused(plain.finisher(name)) for name in LANES}


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
def test_distances_are_those_of_plain_loops(seed, dtype, width, flags):
    rng = np.random.default_rng(seed)
    lanes = LANES[np.dtype(dtype).name]
    rows = rng.standard_normal((3, 10, lanes)).astype(dtype)
    columns = rng.standard_normal((4, 10, GROUP)).astype(dtype)
    start = int(rng.integers(0, 11 - width))
    tile = rng.random(4 * GROUP * lanes).astype(dtype)
    expected = tile.copy()
    arguments = (rows, 1, columns, 1, 3, start, start + width, *flags)
    plain_distances(*arguments, expected)
    compiled_distances(*arguments, tile)
    np.testing.assert_array_equal(tile, expected)
    x, y = rows[1, start : start + width], columns[1:, start : start + width]
    differences = (x[None, :, None, :] - y[:, :, :, None]).astype(np.longdouble)
    formula = (abs(differences) if flags[0] else differences**2).sum(axis=1).reshape(-1)
    if flags[1]:
        np.testing.assert_allclose(tile[: len(formula)], formula, rtol=20 * np.finfo(dtype).eps)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    dtype=st.sampled_from(DTYPES),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    n_vectors=st.integers(1, 5),
)
def test_last_pass_is_that_of_plain_loops(seed, dtype, flags, n_vectors):
    rng = np.random.default_rng(seed)
    size = 6 * LANES[np.dtype(dtype).name]
    squares, tile = (30 * rng.random((2, size))).astype(dtype)
    expected, python = tile.copy(), tile.copy()
    plain_finish[dtype](squares, *flags, expected, n_vectors)
    plain.finish(squares, *flags, python, n_vectors)
    compiled_finish(squares, *flags, tile, n_vectors)
    np.testing.assert_array_equal(tile, expected)
    np.testing.assert_allclose(tile, python, rtol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_runs_and_dots_are_weighted_sums(dtype):
    rng = np.random.default_rng(0)
    lanes = LANES[np.dtype(dtype).name]
    tile = rng.random(12 * lanes).astype(dtype)
    positions = rng.integers(12, size=(3, RUN))
    weights = rng.random((3, RUN)).astype(dtype)
    sums = rng.random((2, 4, lanes))
    expected = sums.copy()
    plain_run(tile, positions, weights, 1, dtype(0.5), expected, 6)
    compiled_run(tile, positions, weights, 1, dtype(0.5), sums, 6)
    np.testing.assert_array_equal(sums, expected)

    lane_weights = rng.random((5, lanes))
    products = rng.random((2, 4))
    expected = products.copy()
    plain.add_dots(tile, sums, 1, 2, lane_weights, 3, expected, 0)
    compiled_dots(tile, sums, 1, 2, lane_weights, 3, products, 0)
    np.testing.assert_array_equal(products, expected)
    assert np.all(products[0, 2:] > 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 7, 51])
def test_products_of_panels(dtype, n):
    rng = np.random.default_rng(n)
    width = panel_products.PANEL_BYTES // np.dtype(dtype).itemsize
    a, b = rng.random(4 * n + 3).astype(dtype), rng.random(n * width).astype(dtype)
    found, expected = np.ones((2, 4 * (width + 1)), dtype)
    compiled_product(a, n, 1, b, n, found, width + 1)
    plain_product(a, n, 1, b, n, expected, width + 1)
    np.testing.assert_array_equal(found, expected)
    exact = a[: 4 * n].reshape(4, n).astype(float) @ b.reshape(n, width)
    np.testing.assert_allclose(
        found.reshape(4, -1)[:, :width], exact, rtol=60 * np.finfo(dtype).eps
    )


@pytest.mark.parametrize("lanes", [4, 8, 12, 16])
def test_steps_of_half_powers(lanes):
    rng = np.random.default_rng(lanes)
    n, first, n_products = 9, 3, 5
    lengths = rng.integers(0, 4, n + first)
    end = np.cumsum(lengths)
    columns = rng.integers(n, size=end[-1]).astype(np.int32)
    matrix = (rng.random(n + first), end - lengths, end, columns, rng.random(end[-1]))
    own = np.array([2 * lanes, 5 * lanes + 1])
    rows = np.array([0, 1, 2, 4, 5, 6, 7, 8, -1])
    results = []
    for multiply in (compiled_multiply(lanes), fused(plain.multiplier(lanes))):
        x, y = np.random.default_rng(0).random((2, n * lanes))
        found = np.zeros((2 * n_products + 1) * lanes)
        for steps in ((0, 1), (2, 5)):
            multiply(x, y, found, own, rows, *matrix, (2, 8, first, *steps, n_products))
        results.append((x, y, found))
    for compiled, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(compiled, expected)
    assert np.count_nonzero(results[0][2]) > 4 * lanes


PROGRAM = """
import numpy as np
from retgk.kernels.exponentials import exponential_values
print(exponential_values(np.zeros((1, 1)), np.ones(1), np.ones(1), 1.0, 2.0)[0, 0])
"""


def test_changed_vector_code_is_compiled_again(tmp_path):
    """A function that is cached, in a file that did not change, sees a change of this package."""
    folder = Path(shutil.copytree(Path(retgk.__file__).parent, tmp_path / "retgk"))

    def run():
        paths = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(
            command, env=os.environ | paths, cwd=tmp_path, check=True, stdout=subprocess.PIPE
        )
        return float(done.stdout), sorted((tmp_path / "cache").rglob("*._fill*.nbc"))

    value, compiled = run()
    assert value == pytest.approx(np.exp(-2.0), rel=1e-15)
    assert run() == (value, compiled)
    source = folder / "simd" / "plain.py"
    text = source.read_text("utf-8")
    assert "math.log(2.0) ** k / math.factorial(k)" in text
    source.write_text(text.replace("math.log(2.0) ** k /", "2 * math.log(2.0) ** k /"), "utf-8")
    changed, recompiled = run()
    assert changed == pytest.approx(2 * np.exp(-2.0), rel=1e-15)
    assert len(recompiled) == len(compiled) + 1
