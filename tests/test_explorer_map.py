"""Places on the map of `explore`, and nearest graphs."""

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from retgk import _core, explore
from retgk.explorer import map as projection
from retgk.explorer.map import map_places, nearest_graphs
from tests.cli_calls import DATA
from tests.unpacked_pages import nearest_by_sorting, unpacked


@pytest.fixture(scope="module")
def vectors() -> Any:
    return np.random.default_rng(0).normal(size=(300, 20)).astype(np.float32)


@pytest.mark.parametrize("is_large", [False, True])
def test_nearest_graphs(vectors: Any, is_large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_large:  # candidates by few coordinates, ranked by all
        monkeypatch.setattr(projection, "_SEARCHED_WHOLE", 10)
        monkeypatch.setattr(projection, "_SEARCHED_DIMENSIONS", 12)
    found = nearest_graphs(vectors, 5)
    known = nearest_by_sorting(vectors, 5)
    same = np.mean(found.indices == known)
    assert same > 0.95 if is_large else same == 1
    assert (np.diff(found.distances, axis=1) >= 0).all()
    own = np.linalg.norm(vectors[0] - vectors[found.indices[0, 0]])
    assert found.distances[0, 0] == pytest.approx(own)


@pytest.mark.parametrize("count", [1, 3, 40])
def test_find_smallest(count: int) -> None:
    values = np.random.default_rng(0).integers(30, size=(20, 500)).astype(np.float32)
    values[:, ::50] = np.inf
    values[0] = np.inf
    found = np.empty((20, count), np.int64)
    _core.find_smallest(values, found)
    np.testing.assert_array_equal(found, np.argsort(values, axis=1, kind="stable")[:, :count])


def test_equal_graphs_are_at_distance_zero_in_order() -> None:
    found = nearest_graphs(np.ones((6, 3), np.float32), 3)
    assert found.indices[4].tolist() == [0, 1, 2]
    assert not found.distances.any()


def kept(vectors: Any, places: Any, k: int = 10) -> float:
    known, found = nearest_by_sorting(vectors, k), nearest_by_sorting(places, k)
    return float(np.mean([len(set(a) & set(b)) / k for a, b in zip(known, found, strict=True)]))


HAS_OPENTSNE = find_spec("openTSNE") is not None


@pytest.mark.parametrize("package", ["openTSNE", "scikit-learn"])
def test_the_map_keeps_neighbours(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if package == "scikit-learn":
        monkeypatch.setattr(projection, "find_spec", lambda _: None)
    elif not HAS_OPENTSNE:
        pytest.skip("openTSNE is not installed: pip install openTSNE")
    points = np.random.default_rng(1).normal(size=(6, 30)).repeat(40, axis=0)
    points = (points + np.random.default_rng(2).normal(size=points.shape)).astype(np.float32)
    near = map_places(points, "tsne", 0, n_jobs=1)
    flat = map_places(points, "pca")
    assert kept(points, near.places) > 1.5 * kept(points, flat.places)
    assert near.method == "t-SNE"
    assert flat.method.startswith("kernel PCA (")
    again = map_places(points, "tsne", 0, n_jobs=2)
    np.testing.assert_array_equal(near.places, again.places)


def test_few_graphs_have_a_map_too() -> None:
    for n_graphs in (1, 2, 3, 13):
        page = explore(DATA.graphs[:n_graphs])
        header, arrays = unpacked(page.text)
        assert arrays["map"].shape == (2 * n_graphs,)
        assert header["near"]["count"] == min(10, n_graphs - 1)


def test_a_lone_graph_leaves_room_for_the_rest(
    vectors: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    thrown_out = vectors[:, :2].astype(float)
    thrown_out[0] = 500.0
    for name in ("_open_tsne", "_sklearn_tsne"):
        monkeypatch.setattr(projection, name, lambda *_: thrown_out)
    places = map_places(vectors, "tsne").places
    radii = np.linalg.norm(places, axis=1)
    assert radii[0] == radii.max() < 3 * np.quantile(radii, 0.9)
    np.testing.assert_allclose(places[1] - places[2], thrown_out[1] - thrown_out[2])


def test_vectors_of_others() -> None:
    rng = np.random.default_rng(0)
    own = rng.normal(size=(len(DATA), 3)).astype(np.float32)
    _, arrays = unpacked(explore(DATA, vectors=own).text)
    np.testing.assert_array_equal(arrays["near"].reshape(-1, 10), nearest_by_sorting(own, 10))
