"""The tree keeps to its rules, and every rule can be seen to be broken on a toy tree."""

import inspect
import re
import tomllib
import warnings
from pathlib import Path

import pytest

import retgk
from benchmarks.house_numbers import CEILINGS, TRACED, sizes
from benchmarks.trace_files import jobs_on, traced
from retgk import as_batch
from tests.architecture_rules import (
    MAX_LINES,
    Sources,
    imported_names,
    imports_of,
    left_out_of_sdist,
    long_files,
    missing_paths,
    names_without_example,
    private_names_across_packages,
    redefined_aliases,
    sources_under,
    wrong_imports,
)
from tests.errors import SNAPSHOT, assert_names, fails, sentences

# Modules and packages directly under retgk, from the ground up. A new one is added at its
# place here; it may import what stands before it, and nothing else.
LAYERS = (
    "_namespaces",
    "array_types",
    "errors",
    "_core",
    "_runtime",
    "graphs",
    "io",
    "datasets",
    "walks",
    "kernels",
    "pyg",
    "learning",
    "estimators",
    "stats",
    "search",
    "cluster",
    "plot",
    "explorer",
    "model_selection",
    "cli",
    "__main__",
)
PACKAGE = Path(retgk.__file__).parent
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def sources() -> Sources:
    return sources_under(PACKAGE)


def assert_none(wrong: list[str]) -> None:
    """Fail with one line for each fault."""
    assert not wrong, "\n".join(["", *wrong])


def test_imports_point_down(sources: Sources) -> None:
    assert {"retgk", "retgk.graphs.batch", "retgk.io.dataset"} <= sources.keys()
    assert imports_of("retgk.graphs.batch", sources) >= {
        "retgk.graphs.edges",
        "retgk.array_types",
    }
    assert_none(wrong_imports(sources, LAYERS))


def test_private_names_stay_in_their_package(sources: Sources) -> None:
    assert_none(private_names_across_packages(sources))


def test_no_file_is_too_long(sources: Sources) -> None:
    assert_none(long_files(sources))


def test_array_types_are_defined_once(sources: Sources) -> None:
    assert_none(redefined_aliases(sources))


NAMESPACES = ("datasets", "io", "kernels", "model_selection", "plot", "pyg", "search", "stats")
FIRST_NAMES = (
    *("GraphBatch", "GraphClassifier", "GraphDataset", "GraphIndex", "GraphRegressor"),
    *("InvalidInputError", "RetGK", "Walks", "as_batch", "compare", "distance", "explore"),
    *("load_model", "most_similar", "read_graphs", "return_probabilities", "save_model"),
    *("similarity", "two_sample_test", "write_graphs"),
)


def test_the_names_of_the_first_hour() -> None:
    assert sorted(dir(retgk)) == sorted([*FIRST_NAMES, *NAMESPACES])


@pytest.mark.parametrize("name", ["", *NAMESPACES])
def test_a_package_lists_its_names(name: str) -> None:
    """What `dir` shows is what the docstring tells a reader of, and nothing else."""
    package = getattr(retgk, name) if name else retgk
    words = set(re.findall(r"`(?:retgk\.)?(\w+)`", package.__doc__ or ""))
    assert words - {"ax"} == set(dir(package)) == set(package.__all__)


@pytest.mark.parametrize("name", ["", *NAMESPACES])
def test_public_names_have_examples(name: str) -> None:
    package = getattr(retgk, name) if name else retgk
    own = {each: getattr(package, each) for each in package.__all__ if each not in NAMESPACES}
    assert_none(names_without_example({each: value.__doc__ for each, value in own.items()}))


def test_signatures_are_short() -> None:
    packages = [retgk, *(getattr(retgk, name) for name in NAMESPACES)]
    values = [getattr(package, name) for package in packages for name in package.__all__]
    long = [value for value in values if inspect.isclass(value) and len(shown(value)) > 400]
    assert long == []


def shown(value: type) -> str:
    try:
        return str(inspect.signature(value))
    except ValueError:  # of compiled classes and errors
        return ""


def test_the_page_names_what_is_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    assert "`kernels/`" in page
    assert_none(missing_paths(page, [PACKAGE, PACKAGE / "io", ROOT]))


def test_the_page_has_every_layer() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    listed = page.partition("## The packages")[2].partition("\n## ")[0]
    names = [name for name in LAYERS if name != "__main__"]
    assert_none([name for name in names if f"`{name}" not in listed])


def test_the_sdist_has_what_the_tests_import() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    included = project["tool"]["scikit-build"]["sdist"]["include"]
    texts = sources_under(ROOT / "tests").values()
    imported = {name for text in texts for name in imported_names("tests", text, False)}
    assert {"benchmarks.report", "examples.demo"} <= imported
    assert_none(left_out_of_sdist(imported, ROOT, included))


GOOD = {
    "retgk": "from retgk.high import f",
    "retgk.low": "import numpy\nfrom retgk import __version__",
    "retgk.high": "from retgk import low",
    "retgk.pack": "",
    "retgk.pack.one": "import retgk.low",
    "retgk.pack.two": "from .one import f\nfrom ..low import g\nfrom . import one",
}
TOY_LAYERS = ("low", "high", "pack")


def test_a_good_tree_has_no_wrong_imports() -> None:
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
def test_wrong_imports_are_seen(module: str, text: str, message: str) -> None:
    wrong = wrong_imports({**GOOD, module: text}, TOY_LAYERS)
    assert (message in wrong[0]) if message else wrong == []


BASE = "class Base:\n    def _work(self): ..."


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("from retgk.low import _y", "_y"),
        ("from ._low import y", "_low"),
        ("import retgk._low", "_low"),
        ("from retgk import low\nlow._y()", "_y"),
        ("from retgk import low\ndef _y(): ...\nlow._y()", "_y"),
        ("from retgk.low import Base\nBase._work(3)", "_work"),
        ("def f(model):\n    return model._x", "_x"),
        ("def f(model):\n    model._x = 3", "_x"),
        ("def f(model):\n    del model.__x", "__x"),
        ("def f(model):\n    return getattr(model, '_x', None)", "_x"),
        ("def f(model):\n    setattr(model, '_x', None)", "_x"),
        (
            "from retgk.low import Base\nclass C(Base):\n    x = property(lambda s: s._work())",
            "_work",
        ),
    ],
)
def test_foreign_private_names_are_seen(text: str, name: str) -> None:
    line = text.count("\n") + 1
    assert private_names_across_packages({"retgk.low": BASE, "retgk.high": text}) == [
        f"retgk.high:{line} uses {name}, which belongs to another package"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "def _y(): ...\n_y()",
        "class C:\n    def f(self):\n        self._x = 3\n        return self._x",
        "class C:\n    def f(self, other):\n        object.__setattr__(self, '_x', other._x)",
        "class C:\n    _x: int\n    def f(self):\n        return self._x",
        "class C:\n    _x = 3\nC._x",
        "class C:\n    __slots__ = ('_x', '_y')\n    def f(self):\n        return self._x",
        "class C:\n    def _f(self): ...\ndef g(c):\n    return getattr(c, '_f')",
        "def f(row):\n    return row._replace(x=3)._asdict()",
        "import os\nos._exit(1)",
        "from retgk import __version__\nfrom .low import x as _\n_.__doc__",
        "getattr(model, '_sklearn_output_config', {})",
    ],
)
def test_own_private_names_are_allowed(text: str) -> None:
    assert private_names_across_packages({"retgk.low": BASE, "retgk.high": text}) == []


def test_private_names_are_shared_in_a_package() -> None:
    texts = {"retgk.pack.low": BASE, "retgk.pack.high": "from .low import Base\nBase._work(3)"}
    texts["retgk.pack.new"] = "class Own(Base):\n    def _work(self): ..."
    assert private_names_across_packages(texts) == []
    texts["retgk.other.high"] = texts.pop("retgk.pack.high")
    assert len(private_names_across_packages(texts)) == 1


@pytest.mark.parametrize(
    ("module", "bases"), [("high", "(Base)"), ("high", "(Middle)"), ("high", ""), ("low", "(Base)")]
)
def test_replaced_private_methods_are_seen(module: str, bases: str) -> None:
    derived = f"class Timed{bases}:\n    def _work(self): ..."
    texts = {"low": BASE, "middle": "class Middle(low.Base): ...", "high": ""}
    texts[module] += f"\n{derived}"
    found = private_names_across_packages({f"retgk.{name}": text for name, text in texts.items()})
    expected = ["retgk.high:2 Timed replaces Base._work"] if module == "high" and bases else []
    assert found == expected


def test_long_files_are_seen() -> None:
    texts = {"retgk.low": "x\n" * MAX_LINES, "retgk.high": "x\n" * (MAX_LINES + 1)}
    assert long_files(texts) == ["retgk.high has 1001 lines"]


def test_missing_examples_are_seen() -> None:
    texts = {"f": "Do.\n\n>>> f()", "g": "Do not.", "h": None}
    assert names_without_example(texts) == ["g", "h"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Floats = NDArray[np.float32]", "Floats"),
        ("Floats: TypeAlias = NDArray[np.float64]", "Floats"),
        ("Weights = NDArray[np.float64]", "Weights"),
        ("from retgk.array_types import Floats\nPair = tuple[Floats, Floats]", ""),
        ("def f():\n    Floats = 3", ""),
    ],
)
def test_redefined_aliases_are_seen(text: str, name: str) -> None:
    types = "__all__ = ['Floats']\nFloats = NDArray[np.float64]"
    found = redefined_aliases({"retgk.array_types": types, "retgk.low": text})
    assert found == ([f"retgk.low: {name} is Floats of array_types; import that"] if name else [])


def test_missing_paths_are_seen(tmp_path: Path) -> None:
    (tmp_path / "walks").mkdir()
    (tmp_path / "walks" / "twins.py").touch()
    page = "`walks/`, `walks/twins.py`, `twins.py`, `knots/`, `knots/granny.toml`, `fit`, walks.py"
    assert missing_paths(page, [tmp_path]) == ["twins.py", "knots/", "knots/granny.toml"]
    assert missing_paths("`twins.py`", [tmp_path, tmp_path / "walks"]) == []


def test_folders_that_the_sdist_lacks_are_seen(tmp_path: Path) -> None:
    for name in ("examples", "tests"):
        (tmp_path / name).mkdir()
    imported = ["examples.demo", "tests.naive", "numpy"]
    assert left_out_of_sdist(imported, tmp_path, ["/tests", "/README.md"]) == ["examples"]


def test_the_house_stays_small() -> None:
    """Whoever must grow raises a ceiling of `benchmarks.house_numbers`, and says why."""
    over = {name: number for name, number in sizes().items() if number > CEILINGS[name]}
    assert not over


@pytest.mark.real_data
def test_a_reader_can_follow(data_folder: Path, tmp_path: Path) -> None:
    """Files that fit, predict and cv enter, and how deep their calls go."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the labels of networkx graphs are not used
        for name, job in jobs_on(str(data_folder), tmp_path).items():
            job()
            trace = traced(job)
            n_files, (most_files, most_depth) = len({f for f, _ in trace.functions}), TRACED[name]
            assert n_files <= most_files, name
            assert trace.depth <= most_depth, name


def test_the_snapshot_shows_all_sentences() -> None:
    """`make sentences` writes it again: its difference is what a reader of the change looks at."""
    assert SNAPSHOT.read_text("utf-8") == sentences()


def test_facts_are_whole_words() -> None:
    assert fails(lambda: as_batch([]), about="no graphs") == "there are no graphs to convert"
    with pytest.raises(AssertionError, match="not in"):
        assert_names("graph 17 has no nodes", ["graph 1"])
