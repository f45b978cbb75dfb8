"""
What parameters may be: one table, in the manner of scikit-learn's `_parameter_constraints`.

Classes have the part of it that is theirs; `fit`, model files and options of the command line read
it. Nothing heavy is imported here: the command line starts with it.
"""

import math
from collections.abc import Callable, Collection, Mapping
from functools import cache
from inspect import Signature, signature
from numbers import Integral, Real
from typing import Any, NamedTuple, Protocol

from retgk.errors import InvalidInputError


class Constraint(Protocol):
    """One of the things that a parameter may be; as text, it ends "must be"."""

    def holds(self, value: Any) -> bool:
        """Whether a value is such a thing."""


class Whole(NamedTuple):
    """A whole number; truth values are none."""

    least: int
    most: int | None = None

    def holds(self, value: Any) -> bool:
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        return is_whole and self.least <= value <= (math.inf if self.most is None else self.most)

    def __str__(self) -> str:
        if self.most is None:
            return f"a whole number of at least {self.least}"
        return f"a whole number between {self.least} and {self.most}"


class Number(NamedTuple):
    """A finite number in an interval such as "(0, 1]"."""

    interval: str
    least: float
    most: float = math.inf

    def holds(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            return False
        number = float(value)
        above = number > self.least if self.interval[0] == "(" else number >= self.least
        below = number < self.most if self.interval[1] == ")" else number <= self.most
        return above and below

    def __str__(self) -> str:
        if self.most == math.inf:
            return "positive and finite" if self.interval[0] == "(" else "finite and not negative"
        return f"a number in {self.interval[0]}{self.least:g}, {self.most:g}{self.interval[1]}"


class OneOf(NamedTuple):
    """One of some words or constants."""

    choices: Collection[Any]

    def holds(self, value: Any) -> bool:
        """Whether a value is one of them, and of the same type; a number of NumPy is its own."""
        value = value.item() if hasattr(value, "item") and not getattr(value, "ndim", 1) else value
        return any(type(value) is type(one) and value == one for one in self.choices)

    def __str__(self) -> str:
        words = list(map(repr, self.choices))
        if words == ["True", "False"]:
            return "True or False"
        return f"one of {', '.join(words)}" if len(words) > 1 else words[0]


class Name(NamedTuple):
    """A text that names something."""

    def holds(self, value: Any) -> bool:
        return isinstance(value, str)

    def __str__(self) -> str:
        return "a name"


class Each(NamedTuple):
    """A tuple or list, each of whose items is such a thing."""

    item: Constraint

    def holds(self, value: Any) -> bool:
        return isinstance(value, tuple | list) and all(map(self.item.holds, value))


class Mapped(NamedTuple):
    """A dictionary."""

    def holds(self, value: Any) -> bool:
        """Whether a value is one."""
        return isinstance(value, Mapping)

    def __str__(self) -> str:
        return "a dictionary of values by name"


Constraints = dict[str, tuple[Constraint, ...]]

WEIGHT_RANGE = (1e-150, 1e150)
"""Weights of edges and self-loops with which probabilities are numbers."""

MAX_DEGREE = 1000  # a degree is a loop: one of 10**18 would never end
MAX_ATTRIBUTES = 1 << 16
"""Attributes of a node that a model file may speak of."""

MAX_ROUNDS = 64
"""Rounds of refinement that may be asked for, here and by the kernels that refine labels."""

NONE = OneOf((None,))
FLAG = OneOf((True, False))


def several(constraint: Constraint) -> tuple[Constraint, ...]:
    return constraint, Each(constraint)


WALKS: Constraints = {
    "n_steps": (Whole(1, 1 << 24),),  # far more than anyone could wait for
    "method": (OneOf(("exact", "eigh", "monte-carlo", "monte-carlo-returns")),),
    "n_walks": (Whole(3, 1 << 31),),
    "self_loop": (OneOf(("mean",)), OneOf((0,)), OneOf((0.0,)), Number("[]", *WEIGHT_RANGE)),
    "nodes": (NONE, Whole(1), Number("(]", 0, 1)),
}
EVERYWHERE: Constraints = {
    "n_jobs": (NONE, Whole(1, 1 << 10), Whole(-(1 << 10), -1)),
    "impute_attributes": (NONE, OneOf(("mean", "median"))),
}
"""Parameters that all estimators have."""

TOL: Constraints = {"tol": (Number("[)", 0, 1),)}
DEPTH: Constraints = {"depth": (Whole(0, MAX_ROUNDS),)}
PEERS: Constraints = {"n_jobs": EVERYWHERE["n_jobs"], "normalize": (FLAG,)}
"""Parameters that all kernels of other authors have."""

START: Constraints = {
    "start": (OneOf(("labels", "degrees", "none")),),
    "labels": (NONE, *several(Name())),
}
ROUNDS: Constraints = {"n_iter": (Whole(0, MAX_ROUNDS),)}
VECTORS: Constraints = {
    "n_components": (Whole(1, 1 << 24), Each(Whole(1, 1 << 24))),
    "feature_map": (OneOf(("joint", "tensor", "phases")),),
    "frequencies": (OneOf(("plain", "orthogonal", "quasi-random")),),
    "unknown_labels": (OneOf(("ignore", "error", "column")),),
    "sparse_output": (FLAG,),
    "batch_size": (NONE, Whole(1)),
}
PREDICTORS: Constraints = {
    "n_jobs": EVERYWHERE["n_jobs"],
    "C": several(Number("()", 0)),
    "candidates": (OneOf(("auto", None)), Mapped()),
    "solver": (OneOf(("auto", "svm", "ridge")),),
    "n_landmarks": (NONE, Whole(1)),
    "verbose": (Whole(0), FLAG),
}
"""Parameters of classifier and regressor; objects that they make check the others."""


def check_parameters(constraints: Constraints, values: Mapping[str, Any]) -> None:
    for name, allowed in constraints.items():
        if name not in values or any(one.holds(values[name]) for one in allowed):
            continue
        value = values[name]
        for one in allowed:  # of several, the first that is wrong
            if isinstance(one, Each) and isinstance(value, tuple | list):
                value = next(item for item in value if not one.item.holds(item))
                break
        words = " or ".join(str(one) for one in allowed if not isinstance(one, Each))
        raise InvalidInputError(f"{name} must be {words}, got {value!r:.80}")


def check_model_parameters(model: Any) -> None:
    check_parameters(model._parameter_constraints, vars(model))  # get_params takes 0.1 ms


def untyped(known: Any) -> Any:
    """Show a class by names and defaults alone: types of many parameters hide them."""
    own = list(signature(known.__init__).parameters.values())[1:]
    known.__signature__ = Signature([each.replace(annotation=each.empty) for each in own])
    return known


def shared_parameters(make: Callable[..., Any], *sources: Any) -> dict[str, Any]:
    """Parameters of a class that objects have as attributes, the last object first."""
    names = _parameter_names(make)
    return {name: getattr(own, name) for own in sources for name in names if hasattr(own, name)}


@cache
def _parameter_names(make: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(signature(make).parameters)
