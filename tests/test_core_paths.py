"""Shortest paths in C++ (`_core/paths.cpp`), against the algorithm of Floyd and Warshall."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import GraphBatch, _core
from retgk.graphs.flat import offsets
from tests import naive
from tests.walk_graphs import adjacency_matrices, from_dense, path


def arrays_of(batch):
    weights = batch.weights if batch.is_weighted else np.empty(0)
    return batch.node_ptr, batch.indptr, batch.indices, weights


def lengths_of(batch, graph):
    """Matrix of lengths, zero where there is no path."""
    lengths = naive.path_lengths(naive.dense_adjacency(batch, graph))
    return np.where(np.isfinite(lengths), lengths, 0.0)


batches = st.lists(adjacency_matrices(9).map(from_dense), min_size=1, max_size=3).map(
    GraphBatch.concatenate
)


@given(batches)
@settings(deadline=None)
def test_lengths(batch):
    ptr = offsets(np.square(batch.node_counts))
    found = np.full(ptr[-1], np.nan)
    _core.fill_lengths(0, len(batch), *arrays_of(batch), ptr, found)
    for graph, n in enumerate(batch.node_counts):
        own = found[ptr[graph] : ptr[graph + 1]].reshape(n, n)
        np.testing.assert_allclose(own, lengths_of(batch, graph), rtol=1e-9)


def assert_counts(batch, colours, bits):
    """Compare counted paths with those found by hand."""
    sizes = np.empty(len(batch), np.int64)
    parts = _core.count_paths(0, len(batch), *arrays_of(batch), colours, bits, sizes)
    keys, counts, lengths = parts
    ptr, shift, mask = offsets(sizes), 63 - 2 * bits, (1 << bits) - 1
    for graph in range(len(batch)):
        run = slice(ptr[graph], ptr[graph + 1])
        ends, places = keys[run] >> shift, keys[run] & ((1 << shift) - 1)
        paths = zip(ends >> bits, ends & mask, [f"{x:.9g}" for x in lengths[places]], strict=True)
        found = dict(zip(paths, counts[run], strict=True))
        own = colours[batch.node_ptr[graph] : batch.node_ptr[graph + 1]]
        expected = lengths_of(batch, graph)
        starts, stops = np.nonzero(expected)
        names = [f"{x:.9g}" for x in expected[starts, stops]]
        assert found == Counter(zip(own[starts], own[stops], names, strict=True))
        assert len(found) == sizes[graph]


@given(batches, st.integers(0, 99))
@settings(deadline=None)
def test_counts(batch, seed):
    colours = np.random.default_rng(seed).integers(0, 4, batch.n_nodes, np.int32)
    assert_counts(batch, colours, 2)


@pytest.mark.parametrize("n_colours", [2, 40, 300])
def test_counts_of_many_colours_and_lengths(n_colours):
    """More of them than a table of all has room for: none, some lengths, all of them."""
    batch = GraphBatch.concatenate([path(300), path(60), path(300)])
    colours = np.arange(batch.n_nodes, dtype=np.int32) % n_colours
    assert_counts(batch, colours, 9)
