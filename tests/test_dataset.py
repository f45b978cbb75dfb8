"""What holds for every collection of graphs."""

import hashlib
import os
import threading
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from retgk import GraphBatch, GraphClassifier, RetGK, Walks, as_batch
from retgk import datasets as download
from retgk.datasets import (
    FAMILIES,
    load_digit_graphs,
    load_tudataset,
    make_graph_classification,
    uniform_edges,
)
from retgk.errors import InputWarning
from retgk.io.cache import ReadOptions, fingerprint, load_cached, store_cached
from retgk.io.dataset import GraphDataset, missing_targets
from tests.errors import fails
from tests.example_files import toy_graphs, write_folder, write_zip
from tests.example_graphs import assert_well_formed, dense, edge_label_values, simple_features
from tests.model_file_mutations import with_array


def test_targets_become_an_array():
    dataset = GraphDataset(toy_graphs(), ["a", "b", "a"], "T")
    assert dataset.targets.tolist() == ["a", "b", "a"]
    assert GraphDataset(toy_graphs(), np.ones((3, 2)), "T").targets.shape == (3, 2)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"targets": [1, 2]}, ("3 graphs", "2 targets")),
        ({"targets": 1}, ("T: targets must be", "for each graph; got")),
        ({"targets": np.ones((3, 1, 1))}, "(3, 1, 1)"),
        ({"targets": np.ones((3, 0))}, "(3, 0)"),
        ({"graph_names": ["a"]}, ("3 graphs", "1 names")),
        ({"rows": [0, 2]}, ("3 graphs", "2 rows")),
    ],
)
def test_values_that_do_not_fit_the_graphs(values, message):
    fails(
        lambda: GraphDataset(
            **{"graphs": toy_graphs(), "targets": [1, 2, 3], "name": "T", **values}
        ),
        about=message,
    )


FIRST, SECOND = [10, 11, 12, 11, 13, 12, 13], [20, 20]


def toy() -> GraphDataset:
    """Graphs of 7, 2 and 0 entries, whose edge labels say which graph they are of."""
    return GraphDataset(
        toy_graphs().with_edge_labels(FIRST + SECOND), ["a", "b", "c"], "T", "about"
    )


@pytest.mark.parametrize(
    ("key", "targets", "labels"),
    [
        (slice(0, 2), ["a", "b"], FIRST + SECOND),
        (slice(None, None, -1), ["c", "b", "a"], SECOND + FIRST),
        (slice(3, None), [], []),
        ([2, 1, 1], ["c", "b", "b"], SECOND + SECOND),
        (np.array([-1]), ["c"], []),
        (np.array([False, True, True]), ["b", "c"], SECOND),
        ([True, False, False], ["a"], FIRST),
        ([], [], []),
        (np.array([]), [], []),
        (1, ["b"], SECOND),
        (np.int64(-2), ["b"], SECOND),
        ((np.array([1]), ...), ["b"], SECOND),
    ],
)
def test_selected_graphs_keep_their_targets_and_edge_labels(key, targets, labels):
    found = toy()[key]
    assert isinstance(found, GraphDataset)
    assert found.graphs == toy().graphs[key]
    assert (found.targets.tolist(), edge_label_values(found.graphs)) == (targets, labels)
    assert (found.name, found.description) == ("T", "about")


def test_a_selection_keeps_names_and_rows_aligned():
    data = GraphDataset(toy_graphs(), None, "T", graph_names=["x", "y", "z"], rows=[4, 7, 9])
    found = data[[2, 0]]
    assert (found.targets, found.graph_names, found.rows.tolist()) == (None, ["z", "x"], [9, 4])
    assert data[1].graph_names == ["y"]
    assert repr(found).endswith("no targets)")
    fails(lambda: quick().fit(data), about="fit requires y to")


@pytest.mark.parametrize(
    ("targets", "missing"),
    [
        ([1, 2, 3], []),
        (["a", "b", "c"], []),
        ([1.0, np.nan, np.inf], [1, 2]),
        (np.array(["a", None, float("nan")], object), [1, 2]),
        (["a", float("nan"), "b"], [1]),  # a list, in which NumPy makes it the text "nan"
        ([[1.0, np.nan], [1, 2], [np.nan, 3]], [0, 2]),
    ],
)
def test_missing_targets(targets, missing):
    data = GraphDataset(toy_graphs(), targets, "T")
    assert np.unique(np.nonzero(missing_targets(data.targets))[0]).tolist() == missing
    assert data.first_without_target() == (missing[0] if missing else None)


def test_a_data_set_is_its_batch():
    assert as_batch(toy_data := toy()) is toy_data.graphs


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (3, ("graph 3", "3 graphs")),
        ([0, -4], ("graph -4", "3 graphs")),
        ([True, False], ("2 booleans", "3 graphs")),
        ("a", "graphs are selected by"),
        (True, "graphs are selected by"),
        ((0, 1), "graphs are selected by"),
    ],
)
def test_keys_that_select_nothing(key, message):
    fails(lambda: toy()[key], about=message, error=IndexError)


def test_a_loop_gives_data_sets_of_one_graph():
    parts = list(toy())
    assert [part.targets.tolist() for part in parts] == [["a"], ["b"], ["c"]]
    assert as_batch(parts) == toy().graphs
    array = np.asarray(toy())
    assert (array.shape, array.dtype) == ((3,), object)
    assert array[1].targets.tolist() == ["b"]


@pytest.fixture(scope="module")
def classes():
    return make_graph_classification(n_graphs=60, n_labels=3, n_nodes=(5, 12), rng=0)


def quick(**options):
    return GraphClassifier(RetGK(walks=Walks(8)), C=10, cv=2, random_state=0, **options)


def test_searches_and_splits_take_a_data_set_for_its_graphs(classes):
    search = GridSearchCV(quick(candidates={}), {"kernel__walks__n_steps": [4, 8]}, cv=2)
    same = GridSearchCV(quick(candidates={}), {"kernel__walks__n_steps": [4, 8]}, cv=2)
    search.fit(classes, classes.targets)
    same.fit(classes.graphs, classes.targets)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], same.cv_results_["mean_test_score"]
    )
    train, test = train_test_split(classes, random_state=0, stratify=classes.targets)
    assert isinstance(train, GraphDataset)
    assert quick().fit(train).score(test) > 0.5


# Parsed copies of collections: used, renewed when the source changes, mended when damaged

load = partial(load_tudataset, download=False)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.delenv("RETGK_DATA_HOME", raising=False)
    monkeypatch.delenv("RETGK_CACHE_HOME", raising=False)
    return folder / "retgk" / "parsed"


@pytest.fixture
def home(tmp_path):
    write_zip(tmp_path, node_labels="1,0\n" * 6, node_attributes="1,2\n" * 6)
    load("TOY", tmp_path)
    return tmp_path


@pytest.fixture
def no_parsing(monkeypatch):
    def fail(*_):
        raise AssertionError("the source was read")

    name = "retgk.datasets.read_tudataset"
    return lambda: monkeypatch.setattr(name, fail)


def test_second_load_does_not_parse(home, no_parsing):
    first = load("TOY", home, cache=False)
    no_parsing()
    second = load("TOY", home)
    assert second.graphs == first.graphs
    assert second.label_names == first.label_names == ((1, 0),)
    assert (second.name, second.description) == (first.name, first.description)
    assert not second.graphs.indices.flags.writeable
    assert second.targets.flags.writeable


def test_a_changed_source_is_read_again(home):
    write_zip(home, graph_labels="4\n5\n6\n")
    assert load("TOY", home).targets.tolist() == [4, 5, 6]


def test_another_time_of_the_same_bytes_changes_nothing(home, no_parsing):
    os.utime(home / "TOY.zip", ns=(1, 1))
    no_parsing()
    load("TOY", home)


@pytest.mark.parametrize("kind", ["archive", "folder"])
def test_an_edit_that_keeps_size_and_time_is_noticed(tmp_path, kind):
    write = {"archive": write_zip, "folder": write_folder}[kind]
    write(tmp_path, graph_labels="1\n2\n3\n")
    path = tmp_path / ("TOY.zip" if kind == "archive" else "TOY/TOY_graph_labels.txt")
    assert load("TOY", tmp_path).targets.tolist() == [1, 2, 3]
    before = path.stat()
    if kind == "archive":
        write_zip(tmp_path, graph_labels="1\n2\n4\n")
    else:
        path.write_text("1\n2\n4\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert load("TOY", tmp_path).targets.tolist() == [1, 2, 4]


def test_other_options_have_their_own_copy(home, own_cache):
    load("TOY", home, symmetrize=True)
    assert len(list(own_cache.iterdir())) == 2


def test_the_same_name_in_another_folder_has_its_own_copy(home, own_cache, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    write_zip(other, graph_labels="4\n5\n6\n")
    assert load("TOY", other).targets.tolist() == [4, 5, 6]
    assert load("TOY", home).targets.tolist() != [4, 5, 6]
    assert len(list(own_cache.iterdir())) == 2


def test_copies_go_where_the_user_wants_them(home, tmp_path, monkeypatch, no_parsing):
    monkeypatch.setenv("RETGK_CACHE_HOME", str(tmp_path / "by variable"))
    load("TOY", home)
    load("TOY", home, cache=tmp_path / "by argument")
    for name in ("by variable", "by argument"):
        assert len(list((tmp_path / name).iterdir())) == 1
    no_parsing()
    load("TOY", home, cache=str(tmp_path / "by argument"))


def test_damage_anywhere_is_noticed_and_mended(home, own_cache):
    (path,) = own_cache.iterdir()
    good = path.read_bytes()
    expected = load("TOY", home, cache=False)
    mark = fingerprint(home / "TOY.zip", ReadOptions())
    for position in range(0, len(good), 7):
        path.write_bytes(good[:position] + bytes([good[position] ^ 0x40]) + good[position + 1 :])
        assert load_cached(path, mark) is None
    for damaged in (b"", good[:5], good[:-1], good + b"x", b"\x80\x04pickle"):
        path.write_bytes(damaged)
        assert load("TOY", home).graphs == expected.graphs
    assert path.read_bytes() == good


def test_flipped_bits_and_swapped_pages_of_an_array_are_noticed(tmp_path):
    values = np.random.default_rng(0).normal(size=(2048, 1))
    graphs = GraphBatch.from_edges(2048, [], attributes=values)
    path = tmp_path / "copy.safetensors"
    store_cached(path, GraphDataset(graphs, [1], "BIG"), "mark")
    assert load_cached(path, "mark").graphs == graphs
    good, page = path.read_bytes(), values.tobytes()[:4096]
    start = good.index(page)
    other = good[start + 4096 : start + 8192]
    flipped = good[: start + 99] + bytes([good[start + 99] ^ 1]) + good[start + 100 :]
    swapped = good[:start] + other + page + good[start + 8192 :]
    for damaged in (flipped, swapped):
        path.write_bytes(damaged)
        assert load_cached(path, "mark") is None


def test_a_read_only_folder_is_left_alone(tmp_path, own_cache):
    home = tmp_path / "home"
    home.mkdir()
    write_zip(home)
    home.chmod(0o555)
    try:
        load("TOY", home)
        assert [path.name for path in home.iterdir()] == ["TOY.zip"]
        assert len(list(own_cache.iterdir())) == 1
    finally:
        home.chmod(0o755)


def test_loads_at_the_same_time_agree(tmp_path, own_cache):
    write_zip(tmp_path)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(load("TOY", tmp_path).graphs))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [toy_graphs()] * 8
    assert len(list(own_cache.iterdir())) == 1


def with_value(value, at=1):
    def change(values):
        changed = values.copy()
        changed.reshape(-1)[at] = value
        return changed

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("indices", with_value(1 << 30)),
        ("indices", with_value(-1)),
        ("indices", with_value(3)),
        ("indptr", with_value(1 << 40)),
        ("indptr", with_value(-3)),
        ("indptr", with_value(7, at=-1)),
        ("node_ptr", with_value(0)),
        ("node_ptr", with_value(100, at=-1)),
        ("node_ptr", with_value(1, at=0)),
        ("labels", with_value(9)),
        ("labels", with_value(-1)),
        ("attributes", with_value(np.nan)),
        ("attributes", with_value(np.inf)),
    ],
)
def test_what_leads_out_of_the_arrays_is_refused(home, own_cache, name, change):
    """On the arrays as they were such a copy ended in a segmentation fault."""
    (path,) = own_cache.iterdir()
    good = path.read_bytes()
    mark = fingerprint(home / "TOY.zip", ReadOptions())
    assert load_cached(path, mark).graphs == load("TOY", home, cache=False).graphs
    path.write_bytes(with_array(good, name, lambda values: values))
    assert load_cached(path, mark) is not None
    path.write_bytes(with_array(good, name, change))
    assert load_cached(path, mark) is None


def test_the_warning_of_an_unknown_member_comes_with_the_copy_too(tmp_path):
    write_zip(tmp_path, node_label="1\n" * 6)
    for _ in range(2):
        with pytest.warns(InputWarning, match=r"TOY_node_label.txt was not read"):
            assert not load("TOY", tmp_path).graphs.has_labels


# test_generators

MAKERS: dict[str, Callable[..., GraphDataset]] = {
    "structure": lambda **options: make_graph_classification(40, 4, **options),
    "mixed": lambda **options: make_graph_classification(
        40, 6, n_labels=3, n_attributes=2, **options
    ),
}


def baseline_accuracy(data: GraphDataset) -> float:
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    return float(cross_val_score(model, simple_features(data.graphs), data.targets, cv=5).mean())


@pytest.mark.parametrize("maker", MAKERS)
def test_same_seed_same_graphs(maker: str) -> None:
    first, again = (MAKERS[maker](rng=3) for _ in range(2))
    assert first.graphs == again.graphs
    np.testing.assert_array_equal(first.targets, again.targets)
    generator = MAKERS[maker](rng=np.random.default_rng(3))
    assert generator.graphs == first.graphs
    assert MAKERS[maker](rng=4).graphs != first.graphs


@pytest.mark.parametrize("maker", MAKERS)
def test_graphs_are_simple_and_classes_balanced(maker: str) -> None:
    data = MAKERS[maker](rng=0)
    assert_well_formed(data.graphs)
    assert not data.graphs.is_weighted
    assert 2 * data.graphs.n_edges == len(data.graphs.indices), "no self-loops"
    counts = np.bincount(data.targets)
    assert counts.max() - counts.min() <= 1
    assert (np.diff(data.targets) < 0).any(), "targets must not be sorted"


@pytest.mark.parametrize("family", FAMILIES)
@given(n_nodes=st.integers(5, 60), seed=st.integers(0, 99))
def test_families_give_distinct_edges(family: str, n_nodes: int, seed: int) -> None:
    edges = FAMILIES[family](n_nodes, 4.0, np.random.default_rng(seed))
    assert edges.min(initial=0) >= 0
    assert edges.max(initial=0) < n_nodes
    assert (edges[:, 0] != edges[:, 1]).all()
    assert len({frozenset(edge) for edge in edges.tolist()}) == len(edges)


def test_families_have_their_shape() -> None:
    rng = np.random.default_rng(0)
    largest = {
        name: np.bincount(family(3000, 4.0, rng).ravel()).max() for name, family in FAMILIES.items()
    }
    assert largest["barabasi_albert"] > 3 * largest["erdos_renyi"]
    assert largest["watts_strogatz"] < largest["erdos_renyi"]
    low, high = FAMILIES["stochastic_block"](3000, 4.0, rng).T
    assert ((low < 1500) != (high < 1500)).mean() == pytest.approx(0.1, abs=0.02)


@given(st.integers(2, 12), st.data())
def test_uniform_edges(n_nodes: int, data: st.DataObject) -> None:
    n_pairs = n_nodes * (n_nodes - 1) // 2
    n_edges = data.draw(st.integers(0, n_pairs))
    edges = uniform_edges(n_nodes, n_edges, np.random.default_rng(0))
    assert len({tuple(edge) for edge in edges.tolist()}) == n_edges
    assert (edges[:, 0] < edges[:, 1]).all()
    assert edges.max(initial=0) < n_nodes
    every = uniform_edges(n_nodes, n_pairs, np.random.default_rng(0))
    np.testing.assert_array_equal(
        np.unique(every, axis=0), np.stack(np.triu_indices(n_nodes, 1), axis=1)
    )


@pytest.mark.parametrize(
    ("options", "accuracy"),
    [
        ({"n_classes": 4}, 0.7),
        ({"n_classes": 2}, 0.9),
        ({"families": ["erdos_renyi"], "n_labels": 4}, 0.85),
        ({"families": ["erdos_renyi"], "n_attributes": 2}, 0.65),
        ({"n_classes": 6, "n_labels": 3, "n_attributes": 2}, 0.8),
    ],
)
def test_classes_can_be_told_apart(options: dict[str, Any], accuracy: float) -> None:
    assert baseline_accuracy(make_graph_classification(rng=0, **options)) > accuracy


def test_sizes_labels_and_attributes_asked_for() -> None:
    graphs = make_graph_classification(
        50, 3, n_labels=5, n_attributes=7, n_nodes=(5, 8), rng=0
    ).graphs
    assert set(graphs.node_counts) == {5, 6, 7, 8}
    assert set(graphs.label_names) <= set(range(5))
    assert graphs.n_attributes == 7
    plain = make_graph_classification(50, rng=0).graphs
    assert not plain.has_labels
    assert plain.n_attributes == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_graph_classification(10, 5), ("5 classes", "4 families")),
        (lambda: make_graph_classification(3, 4), "n_classes must be 1"),
        (lambda: make_graph_classification(3, 0), "n_classes must be 1"),
        (lambda: make_graph_classification(families=["tree"]), "'tree'"),
        (lambda: make_graph_classification(families="erdos_renyi"), "families must be a"),
        (lambda: make_graph_classification(families=[]), ("families must be a", "got []")),
        (lambda: make_graph_classification(n_nodes=(9, 8)), "n_nodes must be two"),
        (lambda: make_graph_classification(n_nodes=5), ("n_nodes must be two", "got 5")),
        (lambda: make_graph_classification(n_nodes=(5, 6, 7)), "n_nodes must be two"),
        (lambda: make_graph_classification(n_labels=-1), "n_labels must be a"),
        (lambda: make_graph_classification(n_attributes=-1), ("n_attributes must", "got -1")),
    ],
)
def test_bad_parameters(make: Callable[[], Any], message: str) -> None:
    fails(make, about=message)


# Fetching collections, from a server on loopback


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    """Folder that is served on loopback, and its address."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = partial(QuietHandler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def test_fetches_from_the_first_mirror_that_answers(tmp_path, server, monkeypatch):
    folder, address = server
    write_zip(folder)
    mirrors = (f"{address}/missing/{{name}}.zip", f"{address}/{{name}}.zip")
    monkeypatch.setattr(download, "MIRRORS", mirrors)
    home = tmp_path / "home"
    assert load_tudataset("TOY", home).graphs == toy_graphs()
    content = (home / "TOY.zip").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    assert (home / "TOY.zip.sha256").read_text() == f"{digest}  TOY.zip\n"
    names = {path.name for path in home.iterdir()}
    assert names == {"TOY.zip", "TOY.zip.sha256"}
    (folder / "TOY.zip").unlink()  # from now on the copy serves
    assert load_tudataset("TOY", home, cache=False).graphs == toy_graphs()


def test_says_what_to_do_offline(tmp_path, server, monkeypatch):
    _, address = server
    monkeypatch.setattr(download, "MIRRORS", (f"{address}/{{name}}.zip",))
    home = tmp_path / "home"
    fails(lambda: load_tudataset("TOY", home), about="TOY.zip")
    assert list(home.iterdir()) == []


def test_a_changed_archive_is_noticed(tmp_path, server, monkeypatch):
    folder, address = server
    write_zip(folder)
    monkeypatch.setattr(download, "MIRRORS", (f"{address}/{{name}}.zip",))
    home = tmp_path / "home"
    load_tudataset("TOY", home)
    write_zip(home, graph_labels="4\n5\n6\n")
    fails(lambda: load_tudataset("TOY", home), about="TOY.zip")
    (home / "TOY.zip.sha256").unlink()
    assert load_tudataset("TOY", home).targets.tolist() == [4, 5, 6]


# test_digits


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


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.5, float("nan")])
def test_threshold_out_of_range(threshold: float) -> None:
    fails(lambda: load_digit_graphs(threshold), about="0 and")


def test_threshold_that_leaves_an_image_dark() -> None:
    dark = int(np.argmin((load_digits().images >= 16).any(axis=(1, 2))))
    fails(lambda: load_digit_graphs(1.0), about=(f"image {dark}", "intensity 1"))
