"""Fixtures shared by all tests."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

DATA_VARIABLE = "RETGK_TEST_DATA"
CACHE_VARIABLE = "RETGK_CACHE_HOME"
NO_DATA = f"set {DATA_VARIABLE} to the folder of the benchmark sets to run this test"
NO_BROWSER = "install Chromium and playwright to run this test: make browser"

# Asserts of the modules that tests import: said in full, and checked under python -O too.
_MODULES = {path.stem for path in Path(__file__).parent.glob("[a-z]*.py")} - {"conftest"}
pytest.register_assert_rewrite(*(f"tests.{name}" for name in sorted(_MODULES)))

# Compiling, or another program on the machine, may take any one example longer than the others.
settings.register_profile("retgk", deadline=None)
settings.load_profile("retgk")

# A shell starts what it runs in the background with SIGINT ignored, and programs inherit that:
# those that are interrupted in tests would go on.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def own_parsed_copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep parsed copies of the collections of tests out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        if CACHE_VARIABLE not in os.environ:
            patch.setenv(CACHE_VARIABLE, str(tmp_path_factory.mktemp("parsed")))
        yield


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder of the benchmark sets; tests that need it are skipped, and counted, elsewhere."""
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        pytest.skip(NO_DATA)
    return Path(folder)


@pytest.fixture(scope="session")
def graphs_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small collection of the tests of commands, in a file."""
    from retgk import GraphDataset
    from retgk.io import write_parquet
    from tests.programs import DATA

    folder = tmp_path_factory.mktemp("cli")
    return write_parquet(GraphDataset(DATA.graphs, DATA.targets, "small"), folder / "small.parquet")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium; tests that need it are skipped, and counted, where there is none."""
    from tests.explorer_pages import HAS_BROWSER, chromium

    if not HAS_BROWSER:
        pytest.skip(NO_BROWSER)
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The page of `explore` that tests look at."""
    from tests.explorer_pages import shown_page

    return shown_page(tmp_path_factory.mktemp("pages"))


@pytest.fixture
def page(browser: Any, shown: Any) -> Iterator[Any]:
    """That page, opened, which may say nothing on the console and ask for nothing."""
    from tests.explorer_pages import opened

    with opened(browser, shown.file) as own:
        yield own


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Pages are looked at in the second tier."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.slow)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many tests ran on real data, and in a browser."""
    stats = terminalreporter.stats
    for mark, what, advice in (
        ("real_data", "on real data", NO_DATA),
        ("browser", "in a browser", NO_BROWSER),
    ):
        counts = [
            sum(mark in getattr(report, "keywords", ()) for report in stats.get(outcome, []))
            for outcome in ("passed", "failed", "skipped")
        ]
        terminalreporter.write_line(
            f"tests {what}: {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped"
            + (f" ({advice})" if counts[2] else "")
        )
