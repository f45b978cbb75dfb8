"""One graph of a page in a browser: its drawing, numbers, nearest graphs, and two side by side."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from retgk import distance, explore, return_probabilities
from tests.browser_pages import opened
from tests.shown_page import N_GRAPHS, Shown, heading, lonely, place_of, saved

pytestmark = pytest.mark.browser


def test_a_click_shows_the_graph(page: Any, shown: Shown) -> None:
    target = lonely(page)
    page.mouse.click(*place_of(page, target))
    assert heading(page) == f"Graph {target}"
    graph = shown.data.graphs[target]
    assert page.locator(".picture circle").count() == graph.n_nodes
    lines = page.locator(".picture path").get_attribute("d")
    assert lines.count("M") == graph.n_edges
    numbers = dict(
        zip(page.locator(".numbers dt").all_text_contents(),
            page.locator(".numbers dd").all_text_contents(), strict=True)
    )  # fmt: skip
    assert numbers["target"] == str(shown.data.targets[target])
    assert numbers["predicted"] == str(shown.predicted[target])
    assert numbers["nodes"] == str(graph.n_nodes)
    assert page.url.endswith(f"#graph-{target}")


def test_a_neighbour_is_a_link(page: Any, shown: Shown) -> None:
    page.evaluate("retgkExplorer.state.select(20)")
    links = page.locator(".near a")
    assert links.count() == 10
    assert page.locator(".near a svg").count() == 10
    distances = [float(text) for text in page.locator(".near-distance").all_text_contents()]
    assert distances == sorted(distances)
    first = links.nth(0).get_attribute("href")
    assert first is not None
    graph = int(first.removeprefix("#graph-"))
    exact = distance(shown.data.graphs[20], shown.data.graphs[graph])
    assert distances[0] == pytest.approx(exact, abs=0.05)
    links.nth(0).click()
    assert heading(page) == f"Graph {graph}"


def test_probabilities_are_those_of_the_library(page: Any, shown: Shown) -> None:
    """Computed in the page, from weights in single precision."""
    for graph in range(0, N_GRAPHS, 7):
        found = page.evaluate(f"[...retgkExplorer.collection.graph({graph}).probabilities]")
        known = return_probabilities(shown.data.graphs[graph], 50)
        np.testing.assert_allclose(np.reshape(found, known.shape), known, rtol=0, atol=1e-6)


def test_the_slider_recolours(page: Any, shown: Shown) -> None:
    page.select_option("#node-colour", "returns")
    before = _fills(page)
    slider = page.locator("#step")
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert page.text_content(".slider output") == "9"
    assert _fills(page) != before
    known = return_probabilities(shown.data.graphs[0], 9)[:, -1]
    titles = page.locator(".picture circle title").all_text_contents()
    values = [float(title.rpartition(": ")[2]) for title in titles]
    np.testing.assert_allclose(values, known, rtol=1e-3)


def _fills(page: Any) -> list[str]:
    return page.eval_on_selector_all(
        ".picture circle", "all => all.map(c => c.getAttribute('fill'))"
    )  # type: ignore[no-any-return]


def test_every_colouring_of_nodes(page: Any) -> None:
    values = page.eval_on_selector_all("#node-colour option", "all => all.map(o => o.value)")
    assert values == ["returns", "share", "label", "attribute0", "attribute1", "plain"]
    seen = set()
    for value in values:
        page.select_option("#node-colour", value)
        seen.add(tuple(_fills(page)))
    assert len(seen) == len(values)


def test_drawings_are_saved(page: Any, shown: Shown) -> None:
    root = ET.fromstring(saved(page, "Save SVG"))
    circles = root.findall(".//{http://www.w3.org/2000/svg}circle")
    assert len(circles) == shown.data.graphs[0].n_nodes
    picture = saved(page, "Save PNG")
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 5000


def test_molecules_have_formulas(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    smiles = ["CC(=O)[O-]", "c1ccccc1", "C#N", "CCO", "CCN", "[Na+].[Cl-]", "C", "CNC"]
    page_file = explore(smiles, ["salt", "ring", *["other"] * 6]).save(tmp_path / "m.html")
    with opened(browser, page_file) as page:
        assert page.locator(".picture text").all_text_contents() == ["O", "O\N{MINUS SIGN}"]
        assert page.text_content(".own-name") == smiles[0]
        page.evaluate("retgkExplorer.state.select(1)")
        lines = page.locator(".picture path").get_attribute("d")
        assert lines.count("M") == 9  # six bonds, of which three are double
        page.select_option("#node-colour", "label")
        assert page.locator(".picture [role=img] circle").count() == 6
        page.evaluate("retgkExplorer.state.select(5)")
        assert page.locator(".picture text").all_text_contents() == ["Na+", "Cl\N{MINUS SIGN}"]


def test_a_sample_is_drawn(browser: Any, shown: Shown, tmp_path: Path) -> None:
    page_file = explore(shown.data, max_drawn_nodes=100, projection="pca")
    with opened(browser, page_file.save(tmp_path / "sample.html")) as page:
        assert f"the page holds drawings of {page_file.n_drawn} of them" in page.text_content(
            ".note"
        )
        drawn = page.evaluate(
            "[...Array(60).keys()].filter(g => retgkExplorer.collection.isDrawn(g))"
        )
        assert len(drawn) == page_file.n_drawn
        hidden = next(graph for graph in range(N_GRAPHS) if graph not in drawn)
        page.evaluate(f"retgkExplorer.state.select({hidden})")
        assert "holds no drawing" in page.text_content(".picture")
        page.evaluate(f"retgkExplorer.state.select({drawn[-1]})")
        size = shown.data.graphs.node_counts[drawn[-1]]
        assert page.locator(".picture circle").count() == size


def test_two_graphs_side_by_side(page: Any, shown: Shown) -> None:
    page.evaluate("retgkExplorer.state.select(30)")
    page.get_by_role("button", name="Hold for comparison").click()
    page.evaluate("retgkExplorer.state.select(11)")
    assert page.locator(".pair svg").count() == 2
    found = float(page.get_attribute("[data-distance]", "data-distance"))
    graphs = shown.data.graphs
    # attributes have 65,535 steps in the page
    assert found == pytest.approx(distance(graphs[30], graphs[11]), rel=1e-3)
    parts = [
        float(title.rpartition(": ")[2])
        for title in page.locator(".pair circle title").all_text_contents()
    ]
    assert sum(parts) == pytest.approx(found**2, rel=1e-2)
    page.locator(".near button").nth(0).click()
    assert page.evaluate("retgkExplorer.state.held") != 30
