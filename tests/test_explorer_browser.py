"""One graph of a page in a browser: its drawing, numbers, nearest graphs, and two side by side."""

import csv
import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from retgk import distance, explore, return_probabilities
from tests.explorer_pages import (
    HOSTILE,
    N_GRAPHS,
    Shown,
    heading,
    lonely,
    opened,
    place_of,
    saved,
    status,
)

pytestmark = [pytest.mark.browser, pytest.mark.slow]


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


# The map of a page in a browser: points, pan and zoom, filters, lasso, search, keys


def test_points_are_seen(page: Any) -> None:
    """The colour of its class is on the canvas where the point is."""
    from PIL import Image

    target = lonely(page)
    page.evaluate(f"retgkExplorer.state.select({(target + 1) % N_GRAPHS})")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    x, y = place_of(page, target)
    red, green, blue = picture.getpixel((round(x), round(y)))
    assert max(red, green, blue) - min(red, green, blue) > 60


MOVED = """async ([dx, dy]) => {
  const { map } = retgkExplorer;
  const { values, width, height, margin } = map.layer.pixels;
  const isColumn = (at) => Math.min(at, width - 1 - at) >= margin;
  const isRow = (at) => Math.min(at, height - 1 - at) >= margin;
  const pixels = () => values.filter((_, k) => isColumn(k % width) && isRow(Math.floor(k / width)));
  Object.assign(map, { x: map.x + dx, y: map.y + dy });
  map.draw();
  const moved = pixels();
  map.repaint();
  map.draw();
  const written = pixels();
  return [moved.every((value, k) => value === written[k]), new Set(written).size];
}"""


@pytest.mark.parametrize("zoom", [1, 3])
def test_moved_pixels_are_those_of_a_new_drawing(page: Any, zoom: float) -> None:
    """While the map is dragged its pixels move, and only what comes into view is written."""
    page.evaluate(f"retgkExplorer.map.zoomBy({zoom})")
    for step in [(0, 0), (7, 0), (-40.4, 3.3), (90, -200), (-13, 61), (0, -5000), (3, 5000)]:
        is_same, n_values = page.evaluate(MOVED, step)
        assert is_same, step
        assert n_values > 2 or abs(step[1]) == 5000


def test_pan_and_zoom(page: Any) -> None:
    target = lonely(page)
    x, y = place_of(page, target)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -400)
    for _ in range(100):  # the policy of the page forbids what wait_for_function does
        if page.evaluate("retgkExplorer.map.zoom") > 1.5:
            break
        page.wait_for_timeout(50)
    assert page.evaluate("retgkExplorer.map.zoom") > 1.5
    assert place_of(page, target) == pytest.approx((x, y), abs=1)
    box = page.locator(".stage canvas").bounding_box()
    start = box["x"] + 20, box["y"] + 20
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0] + 50, start[1] + 30, steps=5)
    page.mouse.up()
    assert place_of(page, target) == pytest.approx((x + 50, y + 30), abs=1)
    page.get_by_role("button", name="Whole map").click()
    assert page.evaluate("retgkExplorer.map.zoom") == 1


def test_the_legend_filters(page: Any, shown: Shown) -> None:
    assert status(page) == f"All {N_GRAPHS} graphs shown"
    page.locator(".class").nth(0).click()
    first = str(np.unique(shown.data.targets)[0])
    left = int(np.sum(shown.data.targets.astype(str) != first))
    assert status(page) == f"{left} of {N_GRAPHS} graphs shown"
    assert page.locator(".class").nth(0).get_attribute("aria-pressed") == "false"
    page.get_by_role("button", name="Show all", exact=True).click()
    assert status(page) == f"All {N_GRAPHS} graphs shown"


def test_numbers_filter(page: Any, shown: Shown) -> None:
    page.select_option("#colour-by", label="nodes")
    page.get_by_label("Show nodes from").fill("500")
    sizes = shown.data.graphs.node_counts
    middle = (sizes.min() + sizes.max()) / 2
    assert status(page) == f"{np.sum(sizes >= middle)} of {N_GRAPHS} graphs shown"


def test_a_confusion_cell_filters(page: Any, shown: Shown) -> None:
    names = [str(name) for name in np.unique(shown.data.targets)]
    truth, predicted = shown.data.targets.astype(str), shown.predicted.astype(str)
    counts = [[int(np.sum((truth == a) & (predicted == b))) for b in names] for a in names]
    cells = page.locator(".cell")
    assert cells.all_text_contents() == [str(count) for row in counts for count in row]
    cells.nth(0).click()
    assert status(page) == f"{counts[0][0]} of {N_GRAPHS} graphs shown"
    assert page.evaluate("document.activeElement.className").startswith("cell")
    cells.nth(0).click()
    assert status(page) == f"All {N_GRAPHS} graphs shown"


def test_wrong_graphs_are_listed(page: Any, shown: Shown) -> None:
    wrong = np.flatnonzero(shown.data.targets != shown.predicted)
    assert len(wrong) > 0
    links = page.locator(".wrong a").all_text_contents()
    assert set(links) <= {f"graph {graph}" for graph in wrong}
    assert len(links) == min(10, len(wrong))


def test_lasso_and_csv(page: Any, shown: Shown) -> None:
    page.get_by_role("button", name="Lasso").click()
    box = page.locator(".stage canvas").bounding_box()
    left, top = box["x"] + 2, box["y"] + 2
    right, bottom = left + box["width"] - 4, top + box["height"] - 4
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in [(right, top), (right, bottom), (left, bottom)]:
        page.mouse.move(x, y, steps=4)
    page.mouse.up()
    assert f"{N_GRAPHS} selected" in status(page)
    text = saved(page, "Save as CSV").decode("utf-8")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [int(row["graph"]) for row in rows] == list(range(N_GRAPHS))
    assert rows[2]["name"] == HOSTILE[2]
    assert rows[5]["name"] == "'" + HOSTILE[5]  # no formula to a spreadsheet
    assert [row["target"] for row in rows] == [str(value) for value in shown.data.targets]


def test_a_small_lasso_selects_one(page: Any) -> None:
    target = lonely(page)
    x, y = place_of(page, target)
    page.keyboard.down("Shift")
    page.mouse.move(x - 6, y - 6)
    page.mouse.down()
    for dx, dy in [(6, -6), (6, 6), (-6, 6)]:
        page.mouse.move(x + dx, y + dy, steps=2)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert page.evaluate("[...retgkExplorer.state.selection]") == [target]
    rows = saved(page, "Save as CSV").decode().splitlines()
    assert len(rows) == 2
    assert rows[1].startswith(f"{target},")


def test_search(page: Any) -> None:
    page.fill("#search", "name 2")
    assert page.locator(".found li").count() == 10
    page.locator(".found button").nth(3).click()
    assert heading(page) == "Graph 23"
    page.fill("#search", "41")
    page.keyboard.press("Enter")
    assert heading(page) == "Graph 41"
    page.fill("#search", "<script>")
    assert page.locator(".found bdi").all_text_contents() == [HOSTILE[0]]
    page.fill("#search", "none such")
    assert page.text_content(".found") == "no such graph"


def test_the_keyboard_alone(page: Any) -> None:
    def tab_to(selector: str) -> None:
        for _ in range(120):
            page.keyboard.press("Tab")
            if page.evaluate(f"document.activeElement.matches({selector!r})"):
                return
        pytest.fail(f"no tab leads to {selector}")

    tab_to("#search")
    page.keyboard.type("17")
    page.keyboard.press("Enter")
    assert heading(page) == "Graph 17"
    tab_to(".stage canvas")
    page.keyboard.press("n")
    assert heading(page) == "Graph 18"
    seen = {18}
    for key in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
        seen.add(page.evaluate("retgkExplorer.state.current"))
    assert len(seen) > 2
    said = page.text_content("[aria-live=polite]")
    assert said.startswith(f"graph {page.evaluate('retgkExplorer.state.current')}, ")
    page.keyboard.press("s")
    assert "1 selected" in status(page)
    page.keyboard.press("Escape")
    assert "selected" not in status(page)
    page.keyboard.press("c")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "graph-heading"
    tab_to("#node-colour")
    tab_to(".near a")
    wanted = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("Enter")
    assert page.url.endswith(wanted)
    assert page.locator(".pair svg").count() == 2
    tab_to(".class")
    page.keyboard.press("Space")
    assert " of " in status(page)
    tab_to(".cell")
    page.keyboard.press("Enter")
    assert page.evaluate("retgkExplorer.state.cell") is not None


def test_a_link_leads_to_a_graph(browser: Any, shown: Shown) -> None:
    with opened(browser, shown.file, "#graph-33") as page:
        assert heading(page) == "Graph 33"


# Pages in a browser for all readers: hostile text, accessibility, dark, narrow, in a frame


def test_hostile_text_stays_text(page: Any, shown: Shown) -> None:
    for graph, name in enumerate(HOSTILE):
        page.evaluate(f"retgkExplorer.state.select({graph})")
        wanted = name.replace("\ud800", "\ud800")
        assert (
            page.evaluate("document.querySelector('.own-name').textContent.length")
            == len(name.encode("utf-16-le", "surrogatepass")) // 2
        )
        if "\ud800" not in wanted:
            assert page.evaluate("document.querySelector('.own-name').textContent") == wanted
        page.mouse.move(*place_of(page, graph))
        saved(page, "Save SVG")
    page.select_option("#node-colour", "label")
    page.select_option("#colour-by", index=4)
    assert page.title().startswith("</title><script>")
    assert page.text_content("h1").startswith("</title><script>")
    assert page.evaluate("window.hacked") is None
    assert page.locator("script").count() == 1
    assert page.locator("img, iframe, object, b script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert shown.page.text.count("<script") == 2


def test_the_policy_lets_nothing_else_run(browser: Any, shown: Shown) -> None:
    page = browser.new_page()
    page.goto(shown.file.as_uri())
    page.wait_for_selector("html[data-ready]")
    page.evaluate(
        """() => {
          const { body } = document;
          const own = document.createElement('script');
          own.textContent = 'window.hacked = 4';
          body.append(own);
          body.insertAdjacentHTML('beforeend', '<p onclick="window.hacked = 5">x</p>');
          body.lastElementChild.click();
        }"""
    )
    assert page.evaluate("window.hacked") is None
    blocked = page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', e => e.message)")
    assert blocked != "sent"
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
def test_no_serious_finding_of_axe(browser: Any, shown: Shown, scheme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    size = {"width": width, "height": 900}
    with opened(browser, shown.file, viewport=size, color_scheme=scheme) as page:
        page.evaluate("retgkExplorer.state.update({ held: 9 })")
        page.fill("#search", "name")
        page.locator(".class").nth(0).click()
        # frozen rules are read from the page: its policy would keep a script tag out
        found = axe.run(page)
        wrong = [
            f"{rule['id']}: {rule['nodes'][0]['html']}"
            for rule in found.response["violations"]
            if rule["impact"] in ("serious", "critical")
        ]
        assert wrong == []
        assert len(found.response["passes"]) > 15


def test_dark_and_light(browser: Any, shown: Shown) -> None:
    with opened(browser, shown.file, color_scheme="light") as page:
        assert (
            page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(243, 244, 247)"
        )
        assert page.locator(".picture rect").first.get_attribute("fill") == "#ffffff"
        page.emulate_media(color_scheme="dark")
        page.wait_for_selector(".picture rect[fill='#16181d']")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 16, 19)"


def test_a_narrow_screen(browser: Any, shown: Shown) -> None:
    with opened(browser, shown.file, viewport={"width": 400, "height": 800}) as page:
        page.evaluate("retgkExplorer.state.update({ held: 3 })")
        assert page.evaluate("document.documentElement.scrollWidth") == 400
        box = page.locator(".stage").bounding_box()
        assert box["width"] > 300
        assert box["height"] >= 300
        target = lonely(page)
        page.mouse.click(*place_of(page, target))
        assert heading(page) == f"Graph {target}"


def test_the_frame_of_a_notebook(browser: Any, shown: Shown, tmp_path: Path) -> None:
    outer = tmp_path / "notebook.html"
    outer.write_text(f"<!DOCTYPE html><title>n</title>{shown.page._repr_html_()}", "utf-8")
    page = browser.new_page()
    page.goto(outer.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator(".near a").first.click()
    assert frame.locator("#graph-heading").text_content() != "Graph 0"
    page.close()
