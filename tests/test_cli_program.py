"""Every command of the installed program on real data: interrupted, killed, run, and misused."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.main import get_command

from retgk import GraphDataset, __version__, read_graphs
from retgk.cli.main import app
from retgk.datasets import SUBJECT_OF, TUDATASETS, make_graph_classification, save_tudataset
from retgk.io.edges import write_edge_list
from tests.errors import assert_names
from tests.programs import (
    PROGRAM,
    TIMEOUT_SECONDS,
    assert_fails_with_one_line,
    environment,
    output_of,
    printed,
    run_program,
    start_program,
)

real_data = pytest.mark.real_data


class Case(NamedTuple):
    """A command, and the file that it writes."""

    arguments: list[str]
    output: str


CASES = {
    "convert": Case(["convert", "MUTAG", "mutag.parquet"], "mutag.parquet"),
    "features": Case(["features", "MUTAG", "-o", "features.npz"], "features.npz"),
    "embed": Case(["embed", "MUTAG", "-D", "50", "-o", "vectors.parquet"], "vectors.parquet"),
    "kernel": Case(["kernel", "MUTAG", "-o", "kernel.npz"], "kernel.npz"),
    "cv": Case(["cv", "MUTAG", "-o", "cv.csv", "--json", "--C", "10"], "cv.csv"),
    "fit": Case(["fit", "MUTAG", "-o", "model.retgk", "--C", "10", "--json"], "model.retgk"),
    "predict": Case(["predict", "trained.retgk", "MUTAG", "-o", "p.csv", "--json"], "p.csv"),
    "similar": Case(["similar", "MUTAG", "--index", "0", "-o", "similar.json"], "similar.json"),
}


@pytest.fixture(scope="module")
def trained(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "trained.retgk"
    output_of(run_program("fit", "MUTAG", "--C", 10, "-o", path, data_home=data_folder))
    return path


def interrupted(
    case: Case, folder: Path, data_home: Path, number: signal.Signals
) -> tuple[int, str]:
    """Exit code and notes of a run that gets a signal once it has read its graphs."""
    process = start_program(*case.arguments, folder=folder, data_home=data_home)
    assert process.stderr is not None
    first = process.stderr.readline()
    assert first.startswith("MUTAG: GraphBatch(188 graphs")
    process.send_signal(number)
    _, rest = process.communicate(timeout=TIMEOUT_SECONDS)
    return process.returncode, rest


@pytest.mark.slow
@real_data
@pytest.mark.parametrize("name", CASES)
def test_interrupted_killed_and_run_again(
    name: str, tmp_path: Path, data_folder: Path, request: pytest.FixtureRequest
) -> None:
    case, folder = CASES[name], tmp_path
    if name == "predict":
        shutil.copy(request.getfixturevalue("trained"), folder)
    before = set(folder.iterdir())
    code, notes = interrupted(case, folder, data_folder, signal.SIGINT)
    assert (code, notes) == (130, "retgk: interrupted\n")
    assert set(folder.iterdir()) == before
    code, _ = interrupted(case, folder, data_folder, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert not (folder / case.output).exists()
    text = output_of(run_program(*case.arguments, folder=folder, data_home=data_folder))
    assert (folder / case.output).stat().st_size > 100
    if name in ("cv", "fit", "predict"):
        found = json.loads(text)
        score = found["score"] if name == "fit" else found["accuracy"]
        assert (score["mean"] if name == "cv" else score) > 0.85


# Start-up, help, completion and usage errors of the program

COMMANDS = [
    "info",
    "convert",
    "features",
    "embed",
    "kernel",
    "cv",
    "compare",
    "fit",
    "predict",
    "similar",
    "datasets list",
    "datasets fetch",
]
HEAVY = {"joblib", "matplotlib", "networkx", "pooch", "pyarrow", "rdkit", "scipy", "sklearn"}


@pytest.mark.slow
def test_help_is_quick() -> None:
    """It imports NumPy and little else: a few times the work of that, on however busy a machine."""
    code = "import sys, time; from retgk.cli.main import main; sys.argv = ['retgk', '--help']\n"
    code += "try:\n    main()\nfinally:\n    print('seconds', time.process_time())\n"
    code += "    print('modules', *sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *_, seconds, modules = done.stdout.splitlines()
    assert {name.partition(".")[0] for name in modules.split()} & HEAVY == set()
    code = "import time, numpy; print(time.process_time())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(seconds.split()[1]) < 7 * float(done.stdout)


Run = Callable[..., tuple[object, str, str]]


@pytest.fixture
def run_here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Exit code and outputs of the program, run in this process, which keeps its signals."""
    from retgk.cli.main import main

    monkeypatch.setattr("signal.signal", lambda *_: None)

    def run(*arguments: str) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["retgk", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_examples_and_the_common_options(command: str, run_here: Run) -> None:
    code, text, _ = run_here(*command.split(), "--help")
    assert code == 0
    assert f"$ retgk {command}" in text
    assert all(option in text for option in ("--json", "--quiet", "--debug"))


def test_version(run_here: Run) -> None:
    assert run_here("--version") == (0, f"{__version__}\n", "")


def test_no_command_shows_the_help(run_here: Run) -> None:
    code, out, err = run_here()
    assert code == 2
    assert "Usage: retgk" in out
    assert err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["colour"], ("'colour'", "--help")),
        (["kernel", "digits"], ("'--output'", "'-o'", "--help")),
        (["kernel", "digits", "-o", "k.npy", "--n-steps", "0"], ("'--n-steps'",)),
        (["cv", "digits", "--protocol", "mine"], ("'--protocol'",)),
        (
            ["cv", "digits", "--tol", "1"],
            ("'--tol'", "1.0"),
        ),
        (["info", "--colour", "digits"], ("--colour",)),
        (["test", "x", "--targets", "a", "--targets", "b"], ("--targets", "one value", "2 times")),
        (["fit", "digits", "-o", "a", "--output=b"], ("--output", "2 times")),
    ],
)
def test_usage_errors(arguments: list[str], message: str, run_here: Run) -> None:
    code, out, err = run_here(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("retgk: ")
    assert_names(err, message)
    assert err.count("\n") == 1


def all_commands(program: Any) -> Iterator[Any]:
    for each in program.commands.values():
        yield from all_commands(each) if hasattr(each, "commands") else [each]


def test_no_option_of_one_value_is_given_twice() -> None:
    commands = list(all_commands(get_command(app)))
    assert {each.name for each in commands} >= {"fit", "build", "fetch", "test"}
    for each in commands:
        for option in (own for own in each.params if own.param_type_name == "option"):
            words = [max([*option.opts, *option.secondary_opts], key=len)]
            words += ["1"] * (not option.is_flag)
            with pytest.raises(Exception) as caught:  # noqa: PT011
                each.make_context(each.name, [*words, *words])
            assert ("2 times" in str(caught.value)) != option.multiple, (each.name, option.name)


@pytest.mark.slow
def test_usage_error_of_the_program() -> None:
    assert_fails_with_one_line(run_program("kernel", "digits"), "'--output'", code=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("retgk info MUT", "MUTAG"),
        ("retgk datasets fetch ENZ", "ENZYMES"),
        ("retgk ker", "kernel"),
    ],
)
def test_shell_completion(words: str, found: str) -> None:
    done = run_program(
        _RETGK_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(words.count(" "))
    )
    assert found in done.stdout.decode().split()


def test_completion_offers_files_that_can_be_read(tmp_path: Path) -> None:
    from retgk.cli.options import model_files, source_names

    folder = tmp_path
    for name in ("graphs.parquet", "notes.doc", ".hidden.parquet", "model.retgk"):
        (folder / name).touch()
    (folder / "gml").mkdir()
    assert source_names(f"{folder}/") == [f"{folder}/gml/", f"{folder}/graphs.parquet"]
    assert model_files(f"{folder}/m") == [f"{folder}/model.retgk"]
    assert source_names(f"{folder}/nowhere/x") == []
    assert source_names("dig")[0] == "digits"


def test_catalogue_has_the_sets_of_the_paper() -> None:
    names = {"MUTAG", "NCI1", "PTC_MR", "ENZYMES", "REDDIT-MULTI-12K", "Synthie", "FRANKENSTEIN"}
    assert names <= set(TUDATASETS)
    assert len(set(map(str.lower, TUDATASETS))) == len(TUDATASETS) == len(SUBJECT_OF)


# The program stopped while it writes, computes, downloads or compiles


def wait_for_part(folder: Path, process: Any) -> None:
    """Wait until an unfinished file lies in a folder."""
    while not list(folder.glob(".*.part")):
        assert process.poll() is None, "the program ended before it wrote anything"
        time.sleep(0.001)


def write_ring(path: Path, n_nodes: int) -> Path:
    """Write one graph whose features need neither scikit-learn nor much work."""
    path.write_text("".join(f"{node} {(node + 1) % n_nodes}\n" for node in range(n_nodes)))
    return path


STOPPED = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}


@pytest.mark.slow
@pytest.mark.parametrize("number", STOPPED)
def test_stopped_while_writing(number: signal.Signals, tmp_path: Path) -> None:
    """Two million numbers as text take long enough to be stopped on the way."""
    source = write_ring(tmp_path / "ring.edges", 40_000)
    (tmp_path / "f.csv").write_text("an older file")
    process = start_program("features", source, "-o", "f.csv", folder=tmp_path)
    wait_for_part(tmp_path, process)
    process.send_signal(number)
    process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == STOPPED[number]
    assert (tmp_path / "f.csv").read_text() == "an older file"
    if number != signal.SIGKILL:
        assert sorted(path.name for path in tmp_path.iterdir()) == ["f.csv", "ring.edges"]


@pytest.mark.slow
def test_stopped_while_computing(tmp_path: Path) -> None:
    """Minutes of work for all threads, which stop within seconds."""
    source = write_ring(tmp_path / "ring.edges", 40_000)
    arguments = ["features", source, "--n-steps", "4000", "-o", "f.npy"]
    process = start_program(*arguments, folder=tmp_path)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("ring: GraphBatch(1 graph")
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == STOPPED[signal.SIGINT]
    assert [path.name for path in tmp_path.iterdir()] == ["ring.edges"]


@pytest.fixture
def stalled_proxy() -> Iterator[socket.socket]:
    """A proxy that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(TIMEOUT_SECONDS)
        yield server


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_fetch_stopped(
    number: signal.Signals, stalled_proxy: socket.socket, tmp_path: Path
) -> None:
    """Nothing of a download stays; once the archive is there, the same command works."""
    proxy = f"http://127.0.0.1:{stalled_proxy.getsockname()[1]}"
    command = ["datasets", "fetch", "MUTAG", "--data-home", str(tmp_path)]
    process = subprocess.Popen(
        [*PROGRAM, *command],
        env=environment(HTTPS_PROXY=proxy, https_proxy=proxy, NO_PROXY="", no_proxy=""),
        stderr=subprocess.PIPE,
    )
    connection, _ = stalled_proxy.accept()
    with connection:
        process.send_signal(number)
        process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == STOPPED[number]
    assert not (tmp_path / "MUTAG.zip").exists()
    small = make_graph_classification(4, rng=0)
    save_tudataset(GraphDataset(small.graphs, small.targets, "MUTAG"), tmp_path)
    assert json.loads(output_of(run_program(*command, "--json")))["graphs"] == 4


LOST = """
import time
from retgk.cli.command import ending_on_signals

with ending_on_signals():
    try:
        print("started", flush=True)
        time.sleep(60)
    except BaseException:
        print("lost", flush=True)
    try:
        time.sleep(60)
    finally:
        time.sleep(1.5)
        print("cleaned up", flush=True)
        time.sleep(60)
"""


@pytest.mark.slow
def test_a_lost_interrupt_comes_again_and_a_second_kills() -> None:
    """One that somebody swallows is raised again, but not while the program cleans up."""
    process = subprocess.Popen([sys.executable, "-c", LOST], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)  # some programs send two for one
    assert [process.stdout.readline() for _ in range(2)] == ["lost\n", "cleaned up\n"]
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert (process.returncode, output) == (130, "")


@pytest.mark.slow
def test_background_jobs_ignore_interrupts() -> None:
    """A shell starts them so."""
    script = (
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from retgk.cli.command import ending_on_signals\n"
        "with ending_on_signals():\n    signal.raise_signal(signal.SIGINT)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.slow
def test_reader_of_a_pipe_may_leave(tmp_path: Path) -> None:
    source = write_ring(tmp_path / "ring.edges", 20_000)
    process = subprocess.Popen(
        [*PROGRAM, "features", str(source), "--n-steps", "9", "-o", "-"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"graph,node,name,p1,p2,p3,p4,p5,p6,p7,p8,p9\n"
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read().decode().splitlines()[1:] == []
    process.stderr.close()
    assert process.wait() == 1


# Commands where the terminal, the pipe or the locale does not have all characters

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
def unicode_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Graphs, targets and classes whose names few encodings have."""
    unicode_folder = tmp_path_factory.mktemp("encodings")
    data = make_graph_classification(len(NAMES), n_nodes=(5, 8), rng=0)
    for name, path in zip(
        NAMES, write_edge_list(data.graphs, unicode_folder / "grün"), strict=True
    ):
        path.rename(path.with_name(f"{name}.edges"))
    (unicode_folder / "tärgets.txt").write_text("schön\nhäßlich\n" * (len(NAMES) // 2), "utf-8")
    return unicode_folder


def test_all_commands_are_tried() -> None:
    commands = {command.name for command in app.registered_commands}
    assert set(RUNS) == commands | {group.name for group in app.registered_groups}


@pytest.mark.slow
@pytest.mark.parametrize("command", RUNS)
def test_every_command_on_a_plain_terminal(command: str, unicode_folder: Path) -> None:
    if command == "predict":
        output_of(run_program(*RUNS["fit"].split(), folder=unicode_folder))
    output_of(run_program(*RUNS[command].split(), folder=unicode_folder, **ASCII))


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_names_that_cannot_be_shown(place: str, unicode_folder: Path) -> None:
    shown = output_of(run_program(*RUNS["similar"].split(), folder=unicode_folder, **PLACES[place]))
    expected = "wörld→" if place == "C" else r"w\xf6rld\u2192"
    assert expected in shown


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_errors_that_cannot_be_shown(place: str, unicode_folder: Path) -> None:
    done = run_program("info", "fehlt→", folder=unicode_folder, **PLACES[place])
    assert done.returncode == 1
    assert done.stderr.startswith(b"retgk: there is no file, folder or known collection"), done


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_files_have_all_characters_everywhere(place: str, unicode_folder: Path) -> None:
    """Names are read and written as UTF-8, whatever the terminal shows."""
    command = [*RUNS["similar"].split(), "-o"]
    lines = output_of(
        run_program(*command, "-", folder=unicode_folder, **PLACES[place])
    ).splitlines()
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


# `import retgk` is quick because it imports next to nothing; see benchmarks/bench_import.py

OPTIONAL_OR_HEAVY = {
    "dask",
    "igraph",
    "joblib",
    "matplotlib",
    "networkx",
    "numpy",
    "pooch",
    "pyarrow",
    "rdkit",
    "rich",
    "scipy",
    "sklearn",
    "torch",
}


def top_level_modules_after(statement: str) -> set[str]:
    """What a fresh interpreter has imported after a statement."""
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.splitlines()}


@pytest.mark.slow
def test_import_brings_in_nothing_heavy() -> None:
    modules = top_level_modules_after("import retgk")
    assert "retgk" in modules
    assert modules & OPTIONAL_OR_HEAVY == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["GraphBatch", "InvalidInputError"])
def test_core_names_bring_in_numpy_and_scipy_alone(name: str) -> None:
    modules = top_level_modules_after(f"from retgk import {name}")
    assert modules & OPTIONAL_OR_HEAVY <= {"numpy", "scipy"}


def test_every_public_name_can_be_imported() -> None:
    import retgk

    assert set(retgk.__all__) <= set(dir(retgk))
    for name in retgk.__all__:
        assert getattr(retgk, name) is not None


def test_unknown_name() -> None:
    import retgk

    with pytest.raises(AttributeError, match="module 'retgk' has no attribute 'GraphBitch'"):
        _ = retgk.GraphBitch  # type: ignore[attr-defined]
