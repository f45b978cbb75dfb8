"""The networks of the paper's tables: their inputs, their layers, and their folds."""

import os
import sys
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest

from reproduction.graphs import Sources
from reproduction.networks.deep_graph_cnn import DeepGraphCNN, sorted_nodes_kept
from reproduction.networks.inputs import network_inputs
from reproduction.networks.patchy_san import PatchySan, patchy_inputs, receptive_fields, wl_ranks
from reproduction.networks.training import NETWORKS, network_results
from reproduction.runner import Runner, lacks, ordered_tasks, run_tasks_into
from retgk import GraphBatch
from retgk._runtime.files import read_records
from retgk.datasets import make_graph_classification
from tests.paper_samples import cell_of, write_set

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch")


@pytest.fixture(scope="module")
def graphs():
    """Graphs of three labels, one of them with a self-loop."""
    made = make_graph_classification(n_graphs=29, rng=0).graphs
    loop = GraphBatch.from_edges(4, [[0, 1], [1, 2], [2, 2], [2, 3]], symmetrize=True)
    made = GraphBatch.concatenate([made, loop])
    rng = np.random.default_rng(0)
    return made.with_labels(rng.integers(3, size=made.n_nodes).tolist())


def settings_of(network, **changes):
    own = {"kernel": network, "folds": 5, "n_epochs": 2, "batch_size": 8, "k": 4}
    return {**own, "learning_rate": 0.01, **changes}


# Inputs


def assert_same_inputs(one, two):
    for name in ("node_ptr", "sources", "targets", "edge_ptr", "columns", "values", "n_features"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


def test_part_of_inputs(graphs):
    chosen = np.array([7, 0, 29])
    assert_same_inputs(network_inputs(graphs).part(chosen), network_inputs(graphs[chosen]))


def dense_features(inputs):
    """Features of all nodes as a matrix."""
    features = np.zeros((len(inputs.columns), inputs.n_features), np.float32)
    features[np.arange(len(features)), inputs.columns] = inputs.values
    return features


def test_self_loops_are_left_out():
    loops = GraphBatch.from_edges(2, [[0, 1], [1, 1]], symmetrize=True)
    plain = GraphBatch.from_edges(2, [[0, 1]], symmetrize=True)
    assert_same_inputs(network_inputs(loops), network_inputs(plain))


def slow_ranks(graph, n_rounds=5):
    """Ranks by tuples that are sorted as the text says."""
    near = [
        [j for j in graph.indices[graph.indptr[i] : graph.indptr[i + 1]] if j != i]
        for i in range(graph.n_nodes)
    ]
    keys = [-len(own) for own in near]
    ranks = [sorted(set(keys)).index(key) for key in keys]
    for _ in range(n_rounds):
        primes = [n for n in range(2, 2000) if all(n % d for d in range(2, int(n**0.5) + 1))]
        sums = [round(sum(np.log(primes[ranks[j]]) for j in own), 9) for own in near]
        keys = list(zip(ranks, sums, strict=True))
        ranks = [sorted(set(keys)).index(key) for key in keys]
    return ranks


def test_ranks_are_refined_degrees(graphs):
    found = wl_ranks(network_inputs(graphs))
    expected = [rank for graph in graphs for rank in slow_ranks(graph)]
    assert found.tolist() == expected


def test_receptive_fields_of_a_tree():
    """Node 1 has the most neighbours; of those of node 3, node 4 is a leaf."""
    edges = [[0, 1], [1, 2], [1, 3], [3, 4]]
    inputs = network_inputs(GraphBatch.from_edges(5, edges, symmetrize=True))
    ranks = wl_ranks(inputs)
    assert ranks[1] < ranks[3] < min(ranks[[0, 2, 4]])
    (fields,) = receptive_fields(inputs, ranks, 7, 4)
    assert fields[0].tolist() == [1, 3, 0, 2]
    assert fields[1].tolist()[:2] == [3, 1]
    assert (fields[5:] == -1).all()
    assert (receptive_fields(inputs, ranks, 1, 9)[0, 0, 5:] == -1).all()


@pytest.mark.parametrize("k", [1, 4, 10])
def test_receptive_fields_of_many_graphs(k):
    """Rings around every root, each sorted by rank and number, one after the other."""
    rng = np.random.default_rng(k)
    stars = GraphBatch.from_edges(30, [[0, i] for i in range(1, 30)], symmetrize=True)
    made = make_graph_classification(n_graphs=12, rng=k).graphs
    pairs = rng.integers(25, size=(60, 2))
    many = GraphBatch.from_edges(25, pairs[pairs[:, 0] != pairs[:, 1]], symmetrize=True)
    inputs = network_inputs(GraphBatch.concatenate([stars, made, many]))
    ranks = wl_ranks(inputs)
    found = receptive_fields(inputs, ranks, 20, k)
    for graph, fields in enumerate(found):
        nodes = range(*inputs.node_ptr[graph : graph + 2])
        roots = sorted(nodes, key=lambda node: (ranks[node], node))[:20]
        expected = [slow_field(inputs, root, ranks, k) for root in roots]
        assert fields[: len(roots)].tolist() == expected
        assert (fields[len(roots) :] == -1).all()


def slow_field(inputs, root, ranks, k):
    found, ring = [root], [root]
    while ring and len(found) < k:
        near = {
            int(node)
            for own in ring
            for node in inputs.targets[inputs.edge_ptr[own] : inputs.edge_ptr[own + 1]]
        }
        ring = sorted(near - set(found), key=lambda node: (ranks[node], node))
        found += ring
    return (found + [-1] * k)[:k]


def test_share_of_sorted_nodes():
    sizes = np.random.default_rng(0).integers(20, 60, 1000)
    share = np.mean(sizes >= sorted_nodes_kept(sizes))
    assert 0.6 <= share < 0.65
    assert sorted_nodes_kept(np.array([3, 4])) == 10


# Models


@needs_torch
def test_dgcnn_is_its_formula(graphs):
    import torch

    torch.manual_seed(0)
    inputs = network_inputs(graphs)
    model = DeepGraphCNN(inputs, 2)
    model.layers.eval()
    convolutions, over_nodes, rest = model.layers
    chosen = np.array([3, 11])
    with torch.no_grad():
        rows = [slow_sorted(inputs, graph, convolutions) for graph in chosen]
        expected = rest(over_nodes(torch.stack(rows)).transpose(1, 2))
        assert torch.allclose(model.scores(chosen), expected, atol=1e-5)


def slow_sorted(inputs, graph, convolutions):
    """Sorted outputs of the convolutions with dense matrices."""
    import torch

    part = inputs.part(np.array([graph]))
    n_nodes = len(part.columns)
    matrix = torch.eye(n_nodes)
    matrix[part.sources, part.targets] = 1
    values, found = torch.from_numpy(dense_features(part)), []
    for layer in convolutions:
        values = torch.tanh((matrix @ values @ layer.weight.T) / matrix.sum(1, keepdim=True))
        found.append(values)
    joined = torch.cat(found, dim=1)
    n_kept = sorted_nodes_kept(inputs.sizes)
    kept = torch.zeros(n_kept, joined.shape[1])
    order = sorted(range(n_nodes), key=lambda node: -float(joined[node, -1]))[:n_kept]
    kept[: len(order)] = joined[order]
    assert all(kept[i, -1] >= kept[j, -1] for i, j in pairwise(range(len(order))))
    return kept


@needs_torch
@pytest.mark.parametrize("has_labels", [True, False])
def test_pscn_sees_fields_one_by_one(graphs, has_labels):
    """The first layer is a product with the features of each field, zeros where it has no node."""
    import torch

    torch.manual_seed(0)
    seen = graphs if has_labels else graphs.without_labels()
    inputs = patchy_inputs(network_inputs(seen), {"k": 4})
    model = PatchySan(inputs, 3)
    first, rest = model.layers[0], model.layers[1:]
    model.layers.eval()
    rows = np.zeros((*inputs.fields[5].shape, inputs.nodes.n_features), np.float32)
    is_node = inputs.fields[5] >= 0
    rows[is_node] = dense_features(inputs.nodes)[inputs.fields[5][is_node]]
    with torch.no_grad():
        weights = first.weight.permute(0, 2, 1)  # channels, places, features
        channels = torch.einsum("wkf,ckf->cw", torch.from_numpy(rows), weights)
        expected = rest((channels + first.bias[:, None])[None])
        assert torch.allclose(model.scores(np.array([5])), expected, atol=1e-5)


# Folds


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize("network", NETWORKS)
def test_network_learns_what_labels_tell(network):
    made = make_graph_classification(n_graphs=60, rng=0).graphs
    targets = np.arange(60) % 2
    labels = np.repeat(targets, made.node_counts)
    settings = settings_of(network, n_epochs=15, learning_rate=0.003)
    results = network_results(made.with_labels(labels.tolist()), targets, settings, 0, 1)
    assert np.mean([fold.accuracy for fold in results]) > 0.9
    assert all(1 <= fold.choice["epoch"] <= 15 for fold in results)
    assert [fold.n_test for fold in results] == [12] * 5


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize("network", NETWORKS)
def test_seed_and_processes(graphs, network):
    targets = np.random.default_rng(0).integers(2, size=len(graphs))
    settings = settings_of(network, n_epochs=3)
    one, two = (network_results(graphs, targets, settings, 0, n_jobs) for n_jobs in (1, 2))
    assert one == two
    assert one != network_results(graphs, targets, settings, 1, 1)


@pytest.mark.slow
@needs_torch
@pytest.mark.skipif(os.name != "posix", reason="limits of processes")
def test_record_of_a_network(tmp_path):
    write_set(tmp_path, "MUTAG", 20)
    cell = cell_of(2, "MUTAG", "PSCN")
    runner = Runner(Sources(tmp_path), tmp_path / "cache", 1)
    path = tmp_path / "records.jsonl"
    assert run_tasks_into(path, ordered_tasks([cell], 1), runner, lambda *_: None) == 1
    (record,) = read_records(path)
    assert len(record["accuracies"]) == len(record["choices"]) == 10
    assert record["seconds"]["svm"] > 0
    assert record["failure"] is None


# Without PyTorch


@pytest.mark.slow
def test_missing_torch_names_its_extra(graphs, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    with pytest.raises(ImportError, match=r"retgk\[networks\]"):
        network_results(graphs, np.zeros(30), settings_of("DGCNN"), 0)
    (lack,) = [each for each in lacks(Sources(tmp_path)) if "PyTorch" in each.what]
    assert lack.is_needed(cell_of(2, "MUTAG", "DGCNN"))
    assert not lack.is_needed(cell_of(2, "MUTAG", "WL"))
    assert "retgk[networks]" in lack.remedy
