"""Names close to one that was mistyped: a few to choose from, rather than hundreds."""

from collections.abc import Iterable

__all__ = ["name_advice", "names_there", "near_names"]

_CLOSE = 0.6  # likeness from which on difflib takes a name for the one that was meant
_MOST_NEAR = 3
_FEW = 12  # names that are all listed


def near_names(wanted: str, known: Iterable[str]) -> list[str]:
    """
    Known names that are probably meant, the nearest first; none if nothing is near.

    Letter case does not count, and a name that holds what was typed is near too.
    """
    import difflib

    by_lower = {name.lower(): name for name in known}
    text = wanted.strip().lower()
    found = difflib.get_close_matches(text, by_lower, _MOST_NEAR, _CLOSE)
    if len(text) > 2:
        found += [name for name in by_lower if text in name and name not in found]
    return [by_lower[name] for name in found[:_MOST_NEAR]]


def name_advice(wanted: str, known: Iterable[str], verb: str = "name one of") -> str:
    """
    Say what to do about an unknown name: "did you mean x? name one of x, y".

    Of more than a dozen names, only those that are near are listed, or the first few.
    """
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
