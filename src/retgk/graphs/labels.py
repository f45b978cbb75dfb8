"""Node labels: arbitrary hashable values on the outside, small integers inside."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Codes
from retgk.errors import InvalidInputError

__all__ = ["encode_labels", "plain_label", "recode", "union_of_names"]

_SMALL_RANGE = 1 << 16
_PLAIN = frozenset({str, int, float, bool, type(None)})


def encode_labels(labels: Any) -> tuple[Codes, tuple[Hashable, ...]]:
    """
    Map labels to integers and keep their vocabulary.

    Names are in sorted order, so that the codes do not depend on the order of the graphs;
    in order of appearance where they cannot be sorted (1 and "a", frozensets). They are plain
    values, as of `plain_label`.

    Examples
    --------
    >>> encode_labels(["N", "C", "C"])
    (array([1, 0, 0], dtype=int32), ('C', 'N'))
    """
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind in "biuf":
        return _encode_numbers(labels)
    return _encode_hashables(labels)


def _encode_numbers(labels: NDArray[Any]) -> tuple[Codes, tuple[Hashable, ...]]:
    if labels.dtype.kind != "f" and labels.size:
        low, high = int(labels.min()), int(labels.max())
        if high - low <= max(len(labels), _SMALL_RANGE):
            return _encode_small_integers(labels, low, high)
    names, codes = np.unique(labels, return_inverse=True)
    return codes.astype(np.int32), tuple(map(plain_label, names.tolist()))


def _encode_small_integers(
    labels: NDArray[Any], low: int, high: int
) -> tuple[Codes, tuple[Hashable, ...]]:
    """Encode by a table over the range, which needs no sorting."""
    # Unsigned labels may lie beyond int64, differences of signed ones beyond their own type.
    wide = labels.astype(np.uint64 if labels.dtype.kind == "u" else np.int64)
    shifted = (wide - wide.dtype.type(low) if low else wide).astype(np.int64, copy=False)
    present = np.zeros(high - low + 1, bool)
    present[shifted] = True
    table = np.cumsum(present, dtype=np.int32) - np.int32(1)
    names = [low + step for step in np.flatnonzero(present).tolist()]
    return table[shifted], tuple(map(bool, names) if labels.dtype.kind == "b" else names)


def _encode_hashables(labels: Iterable[Hashable]) -> tuple[Codes, tuple[Hashable, ...]]:
    values = list(labels)
    try:
        plain = _plain_of_each(values)
    except TypeError as error:
        raise InvalidInputError(f"labels must be hashable, one per node: {error}") from error
    names = list(dict.fromkeys(plain.values()))
    place = {name: code for code, name in enumerate(names)}
    position = {label: place[name] for label, name in plain.items()}
    codes = np.fromiter(map(position.__getitem__, values), np.int32, len(values))
    ordered = _sorted_names(names)
    return recode(codes, names, ordered), ordered


def _plain_of_each(values: list[Hashable]) -> dict[Hashable, Hashable]:
    try:
        return {label: plain_label(label) for label in dict.fromkeys(values)}
    except TypeError:  # `Decimal(1) == np.int64(1)` raises; plain values can be compared
        values[:] = map(plain_label, values)
        return {label: label for label in dict.fromkeys(values)}


def plain_label(label: Any) -> Any:
    """
    Give the plain Python value of a label, within tuples and frozensets too.

    Scalars of NumPy, members of StrEnum and IntEnum, named tuples and other subclasses of plain
    types become what they are equal to, so that no file and no key of a label tells them apart.

    Examples
    --------
    >>> plain_label((np.int64(1), (np.str_("C"), np.float32(0.5))))
    (1, ('C', 0.5))
    """
    if type(label) in _PLAIN:
        return label
    if isinstance(label, np.generic):
        value = label.item()
        return _of_long(value) if isinstance(value, np.generic) else plain_label(value)
    for kind, plain in _VALUE_OF:
        if isinstance(label, kind):
            return plain(label)
    return label


def _of_long(label: Any) -> Any:
    """Value of a long double, the one number of NumPy that Python has no type for."""
    if isinstance(label, np.complexfloating):
        return complex(label)
    is_float = float(label) == label or np.isnan(label)
    return float(label) if is_float else Fraction(*label.as_integer_ratio())


_VALUE_OF: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (tuple, lambda label: tuple(map(plain_label, label))),
    (frozenset, lambda label: frozenset(map(plain_label, label))),
    (str, str.__str__),
    (bytes, bytes),
    (int, int.__int__),
    (float, float.__float__),
)


def _sorted_names(names: list[Hashable]) -> tuple[Hashable, ...]:
    """Sort names if all of them can be compared; otherwise keep their order."""
    values: list[Any] = list(names)
    try:
        values.sort()
        is_total = all(a < b for a, b in pairwise(values))  # frozensets compare, but partially
    except TypeError:
        return tuple(names)
    return tuple(values if is_total else names)


def recode(codes: Codes, names: Sequence[Hashable], new_names: Sequence[Hashable]) -> Codes:
    """Express label codes in another vocabulary; labels that it lacks become -1."""
    position = {name: code for code, name in enumerate(new_names)}
    table = [position.get(name, -1) for name in names]
    return np.array([*table, -1], dtype=np.int32)[codes]  # the last is for codes of -1


def union_of_names(vocabularies: Iterable[Sequence[Hashable]]) -> tuple[Hashable, ...]:
    """Join vocabularies: every name once, in sorted order where the names can be compared."""
    names = list(dict.fromkeys(name for names in vocabularies for name in names))
    return _sorted_names(names)
