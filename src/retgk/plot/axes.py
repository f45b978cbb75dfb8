"""Axes to draw into, and colours that readers with any kind of sight tell apart."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FEW_COLOURS", "MANY_COLOURS", "axes_or_new"]

# Okabe and Ito's palette without yellow, which is too light for lines on white.
FEW_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
# Paul Tol's muted palette, with a grey.
MANY_COLOURS = (
    *("#332288", "#CC6677", "#117733", "#88CCEE", "#882255"),
    *("#44AA99", "#DDCC77", "#AA4499", "#999933", "#888888"),
)


def axes_or_new(ax: "Axes | None", size: tuple[float, float]) -> "Axes":
    """Axes that were given, or those of a new figure, whose size is in inches."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
    return plt.subplots(figsize=size, layout=layout)[1]
