"""igraph, PyTorch Geometric and GraKeL."""

import csv
import gzip
import json
import warnings
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem

from retgk import GraphBatch, GraphClassifier, RetGK, Walks, read_graphs, similarity, write_graphs
from retgk.errors import InputWarning
from retgk.io import molecules as smiles_strings
from retgk.io import rdkit as rdkit_molecules
from retgk.io.convert import as_batch, dataset_of, to_igraph, to_networkx
from retgk.io.dataframes import from_dataframe
from retgk.io.grakel import from_grakel
from retgk.io.molecules import LeftOutWarning, are_readable, from_smiles
from retgk.io.networkx import from_igraph, from_networkx
from retgk.io.pyg import from_pyg
from retgk.io.rdkit import from_rdkit
from retgk.search import duplicate_groups
from tests.errors import fails
from tests.example_graphs import dense, names

SIZES = st.integers(1, 6)


@st.composite
def multigraphs(draw: st.DrawFn) -> nx.MultiGraph:
    size = draw(SIZES)
    node = st.integers(0, size - 1)
    graph = nx.empty_graph(size, create_using=nx.MultiGraph)
    for source, target in draw(st.lists(st.tuples(node, node), max_size=12)):
        graph.add_edge(source, target, weight=draw(st.sampled_from([1, 0.5, 3])))
    return graph


@given(st.lists(multigraphs(), min_size=1, max_size=3))
def test_igraph_agrees_with_networkx(found: list[nx.MultiGraph]) -> None:
    converted = [as_igraph(graph) for graph in found]
    assert from_igraph(converted) == from_networkx(found)
    assert from_igraph(converted, weight=None) == from_networkx(found, weight=None)


def as_igraph(graph: nx.MultiGraph) -> igraph.Graph:
    edges = list(graph.edges(data="weight"))
    attributes = {"weight": [weight for _, _, weight in edges]}
    return igraph.Graph(len(graph), [edge[:2] for edge in edges], edge_attrs=attributes)


def test_igraph_parallel_edges_do_not_differ_by_rounding() -> None:
    ends, weights = [(0, 1), (1, 0), (0, 1)], [0.2, 0.1, 0.3]
    batch = from_igraph(igraph.Graph(2, ends, edge_attrs={"weight": weights}))
    np.testing.assert_allclose(batch.weights, 0.6)


def test_igraph_data_of_vertices_that_is_not_used_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="nodes have 'e', 'x', which are not used"):
        from_igraph(good_with(e=["C", "O"], x=[1, 2]))
    assert from_igraph(good_with(x=[1, 2]), attributes=[]).n_nodes == 2
    assert from_igraph(good_with(name=["a", "b"], id=["n0", "n1"])).n_nodes == 2


def test_igraph_unset_weight_is_one_and_directions_are_dropped_on_request() -> None:
    graph = igraph.Graph(3, [(0, 1), (1, 0), (1, 2)], directed=True)
    graph.es[0]["weight"] = 4
    fails(lambda: from_igraph(graph), about=("graph 0", "symmetrize=True"))
    batch = from_igraph(graph, symmetrize=True)
    np.testing.assert_array_equal(dense(batch), [[0, 4, 0], [4, 0, 1], [0, 1, 0]])


def test_igraph_errors() -> None:
    good, bad = igraph.Graph.Full(2), igraph.Graph.Full(2)
    bad.vs[0]["x"] = 1
    bad.es["weight"] = ["a"]
    fails(lambda: from_igraph([good, bad]), about=("graph 1", "edge 0", "'weight'"))
    bad.es["weight"] = [10**400]
    fails(lambda: from_igraph([good, bad]), about=("graph 1", "'weight'"))
    fails(
        lambda: from_igraph([good_with(x=[1, 2]), bad], attributes="x", weight=None),
        about=("graph 1", "vertex 1", "'x'"),
    )
    fails(lambda: from_igraph([good], label="x"), about=("graph 0", "vertex 0", "'x'"))
    fails(
        lambda: from_igraph(good_with(x=[1, "a"]), attributes="x"),
        about=("graph 0", "vertex 1", "'x'", "'a'"),
    )
    fails(lambda: from_igraph([good, 1]), about="graph 1")


def good_with(**values: Any) -> igraph.Graph:
    return igraph.Graph(2, [(0, 1)], vertex_attrs=values)


def stand_in(**fields: Any) -> SimpleNamespace:
    return SimpleNamespace(**{"edge_index": np.array([[0, 1], [1, 0]]), "num_nodes": 2, **fields})


def test_pyg_fields_that_are_not_used_are_a_warning() -> None:
    with pytest.warns(UserWarning, match="nodes have 'x', which is not used"):
        from_pyg(stand_in(x=[[1.0], [2.0]]))
    assert from_pyg(stand_in(x=[[1.0], [2.0]]), attributes=[]) == from_pyg(stand_in())


@given(st.lists(multigraphs(), min_size=1, max_size=3))
def test_pyg_fields_agree_with_networkx(found: list[nx.MultiGraph]) -> None:
    data = []
    for graph in found:
        entries = sp.coo_array(nx.to_numpy_array(graph))
        index, weight = np.array([entries.row, entries.col]), entries.data
        data.append(SimpleNamespace(edge_index=index, edge_weight=weight, num_nodes=len(graph)))
    assert from_pyg(data) == from_networkx(found)


def test_pyg_options() -> None:
    one_hot, position = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[1, 2], [3, 4]])
    graph = stand_in(x=one_hot, pos=position, y=np.array([7, 5]))
    assert names(from_pyg(graph, label="x", attributes=[])) == [1, 0]
    assert names(from_pyg(graph, label="y", attributes=[])) == [7, 5]
    np.testing.assert_array_equal(
        from_pyg(graph, attributes=["pos", "y"]).attributes, [[1, 2, 7], [3, 4, 5]]
    )
    graph.edge_attr = np.array([[2], [2]])
    np.testing.assert_array_equal(
        dense(from_pyg(graph, attributes="y", weight="edge_attr")), [[0, 2], [2, 0]]
    )
    assert not from_pyg(graph, attributes="y", weight=None).is_weighted


def test_pyg_data_of_edges_that_is_not_used_is_a_warning() -> None:
    graph = stand_in(edge_attr=np.array([[2], [2]]))
    with pytest.warns(InputWarning, match="edges have 'edge_attr', which is not used; edge_label="):
        assert not from_pyg([graph]).is_weighted
    assert from_pyg(graph, weight="edge_attr").is_weighted
    assert not from_pyg(graph, weight=None).is_weighted
    graph.edge_weight = np.array([3.0, 3.0])
    assert from_pyg(graph, edge_label=[]).is_weighted


def test_a_weight_that_no_edge_has_is_a_warning() -> None:
    """A name that is misspelt reads graphs without weights, which nobody would see."""
    linked = nx.Graph([(0, 1, {"weight": 2.0, "strength": 3.0}), (1, 2, {"weight": 4.0})])
    pair = igraph.Graph([(0, 1)], edge_attrs={"weight": [2.0]})
    ring = stand_in(edge_index=np.array([[0, 1, 2], [1, 2, 0]]), edge_weight=np.ones(3))
    ring.num_nodes, ring.distance = 3, np.ones(3)  # as many edges as nodes
    message = "no edge has the weight 'wieght', so that graphs are read without weights; name one"
    reads = [
        (from_networkx, [linked, nx.path_graph(3)], "strength", "'weight', 'strength'"),
        (from_igraph, [pair], "weight", "'weight'"),
        (partial(from_pyg, symmetrize=True), [ring], "distance", "'edge_weight'"),
    ]
    for read, graphs, right, known in reads:
        with pytest.warns(InputWarning, match=f"{message} that is there, such as {known}"):
            assert not read(graphs, weight="wieght", edge_label=[], attributes=[]).is_weighted
        read(graphs, weight=right, edge_label=[], attributes=[])
        read(graphs, weight=None, edge_label=[], attributes=[])


def test_pyg_messages_name_columns_that_can_be_read() -> None:
    edge = stand_in(x=np.array([[0.5, 0, 1], [2.5, 1, 0]]), edge_attr=np.array([[0, 1], [1, 0]]))
    fails(lambda: from_pyg(edge, label="x[0:]"), about="such as 'x[:4]'")
    fails(lambda: from_pyg(edge, weight="edge_attr"), about="edge_label='edge_attr'")
    edge.edge_attr = np.array([[0.5, 1], [0.5, 0]])
    fails(lambda: from_pyg(edge, edge_label="edge_attr[0:2]"), about="such as 'edge_attr[:4]'")
    fails(lambda: from_pyg(edge, weight="edge_attr[0:]"), about="weight='edge_attr[0]'")


def test_pyg_takes_bfloat16() -> None:
    torch = pytest.importorskip("torch")
    edge = stand_in(x=torch.tensor([[0.5], [2.0]], dtype=torch.bfloat16))
    assert from_pyg(edge, attributes="x").attributes.tolist() == [[0.5], [2.0]]


def test_pyg_every_field_of_the_size_of_nodes_or_edges_is_named() -> None:
    """Atomic numbers as QM9 has them, and whatever else: by all graphs, not by its name."""
    index = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    fields = {"z": [6, 8, 1], "pos": np.ones((3, 3)), "edge_attr": np.eye(4), "time": [1, 2, 3, 4]}
    graph = SimpleNamespace(edge_index=index, num_nodes=3, y=[[0.5, 1.5]], smiles="CO", **fields)
    with pytest.warns(InputWarning) as told:
        from_pyg([graph, graph])
    nodes, edges = (str(warning.message) for warning in told)
    assert nodes.startswith("nodes have 'z', 'pos', which are not used")
    assert edges.startswith("edges have 'edge_attr', 'time', which are not used")
    quiet = {"attributes": [], "edge_label": []}
    assert names(from_pyg(graph, label="z", **quiet)) == [6, 8, 1]
    both = from_pyg(graph, label=["z", "pos[:1]"], **quiet)
    assert names(both) == [(6, 1.0), (8, 1.0), (1, 1.0)]
    assert both.label_columns == ("z", "pos[:1]")


def test_pyg_columns_of_fields() -> None:
    """Continuous and one-hot columns side by side, as in ENZYMES."""
    mixed = np.array([[0.5, 1.5, 0, 1], [2.5, 3.5, 1, 0]])
    kinds = np.array([[0.3, 1, 0], [0.3, 1, 0]])
    graph = stand_in(x=mixed, edge_attr=kinds)
    batch = from_pyg(
        graph, label="x[2:]", attributes="x[:2]", weight="edge_attr[0]", edge_label="edge_attr[1:]"
    )
    assert names(batch) == [1, 0]
    np.testing.assert_array_equal(batch.attributes, mixed[:, :2])
    np.testing.assert_array_equal(dense(batch), [[0, 0.3], [0.3, 0]])
    assert batch.edge_label_names == (0,)
    np.testing.assert_array_equal(
        from_pyg(graph, attributes=["x[1]", "x[-1:]"], weight=None).attributes, mixed[:, [1, 3]]
    )
    with pytest.warns(InputWarning, match=r"nodes have 'x\[0:2\]', which is not used"):
        from_pyg(graph, label="x[2:]", weight=None)
    fails(lambda: from_pyg(graph, attributes="x[4:]"), about=("graph 0", "'x'", "'x[4:]'"))
    for options in ({"weight": "edge_attr"}, {"edge_label": "edge_attr"}):
        fails(lambda o=options: from_pyg(graph, **o), about="continuous attributes of edges")


def test_pyg_targets_of_graphs() -> None:
    """`y` of graphs is their target where one is asked for; that of nodes is none."""
    graphs = [stand_in(y=np.array([number % 2])) for number in range(8)]
    assert dataset_of(graphs, "data").targets.tolist() == [0, 1] * 4
    data = [stand_in(edge_index=g.edge_index, y=g.y) for g in graphs]
    data[1::2] = [stand_in(num_nodes=3, y=np.array([1])) for _ in range(4)]
    model = GraphClassifier(RetGK(walks=Walks(3)), C=1, candidates={}, random_state=0)
    assert model.fit(data).predict(data).tolist() == [0, 1] * 4
    rows = [stand_in(y=np.array([[0.5, number, 1.0]])) for number in range(3)]
    assert dataset_of(rows, "data").targets.shape == (3, 3)
    with pytest.warns(InputWarning, match="nodes have 'y', which is not used"):
        assert dataset_of([stand_in(y=np.array([0, 1]))], "data").targets is None


def test_pyg_parallel_edges() -> None:
    graph = stand_in(edge_index=np.array([[0, 1, 0, 1], [1, 0, 1, 0]]))
    np.testing.assert_array_equal(dense(from_pyg(graph)), [[0, 2], [2, 0]])
    assert from_pyg(graph, weight=None) == from_pyg(stand_in())


def test_pyg_symmetrize() -> None:
    graph = stand_in(edge_index=np.array([[0], [1]]))
    assert from_pyg(graph, symmetrize=True) == from_pyg(stand_in())


def test_pyg_nodes_are_counted_by_x() -> None:
    graph = SimpleNamespace(edge_index=np.empty((2, 0), np.int64), x=np.ones((3, 1)))
    assert from_pyg(graph, attributes=[]).n_nodes == 3


PYG_ERRORS = {
    "one direction": ({"edge_index": np.array([[0], [1]])}, {}, "graph 1"),
    "shape": ({"edge_index": np.zeros((3, 2), int)}, {}, ("graph 1", "(3, 2)")),
    "range": ({"edge_index": np.array([[0, 5], [5, 0]])}, {}, ("graph 1", "edge 0", "2 nodes")),
    "no field": ({}, {"attributes": "x"}, ("graph 1", "'x'")),
    "no label": ({}, {"label": "x"}, ("graph 1", "'x'")),
    "no nodes": ({"num_nodes": None}, {}, ("graph 1")),
    "label": (
        {"x": np.full((2, 2), 0.5)},
        {"label": "x"},
        ("graph 1", "'x'", "(2, 2)", "attributes='x'"),
    ),
    "rows": ({"x": np.ones((3, 1))}, {"attributes": "x"}, ("graph 1", "3 rows", "2 nodes")),
    "weights": ({"edge_weight": np.ones((2, 2))}, {}, ("graph 1", "(2,)", "(2, 2)")),
}


@pytest.mark.parametrize("case", PYG_ERRORS)
def test_pyg_errors(case: str) -> None:
    fields, options, message = PYG_ERRORS[case]
    good = stand_in(x=np.eye(2)) if "x" in fields else stand_in()
    if not fields:
        good = stand_in(x=np.eye(2))
    fails(lambda: from_pyg([good, stand_in(**fields)], **options), about=message)


def test_real_pyg() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch Geometric is not installed")
    data = pytest.importorskip("torch_geometric.data")
    graph = data.Data(
        x=torch.eye(3, requires_grad=True),
        edge_index=torch.tensor([[0, 1, 1], [1, 0, 1]]),
        edge_weight=torch.tensor([2.0, 2.0, 5.0]),
    )
    batch = from_pyg(graph, label="x", attributes="x")
    np.testing.assert_array_equal(dense(batch), [[0, 2, 0], [2, 5, 0], [0, 0, 0]])
    assert names(batch) == [0, 1, 2]
    np.testing.assert_array_equal(batch.attributes, np.eye(3))
    joined = data.Batch.from_data_list([graph, graph])
    assert from_pyg(joined, label="x") == from_pyg([graph, graph], label="x")


def test_real_pyg_data_set_is_a_list_of_graphs(tmp_path: Any) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch Geometric is not installed")
    pyg = pytest.importorskip("torch_geometric.data")
    graphs = [
        pyg.Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=size) for size in (2, 3)
    ]

    class Pairs(pyg.InMemoryDataset):
        def __init__(self) -> None:
            super().__init__(str(tmp_path))
            self._data, self.slices = self.collate(graphs)

    assert from_pyg(Pairs()) == from_pyg(graphs)
    assert as_batch(Pairs()) == from_pyg(graphs)


def test_real_pyg_heterogeneous_graph() -> None:
    pyg = pytest.importorskip("torch_geometric.data", reason="PyTorch Geometric is not installed")
    fails(lambda: as_batch(pyg.HeteroData()), about="cannot read graphs from")


TRIANGLE = {
    "matrix": np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]]),
    "sparse": sp.csr_matrix(np.ones((3, 3)) - np.eye(3)),
    "lists": [[0, 1, 1], [1, 0, 1], [1, 1, 0]],
    "nested": {0: {1: 1, 2: 1}, 1: {0: 1, 2: 1}, 2: {0: 1, 1: 1}},
    "neighbours": {0: [1, 2], 1: [0, 2], 2: [0, 1]},
    "pairs to weights": {(i, j): 1 for i in range(3) for j in range(3) if i != j},
    "pairs": [(i, j) for i in range(3) for j in range(3) if i != j],
    "set of pairs": {(i, j) for i in range(3) for j in range(3) if i != j},
    "triples": [(i, j, 1.0) for i in range(3) for j in range(3) if i != j],
}
LABELS = {2: "a", 1: "b", 0: "c"}


@pytest.mark.parametrize("form", TRIANGLE)
def test_grakel_forms(form: str) -> None:
    plain = from_networkx([nx.complete_graph(3)] * 2)
    expected = plain.with_labels(["c", "b", "a"] * 2)
    structure = TRIANGLE[form]
    assert from_grakel([[structure, LABELS], (structure, LABELS, {})]) == expected
    assert from_grakel([[structure], [structure, None]]) == plain
    assert from_grakel([structure, LABELS]) == expected[0]


@pytest.mark.parametrize("form", TRIANGLE)
@pytest.mark.parametrize("graph_format", ["adjacency", "dictionary", "all"])
def test_real_grakel(form: str, graph_format: str) -> None:
    grakel = pytest.importorskip("grakel", reason="GraKeL is not installed")
    graph = grakel.Graph(TRIANGLE[form], node_labels=LABELS, graph_format=graph_format)
    assert from_grakel([graph]) == from_grakel([[TRIANGLE[form], LABELS]])


@given(st.lists(multigraphs(), min_size=1, max_size=3))
def test_grakel_agrees_with_networkx(found: list[nx.MultiGraph]) -> None:
    items = []
    for graph in found:
        entries = sp.coo_array(nx.to_numpy_array(graph))
        edges = dict(zip(zip(entries.row, entries.col, strict=True), entries.data, strict=True))
        items.append([edges, {node: node % 2 for node in graph}])
    labels = [node % 2 for graph in found for node in graph]
    assert from_grakel(items) == from_networkx(found).with_labels(labels)


def test_grakel_nodes_that_cannot_be_sorted_and_isolated_ones() -> None:
    batch = from_grakel([[{("a", 1)}, {"a": 0, 1: 1, None: 2}]], symmetrize=True)
    assert names(batch) == [0, 1, 2]
    np.testing.assert_array_equal(dense(batch), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])


def test_grakel_attributes() -> None:
    batch = from_grakel(
        [[TRIANGLE["pairs"], {0: [1, 2], 1: [3, 4], 2: [5, 6]}]], as_attributes=True
    )
    np.testing.assert_array_equal(batch.attributes, [[1, 2], [3, 4], [5, 6]])
    assert not batch.has_labels


GOOD = [{(0, 1), (1, 0)}, {0: "a", 1: "b"}]
GRAKEL_ERRORS = {
    "one direction": ([{(0, 1)}, {0: "a", 1: "b"}], "graph 1"),
    "label": ([{(0, 1), (1, 0)}, {0: "a"}], ("graph 1", "node 1")),
    "no labels": ([{(0, 1), (1, 0)}], ("graph 1")),
    "square": ([np.ones((2, 3)), {}], "graph 1"),
    "form": ([[1, 2], {}], "graph 1"),
    "long edge": ([[(0, 1, 2, 3)], {}], "graph 1"),
    "values": ([{0: 1}, {}], "graph 1"),
    "weight": ([[(0, 1, "a")], {}], ("graph 1")),
    "large weight": ([[(0, 1, 10**400)], {}], ("graph 1")),
    "label array": ([np.ones((2, 2)), np.array(["a", "b"])], "graph 1"),
    "label list": ([np.ones((2, 2)), ["a", "b"]], "graph 1"),
    "item": ([1, 2, 3, 4], "graph 1"),
    "no nodes": ([{}, {}], ("graph 1")),
}


@pytest.mark.parametrize("case", GRAKEL_ERRORS)
def test_grakel_errors(case: str) -> None:
    bad, message = GRAKEL_ERRORS[case]
    fails(lambda: from_grakel([GOOD, bad]), about=message)


def test_grakel_attribute_error() -> None:
    fails(
        lambda: from_grakel([[{(0, 1), (1, 0)}, {0: 1, 1: "b"}]], as_attributes=True),
        about=("graph 0", "node 1"),
    )


# Molecules of RDKit and SMILES strings

SMILES = [
    "C",
    "CCO",
    "c1ccccc1C(=O)[O-]",
    "[Na+].[Cl-]",
    "CC(C)(C)C#N",
    "[2H]C([2H])[CH2]",
    "*C=C",
    "OC1CC1.c1cc[nH]c1",
]


COLUMNS = ("element", "degree", "charge", "hydrogens", "aromatic", "ring")


def by_hand(
    molecule: Chem.Mol, attributes: list[str], orders: bool, chemistry: str = "full"
) -> GraphBatch:
    """The obvious conversion, atom by atom and bond by bond."""
    atoms, size = list(molecule.GetAtoms()), molecule.GetNumAtoms()
    edges, weights, types = [], [], []
    for bond in molecule.GetBonds():
        ends = [bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()]
        edges += [ends, ends[::-1]]
        weights += [bond.GetBondTypeAsDouble() if orders else 1.0] * 2
        types += [bond.GetBondType().name] * 2
    is_full = chemistry == "full"
    labels = [
        (
            *(atom.GetSymbol(), atom.GetDegree(), atom.GetFormalCharge()),
            *(atom.GetTotalNumHs(), atom.GetIsAromatic(), atom.IsInRing()),
        )
        for atom in atoms
    ]
    methods = [rdkit_molecules.ATOM_ATTRIBUTES[name] for name in attributes]
    return GraphBatch.from_edges(
        size,
        np.array(edges, int).reshape(-1, 2),
        weights,
        labels=labels if is_full else [label[0] for label in labels],
        label_columns=COLUMNS if is_full else COLUMNS[:1],
        edge_labels=types if is_full else None,
        attributes=[[float(getattr(atom, m)()) for m in methods] for atom in atoms],
    )


@pytest.mark.parametrize("orders", [False, True])
@pytest.mark.parametrize("attributes", [[], sorted(rdkit_molecules.ATOM_ATTRIBUTES)])
@pytest.mark.parametrize("add_hydrogens", [False, True])
@pytest.mark.parametrize("chemistry", ["full", "elements"])
def test_agrees_with_the_obvious_conversion(
    orders: bool, attributes: list[str], add_hydrogens: bool, chemistry: str
) -> None:
    molecules = [Chem.MolFromSmiles(text) for text in SMILES]
    complete = [Chem.AddHs(molecule) if add_hydrogens else molecule for molecule in molecules]
    expected = GraphBatch.concatenate([by_hand(m, attributes, orders, chemistry) for m in complete])
    options: dict[str, Any] = {
        "chemistry": chemistry,
        "attributes": attributes,
        "add_hydrogens": add_hydrogens,
        "bond_orders": orders,
    }
    assert from_rdkit(molecules, **options) == expected
    assert from_smiles(SMILES, **options) == expected


def test_what_the_attributes_mean() -> None:
    batch = from_smiles("C[N+](C)(C)C", attributes=["charge", "degree", "hydrogens"])
    assert names(batch.with_label_columns("element")) == ["C", "N", "C", "C", "C"]
    np.testing.assert_array_equal(batch.attributes[1], [1, 4, 0])
    np.testing.assert_array_equal(batch.attributes[0], [0, 1, 3])
    benzene = from_smiles("c1ccccc1", attributes="aromatic", bond_orders=True)
    assert benzene.attributes.ravel().tolist() == [1] * 6
    assert set(benzene.weights) == {1.5}


def test_no_process_at_all() -> None:
    fails(lambda: from_smiles("CC", n_jobs=0), about="n_jobs=0")


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch, n_jobs: int | None) -> None:
    whole = from_smiles(SMILES, attributes="charge")
    monkeypatch.setattr(smiles_strings, "CHUNK", 3)
    assert from_smiles(iter(SMILES), attributes="charge", n_jobs=n_jobs) == whole


def test_large_molecules_are_read_by_their_bonds(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = from_smiles(SMILES)
    monkeypatch.setattr(rdkit_molecules, "LARGEST_DENSE", 0)
    assert from_smiles(SMILES) == whole


@pytest.mark.parametrize("pair", [("c1ccccc1", "C1CCCCC1"), ("CCC=O", "CCCO")])
def test_molecules_of_one_shape_differ(pair: tuple[str, str]) -> None:
    """Benzene and cyclohexane, propanal and propanol: the same elements, and bonds between them."""
    assert len(duplicate_groups(from_smiles(pair, chemistry="elements"))) == 1
    graphs = from_smiles(pair)
    assert duplicate_groups(graphs) == []
    assert similarity(*graphs) < 1 - 1e-3


def test_bonds_of_one_direction_are_edges() -> None:
    graphs = from_smiles(["N->B", "[Fe]<-N.CC"])
    assert (graphs.n_edges, graphs.edge_label_names) == (3, ("DATIVE", "SINGLE"))


def test_stereochemistry_on_request() -> None:
    """Of mirror images and of the two sides of a double bond, whatever the order of atoms."""
    pairs = [("C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"), ("C/C=C/C", "C/C=C\\C")]
    pairs += [("C[C@H]1CC[C@@H](C)CC1", "C[C@H]1CC[C@H](C)CC1")]
    for pair in pairs:
        assert len(duplicate_groups(list(pair))) == 1
        found = from_smiles(pair, stereo=True)
        assert duplicate_groups(found) == []
        for text, graph in zip(pair, found, strict=True):
            molecule = Chem.MolFromSmiles(text)
            other = Chem.RenumberAtoms(molecule, list(range(molecule.GetNumAtoms()))[::-1])
            both = GraphBatch.concatenate([graph, from_rdkit(other, stereo=True)])
            assert len(duplicate_groups(both)) == 1
    assert found.label_columns == (*COLUMNS, "chirality")
    assert set(from_smiles(pairs[1], stereo=True).edge_label_names) == {
        *("DOUBLE E", "DOUBLE Z", "SINGLE")
    }
    elements = from_smiles("C[C@H](N)C(=O)O", chemistry="elements", stereo=True)
    assert elements.label_columns == ("element", "chirality")
    assert ("C", "S") in elements.label_names
    assert not elements.has_edge_labels


def test_the_largest_fragment_on_request() -> None:
    salt, plain = "[Na+].CC(=O)[O-].O", "CC(=O)[O-]"
    assert from_smiles(salt, largest_fragment=True) == from_smiles(plain)
    assert from_smiles(plain, largest_fragment=True) == from_smiles(plain)
    assert from_smiles("C.O.CN.CO", largest_fragment=True).with_label_columns(
        "element"
    ) == from_smiles("CO").with_label_columns("element")


def test_molecules_are_not_changed() -> None:
    molecule = Chem.MolFromSmiles("C=C.O")
    before = list(molecule.GetPropNames(True, True)), molecule.GetNumAtoms()
    from_rdkit(molecule, attributes="charge", add_hydrogens=True)
    from_rdkit(molecule, bond_orders=True, stereo=True, largest_fragment=True)
    from_rdkit(molecule)
    assert (list(molecule.GetPropNames(True, True)), molecule.GetNumAtoms()) == before


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("C1CC", "not well formed"),
        ("hello", "not well formed"),
        ("C(C)(C)(C)(C)C", "Explicit valence for atom # 0 C, 5"),
        ("c1cccc1", "Can't kekulize mol"),
        ("InChI=1S/CH4/h1H4", "it is an InChI"),
        ("CC=O>>CCO", "it is a reaction"),
    ],
)
def test_unreadable_smiles(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    monkeypatch.setattr(smiles_strings, "CHUNK", 2)
    fails(lambda: from_smiles(["C", "C", "C", text]), about=("graph 3", repr(text), reason))
    assert capfd.readouterr().err == ""


def test_all_unreadable_smiles_of_a_chunk_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smiles_strings, "CHUNK", 5)
    message = "'C1CC'"
    fails(lambda: from_smiles([*"CCCCC", "C", "C1CC", "C", "C(", "C", "C("]), about=message)
    monkeypatch.setattr(smiles_strings, "MOST_SHOWN", 1)
    fails(lambda: from_smiles([*"CCCCC", "C", "C1CC", "C", "C(", "C"]), about=("1 more", "'C1CC'"))


def test_smiles_that_are_left_out() -> None:
    texts: list[Any] = ["CC", None, "", float("nan"), "C1CC", "CCO"]
    for convert in (from_smiles, as_batch):
        with pytest.warns(LeftOutWarning, match=r"graph 4; 3 rows .*: graphs 1, 2, 3"):
            assert convert(texts, skip_invalid=True) == from_smiles(["CC", "CCO"])
    assert are_readable(texts).tolist() == [True, False, False, False, False, True]
    fails(lambda: from_smiles([None, "C("], skip_invalid=True), about="none")  # type: ignore[list-item]


def test_molecule_without_atoms() -> None:
    fails(lambda: from_smiles(["C", ""]), about="graph 1")


def test_unknown_chemistry() -> None:
    fails(lambda: from_smiles("C", chemistry="rich"), about=("'rich'", "'full'"))  # type: ignore[arg-type]


def test_unknown_attribute() -> None:
    fails(lambda: from_smiles(["C"], attributes=["charge", "colour"]), about="'colour'")


def test_not_molecules() -> None:
    fails(lambda: from_rdkit([Chem.MolFromSmiles("C"), None]), about="graph 1")
    fails(lambda: from_smiles(["C", float("nan")]), about="graph 1")  # type: ignore[list-item]
    fails(lambda: from_smiles(["C", 2.5]), about="graph 1")  # type: ignore[list-item]


def test_molecule_that_is_not_sanitized(capfd: pytest.CaptureFixture[str]) -> None:
    raw = Chem.MolFromSmiles("CC", sanitize=False)
    assert from_rdkit(raw, chemistry="elements") == from_smiles("CC", chemistry="elements")
    for options in ({"chemistry": "elements", "attributes": "hydrogens"}, {}):
        fails(lambda: from_rdkit(raw, **options), about=("graph 0", "SanitizeMol"))  # noqa: B023
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("kind", ["ZERO", "HYDROGEN", "OTHER"])
def test_bond_without_order(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    editable = Chem.RWMol(Chem.MolFromSmiles("C.C"))
    editable.AddBond(0, 1, Chem.BondType.names[kind])
    molecule = editable.GetMol()
    found = from_rdkit(molecule, chemistry="elements", bond_types=True)
    np.testing.assert_array_equal(dense(found), [[0, 1], [1, 0]])
    assert found.edge_label_names == (kind,)
    fails(lambda: from_rdkit(molecule, bond_orders=True), about=("graph 0", "atoms 0 and 1", kind))
    assert capfd.readouterr().err == ""


@pytest.mark.real_data
def test_real_molecules(data_folder: Path) -> None:
    path = data_folder.parent / "molecules" / "moses_test.csv.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with gzip.open(path, "rt") as file:
        smiles = [row["SMILES"] for row, _ in zip(csv.DictReader(file), range(500), strict=False)]
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    expected = GraphBatch.concatenate([by_hand(m, ["mass"], True) for m in molecules])
    assert from_smiles(smiles, attributes="mass", bond_orders=True) == expected


def test_what_nodes_are_called_is_kept(tmp_path):
    """By every converter and reader of graphs whose nodes have names."""
    path = nx.Graph([("Eve", "Bob"), ("Bob", "Joe")])
    names = ["Eve", "Bob", "Joe"]
    table = {"source": ["Eve", "Bob"], "target": ["Bob", "Joe"]}
    own = igraph.Graph([(0, 1), (1, 2)])
    own.vs["name"] = names
    batches = [
        from_networkx([path, path]),
        from_igraph([own, own]),
        from_dataframe({**table, "graph_id": [0, 0]}),
        from_dataframe({**table, "graph_id": [0, 0]}, {"node": names, "graph_id": [0] * 3}),
    ]
    texts = {
        "a.edges": "Eve Bob\nBob Joe\n",
        "a.json": json.dumps(nx.node_link_data(path, edges="links")),
        "a.gml": "\n".join(nx.generate_gml(path)),
        "a.graphml": "\n".join(nx.generate_graphml(path)),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)  # of the label of GML
            batches.append(read_graphs(tmp_path / name).graphs)
    for batch in batches:
        assert batch.node_names.tolist() == names * len(batch)
    (tmp_path / "numbered.edges").write_text("30 2\n2 1\n")
    assert read_graphs(tmp_path / "numbered.edges").graphs.node_names.tolist() == [1, 2, 30]
    (tmp_path / "weighted.edges").write_text("30 2 0.5\n2 1 1\n")
    found = read_graphs(tmp_path / "weighted.edges").graphs
    assert found.node_names.tolist() == ["1", "2", "30"]
    signed = nx.Graph()
    signed.add_weighted_edges_from([("a", "b", -1), ("b", "c", 2)])
    twice = from_networkx([signed, signed], negative="split").node_names
    assert twice.tolist() == [*"abcabc"] * 2
    plain = nx.convert_node_labels_to_integers(signed)
    assert from_networkx(plain, negative="split").node_names is None
    assert from_networkx(nx.path_graph(3)).node_names is None
    assert from_igraph(igraph.Graph.Ring(3)).node_names is None


def test_what_nodes_are_called_is_given_back(tmp_path):
    batch = from_networkx([nx.path_graph([1, 0, 7]), nx.Graph([("a", ("b", 2))])])
    assert [list(graph) for graph in to_networkx(batch)] == [[1, 0, 7], ["a", ("b", 2)]]
    assert [graph.vs["name"] for graph in to_igraph(batch)] == [[1, 0, 7], ["a", ("b", 2)]]
    for back in (from_networkx(to_networkx(batch)), from_igraph(to_igraph(batch))):
        assert back == batch
        assert back.node_names.tolist() == batch.node_names.tolist()
    for own in (["a", "a", "b", "c", "d"], ["a", None, "b", "c", None]):  # no names to call by
        same = to_networkx(batch.with_node_names(own))[0]
        assert list(same) == [0, 1, 2]
    write_graphs(batch[:1], tmp_path / "g", format="graphml")
    assert read_graphs(tmp_path / "g").graphs.node_names.tolist() == ["1", "0", "7"]


def test_a_text_among_the_numbers_of_several_targets_is_named(tmp_path: Path) -> None:
    """It left out its whole column, in silence, where all columns of numbers were asked for."""
    rows = [f"{'C' * k},{k / 2},{k % 2},x{k}" for k in range(1, 12)]
    for odd in (">10", "0,5"):
        some = [*rows[:4], f'CCO,,1,"{odd}"', f'CCN,"{odd}",0,y', *rows[4:]]
        path = tmp_path / "some.csv"
        path.write_text("\n".join(["smiles,a,b,kind", *some]))
        for column in ("all", ["a", "b"]):
            about = ("some.csv, line 7, column 'a'", odd)
            fails(partial(read_graphs, path, target_column=column), about=about)
