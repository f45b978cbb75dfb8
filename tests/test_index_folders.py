"""Hostile folders of an index are refused."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retgk import GraphIndex, InvalidInputError, RetGKEmbedding, make_graph_classification
from tests.model_file_mutations import with_array

GRAPHS = make_graph_classification(300, n_labels=3, n_nodes=(6, 12), random_state=0).graphs
EMBEDDING = RetGKEmbedding(
    feature_map="phases", n_components=64, dtype=np.float32, random_state=0
).fit(GRAPHS)


# Hostile folders


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    index = GraphIndex(EMBEDDING, n_columns=16, scan_below=100, keep_graphs=True)
    index.fit(GRAPHS, [f"g{number}" for number in range(300)]).save(tmp_path / "index")
    return tmp_path / "index"


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
    entry_at(document, *keys[:-1])[keys[-1]] = value
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
    ("valid text", PIECE, "ids.text", lambda array: np.full_like(array, 255)),
    ("removed", REMOVED, "rows", lambda _: np.array([300])),
    ("removed", REMOVED, "rows", lambda _: np.array([-1])),
    ("axes", CODEC, "codec.axes", lambda array: array[:, :8]),
    ("axes", CODEC, "codec.axes", lambda array: np.full_like(array, np.nan)),
    ("units", CODEC, "codec.units", lambda array: -array),
    ("axes", CODEC, "codec.mean", lambda array: array[:-1]),
    ("damaged", PIECE, "graphs.node_ptr", lambda array: array + 1),
    ("damaged", PIECE, "graphs.indptr", lambda array: array[::-1]),
    ("damaged", PIECE, "graphs.labels", lambda array: array[:-1]),
    ("damaged", PIECE, "graphs.indices", lambda array: array.astype(np.int64)),
]


@pytest.mark.parametrize(("message", "keys", "name", "change"), ARRAYS)
def test_wrong_arrays_are_refused(
    folder: Path, message: str, keys: tuple[Any, ...], name: str, change: Callable[[Any], Any]
) -> None:
    replace_array(folder, keys, name, change)
    with pytest.raises(InvalidInputError, match=message):
        GraphIndex.load(folder)


@pytest.mark.parametrize(
    ("message", "keys", "value"),
    [
        ("format", ("format",), "other"),
        ("version", ("version",), 99),
        ("version", ("version",), True),
        ("names a file", (*PIECE, "name"), "../secret.safetensors"),
        ("names a file", (*PIECE, "name"), "/etc/passwd"),
        ("names a file", (*PIECE, "name"), ["vectors"]),
        ("lacks the file", (*PIECE, "name"), "piece-0000000000000000.safetensors"),
        ("bytes", (*PIECE, "bytes"), 3),
        ("checksum", ("graphs", 0, "sha256"), "0" * 64),
        ("rows of a piece", ("pieces", 0, "rows"), 10**15),
        ("rows of a piece", ("pieces", 0, "rows"), -1),
        ("ids", ("pieces", 0, "rows"), 299),
        ("ids", ("pieces", 0, "ids"), "int"),
        ("damaged", ("pieces",), {"0": 1}),
        ("damaged", ("pieces", 0), None),
        ("run_rows", ("run_rows",), 1.5),
        ("runs of rows are empty", ("run_rows",), 0),
        ("run 0 has rows that are none", ("graphs", 0, "rows"), 301),
        ("run 7 has rows that are none", ("graphs", 0, "run"), 7),
        ("too short|does not begin", ("graphs", 0, "rows"), 299),
        ("options", ("options",), {"keep_graphs": 1, "scan_below": 1}),
        ("options", ("options", "n_jobs"), 10**9),
        ("some pieces have graphs", ("options", "keep_graphs"), False),
    ],
)
def test_wrong_manifests_are_refused(
    folder: Path, message: str, keys: tuple[Any, ...], value: Any
) -> None:
    message = {"format": "no manifest of an index"}.get(message, message)
    change_manifest(folder, keys, value)
    with pytest.raises(InvalidInputError, match=message):
        GraphIndex.load(folder)


@pytest.mark.parametrize("take", [lambda piece: piece, lambda piece: {**piece, "rows": 300}])
def test_a_piece_counts_once(folder: Path, take: Callable[[Any], Any]) -> None:
    document = manifest_of(folder)
    document["pieces"].append(take(document["pieces"][0]))
    write_manifest(folder, document)
    with pytest.raises(InvalidInputError, match=r"names piece-\w+\.safetensors twice"):
        GraphIndex.load(folder)


def test_links_out_of_the_folder_are_refused(folder: Path, tmp_path: Path) -> None:
    path = folder / entry_at(manifest_of(folder), *PIECE)["name"]
    path.rename(tmp_path / "elsewhere.safetensors")
    path.symlink_to(tmp_path / "elsewhere.safetensors")
    with pytest.raises(InvalidInputError, match="is a link"):
        GraphIndex.load(folder)
    os.unlink(path)
    os.mkfifo(path)
    with pytest.raises(InvalidInputError, match="is a link or no file"):
        GraphIndex.load(folder)


@pytest.mark.parametrize("text", ["", "[", "[" * 100_000, "NaN", '{"format": NaN}', "\udcff"])
def test_files_that_are_no_manifest_are_refused(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidInputError, match="no manifest of an index"):
        GraphIndex.load(folder)


@pytest.mark.parametrize(
    ("name", "message"),
    [("indices", "a neighbour is out of range"), ("labels", "a label has no name")],
)
def test_kept_graphs_are_checked(folder: Path, name: str, message: str) -> None:
    replace_array(folder, PIECE, f"graphs.{name}", lambda array: array + 1000)
    with pytest.raises(InvalidInputError, match=message):
        GraphIndex.load(folder)


def test_another_model_is_refused(folder: Path, tmp_path: Path) -> None:
    from retgk import RetGKKernel, save_model

    save_model(RetGKKernel().fit(GRAPHS[:5]), tmp_path / "kernel.retgk")
    replace_file(folder, ("embedding",), (tmp_path / "kernel.retgk").read_bytes())
    with pytest.raises(InvalidInputError, match="no RetGKEmbedding"):
        GraphIndex.load(folder)


def test_a_hostile_graph_is_refused_by_load(folder: Path) -> None:
    entry = entry_at(manifest_of(folder), *GRAPH)
    content = bytearray((folder / entry["name"]).read_bytes())
    content[-40:] = b"\xff" * 40
    replace_file(folder, GRAPH, bytes(content))
    start = 8 + 300 * 16 + 64 + 40 + 600
    content = bytearray((folder / entry["name"]).read_bytes())
    content[start + 10 : start + 18] = b"\x01\x00\x00\x00\xff\xff\xff\xff"
    replace_file(folder, GRAPH, bytes(content))
    with pytest.raises(InvalidInputError, match="neighbours that cannot be"):
        GraphIndex.load(folder)
