"""Graphs that others are compared with: reduced once, and never changed by what comes later."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.engine.exact.frames import Frame
from retgk.engine.exact.points import DistinctPoints
from retgk.engine.exact.reduction import Reduced
from retgk.engine.exact.tile_layout import ColumnSide
from retgk.graphs.ragged import offsets

__all__ = ["FittedGraphs", "widened"]


@dataclass(frozen=True, eq=False)
class FittedGraphs:
    """
    Distinct points of fitted graphs, and the frame in which they and all later ones lie.

    What is found from them on the way, for quicker answers, is kept but not pickled.

    Attributes
    ----------
    points : DistinctPoints
        The points.
    frame : Frame
        The coordinates.
    """

    points: DistinctPoints
    frame: Frame

    @classmethod
    def of(cls, reduced: Reduced) -> "FittedGraphs":
        """Take what was reduced, whose two sides are the same."""
        if reduced.frame is None or reduced.x is not reduced.y:
            raise AssertionError("only one side, in a frame, can be fitted")
        return cls(reduced.x, reduced.frame)

    def __getstate__(self) -> dict[str, Any]:
        return {"points": self.points, "frame": self.frame}

    @property
    def n_graphs(self) -> int:
        """Number of graphs."""
        return self.points.n_graphs

    @property
    def reduced(self) -> Reduced:
        """Both sides of the inner products between the fitted graphs."""
        frame, points = self.frame, self.points
        return Reduced(points, points, frame.kernels, frame.block_ptr, frame.dtype, np.nan, frame)

    def chosen(self, graphs: Ints) -> "FittedGraphs":
        """Keep some graphs, in the order given, in the same frame."""
        return FittedGraphs(self.points.chosen(graphs), self.frame)

    @cached_property
    def table(self) -> Any:
        """Hash table of the points."""
        from retgk.engine.exact.point_cells import table_of

        return table_of(self.points.coordinates, self.points.labels, self.frame.radius)

    @cached_property
    def near(self) -> ColumnSide:
        """Points laid out as columns of tiles."""
        return ColumnSide.of(self.reduced)

    @property
    def far_ptr(self) -> Ints:
        """First coordinate of every factor, if each that is rotated has a coordinate more."""
        return offsets([f.rank + (f.basis is not None) for f in self.frame.factors])

    @cached_property
    def far(self) -> ColumnSide:
        """The same for graphs that leave the frame: in float64, with new coordinates of zero."""
        none = np.zeros((len(self.points), len(self.frame.factors)))
        points = self.points.moved(widened(self.points.coordinates, none, self))
        both = replace(self.reduced, x=points, y=points)
        return ColumnSide.of(replace(both, block_ptr=self.far_ptr, dtype=np.float64))


def widened(coordinates: Floats, tails: Floats, fitted: FittedGraphs) -> Floats:
    """Coordinates of new points with their distance from the space of the fitted ones."""
    ptr = fitted.far_ptr
    wide = np.zeros((len(coordinates), ptr[-1]))
    own_ptr = fitted.frame.block_ptr
    for b, factor in enumerate(fitted.frame.factors):
        own = slice(own_ptr[b], own_ptr[b + 1])
        wide[:, ptr[b] : ptr[b] + factor.rank] = coordinates[:, own]
        if factor.basis is not None:
            wide[:, ptr[b + 1] - 1] = tails[:, b]
    return wide
