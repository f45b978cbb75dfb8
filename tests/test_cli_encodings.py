"""Commands where the terminal, the pipe or the locale does not have all characters."""

import os
from pathlib import Path

import pytest

from retgk import make_graph_classification, read_graphs, write_edge_list
from retgk.cli.main import app
from tests.cli_calls import printed
from tests.cli_program import output_of, run_program

ASCII = {"PYTHONIOENCODING": "ascii"}
PLACES = {
    "ascii": ASCII,
    "C": {"LC_ALL": "C"},
    "C-without-UTF-8": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}
NAMES = ["wörld→", "Ω", "日本", "a", "b", "c", "d", "e", "f", "g"]
RUNS = {
    "info": "info grün",
    "convert": "convert grün grün.parquet",
    "features": "features grün --n-steps 3 -o grün.csv",
    "embed": "embed grün --n-steps 3 --n-components 4 -o -",
    "kernel": "kernel grün --n-steps 3 -o grün.npz",
    "cv": "cv grün --targets tärgets.txt --n-steps 3 --folds 3",
    "fit": "fit grün --targets tärgets.txt --n-steps 3 -o grün.retgk",
    "predict": "predict grün.retgk grün -o -",
    "explain": "explain grün.retgk grün -o grün.html",
    "explore": "explore grün -o grün.html",
    "compare": "compare grün --targets tärgets.txt --methods majority --folds 3 -o grün.csv",
    "similar": "similar grün --index 3 -k 9",
    "index": "index build grün -o verzeichnis-grün",
    "test": "test grün --targets tärgets.txt --n-steps 3 --n-permutations 19",
    "datasets": "datasets list",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Graphs, targets and classes whose names few encodings have."""
    folder = tmp_path_factory.mktemp("encodings")
    data = make_graph_classification(len(NAMES), n_nodes=(5, 8), random_state=0)
    for name, path in zip(NAMES, write_edge_list(data.graphs, folder / "grün"), strict=True):
        path.rename(path.with_name(f"{name}.edges"))
    (folder / "tärgets.txt").write_text("schön\nhäßlich\n" * (len(NAMES) // 2), "utf-8")
    return folder


def test_all_commands_are_tried() -> None:
    commands = {command.name for command in app.registered_commands}
    assert set(RUNS) == commands | {group.name for group in app.registered_groups}


@pytest.mark.parametrize("command", RUNS)
def test_every_command_on_a_plain_terminal(command: str, folder: Path) -> None:
    if command == "predict":
        output_of(run_program(*RUNS["fit"].split(), folder=folder))
    output_of(run_program(*RUNS[command].split(), folder=folder, **ASCII))


@pytest.mark.parametrize("place", PLACES)
def test_names_that_cannot_be_shown(place: str, folder: Path) -> None:
    shown = output_of(run_program(*RUNS["similar"].split(), folder=folder, **PLACES[place]))
    expected = "wörld→" if place == "C" else r"w\xf6rld\u2192"
    assert expected in shown


@pytest.mark.parametrize("place", PLACES)
def test_errors_that_cannot_be_shown(place: str, folder: Path) -> None:
    done = run_program("info", "fehlt→", folder=folder, **PLACES[place])
    assert done.returncode == 1
    assert done.stderr.startswith(b"retgk: there is no file, folder or known collection"), done


@pytest.mark.parametrize("place", PLACES)
def test_files_have_all_characters_everywhere(place: str, folder: Path) -> None:
    """Names are read and written as UTF-8, whatever the terminal shows."""
    command = [*RUNS["similar"].split(), "-o"]
    lines = output_of(run_program(*command, "-", folder=folder, **PLACES[place])).splitlines()
    assert {line.split(",")[1] for line in lines[1:]} == {*NAMES} - {sorted(NAMES)[3]}


@pytest.mark.skipif(os.name != "posix", reason="names of files are text here")
def test_names_of_files_that_are_not_text(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/lat\xe9.edges")
    Path(path).write_text("0 1\n1 2\n")
    assert read_graphs(path).graph_names == ["lat\\xe9"]
    assert "lat\\xe9" in printed("features", path, "--n-steps", "2", "-o", "-")
    output = tmp_path / "f.parquet"
    printed("features", path, "--n-steps", "2", "-o", output)
    assert output.exists()
