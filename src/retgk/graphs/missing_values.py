"""Labels and attributes that some nodes lack: errors, unless the caller says what to do."""

import cmath
from collections.abc import Hashable, Sequence
from decimal import Decimal
from typing import Any, Literal, get_args

import numpy as np

from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.ragged import graph_of

__all__ = [
    "KEPT_LABELS",
    "KEPT_NUMBERS",
    "NO_VALUE",
    "Missing",
    "check_missing",
    "check_no_missing_label",
    "check_not_masked",
    "check_numbers",
    "is_missing",
    "lacks_part",
    "with_one_missing_label",
]

Missing = Literal["error", "label", "nan", "keep"]
"""What becomes of missing values: see `from_networkx`."""

KEPT_LABELS: tuple[Missing, ...] = ("label", "keep")
KEPT_NUMBERS: tuple[Missing, ...] = ("nan", "keep")

NO_VALUE = {True: "which stands for none", False: "of which a part stands for none"}
"""What is wrong with a label, by whether all of it is missing."""

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
    return isinstance(value, float | complex | Decimal) and cmath.isnan(value)


def lacks_part(label: Any) -> bool:
    """Whether a label is missing, or a part of a tuple or frozenset is NaN or NA."""
    if isinstance(label, tuple | frozenset):
        return any(part is not None and lacks_part(part) for part in label)
    return is_missing(label)


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
        if lacks_part(name):
            node = int(np.argmax(codes == code))
            graph = graph_of(node_ptr, node)
            where = f"graph {graph}: node {node - node_ptr[graph]}"
            raise InvalidInputError(
                f"{where} has the label {name}, {NO_VALUE[is_missing(name)]}",
                Remedy(
                    "missing_label",
                    "give all nodes labels, or make a label of its own of missing ones with "
                    'missing="label"',
                ),
            )


def with_one_missing_label(
    codes: Codes, names: tuple[Hashable, ...]
) -> tuple[Codes, tuple[Hashable, ...]]:
    """Name all missing labels, and missing parts of labels, None, be they None or NaN."""
    if not any(map(lacks_part, names)):
        return codes, names
    filled = [_with_none(name) for name in names]
    known = [name for name in dict.fromkeys(filled) if name is not None]
    ordered = (*known, None) if None in filled else tuple(known)
    place = {name: code for code, name in enumerate(ordered)}
    return np.array([place[name] for name in filled], np.int32)[codes], ordered


def _with_none(label: Any) -> Any:
    """Put None for whatever is missing in a label."""
    if isinstance(label, tuple | frozenset):
        return type(label)(map(_with_none, label))
    return None if is_missing(label) else label


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
