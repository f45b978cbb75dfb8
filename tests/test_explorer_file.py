"""Files that `explore` writes: the same each time, small, closed; and what it refuses."""

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retgk import GraphBatch, InvalidInputError, explore
from retgk.explorer.drawings import PageArrays
from retgk.explorer.page import built_file, page_text
from tests.cli_calls import DATA
from tests.unpacked_pages import unpacked

ROOT = Path(__file__).parent.parent


SOURCES = ROOT / "explorer" / "src"


def test_the_same_seed_writes_the_same_page() -> None:
    first, second = (explore(DATA, n_jobs=n_jobs, random_state=3).text for n_jobs in (1, 2))
    assert first == second
    assert explore(DATA, random_state=4).text != first


def test_two_thousand_graphs_are_small() -> None:
    rng = np.random.default_rng(0)
    n_graphs, size = 2000, 30
    starts = np.repeat(np.arange(n_graphs) * size, 45)
    edges = rng.integers(size, size=(2, n_graphs * 45)) + starts
    labels = rng.integers(5, size=n_graphs * size)
    graphs = GraphBatch.from_edges([size] * n_graphs, edges.T, labels=labels, symmetrize=True)
    page = explore(graphs, projection="pca")
    assert page.n_drawn == n_graphs
    assert len(page.text) < 3_000_000
    assert len(built_file("explorer.js")) + len(built_file("explorer.css")) < 500_000


def test_the_built_files_are_of_the_sources() -> None:
    """Without Node.js: the first line has a digest of the sources."""
    digest = hashlib.sha256()
    for file in sorted(SOURCES.iterdir(), key=lambda path: path.name):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    for name in ("explorer.js", "explorer.css"):
        head = built_file(name).splitlines()[0]
        assert digest.hexdigest() in head, "explorer/src has changed: run `make explorer`"


def test_nothing_is_asked_of_the_network() -> None:
    text = page_text("title", PageArrays().packed({}))
    assert re.findall(r"https?://[\w./-]+", text) == ["http://www.w3.org/2000/svg"] * text.count(
        "http://"
    )
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe" not in policy[1]
    script = text.rpartition("<script>")[2].partition("</script>")[0]
    known = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{known}'" in policy[1]


def test_a_title_that_utf8_cannot_hold(tmp_path: Path) -> None:
    page = explore(DATA[:5], title="a\udcffb")
    assert "<title>a?b</title>" in page.save(tmp_path / "page.html").read_text("utf-8")
    assert unpacked(page.text)[0]["title"] == "a\udcffb"


def test_a_notebook_shows_it() -> None:
    page = explore(DATA[:5], title='"><script>alert(1)</script>')
    assert repr(page) == "CollectionPage(5 graphs, 5 drawn)"
    frame = page._repr_html_()
    assert frame.count("<") == 2
    assert 'sandbox="allow-scripts allow-downloads"' in frame


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"projection": "umap"}, "projection must be one of"),
        ({"names": ["one"]}, "1 names were given for 40 graphs"),
        ({"smiles": ["C"]}, "1 smiles were given for 40 graphs"),
        ({"y": [1, 2]}, "column 'target' must be one value for each of 40 graphs"),
        ({"columns": {"x": [1]}}, "column 'x' must be one value for each of 40 graphs"),
        ({"columns": 3}, "columns must be a mapping"),
        ({"positions": [[0, 0]]}, "positions must be finite and of shape"),
        ({"vectors": [[0.0, np.nan]] * 40}, "vectors must be finite numbers, one row for each"),
        ({"max_drawn_nodes": -1}, "max_drawn_nodes must be a whole number of at least 0"),
        ({"model": 3}, "model must be a fitted RetGKClassifier or RetGKRegressor, got int"),
        ({"predicted": [1]}, "column 'predicted' must be one value"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        explore(DATA, **options)
