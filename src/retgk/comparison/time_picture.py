"""The figure of a comparison: quality against time."""

from typing import TYPE_CHECKING, Any

from retgk.comparison.comparison_rows import DONE, ComparisonRows
from retgk.plot.axes import MANY_COLOURS, axes_or_new
from retgk.plot.figure_files import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_times", "times_figure"]

_MARKERS = "osD^vPX<>*"
_SIZE = (6.4, 3.8)
_LONGEST_LABEL = 24
_LEAST_SECONDS = 1e-3  # a logarithm needs something to begin with


def draw_times(table: ComparisonRows, ax: "Axes | None" = None) -> "Axes":
    """
    Draw the first metric of every finished method against the seconds of a fold.

    Bars are deviations over folds.
    """
    ax = axes_or_new(ax, _SIZE)
    metric = table.metrics[0]
    factor = 100.0 if metric.is_share else 1.0
    shown = [row for row in table.rows if row["status"] == DONE and row[metric.name] is not None]
    for place, row in enumerate(shown):
        ax.errorbar(
            max(row["seconds"], _LEAST_SECONDS),
            factor * row[metric.name],
            yerr=factor * row[f"{metric.name}_std"],
            marker=_MARKERS[place % len(_MARKERS)],
            color=MANY_COLOURS[place % len(MANY_COLOURS)],
            markersize=7,
            linestyle="none",
            elinewidth=1,
            capsize=2,
            label=_plain_label(row["method"]),
        )
    ax.set_xscale("log")
    ax.set(
        xlabel="seconds of a fold (median)",
        ylabel=f"{metric.name}{' (%)' if metric.is_share else ''}",
    )
    ax.grid(alpha=0.3, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    if shown:
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def _plain_label(name: str) -> str:
    """Name that matplotlib shows as it is, not as a formula; what is too long is cut."""
    text = "".join(letter if letter.isprintable() else " " for letter in name)
    text = text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 2]}.."
    return " " + text.replace("$", r"\$")  # one that begins with an underscore is not shown at all


def times_figure(table: ComparisonRows) -> Any:
    """Figure apart from pyplot."""
    figure, ax = new_figure(_SIZE)
    draw_times(table, ax)
    return figure
