from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from retgk import InvalidInputError
from retgk.datasets import (
    FAMILIES,
    make_graph_classification,
    uniform_edges,
)
from retgk.io.dataset import GraphDataset

from .graph_features import simple_features
from .strategies import assert_well_formed

MAKERS: dict[str, Callable[..., GraphDataset]] = {
    "structure": lambda **options: make_graph_classification(40, 4, **options),
    "mixed": lambda **options: make_graph_classification(
        40, 6, n_labels=3, n_attributes=2, **options
    ),
}


def baseline_accuracy(data: GraphDataset) -> float:
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    return float(cross_val_score(model, simple_features(data.graphs), data.targets, cv=5).mean())


@pytest.mark.parametrize("maker", MAKERS)
def test_same_seed_same_graphs(maker: str) -> None:
    first, again = (MAKERS[maker](random_state=3) for _ in range(2))
    assert first.graphs == again.graphs
    np.testing.assert_array_equal(first.targets, again.targets)
    generator = MAKERS[maker](random_state=np.random.default_rng(3))
    assert generator.graphs == first.graphs
    assert MAKERS[maker](random_state=4).graphs != first.graphs


@pytest.mark.parametrize("maker", MAKERS)
def test_graphs_are_simple_and_classes_balanced(maker: str) -> None:
    data = MAKERS[maker](random_state=0)
    assert_well_formed(data.graphs)
    assert not data.graphs.is_weighted
    assert 2 * data.graphs.n_edges == len(data.graphs.indices), "no self-loops"
    counts = np.bincount(data.targets)
    assert counts.max() - counts.min() <= 1
    assert (np.diff(data.targets) < 0).any(), "targets must not be sorted"


@pytest.mark.parametrize("family", FAMILIES)
@given(n_nodes=st.integers(5, 60), seed=st.integers(0, 99))
def test_families_give_distinct_edges(family: str, n_nodes: int, seed: int) -> None:
    edges = FAMILIES[family](n_nodes, 4.0, np.random.default_rng(seed))
    assert edges.min(initial=0) >= 0
    assert edges.max(initial=0) < n_nodes
    assert (edges[:, 0] != edges[:, 1]).all()
    assert len({frozenset(edge) for edge in edges.tolist()}) == len(edges)


@pytest.mark.parametrize("family", FAMILIES)
def test_families_have_the_degree_asked_for(family: str) -> None:
    edges = FAMILIES[family](3000, 4.0, np.random.default_rng(0))
    assert 2 * len(edges) / 3000 == pytest.approx(4.0, rel=0.05)


def test_families_have_their_shape() -> None:
    rng = np.random.default_rng(0)
    largest = {
        name: np.bincount(family(3000, 4.0, rng).ravel()).max() for name, family in FAMILIES.items()
    }
    assert largest["barabasi_albert"] > 3 * largest["erdos_renyi"]
    assert largest["watts_strogatz"] < largest["erdos_renyi"]
    low, high = FAMILIES["stochastic_block"](3000, 4.0, rng).T
    assert ((low < 1500) != (high < 1500)).mean() == pytest.approx(0.1, abs=0.02)


@given(st.integers(2, 12), st.data())
def test_uniform_edges(n_nodes: int, data: st.DataObject) -> None:
    n_pairs = n_nodes * (n_nodes - 1) // 2
    n_edges = data.draw(st.integers(0, n_pairs))
    edges = uniform_edges(n_nodes, n_edges, np.random.default_rng(0))
    assert len({tuple(edge) for edge in edges.tolist()}) == n_edges
    assert (edges[:, 0] < edges[:, 1]).all()
    assert edges.max(initial=0) < n_nodes
    every = uniform_edges(n_nodes, n_pairs, np.random.default_rng(0))
    np.testing.assert_array_equal(
        np.unique(every, axis=0), np.stack(np.triu_indices(n_nodes, 1), axis=1)
    )


@pytest.mark.parametrize(
    ("options", "accuracy"),
    [
        ({"n_classes": 4}, 0.7),
        ({"n_classes": 2}, 0.9),
        ({"families": ["erdos_renyi"], "n_labels": 4}, 0.85),
        ({"families": ["erdos_renyi"], "n_attributes": 2}, 0.65),
        ({"n_classes": 6, "n_labels": 3, "n_attributes": 2}, 0.8),
    ],
)
def test_classes_can_be_told_apart(options: dict[str, Any], accuracy: float) -> None:
    assert baseline_accuracy(make_graph_classification(random_state=0, **options)) > accuracy


def test_one_family_hides_the_classes_in_the_structure() -> None:
    data = make_graph_classification(families=["erdos_renyi"], n_labels=4, random_state=0)
    plain = GraphDataset(data.graphs.without_labels(), data.targets, "plain")
    assert baseline_accuracy(plain) < 0.65


def test_sizes_labels_and_attributes_asked_for() -> None:
    graphs = make_graph_classification(
        50, 3, n_labels=5, n_attributes=7, n_nodes=(5, 8), random_state=0
    ).graphs
    assert set(graphs.node_counts) == {5, 6, 7, 8}
    assert set(graphs.label_names) <= set(range(5))
    assert graphs.n_attributes == 7
    plain = make_graph_classification(50, random_state=0).graphs
    assert not plain.has_labels
    assert plain.n_attributes == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_graph_classification(10, 5), "5 classes cannot be told apart by 4 families"),
        (lambda: make_graph_classification(3, 4), "n_classes must be 1 to n_graphs = 3, got 4"),
        (lambda: make_graph_classification(3, 0), "n_classes must be 1 to n_graphs = 3, got 0"),
        (lambda: make_graph_classification(families=["tree"]), r"families must be .*got \['tree'"),
        (lambda: make_graph_classification(families="erdos_renyi"), "families must be a sequence"),
        (lambda: make_graph_classification(families=[]), r"families must be a sequence.*got \[\]"),
        (lambda: make_graph_classification(n_nodes=(9, 8)), r"n_nodes must be two rising numbers"),
        (lambda: make_graph_classification(n_nodes=5), r"n_nodes must be two rising .*got 5"),
        (lambda: make_graph_classification(n_nodes=(5, 6, 7)), r"n_nodes must be two rising"),
        (lambda: make_graph_classification(n_labels=-1), "n_labels must be a whole number from 0"),
        (lambda: make_graph_classification(n_attributes=-1), "n_attributes must .*, got -1"),
    ],
)
def test_bad_parameters(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        make()
