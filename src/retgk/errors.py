"""What bad input raises or warns of: the problem, and what to do about it."""

import inspect
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from types import FrameType
from typing import Any

# A warning belongs to the line that called these: folds, pipelines and threads are theirs.
_NOT_THE_USER = {"retgk", "sklearn", "joblib", "contextlib", "functools", "threading", "concurrent"}
_FRACTION = re.compile(r"\d+(\.\d+)?e[+-]?\d+|\d+\.\d+")
_told: set[tuple[Any, ...]] = set()


@dataclass(frozen=True)
class Remedy:
    """
    What to do about bad input: a key that names the remedy, and how Python users are told.

    The command line has its own words for the keys that one of its options stands for.

    Parameters
    ----------
    key : str
        Name of the remedy, such as "symmetrize".
    text : str
        What to do in Python, such as "pass symmetrize=True".
    value : str, default=""
        What to give the option, where the error can tell.
    """

    key: str
    text: str
    value: str = ""


class _WithRemedy(Exception):  # noqa: N818
    """Message in two parts; both are kept when the object is pickled for another process."""

    def __init__(self, message: str, remedy: Remedy | None = None) -> None:
        super().__init__(message if remedy is None else f"{message}; {remedy.text}")
        self.problem = message
        self.remedy = remedy

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problem, self.remedy)


class InvalidInputError(_WithRemedy, ValueError):
    """
    Input that cannot be used; the message says which, why, and what to do.

    Parameters
    ----------
    message : str
        What is wrong.
    remedy : Remedy, optional
        What to do; its text ends the message.

    Attributes
    ----------
    problem : str
        Message without the remedy.
    remedy : Remedy or None
        As given.

    Examples
    --------
    >>> from retgk import InvalidInputError, as_batch
    >>> try:
    ...     as_batch([])
    ... except InvalidInputError as error:
    ...     print(error)
    there are no graphs to convert
    """


class InputWarning(_WithRemedy, UserWarning):
    """Input that is probably not what the user means, with the same two parts of its message."""


def warn_user(warning: Warning) -> None:
    """
    Warn at the line of the user's code, once for the same text.

    Python's own memory of what was shown is lost whenever filters of warnings change, as
    scikit-learn and joblib change them for every fold. Texts that differ in measured numbers alone
    are the same. Filters of the user count: "always" and "error" are heeded each time.
    """
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
    """What the filters of warnings say of a warning."""
    filters: Any = warnings.filters
    for action, text, category, modules, at in filters:
        is_meant = isinstance(warning, category) and at in (0, line)
        is_meant &= text is None or bool(text.match(str(warning)))
        if is_meant and (modules is None or modules.match(module)):
            return str(action)
    return "default"


def warn_of(notes: Iterable[str]) -> None:
    """Warn of input, once for each note."""
    for note in notes:
        warn_user(InputWarning(note))
