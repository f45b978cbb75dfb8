"""Negative and directed weights: every choice gives the graphs that it says, and is remembered."""

import copy
import json
import pickle
import tempfile
import warnings
from functools import partial
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from retgk import (
    GraphBatch,
    GraphClassifier,
    GraphDataset,
    GraphRegressor,
    InvalidInputError,
    RetGK,
    Walks,
    as_batch,
    load_model,
    most_similar,
    read_graphs,
    save_model,
    similarity,
)
from retgk._runtime.fields import build
from retgk.errors import InputWarning
from retgk.graphs.reading import Reading
from retgk.io import (
    from_dataframe,
    from_edge_lists,
    from_grakel,
    from_igraph,
    from_networkx,
    from_numpy,
    from_rdkit,
    from_scipy,
    from_smiles,
    iter_parquet,
    write_parquet,
)
from retgk.io.convert import batch_like
from retgk.io.json import write_json
from retgk.kernels import Laplacian, PolynomialGraphKernel, RetGKEmbedding, ShortestPath
from retgk.search import distances
from tests.errors import fails
from tests.example_graphs import edge_label_values, node_link
from tests.programs import assert_fails, invoke, record

ONE = {"C": 1, "candidates": {}, "cv": 2, "random_state": 0}
LINEAR = PolynomialGraphKernel()

SIGNED = np.array(
    [[0.0, 0.5, -0.3, 0.0], [0.5, 0.0, 0.0, -1.0], [-0.3, 0.0, 0.0, 2.0], [0.0, -1.0, 2.0, 0.0]]
)
POSITIVE, NEGATIVE = np.maximum(SIGNED, 0), np.maximum(-SIGNED, 0)
ZERO = np.zeros((4, 4))
UNION = np.block([[POSITIVE, ZERO], [ZERO, NEGATIVE]])
PLAIN = {"absolute": np.abs(SIGNED), "positive": POSITIVE}
DIRECTED = np.array([[3.0, 4.0, 0.0], [2.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
TWO_WAYS = {
    True: np.maximum(DIRECTED, DIRECTED.T),
    "max": np.maximum(DIRECTED, DIRECTED.T),
    "mean": (DIRECTED + DIRECTED.T) / 2,
    "sum": DIRECTED + DIRECTED.T - np.diag(DIRECTED.diagonal()),
}


def edges_of(matrix):
    pairs = np.argwhere(np.triu(matrix))
    return pairs, matrix[tuple(pairs.T)]


def converted(kind, matrices, **options):
    """The same graphs by each of the converters of arrays."""
    if kind == "numpy":
        return from_numpy(matrices, **options)
    if kind == "sparse":
        return from_scipy([csr_array(matrix) for matrix in matrices], **options)
    if kind == "stack":
        return as_batch(np.array(matrices), **options)
    edges, weights = zip(*map(edges_of, matrices), strict=True)
    return from_edge_lists(
        list(edges), [len(m) for m in matrices], weights=list(weights), symmetrize=True, **options
    )


KINDS = ("numpy", "sparse", "stack", "edges")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("choice", PLAIN)
def test_choices_of_weights_alone(kind, choice):
    graphs = converted(kind, [SIGNED, -SIGNED], negative=choice)
    other = np.abs(SIGNED) if choice == "absolute" else NEGATIVE
    assert graphs == from_numpy([PLAIN[choice], other])


@pytest.mark.parametrize("kind", KINDS)
def test_split_is_the_union_of_both_parts(kind):
    graphs = converted(kind, [SIGNED, 2 * SIGNED], negative="split")
    signs = ["+"] * 4 + ["-"] * 4
    assert graphs == from_numpy([UNION, 2 * UNION], labels=[signs, signs])


@pytest.mark.parametrize("kind", KINDS)
def test_split_keeps_labels_and_attributes_for_both_parts(kind):
    labels, attributes = [list("abca"), list("bbbb")], [np.arange(8.0).reshape(4, 2)] * 2
    matrices = [SIGNED, SIGNED]
    graphs = converted(kind, matrices, negative="split", labels=labels, attributes=attributes)
    names = [[(label, sign) for sign in "+-" for label in own] for own in labels]
    doubled = [np.concatenate([own, own]) for own in attributes]
    assert graphs == from_numpy([UNION, UNION], labels=names, attributes=doubled)


@pytest.mark.parametrize("choice", [*PLAIN, "split"])
def test_parallel_edges_add_up_before_their_sign_counts(choice, tmp_path):
    pairs, weights = [(0, 1), (0, 1), (1, 2), (0, 1), (2, 3)], [2.0, -1.0, -3.0, 0.5, 1.0]
    matrix = np.zeros((4, 4))
    for (first, second), weight in zip(pairs, weights, strict=True):
        matrix[first, second] += weight
    expected = from_numpy(matrix + matrix.T, negative=choice)
    lines = [f"{i} {j} {w}\n" for (i, j), w in zip(pairs, weights, strict=True)]
    (tmp_path / "g.edges").write_text("".join(lines))
    assert read_graphs(tmp_path / "g.edges", negative=choice).graphs == expected
    how = {"negative": choice, "symmetrize": True}
    assert from_edge_lists([pairs], [4], weights=[weights], **how) == expected
    rows = [0, 3, 4, 5, 5], [1, 1, 1, 2, 3], [2.0, -1.0, 0.5, -3.0, 1.0]
    assert GraphBatch([0, 4], *rows, **how) == expected


def test_split_compares_parts_with_their_like():
    """A graph and its negative have nothing in common but what labels allow, which is nothing."""
    only = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    kernel = RetGK(structure=Laplacian(1.0), walks=Walks(4), graph_kernel=LINEAR, tol=0.0)
    products = kernel.fit_transform(from_numpy([only, -only], negative="split"))
    plain = kernel.fit_transform(from_numpy([only, np.zeros((3, 3))]))
    assert products[0, 0] == pytest.approx((plain[0, 0] + plain[1, 1]) / 4)
    assert products[0, 1] == pytest.approx(2 * plain[0, 1] / 4)


@pytest.mark.parametrize("convert", [from_numpy, lambda m, **o: from_scipy(csr_array(m), **o)])
@pytest.mark.parametrize("choice", TWO_WAYS)
def test_directions(convert, choice):
    assert convert(DIRECTED, symmetrize=choice) == from_numpy(TWO_WAYS[choice])


def test_directions_of_networkx_and_of_edges():
    import networkx as nx

    graph = nx.from_numpy_array(DIRECTED, create_using=nx.DiGraph)
    pairs = np.argwhere(DIRECTED)
    weights = [DIRECTED[tuple(pairs.T)]]
    for choice in ("mean", "sum"):
        expected = from_numpy(TWO_WAYS[choice])
        assert as_batch(graph, symmetrize=choice) == expected
        assert from_edge_lists([pairs], weights=weights, symmetrize=choice) == expected


def test_signs_come_before_directions():
    one_way = np.array([[0.0, 1.0], [-1.0, 0.0]])
    graphs = from_numpy(one_way, negative="positive", symmetrize="mean")
    assert graphs == from_numpy(np.array([[0.0, 0.5], [0.5, 0.0]]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "negative='absolute'"),
        ({"negative": "abs"}, "negative must be one"),
        ({"symmetrize": "median"}, "symmetrize must be True"),
    ],
)
def test_bad_choices(options, message):
    fails(lambda: from_numpy(SIGNED, **options), about=message)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("choice", ["error", "absolute", "positive", "split"])
def test_what_is_no_number_stays_an_error(value, choice, tmp_path):
    bad = SIGNED.copy()
    bad[0, 1] = bad[1, 0] = value
    fails(lambda: from_numpy(bad, negative=choice), about="graph 0")
    np.save(tmp_path / "m.npy", bad)
    fails(lambda: read_graphs(tmp_path / "m.npy", negative=choice), about="m.npy")


# correlations: Fisher's z, thresholds and densities

MATRIX_KINDS = ("numpy", "sparse", "stack")


def full_correlations(n=7, n_graphs=3):
    signals = np.random.default_rng(3).normal(size=(n_graphs, 25, n))
    return [np.corrcoef(each.T).round(9) for each in signals]


def naive_correlations(matrix, fisher_z=False, threshold=0.0, density=1.0):
    found = np.zeros_like(matrix)
    pairs = sorted(combinations(range(len(matrix)), 2), key=lambda pair: -abs(matrix[pair]))
    for a, b in pairs[: round(density * len(pairs))]:
        if abs(matrix[a, b]) >= threshold:
            found[a, b] = found[b, a] = np.arctanh(matrix[a, b]) if fisher_z else matrix[a, b]
    return found


@pytest.mark.parametrize("kind", MATRIX_KINDS)
@pytest.mark.parametrize("negative", ["absolute", "split"])
@pytest.mark.parametrize(
    "options",
    [
        {"fisher_z": True},
        {"threshold": 0.2},
        {"density": 0.3},
        {"fisher_z": True, "threshold": 0.1, "density": 0.5},
    ],
    ids=str,
)
def test_correlations(kind, negative, options):
    matrices = full_correlations()
    found = converted(kind, matrices, negative=negative, **options)
    expected = [naive_correlations(matrix, **options) for matrix in matrices]
    assert found.without_labels() == from_numpy(expected, negative=negative).without_labels()


def test_density_of_positive_correlations_alone():
    """Negative ones are no edges first, so that the share is of positive ones."""
    matrices = full_correlations()
    found = from_numpy(matrices, negative="positive", density=0.2)
    expected = [naive_correlations(np.maximum(matrix, 0), density=0.2) for matrix in matrices]
    assert found == from_numpy(expected)
    assert (found.edge_counts == 4).all()


def test_equal_weights_are_kept_together():
    """Whatever the order of nodes: as many as fit, and those that are equal to the last."""
    found = from_numpy([np.ones((5, 5)), np.zeros((5, 5))], density=0.2)
    assert found.edge_counts.tolist() == [10, 0]


def test_directions_that_differ_by_rounding_are_one_edge():
    matrix = np.array([[1.0, 0.5, 0.1], [0.5 - 1e-16, 1.0, 0.3], [0.1, 0.3, 1.0]])
    for options in ({"threshold": 0.5}, {"density": 1 / 3}):
        assert from_numpy(matrix, **options).edge_counts.tolist() == [1]


def test_correlations_of_files_and_models(tmp_path):
    matrices, targets = signed_stack(), [0, 1] * 6
    path, model_path = tmp_path / "m.npy", tmp_path / "model.retgk"
    np.save(path, matrices)
    options = {"negative": "absolute", "fisher_z": True, "threshold": 0.05, "density": 0.8}
    expected = from_numpy(matrices, **options)
    assert read_graphs(path, **options).graphs == expected
    model = GraphClassifier(RetGK(walks=Walks(5)), **ONE).fit(expected, targets)
    save_model(model, model_path)
    model = load_model(model_path)
    assert np.array_equal(model.predict(matrices), model.predict(expected))
    plain = from_numpy(matrices, negative="absolute")
    fails(lambda: model.predict(plain), about="fisher_z=True")
    words = ("--negative", "absolute", "--fisher-z", "--threshold", 0.05, "--density", 0.8)
    found = record("info", path, *words)
    assert found["edges"] == expected.n_edges
    predicted = record("predict", model_path, path, "-o", "-")
    assert len(predicted["prediction"]) == len(matrices)


def test_models_of_matrices_take_edges():
    """Options of matrices that say nothing do not stop arrays of edges."""
    cycles = [np.roll(np.eye(n), 1, 1) + np.roll(np.eye(n), -1, 1) for n in range(4, 16)]
    model = GraphClassifier(RetGK(walks=Walks(5)), **ONE).fit(cycles, [0, 1] * 6)
    edges = [np.argwhere(cycle) for cycle in cycles]
    assert np.array_equal(model.predict(edges), model.predict(cycles))


@pytest.mark.parametrize(
    ("matrix", "options", "about"),
    [
        (1.5 * SIGNED, {"fisher_z": True}, ("nodes 1 and 3", "-1.5", "fisher_z")),
        (SIGNED, {"fisher_z": True, "threshold": 0.6}, ("nodes 1 and 3", "-1", "same signal")),
        (SIGNED, {"density": 0}, ("density", "0")),
        (SIGNED, {"density": 10}, ("density", "10")),
        (SIGNED, {"threshold": -0.1}, ("threshold", "-0.1")),
        (SIGNED, {"threshold": 3}, ("threshold", "3", "largest is 2")),
        (SIGNED, {"fisher_z": "yes"}, ("fisher_z", "yes")),
        (np.full((2, 2), np.nan), {"fisher_z": True, "density": 0.5}, "graph 0"),
    ],
)
def test_bad_correlations(matrix, options, about):
    fails(lambda: from_numpy(matrix, negative="absolute", **options), about)


def test_edges_are_no_correlations():
    fails(lambda: as_batch(np.array([[0, 1], [1, 2]] * 2), density=0.5), ("density", "edges"))


# files, models and the command line


def test_files(tmp_path):
    path = tmp_path / "m.npy"
    np.save(path, np.array([SIGNED, -SIGNED]))
    for choice in ("absolute", "positive", "split"):
        graphs = read_graphs(path, negative=choice).graphs
        assert graphs == from_numpy([SIGNED, -SIGNED], negative=choice)
        assert graphs.reading.options["negative"] == choice
    np.save(path, np.triu(SIGNED))
    fails(lambda: read_graphs(path, negative="split"), about=("m.npy", "graph 0"))
    assert read_graphs(path, negative="split", symmetrize="sum").graphs == from_numpy(
        SIGNED, negative="split"
    )


def test_command_line(tmp_path):
    path = tmp_path / "m.npy"
    np.save(path, np.array([SIGNED, -SIGNED]))
    words = "weights must be finite and not negative; --negative absolute"
    assert_fails(invoke("info", path), words)
    assert record("info", path, "--negative", "split")["graphs"] == 2
    np.save(path, DIRECTED)
    assert record("info", path, "--symmetrize-by", "mean")["graphs"] == 1


def signed_stack(n=12):
    rng = np.random.default_rng(0)
    signals = rng.normal(size=(n, 30, 6))
    signals[::2, :, :3] += rng.normal(size=(len(signals[::2]), 30, 1))
    return np.array([np.corrcoef(each.T) - np.eye(6) for each in signals]).round(6)


@pytest.mark.parametrize("choice", ["absolute", "positive", "split"])
def test_models_read_new_graphs_with_the_same_choice(choice, tmp_path):
    stack, targets = signed_stack(), [0, 1] * 6
    graphs = from_numpy(stack, negative=choice)
    model = GraphClassifier(RetGK(walks=Walks(5)), **ONE).fit(graphs, targets)
    expected = model.decision_function(graphs)
    assert np.array_equal(model.decision_function(stack), expected)
    other = "positive" if choice != "positive" else "absolute"
    fails(
        lambda: model.decision_function(from_numpy(stack, negative=other)),
        about=(f"negative='{other}'", f"negative='{choice}'"),
    )
    save_model(model, tmp_path / "model.retgk")
    again = load_model(tmp_path / "model.retgk")
    assert again.reading_.options["negative"] == choice
    assert np.array_equal(again.decision_function(stack), expected)
    np.save(tmp_path / "new.npy", stack)
    found = record("predict", tmp_path / "model.retgk", tmp_path / "new.npy", "-o", "-")
    assert len(found["prediction"]) == len(stack)
    contradiction = invoke(
        "predict", tmp_path / "model.retgk", tmp_path / "new.npy", "--negative", other, "-o", "-"
    )
    assert_fails(contradiction, "--negative contradicts the model")


def _of_networkx(matrix, _, **options):
    return as_batch(nx.from_numpy_array(matrix), **options)


def _of_igraph(matrix, _, **options):
    return as_batch(igraph.Graph.from_networkx(nx.from_numpy_array(matrix)), **options)


def _of_pyg(matrix, _, **options):
    index, weight = np.array(np.nonzero(matrix)), matrix[np.nonzero(matrix)]
    data = SimpleNamespace(edge_index=index, edge_weight=weight, num_nodes=len(matrix))
    return as_batch(data, **options)


def _of_grakel(matrix, _, **options):
    return from_grakel([[matrix]], **options)


def _of_dataframe(matrix, _, **options):
    pairs, weights = edges_of(matrix)
    columns = {"source": pairs[:, 0], "target": pairs[:, 1], "weight": weights}
    nodes = {"node": range(len(matrix))}
    return from_dataframe(columns, nodes, graph_id=None, **options)


def _of_batch(matrix, _, **options):
    pairs, weights = edges_of(matrix)
    return GraphBatch.from_edges(len(matrix), pairs, weights, symmetrize=True, **options)


def _of_rows(matrix, _, **options):
    rows = csr_array(matrix)
    return GraphBatch([0, len(matrix)], rows.indptr, rows.indices, rows.data, **options)


def _of_graphml(matrix, folder, **options):
    nx.write_graphml(nx.from_numpy_array(matrix), folder / "a.graphml")
    return read_graphs(folder / "a.graphml", **options).graphs


def _of_gml(matrix, folder, **options):
    pairs, weights = edges_of(matrix)
    nodes = "".join(f"node [ id {node} ]" for node in range(len(matrix)))
    lines = [
        f"edge [ source {u} target {v} weight {w} ]"
        for (u, v), w in zip(pairs, weights, strict=True)
    ]
    (folder / "a.gml").write_text(f"graph [ {nodes} {' '.join(lines)} ]")
    return read_graphs(folder / "a.gml", **options).graphs


def _of_node_links(matrix, _, **options):
    return from_node_links([nx.from_numpy_array(matrix)], **options)


def _of_plain_json(matrix, folder, **options):
    pairs, weights = edges_of(matrix)
    record = {"n_nodes": len(matrix), "edges": pairs.tolist(), "weights": weights.tolist()}
    (folder / "a.json").write_text(json.dumps(record))
    return read_graphs(folder / "a.json", **options).graphs


def _of_edge_list(matrix, folder, **options):
    pairs, weights = edges_of(matrix)
    lines = [f"{u} {v} {w}\n" for (u, v), w in zip(pairs, weights, strict=True)]
    (folder / "a.edges").write_text("".join(lines))
    return read_graphs(folder / "a.edges", **options).graphs


def _of_tudataset(matrix, folder, **options):
    index, weights = np.argwhere(matrix) + 1, matrix[np.nonzero(matrix)]
    files = {
        "A": "".join(f"{u}, {v}\n" for u, v in index),
        "edge_attributes": "".join(f"{w}\n" for w in weights),
        "graph_indicator": "1\n" * len(matrix),
        "graph_labels": "1\n",
    }
    for name, text in files.items():
        (folder / f"T_{name}.txt").write_text(text)
    return read_graphs(folder, weight_column=0, **options).graphs


SIGNED_SOURCES = [
    *(_of_networkx, _of_igraph, _of_pyg, _of_grakel, _of_dataframe, _of_batch, _of_rows),
    *(_of_graphml, _of_gml, _of_node_links, _of_plain_json, _of_edge_list, _of_tudataset),
]


@pytest.mark.parametrize("source", SIGNED_SOURCES)
def test_every_door_that_names_the_option_has_it(source, tmp_path):
    fails(lambda: source(SIGNED, tmp_path), about="negative='absolute'")
    for choice in ("absolute", "positive", "split"):
        assert source(SIGNED, tmp_path, negative=choice) == from_numpy(SIGNED, negative=choice)
    fails(lambda: source(SIGNED, tmp_path, negative="abs"), about="negative must be one of")


def test_both_parts_keep_columns_of_labels():
    graph = nx.from_numpy_array(SIGNED)
    for node, data in graph.nodes(data=True):
        data.update(kind="ab"[node % 2], role="xy"[node // 2])
    split = as_batch(graph, label=["kind", "role"], negative="split")
    assert split.label_columns == ("kind", "role", "sign")
    assert ("a", "x", "-") in split.label_names


def test_both_parts_keep_labels_of_edges():
    graph = nx.from_numpy_array(SIGNED)
    nx.set_edge_attributes(graph, {edge: str(edge) for edge in graph.edges}, "bond")
    read = partial(as_batch, graph, edge_label="bond")
    split, absolute = read(negative="split"), read(negative="absolute")
    assert sorted(edge_label_values(split)) == sorted(edge_label_values(absolute))
    assert split.without_edge_labels() == from_numpy(SIGNED, negative="split")


def test_commands_read_signed_graphs(tmp_path):
    nx.write_graphml(nx.from_numpy_array(SIGNED), tmp_path / "signed.graphml")
    assert_fails(invoke("info", tmp_path / "signed.graphml"), "--negative absolute")
    found = record("info", tmp_path / "signed.graphml", "--negative", "split")
    assert found["labels"] == ["+", "-"]


def test_ones_on_the_diagonal_are_a_warning():
    """Correlations as NumPy gives them have self-loops that nobody means."""
    correlations = np.corrcoef(np.random.default_rng(0).normal(size=(4, 30)))
    with pytest.warns(InputWarning, match="ones on the diagonal, as correlations do"):
        from_numpy([correlations, correlations], negative="absolute")
    with pytest.warns(InputWarning, match="ones on the diagonal"):
        from_scipy(csr_array(correlations), negative="absolute")
    plain = [np.ones((3, 3)), correlations - np.diag(np.diag(correlations)), 2 * correlations]
    plain.append(np.diag([1.0, 1.0, 0.5]) + 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for matrix in plain:
            from_numpy(matrix, negative="absolute")


# A model remembers how its graphs were read, and reads new ones in the same way

SMILES = ["CCO", "c1ccccc1", "CC=O", "C#N", "CCCC", "c1ccncc1", "CC(=O)O", "C=CC"] * 2
TARGETS = [0, 1] * 8
OPTIONS: dict[str, Any] = {"bond_orders": True, "attributes": ["aromatic"]}
BONDS = as_batch(SMILES, **OPTIONS)
FAST = {"walks": Walks(5), "random_state": 0}
MAKERS = {
    "kernel": lambda: RetGK(**FAST).fit(BONDS),
    "embedding": lambda: RetGKEmbedding(**FAST, n_components=8).fit(BONDS),
    "classifier": lambda: GraphClassifier(RetGK(**FAST), **ONE).fit(BONDS, TARGETS),
    "approximate": lambda: GraphClassifier(RetGK(n_components=64), **ONE).fit(BONDS, TARGETS),
    "sum": lambda: GraphClassifier(RetGK(**FAST) + ShortestPath(), **ONE).fit(BONDS, TARGETS),
    "regressor": lambda: GraphRegressor(RetGK(**FAST), **ONE).fit(BONDS, np.arange(16.0)),
}
METHODS = ("transform", "distances", "diagonal", "predict", "decision_function", "predict_proba")


def assert_reads_alike(model: Any, raw: Any, batch: GraphBatch) -> None:
    """Raw graphs give what the batch gives that was read as the fitted graphs were."""
    for name in METHODS:
        if hasattr(model, name):
            answer = getattr(model, name)
            np.testing.assert_array_equal(answer(raw), answer(batch), err_msg=name)


@pytest.mark.parametrize("name", MAKERS)
def test_raw_graphs_are_read_as_the_fitted_ones_were(name: str, tmp_path: Path) -> None:
    model = MAKERS[name]()
    assert model.reading_ == BONDS.reading
    assert_reads_alike(model, SMILES[:5], BONDS[:5])
    save_model(model, tmp_path / "model.retgk")
    loaded = load_model(tmp_path / "model.retgk")
    assert loaded.reading_ == BONDS.reading
    assert_reads_alike(loaded, SMILES[:5], BONDS[:5])


@pytest.mark.parametrize("name", MAKERS)
def test_graphs_that_were_read_in_another_way_are_refused(name: str) -> None:
    model = MAKERS[name]()
    others = as_batch(SMILES, attributes=["aromatic"])
    about = ("read with bond_orders=False", "fitted ones with bond_orders=True")
    for method in METHODS:
        collections = (others, GraphDataset(others, TARGETS, "others"), [others, others])
        for graphs in (*collections, [BONDS, others], np.asarray(others)):
            if hasattr(model, method):
                fails(partial(getattr(model, method), graphs), about)


def test_streams_are_read_alike() -> None:
    model = MAKERS["embedding"]()
    parts = list(model.transform(iter([SMILES[:3], SMILES[3:5]])))
    np.testing.assert_array_equal(np.vstack(parts), model.transform(BONDS[:5]))


def test_molecules_of_rdkit_and_smiles_are_of_one_kind() -> None:
    from rdkit import Chem

    molecules = [Chem.MolFromSmiles(text) for text in SMILES]
    assert from_rdkit(molecules, **OPTIONS).reading == BONDS.reading
    assert_reads_alike(MAKERS["classifier"](), molecules, BONDS)


def test_batches_made_by_hand_are_taken_as_they_are() -> None:
    model = MAKERS["classifier"]()
    labels = [BONDS.label_names[code] for code in BONDS.labels]
    by_hand = BONDS.with_labels(labels)
    assert by_hand.reading is None
    np.testing.assert_array_equal(model.predict(by_hand), model.predict(BONDS))
    plain = RetGK(**FAST).fit(by_hand.without_attributes())
    assert plain.reading_ is None
    plain.transform(as_batch(SMILES, bond_orders=True))


@pytest.fixture
def named() -> Any:
    """A graph of networkx with more than one name for everything."""
    graph = nx.path_graph(4)
    for node, data in graph.nodes(data=True):
        data.update(kind="ab"[node % 2], role="xy"[node // 2], size=float(node))
    nx.set_edge_attributes(graph, 2.0, "strength")
    return graph


@pytest.mark.filterwarnings("ignore:'(kind|role)' became")
@pytest.mark.parametrize(
    "options",
    [
        {"label": ["kind", "role"], "attributes": [], "weight": None},
        {"label": "kind", "attributes": "size", "weight": "strength"},
        {"attributes": ["size", "size"], "edge_label": []},
        {"categorical": "kind", "edge_label": []},
        {
            "label": "kind",
            "attributes": ["size"],
            "categorical": ["role"],
            "edge_label": "strength",
        },
        {"label": "kind", "edge_label": ["strength", "strength"], "categorical": ["role", "kind"]},
    ],
)
def test_several_labels_and_categories(options: dict[str, Any], named: Any, tmp_path: Path) -> None:
    part = named.subgraph([0, 1]).copy()  # has one role
    for name, convert in (("nx", from_networkx), ("ig", from_igraph), ("json", from_node_links)):
        graphs = [named, part]
        if name == "ig":
            graphs = [igraph.Graph.from_networkx(graph) for graph in graphs]
        batch = convert(graphs, **options)
        model = RetGK(**FAST, graph_kernel=None).fit(batch)
        save_model(model, tmp_path / f"{name}.retgk")
        loaded = load_model(tmp_path / f"{name}.retgk")
        assert loaded.reading_ == model.reading_ == batch.reading
        raw = [part] if name == "json" else graphs[1:]
        for each in (model, loaded):
            assert_reads_alike(each, raw, batch[1:])
        back = read_graphs(write_parquet(batch, tmp_path / f"{name}.parquet")).graphs
        assert back.reading == batch.reading


def from_node_links(graphs: Any, **options: Any) -> GraphBatch:
    texts = [json.dumps(node_link(graph)) for graph in graphs]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graphs.jsonl")
        path.write_text("\n".join(texts))
        return read_graphs(path, **options).graphs


@pytest.mark.filterwarnings("ignore:'(kind|role)' became")
def test_categories_that_differ(named: Any) -> None:
    model = RetGK(**FAST).fit(from_networkx([named] * 2, categorical=["kind", "role"], weight=None))
    values = {"kind": ["a", "b"], "role": ["x", "y"]}
    model.transform(from_networkx(named, categorical=values, weight=None))
    others = [
        {"kind": ["b", "a"], "role": ["x", "y"]},
        {"role": ["x", "y"], "kind": ["a", "b"]},
        {"kind": ["a", "b"], "role": ["x", "y", "z"]},
    ]
    for other in others:
        new = from_networkx(named, categorical=other, weight=None)
        about = (f"with categorical={other}", f"the fitted ones with categorical={values}")
        fails(partial(model.transform, new), about)
    named.nodes[3]["role"] = "z"
    fails(lambda: model.transform([named]), about=("'z'", "'role'"))
    batch = from_networkx([named], categorical=["kind"], weight=None).without_attributes()
    assert batch.reading.options["categorical"] == {}


def test_tables_matrices_and_plain_edges(tmp_path: Path) -> None:
    edges = {"graph_id": [0, 1], "source": [0, 0], "target": [1, 1], "w": [1.0, 2.0]}
    model = RetGK(**FAST).fit(from_dataframe(edges, weight="w"))
    assert model.reading_.kind == "dataframe"
    plain = from_dataframe(edges, weight=None)
    fails(lambda: model.transform(plain), about=("weight=None", "weight='w'"))
    np.savez(tmp_path / "a.npz", a=PATH, b=np.ones(3))
    found = read_graphs(tmp_path / "a.npz", variable="a", symmetrize=True).graphs
    assert found.reading.form["variable"] == "a"
    assert_reads_alike(RetGKEmbedding(**FAST).fit(found), [PATH], found)
    path = write_json(BONDS, tmp_path / "a.json")
    plain = read_graphs(path).graphs.reading
    form = {"symmetrize": False, "missing": "error"}
    assert plain == Reading("json", {"weighted": True, "negative": "error"}, form)
    assert read_graphs(path, weight=None).graphs.reading.options["weighted"] is False


def test_directions_are_dropped_as_they_were() -> None:
    arrows = [nx.DiGraph([(0, 1), (1, 2)]), nx.DiGraph([(0, 1), (2, 0)])]
    model = RetGK(**FAST).fit(as_batch(arrows, symmetrize=True))
    assert_reads_alike(model, arrows, as_batch(arrows, symmetrize=True))
    assert_reads_alike(model, arrows, as_batch([arrow.to_undirected() for arrow in arrows]))
    edges = [np.array([[0, 1], [1, 2]]), np.array([[0, 1], [1, 2], [2, 3]])]
    model = RetGK(**FAST).fit(from_edge_lists(edges, symmetrize=True))
    assert_reads_alike(model, edges, from_edge_lists(edges, symmetrize=True))


def test_values_of_grakel() -> None:
    graphs = [[{(0, 1): 1, (1, 0): 1}, {0: 0.5, 1: value}] for value in (1.0, 2.0)]
    batch = from_grakel(graphs, as_attributes=True)
    assert_reads_alike(RetGK(**FAST).fit(batch), graphs, batch)


def test_labels_and_attributes_that_were_left_out() -> None:
    for batch in (BONDS.without_labels(), BONDS.without_attributes()):
        assert_reads_alike(RetGK(**FAST).fit(batch), SMILES[:3], batch[:3])
    message = ("the graphs have labels", "the fitted ones")
    fails(lambda: RetGK(**FAST).fit(BONDS.without_labels()).transform(BONDS), about=message)


def test_a_reading_stays_with_the_graphs() -> None:
    reading = BONDS.reading
    usual = {"chemistry": "full", "stereo": False, "largest_fragment": False}
    usual |= {"add_hydrogens": False, "bond_types": True}
    assert reading == Reading("molecules", usual | OPTIONS)
    parts = [BONDS[3], BONDS[2:5], BONDS[[4, 1]], BONDS[np.arange(16) > 3], next(iter(BONDS))]
    copies = [copy.deepcopy(BONDS), pickle.loads(pickle.dumps(BONDS))]
    joined = GraphBatch.concatenate([BONDS, BONDS[:3]])
    for batch in (*parts, *copies, joined):
        assert batch.reading == reading
    assert GraphBatch.concatenate([BONDS, as_batch("C", attributes=["aromatic"])]).reading is None
    assert BONDS.with_attributes(BONDS.attributes).reading is None


def test_a_reading_is_no_part_of_what_graphs_are() -> None:
    by_hand = BONDS.with_attributes(BONDS.attributes)
    assert by_hand == BONDS
    models = [RetGK(**FAST).fit(batch) for batch in (BONDS, by_hand)]
    assert models[0].engine_.digest() == models[1].engine_.digest()


def test_comparisons_read_both_sides_alike() -> None:
    assert similarity("CC=O", BONDS[2]) == pytest.approx(1.0, abs=1e-12)
    assert similarity(BONDS[2], "CC=O") == pytest.approx(1.0, abs=1e-12)
    assert most_similar("c1ccncc1", BONDS, k=1).indices.tolist() == [5]
    assert most_similar(BONDS[5], SMILES, k=1).indices.tolist() == [5]
    np.testing.assert_array_equal(distances(SMILES[:2], BONDS), distances(BONDS[:2], BONDS))
    message = ("bond_orders=False", "bond_orders=True")
    fails(lambda: distances(as_batch(SMILES, attributes="aromatic"), BONDS), about=message)


# Weights

PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], float)


@pytest.mark.parametrize(
    ("fitted", "new", "message"),
    [
        (PATH, 2 * PATH, "graphs have weights, those of the fitted graphs had none"),
        (2 * PATH, PATH, "graphs have no weights, those of the fitted graphs had some"),
    ],
)
def test_weights_that_differ_are_a_warning(
    fitted: Any, new: Any, message: str, tmp_path: Path
) -> None:
    model = RetGKEmbedding(**FAST).fit([fitted])
    save_model(model, tmp_path / "model.retgk")
    for each in (model, load_model(tmp_path / "model.retgk")):
        each.transform([fitted])
        with pytest.warns(InputWarning, match=message):
            each.transform([new])


def test_names_of_weights_that_are_gone_are_a_warning(named: Any) -> None:
    model = RetGK(**FAST).fit(from_networkx([named] * 2, attributes="size", weight="strength"))
    nx.set_edge_attributes(named, 1.0, "strength")
    with pytest.warns(InputWarning, match="have no weights"):
        model.transform(named)


def test_single_bonds_alone_are_no_warning() -> None:
    """Their orders are all one, but they were read."""
    MAKERS["classifier"]().predict(["CCO", "C"])


# Files


def test_parquet_files_say_how_their_graphs_were_read(tmp_path: Path) -> None:
    path = write_parquet(BONDS, tmp_path / "bonds.parquet")
    assert read_graphs(path).graphs.reading == BONDS.reading
    assert [part.graphs.reading for part in iter_parquet(path, 10)] == [BONDS.reading] * 2
    by_hand = write_parquet(BONDS.with_attributes(BONDS.attributes), tmp_path / "hand.parquet")
    assert read_graphs(by_hand).graphs.reading is None
    others = write_parquet(as_batch(SMILES, attributes="aromatic"), tmp_path / "others.parquet")
    fails(lambda: MAKERS["classifier"]().predict(read_graphs(others)), about="bond_orders=False")


def test_a_name_that_files_cannot_hold(tmp_path: Path, named: Any) -> None:
    nx.set_node_attributes(named, "x", frozenset("k"))
    batch = from_networkx([named] * 2, label=frozenset("k"), attributes=[], edge_label=[])
    assert read_graphs(write_parquet(batch, tmp_path / "a.parquet")).graphs.reading is None
    model = RetGK(**FAST).fit(batch)
    with pytest.warns(InputWarning, match="a model file cannot hold how the graphs were read"):
        save_model(model, tmp_path / "model.retgk")
    assert load_model(tmp_path / "model.retgk").reading_ is None


GOOD = vars(from_smiles("C").reading)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {**GOOD, "kind": "smoke"},
        {**GOOD, "kind": ["molecules"]},
        {**GOOD, "options": {"label": "x"}},
        {**GOOD, "options": []},
        {**GOOD, "more": 1},
    ],
)
def test_a_reading_from_a_file_is_checked(value: Any) -> None:
    assert build(Reading, GOOD) == from_smiles("C").reading
    with pytest.raises(InvalidInputError):
        build(Reading, value)


def test_kinds_that_differ_have_options_of_their_own() -> None:
    assert batch_like([nx.path_graph(3)], BONDS.reading.without_labels()).reading.kind == "networkx"
