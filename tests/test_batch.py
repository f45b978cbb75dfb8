import copy
import pickle
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    cross_val_predict,
    cross_val_score,
    learning_curve,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.utils import shuffle

from retgk import GraphBatch
from retgk.graphs.batch import graphs_digest, with_reading
from retgk.io.convert import as_batch, batch_like
from retgk.kernels import refined_labels
from tests.errors import fails
from tests.example_graphs import assert_well_formed, graph_batches

from_edges = GraphBatch.from_edges


def house() -> GraphBatch:
    """A triangle, an edge and a single node, with labels and attributes."""
    return from_edges(
        [3, 2, 1],
        [[0, 1], [1, 2], [2, 0], [3, 4]],
        labels=["a", "b", "c", "a", "b", "a"],
        attributes=np.arange(12.0).reshape(6, 2),
        symmetrize=True,
    )


def assert_same_graphs(batch: GraphBatch, graphs: list[GraphBatch]) -> None:
    assert_well_formed(batch)
    assert len(batch) == len(graphs)
    for got, expected in zip(batch, graphs, strict=True):
        assert got == expected


@given(graph_batches(), st.data())
def test_slices_are_those_of_a_list(batch: GraphBatch, data: st.DataObject) -> None:
    key = data.draw(st.slices(len(batch)))
    assert_same_graphs(batch[key], list(batch)[key])


def test_step_beyond_all_integers() -> None:
    assert house()[:: 2**63] == house()[0]
    assert len(house()[:0][:: 2**63]) == 0


@given(graph_batches(), st.data())
def test_positions_are_those_of_a_list(batch: GraphBatch, data: st.DataObject) -> None:
    assume(len(batch))
    graphs, places = list(batch), st.integers(-len(batch), len(batch) - 1)
    assert batch[data.draw(places)] in graphs
    chosen = data.draw(st.lists(places, max_size=8))
    expected = [graphs[position] for position in chosen]
    assert_same_graphs(batch[chosen], expected)
    assert_same_graphs(batch[np.array(chosen, np.int16)], expected)
    assert_same_graphs(batch[np.array(chosen, np.int64), ...], expected)


@given(graph_batches(), st.data())
def test_boolean_arrays_select(batch: GraphBatch, data: st.DataObject) -> None:
    n_graphs = len(batch)
    mask = data.draw(st.lists(st.booleans(), min_size=n_graphs, max_size=n_graphs))
    expected = [graph for graph, chosen in zip(batch, mask, strict=True) if chosen]
    assert_same_graphs(batch[np.array(mask, bool)], expected)
    assert_same_graphs(batch[mask], expected)


@given(graph_batches(), st.data())
def test_permutation_of_graphs_is_undone_by_its_inverse(
    batch: GraphBatch, data: st.DataObject
) -> None:
    order = np.array(data.draw(st.permutations(range(len(batch)))), int)
    assert batch[order][np.argsort(order)] == batch


@given(graph_batches(), st.data())
def test_parts_concatenate_to_the_whole(batch: GraphBatch, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(batch)))
    whole = GraphBatch.concatenate([batch[:cut], batch[cut:]])
    assert whole == batch
    assert_well_formed(whole)
    if len(batch):
        assert GraphBatch.concatenate(batch) == batch


@given(st.lists(graph_batches(labelled=True, n_attributes=1), min_size=1, max_size=3))
def test_concatenation_is_that_of_lists(batches: list[GraphBatch]) -> None:
    whole = GraphBatch.concatenate(batches)
    assert_same_graphs(whole, [graph for batch in batches for graph in batch])
    assert set(whole.label_names) == {name for batch in batches for name in batch.label_names}


@given(graph_batches())
def test_counts_add_up(batch: GraphBatch) -> None:
    assert batch.n_nodes == batch.node_counts.sum()
    assert batch.n_edges == batch.edge_counts.sum()
    assert [graph.n_edges for graph in batch] == batch.edge_counts.tolist()
    assert batch.shape == (len(batch),) == (batch.n_graphs,)


@given(graph_batches())
def test_copies_are_equal(batch: GraphBatch) -> None:
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        again = pickle.loads(pickle.dumps(batch, protocol))
        assert again == batch
        assert again.label_names == batch.label_names
        assert_well_formed(again)
    assert copy.copy(batch) == copy.deepcopy(batch) == batch


def test_pickle_of_a_part_holds_only_the_part() -> None:
    batch = from_edges(np.full(1000, 10), [], attributes=np.ones((10_000, 5)))
    assert len(pickle.dumps(batch[3])) < len(pickle.dumps(batch)) / 100


@given(graph_batches(labelled=True, n_attributes=1))
def test_any_difference_is_seen(batch: GraphBatch) -> None:
    assume(len(batch))
    others = [
        batch.with_attributes(batch.attributes + 1),
        batch.with_labels(["other"] * batch.n_nodes),
        batch.without_labels(),
        batch.without_attributes(),
        batch[:-1],
        from_edges([*batch.node_counts, 1], [], labels=[0] * (batch.n_nodes + 1)),
    ]
    assert all(batch != other for other in others)
    assert batch != list(batch)


def test_different_edges_and_weights_are_seen() -> None:
    path, star = [[0, 1], [1, 2]], [[0, 1], [0, 2]]
    assert from_edges(3, path, symmetrize=True) != from_edges(3, star, symmetrize=True)
    light, heavy = ([weight] * 2 for weight in (2.0, 3.0))
    assert from_edges(3, path, light, symmetrize=True) != from_edges(
        3, path, heavy, symmetrize=True
    )
    assert from_edges(3, path, light, symmetrize=True) != from_edges(3, path, symmetrize=True)


def test_equality_is_about_labels_and_not_about_their_codes() -> None:
    narrow = from_edges(2, [], labels=["b", "c"])
    wide = from_edges([1, 2], [], labels=["a", "b", "c"])[1]
    assert narrow.label_names != wide.label_names
    assert narrow == wide
    assert wide == narrow
    assert narrow != from_edges(2, [], labels=["c", "b"])
    assert from_edges(2, [], labels=[1, 2]) == from_edges(2, [], labels=np.array([1, 2]))
    assert from_edges(2, [], labels=[1, 2]) != from_edges(2, [], labels=["1", "2"])


def test_sequence_methods() -> None:
    batch = house()[[0, 1, 2, 1]]
    assert batch[1] in batch
    assert house()[[0, 1]] not in batch
    assert 1 not in batch
    assert batch.index(batch[1]) == 1
    assert batch.count(batch[1]) == 2
    assert [graph.n_nodes for graph in reversed(batch)] == [2, 1, 2, 3]
    with pytest.raises(ValueError):  # noqa: PT011  (raised by collections.abc, without a text)
        batch.index(batch[:0])


def test_is_not_hashable() -> None:
    with pytest.raises(TypeError, match="unhashable type: 'GraphBatch'"):
        hash(house())


def test_repr() -> None:
    assert repr(house()) == "GraphBatch(3 graphs, 6 nodes, 4 edges, 3 labels, 2 attributes)"
    one = from_edges(2, [[0, 1]], [2], labels=[1, 1], attributes=[[1], [1]], symmetrize=True)
    assert repr(one) == "GraphBatch(1 graph, 2 nodes, 1 weighted edge, 1 label, 1 attribute)"
    assert repr(from_edges(12_345, [])) == "GraphBatch(1 graph, 12,345 nodes, 0 edges)"


def test_array_is_one_dimensional() -> None:
    batch = house()
    graphs = np.asarray(batch)
    assert graphs.shape == (3,)
    assert graphs.dtype == object
    assert list(graphs) == list(batch)
    assert np.array(batch, dtype=object, copy=True).shape == (3,)


def test_neutral_labels_and_attributes() -> None:
    batch = from_edges([2, 1], [])
    np.testing.assert_array_equal(batch.labels, [0, 0, 0])
    assert batch.attributes.shape == (3, 0)
    assert not batch.has_labels
    assert batch.label_names == ()


@pytest.mark.parametrize("array", ["node_ptr", "indptr", "indices", "weights", "labels"])
def test_arrays_cannot_be_made_writable(array: str) -> None:
    weighted = from_edges(2, [[0, 1]], [2.0], symmetrize=True)
    for batch in (
        house(),
        house()[1],
        house()[[1, 0]],
        weighted,
        pickle.loads(pickle.dumps(house())),
    ):
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            getattr(batch, array).flags.writeable = True
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            batch.attributes.flags.writeable = True


def test_arrays_of_the_caller_stay_writable() -> None:
    given = {
        "node_ptr": np.array([0, 2]),
        "indptr": np.array([0, 1, 2]),
        "indices": np.array([1, 0], np.int32),
        "weights": np.array([2.0, 2.0]),
        "labels": np.array([0, 1], np.int32),
        "attributes": np.array([[1.0], [2.0]]),
    }
    batch = GraphBatch(**given)
    for name, array in given.items():
        array[:] = 7
        assert array.flags.writeable, name
        assert 7 not in getattr(batch, name), name


@pytest.mark.parametrize("kept", ["attributes", "labels"])
def test_changed_copies_share_the_rest(kept: str) -> None:
    batch = from_edges(
        2, [[0, 1]], [2.0], labels=["a", "b"], attributes=[[1.0], [2.0]], symmetrize=True
    )
    changes: dict[str, list[Callable[[], GraphBatch]]] = {
        "attributes": [batch.without_labels, lambda: batch.with_labels([5, 5])],
        "labels": [batch.without_attributes, lambda: batch.with_attributes([[3.0], [4.0]])],
    }
    for change in changes[kept]:
        changed = change()
        for name in ("node_ptr", "indptr", "indices", "weights", kept):
            assert np.shares_memory(getattr(changed, name), getattr(batch, name)), name
        assert_well_formed(changed)
        assert changed != batch
    assert batch.label_names == ("a", "b")
    np.testing.assert_array_equal(batch.attributes, [[1], [2]])


def test_changed_copies_have_what_was_asked_for() -> None:
    batch = house()
    assert batch.with_labels(range(6)).label_names == (0, 1, 2, 3, 4, 5)
    assert batch.with_labels(None) == batch.without_labels()
    assert batch.with_attributes(None) == batch.without_attributes()
    np.testing.assert_array_equal(
        batch.with_attributes([[i] for i in range(6)])[1].attributes[0], 3
    )


@pytest.mark.parametrize("key", [[], np.zeros(3, bool), slice(3, None), slice(2, 1), np.array([])])
def test_empty_selection_keeps_the_kind(key: Any) -> None:
    batch = house()
    empty = batch[key]
    assert_well_formed(empty)
    assert (len(empty), empty.n_attributes, empty.label_names) == (0, 2, batch.label_names)
    assert GraphBatch.concatenate([empty, batch, empty]) == batch


def test_batch_of_no_graphs() -> None:
    for empty in (from_edges([], []), GraphBatch([0], [0], [])):
        assert_well_formed(empty)
        assert len(empty) == 0
        assert list(empty) == []
        assert empty == from_edges([], [])
    nothing = from_edges([], [], labels=[])
    assert GraphBatch.concatenate([nothing, nothing]).has_labels


BAD_KEYS: list[tuple[Any, Any]] = [
    (3, ("graph 3", "3 graphs")),
    (-4, ("graph -4", "3 graphs")),
    (np.uint8(3), ("graph 3", "3 graphs")),
    ([0, 3], ("graph 3", "3 graphs")),
    (np.array([0, -4]), ("graph -4", "3 graphs")),
    (np.array([2**64 - 1], np.uint64), "graph 18446744073709551615"),
    ([True, False], ("2 booleans", "3 graphs")),
    (np.array([[0, 1]]), "(1, 2)"),
    (np.ones((3, 3), bool), "(3, 3)"),
    (1.0, ("graphs are selected by", "got float")),
    ([1.0], "(1,)"),
    ((0, 1), ("graphs are selected", "got tuple")),
    (True, ("graphs are selected", "got bool")),
    (None, ("graphs are selected", "got NoneType")),
    ("a", ("graphs are selected", "got str")),
    ({0, 1}, ("graphs are selected", "got set")),
    (np.empty((0, 2), int), "(0, 2)"),
]


@pytest.mark.parametrize(("key", "message"), BAD_KEYS)
def test_bad_keys(key: Any, message: str) -> None:
    fails(lambda: house()[key], about=message, error=IndexError)


BAD_BATCHES: list[tuple[Callable[[], Any], Any]] = [
    (lambda: from_edges([2, 0, 1], []), ("graph 1")),
    (lambda: from_edges(0, []), ("graph 0")),
    (lambda: from_edges([2, -1], []), ("graph 1")),
    (lambda: GraphBatch([0, 2, 2], [0, 0, 0], []), ("graph 1")),
    (lambda: from_edges([1, 2**40], []), ("graph 1", "1099511627776 nodes")),
    (lambda: from_edges([2**62] * 3, []), ("graph 0", "4611686018427387904 nodes")),
    (lambda: from_edges(2.0, []), "n_nodes must be integers"),
    (lambda: from_edges([[2, 3]], []), "(1, 2)"),
    (lambda: GraphBatch([1, 2], [0, 0], []), "node_ptr must be one-dimensional"),
    (lambda: GraphBatch(3, [0, 0], []), "node_ptr must be one-dimensional"),
    (lambda: GraphBatch([], [0], []), "node_ptr must be one-dimensional"),
    (lambda: house().with_labels([1]), ("1 labels", "6 nodes")),
    (lambda: house().with_labels(np.ma.arange(6)), "labels are a masked"),
    (lambda: house().with_attributes(np.ma.ones((6, 1))), "attributes are a masked"),
    (lambda: house().with_attributes([[10**400]] * 6), ("attributes must be", "too large")),
    (lambda: house().with_labels("abcabc"), ("labels must be a", "got str")),
    (lambda: house().with_labels(set(range(6))), ("labels must be a", "got set")),
    (lambda: house().with_labels(dict.fromkeys(range(6))), ("labels must be a", "got dict")),
    (lambda: house().with_labels(iter(range(6))), ("labels must be a", "range_iterator")),
    (lambda: house().with_labels(np.array(3)), ("labels must be a", "got ndarray")),
    (lambda: house().with_labels([[1]] * 6), "labels must be hashable"),
    (lambda: house().with_labels(np.ones((6, 2))), "labels must be hashable"),
    (lambda: house().with_labels([1.0, 1.0, 1.0, 1.0, float("nan"), 1.0]), ("graph 1", "node 1")),
    (lambda: house().with_labels(np.array([1, 1, 1, np.nan, 1, 1])), ("graph 1", "node 0")),
    (
        lambda: house().with_attributes([[1], [2], [3], [4], [np.nan], [5]]),
        ("graph 1", "attribute 0", "node 1"),
    ),
    (
        lambda: house().with_attributes(np.full((6, 2), [0, -np.inf])),
        ("graph 0", "attribute 1", "node 0"),
    ),
    (lambda: house().with_attributes([1, 2, 3, 4, 5, 6]), "(6,)"),
    (lambda: house().with_attributes([[1]]), "(1, 1)"),
    (lambda: house().with_attributes([[1], [1, 2], [1], [1], [1], [1]]), "attributes must be real"),
    (lambda: house().with_attributes([["a"]] * 6), "attributes must be real"),
    (lambda: house().with_attributes(np.ones((6, 1), complex)), ("real numbers", "got complex128")),
    (lambda: GraphBatch.concatenate([]), "there is no batch"),
    (lambda: GraphBatch.concatenate([house(), house().without_labels()]), ("batch 1", "batch 0")),
    (lambda: GraphBatch.concatenate([house().without_labels(), house()]), ("batch 1", "batch 0")),
    (
        lambda: GraphBatch.concatenate([house(), house().without_attributes()]),
        ("batch 1", "0 attributes", "batch 0"),
    ),
    (
        lambda: GraphBatch.concatenate([house(), 3]),  # type: ignore[list-item]
        "batch 1",
    ),
    (
        lambda: GraphBatch.concatenate([3]),  # type: ignore[list-item]
        "batch 0",
    ),
]


@pytest.mark.parametrize(("build", "message"), BAD_BATCHES)
def test_bad_batches(build: Callable[[], Any], message: str) -> None:
    fails(build, about=message)


# scikit-learn and joblib take a GraphBatch as they take an array


class Sizes(TransformerMixin, BaseEstimator):
    """One column: the number of nodes, or of edges."""

    def __init__(self, count: str = "nodes") -> None:
        self.count = count

    def fit(self, X: GraphBatch, y: Any = None) -> "Sizes":  # noqa: ARG002
        assert isinstance(X, GraphBatch)
        return self

    def transform(self, X: GraphBatch) -> NDArray[np.float64]:
        assert isinstance(X, GraphBatch)
        return np.log((X.node_counts if self.count == "nodes" else X.edge_counts + 1)[:, None])


@pytest.fixture
def graphs() -> GraphBatch:
    """Sixty graphs of 1 to 60 nodes, without edges."""
    return GraphBatch.from_edges(np.arange(1, 61), [], labels=np.arange(1830) % 3)


@pytest.fixture
def targets() -> NDArray[np.int64]:
    """Whether a graph is large."""
    return (np.arange(60) >= 30).astype(np.int64)


def model() -> Any:
    return make_pipeline(Sizes(), LogisticRegression(C=1000))


def test_train_test_split_stays_aligned(graphs: GraphBatch, targets: NDArray[np.int64]) -> None:
    train, test, y_train, y_test = train_test_split(
        graphs, targets, random_state=0, stratify=targets
    )
    for part, y in ((train, y_train), (test, y_test)):
        assert isinstance(part, GraphBatch)
        np.testing.assert_array_equal(part.node_counts > 30, y)
    assert sorted([*train.node_counts, *test.node_counts]) == list(range(1, 61))


def test_cross_validation(graphs: GraphBatch, targets: NDArray[np.int64]) -> None:
    assert cross_val_score(model(), graphs, targets, cv=5).mean() > 0.8
    assert (cross_val_predict(model(), graphs, targets, cv=5) == targets).mean() > 0.8
    mixed = shuffle(graphs, targets, random_state=0)
    assert learning_curve(model(), *mixed, cv=3, train_sizes=[0.5, 1.0])[0].tolist() == [20, 40]


@pytest.mark.slow
def test_joblib_with_memory_mapped_arrays(graphs: GraphBatch) -> None:
    jobs = (delayed(len)(graphs[start : start + 20]) for start in (0, 20, 40))
    assert Parallel(n_jobs=2, max_nbytes=100)(jobs) == [20, 20, 20]
    same = Parallel(n_jobs=2, max_nbytes=100)(
        delayed(GraphBatch.__eq__)(graphs, graphs[:]) for _ in "ab"
    )
    assert same == [True, True]


# Labels of edges in a batch: alignment, symmetry, slices, joins and errors

EDGES = [[0, 1], [1, 2], [2, 0], [3, 4]]
BONDS = ["-", "=", "-", "#"]


def batch(**options):
    return GraphBatch.from_edges([3, 2], EDGES, edge_labels=BONDS, symmetrize=True, **options)


def label_of(graphs, source, target):
    """Label of an edge, by both ends in the first graph."""
    row = slice(graphs.indptr[source], graphs.indptr[source + 1])
    place = graphs.indices[row].tolist().index(target)
    return graphs.edge_label_names[graphs.edge_labels[row][place]]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_order_of_edges_makes_no_difference(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    pairs = np.array([(i, j) for i in range(n) for j in range(i + 1)])
    chosen = pairs[rng.random(len(pairs)) < 0.5]
    names = rng.choice(list("ab"), len(chosen))
    first = GraphBatch.from_edges(n, chosen, edge_labels=names.tolist(), symmetrize=True)
    order = rng.permutation(len(chosen))
    turned = np.where(rng.random(len(chosen))[:, None] < 0.5, chosen, chosen[:, ::-1])[order]
    second = GraphBatch.from_edges(n, turned, edge_labels=names[order].tolist(), symmetrize=True)
    assert first == second
    for (i, j), name in zip(chosen, names, strict=True):
        assert label_of(first, i, j) == label_of(first, j, i) == name


def test_slices_joins_and_pickles():
    graphs = batch(labels=list("CCNON"))
    again = GraphBatch.concatenate([graphs[1], graphs[0]])[[1, 0]]
    assert again == graphs
    assert pickle.loads(pickle.dumps(graphs)) == graphs
    assert graphs != graphs.without_edge_labels()
    assert not graphs.without_edge_labels().has_edge_labels
    rows = GraphBatch(
        graphs.node_ptr,
        graphs.indptr,
        graphs.indices,
        labels=list("CCNON"),
        edge_labels=[graphs.edge_label_names[code] for code in graphs.edge_labels],
    )
    assert rows == graphs
    other = graphs.with_edge_labels(["x"] * len(graphs.indices))
    assert other.edge_label_names == ("x",)
    assert other != graphs
    assert "3 edge labels" in repr(graphs)


def test_errors():
    fails(
        lambda: GraphBatch.from_edges([3, 2], EDGES, edge_labels=["a", "b"], symmetrize=True),
        about=("2 edge", "4 edges"),
    )
    message = ("graph 1", "node 0", "node 1")
    fails(
        lambda: GraphBatch.from_edges([3, 2], [[3, 4], [4, 3]], edge_labels=["a", "b"]),
        about=message,
    )
    fails(
        lambda: GraphBatch.from_edges(
            [3, 2], [[3, 4], [3, 4]], edge_labels=["a", "b"], symmetrize=True
        ),
        about=message,
    )
    fails(lambda: GraphBatch.concatenate([batch(), batch().without_edge_labels()]), about="batch 1")
    fails(
        lambda: refined_labels(batch().without_edge_labels(), 1, like=batch()),
        about="edges of the graphs",
    )


def test_edges_that_weigh_nothing_lose_their_labels():
    graphs = GraphBatch.from_edges(
        3, [[0, 1], [1, 2]], [1.0, 0.0], edge_labels=["-", "="], symmetrize=True
    )
    assert graphs.n_edges == 1
    assert len(graphs.edge_labels) == 2
    assert label_of(graphs, 0, 1) == "-"


def named_house() -> GraphBatch:
    return house().with_node_names([*"abc", 7, ("x", 1), None])


def names_of(batch: GraphBatch) -> list[Any] | None:
    return None if batch.node_names is None else batch.node_names.tolist()


def test_names_of_nodes_stay_with_their_nodes() -> None:
    batch = named_house()
    assert names_of(batch[1]) == [7, ("x", 1)]
    assert names_of(batch[[2, 0]]) == [None, "a", "b", "c"]
    assert names_of(batch[::-1]) == [None, 7, ("x", 1), *"abc"]
    others = [batch.without_labels(), batch.without_attributes(), pickle.loads(pickle.dumps(batch))]
    for other in [*others, copy.deepcopy(batch), batch.with_labels([0] * 6)]:
        assert names_of(other) == names_of(batch)
    both = GraphBatch.concatenate([batch[0], house()[1]])
    assert names_of(both) == ["a", "b", "c", 0, 1]
    assert names_of(GraphBatch.concatenate([house(), house()])) is None
    assert batch == house()
    assert batch.with_node_names(None).node_names is None


def test_numbers_of_nodes_are_no_names() -> None:
    batch = house()
    for names in ([0, 1, 2, 0, 1, 0], list("012010"), np.array([0, 1, 2, 0, 1, 0])):
        assert batch.with_node_names(names).node_names is None
    assert names_of(batch.with_node_names([1, 2, 3, 1, 2, 1])) == [1, 2, 3, 1, 2, 1]


def test_names_of_nodes_that_all_graphs_have() -> None:
    pair = GraphBatch.concatenate([house()[1]] * 2)
    assert names_of(pair.with_node_names(["left", "right"])) == ["left", "right"] * 2
    fails(lambda: pair.with_node_names("abc"), about="names")
    fails(lambda: house().with_node_names(["a"] * 5), about=("5 names", "6 nodes"))


COLUMNS = ("element", "charge")


def molecules() -> GraphBatch:
    """Two graphs whose labels have two columns."""
    labels = [("N", 1), ("C", 0), ("C", 0), ("C", -1)]
    return from_edges([3, 1], [[0, 1], [1, 2]], labels=labels, label_columns=COLUMNS,
                      symmetrize=True)  # fmt: skip


def test_columns_of_labels_stay_with_the_graphs():
    batch = molecules()
    for other in (batch[1:], batch[[1, 0]], GraphBatch.concatenate([batch, batch[:1]]),
                  pickle.loads(pickle.dumps(batch)), batch.without_attributes()):  # fmt: skip
        assert other.label_columns == COLUMNS
    assert batch.without_labels().label_columns == ()
    assert batch.with_labels([1, 2, 3, 4]).label_columns == ()
    named = batch.with_labels([(1, 2)] * 4, columns=COLUMNS)
    assert named.label_columns == COLUMNS
    assert named != batch.with_labels([(1, 2)] * 4)
    assert graphs_digest(named) != graphs_digest(batch.with_labels([(1, 2)] * 4))
    assert GraphBatch([0], [0], [], labels=[], label_columns=COLUMNS).label_columns == COLUMNS


def test_some_columns_of_labels_are_labels():
    batch = molecules()
    assert batch.with_label_columns(COLUMNS) is batch
    one = batch.with_label_columns("element")
    assert (one.label_columns, one.label_names) == (("element",), ("C", "N"))
    assert one.labels.tolist() == [1, 0, 0, 0]
    turned = batch.with_label_columns(["charge", "element"])
    assert turned.label_names[turned.labels[0]] == (1, "N")
    assert turned.with_label_columns("element") == one


def test_graphs_read_again_have_the_columns_that_were_chosen():
    def converted(graphs, reading):
        return batch_like([nx.path_graph(1)] * len(graphs), reading)

    batch = as_batch([nx.path_graph(2)], label=None)
    assert batch.reading.label_columns == ()
    chosen = molecules()
    reading = batch.reading.with_label_columns(("element",))
    assert with_reading(chosen, reading).with_label_columns("charge").reading.label_columns == (
        "charge",
    )
    fails(lambda: converted([1], reading), about=("'element'", "no named columns"))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: molecules().with_label_columns("degree"), ("'degree'", "element, charge")),
        (lambda: molecules().with_label_columns([]), ("nothing", "element, charge")),
        (lambda: house().with_label_columns("element"), ("'element'", "no named columns")),
        (lambda: house().with_labels(["a"] * 6, columns=COLUMNS), ("element, charge", "'a'")),
        (lambda: from_edges(1, [], label_columns=COLUMNS), ("element, charge", "no labels")),
        (lambda: house().with_labels(["a"] * 6, columns=["x", "x"]), "('x', 'x')"),
        (
            lambda: GraphBatch.concatenate(
                [molecules(), molecules().with_label_columns(["charge", "element"])]
            ),
            ("batch 1", "charge, element", "element, charge"),
        ),
    ],
)
def test_bad_columns_of_labels(build, message):
    fails(build, about=message)
