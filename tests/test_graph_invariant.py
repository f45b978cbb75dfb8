"""The graph invariant kernel against a slow and obvious version."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import Gaussian, GraphInvariantKernel, InvalidInputError, Laplacian, Polynomial
from retgk._runtime import processes as memory
from retgk.kernels.others import graph_invariant as node_invariants
from tests import naive
from tests.kernel_graphs import graphs_of_kind
from tests.labelled_edges import random_graphs


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
def test_values(attribute_kernel, scope, start):
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


def test_errors():
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
