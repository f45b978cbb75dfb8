"""Digests by which a changed, swapped or cut-off part of a model file is noticed."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["array_digest", "text_digest"]


def text_digest(text: bytes) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text).hexdigest()


def array_digest(name: str, array: NDArray[Any]) -> str:
    """
    SHA-256 of an array with its name, type and shape.

    Two arrays of a file that changed places have wrong digests, even where the digests were
    exchanged with them.

    Parameters
    ----------
    name : str
        Name of the array in the file.
    array : ndarray, C-contiguous
        Its values.

    Returns
    -------
    str
        Hexadecimal digits.
    """
    shape = ",".join(map(str, array.shape))
    digest = hashlib.sha256(f"{name} {array.dtype.str} {shape}\n".encode())
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
