"""What bad input raises or warns of: the problem, and what to do about it."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["InputWarning", "InvalidInputError", "Remedy", "warn_of"]


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


def warn_of(notes: Iterable[str], stacklevel: int) -> None:
    """Warn of input, once for each note; `stacklevel` counts from the caller of this function."""
    for note in notes:
        warnings.warn(InputWarning(note), stacklevel=stacklevel + 1)
