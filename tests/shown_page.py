"""The page that browser tests look at, with a model and hostile names, and how they read it."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from retgk import (
    CollectionPage,
    GraphBatch,
    GraphDataset,
    RetGKClassifier,
    explore,
    make_graph_classification,
)

N_GRAPHS = 60


HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 2'>",
    "\"quotes' & <b>bold</b>",
    "\u202eright to left\u202c \u200f\u05d0",
    "\N{FACE WITH TEARS OF JOY}\N{ZERO WIDTH JOINER}\ud800 lone",
    "=HYPERLINK(\"http://example.invalid\")",
    "x" * 10_000,
    "nul \x00 and \x1b[31m escape\r\nline",
]  # fmt: skip


class Shown(NamedTuple):
    file: Path
    data: GraphDataset
    predicted: Any
    names: list[str]
    page: CollectionPage


def shown_page(folder: Path) -> Shown:
    """A page of graphs with labels, attributes and weights, a model, and hostile names."""
    made = make_graph_classification(
        N_GRAPHS, n_labels=3, n_attributes=2, n_nodes=(6, 14), random_state=0
    )
    plain = made.graphs
    weights = 1.0 + 0.5 * (plain.indices + np.repeat(_local(plain), np.diff(plain.indptr)))
    graphs = GraphBatch(
        plain.node_ptr,
        plain.indptr,
        plain.indices,
        weights,
        labels=[f"{HOSTILE[0]}{label}" for label in plain.labels],
        attributes=plain.attributes,
    )
    data = GraphDataset(graphs, made.targets, "</title><script>window.hacked = 3</script>")
    model = RetGKClassifier(cv=3, n_steps=8, random_state=0).fit(graphs[::6], made.targets[::6])
    names = [*HOSTILE, *(f"name {graph}" for graph in range(len(HOSTILE), N_GRAPHS))]
    group = np.array([HOSTILE[graph % 2] for graph in range(N_GRAPHS)], dtype=object)
    page = explore(data, model=model, names=names, columns={HOSTILE[1]: group})
    file = page.save(folder / "shown.html")
    return Shown(file, data, model.predict(graphs), names, page)


def _local(batch: GraphBatch) -> Any:
    return np.arange(batch.n_nodes) - np.repeat(batch.node_ptr[:-1], batch.node_counts)


def heading(page: Any) -> str:
    return str(page.text_content("#graph-heading"))


def place_of(page: Any, graph: int) -> tuple[float, float]:
    """Where the point of a graph is on the screen."""
    x, y = page.evaluate(f"retgkExplorer.map.placeOf({graph})")
    box = page.locator(".stage canvas").bounding_box()
    return box["x"] + x, box["y"] + y


def saved(page: Any, button: str) -> bytes:
    with page.expect_download() as download:
        page.get_by_role("button", name=button, exact=True).click()
    return Path(download.value.path()).read_bytes()


def status(page: Any) -> str:
    return str(page.text_content(".legend [role=status]"))


def lonely(page: Any) -> int:
    """The graph farthest from all others, which a click cannot miss."""
    places = page.evaluate(
        "[...Array(retgkExplorer.collection.n).keys()].map(g => retgkExplorer.map.placeOf(g))"
    )
    gaps = np.linalg.norm(np.array(places)[:, None] - np.array(places), axis=2)
    np.fill_diagonal(gaps, np.inf)
    return int(gaps.min(axis=1).argmax())
