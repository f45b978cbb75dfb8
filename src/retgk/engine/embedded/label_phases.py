"""Keys and shares of all levels of labels, for vectors in which labels turn phases."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from retgk.array_types import Floats
from retgk.engine.fitted_state import FittedState
from retgk.engine.label_levels import LabelLevels, check_depth
from retgk.graphs.batch import GraphBatch
from retgk.refinement.label_keys import Keys, colour_keys, keys_of_names
from retgk.refinement.label_refinement import check_edges_alike
from retgk.runtime.seeds import MAX_SEED

__all__ = ["LabelPhases"]

_LEVEL_STEP = np.uint64(0xA0761D6478BD642F)  # a label and a colour never share their phases


@dataclass(frozen=True)
class LabelPhases:
    """
    What the phases of labels depend on beside the labels.

    Attributes
    ----------
    seed : int
        Key of the hash that gives each label its phases.
    depth : int
        Rounds of refinement; 0 for plain labels.
    level_weights : sequence of float or None
        Weight of each level, labels first; equal ones if None.
    edge_labels : bool or None
        Whether the edges of the fitted graphs have labels; None if they have no edges.
    """

    seed: int = 0
    depth: int = 0
    level_weights: Sequence[float] | None = None
    edge_labels: bool | None = None

    @classmethod
    def fitted(
        cls, batch: GraphBatch, seed: int, depth: int, level_weights: Sequence[float] | None
    ) -> "LabelPhases":
        """Phases of the labels of graphs, and of others that are like them."""
        edge_labels = batch.has_edge_labels if len(batch.indices) else None
        return cls(seed, int(depth), level_weights, edge_labels)

    def keys(self, batch: GraphBatch, n_jobs: int | None) -> tuple[Keys, Floats]:
        """
        Keys of the labels of nodes at all levels that count, and roots of the levels' weights.

        Keys are of shape (n_nodes, n_levels); nodes without labels have the same.
        """
        if self.depth and self.edge_labels is not None and len(batch.indices):
            check_edges_alike(batch.has_edge_labels, self.edge_labels)
        names: Sequence[Any] = batch.label_names if batch.has_labels else (None,)
        labels = keys_of_names(names, self.seed)[batch.labels]
        shares = np.sqrt(LabelLevels(self.depth, self.level_weights).weights)
        levels = np.flatnonzero(shares)
        found = colour_keys(batch, labels, self.depth, self.seed, n_jobs)
        with np.errstate(over="ignore"):
            keys = [found[level] + np.uint64(level) * _LEVEL_STEP for level in levels]
        return np.column_stack(keys), shares[levels]

    def state(self) -> dict[str, Any]:
        """Give what parameters do not tell, as plain values."""
        own = {"edge_labels": self.edge_labels} if self.depth else {}
        return {"phase_seed": self.seed, **own}

    @classmethod
    def restored(
        cls, state: FittedState, depth: int, level_weights: Sequence[float] | None
    ) -> "LabelPhases":
        """Take the phases out of a state, after checking them."""
        check_depth(depth, level_weights)
        seed, edge_labels = state.take_count("phase_seed", MAX_SEED), None
        if depth:
            is_known = state.values.get("edge_labels") is not None
            edge_labels = state.take_value("edge_labels", bool if is_known else type(None))
        return cls(seed, int(depth), level_weights, edge_labels)
