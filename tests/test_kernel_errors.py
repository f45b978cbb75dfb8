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
from sklearn.exceptions import NotFittedError

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
    make_graph_classification,
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
from retgk.kernels.exact_points import NodePoints, TileKernel, reduce_points
from retgk.kernels.node import NodeKernel
from retgk.walks.probabilities import Walks
from tests.example_graphs import KINDS, graphs_of_kind


def test_one_graph_has_no_median():
    kernel = RetGKKernel(n_steps=4, structure_kernel=Laplacian(1.0))
    with pytest.raises(InvalidInputError, match=r"there is one graph \(n_samples=1\), whose dist"):
        kernel.fit(graphs_of_kind("labels", 3)[:1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Laplacian(-1.0), "gamma must be positive and finite, got -1.0"),
        (lambda: Gaussian("mean"), "gamma must be a positive number, 'median' or 'dimension'"),
        (lambda: ExponentialGraphKernel(p=3), r"p must be in \(0, 2\], got 3"),
        (lambda: ExponentialGraphKernel(gamma=0.0), "gamma must be positive and finite, got 0.0"),
        (
            lambda: ExponentialGraphKernel(gamma="mean"),
            "gamma must be a positive number or 'median'",
        ),
        (lambda: ExponentialGraphKernel(scale=0), "scale must be positive and finite, got 0"),
        (lambda: PolynomialGraphKernel(c=-1), "c must be finite and not negative, got -1"),
        (lambda: PolynomialGraphKernel(d=0), "d must be a whole number between 1 and 1000, got 0"),
    ],
)
def test_bad_kernels(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


def fit(**options):
    return RetGKKernel(**options).fit(graphs_of_kind("both"))


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: fit(tol=-1.0), "tol must be a number"),
        (lambda: fit(attribute_kernel={}), "attribute_kernel names no block"),
        (
            lambda: fit(attribute_kernel={"a": ([99], Laplacian())}),
            r"block 'a': the columns .* do not",
        ),
        (
            lambda: RetGKKernel(attribute_kernel=Laplacian()).fit(graphs_of_kind("labels")),
            "the graphs have no attributes for attribute_kernel=Laplacian",
        ),
        (
            lambda: fit().transform(graphs_of_kind("labels")),
            "the graphs have 0 attributes a node, the fitted ones",
        ),
        (
            lambda: fit().transform(graphs_of_kind("attributes")),
            "the graphs have no labels, the fitted ones have some",
        ),
        (lambda: RetGKKernel().fit(graphs_of_kind("both")[:0]), "there are no graphs to fit"),
    ],
)
def test_bad_input(work, message):
    with pytest.raises(InvalidInputError, match=message):
        work()


def test_unfitted():
    for method in ("transform", "distances", "diagonal"):
        with pytest.raises(NotFittedError):
            getattr(RetGKKernel(), method)(graphs_of_kind("both"))


@pytest.fixture
def no_work(monkeypatch):
    """Fail at the first thing that takes time."""

    def work(*_args, **_options):
        raise AssertionError("return probabilities were computed")

    monkeypatch.setattr("retgk.walks.probabilities.Walks.probabilities", work)


BAD_PARAMETERS = [
    ({"tol": -1.0}, "tol must be a number in .0, 1., got -1.0"),
    ({"tol": "small"}, "tol must be a number in .0, 1., got 'small'"),
    ({"n_steps": 0}, "n_steps must be a whole number.*, got 0"),
    ({"method": "guess"}, "method must be one of"),
    ({"n_jobs": 0}, "n_jobs must be"),
    ({"structure_kernel": "laplacian"}, "structure_kernel must be a Laplacian, .* got 'laplacian'"),
    ({"structure_kernel": Delta()}, r"structure_kernel must be a .* got Delta\(\)"),
    ({"attribute_kernel": Delta()}, r"attribute_kernel must be a .* got Delta\(\)"),
    ({"attribute_kernel": {"a": Laplacian()}}, "attribute block 'a' must be a tuple of columns"),
    (
        {"attribute_kernel": {"a": ([0], "laplacian")}},
        "the kernel of attribute block 'a' must be a Laplacian",
    ),
]


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS)
def test_bad_parameters_are_found_before_the_work(parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        fit(**parameters)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("parameters", "message"),
    [pair for pair in BAD_PARAMETERS if "n_jobs" not in pair[0]],
)
def test_bad_candidates_are_found_before_the_work(parameters, message):
    """The last candidate is looked at before anything is computed for the first."""
    good = {"n_steps": 50, "structure_kernel": None, "attribute_kernel": None}
    candidates = {
        name: (good[name], bad) if name in good else bad for name, bad in parameters.items()
    }
    graphs = graphs_of_kind("both", 12)
    with pytest.raises(InvalidInputError, match=message):
        RetGKClassifier(**candidates, cv=2).fit(graphs, np.arange(12) % 2)


@pytest.mark.usefixtures("no_work")
def test_bad_graphs_are_found_before_the_work():
    with pytest.raises(InvalidInputError, match="no attributes"):
        RetGKKernel(attribute_kernel=Laplacian()).fit(graphs_of_kind("labels"))
    with pytest.raises(InvalidInputError, match="there is one graph"):
        RetGKKernel().fit(graphs_of_kind("labels")[:1])
    with pytest.raises(InvalidInputError, match=r"graph_kernel must be an Exp.* got 'rbf'"):
        fit(graph_kernel="rbf")


def test_memory_is_asked_for_what_is_made(monkeypatch):
    """Inner products alone need one matrix; distances are written down for no graph kernel."""
    graphs = graphs_of_kind("both")
    monkeypatch.setattr("retgk._runtime.processes.available_bytes", lambda: 8 * 81)
    assert mean_embedding_gram(graphs, random_state=0).shape == (9, 9)
    with pytest.raises(InvalidInputError, match="the kernel matrix takes"):
        RetGKKernel().fit_transform(graphs)


def test_matrix_that_does_not_fit_memory(monkeypatch):
    monkeypatch.setattr("retgk._runtime.processes.available_bytes", lambda: 8 * 80)
    with pytest.raises(InvalidInputError, match=r"the kernel matrix takes .* GiB, but only"):
        fit()


@dataclass(frozen=True)
class Matern(NodeKernel):
    """A kernel of a contributor who gives its formula and none of its facts."""

    def __call__(self, x, y):
        distances = self.scale * cdist(x, y)
        return (1 + distances) * np.exp(-distances)


class Halved(Laplacian):
    """A kernel whose own formula compiled code would ignore."""

    def __call__(self, x, y):
        return super().__call__(x, y) / 2


class HalvedBridge(Bridge):
    """The same of a kernel that one model alone takes."""


class HalvedGraphKernel(ExponentialGraphKernel):
    """The same of a kernel between graphs."""


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
OVERRIDES = r"is of class Halved, a subclass of Laplacian, and what it overrides would be ignored"


PLACES = [
    (model, name)
    for model, make in MODELS_OF_KERNELS.items()
    for name in ("structure_kernel", "attribute_kernel")
    if name in make().get_params()
]


@pytest.mark.parametrize(("model", "name"), PLACES)
@pytest.mark.parametrize(
    ("kernel", "message"),
    [(Matern(1.0), r"kernel must be .*, got Matern"), (Halved(1.0), OVERRIDES)],
)
def test_kernels_of_others_are_refused_by_all_models(model, name, kernel, message):
    graphs = graphs_of_kind("both")
    unfitted = MODELS_OF_KERNELS[model](**{name: kernel})
    with pytest.raises(InvalidInputError, match=message):
        unfitted.fit(graphs, np.arange(len(graphs)) % 2)


@pytest.mark.parametrize(
    "work",
    [
        lambda: fit(attribute_kernel={"a": ([0], HalvedBridge())}),
        lambda: fit(attribute_kernel={"a": ([0], Halved(1.0))}),
        lambda: fit(graph_kernel=HalvedGraphKernel(1.0)),
        lambda: SubgraphMatchingKernel(attribute_kernel=HalvedBridge()).fit(graphs_of_kind("both")),
        lambda: SubgraphMatchingKernel(edge_kernel=HalvedBridge()).fit(graphs_of_kind("both")),
    ],
)
def test_subclasses_are_refused_wherever_a_kernel_is_given(work):
    with pytest.raises(
        InvalidInputError, match=r"of class Halved.*would be ignored|must be .* got H"
    ):
        work()


POINTS = NodePoints((np.zeros((2, 3)),), np.array([0, 1, 2]))
TILES = TileKernel((Matern(1.0),), np.array([0, 3]), np.float64)


@pytest.mark.parametrize(
    "work",
    [
        lambda: tile_layout.loop_factors(TILES),
        lambda: tile_layout.tile_factors(TILES),
        lambda: tile_layout.scale_for_tiles(np.ones((2, 3)), TILES),
        lambda: reduce_points(POINTS, [Matern(1.0)], 1e-4),
        lambda: reduce_points(POINTS, [Matern(1.0)], 0),
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


# Keywords that a function does not have: the nearest name, and where the option belongs

SMILES = ["CCO", "CC", "C=O"]
GRAPHS = [nx.path_graph(3), nx.path_graph(4)]


def convert_first(option: str) -> str:
    return f"it is an option of as_batch; convert the graphs first: as_batch(graphs, {option})"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: most_similar("CC", SMILES, bond_orders=True),
            "has no option 'bond_orders'; " + convert_first("bond_orders=True"),
        ),
        (lambda: similarity("CC", "CO", label="x"), convert_first("label='x'")),
        (lambda: distance("CC", "CO", n_step=3), "has no option 'n_step'; did you mean n_steps?"),
        (
            lambda: squared_mmd(SMILES, symetrize=True),
            "did you mean symmetrize? it is an option of",
        ),
        (lambda: mean_embedding_gram(SMILES, graph_kernel=None), "; it has attribute_kernel, "),
        (lambda: pairwise_distances(SMILES, weight="w"), convert_first("weight='w'")),
        (
            lambda: RetGKClassifier().fit(GRAPHS, [0, 1], label="x"),
            "RetGKClassifier.fit has no option 'label'; " + convert_first("label='x'"),
        ),
        (
            lambda: RetGKRegressor().fit(GRAPHS, [0, 1], atributes="x"),
            "did you mean attributes? it",
        ),
        (
            lambda: RetGKKernel().fit(GRAPHS, n_steps=3),
            "it is a parameter of the model: RetGKKernel(n_steps=3)",
        ),
        (lambda: RetGKKernel().fit_transform(GRAPHS, label="x"), convert_first("label='x'")),
        (lambda: RetGKEmbedding().fit(GRAPHS, label="x"), convert_first("label='x'")),
        (lambda: RetGKEmbedding().fit_transform(GRAPHS, label="x"), convert_first("label='x'")),
        (
            lambda: as_batch("CC", lable="x"),
            "as_batch of a SMILES string has no option 'lable'; did you mean label? it is an "
            "option of a networkx graph; a SMILES string has attributes, add_hydrogens, ",
        ),
        (lambda: as_batch(SMILES, bond_order=True), "did you mean bond_orders?"),
        (lambda: as_batch(GRAPHS, bond_orders=True), "it is an option of a SMILES string; a netw"),
        (lambda: as_batch(GRAPHS, colour=1), "; it has label, attributes, categorical, weight, e"),
        (lambda: as_batch([np.eye(3)], label=1), "; a two-dimensional NumPy array has labels"),
    ],
)
def test_where_an_option_belongs(call: Any, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "model_class", [RetGKClassifier, RetGKRegressor, RetGKKernel, RetGKEmbedding]
)
def test_constructors_are_those_of_scikit_learn(model_class: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        model_class(label="x")


def test_options_are_checked_before_any_work() -> None:
    with pytest.raises(InvalidInputError, match="has no option 'bond_orders'"):
        most_similar("CC", iter(["no molecule"]), bond_orders=True)


# What models that were loaded from files say of input that they cannot use

GRAPHS_WRONG_INPUTS = [
    nx.gnp_random_graph(8 + i % 3, 0.3 + 0.2 * (i % 2), seed=i) for i in range(12)
]
SMILES_WRONG_INPUTS = ["C" * (1 + i % 4) + "O" * (i % 2) for i in range(12)]
Y = np.arange(12) % 2
MODELS = {
    "classifier": RetGKClassifier(n_steps=5, C=1, p=1, scale=1, cv=2, random_state=0),
    "regressor": RetGKRegressor(n_steps=5, C=1, p=1, scale=1, cv=2, random_state=0),
    "embedding": RetGKEmbedding(n_steps=5, n_components=8, random_state=0),
    "kernel": RetGKKernel(n_steps=5, random_state=0),
}
OF_LABELS = (
    "the graphs have labels (read from molecules or SMILES strings), the fitted ones have none; "
    "leave them out (without_labels(), --no-labels)"
)
PATH = "'new.smi' is the path of a file, not a graph; read the file first: read_graphs('new"
WRONG = {
    "SMILES": (SMILES_WRONG_INPUTS, OF_LABELS),
    "a data set": (GraphDataset(as_batch(SMILES_WRONG_INPUTS), Y, "molecules"), OF_LABELS),
    "a column": (pd.DataFrame({"smiles": SMILES_WRONG_INPUTS}), OF_LABELS),
    "the name of a file": ("new.smi", PATH),
    "a path": (Path("new.smi"), PATH),
    "paths": ([Path("new.smi"), Path("more.smi")], PATH),
    "a table": (
        pd.DataFrame({"smiles": SMILES_WRONG_INPUTS, "id": Y}),
        "the table has 2 columns ('smiles', 'id'); give one column, such as df['smiles']",
    ),
    "numbers": (
        np.zeros((3, 4)),
        "got one array of numbers of shape (3, 4), the fitted ones were networkx graphs; give "
        "graphs like those, or a list [matrix]",
    ),
    "nothing": (None, "cannot read graphs from NoneType; give one or a list of: GraphBatch"),
}


def answer(model: Any, graphs: Any) -> Any:
    return (model.predict if hasattr(model, "predict") else model.transform)(graphs)


@pytest.fixture(params=MODELS, scope="module")
def loaded(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model of networkx graphs without labels, from its file."""
    path = tmp_path_factory.mktemp("models") / "model.retgk"
    save_model(MODELS[request.param].fit(GRAPHS_WRONG_INPUTS, Y), path)
    return load_model(path)


@pytest.mark.parametrize("case", WRONG)
def test_messages_say_what_came_what_is_wanted_and_how_to_convert(loaded: Any, case: str) -> None:
    graphs, message = WRONG[case]
    with pytest.raises(InvalidInputError) as caught:
        answer(loaded, graphs)
    assert str(caught.value).startswith(message)


def test_one_graph_and_data_sets_are_taken(loaded: Any) -> None:
    data = GraphDataset(as_batch(GRAPHS_WRONG_INPUTS), None, "new")
    assert len(answer(loaded, GRAPHS_WRONG_INPUTS[0])) == 1
    np.testing.assert_array_equal(answer(loaded, data), answer(loaded, GRAPHS_WRONG_INPUTS))


def test_graphs_without_labels_for_a_model_of_molecules() -> None:
    model = RetGKKernel(n_steps=5).fit(SMILES_WRONG_INPUTS)
    with pytest.raises(InvalidInputError, match=r"read from networkx graphs.*label="):
        model.transform(GRAPHS_WRONG_INPUTS)


def test_errors_of_graphs_like_the_fitted_ones_say_nothing_more() -> None:
    with pytest.raises(InvalidInputError) as caught:
        RetGKKernel(n_steps=5).fit(SMILES_WRONG_INPUTS).transform(["C(", "C"])
    assert "the fitted ones" not in str(caught.value)
