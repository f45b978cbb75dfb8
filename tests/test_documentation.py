"""Pages say what is true: their examples run, and every public name has a page with an example."""

import doctest
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from benchmarks import report
from docs import reference_groups
from examples import demo, gallery
from retgk import load_model
from retgk.datasets import load_digit_graphs, make_graph_classification
from tests.architecture_rules import missing_paths
from tests.explorer_pages import HAS_BROWSER

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in [ROOT / "README.md", *DOCS.rglob("*.md")]
    if not {"_build", "recipes"} & set(path.relative_to(ROOT).parts)
)
WITH_EXAMPLES = [path for path in PAGES if ">>> " in path.read_text("utf-8")]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def ran(text, name):
    """Number of examples that were run, and that failed."""
    text = text.replace("```\n", "\n")
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    return doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name_of)
def test_examples(page, tmp_path, monkeypatch):
    text = page.read_text("utf-8")
    for package in ("networkx", "rdkit", *(["grakel"] if "import grakel" in text else [])):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for file, code in re.findall(r"```python\n# (\w+\.py)\n(.*?)```", text, re.DOTALL):
        Path(file).write_text(code, "utf-8")
    result = ran(text, name_of(page))
    assert result.attempted >= 3
    assert result.failed == 0


def test_wrong_examples_are_seen():
    assert ran("```python\n>>> 1 + 1\n3\n```\n", "toy").failed == 1


def test_every_page_with_examples_is_there():
    assert {"README.md", "docs/get_started.md"} <= {name_of(page) for page in WITH_EXAMPLES}


@pytest.mark.parametrize("page", report.PAGES, ids=lambda page: page.name)
def test_tables_come_from_the_records(page):
    text = page.read_text()
    assert report.with_tables(text) == text


def test_every_table_has_a_page():
    text = "".join(page.read_text("utf-8") for page in report.PAGES)
    assert [name for name in report.TABLES if f"<!-- table: {name} -->" not in text] == []


def test_public_names_have_one_group_and_an_example():
    names = reference_groups.public_names()
    assert {"GraphClassifier", "plot.gram_heat_map"} <= set(names)
    assert reference_groups.grouping_faults(reference_groups.GROUPS, names) == []
    assert reference_groups.example_faults(names) == []


def test_reference_has_a_page_for_every_group(tmp_path):
    assert reference_groups.write_reference(tmp_path) == len(reference_groups.public_names())
    contents = (tmp_path / "index.rst").read_text("utf-8")
    for title, (_, names) in reference_groups.GROUPS.items():
        page = (tmp_path / f"{reference_groups.page_name(title)}.rst").read_text("utf-8")
        assert f"   {reference_groups.page_name(title)}\n" in contents
        assert all(
            f"   ~retgk.{name}\n" in page and f"   ~retgk.{name}\n" in contents for name in names
        )


def test_the_reference_is_not_written_with_faults(tmp_path, monkeypatch):
    monkeypatch.setattr(reference_groups, "public_names", lambda: ["GraphClassifier", "new_name"])
    monkeypatch.setattr(reference_groups, "example_faults", lambda _: [])
    with pytest.raises(SystemExit, match="new_name: in no group of docs"):
        reference_groups.write_reference(tmp_path)


def test_faults_of_groups_are_seen():
    groups = {"one": ("", ["f", "g"]), "two": ("", ["g", "old"])}
    assert reference_groups.grouping_faults(groups, ["f", "g", "new"]) == [
        "new: in no group of docs/reference_groups.py",
        "g: in 2 groups",
        "old: not a public name",
    ]


@pytest.mark.parametrize("page", sorted((DOCS / "background").glob("*.md")), ids=name_of)
def test_named_tests_and_files_are_there(page):
    text = page.read_text("utf-8")
    for file, name in re.findall(r"`(?:tests/)?(test_\w+\.py)(?:::(\w+))?`", text):
        assert not name or f"def {name}(" in (ROOT / "tests" / file).read_text("utf-8"), name
        assert (ROOT / "tests" / file).exists(), file
    assert missing_paths(re.sub(r"`test_\w+\.py`", "", text), [ROOT / "src" / "retgk", ROOT]) == []


def test_readme_is_short():
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= 120
    assert [line.split()[:2] for line in lines[4:6]] == [["make", "demo"], ["make", "test"]]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    """Files that a page links to are there, but for those that the build makes."""
    made = ("recipes/", "command_line.md", "_drawings/", "reference/")
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8")):
        if "://" in target or any(part in target for part in made):
            continue
        assert (page.parent / target).exists(), target


# The demo and the gallery run


def python_blocks(page):
    """Code of a page of the documentation."""
    text = (ROOT / "docs" / page).read_text()
    return [block.partition("```")[0] for block in text.split("```python\n")[1:]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "writes"),
    [
        ("explorer.md", "collection.html"),
        ("gallery.md", "kernel.png"),
        ("model_files.md", "model.retgk"),
        ("population_tests.md", "permutations.png"),
        ("comparing.md", "comparison.html"),
    ],
)
def test_code_of_the_documentation(page, writes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = make_graph_classification(n_graphs=40, rng=0)
    names = {"graphs": data.graphs[:30], "y": data.targets[:30], "new_graphs": data.graphs[30:]}
    for block in python_blocks(page):
        exec(block, names)
    assert (tmp_path / writes).stat().st_size > 1000


@pytest.mark.slow
def test_demo(tmp_path, capsys):
    demo.main(tmp_path / "out", n_graphs=150)
    printed = capsys.readouterr().out
    assert "150 handwritten digits as graphs" in printed
    assert "GraphClassifier()" in printed
    assert "the same to the last bit" in printed
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert "digits.retgk" in written
    assert "digits.html" in written
    assert "digits.html" in printed.replace("\n", "")
    assert len([name for name in written if name.endswith(".png")]) == 5
    digits = load_digit_graphs()
    model = load_model(tmp_path / "out" / "digits.retgk")
    assert model.score(digits.graphs[150:300], digits.targets[150:300]) > 0.6


def test_characters_of_a_digit():
    rows = demo.picture(load_digit_graphs().graphs[0]).split("\n")
    assert [len(row) for row in rows] == [16] * 8
    assert rows[3].rstrip() == "  ░░▓▓    ▒▒▒▒"


def test_mean_attributes_see_no_edge():
    graphs = load_digit_graphs().graphs[:3]
    features = demo.mean_attributes(graphs)
    np.testing.assert_allclose(features[1, :3], graphs[1].attributes.mean(axis=0))
    np.testing.assert_allclose(features[1, 3:], graphs[1].attributes.std(axis=0))


@pytest.mark.slow
def test_gallery(tmp_path):
    gallery.main(tmp_path)
    made = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    known = {path.name for path in (ROOT / "docs" / "gallery").iterdir()}
    assert made.keys() == (known if HAS_BROWSER else known - {"explorer.png"})
    assert made.pop("explorer.png", 0) < 200_000
    assert max(made.values()) < 60_000
    text = (ROOT / "docs" / "gallery.md").read_text()
    assert all(f"(gallery/{name})" in text for name in made)


# The lowest versions that are declared are those that `make test-lowest` tests

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
