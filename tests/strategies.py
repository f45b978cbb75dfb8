"""Hypothesis strategies for graphs, and the slow, obvious way from edges to a matrix."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from retgk import GraphBatch

LABELS = st.one_of(st.integers(-3, 3), st.sampled_from(["C", "N", ("C", 1), None, 2.5]))
WEIGHTS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.0, 3.0, 1e-300, 1e300])


@st.composite
def edge_lists(draw: st.DrawFn, max_graphs: int = 5, max_nodes: int = 5) -> dict[str, Any]:
    """Arguments of from_edges: edges in any order, parallel ones, loops and zeros among them."""
    sizes = draw(st.lists(st.integers(1, max_nodes), max_size=max_graphs))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    edges = [
        (start + i, start + j)
        for start, size in zip(starts[:-1], sizes, strict=True)
        for i, j in draw(
            st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=8)
        )
    ]
    edges = draw(st.permutations(edges))
    weighted = draw(st.booleans())
    weights = [draw(WEIGHTS) for _ in edges] if weighted else None
    return {"n_nodes": sizes, "edges": np.array(edges, int).reshape(-1, 2), "weights": weights}


@st.composite
def graph_batches(
    draw: st.DrawFn, labelled: bool | None = None, n_attributes: int | None = None
) -> GraphBatch:
    """Batches of up to five graphs, with and without weights, labels and attributes."""
    built = draw(edge_lists())
    total = sum(built["n_nodes"])
    labels = draw(st.booleans()) if labelled is None else labelled
    width = draw(st.integers(0, 2)) if n_attributes is None else n_attributes
    numbers = st.floats(-1e6, 1e6)
    attributes = draw(
        st.lists(st.lists(numbers, min_size=width, max_size=width), min_size=total, max_size=total)
    )
    return GraphBatch.from_edges(
        **built,
        labels=[draw(LABELS) for _ in range(total)] if labels else None,
        attributes=np.array(attributes, float).reshape(total, width),
        symmetrize=True,
        missing="label",
    )


def dense_from_edges(
    n_nodes: int, edges: Any, weights: Any = None, symmetrize: bool = False
) -> NDArray[np.float64]:
    """Adjacency matrix of the whole batch, one edge at a time."""
    matrix = np.zeros((n_nodes, n_nodes))
    for position, (source, target) in enumerate(edges):
        matrix[source, target] += 1.0 if weights is None else weights[position]
    return np.maximum(matrix, matrix.T) if symmetrize else matrix


def dense(batch: GraphBatch) -> NDArray[np.float64]:
    """Adjacency matrix of the whole batch, one entry at a time."""
    matrix = np.zeros((batch.n_nodes, batch.n_nodes))
    weights = batch.weights
    for first, last in zip(batch.node_ptr[:-1], batch.node_ptr[1:], strict=True):
        for row in range(first, last):
            for entry in range(batch.indptr[row], batch.indptr[row + 1]):
                matrix[row, first + batch.indices[entry]] += weights[entry]
    return matrix


def assert_well_formed(batch: GraphBatch) -> None:
    """Types, order and flags that everything after a batch relies on."""
    arrays = {
        "node_ptr": np.int64,
        "indptr": np.int64,
        "indices": np.int32,
        "weights": np.float64,
        "labels": np.int32,
        "attributes": np.float64,
    }
    for name, dtype in arrays.items():
        array = getattr(batch, name)
        assert array.dtype == dtype, name
        assert array.flags.c_contiguous, name
        assert not array.flags.writeable, name
    assert batch.node_ptr[0] == 0
    assert (np.diff(batch.node_ptr) > 0).all()
    assert len(batch.indptr) == batch.n_nodes + 1
    assert batch.indptr[0] == 0
    assert batch.indptr[-1] == len(batch.indices) == len(batch.weights)
    assert len(batch.labels) == len(batch.attributes) == batch.n_nodes
    for first, last in zip(batch.indptr[:-1], batch.indptr[1:], strict=True):
        assert (np.diff(batch.indices[first:last]) > 0).all()
    assert (batch.weights > 0).all()
    assert batch.is_weighted == bool((batch.weights != 1).any())
