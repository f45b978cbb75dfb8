"""Values of the exponential graph kernel, against the formula in extended precision."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import _core
from retgk.kernels.graph import ExponentialGraphKernel


def inner_products(n, seed=0):
    vectors = np.random.default_rng(seed).normal(size=(n, 4))
    products = vectors @ vectors.T
    products = np.tril(products) + np.tril(products, -1).T
    return products, products.diagonal().copy()


def exact_values(products, norms_x, norms_y, gamma, p):
    squared = np.maximum((norms_x[:, None] + norms_y) - 2 * products, 0)
    return np.exp(-gamma * squared.astype(np.longdouble) ** (p / 2))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 40),
    seed=st.integers(0, 2**32),
    gamma=st.floats(1e-3, 3.0),
    p=st.sampled_from([0.5, 1.0, 1.5, 2.0]),
)
def test_values_are_those_of_the_formula(n, seed, gamma, p):
    products, norms = inner_products(n + 3, seed)
    products, norms_x = products[3:], norms[3:]
    expected = exact_values(products, norms_x, norms, gamma, p)
    found = ExponentialGraphKernel(gamma=gamma, p=p)(products, norms_x, norms)
    assert np.abs(found - expected).max() < 1e-15
    exponents = -np.log(expected)
    assert np.all(np.abs(found / expected - 1) < 1e-15 * np.maximum(exponents, 1))


@pytest.mark.parametrize("n", [1, 7, 256, 300])
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_tiles_below_the_diagonal_make_the_whole_matrix(n, p):
    products, norms = inner_products(n)
    expected = ExponentialGraphKernel(gamma=0.3, p=p)(products, norms, norms)
    matrix = np.tril(products)
    borders = [*range(0, n, 100), n]
    spans = list(pairwise(borders))
    for i, rows in enumerate(spans):
        for columns in spans[: i + 1]:
            _core.fill_symmetric_tile(matrix, norms, 0.3, p, *rows, *columns)
    assert np.array_equal(matrix, expected)
    assert np.array_equal(matrix, matrix.T)
    assert np.all(matrix.diagonal() == 1)


@pytest.mark.parametrize("gamma", [1e-300, 1e300])
def test_extreme_bandwidths_give_numbers(gamma):
    products, norms = inner_products(5)
    values = ExponentialGraphKernel(gamma=gamma)(products, norms, norms)
    assert np.all(values.diagonal() == 1)
    off = values[~np.eye(5, dtype=bool)]
    assert np.all(off == 1) if gamma < 1 else np.all((off >= 0) & (off < 1e-300))
