"""Kernel matrices of embeddings: the products of dense vectors, without the zeros."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from retgk.errors import InvalidInputError
from retgk.estimators.embedding import RetGKEmbedding
from retgk.kernels import embedded_vectors as gram_module
from retgk.kernels.embedded_vectors import embedding_gram, embedding_products
from retgk.kernels.graph import (
    ExponentialGraphKernel,
    PolynomialGraphKernel,
    squared_mmd_from_products,
)
from tests.embedding_graphs import large_batch


@pytest.fixture(params=[np.float64, np.float32])
def vectors(request, monkeypatch):
    """Sparse vectors of graphs that fill several tiles, the last one not whole."""
    monkeypatch.setattr(gram_module, "TILE", 16)
    batch = large_batch(70).without_attributes()
    embedding = RetGKEmbedding(n_steps=5, n_components=9, sparse_output=True, random_state=0)
    return embedding.set_params(dtype=request.param).fit_transform(batch)


def tolerance(vectors):
    return 1e-14 if vectors.dtype == np.float64 else 1e-6


def test_products(vectors):
    dense = vectors.toarray().astype(float)
    products = embedding_products(vectors)
    assert products.dtype == np.float64
    assert np.abs(products - dense @ dense.T).max() < tolerance(vectors)
    assert np.array_equal(products, products.T)
    assert np.abs(embedding_products(vectors.toarray()) - products).max() < tolerance(vectors)


def test_products_with_others(vectors):
    dense = vectors.toarray().astype(float)
    x, y = vectors.tocsr()[:30].tobsr((1, 9)), vectors.tocsr()[30:].tobsr((1, 9))
    products = embedding_products(x, y)
    assert np.abs(products - dense[:30] @ dense[30:].T).max() < tolerance(vectors)


def test_same_bits_for_any_number_of_threads(vectors):
    kernel = ExponentialGraphKernel()
    expected = embedding_gram(vectors, kernel=kernel, n_jobs=1)
    for n_jobs in (2, 3):
        assert np.array_equal(embedding_gram(vectors, kernel=kernel, n_jobs=n_jobs), expected)


@pytest.mark.parametrize(
    "kernel", [PolynomialGraphKernel(c=0.5, d=2), ExponentialGraphKernel(gamma=2.0, p=1.5)]
)
def test_graph_kernels(vectors, kernel):
    dense = vectors.toarray().astype(float)
    norms = (dense**2).sum(axis=1)
    expected = kernel(dense @ dense.T, norms, norms)
    assert np.abs(embedding_gram(vectors, kernel=kernel) - expected).max() < 1e-3
    others = embedding_gram(vectors, vectors, kernel=kernel)
    assert np.abs(others - expected).max() < 1e-3


def test_median_rule(vectors):
    products = embedding_products(vectors)
    norms = np.diag(products)
    squared = squared_mmd_from_products(products, norms, norms)
    expected = np.exp(-np.sqrt(squared / np.median(squared)))
    found = embedding_gram(vectors, kernel=ExponentialGraphKernel())
    assert np.abs(found - expected).max() < 1e-12
    with pytest.raises(InvalidInputError, match="gamma='median' is a rule; fit the kernel first"):
        embedding_gram(vectors, vectors, kernel=ExponentialGraphKernel())


def test_types_that_differ(vectors):
    dense = vectors.toarray().astype(float)
    other = dense.astype(np.float32 if vectors.dtype == np.float64 else np.float64)
    found = embedding_products(vectors.toarray(), other)
    assert np.abs(found - dense @ dense.T).max() < 1e-6
    assert np.array_equal(embedding_products(np.eye(3, dtype=int)), np.eye(3))


@pytest.mark.parametrize("width", [1, 256, 257, 700])
def test_wide_vectors_are_multiplied_in_parts(width):
    x = np.random.default_rng(0).normal(size=(21, width))
    y = np.random.default_rng(1).normal(size=(13, width))
    np.testing.assert_allclose(embedding_products(x), x @ x.T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(embedding_products(x, y), x @ y.T, rtol=0, atol=1e-12)


def test_a_product_depends_on_its_two_graphs_alone(vectors):
    """The same bits, whichever graphs stand beside them."""
    whole, dense = embedding_products(vectors), vectors.toarray()
    own = vectors.tocsr()[[3, 40]].tobsr((1, 9))
    assert np.array_equal(embedding_products(own), whole[np.ix_([3, 40], [3, 40])])
    whole = embedding_products(dense)
    assert np.array_equal(embedding_products(dense[5:9], dense[11:]), whole[5:9, 11:])


def test_bad_vectors():
    with pytest.raises(InvalidInputError, match="x is sparse of format csr; give a dense array"):
        embedding_products(csr_array(np.eye(3)))
    with pytest.raises(InvalidInputError, match="x has 3 features, y has 2; embed both by the"):
        embedding_products(np.ones((2, 3)), np.ones((2, 2)))
