"""Kernels of other authors against slow and obvious versions, and against GraKeL."""

import warnings
from functools import cache
from importlib.util import find_spec
from itertools import combinations, takewhile
from math import comb

import networkx as nx
import numpy as np
import pytest

from retgk import (
    Gaussian,
    GraphBatch,
    GraphletKernel,
    InvalidInputError,
    Laplacian,
    Polynomial,
    ShortestPathKernel,
    WeisfeilerLehmanKernel,
    as_batch,
    graphlet_counts,
    load_tudataset,
)
from retgk.kernels.others import counts as count_products
from retgk.kernels.others import shortest_path as attribute_paths
from retgk.kernels.others import shortest_path as path_counter
from tests import naive
from tests.kernel_graphs import graphs_of_kind
from tests.labelled_edges import random_graphs

needs_grakel = pytest.mark.skipif(find_spec("grakel") is None, reason="needs GraKeL")

SETS = ("MUTAG", "PTC_MR", "ENZYMES", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI", "NCI1", "DHFR")


@pytest.fixture(params=["sparse", "dense"])
def columns(request, monkeypatch):
    """All columns looked up, or all of them multiplied as a whole, three at a time."""
    if request.param == "sparse":
        monkeypatch.setattr(count_products, "_LEAST_DENSE_ROWS", 10**9)
    else:
        monkeypatch.setattr(count_products, "_LEAST_DENSE_ROWS", 0)
        monkeypatch.setattr(count_products, "_DENSE_SHARE", 0.0)
        monkeypatch.setattr(count_products, "_DENSE_BYTES", 8)


# Weisfeiler and Lehman ---------------------------------------------------------------------------


@pytest.mark.parametrize("base", ["subtree", "optimal-assignment"])
@pytest.mark.parametrize("n_iter", [0, 1, 4])
@pytest.mark.usefixtures("columns")
def test_weisfeiler_lehman(base, n_iter):
    for seed in range(8):
        graphs = random_graphs(seed, labelled=seed % 2 == 0)
        expected = naive.weisfeiler_lehman_gram(graphs, n_iter, base != "subtree")
        kernel = WeisfeilerLehmanKernel(n_iter, base=base, normalize=False)
        np.testing.assert_array_equal(kernel.fit_transform(graphs), expected)
        np.testing.assert_array_equal(kernel.transform(graphs), expected)
        np.testing.assert_array_equal(kernel.diagonal(graphs), expected.diagonal())


def test_first_colours():
    graphs = graphs_of_kind("labels")
    degrees = np.diff(graphs.indptr).tolist()
    by_hand = WeisfeilerLehmanKernel(2).fit_transform(graphs.with_labels(degrees))
    found = WeisfeilerLehmanKernel(2, start="degrees").fit_transform(graphs)
    np.testing.assert_array_equal(found, by_hand)
    plain = WeisfeilerLehmanKernel(2).fit_transform(graphs.without_labels())
    np.testing.assert_array_equal(
        WeisfeilerLehmanKernel(2, start="none").fit_transform(graphs), plain
    )


# shortest paths ----------------------------------------------------------------------------------


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.usefixtures("columns")
def test_shortest_paths(labelled, weighted):
    for seed in range(8):
        graphs = random_graphs(seed, labelled=labelled, weighted=weighted)
        expected = naive.shortest_path_gram(
            graphs, lambda u, v, codes=graphs.labels: codes[u] == codes[v]
        )
        kernel = ShortestPathKernel(normalize=False)
        np.testing.assert_array_equal(kernel.fit_transform(graphs), expected)
        np.testing.assert_array_equal(kernel.transform(graphs), expected)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("attribute_kernel", [None, Laplacian(0.7)], ids=["counts", "attributes"])
def test_lengths_of_several_tasks_and_of_new_graphs(weighted, attribute_kernel, monkeypatch):
    """Every task numbers lengths as it finds them, and new graphs have others."""
    monkeypatch.setattr(path_counter, "_TASK_COST", 1)
    monkeypatch.setattr(attribute_paths, "_TASK_COST", 1)
    parts = [random_graphs(seed, weighted=weighted, n_attributes=2) for seed in range(6)]
    graphs = GraphBatch.concatenate(parts)
    values = (graphs.labels[:, None] == graphs.labels).astype(float)
    if attribute_kernel is not None:
        values *= attribute_kernel(graphs.attributes, graphs.attributes)
    expected = naive.shortest_path_gram(graphs, lambda u, v: values[u, v])
    kernel = ShortestPathKernel(attribute_kernel=attribute_kernel, normalize=False)
    np.testing.assert_allclose(kernel.fit_transform(graphs), expected, rtol=1e-12)
    half = len(graphs) // 2
    found = kernel.fit(graphs[half:]).transform(graphs)
    np.testing.assert_allclose(found, expected[:, half:], rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(graphs), expected.diagonal(), rtol=1e-12)


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kernel", [Laplacian(0.7), Gaussian(0.2), Polynomial(0.5)], ids=repr)
def test_shortest_paths_with_attributes(labelled, weighted, kernel):
    for seed in range(4):
        graphs = random_graphs(seed, labelled=labelled, weighted=weighted, n_attributes=2)
        values = kernel(graphs.attributes, graphs.attributes)
        values *= graphs.labels[:, None] == graphs.labels
        expected = naive.shortest_path_gram(graphs, lambda u, v, values=values: values[u, v])
        model = ShortestPathKernel(attribute_kernel=kernel, normalize=False)
        np.testing.assert_allclose(model.fit_transform(graphs), expected, rtol=1e-12)
        np.testing.assert_allclose(model.transform(graphs), expected, rtol=1e-12)
        np.testing.assert_allclose(model.diagonal(graphs), expected.diagonal(), rtol=1e-12)


@pytest.mark.parametrize("model", [ShortestPathKernel, None])
@pytest.mark.parametrize("unit", [1.0, 1e-290, 1e-300, 1e-306, 1e300])
def test_sums_in_another_order_are_the_same_length(model, unit):
    """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in binary."""
    edges = [[0, 1], [1, 2], [2, 3]]
    graphs = GraphBatch.from_edges(
        [4, 4],
        edges + [[i + 4, j + 4] for i, j in edges],
        unit * np.array([0.1, 0.2, 0.3, 0.3, 0.2, 0.1]),
        attributes=np.zeros((8, 1)),
        symmetrize=True,
    )
    kernel = ShortestPathKernel() if model else ShortestPathKernel(attribute_kernel=Laplacian(1.0))
    np.testing.assert_array_equal(kernel.fit_transform(graphs), np.ones((2, 2)))


@pytest.mark.parametrize("model", [ShortestPathKernel, None])
def test_lengths_next_to_powers_of_ten(model):
    """What is a little less than a power of ten has another number of digits before the point."""
    kernel = ShortestPathKernel() if model else ShortestPathKernel(attribute_kernel=Laplacian(1.0))
    powers = 10.0 ** np.arange(-304.0, 300.0, 4.0)
    n_graphs = 2 * len(powers)
    graphs = GraphBatch.from_edges(
        [2] * n_graphs,
        np.arange(2 * n_graphs).reshape(-1, 2),
        np.concatenate([powers, powers * (1 - 1e-13)]),
        attributes=np.zeros((2 * n_graphs, 1)),
        symmetrize=True,
    )
    found = kernel.fit_transform(graphs)
    np.testing.assert_array_equal(found, np.tile(np.eye(len(powers)), (2, 2)))


def test_median_of_attributes_needs_a_seed():
    graphs = graphs_of_kind("attributes", 20)
    kernel = ShortestPathKernel(attribute_kernel=Laplacian(), random_state=3)
    gamma = kernel.fit(graphs).engine_.fitted_kernel.gamma
    expected = Laplacian().fitted(graphs.attributes, graphs.node_ptr, 3).gamma
    assert gamma == expected


def test_many_new_labels():
    """More labels than the fitted graphs have take more bits of a key."""
    graphs = graphs_of_kind("structure", 10)
    names = np.arange(graphs.n_nodes) % 2
    kernel = ShortestPathKernel(normalize=False).fit(graphs.with_labels(names))
    first = graphs.node_ptr[5]
    others = names.copy()
    others[first:] = np.arange(first, graphs.n_nodes)
    found = kernel.transform(graphs.with_labels(others))
    usual = kernel.transform(graphs.with_labels(names))
    np.testing.assert_array_equal(found[:5], usual[:5])
    assert not found[5:].any()


# graphlets ---------------------------------------------------------------------------------------


def random_matrices(n_graphs, seed=0):
    """Graphs of all densities, with self-loops."""
    rng = np.random.default_rng(seed)
    matrices = []
    for _ in range(n_graphs):
        n_nodes, density = rng.integers(1, 12), rng.random()
        half = np.triu(rng.random((n_nodes, n_nodes)) < density)
        matrices.append((half | half.T).astype(float))
    return matrices


@cache
def type_of(bits, k, graphlets):
    """Place of the graph with these entries among graphlets, which are given in the same way."""
    own, *types = (
        nx.from_numpy_array(np.frombuffer(part, bool).reshape(k, k)) for part in (bits, *graphlets)
    )
    return [nx.is_isomorphic(own, graphlet) for graphlet in types]


def counted_by_hand(matrix, graphlets):
    """Number of sets of nodes that induce each graphlet."""
    k, texts = graphlets.shape[1], tuple((own > 0).tobytes() for own in graphlets)
    simple = (matrix > 0) & ~np.eye(len(matrix), dtype=bool)
    sets = [list(nodes) for nodes in combinations(range(len(matrix)), k)]
    found = [type_of(simple[np.ix_(nodes, nodes)].tobytes(), k, texts) for nodes in sets]
    return np.array(found, int).reshape(-1, len(graphlets)).sum(axis=0)


@pytest.mark.parametrize("k", [3, 4])
@pytest.mark.parametrize("connected", [False, True])
def test_counts_of_graphlets(k, connected):
    matrices = random_matrices(25)
    graphlets = GraphletKernel(k, connected=connected).fit(matrices).graphlets_
    assert len(graphlets) == {3: (4, 2), 4: (11, 6)}[k][connected]
    expected = [counted_by_hand(matrix, graphlets) for matrix in matrices]
    np.testing.assert_array_equal(graphlet_counts(matrices, k, connected=connected), expected)


def test_cliques_of_large_graphs():
    """More neighbours than fit into one word."""
    counts = graphlet_counts(nx.complete_graph(150))
    assert counts.tolist() == [[*[0] * 10, 150 * 149 * 148 * 147 // 24]]
    graph = nx.gnp_random_graph(140, 0.4, seed=1)
    small = takewhile(lambda clique: len(clique) <= 4, nx.enumerate_all_cliques(graph))
    assert graphlet_counts(graph)[0, -1] == sum(len(clique) == 4 for clique in small)


@pytest.mark.parametrize("k", [3, 4, 5])
def test_few_sets_are_all_looked_at(k):
    matrices = random_matrices(12, seed=k)
    kernel = GraphletKernel(k, n_samples=462, normalize=False, random_state=0).fit(matrices)
    assert len(kernel.graphlets_) == {3: 4, 4: 11, 5: 34}[k]
    counts = np.array([counted_by_hand(matrix, kernel.graphlets_) for matrix in matrices])
    expected = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    np.testing.assert_allclose(kernel.features(matrices).toarray(), expected, rtol=1e-14)


@pytest.mark.parametrize("k", [5, 6, 7])
def test_every_small_graph_has_its_own_graphlet(k):
    """networkx has an atlas of all graphs of up to seven nodes, found by others."""
    atlas = [graph for graph in nx.graph_atlas_g() if len(graph) == k]
    kernel = GraphletKernel(k, random_state=0).fit(atlas)
    rows, columns = kernel.features(atlas).nonzero()
    assert rows.tolist() == list(range(len(atlas)))
    assert sorted(columns) == list(range(len(atlas))) == list(range(len(kernel.graphlets_)))
    for graph, place in zip(atlas, columns, strict=True):
        assert nx.is_isomorphic(graph, nx.from_numpy_array(kernel.graphlets_[place]))
    connected = GraphletKernel(k, connected=True, random_state=0).fit(atlas)
    assert len(connected.graphlets_) == sum(map(nx.is_connected, atlas))


def test_stars_cost_no_more_than_their_edges():
    """With the square of the largest degree, the first of these would take hours."""
    for n_leaves, k, place in ((1_000_000, 3, 2), (65_000, 4, 5)):
        leaves = np.arange(1, n_leaves + 1)
        edges = np.stack([np.zeros_like(leaves), leaves], axis=1)
        found = graphlet_counts(GraphBatch.from_edges(n_leaves + 1, edges, symmetrize=True), k)[0]
        assert found[0] == comb(n_leaves, k)
        assert found[place] == comb(n_leaves, k - 1)
        assert np.count_nonzero(found) == 2


@pytest.mark.parametrize("n_nodes", [60, 2100])
def test_drawn_shares_are_unbiased(n_nodes):
    """Over many graphs of the same counts; the larger one has its edges looked up in rows."""
    graph = as_batch(nx.fast_gnp_random_graph(n_nodes, 20 / n_nodes, seed=2))
    exact = GraphletKernel(3).fit(graph).features(graph).toarray()[0]
    n_samples = 500
    shares = [
        GraphletKernel(3, n_samples=n_samples, random_state=seed).fit(graph).features(graph)
        for seed in range(60)
    ]
    means = np.mean([share.toarray()[0] for share in shares], axis=0)
    deviations = np.sqrt(exact * (1 - exact) / (n_samples * len(shares)))
    assert (np.abs(means - exact) < 4 * deviations).all()
    assert len({share.toarray().tobytes() for share in shares}) > 10


def test_large_graphs_ask_for_samples():
    large = GraphBatch.from_edges(65_537, np.array([[0, 1]]), symmetrize=True)
    with pytest.raises(InvalidInputError, match=r"graph 0 has 65537 nodes; .* give n_samples"):
        GraphletKernel(4).fit(large)
    assert GraphletKernel(4, n_samples=10, random_state=0).fit_transform(large) == [[1.0]]


# GraKeL ------------------------------------------------------------------------------------------


def grakel_matrix(kernel, graphs):
    from benchmarks.grakel_graphs import grakel_graphs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # GraKeL's own
        return kernel.fit_transform(grakel_graphs(graphs))


@pytest.mark.real_data
@needs_grakel
@pytest.mark.parametrize("name", SETS)
def test_equal_to_grakel(name, data_folder):
    import grakel

    graphs = load_tudataset(name, data_home=data_folder, download=False).graphs
    graphs = graphs.without_attributes().without_edge_labels()
    graphs = graphs[np.random.default_rng(0).choice(len(graphs), 25, replace=False)]
    start = "labels" if graphs.has_labels else "degrees"
    pairs = [
        (WeisfeilerLehmanKernel(start=start), grakel.WeisfeilerLehman(normalize=True)),
        (
            WeisfeilerLehmanKernel(base="optimal-assignment", start=start),
            grakel.WeisfeilerLehmanOptimalAssignment(normalize=True),
        ),
        (ShortestPathKernel(start=start), grakel.ShortestPath(normalize=True)),
        (
            ShortestPathKernel(start="none"),
            grakel.ShortestPath(normalize=True, with_labels=False),
        ),
    ]
    for ours, theirs in pairs:
        expected = np.nan_to_num(grakel_matrix(theirs, graphs))
        np.testing.assert_allclose(ours.fit_transform(graphs), expected, atol=1e-9)
