"""What RetGKKernel and its parts refuse, and when."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from retgk import (
    Bridge,
    Delta,
    ExponentialGraphKernel,
    Gaussian,
    GraphBatch,
    GraphDataset,
    GraphInvariantKernel,
    InvalidInputError,
    Laplacian,
    Polynomial,
    PolynomialGraphKernel,
    RetGKClassifier,
    RetGKEmbedding,
    RetGKKernel,
    RetGKRegressor,
    ShortestPathKernel,
    SubgraphMatchingKernel,
    as_batch,
    distance,
    load_model,
    mean_embedding_gram,
    most_similar,
    pairwise_distances,
    save_model,
    similarity,
    squared_mmd,
)
from retgk._runtime.fields import flatten, unflatten
from retgk.kernels import exact_tiling as tile_layout
from retgk.kernels.embedded import EmbeddedEngine
from retgk.kernels.embedded_fourier import draw_fourier_map
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import ExactEngine
from retgk.kernels.exact_points import TileKernel
from retgk.kernels.node import NodeKernel
from retgk.walks.probabilities import Walks
from tests.errors import fails
from tests.example_graphs import KINDS, graphs_of_kind


def fit(**options):
    return RetGKKernel(**options).fit(graphs_of_kind("both"))


BAD_INPUT = [
    (lambda: Laplacian(-1.0), ("gamma", "-1.0")),
    (lambda: Gaussian("mean"), ("gamma", "median")),
    (lambda: ExponentialGraphKernel(p=3), ("p", "3")),
    (lambda: ExponentialGraphKernel(gamma=0.0), ("gamma", "0.0")),
    (lambda: ExponentialGraphKernel(gamma="mean"), ("gamma", "median")),
    (lambda: ExponentialGraphKernel(scale=0), ("scale", "0")),
    (lambda: PolynomialGraphKernel(c=-1), ("c", "-1")),
    (lambda: PolynomialGraphKernel(d=0), ("d", "0")),
    (lambda: fit(attribute_kernel={}), "attribute_kernel"),
    (lambda: fit(attribute_kernel={"a": ([99], Laplacian())}), ("block 'a'", "columns")),
    (lambda: fit().transform(graphs_of_kind("labels")), "0 attributes"),
    (lambda: fit().transform(graphs_of_kind("attributes")), "no labels"),
]


@pytest.mark.parametrize(("work", "about"), BAD_INPUT)
def test_bad_input(work, about):
    fails(work, about)


@pytest.fixture
def no_work(monkeypatch):
    """Fail at the first thing that takes time."""

    def work(*_args, **_options):
        raise AssertionError("return probabilities were computed")

    monkeypatch.setattr("retgk.walks.probabilities.Walks.probabilities", work)


BAD_PARAMETERS = [
    ({"tol": -1.0}, ("tol", "-1.0")),
    ({"tol": "small"}, ("tol", "small")),
    ({"n_steps": 0}, ("n_steps", "0")),
    ({"method": "guess"}, ("method", "guess")),
    ({"n_jobs": 0}, "n_jobs"),
    ({"structure_kernel": "laplacian"}, ("structure_kernel", "laplacian")),
    ({"structure_kernel": Delta()}, ("structure_kernel", "Delta")),
    ({"attribute_kernel": Delta()}, ("attribute_kernel", "Delta")),
    ({"attribute_kernel": {"a": Laplacian()}}, ("block 'a'", "columns")),
    ({"attribute_kernel": {"a": ([0], "laplacian")}}, ("block 'a'", "Laplacian")),
]


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("call", "about"),
    [
        *((partial(fit, **parameters), about) for parameters, about in BAD_PARAMETERS),
        (lambda: fit(graph_kernel="rbf"), ("graph_kernel", "rbf")),
        (lambda: RetGKKernel().fit(graphs_of_kind("labels")[:1]), "one graph"),
        (lambda: RetGKKernel().fit(graphs_of_kind("both")[:0]), "no graphs"),
        (
            lambda: RetGKKernel(attribute_kernel=Laplacian()).fit(graphs_of_kind("labels")),
            "no attributes",
        ),
        *(
            (partial(getattr(RetGKKernel(), method), graphs_of_kind("both")), "not fitted")
            for method in ("transform", "distances", "diagonal")
        ),
    ],
)
def test_faults_are_found_before_the_work(call, about):
    fails(call, about, ValueError)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("parameters", "about"), BAD_PARAMETERS)
def test_bad_candidates_are_found_before_the_work(parameters, about):
    """The last candidate is looked at before anything is computed for the first."""
    good = {"n_steps": 50, "structure_kernel": None, "attribute_kernel": None}
    candidates = {
        name: (good[name], bad) if name in good else bad for name, bad in parameters.items()
    }
    model = RetGKClassifier(**candidates, cv=2)
    fails(lambda: model.fit(graphs_of_kind("both", 12), np.arange(12) % 2), about)


def test_memory_is_asked_for_what_is_made(monkeypatch):
    """Inner products alone need one matrix; distances are written down for no graph kernel."""
    graphs = graphs_of_kind("both")
    monkeypatch.setattr("retgk._runtime.processes.available_bytes", lambda: 8 * 81)
    assert mean_embedding_gram(graphs, random_state=0).shape == (9, 9)
    fails(lambda: RetGKKernel().fit_transform(graphs), ("kernel matrix", "GiB"))
    monkeypatch.setattr("retgk._runtime.processes.available_bytes", lambda: 8 * 80)
    fails(fit, ("kernel matrix", "GiB"))


@dataclass(frozen=True)
class Matern(NodeKernel):
    """A kernel of a contributor who gives its formula and none of its facts."""

    def __call__(self, x, y):
        distances = self.scale * cdist(x, y)
        return (1 + distances) * np.exp(-distances)


def halved(kind):
    """A subclass with a formula of its own, which compiled code would ignore."""
    return type(f"Halved{kind.__name__}", (kind,), {})


Halved = halved(Laplacian)


MODELS_OF_KERNELS = {
    "kernel": RetGKKernel,
    "float64": partial(RetGKKernel, tol=0),
    "embedding": RetGKEmbedding,
    "tensor": partial(RetGKEmbedding, feature_map="tensor", n_components=8),
    "classifier": partial(RetGKClassifier, cv=2),
    "approximate": partial(RetGKClassifier, cv=2, approximate=True),
    "shortest paths": ShortestPathKernel,
    "invariants": GraphInvariantKernel,
    "matchings": SubgraphMatchingKernel,
}


PLACES = [
    (model, name)
    for model, make in MODELS_OF_KERNELS.items()
    for name in ("structure_kernel", "attribute_kernel")
    if name in make().get_params()
]


@pytest.mark.parametrize(("model", "name"), PLACES)
@pytest.mark.parametrize("kernel", [Matern(1.0), Halved(1.0)])
def test_kernels_of_others_are_refused_by_all_models(model, name, kernel):
    graphs = graphs_of_kind("both")
    unfitted = MODELS_OF_KERNELS[model](**{name: kernel})
    fails(lambda: unfitted.fit(graphs, np.arange(len(graphs)) % 2), type(kernel).__name__)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (RetGKKernel, {"attribute_kernel": {"a": ([0], halved(Bridge)())}}),
        (RetGKKernel, {"attribute_kernel": {"a": ([0], Halved(1.0))}}),
        (RetGKKernel, {"graph_kernel": halved(ExponentialGraphKernel)(1.0)}),
        (SubgraphMatchingKernel, {"attribute_kernel": halved(Bridge)()}),
        (SubgraphMatchingKernel, {"edge_kernel": halved(Bridge)()}),
    ],
)
def test_subclasses_are_refused_wherever_a_kernel_is_given(model, options):
    message = fails(lambda: model(**options).fit(graphs_of_kind("both")))
    assert "Halved" in message


TILES = TileKernel((Matern(1.0),), np.array([0, 3]), np.float64)


@pytest.mark.parametrize(
    "work",
    [
        lambda: tile_layout.loop_factors(TILES),
        lambda: tile_layout.tile_factors(TILES),
        lambda: tile_layout.scale_for_tiles(np.ones((2, 3)), TILES),
        lambda: draw_fourier_map([(Matern(1.0), 3)], 8, random_state=0),
        lambda: draw_fourier_map([(Polynomial(gamma=1.0), 3)], 8, random_state=0),
        lambda: Matern(1.0).frequency_scale(np.ones((2, 0))),
        lambda: Matern(1.0).power,
    ],
)
def test_no_computation_takes_an_unknown_kernel_for_another(work):
    with pytest.raises(InvalidInputError, match=r"Matern|Polynomial"):
        work()


# The laws that every engine keeps, whatever stands on it

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


def test_state_restores_to_the_bit(make_engine, features):
    engine = make_engine().fit(features)
    arrays = {}
    again = unflatten(flatten(engine, "engine", arrays), arrays)
    again.check_restored(8)
    fails(lambda: again.check_restored(9), "shape")
    new, other = engine.compare(features), again.compare(features)
    np.testing.assert_array_equal(new.products(), other.products())
    np.testing.assert_array_equal(new.squared_norms(), other.squared_norms())
    np.testing.assert_array_equal(engine.squared_norms(), again.squared_norms())
    assert again.digest() == engine.digest()
    assert again.label_names == engine.label_names


def test_digest_and_work_grow_with_the_graphs(make_engine, features):
    engine = make_engine().fit(features)
    few = engine.keep(np.arange(10))
    assert engine.digest() != few.digest()
    assert engine.work() > few.work() > 0


def test_check_finds_faults_before_any_work(make_engine):
    engine, graphs = make_engine(), graphs_of_kind("both", 3)
    fails(lambda: engine.check(graphs[:0]), "no graphs")
    engine.structure_kernel = "rbf"
    fails(lambda: engine.check(graphs), ("structure_kernel", "rbf"))


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


# Keywords that a function does not have: the nearest name, and where the option belongs

SMILES = ["CCO", "CC", "C=O"]
GRAPHS = [nx.path_graph(3), nx.path_graph(4)]


def sent(model, **options):
    return lambda: model.fit(GRAPHS, [0, 1], **options)


@pytest.mark.parametrize(
    ("call", "about"),
    [
        (
            lambda: most_similar("CC", iter(["no molecule"]), bond_orders=True),
            ("'bond_orders'", "as_batch(graphs, bond_orders=True)"),
        ),
        (lambda: similarity("CC", "CO", label="x"), "as_batch(graphs, label='x')"),
        (lambda: distance("CC", "CO", n_step=3), ("'n_step'", "n_steps")),
        (lambda: squared_mmd(SMILES, symetrize=True), ("symmetrize", "as_batch")),
        (lambda: mean_embedding_gram(SMILES, graph_kernel=None), "attribute_kernel"),
        (lambda: pairwise_distances(SMILES, weight="w"), "as_batch(graphs, weight='w')"),
        (
            sent(RetGKClassifier(), label="x"),
            ("RetGKClassifier.fit", "as_batch(graphs, label='x')"),
        ),
        (sent(RetGKRegressor(), atributes="x"), "attributes"),
        (sent(RetGKKernel(), n_steps=3), "RetGKKernel(n_steps=3)"),
        (sent(RetGKEmbedding(), label="x"), "as_batch(graphs, label='x')"),
        (lambda: RetGKKernel().fit_transform(GRAPHS, label="x"), "as_batch"),
        (lambda: RetGKEmbedding().fit_transform(GRAPHS, label="x"), "as_batch"),
        (lambda: as_batch("CC", lable="x"), ("'lable'", "label", "add_hydrogens")),
        (lambda: as_batch(SMILES, bond_order=True), "bond_orders"),
        (lambda: as_batch(GRAPHS, bond_orders=True), ("SMILES", "networkx")),
        (lambda: as_batch(GRAPHS, colour=1), ("label", "attributes", "weight")),
        (lambda: as_batch([np.eye(3)], label=1), ("NumPy", "labels")),
    ],
)
def test_where_an_option_belongs(call: Any, about: Any) -> None:
    fails(call, about)


@pytest.mark.parametrize(
    "model_class", [RetGKClassifier, RetGKRegressor, RetGKKernel, RetGKEmbedding]
)
def test_constructors_are_those_of_scikit_learn(model_class: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        model_class(label="x")


# What models that were loaded from files say of input that they cannot use

UNLABELLED = [nx.gnp_random_graph(8 + i % 3, 0.3 + 0.2 * (i % 2), seed=i) for i in range(12)]
MOLECULES = ["C" * (1 + i % 4) + "O" * (i % 2) for i in range(12)]
Y = np.arange(12) % 2
MODELS = {
    "classifier": RetGKClassifier(n_steps=5, C=1, p=1, scale=1, cv=2, random_state=0),
    "regressor": RetGKRegressor(n_steps=5, C=1, p=1, scale=1, cv=2, random_state=0),
    "embedding": RetGKEmbedding(n_steps=5, n_components=8, random_state=0),
    "kernel": RetGKKernel(n_steps=5, random_state=0),
}
OF_LABELS = ("labels", "SMILES", "without_labels()", "--no-labels")
PATH = ("'new.smi'", "read_graphs")
WRONG = {
    "SMILES": (MOLECULES, OF_LABELS),
    "a data set": (GraphDataset(as_batch(MOLECULES), Y, "molecules"), OF_LABELS),
    "a column": (pd.DataFrame({"smiles": MOLECULES}), OF_LABELS),
    "the name of a file": ("new.smi", PATH),
    "a path": (Path("new.smi"), PATH),
    "paths": ([Path("new.smi"), Path("more.smi")], PATH),
    "a table": (pd.DataFrame({"smiles": MOLECULES, "id": Y}), ("2 columns", "df['smiles']")),
    "numbers": (np.zeros((3, 4)), ("(3, 4)", "networkx", "[matrix]")),
    "nothing": (None, ("NoneType", "GraphBatch")),
}


def answer(model: Any, graphs: Any) -> Any:
    return (model.predict if hasattr(model, "predict") else model.transform)(graphs)


@pytest.fixture(params=MODELS, scope="module")
def loaded(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model of networkx graphs without labels, from its file."""
    path = tmp_path_factory.mktemp("models") / "model.retgk"
    save_model(MODELS[request.param].fit(UNLABELLED, Y), path)
    return load_model(path)


@pytest.mark.parametrize("case", WRONG)
def test_wrong_inputs_of_loaded_models(loaded: Any, case: str) -> None:
    graphs, about = WRONG[case]
    assert_facts(fails(lambda: answer(loaded, graphs)), about)


def assert_facts(message: str, about: tuple[str, ...]) -> None:
    assert [fact for fact in about if fact not in message] == []


def test_one_graph_and_data_sets_are_taken(loaded: Any) -> None:
    data = GraphDataset(as_batch(UNLABELLED), None, "new")
    assert len(answer(loaded, UNLABELLED[0])) == 1
    np.testing.assert_array_equal(answer(loaded, data), answer(loaded, UNLABELLED))


def test_graphs_without_labels_for_a_model_of_molecules() -> None:
    model = RetGKKernel(n_steps=5).fit(MOLECULES)
    fails(lambda: model.transform(UNLABELLED), ("networkx", "label="))
    assert "the fitted ones" not in fails(lambda: model.transform(["C(", "C"]))
