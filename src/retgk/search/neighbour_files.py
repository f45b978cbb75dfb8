"""
Files of usearch, checked before the library sees them.

The library trusts its files: a number of a neighbour that is none would have it read memory that
is not its own. A file holds the vectors, a head of 64 bytes, five numbers, the levels of all nodes,
and then every node: its key, its level, and for each level a number of neighbours and room for as
many as there may be. All of these are looked at.
"""

import struct
from pathlib import Path

import numpy as np

from retgk import _core
from retgk.errors import InvalidInputError

__all__ = ["check_neighbour_file"]

_SIZES = struct.Struct("<2I")
_HEAD = struct.Struct("<7s3H4B3QB")
_HEAD_BYTES = 64
_CORE = struct.Struct("<5Q")
_L2, _U64, _U32 = 101, 14, 15  # numbers that usearch has for distances and types
_SCALARS = {"int8": (23, 1), "float16": (12, 2)}
_MOST_LEVELS = 40
_NODE_BYTES = 10  # key and level


def check_neighbour_file(path: Path, shape: tuple[int, int], kind: str, connectivity: int) -> None:
    """
    Raise if a file is not the graph of so many vectors in each of its bytes that counts.

    Parameters
    ----------
    path : Path
        The file.
    shape : tuple of int
        Numbers of rows and columns that it must have.
    kind : {"int8", "float16"}
        Type of the vectors.
    connectivity : int
        Most neighbours of a node; twice as many on the lowest level.
    """
    n_rows, n_columns = shape
    scalar, item_bytes = _SCALARS[kind]
    start = _SIZES.size + n_rows * n_columns * item_bytes
    if path.stat().st_size < start + _HEAD_BYTES + _CORE.size:
        raise _not_a_graph(path, "it is too short")
    content = np.memmap(path, np.uint8, "r")
    if _SIZES.unpack(content[: _SIZES.size].tobytes()) != (n_rows, n_columns * item_bytes):
        raise _not_a_graph(path, f"it does not begin with {n_rows} vectors of {n_columns} columns")
    head = _HEAD.unpack(content[start : start + _HEAD.size].tobytes())
    magic, major, *_ = head
    if magic != b"usearch" or major != 2:
        raise _not_a_graph(path, "it is no file of usearch 2")
    if head[4:8] != (_L2, scalar, _U64, _U32) or head[8:] != (n_rows, 0, n_columns, 0):
        raise _not_a_graph(path, "its head is not that of these vectors")
    core = start + _HEAD_BYTES
    numbers = _CORE.unpack(content[core : core + _CORE.size].tobytes())
    size, own, base, max_level, entry = numbers
    if (size, own, base) != (n_rows, connectivity, 2 * connectivity):
        raise _not_a_graph(path, "it has another number of nodes or neighbours")
    levels_at = core + _CORE.size
    nodes_at = levels_at + 2 * n_rows
    if n_rows == 0 or len(content) < nodes_at or entry >= n_rows or max_level > _MOST_LEVELS:
        raise _not_a_graph(path, "its numbers contradict each other")
    levels = content[levels_at:nodes_at].view("<i2").astype(np.int64)
    if levels.min() < 0 or levels.max() != max_level or levels[entry] != max_level:
        raise _not_a_graph(path, "the levels of its nodes contradict each other")
    sizes = _NODE_BYTES + 4 + 4 * base + levels * (4 + 4 * own)
    ends = np.cumsum(sizes)
    if nodes_at + ends[-1] != len(content):
        raise _not_a_graph(path, "its size is not that of its nodes")
    bad = _core.first_bad_node(content[nodes_at:], ends - sizes, levels, base, own)
    if bad >= 0:
        raise _not_a_graph(path, f"node {bad} has neighbours that cannot be")


def _not_a_graph(path: Path, problem: str) -> InvalidInputError:
    return InvalidInputError(
        f"{path} is not the graph of neighbours of this index: {problem}; copy the index again"
    )
