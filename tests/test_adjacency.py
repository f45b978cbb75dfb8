from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import retgk.graphs.edges
import retgk.graphs.flat
from retgk import GraphBatch
from retgk.graphs.flat import chunks, gather_runs, offsets
from tests.errors import fails
from tests.example_graphs import (
    assert_well_formed,
    dense,
    dense_from_edges,
    edge_lists,
    graph_batches,
)

from_edges = GraphBatch.from_edges


@pytest.fixture(params=[3, 1 << 18], scope="module", autouse=True)
def block_entries(request: pytest.FixtureRequest) -> Any:
    """Run everything with blocks so small that there are several."""
    patch = pytest.MonkeyPatch()
    for module in (retgk.graphs.flat, retgk.graphs.edges):
        patch.setattr(module, "BLOCK_ENTRIES", request.param)
    yield request.param
    patch.undo()


@given(edge_lists())
def test_symmetrised_edges_match_dense_matrix(built: dict[str, Any]) -> None:
    batch = from_edges(**built, symmetrize=True)
    expected = dense_from_edges(batch.n_nodes, built["edges"], built["weights"], symmetrize=True)
    np.testing.assert_array_equal(dense(batch), expected)
    assert_well_formed(batch)


@given(edge_lists())
def test_edges_listed_both_ways_match_dense_matrix(built: dict[str, Any]) -> None:
    edges = np.concatenate([built["edges"], built["edges"][:, ::-1]])
    weights = None if built["weights"] is None else np.tile(built["weights"], 2)
    batch = from_edges(built["n_nodes"], edges, weights)
    expected = dense_from_edges(batch.n_nodes, edges, weights)
    # sums in another order may differ in the last digit; the two directions may not
    np.testing.assert_allclose(dense(batch), expected, rtol=1e-12)
    np.testing.assert_array_equal(dense(batch), dense(batch).T)
    assert_well_formed(batch)


@given(edge_lists(), st.data())
def test_order_of_edges_is_irrelevant(built: dict[str, Any], data: st.DataObject) -> None:
    order = np.array(data.draw(st.permutations(range(len(built["edges"])))), int)
    weights = None if built["weights"] is None else np.array(built["weights"])[order]
    batch = from_edges(**built, symmetrize=True)
    shuffled = from_edges(built["n_nodes"], built["edges"][order], weights, symmetrize=True)
    np.testing.assert_array_equal(shuffled.indices, batch.indices)
    np.testing.assert_allclose(shuffled.weights, batch.weights, rtol=1e-12)


@given(edge_lists())
def test_one_sided_edges_are_an_error_exactly_when_asymmetric(built: dict[str, Any]) -> None:
    n_nodes = sum(built["n_nodes"])
    expected = dense_from_edges(n_nodes, built["edges"], built["weights"])
    if np.allclose(expected, expected.T, rtol=1e-10, atol=0):
        assert from_edges(**built).n_nodes == n_nodes
    else:
        fails(lambda: from_edges(**built), about="is not symmetric")


@given(graph_batches())
def test_csr_arrays_of_a_batch_give_it_back(batch: GraphBatch) -> None:
    again = GraphBatch(batch.node_ptr, batch.indptr, batch.indices, batch.weights)
    assert again == batch.without_labels().without_attributes()
    assert_well_formed(again)


@given(graph_batches(), st.randoms(use_true_random=False))
def test_csr_rows_may_be_unsorted_and_split(batch: GraphBatch, random: Any) -> None:
    columns, weights, indptr = [], [], [0]
    for first, last in zip(batch.indptr[:-1], batch.indptr[1:], strict=True):
        halves = [(batch.indices[e], batch.weights[e] / 2) for e in range(first, last)] * 2
        random.shuffle(halves)
        columns += [column for column, _ in halves]
        weights += [weight for _, weight in halves]
        indptr.append(len(columns))
    again = GraphBatch(batch.node_ptr, indptr, columns, weights)
    np.testing.assert_array_equal(again.indices, batch.indices)
    np.testing.assert_allclose(again.weights, batch.weights, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_any_integer_type(dtype: Any) -> None:
    batch = from_edges([100, 27], np.array([[0, 99], [99, 0], [100, 126], [126, 100]], dtype))
    np.testing.assert_array_equal(batch.indices, [99, 0, 26, 0])
    again = GraphBatch(batch.node_ptr, batch.indptr, batch.indices.astype(dtype))
    assert again == batch


def test_narrow_columns_do_not_overflow_in_a_long_batch() -> None:
    batch = GraphBatch(np.arange(0, 1001, 2), np.arange(1001), np.tile([1, 0], 500).astype(np.int8))
    assert batch.n_edges == 500


def test_three_hundred_parallel_edges_add_up() -> None:
    batch = from_edges(2, [[0, 1], [1, 0]] * 300)
    np.testing.assert_array_equal(batch.weights, [300, 300])


def test_sums_that_differ_by_rounding_are_symmetric() -> None:
    pairs = [[0, 1]] * 3 + [[1, 0]] * 3
    batch = from_edges(2, pairs, [0.1, 0.2, 0.3, 0.3, 0.2, 0.1])
    assert batch.weights[0] == batch.weights[1] == pytest.approx(0.6)


def test_halves_that_add_up_to_one_are_unweighted() -> None:
    edges = [[2, 3], [0, 1], [1, 0], [3, 2]]
    batch = from_edges([2, 2], edges * 2, [0.5] * 8)
    assert not batch.is_weighted


def test_self_loops_count_once() -> None:
    batch = from_edges([2, 1], [[0, 0], [0, 1], [2, 2]], symmetrize=True)
    np.testing.assert_array_equal(batch.edge_counts, [2, 1])
    assert batch.n_edges == 3
    np.testing.assert_array_equal(dense(batch)[:2, :2], [[1, 1], [1, 0]])


BAD_EDGES: list[tuple[Callable[[], Any], Any]] = [
    (lambda: from_edges([1, 3], [[1, 2]]), ("graph 1", "node 0", "node 1")),
    (
        lambda: from_edges([2, 3], [[2, 3], [3, 2], [3, 4], [4, 3]], [2, 2, 1, 1.001]),
        ("graph 1", "node 1", "node 2"),
    ),
    (lambda: GraphBatch([0, 2, 4], [0, 1, 2, 3, 3], [1, 0, 1]), ("graph 1", "node 0", "node 1")),
    (lambda: from_edges([2, 3], [[2, 3], [0, 5]]), ("edge 1", "node 5", "5 nodes")),
    (lambda: from_edges([2, 3], [[-1, 3]]), ("edge 0", "node -1", "5 nodes")),
    (
        lambda: from_edges([2, 3], [[0, 1], [1, 2]], symmetrize=True),
        ("edge 1", "node 1", "graph 0"),
    ),
    (lambda: GraphBatch([0, 1, 3], [0, 0, 1, 2], [1, 2]), ("graph 1", "node 1", "2 nodes")),
    (lambda: GraphBatch([0, 2], [0, 1, 2], [-1, 0]), ("graph 0", "node 0")),
    (
        lambda: from_edges([1, 3], [[1, 3]], [np.nan], symmetrize=True),
        ("graph 1", "node 0", "node 2"),
    ),
    (
        lambda: from_edges([1, 3], [[2, 2], [1, 3]], [1, -1], symmetrize=True),
        ("graph 1", "node 0", "node 2"),
    ),
    (
        lambda: GraphBatch([0, 1, 3], [0, 0, 1, 2], [1, 0], [1, np.inf]),
        ("graph 1", "node 1", "node 0"),
    ),
    (
        lambda: from_edges([1, 2], [[1, 2]] * 2, [1.7e308] * 2, symmetrize=True),
        ("graph 1", "node 0", "0 add"),
    ),
    (
        lambda: from_edges([1, 3], [[2, 1], [2, 3]], [1.7e308] * 2, symmetrize=True),
        ("graph 1", "node 1", "1 add"),
    ),
    (lambda: from_edges(3, [[0, 1]], [1, 2]), ("(1,)", "(2,)")),
    (lambda: from_edges(3, [[0, 1]], 2.0), "(1,)"),
    (lambda: from_edges(3, [[0, 1]], [10**400]), "weights must be real"),
    (lambda: from_edges(3, [[0, 1]], np.ma.array([1.0], mask=True)), "weights are a masked"),
    (lambda: from_edges(3, np.ma.array([[0, 1]])), "edges are a masked"),
    (lambda: from_edges(3, [[0, 1]], ["heavy"]), "weights must be real"),
    (lambda: from_edges(3, [[0, 1]], np.array([1j])), "weights must be real"),
    (lambda: from_edges(3, [[0.0, 1.0]]), "edges must be integers"),
    (lambda: from_edges(3, [[True, False]]), "edges must be integers"),
    (lambda: from_edges(3, [[0, 2**80]]), "edges must be integers"),
    (
        lambda: from_edges(3, np.array([[0, 2**64 - 1]], np.uint64)),
        "edges holds 18446744073709551615; the",
    ),
    (lambda: from_edges(4, [[0, 1, 2], [1, 2, 3]]), "(2, 3)"),
    (lambda: from_edges(4, [0, 1]), "(2,)"),
    (lambda: GraphBatch([0, 2], [0, 1], [1]), ("3 entries", "2 entries")),
    (lambda: GraphBatch([0, 2], [], []), ("3 entries", "0 entries")),
    (lambda: GraphBatch([0, 3], [0, 2, 1, 2], [1, 0]), "indptr falls after entry"),
    (lambda: GraphBatch([0, 2], [0, 1, 2], [[1], [0]]), ("(3,)", "(2, 1)")),
]


@pytest.mark.parametrize(("build", "message"), BAD_EDGES)
def test_bad_edges(build: Callable[[], Any], message: str) -> None:
    fails(build, about=message)


@given(st.lists(st.integers(0, 9), max_size=20))
def test_blocks_cover_all_runs_in_order(counts: list[int]) -> None:
    ptr = offsets(np.array(counts, int))
    cut = list(chunks(ptr, retgk.graphs.flat.BLOCK_ENTRIES))
    assert [first for first, _ in cut] == [0, *(last for _, last in cut)][: len(cut)]
    assert all(last > first for first, last in cut)
    assert (cut[-1][1] if cut else 0) == len(counts)


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 20), st.integers(1, 5))
def test_chunks_are_as_large_as_all_limits_allow(
    counts: list[int], most: int, max_runs: int
) -> None:
    ptr = offsets(np.array(counts, int))
    for first, last in chunks(ptr, most, max_runs, (3 * ptr, 2 * most)):
        sizes = [ptr[stop] - ptr[first] for stop in range(first + 1, len(ptr))]
        fits = [3 * size <= 2 * most and runs < max_runs for runs, size in enumerate(sizes)]
        assert last - first == max(1, fits.index(False) if False in fits else len(fits))
    by_runs = list(chunks(ptr, None, max_runs=max_runs))
    assert all(last - first == max_runs for first, last in by_runs[:-1])


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=9))
def test_gather_runs(runs: list[tuple[int, int]]) -> None:
    values = np.arange(40).reshape(20, 2)
    starts, counts = np.array(runs, int).reshape(-1, 2).T
    expected = [values[start : start + count] for start, count in runs]
    np.testing.assert_array_equal(
        gather_runs(values, starts, counts), np.concatenate([values[:0], *expected])
    )
