"""Targets, folds and parameters that cannot be used: a clear error, and nothing half fitted."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from retgk import GraphClassifier, GraphDataset, GraphRegressor, RetGK, Walks, as_batch, read_graphs
from retgk._runtime.names import name_advice, names_there, near_names
from retgk.errors import InputWarning, warn_user
from retgk.io import from_networkx, from_smiles
from tests.errors import assert_names, fails
from tests.example_graphs import graphs_of_kind, of_retgk
from tests.programs import invoke

GRAPHS = graphs_of_kind("both", 20)
CLASSES = np.arange(20) % 2


def quick(**options):
    return of_retgk(
        GraphClassifier, **{"n_steps": 6, "C": 1, "p": 1, "scale": 1, "cv": 2, **options}
    )


@pytest.mark.parametrize("model", [quick(), of_retgk(GraphRegressor, n_steps=6, cv=2)])
def test_missing_targets_are_refused(model):
    masked = np.ma.array(np.arange(20.0) % 2, mask=np.arange(20) == 3)
    fails(lambda: model.fit(GRAPHS, masked), ("graph 3", "masked"))
    fails(lambda: GraphDataset(GRAPHS, masked, "mine"), ("graph 3", "masked"))
    nullable = pd.array([0, 1] * 9 + [pd.NA, 1], dtype="Int64")
    for targets in (nullable, np.array(nullable, dtype=object)):
        fails(lambda targets=targets: model.fit(GRAPHS, targets), "graph 18")
    model.fit(GRAPHS, np.ma.array(np.arange(20) % 2))
    assert len(model.predict(GRAPHS)) == 20


@pytest.mark.parametrize("n_components", [None, 1024])
def test_a_failed_fit_leaves_the_model_as_it_was(n_components, monkeypatch):
    model = quick(n_components=n_components, random_state=0).fit(GRAPHS, CLASSES)
    before = model.predict_proba(GRAPHS)
    others = np.array(["a", "b", "c", "d"])[np.arange(20) % 4]
    with monkeypatch.context() as patch:
        patch.setattr("retgk.learning.outcomes.fit_calibration", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(GRAPHS, others)
    fails(lambda: model.set_params(cv=1).fit(GRAPHS, others), "cv=1")
    assert model.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(model.predict_proba(GRAPHS), before)


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("options", "about"),
    [
        ({"class_weight": {0: 0.0, 1: 1.0}}, ("class_weight", "class 0", "0")),
        ({"class_weight": {0: np.nan, 1: 1.0}}, ("class_weight", "class 0", "nan")),
        ({"class_weight": {7: 1.0}}, "class_weight={7: 1.0}"),
        ({"class_weight": "fair"}, "class_weight='fair'"),
        ({"scale": 1e-300, "p": 2}, ("gamma=inf", "scale=1e-300")),
        ({"scale": 1e300, "p": 2}, "gamma=0.0"),
        ({"cv": "five"}, ("cv", "five")),
        ({"cv": 3.5}, ("cv", "3.5")),
        ({"cv": [3, 4]}, ("fold 0", "cv")),
        ({"cv": [([0, 1], [2], [3])]}, ("fold 0", "pair")),
        ({"cv": [([0, 1], [])]}, ("fold 0", "test")),
        ({"cv": [([0, 1], [0.5])]}, ("fold 0", "test")),
        ({"cv": [([0, 1], [20])]}, ("fold 0", "graph 20", "20 graphs")),
        ({"cv": [([[0, 1]], [2])]}, ("fold 0", "training")),
    ],
)
def test_a_failed_first_fit_leaves_the_model_unfitted(options, about):
    model = quick(**options)
    fails(lambda: model.fit(GRAPHS, CLASSES), about)
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize("model", [quick(), GraphRegressor(), RetGK()])
def test_no_graphs_at_all(model):
    fails(lambda: model.fit(GRAPHS[:0], []), "no graphs")


def test_folds_may_be_masks():
    first = np.arange(20) < 10
    masks = quick(cv=[(first, ~first), (~first, first)], random_state=0).fit(GRAPHS, CLASSES)
    numbers = [(np.arange(10), np.arange(10, 20)), (np.arange(10, 20), np.arange(10))]
    positions = quick(cv=numbers, random_state=0).fit(GRAPHS, CLASSES)
    assert masks.best_score_ == positions.best_score_


# Warnings of data are shown once for a call, however many folds convert it

Y = np.arange(12) % 2
MODEL = of_retgk(GraphClassifier, n_steps=4, C=1, p=1, scale=1, cv=2, random_state=0)
KERNEL = make_pipeline(RetGK(walks=Walks(n_steps=4), random_state=0), SVC(kernel="precomputed"))


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


# Mistyped names: the nearest are asked for, and hundreds are not listed

MANY = [f"assay_{number:03}" for number in range(300)]


def test_nearest_come_first():
    assert near_names("actve", ["smiles", "active", "inactive"])[0] == "active"
    assert near_names("ACTIVE", ["smiles", "Active"]) == ["Active"]
    assert near_names("solubility", ["x", "measured log solubility in mols per litre"]) == [
        "measured log solubility in mols per litre"
    ]
    assert near_names("z", ["smiles", "active"]) == []
    assert near_names("zz", []) == []


def test_few_names_are_listed_and_many_are_not():
    assert name_advice("y", ["a", "b"]) == "name one of a, b"
    assert name_advice("activ", ["smiles", "active"]) == (
        "did you mean active? name one of smiles, active"
    )
    advice = name_advice("asay_017", MANY)
    assert advice.startswith("did you mean assay_017 or ")
    assert advice.endswith("? name one of the 300 that there are")
    assert name_advice("zzz", MANY).endswith("assay_011 and 288 more")
    assert names_there("kindd", ["kind"]) == "['kind'] (did you mean 'kind'?)"
    assert names_there("zzz", []) == "none"
    assert len(names_there("zzz", MANY)) < 250


def test_names_of_columns_nodes_and_atoms(tmp_path: Path):
    pytest.importorskip("rdkit")
    path = tmp_path / "wide.csv"
    path.write_text(",".join(["smiles", *MANY]) + "\n" + ",".join(["CCO", *"1" * 300]) + "\n")
    wrong = fails(lambda: read_graphs(path, target_column="assay-123"), "assay_123")
    assert "target_column=" in wrong
    assert len(wrong) < 400
    for options, about in (
        (("--target-column", "assay123"), ("assay_123", "--target-column")),
        (("--target-column", MANY[0], "--groups", "asay_001"), ("assay_001", "--groups")),
    ):
        assert_names(invoke("cv", path, *options).stderr, about)
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, "C", "element")
    fails(lambda: from_networkx(graph, label="elment"), "element")
    fails(lambda: from_smiles("CC", attributes="aromtic"), "aromatic")


@pytest.mark.parametrize(
    ("line", "about"),
    [
        ("cv x --task regresion", ("classification", "regression")),
        ("info x --format parqet", "parquet"),
        ("cv x --scale-attributes standrd", "standard"),
        ("cv MUTAG --split scafold", ("scafold", "scaffold")),
        ("cv MUTAG --metric roc", ("roc", "roc_auc")),
    ],
)
def test_values_of_options(
    line: str, about: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    from retgk.cli.main import main

    monkeypatch.setattr("sys.argv", ["retgk", *line.split()])
    with pytest.raises(SystemExit):
        main()
    message = capsys.readouterr().err
    assert_names(message, about)
    assert "did you mean" in message
