"""What RetGKKernel and its parts refuse, and when."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import NotFittedError

from retgk import (
    Bridge,
    Delta,
    ExponentialGraphKernel,
    Gaussian,
    GraphInvariantKernel,
    InvalidInputError,
    Laplacian,
    Polynomial,
    PolynomialGraphKernel,
    RetGKClassifier,
    RetGKEmbedding,
    RetGKKernel,
    ShortestPathKernel,
    SubgraphMatchingKernel,
    mean_embedding_gram,
)
from retgk.kernels import exact_tiling as tile_layout
from retgk.kernels.embedded_fourier import draw_fourier_map
from retgk.kernels.exact_points import NodePoints, TileKernel, reduce_points
from retgk.kernels.node import NodeKernel
from tests.kernel_graphs import graphs_of_kind


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
