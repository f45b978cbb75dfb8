"""Labels and attributes that some nodes lack: errors, unless the caller says what to do."""

import math
from collections.abc import Hashable, Sequence
from typing import Any, Literal, get_args

import numpy as np

from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.ragged import graph_of

__all__ = [
    "KEPT_LABELS",
    "KEPT_NUMBERS",
    "Missing",
    "check_missing",
    "check_no_missing_label",
    "check_not_masked",
    "check_numbers",
    "is_missing",
    "with_one_missing_label",
]

Missing = Literal["error", "label", "nan", "keep"]
"""What becomes of missing values: see `from_networkx`."""

KEPT_LABELS: tuple[Missing, ...] = ("label", "keep")
KEPT_NUMBERS: tuple[Missing, ...] = ("nan", "keep")

_NOT_AVAILABLE = ("NAType", "NaTType", "MaskedConstant")  # of pandas and NumPy


def check_missing(missing: Any) -> None:
    """Raise unless this is a choice for missing values."""
    if missing not in get_args(Missing):
        raise InvalidInputError(
            f"missing must be one of {', '.join(map(repr, get_args(Missing)))}, got {missing!r}"
        )


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, or NA of pandas."""
    if value is None or type(value).__name__ in _NOT_AVAILABLE:
        return True
    return isinstance(value, float) and math.isnan(value)


def check_not_masked(values: Any, name: str) -> None:
    """Raise for masked arrays: NumPy would drop the mask without a word."""
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidInputError(
            f"{name} are a masked array; fill the gaps with .filled(value), or drop the graphs "
            "that have some together with their targets"
        )


def check_no_missing_label(codes: Codes, names: Sequence[Hashable], node_ptr: Ints) -> None:
    """Raise where a node has None or NaN for its label."""
    for code, name in enumerate(names):
        if is_missing(name):
            node = int(np.argmax(codes == code))
            graph = graph_of(node_ptr, node)
            where = f"graph {graph}: node {node - node_ptr[graph]}"
            raise InvalidInputError(
                f"{where} has the label {name}, which stands for none",
                Remedy(
                    "missing_label",
                    "give all nodes labels, or make a label of its own of missing ones with "
                    'missing="label"',
                ),
            )


def with_one_missing_label(
    codes: Codes, names: tuple[Hashable, ...]
) -> tuple[Codes, tuple[Hashable, ...]]:
    """Give all missing labels, None and NaN alike, the one name None, which comes last."""
    known = [name for name in names if not is_missing(name)]
    if len(known) == len(names):
        return codes, names
    table, place = np.full(len(names), len(known), np.int32), 0
    for code, name in enumerate(names):
        if not is_missing(name):
            table[code], place = place, place + 1
    return table[codes], (*known, None)


def check_numbers(values: Floats, node_ptr: Ints, missing: Missing = "error") -> None:
    """Raise where an attribute is infinite, or NaN unless that is to be kept."""
    finite = np.isfinite(values)
    if finite.all():
        return
    bad = np.isinf(values) if missing in KEPT_NUMBERS else ~finite
    if not bad.any():
        return
    node, column = (int(position[0]) for position in np.nonzero(bad))
    graph = graph_of(node_ptr, node)
    where = f"graph {graph}: attribute {column} of node {node - node_ptr[graph]}"
    if np.isinf(values[node, column]):
        raise InvalidInputError(
            f"{where} is {values[node, column]}; fill it in or drop the graph together with its "
            "target"
        )
    raise InvalidInputError(
        f"{where} is nan",
        Remedy(
            "missing_attribute",
            "fill it in or drop the graph together with its target; or convert with missing="
            '"nan", and fit with impute_attributes="mean" or "median"',
        ),
    )
