"""Imports between modules point down one list; within a package they form no cycle."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import retgk

# Modules and packages directly under retgk, from the ground up. A new one is added at its
# place here; it may import what stands before it, and nothing else.
LAYERS = (
    "array_types",
    "errors",
    "runtime",
    "graphs",
    "io",
    "simd",
    "walks",
    "kernels",
    "engine",
    "learning",
    "estimators",
    "persistence",
    "plot",
    "paper",
    "cli",
    "__main__",
)
PACKAGE = Path(retgk.__file__).parent

Sources = dict[str, str]


def sources_under(package: Path) -> Sources:
    """Text of every module, by its dotted name; a package's name stands for its __init__."""
    texts = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        texts[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text("utf-8")
    return texts


def imported_names(module: str, text: str, is_package: bool) -> Iterator[str]:
    """Dotted names that a module imports anywhere, in functions and for types too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            here = module.split(".")
            base = here[: len(here) - node.level + is_package] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{source}.{alias.name}" for alias in node.names)


def imports_of(module: str, sources: Sources) -> set[str]:
    """Modules of the package that a module imports, itself left out."""
    is_package = any(name.startswith(f"{module}.") for name in sources)
    found = set()
    for name in imported_names(module, sources[module], is_package):
        if name == "retgk.__version__":  # a constant that stands before any import
            continue
        parts = name.split(".")
        prefixes = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
        found.update([prefix for prefix in prefixes if prefix in sources][:1])
    return found - {module}


def layer_of(module: str) -> str:
    return module.split(".")[1]


def wrong_imports(sources: Sources, layers: tuple[str, ...]) -> list[str]:
    """Everything that breaks the rule, in words."""
    modules = sorted(sources.keys() - {"retgk"})
    unlisted = {layer_of(module) for module in modules} - set(layers)
    if unlisted:
        return [f"{name} is not in LAYERS; give it a place there" for name in sorted(unlisted)]
    imports = {module: imports_of(module, sources) for module in modules}
    wrong = []
    for module, targets in imports.items():
        for target in sorted(targets):
            if target == "retgk":
                wrong.append(f"{module} imports retgk itself, which stands above everything")
            elif layers.index(layer_of(target)) > layers.index(layer_of(module)):
                wrong.append(f"{module} imports {target}, which stands above it")
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        wrong.append(f"cycle: {' <- '.join(error.args[1])}")
    return wrong


def test_imports_point_down() -> None:
    sources = sources_under(PACKAGE)
    assert {"retgk", "retgk.graphs.batch", "retgk.io.graph_dataset"} <= sources.keys()
    assert imports_of("retgk.graphs.batch", sources) >= {"retgk.graphs.adjacency", "retgk.errors"}
    assert wrong_imports(sources, LAYERS) == []


GOOD = {
    "retgk": "from retgk.high import f",
    "retgk.low": "import numpy\nfrom retgk import __version__",
    "retgk.high": "from retgk import low",
    "retgk.pack": "",
    "retgk.pack.one": "import retgk.low",
    "retgk.pack.two": "from .one import f\nfrom ..low import g\nfrom . import one",
}
TOY_LAYERS = ("low", "high", "pack")


def test_checker_accepts_a_good_tree() -> None:
    assert wrong_imports(GOOD, TOY_LAYERS) == []
    assert imports_of("retgk.pack.two", GOOD) == {"retgk.pack.one", "retgk.low"}


@pytest.mark.parametrize(
    ("module", "text", "message"),
    [
        ("retgk.low", "from retgk.high import f", "retgk.low imports retgk.high, which stands ab"),
        ("retgk.low", "def g():\n    import retgk.high", "retgk.low imports retgk.high"),
        ("retgk.low", "if TYPE_CHECKING:\n    from retgk import high", "retgk.low imports retgk.h"),
        ("retgk.high", "from retgk.pack.one import f", "retgk.high imports retgk.pack.one"),
        ("retgk.high", "from retgk import GraphBatch", "retgk.high imports retgk itself"),
        ("retgk.pack.one", "from .two import f", "cycle: retgk.pack"),
        ("retgk.pack", "from retgk.pack.two import f\n", ""),
        ("retgk.pack.one", "from retgk.pack import f", ""),
        ("retgk.new", "", "new is not in LAYERS; give it a place there"),
    ],
)
def test_checker_sees(module: str, text: str, message: str) -> None:
    wrong = wrong_imports({**GOOD, module: text}, TOY_LAYERS)
    assert (message in wrong[0]) if message else wrong == []
