"""Files of edges, there and back, and what is wrong with them."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import GraphBatch, InvalidInputError, read_graphs, write_edge_list

from .strategies import dense, dense_from_edges


def graphs(weights=None, **values):
    edges = [[0, 2], [1, 2], [1, 1], [3, 4]]
    return GraphBatch.from_edges([3, 2], edges, weights, symmetrize=True, **values)


def written(folder, content, name="bad.edges"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("weights", [None, [0.1, 1e-9, 3.0, 1e9]])
def test_there_and_back(tmp_path, weights):
    batch = graphs(weights)
    paths = write_edge_list(batch, tmp_path / "new")
    assert [path.name for path in paths] == ["graph-0.edges", "graph-1.edges"]
    assert read_graphs(tmp_path / "new", weighted=weights is not None).graphs == batch


@settings(max_examples=40, deadline=None)
@given(
    edges=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12),
    seed=st.integers(0, 2**32),
    blank=st.sampled_from(["", "\n", "  \n# comment\n"]),
)
def test_lines_are_the_edges_of_from_edges(tmp_path_factory, edges, seed, blank):
    weights = np.random.default_rng(seed).random(len(edges)).round(3) + 0.001
    lines = [f" {a}\t{b}  {w}\n" for (a, b), w in zip(edges, weights, strict=True)]
    path = written(tmp_path_factory.mktemp("edges"), blank.join(lines), "one.edges")
    names = {
        node: rank for rank, node in enumerate(sorted({end for edge in edges for end in edge}))
    }
    numbered = [[names[a], names[b]] for a, b in edges]
    expected = dense_from_edges(len(names), numbered, weights, symmetrize=True)
    np.testing.assert_allclose(dense(read_graphs(path, weighted=True).graphs), expected)
    plain = dense_from_edges(len(names), numbered, symmetrize=True)
    np.testing.assert_array_equal(dense(read_graphs(path).graphs), plain)


def test_files_of_others(tmp_path):
    plain = written(tmp_path, "\ufeff# a comment\nb,a\na, c\n", "names.edges")
    packed = tmp_path / "numbers.edges.gz"
    with gzip.open(packed, "wt") as stream:
        stream.write("10 2 more\n2 1\n")
    path = GraphBatch.from_edges([3], [[0, 1], [1, 2]], symmetrize=True)
    assert read_graphs(plain, delimiter=",").graphs == path  # b - a - c
    assert read_graphs(packed).graphs == path  # 1 - 2 - 10
    plain.unlink()
    assert read_graphs(tmp_path).graphs == path


def test_parallel_edges_add_up_and_directions_do_not(tmp_path):
    path = written(tmp_path, "1 2 0.5\n1 2 0.5\n2 1 0.25\n2 3 1\n3 2 4\n")
    assert read_graphs(path, weighted=True).graphs == GraphBatch.from_edges(
        3, [[0, 1], [1, 2]], [1.0, 4.0], symmetrize=True
    )


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            "1 2\n2\n3 4\n",
            {},
            r"bad.edges, line 2, '2': expected two nodes separated by white space",
        ),
        ("1 2\n# no\n1,2\n", {}, r"line 3, '1,2': .*; pass delimiter=',' if"),
        ("1, 2\n", {}, r"line 1, '1, 2': .*; pass delimiter=',' if they"),
        ("1;2\n", {}, r"line 1, .*; pass delimiter=';'"),
        ("1,2\n1\n", {"delimiter": ","}, r"line 2, '1': expected two nodes separated by ','"),
        ("1,,2\n", {"delimiter": ","}, r"line 1, .*: expected two nodes separated by ','"),
        (
            "1 2 1\n1 2 x\n",
            {"weighted": True},
            r"line 2, '1 2 x': the weight must be a number",
        ),
        ("1 2 1_0\n", {"weighted": True}, r"line 1, .*: the weight must be a number"),
        ("1 2 nan\n", {"weighted": True}, r"line 1, .*: the weight must be .*finite"),
        ("1 2 inf\n", {"weighted": True}, r"line 1, .*: the weight must be .*finite"),
        ("1 2 1\n1 2 -1\n", {"weighted": True}, r"line 2, .*: the weight must be .*not negative"),
        (
            "0 1\n",
            {"weighted": True},
            r"line 1, .*: expected .* a weight, found 2 columns",
        ),
        ("0 1 2 3\n", {"weighted": True}, r"line 1, .*: expected .* a weight, found 4 columns"),
        ("", {}, r"bad.edges holds a graph without nodes; leave the file out"),
        ("# only\n\n", {}, r"bad.edges holds a graph without nodes; leave the file out"),
        (b"1 2\n\xff\xfe 1\n", {}, r"bad.edges, line 2 is not text"),
        ("1 2\n3 4\n", {"max_bytes": 7}, r"more than the 7 allowed .*; pass a larger"),
        (
            "source,target\n1,2\n2,3\n",
            {"delimiter": ","},
            r"bad.edges starts with 'source' and 'target', but all other .* put a # before it",
        ),
        ("1 2\n", {"delimiter": ""}, r"delimiter must be text, or None for white space, got ''"),
    ],
)
def test_bad_files(tmp_path, content, options, message):
    path = written(tmp_path, content)
    with pytest.raises(InvalidInputError, match=message):
        read_graphs(path, **options)


def test_packed_files_that_are_damaged_or_too_large(tmp_path):
    path = tmp_path / "bomb.edges.gz"
    path.write_bytes(gzip.compress(b"1 2\n" * 100_000))
    assert path.stat().st_size < 2_000
    with pytest.raises(InvalidInputError, match=r"bomb.edges.gz: .* more than the 2000 allowed"):
        read_graphs(path, max_bytes=2_000)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InvalidInputError, match=r"bomb.edges.gz is damaged: .*; fetch it again"):
        read_graphs(path)
    path.write_text("1 2\n")
    with pytest.raises(InvalidInputError, match=r"bomb.edges.gz is damaged: Not a gzipped file"):
        read_graphs(path)


def test_what_edge_lists_would_lose(tmp_path):
    with pytest.raises(InvalidInputError, match="hold neither labels nor attributes"):
        write_edge_list(graphs(labels=list("abcab")), tmp_path)
    lonely = GraphBatch.from_edges([2, 3], [[0, 1], [2, 3]], symmetrize=True)
    with pytest.raises(InvalidInputError, match="graph 1: node 2 has no edges"):
        write_edge_list(lonely, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder(tmp_path):
    with pytest.raises(InvalidInputError, match="holds no graphs; "):
        read_graphs(tmp_path)
