"""Whether texts are numbers: what Python takes for one, but for names such as 1_0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["is_number", "number_in", "numbers_in", "whole_number"]


def whole_number(text: str) -> int | None:
    """Read a whole number; None if the text is none."""
    try:
        return None if "_" in text else int(text)
    except ValueError:
        return None


def number_in(text: str) -> float:
    """Read a number; ValueError where the text is none."""
    if "_" in text:
        raise ValueError(text)  # Python alone would take 1_0 for 10
    return float(text)


def is_number(text: str) -> bool:
    """Whether a text is a number, whole or not."""
    return _number_or_none(text) is not None


def numbers_in(texts: Sequence[str], *, gaps: bool = False) -> NDArray[Any] | None:
    """
    Integers if all texts are whole numbers, else floats if all are numbers, else None.

    Different texts for one integer, such as 01 and 1, are names; so are integers beyond 64 bits.
    With `gaps`, an empty text is NaN.
    """
    import numpy as np

    integers = [whole_number(text) for text in texts]
    if None not in integers:
        values = np.array(integers)
        is_name = values.dtype.kind == "O" or len(set(integers)) < len(set(texts))
        return None if is_name else values
    found = [np.nan if gaps and not text.strip() else _number_or_none(text) for text in texts]
    return None if None in found else np.array(found, float)


def _number_or_none(text: str) -> float | None:
    try:
        return number_in(text)
    except ValueError:
        return None
