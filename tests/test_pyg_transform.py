"""Return probabilities as a positional encoding in PyTorch Geometric."""

import warnings
from importlib.util import find_spec
from typing import Any

import networkx as nx
import numpy as np
import pytest

import retgk

HAS_PYG = find_spec("torch_geometric") is not None
pytestmark = [
    pytest.mark.skipif(not HAS_PYG, reason="PyTorch Geometric is not installed"),
    pytest.mark.filterwarnings("ignore"),
]
if HAS_PYG:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        from torch_geometric import data, transforms


def graph(weighted: bool = False, **fields: Any) -> Any:
    edges = nx.to_numpy_array(nx.barabasi_albert_graph(40, 2, seed=0))
    if weighted:
        weights = np.random.default_rng(0).uniform(0.1, 5, edges.shape)
        edges *= weights + weights.T
    index = np.stack(edges.nonzero())
    values = {"edge_weight": torch.tensor(edges[tuple(index)]).float()} if weighted else {}
    return data.Data(edge_index=torch.tensor(index), num_nodes=40, **values, **fields)


def plain_walk(given: Any, n_steps: int) -> Any:
    """Diagonals of the powers of the transition matrix, one after the other."""
    matrix = np.zeros((40, 40))
    matrix[tuple(given.edge_index.numpy())] = given.edge_weight.numpy()
    step = matrix / matrix.sum(axis=1, keepdims=True)
    powers = [np.linalg.matrix_power(step, power) for power in range(1, n_steps + 1)]
    return np.stack([np.diag(power) for power in powers], axis=1)


def test_without_weights_it_is_that_of_pyg() -> None:
    ours = retgk.pyg.AddReturnProbabilities(20, self_loop=0)
    theirs = transforms.AddRandomWalkPE(20, attr_name="pe")
    torch.testing.assert_close(ours(graph()).pe, theirs(graph()).pe)
    assert isinstance(ours, transforms.BaseTransform)


def test_with_weights_it_is_the_weighted_walk() -> None:
    given = graph(weighted=True)
    expected = plain_walk(given, 12)
    found = retgk.pyg.AddReturnProbabilities(12, self_loop=0)(given).pe
    np.testing.assert_allclose(found, expected, atol=1e-6)
    theirs = transforms.AddRandomWalkPE(12, attr_name="pe")(given).pe
    assert np.abs(theirs.numpy() - expected).max() > 0.1  # weights are not in their numerators


def test_fields_types_and_batches() -> None:
    given = graph(edge_attr=torch.ones(152, 3))
    encoded = transforms.Compose([retgk.pyg.AddReturnProbabilities()])(given)
    assert encoded.pe.shape == (40, 20)
    assert encoded.pe.dtype == torch.get_default_dtype()
    assert "pe" not in given
    beside = retgk.pyg.AddReturnProbabilities(3, None)
    assert beside(graph()).x.shape == (40, 3)
    wide = beside(graph(x=torch.ones(40, 2, dtype=torch.float64)))
    assert (wide.x.shape, wide.x.dtype) == ((40, 5), torch.float64)
    two = data.Batch.from_data_list([given, given])
    torch.testing.assert_close(retgk.pyg.AddReturnProbabilities()(two).pe[:40], encoded.pe)
    with pytest.raises(retgk.InvalidInputError, match="is not symmetric"):
        beside(data.Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2))


def test_memory_is_linear() -> None:
    large = nx.to_scipy_sparse_array(nx.random_regular_graph(3, 20_000, seed=0)).tocoo()
    index = torch.tensor(np.stack([large.row, large.col]).astype(np.int64))
    found = retgk.pyg.AddReturnProbabilities(8, self_loop=0)
    given = data.Data(edge_index=index, num_nodes=20_000)
    assert found(given).pe.shape == (20_000, 8)  # a dense power would take 1.6 GB
