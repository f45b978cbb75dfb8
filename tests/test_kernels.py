"""Kernels as values: laws of their algebra, and kernels that take part wherever graphs compare."""

import pickle
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone

from retgk import (
    GraphBatch,
    GraphIndex,
    InvalidInputError,
    RetGK,
    Walks,
    distance,
    kernels,
    most_similar,
    similarity,
    two_sample_test,
)
from retgk.datasets import load_tudataset
from retgk.kernels import (
    ExponentialGraphKernel,
    Gaussian,
    GraphKernel,
    Laplacian,
    MinMax,
    NodeKernel,
    Normalized,
    Polynomial,
    PolynomialGraphKernel,
    Precomputed,
    Product,
    RetGKEmbedding,
    Scaled,
    ShortestPath,
    Sum,
    Vectors,
    WeisfeilerLehman,
    WeisfeilerLehmanOA,
    mean_of,
    molecule_kernel,
    refined_labels,
)
from retgk.kernels.exact import ExactEngine
from retgk.kernels.exact_any import CalledGraphs
from retgk.kernels.others import all_kernels, counts
from retgk.search import distances
from retgk.stats import association_test, k_sample_test
from tests.errors import fails
from tests.example_graphs import QUICK, graphs_of_kind, population_graphs

GRAPHS = graphs_of_kind("both", 14)
TRAIN, NEW, KEPT = GRAPHS[:9], GRAPHS[9:], np.array([4, 1, 7])


class Density(GraphKernel):
    """A user's own: a Gaussian kernel of the share of edges that a graph has."""

    def __init__(self, gamma=30.0):
        self.gamma = gamma

    def describe(self, graphs):
        return (graphs.edge_counts / graphs.node_counts**2)[:, None]

    def products(self, x, y):
        return np.exp(-self.gamma * (x - y.T) ** 2)


@dataclass(frozen=True)
class Called(NodeKernel):
    """A Laplacian that no engine knows."""

    def __call__(self, x, y):
        return np.exp(-self.scale * cdist(x, y))


@dataclass(frozen=True)
class Cauchy(NodeKernel):
    def __call__(self, x, y):
        return 1 / (1 + (self.scale * cdist(x, y)) ** 2)


@dataclass(frozen=True)
class Matern(NodeKernel):
    """(1 + t) exp(-t), of smoothness 3/2; compiled, as it says what engines need."""

    argument = "distance"
    series = (1.0, 1.0)


def of_others(kind):
    known = kind().get_params()
    own = {"random_state": 0, "n_hashes": 3, "n_components": 500}
    own = {name: value for name, value in own.items() if name in known}
    return kind(**own)


WALKS = Walks(6)
PARTS = {
    "exact": RetGK(depth=1, walks=WALKS, tol=0, random_state=0),
    "products": RetGK(walks=WALKS, graph_kernel=PolynomialGraphKernel(), tol=0, random_state=0),
    "features": RetGK(n_components=64, walks=WALKS, random_state=0),
    "feature products": RetGK(
        1, n_components=64, walks=WALKS, graph_kernel=PolynomialGraphKernel(), random_state=0
    ),
    "own node kernel": RetGK(1, structure=Cauchy(), walks=WALKS, random_state=0),
    "own": Density(),
    "min-max": MinMax(WeisfeilerLehman(2)),
    "min-max, rounds": MinMax(WeisfeilerLehmanOA(2, edge_labels=True), (1, 2)),
    "min-max of values": MinMax(ShortestPath(attributes=Laplacian(0.5))),
    "divided by the mean": Scaled(WeisfeilerLehmanOA(2, normalize=False), "mean"),
    **{kind.__name__: of_others(kind) for kind in all_kernels()},
}
NAMES = sorted(PARTS)
NAMESPACE = {name: getattr(kernels, name) for name in dir(kernels)} | globals()
every_part = pytest.mark.parametrize("name", NAMES)


def values_of(kernel):
    """Kernel matrix, rows of new graphs, and both diagonals."""
    matrix = kernel.fit_transform(TRAIN)
    return matrix, kernel.transform(NEW), kernel.diagonal(), kernel.diagonal(NEW)


EXPECTED = {}


def expected_of(kernel):
    """What a kernel should give, from the values of its parts written out."""
    match kernel:
        case Sum():
            pairs = zip(expected_of(kernel.k1), expected_of(kernel.k2), strict=True)
            return [first + second for first, second in pairs]
        case Product():
            pairs = zip(expected_of(kernel.k1), expected_of(kernel.k2), strict=True)
            return [first * second for first, second in pairs]
        case MinMax():
            means = [minima_by_maxima(kernel, graphs) for graphs in (TRAIN, NEW)]
            return [*means, np.ones(len(TRAIN)), np.ones(len(NEW))]
        case Scaled():
            parts = expected_of(kernel.kernel)
            is_mean = kernel.factor == "mean"
            factor = 1 / parts[0].diagonal().mean() if is_mean else kernel.factor
            return [factor * values for values in parts]
        case Normalized():
            matrix, rows, norms, new = expected_of(kernel.kernel)
            old, own = (np.sqrt(np.where(each > 0, each, np.inf)) for each in (norms, new))
            return [
                matrix / old[:, None] / old,
                rows / own[:, None] / old,
                (norms > 0).astype(float),
                (new > 0).astype(float),
            ]
        case _:
            if repr(kernel) not in EXPECTED:
                EXPECTED[repr(kernel)] = values_of(clone(kernel))
            return EXPECTED[repr(kernel)]


def minima_by_maxima(kernel, graphs):
    """Mean over rounds of what two graphs have in common, over what they have together."""
    if kernel.rounds is None and not hasattr(kernel.kernel, "n_iter"):
        part = clone(kernel.kernel).set_params(normalize=False).fit(TRAIN)
        values, norms = part.rows_and_norms(graphs)
        return values / (norms[:, None] + part.diagonal() - values)
    all_graphs = GraphBatch.concatenate([graphs, TRAIN])
    if not kernel.kernel.edge_labels:
        all_graphs = all_graphs.without_edge_labels()
    colours = refined_labels(all_graphs, kernel.kernel.n_iter)
    found = 0
    for last in kernel.rounds or (kernel.kernel.n_iter,):
        counts = []
        for start, stop in pairwise(all_graphs.node_ptr):
            levels = enumerate(colours[start:stop, : last + 1].T.tolist())
            counts.append(Counter((level, own) for level, nodes in levels for own in nodes))
        new, old = counts[: len(graphs)], counts[len(graphs) :]
        found = found + np.array(
            [[(one & two).total() / (one | two).total() for two in old] for one in new]
        )
    return found / len(kernel.rounds or "1")


def combined(parts):
    """Strategy of kernels that are made of some parts."""
    pairs = st.tuples(parts, parts)
    factors = st.sampled_from([0.5, 2, np.float32(0.25), np.float64(3.0)])
    return st.one_of(
        pairs.map(lambda pair: pair[0] + pair[1]),
        pairs.map(lambda pair: pair[0] * pair[1]),
        pairs.map(mean_of),
        st.tuples(factors, parts).map(lambda pair: pair[0] * pair[1]),
        parts.map(lambda part: part.normalized()),
    )


def made_of(names, most=4):
    leaves = st.sampled_from(names).map(lambda name: clone(PARTS[name]))
    return combined(st.recursive(leaves, combined, max_leaves=most))


@given(kernel=made_of(NAMES))
@settings(max_examples=60)
def test_values_are_those_of_the_parts_written_out(kernel):
    found, expected = values_of(kernel), expected_of(kernel)
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-12 * np.abs(other).max())
    rows, norms = kernel.rows_and_norms(kernel.new(NEW))
    np.testing.assert_allclose(rows, found[1], rtol=1e-12)
    np.testing.assert_allclose(norms, found[3], rtol=1e-12)
    some = kernel.keep(KEPT)
    assert some.n_graphs_ == len(KEPT)
    np.testing.assert_allclose(some.transform(NEW), found[1][:, KEPT], rtol=1e-9)
    np.testing.assert_allclose(some.diagonal(), found[2][KEPT], rtol=1e-9)
    np.testing.assert_allclose(some.gram(), found[0][np.ix_(KEPT, KEPT)], rtol=1e-9, atol=1e-12)


@given(kernel=made_of([name for name in NAMES if "feature" not in name]))
@settings(max_examples=40)
def test_positive_semidefinite_and_symmetric(kernel):
    matrix = kernel.fit_transform(GRAPHS)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-12)
    largest = np.abs(matrix).max()
    assert np.linalg.eigvalsh((matrix + matrix.T) / 2).min() > -1e-9 * largest


@given(kernel=made_of(NAMES))
def test_parameters_text_and_copies(kernel):
    """What `clone`, `set_params`, `repr` and `pickle` give is the same kernel."""
    same = [clone(kernel), eval(repr(kernel), NAMESPACE)]
    again = clone(kernel)
    again.set_params(**again.get_params())
    for other in (*same, again, pickle.loads(pickle.dumps(kernel))):
        assert repr(other) == repr(kernel)
        assert other.get_params().keys() == kernel.get_params().keys()


WITH_VECTORS = sorted(
    {"feature products", *(kind.__name__ for kind in all_kernels())}
    - {"WeisfeilerLehmanOA", "GraphInvariant", "SubgraphMatching"}
)


@given(kernel=made_of(WITH_VECTORS, most=2))
@settings(max_examples=40)
def test_vectors_give_the_kernel(kernel):
    kernel.fit(TRAIN)
    try:
        fitted, new = (csr_array(kernel.vectors(graphs)) for graphs in (TRAIN, NEW))
    except InvalidInputError as error:
        if "columns" not in str(error):  # of a product
            raise
        return
    found, expected = (new @ fitted.T).toarray(), kernel.transform(NEW)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    whole = Vectors(kernel).fit(TRAIN)
    assert whole.transform(NEW).shape == (len(NEW), whole.n_features_out_)


@every_part
def test_laws_of_the_algebra(name):
    """Commutative, associative, distributive; a cosine of a cosine is the cosine."""
    a, b, c = clone(PARTS[name]), ShortestPath(), Density()
    for one, other in (
        (a + b, b + a),
        (a * b, b * a),
        ((a + b) + c, a + (b + c)),
        (a * (b + c), a * b + a * c),
        (2 * (a + b), 2 * a + 2 * b),
        (a.normalized(), a.normalized().normalized()),
        ((3 * a).normalized(), a.normalized()),
        (sum([a, b, c]), a + b + c),
        (mean_of([a, a]), a),
        (mean_of(iter([a])), a),
    ):
        for own, its in zip(values_of(one), values_of(other), strict=True):
            np.testing.assert_allclose(own, its, rtol=1e-9, atol=1e-12 * np.abs(its).max())


def test_parameters_are_reached_by_name():
    kernel = RetGK(structure=Laplacian(2.0)) + 0.5 * WeisfeilerLehman()
    kernel.set_params(
        k1__structure__gamma=3.0, k1__walks__n_steps=7, k2__kernel__n_iter=1, k2__factor=0.25
    )
    assert kernel.k1.structure == Laplacian(3.0)
    assert kernel.k1.walks == Walks(7)
    assert repr(kernel.k2) == "Scaled(factor=0.25, kernel=WeisfeilerLehman(n_iter=1))"
    assert kernel.get_params()["k1__graph_kernel__p"] == ExponentialGraphKernel().p
    kernel.set_params(k1__structure=Polynomial(), k1__structure__degree=3)
    assert kernel.k1.structure == Polynomial(degree=3)
    kernel.set_params(k1__structure=None, k1__structure__gamma=1.5)
    assert kernel.k1.structure == Laplacian(1.5)
    assert RetGK().set_params(attributes__gamma=2.0).attributes == Laplacian(2.0)


def test_all_start_from_the_columns_of_labels_that_are_named():
    rng = np.random.default_rng(0)
    labels = list(zip(rng.integers(3, size=GRAPHS.n_nodes).tolist(),
                      rng.integers(2, size=GRAPHS.n_nodes).tolist(), strict=True))  # fmt: skip
    graphs = GRAPHS.with_labels(labels, columns=("element", "charge"))
    elements = graphs.with_label_columns("element")
    for name, part in PARTS.items():
        if "labels" not in part.get_params():
            continue
        kernel = clone(part).set_params(labels="element").fit(graphs[:9])
        plain = clone(part).fit(elements[:9])
        np.testing.assert_array_equal(kernel.gram(), plain.gram(), name)
        np.testing.assert_array_equal(kernel.transform(graphs[9:]), plain.transform(elements[9:]))
        turned = graphs[9:].with_label_columns(["charge", "element"])
        whole = clone(part).fit(graphs[:9])
        np.testing.assert_array_equal(whole.transform(turned), whole.transform(graphs[9:]))
        fails(partial(whole.transform, elements[9:]), about=("'charge'", "the column element"))
    kernel = WeisfeilerLehman(labels=["element", "degree"])
    fails(lambda: kernel.fit(graphs), about=("'degree'", "element, charge"))
    fails(lambda: WeisfeilerLehman(labels=3).check(), about=("labels", "3"))


def test_matrices_add_up_in_any_type_of_floats():
    kernel = (0.5 * (MinMax(WeisfeilerLehmanOA(2)) + 3 * ShortestPath())).fit(TRAIN)
    for dtype in (np.float32, np.float64):
        out = np.ones((len(TRAIN), len(TRAIN)), dtype)
        kernel.add_gram(out, 2.0)
        np.testing.assert_allclose(out, 1 + 2 * kernel.gram(), rtol=np.finfo(dtype).eps * 8)


def test_a_round_that_is_named_twice_counts_twice():
    kernel = MinMax(WeisfeilerLehmanOA(2), (2, 0, 2)).fit(TRAIN)
    np.testing.assert_allclose(kernel.gram(), minima_by_maxima(kernel, TRAIN), rtol=1e-12)
    np.testing.assert_allclose(kernel.transform(NEW), minima_by_maxima(kernel, NEW), rtol=1e-12)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_kernel_for_molecules_is_made_of_eight_and_one(task, monkeypatch):
    graphs = GRAPHS.with_labels([(k % 3, k % 2) for k in range(GRAPHS.n_nodes)],
                                columns=("element", "charge"))  # fmt: skip
    parts = [
        MinMax(WeisfeilerLehmanOA(rounds, edge_labels=True, labels=labels))
        for labels in ("element", None)
        for rounds in (1, 2, 3, 4)
    ]
    kernel = mean_of(parts)
    if task == "regression":
        large = WeisfeilerLehmanOA(2, edge_labels=True, labels="element", normalize=False)
        kernel = 0.5 * (kernel + Scaled(large, "mean"))
    found = molecule_kernel(task).fit(graphs[:9])
    np.testing.assert_allclose(found.gram(), kernel.fit_transform(graphs[:9]), rtol=1e-12)
    rows = kernel.transform(graphs[9:])
    np.testing.assert_allclose(found.transform(graphs[9:]), rows, rtol=1e-12)
    np.testing.assert_array_equal(found.transform(graphs[:9]), found.gram())
    alone = np.concatenate([found.transform(graphs[k : k + 1]) for k in range(9, len(graphs))])
    np.testing.assert_array_equal(alone, found.transform(graphs[9:]))
    monkeypatch.setattr(counts, "_TASK_POSTINGS", 1)  # a task for every row
    for n_jobs in (1, 2):
        again = molecule_kernel(task).with_common(n_jobs, 0).fit(graphs[:9])
        np.testing.assert_array_equal(again.gram(), found.gram())
        np.testing.assert_array_equal(again.transform(graphs[9:]), found.transform(graphs[9:]))


def test_long_texts_are_not_cut():
    kernel = mean_of([RetGK(depth, walks=Walks(20 + depth)) for depth in range(40)])
    assert repr(eval(repr(kernel), NAMESPACE)) == repr(kernel)
    assert "..." not in repr(kernel)


def test_a_fitted_kernel_keeps_its_values():
    kernel = (2.0 * WeisfeilerLehman(2) + ShortestPath()).fit(TRAIN)
    expected = kernel.transform(NEW)
    kernel.set_params(k1__factor=9.0, k1__kernel__n_iter=0, k2__normalize=False)
    np.testing.assert_array_equal(kernel.transform(NEW), expected)


WRONG = [
    (lambda: Sum(RetGK(), 3).fit(TRAIN), ("k2", "RetGK()", "3")),
    (lambda: Scaled(RetGK(), -1.0).fit(TRAIN), ("factor", "-1.0")),
    (lambda: Scaled(RetGK(), "median").fit(TRAIN), ("factor", "'median'")),
    (lambda: MinMax(WeisfeilerLehman(2), (1, 3)).fit(TRAIN), ("rounds", "3", "refined 2 times")),
    (lambda: MinMax(WeisfeilerLehman(2), ()).fit(TRAIN), ("rounds", "empty")),
    (lambda: MinMax(RetGK(), (1,)).fit(TRAIN), ("rounds", "RetGK")),
    (lambda: MinMax(3).fit(TRAIN), ("kernel", "3")),
    (lambda: molecule_kernel("clustering"), ("task", "clustering")),
    (lambda: mean_of([]), "no kernels"),
    (lambda: (RetGK() + RetGK(n_components=8)).fit(TRAIN).vectors(NEW), ("exact", "n_components")),
    (lambda: RetGK(n_components=8).fit(TRAIN).vectors(NEW), "PolynomialGraphKernel()"),
    (lambda: Density().fit(TRAIN).vectors(NEW), ("Density", "vectors")),
    (lambda: RetGK(walks=3).fit(TRAIN), ("walks", "3")),
    (lambda: RetGK().set_params(structure__gama=1.0), ("gama", "gamma", "Laplacian")),
    (lambda: RetGK().set_params(walks__gamma=1.0), ("gamma", "n_steps")),
    (lambda: RetGK().set_params(walks__n_steps=0), ("n_steps", "0")),
    (lambda: RetGK().fit(TRAIN, label="a"), ("label", "as_batch")),
    (lambda: (RetGK() + Precomputed()).fit(TRAIN), ("Precomputed", "GraphBatch")),
    (lambda: GraphKernel().fit(TRAIN), ("GraphKernel", "describe")),
]


@pytest.mark.parametrize(("call", "about"), WRONG)
def test_what_makes_no_kernel_is_named(call, about):
    fails(call, about, (ValueError, NotImplementedError))


@pytest.mark.parametrize("other", [3 + 1j, "a", None, [1.0]])
def test_what_does_not_combine_is_a_type_error(other):
    for call in (lambda: RetGK() + other, lambda: RetGK() * other, lambda: other * RetGK()):
        with pytest.raises(TypeError):
            call()


# A user's own kernels


class Shape(Density):
    """Density whose values have the wrong shape, or are no numbers."""

    def __init__(self, values=None):
        super().__init__()
        self.values = values

    def products(self, x, y):
        return np.full((len(x), len(y)), np.nan) if self.values else x[:, 0]


def test_values_of_own_kernels_are_checked():
    fails(lambda: Shape().fit_transform(TRAIN), ("Shape()", "shape (9, 9)", "(9,)"))
    fails(lambda: Shape("nan").fit(TRAIN).transform(NEW), ("finite", "shape (5, 9)"))


@dataclass(frozen=True)
class Wrong(NodeKernel):
    def __call__(self, x, y):  # noqa: ARG002
        return np.ones(len(x))


@pytest.mark.parametrize("attributes", [None, Called(0.3)])
@pytest.mark.parametrize("depth", [0, 2])
def test_a_called_node_kernel_is_the_compiled_one(depth, attributes, monkeypatch):
    """In blocks of a few nodes, for fitted and for new graphs, and for some of them."""
    monkeypatch.setattr("retgk.kernels.exact_any._BLOCK_NODES", 20)
    options = {"walks": WALKS, "tol": 0, "depth": depth}
    known = None if attributes is None else Laplacian(0.3)
    called = RetGK(structure=Called(2.0), attributes=attributes, **options)
    compiled = RetGK(structure=Laplacian(2.0), attributes=known, **options)
    for own, its in zip(values_of(called), values_of(compiled), strict=True):
        np.testing.assert_allclose(own, its, atol=1e-12)
    assert isinstance(called.engine_, ExactEngine)
    assert isinstance(called.engine_._graphs, CalledGraphs)
    assert not isinstance(compiled.engine_._graphs, CalledGraphs)
    some = called.keep(KEPT)
    np.testing.assert_allclose(some.transform(NEW), compiled.transform(NEW)[:, KEPT], atol=1e-12)
    pieces = called.engine_.inner_products(slice(2, 5), slice(0, 9))
    np.testing.assert_allclose(pieces, called.inner_products_[2:5], atol=1e-14)
    np.testing.assert_array_equal(called.inner_products_, called.inner_products_.T)
    lower = called.engine_.at_depth(0).inner_products()
    alone = clone(compiled).set_params(depth=0).fit(TRAIN).inner_products_
    np.testing.assert_allclose(lower, alone, atol=1e-12)


def test_threads_change_no_bit_of_called_kernels(monkeypatch):
    monkeypatch.setattr("retgk.kernels.exact_any._BLOCK_NODES", 20)
    one, two = (values_of(RetGK(1, structure=Cauchy(2.0), n_jobs=n)) for n in (1, 2))
    for own, its in zip(one, two, strict=True):
        np.testing.assert_array_equal(own, its)


@pytest.mark.parametrize("kernel", [Called, Cauchy, Matern])
def test_rules_for_the_bandwidth_of_own_kernels(kernel):
    """As the rules of the library, with what the kernel says that it is a function of."""
    model = RetGK(structure=kernel("median"), random_state=0).fit(TRAIN)
    assert model.structure_.gamma > 0
    assert RetGK(attributes=kernel("dimension")).fit(TRAIN).attributes_[0].gamma == 2**-0.5


@pytest.mark.parametrize("tol", [0, 1e-6, 1e-3])
@pytest.mark.parametrize("depth", [0, 2])
def test_a_matern_kernel_is_compiled(tol, depth):
    options = {"walks": WALKS, "depth": depth, "tol": tol}
    kernel = RetGK(structure=Matern(3.0), attributes=Matern(0.4), **options).fit(TRAIN)
    assert Matern(3.0).is_compiled
    assert not isinstance(kernel.engine_._graphs, CalledGraphs)

    @dataclass(frozen=True)
    class Formula(NodeKernel):
        def __call__(self, x, y):
            t = self.scale * cdist(x, y)
            return (1 + t) * np.exp(-t)

    by_formula = RetGK(structure=Formula(3.0), attributes=Formula(0.4), **options).fit(TRAIN)
    found, expected = kernel.inner_products_, by_formula.inner_products_
    assert np.abs(found - expected).max() <= max(tol, 1e-12)
    new, other = (one.compare(NEW).products() for one in (kernel, by_formula))
    assert np.abs(new - other).max() <= max(tol, 1e-12)


def test_values_of_own_node_kernels_are_checked():
    about = ("Wrong(gamma=1.0)", "finite", "shape")
    fails(lambda: RetGK(structure=Wrong(1.0)).fit_transform(TRAIN), about)
    fails(lambda: RetGK(n_components=8, structure=Cauchy(1.0)).fit(TRAIN), ("structure", "Cauchy"))
    fails(lambda: RetGKEmbedding(structure=Matern(1.0)).fit(TRAIN), ("structure", "Matern"))


# Matrices in place of graphs


def test_precomputed_values():
    matrix = WeisfeilerLehman().fit_transform(GRAPHS)
    kernel = Precomputed().fit(matrix[:9, :9])
    np.testing.assert_array_equal(kernel.gram(), matrix[:9, :9])
    np.testing.assert_array_equal(kernel.transform(matrix[9:, :9]), matrix[9:, :9])
    np.testing.assert_array_equal(kernel.diagonal(), matrix.diagonal()[:9])
    kept = kernel.keep(KEPT).keep(np.array([2, 0]))
    assert kept.n_graphs_ == 2
    np.testing.assert_array_equal(kept.transform(matrix[9:, :9]), matrix[9:, KEPT[[2, 0]]])
    fails(kept.gram, "no kernel matrix")
    fails(lambda: kernel.transform(matrix[9:]), ("14", "9"))
    fails(lambda: Precomputed().fit(matrix[:3]), "(3, 14)")
    fails(lambda: Precomputed().fit(np.triu(matrix)), "symmetric")
    fails(lambda: Precomputed().fit(np.full((2, 2), np.nan)), "finite")
    fails(lambda: Precomputed().fit(TRAIN), "GraphBatch")


# Wherever graphs are compared

BOTH = [
    WeisfeilerLehman(2),
    RetGK(walks=WALKS, random_state=0),
    Density(),
    Density() + ShortestPath(),
]
every_kernel = pytest.mark.parametrize("kernel", BOTH, ids=repr)
SETTINGS = {"n_permutations": 99, "confidence": None, "rng": 0}


@every_kernel
def test_populations_differ_in_a_kernel(kernel):
    sides = population_graphs(0, 8, 0.2), population_graphs(1, 8, 0.6)
    found = two_sample_test(*sides, kernel=kernel, **SETTINGS)
    assert found.p_value == 0.01
    assert [one.kernel for one in found.kernels] == [repr(kernel)]
    assert repr(kernel) in str(found)
    values = clone(kernel).fit_transform([*sides[0], *sides[1]])
    own = values[2, [i for i in range(8) if i != 2]].mean() - values[2, 8:].mean()
    assert found.witness[2] == pytest.approx(own)
    alike = population_graphs(0, 8, 0.2), population_graphs(2, 8, 0.2)
    assert two_sample_test(*alike, kernel=kernel, **SETTINGS).p_value > 0.01
    several = k_sample_test(*sides, *alike, kernel=[kernel, ShortestPath()], **SETTINGS)
    assert several.p_value == 0.01
    assert [one.kernel for one in several.kernels] == [repr(kernel), "ShortestPath()"]


@every_kernel
def test_association_in_a_kernel(kernel):
    parts = [population_graphs(seed, 3, 0.15 + 0.1 * seed) for seed in range(5)]
    graphs = [graph for part in parts for graph in part]
    found = association_test(graphs, np.repeat(np.arange(5.0), 3), kernel=kernel, **SETTINGS)
    assert found.p_value <= 0.02
    assert found.to_dict()["kernels"][0]["kernel"] == repr(kernel)


def test_kernels_of_tests_are_checked():
    sides = TRAIN, NEW
    fails(lambda: two_sample_test(*sides, kernel="wl"), ("kernel", "wl"))
    fails(lambda: two_sample_test(*sides, kernel=[]), "kernel")
    fails(lambda: two_sample_test(*sides, kernel=RetGK(), walks=WALKS), ("walks", "RetGK"))
    fails(lambda: two_sample_test(*sides, kernel=RetGK, walks=WALKS), "kernel")
    about = ("nodes_correspond", "kernel")
    same = population_graphs(0, 8)
    how = {"kernel": ShortestPath(), "nodes_correspond": True}
    fails(lambda: two_sample_test(same, by=[0, 1] * 4, **how, **SETTINGS), about)
    fails(lambda: two_sample_test(same, by=[0, 1] * 4, walks=3, **QUICK_WITHOUT_WALKS), "walks")


QUICK_WITHOUT_WALKS = {name: value for name, value in QUICK.items() if name != "walks"}


@every_kernel
def test_similarities_and_distances_in_a_kernel(kernel):
    plain = kernel
    if isinstance(kernel, RetGK):  # whose inner products are compared
        plain = clone(kernel).set_params(graph_kernel=PolynomialGraphKernel())
    matrix, norms = plain.fit_transform(GRAPHS), plain.diagonal()
    expected = np.sqrt(np.maximum(norms[:, None] + norms - 2 * matrix, 0))
    np.testing.assert_allclose(distances(GRAPHS, kernel=kernel), expected, atol=2e-4)
    rows = distances(NEW, GRAPHS, kernel)
    np.testing.assert_allclose(rows, expected[9:], atol=2e-4)
    found = most_similar(NEW[0], GRAPHS, 4, kernel)
    assert found.indices[0] == 9
    np.testing.assert_allclose(found.similarities[0], 1.0)
    if isinstance(kernel, RetGK):
        return  # whose bandwidth is that of the graphs that are given
    cosines = plain.normalized().fit_transform(GRAPHS)
    np.testing.assert_allclose(found.similarities, cosines[9, found.indices])
    assert similarity(NEW[0], TRAIN[1], kernel) == pytest.approx(cosines[9, 1])
    assert distance(NEW[0], TRAIN[1], kernel) == pytest.approx(expected[9, 1], abs=1e-6)


def test_kernels_of_comparisons_are_checked():
    for call in (similarity, distance, distances, lambda g, h, k: most_similar(g, h, 5, k)):
        fails(lambda call=call: call(NEW[0], NEW[1], "wl"), ("kernel", "RetGK()", "wl"))


@pytest.mark.parametrize(
    "kernel",
    [
        WeisfeilerLehman(2),
        WeisfeilerLehman(1) + 0.5 * ShortestPath(),
        PARTS["feature products"],
        Vectors(WeisfeilerLehman(2, normalize=False)),
    ],
    ids=repr,
)
def test_an_index_over_vectors(kernel, tmp_path):
    """Its distances are those of the kernel; new graphs lack what no fitted graph has."""
    index = GraphIndex(kernel, storage="float16", random_state=0).fit(TRAIN)
    own = kernel.kernel if isinstance(kernel, Vectors) else kernel
    for graphs in (TRAIN, NEW):
        expected = distances(graphs, TRAIN, own) ** 2
        if graphs is NEW:
            fitted = clone(own).fit(TRAIN)
            there = csr_array(fitted.vectors(NEW)).power(2).sum(axis=1)
            expected -= (fitted.diagonal(NEW) - there)[:, None]
        found = index.query(graphs, 4)
        nearest = np.sqrt(np.maximum(np.sort(expected, axis=1)[:, :4], 0))
        np.testing.assert_allclose(found.distances, nearest, rtol=2e-2, atol=2e-2)
        rows = np.sqrt(np.maximum(np.take_along_axis(expected, found.ids, axis=1), 0))
        np.testing.assert_allclose(found.distances, rows, rtol=2e-2, atol=2e-2)
    index.save(tmp_path / "index")
    again = GraphIndex.load(tmp_path / "index").query(NEW, 4)
    assert again.ids.tolist() == found.ids.tolist()
    assert again.distances.tobytes() == found.distances.tobytes()


# As they come, Weisfeiler and Lehman's and the shortest paths are GraKeL's


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.skipif(find_spec("grakel") is None, reason="needs GraKeL")
@pytest.mark.parametrize("name", ["MUTAG", "ENZYMES", "NCI1"])
def test_as_they_come_they_are_those_of_grakel(name, data_folder):
    import grakel

    from benchmarks.grakel_graphs import grakel_graphs

    graphs = load_tudataset(name, data_home=data_folder, download=False).graphs
    graphs = graphs[np.random.default_rng(1).choice(len(graphs), 100, replace=False)]
    others = grakel_graphs(graphs.without_attributes())
    for ours, theirs in (
        (WeisfeilerLehman(normalize=False), grakel.WeisfeilerLehman()),
        (ShortestPath(normalize=False), grakel.ShortestPath()),
        (WeisfeilerLehman(), grakel.WeisfeilerLehman(normalize=True)),
        (ShortestPath(), grakel.ShortestPath(normalize=True)),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # GraKeL's own
            expected = np.nan_to_num(theirs.fit_transform(others))
        np.testing.assert_allclose(ours.fit_transform(graphs), expected, atol=1e-9, rtol=0)


def test_gaussian_and_own_kernels_of_one_node_kernel_differ():
    """A subclass of a known kernel that overrides it is called, not taken for its base."""

    @dataclass(frozen=True)
    class Half(Gaussian):
        def __call__(self, x, y):
            return 0.5 * super().__call__(x, y)

    options = {"walks": WALKS, "graph_kernel": PolynomialGraphKernel(), "tol": 0}
    half, whole = (RetGK(structure=kind(2.0), **options) for kind in (Half, Gaussian))
    np.testing.assert_allclose(half.fit_transform(TRAIN), 0.5 * whole.fit_transform(TRAIN))
