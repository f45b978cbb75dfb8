"""Checks of the parameters of walks."""

from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np

from retgk.errors import InvalidInputError
from retgk.walks.weight_units import WEIGHT_RANGE

__all__ = ["Method", "SelfLoop", "check_walk_parameters"]

_MOST_STEPS, _MOST_WALKS = 1 << 24, 1 << 31  # far more than anyone could wait for

Method = Literal["exact", "eigh", "monte-carlo", "monte-carlo-returns"]

SelfLoop = float | Literal["mean"]
"""Weight of the self-loop that every node gets; "mean" is the mean weight of its graph."""


def check_walk_parameters(n_steps: Any, method: str, n_walks: Any, self_loop: Any) -> None:
    """Raise unless these are parameters of `return_probabilities`."""
    if not isinstance(n_steps, Integral) or isinstance(n_steps, bool) or n_steps < 1:
        raise InvalidInputError(f"n_steps must be a whole number of at least 1, got {n_steps!r}")
    if method not in get_args(Method):
        raise InvalidInputError(f"method must be one of {get_args(Method)}, got {method!r}")
    _check_self_loop(self_loop)
    if not isinstance(n_walks, Integral) or n_walks < 3:
        raise InvalidInputError(f"n_walks must be a whole number of at least 3, got {n_walks!r}")
    for name, value, most in (("n_steps", n_steps, _MOST_STEPS), ("n_walks", n_walks, _MOST_WALKS)):
        if int(value) > most:
            raise InvalidInputError(f"{name} must be at most {most}, got {value!r}")


def _check_self_loop(self_loop: Any) -> None:
    if isinstance(self_loop, str):
        if self_loop != "mean":
            raise InvalidInputError(f"self_loop must be 'mean' or a number, got {self_loop!r}")
        return
    if not isinstance(self_loop, Real) or not 0 <= float(self_loop) < np.inf:
        raise InvalidInputError(f"self_loop must be finite and not negative, got {self_loop!r}")
    least, most = WEIGHT_RANGE
    if self_loop and not least <= float(self_loop) <= most:
        raise InvalidInputError(
            f"self_loop must be 0 or between {least:g} and {most:g}, got {self_loop!r}; scale it "
            "together with the weights of the edges"
        )
