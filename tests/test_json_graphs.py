"""Graphs as JSON: what networkx writes, plain edges, many in a file, and back without loss."""

import gzip
import json

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from retgk import (
    GraphBatch,
    GraphDataset,
    InvalidInputError,
    from_networkx,
    read_graphs,
    write_json,
)
from retgk.errors import InputWarning
from retgk.io.formats import format_of
from tests.cli_calls import invoke
from tests.node_links import node_link
from tests.strategies import dense, graph_batches


def molecule():
    graph = nx.Graph(target=3, name="water")
    graph.add_node("H1", kind="H", charge=0.5, place="left")
    graph.add_node("O", kind="O", charge=-1.0, place="middle")
    graph.add_node("H2", kind="H", charge=0.5, place="right")
    graph.add_edge("H1", "O", weight=2.0)
    graph.add_edge("O", "H2")
    graph.add_node(("lonely", 1), kind="X", charge=0.0, place="left")
    graph.add_edge("O", "O", weight=0.5)
    return graph


def write(path, value):
    text = value if isinstance(value, str) else json.dumps(value)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("key", ["links", "edges"])
@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "list.json", "a.jsonl", "a.jsonl.gz", "a"])
def test_node_link_data(key, name, tmp_path):
    one = node_link(molecule(), key)
    line = json.dumps(one) + "\n"
    path = write(
        tmp_path / name, [one, one] if "list" in name else line * 2 if "jsonl" in name else one
    )
    options = {"label": "kind", "attributes": ["charge"]}
    data = read_graphs(path, **options)
    graphs = [molecule()] * len(data)
    assert len(data) == (2 if "l" in name.replace(".json", "") else 1)
    assert data.graphs == from_networkx(graphs, **options)
    assert data.targets.tolist() == [3] * len(data)
    assert data.graph_names == ["water"] * len(data)
    assert not read_graphs(path, weight=None, **options).graphs.is_weighted


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.DiGraph, nx.MultiDiGraph, nx.Graph])
def test_parallel_and_directed_edges_are_those_of_networkx(kind, tmp_path):
    edges = [(0, 1, 2.0), (1, 0, 0.5), (1, 2, 1.0), (1, 2, 3.0), (2, 2, 4.0)]
    graph = kind()
    graph.add_weighted_edges_from(edges)
    path = write(tmp_path / "g.json", nx.node_link_data(graph))
    for weight in ("weight", None):
        expected = from_networkx(graph, weight=weight, symmetrize=True)
        assert read_graphs(path, weight=weight, symmetrize=True).graphs == expected
    if graph.is_directed():
        with pytest.raises(InvalidInputError, match=r"g.json is directed; pass symmetrize=True"):
            read_graphs(path)


def test_data_of_d3_has_neither_flags_nor_ids(tmp_path):
    value = {"nodes": [{"group": 1}, {"group": 2}], "links": [{"source": 0, "target": 1}]}
    graphs = read_graphs(write(tmp_path / "d3.json", value), label="group").graphs
    assert graphs == GraphBatch.from_edges(2, [[0, 1]], labels=[1, 2], symmetrize=True)


def test_plain_edges(tmp_path):
    value = {
        "graphs": [
            {
                "edges": [[0, 1], [1, 2]],
                "n_nodes": 4,
                "labels": ["a", ["b", 1], 2, None],
                "attributes": [[0.5], [1], [2], [3]],
                "weights": [1, 2],
                "target": "x",
                "name": "first",
            },
            {"edges": [[1, 0, 0.5]], "labels": [1, 1], "attributes": [0, 1], "target": "y"},
        ]
    }
    path = write(tmp_path / "g.json", value)
    with pytest.raises(InvalidInputError, match="graph 0: node 3 has the label None, which stands"):
        read_graphs(path)
    data = read_graphs(path, missing="label")
    assert data.graphs.node_counts.tolist() == [4, 2]
    assert data.graphs.attributes.ravel().tolist() == [0.5, 1, 2, 3, 0, 1]
    assert ("b", 1) in data.graphs.label_names
    assert data.targets.tolist() == ["x", "y"]
    assert data.graph_names is None
    assert dense(data.graphs)[5, 4] == 0.5
    unweighted = read_graphs(tmp_path / "g.json", weight=None, missing="label")
    assert not unweighted.graphs.is_weighted


def test_targets(tmp_path):
    def read(*targets, **options):
        lines = [json.dumps({"edges": [[0, 1]], **target}) for target in targets]
        return read_graphs(write(tmp_path / "t.jsonl", "\n".join(lines)), **options).targets

    assert read({"target": 1}, {"target": 2}).dtype.kind == "i"
    assert read({"target": [1, 2]}, {"target": [3, 4.5]}).shape == (2, 2)
    np.testing.assert_array_equal(read({"target": 1}, {"target": None}), [1, np.nan])
    assert read({"y": "a"}, {"y": "b"}, target_column="y").tolist() == ["a", "b"]
    assert read({}, {}) is None
    with pytest.raises(InvalidInputError, match=r"t.jsonl, line 2 has no target, others have"):
        read({"target": "a"}, {})
    with pytest.raises(InvalidInputError, match="targets must all be text, all numbers, or all li"):
        read({"target": "a"}, {"target": 1})
    with pytest.raises(InvalidInputError, match="line 1 has no 'z'"):
        read({"target": "a"}, target_column="z")


@settings(max_examples=60, deadline=None)
@given(graphs=graph_batches())
def test_writing_and_reading_loses_nothing(graphs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("json")
    if not len(graphs):
        return
    targets = np.arange(len(graphs)) / 3
    names = [f"graph {number}" for number in range(len(graphs))]
    data = GraphDataset(graphs, targets, "x", graph_names=names)
    for name in ("x.json", "x.jsonl", "x.json.gz", "x.jsonl.gz"):
        back = read_graphs(write_json(data, folder / name), missing="label")
        assert back.graphs == graphs
        assert back.graphs.label_names == graphs.label_names
        np.testing.assert_array_equal(back.targets, targets)
        assert (back.graph_names, back.name) == (names, "x")
    assert read_graphs(write_json(graphs, folder / "x.json"), missing="label").targets is None


def test_labels_that_json_cannot_hold(tmp_path):
    for label in (frozenset("a"), (1, b"x"), float("inf")):
        graph = GraphBatch.from_edges(1, [], labels=[label])
        with pytest.raises(InvalidInputError, match="JSON cannot hold the label"):
            write_json(graph, tmp_path / "a.json")
    with pytest.raises(InvalidInputError, match=r"should end in .json, .jsonl"):
        write_json(graph, tmp_path / "a.txt")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{", r"x.json, column 2 is not JSON: Expecting property name"),
        ('[{"edges": [[0, 1]]},\n nothing]', "x.json, line 2, column 2 is not JSON"),
        ([1], "x.json, graph 0 is not a graph: the value 1 instead of an object"),
        ([], "holds no graphs"),
        ({"edges": {}}, "edges must be a list"),
        ({"n_nodes": 3}, 'has no edges; a graph has "edges", or "nodes" and "links"'),
        ({"edges": [[0]]}, r"edge 0 is \[0\]; give a pair of nodes, numbered from 0"),
        ({"edges": [["a", "b"]]}, r"edge 0 is \['a', 'b'\]; give a pair of nodes"),
        ({"edges": [[0, -1]]}, r"edge 0 is \[0, -1\]; nodes are numbered from 0 to 0"),
        ({"edges": [[0, 5]], "n_nodes": 3}, "nodes are numbered from 0 to 2"),
        ({"edges": []}, "n_nodes must be a number of at least 1, got 0"),
        ({"edges": [[0, 1]], "n_nodes": True}, "n_nodes must be a number"),
        ({"edges": [[0, 1]], "labels": [1]}, "x.json: 1 labels for 2 nodes"),
        ({"edges": [[0, 1]], "weights": [1, 2]}, r"weights must have shape \(1,\)"),
        ({"edges": [[0, 1, "a"]]}, "weights must be numbers"),
        ({"edges": [[0, 1], [1, 2]], "weights": [1, [2]]}, "weights must be numbers"),
        (
            {"edges": [[0, 1]], "weights": [10**400]},
            "weights must be numbers, got object|too large",
        ),
        (
            {"edges": [[0, 1]], "weights": [-1]},
            r"x.json: the edge from node 0 to node 1 has weight -1.0; weights",
        ),
        ({"edges": [[0, 1]], "attributes": [[1], ["a"]]}, "attributes must be numbers"),
        ({"edges": [[0, 1]], "directed": True}, "x.json is directed; pass symmetrize=True"),
        ({"nodes": 3, "links": []}, "nodes must be a list of objects"),
        ({"nodes": []}, "links must be a list of objects"),
        ({"nodes": [{"id": 1}, {"id": 1}], "links": []}, "two nodes have the same id"),
        ({"nodes": [{"id": 1}], "links": [{"source": 1}]}, "link 0: the target None is not the id"),
        (
            {"nodes": [{"id": 1}], "links": [{"source": 1, "target": 1, "weight": "a"}]},
            "link 0: the 'weight' 'a' is not a number",
        ),
        (
            [{"edges": [[0, 1]]}, {"nodes": [{"id": 1}], "links": []}],
            "graph 1 is in another form than the graphs before it",
        ),
        ([{"edges": [[0, 1]], "labels": [0, 1]}, {"edges": [[0, 1]]}], "graph 1 has no labels, ot"),
        ("[" * 100_000, "nested too deeply"),
        (
            {"edges": [[0, 1]], "labels": [json.loads("[" * 900 + "]" * 900), 1]},
            "nested too deeply",
        ),
        ('{"edges": [[0, ' + "9" * 5000 + "]]}", "cannot be read"),
    ],
)
def test_bad_files(value, message, tmp_path):
    path = write(tmp_path / "x.json", value)
    with pytest.raises(InvalidInputError, match=message):
        read_graphs(path)


def test_missing_node_values(tmp_path):
    path = write(tmp_path / "x.json", nx.node_link_data(molecule()))
    with pytest.raises(InvalidInputError, match="node 'H1' has no 'z'; it has"):
        read_graphs(path, label="z")
    with pytest.raises(InvalidInputError, match=r"x.json, node 'H1': the attribute 'kind' is 'H'"):
        read_graphs(path, attributes="kind")
    with pytest.warns(InputWarning, match="nodes have 'kind', 'charge', 'place', which are not us"):
        read_graphs(path)
    plain = write(tmp_path / "plain.json", {"edges": [[0, 1]]})
    with pytest.raises(InvalidInputError, match="have their labels and attributes as lists"):
        read_graphs(plain, label="kind")


def test_text_that_grows_is_refused(tmp_path):
    text = "[" + ",".join(['{"edges":[[0,1]]}'] * 400_000) + "]"
    path = write(tmp_path / "many.json.gz", text)
    assert path.stat().st_size < 100_000
    with pytest.raises(InvalidInputError, match=r"more than the .* allowed"):
        read_graphs(path)
    with pytest.raises(InvalidInputError, match="more than the 10 allowed"):
        read_graphs(write(tmp_path / "a.json", {"edges": [[0, 1]]}), max_bytes=10)


def test_folders_and_content(tmp_path):
    for name in ("b.json", "a.json"):
        write(tmp_path / name, {"edges": [[0, 1]], "name": name})
    assert read_graphs(tmp_path).graph_names == ["a.json", "b.json"]
    write(tmp_path / "graph", ' \n[ {"edges": [[0, 1]]} ]')
    assert format_of(tmp_path / "graph").name == "json"
    write(tmp_path / "salt", "[Na+].[Cl-]\n")
    assert format_of(tmp_path / "salt").name == "smiles"


def test_commands(tmp_path):
    path = write(tmp_path / "x.json", nx.node_link_data(molecule()))
    options = ["--label", "kind", "--label", "place", "--attributes", "charge"]
    result = invoke("info", path, *options, "--json")
    assert '["H", "left"]' in result.stdout
    result = invoke("convert", path, tmp_path / "y.json", *options)
    assert result.exit_code == 0
    expected = from_networkx(molecule(), label=["kind", "place"], attributes="charge")
    assert read_graphs(tmp_path / "y.json").graphs == expected
