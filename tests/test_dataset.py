"""What holds for every collection of graphs."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split

from retgk import (
    GraphDataset,
    InvalidInputError,
    RetGKClassifier,
    as_batch,
    make_graph_classification,
)
from retgk.io.dataset import missing_targets
from tests.labelled_edges import edge_label_values
from tests.tu_files import toy_graphs


def test_targets_become_an_array():
    dataset = GraphDataset(toy_graphs(), ["a", "b", "a"], "T")
    assert dataset.targets.tolist() == ["a", "b", "a"]
    assert GraphDataset(toy_graphs(), np.ones((3, 2)), "T").targets.shape == (3, 2)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"targets": [1, 2]}, "T has 3 graphs but 2 targets"),
        ({"targets": 1}, r"T: targets must be one value, .* for each graph; got shape \(\)"),
        ({"targets": np.ones((3, 1, 1))}, r"targets must be .* got shape \(3, 1, 1\)"),
        ({"targets": np.ones((3, 0))}, r"targets must be .* got shape \(3, 0\)"),
        ({"graph_names": ["a"]}, "T has 3 graphs but 1 names"),
        ({"rows": [0, 2]}, "T has 3 graphs but 2 rows"),
    ],
)
def test_values_that_do_not_fit_the_graphs(values, message):
    with pytest.raises(InvalidInputError, match=message):
        GraphDataset(**{"graphs": toy_graphs(), "targets": [1, 2, 3], "name": "T", **values})


FIRST, SECOND = [10, 11, 12, 11, 13, 12, 13], [20, 20]


def toy() -> GraphDataset:
    """Graphs of 7, 2 and 0 entries, whose edge labels say which graph they are of."""
    return GraphDataset(
        toy_graphs().with_edge_labels(FIRST + SECOND), ["a", "b", "c"], "T", "about"
    )


@pytest.mark.parametrize(
    ("key", "targets", "labels"),
    [
        (slice(0, 2), ["a", "b"], FIRST + SECOND),
        (slice(None, None, -1), ["c", "b", "a"], SECOND + FIRST),
        (slice(3, None), [], []),
        ([2, 1, 1], ["c", "b", "b"], SECOND + SECOND),
        (np.array([-1]), ["c"], []),
        (np.array([False, True, True]), ["b", "c"], SECOND),
        ([True, False, False], ["a"], FIRST),
        ([], [], []),
        (np.array([]), [], []),
        (1, ["b"], SECOND),
        (np.int64(-2), ["b"], SECOND),
        ((np.array([1]), ...), ["b"], SECOND),
    ],
)
def test_selected_graphs_keep_their_targets_and_edge_labels(key, targets, labels):
    found = toy()[key]
    assert isinstance(found, GraphDataset)
    assert found.graphs == toy().graphs[key]
    assert (found.targets.tolist(), edge_label_values(found.graphs)) == (targets, labels)
    assert (found.name, found.description) == ("T", "about")


def test_selection_with_several_targets():
    data = GraphDataset(toy_graphs(), np.arange(6).reshape(3, 2), "T")
    assert data[[2, 0]].targets.tolist() == [[4, 5], [0, 1]]


def test_a_selection_keeps_names_and_rows_aligned():
    data = GraphDataset(toy_graphs(), None, "T", graph_names=["x", "y", "z"], rows=[4, 7, 9])
    found = data[[2, 0]]
    assert (found.targets, found.graph_names, found.rows.tolist()) == (None, ["z", "x"], [9, 4])
    assert data[1].graph_names == ["y"]
    assert repr(found).endswith("no targets)")
    with pytest.raises(InvalidInputError, match="fit requires y to be passed"):
        quick().fit(data)


@pytest.mark.parametrize(
    ("targets", "missing"),
    [
        ([1, 2, 3], []),
        (["a", "b", "c"], []),
        ([1.0, np.nan, np.inf], [1, 2]),
        (np.array(["a", None, float("nan")], object), [1, 2]),
        ([[1.0, np.nan], [1, 2], [np.nan, 3]], [0, 2]),
    ],
)
def test_missing_targets(targets, missing):
    data = GraphDataset(toy_graphs(), targets, "T")
    assert np.unique(np.nonzero(missing_targets(data.targets))[0]).tolist() == missing
    assert data.first_without_target() == (missing[0] if missing else None)


def test_a_data_set_is_its_batch():
    assert as_batch(toy_data := toy()) is toy_data.graphs


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (3, "graph 3 is out of range for 3 graphs"),
        ([0, -4], "graph -4 is out of range for 3 graphs"),
        ([True, False], "got 2 booleans to select from 3 graphs"),
        ("a", "graphs are selected by an integer, a slice, or"),
        (True, "graphs are selected by an integer, a slice, or"),
        ((0, 1), "graphs are selected by an integer, a slice, or"),
    ],
)
def test_keys_that_select_nothing(key, message):
    with pytest.raises(IndexError, match=message):
        toy()[key]


def test_a_loop_gives_data_sets_of_one_graph():
    parts = list(toy())
    assert [part.targets.tolist() for part in parts] == [["a"], ["b"], ["c"]]
    assert as_batch(parts) == toy().graphs
    array = np.asarray(toy())
    assert (array.shape, array.dtype) == ((3,), object)
    assert array[1].targets.tolist() == ["b"]


@pytest.fixture(scope="module")
def classes():
    return make_graph_classification(n_graphs=60, n_labels=3, n_nodes=(5, 12), random_state=0)


def quick(**options):
    return RetGKClassifier(**({"n_steps": 8, "C": 10, "cv": 2, "random_state": 0} | options))


def test_cross_validation_takes_a_data_set_for_its_graphs(classes):
    expected = cross_val_score(quick(), classes.graphs, classes.targets, cv=3)
    np.testing.assert_array_equal(
        cross_val_score(quick(), classes, classes.targets, cv=3), expected
    )
    own = cross_val_score(quick(), classes, cv=3)  # y of the data set; folds are not stratified
    assert np.isfinite(own).all()


def test_searches_and_splits_take_a_data_set_for_its_graphs(classes):
    search = GridSearchCV(quick(p=1, scale=1), {"n_steps": [4, 8]}, cv=2)
    same = GridSearchCV(quick(p=1, scale=1), {"n_steps": [4, 8]}, cv=2)
    search.fit(classes, classes.targets)
    same.fit(classes.graphs, classes.targets)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], same.cv_results_["mean_test_score"]
    )
    train, test = train_test_split(classes, random_state=0, stratify=classes.targets)
    assert isinstance(train, GraphDataset)
    assert quick().fit(train).score(test) > 0.5
