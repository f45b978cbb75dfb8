"""The coordinates that points are reduced to: found once, and then the same for all graphs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from retgk.array_types import Floats, Ints
from retgk.graphs.ragged import offsets
from retgk.kernels.node_kernels import Laplacian, NodeKernel, Polynomial

__all__ = ["Factor", "Frame", "factor_order", "scale_of"]


@dataclass(frozen=True, eq=False)
class Factor:
    """
    A factor of the node kernel, and the coordinates of its block of features.

    Attributes
    ----------
    block : int
        Which block of features.
    kernel : node kernel
        With a number for gamma.
    mean : ndarray of float64, shape (dimension,)
        Centre, which is subtracted.
    basis : ndarray of float64, shape (dimension, rank), or None
        Orthonormal directions that are kept; None if none is dropped and nothing is rotated.
    """

    block: int
    kernel: NodeKernel
    mean: Floats
    basis: Floats | None

    @property
    def scale(self) -> float:
        """Factor of the coordinates that makes gamma one."""
        return scale_of(self.kernel)

    @property
    def rank(self) -> int:
        """Number of coordinates."""
        return len(self.mean) if self.basis is None else self.basis.shape[1]

    def coordinates(self, block: Floats) -> Floats:
        """Points centred, rotated and scaled."""
        centred = block - self.mean
        if self.basis is None:
            return centred * self.scale
        projected: Floats = centred @ (self.basis * self.scale)
        return projected


@dataclass(frozen=True, eq=False)
class Frame:
    """
    Factors in the order of the tiles, and what the nodes of a graph may be moved.

    Attributes
    ----------
    factors : tuple of Factor
        Polynomials last.
    dtype : numpy dtype
        float32 or float64: what the tiles are computed in.
    budget : float
        Largest mean move of the nodes of a graph.
    tail_budget : float
        The part of it that dropped directions may take.
    size : float
        Mean distance of the nodes of a graph from the centre that rounding to float32 allows for.
    radius : float
        How far a point may be moved to one that is nearly equal.
    """

    factors: tuple[Factor, ...]
    dtype: Any
    budget: float
    tail_budget: float
    size: float
    radius: float

    @property
    def kernels(self) -> tuple[NodeKernel, ...]:
        """Kernels of the factors."""
        return tuple(factor.kernel for factor in self.factors)

    @property
    def block_ptr(self) -> Ints:
        """First coordinate of every factor."""
        return offsets([factor.rank for factor in self.factors])


def scale_of(kernel: NodeKernel) -> float:
    """Factor of the coordinates that makes gamma one."""
    return kernel.scale if isinstance(kernel, Laplacian) else float(np.sqrt(kernel.scale))


def factor_order(kernels: Sequence[NodeKernel], widths: Sequence[int]) -> list[int]:
    """
    Order of factors: tiles want polynomials last, and are faster with other roots before.

    Parameters
    ----------
    kernels : sequence of node kernel
        One for each block of features.
    widths : sequence of int
        Number of features of every block.

    Returns
    -------
    list of int
        Blocks in the order of the tiles.
    """

    def place(b: int) -> int:
        if isinstance(kernels[b], Polynomial):
            return 2
        return 1 if isinstance(kernels[b], Laplacian) and widths[b] > 1 else 0

    return sorted(range(len(kernels)), key=place)
