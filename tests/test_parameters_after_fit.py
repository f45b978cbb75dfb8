"""Parameters that are changed after `fit` change nothing before the next `fit`."""

import numpy as np
import pytest
from sklearn.base import clone

from retgk import (
    ExponentialGraphKernel,
    Gaussian,
    InvalidInputError,
    Laplacian,
    PolynomialGraphKernel,
    RetGKClassifier,
    RetGKEmbedding,
    RetGKKernel,
    RetGKRegressor,
    load_model,
    save_model,
)
from retgk.kernels.embedded import EmbeddedEngine
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import ExactEngine
from retgk.walks.probabilities import Walks
from tests.kernel_graphs import graphs_of_kind

MODELS = {
    "kernel": RetGKKernel(9, random_state=0),
    "kernel, walks": RetGKKernel(9, method="monte-carlo", n_walks=9, random_state=0),
    "embedding": RetGKEmbedding(9, n_components=8, random_state=0),
    "tensor": RetGKEmbedding(9, feature_map="tensor", n_components=5, random_state=0),
    "refined": RetGKKernel(9, depth=2, scale_attributes="standard", random_state=0),
    "phases": RetGKEmbedding(9, feature_map="phases", depth=1, n_components=40, random_state=0),
    "classifier": RetGKClassifier(n_steps=9, cv=2, random_state=0),
    "classifier, embedded": RetGKClassifier(n_steps=9, cv=2, approximate=True, random_state=0),
    "regressor": RetGKRegressor(n_steps=9, cv=2, random_state=0),
}
OTHER_VALUES = {
    "n_steps": (500, 10, 7, 1),
    "structure_kernel": (Gaussian(3.0),),
    "attribute_kernel": (Laplacian(9.0),),
    "graph_kernel": (PolynomialGraphKernel(), ExponentialGraphKernel(gamma=7.0)),
    "method": ("eigh", "monte-carlo"),
    "n_walks": (50,),
    "nodes": (2, 0.5),
    "self_loop": (3.0,),
    "impute_attributes": ("mean", "median"),
    "tol": (0.0, 0.5),
    "feature_map": ("tensor", "joint", "phases"),
    "n_components": (99, 1),
    "n_landmarks": (3,),
    "scale_attributes": ("standard", "drop", "no such rule"),
    "depth": (2, -1),
    "level_weights": ((1, 2, 3),),
    "frequencies": ("plain",),
    "unknown_labels": ("column", "error"),
    "dtype": (np.float32,),
    "batch_size": (1, 3),
    "n_jobs": (1, 2),
    "random_state": (7, None),
    "approximate": (True, False),
    "C": (0.001,),
    "p": (0.5,),
    "scale": (99.0,),
    "cv": (9,),
    "class_weight": ("balanced",),
    "scoring": ("roc_auc", "no such scorer"),
    "verbose": (2,),
}


def answers(model, graphs):
    names = ("transform", "distances", "diagonal", "predict", "decision_function", "predict_proba")
    return {name: getattr(model, name)(graphs) for name in names if hasattr(model, name)}


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter(name):
    graphs = graphs_of_kind("both", 24)
    model = MODELS[name].fit(graphs[:18], np.arange(18) % 2)
    expected, given = answers(model, graphs), model.get_params(deep=False)
    assert given.keys() - OTHER_VALUES.keys() <= {"sparse_output"}
    for parameter in given.keys() & OTHER_VALUES.keys():
        for value in OTHER_VALUES[parameter]:
            model.set_params(**{parameter: value})
            for method, found in answers(model, graphs).items():
                np.testing.assert_array_equal(found, expected[method], f"{parameter}={value}")
        model.set_params(**{parameter: given[parameter]})


@pytest.mark.parametrize("name", MODELS)
def test_model_files_hold_what_was_fitted(name, tmp_path):
    graphs = graphs_of_kind("both", 24)
    model = clone(MODELS[name]).fit(graphs[:18], np.arange(18) % 2)
    ask = model.predict if hasattr(model, "predict") else model.transform
    expected, given = ask(graphs), model.get_params(deep=False)
    for parameter in given.keys() & OTHER_VALUES.keys():
        for value in OTHER_VALUES[parameter]:
            model.set_params(**{parameter: value})
            save_model(model, tmp_path / "model.retgk")
            loaded = load_model(tmp_path / "model.retgk")
            answer = getattr(loaded, ask.__name__)(graphs)
            np.testing.assert_array_equal(answer, expected, f"{parameter}={value}")
        model.set_params(**{parameter: given[parameter]})


@pytest.mark.parametrize("make_engine", [ExactEngine, EmbeddedEngine])
@pytest.mark.parametrize("n_steps", [500, 10, 8])
def test_engines_refuse_other_numbers_of_steps(make_engine, n_steps):
    graphs = graphs_of_kind("both", 12)
    engine = make_engine(random_state=0).fit(NodeFeatures(graphs, Walks(9)))
    with pytest.raises(InvalidInputError, match=f"have {n_steps} return probabilities, those of"):
        engine.compare(NodeFeatures(graphs, Walks(n_steps))).products()


def test_known_probabilities_must_fit_the_graphs():
    graphs = graphs_of_kind("both", 12)
    features = NodeFeatures(graphs, Walks(9))
    with pytest.raises(InvalidInputError, match=r"probabilities have shape \(3, 9\), but there"):
        features.with_batch(graphs, np.zeros((3, 9)))
