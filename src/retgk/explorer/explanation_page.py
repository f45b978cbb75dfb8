"""Explanations as one page of HTML that needs nothing else: no scripts, no network, no fonts."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.estimators.explanation import Explanation
from retgk.graphs.batch import GraphBatch
from retgk.io.molecules import LARGEST_FORMULA
from retgk.plot import AGAINST_AND_FOR, explained_molecule, node_positions, share_colour

# -------------------------------------------------------------------------------------------------
# Pages of HTML in one file that needs nothing else: no scripts, no network, no fonts.
# -------------------------------------------------------------------------------------------------


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


MOST_DRAWN = 400  # nodes of a graph that is drawn
_WIDTH, _HEIGHT, _MARGIN = 360, 280, 16
_TOP_NODES = 8

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 0 0 .3rem; overflow-wrap: anywhere; }
article { border-top: 1px solid #ccc; padding: 1rem 0; display: flex; flex-wrap: wrap;
  gap: 1.5rem; }
.text { flex: 1 1 20rem; min-width: 0; } .drawing { flex: 0 0 360px; }
table { border-collapse: collapse; margin: .5rem 1.5rem .5rem 0; display: inline-table;
  vertical-align: top; }
caption { text-align: left; font-weight: 600; }
th { text-align: left; font-weight: 400; color: #555; }
td, th { padding: .1rem .7rem .1rem 0; } .number { text-align: right;
  font-variant-numeric: tabular-nums; }
.swatch { width: 12px; height: 12px; } .note { color: #555; }
"""


class PageGraph(NamedTuple):
    """One graph of a page: what it is called, itself, and its SMILES if it is a molecule."""

    name: str
    graph: GraphBatch
    smiles: str | None = None


def explanation_page(
    title: str,
    graphs: Sequence[PageGraph],
    explanation: Explanation,
    classes: dict[int, Any] | None = None,
    note: str = "",
) -> str:
    """
    Write explanations of some graphs as a page.

    Parameters
    ----------
    title : str
        What stands above.
    graphs : sequence of PageGraph
        The first graphs of the explanation, or all of them.
    explanation : Explanation
        What is shown of them.
    classes : dict, optional
        Classes of training graphs by their numbers.
    note : str, optional
        A sentence to stand under the title.

    Returns
    -------
    str
        The page. All text from graphs and their names is escaped, and a policy forbids scripts and
        anything from elsewhere.
    """
    shown = range(len(graphs))
    parts = [np.abs(explanation.of(i)).max(initial=0.0) for i in shown]
    limit = float(max(parts, default=0.0)) or 1.0
    articles = [_article(graphs[i], explanation, i, limit, classes or {}) for i in shown]
    intro = f'<p class="note">{escape(note)}</p>' if note else ""
    return html_page(title, _STYLE, [intro, _legend(limit), *articles])


def _legend(limit: float) -> str:
    """Say what colours and numbers mean."""
    blue, white, orange = AGAINST_AND_FOR
    stops = "".join(
        f'<stop offset="{place}" stop-color="{colour}"/>'
        for place, colour in ((0, blue), (0.5, white), (1, orange))
    )
    return (
        '<p><svg width="360" height="40" role="img" aria-label="colour scale"><defs>'
        f'<linearGradient id="scale">{stops}</linearGradient></defs><rect x="1" y="1" width="358" '
        'height="16" fill="url(#scale)" stroke="#888"/>'
        f'<text x="1" y="34" font-size="13">against, -{limit:.3g}</text>'
        '<text x="180" y="34" font-size="13" text-anchor="middle">0</text>'
        f'<text x="359" y="34" font-size="13" text-anchor="end">for, +{limit:.3g}</text></svg></p>'
        '<p class="note">Colours are shares of the nodes in the decision value. The baseline (the '
        "decision value of the mean of the support graphs) and the shares of all nodes add up to "
        "the decision value. All numbers are in decision units, not probabilities. The scale is "
        "the same for all graphs of the page.</p>"
    )


def _article(
    own: PageGraph, explanation: Explanation, i: int, limit: float, classes: dict[int, Any]
) -> str:
    """Drawing, numbers and tables of one graph."""
    shares = explanation.of(i)
    prediction = explanation.predictions[i]
    target = _text(explanation.targets[i])
    facts = (
        f"Predicted: <b>{_text(prediction)}</b>. Decision value for {target}: "
        f"<b>{explanation.decisions[i]:+.4g}</b> = baseline {explanation.baseline[i]:+.4g}, nodes "
        f"{shares.sum():+.4g}."
    )
    return (
        f'<article><div class="drawing">{_drawing(own, shares, limit)}</div><div class="text">'
        f"<h2>{escape(own.name)}</h2><p>{facts}</p>{_node_table(own.graph, shares, limit)}"
        f"{_training_table(explanation, i, classes)}{_contrast(explanation, i, classes)}"
        "</div></article>"
    )


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return escape(str(value))


def _table(caption: str, head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    cells = "".join(f"<th>{name}</th>" for name in head)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<table><caption>{caption}</caption><tr>{cells}</tr>{body}</table>"


def _cell(text: str, is_number: bool = False) -> str:
    return f'<td class="number">{text}</td>' if is_number else f"<td>{text}</td>"


def _node_table(graph: GraphBatch, shares: Floats, limit: float) -> str:
    """Nodes of the largest shares, up or down."""
    order = np.argsort(-np.abs(shares), kind="stable")[:_TOP_NODES]
    rows = [
        [
            f'<td><svg class="swatch" width="12" height="12"><rect width="12" height="12" '
            f'fill="{share_colour(shares[node], limit)}" stroke="#888"/></svg></td>',
            _cell(f"{node}", is_number=True),
            _cell(escape(_label(graph, int(node)))),
            _cell(f"{shares[node]:+.4f}", is_number=True),
        ]
        for node in order
    ]
    caption = "Nodes that count most" if len(order) < len(shares) else "Nodes"
    return _table(caption, ("", "node", "label" * graph.has_labels, "share"), rows)


def _label(graph: GraphBatch, node: int) -> str:
    return str(graph.label_names[graph.labels[node]]) if graph.has_labels else ""


def _training_table(explanation: Explanation, i: int, classes: dict[int, Any]) -> str:
    """Training graphs of the largest shares."""
    pairs = zip(explanation.training[i], explanation.training_shares[i], strict=True)
    rows = [
        [
            _cell(f"{number}", is_number=True),
            _cell(_text(classes.get(int(number), ""))),
            _cell(f"{share:+.4f}", is_number=True),
        ]
        for number, share in pairs
    ]
    if not rows:
        return ""
    head = ("graph", "class" if classes else "", "share")
    return _table("Training graphs that pushed most", head, rows)


def _contrast(explanation: Explanation, i: int, classes: dict[int, Any]) -> str:
    if explanation.contrast is None or explanation.contrast_distances is None:
        return ""
    number = int(explanation.contrast[i])
    if number < 0:
        return ""
    of_class = f" ({_text(classes[number])})" if number in classes else ""
    return (
        f"<p>Nearest training graph of another class: {number}{of_class}, at a distance of "
        f"{explanation.contrast_distances[i]:.3g}.</p>"
    )


def _drawing(own: PageGraph, shares: Floats, limit: float) -> str:
    """Structural formula of a molecule, nodes and edges of what is none, or why it is not drawn."""
    if own.graph.n_nodes > MOST_DRAWN:
        return f'<p class="note">{own.graph.n_nodes:,} nodes are too many to draw.</p>'
    if own.smiles is not None and own.graph.n_nodes <= LARGEST_FORMULA:
        try:
            svg = explained_molecule(own.smiles, shares, limit=limit, size=(_WIDTH, _HEIGHT))
        except InvalidInputError:
            pass  # atoms and nodes do not correspond: it is drawn as the graph that it is
        else:
            # an image cannot run or load anything, whatever is in it
            data = base64.b64encode(svg.encode()).decode()
            source = f"data:image/svg+xml;base64,{data}"
            return f'<img src="{source}" width="{_WIDTH}" height="{_HEIGHT}" alt="formula">'
    return _graph_drawing(own.graph, shares, limit)


def _graph_drawing(graph: GraphBatch, shares: Floats, limit: float) -> str:
    """Nodes and edges as SVG; what a node is stands in its title."""
    places = node_positions(graph)
    low, high = places.min(axis=0), places.max(axis=0)
    room = np.array([_WIDTH, _HEIGHT]) - 2 * _MARGIN
    scale = (room / np.maximum(high - low, 1e-9)).min() if len(places) > 1 else 1.0
    drawn = (places - (low + high) / 2) * min(scale, 60.0) + np.array([_WIDTH, _HEIGHT]) / 2
    radius = float(np.clip(60 / np.sqrt(len(places)), 3.0, 11.0))
    sources = graph.edge_rows
    lines = [
        f'<line x1="{drawn[a, 0]:.1f}" y1="{drawn[a, 1]:.1f}" x2="{drawn[b, 0]:.1f}" '
        f'y2="{drawn[b, 1]:.1f}"/>'
        for a, b in zip(sources, graph.indices, strict=True)
        if a < b
    ]
    circles = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" '
        f'fill="{share_colour(shares[node], limit)}">'
        f"<title>node {node} {escape(_label(graph, node))}: {shares[node]:+.4f}</title></circle>"
        for node, (x, y) in enumerate(drawn)
    ]
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="graph">'
        f'<g stroke="#999">{"".join(lines)}</g><g stroke="#444">{"".join(circles)}</g></svg>'
    )
