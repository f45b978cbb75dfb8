"""exp(-t) written out so that the compiler works on many values at a time."""

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

__all__ = ["MAX_RELATIVE_ERROR_32", "exp_negative"]

# exp(-t) = 2^n 2^f with n the integer nearest to -t log2(e). Adding 1.5 * 2^23 to a float32
# (1.5 * 2^52 to a float64) leaves n in its low bits, from where a shift moves it to the exponent.
_LOG2_E = math.log2(math.e)
_MINUS_LOG2_E_32 = np.float32(-_LOG2_E)
_ROUND_32 = np.float32(1.5 * 2**23)
_LARGEST_32 = np.float32(80.0)
_SHIFT_32 = np.int32(23)
_ROUND_64 = 1.5 * 2.0**52
_LARGEST_64 = 700.0
_SHIFT_64 = np.int64(52)
_LN2_HIGH = 0.693147180369123816490  # 33 bits, so that n times it is exact
_LN2_LOW = 1.90821492927058770002e-10

# Minimax polynomial of 2^f on [-1/2, 1/2] among those that are 1 at 0: 1.1e-7 off after rounding.
_A1, _A2, _A3, _A4, _A5 = (
    np.float32(a)
    for a in (
        0.6931470036506653,
        0.24022242426872253,
        0.05550733581185341,
        0.009671512991189957,
        0.001326472731307149,
    )
)
_A0 = np.float32(1)

MAX_RELATIVE_ERROR_32 = 3e-7
"""Largest relative error of the float32 version, to which t times 2^-23 is to be added."""


def exp_negative(t: Any) -> Any:
    """
    Give exp(-t) for t >= 0.

    Beyond t = 80 (float64: 700) the value at 80 (700) is returned, to stay clear of
    denormalised numbers. The float64 version is within 3e-16 of the true value, relatively.
    """
    return np.exp(-t)


def _exp_negative_32(t):
    t = min(t, _LARGEST_32)
    shifted = np.float32(t * _MINUS_LOG2_E_32 + _ROUND_32)
    f = t * _MINUS_LOG2_E_32 - (shifted - _ROUND_32)
    # Short chains of dependent operations (Estrin's scheme) keep the pipelines busy.
    g = f * f
    p = np.float32((_A0 + _A1 * f) + g * ((_A2 + _A3 * f) + g * (_A4 + _A5 * f)))
    exponent = np.int32(shifted.view(np.int32) << _SHIFT_32)
    return np.int32(p.view(np.int32) + exponent).view(np.float32)


def _exp_negative_64(t):
    t = min(t, _LARGEST_64)
    shifted = np.float64(_ROUND_64 - t * _LOG2_E)
    n = shifted - _ROUND_64
    f = (-t - n * _LN2_HIGH) - n * _LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * f + 1.0 / 479001600.0
    p = p * f + 1.0 / 39916800.0
    p = p * f + 1.0 / 3628800.0
    p = p * f + 1.0 / 362880.0
    p = p * f + 1.0 / 40320.0
    p = p * f + 1.0 / 5040.0
    p = p * f + 1.0 / 720.0
    p = p * f + 1.0 / 120.0
    p = p * f + 1.0 / 24.0
    p = p * f + 1.0 / 6.0
    p = p * f + 0.5
    p = p * f + 1.0
    p = np.float64(p * f + 1.0)
    exponent = np.int64(shifted.view(np.int64) << _SHIFT_64)
    return np.int64(p.view(np.int64) + exponent).view(np.float64)


@overload(exp_negative, inline="always")
def _overload_exp_negative(t):
    """Choose the version by the type of t, at compile time."""
    return _exp_negative_32 if t == types.float32 else _exp_negative_64
