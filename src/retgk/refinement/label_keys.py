"""
Keys of labels and of refined labels: 64 random bits for each, the same in every process.

A key stands for a label where no vocabulary is kept, in vectors of fixed width. Keys of colours
are made of those of the neighbourhood, so that graphs that were never seen have theirs too. Two
different ones share a key with probability 2^-64 a pair.
"""

import hashlib
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Ints
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import BLOCK_ENTRIES, chunks
from retgk.refinement.neighbourhoods import fill_keys
from retgk.runtime.parallel import run_tasks

__all__ = ["Keys", "colour_keys", "keys_of_names"]

Keys = NDArray[np.uint64]


def keys_of_names(names: Sequence[Hashable], seed: int) -> Keys:
    """
    Give a key for each label; equal labels, such as 1 and 1.0, have equal keys.

    Examples
    --------
    >>> len(set(keys_of_names(["C", "N", 1, 1.0], seed=0).tolist()))
    3
    """
    secret = int(seed).to_bytes(8, "little")
    digests = (
        hashlib.blake2b(_text(name).encode(), digest_size=8, key=secret).digest() for name in names
    )
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def _text(name: Any) -> str:
    """Write a label such that equal ones have equal texts, in every process."""
    if isinstance(name, bool | int | float) and name == int(name or 0):
        return repr(int(name))
    if isinstance(name, frozenset):
        return f"frozenset({sorted(map(_text, name))})"
    if isinstance(name, tuple):
        return f"({', '.join(map(_text, name))})"
    return repr(name)


def colour_keys(
    batch: GraphBatch, labels: Keys, depth: int, seed: int, n_jobs: int | None
) -> list[Keys]:
    """Keys of nodes after 0, 1, .., depth rounds of refinement that begin with those of labels."""
    ranges = list(chunks(batch.indptr[batch.node_ptr], BLOCK_ENTRIES, 1 << 14))
    costs = [float(batch.node_ptr[last] - batch.node_ptr[first]) for first, last in ranges]
    arrays: tuple[Ints, Ints, Any] = (batch.node_ptr, batch.indptr, batch.indices)
    edge_keys = np.empty(0, np.uint64)
    if batch.has_edge_labels:
        edge_keys = keys_of_names(batch.edge_label_names, seed)[batch.edge_labels]
    found = [labels]
    for _ in range(depth):
        before, after = found[-1], np.empty(batch.n_nodes, np.uint64)

        def work(first: int, last: int, before: Keys = before, after: Keys = after) -> None:
            fill_keys((first, last, *arrays), before, edge_keys, after)

        run_tasks(work, ranges, costs, n_jobs, "neighbourhoods")
        found.append(after)
    return found
