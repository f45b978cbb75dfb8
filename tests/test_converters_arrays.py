"""Matrices and arrays of edges."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from retgk import GraphBatch
from retgk.io.arrays import from_edge_lists, from_numpy, from_scipy
from tests.errors import fails
from tests.example_graphs import dense, names

FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]
VALUES = st.sampled_from([0, 0, 1, 0.5, 2])

# matrices at random may look like correlations
pytestmark = pytest.mark.filterwarnings("ignore:all matrices have ones on the diagonal")


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    size = draw(st.integers(1, 6))
    half = np.triu(draw(hnp.arrays(np.float64, (size, size), elements=VALUES)))
    return half + np.triu(half, 1).T


@given(st.lists(matrices(), min_size=1, max_size=4), st.sampled_from(FORMATS))
def test_dense_sparse_and_edges_agree(found: list[np.ndarray], form: str) -> None:
    batch = from_numpy(found)
    for matrix, graph in zip(found, batch, strict=True):
        np.testing.assert_array_equal(dense(graph), matrix)
    assert from_scipy([sp.coo_array(matrix).asformat(form) for matrix in found]) == batch
    edges = [np.argwhere(matrix) for matrix in found]
    weights = [matrix[matrix != 0] for matrix in found]
    assert from_edge_lists(edges, [len(m) for m in found], weights=weights) == batch


@given(st.lists(matrices(), min_size=1, max_size=4))
def test_upper_half_symmetrized_is_the_whole(found: list[np.ndarray]) -> None:
    halves = [np.triu(matrix) for matrix in found]
    assert from_numpy(halves, symmetrize=True) == from_numpy(found)


def test_stack() -> None:
    rng = np.random.default_rng(0)
    stack = rng.integers(0, 2, (50, 6, 6))
    stack = np.maximum(stack, stack.transpose(0, 2, 1))
    assert from_numpy(stack) == from_numpy(list(stack))


def test_stack_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retgk.io.arrays.STACK_ENTRIES", 20)
    stack = np.ones((7, 3, 3))
    assert from_numpy(stack) == from_numpy(list(stack))


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.coo_array])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32])
def test_one_matrix_with_labels_and_attributes(kind: Any, dtype: Any) -> None:
    matrix = np.array([[0, 1], [1, 0]], dtype)
    options = {"labels": ["C", "O"], "attributes": [[1.0], [2.0]]}
    batch = from_scipy(kind(matrix), **options)
    assert batch == from_numpy(matrix, **options)
    assert names(batch) == ["C", "O"]
    np.testing.assert_array_equal(batch.attributes, [[1], [2]])


def test_input_is_not_changed() -> None:
    matrix = sp.csr_array(([1.0, 2.0, 0.0], [1, 1, 0], [0, 3, 3]), shape=(2, 2))
    batch = from_scipy(matrix, symmetrize=True)
    np.testing.assert_array_equal(dense(batch), [[0, 3], [3, 0]])
    assert matrix.nnz == 3
    assert matrix.data.flags.writeable


@pytest.mark.parametrize("n_parallel", [256, 300])
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.float32])
@pytest.mark.parametrize("form", ["coo", "csr", "csc", "bsr"])
def test_parallel_entries_add_up_in_float64(form: str, dtype: Any, n_parallel: int) -> None:
    columns = np.repeat([1, 0], n_parallel)
    ptr = [0, n_parallel, 2 * n_parallel]
    ones = np.ones(2 * n_parallel, dtype)
    matrix = {
        "coo": lambda: sp.coo_array((ones, (columns[::-1], columns)), shape=(2, 2)),
        "csr": lambda: sp.csr_array((ones, columns, ptr), shape=(2, 2)),
        "csc": lambda: sp.csc_array((ones, columns, ptr), shape=(2, 2)),
        "bsr": lambda: sp.bsr_array((ones[:, None, None], columns, ptr), shape=(2, 2)),
    }[form]()
    batch = from_scipy(matrix)
    np.testing.assert_array_equal(dense(batch), [[0, n_parallel], [n_parallel, 0]])
    assert matrix.nnz == 2 * n_parallel
    assert matrix.dtype == dtype


@pytest.mark.parametrize("form", ["coo", "csr"])
@pytest.mark.parametrize("dtype", [np.int8, np.float64])
def test_entries_add_up_before_signs_are_taken(form: str, dtype: Any) -> None:
    values, ends = np.array([-3, 1, -3, 1], dtype), [0, 0, 1, 1]
    matrix = sp.coo_array((values, (ends, ends[::-1])), shape=(2, 2))
    if form == "csr":
        matrix = sp.csr_array((values, ends[::-1], [0, 2, 4]), shape=(2, 2))
    np.testing.assert_array_equal(dense(from_scipy(matrix, negative="absolute")), [[0, 2], [2, 0]])


def test_the_least_whole_number_has_an_absolute_value() -> None:
    matrix = sp.csr_array(np.array([[0, -128], [-128, 0]], np.int8))
    np.testing.assert_array_equal(from_scipy(matrix, negative="absolute").weights, [128, 128])


def test_edges_add_up_within_a_direction() -> None:
    edges = np.array([[0, 1], [1, 0], [0, 1], [1, 0]])
    np.testing.assert_array_equal(dense(from_edge_lists(edges)), [[0, 2], [2, 0]])


def test_n_nodes_gives_isolated_nodes() -> None:
    batch = from_edge_lists([[[0, 1]], []], [3, 2], symmetrize=True)
    assert batch.node_counts.tolist() == [3, 2]
    one = from_edge_lists(np.array([[0, 1]]), 3, symmetrize=True)
    assert one == batch[0]


PAIR = np.ones((2, 2))
ERRORS = {
    "not square": (lambda: from_numpy([PAIR, np.ones((2, 3))]), ("graph 1", "(2, 3)")),
    "sparse, not square": (
        lambda: from_scipy([sp.csr_array(PAIR), sp.csr_array((2, 3))]),
        ("graph 1", "(2, 3)"),
    ),
    "one, not square": (lambda: from_numpy(np.ones((2, 3))), "graph 0"),
    "stack, not square": (lambda: from_numpy(np.ones((2, 2, 3))), "(2, 3)"),
    "complex": (lambda: from_numpy([PAIR * 1j]), "graph 0"),
    "asymmetric": (lambda: from_numpy([PAIR, np.triu(PAIR)]), "graph 1"),
    "negative": (lambda: from_scipy([sp.csr_array(-PAIR)]), "graph 0"),
    "nan": (lambda: from_numpy([PAIR, PAIR * np.nan]), "graph 1"),
    "not sparse": (lambda: from_scipy([PAIR]), "graph 0"),
    "not an array": (lambda: from_numpy(3), "expected NumPy arrays, got"),
    "no arrays": (lambda: from_numpy([]), "there are no graphs"),
    "empty stack": (lambda: from_numpy(np.ones((0, 2, 2))), "there are no graphs"),
    "no edge lists": (lambda: from_edge_lists([]), "there are no graphs"),
    "no nodes": (lambda: from_numpy([PAIR, np.ones((0, 0))]), ("graph 1")),
    "label count": (
        lambda: from_numpy([PAIR, PAIR], labels=["ab", "abc"]),
        ("graph 1", "3 labels", "2 nodes"),
    ),
    "labels of too few graphs": (
        lambda: from_numpy([PAIR, PAIR], labels=["ab"]),
        ("1 graphs", "2 graphs"),
    ),
    "attribute rows": (
        lambda: from_numpy([PAIR], attributes=[np.ones((3, 1))]),
        ("graph 0", "3 rows", "2 nodes"),
    ),
    "attribute width": (
        lambda: from_numpy([PAIR, PAIR], attributes=[np.ones((2, 1)), np.ones((2, 3))]),
        ("graph 1", "3 attributes", "graph 0"),
    ),
    "ragged attributes": (lambda: from_numpy([PAIR], attributes=[[[1], [1, 2]]]), "graph 0"),
    "text attributes": (lambda: from_numpy([PAIR], attributes=[["1", "2"]]), "graph 0"),
    "edge out of range": (
        lambda: from_edge_lists([[[0, 1], [1, 0]], [[0, 1], [1, 2]]], [2, 2]),
        ("graph 1", "edge 1", "2 nodes"),
    ),
    "negative node": (lambda: from_edge_lists([[[0, -1]]]), ("graph 0", "edge 0")),
    "edge shape": (lambda: from_edge_lists([[[0, 1]], [[0, 1, 2]]]), ("graph 1", "(1, 3)")),
    "edges of floats": (lambda: from_edge_lists([[[0.5, 1.0]]]), "graph 0"),
    "nothing to count": (lambda: from_edge_lists([[[0, 1]], []]), ("graph 1")),
    "n_nodes count": (lambda: from_edge_lists([[[0, 1]]], [2, 3]), ("1 graphs", "2 numbers")),
    "n_nodes of one graph": (
        lambda: from_edge_lists([[0, 1], [1, 0]], n_nodes=2),
        ("graph 0", "(2,)"),
    ),
    "n_nodes of several graphs": (
        lambda: from_edge_lists([[[0, 1]], [[0, 1]]], n_nodes=2),
        "2 graphs",
    ),
    "n_nodes that is no integer": (
        lambda: from_edge_lists([[[0, 1]]], n_nodes=[2.5]),
        "n_nodes must be integers",
    ),
    "no edges at all": (lambda: from_edge_lists(5), ("arrays of edges", "int")),
    "one weight": (lambda: from_edge_lists([[[0, 1]]], weights=1.0), "weights must be a"),
    "one label": (lambda: from_numpy([PAIR], labels=5), "labels must be a"),
    "one label a graph": (lambda: from_numpy([PAIR], labels=[5]), "graph 0"),
    "matrix": (lambda: from_numpy(PAIR.view(np.matrix)), "graph 0"),
    "matrix in a list": (
        lambda: from_numpy([PAIR, PAIR.view(np.matrix)]),
        ("graph 1", "numpy.matrix"),
    ),
    "masked": (lambda: from_numpy(np.ma.masked_equal(PAIR, 0)), "graph 0"),
    "masked stack": (
        lambda: from_numpy(np.ma.masked_equal([PAIR, PAIR], 0)),
        "adjacency matrices are a",
    ),
    "masked labels": (lambda: from_numpy(PAIR, labels=np.ma.masked_equal([0, 1], 0)), "graph 0"),
    "masked attributes": (
        lambda: from_numpy(PAIR, attributes=np.ma.masked_equal([[0.0], [1.0]], 0)),
        "graph 0",
    ),
    "masked weights": (
        lambda: from_edge_lists([[[0, 1]]], weights=[np.ma.masked_equal([1.0], 1)]),
        "graph 0",
    ),
    "ragged": (lambda: from_numpy([[[0, 1], [1]]]), "graph 0"),
    "weight count": (
        lambda: from_edge_lists([[[0, 1], [1, 0]]], weights=[[1.0]]),
        ("graph 0", "(2,)", "(1,)"),
    ),
    "weights of too few graphs": (
        lambda: from_edge_lists([[[0, 1]]], weights=[]),
        ("0 graphs", "1 graphs"),
    ),
    "text weights": (lambda: from_edge_lists([[[0, 1]]], weights=[["a"]]), "graph 0"),
    "one direction": (lambda: from_edge_lists([[[0, 1]]]), "graph 0"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case: str) -> None:
    convert, message = ERRORS[case]
    fails(convert, about=message)


def test_generator_is_read_once() -> None:
    assert from_numpy(PAIR for _ in range(3)) == GraphBatch.concatenate([from_numpy(PAIR)] * 3)
