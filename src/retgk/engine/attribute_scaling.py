"""How attributes of nodes enter: as they are, standardised on the fitted graphs, or not at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.engine.fitted_state import FittedState
from retgk.engine.node_features import NodeFeatures
from retgk.errors import InputWarning, InvalidInputError, Remedy, warn_user
from retgk.graphs.batch import GraphBatch

__all__ = [
    "AttributeScaling",
    "ScaleAttributes",
    "Scaling",
    "check_scaling",
    "column_spreads",
    "warn_of_uneven_attributes",
]

Scaling = Literal["raw", "standard", "drop"]
"""Attributes as they are; with mean 0 and deviation 1 over the fitted nodes; left out."""

_UNEVEN = 100.0  # ratio of standard deviations from which a warning is given

ScaleAttributes = Scaling | Mapping[str, Scaling]
"""One rule for all attributes, or one for each named block; blocks that are not named are raw."""


@dataclass(frozen=True, eq=False)
class AttributeScaling:
    """
    Fitted rule by which attributes are changed before kernels see them.

    Attributes
    ----------
    is_dropped : bool
        Whether attributes are left out.
    center, scale : ndarray of float64, shape (n_attributes,), or None
        Subtracted from every column, and what it is divided by; None leaves all as it is.
    """

    is_dropped: bool = False
    center: Floats | None = None
    scale: Floats | None = None

    @classmethod
    def fitted(
        cls, rule: ScaleAttributes, attributes: Floats, blocks: Mapping[str, Ints]
    ) -> "AttributeScaling":
        """Find means and deviations of the columns on the nodes of the fitted graphs."""
        if rule == "drop":
            return cls(is_dropped=True)
        columns = _standard_columns(rule, attributes.shape[1], blocks)
        if len(columns) == 0:
            return cls()
        center, scale = np.zeros(attributes.shape[1]), np.ones(attributes.shape[1])
        center[columns] = attributes[:, columns].mean(axis=0)
        scale[columns] = column_spreads(attributes[:, columns])
        scale[scale == 0] = 1.0  # constant columns, of which nothing is left
        return cls(center=center, scale=scale)

    def n_used(self, n_attributes: int) -> int:
        """Number of attributes that are left of so many."""
        return 0 if self.is_dropped else n_attributes

    def __call__(self, features: NodeFeatures) -> NodeFeatures:
        """Features of the same graphs with changed attributes."""
        attributes = features.batch.attributes
        if self.is_dropped:
            return features.with_attributes(attributes[:, :0])
        if self.center is None or self.scale is None:
            return features
        return features.with_attributes((attributes - self.center) / self.scale)

    def state(self) -> FittedState:
        """Give the rule as plain values and arrays."""
        if self.is_dropped:
            return FittedState({"attribute_scaling": "drop"})
        if self.center is None or self.scale is None:
            return FittedState({"attribute_scaling": "raw"})
        arrays = {"attribute_center": self.center, "attribute_scale": self.scale}
        return FittedState({"attribute_scaling": "standard"}, arrays)

    @classmethod
    def restored(cls, state: FittedState, n_attributes: int) -> "AttributeScaling":
        """Take a rule out of a state, after checking it; older states have none: raw."""
        if "attribute_scaling" not in state.values:
            return cls()
        kind = state.take_choice("attribute_scaling", get_args(Scaling))
        if kind != "standard":
            return cls(is_dropped=kind == "drop")
        center = state.take_array("attribute_center", np.float64, (n_attributes,))
        scale = state.take_array("attribute_scale", np.float64, (n_attributes,))
        if not (scale > 0).all():
            raise InvalidInputError("'attribute_scale' is not positive everywhere")
        return cls(center=center, scale=scale)


def column_spreads(attributes: Floats) -> Floats:
    """Standard deviation of every column; 0 where rounding is all that differs."""
    if len(attributes) == 0:
        return np.zeros(attributes.shape[1])
    largest = np.maximum(attributes.max(axis=0), -attributes.min(axis=0))
    # powers of two change no digit, and squares of the smallest numbers are no longer zero
    units = np.ldexp(1.0, np.minimum(-np.frexp(largest)[1], 1000))
    deviations = (attributes * units).std(axis=0) / units
    return np.where(deviations > 1e-12 * largest, deviations, 0.0)


def warn_of_uneven_attributes(batch: GraphBatch, rule: ScaleAttributes, kernel: Any) -> None:
    """
    Warn if raw columns differ by orders of magnitude from each other, or from one.

    The latter does not matter where a kernel is given, with a bandwidth of its own.
    """
    spreads = column_spreads(batch.attributes) if rule == "raw" else np.empty(0)
    columns = np.flatnonzero(spreads)
    if len(columns) == 0:
        return
    least, most = (columns[pick(spreads[columns])] for pick in (np.argmin, np.argmax))
    told = f"attribute {most} has a standard deviation of {spreads[most]:.3g}"
    if spreads[most] > _UNEVEN * spreads[least]:
        told += (
            f", attribute {least} one of {spreads[least]:.3g}: distances of nodes are those of the "
            "larger ones alone"
        )
    elif kernel is None and spreads[most] > _UNEVEN:
        told += ": nodes are so far apart that hardly any two count as alike"
    else:
        return
    advice = "use scale_attributes='standard' to give all the same weight"
    warn_user(InputWarning(told, Remedy("scale_attributes", advice)))


def check_scaling(rule: Any, blocks: Sequence[str]) -> None:
    """Raise unless this is a rule for attributes with these names of blocks."""
    words = get_args(Scaling)
    if not isinstance(rule, Mapping):
        if not isinstance(rule, str) or rule not in words:
            raise InvalidInputError(
                f"scale_attributes must be one of {words}, or one of them by name of a block of "
                f"attribute_kernel, got {rule!r}"
            )
        return
    for name, word in rule.items():
        if name not in blocks:
            raise InvalidInputError(
                f"scale_attributes names the block {name!r}, but those of attribute_kernel are: "
                f"{', '.join(map(str, blocks)) or 'none'}"
            )
        if word not in ("raw", "standard"):
            raise InvalidInputError(
                f"scale_attributes of the block {name!r} must be 'raw' or 'standard', got {word!r}"
            )


def _standard_columns(rule: ScaleAttributes, n_attributes: int, blocks: Mapping[str, Ints]) -> Ints:
    """Columns to standardise."""
    if isinstance(rule, str):
        return np.arange(n_attributes if rule == "standard" else 0)
    chosen = [blocks[name] for name, word in rule.items() if word == "standard"]
    return np.unique(np.concatenate([np.empty(0, np.int64), *chosen]))
