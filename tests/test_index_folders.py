"""Folders of an index: a kill leaves a whole one or none, and a hostile one is refused."""

import hashlib
import json
import os
import random
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from retgk import GraphIndex, InvalidInputError, RetGKEmbedding, make_graph_classification
from retgk.cli.main import app
from retgk.search.neighbour_files import check_neighbour_file
from retgk.search.neighbour_graphs import CONNECTIVITY, write_graph

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
    """Write another file and its true digest: a stranger can do that."""
    document = manifest_of(folder)
    entry = entry_at(document, *keys)
    (folder / entry["name"]).write_bytes(content)
    entry |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    write_manifest(folder, document)


def replace_array(folder: Path, keys: tuple[Any, ...], change: Callable[[Any], Any]) -> None:
    path = folder / entry_at(manifest_of(folder), *keys)["name"]
    changed = folder.parent / "changed.npy"
    np.save(changed, change(np.load(path)))
    replace_file(folder, keys, changed.read_bytes())


def change_manifest(folder: Path, keys: tuple[Any, ...], value: Any) -> None:
    document = manifest_of(folder)
    entry_at(document, *keys[:-1])[keys[-1]] = value
    write_manifest(folder, document)


VECTORS, IDS = ("pieces", 0, "vectors"), ("pieces", 0, "ids")
KEPT = ("pieces", 0, "graphs", "arrays")
GRAPH = ("graphs", 0, "file")
ARRAYS: list[tuple[str, tuple[Any, ...], Callable[[Any], Any]]] = [
    ("vectors", VECTORS, lambda array: array[:, :8]),
    ("vectors", VECTORS, lambda array: array[:200]),
    ("vectors", VECTORS, lambda array: array.astype(np.float32)),
    ("never has", VECTORS, lambda array: array.astype(complex)),
    ("never has", VECTORS, np.asfortranarray),
    ("never has", VECTORS, lambda _: np.array([{}] * 300)),
    ("ids", (*IDS, "offsets"), lambda array: array[:-1]),
    ("ids", (*IDS, "offsets"), lambda array: array[::-1]),
    ("ids", (*IDS, "offsets"), lambda array: array + 10**12),
    ("valid text", (*IDS, "text"), lambda array: np.full_like(array, 255)),
    ("removed", ("removed",), lambda _: np.array([300])),
    ("removed", ("removed",), lambda _: np.array([-1])),
    ("axes", ("codec", "axes"), lambda array: array[:, :8]),
    ("axes", ("codec", "axes"), lambda array: np.full_like(array, np.nan)),
    ("axes", ("codec", "units"), lambda array: -array),
    ("axes", ("codec", "mean"), lambda array: array[:-1]),
    ("graphs", (*KEPT, "node_ptr"), lambda array: array + 1),
    ("graphs", (*KEPT, "indptr"), lambda array: array[::-1]),
    ("graphs", (*KEPT, "labels"), lambda array: array[:-1]),
    ("graphs", (*KEPT, "indices"), lambda array: array.astype(np.int64)),
]


@pytest.mark.parametrize(("message", "keys", "change"), ARRAYS)
def test_wrong_arrays_are_refused(
    folder: Path, message: str, keys: tuple[Any, ...], change: Callable[[Any], Any]
) -> None:
    replace_array(folder, keys, change)
    with pytest.raises(InvalidInputError, match=message):
        GraphIndex.load(folder)


@pytest.mark.parametrize(
    ("message", "keys", "value"),
    [
        ("format", ("format",), "other"),
        ("version", ("version",), 99),
        ("version", ("version",), True),
        ("names a file", (*VECTORS, "name"), "../secret.npy"),
        ("names a file", (*VECTORS, "name"), "/etc/passwd"),
        ("names a file", (*VECTORS, "name"), ["vectors"]),
        ("lacks the file", (*VECTORS, "name"), "vectors-0000000000000000.npy"),
        ("bytes", (*VECTORS, "bytes"), 3),
        ("digest", (*VECTORS, "sha256"), "0" * 64),
        ("rows of a piece", ("pieces", 0, "rows"), 10**15),
        ("rows of a piece", ("pieces", 0, "rows"), -1),
        ("do not fit", ("pieces", 0, "rows"), 299),
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
        ("axes", ("codec", "storage"), "int64"),
    ],
)
def test_wrong_manifests_are_refused(
    folder: Path, message: str, keys: tuple[Any, ...], value: Any
) -> None:
    message = {"format": "no manifest of an index"}.get(message, message)
    change_manifest(folder, keys, value)
    with pytest.raises(InvalidInputError, match=message):
        GraphIndex.load(folder)


def test_links_out_of_the_folder_are_refused(folder: Path, tmp_path: Path) -> None:
    path = folder / entry_at(manifest_of(folder), *VECTORS)["name"]
    path.rename(tmp_path / "elsewhere.npy")
    path.symlink_to(tmp_path / "elsewhere.npy")
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


def test_kept_graphs_are_checked_when_they_are_read(folder: Path) -> None:
    replace_array(folder, (*KEPT, "indices"), lambda array: array + 1000)
    with pytest.raises(InvalidInputError, match="graph"):
        GraphIndex.load(folder).query(GRAPHS[:2], 3, rerank=5)
    replace_array(folder, (*KEPT, "labels"), lambda array: array + 1000)
    with pytest.raises(InvalidInputError, match="without a name"):
        GraphIndex.load(folder).query(GRAPHS[:2], 3, rerank=5)


def test_another_model_is_refused(folder: Path, tmp_path: Path) -> None:
    from retgk import RetGKKernel, save_model

    save_model(RetGKKernel().fit(GRAPHS[:5]), tmp_path / "kernel.retgk")
    replace_file(folder, ("embedding",), (tmp_path / "kernel.retgk").read_bytes())
    with pytest.raises(InvalidInputError, match="no RetGKEmbedding"):
        GraphIndex.load(folder)


# Files of usearch: the library itself would crash on some of these


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
    with pytest.raises(InvalidInputError, match="number of nodes or neighbours"):
        check_neighbour_file(neighbour_file, (500, 16), "int8", 8)


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
    with pytest.raises(InvalidInputError, match="not the graph of neighbours"):
        checked(bytes(content), tmp_path / "bad.usearch")


@pytest.mark.parametrize("size", [0, 7, HEAD, HEAD + 80, NODES, NODES + 1000, -1])
def test_files_that_are_cut_off_are_seen(neighbour_file: Path, tmp_path: Path, size: int) -> None:
    content = neighbour_file.read_bytes()
    with pytest.raises(InvalidInputError, match="not the graph of neighbours"):
        checked(content[:size], tmp_path / "bad.usearch")
    with pytest.raises(InvalidInputError, match="not the graph of neighbours"):
        checked(content + b"x", tmp_path / "bad.usearch")


def test_a_neighbour_on_a_level_it_does_not_have_is_seen(
    neighbour_file: Path, tmp_path: Path
) -> None:
    content = bytearray(neighbour_file.read_bytes())
    levels = np.frombuffer(bytes(content[LEVELS:NODES]), "<i2").astype(int)
    high, low = int(np.flatnonzero(levels > 0)[0]), int(np.flatnonzero(levels == 0)[0])
    sizes = 10 + 132 + levels * 68
    at = NODES + int(sizes[:high].sum()) + 10 + 132
    content[at : at + 8] = struct.pack("<2I", 1, low)
    with pytest.raises(InvalidInputError, match=f"node {high} has neighbours"):
        checked(bytes(content), tmp_path / "bad.usearch")


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


# Commands, and kills


SMILES = [
    f"C{'C' * (number % 7)}{'O' * (number // 7 % 3)}N{'C' * (number // 21)}"
    for number in range(400)
]
PROGRAM = """
import sys
import retgk.cli.graph_pieces as pieces
from retgk.search import graph_index, row_store
pieces._PIECE = 40
row_store.RUN_ROWS = 128
graph_index.GraphIndex.__init__.__kwdefaults__["scan_below"] = 32
from retgk.cli.main import main
sys.argv = ["retgk", *sys.argv[1:]]
main()
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "all.smi").write_text("\n".join(SMILES[:300]) + "\n")
    (tmp_path / "more.smi").write_text("\n".join(SMILES[300:]) + "\n")
    return tmp_path


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", PROGRAM, "index", *arguments, "-q"]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE)


BUILD = ("build", "all.smi", "-o", "index", "-D", "32", "--columns", "16", "-j", "1")


def finish(process: subprocess.Popen[bytes]) -> None:
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors.decode()


def kill_when(process: subprocess.Popen[bytes], is_time: Callable[[], bool]) -> bool:
    """Kill a process at a moment; whether it was still running."""
    while process.poll() is None and not is_time():
        time.sleep(0.001)
    is_running = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return is_running


def is_whole(folder: Path, n_graphs: int) -> bool:
    """Whether there is an index, which then must be whole; none at all is fine too."""
    if not (folder / "manifest.json").exists():
        with pytest.raises(InvalidInputError, match="there is no index"):
            GraphIndex.load(folder)
        return False
    assert len(GraphIndex.load(folder)) == n_graphs
    return True


def answers(folder: Path) -> Any:
    found = GraphIndex.load(folder).query([*SMILES[:5], *SMILES[350:355]], 6)
    return found.ids.tolist(), found.distances.tolist()


def test_killed_builds_and_adds_go_on(files: Path) -> None:
    finish(start(files, *BUILD[:3], "whole", *BUILD[4:]))
    finish(start(files, "add", "whole", "more.smi", "-j", "1"))
    index, chance = files / "index", random.Random(0)
    kills = 0
    for n_files in chance.sample(range(1, 25), 4):  # after some file, and at any later moment
        process = start(files, *BUILD)
        moment = chance.random() * 0.05

        def is_time(n_files: int = n_files, moment: float = moment) -> bool:
            if index.exists() and len(os.listdir(index)) > n_files:
                time.sleep(moment)
                return True
            return False

        kills += kill_when(process, is_time)
        if index.exists() and is_whole(index, 300):
            break
    if not (index / "manifest.json").exists():
        finish(start(files, *BUILD))
    assert kills
    for _ in range(3):
        process = start(files, "add", "index", "more.smi", "-j", "1")
        kill_when(process, (index / "unfinished.json").exists)
        if len(GraphIndex.load(index)) == 400:
            break
        assert len(GraphIndex.load(index)) == 300
    if len(GraphIndex.load(index)) == 300:
        finish(start(files, "add", "index", "more.smi", "-j", "1"))
    assert answers(index) == answers(files / "whole")
    assert sorted(path.name.split("-")[0] for path in index.iterdir()) == sorted(
        path.name.split("-")[0] for path in (files / "whole").iterdir()
    )


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["index", *arguments])


def test_commands(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    made = run(*BUILD, "--keep-graphs", "--json")
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["graphs"] == 300
    again = run(*BUILD)
    assert again.exit_code == 1
    assert "there is an index in index already" in again.output
    shown = run("info", "index")
    assert "300" in shown.stdout
    found = run("query", "index", "more.smi", "-k", "3", "--rerank", "10", "-o", "found.csv")
    assert found.exit_code == 0, found.output
    lines = Path("found.csv").read_text().splitlines()
    assert lines[0] == "query,query_name,rank,id,distance"
    assert len(lines) == 301
    assert run("add", "index", "more.smi").exit_code == 0
    twice = run("add", "index", "more.smi")
    assert twice.exit_code == 1
    assert "is in the index already" in twice.output
    asked = ["similar", "index", "--smiles", SMILES[350], "-k", "1", "--json"]
    similar = CliRunner().invoke(app, asked)
    assert json.loads(similar.stdout) == {"id": [SMILES[350]], "distance": [0.0]}
    wrong = CliRunner().invoke(app, [*asked, "--n-steps", "7"])
    assert "an index has its own walks" in wrong.output
    wrong = CliRunner().invoke(app, ["similar", "index", "--index", "3"])
    assert "an index is asked with --query or --smiles" in wrong.output


def test_an_index_in_the_making_belongs_to_its_source(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    process = start(files, *BUILD)
    kill_when(process, (files / "index" / "unfinished.json").exists)
    if not (files / "index" / "unfinished.json").exists():
        pytest.skip("the build was quicker than its killer")
    other = run("build", "more.smi", *BUILD[2:])
    assert "holds an index in the making, of other graphs" in other.output
    assert "one is in the making" in run("info", "index").output


def test_names_that_come_twice(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    (files / "twice.smi").write_text("CCO\nCCN\nCCO\n")
    failed = run("build", "twice.smi", "-o", "index")
    assert "two graphs have the name 'CCO'; use --ids numbers" in failed.output
    assert run("build", "twice.smi", "-o", "index", "--ids", "numbers", "-D", "8").exit_code == 0
    assert 2 in GraphIndex.load("index")
    skipped = files / "bad.smi"
    skipped.write_text("CCO\nXX1\nCCN\n")
    assert "RDKit cannot read" in run("build", "bad.smi", "-o", "other", "-D", "8").output
    made = run("build", "bad.smi", "-o", "other", "-D", "8", "--skip-invalid", "--ids", "numbers")
    assert made.exit_code == 0, made.output
    index = GraphIndex.load("other")
    assert (0 in index, 1 in index, 2 in index) == (True, False, True)


def test_collections_that_are_no_files_of_molecules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = run("build", "digits", "-o", "index", "-D", "16", "--n-steps", "5")
    assert made.exit_code == 0, made.output
    found = run("query", "index", "digits", "-k", "1", "-o", "found.csv")
    assert found.exit_code == 0, found.output
    assert {float(line.split(",")[-1]) for line in Path("found.csv").read_text().split()[1:]} == {
        0.0
    }
