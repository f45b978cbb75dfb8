import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from retgk import GraphBatch, InvalidInputError
from retgk.datasets import (
    FAMILIES,
    connected_graph,
    make_graph_classification,
    make_synthetic,
    make_synthie,
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
    "synthetic": lambda **options: make_synthetic(20, **options),
    "synthie": lambda **options: make_synthie(20, **options),
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


def test_connected_graph_is_connected() -> None:
    edges = connected_graph(30, 45, np.random.default_rng(0))
    reached = {0}
    for _ in range(30):
        reached |= {b for a, b in np.r_[edges, edges[:, ::-1]].tolist() if a in reached}
    assert len(reached) == 30


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
        (lambda: make_synthetic(noise=-1), "noise must be a standard deviation, 0 or more, got -1"),
        (lambda: make_synthetic(noise=np.nan), "noise must be a standard deviation, .* got nan"),
        (lambda: make_synthetic(1), "n_graphs must be at least 2, one per class, got 1"),
        (lambda: make_synthie(3), "n_graphs must be at least 4, one per class, got 3"),
    ],
)
def test_bad_parameters(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        make()


def edge_sets(batch: GraphBatch) -> list[set[tuple[int, int]]]:
    """Edges of every graph, each once."""
    return [
        {(i, int(j)) for i in range(g.n_nodes) for j in g.indices[g.indptr[i] : g.indptr[i + 1]]}
        for g in batch
    ]


def assert_recipe_of_synthetic(graphs: GraphBatch, few_swaps: NDArray[np.bool_]) -> None:
    """What the docstring of make_synthetic says of SYNTHETICnew, checked on any such set."""
    assert set(graphs.node_counts) == {100}
    edges = edge_sets(graphs)
    counts: dict[tuple[int, int], int] = {}
    for edge in (edge for graph in edges for edge in graph):
        counts[edge] = counts.get(edge, 0) + 1
    base = {edge for edge, count in counts.items() if count > len(graphs) / 2}
    assert len(base) == 2 * 196
    added = np.array([len(graph - base) // 2 for graph in edges])
    np.testing.assert_allclose(added[few_swaps], 10, atol=1)
    np.testing.assert_allclose(added[~few_swaps], 20, atol=1)
    attributes = graphs.attributes.reshape(len(graphs), 100)
    within = [attributes[chosen] for chosen in (few_swaps, ~few_swaps)]
    assert all(values.std(axis=0).max() < 0.6 for values in within), "permuted once per class"
    noise = np.mean([values.std(axis=0).mean() for values in within])
    assert noise == pytest.approx(0.45, abs=0.03)
    moved = np.abs(within[0].mean(axis=0) - within[1].mean(axis=0)) > 0.25
    assert 4 <= moved.sum() <= 15
    assert attributes.std() == pytest.approx(np.hypot(1, 0.45), rel=0.2)


def test_synthetic_follows_its_recipe() -> None:
    data = make_synthetic(random_state=0)
    assert len(data) == 300
    assert set(data.graphs.edge_counts) == {196}
    assert_recipe_of_synthetic(data.graphs, data.targets == 0)


def test_rewiring_keeps_degrees() -> None:
    degrees = np.diff(make_synthetic(20, random_state=0).graphs.indptr).reshape(20, 100)
    assert (degrees == degrees[0]).all()


def test_synthetic_classes_can_be_told_apart() -> None:
    assert baseline_accuracy(make_synthetic(random_state=0)) > 0.7


def test_synthie_follows_its_recipe() -> None:
    data = make_synthie(random_state=0)
    assert len(data) == 400
    assert set(data.graphs.node_counts) == {100}
    assert_recipe_of_synthie_attributes(data.graphs, data.targets)


def assert_recipe_of_synthie_attributes(graphs: GraphBatch, targets: NDArray[np.int64]) -> None:
    """Rank 12, a pool of rows drawn again and again, and means that pair classes 0-3, 1-2."""
    attributes = graphs.attributes
    assert attributes.shape[1] == 15
    variances = np.linalg.eigvalsh(np.cov(attributes.T))
    np.testing.assert_allclose(variances[:3], 0, atol=1e-6)
    assert variances[3] > 0.5
    assert 13_000 < len(np.unique(attributes, axis=0)) < 15_000
    classes = np.repeat(targets, graphs.node_counts)
    means = np.stack([attributes[classes == target].mean(axis=0) for target in range(4)])
    distance = np.linalg.norm(means[:, None] - means[None], axis=2)
    assert max(distance[0, 3], distance[1, 2]) < 0.5 * min(distance[0, 1], distance[2, 3])


@pytest.mark.parametrize("seed", range(5))
def test_synthie_has_its_numbers_of_edges_for_any_seed(seed: int) -> None:
    data = make_synthie(random_state=seed)
    counts = data.graphs.edge_counts
    assert counts.mean() == pytest.approx(172.93, abs=3)
    assert counts[data.targets < 2].mean() == pytest.approx(199.61, abs=4)
    assert counts[data.targets >= 2].mean() == pytest.approx(146.25, abs=4)
    assert counts[data.targets < 2].min() > np.median(counts[data.targets >= 2])


def test_synthie_classes_can_be_told_apart() -> None:
    data = make_synthie(random_state=0)
    assert baseline_accuracy(data) > 0.8
    plain = GraphDataset(data.graphs.without_attributes(), data.targets, "plain")
    assert 0.4 < baseline_accuracy(plain) < 0.6, "structure tells only two pairs of classes apart"


def read_plainly(folder: Path, name: str) -> tuple[GraphBatch, NDArray[np.int64]]:
    with zipfile.ZipFile(folder / f"{name}.zip") as archive:

        def column(part: str, dtype: Any) -> NDArray[Any]:
            with archive.open(f"{name}/{name}_{part}.txt") as lines:
                return np.loadtxt(lines, dtype=dtype, delimiter=",")

        edges = np.unique(column("A", np.int64), axis=0) - 1
        sizes = np.bincount(column("graph_indicator", np.int64) - 1)
        attributes = column("node_attributes", float).reshape(sizes.sum(), -1)
        targets = column("graph_labels", np.int64)
    return GraphBatch.from_edges(sizes, edges, attributes=attributes), targets


@pytest.mark.real_data
def test_published_synthetic_follows_the_same_recipe(data_folder: Path) -> None:
    graphs, targets = read_plainly(data_folder, "SYNTHETICnew")
    assert_recipe_of_synthetic(graphs, targets == 1)


@pytest.mark.real_data
def test_published_synthie_follows_the_same_recipe(data_folder: Path) -> None:
    graphs, targets = read_plainly(data_folder, "Synthie")
    assert graphs.edge_counts.mean() == pytest.approx(172.93, abs=0.01)
    assert graphs.edge_counts[targets < 2].mean() == pytest.approx(199.61, abs=0.01)
    assert graphs.edge_counts[targets >= 2].mean() == pytest.approx(146.25, abs=0.01)
    assert (np.diff(graphs.indptr) == 0).sum() == 1361
    assert graphs.node_counts.tolist() == np.where(targets < 2, 100, 90).tolist()
    assert_recipe_of_synthie_attributes(graphs, targets)
