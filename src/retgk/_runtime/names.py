"""Names close to one that was mistyped: a few to choose from, rather than hundreds."""

import difflib
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from importlib import import_module
from numbers import Integral
from typing import Any

import numpy as np

from retgk.errors import InvalidInputError

_CLOSE = 0.6  # likeness from which on difflib takes a name for the one that was meant
_MOST_NEAR = 3
_FEW = 12  # names that are all listed


def near_names(wanted: str, known: Iterable[str]) -> list[str]:
    """Known names that are probably meant, the nearest first; letter case does not count."""
    import difflib

    by_lower = {name.lower(): name for name in known}
    text = wanted.strip().lower()
    found = difflib.get_close_matches(text, by_lower, _MOST_NEAR, _CLOSE)
    if len(text) > 2:
        found += [name for name in by_lower if text in name and name not in found]
    return [by_lower[name] for name in found[:_MOST_NEAR]]


def name_advice(wanted: str, known: Iterable[str], verb: str = "name one of") -> str:
    """Say what to do about an unknown name: "did you mean x? name one of x, y"."""
    names = list(dict.fromkeys(known))
    near = near_names(wanted, names)
    question = f"did you mean {' or '.join(near)}? " if near else ""
    if len(names) <= _FEW:
        return f"{question}{verb} {', '.join(names)}"
    if near:
        return f"{question}{verb} the {len(names)} that there are"
    return f"{verb} {', '.join(names[:_FEW])} and {len(names) - _FEW} more"


def names_there(wanted: str, known: Iterable[str]) -> str:
    """List names as Python does, the nearest alone if they are many, and ask if one is meant."""
    names = list(known)
    near = near_names(wanted, names)
    shown = names if len(names) <= _FEW else (near or names[:_FEW])
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    question = f" (did you mean {near[0]!r}?)" if near else ""
    return f"{shown or 'none'}{more}{question}"


# Optional packages: imported when first needed; the error for a missing one names its extra.


def optional_module(name: str, extra: str) -> Any:
    """Import a module that retgk can do without; `extra` is the extra of retgk that installs it."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"this needs {package}, which cannot be imported; pip install {package} (it is in the "
            f"extra retgk[{extra}])"
        ) from error


# Seeds from whatever a user passes as random_state to estimators, as rng to functions (SPEC 7).

Rng = int | np.random.Generator | None
RandomState = Rng | np.random.RandomState

MAX_SEED = 2**63 - 1
"""Largest seed that estimators keep, and that model files hold."""


def generator_from(given: RandomState, name: str = "random_state") -> np.random.Generator:
    if isinstance(given, np.random.RandomState):
        return np.random.default_rng(given.randint(0, 2**63, dtype=np.int64))
    try:
        return np.random.default_rng(given)
    except (TypeError, ValueError) as error:
        others = ", a RandomState" if name == "random_state" else ""
        raise InvalidInputError(
            f"{name} must be an integer that is not negative, a Generator{others} or None, got "
            f"{given!r}"
        ) from error


def seed_from(given: RandomState, name: str = "random_state") -> np.uint64:
    if isinstance(given, np.random.RandomState):
        return np.uint64(given.randint(0, 2**63, dtype=np.int64))
    return np.uint64(generator_from(given, name).integers(2**63))


def whole_seed(given: RandomState, n_bits: int = 63, name: str = "random_state") -> int:
    """Whole number that stands for what was given; a whole number stands for itself."""
    if isinstance(given, Integral) and 0 <= int(given) <= MAX_SEED:
        return int(given)
    return int(seed_from(given, name)) >> (63 - n_bits)


def short_seed(seed: int) -> int:
    """Seed that scikit-learn takes: the same where it has 32 bits, or 32 that come of it."""
    if seed < 2**32:
        return seed
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint32)[0])


# Keywords that a function does not have: what was probably meant, and where it belongs.

_MOST_SHOWN = 60


@cache
def keywords_of(*functions: Callable[..., Any]) -> tuple[str, ...]:
    """Names of all options that functions take after the graphs."""
    names = [list(inspect.signature(function).parameters)[1:] for function in functions]
    return tuple(dict.fromkeys(name for some in names for name in some))


def check_keywords(
    given: Mapping[str, Any], known: Collection[str], owner: str, elsewhere: Mapping[str, str]
) -> None:
    """Raise at the first unknown keyword; `elsewhere` says where keywords of others belong."""
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
        raise InvalidInputError(f"{owner} has no option {name!r}; {advice}")
