"""
How functions of this package are compiled: numba's njit, also where nothing can be stored.

Compiled code is kept beside the package, in the user's cache folder or in NUMBA_CACHE_DIR. numba
refuses to compile what asks for a cache where it may write to none of them, as in containers
with a read-only package and home.
"""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numba

from retgk.runtime.parallel import announce_compiling

__all__ = ["njit"]

_NO_FOLDER = "no locator available"  # how numba says that no folder can be written to


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile as numba does; without its cache, and after one warning, where it can have none."""

    def compiled(function: Callable[..., Any]) -> Any:
        announce_compiling()  # modules are imported just before what they compile is called
        try:
            return numba.njit(**options)(function)
        except RuntimeError as error:
            if not options.get("cache") or _NO_FOLDER not in str(error):
                raise
        _warn_once()
        return numba.njit(**{**options, "cache": False})(function)

    return compiled


@cache
def _warn_once() -> None:
    """Say that every process compiles anew, and what to do about it."""
    warnings.warn(
        "compiled code cannot be kept, because neither the package nor the user's cache folder can "
        "be written to; every process compiles it again, which takes a while; set NUMBA_CACHE_DIR "
        "to a folder that can be written to",
        RuntimeWarning,
        stacklevel=2,
    )
