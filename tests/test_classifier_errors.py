"""RetGKClassifier: what it says of targets, parameters and new graphs that it cannot use."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from retgk import InvalidInputError, Laplacian, RetGKClassifier
from retgk.walks.probabilities import Walks

from .classifier_graphs import quick, three_classes


@pytest.fixture(scope="module")
def data():
    return three_classes()


@pytest.fixture(scope="module")
def fitted(data):
    return quick().fit(data.graphs[:60], data.targets[:60])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1] * 60, "all 60 graphs are of one class, 1; a classifier needs graphs of two"),
        ([0, 1] * 29, "there are 60 graphs but 58 targets; give one target for each graph"),
        (1, "there are 60 graphs but one value; give one target"),
        ([0.0, np.nan] * 30, "the target of graph 1 is nan .*; drop the graph together with"),
        (["a", "b", None] * 20, "the target of graph 2 is None .*; drop the graph together with"),
        (None, "requires y to be passed, but the target y is None"),
        (np.linspace(0, 1, 60), "Unknown label type: continuous"),
    ],
)
def test_bad_targets(data, y, message):
    y = np.array(y, object) if isinstance(y, list) and None in y else y
    with pytest.raises(ValueError, match=message):
        quick().fit(data.graphs[:60], y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": ()}, "C has no candidates; give one value or several"),
        ({"C": (1, -1)}, "C must be positive and finite, got -1"),
        ({"p": 3}, r"p must be in \(0, 2\], got 3"),
        ({"scale": 0}, "scale must be positive and finite, got 0"),
        ({"approximate": "yes"}, "approximate must be one of 'auto', True, False, got 'yes'"),
        ({"cv": 1}, "cv=1 must be at least 2 folds, or a splitter"),
        ({"attribute_kernel": Laplacian(1.0)}, "the graphs have no attributes for attribute_ker"),
    ],
)
def test_bad_parameters(data, options, message):
    with pytest.raises(InvalidInputError, match=message):
        quick(**options).fit(data.graphs[:60], data.targets[:60])


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("n_steps", [(10, -5), (10, 0), (10, 4.0), (10, True), (10, "20")])
def test_bad_numbers_of_steps_are_found_before_any_work(data, n_steps, approximate, monkeypatch):
    monkeypatch.setattr(Walks, "probabilities", _no_work)
    model = quick(n_steps=n_steps, approximate=approximate)
    with pytest.raises(InvalidInputError, match="n_steps must be a whole number"):
        model.fit(data.graphs[:60], data.targets[:60])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structure_kernel": (None, "rbf")}, "structure_kernel must be .*Laplacian"),
        ({"attribute_kernel": (None, Laplacian(1.0))}, "the graphs have no attributes for attr"),
    ],
)
def test_bad_node_kernels_are_found_before_any_work(data, options, message, monkeypatch):
    monkeypatch.setattr(Walks, "probabilities", _no_work)
    with pytest.raises(InvalidInputError, match=message):
        quick(approximate=True, **options).fit(data.graphs[:60], data.targets[:60])


def _no_work(*_, **__):
    pytest.fail("return probabilities are computed")


def test_new_graphs_must_be_like_the_fitted(fitted, data):
    with pytest.raises(InvalidInputError, match="the graphs have no labels, the fitted ones have"):
        fitted.predict(data.graphs.without_labels())
    with pytest.raises(NotFittedError):
        RetGKClassifier().predict(data.graphs)


def test_new_labels_are_no_error(fitted, data):
    renamed = data.graphs[60:].with_labels([f"new {label}" for label in data.graphs[60:].labels])
    with pytest.warns(UserWarning, match=r"no node label of the graphs is known: they have 'new"):
        assert len(fitted.predict(renamed)) == 30


@pytest.mark.parametrize("approximate", [False, True])
def test_labels_of_another_type_are_a_warning(approximate, data):
    texts = data.graphs.with_labels([str(label) for label in data.graphs.labels])
    model = quick(approximate=approximate).fit(texts, data.targets)
    with pytest.warns(UserWarning, match=r"they have 0 \(int\), 1 \(int\).*ones '0' \(str\), '1'"):
        model.predict(data.graphs.with_labels(data.graphs.labels))
    some = data.graphs.with_labels(np.where(data.graphs.labels == 0, "0", "new"))
    assert len(model.predict(some)) == len(some)
