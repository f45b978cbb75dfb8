"""The lowest versions that are declared are those that `make test-lowest` tests."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTED_EXTRAS = ("networkx", "igraph", "rdkit", "index", "dask")
TEST_TOOLS = ("hypothesis", "pandas", "pytest", "pytest-xdist")


def declared_bounds() -> dict[str, str]:
    """Lower bounds of what `make test-lowest` installs, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    texts = [*project["dependencies"], *(text for name in TESTED_EXTRAS for text in extras[name])]
    texts += [text for text in extras["dev"] if re.split("[>=]", text)[0] in TEST_TOOLS]
    return dict(text.split(",")[0].split(">=") for text in texts)


def listed_versions() -> dict[str, str]:
    """Versions of the list that `make test-lowest` installs, by name."""
    lines = (ROOT / "constraints-lowest.txt").read_text("utf-8").splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


def without_zeros(version: str) -> str:
    return re.sub(r"(\.0)+$", "", version)


def test_declared_is_tested() -> None:
    bounds, tested = declared_bounds(), listed_versions()
    assert len(bounds) > 18
    assert {name: without_zeros(bound) for name, bound in bounds.items()} == {
        name: without_zeros(tested[name]) for name in bounds
    }
