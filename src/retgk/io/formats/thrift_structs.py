"""Structs in Thrift's compact form, in which Parquet files describe themselves."""

import mmap
from typing import Any

__all__ = ["CompactReader"]

_TRUE, _FALSE, _BYTE, _I16, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = (
    1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12,
)  # fmt: skip
_MOST_NESTED = 16
_LONG_LIST = 15
_MOST_BITS = 63


class CompactReader:
    """
    Reader of structs from a place in a file on; damage raises LookupError or ValueError.

    Parameters
    ----------
    data : mmap
        The file.
    at : int
        Where the struct begins; after reading, where it ended.
    """

    def __init__(self, data: mmap.mmap, at: int) -> None:
        self.data, self.at = data, at

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Read a struct: its values by the numbers of their fields."""
        if depth > _MOST_NESTED:
            raise ValueError("structs are nested too deeply")
        fields: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            field = field + step if step else self._number()
            fields[field] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if _I16 <= kind <= _I64:
            return self._number()
        if kind in (_LIST, _SET):
            return self._list(depth + 1)
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind in (_BYTE, _TRUE, _FALSE):  # truth values of a list take a byte
            return self._byte()
        if kind == _DOUBLE:
            return self._bytes(8)
        raise ValueError(f"there is no type {kind}" if kind != _MAP else "a map is not expected")

    def _list(self, depth: int) -> list[Any]:
        if depth > _MOST_NESTED:
            raise ValueError("lists are nested too deeply")
        head = self._byte()
        size = head >> 4 if head >> 4 < _LONG_LIST else self._varint()
        if size > len(self.data) - self.at:
            raise ValueError("a list is longer than the file")
        return [self._value(head & 15, depth) for _ in range(size)]

    def _bytes(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise ValueError("text is longer than the file")
        self.at += size
        return self.data[self.at - size : self.at]

    def _byte(self) -> int:
        value = self.data[self.at]
        self.at += 1
        return value

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > _MOST_BITS:
                raise ValueError("a number is too long")

    def _number(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
