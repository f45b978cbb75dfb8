"""What holds for every kernel of other authors: laws, threads, errors, new graphs, files."""

import pickle
import warnings
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from itertools import combinations, takewhile
from math import comb

import networkx as nx
import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors as RDKitDescriptors
from rdkit.Chem import rdFingerprintGenerator
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from retgk import GraphBatch, GraphClassifier, Walks, as_batch, load_model, save_model
from retgk._runtime.parameters import Whole
from retgk.datasets import load_tudataset
from retgk.kernels import (
    Bridge,
    DeepGraph,
    Descriptors,
    Gaussian,
    GraphInvariant,
    Graphlets,
    HashGraph,
    Laplacian,
    Morgan,
    Polynomial,
    RetGKEmbedding,
    ShortestPath,
    SubgraphMatching,
    WeisfeilerLehman,
    WeisfeilerLehmanOA,
    graphlet_counts,
    refinement,
)
from retgk.kernels.engine import PlainGraphs
from retgk.kernels.others import (
    all_kernels,
    counts,
    graph_invariant,
    graphlets,
    shortest_path,
    subgraph_matching,
)
from retgk.kernels.others.pairs import PairEngine
from tests import naive
from tests.errors import fails
from tests.example_graphs import assert_kernel, graphs_of_kind, permuted, random_graphs

KERNELS = {
    "subtree": WeisfeilerLehman(3),
    "subtree, degrees": WeisfeilerLehman(2, start="degrees"),
    "assignment": WeisfeilerLehmanOA(3),
    "paths": ShortestPath(),
    "paths, lengths alone": ShortestPath(start="none"),
    "paths, attributes": ShortestPath(attributes=Laplacian(0.5)),
    "graphlets": Graphlets(4),
    "graphlets, connected": Graphlets(3, connected=True),
    "graphlets, drawn": Graphlets(5, n_samples=200, random_state=0),
    "matchings": SubgraphMatching(4),
    "matchings, not connected": SubgraphMatching(3, connected=False, edge_kernel=None),
    "matchings, attributes": SubgraphMatching(4, attributes=Bridge(1.5)),
    "hashes": HashGraph(3, bin_width=2.0, random_state=0),
    "hashes, paths": HashGraph(2, base="sp", bin_width=3.0, random_state=0),
    "invariants": GraphInvariant(1, attributes=None),
    "invariants, attributes": GraphInvariant(2, n_iter=2, attributes=Gaussian(0.5)),
    "deep": DeepGraph(n_iter=1, n_components=1000, random_state=0),
    "deep vectors": DeepGraph(n_iter=1, similarity="vectors", n_components=1000, random_state=0),
    "deep paths": DeepGraph("shortest-path", n_components=1000, random_state=0),
    "deep graphlets": DeepGraph("graphlet", n_components=4, random_state=0),
}
every_kernel = pytest.mark.parametrize("name", KERNELS)
IS_DRAWN = ("graphlets, drawn", "deep graphlets")
LEARNS = (DeepGraph, HashGraph)
"""Kernels that fit more than a vocabulary, so that values depend on which graphs are fitted."""


def fresh(name, **parameters):
    return clone(KERNELS[name]).set_params(**parameters)


def compares_labels(kernel):
    parameters = kernel.get_params()
    return parameters.get("start") == "labels" and parameters.get("base") != "graphlet"


def compares_attributes(kernel):
    return isinstance(kernel, HashGraph) or kernel.get_params().get("attributes")


def many_graphs():
    """Enough graphs that some columns are dense, and of very different sizes."""
    return graphs_of_kind("both", 150)


def test_every_kernel_obeys_the_laws():
    assert {type(kernel) for kernel in KERNELS.values()} == set(all_kernels())


@every_kernel
def test_some_of_the_fitted_graphs(name):
    graphs, kept = graphs_of_kind("both"), np.array([4, 1])
    kernel = fresh(name).fit(graphs)
    some, new = kernel.engine_.keep(kept), PlainGraphs(graphs[:3])
    assert some.n_graphs == 2
    products = kernel.engine_.inner_products()[np.ix_(kept, kept)]
    np.testing.assert_array_equal(some.inner_products(), products)
    np.testing.assert_array_equal(some.squared_norms(), kernel.diagonal()[kept])
    rows = kernel.transform(graphs[:3])[:, kept]
    np.testing.assert_array_equal(some.compare(new).products(), rows)


@every_kernel
@pytest.mark.parametrize("normalize", [True, False])
def test_positive_semidefinite_and_symmetric(name, normalize):
    kernel = fresh(name, normalize=normalize)
    found = kernel.fit_transform(many_graphs())
    np.testing.assert_array_equal(found, found.T)
    assert np.linalg.eigvalsh(found).min() > -1e-12 * np.abs(found).max() * len(found)
    np.testing.assert_array_equal(found.diagonal(), kernel.diagonal())
    assert kernel.get_feature_names_out()[-1] == f"graph{len(found) - 1}"


@every_kernel
def test_normalized_values_are_cosines(name):
    graphs = many_graphs()[:40]
    plain = fresh(name, normalize=False).fit_transform(graphs)
    norms = np.sqrt(plain.diagonal())
    expected = plain / norms[:, None] / norms
    np.testing.assert_allclose(fresh(name).fit_transform(graphs), expected, atol=1e-14)


@every_kernel
def test_threads_change_no_bit(name, monkeypatch):
    """Of many small tasks: as they come, all these graphs would be one."""
    for module in (graphlets, subgraph_matching, shortest_path):
        monkeypatch.setattr(module, "_TASK_COST", 1)
    monkeypatch.setattr(graphlets, "_PAIR_GRAPHS", 5)
    monkeypatch.setattr(shortest_path, "_PAIR_TASK_COST", 1)
    monkeypatch.setattr(graph_invariant, "_TASK_NODES", 100)
    for module in (refinement, counts):
        monkeypatch.setattr(module, "BLOCK_ENTRIES", 100)
    graphs = many_graphs()
    one, two = (fresh(name, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.fit_transform(graphs), two.fit_transform(graphs))
    np.testing.assert_array_equal(one.transform(graphs[:70]), two.transform(graphs[:70]))


@every_kernel
def test_new_graphs_have_the_rows_of_fitted_ones(name):
    graphs = many_graphs()
    kernel = fresh(name, normalize=False)
    found = kernel.fit_transform(graphs[:90])
    is_pairwise = isinstance(kernel.engine_, PairEngine)
    rounding = 1e-13 if is_pairwise else 0  # sums over the nodes of the other graph first
    np.testing.assert_allclose(kernel.transform(graphs[:90]), found, rtol=rounding)
    if isinstance(kernel, LEARNS):
        return
    whole = fresh(name, normalize=False).fit_transform(graphs)
    np.testing.assert_allclose(kernel.transform(graphs[90:]), whole[90:, :90], rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(graphs[90:]), whole.diagonal()[90:], rtol=1e-12)


@every_kernel
def test_a_new_graph_stands_alone(name):
    graphs = many_graphs()
    kernel = fresh(name).fit(graphs[:90])
    together = kernel.transform(graphs[90:])
    for place in (0, 31, 59):
        alone = kernel.transform(graphs[90 + place])
        np.testing.assert_array_equal(alone, together[place : place + 1])


@every_kernel
def test_order_of_graphs(name):
    graphs, order = many_graphs(), np.random.default_rng(1).permutation(150)
    found = fresh(name).fit_transform(graphs)
    moved = fresh(name).fit_transform(graphs[order])
    np.testing.assert_allclose(moved, found[np.ix_(order, order)], atol=1e-14)


@pytest.mark.parametrize("name", [name for name in KERNELS if name not in IS_DRAWN])
def test_order_of_nodes(name):
    graphs = many_graphs()[:40]
    kernel = fresh(name, normalize=False)
    found = kernel.fit_transform(graphs)
    np.testing.assert_allclose(kernel.transform(permuted(graphs)), found, rtol=1e-12)


@every_kernel
def test_what_no_fitted_graph_has(name):
    """It meets nothing, and counts in the norm of its graph."""
    graphs = graphs_of_kind("both", 12)
    kernel = fresh(name).fit(graphs)
    names = [graphs.label_names[code] for code in graphs.labels]
    strange = graphs.with_labels([*names[: graphs.node_ptr[6]], *["?"] * len(names)][: len(names)])
    found, usual = kernel.transform(strange), kernel.transform(graphs)
    np.testing.assert_array_equal(found[:6], usual[:6])
    if compares_labels(kernel):
        assert not found[6:].any()
        has_norm = not isinstance(kernel, DeepGraph)  # where what is new has no vector
        own = [1.0] * 6 + [float(has_norm)] * 6
        np.testing.assert_array_equal(kernel.diagonal(strange), own)
        with pytest.warns(UserWarning, match="no node label of the graphs is known"):
            kernel.transform(graphs.with_labels(["?"] * graphs.n_nodes))
    else:
        np.testing.assert_array_equal(found, usual)


@pytest.mark.parametrize("name", [name for name in KERNELS if name not in ("assignment",)])
def test_features_give_the_kernel(name):
    graphs = many_graphs()
    kernel = fresh(name, normalize=False).fit(graphs[:90])
    if isinstance(kernel.engine_, PairEngine):
        fails(lambda: kernel.vectors(graphs), "no vectors")
        return
    fitted, new = (csr_array(kernel.vectors(own)) for own in (graphs[:90], graphs[90:]))
    found = (new @ fitted.T).toarray()
    np.testing.assert_allclose(found, kernel.transform(graphs[90:]), rtol=1e-12, atol=1e-14)


@every_kernel
def test_files_and_parameters_after_fit(name, tmp_path):
    """A fitted kernel keeps its values, here and in a file, whatever is set later."""
    others = {"normalize": False, "n_iter": 1, "edge_labels": True, "k": 3}
    others |= {"start": "degrees", "connected": True, "n_samples": 9, "random_state": 7}
    others |= {"attributes": Laplacian(2.0), "edge_kernel": None, "size_weights": [1, 2, 3]}
    others |= {"n_hashes": 1, "bin_width": 0.1, "standardize": False, "radius": 0}
    others |= {"scope": "global", "n_components": 1, "n_negatives": 2.0, "min_graphs": 9}
    others |= {"similarity": "vectors"}
    graphs = many_graphs()[:40]
    kernel = fresh(name).fit(graphs)
    expected = kernel.transform(graphs)
    choices = {HashGraph: {"base": "sp"}, DeepGraph: {"base": "graphlet"}}
    others |= choices.get(type(kernel), {})
    kernel.set_params(**{k: v for k, v in others.items() if k in kernel.get_params()})
    np.testing.assert_array_equal(kernel.transform(graphs), expected)
    save_model(kernel, tmp_path / "kernel.retgk")
    loaded = load_model(tmp_path / "kernel.retgk")
    np.testing.assert_array_equal(loaded.transform(graphs), expected)
    np.testing.assert_array_equal(loaded.diagonal(), kernel.diagonal())


@every_kernel
def test_fit_that_fails_leaves_the_kernel_as_it_was(name):
    graphs = graphs_of_kind("both", 12)
    kernel = fresh(name).fit(graphs)
    expected = kernel.transform(graphs)
    fails(lambda: kernel.set_params(n_jobs=0).fit(graphs[:5]), "n_jobs")
    kernel.set_params(n_jobs=None)
    fails(lambda: kernel.fit(graphs[:5], label="element"), ("label", "as_batch"))
    fails(lambda: kernel.fit(graphs[:0]), "no graphs")
    np.testing.assert_array_equal(kernel.transform(graphs), expected)


@pytest.mark.parametrize("kind", all_kernels())
def test_parameters_are_those_of_the_table_of_the_class(kind):
    graphs = graphs_of_kind("attributes")
    for name, allowed in kind._parameter_constraints.items():
        for wrong in ["wrong", *(one.least - 1 for one in allowed if isinstance(one, Whole))]:
            kernel = kind(**{name: wrong})
            fails(lambda kernel=kernel: kernel.fit(graphs), (name, str(wrong)))


@pytest.mark.parametrize(
    ("kernel", "about"),
    [
        (ShortestPath(attributes="rbf"), ("attributes", "Laplacian", "rbf")),
        (GraphInvariant(attributes=Bridge()), ("attributes", "Bridge")),
        (SubgraphMatching(attributes="rbf"), ("attributes", "Bridge", "rbf")),
        (SubgraphMatching(edge_kernel="rbf"), ("edge_kernel", "Bridge", "rbf")),
        (SubgraphMatching(3, size_weights=[1, 2]), ("size_weights", "k=3", "[1, 2]")),
        (SubgraphMatching(2, size_weights=[1, -2]), ("size_weights", "k=2", "[1, -2]")),
    ],
)
def test_kernels_and_weights_that_are_none(kernel, about):
    fails(lambda: kernel.fit(graphs_of_kind("attributes")), about)


@every_kernel
def test_new_graphs_that_are_not_alike(name):
    """With labels or without, with as many attributes, none of them missing."""
    graphs, kernel = graphs_of_kind("both"), fresh(name)
    if compares_labels(kernel):
        kernel.fit(graphs)
        fails(lambda: kernel.transform(graphs.without_labels()), "labels")
        kernel.fit(graphs.without_labels())
        fails(lambda: kernel.transform(graphs), "labels")
    if not compares_attributes(kernel):
        return
    plain, values = graphs.without_attributes(), graphs.attributes.copy()
    fails(lambda: kernel.fit(plain), "attributes")
    kernel.fit(graphs)
    fails(lambda: kernel.transform(plain), ("0 attributes", "2"))
    values[3, 0] = np.nan
    missing = graphs.with_attributes(values, missing="nan")
    for call in (kernel.transform, kernel.fit):
        fails(lambda call=call: call(missing), ("attribute 0", "node 3", "nan"))


def test_new_graphs_are_read_as_the_fitted_ones():
    graphs = [nx.path_graph(4), nx.star_graph(3)]
    for graph in graphs:
        nx.set_node_attributes(graph, dict(enumerate("CCNO")), "element")
    kernel = WeisfeilerLehman(2).fit(as_batch(graphs, label="element"))
    np.testing.assert_array_equal(kernel.transform(graphs).diagonal(), 1.0)


def test_graphs_without_anything_to_compare():
    graphs = as_batch([nx.empty_graph(2), nx.path_graph(5)])
    for kernel in (ShortestPath(), Graphlets(3, connected=True)):
        np.testing.assert_array_equal(kernel.fit_transform(graphs), [[0, 0], [0, 1]])
        np.testing.assert_array_equal(kernel.diagonal(graphs), [0, 1])
        np.testing.assert_array_equal(kernel.transform(graphs), [[0, 0], [0, 1]])


def test_in_a_pipeline():
    graphs = graphs_of_kind("labels", 30)
    steps = [("k", WeisfeilerLehman()), ("svc", SVC(kernel="precomputed"))]
    grid = {"k__n_iter": [0, 2], "k": [WeisfeilerLehman(), WeisfeilerLehmanOA()]}
    search = GridSearchCV(Pipeline(steps), grid, cv=3).fit(graphs, np.arange(30) % 2)
    assert len(search.cv_results_["params"]) == 4


# Kernels of other authors against slow and obvious versions, and against GraKeL

needs_grakel = pytest.mark.skipif(find_spec("grakel") is None, reason="needs GraKeL")

SETS = ("MUTAG", "PTC_MR", "ENZYMES", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI", "NCI1", "DHFR")


@pytest.fixture(params=["sparse", "dense"])
def columns(request, monkeypatch):
    """All columns looked up, or all of them multiplied as a whole, three at a time."""
    if request.param == "sparse":
        monkeypatch.setattr(counts, "_LEAST_DENSE_ROWS", 10**9)
    else:
        monkeypatch.setattr(counts, "_LEAST_DENSE_ROWS", 0)
        monkeypatch.setattr(counts, "_DENSE_SHARE", 0.0)
        monkeypatch.setattr(counts, "_DENSE_BYTES", 8)


# Weisfeiler and Lehman ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [WeisfeilerLehman, WeisfeilerLehmanOA])
@pytest.mark.parametrize("n_iter", [0, 1, 4])
@pytest.mark.parametrize("edge_labels", [False, True])
@pytest.mark.usefixtures("columns")
def test_weisfeiler_lehman(kind, n_iter, edge_labels):
    for seed in range(8):
        graphs = random_graphs(seed, labelled=seed % 2 == 0)
        seen = graphs if edge_labels else graphs.without_edge_labels()
        expected = naive.weisfeiler_lehman_gram(seen, n_iter, kind is WeisfeilerLehmanOA)
        kernel = kind(n_iter, edge_labels=edge_labels, normalize=False)
        assert_kernel(kernel, graphs, expected, 0)


def test_first_colours():
    graphs = graphs_of_kind("labels")
    degrees = np.diff(graphs.indptr).tolist()
    by_hand = WeisfeilerLehman(2).fit_transform(graphs.with_labels(degrees))
    found = WeisfeilerLehman(2, start="degrees").fit_transform(graphs)
    np.testing.assert_array_equal(found, by_hand)
    plain = WeisfeilerLehman(2).fit_transform(graphs.without_labels())
    found = WeisfeilerLehman(2, start="none").fit_transform(graphs)
    np.testing.assert_array_equal(found, plain)


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
        assert_kernel(ShortestPath(normalize=False), graphs, expected, 0)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("attributes", [None, Laplacian(0.7)], ids=["counts", "attributes"])
def test_lengths_of_several_tasks_and_of_new_graphs(weighted, attributes, monkeypatch):
    """Every task numbers lengths as it finds them, and new graphs have others."""
    monkeypatch.setattr(shortest_path, "_TASK_COST", 1)
    monkeypatch.setattr(shortest_path, "_PAIR_TASK_COST", 1)
    parts = [random_graphs(seed, weighted=weighted, n_attributes=2) for seed in range(4)]
    graphs = GraphBatch.concatenate(parts)
    values = (graphs.labels[:, None] == graphs.labels).astype(float)
    if attributes is not None:
        values *= attributes(graphs.attributes, graphs.attributes)
    expected = naive.shortest_path_gram(graphs, lambda u, v: values[u, v])
    kernel = ShortestPath(attributes=attributes, normalize=False)
    assert_kernel(kernel, graphs, expected)


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kernel", [Laplacian(0.7), Gaussian(0.2), Polynomial(0.5)], ids=repr)
def test_shortest_paths_with_attributes(labelled, weighted, kernel):
    for seed in range(4):
        graphs = random_graphs(seed, labelled=labelled, weighted=weighted, n_attributes=2)
        values = kernel(graphs.attributes, graphs.attributes)
        values *= graphs.labels[:, None] == graphs.labels
        expected = naive.shortest_path_gram(graphs, lambda u, v, values=values: values[u, v])
        model = ShortestPath(attributes=kernel, normalize=False)
        assert_kernel(model, graphs, expected)


@pytest.mark.parametrize("attributes", [None, Laplacian(1.0)])
@pytest.mark.parametrize("unit", [1.0, 1e-290, 1e-300, 1e-306, 1e300])
def test_sums_in_another_order_are_the_same_length(attributes, unit):
    """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in binary."""
    edges = [[0, 1], [1, 2], [2, 3]]
    graphs = GraphBatch.from_edges(
        [4, 4],
        edges + [[i + 4, j + 4] for i, j in edges],
        unit * np.array([0.1, 0.2, 0.3, 0.3, 0.2, 0.1]),
        attributes=np.zeros((8, 1)),
        symmetrize=True,
    )
    kernel = ShortestPath(attributes=attributes)
    np.testing.assert_array_equal(kernel.fit_transform(graphs), np.ones((2, 2)))


@pytest.mark.parametrize("attributes", [None, Laplacian(1.0)])
def test_lengths_next_to_powers_of_ten(attributes):
    """What is a little less than a power of ten has another number of digits before the point."""
    kernel = ShortestPath(attributes=attributes)
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
    kernel = ShortestPath(attributes=Laplacian(), random_state=3)
    gamma = kernel.fit(graphs).engine_.fitted_kernel.gamma
    expected = Laplacian().fitted(graphs.attributes, graphs.node_ptr, 3).gamma
    assert gamma == expected


def test_many_new_labels():
    """More labels than the fitted graphs have take more bits of a key."""
    graphs = graphs_of_kind("structure", 10)
    names = np.arange(graphs.n_nodes) % 2
    kernel = ShortestPath(normalize=False).fit(graphs.with_labels(names))
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
    halves = [np.triu(rng.random((n, n)) < rng.random()) for n in rng.integers(1, 12, n_graphs)]
    return [(half | half.T).astype(float) for half in halves]


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
    graphlets = Graphlets(k, connected=connected).fit(matrices).graphlets_
    assert len(graphlets) == {3: (4, 2), 4: (11, 6)}[k][connected]
    expected = [counted_by_hand(matrix, graphlets) for matrix in matrices]
    np.testing.assert_array_equal(graphlet_counts(matrices, k, connected=connected), expected)


@pytest.mark.slow
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
    kernel = Graphlets(k, n_samples=462, normalize=False, random_state=0).fit(matrices)
    assert len(kernel.graphlets_) == {3: 4, 4: 11, 5: 34}[k]
    counts = np.array([counted_by_hand(matrix, kernel.graphlets_) for matrix in matrices])
    expected = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    np.testing.assert_allclose(kernel.vectors(matrices).toarray(), expected, rtol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("k", [5, 6, 7])
def test_every_small_graph_has_its_own_graphlet(k):
    """networkx has an atlas of all graphs of up to seven nodes, found by others."""
    atlas = [graph for graph in nx.graph_atlas_g() if len(graph) == k]
    kernel = Graphlets(k, random_state=0).fit(atlas)
    rows, columns = kernel.vectors(atlas).nonzero()
    assert rows.tolist() == list(range(len(atlas)))
    assert sorted(columns) == list(range(len(atlas))) == list(range(len(kernel.graphlets_)))
    for graph, place in zip(atlas, columns, strict=True):
        assert nx.is_isomorphic(graph, nx.from_numpy_array(kernel.graphlets_[place]))
    connected = Graphlets(k, connected=True, random_state=0).fit(atlas)
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
    exact = Graphlets(3, normalize=False).fit(graph).vectors(graph).toarray()[0]
    n_samples = 500
    shares = [
        Graphlets(3, n_samples=n_samples, normalize=False, random_state=seed)
        .fit(graph)
        .vectors(graph)
        for seed in range(60)
    ]
    means = np.mean([share.toarray()[0] for share in shares], axis=0)
    deviations = np.sqrt(exact * (1 - exact) / (n_samples * len(shares)))
    assert (np.abs(means - exact) < 4 * deviations).all()
    assert len({share.toarray().tobytes() for share in shares}) > 10


def test_large_graphs_ask_for_samples():
    large = GraphBatch.from_edges(65_537, np.array([[0, 1]]), symmetrize=True)
    fails(lambda: Graphlets(4).fit(large), ("graph 0", "65537", "n_samples"))
    assert Graphlets(4, n_samples=10, random_state=0).fit_transform(large) == [[1.0]]


# GraKeL ------------------------------------------------------------------------------------------


def grakel_matrix(kernel, graphs):
    from benchmarks.grakel_graphs import grakel_graphs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # GraKeL's own
        return kernel.fit_transform(grakel_graphs(graphs))


@pytest.mark.slow
@pytest.mark.real_data
@needs_grakel
@pytest.mark.parametrize("name", SETS)
def test_equal_to_grakel(name, data_folder):
    import grakel

    graphs = load_tudataset(name, data_home=data_folder, download=False).graphs
    graphs = graphs.without_attributes().without_edge_labels()
    graphs = graphs[np.random.default_rng(0).choice(len(graphs), 25, replace=False)]
    start = "labels" if graphs.has_labels else "degrees"
    assignment = WeisfeilerLehmanOA(start=start)
    pairs = {
        WeisfeilerLehman(start=start): grakel.WeisfeilerLehman(normalize=True),
        assignment: grakel.WeisfeilerLehmanOptimalAssignment(normalize=True),
        ShortestPath(start=start): grakel.ShortestPath(normalize=True),
        ShortestPath(start="none"): grakel.ShortestPath(normalize=True, with_labels=False),
    }
    for ours, theirs in pairs.items():
        expected = np.nan_to_num(grakel_matrix(theirs, graphs))
        np.testing.assert_allclose(ours.fit_transform(graphs), expected, atol=1e-9)


# Kernels of other authors where numbers are very large or very small, or graphs are none

GRAPHS = graphs_of_kind("both", 12)


def with_scale(scale):
    """The graphs with attributes that are so many times as large."""
    return GRAPHS.with_attributes(scale * GRAPHS.attributes)


@every_kernel
def test_no_graphs(name):
    kernel = fresh(name).fit(GRAPHS)
    assert kernel.transform(GRAPHS[:0]).shape == (0, len(GRAPHS))
    assert kernel.diagonal(GRAPHS[:0]).shape == (0,)
    if name != "assignment" and not isinstance(kernel.engine_, PairEngine):
        assert kernel.vectors(GRAPHS[:0]).shape == (0, kernel.vectors(GRAPHS).shape[1])


@pytest.mark.parametrize("feature_map", ["phases", "joint", "tensor"])
@pytest.mark.parametrize("walks", [{}, {"method": "monte-carlo", "n_walks": 20}, {"nodes": 3}])
def test_no_graphs_have_no_errors(feature_map, walks):
    model = RetGKEmbedding(
        walks=Walks(8, **walks), n_components=8, feature_map=feature_map, random_state=0
    )
    shape = model.fit(GRAPHS).transform(GRAPHS[:0]).shape
    assert [part.shape for part in model.transform_with_error(GRAPHS[:0])] == [shape, shape]


def assert_same_kernel(kernel, other, graphs, others):
    """Values of two kernels, of fitted graphs and of new ones, where both are normalized."""
    expected = other.fit_transform(others)
    found = kernel.fit_transform(graphs)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_array_equal(found.diagonal(), 1.0)
    np.testing.assert_allclose(kernel.fit(graphs[4:]).transform(graphs), expected[:, 4:], rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-280, 1e-200, 1e200, 1e300])
@pytest.mark.parametrize("attributes", [None, Bridge(3.0)])
def test_unit_of_size_weights(scale, attributes):
    weights = np.array([1.0, 2.0, 0.5])
    kernels = [
        SubgraphMatching(3, size_weights=own, attributes=attributes)
        for own in (scale * weights, weights)
    ]
    assert_same_kernel(*kernels, GRAPHS, GRAPHS)


@pytest.mark.parametrize(
    ("model", "degree"),
    # of one size alone: the larger the unit, the less smaller ones count
    [(ShortestPath(), 8), (SubgraphMatching(5, size_weights=[0, 0, 0, 0, 1]), 3)],
)
def test_large_polynomials(model, degree):
    """Without a constant, the unit of attributes changes nothing once norms are divided by."""
    kernel = clone(model).set_params(attributes=Polynomial(degree=degree, coef0=0.0))
    assert_same_kernel(kernel, clone(kernel), with_scale(1e6), GRAPHS)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("attributes", [None, Bridge(3.0)])
def test_kernels_that_are_no_numbers(normalize, attributes):
    how = {"attributes": attributes, "normalize": normalize}
    kernel = SubgraphMatching(3, size_weights=[1e308, 1e308, 1.7e308], **how)
    fails(lambda: kernel.fit(GRAPHS), ("graph 0", "too large", "size_weights"))
    kernel = SubgraphMatching(3, size_weights=[1e-310] * 3, **how)
    if not normalize:
        assert (kernel.fit_transform(GRAPHS).diagonal() > 0).all()
        return
    fails(lambda: kernel.fit(GRAPHS), ("graph 0", "too small", "size_weights"))


@pytest.mark.parametrize(
    ("kernel", "scale", "about"),
    [
        (ShortestPath(attributes=Polynomial()), 1e60, ("attribute", "node")),
        (SubgraphMatching(attributes=Polynomial()), 1e60, ("attribute", "node")),
        # the kernel of two nodes is a number, the product of five such kernels is none
        (SubgraphMatching(attributes=Polynomial(degree=4)), 1e10, ("its kernel",)),
    ],
)
def test_polynomials_that_are_no_numbers(kernel, scale, about):
    """Both of graphs to fit and of new ones."""
    own = clone(kernel).fit(GRAPHS)
    for call in (kernel.fit, own.transform):
        fails(lambda call=call: call(with_scale(scale)), ("too large", "graph", *about))


def test_kernels_without_walks_take_any_weights():
    """Walks refuse weights that are too far apart for them; these kernels do not walk."""
    graphs = GraphBatch.from_edges(
        3, [[0, 1], [1, 2]], weights=[1e-200, 1.0], symmetrize=True
    ).with_attributes([[0.0], [1.0], [2.0]])
    for kernel in (
        HashGraph(random_state=0),
        GraphInvariant(),
        SubgraphMatching(attributes=Bridge(3.0)),
        ShortestPath(attributes=Laplacian(1.0)),
    ):
        np.testing.assert_allclose(kernel.fit_transform(graphs), [[1.0]])


# Kernels of what RDKit computes of molecules

SMILES = ["CCO", "CCN", "c1ccccc1O", "CC(=O)[O-]", "C1CCNCC1C", "[Fe+2]", "OCC(Cl)Br", "CCOCC"]
MOLECULES = {
    "fragments": Morgan(),
    "fragments, counts": Morgan(3, normalize=False),
    "descriptors": Descriptors(),
    "sum": 0.5 * Morgan() + Descriptors(gamma=0.01),
}


def test_fragments_are_those_of_rdkit():
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2)
    prints = [generator.GetSparseCountFingerprint(Chem.MolFromSmiles(text)) for text in SMILES]
    counts = [own.GetNonzeroElements() for own in prints]
    slow = [[sum(min(a[f], b[f]) for f in a.keys() & b.keys()) for b in counts] for a in counts]
    kernel = Morgan(normalize=False)
    np.testing.assert_array_equal(kernel.fit_transform(SMILES), slow)
    # fragments of new molecules that no fitted one has count in their norm alone
    rows, norms = kernel.fit(SMILES[:3]).rows_and_norms(as_batch(SMILES[3:]))
    np.testing.assert_array_equal(rows, np.array(slow)[3:, :3])
    np.testing.assert_array_equal(norms, np.diagonal(slow)[3:])


def test_descriptors_by_their_formula():
    functions = [function for _, function in RDKitDescriptors.descList]
    raw = np.full((len(SMILES), len(functions)), np.nan)
    for row, text in enumerate(SMILES):
        for column, function in enumerate(functions):
            with suppress(ZeroDivisionError, ValueError, RuntimeError):
                raw[row, column] = function(Chem.MolFromSmiles(text))
    raw[~np.isfinite(raw)] = np.nan
    assert np.isnan(raw).any()  # of iron, which has no charges by Gasteiger
    fitted, new = raw[:6], raw[6:]
    mean = np.nanmean(fitted, axis=0)
    fitted, new = (np.where(np.isnan(own), mean, own) for own in (fitted, new))
    varies = fitted.std(axis=0) > 1e-12 * np.abs(fitted).max(axis=0)
    fitted, new = ((own - mean)[:, varies] / fitted.std(axis=0)[varies] for own in (fitted, new))
    assert np.abs(new).max() > 5
    fitted, new = np.clip(fitted, -5, 5), np.clip(new, -5, 5)
    apart = np.abs(new[:, None] - fitted).sum(axis=-1)
    found = Descriptors().fit(SMILES[:6]).transform(SMILES[6:])
    np.testing.assert_allclose(found, np.exp(-apart / varies.sum()), rtol=1e-9)


@pytest.mark.parametrize("name", MOLECULES)
def test_kernels_of_molecules(name, tmp_path):
    kernel = clone(MOLECULES[name])
    gram = kernel.fit_transform(SMILES)
    np.testing.assert_array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram).min() > -1e-9
    np.testing.assert_allclose(kernel.diagonal(), gram.diagonal())
    order = np.array([3, 0, 5])
    graphs = as_batch(SMILES)
    rows = kernel.transform(graphs[order])
    np.testing.assert_allclose(rows, gram[order], atol=1e-12)
    np.testing.assert_array_equal(kernel.keep(order).rows(graphs), kernel.rows(graphs)[:, order])
    for n_jobs in (1, 2):
        own = clone(kernel).with_common(n_jobs, 0)
        np.testing.assert_array_equal(own.fit_transform(SMILES), gram)
    save_model(kernel, tmp_path / "kernel.retgk")
    np.testing.assert_array_equal(load_model(tmp_path / "kernel.retgk").transform(SMILES), gram)
    fails(lambda: clone(kernel).fit(GRAPHS), ("molecules", "SMILES"))
    model = GraphClassifier(kernel, cv=2, random_state=0).fit(SMILES, [0, 0, 1, 1, 1, 0, 0, 1])
    assert model.predict(["CCC"]).shape == (1,)


def test_graphs_keep_the_molecules_that_they_are():
    graphs = as_batch(SMILES)
    for own in (graphs, graphs.without_labels(), pickle.loads(pickle.dumps(graphs))):
        assert own.smiles.tolist() == SMILES
        assert own[2:4].smiles.tolist() == SMILES[2:4]
        assert own[[5, 1]].smiles.tolist() == [SMILES[5], SMILES[1]]
    assert GraphBatch.concatenate([graphs[:3], graphs[3:]]).smiles.tolist() == SMILES
    assert GraphBatch.concatenate([graphs, graphs._with(smiles=None)]).smiles is None
    assert GRAPHS.smiles is None
    given = as_batch([Chem.MolFromSmiles(text) for text in SMILES])
    np.testing.assert_array_equal(Morgan().fit_transform(given), Morgan().fit_transform(graphs))


def test_descriptors_that_another_version_of_rdkit_has():
    kernel = Descriptors().fit(SMILES[:3])
    kernel.names_ = ("Novel", *kernel.names_[1:])
    fails(lambda: kernel.transform(SMILES), ("'Novel'", "version of RDKit"))


def test_a_molecule_that_rdkit_wrote_but_cannot_read():
    odd = Chem.MolFromSmiles("CN(C)(C)C", sanitize=False)
    fails(lambda: Morgan().fit([Chem.MolFromSmiles("CC"), odd]), ("graph 1", "SanitizeMol"))
