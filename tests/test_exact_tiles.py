"""Powers of two in the tiles of the exact kernel: as accurate as its promise counts on."""

import numpy as np
import pytest

from retgk import _core
from retgk.kernels import exact_points as reduction
from tests.core_levels import LEVELS, run_on_level

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
        "from tests.test_exact_tiles import *\n"
        "for dtype, largest, bound in ((np.float32, 115, 3e-7), (np.float64, 1000, 5e-16)):\n"
        "    t = np.linspace(0, largest, 10_001).astype(dtype)\n"
        "    expected = np.exp2(-t.astype(np.longdouble))\n"
        "    assert np.abs(powers_of_half(t) / expected - 1).max() <= bound\n"
    )
    run_on_level(level, program)
