"""GraphML files."""

import networkx as nx
import numpy as np
import pytest

from retgk import (
    GraphBatch,
    InvalidInputError,
    make_graph_classification,
    read_graphs,
    write_graphml,
)
from retgk.io import graphml


def graphs(weights=None, **values):
    edges = [[0, 2], [1, 2], [1, 1], [3, 4]]
    return GraphBatch.from_edges([3, 2], edges, weights, symmetrize=True, **values)


@pytest.mark.parametrize("weights", [None, [0.1, 1e-9, 3.0, 1e9]])
@pytest.mark.parametrize("labels", [None, list("abcab"), [3, 1, 2, 3, 1]])
@pytest.mark.parametrize("n_attributes", [0, 2])
def test_graphml_there_and_back(tmp_path, weights, labels, n_attributes):
    attributes = np.random.default_rng(0).standard_normal((5, n_attributes))
    batch = graphs(weights, labels=labels, attributes=attributes)
    paths = write_graphml(batch, tmp_path / "new")
    assert [path.name for path in paths] == ["graph-0.graphml", "graph-1.graphml"]
    options = {
        "label": None if labels is None else "label",
        "attributes": [f"attribute_{column}" for column in range(n_attributes)] or None,
    }
    assert read_graphs(tmp_path / "new", **options).graphs == batch


def test_isolated_nodes_survive_graphml(tmp_path):
    batch = GraphBatch.from_edges([4], [[1, 2]], symmetrize=True)
    assert read_graphs(write_graphml(batch, tmp_path)[0]).graphs == batch


def test_files_sort_in_the_order_of_the_graphs(tmp_path):
    batch = GraphBatch.concatenate(
        GraphBatch.from_edges([n], [[n - 2, n - 1]], symmetrize=True) for n in range(2, 14)
    )
    write_graphml(batch, tmp_path)
    assert read_graphs(tmp_path).graphs == batch


def test_directed_graphml(tmp_path):
    nx.write_graphml(nx.DiGraph([(0, 1)]), tmp_path / "arrow.graphml")
    with pytest.raises(InvalidInputError, match=r"graph 0 is directed; pass symmetrize=True"):
        read_graphs(tmp_path)
    assert read_graphs(tmp_path, symmetrize=True).graphs.n_edges == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<graphml><node", r"bad.graphml cannot be read"),
        ("no xml at all", r"bad.graphml cannot be read"),
        (
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph '
            'edgedefault="undirected"/></graphml>',
            r"bad.graphml holds a graph without nodes; leave the file out",
        ),
    ],
)
def test_bad_graphml(tmp_path, content, message):
    path = tmp_path / "bad.graphml"
    path.write_text(content)
    with pytest.raises(InvalidInputError, match=message):
        read_graphs(path)


def test_labels_that_graphml_cannot_hold(tmp_path):
    batch = graphs(labels=[(0, 1)] * 5)
    with pytest.raises(InvalidInputError, match=r"GraphML cannot hold the label \(0, 1\)"):
        write_graphml(batch, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder(tmp_path):
    with pytest.raises(InvalidInputError, match="holds no graphs; "):
        read_graphs(tmp_path)


def test_an_earlier_longer_series_is_not_mixed_in(tmp_path):
    write_graphml(graphs(), tmp_path, stem="other")
    paths = write_graphml(graphs(), tmp_path)
    with pytest.raises(InvalidInputError, match=r"graph-1.graphml is there already and would be"):
        write_graphml(graphs()[1], tmp_path)
    assert read_graphs(tmp_path).graphs[:2] == graphs()
    assert write_graphml(graphs()[::-1], tmp_path) == paths  # the same names: replaced
    assert read_graphs(tmp_path).graphs[:2] == graphs()[::-1]


def test_processes_read_the_same(tmp_path, monkeypatch):
    """Graphs come in the order of the files, and errors name theirs, whoever parses."""
    monkeypatch.setattr(graphml, "_PIECE_BYTES", 1)  # every file is a piece
    graphs = make_graph_classification(n_graphs=9, n_labels=3, n_nodes=(5, 9), random_state=0)
    files = write_graphml(graphs.graphs, tmp_path)
    assert read_graphs(tmp_path, label="label", n_jobs=2).graphs == graphs.graphs
    files[7].write_text("<graphml><graph/></graphml>")
    with pytest.raises(InvalidInputError, match=r"graph-7.graphml holds a graph without nodes"):
        read_graphs(tmp_path, label="label", n_jobs=2)
    with pytest.raises(InvalidInputError, match="max_bytes"):
        read_graphs(tmp_path, label="label", n_jobs=2, max_bytes=2000)
