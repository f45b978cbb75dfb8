"""The median distance from inner products, against the whole matrix sorted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk.kernels import graph as medians
from retgk.kernels.graph import median_squared_mmd, squared_mmd_from_products, typical_squared_mmd


def assert_is_median(vectors):
    products = vectors @ vectors.T
    products = np.tril(products) + np.tril(products, -1).T
    norms = np.diag(products)
    squared = squared_mmd_from_products(products, norms, norms)
    assert median_squared_mmd(products) == pytest.approx(np.median(squared), rel=1e-13, abs=1e-300)


@given(st.integers(1, 30), st.integers(0, 2**32), st.sampled_from([0, 1, 8]))
@settings(max_examples=200, deadline=None)
def test_equals_the_median_of_the_matrix(n, seed, decimals):
    """With ties, with graphs that are alike, and for odd and even numbers of graphs."""
    vectors = np.random.default_rng(seed).normal(size=(n, 3)).round(decimals)
    assert_is_median(vectors * 10.0 ** np.random.default_rng(seed).integers(-9, 9))


def test_equals_the_median_of_a_large_matrix():
    assert_is_median(np.random.default_rng(0).normal(size=(701, 5)))


@pytest.mark.parametrize("decimals", [0, 1, 8])
def test_a_sample_that_misleads_costs_time_only(monkeypatch, decimals):
    monkeypatch.setattr(medians, "SAMPLE_SIZE", 4)
    monkeypatch.setattr(medians, "SPREADS", (0.0, 0.5))
    for seed in range(20):
        assert_is_median(np.random.default_rng(seed).normal(size=(40, 3)).round(decimals))


def test_threads_change_no_bit_and_the_upper_triangle_nothing():
    vectors = np.random.default_rng(1).normal(size=(700, 5))
    products = vectors @ vectors.T
    expected = median_squared_mmd(products, n_jobs=1)
    assert median_squared_mmd(np.tril(products), n_jobs=3) == expected


def test_graphs_that_are_alike_have_no_distance():
    assert median_squared_mmd(np.ones((9, 9))) == 0.0


def test_where_most_graphs_are_alike_the_others_give_a_bandwidth():
    assert typical_squared_mmd(np.ones((9, 9))) == 1.0
    vectors = np.repeat(np.eye(2), [8, 1], 0)
    rounding = np.random.default_rng(0).normal(0, 1e-15, (9, 9))
    products = vectors @ vectors.T + rounding + rounding.T
    assert median_squared_mmd(products) < 1e-12
    assert typical_squared_mmd(products) == pytest.approx(2.0)
    varied = np.random.default_rng(1).normal(size=(9, 3))
    assert typical_squared_mmd(varied @ varied.T) == median_squared_mmd(varied @ varied.T)
