"""Kernels of other authors for attributes and rare structures, against slow and obvious ones."""

import warnings
from importlib.util import find_spec
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import diags_array

from retgk import GraphBatch, as_batch
from retgk._runtime import processes
from retgk.datasets import load_tudataset
from retgk.kernels import (
    Bridge,
    DeepGraph,
    Gaussian,
    GraphInvariant,
    Graphlets,
    HashGraph,
    Laplacian,
    Polynomial,
    SubgraphMatching,
)
from retgk.kernels.others import deep_graph, graph_invariant, graphlets, subgraph_matching
from retgk.kernels.others.counts import GraphCounts
from tests import naive
from tests.errors import fails
from tests.example_graphs import assert_kernel, graphs_of_kind, random_graphs

BASES = {
    "wl": lambda graphs: naive.weisfeiler_lehman_gram(graphs.without_edge_labels(), 2, False),
    "sp": lambda graphs: naive.shortest_path_gram(
        graphs, lambda u, v: graphs.labels[u] == graphs.labels[v]
    ),
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
def test_hashed_graphs(base, labelled, standardize):
    for seed in range(4):
        graphs = random_graphs(seed, labelled=labelled, n_attributes=2)
        how = {"base": base, "n_iter": 2, "bin_width": 0.8, "standardize": standardize}
        kernel = HashGraph(3, normalize=False, random_state=seed, **how)
        found = kernel.fit_transform(graphs)
        counter = kernel.engine_.counter
        deviations = graphs.attributes.std(axis=0)
        expected = naive.hash_graph_gram(
            graphs,
            BASES[base],
            list(zip(counter.directions, counter.shifts, strict=True)),
            0.8,
            graphs.attributes.mean(axis=0) if standardize else 0.0,
            np.where(deviations > 0, deviations, 1) if standardize else 1.0,
        )
        np.testing.assert_allclose(found, expected, rtol=1e-14)
        np.testing.assert_allclose(kernel.transform(graphs), expected, rtol=1e-14)
        np.testing.assert_allclose(kernel.diagonal(graphs), expected.diagonal(), rtol=1e-14)


def test_hashes_are_two_stable():
    """Points at distance d share a bin as often as the formula of Datar et al. (2004) says."""
    from scipy.stats import norm

    distance, width = 1.5, 2.0
    graphs = as_batch([nx.empty_graph(1), nx.empty_graph(1)]).with_attributes([[0, 0], [0.9, 1.2]])
    kernel = HashGraph(
        4000, n_iter=0, bin_width=width, standardize=False, normalize=False, random_state=0
    )
    share = kernel.fit_transform(graphs)[0, 1]
    ratio = width / distance
    density = 2 / (np.sqrt(2 * np.pi) * ratio) * (1 - np.exp(-(ratio**2) / 2))
    expected = 1 - 2 * norm.cdf(-ratio) - density
    assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / 4000)


def test_bins_that_are_too_narrow():
    graphs = graphs_of_kind("attributes")
    kernel = HashGraph(2, bin_width=1e-12)
    assert "standardize" not in fails(lambda: kernel.fit(graphs), "bin_width=1e-12")
    kernel.set_params(standardize=False)
    fails(lambda: kernel.fit(graphs), ("bin_width=1e-12", "standardize=True"))


@pytest.mark.parametrize("base", BASES)
def test_a_constant_column_is_not_stretched(base):
    """The mean of many 0.1 is not 0.1: rounding is no deviation to divide by."""
    graphs = graphs_of_kind("structure", 30)
    attributes = np.full((graphs.n_nodes, 1), 0.1)
    assert attributes.std() > 0
    kernel = HashGraph(5, base=base, random_state=0).fit(graphs.with_attributes(attributes))
    usual = kernel.transform(graphs.with_attributes(attributes))
    near = kernel.transform(graphs.with_attributes(attributes + 1e-7))
    np.testing.assert_array_equal(near, usual)
    far = kernel.transform(graphs.with_attributes(attributes + 0.1))
    assert 0.3 < far.diagonal().mean() <= 1.0


def test_new_attributes_far_from_all():
    graphs = graphs_of_kind("attributes")
    small = graphs.with_attributes(1e-200 * graphs.attributes)
    kernel = HashGraph(2, random_state=0).fit(small)
    far = graphs.with_attributes(1e140 * graphs.attributes)
    fails(lambda: kernel.transform(far), "bin_width=1.0")
    usual = HashGraph(2, random_state=0).fit_transform(graphs)
    np.testing.assert_array_equal(kernel.transform(small), usual)


# The graph invariant kernel against a slow and obvious version


def assert_is_graph_invariant_kernel(graphs, kernel):
    attributes = kernel.attributes
    values = np.ones((graphs.n_nodes, graphs.n_nodes))
    if attributes is not None:
        values = attributes(graphs.attributes, graphs.attributes)
    zeros, degrees = np.zeros(graphs.n_nodes, int), np.diff(graphs.indptr)
    colours = {"none": zeros, "labels": graphs.labels, "degrees": degrees}[kernel.start].tolist()
    how = (kernel.radius, kernel.n_iter, colours, lambda v, w: values[v, w])
    expected = naive.graph_invariant_gram(graphs, *how, kernel.scope == "local")
    assert_kernel(kernel, graphs, expected)


@pytest.mark.parametrize(
    "attributes", [None, Gaussian(0.3), Laplacian(0.7), Polynomial(0.5)], ids=repr
)
@pytest.mark.parametrize("scope", ["local", "global"])
@pytest.mark.parametrize("start", ["labels", "degrees", "none"])
@settings(max_examples=4)
@given(
    seed=st.integers(0, 10**6),
    radius=st.integers(0, 3),
    n_iter=st.integers(0, 3),
    labelled=st.booleans(),
)
def test_graph_invariants(attributes, scope, start, seed, radius, n_iter, labelled):
    graphs = random_graphs(seed, labelled=labelled, n_attributes=2)
    how = {"scope": scope, "start": start, "attributes": attributes}
    kernel = GraphInvariant(radius, n_iter=n_iter, normalize=False, **how)
    assert_is_graph_invariant_kernel(graphs, kernel)


def test_a_large_radius_makes_local_global():
    """Every node is in the neighbourhood of all others of its connected graph."""
    graphs = graphs_of_kind("both", 12)
    kernels = [GraphInvariant(64, scope=scope) for scope in ("local", "global")]
    grams = [kernel.fit_transform(graphs) for kernel in kernels]
    np.testing.assert_allclose(*grams, rtol=1e-12)


def test_no_room_for_colours(monkeypatch):
    """More rounds take more room, which is asked for before the work."""
    asked = []
    monkeypatch.setattr(graph_invariant, "check_room", lambda n_bytes, *_: asked.append(n_bytes))
    graphs = [nx.path_graph(4)]
    for n_iter in (0, 3):
        GraphInvariant(1, n_iter=n_iter, attributes=None).fit(graphs)
    n_members = 2 + 3 + 3 + 2
    assert asked[1] - asked[0] == 3 * 72 * n_members
    monkeypatch.undo()
    monkeypatch.setattr(processes, "available_bytes", lambda: 1000)
    kernel = GraphInvariant(1, attributes=None)
    fails(lambda: kernel.fit(graphs), ("neighbourhoods", "radius"))


# The subgraph matching kernel against a slow and obvious version, and against GraKeL

needs_grakel = pytest.mark.skipif(find_spec("grakel") is None, reason="needs GraKeL")


def assert_is_subgraph_matching_kernel(graphs, kernel):
    """The kernel by its definition, with the parameters of the estimator."""
    same = graphs.labels[:, None] == graphs.labels
    if kernel.attributes is not None:
        same = same * kernel.attributes(graphs.attributes, graphs.attributes)

    def edge_kernel(weight, label, other_weight, other_label):
        if kernel.edge_kernel is None:
            return 1.0
        width = getattr(kernel.edge_kernel, "width", np.inf)
        return (label == other_label) * max(0.0, 1 - abs(weight - other_weight) / width)

    how = (kernel.k, lambda u, x: same[u, x], edge_kernel, kernel.connected, kernel.size_weights)
    assert_kernel(kernel, graphs, naive.subgraph_matching_gram(graphs, *how))


@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("labelled", [True, False])
def test_counted_matchings(k, connected, labelled):
    for seed in range(4):
        graphs = random_graphs(seed, labelled=labelled, n_attributes=1)
        for edge_kernel in ("labels", None):
            how = {"connected": connected, "edge_kernel": edge_kernel, "normalize": False}
            assert_is_subgraph_matching_kernel(graphs, SubgraphMatching(k, **how))


NODE_KERNELS = [None, Bridge(0.6), Laplacian(0.7), Gaussian(0.2), Polynomial(0.5)]


@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize("attributes", NODE_KERNELS, ids=repr)
@pytest.mark.parametrize("edge_kernel", ["labels", Bridge(0.9), None], ids=repr)
def test_weighted_matchings(attributes, edge_kernel, connected):
    for seed in range(2):
        graphs = random_graphs(seed, weighted=True, n_attributes=2)
        how = {"attributes": attributes, "edge_kernel": edge_kernel}
        how |= {"connected": connected, "size_weights": [0.5, 1, 0, 2][: 3 + seed]}
        kernel = SubgraphMatching(3 + seed, normalize=False, **how)
        assert_is_subgraph_matching_kernel(graphs, kernel)


def test_large_graphs_look_up_their_edges():
    """Beyond some size there is no matrix of edges."""
    size = 1025
    graphs = [nx.path_graph(size), nx.star_graph(60)]
    found = SubgraphMatching(4, normalize=False).fit_transform(graphs)
    paths = [size, *(2 * (size - s) for s in range(1, 4))]  # ordered, of 1 to 4 nodes
    assert found[0, 0] == pytest.approx(size**2 + sum(2 * (size - s) ** 2 for s in range(1, 4)))
    assert found[0, 1] == pytest.approx(size * 61 + paths[1] * 60 + paths[2] * 60 * 59 / 2)


def test_too_many_labels():
    graph = as_batch(nx.path_graph(5000))
    labelled = graph.with_labels(np.arange(5000))
    fails(lambda: SubgraphMatching().fit(labelled), ("5000", "nodes", "4095"))
    SubgraphMatching(3).fit(labelled)
    pairs = np.stack([np.arange(99), np.arange(1, 100)], axis=1)
    many = GraphBatch.from_edges(100, pairs, edge_labels=np.arange(99), symmetrize=True)
    fails(lambda: SubgraphMatching().fit(many), ("99", "edges", "edge_kernel=None"))


@pytest.mark.parametrize("attributes", [None, Bridge(1.0)])
def test_a_batch_has_room_for_the_labels_of_each_of_its_graphs(attributes):
    """Of nodes and of edges; those of no fitted graph meet nothing, but count in the own norm."""
    path = GraphBatch.from_edges(3, [[0, 1], [1, 2]], edge_labels=["a", "b"], symmetrize=True)
    fitted = path.with_labels(["x", "y", "x"]).with_attributes(np.zeros((3, 1)))
    others = [
        path.with_edge_labels([f"{n}", f"{n}", "b", "b"])
        .with_labels(["x", f"{n}", f"other {n % 7}"])
        .with_attributes(np.zeros((3, 1)))
        for n in range(1100)
    ]
    kernel = SubgraphMatching(attributes=attributes, normalize=False).fit(fitted)
    batch = GraphBatch.concatenate(others)
    together, norms = kernel.transform(batch), kernel.diagonal(batch)
    alone, norm = kernel.transform(others[0]), kernel.diagonal(others[0])
    np.testing.assert_array_equal(together, np.repeat(alone, len(others), axis=0))
    np.testing.assert_array_equal(norms, np.repeat(norm, len(others)))


def grakel_matrix(graphs, k, attributes=None):
    import grakel

    from benchmarks.grakel_graphs import grakel_graphs

    def node_kernel(x, y):
        if attributes is None:
            return float(x == y)
        return float(x[0] == y[0]) * float(attributes([x[1]], [y[1]])[0, 0])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = grakel.SubgraphMatching(k=k, kv=node_kernel, ke=None)
        return model.fit_transform(grakel_graphs(graphs))


@needs_grakel
@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("attributes", [None, Bridge(1.0)], ids=repr)
def test_as_grakel(k, attributes):
    graphs = graphs_of_kind("both" if attributes else "labels", 8)
    kernel = SubgraphMatching(k, attributes=attributes, normalize=False)
    expected = grakel_matrix(graphs, k, attributes)
    np.testing.assert_allclose(kernel.fit_transform(graphs), expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.real_data
@needs_grakel
@pytest.mark.parametrize("name", ["MUTAG", "PTC_MR", "ENZYMES", "PROTEINS", "NCI1", "DHFR"])
def test_as_grakel_on_real_sets(name, data_folder):
    graphs = load_tudataset(name, data_home=data_folder, download=False).graphs
    graphs = graphs.without_attributes().without_edge_labels()
    few = graphs[np.flatnonzero(graphs.node_counts < 25)[:6]]
    found = SubgraphMatching(4, normalize=False).fit_transform(few)
    np.testing.assert_allclose(found, grakel_matrix(few, 4), rtol=1e-9)


@pytest.mark.parametrize("connected", [True, False])
def test_no_room_for_subgraphs(connected, monkeypatch):
    """Tables of types stop growing where memory ends, and the error names the graph."""
    small, large = nx.path_graph(3), nx.gnp_random_graph(20, 0.5, seed=0)
    nx.set_node_attributes(large, {node: node for node in large}, "label")
    nx.set_node_attributes(small, 0, "label")
    graphs = as_batch([small, large], label="label")
    kernel = SubgraphMatching(4, connected=connected, n_jobs=1)
    kernel.fit(graphs)
    monkeypatch.setattr(subgraph_matching, "available_bytes", lambda: 128 * 1000)
    message = fails(lambda: kernel.transform(graphs), ("graph 1", "smaller k"))
    assert ("connected=True" in message) != connected
    assert kernel.transform(graphs[:1]).shape == (1, 2)


def star(n_leaves, loops=0):
    edges = [[0, leaf] for leaf in range(1, n_leaves + 1)] + [[i, i] for i in range(loops)]
    return GraphBatch.from_edges(n_leaves + 1, edges, symmetrize=True)


@pytest.mark.parametrize("attributes", [None, Bridge(1.0)])
def test_more_subgraphs_than_can_be_counted(attributes):
    """One graph is one compiled call, which no key stops: it is refused before it begins."""
    graphs = GraphBatch.concatenate([star(4), star(500), star(100)])
    graphs = graphs.with_attributes(np.zeros((graphs.n_nodes, 1)))
    kernel = SubgraphMatching(attributes=attributes)
    about = ("graph 1", "2.6e+09", "5 nodes", "k=4")
    fails(lambda: kernel.fit(graphs), about)
    fails(lambda: kernel.fit(graphs[0]).transform(graphs), about)
    kernel.set_params(connected=False)
    fails(lambda: kernel.fit(graphs), ("2.6e+11", "connected=True", "k=3"))


@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_fewest_subgraphs_are_never_too_many(k, connected, monkeypatch):
    """What is refused has so many subgraphs; of stars and complete graphs none is missed."""
    complete = nx.to_numpy_array(nx.complete_graph(7))
    extremes = [star(8), star(8, loops=9), as_batch([complete]), as_batch([complete + np.eye(7)])]
    for graph in [*extremes, *random_graphs(0, labelled=False).without_edge_labels()]:
        kernel = SubgraphMatching(k, connected=connected).fit(graph)
        types, codes = kernel.engine_.counter.types, np.zeros(graph.n_nodes, np.int32)
        counted = types.find(graph, codes, 1)
        n_sets = counted.counts[types.sizes(counted.types)[counted.columns] == k].sum()
        monkeypatch.setattr(subgraph_matching, "_MOST_SUBGRAPHS", n_sets)
        types.find(graph, codes, 1)
        if any(graph is one for one in extremes):
            monkeypatch.setattr(subgraph_matching, "_MOST_SUBGRAPHS", n_sets - 1)
            fails(lambda t=types, g=graph, c=codes: t.find(g, c, 1), "graph 0")
        monkeypatch.undo()


def test_more_matchings_than_can_be_added_up():
    graphs = GraphBatch.concatenate([star(4), star(40)])
    graphs = graphs.with_attributes(np.zeros((graphs.n_nodes, 1)))
    kernel = SubgraphMatching(attributes=Bridge(1.0))
    about = ("graph 1", "2e+11", "5 nodes", "smaller k")
    fails(lambda: kernel.fit(graphs), about)
    fails(lambda: kernel.fit(graphs[0]).transform(graphs), about)
    kernel.set_params(k=3).fit(graphs)


# The deep graph kernel against a slow and obvious version


@pytest.fixture(params=["all eigenvalues", "the largest"])
def search(request, monkeypatch):
    """Eigenvalues by a dense solver, or by the iterative one."""
    if request.param == "the largest":
        monkeypatch.setattr(deep_graph, "_DENSE_COLUMNS", 0)


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
        kernel = DeepGraph(n_iter=n_iter, random_state=0, **how)
        assert_is_gram(kernel, graphs, counts, pairs)


@pytest.mark.usefixtures("search")
@pytest.mark.parametrize("kind", ["labels", "structure"])
@pytest.mark.parametrize("n_components", [3, 10_000])
def test_paths(kind, n_components):
    graphs = graphs_of_kind(kind, 12)
    for min_graphs in (1, 3):
        how = {"n_components": n_components, "min_graphs": min_graphs}
        kernel = DeepGraph("shortest-path", random_state=0, **how)
        assert_is_gram(kernel, graphs, *naive.path_pairs(graphs, min_graphs))


def test_rare_colours_of_a_large_graph_take_no_coordinates():
    """Vectors are fitted where substructures occur often, as skip-gram does."""
    common = np.array([[0, 9, 1], [9, 0, 1], [1, 1, 30]]) * 1000
    rare = np.ones((40, 40)) - np.eye(40)
    pairs = np.block([[common, np.zeros((3, 40))], [np.zeros((40, 3)), rare]])
    found = deep_graph.substructure_vectors(pairs, 2, 1.0, 0)
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
    kernel = DeepGraph("graphlet", k=4, n_components=5, random_state=4)
    counter = graphlets.GraphletCounter(4, False, None)
    pairs = counter.pairs(as_batch(graphs), 1000, 4, None)
    shares = Graphlets(4, normalize=False).fit(graphs).vectors(graphs).toarray()
    assert_is_gram(kernel, graphs, shares, pairs)


def test_equal_eigenvalues_at_the_end_stay_together():
    """Which vectors of a space of equal eigenvalues are kept would be a matter of chance."""
    block = np.array([[0, 4, 4], [4, 0, 4], [4, 4, 0]])
    pairs = np.kron(np.eye(3), block) + 1e-3
    for n_components in (1, 2, 3):
        found = deep_graph.substructure_vectors(pairs, n_components, 1.0, 0)
        assert found.shape == (9, 3)


@pytest.mark.slow
@pytest.mark.parametrize("similarity", ["lengths", "vectors"])
def test_many_equal_eigenvalues(similarity):
    """Pairs of paths of three nodes, each with labels of its own: 400 equal eigenvalues."""
    path = as_batch(nx.path_graph(3))
    pairs = GraphBatch.concatenate([path] * 800).with_labels(
        [(graph // 2, node) for graph in range(800) for node in range(3)]
    )
    order = np.random.default_rng(0).permutation(len(pairs))
    kernels = [
        DeepGraph(n_iter=0, similarity=similarity, normalize=False, random_state=seed)
        for seed in (0, 1)
    ]
    first, second = (kernel.fit_transform(pairs) for kernel in kernels)
    moved = kernels[0].fit_transform(pairs[order])
    assert first.any()
    np.testing.assert_allclose(second, first, atol=1e-9 * first.max())
    np.testing.assert_allclose(moved, first[np.ix_(order, order)], atol=1e-9 * first.max())


def test_too_many_equal_eigenvalues_are_left_out(monkeypatch):
    """Which of them would be kept were a matter of chance; those above them stay."""
    monkeypatch.setattr(deep_graph, "_DENSE_COLUMNS", 0)
    monkeypatch.setattr(deep_graph, "_MOST", 20)
    values = np.array([3.0, 2.0] + [1.0] * 200)
    found = deep_graph._factor(diags_array(values).tocsr(), 4, 0)
    assert found.shape == (202, 2)
    np.testing.assert_allclose(np.square(found).sum(axis=0), [3.0, 2.0])


def test_nothing_to_learn():
    for kernel in (DeepGraph(n_iter=0), DeepGraph("graphlet", similarity="vectors")):
        with pytest.warns(UserWarning, match=r"nothing to learn, and the kernel is zero; use more"):
            found = kernel.fit_transform([nx.path_graph(4), nx.path_graph(3)])
        np.testing.assert_array_equal(found, np.zeros((2, 2)))


def test_room_for_pairs_of_very_many_colours(monkeypatch):
    """The square of their number does not fit into 32 bits."""
    n, asked = 50_000, []

    def check_room(n_bytes, *_):
        asked.append(n_bytes)
        raise MemoryError

    monkeypatch.setattr(deep_graph, "check_room", check_room)
    counts = GraphCounts(np.array([0, n]), np.arange(n, dtype=np.int32), np.ones(n), n)
    with pytest.raises(MemoryError):
        deep_graph.pairs_in_graphs(counts, [0, n], 1)
    assert asked == [16 * n * n]
