"""What holds for every kernel of other authors: laws, threads, errors, new graphs, files."""

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

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
    ShortestPathKernel,
    SubgraphMatchingKernel,
    WeisfeilerLehmanKernel,
    as_batch,
    load_model,
    save_model,
)
from retgk.kernels import refinement as label_refinement
from retgk.kernels.engine import PlainGraphs
from retgk.kernels.others import all_kernels, graphlets
from retgk.kernels.others import counts as graph_counts
from retgk.kernels.others import graph_invariant as node_invariants
from retgk.kernels.others import shortest_path as attribute_paths
from retgk.kernels.others import shortest_path as path_counter
from retgk.kernels.others import subgraph_matching as subgraph_types
from retgk.kernels.others.pairs import PairEngine
from tests.kernel_graphs import graphs_of_kind

KERNELS = {
    "subtree": WeisfeilerLehmanKernel(3),
    "subtree, degrees": WeisfeilerLehmanKernel(2, start="degrees"),
    "assignment": WeisfeilerLehmanKernel(3, base="optimal-assignment"),
    "paths": ShortestPathKernel(),
    "paths, lengths alone": ShortestPathKernel(start="none"),
    "paths, attributes": ShortestPathKernel(attribute_kernel=Laplacian(0.5)),
    "graphlets": GraphletKernel(4),
    "graphlets, connected": GraphletKernel(3, connected=True),
    "graphlets, drawn": GraphletKernel(5, n_samples=200, random_state=0),
    "matchings": SubgraphMatchingKernel(4),
    "matchings, not connected": SubgraphMatchingKernel(3, connected=False, edge_kernel=None),
    "matchings, attributes": SubgraphMatchingKernel(4, attribute_kernel=Bridge(1.5)),
    "hashes": HashGraphKernel(3, bin_width=2.0, random_state=0),
    "hashes, paths": HashGraphKernel(2, base="sp", bin_width=3.0, random_state=0),
    "invariants": GraphInvariantKernel(1, attribute_kernel=None),
    "invariants, attributes": GraphInvariantKernel(2, n_iter=2, attribute_kernel=Gaussian(0.5)),
    "deep": DeepGraphKernel(n_iter=1, n_components=1000, random_state=0),
    "deep vectors": DeepGraphKernel(
        n_iter=1, similarity="vectors", n_components=1000, random_state=0
    ),
    "deep paths": DeepGraphKernel("shortest-path", n_components=1000, random_state=0),
    "deep graphlets": DeepGraphKernel("graphlet", n_components=4, random_state=0),
}
every_kernel = pytest.mark.parametrize("name", KERNELS)
IS_DRAWN = ("graphlets, drawn", "deep graphlets")
LEARNS = (DeepGraphKernel, HashGraphKernel)
"""Kernels that fit more than a vocabulary, so that values depend on which graphs are fitted."""


def fresh(name, **parameters):
    return clone(KERNELS[name]).set_params(**parameters)


def many_graphs():
    """Enough graphs that some columns are dense, and of very different sizes."""
    return graphs_of_kind("both", 150)


def permuted(graphs, seed):
    """The same graphs with their nodes in another order."""
    rng = np.random.default_rng(seed)
    parts = []
    for graph in graphs:
        order = rng.permutation(graph.n_nodes)
        place = np.argsort(order)
        rows = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
        labels = [graph.label_names[code] for code in graph.labels[order]]
        parts.append(
            GraphBatch.from_edges(
                graph.n_nodes,
                np.stack([place[rows], place[graph.indices]], axis=1),
                labels=labels,
                attributes=graph.attributes[order],
            )
        )
    return GraphBatch.concatenate(parts)


def test_every_kernel_obeys_the_laws():
    assert {type(kernel) for kernel in KERNELS.values()} == set(all_kernels())


@every_kernel
def test_some_of_the_fitted_graphs(name):
    graphs, kept = graphs_of_kind("both"), np.array([4, 1])
    kernel = fresh(name).fit(graphs)
    some, new = kernel.engine_.keep(kept), PlainGraphs(graphs[:3])
    assert some.n_graphs == 2
    np.testing.assert_array_equal(
        some.inner_products(), kernel.engine_.inner_products()[np.ix_(kept, kept)]
    )
    np.testing.assert_array_equal(some.squared_norms(), kernel.diagonal()[kept])
    np.testing.assert_array_equal(
        some.compare(new).products(), kernel.transform(graphs[:3])[:, kept]
    )


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
    for module in (graphlets, subgraph_types, path_counter, attribute_paths):
        monkeypatch.setattr(module, "_TASK_COST", 1)
    monkeypatch.setattr(graphlets, "_PAIR_GRAPHS", 5)
    monkeypatch.setattr(node_invariants, "_TASK_NODES", 100)
    for module in (label_refinement, graph_counts):
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
    np.testing.assert_allclose(
        fresh(name).fit_transform(graphs[order]), found[np.ix_(order, order)], atol=1e-14
    )


@pytest.mark.parametrize("name", [name for name in KERNELS if name not in IS_DRAWN])
def test_order_of_nodes(name):
    graphs = many_graphs()[:40]
    kernel = fresh(name, normalize=False)
    found = kernel.fit_transform(graphs)
    np.testing.assert_allclose(kernel.transform(permuted(graphs, 0)), found, rtol=1e-12)


@every_kernel
def test_what_no_fitted_graph_has(name):
    """It meets nothing, and counts in the norm of its graph."""
    graphs = graphs_of_kind("both", 12)
    kernel = fresh(name).fit(graphs)
    parameters = kernel.get_params()
    uses_labels = parameters.get("start") == "labels" and parameters.get("base") != "graphlet"
    names = [graphs.label_names[code] for code in graphs.labels]
    strange = graphs.with_labels([*names[: graphs.node_ptr[6]], *["?"] * len(names)][: len(names)])
    found, usual = kernel.transform(strange), kernel.transform(graphs)
    np.testing.assert_array_equal(found[:6], usual[:6])
    if uses_labels:
        assert not found[6:].any()
        has_norm = not isinstance(kernel, DeepGraphKernel)  # where what is new has no vector
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
        with pytest.raises(InvalidInputError, match="no vectors of finite length"):
            kernel.features(graphs)
        return
    fitted, new = (csr_array(kernel.features(own)) for own in (graphs[:90], graphs[90:]))
    np.testing.assert_allclose(
        (new @ fitted.T).toarray(), kernel.transform(graphs[90:]), rtol=1e-12, atol=1e-14
    )


@every_kernel
def test_files(name, tmp_path):
    graphs = many_graphs()
    kernel = fresh(name).fit(graphs[:90])
    save_model(kernel, tmp_path / "kernel.retgk")
    loaded = load_model(tmp_path / "kernel.retgk")
    np.testing.assert_array_equal(loaded.transform(graphs), kernel.transform(graphs))
    np.testing.assert_array_equal(loaded.diagonal(), kernel.diagonal())


@every_kernel
def test_parameters_after_fit_change_nothing(name, tmp_path):
    others = {"normalize": False, "n_iter": 1, "base": "optimal-assignment", "k": 3}
    others |= {"start": "degrees", "connected": True, "n_samples": 9, "random_state": 7}
    others |= {"attribute_kernel": Laplacian(2.0), "edge_kernel": None, "size_weights": [1, 2, 3]}
    others |= {"n_hashes": 1, "bin_width": 0.1, "standardize": False, "radius": 0}
    others |= {"scope": "global", "n_components": 1, "n_negatives": 2.0, "min_graphs": 9}
    others |= {"similarity": "vectors"}
    graphs = many_graphs()[:40]
    kernel = fresh(name).fit(graphs)
    expected = kernel.transform(graphs)
    choices = {HashGraphKernel: {"base": "sp"}, DeepGraphKernel: {"base": "graphlet"}}
    others |= choices.get(type(kernel), {})
    kernel.set_params(**{k: v for k, v in others.items() if k in kernel.get_params()})
    np.testing.assert_array_equal(kernel.transform(graphs), expected)
    save_model(kernel, tmp_path / "kernel.retgk")
    loaded = load_model(tmp_path / "kernel.retgk")
    np.testing.assert_array_equal(loaded.transform(graphs), expected)


@every_kernel
def test_fit_that_fails_leaves_the_kernel_as_it_was(name):
    graphs = graphs_of_kind("both", 12)
    kernel = fresh(name).fit(graphs)
    expected = kernel.transform(graphs)
    with pytest.raises(InvalidInputError, match="normalize must be True or False, got 'yes'"):
        kernel.set_params(normalize="yes").fit(graphs[:5])
    with pytest.raises(InvalidInputError, match="n_jobs must be"):
        kernel.set_params(normalize=True, n_jobs=0).fit(graphs[:5])
    with pytest.raises(InvalidInputError, match=r"fit\(\) .*label|label.*as_batch"):
        kernel.set_params(n_jobs=None).fit(graphs[:5], label="element")
    np.testing.assert_array_equal(kernel.transform(graphs), expected)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (WeisfeilerLehmanKernel(-1), "n_iter must be a whole number between 0 and 64, got -1"),
        (WeisfeilerLehmanKernel(True), "n_iter must be a whole number between 0 and 64, got True"),
        (WeisfeilerLehmanKernel(base="trees"), "base must be one of .*, got 'trees'"),
        (WeisfeilerLehmanKernel(start="names"), "start must be one of 'labels', 'degrees', 'none'"),
        (ShortestPathKernel(start="names"), "start must be one of 'labels', 'degrees', 'none'"),
        (ShortestPathKernel(attribute_kernel="rbf"), "attribute_kernel must be a Laplacian"),
        (GraphletKernel(8), "k must be a whole number between 3 and 7, got 8"),
        (GraphletKernel(n_samples=0), "n_samples must be None or a whole number between 1 and"),
        (GraphletKernel(connected=1), "connected must be True or False, got 1"),
        (SubgraphMatchingKernel(6), "k must be a whole number between 1 and 5, got 6"),
        (SubgraphMatchingKernel(connected=1), "connected must be True or False, got 1"),
        (SubgraphMatchingKernel(edge_kernel="rbf"), "edge_kernel must be 'labels', a Bridge or"),
        (SubgraphMatchingKernel(attribute_kernel="rbf"), "attribute_kernel must be a Bridge, Lap"),
        (SubgraphMatchingKernel(3, size_weights=[1, 2]), "size_weights must be k=3 numbers"),
        (SubgraphMatchingKernel(2, size_weights=[1, -2]), "size_weights must be k=2 numbers"),
        (HashGraphKernel(0), "n_hashes must be a whole number between 1 and 4096, got 0"),
        (HashGraphKernel(base="gk"), "base must be one of .*, got 'gk'"),
        (HashGraphKernel(bin_width=0), "bin_width must be positive and finite, got 0"),
        (HashGraphKernel(standardize="z"), "standardize must be True or False, got 'z'"),
        (GraphInvariantKernel(-1), "radius must be a whole number between 0 and 64, got -1"),
        (GraphInvariantKernel(scope="all"), "scope must be one of .*, got 'all'"),
        (GraphInvariantKernel(attribute_kernel=Bridge()), "attribute_kernel must be a Laplacian"),
        (DeepGraphKernel("sp"), "base must be one of .*, got 'sp'"),
        (DeepGraphKernel(similarity="x"), "similarity must be one of .*, got 'x'"),
        (DeepGraphKernel(n_components=0), "n_components must be a whole number between 1 and"),
        (DeepGraphKernel(n_negatives=0), "n_negatives must be positive and finite, got 0"),
        (DeepGraphKernel(min_graphs=0), "min_graphs must be a whole number between 1 and"),
    ],
)
def test_errors_of_parameters(kernel, message):
    with pytest.raises(InvalidInputError, match=message):
        kernel.fit(graphs_of_kind("structure"))


def test_errors_of_graphs():
    labelled, plain = graphs_of_kind("labels"), graphs_of_kind("structure")
    kernels = (WeisfeilerLehmanKernel(), ShortestPathKernel(), SubgraphMatchingKernel(3))
    kernels += (GraphInvariantKernel(1, attribute_kernel=None), DeepGraphKernel(n_iter=1))
    for kernel in kernels:
        with pytest.raises(InvalidInputError, match="the graphs have no labels, the fitted ones"):
            kernel.fit(labelled).transform(plain)
        with pytest.raises(InvalidInputError, match="the graphs have labels, the fitted ones have"):
            kernel.fit(plain).transform(labelled)
    paths = ShortestPathKernel(attribute_kernel=Gaussian(1.0))
    with pytest.raises(InvalidInputError, match="but nodes have no attributes"):
        paths.fit(plain)
    with pytest.raises(InvalidInputError, match="the graphs have 0 attributes a node, the fitted"):
        paths.fit(graphs_of_kind("attributes")).transform(plain)
    missing = np.zeros((plain.n_nodes, 1))
    missing[3] = np.nan
    with pytest.raises(InvalidInputError, match="attribute 0 of node 3 is nan"):
        paths.fit(plain.with_attributes(missing, missing="nan"))


def test_new_graphs_are_read_as_the_fitted_ones():
    graphs = [nx.path_graph(4), nx.star_graph(3)]
    for graph in graphs:
        nx.set_node_attributes(graph, dict(enumerate("CCNO")), "element")
    kernel = WeisfeilerLehmanKernel(2).fit(as_batch(graphs, label="element"))
    np.testing.assert_array_equal(kernel.transform(graphs).diagonal(), 1.0)


def test_graphs_without_anything_to_compare():
    graphs = as_batch([nx.empty_graph(2), nx.path_graph(5)])
    for kernel in (ShortestPathKernel(), GraphletKernel(3, connected=True)):
        np.testing.assert_array_equal(kernel.fit_transform(graphs), [[0, 0], [0, 1]])
        np.testing.assert_array_equal(kernel.diagonal(graphs), [0, 1])
        np.testing.assert_array_equal(kernel.transform(graphs), [[0, 0], [0, 1]])


def test_in_a_pipeline():
    graphs = graphs_of_kind("labels", 30)
    steps = [("k", WeisfeilerLehmanKernel()), ("svc", SVC(kernel="precomputed"))]
    grid = {"k__n_iter": [0, 2], "k__base": ["subtree", "optimal-assignment"]}
    search = GridSearchCV(Pipeline(steps), grid, cv=3).fit(graphs, np.arange(30) % 2)
    assert len(search.cv_results_["params"]) == 4
