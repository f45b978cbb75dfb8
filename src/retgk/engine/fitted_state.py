"""Fitted state as plain values and arrays, and the checks by which it is taken out again."""

from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from retgk.errors import InvalidInputError
from retgk.kernels.graph_kernels import GraphKernel
from retgk.kernels.node_kernels import NodeKernel

__all__ = ["FittedState"]

_MAX_ATTRIBUTES = 1 << 16


@dataclass
class FittedState:
    """
    Fitted state of an engine or a model, as plain values, arrays and models inside it.

    The `take_*` methods check and remove what they give, so that state from strangers can be
    taken; `check_empty` shows that nothing is left over.

    Attributes
    ----------
    values : dict
        Numbers, names, kernels and containers of them.
    arrays : dict of str to ndarray
        Arrays by name.
    parts : dict of str to model
        Fitted models inside, by name.
    """

    values: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    parts: dict[str, Any] = field(default_factory=dict)

    def take_array(self, name: str, dtype: Any, shape: tuple[int | None, ...]) -> NDArray[Any]:
        """
        Take an array that must have a type and a shape and hold finite numbers.

        None stands for any length in the shape.
        """
        if name not in self.arrays:
            raise InvalidInputError(f"the array {name!r} is missing")
        array = self.arrays.pop(name)
        wanted = tuple("any" if n is None else n for n in shape)
        fits = array.ndim == len(shape) and all(
            n in (None, length) for n, length in zip(shape, array.shape, strict=True)
        )
        if not fits or array.dtype != np.dtype(dtype):
            raise InvalidInputError(
                f"the array {name!r} is {array.dtype} of shape {array.shape}, but the model needs "
                f"{np.dtype(dtype)} of shape {wanted}"
            )
        if not np.isfinite(array).all():
            raise InvalidInputError(f"the array {name!r} has values that are not finite")
        return array

    def take_value(self, name: str, *types: type) -> Any:
        """Take a value that must be of one of some types."""
        if name not in self.values:
            raise InvalidInputError(f"{name!r} is missing")
        value = self.values.pop(name)
        if types and type(value) not in types:
            raise InvalidInputError(f"{name!r} is {value!r:.80}")
        return value

    def take_choice(self, name: str, choices: tuple[str, ...]) -> str:
        """Take one of some words."""
        value = self.take_value(name, str)
        if value not in choices:
            raise InvalidInputError(f"{name!r} is {value!r:.80}, not one of {choices}")
        return str(value)

    def take_count(self, name: str, largest: int) -> int:
        """Take a whole number from 0 to `largest`."""
        value = self.take_value(name, int)
        if not 0 <= value <= largest:
            raise InvalidInputError(f"{name!r} is {value}, not between 0 and {largest}")
        return int(value)

    def take_attribute_count(self) -> int:
        """Take the number of attributes of a node."""
        return self.take_count("n_attributes", _MAX_ATTRIBUTES)

    def take_names(self, name: str) -> tuple[Any, ...]:
        """Take a tuple of labels, all different."""
        names = self.take_value(name, tuple)
        if len(set(names)) < len(names):
            raise InvalidInputError(f"{name!r} has a label twice")
        return tuple(names)

    def take_node_kernel(self, name: str) -> NodeKernel:
        """Take a kernel between nodes with a number for gamma."""
        kernel = self.take_value(name, *get_args(NodeKernel))
        if isinstance(kernel.gamma, str):
            raise InvalidInputError(f"{name!r} has no number for gamma")
        return kernel  # type: ignore[no-any-return]

    def take_graph_kernel(self, name: str) -> GraphKernel:
        """Take a kernel between graphs with a number for gamma."""
        kernel = self.take_value(name, *get_args(GraphKernel))
        if isinstance(getattr(kernel, "gamma", 1.0), str):
            raise InvalidInputError(f"{name!r} has no number for gamma")
        return kernel  # type: ignore[no-any-return]

    def take_part(self, name: str, *types: type) -> Any:
        """Take a model inside this one."""
        part = self.parts.pop(name, None)
        if type(part) not in types:
            raise InvalidInputError(f"the part {name!r} is missing or of another class")
        return part

    def check_empty(self) -> None:
        """Raise if something was not taken."""
        if left := sorted([*self.values, *self.arrays, *self.parts]):
            raise InvalidInputError(f"{left[0]!r} does not belong to a model of this class")
