"""Counts of substructures (`_core/counts.cpp`, `_core/count_tiles.cpp`) against plain NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import _core
from retgk.graphs.flat import offsets
from retgk.kernels.others.counts import GraphCounts, counts_of_nodes


def random_counts(seed, n_graphs, n_columns, share):
    """Give a dense matrix of counts, and the same as sparse rows."""
    rng = np.random.default_rng(seed)
    dense = rng.integers(1, 5, (n_graphs, n_columns)) * (rng.random((n_graphs, n_columns)) < share)
    rows, columns = dense.nonzero()
    ptr = offsets(np.bincount(rows, minlength=n_graphs))
    counts = dense[rows, columns].astype(float)
    return dense.astype(float), GraphCounts(ptr, columns.astype(np.int32), counts, n_columns)


@given(st.integers(0, 99), st.integers(1, 9), st.integers(1, 3))
def test_runs_are_counts_of_equal_columns(seed, n_graphs, n_levels):
    rng = np.random.default_rng(seed)
    node_ptr = offsets(rng.integers(1, 30, n_graphs))
    levels = [rng.integers(0, 5, node_ptr[-1]) + 5 * level for level in range(n_levels)]
    found = counts_of_nodes(node_ptr, np.array(levels, np.int32), 5 * n_levels, 1)
    for g in range(n_graphs):
        run = slice(found.ptr[g], found.ptr[g + 1])
        own = np.concatenate([own[node_ptr[g] : node_ptr[g + 1]] for own in levels])
        columns, counts = np.unique(own, return_counts=True)
        assert found.columns[run].tolist() == columns.tolist()
        assert found.counts[run].tolist() == counts.tolist()


@given(st.lists(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_keys_are_numbered_after_the_known_ones_as_they_come(keys, known):
    numbers = np.empty(len(keys), np.int32)
    own = np.array([key << 40 for key in keys], np.int64)
    new = _core.number_keys(np.array([key << 40 for key in known], np.int64), own, numbers)
    names = [*known, *dict.fromkeys(key for key in keys if key not in known)]
    assert (new >> 40).tolist() == names[len(known) :]
    assert [names[number] for number in numbers] == keys


def test_many_keys_are_numbered():
    keys = np.random.default_rng(0).integers(0, 1 << 62, 100_000)
    numbers = np.empty(2 * len(keys), np.int32)
    new = _core.number_keys(keys[:7], np.tile(keys, 2), numbers)
    np.testing.assert_array_equal(new, keys[7:])
    np.testing.assert_array_equal(numbers, np.tile(np.arange(len(keys)), 2))


@given(st.integers(0, 99), st.integers(1, 40), st.integers(1, 9))
def test_postings_are_the_rows_turned(seed, n_graphs, n_columns):
    dense, rows = random_counts(seed, n_graphs, n_columns, 0.4)
    postings = rows.postings()
    columns, graphs = dense.T.nonzero()
    assert np.diff(postings.ptr).tolist() == np.bincount(columns, minlength=n_columns).tolist()
    assert postings.graphs.tolist() == graphs.tolist()
    assert postings.counts.tolist() == dense.T[columns, graphs].tolist()


@pytest.mark.parametrize("is_minimum", [False, True])
@pytest.mark.parametrize("is_lower", [False, True])
@given(seed=st.integers(0, 99), n_graphs=st.integers(1, 30))
@settings(max_examples=30)
def test_shared_columns_are_added(is_minimum, is_lower, seed, n_graphs):
    dense, rows = random_counts(seed, n_graphs, 12, 0.5)
    is_dense = np.random.default_rng(seed).random(12) < 0.3
    out = np.zeros((n_graphs, n_graphs))
    arrays = (*rows.arrays, *rows.postings().arrays)
    _core.add_shared(0, n_graphs, *arrays, is_dense, is_minimum, is_lower, out)
    pairs = dense[:, None, ~is_dense], dense[None, :, ~is_dense]
    expected = (np.minimum if is_minimum else np.multiply)(*pairs).sum(axis=2)
    np.testing.assert_array_equal(out, np.tril(expected) if is_lower else expected)


@pytest.mark.parametrize("is_lower", [False, True])
@pytest.mark.parametrize("n_graphs", [1, 15, 63, 64, 130, 200])  # tiles have 16, 32 or 64 columns
def test_minima_of_dense_columns_are_added(is_lower, n_graphs):
    dense, rows = random_counts(n_graphs, n_graphs, 9, 0.6)
    columns = np.arange(9)
    filled = np.empty((9, n_graphs))
    _core.fill_columns(*rows.arrays, columns, filled)
    np.testing.assert_array_equal(filled, dense.T)
    out = np.ones((n_graphs, n_graphs))
    middle = n_graphs // 3
    for first, last in ((0, middle), (middle, n_graphs)):
        _core.add_dense_minima(first, last, filled, filled, is_lower, out)
    expected = 1 + np.minimum(dense[:, None], dense[None]).sum(axis=2)
    kept = np.tril(np.ones_like(out)) > 0 if is_lower else np.ones_like(out) > 0
    np.testing.assert_array_equal(out[kept], expected[kept])


def test_arrays_that_do_not_fit_are_refused():
    _, rows = random_counts(0, 5, 4, 0.5)
    postings = rows.postings()
    arrays, how = (*rows.arrays, *postings.arrays), (np.zeros(4, bool), False, False)
    with pytest.raises(ValueError, match="graphs"):
        _core.add_shared(0, 6, *arrays, *how, np.zeros((5, 5)))
    ptr, graphs, counts = np.empty(3, np.int64), postings.graphs.copy(), postings.counts.copy()
    with pytest.raises(IndexError, match="columns"):
        _core.fill_postings(*rows.arrays, ptr, graphs, counts)
