"""Keywords that a function does not have: the nearest name, and where the option belongs."""

from typing import Any

import networkx as nx
import numpy as np
import pytest

from retgk import (
    InvalidInputError,
    RetGKClassifier,
    RetGKEmbedding,
    RetGKKernel,
    RetGKRegressor,
    as_batch,
    distance,
    mean_embedding_gram,
    most_similar,
    pairwise_distances,
    similarity,
    squared_mmd,
)

SMILES = ["CCO", "CC", "C=O"]
GRAPHS = [nx.path_graph(3), nx.path_graph(4)]


def convert_first(option: str) -> str:
    return f"it is an option of as_batch; convert the graphs first: as_batch(graphs, {option})"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: most_similar("CC", SMILES, bond_orders=True),
            "has no option 'bond_orders'; " + convert_first("bond_orders=True"),
        ),
        (lambda: similarity("CC", "CO", label="x"), convert_first("label='x'")),
        (lambda: distance("CC", "CO", n_step=3), "has no option 'n_step'; did you mean n_steps?"),
        (
            lambda: squared_mmd(SMILES, symetrize=True),
            "did you mean symmetrize? it is an option of",
        ),
        (lambda: mean_embedding_gram(SMILES, graph_kernel=None), "; it has attribute_kernel, "),
        (lambda: pairwise_distances(SMILES, weight="w"), convert_first("weight='w'")),
        (
            lambda: RetGKClassifier().fit(GRAPHS, [0, 1], label="x"),
            "RetGKClassifier.fit has no option 'label'; " + convert_first("label='x'"),
        ),
        (
            lambda: RetGKRegressor().fit(GRAPHS, [0, 1], atributes="x"),
            "did you mean attributes? it",
        ),
        (
            lambda: RetGKKernel().fit(GRAPHS, n_steps=3),
            "it is a parameter of the model: RetGKKernel(n_steps=3)",
        ),
        (lambda: RetGKKernel().fit_transform(GRAPHS, label="x"), convert_first("label='x'")),
        (lambda: RetGKEmbedding().fit(GRAPHS, label="x"), convert_first("label='x'")),
        (lambda: RetGKEmbedding().fit_transform(GRAPHS, label="x"), convert_first("label='x'")),
        (
            lambda: as_batch("CC", lable="x"),
            "as_batch of a SMILES string has no option 'lable'; did you mean label? it is an "
            "option of a networkx graph; a SMILES string has attributes, add_hydrogens, ",
        ),
        (lambda: as_batch(SMILES, bond_order=True), "did you mean bond_orders?"),
        (lambda: as_batch(GRAPHS, bond_orders=True), "it is an option of a SMILES string; a netw"),
        (lambda: as_batch(GRAPHS, colour=1), "; it has label, attributes, categorical, weight, e"),
        (lambda: as_batch([np.eye(3)], label=1), "; a two-dimensional NumPy array has labels"),
    ],
)
def test_where_an_option_belongs(call: Any, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "model_class", [RetGKClassifier, RetGKRegressor, RetGKKernel, RetGKEmbedding]
)
def test_constructors_are_those_of_scikit_learn(model_class: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        model_class(label="x")


def test_options_are_checked_before_any_work() -> None:
    with pytest.raises(InvalidInputError, match="has no option 'bond_orders'"):
        most_similar("CC", iter(["no molecule"]), bond_orders=True)
