"""What pages of `explore` know of every graph: columns, and what a model says."""

from typing import Any

import numpy as np
import pytest

from retgk import (
    GraphDataset,
    InvalidInputError,
    RetGKClassifier,
    RetGKRegressor,
    explore,
    make_graph_classification,
)
from retgk.estimators import classifier
from retgk.explorer.page import Predictions, prediction_columns, predictions_of, text_of
from tests.cli_calls import DATA
from tests.unpacked_pages import unpacked


def test_columns() -> None:
    n = len(DATA)
    columns = {
        "number": np.where(np.arange(n) == 3, np.nan, np.arange(n) + 0.5),
        "few": [None, *["a"] * (n - 1)],
        "text": [f"row {i}" for i in range(n)],
        "yes": np.arange(n) % 2 == 0,
    }
    header, arrays = unpacked(explore(DATA, columns=columns).text)
    found = {column["name"]: column for column in header["columns"]}
    kinds = {name: column["kind"] for name, column in found.items()}
    assert kinds == {
        "target": "class", "number": "number", "few": "class", "text": "text", "yes": "class",
        "nodes": "number", "edges": "number", "mean degree": "number",
    }  # fmt: skip
    assert np.isnan(arrays[found["number"]["key"]][3])
    assert found["few"]["names"] == ["a", "missing"]
    targets = np.array(found["target"]["names"])[arrays[found["target"]["key"]]]
    assert targets.tolist() == [str(value) for value in DATA.targets]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([1, True], ["1", "True"]),
        ([np.inf, 2.0], ["2", "inf"]),
        ([[1], [2]], ["[1]", "[2]"]),
        ([10, 9], ["9", "10"]),
    ],
)
def test_columns_of_any_objects(values: list[Any], names: list[str]) -> None:
    column = np.empty(len(DATA), object)
    column[:] = values * (len(DATA) // 2)
    header, arrays = unpacked(explore(DATA, columns={"any": column}, projection="pca").text)
    found = next(column for column in header["columns"] if column["name"] == "any")
    assert found["names"] == names
    shown = [found["names"][code] for code in arrays[found["key"]]]
    assert shown[:2] == [text_of(value) for value in values]


def test_whole_numbers_are_more_classes_as_targets_than_as_columns() -> None:
    numbers = np.arange(len(DATA)) % 20
    page = explore(DATA.graphs, numbers, columns={"twenty": numbers}, projection="pca")
    kinds = {column["name"]: column["kind"] for column in unpacked(page.text)[0]["columns"]}
    assert (kinds["target"], kinds["twenty"]) == ("class", "number")


def test_graphs_of_a_dataset_bring_their_names() -> None:
    made = make_graph_classification(4, random_state=0)
    data = GraphDataset(made.graphs, None, "mine", graph_names=["a", "b", "c", "d"])
    header, _ = unpacked(explore(data).text)
    assert (header["names"], header["title"]) == (["a", "b", "c", "d"], "mine")


def test_classes_may_be_floating_point_numbers() -> None:
    given = Predictions(np.array([0.0, 1.0]), "a classifier", True, np.array([0.9, 0.8]))
    columns = prediction_columns(given, np.array([0.0, 0.0]))
    assert [column.role for column in columns] == ["predicted", "confidence", "correct"]
    assert columns[-1].values.tolist() == ["right", "wrong"]


def test_a_classifier() -> None:
    model = RetGKClassifier(cv=3, n_steps=8, random_state=0).fit(DATA)
    header, arrays = unpacked(explore(DATA, model=model).text)
    found = {column["role"]: column for column in header["columns"]}
    predicted = np.array(found["predicted"]["names"])[arrays[found["predicted"]["key"]]]
    assert predicted.tolist() == [str(value) for value in model.predict(DATA.graphs)]
    known = model.predict_proba(DATA.graphs).max(axis=1)
    np.testing.assert_allclose(arrays[found["confidence"]["key"]], known, rtol=1e-6)
    explained = model.explain(DATA.graphs)
    unit = np.repeat(arrays["shareUnits"], DATA.graphs.node_counts)
    np.testing.assert_allclose(arrays["shares"] * unit, explained.shares, atol=unit.max())
    assert "RetGKClassifier" in header["notes"][0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_classifier_looks_at_graphs_once(n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    targets = np.arange(len(DATA)) % n_classes
    model = RetGKClassifier(cv=3, n_steps=4, random_state=0).fit(DATA.graphs, targets)
    predicted, known = model.predict(DATA.graphs), model.predict_proba(DATA.graphs)
    looks = []
    own = classifier.decision_values
    monkeypatch.setattr(
        classifier, "decision_values", lambda *given: (looks.append(1), own(*given))[1]
    )
    found = predictions_of(model, DATA.graphs)
    assert len(looks) == 1
    np.testing.assert_array_equal(found.values, predicted)
    np.testing.assert_array_equal(found.confidence, known[np.arange(len(known)), predicted])


def test_a_classifier_without_probabilities() -> None:
    graphs, targets = DATA.graphs[:2], [0.0, 1.0]
    model = RetGKClassifier(n_steps=4, random_state=0).fit(graphs, targets)
    header, _ = unpacked(explore(graphs, targets, model=model).text)
    assert [column["role"] for column in header["columns"][:3]] == ["class", "predicted", "correct"]


def test_a_regressor() -> None:
    sizes = DATA.graphs.node_counts + 0.25
    model = RetGKRegressor(cv=2, n_steps=4, random_state=0).fit(DATA.graphs, sizes)
    header, arrays = unpacked(explore(DATA.graphs, sizes, model=model).text)
    found = {column["role"]: column for column in header["columns"]}
    error = model.predict(DATA.graphs) - sizes
    np.testing.assert_allclose(arrays[found["error"]["key"]], error, atol=1e-5)
    assert found["class"]["kind"] == "number"


def test_predictions_of_others() -> None:
    header, arrays = unpacked(explore(DATA, predicted=DATA.targets[::-1]).text)
    found = {column["role"]: column for column in header["columns"]}
    right = np.array(found["correct"]["names"])[arrays[found["correct"]["key"]]] == "right"
    np.testing.assert_array_equal(right, DATA.targets == DATA.targets[::-1])
    assert header["model"]["shares"] is None


def test_models_of_several_targets_are_refused() -> None:
    both = np.stack([DATA.targets, 1 - DATA.targets], axis=1).astype(float)
    model = RetGKRegressor(cv=2, n_steps=4, random_state=0).fit(DATA.graphs, both)
    with pytest.raises(InvalidInputError, match="several targets for each graph"):
        explore(DATA.graphs, model=model)
