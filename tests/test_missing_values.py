"""Missing labels and attributes: an error that says what to do, or what the user chose."""

import json
import re
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from retgk import (
    GraphBatch,
    InvalidInputError,
    RetGKClassifier,
    RetGKEmbedding,
    RetGKKernel,
    RetGKRegressor,
    as_batch,
    from_dataframe,
    from_edge_lists,
    from_grakel,
    from_pyg,
    load_model,
    read_graphs,
    save_model,
    write_json,
    write_parquet,
)
from tests.node_links import node_link

NAN = float("nan")
PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
EDGES = np.array([[0, 1], [1, 2]])


def networkx_graph(label: Any, value: Any) -> Any:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: "a", 1: "b", 2: label}, "k")
    nx.set_node_attributes(graph, {0: 1.0, 1: 2.0, 2: value}, "v")
    return graph


def networkx_batch(label: Any, value: Any, **options: Any) -> GraphBatch:
    return as_batch([networkx_graph(label, value)] * 2, label="k", attributes="v", **options)


def networkx_gaps(label: Any, value: Any, **options: Any) -> GraphBatch:
    """The same where the node has no such entry at all."""
    graph = networkx_graph(label, value)
    for name, found in (("k", label), ("v", value)):
        if found is None:
            del graph.nodes[2][name]
    return as_batch([graph] * 2, label="k", attributes="v", **options)


def igraph_batch(label: Any, value: Any, **options: Any) -> GraphBatch:
    values = {"k": ["a", "b", label], "v": [1.0, 2.0, value]}
    graph = igraph.Graph(3, EDGES.tolist(), vertex_attrs=values)
    return as_batch([graph] * 2, label="k", attributes="v", **options)


def matrix_batch(label: Any, value: Any, **options: Any) -> GraphBatch:
    values = {"labels": [["a", "b", label]] * 2, "attributes": [[1.0, 2.0, value]] * 2}
    return as_batch([PATH] * 2, **values, **options)


def sparse_batch(label: Any, value: Any, **options: Any) -> GraphBatch:
    rows = np.array([[1.0], [2.0], [value]], object)
    values = {
        "labels": [["a", "b", label]] * 2,
        "attributes": [rows if value is None else rows.astype(float)] * 2,
    }
    return as_batch([sp.csr_array(PATH)] * 2, **values, **options)


def edges_batch(label: Any, value: Any, **options: Any) -> GraphBatch:
    values = {"labels": [["a", "b", label]] * 2, "attributes": [[[1.0], [2.0], [value]]] * 2}
    return from_edge_lists([EDGES] * 2, **values, symmetrize=True, **options)


def plain_batch(label: Any, value: Any, **options: Any) -> GraphBatch:
    labels, values = ["a", "b", label] * 2, np.array([[1.0], [2.0], [value]] * 2, float)
    edges = [[0, 1], [1, 2], [3, 4], [4, 5]]
    return GraphBatch.from_edges(
        [3, 3], edges, labels=labels, attributes=values, symmetrize=True, **options
    )


def json_batch(label: Any, value: Any, **options: Any) -> GraphBatch:
    return batch_of_json(node_link(networkx_graph(label, value)), **options)


def json_gaps(label: Any, value: Any, **options: Any) -> GraphBatch:
    """The same where the node has no such entry at all."""
    record = node_link(networkx_graph(label, value))
    record["nodes"][2] = {k: v for k, v in record["nodes"][2].items() if v is not None}
    return batch_of_json(record, **options)


def batch_of_json(record: Any, **options: Any) -> GraphBatch:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        path.write_text(json.dumps([record] * 2))
        return read_graphs(path, label="k", attributes="v", **options).graphs


def plain_json(label: Any, value: Any, **options: Any) -> GraphBatch:
    record = {"edges": EDGES.tolist(), "labels": ["a", "b", label]}
    record["attributes"] = [[1.0], [2.0], [value]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_text(2 * f"{json.dumps(record)}\n")
        return read_graphs(path, **options).graphs


BUILDERS = [
    networkx_batch, networkx_gaps, igraph_batch, matrix_batch, sparse_batch, edges_batch,
    plain_batch, json_batch, json_gaps,
]  # fmt: skip


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize(("label", "value"), [(None, 3.0), (NAN, 3.0), ("c", None), ("c", NAN)])
def test_missing_values_are_an_error_that_says_where(build: Any, label: Any, value: Any) -> None:
    build("c", 3.0)
    with pytest.raises(InvalidInputError) as caught:
        build(label, value)
    message = str(caught.value)
    assert "graph 0" in message
    assert re.search("node '?2|vertex 2", message)
    assert "missing=" in message


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("label", [None, NAN])
def test_a_label_of_its_own(build: Any, label: Any) -> None:
    for missing in ("label", "keep"):
        batch = build(label, 3.0, missing=missing)
        assert batch.label_names == ("a", "b", None)
        assert batch.labels.tolist() == [0, 1, 2] * 2
    with pytest.raises(InvalidInputError, match="node 2 has the label"):
        build(label, 3.0, missing="nan")


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("value", [None, NAN])
def test_attributes_stay_nan(build: Any, value: Any) -> None:
    for missing in ("nan", "keep"):
        batch = build("c", value, missing=missing)
        np.testing.assert_array_equal(batch.attributes[:, 0], [1, 2, NAN] * 2)
    with pytest.raises(InvalidInputError):
        build("c", value, missing="label")


def test_plain_edges_in_json() -> None:
    assert plain_json(None, NAN, missing="keep") == networkx_batch(None, NAN, missing="keep")
    for label, value in ((None, 3.0), ("c", None), ("c", NAN)):
        with pytest.raises(InvalidInputError, match=r"a.jsonl, line 1: .*node 2.* missing="):
            plain_json(label, value)


def test_tables_of_nodes() -> None:
    edges = {"graph_id": [0, 0], "source": [0, 1], "target": [1, 2]}
    options = {"label": "k", "attributes": "v"}
    for name, gap, where in (("k", None, "node 2 has the label None"), ("v", NAN, "node 2 is nan")):
        nodes = {"graph_id": [0] * 3, "node": [0, 1, 2], "k": ["a", "b", "c"], "v": [1.0, 2.0, 3.0]}
        nodes[name][2] = gap
        with pytest.raises(InvalidInputError, match=f"{where}.*missing="):
            from_dataframe(edges, nodes, **options)
        found = from_dataframe(edges, nodes, **options, missing="keep")
        gaps = {"label": None, "value": 3.0} if name == "k" else {"label": "c", "value": NAN}
        assert found == networkx_batch(**gaps, missing="keep")[0]


@pytest.mark.parametrize("gap", [None, NAN])
def test_parts_of_labels(gap: Any) -> None:
    graph = networkx_graph("c", gap)
    with pytest.raises(InvalidInputError, match=r"graph 0, node 2: the part 'v' of the label is m"):
        as_batch([graph], label=["k", "v"])
    batch = as_batch([graph], label=["k", "v"], missing="label")
    assert set(batch.label_names) == {("a", 1.0), ("b", 2.0), ("c", None)}


@pytest.mark.filterwarnings("ignore:'k' became")
@pytest.mark.parametrize("gap", [None, NAN])
def test_categories(gap: Any) -> None:
    graph = networkx_graph(gap, 3.0)
    for missing in ("error", "label"):
        with pytest.raises(InvalidInputError, match=r"node 2: the attribute 'k' is missing; fill"):
            as_batch([graph], categorical="k", missing=missing)
    batch = as_batch([graph], categorical="k", missing="nan")
    np.testing.assert_array_equal(batch.attributes, [[1, 0], [0, 1], [NAN, NAN]])
    assert batch.reading.options["categorical"] == {"k": ["a", "b"]}
    nx.set_node_attributes(graph, gap, "k")
    with pytest.raises(InvalidInputError, match="no node has a value of 'k'; leave it out"):
        as_batch([graph], categorical="k", missing="nan")
    listed = as_batch([networkx_graph(None, 3.0)], categorical={"k": ["a", "b", None]})
    np.testing.assert_array_equal(listed.attributes, np.eye(3))


def test_json_holds_what_is_missing(tmp_path: Path) -> None:
    batch = networkx_batch(None, NAN, missing="keep")
    path = write_json(batch, tmp_path / "a.json")
    assert read_graphs(path, missing="keep").graphs == batch


def test_vectors_with_gaps_and_without_any() -> None:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: (1, 2), 1: (None, 3), 2: None}, "v")
    found = as_batch(graph, attributes="v", missing="nan").attributes
    np.testing.assert_array_equal(found, [[1, 2], [NAN, 3], [NAN, NAN]])


def test_tensors_with_nan() -> None:
    graph = SimpleNamespace(edge_index=[[0, 1], [1, 0]], num_nodes=2, x=np.array([[1.0], [NAN]]))
    with pytest.raises(InvalidInputError, match=r"attribute 0 of node 1 is nan; .*missing="):
        from_pyg(graph, attributes="x")
    assert np.isnan(from_pyg(graph, attributes="x", missing="nan").attributes[1, 0])


def test_labels_of_grakel() -> None:
    graph = [{(0, 1): 1, (1, 0): 1}, {0: "a"}]
    with pytest.raises(InvalidInputError, match="graph 0, node 1 has no label"):
        from_grakel([graph])
    assert from_grakel([graph], missing="label").label_names == ("a", None)


def test_other_words_and_infinity_are_errors() -> None:
    with pytest.raises(InvalidInputError, match="missing must be one of 'error', 'label', 'nan'"):
        plain_batch("c", 3.0, missing="mean")
    with pytest.raises(InvalidInputError, match="attribute 0 of node 2 is inf"):
        plain_batch("c", np.inf, missing="nan")


def test_graphs_with_nan_are_equal_to_themselves() -> None:
    assert plain_batch("c", NAN, missing="nan") == plain_batch("c", NAN, missing="nan")
    assert plain_batch("c", NAN, missing="nan") != plain_batch("c", 3.0)


# Estimators


def gappy(seed: int = 0, n_graphs: int = 20) -> GraphBatch:
    """Paths of three nodes whose two attributes are missing here and there."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(3 * n_graphs, 2))
    values[rng.random(values.shape) < 0.2] = NAN
    edges = 3 * np.arange(n_graphs)[:, None, None] + EDGES
    sizes = np.full(n_graphs, 3)
    return GraphBatch.from_edges(
        sizes, edges.reshape(-1, 2), attributes=values, symmetrize=True, missing="nan"
    )


FAST = {"n_steps": 4, "random_state": 0}
ONE = {"C": 1, "p": 1, "scale": 1, "cv": 2}
MAKERS = {
    "kernel": lambda how: RetGKKernel(**FAST, impute_attributes=how),
    "embedding": lambda how: RetGKEmbedding(**FAST, n_components=8, impute_attributes=how),
    "classifier": lambda how: RetGKClassifier(**FAST, **ONE, impute_attributes=how),
    "regressor": lambda how: RetGKRegressor(**FAST, **ONE, impute_attributes=how),
}
MIDDLES = {"mean": np.nanmean, "median": np.nanmedian}


@pytest.mark.parametrize("name", MAKERS)
def test_estimators_refuse_gaps_unless_told(name: str) -> None:
    graphs, y = gappy(), [0, 1] * 10
    graph, node, column = (
        int(i[0]) for i in np.nonzero(np.isnan(graphs.attributes.reshape(-1, 3, 2)))
    )
    message = f"graph {graph}: attribute {column} of node {node} is nan; .*impute_attributes="
    with pytest.raises(InvalidInputError, match=message):
        MAKERS[name](None).fit(graphs, y)
    full = graphs.with_attributes(np.nan_to_num(graphs.attributes))
    model = MAKERS[name](None).fit(full, y)
    with pytest.raises(InvalidInputError, match=message):
        (model.predict if hasattr(model, "predict") else model.transform)(graphs)
    with pytest.raises(InvalidInputError, match="impute_attributes must be"):
        MAKERS[name]("mode").fit(graphs, y)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("how", MIDDLES)
def test_gaps_are_filled_with_what_training_graphs_have(
    name: str, how: str, tmp_path: Path
) -> None:
    train, test, y = gappy(0), gappy(1, 7), [0, 1] * 10
    middle = MIDDLES[how](train.attributes, axis=0)
    by_hand = [
        batch.with_attributes(np.where(np.isnan(batch.attributes), middle, batch.attributes))
        for batch in (train, test)
    ]
    model, plain = MAKERS[name](how).fit(train, y), MAKERS[name](None).fit(by_hand[0], y)
    save_model(model, tmp_path / "model.retgk")
    for each in (model, load_model(tmp_path / "model.retgk")):
        for method in ("transform", "predict", "decision_function"):
            if hasattr(each, method):
                expected = getattr(plain, method)(by_hand[1])
                np.testing.assert_array_equal(getattr(each, method)(test), expected)


def test_an_attribute_that_no_node_has() -> None:
    graphs = gappy()
    nothing = np.column_stack([graphs.attributes, np.full(graphs.n_nodes, NAN)])
    with pytest.raises(InvalidInputError, match="attribute 2 is missing on all nodes"):
        MAKERS["kernel"]("mean").fit(graphs.with_attributes(nothing, missing="nan"))


def test_the_way_to_read_gaps_is_remembered() -> None:
    full, gap = networkx_graph("c", 3.0), networkx_graph(None, None)
    options = {"label": "k", "attributes": "v", "missing": "keep"}
    model = MAKERS["kernel"]("mean").fit(as_batch([full, gap], **options))
    np.testing.assert_array_equal(
        model.transform([gap]), model.transform(as_batch([gap], **options))
    )


def test_files(tmp_path: Path) -> None:
    nx.write_graphml(networkx_graph("c", 3.0), tmp_path / "a.graphml")
    graph = networkx_graph("c", 3.0)
    del graph.nodes[2]["k"], graph.nodes[2]["v"]
    nx.write_graphml(graph, tmp_path / "b.graphml")
    with pytest.raises(
        InvalidInputError, match=r"graph 1, node '2' has no attribute 'k'.*missing="
    ):
        read_graphs(tmp_path, label="k", attributes="v")
    found = read_graphs(tmp_path, label="k", attributes="v", missing="keep").graphs
    assert found.label_names == ("a", "b", "c", None)
    assert np.isnan(found.attributes).sum() == 1
    with pytest.raises(InvalidInputError, match="graph 1: attribute 0 of node 2 is nan"):
        write_parquet(found, tmp_path / "a.parquet")
