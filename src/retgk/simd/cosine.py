"""The cosine of many angles, written out so that the compiler works on many at a time.

Angles are in turns, so that reducing one to (-1/2, 1/2] is exact at any size: it is the angle
less the nearest integer. Then ``cos(2 pi r) = sin(2 pi u)`` with ``u = 1/4 - |r|``, and the sine
on [-1/4, 1/4] is an odd polynomial: no table, no branch.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from retgk.runtime.compiling import njit

__all__ = ["MAX_ERROR", "cosine_in_place", "cosine_of_turns"]

MAX_ERROR = {np.dtype(np.float64): 6e-16, np.dtype(np.float32): 3e-7}
"""Largest error of cos(2 pi t) for the t that is given, by type."""

# Minimax polynomials of sin(2 pi u) / u in u^2: 9e-17 and 3e-9 off before rounding.
_A = (
    6.2831853071795803916,
    -41.341702240395082638,
    81.605249275026291884,
    -76.705859647469673123,
    42.058688305395575059,
    -15.094471616749452933,
    3.8169974295671560615,
    -0.69093588762802366194,
)
_A0, _A1, _A2, _A3, _A4, _A5, _A6, _A7 = _A
_B0, _B1, _B2, _B3, _B4 = (
    np.float32(b)
    for b in (
        6.2831851600897226565,
        -41.341655031479418784,
        81.601004077356553391,
        -76.549782387613466232,
        39.536706762014835694,
    )
)
_QUARTER_32 = np.float32(0.25)


def cosine_of_turns(t: Any) -> Any:
    """Give ``cos(2 pi t)``, of the type of `t`, to within `MAX_ERROR`; t is in turns."""
    return np.cos(2 * np.pi * (t - np.rint(t)))


def _cosine_64(t):
    u = 0.25 - abs(t - np.rint(t))
    v = u * u
    w = v * v
    # Pairs of terms (Estrin's scheme) make short chains of dependent operations.
    low = (_A0 + _A1 * v) + w * (_A2 + _A3 * v)
    high = (_A4 + _A5 * v) + w * (_A6 + _A7 * v)
    return u * (low + (w * w) * high)


def _cosine_32(t):
    u = _QUARTER_32 - abs(t - np.rint(t))
    v = u * u
    w = v * v
    return u * (((_B0 + _B1 * v) + w * (_B2 + _B3 * v)) + (w * w) * _B4)


@overload(cosine_of_turns, inline="always")
def _compiled_cosine(t):
    return _cosine_32 if t == types.float32 else _cosine_64


# "contract" lets a product and a sum become one instruction, which rounds once instead of
# twice; it takes no other liberty.
@njit(cache=True, nogil=True, no_cfunc_wrapper=True, fastmath={"contract"})
def cosine_in_place(turns):
    """Replace angles, in turns, by their cosines; a flat array."""
    for i in range(len(turns)):
        turns[i] = cosine_of_turns(turns[i])
