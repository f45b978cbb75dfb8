"""Files whose names retgk chooses: a stranger's link or pipe in their place leads nowhere."""

import ast
import csv
import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retgk.cli
from retgk import GraphIndex, InvalidInputError
from retgk import datasets as download
from retgk.cli.command import visible
from retgk.datasets import load_tudataset, make_graph_classification, save_tudataset
from retgk.io import write_parquet
from retgk.io.graphml import write_graphml
from retgk.kernels import RetGKEmbedding, embed_files, write_mean_embedding_gram
from tests.errors import fails
from tests.programs import PROGRAM, TIMEOUT_SECONDS, assert_fails, environment, invoke, run_program

DATA = make_graph_classification(40, n_labels=3, n_nodes=(6, 12), rng=0)
EMBEDDING = RetGKEmbedding(n_components=8, random_state=0).fit(DATA.graphs)
REFUSED = "is a link or no file; remove it"

Trap = Callable[[Path], None]


def link_to_nothing(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(outside(path) / "deep" / "evil.json")


def link_to_a_file(path: Path) -> None:
    """Lead to a copy of what is there, so that all would go well if the link were followed."""
    kept = outside(path) / "kept"
    kept.write_bytes(path.read_bytes() if path.exists() else b"")
    path.unlink(missing_ok=True)
    path.symlink_to(kept)


def pipe(path: Path) -> None:
    """Have whoever opens it wait for ever."""
    path.unlink(missing_ok=True)
    os.mkfifo(path)


TRAPS = [link_to_nothing, link_to_a_file, pipe]


def outside(path: Path) -> Path:
    folder = next(parent for parent in path.parents if parent.name == "inside").parent / "outside"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(autouse=True)
def waits_end() -> Iterator[None]:
    """Make a failure of what would wait for ever."""
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    (tmp_path / "inside").mkdir()
    return tmp_path / "inside"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_refused(call: Callable[[], Any], path: Path, trap: Trap) -> None:
    """Set a trap, and see that the call names it, and that nothing outside has changed."""
    trap(path)
    before = contents(outside(path))
    with pytest.raises(InvalidInputError, match=REFUSED) as caught:
        call()
    assert str(path) in str(caught.value)
    assert contents(outside(path)) == before


@pytest.fixture
def molecules(tmp_path: Path) -> Path:
    path = tmp_path / "m.smi"
    path.write_text("\n".join(f"C{'C' * length}O" for length in range(20)) + "\n")
    return path


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("name", ["manifest.json", "unfinished.json", "lock"])
@pytest.mark.parametrize("verb", ["add", "build"])
def test_index_commands(inside: Path, molecules: Path, verb: str, name: str, trap: Trap) -> None:
    folder = inside / "index"
    build = ("index", "build", molecules, "-D", "16", "--ids", "numbers", "-o", folder)
    if verb == "add":
        assert invoke(*build).exit_code == 0
    folder.mkdir(exist_ok=True)
    trap(folder / name)
    before, there = contents(outside(folder)), set(folder.iterdir())
    line = build if verb == "build" else ("index", "add", folder, molecules, "--ids", "numbers")
    assert_fails(invoke(*line), f"{folder / name} {REFUSED}")
    assert contents(outside(folder)) == before
    assert set(folder.iterdir()) <= there | {folder / "lock"}


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("name", ["manifest.json", "unfinished.json", "lock"])
def test_saving_an_index(inside: Path, name: str, trap: Trap) -> None:
    index = GraphIndex(EMBEDDING).fit(DATA.graphs)
    index.save(inside / "index")
    assert_refused(lambda: index.save(inside / "index"), inside / "index" / name, trap)


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("name", ["gram.npy.partial", "gram.npy.partial.json"])
def test_matrices_in_the_making(inside: Path, name: str, trap: Trap) -> None:
    (inside / "gram.npy.partial").touch()
    path = inside / "gram.npy"
    assert_refused(lambda: write_mean_embedding_gram(path, DATA.graphs), inside / name, trap)


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("name", ["pieces.json", "00001.npy"])
def test_folders_of_pieces(inside: Path, name: str, trap: Trap) -> None:
    for number in range(2):
        write_parquet(DATA.graphs[20 * number :][:20], inside.parent / "in" / f"{number}.parquet")
    call = lambda: embed_files(EMBEDDING, inside.parent / "in", inside / "vectors")  # noqa: E731
    call()
    assert_refused(call, inside / "vectors" / name, trap)


def test_a_folder_of_pieces_beside_its_array(inside: Path) -> None:
    graphs = write_parquet(DATA.graphs, inside.parent / "graphs.parquet")
    elsewhere = outside(inside / "vectors.npy")
    (inside / "vectors.npy.pieces").symlink_to(elsewhere)
    fails(lambda: embed_files(EMBEDDING, graphs, inside / "vectors.npy"), about="vectors.npy")
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("trap", TRAPS)
def test_parsed_copies(inside: Path, trap: Trap) -> None:
    save_tudataset(DATA, inside.parent / "home")
    name, home, cache = DATA.name, inside.parent / "home", inside / "cache"
    expected = load_tudataset(name, home, cache=cache).graphs
    (copy,) = cache.iterdir()
    trap(copy)
    before = contents(outside(copy))
    assert load_tudataset(name, home, cache=cache).graphs == expected  # read anew
    assert contents(outside(copy)) == before


@pytest.mark.parametrize("name", ["TOY.zip", "TOY.zip.sha256"])
def test_downloads(inside: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "_fetch", lambda *given: given[1].write_bytes(b"zip"))
    call = lambda: download.download_archive("TOY", inside)  # noqa: E731
    assert_refused(call, inside / name, link_to_nothing)
    assert not (inside / "TOY.zip").exists()


@pytest.mark.parametrize("trap", TRAPS)
def test_series_of_files(inside: Path, trap: Trap) -> None:
    call = lambda: write_graphml(DATA.graphs[:3], inside)  # noqa: E731
    assert_refused(call, inside / "graph-1.graphml", trap)


def test_links_that_the_user_names_are_followed(inside: Path) -> None:
    (inside.parent / "real").mkdir()
    (inside / "index").symlink_to(inside.parent / "real")
    GraphIndex(EMBEDDING).fit(DATA.graphs).save(inside / "index")
    assert len(GraphIndex.load(inside.parent / "real")) == 40
    (inside / "gram.npy").symlink_to(inside.parent / "real" / "gram.npy")
    write_mean_embedding_gram(inside / "gram.npy", DATA.graphs)
    assert np.load(inside.parent / "real" / "gram.npy").shape == (40, 40)


# Names in files may come from strangers: what they hold does not reach the terminal as codes

ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\b\u202egnp\u2066x"
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Names, targets, labels and files, all of which try to take the terminal over."""
    pytest.importorskip("rdkit")
    rows = [("smiles", "y"), *[("CCO", f"a{ATTACK}"), ("CCN", "b")] * 8]
    with (tmp_path / "mol.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)
    (tmp_path / "mol.smi").write_text(f"CCO first{ATTACK}\nCCN second\nCCC third\n")
    (tmp_path / "bad.smi").write_text(f"C{ATTACK}( x\n")
    (tmp_path / f"ring{ATTACK}.edges").write_text("0 1\n1 2\n2 0\n")
    (tmp_path / f"names{ATTACK}.edges").write_text(f"a{ATTACK} b\nb c{ATTACK} d e\n")
    (tmp_path / "words.edges").write_text(f"a{ATTACK}\n")
    (tmp_path / "targets.txt").write_text(f"1\n{ATTACK}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


LINES = [
    ["info", "mol.csv", "--target-column", "y"],
    ["info", f"ring{ATTACK}.edges"],
    ["info", f"missing{ATTACK}"],
    ["info", "bad.smi"],
    ["info", "bad.smi", "--debug"],
    ["info", "words.edges"],
    ["info", "mol.smi", "--targets", "targets.txt"],
    ["info", "mol.csv", "--target-column", ATTACK],
    ["similar", "mol.smi", "--index", "0"],
    ["cv", "mol.csv", "--target-column", "y", "--folds", "3", "--C", "1", "--p", "1"],
    ["fit", "mol.csv", "--target-column", "y", "--C", "1", "-o", f"m{ATTACK}.retgk"],
    ["embed", "mol.smi", "-D", "2", "-o", f"{ATTACK}.csv"],
    ["embed", "mol.smi", "-D", "2", "-o", f"{ATTACK}.what"],
    ["convert", "mol.smi", f"folder{ATTACK}", "--to", "graphml"],
    ["info", "mol.csv", "--target-column", "y", "--json"],
    ["predict", f"missing{ATTACK}.retgk", "mol.smi"],
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: "-".join(line[:1] + line[2:3]))
@pytest.mark.usefixtures("folder")
def test_nothing_printed_holds_control_codes(line: list[str]) -> None:
    result = invoke(*line)
    assert result.exit_code in (0, 1, 2)
    assert result.output.strip()
    assert not HIDDEN.findall(result.output), ascii(result.output)


@pytest.mark.slow
@pytest.mark.parametrize("option", [f"--{ATTACK}", f"--format={ATTACK}"])
def test_options_that_are_not_understood(folder: Path, option: str) -> None:
    done = run_program("info", "mol.smi", option, folder=folder)
    assert done.returncode == 2
    assert r"\x1b]0;owned" in done.stderr.decode()
    assert not HIDDEN.findall(done.stderr.decode())


@pytest.mark.usefixtures("folder")
def test_names_are_shown_with_their_codes_spelled_out() -> None:
    shown = invoke("similar", "mol.smi", "--index", 1).stdout
    assert r"first\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\x08\u202egnp\u2066x" in shown


def test_files_and_pipes_get_names_as_they_are(folder: Path) -> None:
    name = f"first{ATTACK}"
    assert invoke("embed", "mol.smi", "-D", 2, "-o", "v.csv").exit_code == 0
    with (folder / "v.csv").open(newline="") as stream:
        assert next(csv.DictReader(stream))["name"] == name
    assert invoke("embed", "mol.smi", "-D", 2, "-o", "v.json").exit_code == 0
    assert json.loads((folder / "v.json").read_text())["name"][0] == name
    piped = invoke("embed", "mol.smi", "-D", 2, "-o", "-").stdout_bytes
    assert piped == (folder / "v.csv").read_bytes()
    found = json.loads(invoke("similar", "mol.smi", "--index", 1, "--json").stdout)["name"]
    assert name in found


@pytest.mark.slow
def test_a_table_on_a_terminal_has_no_control_codes(folder: Path) -> None:
    """The program on a terminal of its own, which adds carriage returns at ends of lines."""
    main_end, program_end = pty.openpty()
    command = [*PROGRAM, "embed", "mol.smi", "-D", "2", "-o", "-"]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        stdout=program_end,
        stderr=subprocess.PIPE,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    os.close(program_end)
    shown = b""
    try:
        while part := os.read(main_end, 1 << 16):
            shown += part
    except OSError:  # how a terminal that was closed ends
        pass
    os.close(main_end)
    text = shown.decode().replace("\r\n", "\n")
    assert text.startswith("graph,name,")
    assert r"first\x1b]0;owned" in text
    assert not HIDDEN.findall(text + done.stderr.decode())


def test_visible_leaves_other_text_alone() -> None:
    text = "Grüße, 猫, עברית, a\\b 'c'"
    assert visible(text) == text
    assert visible("a\nb\tc\ud800") == r"a\nb\tc\ud800"


def test_only_one_module_of_the_commands_prints() -> None:
    """Whatever is printed goes through `visible`."""
    wrong = []
    for path in sorted(Path(retgk.cli.__path__[0]).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and path.name != "command.py":
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if (
                    name in ("echo", "secho", "print_exc")
                    or getattr(node.func, "id", "") == "print"
                ):
                    wrong.append(f"{path.name}:{node.lineno}")
    assert wrong == []
