"""The frame of every page of HTML: one file that loads nothing, and runs its own script if any."""

import base64
import hashlib
from collections.abc import Iterable
from html import escape


def html_page(title: str, style: str, parts: Iterable[str], script: str = "") -> str:
    """Page whose policy lets one style and one script through; `parts` are escaped already."""
    policy = [
        "default-src 'none'",
        f"style-src 'sha256-{_digest(style)}'",
        *([f"script-src 'sha256-{_digest(script)}'"] if script else []),
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    # names of files may hold lone surrogates, which UTF-8 does not
    shown = title[:200].encode("utf-8", "replace").decode("utf-8")
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="data:,">',
            f"<title>{escape(shown)}</title><style>{style}</style></head><body>",
            *parts,
            *([f"<script>{script}</script>"] if script else []),
            "</body></html>\n",
        ]
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
