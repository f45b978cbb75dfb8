"""Seeds from whatever a user passes as random_state."""

from numbers import Integral

import numpy as np

from retgk.errors import InvalidInputError

__all__ = [
    "MAX_SEED",
    "RandomState",
    "generator_from",
    "seed_from",
    "short_seed",
    "whole_seed",
]

RandomState = int | np.random.Generator | np.random.RandomState | None
"""What users pass as random_state."""

MAX_SEED = 2**63 - 1
"""Largest seed that estimators keep, and that model files hold."""


def generator_from(random_state: RandomState) -> np.random.Generator:
    """Generator of a seed or generator of any kind; anything else is an error."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(seed_from(random_state))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            "random_state must be an integer that is not negative, a Generator, a RandomState or "
            f"None, got {random_state!r}"
        ) from error


def seed_from(random_state: RandomState) -> np.uint64:
    """Sixty-three random bits from a seed or generator of any kind."""
    if isinstance(random_state, np.random.RandomState):
        return np.uint64(random_state.randint(0, 2**63, dtype=np.int64))
    return np.uint64(generator_from(random_state).integers(2**63))


def whole_seed(random_state: RandomState, n_bits: int = 63) -> int:
    """
    Whole number that stands for `random_state` wherever it is needed again.

    A whole number stands for itself; from anything else one of so many bits is drawn.
    """
    if isinstance(random_state, Integral) and 0 <= int(random_state) <= MAX_SEED:
        return int(random_state)
    return int(seed_from(random_state)) >> (63 - n_bits)


def short_seed(seed: int) -> int:
    """Seed that scikit-learn takes: the same where it has 32 bits, or 32 that come of it."""
    if seed < 2**32:
        return seed
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint32)[0])
