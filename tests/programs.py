"""Commands called in this process, on graphs that need no download."""

import csv
import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from retgk import _core
from retgk.cli.main import app
from retgk.datasets import make_graph_classification
from tests.errors import assert_names

N_GRAPHS = 40


DATA = make_graph_classification(N_GRAPHS, n_labels=3, n_attributes=2, n_nodes=(6, 12), rng=0)


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def printed(*arguments: object) -> str:
    """Standard output of a command that went well."""
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def record(*arguments: object) -> Any:
    return json.loads(printed(*arguments, "--json"))


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def assert_fails(result: Result, *about: str) -> None:
    """The command ends with one line that names all facts."""
    assert result.exit_code == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith("retgk: ")
    assert "Traceback" not in result.stderr
    assert_names(last, about)


# The program as users run it: a process of its own

_SCRIPT = Path(sys.executable).with_name("retgk")
PROGRAM = [str(_SCRIPT)] if _SCRIPT.exists() else [sys.executable, "-m", "retgk"]
TIMEOUT_SECONDS = 600  # a machine where nothing is compiled yet needs minutes


def environment(data_home: Path | None = None, **more: str) -> dict[str, str]:
    """Variables of this process, with a data home or none."""
    inherited = {name: text for name, text in os.environ.items() if name != "RETGK_DATA_HOME"}
    home = {} if data_home is None else {"RETGK_DATA_HOME": str(data_home)}
    return {**inherited, "TERM": "dumb", "COLUMNS": "100", **home, **more}


def run_program(
    *arguments: object,
    folder: Path | None = None,
    data_home: Path | None = None,
    stdin: bytes = b"",
    **variables: str,
) -> subprocess.CompletedProcess[bytes]:
    """Run the program to its end."""
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        cwd=folder,
        env=environment(data_home, **variables),
        input=stdin,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def start_program(
    *arguments: object, folder: Path, data_home: Path | None = None
) -> subprocess.Popen[str]:
    """Start the program; its notes can be read while it works."""
    return subprocess.Popen(
        [*PROGRAM, *map(str, arguments)],
        cwd=folder,
        env=environment(data_home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(done: subprocess.CompletedProcess[bytes]) -> str:
    """Standard output of a run that went well."""
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def assert_fails_with_one_line(
    done: subprocess.CompletedProcess[bytes], *about: str, code: int = 1
) -> None:
    """One line on standard error that says what is wrong, nothing else, and the exit code."""
    lines = done.stderr.decode().splitlines()
    assert done.returncode == code, lines
    assert len(lines) == 1, lines
    assert lines[0].startswith("retgk: "), lines
    assert_names(lines[0], about)
    assert done.stdout == b""


# Programs that read-only folders are read-only for, also where root runs the tests

_DROP_FROM_BOUNDING_SET = 24  # of prctl
_CAPABILITIES = (1, 2)  # to write and to search anywhere


def mind_modes() -> None:
    """Give up root's power over the modes of files for what is executed next."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        for capability in _CAPABILITIES:
            ctypes.CDLL(None).prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)


def make_read_only(folder: Path) -> None:
    """Take away the right to write to a folder and all in it."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)


# Programs that run on every level of instructions that this machine has, in a process each

_ALL = ["base", "v3", "v4"]
# the level of this process is the highest, unless it was asked for
LEVELS = _ALL[: _ALL.index(_core.LEVEL) + 1]


def run_on_level(level, program):
    """Run a program; its asserts are checked whatever the options of this process are."""
    options = {"RETGK_CORE_LEVEL": level, "PYTHONWARNINGS": "", "PYTHONOPTIMIZE": ""}
    command = [sys.executable, "-c", program]
    subprocess.run(command, env=os.environ | options, check=True, timeout=120)
