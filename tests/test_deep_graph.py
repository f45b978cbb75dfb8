"""The deep graph kernel against a slow and obvious version."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import diags_array

from retgk import DeepGraphKernel, GraphBatch, GraphletKernel, as_batch
from retgk.kernels.others import deep_graph as substructure_vectors
from retgk.kernels.others import graphlets
from retgk.kernels.others.counts import GraphCounts
from tests import naive
from tests.kernel_graphs import graphs_of_kind


@pytest.fixture(params=["all eigenvalues", "the largest"])
def search(request, monkeypatch):
    """Eigenvalues by a dense solver, or by the iterative one."""
    if request.param == "the largest":
        monkeypatch.setattr(substructure_vectors, "_DENSE_COLUMNS", 0)


def assert_is_gram(kernel, graphs, counts, pairs):
    """Both similarities, for graphs as fitted ones and as new ones."""
    for similarity in ("lengths", "vectors"):
        kernel.set_params(similarity=similarity, normalize=False)
        how = (kernel.n_components, kernel.n_negatives, similarity)
        expected = naive.shifted_pmi_gram(counts, pairs, *how)
        rounding = 1e-9 * np.abs(expected).max()
        np.testing.assert_allclose(kernel.fit_transform(graphs), expected, atol=rounding)
        np.testing.assert_allclose(kernel.transform(graphs), expected, atol=rounding)


@pytest.mark.usefixtures("search")
@pytest.mark.parametrize("kind", ["labels", "structure"])
@pytest.mark.parametrize("n_iter", [1, 2])
@pytest.mark.parametrize(("n_components", "n_negatives"), [(4, 1.0), (6, 1.5), (10_000, 1.0)])
def test_colours(kind, n_iter, n_components, n_negatives):
    graphs = graphs_of_kind(kind, 12)
    for min_graphs in (1, 3):
        counts, pairs = naive.colour_pairs(graphs, n_iter, min_graphs)
        how = {"n_components": n_components, "n_negatives": n_negatives, "min_graphs": min_graphs}
        kernel = DeepGraphKernel(n_iter=n_iter, random_state=0, **how)
        assert_is_gram(kernel, graphs, counts, pairs)


@pytest.mark.usefixtures("search")
@pytest.mark.parametrize("kind", ["labels", "structure"])
@pytest.mark.parametrize("n_components", [3, 10_000])
def test_paths(kind, n_components):
    graphs = graphs_of_kind(kind, 12)
    for min_graphs in (1, 3):
        how = {"n_components": n_components, "min_graphs": min_graphs}
        kernel = DeepGraphKernel("shortest-path", random_state=0, **how)
        assert_is_gram(kernel, graphs, *naive.path_pairs(graphs, min_graphs))


def test_rare_colours_of_a_large_graph_take_no_coordinates():
    """Vectors are fitted where substructures occur often, as skip-gram does."""
    common = np.array([[0, 9, 1], [9, 0, 1], [1, 1, 30]]) * 1000
    rare = np.ones((40, 40)) - np.eye(40)
    pairs = np.block([[common, np.zeros((3, 40))], [np.zeros((40, 3)), rare]])
    found = substructure_vectors.substructure_vectors(pairs, 2, 1.0, 0)
    lengths = np.linalg.norm(found, axis=1)
    assert lengths[:3].min() > 0.1
    assert lengths[3:].max() < 1e-6


def graphlet_pairs(graph, k, types):
    """Ordered pairs of sets of k nodes that share all but one, by their types."""
    found = np.zeros((len(types), len(types)))
    sets = list(combinations(range(len(graph)), k))

    def type_of(nodes):
        own = graph.subgraph(nodes)
        return [nx.is_isomorphic(own, nx.from_numpy_array(one)) for one in types].index(True)

    kinds = [type_of(nodes) for nodes in sets]
    for i, j in combinations(range(len(sets)), 2):
        if len(set(sets[i]) & set(sets[j])) == k - 1:
            found[kinds[i], kinds[j]] += 1
            found[kinds[j], kinds[i]] += 1
    return found


def test_drawn_pairs_are_unbiased():
    graph = nx.gnp_random_graph(8, 0.4, seed=3)
    counter = graphlets.GraphletCounter(3, False, None)
    n_pairs = 40_000
    found = counter.pairs(as_batch(graph), n_pairs, 1, None)
    assert found.sum() == 2 * n_pairs
    expected = graphlet_pairs(graph, 3, counter.types.adjacency)
    shares = expected / expected.sum()
    deviations = np.sqrt(2 * shares * (1 - shares) / n_pairs)  # a pair counts both ways
    assert (np.abs(found / found.sum() - shares) <= 4.5 * deviations).all()


def test_graphlets():
    graphs = [nx.gnp_random_graph(6 + n % 7, 0.3 + 0.02 * n, seed=n) for n in range(20)]
    kernel = DeepGraphKernel("graphlet", k=4, n_components=5, random_state=4)
    counter = graphlets.GraphletCounter(4, False, None)
    pairs = counter.pairs(as_batch(graphs), 1000, 4, None)
    shares = GraphletKernel(4).fit(graphs).features(graphs).toarray()
    assert_is_gram(kernel, graphs, shares, pairs)


def test_equal_eigenvalues_at_the_end_stay_together():
    """Which vectors of a space of equal eigenvalues are kept would be a matter of chance."""
    block = np.array([[0, 4, 4], [4, 0, 4], [4, 4, 0]])
    pairs = np.kron(np.eye(3), block) + 1e-3
    for n_components in (1, 2, 3):
        found = substructure_vectors.substructure_vectors(pairs, n_components, 1.0, 0)
        assert found.shape == (9, 3)


@pytest.mark.parametrize("similarity", ["lengths", "vectors"])
def test_many_equal_eigenvalues(similarity):
    """Pairs of paths of three nodes, each with labels of its own: 400 equal eigenvalues."""
    path = as_batch(nx.path_graph(3))
    pairs = GraphBatch.concatenate([path] * 800).with_labels(
        [(graph // 2, node) for graph in range(800) for node in range(3)]
    )
    order = np.random.default_rng(0).permutation(len(pairs))
    kernels = [
        DeepGraphKernel(n_iter=0, similarity=similarity, normalize=False, random_state=seed)
        for seed in (0, 1)
    ]
    first, second = (kernel.fit_transform(pairs) for kernel in kernels)
    moved = kernels[0].fit_transform(pairs[order])
    assert first.any()
    np.testing.assert_allclose(second, first, atol=1e-9 * first.max())
    np.testing.assert_allclose(moved, first[np.ix_(order, order)], atol=1e-9 * first.max())


def test_too_many_equal_eigenvalues_are_left_out(monkeypatch):
    """Which of them would be kept were a matter of chance; those above them stay."""
    monkeypatch.setattr(substructure_vectors, "_DENSE_COLUMNS", 0)
    monkeypatch.setattr(substructure_vectors, "_MOST", 20)
    values = np.array([3.0, 2.0] + [1.0] * 200)
    found = substructure_vectors._factor(diags_array(values).tocsr(), 4, 0)
    assert found.shape == (202, 2)
    np.testing.assert_allclose(np.square(found).sum(axis=0), [3.0, 2.0])


def test_seeds():
    graphs = graphs_of_kind("labels", 12)
    same = [
        DeepGraphKernel("graphlet", k=k, random_state=seed).fit_transform(graphs)
        for k, seed in [(4, 0), (4, 0), (4, 1)]
    ]
    np.testing.assert_array_equal(same[0], same[1])
    assert (same[0] != same[2]).any()


def test_nothing_to_learn():
    for kernel in (DeepGraphKernel(n_iter=0), DeepGraphKernel("graphlet", similarity="vectors")):
        with pytest.warns(UserWarning, match=r"nothing to learn, and the kernel is zero; use more"):
            found = kernel.fit_transform([nx.path_graph(4), nx.path_graph(3)])
        np.testing.assert_array_equal(found, np.zeros((2, 2)))


def test_room_for_pairs_of_very_many_colours(monkeypatch):
    """The square of their number does not fit into 32 bits."""
    n, asked = 50_000, []

    def check_room(n_bytes, *_):
        asked.append(n_bytes)
        raise MemoryError

    monkeypatch.setattr(substructure_vectors, "check_room", check_room)
    counts = GraphCounts(np.array([0, n]), np.arange(n, dtype=np.int32), np.ones(n), n)
    with pytest.raises(MemoryError):
        substructure_vectors.pairs_in_graphs(counts, [0, n], 1)
    assert asked == [16 * n * n]
