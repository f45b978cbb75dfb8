"""Keys and shares of all levels of labels, for vectors in which labels turn phases."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from retgk.array_types import Floats
from retgk.engine.label_levels import LabelLevels
from retgk.graphs.batch import GraphBatch
from retgk.refinement.label_keys import Keys, colour_keys, keys_of_names

__all__ = ["level_keys"]

_LEVEL_STEP = np.uint64(0xA0761D6478BD642F)  # a label and a colour never share their phases


def level_keys(
    batch: GraphBatch,
    seed: int,
    depth: int,
    level_weights: Sequence[float] | None,
    n_jobs: int | None,
) -> tuple[Keys, Floats]:
    """
    Keys of the labels of nodes at all levels that count, and roots of the weights of these levels.

    Nodes without labels have the same key.
    """
    names: Sequence[Any] = batch.label_names if batch.has_labels else (None,)
    labels = keys_of_names(names, seed)[batch.labels]
    shares = np.sqrt(LabelLevels(depth, level_weights).weights)
    levels = np.flatnonzero(shares)
    found = colour_keys(batch, labels, depth, seed, n_jobs)
    with np.errstate(over="ignore"):
        keys = np.stack([found[level] + np.uint64(level) * _LEVEL_STEP for level in levels])
    return keys, shares[levels]
