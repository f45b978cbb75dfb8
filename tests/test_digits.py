import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from retgk import InvalidInputError
from retgk.datasets import load_digit_graphs

from .graph_features import simple_features
from .strategies import assert_well_formed, dense


@pytest.mark.parametrize("threshold", [1 / 16, 0.25, 0.5, 0.8])
@pytest.mark.parametrize("image", [0, 7, 1796])
def test_graph_of_one_image(image: int, threshold: float) -> None:
    pixels = load_digits().images[image] / 16
    nodes = [(r, c) for r in range(8) for c in range(8) if pixels[r, c] >= threshold]
    graph = load_digit_graphs(threshold).graphs[image]
    touching = [[float(max(abs(r - s), abs(c - d)) == 1) for s, d in nodes] for r, c in nodes]
    np.testing.assert_array_equal(dense(graph), touching)
    expected = [[pixels[r, c], r / 7, c / 7] for r, c in nodes]
    np.testing.assert_allclose(graph.attributes, expected)


def test_all_images() -> None:
    data = load_digit_graphs()
    assert_well_formed(data.graphs)
    assert len(data) == 1797
    np.testing.assert_array_equal(data.targets, load_digits().target)
    assert data.graphs.node_counts.min() > 0
    assert data.graphs.attributes.min() == 0
    assert data.graphs.attributes.max() == 1
    assert "intensity 0.25 or more" in data.description


def test_digits_can_be_told_apart() -> None:
    data = load_digit_graphs()
    features, targets = simple_features(data.graphs[:600]), data.targets[:600]
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    assert cross_val_score(model, features, targets, cv=3).mean() > 0.5


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.5, float("nan")])
def test_threshold_out_of_range(threshold: float) -> None:
    with pytest.raises(InvalidInputError, match="threshold must be above 0 and at most 1, got"):
        load_digit_graphs(threshold)


def test_threshold_that_leaves_an_image_dark() -> None:
    dark = int(np.argmin((load_digits().images >= 16).any(axis=(1, 2))))
    with pytest.raises(InvalidInputError, match=f"image {dark} has no pixel of intensity 1 or mor"):
        load_digit_graphs(1.0)
