"""What models that were loaded from files say of input that they cannot use."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from retgk import (
    GraphDataset,
    InvalidInputError,
    RetGKClassifier,
    RetGKEmbedding,
    RetGKKernel,
    RetGKRegressor,
    as_batch,
    load_model,
    save_model,
)

GRAPHS = [nx.gnp_random_graph(8 + i % 3, 0.3 + 0.2 * (i % 2), seed=i) for i in range(12)]
SMILES = ["C" * (1 + i % 4) + "O" * (i % 2) for i in range(12)]
Y = np.arange(12) % 2
MODELS = {
    "classifier": RetGKClassifier(n_steps=5, C=1, p=1, scale=1, cv=2, random_state=0),
    "regressor": RetGKRegressor(n_steps=5, C=1, p=1, scale=1, cv=2, random_state=0),
    "embedding": RetGKEmbedding(n_steps=5, n_components=8, random_state=0),
    "kernel": RetGKKernel(n_steps=5, random_state=0),
}
OF_LABELS = (
    "the graphs have labels (read from molecules or SMILES strings), the fitted ones have none; "
    "leave them out (without_labels(), --no-labels)"
)
PATH = "'new.smi' is the path of a file, not a graph; read the file first: read_graphs('new"
WRONG = {
    "SMILES": (SMILES, OF_LABELS),
    "a data set": (GraphDataset(as_batch(SMILES), Y, "molecules"), OF_LABELS),
    "a column": (pd.DataFrame({"smiles": SMILES}), OF_LABELS),
    "the name of a file": ("new.smi", PATH),
    "a path": (Path("new.smi"), PATH),
    "paths": ([Path("new.smi"), Path("more.smi")], PATH),
    "a table": (
        pd.DataFrame({"smiles": SMILES, "id": Y}),
        "the table has 2 columns ('smiles', 'id'); give one column, such as df['smiles']",
    ),
    "numbers": (
        np.zeros((3, 4)),
        "got one array of numbers of shape (3, 4), the fitted ones were networkx graphs; give "
        "graphs like those, or a list [matrix]",
    ),
    "nothing": (None, "cannot read graphs from NoneType; give one or a list of: GraphBatch"),
}


def answer(model: Any, graphs: Any) -> Any:
    return (model.predict if hasattr(model, "predict") else model.transform)(graphs)


@pytest.fixture(params=MODELS, scope="module")
def loaded(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model of networkx graphs without labels, from its file."""
    path = tmp_path_factory.mktemp("models") / "model.retgk"
    save_model(MODELS[request.param].fit(GRAPHS, Y), path)
    return load_model(path)


@pytest.mark.parametrize("case", WRONG)
def test_messages_say_what_came_what_is_wanted_and_how_to_convert(loaded: Any, case: str) -> None:
    graphs, message = WRONG[case]
    with pytest.raises(InvalidInputError) as caught:
        answer(loaded, graphs)
    assert str(caught.value).startswith(message)


def test_one_graph_and_data_sets_are_taken(loaded: Any) -> None:
    data = GraphDataset(as_batch(GRAPHS), None, "new")
    assert len(answer(loaded, GRAPHS[0])) == 1
    np.testing.assert_array_equal(answer(loaded, data), answer(loaded, GRAPHS))


def test_graphs_without_labels_for_a_model_of_molecules() -> None:
    model = RetGKKernel(n_steps=5).fit(SMILES)
    with pytest.raises(InvalidInputError, match=r"read from networkx graphs.*label="):
        model.transform(GRAPHS)


def test_errors_of_graphs_like_the_fitted_ones_say_nothing_more() -> None:
    with pytest.raises(InvalidInputError) as caught:
        RetGKKernel(n_steps=5).fit(SMILES).transform(["C(", "C"])
    assert "the fitted ones" not in str(caught.value)
