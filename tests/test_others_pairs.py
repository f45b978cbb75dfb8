"""The hash graph kernel against a slow and obvious version."""

import warnings
from importlib.util import find_spec
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import diags_array

from retgk import (
    Bridge,
    DeepGraphKernel,
    Gaussian,
    GraphBatch,
    GraphInvariantKernel,
    GraphletKernel,
    HashGraphKernel,
    InvalidInputError,
    Laplacian,
    Polynomial,
    SubgraphMatchingKernel,
    as_batch,
    load_tudataset,
)
from retgk._runtime import processes as memory
from retgk.kernels.others import deep_graph as substructure_vectors
from retgk.kernels.others import graph_invariant as node_invariants
from retgk.kernels.others import graphlets
from retgk.kernels.others import subgraph_matching as subgraph_types
from retgk.kernels.others.counts import GraphCounts
from tests import naive
from tests.example_graphs import graphs_of_kind, random_graphs

BASES = {
    "wl": lambda graphs: naive.weisfeiler_lehman_gram(graphs, 2, False),
    "sp": lambda graphs: naive.shortest_path_gram(
        graphs, lambda u, v: graphs.labels[u] == graphs.labels[v]
    ),
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
def test_values(base, labelled, standardize):
    for seed in range(4):
        graphs = random_graphs(seed, labelled=labelled, n_attributes=2)
        kernel = HashGraphKernel(
            3,
            base=base,
            n_iter=2,
            bin_width=0.8,
            standardize=standardize,
            normalize=False,
            random_state=seed,
        )
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
    kernel = HashGraphKernel(
        4000, n_iter=0, bin_width=width, standardize=False, normalize=False, random_state=0
    )
    share = kernel.fit_transform(graphs)[0, 1]
    ratio = width / distance
    density = 2 / (np.sqrt(2 * np.pi) * ratio) * (1 - np.exp(-(ratio**2) / 2))
    expected = 1 - 2 * norm.cdf(-ratio) - density
    assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / 4000)


def test_seeds():
    graphs = graphs_of_kind("attributes", 12)
    kernels = [HashGraphKernel(4, random_state=seed) for seed in (0, 0, 1)]
    same, again, other = (kernel.fit_transform(graphs) for kernel in kernels)
    np.testing.assert_array_equal(same, again)
    assert (same != other).any()


def test_errors():
    graphs = graphs_of_kind("attributes")
    with pytest.raises(InvalidInputError, match=r"no attributes to hash; .*WeisfeilerLehmanKernel"):
        HashGraphKernel().fit(graphs_of_kind("labels"))
    with pytest.raises(InvalidInputError, match=r"the graphs have 0 attributes a node, the fitted"):
        HashGraphKernel(2).fit(graphs).transform(graphs.without_attributes())
    message = r"bin_width=1e-12 is too small .* bins; use a larger one"
    with pytest.raises(InvalidInputError, match=f"{message}$"):
        HashGraphKernel(2, bin_width=1e-12).fit(graphs)
    with pytest.raises(InvalidInputError, match=f"{message}, or standardize=True$"):
        HashGraphKernel(2, bin_width=1e-12, standardize=False).fit(graphs)


@pytest.mark.parametrize("base", BASES)
def test_a_constant_column_is_not_stretched(base):
    """The mean of many 0.1 is not 0.1: rounding is no deviation to divide by."""
    graphs = graphs_of_kind("structure", 30)
    attributes = np.full((graphs.n_nodes, 1), 0.1)
    assert attributes.std() > 0
    kernel = HashGraphKernel(5, base=base, random_state=0).fit(graphs.with_attributes(attributes))
    usual = kernel.transform(graphs.with_attributes(attributes))
    near = kernel.transform(graphs.with_attributes(attributes + 1e-7))
    np.testing.assert_array_equal(near, usual)
    far = kernel.transform(graphs.with_attributes(attributes + 0.1))
    assert 0.3 < far.diagonal().mean() <= 1.0


def test_new_attributes_far_from_all():
    graphs = graphs_of_kind("attributes")
    small = graphs.with_attributes(1e-200 * graphs.attributes)
    kernel = HashGraphKernel(2, random_state=0).fit(small)
    with pytest.raises(InvalidInputError, match=r"bin_width=1.0 is too small .* a larger one$"):
        kernel.transform(graphs.with_attributes(1e140 * graphs.attributes))
    np.testing.assert_array_equal(
        kernel.transform(small), HashGraphKernel(2, random_state=0).fit(graphs).transform(graphs)
    )


# The graph invariant kernel against a slow and obvious version


def first_colours(graphs, start):
    if start == "none":
        return [0] * graphs.n_nodes
    return (graphs.labels if start == "labels" else np.diff(graphs.indptr)).tolist()


def assert_values(graphs, kernel):
    attribute_kernel = kernel.attribute_kernel
    values = np.ones((graphs.n_nodes, graphs.n_nodes))
    if attribute_kernel is not None:
        values = attribute_kernel(graphs.attributes, graphs.attributes)
    expected = naive.graph_invariant_gram(
        graphs,
        kernel.radius,
        kernel.n_iter,
        first_colours(graphs, kernel.start),
        lambda v, w: values[v, w],
        kernel.scope == "local",
    )
    np.testing.assert_allclose(kernel.fit_transform(graphs), expected, rtol=1e-12)
    half = len(graphs) // 2
    found = kernel.fit(graphs[half:]).transform(graphs)
    np.testing.assert_allclose(found, expected[:, half:], rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(graphs), expected.diagonal(), rtol=1e-12)


KERNELS = [None, Gaussian(0.3), Laplacian(0.7), Polynomial(0.5)]


@pytest.mark.parametrize("attribute_kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("scope", ["local", "global"])
@pytest.mark.parametrize("start", ["labels", "degrees", "none"])
def test_values_graph_invariant(attribute_kernel, scope, start):
    for seed, (radius, n_iter) in enumerate([(0, 0), (1, 1), (1, 3), (2, 2)]):
        kernel = GraphInvariantKernel(
            radius,
            n_iter=n_iter,
            scope=scope,
            attribute_kernel=attribute_kernel,
            start=start,
            normalize=False,
        )
        assert_values(random_graphs(seed, n_attributes=2), kernel)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_any_graphs(seed, radius, n_iter, labelled):
    graphs = random_graphs(seed, labelled=labelled, n_attributes=1)
    kernel = GraphInvariantKernel(
        radius, n_iter=n_iter, attribute_kernel=Gaussian(0.5), normalize=False
    )
    assert_values(graphs, kernel)


def test_a_large_radius_makes_local_global():
    """Every node is in the neighbourhood of all others of its connected graph."""
    graphs = graphs_of_kind("both", 12)
    grams = [
        GraphInvariantKernel(64, scope=scope).fit_transform(graphs) for scope in ("local", "global")
    ]
    np.testing.assert_allclose(*grams, rtol=1e-12)


def test_errors_graph_invariant():
    graphs = graphs_of_kind("attributes")
    with pytest.raises(
        InvalidInputError, match=r"nodes have no attributes; .*attribute_kernel=None"
    ):
        GraphInvariantKernel().fit(graphs_of_kind("labels"))
    with pytest.raises(InvalidInputError, match=r"the graphs have 0 attributes a node, the fitted"):
        GraphInvariantKernel().fit(graphs).transform(graphs.without_attributes())
    missing = graphs.attributes.copy()
    missing[3] = np.nan
    with pytest.raises(InvalidInputError, match=r"attribute 0 of node 3 is nan"):
        GraphInvariantKernel().fit(graphs.with_attributes(missing, missing="nan"))


def test_no_room_for_colours(monkeypatch):
    """More rounds take more room, which is asked for before the work."""
    asked = []
    monkeypatch.setattr(node_invariants, "check_room", lambda n_bytes, *_: asked.append(n_bytes))
    graphs = [nx.path_graph(4)]
    for n_iter in (0, 3):
        GraphInvariantKernel(1, n_iter=n_iter, attribute_kernel=None).fit(graphs)
    n_members = 2 + 3 + 3 + 2
    assert asked[1] - asked[0] == 3 * 72 * n_members
    monkeypatch.undo()
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    with pytest.raises(InvalidInputError, match=r"neighbourhoods takes.*; use a smaller radius"):
        GraphInvariantKernel(1, attribute_kernel=None).fit(graphs)


# The subgraph matching kernel against a slow and obvious version, and against GraKeL

needs_grakel = pytest.mark.skipif(find_spec("grakel") is None, reason="needs GraKeL")


def expected_gram(graphs, kernel):
    """The kernel by its definition, with the parameters of the estimator."""
    same = graphs.labels[:, None] == graphs.labels
    if kernel.attribute_kernel is not None:
        same = same * kernel.attribute_kernel(graphs.attributes, graphs.attributes)

    def edge_kernel(weight, label, other_weight, other_label):
        if kernel.edge_kernel is None:
            return 1.0
        width = getattr(kernel.edge_kernel, "width", np.inf)
        return (label == other_label) * max(0.0, 1 - abs(weight - other_weight) / width)

    return naive.subgraph_matching_gram(
        graphs,
        kernel.k,
        lambda u, x: same[u, x],
        edge_kernel,
        kernel.connected,
        kernel.size_weights,
    )


def assert_values_subgraph_matching(graphs, kernel):
    expected = expected_gram(graphs, kernel)
    np.testing.assert_allclose(kernel.fit_transform(graphs), expected, rtol=1e-12)
    half = len(graphs) // 2
    found = kernel.fit(graphs[half:]).transform(graphs)
    np.testing.assert_allclose(found, expected[:, half:], rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(graphs), expected.diagonal(), rtol=1e-12)


@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("labelled", [True, False])
def test_counted_matchings(k, connected, labelled):
    for seed in range(4):
        graphs = random_graphs(seed, labelled=labelled, n_attributes=1)
        for edge_kernel in ("labels", None):
            assert_values_subgraph_matching(
                graphs,
                SubgraphMatchingKernel(
                    k, connected=connected, edge_kernel=edge_kernel, normalize=False
                ),
            )


KERNELS_SUBGRAPH_MATCHING = [Bridge(0.6), Laplacian(0.7), Gaussian(0.2), Polynomial(0.5)]


@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize("attribute_kernel", [None, *KERNELS_SUBGRAPH_MATCHING], ids=repr)
@pytest.mark.parametrize("edge_kernel", ["labels", Bridge(0.9), None], ids=repr)
def test_weighted_matchings(attribute_kernel, edge_kernel, connected):
    for seed in range(2):
        graphs = random_graphs(seed, weighted=True, n_attributes=2)
        kernel = SubgraphMatchingKernel(
            3 + seed,
            connected=connected,
            attribute_kernel=attribute_kernel,
            edge_kernel=edge_kernel,
            size_weights=[0.5, 1, 0, 2][: 3 + seed],
            normalize=False,
        )
        assert_values_subgraph_matching(graphs, kernel)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([None, Bridge(1.0)]))
def test_any_graphs_subgraph_matching(seed, connected, attribute_kernel):
    graphs = random_graphs(seed, names=("a", "b"), n_attributes=1)
    kernel = SubgraphMatchingKernel(
        4, connected=connected, attribute_kernel=attribute_kernel, normalize=False
    )
    assert_values_subgraph_matching(graphs, kernel)


def test_large_graphs_look_up_their_edges():
    """Beyond some size there is no matrix of edges."""
    size = 1025
    graphs = [nx.path_graph(size), nx.star_graph(60)]
    found = SubgraphMatchingKernel(4, normalize=False).fit_transform(graphs)
    paths = [size, *(2 * (size - s) for s in range(1, 4))]  # ordered, of 1 to 4 nodes
    assert found[0, 0] == pytest.approx(size**2 + sum(2 * (size - s) ** 2 for s in range(1, 4)))
    assert found[0, 1] == pytest.approx(size * 61 + paths[1] * 60 + paths[2] * 60 * 59 / 2)


def test_many_tasks_give_the_same(monkeypatch):
    graphs = graphs_of_kind("both", 20)
    expected = [
        SubgraphMatchingKernel(4, attribute_kernel=kernel).fit_transform(graphs)
        for kernel in (None, Bridge(1.0))
    ]
    monkeypatch.setattr(subgraph_types, "_TASK_COST", 1)
    for kernel, values in zip((None, Bridge(1.0)), expected, strict=True):
        found = SubgraphMatchingKernel(4, attribute_kernel=kernel).fit_transform(graphs)
        np.testing.assert_array_equal(found, values)


def test_too_many_labels():
    graph = as_batch(nx.path_graph(5000))
    labelled = graph.with_labels(np.arange(5000))
    with pytest.raises(InvalidInputError, match=r"5000 labels of nodes; .*take 4095: use fewer"):
        SubgraphMatchingKernel().fit(labelled)
    SubgraphMatchingKernel(3).fit(labelled)
    pairs = np.stack([np.arange(99), np.arange(1, 100)], axis=1)
    many = GraphBatch.from_edges(100, pairs, edge_labels=np.arange(99), symmetrize=True)
    with pytest.raises(InvalidInputError, match=r"99 labels of edges; .* or edge_kernel=None"):
        SubgraphMatchingKernel().fit(many)


@pytest.mark.parametrize("attribute_kernel", [None, Bridge(1.0)])
def test_a_batch_has_room_for_the_labels_of_each_of_its_graphs(attribute_kernel):
    """Of nodes and of edges; those of no fitted graph meet nothing, but count in the own norm."""
    path = GraphBatch.from_edges(3, [[0, 1], [1, 2]], edge_labels=["a", "b"], symmetrize=True)
    fitted = path.with_labels(["x", "y", "x"]).with_attributes(np.zeros((3, 1)))
    others = [
        path.with_edge_labels([f"{n}", f"{n}", "b", "b"])
        .with_labels(["x", f"{n}", f"other {n % 7}"])
        .with_attributes(np.zeros((3, 1)))
        for n in range(2200)
    ]
    kernel = SubgraphMatchingKernel(attribute_kernel=attribute_kernel, normalize=False).fit(fitted)
    batch = GraphBatch.concatenate(others)
    together, norms = kernel.transform(batch), kernel.diagonal(batch)
    alone, norm = kernel.transform(others[0]), kernel.diagonal(others[0])
    np.testing.assert_array_equal(together, np.repeat(alone, len(others), axis=0))
    np.testing.assert_array_equal(norms, np.repeat(norm, len(others)))


def grakel_matrix(graphs, k, attribute_kernel=None):
    import grakel

    from benchmarks.grakel_graphs import grakel_graphs

    def node_kernel(x, y):
        if attribute_kernel is None:
            return float(x == y)
        return float(x[0] == y[0]) * float(attribute_kernel([x[1]], [y[1]])[0, 0])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = grakel.SubgraphMatching(k=k, kv=node_kernel, ke=None)
        return model.fit_transform(grakel_graphs(graphs))


@needs_grakel
@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("attribute_kernel", [None, Bridge(1.0)], ids=repr)
def test_as_grakel(k, attribute_kernel):
    graphs = graphs_of_kind("both" if attribute_kernel else "labels", 8)
    kernel = SubgraphMatchingKernel(k, attribute_kernel=attribute_kernel, normalize=False)
    expected = grakel_matrix(graphs, k, attribute_kernel)
    np.testing.assert_allclose(kernel.fit_transform(graphs), expected, rtol=1e-12)


@pytest.mark.real_data
@needs_grakel
@pytest.mark.parametrize("name", ["MUTAG", "PTC_MR", "ENZYMES", "PROTEINS", "NCI1", "DHFR"])
def test_as_grakel_on_real_sets(name, data_folder):
    graphs = (
        load_tudataset(name, data_home=data_folder, download=False)
        .graphs.without_attributes()
        .without_edge_labels()
    )
    few = graphs[np.flatnonzero(graphs.node_counts < 25)[:6]]
    found = SubgraphMatchingKernel(4, normalize=False).fit_transform(few)
    np.testing.assert_allclose(found, grakel_matrix(few, 4), rtol=1e-9)


@pytest.mark.parametrize("connected", [True, False])
def test_no_room_for_subgraphs(connected, monkeypatch):
    """Tables of types stop growing where memory ends, and the error names the graph."""
    small, large = nx.path_graph(3), nx.gnp_random_graph(20, 0.5, seed=0)
    nx.set_node_attributes(large, {node: node for node in large}, "label")
    nx.set_node_attributes(small, 0, "label")
    graphs = as_batch([small, large], label="label")
    kernel = SubgraphMatchingKernel(4, connected=connected, n_jobs=1)
    kernel.fit(graphs)
    monkeypatch.setattr(subgraph_types, "available_bytes", lambda: 128 * 1000)
    advice = "use a smaller k" if connected else "connected=True, or use a smaller k"
    with pytest.raises(InvalidInputError, match=rf"graph 1 has so many subgraphs.*; {advice}"):
        kernel.transform(graphs)
    assert kernel.transform(graphs[:1]).shape == (1, 2)


def star(n_leaves, loops=0):
    edges = [[0, leaf] for leaf in range(1, n_leaves + 1)] + [[i, i] for i in range(loops)]
    return GraphBatch.from_edges(n_leaves + 1, edges, symmetrize=True)


@pytest.mark.parametrize("attribute_kernel", [None, Bridge(1.0)])
def test_more_subgraphs_than_can_be_counted(attribute_kernel):
    """One graph is one compiled call, which no key stops: it is refused before it begins."""
    graphs = GraphBatch.concatenate([star(4), star(500), star(100)])
    graphs = graphs.with_attributes(np.zeros((graphs.n_nodes, 1)))
    kernel = SubgraphMatchingKernel(attribute_kernel=attribute_kernel)
    message = r"graph 1 has at least 2.6e\+09 connected subgraphs of 5 nodes, which take about"
    with pytest.raises(InvalidInputError, match=rf"{message}.*: use k=4, or leave the graph out"):
        kernel.fit(graphs)
    with pytest.raises(InvalidInputError, match=message):
        kernel.fit(graphs[0]).transform(graphs)
    kernel = SubgraphMatchingKernel(connected=False, attribute_kernel=attribute_kernel)
    with pytest.raises(InvalidInputError, match=r"2.6e\+11 subgraphs of.*use connected=True, k=3,"):
        kernel.fit(graphs)


@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_fewest_subgraphs_are_never_too_many(k, connected, monkeypatch):
    """What is refused has so many subgraphs; of stars and complete graphs none is missed."""
    complete = nx.to_numpy_array(nx.complete_graph(7))
    extremes = [star(8), star(8, loops=9), as_batch([complete]), as_batch([complete + np.eye(7)])]
    for graph in [*extremes, *random_graphs(0, labelled=False).without_edge_labels()]:
        kernel = SubgraphMatchingKernel(k, connected=connected).fit(graph)
        types, codes = kernel.engine_.counter.types, np.zeros(graph.n_nodes, np.int32)
        counted = types.find(graph, codes, 1)
        n_sets = counted.counts[types.sizes(counted.types)[counted.columns] == k].sum()
        monkeypatch.setattr(subgraph_types, "_MOST_SUBGRAPHS", n_sets)
        types.find(graph, codes, 1)
        if any(graph is one for one in extremes):
            monkeypatch.setattr(subgraph_types, "_MOST_SUBGRAPHS", n_sets - 1)
            with pytest.raises(InvalidInputError, match="graph 0 has at least"):
                types.find(graph, codes, 1)
        monkeypatch.undo()


def test_more_matchings_than_can_be_added_up():
    graphs = GraphBatch.concatenate([star(4), star(40)])
    graphs = graphs.with_attributes(np.zeros((graphs.n_nodes, 1)))
    kernel = SubgraphMatchingKernel(attribute_kernel=Bridge(1.0))
    message = r"graph 1 has 2e\+11 matchings of up to 5 nodes with itself, .* use a smaller k"
    with pytest.raises(InvalidInputError, match=message):
        kernel.fit(graphs)
    with pytest.raises(InvalidInputError, match=message):
        kernel.fit(graphs[0]).transform(graphs)
    kernel.set_params(k=3).fit(graphs)


# The deep graph kernel against a slow and obvious version


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


def test_seeds_deep_graph():
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
