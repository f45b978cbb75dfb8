"""Model files: what comes back is what was saved, in this process and in another."""

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline

from retgk import (
    Delta,
    ExponentialGraphKernel,
    Gaussian,
    InvalidInputError,
    Laplacian,
    Polynomial,
    PolynomialGraphKernel,
    RetGKClassifier,
    RetGKEmbedding,
    RetGKKernel,
    load_model,
    load_tudataset,
    save_model,
)
from retgk._runtime.fields import flatten, unflatten
from tests.model_zoo import (
    MAKERS,
    N_FITTED,
    answers,
    decorated_graphs,
    fitted_model,
    fitted_models,
)


def assert_same_answers(model, other):
    for ours, theirs in zip(answers(model), answers(other), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def fitted_attributes(model):
    """What fit has set and a user may look at; inner products are found anew."""
    return {n: v for n, v in vars(model).items() if n.endswith("_") and n != "inner_products_"}


@pytest.mark.parametrize("name", MAKERS)
def test_round_trip(name, tmp_path):
    model = fitted_model(name)
    save_model(model, tmp_path / "model.retgk")
    loaded = load_model(tmp_path / "model.retgk")
    assert type(loaded) is type(model)
    assert_same_answers(model, loaded)
    assert repr(loaded.get_params()) == repr(model.get_params())
    assert fitted_attributes(loaded).keys() == fitted_attributes(model).keys()


def test_labels_of_all_types(tmp_path):
    graphs = decorated_graphs()[0][:20].without_attributes()
    names = ["2", 2, 2.5, (2, None), None]
    labels = [names[place] for place in np.random.default_rng(0).integers(5, size=graphs.n_nodes)]
    graphs = graphs.with_labels(labels, missing="label")
    for model in (RetGKKernel(4, random_state=0), RetGKEmbedding(4, random_state=0)):
        save_model(model.fit(graphs[:10]), tmp_path / "model.retgk")
        loaded = load_model(tmp_path / "model.retgk")
        assert repr(loaded.label_names_) == repr(model.label_names_)
        np.testing.assert_array_equal(loaded.transform(graphs), model.transform(graphs))


def test_monte_carlo_walks_the_same_walks(tmp_path):
    graphs, targets = decorated_graphs()
    model = RetGKClassifier(n_steps=4, method="monte-carlo", n_walks=20, random_state=3, cv=2)
    save_model(model.fit(graphs[:40], targets[:40]), tmp_path / "model.retgk")
    loaded = load_model(tmp_path / "model.retgk")
    np.testing.assert_array_equal(loaded.decision_function(graphs), model.decision_function(graphs))


@pytest.mark.parametrize("name", ["classifier", "approximate classifier"])
def test_loaded_classifier_is_an_ordinary_one(name, tmp_path):
    model = fitted_model(name)
    save_model(model, tmp_path / "model.retgk")
    loaded = load_model(tmp_path / "model.retgk")
    graphs, targets = decorated_graphs()
    targets = model.classes_[targets] if name == "classifier" else targets
    assert loaded.score(graphs, targets) == model.score(graphs, targets)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.best_params_ == model.best_params_
    assert loaded.cv_results_["params"] == model.cv_results_["params"]
    np.testing.assert_array_equal(
        loaded.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"]
    )
    refitted = clone(loaded).fit(graphs[:N_FITTED], targets[:N_FITTED])
    assert refitted.score(graphs, targets) == clone(model).fit(
        graphs[:N_FITTED], targets[:N_FITTED]
    ).score(graphs, targets)


def test_loaded_kernel_finds_inner_products_again(tmp_path):
    model = fitted_model("kernel")
    save_model(model, tmp_path / "model.retgk")
    loaded = load_model(tmp_path / "model.retgk")
    loaded._repr_html_()
    assert "inner_products_" not in dir(loaded)
    np.testing.assert_array_equal(loaded.distances(), model.distances())
    np.testing.assert_array_equal(loaded.diagonal(), model.diagonal())
    np.testing.assert_array_equal(loaded.inner_products_, model.inner_products_)


def test_missing_attributes_are_missing():
    assert not hasattr(RetGKKernel(), "inner_products_")
    with pytest.raises(AttributeError, match="'RetGKKernel' object has no attribute 'nothing'"):
        _ = fitted_model("kernel").nothing


@pytest.mark.real_data
def test_real_collection(data_folder, tmp_path):
    data = load_tudataset("MUTAG", data_home=data_folder)
    model = RetGKClassifier(random_state=0).fit(data.graphs[::2], data.targets[::2])
    save_model(model, tmp_path / "model.retgk")
    loaded = load_model(tmp_path / "model.retgk")
    np.testing.assert_array_equal(
        loaded.predict_proba(data.graphs), model.predict_proba(data.graphs)
    )
    assert loaded.score(data.graphs[1::2], data.targets[1::2]) > 0.8


def test_saved_again_the_file_is_the_same(tmp_path):
    first, second = tmp_path / "first.retgk", tmp_path / "second.retgk"
    save_model(fitted_model("classifier"), first)
    save_model(load_model(first), second)
    assert first.read_bytes() == second.read_bytes()


PREDICTING = """
import sys
import numpy as np
from retgk import load_model
from tests.model_zoo import answers
folder = sys.argv[1]
for name in sys.argv[2:]:
    found = answers(load_model(f"{folder}/{name}.retgk"))
    np.savez(f"{folder}/{name}.npz", *found)
"""


def test_another_process_answers_to_the_bit(tmp_path):
    for name, model in fitted_models().items():
        save_model(model, tmp_path / f"{name}.retgk")
    command = [sys.executable, "-c", PREDICTING, str(tmp_path), *MAKERS]
    subprocess.run(command, check=True, timeout=300)
    for name, model in fitted_models().items():
        with np.load(tmp_path / f"{name}.npz") as found:
            theirs = [found[key] for key in found.files]
        for ours, other in zip(answers(model), theirs, strict=True):
            np.testing.assert_array_equal(ours, other, err_msg=name)


def test_safetensors_can_read_the_file(tmp_path):
    """The form that docs/model_files.md describes."""
    model = fitted_model("embedding")
    save_model(model, tmp_path / "model.retgk")
    with safe_open(tmp_path / "model.retgk", "numpy") as content:
        about = json.loads(content.metadata()["retgk"].partition(" ")[2])
        phases = content.get_tensor("engine_.maps.0.phases")
    assert (about["format"], about["version"]) == ("retgk model", 1)
    assert about["document"]["model"]["class"] == "RetGKEmbedding"
    np.testing.assert_array_equal(phases, model.maps_[0].phases)


LABELS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.tuples(inner) | st.tuples(inner, inner),
    max_leaves=6,
)


@given(LABELS)
def test_labels_keep_their_types(label):
    found = unflatten(json.loads(json.dumps(flatten(label, "label"), allow_nan=False)))
    assert repr(found) == repr(label)


@pytest.mark.parametrize(
    "value",
    [
        Laplacian(),
        Gaussian(0.5),
        Polynomial(degree=3, coef0=0.0),
        Delta(),
        PolynomialGraphKernel(c=1.0, d=2),
        ExponentialGraphKernel(p=2, scale=8.0),
        [1, (2.0, "x")],
        {"a": ([0, 1], Laplacian()), 2: None},
        slice(0, None, 2),
        np.float32,
        float("inf"),
    ],
)
def test_values_come_back(value):
    found = unflatten(json.loads(json.dumps(flatten(value, "value"), allow_nan=False)))
    assert found == value
    assert type(found) is type(value)


def test_not_a_number_comes_back():
    assert np.isnan(unflatten(flatten(float("nan"), "score")))


@pytest.mark.parametrize(
    "array",
    [
        np.array(["a", "bcd"]),
        np.array([1.5, np.nan]),
        np.array([True, False]),
        np.array([3], np.uint8),
        np.array([3], np.int16),
        np.array(["a", 1, None, (1, 2)], dtype=object),
    ],
)
def test_arrays_come_back(array):
    found = unflatten(json.loads(json.dumps(flatten(array, "array"), allow_nan=False)))
    assert found.dtype == array.dtype
    assert repr(found.tolist()) == repr(array.tolist())


def test_splitters_come_back():
    found = unflatten(flatten(StratifiedKFold(4, shuffle=True, random_state=3), "cv"))
    assert repr(found) == "StratifiedKFold(n_splits=4, random_state=3, shuffle=True)"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"random_state": np.random.default_rng(0)}, "random_state is Generator.*set_params"),
        ({"cv": ShuffleSplit()}, "cv is ShuffleSplit.*which a model file cannot hold"),
    ],
)
def test_parameters_that_no_file_can_hold(parameters, message, tmp_path):
    graphs, targets = decorated_graphs()
    model = RetGKClassifier(n_steps=3, C=1, p=1, scale=1).fit(graphs, targets)
    model.set_params(**parameters)
    with pytest.raises(InvalidInputError, match=message):
        save_model(model, tmp_path / "model.retgk")
    assert list(tmp_path.iterdir()) == []


def test_labels_that_no_file_can_hold(tmp_path):
    graphs = decorated_graphs()[0][:5]
    odd = graphs.with_labels([frozenset([1])] * graphs.n_nodes)
    with pytest.raises(InvalidInputError, match="is frozenset"):
        save_model(RetGKEmbedding(3, random_state=0).fit(odd), tmp_path / "model.retgk")


def test_parameters_changed_after_fit(tmp_path):
    model = RetGKKernel(8, random_state=0).fit(decorated_graphs()[0][:5])
    save_model(model.set_params(n_steps=9), tmp_path / "model.retgk")
    assert load_model(tmp_path / "model.retgk").n_steps == 8
    with pytest.raises(
        InvalidInputError, match=r"cannot be saved.* n_jobs must be .*, got 0; fit it again"
    ):
        save_model(model.set_params(n_jobs=0), tmp_path / "model.retgk")


@pytest.mark.parametrize(
    "model", [make_pipeline(RetGKEmbedding()), type("Mine", (RetGKKernel,), {})(), 3]
)
def test_other_models(model, tmp_path):
    with pytest.raises(InvalidInputError, match="a model file holds one of RetGKClassifier, RetG"):
        save_model(model, tmp_path / "model.retgk")


def test_a_search_names_what_can_be_saved(tmp_path):
    search = GridSearchCV(RetGKClassifier(), {"n_steps": [5]})
    search.best_estimator_ = RetGKClassifier()  # as fit sets it
    with pytest.raises(InvalidInputError, match="got GridSearchCV; save its best_estimator_"):
        save_model(search, tmp_path / "model.retgk")


def test_not_fitted(tmp_path):
    with pytest.raises(NotFittedError):
        save_model(RetGKClassifier(), tmp_path / "model.retgk")


def test_output_container_is_kept(tmp_path):
    model = (
        RetGKEmbedding(3, random_state=0).fit(decorated_graphs()[0]).set_output(transform="polars")
    )
    save_model(model, tmp_path / "model.retgk")
    assert load_model(tmp_path / "model.retgk")._sklearn_output_config == {"transform": "polars"}


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.retgk"
    save_model(fitted_model("embedding"), path)
    before = path.read_bytes()

    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="disk full"):
        save_model(fitted_model("kernel"), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
