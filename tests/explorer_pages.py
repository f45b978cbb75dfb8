"""Pages in headless Chromium, which may show no console message and ask the network for nothing."""

import base64
import json
import re
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from retgk import GraphBatch, GraphClassifier, GraphDataset, RetGK, Walks, explore
from retgk.datasets import make_graph_classification
from retgk.explorer.page import CollectionPage

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, PROGRAMS)), None)
HAS_BROWSER = CHROMIUM is not None and find_spec("playwright") is not None
FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def chromium() -> Iterator[Any]:
    """Start a browser with a new, empty profile."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield started
        finally:
            started.close()


@contextmanager
def opened(
    browser: Any, file: Path, anchor: str = "", script: str = "", **options: Any
) -> Iterator[Any]:
    """Open a file; fail if it says anything on the console or asks for anything else."""
    settings = {"viewport": {"width": 1600, "height": 1000}, **options}
    page = browser.new_page(**settings)
    page.set_default_timeout(15_000)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    if script:
        page.add_init_script(script)
    try:
        page.goto(file.resolve().as_uri() + anchor)
        page.wait_for_selector("html[data-ready]")
        yield page
    finally:
        page.close()
    assert said == []
    others = [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    assert others == []
    assert sum(url.startswith("file:") for url in asked) == 1


# The page that browser tests look at, with a model and hostile names, and how they read it

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
    made = make_graph_classification(N_GRAPHS, n_labels=3, n_attributes=2, n_nodes=(6, 14), rng=0)
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
    model = GraphClassifier(RetGK(walks=Walks(8)), cv=3, random_state=0).fit(
        graphs[::6], made.targets[::6]
    )
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


# What pages of `explore` hold, read as the pages themselves do

TYPES = {"u8": np.uint8, "i8": np.int8, "u16": np.uint16, "u32": np.uint32, "f32": np.float32}


def unpacked(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a page, read as the page itself does."""
    data = re.search(r'id="data">([^<]*)<', text)
    assert data is not None
    block = zlib.decompress(base64.b64decode(data[1]))
    length = int.from_bytes(block[:4], "little")
    header = json.loads(block[4 : 4 + length])
    assert (4 + length) % 8 == 0
    arrays = {
        name: np.frombuffer(block, TYPES[own["type"]], own["length"], 4 + length + own["at"])
        for name, own in header["arrays"].items()
    }
    return header, arrays


def nearest_by_sorting(points: Any, k: int) -> Any:
    gaps = np.linalg.norm(points[:, None].astype(float) - points[None], axis=2)
    np.fill_diagonal(gaps, np.inf)
    return np.argsort(gaps, axis=1, kind="stable")[:, :k]
