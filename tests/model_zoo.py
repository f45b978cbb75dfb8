"""One fitted model of every kind that a file can hold, on small graphs, and what it predicts."""

from functools import cache

import numpy as np

from retgk import GraphBatch, GraphClassifier, GraphRegressor, RetGK
from retgk.datasets import make_graph_classification
from retgk.kernels import (
    Bridge,
    DeepGraph,
    Gaussian,
    GraphInvariant,
    Graphlets,
    HashGraph,
    Laplacian,
    MinMax,
    RetGKEmbedding,
    Scaled,
    ShortestPath,
    SubgraphMatching,
    WeisfeilerLehman,
)
from retgk.walks.probabilities import Walks
from tests.example_graphs import complete, of_retgk, path, star

N_FITTED = 40


def decorated_graphs():
    """Graphs of three classes with labels and attributes, and their targets."""
    data = make_graph_classification(n_graphs=60, n_classes=3, rng=0)
    rng = np.random.default_rng(0)
    graphs = data.graphs.without_attributes().without_labels()
    labels = rng.choice(["C", "N", "O"], graphs.n_nodes)
    attributes = rng.normal(size=(graphs.n_nodes, 3)).round(1)
    return graphs.with_labels(labels).with_attributes(attributes), data.targets


OPTIONS = {"n_steps": 8, "cv": 3, "C": (1, 10), "p": 1, "random_state": 0}
BLOCKS = {"first": ([0], Laplacian()), "rest": (slice(1, 3), Gaussian("dimension"))}
APPROXIMATE = {**OPTIONS, "n_components": 20}
MAKERS = {
    "kernel": lambda train, _: RetGK(walks=Walks(8), random_state=0, attributes=BLOCKS).fit(train),
    "plain kernel": lambda train, _: RetGK(walks=Walks(8), random_state=0).fit(
        train.without_labels().without_attributes()
    ),
    "embedding": lambda train, _: RetGKEmbedding(
        walks=Walks(8), n_components=20, random_state=0
    ).fit(train),
    "tensor": lambda train, _: RetGKEmbedding(
        walks=Walks(8), feature_map="tensor", n_components=(4, 5), dtype=np.float32, random_state=0
    ).fit(train),
    "classifier": lambda train, y: of_retgk(GraphClassifier, **OPTIONS).fit(
        train, np.array(["ring", "tree", "other"])[y]
    ),
    "two classes": lambda train, y: of_retgk(GraphClassifier, **OPTIONS).fit(train, y == 1),
    "approximate classifier": lambda train, y: of_retgk(
        GraphClassifier, **APPROXIMATE, class_weight={0: 1.0, 1: 2.0, 2: 1.0}
    ).fit(train, y),
    "regressor": lambda train, _: of_retgk(GraphRegressor, **OPTIONS).fit(train, train.node_counts),
    "several labels": lambda train, y: of_retgk(GraphClassifier, **OPTIONS, scoring="roc_auc").fit(
        train, np.stack([y == 0, y == 1, train.node_counts > np.median(train.node_counts)], axis=1)
    ),
    "sum": lambda train, _: (RetGK(walks=Walks(8), random_state=0) + WeisfeilerLehman(2)).fit(
        train
    ),
    "product of multiples": lambda train, _: (
        (0.5 * RetGK(walks=Walks(8), random_state=0) * (2 * ShortestPath())).normalized().fit(train)
    ),
    "classifier of a sum": lambda train, y: GraphClassifier(
        RetGK(walks=Walks(8)) + WeisfeilerLehman(2), C=10, cv=3, random_state=0
    ).fit(train, y),
    "subtrees": lambda train, _: WeisfeilerLehman(2).fit(train),
    "min-max": lambda train, _: MinMax(WeisfeilerLehman(2), (1, 2)).fit(train),
    "divided by the mean": lambda train, _: Scaled(WeisfeilerLehman(2), "mean").fit(train),
    "paths": lambda train, _: ShortestPath().fit(train),
    "attribute paths": lambda train, _: ShortestPath(attributes=Laplacian(1.0)).fit(train),
    "graphlets": lambda train, _: Graphlets(5, n_samples=50, random_state=0).fit(train),
    "matchings": lambda train, _: SubgraphMatching(3).fit(train),
    "attribute matchings": lambda train, _: SubgraphMatching(
        3, attributes=Bridge(2.0), edge_kernel=Bridge(1.0)
    ).fit(train),
    "hashes": lambda train, _: HashGraph(2, n_iter=1, random_state=0).fit(train),
    "hashed paths": lambda train, _: HashGraph(2, base="sp", random_state=0).fit(train),
    "invariants": lambda train, _: GraphInvariant(1, n_iter=1).fit(train),
    "plain invariants": lambda train, _: GraphInvariant(1, attributes=None).fit(train),
    "deep": lambda train, _: DeepGraph(n_iter=1, n_components=5, random_state=0).fit(train),
    "deep graphlets": lambda train, _: DeepGraph("graphlet", random_state=0).fit(train),
    "deep paths": lambda train, _: DeepGraph(
        "shortest-path", similarity="vectors", n_components=5, random_state=0
    ).fit(train),
    "approximate regressor": lambda train, _: of_retgk(GraphRegressor, **APPROXIMATE).fit(
        train, np.stack([train.node_counts, train.edge_counts], axis=1)
    ),
}


@cache
def fitted_model(name):
    """A model of that name, fitted on the first graphs."""
    graphs, targets = decorated_graphs()
    return MAKERS[name](graphs[:N_FITTED], targets[:N_FITTED])


def fitted_models():
    """All models, by name."""
    return {name: fitted_model(name) for name in MAKERS}


def answers(model):
    """Everything that a model says of new graphs, in one list of arrays."""
    graphs = decorated_graphs()[0][N_FITTED:]
    bare = len(model.label_names_) == 0 if isinstance(model, RetGK) else False
    graphs = graphs.without_labels().without_attributes() if bare else graphs
    names = ("transform", "distances", "predict", "decision_function", "predict_proba")
    return [np.asarray(getattr(model, name)(graphs)) for name in names if hasattr(model, name)]


def tiny_graphs():
    """Twelve graphs of three classes, in turn."""
    graphs = [kind(size) for size in range(3, 7) for kind in (complete, star, path)]
    batch = GraphBatch.concatenate(graphs)
    return batch.with_labels(np.where(np.arange(batch.n_nodes) % 2, "C", "N"))


def tiny_model():
    """A classifier of three classes that takes a moment to fit."""
    model = of_retgk(GraphClassifier, n_steps=4, C=10, p=1, scale=1, cv=2, random_state=0)
    return model.fit(tiny_graphs(), ["complete", "star", "path"] * 4)


# Fitted models of all tasks, to be explained

DATA = make_graph_classification(
    n_graphs=90, n_classes=3, n_labels=3, n_attributes=2, n_nodes=(5, 15), rng=0
)
TRAIN, NEW = DATA.graphs[:70], DATA.graphs[70:]
TASKS = {
    "two classes": (DATA.targets > 0).astype(int),
    "three classes": np.array(["a", "b", "c"])[DATA.targets],
    "labels": np.stack([DATA.targets == k for k in range(3)], axis=1).astype(int),
    "values": DATA.graphs.node_counts.astype(float),
    "outputs": np.stack([DATA.graphs.node_counts, DATA.graphs.edge_counts], axis=1).astype(float),
}
TARGETS = {"two classes": 0, "three classes": "b", "labels": 1, "values": 0, "outputs": 1}
EXPLAINED = {"n_steps": 8, "cv": 3, "random_state": 0, "C": 10.0}


@cache
def fitted(task, n_components=None, depth=2, p=1.0, **options):
    kind = GraphRegressor if task in ("values", "outputs") else GraphClassifier
    own = {"n_components": n_components, "depth": depth, "p": p, "scale": 1}
    return of_retgk(kind, **own, **EXPLAINED, **options).fit(TRAIN, TASKS[task][:70])


def sums(explanation):
    return np.add.reduceat(explanation.shares, explanation.node_ptr[:-1])


def signed_values(model, graphs, explanation):
    """The decision value that is explained, from what the public methods say of it."""
    if isinstance(model, GraphRegressor):
        values = model.predict(graphs).reshape(len(graphs), -1)
        return values[np.arange(len(graphs)), explanation.targets]
    values = model.decision_function(graphs)
    if values.ndim == 1:
        return np.where(explanation.targets == model.classes_[1], values, -values)
    codes = np.searchsorted(model.classes_, explanation.targets)
    own = values[np.arange(len(graphs)), codes]
    if model.multilabel_ or model.solver_ == "ridge":
        return own
    # c / (3 (|c| + 1)) is what the decision function has beside votes, which are whole
    part = 3 * (own - np.round(own))
    return part / (1 - np.abs(part))
