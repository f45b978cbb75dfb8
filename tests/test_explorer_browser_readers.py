"""Pages in a browser for all readers: hostile text, accessibility, dark, narrow, in a frame."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser_pages import opened
from tests.shown_page import HOSTILE, Shown, heading, lonely, place_of, saved

pytestmark = pytest.mark.browser


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
