"""Nodes of new graphs where fitted points are: rows of tiles, or of loops for rare labels."""

from typing import NamedTuple

import numpy as np

from retgk.array_types import Codes, Flags, Floats, Ints
from retgk.engine.exact.distinct_points import DistinctPoints
from retgk.engine.exact.rare_labels import RareRows
from retgk.engine.exact.tile_layout import ColumnSide, SharedRows, scale_for_tiles

__all__ = ["PlacedNodes"]


class PlacedNodes(NamedTuple):
    """Nodes of new graphs at all levels of their labels, beside the fitted points."""

    chosen: Ints
    """Which nodes."""
    coordinates: Floats
    fitted: DistinctPoints
    side: ColumnSide
    places: Ints
    """Place among the nodes of every entry: a node at one level."""
    labels: Codes
    weights: Floats
    """Weight of every entry in the mean over its graph."""
    is_rare: Flags

    def rows(self, owners: Ints, n_owners: int) -> tuple[SharedRows | None, RareRows | None]:
        """Entries for tiles and for loops; owners, of every node, are what sums are taken for."""
        owners = owners[self.places]
        is_rare = self.is_rare[np.minimum(self.labels, len(self.is_rare) - 1)]
        common = np.flatnonzero(~is_rare)
        tiled = looped = None
        if len(common):
            scaled = scale_for_tiles(self.coordinates, self.side.kernel)
            own = (self.labels[common], owners[common], self.weights[common])
            tiled = SharedRows.of(scaled[self.places[common]], *own)
        if is_rare.any():
            places, labels = self.places[is_rare], self.labels[is_rare]
            entries = (places, labels, owners[is_rare], self.weights[is_rare])
            looped = RareRows.of(self.coordinates, entries, n_owners)
        return tiled, looped
