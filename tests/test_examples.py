"""The demo and the gallery run."""

from pathlib import Path

import numpy as np
import pytest

from examples import demo, gallery
from retgk import load_digit_graphs, load_model, make_graph_classification
from tests.browser_pages import HAS_BROWSER

ROOT = Path(__file__).parent.parent


def python_blocks(page):
    """Code of a page of the documentation."""
    text = (ROOT / "docs" / page).read_text()
    return [block.partition("```")[0] for block in text.split("```python\n")[1:]]


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
    data = make_graph_classification(n_graphs=40, random_state=0)
    names = {"graphs": data.graphs[:30], "y": data.targets[:30], "new_graphs": data.graphs[30:]}
    for block in python_blocks(page):
        exec(block, names)
    assert (tmp_path / writes).stat().st_size > 1000


def test_demo(tmp_path, capsys):
    demo.main(tmp_path / "out", n_graphs=150)
    printed = capsys.readouterr().out
    assert "150 handwritten digits as graphs" in printed
    assert "RetGKClassifier()" in printed
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


def test_gallery(tmp_path):
    gallery.main(tmp_path)
    made = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    known = {path.name for path in (ROOT / "docs" / "gallery").iterdir()}
    assert made.keys() == (known if HAS_BROWSER else known - {"explorer.png"})
    assert made.pop("explorer.png", 0) < 200_000
    assert max(made.values()) < 60_000
    text = (ROOT / "docs" / "gallery.md").read_text()
    assert all(f"(gallery/{name})" in text for name in made)
