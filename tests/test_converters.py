"""as_batch finds the right converter."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from rdkit import Chem

from retgk import GraphBatch, InvalidInputError
from retgk.io.arrays import from_edge_lists, from_numpy
from retgk.io.convert import as_batch
from retgk.io.dataset import GraphDataset
from retgk.io.molecules import from_smiles

PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
EDGES = np.array([[0, 1], [1, 0], [1, 2], [2, 1]])
BATCH = from_numpy(PATH)
ONE_GRAPH = {
    "batch": BATCH,
    "data set": GraphDataset(BATCH, np.zeros(1), "one"),
    "networkx": nx.path_graph(3),
    "multigraph": nx.MultiGraph(nx.path_graph(3)),
    "igraph": igraph.Graph(3, [(0, 1), (1, 2)]),
    "sparse array": sp.csr_array(PATH),
    "sparse matrix": sp.coo_matrix(PATH),
    "dense": PATH,
    "bool": PATH.astype(bool),
    "edges": EDGES,
    "PyG": SimpleNamespace(edge_index=EDGES.T, num_nodes=3),
    "GraKeL": [{(0, 1), (1, 0), (1, 2), (2, 1)}],
    "GraKeL with nothing else": [{0: [1], 1: [0, 2], 2: [1]}, None, None],
}


def in_object_array(graphs: list[Any]) -> np.ndarray:
    array = np.empty(len(graphs), dtype=object)
    for position, graph in enumerate(graphs):
        array[position] = graph
    return array


@pytest.mark.parametrize("kind", ONE_GRAPH)
def test_one_graph(kind: str) -> None:
    assert as_batch(ONE_GRAPH[kind]) == BATCH


@pytest.mark.parametrize("kind", ONE_GRAPH)
@pytest.mark.parametrize("many", [list, tuple, iter, in_object_array])
def test_many_graphs(kind: str, many: Any) -> None:
    expected = GraphBatch.concatenate([BATCH] * 3)
    assert as_batch(many([ONE_GRAPH[kind]] * 3)) == expected
    assert as_batch(many([ONE_GRAPH[kind]])) == BATCH


def test_batch_is_returned_as_it_is() -> None:
    assert as_batch(BATCH) is BATCH
    assert as_batch(ONE_GRAPH["data set"]) is BATCH


@pytest.mark.parametrize("many", [list, tuple, iter, np.array, in_object_array])
def test_smiles_and_molecules(many: Any) -> None:
    smiles = ["CCO", "C"]
    assert as_batch(many(smiles)) == from_smiles(smiles)
    assert as_batch("CCO") == from_smiles("CCO")
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    assert as_batch(molecules) == from_smiles(smiles)
    assert as_batch(molecules[0]) == from_smiles("CCO")


def test_stack_of_matrices() -> None:
    assert as_batch(np.stack([PATH] * 3)) == GraphBatch.concatenate([BATCH] * 3)
    assert as_batch(np.ones((3, 2, 2), int)) == from_numpy(np.ones((3, 2, 2)))


def test_different_classes_of_one_kind() -> None:
    found = as_batch([nx.path_graph(3), nx.MultiGraph(nx.path_graph(3))])
    assert found == GraphBatch.concatenate([BATCH] * 2)
    assert as_batch([sp.csr_array(PATH), sp.coo_matrix(PATH)]) == found


def test_options_reach_the_converter() -> None:
    assert as_batch(PATH, labels=list("abc")) == BATCH.with_labels(list("abc"))
    assert as_batch([PATH], labels=[list("abc")]) == BATCH.with_labels(list("abc"))
    assert as_batch(nx.DiGraph([(0, 1), (1, 2)]), symmetrize=True) == BATCH
    two = np.array([[0, 1], [1, 2]])
    assert as_batch([two], n_nodes=[3], symmetrize=True) == BATCH
    with pytest.raises(InvalidInputError, match="has no option 'colour'; it has label, attributes"):
        as_batch(nx.path_graph(3), colour="red")
    for batches in (BATCH, [BATCH, BATCH]):
        message = "a GraphBatch takes no options, got symmetrize: its graphs are undirected"
        with pytest.raises(InvalidInputError, match=message):
            as_batch(batches, symmetrize=True)


def test_the_list_as_a_whole_tells_matrices_from_edges() -> None:
    two = np.array([[0, 1], [1, 0]])
    assert as_batch([two, EDGES]) == from_edge_lists([two, EDGES])
    assert as_batch([two, PATH]) == from_numpy([two, PATH])
    assert as_batch(two.astype(float)) == from_numpy(two)
    for ambiguous in (two, [two], [two, two]):
        with pytest.raises(InvalidInputError, match=r"arrays of shape \(2, 2\) may be adjacency"):
            as_batch(ambiguous)


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([nx.path_graph(3), PATH], "graph 1 is a two-dimensional NumPy array, graph 0 is a netwo"),
        (["C", "C", nx.path_graph(3)], "graph 2 is a networkx graph, graph 0 is a SMILES string"),
        ([Chem.MolFromSmiles("C"), None], r"graph 1 is missing \(None\); drop it together with i"),
        ([PATH, None], r"graph 1 is missing \(None\); drop it together with its target"),
        (["C", float("nan")], r"graph 1 is missing \(nan\); drop it together with its target"),
        (["C", "CC", pd.NA], r"graph 2 is missing \(<NA>\); drop it together with its target"),
        ([PATH, 1], "graph 1 is of type int, which is not a graph; expected one of: GraphBatch"),
        ([PATH, np.ones(3)], r"graph 1: an adjacency matrix is square, got shape \(3,\)"),
        (["C", 2.5], "graph 1 is of type float, which is not a graph"),
        ([[[0, 1], [1, 0]]], "graph 0 is of type list, which is not a graph; expected one of"),
        ({"a": nx.path_graph(3)}, "cannot read graphs from dict; give one or a list of: GraphBa"),
        ({"C", "CC"}, "cannot read graphs from set"),
        (b"CC", "cannot read graphs from bytes"),
        (3, "cannot read graphs from int"),
        (None, "cannot read graphs from NoneType"),
        (np.array(3), "cannot read graphs from ndarray"),
        ([], "there are no graphs to convert"),
        (np.ones(3), "graph 0 is of type float64, which is not a graph"),
        (
            np.array([nx.path_graph(3)] * 2, object),
            r"of shape \(2, 3\): NumPy has taken the graphs a",
        ),
    ],
)
def test_errors(graphs: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        as_batch(graphs)


def test_rows_of_a_table_are_graphs_not_its_columns() -> None:
    table = pd.DataFrame({"C": ["CCO", "CC"], "N": [1, 2]})
    message = r"the table has 2 columns \('C', 'N'\); give one column, such as df\['smiles'\]"
    for convert in (as_batch, from_smiles):
        assert convert(table[["C"]]) == from_smiles(["CCO", "CC"])
        assert convert(table["C"]) == from_smiles(["CCO", "CC"])
        with pytest.raises(InvalidInputError, match=message):
            convert(table)


OPTIONAL = ["networkx", "igraph", "rdkit", "torch", "torch_geometric", "grakel", "pandas", "rich"]


def test_no_optional_package_is_imported() -> None:
    code = (
        "import sys, numpy as np; from retgk.io.convert import as_batch;"
        "as_batch([np.ones((3, 3))]); as_batch(np.ones((2, 3, 3)));"
        f"print([name for name in {OPTIONAL} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("package", "call"),
    [("networkx", "to_networkx(as_batch(np.ones((1, 1))))"), ("rdkit", "from_smiles(['C'])")],
)
def test_missing_package_names_its_extra(package: str, call: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None; import numpy as np;"
        f"from retgk.io.convert import *; {call}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"ImportError: this needs {package}, which cannot be imported;" in done.stderr
    assert f"pip install {package} (it is in the extra retgk[{package}])" in done.stderr
