"""`retgk index`: builds and additions that are killed and go on, and what commands say."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from retgk import GraphIndex
from retgk.cli.main import app
from tests.errors import fails

SMILES = [
    f"C{'C' * (number % 7)}{'O' * (number // 7 % 3)}N{'C' * (number // 21)}"
    for number in range(400)
]
PROGRAM = """
import sys
import retgk.cli.inputs as pieces
from retgk.search import index, rows
pieces._PIECE = 40
rows.RUN_ROWS = 128
index.GraphIndex.__init__.__kwdefaults__["scan_below"] = 32
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


BUILD = ("build", "all.smi", "-o", "index", "-D", "32", "--n-columns", "16", "-j", "1")


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
        fails(lambda: GraphIndex.load(folder), "no index")
        return False
    assert len(GraphIndex.load(folder)) == n_graphs
    return True


def answers(folder: Path) -> Any:
    found = GraphIndex.load(folder).query([*SMILES[:5], *SMILES[350:355]], 6)
    return found.ids.tolist(), found.distances.tolist()


@pytest.mark.slow
def test_killed_builds_and_adds_go_on(files: Path) -> None:
    finish(start(files, *BUILD[:3], "whole", *BUILD[4:]))
    finish(start(files, "add", "whole", "more.smi", "-j", "1"))
    index, chance = files / "index", random.Random(0)
    kills = 0
    for n_files in chance.sample(range(1, 8), 4):  # after some file, and at any later moment
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
    assert "an index has its own kernel" in wrong.output
    wrong = CliRunner().invoke(app, ["similar", "index", "--index", "3"])
    assert "an index is asked with --query or --smiles" in wrong.output


@pytest.mark.slow
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


def test_an_index_by_another_kernel(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("all.smi").write_text("\n".join(SMILES[:30]) + "\n")
    run = CliRunner()
    built = run.invoke(app, ["index", "build", "all.smi", "--kernel", "wl", "-o", "i"])
    assert built.exit_code == 0, built.output
    asked = run.invoke(app, ["similar", "i", "--smiles", SMILES[3], "-k", "1", "--json"])
    assert json.loads(asked.stdout)["distance"] == [0.0]
    wrong = ["index", "build", "all.smi", "--kernel", "wl", "--depth", "1", "-o", "j"]
    assert "--depth is an option of RetGK" in run.invoke(app, wrong).output
