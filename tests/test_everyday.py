"""Similarity and distance in one line."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import (
    GraphBatch,
    InvalidInputError,
    Laplacian,
    RetGKEmbedding,
    distance,
    make_graph_classification,
    most_similar,
    pairwise_distances,
    similarity,
)
from tests import naive
from tests.walk_graphs import path, star


@pytest.fixture(scope="module")
def graphs():
    return make_graph_classification(n_graphs=12, n_labels=3, n_attributes=2, random_state=0).graphs


def permuted(graph, seed):
    """The same graph with its nodes in another order."""
    order = np.random.default_rng(seed).permutation(graph.n_nodes)
    place = np.argsort(order)
    rows = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    names = [graph.label_names[code] for code in graph.labels] if graph.has_labels else None
    return GraphBatch.from_edges(
        graph.n_nodes,
        np.column_stack([place[rows], place[graph.indices]]),
        graph.weights,
        labels=None if names is None else [names[i] for i in order],
        attributes=graph.attributes[order],
    )


pairs = st.tuples(st.integers(0, 11), st.integers(0, 11), st.integers(0, 99))


@settings(max_examples=25, deadline=None)
@given(pair=pairs)
def test_laws(graphs, pair):
    i, j, seed = pair
    g, h = graphs[i], graphs[j]
    value, length = similarity(g, h), distance(g, h)
    assert 0 <= value <= 1
    assert 0 <= length <= np.sqrt(2) + 1e-12
    assert similarity(h, g) == pytest.approx(value, abs=1e-12)
    assert distance(h, g) == pytest.approx(length, abs=1e-7)
    assert similarity(g, permuted(g, seed)) == pytest.approx(1.0, abs=1e-12)
    assert distance(g, permuted(g, seed)) == pytest.approx(0.0, abs=1e-6)
    assert (value == pytest.approx(1.0, abs=1e-12)) == (i == j)


def test_formula():
    g, h = path(4), star(3)
    nodes = [naive.return_probabilities_of_batch(graph, 50) for graph in (g, h)]

    def product(x, y):
        return np.mean([[naive.laplacian(a, b, 5.0) for a in x] for b in y])

    gg, gh, hh = (product(nodes[i], nodes[j]) for i, j in ((0, 0), (0, 1), (1, 1)))
    assert similarity(g, h) == pytest.approx(gh / np.sqrt(gg * hh), abs=1e-12)
    assert distance(g, h) == pytest.approx(np.sqrt(gg + hh - 2 * gh), abs=1e-12)
    assert similarity(g, h, n_steps=3) != similarity(g, h)


def test_a_value_depends_on_its_two_graphs_alone(graphs):
    found = most_similar(graphs[0], graphs, k=12)
    again = most_similar(graphs[0], graphs[:5], k=12)
    lookup = dict(zip(found.indices, found.similarities, strict=True))
    for index, value in zip(*again, strict=True):
        assert value == pytest.approx(lookup[index], abs=1e-8)
        assert value == pytest.approx(similarity(graphs[0], graphs[int(index)]), abs=1e-8)


def test_most_similar(graphs):
    indices, similarities = most_similar(graphs[4], graphs, k=3)
    assert indices[0] == 4
    assert len(indices) == 3
    assert similarities[0] == pytest.approx(1.0)
    assert (np.diff(similarities) <= 0).all()
    twins = GraphBatch.concatenate([graphs[4], graphs[4], graphs[1], graphs[4]])
    assert most_similar(graphs[4], twins, k=2).indices.tolist() == [0, 1]
    assert len(most_similar(graphs[4], graphs, k=99).indices) == 12


def test_pairwise_distances(graphs):
    matrix = pairwise_distances(graphs)
    assert (matrix.diagonal() == 0).all()
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_allclose(pairwise_distances(graphs[:3], graphs), matrix[:3], atol=1e-4)
    assert matrix[2, 7] == pytest.approx(distance(graphs[2], graphs[7]), abs=1e-6)
    triangle = matrix[:, None, :] + matrix[None, :, :] >= matrix[:, :, None] - 1e-9
    assert triangle.all()


def test_kinds_of_graphs_mix():
    nx = pytest.importorskip("networkx")
    cycle = nx.cycle_graph(5)
    matrix = nx.to_numpy_array(cycle)
    assert similarity(cycle, matrix) == 1.0
    assert most_similar(matrix, [nx.path_graph(5), matrix], k=1).indices.tolist() == [1]
    assert pairwise_distances([cycle, matrix], [matrix]).max() < 1e-6


def test_molecules():
    pytest.importorskip("rdkit")
    query, others = "CCO", ["CCCO", "OCC", "c1ccccc1"]
    found = most_similar(query, others)
    assert found.indices.tolist() == [1, 0, 2]
    assert found.similarities[0] == pytest.approx(1.0)


def test_other_labels():
    carbon, nitrogen = path(3).with_labels(["C"] * 3), path(3).with_labels(["N"] * 3)
    assert similarity(carbon, nitrogen) == 0
    assert distance(carbon, nitrogen) > 1
    mixed = path(3).with_labels(["N", "C", "N"])
    assert 0 < similarity(carbon, mixed) < similarity(nitrogen, mixed) < 1


def test_regular_graphs_need_no_median():
    """All nodes have the same return probabilities, so that a median distance would be zero."""
    triangle = np.ones((3, 3)) - np.eye(3)
    assert similarity(triangle, triangle) == 1
    assert 0 < similarity(triangle, np.ones((4, 4)) - np.eye(4)) < 1
    assert similarity(triangle, triangle, structure_kernel=Laplacian(9.0)) == 1


def test_messages(graphs):
    with pytest.raises(InvalidInputError, match="g must be one graph, got 12; use pairwise_dist"):
        similarity(graphs, graphs[0])
    with pytest.raises(InvalidInputError, match="g has no labels, h has some; read some"):
        similarity(graphs[0].without_labels(), graphs[1])
    with pytest.raises(InvalidInputError, match="g has 2 attributes a node, h has 0"):
        distance(graphs[0], graphs[1].without_attributes())
    with pytest.raises(InvalidInputError, match="k must be a whole number of at least 1, got 0"):
        most_similar(graphs[0], graphs, k=0)
    with pytest.raises(InvalidInputError, match="X has labels, Y has none"):
        pairwise_distances(graphs, graphs.without_labels())
    with pytest.raises(InvalidInputError, match="the query has labels, the collection has none"):
        most_similar(graphs[0], graphs.without_labels())


def test_one_kernel_for_all_comparisons(graphs):
    """Vectors, distances and searches agree about who is near."""
    plain = graphs.without_attributes()
    vectors = RetGKEmbedding(n_components=4000, random_state=0).fit_transform(plain)
    exact = pairwise_distances(plain)
    approximate = np.sqrt(np.square(vectors[:, None] - vectors).sum(axis=2))
    assert np.abs(exact - approximate).max() < 0.05
    nearest = most_similar(plain[0], plain, k=3).indices
    unit = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    assert set(np.argsort(-unit @ unit[0])[:3]) == set(nearest.tolist())
