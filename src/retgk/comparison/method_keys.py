"""Keys of methods, by which a journal knows in another session which folds are theirs."""

import hashlib
import inspect
import re
import sys
import textwrap
from collections.abc import Mapping
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from retgk.errors import InvalidInputError
from retgk.runtime.record_files import key_of

__all__ = ["check_can_resume", "estimator_key"]

_SET_BY_RUNS = ("n_jobs", "verbose")
"""Parameters that change no answer."""

_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")
"""Place in memory, by which Python tells objects that do not tell what they are."""


def estimator_key(estimator: Any) -> str:
    """
    Digest of a class and its parameters: a method that was changed is another one.

    Functions count by their names and their source.
    """
    kind = type(estimator)
    return key_of({"class": f"{kind.__module__}.{kind.__qualname__}", **_parameters(estimator)})


def check_can_resume(name: str, estimator: Any) -> None:
    """Raise if a key would be another one in the next session, and all folds done again."""
    untold = [item for item in _parameters(estimator).items() if _ADDRESS.search(item[1])]
    if untold:
        parameter, text = max(untold, key=lambda item: item[0].count("__"))  # not what holds it
        raise InvalidInputError(
            f"the parameter {parameter} of method {name!r} is {text:.100}: nothing tells it again "
            "in another session, so a journal would never resume; give its class a __repr__ that "
            "says what it is, or leave out the journal"
        )


def _parameters(estimator: Any) -> dict[str, str]:
    """Texts of all parameters that change answers, also of estimators inside."""
    params: Mapping[str, Any] = estimator.get_params(deep=True)
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):  # arrays in full
        return {
            name: _text_of(value)
            for name, value in params.items()
            if name.rpartition("__")[2] not in _SET_BY_RUNS
        }


def _text_of(value: Any) -> str:
    """Text of a value that is the same in all sessions, where there is one."""
    text = repr(value)
    if not _ADDRESS.search(text):
        return text
    if isinstance(value, Mapping):
        return str({_text_of(key): _text_of(each) for key, each in value.items()})
    if isinstance(value, list | tuple):
        return str([_text_of(each) for each in value])
    if hasattr(value, "get_params") and not isinstance(value, type):
        return f"{type(value).__qualname__} with {_parameters(value)}"
    return _text_of_callable(value) or text


def _text_of_callable(value: Any) -> str | None:
    """What a function does, in words of its source; None of an object that tells nothing."""
    if isinstance(value, partial):
        return f"partial of {_text_of([value.func, value.args, value.keywords])}"
    if isinstance(value, MethodType):
        return f"{_text_of(value.__func__)} of {_text_of(value.__self__)}"
    if isinstance(value, FunctionType):
        return _text_of_function(value)
    name = getattr(value, "__qualname__", None)  # classes, and functions of compiled packages
    return None if name is None else f"{value.__module__}.{name}"


def _text_of_function(function: FunctionType) -> str:
    """Name, digest of the source, and what a function carries with it."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):  # made by exec
        source = _text_of_code(function.__code__)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    carried = _text_of([function.__defaults__, function.__kwdefaults__, cells])
    digest = hashlib.sha256(source.encode()).hexdigest()
    return f"{function.__module__}.{function.__qualname__} {digest} {carried}"


def _text_of_code(code: CodeType) -> str:
    constants = [_text_of_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return str([code.co_code, code.co_names, code.co_varnames, constants])
