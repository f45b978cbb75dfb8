"""The subgraph matching kernel against a slow and obvious version, and against GraKeL."""

import warnings
from importlib.util import find_spec

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import (
    Bridge,
    Gaussian,
    GraphBatch,
    InvalidInputError,
    Laplacian,
    Polynomial,
    SubgraphMatchingKernel,
    as_batch,
    load_tudataset,
)
from retgk.kernels.others import subgraph_matching as subgraph_types
from tests import naive
from tests.kernel_graphs import graphs_of_kind
from tests.labelled_edges import random_graphs

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


def assert_values(graphs, kernel):
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
            assert_values(
                graphs,
                SubgraphMatchingKernel(
                    k, connected=connected, edge_kernel=edge_kernel, normalize=False
                ),
            )


KERNELS = [Bridge(0.6), Laplacian(0.7), Gaussian(0.2), Polynomial(0.5)]


@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize("attribute_kernel", [None, *KERNELS], ids=repr)
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
        assert_values(graphs, kernel)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([None, Bridge(1.0)]))
def test_any_graphs(seed, connected, attribute_kernel):
    graphs = random_graphs(seed, names=("a", "b"), n_attributes=1)
    kernel = SubgraphMatchingKernel(
        4, connected=connected, attribute_kernel=attribute_kernel, normalize=False
    )
    assert_values(graphs, kernel)


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
