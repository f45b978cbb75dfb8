"""Scaling of attributes: laws, agreement with scaling by hand, and the choice among rules."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from retgk import (
    InvalidInputError,
    Laplacian,
    RetGKClassifier,
    RetGKEmbedding,
    RetGKKernel,
    RetGKRegressor,
    load_model,
    make_graph_classification,
    save_model,
)
from retgk.errors import InputWarning

UNITS = np.array([1e-3, 1.0, 250.0])
OFFSETS = np.array([5.0, -2.0, 1e4])
ESTIMATORS = {
    "exact": RetGKKernel(6, tol=0, random_state=0),
    "vectors": RetGKEmbedding(6, n_components=16, random_state=0),
}


@pytest.fixture(scope="module")
def data():
    found = make_graph_classification(n_graphs=40, random_state=1)
    rng = np.random.default_rng(2)
    values = rng.normal(size=(found.graphs.n_nodes, 3))
    return found.graphs.without_labels().with_attributes(values), found.targets


def changed(model, **parameters):
    return clone(model).set_params(**parameters)


def standardised(values, fitted):
    return (values - fitted.mean(axis=0)) / fitted.std(axis=0)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_affine_changes_make_no_difference(data, name):
    graphs, _ = data
    moved = graphs.with_attributes(graphs.attributes * UNITS + OFFSETS)
    found = []
    for batch in (graphs, moved):
        model = changed(ESTIMATORS[name], scale_attributes="standard").fit(batch[:25])
        found.append(model.transform(batch[25:]))
    assert np.abs(found[0] - found[1]).max() < 1e-9


def test_order_of_columns_makes_no_difference(data):
    graphs, _ = data
    turned = graphs.with_attributes(graphs.attributes[:, [2, 0, 1]])
    for rule in ("raw", "standard", "drop"):
        kernel = changed(ESTIMATORS["exact"], scale_attributes=rule)
        assert np.abs(kernel.fit_transform(graphs) - kernel.fit_transform(turned)).max() < 1e-9


@pytest.mark.parametrize("name", ESTIMATORS)
def test_standard_is_scaling_by_hand(data, name):
    graphs, _ = data
    train, new = graphs[:25], graphs[25:]
    model = changed(ESTIMATORS[name], scale_attributes="standard").fit(train)
    by_hand = changed(ESTIMATORS[name]).fit(
        train.with_attributes(standardised(train.attributes, train.attributes))
    )
    expected = by_hand.transform(
        new.with_attributes(standardised(new.attributes, train.attributes))
    )
    assert np.abs(model.transform(new) - expected).max() < 1e-12


@pytest.mark.parametrize("name", ESTIMATORS)
def test_dropped_is_without(data, name):
    graphs, _ = data
    dropped = changed(ESTIMATORS[name], scale_attributes="drop").fit_transform(graphs)
    without = changed(ESTIMATORS[name]).fit_transform(graphs.without_attributes())
    assert np.array_equal(dropped, without)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_constant_columns_are_harmless(data, name):
    graphs, _ = data
    values = graphs.attributes.copy()
    values[:, 1] = 1e9 / 3
    model = changed(ESTIMATORS[name], scale_attributes="standard")
    found = model.fit_transform(graphs.with_attributes(values))
    values[:, 1] = 0
    same = model.fit_transform(graphs.with_attributes(values))
    assert np.isfinite(found).all()
    assert np.abs(found - same).max() < 1e-12


def test_rules_for_blocks(data):
    graphs, _ = data
    blocks = {"place": ([0, 1], Laplacian(1.0)), "mass": ([2], Laplacian(2.0))}
    values = graphs.attributes * UNITS
    kernel = RetGKKernel(
        6, tol=0, attribute_kernel=blocks, scale_attributes={"mass": "standard"}, random_state=0
    )
    found = kernel.fit_transform(graphs.with_attributes(values))
    values[:, 2] = standardised(values[:, 2], values[:, 2])
    by_hand = RetGKKernel(6, tol=0, attribute_kernel=blocks, random_state=0)
    expected = by_hand.fit_transform(graphs.with_attributes(values))
    assert np.abs(found - expected).max() < 1e-12


def test_classifier_chooses(data):
    """Noise of large numbers beside a small column that tells the class."""
    graphs, targets = data
    graph_of = np.repeat(np.arange(len(graphs)), np.diff(graphs.node_ptr))
    rng = np.random.default_rng(0)
    noise = 1e4 * rng.normal(size=graphs.n_nodes)
    telling = 1e-3 * (np.asarray(targets)[graph_of] == targets[0])
    useful = graphs.with_attributes(np.column_stack([telling, noise]))
    useless = graphs.with_attributes(np.column_stack([noise, noise[::-1]]))
    model = RetGKClassifier(depth=0, random_state=0)
    assert model.fit(useful, targets).best_params_["scale_attributes"] == "standard"
    assert model.fit(useless, targets).best_params_["scale_attributes"] != "raw"
    plain = model.fit(graphs.without_attributes(), targets)
    assert len(plain.cv_results_["params"]) == 16  # nothing to choose


@pytest.mark.parametrize("rule", ["raw", "standard", "drop"])
@pytest.mark.parametrize("approximate", [False, True])
def test_files_keep_the_rule(data, rule, approximate, tmp_path):
    graphs, _ = data
    values = np.linspace(0, 1, len(graphs))
    model = RetGKRegressor(
        scale_attributes=rule, approximate=approximate, n_components=16, C=1.0, random_state=0
    ).fit(graphs, values)
    save_model(model, tmp_path / "model.retgk")
    again = load_model(tmp_path / "model.retgk")
    assert np.array_equal(again.predict(graphs), model.predict(graphs))


def test_uneven_columns_are_told(data):
    graphs, _ = data
    uneven = graphs.with_attributes(graphs.attributes * UNITS)
    message = "attribute 2 has a standard deviation of .*, attribute 0 one of .*'standard'"
    for model in ESTIMATORS.values():
        with pytest.warns(InputWarning, match=message):
            changed(model).fit(uneven)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            changed(model).fit(graphs)
            changed(model, scale_attributes="standard").fit(uneven)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RetGKKernel(scale_attributes="minmax"), r"^scale_attributes must be one of \('raw'"),
        (RetGKKernel(scale_attributes={"a": "standard"}), "names the block 'a', but .* none"),
        (RetGKEmbedding(scale_attributes={"a": "raw"}), "names the block 'a'"),
        (
            RetGKKernel(attribute_kernel={"a": ([0], Laplacian())}, scale_attributes={"a": "drop"}),
            "of the block 'a' must be 'raw' or 'standard', got 'drop'",
        ),
    ],
)
def test_wrong_rules(data, model, message):
    with pytest.raises(InvalidInputError, match=message):
        model.fit(data[0])
