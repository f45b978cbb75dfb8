"""Reading and writing collections in TUDataset form."""

import io
import os
import struct
import tracemalloc
import zipfile
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import GraphBatch, GraphDataset, InvalidInputError, _core
from retgk.datasets import load_tudataset, save_tudataset
from retgk.errors import InputWarning
from retgk.io import tables
from retgk.io import tables as archive
from retgk.io import tudataset as edge_files
from tests.errors import fails
from tests.example_files import TOY, toy_graphs, write_folder, write_zip
from tests.example_graphs import edge_label_values, with_random_edge_labels

load = partial(load_tudataset, download=False)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("RETGK_DATA_HOME", raising=False)


@pytest.mark.parametrize("write", [write_folder, write_zip])
def test_reads_archives_and_folders(tmp_path, write):
    write(tmp_path)
    dataset = load("TOY", tmp_path)
    assert dataset.graphs == toy_graphs()
    assert dataset.targets.tolist() == [1, -1, 1]
    assert (dataset.name, dataset.graphs.has_edge_labels, dataset.label_names) == ("TOY", False, ())


def test_data_home_may_be_the_folder_itself_or_come_from_the_environment(tmp_path, monkeypatch):
    write_folder(tmp_path)
    assert load("TOY", tmp_path / "TOY").graphs == toy_graphs()
    monkeypatch.setenv("RETGK_DATA_HOME", str(tmp_path))
    assert load("TOY").graphs == toy_graphs()


def test_reads_labels_and_attributes(tmp_path):
    write_zip(
        tmp_path,
        node_labels="7\n7\n3\n7\n-1\n3\n",
        node_attributes="".join(f"{i}.5, 1e-{i}\n" for i in range(6)),
    )
    graphs = load("TOY", tmp_path).graphs
    values = [[i + 0.5, float(f"1e-{i}")] for i in range(6)]
    assert graphs == toy_graphs(labels=[7, 7, 3, 7, -1, 3], attributes=values)


def test_several_label_columns_make_tuples(tmp_path):
    write_zip(tmp_path, node_labels="1,0\n1,0\n2,0\n1,1\n1,1\n2,0\n")
    assert load("TOY", tmp_path).label_names == ((1, 0), (1, 1), (2, 0))


def test_graph_attributes_are_the_targets_where_there_are_no_labels(tmp_path):
    write_zip(tmp_path, graph_labels=None, graph_attributes="0.1\n-2\n3e4\n")
    assert load("TOY", tmp_path).targets.tolist() == [0.1, -2.0, 3e4]


def test_graphs_may_have_several_values_to_regress_on(tmp_path):
    values = np.array([[0.1, 1], [-2, 2], [3e4, 3]])
    text = "".join(f"{a}, {b}\n" for a, b in values)
    write_zip(tmp_path, graph_labels=None, graph_attributes=text)
    dataset = load("TOY", tmp_path)
    assert np.array_equal(dataset.targets, values)
    save_tudataset(dataset, tmp_path / "again")
    assert np.array_equal(load("TOY", tmp_path / "again").targets, values)


@pytest.mark.parametrize("dense", ["1,1", " 1 ,\t1 "])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n", "\n \n\n"])
def test_white_space_and_last_line_do_not_matter(tmp_path, dense, newline, end):
    text = TOY["A"].replace("1, 1", dense, 1).rstrip("\n") + end
    write_zip(tmp_path, A=text.replace("\n", newline))
    assert load("TOY", tmp_path).graphs == toy_graphs()


def test_an_edge_listed_more_than_once_counts_once(tmp_path):
    write_zip(tmp_path, A=TOY["A"] + "4, 5\n4, 5\n")
    graphs = load("TOY", tmp_path).graphs
    assert graphs == toy_graphs()
    assert not graphs.is_weighted


def test_edges_may_come_in_any_order(tmp_path):
    lines = TOY["A"].splitlines()
    write_zip(tmp_path, A="\n".join(reversed(lines)))
    assert load("TOY", tmp_path).graphs == toy_graphs()


def test_edge_labels_are_in_the_order_of_the_entries(tmp_path):
    # lines: 1-1, 1-2, 2-1, 2-3, 3-2, 3-1, 1-3, 4-5, 5-4
    write_zip(tmp_path, edge_labels="0\n1\n1\n-7\n-7\n5\n5\n8\n8\n")
    # entries: 1-1, 1-2, 1-3, 2-1, 2-3, 3-1, 3-2, 4-5, 5-4
    expected = toy_graphs().with_edge_labels([0, 1, 5, 1, -7, 5, -7, 8, 8])
    for _ in range(2):  # parsed, then from the cache
        assert load("TOY", tmp_path).graphs == expected


def test_symmetrize_copies_edge_labels_to_the_way_back(tmp_path):
    write_zip(tmp_path, A="1, 1\n2, 1\n2, 3\n3, 1\n5, 4\n", edge_labels="5\n6\n7\n8\n9\n")
    dataset = load("TOY", tmp_path, symmetrize=True)
    assert dataset.graphs == toy_graphs().with_edge_labels([5, 6, 8, 6, 7, 8, 7, 9, 9])


def test_edges_of_weight_zero_take_their_labels_along(tmp_path):
    weights = "".join(f"{weight}\n" for weight in (0, 1, 1, 2, 2, 0, 0, 3, 3))
    labels = "0\n1\n1\n-7\n-7\n5\n5\n8\n8\n"
    write_zip(tmp_path, edge_labels=labels, edge_attributes=weights)
    graphs = load("TOY", tmp_path, weight_column=0).graphs
    assert graphs.weights.tolist() == [1, 1, 2, 2, 3, 3]
    assert edge_label_values(graphs) == [1, 1, -7, -7, 8, 8]


@pytest.mark.parametrize("symmetrize", [False, True])
def test_directions_of_an_edge_have_one_label(tmp_path, symmetrize):
    write_zip(tmp_path, edge_labels="0\n1\n1\n-7\n-7\n5\n5\n8\n9\n")
    with pytest.raises(InvalidInputError) as error:
        load("TOY", tmp_path, symmetrize=symmetrize)
    assert str(error.value).endswith(
        "TOY_edge_labels.txt, line 9: the edge from node 5 to node 4 is listed the other way with "
        "another label than in line 8; give both the same, or take TOY_edge_labels.txt out"
    )


def test_weight_column_reads_weights(tmp_path):
    attributes = "".join(f"0, {weight}\n" for weight in (5, 1, 1, 2, 2, 3, 3, 0.5, 0.5))
    write_zip(tmp_path, edge_attributes=attributes)
    with pytest.warns(InputWarning, match="TOY_edge_attributes.txt is not used; weight_column=0"):
        assert not load("TOY", tmp_path).graphs.is_weighted
    weighted = load("TOY", tmp_path, weight_column=1).graphs
    assert weighted == toy_graphs(weights=[5, 1, 2, 3, 0.5])
    fails(lambda: load("TOY", tmp_path, weight_column=2), about=("2 columns", "weight_column=2"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": TOY["A"] + "5, x\n"}, ("TOY_A.txt", "line 10", "2 integers")),
        ({"A": TOY["A"] + "4\n"}, ("TOY_A.txt", "line 10", "2 integers", "'4'")),
        ({"A": TOY["A"] + "4, 5, 1\n"}, ("TOY_A.txt", "line 10", "2 integers")),
        ({"A": "1, 2\n\n2, 1\n"}, ("TOY_A.txt", "line 2", "2 integers")),
        ({"A": "1, 3000000000\n"}, ("TOY_A.txt", "line 1")),
        ({"A": TOY["A"] + "5, 7\n"}, ("TOY_A.txt", "line 10", "node 7", "6 nodes")),
        ({"A": TOY["A"] + "0, 4\n"}, ("TOY_A.txt", "line 10", "node 0", "6 nodes")),
        ({"A": TOY["A"] + "-4, 4\n"}, ("line 10", "node -4", "6 nodes")),
        ({"A": "4, 5\n5, 4\n1, 2\n3, 9\n"}, ("TOY_A.txt", "line 4", "node 9")),
        ({"A": TOY["A"] + "4, 1\n"}, ("line 10", "node 4", "graph 2")),
        ({"A": "1, 2\n2, 1\n4, 5\n"}, ("TOY_A.txt", "line 3", "node 4", "node 5")),
        ({"A": "5, 4\n2, 1\n1, 2\n"}, ("line 1", "node 5", "node 4")),
        (
            {"graph_indicator": "1\n2\n1\n2\n2\n3\n"},
            ("TOY_graph_indicator.txt", "line 3", "graph 1"),
        ),
        ({"graph_indicator": "0\n0\n0\n1\n1\n2\n"}, "graph 0"),
        ({"graph_indicator": ""}, "TOY_graph_indicator.txt"),
        ({"graph_indicator": "1\n1\n1\n3\n3\n4\n"}, ("line 4", "graph 2")),
        ({"graph_indicator": "2\n2\n2\n3\n3\n4\n"}, ("line 1", "graph 1")),
        ({"graph_indicator": "1,1\n" * 6}, ("line 1", "1 integer", "2 columns")),
        ({"graph_labels": "1\n1\n"}, ("TOY_graph_labels.txt", "2 lines", "3 graphs")),
        ({"node_labels": "1\n" * 7}, ("TOY_node_labels.txt", "7 lines", "6 nodes")),
        ({"node_attributes": "1\n" * 5}, ("TOY_node_attributes.txt", "5 lines", "6 nodes")),
        ({"edge_labels": "1\n" * 8}, ("TOY_edge_labels.txt", "8 lines", "9 edges")),
        (
            {"node_attributes": "1,2\n" * 3 + "1,a\n" * 3},
            ("TOY_node_attributes.txt", "line 4", "2 numbers", "'1,a'"),
        ),
        ({"node_attributes": "1,2\n" * 3 + "1\n" * 3}, ("line 4", "2 numbers")),
        ({"node_attributes": "1\n\n" + "1\n" * 4}, ("line 2", "1 number")),
        ({"node_attributes": "1\n2\nnan\n4\n5\n6\n"}, ("graph 0", "attribute 0", "node 2")),
        (
            {"A": TOY["A"] + "4, 5\n", "edge_labels": "1\n" * 9 + "2\n"},
            ("TOY_edge_labels.txt", "line 10", "node 4", "node 5"),
        ),
        (
            {"A": "4, 5\n5, 4\n4, 5\n4, 5\n", "edge_labels": "1\n1\n2\n1\n"},
            ("line 3", "node 4", "node 5", "line 1"),
        ),
        ({"edge_labels": "1,1\n" * 9}, ("TOY_edge_labels.txt", "line 1", "2 columns")),
        ({"graph_labels": "1,1\n" * 3}, ("TOY_graph_labels.txt", "line 1", "2 columns")),
        ({"node_attributes": "1\n2\n1_0\n4\n5\n6\n"}, ("line 3", "1 number", "'1_0'")),
        ({"node_attributes": "\n" + "1\n" * 5}, ("line 1", "1 number")),
        ({"A": None}, ("TOY_A.txt", "TOY_graph_indicator.txt")),
        ({"graph_labels": None}, "TOY_graph_labels.txt"),
    ],
)
def test_mistakes_are_reported_with_file_and_line(tmp_path, changes, message):
    write_zip(tmp_path, **changes)
    fails(lambda: load("TOY", tmp_path), about=message)


@pytest.mark.parametrize(
    "name", ["../TOY", "/TOY", "a/b", "a\\b", "", "..", ".TOY", "TOY\n", None, b"TOY"]
)
def test_names_are_not_paths(tmp_path, name):
    fails(lambda: load(name, tmp_path), about="is not the name")


def test_says_where_to_place_what_is_missing(tmp_path):
    fails(lambda: load("TOY", tmp_path), about="TOY.zip")


def graph_sets():
    """Random collections with random values, from a seed."""

    def build(seed, weighted, label_width, n_attributes, edge_labels):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 6, size=rng.integers(1, 8))
        starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
        nodes = rng.integers(0, sizes.sum(), size=20)
        ends = starts[nodes] + rng.integers(0, np.repeat(sizes, sizes)[nodes])
        labels = rng.integers(-3, 3, (sizes.sum(), label_width)).tolist()
        graphs = GraphBatch.from_edges(
            sizes,
            np.stack([nodes, ends], axis=1),
            rng.random(20) + 0.1 if weighted else None,
            labels=[row[0] if label_width == 1 else tuple(row) for row in labels]
            if label_width
            else None,
            attributes=rng.standard_normal((sizes.sum(), n_attributes)),
            symmetrize=True,
        )
        if not weighted:  # the files hold edges as a set
            graphs = GraphBatch(graphs.node_ptr, graphs.indptr, graphs.indices)
        if edge_labels:
            graphs = with_random_edge_labels(graphs, (-4, 0, 2, 10**17), seed)
        targets = rng.standard_normal(len(sizes)) if weighted else rng.integers(0, 3, len(sizes))
        return GraphDataset(graphs, targets, "RANDOM")

    return st.builds(
        build,
        st.integers(0, 2**32),
        st.booleans(),
        st.integers(0, 2),
        st.integers(0, 3),
        st.booleans(),
    )


@settings(max_examples=40, deadline=None)
@given(dataset=graph_sets())
def test_what_is_saved_is_loaded_again(tmp_path_factory, dataset):
    folder = tmp_path_factory.mktemp("saved")
    save_tudataset(dataset, folder)
    column = 0 if dataset.graphs.is_weighted else None
    for _ in range(2):  # parsed, then from the cache
        again = load("RANDOM", folder, weight_column=column)
        assert again.graphs == dataset.graphs
        assert np.array_equal(again.targets, dataset.targets)
        assert again.targets.dtype == dataset.targets.dtype


@settings(max_examples=30, deadline=None)
@given(dataset=graph_sets(), chunk=st.integers(1, 40), block=st.integers(1, 30))
def test_cuts_between_chunks_and_blocks_do_not_matter(tmp_path_factory, dataset, chunk, block):
    folder = tmp_path_factory.mktemp("cut")
    save_tudataset(dataset, folder)
    column = 0 if dataset.graphs.is_weighted else None
    expected = load("RANDOM", folder, cache=False, weight_column=column)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive, "CHUNK_BYTES", chunk)
        patch.setattr(tables, "PREFETCH_BYTES", 0)
        patch.setattr(edge_files, "BLOCK_EDGES", block)
        found = load("RANDOM", folder, cache=False, weight_column=column)
    assert found.graphs == expected.graphs


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (GraphDataset(toy_graphs(labels=list("abcabc")), np.ones(3), "T"), "integer labels"),
        (GraphDataset(toy_graphs(), np.array(["a", "b", "c"]), "T"), "files hold numbers"),
        (GraphDataset(toy_graphs(), np.ones(3), "a/b"), "not the name of"),
        (GraphDataset(toy_graphs(), np.ones((3, 2), int), "T"), "(3, 2)"),
        (
            GraphDataset(toy_graphs(labels=np.full(6, 2**63 + 1, np.uint64)), np.ones(3), "T"),
            "18 digits",
        ),
        (GraphDataset(toy_graphs(), [1, 2, 10**18], "T"), "the targets hold"),
        (
            GraphDataset(toy_graphs().with_edge_labels([-(10**18)] + [1] * 8), [1, 2, 3], "T"),
            "the edge labels hold",
        ),
        (GraphDataset(toy_graphs().with_edge_labels(["a"] * 9), [1, 2, 3], "T"), "'a'"),
        (GraphDataset(toy_graphs().with_edge_labels([(1, 2)] * 9), [1, 2, 3], "T"), "(1, 2)"),
    ],
)
def test_what_the_form_cannot_hold_is_not_written(tmp_path, dataset, message):
    fails(lambda: save_tudataset(dataset, tmp_path), about=message)
    assert list(tmp_path.iterdir()) == []


def plain_integers(text, n_columns, limit):
    """Lines of integers before the first that is something else, and where that one starts."""
    found, place = [], 0
    for line in text.splitlines(keepends=True):
        fields = line.removesuffix(b"\n").removesuffix(b"\r").split(b",")
        fields = [field.strip(b" \t") for field in fields]
        digits = [field.removeprefix(b"-") for field in fields]
        if len(fields) != n_columns or not all(d.isdigit() and len(d) <= 18 for d in digits):
            return found, place
        if max(map(int, digits)) > limit:
            return found, place
        found.append([int(field) for field in fields])
        place += len(line)
    return found, -1


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@given(
    st.lists(st.text("0123456789999999999--,, \t\r", max_size=25), max_size=6), st.integers(1, 3)
)
@settings(max_examples=300, deadline=None)
def test_integers_are_parsed_as_by_plain_python(dtype, lines, n_columns):
    text = "".join(line + "\n" for line in ["1" + ",2" * (n_columns - 1), *lines]).encode()
    text = text.replace(b"\r", b" ").replace(b" \n", b"\r\n")  # splitlines() would cut at others
    values = np.empty((n_columns, len(text) // (2 * n_columns) + 1), dtype)
    n_lines, bad = _core.parse_integers(np.frombuffer(text, np.uint8), values)
    expected, place = plain_integers(text, n_columns, np.iinfo(dtype).max)
    assert values[:, :n_lines].T.tolist() == expected
    assert bad == place


def test_integers_need_a_newline_and_room():
    values = np.empty((1, 2), np.int64)
    with pytest.raises(ValueError, match="newline"):
        _core.parse_integers(np.frombuffer(b"12", np.uint8), values)
    with pytest.raises(ValueError, match="small"):
        _core.parse_integers(np.frombuffer(b"1\n2\n3\n", np.uint8), values)


@given(st.data(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_neighbours_of_edges_in_any_order(data, symmetrize):
    """Sorted and each once; an edge without one back is named; edges are found again."""
    node_ptr = 3 + np.cumsum([0, *data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))])
    pairs = [
        (i, j)
        for first, last in pairwise(node_ptr)
        for i in range(first, last)
        for j in range(first, last)
    ]
    edges = data.draw(st.lists(st.sampled_from(pairs), max_size=20))
    if data.draw(st.booleans()):
        edges += [(j, i) for i, j in edges]
    listed = np.array(edges, np.int32).reshape(-1, 2).T + np.int32(1)
    both = {*edges, *((j, i) for i, j in edges)} if symmetrize else set(edges)
    columns = np.empty(40, np.int32)
    lengths = np.empty(node_ptr[-1] - 3, np.int64)
    sources, targets = listed.copy()
    *lonely, n = _core.write_neighbours(sources, targets, symmetrize, node_ptr, columns, lengths)
    one_way = {(i - 3, j - 3) for i, j in both if (j, i) not in both}
    assert tuple(lonely) in (one_way or {(-1, -1)})
    if one_way:
        return
    first_of = {node: first for first, last in pairwise(node_ptr) for node in range(first, last)}
    assert columns[:n].tolist() == [j - first_of[i] for i, j in sorted(both)]
    assert lengths.tolist() == [sum(i == node for i, _ in both) for node in range(3, node_ptr[-1])]
    firsts = np.array([0, 0, 0, *(first_of[node] for node in range(3, node_ptr[-1]))])
    indptr = np.concatenate([[0, 0, 0, 0], np.cumsum(lengths)])
    entries = np.empty(len(edges), np.int64)
    _core.entries_of_edges(sources, targets, firsts, indptr, columns[:n], entries)
    assert entries.tolist() == [sorted(both).index(edge) for edge in edges]


def test_first_misplaced_edge():
    node_ptr = np.array([0, 3, 5, 9])
    sources = np.array([1, 3, 6, 9, 6], np.int32)
    targets = np.array([3, 1, 9, 6, 6], np.int32)
    assert _core.first_misplaced_edge(sources, targets, 0, node_ptr) == (-1, 2, 2)
    assert _core.first_misplaced_edge(sources, targets, 1, node_ptr)[0] == 0  # graphs must rise
    for edge, (source, target) in enumerate([(0, 1), (1, 4), (7, 10), (10, 10), (5, 4)]):
        wrong = sources.copy(), targets.copy()
        wrong[0][edge], wrong[1][edge] = source, target
        assert _core.first_misplaced_edge(*wrong, 0, node_ptr)[0] == edge


# Archives from strangers: each attack is a clear error, and nothing is left behind


@pytest.fixture
def nothing_left_behind(tmp_path, monkeypatch):
    """After the test there are the files that it made itself, and no others."""
    cache, scratch = tmp_path / "cache", tmp_path / "scratch"
    for folder in (cache, scratch):
        folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("TMPDIR", str(scratch))
    yield
    assert list(cache.rglob("*")) == []
    assert list(scratch.rglob("*")) == []
    left = {path.name for path in (tmp_path / "home").rglob("*") if path.is_file()}
    assert {name for name in left if not name.startswith("TOY")} == set()


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def assert_refused(home, message, **options):
    before = sorted(home.rglob("*"))
    fails(lambda: load_tudataset("TOY", home, download=False, **options), about=message)
    assert sorted(home.rglob("*")) == before


def add_member(path, info, content=b""):
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(info, content)


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../TOY_edge_labels.txt", "leads out of the archive"),
        ("TOY/../../escape.txt", "leads out of the archive"),
        ("/etc/escape.txt", "absolute path, or one for another system"),
        ("..\\escape.txt", "absolute path, or one for another system"),
        ("C:escape.txt", "absolute path, or one for another system"),
    ],
)
def test_path_escape(home, name, message):
    add_member(write_zip(home), zipfile.ZipInfo(name), b"1\n")
    assert_refused(home, message)


@pytest.mark.usefixtures("nothing_left_behind")
def test_link(home):
    info = zipfile.ZipInfo("TOY/TOY_node_labels.txt")
    info.create_system = 3
    info.external_attr = 0o120777 << 16
    add_member(write_zip(home), info, b"/etc/passwd")
    assert_refused(home, "is a link or")


@pytest.mark.usefixtures("nothing_left_behind")
def test_link_in_a_folder(home):
    write_folder(home)
    os.symlink("/etc/hostname", home / "TOY" / "TOY_node_labels.txt")
    assert_refused(home, ("TOY_node_labels.txt", "link"))


@pytest.mark.usefixtures("nothing_left_behind")
def test_two_members_of_one_name(home):
    add_member(write_zip(home), zipfile.ZipInfo("other/TOY_A.txt"), b"1, 1\n")
    assert_refused(home, ("TOY/TOY_A.txt", "other/TOY_A.txt"))


@pytest.mark.usefixtures("nothing_left_behind")
def test_bomb_is_refused_before_it_is_unpacked(home):
    path = write_zip(home, A=None)
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("TOY/TOY_A.txt", "w") as stream,
    ):
        for _ in range(64):
            stream.write(b"1, 1\n" * 200_000)
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    assert_refused(home, "10000000 allowed", max_bytes=10**7)
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


@pytest.mark.usefixtures("nothing_left_behind")
def test_a_caller_can_raise_the_limit(home):
    write_zip(home)
    assert_refused(home, "10 allowed", max_bytes=10)
    assert len(load_tudataset("TOY", home, max_bytes=1000, cache=False).graphs) == 3


@pytest.mark.usefixtures("nothing_left_behind")
def test_bomb_that_lies_about_its_size(home):
    """The declared size is changed in the directory and in the member's own header."""
    path = write_zip(home, A=TOY["A"] + "1, 1\n" * 100_000)
    with zipfile.ZipFile(path) as archive:
        size = archive.getinfo("TOY/TOY_A.txt").file_size
    content = path.read_bytes()
    true, false = struct.pack("<I", size), struct.pack("<I", 55)
    assert content.count(true) == 2
    path.write_bytes(content.replace(true, false))
    assert_refused(home, "TOY_A.txt")


@pytest.mark.usefixtures("nothing_left_behind")
def test_other_compressions_are_refused(home):
    """They unpack without a bound on memory."""
    info = zipfile.ZipInfo("TOY/extra.txt")
    info.compress_type = zipfile.ZIP_BZIP2
    add_member(write_zip(home), info, b"1\n" * 1000)
    assert_refused(home, "is compressed in another")


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated_archive(home, share):
    path = write_zip(home)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    assert_refused(home, ("TOY.zip", "whole zip archive"))


@pytest.mark.usefixtures("nothing_left_behind")
def test_damaged_content_fails_its_checksum(home):
    path = home / "TOY.zip"
    with zipfile.ZipFile(path, "w") as archive:  # stored: a changed byte stays one
        for kind, text in TOY.items():
            archive.writestr(f"TOY/TOY_{kind}.txt", text)
    path.write_bytes(path.read_bytes().replace(b"1\n-1\n1\n", b"1\n-1\n2\n"))
    assert_refused(home, ("TOY_graph_labels.txt", "CRC-32"))


@pytest.mark.usefixtures("nothing_left_behind")
def test_damaged_deflate_stream(home):
    rng = np.random.default_rng(0)
    lines = "".join(f"{node}, {node}\n" for node in rng.integers(1, 7, 50_000))
    path = write_zip(home, A=lines)
    content = bytearray(path.read_bytes())
    middle = content.index(b"TOY/TOY_A.txt") + 2000
    content[middle : middle + 64] = rng.bytes(64)
    path.write_bytes(bytes(content))
    assert_refused(home, "TOY_A.txt")


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("kind", ["A", "graph_indicator", "graph_labels", "node_labels"])
@pytest.mark.parametrize("size", [100, 3_000_000])
def test_binary_noise_in_a_member(home, kind, size):
    write_zip(home, **{kind: np.random.default_rng(1).bytes(size)})
    assert_refused(home, (f"TOY_{kind}.txt", "line 1"))


@pytest.mark.usefixtures("nothing_left_behind")
def test_binary_noise_in_attributes(home):
    write_zip(home, node_attributes=np.random.default_rng(1).bytes(1000))
    assert_refused(home, ("TOY_node_attributes.txt", "line 1"))


@pytest.mark.usefixtures("nothing_left_behind")
def test_one_endless_line(home):
    write_zip(home, A=b"1" * (17 << 20))
    assert_refused(home, ("TOY_A.txt", "16777216 bytes"))


@pytest.mark.usefixtures("nothing_left_behind")
def test_binary_noise_for_an_archive(home):
    (home / "TOY.zip").write_bytes(np.random.default_rng(2).bytes(10_000))
    assert_refused(home, ("TOY.zip", "whole zip archive"))


@pytest.mark.usefixtures("nothing_left_behind")
def test_messages_show_no_control_characters(home):
    write_zip(home, A=b"\x1b[2Jgone\n")
    with pytest.raises(InvalidInputError) as caught:
        load_tudataset("TOY", home, download=False)
    assert "\x1b" not in str(caught.value)


@pytest.mark.usefixtures("nothing_left_behind")
def test_archive_inside_an_archive_is_not_opened(home):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("TOY/TOY_A.txt", TOY["A"])
    add_member(write_zip(home, A=None), zipfile.ZipInfo("TOY/TOY.zip"), inner.getvalue())
    assert_refused(home, "has no TOY_A.txt")
