"""Axes to draw into, and colours that readers with any kind of sight tell apart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FEW_COLOURS", "MANY_COLOURS", "axes_or_new", "checked_kernel", "checked_targets"]

# Okabe and Ito's palette without yellow, which is too light for lines on white.
FEW_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
# Paul Tol's muted palette, with a grey.
MANY_COLOURS = (
    *("#332288", "#CC6677", "#117733", "#88CCEE", "#882255"),
    *("#44AA99", "#DDCC77", "#AA4499", "#999933", "#888888"),
)


def axes_or_new(ax: "Axes | None", size: tuple[float, float]) -> "Axes":
    """The axes given, or those of a new figure of a size in inches."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
    return plt.subplots(figsize=size, layout=layout)[1]


def checked_kernel(kernel: ArrayLike) -> NDArray[np.float64]:
    """A square matrix of finite numbers, or an error."""
    matrix = np.asarray(kernel, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise InvalidInputError(
            f"the kernel matrix must be square, got shape {matrix.shape}; pass what "
            "RetGKKernel().fit_transform(graphs) gives"
        )
    if not np.isfinite(matrix).all():
        raise InvalidInputError("the kernel matrix has values that are not finite")
    return matrix


def checked_targets(y: Sequence[Any] | ArrayLike, n_graphs: int) -> NDArray[Any]:
    """One target for each graph, or an error."""
    targets = np.asarray(y)
    if targets.shape != (n_graphs,):
        raise InvalidInputError(
            f"y must be one target for each of the {n_graphs} graphs, got shape {targets.shape}"
        )
    return targets
