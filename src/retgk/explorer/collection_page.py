"""The page as a file: markup, built style and script, data, and a policy that forbids the rest."""

import base64
import hashlib
import os
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path

from retgk.runtime.storage import atomic_path

__all__ = ["CollectionPage", "built_file", "page_text"]

_FRAME_HEIGHT = 760


@dataclass(frozen=True)
class CollectionPage:
    """
    One page of a collection of graphs: what `explore` gives.

    Attributes
    ----------
    text : str
        The page, as HTML.
    n_graphs : int
        Graphs on the map.
    n_drawn : int
        Graphs that have a drawing.

    Examples
    --------
    >>> from retgk import explore, make_graph_classification
    >>> page = explore(make_graph_classification(n_graphs=6, random_state=0))
    >>> page.text.startswith("<!DOCTYPE html>")
    True
    """

    text: str = field(repr=False)
    n_graphs: int
    n_drawn: int

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all, and give its path."""
        with atomic_path(Path(path)) as part:
            part.write_text(self.text, "utf-8")
        return Path(path)

    def __repr__(self) -> str:
        return f"CollectionPage({self.n_graphs:,} graphs, {self.n_drawn:,} drawn)"

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame that can do no more than the page itself."""
        return (
            f'<iframe srcdoc="{escape(self.text)}" width="100%" height="{_FRAME_HEIGHT}" '
            'sandbox="allow-scripts allow-downloads" title="a collection of graphs"></iframe>'
        )


def page_text(title: str, data: str) -> str:
    """
    Give a page that shows packed data.

    Names and labels are in the data alone, which is base64; the title is escaped. The policy lets
    the one script and the one style run, and nothing be fetched from anywhere.
    """
    script, style = built_file("explorer.js"), built_file("explorer.css")
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src 'sha256-{_digest(script)}'",
            f"style-src 'sha256-{_digest(style)}'",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<link rel="icon" href="data:,">',
            f"<title>{escape(_writable(title[:200]))}</title>",
            f"<style>{style}</style></head><body>",
            '<main id="app"><p>Unpacking the collection.</p></main>',
            "<noscript>This page draws its graphs with JavaScript, which is off.</noscript>",
            f'<script type="text/plain" id="data">{data}</script>',
            f"<script>{script}</script>",
            "</body></html>\n",
        ]
    )


def built_file(name: str) -> str:
    """Script or style, as `make explorer` built it from the sources in the folder explorer."""
    return (files("retgk.explorer") / "built" / name).read_text("utf-8")


def _writable(text: str) -> str:
    """Text without lone surrogates, which names of files may hold and UTF-8 does not."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
