"""Equal graphs are found whatever the order of their nodes, and others are not taken for equal."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import (
    GraphBatch,
    InvalidInputError,
    duplicate_groups,
    from_networkx,
    from_smiles,
    make_graph_classification,
)

GRAPHS = make_graph_classification(30, n_labels=3, n_nodes=(5, 9), random_state=0).graphs


def shuffled(graph: GraphBatch, rng: np.random.Generator) -> GraphBatch:
    """Give the same graph with its nodes in another order."""
    order = rng.permutation(graph.n_nodes)
    sources = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    edges = np.stack([order[sources], order[graph.indices]], axis=1)
    labels = np.empty(graph.n_nodes, object)
    labels[order] = [graph.label_names[code] for code in graph.labels]
    return GraphBatch.from_edges(
        graph.n_nodes, edges, weights=graph.weights, labels=labels.tolist()
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_shuffled_copies_are_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(GRAPHS), 5, replace=False)
    copies = [shuffled(GRAPHS[int(graph)], rng) for graph in chosen]
    found = duplicate_groups(GraphBatch.concatenate([GRAPHS, *copies]))
    groups = {frozenset(group.indices.tolist()) for group in found}
    for copy, graph in enumerate(chosen):
        assert any({30 + copy, int(graph)} <= group for group in groups)
    assert all(group.verified for group in found)


def naive_groups(graphs: list[nx.Graph]) -> list[list[int]]:
    """Groups by testing every pair."""
    same = lambda first, second: first == second  # noqa: E731
    groups: list[list[int]] = []
    for number, graph in enumerate(graphs):
        for group in groups:
            if nx.is_isomorphic(graphs[group[0]], graph, node_match=same, edge_match=same):
                group.append(number)
                break
        else:
            groups.append([number])
    return [group for group in groups if len(group) > 1]


def test_groups_are_those_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    graphs = []
    for _ in range(120):
        graph = nx.gnp_random_graph(int(rng.integers(2, 5)), 0.5, seed=int(rng.integers(1 << 30)))
        for node in graph:
            graph.nodes[node]["label"] = int(rng.integers(2))
        for edge in graph.edges:
            graph.edges[edge]["weight"] = float(rng.integers(1, 3))
        graphs.append(graph)
    found = duplicate_groups(from_networkx(graphs, label="label"))
    assert [group.indices.tolist() for group in found] == naive_groups(graphs)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))),
        # strongly regular with the same parameters: return probabilities and colours agree
        (
            nx.line_graph(nx.complete_bipartite_graph(4, 4)),
            nx.from_edgelist(
                ((a, b), ((a + i) % 4, (b + j) % 4))
                for a in range(4)
                for b in range(4)
                for i, j in ((0, 1), (1, 0), (1, 1))
            ),
        ),
    ],
)
def test_what_kernels_confuse_is_told_apart(first: nx.Graph, second: nx.Graph) -> None:
    assert duplicate_groups([first, second]) == []
    (group,) = duplicate_groups([first, second, nx.convert_node_labels_to_integers(first)])
    assert (group.indices.tolist(), group.verified) == ([0, 2], True)


def test_groups_of_large_graphs_are_not_verified() -> None:
    (group,) = duplicate_groups([nx.path_graph(30), nx.path_graph(30)], max_nodes=20)
    assert (group.indices.tolist(), group.verified) == ([0, 1], False)


def test_values_count() -> None:
    bonds = from_smiles(["CCO", "CC=O", "OCC"], bond_types=True)
    assert [group.indices.tolist() for group in duplicate_groups(bonds)] == [[0, 2]]
    weighted = from_smiles(["CCO", "CC=O", "OCC"], bond_orders=True)
    assert [group.indices.tolist() for group in duplicate_groups(weighted)] == [[0, 2]]
    plain = from_smiles(["CCO", "CC=O", "OCC"])
    assert [group.indices.tolist() for group in duplicate_groups(plain)] == [[0, 1, 2]]
    attributes = plain.with_attributes(np.array([0, 0, 1, 0, 0, 2, 1, 0, 0])[:, None])
    assert [group.indices.tolist() for group in duplicate_groups(attributes)] == [[0, 2]]


def test_errors() -> None:
    with pytest.raises(InvalidInputError, match="decimals must be a whole number from 1 to 12"):
        duplicate_groups(GRAPHS, decimals=0)
