"""Pages in headless Chromium, which may show no console message and ask the network for nothing."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

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
