"""Graphs from tables of edges and nodes."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from retgk import GraphBatch, InvalidInputError, as_batch, from_dataframe
from tests.strategies import dense

EDGES = {
    "graph_id": ["b", "a", "b", "a"],
    "source": [1, 1, 2, "x"],
    "target": [2, "x", 3, "x"],
    "w": [1.0, 2.0, 0.5, 4.0],
}
NODES = {
    "graph_id": ["a", "b", "b", "b", "a", "b"],
    "node": [1, 1, 2, 3, "x", "alone"],
    "kind": list("uvwxyz"),
    "role": [1, 1, 1, 2, 2, 2],
    "age": [0, 1, 2, 3, 4, 5.5],
}


@pytest.mark.parametrize("frame", [pd.DataFrame, dict])
def test_edges_alone(frame: Any) -> None:
    graphs, ids = from_dataframe(frame(EDGES), weight="w", return_ids=True)
    assert ids == ["b", "a"]
    expected = GraphBatch.from_edges(
        [3, 2], [[0, 1], [1, 2], [3, 4], [4, 4]], [1, 0.5, 2, 4], symmetrize=True
    )
    assert graphs == expected
    assert not from_dataframe(frame(EDGES)).is_weighted


def test_nodes_give_the_order_labels_and_isolated_nodes() -> None:
    graphs, ids = from_dataframe(
        pd.DataFrame(EDGES),
        pd.DataFrame(NODES),
        weight="w",
        label=["kind", "role"],
        attributes="age",
        return_ids=True,
    )
    assert ids == ["a", "b"]
    assert graphs.node_counts.tolist() == [2, 4]
    assert [graphs.label_names[code][0] for code in graphs.labels] == list("uyvwxz")
    assert graphs.attributes.ravel().tolist() == [0, 4, 1, 2, 3, 5.5]
    np.testing.assert_array_equal(dense(graphs[0]), [[0, 2], [2, 4]])
    assert np.diff(graphs.indptr)[-1] == 0


def test_other_names_and_arrow() -> None:
    edges = pa.table({"g": [7, 7, 9], "i": ["p", "q", "p"], "j": ["q", "r", "q"]})
    nodes = pa.table({"g": [7, 7, 7, 9, 9], "n": ["p", "q", "r", "p", "q"], "c": [1, 2, 1, 2, 2]})
    names = {"graph_id": "g", "source": "i", "target": "j", "node": "n"}
    graphs, ids = from_dataframe(edges, nodes, label="c", return_ids=True, **names)
    assert (ids, graphs.label_names) == ([7, 9], (1, 2))
    assert from_dataframe(edges, **names) == graphs.without_labels()
    given = {"c": [1, 2]}
    one_hot = from_dataframe(edges, nodes, categorical=given, **names).attributes
    np.testing.assert_array_equal(one_hot[:2], [[1, 0], [0, 1]])


def test_one_graph() -> None:
    frame = pd.DataFrame({"source": [0, 1], "target": [1, 0], "w": [1, 3]})
    graph = from_dataframe(frame, graph_id=None, weight="w")
    np.testing.assert_array_equal(dense(graph), [[0, 3], [3, 0]])  # the larger of both directions


def changed(frame: dict[str, list[Any]], column: str, row: int, value: Any) -> pd.DataFrame:
    return pd.DataFrame({**frame, column: [*frame[column][:row], value, *frame[column][row + 1 :]]})


@pytest.mark.parametrize(
    ("edges", "nodes", "options", "message"),
    [
        (EDGES, None, {"graph_id": "q"}, "edges has no column 'q'; it has 'graph_id', 'source', "),
        (EDGES, None, {"label": "kind"}, "'kind' are read from a table of nodes; give one as nod"),
        (EDGES, NODES, {"label": "q"}, "nodes has no column 'q'"),
        (changed(EDGES, "source", 2, None), None, {}, "edges, row 2 has no 'source'"),
        (changed(EDGES, "graph_id", 1, np.nan), None, {}, "edges, row 1 has no 'graph_id'"),
        (changed(EDGES, "w", 3, -1), None, {"weight": "w"}, "edges, row 3: the 'w' is -1.0; weig"),
        (changed(EDGES, "w", 0, "2"), None, {"weight": "w"}, "edges, row 0: the 'w' is '2'"),
        (changed(EDGES, "w", 1, None), None, {"weight": "w"}, "edges, row 1: the 'w' is nan"),
        (changed(EDGES, "target", 0, 9), NODES, {}, "edges, row 0: the node 9 is not in the table"),
        (EDGES, changed(NODES, "node", 2, 1), {}, "nodes, row 2: the node 1 is in row 1 already"),
        (EDGES, NODES, {"attributes": "kind"}, "nodes, row 0: the attribute 'kind' is 'u'; it mu"),
        (
            EDGES,
            changed(NODES, "age", 4, np.inf),
            {"attributes": "age"},
            "graph 0: attribute 0 of node 1 is inf",
        ),
        ({**EDGES, "w": [1.0]}, None, {"weight": "w"}, "the column 'w' has 1 rows, others have 4"),
        ([1, 2], None, {}, "edges has no column 'source'; it is a list, give a data frame"),
    ],
)
def test_errors(edges: Any, nodes: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        from_dataframe(edges, nodes, **options)


def test_as_batch_names_it() -> None:
    with pytest.raises(
        InvalidInputError, match=r"retgk.from_dataframe reads tables of edges and n"
    ):
        as_batch(pd.DataFrame(EDGES))
