"""Parsed copies of collections: used, renewed when the source changes, mended when damaged."""

import os
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from retgk import GraphBatch, GraphDataset, load_tudataset
from retgk.io.formats.parsed_copies import ReadOptions, fingerprint, load_cached, store_cached
from tests.tu_files import toy_graphs, write_zip

load = partial(load_tudataset, download=False)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("RETGK_DATA_HOME", raising=False)


@pytest.fixture
def home(tmp_path):
    write_zip(tmp_path, node_labels="1,0\n" * 6, node_attributes="1,2\n" * 6)
    load("TOY", tmp_path)
    return tmp_path


@pytest.fixture
def no_parsing(monkeypatch):
    def fail(*_):
        raise AssertionError("the source was read")

    name = "retgk.io.formats.tudataset_reader.read_tudataset"
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


def test_a_source_of_the_same_size_with_another_time_is_read_again(home, no_parsing):
    os.utime(home / "TOY.zip", ns=(1, 1))
    no_parsing()
    with pytest.raises(AssertionError, match="was read"):
        load("TOY", home)


def test_other_options_have_their_own_copy(home):
    load("TOY", home, symmetrize=True)
    assert len(list((home / ".retgk-cache").iterdir())) == 2


def test_damage_anywhere_is_noticed_and_mended(home):
    (path,) = (home / ".retgk-cache").iterdir()
    good = path.read_bytes()
    expected = load("TOY", home, cache=False)
    mark = fingerprint(home / "TOY.zip", ReadOptions())
    for position in range(0, len(good), 7):
        path.write_bytes(good[:position] + bytes([good[position] ^ 0x40]) + good[position + 1 :])
        found = load_cached(path, mark)
        # What lies between arrays carries no meaning
        assert found is None or found.graphs == expected.graphs
    for damaged in (b"", good[:5], good[:-1], good + b"x", b"\x80\x04pickle"):
        path.write_bytes(damaged)
        assert load("TOY", home).graphs == expected.graphs
    assert path.read_bytes() == good


def test_flipped_bits_and_swapped_pages_of_an_array_are_noticed(tmp_path):
    values = np.random.default_rng(0).normal(size=(2048, 1))
    graphs = GraphBatch.from_edges(2048, [], attributes=values)
    path = tmp_path / "copy.bin"
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


def test_a_read_only_folder_is_left_alone(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    write_zip(home)
    home.chmod(0o555)
    try:
        load("TOY", home)
        assert [path.name for path in home.iterdir()] == ["TOY.zip"]
        parsed = Path(os.environ["XDG_CACHE_HOME"]) / "retgk" / "parsed"
        assert len(list(parsed.iterdir())) == 1
    finally:
        home.chmod(0o755)


def test_loads_at_the_same_time_agree(tmp_path):
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
    assert len(list((tmp_path / ".retgk-cache").iterdir())) == 1
