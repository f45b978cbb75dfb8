"""An index finds what a scan finds, keeps ids aligned, and comes back from its folder the same."""

import hashlib
import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retgk import GraphBatch, GraphIndex, InvalidInputError, RetGK, Walks, save_model
from retgk.datasets import make_graph_classification
from retgk.io import from_networkx
from retgk.io.molecules import from_smiles
from retgk.kernels import RetGKEmbedding
from retgk.search import distances, duplicate_groups
from retgk.search import rows as row_store
from retgk.search.vectors import CONNECTIVITY, check_neighbour_file, fit_codec, scan, write_graph
from tests.errors import fails
from tests.model_file_mutations import with_array

GRAPHS = make_graph_classification(600, n_labels=3, n_nodes=(6, 14), rng=0).graphs
OTHERS = make_graph_classification(40, n_labels=3, n_nodes=(6, 14), rng=1).graphs
EMBEDDING = RetGKEmbedding(
    feature_map="phases", n_components=128, dtype=np.float32, random_state=0
).fit(GRAPHS)
NAMES = [f"graph {number}" for number in range(len(GRAPHS))]


def new_index(**options: object) -> GraphIndex:
    """Make an index with graphs of neighbours although it is small."""
    settings: dict = {"n_columns": 32, "scan_below": 100, **options}
    return GraphIndex(EMBEDDING, **settings)


@pytest.fixture(scope="module")
def index() -> GraphIndex:
    return new_index(keep_graphs=True).fit(GRAPHS, NAMES)


def assert_same_answers(first: GraphIndex, second: GraphIndex, **options: object) -> None:
    own, its = (each.query(OTHERS, 7, **options) for each in (first, second))
    assert own.ids.tolist() == its.ids.tolist()
    assert own.distances.tobytes() == its.distances.tobytes()


def naive_neighbours(index: GraphIndex, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and distances, from all differences of decoded vectors."""
    rows = index.state().rows
    codec = rows.codec
    stored = codec.decode(np.concatenate([piece.vectors for piece in rows.pieces]))
    asked = codec.decode(codec.encode(index.embedding_.transform(OTHERS)))
    squared = ((asked[:, None].astype(float) - stored.astype(float)) ** 2).sum(axis=2)
    squared[:, rows.removed] = np.inf
    order = np.argsort(squared, axis=1, kind="stable")[:, :k]
    return order, np.sqrt(np.take_along_axis(squared, order, axis=1))


@pytest.mark.parametrize("storage", ["int8", "float16"])
def test_a_scan_finds_the_nearest(storage: str) -> None:
    index = new_index(storage=storage).fit(GRAPHS)
    index.remove([3, 5])
    rows, distances = naive_neighbours(index, 9)
    found = index.query(OTHERS, 9, method="scan")
    np.testing.assert_allclose(found.distances, distances, rtol=1e-5, atol=1e-6)
    assert (found.ids == rows).mean() > 0.99  # of equal distances, rounding may choose


@pytest.mark.parametrize("storage", ["int8", "float16"])
def test_graphs_of_neighbours_find_what_a_scan_finds(
    storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_store, "RUN_ROWS", 256)
    index = new_index(storage=storage).fit(GRAPHS)
    assert sorted(index.state().rows.graphs) == [0, 1]  # 88 rows are left to be scanned
    exact = index.query(OTHERS, method="scan")
    found = index.query(OTHERS, method="approximate")
    assert (found.distances <= exact.distances[:, -1:] + 1e-12).mean() > 0.97
    assert np.array_equal(found.distances, np.sort(found.distances, axis=1))


def test_distances_are_those_of_mean_embeddings() -> None:
    index = GraphIndex(random_state=0).fit(GRAPHS)
    found = index.query(OTHERS, 20)
    exact = np.take_along_axis(distances(OTHERS, GRAPHS), found.ids, axis=1)
    np.testing.assert_allclose(found.distances, exact, rtol=0.1, atol=0.01)


def test_reranking_gives_exact_distances(index: GraphIndex) -> None:
    exact = distances(OTHERS, GRAPHS)
    found = index.query(OTHERS, 5, rerank=len(GRAPHS))
    np.testing.assert_allclose(found.distances, np.sort(exact, axis=1)[:, :5], atol=1e-5)
    rows = np.array([[NAMES.index(name) for name in row] for row in found.ids])
    np.testing.assert_allclose(np.take_along_axis(exact, rows, 1), found.distances, atol=1e-5)


def test_an_equal_graph_is_found_at_distance_zero(index: GraphIndex) -> None:
    found = index.query(GRAPHS[100:130], 1)
    assert found.distances.max() == 0
    assert np.mean(found.ids[:, 0] == NAMES[100:130]) > 0.9  # others may be equal to it


def test_ids_stay_with_their_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_store, "PIECE_ROWS", 64)
    index = new_index(scan_below=1000).fit(GRAPHS[:200], NAMES[:200])
    for start in range(200, 600, 33):
        index.add(GRAPHS[start : start + 33], NAMES[start : start + 33])
    pieces = index.state().rows.pieces
    assert max(map(len, pieces)) <= 64
    assert len(pieces) < 20
    whole = new_index(scan_below=1000)
    whole._fit_vectors(GRAPHS[:200]).add(GRAPHS, NAMES)
    assert_same_answers(index, whole)
    assert all(name in index for name in NAMES)
    assert "graph" not in index
    assert 3 not in index


def test_removed_graphs_are_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_store, "RUN_ROWS", 512)
    index = new_index().fit(GRAPHS, NAMES)
    gone = index.query(OTHERS, 10).ids.ravel().tolist()
    gone = list(dict.fromkeys([*gone, *NAMES[:450]]))
    index.remove(gone)
    found = index.query(OTHERS, 10, method="approximate")
    assert not set(found.ids.ravel()) & set(gone)
    assert len(index) == 600 - len(gone)
    exact = index.query(OTHERS, 10, method="scan")
    assert (found.distances <= exact.distances[:, -1:] + 1e-12).mean() > 0.97
    index.add(GRAPHS[:5], NAMES[:5])
    assert NAMES[0] in index
    assert index.query(GRAPHS[0], 1).distances[0, 0] == 0


def test_more_neighbours_than_graphs() -> None:
    index = new_index().fit(GRAPHS[:4])
    assert index.query(OTHERS, 10).ids.shape == (len(OTHERS), 4)
    index.remove([0, 1, 2, 3])
    assert index.query(OTHERS).ids.shape == (len(OTHERS), 0)
    assert len(index) == 0


def test_threads_and_company_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_store, "RUN_ROWS", 256)
    one, two = (new_index(n_jobs=n_jobs).fit(GRAPHS) for n_jobs in (1, 2))
    for run, graph in one.state().rows.graphs.items():
        assert graph.path.read_bytes() == two.state().rows.graphs[run].path.read_bytes()
    assert_same_answers(one, two)
    together = one.query(OTHERS)
    alone = [one.query(graph) for graph in OTHERS]
    assert np.array_equal(together.ids, np.concatenate([found.ids for found in alone]))
    assert np.array_equal(together.distances, np.concatenate([found.distances for found in alone]))


def test_a_saved_index_is_the_same(index: GraphIndex, tmp_path: Path) -> None:
    index.save(tmp_path / "index")
    loaded = GraphIndex.load(tmp_path / "index")
    assert len(loaded) == 600
    assert not loaded.state().rows.pieces[0].vectors.flags.writeable  # mapped from the file
    for options in ({}, {"method": "scan"}, {"rerank": 20}):
        assert_same_answers(index, loaded, **options)


def test_saving_again_writes_what_is_new(tmp_path: Path) -> None:
    index = new_index().fit(GRAPHS[:500])
    index.save(tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    loaded = GraphIndex.load(tmp_path).add(GRAPHS[500:520])
    loaded.remove([7])
    loaded.save(tmp_path)
    after = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    kept = {name for name in before if before[name] == after.get(name)}
    assert {name.partition("-")[0] for name in kept} >= {"codec", "embedding", "graph", "piece"}
    again = GraphIndex.load(tmp_path)
    assert len(again) == 519
    assert 7 not in again
    assert 519 in again
    assert_same_answers(loaded, again)
    again.save(tmp_path / "copy")
    assert_same_answers(again, GraphIndex.load(tmp_path / "copy"))


def test_two_who_write_one_folder_lose_nothing(tmp_path: Path) -> None:
    new_index().fit(GRAPHS[:20]).save(tmp_path)
    first, second = GraphIndex.load(tmp_path), GraphIndex.load(tmp_path)
    first.add(GRAPHS[20:30]).save(tmp_path)
    fails(lambda: second.add(GRAPHS[30:40]).save(tmp_path), "changed")
    assert len(GraphIndex.load(tmp_path)) == 30
    second.save(tmp_path / "other")
    assert len(GraphIndex.load(tmp_path / "other")) == 30
    first.add(GRAPHS[30:40]).save(tmp_path)
    assert len(GraphIndex.load(tmp_path)) == 40


def test_a_graph_of_neighbours_is_extended(tmp_path: Path) -> None:
    index = new_index().fit(GRAPHS[:300])
    index.save(tmp_path)
    loaded = GraphIndex.load(tmp_path).add(GRAPHS[300:])
    assert loaded.facts()["linked"] == 600
    loaded.save(tmp_path)
    assert len(list(tmp_path.glob("graph-*"))) == 1
    assert_same_answers(loaded, GraphIndex.load(tmp_path))


def test_few_vectors_are_not_turned() -> None:
    vectors = np.random.default_rng(0).normal(size=(100, 64)).astype(np.float32)
    assert fit_codec(vectors, 32, None).axes is None
    many = np.repeat(vectors, 2, axis=0)
    turned = fit_codec(many, 32, None)
    assert turned.storage == "int8"
    assert turned.axes is not None
    assert turned.axes.shape == (64, 32)
    np.testing.assert_allclose(turned.axes.T @ turned.axes, np.eye(32), atol=1e-5)


def test_ties_are_broken_by_row() -> None:
    codec = fit_codec(np.eye(4, dtype=np.float32), 4, "float16")
    stored = codec.encode(np.ones((50, 4), np.float32))
    squared, rows = scan(stored[:2], [(0, stored[:30], None), (30, stored[30:], None)], 5, codec)
    assert rows.tolist() == [[0, 1, 2, 3, 4]] * 2
    assert not squared.any()


def small(**options: Any) -> GraphIndex:
    return new_index(**options).fit(GRAPHS[:9])


BAD: list[tuple[Callable[[GraphIndex], Any], Any]] = [
    (lambda index: index.add(GRAPHS[:2], ["a"]), ("2 graphs", "1 ids")),
    (lambda index: index.add(GRAPHS[:2], ["a", "a"]), "'a'"),
    (lambda index: index.add(GRAPHS[:1], NAMES[:1]), "'graph 0'"),
    (lambda index: index.add(GRAPHS[:1], [1]), ("ids", "texts", "whole numbers")),
    (lambda index: index.add(GRAPHS[:1]), ("texts", "ids=")),
    (lambda index: index.add(GRAPHS[:1], [1.5]), ("id 0", "1.5")),
    (lambda index: index.remove(["x", NAMES[0]]), "'x'"),
    (lambda index: index.remove(np.array([[1, 2]])), "ids"),
    *(
        (lambda index, ids=ids: index.remove(ids), "whole numbers")
        for ids in (True, [1.0], [[1]], [b"x"])
    ),
    *((lambda index, ids=ids: index.remove(ids), "texts") for ids in (b"x", None, 2.0)),
    (lambda index: index.query(OTHERS, 0), ("k", "0")),
    (lambda index: index.query(OTHERS, method="fast"), ("method", "fast")),
    (lambda index: index.query(OTHERS, rerank=3), ("rerank", "10", "3")),
    (lambda index: index.query(OTHERS.without_labels()), "no labels"),
    (lambda _: new_index().fit(GRAPHS[:3], "abc"), ("3 graphs", "1 ids")),
    (lambda _: new_index().fit(GRAPHS[:3], b"abc"), ("ids", "list")),
    (lambda _: GraphIndex().query(OTHERS), "fitted"),
    (lambda _: GraphIndex(storage="int4"), ("storage", "int4")),
    (lambda _: GraphIndex(n_columns=0), ("n_columns", "0")),
    (lambda _: GraphIndex(RetGKEmbedding), "RetGKEmbedding"),
    (lambda _: GraphIndex(RetGK()).fit(GRAPHS[:9]), ("RetGK", "vectors", "n_components")),
    (lambda _: small().query(OTHERS, rerank=10), "keep_graphs=True"),
    (lambda _: small().query(OTHERS, method="approximate"), 'method="auto"'),
    (lambda _: GraphIndex.load("/nowhere"), "/nowhere"),
    (lambda _: GraphIndex(RetGKEmbedding(n_components=20000)).fit(GRAPHS), "20000 columns"),
]


@pytest.mark.parametrize(("call", "about"), BAD)
def test_bad_input(index: GraphIndex, call: Callable[[GraphIndex], Any], about: Any) -> None:
    fails(lambda: call(index), about)
    assert len(index) == 600
    assert NAMES[0] in index


def test_ids_are_numbers_by_default_and_may_be_one() -> None:
    index = new_index().fit(GRAPHS[:50]).add(GRAPHS[50:80])
    found = index.query(GRAPHS[79], 1).ids
    assert found.dtype == np.int64
    for ids in (found[0, 0], 8, np.array([9, 10]), []):
        index.remove(ids)
    index.add(GRAPHS[80:81])  # numbers go on
    assert [number in index for number in (7, 8, 9, 10, 11, 79, 80)] == [
        *(True, False, False, False, True, False, True)
    ]
    assert len(index) == 77
    named = new_index().fit(GRAPHS[:30], NAMES[:30])
    named.remove(named.query(GRAPHS[7], 1).ids[0, 0])
    assert (NAMES[7] in named, len(named)) == (False, 29)


def test_what_cannot_be_an_id_is_in_no_index(index: GraphIndex) -> None:
    numbered = new_index().fit(GRAPHS[:30])
    assert np.int64(3) in numbered
    for name in (10**30, -(10**30), np.uint64(2**64 - 1), "3", "\udcff", 3.0, True, None, b"x"):
        assert name not in numbered
        assert name not in index


def test_a_folder_has_one_writer(tmp_path: Path) -> None:
    from retgk.search.storage import Folder

    index = new_index().fit(GRAPHS[:20])
    with Folder(tmp_path).writing():
        fails(lambda: index.save(tmp_path), "another run")
    (tmp_path / "file").touch()
    fails(lambda: index.save(tmp_path / "file"), "file")
    assert os.listdir(tmp_path).count("manifest.json") == 0


def test_the_given_embedding_is_left_alone() -> None:
    embedding = RetGKEmbedding(walks=Walks(8), n_components=64, random_state=0).fit(GRAPHS[:60])
    before, maps = embedding.transform(OTHERS), embedding.maps_
    index = GraphIndex(embedding, keep_graphs=True).fit(GRAPHS[:60])
    assert embedding.maps_ is maps
    np.testing.assert_array_equal(index.embedding_.transform(OTHERS), before)
    before = [index.query(OTHERS, 5, rerank=rerank).distances for rerank in (None, 9)]
    embedding.set_params(walks=Walks(2, self_loop=5.0), depth=1).fit(OTHERS)
    index.embedding_.set_params(walks=Walks(2, self_loop=5.0), depth=1)
    after = [index.query(OTHERS, 5, rerank=rerank).distances for rerank in (None, 9)]
    np.testing.assert_array_equal(after, before)
    unfitted = RetGKEmbedding(n_components=8, random_state=0)
    smiles = from_smiles(["CCO", "CCN", "CC=O"], bond_orders=True)  # new ones are read alike
    assert GraphIndex(unfitted).fit(smiles).query(["CC=O"], 1).ids[0, 0] == 2
    assert not hasattr(unfitted, "maps_")


# Equal graphs are found whatever the order of their nodes, and others are not taken for equal

UNIQUE = make_graph_classification(30, n_labels=3, n_nodes=(5, 9), rng=0).graphs


def shuffled(graph: GraphBatch, rng: np.random.Generator) -> GraphBatch:
    """Give the same graph with its nodes in another order."""
    order = rng.permutation(graph.n_nodes)
    sources = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    edges = np.stack([order[sources], order[graph.indices]], axis=1)
    labels = np.empty(graph.n_nodes, object)
    labels[order] = [graph.label_names[code] for code in graph.labels]
    return GraphBatch.from_edges(
        graph.n_nodes, edges, weights=graph.weights, labels=labels.tolist()
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_shuffled_copies_are_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(UNIQUE), 5, replace=False)
    copies = [shuffled(UNIQUE[int(graph)], rng) for graph in chosen]
    found = duplicate_groups(GraphBatch.concatenate([UNIQUE, *copies]))
    groups = {frozenset(group.indices.tolist()) for group in found}
    for copy, graph in enumerate(chosen):
        assert any({30 + copy, int(graph)} <= group for group in groups)
    assert all(group.verified for group in found)


def naive_groups(graphs: list[nx.Graph]) -> list[list[int]]:
    """Groups by testing every pair."""
    same = lambda first, second: first == second  # noqa: E731
    groups: list[list[int]] = []
    for number, graph in enumerate(graphs):
        for group in groups:
            if nx.is_isomorphic(graphs[group[0]], graph, node_match=same, edge_match=same):
                group.append(number)
                break
        else:
            groups.append([number])
    return [group for group in groups if len(group) > 1]


def test_groups_are_those_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    graphs = []
    for _ in range(120):
        graph = nx.gnp_random_graph(int(rng.integers(2, 5)), 0.5, seed=int(rng.integers(1 << 30)))
        for node in graph:
            graph.nodes[node]["label"] = int(rng.integers(2))
        for edge in graph.edges:
            graph.edges[edge]["weight"] = float(rng.integers(1, 3))
        graphs.append(graph)
    found = duplicate_groups(from_networkx(graphs, label="label"))
    assert [group.indices.tolist() for group in found] == naive_groups(graphs)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))),
        # strongly regular with the same parameters: return probabilities and colours agree
        (
            nx.line_graph(nx.complete_bipartite_graph(4, 4)),
            nx.from_edgelist(
                ((a, b), ((a + i) % 4, (b + j) % 4))
                for a in range(4)
                for b in range(4)
                for i, j in ((0, 1), (1, 0), (1, 1))
            ),
        ),
    ],
)
def test_what_kernels_confuse_is_told_apart(first: nx.Graph, second: nx.Graph) -> None:
    assert duplicate_groups([first, second]) == []
    (group,) = duplicate_groups([first, second, nx.convert_node_labels_to_integers(first)])
    assert (group.indices.tolist(), group.verified) == ([0, 2], True)


def test_groups_of_large_graphs_are_not_verified() -> None:
    (group,) = duplicate_groups([nx.path_graph(30), nx.path_graph(30)], max_nodes=20)
    assert (group.indices.tolist(), group.verified) == ([0, 1], False)


def test_values_count() -> None:
    def groups(graphs: GraphBatch) -> list[list[int]]:
        return [group.indices.tolist() for group in duplicate_groups(graphs)]

    smiles = ["CCO", "CC=O", "OCC"]
    plain = from_smiles(smiles, chemistry="elements")
    values = np.array([0, 0, 1, 0, 0, 2, 1, 0, 0])[:, None]
    assert groups(plain) == [[0, 1, 2]]
    for own in (
        from_smiles(smiles, chemistry="elements", bond_types=True),
        from_smiles(smiles, chemistry="elements", bond_orders=True),
        plain.with_attributes(values),
    ):
        assert groups(own) == [[0, 2]]


# Hostile folders of an index are refused


FEW = GRAPHS[:300]


@pytest.fixture(scope="module")
def good_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "index"
    index = GraphIndex(EMBEDDING, n_columns=16, scan_below=100, keep_graphs=True)
    index.fit(FEW, NAMES[:300]).save(path)
    return path


@pytest.fixture
def folder(good_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(good_folder, tmp_path / "index"))


def manifest_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "manifest.json").read_text())


def write_manifest(folder: Path, document: dict[str, Any]) -> None:
    (folder / "manifest.json").write_text(json.dumps(document))


def entry_at(document: Any, *keys: Any) -> dict[str, Any]:
    for key in keys:
        document = document[key]
    return document


def replace_file(folder: Path, keys: tuple[Any, ...], content: bytes) -> None:
    """Write another file and what the manifest says of it: a stranger can do that."""
    document = manifest_of(folder)
    entry = entry_at(document, *keys)
    (folder / entry["name"]).write_bytes(content)
    entry["bytes"] = len(content)
    owner = entry_at(document, *keys[:-1])
    if "sha256" in owner:
        owner["sha256"] = hashlib.sha256(content).hexdigest()
    write_manifest(folder, document)


def replace_array(
    folder: Path, keys: tuple[Any, ...], name: str, change: Callable[[Any], Any]
) -> None:
    path = folder / entry_at(manifest_of(folder), *keys)["name"]
    replace_file(folder, keys, with_array(path.read_bytes(), name, change))


def change_manifest(folder: Path, keys: tuple[Any, ...], value: Any) -> None:
    document = manifest_of(folder)
    entry_at(document, *keys[:-1])[keys[-1]] = value(document) if callable(value) else value
    write_manifest(folder, document)


PIECE = ("pieces", 0, "file")
GRAPH = ("graphs", 0, "file")
CODEC, REMOVED = ("codec",), ("removed",)
ARRAYS: list[tuple[str, tuple[Any, ...], str, Callable[[Any], Any]]] = [
    ("vectors", PIECE, "vectors", lambda array: array[:, :8]),
    ("vectors", PIECE, "vectors", lambda array: array[:200]),
    ("vectors", PIECE, "vectors", lambda array: array.astype(np.float32)),
    ("ids", PIECE, "ids.offsets", lambda array: array[:-1]),
    ("ids", PIECE, "ids.offsets", lambda array: array[::-1]),
    ("ids", PIECE, "ids.offsets", lambda array: array + 10**12),
    ("ids", PIECE, "ids.text", lambda array: np.full_like(array, 255)),
    ("removed", REMOVED, "rows", lambda _: np.array([300])),
    ("removed", REMOVED, "rows", lambda _: np.array([-1])),
    ("axes", CODEC, "codec.axes", lambda array: array[:, :8]),
    ("axes", CODEC, "codec.axes", lambda array: np.full_like(array, np.nan)),
    ("units", CODEC, "codec.units", lambda array: -array),
    ("axes", CODEC, "codec.mean", lambda array: array[:-1]),
    ("damaged", PIECE, "graphs.node_ptr", lambda array: array + 1),
    ("damaged", PIECE, "graphs.indptr", lambda array: array[::-1]),
    ("damaged", PIECE, "graphs.labels", lambda array: array[:-1]),
    ("label", PIECE, "graphs.labels", lambda array: array + 1000),
    ("damaged", PIECE, "graphs.indices", lambda array: array.astype(np.int64)),
    ("neighbour", PIECE, "graphs.indices", lambda array: array + 1000),
]


@pytest.mark.parametrize(("about", "keys", "name", "change"), ARRAYS)
def test_wrong_arrays_are_refused(
    folder: Path, about: str, keys: tuple[Any, ...], name: str, change: Callable[[Any], Any]
) -> None:
    replace_array(folder, keys, name, change)
    fails(lambda: GraphIndex.load(folder), about)


def twice(document: dict[str, Any], **changes: Any) -> list[dict[str, Any]]:
    return [document["pieces"][0], {**document["pieces"][0], **changes}]


@pytest.mark.parametrize(
    ("about", "keys", "value"),
    [
        ("manifest.json", ("format",), "other"),
        ("version", ("version",), 99),
        ("version", ("version",), True),
        ("../secret.safetensors", (*PIECE, "name"), "../secret.safetensors"),
        ("/etc/passwd", (*PIECE, "name"), "/etc/passwd"),
        ("file", (*PIECE, "name"), ["vectors"]),
        (
            "piece-0000000000000000.safetensors",
            (*PIECE, "name"),
            "piece-0000000000000000.safetensors",
        ),
        ("bytes", (*PIECE, "bytes"), 3),
        ("checksum", ("graphs", 0, "sha256"), "0" * 64),
        ("rows", ("pieces", 0, "rows"), 10**15),
        ("rows", ("pieces", 0, "rows"), -1),
        ("ids", ("pieces", 0, "rows"), 299),
        ("ids", ("pieces", 0, "ids"), "int"),
        ("damaged", ("pieces",), {"0": 1}),
        ("damaged", ("pieces", 0), None),
        ("twice", ("pieces",), twice),
        ("twice", ("pieces",), lambda document: twice(document, rows=300)),
        ("run_rows", ("run_rows",), 1.5),
        ("runs", ("run_rows",), 0),
        ("run 0", ("graphs", 0, "rows"), 301),
        ("run 7", ("graphs", 0, "run"), 7),
        ("graph", ("graphs", 0, "rows"), 299),
        ("options", ("options",), {"keep_graphs": 1, "scan_below": 1}),
        ("options", ("options", "n_jobs"), 10**9),
        ("pieces", ("options", "keep_graphs"), False),
    ],
)
def test_wrong_manifests_are_refused(
    folder: Path, about: str, keys: tuple[Any, ...], value: Any
) -> None:
    change_manifest(folder, keys, value)
    fails(lambda: GraphIndex.load(folder), about)


def test_links_and_other_models_are_refused(folder: Path, tmp_path: Path) -> None:
    save_model(RetGK().fit(FEW[:5]), tmp_path / "kernel.retgk")
    replace_file(folder, ("embedding",), (tmp_path / "kernel.retgk").read_bytes())
    fails(lambda: GraphIndex.load(folder), "vectors")
    path = folder / entry_at(manifest_of(folder), "embedding")["name"]
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    fails(lambda: GraphIndex.load(folder), "link")
    os.unlink(path)
    os.mkfifo(path)
    fails(lambda: GraphIndex.load(folder), ("link", "no file"))


@pytest.mark.parametrize("text", ["", "[", "[" * 100_000, "NaN", '{"format": NaN}', "\udcff"])
def test_files_that_are_no_manifest_are_refused(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    fails(lambda: GraphIndex.load(folder), ("manifest.json", "manifest"))


def test_a_hostile_graph_is_refused_by_load(folder: Path) -> None:
    entry = entry_at(manifest_of(folder), *GRAPH)
    content = bytearray((folder / entry["name"]).read_bytes())
    content[-40:] = b"\xff" * 40
    replace_file(folder, GRAPH, bytes(content))
    start = 8 + 300 * 16 + 64 + 40 + 600
    content = bytearray((folder / entry["name"]).read_bytes())
    content[start + 10 : start + 18] = b"\x01\x00\x00\x00\xff\xff\xff\xff"
    replace_file(folder, GRAPH, bytes(content))
    fails(lambda: GraphIndex.load(folder), "neighbours")


# Files of usearch are checked before they are read: the library itself would crash on some


@pytest.fixture(scope="module")
def neighbour_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    vectors = np.random.default_rng(0).integers(-127, 128, (500, 16)).astype(np.int8)
    path = tmp_path_factory.mktemp("usearch") / "graph.usearch"
    write_graph(path, vectors, "int8")
    return path


def checked(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    check_neighbour_file(path, (500, 16), "int8", CONNECTIVITY)


def test_files_of_the_library_pass(neighbour_file: Path) -> None:
    check_neighbour_file(neighbour_file, (500, 16), "int8", CONNECTIVITY)
    wrong = [((499, 16), "int8"), ((500, 8), "int8"), ((500, 8), "float16"), ((0, 16), "int8")]
    for shape, kind in wrong:
        with pytest.raises(InvalidInputError, match="not the graph of neighbours"):
            check_neighbour_file(neighbour_file, shape, kind, CONNECTIVITY)
    fails(
        lambda: check_neighbour_file(neighbour_file, (500, 16), "int8", 8),
        "number of nodes or neighbours",
    )


HEAD = 8 + 500 * 16
CORE, LEVELS = HEAD + 64, HEAD + 64 + 40
NODES = LEVELS + 2 * 500


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (0, struct.pack("<I", 10**9)),  # rows
        (HEAD, b"elsewhere"[:7]),
        (HEAD + 7, struct.pack("<H", 3)),  # version
        (HEAD + 13, bytes([1])),  # metric
        (HEAD + 14, bytes([11])),  # type of vectors
        (HEAD + 25, struct.pack("<Q", 1)),  # deleted rows
        (HEAD + 33, struct.pack("<Q", 2**40)),  # columns
        (CORE, struct.pack("<Q", 2**60)),  # nodes
        (CORE + 8, struct.pack("<Q", 2**31)),  # neighbours
        (CORE + 24, struct.pack("<Q", 2**50)),  # levels
        (CORE + 32, struct.pack("<Q", 500)),  # entry
        (LEVELS, struct.pack("<h", -1)),
        (LEVELS, struct.pack("<h", 30000)),
        (NODES, struct.pack("<Q", 7)),  # key
        (NODES + 8, struct.pack("<h", 5)),  # level
        (NODES + 10, struct.pack("<I", 33)),  # number of neighbours
        (NODES + 14, struct.pack("<I", 500)),  # a neighbour
        (NODES + 14, struct.pack("<I", 2**32 - 1)),
    ],
)
def test_numbers_that_cannot_be_are_seen(
    neighbour_file: Path, tmp_path: Path, at: int, value: bytes
) -> None:
    content = bytearray(neighbour_file.read_bytes())
    content[at : at + len(value)] = value
    fails(lambda: checked(bytes(content), tmp_path / "bad.usearch"), "graph of neighbours")


@pytest.mark.parametrize("size", [0, 7, HEAD, HEAD + 80, NODES, NODES + 1000, -1])
def test_files_that_are_cut_off_are_seen(neighbour_file: Path, tmp_path: Path, size: int) -> None:
    content = neighbour_file.read_bytes()
    fails(lambda: checked(content[:size], tmp_path / "bad.usearch"), "graph of neighbours")
    fails(lambda: checked(content + b"x", tmp_path / "bad.usearch"), "graph of neighbours")


def test_a_neighbour_on_a_level_it_does_not_have_is_seen(
    neighbour_file: Path, tmp_path: Path
) -> None:
    content = bytearray(neighbour_file.read_bytes())
    levels = np.frombuffer(bytes(content[LEVELS:NODES]), "<i2").astype(int)
    high, low = int(np.flatnonzero(levels > 0)[0]), int(np.flatnonzero(levels == 0)[0])
    sizes = 10 + 132 + levels * 68
    at = NODES + int(sizes[:high].sum()) + 10 + 132
    content[at : at + 8] = struct.pack("<2I", 1, low)
    fails(lambda: checked(bytes(content), tmp_path / "bad.usearch"), f"node {high} has neighbours")
