"""What fitting says of itself: to the logger "retgk", and to people who ask for it."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np

from retgk.errors import InvalidInputError

__all__ = ["FitLog"]

_LOGGER = logging.getLogger("retgk")
_LOGGER.addHandler(logging.NullHandler())

_LEVELS = {1: logging.INFO, 2: logging.DEBUG}


class FitLog:
    """
    Lines for the logger "retgk", printed as well where `verbose` asks for them.

    Parameters
    ----------
    verbose : int
        0 prints nothing, 1 what is logged as INFO, 2 DEBUG too.

    Examples
    --------
    >>> FitLog(1).info("%d graphs", 3)
    [retgk] 3 graphs
    >>> FitLog(1).debug("a detail")
    """

    def __init__(self, verbose: Any = 0) -> None:
        if not isinstance(verbose, Integral | np.bool_) or verbose < 0:
            raise InvalidInputError(f"verbose must be 0, 1 or 2, got {verbose!r}")
        self.verbose = int(verbose)

    def info(self, message: str, *values: Any) -> None:
        """Say something of the whole: sizes, choices, seconds."""
        self._say(1, message, values)

    def debug(self, message: str, *values: Any) -> None:
        """Say something of one candidate."""
        self._say(2, message, values)

    def _say(self, detail: int, message: str, values: tuple[Any, ...]) -> None:
        _LOGGER.log(_LEVELS[detail], message, *values)
        if self.verbose >= detail:
            print(f"[retgk] {message % values}", flush=True)  # where scikit-learn prints, too

    @contextmanager
    def seconds(self, message: str, *values: Any) -> Iterator[None]:
        """Say how long a block took."""
        start = time.perf_counter()
        yield
        self.info(f"{message}: %.1f s", *values, time.perf_counter() - start)
