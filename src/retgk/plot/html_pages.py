"""Pages of HTML in one file that needs nothing else: no scripts, no network, no fonts."""

import base64
import hashlib
from collections.abc import Iterable
from html import escape

__all__ = ["html_page"]


def html_page(title: str, style: str, parts: Iterable[str]) -> str:
    """
    Write a page whose policy forbids scripts and anything from elsewhere.

    Parameters
    ----------
    title : str
        What stands above; it is escaped here.
    style : str
        CSS, the only one that the policy lets through.
    parts : iterable of str
        HTML in which all text from users is escaped.

    Returns
    -------
    str
        The page.
    """
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{style}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            *parts,
            "</body></html>\n",
        ]
    )
