"""Start-up, help, completion and usage errors of the program."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from retgk import __version__
from retgk.datasets import SUBJECT_OF, TUDATASETS
from tests.cli_program import assert_fails_with_one_line, output_of, run_program

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


def test_help_is_quick() -> None:
    """Under half a second of work; the clock on the wall is that of a machine with other work."""
    code = "import sys, time; from retgk.cli.main import main; sys.argv = ['retgk', '--help']\n"
    code += "try:\n    main()\nfinally:\n    print('seconds', time.process_time())\n"
    code += "    print('modules', *sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *_, seconds, modules = done.stdout.splitlines()
    assert {name.partition(".")[0] for name in modules.split()} & HEAVY == set()
    assert float(seconds.split()[1]) < 0.5


def test_help_lists_every_command() -> None:
    text = output_of(run_program("--help"))
    assert all(f" {command.split()[0]} " in text for command in COMMANDS)
    assert "$ retgk cv MUTAG" in text


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
        (["colour"], "No such command 'colour' (see retgk --help)"),
        (["kernel", "digits"], "Missing option '--output' / '-o' (see retgk kernel --help)"),
        (["kernel", "digits", "-o", "k.npy", "--n-steps", "0"], "Invalid value for '--n-steps'"),
        (["cv", "digits", "--protocol", "mine"], "Invalid value for '--protocol'"),
        (
            ["cv", "digits", "--tol", "1"],
            "Invalid value for '--tol': 1.0 is not a number in [0, 1)",
        ),
        (["info", "--colour", "digits"], "No such option"),
    ],
)
def test_usage_errors(arguments: list[str], message: str, run_here: Run) -> None:
    code, out, err = run_here(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"retgk: {message}")
    assert err.count("\n") == 1


def test_usage_error_of_the_program() -> None:
    assert_fails_with_one_line(run_program("kernel", "digits"), "Missing option '--output'", code=2)


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
