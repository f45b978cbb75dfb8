"""Ids of graphs: whole numbers or texts, each once, in flat arrays."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Ints
from retgk.errors import InvalidInputError

__all__ = [
    "IdKind",
    "Ids",
    "checked_ids",
    "first_repeated",
    "given_ids",
    "ids_from_arrays",
    "is_id",
    "rows_of_ids",
]

IdKind = Literal["int", "str"]


class Ids:
    """
    Ids of consecutive rows, all numbers or all texts; texts are one run of bytes with offsets.

    Parameters
    ----------
    arrays : dict of ndarray
        "values" (int64), or "text" (uint8, UTF-8) and "offsets" (int64, one more than ids).
    """

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.arrays = arrays

    @property
    def kind(self) -> IdKind:
        """What they are."""
        return "int" if "values" in self.arrays else "str"

    def __len__(self) -> int:
        if self.kind == "int":
            return len(self.arrays["values"])
        return len(self.arrays["offsets"]) - 1

    def column(self) -> Any:
        """Give them as an Arrow array, without a copy."""
        import pyarrow as pa

        if self.kind == "int":
            return pa.array(np.asarray(self.arrays["values"]))
        text, offsets = (np.ascontiguousarray(self.arrays[name]) for name in ("text", "offsets"))
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
        return pa.Array.from_buffers(pa.large_string(), len(self), buffers)

    def taken(self, positions: Ints) -> NDArray[Any]:
        """Ids at some positions: int64, or objects that are text."""
        if self.kind == "int":
            return np.asarray(self.arrays["values"][positions])
        text, offsets = self.arrays["text"], self.arrays["offsets"]
        found = np.empty(len(positions), object)
        for place, at in enumerate(positions):
            found[place] = text[offsets[at] : offsets[at + 1]].tobytes().decode()
        return found

    def part(self, start: int, stop: int) -> "Ids":
        """Ids of some of the rows."""
        if self.kind == "int":
            return Ids({"values": self.arrays["values"][start:stop]})
        offsets = self.arrays["offsets"][start : stop + 1]
        text = self.arrays["text"][offsets[0] : offsets[-1]]
        return Ids({"text": text, "offsets": offsets - offsets[0]})

    @classmethod
    def joined(cls, parts: Sequence["Ids"]) -> "Ids":
        """Ids of several parts, one after the other."""
        if parts[0].kind == "int":
            return cls({"values": np.concatenate([part.arrays["values"] for part in parts])})
        lengths = [np.diff(part.arrays["offsets"]) for part in parts]
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
        return cls(
            {"text": np.concatenate([part.arrays["text"] for part in parts]), "offsets": offsets}
        )


def checked_ids(ids: Any, n_graphs: int, first: int, kind: IdKind | None) -> Ids:
    """
    Ids that a caller gives for new graphs; by default numbers of rows from `first` on.

    They are checked as in `given_ids`, and there must be one for each graph.
    """
    if ids is None:
        if kind == "str":
            raise InvalidInputError("the ids of this index are texts; give ids= for new graphs too")
        return Ids({"values": np.arange(first, first + n_graphs, dtype=np.int64)})
    found = given_ids(ids, kind)
    if len(found) != n_graphs:
        raise InvalidInputError(f"there are {n_graphs} graphs but {len(found)} ids; give one each")
    return found


def given_ids(ids: Any, kind: IdKind | None) -> Ids:
    """
    Ids that a caller gives, one or several.

    All must be of the `kind` that the index has, if it has any yet, and each may come once.
    """
    found = _ids_of([ids] if is_id(ids) else ids)
    if len(found) and kind not in (None, found.kind):
        words = {"int": "whole numbers", "str": "texts"}
        raise InvalidInputError(
            f"the ids of this index are {words[kind]}, not {words[found.kind]}; give ids of one "
            "kind"
        )
    if (position := first_repeated(found)) is not None:
        (name,) = found.taken(np.array([position]))
        raise InvalidInputError(f"the id {name!r} is given twice; give every graph its own")
    return found


def _ids_of(ids: Any) -> Ids:
    values = _listed(ids)
    if all(isinstance(value, str) for value in values):
        return _texts(values)
    for position, value in enumerate(values):
        if isinstance(value, str) or not is_id(value):
            raise InvalidInputError(
                f"id {position} is {value!r:.80}; ids are all whole numbers or all text"
            )
    try:
        return Ids({"values": np.array([int(value) for value in values], np.int64)})
    except OverflowError as error:
        raise InvalidInputError("an id has more than 64 bits; give it as text") from error


def is_id(value: object) -> bool:
    """Whether this is one id: a whole number or a text."""
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


def _listed(ids: Any) -> list[Any]:
    """Give several ids as a list; bytes would be taken for numbers."""
    is_one = isinstance(ids, bytes | bytearray | memoryview) or not isinstance(ids, Iterable)
    if is_one or (isinstance(ids, np.ndarray) and ids.ndim != 1):
        raise InvalidInputError(
            f"ids are given as {ids!r:.80}; give a list of whole numbers or of texts"
        )
    return ids.tolist() if isinstance(ids, np.ndarray) else list(ids)


def _texts(values: list[str]) -> Ids:
    try:
        coded = [value.encode() for value in values]
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"the id {error.object!r:.80} is no valid text") from error
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in coded])]).astype(np.int64)
    return Ids({"text": np.frombuffer(b"".join(coded), np.uint8), "offsets": offsets})


def first_repeated(ids: Ids) -> int | None:
    """Position of the first id that stood before; None if all differ."""
    column = ids.column()
    if len(column.unique()) == len(column):
        return None
    seen: set[Any] = set()
    for position, value in enumerate(column.to_pylist()):
        if value in seen:
            return position
        seen.add(value)
    return None


def rows_of_ids(wanted: Ids, parts: Sequence[tuple[int, Ids]]) -> Ints:
    """Row of every wanted id, or -1; `parts` are ids with the number of their first row."""
    from pyarrow import compute

    rows = np.full(len(wanted), -1, np.int64)
    asked = wanted.column()
    for first, ids in parts:
        if ids.kind != wanted.kind:
            continue
        places = compute.index_in(ids.column(), value_set=asked)
        place = places.to_numpy(zero_copy_only=False).astype(np.float64)
        there = np.flatnonzero(~np.isnan(place))
        rows[place[there].astype(np.int64)] = first + there
    return rows


def ids_from_arrays(arrays: dict[str, NDArray[Any]], n_rows: int, where: str) -> Ids:
    """Ids of a stored piece, checked: a stranger may have written them."""
    if set(arrays) == {"values"}:
        values = arrays["values"]
        if values.dtype != np.int64 or values.shape != (n_rows,):
            raise InvalidInputError(f"{where}: the ids are not {n_rows} numbers")
        return Ids(arrays)
    if set(arrays) != {"text", "offsets"}:
        raise InvalidInputError(f"{where}: there are no ids")
    text, offsets = arrays["text"], arrays["offsets"]
    fits = text.dtype == np.uint8 and text.ndim == 1
    fits = fits and offsets.dtype == np.int64 and offsets.shape == (n_rows + 1,)
    if not fits or offsets[0] != 0 or offsets[-1] != len(text) or (np.diff(offsets) < 0).any():
        raise InvalidInputError(f"{where}: the ids are not {n_rows} texts")
    ids = Ids(arrays)
    try:
        ids.column().validate(full=True)
    except ValueError as error:
        raise InvalidInputError(f"{where}: the ids are no valid text: {error}") from error
    return ids
