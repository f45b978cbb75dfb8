"""Labels refined by neighbourhoods as levels of one label domain, fitted and applied."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from retgk.array_types import Codes, Floats, Ints
from retgk.engine.fitted_state import FittedState
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import gather_runs
from retgk.refinement.label_refinement import (
    LabelRefinement,
    NeighbourhoodTable,
    check_rounds,
)

__all__ = ["LabelLevels", "Levels", "check_depth"]


@dataclass(frozen=True, eq=False)
class Levels:
    """
    Colours of nodes after rounds of refinement, which join the label as further levels.

    The factor of the node kernel is ``sum_h weights[h] [c_h = c'_h]`` over all levels h, of which
    the label is the first.

    Attributes
    ----------
    colours : tuple of ndarray of int32, each of shape (n_nodes,)
        Colours after one round, two rounds and so on.
    n_known : tuple of int
        How many colours the fitted graphs have at each level, the label first. Larger ones are of
        new graphs alone.
    weights : ndarray of float64, shape (n_levels,)
        They add up to one.
    """

    colours: tuple[Codes, ...]
    n_known: tuple[int, ...]
    weights: Floats

    def of_nodes(self, starts: Ints, sizes: Ints) -> "Levels":
        """Give the levels of runs of nodes."""
        colours = tuple(gather_runs(own, starts, sizes) for own in self.colours)
        return Levels(colours, self.n_known, self.weights)


@dataclass
class LabelLevels:
    """
    Refinement to a depth, with the neighbourhoods of the fitted graphs.

    Parameters
    ----------
    depth : int
        Rounds of refinement; 0 for plain labels.
    level_weights : sequence of float or None
        Weight of each level, labels first; equal ones by default. They are made to add up to one.
    """

    depth: int = 0
    level_weights: Sequence[float] | None = None
    n_labels: int = 0
    refinement: LabelRefinement = field(default_factory=lambda: LabelRefinement(0))

    def fit(
        self, batch: GraphBatch, labels: Codes, n_labels: int, n_jobs: int | None
    ) -> Levels | None:
        """Collect the neighbourhoods of graphs; None if there is but one level."""
        self.n_labels = n_labels
        self.refinement = LabelRefinement(self.depth)
        if self.depth == 0:
            return None
        return self._levels(self.refinement.fit(batch, labels, n_jobs))

    def of(self, batch: GraphBatch, labels: Codes, n_jobs: int | None) -> Levels | None:
        """Levels of new graphs, whose labels have the codes of the fitted ones."""
        if self.depth == 0:
            return None
        return self._levels(self.refinement.colours(batch, labels, n_jobs))

    def _levels(self, colours: list[Ints]) -> Levels:
        n_known = (self.n_labels, *map(len, self.refinement.tables))
        deeper = tuple(own.astype(np.int32) for own in colours[1:])
        return Levels(deeper, n_known, self.weights)

    @property
    def weights(self) -> Floats:
        """Weights of the levels, which add up to one."""
        given = np.ones(self.depth + 1) if self.level_weights is None else self.level_weights
        weights = np.asarray(given, np.float64)
        return np.asarray(weights / weights.sum())

    def state(self) -> FittedState:
        """Give the neighbourhoods as plain arrays."""
        names = tuple(self.refinement.edge_names)
        values = {"n_labels": self.n_labels, "edge_label_names": names} if self.depth else {}
        state = FittedState(values)
        for level, table in enumerate(self.refinement.tables, 1):
            for name, array in zip(("own", "ptr", "entries"), table.rows, strict=True):
                state.arrays[f"colours_{level}_{name}"] = array
        return state

    def at_depth(self, depth: int) -> "LabelLevels":
        """Give the same with fewer rounds, and all levels of the same weight."""
        other = LabelLevels(depth, None, self.n_labels, LabelRefinement(depth))
        other.refinement.tables = self.refinement.tables[:depth]
        other.refinement.edge_names = self.refinement.edge_names
        return other

    def known_levels(self, n_labels: int) -> Levels:
        """Levels without nodes: how many colours are known of each, and what they weigh."""
        n_known = (n_labels, *map(len, self.refinement.tables))
        return Levels((), n_known, self.weights)

    def restore(self, state: FittedState) -> None:
        """Take the neighbourhoods out of a state, after checking them."""
        self.refinement = LabelRefinement(self.depth)
        if self.depth == 0:
            return
        self.n_labels = n_before = state.take_count("n_labels", np.iinfo(np.int32).max)
        self.refinement.edge_names = state.take_names("edge_label_names")
        for level in range(1, self.depth + 1):
            own = state.take_array(f"colours_{level}_own", np.int64, (None,))
            ptr = state.take_array(f"colours_{level}_ptr", np.int64, (len(own) + 1,))
            entries = state.take_array(f"colours_{level}_entries", np.int64, (None,))
            try:
                table = NeighbourhoodTable.checked(own, ptr, entries, n_before)
            except ValueError as error:
                raise InvalidInputError(f"'colours_{level}': {error}") from error
            self.refinement.tables.append(table)
            n_before = len(table)


def check_depth(depth: Any, level_weights: Any) -> None:
    """Raise unless these are a depth of refinement and weights of its levels."""
    check_rounds(depth)
    if level_weights is None:
        return
    weights = np.asarray(level_weights, np.float64)
    if weights.shape != (depth + 1,) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise InvalidInputError(
            f"level_weights must be {depth + 1} numbers that are not negative, one for each level "
            f"from 0 to depth={depth}, got {level_weights!r}"
        )
    if weights.sum() == 0:
        raise InvalidInputError("level_weights are all zero; give one level a weight")
