"""Parsed copies of collections: used, renewed when the source changes, mended when damaged."""

import os
import threading
from functools import partial

import numpy as np
import pytest

from retgk import GraphBatch, GraphDataset, load_tudataset
from retgk.errors import InputWarning
from retgk.io.cache import ReadOptions, fingerprint, load_cached, store_cached
from tests.model_file_mutations import with_array
from tests.tu_files import toy_graphs, write_folder, write_zip

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


def test_nothing_is_put_beside_the_files_of_the_user(home, own_cache):
    assert [path.name for path in home.iterdir()] == ["TOY.zip"]
    assert len(list(own_cache.iterdir())) == 1


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
