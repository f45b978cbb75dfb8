"""What bad input raises or warns of: the problem, and what to do about it."""

import inspect
import re
import warnings
from collections.abc import Iterable
from types import FrameType
from typing import Any

# A warning belongs to the line that called these: folds, pipelines and threads are theirs.
_NOT_THE_USER = {"retgk", "sklearn", "joblib", "contextlib", "functools", "threading", "concurrent"}
_FRACTION = re.compile(r"\d+(\.\d+)?e[+-]?\d+|\d+\.\d+")
_told: set[tuple[Any, ...]] = set()


class InvalidInputError(ValueError):
    """
    Input that cannot be used; the message says which, why, and what to do.

    The command line prints the same message, with its options in place of parameters.

    Examples
    --------
    >>> from retgk import InvalidInputError, as_batch
    >>> try:
    ...     as_batch([])
    ... except InvalidInputError as error:
    ...     print(error)
    there are no graphs to convert
    """


class InputWarning(UserWarning):
    """Input that is probably not what the user means."""


class ContradictionWarning(InputWarning):
    """Graphs that nothing tells apart have different targets."""


class LeftOutWarning(InputWarning):
    """Graphs that cannot be used were left out, as the caller asked."""


class UnseenWarning(InputWarning):
    """New graphs have elements or charges that no fitted graph had."""


def warn_user(warning: Warning) -> None:
    """Warn at the line of the user's code, once for texts that differ in measured numbers alone."""
    frame = _users_frame()
    place = (frame.f_code.co_filename, frame.f_lineno)
    module = str(frame.f_globals.get("__name__", ""))
    key = (*place, type(warning), _FRACTION.sub("#", str(warning)))
    if key in _told and _action(warning, module, frame.f_lineno) in ("default", "module"):
        return
    _told.add(key)
    warnings.warn_explicit(warning, type(warning), *place, module=module)


def _users_frame() -> FrameType:
    """Innermost call outside of this library and of those that call it; else the outermost."""
    frame = inspect.currentframe()
    assert frame is not None
    while frame.f_back is not None and _package(frame) in _NOT_THE_USER:
        frame = frame.f_back
    return frame


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _action(warning: Warning, module: str, line: int) -> str:
    filters: Any = warnings.filters
    for action, text, category, modules, at in filters:
        is_meant = isinstance(warning, category) and at in (0, line)
        is_meant &= text is None or bool(text.match(str(warning)))
        if is_meant and (modules is None or modules.match(module)):
            return str(action)
    return "default"


def warn_of(notes: Iterable[str]) -> None:
    for note in notes:
        warn_user(InputWarning(note))
