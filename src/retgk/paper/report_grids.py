"""Tables of text, written as Markdown or HTML."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

__all__ = ["Entry", "Grid"]


class Entry(NamedTuple):
    """Text of a field, its second line, and what it is: a class of the page's style."""

    text: str
    detail: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Grid:
    """
    A table with a title.

    Attributes
    ----------
    name : str
        Of its place in the page.
    title : str
        What it shows.
    header : sequence of str
        Columns.
    rows : sequence of sequence of Entry
        Fields.
    notes : sequence of str
        Sentences below it.
    """

    name: str
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    notes: Sequence[str] = field(default_factory=tuple)

    def markdown(self) -> str:
        """A section of a Markdown file."""
        lines = [list(self.header), ["---"] * len(self.header)]
        lines += [[_cell_of_markdown(entry) for entry in row] for row in self.rows]
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        notes = "".join(f"\n{note}\n" for note in self.notes)
        return f"## {self.title}\n\n{table}\n{notes}"

    def html(self) -> str:
        """A section of the page."""
        header = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.header)
        rows = "\n".join(f"<tr>{''.join(_fields_of_html(row))}</tr>" for row in self.rows)
        notes = "".join(f"<p class=note>{escape(note)}</p>" for note in self.notes)
        return (
            f'<section id="{escape(self.name)}"><h2>{escape(self.title)}</h2>'
            f"<div class=wide tabindex=0><table><thead><tr>{header}</tr></thead>"
            f"<tbody>\n{rows}\n</tbody></table></div>{notes}</section>"
        )


def _cell_of_markdown(entry: Entry) -> str:
    text = f"**{entry.text}**" if entry.kind in ("above", "below") else entry.text
    detail = f"*{entry.detail}*" if entry.detail and entry.kind == "quoted" else entry.detail
    both = f"{text}<br>{detail}" if text and detail else text or detail
    return both.replace("|", "\\|")


def _fields_of_html(row: Sequence[Entry]) -> list[str]:
    fields = []
    for position, entry in enumerate(row):
        tag, scope = ("th", ' scope="row"') if position == 0 else ("td", "")
        kind = f' class="{escape(entry.kind)}"' if entry.kind else ""
        detail = f"<small>{escape(entry.detail)}</small>" if entry.detail else ""
        fields.append(f"<{tag}{scope}{kind}>{escape(entry.text)}{detail}</{tag}>")
    return fields
