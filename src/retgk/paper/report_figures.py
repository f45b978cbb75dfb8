"""The figures of the report."""

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from retgk.paper.figure_1 import draw_centres
from retgk.paper.figure_2 import Curve
from retgk.paper.table_cells import read_settings
from retgk.runtime.storage import atomic_path

__all__ = ["Picture", "figure_1", "figure_2"]

_NAMES = {"S": "number of steps S", "D0": "width $D_0$", "Dc": "width $D_c$"}
_PLAIN_NAMES = {"S": "number of steps S", "D0": "width D0", "Dc": "width Dc"}
_MARKERS = "osv^Dp"


class Picture(NamedTuple):
    """A drawing: its name, what it shows, and its PNG and SVG files."""

    name: str
    caption: str
    png: bytes
    svg: bytes

    def save(self, folder: Path) -> Path:
        """Write the PNG file into a folder."""
        path = folder / f"{self.name}.png"
        with atomic_path(path) as unfinished:
            unfinished.write_bytes(self.png)
        return path

    def markdown(self) -> str:
        """The drawing, from the file beside the text, with its caption."""
        return f"![{self.caption}]({self.name}.png)\n\n{self.caption}\n"

    def html(self) -> str:
        """The drawing with its caption, inline."""
        from html import escape

        data = base64.b64encode(self.svg).decode()
        return (
            f'<figure><img alt="{escape(self.caption)}" src="data:image/svg+xml;base64,{data}">'
            f"<figcaption>{escape(self.caption)}</figcaption></figure>"
        )


def _picture(name: str, caption: str, figure: Any) -> Picture:
    """Both files of a figure, the same to the bit whenever they are made."""
    from matplotlib import rc_context

    files = []
    for form, options in (("png", {"dpi": 150}), ("svg", {"metadata": {"Date": None}})):
        buffer = io.BytesIO()
        with rc_context({"svg.hashsalt": name}):  # or else names inside the file are random
            figure.savefig(buffer, format=form, **options)
        files.append(buffer.getvalue())
    return Picture(name, caption, *files)


def _figure(size: tuple[float, float]) -> tuple[Any, Any]:
    """A figure apart from pyplot, whose backend and state belong to the user."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots()


def figure_1() -> Picture:
    """
    Figure 1 of the paper; it needs no records.

    Returns
    -------
    Picture
        Return probabilities of three centres of a toy graph.
    """
    figure, axes = _figure((5.5, 4.2))
    draw_centres(axes)
    caption = (
        "Figure 1: return probabilities of three centres of equal degree in a toy graph. The paper "
        "shows its graph as a picture only; this one has the properties that the text states."
    )
    return _picture("figure_1", caption, figure)


def figure_2(curves: Sequence[Curve]) -> list[Picture]:
    """
    Figure 2 of the paper, a drawing for each parameter.

    Parameters
    ----------
    curves : sequence of Curve
        Accuracies.

    Returns
    -------
    list of Picture
        For every parameter that there are curves of.
    """
    pictures = []
    for parameter in dict.fromkeys(curve.parameter for curve in curves):
        own = [curve for curve in curves if curve.parameter == parameter]
        caption = (
            f"Figure 2: accuracy of RetGK_II against the {_PLAIN_NAMES[parameter]}. Bands are one "
            "standard deviation over repetitions; rings mark the value of the tables."
        )
        pictures.append(_picture(f"figure_2_{parameter}", caption, _curves_figure(own)))
    return pictures


def _curves_figure(curves: Sequence[Curve]) -> Any:
    figure, axes = _figure((5, 4.6))
    order = list(read_settings("figure_2")["sets"])
    for curve in curves:
        number = order.index(curve.dataset)
        color = f"C{number}"
        middle = np.array(curve.accuracies)
        spread = np.nan_to_num(np.array(curve.deviations))
        axes.plot(
            curve.values,
            middle,
            marker=_MARKERS[number % len(_MARKERS)],
            markersize=4,
            color=color,
            label=curve.dataset,
        )
        axes.fill_between(
            curve.values, middle - spread, middle + spread, color=color, alpha=0.2, linewidth=0
        )
        _ring(axes, curve, color)
    axes.set(xlabel=_NAMES[curves[0].parameter], ylabel="accuracy in %")
    axes.grid(alpha=0.3)
    figure.legend(fontsize="small", loc="outside lower center", ncols=3, frameon=False)
    return figure


def _ring(axes: Any, curve: Curve, color: str) -> None:
    if curve.paper_value in curve.values:
        accuracy = curve.accuracies[curve.values.index(curve.paper_value)]
        axes.plot(curve.paper_value, accuracy, "o", markersize=10, fillstyle="none", color=color)
