"""The vectorised exponential keeps the accuracy that the promise counts on."""

import numba
import numpy as np
import pytest

from retgk.kernels import reduction
from retgk.kernels.exponential import MAX_RELATIVE_ERROR_32, exp_negative


@numba.njit(fastmath={"contract"})
def exp_of_all(t, out):
    for i in range(len(t)):
        out[i] = exp_negative(t[i])


def relative_errors(t):
    out = np.empty_like(t)
    exp_of_all(t, out)
    exact = np.exp(-t.astype(np.longdouble))
    return np.abs(out / exact - 1).astype(np.float64)


def test_float32_error():
    t = np.concatenate([np.linspace(0, 80, 1_000_001), np.logspace(-30, 0, 10_001)])
    t = t.astype(np.float32)
    assert np.all(relative_errors(t) <= MAX_RELATIVE_ERROR_32 + 2.0**-23 * t)


def test_bound_of_the_promise_is_the_one_tested_here():
    assert reduction.MAX_RELATIVE_ERROR_32 == MAX_RELATIVE_ERROR_32


def test_float64_error():
    t = np.concatenate([np.linspace(0, 699, 1_000_001), np.logspace(-30, 0, 10_001)])
    assert relative_errors(t).max() <= 3e-16


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zero_gives_one_and_large_gives_next_to_nothing(dtype):
    t = np.array([0.0, 1e4, np.finfo(dtype).max], dtype)
    out = np.empty_like(t)
    exp_of_all(t, out)
    assert out[0] == 1
    assert np.all((out[1:] > 0) & (out[1:] < 1e-30))


def test_python_version_is_the_formula():
    assert exp_negative(2.0) == pytest.approx(np.exp(-2.0))
