"""What a page holds: numbers in typed arrays and text in JSON, compressed, as one line of text."""

import base64
import json
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats

__all__ = ["PageArrays"]

_TYPES = {"u1": "u8", "i1": "i8", "u2": "u16", "u4": "u32", "f4": "f32"}
_ALIGNED = 8


class PageArrays:
    """
    Arrays by name, in one block of bytes after a header of JSON; the page's data.js reads it.

    The block starts with the length of the header as four bytes, the lowest first; every array
    starts at a multiple of eight.
    """

    def __init__(self) -> None:
        self._places: dict[str, dict[str, Any]] = {}
        self._parts: list[bytes] = []
        self._length = 0

    def add(self, name: str, values: NDArray[Any]) -> None:
        """Add an array, as it is: whoever calls has chosen a small type."""
        values = np.ascontiguousarray(values)
        kind = _TYPES[values.dtype.newbyteorder("=").str[1:]]
        self._places[name] = {"type": kind, "at": self._length, "length": values.size}
        raw = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        raw += bytes(-len(raw) % _ALIGNED)
        self._parts.append(raw)
        self._length += len(raw)

    def add_codes(self, name: str, codes: NDArray[Any]) -> None:
        """Add whole numbers from 0 on, in the smallest type that holds them."""
        self.add(name, _smallest_unsigned(codes))

    def add_scaled(self, name: str, values: Floats, dtype: Any = np.uint16) -> dict[str, float]:
        """Add numbers in equal steps from the least to the largest, which are given back."""
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        most = np.iinfo(dtype).max
        scale = (most - 1) / (high - low) if high > low else 0.0
        steps = np.rint((np.where(np.isfinite(values), values, low) - low) * scale)
        # the last step says that there is no number
        self.add(name, np.where(np.isfinite(values), steps, most).astype(dtype))
        return {"low": low, "high": high}

    def packed(self, header: dict[str, Any]) -> str:
        """Give everything as text of base64, compressed."""
        # lone surrogates, which names may hold, are escaped too
        text = json.dumps({**header, "arrays": self._places}, allow_nan=False).encode("ascii")
        text += b" " * (-(len(text) + 4) % _ALIGNED)
        block = b"".join([struct.pack("<I", len(text)), text, *self._parts])
        return base64.b64encode(zlib.compress(block, 9)).decode("ascii")


def _smallest_unsigned(codes: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers from 0 on, in the smallest type that holds them."""
    largest = int(codes.max(initial=0))
    return codes.astype(np.uint8 if largest < 2**8 else np.uint16 if largest < 2**16 else np.uint32)
