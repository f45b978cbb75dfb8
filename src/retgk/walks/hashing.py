"""A hash of 64 bits: for finding twins, and as random numbers that need no state."""

import numpy as np
from numba import njit

__all__ = ["GOLDEN", "mixed"]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def mixed(value):
    """Scramble 64 bits: the finaliser of SplitMix64, good for consecutive multiples of GOLDEN."""
    value = np.uint64(value)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
