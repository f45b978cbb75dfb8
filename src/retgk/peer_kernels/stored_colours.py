"""First colours of nodes as plain values, and back with every check."""

from typing import Any, get_args

from retgk.engine.fitted_state import FittedState
from retgk.refinement.first_colours import FirstColours, Start

__all__ = ["colour_values", "restored_colours"]


def colour_values(first: FirstColours) -> dict[str, Any]:
    """Values of fitted first colours."""
    names = ("start", "first_colours", "has_labels")
    return dict(zip(names, (first.start, first.names, first.has_labels), strict=True))


def restored_colours(state: FittedState) -> FirstColours:
    """Take first colours out of a state, after checking them."""
    start: Any = state.take_choice("start", get_args(Start))
    names = state.take_names("first_colours")
    return FirstColours(start, names, state.take_value("has_labels", bool))
