"""The laws that every engine keeps, whatever stands on it."""

import numpy as np
import pytest

from retgk import GraphBatch, InvalidInputError, make_graph_classification
from retgk._runtime.fields import flatten, unflatten
from retgk.kernels.embedded import EmbeddedEngine
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import ExactEngine
from retgk.walks.probabilities import Walks
from tests.kernel_graphs import KINDS, graphs_of_kind

TOL = 1e-5
ENGINES = {
    "exact": lambda: ExactEngine(tol=TOL, random_state=0),
    "embedded": lambda: EmbeddedEngine(n_components=64, random_state=0),
    "tensor": lambda: EmbeddedEngine(feature_map="tensor", n_components=9, random_state=0),
}


def features_of(graphs, n_steps=8):
    return NodeFeatures(graphs, Walks(n_steps))


@pytest.fixture(params=KINDS)
def features(request):
    return features_of(graphs_of_kind(request.param, 20))


@pytest.fixture(params=ENGINES)
def make_engine(request):
    return ENGINES[request.param]


def test_inner_products_are_symmetric_with_norms_on_the_diagonal(make_engine, features):
    engine = make_engine().fit(features)
    products = engine.inner_products()
    assert products.shape == (20, 20) == (engine.n_graphs,) * 2
    np.testing.assert_array_equal(products, products.T)
    np.testing.assert_allclose(products.diagonal(), engine.squared_norms(), atol=1e-14)


def test_blocks_make_up_the_matrix(make_engine, features):
    engine = make_engine().fit(features)
    whole = engine.inner_products()
    first, rest = slice(0, 7), slice(7, 20)
    np.testing.assert_allclose(engine.inner_products(first, first), whole[:7, :7], atol=1e-6)
    np.testing.assert_allclose(engine.inner_products(first, rest), whole[:7, 7:], atol=1e-6)


def test_fitted_graphs_compared_as_new_ones(make_engine, features):
    engine = make_engine().fit(features)
    new = engine.compare(features)
    np.testing.assert_allclose(new.products(), engine.inner_products(), atol=2 * TOL)
    np.testing.assert_allclose(new.squared_norms(), engine.squared_norms(), atol=2 * TOL)


def test_kept_graphs_are_rows_and_columns_of_the_whole(make_engine, features):
    graphs = np.array([11, 3, 4, 19])
    whole = make_engine().fit(features)
    kept = whole.keep(graphs)
    assert (whole.n_graphs, kept.n_graphs) == (20, 4)
    expected = whole.inner_products()[np.ix_(graphs, graphs)]
    np.testing.assert_allclose(kept.inner_products(), expected, atol=1e-6)
    np.testing.assert_array_equal(kept.squared_norms(), whole.squared_norms()[graphs])
    new, among = kept.compare(features).products(), whole.compare(features).products()
    np.testing.assert_allclose(new, among[:, graphs], atol=1e-6)


def test_bandwidths_come_from_all_graphs_where_some_are_kept(make_engine, features):
    graphs = np.array([2, 9, 15])
    some = make_engine().fit(features, keep=graphs)
    expected = make_engine().fit(features).inner_products()[np.ix_(graphs, graphs)]
    np.testing.assert_allclose(some.inner_products(), expected, atol=2 * TOL)


def test_a_graph_is_the_mean_of_its_nodes(make_engine):
    """A node is a graph of one node, so that rows of nodes average to the row of their graph."""
    graphs = graphs_of_kind("both", 12)
    features = features_of(graphs)
    engine = make_engine().fit(features)
    rows = engine.compare(nodes_as_graphs(features)).products()
    sizes = graphs.node_counts
    means = np.add.reduceat(rows, graphs.node_ptr[:-1]) / sizes[:, None]
    np.testing.assert_allclose(means, engine.compare(features).products(), atol=2 * TOL)


def nodes_as_graphs(features):
    batch = features.batch
    single = GraphBatch.from_edges([1] * batch.n_nodes, np.empty((0, 2), int))
    names = [batch.label_names[code] for code in batch.labels]
    single = single.with_labels(names).with_attributes(batch.attributes)
    return features.with_batch(single, features.probabilities)


def stored_and_restored(engine):
    arrays = {}
    return unflatten(flatten(engine, "engine", arrays), arrays)


def test_state_restores_to_the_bit(make_engine, features):
    engine = make_engine().fit(features)
    again = stored_and_restored(engine)
    again.check_restored(8)
    for x, y in zip(
        (engine.compare(features), engine), (again.compare(features), again), strict=True
    ):
        np.testing.assert_array_equal(x.squared_norms(), y.squared_norms())
    np.testing.assert_array_equal(
        engine.compare(features).products(), again.compare(features).products()
    )
    assert again.digest() == engine.digest()
    assert again.label_names == engine.label_names


def test_state_that_does_not_fit_is_refused(make_engine, features):
    again = stored_and_restored(make_engine().fit(features))
    with pytest.raises(InvalidInputError, match="is of shape"):
        again.check_restored(9)


def test_digest_and_work_grow_with_the_graphs(make_engine, features):
    engine = make_engine().fit(features)
    few = engine.keep(np.arange(10))
    assert engine.digest() != few.digest()
    assert engine.work() > few.work() > 0


def test_check_finds_faults_before_any_work(make_engine):
    data = make_graph_classification(n_graphs=3, random_state=0)
    engine = make_engine()
    engine.structure_kernel = "rbf"
    with pytest.raises(InvalidInputError, match="structure_kernel must be"):
        engine.check(data.graphs)
    with pytest.raises(InvalidInputError, match="there are no graphs to fit"):
        make_engine().check(data.graphs[:0])


@pytest.mark.parametrize("n_steps", [[8], [8, 3], [3, 8, 5]])
def test_steps_are_slices_of_one_computation(n_steps, monkeypatch):
    graphs, calls, compute = graphs_of_kind("labels", 6), [], Walks.probabilities

    def counted(walks, batch, **options):
        calls.append(walks.n_steps)
        return compute(walks, batch, **options)

    monkeypatch.setattr(Walks, "probabilities", counted)
    features = features_of(graphs, max(n_steps))
    found = [own.probabilities for own in features.shared_by_steps(n_steps)]
    assert calls == [8]
    longest = compute(Walks(8), graphs)
    for own, n in zip(found, n_steps, strict=True):
        np.testing.assert_array_equal(own, longest[:, :n])


def test_pieces_have_the_probabilities_of_the_whole():
    features = features_of(graphs_of_kind("both", 10))
    lazy = [(first, piece.probabilities) for first, piece in features.pieces(3)]
    assert [first for first, _ in lazy] == [0, 3, 6, 9]
    whole = features.probabilities
    np.testing.assert_allclose(np.concatenate([own for _, own in lazy]), whole, atol=1e-15)
    shared = np.concatenate([piece.probabilities for _, piece in features.pieces(3)])
    np.testing.assert_array_equal(shared, whole)
    some = np.array([7, 0])
    np.testing.assert_allclose(
        features.of_graphs(some).probabilities,
        features_of(graphs_of_kind("both", 10)[some]).probabilities,
        atol=1e-15,
    )
