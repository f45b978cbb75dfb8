"""Hypothesis strategies for graphs, and the slow, obvious way from edges to a matrix."""

from typing import Any

import networkx as nx
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted, validate_data

import retgk
from retgk import GraphBatch, GraphClassifier, GraphRegressor, RetGK, Walks, return_probabilities
from retgk.datasets import make_graph_classification
from retgk.kernels import GraphKernel, Normalized, Product, RetGKEmbedding, Scaled, Sum
from retgk.kernels.others import all_kernels
from tests import naive

LABELS = st.one_of(st.integers(-3, 3), st.sampled_from(["C", "N", ("C", 1), None, 2.5]))
WEIGHTS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.0, 3.0, 1e-300, 1e300])


@st.composite
def edge_lists(draw: st.DrawFn, max_graphs: int = 5, max_nodes: int = 5) -> dict[str, Any]:
    """Arguments of from_edges: edges in any order, parallel ones, loops and zeros among them."""
    sizes = draw(st.lists(st.integers(1, max_nodes), max_size=max_graphs))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    edges = [
        (start + i, start + j)
        for start, size in zip(starts[:-1], sizes, strict=True)
        for i, j in draw(
            st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=8)
        )
    ]
    edges = draw(st.permutations(edges))
    weighted = draw(st.booleans())
    weights = [draw(WEIGHTS) for _ in edges] if weighted else None
    return {"n_nodes": sizes, "edges": np.array(edges, int).reshape(-1, 2), "weights": weights}


@st.composite
def graph_batches(
    draw: st.DrawFn, labelled: bool | None = None, n_attributes: int | None = None
) -> GraphBatch:
    """Batches of up to five graphs, with and without weights, labels and attributes."""
    built = draw(edge_lists())
    total = sum(built["n_nodes"])
    labels = draw(st.booleans()) if labelled is None else labelled
    width = draw(st.integers(0, 2)) if n_attributes is None else n_attributes
    numbers = st.floats(-1e6, 1e6)
    attributes = draw(
        st.lists(st.lists(numbers, min_size=width, max_size=width), min_size=total, max_size=total)
    )
    return GraphBatch.from_edges(
        **built,
        labels=[draw(LABELS) for _ in range(total)] if labels else None,
        attributes=np.array(attributes, float).reshape(total, width),
        symmetrize=True,
        missing="label",
    )


def dense_from_edges(
    n_nodes: int, edges: Any, weights: Any = None, symmetrize: bool = False
) -> NDArray[np.float64]:
    """Adjacency matrix of the whole batch, one edge at a time."""
    matrix = np.zeros((n_nodes, n_nodes))
    for position, (source, target) in enumerate(edges):
        matrix[source, target] += 1.0 if weights is None else weights[position]
    return np.maximum(matrix, matrix.T) if symmetrize else matrix


def dense(batch: GraphBatch) -> NDArray[np.float64]:
    """Adjacency matrix of the whole batch, one entry at a time."""
    matrix = np.zeros((batch.n_nodes, batch.n_nodes))
    weights = batch.weights
    for first, last in zip(batch.node_ptr[:-1], batch.node_ptr[1:], strict=True):
        for row in range(first, last):
            for entry in range(batch.indptr[row], batch.indptr[row + 1]):
                matrix[row, first + batch.indices[entry]] += weights[entry]
    return matrix


def assert_well_formed(batch: GraphBatch) -> None:
    """Types, order and flags that everything after a batch relies on."""
    arrays = {
        "node_ptr": np.int64,
        "indptr": np.int64,
        "indices": np.int32,
        "weights": np.float64,
        "labels": np.int32,
        "attributes": np.float64,
    }
    for name, dtype in arrays.items():
        array = getattr(batch, name)
        assert array.dtype == dtype, name
        assert array.flags.c_contiguous, name
        assert not array.flags.writeable, name
    assert batch.node_ptr[0] == 0
    assert (np.diff(batch.node_ptr) > 0).all()
    assert len(batch.indptr) == batch.n_nodes + 1
    assert batch.indptr[0] == 0
    assert batch.indptr[-1] == len(batch.indices) == len(batch.weights)
    assert len(batch.labels) == len(batch.attributes) == batch.n_nodes
    for first, last in zip(batch.indptr[:-1], batch.indptr[1:], strict=True):
        assert (np.diff(batch.indices[first:last]) > 0).all()
    assert (batch.weights > 0).all()
    assert batch.is_weighted == bool((batch.weights != 1).any())


# Graphs on which walks could go wrong: twins, loops, hubs, pieces, weights of any scale


def from_dense(matrix: Any) -> GraphBatch:
    """One graph from its adjacency matrix, without the converters."""
    matrix = np.asarray(matrix, dtype=float)
    sources, targets = np.nonzero(matrix)
    edges = np.stack([sources, targets], axis=1)
    return GraphBatch.from_edges(len(matrix), edges, matrix[sources, targets])


def complete(n: int) -> GraphBatch:
    return from_dense(np.ones((n, n)) - np.eye(n))


def star(n_leaves: int) -> GraphBatch:
    matrix = np.zeros((n_leaves + 1, n_leaves + 1))
    matrix[0, 1:] = matrix[1:, 0] = 1
    return from_dense(matrix)


def path(n: int) -> GraphBatch:
    return from_dense(np.eye(n, k=1) + np.eye(n, k=-1))


@st.composite
def adjacency_matrices(draw: st.DrawFn, max_nodes: int = 7) -> Any:
    """Symmetric matrices, unweighted or weighted, with loops; often disconnected."""
    n = draw(st.integers(1, max_nodes))
    scale = 10.0 ** draw(st.sampled_from([-12, -3, 0, 0, 0, 3, 12]))
    weight = st.sampled_from([0.0, 0.0, 1.0, 1.0] + [0.3, 2.0] * draw(st.booleans()))
    matrix = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            matrix[i, j] = matrix[j, i] = draw(weight) * scale
    return matrix


@st.composite
def graphs_with_twins(draw: st.DrawFn) -> GraphBatch:
    """Nodes of a small graph copied, as open or as closed twins of weights that occur."""
    matrix = draw(adjacency_matrices())
    n = len(matrix)
    copies = np.array(draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
    of = np.repeat(np.arange(n), copies)
    grown = matrix[np.ix_(of, of)]
    for node in range(n):
        members = np.flatnonzero(of == node)
        inner = draw(st.sampled_from([0.0, 1.0, float(matrix.max())]))
        grown[np.ix_(members, members)] = inner
        grown[members, members] = matrix[node, node]
    order = draw(st.permutations(range(len(of))))
    return from_dense(grown[np.ix_(order, order)])


def walk_batches() -> st.SearchStrategy[GraphBatch]:
    """Batches of every kind."""
    sizes = st.integers(1, 9)
    kinds = st.one_of(
        graphs_with_twins(),
        adjacency_matrices(12).map(from_dense),
        sizes.map(complete),
        sizes.map(star),
        sizes.map(path),
    )
    return st.lists(kinds, min_size=1, max_size=4).map(GraphBatch.concatenate)


# Small graphs of every kind, and their inner products as the paper defines them

KINDS = {
    "structure": (False, False),
    "labels": (True, False),
    "attributes": (False, True),
    "both": (True, True),
}


def graphs_of_kind(kind, n_graphs=9):
    graphs = make_graph_classification(
        n_graphs=n_graphs, n_labels=3, n_attributes=2, n_nodes=(5, 12), rng=1
    ).graphs
    with_labels, with_attributes = KINDS[kind]
    graphs = graphs if with_labels else graphs.without_labels()
    return graphs if with_attributes else graphs.without_attributes()


def naive_nodes(graphs, n_steps):
    """Every graph as a list of (return probabilities, label, attributes)."""
    probabilities = naive.return_probabilities_of_batch(graphs, n_steps)
    names = [*graphs.label_names, None]
    return [
        [
            (probabilities[i], names[graphs.labels[i]], graphs.attributes[i])
            for i in range(graphs.node_ptr[g], graphs.node_ptr[g + 1])
        ]
        for g in range(len(graphs))
    ]


def naive_products(graphs, gamma_0, gamma_c, n_steps=8):
    def kernel(a, b):
        if a[1] != b[1]:
            return 0.0
        return naive.laplacian(a[0], b[0], gamma_0) * naive.laplacian(a[2], b[2], gamma_c)

    return naive.mean_embedding_gram(naive_nodes(graphs, n_steps), kernel)


def assert_close(found, expected, tolerance):
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= tolerance


def assert_kernel(kernel, graphs, expected, rounding=1e-12):
    """Values of fitted graphs, of new ones with the second half of them, and of themselves."""
    np.testing.assert_allclose(kernel.fit_transform(graphs), expected, rtol=rounding)
    half = len(graphs) // 2
    found = kernel.fit(graphs[half:]).transform(graphs)
    np.testing.assert_allclose(found, expected[:, half:], rtol=rounding)
    np.testing.assert_allclose(kernel.diagonal(graphs), expected.diagonal(), rtol=rounding)


def runs_of_nodes(graphs):
    """First node of every graph, and number of nodes."""
    return zip(graphs.node_ptr[:-1].tolist(), graphs.node_counts.tolist(), strict=True)


def permuted(graphs, seed=0):
    """The same graphs with their nodes in another order."""
    rng = np.random.default_rng(seed)
    order = np.concatenate([first + rng.permutation(n) for first, n in runs_of_nodes(graphs)])
    place = np.argsort(order)
    rows, columns = rows_of(graphs)
    edges = np.stack([place[rows], place[columns]], axis=1)
    weights = graphs.weights if graphs.is_weighted else None
    moved = GraphBatch.from_edges(graphs.node_counts, edges, weights)
    moved = moved.with_attributes(graphs.attributes[order])
    if not graphs.has_labels:
        return moved
    return moved.with_labels([graphs.label_names[code] for code in graphs.labels[order]])


# Graphs of every kind for the tests of embeddings, with their nodes in plain arrays


@st.composite
def decorated_batches(draw, labelled=None, n_attributes=None):
    """Graphs with twins, with or without labels and attributes that repeat."""
    batch = draw(walk_batches())
    if draw(st.booleans()) if labelled is None else labelled:
        names = st.sampled_from(["C", "N", "O"])
        batch = batch.with_labels(
            draw(st.lists(names, min_size=batch.n_nodes, max_size=batch.n_nodes))
        )
    width = draw(st.integers(0, 2)) if n_attributes is None else n_attributes
    numbers = st.sampled_from([0.0, 0.5, -1.25, 3.0])
    size = batch.n_nodes * width
    values = draw(st.lists(numbers, min_size=size, max_size=size))
    return batch.with_attributes(np.array(values, float).reshape(batch.n_nodes, width))


def example_batch(labels=True, attributes=True):
    """Four graphs with twins, two labels and two attributes."""
    batch = GraphBatch.concatenate([complete(4), star(5), path(7), path(1)])
    nodes = np.arange(batch.n_nodes)
    if labels:
        batch = batch.with_labels(np.where(nodes % 3 == 0, "N", "C"))
    if attributes:
        batch = batch.with_attributes(np.stack([nodes % 4, np.sqrt(nodes)], axis=1))
    return batch


def large_batch(n_graphs=60, seed=0):
    """Random trees and rings of up to two hundred nodes, several of them in a block."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 40, n_graphs)
    sizes[0] = 200
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    edges = [
        (start + i, start + rng.integers(0, i))
        for start, size in zip(starts, sizes, strict=True)
        for i in range(1, size)
    ]
    labels = rng.integers(0, 5, sizes.sum())
    attributes = rng.normal(size=(sizes.sum(), 3)).round(1)
    return GraphBatch.from_edges(
        sizes, edges, labels=labels, attributes=attributes, symmetrize=True
    )


def nodes_of(batch, n_steps, codes=None):
    """For every graph: return probabilities, label codes and attributes of its nodes."""
    probabilities = return_probabilities(batch, n_steps)
    codes = batch.labels if codes is None else codes
    return [
        (probabilities[first:last], codes[first:last], batch.attributes[first:last])
        for first, last in zip(batch.node_ptr[:-1], batch.node_ptr[1:], strict=True)
    ]


# What tests of GraphClassifier have in common


def three_classes():
    return make_graph_classification(n_graphs=90, n_classes=3, n_labels=3, n_nodes=(5, 15), rng=0)


def of_retgk(make, **options):
    """Predictor with RetGK; lists and tuples are candidates, and fields of parts need no path."""
    kernel, own = RetGK(n_components=options.pop("n_components", None)), {}
    candidates = dict(kernel.usual_candidates)
    known = kernel.get_params().keys() - {"n_jobs", "random_state", "level_weights"}
    for name, value in options.items():
        path = _PLACES.get(name, name)
        if path not in known:
            own[name] = value
            continue
        candidates.pop(path, None)
        if isinstance(value, list | tuple):
            candidates[path] = value
        else:
            kernel.set_params(**{path: value})
    return make(kernel, candidates=candidates, **own)


_PLACES = {
    **{name: f"walks__{name}" for name in ("n_steps", "method", "n_walks", "self_loop")},
    **{name: f"graph_kernel__{name}" for name in ("p", "scale")},
}


def quick(**options):
    return of_retgk(
        GraphClassifier, **({"n_steps": 10, "cv": 3, "depth": 0, "random_state": 0} | options)
    )


# Graphs whose edges have labels drawn at random, the same in both directions

NAMES = (("SINGLE", "DOUBLE", "AROMATIC"), (0, 1, 7), (-3, 2**40), ("a", ("b", 1)), (0.5, "x", 3))
"""Vocabularies: text, numbers, and what cannot be compared."""


def rows_of(graphs):
    """Row of every entry, numbered over the batch, and its column."""
    rows = graphs.edge_rows
    first = np.repeat(graphs.node_ptr[:-1], np.diff(graphs.node_ptr))
    return rows, graphs.indices + first[rows]


def with_random_edge_labels(graphs, names, seed):
    """Give every edge one of some names."""
    rows, columns = rows_of(graphs)
    ends = zip(np.minimum(rows, columns).tolist(), np.maximum(rows, columns).tolist(), strict=True)
    pairs, rng = list(ends), np.random.default_rng(seed)
    own = {pair: names[rng.integers(len(names))] for pair in sorted(set(pairs))}
    return graphs.with_edge_labels([own[pair] for pair in pairs])


def random_graphs(seed, names=NAMES[0], labelled=True, weighted=False, n_attributes=0):
    """Some graphs, isolated nodes and self-loops among them, with labels on their edges."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=rng.integers(1, 6))
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    nodes = rng.integers(0, sizes.sum(), size=12)
    ends = starts[nodes] + rng.integers(0, np.repeat(sizes, sizes)[nodes])
    pairs = np.unique(np.sort(np.stack([nodes, ends], axis=1), axis=1), axis=0)
    graphs = GraphBatch.from_edges(
        sizes,
        pairs,
        rng.integers(1, 9, len(pairs)) / 4 if weighted else None,
        labels=rng.integers(0, 3, sizes.sum()).tolist() if labelled else None,
        attributes=rng.integers(-5, 5, (sizes.sum(), n_attributes)) / 4 if n_attributes else None,
        symmetrize=True,
    )
    return with_random_edge_labels(graphs, names, seed)


def edge_label_values(graphs):
    """Label of every entry."""
    return [graphs.edge_label_names[code] for code in graphs.edge_labels.tolist()]


# Random graphs and kernels of populations, and settings of quick tests

QUICK = {"n_permutations": 99, "confidence": None, "bandwidths": 1.0, "depths": 0}
QUICK["walks"] = Walks(10)


def random_graph(rng, density=0.3, n_nodes=8):
    upper = np.triu(rng.random((n_nodes, n_nodes)) < density, 1)
    return (upper | upper.T).astype(float)


def population_graphs(seed, n, density=0.3, n_nodes=8):
    rng = np.random.default_rng(seed)
    return retgk.io.from_numpy([random_graph(rng, density, n_nodes) for _ in range(n)])


def random_kernel(seed, n):
    points = np.random.default_rng(seed).normal(size=(n, 3))
    return np.exp(-((points[:, None] - points) ** 2).sum(axis=2))


# A plain baseline, so that made-up data cannot silently be noise


def simple_features(batch: GraphBatch) -> NDArray[np.float64]:
    """Means per graph: degree histogram, triangles, labels, attributes and their products."""
    shift = np.repeat(np.repeat(batch.node_ptr[:-1], batch.node_counts), np.diff(batch.indptr))
    matrix = csr_array(
        (batch.weights, batch.indices + shift, batch.indptr), shape=(batch.n_nodes, batch.n_nodes)
    )
    degrees = np.diff(batch.indptr)
    triangles = ((matrix @ matrix) * matrix).sum(axis=1)
    attributes = batch.attributes
    columns = np.hstack(
        [
            np.eye(10)[np.minimum(degrees, 9)],
            triangles[:, None],
            np.eye(max(1, len(batch.label_names)))[batch.labels],
            attributes,
            attributes * degrees[:, None],
            attributes * triangles[:, None],
            attributes * (matrix @ attributes),
        ]
    )
    sums = np.add.reduceat(columns, batch.node_ptr[:-1], axis=0)
    result: NDArray[np.float64] = sums / batch.node_counts[:, None]
    return result


# Estimators that take rows of numbers as graphs, for checks that know arrays only


def rows_as_graphs(rows: Any) -> GraphBatch:
    """Each row as a path: a node for each number, its attribute, labelled by the column."""
    n_rows, width = rows.shape
    starts = width * np.arange(n_rows)[:, None]
    steps = (starts + np.arange(width - 1)).ravel()
    return GraphBatch.from_edges(
        np.full(n_rows, width),
        np.column_stack([steps, steps + 1]),
        labels=np.tile(np.arange(width), n_rows),
        attributes=np.asarray(rows, np.float64).reshape(-1, 1),
        symmetrize=True,
    )


class Rows:
    """Turn rows into graphs before an estimator sees them."""

    def fit(self, X: Any, y: Any = None) -> Any:
        return super().fit(self._graphs(X, reset=True), y)

    def _graphs(self, X: Any, reset: bool = False) -> GraphBatch:
        if isinstance(X, GraphBatch):
            return X
        if not reset:
            check_is_fitted(self)
        return rows_as_graphs(validate_data(self, X, reset=reset, dtype=np.float64))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


class RowsTransformer(Rows):
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return super().fit_transform(self._graphs(X, reset=True), y)

    def transform(self, X: Any) -> Any:
        return super().transform(self._graphs(X))


class RowsPredictor(Rows):
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Any:
        graphs = self._graphs(X, reset=True)
        return super(Rows, self).fit(graphs, y, sample_weight, groups)

    def predict(self, X: Any) -> Any:
        return super().predict(self._graphs(X))


class RowsKernel(RowsTransformer, RetGK):
    """`RetGK` of rows."""


class Own(GraphKernel):
    """A kernel of a user: sizes of graphs, and their edges."""

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def describe(self, graphs: GraphBatch) -> Any:
        return np.stack([graphs.node_counts, graphs.edge_counts], axis=1) / 10

    def products(self, x: Any, y: Any) -> Any:
        return np.exp(-self.gamma * ((x[:, None] - y) ** 2).sum(axis=2))


class RowsSum(RowsTransformer, Sum):
    """`Sum` of rows."""


class RowsProduct(RowsTransformer, Product):
    """`Product` of rows."""


class RowsScaled(RowsTransformer, Scaled):
    """`Scaled` of rows."""


class RowsNormalized(RowsTransformer, Normalized):
    """`Normalized` of rows."""


class RowsOwn(RowsTransformer, Own):
    """A kernel of a user, of rows."""


# Kernels of others, by name; they can be pickled because they are names of this module.
ROWS_KERNELS = {
    kind.__name__: type(f"Rows{kind.__name__}", (RowsTransformer, kind), {"__module__": __name__})
    for kind in all_kernels()
}
globals().update({made.__name__: made for made in ROWS_KERNELS.values()})


class RowsEmbedding(RowsTransformer, RetGKEmbedding):
    """`RetGKEmbedding` of rows."""

    def partial_fit(self, X: Any, y: Any = None) -> Any:
        return super().partial_fit(self._graphs(X, reset=not hasattr(self, "maps_")), y)


class RowsRegressor(RowsPredictor, GraphRegressor):
    """`GraphRegressor` of rows."""


class RowsClassifier(RowsPredictor, GraphClassifier):
    """`GraphClassifier` of rows."""

    def decision_function(self, X: Any) -> Any:
        return super().decision_function(self._graphs(X))

    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(self._graphs(X))


# A batch in the plainest form, to compare it with what it was built from


def names(batch: GraphBatch) -> list[Any]:
    """Label of every node."""
    return [batch.label_names[code] for code in batch.labels]


# Node-link data of networkx, whose versions have called the key of the edges in two ways


def node_link(graph, key="links"):
    try:
        return nx.node_link_data(graph, edges=key)
    except TypeError:  # before networkx 3.4
        return nx.node_link_data(graph, link=key)
