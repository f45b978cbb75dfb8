"""Node labels: arbitrary hashable values on the outside, small integers inside."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.errors import InvalidInputError

__all__ = ["Codes", "encode_labels", "recode", "union_of_names"]

Codes = NDArray[np.int32]


def encode_labels(labels: Any) -> tuple[Codes, tuple[Hashable, ...]]:
    """
    Map labels to integers and keep their vocabulary.

    Names are in sorted order where they can be compared, in order of appearance
    otherwise, so that the codes do not depend on the order of the graphs.

    Parameters
    ----------
    labels : sequence of hashable
        One label per node.

    Returns
    -------
    codes : ndarray of int32
        Position of every label in `names`.
    names : tuple of hashable
        The distinct labels.

    Examples
    --------
    >>> encode_labels(["N", "C", "C"])
    (array([1, 0, 0], dtype=int32), ('C', 'N'))
    """
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind in "biuf":
        return _encode_numbers(labels)
    return _encode_hashables(labels)


def _encode_numbers(labels: NDArray[Any]) -> tuple[Codes, tuple[Hashable, ...]]:
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        node = int(np.flatnonzero(np.isnan(labels))[0])
        raise InvalidInputError(f"node {node} has the label nan; give it a label of its own")
    names, codes = np.unique(labels, return_inverse=True)
    return codes.astype(np.int32), tuple(names.tolist())


def _encode_hashables(labels: Iterable[Hashable]) -> tuple[Codes, tuple[Hashable, ...]]:
    position: dict[Hashable, int] = {}
    try:
        codes = np.fromiter(
            (position.setdefault(label, len(position)) for label in labels), dtype=np.int32
        )
    except TypeError as error:
        raise InvalidInputError(f"labels must be hashable, one per node: {error}") from error
    names = [name.item() if isinstance(name, np.generic) else name for name in position]
    try:
        ordered = sorted(names)  # type: ignore[type-var]
    except TypeError:
        return codes, tuple(names)
    return recode(codes, names, ordered), tuple(ordered)


def recode(codes: Codes, names: Sequence[Hashable], new_names: Sequence[Hashable]) -> Codes:
    """
    Express label codes in another vocabulary; labels that it lacks become -1.

    Parameters
    ----------
    codes : ndarray of int32
        Positions in `names`.
    names, new_names : sequence of hashable
        The old and the new vocabulary.

    Returns
    -------
    ndarray of int32
        Positions in `new_names`, or -1.
    """
    position = {name: code for code, name in enumerate(new_names)}
    table = np.array([position.get(name, -1) for name in names] or [-1], dtype=np.int32)
    return table[codes]


def union_of_names(vocabularies: Iterable[Sequence[Hashable]]) -> tuple[Hashable, ...]:
    """
    Join vocabularies, in sorted order where the names can be compared.

    Parameters
    ----------
    vocabularies : iterable of sequences of hashable
        The vocabularies to join.

    Returns
    -------
    tuple of hashable
        Every name once.
    """
    names = list(dict.fromkeys(name for names in vocabularies for name in names))
    return _encode_hashables(names)[1]
