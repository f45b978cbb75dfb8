"""Targets from text: whole numbers, numbers, or names of classes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_targets", "typed_targets"]


def typed_targets(texts: Sequence[str]) -> NDArray[Any]:
    """Integers if all are whole numbers, else floats if all are numbers, else text."""
    import numpy as np

    for kind in (int, float):
        try:
            values = np.array([kind(text) for text in texts])
        except ValueError:
            continue
        if values.dtype.kind == "O":  # integers beyond 64 bits are names rather than numbers
            break
        if not np.isfinite(values).all():
            graph = int(np.isfinite(values).argmin())
            raise InvalidInputError(
                f"the target {texts[graph]!r} of graph {graph} is not finite; give a number, or "
                "drop the graph"
            )
        return values
    return np.array(texts, dtype=str)


def read_targets(path: Path, n_graphs: int) -> NDArray[Any]:
    """Targets from a text file of one line per graph."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not text: {error}") from error
    texts = [line.strip() for line in lines]
    for number, text in enumerate(texts, start=1):
        if not text:
            raise InvalidInputError(f"{path}, line {number} is empty; give a target for each graph")
    if len(texts) != n_graphs:
        raise InvalidInputError(
            f"{path} has {len(texts)} lines for {n_graphs} graphs; give one line for each graph"
        )
    return typed_targets(texts)
