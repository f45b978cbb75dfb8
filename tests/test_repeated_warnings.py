"""Warnings of data are shown once for a call, however many folds convert it."""

import warnings
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from retgk import RetGKClassifier, RetGKKernel, as_batch, from_networkx
from retgk.errors import InputWarning, warn_user

Y = np.arange(12) % 2
MODEL = RetGKClassifier(n_steps=4, C=1, p=1, scale=1, cv=2, random_state=0)
KERNEL = make_pipeline(RetGKKernel(n_steps=4, random_state=0), SVC(kernel="precomputed"))


def correlations() -> list[Any]:
    rng = np.random.default_rng(0)
    return [np.abs(np.corrcoef(rng.random((6 + i % 3, 9)))) for i in range(12)]


def graphs_with_bonds() -> list[nx.Graph]:
    graphs = [nx.cycle_graph(5 + i) for i in range(12)]
    for graph in graphs:
        nx.set_edge_attributes(graph, {edge: str(edge[0] % 2) for edge in graph.edges}, "bond")
    return graphs


def uneven_attributes() -> Any:
    batch = as_batch([nx.cycle_graph(5 + i) for i in range(12)])
    values = np.random.default_rng(0).random((batch.n_nodes, 2))
    return batch.with_attributes(values * [1e5, 1])


CASES = {
    "unit diagonals": (MODEL, correlations, "ones on the diagonal"),
    "labels of edges": (MODEL, graphs_with_bonds, "edges have 'bond', which is not used"),
    "uneven attributes": (KERNEL, uneven_attributes, "attribute 0 has a standard deviation of"),
}


def shown(action: Any, call: Callable[[], object]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(action)
        call()
    return [each for each in found if each.category is InputWarning]


@pytest.mark.parametrize("case", CASES)
def test_cross_validation_warns_once_at_the_line_of_the_user(case: str) -> None:
    model, data, text = CASES[case]
    graphs = data()
    found = shown("default", lambda: cross_val_score(model, graphs, Y, cv=3))
    assert [text in str(each.message) for each in found] == [True]
    assert found[0].filename == __file__


def test_every_call_of_another_line_warns_again() -> None:
    graphs = graphs_with_bonds()
    assert len(shown("default", lambda: from_networkx(graphs))) == 1
    assert len(shown("default", lambda: from_networkx(graphs))) == 1


def test_filters_of_the_user_are_heeded() -> None:
    graphs = graphs_with_bonds()

    def twice() -> None:
        for _ in range(2):
            as_batch(graphs)

    assert [len(shown(action, twice)) for action in ("default", "always", "ignore")] == [1, 2, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputWarning, match="bond"):
            twice()


def test_texts_that_differ_in_more_than_measured_numbers_are_shown() -> None:
    def several() -> None:
        for text in ("3 graphs of 0.5", "3 graphs of 1.2e+03", "4 graphs of 0.5"):
            warn_user(InputWarning(text))

    found = [str(each.message) for each in shown("default", several)]
    assert found == ["3 graphs of 0.5", "4 graphs of 0.5"]
