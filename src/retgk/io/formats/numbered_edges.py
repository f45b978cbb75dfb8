"""Edge lists of plain numbers, in pieces and without an object of Python for each edge."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.graphs.batch import GraphBatch
from retgk.io.formats.text_lines import line_blocks
from retgk.runtime.parse_budget import ParseBudget

__all__ = ["numbered_graph"]

# No zeros in front: 7 and 007 are two names. No more digits than 64 bits hold in any case.
_NUMBER = rb"(?:0|[1-9][0-9]{0,17})"
_EDGES = re.compile(rb"(?:%b[ \t]+%b\n)*" % (_NUMBER, _NUMBER))
_COMMENTS = re.compile(rb"(?:#[^\n]*\n|\n)*")
_PER_END = 4 + 4 + 30  # bytes of memory: as it is kept, as it is ranked, and as the graph takes
_TABLE_PER_END = 4  # a table of all numbers up to the largest is quicker than sorting, if it fits
_INT32_MAX = 2**31 - 1


def numbered_graph(path: Path, budget: ParseBudget) -> GraphBatch | None:
    """
    Read a file of two plain numbers a line, with comments before the first; None if it has others.

    The graph is the one that the reader of any names makes, in less time. Nothing is charged
    where it gives up.
    """
    left = budget.left
    pieces: list[NDArray[Any]] = []
    for block in line_blocks(path, budget):
        start = 0 if pieces else _end_of(_COMMENTS, block, 0)
        if _end_of(_EDGES, block, start) != len(block):
            budget.left = left
            return None
        if start < len(block):
            ends = np.fromstring(block[start:].decode("ascii"), np.int64, sep=" ")
            budget.charge(_PER_END * len(ends), f"{sum(map(len, pieces)) // 2} edges or more")
            pieces.append(ends.astype(np.int32) if ends.max() <= _INT32_MAX else ends)
    if not pieces:
        budget.left = left
        return None
    ends = np.concatenate(pieces)
    del pieces
    n_nodes, ranks = _ranks(ends)
    return GraphBatch.from_edges(n_nodes, ranks.reshape(-1, 2), symmetrize=True)


def _end_of(pattern: re.Pattern[bytes], text: bytes, start: int) -> int:
    found = pattern.match(text, start)
    return start if found is None else found.end()


def _ranks(ends: NDArray[Any]) -> tuple[int, NDArray[Any]]:
    """Number of nodes, and the places of these among all in rising order."""
    largest = int(ends.max())
    if largest > _TABLE_PER_END * len(ends):
        names, ranks = np.unique(ends, return_inverse=True)
        return len(names), ranks
    is_there = np.zeros(largest + 1, np.bool_)
    is_there[ends] = True
    rank = np.cumsum(is_there, dtype=np.int32)
    rank -= 1
    return int(rank[-1]) + 1, rank[ends]
