"""The map of a page in a browser: points, pan and zoom, filters, lasso, search, keys."""

import csv
import io
from typing import Any

import numpy as np
import pytest

from tests.browser_pages import opened
from tests.shown_page import HOSTILE, N_GRAPHS, Shown, heading, lonely, place_of, saved, status

pytestmark = pytest.mark.browser


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
