"""Keywords that a function does not have: what was probably meant, and where it belongs."""

import difflib
import inspect
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any

from retgk.errors import InvalidInputError, Remedy

__all__ = ["check_keywords", "keywords_of"]

_MOST_SHOWN = 60


@cache
def keywords_of(*functions: Callable[..., Any]) -> tuple[str, ...]:
    """Names of all options that functions take after the graphs."""
    names = [list(inspect.signature(function).parameters)[1:] for function in functions]
    return tuple(dict.fromkeys(name for some in names for name in some))


def check_keywords(
    given: Mapping[str, Any], known: Collection[str], owner: str, elsewhere: Mapping[str, str]
) -> None:
    """
    Raise at the first keyword that is not known.

    The message has the nearest name; `elsewhere` says by name where a keyword of others belongs,
    as a form in which "{option}" stands for the option as it was given.
    """
    for name, value in given.items():
        if name in known:
            continue
        option = f"{name}={value!r}"
        option = option if len(option) <= _MOST_SHOWN else f"{name}=..."
        if name in elsewhere:
            advice = elsewhere[name].format(option=option)
        else:
            near = difflib.get_close_matches(name, [*known, *elsewhere], n=1, cutoff=0.6)
            listed = f"it has {', '.join(known)}" if known else "it has none"
            advice = f"did you mean {near[0]}?" if near else listed
            if near and near[0] in elsewhere:
                advice += " " + elsewhere[near[0]].format(option=f"{near[0]}={value!r}")
        raise InvalidInputError(f"{owner} has no option {name!r}", Remedy("keyword", advice))
