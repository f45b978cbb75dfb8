"""Fitted models of all tasks, to be explained."""

from functools import cache

import numpy as np

from retgk import RetGKClassifier, RetGKRegressor, make_graph_classification

DATA = make_graph_classification(
    n_graphs=90, n_classes=3, n_labels=3, n_attributes=2, n_nodes=(5, 15), random_state=0
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
OPTIONS = {"n_steps": 8, "cv": 3, "random_state": 0, "C": 10.0}


@cache
def fitted(task, approximate, depth=2, p=1.0, **options):
    kind = RetGKRegressor if task in ("values", "outputs") else RetGKClassifier
    model = kind(approximate=approximate, depth=depth, p=p, scale=1, **OPTIONS, **options)
    return model.fit(TRAIN, TASKS[task][:70])


def sums(explanation):
    return np.add.reduceat(explanation.shares, explanation.node_ptr[:-1])


def signed_values(model, graphs, explanation):
    """The decision value that is explained, from what the public methods say of it."""
    if isinstance(model, RetGKRegressor):
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
