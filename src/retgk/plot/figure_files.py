"""Figures as files that are the same to the bit whenever they are made, and inline in pages."""

import base64
import io
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from retgk.runtime.storage import atomic_path

__all__ = ["Picture", "new_figure", "save_figure"]


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
        data = base64.b64encode(self.svg).decode()
        return (
            f'<figure><img alt="{escape(self.caption)}" src="data:image/svg+xml;base64,{data}">'
            f"<figcaption>{escape(self.caption)}</figcaption></figure>"
        )


def save_figure(name: str, caption: str, figure: Any) -> Picture:
    """Picture with both files of a figure, the same to the bit whenever they are made."""
    from matplotlib import rc_context

    files = []
    for form, options in (("png", {"dpi": 150}), ("svg", {"metadata": {"Date": None}})):
        buffer = io.BytesIO()
        with rc_context({"svg.hashsalt": name}):  # or else names inside the file are random
            figure.savefig(buffer, format=form, **options)
        files.append(buffer.getvalue())
    return Picture(name, caption, *files)


def new_figure(size: tuple[float, float]) -> tuple[Any, Any]:
    """A figure apart from pyplot, whose backend and state belong to the user."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots()
